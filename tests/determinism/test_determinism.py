"""The same seed gives the same events: a thousand times in one process, in separate processes, in both restart
modes; and programs built by gcc and by clang have the same findings."""
import json
import os

import re

import litmus
from scratch import CXX, each

LITMUS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "litmus")

# program, arguments, kinds of finding (None: clean)
PROGRAMS = {
    "plain": ("race_three.c", [], "data-race"),
    "locks": ("deadlock_three.c", [], "deadlock"),
    "conditions": ("cond_if_for_while.c", [], "assertion"),
    "timeouts": ("timedwait_signal.c", [], "assertion"),
    "heap": ("norace_heap_reuse.c", [], None),
    "heap-bug": ("uaf_read.c", ["--ignore", "data-race"], "use-after-free"),
    "spurious": ("spurious.c", ["--spurious"], "assertion"),
    "keys": ("keys.c", [], None),
    "many": ("cond_broadcast.c", [], None),
    "c++": ("cxx_condition.cc", [], None),
    "c++-bug": ("cxx_race.cc", [], "data-race"),
    "c++-locals": ("cxx_thread_local.cc", [], None),
}
MODES = ["%s,%s" % (p, m) for p in sorted(PROGRAMS) for m in ("memory", "fork")]


def built(s, name, compiler="gcc"):
    s.cc(litmus.find(LITMUS, PROGRAMS[name][0]), "prog-" + compiler, "-O1", "-I" + LITMUS, compiler=compiler)
    return "./prog-" + compiler


def facts(r):
    """What must be the same: counts, and of each finding everything but its number."""
    findings = []
    for f in r["findings"]:
        f = dict(f)
        for key in ("id", "replay"):
            f.pop(key)
        findings.append(f)
    return {"verdict": r["verdict"], "executions": r["executions"], "events": r["events"], "switches": r["switches"],
            "cut": r["cut"], "threads": r["threads"], "findings": findings}


@each(*["%s,%s" % (p, m) for p in ("conditions", "heap-bug") for m in ("memory", "fork")])
def test_every_event_a_thousand_times(s, parameter):
    """A replay compares each event with the recorded one: a thousand executions, each in a process of its own."""
    name, mode = parameter.split(",")
    r = s.search("check", built(s, name), "--restart", mode, "--seed", "5", *PROGRAMS[name][1])
    s.check(r["findings"], "nothing was found")
    s.replay(times=1000)


@each(*MODES)
def test_separate_processes(s, parameter):
    """Twenty searches with one seed, each in a process of its own."""
    name, mode = parameter.split(",")
    program = built(s, name)
    first = schedule = None
    # What is found around a failure depends on nothing but the time there is for it.
    explain = ["--explain", "60s"] if mode == "memory" else ["--no-explain"]
    for i in range(20 if mode == "memory" else 8):
        out = "out%d" % i
        r = s.search("check", program, "--strategy", "random", "--restart", mode, "--seed", "5", "--max-executions",
                     "60", "--out", out, *explain, *PROGRAMS[name][1], env={"NUMBER": "%02d" % i})
        text = s.read(out + "/1/schedule") + "\n".join(s.events(out + "/1/trace")) if r["findings"] else ""
        text = re.sub(r"^(execution|restart) .*\n", "", text, flags=re.M)
        if first is None:
            first, schedule = facts(r), text
            continue
        for key, value in facts(r).items():
            s.same(value, first[key], "%s in search %d" % (key, i + 1))
        s.same(text, schedule, "schedule and events of search %d" % (i + 1))


@each(*sorted(PROGRAMS))
def test_modes_agree(s, name):
    """Restoring memory and forking give the same executions."""
    program = built(s, name)
    for strategy in ("random", "auto"):
        options = ["--strategy", strategy, "--seed", "3", "--max-executions", "200", "--all", "--no-explain",
                   *PROGRAMS[name][1]]
        got = [facts(s.search("check", program, "--restart", mode, *options)) for mode in ("memory", "fork")]
        for key in got[0]:
            if key == "findings":
                s.same([(f["kind"], f["execution"], f["steps"]) for f in got[1][key]],
                       [(f["kind"], f["execution"], f["steps"]) for f in got[0][key]], "findings in fork mode")
            else:
                s.same(got[1][key], got[0][key], key + " in fork mode")


@each(*MODES)
def test_long_search(s, parameter):
    """A search of a thousand executions comes out the same when it is run again, to the last switch."""
    name, mode = parameter.split(",")
    program = built(s, name)
    ends = "1000" if mode == "memory" else "100"
    options = ["--strategy", "random", "--restart", mode, "--seed", "11", "--max-executions", ends, "--all",
               *PROGRAMS[name][1]]
    r = s.search("check", program, *options)
    again = s.search("check", program, *options)
    for key, value in facts(r).items():
        if key != "findings":
            s.same(facts(again)[key], value, key)
    s.same([(f["kind"], f["execution"], f["key"]) for f in again["findings"]],
           [(f["kind"], f["execution"], f["key"]) for f in r["findings"]], "findings")


ONE_SCHEDULE = """
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;
static void *worker(void *arg) {
  void *p[20];
  for (int i = 0; i < 20; i++) { p[i] = malloc(10 * (i + 1)); memset(p[i], i, 10 * (i + 1)); }
  pthread_mutex_lock(&m); x += ((char *)p[3])[5]; pthread_mutex_unlock(&m);
  for (int i = 0; i < 20; i++) free(p[i]);
  printf("%p %p\\n", p[0], p[19]);
  return arg;
}
int main(void) {
  for (int i = 0; i < 3; i++) { pthread_t t; pthread_create(&t, 0, worker, 0); pthread_join(t, 0); }
  assert(x == 9);
  return 0;
}
"""


@each("memory", "fork")
def test_one_schedule(s, mode):
    """A program with one schedule only: N executions have exactly N times the events of one."""
    program = s.build_text(ONE_SCHEDULE)
    one = s.search("check", program, "--strategy", "random", "--restart", mode, "--max-executions", "1")
    n = 1000
    many = s.search("check", program, "--strategy", "random", "--restart", mode, "--max-executions", str(n))
    s.is_clean(many, n)
    s.same(many["events"], n * one["events"], "events of %d executions" % n)
    s.same(many["switches"], n * one["switches"], "switches of %d executions" % n)


@each("memory", "fork")
def test_same_output(s, mode):
    """What a program prints, addresses included, is the same in every run."""
    program = s.build_text(ONE_SCHEDULE)
    seen = {s.run([s.heddle, "run", "--quiet", "--restart", mode, "--", program]).stdout for _ in range(5)}
    s.check(len(seen) == 1 and len(seen.pop().splitlines()) == 3, "output differs from run to run")


@each(*sorted(n for n in PROGRAMS if PROGRAMS[n][2]))
def test_compilers_agree(s, name):
    """gcc's and clang's program have the same findings: kind, functions and lines."""
    def place(w):
        return "%s:%s" % (re.sub(r"\(.*|<.*", "", w["function"] or "?"), w["line"])

    def places(compiler):
        program = built(s, name, compiler)
        r = s.search("check", program, "--all", "--max-executions", "3000", "--out", "out-" + compiler,
                     *PROGRAMS[name][1])
        return sorted({(f["kind"],) + tuple(sorted({place(w) for w in f["where"]})) for f in r["findings"]})
    gcc = places("gcc")
    s.check(gcc and all(k[0] == PROGRAMS[name][2] for k in gcc), "gcc: %s" % json.dumps(gcc))
    s.same(places("clang"), gcc, "findings of %s's program" % CXX["clang"])


def test_seeds_differ(s):
    """Another seed is another search."""
    program = built(s, "many")
    got = {s.search("check", program, "--strategy", "random", "--seed", str(seed), "--max-executions",
                    "20")["switches"] for seed in range(8)}
    s.check(len(got) > 3, "eight seeds gave %d different searches" % len(got))


def test_replay_a_hundred_times(s):
    """A hundred replays of a hundred."""
    r = s.search("check", built(s, "conditions"))
    s.is_bug(r, ["assertion"])
    s.replay(times=100)

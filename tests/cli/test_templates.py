"""Executions that continue from the middle of others (runtime/core/template.c) are those that start at main: for every kind of
state, the same counts, classes and findings, also when processes die, hang or are killed, when the search is stopped, shared or
saved. Where a fork would share state that cannot be restored, none continue, and the summary says why."""
import json
import os
import random
import signal
import subprocess
import time

import common
from scratch import each
from test_checkpoint import FAILS, HEAD, KEPT, MORE_THREADS, build, outcome

LOCKS = """static int sum, rounds = ROUNDS;
static void *thread(void *p) {
  for (int i = 0; i < rounds; i++) { pthread_mutex_lock(&lock); sum++; STEP; pthread_mutex_unlock(&lock); }
  return p;
}
int main(void) {
  pthread_t t[THREADS];
  BEGIN;
  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], 0, thread, 0);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
  END;
}
"""


def locks(s, threads=3, rounds=2, step="", end="", begin="", name="prog", declarations=""):
    return s.build_text(HEAD + declarations + LOCKS, "-O1", "-DTHREADS=%d" % threads, "-DROUNDS=%d" % rounds, "-DSTEP=" + step,
                        "-DEND=" + end, "-DBEGIN=" + begin, name=name)


def compare(s, program, *options, every=2):
    """The same search with and without templates. Returns the result of the latter."""
    options = ("--restart=fork", "-j", "1") + options
    never = s.search("check", program, "--checkpoint=never", *options)
    always = s.search("check", program, *options, env={"HEDDLE_TEST_TEMPLATES": str(every)})
    s.same((never["templates"], never["restart"]), (0, "fork"), "with --checkpoint=never")
    s.same(outcome(always), outcome(never), "the search with templates")
    return always


@each(*KEPT)
def test_state(s, name):
    """What the program finds in its memory, files, handlers and so on."""
    r = compare(s, build(s, *KEPT[name]), "--strategy", "optimal", "--all", "--classes", every=1,
                *(["--leaks"] if name == "leaks" else []))
    s.same(r["findings"], [], name)
    writes = name in ("file_written", "named_semaphore")
    s.check(writes or r["resumed"] > 0, "no execution continued from a template: %s" % r.get("resumed_reason"))


@each("dfs", "rdfs", "dpor", "optimal", "optimal --symmetry", "optimal --states", "dfs --preemptions 1", "optimal --preemptions iterate",
      "optimal --delays 2", "auto", "random", "pct")
def test_strategies(s, strategy):
    strategy, *more = strategy.split()
    limit = ["--max-executions", "60"] if strategy in ("random", "pct", "auto") else []
    small = strategy in ("dfs", "rdfs") and not more or "--states" in more
    program = locks(s, *((2, 2) if small else (3, 2)), end="assert(sum == %d)" % (4 if small else 6))
    for every in (1, 3):
        r = compare(s, program, "--strategy", strategy, "--classes", *more, *limit, every=every)
        s.same(r["findings"], [], "findings")
        samples = strategy in ("random", "pct") or "--states" in more
        s.check((r["resumed"] > 0) == (not samples), "%d executions continued from a template" % r["resumed"])


@each("optimal", "dpor", "dfs", "auto")
def test_finding(s, strategy):
    """With and without --all; the finding replays from main."""
    program = s.build_text(HEAD + FAILS)
    for more in ((), ("--all",)):
        r = compare(s, program, "--strategy", strategy, "--max-executions", "100", *more)
        s.same([f["kind"] for f in r["findings"]], ["assertion"], "findings")
    s.replay(times=2)


DEATHS = {
    "crash": "if (sum == 4) *(volatile int *)0 = 1",
    "abort": "if (sum == 4) abort()",
    "killed": "if (sum == 4) syscall(SYS_kill, getpid(), SIGKILL)",
    "exit": "if (sum == 4) _exit(3)",
    "race": "static int racy; if (sum >= 3) { pthread_mutex_unlock(&lock); racy++; pthread_mutex_lock(&lock); }",
}


@each(*DEATHS)
def test_death(s, how):
    """A process that ends in the middle is a finding; the search goes on."""
    r = compare(s, locks(s, 2, 3, DEATHS[how]), "--strategy", "optimal", "--all", "--max-executions", "40")
    s.check(r["findings"], "nothing was found")


def test_hang(s):
    """The watchdog finds the process that runs, not those that wait."""
    program = locks(s, 2, 2, "if (sum == 3) for (;;) __asm__ volatile(\"\")")
    r = compare(s, program, "--strategy", "optimal", "--hang-timeout", "2", "--ignore", "livelock")
    s.same([f["kind"] for f in r["findings"]], ["hang"], "findings")
    s.check(r["templates"] > 0, "no templates")


def test_more_threads(s):
    """An execution that lacks identities is run again from main."""
    program = s.build_text(HEAD + MORE_THREADS)
    r = compare(s, program, "--strategy", "optimal", "--max-executions", "100")
    s.check(r["resumed"] > 0, "no execution continued from a template")


def test_learning(s):
    """Memory that proves to be shared restarts the search: no template survives that."""
    program = s.build_text(HEAD + """static atomic_int a[4];
static void *thread(void *p) { long n = (long)p; for (int i = 0; i < 3; i++) if (atomic_load(&a[i]) == i) atomic_store(&a[i + 1], n); return p; }
int main(void) {
  pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, thread, (void *)(i + 1));
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
}
""")
    for strategy in ("optimal", "dpor"):
        r = compare(s, program, "--strategy", strategy, "--classes", every=1)
        s.check(r["restarts"] > 0 and r["resumed"] > 0, "%d restarts, %d resumed" % (r["restarts"], r["resumed"]))


REFUSED = {
    "child": ("", "int w; pid_t p = fork(); if (!p) _exit(0); waitpid(p, &w, 0);"),
    "files": ("", "FILE *f = fopen(\"new\", \"w\"); fputs(\"x\", f); fclose(f);"),
    "descriptor": ("static int fds[2];", "assert(!pipe(fds));"),
    "shared-memory": ("", "char *m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); m[0] = 1;"),
    "ipc": ("", "assert(shmget(IPC_PRIVATE, 4096, 0600) >= 0);"),
}


@each(*REFUSED)
def test_refused(s, reason):
    declarations, begin = REFUSED[reason]
    program = locks(s, declarations=declarations, begin=begin)
    r = compare(s, program, "--strategy", "optimal")
    s.same((r["resumed"], r.get("resumed_reason")), (0, reason), "executions continued")
    s.check("executions repeat what they have in common" in r["out"] + r["err"], "the summary does not say so")


def test_pipe_in_the_middle(s):
    """Templates before the pipe is made serve."""
    program = locks(s, 2, 3, "if (sum == 3) { int fds[2]; char c; assert(!pipe(fds) && write(fds[1], \"x\", 1) == 1 && read(fds[0], &c, 1) == 1); }")
    r = compare(s, program, "--strategy", "optimal", every=1)
    s.same(r.get("resumed_reason"), "descriptor", "reason")
    s.check(r["resumed"] > 0, "no execution continued from a template")


def test_offsets(s):
    """What executions after a template do to open files is undone."""
    s.write("data", "abcdefghijklmnop\n")
    program = locks(s, 2, 3, "{ char c; assert(read(fd, &c, 1) == 1 && c == 'a' + sum - 1); fcntl(fd, F_SETFL, sum & 1 ? O_NONBLOCK : 0); }",
                    begin="fd = open(\"data\", O_RDONLY)", end="assert(lseek(fd, 0, SEEK_CUR) == 6)", declarations="static int fd;")
    r = compare(s, program, "--strategy", "optimal", "--all", every=1)
    s.same(r["findings"], [], "findings")
    s.check(r["resumed"] > 0, "no execution continued from a template: %s" % r.get("resumed_reason"))


def test_handler_of_children(s):
    """A handler for SIGCHLD, or none wanted, has nothing to do with the processes of executions."""
    for begin in ("signal(SIGCHLD, on)", "signal(SIGCHLD, SIG_IGN)"):
        program = locks(s, begin=begin, end="assert(!got)", declarations="static int got; static void on(int n) { got++; }")
        r = compare(s, program, "--strategy", "optimal", "--all")
        s.same(r["findings"], [], "findings")
        s.check(r["resumed"] > 0, "no execution continued from a template")


@each("optimal", "dfs", "optimal --preemptions 1")
def test_shared_and_saved(s, strategy):
    program = locks(s, *((2, 2) if strategy == "dfs" else (3, 2)))
    strategy, *more = strategy.split()
    options = ["--strategy", strategy, "--restart=fork", *more]
    env = {"HEDDLE_TEST_TEMPLATES": "2"}
    want = s.search("check", program, "--checkpoint=never", "-j", "1", *options)
    r = s.search("check", program, "-j", "3", *options, env=env)
    keys = ("executions", "complete") if not more else ("complete",)
    s.same({k: r[k] for k in keys}, {k: want[k] for k in keys}, "three processes")
    s.search("check", program, "-j", "1", "--save", "saved", *options, "--max-executions", "7", env=env)
    r = s.search("check", program, "--resume", "saved", "--max-executions", "1000000", env=env)
    s.same({k: r[k] for k in keys}, {k: want[k] for k in keys}, "resumed")


@each("1", "3")
def test_killing(s, jobs):
    """Any process of the chain may be killed at any moment: the executions are those that there are."""
    name = "m" + os.path.basename(s.dir)[-8:]
    program = locks(s, 3, 3, name=name)
    command = [s.heddle, "check", "--strategy", "optimal", "--restart=fork", "-j", jobs, "--json", "r.json", "--time", "300s", "--", program]
    p = subprocess.Popen(command, cwd=s.dir, env=dict(s.env, HEDDLE_TEST_TEMPLATES="2"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    killed, rng = 0, random.Random(7)
    while p.poll() is None and killed < 12:
        time.sleep(0.02 + rng.random() * 0.05)
        alive = common.alive(name)
        if not alive:
            continue
        try:
            os.kill(int(rng.choice(alive)), signal.SIGKILL)
            killed += 1
        except ProcessLookupError:
            pass
    out = p.communicate(timeout=300)[0].decode()
    s.same(p.returncode, 0, "exit code; it said: " + out)
    with open(s.path("r.json")) as f:
        r = json.load(f)
    s.check(killed > 0, "none was killed")
    s.same((r["verdict"], r["findings"], r["executions"]), ("clean", [], 1680), "after %d deaths" % killed)
    s.same(common.alive(name), [], "processes left behind")


@each("time", "SIGINT", "SIGTERM", "executions")
def test_stopped(s, how):
    """The search ends when it should, and no process stays."""
    name = "m" + os.path.basename(s.dir)[-8:]
    program = locks(s, 4, 4, name=name)
    command = [s.heddle, "check", "--strategy", "optimal", "--restart=fork", "-j", "2", "--json", "r.json"]
    command += {"time": ["--time", "2s"], "executions": ["--max-executions", "50"]}.get(how, ["--time", "100s"])
    p = subprocess.Popen(command + ["--", program], cwd=s.dir, env=dict(s.env, HEDDLE_TEST_TEMPLATES="2"), stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT)
    if how.startswith("SIG"):
        time.sleep(1.5)
        p.send_signal(getattr(signal, how))
    p.communicate(timeout=60)
    with open(s.path("r.json")) as f:
        r = json.load(f)
    s.same((r["findings"], r["complete"]), ([], False), "the search")
    s.check(r["resumed"] > 0, "no execution continued from a template")
    if how == "executions":
        s.same(r["executions"], 50, "executions")
    s.same(common.alive(name), [], "processes left behind")


# Long steps, so that `auto` switches from memory to forks. The others of `declarations` and so on as in LOCKS.
WORK = "for (volatile long k = 0; k < 15000000; k++)"
SWITCHED = {
    "plain": {},
    "set-up": dict(begin="for (volatile long k = 0; k < 4000000; k++); fd = open(\"data\", O_RDONLY); read(fd, &(char){0}, 1); chdir(\"sub\")",
                   end="char c; assert(read(fd, &c, 1) == 1 && c == 'b' && access(\"../data\", R_OK) == 0)", declarations="static int fd;"),
    "assertion": dict(end="assert(last != 2)", declarations="static int last; static atomic_int entered;",
                      step="static __thread int mine; if (!mine) mine = ++entered; last = mine"),
    "abort": dict(step="if (sum == 4 && pthread_equal(pthread_self(), first)) abort()", begin="first = pthread_self()",
                  declarations="static pthread_t first;", end=""),
}


@each(*SWITCHED)
def test_switch(s, name):
    s.write("data", "abc\n")
    os.makedirs(s.path("sub"), exist_ok=True)
    how = dict(SWITCHED[name])
    program = locks(s, 2, 3, "{ %s; %s; }" % (WORK, how.pop("step", "")), **how)
    options = ("--strategy", "optimal", "--all", "--classes", "-j", "1")
    want = s.search("check", program, "--checkpoint=never", *options)
    r = s.search("check", program, *options)
    s.same(outcome(r), outcome(want), "the search that switches")
    s.same((r["restart"], r["resumed"] > 0), ("fork", True), "restart, and executions continued from templates")
    if name == "set-up":
        s.same((r["checkpoint"], r["findings"]), ("taken", []), "checkpoint after the set-up")
    r = s.search("check", program, "--strategy", "optimal", "--all", "-j", "3")
    s.same((r["executions"], r["complete"], len(r["findings"])), (want["executions"], want["complete"], len(want["findings"])), "three processes")


@each("restart", "checkpoint", "short")
def test_no_switch(s, why):
    program = locks(s, 2, 3, "{ %s; }" % ("" if why == "short" else WORK))
    more = {"restart": ["--restart=memory"], "checkpoint": ["--checkpoint=never"]}.get(why, [])
    r = s.search("check", program, "--strategy", "optimal", "-j", "1", *more)
    s.same((r["restart"], r["templates"], r["complete"]), ("memory", 0, True), "the search")


def test_pays(s):
    """Where there is much to do between choices, templates are made; elsewhere they are not."""
    work = "for (volatile long k = 0; k < %d; k++)"
    few, many = (s.search("check", locks(s, 2, 3, work % n, name="p%d" % n), "--strategy", "optimal", "--restart=fork", "-j", "1")
                 for n in (1, 8000000))
    s.same((few["executions"], few["events"]), (many["executions"], many["events"]), "executions and events")
    s.check(many["resumed"] >= 10, "%d executions continued from a template" % many["resumed"])


@each("memory", "fork")
def test_assumptions(s, restart):
    """An assumption that failed before an execution continues from there has failed in that one, too."""
    program = s.build_text("""#include <heddle.h>
#include <pthread.h>
static _Atomic int x;
static void *wrong(void *p) {
  hd_assume(p != 0);
  return p;
}
static void *add(void *p) {
  for (int i = 0; i < 2; i++) x++;
  return p;
}
int main(void) {
  pthread_t t[3];
  pthread_create(&t[0], 0, wrong, 0);
  pthread_detach(t[0]);
  for (int i = 1; i < 3; i++) pthread_create(&t[i], 0, add, 0);
  for (int i = 1; i < 3; i++) pthread_join(t[i], 0);
}
""", "-O1")
    for every in "1", "2", "3":
        for strategy in "dfs", "optimal":
            options = ["--strategy", strategy, "--restart=" + restart, "-j", "1"]
            never = s.search("check", program, *options, "--checkpoint=never")
            always = s.search("check", program, *options, "--checkpoint=always", env={"HEDDLE_TEST_TEMPLATES": every})
            s.same(outcome(always), outcome(never), "%s, a template at every %s. point" % (strategy, every))
            s.check(never["infeasible"] > 0, "infeasible executions")

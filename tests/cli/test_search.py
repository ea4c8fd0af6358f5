"""How a search is shown, stopped, limited and written down."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import time

import common
from scratch import each


def start(s, *options, program, tty=False, args=()):
    """Starts a search; returns the process and the descriptor of its terminal (None without)."""
    command = [s.heddle, "check", *options, "--", program, *args]
    s.last = " ".join(command)
    if not tty:
        return subprocess.Popen(command, cwd=s.dir, env=s.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True), None
    ours, theirs = pty.openpty()
    p = subprocess.Popen(command, cwd=s.dir, env=dict(s.env, TERM="xterm"), stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    return p, ours


def unique(s):
    """A program under a name nobody else has, so that its processes can be told from those of other tests."""
    name = "v" + os.path.basename(s.dir)[-8:]
    return common.build(s, "clean", out=name), name


def wait_alive(s, name, want, seconds=5):
    """Waits until processes of that name are there, or are gone."""
    end = time.monotonic() + seconds
    while bool(common.alive(name)) != want:
        s.check(time.monotonic() < end, "the tested process %s" % ("never came" if want else "lives on"))
        time.sleep(0.05)


def read_all(fd, seconds, until=None):
    """What comes from a terminal, until it ends, a text has come, or time is up."""
    data, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                more = os.read(fd, 65536)
            except OSError:
                break
            if not more:
                break
            data += more
            if until and until in data:
                break
    return data.decode(errors="replace")


@each("INT", "TERM")
def test_interrupt(s, name):
    """Ctrl-C ends with a full summary, JSON included, exit status 5, and no process left."""
    program, comm = unique(s)
    p, _ = start(s, "--strategy", "random", "--json", "r.json", "--max-executions", "1000000000",
                 program=program)
    wait_alive(s, comm, True)
    time.sleep(0.5)
    p.send_signal(getattr(signal, "SIG" + name))
    out, err = p.communicate(timeout=20)
    s.check(p.returncode == 5, "exit status %d, expected 5: %s%s" % (p.returncode, out, err))
    s.check(re.search(r"\d executions in", out + err), "no summary: %s%s" % (out, err))
    r = json.loads(s.read("r.json"))
    s.same((r["stopped"], r["verdict"]), ("interrupted", "bounded"), "stopped, verdict")
    s.check(r["executions"] > 0, "no executions")
    wait_alive(s, comm, False, 1)


def test_nohup(s):
    """A search that shall survive the end of its terminal does, and the program sees SIGHUP ignored as well."""
    s.write("prog.c", """#include <signal.h>
#include <unistd.h>
int main(void) { kill(getppid(), SIGHUP); return signal(SIGHUP, SIG_IGN) != SIG_IGN; }""")
    s.cc("prog.c", "prog")
    p = s.run(["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", s.heddle, "check", "--", "./prog"], want=0)
    s.check("complete" in p.stderr + p.stdout, p.stderr)


def test_interrupt_keeps_findings(s):
    program = common.build(s, "race")
    p, _ = start(s, "--all", "--strategy", "random", "--json", "r.json", "--max-executions", "1000000000",
                 program=program)
    time.sleep(1)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=20)
    s.check(p.returncode == 1, "exit status %d, expected 1: %s%s" % (p.returncode, out, err))
    s.same(len(json.loads(s.read("r.json"))["findings"]), 1, "number of findings")
    s.replay()


def test_killed_supervisor(s):
    """When heddle is killed, the tested process goes too."""
    program, comm = unique(s)
    p, _ = start(s, "--strategy", "random", "--max-executions", "1000000000", program=program)
    wait_alive(s, comm, True)
    p.kill()
    p.communicate()
    wait_alive(s, comm, False)


def test_events_counted(s):
    """check counts the events of the execution that failed, the same number as replay has; run goes on after a race."""
    program = common.build(s, "race")
    r = s.search("check", program)
    n = len(s.events(".heddle/1/trace"))
    s.check(n > 0, "no events")
    s.same((r["executions"], r["events"]), (1, n), "executions and events")
    r = s.search("run", program, "--out", "run")
    s.check(r["executions"] == 1 and r["events"] > n, "%d events of run" % r["events"])
    s.same(s.events("run/1/trace"), [], "events that run has recorded")


def test_progress_on_terminal(s):
    program = common.build(s, "clean")
    p, fd = start(s, "--strategy", "random", "--time", "2s", program=program, tty=True)
    text = read_all(fd, 15)
    p.wait(20)
    os.close(fd)
    s.check(p.returncode == 0, "exit status %d: %s" % (p.returncode, text))
    s.check("\r" in text.replace("\r\n", ""), "no progress line: %r" % text[:300])
    for word in ("executions", "events", "per second|/s"):
        s.check(re.search(word, text), "no '%s' in: %r" % (word, text[:300]))


def test_progress_of_bounds(s):
    p, fd = start(s, "--strategy", "dfs", "--delays", "iterate", "--time", "1s", program=s.build_text(SPACE), args=["30"],
                  tty=True)
    text = read_all(fd, 15)
    p.wait(20)
    os.close(fd)
    s.check(re.search(r", bound \d+, [\d.]+ s of 1 s", text), "no bound in: %r" % text[:300])


def test_no_progress_without_terminal(s):
    program = common.build(s, "clean")
    p = s.run([s.heddle, "check", "--strategy", "random", "--time", "1s", "--", program])
    s.check("\r" not in p.stdout + p.stderr, "a progress line without a terminal")
    s.same(p.stderr, "", "standard error")


def test_time(s):
    program = common.build(s, "clean")
    began = time.monotonic()
    r = s.search("check", program, "--strategy", "random", "--time", "1s")
    took = time.monotonic() - began
    s.check(0.9 < took < 4, "--time 1s took %.2f s" % took)
    s.is_clean(r)
    s.same(r["stopped"], "time", "stopped")
    s.check(r["executions"] > 10000, "only %d executions in a second" % r["executions"])
    r = s.search("check", program, "--strategy", "random", "--time", "1s", "--max-executions", "1000000000")
    s.same(r["status"], 5, "exit status when --time comes before --max-executions")


# Two threads that take a lock N times each have C(2N, N) schedules: few for 3, more than anybody can wait for at 30.
SPACE = """
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int n;
static void *w(void *a) {
  for (int i = 0; i < n; i++) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); }
  return a; }
int main(int argc, char **argv) {
  pthread_t a, b; n = argc > 1 ? atoi(argv[1]) : 3;
  pthread_create(&a, 0, w, 0); pthread_create(&b, 0, w, 0); pthread_join(a, 0); pthread_join(b, 0); return 0; }
"""

# The same, where the order of the sections stays in memory: no two of their orders lead to one state.
HISTORY = (SPACE.replace("static int n;", "static int n; static unsigned long order;")
           .replace("pthread_mutex_lock(&m);", "pthread_mutex_lock(&m); order = order * 31 + (unsigned long)a;")
           .replace("&b, 0, w, 0", "&b, 0, w, (void *)1"))


def test_small_space_is_finished(s):
    """The default strategy covers a very small space before it samples anything, and says so; a larger one is sampled
    from the beginning."""
    parts = ("optimal", "rff", "pos", "sites", "surw", "uniform", "pct", "random")
    program = s.build_text(SPACE)
    r = s.search("check", program, want=0, args=["1"])
    s.same((r["strategy"], r["verdict"], r["complete"], r["stopped"]), ("auto", "clean", True, "finished"), "the end")
    s.same(r["executions"], 2, "executions")
    s.same(r["phases"], [{"strategy": n, "executions": 2 * (n == "optimal"), "findings": 0} for n in (*parts, "states")],
           "phases")
    s.check("complete: every schedule was covered" in r["out"] and "by strategy" not in r["out"], r["out"])
    r = s.search("check", program, want=0)
    done = {p["strategy"]: p["executions"] for p in r["phases"]}
    s.same((r["complete"], done["optimal"]), (True, 20), "the end")
    s.check(all(0 < done[n] < 60 for n in parts), done)


LONG = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, flag, n;
static void *a(void *p) { for (int i = 0; i < 20000; i++) x++; flag = 1; return p; }
static void *b(void *p) { for (int i = 0; i < 20000; i++) x++; assert(!flag || n); n = 1; return p; }
int main(void) {
  pthread_t t[2];
  pthread_create(&t[0], 0, b, 0); pthread_create(&t[1], 0, a, 0);
  pthread_join(t[0], 0); pthread_join(t[1], 0); return 0; }
"""


def test_parts_share_the_work(s):
    """What a sampler finds in its first executions is found at once, though those of the optimal search are long."""
    r = s.search("check", s.build_text(LONG), "--no-explain", want=1)
    s.check(r["findings"][0]["execution"] <= 12, r["findings"][0]["execution"])


@each("auto", "optimal", "dpor", "dfs", "rdfs")
def test_budget_of_a_systematic_search(s, strategy):
    """Whatever ends one before it is complete: bounded, exit status 5, and the phases add up."""
    program = s.build_text(HISTORY)
    for options, why, said in ((["--time", "1s"], "time", "stopped by --time after"),
                               (["--max-executions", "500"], "executions", "stopped by --max-executions after 500")):
        r = s.search("check", program, "--strategy", strategy, *options, args=["30"], want=5)
        s.same((r["verdict"], r["complete"], r["stopped"]), ("bounded", False, why), "the end")
        s.check(said in r["out"], "'%s' is not in: %s" % (said, r["out"]))
        if strategy == "auto":
            s.same(sum(p["executions"] for p in r["phases"]), r["executions"], "executions of all phases")
            s.check(all(p["executions"] > 0 for p in r["phases"] if p["strategy"] != "states"),
                    "a phase that did nothing: %s" % r["phases"])
            s.check("by strategy: optimal " in r["out"], "the phases are not told: " + r["out"])
    # A limit that is reached by the last execution takes nothing away.
    s.is_clean(s.search("check", program, "--strategy", strategy, "--max-executions", "10000", args=["2"]))


def test_budget_of_a_sample(s):
    """What samples has done all it was asked for when its budget is spent."""
    program = s.build_text(SPACE)
    for options in (["--time", "1s"], ["--max-executions", "500"], []):
        for strategy in ("random", "pct", "pos", "sites", "surw", "rff", "uniform", "mined"):
            r = s.search("check", program, "--strategy", strategy, *options, args=["30"], want=0)
            s.same((r["verdict"], r["complete"]), ("bounded", False), "the end")
    s.same(r["executions"], 10000, "executions without any option")


# Classes of SPACE with N = 3 within 0, 1 and 2 preemptions: orders of three and three in 2, 3 and 4 runs.
WITHIN = [2, 6, 14]


@each("auto", "optimal", "dpor", "dfs", "rdfs")
def test_bound(s, strategy):
    """All that has a schedule within the bound, nothing else, and the verdict says so; the bound that takes nothing
    away is complete."""
    program = s.build_text(SPACE)
    for bound in range(3):
        r = s.search("check", program, "--strategy", strategy, "--preemptions", str(bound), "--classes", want=0)
        s.same((r["verdict"], r["complete"], r["stopped"]), ("bounded", False, "finished"), "the end")
        s.same(r["bound"], {"preemptions": bound, "complete": True}, "bound")
        if strategy == "auto":  # the samplers have no bound
            s.check(r["classes"] >= WITHIN[bound], r["classes"])
        else:
            s.same(r["classes"], WITHIN[bound], "classes within %d" % bound)
    s.check("bounded: complete for all schedules with at most 2 preemptions\n" in r["out"], r["out"])
    if strategy in ("auto", "optimal", "dpor"):
        r = s.search("check", program, "--strategy", strategy, "--preemptions", "iterate", "--classes", want=0)
        s.same((r["verdict"], r["complete"], r["bound"]), ("clean", True, None), "the end of all bounds")
        s.same(r["classes"], 20, "classes of all bounds")


@each("preemptions", "delays")
def test_bound_and_budget(s, kind):
    """A search that is ended within a bound tells the last one that it covered."""
    program = s.build_text(SPACE)
    r = s.search("check", program, "--strategy", "dfs", "--" + kind, "iterate", "--max-executions", "2000", args=["30"],
                 want=5)
    s.same((r["verdict"], r["complete"], r["stopped"]), ("bounded", False, "executions"), "the end")
    done = r["bound"][kind]
    s.same(r["bound"], {kind: done, "complete": True, "executions": 2000}, "bound")
    s.check("after 2000, complete for all schedules with at most %d %s" % (done, kind[:-1]) in r["out"], r["out"])
    r = s.search("check", program, "--strategy", "optimal", "--" + kind, str(done), args=["30"], want=0)
    s.same(r["bound"], {kind: done, "complete": True}, "the same bound alone")
    r = s.search("check", program, "--strategy", "dfs", "--" + kind, "4", "--max-executions", "2000", args=["30"], want=5)
    s.same(r["bound"], {kind: 4, "complete": False, "executions": 2000}, "a bound that was not covered")
    s.check("not every schedule with at most 4 %s" % kind in r["out"], r["out"])


def test_bound_and_length(s):
    """An execution that was cut leaves no bound covered."""
    r = s.search("check", s.build_text(SPACE), "--strategy", "optimal", "--preemptions", "1", "--max-length", "12", want=5)
    s.check(r["cut"] > 0, "nothing was cut")
    s.same((r["verdict"], r["bound"]["complete"]), ("bounded", False), "the end")
    s.check("the search with at most 1 preemption ended, but it is not complete" in r["out"], r["out"])


def test_who_found_it(s):
    """A finding names the strategy that ran its execution; the phases count it."""
    program = common.build(s, "race")
    r = s.search("check", program, want=1)
    s.same((r["strategy"], r["findings"][0]["strategy"]), ("auto", "optimal"), "strategies")
    s.same([(p["executions"], p["findings"]) for p in r["phases"]], [(1, 1)] + 8 * [(0, 0)], "phases")
    r = s.search("check", program, "--strategy", "pct", want=1)
    s.same((r["strategy"], r["findings"][0]["strategy"]), ("pct", "pct"), "strategies")
    s.check("phases" not in r, "phases of a strategy that has none")


def test_run_is_one_execution(s):
    """... whatever the strategy, and then all that was asked for is done."""
    program = s.build_text(SPACE)
    for options in ([], ["--strategy", "auto"], ["--strategy", "optimal"], ["--strategy", "dfs"]):
        r = s.search("run", program, *options, want=0)
        s.same((r["executions"], r["strategy"]), (1, options[-1] if options else "random"), "executions, strategy")


def test_all(s):
    """--all goes on, keeps each thing once, and gives each a folder that replays."""
    program = common.build(s, "twobugs")
    r = s.search("check", program, "--all", "--max-executions", "2000")
    s.is_bug(r, ["data-race", "assertion"], exactly_one=False)
    s.same(sorted(f["kind"] for f in r["findings"]), ["assertion", "data-race"], "findings")
    s.check(r["complete"] and r["executions"] < 2000, "not complete after %d executions" % r["executions"])
    s.same(s.findings(), [1, 2], "folders")
    for n in s.findings():
        s.replay(".heddle/%d" % n)


def test_numbers_go_on(s):
    """Each finding has the next number, and one that is found again the number that it had."""
    for name, kind, n in (("race", "data-race", 1), ("deadlock", "deadlock", 2), ("race", "data-race", 1)):
        s.same(s.is_bug(s.search("check", common.build(s, name)), [kind])["replay"], ".heddle/%d" % n, "folder")


def test_ignore(s):
    program = common.build(s, "twobugs")
    s.is_bug(s.search("check", program, "--ignore", "data-race"), ["assertion"])
    s.is_bug(s.search("check", program, "--ignore=assertion"), ["data-race"])
    s.is_clean(s.search("check", program, "--ignore", "assertion,data-race"))
    s.is_clean(s.search("check", program, "--ignore", "assertion", "--ignore", "data-race"))


def test_suppressions(s):
    program = common.build(s, "twobugs")
    s.write("rules", "# comment\n\ndata-race:work*   # the counter\n")
    r = s.search("check", program, "--suppressions", "rules")
    s.is_bug(r, ["assertion"])
    s.write("rules", "*:twobugs.c\n")
    r = s.search("check", program, "--suppressions", "rules", "--max-executions", "300")
    s.check(not r["findings"] and r["status"] == 0 and r["suppressed"] > 0, "not suppressed: %s" % r["findings"])


def test_json_shape(s):
    """Every key that docs/formats.md promises, with its type."""
    program = common.build(s, "deadlock")
    r = s.search("check", program, args=["x"])
    types = {"heddle": str, "command": list, "strategy": str, "seed": int, "verdict": str, "complete": bool,
             "stopped": str, "executions": int, "blocked": int, "cut": int, "events": int, "switches": int,
             "threads": int, "seconds": float, "executions_per_second": float, "restart": str, "checkpoint": str, "processes": int,
             "suppressed": int, "dropped": int, "findings": list}
    for key, kind in types.items():
        s.check(isinstance(r.get(key), kind), "\"%s\" is missing or no %s: %r" % (key, kind.__name__, r.get(key)))
    s.same(r["command"], ["./deadlock", "x"], "command")
    s.check(r["bound"] is None or isinstance(r["bound"], dict), "bound: %r" % r["bound"])
    f = r["findings"][0]
    types = {"id": int, "replay": str, "kind": str, "title": str, "where": list, "execution": int,
             "steps": int, "replays": bool, "partial": bool, "key": str}
    for key, kind in types.items():
        s.check(key in f and isinstance(f[key], kind), "finding: \"%s\" is missing or no %s" % (key, kind.__name__))
    for w in f["where"]:
        for key in ("thread", "file", "line", "column", "function", "role", "operation", "stack"):
            s.check(key in w, "place: no \"%s\"" % key)
    stored = json.loads(s.read(".heddle/1/finding.json"))
    s.same(stored["kind"], f["kind"], "kind in finding.json")


def test_json_to_stdout(s):
    program = common.build(s, "race")
    p = s.run([s.heddle, "check", "--json", "-", "--", program], want=1)
    s.same(json.loads(p.stdout)["verdict"], "bug", "verdict")
    p = s.run([s.heddle, "run", "--json", "-", "--seed", "3", "--", common.build(s, "nothreads")])
    s.same(json.loads(p.stdout)["executions"], 1, "executions")


def test_output_kept_not_shown(s):
    """check is silent about what the program prints, and keeps it with the finding; run and replay show it."""
    program = common.build(s, "race")
    p = s.run([s.heddle, "check", "--", program], want=1)
    s.check("hello" not in p.stdout + p.stderr, "check shows the program's output")
    s.same(s.read(".heddle/1/output"), "hello from the program\n", "kept output")
    p = s.run([s.heddle, "replay", ".heddle/1"], want=1)
    s.check(p.stdout.startswith("hello from the program\n"), "replay does not show the program's output")


def test_output_to_a_file(s):
    """What run writes to a file that the shell opened stays there."""
    program = common.build(s, "clean")
    s.run(["sh", "-c", "(echo before; %s run -- %s; echo after) > out 2>&1" % (s.heddle, program)])
    s.same(s.read("out"), "before\ncounter 2, 1 arguments, last ./clean\nafter\n", "the file")


INPUT = """
#include <pthread.h>
#include <stdio.h>
#include <string.h>
int x;
static void *w(void *a) { x++; return a; }
int main(void) {
  char line[64] = "";
  pthread_t a, b;
  if (!fgets(line, sizeof line, stdin) || strcmp(line, "the input\\n") != 0) return 0;
  pthread_create(&a, 0, w, 0); pthread_create(&b, 0, w, 0);
  pthread_join(a, 0); pthread_join(b, 0);
  return 0;
}
"""


@each("memory", "fork")
def test_input(s, mode):
    """Every execution gets the whole standard input, and replay has it too."""
    program = s.build_text(INPUT)
    r = s.search("check", program, "--restart", mode, "--ignore", "data-race", "--max-executions", "50",
                 stdin="the input\nmore\n")
    s.check(r["threads"] == 3, "the program did not get its input")
    r = s.search("check", program, "--restart", mode, stdin="the input\nmore\n")
    s.is_bug(r, ["data-race"])
    s.replay()


def test_large_output(s):
    """A program that prints a lot, in every execution, does not slow down to a stop or fill the disk."""
    program = s.build_text("""
    #include <pthread.h>
    #include <stdio.h>
    static void *w(void *a) {
      for (int i = 0; i < 2000; i++) printf("%d a line of some length, again and again\\n", i);
      return a; }
    int main(void) { pthread_t a, b; pthread_create(&a, 0, w, 0); pthread_create(&b, 0, w, 0);
      pthread_join(a, 0); pthread_join(b, 0); return 0; }
    """)
    s.is_clean(s.search("check", program, "--strategy", "random", "--max-executions", "100"), 100)


def test_arguments_pass(s):
    """Everything after -- is the program's, options of its own included."""
    program = common.build(s, "clean")
    p = s.run([s.heddle, "run", "--", program, "--seed", "--", ""])
    s.same(p.stdout, "counter 2, 4 arguments, last \n", "output")
    p = s.run([s.heddle, "run", program, "--help"])
    s.same(p.stdout, "counter 2, 2 arguments, last --help\n", "output")


def test_program_in_path(s):
    common.build(s, "clean")
    p = s.run([s.heddle, "run", "--", "clean"], env={"PATH": s.dir + ":" + s.env["PATH"]})
    s.check("counter 2" in p.stdout, "not run")


def test_from_another_folder(s):
    common.build(s, "race")
    os.mkdir(s.path("below"))
    p = s.run([s.heddle, "check", "--", "../race"], cwd=s.path("below"), want=1)
    s.check("replay .heddle/1" in p.stdout, "no replay command")
    s.replay("below/.heddle/1")


def test_seed_zero_and_large(s):
    program = common.build(s, "race")
    for seed in ("0", "9223372036854775807"):
        s.same(s.search("check", program, "--seed", seed)["seed"], int(seed), "seed")


def test_spaces_in_names(s):
    os.mkdir(s.path("a folder"))
    common.build(s, "race", out="a folder/the program")
    r = s.search("check", "./a folder/the program", "--out", "my findings")
    s.is_bug(r, ["data-race"])
    s.replay("my findings/1")


def test_stripped(s):
    """Without debug information the finding is still found, with functions from the symbol table or addresses."""
    common.build(s, "race", "-O1", "-g0")
    s.is_bug(s.search("check", "./race"), ["data-race"])
    s.run(["strip", "race"])
    s.is_bug(s.search("check", "./race"), ["data-race"])


def test_shared_library(s):
    """A bug in a library of the user's own, built with heddle cc."""
    s.write("lib.c", "int counter; void bump(void) { counter++; }\n")
    s.run([s.heddle, "cc", "-g", "-O1", "-shared", "-fPIC", "lib.c", "-o", "libbump.so"])
    s.write("main.c", """#include <pthread.h>
    void bump(void);
    static void *w(void *a) { bump(); return a; }
    int main(void) { pthread_t a, b; pthread_create(&a, 0, w, 0); pthread_create(&b, 0, w, 0);
      pthread_join(a, 0); pthread_join(b, 0); return 0; }
    """)
    s.run([s.heddle, "cc", "-g", "-O1", "main.c", "-L.", "-lbump", "-Wl,-rpath," + s.dir, "-o", "main", "-pthread"])
    f = s.is_bug(s.search("check", "./main"), ["data-race"])
    s.check(any(w["function"] == "bump" and w["file"].endswith("lib.c") for w in f["where"]),
            "the library is not shown")
    s.replay()


def test_dlopen(s):
    """... and in one that is loaded while the program runs."""
    s.write("lib.c", "int counter; void bump(void) { counter++; }\n")
    s.run([s.heddle, "cc", "-g", "-O1", "-shared", "-fPIC", "lib.c", "-o", "libbump.so"])
    program = s.build_text("""#include <pthread.h>
    #include <dlfcn.h>
    static void (*bump)(void);
    static void *w(void *a) { bump(); return a; }
    int main(void) { pthread_t a, b; void *h = dlopen("./libbump.so", RTLD_NOW);
      if (!h) return 3; *(void **)&bump = dlsym(h, "bump");
      pthread_create(&a, 0, w, 0); pthread_create(&b, 0, w, 0); pthread_join(a, 0); pthread_join(b, 0); return 0; }
    """)
    r = s.search("check", program, "--ignore", "data-race")
    s.is_clean(r)
    f = s.is_bug(s.search("check", program), ["data-race"])
    s.check(any(w["function"] == "bump" for w in f["where"]), "the library is not shown")
    s.replay()


def test_not_rebuilt_library(s):
    """A library built by the plain compiler that locks, waits and allocates is under control all the same."""
    s.write("lib.c", """#include <pthread.h>
    #include <stdlib.h>
    static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
    void one(void) { pthread_mutex_lock(&a); pthread_mutex_lock(&b);
      pthread_mutex_unlock(&b); pthread_mutex_unlock(&a); }
    void two(void) { pthread_mutex_lock(&b); pthread_mutex_lock(&a);
      pthread_mutex_unlock(&a); pthread_mutex_unlock(&b); }
    """)
    s.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "lib.c", "-o", "liblock.so", "-pthread"])
    s.write("main.c", """#include <pthread.h>
    void one(void); void two(void);
    static void *x(void *a) { one(); return a; }
    static void *y(void *a) { two(); return a; }
    int main(void) { pthread_t a, b; pthread_create(&a, 0, x, 0); pthread_create(&b, 0, y, 0);
      pthread_join(a, 0); pthread_join(b, 0); return 0; }
    """)
    s.run([s.heddle, "cc", "-g", "-O1", "main.c", "-L.", "-llock", "-Wl,-rpath," + s.dir, "-o", "main", "-pthread"])
    s.is_bug(s.search("check", "./main"), ["deadlock"])
    s.replay()


ASSUMES = """
#include <heddle.h>
int main(void) { hd_assume(hd_choose(4) %s); return 0; }
"""


@each("random", "auto", "optimal", "dfs")
def test_assumptions_that_fail(s, strategy):
    """Executions in which an assumption does not hold are counted apart, in every strategy."""
    prog = s.build_text(ASSUMES % "== 2")
    r = s.search("check", prog, "--strategy", strategy, "--max-executions", "100", want=0)
    want = {"optimal": (1, 3), "dfs": (1, 3)}.get(strategy)
    s.check(r["executions"] > 0 and r["infeasible"] > 0, "%d, %d" % (r["executions"], r["infeasible"]))
    if want:
        s.same((r["executions"], r["infeasible"]), want, "feasible and infeasible")
    if strategy == "random":
        s.same(r["executions"] + r["infeasible"], 100, "executions in all")
    if strategy == "auto":
        s.same(sum(p["executions"] for p in r["phases"]), r["executions"], "executions of the phases")
    s.check("%d infeasible: an assumption did not hold\n" % r["infeasible"] in r["out"], "summary: " + r["out"])
    prog = s.build_text(ASSUMES % "> 3")
    r = s.search("check", prog, "--strategy", strategy, "--max-executions", "100", want=0)
    s.same(r["executions"], 0, "executions")
    s.check("did not hold; no execution was left to check" in r["out"], "summary: " + r["out"])
    s.run([prog])


# Two roles: who writes twice in a row, and who reads twice.
ROLES = """
#include <pthread.h>
#include <stdatomic.h>
static atomic_int a, b;
static void *writer(void *p) { a = 1; b = 2; a = 3; b = 4; return p; }
static void *reader(void *p) { int n = a + b + a + b; return n < 0 ? p : 0; }
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, i % 2 ? reader : writer, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
}
"""


@each("mined", "tici+", "tici-", "ci", "ti")
def test_mined(s, strategy):
    """Threads that read and write alike have one role; the search depends on the seed alone, whoever runs it, and when it is
    continued."""
    program = s.build_text(ROLES)
    words = ["--strategy", strategy, "--classes", "--seed", "3"]
    r = s.search("check", program, *words, "--max-executions", "60", want=0)
    if strategy == "ti":
        s.check("roles" not in r, "roles that nobody uses")
    else:
        s.same([t["role"] for t in r["roles"]["threads"]], [1, 2, 3, 2, 3], "roles")
        s.same([t["function"] for t in r["roles"]["threads"]], ["main", "writer", "reader", "writer", "reader"], "functions")
        s.same((r["roles"]["roles"], r["roles"]["agreement"], r["roles"]["homogeneity"]), (3, 1.0, 0.0), "quality")
        s.check("3 roles of threads: T0 | T1 T3 | T2 T4" in r["out"], r["out"])
    again = [s.search("check", program, *words, "--max-executions", "60", *more, want=0) for more in ([], ["-j", "2"])]
    for other in again:
        s.same((other["executions"], other["classes"], other["class_sum"]), (r["executions"], r["classes"], r["class_sum"]),
               "the same search")
    s.search("check", program, *words, "--max-executions", "25", "--save", "saved", want=0)
    rest = s.search("check", program, "--resume", "saved", "--max-executions", "60", want=0)
    s.same((rest["executions"], rest["class_sum"]), (r["executions"], r["class_sum"]), "the same search in two parts")

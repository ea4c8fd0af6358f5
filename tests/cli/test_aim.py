"""heddle aim: executions that reach given lines, with and without facts about the code; heddle facts."""
import json
import os
import shutil

import common
from scratch import each

REORDER = """#include <pthread.h>
#include <stdlib.h>
static int a, b;
static void *setter(void *x) {
  a = 1;
  b = -1;
  return x;
}
static void *checker(void *x) {
  if (!((a == 0 && b == 0) || (a == 1 && b == -1)))
    abort();
  return x;
}
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, setter, 0);
  pthread_create(&t[3], 0, checker, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
}
"""
LOCKED = REORDER.replace("static int a, b;", "static int a, b; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;").replace(
    "  a = 1;", "  pthread_mutex_lock(&m), a = 1;").replace("  b = -1;", "  b = -1, pthread_mutex_unlock(&m);").replace(
    "  if (!", "  pthread_mutex_lock(&m);\n  if (!").replace("abort();\n", "abort();\n  pthread_mutex_unlock(&m);\n")
RACE = """#include <pthread.h>
static int counter, other;
static void *worker(void *x) {
  counter++;
  other = 1;
  return x;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  counter++;
  pthread_join(t, 0);
  other = 2;
  return counter - 2;
}
"""
CYCLE = """#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void *one(void *x) {
  pthread_mutex_lock(&a);
  pthread_mutex_lock(&b);
  pthread_mutex_unlock(&b);
  pthread_mutex_unlock(&a);
  return x;
}
static void *two(void *x) {
  pthread_mutex_lock(&b);
  pthread_mutex_lock(&a);
  pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&b);
  return x;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, one, 0);
  pthread_create(&u, 0, two, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
}
"""


def no_facts(s):
    """Whether facts cannot be made here."""
    return not shutil.which("clang-19") or not os.path.exists(os.path.join(s.build, "lib", "heddle", "heddle_llvm.so"))


def build(s, text, name="p", facts=False, flags=("-g",)):
    s.write(name + ".c", text)
    s.run([s.heddle, "cc", *(["--facts"] if facts else []), *flags, name + ".c", "-o", name])
    return "./" + name


def aim(s, want, *words):
    """The JSON of a run, which must end with this status."""
    s.run([s.heddle, "aim", "--json", "out.json", *words], want=want)
    with open(s.path("out.json"), encoding="utf-8") as f:
        return json.load(f)


@each("plain", "facts", "facts -O2")
def test_reached(s, case):
    if "facts" in case and no_facts(s):
        return
    program = build(s, REORDER, facts="facts" in case, flags=["-g", *case.split()[1:]])
    j = aim(s, 1, "p.c:11", "--", program)
    s.same([f["kind"] for f in j["findings"]], ["reached"], "findings")
    s.same(j["findings"][0]["where"][0]["line"], 11, "line")
    s.same(j["aim"][0]["result"], "reached", "result")
    s.same(j["aim"][0]["facts"], "facts" in case, "facts")
    s.replay()


def test_guided_is_shorter(s):
    """With facts the writes that the branch depends on come first: a handful of executions."""
    if no_facts(s):
        return
    program = build(s, REORDER, facts=True)
    for seed in range(1, 6):
        j = aim(s, 1, "--no-explain", "--seed", str(seed), "p.c:11", "--", program)
        s.check(j["aim"][0]["executions"] <= 10, "%d executions" % j["aim"][0]["executions"])


@each("plain", "facts")
def test_unreachable(s, case):
    if case == "facts" and no_facts(s):
        return
    program = build(s, LOCKED, facts=case == "facts")
    j = aim(s, 0, "p.c:12", "--", program)
    s.same(j["aim"][0]["result"], "unreachable", "result")
    s.same(j["verdict"], "clean", "verdict")
    j = aim(s, 5, "--max-executions", "20", "p.c:12", "--", program)
    s.same(j["aim"][0]["result"], "not-reached", "result of a search that is cut")
    if case == "facts":
        s.check(j["aim"][0]["distance"] and "p.c:" in j["aim"][0]["nearest"], "nearest: %s" % j["aim"][0])


def test_order_of_lines(s):
    """Several lines are reached one after the other: here the checker's before a setter's."""
    program = build(s, REORDER)
    s.same(aim(s, 1, "p.c:12,p.c:5", "--", program)["aim"][0]["reached"], 2, "reached")
    s.replay()
    j = aim(s, 0, "p.c:18,p.c:16", "--", program)  # no thread is created after the first join
    s.same(j["aim"][0]["reached"], 1, "reached")


def test_failure_at_a_line(s):
    """With --failure a line that is executed anyway must fail."""
    program = build(s, "#include <assert.h>\n" + REORDER.replace("  if (!((", "  assert((").replace("b == -1)))", "b == -1));")
                    .replace("    abort();\n", ""))
    j = aim(s, 1, "--failure", "--ignore", "data-race", "p.c:11", "--", program)
    s.same(j["findings"][0]["kind"], "assertion", "kind")
    s.replay()
    j = aim(s, 1, "p.c:11", "--", program)
    s.same(j["findings"][0]["kind"], "reached", "kind")


@each("--heuristic=fsm", "--heuristic=random", "--heuristic=thread", "--search=best-first", "--no-refine", "--no-meta")
def test_ways_to_search(s, option):
    if no_facts(s):
        return
    program = build(s, REORDER, facts=True)
    aim(s, 1, option, "--no-explain", "p.c:11", "--", program)


def test_fork(s):
    """A program that does not do the same twice in one process is forked for each execution."""
    program = build(s, REORDER.replace("int main(void) {", "#include <unistd.h>\nint main(void) {\n  static char *old;\n"
                                       "  if (!old) old = sbrk(0);\n  brk(old + 4096 * (1 + (sbrk(0) != old)));"))
    aim(s, 1, "--no-explain", "p.c:12,p.c:5", "--", program)
    s.replay()


# ---- wrong input ----


@each("p.c:1000", "p.c:2", "q.c:3", "p.c", "p.c:0", "p.c:11,./p.c:11", "p.c:11,,")
def test_bad_lines(s, line):
    program = build(s, REORDER)
    said = s.run([s.heddle, "aim", line, "--", program], want=2).stderr
    words = {"p.c:1000": "no code at p.c:1000; the nearest line with code is", "p.c:2": "no code at p.c:2",
             "q.c:3": "q.c is not a source file", "p.c:11,./p.c:11": "are the same line"}
    s.check(words.get(line, "FILE:LINE") in said, said)


def test_file_by_its_end(s):
    os.mkdir(s.path("x"))
    os.mkdir(s.path("y"))
    s.write("x/f.c", "int f(void) {\n  return 1;\n}\n")
    s.write("y/f.c", "int f(void);\nint main(void) {\n  return f() - 1;\n}\n")
    s.run([s.heddle, "cc", "-g", "x/f.c", "y/f.c", "-o", "p"])
    said = s.run([s.heddle, "aim", "f.c:3", "--", "./p"], want=2).stderr
    s.check("give more of its path" in said, said)
    aim(s, 1, "y/f.c:3", "--", "./p")
    aim(s, 1, "x/../x/f.c:2", "--", "./p")


def test_no_debug_information(s):
    program = build(s, REORDER, flags=["-g0"])
    said = s.run([s.heddle, "aim", "p.c:11", "--", program], want=2).stderr
    s.check("build it with -g" in said, said)


def test_usage(s):
    program = build(s, REORDER)
    for words in [["p.c:11"], ["--", program], ["p.c:11", "p.c:12", "--", program], ["--from", "x", "p.c:11", "--", program]]:
        s.run([s.heddle, "aim", *words], want=2)
    s.write("x.log", "this is no report\n")
    said = s.run([s.heddle, "aim", "--from", "x.log", "--", program], want=2).stderr
    s.check("no report of" in said and "there was no warning" in said, said)
    s.run([s.heddle, "aim", "--from", "absent.log", "--", program], want=3)


LIBRARY = """#include <pthread.h>
void reached(int who);
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int state;
void step(int who) {
  pthread_mutex_lock(&m);
  if (state == who) state++;
  if (state == 3)
    reached(who);
  if (state > 3)
    reached(-1);
  pthread_mutex_unlock(&m);
}
"""
USER = """#include <pthread.h>
void step(int who);
static int seen;
void reached(int who) {
  seen += who;
}
static void *steps(void *p) {
  step((int)(long)p);
  return p;
}
int main(void) {
  pthread_t t[3];
  for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, steps, (void *)(2 - i));
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
}
"""


@each("plain", "facts", "program without -g")
def test_lines_of_libraries(s, case):
    """Lines of a shared library are reached, also one after one of the program; facts about it guide the search."""
    if case == "facts" and no_facts(s):
        return
    facts = ["--facts"] if case == "facts" else []
    s.write("lib.c", LIBRARY)
    s.write("p.c", USER)
    s.run([s.heddle, "cc", *facts, "-g", "-shared", "-fPIC", "lib.c", "-o", "libstep.so"])
    debug = [] if case == "program without -g" else ["-g"]
    s.run([s.heddle, "cc", *facts, *debug, "p.c", "-L.", "-lstep", "-Wl,-rpath,$ORIGIN", "-o", "p"])
    j = aim(s, 1, "lib.c:9", "--", "./p")
    s.same(j["findings"][0]["where"][0]["line"], 9, "line")
    s.same(j["aim"][0]["facts"], case == "facts", "facts")
    s.replay()
    j = aim(s, 0, "lib.c:11", "--", "./p")
    s.same(j["aim"][0]["result"], "unreachable", "result")
    if debug:
        aim(s, 1, "lib.c:9,p.c:5", "--", "./p")
        s.replay()
    if facts:
        said = s.run([s.heddle, "facts", "show", "step", "./p"]).stdout
        s.check("locks m (lib.c)" in said, said)


# ---- facts ----


def test_facts_show(s):
    if no_facts(s):
        return
    program = build(s, REORDER, facts=True)
    said = s.run([s.heddle, "facts", "show", "checker", program]).stdout
    for word in ("reads a (p.c)", "depends on b (p.c)", "calls abort", "if: #"):
        s.check(word in said, said)
    s.check("starts setter" in s.run([s.heddle, "facts", "show", "main", program]).stdout, "thread starts")
    s.check("did you mean checker" in s.run([s.heddle, "facts", "show", "chekcer", program], want=2).stderr, "near")
    s.run([s.heddle, "facts", "show"], want=2)


def test_facts_of_another_build(s):
    """Facts that are kept beside the program are not used after it was built again, nor when they are damaged."""
    if no_facts(s):
        return
    program = build(s, REORDER, facts=True)
    s.run([s.heddle, "facts", "show", "main", program])
    kept = s.path("p.facts")
    with open(kept, "rb") as f:
        old = f.read()
    build(s, LOCKED, facts=True)
    s.check("locks m (p.c)" in s.run([s.heddle, "facts", "show", "setter", program]).stdout, "facts of the new build")
    for bad in (old, old[:100], old[:-50], b"", b"x" * 5000, old[:200] + b"\xff" * 400 + old[600:]):
        with open(kept, "wb") as f:
            f.write(bad)
        s.check("locks m (p.c)" in s.run([s.heddle, "facts", "show", "setter", program]).stdout, "facts of the new build")


def test_facts_absent(s):
    program = build(s, REORDER)
    said = s.run([s.heddle, "facts", "show", "main", program], want=2).stderr
    s.check("heddle cc --facts" in said, said)
    s.check("heddle cc --facts" in s.run([s.heddle, "aim", "--max-executions", "2", "p.c:7,p.c:5,p.c:16", "--", program],
                                         want=5).stdout, "hint")


def test_facts_need_clang_19(s):
    s.write("p.c", REORDER)
    said = s.run([s.heddle, "cc", "--facts", "--heddle-compiler=gcc", "p.c", "-o", "p"], want=2).stderr
    s.check("clang-19" in said, said)


def test_units_archives_and_cxx(s):
    """Several units, one of them C++ in a static library: facts of all of them are in the program."""
    if no_facts(s):
        return
    s.write("lib.cpp", "#include <mutex>\nint shared; std::mutex m;\nextern \"C\" void put(int v) {\n"
                       "  std::lock_guard<std::mutex> g(m);\n  shared = v;\n}\n"
                       "extern \"C\" int get() {\n  std::lock_guard<std::mutex> g(m);\n  return shared;\n}\n")
    s.write("main.c", "#include <pthread.h>\nvoid put(int v);\nint get(void);\nstatic void *f(void *p) {\n  put(7);\n"
                      "  put(0);\n  return p;\n}\nint main(void) {\n  pthread_t t;\n  pthread_create(&t, 0, f, 0);\n"
                      "  if (get() == 7)\n    put(1);\n  pthread_join(t, 0);\n}\n")
    s.run([s.heddle, "c++", "--facts", "-g", "-O1", "-c", "lib.cpp"])
    s.run(["ar", "rcs", "libx.a", "lib.o"])
    s.run([s.heddle, "cc", "--facts", "-g", "-O1", "main.c", "libx.a", "-lstdc++", "-o", "p"])
    s.check("writes shared" in s.run([s.heddle, "facts", "show", "put", "./p"]).stdout, "the library")
    s.check("depends on get()" in s.run([s.heddle, "facts", "show", "main", "./p"]).stdout, "across units")
    s.check("returns what depends on shared" in s.run([s.heddle, "facts", "show", "get", "./p"]).stdout, "the result")
    j = aim(s, 1, "main.c:13", "--", "./p")
    s.check(j["aim"][0]["facts"] and j["aim"][0]["executions"] <= 5, "%s" % j["aim"][0])


THREADS = """#include <atomic>
#include <thread>
#include <vector>
static std::atomic<int> a, b;
int met;
int main() {
  std::vector<std::thread> v;
  for (int i = 0; i < 6; i++) v.emplace_back([] { a = 1, b = -1; });
  v.emplace_back([] {
    int x = a, y = b;
    if (x == 1 && y == 0)
      __atomic_store_n(&met, 1, __ATOMIC_SEQ_CST);
  });
  for (auto &t : v) t.join();
}
"""


def test_threads_of_cxx(s):
    """How far a std::thread is that has not begun is known, although it starts in the C++ library."""
    if no_facts(s):
        return
    s.write("p.cc", THREADS)
    s.run([s.heddle, "c++", "--facts", "-g", "-O1", "p.cc", "-o", "p"])
    for seed in "1", "2", "3":
        j = aim(s, 1, "--seed", seed, "p.cc:12", "--", "./p")
        one = j["aim"][0]
        s.check(one["executions"] <= 1000, "seed %s: %s" % (seed, one))


# ---- reports of other tools ----

TSAN = """==================
WARNING: ThreadSanitizer: data race (pid=1)
  Read of size 4 at 0x55 by main thread:
    #0 main %(dir)s/p.c:11:3 (p+0x1) (BuildId: ab)

  Previous write of size 4 at 0x55 by thread T1:
    #0 worker %(dir)s/p.c:4 (p+0x2)

  Location is global 'counter' of size 4 at 0x55 (p+0x405c)

  Thread T1 (tid=3, finished) created by main thread at:
    #0 pthread_create ../tsan_interceptors_posix.cpp:1001 (libtsan.so.2+0x5e686)
    #1 main %(dir)s/p.c:10 (p+0x1274)

SUMMARY: ThreadSanitizer: data race %(dir)s/p.c:11 in main
==================
==================
WARNING: ThreadSanitizer: data race (pid=1)
  Write of size 4 at 0x55 by main thread:
    #0 main %(dir)s/p.c:13 (p+0x1)

  Previous write of size 4 at 0x55 by thread T1:
    #0 worker %(dir)s/p.c:5 (p+0x2)
==================
==================
WARNING: ThreadSanitizer: data race (pid=1)
  Write of size 4 at 0x55 by main thread:
    #0 inflate <null> (libz.so+0x1)
==================
"""


def test_from_tsan(s):
    """A warning is confirmed, refuted (the join orders the accesses), or has no line of the program."""
    program = build(s, RACE)
    s.write("tsan.log", TSAN % {"dir": s.dir})
    j = aim(s, 1, "--from", "tsan.log", "--", program)
    s.same([a["result"] for a in j["aim"]], ["reached", "unreachable", "not-reached"], "results")
    s.same([f["kind"] for f in j["findings"]], ["data-race"], "findings")
    s.same(sorted(w["line"] for w in j["findings"][0]["where"] if w["line"] in (4, 11)), [4, 11], "lines")
    s.check("no line of the program" in j["aim"][2]["reason"], j["aim"][2]["reason"])
    s.replay()


def race_report(s, *stacks):
    """A report of ThreadSanitizer: a race with these stacks, lists of (function, line)."""
    heads = ("Read of size 4 at 0x1 by thread T2:", "Previous write of size 4 at 0x1 by thread T1:")
    lines = ["=" * 18, "WARNING: ThreadSanitizer: data race (pid=1)"]
    for head, stack in zip(heads, stacks):
        lines += ["  " + head] + ["    #%d %s %s (p+0x1)" % (i, f, where) for i, (f, where) in enumerate(stack)] + [""]
    s.write("tsan.log", "\n".join(lines + ["=" * 18, ""]))


# A block is published, without order, after two writes to it; the lock is nobody else's.
PUBLISHED = """#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static _Atomic(int *) block; static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static int seen;
static void *writer(void *p) {
  int *q = malloc(sizeof *q);
  *q = 1; pthread_mutex_lock(&own); pthread_mutex_unlock(&own);
  *q = 2;
  atomic_store_explicit(&block, q, memory_order_relaxed);
  return p;
}
static void *reader(void *p) {
  int *q = atomic_load_explicit(&block, memory_order_relaxed);
  if (q)
    seen = *q;
  return p;
}
int main(void) {
  pthread_t t[2];
  pthread_create(&t[0], 0, writer, 0);
  pthread_create(&t[1], 0, reader, 0);
  pthread_join(t[0], 0);
  pthread_join(t[1], 0);
  free(block);
  return 0;
}
"""


@each("plain", "facts")
def test_from_hidden_race(s, case):
    """A race of an access that another one of its thread follows in every schedule is not refuted."""
    if case == "facts" and no_facts(s):
        return
    program = build(s, PUBLISHED, facts=case == "facts")
    race_report(s, [("reader", "p.c:16")], [("writer", "p.c:8")])
    found = aim(s, 5, "--no-explain", "--from", "tsan.log", "--", program)["aim"][0]
    s.same(found["result"], "not-reached", "%s" % found)
    s.check("p.c:16 races with p.c:9" in found["reason"], found["reason"])
    race_report(s, [("reader", "p.c:16")], [("writer", "p.c:9")])
    s.same(aim(s, 1, "--no-explain", "--from", "tsan.log", "--", program)["aim"][0]["result"], "reached", "the last write")
    race_report(s, [("reader", "p.c:16")], [("writer", "p.c:10")])
    s.same(aim(s, 5, "--no-explain", "--from", "tsan.log", "--", program)["aim"][0]["result"], "not-reached", "no race")


def test_from_allocation(s):
    """The access of an allocation function: a race on the block confirms it."""
    program = build(s, PUBLISHED)
    race_report(s, [("reader", "p.c:16")], [("malloc", "/libsanitizer/tsan_interceptors_posix.cpp:647"), ("writer", "p.c:7")])
    j = aim(s, 1, "--no-explain", "--from", "tsan.log", "--", program)
    s.same(j["aim"][0]["result"], "reached", "%s" % j["aim"])
    s.check({7, 16} <= {w["line"] for w in j["findings"][0]["where"]}, "lines")
    s.replay()


# Atomic operations only, in many orders.
COUNTERS = """#include <pthread.h>
#include <stdatomic.h>
static atomic_int c[3];
static void *count(void *p) {
  for (int i = 0; i < 3; i++)
    if (atomic_load_explicit(&c[i], memory_order_relaxed) < 2)
      atomic_store_explicit(&c[i], atomic_load_explicit(&c[i], memory_order_relaxed) + 1, memory_order_relaxed);
  return p;
}
int main(void) {
  pthread_t t[5];
  for (int i = 0; i < 5; i++) pthread_create(&t[i], 0, count, 0);
  for (int i = 0; i < 5; i++) pthread_join(t[i], 0);
  return 0;
}
"""


def test_from_races_only(s):
    """With facts only the schedules that may have a data race are covered."""
    if no_facts(s):
        return
    race_report(s, [("count", "p.c:6")], [("count", "p.c:7")])
    j = aim(s, 0, "--no-explain", "--from", "tsan.log", "--", build(s, COUNTERS, facts=True))
    s.same((j["aim"][0]["result"], j["aim"][0]["executions"] < 10000), ("unreachable", True), "%s" % j["aim"])


@each("race", "cycle")
def test_from_real_tsan(s, case):
    """The real tool, if it has a warning here."""
    s.write("p.c", RACE if case == "race" else CYCLE)
    s.run(["gcc", "-g", "-fsanitize=thread", "p.c", "-o", "native"])
    said = s.run(["./native"], want=None, env={"TSAN_OPTIONS": "exitcode=0"}).stderr
    if "WARNING: ThreadSanitizer" not in said:
        return
    s.write("tsan.log", said)
    program = build(s, s.read("p.c"))
    j = aim(s, 1, "--no-explain", "--from", "tsan.log", "--", program)
    s.check("reached" in [a["result"] for a in j["aim"]], "%s" % j["aim"])


@each("xml", "text")
def test_from_helgrind(s, form):
    if not shutil.which("valgrind"):
        return
    s.write("p.c", RACE)
    s.run(["gcc", "-g", "p.c", "-o", "native"])
    options = ["--xml=yes", "--xml-file=report"] if form == "xml" else ["--log-file=report"]
    s.run(["valgrind", "--tool=helgrind", *options, "./native"])
    program = build(s, RACE)
    j = aim(s, 1, "--no-explain", "--from", "report", "--", program)
    s.same([a["result"] for a in j["aim"]], ["reached"], "one warning, however often it was reported")


@each("xml", "text")
def test_from_drd(s, form):
    """DRD names one access; its other stacks are where the other thread's segment begins and ends."""
    if not shutil.which("valgrind"):
        return
    s.write("p.c", RACE)
    s.run(["gcc", "-g", "p.c", "-o", "native"])
    options = ["--xml=yes", "--xml-file=report"] if form == "xml" else ["--log-file=report"]
    s.run(["valgrind", "--tool=drd", *options, "./native"])
    if "onflicting" not in s.read("report"):
        return
    j = aim(s, 1, "--no-explain", "--from", "report", "--", build(s, RACE))
    s.same({a["result"] for a in j["aim"]}, {"reached"}, "results")


LOCK_ORDER = """<?xml version="1.0"?>
<valgrindoutput>
<error>
  <kind>LockOrder</kind>
  <xwhat><text>Thread #3: lock order "0x10 before 0x20" violated</text></xwhat>
  <stack>
    <frame><fn>pthread_mutex_lock</fn></frame>
    <frame><fn>two</fn><file>p.c</file><line>12</line></frame>
  </stack>
  <auxwhat>Lock at 0x10 was first observed</auxwhat>
  <stack><frame><fn>main</fn><file>p.c</file><line>19</line></frame></stack>
</error>
</valgrindoutput>
"""


def test_from_where_a_lock_was_made(s):
    """The stack of where a lock was first observed is no acquisition of the cycle."""
    s.write("report", LOCK_ORDER)
    j = aim(s, 1, "--no-explain", "--from", "report", "--", build(s, CYCLE))
    s.same([(a["result"], [at["line"] for at in a["lines"]]) for a in j["aim"]], [("reached", [12])], "result")


LOCK_ORDER_TEXT = """==1== Helgrind, a thread error detector
==1== ----------------------------------------------------------------
==1==
==1== Thread #3: lock order "0x10 before 0x20" violated
==1==
==1== Observed (incorrect) order is: acquisition of lock at 0x20
==1==    at 0x1: pthread_mutex_lock (hg_intercepts.c:942)
==1==    by 0x2: two (p.c:11)
==1==
==1==  followed by a later acquisition of lock at 0x10
==1==    at 0x1: pthread_mutex_lock (hg_intercepts.c:942)
==1==    by 0x2: two (p.c:12)
==1==
==1== Required order was established by acquisition of lock at 0x10
==1==    by 0x2: one (p.c:4)
==1==
==1==  followed by a later acquisition of lock at 0x20
==1==    by 0x2: one (p.c:5)
==1==
==1==  Lock at 0x10 was first observed
==1==    by 0x2: main (p.c:19)
==1==
"""


def test_from_orders_of_locks(s):
    """Threads of the deadlock wait at the later acquisitions."""
    s.write("report", LOCK_ORDER_TEXT)
    j = aim(s, 1, "--no-explain", "--from", "report", "--", build(s, CYCLE))
    s.same([(a["result"], [at["line"] for at in a["lines"]]) for a in j["aim"]], [("reached", [12, 5])], "result")


def test_from_nothing(s):
    """ThreadSanitizer writes nothing where it finds nothing; each warning has a result, also without time."""
    program = build(s, RACE)
    s.write("tsan.log", "")
    s.same(aim(s, 0, "--from", "tsan.log", "--", program)["aim"], [], "warnings")
    s.check("tsan.log: no warning in it" in s.run([s.heddle, "aim", "--from", "tsan.log", "--", program]).stdout, "said")


FAILURES = """#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int *head, *second;
static void *use(void *p) {
  pthread_mutex_lock(&m);
  int *h = head, *n = second;
  pthread_mutex_unlock(&m);
  *n = 1;
  *h = 2;
  return p;
}
static void *drop(void *p) {
  pthread_mutex_lock(&m);
  second = 0;
  pthread_mutex_unlock(&m);
  pthread_mutex_lock(&m);
  free(head);
  pthread_mutex_unlock(&m);
  return p;
}
int main(void) {
  static int n;
  pthread_t t, u;
  head = malloc(4);
  second = &n;
  pthread_create(&t, 0, use, 0);
  pthread_create(&u, 0, drop, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
}
"""
REPORTS = {  # name: what is found, the report
    "tsan crash": ("SEGV", "crash", 9,
        "==7==ERROR: ThreadSanitizer: SEGV on unknown address 0x0 (pc 0x1 bp 0x2 sp 0x3 T9)\n==7==Hint: address points to the zero "
        "page.\n    #0 use p.c:9:6 (p+0xd01dd) (BuildId: bdf3)\n    #1 start_thread nptl/pthread_create.c:442 (libc.so+0x8)\n\n"
        "SUMMARY: ThreadSanitizer: SEGV p.c:9:6 in use\n==7==ABORTING\n"),
    "asan": ("heap-use-after-free", "use-after-free", 10,
        "=====\n==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x6 at pc 0x5\nWRITE of size 4 at 0x6 thread T1\n"
        "    #0 0x55 in use p.c:10:6\n    #1 0x7f in start_thread nptl/pthread_create.c:442:8\n\n0x6 is located 0 bytes\n"
        "freed by thread T2 here:\n    #0 0x55 in free (p+0x9)\n    #1 0x55 in drop p.c:18:3\n"),
    "tsan": ("heap-use-after-free", "use-after-free", 10,
        "WARNING: ThreadSanitizer: heap-use-after-free (pid=7)\n  Write of size 4 at 0x7 by thread T1:\n    #0 use p.c:10:6 (p+0xd)\n\n"
        "  Previous write of size 8 at 0x7 by thread T2:\n    #0 free <null> (p+0x5)\n    #1 drop p.c:18:3 (p+0x6)\n"),
}


@each(*sorted(REPORTS))
def test_from_failures(s, case):
    """What a sanitizer has met is confirmed by that failure, not by reaching the line."""
    title, kind, line, report = REPORTS[case]
    s.write("report", report)
    j = aim(s, 1, "--no-explain", "--from", "report", "--", build(s, FAILURES, facts=True))
    s.same([(a["warning"], a["result"]) for a in j["aim"]], [(title, "reached")], "warnings")
    s.same([(f["kind"], f["where"][0]["line"], f["replays"]) for f in j["findings"]], [(kind, line, True)], "findings")


def test_from_damaged(s):
    """Reports that were cut off, and lists that are none of Infer: whole warnings are used, and what is missing is said."""
    program = build(s, RACE)
    one = "<error><kind>Race</kind><stack><frame><file>p.c</file><line>1</line></frame></stack></error>"
    s.write("none.xml", "<valgrindoutput>" + one[:40])
    common.refused(s, [s.heddle, "aim", "--from", "none.xml", "--", program], 2, "cut off: it has no </valgrindoutput>")
    s.write("some.xml", "<valgrindoutput>" + one + one[:40])
    p = s.run([s.heddle, "aim", "--max-executions", "10", "--from", "some.xml", "--", program], want=None)
    s.check("there may have been more warnings" in p.stderr and "1 warning of Valgrind" in p.stdout, p.stderr + p.stdout)
    s.write("cut.xml", '<results version="2"><cppcheck version="2"/><errors><error id="a">')
    common.refused(s, [s.heddle, "aim", "--from", "cut.xml", "--", program], 2, "cut off: it has no </results>")
    s.write("cut.json", '[{"bug_type": "DEADLOCK"')
    common.refused(s, [s.heddle, "aim", "--from", "cut.json", "--", program], 2, "cut.json:1: not a whole report of Infer")
    s.write("other.json", '[{"name": "x"}]')
    common.refused(s, [s.heddle, "aim", "--from", "other.json", "--", program], 2, "none is a bug of Infer")


def test_from_static_tools(s):
    program = build(s, RACE)
    s.write("c.xml", '<?xml version="1.0"?>\n<results version="2">\n<cppcheck version="2"/>\n<errors>\n'
                     '<error id="uninitvar" msg="a &lt; b"><location file="p.c" line="5"/></error>\n</errors>\n</results>\n')
    j = aim(s, 1, "--no-explain", "--from", "c.xml", "--", program)
    s.same([(a["warning"], a["result"]) for a in j["aim"]], [("uninitvar", "reached")], "cppcheck")
    s.write("i.json", json.dumps([{"bug_type": "THREAD_SAFETY_VIOLATION", "file": "p.c", "line": 4},
                                  {"bug_type": "THREAD_SAFETY_VIOLATION", "file": "p.c", "line": 13}]))
    j = aim(s, 1, "--no-explain", "--from", "i.json", "--", program)
    s.same([a["result"] for a in j["aim"]], ["reached", "unreachable"], "Infer")

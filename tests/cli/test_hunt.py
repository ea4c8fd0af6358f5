"""heddle hunt: the tests of a suite share one budget of time."""
import json
import os
import re
import xml.etree.ElementTree as ET

import common
from scratch import each

# Searched at once; the order of N threads at a lock, one of which fails if it is last of all.
LOCKS = """#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int order;
static void *t(void *a) { pthread_mutex_lock(&m); order = order * 10 + (int)(long)a; pthread_mutex_unlock(&m); return a; }
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 2, bad = argc > 2 ? atoi(argv[2]) : 0;
  pthread_t id[9];
  for (long i = 0; i < n; i++) pthread_create(&id[i], 0, t, (void *)(i + 1));
  for (int i = 0; i < n; i++) pthread_join(id[i], 0);
  assert(order != bad);
  if (getenv("STATUS")) return atoi(getenv("STATUS"));
  return 0;
}
"""

ENDLESS = """#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static void *t(void *a) {
  for (int i = 0; i < 50; i++) { pthread_mutex_lock(&m); sum = sum * 3 + 1; pthread_mutex_unlock(&m); }
  return a;
}
int main(void) {
  pthread_t id[8];
  for (int i = 0; i < 8; i++) pthread_create(&id[i], 0, t, 0);
  for (int i = 0; i < 8; i++) pthread_join(id[i], 0);
  return 0;
}
"""


def rows(out):
    """[name, verdict, executions, time, findings] of each line of the table."""
    lines = out.split("\n")
    head = next((i for i, line in enumerate(lines) if line.startswith("test ")), len(lines))
    return [re.split(r" {2,}", line.replace(" s ", "s ").strip()) for line in lines[head + 1:]
            if re.match(r"\S+  ", line)]


def hunt(s, *args, want=0, **kw):
    return s.run([s.heddle, "hunt", *args], want=want, **kw)


def test_a_list_of_commands(s):
    s.cc(s.write("locks.c", LOCKS), "locks", "-g")
    s.write("tests.txt", "# all of them\n./locks 2\n\n./locks 3 '321'  # fails\n   ./locks \"2\" \\21\n")
    p = hunt(s, "tests.txt", want=1)
    s.same([r[:2] for r in rows(p.stdout)], [["locks-2", "found"], ["locks-3", "found"], ["locks", "clean"]], "table")
    s.check("locks-2: assertion failed: order != bad" in p.stdout, p.stdout)
    s.check(p.stdout.index("replay: heddle replay .heddle/locks-2/1") < p.stdout.index("test "), "findings come first")
    s.check(p.stdout.endswith("heddle: 3 tests: 1 clean, 2 found\n"), p.stdout)
    s.replay(".heddle/locks-2/1")
    s.same(hunt(s, "-", stdin="./locks 2\n").stdout.split("\n")[-2], "heddle: 1 test: 1 clean", "of standard input")
    s.same(sorted(os.listdir(s.path(".heddle"))), ["locks", "locks-2", "locks-3"], "folders")


BENCH = os.path.join(os.path.dirname(os.path.dirname(common.HERE)), "bench", "search")
RARE = ["twostage 20 1", "reorder 10 1", "bluetooth 8"]  # none of 300 ordinary runs of each fails


def test_rare_failures(s):
    """A suite of 30 tests, three of which fail under rare schedules only: all three are found, and nothing else."""
    tests = []
    for name in sorted(os.listdir(BENCH)):
        if name.endswith(".c"):
            with open(os.path.join(BENCH, name)) as f:
                tests += [name[:-2] + " " + sizes.strip() for sizes in re.findall(r"\* clean: ([0-9 ]+)", f.read())]
    tests = tests[:27]
    for at, rare in zip((5, 14, 23), RARE):
        tests.insert(at, rare)
    s.same(len(tests), 30, "tests")
    for name in {t.split()[0] for t in tests}:
        s.cc(os.path.join(BENCH, name + ".c"), name, "-O1", "-I" + BENCH)
    s.write("tests.txt", "".join("./%s\n" % t for t in tests))
    p = hunt(s, "--time", "60s", "--json", "r.json", "tests.txt", want=1)
    results = [t["result"] for t in json.loads(s.read("r.json"))["targets"]]
    found = [" ".join(r["command"]) for r in results if r["findings"]]
    s.same(sorted(found), sorted("./" + t for t in RARE), "what was found: " + p.stdout)


def test_time_is_shared(s):
    """What is over gives its time to what is not; that continues, and what it found out is kept."""
    s.cc(s.write("locks.c", LOCKS), "locks", "-g")
    s.cc(s.write("endless.c", ENDLESS), "endless", "-g")
    s.write("tests.txt", "./endless\n./locks 4\n./locks 3 312\n")
    p = hunt(s, "--time", "4", "--json", "r.json", "--junit", "j.xml", "tests.txt", want=1)
    table = rows(p.stdout)
    s.same([r[:2] for r in table], [["locks-2", "found"], ["endless", "stopped"], ["locks", "clean"]], "table")
    s.check(float(table[1][3].rstrip("s")) > 2, "the long search got %s" % table[1][3])
    r = json.loads(s.read("r.json"))
    s.same(sorted(t["verdict"] for t in r["targets"]), ["clean", "found", "stopped"], "verdicts of --json")
    long = [t["result"] for t in r["targets"] if t["name"] == "endless"][0]
    s.check(long["seconds"] > 2 and long["executions"] > 20, "it was not continued: %s" % long)
    s.same(len(ET.fromstring(s.read("j.xml")).findall("testsuite")), 3, "suites of --junit")
    s.same([f for f in os.listdir(s.path(".heddle")) if f.endswith(".hunt")], [], "files that are left")
    s.check("not complete" not in p.stdout, "the table says what was stopped")
    hunt(s, "--time", "1", "--target", "endless", "tests.txt", want=5)


CMAKE = """cmake_minimum_required(VERSION 3.14)
project(suite C)
find_package(Threads REQUIRED)
enable_testing()
add_executable(locks locks.c)
target_link_libraries(locks Threads::Threads)
add_test(NAME good COMMAND locks 2)
add_test(NAME bad/one COMMAND locks 3 231)
add_test(NAME env COMMAND locks)
set_tests_properties(env PROPERTIES ENVIRONMENT "STATUS=3;OTHER=a b")
add_test(NAME fails COMMAND locks)
set_tests_properties(fails PROPERTIES ENVIRONMENT "STATUS=3" WILL_FAIL TRUE)
add_test(NAME off COMMAND locks 3 321)
set_tests_properties(off PROPERTIES DISABLED TRUE)
add_test(NAME script COMMAND sh -c true)
add_test(NAME checked COMMAND heddle check --time 5 -- $<TARGET_FILE:locks> 2 12)
"""

MESON = """project('suite', 'c')
locks = executable('locks', 'locks.c', dependencies: dependency('threads'))
test('good', locks, args: ['2'])
test('bad', locks, args: ['3', '213'])
test('env', locks, env: ['STATUS=4'])
"""


def with_compilers(s):
    return dict(s.env, PATH=s.build + ":" + s.env["PATH"], CC="heddle-cc", CFLAGS="-g")


def test_ctest(s):
    env = with_compilers(s)
    s.write("locks.c", LOCKS)
    s.write("CMakeLists.txt", CMAKE)
    common.slow(s, ["cmake", "-S", ".", "-B", "build"], env=env)
    common.slow(s, ["cmake", "--build", "build"], env=env)
    for where in (), ("build",):
        p = hunt(s, *where, want=1, env=env)
        s.same(sorted(r[:2] for r in rows(p.stdout)),
               [["bad-one", "found"], ["checked", "found"], ["env", "found"], ["fails", "clean"], ["good", "clean"]], "table")
        s.check("warning: script is left out: " in p.stderr and "not built with heddle cc" in p.stderr, p.stderr)


def test_meson(s):
    env = with_compilers(s)
    s.write("locks.c", LOCKS)
    s.write("meson.build", MESON)
    common.slow(s, ["meson", "setup", "out"], env=env)
    common.slow(s, ["meson", "compile", "-C", "out"], env=env)
    p = hunt(s, "out", want=1)
    s.same(sorted(r[:2] for r in rows(p.stdout)), [["bad", "found"], ["env", "found"], ["good", "clean"]], "table")


def test_targets_of_heddle_toml(s):
    s.cc(s.write("locks.c", LOCKS), "locks", "-g")
    s.write("heddle.toml", '[defaults]\nall = true\n[[target]]\nprogram = "locks"\nargs = ["3", "132"]\n'
                           '[[target]]\nname = "more"\nprogram = "locks"\nenv = { STATUS = "0" }\n')
    for where in (), ("heddle.toml",), ("--config", "heddle.toml"):
        p = hunt(s, *where, want=1)
        s.same([r[:2] for r in rows(p.stdout)], [["locks", "found"], ["more", "clean"]], "table")


@each(("nothing", [], "heddle: no tests given, and no build folder or heddle.toml here"),
      ("folder", ["empty"], "heddle: empty has no tests of CMake or Meson"),
      ("missing", ["none.txt"], "heddle: none.txt: No such file"),
      ("quote", ["quote.txt"], "heddle: quote.txt:2: a quote is not closed"),
      ("binary", ["/bin/true"], "heddle: /bin/true is not a list of commands"),
      ("no-tests", ["comment.txt"], "heddle: comment.txt has no tests"),
      ("not-built", ["plain.txt"], "heddle: plain.txt has no test that was built with heddle cc"),
      ("save", ["--save", "f", "plain.txt"], "heddle: heddle hunt has no --save"),
      ("all", ["--all", "plain.txt"], "heddle: heddle hunt has no --all"),
      ("words", ["a", "b"], "heddle: heddle hunt takes one folder or file"),
      ("target", ["--target", "x", "locks.txt"], "heddle: --target x: locks.txt has no such target"),
      ("option", ["--tim", "3", "locks.txt"], "heddle: unknown option '--tim'; did you mean --time?"))
def test_wrong_usage(s, case):
    os.mkdir(s.path("empty"))
    s.write("quote.txt", "./a\n./b 'c\n")
    s.write("comment.txt", "# nothing\n")
    s.write("plain.txt", "/bin/true\n")
    s.cc(s.write("locks.c", LOCKS), "locks")
    s.write("locks.txt", "./locks\n")
    p = hunt(s, *case[1], want=2)
    s.check(case[2] in p.stderr, p.stderr)
    s.same(p.stdout, "", "standard output")
    s.check(not os.path.exists(s.path(".heddle")), "something was written")

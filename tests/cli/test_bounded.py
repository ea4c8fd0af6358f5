"""heddle concolic --driver bounded, hyper, sequential: models of the literature (bench/concolic) are covered with as many interferences as it says."""
import json
import os
import re
import shutil

from scratch import each

CLANG = shutil.which("clang-19")
MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "bench", "concolic")

# Flags, outcomes covered with 0, 1, ... interferences, at most so many scenarios, and the inputs of the failure.
CASES = {
    "bluetooth": ("bluetooth", [], [5, 4, 1], 282, {}),
    "coverable": ("coverable", [], [3, 1], 20, {"input": range(2, 1 << 31)}),
    "addall": ("addall", [], [2, 2], 100, {"n": range(6, 11)}),
    "mutual": ("mutual", [], [3, 1], 100, {"want": range(16, 20)}),
    "art2": ("art", ["-DTHREADS=2"], [7, 1], 80, {}),
    "art3": ("art", ["-DTHREADS=3"], [10, 1, 1], 17942, {}),
    "art4": ("art", ["-DTHREADS=4"], [13, 1, 1, 1], 2842066, {}),
    "art5": ("art", ["-DTHREADS=5"], [16, 1, 1, 1, 1], 10851573, {}),
    "sor": ("sor", [], [1, 0, 0, 3], 145, {}),
    "apache1": ("apache", ["-DVARIANT=1"], [6, 2], 22150, {}),
    "aget": ("aget", [], [8, 1, 1], 23197, {}),
}


@each(*CASES)
def test_model(s, name):
    model, flags, covered, most, inputs = CASES[name]
    if not CLANG:
        return
    s.run([s.heddle, "cc", "--symbolic", "-g", "-O1", *flags, os.path.join(MODELS, model + ".c"), "-o", "prog"])
    p = s.run([s.heddle, "concolic", "--driver", "bounded", "--all", "--", "./prog"], want=1)
    line = re.search(r"branches.*", p.stdout).group()
    of = re.search(r"(\d+) of (\d+) outcomes covered: (.*)", line)
    s.same(of[1], of[2], "outcomes covered")
    s.same([int(x) for x in re.findall(r"(\d+) with", of[3])], covered, "by interferences")
    s.check(int(re.search(r"scenarios: (\d+)", p.stdout)[1]) <= most, "more scenarios than %d: %s" % (most, p.stdout))
    for input_name, values in inputs.items():
        n = int(re.search(r"\b%s = (-?\d+)" % input_name, p.stdout)[1])
        s.check(n in values, "%s = %d" % (input_name, n))


HEAD = """#include <heddle.h>
#include <pthread.h>
static _Atomic int x;
"""
MAIN = """int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
"""


def search(s, text, *words, want, driver="bounded"):
    s.write("prog.c", HEAD + text + MAIN)
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "-O0", "prog.c", "-o", "prog"])
    s.run([s.heddle, "concolic", "--driver", driver, "--all", "--no-explain", "--json", "r.json", *words, "--", "./prog"], want=want)
    return json.loads(s.read("r.json"))


def outcomes(r, line):
    return {b["outcome"]: b.get("interferences") for b in r["branches"] if b["line"] == line}


def test_range_with_zero(s):
    """An input that has to be 0 is, though its range begins below."""
    if not CLANG:
        return
    r = search(s, """static void *one(void *p) {
  int i = (int)hd_input_range(-3, 12, "i");
  if (i + i < 0) x = 1;
  if (i == 0) hd_failure("zero");
  return p;
}
static void *two(void *p) { return p; }
""", want=1)
    s.same([i["value"] for i in r["findings"][0]["inputs"]], ["0"], "inputs")
    s.same(outcomes(r, 6), {True: 0, False: 0}, "outcomes")
    s.same([x["reason"] for x in r["inexact"]], ["interferences"], "reasons")


def test_failure_hides_nothing(s):
    """What one thread does is seen though another one always fails."""
    if not CLANG:
        return
    r = search(s, """static void *one(void *p) { hd_failure("one"); return p; }
static void *two(void *p) {
  int i = (int)hd_input_range(0, 9, "i");
  if (i == 7) hd_target("seven");
  if (i == 8) hd_failure("two");
  return p;
}
""", want=1)
    s.same(sorted(f["where"][0]["line"] for f in r["findings"]), [4, 8], "findings")
    s.check("seven" in r["targets"], r.get("targets"))


def test_outcomes(s):
    """The outcomes in JSON and for lcov are those of the source, also where the compiler asks for the opposite."""
    if not CLANG:
        return
    r = search(s, """static void *one(void *p) {
  x = 3;
  return p;
}
static void *two(void *p) {
  int v = x;
  if (v != 3) return p;
  if ((v & 4) == 4) x = 5;
  return p;
}
""", "--lcov", "branches.info", want=0)
    s.same(outcomes(r, 10), {True: 0, False: 1}, "outcomes")
    s.same(outcomes(r, 11), {True: None, False: 1}, "outcomes")
    s.same([b["reason"] for b in r["branches"] if not b["covered"]], ["no scenario leads there"], "reasons")
    text = s.read("branches.info")
    s.check("SF:%s\n" % s.path("prog.c") in text and "BRDA:10,0,1,1\nBRDA:10,0,0,1\nBRDA:11,0,1,1\nBRDA:11,0,0,0\n" in text
            and "BRF:4\nBRH:3\n" in text, text)


def test_hyper_listing(s):
    """Three races, the last of which needs an input: in few executions."""
    if not CLANG:
        return
    s.run([s.heddle, "cc", "--symbolic", "-g", "-O1", os.path.join(MODELS, "listing.c"), "-o", "prog"])
    r = s.search("concolic", "./prog", "--driver", "hyper", "--all", "--no-explain")
    s.same([f["kind"] for f in r["findings"]], ["data-race"] * 3, "findings")
    s.check(all(f["replays"] for f in r["findings"]), "a finding does not replay")
    s.check(r["executions"] <= 16, "%d executions" % r["executions"])
    s.same([x["reason"] for x in r["inexact"]], ["varied"], "reasons")


LOCKS = """static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static void *one(void *p) {
  int i = (int)hd_input_range(0, 99, "i");
  pthread_mutex_lock(&m);
  x = i;
  pthread_mutex_lock(&n);
  pthread_mutex_unlock(&n);
  pthread_mutex_unlock(&m);
  return p;
}
static void *two(void *p) {
  int v = x;
  pthread_mutex_t *first = v == 42 ? &n : &m, *second = v == 42 ? &m : &n;
  if (v == 42) x = 1;
  pthread_mutex_lock(first);
  pthread_mutex_lock(second);
  pthread_mutex_unlock(second);
  pthread_mutex_unlock(first);
  return p;
}
"""


def test_hyper_deadlock(s):
    """A deadlock that needs an input, a read between two locks, and the locks in the other order."""
    if not CLANG:
        return
    r = search(s, LOCKS, want=1, driver="hyper")
    s.same([f["kind"] for f in r["findings"]], ["deadlock"], "findings")
    s.same([i["value"] for i in r["findings"][0]["inputs"]], ["42"], "inputs")


def test_sequential(s):
    """Each thread's inputs, but no other schedule."""
    if not CLANG:
        return
    r = search(s, """static void *one(void *p) {
  int i = (int)hd_input_range(0, 99, "i");
  if (i == 42) x = i;
  x = 0;
  if (i > 50) hd_target("fifty");
  return p;
}
static void *two(void *p) {
  int i = (int)hd_input_range(0, 99, "i");
  if (x == 42) hd_target("never");
  if (i == 17) hd_failure("seventeen");
  return p;
}
""", want=1, driver="sequential")
    s.same(sorted(r["targets"]), ["fifty"], "targets")
    s.same(len(r["findings"]), 1, "findings")
    s.same([x["reason"] for x in r["inexact"]], ["alone"], "reasons")
    s.run([s.heddle, "concolic", "--driver", "other", "--", "./prog"], want=2)


@each("bounded", "hyper")
def test_shared_input(s, driver):
    """An input that a thread puts into shared memory is what another one reads there."""
    if not CLANG:
        return
    s.write("prog.c", """#include <assert.h>
#include <heddle.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int n, ready;
static char text[4];
static void *one(void *p) {
  pthread_mutex_lock(&m);
  hd_input(&n, sizeof n, "n");
  hd_input(text, 3, "text");
  ready = 1;
  pthread_mutex_unlock(&m);
  return p;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, one, 0);
  pthread_mutex_lock(&m);
  if (ready && text[2] == 113 && n > 7000) assert(n * 3 != 30303);
  pthread_mutex_unlock(&m);
  pthread_join(t, 0);
  return 0;
}
""")
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "-O0", "prog.c", "-o", "prog"])
    out = s.run([s.heddle, "concolic", "--driver", driver, "--all", "--no-explain", "--", "./prog"], want=1).stdout
    s.check("n = 10101 (T1)" in out and 'q"' in out, out)


@each("bounded", "hyper")
def test_time(s, driver):
    """A search that the time ended is not complete."""
    if not CLANG:
        return
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "-O1", "-DTHREADS=4", os.path.join(MODELS, "art.c"), "-o", "prog"])
    r = s.search("concolic", "./prog", "--driver", driver, "--interference", "4", "--all", "--no-explain", "--time", "1s")
    s.same((r["complete"], r["stopped"]), (False, "time"), "complete, stopped")

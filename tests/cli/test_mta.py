"""heddle concolic --driver mta: other orders of what executions did, and parts of several (src/concolic/mta.c, question.c)."""
import os
import shutil

from scratch import each

CLANG = shutil.which("clang-19")
MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "bench", "concolic")
HEAD = """#include <assert.h>
#include <heddle.h>
#include <pthread.h>
#include <stdatomic.h>
static _Atomic int x, y, z;
static int m, n;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
"""
MAIN = """
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
"""


def search(s, *words):
    r = s.search("concolic", "./prog", "--driver", "mta", "--all", "--no-explain", *words)
    for f in r["findings"]:
        s.check(f["replays"], "does not replay")
    return r


def ways(r):
    count = {}
    for b in r.get("branches", []):
        if b["covered"]:
            count[b["by"]] = count.get(b["by"], 0) + 1
    return count


# Outcomes that threads cover alone, and outcomes of each model; the inputs of the failure.
MODEL = {
    "bluetooth": (5, 10, {}),
    "coverable": (3, 4, {"input": range(2, 1 << 31)}),
    "mutual": (3, 4, {"want": range(16, 20)}),
    "addall": (2, 4, {"n": range(6, 11)}),
}


@each(*MODEL)
def test_model(s, name):
    alone, outcomes, inputs = MODEL[name]
    if not CLANG:
        return
    s.run([s.heddle, "cc", "--symbolic", "-g", "-O1", os.path.join(MODELS, name + ".c"), "-o", "prog"])
    r = search(s)
    s.same([b["covered"] for b in r["branches"]], [True] * outcomes, "outcomes covered")
    s.same(ways(r).get("threads alone"), alone, "by threads alone")
    s.same([f["kind"] for f in r["findings"]], ["assertion"], "findings")
    given = {i["name"]: int(i["value"]) for i in r["findings"][0].get("inputs", [])}
    for key, values in inputs.items():
        s.check(given[key] in values, given)
    s.same([i["reason"] for i in r["inexact"]], ["traces"], "reasons")


# What the two threads do; whether hd_failure is reachable, and then how it is found.
CASES = {
    "another order": ("void *one(void *p) { x = 1; if (y == 1) hd_failure(\"f\"); return p; }",
                      "void *two(void *p) { int v = x; y = v; return p; }", "another order"),
    "an input of another thread": ("void *one(void *p) { if (x == 7) hd_failure(\"f\"); return p; }",
                                   "void *two(void *p) { x = (int)hd_input_range(0, 100, \"n\"); return p; }", "another order"),
    # Neither thread is at both places in one execution.
    "a write of another execution": ("void *one(void *p) { if (hd_input_range(0, 9, \"a\") == 4 && y == 5) hd_failure(\"f\"); return p; }",
                                     "void *two(void *p) { if (hd_input_range(0, 9, \"b\") == 7) y = 5; return p; }", "several executions"),
    "with a lock around it": ("void *one(void *p) { pthread_mutex_lock(&lock); if (hd_input_range(0, 9, \"a\") == 4) { m = 0; if (n == 5 && m == 0) hd_failure(\"f\"); }"
                              " pthread_mutex_unlock(&lock); return p; }",
                              "void *two(void *p) { pthread_mutex_lock(&lock); if (hd_input_range(0, 9, \"b\") == 7) { n = 5; m = 1; }"
                              " pthread_mutex_unlock(&lock); return p; }", "several executions"),
    "inside of one": ("void *one(void *p) { pthread_mutex_lock(&lock); m = 1; int v = m; pthread_mutex_unlock(&lock); if (v == 2) hd_failure(\"f\"); return p; }",
                      "void *two(void *p) { pthread_mutex_lock(&lock); m = 2; pthread_mutex_unlock(&lock); return p; }", None),
    "between two of them": ("void *one(void *p) { pthread_mutex_lock(&lock); m = 1; pthread_mutex_unlock(&lock); pthread_mutex_lock(&lock); int v = m; pthread_mutex_unlock(&lock);"
                            " if (v == 2) hd_failure(\"f\"); return p; }",
                            "void *two(void *p) { pthread_mutex_lock(&lock); m = 2; pthread_mutex_unlock(&lock); return p; }", "another order"),
    "an exchange": ("void *one(void *p) { int e = 6; if (atomic_compare_exchange_strong(&x, &e, 1)) hd_failure(\"f\"); return p; }",
                    "void *two(void *p) { x = 6; x = 2; return p; }", "another order"),
    "an addition in one step": ("void *one(void *p) { if (atomic_fetch_add(&x, 1) + 1 != x) y = 1; return p; }",
                                "void *two(void *p) { atomic_fetch_add(&x, 2); if (x == 1) hd_failure(\"f\"); return p; }", None),
    # Compilers make a variable with two values a single bit.
    "a flag": ("void *one(void *p) { if (hd_input_range(0, 9, \"a\") == 4 && n) hd_failure(\"f\"); return p; }",
               "void *two(void *p) { if (hd_input_range(0, 9, \"b\") == 7) n = 1; return p; }", "several executions"),
    "half of a value": ("void *one(void *p) { unsigned char c = ((volatile unsigned char *)&x)[1]; if (c == 3) hd_failure(\"f\"); return p; }",
                        "void *two(void *p) { x = (int)hd_input_range(0, 70000, \"n\"); x = 0; return p; }", "another order"),
}


@each(*CASES)
def test_case(s, name):
    one, two, by = CASES[name]
    if not CLANG:
        return
    s.write("prog.c", HEAD + one + "\n" + two + MAIN)
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "-O1", "prog.c", "-o", "prog"])
    r = search(s, "--ignore", "data-race")
    s.same(len(r["findings"]), int(by is not None), "findings")
    s.check(by is None or by in ways(r), "by %s" % ways(r))
    s.check("not-realized" not in [i["reason"] for i in r["inexact"]], r["inexact"])


def test_summary(s):
    """The summary says how outcomes were covered; what is not covered has a reason."""
    if not CLANG:
        return
    s.write("prog.c", HEAD + "void *one(void *p) { if (hd_input_range(0, 9, \"a\") == 4 && y == 5) x = 1; return p; }\n"
                             "void *two(void *p) { int b = (int)hd_input_range(0, 9, \"b\"); if (b == 5) y = b; if (y == 7) x = 2; return p; }" + MAIN)
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "-O0", "prog.c", "-o", "prog"])
    out = s.run([s.heddle, "concolic", "--driver", "mta", "--", "./prog"]).stdout
    s.check("7 of 8 outcomes covered: 6 by threads alone, 1 by several executions" in out, out)
    s.check("  thread 1: 4 of 4 outcomes covered: 3 by threads alone, 1 by several executions\n"
            "  thread 2: 3 of 4 outcomes covered: 3 by threads alone\n" in out, out)
    s.check("prog.c:9: one outcome of a condition not covered: no order or combination of the executions leads there" in out, out)


def test_unknown_operations(s):
    """Semaphores keep their order, and the summary says that they are not known."""
    if not CLANG:
        return
    s.write("prog.c", "#include <semaphore.h>\n" + HEAD + "static sem_t s;\nvoid *one(void *p) { x = 1; sem_post(&s); return p; }\n"
            "void *two(void *p) { sem_wait(&s); if (x == 0) hd_failure(\"f\"); return p; }" + MAIN)
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "-O1", "prog.c", "-o", "prog"])
    r = search(s)
    s.same(r["findings"], [], "findings")
    s.check("not-ordered" in [i["reason"] for i in r["inexact"]], r["inexact"])


def test_queries(s):
    """Times are bit-vectors in the questions, so any solver can be asked."""
    if not CLANG:
        return
    s.run([s.heddle, "cc", "--symbolic", "-g", "-O1", os.path.join(MODELS, "coverable.c"), "-o", "prog"])
    search(s, "--queries", "q")
    texts = [s.read("q/" + name) for name in os.listdir(s.path("q"))]
    s.check(any("bvult" in t and "(check-sat)" in t for t in texts), texts)

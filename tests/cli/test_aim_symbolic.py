"""heddle aim --symbolic: lines that need an input as well as a schedule (src/session/aim.c, src/concolic)."""
import json
import shutil

from scratch import each

CLANG = shutil.which("clang-19")
HEAD = """#include <assert.h>
#include <heddle.h>
#include <pthread.h>
#include <stdatomic.h>
static _Atomic int x, y;
static volatile int sink;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;
static pthread_t t;
"""

# The program; the text of the line; exit code; inputs.
CASES = {
    "input": ("int main(void) { int n = (int)hd_input_range(0, 100000, \"n\");\n if (n * 3 == 2997)\n  sink = 1;\n return 0; }",
              "sink = 1", 1, {"n": "999"}),
    "input and schedule": ("static void *one(void *p) { x = (int)hd_input_range(0, 100000, \"n\"); y = 1; return p; }\n"
                           "int main(void) { pthread_create(&t, 0, one, 0);\n if (x == 4711)\n  if (!y)\n   sink = 1;\n pthread_join(t, 0); return 0; }",
                           "sink = 1", 1, {"n": "4711"}),
    "two inputs and a lock": ("static void *one(void *p) { int n = (int)hd_input_range(0, 99, \"n\"); pthread_mutex_lock(&lock);\n"
                              " if (n == 50) total = 7;\n pthread_mutex_unlock(&lock); return p; }\n"
                              "int main(void) { int m = (int)hd_input_range(0, 99, \"m\"); pthread_create(&t, 0, one, 0); pthread_mutex_lock(&lock);\n"
                              " if (total * m == 63)\n  sink = 1;\n pthread_mutex_unlock(&lock); pthread_join(t, 0); return 0; }",
                              "sink = 1", 1, {"n": "50", "m": "9"}),
    # However often the loop runs.
    "behind a loop": ("int main(void) { unsigned n; hd_input(&n, sizeof n, \"n\"); unsigned i = 0; for (; i < n; i++) if (i == 12) break;\n"
                      " if (n > 100 && n % 1000 == 77)\n  sink = 1;\n return 0; }", "sink = 1", 1, {}),
    "unreachable": ("static void *one(void *p) { int n = (int)hd_input_range(0, 1000, \"n\"); pthread_mutex_lock(&lock);\n"
                    " if (n > total) n = total;\n total -= n;\n if (total < 0)\n  sink = 1;\n pthread_mutex_unlock(&lock); return p; }\n"
                    "int main(void) { total = 500; pthread_create(&t, 0, one, 0); pthread_mutex_lock(&lock); total -= 20; pthread_mutex_unlock(&lock);\n"
                    " pthread_join(t, 0); return 0; }", "sink = 1", 0, {}),
}


def aim(s, code, text, *words, flags=("--symbolic", "--facts"), want):
    s.write("prog.c", HEAD + code + "\n")
    s.run([s.heddle, "cc", *flags, "-w", "-g", "-O1", "prog.c", "-o", "prog"])
    line = 1 + [i for i, l in enumerate((HEAD + code).split("\n")) if text in l][-1]
    return s.run([s.heddle, "aim", "--symbolic", *words, "prog.c:%d" % line, "--", "./prog"], want=want)


@each(*[name + driver for name in CASES for driver in (" mta", " hyper")])
def test_case(s, which):
    name, driver = which.rsplit(" ", 1)
    code, text, want, inputs = CASES[name]
    if not CLANG:
        return
    p = aim(s, code, text, "--driver", driver, "--json", "r.json", "--time", "40s", want=want)
    r = json.loads(s.read("r.json"))
    s.same(r["aim"][0]["result"], "reached" if want else "unreachable", "result")
    s.check(r["aim"][0]["facts"], "no facts")
    if not want:
        s.check("not reached in any schedule of any input" in p.stdout, p.stdout)
        return
    f = r["findings"][0]
    s.same(f["kind"], "reached", "kind")
    given = {i["name"]: i["value"] for i in f["inputs"]}
    for key, value in inputs.items():
        s.same(given[key], value, key)
    p = s.run([s.heddle, "replay", "--times", "2", ".heddle/1"], want=1)
    s.check("2 of 2 identical" in p.stdout + p.stderr, p.stdout + p.stderr)


def test_failure(s):
    """A failure at the line, with inputs; the data race beside it is another finding."""
    if not CLANG:
        return
    p = aim(s, "static void *one(void *p) { int n = (int)hd_input_range(0, 1000, \"n\"); if (n == 333) total = n; return p; }\n"
               "int main(void) { pthread_create(&t, 0, one, 0);\n assert(total != 333);\n pthread_join(t, 0); return 0; }",
            "assert(total", "--failure", want=1)
    s.check("n = 333" in p.stdout, p.stdout)


def test_without_facts(s):
    if not CLANG:
        return
    code, text, want, _ = CASES["input and schedule"]
    aim(s, code, text, flags=("--symbolic",), want=want)


WRONG = {
    "driver": (["--driver", "mta"], "--driver is for --symbolic"),
    "guided": (["--symbolic", "--heuristic", "random"], "--heuristic is for the search without --symbolic"),
    "partition": (["--symbolic", "--driver", "partition"], "--driver partition comes after another one"),
}


@each(*WRONG)
def test_wrong_use(s, name):
    words, text = WRONG[name]
    p = s.run([s.heddle, "aim", *words, "prog.c:1", "--", "true"], want=2)
    s.check(text in p.stdout + p.stderr, p.stdout + p.stderr)


def test_wrong_build(s):
    if not CLANG:
        return
    code, text, _, _ = CASES["input"]
    p = aim(s, code, text, flags=("--facts",), want=2)
    s.check("was not built with heddle cc --symbolic" in p.stdout + p.stderr, p.stdout + p.stderr)

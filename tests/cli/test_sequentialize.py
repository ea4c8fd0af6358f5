"""heddle sequentialize: a program of two threads as a sequential one (src/mutate/sequential.c)."""
import glob
import shutil

from scratch import each

CLANG = shutil.which("clang-19")
HAS_LIBRARY = bool(glob.glob("/usr/lib/llvm-*/lib/libclang*.so*"))
HEAD = """#include <assert.h>
#include <heddle.h>
#include <pthread.h>
#include <stdatomic.h>
static int x, y, a[3];
static _Atomic int z;
static unsigned char c;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
"""
MAIN = """
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, first, 0);
  pthread_create(&u, 0, second, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
"""
# What the first and the second thread do, and with how many interferences of the second one, and of the first one, it fails
# (None: with none up to 3).
CASES = {
    "one": ("x = 1;", "if (x) hd_failure(\"x\");", 1, None),
    "two": ("x = 1; y = 1;", "int n = y; if (!n && x) { if (y) hd_failure(\"y\"); }", 2, None),
    "lock": ("pthread_mutex_lock(&m); x = 1; x = 0; pthread_mutex_unlock(&m);",
             "pthread_mutex_lock(&m); if (x) hd_failure(\"x\"); pthread_mutex_unlock(&m);", None, None),
    "update": ("x += 2; a[1]++; ++a[a[1]];", "if (x == 2 && a[1] == 2) hd_failure(\"a\");", 2, None),
    "narrow": ("c = 255; c++; c -= 1; x = c;", "if (x == 255) hd_failure(\"c\");", 1, None),
    "atomic": ("atomic_fetch_add(&z, 2); z += 1;", "if (atomic_load(&z) == 2) hd_failure(\"z\");", 1, None),
    "section": ("__VERIFIER_atomic_begin(); x = 1; x = 2; __VERIFIER_atomic_end();", "if (x == 1) hd_failure(\"x\");", None, None),
    "loop": ("for (int i = 0; i < 3; i++) x = i; do y++; while (y < 2); while (x) x--;", "if (x == 2 && y == 0) hd_failure(\"x\");", 1, None),
    "other way": ("if (x) hd_failure(\"x\");", "x = 1;", None, 1),
    "lost update": ("int n = x; x = n + 1;", "int n = x; x = n + 1; if (x == 1 && a[2]) hd_failure(\"none\");", None, None),
}


@each(*CASES)
def test_case(s, name):
    if not CLANG or not HAS_LIBRARY:
        return
    first, second, with_k, swapped = CASES[name]
    s.write("prog.c", HEAD + "void __VERIFIER_atomic_begin(void);\nvoid __VERIFIER_atomic_end(void);\n"
            "static void *first(void *p) { " + first + " return p; }\nstatic void *second(void *p) { " + second + " return p; }" + MAIN)
    s.run([s.heddle, "sequentialize", "prog.c", "-o", "out.c"])
    for swap, least in (0, with_k), (1, swapped):
        for k in range(4):
            s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "-DHD_SEQ_K=%d" % k, "-DHD_SEQ_SWAP=%d" % swap, "out.c", "-o", "prog"])
            r = s.search("concolic", "./prog", "--no-explain")
            fails = least is not None and k >= least
            s.same([f["kind"] for f in r["findings"]], ["assertion"] * fails, "findings with K = %d, swap %d" % (k, swap))
            s.check(fails or r["complete"], r["inexact"])


def test_main(s):
    """main is one of the threads; the sequential driver finds it, too."""
    if not CLANG or not HAS_LIBRARY:
        return
    s.write("prog.c", HEAD + """
static void *sell(void *p) { if (x > 0) x--; return p; }
int main(void) {
  pthread_t t;
  int n = (int)hd_input_range(1, 1000, "n");
  x = n;
  pthread_create(&t, 0, sell, 0);
  if (x == 77) sell(0);
  pthread_join(t, 0);
  assert(x >= 0);
  if (n == 77 && x == 75) hd_failure("both");
  return 0;
}
""")
    s.run([s.heddle, "sequentialize", "prog.c", "-k", "1", "-u", "3", "-o", "out.c"])
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "out.c", "-o", "prog"])
    for driver in "partition", "sequential":
        r = s.search("concolic", "./prog", "--driver", driver, "--no-explain")
        s.same([(f["kind"], f["inputs"][0]["value"]) for f in r["findings"]], [("assertion", "77")], "findings")


@each("pointer", "address", "condition", "no main", "C++")
def test_refused(s, name):
    if not HAS_LIBRARY:
        return
    text = {"pointer": "int *q; int main(void) { return *q; }", "address": "int *f(void) { return &x; } int main(void) { return 0; }",
            "condition": "pthread_cond_t c1; int main(void) { pthread_cond_signal(&c1); return 0; }", "no main": "int f(void) { return x; }",
            "C++": "int main() {}"}[name]
    file = "prog.cc" if name == "C++" else "prog.c"
    s.write(file, HEAD + text)
    p = s.run([s.heddle, "sequentialize", file], want=2)
    want = {"pointer": "prog.c:9: a shared variable that is neither", "address": "prog.c:9: the address of a shared variable",
            "condition": "prog.c:9: only mutexes", "no main": "has no function main", "C++": "only C can be made sequential"}[name]
    s.check(want in p.stderr, p.stderr)

"""Locks that threads take in different orders: a remark where no schedule that ran was a deadlock, and none where it could not
be one."""
import json

from scratch import each

# The parts of two threads, which `stage` keeps apart: none of these programs can deadlock.
BASE = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER, w = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int stage;
static struct timespec far = {1ll << 33, 0};
#define LOCK(m) pthread_mutex_lock(&m)
#define UNLOCK(m) pthread_mutex_unlock(&m)
static void await(int n) { while (stage != n) {} }
static void first(void) { %s }
static void second(void) { %s }
static void *one(void *p) { first(); stage = 1; return p; }
static void *two(void *p) { await(1); second(); return p; }
int main(void) {
  pthread_t t, u;
  (void)far; (void)await;
  pthread_create(&t, 0, one, 0);
  pthread_create(&u, 0, two, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
}
"""
AB = "LOCK(a); LOCK(b); UNLOCK(b); UNLOCK(a);"
BA = "LOCK(b); LOCK(a); UNLOCK(a); UNLOCK(b);"
READ_RW = "pthread_rwlock_rdlock(&r); pthread_rwlock_rdlock(&w); pthread_rwlock_unlock(&w); pthread_rwlock_unlock(&r);"
READ_WR = "pthread_rwlock_rdlock(&w); pthread_rwlock_rdlock(&r); pthread_rwlock_unlock(&r); pthread_rwlock_unlock(&w);"

REMARKS = {
    "mutexes": (AB, BA),
    "writer": (READ_RW, READ_WR.replace("rdlock", "wrlock")),
    "shared-gate": tuple("pthread_rwlock_rdlock(&r);" + x + "pthread_rwlock_unlock(&r);" for x in (AB, BA)),
    "held-by-trylock": (AB, BA.replace("LOCK(b)", "pthread_mutex_trylock(&b)", 1)),
}
SILENT = {
    "same-order": (AB, AB),
    "gate": tuple("LOCK(c);" + x + "UNLOCK(c);" for x in (AB, BA)),
    "write-gate": tuple("pthread_rwlock_wrlock(&r);" + x + "pthread_rwlock_unlock(&r);" for x in (AB, BA)),
    "one-thread": (AB + BA, ""),
    "trylock": (AB, "LOCK(b); if (!pthread_mutex_trylock(&a)) UNLOCK(a); UNLOCK(b);"),
    "timed": (AB, "LOCK(b); if (!pthread_mutex_timedlock(&a, &far)) UNLOCK(a); UNLOCK(b);"),
    "readers": (READ_RW, READ_WR),
    "one-writer": (READ_RW, READ_WR.replace("rdlock(&r)", "wrlock(&r)")),
    "one-after-the-other": ("LOCK(a); UNLOCK(a); LOCK(b); UNLOCK(b);", BA),
    "initialised-again": (AB, "pthread_mutex_destroy(&a); pthread_mutex_init(&a, 0); " + BA),
    "written-again": (AB, "a = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; " + BA),
}


def remarks(s, program, *options, want=0, **kw):
    s.run([s.heddle, "check", *options, "--json", "out.json", "--", program], want=want, **kw)
    return json.loads(s.read("out.json")).get("remarks", [])


@each(*REMARKS)
def test_remark(s, how):
    program = s.build_text(BASE % REMARKS[how])
    for options in ([], ["--strategy", "optimal"], ["--restart", "fork"], ["-j", "2"]):
        found = remarks(s, program, *options, "--time", "20s")
        s.same([r["kind"] for r in found], ["lock-order"], "remarks with %s" % options)
        s.same(found[0]["apart"], False, "apart")
    s.check("no schedule of this test deadlocks there" in found[0]["text"], found[0]["text"])
    s.same(remarks(s, program, "--no-lock-order"), [], "with --no-lock-order")


@each(*SILENT)
def test_silent(s, how):
    program = s.build_text(BASE % SILENT[how])
    for options in ([], ["--strategy", "optimal"]):
        s.same(remarks(s, program, *options, "--time", "20s"), [], "remarks with %s" % options)


def test_text(s):
    program = s.build_text(BASE % (AB, BA))
    line = 1 + (BASE % (AB, BA)).split("\n").index("static void first(void) { %s }" % AB)
    out = s.run([s.heddle, "check", "--", program]).stdout
    s.check("""  remark: threads take locks in different orders; no schedule of this test deadlocks there
    one takes `a` (prog.c:%d), then `b` (prog.c:%d)
    another takes `b` (prog.c:%d), then `a` (prog.c:%d)
""" % (line, line, line + 1, line + 1) in out, out)
    out = s.run([s.heddle, "check", "--max-executions", "1", "--", program], want=None).stdout
    s.check("no schedule that ran deadlocked there" in out, out)


MAIN = """
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER;
#define LOCK(m) pthread_mutex_lock(&m)
#define UNLOCK(m) pthread_mutex_unlock(&m)
static void *ab(void *p) { %s return p; }
static void *ba(void *p) { %s return p; }
static void *bc(void *p) { LOCK(b); LOCK(c); UNLOCK(c); UNLOCK(b); return p; }
static void *ca(void *p) { LOCK(c); LOCK(a); UNLOCK(a); UNLOCK(c); return p; }
static void run(void *(*f)(void *)) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); }
int main(void) { (void)bc; (void)ca; %s }
""" % (AB, BA, "%s")


def test_family(s):
    """What a thread does before it creates the other, or after it has joined it, is setting up and cleaning up."""
    s.same(remarks(s, s.build_text(MAIN % "ba(0); run(ab);")), [], "before")
    s.same(remarks(s, s.build_text(MAIN % "run(ab); ba(0);")), [], "after")
    apart = remarks(s, s.build_text(MAIN % "run(ab); run(ba);"))
    s.same([r["apart"] for r in apart], [True], "kept apart by joining")
    s.check("since not all of these threads run at the same time" in apart[0]["text"], apart[0]["text"])
    three = remarks(s, s.build_text(MAIN % "run(ab); run(bc); run(ca);"))
    s.same([len(r["threads"]) for r in three], [3], "threads")


def test_deadlock(s):
    """A cycle that deadlocks is a finding and no remark; nor is a cycle a remark whose deadlock is ignored or suppressed."""
    program = s.build_text(MAIN % "pthread_t t; pthread_create(&t, 0, ab, 0); ba(0); pthread_join(t, 0);")
    s.same(remarks(s, program, "--all", want=1), [], "found")
    s.same(remarks(s, program, "--ignore", "deadlock"), [], "ignored")
    s.write("supp", "deadlock:*\n")
    s.same(remarks(s, program, "--suppressions", "supp"), [], "suppressed")


def test_checkpoint(s):
    """A gate that is held where executions start: at the first choice of the program."""
    text = BASE % ("LOCK(c); stage = 2 + hd_choose(2);" + AB + "UNLOCK(c);", "LOCK(c);" + BA + "UNLOCK(c);")
    program = s.build_text("#include <heddle.h>\n" + text)
    for how in ("always", "never"):
        s.same(remarks(s, program, "--checkpoint", how), [], "remarks with --checkpoint %s" % how)


CXX = """
#include <memory>
#include <mutex>
#include <thread>
#include <new>
struct node { std::mutex m; int n = 0; };
static void take(node &x, node &y) {
  std::lock_guard<std::mutex> p(x.m), q(y.m);
  x.n++, y.n++;
}
template <class F> static void run(F f) { std::thread t(f); t.join(); }
static void frame(bool turned) {
  node pair[2];
  run([&] { take(pair[turned], pair[!turned]); });
}
alignas(node) static char pool[2][sizeof(node)];
static void pooled(bool turned) {
  node *x = new (pool[0]) node, *y = new (pool[1]) node;
  run([&] { if (turned) take(*y, *x); else take(*x, *y); });
  y->~node(), x->~node();
}
static void both(node &x, node &y) { std::scoped_lock l(x.m, y.m); x.n++, y.n++; }
int main() { %s }
"""


@each("stack:frame(false); frame(true);", "pool:pooled(false); pooled(true);",
      "heap:for (int i = 0; i < 40; i++) { auto p = std::make_unique<node[]>(2);"
      " run([&] { take(p[i % 2], p[1 - i % 2]); }); }",
      "scoped_lock:node x, y; std::thread t([&] { both(x, y); }); both(y, x); t.join();")
def test_other_locks(s, how):
    """Other locks at the same addresses, and locks that are taken together."""
    s.same(remarks(s, s.build_text(CXX % how.split(":", 1)[1], suffix=".cc"), "--time", "20s", want=None), [], "remarks")


def test_callers(s):
    """A function that locks for others is named by its callers, and locks without a name by numbers."""
    program = s.build_text(BASE.replace("#define LOCK(m) pthread_mutex_lock(&m)", """
static void lock(pthread_mutex_t *m) { pthread_mutex_lock(m); }
#define LOCK(m) lock(m)
#define UNLOCK(m) pthread_mutex_unlock(m)
static pthread_mutex_t *x, *y;
static void make(void) { x = calloc(2, sizeof *x); y = x + 1; }""").replace(
        "#define UNLOCK(m) pthread_mutex_unlock(&m)", "").replace("(void)far;", "(void)far; make();") %
                           ("\nLOCK(x);\nLOCK(y); UNLOCK(y); UNLOCK(x);", "\nLOCK(y);\nLOCK(x); UNLOCK(x); UNLOCK(y);"))
    found = remarks(s, program)
    lines = [(t["holds"]["function"], t["requests"]["line"] - t["holds"]["line"]) for t in found[0]["threads"]]
    s.same(lines, [("first", 1), ("second", 1)], "functions, and lines between")
    s.check("lock 1 (prog.c:" in found[0]["text"] and "lock 2 (prog.c:" in found[0]["text"], found[0]["text"])

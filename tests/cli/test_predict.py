"""heddle predict: what one clean execution says of others, and what comes of it when these are run."""
import json
import os
import shutil

import common
from scratch import each

LOCKS = """#include <pthread.h>
pthread_mutex_t m[8];
int x[8];
static void take(int a, int b) {
  pthread_mutex_lock(&m[a]);
  pthread_mutex_lock(&m[b]);
  x[b]++;
  pthread_mutex_unlock(&m[b]);
  pthread_mutex_unlock(&m[a]);
}
"""


def start(*bodies, after=""):
    """A program with one thread for each body."""
    text = "".join("void *f%d(void *p) {\n  %s\n  return p;\n}\n" % (i, b) for i, b in enumerate(bodies))
    n = len(bodies)
    text += "int main(void) {\n  pthread_t t[%d];\n" % n
    text += "  for (int i = 0; i < 8; i++) pthread_mutex_init(&m[i], 0);\n"
    text += "".join("  pthread_create(&t[%d], 0, f%d, 0);\n" % (i, i) for i in range(n))
    text += "".join("  pthread_join(t[%d], 0);\n" % i for i in range(n)) + "  " + after + "\n}\n"
    return text


def build(s, text, name="p"):
    s.write(name + ".c", text)
    s.cc(name + ".c", name, "-g", "-O1")
    return "./" + name


def predict(s, want, *words):
    """The JSON of a run, which must end with this status."""
    s.run([s.heddle, "predict", "--json", "out.json", *words], want=want)
    with open(s.path("out.json")) as f:
        return json.load(f)


def results(j):
    return [(p["kind"], p["result"]) for part in j["predict"] for p in part["predictions"]]


CYCLES = {
    "two": start("take(0, 1);", "take(1, 0);"),
    "three": start("take(0, 1);", "take(1, 2);", "take(2, 0);"),
    "five": start("take(0, 1);", "take(1, 2);", "take(2, 3);", "take(3, 4);", "take(4, 0);"),
    "later": start("take(0, 1);", "take(2, 3); take(0, 1); take(1, 0);"),
    "loop": start("for (int i = 0; i < 20; i++) take(0, 1);", "for (int i = 0; i < 20; i++) take(2, 3); take(1, 0);"),
}


@each(*sorted(CYCLES))
def test_deadlock(s, case):
    """A cycle of any length is found from one run, executed, stored, and replays."""
    program = build(s, LOCKS + CYCLES[case])
    j = predict(s, 1, "--", program)
    s.same([f["kind"] for f in j["findings"]], ["deadlock"], "findings")
    s.same([r for r in results(j) if r[0] == "deadlock"], [("deadlock", "confirmed")], "predictions")
    f = j["findings"][0]
    s.check(f["replays"], "it does not replay")
    s.same(f["strategy"], "predicted", "strategy")
    with open(s.path(".heddle", "search.json")) as kept:
        search = json.load(kept)
    s.same((search["verdict"], len(search["findings"]), search["executions"]), ("bug", 1, j["executions"]), "for heddle report")
    s.run([s.heddle, "replay", f["replay"]], want=1)


IMPOSSIBLE = {
    "same order": start("take(0, 1);", "take(0, 1);"),
    "guard": start("pthread_mutex_lock(&m[7]); take(0, 1); pthread_mutex_unlock(&m[7]);",
                   "pthread_mutex_lock(&m[7]); take(1, 0); pthread_mutex_unlock(&m[7]);"),
    "one thread": start("take(0, 1); take(1, 0);", "take(2, 3);"),
    "after join": start("take(0, 1);", "take(2, 3);", after="take(1, 0);"),
    "trylock": start("take(0, 1);", "pthread_mutex_lock(&m[1]); if (!pthread_mutex_trylock(&m[0])) "
                     "pthread_mutex_unlock(&m[0]); pthread_mutex_unlock(&m[1]);"),
}


@each(*sorted(IMPOSSIBLE))
def test_no_deadlock(s, case):
    """Guards, creation and joining, and operations that do not wait make cycles impossible."""
    j = predict(s, 0, "--detectors", "deadlock", "--", build(s, LOCKS + IMPOSSIBLE[case]))
    s.same(results(j), [], "predictions")
    s.same(j["findings"], [], "findings")


RWLOCKS = """#include <pthread.h>
pthread_rwlock_t a = PTHREAD_RWLOCK_INITIALIZER, b = PTHREAD_RWLOCK_INITIALIZER;
void *f(void *p) {
  pthread_rwlock_%s(&a);
  pthread_rwlock_%s(&b);
  pthread_rwlock_unlock(&b);
  pthread_rwlock_unlock(&a);
  return p;
}
void *g(void *p) {
  pthread_rwlock_%s(&b);
  pthread_rwlock_%s(&a);
  pthread_rwlock_unlock(&a);
  pthread_rwlock_unlock(&b);
  return p;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, f, 0);
  pthread_create(&u, 0, g, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
}
"""


@each(("wrlock", "wrlock", "wrlock", "wrlock", 1), ("rdlock", "wrlock", "rdlock", "wrlock", 1),
      ("rdlock", "rdlock", "rdlock", "rdlock", 0), ("wrlock", "rdlock", "wrlock", "rdlock", 1),
      ("rdlock", "wrlock", "rdlock", "rdlock", 0), ("wrlock", "rdlock", "rdlock", "rdlock", 0))
def test_rwlocks(s, case):
    """Readers do not wait for readers: as a complete search says."""
    program = build(s, RWLOCKS % case[:4])
    s.run([s.heddle, "check", "--out", "dfs", "--strategy", "dfs", "--", program], want=case[4])
    j = predict(s, case[4], "--detectors", "deadlock", "--", program)
    s.same(len(j["findings"]), case[4], "findings")


BRANCH = """#include <pthread.h>
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER;
int ready;
void *f(void *p) {
  pthread_mutex_lock(&a);
  pthread_mutex_lock(&b);
  pthread_mutex_unlock(&b);
  pthread_mutex_unlock(&a);
  pthread_mutex_lock(&c);
  ready = 1;
  pthread_mutex_unlock(&c);
  return p;
}
void *g(void *p) {
  pthread_mutex_lock(&c);
  int go = ready;
  pthread_mutex_unlock(&c);
  if (!go) return p;
  pthread_mutex_lock(&b);
  pthread_mutex_lock(&a);
  pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&b);
  return p;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, f, 0);
  pthread_create(&u, 0, g, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
}
"""


def test_elsewhere(s):
    """What the program does not do when the order is another one is no finding, and the reason is stated."""
    program = build(s, BRANCH)
    s.run([s.heddle, "check", "--out", "dfs", "--strategy", "dfs", "--", program], want=0)
    j = predict(s, 0, "--detectors", "deadlock", "--", program)
    s.same(j["findings"], [], "findings")
    s.same(results(j), [("deadlock", "not-confirmed")], "predictions")
    one = j["predict"][0]["predictions"][0]
    s.check(not one["certain"], "it depends on what was read")
    s.same(one["reason"], "the program went elsewhere: T2 was about to exit instead of lock at p.c:19; another value was "
           "read: T2 read `ready` at p.c:16 was 1 and is now 0", "reason")
    text = s.run([s.heddle, "predict", "--detectors", "deadlock", "--", program], want=0).stdout
    s.check("Predicted, not confirmed:" in text, "the text does not list it: " + text)


CONDITION = """#include <pthread.h>
#include <time.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void set(int *what) {
  pthread_mutex_lock(&m);
  *what = 1;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
}
"""
THREE = """#define BEFORE pthread_t v;
#define BETWEEN pthread_create(&v, 0, h, 0);
#define AFTER pthread_join(v, 0);
"""

OTHERS = {
    "race": ("data-race", """#include <pthread.h>
int counter, flag;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *f(void *p) {
  counter = 1;
  pthread_mutex_lock(&m);
  flag = 1;
  pthread_mutex_unlock(&m);
  return p;
}
void *g(void *p) {
  pthread_mutex_lock(&m);
  flag = 2;
  pthread_mutex_unlock(&m);
  counter = 2;
  return p;
}
"""),
    "lost update": ("assertion", """#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int n;
void *f(void *p) {
  int old = n;
  n = old + 1;
  return p;
}
void *g(void *p) { return f(p); }
#define AFTER assert(n == 2);
"""),
    "null read": ("crash", """#include <pthread.h>
#include <stdatomic.h>
int value = 7, seen;
int *_Atomic pointer = &value;
void *f(void *p) {
  seen = *pointer;
  return p;
}
void *g(void *p) {
  pointer = 0;
  return p;
}
"""),
    "use after free": ("use-after-free", """#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
int seen;
int *_Atomic pointer;
void *f(void *p) {
  int *mine = pointer;
  seen = *mine;
  return p;
}
void *g(void *p) {
  free(pointer);
  return p;
}
#define BEFORE pointer = calloc(1, sizeof *pointer);
"""),
    "lost wake-up": ("lost-wakeup", """#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
void *f(void *p) {
  pthread_mutex_lock(&m);
  pthread_cond_wait(&c, &m);
  pthread_mutex_unlock(&m);
  return p;
}
void *g(void *p) {
  pthread_mutex_lock(&m);
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
  return p;
}
"""),
    "two of two": ("deadlock", """#include <pthread.h>
#include <semaphore.h>
sem_t s;
void *f(void *p) {
  sem_wait(&s);
  sem_wait(&s);
  sem_post(&s);
  sem_post(&s);
  return p;
}
void *g(void *p) { return f(p); }
#define BEFORE sem_init(&s, 0, 2);
"""),
    "semaphores as locks": ("deadlock", """#include <pthread.h>
#include <semaphore.h>
sem_t a, b;
static void take(sem_t *x, sem_t *y) {
  sem_wait(x);
  sem_wait(y);
  sem_post(y);
  sem_post(x);
}
void *f(void *p) { take(&a, &b); return p; }
void *g(void *p) { take(&b, &a); return p; }
#define BEFORE sem_init(&a, 0, 1); sem_init(&b, 0, 1);
"""),
    "without the lock": ("data-race", """#include <pthread.h>
int n;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *f(void *p) {
  int locked = !pthread_mutex_trylock(&m);
  n++;
  if (locked) pthread_mutex_unlock(&m);
  return p;
}
void *g(void *p) { return f(p); }
"""),
    "join with a lock": ("deadlock", """#include <pthread.h>
pthread_t t;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int n;
void *f(void *p) {
  pthread_mutex_lock(&m);
  n++;
  pthread_mutex_unlock(&m);
  return p;
}
void *g(void *p) {
  pthread_mutex_lock(&m);
  pthread_join(t, 0);
  pthread_mutex_unlock(&m);
  return p;
}
int main(void) {
  pthread_t u;
  pthread_create(&t, 0, f, 0);
  pthread_create(&u, 0, g, 0);
  pthread_join(u, 0);
}
#define main unused
"""),
    "wrong waiter": ("lost-wakeup", CONDITION + """int a, b;
void *f(void *p) { pthread_mutex_lock(&m); while (!a) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); return p; }
void *g(void *p) { pthread_mutex_lock(&m); while (!b) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); return p; }
void *h(void *p) {
  set(&a);
  set(&b);
  return p;
}
""" + THREE),
    "wrong signal": ("crash", CONDITION + """int ready, *result;
void *f(void *p) {
  struct timespec t = {1l << 40};
  pthread_mutex_lock(&m);
  if (!ready) pthread_cond_timedwait(&c, &m, &t);
  int v = *result;
  pthread_mutex_unlock(&m);
  return v ? p : 0;
}
void *g(void *p) {
  static int seven = 7;
  pthread_mutex_lock(&m);
  result = &seven;
  pthread_mutex_unlock(&m);
  set(&ready);
  return p;
}
void *h(void *p) {
  int nothing;
  set(&nothing);
  return p;
}
""" + THREE),
    "first at a barrier": ("assertion", """#include <assert.h>
#include <pthread.h>
pthread_barrier_t b;
void *f(void *p) {
  pthread_barrier_wait(&b);
  return p;
}
void *g(void *p) {
  assert(pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD);
  return p;
}
#define BEFORE pthread_barrier_init(&b, 0, 2);
"""),
    "first in a pipe": ("abort", """#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
int fd[2];
void *f(void *p) { return write(fd[1], "a", 1) == 1 ? p : 0; }
void *g(void *p) { return write(fd[1], "b", 1) == 1 ? p : 0; }
#define BEFORE if (pipe(fd)) return 1;
#define AFTER char first; if (read(fd[0], &first, 1) != 1 || first != 'a') abort();
"""),
    "another choice": ("abort", """#include <heddle.h>
#include <pthread.h>
#include <stdlib.h>
void *f(void *p) {
  if (hd_choose(3) == 2) abort();
  return p;
}
void *g(void *p) { return p; }
"""),
    "polled": ("crash", """#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
int value = 7, seen;
int *_Atomic pointer;
void *f(void *p) {
  pointer = &value;
  sched_yield();
  pointer = 0;
  return p;
}
void *g(void *p) {
  while (!pointer) sched_yield();
  seen = *pointer;
  return p;
}
"""),
    "behind a race": ("use-after-free", """#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
atomic_int quit;
int *data, seen;
void *f(void *p) {
  quit = 1;
  free(data);
  data = 0;
  return p;
}
void *g(void *p) {
  if (!quit) seen = data[0];
  return p;
}
#define BEFORE data = calloc(1, sizeof *data);
"""),
}
MAIN = """#ifndef BEFORE
#define BEFORE
#endif
#ifndef BETWEEN
#define BETWEEN
#endif
#ifndef AFTER
#define AFTER
#endif
int main(void) {
  pthread_t t, u;
  BEFORE
  pthread_create(&t, 0, f, 0);
  pthread_create(&u, 0, g, 0);
  BETWEEN
  pthread_join(t, 0);
  pthread_join(u, 0);
  AFTER
}
"""


@each(*sorted(OTHERS))
def test_kinds(s, case):
    """The recorded execution is clean, and so is the program on its own; another schedule is not."""
    kind, text = OTHERS[case]
    program = build(s, text + MAIN)
    if case not in ("use after free", "behind a race"):  # of which the access and the free race as they are
        s.run([s.heddle, "record", "-o", "t", "--", program], want=0)
    j = predict(s, 1, "--", program)
    kinds = [f["kind"] for f in j["findings"]]
    s.check(kind in kinds, "findings: %s" % kinds)
    s.check(all(f["replays"] for f in j["findings"]), "one does not replay")
    s.check({"confirmed", "other"} & {r for _, r in results(j)}, "predictions: %s" % results(j))
    for f in j["findings"]:
        s.run([s.heddle, "replay", f["replay"]], want=1)


# Both threads are inside only if each switch comes at one place of its thread: T1 is between its two stores when T2 goes
# inside, and T2 is inside when T1 goes on.
TWICE = """#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int flag[2], turn, inside;
static void enter(int i) {
  turn = 1 - i;
  flag[i] = 1;
  while (flag[1 - i] && turn == 1 - i) {}
  assert(inside++ == 0);
  inside--;
  flag[i] = 0;
}
void *f(void *p) { enter(0); return p; }
void *g(void *p) { enter(1); return p; }
"""


def test_followed(s):
    """A failure that needs two changes of the recorded order is predicted from an execution with one of them."""
    program = build(s, TWICE + MAIN)
    j = predict(s, 0, "--follow", "0", "--", program)
    s.same([part["trace"] for part in j["predict"]], [None], "traces")
    few = j["executions"]
    j = predict(s, 1, "--out", "more", "--", program)
    s.same([(f["kind"], f["replays"]) for f in j["findings"]], [("assertion", True)], "findings")
    s.check({part["trace"] for part in j["predict"]} == {None, "followed"}, "traces")
    s.check(j["executions"] > few, "executions of followed traces are not counted")
    s.run([s.heddle, "replay", j["findings"][0]["replay"]], want=1)
    text = s.run([s.heddle, "predict", "--out", "text", "--", program], want=1).stdout
    s.check("of these executions did something new: " in text, text)
    j = predict(s, 0, "--follow", "1", "--detectors", "deadlock", "--", program)
    s.check(len(j["predict"]) <= 2, "more than one is followed")


LOCKED = """#include <pthread.h>
#include <stdlib.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
#define LOCKED(what) pthread_mutex_lock(&m); what; pthread_mutex_unlock(&m)
"""
ALONE = {  # detector: its program
    "unset": LOCKED + """int *pointer;
void *f(void *p) { LOCKED(pointer = malloc(4)); return p; }
void *g(void *p) {
  LOCKED(int *q = pointer);
  *q = 1;
  return p;
}
""",
    "index": LOCKED + """int *table, at;
void *f(void *p) {
  LOCKED(int i = at);
  table[i] = 1;
  return p;
}
void *g(void *p) {
  LOCKED(at = -50000000);
  LOCKED(at = 1);
  return p;
}
#define BEFORE table = calloc(4, sizeof *table);
""",
    "null": LOCKED + """int n, *pointer = &n;
void *f(void *p) {
  LOCKED(int *q = pointer);
  *q = 1;
  return p;
}
void *g(void *p) {
  LOCKED(pointer = 0);
  LOCKED(pointer = &n);
  return p;
}
""",
    "signal": OTHERS["lost wake-up"][1],
    "atomicity": LOCKED + """int low, high;
void *f(void *p) {
  LOCKED(low = 1);
  LOCKED(high = 1);
  return p;
}
void *g(void *p) {
  LOCKED(int a = low);
  LOCKED(int b = high);
  if (a != b) abort();
  return p;
}
""",
}


@each(*sorted(ALONE))
def test_alone(s, detector):
    """Each detector without the help of others."""
    program = build(s, ALONE[detector] + MAIN)
    s.run([s.heddle, "record", "-o", "t", "--", program], want=0)
    j = predict(s, 1, "--detectors", detector, "--", program)
    s.check("confirmed" in [r for _, r in results(j)], "predictions: %s" % results(j))
    found = j["findings"][0]
    s.check(found["kind"] != "data-race", "it is a race")
    orders = found["predicted"]
    s.check(orders["observed"] != orders["predicted"] and sorted(orders["observed"]) == sorted(orders["predicted"]), "%s" % orders)
    s.run([s.heddle, "report", "-o", "page.html"])
    with open(s.path("page.html")) as f:
        s.check("Predicted from an execution" in f.read(), "not on the page")


CORRECT = {
    "counter": start("pthread_mutex_lock(&m[0]); x[0]++; pthread_mutex_unlock(&m[0]);",
                     "pthread_mutex_lock(&m[0]); x[0]++; pthread_mutex_unlock(&m[0]);", after="if (x[0] != 2) __builtin_trap();"),
    "handover": "pthread_cond_t c = PTHREAD_COND_INITIALIZER;\n" + start(
        "pthread_mutex_lock(&m[0]); x[1] = 7; x[0] = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m[0]);",
        "pthread_mutex_lock(&m[0]); while (!x[0]) pthread_cond_wait(&c, &m[0]); pthread_mutex_unlock(&m[0]); "
        "if (x[1] != 7) __builtin_trap();"),
    "published": "#include <stdatomic.h>\natomic_int ready;\n" + start(
        "x[0] = 7; ready = 1;", "if (ready && x[0] != 7) __builtin_trap();"),
    "ordered locks": start("take(0, 1); take(1, 2); take(0, 2);", "take(1, 2); take(0, 2); take(0, 1);"),
}


@each(*sorted(CORRECT))
def test_correct(s, case):
    """No finding in a correct program, and no certain prediction of a race or a deadlock."""
    program = build(s, LOCKS + CORRECT[case])
    s.run([s.heddle, "check", "--out", "all", "--strategy", "optimal", "--", program], want=0)
    j = predict(s, 0, "--", program)
    s.same(j["findings"], [], "findings")
    for p in j["predict"][0]["predictions"]:
        s.check(not p["certain"] or p["kind"] not in ("data-race", "deadlock"), "certain: %s" % p)


COPY = """#include <pthread.h>
int x, y, copy;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *f(void *p) {
  x = 1;
  pthread_mutex_lock(&m);
  y = 1;
  pthread_mutex_unlock(&m);
  return p;
}
void *g(void *p) {
  pthread_mutex_lock(&m);
  copy = y;
  pthread_mutex_unlock(&m);
  TEST x = 2;
  return p;
}
"""


@each(("gcc", "", 1), ("clang", "", 1), ("gcc", "if (copy)", 0), ("clang", "if (copy)", 0))
def test_branches(s, case):
    """A read whose value decides nothing may see another one."""
    compiler, test, want = case
    if not shutil.which(compiler):
        return
    s.write("p.c", COPY.replace("TEST", test) + MAIN)
    for option, status in (("--branches", want), ("-O1", 0)):
        s.run([s.heddle, "cc", "--heddle-compiler=" + compiler, option, "-g", "-O1", "p.c", "-o", "p"])
        j = predict(s, status, "--out", "o" + option, "--engine", "both", "--detectors", "huang", "--", "./p")
        s.same([f["kind"] for f in j["findings"]], ["data-race"] * status, option)
        s.same(j["predict"][0]["disagreed"], 0, "disagreement of the engines")


def test_no_places(s):
    """A trace of another tool can be analysed, not executed."""
    program = build(s, LOCKS + CYCLES["two"])
    s.run([s.heddle, "record", "-o", "t", "--", program], want=0)
    s.run([s.heddle, "trace", "convert", "--to", "std", "t", "-o", "t.std"], want=0)
    s.run([s.heddle, "predict", "t.std"], want=0)
    common.refused(s, [s.heddle, "predict", "t.std", "--", program], 2, "no places in the code")


def test_traces(s):
    """Stored traces with and without the program."""
    program = build(s, LOCKS + CYCLES["two"])
    s.run([s.heddle, "record", "-o", "t", "--", program], want=0)
    j = predict(s, 1, "t", "--", program)
    s.same(results(j), [("deadlock", "confirmed")], "predictions")
    s.check(os.path.exists(s.path(".heddle/1")), "it is not stored")
    text = s.run([s.heddle, "predict", "t"], want=0).stdout
    s.check("Predicted:\n  deadlock: T1 lock" in text, text)
    s.run([s.heddle, "trace", "convert", "--to", "text", "t", "-o", "t.txt"], want=0)
    j = predict(s, 1, "--out", "more", "t.txt", "--", program)
    s.same(results(j), [("deadlock", "confirmed")], "from text")
    j = predict(s, 1, "--out", "both", "t", "t.txt", "--detectors", "deadlock", "--", program)
    s.same(len(j["findings"]), 1, "findings of two traces")


def test_trace_of_another_build(s):
    """A trace is only followed in the program that it is of."""
    program = build(s, LOCKS + CYCLES["two"])
    s.run([s.heddle, "record", "-o", "t", "--", program], want=0)
    s.run([s.heddle, "trace", "convert", "--to", "text", "t", "-o", "t.txt"], want=0)
    other = build(s, "int unused;\n" + LOCKS + CYCLES["two"])
    for trace in ("t", "t.txt"):
        common.refused(s, [s.heddle, "predict", trace, "--", other], 2, "%s is not of this build of %s: " % (trace, other))
    s.check(not os.path.exists(s.path(".heddle/1")), "something is stored")


FLAG = """int flag;
static int seen(void) {
  pthread_mutex_lock(&m[7]);
  int n = flag;
  pthread_mutex_unlock(&m[7]);
  return n;
}
"""


def test_combined(s):
    """What each thread of a deadlock does is in another run."""
    program = build(s, LOCKS + FLAG + start("if (!seen()) take(0, 1);", "if (seen()) take(1, 0);",
                                            "pthread_mutex_lock(&m[7]); flag = 1; pthread_mutex_unlock(&m[7]);"))
    runs, seed = {}, 0
    while not {(True, False), (False, True)} <= set(runs):
        seed += 1
        s.check(seed < 100, "only %s in so many runs" % runs)
        name = "t%d" % seed
        s.run([s.heddle, "record", "--seed", str(seed), "-o", name, "--", program], want=None)
        text = s.run([s.heddle, "trace", "show", name]).stdout
        takes = tuple(text.count(" %s lock " % t) > 1 for t in ("T1", "T2"))
        runs.setdefault(takes, name)
    first, second = runs[(True, False)], runs[(False, True)]
    for one in (first, second):
        s.same(predict(s, 0, "--detectors", "deadlock", one, "--", program)["findings"], [], one)
    j = predict(s, 1, "--detectors", "deadlock", first, second, "--", program)
    s.same([f["kind"] for f in j["findings"]], ["deadlock"], "findings")
    s.same([(p["kind"], p["certain"], p["result"]) for part in j["predict"] if part["trace"] == "combined" for p in
            part["predictions"]][0], ("deadlock", False, "confirmed"), "predictions")


def test_input(s):
    """The recorded execution and those that are predicted read the same input."""
    body = LOCKS + "#include <stdio.h>\nint n;\n" + start(
        "if (n == 7) take(0, 1);", "if (n == 7) take(1, 0);").replace("pthread_t t", "n = getchar() - '0'; pthread_t t")
    program = build(s, body)
    s.run(["sh", "-c", "echo 7 | %s predict -- %s" % (s.heddle, program)], want=1)
    s.run(["sh", "-c", "echo 6 | %s predict -- %s" % (s.heddle, program)], want=0)


def test_input_again(s):
    """So do those that are followed, and those of several traces: standard input can be read once only."""
    body = "#include <stdatomic.h>\n#include <stdio.h>\n#include <stdlib.h>\natomic_int a, b;\n" + LOCKS + start(
        "a = 1; if (b) a = 2;", "b = 1; if (a) b = 2;").replace("pthread_t t", "if (getchar() != '7') abort(); pthread_t t")
    program = build(s, body)
    text = s.run(["sh", "-c", "echo 7 | %s predict -- %s" % (s.heddle, program)], want=0).stdout
    s.check("did something new" in text, text)
    for name in ("t", "u"):
        s.run(["sh", "-c", "echo 7 | %s record -o %s.trace -- %s" % (s.heddle, name, program)], want=0)
    s.run(["sh", "-c", "echo 7 | %s predict t.trace u.trace -- %s" % (s.heddle, program)], want=0)


@each(("nothing", ["predict"], "name a program"), ("option", ["predict", "--all", "--", "./x"], "--all"),
      ("missing", ["predict", "--", "./x"], "./x"), ("trace", ["predict", "gone"], "gone"),
      ("garbage", ["predict", "p.c"], "p.c"), ("detector", ["predict", "--detectors", "hb,magic", "--", "./x"], "magic"),
      ("program as a trace", ["predict", "./p"], "./p"))
def test_usage(s, case):
    build(s, LOCKS + CYCLES["two"])
    common.refused(s, [s.heddle, *case[1]], 2, case[2])


def check(s, want, program, *words, first=True):
    """The JSON of a search that begins with predictions, or not."""
    env = {"HEDDLE_TEST_PREDICT": "1"} if first else {}
    s.run([s.heddle, "check", "--json", "out.json", *words, "--", program], want=want, env=env)
    with open(s.path("out.json")) as f:
        return json.load(f)


def test_search(s):
    """A search that begins with predictions reports what they find as its own, and says so."""
    program = build(s, LOCKS + CYCLES["five"])
    j = check(s, 1, program)
    s.same([(f["kind"], f["strategy"], f["replays"]) for f in j["findings"]], [("deadlock", "predicted", True)], "findings")
    s.run([s.heddle, "replay", ".heddle/1"], want=1)
    with open(s.path(".heddle/1/finding.txt")) as f:
        s.check("Predicted from an execution without it" in f.read(), "the text does not say so")


@each("correct", "deadlock", "race")
def test_counts(s, case):
    """Predictions change neither the counts of a complete search nor its findings."""
    text = {"correct": LOCKS + CORRECT["counter"], "deadlock": LOCKS + CYCLES["three"], "race": OTHERS["race"][1] + MAIN}[case]
    program = build(s, text)
    want = 0 if case == "correct" else 1
    plain, first = (check(s, want, program, "--all", "--out", out, first=out == "b") for out in ("a", "b"))
    for key in ("executions", "blocked", "infeasible", "events", "complete", "verdict"):
        s.same(first[key], plain[key], key)
    s.same(*[sorted((f["kind"], f["key"]) for f in j["findings"]) for j in (first, plain)], "findings")


KNOWN = """#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long *cache;
static void *drop(void *p) {
  pthread_mutex_lock(&m);
  free(cache);
  cache = NULL;
  pthread_mutex_unlock(&m);
  return p;
}
static void *fill(void *p) {
  pthread_mutex_lock(&m);
  cache = malloc(sizeof *cache);
  *cache = 1;
  pthread_mutex_unlock(&m);
  return (void *)*cache;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, fill, 0);
  pthread_create(&b, 0, drop, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  free(cache);
  return 0;
}
"""


def test_known_failure(s):
    """A prediction that fails as another one did before is confirmed, and not said to have run without a failure."""
    program = build(s, KNOWN)
    j = predict(s, 1, "--", program)
    kinds = {f["kind"] for f in j["findings"]}
    s.check({"use-after-free", "crash"} <= kinds, sorted(kinds))
    said = [p for part in j["predict"] for p in part["predictions"]
            if p["certain"] and p["kind"] in ("null-read", "use-after-free") and "nothing failed" in p.get("reason", "")]
    s.same(said, [], "predictions that are said not to fail")


def test_names_of_locals(s):
    """The two orders call objects on the stack as the rest of the finding does."""
    s.write("p.cc", """#include <cassert>
#include <mutex>
#include <thread>
struct account { std::mutex m; int balance = 1; };
int main() {
  account mine;
  auto take = [&] {
    mine.m.lock();
    bool enough = mine.balance > 0;
    mine.m.unlock();
    mine.m.lock();
    if (enough) mine.balance--;
    mine.m.unlock();
  };
  std::thread a(take), b(take);
  a.join();
  b.join();
  assert(mine.balance == 0);
}
""")
    s.run([s.heddle + "-c++", "-g", "-O1", "p.cc", "-o", "p"])
    f = predict(s, 1, "--", "./p")["findings"][0]
    said = "\n".join(f["predicted"]["observed"] + f["predicted"]["predicted"])
    s.check("`mine.m`" in said and "0x7f" not in said, said)


WAKES = """#include <assert.h>
#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int ready, parts;
void *f(void *p) {
  pthread_mutex_lock(&m);
  %s (!ready) pthread_cond_wait(&c, &m);
  assert(parts == 2);
  pthread_mutex_unlock(&m);
  return p;
}
void *g(void *p) {
  pthread_mutex_lock(&m);
  parts++;
  pthread_mutex_unlock(&m);
  pthread_mutex_lock(&m);
  parts++;
  ready = 1;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
  return p;
}
"""


def test_spurious(s):
    """A wait that is not in a loop fails when it returns spuriously; with a loop, or without spurious wake-ups, it does not."""
    program = build(s, WAKES % "if" + MAIN)
    j = predict(s, 1, "--", program)
    s.same([(f["kind"], f["replays"]) for f in j["findings"]], [("assertion", True)], "findings")
    s.run([s.heddle, "replay", j["findings"][0]["replay"]], want=1)
    s.run([s.heddle, "record", "-o", "t", "--", program], want=0)
    s.same(len(predict(s, 1, "--out", "stored", "t", "--", program)["findings"]), 1, "findings from a stored trace")
    s.same(predict(s, 0, "--no-spurious", "--", program)["findings"], [], "findings with --no-spurious")
    s.run([s.heddle, "check", "--no-spurious", "--strategy", "optimal", "--out", "all", "--", program])
    program = build(s, WAKES % "while" + MAIN)
    s.same(predict(s, 0, "--", program)["findings"], [], "findings with a loop")


def test_names_of_blocks(s):
    """What is only predicted names objects in heap blocks, too."""
    s.write("p.c", """#include <pthread.h>
#include <stdlib.h>
struct job { int n, done; };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static struct job *job;
void *f(void *p) {
  pthread_mutex_lock(&m);
  job->done = 1;
  pthread_mutex_unlock(&m);
  return p;
}
void *g(void *p) {
  pthread_mutex_lock(&m);
  free(job);
  pthread_mutex_unlock(&m);
  return p;
}
int main(void) {
  pthread_t t, u;
  job = calloc(1, sizeof *job);
  pthread_create(&t, 0, f, 0);
  pthread_create(&u, 0, g, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
}
""")
    s.run([s.heddle + "-cc", "-g", "-O1", "p.c", "-o", "p"])
    s.run([s.heddle, "record", "-o", "t", "--", "./p"], want=0)
    said = s.run([s.heddle, "predict", "--detectors", "freed", "t"], want=0).stdout
    s.check("T2 free `" in said and "T1 write `job->done`" in said and " 0x2" not in said, said)

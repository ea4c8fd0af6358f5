"""Programs that wait in loops: one execution for each class that an enumeration of their schedules finds.

Each program is there twice: in C, and as threads of lib/awaits.py.
"""
from awaits import classes, just, loop, wait_for
from scratch import each

HEADER = """#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
static void run(int n, void *(*f[])(void *)) {
  pthread_t t[4];
  for (long i = 0; i < n; i++) pthread_create(&t[i], NULL, f[i], (void *)i);
  for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
}
#define RUN(...) int main(void) { void *(*f[])(void *) = {__VA_ARGS__}; run(sizeof f / sizeof *f, f); check(); }
#define T(name) static void *name(void *p)
#define ME ((int)(long)p)
static int inside; /* of a critical section */
#define CRITICAL assert(inside++ == 0); inside--
"""

PROGRAMS = {}


def program(text, memory, *threads, livelock=False, options=()):
    """The variables are those of the model; x[i] is written x0, x1, ..."""
    def add(f):
        PROGRAMS[f.__name__] = (HEADER + text, memory, f(), livelock, options)
        return f
    return add


@program("""static atomic_int flag; static void check(void) {}
T(set) { flag = 1; return p; } T(wait) { while (!flag); return p; } RUN(set, wait)""", {"flag": 0})
def flag():
    return [lambda: just(("write", "flag", 1)), lambda: loop("flag", bool)]


EITHER = """atomic_int a, b; /* not static: the compiler would know who sets them */ static void check(void) {}
T(one) { a = 1; return p; } T(two) { b = 1; return p; } T(wait) { while (!a && !b); return p; } """


def either():
    def body():
        return (yield ("read", "a")) or (yield ("read", "b"))
    return wait_for(body)


@program(EITHER + "RUN(one, wait)", {"a": 0, "b": 0})
def either_one():
    return [lambda: just(("write", "a", 1)), either]


@program(EITHER + "RUN(one, two, wait)", {"a": 0, "b": 0})
def either_two():
    return [lambda: just(("write", "a", 1)), lambda: just(("write", "b", 1)), either]


@program(EITHER + "RUN(wait, wait)", {"a": 0, "b": 0}, livelock=True)
def either_never():
    return [either, either]


def peterson_lock(i, first, second):
    yield first
    yield second

    def body():
        if not (yield ("read", "f%d" % (1 - i))):
            return True
        return (yield ("read", "turn")) != 1 - i
    yield from wait_for(body)
    yield ("write", "f%d" % i, 0)


@program("""static atomic_int f[2], turn; static void check(void) {}
T(enter) { f[ME] = 1; turn = 1 - ME; while (f[1 - ME] && turn == 1 - ME); CRITICAL; f[ME] = 0; return p; }
RUN(enter, enter)""", {"f0": 0, "f1": 0, "turn": 0})
def peterson():
    return [lambda i=i: peterson_lock(i, ("write", "f%d" % i, 1), ("write", "turn", 1 - i)) for i in (0, 1)]


@program("""static atomic_int f[2], turn; static void check(void) {}
__attribute__((noinline)) static int wants(int i) { return f[i]; } /* the compiler would make two loops of one */
T(enter) {
  f[ME] = 1;
  while (wants(1 - ME))
    if (turn != ME) { f[ME] = 0; while (turn != ME); f[ME] = 1; }
  CRITICAL;
  turn = 1 - ME; f[ME] = 0; return p;
}
RUN(enter, enter)""", {"f0": 0, "f1": 0, "turn": 0})
def dekker():
    def enter(i):
        yield ("write", "f%d" % i, 1)

        def body():
            if not (yield ("read", "f%d" % (1 - i))):
                return True
            if (yield ("read", "turn")) != i:
                yield ("write", "f%d" % i, 0)
                yield from loop("turn", lambda v: v == i)
                yield ("write", "f%d" % i, 1)
            return False
        yield from wait_for(body)
        yield ("write", "turn", 1 - i)
        yield ("write", "f%d" % i, 0)
    return [lambda i=i: enter(i) for i in (0, 1)]


TAS = """static atomic_int l; static void check(void) {}
T(enter) { while (atomic_exchange(&l, 1)); CRITICAL; l = 0; return p; } """


def tas():
    def body():
        return (yield ("swap", "l", 1)) == 0
    yield from wait_for(body)
    yield ("write", "l", 0)


@program(TAS + "RUN(enter, enter)", {"l": 0})
def tas_two():
    return [tas] * 2


@program(TAS + "RUN(enter, enter, enter)", {"l": 0})
def tas_three():
    return [tas] * 3


@program("""static atomic_int l; static void check(void) {}
T(enter) {
  do while (l) sched_yield(); while (atomic_exchange(&l, 1));
  CRITICAL; l = 0; return p;
}
RUN(enter, enter)""", {"l": 0})
def ttas():
    def enter():
        while True:
            yield from loop("l", lambda v: v == 0)
            if (yield ("swap", "l", 1)) == 0:
                break
        yield ("write", "l", 0)
    return [enter] * 2


CAS = """static atomic_int l; static void check(void) {}
T(enter) {
  for (int e = 0; !atomic_compare_exchange_strong(&l, &e, 1); e = 0);
  CRITICAL; l = 0; return p;
} """


def cas_lock():
    def body():
        return (yield ("cas", "l", 0, 1))[0]
    yield from wait_for(body)
    yield ("write", "l", 0)


@program(CAS + "RUN(enter, enter)", {"l": 0})
def cas_two():
    return [cas_lock] * 2


@program(CAS + "RUN(enter, enter, enter)", {"l": 0})
def cas_three():
    return [cas_lock] * 3


@program("""static atomic_int next, now; static void check(void) { assert(now == 3); }
T(enter) { int t = atomic_fetch_add(&next, 1); while (now != t); CRITICAL; now = t + 1; return p; }
RUN(enter, enter, enter)""", {"next": 0, "now": 0})
def ticket():
    def enter():
        t = yield ("add", "next", 1)
        yield from loop("now", lambda v: v == t)
        yield ("write", "now", t + 1)
    return [enter] * 3


@program("""static atomic_int number[2], choosing[2]; static void check(void) {}
T(enter) {
  int o = 1 - ME, mine;
  choosing[ME] = 1; mine = number[o] + 1; number[ME] = mine; choosing[ME] = 0;
  while (choosing[o]);
  for (int n; (n = number[o]) && (n < mine || (n == mine && o < ME)););
  CRITICAL; number[ME] = 0; return p;
}
RUN(enter, enter)""", {"n0": 0, "n1": 0, "c0": 0, "c1": 0})
def bakery():
    def enter(i):
        o = 1 - i
        yield ("write", "c%d" % i, 1)
        mine = (yield ("read", "n%d" % o)) + 1
        yield ("write", "n%d" % i, mine)
        yield ("write", "c%d" % i, 0)
        yield from loop("c%d" % o, lambda v: not v)
        yield from loop("n%d" % o, lambda n: not (n and (n < mine or (n == mine and o < i))))
        yield ("write", "n%d" % i, 0)
    return [lambda i=i: enter(i) for i in (0, 1)]


@program("""static atomic_int f[2]; static void check(void) {}
T(enter) { /* Szymanski, 1988, for two */
  int o = 1 - ME;
  f[ME] = 1; while (f[o] >= 3); f[ME] = 3;
  if (f[o] == 1) { f[ME] = 2; while (f[o] != 4); }
  f[ME] = 4;
  if (ME) while (f[0] >= 2);
  CRITICAL;
  if (!ME) for (int v; (v = f[1]) == 2 || v == 3;);
  f[ME] = 0; return p;
}
RUN(enter, enter)""", {"f0": 0, "f1": 0})
def szymanski():
    def enter(i):
        me, other = "f%d" % i, "f%d" % (1 - i)
        yield ("write", me, 1)
        yield from loop(other, lambda v: v < 3)
        yield ("write", me, 3)
        if (yield ("read", other)) == 1:
            yield ("write", me, 2)
            yield from loop(other, lambda v: v == 4)
        yield ("write", me, 4)
        if i:
            yield from loop("f0", lambda v: v < 2)
        else:
            yield from loop("f1", lambda v: v not in (2, 3))
        yield ("write", me, 0)
    return [lambda i=i: enter(i) for i in (0, 1)]


@program("""static atomic_int held[3] = {0, 0, 0}, tail = 2; static void check(void) {}
T(enter) { /* CLH: who comes waits for the one before; the third cell is that of nobody */
  held[ME] = 1;
  int before = atomic_exchange(&tail, ME);
  while (held[before]);
  CRITICAL; held[ME] = 0; return p;
}
RUN(enter, enter)""", {"h0": 0, "h1": 0, "h2": 0, "tail": 2})
def clh():
    def enter(i):
        yield ("write", "h%d" % i, 1)
        before = yield ("swap", "tail", i)
        yield from loop("h%d" % before, lambda v: not v)
        yield ("write", "h%d" % i, 0)
    return [lambda i=i: enter(i) for i in (0, 1)]


@program("""static atomic_int next[2] = {-1, -1}, waits[2], tail = -1; static void check(void) {}
T(enter) { /* MCS */
  int before = atomic_exchange(&tail, ME), mine = ME;
  if (before >= 0) { waits[ME] = 1; next[before] = ME; while (waits[ME]); }
  CRITICAL;
  if (next[ME] < 0) {
    if (atomic_compare_exchange_strong(&tail, &mine, -1)) return p;
    while (next[ME] < 0);
  }
  waits[next[ME]] = 0; return p;
}
RUN(enter, enter)""", {"n0": -1, "n1": -1, "w0": 0, "w1": 0, "tail": -1})
def mcs():
    def enter(i):
        before = yield ("swap", "tail", i)
        if before >= 0:
            yield ("write", "w%d" % i, 1)
            yield ("write", "n%d" % before, i)
            yield from loop("w%d" % i, lambda v: not v)
        if (yield ("read", "n%d" % i)) < 0:
            if (yield ("cas", "tail", i, -1))[0]:
                return
            yield from loop("n%d" % i, lambda v: v >= 0)
        yield ("write", "w%d" % (yield ("read", "n%d" % i)), 0)
    return [lambda i=i: enter(i) for i in (0, 1)]


@program("""static atomic_int s, a, b; static void check(void) {}
T(writer) { s = 1; a = 1; b = 1; s = 2; return p; }
T(reader) {
  int before, x, y;
  do { before = s; x = a; y = b; } while (before % 2 || s != before);
  assert(x == y); return p;
}
RUN(writer, reader)""", {"s": 0, "a": 0, "b": 0})
def seqlock():
    def reader():
        def body():
            before = yield ("read", "s")
            yield ("read", "a")
            yield ("read", "b")
            return before % 2 == 0 and (yield ("read", "s")) == before
        return wait_for(body)
    return [lambda: just(("write", "s", 1), ("write", "a", 1), ("write", "b", 1), ("write", "s", 2)), reader]


@program("""static atomic_int head, tail, cell; static void check(void) { assert(tail == 2); }
T(producer) { for (int i = 0; i < 2; i++) { while (head - tail == 1); cell = i; head = i + 1; } return p; }
T(consumer) { for (int i = 0; i < 2; i++) { while (head == tail); assert(cell == i); tail = i + 1; } return p; }
RUN(producer, consumer)""", {"head": 0, "tail": 0, "cell": 0})
def ring():
    def producer():
        for i in range(2):
            def body():
                return (yield ("read", "head")) - (yield ("read", "tail")) != 1
            yield from wait_for(body)
            yield ("write", "cell", i)
            yield ("write", "head", i + 1)

    def consumer():
        for i in range(2):
            def body():
                return (yield ("read", "head")) != (yield ("read", "tail"))
            yield from wait_for(body)
            assert (yield ("read", "cell")) == i
            yield ("write", "tail", i + 1)
    return [producer, consumer]


# What the loops wait for lies on the stack of main, which is one of the threads.
@program("""struct ring { atomic_int head, tail, cell; };
T(producer) { struct ring *r = p; for (int i = 0; i < 2; i++) { while (r->head - r->tail == 1); r->cell = i; r->head = i + 1; } return p; }
int main(void) {
  struct ring r = {0};
  pthread_t t;
  pthread_create(&t, NULL, producer, &r);
  for (int i = 0; i < 2; i++) { while (r.head == r.tail); assert(r.cell == i); r.tail = i + 1; }
  pthread_join(t, NULL);
}""", {"head": 0, "tail": 0, "cell": 0})
def ring_on_stack():
    return ring()


@program("""static atomic_int x; static void check(void) {}
T(set) { x = 1; return p; } T(wait) { while (!atomic_fetch_add(&x, 0)); return p; } RUN(set, wait, wait)""", {"x": 0})
def added_zero():
    def body():
        return (yield ("add", "x", 0)) != 0
    return [lambda: just(("write", "x", 1)), lambda: wait_for(body), lambda: wait_for(body)]


@program("""static atomic_int turn[2], in, cell[2]; static void check(void) {} /* Vyukov's bounded queue, one producer more */
T(put) {
  int at = atomic_fetch_add(&in, 1);
  cell[at] = 7; turn[at] = 1; return p;
}
T(take) { while (!turn[0]); assert(cell[0] == 7); while (!turn[1]); assert(cell[1] == 7); return p; }
RUN(put, put, take)""", {"t0": 0, "t1": 0, "in": 0, "c0": 0, "c1": 0})
def queue():
    def put():
        at = yield ("add", "in", 1)
        yield ("write", "c%d" % at, 7)
        yield ("write", "t%d" % at, 1)

    def take():
        for i in "01":
            yield from loop("t" + i, bool)
            yield ("read", "c" + i)
    return [put, put, take]


@program("""static atomic_int count = 2, sense; static void check(void) {}
T(meet) {
  for (int r = 0; r < 2; r++) {
    if (atomic_fetch_sub(&count, 1) == 1) { count = 2; sense = !r; }
    else while (sense == r);
  }
  return p;
}
RUN(meet, meet)""", {"count": 2, "sense": 0})
def sense_barrier():
    def meet():
        for r in range(2):
            if (yield ("add", "count", -1)) == 1:
                yield ("write", "count", 2)
                yield ("write", "sense", 1 - r)
            else:
                yield from loop("sense", lambda v: v != r)
    return [meet, meet]


def polled():
    """A flag that is set and polled under one lock."""
    def set_it():
        yield ("lock", "m")
        yield ("write", "ready", 1)
        yield ("unlock", "m")

    def body():
        yield ("lock", "m")
        seen = yield ("read", "ready")
        yield ("unlock", "m")
        return seen
    return [set_it, lambda: wait_for(body)]


POLLED = """static int ready; static void check(void) {}
T(set) { %s; ready = 1; %s; return p; }
T(poll) {
  for (int seen = 0; !seen;) { %s; seen = ready; %s; }
  return p;
}
"""


def poll(lock, unlock, poll_lock=None, poll_unlock=None):
    return POLLED % (lock, unlock, poll_lock or lock, poll_unlock or unlock)


@program("static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;" +
         poll("pthread_mutex_lock(&m)", "pthread_mutex_unlock(&m)") + "RUN(set, poll)", {"ready": 0})
def polled_mutex():
    return polled()


@program("static pthread_rwlock_t m = PTHREAD_RWLOCK_INITIALIZER;" +
         poll("pthread_rwlock_wrlock(&m)", "pthread_rwlock_unlock(&m)") + "RUN(set, poll)", {"ready": 0})
def polled_wrlock():
    return polled()


@program("static pthread_rwlock_t m = PTHREAD_RWLOCK_INITIALIZER;" +
         poll("pthread_rwlock_wrlock(&m)", "pthread_rwlock_unlock(&m)", "pthread_rwlock_rdlock(&m)") +
         "RUN(set, poll)", {"ready": 0})
def polled_rdlock():
    return polled()


@program("static pthread_spinlock_t m;\n__attribute__((constructor)) static void init(void) { pthread_spin_init(&m, 0); }\n" +
         poll("pthread_spin_lock(&m)", "pthread_spin_unlock(&m)") +
         "RUN(set, poll)", {"ready": 0})
def polled_spinlock():
    return polled()


@program("#include <threads.h>\nstatic mtx_t m;" + poll("mtx_lock(&m)", "mtx_unlock(&m)") + "RUN(set, poll)",
         {"ready": 0})
def polled_mtx():
    return polled()


@program("""struct flag { pthread_mutex_t m; int ready; };
T(set) { struct flag *f = p; pthread_mutex_lock(&f->m); f->ready = 1; pthread_mutex_unlock(&f->m); return p; }
int main(void) {
  struct flag f = {PTHREAD_MUTEX_INITIALIZER, 0};
  pthread_t t;
  pthread_create(&t, NULL, set, &f);
  for (int seen = 0; !seen;) { pthread_mutex_lock(&f.m); seen = f.ready; pthread_mutex_unlock(&f.m); }
  pthread_join(t, NULL);
}""", {"ready": 0})
def polled_on_stack():
    return polled()


# One loop after another in the same code, with memory of its own that it reads each time, and a bit that goes on and off.
TURNS = """
struct own { unsigned me, n; atomic_ullong *busy; void (*relax)(void); int pad; };
static atomic_ullong busy; static void check(void) {}
static void relax(void) { sched_yield(); }
static struct own own[3] = {{0, 3, &busy, relax, 0}, {1, 3, &busy, relax, 0}, {2, 3, &busy, relax, 0}};
__attribute__((noinline)) static int bit(atomic_ullong *w, unsigned i) { return (int)(atomic_load(w) >> i & 1); }
T(wait) {
  struct own *s = &own[ME];
  for (unsigned i = 0; i < s->n; i++)
    while (i != s->me && bit(s->busy, i)) if (s->relax) s->relax();
  return p;
}
T(turn) { busy += 1ull << ME; busy -= 1ull << ME; return p; }
T(turns) { turn(p); return turn(p); }
"""


def wait_turns():
    for i in (1, 2):
        def body(i=i):
            return not (yield ("read", "busy")) >> i & 1
        yield from wait_for(body)


def turn(i, times=1):
    for _ in range(times):
        yield ("add", "busy", 1 << i)
        yield ("add", "busy", -(1 << i))


@program(TURNS + "RUN(wait, turn)", {"busy": 0})
def turns_one():
    return [wait_turns, lambda: turn(1)]


@program(TURNS + "RUN(wait, turns)", {"busy": 0})
def turns_twice():
    return [wait_turns, lambda: turn(1, 2)]


@program(TURNS + "RUN(wait, turn, turn)", {"busy": 0})
def turns_two():
    return [wait_turns, lambda: turn(1), lambda: turn(2)]


@program("""struct own { int a[12]; } own; static atomic_int flag; static void check(void) {}
static int all(const struct own *o) { int s = 0; for (int i = 0; i < 12; i++) s |= o->a[i]; return s; }
T(set) { flag = 1; return p; } T(wait) { while (!all(&own) && !flag); return p; } RUN(set, wait)""", {"flag": 0})
def many_private():
    return [lambda: just(("write", "flag", 1)), lambda: loop("flag", bool)]


@program("""static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static int ready, quit; static void check(void) {}
static int is(int *x) { pthread_mutex_lock(&m); int v = *x; pthread_mutex_unlock(&m); return v; }
T(set) { pthread_mutex_lock(&m); ready = 1; pthread_mutex_unlock(&m); return p; }
T(poll) { while (!is(&ready) && !quit); return p; } RUN(set, poll)""", {"ready": 0})
def polled_beside_private():
    return polled()


# Loops with a body, of which compilers move or copy parts: heads, first rounds, whole loops.
@program("""static atomic_int next, now; static void check(void) { assert(now == 3); }
T(enter) { int t = atomic_fetch_add(&next, 1); while (now != t) sched_yield(); CRITICAL; now = t + 1; return p; }
RUN(enter, enter, enter)""", {"next": 0, "now": 0})
def ticket_yields():
    def enter():
        t = yield ("add", "next", 1)
        yield from loop("now", lambda v: v == t)
        yield ("write", "now", t + 1)
    return [enter] * 3


@program("""static volatile int flag; static void check(void) {}
T(set) { flag = 1; return p; } T(wait) { while (!flag) sched_yield(); return p; } RUN(set, wait)""", {"flag": 0}, options=["--ignore", "data-race"])
def volatile_yields():
    return [lambda: just(("write", "flag", 1)), lambda: loop("flag", bool)]


@program("""static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static void check(void) {}
T(enter) { while (pthread_mutex_trylock(&m)) sched_yield(); CRITICAL; pthread_mutex_unlock(&m); return p; }
RUN(enter, enter, enter)""", {"l": 0})
def trylock_yields():
    def enter():
        while not (yield ("cas", "l", 0, 1))[0]:
            yield ("await", (("l", 1),))
        yield ("write", "l", 0)
    return [enter] * 3


RING = """static atomic_int head, tail, cell[2]; static void check(void) { assert(tail == 3); }
#define PUT(i) { while (head - tail == 2) sched_yield(); cell[i & 1] = i; head = i + 1; }
#define GET(i) { while (head == tail) sched_yield(); assert(cell[i & 1] == i); tail = i + 1; }
T(producer) { %s return p; } T(consumer) { %s return p; } RUN(producer, consumer)"""


def ring_of_two():
    def producer():
        for i in range(3):
            def body():
                return (yield ("read", "head")) - (yield ("read", "tail")) != 2
            yield from wait_for(body)
            yield ("write", "c%d" % (i & 1), i)
            yield ("write", "head", i + 1)

    def consumer():
        for i in range(3):
            def body():
                return (yield ("read", "head")) != (yield ("read", "tail"))
            yield from wait_for(body)
            yield ("read", "c%d" % (i & 1))
            yield ("write", "tail", i + 1)
    return [producer, consumer]


@program(RING % ("for (int i = 0; i < 3; i++) PUT(i)", "for (int i = 0; i < 3; i++) GET(i)"),
         {"head": 0, "tail": 0, "c0": 0, "c1": 0})
def ring_in_loops():
    return ring_of_two()


@program(RING % ("PUT(0) PUT(1) PUT(2)", "GET(0) GET(1) GET(2)"), {"head": 0, "tail": 0, "c0": 0, "c1": 0})
def ring_unrolled():
    return ring_of_two()


@program(RING % ("for (int i = 0; i < 3; i++) PUT(i)", "GET(0) GET(1) GET(2)"), {"head": 0, "tail": 0, "c0": 0, "c1": 0})
def ring_half_unrolled():
    return ring_of_two()


# One place of the code looks at several flags, in every round.
FLAGS = """static atomic_int f[3]; static void check(void) {} T(set) { f[ME] = 1; return p; } """


@program(FLAGS + """T(wait) { for (;;) { int n = 0; for (int i = 0; i < 3; i++) n += f[i]; if (n == 3) return p; sched_yield(); } }
RUN(set, set, set, wait)""", {"f0": 0, "f1": 0, "f2": 0})
def all_of_three():
    def body():
        n = 0
        for i in range(3):
            n += yield ("read", "f%d" % i)
        return n == 3
    return [lambda i=i: just(("write", "f%d" % i, 1)) for i in range(3)] + [lambda: wait_for(body)]


@program(FLAGS + """T(wait) { for (;;) { for (int i = 0; i < 3; i++) if (f[i]) return p; sched_yield(); } }
RUN(set, set, wait)""", {"f0": 0, "f1": 0, "f2": 0})
def any_of_three():
    def body():
        for i in range(3):
            if (yield ("read", "f%d" % i)):
                return True
        return False
    return [lambda i=i: just(("write", "f%d" % i, 1)) for i in range(2)] + [lambda: wait_for(body)]


@program(FLAGS + """T(wait) { for (int i = 0; i < 3; i++) while (!f[i]) sched_yield(); return p; }
RUN(set, set, set, wait)""", {"f0": 0, "f1": 0, "f2": 0})
def each_of_three():
    def wait():
        for i in range(3):
            yield from loop("f%d" % i, bool)
    return [lambda i=i: just(("write", "f%d" % i, 1)) for i in range(3)] + [wait]


@each(*sorted(PROGRAMS))
def test_awaits(s, name):
    text, memory, code, livelock, options = PROGRAMS[name]
    count, stuck, _ = classes(code, memory)
    s.same(stuck > 0, livelock, "whether the enumeration is ever stuck")
    s.write("prog.c", text)
    moved = (("gcc", "-O1"), ("clang", "-O3")) if "sched_yield" in text else ()
    for compiler, level in (("gcc", "-O0"), ("clang", "-O0"), ("gcc", "-O2"), ("clang", "-O2")) + moved:
        where = "%s %s" % (compiler, level)
        s.cc("prog.c", "prog", level, compiler=compiler)
        for strategy in ("optimal", "dpor"):
            r = s.search("check", "./prog", "--strategy", strategy, "--classes", "--all", *options)
            s.same((r["verdict"], r["complete"], r["classes"]), ("bug" if livelock else "clean", True, count),
                   "verdict, completeness and classes of %s, %s" % (strategy, where))
            if strategy == "optimal":
                s.same((r["executions"], r["blocked"]), (count, 0), "executions of optimal, and given up, " + where)
            s.same(sorted({f["kind"] for f in r["findings"]}), ["livelock"] if livelock else [], "findings, " + where)


# Loops that take a lock of the program's own in each round and look at what it protects, which is never contended. The compilers
# lay them out differently: in one loop, in two, with the expected value in memory or in a register.
TAKES = """
static int data, counter; static atomic_int l, flag; static void check(void) {}
#define LOCK for (int is = 0; !atomic_compare_exchange_strong(&l, &is, 1); is = 0) sched_yield()
"""
POLLS = {
    "flag": "T(poll) { for (;;) { LOCK; int f = flag; if (f) counter++; l = 0; if (f) break; } return p; }"
            "T(set) { LOCK; flag = 1; l = 0; return p; } RUN(poll, set)",
    "data": "T(poll) { for (int done = 0; !done;) { LOCK; done = data; l = 0; } return p; }"
            "T(set) { LOCK; data = 1; l = 0; return p; } RUN(poll, set)",
    "exchange": "T(poll) { for (int f = 0; !f;) { while (atomic_exchange(&l, 1)) sched_yield(); f = flag; l = 0; } return p; }"
                "T(set) { while (atomic_exchange(&l, 1)) sched_yield(); flag = 1; l = 0; return p; } RUN(poll, set)",
}


@each(*sorted(POLLS))
def test_polls_under_own_lock(s, name):
    """None runs into --max-length, however it is compiled."""
    s.write("prog.c", HEADER + TAKES + POLLS[name])
    for compiler, level in (("gcc", "-O1"), ("clang", "-O1"), ("gcc", "-O3"), ("clang", "-O2")):
        s.cc("prog.c", "prog", level, compiler=compiler)
        r = s.search("check", "./prog", "--strategy", "optimal", "--all")
        s.same((r["findings"], [x["reason"] for x in r["inexact"]]), ([], ["loop-bound"]), "findings and reasons, %s %s" % (compiler, level))

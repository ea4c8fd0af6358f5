"""--states: a state that was explored before is not explored again (explore/states.c, runtime/core/fingerprint.c)."""
import common
from scratch import each

HEAD = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
"""

TWO = """
int main(void)
{
  pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, worker, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
"""

# Loops that change something in each round, so they are not taken for waits, over a finite state space.
CYCLES = {
    "spin lock": """
static atomic_int locked, polls;
static int inside;
static void *worker(void *a)
{
  for (int i = 0; i < 2; i++) {
    while (atomic_exchange(&locked, 1)) atomic_fetch_xor(&polls, 1);
    assert(inside++ == 0);
    inside--;
    atomic_store(&locked, 0);
  }
  return a;
}
""",
    "ticket lock": """
static atomic_int next, serving, polls;
static int inside;
static void *worker(void *a)
{
  for (int i = 0; i < 2; i++) {
    int me = atomic_fetch_add(&next, 1);
    while (atomic_load(&serving) != me) atomic_fetch_xor(&polls, 1);
    assert(inside++ == 0);
    inside--;
    atomic_store(&serving, me + 1);
  }
  return a;
}
""",
    "sense-reversing barrier": """
static atomic_int count = 2, sense, polls;
static int data[2];
static void barrier(int *mine)
{
  *mine = !*mine;
  if (atomic_fetch_sub(&count, 1) == 1) {
    atomic_store(&count, 2);
    atomic_store(&sense, *mine);
  } else {
    while (atomic_load(&sense) != *mine) atomic_fetch_xor(&polls, 1);
  }
}
static void *worker(void *a)
{
  int me = (int)(long)a, mine = 0;
  for (int i = 0; i < 2; i++) {
    data[me] = i + 1;
    barrier(&mine);
    assert(data[!me] == i + 1);
    barrier(&mine);
  }
  return a;
}
""",
}


REDUCED = ("--strategy", "dpor")
PLAIN = ("--strategy", "dfs")
EACH = (PLAIN, REDUCED, ("--strategy", "rdfs"), (*REDUCED, "-j", "2"), (*PLAIN, "-j", "2"), ("--strategy", "optimal"),
        ("--strategy", "auto"))


def program(s, text, opt="-O1"):
    s.write("states.c", HEAD + text)
    s.cc("states.c", "states", opt)
    return "./states"


def begun(r):
    return r["executions"] + r["blocked"]


def test_cycles_end(s):
    for name, text in CYCLES.items():
        path = program(s, text + TWO)
        for more in EACH:
            r = s.search("check", path, "--states", "--max-executions", "20000", "--no-explain", *more)
            s.check(r["complete"] and r["verdict"] == "clean", "%s: not complete with %s: %s" % (name, more, r))
            s.check(r["visited"]["matches"] == r["blocked"] > 0, "%s: no state was met again: %s" % (name, r["visited"]))


def test_a_broken_lock_is_found(s):
    """The same loop with a bug in the lock: test, then set."""
    text = CYCLES["spin lock"].replace("atomic_exchange(&locked, 1)", "atomic_load(&locked)")
    text = text.replace("assert(inside++", "atomic_store(&locked, 1);\n    assert(inside++")
    path = program(s, text + TWO)
    for more in EACH:
        r = s.search("check", path, "--states", "--max-executions", "20000", "--no-explain", "--all", *more)
        s.check({"assertion", "data-race"} <= {f["kind"] for f in r["findings"]}, "missed: %s" % r["findings"])


def test_fewer_executions(s):
    """Critical sections that commute: one state for each pair of positions, not one execution for each order."""
    text = """
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static void *worker(void *a)
{
  for (int i = 0; i < 5; i++) {
    pthread_mutex_lock(&m);
    sum += i;
    pthread_mutex_unlock(&m);
  }
  return a;
}
"""
    path = program(s, text + TWO)
    r = s.search("check", path, "--states", *PLAIN, "--no-explain")
    s.check(r["complete"] and begun(r) < 252, "not fewer than one for each order (252): %s" % r)
    v = r["visited"]
    s.check(v["states"] > 0 and v["bytes"] > 0 and not v["full"] and not v["uncaptured"], "odd statistics: %s" % v)
    several = s.search("check", path, "--states", *PLAIN, "--no-explain", "-j", "2")
    s.check(several["complete"], "not complete with two processes: %s" % several)
    small = s.search("check", path, "--states", *PLAIN, "--state-memory", "1K", "--no-explain")
    s.check(small["complete"], "not complete with a small table: %s" % small)
    shuffled = s.search("check", path, "--states", "--strategy", "rdfs", "--no-explain")
    s.check(shuffled["complete"], "not complete in another order: %s" % shuffled)
    for more in (), ("-j", "2"), ("--state-memory", "1K"):
        reduced = s.search("check", path, "--states", *REDUCED, "--no-explain", *more)
        s.check(reduced["complete"], "not complete with dpor %s: %s" % (more, reduced))
        s.check(more or begun(reduced) < begun(r), "dpor begins more executions: %s" % reduced)


def test_what_is_passed_to_an_operation_is_state(s):
    """What a thread is about to store is in a register, of ours by then."""
    text = """
#define RELAXED memory_order_relaxed
static atomic_int x, y, z;
static void *first(void *a)
{
  int v = atomic_load_explicit(&y, RELAXED) ? 2 : 3;
  atomic_store_explicit(&x, v, RELAXED);
  atomic_store_explicit(&z, 1, RELAXED);
  return a;
}
static void *second(void *a)
{
  atomic_store_explicit(&y, 1, RELAXED);
  atomic_store_explicit(&z, 1, RELAXED);
  return a;
}
int main(void)
{
  pthread_t t[2];
  pthread_create(&t[0], 0, first, 0);
  pthread_create(&t[1], 0, second, 0);
  int seen = atomic_load_explicit(&x, RELAXED);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  assert(x != %d);
  return seen < 0;
}
"""
    for value in (2, 3):
        for opt in ("-O0", "-O2"):
            path = program(s, text % value, opt)
            for more in PLAIN, REDUCED:
                r = s.search("check", path, "--states", "--no-explain", *more)
                s.check(r["findings"] and r["findings"][0]["kind"] == "assertion", "x is never %d: %s" % (value, r))


def test_local_variables_are_state(s):
    """What threads have read is in their registers and on their stacks only: without these, states would be taken for others."""
    text = """
void hd_rt_observe(unsigned long value);
#define RELAXED memory_order_relaxed
static atomic_long v[3];
static void *worker(void *arg)
{
  long me = (long)arg, r = 1;
  for (int i = 0; i < 2; i++) {
    r = 3 * r + atomic_load_explicit(&v[(me + 1) % 3], RELAXED);
    atomic_store_explicit(&v[me], r % 5, RELAXED);
  }
  return 0;
}
int main(void)
{
  pthread_t t[3];
  for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, worker, (void *)i);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  hd_rt_observe((unsigned long)(v[0] + 10 * v[1] + 100 * v[2]));
  return 0;
}
"""
    for opt in ("-O0", "-O2"):
        path = program(s, text, opt)
        every = s.search("check", path, "--strategy", "optimal", "--classes", "--no-explain")
        for more in EACH:
            r = s.search("check", path, "--states", "--classes", "--no-explain", *more)
            s.check(r["complete"], "not complete: %s" % r)
            s.same((r["states"], r["state_sum"]), (every["states"], every["state_sum"]), "final states with %s %s" % (opt, more))


def test_who_has_a_lock_is_state(s):
    """The first thread keeps the lock, or has never taken it: when it is gone nothing else tells which."""
    text = """
#define RELAXED memory_order_relaxed
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static atomic_int x, z;
static void *first(void *a)
{
  if (atomic_load_explicit(&x, RELAXED)) pthread_mutex_lock(&m);
  return a;
}
static void *second(void *a)
{
  atomic_store_explicit(&x, 1, RELAXED);
  atomic_store_explicit(&x, 0, RELAXED);
  return a;
}
int main(void)
{
  pthread_t t[2];
  pthread_create(&t[0], 0, first, 0);
  pthread_create(&t[1], 0, second, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  assert(!!pthread_mutex_trylock(&m) == %d);
  return 0;
}
"""
    for value in (0, 1):
        path = program(s, text % value)
        for more in EACH:
            r = s.search("check", path, "--states", "--no-explain", *more)
            s.check(r["findings"] and r["findings"][0]["kind"] == "assertion", "trylock is always %d: %s" % (value, r))


# What a thread holds, how another waits for it, and how it is given back.
WAITS = {
    "mutex": ("pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;", "pthread_mutex_lock(&m)", "pthread_mutex_lock(&m)",
              "pthread_mutex_unlock(&m)"),
    "writer after writer": ("pthread_rwlock_t m = PTHREAD_RWLOCK_INITIALIZER;", "pthread_rwlock_wrlock(&m)",
                            "pthread_rwlock_wrlock(&m)", "pthread_rwlock_unlock(&m)"),
    "reader after writer": ("pthread_rwlock_t m = PTHREAD_RWLOCK_INITIALIZER;", "pthread_rwlock_wrlock(&m)",
                            "pthread_rwlock_rdlock(&m)", "pthread_rwlock_unlock(&m)"),
    "writer after reader": ("pthread_rwlock_t m = PTHREAD_RWLOCK_INITIALIZER;", "pthread_rwlock_rdlock(&m)",
                            "pthread_rwlock_wrlock(&m)", "pthread_rwlock_unlock(&m)"),
    "semaphore": ("sem_t m;", "sem_wait(&m)", "sem_wait(&m)", "sem_post(&m)"),
    "pipe": ("int m[2];", "getc_of(m[0])", "getc_of(m[0])", "write(m[1], m, 1)"),
    "spin lock": ("atomic_int m;", "while (atomic_exchange(&m, 1)) {}", "while (atomic_exchange(&m, 1)) {}",
                  "atomic_store(&m, 0)"),
}


@each(*WAITS)
def test_who_waits_at_a_known_state_comes_first_too(s, what):
    """The state with the lock held is met again on a second way to it. There, too, the other may take it first."""
    object_, takes, waits, gives = WAITS[what]
    path = program(s, """
#include <semaphore.h>
%s
static atomic_int taken;
static char getc_of(int fd) { char c = 0; return read(fd, &c, 1) == 1 ? c : 0; }
static void *ends(void *a) { return a; }
static void *second(void *a)
{
  %s;
  assert(atomic_exchange(&taken, 1));
  (void)%s;
  return a;
}
int main(void)
{
  pthread_t t[2];
  (void)getc_of;
  %s
  pthread_create(&t[0], 0, ends, 0);
  pthread_create(&t[1], 0, second, 0);
  %s;
  atomic_exchange(&taken, 1);
  usleep(1);
  (void)%s;
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
}
""" % (object_, waits, gives, {"semaphore": "sem_init(&m, 0, 1);", "pipe": "if (pipe(m) || write(m[1], m, 1) != 1) return 3;"}
       .get(what, ""), takes, gives))
    for more in PLAIN, REDUCED, ("--strategy", "optimal"), ("--strategy", "optimal", "--symmetry"):
        r = s.search("check", path, "--states", "--no-explain", *more)
        s.check([f["kind"] for f in r["findings"]] == ["assertion"], "missed with %s: %s" % (more, r))


def test_races_with_what_came_before(s):
    """Memory is the same whoever has written; but only the careless write races with the read, and it is always first."""
    text = """
#include <heddle.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static atomic_int phase;
static int data = 1;
static void *careful(void *a)
{
  pthread_mutex_lock(&m);
  data = 1;
  pthread_mutex_unlock(&m);
  return a;
}
static void *careless(void *a)
{
  hd_atomic_begin();
  if (atomic_load_explicit(&phase, memory_order_relaxed) == 1) data = 1;
  hd_atomic_end();
  return a;
}
static void *reader(void *a)
{
  atomic_store_explicit(&phase, 1, memory_order_relaxed);
  atomic_store_explicit(&phase, 2, memory_order_relaxed);
  pthread_mutex_lock(&m);
  int v = data;
  pthread_mutex_unlock(&m);
  return (void *)(long)(v < 0);
}
int main(void)
{
  void *(*f[])(void *) = {careful, careless, reader};
  pthread_t t[3];
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, f[i], 0);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  return 0;
}
"""
    path = program(s, text)
    for more in EACH:
        r = s.search("check", path, "--states", "--all", "--no-explain", *more)
        pairs = {tuple(sorted(w["function"] for w in f["where"] if w["role"] in ("at", "previous"))) for f in r["findings"]}
        s.same(sorted(pairs), [("careful", "careless"), ("careless", "reader")], "races with %s" % (more,))


def test_what_is_not_captured(s):
    """State in the kernel: states are not compared, and the summary says so."""
    text = """
static int p[2];
static atomic_int n;
static void *worker(void *a)
{
  char c = 0;
  if (write(p[1], &c, 1) != 1) abort();
  atomic_fetch_add(&n, 1);
  return a;
}
""" + TWO.replace("pthread_t", "if (pipe(p)) return 1;\n  pthread_t")
    r = s.search("check", program(s, text), "--states", "--no-explain")
    s.check(r["complete"] and r["visited"]["uncaptured"], "nothing is said: %s" % r)
    p = s.run([s.heddle, "check", "--states", "--no-explain", "--", "./states"])
    s.check("states not compared" in p.stdout + p.stderr, "the summary does not say so: %s" % (p.stdout + p.stderr))


def test_output_is_no_obstacle(s):
    text = """
static atomic_int n;
static void *worker(void *a)
{
  if (atomic_fetch_add(&n, 1) == 5) puts("never");
  return a;
}
""" + TWO.replace("pthread_t", 'puts("begin");\n  pthread_t')
    r = s.search("check", program(s, text), "--states", "--no-explain")
    s.check(r["complete"] and not r["visited"]["uncaptured"], "not captured: %s" % r)


def test_refused(s):
    path = common.build(s, "clean")
    for options in (["--strategy", "pct"], ["--preemptions", "1"], ["--save", "x"], ["--state-memory", "much"]):
        common.refused(s, [s.heddle, "check", "--states", *options, "--", path], 2, "--state")


# Burns' and Lamport's mutual exclusion with one bit for each thread: the second thread sets and clears its bit while it waits.
ONE_BIT = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int wants[2];
static int inside;
static void enter(void) { assert(inside++ == 0); inside--; }
static void *first(void *arg) {
  wants[0] = 1;
  while (wants[1]) {}
  enter();
  wants[0] = 0;
  return arg;
}
static void *second(void *arg) {
  do {
    do wants[1] = 0; while (wants[0]);
    wants[1] = 1;
  } while (wants[0]);
  enter();
  wants[1] = 0;
  return arg;
}
static void *(*thread[])(void *) = {first, second};
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, thread[i], 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
"""


@each("1", "2")
def test_auto_ends_where_states_come_again(s, jobs):
    """Of a loop that writes while it waits, the optimal search follows some rounds; states come again, so they end it."""
    program = s.build_text(ONE_BIT)
    r = s.search("check", program, "--jobs", jobs, want=0)
    s.check(r["complete"] and "by strategy" in r["out"] and "states" in r["out"], r["out"])
    r = s.search("check", program, "--jobs", jobs, "--no-states", want=0)
    s.same([x["reason"] for x in r["inexact"]], ["loop-bound"], "reasons without states")

"""--property races: schedules that cannot lead to a data race are left out (explore/property.c, session/property.c)."""
import json
import os
import subprocess
import sys

import common
from scratch import each
from test_aim import no_facts

HEAD = """
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, g = PTHREAD_MUTEX_INITIALIZER, f = PTHREAD_MUTEX_INITIALIZER;
#define LOCK(l) pthread_mutex_lock(&l)
#define UNLOCK(l) pthread_mutex_unlock(&l)
static int x, y, z, c, flag, set;
"""

MAIN = """
int main(void)
{
  void *(*body[])(void *) = {%s};
  pthread_t t[4];
  int n = sizeof body / sizeof *body;
  for (int i = 0; i < n; i++) pthread_create(&t[i], 0, body[i], 0);
  for (int i = 0; i < n; i++) pthread_join(t[i], 0);
  return 0;
}
"""

# Each thread has its own part, and adds to one sum under a lock.
AGET = HEAD + """
struct part { long at, end; } part[3];
static long written;
static void *get(void *p)
{
  struct part *a = p;
  while (a->at < a->end) {
    a->at += 10;
    LOCK(m);
    written += 10;
    UNLOCK(m);
  }
  return 0;
}
int main(void)
{
  pthread_t t[3];
  for (int i = 0; i < 3; i++) {
    part[i].end = 30;
    pthread_create(&t[i], 0, get, &part[i]);
  }
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  return written == 90 ? 0 : 1;
}
"""

# What a worker does depends on what others have put into a queue; all of it is under a lock.
QUEUE = HEAD + """
enum { BLOCKS = 3, SIZE = 2 };
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, less = PTHREAD_COND_INITIALIZER;
static int q[SIZE], head, count, done, written, out[BLOCKS];
static void *worker(void *p)
{
  for (;;) {
    LOCK(m);
    while (!count && !done) pthread_cond_wait(&more, &m);
    if (!count) {
      UNLOCK(m);
      return p;
    }
    int b = q[head];
    head = (head + 1) % SIZE;
    count--;
    pthread_cond_signal(&less);
    UNLOCK(m);
    LOCK(g);
    out[b % BLOCKS] = 3 * b;
    written++;
    UNLOCK(g);
  }
}
int main(void)
{
  pthread_t t[3];
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, worker, 0);
  for (int b = 0; b < BLOCKS; b++) {
    LOCK(m);
    while (count == SIZE) pthread_cond_wait(&less, &m);
    q[(head + count++) % SIZE] = b;
    pthread_cond_signal(&more);
    UNLOCK(m);
  }
  LOCK(m);
  done = 1;
  pthread_cond_broadcast(&more);
  UNLOCK(m);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  return 0;
}
"""

# Lines that access several variables, some of them without a lock and never written any more; loops that the compiler takes apart.
LINES = HEAD + """
enum { BLOCKS = 3 };
static int blocks = BLOCKS, taken, written, sum, ready[BLOCKS], packed[BLOCKS];
static void *worker(void *p)
{
  for (;;) {
    LOCK(m);
    int block = taken < blocks ? taken++ : -1;
    UNLOCK(m);
    if (block < 0) return p;
    LOCK(g);
    packed[block] = 3 * block + 3;
    ready[block] = 1;
    while (written < blocks && ready[written]) sum += packed[written++];
    UNLOCK(g);
  }
}
int main(int argc, char **argv)
{
  pthread_t t[3];
  blocks = argc > 5 ? 2 : BLOCKS;
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, worker, argv);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  return sum != 18;
}
"""

# Nothing but atomic operations: they never race, whatever they decide.
ATOMIC = HEAD + """
#include <stdatomic.h>
static atomic_int turn, hits;
static void *count(void *p)
{
  for (int i = 0; i < 2; i++) {
    if (atomic_load_explicit(&turn, memory_order_relaxed) == i) atomic_store_explicit(&turn, i + 1, memory_order_relaxed);
    else atomic_store_explicit(&hits, atomic_load_explicit(&hits, memory_order_relaxed) + 1, memory_order_relaxed);
  }
  return p;
}
""" + MAIN % "count, count, count"

# One of them guards, in one order of the threads only, what is not atomic.
ATOMIC_RACE = HEAD + """
#include <stdatomic.h>
static atomic_int turn;
static void *first(void *p)
{
  atomic_store_explicit(&turn, 1, memory_order_relaxed);
  LOCK(m); y++; UNLOCK(m);
  return p;
}
static void *second(void *p)
{
  if (!atomic_load_explicit(&turn, memory_order_relaxed)) y++;
  return p;
}
""" + MAIN % "first, second"

# Static functions of one name, at lines of one number: what is under the lock in one unit is not in the other.
TWIN = """#include <pthread.h>
extern int x, y;
extern pthread_mutex_t m;
static void step(void) {
  pthread_mutex_lock(&m);
  int r = x;
  if (%s) y++; pthread_mutex_unlock(&m); if (%s) y++;
}
void %s(void) { step(); }
"""
TWINS = HEAD.replace("static pthread_mutex_t m", "static int unused;\npthread_mutex_t m").replace("g = P", "g_ = P").replace(
    ", f = P", ", f_ = P").replace("static int x, y", "int x, y") + """
void guarded(void), bare(void);
static void *first(void *p) { guarded(); bare(); return p; }
static void *second(void *p) { LOCK(m); x = 1; y++; UNLOCK(m); return p; }
""" + MAIN % "second, first"

# Yang 2009, figure 5.1.
FDRD = HEAD + """
static void *first(void *p)
{
  LOCK(f); x++; UNLOCK(f);
  LOCK(g); y++; UNLOCK(g);
  LOCK(f); z++; UNLOCK(f);
  return p;
}
static void *second(void *p)
{
  LOCK(f); LOCK(g);
  z++;
  c = x;
  UNLOCK(g); UNLOCK(f);
  LOCK(f);
  if (c == 0) y++;
  UNLOCK(f);
  return p;
}
""" + MAIN % "first, second"

# The first thread, once past its branch, leaves nothing to race. Only what is then left out shows that the second thread may
# come before it: that it locks m at all follows from what the third one does.
ABOVE = HEAD + """
static void *first(void *p)
{
  LOCK(m);
  int r = flag;
  UNLOCK(m);
  if (r) y++;
  return p;
}
static void *second(void *p)
{
  LOCK(g);
  int r = set;
  UNLOCK(g);
  if (r) { LOCK(m); flag = 1; UNLOCK(m); }
  return p;
}
static void *third(void *p)
{
  LOCK(g);
  set = 1;
  UNLOCK(g);
  return p;
}
static void *fourth(void *p)
{
  LOCK(f); y++; UNLOCK(f);
  return p;
}
""" + MAIN % "first, second, third, fourth"

# The lock that the first thread has when it reads is let go before the access that follows from it.
RELEASED = HEAD + """
static void *first(void *p)
{
  LOCK(m);
  if (x) {
    UNLOCK(m);
    y++;
  } else {
    UNLOCK(m);
  }
  return p;
}
static void *second(void *p)
{
  LOCK(m); x = 1; UNLOCK(m);
  LOCK(m); y++; UNLOCK(m);
  return p;
}
""" + MAIN % "first, second"

# What is unstable is not shared memory.
TRY = HEAD + """
static void *first(void *p)
{
  if (pthread_mutex_trylock(&m)) y++;
  else UNLOCK(m);
  return p;
}
static void *second(void *p)
{
  LOCK(m); LOCK(f); y++; UNLOCK(f); UNLOCK(m);
  return p;
}
""" + MAIN % "first, second"
JOINED = HEAD + """
static void *inner(void *p)
{
  LOCK(m);
  long r = x;
  UNLOCK(m);
  return (void *)r;
}
static void *first(void *p)
{
  pthread_t t;
  void *r;
  pthread_create(&t, 0, inner, 0);
  pthread_join(t, &r);
  if (r) y++;
  return p;
}
static void *second(void *p)
{
  LOCK(m); x = 1; UNLOCK(m);
  LOCK(f); y++; UNLOCK(f);
  return p;
}
""" + MAIN % "first, second"
EXITED = HEAD + """
static void *inner(void *p)
{
  LOCK(m);
  int r = x;
  UNLOCK(m);
  pthread_exit(r ? &y : &z);
  return p;
}
static void *first(void *p)
{
  pthread_t t;
  void *r;
  pthread_create(&t, 0, inner, 0);
  pthread_join(t, &r);
  ++*(int *)r;
  return p;
}
static void *second(void *p)
{
  LOCK(m); x = 1; UNLOCK(m);
  LOCK(f); y++; UNLOCK(f);
  return p;
}
""" + MAIN % "first, second"
INDEX = HEAD + """
static int a[2];
static void *first(void *p)
{
  LOCK(m);
  int i = x;
  UNLOCK(m);
  a[i]++;
  return p;
}
static void *second(void *p)
{
  LOCK(m); x = 1; UNLOCK(m);
  LOCK(f); a[1]++; UNLOCK(f);
  return p;
}
""" + MAIN % "first, second"
POINTER = HEAD + """
static void none(void) {}
static void more(void) { y++; }
static void (*call)(void) = none;
static void *first(void *p)
{
  LOCK(m);
  void (*f)(void) = call;
  UNLOCK(m);
  f();
  return p;
}
static void *second(void *p)
{
  LOCK(m); call = more; UNLOCK(m);
  LOCK(f); y++; UNLOCK(f);
  return p;
}
""" + MAIN % "first, second"

RACES = dict(fdrd=FDRD, above=ABOVE, released=RELEASED, trylock=TRY, joined=JOINED, exited=EXITED, index=INDEX, pointer=POINTER)


def build(s, text, name="p", flags=("--facts", "-g")):
    s.write(name + ".c", text)
    s.run([s.heddle, "cc", *flags, name + ".c", "-o", name])
    return "./" + name


def search(s, program, *options):
    p = s.run([s.heddle, "check", "--all", "--no-explain", "--quiet", "--json", "-", *options, "--", program], want=None)
    return json.loads(p.stdout)


def races(j):
    return sorted(str(sorted((w["function"], w["line"] or 0) for w in f["where"][:2]))
                  for f in j["findings"] if f["kind"] == "data-race")


def found_all(s, text, level="-O1", reference="dfs"):
    program = build(s, text, flags=("--facts", "-g", level))
    every = races(search(s, program, "--strategy", reference))
    s.check(every, "there is a race")
    for strategy in ("dpor", "optimal"):
        j = search(s, program, "--strategy", strategy, "--property", "races")
        s.same(races(j), every, strategy)
        s.same(j["property"]["complete"], True, strategy)
        s.same(j["complete"], False, strategy)


@each(*(k for k in RACES if k not in ("above", "released")))
def test_races(s, case):
    if not no_facts(s):
        found_all(s, RACES[case])


def test_above(s):
    if not no_facts(s):
        found_all(s, ABOVE, reference="dpor")


def test_released(s):
    if not no_facts(s):
        found_all(s, RELEASED, "-O0")


@each("-O0", "-O2")
def test_one_execution(s, case):
    """Nothing can race: one execution shows it where dpor runs all classes."""
    if no_facts(s):
        return
    program = build(s, AGET, flags=("--facts", "-g", case))
    j = search(s, program, "--property", "races")
    s.same((j["executions"], j["blocked"], j["strategy"]), (1, 0, "optimal"), "with it")
    s.same(search(s, program, "--strategy", "dpor")["executions"], 1680, "without")
    p = s.run([s.heddle, "check", "--property", "races", "--", program])
    s.check("complete for data races: no schedule has one" in p.stdout, "verdict")


def test_queue(s):
    """Branches on values of other threads, all of whose accesses are guarded."""
    if no_facts(s):
        return
    j = search(s, build(s, QUEUE), "--strategy", "dpor", "--property", "races")
    s.same((j["executions"], j["property"]["complete"]), (1, True), "with it")
    racy = build(s, QUEUE.replace("    LOCK(g);\n", "").replace("    UNLOCK(g);\n", ""), "racy")
    j = search(s, racy, "--strategy", "dpor", "--property", "races", "--max-executions", "2000")
    s.same(len(races(j)) > 0, True, "a race without the lock")


@each("-O0", "-O1", "-O2")
def test_lines(s, case):
    """Which variable is accessed is known by its address."""
    if no_facts(s):
        return
    j = search(s, build(s, LINES, flags=("--facts", "-g", case)), "--property", "races")
    s.same((j["executions"], j["property"]["complete"], races(j)), (1, True, []), "guarded")
    racy = LINES.replace("    LOCK(g);\n", "").replace("    UNLOCK(g);\n", "").replace("BLOCKS = 3", "BLOCKS = 2")
    program = build(s, racy.replace("pthread_t t[3]", "pthread_t t[2]").replace("i < 3", "i < 2"), "racy", ("--facts", "-g", case))
    every = races(search(s, program, "--strategy", "dpor"))
    s.check(every, "there are races")
    s.same(races(search(s, program, "--property", "races")), every, "without the lock")


def test_atomic(s):
    """Atomic operations do not race with each other: no order of theirs has to be tried for its own sake."""
    if no_facts(s):
        return
    j = search(s, build(s, ATOMIC), "--property", "races")
    s.same((j["executions"], j["property"]["complete"], races(j)), (1, True, []), "atomic only")
    found_all(s, ATOMIC_RACE)


@each("a.c b.c", "b.c a.c")
def test_twins(s, case):
    """Units with static functions of one name."""
    if no_facts(s):
        return
    s.write("a.c", TWIN % ("r", "0", "guarded"))
    s.write("b.c", TWIN % ("0", "!r", "bare"))
    s.write("main.c", TWINS)
    s.run([s.heddle, "cc", "--facts", "-g", "-w", *case.split(), "main.c", "-o", "p"])
    every = races(search(s, "./p", "--strategy", "dfs"))
    s.check(every, "there is a race")
    s.same(races(search(s, "./p", "--property", "races")), every, "races")


def test_refused(s):
    if no_facts(s):
        return
    program = build(s, AGET, "plain", flags=("-g",))
    common.refused(s, [s.heddle, "check", "--property", "races", "--", program], 2, "needs facts about the code",
                   "heddle cc --facts")
    program = build(s, AGET)
    for options, text in ((["--property", "deadlocks"], "--property deadlocks is not possible"),
                          (["--property", "x"], "--property is races, not 'x'"),
                          (["--property", "races", "--strategy", "random"], "--strategy optimal and dpor, not random"),
                          (["--property", "races", "--states"], "cannot be combined with --states"),
                          (["--property", "races", "--preemptions", "1"], "cannot be combined with --preemptions"),
                          (["--property", "races", "--ignore", "data-race"], "--ignore turns off")):
        common.refused(s, [s.heddle, "check", *options, "--", program], 2, text)


def test_missing_unit(s):
    if no_facts(s):
        return
    s.write("a.c", "void add(int *p) { ++*p; }\n")
    s.write("b.c", AGET.replace("written += 10;", "add(&x);").replace("static long written", "void add(int *p);\nstatic long written"))
    s.run([s.heddle, "cc", "-g", "-c", "a.c"])
    s.run([s.heddle, "cc", "--facts", "-g", "a.o", "b.c", "-o", "p"])
    common.refused(s, [s.heddle, "check", "--property", "races", "--", "./p"], 2, "there are none about add")


def test_not_followed(s):
    """Functions after which threads cannot be followed: nothing is left out, which is said."""
    if no_facts(s):
        return
    program = build(s, AGET.replace("int main(void)\n{", "static void end(void) {}\nint main(void)\n{\n  atexit(end);"))
    p = s.run([s.heddle, "check", "--property", "races", "--", program])
    s.check("nothing is left out, since the program uses atexit" in p.stderr, p.stderr)
    s.check("1680 executions" in p.stdout, p.stdout)


def test_random_programs(s):
    if no_facts(s):
        return
    script = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fuzz", "races.py")
    p = subprocess.run([sys.executable, script, "--programs", "20", "--seed", "20", "--jobs", "1", "--keep", os.getcwd(),
                        "--build", os.path.dirname(s.heddle)], capture_output=True, text=True)
    s.check(p.returncode == 0, "races.py: " + p.stdout[-2000:] + p.stderr[-2000:])

"""--symmetry: of interchangeable threads the one created first goes first (explore/symmetry.c, runtime/core/family.c)."""
import common

HEAD = """
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include <heddle.h>
#ifndef N
#define N 2
#endif
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_t t[N];
static int n;
"""

MAIN = """
int main(void)
{
  for (long i = 0; i < N; i++) pthread_create(&t[i], 0, worker, %s);
  for (int i = 0; i < N; i++) pthread_join(t[i], 0);
  return 0;
}
"""

ROUNDS = HEAD + """
static void *worker(void *a)
{
  for (int i = 0; i < R; i++) {
    pthread_mutex_lock(&m);
    n++;
    pthread_mutex_unlock(&m);
  }
  return a;
}
""" + MAIN % "0"

# In each of them an assertion fails only if the second thread goes first: something tells the threads apart.
DIFFERENT = {
    "argument": """
static void *worker(void *a)
{
  pthread_mutex_lock(&m);
  if (!n++) assert(!a);
  pthread_mutex_unlock(&m);
  return 0;
}
""" + MAIN % "(void *)i",
    "byte behind the argument": """
static char byte[N];
static void *worker(void *a)
{
  pthread_mutex_lock(&m);
  if (!n++) assert(!*(char *)a);
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void)
{
  for (long i = 0; i < N; i++) byte[i] = (char)i, pthread_create(&t[i], 0, worker, &byte[i]);
  for (int i = 0; i < N; i++) pthread_join(t[i], 0);
  return 0;
}
""",
    "thread-local variable": """
static __thread int mine;
static atomic_int ready;
static void *worker(void *a)
{
  mine = (int)(long)a;
  atomic_fetch_add(&ready, 1);
  pthread_mutex_lock(&m);
  if (!n++) assert(mine != 1);
  pthread_mutex_unlock(&m);
  return 0;
}
""" + MAIN % "(void *)i",
    "block of the heap": """
static void *worker(void *a)
{
  pthread_mutex_lock(&m);
  if (!n++) assert(*(long *)a == 0);
  pthread_mutex_unlock(&m);
  free(a);
  return 0;
}
static void *block(long i)
{
  long *p = malloc(sizeof *p);
  *p = i;
  return p;
}
""" + MAIN % "block(i)",
    "value in a register": """
static atomic_int tickets;
static void *worker(void *a)
{
  int ticket = atomic_fetch_add(&tickets, 1);
  pthread_mutex_lock(&m);
  if (!n++) assert(!ticket);
  pthread_mutex_unlock(&m);
  return a;
}
""" + MAIN % "0",
    "pthread_self": """
static pthread_t first;
static void *worker(void *a)
{
  pthread_mutex_lock(&m);
  if (!n++) first = pthread_self();
  pthread_mutex_unlock(&m);
  return a;
}
int main(void)
{
  for (long i = 0; i < N; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < N; i++) pthread_join(t[i], 0);
  assert(pthread_equal(first, t[0]));
  return 0;
}
""",
    "thread id": """
static pid_t id[N];
static void *worker(void *a)
{
  pthread_mutex_lock(&m);
  id[n++] = gettid();
  pthread_mutex_unlock(&m);
  return a;
}
int main(void)
{
  for (long i = 0; i < N; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < N; i++) pthread_join(t[i], 0);
  assert(id[0] < id[1]);
  return 0;
}
""",
    "result": """
static void *worker(void *a)
{
  pthread_mutex_lock(&m);
  long role = n++;
  pthread_mutex_unlock(&m);
  return (void *)role;
}
int main(void)
{
  void *r[N];
  for (long i = 0; i < N; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < N; i++) pthread_join(t[i], &r[i]);
  assert(!r[0]);
  return 0;
}
""",
    "work between the joins": """
static sem_t go;
static atomic_int late;
static void *worker(void *a)
{
  pthread_mutex_lock(&m);
  int role = n++;
  pthread_mutex_unlock(&m);
  if (!role) sem_wait(&go);
  return a;
}
int main(void)
{
  sem_init(&go, 0, 0);
  for (long i = 0; i < N; i++) pthread_create(&t[i], 0, worker, 0);
  pthread_join(t[0], 0);
  sem_post(&go);
  pthread_join(t[1], 0);
  assert(!"the second thread went first");
  return 0;
}
""",
    "work between the creations": """
static atomic_int created;
static void *worker(void *a)
{
  pthread_mutex_lock(&m);
  if (!n++) assert(!atomic_load(&created));
  pthread_mutex_unlock(&m);
  return a;
}
int main(void)
{
  pthread_create(&t[0], 0, worker, 0);
  atomic_store(&created, 1);
  pthread_create(&t[1], 0, worker, 0);
  for (int i = 0; i < N; i++) pthread_join(t[i], 0);
  return 0;
}
""",
}


def search(s, *options, want=None, **kw):
    return s.search("check", "./prog", "--all", "--no-explain", "--classes", *options, want=want, **kw)


def test_lock(s):
    """Identical workers on one lock have one execution; with two rounds, one for each class up to their names."""
    for n, rounds, executions in ((2, 1, 1), (5, 1, 1), (8, 1, 1), (2, 2, 3), (3, 2, 15)):
        s.write("prog.c", ROUNDS)
        s.cc("prog.c", "prog", "-O1", "-DN=%d" % n, "-DR=%d" % rounds)
        for more in ("optimal",), ("dpor",), ("optimal", "-j", "4"):
            r = search(s, "--symmetry", "--strategy", *more)
            s.same((r["verdict"], r["complete"], r["executions"], r["blocked"]), ("clean", True, executions, 0),
                   "%d threads, %d rounds, %s" % (n, rounds, more))
            s.check(r["symmetric"] > 0, "no branch was left out: %s" % r)
        if rounds > 1:
            continue
        for more in ("dfs",), ("dpor",), ("dpor", "-j", "4"), ("auto",):
            r = search(s, "--symmetry", "--states", "--strategy", *more)
            s.check(r["complete"] and r["verdict"] == "clean" and r["symmetric"] > 0, "with --states, %s: %s" % (more, r))
            s.check(more[0] == "dfs" or r["blocked"] == 0, "%s begins more than one execution: %s" % (more, r))
    every = search(s, "--strategy", "optimal", "--no-symmetry")
    s.same(every["executions"], 90, "executions without symmetry")


def test_contended_memory(s):
    """Memory becomes contended at its second access; the first thread did not have that operation, and is alike all the same."""
    for what, (workers, executions) in {
            "static atomic_int n;\nstatic void *work(void *p) { n++; return p; }": (4, 1),
            "static atomic_int n;\nstatic void *work(void *p) { if (n) n = 2; else n = 1; return p; }": (2, 2),
            "static int n;\nstatic void *work(void *p) { *(volatile int *)&n = 1; return p; }": (4, 1)}.items():
        s.write("prog.c", """#include <pthread.h>
#include <stdatomic.h>
%s
int main(void) {
  pthread_t t[N];
  for (int i = 0; i < N; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < N; i++) pthread_join(t[i], 0);
  return 0;
}
""" % what)
        s.cc("prog.c", "prog", "-O1", "-DN=%d" % workers)
        for more in ("optimal",), ("dpor",), ("optimal", "-j", "4"):
            r = search(s, "--symmetry", "--ignore", "data-race", "--strategy", *more)
            s.same((r["complete"], r["executions"], r["blocked"]), (True, executions, 0), "%s, %s" % (what, more))


def test_told_apart(s):
    """Threads that differ in something live are not interchangeable."""
    for name, text in DIFFERENT.items():
        s.write("prog.c", HEAD + text)
        s.cc("prog.c", "prog", "-O1")
        plain = search(s, "--strategy", "optimal", want=1)
        for more in ("optimal",), ("dpor",), ("dfs",), ("dfs", "--states"), ("dpor", "--states"):
            r = search(s, "--symmetry", "--strategy", *more, want=1)
            kinds = sorted(f["kind"] for f in r["findings"])
            s.check("assertion" in kinds, "%s: %s has only %s" % (name, more, kinds))
            s.same(kinds, sorted(f["kind"] for f in plain["findings"]), name)
        for seed in "1", "2":  # the part of `auto`, after an execution of another in which either thread goes first
            r = search(s, "-j", "1", "--seed", seed, env={"HEDDLE_TEST_STATES": "0"}, want=1)
            s.same(sorted(f["kind"] for f in r["findings"]), sorted(f["kind"] for f in plain["findings"]), name + ", auto")


def test_choices(s):
    """Of two interchangeable threads the one created first has the lesser outcome: one execution for each class up to names."""
    s.write("prog.c", HEAD + "void hd_rt_observe(unsigned long value);\nstatic int chosen[3];" + """
static void *worker(void *a)
{
  unsigned c = hd_choose(3);
  pthread_mutex_lock(&m);
  chosen[c]++;
  pthread_mutex_unlock(&m);
  return a;
}
""" + (MAIN % "0").replace("return 0;", "hd_rt_observe((unsigned long)(chosen[0] + 10 * chosen[1] + 100 * chosen[2]));\n  return 0;"))
    s.cc("prog.c", "prog", "-O1", "-DN=3")
    every = search(s, "--strategy", "optimal")
    s.same((every["executions"], every["states"]), (162, 10), "executions and final states without symmetry")
    for more in ("--strategy", "optimal"), ("--strategy", "dpor"), ("--strategy", "optimal", "-j", "4"), ("--states",):
        r = search(s, "--symmetry", *more)
        s.check(r["complete"] and r["verdict"] == "clean", "%s: %s" % (more, r))
        s.same((r["states"], r["state_sum"]), (every["states"], every["state_sum"]), "final states with %s" % (more,))
        s.check("--states" in more or r["executions"] == 27, "%d executions with %s" % (r["executions"], more))


def test_what_follows_a_state_is_exchanged(s):
    """Whoever comes first looks at z. The threads are interchangeable in a state that is also reached after one of them has
    changed z, and changed it back; only the other one can come in between."""
    s.write("prog.c", HEAD + """
#define RELAXED memory_order_relaxed
static atomic_int p, z, came;
static void *worker(void *a)
{
  if (atomic_load_explicit(&p, RELAXED)) {
    atomic_store_explicit(&z, 1, RELAXED);
    atomic_store_explicit(&z, 0, RELAXED);
  }
  if (atomic_fetch_add_explicit(&came, 1, RELAXED) == 0) assert(!atomic_load_explicit(&z, RELAXED));
  return a;
}
int main(void)
{
  for (long i = 0; i < N; i++) pthread_create(&t[i], 0, worker, 0);
  atomic_store_explicit(&p, 1, RELAXED);
  atomic_store_explicit(&p, 0, RELAXED);
  for (int i = 0; i < N; i++) pthread_join(t[i], 0);
  return 0;
}
""")
    s.cc("prog.c", "prog", "-O1", "-DN=2")
    for more in ("--strategy", "optimal"), ("--states",), ("--states", "-j", "2"), ("--states", "--strategy", "dfs"):
        r = search(s, "--symmetry", *more, want=1)
        s.same([f["kind"] for f in r["findings"]], ["assertion"], "findings with %s" % (more,))


CXX = """
#include <cassert>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
static std::mutex m;
static int n;
static std::vector<std::thread> t;
static void join_all() { for (auto &x : t) x.join(); }
"""

# A program with std::thread that fails when any but the first thread takes the lock first.
DIFFERENT_CXX = {
    "numbers": """
static int rank_of[3];
static void worker(int me) { std::lock_guard<std::mutex> g(m); rank_of[me] = n++; }
int main()
{
  for (int i = 0; i < 3; i++) t.emplace_back(worker, i);
  join_all();
  assert(rank_of[0] == 0);
}
""",
    "names": """
int main()
{
  std::thread::id first;
  for (int i = 0; i < 3; i++)
    t.emplace_back([&] { std::lock_guard<std::mutex> g(m); if (!n++) first = std::this_thread::get_id(); });
  auto id = t[0].get_id();
  join_all();
  assert(first == id);
}
""",
    "memory of their own": """
static void worker(std::shared_ptr<int> mine) { std::lock_guard<std::mutex> g(m); *mine = n++; }
int main()
{
  std::shared_ptr<int> each[3];
  for (auto &x : each) x = std::make_shared<int>(0);
  for (int i = 0; i < 3; i++) t.emplace_back(worker, each[i]);
  join_all();
  assert(*each[0] == 0);
}
""",
}


def test_std_thread(s):
    """The state object of a std::thread is the same when its contents are."""
    s.write("prog.cc", CXX + """
static void worker(int by, int *sum) { std::lock_guard<std::mutex> g(m); *sum += by; }
int main()
{
  for (int i = 0; i < 4; i++) t.emplace_back(worker, 1, &n);
  join_all();
  assert(n == 4);
}
""")
    for compiler in "gcc", "clang":
        s.cc("prog.cc", "prog", "-O1", compiler=compiler)
        for more in ("--strategy", "optimal"), ("--states",):
            r = search(s, "--symmetry", *more)
            s.same((r["verdict"], r["complete"], r["executions"] + r["blocked"]), ("clean", True, 1), "std::thread %s" % (more,))
    for name, text in DIFFERENT_CXX.items():
        s.write("prog.cc", CXX + text)
        s.cc("prog.cc", "prog", "-O1")
        for more in ("--strategy", "optimal"), ("--states",), ("--states", "--strategy", "dfs"):
            r = search(s, "--symmetry", *more, want=1)
            s.same([f["kind"] for f in r["findings"]], ["assertion"], "%s %s" % (name, more))


def test_asserted(s):
    """hd_symmetric says that it does not matter."""
    s.write("prog.c", HEAD + "static long sum;" + """
static void *worker(void *a)
{
  pthread_mutex_lock(&m);
  sum += (long)a;
  pthread_mutex_unlock(&m);
  return a;
}
""" + MAIN.replace("for (long", "hd_symmetric();\n  for (long", 1) % "(void *)i")
    s.cc("prog.c", "prog", "-O1", "-DN=5")
    s.same(search(s, "--symmetry", "--strategy", "optimal")["executions"], 1, "asserted")
    s.same(search(s, "--strategy", "optimal")["executions"], 120, "without --symmetry")


def test_an_address_decides(s):
    """The same past, and another lock, chosen by the address of the stack: it matters which thread it is."""
    s.write("prog.c", HEAD + """
static pthread_mutex_t slot[31];
static int owner[31];
static void *worker(void *a)
{
  int here = 0;
  unsigned i = (unsigned)((unsigned long)&here >> 12) % 31;
  pthread_mutex_lock(&slot[i]);
  owner[i]++;
  pthread_mutex_unlock(&slot[i]);
  pthread_mutex_lock(&m);
  n++;
  pthread_mutex_unlock(&m);
  return a;
}
""" + MAIN % "0")
    s.cc("prog.c", "prog", "-O1")
    plain = search(s, "--strategy", "optimal")
    r = search(s, "--strategy", "optimal", "--symmetry")
    s.same((r["executions"], r["symmetric"]), (plain["executions"], 0), "executions, and branches left out")


# Each keeps of the first and the last thread under the lock what it makes of an address of that thread's own.
ADDRESSES = {
    "comparison": ("char *", "malloc(8)", "kept[0] < kept[1]"),
    "stack, as a number": ("uintptr_t", "(uintptr_t)&here", "kept[0] > kept[1]"),
    "thread-local, as a number": ("uintptr_t", "(uintptr_t)&own", "kept[0] > kept[1]"),
    "hash": ("unsigned", "(unsigned)((uintptr_t)malloc(8) >> 20)", "kept[0] < kept[1]"),
    "difference": ("intptr_t", "(intptr_t)malloc(8) - (intptr_t)&m", "kept[0] < kept[1]"),
    "copied bytes": ("uintptr_t", "(p = malloc(8), memcpy(&u, &p, sizeof u), u)", "kept[0] < kept[1]"),
    "union": ("uintptr_t", "(pun.pointer = malloc(8), pun.number)", "kept[0] < kept[1]"),
    "text": ("uintptr_t", "(snprintf(text, sizeof text, \"%p\", malloc(8)), strtoul(text, 0, 0))", "kept[0] < kept[1]"),
}


def test_addresses(s):
    """Who computes with an address of a thread's own, or compares two for order, tells the threads apart."""
    for name, (kind, made, holds) in ADDRESSES.items():
        s.write("prog.c", HEAD + """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
static %s kept[2];
static __thread int own;
static void *worker(void *a)
{
  int here = 0;
  char text[32], *p;
  uintptr_t u;
  union { char *pointer; uintptr_t number; } pun;
  (void)text, (void)p, (void)u, (void)pun, (void)here, (void)own;
  pthread_mutex_lock(&m);
  kept[n++] = %s;
  pthread_mutex_unlock(&m);
  return a;
}
""" % (kind, made) + (MAIN % "0").replace("return 0;", "assert(%s);\n  return 0;" % holds))
        for compiler, level in ("gcc", "-O0"), ("gcc", "-O2"), ("clang", "-O0"), ("clang", "-O2"):
            s.cc("prog.c", "prog", level, "-w", compiler=compiler)
            for more, env in (("--symmetry", "--strategy", "optimal"), {}), (("-j", "1"), {"HEDDLE_TEST_STATES": "0"}):
                r = search(s, *more, env=env, want=1)
                s.same([f["kind"] for f in r["findings"]], ["assertion"], "%s, %s %s %s" % (name, compiler, level, more))


def test_addresses_that_do_not_matter(s):
    """Equality, access, alignment, and what lies within one thread's memory are no reason to tell threads apart."""
    s.write("prog.cc", CXX + """
#include <cstdint>
#include <map>
struct node { node *next; int value; };
static node *top;
static void worker()
{
  node *mine = new node{nullptr, 1};
  assert((uintptr_t)mine % 8 == 0);
  std::vector<int> v{3, 1, 2};
  std::map<int *, int> by;
  for (int &x : v) by[&x] = x;
  int sum = 0;
  for (const int *p = v.data(), *end = v.data() + v.size(); p < end; p++) sum += *p;
  assert(sum == 6 && by.size() == 3);
  std::lock_guard<std::mutex> g(m);
  for (node *each = top; each; each = each->next) assert(each != mine);
  mine->next = top;
  top = mine;
}
int main()
{
  for (int i = 0; i < 4; i++) t.emplace_back(worker);
  join_all();
}
""")
    for compiler, level in ("gcc", "-O1"), ("clang", "-O0"), ("clang", "-O2"):
        s.cc("prog.cc", "prog", level, compiler=compiler)
        r = search(s, "--symmetry", "--strategy", "optimal")
        s.same((r["verdict"], r["complete"], r["executions"]), ("clean", True, 1), "%s %s" % (compiler, level))


def test_auto(s):
    """The default uses neither states nor symmetry in a short search, and both in a long one."""
    def check(n, *options):
        s.write("prog.c", ROUNDS)
        s.cc("prog.c", "prog", "-O1", "-DN=%d" % n, "-DR=1")
        r = s.search("check", "./prog", "-j", "1", "--no-explain", *options)
        s.check(r["complete"] and r["verdict"] == "clean", "%d threads, %s: %s" % (n, options, r))
        parts = {p["strategy"]: p["executions"] for p in r["phases"]}
        return r, parts["optimal"], parts.get("states", 0)
    for options in (), ("--no-states",), ("--no-symmetry",):
        r, optimal, states = check(6, *options)
        s.check((optimal, states) == (720, 0) and "visited" not in r and "symmetric" not in r, "short, %s: %s" % (options, r))
    r, optimal, states = check(8)
    s.same((optimal, states, r["blocked"]), (1000, 1, 0), "executions of a long one")
    s.check(r["symmetric"] > 0 and r["visited"]["states"] > 0, "neither symmetry nor states: %s" % r)
    again, _, _ = check(8)
    s.same([again[k] for k in ("executions", "events", "phases")], [r[k] for k in ("executions", "events", "phases")],
           "counts of the same search")
    out = s.run([s.heddle, "check", "-j", "1", "--", "./prog"]).stdout
    s.check("up to symmetry of T1-T8" in out, "the summary does not say which threads are interchangeable: " + out)
    r, optimal, states = check(7, "--no-symmetry")
    s.check("symmetric" not in r and optimal >= 1000 and r["visited"]["matches"] > 0, "--no-symmetry: %s" % r)
    r, optimal, states = check(7, "--no-states")
    s.check((optimal, states) == (5040, 0) and "visited" not in r, "--no-states: %s" % r)
    r, optimal, states = check(7, "--save", "saved")
    s.same((optimal, states), (5040, 0), "executions of a search that is saved")


def test_refused(s):
    path = common.build(s, "clean")
    for options in (["--strategy", "random"], ["--preemptions", "1"]):
        common.refused(s, [s.heddle, "check", "--symmetry", *options, "--", path], 2, "--symmetry")

"""Several processes share a search; processes are killed; searches are saved and continued."""
import json
import os
import random
import signal
import subprocess
import time

import common
from scratch import each

LOCKS = """
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static void *t(void *a) { pthread_mutex_lock(&m); sum = sum * 3 + 1; pthread_mutex_unlock(&m); return a; }
int main(void) {
  pthread_t id[N];
  for (int i = 0; i < N; i++) pthread_create(&id[i], 0, t, 0);
  for (int i = 0; i < N; i++) pthread_join(id[i], 0);
  return 0;
}
"""

# Each writer reads what the one before it wrote; one thread looks for the last zero.
LAST_ZERO = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int a[N + 1];
static void *reader(void *x) { for (int i = N; atomic_load(&a[i]); i--) {} return x; }
static void *writer(void *x) { long i = (long)x; atomic_store(&a[i], atomic_load(&a[i - 1]) + 1); return x; }
int main(void) {
  pthread_t id[N + 1];
  pthread_create(&id[0], 0, reader, 0);
  for (long i = 1; i <= N; i++) pthread_create(&id[i], 0, writer, (void *)i);
  for (int i = 0; i <= N; i++) pthread_join(id[i], 0);
  return 0;
}
"""

# What a swap finds when it is reversed with a signal: several workers give executions up before it was executed.
SWAPS = """
#include <pthread.h>
#include <signal.h>
static int word, handled;
static void handler(int sig) { (void)sig; __atomic_fetch_add(&handled, 1, __ATOMIC_SEQ_CST); }
static void *t(void *a) {
  int was = 0;
  __atomic_compare_exchange_n(&word, &was, 3, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
  return a;
}
int main(void) {
  pthread_t id[3];
  signal(SIGUSR1, handler);
  for (int i = 0; i < 3; i++) pthread_create(&id[i], 0, t, 0);
  pthread_join(id[0], 0);
  for (int i = 1; i < 3; i++) pthread_kill(id[i], SIGUSR1);
  for (int i = 1; i < 3; i++) pthread_join(id[i], 0);
  return 0;
}
"""

BUGS = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y;
static void *t(void *a) { atomic_fetch_add(&x, 1); int v = atomic_load(&y); atomic_store(&y, v + 1); return a; }
int main(void) {
  pthread_t id[3];
  for (int i = 0; i < 3; i++) pthread_create(&id[i], 0, t, 0);
  for (int i = 0; i < 3; i++) pthread_join(id[i], 0);
  assert(y > 1);
  assert(y > 2);
  return 0;
}
"""


def program(s, text, n, name="prog"):
    s.write(name + ".c", text)
    s.cc(name + ".c", name, "-O1", "-DN=%d" % n)
    return "./" + name


def totals(r):
    return r["verdict"], r["executions"], r["classes"], r["class_sum"], r["states"], r["state_sum"]


@each("locks", "last-zero")
def test_many_workers_count_as_one(s, what):
    prog = program(s, *((LOCKS, 6) if what == "locks" else (LAST_ZERO, 6)))
    for strategy in "optimal", "dpor", "dfs":
        if strategy == "dfs":
            prog = program(s, LOCKS, 3)
        one = s.search("check", prog, "--classes", "--strategy", strategy, want=0)
        if strategy != "dfs":
            s.same(one["executions"], 720 if what == "locks" else one["classes"], "executions of one")
        for j in "2", "4":
            many = s.search("check", prog, "--classes", "--strategy", strategy, "-j", j, want=0)
            s.same(totals(many), totals(one), "%s with -j %s" % (strategy, j))


def test_no_class_twice(s):
    prog = program(s, SWAPS, 0)
    for _ in range(12):
        many = s.search("check", prog, "--classes", "--strategy", "optimal", "-j", "4", want=0)
        s.same((many["inexact"], many["executions"]), ([], many["classes"]), "reasons, and executions with -j 4")


@each("--preemptions=2", "--delays=2", "--preemptions=iterate")
def test_bounds_are_shared(s, bound):
    """Within a bound, several workers reach what one does; what a reduction asks for depends on the order."""
    prog = program(s, LAST_ZERO, 3)
    for strategy in "optimal", "dpor", "dfs", "rdfs":
        if bound.endswith("iterate") and strategy.endswith("dfs"):
            continue
        one = s.search("check", prog, "--classes", "--strategy", strategy, bound, want=0)
        s.check(one["complete"] or one["bound"]["complete"], "one worker does not cover the bound")
        for j in "2", "4":
            many = s.search("check", prog, "--classes", "--strategy", strategy, bound, "-j", j, want=0)
            keys = ["verdict", "complete", "classes", "class_sum", "states", "state_sum"]
            for key in keys + (["executions", "blocked", "bound"] if strategy.endswith("dfs") else []):
                s.same(many[key], one[key], "%s of %s with -j %s" % (key, strategy, j))


def test_more_than_64_workers(s):
    prog = program(s, LOCKS, 6)
    many = s.search("check", prog, "--strategy", "optimal", "-j", "80", want=0)
    s.same((many["verdict"], many["executions"]), ("clean", 720), "result of 80 workers")


def test_many_workers_find_the_same(s):
    prog = program(s, BUGS, 0)
    one = s.search("check", prog, "--all", "--strategy", "optimal", "--out", "one", want=1)
    many = s.search("check", prog, "--all", "--strategy", "optimal", "-j3", "--out", "many", want=1)
    found = [sorted((f["title"], f["where"][0]["line"]) for f in r["findings"]) for r in (one, many)]
    s.same(found[1], found[0], "findings")
    s.same(len(found[0]), 2, "number of findings")
    first = s.search("check", prog, "--strategy", "optimal", "-j3", "--out", "many", want=1)
    s.same(len(first["findings"]), 1, "findings of a search that stops at the first")
    s.same(len(s.search("check", prog, "--strategy", "random", "-j2", "--max-executions", "300", want=1)["findings"]), 1, "findings of a sampling one")


def test_sampling_is_shared_too(s):
    prog = program(s, LOCKS, 3)
    s.same(s.search("check", prog, "--strategy", "random", "-j3", "--max-executions", "500", want=0)["executions"],
           500, "executions")


def pids(name):
    return [int(p) for p in common.alive(name)]


@each("1", "3")
def test_killing_workers_loses_nothing(s, jobs):
    """Whatever moment a tested process is killed at, the search goes on, and counts what it would have counted."""
    name = "k" + os.path.basename(s.dir)[-8:]
    prog = program(s, LOCKS, 8, name)
    for strategy in ("optimal", "auto") if jobs == "3" else ("optimal",):
        # With states the search would be over before a process is killed.
        r, killed = search_killed(s, name, prog, jobs, strategy, *(["--no-states"] if strategy == "auto" else []))
        of_optimal = r["phases"][0]["executions"] if strategy == "auto" else r["executions"]
        s.same((r["verdict"], r["findings"], of_optimal), ("clean", [], 40320), "after %d deaths" % killed)


@each("dfs", "random --max-executions=100000", "optimal --preemptions=2", "optimal --delays=4")
def test_killing_workers_of_other_searches(s, strategy):
    """What is not lost: executions of dfs, samples, and classes within a bound. (A state explored by a process that was
    killed before it could say so is explored again.)"""
    name = "k" + os.path.basename(s.dir)[-8:]
    bounded = strategy.startswith("optimal")
    prog = program(s, *((LAST_ZERO, 6) if bounded else (LOCKS, 3)), name)
    whole = s.search("check", prog, "--strategy", *strategy.split(), want=0)
    r, killed = search_killed(s, name, prog, "3", *strategy.split())
    s.same((r["verdict"], r["findings"], r["bound"]), (whole["verdict"], [], whole["bound"]), "after %d deaths" % killed)
    if not bounded:
        s.same(r["executions"], whole["executions"], "executions after %d deaths" % killed)


@each("dfs", "optimal")
def test_killing_workers_that_compare_states(s, strategy):
    """A new process takes over the nodes of the one that was killed, and nothing of what that one kept of them."""
    name = "k" + os.path.basename(s.dir)[-8:]
    prog = program(s, *((LOCKS, 5) if strategy == "dfs" else (LAST_ZERO, 7)), name)
    for jobs in "1", "3", "3":
        r, killed = search_killed(s, name, prog, jobs, strategy, "--states", between=(0.002, 0.006))
        s.same((r["verdict"], r["complete"], r["findings"], r["inexact"]), ("clean", True, [], []), "after %d deaths" % killed)


def test_killing_workers_keeps_the_counters_of_each(s):
    """Processes killed at a rate at which many die while they commit what another one then finishes."""
    name = "k" + os.path.basename(s.dir)[-8:]
    prog = program(s, LOCKS, 3, name)
    whole = s.search("check", prog, "--strategy", "dfs", want=0)
    for jobs in ["2", "3"] * 12:
        r, killed = search_killed(s, name, prog, jobs, "dfs", most=60, between=(0.003, 0.008))
        s.same((r["verdict"], r["findings"], r["executions"]), (whole["verdict"], [], whole["executions"]), "after %d deaths" % killed)


def search_killed(s, name, prog, jobs, *strategy, most=25, between=(0.01, 0.03)):
    """Result of a search whose processes are killed now and then, and how often."""
    p = subprocess.Popen([s.heddle, "check", "--strategy", *strategy, "-j", jobs, "--json", "r.json", "--time", "300s",
                          "--", prog], cwd=s.dir, env=s.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    killed = 0
    rng = random.Random(7)
    while p.poll() is None and killed < most:
        time.sleep(between[0] + rng.random() * between[1])
        alive = pids(name)
        for pid in alive[:1] if jobs == "1" else rng.sample(alive, min(1, len(alive))):
            try:
                os.kill(pid, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
    out = p.communicate(timeout=300)[0].decode()
    s.same(p.returncode, 0, "exit code; it said: " + out)
    with open(s.path("r.json")) as f:
        r = json.load(f)
    s.check(killed > 0, "none was killed")
    return r, killed


@each("optimal", "dpor", "dfs", "auto", "random")
def test_save_and_resume(s, strategy):
    """Interrupted again and again, a search comes to the same total."""
    prog = program(s, LAST_ZERO if strategy == "optimal" else LOCKS, {"optimal": 7, "dfs": 3}.get(strategy, 5))
    options = ["--strategy", strategy, "--classes"] if strategy not in ("random", "auto") else ["--strategy", strategy]
    limit = ["--max-executions", "1000"] if strategy == "random" else []
    whole = s.search("check", prog, *options, *limit, want=0)
    s.run([s.heddle, "check", *options, "--max-executions", "20", "--save", "s.hds", "--quiet", "--", prog],
          want=0 if strategy == "random" else 5)
    step = 0
    for step in range(1, 4):
        s.run([s.heddle, "check", "--resume", "s.hds", "--max-executions", str(20 + 17 * step), "--quiet", "--", prog],
              want=0 if strategy == "random" else 5)
    last = s.search("check", prog, "--resume", "s.hds", *limit, want=0)
    keys = ["verdict", "executions", "blocked"]
    keys += ["classes", "class_sum", "states", "state_sum"] if "--classes" in options else []
    if strategy == "auto":
        s.same(last["phases"][0], whole["phases"][0], "what the optimal part did")
        keys = ["verdict"]
    for key in keys:
        s.same(last[key], whole[key], key)
    s.same(last["strategy"], strategy, "strategy")
    again = s.search("check", prog, "--resume", "s.hds", *limit, want=0)
    s.same(again["verdict"], whole["verdict"], "of a search that was over")


# More threads than there are identities at first; objects on stacks, in thread-local memory, in a library and the heap.
PLACES = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <assert.h>
struct shared { pthread_mutex_t m; atomic_int n; int *heap; atomic_int *stack, *tls; };
static struct shared global;
static _Thread_local atomic_int mine;
static void *t(void *a) {
  struct shared *s = a;
  pthread_mutex_lock(&s->m);
  *s->heap = *s->heap * 3 + 1;
  pthread_mutex_unlock(&s->m);
  atomic_fetch_add(s->stack, 1);
  return a;
}
static void *owner(void *a) {
  struct shared *s = a;
  atomic_int here = 0;
  pthread_t id[N];
  s->stack = &here;
  s->tls = &mine;
  for (int i = 0; i < N; i++) pthread_create(&id[i], 0, t, s);
  for (int i = 0; i < N; i++) pthread_join(id[i], 0);
  atomic_fetch_add(s->tls, here);
  return a;
}
int main(void) {
  pthread_t id;
  pthread_mutex_init(&global.m, 0);
  global.heap = calloc(1, sizeof *global.heap);
  pthread_create(&id, 0, owner, &global);
  pthread_join(id, 0);
  assert(*global.heap != 13 || atomic_load(&global.n) == 0);
  return 0;
}
"""


@each("dfs", "dpor", "optimal", "rdfs", "optimal --preemptions=2", "optimal --delays=2", "auto")
def test_another_address_layout(s, strategy):
    """A search is saved again and again, by processes that have their memory elsewhere each time."""
    small = "dfs" in strategy
    prog = program(s, PLACES, 2 if small else 4 if strategy in ("dpor", "optimal") else 3)
    options = ["--strategy", *strategy.split()]
    options += ["--classes"] if strategy != "auto" else []
    whole = s.search("check", prog, *options, want=0)
    s.env["HEDDLE_TEST_RANDOMISE"] = "1"
    total = whole["phases"][0]["executions"] if strategy == "auto" else whole["executions"] + whole["blocked"]
    step = max(1, total // 4)
    s.run([s.heddle, "check", *options, "--max-executions", str(step), "--save", "s.hds", "--quiet", "--", prog], want=5)
    for i in 2, 3:
        s.run([s.heddle, "check", "--resume", "s.hds", "--max-executions", str(i * step), "--quiet", "--", prog], want=5)
    last = s.search("check", prog, "--resume", "s.hds", want=0)
    del s.env["HEDDLE_TEST_RANDOMISE"]
    if strategy == "auto":
        s.same(last["phases"][0], whole["phases"][0], "what the optimal part did")
        return
    for key in "verdict", "complete", "executions", "blocked", "classes", "class_sum", "states", "state_sum":
        s.same(last[key], whole[key], key)


# A wait that is woken spuriously, which is tried when everything else is covered.
WAITS = """
#include <pthread.h>
#include <stdatomic.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;
static atomic_int x, woken;
static void *waiter(void *a) {
  pthread_mutex_lock(&m);
  if (!ready) pthread_cond_wait(&c, &m);
  woken = 1;
  pthread_mutex_unlock(&m);
  return a; }
static void *other(void *a) {
  for (int i = 0; i < N; i++) x++;
  pthread_mutex_lock(&m);
  ready = 1;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
  x += woken;
  return a; }
int main(void) {
  pthread_t t[2];
  pthread_create(&t[0], 0, waiter, 0); pthread_create(&t[1], 0, other, 0);
  x++;
  pthread_join(t[0], 0); pthread_join(t[1], 0); return 0; }
"""


@each("1", "2")
def test_resume_before_spurious_wakeups(s, jobs):
    """That a thread has waited is not forgotten: spurious wake-ups are still to come."""
    prog = program(s, WAITS, 2)
    whole = s.search("check", prog, "--strategy", "optimal", "--classes", want=0)
    plain = s.search("check", prog, "--strategy", "optimal", "--classes", "--no-spurious", want=0)
    s.check(whole["executions"] > plain["executions"], "no spurious wake-ups")
    for part in range(1, whole["executions"]):
        s.run([s.heddle, "check", "--strategy", "optimal", "--classes", "--max-executions", str(part), "--save", "s.hds",
               "--quiet", "--", prog], want=5)
        r = s.search("check", prog, "--resume", "s.hds", "--jobs", jobs, "--max-executions", "10000", want=0)
        s.same((r["executions"], r["class_sum"]), (whole["executions"], whole["class_sum"]), "after %d executions" % part)


def test_resume_by_fewer(s):
    prog = program(s, LOCKS, 7)
    s.run([s.heddle, "check", "--strategy", "optimal", "-j4", "--max-executions", "2000", "--save", "s.hds", "--", prog],
          want=5)
    r = s.search("check", prog, "--resume", "s.hds", want=0)
    s.same((r["verdict"], r["executions"]), ("clean", 5040), "result")


def test_power_cut(s):
    """The supervisor is killed with all its processes: the last file saved is whole, and goes on."""
    prog = program(s, LOCKS, 9)
    p = subprocess.Popen([s.heddle, "check", "--strategy", "optimal", "-j2", "--save", "s.hds", "--", prog], cwd=s.dir,
                         env=s.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not os.path.exists(s.path("s.hds")) and p.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    p.kill()
    p.wait()
    s.check(os.path.exists(s.path("s.hds")), "nothing was saved")
    r = s.search("check", prog, "--resume", "s.hds", "-j2", want=0)
    s.same((r["verdict"], r["executions"]), ("clean", 362880), "result")


def test_findings_before(s):
    prog = program(s, BUGS, 0)
    s.run([s.heddle, "check", "--all", "--strategy", "optimal", "--save", "s.hds", "--", prog], want=1)
    r = s.search("check", prog, "--resume", "s.hds", want=1)
    s.same((r["verdict"], r["findings"], r["findings_before"]), ("bug", [], 2), "result")


def test_resume_refuses(s):
    prog = program(s, LOCKS, 4)
    s.run([s.heddle, "check", "--strategy", "optimal", "--save", "s.hds", "--", prog], want=0)
    with open(s.path("s.hds"), "rb") as f:
        data = f.read()
    resume = [s.heddle, "check", "--resume", "s.hds"]
    common.refused(s, [*resume, "--strategy", "dfs", "--", prog], 2, "s.hds", "--strategy")
    common.refused(s, [*resume, "--", prog, "an argument"], 2, "other arguments")
    common.refused(s, [s.heddle, "check", "--resume", "none", "--", prog], 2, "none", "No such file")
    for damage in data[:-3], data[:100], data[:40] + b"x" + data[41:], data[:-20] + b"x" * 20, b"", b"HDSAVE1":
        with open(s.path("bad.hds"), "wb") as f:
            f.write(damage)
        common.refused(s, [s.heddle, "check", "--resume", "bad.hds", "--", prog], 2, "bad.hds")
    other = data[:8] + bytes([data[8] ^ 1]) + data[9:]
    with open(s.path("bad.hds"), "wb") as f:
        f.write(other)
    common.refused(s, [s.heddle, "check", "--resume", "bad.hds", "--", prog], 2, "another version")
    program(s, LOCKS, 5)
    common.refused(s, [*resume, "--", prog], 2, "built again")
    common.refused(s, [s.heddle, "check", "-j0", "--", prog], 2, "--jobs", "1 to 256")
    common.refused(s, [s.heddle, "check", "--save", "no/such/folder", "--", prog], 3, "--save")


def test_limit_is_met(s):
    """A limit in the middle of a shared search: nobody waits for one who has left. What was begun anew or given up
    counts as well."""
    prog = program(s, LAST_ZERO, 6)
    for _ in range(12):
        r = s.search("check", prog, "--strategy", "optimal", "--jobs", "4", "--max-executions", "50", want=5)
        s.check(r["executions"] + r["blocked"] + r["discarded"] >= 45 and r["executions"] <= 50,
                "executions: %s, blocked: %s, discarded: %s" % (r["executions"], r["blocked"], r["discarded"]))

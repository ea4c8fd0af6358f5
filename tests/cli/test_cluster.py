"""`heddle cluster`: one search on several ranks, under a real mpirun with more ranks than processors."""
import json
import os
import re
import sys

import common
import ranks as clusters
from scratch import each

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz"))
import kills  # noqa: E402

# Threads that take a lock twice, then read what the others may be writing.
READS = """
#include <pthread.h>
#include <stdatomic.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;
static atomic_int y;
static void *t(void *a) {
  for (int i = 0; i < 2; i++) {
    pthread_mutex_lock(&m);
    x++;
    pthread_mutex_unlock(&m);
  }
  atomic_store(&y, (int)(long)a);
  return a;
}
int main(void) {
  pthread_t id[N];
  for (long i = 0; i < N; i++) pthread_create(&id[i], 0, t, (void *)i);
  for (int i = 0; i < N; i++) pthread_join(id[i], 0);
  return 0;
}
"""

# Threads create threads, some only in some schedules; which is the first that a rank sees differs.
NESTED = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int n, sum;
static void *leaf(void *a) { atomic_fetch_add(&sum, 1 + (int)(long)a); return a; }
static void *t(void *a) {
  pthread_t id[2];
  int k = atomic_fetch_add(&n, 1) % 2 + 1;
  for (long i = 0; i < k; i++) pthread_create(&id[i], 0, leaf, (void *)i);
  for (int i = 0; i < k; i++) pthread_join(id[i], 0);
  return a;
}
int main(void) {
  pthread_t id[2];
  for (int i = 0; i < 2; i++) pthread_create(&id[i], 0, t, 0);
  atomic_load(&sum);
  for (int i = 0; i < 2; i++) pthread_join(id[i], 0);
  return 0;
}
"""

# More threads than a process has at first, each with a variable on its stack that another one uses.
STACKS = """
#include <pthread.h>
#include <stdatomic.h>
static void *leaf(void *a) { atomic_fetch_add((atomic_int *)a, 1); return a; }
static void *t(void *a) {
  atomic_int mine = 0;
  pthread_t id;
  pthread_create(&id, 0, leaf, &mine);
  atomic_fetch_add(&mine, 1);
  pthread_join(id, 0);
  return a;
}
int main(void) {
  pthread_t id[5];
  for (long i = 0; i < 5; i++) pthread_create(&id[i], 0, t, (void *)i);
  for (int i = 0; i < 5; i++) pthread_join(id[i], 0);
  return 0;
}
"""

# The same, with the threads in few schedules only: a rank hears of stacks that its process has not made yet.
GROWS = """
#include <pthread.h>
#include <stdatomic.h>
static atomic_int n, m;
static void *sub(void *a) { atomic_fetch_add((atomic_int *)a, 1); return a; }
static void *leaf(void *a) {
  atomic_int mine = 0;
  pthread_t id;
  pthread_create(&id, 0, sub, &mine);
  atomic_fetch_add(&mine, 1);
  pthread_join(id, 0);
  return a;
}
static void *x(void *a) { atomic_fetch_add(&m, 1); atomic_fetch_add(&m, 1); return a; }
static void *t(void *a) {
  pthread_t id[8];
  int k = atomic_fetch_add(&n, 1) == (long)a ? 2 : 0;
  for (int i = 0; i < k; i++) pthread_create(&id[i], 0, leaf, 0);
  for (int i = 0; i < k; i++) pthread_join(id[i], 0);
  return a;
}
int main(void) {
  pthread_t id[2], o[4];
  for (long i = 0; i < 2; i++) pthread_create(&id[i], 0, t, (void *)(1 - i));
  for (long i = 0; i < 4; i++) pthread_create(&o[i], 0, x, 0);
  for (int i = 0; i < 2; i++) pthread_join(id[i], 0);
  for (int i = 0; i < 4; i++) pthread_join(o[i], 0);
  return 0;
}
"""

# What is visible is learned late: in few schedules is the last variable shared at all.
LATE = """
#include <pthread.h>
#include <stdatomic.h>
static atomic_int a[3];
static int late;
static void *t(void *x) {
  long i = (long)x;
  int seen = 0;
  for (int k = 0; k < 3; k++) seen += atomic_fetch_add(&a[k], 1) == (i + k) % 3;
  if (seen == 3) late++;
  return x;
}
int main(void) {
  pthread_t id[3];
  for (long i = 0; i < 3; i++) pthread_create(&id[i], 0, t, (void *)i);
  for (int i = 0; i < 3; i++) pthread_join(id[i], 0);
  return 0;
}
"""

# The last two threads write to x only after others did so first, and only in some schedules at all.
CONTENDED = """
#include <pthread.h>
#include <stdatomic.h>
static atomic_int a, b;
static int x;
static void *t(void *n) {
  int first = atomic_fetch_add(&a, 1);
  if ((long)n == 0 && first == 2) x = 1;
  if ((long)n == 1 && first == 1) x = 1;
  atomic_fetch_add(&b, 1);
  return n;
}
int main(void) {
  pthread_t id[3];
  for (long i = 0; i < 3; i++) pthread_create(&id[i], 0, t, (void *)i);
  for (int i = 0; i < 3; i++) pthread_join(id[i], 0);
  return x > 1;
}
"""

# A thread waits in few schedules, and fails when it wakes by itself.
WAITS = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static atomic_int a;
static int ready;
static void *t(void *n) {
  if (atomic_fetch_add(&a, 1) == (long)n) atomic_fetch_add(&a, 10);
  return n;
}
static void *w(void *n) {
  pthread_mutex_lock(&m);
  if (!ready && atomic_load(&a) > 30) {
    pthread_cond_wait(&c, &m);
    assert(ready);
  }
  pthread_mutex_unlock(&m);
  return n;
}
int main(void) {
  pthread_t id[4], other;
  for (long i = 0; i < 4; i++) pthread_create(&id[i], 0, t, (void *)i);
  pthread_create(&other, 0, w, 0);
  for (int i = 0; i < 4; i++) pthread_join(id[i], 0);
  pthread_mutex_lock(&m);
  ready = 1;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
  pthread_join(other, 0);
  return 0;
}
"""

BUG = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y;
static void *t(void *a) { atomic_fetch_add(&x, 1); int v = atomic_load(&y); atomic_store(&y, v + 1); return a; }
int main(void) {
  pthread_t id[3];
  for (int i = 0; i < 3; i++) pthread_create(&id[i], 0, t, 0);
  for (int i = 0; i < 3; i++) pthread_join(id[i], 0);
  WHAT
  return 0;
}
"""


def has_mpi(s):
    """Where MPI is missing the command says what to install, and the other tests have nothing to test."""
    missing = clusters.missing(s.build)
    if missing:
        print("cluster: skipped, %s" % missing)
    return not missing


def program(s, text, *flags, name="prog"):
    s.write(name + ".c", text)
    s.cc(name + ".c", name, "-O1", *flags)
    return "./" + name


def result(s, command, want, env=None):
    at = command.index("--")
    more = ["--json", "result.json", "--quiet", "--no-explain"]
    p = s.run(command[:at] + more + command[at:], want=None, timeout=120, env=env)
    said = [line for line in (p.stdout + p.stderr).splitlines() if "heddle" in line]  # mpirun says more
    s.check(p.returncode in (want if isinstance(want, tuple) else (want,)),
            "exit status %d, expected %s: %s" % (p.returncode, want, " | ".join(said)))
    with open(s.path("result.json")) as f:
        return json.load(f)


def alone(s, *words, want=0):
    return result(s, [s.heddle, "check", *words], want)


def cluster(s, ranks, *words, want=0, env=None):
    return result(s, clusters.MPIRUN + [str(ranks), s.heddle, "cluster", "check", *words], want, env)


def same(s, a, b, what):
    for key in ("executions", "complete"):
        s.same(b[key], a[key], "%s: %s" % (what, key))
    s.same(sorted(f["kind"] for f in b["findings"]), sorted(f["kind"] for f in a["findings"]), what + ": findings")


@each("optimal", "dpor", "dfs", "rdfs")
def test_counts(s, strategy):
    """Any number of ranks runs exactly the executions of one process."""
    if not has_mpi(s):
        return
    n = 4 if strategy in ("optimal", "dpor") else 2
    prog = program(s, READS, "-DN=%d" % n)
    a = alone(s, "--strategy", strategy, "--", prog)
    units = 0
    for ranks in (1, 2, 3, 4):
        b = cluster(s, ranks, "--strategy", strategy, "--", prog)
        same(s, a, b, "%d ranks" % ranks)
        s.same(b["cluster"]["ranks"], ranks, "ranks")
        units += b["cluster"]["units"]
    s.check(strategy in ("dfs", "rdfs") or units > 0, "no rank ever gave work to another")


def test_jobs(s):
    """With several processes on each rank."""
    if not has_mpi(s):
        return
    prog = program(s, READS, "-DN=4")
    a = alone(s, "--strategy", "optimal", "--", prog)
    same(s, a, cluster(s, 2, "--strategy", "optimal", "--jobs", "2", "--", prog), "2 ranks of 2")


@each("optimal", "dpor")
def test_learned(s, strategy):
    """What one rank learns about the program restarts the search on all: numbers of threads, visible operations."""
    if not has_mpi(s):
        return
    for name, text in (("nested", NESTED), ("late", LATE), ("stacks", STACKS), ("grows", GROWS)):
        prog = program(s, text, name=name)
        words = ["--strategy", strategy, "--all", "--no-spurious", "--", prog]
        want = 1 if name == "late" else 0
        a = alone(s, *words, want=want)
        for ranks in (2, 4):
            same(s, a, cluster(s, ranks, *words, want=want), "%s, %d ranks" % (name, ranks))


def test_findings(s):
    """A finding is confirmed and stored once, whoever found it; the first one ends the search."""
    if not has_mpi(s):
        return
    prog = program(s, BUG.replace("WHAT", "assert(y > 1); assert(y > 2);"))
    a = alone(s, "--strategy", "optimal", "--all", "--", prog, want=1)
    for ranks in (2, 4):
        b = cluster(s, ranks, "--strategy", "optimal", "--all", "--", prog, want=1)
        same(s, a, b, "%d ranks" % ranks)
        for f in b["findings"]:
            s.check(f["replays"], "the finding does not replay")
            s.run([s.heddle, "replay", f["replay"]], want=1)
        s.same(len(cluster(s, ranks, "--strategy", "optimal", "--", prog, want=1)["findings"]), 1, "findings")


def test_deaths(s):
    """A program that brings down its process takes no rank along."""
    if not has_mpi(s):
        return
    prog = program(s, BUG.replace("WHAT", "if (y == 1) kill(getpid(), SIGKILL);")
                   .replace("#include <assert.h>", "#include <signal.h>\n#include <unistd.h>"))
    words = ["--strategy", "optimal", "--all", "--", prog]
    a = alone(s, *words, want=1)
    b = cluster(s, 3, *words, want=1)
    s.same(b["executions"], a["executions"], "executions")
    s.same([f["kind"] for f in b["findings"]], [f["kind"] for f in a["findings"]], "findings")


def test_saved(s):
    """A saved search is continued by other numbers of ranks, and by one machine; the total stays the same."""
    if not has_mpi(s):
        return
    prog = program(s, READS, "-DN=4")
    a = alone(s, "--strategy", "optimal", "--", prog)
    cluster(s, 3, "--strategy", "optimal", "--time", "0.1s", "--save", "search", "--", prog, want=(0, 5))
    cluster(s, 4, "--time", "0.1s", "--resume", "search", "--", prog, want=(0, 5))
    alone(s, "--time", "0.1s", "--resume", "search", "--", prog, want=(0, 5))
    same(s, a, cluster(s, 2, "--resume", "search", "--", prog), "continued")


def test_killed(s):
    """Ranks are killed at random: --retry continues, and total and findings are those of an undisturbed search. More of
    it: tests/fuzz/kills.py --kills N."""
    if not has_mpi(s):
        return
    campaign = kills.Campaign(s.heddle, 15, s.dir)
    for name in ("lastzero", "bugs"):
        os.mkdir(s.path(name))
        wrong = campaign.disturbed(name, s.path(name), 3)
        s.check(not wrong, wrong)


@each("alone", "cluster")
def test_resumed(s, first):
    """A search of one machine is continued by clusters, and one of a cluster by one machine and by other numbers of ranks;
    with findings before and after, and symmetric threads."""
    if not has_mpi(s):
        return
    prog = program(s, kills.BUGS, "-DDIES=0")
    words = ["--strategy", "optimal", "--all"]
    want = alone(s, *words, "--", prog, want=1)
    for then in ((1,), (2,), (4,), (0,), (3, 0, 2), (0, 2, 0)):
        part = ["--save", "search", "--max-executions", "9000", "--", prog]
        if first == "alone":
            got = alone(s, *words, *part, want=(1, 5))
        else:
            got = cluster(s, 3, *words, *part, want=(1, 5))
        s.check(not got["complete"], "%s: nothing is left to continue" % got["executions"])
        found = len(got["findings"])
        for i, ranks in enumerate(then):
            more = ["--resume", "search", *([] if i + 1 == len(then) else ["--max-executions", str(20000 + 20000 * i)]), "--", prog]
            got = cluster(s, ranks, *more, want=(0, 1, 5)) if ranks else alone(s, *more, want=(0, 1, 5))
            found += len(got["findings"])
        what = "%s, then %s ranks" % (first, then)
        s.same(got["executions"], want["executions"], what)
        s.check(got["complete"], what + ": not complete")
        s.same(found, len(want["findings"]), what + ": findings")
        os.unlink(s.path("search"))


def test_most(s):
    """--max-executions ends a complete search of all ranks."""
    if not has_mpi(s):
        return
    prog = program(s, READS, "-DN=4")
    words = ["--strategy", "optimal", "--max-executions", "2000", "--", prog]
    want = alone(s, *words, want=5)
    for ranks in (1, 3):
        got = cluster(s, ranks, *words, want=5)
        s.same(got["stopped"], "executions", "stopped")
        s.check(got["executions"] >= want["executions"], "only %d executions" % got["executions"])
        s.check(ranks > 1 or got["executions"] == want["executions"], "%d executions" % got["executions"])


def test_symmetry(s):
    """--symmetry on several ranks: the executions of one process."""
    if not has_mpi(s):
        return
    s.cc(os.path.join(kills.ROOT, "bench/search/bbuf.c"), "bbuf", "-O1")
    for strategy in ("optimal", "dpor"):
        words = ["--strategy", strategy, "--symmetry", "--", "./bbuf", "2", "2", "2", "2"]
        want = alone(s, *words)
        for ranks in (2, 4):
            same(s, want, cluster(s, ranks, *words), "%s, %d ranks" % (strategy, ranks))


@each("dfs", "optimal")
def test_states(s, strategy):
    """--states on several ranks, each with its own table: the verdict of one process, and what was repeated is counted."""
    if not has_mpi(s):
        return
    prog = program(s, READS, "-DN=3")
    words = ["--strategy", strategy, "--states", "--", prog]
    want = alone(s, *words)
    units = 0
    for ranks in (1, 2, 4):
        got = cluster(s, ranks, *words, env={"HEDDLE_TEST_SHARE_AFTER": "0"})
        s.same(got["complete"], want["complete"], "%d ranks: complete" % ranks)
        s.check(not got["cluster"]["repeated_estimated"], "%s" % got["cluster"])
        distinct = got["visited"]["states"] - got["cluster"]["repeated_states"]
        s.check(strategy == "optimal" and ranks > 1 or distinct == want["visited"]["states"], "%d ranks: %d distinct states, not %d" % (ranks, distinct, want["visited"]["states"]))
        units += got["cluster"]["units"]
    s.check(strategy == "optimal" or units > 0, "no rank ever gave work to another")


def test_states_contended(s):
    """With --states what one rank learns about accesses counts for all: the race is seen from one of two pasts only."""
    if not has_mpi(s):
        return
    prog = program(s, CONTENDED)
    for strategy in ("dfs", "optimal"):
        words = ["--strategy", strategy, "--states", "--all", "--", prog]
        want = alone(s, *words, want=1)
        for ranks in (2, 4):
            got = cluster(s, ranks, *words, want=1, env={"HEDDLE_TEST_SHARE_AFTER": "0"})
            s.same(sorted({f["kind"] for f in got["findings"]}), sorted({f["kind"] for f in want["findings"]}), strategy)


def test_bounds(s):
    """Bounds on several ranks, one after the other; `dfs` has no table of states, so its count is exact. Elsewhere what a
    reduction asks for depends on the order, so that there may be more executions than in one process, or fewer."""
    if not has_mpi(s):
        return
    prog = program(s, READS, "-DN=3")
    for words in (["--strategy", "dfs", "--preemptions", "1"], ["--strategy", "optimal", "--preemptions", "1"],
                  ["--strategy", "dpor", "--delays", "3"], ["--strategy", "optimal", "--preemptions", "iterate"]):
        bound = [*words, "--no-spurious", "--", prog]
        want = alone(s, *bound)
        for ranks in (1, 3):
            got = cluster(s, ranks, *bound)
            what = "%s, %d ranks" % (" ".join(words), ranks)
            for key in ("bound", "verdict", "complete"):
                s.same(got[key], want[key], "%s: %s" % (what, key))
            if ranks == 1 or "dfs" in words:
                s.same(got["executions"], want["executions"], what)
            if "dfs" not in words:
                explored, repeated = (got["cluster"][k + "_states"] for k in ("explored", "repeated"))
                s.check(0 <= repeated < explored and (ranks > 1 or not repeated), what + ": %s" % got["cluster"])


def test_phases(s):
    """Spurious wake-ups are explored at the end, whoever has seen a thread wait."""
    if not has_mpi(s):
        return
    prog = program(s, WAITS)
    want = alone(s, "--strategy", "optimal", "--all", "--", prog, want=1)
    for ranks in (2, 4):
        same(s, want, cluster(s, ranks, "--strategy", "optimal", "--all", "--", prog, want=1), "%d ranks" % ranks)


def test_default(s):
    """Without --strategy: from three ranks on the last ones sample, until the others are done."""
    if not has_mpi(s):
        return
    prog = program(s, READS, "-DN=4")
    for ranks, sampling in ((1, 0), (2, 0), (3, 1)):
        got = cluster(s, ranks, "--ranks-per-node", "64", "--", prog)
        s.check(got["complete"], "%d ranks: not complete" % ranks)
        s.same(got["cluster"]["sampling"], sampling, "%d ranks: sampling" % ranks)
    prog = program(s, BUG.replace("WHAT", "assert(y > 1);"))
    s.same(len(cluster(s, 3, "--", prog, want=1)["findings"]), 1, "findings")
    common.refused(s, [s.heddle, "cluster", "check", "--ranks-per-node", "0", "--", prog], 2, "--ranks-per-node")


def test_stalled(s):
    """A launcher that waits for a lost rank is ended, and the search continued; if that does not help, --retry says so."""
    s.write("launch", "echo $2 >> seen\ntest -e search && exit 0\nif test $(wc -l < seen) = 2; then echo > search; fi\nexec sleep 60\n")
    command = [s.heddle, "cluster", "--retry", "--stall", "0.3", "sh"]
    p = s.run([*command, "./launch", "--", "--save", "search"], want=2)
    s.check("--save" in p.stderr, p.stderr)
    p = s.run([*command, "./launch", "x", "--save", "search"], want=0)
    s.check("nothing was saved for 0.3 s; the search starts again" in p.stderr, p.stderr)
    s.check("the search continues" in p.stderr, p.stderr)
    s.write("hangs", "exec sleep 60\n")
    p = s.run([*command, "./hangs", "--save", "other"], want=3)
    s.check("gave up" in p.stderr, p.stderr)
    s.run([s.heddle, "cluster", "--retry", "--stall", "often", "sh", "--save", "x"], want=2)


def test_stuck(s):
    """A launcher that does not notice that its processes have died is ended at once."""
    s.write("launch", "test -e search && exit 0\necho > search\ntrue &\nexec sleep 60\n")
    p = s.run([s.heddle, "cluster", "--retry", "sh", "./launch", "--save", "search"], want=0, timeout=30)
    s.check("sh did not end, although all its processes have; the search continues" in p.stderr, p.stderr)


def test_samples(s):
    """Ranks divide the executions of a sampling strategy."""
    if not has_mpi(s):
        return
    prog = program(s, READS, "-DN=2")
    for ranks in (1, 3):
        b = cluster(s, ranks, "--strategy", "random", "--max-executions", "1000", "--", prog)
        s.same(b["executions"], 1000, "%d ranks: executions" % ranks)
    b = cluster(s, 3, "--strategy", "pos", "--time", "0.5s", "--", prog)
    s.same((b["stopped"], b["verdict"]), ("time", "bounded"), "result of samples for a while")


def test_samples_saved(s):
    """Samples are saved and continued by other numbers of ranks and by one machine: each number is executed once."""
    if not has_mpi(s):
        return
    prog = program(s, READS, "-DN=2")
    s.run([s.heddle, "check", "--strategy", "random", "--time", "0.2s", "--save", "search", "--quiet", "--", prog], want=None)
    seen = 0
    for ranks in (3, 0, 2, 4, 0):
        words = ["--resume", "search", "--max-executions", "10000000", "--time", "0.5s", "--", prog]
        got = cluster(s, ranks, *words, want=(0, 5)) if ranks else alone(s, *words, want=(0, 5))
        s.check(got["executions"] > seen, "%d executions after %d" % (got["executions"], seen))
        seen = got["executions"]
    most = ["--resume", "search", "--max-executions", str(seen + 50000), "--", prog]
    s.same(cluster(s, 3, *most)["executions"], seen + 50000, "executions in the end")


def simulate(s, **words):
    return json.loads(s.run([s.heddle, "cluster", "simulate"] + ["%s=%s" % w for w in words.items()]).stdout)


def test_simulated(s):
    """Virtual ranks, with messages that are late and overtake each other: everything is run once, and the end is exact."""
    for seed in range(1, 6):
        for ranks in (1, 2, 7, 64, 300):
            for fault in ({}, {"jitter": 0.003}, {"stall": 0.05}, {"jitter": 0.003, "stall": 0.2, "latency": 0.01}):
                for tree in ({"uneven": 40000}, {"orders": 8}):
                    r = simulate(s, ranks=ranks, seed=seed, **fault, **tree)
                    s.check(r["over"], "%s: it did not end" % r)
                    s.same(r["executions"], r["expected"], "executions of %d ranks, seed %d" % (ranks, seed))


def test_simulated_recorded(s):
    """The tree of a real search, as it was recorded."""
    s.cc(os.path.join(kills.ROOT, "bench/search/bbuf.c"), "bbuf", "-O1")
    s.run([s.heddle, "check", "--strategy", "optimal", "--quiet", "--", "./bbuf", "2", "2", "2", "1"],
          env={"HEDDLE_RECORD_TREE": s.path("tree")})
    s.same(os.path.getsize(s.path("tree")), 4 * 60, "bytes of 60 executions")
    for ranks in (1, 3, 40):
        for again, want in ((0, 60), (1, 3600)):
            r = simulate(s, ranks=ranks, recorded=s.path("tree"), again=again)
            s.check(r["over"], "%s: it did not end" % r)
            s.same((r["executions"], r["expected"]), (want, want), "executions of %d ranks" % ranks)
    s.write("empty", "")
    s.run([s.heddle, "cluster", "simulate", "recorded=empty"], want=2)


def test_simulated_loss(s):
    """A rank is lost with a part of the tree: nobody takes the search for complete."""
    for seed in range(1, 6):
        r = simulate(s, ranks=8, seed=seed, uneven=100000, lost=3)
        s.check(not r["over"] or r["executions"] == r["expected"], "%s: a part is missing" % r)


def test_simulated_scale(s):
    """The bars of docs/scaling.md."""
    r = simulate(s, ranks=64, uneven=1938816, execution=70e-6)
    s.check(r["efficiency"] > 0.95, "64 ranks: %s" % r)
    r = simulate(s, ranks=1024, uneven=10**8)
    s.check(r["efficiency"] > 0.90 and r["messaging"] < 0.01, "1,024 ranks: %s" % r)


def test_stage(s):
    """The program and a library of its own travel to ranks that do not have them; its findings can be replayed."""
    if not has_mpi(s):
        return
    s.write("own.c", "#include <stdatomic.h>\nint add(atomic_int *x) { return atomic_fetch_add(x, 1); }\n")
    s.write("prog.c", "#include <stdatomic.h>\nint add(atomic_int *x);\n" + BUG.replace("WHAT", "static atomic_int z; add(&z); assert(y > 1);"))
    os.mkdir(s.path("here"))
    os.mkdir(s.path("there"))
    s.run([s.heddle, "cc", "-shared", "-fPIC", "own.c", "-o", "here/libown.so"])
    s.run([s.heddle, "cc", "-g", "prog.c", "-Lhere", "-lown", "-Wl,-rpath,$ORIGIN", "-o", "here/prog", "-pthread"])
    check = ["-np", "1", s.heddle, "cluster", "check", "--strategy", "optimal", "--all", "--no-explain", "--stage=" + s.dir, "--json",
             s.path("result.json"), "--", "./prog"]
    p = s.run([*clusters.MPIRUN[:-1], "-wdir", s.path("here"), *check, ":", "-wdir", s.path("there"), *check], want=1, timeout=90)
    with open(s.path("result.json")) as f:
        got = json.load(f)
    want = s.search("check", s.path("here/prog"), "--strategy", "optimal", "--all", "--no-explain", want=1)
    same(s, want, got, "staged: " + p.stdout)
    s.run([s.heddle, "replay", got["findings"][0]["replay"]], cwd=s.path("here"), want=1)


def test_other_launcher(s):
    """Processes that were started together and do not see each other say so, instead of running the search once each."""
    if not has_mpi(s):
        return
    prog = program(s, READS, "-DN=2")
    for name, rank in (("PMI_SIZE", "PMI_RANK"), ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID")):
        for number, said in (("0", 1), ("1", 0)):
            p = s.run([s.heddle, "cluster", "check", "--strategy", "optimal", "--", prog], want=3, env={name: "2", rank: number})
            s.same(p.stderr.count("2 processes were started, and MPI sees one"), said, p.stderr)


def test_progress(s):
    """Launchers pass lines on: progress comes in lines of its own, and there is no colour in what may end in a file."""
    if not has_mpi(s):
        return
    prog = program(s, READS, "-DN=4")
    p = s.run([*clusters.MPIRUN, "2", s.heddle, "cluster", "check", "--strategy", "optimal", "--", prog],
              env={"HEDDLE_TEST_SAY_EVERY": "0.02"}, want=0)
    s.check(re.search(r"^heddle: \d.* executions, .*/s, .* events, 0 findings, 2 ranks, \d+% idle, .* s", p.stderr, re.M), p.stderr)
    s.check("\033" not in p.stdout + p.stderr, p.stdout + p.stderr)


def test_differ(s):
    """Ranks that were not started alike: the first one says which cannot go on and why, and nobody waits for ever."""
    if not has_mpi(s):
        return
    prog = program(s, READS, "-DN=4")
    os.mkdir(s.path("empty"))
    one = ["-np", "1", s.heddle, "cluster", "check", "--strategy", "optimal", "--", prog]
    for other, want in ((["-np", "1", s.heddle, "cluster", "check", "--strategy", "dpor", "--", prog], "rank 1: it has other options"),
                        ([*one, "x"], "rank 1: its program or its arguments"),
                        (["-np", "1", "-wdir", s.path("empty"), *one[2:]], "rank 1: ./prog: no such program")):
        p = s.run([*clusters.MPIRUN[:-1], *one, ":", *other], want=None, timeout=60)
        s.check(want in p.stderr, "%s: %s" % (want, p.stderr))
        s.check("complete" not in p.stdout, p.stdout)


def test_interrupted(s):
    """Ctrl-C, or a `timeout` that signals twice, ends a launcher under --retry once: the search is saved, status 5."""
    if not has_mpi(s):
        return
    s.cc(os.path.join(kills.ROOT, "bench/search/bbuf.c"), "bbuf", "-O1")
    p = s.run(["timeout", "-s", "INT", "2", s.heddle, "cluster", "--retry", *clusters.MPIRUN, "2", s.heddle, "cluster", "check",
               "--strategy", "optimal", "--save=search", "--", "./bbuf", "4", "4", "2", "2"], want=None, timeout=60)
    s.check("interrupted" in p.stdout, p.stdout + p.stderr)
    s.check(os.path.exists(s.path("search")), "it was not saved")


def test_refused(s):
    """What a cluster cannot do is said before anything runs."""
    if not has_mpi(s):
        common.refused(s, [s.heddle, "cluster", "check", "--", "./prog"], 3, "openmpi-bin")
        return
    prog = program(s, READS, "-DN=2")
    common.refused(s, [s.heddle, "cluster", "check", "--classes", "--", prog], 2, "heddle cluster")
    common.refused(s, [s.heddle, "cluster", "chekc"], 2, "check")
    common.refused(s, [s.heddle, "cluster", "check", "--strategy", "optimal", "--save", "gone/search", "--", prog], 3, "gone/search")
    common.refused(s, [s.heddle, "check", "--strategy", "optimal", "--save", "gone/search", "--", prog], 3, "gone/search")
    p = s.run([*clusters.MPIRUN, "3", s.heddle, "cluster", "check", "--nope", "--", prog], want=None)
    s.same(p.stderr.count("--nope"), 1, "how often it is said")

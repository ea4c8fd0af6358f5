#!/usr/bin/env python3
"""Random programs with locks and branches: the data races that `--property races` finds against those of plain depth-first
search. Ends with 'N passed, N failed'.

usage: tests/fuzz/races.py [--programs N] [--seed S] [--first I] [--time SECONDS] [--keep DIR] [--build DIR]

Programs are built for what the pruning rests on (src/explore/property.c): values that other threads wrote decide branches,
indices, locks and calls; accesses are guarded by the lock of a variable, mostly; threads are created and joined at different
times. A program that differs is written to DIR (default: fuzz-failures in the build folder).
"""
import argparse
import concurrent.futures
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import compare  # noqa: E402

BATCH = 20
LIMIT = 6000  # executions of dfs; with more, dpor takes its place

HEADER = """#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static pthread_mutex_t m[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t w = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int v[6], a[4], flag, mine[4][4];
static atomic_int at, gate;
struct box { int x, y; };
static struct box *shared, own[4];
static __attribute__((noinline)) int get(int *p) { return *p; }
static __attribute__((noinline)) void set(int *p, int x) { *p = x; }
static __attribute__((noinline)) void locked_add(pthread_mutex_t *l, int *p, int x) {
  pthread_mutex_lock(l);
  *p += x;
  pthread_mutex_unlock(l);
}
static __attribute__((noinline)) int pick(int r) { if (r & 1) return 1; return r > 2 ? 2 : 0; }
static __attribute__((noinline)) void leave(int r) { if (r == 2) pthread_exit(0); }
static __attribute__((noinline)) void drop(pthread_mutex_t *l, int r) { if (r & 1) pthread_mutex_unlock(l); }
static __attribute__((noinline)) void again(pthread_mutex_t *l, int r) { if (r & 1) pthread_mutex_lock(l); }
static void bump0(int *p) { *p += 1; }
static void bump1(int *p) { v[1] += *p & 1; }
static void (*const op[2])(int *) = {bump0, bump1};
"""


class Program:
    """One program: functions with names that end in its number."""

    def __init__(self, seed, number):
        self.r = random.Random("%s races %d" % (seed, number))
        self.number = number
        self.text = []
        self.budget = 0
        self.in_thread = False

    def lock_of(self, var):
        return var % 3

    def access(self, var):
        """A statement on a global variable; r is a local one of the thread."""
        return self.r.choice(["r = v[%d];", "v[%d]++;", "v[%d] = r + 1;", "r += get(&v[%d]);", "set(&v[%d], r);",
                              "r ^= v[%d];"]) % var

    def guarded(self, depth):
        var = self.r.randrange(6)
        lock = self.lock_of(var) if self.r.random() < 0.9 else self.r.randrange(3)
        body = [self.access(var)]
        if self.r.random() < 0.4:
            body.append(self.access(self.lock_of(var) + 3 * self.r.randrange(2)))
        if depth and self.r.random() < 0.5:
            body.append("if (r %s %d) { %s }" % (self.r.choice(["==", ">", "&"]), self.r.randrange(3),
                                                 self.access(var if self.r.random() < 0.7 else self.r.randrange(6))))
        if depth and self.r.random() < 0.15:
            body.append("a[r & 3]++;")
        return "pthread_mutex_lock(&m[%d]); %s pthread_mutex_unlock(&m[%d]);" % (lock, " ".join(body), lock)

    def flow(self, depth):
        """Values that come a long way to what they decide; and ends of threads, locks and waits that depend on them."""
        then = self.access(self.r.randrange(6)) if self.r.random() < 0.4 else self.guarded(0)
        lock = self.r.randrange(3)
        kinds = ["mine[me][r & 1] = 1 + (r & 2);", "if (r & 1) mine[me][1] = 2;", "mine[me][r & 3] = 1; if (mine[me][1]) { %s }" % then, "{ int k = r; int *q = &k; *q += me; if (k > 2) { %s } }" % then,
                 "switch (pick(r)) { case 1: %s break; case 2: r++; break; default: r += 2; }" % then,
                 "{ int n; if (r > 1) n = 1; else n = 0; mine[me][3] = n; } if (mine[me][3]) { %s }" % then,
                 "pthread_mutex_lock(&m[%d]); drop(&m[%d], r); %s again(&m[%d], r); pthread_mutex_unlock(&m[%d]);" % (
                     lock, lock, self.access(lock), lock, lock),
                 "pthread_mutex_lock(&m[%d]); while (v[%d] < 0) pthread_cond_wait(&c, &m[%d]); pthread_mutex_unlock(&m[%d]);" % (
                     lock, lock, lock, lock)]
        if self.in_thread:
            kinds += ["if (r & 2) return 0;", "leave(r);"]
        return self.r.choice(kinds)

    def atomic(self, depth):
        """Atomic operations, also as what decides, and beside plain accesses to what they guard or do not."""
        then = self.access(self.r.randrange(6)) if self.r.random() < 0.5 or not depth else self.statement(depth - 1)
        order = self.r.choice(["relaxed", "seq_cst"])
        return self.r.choice(["atomic_fetch_add(&at, 1);", "r += atomic_load(&at);", "atomic_store(&at, r & 3);",
                              "if (atomic_load_explicit(&at, memory_order_%s)) { %s }" % (order, then),
                              "if (!atomic_load_explicit(&at, memory_order_%s)) { %s }" % (order, then),
                              "if (atomic_exchange(&gate, 1)) { %s }" % then, "if (atomic_load(&gate)) { %s }" % then,
                              "atomic_store_explicit(&at, 1, memory_order_%s);" % order,
                              "%s atomic_store_explicit(&gate, 1, memory_order_release);" % self.access(self.r.randrange(6)),
                              "if (atomic_load_explicit(&gate, memory_order_acquire)) { %s }" % self.access(self.r.randrange(6))])

    def after_join(self, t):
        """What the joined thread has written to memory of its own decides."""
        if self.r.random() < 0.6:
            return ""
        return "  if (mine[%d][%d]%s) { %s }" % (t, self.r.choice([0, 1, 3]), self.r.choice(["", " > 1"]), self.access(self.r.randrange(6)))

    def statement(self, depth):
        if self.budget <= 0:
            return ""
        self.budget -= 1
        kind = self.r.random()
        if kind < 0.08:
            return self.flow(depth)
        if kind < 0.42:
            return self.guarded(depth)
        if kind < 0.56 and depth:
            return "if (r %s %d) { %s } else { %s }" % (self.r.choice(["==", ">", "&", "!="]), self.r.randrange(3),
                                                       self.statement(depth - 1), self.statement(depth - 1))
        if kind < 0.62 and depth:
            return "for (int i%d = 0; i%d < (r & 1) + 1; i%d++) { %s }" % (depth, depth, depth, self.statement(depth - 1))
        if kind < 0.68:
            var = self.r.randrange(6)
            return "if (!pthread_mutex_trylock(&m[%d])) { %s pthread_mutex_unlock(&m[%d]); } else { %s }" % (
                self.lock_of(var), self.access(var), self.lock_of(var), self.statement(depth - 1) if depth else "r++;")
        if kind < 0.73:
            var = self.r.randrange(3)
            return "locked_add(&m[%s], &v[%d], r);" % (str(self.lock_of(var)) if self.r.random() < 0.8 else "r % 3 == 1", var)
        if kind < 0.77:
            return "pthread_rwlock_%slock(&w); %s pthread_rwlock_unlock(&w);" % (
                ("rd", "r += a[0];") if self.r.random() < 0.6 else ("wr", "a[0]++;"))
        if kind < 0.80:
            return "own[me].x += %s; r += own[me].x;" % self.r.choice(["r", "1", "2"])
        if kind < 0.83:
            return "pthread_mutex_lock(&m[0]); if (shared) shared->x += r; pthread_mutex_unlock(&m[0]);"
        if kind < 0.85:
            return "pthread_mutex_lock(&m[0]); if (!shared) shared = calloc(1, sizeof *shared); pthread_mutex_unlock(&m[0]);"
        if kind < 0.88:
            return "pthread_mutex_lock(&m[1]); op[r & 1](&v[1]); pthread_mutex_unlock(&m[1]);"
        if kind < 0.885:
            return self.flow(depth)
        if kind < 0.92:
            return self.atomic(depth)
        if kind < 0.93:
            return "r += rand() & 1;"
        if kind < 0.96:
            return "r ^= arg->x;"
        return self.access(self.r.randrange(6))  # without a lock

    def body(self, size, depth=2):
        self.budget = size
        out = []
        while self.budget > 0:
            out.append("  " + self.statement(depth))
        return "\n".join(out)

    def source(self):
        n, number = self.r.choice([2, 2, 2, 3]), self.number
        self.in_thread = True
        for t in range(n):
            self.text.append("static void *t%d_%d(void *p) {\n  struct box *arg = p;\n  int r = arg->y, me = %d;\n%s\n"
                             "  return (void *)(long)(r & me);\n}" % (number, t, t, self.body(self.r.randrange(1, 5 if n == 2 else 3))))
        self.in_thread = False
        main = ["  pthread_t h[4];", "  struct box b[4] = {{1, 0}, {0, 1}, {2, 1}, {0, 0}}, *arg = b;",
                "  int r = 0, me = 3;", "  void *res = 0;", "  (void)arg;"]
        order = []
        for t in range(n):
            if self.r.random() < 0.2:
                main.append("  b[%d].y = rand() & 1;" % t)
            main.append("  pthread_create(&h[%d], 0, t%d_%d, &b[%d]);" % (t, number, t, t))
            order.append(t)
            if self.r.random() < 0.25:
                main.append(self.body(1))
            if order and self.r.random() < 0.12:
                joined = order.pop(0)
                main.append("  pthread_join(h[%d], &res);\n  r += (int)(long)res;" % joined)
                main.append(self.after_join(joined))
        for t in order:
            main.append("  pthread_join(h[%d], %s);" % (t, "0" if self.r.random() < 0.7 else "&res"))
            if self.r.random() < 0.2:
                main.append("  r += (int)(long)res;")
            main.append(self.after_join(t))
            if self.r.random() < 0.15:
                main.append(self.body(1))
        if self.r.random() < 0.3:
            main.append("  if (v[%d] > 2) v[%d] = r;" % (self.r.randrange(6), self.r.randrange(6)))
        self.text.append("static int p%d(void) {\n%s\n  return r == 12345 || me == 77;\n}" % (number, "\n".join(main)))
        return "\n".join(self.text) + "\n"


def whole(programs):
    cases = "\n".join("    case %d: p%d(); break;" % (i, p.number) for i, p in enumerate(programs))
    return (HEADER + "".join(p.source() for p in programs) +
            "int main(int argc, char **argv) {\n  switch (argc > 1 ? atoi(argv[1]) : 0) {\n%s\n  }\n"
            "  (void)c, (void)flag, (void)mine;\n  return 0;\n}\n" % cases)


def races(j):
    return frozenset(compare.identity(f) for f in j["findings"] if f["kind"] == "data-race")


def search(args, folder, index, *more, limit=100000):
    command = [args.heddle, "check", "--all", "--quiet", "--no-explain", "--json", "-", "--max-executions", str(limit),
               "--out", "out", *more, "--", "./p", str(index)]
    shutil.rmtree(os.path.join(folder, "out"), ignore_errors=True)
    p = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=compare.timeout() * 4,
                       stdin=subprocess.DEVNULL)
    if p.returncode not in (0, 1, 5):
        raise RuntimeError("exit status %d: %s" % (p.returncode, p.stderr[-300:]))
    return json.loads(p.stdout)


def run_batch(job):
    args, first, count = job
    out = dict(programs=0, large=0, differ=[], dpor=0, pruned=0, races=0, fewer=0)
    folder = tempfile.mkdtemp(prefix="heddle-races-", dir=compare.scratch_root())
    programs = [Program(args.seed, i) for i in range(first, first + count)]
    try:
        with open(os.path.join(folder, "p.c"), "w") as f:
            f.write(whole(programs))
        level = ("-O0", "-O1", "-O2")[first // BATCH % 3]
        p = subprocess.run([args.heddle, "cc", "--facts", "-g", "-w", level, "p.c", "-o", "p"], cwd=folder, capture_output=True,
                           text=True)
        if p.returncode:
            raise RuntimeError(p.stderr[-2000:])
        for i in range(count):
            dfs = search(args, folder, i, "--strategy", "dfs", limit=LIMIT)
            plain = search(args, folder, i, "--strategy", "dpor", limit=LIMIT)
            if dfs["stopped"] != "finished":
                out["large"] += 1
                dfs = plain
            if dfs["stopped"] != "finished":
                continue
            out["programs"] += 1
            out["races"] += len(races(dfs)) > 0
            strategy = ("dpor", "optimal")[i % 2]
            more = ["-j", "2"] if i % 8 == 7 else []
            pruned = search(args, folder, i, "--strategy", strategy, "--property", "races", *more)
            out["dpor"] += plain["executions"]
            out["pruned"] += pruned["executions"]
            out["fewer"] += pruned["executions"] < plain["executions"]
            reasons = [r["reason"] for r in pruned["inexact"] if r["reason"] not in ("property", "sleeps", "timeouts")]
            known, found = races(dfs), races(pruned)
            if known - found or (not dfs["inexact"] and (found != known or reasons)):  # else the reference may have missed some
                out["differ"].append((first + i, sorted(known ^ found), reasons))
                os.makedirs(args.keep, exist_ok=True)
                with open(os.path.join(args.keep, "races_%s_%d.c" % (args.seed, first + i)), "w") as f:
                    f.write("/* level %s */\n" % level + whole([Program(args.seed, first + i)]))
    except Exception as problem:  # a harness that cannot run has failed
        out["differ"].append((first, ["%s: %s" % (type(problem).__name__, problem)], []))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return out


def run(args, stop=False):
    """Runs all programs, or until one differs."""
    began, sums = time.monotonic(), None
    jobs = iter([(args, at, min(BATCH, args.first + args.programs - at))
                 for at in range(args.first, args.first + args.programs, BATCH)])
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        running = set()
        while True:
            while len(running) < args.jobs and not (stop and sums and sums["differ"]) and not (args.time and time.monotonic() - began > args.time):
                job = next(jobs, None)
                if job is None:
                    break
                running.add(pool.submit(run_batch, job))
            if not running:
                return sums
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for f in done:
                part = f.result()
                for number, what, reasons in part["differ"]:
                    stop or print("FAILED program %d of seed %s: %s %s" % (number, args.seed, what, reasons), flush=True)
                sums = {k: sums[k] + part[k] for k in part} if sums else part


def parser():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--programs", type=int, default=200)
    p.add_argument("--seed", default="1")
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--time", type=float, default=0, help="start no batch after this many seconds")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--build", default=os.path.join(os.path.dirname(os.path.dirname(HERE)), "build"))
    p.add_argument("--keep")
    return p


def prepare(args):
    args.heddle = os.path.join(os.path.abspath(args.build), "heddle")
    args.keep = args.keep or os.path.join(os.path.abspath(args.build), "fuzz-failures")


def main():
    args = parser().parse_args()
    prepare(args)
    s = run(args)
    print("%d programs (%d of them too large for dfs, compared with dpor), %d with races; %d executions of dpor, %d with --property races, fewer in %d "
          "programs" % (s["programs"], s["large"], s["races"], s["dpor"], s["pruned"], s["fewer"]))
    print("%d passed, %d failed" % (s["programs"] - len(s["differ"]), len(s["differ"])))
    sys.exit(1 if s["differ"] or not s["programs"] else 0)


if __name__ == "__main__":
    main()

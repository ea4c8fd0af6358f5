#!/usr/bin/env python3
"""Heddle checks Heddle: the protocol by which workers share a search (share.c beside this file). Ends with 'N passed,
N failed'.

usage: tests/self/run.py [--build DIR] [--deep]

As it is, the protocol must have no failing schedule within the bound; with each of the MUTATIONS it must have one. --deep
allows one more preemption.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OPTIMAL = "-DSTRATEGY=hd_strategy_optimal"
KILLED = "-DDEATHS=1"
RESTARTED = [OPTIMAL, "-DRESTARTS=2", "-DOWN=1", "-DMEET"]

# name, flags of share.c, preemptions
CORRECT = [
    ("two workers", [], 2),
    ("three workers", ["-DWORKERS=3"], 1),
    ("a worker is killed", [KILLED], 1),
    ("a small tree, a worker is killed", [KILLED, "-DSTEPS=1"], 2),
    ("the search restarts", ["-DRESTARTS=0"], 2),
    ("the search restarts while a worker follows what another one gave", ["-DRESTARTS=2", "-DMEET"], 1),
    ("the same with wakeup trees", RESTARTED, 1),
    ("wakeup trees", [OPTIMAL], 2),
    ("wakeup trees, a worker is killed", [OPTIMAL, KILLED], 1),
]

# what goes wrong, file, text, replacement, flags of share.c
MUTATIONS = [
    ("the lock is taken without looking", "share.c",
     "__atomic_compare_exchange_n(&sh->lock, &free, s->worker + 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)",
     "!__atomic_load_n(&sh->lock, __ATOMIC_ACQUIRE) && (__atomic_store_n(&sh->lock, s->worker + 1, __ATOMIC_RELAXED), 1)", []),
    ("the lock orders nothing", "share.c", "&s->shared->lock, 0, __ATOMIC_RELEASE", "&s->shared->lock, 0, __ATOMIC_RELAXED", []),
    ("nobody finishes what a killed worker has committed", "share.c", "if (sh->redo[dead].n) make(&sh->redo[dead], 0);", "", [KILLED]),
    ("a commit that was made stays", "share.c", "  r->n = 0;\n", "", [KILLED]),
    ("the branch of the worker that gives is not counted", "walk_share.c", ".live = 1,", ".live = 0,", []),
    ("a branch that is taken stays listed", "walk_share.c", "  HD_REDO(s, j->list, b->next);\n", "", []),
    ("a unit that ends is not counted", "walk_share.c", "  HD_REDO(s, j->live, j->live - 1);\n", "", []),
    ("a junction is closed while a unit is under way", "walk_share.c", "j->live == 1 && (!j->list || j->foreign)", "(!j->list || j->foreign)", []),
    ("a worker goes on without having heard of the restart", "walk.c",
     "  if (s->status->epoch != s->shared->epoch) return HD_BEGIN_LATER;\n", "", ["-DRESTARTS=0", "-DSTEPS=1", "-DMEET"]),
    ("a worker follows branches in the memory of another one", "walk_share.c", "  if (from == u) return;\n", "  return;\n", RESTARTED),
    ("what is below a branch stays in the memory of another worker", "walk_share.c", "      move(s, u, link);\n", "", RESTARTED),
]


def sources(*folders):
    return [p for f in folders for p in sorted(glob.glob(os.path.join(ROOT, "src", f, "*.c")))]


class Builder:
    def __init__(self, heddle, folder):
        self.heddle, self.folder = heddle, folder
        self.object = {}
        for path in sources("explore", "model"):
            self.object[os.path.basename(path)] = self.compile(path, os.path.basename(path) + ".o")

    def run(self, *arguments):
        p = subprocess.run([self.heddle, "cc", "-g", "-O1", "-w", "-I" + os.path.join(ROOT, "src"),
                            "-I" + os.path.join(ROOT, "include"), "-DHD_SHARE_POINT=hd_test_share_point",
                            "-DHD_SHARE_SPINS=0", *arguments], cwd=self.folder, capture_output=True, text=True)
        if p.returncode:
            raise SystemExit("tests/self: %s does not compile: %s" % (" ".join(arguments), p.stderr[-2000:]))

    def compile(self, path, output, *flags):
        self.run(*flags, "-include", "stdint.h", "-c", path, "-o", output)
        return output

    def program(self, number, flags, file=None, text=None, replacement=None):
        """The program with these flags, and a file of the search changed. Returns its name."""
        objects = dict(self.object)
        if file:
            with open(os.path.join(ROOT, "src/explore", file)) as f:
                source = f.read()
            if text not in source:
                raise SystemExit("tests/self: %s has no %r any more" % (file, text))
            path = os.path.join(self.folder, "%d_%s" % (number, file))
            with open(path, "w") as f:
                f.write(source.replace(text, replacement, 1))
            objects[file] = self.compile(path, "%d_%s.o" % (number, file))
        main = self.compile(os.path.join(HERE, "share.c"), "%d_main.o" % number, *flags)
        name = "./program%d" % number
        self.run(main, *objects.values(), "-o", name, "-pthread")
        return name

    def check(self, program, preemptions):
        """(executions, findings, what it says) of a search within the bound."""
        p = subprocess.run([self.heddle, "check", "--strategy", "optimal", "--preemptions", str(preemptions), "--quiet", "--time", "60s",
                            "--no-explain", "--json", "-", "--out", program + ".out", "--", program], cwd=self.folder,
                           capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if p.returncode not in (0, 1, 5):
            return 0, [], "exit status %d: %s" % (p.returncode, p.stderr[-500:])
        data = json.loads(p.stdout)
        over = data["stopped"] == "finished"
        return data["executions"], [f["kind"] for f in data["findings"]], "" if over else "stopped: " + data["stopped"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--deep", action="store_true")
    args = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="heddle-self-") as folder:
        builder = Builder(os.path.abspath(os.path.join(args.build, "heddle")), folder)
        jobs = [("protocol: " + name, flags, n + args.deep, ()) for name, flags, n in CORRECT]
        jobs += [("mutation: " + name, flags, 2, change) for name, *change, flags in MUTATIONS]

        def judge(number):
            _, flags, preemptions, change = jobs[number]
            executions, kinds, problem = builder.check(builder.program(number, flags, *change), preemptions)
            if change:
                return "" if kinds else problem or "not found in %d executions" % executions
            return "%s in %d executions" % (", ".join(kinds), executions) if kinds else problem

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for (name, *_), problem in zip(jobs, pool.map(judge, range(len(jobs)))):
                passed += not problem
                failed += bool(problem)
                if problem:
                    print("FAILED %s: %s" % (name, problem), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

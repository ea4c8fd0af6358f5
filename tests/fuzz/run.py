#!/usr/bin/env python3
"""Random small threaded C programs: every complete strategy against plain depth-first search. Ends with 'N passed,
N failed'.

usage: tests/fuzz/run.py [--programs N] [--seed S] [--first I] [--features LIST] [--load N] [--keep DIR] [--build DIR]

A difference is shrunk and written to DIR (default: fuzz-failures in the build folder) as a C file that says how to
reproduce it. The programs in found/ showed a difference once and are run first. --features takes names from generate.py:
`lock,cond` means only these, `-heap` all but that one. The compiler and its level depend on the number of the
program, so `--first I --programs 1` runs one again. --load N keeps the machine busy meanwhile, with N processes for each
processor: no verdict may depend on how fast a process runs.
"""
import argparse
import concurrent.futures
import glob
import os
import shutil
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import compare  # noqa: E402
import generate  # noqa: E402
import load  # noqa: E402
import shrink  # noqa: E402

BATCH = 50


def choose_features(text):
    every = set(generate.FEATURES)
    words = [w for w in text.split(",") if w]
    unknown = [w for w in words if w.lstrip("-") not in every]
    if unknown:
        raise SystemExit("no feature %s; there are: %s" % (" ".join(unknown), " ".join(sorted(every))))
    only = {w for w in words if not w.startswith("-")}
    return sorted((only or every) - {w[1:] for w in words if w.startswith("-")})


class Tally:
    """What a number of programs came to."""

    def __init__(self):
        self.outcome = dict.fromkeys((compare.OK, compare.LARGE, compare.SAID, compare.HUGE, compare.WRONG), 0)
        self.executions = self.classes = self.states = self.findings = self.with_findings = 0
        self.messages = []
        self.numbers = []  # of programs that differ
        self.broken = None  # why the harness itself could not go on

    def add(self, v):
        self.outcome[v.outcome] += 1
        self.executions += v.executions
        self.classes += v.classes
        self.states += v.states
        self.findings += v.findings
        self.with_findings += v.findings > 0

    def merge(self, other):
        for key, n in other.outcome.items():
            self.outcome[key] += n
        for key in ("executions", "classes", "states", "findings", "with_findings"):
            setattr(self, key, getattr(self, key) + getattr(other, key))
        self.messages += other.messages
        self.numbers += other.numbers
        self.broken = self.broken or other.broken

    def text(self):
        return ("%d programs agree with dfs (%d executions, %d classes, %d states; %d findings in %d programs), %d too "
                "large for dfs agree with each other, %d are said to be inexact, %d passed over, %d differ"
                % (self.outcome[compare.OK], self.executions, self.classes, self.states, self.findings,
                   self.with_findings, self.outcome[compare.LARGE], self.outcome[compare.SAID],
                   self.outcome[compare.HUGE], self.outcome[compare.WRONG]))


def run_batch(job):
    """One batch, in a folder of its own."""
    args, first, count = job
    tally = Tally()
    folder = tempfile.mkdtemp(prefix="heddle-fuzz-", dir=compare.scratch_root())
    try:
        compiler, level = compare.COMPILERS[first // BATCH % len(compare.COMPILERS)]
        programs = [generate.Generator(args.seed, i, args.allowed).program() for i in range(first, first + count)]
        batch = compare.Batch(args.heddle, folder, programs, compiler, level)
        for i in range(count):
            limit = compare.limit_for(first + i, args.limit)
            v = compare.judge(batch, i, limit, replay=(first + i) % 8 == 0)
            tally.add(v)
            if v.difference:
                tally.messages.append(report(args, batch, i, first + i, v))
                tally.numbers.append(first + i)
                if args.one:
                    break
    except Exception:  # a harness that cannot run has failed
        tally.broken = "FAILED batch at %d: %s" % (first, traceback.format_exc())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return tally


def run_found(job):
    """One program that showed a difference once (found/*.c): its first line has its options."""
    args, path = job
    tally = Tally()
    folder = tempfile.mkdtemp(prefix="heddle-fuzz-", dir=compare.scratch_root())
    try:
        with open(path) as f:
            text = f.read()
        options = text.split("\n", 1)[0].removeprefix("/* options:").split()
        program = generate.Program(os.path.basename(path), (), [], [], options, ("--preemptions", "1"), "TWIN(" in text)
        for compiler, level in (("clang", "-O0"), ("gcc", "-O2")):
            batch = compare.Batch(args.heddle, os.path.join(folder, compiler), [program], compiler, level, text)
            v = compare.judge(batch, 0, 100000, replay=True)
            tally.add(v)
            if v.difference:
                tally.messages.append("FAILED %s (%s %s): %s (%s)" % (path, compiler, level, v.difference.complaint,
                                                                      " | ".join(v.difference.detail)))
    except Exception:
        tally.broken = "FAILED %s: %s" % (path, traceback.format_exc())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return tally


def report(args, batch, index, number, v):
    """Shrinks and writes a program that differs; returns the message."""
    limit = compare.limit_for(number, args.limit)
    again = "tests/fuzz/run.py --seed %s --first %d --programs 1%s" % (
        args.seed, number, " --features=" + args.features if args.features else "")
    path = os.path.join(args.keep, "fuzz_%s_%d.c" % (args.seed, number))
    if not args.no_shrink:
        small, verdict = shrink.shrink(args.heddle, batch.folder, batch.programs[index], batch.compiler, batch.level,
                                       v.difference.complaint, limit, compare.judge)
        if verdict:
            batch = compare.Batch(args.heddle, os.path.join(batch.folder, "small"), [small], batch.compiler, batch.level)
            index, v = 0, compare.judge(batch, 0, limit)
            if not v.difference:  # it depends on its neighbours in the file
                v = verdict
    os.makedirs(args.keep, exist_ok=True)
    shrink.write(path, batch, index, v.difference, limit, again)
    return "FAILED program %d of seed %s: %s (%s); see %s; again with: %s" % (
        number, args.seed, v.difference.complaint, " | ".join(v.difference.detail), path, again)


def run(args, show=True):
    """Runs all programs. Returns the Tally."""
    tally, began = Tally(), time.monotonic()
    jobs = [(run_found, (args, path)) for path in sorted(glob.glob(os.path.join(HERE, "found", "*.c")))
            if args.found]
    jobs += [(run_batch, (args, at, min(BATCH - at % BATCH, args.first + args.programs - at)))
             for at in [args.first] + list(range((args.first // BATCH + 1) * BATCH, args.first + args.programs, BATCH))]
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        running, queue = set(), iter(jobs)
        while True:
            while len(running) < args.jobs * 2:
                late = args.time and time.monotonic() - began > args.time
                found = tally.broken or (args.one and tally.outcome[compare.WRONG])
                job = None if late or found else next(queue, None)
                if job is None:
                    break
                running.add(pool.submit(*job))
            if not running:
                return tally
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                part = future.result()
                tally.merge(part)
                for m in part.messages if show else ():
                    print(m, flush=True)
            if args.progress:
                print("%.0f s: %s" % (time.monotonic() - began, tally.text()), flush=True)


def parser():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--programs", type=int, default=400)
    p.add_argument("--seed", default="1")
    p.add_argument("--first", type=int, default=0, help="number of the first program")
    p.add_argument("--features", default="", help="names, or -names, with commas")
    p.add_argument("--limit", type=int, default=10000, help="executions of dfs, else the program is too large; a quarter for most (compare.limit_for)")
    p.add_argument("--time", type=float, default=0, help="start no program after this many seconds")
    p.add_argument("--build", default=os.path.join(os.path.dirname(os.path.dirname(HERE)), "build"))
    p.add_argument("--keep", help="folder for programs that differ")
    p.add_argument("--no-shrink", action="store_true")
    p.add_argument("--one", action="store_true", help="stop at the first difference")
    p.add_argument("--progress", action="store_true")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--only", default="", choices=("", "symmetry", "states", "predict"), help="compare nothing but this")
    p.add_argument("--load", type=float, default=0, help="busy processes beside it, for each processor")
    return p


def prepare(args):
    args.allowed = choose_features(args.features)
    compare.only = args.only
    build = os.path.abspath(args.build)
    args.heddle = os.path.join(build, "heddle")
    args.found = args.first == 0 and not args.features
    args.keep = os.path.abspath(args.keep or os.path.join(build, "fuzz-failures"))
    if not os.access(args.heddle, os.X_OK):
        raise SystemExit("%s is not there; run make build first" % args.heddle)
    return args


def main():
    args = prepare(parser().parse_args())
    with load.Load(args.load):
        tally = run(args)
    print(tally.broken or tally.text())
    failed = tally.outcome[compare.WRONG] + (tally.broken is not None)
    passed = tally.outcome[compare.OK] + tally.outcome[compare.LARGE]
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

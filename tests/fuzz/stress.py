#!/usr/bin/env python3
"""Ordinary correct programs, again and again, by several workers on a loaded machine: never a finding, never an error.
Ends with 'N passed, N failed'.

usage: tests/fuzz/stress.py [--runs N] [--workers N] [--load N] [--seconds S] [--build DIR]

The programs are litmus tests (tests/litmus) that expect `clean`. A hang that is reported because the machine was slow,
or a worker that is lost, shows up here and nowhere else.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "lib")]
import compare  # noqa: E402
import litmus  # noqa: E402
import load  # noqa: E402

GROUPS = ("threads", "locks", "waits", "heap", "descriptors", "signals", "programs")
PER_GROUP = 4
TIMEOUT = 600


def candidates():
    """(path, arguments of the program, options of check) of correct programs that need nothing special."""
    for group in GROUPS:
        found = 0
        for path in sorted(glob.glob(os.path.join(os.path.dirname(HERE), "litmus", group, "*.c"))):
            for case in litmus.parse(path):
                plain = not set(case) - {"expect", "argv", "args", "restart", "opt", "compilers"}
                if found < PER_GROUP and plain and case["expect"].split()[0] == "clean" and "gcc" in case.get("compilers", "gcc"):
                    yield path, case.get("argv", "").split(), " ".join(case.get("args", [])).split()
                    found += 1
                    break


def build_all(heddle, folder):
    built = []
    for n, (path, argv, options) in enumerate(candidates()):
        out = os.path.join(folder, "p%d" % n)
        subprocess.run([heddle, "cc", "-g", "-O1", "-I" + os.path.dirname(os.path.dirname(path)), path, "-o", out, "-pthread"],
                       check=True, cwd=folder, env=dict(os.environ, HEDDLE_CC="gcc"))
        built.append((os.path.basename(path), out, argv, options))
    return built


def run_one(heddle, folder, number, program, workers):
    """None, or what is wrong."""
    name, path, argv, options = program
    out = os.path.join(folder, "run%d" % number)
    command = [heddle, "check", "--quiet", "--json", "-", "--out", out, "--jobs", str(workers), "--max-executions", "300",
               "--seed", str(number + 1), *options, "--", path, *argv]
    os.makedirs(out + ".d")
    try:
        p = subprocess.run(command, cwd=out + ".d", capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL)
        result = json.loads(p.stdout) if p.returncode in (0, 1, 5) else {}
        problem = None
        if p.returncode not in (0, 5) or result.get("findings") or result.get("error"):
            kinds = [f["title"] for f in result.get("findings", [])]
            problem = "exit status %d, findings %s, %s" % (p.returncode, kinds, p.stderr.strip()[-300:])
        elif any(r["reason"] == "not-again" for r in result.get("inexact", [])):
            problem = "something was found that did not come out again"
    except subprocess.TimeoutExpired:
        problem = "still running after %d s" % TIMEOUT
    except ValueError:
        problem = "no JSON: %s" % p.stdout[:200]
    shutil.rmtree(out + ".d", ignore_errors=True)
    shutil.rmtree(out, ignore_errors=True)
    return problem and "FAILED %s, run %d: %s" % (name, number, problem)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3600)
    parser.add_argument("--workers", type=int, default=4, help="of each search")
    parser.add_argument("--load", type=float, default=4, help="busy processes beside it, for each processor")
    parser.add_argument("--seconds", type=float, default=0, help="begin no run after so many")
    parser.add_argument("--build", default=os.path.join(os.path.dirname(os.path.dirname(HERE)), "build"))
    args = parser.parse_args()
    heddle = os.path.join(os.path.abspath(args.build), "heddle")
    folder = tempfile.mkdtemp(prefix="heddle-stress-", dir=compare.scratch_root())
    passed = failed = 0
    began = time.monotonic()
    try:
        programs = build_all(heddle, folder)
        with load.Load(args.load), concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            def one(n):
                if args.seconds and time.monotonic() - began > args.seconds:
                    return "skipped"
                return run_one(heddle, folder, n, programs[n % len(programs)], args.workers)
            for problem in pool.map(one, range(args.runs)):
                if problem == "skipped":
                    continue
                passed += problem is None
                failed += problem is not None
                if problem:
                    print(problem, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("%d programs, %d passed, %d failed in %.0f s" % (len(programs), passed, failed, time.monotonic() - began))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

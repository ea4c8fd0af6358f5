#!/usr/bin/env python3
"""Tests of the whole tool on small programs. Ends with 'N passed, N failed'.

usage: tests/run.py [--build DIR] [--keep] [--list] [--jobs N] [--durations N] [FILTER...]

A test runs when every FILTER, a piece of its name, is in its name. Litmus programs (litmus/GROUP/*.c, *.cc) carry
their expectations in their first lines, see lib/litmus.py. Other tests are the functions test_* of
wrap/, cli/, determinism/, predict/, bench/ and docs/test_*.py; each gets a Scratch (lib/scratch.py). Every test
works in a folder of its own, which --keep does not remove. --durations prints the N slowest tests, and what each group
of tests takes: with --jobs 1 by processor time, which other work on the machine does not change, else by elapsed time.
"""
import argparse
import concurrent.futures
import glob
import importlib.util
import os
import re
import resource
import shlex
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = ("wrap", "cli", "determinism", "predict", "bench", "docs")
for folder in ("lib",) + FOLDERS:
    sys.path.insert(0, os.path.join(HERE, folder))
import litmus  # noqa: E402
import scratch  # noqa: E402


def load(folder, name, path):
    """By path: files of two folders may have the same name."""
    spec = importlib.util.spec_from_file_location("%s_%s" % (folder, name), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python_tests():
    """(name, function) of every test_* function; a list of parameters on it makes one test of each."""
    for folder in FOLDERS:
        for path in sorted(glob.glob(os.path.join(HERE, folder, "test_*.py"))):
            name = os.path.splitext(os.path.basename(path))[0]
            module = load(folder, name, path)
            for key, function in sorted(vars(module).items()):
                if not key.startswith("test_") or not callable(function):
                    continue
                label = "%s/%s:%s" % (folder, name[5:], key[5:])
                if not hasattr(function, "parameters"):
                    yield label, function
                    continue
                for parameter in function.parameters:
                    text = parameter if isinstance(parameter, str) else parameter[0]
                    yield "%s[%s]" % (label, text), (lambda s, f=function, p=parameter: f(s, p))


def processor_time():
    """Of this process and of those that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def show_durations(times, count):
    groups = {}
    for seconds, name in times:
        group = groups.setdefault("/".join(re.split(r"[/:]", name)[:2]), [0, 0])
        group[0] += seconds
        group[1] += 1
    for name, (seconds, n) in sorted(groups.items(), key=lambda g: -g[1][0]):
        print("%7.2f s  %s (%d tests)" % (seconds, name, n))
    for seconds, name in sorted(times, reverse=True)[:count]:
        print("%7.2f s  %s" % (seconds, name))


def run_one(job, build, keep, clock):
    """(name, None or what is wrong, seconds)"""
    name, function = job
    began = clock()
    problem = None
    with scratch.Scratch(build, keep) as s:
        try:
            function(s)
        except scratch.Failed as failure:
            problem = str(failure)
        except Exception:  # a broken test is a failed test
            problem = traceback.format_exc()
        if problem is not None and keep:
            problem += " (kept: %s)" % s.dir
    return name, problem, clock() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(os.path.dirname(HERE), "build"))
    parser.add_argument("--keep", action="store_true", help="keep the folders of failed tests")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--jobs", type=int, default=2, help="tests to run at the same time")
    parser.add_argument("--durations", type=int, metavar="N", help="print the N slowest tests")
    parser.add_argument("filter", nargs="*")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    jobs = list(litmus.tests(os.path.join(HERE, "litmus"))) + list(python_tests())
    jobs = [job for job in jobs if all(f in job[0] for f in args.filter)]
    if args.list:
        print("\n".join(name for name, _ in jobs))
        return 0
    if not os.access(os.path.join(build, "heddle"), os.X_OK):
        print("%s/heddle is not there; run make build first" % build)
        return 1

    passed = failed = 0
    times = []
    clock = processor_time if args.jobs == 1 else time.monotonic
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run_one, j, build, args.keep, clock) for j in jobs]):
            name, problem, seconds = done.result()
            times.append((seconds, name))
            if problem is None:
                passed += 1
                continue
            failed += 1
            print("FAILED %s: %s; again with: tests/run.py --keep --build %s %s"
                  % (name, " | ".join(filter(None, map(str.strip, problem.splitlines()))), shlex.quote(build),
                     shlex.quote(name)), flush=True)
    if args.durations is not None:
        show_durations(times, args.durations)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs every test of the repository and ends with the line 'N passed, N failed'.

Each step is a command. A runner (tests/run.py and its kin) prints its own 'N passed, N failed' as its
last such line; a cmocka program is counted by its report; a plain check counts as one. A runner that fails
without saying how many failed counts as one failure, so nothing can fail silently.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed", re.M)
CMOCKA_PASSED = re.compile(r"^\[  PASSED  \] (\d+) test", re.M)
CMOCKA_FAILED = re.compile(r"^\[  FAILED  \] [^:]*: (\d+) test", re.M)


def run(command):
    """Runs a command, shows its output as it comes, returns (exit status, output)."""
    env = dict(os.environ, PYTHONUNBUFFERED="1")
    child = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace")
    output = []
    for line in child.stdout:
        output.append(line)
        if not SUMMARY.match(line):
            sys.stdout.write(line)
            sys.stdout.flush()
    return child.wait(), "".join(output)


def count(status, output, kind):
    """Number of tests passed and failed in one step."""
    passed = failed = 0
    if kind == "runner":
        found = SUMMARY.findall(output)
        if found:
            passed, failed = int(found[-1][0]), int(found[-1][1])
    elif kind == "cmocka":
        passed = sum(map(int, CMOCKA_PASSED.findall(output)))
        failed = sum(map(int, CMOCKA_FAILED.findall(output)))
    elif status == 0:
        passed = 1
    if failed == 0 and (status != 0 or passed == 0):
        failed = 1
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder (default: build)")
    args = parser.parse_args()
    build = os.path.join(ROOT, args.build)

    steps = [("layers", ["sh", "scripts/check-layers.sh"], "check"),
             ("format", ["sh", "scripts/format.sh", "--check"], "check"),
             ("supported", [sys.executable, "scripts/supported.py", "--check", "--library",
                            os.path.join(build, "lib/heddle/libheddle_rt.so")], "check")]
    for source in sorted(glob.glob(os.path.join(ROOT, "tests/unit/test_*.c"))):
        name = os.path.splitext(os.path.basename(source))[0]
        steps.append(("unit " + name, [os.path.join(build, "tests/unit", name)], "cmocka"))
    for runner in ("tests/frame/run.py", "tests/self/run.py", "tests/cc/run.py", "tests/run.py"):
        steps.append((runner, [sys.executable, runner, "--build", build], "runner"))
    for runner, option in (("tests/fuzz/run.py", "--programs=90"), ("tests/fuzz/mutations.py", "--few"),
                           ("tests/fuzz/interference.py", "--programs=10"), ("tests/fuzz/concolic.py", "--programs=6"),
                           ("tests/fuzz/sequential.py", "--programs=8")):
        steps.append((runner, [sys.executable, runner, option, "--build", build], "runner"))

    total_passed = total_failed = 0
    failures = []
    for name, command, kind in steps:
        began = time.monotonic()
        print("== " + name, flush=True)
        try:
            status, output = run(command)
        except OSError as error:
            print(error)
            status, output = 127, ""
        passed, failed = count(status, output, kind)
        total_passed += passed
        total_failed += failed
        print("   %d passed, %d failed (%.1f s)" % (passed, failed, time.monotonic() - began), flush=True)
        if failed:
            failures.append("%s: again with: %s" % (name, " ".join(command)))
    for line in failures:
        print("FAILED " + line)
    print("%d passed, %d failed" % (total_passed, total_failed))
    return 1 if total_failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Tests of `heddle cc` and `heddle c++`, each with gcc and with clang. Ends with 'N passed, N failed'.

usage: tests/cc/run.py [--build DIR] [-k TEXT]     TEXT: only tests whose name contains it

A test is a function in one of the test_*.py files beside this one; it gets a Driver (harness.py) and a
fresh folder to work in.
"""
import argparse
import concurrent.futures
import os
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import test_build_systems  # noqa: E402
import test_choice  # noqa: E402
import test_compile  # noqa: E402
import test_inline  # noqa: E402
import test_link  # noqa: E402
import test_plugin  # noqa: E402
import test_refuse  # noqa: E402
import test_shapes  # noqa: E402

MODULES = (test_compile, test_link, test_refuse, test_choice, test_plugin, test_build_systems, test_shapes, test_inline)


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(root, "build"))
    parser.add_argument("-k", default="", metavar="TEXT", help="only tests whose name contains TEXT")
    args = parser.parse_args()
    build = os.path.abspath(args.build)

    jobs = []
    for module in MODULES:
        for name, function in sorted(vars(module).items()):
            if not name.startswith("test_"):
                continue
            for compiler in getattr(function, "compilers", ("gcc", "clang")):
                label = "%s:%s[%s]" % (module.__name__[5:], name[5:], compiler)
                if args.k in label:
                    jobs.append((label, function, compiler))

    def one(job):
        label, function, compiler = job
        try:
            with harness.Driver(build, compiler) as driver:
                function(driver)
            return label, None
        except harness.Failed as failure:
            return label, str(failure)
        except Exception:  # a broken test is a failed test
            return label, traceback.format_exc()

    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for label, problem in pool.map(one, jobs):
            if problem is None:
                passed += 1
                continue
            failed += 1
            print("FAILED %s\n  %s\n  again with: tests/cc/run.py --build %s -k '%s'"
                  % (label, problem.strip().replace("\n", "\n  "), build, label))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Every shape of an access is seen: shapes/ has programs in which each shape races with another thread.

As a part of the tests of `heddle cc` (run.py), -O0 and -O2 are tried. The whole matrix:

usage: tests/cc/test_shapes.py [--build DIR] [-k TEXT]      TEXT: only builds whose name contains it
"""
import argparse
import json
import os
import sys

import harness

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shapes")
LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os", "-Og")
BATCH = 5  # shapes of one search: each finding is confirmed by running all of them again

# Ways to compile beside the levels: name, options.
VARIANTS = (
    ("fortify-2", ["-O2", "-D_FORTIFY_SOURCE=2"]),
    ("fortify-3", ["-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3"]),
    ("no-builtin", ["-O2", "-fno-builtin"]),
    ("lto", ["-O2", "-flto"]),
    ("cx16", ["-O2", "-mcx16"]),
    ("avx2", ["-O3", "-mavx2", "-mfma"]),
    ("avx512", ["-O3", "-mavx512f", "-mavx512vl", "-mavx512bw", "-mprefer-vector-width=512"]),
    ("pic", ["-O2", "-fPIC", "-fvisibility=hidden"]),
)

# Shapes that access more than their bytes: neighbouring bit-fields are one memory location; gcc counts the padding of
# a long double; clang stores a whole vector at -O0.
WIDER = ("wide_bits_to", "long_double", "complex_long", "v4_element")


def has_cpu(options):
    with open("/proc/cpuinfo") as f:
        flags = f.read().split()
    return all(o[2:] in flags for o in options if o.startswith(("-mavx", "-mfma")))


def compile_shapes(d, source, options):
    verb = d.cxx if source.endswith(".cc") else d.cc
    verb("-g", "-w", *options, os.path.join(SOURCES, source), "-o", "shapes", "-pthread", "-latomic", "-lm")


def search(d, mode, names):
    """The findings of one execution of these shapes."""
    d.run([d.heddle, "check", "--strategy", "random", "--max-executions", "1", "--all", "--quiet", "--no-explain",
           "--out", d.path("out"), "--json", d.path("result.json"), "--", d.path("shapes"), mode, *names], want=None)
    with open(d.path("result.json")) as f:
        return json.load(f)["findings"]


def missed(d, mode, names):
    """The shapes whose race was not found."""
    left = []
    for i in range(0, len(names), BATCH):
        batch = names[i:i + BATCH]
        seen = set()
        for finding in search(d, mode, batch):
            if finding["kind"] == "data-race":
                for where in finding["where"]:
                    seen.update(f.get("function") or "" for f in where.get("stack", [where]))
        left += [n for n in batch if not any(s.split("(")[0] == mode + "_" + n for s in seen)]
    return left


def try_shapes(d, source, options):
    compile_shapes(d, source, options)
    names = d.output("shapes").split()
    problems = []
    for mode in ("first", "last"):
        left = missed(d, mode, names)
        if left:
            problems.append("%s byte not seen: %s" % (mode, " ".join(left)))
    for mode in ("outside", "locked"):
        for finding in search(d, mode, [n for n in names if mode == "locked" or not any(w in n for w in WIDER)]):
            problems.append("%s: %s in %s" % (mode, finding["title"], [w.get("function") for w in finding["where"]]))
    return problems


def check_shapes(d, source, options):
    problems = try_shapes(d, source, options)
    if problems:
        raise harness.Failed("%s %s %s\n%s" % (d.compiler, source, " ".join(options), "\n".join(problems)))


def test_shapes_c_unoptimised(d):
    check_shapes(d, "shapes.c", ["-O0"])


def test_shapes_c_optimised(d):
    check_shapes(d, "shapes.c", ["-O2"])


def test_shapes_cxx_unoptimised(d):
    check_shapes(d, "shapes.cc", ["-O0"])


def test_shapes_cxx_optimised(d):
    check_shapes(d, "shapes.cc", ["-O2"])


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(root, "build"))
    parser.add_argument("-k", default="", metavar="TEXT")
    args = parser.parse_args()
    failed = 0
    for compiler in ("gcc", "clang"):
        for source in ("shapes.c", "shapes.cc"):
            for name, options in [(level, [level]) for level in LEVELS] + list(VARIANTS):
                label = "%s %s %s" % (compiler, source, name)
                if args.k not in label:
                    continue
                with harness.Driver(os.path.abspath(args.build), compiler) as d:
                    if not has_cpu(options):
                        print(label + ": skipped, the processor has no such instructions")
                        continue
                    problems = try_shapes(d, source, options)
                    failed += bool(problems)
                    print(label + ": " + ("; ".join(problems) or "ok"), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""`--property races` against a search of everything: executions of both, on programs after those of Yang (2009), table 5.1.

    bench/property.py --build DIR [--markdown]

Both searches run with --all until they are complete: every data race is found. The executions are those that were begun,
redundant ones included. The programs are in bench/property and bench/search. The thesis names neither the sources nor the
sizes, so its figures are those of other programs of the same kind."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from search_tables import table  # noqa: E402

# Program, sizes, name in the thesis, traces there: dpor, with pruning.
ROWS = [("property/fdrd", "1", "fdrd2", 89, 14), ("property/fdrd", "2", "fdrd4", 233, 68), ("property/qsort", "16 1", "qsort, 2 threads", 4, 1),
        ("property/qsort", "16 2", None, None, None),
        ("search/pfscan", "2 2", "pfscan", 2519, 182), ("search/aget", "3 3", "aget, 3 threads", 3432, 1),
        ("property/bzip2smp", "3 3", "bzip2smp, 4 threads", 1465, 45), ("property/bzip2smp", "4 3", "bzip2smp, 5 threads", 2316, 45),
        ("property/bzip2smp", "5 3", "bzip2smp, 6 threads", 3167, 45)]


def search(heddle, folder, program, sizes, *options):
    run = subprocess.run([heddle, "check", "--quiet", "--no-explain", "--json", "-", "--out", os.path.join(folder, "found"),
                          *options, "--", program, *sizes.split()], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                         check=False)
    if run.returncode not in (0, 1):
        raise SystemExit("exit status %d: %s %s: %s" % (run.returncode, program, sizes, run.stderr))
    j = json.loads(run.stdout)
    return j["executions"] + j["blocked"], sum(f["kind"] == "data-race" for f in j["findings"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--markdown", action="store_true")
    o = p.parse_args()
    heddle, rows = os.path.join(os.path.abspath(o.build), "heddle"), []
    with tempfile.TemporaryDirectory() as folder:
        for name, sizes, thesis, theirs, pruned in ROWS:
            program = os.path.join(folder, os.path.basename(name))
            if not os.path.exists(program):
                subprocess.run([heddle, "cc", "--facts", "-g", "-O1", os.path.join(HERE, name + ".c"), "-o", program], check=True)
            plain, races = search(heddle, folder, program, sizes, "--strategy", "dpor", "--all")
            ours, found = search(heddle, folder, program, sizes, "--property", "races", "--all")
            first, _ = search(heddle, folder, program, sizes, "--property", "races")
            if races != found:
                raise SystemExit("%s %s: %d data races, %d with --property races" % (name, sizes, races, found))
            rows.append(["%s(%s)" % (os.path.basename(name), sizes.replace(" ", ",")), str(races), str(plain), str(ours),
                         str(first) if races else "-", *[str(x or "-") for x in (thesis, theirs, pruned)]])
            print(" ".join(rows[-1]), file=sys.stderr)
    print(table(["program", "races", "dpor", "--property races", "until the first race", "in the thesis", "dpor there",
                 "pruned there"], rows, o.markdown))


if __name__ == "__main__":
    main()

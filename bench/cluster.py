#!/usr/bin/env python3
"""One search on 1 to 4 ranks against one process: every program of bench/search, in every complete strategy.

    bench/cluster.py --build DIR                  everything (a quarter of an hour)
    bench/cluster.py --build DIR lock bbuf        some programs
    bench/cluster.py --build DIR --mode dpor      some modes (--list lists them)
    bench/cluster.py --build DIR --seconds 5      larger sizes: what one process ends within 5 seconds (default: 0.5)
    bench/cluster.py --build DIR --until 280      stops after 280 seconds, and says where to continue (--from NAME)

Of the sizes that a program names (its lines `count:`, `states:` and so on, see bench/search.py) the largest is taken
whose search one process completes in time. Executions, verdict and kinds of findings must be those of one process. With
--states, and under a bound but for `dfs`, each rank has a table of its own: then the verdict, the findings and the number of distinct states must be (of
`dfs`, whose states do not depend on the order), and the states that a rank repeats are shown. Prints a row for each, and
'N passed, N failed' at the end.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "tests", "lib")]
import ranks as clusters  # noqa: E402
from search import SOURCES, expectations_of  # noqa: E402

MODES = {
    "optimal": ["--strategy", "optimal"],
    "dpor": ["--strategy", "dpor"],
    "dfs": ["--strategy", "dfs"],
    "rdfs": ["--strategy", "rdfs"],
    "optimal-symmetry": ["--strategy", "optimal", "--symmetry"],
    "dfs-symmetry": ["--strategy", "dfs", "--symmetry"],
    "optimal-states": ["--strategy", "optimal", "--states"],
    "dfs-states": ["--strategy", "dfs", "--states"],
    "states-symmetry": ["--strategy", "optimal", "--states", "--symmetry"],
    "preemptions": ["--strategy", "optimal", "--preemptions", "1"],
    "delays": ["--strategy", "optimal", "--delays", "2"],
    "dfs-preemptions": ["--strategy", "dfs", "--preemptions", "1"],
}
TABLES = ("preemptions", "delays")  # executions are given up at states that their rank has visited
RANKS = (1, 2, 3, 4)


class Runner:
    def __init__(self, build, folder):
        self.heddle, self.folder = os.path.join(build, "heddle"), folder

    def compile(self, name):
        path = os.path.join(self.folder, name)
        subprocess.run([self.heddle, "cc", "-O1", "-w", os.path.join(SOURCES, name + ".c"), "-o", path, "-pthread"],
                       check=True)
        return path

    def run(self, command, words, program, seconds):
        """The summary; None when it takes longer."""
        result = os.path.join(self.folder, "result.json")
        if os.path.exists(result):
            os.unlink(result)
        limit = ["--time", "%gs" % seconds, "--all", "--json", result, "--quiet", "--no-explain"]
        said = subprocess.run([*command, *words, *limit, "--", *program], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120 + seconds,
                              env=dict(os.environ, HEDDLE_TEST_SHARE_AFTER="0"))
        if said.returncode not in (0, 1, 5) or not os.path.exists(result):
            raise RuntimeError("status %d: %s" % (said.returncode, said.stdout.decode(errors="replace")[-400:]))
        with open(result) as f:
            summary = json.load(f)
        return None if summary["stopped"] == "time" else summary

    def alone(self, words, program, seconds):
        return self.run([self.heddle, "check"], words, program, seconds)

    def cluster(self, ranks, words, program):
        return self.run([*clusters.MPIRUN, str(ranks), self.heddle, "cluster", "check"], words, program, 100)


def kinds(summary):
    return sorted(f["kind"] for f in summary["findings"])


def compare(mode, one, many):
    """What differs, or ''."""
    wrong = []
    for key in ("complete", "verdict", "stopped"):
        if one[key] != many[key]:
            wrong.append("%s %s" % (key, many[key]))
    if set(kinds(one)) != set(kinds(many)):
        wrong.append("findings %s" % ",".join(kinds(many)))
    if mode in TABLES:
        pass
    elif "states" not in mode:
        if one["executions"] != many["executions"]:
            wrong.append("%d executions" % many["executions"])
    elif mode == "dfs-states":
        distinct = many["visited"]["states"] - many["cluster"]["repeated_states"]
        if distinct != one["visited"]["states"]:
            wrong.append("%d distinct states, not %d" % (distinct, one["visited"]["states"]))
    return "; ".join(wrong)


def cell(mode, many):
    if "states" not in mode:
        redundant = many["blocked"]
        return "%d%s" % (many["executions"], " (%d given up)" % redundant if redundant else "")
    return "%d, %d states, %d repeated" % (many["executions"], many["visited"]["states"],
                                           many["cluster"]["repeated_states"])


def largest(runner, words, path, sizes, seconds):
    """The sizes to compare with, and the summary of one process."""
    best = None
    for size in sizes:
        one = runner.alone(words, [path, *size], seconds)
        if one and (not best or one["events"] > best[1]["events"]):
            best = (size, one)
    return best


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default="build")
    ap.add_argument("--mode", action="append", choices=sorted(MODES))
    ap.add_argument("--seconds", type=float, default=0.5)
    ap.add_argument("--until", type=float, default=1e9)
    ap.add_argument("--from", dest="first", default="")
    ap.add_argument("--list", action="store_true")
    ap.add_argument("names", nargs="*")
    args = ap.parse_args()
    if args.list:
        print("\n".join("%-18s %s" % (name, " ".join(words)) for name, words in MODES.items()))
        return 0
    build = os.path.abspath(args.build)
    if clusters.missing(build):
        print("cluster: skipped, %s" % clusters.missing(build))
        return 0
    began, passed, failed = time.time(), 0, 0
    with tempfile.TemporaryDirectory(prefix="heddle-cluster-") as folder:
        runner = Runner(build, folder)
        print("| program | mode | one process | %s |" % " | ".join("%d rank%s" % (n, "s"[:n > 1]) for n in RANKS))
        print("|---|---|---|%s" % ("---|" * len(RANKS)))
        for source in sorted(glob.glob(os.path.join(SOURCES, "*.c"))):
            name = os.path.basename(source)[:-2]
            if name < args.first or (args.names and name not in args.names):
                continue
            if time.time() - began > args.until:
                print("continue with --from %s" % name)
                break
            path = runner.compile(name)
            sizes = sorted({tuple(e.args) for e in expectations_of(source)})
            for mode in args.mode or MODES:
                best = largest(runner, MODES[mode], path, sizes, args.seconds)
                if not best:
                    continue
                size, one = best
                cells = []
                for n in RANKS:
                    try:
                        many = runner.cluster(n, MODES[mode], [path, *size])
                        wrong = compare(mode, one, many) if many else "does not end"
                    except RuntimeError as e:
                        many, wrong = None, str(e)
                    passed, failed = passed + (not wrong), failed + bool(wrong)
                    cells.append("WRONG: " + wrong if wrong else cell(mode, many))
                alone = "%d" % one["executions"]
                if "states" in mode:
                    alone += ", %d states" % one["visited"]["states"]
                print("| %s | %s | %s | %s |" % (" ".join([name, *size]), mode, alone, " | ".join(cells)), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Guided search (`heddle aim`), measured on the models of Rungta (2009): how often it finds the error, and how soon.

    bench/aim.py --build DIR                    every model, with distances
    bench/aim.py --build DIR --seeds 100        as many searches of each as the thesis has
    bench/aim.py --build DIR --ablations        the other heuristics and searches, too: a table of density and mean transitions
    bench/aim.py --build DIR reorder twostage   some models
    bench/aim.py --markdown                     prints the table as Markdown

The models are those of bench/search, built with `heddle cc --facts`. A row is one model and one way to search: the share of
the seeds with which the error was found (error density), the transitions that these searches executed (least, mean, most),
executions (mean), and the mean of the thesis, in states (tables 2.2 and 3.2). A search may run for --limit
executions."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from search_tables import table  # noqa: E402

# Model, its sizes, the lines of its error, mean states of the thesis.
MODELS = [("reorder", "10 1", "assert(", 271), ("reorder", "9 1", "assert(", None), ("reorder", "5 1", "assert(", 109),
          ("twostage", "7 1", "assert(", 213), ("twostage", "8 1", "assert(", 250), ("twostage", "10 1", "assert(", 333),
          ("airline", "20 1", "assert(", 3609), ("airline", "20 2", "assert(", 3279), ("airline", "15 3", "assert(", 1210),
          ("wronglock", "1 10", "assert(", 3526), ("wronglock", "1 20", "assert(", 21391),
          ("abslist", "1 7", "assert(", None), ("abslist", "1 8", "assert(", None), ("abslist", "1 10", "assert(", 1382),
          ("deadlock", "1 9", "mutex_lock(&vector), mutex_lock(&table)#2", None),
          ("deadlock", "1 10", "mutex_lock(&vector), mutex_lock(&table)#2", None),
          ("accountsubtype", "8 1", "assert(", None), ("prodcons", "1 8 4", None, None)]
WAYS = [("distance", []), ("fsm", ["--heuristic", "fsm"]), ("random", ["--heuristic", "random"]),
        ("thread", ["--heuristic", "thread"]), ("best-first", ["--search", "best-first"]), ("no refinement", ["--no-refine"]),
        ("no meta heuristic", ["--heuristic", "random", "--no-meta"]), ("no facts", ["--no-facts"])]


def lines_of(path, marks):
    """The lines with these texts: FILE:LINE[,...]. `text#n`: the n-th of them."""
    with open(path, encoding="utf-8") as f:
        source = f.read().split("\n")
    code = [i + 1 for i, line in enumerate(source) if not line.startswith((" *", "/*"))]
    out = []
    for mark in marks.split(", "):
        text, _, nth = mark.partition("#")
        found = [i for i in code if text in source[i - 1]]
        out.append("%s:%d" % (os.path.basename(path), found[int(nth or 1) - 1]))
    return ",".join(out)


def search(heddle, folder, program, sizes, lines, seed, options, limit):
    result = os.path.join(folder, "aim.json")
    command = [heddle, "aim", "--quiet", "--no-explain", "--failure", "--seed", str(seed), "--max-executions", str(limit),
               "--json", result, "--out", os.path.join(folder, "found"), *options, lines, "--", program, *sizes.split()]
    run = subprocess.run(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False)
    if run.returncode not in (1, 5):
        raise SystemExit("exit status %d: %s" % (run.returncode, " ".join(command)))
    with open(result, encoding="utf-8") as f:
        return json.load(f)["aim"][0]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--seeds", type=int, default=10)
    p.add_argument("--limit", type=int, default=500)
    p.add_argument("--ablations", action="store_true")
    p.add_argument("--markdown", action="store_true")
    p.add_argument("models", nargs="*")
    o = p.parse_args()
    heddle = os.path.join(os.path.abspath(o.build), "heddle")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, sizes, marks, thesis in MODELS:
            if not marks or (o.models and name not in o.models):
                continue
            source, program = os.path.join(HERE, "search", name + ".c"), os.path.join(folder, name)
            if not os.path.exists(program):
                subprocess.run([heddle, "cc", "--facts", "-g", "-O1", source, "-o", program], check=True)
            lines = lines_of(source, marks)
            for way, options in WAYS if o.ablations else WAYS[:1]:
                runs = [search(heddle, folder, program, sizes, lines, seed, options, o.limit)
                        for seed in range(1, o.seeds + 1)]
                hits = [r for r in runs if r["result"] == "reached"]
                events = [r["events"] for r in hits] or [0]
                mean = len(hits) and sum(events) / len(events)
                rows.append([name + "(" + sizes.replace(" ", ",") + ")", way, "%.2f" % (len(hits) / len(runs)),
                             *([str(min(events)), "%.0f" % mean, str(max(events)),
                                "%.1f" % (sum(r["executions"] for r in hits) / len(hits))] if hits else ["-"] * 4),
                             str(thesis or "-")])
                print(" ".join(rows[-1]), file=sys.stderr)
    if o.ablations:
        names = [way for way, _ in WAYS]
        cell = {(r[0], r[1]): "%s, %s" % (r[2], r[4]) if r[4] != "-" else r[2] for r in rows}
        models = list(dict.fromkeys(r[0] for r in rows))
        print(table(["model", *names], [[m, *(cell[m, n] for n in names)] for m in models], o.markdown))
        return
    head = ["model", "search", "density", "least", "mean", "most", "executions", "thesis"]
    print(table(head, rows, o.markdown))


if __name__ == "__main__":
    main()

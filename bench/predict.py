#!/usr/bin/env python3
"""Prediction, measured on the programs of bench/search: which bugs one clean execution is enough for.

    bench/predict.py --build DIR                 every bug of bench/search
    bench/predict.py --build DIR deadlock list   some programs
    bench/predict.py --detectors hb,deadlock     some detectors
    bench/predict.py --follow 0                  from that execution alone
    bench/predict.py --by-program                a row for each program, with what its slowest bug took
    bench/predict.py --markdown                  prints the table as Markdown

One execution is recorded: each thread runs as long as it can. A row states its events, what was predicted and confirmed, the
findings of the executions, the seconds until the first finding and those of the whole command. A bug counts as found when one
of the kinds that the program states was found. What was missed comes with the reason. Seconds are wall-clock time."""
import argparse
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measure import Failure, say  # noqa: E402
from search import Bench, expectations  # noqa: E402
from search_tables import table  # noqa: E402

LIMIT = 5  # seconds that a bug may take


def measure(bench, e, detectors, follow):
    mine = os.path.join(bench.lab.dir, "predict")
    command = [bench.lab.heddle, "predict", "--quiet", "--no-explain", "--json", mine + ".json", "--out", mine + ".found"]
    if detectors:
        command += ["--detectors", detectors]
    if follow is not None:
        command += ["--follow", str(follow)]
    program, first = bench.program(e.program), None
    began = time.monotonic()
    with subprocess.Popen([*command, "--", program, *e.args], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as run:
        for _ in run.stdout:  # nothing but findings
            first = first or time.monotonic() - began
    whole = time.monotonic() - began
    if run.returncode not in (0, 1, 5):
        raise Failure("%s: exit status %d" % (e.name, run.returncode))
    with open(mine + ".json", encoding="utf-8") as f:
        j = json.load(f)
    part = j["predict"][0]
    kinds = {f["kind"] for f in j["findings"]}
    results = [p["result"] for p in part["predictions"]]
    return {"events": part["events"], "predicted": len(results), "confirmed": results.count("confirmed"), "kinds": sorted(kinds),
            "found": bool(kinds & e.kinds), "first": first, "whole": whole, "executions": j["executions"],
            "why": "" if kinds & e.kinds else why(part)}


def why(part):
    """Why nothing of the kind was found."""
    if not part["predictions"]:
        return "nothing predicted"
    reasons = [p["reason"] for p in part["predictions"] if "reason" in p]
    return reasons[0] if reasons else "other failures only"


HEAD = ["program", "bugs", "found", "findings", "events", "first", "whole", "missed"]


def by_program(chosen, rows):
    """A row for each program: its bugs, those found, and the most events and seconds that one took."""
    out = []
    for name in sorted({e.program for e in chosen}):
        mine = [r for e, r in zip(chosen, rows) if e.program == name]
        missed = ["%s: %s" % (r[0], r[7]) for r in mine if r[7] != "yes"]
        most = [max((float(r[k]) for r in mine if r[k]), default=None) for k in (1, 5, 6)]
        out.append([name, "%d" % len(mine), "%d" % (len(mine) - len(missed)), ", ".join(sorted({r[4] for r in mine if r[4]})),
                    "%d" % most[0], "%.2f" % most[1] if most[1] else "", "%.2f" % most[2], "; ".join(missed)])
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--detectors")
    p.add_argument("--follow", type=int)
    p.add_argument("--by-program", action="store_true")
    p.add_argument("--markdown", action="store_true")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    bench, rows, found = Bench(a.build, True), [], 0
    chosen = [e for e in expectations(a.names) if e.what == "bug"]
    for e in chosen:
        r = measure(bench, e, a.detectors, a.follow)
        found += r["found"] and r["first"] < LIMIT
        rows.append([e.name, "%d" % r["events"], "%d" % r["predicted"], "%d" % r["confirmed"], ", ".join(r["kinds"]),
                     "%.2f" % r["first"] if r["first"] else "", "%.2f" % r["whole"], "yes" if r["found"] else r["why"]])
        say("predict: " + ", ".join(rows[-1]))
    if a.by_program:
        print(table(HEAD, by_program(chosen, rows), a.markdown))
    else:
        print(table(["program", "events", "predicted", "confirmed", "findings", "first", "whole", "found"], rows,
                    a.markdown))
    print("%d of %d in under %d seconds" % (found, len(chosen), LIMIT))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Predicts from whole traces of the programs of real.py, which fetches and builds them the same way.

    predict.py --build build              those of CHOSEN
    predict.py --build build --only NAME  one of them (repeatable)

A row of the table: the events and threads of one recorded execution, what is predicted and confirmed, the findings, and the
seconds for recording, predicting and executing. What is predicted and not confirmed follows with its reason; an order that
only breaks atomicity is no failure by itself, and is counted."""
import argparse
import json
import os
import subprocess

from fetch import Failure
from programs import PROGRAMS
from real import HERE, Lab

CHOSEN = ("zstd_pool 3", "zstd_mt", "xz_mt encode", "xz_mt decode", "pbzip2 -kf -p2 -b1 -1 text", "pbzip2 -dc -p2 < two.bz2",
          "libuv_pool work", "libuv_pool async", "sqlite_threads serialized", "sqlite_threads initialize")


def predict(lab, folder, check):
    out = os.path.join(folder, "predict.json")
    command = [lab.heddle, "predict", "--quiet", "--no-explain", "--time", str(lab.seconds), "--json", out, "--out",
               os.path.join(folder, "predicted"), *check.options]
    if check.suppressions:
        command += ["--suppressions", os.path.join(HERE, check.suppressions)]
    with open(os.path.join(folder, check.stdin) if not check.stdin.startswith("/") else check.stdin, "rb") as stdin:
        done = subprocess.run(command + ["--", *check.command], cwd=folder, stdin=stdin, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1, 5):
        raise Failure("%s: status %d: %s" % (check.label, done.returncode, done.stderr.decode(errors="replace")[-500:]))
    with open(out, encoding="utf-8") as f:
        return json.load(f)


def row(check, j):
    part = j["predict"][0]
    failures = [p for p in part["predictions"] if p["kind"] not in ("order", "atomicity")]
    tries = len(part["predictions"]) - len(failures)
    confirmed = [p for p in failures if p["result"] == "confirmed"]
    kinds = sorted({f["kind"] for f in j["findings"]})
    seconds = part["seconds"]
    print("| `%s` | %d | %d | %d | %d | %d | %s | %.1f | %.1f | %.1f |" % (
        check.label, part["events"], part["threads"], len(failures), len(confirmed), tries,
        ", ".join("%d %s" % (sum(f["kind"] == k for f in j["findings"]), k) for k in kinds) or "none",
        seconds["record"], seconds["predict"], seconds["confirm"]), flush=True)
    for p in failures:
        if p["result"] != "confirmed":
            where = ", ".join("%s:%s" % (os.path.basename(e["file"] or "?"), e["line"]) for e in p["events"])
            print("    %s (%s) %s: %s" % (p["kind"], where, p["result"], p.get("reason")), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--only", action="append")
    p.add_argument("--seconds", type=float, default=60)
    a = p.parse_args()
    lab = Lab(a.build, a.seconds)
    print("| command | events | threads | predicted | confirmed | other orders | findings | record | predict | execute |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for program in PROGRAMS:
        chosen = [c for c in program.checks if c.label in CHOSEN and not c.suppressions]
        if not chosen or (a.only and program.name not in a.only):
            continue
        folder, _ = lab.build(program)
        for check in chosen:
            row(check, predict(lab, folder, check))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Checks widely used programs: downloads their source packages, builds them with `heddle cc`, and searches them.

    real.py --build build              all of them; writes the table of docs/real-programs.md
    real.py --build build --only NAME  one of them (repeatable); the other rows of the table stay

Downloads and builds stay in BUILD/real, so a second run only checks. Every check has its expected verdicts; any other
verdict fails the command, and so does a program that cannot be built, or a finding that does not replay 20 times."""
import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time

from fetch import Archive, Failure, run
from programs import PROGRAMS

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DOC = os.path.join(ROOT, "docs", "real-programs.md")
DRIVERS = os.path.join(HERE, "drivers")
REPLAYS = 20
BEGIN, END = "<!-- real:begin -->", "<!-- real:end -->"


class Lab:
    def __init__(self, build, seconds):
        self.bin = os.path.abspath(build)
        self.heddle = os.path.join(self.bin, "heddle")
        if not os.access(self.heddle, os.X_OK):
            raise Failure("no %s; run `make build` first" % os.path.join(build, "heddle"))
        self.folder = os.path.join(self.bin, "real")
        self.archive = Archive(self.folder)
        self.seconds = seconds

    def build(self, program):
        """Fetches and builds. Returns (folder with the binaries, version, seconds that building took, None if
        that is not known)."""
        missing = [t for t in program.needs if not shutil.which(t)]
        if missing:
            raise Failure("needs %s, which is not installed" % ", ".join(missing))
        src, version = self.archive.get(program.package)
        out = os.path.join(self.folder, "bin", program.name)
        stamp, took = os.path.join(out, ".built"), os.path.join(out, ".seconds")
        steps = version + "\n" + "\n".join(program.steps) + "".join(drivers_of(program))
        if os.path.exists(stamp):
            with open(stamp, encoding="utf-8") as f:
                same = f.read() == steps
            if same:
                return out, version, seconds_in(took)
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        env = dict(os.environ, PATH=self.bin + os.pathsep + os.environ["PATH"], SRC=src, DRIVERS=DRIVERS)
        log = os.path.join(self.folder, program.name + ".log")
        began = time.monotonic()
        for step in program.steps:
            run(step, out, log, env)
        seconds = time.monotonic() - began
        for name, text in ((took, "%.1f" % seconds), (stamp, steps)):
            with open(name, "w", encoding="utf-8") as f:
                f.write(text)
        return out, version, seconds

    def check(self, folder, number, check):
        """One search. Returns the JSON that heddle wrote, with the processor time it took, and which findings replay."""
        found = os.path.join(folder, "found", "%d" % number)
        shutil.rmtree(found, ignore_errors=True)
        os.makedirs(found)
        result = os.path.join(folder, "result.json")
        command = [self.heddle, "check", "--quiet", "--no-explain", "--time", "%ds" % self.seconds, "--json", result, "--out", found]
        command += check.options
        if check.suppressions:
            command += ["--suppressions", os.path.join(HERE, check.suppressions)]
        command += ["--", *check.command]
        before = processor_time()
        with open(os.path.join(folder, check.stdin), "rb") as stdin:
            done = subprocess.run(command, cwd=folder, stdin=stdin, capture_output=True, text=True, check=False,
                                  preexec_fn=lambda: os.nice(10))
        try:
            with open(result, encoding="utf-8") as f:
                data = json.load(f)
        except (OSError, ValueError):
            raise Failure("no result of: %s\n%s" % (" ".join(command), done.stderr)) from None
        os.remove(result)
        data["processor"] = processor_time() - before
        data["replayed"] = [self.replays(folder, os.path.join(folder, f["replay"])) for f in data["findings"]]
        return data

    def replays(self, folder, finding):
        done = subprocess.run([self.heddle, "replay", "--quiet", "--times", "%d" % REPLAYS, finding], cwd=folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              preexec_fn=lambda: os.nice(10))
        return "%d of %d identical" % (REPLAYS, REPLAYS) in done.stderr


def drivers_of(program):
    """The text of the drivers that its steps name, and of the headers that these share: a changed one means a new build."""
    for name in sorted(os.listdir(DRIVERS)):
        if name.endswith(".h") or any(name in step for step in program.steps):
            with open(os.path.join(DRIVERS, name), encoding="utf-8") as f:
                yield f.read()


def seconds_in(path):
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        return float(f.read())


def processor_time():
    """Of the processes that have ended and been waited for, the tested ones included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def thousands(n):
    return "{:,}".format(n)


def outcome(data):
    """What the search came to, in a few words."""
    if data.get("error"):
        return "refused: " + data["error"]
    if data["verdict"] == "bug":
        kinds = [f["kind"] for f in data["findings"]]
        return ", ".join("%s (%d)" % (k, kinds.count(k)) if kinds.count(k) > 1 else k for k in sorted(set(kinds)))
    words = "nothing; complete" if data["complete"] else "nothing; " + {
        "time": "time over", "executions": "sampled", "finished": "bounded"}.get(data["stopped"], data["stopped"])
    return words + (", %s cut" % thousands(data["cut"]) if data["cut"] else "")


def row(version, built, check, data):
    executions = data["executions"] + data["discarded"]
    options = check.options + (["--suppressions", check.suppressions] if check.suppressions else [])
    return {"version": version, "what": check.label, "options": " ".join(options),
            "executions": executions, "events": data["events"], "threads": data["threads"],
            "rate": executions / data["processor"] if data["processor"] > 0 else 0, "built": built,
            "seconds": data["seconds"], "suppressed": data["suppressed"], "outcome": outcome(data)}


def table(rows):
    """rows: name of the program -> list of rows."""
    lines = ["| program | check | executions | events | threads | build, s | search, s | rate | found |",
             "|---|---|---:|---:|---:|---:|---:|---:|---|"]
    for program in PROGRAMS:
        for r in rows.get(program.name, []):
            what = "`%s`" % r["what"] + (" `%s`" % r["options"] if r["options"] else "")
            found = r["outcome"] + ("; %d suppressed" % r["suppressed"] if r["suppressed"] else "")
            built = "" if r.get("built") is None else "%.0f" % r["built"]
            rate = thousands(round(r["rate"])) if "rate" in r else ""
            lines.append("| %s %s | %s | %s | %s | %d | %s | %.1f | %s | %s |" % (
                program.name, r["version"], what, thousands(r["executions"]), thousands(r["events"]), r["threads"],
                built, r["seconds"], rate, found))
    return "\n".join(lines)


def document(rows):
    with open(DOC, encoding="utf-8") as f:
        text = f.read()
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    with open(DOC, "w", encoding="utf-8") as f:
        f.write(before + BEGIN + "\n" + table(rows) + "\n" + END + after)


def main():
    parser = argparse.ArgumentParser(description="Fetches, builds and checks real programs.")
    parser.add_argument("--build", default="build", help="folder with heddle")
    parser.add_argument("--only", action="append", choices=[p.name for p in PROGRAMS], help="this program (repeatable)")
    parser.add_argument("--seconds", type=int, default=20, help="limit of each search (default 20)")
    args = parser.parse_args()
    try:
        lab = Lab(args.build, args.seconds)
    except Failure as e:
        sys.exit("real: %s" % e)
    store = os.path.join(lab.folder, "rows.json")
    rows = {}
    if os.path.exists(store):
        with open(store, encoding="utf-8") as f:
            rows = json.load(f)
    failed = 0
    for program in PROGRAMS:
        if args.only and program.name not in args.only:
            continue
        try:
            folder, version, built = lab.build(program)
            new = []
            for number, check in enumerate(program.checks):
                data = lab.check(folder, number, check)
                new.append(row(version, built, check, data))
                good = data["verdict"] in check.expect and not data.get("error") and all(data["replayed"])
                failed += not good
                print("%-10s %-40s %9s executions  %s%s" % (
                    program.name, check.label, thousands(new[-1]["executions"]), new[-1]["outcome"],
                    "" if good else "  (UNEXPECTED)"), flush=True)
                for f, same in zip(data["findings"], data["replayed"]):
                    print("    %s, %s%s" % (f["title"], f["replay"], "" if same else "  (DOES NOT REPLAY)"), flush=True)
            rows[program.name] = new
            with open(store, "w", encoding="utf-8") as f:
                json.dump(rows, f, indent=1)
        except Failure as e:
            failed += 1
            print("%-10s %s" % (program.name, e), flush=True)
    if all(p.name in rows for p in PROGRAMS):
        document(rows)
    elif not args.only:
        print("real: docs/real-programs.md is not written, since a program is missing")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

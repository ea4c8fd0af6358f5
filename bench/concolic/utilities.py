"""Small utilities, like those of coreutils, as sequential programs: branches covered, and the solver's share, as a table.

    python3 bench/concolic/utilities.py --build build --seconds 30
"""
import argparse
import json
import os
import re
import subprocess
import tempfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "utilities")
PROGRAMS = [("echo", ["--symbolic-args", "2:4"]), ("wc", ["--symbolic-args", "1:3", "--symbolic-stdin", "4"]),
            ("tr", ["--symbolic-args", "3:3", "--symbolic-stdin", "2"]), ("cut", ["--symbolic-args", "3:3", "--symbolic-stdin", "5"]),
            ("base64", ["--symbolic-args", "2:2", "--symbolic-stdin", "5"])]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--seconds", type=int, default=30, help="of a search, at most")
    o = p.parse_args()
    heddle = os.path.join(os.path.abspath(o.build), "heddle")
    print("| utility | inputs | outcomes covered | findings | classes | questions | asked of Z3 | in Z3 | processor time | ended |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|---|")
    for name, options in PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="heddle-bench-") as folder:
            program = os.path.join(folder, name)
            subprocess.run([heddle, "cc", "--symbolic", "-w", "-g", "-O1", os.path.join(HERE, name + ".c"), "-o", program], check=True)
            before = os.times()
            q = subprocess.run([heddle, "concolic", *options, "--all", "--no-explain", "--time", "%ds" % o.seconds, "--json", "r.json",
                                "--", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder)
            after = os.times()
            with open(os.path.join(folder, "r.json")) as f:
                r = json.load(f)
            solver = re.search(r"solver: ([\d.k]+) questions, ([\d.k]+) asked of Z3 in ([\d.]+) s", q.stdout)
            spent = after.children_user + after.children_system - before.children_user - before.children_system
            covered = sum(b["covered"] for b in r["branches"])
            print("| %s | `%s` | %d of %d | %d | %d | %s | %s | %s s | %.1f s | %s |" %
                  (name, " ".join(options), covered, len(r["branches"]), len(r["findings"]), r["input_classes"], *solver.groups(), spent,
                   "complete" if r["complete"] else r["stopped"]), flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Strategies on mutants of concurrent structures: how many of the bugs each finds, and after how many executions.

usage: bench/mined.py [--build DIR] [--work DIR] [--mutants N] [--seeds N] [--budget N] [--only NAME,...]
                      [--strategies NAME,...] [--json FILE] [--tables] [--doc]

Makes N mutants of each structure of bench/mined/ with `heddle mutate` (all operators but WAO and RVK, whose mutants do not
differ where executions are sequentially consistent), builds them, and searches each with every strategy and seed for a
failure that shows: a failed assertion, a deadlock, a misused lock, a crash. Data races are ignored, since the detector finds
them in nearly any execution. A mutant counts if some strategy makes it fail within the budget. Systematic strategies have
one seed.

The results are added to FILE, mutant by mutant, so that it can be interrupted and run for one structure after the other;
--tables only prints those of FILE, --doc writes them into docs/mutate.md.
"""
import argparse
import concurrent.futures
import contextlib
import glob
import io
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SYSTEMATIC = ("optimal", "dpor")
DOC = os.path.join(ROOT, "docs", "mutate.md")
BEGIN, END = "<!-- mined:begin -->", "<!-- mined:end -->"
STRATEGIES = ("auto", "optimal", "dpor", "random", "pct", "pos", "sites", "surw", "rff", "uniform", "ti", "ci", "tici+",
              "tici-", "mined")
OPERATORS = "MSP,ESP,EAN,RSK,RSB,RFU,SKCR,EXCR,SPCR,MVSB,RTXC,RCXC,MXC,RAT"


def make(o, name, source):
    """The mutants of a structure, each built; those that do not build are left out."""
    os.makedirs(o.work, exist_ok=True)
    folder = os.path.join(o.work, name)
    if not os.path.exists(os.path.join(folder, "manifest.json")):
        subprocess.run([o.heddle, "mutate", source, "-n", str(o.mutants), "--operators", OPERATORS, "-o", folder, "--quiet",
                        "--", "-O1"], check=True, stderr=subprocess.DEVNULL)
    with open(os.path.join(folder, "manifest.json")) as f:
        mutants = json.load(f)["mutants"]
    built = []
    for m in mutants:
        program = os.path.join(folder, m["id"], "test")
        words = [o.heddle, "c++" if source.endswith(".cc") else "cc", "-g", "-O1", "-w", "-pthread",
                 os.path.join(folder, m["path"]), "-o", program]
        if os.path.exists(program) or subprocess.run(words, stderr=subprocess.DEVNULL).returncode == 0:
            built.append((m, program))
    return built


def search(o, program, strategy, seed):
    """Executions until the failure, or None; and what it was."""
    out = "%s.%s.%d" % (program, strategy, seed)
    words = [o.heddle, "check", "--quiet", "--no-explain", "--ignore", "data-race", "--strategy", strategy, "--seed", str(seed),
             "--jobs", "1", "--max-executions", str(o.budget), "--time", "20s", "--hang-timeout", "2s", "--max-length", "5000",
             "--json", out + ".json", "--out", out + ".d", "--", program]
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with open(out + ".json") as f:
            j = json.load(f)
    except (OSError, ValueError):
        return None, None
    finally:
        subprocess.run(["rm", "-rf", out + ".json", out + ".d"])
    if not j["findings"]:
        return None, None
    return j["executions"] + j["discarded"], j["findings"][0]["kind"]


def store(o, about):
    with open(o.json + ".new", "w") as f:
        f.write(re.sub(r"\[\s+([^\]]*?)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m.group(1)) + "]", json.dumps(about, indent=1)))
        f.write("\n")
    os.replace(o.json + ".new", o.json)


def measure(o, name, source, about):
    rows = about["results"].setdefault(name, {})
    for m, program in make(o, name, source):
        row = rows.setdefault(m["id"], {"operator": m["operator"], "what": m["what"], "line": m["line"], "runs": {}})
        wanted = [(s, seed) for s in o.strategies for seed in range(1, 2 if s in SYSTEMATIC else o.seeds + 1)
                  if len(row["runs"].get(s, ())) < seed]
        with concurrent.futures.ThreadPoolExecutor(o.parallel) as pool:
            for (s, seed), (n, kind) in zip(wanted, pool.map(lambda w: search(o, program, *w), wanted)):
                row["runs"].setdefault(s, []).append(n)
                row.setdefault("kinds", {}).setdefault(kind or "none", 0)
                row["kinds"][kind or "none"] += 1
        if not wanted:
            continue
        store(o, about)
        print("%-10s %s %-4s %s" % (name, m["id"], m["operator"], " ".join(
            "%s=%s" % (s, ",".join(str(n or "-") for n in r)) for s, r in row["runs"].items())), flush=True)


# ---- tables ----

def mean(runs, budget):
    return sum(budget + 1 if n is None else n for n in runs) / len(runs)


def tables(results, budget):
    rows = [(name, row) for name in sorted(results) for _, row in sorted(results[name].items())]
    strategies = [s for s in STRATEGIES if any(s in row["runs"] for _, row in rows)]
    failing = [(name, row) for name, row in rows if any(n for r in row["runs"].values() for n in r)]
    hard = [(name, row) for name, row in failing if any(n != 1 for r in row["runs"].values() for n in r)]
    print("%d mutants of %d structures; %d fail under some strategy within %d executions, %d of them not in every first "
          "execution.\n" % (len(rows), len(results), len(failing), budget, len(hard)))
    print("| strategy | bugs found | of the %d not found at once | mean executions, of these | median |\n|---|---|---|---|---|"
          % len(hard))
    for s in strategies:
        hits = [sum(n is not None for n in row["runs"][s]) / len(row["runs"][s]) for _, row in failing if s in row["runs"]]
        rest = [sum(n is not None for n in row["runs"][s]) / len(row["runs"][s]) for _, row in hard if s in row["runs"]]
        cost = sorted(mean(row["runs"][s], budget) for _, row in hard if s in row["runs"])
        if rest:
            print("| %s | %.0f%% | %.0f%% | %.1f | %.1f |" % (s, 100 * sum(hits) / len(hits), 100 * sum(rest) / len(rest),
                                                           sum(cost) / len(cost), cost[len(cost) // 2]))
    print("\n| compared with ti, on the %d | better | equal | worse |\n|---|---|---|---|" % len(hard))
    for label, of in (("tici+", ("tici+",)), ("tici-", ("tici-",)), ("the better sign", ("tici+", "tici-")), ("mined", ("mined",))):
        counts = [0, 0, 0]
        for _, row in hard:
            if "ti" not in row["runs"] or any(s not in row["runs"] for s in of):
                continue
            ti, it = mean(row["runs"]["ti"], budget), min(mean(row["runs"][s], budget) for s in of)
            counts[0 if it < ti else 1 if it == ti else 2] += 1
        n = sum(counts) or 1
        print("| %s | %s |" % (label, " | ".join("%d (%.0f%%)" % (c, 100 * c / n) for c in counts)))
    print("\n| structure | mutants | fail | not at once | %s |\n|---|---|---|---|%s" % (" | ".join(strategies), "---|" * len(strategies)))
    for name in sorted(results):
        of = [row for n, row in hard if n == name]
        cells = ["%.1f" % (sum(mean(r["runs"][s], budget) for r in of) / len(of)) if of and all(s in r["runs"] for r in of) else "-"
                 for s in strategies]
        print("| %s | %d | %d | %d | %s |" % (name, len(results[name]), sum(n == name for n, _ in failing), len(of), " | ".join(cells)))


def main():
    p = argparse.ArgumentParser(usage=__doc__, add_help=True)
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--work", default="/tmp/heddle-mined")
    p.add_argument("--mutants", type=int, default=30)
    p.add_argument("--seeds", type=int, default=10)
    p.add_argument("--budget", type=int, default=1000)
    p.add_argument("--parallel", type=int, default=os.cpu_count())
    p.add_argument("--only", default="")
    p.add_argument("--strategies", default=",".join(STRATEGIES))
    p.add_argument("--json", default=os.path.join(HERE, "results", "mined.json"))
    p.add_argument("--tables", action="store_true")
    p.add_argument("--doc", action="store_true")
    o = p.parse_args()
    o.heddle = os.path.join(os.path.abspath(o.build), "heddle")
    o.strategies = o.strategies.split(",")
    try:
        with open(o.json) as f:
            about = json.load(f)
    except OSError:
        about = {"budget": o.budget, "results": {}}
    if not o.tables and not o.doc:
        if about["budget"] != o.budget:
            sys.exit("mined.py: %s has another --budget: name another file with --json" % o.json)
        for source in sorted(glob.glob(os.path.join(HERE, "mined", "*.c*"))):
            name = os.path.splitext(os.path.basename(source))[0]
            if not o.only or name in o.only.split(","):
                measure(o, name, source, about)
    if not o.doc:
        tables(about["results"], about["budget"])
        return
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        tables(about["results"], about["budget"])
    with open(DOC) as f:
        page = f.read()
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    with open(DOC, "w") as f:
        f.write(before + BEGIN + "\n" + text.getvalue() + END + after)


if __name__ == "__main__":
    main()

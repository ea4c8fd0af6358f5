#!/usr/bin/env python3
"""How many executions strategies take to the first failure, over the seeds: medians, one row per program.

    bench/first.py --build DIR                   every bug of bench/search, 21 seeds
    bench/first.py --build DIR reorder account   some programs
    bench/first.py --seeds 5 --strategies auto,pos
    bench/first.py --seeds 100 --store           also appends a line to bench/results/first.json
    bench/first.py --doc                         writes the last stored figures of each strategy into docs/performance.md

One worker: the executions depend on the seed only, not on the machine. A run that finds nothing within the limit counts as
that many executions. Rows where `auto` takes more than `pos` are marked."""
import argparse
import concurrent.futures
import json
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measure import Failure, say  # noqa: E402
from record import DOC, RESULTS, Record  # noqa: E402
from search import Bench, expectations  # noqa: E402
from search_tables import number, table  # noqa: E402

STRATEGIES = "auto,pos,rff,surw,uniform,sites,pct,random"
STORED = os.path.join(RESULTS, "first.json")
BEGIN, END = "<!-- first:begin -->", "<!-- first:end -->"


def executions(bench, e, strategy, seed, limit):
    """How many until the failure; None: there was none within the limit."""
    s = bench.on_any_core(e, "--strategy", strategy, "--seed", str(seed), "--max-executions", str(limit), "--restart", "memory")
    return s["executions"] + s["discarded"] if s["findings"] else None


def measure(a, strategies):
    """The figures of each program and strategy: the median, and how many seeds found it."""
    bench, rows = Bench(a.build, True, a.seeds), {}
    # What takes longer than the usual time is a benchmark of its own.
    chosen = [e for e in expectations(a.names) if e.what == "bug" and (a.names or "seconds" not in e.fields)]
    with concurrent.futures.ThreadPoolExecutor(bench.cores.qsize()) as pool:
        for e in chosen:
            bench.program(e.program)
            rows[e.name] = {}
            for n in strategies:
                runs = list(pool.map(lambda seed, n=n, e=e: executions(bench, e, n, seed, a.limit), range(1, a.seeds + 1)))
                rows[e.name][n] = {"median": statistics.median(a.limit if r is None else r for r in runs),
                                   "found": sum(r is not None for r in runs)}
            say("first: %s: %s" % (e.name, ", ".join("%s %g" % (n, rows[e.name][n]["median"]) for n in strategies)))
    return rows


def cell(figure, seeds):
    text = number(int(figure["median"]))
    return text if figure["found"] == seeds else "%s (%d%%)" % (text, 100 * figure["found"] // seeds)


def text_of(rows, strategies, seeds, markdown):
    cells, more = [], 0
    for name, row in rows.items():
        worse = "auto" in row and "pos" in row and row["auto"]["median"] > row["pos"]["median"]
        more += worse
        cells.append([name, *(cell(row[n], seeds) if n in row else "-" for n in strategies), "more than pos" if worse else ""])
    sums = [sum(row[n]["found"] for row in rows.values() if n in row) / (seeds * len(rows)) for n in strategies]
    cells.append(["found, of all", *("%.1f%%" % (100 * s) for s in sums), "%d more than pos" % more if more else ""])
    return table(["program", *strategies, ""], cells, markdown)


def store(rows, a):
    data = Record.new("full").data
    del data["figures"]
    data.update(seeds=a.seeds, limit=a.limit, rows=rows)
    with open(STORED, "a", encoding="utf-8") as f:
        f.write(json.dumps(data, separators=(",", ":")) + "\n")


def last_stored():
    """The newest figures of each strategy, from runs with as many seeds as the newest of all."""
    with open(STORED, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f if line.strip()]
    newest, rows, revisions = lines[-1], {}, {}
    for line in lines:
        if (line["seeds"], line["limit"]) != (newest["seeds"], newest["limit"]):
            continue
        for name, row in line["rows"].items():
            rows.setdefault(name, {}).update(row)
            revisions.update({n: line["revision"] for n in row})
    return newest, dict(sorted(rows.items(), key=lambda row: row[0].split()[0])), revisions


def write_doc():
    newest, rows, revisions = last_stored()
    strategies = [n for n in STRATEGIES.split(",") if n in revisions]
    groups = ["%s of %s" % (r, ", ".join(n for n in strategies if revisions[n] == r)) for r in dict.fromkeys(revisions.values())]
    head = "%d seeds, at most %s executions each; revision %s; %s.\n\n" % (
        newest["seeds"], number(newest["limit"]), "; ".join(groups), newest["date"][:10])
    with open(DOC, encoding="utf-8") as f:
        text = f.read()
    if BEGIN not in text or END not in text:
        raise Failure("docs/performance.md has lost its markers %s and %s" % (BEGIN, END))
    before, after = text.split(BEGIN, 1)[0], text.split(END, 1)[1]
    with open(DOC, "w", encoding="utf-8") as f:
        f.write("%s%s\n%s%s%s%s" % (before, BEGIN, head, text_of(rows, strategies, newest["seeds"], True), END, after))


def main(argv):
    p = argparse.ArgumentParser(description="Executions to the first failure.")
    p.add_argument("--build", default="build", help="the build folder (default: build)")
    p.add_argument("--seeds", type=int, default=21)
    p.add_argument("--strategies", default=STRATEGIES, help="comma list (default: %s)" % STRATEGIES)
    p.add_argument("--limit", type=int, default=2000, help="executions of a run (default 2000)")
    p.add_argument("--markdown", action="store_true")
    p.add_argument("--store", action="store_true", help="append the figures to bench/results/first.json")
    p.add_argument("--doc", action="store_true", help="only write what is stored into docs/performance.md")
    p.add_argument("names", nargs="*", help="programs (default: all)")
    a = p.parse_args(argv)
    names = a.strategies.split(",")
    try:
        if a.doc:
            write_doc()
            return 0
        rows = measure(a, names)
    except Failure as e:
        say("first: %s" % e)
        return 1
    print(text_of(rows, names, a.seeds, a.markdown))
    if a.store:
        store(rows, a)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

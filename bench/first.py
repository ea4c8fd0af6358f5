#!/usr/bin/env python3
"""How many executions strategies take to the first failure, over the seeds: medians, one row per program.

    bench/first.py --build DIR                   every bug of bench/search, 21 seeds
    bench/first.py --build DIR reorder account   some programs
    bench/first.py --seeds 5 --strategies auto,pos

One worker: the executions depend on the seed only, not on the machine. A run that finds nothing within the limit counts as
that many executions. Rows where `auto` takes more than `pos` are marked."""
import argparse
import concurrent.futures
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measure import Failure, say  # noqa: E402
from search import Bench, expectations  # noqa: E402
from search_tables import number, table  # noqa: E402

STRATEGIES = "auto,pos,random,pct,sites,uniform"


def executions(bench, e, strategy, seed, limit):
    s = bench.on_any_core(e, "--strategy", strategy, "--seed", str(seed), "--max-executions", str(limit), "--restart", "memory")
    return s["executions"] + s["discarded"] if s["findings"] else limit


def main(argv):
    p = argparse.ArgumentParser(description="Executions to the first failure.")
    p.add_argument("--build", default="build", help="the build folder (default: build)")
    p.add_argument("--seeds", type=int, default=21)
    p.add_argument("--strategies", default=STRATEGIES, help="comma list (default: %s)" % STRATEGIES)
    p.add_argument("--limit", type=int, default=2000, help="executions of a run (default 2000)")
    p.add_argument("--markdown", action="store_true")
    p.add_argument("names", nargs="*", help="programs (default: all)")
    a = p.parse_args(argv)
    names, rows = a.strategies.split(","), []
    try:
        bench = Bench(a.build, True, a.seeds)
        # What takes longer than the usual time is a benchmark of its own.
        found = [e for e in expectations(a.names) if e.what == "bug" and (a.names or "seconds" not in e.fields)]
        with concurrent.futures.ThreadPoolExecutor(bench.cores.qsize()) as pool:
            for e in found:
                bench.program(e.program)
                row = {n: statistics.median(pool.map(lambda seed, n=n: executions(bench, e, n, seed, a.limit),
                                                     range(1, a.seeds + 1))) for n in names}
                worse = "auto" in row and "pos" in row and row["auto"] > row["pos"]
                rows.append([e.name, *(number(int(row[n])) for n in names), "more than pos" if worse else ""])
                say("first: " + " ".join(str(c) for c in rows[-1]))
    except Failure as e:
        say("first: %s" % e)
        return 1
    print(table(["program", *names, ""], rows, a.markdown))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

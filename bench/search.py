#!/usr/bin/env python3
"""The search, measured on the programs of bench/search: executions, speed, bugs found, error density.

    bench/search.py --build DIR                  everything; appends a line to bench/results/search.json
    bench/search.py --build DIR --quick          under a minute: smaller sizes, 10 seeds; stores nothing
    bench/search.py --build DIR lock reorder     some programs (stores nothing)
    bench/search.py --build DIR --only bugs      some sections: counts, states, symmetry, bugs, density
    bench/search.py --markdown                   prints the tables as Markdown
    bench/search.py --doc                        also writes them into docs/performance.md
    bench/search.py --doc --last                 the same from the last stored run, without a new one

Each program states its expectations in its opening comment:

    count: ARGS strategy=NAME executions=N   a complete search runs exactly N executions, none redundant;
                                             with findings=K[,K] it continues after findings, and finds these kinds
    states: ARGS begun=N                     with --states a complete search begins at most N executions
    symmetry: ARGS [strategy=S] begun=N      the same with --symmetry, and --states unless a strategy is given
    clean: ARGS                              a complete search finds nothing, and neither does the default
    bug: ARGS kind=K[,K]                     the default strategy finds one of these kinds within 10 seconds,
                                             or seconds=N

A failed expectation makes the exit status 1; a missed bar is shown but does not. The origin beside a figure is the
document that the program names. GenMC and Nidhugg are measured too if `genmc` or `nidhuggc` is on PATH; if one rejects a
program, its reason is printed. Seconds are CPU time, user and system, of the command and all its
processes, pinned to one core, start-up included."""
import argparse
import concurrent.futures
import glob
import json
import os
import queue
import re
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measure import HERE, Failure, Lab, say  # noqa: E402
from peers import PEERS  # noqa: E402
from record import DOC, RESULTS, Record  # noqa: E402
from search_tables import tables  # noqa: E402

SOURCES = os.path.join(HERE, "search")
STORED = os.path.join(RESULTS, "search.json")
SECTIONS = ("counts", "states", "symmetry", "bugs", "density")
DOC_BEGIN, DOC_END = "<!-- search:begin -->", "<!-- search:end -->"
QUICK_EXECUTIONS = 8192  # larger counts are left out of --quick
BUG_SECONDS = 10
PEER_SECONDS = 30
DENSITY_EXECUTIONS = 1000
DENSITY_STRATEGIES = ("random", "pct", "pos", "sites", "rdfs", "auto")
LINE = re.compile(r"^[/ *]*(count|states|symmetry|clean|bug):(.*?)(?:\*/)?$")


# ---- what is expected ----


class Expectation:
    def __init__(self, program, what, args, fields):
        self.program, self.what, self.args, self.fields = program, what, args, fields
        self.name = " ".join([program, *args])
        self.kinds = set(filter(None, fields.get("kind", fields.get("findings", "")).split(",")))


def expectations_of(path):
    """The lines of one program, in order."""
    found = []
    program = os.path.basename(path)[:-2]
    with open(path, encoding="utf-8") as f:
        for line in f:
            m = LINE.match(line.rstrip())
            if m:
                words = m.group(2).split()
                fields = dict(w.split("=", 1) for w in words if "=" in w)
                found.append(Expectation(program, m.group(1), [w for w in words if "=" not in w], fields))
    if not found:
        raise Failure("bench/search/%s.c does not say what to expect" % program)
    return found


def expectations(names):
    """All lines of the chosen programs, in order."""
    paths = {os.path.basename(p)[:-2]: p for p in sorted(glob.glob(os.path.join(SOURCES, "*.c")))}
    for name in names:
        if name not in paths:
            raise Failure("no program %s in bench/search" % name)
    return [e for program, path in paths.items() if not names or program in names for e in expectations_of(path)]


# ---- running ----


class Bench:
    def __init__(self, build, quick, seeds=None):
        self.lab = Lab(build, quick)
        self.quick = quick
        self.seeds = seeds or (10 if quick else 100)
        self.wrong = []
        self.reference = reference()
        self.peers = [] if quick else [p for p in (peer(self.lab, SOURCES) for peer in PEERS) if p.there]
        self.cores = queue.Queue()
        for cpu in sorted(os.sched_getaffinity(0)):
            self.cores.put(cpu)

    def program(self, name):
        return self.lab.build("heddle-gcc", os.path.join(SOURCES, name), name)

    def check(self, e, *options, repeat=1, cpu=None):
        """The --json object of the fastest of `repeat` runs, with its CPU time."""
        mine = os.path.join(self.lab.dir, "on%s" % (self.lab.cpu if cpu is None else cpu))
        best = None
        for _ in range(repeat):
            command = [self.lab.heddle, "check", "--quiet", "--no-explain", "--json", mine + ".json", "--out", mine + ".found",
                       *options, "--", self.program(e.program), *e.args]
            r = self.lab.run(command, statuses=(0, 1, 5), cpu=cpu)
            with open(mine + ".json", encoding="utf-8") as f:
                s = json.load(f)
            s["cpu"] = r.cpu
            if not best or s["cpu"] < best["cpu"]:
                best = s
        return best

    def on_any_core(self, e, *options):
        """check, on whichever core is free."""
        cpu = self.cores.get()
        try:
            return self.check(e, *options, cpu=cpu)
        finally:
            self.cores.put(cpu)

    def expect(self, e, holds, text, *options):
        if not holds:
            self.wrong.append("%s: %s (heddle check %s -- %s)" % (e.name, text, " ".join(options), e.name))
            say("search: WRONG: " + self.wrong[-1])
        return bool(holds)


# ---- executions ----


def count(bench, e, peers):
    expected = int(e.fields["executions"])
    options = ("--strategy", e.fields["strategy"])
    if e.kinds:
        options = ("--all", *options)
    s = bench.check(e, *options, "--time", "60s", repeat=1 if bench.quick else 3)
    right = bench.expect(e, s["executions"] == expected, "%d executions, not %d" % (s["executions"], expected), *options)
    right &= bench.expect(e, s["blocked"] == 0, "%d blocked executions" % s["blocked"], *options)
    right &= bench.expect(e, s["complete"] and not s["cut"], "the search is not complete", *options)
    kinds = {f["kind"] for f in s["findings"]}
    right &= bench.expect(e, kinds == e.kinds, "findings: %s" % (", ".join(sorted(kinds)) or "none"), *options)
    # How many more the classic algorithm takes, including redundant executions.
    d = bench.check(e, *(o.replace(e.fields["strategy"], "dpor") for o in options), "--time", "10s")
    return {"name": e.name, "executions": s["executions"], "seconds": round(s["cpu"], 4),
            "rate": round(s["executions"] / s["cpu"]), "right": right,
            "dpor": d["executions"] + d["blocked"] if d["complete"] else None,
            "peers": {p.name: p.run(e.program, e.args, PEER_SECONDS) for p in peers}}


def bench_counts(bench, found):
    counts = [e for e in found if e.what == "count"]
    # Peers take a second to begin with: the largest size of each program, and those that figures are quoted for.
    largest = {e.program: e for e in counts if not e.kinds}
    rows = []
    for e in counts:
        if bench.quick and int(e.fields["executions"]) > QUICK_EXECUTIONS:
            continue
        beside = not e.kinds and (largest[e.program] is e or e.name in bench.reference["counts"])
        rows.append(count(bench, e, bench.peers if beside else []))
    for e in (e for e in found if e.what == "clean"):
        for options in (("--strategy", "optimal"), ()):
            s = bench.check(e, *options, "--time", "60s")
            bench.expect(e, s["verdict"] == "clean" and s["complete"] and not s["blocked"] and not s["cut"],
                         "verdict %s, %d blocked, %d cut" % (s["verdict"], s["blocked"], s["cut"]), *options)
    return rows


# ---- states ----


def bench_states(bench, found):
    """Beside the same search without states, which has ten seconds."""
    rows = []
    for e in (e for e in found if e.what == "states"):
        if bench.quick and int(e.fields["begun"]) > QUICK_EXECUTIONS:
            continue
        s = bench.check(e, "--states", "--time", "120s", repeat=1 if bench.quick else 3)
        begun, most = s["executions"] + s["blocked"], int(e.fields["begun"])
        right = bench.expect(e, begun <= most, "%d executions begun, not at most %d" % (begun, most), "--states")
        right &= bench.expect(e, s["complete"] and s["verdict"] == "clean", "verdict %s" % s["verdict"], "--states")
        without = bench.check(e, "--strategy", "optimal", "--time", "10s")
        v = s["visited"]
        rows.append({"name": e.name, "executions": s["executions"], "matches": v["matches"], "states": v["states"],
                     "bytes": v["bytes_per_state"], "seconds": round(s["cpu"], 4), "right": right,
                     "optimal": without["executions"] if without["complete"] else None,
                     "optimal_seconds": round(without["cpu"], 4) if without["complete"] else None})
    return rows


# ---- symmetry ----


def symmetry_options(e):
    return ("--symmetry", *(("--strategy", e.fields["strategy"]) if "strategy" in e.fields else ("--states",)))


def bench_symmetry(bench, found):
    """Beside the optimal search without symmetry, which has ten seconds."""
    rows = []
    for e in (e for e in found if e.what == "symmetry"):
        if bench.quick and int(e.fields["begun"]) > QUICK_EXECUTIONS:
            continue
        options = symmetry_options(e)
        s = bench.check(e, *options, "--time", "120s", repeat=1 if bench.quick else 3)
        begun, most = s["executions"] + s["blocked"], int(e.fields["begun"])
        right = bench.expect(e, begun <= most, "%d executions begun, not at most %d" % (begun, most), *options)
        right &= bench.expect(e, s["complete"] and s["verdict"] == "clean", "verdict %s" % s["verdict"], *options)
        without = bench.check(e, "--strategy", "optimal", "--time", "10s")
        rows.append({"name": e.name, "with": " ".join(options[1:]), "executions": s["executions"], "blocked": s["blocked"],
                     "seconds": round(s["cpu"], 4), "right": right,
                     "optimal": without["executions"] if without["complete"] else None,
                     "optimal_seconds": round(without["cpu"], 4) if without["complete"] else None})
    return rows


# ---- bugs ----


def bench_bugs(bench, found):
    rows = []
    for e in (e for e in found if e.what == "bug"):
        options = ("--time", "%ss" % e.fields.get("seconds", BUG_SECONDS))
        s = bench.check(e, *options)
        first = s["findings"][0] if s["findings"] else {}
        bench.expect(e, first.get("kind") in e.kinds,
                     "%s instead of %s" % (first.get("kind", "nothing"), "|".join(sorted(e.kinds))), *options)
        beside = bench.peers if e.name in bench.reference["peer_bugs"] else []
        rows.append({"name": e.name, "kind": first.get("kind"), "by": first.get("strategy"),
                     "executions": s["executions"] + s["discarded"], "seconds": round(s["cpu"], 4),
                     "peers": {p.name: p.run(e.program, e.args, BUG_SECONDS) for p in beside}})
    return rows


def density(bench, pool, e, strategy):
    """How many seeds find the bug, and after how many executions and how much time."""
    # The default has to find it, however long that takes within its limit; the others have as many executions.
    limit = ("--time", "%ds" % BUG_SECONDS) if strategy == "auto" else ("--max-executions", str(DENSITY_EXECUTIONS))
    # How an execution begins again does not change which one finds the bug: take the fast way.
    options = ("--strategy", strategy, *limit, "--restart", "memory")
    runs = list(pool.map(lambda seed: bench.on_any_core(e, *options, "--seed", str(seed)), range(1, bench.seeds + 1)))
    hits = [s for s in runs if s["findings"]]
    if strategy == "auto":
        bench.expect(e, len(hits) == len(runs), "found with %d of %d seeds" % (len(hits), len(runs)), *options)
    return {"found": len(hits),
            "median": statistics.median(s["executions"] + s["discarded"] for s in hits) if hits else None,
            "seconds": round(statistics.median(s["cpu"] for s in hits), 4) if hits else None}


def bench_density(bench, found):
    rows = []
    with concurrent.futures.ThreadPoolExecutor(bench.cores.qsize()) as pool:
        for e in (e for e in found if e.what == "bug" and e.name in bench.reference["density"]):
            row = {"name": e.name, "seeds": bench.seeds,
                   "strategies": {name: density(bench, pool, e, name) for name in DENSITY_STRATEGIES}}
            rows.append(row)
            say("search: density: %s: %s" % (e.name, ", ".join("%s %d/%d" % (n, r["found"], bench.seeds)
                                                               for n, r in row["strategies"].items())))
    return rows


# ---- results ----


def reference():
    with open(os.path.join(SOURCES, "reference.json"), encoding="utf-8") as f:
        return json.load(f)


def text_of(result, markdown):
    return tables(result, reference(), (BUG_SECONDS, DENSITY_EXECUTIONS), markdown)


def write_doc(result):
    with open(DOC, encoding="utf-8") as f:
        doc = f.read()
    if DOC_BEGIN not in doc or DOC_END not in doc:
        raise Failure("docs/performance.md has lost its markers %s and %s" % (DOC_BEGIN, DOC_END))
    head, tail = doc.split(DOC_BEGIN, 1)[0], doc.split(DOC_END, 1)[1]
    with open(DOC, "w", encoding="utf-8") as f:
        f.write("%s%s\n%s.\n\n%s%s%s" % (head, DOC_BEGIN, Record(result).header(), text_of(result, True), DOC_END, tail))
    print("written to docs/performance.md")


def store(result):
    os.makedirs(RESULTS, exist_ok=True)
    with open(STORED, "a", encoding="utf-8") as f:
        f.write(json.dumps(result, separators=(",", ":")) + "\n")
    print("stored in bench/results/search.json")


def last_stored():
    try:
        with open(STORED, encoding="utf-8") as f:
            return json.loads(f.read().splitlines()[-1])
    except (OSError, IndexError) as e:
        raise Failure("nothing is stored yet; run without --last first") from e


def measure(a, only):
    """Runs the sections; returns the results and the failed expectations."""
    found = expectations(a.names)
    bench = Bench(a.build, a.quick, a.seeds)
    for e in found:
        bench.program(e.program)
    result = Record.new("full").data
    del result["figures"]
    result["peers"] = [p.name for p in bench.peers]
    sections = {"counts": bench_counts, "states": bench_states, "symmetry": bench_symmetry, "bugs": bench_bugs, "density": bench_density}
    for name in (n for n in SECTIONS if n in only):
        began = time.monotonic()
        try:
            result[name] = sections[name](bench, found)
        except Failure as e:
            bench.wrong.append("%s: %s" % (name, e))
        say("search: %s: %.0f s" % (name, time.monotonic() - began))
    return result, bench.wrong


def parse(argv):
    p = argparse.ArgumentParser(description="Measures the search on the programs of bench/search.")
    p.add_argument("--build", default="build", help="the build folder (default: build)")
    p.add_argument("--quick", action="store_true", help="under a minute, smaller sizes, stores nothing")
    p.add_argument("--only", default=",".join(SECTIONS), help="comma list of: " + ", ".join(SECTIONS))
    p.add_argument("--seeds", type=int, help="seeds of the density section (default 100, with --quick 10)")
    p.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    p.add_argument("--doc", action="store_true", help="write the tables into docs/performance.md")
    p.add_argument("--last", action="store_true", help="show the last stored run instead of a new one")
    p.add_argument("names", nargs="*", help="programs (default: all)")
    a = p.parse_args(argv)
    for s in a.only.split(","):
        if s not in SECTIONS:
            p.error("unknown section '%s'; known are: %s" % (s, ", ".join(SECTIONS)))
    return a


def main(argv):
    a = parse(argv)
    only = set(a.only.split(","))
    try:
        result, wrong = (last_stored(), []) if a.last else measure(a, only)
    except Failure as e:
        say("search: %s" % e)
        return 1
    print(text_of(result, a.markdown))
    if wrong:
        print("%d wrong:" % len(wrong))
        for line in wrong:
            print("  " + line)
        return 1
    print("every expectation holds")
    if not a.last and not a.quick and not a.names and not a.seeds and only == set(SECTIONS):
        store(result)
    if a.doc:
        write_doc(result)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

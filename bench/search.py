#!/usr/bin/env python3
"""The search, measured on the programs of bench/search: executions, speed, bugs found, error density.

    bench/search.py --build DIR                  everything; appends a line to bench/results/search.json
    bench/search.py --build DIR --quick          under a minute: smaller sizes, 10 seeds; stores nothing
    bench/search.py --build DIR lock reorder     some programs (stores nothing)
    bench/search.py --build DIR --only bugs      some sections: counts, bugs, density
    bench/search.py --markdown                   tables as Markdown
    bench/search.py --doc                        also puts them into docs/performance.md

Each program says in its opening comment what has to come out:

    count: ARGS strategy=NAME executions=N   a complete search runs exactly N executions, none of them blocked;
                                             with findings=K[,K] it goes on after findings, and finds these kinds
    clean: ARGS                              a complete search finds nothing, and neither does the default
    bug: ARGS kind=K[,K]                     the default strategy finds one of these kinds within 10 seconds
    rare: ARGS kind=K[,K]                    as bug, but nothing is promised: shown, never wrong

An expectation that does not hold makes the exit status 1; a missed bar is shown and does not. The origin beside a
figure is the document that the program names. GenMC and Nidhugg run beside us where `genmc` or `nidhuggc` is on PATH;
where one rejects a program, its reason is printed. Seconds are CPU time, user and system, of the command and all its
processes, pinned to one core, start-up included."""
import argparse
import glob
import json
import os
import re
import shutil
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measure import HERE, Failure, Lab, say  # noqa: E402
from record import DOC, RESULTS, Record  # noqa: E402

SOURCES = os.path.join(HERE, "search")
SECTIONS = ("counts", "bugs", "density")
DOC_BEGIN, DOC_END = "<!-- search:begin -->", "<!-- search:end -->"
QUICK_EXECUTIONS = 8192  # larger counts are left out of --quick
BUG_SECONDS = 10
PEER_SECONDS = 30
DENSITY_EXECUTIONS = 1000
LINE = re.compile(r"^[/ *]*(count|clean|bug|rare):(.*?)(?:\*/)?$")


# ---- what is expected ----


class Expectation:
    def __init__(self, program, what, args, fields):
        self.program, self.what, self.args, self.fields = program, what, args, fields
        self.name = " ".join([program, *args])


def expectations(names):
    """All lines of the chosen programs, in order. {program: [Expectation]}"""
    found = {}
    for path in sorted(glob.glob(os.path.join(SOURCES, "*.c"))):
        program = os.path.basename(path)[:-2]
        if names and program not in names:
            continue
        found[program] = []
        with open(path, encoding="utf-8") as f:
            for line in f:
                m = LINE.match(line.rstrip())
                if not m:
                    continue
                words = m.group(2).split()
                fields = dict(w.split("=", 1) for w in words if "=" in w)
                found[program].append(Expectation(program, m.group(1), [w for w in words if "=" not in w], fields))
        if not found[program]:
            raise Failure("bench/search/%s.c does not say what to expect" % program)
    for name in names:
        if name not in found:
            raise Failure("no program %s in bench/search" % name)
    return found


# ---- running ----


class Bench:
    def __init__(self, build, quick, seeds=None):
        self.lab = Lab(build, quick)
        self.quick, self.seeds = quick, seeds
        self.wrong = []
        with open(os.path.join(SOURCES, "reference.json"), encoding="utf-8") as f:
            self.reference = json.load(f)
        self.strategies = self._strategies()
        self.peers = [p for p in (Genmc(self.lab), Nidhugg(self.lab)) if p.there]

    def _strategies(self):
        """{name: description}, as `heddle check --help` tells them."""
        text = self.lab.run([self.lab.heddle, "check", "--help"]).out.decode()
        section = text.split("\nStrategies:\n", 1)[1].split("\n\n", 1)[0]
        return dict(re.findall(r"^  (\S+) +(\S.*)$", section, re.M))

    def program(self, name):
        return self.lab.build("heddle-gcc", os.path.join(SOURCES, name), name)

    def check(self, e, *options, repeat=1):
        """The --json object of the fastest of `repeat` runs, with its CPU time, and its command for messages."""
        out = os.path.join(self.lab.dir, "summary.json")
        best = None
        for _ in range(repeat):
            command = [self.lab.heddle, "check", "--quiet", "--json", out, "--out", os.path.join(self.lab.dir, "found"),
                       *options, "--", self.program(e.program), *e.args]
            r = self.lab.run(command, statuses=(0, 1, 5))
            with open(out, encoding="utf-8") as f:
                s = json.load(f)
            s["cpu"] = r.cpu
            if not best or s["cpu"] < best["cpu"]:
                best = s
        return best

    def expect(self, e, holds, text, *options):
        if not holds:
            self.wrong.append("%s: %s (heddle check %s -- %s)" % (e.name, text, " ".join(options), e.name))
            say("search: WRONG: " + self.wrong[-1])
        return holds

    def rate(self, s):
        return s["executions"] / s["cpu"] if s["cpu"] > 0 else 0


# ---- executions ----


def bench_counts(bench, found):
    rows = []
    for e in (e for es in found.values() for e in es if e.what == "count"):
        executions = int(e.fields["executions"])
        if bench.quick and executions > QUICK_EXECUTIONS:
            continue
        options = ("--strategy", e.fields["strategy"])
        kinds = set(filter(None, e.fields.get("findings", "").split(",")))
        if kinds:
            options = ("--all", *options)
        s = bench.check(e, *options, "--time", "60s", repeat=1 if bench.quick else 3)
        right = bench.expect(e, s["executions"] == executions, "%d executions, not %d" % (s["executions"], executions),
                             *options)
        right &= bench.expect(e, s["blocked"] == 0, "%d blocked executions" % s["blocked"], *options)
        right &= bench.expect(e, s["complete"] and not s["cut"], "the search is not complete", *options)
        found_kinds = {f["kind"] for f in s["findings"]}
        right &= bench.expect(e, found_kinds == kinds,
                              "findings: %s" % (", ".join(sorted(found_kinds)) or "none"), *options)
        row = {"name": e.name, "executions": s["executions"], "seconds": round(s["cpu"], 4),
               "rate": round(bench.rate(s)), "right": bool(right)}
        if "dpor" in bench.strategies:
            d = bench.check(e, *(o.replace(e.fields["strategy"], "dpor") for o in options), "--time", "20s")
            row["dpor"] = d["executions"] + d["blocked"] if d["complete"] else None
        row["peers"] = {} if kinds else {p.name: p.run(e) for p in bench.peers}
        rows.append(row)
    for e in (e for es in found.values() for e in es if e.what == "clean"):
        s = bench.check(e, "--strategy", "optimal", "--time", "60s")
        bench.expect(e, s["complete"] and not s["findings"] and not s["blocked"] and not s["cut"],
                     "not clean and complete", "--strategy", "optimal")
        s = bench.check(e, "--max-executions", "2000")
        bench.expect(e, not s["findings"], "a finding", "--max-executions", "2000")
    return rows


# ---- bugs ----


def bench_bugs(bench, found):
    rows = []
    for e in (e for es in found.values() for e in es if e.what in ("bug", "rare")):
        if bench.quick and e.what == "rare":
            continue
        options = ("--time", "%ds" % BUG_SECONDS)
        s = bench.check(e, *options)
        kinds = [f["kind"] for f in s["findings"]]
        bench.expect(e, (kinds or e.what == "rare") and set(kinds[:1]) <= set(e.fields["kind"].split(",")),
                     "%s instead of %s" % (", ".join(kinds) or "nothing", e.fields["kind"]), *options)
        row = {"name": e.name, "kind": kinds[0] if kinds else None, "strategy": s["strategy"],
               "executions": s["executions"], "seconds": round(s["cpu"], 4)}
        if not bench.quick:
            row["peers"] = {p.name: p.run(e) for p in bench.peers}
        rows.append(row)
    return rows


def bench_density(bench, found):
    """Per hard program and randomised strategy: how many seeds find the bug, and after how many executions."""
    seeds = bench.seeds or (10 if bench.quick else 100)
    names = [n for n in ("random", "pct", "pos", "sites", "rdfs", "auto") if n in bench.strategies]
    rows = []
    for e in (e for es in found.values() for e in es if e.what in ("bug", "rare") and
              e.name in bench.reference["density"]):
        row = {"name": e.name, "seeds": seeds, "executions": DENSITY_EXECUTIONS, "strategies": {}}
        for name in names:
            first = []
            for seed in range(1, seeds + 1):
                # How an execution begins again does not change which one finds the bug: take the fast way.
                s = bench.check(e, "--strategy", name, "--seed", str(seed), "--max-executions", str(DENSITY_EXECUTIONS),
                                "--restart", "memory")
                if s["findings"]:
                    first.append(s["executions"])
            row["strategies"][name] = {"found": len(first), "median": statistics.median(first) if first else None}
        rows.append(row)
        say("search: density: %s: %s" % (e.name, ", ".join("%s %d/%d" % (n, r["found"], seeds)
                                                           for n, r in row["strategies"].items())))
    return rows


# ---- peers ----


class Peer:
    """A checker that compiles the program itself; sizes go in as -DSIZES={...}."""

    def __init__(self, lab):
        self.lab = lab
        self.path = shutil.which(self.tool)
        self.there = self.path is not None

    def run(self, e):
        """{"executions", "seconds"}, with "bug" where it found one, or {"rejected": reason} or {"stopped": seconds}"""
        source = os.path.join(SOURCES, e.program + ".c")
        command = ["timeout", str(PEER_SECONDS), *self.command("-DSIZES={%s}" % ",".join(e.args), source)]
        r = self.lab.run(command, statuses=range(-64, 256))
        text = (r.out + r.err).decode(errors="replace")
        if r.status == 124:
            return {"stopped": PEER_SECONDS}
        bug = re.search(self.bug, text)
        executions = re.search(self.executions, text)
        if not executions and not bug:
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            told = [line for line in lines if re.search(r"error|unsupported|not supported|unknown|cannot", line, re.I)]
            reason = (told or lines or ["exit status %d" % r.status])[0]
            return {"rejected": reason.replace(SOURCES + os.sep, "")[:100]}
        result = {"executions": int(executions.group(1)) if executions else None, "seconds": round(r.cpu, 3)}
        if bug:
            result["bug"] = True
        return result


class Genmc(Peer):
    name, tool = "genmc", "genmc"
    executions = r"Number of complete executions explored: (\d+)"
    bug = r"Error(?: detected)?: (?:Safety violation|Non-terminating|Deadlock|Assertion)|Assertion violation"

    def command(self, sizes, source):
        return [self.path, "--sc", "--disable-estimation", "--", sizes, source]


class Nidhugg(Peer):
    name, tool = "nidhugg", "nidhuggc"
    executions = r"Trace count: (\d+)"
    bug = r"Error detected:"

    def command(self, sizes, source):
        return [self.path, sizes, "--", "--sc", "--optimal", source]


# ---- tables ----


def number(x):
    if x is None:
        return "-"
    if isinstance(x, int) or abs(x) >= 1000:
        return format(round(x), ",d")
    return "%.3f" % x if abs(x) < 1 else "%.1f" % x


def table(head, rows, markdown):
    """Right-aligned but for the first and the last column."""
    rows = [[str(c) for c in row] for row in rows]
    if markdown:
        lines = ["| %s |" % " | ".join(row) for row in [head, *rows]]
        lines.insert(1, "|---|%s---|" % ("---:|" * (len(head) - 2)))
        return "\n".join(lines) + "\n"
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    last = len(head) - 1
    return "\n".join("  ".join(c.ljust(widths[i]) if i in (0, last) else c.rjust(widths[i])
                               for i, c in enumerate(row)).rstrip() for row in [head, *rows]) + "\n"


def live(result):
    """What a peer did, in a few characters."""
    if not result:
        return "-"
    if "rejected" in result:
        return "rejects it"
    if "stopped" in result:
        return "> %d s" % result["stopped"]
    if result.get("bug"):
        return "bug, %.1f s" % result["seconds"]
    return "%s, %.1f s" % (number(result["executions"]), result["seconds"])


def counts_table(bench, rows, markdown):
    peers = [p.name for p in bench.peers]
    head = ["program", "executions", "s", "executions/s", "dpor", "origin", "origin's s", "GenMC's s", "Nidhugg's s",
            *("%s here" % p for p in peers), ""]
    cells = []
    for r in rows:
        ref = bench.reference["counts"].get(r["name"], {})
        cells.append([r["name"], number(r["executions"]), number(r["seconds"]), number(r["rate"]),
                      number(r.get("dpor")),
                      number(ref.get("origin_executions")), number(ref.get("origin_seconds")), number(ref.get("genmc")),
                      number(ref.get("nidhugg")), *(live(r["peers"].get(p)) for p in peers),
                      " ".join(filter(None, ["" if r["right"] else "WRONG", ref.get("note", "")]))])
    return table(head, cells, markdown)


def bars_table(bench, rows, markdown):
    by_name, cells = {r["name"]: r for r in rows}, []
    for bar in bench.reference["bars"]:
        r = by_name.get(bar["name"])
        if not r:
            continue
        value, least, most = r[bar["figure"]], bar.get("at_least"), bar.get("at_most")
        ok = value >= least if least is not None else value <= most
        unit = "executions/s" if bar["figure"] == "rate" else "s"
        cells.append([bar["name"], "%s %s" % (number(value), unit),
                      ">= " + number(least) if least is not None else "<= " + number(most),
                      "%s %s" % ("ok" if ok else "MISSED", bar.get("note", ""))])
    return table(["bar", "measured", "bar", ""], cells, markdown) if cells else ""


def bugs_table(bench, rows, markdown):
    peers = [p.name for p in bench.peers] if not bench.quick else []
    head = ["program", "kind", "executions", "s", *("%s here" % p for p in peers), "origin"]
    return table(head, [[r["name"], r["kind"] or "NOT FOUND", number(r["executions"]), number(r["seconds"]),
                         *(live(r["peers"].get(p)) for p in peers), bench.reference["bugs"].get(r["name"], "")]
                        for r in rows], markdown)


def density_table(rows, markdown):
    names = list(rows[0]["strategies"]) if rows else []
    cells = []
    for r in rows:
        row = [r["name"]]
        for n in names:
            s = r["strategies"][n]
            row += ["%.2f" % (s["found"] / r["seeds"]), "-" if s["median"] is None else "%g" % s["median"]]
        cells.append([*row, ""])
    return table(["program", *(h for n in names for h in (n, "median")), ""], cells, markdown) if rows else ""


def rejections(rows):
    lines = {"%s rejects %s: %s" % (peer, r["name"].split()[0], result["rejected"])
             for r in rows for peer, result in r.get("peers", {}).items() if "rejected" in result}
    return "".join("%s\n" % line for line in sorted(lines))


def tables(bench, result, markdown):
    """Everything people read, as one text."""
    parts = []

    def section(title, *texts):
        parts.extend(["**%s**\n" % title if markdown else "%s\n" % title, *texts])

    if "counts" in result:
        section("Executions of a complete search, --strategy optimal", counts_table(bench, result["counts"], markdown),
                bars_table(bench, result["counts"], markdown))
    if "bugs" in result:
        section("Bugs, default strategy, within %d s" % BUG_SECONDS, bugs_table(bench, result["bugs"], markdown))
    if result.get("density"):
        section("Error density: the share of %d seeds that find the bug within %d executions, and the median of "
                "executions to it" % (result["density"][0]["seeds"], DENSITY_EXECUTIONS),
                density_table(result["density"], markdown))
    peers = rejections(result.get("counts", []) + result.get("bugs", []))
    for p in (Genmc, Nidhugg):
        if not any(isinstance(q, p) for q in bench.peers):
            peers += "%s was not on PATH: its figures are quoted, not measured in this run.\n" % p.tool
    return "\n".join([t for t in parts if t] + [peers])


def write_doc(text):
    with open(DOC, encoding="utf-8") as f:
        doc = f.read()
    if DOC_BEGIN not in doc or DOC_END not in doc:
        raise Failure("docs/performance.md has lost its markers %s and %s" % (DOC_BEGIN, DOC_END))
    head, tail = doc.split(DOC_BEGIN, 1)[0], doc.split(DOC_END, 1)[1]
    with open(DOC, "w", encoding="utf-8") as f:
        f.write("%s%s\n%s\n\n%s%s%s" % (head, DOC_BEGIN, Record.new("full").header() + ".", text, DOC_END, tail))
    print("written to docs/performance.md")


def store(result):
    data = Record.new("search").data
    del data["figures"]
    data.update(result)
    os.makedirs(RESULTS, exist_ok=True)
    with open(os.path.join(RESULTS, "search.json"), "a", encoding="utf-8") as f:
        f.write(json.dumps(data, separators=(",", ":")) + "\n")
    print("stored in bench/results/search.json")


def main(argv):
    p = argparse.ArgumentParser(description="Measures the search on the programs of bench/search.")
    p.add_argument("--build", default="build", help="the build folder (default: build)")
    p.add_argument("--quick", action="store_true", help="under a minute, smaller sizes, stores nothing")
    p.add_argument("--only", default=",".join(SECTIONS), help="comma list of: " + ", ".join(SECTIONS))
    p.add_argument("--seeds", type=int, help="seeds of the density section (default 100, with --quick 10)")
    p.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    p.add_argument("--doc", action="store_true", help="write the tables into docs/performance.md")
    p.add_argument("names", nargs="*", help="programs (default: all)")
    a = p.parse_args(argv)
    only = a.only.split(",")
    for s in only:
        if s not in SECTIONS:
            p.error("unknown section '%s'; known are: %s" % (s, ", ".join(SECTIONS)))
    sections = {"counts": bench_counts, "bugs": bench_bugs, "density": bench_density}
    try:
        found = expectations(a.names)
        bench = Bench(a.build, a.quick, a.seeds)
        for program in found:
            bench.program(program)
    except Failure as e:
        say("search: %s" % e)
        return 1
    result = {}
    for name in (n for n in SECTIONS if n in only):
        began = time.monotonic()
        try:
            result[name] = sections[name](bench, found)
        except Failure as e:
            bench.wrong.append("%s: %s" % (name, e))
        say("search: %s: %.0f s" % (name, time.monotonic() - began))
    print(tables(bench, result, a.markdown))
    if bench.wrong:
        print("%d wrong:" % len(bench.wrong))
        for line in bench.wrong:
            print("  " + line)
        return 1
    print("every expectation holds")
    if not a.quick and not a.names and set(only) == set(SECTIONS):
        store(result)
    if a.doc:
        write_doc(tables(bench, result, True))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The tables of bench/search.py, as text or Markdown, from what it measured or has stored."""


def number(x):
    if x is None:
        return "-"
    if isinstance(x, int) or abs(x) >= 1000:
        return format(round(x), ",d")
    return "%.3f" % x if abs(x) < 1 else "%.1f" % x


def milliseconds(seconds):
    return "%.0f ms" % (seconds * 1e3) if seconds < 1 else "%.1f s" % seconds


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


def counts_table(result, reference, markdown):
    peers = result["peers"]
    head = ["program", "executions", "s", "executions/s", "dpor", "origin", "origin's s", "GenMC's s", "Nidhugg's s",
            *("%s here" % p for p in peers), ""]
    cells = []
    for r in result["counts"]:
        ref = reference["counts"].get(r["name"], {})
        cells.append([r["name"], number(r["executions"]), number(r["seconds"]), number(r["rate"]), number(r["dpor"]),
                      number(ref.get("origin_executions")), number(ref.get("origin_seconds")), number(ref.get("genmc")),
                      number(ref.get("nidhugg")), *(live(r["peers"].get(p)) for p in peers),
                      " ".join(filter(None, ["" if r["right"] else "WRONG", ref.get("note", "")]))])
    return table(head, cells, markdown)


def bars_table(result, reference, markdown):
    by_name, cells = {r["name"]: r for r in result["counts"]}, []
    for bar in reference["bars"]:
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


def states_table(result, reference, markdown):
    head = ["program", "executions", "given up", "states", "bytes each", "s", "optimal", "optimal's s", "origin"]
    return table(head, [[r["name"], number(r["executions"]), number(r["matches"]), number(r["states"]), number(r["bytes"]),
                         number(r["seconds"]), number(r["optimal"]), number(r["optimal_seconds"]),
                         " ".join(filter(None, ["" if r["right"] else "WRONG", reference["states"].get(r["name"], "")]))]
                        for r in result["states"]], markdown)


def symmetry_table(result, reference, markdown):
    head = ["program", "with", "executions", "given up", "s", "optimal", "optimal's s", "origin"]
    return table(head, [[r["name"], r["with"], number(r["executions"]), number(r["blocked"]), number(r["seconds"]),
                         number(r["optimal"]), number(r["optimal_seconds"]),
                         " ".join(filter(None, ["" if r["right"] else "WRONG", reference["symmetry"].get(r["name"], "")]))]
                        for r in result["symmetry"]], markdown)


def bugs_table(result, reference, markdown):
    peers = result["peers"]
    head = ["program", "kind", "found by", "executions", "s", *("%s here" % p for p in peers), "origin"]
    return table(head, [[r["name"], r["kind"] or "NOT FOUND", r["by"] or "-", number(r["executions"]),
                         number(r["seconds"]), *(live(r["peers"].get(p)) for p in peers),
                         reference["bugs"].get(r["name"], "")] for r in result["bugs"]], markdown)


def density_table(result, markdown):
    rows = result["density"]
    names = list(rows[0]["strategies"])
    cells = []
    for r in rows:
        row = [r["name"]]
        for n in names:
            s = r["strategies"][n]
            share = "%.2f" % (s["found"] / r["seeds"])
            row.append("%s, %s, %s" % (share, number(round(s["median"])), milliseconds(s["seconds"]))
                       if s["found"] else share)
        cells.append([*row, ""])
    always = ["%d of %d" % (sum(r["strategies"][n]["found"] == r["seeds"] for r in rows), len(rows)) for n in names]
    cells.append(["found by every seed", *always, ""])
    return table(["program", *names, ""], cells, markdown)


def rejections(result):
    rows = result.get("counts", []) + result.get("bugs", [])
    lines = {"%s rejects %s: %s" % (peer, r["name"].split()[0], p["rejected"])
             for r in rows for peer, p in r["peers"].items() if "rejected" in p}
    return "".join("- %s\n" % line for line in sorted(lines))


def tables(result, reference, limits, markdown):
    """Everything people read, as one text. limits: seconds for a bug, executions of the density section."""
    parts = []

    def section(title, *texts):
        parts.extend(["**%s**\n" % title if markdown else "%s\n" % title, *texts])

    if result.get("counts"):
        section("Executions of a complete search, --strategy optimal", counts_table(result, reference, markdown),
                bars_table(result, reference, markdown))
    if result.get("states"):
        section("Executions of a complete search with --states, and without, within 10 s",
                states_table(result, reference, markdown))
    if result.get("symmetry"):
        section("Executions of a complete search with --symmetry, and without, within 10 s",
                symmetry_table(result, reference, markdown))
    if result.get("bugs"):
        section("Bugs, default strategy, within %d s" % limits[0], bugs_table(result, reference, markdown))
    if result.get("density"):
        section("Error density over %d seeds: share that finds the bug, median of executions, median of CPU time. "
                "%s executions; auto: %d s" % (result["density"][0]["seeds"], number(limits[1]), limits[0]),
                density_table(result, markdown))
    if rejections(result):
        parts.append(rejections(result))
    for name in ("GenMC", "Nidhugg"):
        if name not in result["peers"]:
            parts.append("%s was not on PATH: its figures are quoted, not measured in this run.\n" % name)
    return "\n".join(filter(None, parts))

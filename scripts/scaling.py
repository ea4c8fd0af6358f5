#!/usr/bin/env python3
"""How a search scales to many ranks, in simulation: writes the tables of docs/scaling.md and docs/scaling.svg.

    scripts/scaling.py --build DIR           runs `heddle cluster simulate` for 1 to 4,096 ranks; a few minutes
    scripts/scaling.py --build DIR --print   prints the tables, writes nothing

The simulation is deterministic: the same code gives the same figures on every machine."""
import argparse
import json
import os
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RANKS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
TREES = [
    ("uneven, 10^8 executions of 25 µs", ["uneven=100000000", "execution=25e-6"], "#1f77b4"),
    ("bbuf with 8 threads, recorded, 1,938,816 executions of 70 µs", ["recorded=8-threads", "execution=70e-6"], "#d62728"),
    ("bbuf with 8 threads, 10^4 recorded executions, each followed by the same 10^4, of 25 µs",
     ["recorded=short", "again=1", "execution=25e-6"], "#9467bd"),
    ("orders of 11 threads, 39,916,800 executions of 25 µs", ["orders=11", "execution=25e-6"], "#2ca02c"),
]
RECORDED = [("8-threads", 1938816), ("short", 10000)]  # executions of `bbuf 4 4 1 1`
BEGIN, END = "<!-- scaling:begin -->", "<!-- scaling:end -->"


def record(build, folder):
    """The trees of real searches: the first executions of `optimal`, by one worker."""
    heddle, program = os.path.abspath(os.path.join(build, "heddle")), os.path.join(folder, "bbuf")
    subprocess.run([heddle, "cc", "-O1", "-w", os.path.join(ROOT, "bench/search/bbuf.c"), "-o", program, "-pthread"], check=True)
    for name, n in RECORDED:
        subprocess.run([heddle, "check", "--quiet", "--strategy", "optimal", "--max-executions", str(n), "--", program,
                        "4", "4", "1", "1"], env=dict(os.environ, HEDDLE_RECORD_TREE=os.path.join(folder, name)),
                       stdout=subprocess.DEVNULL, cwd=folder)


def simulate(build, ranks, words, folder):
    words = [w.replace("recorded=", "recorded=%s/" % folder) for w in words]
    command = [os.path.join(build, "heddle"), "cluster", "simulate", "ranks=%d" % ranks, *words]
    r = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    assert r["over"] and r["executions"] == r["expected"], r
    return r


def table(name, rows):
    lines = ["", "### " + name[0].upper() + name[1:], "",
             "| ranks | seconds | speed-up | efficiency | idle | units | messages | kB | time in messages |",
             "|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        lines.append("| %d | %.2f | %.1f | %.1f %% | %.1f %% | %d | %d | %d | %.2f %% |" % (
            r["ranks"], r["seconds"], r["speedup"], 100 * r["efficiency"], 100 * r["idle"], r["units"], r["messages"],
            r["bytes"] // 1000, 100 * r["messaging"]))
    return lines


def plot(results):
    """Efficiency over the number of ranks, both drawn by hand: no library is needed."""
    width, height, left, top, right, bottom = 720, 400, 60, 20, 20, 60
    w, h = width - left - right, height - top - bottom

    def x(ranks):
        return left + w * RANKS.index(ranks) / (len(RANKS) - 1)

    def y(efficiency):
        return top + h * (1 - efficiency)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">' %
           (width, height), '<rect width="%d" height="%d" fill="white"/>' % (width, height)]
    for e in range(0, 101, 20):
        out.append('<path d="M%d %.1fH%d" stroke="#ddd"/>' % (left, y(e / 100), width - right))
        out.append('<text x="%d" y="%.1f" text-anchor="end">%d %%</text>' % (left - 6, y(e / 100) + 4, e))
    for n in RANKS:
        out.append('<text x="%.1f" y="%d" text-anchor="middle">%d</text>' % (x(n), top + h + 18, n))
    out.append('<text x="%d" y="%d" text-anchor="middle">ranks</text>' % (left + w // 2, top + h + 40))
    for i, (name, colour, rows) in enumerate(results):
        points = " ".join("%.1f,%.1f" % (x(r["ranks"]), y(r["efficiency"])) for r in rows)
        out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>' % (points, colour))
        out.append('<path d="M%d %dh20" stroke="%s" stroke-width="2"/>' % (left + 20, top + h - 70 + 20 * i, colour))
        out.append('<text x="%d" y="%d">%s</text>' % (left + 46, top + h - 66 + 20 * i, name))
    return "\n".join(out + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--print", action="store_true")
    args = parser.parse_args()
    lines, results = [], []
    with tempfile.TemporaryDirectory() as folder:
        record(args.build, folder)
        for name, words, colour in TREES:
            rows = [simulate(args.build, n, words, folder) for n in RANKS]
            lines += table(name, rows)
            results.append((name, colour, rows))
    text = "\n".join(lines[1:])
    if args.print:
        print(text)
        return
    with open(os.path.join(ROOT, "docs/scaling.svg"), "w", encoding="utf-8") as f:
        f.write(plot(results))
    path = os.path.join(ROOT, "docs/scaling.md")
    with open(path, encoding="utf-8") as f:
        page = f.read()
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    with open(path, "w", encoding="utf-8") as f:
        f.write(before + BEGIN + "\n" + text + "\n\n" + END + after)


if __name__ == "__main__":
    main()

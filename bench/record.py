"""The figures of one run: the printed table, the stored line of JSON, the table of docs/performance.md.

Stored: date, revision, processor, kernel, compilers, figures. Never host names or paths."""
import datetime
import glob
import json
import os
import platform
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
RESULTS = os.path.join(HERE, "results")
DOC = os.path.join(ROOT, "docs", "performance.md")
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


def _first_line(*command):
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else None
    except OSError:
        return None


def _cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


class Record:
    def __init__(self, data):
        self.data = data

    @classmethod
    def new(cls, mode):
        changed = _first_line("git", "status", "--porcelain", "--untracked-files=no", "--", "src", "include")
        return cls({
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "revision": (_first_line("git", "rev-parse", "--short=12", "HEAD") or "unknown")
                        + ("+changes" if changed else ""),
            "mode": mode,
            "cpu": _cpu_model(),
            "cpus": os.cpu_count(),
            "kernel": platform.release(),
            "gcc": _first_line("gcc", "-dumpfullversion"),
            "clang": _first_line("clang", "-dumpversion"),
            "figures": [],
        })

    @classmethod
    def last(cls):
        """The newest stored full run."""
        lines = []
        for path in glob.glob(os.path.join(RESULTS, "*cpu.json")):
            with open(path, encoding="utf-8") as f:
                lines += [json.loads(line) for line in f if line.strip()]
        lines.sort(key=lambda r: r["date"])
        return cls(lines[-1]) if lines else None

    def add(self, section, name, value, unit, bar=None, above=False):
        """bar: the figure may not be over it (or, with `above`, under it); None when nothing is promised."""
        ok = None if bar is None else (value >= bar if above else value <= bar)
        self.data["figures"].append({"section": section, "name": name, "value": round(value, 4), "unit": unit,
                                     "bar": bar, "above": above, "ok": ok})

    def missed(self):
        return [f for f in self.data["figures"] if f["ok"] is False]

    def store(self):
        slug = re.sub(r"[^a-z0-9]+", "-", self.data["cpu"].lower()).strip("-")
        path = os.path.join(RESULTS, "%s-%dcpu.json" % (slug, self.data["cpus"]))
        os.makedirs(RESULTS, exist_ok=True)
        with open(path, "a", encoding="utf-8") as f:
            f.write(json.dumps(self.data, separators=(",", ":")) + "\n")
        return os.path.relpath(path, ROOT)

    # ---- tables ----

    def header(self):
        d = self.data
        return "%s, %d cpus, Linux %s; gcc %s, clang %s; revision %s, %s%s" % (
            d["cpu"], d["cpus"], d["kernel"], d["gcc"] or "none", d["clang"] or "none", d["revision"], d["date"][:10],
            "" if d["mode"] == "full" else " (%s)" % d["mode"])

    @staticmethod
    def _number(value):
        if abs(value) >= 1000:
            return format(round(value), ",d")
        return "%.0f" % value if abs(value) >= 100 else "%.2f" % value if abs(value) < 10 else "%.1f" % value

    def _rows(self):
        for f in self.data["figures"]:
            value = "%s %s" % (self._number(f["value"]), f["unit"])
            bar = "" if f["bar"] is None else "%s %s" % (">=" if f["above"] else "<=", self._number_bar(f["bar"]))
            yield f["section"], f["name"], value, bar, {None: "", True: "ok", False: "MISSED"}[f["ok"]]

    @staticmethod
    def _number_bar(bar):
        return format(bar, ",g") if bar < 1000 else format(int(bar), ",d")

    def text(self):
        lines, section = [self.header()], None
        for s, name, value, bar, verdict in self._rows():
            if s != section:
                section = s
                lines += ["", s]
            lines.append(("  %-54s %20s  %11s  %s" % (name, value, bar, verdict)).rstrip())
        return "\n".join(lines) + "\n"

    def markdown(self):
        lines, section = [self.header() + "."], None
        for s, name, value, bar, verdict in self._rows():
            if s != section:
                section = s
                lines += ["", "**%s**" % s, "", "| figure | measured | bar | |", "|---|---:|---:|---|"]
            lines.append("| %s | %s | %s | %s |" % (name, value, bar, verdict))
        return "\n".join(lines) + "\n"

    def write_doc(self):
        with open(DOC, encoding="utf-8") as f:
            text = f.read()
        if BEGIN not in text or END not in text:
            raise ValueError("docs/performance.md has lost its markers %s and %s" % (BEGIN, END))
        head, tail = text.split(BEGIN, 1)[0], text.split(END, 1)[1]
        with open(DOC, "w", encoding="utf-8") as f:
            f.write("%s%s\n%s%s%s" % (head, BEGIN, self.markdown(), END, tail))
        return os.path.relpath(DOC, ROOT)

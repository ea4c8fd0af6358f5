"""Shared by the tests of the whole tool: a scratch folder, building, running and checking results."""
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile

CXX = {"gcc": "g++", "clang": "clang++"}
TIMEOUT = 40


class Failed(Exception):
    """A failed check; the text names the command that failed."""


def each(*parameters):
    """Decorator: one test per parameter."""
    def mark(function):
        function.parameters = parameters
        return function
    return mark


def tail(text, lines=6):
    return " | ".join(text.strip().splitlines()[-lines:])


class Scratch:
    """A temporary folder, and the heddle of one build."""

    def __init__(self, build, keep=False):
        self.build = build
        self.heddle = os.path.join(build, "heddle")
        self.runtime = os.path.join(build, "lib", "heddle", "libheddle_rt.so.1")
        self.keep = keep
        self.last = ""
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("HEDDLE")}
        self.env.update(LC_ALL="C")

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="heddle-test-")
        os.chmod(self.dir, 0o755)
        return self

    def __exit__(self, *_):
        if not self.keep:
            shutil.rmtree(self.dir, ignore_errors=True)

    # ---- files ----

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb" if isinstance(text, bytes) else "w") as f:
            f.write(text)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), errors="replace") as f:
            return f.read()

    def findings(self, out=".heddle"):
        """The numbers of the stored findings."""
        return sorted(int(os.path.basename(p)) for p in glob.glob(self.path(out, "[0-9]*")))

    def events(self, trace=".heddle/1/trace", plain=False):
        """The events of a trace, one per line: thread, operation, object, size, place and more. Plain accesses
        are included only on request."""
        lines = self.run([self.heddle, "trace", "show", trace]).stdout.splitlines()
        first = [i for i, line in enumerate(lines) if line.startswith("events ")][0]
        return [line.split(" ", 1)[1] for line in lines[first + 1:-1] if plain or " plain" not in line]

    # ---- running ----

    def run(self, command, want=0, env=None, stdin=None, cwd=None, timeout=TIMEOUT, **kw):
        """Runs a command in the folder; fails unless its exit status is `want` (None: any; a list: one of it)."""
        self.last = " ".join(map(shlex.quote, command))
        if cwd is None:
            cwd = self.dir
        child = subprocess.Popen(command, cwd=cwd, env=dict(self.env, **(env or {})), text=True, errors="replace",
                                 stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **kw)
        try:
            out, err = child.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            raise Failed("%s: still running after %d s" % (self.last, timeout))
        p = subprocess.CompletedProcess(command, child.returncode, out, err)
        if want is not None and p.returncode not in (want if isinstance(want, (list, tuple)) else (want,)):
            raise Failed("%s: exit status %d, expected %s: %s" % (self.last, p.returncode, want, tail(out + err)))
        return p

    def cc(self, source, out, *flags, compiler="gcc", want=0):
        """heddle cc, or heddle c++ for a .cc file."""
        cxx = source.endswith(".cc")
        env = {"HEDDLE_CC": compiler, "HEDDLE_CXX": CXX[compiler]}
        warnings = [] if "-Wall" in flags else ["-w"]
        return self.run([self.heddle, "c++" if cxx else "cc", "-g", *warnings, *flags, source, "-o", out, "-pthread"],
                        env=env, want=want)

    def build_text(self, text, *flags, name="prog", compiler="gcc", suffix=".c"):
        """Builds a program from its text; returns ./name."""
        self.write(name + suffix, text)
        self.cc(name + suffix, name, *(flags or ("-O1",)), compiler=compiler)
        return "./" + name

    def search(self, verb, program, *options, want=None, args=(), **kw):
        """heddle run|check --json; returns the JSON with exit status, output and error added."""
        result = self.path("result.json")
        if os.path.exists(result):
            os.remove(result)
        p = self.run([self.heddle, verb, "--json", "result.json", *options, "--", program, *args], want=want, **kw)
        self.check(os.path.exists(result), "exit status %d and no JSON: %s" % (p.returncode, tail(p.stdout + p.stderr)))
        with open(result) as f:
            data = json.load(f)
        self.check(data["complete"] == (not data["inexact"]), "complete: %s, reasons: %s" % (data["complete"], data["inexact"]))
        return dict(data, status=p.returncode, out=p.stdout, err=p.stderr)

    def replay(self, folder=".heddle/1", times=3, options=(), **kw):
        """heddle replay, which must give the same finding every time. Converting the trace to text and back gives the same."""
        p = self.run([self.heddle, "replay", folder, "--times", str(times), *options], want=1, **kw)
        if times > 1:
            self.check("%d of %d identical" % (times, times) in p.stdout + p.stderr,
                       "not identical: " + tail(p.stdout + p.stderr))
        trace = os.path.normpath(os.path.join(kw.get("cwd") or self.dir, folder, "trace"))
        if os.path.exists(trace):
            self.round_trip(trace)
        return p

    def round_trip(self, trace):
        """Converting a trace to text and back must give the same bytes."""
        text, again = self.path(".trace.txt"), self.path(".trace.bin")
        self.run([self.heddle, "trace", "convert", "--to", "text", trace, "-o", text])
        self.run([self.heddle, "trace", "convert", text, "-o", again])
        with open(self.path(trace), "rb") as f, open(again, "rb") as g:
            self.check(f.read() == g.read(), "other bytes after a round trip through text: %s" % trace)
        os.remove(text)
        os.remove(again)

    # ---- checking ----

    def check(self, condition, message):
        if not condition:
            raise Failed("%s: %s" % (self.last, message))

    def same(self, got, want, what="output"):
        if got == want:
            return
        got, want = repr(got), repr(want)
        at = max(0, len(os.path.commonprefix([got, want])) - 60)
        self.check(False, "%s differs: got ...%s expected ...%s" % (what, got[at:at + 240], want[at:at + 240]))

    def is_clean(self, r, executions=None):
        """Nothing was found: in exactly this many executions, or in all there are, or (without a number) in as many as
        the limit allowed."""
        kinds = ["%s at %s" % (f["kind"], place(f)) for f in r["findings"]]
        self.check(not kinds, "nothing was to be found, but: " + ", ".join(kinds))
        status = 5 if r["stopped"] == "executions" and not executions else 0
        self.check(r["status"] == status, "exit status %d, expected %d: %s" % (
            r["status"], status, tail(r["out"] + r["err"])))
        self.check(r["verdict"] == ("clean" if r["complete"] else "bounded"), "verdict " + r["verdict"])
        if executions:
            self.same(r["executions"], executions, "number of executions")

    def is_bug(self, r, kinds, exactly_one=True):
        """One finding, of one of these kinds, that replays; returns it."""
        got = [f["kind"] for f in r["findings"]]
        self.check(got, "nothing was found, expected %s: %s" % ("|".join(kinds), tail(r["out"] + r["err"])))
        self.check(all(k in kinds for k in got), "expected %s, got %s at %s: %s" % (
            "|".join(kinds), ",".join(got), place(r["findings"][0]), tail(r["out"] + r["err"], 12)))
        self.check(len(got) == 1 or not exactly_one, "found %d things, expected one" % len(got))
        self.check(r["status"] == 1, "exit status %d, expected 1" % r["status"])
        for f in r["findings"]:
            # What `heddle run` finds is not run again.
            self.check(f["replays"] is not False, "the finding did not replay: %s" % f.get("not_replayed"))
        return r["findings"][0]


def place(finding):
    """The first place of a finding, for messages."""
    for w in finding["where"]:
        return "%s:%s (%s)" % (w["file"] and os.path.basename(w["file"]), w["line"], w["function"])
    return "nowhere"


def anonymise(text, s):
    """Terminal output with everything that differs between runs replaced: paths, addresses, times and rates, hashes."""
    for path, name in ((s.dir, "DIR"), (s.build, "BUILD")):
        text = text.replace(os.path.realpath(path), name).replace(path, name)
    text = re.sub(r"\b0x[0-9a-f]{4,}", "0xADDR", text)
    text = re.sub(r"\b[0-9a-f]{40}\b", "BUILD-ID", text)
    text = re.sub(r"\b[0-9]+(\.[0-9]+)? s\b", "TIME s", text)
    text = re.sub(r"\([0-9,.]+[kM]? per second\)", "(RATE per second)", text)
    text = re.sub(r"\b[0-9.]+[kM]? events?\b", "N events", text)
    return text

"""What every strategy says about a program, through the command line, and whether it agrees with plain
depth-first search.

Programs are built in batches (Batch), with one compiler at one level. judge() searches one of them:

 1. `dfs` is the reference: the happens-before classes, the final states, the findings (kind and places).
 2. Every strategy that claims to be complete has the same classes, states and findings. A strategy may only
    claim less than `dfs` when the runtime says so (`complete` is false for `dfs` too).
 3. `optimal` runs exactly one execution per class and gives up none.
 4. `rdfs` runs as many executions as `dfs`, `dpor` no more.
 5. Every finding was reproduced when it was found; some are replayed once more.

A program too large for `dfs` is still useful: `optimal` and `dpor` are compared with each other.
"""
import json
import os
import shlex
import shutil
import subprocess

import generate

COMPILERS = [(c, o) for o in ("-O1", "-O0", "-O2") for c in ("gcc", "clang")]
HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ["-g", "-w", "-fno-strict-aliasing"]
TIMEOUT = 60
MAX_LENGTH = "300"  # steps; longer executions go round in circles, and the program is passed over

OK, LARGE, SAID, HUGE, WRONG = "ok", "large", "said", "huge", "wrong"  # said: the search itself says it is not exact


class Broken(Exception):
    """The harness itself cannot go on: a program that does not compile, no heddle."""


class Result:
    """What one search said."""

    def __init__(self, data):
        self.executions = data["executions"]
        self.blocked = data["blocked"]
        self.discarded = data["discarded"]
        self.cut = data["cut"]
        self.infeasible = data.get("infeasible", 0)
        self.complete = data["complete"]
        self.stopped = data["stopped"]
        self.error = data.get("error")
        self.classes = (data.get("classes"), data.get("class_sum"))
        self.states = (data.get("states"), data.get("state_sum"))
        self.findings = frozenset(identity(f) for f in data["findings"])
        self.unreplayed = [f for f in data["findings"] if not f["replays"]]
        self.folders = [f["replay"] for f in data["findings"] if f["replay"]]

    def total(self):
        return self.executions + self.infeasible

    def text(self):
        return "%d executions%s, %d blocked, %s classes, %s states, findings: %s%s" % (
            self.executions, " (and %d infeasible)" % self.infeasible if self.infeasible else "", self.blocked,
            self.classes[0], self.states[0], ", ".join(sorted(self.findings)) or "none",
            "" if self.complete else " (not complete)")


def identity(finding):
    """Kind and places: those of the accesses, calls and waits that make the finding."""
    livelock = finding["kind"] == "livelock"  # where those wait who do not spin is not part of it
    places = sorted("%s:%s" % (w["function"], w["line"]) for w in finding["where"]
                    if w["role"] in ("at", "previous", "waits") and not (livelock and w["operation"] != "spin-wait"))
    return finding["kind"] + " at " + " ".join(places)


class Batch:
    """Programs in one binary, in a folder of its own. `text` is given when they were not generated."""

    def __init__(self, heddle, folder, programs, compiler, level, text=None):
        self.heddle, self.folder = heddle, folder
        self.compiler, self.level = compiler, level
        self.programs = programs
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "fuzz.c"), "w") as f:
            f.write(text or generate.source(programs))
        command = [heddle, "cc", *FLAGS, "-I" + HERE, level, "fuzz.c", "-o", "fuzz", "-pthread"]
        env = dict(os.environ, HEDDLE_CC=compiler)
        p = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
        if p.returncode:
            raise Broken("%s in %s: %s" % (shlex.join(command), folder, (p.stdout + p.stderr)[-2000:]))

    def command(self, index, strategy, limit, *more):
        return [self.heddle, "check", "--strategy", strategy, "--all", "--classes", "--quiet", "--json", "-",
                "--max-executions", str(limit), "--max-length", MAX_LENGTH, *self.programs[index].options, *more, "--", "./fuzz", str(index)]

    def search(self, index, strategy, limit, *more):
        """Result, or a text that says what went wrong."""
        command = self.command(index, strategy, limit, "--out", "out", *more)
        shutil.rmtree(os.path.join(self.folder, "out"), ignore_errors=True)
        try:
            p = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT,
                               stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return "still running after %d s" % TIMEOUT
        if p.returncode not in (0, 1, 5):
            return "exit status %d: %s" % (p.returncode, p.stderr.strip()[-300:])
        try:
            return Result(json.loads(p.stdout))
        except (ValueError, KeyError) as problem:
            return "not the JSON it should be: %r" % problem

    def replay(self, folder):
        p = subprocess.run([self.heddle, "replay", folder, "--times", "2"], cwd=self.folder, capture_output=True,
                           text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL)
        return p.returncode == 1 and "2 of 2 identical" in p.stdout + p.stderr


class Verdict:
    def __init__(self, outcome, complaint=None, detail=None, strategy=None, more=()):
        self.outcome = outcome
        self.complaint = complaint  # the same words for the same kind of mistake: the shrinker compares them
        self.detail = detail or []
        self.strategy = strategy
        self.more = more
        self.executions = self.classes = self.states = self.findings = 0


def wrong(complaint, strategy, *detail, more=()):
    return Verdict(WRONG, complaint, list(detail), strategy, more)


def compare(name, ref_name, result, ref, exact=True):
    """What `result` must share with the reference; a Verdict when it does not."""
    detail = ("%s: %s" % (ref_name, ref.text()), "%s: %s" % (name, result.text()))
    if ref.complete and not result.complete:
        return wrong("%s is not complete where %s is" % (name, ref_name), name, *detail)
    if result.findings != ref.findings and result.complete:
        missing = ref.findings - result.findings
        return wrong("%s %s" % (name, "misses a finding" if missing else "has a finding more"), name, *detail,
                     *("missing: " + f for f in sorted(missing)), *("more: " + f for f in sorted(result.findings - ref.findings)))
    if result.states != ref.states and result.complete and exact:
        return wrong("%s reaches %s states" % (name, "fewer" if result.states[0] < ref.states[0] else "other"), name, *detail)
    if result.classes != ref.classes and result.complete and exact:
        return wrong("%s reaches %s classes" % (name, "fewer" if result.classes[0] < ref.classes[0] else "other"),
                     name, *detail)
    if result.unreplayed:
        return wrong("a finding of %s did not replay" % name, name, *detail, str(result.unreplayed[0].get("not_replayed")))
    return None


def judge_optimal(name, result, ref_name, ref):
    detail = ("%s: %s" % (ref_name, ref.text()), "%s: %s" % (name, result.text()))
    if result.blocked:
        return wrong("%s gives up executions" % name, name, *detail)
    if result.total() != result.classes[0]:
        return wrong("%s runs a class twice" % name, name, *detail)
    return None


def finished(result, limit):
    """Whether the search ran to its end (a search that is known to be inexact says so, and is not `complete`)."""
    if result.cut:
        return False
    run = result.total() + result.blocked + result.discarded
    return result.complete or (result.stopped == "finished" and run < limit)


def judge(batch, index, limit, replay=False):
    """Verdict on one program; dfs may run `limit` executions."""
    def search(strategy, most):
        result = batch.search(index, strategy, most)
        if isinstance(result, str):
            return None, wrong("%s fails" % strategy, strategy, result)
        if result.error:
            return None, wrong("%s fails" % strategy, strategy, result.error)
        return result, None

    dfs, bad = search("dfs", limit)
    if bad:
        return bad
    if dfs.cut:
        return Verdict(HUGE)
    most = limit * 4
    optimal, bad = search("optimal", most)
    if bad:
        return bad
    for folder in optimal.folders if replay else ():
        if not batch.replay(folder):
            return wrong("a finding of optimal does not replay", "optimal", "folder " + folder)
    if not finished(dfs, limit):
        return judge_large(search, optimal, most)
    for name in ("optimal", "dpor", "rdfs", "auto"):
        result, bad = (optimal, None) if name == "optimal" else search(name, most)
        bad = bad or compare(name, "dfs", result, dfs, exact=name != "auto")
        if not bad and name == "optimal" and result.complete:
            bad = judge_optimal(name, result, "dfs", dfs)
        if not bad and name == "rdfs" and result.executions != dfs.executions:
            bad = wrong("rdfs runs another number of executions", name, dfs.text(), result.text())
        if not bad and name == "dpor" and result.total() + result.blocked > dfs.total():
            bad = wrong("dpor runs more than dfs", name, dfs.text(), result.text())
        if bad:
            return bad
    v = Verdict(OK if dfs.complete else SAID)
    v.executions, v.classes, v.states, v.findings = dfs.executions, dfs.classes[0], dfs.states[0], len(dfs.findings)
    return v


def judge_large(search, optimal, most):
    if not finished(optimal, most):
        return Verdict(HUGE)
    bad = optimal.complete and judge_optimal("optimal", optimal, "optimal", optimal)
    if bad:
        return bad
    dpor, bad = search("dpor", most)
    if bad:
        return bad
    if not finished(dpor, most):
        return Verdict(HUGE)
    return compare("dpor", "optimal", dpor, optimal) or Verdict(LARGE)

"""Compares the results of every strategy on a program, through the command line, with those of plain depth-first search.

Programs are built in batches (Batch), with one compiler at one level. judge() searches one of them:

 1. `dfs` is the reference: the happens-before classes, the final states, the findings (kind and places).
 2. Every strategy that claims to be complete has the same classes, states and findings. A strategy may only
    claim less than `dfs` when the runtime says so (`complete` is false for `dfs` too).
 3. `optimal` runs exactly one execution per class and no redundant ones.
 4. `rdfs` runs as many executions as `dfs`, `dpor` no more.
 5. Within a bound of preemptions or delays, the reductions have the results of `dfs` within that bound; iterating the
    bound ends with all results.
 6. Two and four processes (one or the other, by the program) have the results of one: every complete strategy, also
    within a bound. `optimal`, `dfs` and `rdfs` run as many executions as one process does. A search of fewer than
    SHARED executions is over before there is anything to share, so it is not run again.
 6a. With --states every state is explored once: the findings and final states of `dfs`, in no more executions; the same
     with a reduction (`dpor`), with several processes and with a small table, and as a part of `auto`. Most of these compare quiet programs, in which
     more states are the same.
 6b. With --symmetry, of threads that run the same code: the findings and final states of `dfs`, which does not tell these
    threads apart. `optimal` runs one execution for each class that is left, as many as `dfs` has then; so do several
    processes, and those that resume a saved search. With --states, too, they are those of `dfs`.
 7. A search that was saved half way and resumed has the same results.
 8. Executions that start after the set-up of the program (--checkpoint=always) are those that start at main: the same
    results and the same counts, for one of the strategies or for two processes, by the program. Of a search that is not
    over by its limit, the BEGINNING is compared.
 8a. Executions that continue from the middle of others (--restart=fork, with a template at every second point) are those
    that start at main: the same results and counts.
 9. Every finding was reproduced when it was found; some are replayed once more.
10. What `heddle predict` finds, from one execution, `dfs` finds too. What it is certain of happens.

A program too large for `dfs` is still useful: `optimal` and `dpor` are compared with each other. Most of the time
went into finding out that a program is too large, so only one in eight gets the whole limit (limit_for).
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
TIMEOUT = 60  # seconds on a machine with nothing else to do: some programs make system calls in each of 80,000 executions
SHARED = 12  # executions from which on it is worth while to share the search
BEGINNING = 1500  # executions of a search that is not over by its limit; its counts are compared up to there
FORKED = 200  # executions that are run in processes of their own, at most
MAX_LENGTH = "300"  # steps; longer executions go round in circles, and the program is passed over

OK, LARGE, SAID, HUGE, WRONG = "ok", "large", "said", "huge", "wrong"  # said: the search itself says it is not exact


def timeout():
    """Seconds that a search may take, beside whatever else is running."""
    return TIMEOUT * max(1, os.getloadavg()[0] / os.cpu_count())


only = ""  # "symmetry", "states" or "predict": nothing else is compared

NOTHING = dict(executions=0, blocked=0, discarded=0, cut=0, complete=False, bound=None, stopped="", findings=[])


class Broken(Exception):
    """The harness itself cannot go on: a program that does not compile, no heddle."""


class Difference(Exception):
    """The search does not say what it should. The complaint is in the same words for the same kind of mistake."""

    def __init__(self, complaint, result, *detail):
        super().__init__(complaint)
        self.complaint = complaint
        self.strategy, self.more, self.quiet = result.strategy, result.more, result.quiet
        self.detail = list(detail)


class Result:
    """What one search said."""

    def __init__(self, strategy, more, data, quiet=False, trial=False):
        self.strategy, self.more, self.quiet = strategy, more, quiet
        self.name = " ".join((strategy,) + more) + " (quiet)" * quiet + " (trial)" * trial
        self.executions = data["executions"]
        self.blocked = data["blocked"]
        self.discarded = data["discarded"]
        self.cut = data["cut"]
        self.infeasible = data.get("infeasible", 0)
        self.reasons = [r["reason"] for r in data.get("inexact", [])]
        # That time is taken at its word holds for every strategy: what they cover is the same all the same.
        rest = [r for r in self.reasons if r not in ("sleeps", "timeouts")]
        self.complete = data["complete"] or bool(self.reasons) and not rest
        self.covered = (self.complete or bool((data["bound"] or {}).get("complete"))  # all, or all within the bound
                        or rest == ["bound"])
        self.stopped = data["stopped"]
        self.error = data.get("error")
        self.classes = (data.get("classes"), data.get("class_sum"))
        self.states = (data.get("states"), data.get("state_sum"))
        self.findings = frozenset(identity(f) for f in data["findings"])
        self.kinds = frozenset(identity(f, joins=False) for f in data["findings"])
        self.unreplayed = [f for f in data["findings"] if not f["replays"]]
        self.folders = [f["replay"] for f in data["findings"] if f["replay"]]

    def counts(self):
        return self.executions, self.blocked, self.discarded, self.cut, self.infeasible, self.reasons, self.stopped

    def total(self):
        return self.executions + self.infeasible

    def finished(self, limit):
        """Whether it ran to its end; one that knows it is inexact does so without covering anything."""
        run = self.total() + self.blocked + self.discarded
        return not self.cut and (self.covered or (self.stopped == "finished" and run < limit))

    def text(self):
        return "%s: %d executions%s, %d blocked, %s classes, %s states, findings: %s%s" % (
            self.name, self.executions, " (and %d infeasible)" % self.infeasible if self.infeasible else "",
            self.blocked, self.classes[0], self.states[0], ", ".join(sorted(self.findings)) or "none",
            "" if self.complete else " (complete within the bound)" if self.covered else
            " (not complete: %s)" % ", ".join(["stopped: " + self.stopped] + self.reasons))


def identity(finding, joins=True):
    """Kind and places: those of the accesses, calls and waits that make the finding. Not `joins`: which of several threads
    somebody waits for is not part of it."""
    livelock = finding["kind"] == "livelock"  # where those wait who do not spin is not part of it
    places = sorted("%s:%s" % (w["function"], w["line"]) for w in finding["where"]
                    if w["role"] in ("at", "previous", "waits") and not (livelock and w["operation"] != "spin-wait")
                    and (joins or w["operation"] != "join"))
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

    def search(self, index, strategy, limit, *more, quiet=False, trial=False):
        """Result of one search; Difference when there is none. `quiet`: of the program that says only how it ends. `trial`:
        from the fourth execution of `auto` on, nothing but the part with states and symmetry."""
        command = [self.heddle, "check", "--strategy", strategy, "--all", "--classes", "--quiet", "--no-explain", "--json", "-",
                   "--max-executions", str(limit), "--max-length", MAX_LENGTH, "--out", "out",
                   *self.programs[index].options, *more, "--", "./fuzz", str(index), *["quiet"] * quiet]
        shutil.rmtree(os.path.join(self.folder, "out"), ignore_errors=True)
        env = dict(os.environ, HEDDLE_TEST_TEMPLATES="2") if "--restart=fork" in more else None
        if trial:
            env = dict(os.environ, HEDDLE_TEST_STATES="3")
        try:
            p = subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, timeout=timeout(),
                               stdin=subprocess.DEVNULL)
            text = "exit status %d: %s" % (p.returncode, p.stderr.strip()[-300:])
            result = Result(strategy, more, json.loads(p.stdout), quiet, trial) if p.returncode in (0, 1, 5) else None
        except subprocess.TimeoutExpired:
            text, result = "still running after %d s" % timeout(), None
        except (ValueError, KeyError) as problem:
            text, result = "not the JSON it should be: %r" % problem, None
        if result and not result.error:
            return result
        nothing = Result(strategy, more, NOTHING, quiet, trial)
        raise Difference("%s fails" % nothing.name, nothing, result.error if result else text)

    def predict(self, index, *more):
        """What one execution says of the others: a Result, and what is said of each trace."""
        command = [self.heddle, "predict", "--follow", "3", "--quiet", "--no-explain", "--json", "-", "--max-length", MAX_LENGTH, "--out", "out",
                   *more, *self.programs[index].options, "--", "./fuzz", str(index)]
        shutil.rmtree(os.path.join(self.folder, "out"), ignore_errors=True)
        nothing = Result("predict", (), NOTHING)
        try:
            p = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=timeout(),
                               stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Difference("predict does not end", nothing) from None
        if p.returncode not in (0, 1, 5):
            raise Difference("predict fails", nothing, "exit status %d: %s" % (p.returncode, p.stderr.strip()[-300:]))
        j = json.loads(p.stdout)
        return Result("predict", more, j), j["predict"][0]

    def replay(self, folder):
        p = subprocess.run([self.heddle, "replay", folder, "--times", "2"], cwd=self.folder, capture_output=True,
                           text=True, timeout=timeout(), stdin=subprocess.DEVNULL)
        return p.returncode == 1 and "2 of 2 identical" in p.stdout + p.stderr


class Verdict:
    def __init__(self, outcome, ref=None, difference=None):
        self.outcome = outcome
        self.difference = difference
        self.executions = ref.executions if ref else 0
        self.classes, self.states = (ref.classes[0], ref.states[0]) if ref else (0, 0)
        self.findings = len(ref.findings) if ref else 0


def same(result, ref, exact=True):
    """What `result` must share with the reference. Not `exact`: its classes and states are not its claim."""
    detail = (ref.text(), result.text())
    if ref.covered and not result.covered or ref.complete and not result.complete:
        raise Difference("%s is not complete where %s is" % (result.name, ref.name), result, *detail)
    if result.covered and result.findings != ref.findings:
        missing, more = sorted(ref.findings - result.findings), sorted(result.findings - ref.findings)
        raise Difference("%s %s" % (result.name, "misses a finding" if missing else "has a finding more"), result,
                         *detail, *("missing: " + f for f in missing), *("more: " + f for f in more))
    for what in ("states", "classes") if result.covered and exact else ():
        here, there = getattr(result, what), getattr(ref, what)
        if here != there:
            raise Difference("%s reaches %s %s" % (result.name, "fewer" if here[0] < there[0] else "other", what),
                             result, *detail)
    if result.unreplayed:
        raise Difference("a finding of %s did not replay" % result.name, result, *detail,
                         str(result.unreplayed[0].get("not_replayed")))


def one_for_each_class(result, alone=True):
    """Several processes may begin some in vain."""
    if alone and result.complete and result.blocked:
        raise Difference("%s gives up executions" % result.name, result, result.text())
    if result.complete and result.total() != result.classes[0]:
        raise Difference("%s runs a class twice" % result.name, result, result.text())


def limit_for(number, limit):
    """How many executions dfs may run of the program of this number."""
    return limit if number % 8 == 0 else max(limit // 4, 1)


def scratch_root():
    """Where to make folders: memory, if programs may be run there, since thousands of small files are written."""
    try:
        ok = not os.statvfs("/dev/shm").f_flag & os.ST_NOEXEC and os.access("/dev/shm", os.W_OK)
    except OSError:
        ok = False
    return "/dev/shm" if ok else None


def judge(batch, index, limit, replay=False):
    """Verdict on one program; dfs may run `limit` executions."""
    try:
        return compare_all(batch, index, limit, replay)
    except Difference as difference:
        return Verdict(WRONG, difference=difference)


def compare_all(batch, index, limit, replay):
    if only == "symmetry" and not batch.programs[index].twins:
        return Verdict(HUGE)
    most = limit * 4
    dfs = batch.search(index, "dfs", limit)
    if dfs.cut:
        return Verdict(HUGE)
    if only == "predict" and dfs.finished(limit):
        compare_predict(batch, index, dfs)
        return Verdict(OK if dfs.complete else SAID, dfs)
    optimal = batch.search(index, "optimal", most)
    for folder in optimal.folders if replay else ():
        if not batch.replay(folder):
            raise Difference("a finding of optimal does not replay", optimal, "folder " + folder)
    one_for_each_class(optimal)
    if only == "symmetry":
        ref = dfs if dfs.finished(limit) else optimal
        if not ref.finished(most):
            return Verdict(HUGE)
        compare_symmetry(batch, index, most, ref, optimal)
        return Verdict(OK if ref is dfs else LARGE, ref)
    if only == "states":
        if not dfs.finished(limit):
            return Verdict(HUGE)
        compare_states(batch, index, most, dfs)
        return Verdict(OK if dfs.complete else SAID, dfs)
    if only == "predict":
        if not optimal.finished(most):
            return Verdict(HUGE)
        compare_predict(batch, index, optimal)
        return Verdict(LARGE, optimal)
    compare_bounded(batch, index, limit)
    compare_shared(batch, index, most, optimal, "optimal")
    compare_checkpoint(batch, index, dfs, limit, optimal, most)
    compare_templates(batch, index, dfs, limit, optimal, most)
    compare_continued(batch, index, most, optimal)
    if not dfs.finished(limit):
        if not optimal.finished(most):
            return Verdict(HUGE)
        dpor = batch.search(index, "dpor", most)
        if not dpor.finished(most):
            return Verdict(HUGE)
        same(dpor, optimal)
        compare_symmetry(batch, index, most, optimal, optimal)
        return Verdict(LARGE)
    same(optimal, dfs)
    for name in ("dpor", "rdfs", "auto"):
        result = batch.search(index, name, most)
        same(result, dfs, exact=name != "auto")
        run = result.total() + result.blocked
        if (name == "rdfs" and run != dfs.total()) or (name == "dpor" and run > dfs.total()):
            raise Difference("%s runs another number of executions" % name, result, dfs.text(), result.text())
    compare_shared(batch, index, most, dfs, ("dfs", "rdfs", "dpor")[dfs.total() % 3])
    compare_states(batch, index, most, dfs)
    compare_symmetry(batch, index, most, dfs, optimal)
    compare_iterated(batch, index, most, dfs)
    compare_predict(batch, index, dfs)
    return Verdict(OK if dfs.complete else SAID, dfs)


def same_end(result, ref):
    """The same findings and final states, not the same classes."""
    same(result, ref, exact=False)
    if result.covered and result.states != ref.states:
        raise Difference("%s reaches %s states" % (result.name, "fewer" if result.states[0] < ref.states[0] else "other"),
                         result, ref.text(), result.text())


def compare_predict(batch, index, ref):
    """From one execution: nothing that the complete search does not find, and everything that is certain."""
    if not ref.complete:
        return
    modes = [(), ("--detectors", ALL_RACES, "--engine", "both")] if only == "predict" else [()]
    for mode in modes:
        compare_prediction(ref, *batch.predict(index, *mode))


ALL_RACES = "hb,shb,sync,strict,said,huang,null,freed,unset,index,atomicity"
INSIDE = (("shb", "sync"), ("sync", "huang"), ("strict", "said"), ("said", "huang"))  # what the first finds, the second finds


def compare_prediction(ref, result, said):
    more = sorted(result.kinds - ref.kinds)
    if more:
        raise Difference("predict has a finding more", result, ref.text(), result.text(), *("more: " + f for f in more))
    if result.unreplayed:
        raise Difference("a finding of predict did not replay", result, str(result.unreplayed[0].get("not_replayed")))
    rows = {row["detector"]: row for row in said["detectors"]}
    if said["disagreed"]:
        raise Difference("the engines of predict disagree", result, ref.text())
    for p in said["predictions"]:
        for less, most in INSIDE:
            whole = most in rows and not rows[most]["unknown"] + rows[most]["skipped"]
            if p["kind"] == "data-race" and less in p["detectors"] and whole and most not in p["detectors"]:
                raise Difference("%s finds a race that %s does not" % (less, most), result, json.dumps(p["events"]))
        if p["certain"] and p["kind"] in ("data-race", "deadlock") and p["result"] in ("not-confirmed", "not-tried"):
            raise Difference("a certain %s of predict does not happen" % p["kind"], result, ref.text(), p["reason"],
                             json.dumps(p["events"]), "by " + ",".join(p["detectors"]))


def compare_states(batch, index, most, dfs):
    """With --states, states are not explored twice: the same findings and final states, by one process and by several."""
    for strategy in ("dfs", "dpor"):
        result = batch.search(index, strategy, most, "--states")
        same_end(result, dfs)
        if result.covered and strategy == "dfs" and result.total() > dfs.total():
            raise Difference("%s runs more executions" % result.name, result, dfs.text(), result.text())
    quiet = batch.search(index, "dfs", most, quiet=True)
    same(quiet, dfs, exact=False)
    modes = [("dfs", ()), ("dpor", ())]
    if dfs.total() >= SHARED:
        small = ("--state-memory", "300K")
        modes += [("rdfs", ()), ("dfs", small), ("dfs", jobs_for(dfs)), ("dpor", small), ("dpor", jobs_for(dfs))]
    for strategy, more in modes:
        same_end(batch.search(index, strategy, most, "--states", *more, quiet=True), quiet)
    if dfs.total() >= SHARED:
        for more in ((), jobs_for(dfs), ("--checkpoint=always",)):
            same_end(batch.search(index, "auto", most, "--no-symmetry", *more, quiet=True, trial=True), quiet)


def compare_symmetry(batch, index, most, ref, optimal):
    """With --symmetry, one of the threads that run the same code goes first. The reference is dfs, if it has ended."""
    if not batch.programs[index].twins or not ref.covered or not optimal.covered:
        return
    small = ref.strategy == "dfs"
    modes = [("optimal", ()), ("dpor", ())] + [("dfs", ())] * small
    if ref.total() >= SHARED:
        modes += [("optimal", jobs_for(ref)), ("optimal", ("--checkpoint=always",))]
    if ref.total() >= SHARED and small:
        modes += [(("dfs", "rdfs", "dpor")[ref.total() % 3], jobs_for(optimal)), ("dfs", ("--states",)),
                  ("dpor", ("--states",))]
    first = None
    for strategy, more in modes:
        result = batch.search(index, strategy, most, "--symmetry", *more)
        if result.kinds == ref.kinds:
            result.findings = ref.findings
        same_end(result, ref)
        first = first or result
        if strategy == "optimal":
            one_for_each_class(result, alone=not more)
        if "--states" not in more and result.classes != first.classes:
            raise Difference("%s reaches other classes" % result.name, result, first.text(), result.text())
        if strategy in ("optimal", "dfs") and result.total() > (optimal if strategy == "optimal" else ref).total():
            raise Difference("%s runs more executions" % result.name, result, ref.text(), result.text())
    if small:
        quiet = batch.search(index, "dfs", most, quiet=True)
        modes = [("dfs", ()), ("dpor", ())]
        if ref.total() >= SHARED:
            modes += [("dpor", jobs_for(ref)), ("dpor", ("--state-memory", "300K")), ("dfs", jobs_for(ref)),
                      ("auto", ()), ("auto", jobs_for(ref))]
        for strategy, more in modes:
            more = (() if strategy == "auto" else ("--states", "--symmetry")) + more
            result = batch.search(index, strategy, most, *more, quiet=True, trial=strategy == "auto")
            if result.kinds == quiet.kinds:
                result.findings = quiet.findings
            same_end(result, quiet)
    if first.total() < 2:
        return
    path = os.path.join(batch.folder, "saved")
    part = batch.search(index, "optimal", (first.total() + 1) // 2, "--symmetry", "--save", path)
    result = batch.search(index, "optimal", most, "--resume", path)
    result.findings = first.findings if result.kinds | part.kinds == first.kinds else result.findings | part.findings
    same(result, first)


def jobs_for(result):
    """Two processes or four, by the program."""
    return "--jobs", "4" if result.total() % 2 else "2"


def compare_bounded(batch, index, limit):
    """Within a bound of the program's own, the reductions reach what dfs reaches, by one process and by several."""
    bound = batch.programs[index].bound
    if not bound:
        return
    dfs = batch.search(index, "dfs", limit, *bound)
    if not dfs.finished(limit):
        return
    for name in ("optimal", "dpor"):
        same(batch.search(index, name, limit * 4, *bound), dfs)
    if dfs.total() < SHARED:
        return
    same(batch.search(index, "optimal", limit * 4, *bound, *jobs_for(dfs)), dfs)
    shared = batch.search(index, "dfs", limit * 4, *bound, *jobs_for(dfs))
    same(shared, dfs)
    same_number(shared, dfs)


def same_number(result, ref):
    if result.covered and not result.discarded and result.total() != ref.total():
        raise Difference("%s runs another number of executions" % result.name, result, ref.text(), result.text())


def compare_shared(batch, index, most, ref, strategy):
    """Several processes do what one does, and not more of it."""
    if not ref.covered or ref.total() < SHARED:
        return
    result = batch.search(index, strategy, most, *jobs_for(ref))
    same(result, ref)
    if strategy == "optimal":
        one_for_each_class(result, alone=False)
    elif strategy != "dpor":
        same_number(result, ref)


def compare_checkpoint(batch, index, dfs, limit, optimal, most):
    ref, limit = (dfs, limit) if optimal.total() % 3 == 0 else (optimal, most)
    jobs = jobs_for(ref) if optimal.total() % 3 == 2 and ref.covered and ref.total() >= SHARED else ()
    if not ref.finished(limit) and limit > BEGINNING:
        limit = BEGINNING
        ref = batch.search(index, ref.strategy, limit)
    result = batch.search(index, ref.strategy, limit, "--checkpoint=always", *jobs)
    if ref.finished(limit) or not jobs:
        same(result, ref)
    if not jobs and result.counts() != ref.counts():
        raise Difference("%s has other counts" % result.name, result, ref.text(), result.text())


def compare_templates(batch, index, dfs, limit, optimal, most):
    ref, limit = (dfs, limit) if optimal.total() % 3 == 1 else (optimal, most)
    if ref.total() > FORKED:
        return
    jobs = jobs_for(ref) if optimal.total() % 3 == 2 and ref.covered and ref.total() >= SHARED else ()
    result = batch.search(index, ref.strategy, limit, "--restart=fork", *jobs)
    if ref.finished(limit) or not jobs:
        same(result, ref)
    if not jobs and result.counts() != ref.counts():
        raise Difference("%s has other counts" % result.name, result, ref.text(), result.text())


def compare_continued(batch, index, most, optimal):
    """A search that was stopped half way and continued comes to the same, by one process or by two."""
    if not optimal.covered or optimal.total() < 2:
        return
    path = os.path.join(batch.folder, "saved")
    part = batch.search(index, "optimal", (optimal.total() + 1) // 2, "--save", path)
    jobs = ("--jobs", "2") if optimal.total() % 2 else ()
    result = batch.search(index, "optimal", most, "--resume", path, *jobs)
    if part.covered:
        raise Difference("optimal is complete before its end", part, optimal.text(), part.text())
    result.findings |= part.findings  # those reported before are not reported again
    same(result, optimal)
    one_for_each_class(result, alone=not jobs)


def compare_iterated(batch, index, most, dfs):
    """One bound after the other ends with everything."""
    bound = batch.programs[index].bound
    if bound and bound[1] == "0" and dfs.complete:
        same(batch.search(index, "optimal", most, bound[0], "iterate"), dfs)
        same(batch.search(index, "optimal", most, bound[0], "iterate", *jobs_for(dfs)), dfs)

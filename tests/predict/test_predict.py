"""Detectors over trace files: worked examples, random traces compared with the truth, damaged traces, long ones."""
import os
import re

import pddl
import traces
from scratch import each

HERE = os.path.dirname(os.path.abspath(__file__))
RACES = ("sync", "strict", "said", "huang")
SMALL = 16  # events; the truth is by enumeration


def solver(s):
    return os.path.exists(os.path.join(s.build, "lib", "heddle", "heddle_z3.so"))


def predict(s, detectors, path, *options):
    """{detector: [(events, order, certain)]}, with events numbered from 0."""
    out = s.run([os.path.join(s.build, "tests", "predict_trace"), "-n", "100000", "-m", os.path.join(s.build, "lib", "heddle"),
                 *options, ",".join(detectors), path]).stdout
    found = {d: [] for d in detectors}
    for line in out.splitlines():
        detector, _, certainty, _, events, *order = line.split(" ")
        numbers = [[int(n) - 1 for n in part.split(",") if n] for part in (events, order[0])]
        found[detector].append((tuple(numbers[0]), numbers[1], certainty == "certain"))
    return found


def detectors(s, *names):
    return [d for d in names if d in ("hb", "shb", "sync") or solver(s)]


def single(events, found):
    """The predicted triples that are accesses of one variable."""
    return {f[0] for f in found if len({events[i][2] for i in f[0]}) == 1}


def pairs(found):
    return {tuple(sorted(events)) for events, _, _ in found}


# ---- worked examples ----

def test_order(s):
    """A null pointer that another thread reads: everything of the first section comes before."""
    if not solver(s):
        return
    found = predict(s, ["null"], os.path.join(HERE, "traces", "order.trace"))["null"]
    s.check(len(found) == 1, "one prediction, not %s" % found)
    events, order, certain = found[0]
    s.check(certain and events == (12, 8), "%s" % (events,))
    s.check(order == [0, 1, 2, 3, 4, 5, 6, 10, 11, 12, 13, 7], "%s" % order)


def test_pool(s):
    """A pool is tested for being closed outside the lock under which it is used."""
    if not solver(s):
        return
    found = predict(s, ["null"], os.path.join(HERE, "traces", "pool.trace"))["null"]
    s.check([f[0] for f in found] == [(8, 5)], "%s" % found)
    order = found[0][1]
    s.check(order.index(3) < order.index(8), "tested before it is closed: %s" % order)


def test_branches(s):
    """Two of three races can be seen in one run: the third needs other branches."""
    if not solver(s):
        return
    found = predict(s, ["huang"], os.path.join(HERE, "traces", "branches.trace"))["huang"]
    s.check(pairs(found) == {(3, 6), (3, 8)}, "%s" % found)


def test_std(s):
    path = s.write("t.std", "T0|fork(T1)|1\nT0|w(x)|2\nT0|acq(l)|3\nT0|rel(l)|4\nT1|acq(l)|5\nT1|rel(l)|6\nT1|w(x)|7\n")
    found = predict(s, detectors(s, "hb", "sync", "huang"), path)
    s.check(not found["hb"], "happens-before sees no race")
    s.check(pairs(found["sync"]) == {(1, 6)}, "%s" % found)
    if solver(s):
        s.check(pairs(found["huang"]) == {(1, 6)}, "%s" % found)


# ---- random traces ----

def compare(s, seed):
    events = traces.generate(seed)
    if len(events) > SMALL:
        return
    path = s.write("t%d.trace" % seed, traces.text(events))
    truth = traces.Truth(events)
    found = predict(s, detectors(s, "hb", "shb", *RACES), path)
    for detector, predictions in found.items():
        for pair, order, certain in predictions:
            s.check(truth.leads(order, pair, loose=not certain), "seed %d: %s: %s does not lead to %s" %
                    (seed, detector, order, pair))
    for detector in detectors(s, *RACES):
        want, got = truth.races(detector), pairs(found[detector])
        s.check(want == got, "seed %d: %s finds %s, not %s" % (seed, detector, sorted(got), sorted(want)))
    s.check(pairs(found["shb"]) <= pairs(found["sync"]), "seed %d: shb finds more than sync" % seed)
    if solver(s):
        got = {d: pairs(found[d]) for d in found}
        s.check(got["huang"] >= got["said"] >= got["strict"], "seed %d: %s" % (seed, got))
        s.check(got["huang"] >= got["sync"], "seed %d: %s" % (seed, got))
        narrow = predict(s, ["huang", "said"], path, "-w", "6")
        for detector, predictions in narrow.items():
            for pair, order, _ in predictions:
                s.check(truth.leads(order, pair), "seed %d: %s in windows: %s" % (seed, detector, order))
            s.check(pairs(predictions) <= got["huang"], "seed %d: windows find more" % seed)


@each("0", "1", "2", "3")
def test_random(s, part):
    for seed in range(25 * int(part), 25 * int(part) + 25):
        compare(s, seed)


@each("null", "freed", "atomicity")
def test_random_patterns(s, kind):
    if not solver(s):
        return
    for seed in range(25):
        events = traces.generate(seed, values=(0, 4104, 8192) if kind == "null" else (0, 1, 1, 2), frees=kind == "freed")
        if len(events) > SMALL:
            continue
        truth = traces.Truth(events)
        found = predict(s, [kind], s.write("t%d.trace" % seed, traces.text(events)))[kind]
        for predicted, order, certain in found:
            s.check(truth.leads(order, predicted[1:2], loose=not certain), "seed %d: %s does not lead to %s" %
                    (seed, order, predicted))
            s.check(predicted[0] in order, "seed %d: %s" % (seed, order))
        found = [f for f in found if f[2]]
        want, got = truth.after(kind), single(events, found) if kind == "atomicity" else {f[0] for f in found}
        s.check(want == got, "seed %d: finds %s, not %s" % (seed, sorted(got), sorted(want)))


@each("smt", "plan")
def test_random_branches(s, engine):
    """With branches, a read may see another value if nothing depends on it."""
    if engine == "smt" and not solver(s):
        return
    more = 0
    for seed in range(60):
        events = traces.generate(seed, branches=True)
        if len(events) > SMALL or not any(e[1] == "branch" for e in events):
            continue
        truth, kinds = traces.Truth(events), ["huang", "atomicity"]
        found = predict(s, kinds, s.write("t%d.trace" % seed, traces.text(events)), "-e", engine)
        s.same(pairs(found["huang"]), truth.races("huang"), "races of seed %d" % seed)
        s.same(single(events, found["atomicity"]), truth.after("atomicity"), "triples of seed %d" % seed)
        for events_, order, certain in found["huang"]:
            s.check(truth.leads(order, events_), "seed %d: %s does not lead to %s" % (seed, order, events_))
            more += not certain
    s.check(more, "branches never made a difference")


@each("smt", "plan")
def test_engines(s, engine):
    """Each engine alone finds the truth."""
    if engine == "smt" and not solver(s):
        return
    for seed in range(100, 125):
        events = traces.generate(seed)
        if len(events) > SMALL:
            continue
        path = s.write("t%d.trace" % seed, traces.text(events))
        truth = traces.Truth(events)
        found = predict(s, ["huang", "atomicity"], path, "-e", engine)
        for predictions, count in ((found["huang"], 2), (found["atomicity"], 1)):
            for predicted, order, _ in predictions:
                after = predicted if count == 2 else predicted[1:2]
                s.check(truth.leads(order, after), "seed %d: %s does not lead to %s" % (seed, order, predicted))
        s.check(pairs(found["huang"]) == truth.races("huang"), "seed %d: %s" % (seed, sorted(pairs(found["huang"]))))
        s.check(single(events, found["atomicity"]) == truth.after("atomicity"), "seed %d" % seed)


def test_pddl(s):
    """The planner's questions, as PDDL: another planner has the same answers."""
    answers = []
    for seed in range(20):
        events = traces.generate(seed, values=(0, 5000, 5000, 6000), frees=True)
        if len(events) > SMALL:
            continue
        folder = s.path("pddl%d" % seed)
        predict(s, ["huang", "null", "freed", "atomicity"], s.write("t%d.trace" % seed, traces.text(events)), "-e", "plan", "-r", "0",
                "-p", folder)
        for name in sorted(os.listdir(folder) if os.path.exists(folder) else []):
            if not name.endswith(".problem.pddl"):
                continue
            with open(os.path.join(folder, name)) as p, open(os.path.join(folder, name.replace("problem", "domain"))) as d:
                problem, domain = p.read(), d.read()
            want = re.search(r"\? (yes|no)\n", problem).group(1)
            s.same("yes" if pddl.solvable(domain, problem) else "no", want, "seed %d: %s" % (seed, name))
            answers.append(want)
    s.check(answers.count("yes") > 5 and "no" in answers, "%s" % answers)


def test_engines_agree(s):
    """On traces too long to enumerate."""
    if not solver(s):
        return
    for seed in range(8):
        events = traces.generate(seed, length=25, threads=4, values=(0, 5000, 5000, 6000), frees=True)
        path = s.write("t%d.trace" % seed, traces.text(events))
        out = s.run([os.path.join(s.build, "tests", "predict_trace"), "-s", "-e", "both", "-m",
                     os.path.join(s.build, "lib", "heddle"), "huang,null,freed,atomicity", path]).stdout
        s.check("disagreed=0 " in out and not re.search("unknown=[1-9]", out), "seed %d: %s" % (seed, out))


# ---- traces that are damaged or lie ----

def refused(s, path, why):
    result = s.run([os.path.join(s.build, "tests", "predict_trace"), "sync", path], want=1)
    s.check(result.stderr.count("\n") == 1 and re.search(why, result.stderr), result.stderr)


def test_damaged(s):
    good = traces.text(traces.generate(5))
    refused(s, s.write("cut.trace", good[:len(good) // 2]), "cut.trace")
    refused(s, s.write("cut.std", "T0|fork(T1)|1\nT0|w(x"), "cut.std:2")
    binary = s.path("good.trace")
    s.write("good.txt", good)
    s.run([s.heddle, "trace", "convert", s.path("good.txt"), "-o", binary])
    with open(binary, "rb") as f:
        refused(s, s.write("cut.bin", f.read()[:-9]), "cut.bin")


def test_contradictions(s):
    fork = [(0, "create", 1, {}), (0, "create", 2, {})]
    refused(s, s.write("a.trace", traces.text(fork + [(1, "lock", "m", {}), (2, "unlock", "m", {})])),
            "event 4 .*T2 unlock .*does not hold")
    refused(s, s.write("b.trace", traces.text(fork + [(1, "write", "x", {"value": 1}), (2, "read", "x", {"value": 2})])),
            "event 4 .*T2 read .*nobody wrote")
    for name, note in (("a", r"Note: event 4 \(T2 unlock .* releases a lock that its thread does not hold"),
                       ("b", r"Note: event 4 \(T2 read .* reads a value that no event wrote")):
        text = s.run([s.heddle, "predict", name + ".trace"]).stdout
        s.check(re.search(note, text), text)
    text = s.run([s.heddle, "predict", s.write("d.std", "T0|fork(T1)|1\nT1|w(x)|2\nT0|join(T1)|3\nT1|w(x)|4\n")]).stdout
    s.check("Note: event 4 (T1 write `x`) comes after another thread has waited" in text, text)
    text = s.run([s.heddle, "predict", s.write("c.std", "T0|fork(T1)|1\nT0|rel(l)|2\nT1|w(x)|3\nT0|w(x)|4\n")]).stdout
    s.check("Note: event 2 (T0 unlock `l`) releases" in text and "data race: " in text, text)


def test_no_time(s):
    """A solver that does not answer in time: what it leaves open is counted, the rest is there."""
    if not solver(s):
        return
    events = traces.generate(1, length=40, threads=4, values=(0, 5000, 5000, 6000))
    path = s.write("t.trace", traces.text(events))
    tool = [os.path.join(s.build, "tests", "predict_trace"), "-m", os.path.join(s.build, "lib", "heddle"), "-s"]
    out = s.run(tool + ["-e", "smt", "-q", "0.0000001", "sync,huang,atomicity", path]).stdout
    rows = {line.split()[0]: dict(w.split("=") for w in line.split()[1:]) for line in out.splitlines()[1:]}
    s.check(int(rows["sync"]["predicted"]) > 0, out)
    for name in ("huang", "atomicity"):
        row = rows[name]
        s.check(int(row["unknown"]) + int(row["solved"]) + int(row["filtered"]) >= int(row["candidates"]) > 0, out)


STUCK = """#include "smt/smt.h"
#include <unistd.h>
static void *new(enum hd_smt_theory theory) { return (void *)(1l + (theory & 0)); }
static void nothing(void *s) { (void)s; }
static hd_term term(void *s) { return (void)s, 1; }
static hd_term less(void *s, hd_term a, hd_term b, int distance) { return (void)s, a + b + distance ? 1 : 1; }
static hd_term many(void *s, const hd_term *t, size_t n) { return (void)s, (void)t, n ? 1 : 1; }
static hd_term not_(void *s, hd_term t) { return (void)s, t; }
static hd_term at_most(void *s, const hd_term *t, size_t n, unsigned k) { return many(s, t, n + k); }
static void require(void *s, hd_term t) { (void)s, (void)t; }
static enum hd_smt_answer check(void *s, double seconds) {
  for (;; sleep(1000)) (void)s, (void)seconds;
}
const struct hd_smt_engine hd_smt_engine_3 = {.name = "stuck", .new = new, .free = nothing, .integer = term, .boolean = term,
  .less = less, .all = many, .any = many, .not_ = not_, .at_most = at_most, .require = require, .push = nothing, .pop = nothing,
  .check = check, .interrupt = nothing};
"""


def test_stuck_solver(s):
    """A solver that never answers is given up; what needs no solver is there, and the rest is counted."""
    source = os.path.join(os.path.dirname(os.path.dirname(HERE)), "src")
    s.run(["gcc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-I", source, s.write("stuck.c", STUCK), "-o", s.path("heddle_z3.so")])
    events = traces.generate(1, length=40, threads=4, values=(0, 5000, 5000, 6000))
    path = s.write("t.trace", traces.text(events))
    result = s.run([os.path.join(s.build, "tests", "predict_trace"), "-m", s.dir, "-s", "-e", "smt", "-q", "0.1",
                    "sync,huang,atomicity", path])
    s.check("the solver did not answer within" in result.stderr and result.stderr.count("\n") == 1, result.stderr)
    rows = {line.split()[0]: dict(w.split("=") for w in line.split()[1:]) for line in result.stdout.splitlines()[1:]}
    s.check(int(rows["sync"]["predicted"]) > 0 and int(rows["huang"]["unknown"]) > 0, result.stdout)


def test_cut(s):
    """Accesses too far apart for one window are counted, by the solver's detectors of races and by atomicity."""
    far = "".join("T2|acq(m)|90\nT2|rel(m)|91\n" for _ in range(400))
    path = s.write("far.std", "T0|fork(T1)|1\nT0|fork(T2)|2\nT0|r(x)|3\nT0|w(x)|4\n" + far + "T1|w(x)|5\n")
    text = s.run([s.heddle, "predict", "--detectors", "huang,atomicity", "--window", "100", path], want=0).stdout
    s.check("huang: 2 candidates undecided (solver 0, limits 0, windows 2)" in text, text)
    s.check("atomicity: 1 candidate undecided (solver 0, limits 0, windows 1)" in text, text)
    text = s.run([s.heddle, "predict", "--detectors", "huang,atomicity", path], want=0).stdout
    s.check("undecided" not in text, text)


def test_no_solver(s):
    """Without the module, the planner answers; what has only the solver says what to install."""
    path = os.path.join(HERE, "traces", "branches.trace")
    tool = [os.path.join(s.build, "tests", "predict_trace"), "-m", s.dir]
    s.check(s.run(tool + ["huang", path]).stdout.count("\n") == 2, "two races")
    for command in (["strict"], ["-e", "smt", "huang"]):
        result = s.run(tool + command + [path], want=1)
        s.check("install libz3-dev" in result.stderr and result.stderr.count("\n") == 1, result.stderr)


# ---- long traces ----

def test_growth(s):
    """The time of the detectors without a solver grows with the length of the trace, not with its square."""
    out = s.run([os.path.join(s.build, "tests", "predict_scale"), "lockset,hb,sync", "2e4", "2e5"]).stdout
    seconds = [float(x) for x in re.findall(r"processor=([0-9.]+)", out)]
    s.check(len(seconds) == 2 and seconds[1] < 1 + 30 * seconds[0], out)

"""Smaller schedules: on the faulty programs of bench/search `explain` comes to the fewest preemptions there can be."""
import json
import os

from scratch import each

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "bench", "search")

KINDS = ["assertion", "deadlock", "lost-wakeup"]
# Program with its sizes: the fewest preemptions with which it can fail, and switches that are enough for that. `prodcons 1 8 4`
# can fail without any, in one of several hundred thousand such schedules; 1 is what explain comes to.
MINIMUM = {
    "abslist 1 1": (1, 3), "abslist 1 8": (1, 3), "account 2": (1, 2), "account 10": (1, 10),
    "accountsubtype 1 1": (1, 4), "accountsubtype 20 1": (1, 23), "airline 4 1": (1, 5), "airline 20 8": (1, 15),
    "airline 20 3": (1, 19), "bluetooth 1": (1, 3), "bluetooth 8": (1, 3), "deadlock 1 1": (1, 2),
    "deadlock 1 10": (1, 11), "example1 15": (0, 2), "list 2 0": (1, 4), "list 4 4": (1, 10), "lostupdate 2": (1, 4),
    "lostupdate 10": (1, 12), "philosophers 2": (1, 2), "philosophers 5": (1, 5), "philosophers 10": (1, 10),
    "piper 2 2 2": (2, 5), "prefix 2": (1, 4), "prefix 100": (1, 4), "prefix 10000": (1, 4), "piper 2 8 4": (0, 6), "prodcons 1 2 1": (1, 6), "prodcons 1 8 4": (1, 15),
    "queue 2 0": (1, 4), "queue 4 4": (1, 10), "reorder 1 1": (1, 2), "reorder 10 1": (1, 2), "twostage 1 1": (1, 2),
    "twostage 100 1": (1, 2), "wronglock 1 1": (1, 3), "wronglock 20 1": (1, 3),
}
RARE = {"safestack"}  # found only after many thousands of executions
# Those whose spaces are small enough for plain depth-first search to say that fewer are not enough.
SMALL = ("account 2", "accountsubtype 1 1", "bluetooth 1", "deadlock 1 1", "list 2 0", "lostupdate 2", "philosophers 2",
         "philosophers 5", "piper 2 2 2", "prefix 2", "prodcons 1 2 1", "queue 2 0", "reorder 1 1", "twostage 1 1", "wronglock 1 1")


def build(s, program):
    path = os.path.join(BENCH, program + ".c")
    s.cc(path, "prog", "-O2", "-I" + BENCH)


def test_every_program_is_there(s):
    faulty = set()
    for name in os.listdir(BENCH):
        if name.endswith(".c"):
            with open(os.path.join(BENCH, name)) as f:
                if "* bug: " in f.read():
                    faulty.add(name[:-2])
    s.same({p.split()[0] for p in MINIMUM} | RARE, faulty, "faulty programs")


@each(*sorted(MINIMUM))
def test_minimum(s, parameter):
    program, *args = parameter.split()
    preemptions, switches = MINIMUM[parameter]
    build(s, program)
    first = s.is_bug(s.search("check", "./prog", "--no-explain", args=args), KINDS)
    s.check("minimised" not in first, "--no-explain did look for a smaller schedule")
    s.run([s.heddle, "explain", ".heddle/1", "--time", "5s", "--json", "e.json"], want=1)
    with open(s.path("e.json")) as f:
        found = json.load(f)
    m = found["minimised"]
    s.same(m["preemptions"], preemptions, "preemptions")
    s.check(m["switches"] <= switches, "%d switches, %d are enough" % (m["switches"], switches))
    s.same((found["kind"], found["key"]), (first["kind"], first["key"]), "finding")
    s.replay(times=2)
    s.replay(times=1, options=["--original"])


@each(*SMALL)
def test_fewer_are_not_enough(s, parameter):
    program, *args = parameter.split()
    preemptions, _ = MINIMUM[parameter]
    build(s, program)
    r = s.search("check", "./prog", "--strategy", "dfs", "--preemptions", str(preemptions - 1), "--no-spurious", args=args)
    s.check(not r["findings"] and r["bound"]["complete"], "it fails with fewer than %d preemptions" % preemptions)
    s.is_bug(s.search("check", "./prog", "--strategy", "dfs", "--preemptions", str(preemptions), "--no-explain",
                      args=args), KINDS)

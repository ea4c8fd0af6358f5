#!/usr/bin/env python3
"""make bench: the speed of Heddle in one table, with the required bars beside the figures.

    bench/bench.py --build DIR                     about 4 minutes; appends a line to bench/results/
    bench/bench.py --build DIR --quick             under a minute, for use while developing; stores nothing
    bench/bench.py --build DIR --only search,run   some sections: search, cost, run, memory, start
    bench/bench.py --markdown                      also writes the table into docs/performance.md
    bench/bench.py --markdown --last               the same from the last stored run, without a new one

Everything runs pinned to one core. A missed bar is shown but does not fail the command; a program that does not run
does (exit status 1). docs/performance.md describes how each figure is measured."""
import argparse
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measure import Failure, Lab, hooks, resident, say, tested_process  # noqa: E402
from record import Record  # noqa: E402

# The bars of the project.
BAR_MEMORY_RATE = 300000  # executions a second of the two-thread program
BAR_FORK_RATE = 2000
BAR_SWITCH = 60  # ns
BAR_UNSHARED = 5  # ns
BAR_TSAN = 1.0  # heddle run / ThreadSanitizer
BAR_MIDDLE = 2  # executions a second from the middle of others / from main
BAR_SETUP = 0.9  # executions a second with a set-up / without
GROWTH_TOLERANCE = 64  # KiB: a page here or there is the kernel's business


# ---- executions per second ----

SEARCH_PROGRAMS = (
    ("2 threads, one lock, 25 events", "locks2", "locks", ("-DTHREADS=2", "-DPAIRS=4")),
    ("8 threads, one lock, 97 events", "locks8", "locks", ("-DTHREADS=8", "-DPAIRS=4")),
    ("10,000 unshared accesses, 2 threads", "unshared", "unshared", ()),
)


def bench_search(lab, record, compilers):
    """Random search for a fixed time; the best of the repetitions. Counted by the search, per second of CPU time
    of all its processes: on a core of its own that is the wall clock, on a shared one only this is comparable."""
    repeat, seconds = (2, 0.4) if lab.quick else (4, 1.0)
    for compiler in compilers:
        best = {}
        for _ in range(repeat):
            for _, name, program, defines in SEARCH_PROGRAMS:
                path = lab.build("heddle-" + compiler, program, name, defines)
                for mode in ("memory", "fork"):
                    s = lab.summary("check", "--strategy", "random", "--restart=" + mode, "--time", "%gs" % seconds,
                                    "--", path)
                    if s["restart"] != mode or s["processes"] != 1:
                        raise Failure("%s did not run in one process with --restart=%s" % (name, mode))
                    old = best.get((name, mode))
                    if not old or s["executions"] / s["cpu"] > old["executions"] / old["cpu"]:
                        best[name, mode] = s
        section = "Random search, %s -O2" % compiler
        for title, name, _, _ in SEARCH_PROGRAMS:
            for mode in ("memory", "fork"):
                s = best[name, mode]
                bar = {"memory": BAR_MEMORY_RATE, "fork": BAR_FORK_RATE}[mode] if name == "locks2" else None
                record.add(section, "%s: --restart=%s" % (title, mode), s["executions"] / s["cpu"], "executions/s", bar,
                           above=True)
                record.add(section, "  events", s["events"] / s["cpu"], "events/s")


def bench_setup(lab, record, _compilers):
    """A program with a second of set-up against the same without. Searches of two lengths, so that the set-up itself,
    which runs as often in both, does not count."""
    repeat, few, many = (2, 20000, 120000) if lab.quick else (5, 100000, 600000)
    command = ["check", "--quiet", "--strategy", "random", "--restart=memory"]
    paths = {units: lab.build("heddle-gcc", "setup", "setup%d" % units, ("-DUNITS=%d" % units,)) for units in (0, 1000)}
    best = lab.best({(units, n): [lab.heddle, *command, "--max-executions", str(n), "--", path]
                     for units, path in paths.items() for n in (few, many)}, repeat)
    rate = {units: (many - few) / (best[units, many].cpu - best[units, few].cpu) for units in paths}
    section = "Set-up before the threads start (gcc -O2)"
    record.add(section, "no set-up", rate[0], "executions/s")
    record.add(section, "one second of set-up", rate[1000], "executions/s")
    record.add(section, "  of the rate without", rate[1000] / rate[0], "x", BAR_SETUP, above=True)


def bench_middle(lab, record, _compilers):
    """Long executions that share their beginnings: those that continue from the middle of others against those that start at
    main. The same executions, so the times are compared."""
    repeat, executions = (1, 40) if lab.quick else (2, 150)
    path = lab.build("heddle-gcc", "middle", "middle", ("-DUNITS=5",))
    command = [lab.heddle, "check", "--quiet", "--strategy", "optimal", "-j", "1", "--max-executions", str(executions)]
    best = lab.best({how: [*command, "--checkpoint=" + how, "--", path] for how in ("never", "auto")}, repeat, statuses=(5,))
    section = "Long executions, 5 ms or more between two choices (gcc -O2)"
    for how, title in (("never", "every execution from main"), ("auto", "from the middle of others")):
        record.add(section, title, executions / best[how].cpu, "executions/s")
    record.add(section, "  of the rate from main", best["never"].cpu / best["auto"].cpu, "x", BAR_MIDDLE, above=True)


# ---- what one thing costs ----


def cost_of_points(lab, record, repeat):
    """Scheduling points: CPU time of a long run less that of a short one, over the operations between them."""
    points = lab.build("heddle-gcc", "points", "points")
    native = lab.build("native-gcc", "points", "points")
    n = 300000 if lab.quick else 1000000
    short = n // 10
    cases = [("yield", 1), ("yield", 2), ("yield", 8), ("rmw", 2), ("load", 2), ("lock", 2), ("lock", 1)]
    commands = {}
    for what, threads in cases:
        commands[what, threads, "h", n] = lab.under(points, what, threads, n)
        commands[what, threads, "h", short] = lab.under(points, what, threads, short)
        if what != "yield":
            commands[what, threads, "n", n] = [native, what, str(threads), str(n)]
            commands[what, threads, "n", short] = [native, what, str(threads), str(short)]
    best = lab.best(commands, repeat)

    def per_op(what, threads, how):
        return (best[what, threads, how, n].cpu - best[what, threads, how, short].cpu) / (n - short) * 1e9

    def switches(threads):
        runs = [lab.summary("run", "--max-length", "100000000", "--", points, "yield", str(threads), str(k))["switches"]
                for k in (n, short)]
        return (runs[0] - runs[1]) / (n - short)

    # With one thread a yield is a point with nothing to choose: no draw, no switch. With eight, seven of
    # eight points end in a switch. What they cost more, per switch, is the switch together with drawing
    # the thread: the bar is held against this larger figure. With two threads it is one switch for every
    # two points, so that two draws, and the processor's wrong guess of which way it went, count as one switch.
    alone, two, eight = (per_op("yield", k, "h") for k in (1, 2, 8))
    section = "Cost of an operation, ns of CPU time (gcc -O2)"
    record.add(section, "point without choice (1 thread yields)", alone, "ns")
    record.add(section, "switch, 8 threads yield", (eight - alone) / switches(8), "ns", BAR_SWITCH)
    record.add(section, "switch, 2 threads yield", (two - alone) / switches(2), "ns", BAR_SWITCH)
    for what, title in (("rmw", "atomic addition, contended (a point, 1/2 switch)"),
                        ("load", "atomic load, contended (a point, 1/2 switch)"),
                        ("lock", "lock and unlock, contended by 2 threads")):
        record.add(section, title, per_op(what, 2, "h") - per_op(what, 2, "n"), "ns over native")
    record.add(section, "lock and unlock, one thread", per_op("lock", 1, "h") - per_op("lock", 1, "n"), "ns over native")


# mode: (title, accesses of one unit in all threads, short and long units, whether the bar of an unshared access holds)
ACCESS = {
    "few": ("unshared: the same 8 words", 2 * 2, 200000, 8000000, True),
    "walk": ("unshared: linear walk over 8 MiB", 2 * 2 * (1 << 20), 1, 6, True),
    "random": ("unshared: random in 256 KiB", 2 * 2, 200000, 6000000, True),
    "wide": ("unshared: random in 32 MiB", 2 * 2, 500000, 6000000, True),
    "readonly": ("shared: read by 4 threads, never written", 4 * 1024, 20, 2000, False),
}
LOCKED = {
    "own": "unshared: 64 words, each once per lock round",
    "guarded": "shared: 64 words, each once per lock round",
}
LOCKED_WORDS = 64


def long_units(mode, scale):
    _, _, short, long, _ = ACCESS[mode]
    return short + max(1, (long - short) // scale)


def access_costs(best, scale, rounds):
    """{mode: ns over native of one access}"""
    costs = {}
    for mode, (_, unit, short, _, _) in ACCESS.items():
        long = long_units(mode, scale)
        extra = {how: best[mode, how, long].cpu - best[mode, how, short].cpu for how in "hn"}
        costs[mode] = (extra["h"] - extra["n"]) / (unit * (long - short)) * 1e9
    for mode in LOCKED:
        extra = {how: best[mode, how, LOCKED_WORDS].cpu - best[mode, how, 0].cpu for how in "hn"}
        costs[mode] = (extra["h"] - extra["n"]) / (2 * 2 * rounds * LOCKED_WORDS) * 1e9
    return costs


def cost_of_accesses(lab, record, repeat):
    """Accesses that are no points: what the long run takes longer than the short one, under Heddle less native."""
    heddle = lab.build("heddle-gcc", "access", "access")
    native = lab.build("native-gcc", "access", "access")
    # The optimiser has left the accesses alone: the loops' bodies have the hooks the counts below rest on.
    for function, expected in (("loop_few", (1, 1)), ("loop_walk", (1, 1)), ("loop_random", (1, 1)),
                               ("loop_locked", (1, 1)), ("loop_readonly", (1, 0))):
        found = hooks(heddle, function)
        if found != expected:
            raise Failure("%s has %d reads and %d writes, not %d and %d" % (function, *found, *expected))
    commands, scale = {}, 3 if lab.quick else 1
    for mode, (_, _, short, _, _) in ACCESS.items():
        for k in (short, long_units(mode, scale)):
            commands[mode, "h", k] = lab.under(heddle, mode, k)
            commands[mode, "n", k] = [native, mode, str(k)]
    rounds = 40000 // scale
    for mode in LOCKED:
        for words in (0, LOCKED_WORDS):
            commands[mode, "h", words] = lab.under(heddle, mode, rounds, words)
            commands[mode, "n", words] = [native, mode, str(rounds), str(words)]
    best = lab.best(commands, repeat)
    for _ in range(3):  # a negative cost is noise: measure on
        if all(c > 0 for c in access_costs(best, scale, rounds).values()):
            break
        best = lab.best(commands, repeat, best=best)
    costs = access_costs(best, scale, rounds)
    if min(costs.values()) <= 0:
        raise Failure("the machine is too busy: accesses seem to cost less under Heddle than natively")
    for (mode, how, k), r in best.items():
        if how == "h" and mode not in ("guarded",) and r.out != best[mode, "n", k].out:
            raise Failure("other output under Heddle: %s" % " ".join(r.command))

    section = "Cost of an operation, ns of CPU time (gcc -O2)"
    unshared = [mode for mode, case in ACCESS.items() if case[4]] + ["own"]
    for mode in (*unshared, "guarded", "readonly"):
        title = ACCESS[mode][0] if mode in ACCESS else LOCKED[mode]
        record.add(section, title, costs[mode], "ns over native", BAR_UNSHARED if mode in unshared else None)
    record.add(section, "unshared: mean of the %d kinds" % len(unshared),
               sum(costs[m] for m in unshared) / len(unshared), "ns over native", BAR_UNSHARED)
    # What the first touch costs: the shadow of the memory is mapped page by page.
    first = (best["walk", "h", 1].cpu - best["few", "h", ACCESS["few"][2]].cpu
             - best["walk", "n", 1].cpu + best["few", "n", ACCESS["few"][2]].cpu)
    record.add(section, "first touch of a word (linear, 8 MiB)", first / (2 * (1 << 20)) * 1e9, "ns over native")


def bench_cost(lab, record, _compilers):
    repeat = 2 if lab.quick else 5
    cost_of_points(lab, record, repeat)
    cost_of_accesses(lab, record, repeat)


# ---- whole programs ----

RUN_PROGRAMS = (
    # name, what it is, arguments, arguments of --quick
    ("matmul", "matrix product, 4 threads", ("256",), ("192",)),
    ("nbody", "n-body with a barrier, 4 threads", ("512", "40"), ("512", "16")),
    ("sort", "merge sort of shared input, 4 threads", ("400000",), ("200000",)),
    ("queue", "work queue, 4 threads", ("12000",), ("6000",)),
)


def bench_run(lab, record, compilers):
    """CPU time on one core of the same source built and run in each way; the outputs must be equal."""
    repeat = 2 if lab.quick else 3
    env = dict(os.environ, TSAN_OPTIONS="atexit_sleep_ms=0")  # else it sleeps a second at exit
    for name, title, full, quick in RUN_PROGRAMS:
        args = quick if lab.quick else full
        commands = {}
        for c in compilers:
            commands["native", c] = [lab.build("native-" + c, name, name), *args]
            commands["heddle", c] = lab.under(lab.build("heddle-" + c, name, name), *args)
            commands["tsan", c] = [*lab.flat, lab.build("tsan-" + c, name, name), *args]
        best = lab.best(commands, repeat, env=env)
        for c in compilers:
            if len({best[how, c].out for how in ("native", "heddle", "tsan")}) != 1:
                raise Failure("%s built with %s prints different things natively, under Heddle and under tsan" % (name, c))
        section = "`heddle run` on CPU-bound threaded programs (-O2, one core)"
        for c in compilers:
            t = {how: best[how, c].cpu for how in ("native", "heddle", "tsan")}
            record.add(section, "%s, %s: native" % (title, c), t["native"] * 1e3, "ms")
            record.add(section, "  heddle / native", t["heddle"] / t["native"], "times")
            record.add(section, "  tsan / native", t["tsan"] / t["native"], "times")
            record.add(section, "  heddle / tsan", t["heddle"] / t["tsan"], "times", BAR_TSAN)


# ---- memory ----


def bench_memory(lab, record, _compilers, executions):
    """Resident memory of the tested process, sampled while it runs millions of executions."""
    path = lab.build("heddle-gcc", "churn", "churn")
    out = os.path.join(lab.dir, "memory.json")
    command = [lab.heddle, "check", "--quiet", "--no-explain", "--strategy", "random", "--restart=memory", "--max-executions",
               str(executions), "--json", out, "--", path]
    with open(os.devnull, "wb") as null:
        began = time.monotonic()
        p = lab.start(command, null, null)
        samples, processes = [], set()
        while p.poll() is None:
            child = tested_process(p.pid)
            kib = resident(child) if child else None
            if kib:
                samples.append((time.monotonic() - began, kib))
                processes.add(child)
            time.sleep(0.01 if len(samples) < 200 else 0.05)
        total = time.monotonic() - began
    if p.returncode != 0 or len(processes) != 1 or len(samples) < 10:
        raise Failure("exit status %d, %d processes, %d samples: %s"
                      % (p.returncode, len(processes), len(samples), " ".join(command)))
    # Executions come at a steady rate, so the time tells how many have been run.
    mark = total * 100000 / executions
    early = max(kib for t, kib in samples if t <= mark * 1.1)
    late = max(kib for _, kib in samples)
    section = "Memory of the tested process, one process"
    record.add(section, "resident after 100,000 executions", early, "KiB")
    record.add(section, "peak until %s executions" % format(executions, ",d"), late, "KiB")
    record.add(section, "growth", late - early, "KiB", GROWTH_TOLERANCE)


# ---- start-up ----


def bench_start(lab, record, compilers):
    del compilers
    heddle, native = lab.build("heddle-gcc", "trivial", "trivial"), lab.build("native-gcc", "trivial", "trivial")
    best = lab.best({
        "check": [lab.heddle, "check", "--quiet", "--max-executions", "1", "--", heddle],
        "run": [lab.heddle, "run", "--quiet", "--", heddle],
        "alone": [heddle],
        "native": [native],
    }, 5 if lab.quick else 20, key="wall")
    section = "Start-up, wall-clock time (trivial program)"
    record.add(section, "native", best["native"].wall * 1e3, "ms")
    record.add(section, "built with heddle cc, started on its own", best["alone"].wall * 1e3, "ms")
    record.add(section, "heddle run", best["run"].wall * 1e3, "ms")
    record.add(section, "heddle check --max-executions 1", best["check"].wall * 1e3, "ms")


SECTIONS = ("search", "setup", "middle", "cost", "run", "memory", "start")


def parse(argv):
    p = argparse.ArgumentParser(description="Measures Heddle; docs/performance.md explains the figures.")
    p.add_argument("--build", default="build", help="the build folder (default: build)")
    p.add_argument("--quick", action="store_true", help="under a minute, rougher, stores nothing")
    p.add_argument("--long", action="store_true", help="10 million executions in the memory section")
    p.add_argument("--executions", type=int, help="executions of the memory section (default 2 million)")
    p.add_argument("--all-compilers", action="store_true", help="clang too where the default is gcc alone")
    p.add_argument("--only", default=",".join(SECTIONS), help="comma list of: " + ", ".join(SECTIONS))
    p.add_argument("--markdown", action="store_true", help="write the table into docs/performance.md")
    p.add_argument("--last", action="store_true", help="show the last stored run instead of a new one")
    a = p.parse_args(argv)
    a.only = a.only.split(",")
    for s in a.only:
        if s not in SECTIONS:
            p.error("unknown section '%s'; known are: %s" % (s, ", ".join(SECTIONS)))
    if a.executions is None:
        a.executions = 10000000 if a.long else 300000 if a.quick else 2000000
    if a.executions < 200000:
        p.error("--executions must be at least 200000: the first 100000 are what the rest is compared with")
    return a


def measure(a):
    """Returns the record and whether all of it ran."""
    lab = Lab(a.build, a.quick)
    have = [c for c in ("gcc", "clang") if shutil.which(c)]
    if "gcc" not in have:
        raise Failure("gcc is not installed; run `make setup`")
    some = have if a.all_compilers else ["gcc"]
    record = Record.new("quick" if a.quick else "full" if set(a.only) == set(SECTIONS) else "partial")
    jobs = {
        "search": lambda: bench_search(lab, record, some),
        "setup": lambda: bench_setup(lab, record, some),
        "middle": lambda: bench_middle(lab, record, some),
        "cost": lambda: bench_cost(lab, record, some),
        "run": lambda: bench_run(lab, record, some if a.quick else have),
        "memory": lambda: bench_memory(lab, record, some, a.executions),
        "start": lambda: bench_start(lab, record, some),
    }
    whole = True
    for name in SECTIONS:
        if name not in a.only:
            continue
        began = time.monotonic()
        try:
            jobs[name]()
        except Failure as e:
            whole = False
            say("bench: %s: %s" % (name, e))
        say("bench: %s: %.0f s" % (name, time.monotonic() - began))
    return record, whole


def main(argv):
    a = parse(argv)
    whole = True
    if a.last:
        record = Record.last()
        if not record:
            say("bench: nothing is stored yet; run without --last first")
            return 2
    else:
        try:
            record, whole = measure(a)
        except Failure as e:
            say("bench: %s" % e)
            return 1
    print(record.text())
    if not a.last:
        print("%d bars missed" % len(record.missed()) if record.missed() else "every bar is held")
        if record.data["mode"] == "full" and whole:
            print("stored in %s" % record.store())
    if a.markdown and whole:
        print("written to %s" % record.write_doc())
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

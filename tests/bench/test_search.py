"""What the programs of bench/search say of themselves, at sizes that take no time; and that the benchmark notices."""
import os
import shutil
import sys

import scratch
from scratch import each

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "bench")
sys.path.insert(0, BENCH)
import search  # noqa: E402

SMALL = 1200  # executions

PROGRAMS = sorted({e.program for e in search.expectations([])})


@each(*PROGRAMS)
def test_program(s, program):
    path = os.path.join(BENCH, "search", program + ".c")
    s.cc(path, "prog", "-O2", "-I" + os.path.dirname(path))
    done = 0
    for e in search.expectations([program]):
        if e.what == "count" and int(e.fields["executions"]) <= SMALL:
            options = ["--strategy", e.fields["strategy"], *(["--all"] if e.kinds else [])]
            r = s.search("check", "./prog", "--no-explain", *options, args=e.args)
            s.same((r["executions"], r["blocked"], r["cut"], r["complete"]), (int(e.fields["executions"]), 0, 0, True),
                   "executions, blocked, cut, complete")
            s.same({f["kind"] for f in r["findings"]}, e.kinds, "findings")
        elif e.what == "symmetry" and int(e.fields["begun"]) <= SMALL:
            r = s.search("check", "./prog", "--no-explain", *search.symmetry_options(e), args=e.args)
            s.check(r["complete"] and r["verdict"] == "clean" and r["executions"] + r["blocked"] <= int(e.fields["begun"]),
                    "%s with --symmetry: %s" % (e.name, r))
        elif e.what == "states" and int(e.fields["begun"]) <= SMALL:
            r = s.search("check", "./prog", "--no-explain", "--states", args=e.args)
            s.check(r["complete"] and r["executions"] + r["blocked"] <= int(e.fields["begun"]), "%s begun" % r["visited"])
        elif e.what == "clean":
            r = s.search("check", "./prog", args=e.args)
            s.is_clean(r)
            s.same(r["verdict"], "clean", "verdict")
        elif e.what == "bug":
            patience = 4 * float(e.fields.get("seconds", search.BUG_SECONDS))
            s.is_bug(s.search("check", "./prog", "--no-explain", args=e.args, timeout=patience), e.kinds)
        else:
            continue
        done += 1
    s.check(done > 0, "no expectation of %s is small enough" % program)


def copy(s):
    shutil.copytree(BENCH, s.path("bench"), ignore=shutil.ignore_patterns("__pycache__", "results"))
    return [sys.executable, s.path("bench", "search.py"), "--build", s.build, "--quick"]


def change(s, program, old, new):
    text = s.read("bench/search/%s.c" % program)
    s.check(old in text, "%s.c does not say '%s'" % (program, old))
    s.write("bench/search/%s.c" % program, text.replace(old, new))


def test_benchmark_passes(s):
    p = s.run(copy(s) + ["--seeds", "2", "lock", "reorder"])
    for text in ("lock 6 ", "720", "reorder 10 1", "found by every seed", "every expectation holds"):
        s.check(text in p.stdout, "'%s' is not in: %s" % (text, scratch.tail(p.stdout, 20)))
    s.check(not os.path.exists(s.path("bench", "results")), "a quick run was stored")


@each(("count", "lock", "count: 4 strategy=optimal executions=24", "count: 4 strategy=optimal executions=25",
       "lock 4: 24 executions, not 25"),
      ("clean", "philosophers", "clean: 3 1", "clean: 3", "philosophers 3: verdict bug"),
      ("kind", "lostupdate", "bug: 2 kind=assertion", "bug: 2 kind=deadlock", "assertion instead of deadlock"),
      ("bug", "reorder", "bug: 1 1 kind=assertion", "bug: 0 1 kind=assertion", "nothing instead of assertion"))
def test_benchmark_notices(s, parameter):
    _, program, old, new, said = parameter
    command = copy(s)
    change(s, program, old, new)
    p = s.run(command + ["--only", "counts,bugs", program], want=1)
    s.check("1 wrong" in p.stdout or "2 wrong" in p.stdout, "not counted: " + scratch.tail(p.stdout))
    s.check(said in p.stdout, "'%s' is not in: %s" % (said, scratch.tail(p.stdout)))

"""Random programs as the body of hd_check: it explores what `heddle check` explores of the same program."""
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FUZZ = os.path.join(ROOT, "tests", "fuzz")
# Threads that main leaves behind die with it; those that a body leaves behind are waited for, and so are those that bring
# signals late.
LEFT_OUT = {"exit", "kills", "signals", "unjoined", "cancel", "detach", "misuse", "tryjoin", "full", "epoll", "timerfd", "ends"}
PROGRAMS = 24
CALL = """
#undef main
#include <stdio.h>
static char *args[3] = {"prog", 0, 0};
static void body(void *unused) { program(2, args); }
int main(int argc, char **argv) {
  struct hd_check_options o = {.strategy = "optimal", .executions = 2000, .all = 1, .arguments = argv[2]};
  args[1] = argv[1];
  struct hd_check_result r = hd_check(body, 0, &o);
  puts(r.message);
  return 0;
}
"""


def result(s):
    with open(s.path("result.json")) as f:
        r = json.load(f)
    os.remove(s.path("result.json"))
    s.check(all(f["replays"] for f in r["findings"]), "a finding does not replay")
    return {k: r[k] for k in ("executions", "classes", "states", "state_sum", "blocked", "verdict", "complete")
            if k in r}, sorted(f["kind"] for f in r["findings"])


def test_as_check(s):
    sys.path.insert(0, FUZZ)
    import generate
    allowed = set(generate.FEATURES) - LEFT_OUT
    programs = [generate.Generator(11, i, allowed).program() for i in range(PROGRAMS)]
    s.write("whole.c", generate.source(programs))
    s.write("call.c", "#define main program\n" + generate.source(programs) + CALL)
    for name in ("whole", "call"):
        s.cc(name + ".c", name, "-O1", "-fno-strict-aliasing", "-I", FUZZ)
    for i, p in enumerate(programs):
        options = [*p.options, "--max-length", "300", "--classes", "--no-explain", "--json", "result.json"]
        s.run([s.heddle, "check", "--strategy", "optimal", "--all", "--max-executions", "2000", *options, "--", "./whole", str(i)],
              want=None)
        whole = result(s)
        s.run(["./call", str(i), " ".join(options)])
        s.same(result(s), whole, "program %d, %s" % (i, " ".join(sorted(p.features))))

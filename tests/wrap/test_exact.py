"""Small programs of each family: one execution for each happens-before class that depth-first search finds."""
import os

import litmus
from scratch import each

LITMUS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "litmus")

# program: arguments; each must end by itself under every schedule
PROGRAMS = {
    "rwlock_cache": [[]],
    "sem_queue": [[]],
    "sem_mutex": [[]],
    "sem_handover": [[]],
    "barrier_phases": [[]],
    "barrier_destroy": [[]],
    "spin_lock": [[]],
    "robust_mutex": [[]],
    "join_ways": [[]],
    "futex_lock": [[], ["once"]],
    "cancel": [["cond"], ["sem"], ["sleep"], ["off"]],
    "kill": [["wait"]],
    "timeouts_any": [["right"]],
}


def verdict(r):
    """What it is apart from sleeps and time-outs, which are assumed to be exact."""
    reasons = {x["reason"] for x in r["inexact"]}
    return "clean" if not r["findings"] and reasons and reasons <= {"sleeps", "timeouts"} else r["verdict"]


@each(*sorted(PROGRAMS))
def test_exact(s, name):
    s.cc(litmus.find(LITMUS, name + ".c"), "prog", "-O1", "-I" + LITMUS)
    options = ["--timeouts=any"] if name == "timeouts_any" else []
    for args in PROGRAMS[name]:
        r = s.search("check", "./prog", "--strategy", "dfs", "--classes", *options, args=args)
        s.same(verdict(r), "clean", "verdict of dfs")
        classes = r["classes"]
        for strategy in ("optimal", "dpor"):
            r = s.search("check", "./prog", "--strategy", strategy, "--classes", *options, args=args)
            s.same((verdict(r), r["classes"]), ("clean", classes), "verdict and classes of " + strategy)
            if strategy == "optimal":
                s.same((r["executions"], r["blocked"]), (classes, 0), "executions of optimal, and given up")

"""heddle concolic --datarace and --order: data races that executions imply (src/session/races.c), and what is turned round next (src/concolic/hyper.c)."""
import os
import re
import shutil

from scratch import each

CLANG = shutil.which("clang-19")
MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "bench", "concolic")


@each("covering", "heap", "deepen")
def test_listing(s, order):
    """Three races, one of which needs an input, in at most 16 executions, whatever the order."""
    if not CLANG:
        return
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "-O1", os.path.join(MODELS, "listing.c"), "-o", "prog"])
    r = s.search("concolic", "./prog", "--driver", "hyper", "--order", order, "--datarace", "huang", "--all", "--no-explain")
    s.same(len(r["findings"]), 3, "races")
    s.check(all(f["replays"] for f in r["findings"]), "replays")
    s.check(r["executions"] <= 16, "%d executions" % r["executions"])


@each("bluetooth", "addall", "mutual")
def test_orders(s, model):
    """Every order covers the models."""
    if not CLANG:
        return
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "-O1", os.path.join(MODELS, model + ".c"), "-o", "prog"])
    for order in "heap", "deepen":
        r = s.search("concolic", "./prog", "--driver", "hyper", "--order", order, "--all", "--no-explain")
        s.same([f["kind"] for f in r["findings"]], ["assertion"], order)
        s.check(all(b["covered"] for b in r["branches"]), "%s: %s" % (order, r["branches"]))


# The lock that orders the two accesses in the execution need not; only with one input are there two of them.
LOCKED = """#include <heddle.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int x;
static void *one(void *p) {
  if (hd_input_range(0, 99, "n") == 42) x = 1;
  pthread_mutex_lock(&m); pthread_mutex_unlock(&m);
  return p;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, one, 0);
  pthread_mutex_lock(&m); pthread_mutex_unlock(&m);
  x = 2;
  pthread_join(t, 0);
  return 0;
}
"""


@each("sync", "said", "huang", "hb", "strict")
def test_predicted(s, detector):
    """A race that no execution of the driver shows is executed, with the inputs that lead there."""
    if not CLANG:
        return
    s.write("prog.c", LOCKED)
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "-O1", "prog.c", "-o", "prog"])
    words = ["--driver", "sequential", "--all", "--no-explain"]
    s.same(s.search("concolic", "./prog", *words)["findings"], [], "findings without")
    p = s.run([s.heddle, "concolic", *words, "--datarace", detector, "--json", "r.json", "--", "./prog"], want=None)
    line = re.search(r"data races by %s: (\d+) predicted, (\d+) of them found, (\d+) executed" % detector, p.stdout)
    found = 0 if detector in ("hb", "strict") else 1 # they keep the order of the locks
    s.same([int(x) for x in line.groups()], [found] * 3, p.stdout)
    if found:
        s.check("data race on `x`" in p.stdout and "n = 42" in p.stdout, p.stdout)
        p = s.run([s.heddle, "replay", ".heddle/1"], want=1)
        s.check("the same finding" in p.stdout + p.stderr, p.stdout + p.stderr)


WRONG = {
    "filter": (["--driver", "hyper", "--datarace", "lockset"], "it says which accesses may race, but not in which schedule"),
    "unknown": (["--driver", "hyper", "--datarace", "maybe"], "--datarace needs hb, shb, sync, strict, said or huang, not 'maybe'"),
    "no driver": (["--datarace", "hb"], "--datarace is for --driver bounded, hyper, mta and sequential"),
    "order": (["--driver", "hyper", "--order", "none"], "--order needs covering, heap or deepen, not 'none'"),
    "order of another": (["--driver", "mta", "--order", "heap"], "--order is for --driver hyper"),
}


@each(*WRONG)
def test_wrong_use(s, name):
    words, text = WRONG[name]
    p = s.run([s.heddle, "concolic", *words, "--", "true"], want=2)
    s.check(text in p.stdout + p.stderr, p.stdout + p.stderr)

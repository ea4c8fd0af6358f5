"""The same source, compiled by gcc and clang at -O0, -O1 and -O2, is searched in the same number of executions and
with the same verdict, where the compilers leave the accesses alone; where they do not, both numbers are stated."""
import os

import litmus
from scratch import each

LITMUS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "litmus")
WAYS = [(compiler, level) for compiler in ("gcc", "clang") for level in ("-O0", "-O1", "-O2")]

# File, and the argument that chooses a case of it.
SAME = """
atomicity.c barrier_phases.c dcl_right.c deadlock_abba.c deadlock_philosophers.c futex_semaphore.c io_eventfd.c
io_pipe_two.c lost_wakeup_unlocked.c norace_release_acquire.c cxx_static.cc program_cache.c program_cache.c:again
program_eventfd.c program_eventfd.c:one program_phases.c program_pipe.c program_pipe.c:open program_pool.c
program_pool.c:signal race_read_write.c rwlock_cache.c sem_queue.c sleep_three.c spin_lock.c timedlock.c
trylock_busy.c
""".split()


def outcome(s, source, compiler, level, *args):
    s.cc(source, "prog", level, "-I" + LITMUS, compiler=compiler)
    r = s.search("check", "./prog", "--strategy", "optimal", args=args)
    reasons = [x["reason"] for x in r["inexact"]]
    s.check(r["complete"] or r["findings"] or (reasons and set(reasons) <= {"sleeps", "timeouts"}), "neither complete nor a finding: " + r["out"])
    return r["verdict"], r["executions"], [f["kind"] for f in r["findings"]]


@each(*SAME)
def test_same(s, case):
    name, _, argument = case.partition(":")
    args = (argument,) if argument else ()
    seen = {way: outcome(s, litmus.find(LITMUS, name), *way, *args) for way in WAYS}
    for way in WAYS:
        s.same(seen[way], seen[WAYS[0]], "%s %s compared with %s %s" % (*way, *WAYS[0]))


CHANGED = """
#include <pthread.h>
%s int x; int seen;
static void *one(void *arg) { x = 1; x = 2; return arg; }
static void *two(void *arg) { seen = x; return arg; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
}
"""


@each("gcc", "clang")
def test_changed(s, compiler):
    """The example of docs/soundness.md: a store that another follows is dropped, unless it is volatile."""
    for qualifier, level, want in (("", "-O0", 3), ("", "-O1", 2), ("", "-O2", 2), ("volatile", "-O2", 3)):
        prog = s.build_text(CHANGED % qualifier, level, compiler=compiler)
        r = s.search("check", prog, "--strategy", "optimal", "--ignore", "data-race", want=0)
        s.same((r["verdict"], r["executions"]), ("clean", want), "%s %s" % (qualifier, level))

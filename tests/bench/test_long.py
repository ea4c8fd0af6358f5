"""Long executions: what the search does with one takes time in proportion to its length."""
import json
import os
import resource

from scratch import each

HERE = os.path.dirname(os.path.abspath(__file__))
SHORT, LONG = 2000, 32000
SHAPES = ("loads", "additions", "apart", "yields", "locks", "readers", "posts", "signals", "turns", "exchange")


def seconds(s, shape, n):
    """Processor time of three executions; so it does not depend on what else runs."""
    def used():
        u = resource.getrusage(resource.RUSAGE_CHILDREN)
        return u.ru_utime + u.ru_stime
    before = used()
    s.search("check", "./prog", "--strategy", "optimal", "--max-executions", "3", "--max-length", "1000000", args=[shape, str(n)])
    return used() - before


@each(*SHAPES)
def test_linear(s, shape):
    s.cc(os.path.join(HERE, "long.c"), "prog", "-O2")
    short, long = seconds(s, shape, SHORT), seconds(s, shape, LONG)
    s.check(long < 0.3 + 3 * LONG / SHORT * max(short, 0.02), "%s: %.2f s for %d rounds, %.2f s for %d" % (shape, short, SHORT, long, LONG))


def test_to_the_end(s):
    """Threads that take a lock many times are not taken for ones that wait: an execution ends where --max-length says."""
    s.write("count.c", COUNT)
    s.cc("count.c", "count", "-g", "-O2")
    p = s.run([s.heddle, "run", "--max-length", "10000000", "--", "./count"])
    s.check("200000 rounds" in p.stdout, "the execution was cut: " + p.stdout + p.stderr)


COUNT = """
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int rounds = 200000;
static void *worker(void *p) {
  for (int i = 0; i < rounds; i++) { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); }
  return p;
}
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  printf("%d rounds\\n", rounds);
}
"""


def test_long_minimum(s):
    """A lost update after 300,000 steps: the fewest preemptions, and the two steps that matter."""
    folder = os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench", "search")
    s.cc(os.path.join(folder, "prefix.c"), "prog", "-O2", "-g", "-I" + folder)
    s.is_bug(s.search("check", "./prog", "--no-explain", "--max-length", "1000000", args=["300000"]), ["assertion"])
    s.run([s.heddle, "explain", ".heddle/1", "--time", "60s", "--json", "e.json"], want=1)
    found = json.loads(s.read("e.json"))
    s.same(found["minimised"]["preemptions"], 1, "preemptions")
    s.check(found["minimised"]["switches"] <= 5, "%d switches" % found["minimised"]["switches"])
    s.check(found["story"]["order"], "no order that matters")

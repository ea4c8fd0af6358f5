"""Long executions: what the search does with one takes time in proportion to its length."""
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

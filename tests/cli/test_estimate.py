"""The size of a search that is not finished: estimated from random descents of its tree, with an error that holds."""
import os
from math import comb, factorial

from scratch import each

BLUETOOTH = os.path.join(os.path.dirname(__file__), "../../bench/search/bluetooth.c")

# GROUPS groups of K threads, each with N operations on an object of its group: additions, critical sections, or one thread
# that writes and others that read.
TREE = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
static int k, n;
static char kind;
static struct { atomic_int x; pthread_mutex_t m; int y; char apart[64]; } group[8];
static void *run(void *arg) {
  int i = (int)(intptr_t)arg, g = i / k;
  for (int j = 0; j < n; j++)
    if (kind == 'a') {
      atomic_fetch_add(&group[g].x, 1);
    } else if (kind == 'l') {
      pthread_mutex_lock(&group[g].m);
      group[g].y++;
      pthread_mutex_unlock(&group[g].m);
    } else if (i % k == 0) {
      atomic_store(&group[g].x, j);
    } else {
      (void)atomic_load(&group[g].x);
    }
  return 0;
}
int main(int argc, char **argv) {
  pthread_t t[64];
  if (argc < 5) return 1;
  kind = argv[1][0], k = atoi(argv[3]), n = atoi(argv[4]);
  int all = atoi(argv[2]) * k;
  for (int i = 0; i < 8; i++) pthread_mutex_init(&group[i].m, 0);
  for (int i = 0; i < all; i++) pthread_create(&t[i], 0, run, (void *)(intptr_t)i);
  for (int i = 0; i < all; i++) pthread_join(t[i], 0);
  return 0;
}
"""

# From 252 to 2.7e24 classes.
TREES = [("a", 1, 2, 5), ("a", 1, 2, 8), ("a", 1, 3, 4), ("a", 1, 4, 5), ("a", 1, 4, 11), ("a", 1, 6, 6), ("a", 2, 2, 5),
         ("a", 3, 2, 7), ("a", 4, 3, 5), ("l", 1, 2, 5), ("l", 1, 3, 6), ("l", 1, 4, 8), ("l", 2, 2, 6), ("l", 3, 3, 4),
         ("r", 1, 2, 6), ("r", 1, 3, 4), ("r", 1, 3, 8), ("r", 1, 4, 4), ("r", 2, 2, 5), ("r", 2, 3, 4)]


def classes(kind, groups, k, n):
    one = comb(2 * n, n) ** (k - 1) if kind == "r" else factorial(k * n) // factorial(n) ** k
    return one ** groups


@each("1", "2", "3")
def test_within_the_error(s, seed):
    program = s.build_text(TREE)
    for tree in TREES:
        r = s.search("check", program, "--strategy", "uniform", "--seed", seed, "--max-executions", "1000",
                     args=[str(a) for a in tree])
        e, size = r["estimate"], classes(*tree)
        s.check(e and abs(e["executions"] / size - 1) <= e["error"] <= 0.5, "%s: %s instead of %g" % (tree, e, size))


def test_said_when_unfinished(s):
    """The default strategy tells the size, and when it last saw something new; a search that finishes does not."""
    program = s.build_text(TREE)
    r = s.search("check", program, "--max-executions", "4000", args=["a", "1", "4", "5"], want=5)
    s.check("a complete search has about 11.7G executions (within" in r["out"], r["out"])
    s.check("last new class after" in r["out"] and "last new pair of conflicting lines after" in r["out"], r["out"])
    s.check(0 < r["last_new_pair"] <= r["last_new_class"] + 1, (r["last_new_pair"], r["last_new_class"]))
    r = s.search("check", program, args=["a", "1", "2", "2"], want=0)
    s.check("a complete search has" not in r["out"] and "last new" not in r["out"], r["out"])


@each("2", "3")
def test_not_contradicted(s, seed):
    """An estimate never allows for fewer executions than the search has found classes."""
    s.cc(BLUETOOTH, "bluetooth", "-O1")
    r = s.search("check", "./bluetooth", "--seed", seed, "--max-executions", "16000", args=["3", "1"])
    e, found = r["estimate"], r["class_count"]["classes"]
    s.check(not e or e["executions"] * (1 + e["error"]) >= found, "%s, but %d classes" % (e, found))


def test_is_no_nondeterminism(s):
    """What `uniform` learns in an execution that is tried twice would make the second one another."""
    program = s.build_text(TREE)
    r = s.search("check", program, "--strategy", "uniform", "--max-executions", "20", args=["l", "2", "2", "3"])
    s.same((r["restart"], r["executions"]), ("memory", 20), "the restart of executions")

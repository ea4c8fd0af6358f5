"""What a search says it exercised: lines, pairs of lines and their orders, happens-before classes."""
import json

from scratch import each

# One line for each thing, so that lines tell what is meant. main's first write and its last read are ordered by creating
# and joining; that of `once` is before the other thread in every execution, but only by a semaphore.
ORDERS = """#include <pthread.h>
#include <semaphore.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static sem_t ready;
static int both, once, first;
static void *worker(void *a) {
  pthread_mutex_lock(&m); /* A */
  both = first; /* B */
  pthread_mutex_unlock(&m);
  sem_wait(&ready); /* C */
  once++; /* D */
  return a;
}
int main(void) {
  pthread_t t;
  first = 1; /* E */
  sem_init(&ready, 0, 0);
  pthread_create(&t, 0, worker, 0);
  pthread_mutex_lock(&m); /* F */
  both = 2; /* G */
  pthread_mutex_unlock(&m);
  once = 1; /* H */
  sem_post(&ready); /* I */
  pthread_join(t, 0);
  return both + once + first == 0; /* J */
}
"""


MANY = """#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *worker(void *a) {
  x++;
  x++;
  return a;
}
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  return 0;
}
"""


# What headers of the library do belongs to the lines that call them, inlined or not.
CXX = """#include <atomic>
#include <mutex>
#include <thread>
#include <vector>
static std::mutex m;
static std::atomic<int> hits;
static std::vector<int> all(2);
static void one() {
  std::lock_guard<std::mutex> hold(m); /* A */
  all.at(0) = 1; /* B */
}
static void other() {
  std::unique_lock<std::mutex> hold(m); /* C */
  all.at(0) = 2; /* D */
}
int main() {
  std::thread a([] { hits += 1; one(); }); /* E */
  std::thread b([] { other(); hits.store(3); }); /* F */
  a.join();
  b.join();
}
"""


def line(text, mark):
    return next(i for i, l in enumerate(text.splitlines(), 1) if "/* %s */" % mark in l)


def pairs(r, text):
    """{marks of the two lines: (whether the first came before the second, and the other way round)}."""
    marks = {line(text, m): m for m in "ABCDEFGHIJ" if "/* %s */" % m in text}
    c = r["coverage"]
    out = {}
    for p in c["pairs"]:
        a, b = (marks.get(c["lines"][p[k]]["line"]) for k in ("first", "second"))
        out[a + b] = (p["forward"] > 0, p.get("backward", 0) > 0)
    return out


@each("optimal", "dfs", "auto", "random")
def test_orders(s, strategy):
    """Which pairs met, in which order; nothing that creating and joining threads orders."""
    program = s.build_text(ORDERS)
    options = ["--max-executions", "200"] if strategy == "random" else []
    r = s.search("check", program, "--strategy", strategy, *options, want=0)
    s.same(pairs(r, ORDERS), {"AF": (True, True), "BG": (True, True), "CI": (False, True), "DH": (False, True)}, "pairs")
    c = r["coverage"]
    s.same({p["object"] for p in c["pairs"]}, {"m", "both", "ready", "once"}, "objects")
    s.same((c["overflowed"], c["looked_at"] <= c["begun"]), (False, True), "how much was looked at")
    at = {l["line"]: l for l in c["lines"]}
    s.same((at[line(ORDERS, "A")]["operations"], at[line(ORDERS, "B")]["operations"]), (["lock"], ["write"]), "operations")
    s.same([(at[line(ORDERS, m)]["threads"], at[line(ORDERS, m)]["first_thread"]) for m in "BG"], [(1, False), (1, True)], "threads")
    s.check(line(ORDERS, "E") not in at, "a line that nobody contends for")


@each("-O0", "-O2")
def test_cxx(s, level):
    program = s.build_text(CXX, level, suffix=".cc")
    r = s.search("check", program, "--strategy", "optimal", want=0)
    s.same(pairs(r, CXX), {"AC": (True, True), "BD": (True, True), "EF": (True, True)}, "pairs")
    for p in r["coverage"]["pairs"]:
        s.same({r["coverage"]["lines"][p[k]]["file"] for k in ("first", "second")}, {"prog.cc"}, "files")


@each("memory", "fork")
def test_ways(s, restart):
    """The same whatever the way of restart, the number of workers, and whether the search was stopped in between."""
    program = s.build_text(ORDERS)
    want = pairs(s.search("check", program, "--strategy", "optimal", want=0), ORDERS)
    r = s.search("check", program, "--strategy", "optimal", "--restart", restart, "-j", "2", want=0)
    s.same(pairs(r, ORDERS), want, "pairs of two workers")
    s.search("check", program, "--strategy", "optimal", "--restart", restart, "--max-executions", "1", "--save", "saved", want=5)
    r = s.search("check", program, "--resume", "saved", "--max-executions", "1000", want=0)
    s.same(pairs(r, ORDERS), want, "pairs of a search that was continued")


def test_one_order_of_an_unfinished_search(s):
    """What was not run is not said to have been."""
    program = s.build_text(ORDERS)
    r = s.search("check", program, "--strategy", "optimal", "--max-executions", "1", want=5)
    met = pairs(r, ORDERS)
    s.check(sum(met["AF"]) == 1 and sum(met["BG"]) == 1, "orders of one execution: %s" % met)


def test_fewer_and_fewer(s):
    """A long search looks at some of its executions only, and says so."""
    program = s.build_text(MANY)
    r = s.search("check", program, "--strategy", "optimal", want=0)
    s.same(r["executions"], 2520, "executions")
    s.check(32 <= r["coverage"]["looked_at"] < 1000, "looked at %d" % r["coverage"]["looked_at"])
    s.check(r["coverage"]["begun"] >= 2520, "begun")


@each("optimal", "dpor", "dfs", "auto", "random", "pos", "pct", "sites", "surw", "rff", "uniform", "mined", "ti", "ci", "tici+",
      "tici-")
def test_classes(s, strategy):
    """Classes are counted for every strategy, all in the same way; or it is said how many there are at least."""
    program = s.build_text(ORDERS)
    many = [] if strategy in ("optimal", "dpor", "dfs", "auto") else ["--max-executions", "300"]
    whole = s.search("check", program, "--strategy", "optimal", "--classes", want=0)
    r = s.search("check", program, "--strategy", strategy, "--classes", *many, want=0)
    s.same((r["class_count"]["by"], r["class_count"]["classes"]), ("counted", r["classes"]), "classes")
    s.same((r["classes"], r["class_sum"]), (whole["classes"], whole["class_sum"]), "the set of classes")
    r = s.search("check", program, "--strategy", strategy, *many, want=0)
    if strategy in ("optimal", "dpor", "auto"):
        s.same(r["class_count"], {"by": "executions", "classes": whole["classes"]}, "classes without counting")
    else:
        s.same(r["class_count"], None, "classes that nobody counted")


def test_classes_at_least(s):
    """What `auto` samples is not counted unless it is asked for."""
    program = s.build_text(MANY)
    r = s.search("check", program, "--max-executions", "200", want=5)
    s.same(r["class_count"], {"by": "at-least", "classes": r["phases"][0]["executions"]}, "classes")
    s.check(0 < r["class_count"]["classes"] < 200, "classes: %s" % r["class_count"])


def test_no_source(s):
    """Without debugging information places are told by their functions."""
    s.write("prog.c", ORDERS)
    s.run([s.heddle, "cc", "-g0", "prog.c", "-o", "prog", "-pthread"])
    r = s.search("check", "./prog", "--strategy", "optimal", want=0)
    s.same({l["file"] for l in r["coverage"]["lines"]}, {None}, "files")
    s.check({"main", "worker"} <= {l["function"] for l in r["coverage"]["lines"]}, "functions")
    s.check(len(r["coverage"]["pairs"]) >= 4, "pairs")
    json.dumps(r)

"""Names in findings: parts of heap blocks by where they were allocated, threads by their functions, C++ names without what
nobody writes."""
import json

from scratch import each

PROGRAM = """
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>
template <typename K, typename V, typename A = std::allocator<V>> struct Table {
  std::vector<V, A> slots = std::vector<V, A>(4);
  int used = 0;
  void add(K k, V v) { slots[k] = v; used++; }
};
struct Stats { int calls = 0; void hit() { calls++; } };
struct Server {
  int id = 1;
  Stats stats;
  void handle(int n) { for (int i = 0; i < n; i++) stats.hit(); }
};
static void member() { Server s; std::thread t(&Server::handle, &s, 1); s.handle(1); t.join(); }
static void heap() { auto *s = new Server; std::thread t([s] { s->stats.calls = 5; }); s->stats.calls = 6; t.join(); delete s; }
static void shared() { auto s = std::make_shared<Server>(); std::thread t([s] { s->handle(1); }); s->handle(1); t.join(); }
static void table() { Table<int, long> t; std::thread a([&] { t.add(1, 5); }); t.add(2, 5); a.join(); }
static void array() { int *buf = (int *)malloc(10 * sizeof(int)); std::thread a([&] { buf[3] = 5; }); buf[3] = 7; a.join(); free(buf); }
static Server *make() { return new Server; }
static void several() { Server *a = make(), *b = make(); std::thread t([b] { b->stats.calls = 5; }); b->stats.calls = 6; t.join(); delete a; delete b; }
static void vector() { std::vector<Server> v(3); std::thread t([&] { v[1].id = 5; }); v[1].id = 6; t.join(); }
static void grown() { std::vector<Server> v; v.resize(3); std::thread t([&] { v[2].stats.calls = 5; }); v[2].stats.calls = 6; t.join(); }
template <class K> struct Count { K key; int n = 0; };
static void made() { auto c = std::make_shared<Count<long>>(); std::thread t([c] { c->n = 5; }); c->n = 6; t.join(); }
static Server *server;
static void pointee() { server = (Server *)calloc(1, sizeof *server); std::thread t([] { server->stats.calls = 5; }); server->stats.calls = 6; t.join(); free(server); }
int main(int argc, char **argv) {
  void (*f[])() = {member, heap, shared, table, array, several, vector, grown, made, pointee};
  f[atoi(argv[1])]();
}
"""
# The variable, a location, and the function of T1.
WANT = {
    "member": ("s.stats.calls", "Stats::hit", "Server::handle"),
    "heap": ("s->stats.calls", "heap::lambda", "lambda:19"),
    "shared": ("s->stats.calls", "shared::lambda", "lambda:20"),
    "table": ("t.used", "Table<int, long>::add", "lambda:21"),
    "array": ("buf[3]", "array::lambda", "lambda:22"),
    "several": ("Server#2.stats.calls", "several::lambda", "lambda:24"),
    "vector": ("v[1].id", "vector::lambda", "lambda:25"),
    "grown": ("v[2].stats.calls", "grown::lambda", "lambda:26"),
    "made": ("c->n", "made::lambda", "lambda:28"),
    "pointee": ("server->stats.calls", "pointee::lambda", "lambda:30"),
}


@each(*WANT)
def test_cxx(s, name):
    s.write("prog.cc", PROGRAM)
    s.run([s.heddle, "c++", "-std=c++20", "-g", "-O0", "prog.cc", "-o", "prog"])
    variable, function, thread = WANT[name]
    r = s.search("check", "./prog", args=[str(list(WANT).index(name))])
    f = s.is_bug(r, ["data-race"])
    s.check("data race on `%s`" % variable in r["out"], "another name than %s: %s" % (variable, r["out"]))
    s.check(" " + function + " " in r["out"], "no %s in %s" % (function, r["out"]))
    s.check("T1 " + thread in {row["thread"] for row in f["story"]["rows"]}, "threads: %s" % f["story"]["rows"])
    s.check("allocator" not in r["out"], r["out"])


NODES = """
#include <pthread.h>
#include <stdlib.h>
typedef struct node { int value; pthread_mutex_t lock; } node;
static node *make(int v) { node *n = calloc(1, sizeof *n); n->value = v; pthread_mutex_init(&n->lock, 0); return n; }
static node *a, *b;
static void take(node *x, node *y) {
  pthread_mutex_lock(&x->lock);
  pthread_mutex_lock(&y->lock);
  pthread_mutex_unlock(&y->lock);
  pthread_mutex_unlock(&x->lock);
}
static void *other(void *p) { take(b, a); return p; }
int main(void) {
  a = make(1), b = make(2);
  pthread_t t;
  pthread_create(&t, 0, other, 0);
  take(a, b);
  pthread_join(t, 0);
}
"""


@each("-O0", "-O2")
def test_locks(s, level):
    """Locks in blocks that one line allocates have different names, in the text, the trace and the values of the page."""
    r = s.search("check", s.build_text(NODES, level))
    s.is_bug(r, ["deadlock"])
    s.check("cycle: T0 -> `node#2.lock` -> T1 -> `node#1.lock` -> T0" in r["out"], r["out"])
    shown = s.run([s.heddle, "trace", "show", ".heddle/1"]).stdout
    s.check("node#1.lock" in shown and "node#2.lock" in shown, shown)
    where = json.loads(s.read(".heddle/1/finding.json"))["where"]
    s.same({p["object"] for p in where if p["role"] == "waits"}, {"node#1.lock", "node#2.lock"}, "what is waited for")


POOL = """
#include <atomic>
#include <thread>
class Pool {
  std::atomic<int> free_{2};
 public:
  void take() { if (free_ > 0) free_--; }
  int free() { return free_; }
};
static int test() {
  Pool p;
  p.take();
  std::thread a([&] { p.take(); }), b([&] { p.take(); });
  a.join();
  b.join();
  return p.free();
}
int main() { return test() < 0; }
"""


@each("-O0", "-O2")
def test_returned(s, level):
    """Local variables of a function that has returned when the program fails, as those of a test in a suite; and the values of a
    std::atomic, whose functions are the library's."""
    s.write("prog.cc", POOL)
    s.run([s.heddle, "c++", "-g", level, "prog.cc", "-o", "prog"])
    r = s.search("check", "./prog")
    s.is_bug(r, ["exit"])
    s.check("p.free_: 1 -> 0" in r["out"] and "p.free_: 0 -> -1" in r["out"], r["out"])


AGAIN = """
#include <atomic>
#include <thread>
template <class T> static int run() {
  T mine{};
  std::thread a([&] { if (mine.count == 0) mine.count = mine.count + 1; }), b([&] { if (mine.count == 0) mine.count = mine.count + 1; });
  a.join();
  b.join();
  return mine.count;
}
struct First { std::atomic<int> count; };
struct Second { std::atomic<int> other, count; };
int main() { return run<Second>() + run<First>() != 2; }
"""


def test_not_another(s):
    """Two functions had their variables at one address: no name is better than the wrong one."""
    s.write("prog.cc", AGAIN)
    s.run([s.heddle, "c++", "-g", "-O0", "prog.cc", "-o", "prog"])
    r = s.search("check", "./prog")
    s.is_bug(r, ["exit"])
    s.check("mine.other" not in r["out"], r["out"])


def test_first_of_a_section(s):
    """At the address of the first variable of .bss the linker has a symbol, too (__TMC_END__)."""
    program = s.build_text("""
#include <pthread.h>
static int failed;
static void *job(void *p) { failed++; return p; }
int main(void) { pthread_t t; pthread_create(&t, 0, job, 0); failed++; pthread_join(t, 0); return 0; }
""")
    r = s.search("check", program, want=1)
    s.same(r["findings"][0]["title"], "data race on `failed` (4 bytes)", "the title")


def test_nodes_of_a_map(s):
    """The allocator of a string that is a key says nothing about the type of a node."""
    program = s.build_text("""
#include <cassert>
#include <map>
#include <mutex>
#include <string>
#include <thread>
std::mutex m;
std::map<std::string, int> accounts;
static void add(int n) {
  int old;
  { std::lock_guard<std::mutex> g(m); old = accounts["a name that is longer than that"]; }
  { std::lock_guard<std::mutex> g(m); accounts["a name that is longer than that"] = old + n; }
}
int main() {
  std::thread a(add, 100), b(add, 100);
  a.join(), b.join();
  assert(accounts["a name that is longer than that"] == 200);
}
""", suffix=".cc")
    r = s.search("check", program, want=1)
    s.check("= 100" in r["out"] or "writes 100" in r["out"], r["out"])
    s.check("char[" not in r["out"], r["out"])

"""heddle mutate: which mutants there are, that they compile and are as described, and which ones a test kills."""
import glob
import json
import os

import common
from scratch import each

# A line for each operator on locks and calls.
LOCKS = """#include <pthread.h>
#include <semaphore.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static sem_t s;
static volatile int flag;
static int x, y;
static int whole(int v) {
  pthread_mutex_lock(&a);
  if (v) {
    pthread_mutex_unlock(&a);
    return 0;
  }
  x++;
  y++;
  x--;
  pthread_mutex_unlock(&a);
  return 1;
}
static void part(void) {
  flag = 1;
  pthread_mutex_lock(&b);
  y++;
  pthread_mutex_unlock(&b);
  pthread_mutex_lock(&a);
  x++;
  pthread_mutex_unlock(&a);
  flag = 0;
}
static void *f(void *p) {
  sem_wait(&s);
  whole(0);
  part();
  sem_post(&s);
  return p;
}
int main(void) {
  pthread_t t;
  sem_init(&s, 0, 1);
  pthread_create(&t, 0, f, 0);
  f(0);
  pthread_join(t, 0);
}
"""
ON_LOCKS = "MSP ESP RSK RSB RVK RFU SKCR EXCR SPCR MVSB RTXC RCXC MXC".split()

ATOMICS = """#include <stdatomic.h>
static atomic_int n;
static _Atomic long m;
static int f(int v) {
  int old = atomic_load(&n);
  atomic_store_explicit(&n, v, memory_order_release);
  m++;
  m += 3;
  __sync_fetch_and_add(&v, 2);
  atomic_fetch_or(&n, 2);
  return atomic_compare_exchange_strong(&n, &old, v) + atomic_exchange(&n, 1);
}
int main(void) { return f(0) > 5; }
"""

CXX = """#include <atomic>
#include <mutex>
#include <thread>
struct box {
  std::mutex m;
  std::atomic<int> hits{0};
  int v = 0;
  bool set(int w) {
    std::lock_guard<std::mutex> g(m);
    if (w < 0) return false;
    v = w;
    hits.fetch_add(1);
    return true;
  }
  int get() {
    m.lock();
    int w = v;
    hits++;
    m.unlock();
    return w + hits.load();
  }
};
int main() {
  box b;
  std::thread t([&] { b.set(1); });
  b.get();
  t.join();
}
"""

SEATS = """#include <assert.h>
#include <pthread.h>
#ifndef CUSTOMERS
#define CUSTOMERS 2
#endif
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int seats = 2, sold;
static void *buy(void *p) {
  pthread_mutex_lock(&lock);
  int left = seats - sold;
  if (left > 0) sold++;
  pthread_mutex_unlock(&lock);
  return p;
}
int main(void) {
  pthread_t t[CUSTOMERS];
  for (int i = 0; i < CUSTOMERS; i++) pthread_create(&t[i], 0, buy, 0);
  for (int i = 0; i < CUSTOMERS; i++) pthread_join(t[i], 0);
  assert(sold == seats);
}
"""


def mutate(s, *words, want=0):
    return common.slow(s, [s.heddle, "mutate", *words], want=want)


def manifest(s, folder="heddle-mutants"):
    return json.loads(s.read(folder + "/manifest.json"))


def changes(s, name, folder="heddle-mutants"):
    """operator -> what the lines of the mutated files are, that the original has not."""
    found = {}
    original = [line.strip() for line in s.read(name).splitlines()]
    for m in manifest(s, folder)["mutants"]:
        lines = [line.strip() for line in s.read(folder + "/" + m["path"]).splitlines()]
        found.setdefault(m["operator"], []).append([line for line in lines if line not in original])
    return found


def test_operators_on_locks(s):
    """Each operator finds its places, and the list says what was changed where."""
    s.write("p.c", LOCKS)
    out = mutate(s, "p.c", "-n", "1000", "--", "-O1")
    s.check("were asked for, but there are no more than" in out.stderr, "it does not say that these are all: " + out.stderr)
    j = manifest(s)
    s.same(sorted({m["operator"] for m in j["mutants"]}), sorted(ON_LOCKS), "operators")
    s.same(len(j["mutants"]) + j["rejected"], j["candidates"], "mutants and those that were dropped")
    for m in j["mutants"]:
        s.check("%s  %-4s  p.c:%d: %s\n" % (m["id"], m["operator"], m["line"], m["what"]) in out.stdout, "not listed: %s" % m)
    what = {m["what"]: m for m in j["mutants"]}
    for line, text in ((8, "whole: does not lock &a"), (21, "part: does not lock &b"), (10, "whole: leaves without unlocking &a"),
                       (21, "part: exchanges the locks &b and &a (line 24)"), (8, "whole: locks &b instead of &a"),
                       (5, "not volatile"), (41, "main: no pthread_join(t, 0)"), (30, "f: no sem_wait(&s)"),
                       (38, "main: sem_init: 2 instead of 1"), (38, "main: sem_init: 0 instead of 1")):
        s.check(text in what and what[text]["line"] == line, "no mutant '%s' of line %d in %s" % (text, line, sorted(what)))


def test_operators_on_atomics(s):
    s.write("p.c", ATOMICS)
    mutate(s, "p.c", "-n", "1000", "--", "-O1")
    found = changes(s, "p.c")
    s.same(sorted(found), ["EAN", "RAT", "WAO"], "operators")
    s.same(len(found["EAN"]), 6, "atomic operations that are divided")
    s.same(len(found["RAT"]), 2, "atomic variables")
    text = str(found)
    for part in ("(m = m + 1)", "(m = m + (3))", "atomic_compare_exchange_weak(&n, &old, v)", "memory_order_relaxed",
                 "atomic_load_explicit(&n, memory_order_relaxed)", "static int n;", "(*(&n))"):
        s.check(part in text, "'%s' is in no mutant: %s" % (part, text))


def test_cxx(s):
    """Guards, methods of locks and atomics, and the threads of the C++ library."""
    s.write("p.cc", CXX)
    mutate(s, "p.cc", "-n", "1000", "--", "-O1")
    found = changes(s, "p.cc")
    s.same(sorted(found), ["EAN", "MVSB", "RAT", "RCXC", "RFU", "RSK", "RTXC", "SKCR", "SPCR", "WAO"], "operators")


def test_flags_of_gcc(s):
    """libclang does not know all flags of gcc: it parses without them, and the compiler gets them."""
    s.write("p.c", SEATS)
    flags = ["-fno-ipa-icf", "-Wno-maybe-uninitialized", "--param=max-inline-insns-single=5", "-fanalyzer"]
    p = mutate(s, "p.c", "-n", "1", "--", *flags)
    s.same((p.stderr, manifest(s)["files"][0]["flags"]), ("", flags), "messages, and flags")


def test_same_seed_same_mutants(s):
    """A seed says which mutants are made; fewer of them are the first of more."""
    s.write("p.c", LOCKS)
    lists = []
    for folder, n, seed in (("a", 12, 7), ("b", 12, 7), ("c", 5, 7), ("d", 12, 8)):
        mutate(s, "p.c", "-n", str(n), "--seed", str(seed), "-o", folder, "--quiet")
        lists.append(manifest(s, folder)["mutants"])
        s.same(len(glob.glob(s.path(folder, "[0-9]*"))), n, "folders")
    s.same(lists[0], lists[1], "mutants of a seed")
    s.same(lists[0][:5], lists[2], "the first ones")
    s.check(lists[0] != lists[3], "another seed gives the same mutants")


def test_run(s):
    """A test kills some, and with one more customer one more; the survivors are proved, what is killed replays."""
    s.write("seats.c", SEATS)
    split = "buy: unlocks &lock and locks it again after line 10"
    for flags, want, code in (("-O1", "survived every schedule", 1), ("-DCUSTOMERS=3", "killed", 0)):
        p = mutate(s, "seats.c", "-n", "2", "--operators", "SPCR,RSK", "--run", "--json", "r.json", "--", flags, want=code)
        j = json.loads(s.read("r.json"))
        rows = {m["what"]: m for m in j["mutants"]}
        s.same(rows[split]["result"], want, "the section that is split")
        s.same(rows["buy: does not lock &lock"]["result"], "killed", "the section that is gone")
        s.check("data-race" == rows["buy: does not lock &lock"]["kind"], str(rows))
        s.check("%d killed, %d survived every schedule" % (j["killed"], j["survived_every_schedule"]) in p.stdout, p.stdout)
        s.same((split + " (no schedule of this test fails)") in p.stdout, want != "killed", "listed as a survivor")
        for m in j["mutants"]:
            if m["replay"]:
                s.run([s.heddle, "replay", m["replay"]], want=1)
    s.same(json.loads(s.read("heddle-mutants/results.json")), j, "the results of the folder")


def test_several_files_and_a_build(s):
    """Files in folders, with headers beside them, that make builds; the flags are of a compilation database."""
    s.write("src/count.h", "void count(void);\nextern int n;\n")
    s.write("src/count.c", '#include "count.h"\n#include <pthread.h>\n#include "limit.h"\nint n;\n'
            "static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\nvoid count(void) {\n  pthread_mutex_lock(&lock);\n"
            "  n += STEP;\n  pthread_mutex_unlock(&lock);\n}\n")
    s.write("include/limit.h", "#define STEP 1\n")
    s.write("main.c", '#include "src/count.h"\n#include <assert.h>\n#include <pthread.h>\n'
            "static void *f(void *p) {\n  count();\n  return p;\n}\nint main(void) {\n  pthread_t t;\n"
            "  pthread_create(&t, 0, f, 0);\n  count();\n  pthread_join(t, 0);\n  assert(n == 2);\n}\n")
    s.write("Makefile", "test: main.c src/count.c\n\t$(CC) -g -O1 -Iinclude main.c src/count.c -o test\n")
    s.write("compile_commands.json", json.dumps([
        {"directory": s.dir, "file": "main.c", "command": "cc -Iinclude -c main.c"},
        {"directory": s.path("src"), "file": "count.c", "arguments": ["heddle", "cc", "-c", "-I", "../include", "-o", "x.o", "count.c"]}]))
    common.refused(s, [s.heddle, "mutate", "src/count.c"], 2, "does not parse", "limit.h", "after --")
    mutate(s, "src/count.c", "-n", "1", "--operators", "RSK", "--run", "--", "-Iinclude", "-O1", "main.c")
    mutate(s, "src/count.c", "-n", "1", "--operators", "RSK", "-o", "db", "--compile-commands", "compile_commands.json")
    s.same(manifest(s, "db")["files"][0]["flags"], ["-I", "../include"], "flags of the database")
    mutate(s, "--run", "-o", "db", "--build", 'make -B CC="%s cc"' % s.heddle, "--", "./test")
    row = json.loads(s.read("db/results.json"))["mutants"][0]
    s.same((row["result"], row["kind"]), ("killed", "data-race"), "by a build of its own")
    s.check('#include "limit.h"' in s.read("src/count.c") and "(void)0" not in s.read("src/count.c"), "the source was changed")


BENCH = os.path.join(os.path.dirname(os.path.dirname(common.HERE)), "bench", "mined")


@each(*sorted(os.path.basename(p) for p in glob.glob(os.path.join(BENCH, "*.c*"))))
def test_structures_are_correct(s, name):
    """What bench/mined.py mutates does not fail by itself."""
    words = [s.heddle, "c++" if name.endswith(".cc") else "cc", "-O1", "-pthread", os.path.join(BENCH, name), "-o", "test"]
    common.slow(s, words)
    s.run([s.heddle, "check", "--strategy", "mined", "--max-executions", "200", "--", "./test"], want=0)


BAD = {
    "none": ([], 2, "name a source file"),
    "missing": (["absent.c"], 2, "cannot read absent.c: No such file"),
    "header": (["p.h"], 2, "p.h is not a C or C++ source file"),
    "syntax": (["broken.c"], 2, "broken.c does not parse: broken.c:2:", "error"),
    "sequential": (["plain.c"], 2, "plain.c: nothing to mutate"),
    "operators": (["p.c", "--operators", "MXC"], 2, "nothing to mutate", "for these operators"),
    "unknown": (["p.c", "--operators", "RSB,XYZ"], 2, "unknown operator 'XYZ'", "RAT"),
    "count": (["p.c", "-n", "0"], 2, "--count needs a whole number of at least 1"),
    "folder": (["p.c", "-o", "mine"], 2, "mine is there already"),
    "database": (["p.c", "--compile-commands", "p.c"], 2, "p.c is not a compile_commands.json"),
    "not-in-it": (["p.c", "--compile-commands", "empty.json"], 2, "p.c is not among the files of empty.json"),
    "run": (["--run"], 2, "heddle-mutants has no mutants"),
    "damaged": (["--run", "-o", "damaged"], 2, "manifest.json is damaged"),
    "fails": (["race.c", "-n", "1", "--run"], 2, "the test fails without a mutation", "findings/1"),
}


@each(*sorted(BAD))
def test_bad(s, case):
    words, want, *texts = BAD[case]
    s.write("p.c", SEATS)
    s.write("p.h", "")
    s.write("broken.c", "int x;\nint main(void) { return y; }\n")
    s.write("plain.c", "int main(void) { return 0; }\n")
    s.write("mine/file", "")
    s.write("empty.json", "[]")
    s.write("damaged/manifest.json", "{")
    s.write("race.c", common.RACE)
    common.refused(s, [s.heddle, "mutate", *words], want, *texts, stdout=None)
    s.check(os.path.exists(s.path("mine/file")), "a folder of the user's was changed")


def test_no_libclang(s):
    s.write("p.c", SEATS)
    common.refused(s, [s.heddle, "mutate", "p.c"], 3, "HEDDLE_LIBCLANG=/none", env={"HEDDLE_LIBCLANG": "/none"})

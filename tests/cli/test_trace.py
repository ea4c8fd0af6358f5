"""heddle record and heddle trace: what is recorded, and its formats."""
import json
import os
import re

import common
from scratch import each

PROGRAM = """
#include <pthread.h>
#include <stdatomic.h>
static int counter;
static _Alignas(64) int mine[16];
static atomic_int hits;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static void *worker(void *arg) {
  pthread_mutex_lock(&lock);
  counter = counter * 2 + 1;
  mine[0]++;
  pthread_cond_signal(&ready);
  pthread_mutex_unlock(&lock);
  atomic_fetch_add(&hits, 5);
  int want = 12345;
  atomic_compare_exchange_strong(&hits, &want, 1);
  return arg;
}
int main(void) {
  pthread_t t;
  counter = -3;
  pthread_create(&t, 0, worker, 0);
  pthread_setname_np(t, "the worker");
  atomic_fetch_add(&hits, 1);
  pthread_mutex_lock(&lock);
  while (counter == -3) pthread_cond_wait(&ready, &lock);
  pthread_mutex_unlock(&lock);
  pthread_join(t, 0);
  return 0;
}
"""


def record(s, *options, program=None, text=PROGRAM, want=0, out="trace"):
    program = program or s.build_text("#define _GNU_SOURCE\n" + text)
    return s.run([s.heddle, "record", "-o", out, *options, "--", program], want=want)


def show(s, trace="trace", *options):
    return s.run([s.heddle, "trace", "show", *options, trace]).stdout


def convert(s, to, source, out):
    return s.run([s.heddle, "trace", "convert", "--to", to, source, "-o", out])


def events(text):
    """The events as dictionaries."""
    lines = text.splitlines()
    first = next(i for i, l in enumerate(lines) if l.startswith("events "))
    result = []
    for line in lines[first + 1:-1]:
        words = line.split(" ")
        e = dict(zip(("number", "thread", "op", "object", "size", "place"), words))
        e.update(w.split("=", 1) if "=" in w else (w, True) for w in words[6:])
        result.append(e)
    return result


def raw(s, name):
    with open(s.path(name), "rb") as f:
        return f.read()


FENCES = """
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y;
static void *worker(void *arg) {
  atomic_store_explicit(&x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst);
  int want = 3;
  atomic_compare_exchange_strong_explicit(&y, &want, 2, memory_order_acq_rel, memory_order_relaxed);
  return arg;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  atomic_load_explicit(&x, memory_order_acquire);
  atomic_fetch_add_explicit(&y, 1, memory_order_release);
  pthread_join(t, 0);
  return 0;
}
"""


def test_orders(s):
    """Memory orders and fences are recorded; a fence is no scheduling point."""
    program = s.build_text(FENCES)
    record(s, program=program)
    seen = {(e["op"], e.get("order")) for e in events(show(s))}
    for op, order in (("atomic-store", "relaxed"), ("fence", "seq_cst"), ("atomic-cas", "relaxed"),
                      ("atomic-load", "acquire"), ("atomic-rmw", "release")):
        s.check((op, order) in seen, "no %s with order %s in %s" % (op, order, sorted(map(str, seen))))
    fence = next(e for e in events(show(s)) if e["op"] == "fence")
    s.check("plain" in fence, "a fence is plain: %s" % fence)
    r = s.search("check", program, "--strategy", "dfs")
    without = s.build_text(FENCES.replace("  atomic_thread_fence(memory_order_seq_cst);\n", ""), name="without")
    s.same(s.search("check", without, "--strategy", "dfs")["executions"], r["executions"], "executions without the fence")


def test_values(s):
    """Values read and written, and which write a read saw."""
    p = record(s)
    s.check(re.search(r"recorded \d+ events of 2 threads in trace \(\d+ bytes\)", p.stderr), "says: " + p.stderr)
    all_events = events(show(s))
    at = {int(e["number"]): e for e in all_events}
    s.same([int(e["number"]) for e in all_events], list(range(1, len(at) + 1)), "numbers")
    writes = [e for e in all_events if e["op"] == "write" and e["object"] == "counter"]
    s.same([e["value"] for e in writes], ["-3", "-5"], "values written")
    for e in all_events:
        if e["op"] == "read" and e["object"] == "counter":
            s.same(at[int(e["from"])]["value"], e["value"], "value of the write that was seen")
    rmw = [e for e in all_events if e["op"] == "atomic-rmw"]
    s.same(sorted((e["found"], e["value"]) for e in rmw), [("0", "1"), ("1", "6")], "atomic additions")
    cas = [e for e in all_events if e["op"] == "atomic-cas"]
    s.same([(e.get("failed"), e["found"], e["value"]) for e in cas], [(True, "6", "6")], "compare-and-swap that lost")
    s.check(any(e["op"] == "start" and at[int(e["from"])]["op"] == "create" for e in all_events if "from" in e),
            "a start does not know its creation")
    join = [e for e in all_events if e["op"] == "join"][0]
    s.same(at[int(join["from"])]["op"], "exit", "what a join saw")


def test_wait_and_names(s):
    """What a wait gives up, whom a signal wakes, and the names of threads."""
    record(s)
    text = show(s)
    s.check("\nthread T1 the%20worker worker\n" in text, "thread without its names: " + text[:300])
    waits = [e for e in events(text) if e["op"] == "wait"]
    s.same([(e["object"], e["mutex"]) for e in waits], [("ready", "lock")], "the wait")
    s.same([e["woke"] for e in events(text) if e["op"] == "signal"], ["T0"], "who was woken")


def test_plain(s):
    """--plain records what one thread alone does, too."""
    program = s.build_text("#define _GNU_SOURCE\n" + PROGRAM)
    record(s, program=program)
    s.check(not [e for e in events(show(s)) if e["object"].startswith("mine")], "unshared memory was recorded")
    record(s, "--plain", program=program)
    mine = [(e["op"], e["value"], e.get("plain")) for e in events(show(s)) if e["object"].startswith("mine")]
    s.same(mine, [("read", "0", True), ("write", "1", True)], "accesses")


def test_seed(s):
    """The same seed gives the same bytes, another one another schedule."""
    program = s.build_text("#define _GNU_SOURCE\n" + PROGRAM)
    traces = []
    for seed in (1, 1, 2, 3, 4, 5):
        record(s, "--seed", str(seed), program=program)
        traces.append(raw(s, "trace"))
    s.same(traces[0], traces[1], "trace of the same seed")
    s.check(len(set(traces)) > 2, "all seeds gave the same")


def test_missing_memory(s):
    """A value that is gone when it would be read does no harm; a write that fails has none."""
    text = r"""
    #include <pthread.h>
    #include <stdlib.h>
    #include <sys/mman.h>
    static int *p;
    static void *f(void *a) { *p = 7; return a; }
    int main(int argc, char **argv) {
      pthread_t t;
      p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      pthread_create(&t, 0, f, 0);
      pthread_join(t, 0);
      *p = 8;
      munmap(p, 4096);
      if (argc > 1) *(volatile int *)16 = 1;
      return 0;
    }
    """
    program = s.build_text(text)
    record(s, "--plain", program=program)
    values = [e.get("value") for e in events(show(s)) if e["op"] == "write" and e["object"].startswith("@")]
    s.check("7" in values and "8" in values, "values: %s" % values)
    p = s.run([s.heddle, "record", "--plain", "-o", "trace", "--", program, "x"], want=1)
    s.check("in this execution: crash" in p.stderr, "does not tell: " + p.stderr)
    last = events(show(s))[-1]
    s.same((last["op"], last["object"], last.get("value")), ("volatile-write", "@10", None), "the write that failed")


@each("assertion", "deadlock", "cut", "exit")
def test_end(s, how):
    """Executions that end badly are recorded up to there."""
    body = {"assertion": "assert(0);", "exit": "_exit(3);", "cut": "for (;;) sched_yield();",
            "deadlock": "pthread_mutex_lock(&m); pthread_mutex_lock(&m);"}[how]
    program = s.build_text("#include <assert.h>\n#include <pthread.h>\n#include <sched.h>\n#include <unistd.h>\n"
                           "static pthread_mutex_t m;\nint main(void) { %s }\n" % body)
    options = ("--max-length", "50") if how == "cut" else ()
    p = record(s, *options, program=program, want=5 if how == "cut" else 1)
    s.check(len(events(show(s))) == (50 if how == "cut" else len(events(show(s)))), "wrong number of events")
    if how == "cut":
        s.check("--max-length" in p.stderr, "does not say how to get more: " + p.stderr)
    else:
        s.check("in this execution: " in p.stderr, "does not tell: " + p.stderr)


# ---- formats ----


def test_round_trip(s):
    """Binary to text and back gives the same bytes."""
    record(s, "--plain", "--seed", "7")
    convert(s, "text", "trace", "text")
    convert(s, "binary", "text", "again")
    s.same(raw(s, "again"), raw(s, "trace"), "bytes")
    s.same(show(s, "text"), s.read("text"), "text shown from text")
    p = s.run([s.heddle, "trace", "convert", "--to", "text", "-", "-o", "-"], stdin=s.read("text"))
    s.same(p.stdout, s.read("text"), "through pipes")


def test_stat(s):
    record(s)
    n = len(events(show(s)))
    out = show(s, "trace", "--stat")
    s.check(out.startswith("%d events, " % n), "wrong number: " + out)
    s.check("%d bytes, %.2f per event\n" % (len(raw(s, "trace")), len(raw(s, "trace")) / n) in out, "wrong size: " + out)
    s.check(re.search(r"^ +2  start$", out, re.M) and " of T1 the worker (worker)\n" in out, "wrong lines: " + out)


def test_std(s):
    """To STD and back: what it can say stays."""
    record(s, "--seed", "3")
    convert(s, "std", "trace", "std")
    lines = s.read("std").splitlines()
    s.check(all(re.fullmatch(r"T[\d.]+\|((r|w|acq|rel|fork|join)\([^|()]+\)|begin|end)\|\d+", l) for l in lines),
            "not STD: %s" % lines[:5])
    held = {}
    for line in lines:  # a lock is held by one thread at a time
        thread, op = line.split("|")[:2]
        lock = op[4:-1]
        if op.startswith("acq("):
            s.check(lock not in held, "%s is taken twice" % lock)
            held[lock] = thread
        if op.startswith("rel("):
            s.same(held.pop(lock, None), thread, "holder of " + lock)
    convert(s, "binary", "std", "trace2")
    convert(s, "std", "trace2", "std2")
    s.same(s.read("std2"), s.read("std"), "STD read and written again")


STD = "T0|w(V1)|5\nT0|fork(T1)|6\nT1|r(V1)|7\r\n\nT1|acq(L1)|8\nT1|rel(L1)|9\nT2|acq(L1)|8\nT0|join(T1)|12\n"


def test_std_in(s):
    """Which write a read saw is found out."""
    s.write("std", STD)
    got = [(e["thread"], e["op"], e["object"], e["place"], e.get("from")) for e in events(show(s, "std"))]
    s.same(got, [("T0", "write", "V1", ":5", None), ("T0", "create", "T1", ":6", None), ("T1", "read", "V1", ":7", "1"),
                 ("T1", "lock", "L1", ":8", None), ("T1", "unlock", "L1", ":9", None), ("T2", "lock", "L1", ":8", "5"),
                 ("T0", "join", "T1", ":12", "2")], "events")


def test_perfetto(s):
    """The structure that the viewers want: slices on tracks, arrows in pairs that begin and end on slices."""
    record(s, "--seed", "3")
    convert(s, "perfetto", "trace", "json")
    with open(s.path("json")) as f:
        entries = json.load(f)["traceEvents"]
    slices = [e for e in entries if e["ph"] == "X"]
    s.same(len(slices), len(events(show(s))), "slices")
    names = {e["tid"]: e["args"]["name"] for e in entries if e["ph"] == "M" and e["name"] == "thread_name"}
    s.same(names, {0: "T0", 1: "T1 the worker (worker)"}, "names of threads")
    spans = {(e["tid"], e["ts"]) for e in slices}
    starts = {e["id"]: e for e in entries if e["ph"] == "s"}
    ends = {e["id"]: e for e in entries if e["ph"] == "f"}
    s.check(starts and starts.keys() == ends.keys(), "arrows without a partner")
    for i, start in starts.items():
        end = ends[i]
        s.check(start["ts"] < end["ts"] and start["tid"] != end["tid"] and end["bp"] == "e", "arrow %s" % i)
        s.check((start["tid"], int(start["ts"])) in spans and (end["tid"], int(end["ts"])) in spans, "arrow to nowhere")


def test_small(s):
    """A trace with a few hundred thousand events: at most 4 bytes for each."""
    program = s.build_text("""
    #include <pthread.h>
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    static int a[256]; static long sum;
    static void *f(void *arg) {
      unsigned x = (unsigned)(long)arg;
      for (int i = 0; i < 20000; i++) {
        x = x * 1103515245 + 12345;
        pthread_mutex_lock(&m); a[x >> 24] += i; sum += a[x >> 16 & 255]; pthread_mutex_unlock(&m);
      }
      return 0;
    }
    int main(void) {
      pthread_t t[2];
      for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, f, (void *)(i + 1));
      for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
      return 0;
    }
    """)
    record(s, "--plain", "--seed", "1", program=program)
    out = show(s, "trace", "--stat")
    n = int(out.split()[0])
    s.check(n > 200000, "only %d events" % n)
    s.check(len(raw(s, "trace")) <= 4 * n, "%d bytes for %d events" % (len(raw(s, "trace")), n))


# ---- what is refused ----


@each(("no file", ["show"], 2, "name a trace"), ("what", ["sing", "x"], 2, "show or heddle trace convert"),
      ("nothing", [], 2, "show or heddle trace convert"), ("option", ["show", "--fast", "x"], 2, "--fast"),
      ("two", ["show", "x", "y"], 2, "'y'"), ("format", ["convert", "--to", "xml", "x", "-o", "y"], 2, "xml"),
      ("where", ["convert", "x"], 2, "-o FILE"), ("value", ["convert", "x", "-o"], 2, "-o needs a value"),
      ("missing", ["show", "gone"], 2, "gone"), ("folder", ["show", "."], 2, "no trace"),
      ("denied", ["convert", "--to", "text", "std", "-o", "gone/x"], 3, "gone/x"))
def test_usage(s, case):
    _, words, status, text = case
    s.write("std", STD)
    common.refused(s, [s.heddle, "trace", *words], status, text)
    s.same(common.snapshot(s), ["std"], "files")


@each(("empty", b""), ("words", b"hello\n"), ("zeros", bytes(1000)), ("elf", b"\x7fELF\x02\x01\x01" + bytes(100)),
      ("json", b'{"traceEvents": []}\n'), ("std", b"T0|w(V1)|5\nT0|dance(V1)|6\n"), ("schedule", b"heddle-schedule 2\n"),
      ("text", b"heddle-trace 3\n"), ("version", b"heddle-trace 9\n"), ("binary", b"\x89HdTr\r\n\x03"),
      ("newer", b"\x89HdTr\r\n\x07"))
def test_foreign(s, case):
    """What is no trace is refused in one line, and nothing is written."""
    s.write("x", case[1])
    common.refused(s, [s.heddle, "trace", "show", "x"], 2, "x", stdout=None)
    common.refused(s, [s.heddle, "trace", "convert", "x", "-o", "y"], 2, "x")
    s.same(common.snapshot(s), ["x"], "files")


@each("text", "binary")
def test_truncated(s, form):
    """Every beginning of a trace is refused."""
    record(s)
    convert(s, form, "trace", "whole")
    whole = raw(s, "whole")
    for n in sorted({*range(0, len(whole), max(1, len(whole) // 40)), len(whole) - 1}):
        s.write("cut", whole[:n])
        common.refused(s, [s.heddle, "trace", "show", "--stat", "cut"], 2, "cut", stdout=None)
    s.write("cut", whole + b"x")
    common.refused(s, [s.heddle, "trace", "show", "--stat", "cut"], 2, "cut", stdout=None)


@each(("no program", ["record"], "name a program"), ("option", ["record", "--all", "--", "./x"], "--all"),
      ("missing", ["record", "--", "./x"], "./x"))
def test_record_usage(s, case):
    common.refused(s, [s.heddle, *case[1]], 2, case[2])


def test_record_where(s):
    program = common.build(s, "clean")
    common.refused(s, [s.heddle, "record", "-o", "gone/trace", "--", program], 3, "gone/trace", stdout=None)
    s.check(not os.path.exists(s.path("gone")), "something was left")

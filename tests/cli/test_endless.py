"""A thread that computes without end is no hang as long as something else can happen, and end it."""
import os
import subprocess
import sys

from scratch import each

SOURCE = """
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void cleaned(void *flag) { *(volatile int *)flag = 1; }
static void leave(int sig) { (void)sig; pthread_exit(0); }
static void quit(int sig) { (void)sig; _exit(0); }
static void spin(void) { for (;;) __asm__ volatile(""); }
static void *compute(void *flag) {
  pthread_cleanup_push(cleaned, flag);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
  spin();
  pthread_cleanup_pop(0);
  return 0;
}
static void *quits(void *arg) { (void)arg; exit(0); }
int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  pthread_t t;
  int done = 0;
  signal(SIGUSR1, leave);
  signal(SIGUSR2, quit);
  signal(SIGALRM, quit);
  if (!strcmp(how, "main")) {
    pthread_create(&t, 0, quits, 0);
    spin();
  }
  pthread_create(&t, 0, compute, &done);
  if (!strcmp(how, "exit")) exit(0);
  if (!strcmp(how, "_exit")) _exit(0);
  if (!strcmp(how, "return")) return 0;
  if (!strcmp(how, "sleep")) { sleep(1); return 0; }
  if (!strcmp(how, "alarm")) alarm(1);
  if (!strcmp(how, "cancel")) pthread_cancel(t);
  if (!strcmp(how, "leave")) pthread_kill(t, SIGUSR1);
  if (!strcmp(how, "kill")) pthread_kill(t, SIGUSR2);
  pthread_join(t, 0);
  return !strcmp(how, "cancel") && !done;
}
"""


@each("exit", "cancel", "leave", "main")
def test_ends(s, how):
    program = s.build_text(SOURCE, compiler="clang" if how == "exit" else "gcc")
    r = s.search("check", program, "--strategy", "optimal", args=[how])
    s.is_clean(r)
    s.check(r["complete"], "not complete: %s" % r["inexact"])


@each("sleep", "alarm")
def test_time_passes(s, how):
    r = s.search("check", s.build_text(SOURCE), "--strategy", "optimal", args=[how])
    s.is_clean(r)
    s.check(r["executions"] >= 1, "no execution ended")


def test_hang(s):
    r = s.search("check", s.build_text(SOURCE), "--hang-timeout", "2s", args=["join"])
    f = s.is_bug(r, ["hang"])
    s.check(any(w["function"] in ("spin", "compute") for w in f["where"]), "the loop is not shown")


SLOW = """
#include <pthread.h>
static volatile unsigned n;
static void *compute(void *p) {
  unsigned x = 1;
  for (long i = 0; i < 300000000; i++) x = x * 3 + 1;
  n = x;
  return p;
}
int main(void) { pthread_t t; pthread_create(&t, 0, compute, 0); pthread_join(t, 0); }
"""


def test_load_is_no_hang(s):
    """A fraction of a second of processor time, which takes longer than the hang timeout while seven processes share the processor."""
    program, before = s.build_text(SLOW), os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(6)]
    try:
        r = s.search("check", program, "--strategy", "optimal", "--hang-timeout", "1s")
    finally:
        for p in load:
            p.kill()
            p.wait()
        os.sched_setaffinity(0, before)
    s.is_clean(r)


# Rounds that change nothing are proved to have no end: no test below waits for the watchdog.
PATIENT = ["--hang-timeout", "1000s"]

LIBRARY = """
#include <stdint.h>
struct node { struct node *next; };
void walk(struct node *n) { while (n) n = n->next; }
void refill(uint64_t *a, unsigned n) {
  for (unsigned i = 0;; i = (i + 1) % n) *(volatile uint64_t *)&a[i] = i;
}
void count(volatile uint64_t *a) {
  for (unsigned i = 0; i < 300000000; i++) a[0]++;
}
"""

LIST = """
#include <pthread.h>
struct node { struct node *next; };
void walk(struct node *n);
static struct node shared, *head;
static void *push(void *arg) {
  shared.next = head; /* pushed twice, it comes after itself */
  head = &shared;
  return arg;
}
int main(int argc, char **argv) {
  pthread_t t, u;
  pthread_create(&t, 0, push, 0);
  pthread_create(&u, 0, push, 0);
  if (argc > 1) walk(head);
  pthread_join(t, 0);
  pthread_join(u, 0);
  walk(head);
}
"""


def build_with_library(s, text, compiler="gcc"):
    """The loops are in a library without hooks."""
    s.write("loops.c", LIBRARY)
    s.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "loops.c", "-o", "libloops.so"])
    return s.build_text(text, "-O1", "-g", "-L.", "-lloops", "-Wl,-rpath," + s.path(), compiler=compiler)


@each("gcc", "clang")
def test_cyclic_list(s, compiler):
    program = build_with_library(s, LIST, compiler)
    r = s.search("check", program, "--all", "--ignore", "data-race", "--strategy", "optimal", *PATIENT)
    f = s.is_bug(r, ["hang"])
    s.check("walk" in [w["function"] for w in f["where"][0]["stack"]], f["where"])


def test_cyclic_list_beside_threads(s):
    """The loop may end when the others go on; the thread is put aside in a state that does not depend on time."""
    r = s.search("check", build_with_library(s, LIST), "--all", "--ignore", "data-race", "--strategy", "optimal", *PATIENT, args=["x"])
    s.check({f["kind"] for f in r["findings"]} == {"hang"}, r["findings"])
    s.check(all(f["replays"] for f in r["findings"]), r["findings"])


STORES = """
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
void refill(uint64_t *a, unsigned n);
void count(volatile uint64_t *a);
int main(int argc, char **argv) {
  uint64_t a[100] = {0}, *b = calloc(100, sizeof *b);
  if (!strcmp(argv[1], "stack")) refill(a, 100);
  if (!strcmp(argv[1], "heap")) refill(b, 100);
  if (!strcmp(argv[1], "ends")) count(b);
  free(b);
}
"""


@each("stack", "heap")
def test_stores_the_same(s, where):
    r = s.search("check", build_with_library(s, STORES), "--strategy", "optimal", *PATIENT, args=[where])
    s.is_bug(r, ["hang"])


def test_counts_in_memory(s):
    """The registers come again, and the memory does not."""
    r = s.search("check", build_with_library(s, STORES), "--strategy", "optimal", *PATIENT, args=["ends"])
    s.check(not r["findings"] and r["executions"] == 1, r)


MAP = """
#include <map>
#include <thread>
std::map<int, int> m;
int main() {
  std::thread a([] { for (int i = 0; i < 4; i++) m[i] = i; for (int i = 0; i < 4; i++) m.erase(i); });
  std::thread b([] { for (int i = 3; i >= 0; i--) m[i * 2 + 1] = i; });
  a.join();
  b.join();
  for (auto i = m.begin(); i != m.end();) ++i;
}
"""


def test_cyclic_tree(s):
    """A race of two threads that change a std::map may make a cycle of it. The search moves on."""
    program = s.build_text(MAP, "-O1", suffix=".cc")
    r = s.search("check", program, "--all", "--ignore", "data-race", "--strategy", "pos", "--seed", "1",
                 "--max-executions", "150", "--explain", "1s", *PATIENT)
    kinds = {f["kind"] for f in r["findings"]}
    s.check("livelock" in kinds or "hang" in kinds, "no cycle was found: %s" % kinds)
    s.check(r["executions"] >= 150, "%s executions" % r["executions"])
    s.check(all(f["replays"] for f in r["findings"]), r["findings"])

"""heddle run: one run, to the program's own end, with its effects once."""
import json
import os
import signal
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LONG = """
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long n;
static void *count(void *p) {
  for (int i = 0; i < 60000; i++) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); }
  return p;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, count, 0); pthread_create(&b, 0, count, 0);
  pthread_join(a, 0); pthread_join(b, 0);
  printf("%ld\\n", n);
  return 0;
}
"""
# More threads than there are identities at first, of two stack sizes, with effects outside.
MANY = """
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static __thread int mine;
static void *work(void *p) { mine++; errno = 0; return (void *)(long)mine; }
int main(void) {
  pthread_t t[80];
  pthread_attr_t a;
  void *r;
  int sum = 0, fd = open("effects", O_CREAT | O_WRONLY | O_APPEND, 0600);
  pthread_attr_init(&a);
  pthread_attr_setstacksize(&a, 1 << 20);
  if (write(fd, "x", 1) != 1 || write(1, "begin\\n", 6) != 6) return 1;
  for (int i = 0; i < 80; i++) pthread_create(&t[i], i % 2 ? &a : 0, work, 0);
  for (int i = 0; i < 80; i++) { pthread_join(t[i], &r); sum += (int)(long)r; }
  printf("%d\\n", sum);
  return 0;
}
"""
# Effects that cannot be undone, a race, a line of output, and one of several ends.
ENDS = r"""
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static int n;
static void *count(void *p) { n++; return p; }
int main(int argc, char **argv) {
  pthread_t a, b;
  if (mkdir("made", 0700) || system("echo x >> effects")) return 9;
  write(1, "begin\n", 6);
  pthread_create(&a, 0, count, 0); pthread_create(&b, 0, count, 0);
  pthread_join(a, 0); pthread_join(b, 0);
  switch (argv[1][0]) {
    case 'a': abort();
    case 'c': *(volatile int *)0 = 1;
    case 'f': assert(n == 7);
    case 'x': _exit(3);
    case 'w': for (;;) sleep(1);
  }
  puts("end");
  return argv[1][0] == 'e';
}
"""


def test_own_end(s):
    program = s.build_text(LONG)
    done = s.run([s.heddle, "run", "--", program])
    s.check(done.stdout == "120000\n" and not done.stderr, "printed %r, %r" % (done.stdout, done.stderr))
    cut = s.run([s.heddle, "run", "--max-length", "1000", "--", program], want=5)
    s.check("longer than --max-length 1000 steps" in cut.stderr, cut.stderr)


def test_effects_once(s):
    done = s.run([s.heddle, "run", "--", s.build_text(MANY)])
    s.check(done.stdout == "begin\n80\n", "printed %r, %r" % (done.stdout, done.stderr))
    s.check(os.path.getsize(s.path("effects")) == 1, "the program began more than once")


def test_cut_is_not_clean(s):
    """A search in which every execution was cut has found nothing out."""
    s.search("check", s.build_text(LONG), "--strategy", "random", "--max-length", "100", "--max-executions", "3", want=5)


def once(s, undone=False):
    """The effects of one run, which are removed. A replay undoes those that are its own, and not its children's."""
    with open(s.path("effects")) as f:
        s.same(f.read(), "x\n", "effects")
    os.remove(s.path("effects"))
    if not undone:
        os.rmdir(s.path("made"))


def test_long_queue(s):
    """Threads that take a lock many thousand times are no loops that wait: the program runs to its end, however long."""
    with open(os.path.join(ROOT, "bench", "programs", "queue.c")) as f:
        program = s.build_text(f.read())
    for jobs, total, options in (("40000", "495d4616dae615cb", ()), ("20000", "cc186877db866d4d", ("--max-length", "1000000"))):
        done = s.run([s.heddle, "run", *options, "--", program, jobs])
        s.same((done.stdout, done.stderr), ("queue %s\n" % total, ""), "what it prints with %s jobs" % jobs)


def test_a_finding_once(s):
    """What a run finds is reported as it was seen: the program is not run again to confirm it."""
    program = s.build_text(ENDS)
    for how, kind in (("abort", "abort"), ("crash", "crash"), ("fail", "assertion"), ("x", "exit"), ("exit", "exit")):
        for strategy in ("random", "optimal"):
            r = s.search("run", program, "--strategy", strategy, "--ignore", "data-race", args=[how], want=1)
            s.same([(f["kind"], f["replays"]) for f in r["findings"]], [(kind, None)], how)
            s.check(r["out"] == ("begin\nend\n" if how == "exit" else "begin\n"), "printed " + r["out"])
            once(s)


def test_beyond_a_race(s):
    """A race does not end the run. The first replay confirms it, and stores its events."""
    program = s.build_text(ENDS)
    r = s.search("run", program, args=["on"], want=1)
    s.same((r["out"], [f["kind"] for f in r["findings"]]), ("begin\nend\n", ["data-race"]), "the run")
    p = s.run([s.heddle, "replay", ".heddle/1"], want=3)
    s.check("not reproduced" in p.stderr and "left something behind" in p.stderr, p.stderr)
    once(s)
    p = s.run([s.heddle, "replay", ".heddle/1"], want=1)
    s.check("its events are stored now" in p.stderr, p.stderr)
    once(s, undone=True)
    with open(s.path(".heddle/1/finding.json")) as f:
        s.check(json.load(f)["replays"] is True, "the folder does not say that it replays")
    p = s.run([s.heddle, "replay", ".heddle/1"], want=1)
    s.check("events identical" in p.stderr, p.stderr)
    once(s, undone=True)
    # Another run does not replace what has been confirmed.
    s.search("run", program, args=["on"], want=1)
    with open(s.path(".heddle/1/finding.json")) as f:
        s.check(json.load(f)["replays"] is True, "the folder was replaced")


def test_killed_from_outside(s):
    """A run that somebody kills is over, and no finding."""
    run = subprocess.Popen([s.heddle, "run", "--ignore", "data-race", "--", s.build_text(ENDS), "wait"], cwd=s.dir,
                           env=s.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "begin" not in run.stdout.readline():
        time.sleep(0.01)
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(run.pid)], capture_output=True, text=True, check=True)
    os.kill(int(children.stdout.split()[0]), signal.SIGKILL)
    err = run.communicate(timeout=60)[1]
    s.check(run.returncode == 3 and "killed by SIGKILL from outside" in err, "%d: %s" % (run.returncode, err))
    once(s)

"""Every reason of src/model/inexact.def is provoked by a small program or an option, and the result names exactly it."""
import json
import os
import re
import shutil
import threading
import signal
import subprocess
import time

from scratch import each
from test_aim import no_facts

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEF = os.path.join(ROOT, "src", "model", "inexact.def")

HEAD = """#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static atomic_int flag, other;
static int plain;
static inline void both(void *(*f)(void *), void *(*g)(void *)) {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0);
  pthread_join(a, 0); pthread_join(b, 0);
}
"""
ADDERS = """static void *add(void *p) { for (int i = 0; i < %d; i++) flag++; return p; }
int main(void) { both(add, add); }
"""
SLOW = "static void *add(void *p) { for (int i = 0; i < 40; i++) flag++; return p; }\nint main(void) { both(add, add); }\n"
FUTEX = """static uint32_t word, second;
static long futex(uint32_t *at, int op, uint32_t v, void *time, uint32_t *at2, uint32_t v3) {
  return syscall(SYS_futex, at, op, v, time, at2, v3); /* @here */
}
"""

# Writes over the runtime's data, which ends the process without a word.
SMASH = """#include <link.h>
static int find(struct dl_phdr_info *info, size_t size, void *arg) {
  for (int i = 0; strstr(info->dlpi_name, "libheddle_rt") && i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || !(p->p_flags & PF_W)) continue;
    uintptr_t from = (info->dlpi_addr + p->p_vaddr + 4095) & ~4095ul, to = info->dlpi_addr + p->p_vaddr + p->p_memsz;
    mprotect((void *)from, to - from, PROT_READ | PROT_WRITE); // read-only after relocation
    for (; from + 8 <= to; from += 8) __asm__ volatile("movq %0, (%1)" :: "r"(0x4141414141414141), "r"(from));
  }
  return 0;
}
static void smash(void) { dl_iterate_phdr(find, 0); }
"""

# Text of the program, and options. `@here` marks the line that the reason names; `also` are further reasons, of how the
# search was run.
CASES = {
    "sampling": {"text": ADDERS % 1, "options": ("--strategy", "random", "--max-executions", "5"),
                 "says": "5 executions of the random strategy"},
    "bound": {"text": ADDERS % 2, "options": ("--strategy", "optimal", "--preemptions", "1"),
              "says": "complete for all schedules with at most 1 preemption"},
    "property": {"text": ADDERS % 2, "options": ("--property", "races"), "facts": True,
                 "says": "complete for data races: no schedule has one"},
    "time": {"text": SLOW, "options": ("--strategy", "dfs", "--time", "0.5"), "says": "stopped by --time"},
    "executions": {"text": ADDERS % 2, "options": ("--strategy", "optimal", "--max-executions", "1"),
                   "says": "stopped by --max-executions after 1"},
    "first-finding": {"text": "static void *add(void *p) { plain++; flag++; return p; }\nint main(void) { both(add, add); }\n",
                      "says": "stopped at the first"},
    "crash-loop": {"text": SMASH + """static void *many(void *p) { for (int i = 0; i < 4; i++) flag++; return p; }
int main(void) { both(many, many); smash(); }
""", "options": ("--all", "--ignore", "crash", "--strategy", "dfs"),
                   "also": ["process-died"],
                   "says": "its process"},
    "error": {"text": "static int run(void *p) { return 0; }\nstatic char stack[65536];\n"
                      "int main(void) { clone(run, stack + sizeof stack, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, 0); }\n",
              "says": "stopped by an error"},
    "values": {"text": "int __VERIFIER_nondet_int(void);\nint main(void) {\n  return __VERIFIER_nondet_int() * 0; /* @here */\n}\n"},
    "assembly": {"text": """static int x;
static void *one(void *p) { return p; }
int main(void) {
  __asm__ volatile("incl (%0)" : : "r"(&x) : "memory"); // alone
  pthread_t t;
  pthread_create(&t, 0, one, 0);
  __asm__ volatile("incl (%0)" : : "r"(&x) : "memory"); /* @here */
  pthread_join(t, 0);
}
"""},
    "sleeps": {"text": """static void *set(void *p) { flag = 1; return p; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, set, 0);
  sleep(1);
  int seen = flag; /* @here */
  pthread_join(t, 0);
  assert(seen == 1);
}
""", "options": ("--strategy", "optimal")},
    "timeouts": {"text": """static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *hold(void *p) {
  pthread_mutex_lock(&m);
  sched_yield();
  pthread_mutex_unlock(&m);
  return p;
}
int main(void) {
  struct timespec at = {1ll << 40, 0};
  pthread_t t;
  pthread_create(&t, 0, hold, 0);
  assert(!pthread_mutex_timedlock(&m, &at)); /* @here */
  pthread_mutex_unlock(&m);
  pthread_join(t, 0);
}
""", "options": ("--strategy", "optimal")},
    "findings": {"text": "static volatile int v[300];\nstatic void *w(void *p) {\n"
                         + "".join("  v[%d] = 1;\n" % i for i in range(300))
                         + "  return p;\n}\nint main(void) { both(w, w); }\n",
                 "options": ("--all", "--strategy", "optimal", "--max-executions", "1"), "also": ["executions"]},
    "length": {"text": "int main(void) {\n  for (int i = 0; i < 30; i++) sched_yield(); /* @here */\n}\n",
               "options": ("--max-length", "20")},
    "segments": {"text": "static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;\nint main(void) {\n"
                         "  for (long i = 0; i < 1l << 27; i++) atomic_store_explicit(&flag, 1, memory_order_release);\n}\n",
                 "options": ("--restart=memory", "--max-length", "1000000000", "--hang-timeout", "60s")},
    "process-died": {"text": SMASH + """static void *set(void *p) { flag = 1; return p; }
static void *die(void *p) { if (flag) smash(); return p; }
int main(void) { both(set, die); }
""", "options": ("--all", "--strategy", "optimal"), "also": ["protection"]},
    "diverged": {"text": """static int x, n;
static unsigned long noise(void) { unsigned long v; __asm__ volatile("rdrand %0" : "=r"(v)); return v; }
static void *w(void *arg) {
  if (__atomic_fetch_add(&n, 1, 5) == 0 && arg && noise() % 2) return arg;
  for (int i = 0; i < 4; i++) __atomic_fetch_add(&x, 1, 5);
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, w, 0); pthread_create(&b, 0, w, &x); pthread_join(a, 0); pthread_join(b, 0);
}
""", "options": ("--strategy", "dfs")},
    "overwritten": {"text": """static void smash(void) {
  for (unsigned long p = 0x390000000000; p < 0x390000001000; p += 8) __asm__ volatile("movq %0, (%1)" :: "r"(0x4242424242424242), "r"(p));
  abort();
}
static void *set(void *p) { flag = 1; return p; }
static void *die(void *p) { if (flag) smash(); return p; }
int main(void) { both(set, die); }
""", "options": ("--all", "--max-executions", "8", "--strategy", "optimal"), "also": ["executions"]},
    "not-owner": {"text": """static void *take(void *p) { pthread_mutex_lock(&lock); return p; }
static void *give(void *p) {
  pthread_mutex_unlock(&lock); /* @here */
  return p;
}
int main(void) { both(take, give); }
""", "options": ("--ignore", "unlock-not-owner", "--strategy", "optimal")},
    "spurious": {"text": """static int ready;
static void *w(void *p) {
  pthread_mutex_lock(&lock);
  while (!ready) pthread_cond_wait(&cond, &lock);
  pthread_mutex_unlock(&lock);
  return p;
}
static void *set(void *p) {
  pthread_mutex_lock(&lock);
  ready = 1;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&lock);
  return p;
}
int main(void) { both(w, set); }
""", "options": ("--no-spurious", "--strategy", "optimal")},
    "early-timeouts": {"text": """static void *w(void *p) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_sec++;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < 4; i++)
    pthread_cond_timedwait(&cond, &lock, &at); /* @here */
  pthread_mutex_unlock(&lock);
  return p;
}
int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_join(t, 0); }
""", "options": ("--timeouts=any", "--strategy", "optimal")},
    "timeout-locked": {"text": """static void *w(void *p) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_sec++;
  pthread_mutex_lock(&lock);
  pthread_cond_timedwait(&cond, &lock, &at); /* @here */
  pthread_mutex_unlock(&lock);
  return p;
}
static void *hold(void *p) { pthread_mutex_lock(&lock); sleep(2); pthread_mutex_unlock(&lock); return p; }
int main(void) { both(w, hold); }
""", "options": ("--strategy", "optimal"), "also": ["sleeps"]},
    "timer-signal": {"text": """static void rang(int sig) { flag = sig; }
int main(void) {
  signal(SIGALRM, rang);
  alarm(5);
  pause(); /* @here */
}
"""},
    "processor-timer": {"text": """#include <sys/time.h>
int main(void) {
  struct itimerval t = {{0, 0}, {1, 0}}, old;
  setitimer(ITIMER_PROF, &t, 0); /* @here */
  getitimer(ITIMER_PROF, &old);
  assert(old.it_value.tv_sec == 1);
}
"""},
    "futex-bits": {"text": FUTEX + """static void *w(void *p) { futex(&word, FUTEX_WAIT, 0, 0, 0, 0); return p; }
int main(void) {
  pthread_t t[14];
  for (int i = 0; i < 14; i++) pthread_create(&t[i], 0, w, 0);
  usleep(1000);
  futex(&word, FUTEX_WAKE, 7, 0, 0, 0);
  __atomic_store_n(&word, 1, 5);
  futex(&word, FUTEX_WAKE, INT_MAX, 0, 0, 0);
  for (int i = 0; i < 14; i++) pthread_join(t[i], 0);
}
""", "options": ("--strategy", "optimal", "--max-executions", "3"), "also": ["executions", "sleeps"]},
    "futex-requeue": {"text": FUTEX + """static void *w(void *p) {
  while (!__atomic_load_n(&word, 5)) futex(&word, FUTEX_WAIT, 0, 0, 0, 0);
  return p;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, w, 0);
  futex(&word, FUTEX_REQUEUE, 0, (void *)(long)INT_MAX, &second, 0);
  __atomic_store_n(&word, 1, 5);
  futex(&word, FUTEX_WAKE, INT_MAX, 0, 0, 0);
  futex(&second, FUTEX_WAKE, INT_MAX, 0, 0, 0);
  pthread_join(a, 0);
}
""", "options": ("--strategy", "optimal")},
    "futex-unseen": {"text": """static uint32_t word;
static long futex(long op, long v) {
  long r;
  register long none __asm__("r10") = 0;
  __asm__ volatile("syscall" : "=a"(r) : "a"(SYS_futex), "D"(&word), "S"(op), "d"(v), "r"(none) : "rcx", "r11", "memory");
  return r;
}
static void *w(void *p) { while (!__atomic_load_n(&word, 5)) futex(FUTEX_WAIT, 0); return p; }
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, w, 0);
  __atomic_store_n(&word, 1, 5);
  futex(FUTEX_WAKE, 1);
  pthread_join(a, 0);
}
""", "options": ("--strategy", "optimal"), "also": ["assembly"]},
    "openmp": {"text": """int main(void) {
  #pragma omp parallel num_threads(2)
  __atomic_fetch_add(&plain, 1, 5);
}
""", "flags": ("-fopenmp",), "options": ("--strategy", "optimal", "--max-executions", "3"), "also": ["executions", "futex-unseen"]},
    "openmp-races": {"text": """int main(void) {
  int s = 0;
  #pragma omp parallel reduction(task, + : s) num_threads(2)
  {
    #pragma omp task in_reduction(+ : s)
    s += 1;
  }
  return s != 2;
}
""", "flags": ("-fopenmp",), "options": ("--strategy", "optimal", "--max-executions", "3"), "also": ["executions", "openmp", "futex-unseen"]},
    "outside": {"text": """int main(void) {
  if (!fork()) _exit(0);
  wait(0);
}
"""},
    "io-retried": {"text": """#include <sys/eventfd.h>
static int e;
static void *w(void *p) { uint64_t v = 5; write(e, &v, 8); return p; } /* writable, but not for that much */
static void *r(void *p) { uint64_t v; read(e, &v, 8); return p; }
int main(void) {
  uint64_t v = UINT64_MAX - 3;
  e = eventfd(0, 0);
  write(e, &v, 8);
  both(w, r);
}
""", "options": ("--strategy", "optimal"), "also": ["diverged"]},
    "fd-numbers": {"text": """static void *w(void *p) {
  for (int i = 0; i < 3; i++) close(dup(0));
  return p;
}
int main(void) { both(w, w); }
""", "options": ("--strategy", "optimal")},
    "closed-wait": {"text": """#include <poll.h>
static int fd[2];
static void *w(void *p) { struct pollfd q = {fd[0], POLLIN, 0}; poll(&q, 1, -1); return p; }
static void *c(void *p) { write(fd[1], "x", 1); close(fd[0]); return p; }
int main(void) { pipe(fd); both(w, c); }
"""},
    "syscall": {"text": """#include <sys/klog.h>
static void *w(void *p) { klogctl(10, 0, 0); return p; }
static void *r(void *p) { return p; }
int main(void) { both(w, r); }
"""},
    "alias": {"text": """static void *one(void *p) { __atomic_store_n((int *)p, 1, 5); return p; }
int main(void) {
  int fd = memfd_create("x", 0);
  if (ftruncate(fd, 4096)) abort();
  int *a = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  int *b = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  pthread_t t;
  pthread_create(&t, 0, one, a);
  b[1] = 2;
  munmap(b, 4096); /* @here */
  pthread_join(t, 0);
}
"""},
    "protection": {"text": """static void *one(void *p) { return p; }
int main(void) {
  char *a = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t t;
  pthread_create(&t, 0, one, a);
  mprotect(a, 1 << 20, PROT_READ); /* @here */
  pthread_join(t, 0);
}
"""},
    "heap-reuse": {"text": """static _Atomic(void *) top;
static void *one(void *p) {
  void *old = atomic_exchange(&top, 0);
  free(old);
  return p;
}
static void *two(void *p) {
  top = malloc(32);
  void *seen = top; /* @here */
  return seen ? p : 0;
}
int main(void) {
  top = malloc(32);
  both(one, two);
}
"""},
    "shared-memory": {"text": """int main(void) {
  int *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!fork()) { /* @here */
    usleep(20000);
    __atomic_store_n(shared, 1, 5);
    _exit(0);
  }
  while (!__atomic_load_n(shared, 5)) {}
}
""", "options": ("--strategy", "optimal")},
    "loop-bound": {"text": """static atomic_int stop;
static void *set(void *p) { stop = 1; return p; }
static void *count(void *p) {
  long n = 0;
  while (!stop) n++; /* @here */
  return (void *)n;
}
int main(void) { both(set, count); }
""", "options": ("--strategy", "optimal")},
    "spin-places": {"text": """static atomic_int part[5];
static void *set(void *p) { for (int i = 0; i < 5; i++) part[i] = 1; return p; }
static void *spin(void *p) {
  while (!part[0] && !part[1] && !part[2] && !part[3] && !part[4]) {} /* @here */
  return p;
}
int main(void) { both(set, spin); }
""", "options": ("--strategy", "optimal")},
    "held-init": {"text": """static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static void *w(void *p) { pthread_rwlock_wrlock(&l); pthread_rwlock_unlock(&l); return p; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, w, 0);
  pthread_rwlock_init(&l, 0); /* @here */
  pthread_join(t, 0);
}
""", "options": ("--strategy", "optimal", "--ignore", "data-race")},
    "dead-frame": {"text": """static void *set(void *p) { *(int *)p = 1; return p; } /* @here */
__attribute__((noinline)) static void start(void) {
  int v = 0;
  pthread_t t;
  pthread_create(&t, 0, set, &v);
  pthread_detach(t);
}
int main(void) { start(); }
""", "options": ("--strategy", "optimal")},
    "thread-numbers": {"text": """static sem_t done;
static void *w(void *p) { sem_post(&done); return p; }
int main(void) {
  sem_init(&done, 0, 0);
  for (int i = 0; i < 600; i++) {
    pthread_t t;
    pthread_create(&t, 0, w, 0); /* @here */
    pthread_detach(t);
    sem_wait(&done);
  }
}
""", "options": ("--strategy", "optimal", "--max-executions", "2"), "also": ["executions"]},
}
# Those that need more than a program and options have tests of their own, test_NAME below.
CLANG_19 = shutil.which("clang-19")
OWN = ("interferences", "alone", "varied", "traces", "not-ordered", "not-realized", "inputs", "input-solver", "input-room", "input-call", "not-again", "hung", "unconfirmed", "interrupted", "preload", "no-plugin", "foreign-threads", "plain-library", "plain-object")


def reasons():
    """name: (class, text, advice) of every line of the table."""
    with open(DEF) as f:
        text = re.sub(r'"\s+"', "", f.read())
    found = re.findall(r'^HD_INEXACT\((\w+), (\w+), "([^"]+)",\s*"([^"]+)",\s*"([^"]+)"\)', text, re.M)
    assert len(found) == len(re.findall(r"^HD_INEXACT\(", text, re.M)), "a line of inexact.def is not understood"
    return {name: (kind, words, advice) for _, kind, name, words, advice in found}


def pattern(words):
    """What the text of a reason may look like."""
    words = re.sub(r"\{([^|]*)\|([^}]*)\}", lambda m: "\0%s\1%s\2" % m.groups(), words)
    words = re.escape(words).replace("\\#", r"\d+").replace("\\$", r"[\w.+ -]+")
    return words.replace("\0", "(?:").replace("\\\0", "(?:").replace("\\\1", "|").replace("\1", "|").replace(
        "\\\2", ")").replace("\2", ")")


def named(s, r, name, also=(), says=None, line=None):
    """JSON and text name this reason, the others that are given, and nothing else."""
    table = reasons()
    s.same(sorted(x["reason"] for x in r["inexact"]), sorted([name, *also]), "reasons")
    s.check(not r["complete"] and r["verdict"] != "clean", "complete, in spite of a reason")
    one = [x for x in r["inexact"] if x["reason"] == name][0]
    s.check(one["count"] > 0, "count %d" % one["count"])
    s.check(re.fullmatch(pattern(table[name][1]), one["text"]), "text: " + one["text"])
    s.same(one["advice"], table[name][2], "advice")
    if line:
        s.check(one["where"], "no place")
        s.same((os.path.basename(one["where"]["file"]), one["where"]["line"]), ("prog.c", line), "place")
    out = " ".join(r["out"].split())
    listed = re.findall(r" - (.*?)(?= - |$)", out[out.index("not complete, because:"):]) if "not complete, because:" in out else []
    want = [x for x in r["inexact"] if table[x["reason"]][0] != "END"]
    s.same(len(listed), len(want), "number of reasons in the text: %s" % listed)
    for x in want:
        place = " (%s:%d)" % (x["where"]["file"], x["where"]["line"]) if x["where"] else ""
        s.check("- %s%s: %s" % (x["text"], place, x["advice"]) in out, "not in the text: " + x["text"])
    if says:
        s.check(says in out, "the text does not say '%s': %s" % (says, r["out"]))
    for text in r["out"].splitlines():
        s.check(not text.startswith("    ") or len(text) <= 80, "longer than 80 columns: " + text)


def here(text):
    lines = [i for i, line in enumerate(text.splitlines(), 1) if "@here" in line]
    return lines[0] if lines else None


DEAD = """typedef struct { %s x; } object;
static object *at;
static void *use(void *p) { %s; return p; } /* @here */
__attribute__((noinline)) static void start(pthread_t *t) {
  object o;
  memset(&o, 0, sizeof o);
  %s;
  at = &o;
  pthread_create(t, 0, use, 0);
}
int main(void) { pthread_t t; start(&t); pthread_join(t, 0); }
"""
OBJECTS = {
    "mutex": ("pthread_mutex_t", "pthread_mutex_lock(&at->x)", "pthread_mutex_init(&o.x, 0)"),
    "condition": ("pthread_cond_t", "pthread_cond_signal(&at->x)", "pthread_cond_init(&o.x, 0)"),
    "rwlock": ("pthread_rwlock_t", "pthread_rwlock_rdlock(&at->x)", "pthread_rwlock_init(&o.x, 0)"),
    "semaphore": ("sem_t", "sem_post(&at->x)", "sem_init(&o.x, 0, 1)"),
    "spin": ("pthread_spinlock_t", "pthread_spin_trylock(&at->x)", "pthread_spin_init(&o.x, 0)"),
}


@each(*OBJECTS)
def test_object_in_dead_frame(s, name):
    """A function has returned before its lock, semaphore or the like is used by the thread that it started."""
    program = s.build_text(HEAD + DEAD % OBJECTS[name], "-O1")
    r = s.search("check", program, "--strategy", "optimal", timeout=180)
    s.check(not r["complete"], "complete")
    s.same([x["reason"] for x in r["inexact"]], ["dead-frame"], "reasons")


@each(*CASES)
def test_reason(s, name):
    case = CASES[name]
    if case.get("facts") and no_facts(s):
        return
    text = HEAD + case["text"]
    if case.get("facts"):
        s.write("prog.c", text)
        s.run([s.heddle, "cc", "--facts", "-g", "-O1", "-w", "prog.c", "-o", "prog"])
        program = "./prog"
    else:
        program = s.build_text(text, "-O1", *case.get("flags", ()))
    r = s.search("check", program, *case.get("options", ()), timeout=180)
    named(s, r, name, case.get("also", ()), case.get("says"), here(text))


def test_every_reason_has_a_test(s):
    s.same(sorted(CASES), sorted(set(reasons()) - set(OWN)), "reasons with a program")
    for name in OWN:
        s.check("test_" + name.replace("-", "_") in globals(), "no test of " + name)


def test_documented(s):
    """docs/soundness.md has a row for each reason, in the order of the table."""
    with open(os.path.join(ROOT, "docs", "soundness.md")) as f:
        section = f.read().split("\n## Reasons\n")[1].split("\n## ")[0]
    s.same(re.findall(r"^\| `([a-z-]+)`", section, re.M), list(reasons()), "reasons in docs/soundness.md")


def test_interrupted(s):
    program = s.build_text(HEAD + SLOW)
    p = subprocess.Popen([s.heddle, "check", "--strategy", "dfs", "--json", "r.json", "--", program], cwd=s.dir, env=s.env,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    p.send_signal(signal.SIGINT)
    out, _ = p.communicate(timeout=20)
    named(s, dict(json.loads(s.read("r.json")), out=out), "interrupted", says="interrupted")


def test_timer_ends_loops(s):
    """The signal of a timer comes when nothing else can run, so the search never asks for what was before it to come after:
    no execution diverges. All complete strategies see the same classes."""
    loops = """
static void on_alarm(int sig) { flag = sig; }
static void *loop(void *p) { while (!flag) continue; return p; }
static void *append(void *p) { while (!flag) continue; int seen = other; other = seen + 1; return p; }
static void *waiter(void *p) {
  sigset_t set;
  int sig;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  sigwait(&set, &sig);
  flag = sig;
  return p;
}
int main(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  if (%d) pthread_sigmask(SIG_BLOCK, &set, 0);
  else signal(SIGALRM, on_alarm);
  alarm(1);
  both(%s);
}
"""
    for threads, masks in ("loop, loop", 0), ("append, append", 0), ("append, waiter", 1):
        program = s.build_text(HEAD + loops % (masks, threads))
        seen = []
        for strategy in "optimal", "dpor", "dfs":
            r = s.search("check", program, "--strategy", strategy, "--classes")
            s.same([x["reason"] for x in r["inexact"]], ["sleeps", "timer-signal"], "reasons of %s for %s" % (strategy, threads))
            seen.append(r["classes"])
        s.same(len(set(map(str, seen))), 1, "classes for %s: %s" % (threads, seen))


@each("random", "optimal")
def test_workers(s, strategy):
    """Counts of all workers are added up, and those of a search that is resumed go on."""
    program = s.build_text(HEAD + ADDERS % 3)
    options = ("--strategy", strategy, "--max-length", "8") + (("--max-executions", "60") if strategy == "random" else ())
    want = s.search("check", program, *options)["inexact"]
    s.same(sorted(x["reason"] for x in want), ["length"] + ["sampling"] * (strategy == "random"), "reasons")
    s.check(max(x["count"] for x in want) > 10, "counts: %s" % want)
    s.same(s.search("check", program, *options, "-j", "2")["inexact"], want, "reasons with two workers")
    if strategy == "optimal":
        s.search("check", program, *options, "--max-executions", "7", "--save", "saved")
        s.same(s.search("check", program, "--resume", "saved", "--max-executions", "1000")["inexact"], want, "reasons, resumed")


GATE = """
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
static void *t(void *a) { return a; }
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, t, 0);
  pthread_join(a, 0); /* then there is nobody to go on with */
  int fd = open("gate", O_RDONLY);
  const char *gate = mmap(0, 1, PROT_READ, MAP_SHARED, fd, 0);
  close(open("waiting", O_CREAT | O_WRONLY, 0600));
  __asm__ volatile("1: cmpb $48, (%0); je 1b" : : "r"(gate) : "memory"); /* until somebody else opens it */
  return 0; }
"""


def test_hung(s):
    """A loop that counts is no proof of a hang, and one that was seen there before says nothing about this one."""
    program = s.build_text("""
#include <heddle.h>
static volatile int forever = 1;
int main(void) {
  volatile unsigned n = hd_choose(3);
  while (forever) n++;
}
""", "-O0")
    r = s.search("check", program, "--all", "--strategy", "dfs", "--hang-timeout", "1s", timeout=120)
    s.is_bug(r, ["hang"])
    s.check("hung" in [x["reason"] for x in r["inexact"]], r["inexact"])
    s.check(not r["complete"], "complete")


COUNTS = {
    "loop": """int main(void) {
  pthread_t t;
  int rounds = 0;
  pthread_create(&t, 0, sets, 0);
  for (; !flag; rounds++) sched_yield();
  assert(rounds != 40);
  pthread_join(t, 0);
}
""",
    "recursion": """static void wait_for_it(int rounds) {
  if (flag) {
    assert(rounds != 40);
    return;
  }
  sched_yield();
  wait_for_it(rounds + 1);
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, sets, 0);
  wait_for_it(0);
  pthread_join(t, 0);
}
""",
}


def test_counts_rounds(s, shape):
    """Rounds that are counted are not covered beyond the bound, also where what ends the wait always comes before it begins."""
    program = s.build_text(HEAD + """#include <sched.h>
static atomic_int flag;
static void *sets(void *p) { flag = 1; return p; }
""" + COUNTS[shape])
    for options in (("--strategy", "optimal"), ("--strategy", "dpor"), ("--strategy", "optimal", "--states"), ()):
        r = s.search("check", program, *options, "--max-executions", "20000")
        s.check(r["findings"] or "loop-bound" in [x["reason"] for x in r["inexact"]], "%s: %s" % (options, r["inexact"]))


test_counts_rounds.parameters = sorted(COUNTS)


def open_for_second(s):
    """Opens the gate when a second execution waits there, however long the first was allowed to."""
    end = time.monotonic() + 30
    for execution in 1, 2:
        while not os.path.exists(s.path("waiting")) and time.monotonic() < end:
            time.sleep(0.01)
        if execution == 1 and os.path.exists(s.path("waiting")):
            os.remove(s.path("waiting"))
    s.write("gate", "1")


def test_not_again(s):
    """What seemed to hang, and does not when its schedule is run, is no finding."""
    program = s.build_text(GATE)
    s.write("gate", "0")
    opener = threading.Thread(target=open_for_second, args=(s,))
    opener.start()
    r = s.search("check", program, "--strategy", "random", "--hang-timeout", "1s", "--max-executions", "3")
    opener.join()
    s.same(r["findings"], [], "findings")
    s.check("not-again" in [x["reason"] for x in r["inexact"]], r["inexact"])


def test_unconfirmed(s):
    """What is found in the last moment, and takes longer to come out again than there is time, is no finding; the command ends
    soon after --time."""
    program = s.build_text(GATE)
    s.write("gate", "0")
    for seconds in 5, 10, 20:  # on a machine with other work it takes longer to be found
        r = s.search("check", program, "--strategy", "random", "--hang-timeout", "4s", "--time", "%ds" % seconds)
        s.same(r["findings"], [], "findings")
        if "unconfirmed" in [x["reason"] for x in r["inexact"]]:
            break
    s.check("unconfirmed" in [x["reason"] for x in r["inexact"]], r["inexact"])


def test_heap_reuse_of_many(s):
    """Of any number of blocks, one of which is seen, it is known which could have had the address of a freed one."""
    many = """
static _Atomic(void *) top, looked;
void *block[3000];
static void *one(void *p) {
  for (int i = 0; i < 1500; i++) block[i] = malloc(32);
  top = malloc(32);
  for (int i = 1500; i < 3000; i++) block[i] = malloc(32);
  looked = block[%d];
  return p;
}
static void *two(void *p) {
  free(atomic_exchange(&top, 0));
  return looked ? p : 0;
}
int main(void) { both(one, two); }
"""
    for which, reasons in (2000, ["heap-reuse"]), (1000, []):
        program = s.build_text(HEAD + many % which)
        r = s.search("check", program, "--strategy", "optimal", "--all")
        s.same([x["reason"] for x in r["inexact"]], reasons, "reasons when block %d is seen" % which)


def test_stopped_process(s):
    """A process that got no time from the machine is run again, and nothing is reported or missing."""
    program = s.build_text("""
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *w(void *a) { for (int i = 0; i < 9; i++) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); } return a; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, w, 0); pthread_create(&b, 0, w, 0); pthread_join(a, 0); pthread_join(b, 0); return 0; }
""")
    stopped = []

    def stop():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink("/proc/%s/exe" % pid) == os.path.realpath(s.path("prog")) and not stopped:
                    os.kill(int(pid), signal.SIGSTOP)
                    stopped.append(pid)
            except OSError:
                pass
    timer = threading.Timer(0.2, stop)
    timer.start()
    r = s.search("check", program, "--strategy", "optimal", "--hang-timeout", "1s")
    timer.join()
    s.same((r["findings"], r["complete"], r["executions"]), ([], True, 48620), "the search")


@each("memory", "fork")
def test_death(s, restart):
    """What a process has noted is not lost when it dies."""
    text = SMASH + "int __VERIFIER_nondet_int(void);\nint main(void) { if (__VERIFIER_nondet_int() == 1) smash(); }\n"
    r = s.search("check", s.build_text(HEAD + text), "--all", "--strategy", "optimal", "--restart=" + restart)
    named(s, r, "process-died", ["values"])


def test_auto(s):
    """When schedules may be missing, auto samples on; a limit that leaves something out is no reason to."""
    for name, more in (("not-owner", True), ("length", False)):
        r = s.search("check", s.build_text(HEAD + CASES[name]["text"]), "--strategy", "auto",
                     *CASES[name]["options"][:2], "--time", "20")
        named(s, r, name)
        s.same(sum(p["executions"] for p in r["phases"][1:]) > 0, more, "executions sampled for %s" % name)


def test_preload(s):
    s.write("prog.c", HEAD + ADDERS % 1)
    s.run(["cc", "-w", "-g", "-O1", "prog.c", "-o", "prog", "-pthread"])
    r = s.search("check", "./prog", "--preload")
    named(s, r, "preload", says="every schedule of synchronisation, input and output was covered")


@each("gcc", "clang")
def test_no_plugin(s, compiler):
    """The program, or a library of it, was compiled by a version that there is no plug-in for."""
    without = {"HEDDLE_PLUGIN": "no", "HEDDLE_CC": compiler}
    s.write("part.c", "int part(int n) { return n; }\n")
    s.write("prog.c", "int part(int);\nint main(void) { return part(0); }\n")
    s.run([s.heddle, "cc", "-shared", "-fPIC", "part.c", "-o", "libpart.so"], env=without)
    s.run([s.heddle, "cc", "prog.c", "-o", "prog", "-L.", "-lpart", "-Wl,-rpath," + s.dir], env={"HEDDLE_CC": compiler})
    r = s.search("check", "./prog", "--strategy", "optimal")
    named(s, r, "no-plugin", says="libpart.so was compiled without Heddle's plug-in")
    s.run([s.heddle, "cc", "-c", "part.c"], env=without)
    s.run([s.heddle, "cc", "prog.c", "part.o", "-o", "prog"], env={"HEDDLE_CC": compiler})
    named(s, s.search("check", "./prog", "--strategy", "optimal"), "no-plugin", says="prog was compiled without")
    s.run([s.heddle, "cc", "prog.c", "part.c", "-o", "prog"], env={"HEDDLE_CC": compiler})
    s.check(s.search("check", "./prog", "--strategy", "optimal")["complete"], "not complete with the plug-in")


def test_inputs(s):
    r = s.search("check", s.build_text('#include <heddle.h>\nint main(void) { return hd_input_range(0, 9, "n") < 0; }\n'),
                 "--strategy", "optimal")
    named(s, r, "inputs")


def concolic(s, text):
    """The result of `heddle concolic` for a program with inputs."""
    s.write("prog.c", "#include <heddle.h>\n#include <stdlib.h>\n" + text)
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "prog.c", "-o", "prog"])
    return s.search("concolic", "./prog")


def test_input_solver(s):
    if not CLANG_19:
        return
    s.env["HEDDLE_TEST_SOLVER"] = "0.001"
    named(s, concolic(s, "int main(void) { unsigned long a, b; hd_input(&a, 8, \"a\"); hd_input(&b, 8, \"b\");\n"
                         "  return a > 1 && b > 1 && a < 1l << 32 && b < 1l << 32 && a * b * 3 % 1000003 == 77 && a * b == 0x7fffffff12345677; }\n"),
          "input-solver")


def test_input_room(s):
    if CLANG_19:
        named(s, concolic(s, "int main(void) { int n; for (int i = 0; i < 5000; i++) hd_input(&n, 4, \"n\"); }\n"), "input-room")


def test_input_call(s):
    if CLANG_19:
        s.write("far.c", "int far(const int *p) { return *p > 3; }\n")
        s.run([s.heddle, "cc", "-c", "far.c", "-o", "far.o"])
        s.write("prog.c", "#include <heddle.h>\nint far(const int *); int n;\nint main(void) { n = (int)hd_input_range(0, 3, \"n\"); return far(&n) * 0; }\n")
        s.run([s.heddle, "cc", "--symbolic", "-g", "prog.c", "far.o", "-o", "prog"])
        named(s, s.search("concolic", "./prog"), "input-call")
        # Nor is it seen what it reads in a variable.
        s.write("far.c", "extern int n; int far(void) { return n > 2; }\n")
        s.run([s.heddle, "cc", "-c", "far.c", "-o", "far.o"])
        s.write("prog.c", "#include <heddle.h>\n#include <stdlib.h>\nint far(void); int n;\nint main(void) { n = (int)hd_input_range(0, 3, \"n\"); if (far()) abort(); }\n")
        s.run([s.heddle, "cc", "--symbolic", "-g", "prog.c", "far.o", "-o", "prog"])
        named(s, s.search("concolic", "./prog"), "input-call")


def bounded(s, text, *args, driver="bounded"):
    """The result of bounded interference."""
    s.write("prog.c", "#include <heddle.h>\n#include <pthread.h>\n#include <semaphore.h>\n#include <stdatomic.h>\n" + text)
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "prog.c", "-o", "prog"])
    return s.search("concolic", "./prog", "--driver", driver, *args)


def test_interferences(s):
    if CLANG_19:
        named(s, bounded(s, "atomic_int x; void *f(void *a) { x = 1; return a; }\nint main(void) { pthread_t t; pthread_create(&t, 0, f, 0); "
                            "if (x == 1) hd_yield(); pthread_join(t, 0); }\n".replace("hd_yield()", "x = 2"),
                         "--interference", "0"), "interferences")


def test_alone(s):
    if CLANG_19:
        named(s, bounded(s, "int main(void) { return hd_input_range(0, 9, 0) > 9; }\n", driver="sequential"), "alone")


def test_varied(s):
    if CLANG_19:
        named(s, bounded(s, "int main(void) { return hd_input_range(0, 9, 0) > 9; }\n", driver="hyper"), "varied")


def test_traces(s):
    if CLANG_19:
        named(s, bounded(s, "int main(void) { return hd_input_range(0, 9, 0) > 9; }\n", driver="mta"), "traces")


def test_not_ordered(s):
    if CLANG_19:
        named(s, bounded(s, "sem_t x; void *f(void *a) { sem_post(&x); return a; }\nint main(void) { pthread_t t; sem_init(&x, 0, 0); "
                            "pthread_create(&t, 0, f, 0); sem_wait(&x); pthread_join(t, 0); }\n", "--interference", "4"), "not-ordered", ["interferences"])


def test_not_realized(s):
    """The two halves of a value that is read as a whole."""
    if CLANG_19:
        named(s, bounded(s, "union { atomic_long all; atomic_int half; } x; void *f(void *a) { x.half = 1; return a; }\n"
                            "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); if (x.all == 1) x.all = 2; pthread_join(t, 0); }\n",
                         "--interference", "4"), "not-realized", ["interferences"])


def test_loop_with_lock(s):
    """A loop that takes a lock, looks and counts: what is compared after others have gone first is its own stack."""
    s.write("prog.c", """#include <pthread.h>
#include <sched.h>
static int lock, flag;
static unsigned long own;
static void take(void) {
  for (;;) {
    int f = 0;
    if (__atomic_compare_exchange_n(&lock, &f, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
    sched_yield();
  }
}
static void give(void) { __atomic_store_n(&lock, 0, __ATOMIC_RELEASE); }
static void *b(void *a) { take(); flag = 1; give(); return a; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, b, 0);
  for (;;) {
    take();
    int f = flag;
    give();
    if (f) break;
    own++;
    sched_yield();
  }
  pthread_join(t, 0);
}
""")
    s.run([s.heddle, "cc", "-g", "-O1", "prog.c", "-o", "prog", "-pthread"], env={"HEDDLE_CC": "gcc"})
    r = s.search("check", "./prog", "--strategy", "optimal", "--preemptions", "1", "--max-executions", "30")
    s.same(r["findings"], [], "findings")
    s.check("loop-bound" in [x["reason"] for x in r["inexact"]], "the loop was not followed")


def test_foreign_threads(s):
    s.write("pool.c", "#include <pthread.h>\nstatic pthread_t t;\nstatic void *run(void *p) { return p; }\n"
                      "void pool_run(void) { pthread_create(&t, 0, run, 0); pthread_join(t, 0); }\n")
    s.run(["cc", "-shared", "-fPIC", "-O1", "pool.c", "-o", "libpool.so", "-pthread"])
    s.write("prog.c", "void pool_run(void);\nint main(void) { pool_run(); }\n")
    s.cc("prog.c", "prog", "-L.", "-lpool", "-Wl,-rpath," + s.dir)
    r = s.search("check", "./prog", "--strategy", "optimal")
    named(s, r, "foreign-threads", ["plain-library"], says="libpool.so, not built with heddle cc, started threads")


def test_plain_library(s):
    s.write("count.c", "static int n;\nint count(void) { return ++n; }\n")
    s.run(["cc", "-shared", "-fPIC", "-O1", "count.c", "-o", "libcount.so"])
    s.write("prog.c", "#include <pthread.h>\nint count(void);\nstatic void *run(void *p) { count(); return p; }\n"
                      "int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); count(); pthread_join(t, 0); }\n")
    s.cc("prog.c", "prog", "-L.", "-lcount", "-Wl,-rpath," + s.dir)
    named(s, s.search("check", "./prog"), "plain-library", says="libcount.so was not built with heddle cc")
    s.write("prog.c", "int count(void);\nint main(void) { count(); }\n")
    s.cc("prog.c", "prog", "-L.", "-lcount", "-Wl,-rpath," + s.dir)
    s.check(s.search("check", "./prog")["complete"], "not complete with one thread")
    s.write("prog.c", "#include <pthread.h>\n#include <sys/wait.h>\n#include <unistd.h>\nint count(void);\n"
                      "static void *run(void *p) { return p; }\nstatic void both(void) { pthread_t t, u;\n"
                      "  pthread_create(&t, 0, run, 0), pthread_create(&u, 0, run, 0), pthread_join(t, 0), pthread_join(u, 0); }\n"
                      "int main(void) { count(); both(); count(); both(); if (!fork()) _exit(count()); }\n")
    s.cc("prog.c", "prog", "-L.", "-lcount", "-Wl,-rpath," + s.dir)
    s.check(s.search("check", "./prog")["complete"], "not complete although no other thread lived during a call")


def test_plain_object(s):
    s.write("count.c", "static int n;\nint count(void) { return ++n; }\n")
    s.write("prog.c", "#include <pthread.h>\nint count(void);\nstatic void *run(void *p) { count(); return p; }\n"
                      "int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); count(); pthread_join(t, 0); }\n")
    s.run(["cc", "-c", "-O1", "count.c", "-o", "plain.o"])
    s.run(["ar", "rc", "libplain.a", "plain.o"])
    s.write("none.S", "  .section .note.GNU-stack,\"\",@progbits\n  .text\nnone: ret\n")
    for more in (["plain.o"], ["-Wl,--whole-archive", "./libplain.a", "-Wl,--no-whole-archive"], ["plain.o", "none.S"]):
        s.cc("prog.c", "prog", *more)
        named(s, s.search("check", "./prog"), "plain-object", says="prog has object files that were not built")
    s.run([s.heddle, "cc", "-c", "-O1", "count.c", "-o", "own.o"])
    s.run([s.heddle, "cc", "-c", "-O1", "prog.c", "-o", "prog.o"])
    s.run([s.heddle, "cc", "prog.o", "own.o", "-o", "prog", "-pthread"])
    reasons = [r["reason"] for r in s.search("check", "./prog", "--ignore", "data-race")["inexact"]]
    s.check("plain-object" not in reasons, "its objects were built with heddle cc: %s" % reasons)
    s.write("prog.c", "int count(void);\nint main(void) { count(); }\n")
    s.cc("prog.c", "prog", "plain.o")
    s.check(s.search("check", "./prog")["complete"], "not complete with one thread")

"""Executions that start after the set-up of the program (--checkpoint) are those that start at main: for every kind of state
that a set-up can leave, the same counts, final states and findings, and the program finds in each what it left there. What
cannot be restored is refused by name."""
import os
import re

from scratch import each

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

HEAD = """#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
static atomic_int runs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
"""

# Each of two threads runs USE; how often somebody has run it before is `before`, 0 or 1. END comes after them, in main.
TAIL = """
static void *thread(void *p) {
  pthread_mutex_lock(&lock);
  int before = runs++;
  (void)before;
  %s
  pthread_mutex_unlock(&lock);
  return p;
}
int main(void) {
  %s
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, thread, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  assert(runs == 2);
  %s
  return 0;
}
"""

# name: (declarations, set-up, use, end)
KEPT = {
    "globals": ("static int x; static char big[1 << 20];", "x = 7; memset(big, 3, sizeof big);",
                "assert(x == 7 + before); x++; assert(big[70000] == 3 + before); big[70000]++;", "assert(x == 9);"),
    "locals": ("static int *at;", "int x = 7; at = &x;", "assert(*at == 7 + before); ++*at;", "assert(x == 9);"),
    "heap": ("static char *a, *b, *big;",
             "a = malloc(10); b = malloc(3000); big = malloc(1 << 20); a[0] = 1; b[2999] = 2; big[1 << 19] = 3; free(malloc(40));",
             "assert(a[0] == 1 + before && b[2999] == 2 && big[1 << 19] == 3 + before); a[0]++; big[1 << 19]++;"
             "char *c = malloc(10); assert(c && c != a && c != b); free(c);"
             "if (before) { free(b); a = realloc(a, 5000); assert(a[0] == 3); }",
             "free(a); free(big);"),
    "thread_local": ("static __thread int mine = 5;", "mine = 6;", "assert(mine == 5); mine = 9;", "assert(mine == 6); mine = 1;"),
    "errno": ("", "errno = ENOTTY;", "errno = EIO;", "assert(errno == ENOTTY);"),
    "environment": ("", "setenv(\"HOW\", \"0\", 1); putenv(\"WHO=me\");",
                    "assert(atoi(getenv(\"HOW\")) == before && !strcmp(getenv(\"WHO\"), \"me\")); setenv(\"HOW\", \"1\", 1);"
                    "if (before) unsetenv(\"WHO\");", "assert(!getenv(\"WHO\"));"),
    "atexit": ("static int order; static void one(void) { assert(order++ == 1 && runs == 2); }"
               "static void two(void) { assert(order++ == 0); }",
               "atexit(one); atexit(two);", "", ""),
    "key": ("static pthread_key_t key; static atomic_int ended; static void over(void *p) { ended += *(int *)p; free(p); }",
            "assert(!pthread_key_create(&key, over)); int *n = malloc(sizeof *n); *n = 5; pthread_setspecific(key, n);",
            "assert(!pthread_getspecific(key)); int *n = malloc(sizeof *n); *n = 1; pthread_setspecific(key, n);",
            "assert(ended == 2 && *(int *)pthread_getspecific(key) == 5);"),
    "mapping": ("static char *m;",
                "m = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); m[9000] = 4;",
                "assert(m[9000] == 4 + before && !m[20000 + before]); m[9000]++; m[20000 + before] = 1;", "munmap(m, 1 << 16);"),
    "mapping_gone": ("static char *m, *n;",
                     "m = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); m[0] = 4;"
                     "n = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);",
                     "if (!before) { assert(m[0] == 4); munmap(m, 1 << 16); } else { assert(!n[0]); n[0] = 1; munmap(n, 4096); }",
                     ""),
    "mapping_advised": ("static char *m;",
                        "m = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); m[0] = m[5000] = 4;",
                        "assert(m[0] == (before ? 0 : 4)); madvise(m, 4096, MADV_DONTNEED); assert(m[5000] == 4);", ""),
    "file_mapping": ("static char *m;",
                     "int fd = open(\"data\", O_RDONLY); m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0); close(fd);",
                     "assert(m[0] == 'a' + before && m[1] == 'b'); m[0]++;", ""),
    "break": ("static char *at;", "at = sbrk(8192); at[100] = 3;", "assert(at[100] == 3 + before); at[100]++; sbrk(4096);",
              "assert((char *)sbrk(0) == at + 3 * 4096 + 4096);"),
    "file_offset": ("static int fd;", "fd = open(\"data\", O_RDONLY); char c; assert(read(fd, &c, 1) == 1 && c == 'a');",
                    "char c; assert(read(fd, &c, 1) == 1 && c == 'b' + before);",
                    "assert(lseek(fd, 0, SEEK_CUR) == 3); close(fd); assert(read(fd, &(char){0}, 1) == -1);"),
    "file_closed": ("static int fd;", "fd = open(\"data\", O_RDONLY);",
                    "char c; if (!before) { assert(read(fd, &c, 1) == 1 && c == 'a'); close(fd); fd = open(\"other\", O_RDONLY); }"
                    "else assert(read(fd, &c, 1) == 1 && c == 'x');", ""),
    "file_flags": ("static int fd;", "fd = open(\"data\", O_RDONLY | O_CLOEXEC); fcntl(fd, F_SETFL, O_NONBLOCK);",
                   "assert(!!(fcntl(fd, F_GETFL) & O_NONBLOCK) == !before); fcntl(fd, F_SETFL, 0);"
                   "assert(fcntl(fd, F_GETFD) == (before ? 0 : FD_CLOEXEC)); fcntl(fd, F_SETFD, 0);", ""),
    "file_written": ("static int fd;", "fd = open(\"data\", O_RDWR);",
                     "char c; assert(pread(fd, &c, 1, 0) == 1 && c == 'a' + before); c++; assert(write(fd, &c, 1) == 1);"
                     "lseek(fd, 0, SEEK_SET);", ""),
    "stream": ("static FILE *f;", "f = fopen(\"data\", \"r\"); assert(getc(f) == 'a');",
               "assert(getc(f) == 'b' + before); if (before) ungetc('q', f);", "assert(getc(f) == 'q'); fclose(f);"),
    "folder": ("", "assert(!chdir(\"sub\"));",
               "char now[PATH_MAX]; getcwd(now, sizeof now); assert(!!strstr(now, \"/sub\") == !before); chdir(\"/\");", ""),
    "umask": ("", "umask(027);", "assert(umask(before ? 01 : 077) == (before ? 077 : 027));", "assert(umask(0) == 01);"),
    "limit": ("", "struct rlimit l = {4096, RLIM_INFINITY}; getrlimit(RLIMIT_CORE, &l); l.rlim_cur = 0; setrlimit(RLIMIT_CORE, &l);"
              "l = (struct rlimit){100, 200}; setrlimit(RLIMIT_NOFILE, &l);",
              "struct rlimit l; getrlimit(RLIMIT_NOFILE, &l); assert(l.rlim_cur == 100u + (unsigned)before); l.rlim_cur++;"
              "setrlimit(RLIMIT_NOFILE, &l); getrlimit(RLIMIT_CORE, &l); assert(!l.rlim_cur);", ""),
    "handler": ("static int got; static void on(int s) { got += s == SIGUSR1 ? 1 : 10; }",
                "signal(SIGUSR1, on); raise(SIGUSR1); sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR2); sigprocmask(SIG_BLOCK, &s, 0);",
                "sigset_t s; pthread_sigmask(0, 0, &s); assert(sigismember(&s, SIGUSR2)); assert(got == 1 + before); raise(SIGUSR1);"
                "if (before) signal(SIGUSR1, SIG_IGN);", "raise(SIGUSR2);"),
    "pending": ("static int got; static void on(int s) { got++; }",
                "signal(SIGUSR1, on); sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR1); pthread_sigmask(SIG_BLOCK, &s, 0); raise(SIGUSR1);",
                "assert(!got);", "int n; sigwait(&s, &n); assert(n == SIGUSR1 && !got);"),
    "timer": ("static int got; static void on(int s) { got++; }",
              "signal(SIGALRM, on); struct itimerval v = {{0, 0}, {5, 0}}; setitimer(ITIMER_REAL, &v, 0);",
              "struct itimerval v; getitimer(ITIMER_REAL, &v); assert(v.it_value.tv_sec || v.it_value.tv_usec);",
              ""),
    "time": ("static struct timespec at;", "clock_gettime(CLOCK_MONOTONIC, &at); sleep(3);",
             "struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); assert(t.tv_sec - at.tv_sec >= 3 && t.tv_sec - at.tv_sec < 5);", ""),
    "lock_held": ("static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static int x;", "pthread_mutex_lock(&m); x = 1;",
                  "assert(pthread_mutex_trylock(&m) == EBUSY);", "x++; pthread_mutex_unlock(&m); pthread_mutex_destroy(&m);"),
    "locks": ("static pthread_mutex_t m[400]; static sem_t s; static pthread_rwlock_t r; static pthread_barrier_t b; static pthread_once_t o;"
              "static int inits; static void init(void) { inits++; }",
              "for (int i = 0; i < 400; i++) { pthread_mutex_init(&m[i], 0); pthread_mutex_lock(&m[i]); pthread_mutex_unlock(&m[i]); }"
              "sem_init(&s, 0, 2); pthread_rwlock_init(&r, 0); pthread_barrier_init(&b, 0, 1); pthread_once(&o, init);",
              "for (int i = before; i < 400; i += 100) { pthread_mutex_lock(&m[i]); pthread_mutex_unlock(&m[i]); }"
              "assert(!sem_trywait(&s)); pthread_rwlock_rdlock(&r); pthread_rwlock_unlock(&r); pthread_barrier_wait(&b); pthread_once(&o, init);",
              "assert(inits == 1 && sem_trywait(&s));"),
    "more_locks": ("static pthread_mutex_t m[3000];", "pthread_mutex_lock(&m[0]); pthread_mutex_unlock(&m[0]);",
                   "if (before) for (int i = 0; i < 3000; i++) { pthread_mutex_lock(&m[i]); pthread_mutex_unlock(&m[i]); }", ""),
    "named_semaphore": ("static sem_t *s;", "s = sem_open(\"/kept\", O_CREAT, 0600, 2);", "assert(!sem_trywait(s));",
                        "assert(sem_trywait(s)); sem_close(s); sem_unlink(\"/kept\");"),
    "random": ("static int first;", "srand(5); first = rand();", "int r = rand(); assert(r != first); if (!before) first = r;", ""),
    "strtok": ("static char text[] = \"a b c d\";", "assert(*strtok(text, \" \") == 'a');", "assert(*strtok(0, \" \") == 'b' + before);", ""),
    "output": ("", "printf(\"set up \"); puts(\"done\");", "printf(\"%d\\n\", before);", "fflush(stdout);"),
    "jump": ("static jmp_buf back; static int passed;", "if (setjmp(back)) { passed++; goto end; }", "", "if (!passed) longjmp(back, 1);\nend: assert(passed == 1);"),
    "reads_files": ("static long sum;", "FILE *f = fopen(\"data\", \"r\"); for (int c; (c = getc(f)) >= 0;) sum += c; fclose(f);",
                    "assert(sum > 300);", ""),
    "arguments": ("static char **args;", "extern char **environ; args = environ; assert(args);", "assert(args == environ);", ""),
    "section": ("void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void); static int x;",
                "__VERIFIER_atomic_begin(); x = 1; __VERIFIER_atomic_end();", "__VERIFIER_atomic_begin(); x++; __VERIFIER_atomic_end();",
                "assert(x == 3);"),
    "deep": ("static int total; static void work(int n);", "work(30); return 0;", "total++;", ""),
    "exit_in_thread": ("static void last(void) { assert(runs >= 1); }", "atexit(last);", "if (before) exit(0);", ""),
    "leaks": ("static char *volatile held;", "held = malloc(8); *held = 1;", "", ""),
}

REFUSED = {
    "child": ("", "int w; pid_t p = fork(); if (!p) _exit(0); waitpid(p, &w, 0);"),
    "files": ("", "FILE *f = fopen(\"new\", \"w\"); fputs(\"x\", f); fclose(f);"),
    "descriptor": ("static int fds[2];", "assert(!pipe(fds));"),
    "replaced": ("", "close(0);"),
    "shared-memory": ("", "char *m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); m[0] = 1;"),
    "protection": ("", "char *m = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); mprotect(m, 4096, PROT_READ);"),
    "ipc": ("", "assert(shmget(IPC_PRIVATE, 4096, 0600) >= 0);"),
    "handler": ("static int got; static void on(int s) { got++; }", "signal(SIGUSR1, on); raise(SIGUSR1); got++;"),
    "stack": ("static ucontext_t back, co; static char stack[65536]; static int rest(void); static void on(void) { exit(rest()); }", None),
}
DESCRIPTORS = ("int fds[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, fds);", "eventfd(0, 0);", "epoll_create1(0);", "memfd_create(\"m\", 0);")


def build(s, declarations, setup, use="", end=""):
    s.write("data", "abcdefgh\n")
    os.makedirs(s.path("sub"), exist_ok=True)
    s.write("other", "xyz\n")
    tail = TAIL % (use, setup, end)
    if setup and "work(30)" in setup:
        tail = tail.replace("int main(void) {\n  work(30); return 0;", "static void work(int n) {\n  char room[200]; memset(room, n, sizeof room);\n"
                            "  if (n) { work(n - 1); assert(room[100] == n); return; }") \
            .replace("  return 0;\n}\n", "}\nint main(void) { work(30); assert(total == 2); }\n")
    if setup is None:
        tail = tail.replace("int main(void) {\n  None", "static int rest(void) {") + \
            "int main(void) { getcontext(&co); co.uc_stack.ss_sp = stack; co.uc_stack.ss_size = sizeof stack; makecontext(&co, on, 0);" \
            " swapcontext(&back, &co); }\n"
    return s.build_text(HEAD + declarations + tail)


def outcome(r):
    return {k: r.get(k) for k in ("executions", "blocked", "events", "switches", "threads", "complete", "inexact", "restarts",
                                  "discarded", "classes", "class_sum", "states", "state_sum", "targets")} | \
        {"findings": sorted((f["kind"], f["key"], f["execution"], f["steps"], f["replays"]) for f in r["findings"])}


def compare(s, program, *options):
    """The same search with and without checkpoints. Returns the result of the latter."""
    never = s.search("check", program, "--checkpoint=never", *options)
    always = s.search("check", program, "--checkpoint=always", *options)
    s.same(never["checkpoint"], "none", "with --checkpoint=never")
    s.same(outcome(always), outcome(never), "the search from a checkpoint")
    return always


@each(*KEPT)
def test_kept(s, name):
    program = build(s, *KEPT[name])
    for strategy in ("optimal", "random"):
        options = ["--strategy", strategy, "--all", "--classes", "-j", "1"] + (["--max-executions", "50"] if strategy == "random" else [])
        if name == "leaks":
            options.append("--leaks")
        r = compare(s, program, *options)
        s.same((r["checkpoint"], r["findings"], r["restart"]), ("taken", [], "memory"), "%s with %s" % (name, strategy))
        s.check(r["executions"] > 1, "only one execution")


def test_constructors(s):
    """Static objects of C++, set up before main and in it."""
    program = s.build_text("""#include <cassert>
#include <map>
#include <string>
#include <thread>
#include <mutex>
static std::map<std::string, int> table{{"a", 1}};
struct Log { int n = 0; ~Log() { assert(n == 4); } };
static Log log_;
static std::mutex m;
Log &local() { static Log l{3}; return l; }
static void work() {
  std::lock_guard<std::mutex> g(m);
  table["a"]++; table["c"] = table["b"]; log_.n++; local().n += log_.n == 4;
}
int main() {
  table["b"] = 5; log_.n = 2; local();
  try { throw std::string("set up"); } catch (const std::string &) {}
  std::thread a(work), b(work);
  a.join(); b.join();
  assert(table["a"] == 3 && table["c"] == 5);
}
""", "-O1", suffix=".cc")
    r = compare(s, program, "--strategy", "optimal", "--all", "--classes")
    s.same((r["checkpoint"], r["findings"]), ("taken", []), "the search")


@each(*REFUSED)
def test_refused(s, name):
    program = build(s, *REFUSED[name], end="raise(SIGUSR1);" if name == "handler" else "")
    r = compare(s, program, "--strategy", "optimal", "--all", "--classes")
    s.same((r["checkpoint"], r.get("checkpoint_reason"), r["findings"]), ("refused", name, []), "the search")
    p = s.run([s.heddle, "check", "--checkpoint=always", "--strategy", "optimal", "--", program])
    s.check("each execution repeats the set-up of the program, which " in p.stdout + p.stderr, "the summary does not say so")


@each(*DESCRIPTORS)
def test_descriptors(s, setup):
    r = compare(s, build(s, "", setup), "--strategy", "optimal", "--all")
    s.same((r["checkpoint"], r.get("checkpoint_reason")), ("refused", "descriptor"), "the search")


def test_reasons(s):
    """Every reason of the table is in docs/soundness.md."""
    with open(os.path.join(ROOT, "src", "model", "unkept.def")) as f:
        names = re.findall(r'^HD_UNKEPT\(\w+, "([\w-]+)"', f.read(), re.M)
    with open(os.path.join(ROOT, "docs", "soundness.md")) as f:
        text = f.read()
    s.same([n for n in names if "\n| `%s` " % n not in text], [], "reasons that are not documented")


def test_lost(s):
    """What an execution does later can make the checkpoint useless: the search goes on from main."""
    program = build(s, "static char *m;", "m = mmap(0, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);",
                    "mprotect(m, 4096, PROT_READ | PROT_WRITE); assert(m[0] == before); m[0]++;")
    r = compare(s, program, "--strategy", "optimal", "--all", "--classes")
    s.same((r["findings"], r["checkpoint"], r["checkpoint_reason"]), ([], "refused", "protection"), "the search")


# In some schedules it needs more threads than in its first execution. `runs` is an atomic counter.
MORE_THREADS = """static void *thread(void *p) { runs++; return p; }
int main(void) {
  pthread_t t[40];
  int n = 2;
  pthread_create(&t[0], 0, thread, 0); pthread_create(&t[1], 0, thread, 0);
  if (runs == 0) for (; n < 40; n++) { pthread_create(&t[n], 0, thread, 0); if (n > 2) { pthread_join(t[n], 0); t[n] = 0; } }
  for (int i = 0; i < n; i++) if (t[i]) pthread_join(t[i], 0);
}
"""


def test_more_threads(s):
    """A process that lacks identities is replaced by one that has them."""
    program = s.build_text(HEAD + MORE_THREADS)
    r = compare(s, program, "--strategy", "random", "--max-executions", "100", "-j", "1", "--restart=memory")
    s.same((r["checkpoint"], r["findings"]), ("taken", []), "the search")


FAILS = """static int x;
static void *thread(void *p) { pthread_mutex_lock(&lock); int y = x; pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&lock); x = y + 1; pthread_mutex_unlock(&lock); return p; }
int main(void) {
  puts("printed by the set-up"); fflush(stdout);
  for (int i = 0; i < 5; i++) { pthread_mutex_lock(&lock); x = 0; pthread_mutex_unlock(&lock); }
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, thread, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  assert(x == 2);
}
"""


@each("optimal", "dpor", "dfs", "auto", "random", "pct", "pos", "uniform")
def test_finding(s, strategy):
    """The schedule of a finding contains the set-up, and replays from main."""
    program = s.build_text(HEAD + FAILS)
    r = compare(s, program, "--strategy", strategy, "--max-executions", "500", "-j", "1")
    s.check(r["checkpoint"] == "taken" or r["executions"] == 1, "no checkpoint")  # else found by the first execution
    s.same([f["kind"] for f in r["findings"]], ["assertion"], "findings")
    p = s.run([s.heddle, "replay", ".heddle/1"], want=1)
    s.check("printed by the set-up" in p.stdout, "the output of the set-up is not replayed: " + p.stdout)


@each("optimal", "dpor", "dfs", "dfs --preemptions 1", "optimal --delays iterate", "random")
def test_shared_and_saved(s, strategy):
    """Several processes, and a search that was stopped and resumed, give what one process gives without checkpoints."""
    program = s.build_text(HEAD + FAILS.replace("assert(x == 2);", ""))
    strategy, *more = strategy.split()
    options = ["--strategy", strategy, *more] + (["--max-executions", "200"] if strategy == "random" else [])
    want = s.search("check", program, "--checkpoint=never", "-j", "1", *options)
    keys = ("executions", "complete") if strategy != "dpor" else ("complete",)
    r = s.search("check", program, "--checkpoint=always", "-j", "3", *options)
    s.same({k: r[k] for k in keys}, {k: want[k] for k in keys}, "three processes")
    if strategy == "random":
        return
    s.search("check", program, "--checkpoint=always", "-j", "1", "--save", "saved", *options, "--max-executions", "7")
    r = s.search("check", program, "--checkpoint=always", "--resume", "saved", "--max-executions", "1000000")
    s.same({k: r[k] for k in ("executions", "complete")}, {k: want[k] for k in ("executions", "complete")}, "resumed")


CHOOSES = """#include <heddle.h>
static int made[3];
static void *thread(void *p) { pthread_mutex_lock(&lock); made[*(int *)p]++; pthread_mutex_unlock(&lock); return p; }
int main(void) {
  %s
  int way = (int)hd_choose(3);
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, thread, &way);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  assert(made[way] == 2);
}
"""


@each("optimal", "dpor", "dfs", "rdfs", "optimal --delays 1")
def test_choice(s, strategy):
    """The set-up ends with a choice: the step that makes it has been picked, but not executed."""
    for setup in "", "pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock);":
        program = s.build_text(HEAD + CHOOSES % setup)
        r = compare(s, program, "--strategy", *strategy.split(), "--classes", "-j", "1")
        s.same((r["checkpoint"], [i for i in r["inexact"] if i["reason"] == "diverged"]), ("taken", []), "the search")
        s.check(r["executions"] + r["blocked"] >= 3, "not every outcome was chosen")


def test_pays(s):
    """A long set-up is noticed; it runs a few times only."""
    program = s.build_text(HEAD + """static volatile unsigned long sink;
static void *thread(void *p) { runs++; return p; }
int main(int n, char **a) {
  for (unsigned long i = 0; i < strtoul(a[1], 0, 10); i++) sink += i;
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, thread, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
}
""")
    few, many = (s.search("check", program, "--strategy", "random", "--max-executions", "2000", "-j", "1", args=[n])
                 for n in ("10", "30000000"))
    s.same((few["checkpoint"], many["checkpoint"]), ("none", "taken"), "checkpoints")
    s.same((few["executions"], few["events"]), (many["executions"], many["events"]), "executions and events")

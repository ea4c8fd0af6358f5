"""hd_check: one function is searched from inside an ordinary process, and what is found can be replayed."""
import os
import re
import subprocess
import time

from scratch import each

PRELUDE = """
#define _GNU_SOURCE
#include <assert.h>
#include <heddle.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int show(struct hd_check_result r) {
  static const char *const verdict[] = {"once", "clean", "bounded", "bug", "error"};
  printf("%s %llu %u %s %s:%d\\n%s", verdict[r.verdict], r.executions, r.findings, r.findings ? r.finding[0].kind : "-",
         r.finding[0].file, r.finding[0].line, r.message);
  return r.verdict;
}
static atomic_int n;
static void *add(void *a) { n++; return a; }
static void *lose(void *a) { int v = n; n = v + 1; return a; }
static void pair(void *f) {
  pthread_t a, b;
  pthread_create(&a, NULL, (void *(*)(void *))f, NULL);
  pthread_create(&b, NULL, (void *(*)(void *))f, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  assert(n == 2);
}
"""


def run(s, text, *flags, want=None, name="prog", **kw):
    """Builds and runs the program as any other; returns its output."""
    s.build_text(PRELUDE + text, *flags, name=name)
    return s.run(["./" + name], want=want, **kw).stdout


def replays(s, *numbers):
    for number in numbers:
        p = s.run([s.heddle, "replay", ".heddle/%d" % number], want=1)
        s.check("replayed: the same finding" in p.stderr, "no replay of %d: %s" % (number, p.stderr[-300:]))


def test_clean(s):
    """Every schedule is covered, and the process is as it was."""
    out = run(s, """int main(void) { show(hd_check(pair, add, NULL)); printf("n is %d\\n", n); }""", want=0)
    s.check(out.startswith("clean 2 0 -"), out)
    s.check("every schedule was covered" in out and out.endswith("n is 0\n"), out)


def test_bug(s):
    """The finding says where, the message how to replay it, and that works from anywhere."""
    out = run(s, """int main(void) { return show(hd_check(pair, lose, NULL)); }""", want=3)
    s.check(re.match(r"bug \d+ 1 assertion prog.c:\d+\n", out), out)
    command = re.search(r"replay: (heddle replay /\S+)", out).group(1)
    p = s.run([s.heddle, *command.split()[1:]], want=1, cwd="/")
    s.check("replayed: the same finding" in p.stderr, p.stderr)


@each("terminal", "other-environment", "empty-environment", "other-folder")
def test_replay_elsewhere(s, how):
    """The process that fails and its replay differ in what is around them, not in what they do."""
    s.build_text(PRELUDE + """
int main(void) {
  int *heap = malloc(100);
  printf("hello %p\\n", (void *)heap);
  show(hd_check(pair, add, NULL));
  return show(hd_check(pair, lose, NULL)); }""")
    if how == "terminal":
        s.run(["script", "-qec", "./prog", "/dev/null"], want=3)
    elif how == "other-environment":
        s.run(["./prog"], want=3, env={"SOMETHING": "x" * 1000})
    elif how == "empty-environment":
        s.run(["env", "-i", "./prog"], want=3)
    else:
        s.run(["sh", "-c", "mkdir other; cd other; ../prog"], want=3)
        s.run(["mv", "other/.heddle", "."])
    replays(s, 1)


def test_heap_and_stack_of_the_test(s):
    """What the test had before the call is there, in every execution anew, also large blocks; it may be freed."""
    out = run(s, """
static int *big, *small;
static void *worker(void *local) { ++*(int *)local; big[5]++; free(small); small = NULL; return NULL; }
static void body(void *local) {
  pthread_t t;
  assert(*(int *)local == 7 && big[5] == 0 && *small == 3);
  pthread_create(&t, NULL, worker, local);
  pthread_join(t, NULL);
  big = realloc(big, 2000000);
  assert(big[5] == 1);
  free(big);
}
int main(void) {
  int local = 7;
  big = calloc(100000, sizeof *big);
  small = malloc(sizeof *small);
  *small = 3;
  show(hd_check(body, &local, NULL));
  assert(local == 7 && big[5] == 0 && *small == 3);
  free(big);
  free(small);
}""", want=0)
    s.check(out.startswith("clean 1 0 -"), out)


def test_freed_while_used(s):
    """Freeing a block of the test's is a write to it, and whoever reads it later uses freed memory."""
    out = run(s, """
static int *block;
static void *reader(void *a) { return *block ? a : NULL; }
static void body(void *a) {
  pthread_t t;
  pthread_create(&t, NULL, reader, a);
  free(block);
  pthread_join(t, NULL);
}
int main(void) { block = calloc(1, 4); return show(hd_check(body, NULL, NULL)); }""", want=3)
    s.check("bug 1 1 use-after-free" in out or "bug 1 1 data-race" in out, out)
    replays(s, 1)


@each(("used", "use-after-free", "pthread_create(&t, NULL, late, NULL); free(p); n = 1; pthread_join(t, NULL);"),
      ("used by the same thread", "use-after-free", "free(p); *p = 1;"),
      ("locked", "use-after-free", "free(m); pthread_mutex_lock(m);"),
      ("twice", "double-free", "pthread_create(&t, NULL, drop, NULL); drop(NULL); pthread_join(t, NULL);"),
      ("moved", "use-after-free", "int *q = realloc(p, 4000); q[900] = 1; *p = 1;"))
def test_freed(s, parameter):
    """Blocks of the test that the body has freed are freed blocks, until the next execution."""
    name, kind, body = parameter
    out = run(s, """
static int * volatile p;
static pthread_mutex_t *m;
static atomic_int owners = 2;
static void *late(void *a) { while (!n) {} *p = 3; return a; }
static void *drop(void *a) { owners--; if (!owners) free(p); return a; }
static void right(void *a) { pthread_t t; pthread_create(&t, NULL, add, a); *p = 1; free(p); p = malloc(8); *p = 2;
  pthread_join(t, NULL); free(m); }
static void wrong(void *a) { pthread_t t; %s }
int main(void) {
  p = malloc(40);
  m = malloc(sizeof *m);
  pthread_mutex_init(m, NULL);
  show(hd_check(right, NULL, &(struct hd_check_options){.arguments = "--strategy dfs"}));
  return show(hd_check(wrong, NULL, NULL));
}""" % body, "-O0", want=3)
    s.check(re.match(r"clean [1-9]\d* 0 ", out) and re.search(r"^bug \d+ 1 %s prog.c" % kind, out, re.M), out)
    replays(s, 1)


def test_threads_left(s):
    """Threads that the body leaves behind run to their ends; if they cannot, that is found."""
    out = run(s, """
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void *ab(void *x) { pthread_mutex_lock(&a); pthread_mutex_lock(&b); pthread_mutex_unlock(&b);
  pthread_mutex_unlock(&a); return x; }
static void *ba(void *x) { pthread_mutex_lock(&b); pthread_mutex_lock(&a); pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&b); return x; }
static void alone(void *x) { pthread_t t; pthread_create(&t, NULL, ab, x); pthread_detach(t); }
static void both(void *x) { pthread_t t; alone(x); pthread_create(&t, NULL, ba, x); pthread_detach(t); }
int main(void) { show(hd_check(alone, NULL, NULL)); show(hd_check(both, NULL, NULL)); }""", want=0)
    s.check(out.startswith("clean") and "\nbug" in out and " deadlock " in out, out)
    replays(s, 1)


def test_options(s):
    out = run(s, """
static void *one(void *x) { return x; }
int main(void) {
  struct hd_check_options o = {.strategy = "random", .executions = 7, .seed = 3};
  show(hd_check(pair, add, &o));
  show(hd_check(pair, add, &(struct hd_check_options){.strategy = "optimal", .jobs = 2}));
  show(hd_check(pair, add, &(struct hd_check_options){.arguments = "--strategy dfs  --restart fork"}));
  show(hd_check(pair, add, &(struct hd_check_options){.strategy = "optimal", .seconds = 0.5, .all = 1}));
}""", want=0)
    first = re.findall(r"^(?:once|clean|bounded|bug|error) \d+ \d+", out, re.M)
    s.same(first[0], "bounded 7 0", "random")
    s.same(first[1], "clean 2 0", "two workers")
    s.check(first[2].startswith("clean") and int(first[2].split()[1]) > 2, "dfs in fork mode: " + first[2])
    s.same(first[3], "clean 2 0", "optimal")


@each(('.strategy = "nonsense"', "unknown strategy 'nonsense'"), ('.arguments = "-- x"', "`--` is not an option"),
      ('.arguments = "--wat"', "unknown option '--wat'"))
def test_bad_options(s, parameter):
    options, words = parameter
    out = run(s, "int main(void) { return show(hd_check(pair, add, &(struct hd_check_options){%s})); }" % options, want=4)
    s.check(out.startswith("error 0 0") and words in out, out)
    s.same(s.findings(), [], "findings")


def test_other_threads(s):
    """A copy of the process would be without them: refused, not searched wrongly."""
    out = run(s, """
static void *sleeper(void *a) { pause(); return a; }
int main(void) { pthread_t t; pthread_create(&t, NULL, sleeper, NULL); return show(hd_check(pair, add, NULL)); }""", want=4)
    s.check("other threads are running" in out, out)


def test_signals_blocked(s):
    """What the test masks, the body masks; the runtime itself cannot do without some of them."""
    out = run(s, """
static void body(void *a) {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, NULL, &now);
  assert(sigismember(&now, SIGTERM));
  raise(SIGUSR1);
  sigpending(&now);
  assert(sigismember(&now, SIGUSR1));
  pair(a);
}
int main(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  signal(SIGCHLD, SIG_IGN);
  show(hd_check(body, add, NULL));
  return show(hd_check(body, lose, NULL));
}""", want=3)
    s.check(out.startswith("clean 2 0") and "assertion prog.c:29" in out, out)
    replays(s, 1)


def test_handlers(s):
    """Handlers of the test are those of the body."""
    out = run(s, """
static volatile int got;
static void on(int sig) { got++; }
static void body(void *a) { raise(SIGUSR1); pthread_kill(pthread_self(), SIGUSR1); raise(SIGUSR2); assert(got == 2); pair(add); }
int main(void) { signal(SIGUSR1, on); signal(SIGUSR2, SIG_IGN); show(hd_check(body, NULL, NULL)); assert(!got); }""", want=0)
    s.check(out.startswith("clean 2 0"), out)


@each("<&-", ">&-", "<&- >&- 2>&-")
def test_closed_streams(s, how):
    run(s, "int main(void) { return show(hd_check(pair, lose, NULL)); }", want=3)
    s.run(["sh", "-c", "./prog " + how], want=3)
    s.same(s.findings(), [1], "findings")  # the same one again
    replays(s, 1)


def test_file_limit(s):
    """A soft limit is raised, a hard one is told of."""
    s.build_text(PRELUDE + """
#include <sys/resource.h>
int main(int argc, char **argv) {
  struct rlimit limit = {256, 256};
  if (argc > 1) setrlimit(RLIMIT_NOFILE, &limit), setuid(65534);
  return show(hd_check(pair, lose, NULL));
}""")
    s.run(["sh", "-c", "ulimit -Sn 256; ./prog"], want=3)
    replays(s, 1)
    p = s.run(["./prog", "low"], want=4)
    s.check("limit of open files is below 1024; raise it with ulimit -n" in p.stdout, p.stdout)


def test_descriptors_closed(s):
    out = run(s, "int main(void) { close_range(3, ~0u, 0); return show(hd_check(pair, add, NULL)); }", want=4)
    s.check("close only descriptors that you opened" in out, out)


def test_dlopen(s):
    """A call in a library that is loaded later could not be known of, unless whoever runs the tests says so."""
    s.write("lib.c", PRELUDE + "int run(void) { return show(hd_check(pair, lose, NULL)); }")
    s.write("main.c", """#include <dlfcn.h>
int main(void) { int (*f)(void) = (int (*)(void))dlsym(dlopen("./lib.so", RTLD_NOW), "run"); return f(); }""")
    s.cc("lib.c", "lib.so", "-shared", "-fPIC")
    s.cc("main.c", "prog")
    s.run(["gcc", "main.c", "-o", "plain"])
    for program, words in (("./prog", "set HEDDLE_CHECK_OPTIONS"), ("./plain", "was not linked by heddle cc")):
        p = s.run([program], want=4)
        s.check(words in p.stdout and p.stdout.count("hd_check: ") == 1, p.stdout)
    s.run(["./prog"], want=3, env={"HEDDLE_CHECK_OPTIONS": ""})
    replays(s, 1)


def test_constructor(s):
    """Before main."""
    run(s, "__attribute__((constructor)) static void early(void) { exit(show(hd_check(pair, lose, NULL))); }\n"
           "int main(void) {}", want=3)
    replays(s, 1)


def test_nested(s):
    """A call in a body is a part of that body."""
    out = run(s, """
static void inner(void *f) { assert(hd_check(pair, f, NULL).verdict == HD_CHECK_ONCE); }
int main(void) { show(hd_check(inner, add, NULL)); return show(hd_check(inner, lose, NULL)); }""", want=3)
    s.check(out.startswith("clean 2 0"), out)
    replays(s, 1)


def test_reaper(s):
    """A handler that waits for all children takes the supervisor's end too; its result is there all the same."""
    out = run(s, """
#include <sys/wait.h>
static void on(int sig) { while (waitpid(-1, NULL, WNOHANG) > 0) {} }
int main(void) { signal(SIGCHLD, on); return show(hd_check(pair, lose, NULL)); }""", want=3)
    s.check(out.startswith("bug 1 1 assertion"), out)


def test_output(s):
    """What a body prints is not the test's output; a replay shows it, and only it."""
    out = run(s, """
static void body(void *a) { puts("in the body"); fflush(stdout); pair(a); }
int main(void) { puts("before"); show(hd_check(body, lose, NULL)); puts("after"); }""", want=0)
    s.check(out.startswith("before\nbug") and out.endswith("after\n") and "in the body" not in out, out)
    s.same(s.run([s.heddle, "replay", ".heddle/1"], want=1).stdout, "in the body\n", "output of the replay")


def test_state_before(s):
    """What the test did before is over when the body begins: no race with it. Thread-local variables are there too."""
    out = run(s, """
static __thread int own = 1;
static int *heap;
static void *reader(void *a) { return *heap == 3 ? a : NULL; }
static void body(void *write) {
  pthread_t t;
  assert(own == 7);
  own = 8;
  pthread_create(&t, NULL, reader, NULL);
  if (write) *heap = 4;
  pthread_join(t, NULL);
}
int main(void) {
  own = 7;
  heap = malloc(sizeof *heap);
  *heap = 3;
  show(hd_check(body, NULL, NULL));
  show(hd_check(body, heap, NULL));
  assert(own == 7 && *heap == 3);
}""", want=0)
    s.check(out.startswith("clean 1 0") and "bug 1 1 data-race" in out, out)
    replays(s, 1)


def test_randomisation(s):
    """Where it cannot be turned off, as in many containers, the search works, and says what it means for replays."""
    s.write("strict.c", """
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
  struct sock_filter f[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 0, 3),
                            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 1, 0),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog p = {sizeof f / sizeof *f, f};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) return 9;
  execv(argv[1], argv + 1);
  return 8;
}""")
    s.run(["gcc", "strict.c", "-o", "strict"])
    s.build_text(PRELUDE + "int main(void) { show(hd_check(pair, add, NULL)); return show(hd_check(pair, lose, NULL)); }")
    text = s.run(["./strict", "./prog"], want=3).stdout
    s.check(text.startswith("clean 2 0") and "\nbug 1 1 assertion prog.c" in text, text)
    s.same(text.count("address randomisation cannot be turned off here; replays may diverge"), 2, "warnings")


def test_killed(s):
    """Whoever ends the test ends the search."""
    s.build_text(PRELUDE + """
static void *many(void *a) { for (int i = 0; i < 50; i++) n++; return a; }
static void body(void *a) { pthread_t t; pthread_create(&t, NULL, many, a); many(a); pthread_join(t, NULL); }
int main(void) { printf("begins\\n"); show(hd_check(body, NULL, NULL)); }""")
    p = subprocess.Popen(["./prog"], cwd=s.dir, env=s.env, stdout=subprocess.PIPE, text=True)
    p.stdout.readline()

    def soon(what, condition):
        for _ in range(300):
            if condition():
                return
            time.sleep(0.1)
        s.check(False, what)

    def children():
        with open("/proc/%d/task/%d/children" % (p.pid, p.pid)) as f:
            return f.read().split()
    soon("no supervisor was started", children)
    supervisor = children()[0]
    p.kill()
    s.same(p.stdout.read(), "", "output: nobody else holds its end")
    p.wait()
    soon("the supervisor is still running", lambda: not os.path.exists("/proc/" + supervisor))


def test_other_order(s):
    """A replay that comes to another call says so."""
    s.build_text(PRELUDE + """
int main(void) {
  if (access("seen", F_OK)) {
    fclose(fopen("seen", "w"));
    return show(hd_check(pair, lose, NULL));
  }
  return show(hd_check(pair, add, NULL));
}""")
    s.run(["./prog"], want=3)
    p = s.run([s.heddle, "replay", ".heddle/1"], want=3)
    s.check("did not reach the call of hd_check that this was found in" in p.stderr, p.stderr)


def test_option_variable(s):
    """Options of whoever runs the tests win, and may have blanks in them."""
    s.build_text(PRELUDE + """int main(void) {
  return show(hd_check(pair, lose, &(struct hd_check_options){.executions = 1, .strategy = "optimal"})); }""")
    s.run(["./prog"], want=2)
    p = s.run(["./prog"], want=3, env={"HEDDLE_CHECK_OPTIONS": "--max-executions 100 --out 'my findings'"})
    s.check("heddle replay '" in p.stdout, p.stdout)
    s.same(s.findings("my findings"), [1], "findings")
    p = s.run(["./prog"], want=4, env={"HEDDLE_CHECK_OPTIONS": "--seed 1 " * 50})
    s.check("too many or too long" in p.stdout, p.stdout)


def test_no_heddle(s):
    out = run(s, "int main(void) { return show(hd_check(pair, add, NULL)); }", want=4, env={"HEDDLE": "/nowhere/heddle"})
    s.check("set the variable HEDDLE" in out, out)


def test_plain_compiler(s):
    """Without the runtime the body runs once."""
    s.write("prog.c", PRELUDE + "int main(void) { show(hd_check(pair, add, NULL)); return n; }")
    s.run(["cc", "-I", s.build + "/lib/heddle/include", "prog.c", "-o", "prog", "-pthread"])
    s.same(s.run(["./prog"], want=2).stdout, "once 1 0 - :0\n", "output")


def test_under_check(s):
    """In a program that is searched as a whole, the body is a part of it."""
    s.build_text(PRELUDE + "int main(void) { show(hd_check(pair, lose, NULL)); return 0; }")
    r = s.search("check", "./prog", want=1)
    s.same(r["findings"][0]["kind"], "assertion", "kind")


@each("kill(getpid(), SIGKILL)", "raise(SIGSEGV)", "abort()", "exit(3)", "_exit(4)", "*(volatile int *)8 = 1",
      "for (volatile int i = 0;; i++) {}")
def test_survives(s, how):
    """Whatever the body does, the test goes on and can say so."""
    out = run(s, """
static void body(void *a) { %s; }
int main(void) { show(hd_check(body, NULL, &(struct hd_check_options){.arguments = "--hang-timeout 1"})); puts("goes on"); }"""
              % how, want=0)
    s.check(out.startswith("bug 1 1") and out.endswith("goes on\n"), out)
    replays(s, 1)


@each("longjmp", "_longjmp", "siglongjmp")
def test_jumps(s, how):
    """A jump within the body is one; a jump out of it is a failure, with the place of the program's that led there."""
    set_ = {"longjmp": "setjmp(to)", "_longjmp": "_setjmp(to)", "siglongjmp": "sigsetjmp(to, 1)"}[how]
    out = run(s, """
static sigjmp_buf to;
static void leave(void) { %s(to, 1); }
static void inside(void *a) { if (!%s) leave(); }
static void out(void *a) { leave(); }
int main(void) {
  show(hd_check(inside, NULL, NULL));
  if (!%s) show(hd_check(out, NULL, NULL));
}""" % (how, set_, set_), "-O0", want=0)
    s.check(out.startswith("clean 1 0"), out)
    s.check(re.search(r"^bug 1 1 assertion prog.c:\d+$", out, re.M) and "longjmp out of the body" in out, out)
    replays(s, 1)


def test_failure(s):
    out = run(s, """
static void body(void *a) { pthread_t t; pthread_create(&t, NULL, add, a); if (n) hd_failure("it was early"); }
int main(void) { return show(hd_check(body, NULL, NULL)); }""", want=3)
    s.check("assertion failed: it was early" in out, out)
    replays(s, 1)


def test_files(s):
    """What the body does to the files of the test, it does to files of its own."""
    out = run(s, """
static FILE *unnamed, *named;
static void body(void *a) { fputs("body", unnamed); fflush(unnamed); fputs("body", named); fflush(named); }
int main(void) {
  unnamed = tmpfile();
  named = fopen("named", "w+");
  fputs("test,", unnamed);
  fputs("test,", named);
  show(hd_check(body, NULL, NULL));
  fputs("goes on", unnamed);
  fputs("goes on", named);
  char text[2][40] = {{0}};
  rewind(unnamed);
  rewind(named);
  fread(text[0], 1, 39, unnamed);
  fread(text[1], 1, 39, named);
  printf("[%s] [%s]\\n", text[0], text[1]);
}""", want=0)
    s.check(out.endswith("[test,goes on] [test,goes on]\n"), out)


def test_many(s):
    """Descriptors and memory do not grow with the number of calls; the last one replays."""
    out = run(s, """
int main(void) {
  for (int i = 0; i < 60; i++) {
    struct hd_check_result r = hd_check(pair, add, &(struct hd_check_options){.strategy = "optimal"});
    assert(r.verdict == HD_CHECK_CLEAN && r.executions == 2);
  }
  int fd = dup(0);
  assert(fd == 3);
  return show(hd_check(pair, lose, NULL));
}""", want=3)
    s.check(out.startswith("bug"), out)
    replays(s, 1)


def test_forked_tests(s):
    """Frameworks that run each test in a process of its own."""
    run(s, """
#include <sys/wait.h>
int main(void) {
  for (int i = 0; i < 3; i++) {
    if (fork() == 0) _exit(show(hd_check(pair, i == 1 ? (void *)add : (void *)lose, NULL)));
    int status;
    wait(&status);
    assert(WEXITSTATUS(status) == (i == 1 ? 1 : 3));
  }
}""", want=0)
    s.same(s.findings(), [1], "findings")  # the first and the third test have the same one
    replays(s, 1)


def test_gdb(s):
    run(s, "int main(void) { show(hd_check(pair, add, NULL)); return show(hd_check(pair, lose, NULL)); }", "-O0", want=3)
    p = s.run([s.heddle, "replay", "--gdb", ".heddle/1", "--", "-batch", "-ex", "bt"], want=None)
    s.check("pair" in p.stdout, p.stdout[-500:] + p.stderr[-500:])

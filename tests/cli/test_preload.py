"""--preload: programs that were never rebuilt."""
import os

import common
from scratch import each

DEADLOCK = """
#include <pthread.h>
#include <string.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void both(pthread_mutex_t *x, pthread_mutex_t *y) {
  pthread_mutex_lock(x); pthread_mutex_lock(y); pthread_mutex_unlock(y); pthread_mutex_unlock(x);
}
static void *one(void *arg) { both(&a, &b); return arg; }
static void *two(void *arg) { both(&b, &a); return arg; }
int main(void) {
  pthread_t s, t;
  pthread_create(&s, 0, one, 0); pthread_create(&t, 0, two, 0);
  pthread_join(s, 0); pthread_join(t, 0);
  return 0;
}
"""


def plain(s, text, *flags, compiler="gcc", name="plain", suffix=".c"):
    """Built by the system's compiler, without Heddle."""
    s.write(name + suffix, text)
    s.run([compiler, "-g", "-O1", "-w", name + suffix, "-o", name, "-pthread", *flags])
    return "./" + name


def test_deadlock(s):
    r = s.search("check", plain(s, DEADLOCK), "--preload")
    f = s.is_bug(r, ["deadlock"])
    s.check(any(w["line"] == 6 for w in f["where"]), "the place of the lock is not told")
    s.check(r["preload"] is True, "the JSON does not say that it was preloaded")
    s.check("accesses to memory were not seen" in r["out"] + r["err"], "does not say what was not seen")
    s.replay()


def test_covered(s):
    """A complete search says what it covered, and is not called clean."""
    r = s.search("check", plain(s, DEADLOCK.replace("both(&b, &a)", "both(&a, &b)")), "--preload", want=0)
    s.same((r["verdict"], r["complete"], r["findings"]), ("bounded", False, []), "verdict")
    s.check("every schedule of synchronisation, input and output was covered" in r["out"] + r["err"], "unclear")


@each("-O0", "-O2", "-static-libgcc", "-no-pie")
def test_builds(s, flag):
    s.is_bug(s.search("check", plain(s, DEADLOCK, flag), "--preload"), ["deadlock"])
    s.replay()


OTHERS = {
    "assertion": ("assertion", "#include <assert.h>\n", "assert(!arg)", "(void *)1"),
    "crash": ("crash", "", "*(volatile int *)8 = 1", "0"),
    "double-free": ("double-free", "#include <stdlib.h>\nvoid *p;\n", "free(p)", "(p = malloc(3))"),
    "not-owner": ("unlock-not-owner", "static pthread_mutex_t m;\n", "pthread_mutex_unlock(&m)", "0"),
    "pipe": ("deadlock", "#include <unistd.h>\nstatic int p[2];\n", "char c; read(p[0], &c, 1)", "(pipe(p), (void *)0)"),
}


@each(*sorted(OTHERS))
def test_kinds(s, name):
    kind, head, body, arg = OTHERS[name]
    text = "#include <pthread.h>\n" + head + "static void *f(void *arg) { %s; return 0; }\n" % body
    text += """int main(void) { pthread_t s, t; void *arg = %s;
    pthread_create(&s, 0, f, arg); pthread_create(&t, 0, f, arg); pthread_join(s, 0); pthread_join(t, 0); return 0; }
    """ % arg
    s.is_bug(s.search("check", plain(s, text), "--preload"), [kind])
    s.replay()


def test_no_false_races(s):
    """Order that comes from atomics nobody sees: block functions must not be called racing."""
    r = s.search("check", plain(s, """
    #include <pthread.h>
    #include <sched.h>
    #include <string.h>
    static char buf[64]; static int ready; static volatile int n = 40;
    static void *writer(void *arg) { memset(buf, 1, n); __atomic_store_n(&ready, 1, __ATOMIC_RELEASE); return arg; }
    static void *reader(void *arg) {
      char mine[64];
      while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) sched_yield();
      memcpy(mine, buf, n);
      return arg;
    }
    int main(void) {
      pthread_t s, t;
      pthread_create(&s, 0, writer, 0); pthread_create(&t, 0, reader, 0);
      pthread_join(s, 0); pthread_join(t, 0);
      return 0;
    }
    """, "-fno-builtin"), "--preload", "--strategy", "random", "--max-executions", "100")
    s.is_clean(r, 100)


def test_cxx(s):
    s.is_bug(s.search("check", plain(s, """
    #include <condition_variable>
    #include <mutex>
    #include <thread>
    std::mutex m; std::condition_variable c; bool ready;
    int main() {
      std::thread t([] { { std::lock_guard<std::mutex> l(m); ready = true; } c.notify_one(); });
      std::unique_lock<std::mutex> l(m);
      c.wait(l); /* without looking first */
      l.unlock();
      t.join();
    }
    """, compiler="g++", suffix=".cc"), "--preload"), ["lost-wakeup"])
    s.replay()


def test_environment(s):
    """The program sees its own LD_PRELOAD, and what it starts is an ordinary process."""
    text = """
    #include <stdio.h>
    #include <stdlib.h>
    int main(void) { char *p = getenv("LD_PRELOAD"); puts(p ? p : "none"); fflush(stdout);
      return system("echo child ${LD_PRELOAD-none} ${HEDDLE_CTL-none}"); }
    """
    program = plain(s, text)
    p = s.run([s.heddle, "run", "--preload", "--quiet", "--", program])
    s.same(p.stdout, "none\nchild none none\n", "output")
    p = s.run([s.heddle, "run", "--preload", "--quiet", "--", program], env={"LD_PRELOAD": "libm.so.6"})
    s.same(p.stdout, "libm.so.6\nchild libm.so.6 none\n", "output")


def test_refused(s):
    program = common.build(s, "race")
    common.refused(s, [s.heddle, "check", "--preload", "--", program], 2, "leave out --preload")
    common.refused(s, [s.heddle, "check", "--", plain(s, DEADLOCK)], 2, "--preload")
    common.refused(s, [s.heddle, "check", "--preload", "--", plain(s, DEADLOCK, "-static")], 2, "statically linked")
    os.chmod(s.path("plain"), 0o4755)
    plain(s, DEADLOCK)
    os.chmod(s.path("plain"), 0o4755)
    common.refused(s, [s.heddle, "check", "--preload", "--", "./plain"], 2, "setuid")


LIBRARY = """
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
void forwards(void) { pthread_mutex_lock(&a); pthread_mutex_lock(&b); pthread_mutex_unlock(&b); pthread_mutex_unlock(&a); }
void backwards(void) { pthread_mutex_lock(&b); pthread_mutex_lock(&a); pthread_mutex_unlock(&a); pthread_mutex_unlock(&b); }
"""
USER = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void (*forwards_)(void), (*backwards_)(void);
static void *one(void *arg) { forwards_(); return arg; }
static void *two(void *arg) { backwards_(); return arg; }
%s
int main(void) {
  pthread_t s, t;
  load();
  pthread_create(&s, 0, one, 0); pthread_create(&t, 0, two, 0);
  pthread_join(s, 0); pthread_join(t, 0);
  return 0;
}
"""
LINKED = "void forwards(void), backwards(void);\nstatic void load(void) { forwards_ = forwards; backwards_ = backwards; }"
OPENED = """static void load(void) {
  void *h = dlopen("./libplain.so", %s);
  if (!h) { puts(dlerror()); exit(1); }
  *(void **)&forwards_ = dlsym(h, "forwards"); *(void **)&backwards_ = dlsym(h, "backwards");
}"""


@each("linked", "RTLD_NOW", "RTLD_NOW | RTLD_GLOBAL", "RTLD_NOW | RTLD_DEEPBIND")
def test_plain_library(s, how):
    """What a library that was never rebuilt does with locks is controlled too, however it came in."""
    s.write("lib.c", LIBRARY)
    s.run(["gcc", "-g", "-shared", "-fPIC", "lib.c", "-o", "libplain.so", "-lpthread"])
    s.write("prog.c", USER % (LINKED if how == "linked" else OPENED % how))
    libs = ["-L.", "-lplain", "-Wl,-rpath,$ORIGIN"] if how == "linked" else []
    s.run([s.heddle, "cc", "-g", "-w", "prog.c", *libs, "-o", "prog", "-pthread", "-ldl"])
    f = s.is_bug(s.search("check", "./prog"), ["deadlock"])
    s.check(any(w["function"] == "backwards" for w in f["where"]), "the place in the library is not told")
    s.replay()


EARLY = """
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_key_t key;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t sem;
static char *kept;
static void first(void) { kept = strdup("kept"); }
__attribute__((constructor)) static void early(void) {
  assert(!pthread_key_create(&key, free) && !pthread_setspecific(key, malloc(9)));
  char *set = getenv("EARLY");
  assert(set && !strcmp(set, "set") && getpid() > 0);
  assert(!pthread_mutex_lock(&m) && !pthread_once(&once, first) && !pthread_mutex_unlock(&m));
  assert(!sem_init(&sem, 0, 1) && !sem_wait(&sem) && !sem_post(&sem));
}
void late(pthread_mutex_t *other, int turn) {
  pthread_mutex_t *x = turn ? &m : other, *y = turn ? other : &m;
  assert(!strcmp(kept, "kept"));
  pthread_mutex_lock(x); pthread_mutex_lock(y); pthread_mutex_unlock(y); pthread_mutex_unlock(x);
}
"""

LATE = """
#include <pthread.h>
void late(pthread_mutex_t *other, int turn);
static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
static void *one(void *arg) { late(&mine, 0); return arg; }
static void *two(void *arg) { late(&mine, TURN); return arg; }
int main(void) {
  pthread_t s, t;
  pthread_create(&s, 0, one, 0); pthread_create(&t, 0, two, 0);
  pthread_join(s, 0); pthread_join(t, 0);
  return 0;
}
"""


@each("preload", "cc")
def test_plain_library_begins_first(s, how):
    """A plain library that the program is linked with: its constructor runs before those of others, and calls what is
    wrapped; its locks are controlled."""
    s.write("early.c", EARLY)
    s.write("late.c", LATE)
    s.run(["gcc", "-g", "-w", "-shared", "-fPIC", "early.c", "-o", "libearly.so", "-pthread"])
    compiler = ["gcc"] if how == "preload" else [s.heddle, "cc"]
    options = ["--preload"] if how == "preload" else []
    env = {"EARLY": "set"}
    for turn in (0, 1):
        s.run([*compiler, "-g", "-w", "-DTURN=%d" % turn, "late.c", "-o", "late%d" % turn, "./libearly.so", "-pthread"])
    s.run(["./late0"], env=env)
    r = s.search("check", "./late0", *options, want=0, env=env)
    s.same((r["findings"], r["stopped"]), ([], "finished"), "without a bug")
    s.is_bug(s.search("check", "./late1", *options, env=env), ["deadlock"])

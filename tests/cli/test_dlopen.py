"""Libraries that are loaded while the program runs: instrumented ones and plain ones, in every execution anew."""
from scratch import each

LIBRARY = """
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static int loaded, *block;
static _Thread_local int mine = 5;
int counter;
__attribute__((constructor)) static void begin(void) { assert(!loaded && !counter); loaded = 1; block = calloc(1, 4); }
__attribute__((destructor)) static void end(void) { assert(loaded == 1 && *block >= 0); loaded = 0; free(block); }
void *run(void *arg) { assert(loaded && mine++ == 5); %s; ++*(int *)arg; return arg; }
"""

PROGRAM = """
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
int before = 1, here;
static int n[2];
int main(void) {
  pthread_t a, b;
  void *h = dlopen("./lib.so", RTLD_NOW);
  if (!h) { puts(dlerror()); return 1; }
  void *(*run)(void *) = (void *(*)(void *))dlsym(h, "run");
  assert(run && dlopen("./lib.so", RTLD_NOW | RTLD_NOLOAD) == h && dlclose(h) == 0);
  pthread_create(&a, 0, run, &n[0]);
  pthread_create(&b, 0, run, &n[1]);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(n[0] == 1 && n[1] == 1);
  %s
  return 0;
}
"""


def build(s, instrumented, body, end):
    s.write("lib.c", LIBRARY % body)
    compiler = [s.heddle, "cc"] if instrumented else ["gcc"]
    s.run([*compiler, "-g", "-O1", "-w", "-shared", "-fPIC", "lib.c", "-o", "lib.so"])
    return s.build_text(PROGRAM % end)


@each("instrumented", "plain")
def test_fresh_every_time(s, how):
    """Constructors, destructors, thread-local variables and globals of the library, a hundred times."""
    for end in ("assert(dlclose(h) == 0);", ""):
        program = build(s, how == "instrumented", "__atomic_fetch_add(&counter, 1, 0)", end)
        for restart in ("memory", "fork"):
            r = s.search("check", program, "--strategy", "random", "--max-executions", "100", "--restart", restart)
            s.is_clean(r, 100)
        s.run([program])


def test_race_in_it(s):
    f = s.is_bug(s.search("check", build(s, True, "counter++", "")), ["data-race"])
    s.check(all(w["function"] == "run" for w in f["where"] if w["role"] != "create"), "the places are not in the library")
    s.replay()


def test_threads_load(s):
    """Two threads load it at once."""
    s.write("lib.c", LIBRARY % "")
    s.run([s.heddle, "cc", "-g", "-w", "-shared", "-fPIC", "lib.c", "-o", "lib.so"])
    program = s.build_text("""
    #include <assert.h>
    #include <dlfcn.h>
    #include <pthread.h>
    static void *load(void *arg) {
      void *h = dlopen("./lib.so", RTLD_NOW);
      assert(h && dlsym(h, "run") && dlclose(h) == 0);
      return arg;
    }
    int main(void) {
      pthread_t a, b;
      pthread_create(&a, 0, load, 0); pthread_create(&b, 0, load, 0); pthread_join(a, 0); pthread_join(b, 0);
      return 0;
    }
    """)
    s.is_clean(s.search("check", program, "--strategy", "random", "--max-executions", "100"), 100)


UNLOADED = """
#include <pthread.h>
extern int hits;
extern pthread_mutex_t outer;
int data[4] = {7};
int quick(void) { return 3; }
int slow(void) { pthread_mutex_lock(&outer); pthread_mutex_unlock(&outer); return 3; }
const char *text(void) { return "text"; }
__attribute__((destructor)) static void end(void) { %s; }
"""

CLOSES = """
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
int hits, closed, *data;
const char *text;
pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, m = PTHREAD_MUTEX_INITIALIZER;
static void *h;
static int (*quick)(void), (*slow)(void);
static void load(int flags) {
  h = dlopen("./lib.so", RTLD_NOW | flags);
  quick = (int (*)(void))dlsym(h, "quick"), slow = (int (*)(void))dlsym(h, "slow"), data = dlsym(h, "data");
  text = ((const char *(*)(void))dlsym(h, "text"))();
}
static void use(void) { void *g = dlopen("./lib.so", RTLD_NOW); assert(((int (*)(void))dlsym(g, "quick"))() == 3 && !dlclose(g)); }
static void *other(void *arg) { %s; return arg; }
int main(void) {
  pthread_t t;
  %s;
  pthread_create(&t, NULL, other, NULL);
  %s;
  pthread_join(t, NULL);
  return 0;
}
"""

CASES = {  # what the other thread does, before it starts, beside it; the destructor; what comes out
    "call": ("dlclose(h)", "load(0)", "quick()", "", "crash"),
    "running": ("dlclose(h)", "load(0)", "slow()", "", "crash"),
    "start": ("pthread_t u; pthread_create(&u, NULL, (void *(*)(void *))quick, NULL), pthread_join(u, NULL)", "load(0)",
              "dlclose(h)", "", "crash"),
    "data": ("dlclose(h)", "load(0)", "assert(data[1] == 0)", "", "data-race"),
    "constant": ("dlclose(h)", "load(0)", "assert(*text == 't')", "", "data-race"),
    "symbol": ("dlclose(h)", "load(0)", "assert(dlsym(h, \"quick\"))", "", "use-after-free"),
    "twice": ("dlclose(h)", "load(0)", "dlclose(h)", "", "use-after-free"),
    "destructor": ("dlclose(h)", "load(0)", "hits++", "hits++", "data-race"),
    "late flag": ("pthread_mutex_lock(&m), closed = 1, pthread_mutex_unlock(&m), dlclose(h)", "load(0)",
                  "pthread_mutex_lock(&m); int c = closed; pthread_mutex_unlock(&m); if (!c) quick()", "", "crash"),
    "flag": ("pthread_mutex_lock(&m), closed = 1, dlclose(h), pthread_mutex_unlock(&m)", "load(0)",
             "pthread_mutex_lock(&m); if (!closed) quick(); pthread_mutex_unlock(&m)", "", 2),
    "counted": ("dlclose(h)", "load(0), load(0)", "quick(), slow(), assert(data[0] == 7)", "", 1),
    "last": ("quick(), dlclose(h)", "load(0), load(0)", "quick(), dlclose(h)", "", 2),
    "stays": ("dlclose(h)", "load(RTLD_NODELETE)", "quick(), assert(data[0] == 7)", "", 1),
    "both": ("use()", "", "use()", "", 6),
    "locked destructor": ("dlclose(h)", "load(0)", "pthread_mutex_lock(&m), hits++, pthread_mutex_unlock(&m)",
                          "extern pthread_mutex_t m; pthread_mutex_lock(&m), hits++, pthread_mutex_unlock(&m)", 2),
    "deadlock": ("pthread_mutex_lock(&m), dlopen(\"./lib.so\", RTLD_NOW), pthread_mutex_unlock(&m)", "load(0)", "dlclose(h)",
                 "extern pthread_mutex_t m; pthread_mutex_lock(&m), pthread_mutex_unlock(&m)", "deadlock"),
}


@each(*CASES)
def test_unloaded(s, case):
    """Beside a thread that calls it, is in it, or reads its data; and correct programs."""
    other, before, beside, destructor, out = CASES[case]
    s.write("lib.c", UNLOADED % destructor)
    s.run([s.heddle, "cc", "-g", "-O1", "-w", "-shared", "-fPIC", "lib.c", "-o", "lib.so"])
    program = s.build_text(CLOSES % (other, before, beside), "-rdynamic")
    for strategy in ("optimal", "dfs"):
        r = s.search("check", program, "--strategy", strategy)
        if isinstance(out, str):
            s.is_bug(r, [out])
            s.replay()
        elif strategy == "optimal":
            s.is_clean(r, out)
        else:
            s.check(r["complete"], "not complete: %s" % r["inexact"])

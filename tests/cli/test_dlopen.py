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

"""Threads of libraries that were not built for Heddle: what orders them is not known, so they are not accused."""
from scratch import each

# A pool of one thread that waits by spinning with a yield on an atomic of its own.
POOL = """
#include <pthread.h>
#include <sched.h>
static void (*job)(void *);
static void *arg;
static int state;
static void *run(void *unused) {
  while (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != 1) sched_yield();
  job(arg);
  __atomic_store_n(&state, 2, __ATOMIC_RELEASE);
  return unused;
}
static pthread_t thread;
void pool_begin(void) { pthread_create(&thread, 0, run, 0); }
void pool_do(void (*f)(void *), void *a) { job = f; arg = a; __atomic_store_n(&state, 1, __ATOMIC_RELEASE); }
void pool_wait(void) { while (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != 2) sched_yield(); pthread_join(thread, 0); }
"""
CXX_POOL = """
#include <atomic>
#include <thread>
static std::atomic<int> state;
static void (*job)(void *);
static void *arg;
static std::thread thread;
extern "C" void pool_begin() {
  thread = std::thread([] { while (state != 1) std::this_thread::yield(); job(arg); state = 2; });
}
extern "C" void pool_do(void (*f)(void *), void *a) { job = f; arg = a; state = 1; }
extern "C" void pool_wait() { while (state != 2) std::this_thread::yield(); thread.join(); }
"""
USER = """
#include <assert.h>
#include <pthread.h>
void pool_begin(void);
void pool_do(void (*)(void *), void *);
void pool_wait(void);
static int a, b;
static void work(void *p) { *(int *)p = 1; }
#ifdef RACE
static void *own(void *p) { b++; return p; }
#endif
int main(void) {
  pool_begin();
  pool_do(work, &a);
  pool_wait();
  assert(a == 1);
#ifdef RACE
  pthread_t x, y;
  pthread_create(&x, 0, own, 0);
  pthread_create(&y, 0, own, 0);
  pthread_join(x, 0);
  pthread_join(y, 0);
#endif
  return b > 2;
}
"""


def build(s, language, *flags, plain=True):
    source, text, compiler = ("pool.cc", CXX_POOL, "c++") if language == "C++" else ("pool.c", POOL, "cc")
    s.write(source, text)
    command = [compiler] if plain else [s.heddle, compiler]
    s.run([*command, "-shared", "-fPIC", "-O1", source, "-o", "libpool.so", "-pthread"])
    s.write("prog.c", USER)
    s.cc("prog.c", "prog", "-O1", *flags, "-L.", "-lpool", "-Wl,-rpath," + s.dir)
    return "./prog"


@each("C", "C++")
def test_plain(s, language):
    """Nothing is reported that may be ordered after all; the summary and the verdict say what was not done."""
    program = build(s, language)
    r = s.search("check", program, "--max-executions", "50", want=[0, 5])
    s.same((r["findings"], r["complete"], r["foreign_threads"]), ([], False, "libpool.so"), "result")
    out = s.run([s.heddle, "check", "--max-executions", "5", "--", program], want=[0, 5]).stdout
    s.check("libpool.so, not built with heddle cc, started threads" in out, out)


def test_own_threads(s):
    """The program's own threads are looked at as ever."""
    r = s.search("check", build(s, "C", "-DRACE"), want=1)
    s.same(r["findings"][0]["kind"], "data-race", "kind")


@each("C", "C++")
def test_instrumented(s, language):
    """The same library, built for Heddle: all is known."""
    r = s.search("check", build(s, language, plain=False), "--max-executions", "50", want=[0, 5])
    s.check(r["findings"] == [] and "foreign_threads" not in r, "findings: %s" % r["findings"])

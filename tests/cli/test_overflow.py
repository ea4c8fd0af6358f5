"""Overflows of arrays on the stack and of global arrays: -fsanitize=bounds."""
from scratch import each

PROGRAM = """
#include <pthread.h>
#include <stdatomic.h>
struct job { int (*slots)[4]; };
static atomic_int next = 2;
static int global[4];
static void *put(void *p)
{
  struct job *job = p;
  if (next < 3) (*job->slots)[atomic_fetch_add(&next, 1) + 1] = 1;
  return p;
}
int main(int argc, char **argv)
{
  int local[4] = {0};
  struct job job = {argc > 1 ? &global : &local};
  pthread_t t[2];
  (void)argv;
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, put, &job);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
}
"""


@each(*["%s:%s:%s" % (c, o, w) for c in ("gcc", "clang") for o in ("-O0", "-O2") for w in ("stack", "global")])
def test_overflow(s, how):
    """An index that is too large under one schedule only, in every execution that has it; and what the program says on its own."""
    compiler, level, where = how.split(":")
    s.write("prog.c", PROGRAM)
    s.run([s.heddle, "cc", "--heddle-compiler=" + compiler, "-g", level, "-fsanitize=bounds", "prog.c", "-o", "prog"])
    r = s.search("check", "./prog", "--all", args=["global"] if where == "global" else [], want=1)
    f = r["findings"][0]
    s.same(len(r["findings"]), 1, "number of findings")
    s.same(r["verdict"], "bug", "verdict")
    if compiler == "gcc":
        s.same((f["kind"], f["where"][0]["line"]), ("assertion", 10), "kind and line")
        s.check("index 4 out of bounds for type 'int [4]'" in f["title"], f["title"])
    else:  # its check is a part of the program, or a trap
        s.check(f["kind"] in ("exit", "crash"), f["kind"])
    s.check("overflow" not in s.run(["./prog"]).stderr, "an error of an ordinary run")
    s.replay(times=2)

"""--property races: what another value changes, and what it does not (static/llvm/slice.c)."""
from scratch import each
from test_aim import no_facts
from test_property import HEAD, MAIN, build, found_all, search

# The first thread reads x under m; the second one writes it, then y under f. In the execution that comes first y is not
# accessed by the first thread, or is ordered: only what follows from the value of x makes it race.
SECOND = """
static void *second(void *p)
{
  LOCK(m); x = 1; UNLOCK(m);
  LOCK(f); y++; UNLOCK(f);
  return p;
}
""" + MAIN % "first, second"
READ = "  LOCK(m);\n  int r = x;\n  UNLOCK(m);\n"


def first(body, before="", read=READ):
    return HEAD + before + "static void *first(void *p)\n{\n" + read + body + "  return p;\n}\n" + SECOND


REACHED = {
    "through own memory": first("  own[r] = 1;\n  if (own[1]) y++;\n", "static int own[2];\n"),
    "through a pointer": first("  *q = r;\n  if (local) y++;\n", "", READ + "  int local = 0, *q = &local;\n"),
    "where two ways meet": first("  int n;\n  if (r) n = 1;\n  else n = 0;\n  z = n;\n  if (z) y++;\n"),
    "how often a loop runs": first("  for (int i = 0; i < r; i++) y++;\n"),
    "a return": first("  if (!r) return p;\n  y++;\n"),
    "a return of a callee": first("  if (g1(r)) y++;\n",
                                  "static __attribute__((noinline)) int g1(int r)\n{\n  if (r) return 1;\n  return 0;\n}\n"),
    "an exit in a callee": first("  quit(r);\n  y++;\n",
                                 "static __attribute__((noinline)) void quit(int r)\n{\n  if (!r) pthread_exit(0);\n}\n"),
    "a call": first("  if (r) g2();\n", "static __attribute__((noinline)) void g2(void) { y++; }\n"),
    "a lock let go": HEAD + """
static __attribute__((noinline)) void drop(int r) { if (r) UNLOCK(f); }
static __attribute__((noinline)) void again(int r) { if (r) LOCK(f); }
static void *first(void *p)
{
  LOCK(m);
  int r = x;
  UNLOCK(m);
  LOCK(f);
  drop(r);
  y++;
  again(r);
  UNLOCK(f);
  return p;
}
""" + SECOND,
    "a join left out": HEAD + """
static void *inner(void *p)
{
  y++;
  return p;
}
static void *first(void *p)
{
  pthread_t t;
  pthread_create(&t, 0, inner, 0);
  LOCK(m);
  int r = x;
  UNLOCK(m);
  if (!r) pthread_join(t, 0);
  z++;
  y++;
  if (r) pthread_join(t, 0);
  return p;
}
static void *second(void *p)
{
  LOCK(m); x = 1; UNLOCK(m);
  return p;
}
""" + MAIN % "first, second",
    "the same value at two lines": first("  z += r;\n  LOCK(m);\n  int s = x;\n  UNLOCK(m);\n  if (s) y++;\n"),
    "a value passed through memcpy": first("  memcpy(&to, &r, sizeof r);\n  if (to) y++;\n", "#include <string.h>\nstatic int to;\n"),
    "an offset": first("  *(&own[0] + r * 4) = 1;\n", "static int own[4];\n").replace("y++", "own[0]++").replace("r * 4", "(1 - r)"),
}

# The value decides what the thread writes; whoever joins it reads that, and no other thread writes it.
REACHED["a write before a join"] = HEAD + """
static int res;
static void *first(void *p)
{
  LOCK(m);
  int r = x;
  UNLOCK(m);
  if (r) res = 1;
  return p;
}
static void *second(void *p)
{
  LOCK(m); x = 1; UNLOCK(m);
  LOCK(f); y++; UNLOCK(f);
  return p;
}
int main(void)
{
  pthread_t a, b;
  pthread_create(&a, 0, first, 0);
  pthread_create(&b, 0, second, 0);
  pthread_join(a, 0);
  if (res) y++;
  pthread_join(b, 0);
  return 0;
}
"""

# A condition that others change, and what comes after it in any case: joins order that.
WAITS = HEAD + """
static pthread_cond_t c0 = PTHREAD_COND_INITIALIZER;
static int sum;
static void *work(void *p)
{
  LOCK(f); sum++; UNLOCK(f);
  LOCK(m); x--; pthread_cond_signal(&c0); UNLOCK(m);
  return p;
}
int main(void)
{
  pthread_t t[3];
  x = 3;
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, 0);
  LOCK(m);
  while (x) pthread_cond_wait(&c0, &m);
  UNLOCK(m);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  return sum == 3 ? 0 : 1;
}
"""


@each(*REACHED)
def test_reached(s, case):
    if not no_facts(s):
        found_all(s, REACHED[case], reference="dpor")


@each("-O0", "-O2")
def test_waiting_changes_little(s, level):
    """What main does after waiting does not depend on how often it waits."""
    if no_facts(s):
        return
    j = search(s, build(s, WAITS, flags=("--facts", "-g", level)), "--property", "races")
    s.same((j["executions"], j["property"]["complete"]), (1, True), "with it")


def test_unknown_pointer(s):
    """A call of a function that may be any: the analysis ends, and nothing is left out that follows it."""
    if no_facts(s):
        return
    text = HEAD + """
typedef void (*call)(int *);
static call table[2];
static void more(int *p) { ++*p; }
static void *first(void *p)
{
  LOCK(m);
  if (table[0]) table[0](&y);
  UNLOCK(m);
  return p;
}
int main(int n, char **v)
{
  pthread_t t[2];
  table[0] = n > 5 ? (call)(void *)strtol(v[1], 0, 10) : more;
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, first, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
"""
    j = search(s, build(s, text), "--property", "races")
    s.same(j["property"]["complete"], True, "complete")

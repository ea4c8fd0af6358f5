"""The story of a finding: golden/stories has that of every example, as `check` tells it.

HEDDLE_UPDATE_GOLDEN=1 tests/run.py story      writes what comes out now; look at the difference before you commit
"""
import json
import os
import pty
import re
import shutil

import common
import scratch
from scratch import each

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(common.HERE)), "examples")
STORIES = os.path.join(common.HERE, "golden", "stories")
# The line in which it goes wrong: it must be among the two whose order matters, or be marked.
WRONG = {"bank": 24, "buffer": 31, "lazy": 18, "pool": 22, "queue": 30, "refcount": 23}
SCREEN = 40


def tell(s, name, *options):
    """check of an example with all the time it wants; its JSON."""
    source = name + (".cc" if name == "queue" else ".c")
    shutil.copy(os.path.join(EXAMPLES, source), s.dir)
    s.cc(source, name, "-O0")
    return s.search("check", "./" + name, "--explain", "20s", *options)


def test_every_example_has_one(s):
    names = {f.split(".")[0] for f in os.listdir(EXAMPLES) if f.endswith((".c", ".cc")) and "_fixed" not in f}
    s.same(names, set(WRONG), "examples")


@each(*sorted(WRONG))
def test_example(s, name):
    r = tell(s, name)
    f = s.is_bug(r, ["assertion", "deadlock", "data-race", "lost-wakeup"])
    lines = r["out"].splitlines()
    s.check(len(lines) <= SCREEN, "%d lines, a screen has %d" % (len(lines), SCREEN))
    wide = [line for line in lines if len(line) > 80]
    s.check(not wide, "wider than 80 columns: %s" % wide)
    story = f["story"]
    order = story.get("order", {})
    wrong = [row["line"] for row in story["rows"] if row["mark"] != "step" or row.get("number") in order.values()]
    s.check(WRONG[name] in wrong, "line %d is not named; these are: %s" % (WRONG[name], wrong))
    s.check(bool(order) == (f["kind"] != "data-race"), "order: %s" % order)
    told = "\n".join(lines[:lines.index("heddle: 1 finding; stopped at the first (--all continues)")]) + "\n"
    text = scratch.anonymise(told, s)
    path = os.path.join(STORIES, name + ".txt")
    if os.environ.get("HEDDLE_UPDATE_GOLDEN"):
        with open(path, "w") as out:
            out.write(text)
    with open(path) as golden:
        s.same(text, golden.read(), "story")
    # What is stored and replayed says the same.
    s.same(s.read(".heddle/1/finding.txt"), told, "finding.txt")
    p = s.replay(times=1)
    told = r["out"][r["out"].index("  What happened"):r["out"].index("  schedule: ")]
    s.check(told in p.stderr, "another story: " + p.stderr)


def test_order_of_a_deadlock(s):
    """Had the second thread come to the lock that it waits for before the first one took it."""
    order = tell(s, "bank")["findings"][0]["story"]["order"]
    s.same(order, {"before": 1, "after": 4}, "order")


MANY = """
#include <pthread.h>
#define N 6
static pthread_mutex_t m[N];
static void *t(void *a) {
  long i = (long)a;
  pthread_mutex_lock(&m[i]);
  pthread_mutex_lock(&m[(i + 1) % N]);
  pthread_mutex_unlock(&m[(i + 1) % N]);
  pthread_mutex_unlock(&m[i]);
  return a;
}
int main(void) {
  pthread_t id[N];
  for (int i = 0; i < N; i++) pthread_mutex_init(&m[i], 0);
  for (long i = 0; i < N; i++) pthread_create(&id[i], 0, t, (void *)i);
  for (int i = 0; i < N; i++) pthread_join(id[i], 0);
  return 0;
}
"""


def test_many_threads(s):
    """Of many threads the rows are told one below the other, each with its thread."""
    r = s.search("check", s.build_text(MANY), "--explain", "20s")
    s.is_bug(r, ["deadlock"])
    for i in range(1, 7):
        s.check(re.search(r"^ +\d+ T%d +\d+ pthread_mutex_lock" % i, r["out"], re.M), "T%d is not told" % i)
    s.check("cycle: T1 -> `m[1]` -> T2" in r["out"], r["out"])


FREED = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static _Atomic(int *) p;
static void *user(void *a) {
  int *mine = atomic_load(&p);
  if (mine) *mine = 1; // @use
  return a;
}
static void *owner(void *a) {
  int *mine = atomic_exchange(&p, NULL);
  free(mine); // @free
  return a;
}
int main(void) {
  p = malloc(4); // @alloc
  pthread_t id[2];
  pthread_create(&id[0], 0, user, 0);
  pthread_create(&id[1], 0, owner, 0);
  for (int i = 0; i < 2; i++) pthread_join(id[i], 0);
  return 0;
}
"""


def test_use_after_free(s):
    """Allocation, free and use, in the order in which they were."""
    r = s.search("check", s.build_text(FREED), "--ignore", "data-race", "--explain", "20s")
    f = s.is_bug(r, ["use-after-free"])
    line = {tag: FREED[:FREED.index("@" + tag)].count("\n") + 1 for tag in ("use", "free", "alloc")}
    s.same({(p["role"], p["line"]) for p in f["where"]}, {("at", line["use"]), ("free", line["free"]),
                                                         ("alloc", line["alloc"])}, "places")
    rows = [(row["line"], row["mark"]) for row in f["story"]["rows"]]
    s.check(rows.index((line["free"], "step")) < rows.index((line["use"], "fails")), "rows: %s" % rows)
    s.check("frees it" in r["out"], r["out"])


def terminal(s, command, **env):
    """What the command writes to a terminal."""
    master, slave = pty.openpty()
    child = os.fork()
    if child == 0:
        os.dup2(slave, 1)
        os.chdir(s.dir)
        os.execve(command[0], command, dict(s.env, **env))
    os.close(slave)
    out = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
    os.waitpid(child, 0)
    os.close(master)
    return out.decode().replace("\r\n", "\n")


def test_colours(s):
    plain = tell(s, "bank")["out"]
    command = [s.heddle, "check", "--explain", "20s", "--out", "again", "--", "./bank"]
    coloured, without = terminal(s, command), terminal(s, command, NO_COLOR="1")
    s.check("\033[1;31m>  3" in coloured, "no colour on a terminal: %r" % coloured)
    s.check("\033" not in without + plain, "colours although NO_COLOR is set, or into a file")

    def story(text):
        return text[text.index("What happened"):text.index("schedule:")]

    s.same(story(re.sub("\033\\[[0-9;]*m", "", coloured)), story(plain), "text without its colours")
    s.same(story(without), story(plain), "text with NO_COLOR")


def test_json(s):
    """The story is in finding.json as it is in the result."""
    f = tell(s, "pool")["findings"][0]
    stored = json.loads(s.read(".heddle/1/finding.json"))
    s.same(stored["story"], f["story"], "story")
    numbers = [row["number"] for row in f["story"]["rows"] if "number" in row]
    s.same(numbers, list(range(1, len(numbers) + 1)), "numbers of the rows")
    s.check("no thread was waiting" in f["story"]["remark"], f["story"]["remark"])


def test_readers_that_write(s):
    """Two threads that hold the same lock to read: the remark says what is missing."""
    program = s.build_text("""
#include <pthread.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int hits;
static void *look(void *a) {
  pthread_rwlock_rdlock(&lock);
  hits++;
  pthread_rwlock_unlock(&lock);
  return a;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, look, 0);
  look(0);
  pthread_join(t, 0);
  return 0;
}
""", "-O0")
    out = s.search("check", program, want=1)["out"]
    s.check("both threads held `lock` for reading only." in " ".join(out.split()), out)


LATE = """
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long work, total;
static long get(void) {
  pthread_mutex_lock(&lock);
  long now = total;
  pthread_mutex_unlock(&lock);
  return now;
}
static void set(long now) {
  pthread_mutex_lock(&lock);
  total = now;
  pthread_mutex_unlock(&lock);
}
static void *add(void *p) {
  for (int i = 0; p && i < 80000; i++) {
    pthread_mutex_lock(&lock);
    work++;
    pthread_mutex_unlock(&lock);
  }
  set(get() + 1);
  return p;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, add, &a);
  pthread_create(&b, 0, add, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(total == 2);
}
"""


def test_late(s):
    """A failure after half a million events has the values of what is read under a lock, too."""
    found = s.search("check", s.build_text(LATE), "--max-length", "1000000", want=1)["findings"][0]
    line = 1 + LATE.split("\n").index("  long now = total;")
    rows = [r for r in found["story"]["rows"] if r["line"] == line]
    s.same(sorted(r["thread"].split()[0] for r in rows), ["T1", "T2"], "who reads it")
    s.check(all("total is 0" in r["what"] for r in rows), rows)


UNSET = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct message { atomic_int kind; };
static struct message *_Atomic slot;
static void *writer(void *p) {
  struct message *m = malloc(sizeof *m);
  atomic_store(&slot, m);
  atomic_store(&m->kind, 5);
  return p;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, writer, 0);
  struct message *m = atomic_load(&slot);
  if (m) assert(atomic_load(&m->kind) == 5);
  pthread_join(t, 0);
  free(slot);
}
"""


def test_value_that_fails(s):
    """The failing line has the value that it read, also where no other thread has written to it."""
    found = s.search("check", s.build_text(UNSET), "--ignore", "data-race", want=1)["findings"][0]
    last = found["story"]["rows"][-1]
    s.same((last["line"], "kind is 0" in last["what"]), (1 + UNSET.split("\n").index("  if (m) assert(atomic_load(&m->kind) == 5);"), True), last)

"""`heddle replay --gdb`: a debugger inside the failing execution."""
import os
import re

import common
from scratch import each

# Twenty philosophers, each with something of its own in its locals.
DINE = """
#include <pthread.h>
#define N 20
static pthread_mutex_t fork_[N];
static __thread int mine;
static int meals;
static int twice(int n) { return 2 * n; }
static void eat(int seat, int left, int right) {
  int hunger = twice(seat);
  mine = seat + 100;
  pthread_mutex_lock(&fork_[left]);
  pthread_mutex_lock(&fork_[right]); /* line 12 */
  __atomic_fetch_add(&meals, hunger, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&fork_[right]);
  pthread_mutex_unlock(&fork_[left]);
}
static void *philosopher(void *arg) {
  int seat = (int)(long)arg;
  eat(seat, seat, (seat + 1) % N);
  return arg;
}
int main(void) {
  pthread_t id[N];
  for (int i = 0; i < N; i++) pthread_mutex_init(&fork_[i], 0);
  for (long i = 0; i < N; i++) pthread_create(&id[i], 0, philosopher, (void *)i);
  for (int i = 0; i < N; i++) pthread_join(id[i], 0); /* line 26 */
  return meals == 0;
}
"""

DINE_CXX = """
#include <mutex>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>
static const int n = 20;
struct Table {
  std::mutex fork[n];
  pthread_barrier_t all;
  Table() { pthread_barrier_init(&all, nullptr, n); }
  void sit(int seat) {
    std::string who = "guest " + std::to_string(seat);
    std::lock_guard<std::mutex> left(fork[seat]);
    pthread_barrier_wait(&all);
    std::lock_guard<std::mutex> right(fork[(seat + 1) % n]); // line 16
  }
};
int main() {
  Table table;
  std::vector<std::thread> guests;
  for (int i = 0; i < n; i++) guests.emplace_back([&table, i] { table.sit(i); });
  for (auto &g : guests) g.join();
}
"""

LOST = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
static atomic_int x; static int twice(int n) { return 2 * n; }
static void *add(void *arg) {
  int seen = atomic_load(&x); /* line 9 */
  int more = seen + 1;
  atomic_store(&x, more);
  return arg;
}
int main(void) {
  char line[32] = "";
  pthread_t id[2];
  read(0, line, sizeof line - 1);
  FILE *f = fopen("state", "w");
  fputs("changed", f);
  fclose(f);
  puts(line);
  for (int i = 0; i < 2; i++) pthread_create(&id[i], 0, add, 0);
  for (int i = 0; i < 2; i++) pthread_join(id[i], 0);
  assert(x == 2); /* line 24 */
}
"""

CRASH = """
#include <pthread.h>
#include <stdatomic.h>
static int n;
static int *_Atomic p = &n;
static void *use(void *arg) {
  int *q = p;
  *q = 1; /* line 8 */
  return arg;
}
int main(void) {
  pthread_t id;
  pthread_create(&id, 0, use, 0);
  p = 0;
  pthread_join(id, 0);
}
"""

WAIT = """
#include <pthread.h>
#include <unistd.h>
static int a[2], b[2];
static void *answer(void *arg) {
  int mine = 7;
  char c;
  read(a[0], &c, 1); /* line 8 */
  write(b[1], &c, 1);
  return mine ? arg : 0;
}
int main(void) {
  int mine = 33;
  char c;
  pthread_t id;
  pipe(a);
  pipe(b);
  pthread_create(&id, 0, answer, 0);
  read(b[0], &c, 1); /* line 19 */
  write(a[1], &c, 1);
  pthread_join(id, 0);
  return mine;
}
"""


# Threads of threads, remarks, and an end that the runtime does not see coming.
TREE = """
#include <heddle.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
static atomic_int x;
static void *leaf(void *arg) {
  hd_note("leaf");
  atomic_fetch_add(&x, 1);
  hd_note("more");
  return arg;
}
static void *branch(void *arg) {
  pthread_t id;
  pthread_create(&id, 0, leaf, 0);
  hd_note("branch");
  if (atomic_load(&x) == 2) DIE; /* line 18 */
  pthread_join(id, 0);
  return arg;
}
int main(void) {
  pthread_t id[2];
  for (int i = 0; i < 2; i++) pthread_create(&id[i], 0, branch, 0);
  for (int i = 0; i < 2; i++) pthread_join(id[i], 0);
}
"""


def find(s, text, *options, suffix=".c", flags=("-O0",), **kw):
    """Strategies whose first finding does not depend on how fast the machine is."""
    prog = s.build_text(text, *flags, suffix=suffix)
    options = ("--no-explain", "--strategy", "sites" if text == DINE else "dfs", *options)
    return s.search("check", prog, *options, want=1, **kw)["findings"][0]["kind"]


def gdb(s, *commands, want=0, folder=".heddle/1", **kw):
    """What gdb prints from its first stop on, as one list of lines for each command, after those of the start."""
    script = []
    for c in commands:
        script += ["echo \\n--- %s\\n" % c, c]
    s.write("commands", "\n".join(script) + "\n")
    p = s.run([s.heddle, "replay", "--gdb", "--hang-timeout", "2", folder, "--", "-batch", "-x", "commands"],
              want=want, **kw)
    parts = re.split(r"^--- .*\n", p.stdout, flags=re.M)
    s.check(len(parts) == 1 + len(commands), "gdb did not come to the end: " + (p.stdout + p.stderr)[-600:])
    return [part.strip("\n").split("\n") for part in parts]


def has(s, lines, *texts):
    for text in texts:
        s.check(any(text in line for line in lines), "'%s' is not in: %s" % (text, " | ".join(lines)))


def line_of(lines, text):
    return [line for line in lines if text in line][0]


def test_twenty_threads(s):
    s.same(find(s, DINE), "deadlock", "kind")
    each_thread = []
    for i in range(1, 21):
        each_thread += ["heddle thread %d" % i, "bt", "info locals", "up", "info locals",
                        "print $heddle_tls(\"mine\")"]
    out = gdb(s, "heddle threads", *each_thread, "heddle thread 0", "info locals", "heddle threads")
    has(s, out[0], "reproduced after 61 events: deadlock")
    rows = out[1]
    s.same(len(rows), 21, "threads listed")
    has(s, rows, "T0 ", "join T1 ", "prog.c:26 (main)")
    for i in range(1, 21):
        row = [r for r in rows if re.match(r"[> ] T%d " % i, r)][0]
        lock = "fork_" if i == 20 else "fork_+%d" % (40 * i)
        for text in "philosopher", "blocked", "lock `%s`, held by T%d " % (lock, i % 20 + 1), "prog.c:12 (eat)":
            s.check(text in row, "'%s' is not in: %s" % (text, row))
        thread, bt, inner, _, outer, tls = out[2 + 6 * (i - 1):8 + 6 * (i - 1)]
        has(s, thread, "T%d (philosopher), blocked" % i, "pthread_mutex_lock(&fork_[right]); /* line 12 */")
        s.same(len(bt), 2, "frames of T%d" % i)
        has(s, bt, "in eat (seat=%d, left=%d, right=%d) at prog.c:12" % (i - 1, i - 1, i % 20),
            "in philosopher (arg=%s) at prog.c:19" % ("0x%x" % (i - 1)))
        s.same(inner, ["hunger = %d" % (2 * (i - 1))], "locals of eat in T%d" % i)
        s.same(outer, ["seat = %d" % (i - 1)], "locals of philosopher in T%d" % i)
        s.same(tls[0].split(" = ")[1], str(99 + i), "thread-local variable of T%d" % i)
    has(s, out[-2], "id = {", "i = 0")
    s.same([r[2:] for r in out[-1]], [r[2:] for r in rows], "the list, when a thread is on show")
    s.check(line_of(out[-1], "T0 ").startswith("*"), "the thread on show is not marked")


def where(lines):
    return line_of(lines, "heddle: ")


def test_back_and_forth(s):
    find(s, DINE)
    state = ["heddle threads", "print &meals", "info locals", "print seat", "print $rsp"]
    out = gdb(s, *state, "heddle back", "heddle back", "heddle back", "heddle threads", "heddle next", "heddle next",
              "heddle next", *state, "heddle goto 4", "heddle back 3", "heddle goto 61", "heddle next", *state,
              "heddle back 4", "heddle next 4", *state, "heddle next")
    first, back, there, forth = out[1:6], out[6:9], out[9], out[10:13]
    steps = [where(b) for b in back]
    for n, step in zip((61, 60, 59), steps):
        s.check("before event %d of 61: " % n in step, "one step back: " + step)
    s.check(line_of(there, " next ").startswith("> " + steps[2].split(": ")[2].split()[0]), "the next one: " + steps[2])
    s.same([where(f) for f in forth[:2]], steps[1::-1], "steps forward")
    again = "reproduced after 61 events: deadlock"
    s.check(again in where(forth[2]), "the third step forward: " + where(forth[2]))
    strip = lambda blocks: [[re.sub(r"^\$\d+", "$", line) for line in b] for b in blocks]
    s.same(strip(out[13:18]), strip(first), "the state after three steps back and forth")
    s.check("before event 4 of 61: " in where(out[18]), where(out[18]))
    s.check("before event 1 of 61: T0 is about to start main" in where(out[19]), where(out[19]))
    s.same(where(out[20]), steps[0], "running to the last event")
    s.check(again in where(out[21]), where(out[21]))
    s.same(strip(out[22:27]), strip(first), "the state after running to an event")
    s.check("before event 58 of 61" in where(out[27]), where(out[27]))
    s.same(strip(out[29:34]), strip(first), "the state after four steps back and forth")
    s.check("the program has ended" in where(out[34]), where(out[34]))


@each("gcc", "clang")
def test_cxx(s, compiler):
    s.write("prog.cc", DINE_CXX)
    s.cc("prog.cc", "prog", "-O0", *(["-fstandalone-debug"] if compiler == "clang" else []), compiler=compiler)
    s.search("check", "./prog", want=1)
    out = gdb(s, "heddle threads", "heddle thread 7", "bt", "info locals", "print this->fork[3]._M_mutex.__data.__lock",
              "heddle thread 0", "bt", "info locals", "heddle back 2", "heddle next 2", "heddle threads")
    s.same(len(out[1]), 21, "threads listed")
    for i in range(1, 21):
        row = [r for r in out[1] if re.match(r"[> ] T%d " % i, r)][0]
        for text in "blocked", "held by T%d " % (i % 20 + 1), "prog.cc:16 (Table::sit)":
            s.check(text in row, "'%s' is not in: %s" % (text, row))
    has(s, out[3], "std::mutex::lock", "Table::sit", "seat=6", "prog.cc:16", "prog.cc:22")
    has(s, out[4], 'who = "guest 6"')
    s.same(out[5][0].split(" = ")[1], "1", "a fork that is taken")
    has(s, out[7], "std::thread::join", "main ")
    has(s, out[8], "guests = std::vector of length 20")
    s.same(out[11], out[1], "the list after two steps back and forth")


def calls(s):
    """Calls of functions; where gdb cannot make any, in no program (some kernels refuse the registers), other expressions."""
    s.write("plain.c", "static int f(int n) { return n + 1; } int main(void) { return f(-1); }")
    s.run(["gcc", "-g", "plain.c", "-o", "plain"])
    out = s.run(["gdb", "-batch", "-nx", "-ex", "break main", "-ex", "run", "-ex", "print f(3)", "./plain"], want=None)
    return ("print twice(4)", "print abs(-3)") if "$1 = 4" in out.stdout else ("print 2 * 4", "print 3")


@each("memory", "fork")
def test_commands_of_gdb(s, restart):
    """Breakpoints, watchpoints and calls; input, output and files as in every replay."""
    s.write("state", "before")
    find(s, LOST, "--restart", restart, stdin="hello\n")
    out = gdb(s, "heddle goto 7", "heddle threads", "break 11", "heddle goto 13", "print more", "continue", "delete",
              "heddle goto 8", "watch x", "continue", "delete", "continue", "bt", *calls(s),
              "heddle threads", "continue", "heddle back", "heddle goto 3", "heddle thread 1", "heddle schedule all",
              "heddle schedule", "heddle goto 13", "print line")
    text = [" ".join(o) for o in out]
    s.check("before event 13 of 14: T0 is about to join T2 at prog.c:23 (main)" in text[0], text[0])
    s.check("before event 7 of 14: T2 is about to atomic-load `x` at prog.c:9 (add)" in text[1], text[1])
    has(s, out[2], "T0 main blocked join T1", "T1 add  ready   atomic-store `x`", "> T2 add  next    atomic-load `x`")
    s.check("hit Breakpoint" in text[4] and "add (arg=0x0) at prog.c:11" in text[4] and
            "heddle: stopped in T2, after event 7" in text[4], text[4])
    s.same(text[5], "$1 = 1", "a local at a breakpoint")
    s.check("reproduced after 14 events" in text[6], "T1 was past the breakpoint: " + text[6])
    s.check("before event 8 of 14: T1 is about to atomic-store" in text[8], "back from a breakpoint: " + text[8])
    s.check("Hardware watchpoint" in text[9], text[9])
    s.check("Old value = 0" in text[10] and "New value = 1" in text[10], "watchpoint: " + text[10])
    s.check("reproduced after 14 events: assertion failed: x == 2" in text[12], text[12])
    s.check("main () at prog.c:24" in text[13], "backtrace of the finding: " + text[13])
    s.same([text[14], text[15]], ["$2 = 8", "$3 = 3"], "functions called by gdb")
    has(s, out[16], "> T0 main running", "prog.c:24 (main)")
    s.check("exited normally" in text[17], text[17])
    s.check("before event 13 of 14" in text[18], "back from the end: " + text[18])
    s.check("T1 (add), ready: start" in text[20], text[20])
    s.same(sum(line.startswith("->") for line in out[21]), 1, "marks in the schedule")
    has(s, out[21], "->    3  T0       create T2  prog.c:22 (main)",
        "      7  T2       atomic-load `x` = 0  prog.c:9 (add)",
        "      8  T1       atomic-store `x` = 1  prog.c:11 (add)", "     13  T0       join T2")
    s.same(out[22], out[21][:-1] + ["   (1 events after)"], "the events around a place")
    s.check('$4 = "hello\\n' in text[24], "what was read from standard input: " + text[24])
    s.same(s.read("state"), "before", "a file that the program changes")


def test_next_and_step(s):
    s.write("state", "before")
    find(s, LOST, stdin="hello\n")
    schedule = gdb(s, "heddle schedule all")[1]
    load = int(re.match(r"(?:->)?\s+(\d+)", line_of(schedule, "prog.c:9 (add)")).group(1))
    out = gdb(s, "heddle goto %d" % load, "next", "print seen", "heddle goto %d" % load, "step", "next", "print more",
              "heddle goto %d" % load, "heddle finish", "finish", "heddle back")
    s.check("is about to atomic-load `x` at prog.c:9 (add)" in where(out[1]), where(out[1]))
    s.same(out[2], ["10\t  int more = seen + 1;"], "next")
    s.same(out[3], ["$1 = 0"], "what was read")
    s.same(out[5], ["10\t  int more = seen + 1;"], "step")
    s.same(out[6][0][:3], "11\t", "next again")
    s.same(out[7], ["$2 = 1"], "what was computed")
    has(s, out[9], "add (arg=0x0) at prog.c:9")
    s.check("before event" in where(out[11]), where(out[11]))


def test_crash(s):
    s.same(find(s, CRASH), "crash", "kind")
    out = gdb(s, "print q", "continue", "print q", "bt", "continue", "bt", "print q", "heddle threads", "heddle back",
              "heddle threads")
    s.check("is about to atomic-load `p` at prog.c:7 (use)" in where(out[0]), where(out[0]))
    has(s, out[2], "SIGSEGV", "prog.c:8")
    s.same(out[3][0].split(" = ")[1], "(int *) 0x0", "the pointer")
    has(s, out[4], "use (arg=0x0) at prog.c:8")
    has(s, out[5], "reproduced after", "use (arg=0x0) at prog.c:8")
    s.same(len(out[6]), 1, "frames at the finding")
    s.same(out[7][0].split(" = ")[1], "(int *) 0x0", "the pointer at the finding")
    has(s, out[8], "prog.c:8 (use)")
    s.same(where(out[9]), where(out[0]), "back from the finding")


@each("built", "preloaded")
def test_in_system_calls(s, how):
    if how == "built":
        find(s, WAIT)
    else:
        s.write("prog.c", WAIT)
        s.run(["gcc", "-g", "-w", "prog.c", "-o", "prog", "-pthread"])
        s.search("check", "./prog", "--preload", want=1)
    out = gdb(s, "heddle threads", "heddle thread 1", "bt", "print mine", "heddle thread 0", "print mine",
              "heddle back", "heddle threads", "heddle next", "print mine")
    has(s, out[1], "T0 main", "prog.c:19 (main)", "prog.c:8 (answer)")
    has(s, out[3], "in answer (arg=0x0) at prog.c:8", "read")
    s.same([o[0].split(" = ")[1] for o in (out[4], out[6], out[10])], ["7", "33", "7"], "locals")


@each("abort()", "_exit(3)", "for (;;) {}")
def test_trees_and_notes(s, end):
    """Numbers of events are those of the schedule, notes among them; the process may die, or never end."""
    find(s, TREE.replace("DIE", end), "--hang-timeout", "2")
    events = [line.split() for line in s.events(plain=True)]
    notes = [i for i, e in enumerate(events, 1) if e[1] == "note"]
    s.check(notes, "there are notes among the events")
    deep = [i for i, e in enumerate(events, 1) if e[:2] == ["T1.1", "start"]][0]
    commands = ["heddle goto %d" % n for n in range(1, len(events) + 1)] + ["heddle goto %d" % deep, "heddle threads"]
    total = len(events)
    if end.startswith("for"):
        commands = commands[:-3] + commands[-2:]  # what others did while the endless one was aside
        events.pop()
    out = gdb(s, *commands)
    last = 0
    for n, e in enumerate(events, 1):
        last = last if e[1] == "note" or "plain" in e else n
        want = "before event %d of %d: %s is about to %s" % (last, total, events[last - 1][0], events[last - 1][1])
        s.check(want in where(out[n]), "goto %d: %s" % (n, where(out[n])))
    has(s, out[-1], "> T1.1 leaf")


CHILD = """
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int signals;
static void count(int sig) { signals += sig; }
static void work(void) { sleep(0); }
static void *parent(void *arg) {
  int status = 0;
  if (fork() == 0) {
    work(); /* with a breakpoint */
    _exit(7);
  }
  wait(&status);
  if (WEXITSTATUS(status) == 7) END; /* line 18 */
  return arg;
}
int main(void) {
  pthread_t id;
  signal(SIGCHLD, count);
  pthread_create(&id, 0, parent, 0);
  pthread_join(id, 0);
}
"""


@each("assert(0)", "execl(\"/bin/sh\", \"sh\", \"-c\", \"exit 3\", NULL)")
def test_children(s, end):
    """Children run as they do without gdb: they are no threads, do not stop at breakpoints, and send no signal."""
    find(s, CHILD.replace("END", end))
    out = gdb(s, "break work", "heddle goto 2", "continue", "print signals", "heddle threads", "heddle back")
    has(s, out[0], "before event")
    has(s, out[3], "reproduced after")
    s.same(out[4], ["$1 = 0"], "signals")
    has(s, out[5], "> T1 parent running", "prog.c:18 (parent)")
    has(s, out[6], "before event")


def test_both_schedules(s):
    """The smaller schedule by default, and the one that was found."""
    prog = s.build_text(LOST.replace("2; i++", "4; i++").replace("id[2]", "id[4]").replace("x == 2", "x == 4"), "-O0")
    s.write("state", "before")
    s.search("check", prog, "--strategy", "random", "--seed", "3", want=1)
    s.check(os.path.exists(s.path(".heddle/1/schedule.min")), "there is no smaller schedule")
    for option in [], ["--original"]:
        p = s.run([s.heddle, "replay", "--gdb", *option, ".heddle/1", "--", "-batch", "-ex", "heddle schedule all",
                   "-ex", "heddle next"])
        have = [re.sub(r" .*", "", line[9:]) for line in p.stdout.split("\n") if re.match(r"(->|  ) +\d+  T", line)]
        stored = s.events(".heddle/1/trace" + ("" if option else ".min"), plain=True)
        s.same(have, [line.split()[0] for line in stored], "threads in the schedule")
        s.check("reproduced after" in p.stdout, p.stdout)


def test_users_settings_stay(s):
    find(s, DINE)
    s.write(".gdbinit", "define mine\necho mine it is\\n\nend\ndefine hook-next\necho hooked\\n\nend\nset confirm on\n")
    out = gdb(s, "mine", "show confirm", "heddle back", "show confirm", "show user hook-next", "help heddle",
              "help heddle back", env={"HOME": s.dir})
    s.same(out[1], ["mine it is"], "a command of the user's")
    s.same(out[4], out[2], "confirm")
    has(s, out[5], "echo hooked")
    has(s, out[6], "heddle goto N")
    has(s, out[7], "Go back to the previous scheduling point")


@each("heddle thread 21", "heddle thread x", "heddle goto 0", "heddle goto 63", "heddle goto", "heddle next x",
      "heddle back 99", 'print $heddle_tls("meals")', "next", "heddle finish")
def test_refused_in_gdb(s, command):
    find(s, DINE)
    s.write("commands", command + "\necho not here\n")
    p = s.run([s.heddle, "replay", "--gdb", ".heddle/1", "--", "-batch", "-x", "commands"], want=1)
    message = p.stderr.strip().split("\n")[-1]
    want = {"heddle thread 21": "there is no thread 21", "heddle thread x": "there is no thread x",
            "heddle goto 0": "from 1 to 61", "heddle goto 63": "from 1 to 61", "heddle goto": "expected a number",
            "heddle next x": "expected a number", "heddle back 99": "no scheduling point before the first",
            'print $heddle_tls("meals")': "meals is not a thread-local variable",
            "next": "the execution cannot continue", "heddle finish": "not about to execute an operation"}[command]
    s.check(want in message, "message: " + message)
    s.check("not here" not in p.stdout and "Traceback" not in p.stderr, p.stderr)


def test_refused(s):
    find(s, DINE)
    os.mkdir(s.path("empty"))
    p = s.run([s.heddle, "replay", "--gdb", ".heddle/1"], want=3, env={"PATH": s.path("empty")})
    s.check(p.stderr.strip().split("\n")[-1] ==
            "heddle: gdb is not installed, or not in PATH; install the package gdb", p.stderr)
    common.refused(s, [s.heddle, "replay", "--gdb"], 2, "name one folder")
    common.refused(s, [s.heddle, "replay", "--gdb", "--", ".heddle/1"], 2, "name one folder")
    common.refused(s, [s.heddle, "replay", "--gdb", "--times", "2", ".heddle/1"], 2, "exclude each other")
    common.refused(s, [s.heddle, "replay", "--gdb", "nowhere"], 2, "nowhere")
    common.refused(s, [s.heddle, "gdb-start"], 2, "use heddle replay --gdb")
    s.same(s.run([s.heddle, "replay", "--gdb", ".heddle/1", "--", "-batch", "-ex", "quit 7"], want=7).returncode, 7,
           "gdb's exit code")
    s.build_text(DINE.replace("mine = seat + 100;", ""), "-O0")
    p = s.run([s.heddle, "replay", "--gdb", ".heddle/1", "--", "-batch"], want=[0, 3])
    s.check("was rebuilt" in p.stderr, p.stderr)


def test_nothing_is_left_behind(s):
    find(s, DINE)
    name = "g" + os.path.basename(s.dir)[-8:]
    os.rename(s.path("prog"), s.path(name))
    s.search("check", "./" + name, "--out", "other", want=1)
    gdb(s, "heddle back", "heddle back", folder="other/1")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/comm" % pid) as f:
                s.check(f.read().strip() != name, "process %s is left" % pid)
        except OSError:
            pass

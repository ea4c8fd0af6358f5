"""Stored findings: one folder for each, heddle list, heddle clean; what is not reported: baselines, files of ThreadSanitizer;
HEDDLE_OPTIONS."""
import fcntl
import json
import os
import pty
import re
import struct
import termios

from common import refused
from scratch import each

RACE = """
#include <pthread.h>
static int count;
static void add(void) { count++; }
static void *worker(void *p) { add(); return p; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  add();
  pthread_join(t, 0);
}
"""


def check(s, *options, want=1, **kw):
    return s.run([s.heddle, "check", *options, "--", "./prog"], want=want, **kw).stdout


def test_same_folder(s):
    """A finding that is found again keeps its folder; that of another command has its own."""
    s.build_text(RACE)
    check(s)
    s.write(".heddle/1/mark", "")
    check(s)
    s.same((sorted(os.listdir(s.path(".heddle"))), os.path.exists(s.path(".heddle/1/mark"))), (["1", "search.json"], False), "folders")
    s.replay(times=1)
    s.run([s.heddle, "check", "--", "./prog", "x"], want=1)
    s.same(sorted(os.listdir(s.path(".heddle"))), ["1", "2", "search.json"], "folders")


def test_rebuilt(s):
    """Also when the program was rebuilt in between."""
    s.build_text(RACE, "-O0")
    check(s)
    s.build_text(RACE, "-O1")
    check(s)
    s.same(sorted(os.listdir(s.path(".heddle"))), ["1", "search.json"], "folders")
    s.replay(times=1)


def test_list_and_clean(s):
    s.build_text(RACE)
    check(s, "--out", "new/deep")
    shown = s.run([s.heddle, "list", "new/deep"])
    s.check(shown.stdout.startswith("new/deep/1  ") and "data race on `count` (4 bytes), prog.c:4" in shown.stdout, shown.stdout)
    s.check("1 finding" in shown.stderr, shown.stderr)
    s.write("new/deep/notes.txt", "mine")
    s.same(s.run([s.heddle, "clean", "new/deep"]).stderr, "heddle: removed 1 finding\n", "what clean says")
    s.same(os.listdir(s.path("new/deep")), ["notes.txt"], "what is left")
    check(s)
    s.run([s.heddle, "clean"])
    s.check(not os.path.exists(s.path(".heddle")), "the folder is still there")
    refused(s, [s.heddle, "list"], 2, "no folder .heddle")
    refused(s, [s.heddle, "clean", "nowhere"], 2, "nowhere")


def test_baseline(s):
    """What an earlier search found is not reported again; what is not found again in a complete search is fixed."""
    s.build_text(RACE)
    check(s, "--json", "then.json")
    out = check(s, "--baseline", "then.json", "--json", "now.json", want=[0, 5])
    s.check("baseline: 1 known, 1 found again, 0 not" in out, out)
    s.same(json.loads(s.read("now.json"))["baseline"], {"known": 1, "again": 1}, "JSON")
    s.build_text(RACE.replace("static int count;", "static _Atomic int count;"))
    out = check(s, "--baseline", "then.json", want=0)
    s.check("baseline: 1 known, 0 found again, 1 not (fixed: every schedule was covered)" in out, out)
    s.write("other.json", "{}")
    refused(s, [s.heddle, "check", "--baseline", "other.json", "--", "./prog"], 2, "not a result of heddle check")


TSAN = {"race:add": True, "race:^add$": True, "race:^ad$": False, "race_top:add": True, "race_top:worker": False, "race:worker": True, "race:rog.c": True,
        "race:^work$": False, "race:^nothing": False, "mutex:add": False, "thread:add; race:wor*er": True}


@each(*TSAN)
def test_tsan_suppressions(s, text):
    s.build_text(RACE)
    s.write("tsan.supp", "# of ThreadSanitizer\ncalled_from_lib:libc.so\nsignal:x\ndeadlock:[x\n" + text.replace("; ", "\n") + "\n")
    hidden = TSAN[text]
    out = check(s, "--suppressions", "tsan.supp", want=[0, 5] if hidden else 1)
    s.same("suppressed" in out, hidden, "suppressed")


def test_environment(s):
    """HEDDLE_OPTIONS: of every verb what it has; the command line wins."""
    s.build_text(RACE)
    env = dict(s.env, HEDDLE_OPTIONS="--ignore data-race --seed=7 --times 2  -j1")
    check(s, want=0, env=env)
    check(s, "--ignore", "leak", want=1, env=env)
    s.check("2 of 2 identical" in s.run([s.heddle, "replay", ".heddle/1"], want=1, env=env).stderr, "--times is not used")
    env["HEDDLE_OPTIONS"] = "--sed 7"
    p = s.run([s.heddle, "check", "--", "./prog"], want=2, env=env)
    s.check("HEDDLE_OPTIONS: '--sed' is not an option" in p.stderr, p.stderr)


def test_without_lines(s):
    """A stripped program: the finding says what to do to see lines."""
    s.build_text(RACE)
    s.check("hint:" not in check(s), "a hint that is of no use")
    s.run(["strip", "prog"])
    s.check("hint: the program has no debug information: build with -g, and do not strip" in check(s), "no hint")


@each("gcc:thread:ThreadSanitizer", "gcc:address:AddressSanitizer", "clang:thread:ThreadSanitizer", "clang:address:AddressSanitizer")
def test_sanitizers(s, how):
    """A program of another tool is recognised."""
    compiler, option, name = how.split(":")
    s.write("prog.c", RACE)
    s.run([compiler, "-fsanitize=" + option, "prog.c", "-o", "prog", "-pthread"])
    refused(s, [s.heddle, "check", "--", "./prog"], 2, "built with " + name, "without -fsanitize")


def terminal(s, command, rows, columns, until):
    """What the command writes to a terminal of this size; Ctrl-C is pressed when `until` has been seen."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(s.dir)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.execve(command[0], command, s.env)
    out, pressed = b"", False
    while True:
        try:
            out += os.read(fd, 65536)
        except OSError:
            break
        if not pressed and until in out:
            os.write(fd, b"\x03")
            pressed = True
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(fd)
    return code, out.decode()


LONG = """
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x[8];
static void *worker(void *p) { for (int i = 0; i < 40; i++) atomic_fetch_add(&x[i % 8], 1); return p; }
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
}
"""


@each("60", "80", "200")
def test_status(s, columns):
    """A terminal shows a few lines about the search, none wider than itself, and removes them; after Ctrl-C it says what is
    kept. A low terminal has one line."""
    s.build_text(LONG)
    for rows, save in ((24, []), (24, ["--save", "s.hds"]), (8, [])):
        code, out = terminal(s, [s.heddle, "check", *save, "--time", "50s", "--", "./prog"], rows, int(columns), b"last new" if rows > 12 else b"events")
        s.same(code, 5, "exit code of %r" % out)
        frames = out.split("\r\033[K")
        lines = max(len(f.split("\n")) for f in frames if "/s, " in f and " executions in " not in f)
        s.check((lines > 2) == (rows > 12), "%d lines in %d rows" % (lines, rows))
        for line in re.sub(r"\033\[[0-9;]*[A-Za-z]|\^C", "", out.replace("\r", "\n")).split("\n"):
            s.check(len(line) <= int(columns), "%d columns: %r" % (len(line), line))
        last = out.split("events,")[-1]
        s.check(("--resume s.hds continues it" if save else "nothing is stored: --save FILE") in last, last)


PLACED = """
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { int balance, deposits_of_the_day; } account_of_the_customer;
static void *deposit(void *p) {
  pthread_mutex_lock(&lock);
  int old = account_of_the_customer.balance;
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&lock);
  account_of_the_customer.balance = old + 100;
  pthread_mutex_unlock(&lock);
  return p;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, deposit, 0);
  deposit(0);
  pthread_join(t, 0);
  assert(account_of_the_customer.balance == 200 && "both deposits are part of the balance");
}
"""


@each("60", "80", "120")
def test_width(s, columns):
    """No verb writes lines that are wider than the terminal, which would break them within words."""
    s.build_text(PLACED)
    s.run([s.heddle, "check", "--", "./prog"], want=1)
    for verb in (["help"], ["help", "check"], ["help", "predict"], ["explain", ".heddle/1"], ["replay", ".heddle/1"], ["list"],
                 ["check", "--", "./prog"], ["predict", "--", "./prog"], ["aim", "prog.c:12", "--", "./prog"]):
        _, out = terminal(s, [s.heddle, *verb], 40, int(columns), b"no such text")
        for line in re.sub(r"\033\[[0-9;]*[A-Za-z]", "", out.replace("\r", "\n")).split("\n"):
            s.check(len(line) <= int(columns), "%s: %d columns: %r" % (" ".join(verb), len(line), line))


def test_exit(s):
    """Of an exit status, what the program printed last: a test framework says there which test failed."""
    s.build_text(RACE.replace("static int count", "#include <stdio.h>\nstatic _Atomic int count").replace(
        "pthread_join(t, 0);", 'pthread_join(t, 0); puts("first\\n\\n[  FAILED  ] Counter.Two"); return 1;'))
    out = check(s)
    s.check("  The program's last output:\n    first\n    [  FAILED  ] Counter.Two\n" in out, out)

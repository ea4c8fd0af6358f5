"""heddle.toml: the targets of a project, in one table; and heddle init, which writes it."""
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
import xml.etree.ElementTree as ET

import common
import sarif
import schema
from common import RACE
from scratch import each

# What it was started with decides whether it fails.
ASKS = """#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *nothing(void *p) { return p; }
int main(int argc, char **argv) {
  char cwd[4096], line[64] = "";
  pthread_t t;
  pthread_create(&t, 0, nothing, 0);
  pthread_join(t, 0);
  getcwd(cwd, sizeof cwd);
  if (!fgets(line, sizeof line, stdin)) line[0] = 0;
  assert(argc == 3 && strcmp(argv[1], "a b") == 0 && strcmp(argv[2], "") == 0);
  assert(getenv("COLOUR") && strcmp(getenv("COLOUR"), "blue = 1") == 0);
  assert(strcmp(strrchr(cwd, '/'), "/data") == 0);
  assert(strcmp(line, "hello\\n") == 0);
  return 0;
}
"""

# More schedules than anybody waits for.
ENDLESS = """#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static void *t(void *a) {
  for (int i = 0; i < 50; i++) { pthread_mutex_lock(&m); sum = sum * 3 + 1; pthread_mutex_unlock(&m); }
  return a;
}
int main(void) {
  pthread_t id[8];
  for (int i = 0; i < 8; i++) pthread_create(&id[i], 0, t, 0);
  for (int i = 0; i < 8; i++) pthread_join(id[i], 0);
  return 0;
}
"""


def rows(out):
    """The table as a list of rows by target; fails on anything wider than 80 columns."""
    lines = out.split("\n\n")[0].splitlines()
    lines = lines[:next((i for i, line in enumerate(lines) if line.startswith("heddle: ")), len(lines))]
    assert lines[0].split() == ["target", "verdict", "executions", "time", "findings"], lines
    assert all(len(line) == len(lines[0]) <= 80 for line in lines), lines
    return {line.split()[0]: line.split()[1:] for line in lines[1:]}


def check(s, *options, want, **kw):
    """heddle check over the project; returns the process, the rows and the JSON."""
    p = s.run([s.heddle, "check", "--json", "result.json", *options], want=want, **kw)
    with open(os.path.join(kw.get("cwd") or s.dir, "result.json")) as f:
        return p, rows(p.stdout), json.load(f)


def config(s, text, folder="."):
    s.write(os.path.join(folder, "heddle.toml"), text)


def target(program, *lines):
    return "\n".join(["[[target]]", 'program = "%s"' % program, *lines, ""])


# ---- the table ----

def test_ten_targets(s):
    """One row each, in the order of the file and within 80 columns; findings below, which replay."""
    common.build(s, "clean")
    s.build_text(RACE, name="race")
    s.build_text(ENDLESS, name="endless")
    long = "a-target-with-a-name-that-nobody-could-put-into-a-table-of-eighty-columns"
    config(s, "".join([
        target("clean"), target("race"),
        target("endless", 'name = "endless"', 'strategy = "optimal"', "max-executions = 20"),
        target("clean", 'name = "sampled"', 'strategy = "random"', "max-executions = 30"),
        target("./clean", 'name = "%s"' % long), target("race", 'name = "race-again"'),
        target("clean", 'name = "%s"' % (long[::-1])), target("clean", 'name = "\u00e4\u00f6\u00fc-\u65e5\u672c"'),
        target("clean", 'name = "nine"'), target("clean", 'name = "with space"')]))
    p, table, r = check(s, want=1)
    s.same([t["name"] for t in r["targets"]][:4], ["clean", "race", "endless", "sampled"], "order in the JSON")
    s.same(len(p.stdout.split("\n\n")[0].splitlines()), 11, "lines of the table")
    s.same((table["clean"][0], table["clean"][3], table["clean"][4]), ("clean", "s", "0"), "row of clean")
    s.same((table["race"][0], table["race"][4]), ("found", "1"), "row of race")
    s.same(table["endless"][:2], ["stopped", "20"], "row of endless")
    s.same(table["sampled"][:2], ["bounded", "30"], "row of sampled")
    elided = [name for name in table if "..." in name]
    s.same(len(elided), 2, "names that lost their middle")
    s.check(long.startswith(elided[0].split("...")[0]) and long.endswith(elided[0].split("...")[1]), "name " + elided[0])
    s.same([(t["verdict"], t["status"]) for t in r["targets"]][:4],
           [("clean", 0), ("found", 1), ("stopped", 5), ("bounded", 0)], "verdicts in the JSON")
    below = p.stdout.split("\n\n")[1].splitlines()
    s.same(below[0].split(" (")[0], "race: data race on `counter`", "first finding")
    s.check(below[0].endswith(", race.c:4"), "place of the finding: " + below[0])
    s.same(below[1], "  replay: heddle replay .heddle/race/1", "its command")
    s.same(below[3], "  replay: heddle replay .heddle/race-again/1", "that of the second")
    s.same(below[4:6], ["endless: not complete: the search was stopped after 20 executions (--max-executions)",
                        "sampled: not complete: the random strategy only samples schedules"], "reasons")
    s.same(below[6:], ["heddle: 10 targets: 6 clean, 1 bounded, 1 stopped, 2 found"], "last line")
    s.replay(".heddle/race/1")
    s.same(r["targets"][1]["result"]["findings"][0]["replay"], ".heddle/race/1", "folder in the JSON")
    s.run([s.heddle, "report", "-o", "page.html"])
    page = s.read("page.html")
    s.check('.heddle/race-again/1' in page and '.heddle/clean' in page, "not all of it is on the page")


def test_files_of_all_targets(s):
    """SARIF, JUnit XML and the lines of tools hold every target, also one that could not be run."""
    common.build(s, "clean")
    s.build_text(RACE, name="race")
    config(s, '[defaults]\nsarif = "out.sarif"\n' + target("clean") + target("race") + target("gone"))
    p = s.run([s.heddle, "check", "--junit", "out.xml", "--format", "gcc"], want=2)
    with open(s.path("out.sarif")) as f:
        log = json.load(f)
    s.same(sarif.check_log(log), [], "problems of the SARIF log")
    s.same(schema.sarif_problems(s.build, log), [], "problems by the schema")
    s.same([run["automationDetails"]["id"] for run in log["runs"]], ["heddle/clean/", "heddle/race/", "heddle/gone/"], "runs")
    s.same([len(run["results"]) for run in log["runs"]], [0, 1, 0], "results")
    s.same([run["invocations"][0]["executionSuccessful"] for run in log["runs"]], [True, True, False], "success")
    s.run(["xmllint", "--noout", "--nonet", "out.xml"])
    root = ET.parse(s.path("out.xml")).getroot()
    s.same([root.get(k) for k in ("tests", "failures", "errors")], ["3", "1", "1"], "counts")
    s.same([suite.get("name") for suite in root], ["clean", "race", "gone"], "suites")
    s.check("no such program" in root[2].find("testcase/error").get("message"), "why there was an error")
    s.check(re.search(r"^race\.c:4:[0-9]+: error: data race", p.stdout, re.M), "no line like gcc's in: " + p.stdout)
    p = s.run([s.heddle, "check", "--target", "race", "--format", "github"], want=1)
    s.check("\n::error file=race.c,line=4" in p.stdout, "the annotation in: " + p.stdout)


def test_json_on_standard_output(s):
    s.build_text(RACE, name="race")
    config(s, target("race"))
    p = s.run([s.heddle, "check", "--json", "-"], want=1)
    s.same(json.loads(p.stdout)["targets"][0]["verdict"], "found", "verdict")
    s.check("race" in rows(p.stderr), "the table is not on standard error")
    p = s.run([s.heddle, "check", "--quiet"], want=1)
    s.same(p.stdout.splitlines()[0].split(" (")[0], "race: data race on `counter`", "what --quiet leaves")
    common.refused(s, [s.heddle, "check", "--json", "no/such/x.json"], 3, "--json no/such/x.json")
    common.refused(s, [s.heddle, "check", "--json", "x", "--junit", "x"], 2, "the same file")


# ---- what a target is started with ----

def test_program_args_env_cwd_input(s):
    s.build_text(ASKS, name="asks")
    os.mkdir(s.path("data"))
    s.write("in.txt", "hello\n")
    good = ['args = ["a b", ""]', 'cwd = "data"', 'input = "in.txt"', 'env = { COLOUR = "blue = 1" }']
    config(s, target("asks", *good))
    s.same(check(s, want=0)[1]["asks"][0], "clean", "verdict")
    for i in range(4):  # each of them matters
        config(s, target("asks", *good[:i], *good[i + 1:]))
        r = check(s, want=1)[2]
        s.same(r["targets"][0]["result"]["findings"][0]["kind"], "assertion", "without " + good[i])


def test_folders_above(s):
    """The next heddle.toml above is taken; its paths begin at its folder, those of the command line here."""
    s.build_text(RACE, name="race")
    config(s, '[defaults]\nsuppressions = "rules"\n[[target]]\nprogram = "./race"\n')
    s.write("rules", "deadlock:*\n")
    os.makedirs(s.path("deep/er"))
    p, table, r = check(s, want=1, cwd=s.path("deep/er"))
    s.same(table["race"][0], "found", "verdict")
    s.same(r["config"], "../../heddle.toml", "the file")
    folder = r["targets"][0]["result"]["findings"][0]["replay"]
    s.same(folder, "../../.heddle/race/1", "folder of the finding")
    s.check("heddle replay " + folder in p.stdout, "the command in: " + p.stdout)
    s.run([s.heddle, "replay", folder], want=1, cwd=s.path("deep/er"))
    s.same(r["targets"][0]["result"]["findings"][0]["where"][0]["file"], s.path("race.c"), "a file that is not below")
    config(s, target("../race", 'name = "other"'), "deep")
    s.same(list(check(s, want=1, cwd=s.path("deep/er"))[1]), ["other"], "the nearer file")
    s.same(list(check(s, "--config", "../../heddle.toml", want=1, cwd=s.path("deep/er"))[1]), ["race"], "--config")
    s.same(sorted(os.listdir(s.path("deep/.heddle"))), ["other"], "where its findings are")


def test_out(s):
    """Every target has a folder of its own in the one that is named."""
    s.build_text(RACE, name="race")
    config(s, '[defaults]\nout = "kept"\n' + target("race") + target("race", 'name = "two"', 'out = "apart"'))
    check(s, want=1)
    check(s, "--out", "here", "--target", "two", want=1)
    for folder in "kept/race/1", "apart/two/1", "here/two/1":
        s.check(os.path.exists(s.path(folder, "schedule")), "%s is not there" % folder)
    s.check(not os.path.exists(s.path(".heddle")), "there is a .heddle")


def test_suppressions(s):
    s.build_text(RACE, name="race")
    s.write("one", "deadlock:nothing\n")
    s.write("two", "data-race:worker\n")
    config(s, '[defaults]\nsuppressions = ["one", "two"]\n' + target("race"))
    r = check(s, want=0)[2]["targets"][0]["result"]
    s.same((r["verdict"], r["suppressed"]), ("clean", 1), "with both files")
    config(s, '[defaults]\nsuppressions = ["one", "two"]\n' + target("race", 'suppressions = "one"'))
    s.same(check(s, want=1)[1]["race"][0], "found", "with the file of the target alone")
    check(s, "--suppressions", "two", want=0)
    s.run([s.heddle, "check", "--suppressions", "one", "--suppressions", "two", "--", "./race"], want=0)
    config(s, target("race", 'suppressions = "none"'))
    p = s.run([s.heddle, "check"], want=2)
    s.check("heddle: race: none: No such file" in p.stderr, p.stderr)


def test_precedence(s):
    """The command line wins over a target, a target over [defaults]."""
    common.build(s, "clean")
    config(s, '[defaults]\nstrategy = "random"\nseed = 5\nmax-executions = 7\nall = true\nignore = ["leak"]\n'
           + target("clean") + target("clean", 'name = "own"', 'strategy = "pct"', "max-executions = 9", "all = false",
                                      "seed = 6"))

    def told(r):
        return [tuple(t["result"][k] for k in ("strategy", "seed", "executions")) for t in r["targets"]]
    s.same(told(check(s, want=0)[2]), [("random", 5, 7), ("pct", 6, 9)], "of the file")
    s.same(told(check(s, "--strategy", "pos", "--max-executions", "4", want=0)[2]), [("pos", 5, 4), ("pos", 6, 4)], "of the command line")
    s.same(told(check(s, "--target", "own", want=0)[2]), [("pct", 6, 9)], "of one target")
    # A bound of one place is not one of another, nor is a flag.
    config(s, '[defaults]\npreemptions = 1\n' + target("clean", 'delays = 2'))
    r = check(s, want=0)[2]["targets"][0]["result"]
    s.same(sorted(r["bound"]), ["complete", "delays"], "bound of the target")
    r = check(s, "--preemptions", "0", want=0)[2]["targets"][0]["result"]
    s.same(r["bound"], {"preemptions": 0, "complete": True}, "bound of the command line")


def test_flags_can_be_taken_back(s):
    s.build_text(RACE, name="race")
    two = RACE.replace("int counter;", "int counter, other;").replace("  counter++;\n", "  counter++;\n  other++;\n")
    s.build_text(two, name="two")
    config(s, "[defaults]\nall = true\n" + target("two"))
    s.same(len(check(s, want=1)[2]["targets"][0]["result"]["findings"]), 2, "findings with all")
    s.same(len(check(s, "--no-all", want=1)[2]["targets"][0]["result"]["findings"]), 1, "findings with --no-all")
    common.refused(s, [s.heddle, "check", "--no-time"], 2, "unknown option '--no-time'")
    common.refused(s, [s.heddle, "run", "--no-leaks", "--", "./race"], 2, "unknown option")


def test_choosing_targets(s):
    common.build(s, "clean")
    config(s, "".join(target("clean", 'name = "%s"' % name) for name in ("queue-1", "queue-2", "pool", "bank")))
    s.same(list(check(s, "--target", "queue*", "--target", "bank", want=0)[1]), ["queue-1", "queue-2", "bank"], "targets")
    common.refused(s, [s.heddle, "check", "--target", "quue"], 2, "--target quue", "queue-1, queue-2, pool, bank")
    common.refused(s, [s.heddle, "check", "--target", "pool", "--", "./clean"], 2, "--target", "leave out the program")
    common.refused(s, [s.heddle, "check", "--config", "heddle.toml", "./clean"], 2, "--config", "leave out the program")
    for option in "--save", "--resume":
        common.refused(s, [s.heddle, "check", option, "x"], 2, option, "for one program")


# ---- build commands ----

def test_build(s):
    common.build(s, "clean")
    os.rename(s.path("clean"), s.path("kept"))
    config(s, 'build = "echo one; cp kept clean; pwd > where"\n' + target("clean", 'build = "echo two >> where"'))
    p = s.run([s.heddle, "check", "--json", "-"], want=0, cwd=s.path("."))
    s.same(json.loads(p.stdout)["targets"][0]["verdict"], "clean", "verdict")
    s.check("\none\n" in "\n" + p.stderr, "what the command says is not on standard error: " + p.stderr)
    s.same(s.read("where"), os.path.realpath(s.dir) + "\ntwo\n", "where and in which order they ran")
    config(s, '\nbuild = "exit 7"\n' + target("clean"))
    common.refused(s, [s.heddle, "check", "--quiet"], 3, "heddle.toml:2:9", "exit status 7: exit 7")
    config(s, target("clean", 'build = "kill -9 $$"') + target("clean", 'name = "other"'))
    p, table, r = check(s, want=3)
    s.same([t["verdict"] for t in r["targets"]], ["error", "clean"], "verdicts")
    s.check("SIGKILL" in r["targets"][0]["result"]["error"], r["targets"][0]["result"]["error"])


# ---- what goes wrong with one target stays there ----

def test_targets_that_cannot_be_run(s):
    common.build(s, "clean")
    s.write("script", "#!/bin/sh\n")
    os.chmod(s.path("script"), 0o755)
    config(s, target("missing") + target("script") + target("clean", 'name = "nowhere"', 'cwd = "gone"')
           + target("clean", 'name = "unread"', 'input = "gone.txt"') + target("clean"))
    p, table, r = check(s, want=3)
    s.same([t["verdict"] for t in r["targets"]], ["error"] * 4 + ["clean"], "verdicts")
    s.same([t["status"] for t in r["targets"]], [2, 2, 3, 3, 0], "exit codes")
    s.same(table["missing"], ["error", "-", "-", "-"], "row of missing")
    said = p.stderr.splitlines()
    for name, text in (("missing", "./missing: no such program"), ("script", "a script"), ("nowhere", "no such folder"),
                       ("unread", "gone.txt: No such file")):
        s.check(any(line.startswith("heddle: %s: " % name) and text in line for line in said), "nothing about %s: %s" % (name, said))
    s.same(len(said), 4, "messages")


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(word) for word in f.read().split()]


def started(s, p):
    """Waits until the first target is being searched; returns the process that does it."""
    until = time.monotonic() + 30
    while time.monotonic() < until and p.poll() is None:
        for child in children(p.pid):
            if children(child):
                return child
        time.sleep(0.01)
    s.check(False, "no search was started")


@each("SIGKILL", "SIGABRT")
def test_a_search_that_dies(s, name):
    """Whatever ends the process of one target, the others are searched."""
    common.build(s, "clean")
    s.build_text(ENDLESS, name="endless")
    config(s, target("endless", 'strategy = "optimal"') + target("clean"))
    p = subprocess.Popen([s.heddle, "check", "--json", "r.json"], cwd=s.dir, env=s.env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    os.kill(started(s, p), getattr(signal, name))
    out, err = p.communicate(timeout=60)
    s.same(p.returncode, 3 if name == "SIGKILL" else 4, "exit code; it said: " + out + err)
    s.same([t["verdict"] for t in json.loads(s.read("r.json"))["targets"]], ["error", "clean"], "verdicts")
    s.check("heddle: endless: the search was ended by " + name in err, err)


@each("SIGINT", "SIGTERM")
def test_interrupted(s, name):
    """The search under way ends in order, the others are not begun, and all of that is told."""
    common.build(s, "clean")
    s.build_text(ENDLESS, name="endless")
    config(s, target("clean", 'name = "first"') + target("endless", 'strategy = "optimal"') + target("clean"))
    p = subprocess.Popen([s.heddle, "check", "--json", "r.json"], cwd=s.dir, env=s.env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    s.check(any(line.startswith("first ") for line in iter(p.stdout.readline, "")), "no row of the first target")
    child = started(s, p)
    os.kill(p.pid, getattr(signal, name))
    out, err = p.communicate(timeout=60)
    s.same(p.returncode, 5, "exit code; it said: " + out + err)
    r = json.loads(s.read("r.json"))
    s.same([t["verdict"] for t in r["targets"]], ["clean", "stopped", "skipped"], "verdicts")
    s.same(r["targets"][1]["result"]["stopped"], "interrupted", "what stopped it")
    s.check(not os.path.exists("/proc/%d" % child), "the search goes on")


def test_at_a_terminal(s):
    """The live line names the target and fits the width; Ctrl-C, which all processes get, ends the search in order."""
    common.build(s, "clean")
    s.build_text(ENDLESS, name="endless")
    config(s, target("endless", 'strategy = "optimal"', 'name = "%s"' % ("long" * 20)) + target("clean"))
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(s.dir)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        os.execve(s.heddle, [s.heddle, "check", "--json", "r.json"], s.env)
    out, pressed = b"", False
    while True:
        try:
            out += os.read(fd, 65536)
        except OSError:
            break
        if not pressed and b"executions," in out:
            os.write(fd, b"\x03")
            pressed = True
    s.same(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 5, "exit code; it said: %r" % out)
    os.close(fd)
    s.same([t["verdict"] for t in json.loads(s.read("r.json"))["targets"]], ["stopped", "skipped"], "verdicts")
    live = [part for part in out.decode().split("\r\033[K") if "executions," in part]
    s.check(live and all(re.match(r"(long)+.*\.\.\..*long: [0-9]", part) for part in live), "live lines: %s" % live)
    s.check(all(len(part.replace("^C", "").split("\r")[0]) < 60 for part in live), "live lines: %s" % live)


# ---- mistakes in the file ----

MISTAKES = {
    "syntax": ("[defaults\n", "1:10: expected ]"),
    "string": ('[[target]]\nprogram = "./x\n', "2:11: unterminated string"),
    "bare": ("[defaults]\nstrategy = optimal\n", '2:12: optimal is not a value; text needs quotes: "optimal"'),
    "duplicate": ('[defaults]\nseed = 1\nseed = 2\n', "3:1: `seed` is defined twice, first on line 2"),
    "unknown": ('[defaults]\n  stratgy = "auto"\n', "2:3: unknown key `stratgy`; do you mean `strategy`?"),
    "unknown-target": ('[[target]]\nprogramm = "./x"\n', "2:1: unknown key `programm`; do you mean `program`?"),
    "unknown-top": ("[default]\n", "1:2: unknown key `default`; do you mean `defaults`?"),
    "unknown-far": ('[defaults]\nbananas = 1\n', "2:1: unknown key `bananas`; keys are the long options"),
    "top": ('time = "5s"\n', "1:1: `time` belongs below [defaults]"),
    "one-bracket": ('[target]\nprogram = "./x"\n', "1:2: write [[target]], in two brackets"),
    "flag": ('[defaults]\nall = "yes"\n', "2:7: `all` needs true or false, not a string"),
    "number": ('[defaults]\nseed = "5"\n', "2:8: `seed` needs a whole number, not a string"),
    "negative": ("[defaults]\nseed = -5\n", "2:8: seed needs a whole number of at least 0, not '-5'"),
    "text": ("[defaults]\nstrategy = 5\n", "2:12: `strategy` needs a string, not a whole number"),
    "value": ('[defaults]\nstrategy = "best"\n', "2:12: unknown strategy 'best'; known are: auto"),
    "time": ('[defaults]\ntime = "soon"\n', "2:8: time needs a time such as 90s"),
    "list": ('[defaults]\nignore = ["leak",\n "no-such-kind"]\n', "3:2: unknown kind of finding 'no-such-kind'"),
    "list-type": ('[defaults]\nignore = [5]\n', "2:11: `ignore` needs a string or a list of them"),
    "args": ('[[target]]\nprogram = "x"\nargs = ["a", 3]\n', "3:14: an argument is a string"),
    "args-type": ('[[target]]\nprogram = "x"\nargs = "a"\n', "3:8: `args` needs a list of strings"),
    "env": ('[[target]]\nprogram = "x"\n[target.env]\nA = 1\n', "4:5: `A` needs a string"),
    "program": ('[[target]]\nname = "x"\n', "1:1: this target has no program"),
    "no-program": ('[[target]]\nprogram = ""\n', "2:11: `program` is empty"),
    "name": ('[[target]]\nname = "a/b"\nprogram = "x"\n', "2:8: a target's name is the name of a folder"),
    "name-number": ('[[target]]\nprogram = "./12"\n', "2:11: a target's name"),
    "names": ('[[target]]\nprogram = "a"\n[[target]]\nprogram = "b/a"\n', "4:11: two targets are called `a`, the first in line 1"),
    "for-all": ('[[target]]\nprogram = "a"\njson = "x"\n', "3:1: `json` is for all targets together; put it into [defaults]"),
    "command": ('[defaults]\nresume = "x"\n', "2:1: `resume` is for the command line"),
    "together": ('[[target]]\nprogram = "a"\nstrategy = "random"\npreemptions = 2\n', "1:1: target `a`: --preemptions is for strategies"),
    "none": ("[defaults]\nseed = 1\n", " has no targets: add [[target]]"),
    "escape": ('[defaults]\n"a\\u001b\\nb" = 1\n', "2:1: unknown key `a? b`"),
    "utf8": (b"# \xff\n", "1:3: not UTF-8"),
}


@each(*MISTAKES)
def test_mistakes(s, name):
    """File, line and column, and what to do; nothing is run."""
    text, said = MISTAKES[name]
    config(s, text)
    before = common.snapshot(s)
    common.refused(s, [s.heddle, "check"], 2, "heddle.toml" + (":" if said[0].isdigit() else "") + said)
    s.same(common.snapshot(s), before, "files")


def test_no_file(s):
    common.refused(s, [s.heddle, "check"], 2, "no program given", "heddle.toml", "heddle init", cwd="/")
    common.refused(s, [s.heddle, "check", "--config", "gone.toml"], 2, "gone.toml", "No such file")
    common.refused(s, [s.heddle, "check", "--config", "no/gone.toml"], 2, "no/gone.toml", "No such file")
    common.refused(s, [s.heddle, "check", "--config", "."], 2, "directory")


def test_every_option_is_documented(s):
    """docs/config.md has every option of heddle check, as a key or as what it is on the command line alone."""
    with open(os.path.join(os.path.dirname(os.path.dirname(common.HERE)), "docs", "config.md")) as f:
        page = f.read()
    text = s.run([s.heddle, "help", "check"]).stdout.split("Strategies:")[0]
    keys = set(re.findall(r"^  --([a-z-]+)", text, re.M)) - {"help"}
    s.check(len(keys) > 25, "options: %s" % keys)
    for key in sorted(keys):
        s.check(re.search(r"`(--)?%s\b" % key, page), "docs/config.md says nothing about `%s`" % key)
        config(s, "[defaults]\n%s = 2020-01-01\n" % key)
        only = key in ("save", "resume", "config", "target")
        common.refused(s, [s.heddle, "check"], 2, "heddle.toml:2:1: `%s` is for the command line" % key if only
                       else "heddle.toml:2:%d: `%s` needs" % (len(key) + 4, key))


# ---- heddle init ----

def test_init(s):
    """It finds what was built with heddle cc, and the file works as it is."""
    common.build(s, "clean")
    s.build_text(RACE, name="race")
    os.makedirs(s.path("build/tests"))
    os.rename(s.path("clean"), s.path("build/tests/clean"))
    s.run(["gcc", "race.c", "-o", "plain", "-pthread"])
    os.symlink("race", s.path("link"))
    p = s.run([s.heddle, "init"])
    s.check("with 2 targets" in p.stderr, p.stderr)
    before = s.read("heddle.toml")
    common.refused(s, [s.heddle, "init"], 2, "heddle.toml is there already", "--force")
    s.same(s.read("heddle.toml"), before, "the file that was there")
    s.same(list(check(s, want=1)[1]), ["clean", "race"], "targets")
    os.mkdir(s.path("more"))
    os.link(s.path("race"), s.path("more/race"))
    s.run([s.heddle, "init", "--force", "--quiet"])
    s.same(sorted(check(s, want=1)[1]), ["clean", "more-race", "race"], "targets with the same name")
    common.refused(s, [s.heddle, "init", "there"], 2, "takes no arguments")


def test_init_comments(s):
    """Each line that is only to be uncommented is right."""
    p = s.run([s.heddle, "init"])
    s.check("add a [[target]]" in p.stderr, p.stderr)
    text = s.read("heddle.toml")
    common.refused(s, [s.heddle, "check"], 2, "heddle.toml has no targets")
    common.build(s, "clean")
    os.mkdir(s.path("tests"))
    s.write("heddle.supp", "leak:main\n")
    s.write("tests/queue.txt", "")
    head, tail = text.split("#[[target]]\n")
    used = 0
    for line in head.splitlines():
        if re.match(r"#[a-z-]+ = ", line):
            changed = head.replace(line, line[1:]).replace("make tests", "true")
            config(s, changed + target("clean"))
            check(s, "--strategy", "optimal", "--max-executions", "5", want=[0, 5])
            used += 1
    tail = re.sub(r"^#(?=[a-z]+ = )", "", tail, flags=re.M)
    config(s, head + "[[target]]\n" + tail.replace("queue_test", "clean").replace("make", "true"))
    s.same(list(check(s, want=0)[1]), ["queue-small"], "the target of the comments")
    s.check(used >= 7, "only %d lines were tried" % used)


def test_init_cannot_write(s):
    os.mkdir(s.path("heddle.toml"))
    common.refused(s, [s.heddle, "init", "--force"], 3, "heddle.toml")

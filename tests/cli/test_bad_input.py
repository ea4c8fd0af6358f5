"""Bad input beyond the command line: each gives one clear line, the right exit status, and nothing half-written."""
import os
import random
import resource
import shutil
import subprocess
import time

import common
from scratch import each


def nobody(command):
    """The command without root's powers, or as it is when we have none."""
    if os.getuid() != 0:
        return command
    return ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *command]


def test_read_only_folder(s):
    program = common.build(s, "race")
    os.chmod(s.dir, 0o555)
    try:
        before = common.snapshot(s)
        common.refused(s, nobody([s.heddle, "check", "--", program]), 3, ".heddle", "--out")
        s.same(common.snapshot(s), before, "files")
    finally:
        os.chmod(s.dir, 0o755)


def test_read_only_folder_run(s):
    program = common.build(s, "clean")
    os.chmod(s.dir, 0o555)
    try:
        p = s.run(nobody([s.heddle, "run", "--", program]), want=None)
        s.check(p.returncode in (0, 3) and len(p.stderr.splitlines()) <= 1, "got %d: %s" % (p.returncode, p.stderr))
    finally:
        os.chmod(s.dir, 0o755)


def test_unreadable_program(s):
    program = common.build(s, "race")
    os.chmod(s.path("race"), 0o711)
    os.chmod(s.dir, 0o777)
    common.refused(s, nobody([s.heddle, "check", "--", program]), 3, "./race", "ermission")
    s.same(s.findings(), [], "findings")


def test_folder_gone(s):
    common.build(s, "race")
    os.mkdir(s.path("gone"))
    common.refused(s, ["sh", "-c", "cd gone && rmdir ../gone && exec %s check ../race" % s.heddle], 3)


def test_output_full(s):
    """/dev/full as standard output: noticed, not silent."""
    program = common.build(s, "clean")
    with open("/dev/full", "w") as full:
        p = subprocess.run([s.heddle, "check", "--json", "-", "--max-executions", "5", "--", program], cwd=s.dir,
                           stdout=full, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60)
    s.last = "heddle check --json - > /dev/full"
    s.check(p.returncode == 3, "exit status %d, expected 3: %r" % (p.returncode, p.stderr))


def test_output_lost(s):
    """The same of what is for people: it is said, and is no success; a finding stays one."""
    clean, race = common.build(s, "clean"), common.build(s, "race")
    for code, words in ((3, ["check", "--", clean]), (1, ["check", "--", race]), (3, ["help"]), (3, ["list"]),
                        (3, ["--version"])):
        with open("/dev/full", "w") as full:
            p = subprocess.run([s.heddle, *words], cwd=s.dir, stdout=full, stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, text=True, timeout=60)
        s.last = "heddle %s > /dev/full" % " ".join(words)
        s.same(p.returncode, code, "exit status")
        s.check("heddle: cannot write to standard output: No space left on device" in p.stderr, p.stderr)


@each(">&-", "2>&-", "<&-", ">&- 2>&- <&-")
def test_closed(s, how):
    """Without standard descriptors the program is checked as well."""
    program = common.build(s, "race")
    s.run(["sh", "-c", "exec %s check --json out.json -- %s %s" % (s.heddle, program, how)], want=1)
    s.check(".heddle/1" in s.read("out.json"), "no finding")
    s.replay(times=1)


def test_replay_interrupted(s):
    """Ctrl-C ends replays without a word about the finding."""
    s.search("check", common.build(s, "race"), want=1)
    p = s.run(["timeout", "-s", "INT", "--preserve-status", "1", s.heddle, "replay", "--times", "10000000", ".heddle/1"],
              want=5)
    s.check("heddle: interrupted" in p.stderr, p.stderr)
    s.check("likely cause" not in p.stderr and "not reproduced" not in p.stderr, p.stderr)


def test_number_for_folder(s):
    s.search("check", common.build(s, "race"), want=1)
    common.refused(s, [s.heddle, "replay", "1"], 2, "1: no such folder; did you mean .heddle/1?")


def test_no_memory(s):
    """An address space too small for what a controlled run needs."""
    program = common.build(s, "clean")

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))
    common.refused(s, [s.heddle, "check", "--", program], 3, "memory", preexec_fn=limit)
    s.same(s.findings(), [], "findings")


def test_no_memory_for_stacks(s):
    """A thread whose stack cannot be had: pthread_create fails as it would natively, or one line says so."""
    program = common.build(s, "threads")
    p = s.run([s.heddle, "check", "--max-executions", "3", "--", program, "4", "400000000"], want=None)
    s.check(p.returncode in (0, 3), "exit status %d: %s" % (p.returncode, p.stderr))
    if p.returncode == 3:
        s.check(len(p.stderr.splitlines()) == 1 and "stack" in p.stderr, "unclear: " + p.stderr)


def test_thread_limit(s):
    """More threads than a controlled run has room for: one line that names the limit, or pthread_create fails."""
    program = common.build(s, "threads")
    p = s.run([s.heddle, "check", "--max-executions", "2", "--", program, "1500"], want=None)
    s.check(p.returncode in (0, 3), "exit status %d: %s %s" % (p.returncode, p.stdout, p.stderr))
    if p.returncode == 3:
        s.check(len(p.stderr.splitlines()) == 1 and "thread" in p.stderr, "unclear: " + p.stderr)


def test_process_limit(s):
    """No more kernel threads to be had."""
    program = common.build(s, "threads")
    os.chmod(s.dir, 0o777)
    command = [s.heddle, "check", "--max-executions", "3", "--", program, "20"]
    p = s.run(nobody(["sh", "-c", "ulimit -u 3; exec \"$@\"", "sh", *command]), want=None)
    s.check(p.returncode in (0, 3), "exit status %d: %s %s" % (p.returncode, p.stdout, p.stderr))
    if p.returncode == 3:
        s.check(len(p.stderr.splitlines()) == 1, "more than one line: " + p.stderr)


def test_no_threads(s):
    program = common.build(s, "nothreads")
    r = s.search("check", program, "--max-executions", "50")
    s.is_clean(r, 1)
    s.same(r["verdict"], "clean", "verdict")
    s.check("never started a thread" in r["out"] + r["err"], "does not say that there were no threads")


@each("sleep", "yield", "spin", "print")
def test_never_ends(s, how):
    """Cut at the bound of its length, counted, and told."""
    program = common.build(s, "forever")
    r = s.search("check", program, "--max-length", "1000", "--max-executions", "20", args=[how])
    s.check(not [f for f in r["findings"] if f["kind"] != "livelock"], "found: %s" % r["findings"])
    if not r["findings"]:
        s.check(r["cut"] == 20, "%d executions cut, expected 20" % r["cut"])
        s.check("cut" in r["out"] + r["err"], "says nothing of the cut executions: " + r["out"] + r["err"])


@each("sleep", "yield", "spin", "print")
def test_never_ends_time(s, how):
    program = common.build(s, "forever")
    began = time.monotonic()
    s.search("check", program, "--time", "1s", "--max-length", "1000000000", args=[how])
    s.check(time.monotonic() - began < 8, "--time 1s took %.1f s" % (time.monotonic() - began))


def test_never_ends_blind(s):
    program = common.build(s, "forever")
    r = s.search("check", program, "--hang-timeout", "1s", args=["blind"])
    f = s.is_bug(r, ["hang"])
    s.check(any(w["function"] == "blind" for w in f["where"]), "the loop is not shown")


def test_hang_stays_hang_in_run(s):
    program = common.build(s, "forever")
    r = s.search("run", program, "--hang-timeout", "1s", args=["blind"])
    s.is_bug(r, ["hang"])


def test_shared_library_as_program(s):
    s.write("m.c", "int f(void) { return 0; }")
    s.run(["gcc", "-shared", "-fPIC", "m.c", "-o", "library.so"])
    common.refused(s, [s.heddle, "check", "--", "./library.so"], 2, "shared library")


@each("100", "3000")
def test_damaged_program(s, size):
    """A program of which the end is missing is damaged, not "static" or "not built with heddle cc"."""
    common.build(s, "race")
    with open(s.path("race"), "rb") as f:
        s.write("cut", f.read()[:int(size)])
    os.chmod(s.path("cut"), 0o755)
    common.refused(s, [s.heddle, "check", "--", "./cut"], 2, "damaged")


def test_empty_program_name(s):
    common.refused(s, [s.heddle, "check", "--", ""], 2, "no program")


def test_suppression_summary(s):
    """A search that ran all its executions does not say that it stopped at the first finding."""
    program = common.build(s, "race")
    s.write("rules", "deadlock:worker\n")
    r = s.search("check", program, "--suppressions", "rules", "--max-executions", "100")
    s.is_bug(r, ["data-race"])
    s.check(r["executions"] < 100 or "stopped at the first one" not in r["out"], "says it stopped, after all 100")


UNSUPPORTED = ["futex"]


@each(*UNSUPPORTED)
def test_unsupported(s, what):
    """A call that cannot be controlled is named, with the place where it was made."""
    program = common.build(s, "unsupported")
    line = next(n for n, l in enumerate(s.read("unsupported.c").splitlines(), 1) if 'CASE("%s")' % what in l)
    command = [s.heddle, "check", "--strategy", "random", "--hang-timeout", "5s", "--", program, what]
    p = common.refused(s, command, 3, what, "unsupported.c:%d" % line, stdout=None)
    s.check("stopped by an error" in p.stdout, "does not say that the search was stopped: " + p.stdout)
    s.same(s.findings(), [], "findings")


# ---- folders of findings ----

def stored(s):
    program = common.build(s, "race")
    s.is_bug(s.search("check", program), ["data-race"])
    return ".heddle/1"


PARTS = ["schedule", "finding.json", "command.json", "trace"]


@each(*PARTS)
def test_part_missing(s, part):
    folder = stored(s)
    os.remove(s.path(folder, part))
    common.refused(s, [s.heddle, "replay", folder], 2, part)


@each(*PARTS)
def test_part_truncated(s, part):
    folder = stored(s)
    data = s.read(os.path.join(folder, part))
    for cut in (0, 1, len(data) // 2, len(data) - 2):
        s.write(os.path.join(folder, part), data[:cut])
        common.refused(s, [s.heddle, "replay", folder], 2, part)


@each(*PARTS)
def test_part_garbage(s, part):
    folder = stored(s)
    for garbage in (random.Random(1).randbytes(3000), b"\x1b[31mred", b"\x0bxyz", b"\0" * 100,
                    b"A" * 100000, b"{}\n", b"heddle-schedule 1\n", b"[1, 2]\n"):
        s.write(os.path.join(folder, part), garbage)
        common.refused(s, [s.heddle, "replay", folder], 2, part)


@each(("version", "heddle-schedule 1", "heddle-schedule 2"), ("seed", "seed 1", "seed one"),
      ("kind", "data-race", "data-rice"), ("steps", "steps ", "steps 9"),
      ("restart", "restart memory", "restart disk"), ("order", "seed 1\nexecution", "execution"))
def test_schedule_wrong(s, parameter):
    _, old, new = parameter
    folder = stored(s)
    text = s.read(folder + "/schedule")
    s.check(old in text, "'%s' is not in the schedule" % old)
    s.write(folder + "/schedule", text.replace(old, new, 1))
    common.refused(s, [s.heddle, "replay", folder], 2, "schedule")


def test_schedule_impossible(s):
    """A well-formed schedule that the program cannot follow is a divergence, told with the operation."""
    folder = stored(s)
    lines = s.read(folder + "/schedule").splitlines()
    at = next(i for i, l in enumerate(lines) if l.startswith("steps "))
    lines[at:] = ["steps 3", "5*3", "end"]
    s.write(folder + "/schedule", "\n".join(lines) + "\n")
    p = s.run([s.heddle, "replay", "--original", folder], want=[3, 4])
    s.check("step" in p.stderr or "thread" in p.stderr, "unclear: " + p.stderr)


def test_folder_moved(s):
    """A folder of a finding can be moved and replayed from elsewhere."""
    folder = stored(s)
    shutil.move(s.path(folder), s.path("elsewhere"))
    s.replay("elsewhere")
    os.mkdir(s.path("below"))
    s.replay("../elsewhere", cwd=s.path("below"))


def test_foreign_folder(s):
    """.heddle with other people's things in it is used and left as it is."""
    s.write(".heddle/notes", "mine")
    s.write(".heddle/7/notes", "mine")
    os.mkdir(s.path(".heddle", "x1"))
    program = common.build(s, "race")
    r = s.search("check", program)
    s.same(s.is_bug(r, ["data-race"])["replay"], ".heddle/8", "folder")
    s.same(s.read(".heddle/notes") + s.read(".heddle/7/notes"), "minemine", "the files that were there")
    common.refused(s, [s.heddle, "replay", ".heddle/7"], 2, "schedule")


def test_store_is_a_file(s):
    s.write(".heddle", "")
    program = common.build(s, "race")
    common.refused(s, [s.heddle, "check", "--", program], 3, ".heddle", "--out")


def test_rebuilt(s):
    """A rebuilt program that behaves otherwise: said clearly, no finding claimed."""
    folder = stored(s)
    s.write("race.c", s.read("race.c").replace("counter++;", "if (arg) counter++;"))
    s.cc("race.c", "race", "-O1")
    p = s.run([s.heddle, "replay", folder], want=3)
    s.check("rebuilt" in p.stderr, "does not say that the program was rebuilt: " + p.stderr)


def test_runtime_gone(s):
    """The runtime library is not where the program looks for it."""
    program = common.build(s, "clean")
    p = s.run([program], want=0)
    data = open(s.path("clean"), "rb").read()
    where = os.path.dirname(s.runtime).encode()
    s.check(where in data, "no path to the runtime in the program")
    with open(s.path("clean"), "wb") as f:
        f.write(data.replace(where, b"/" + b"x" * (len(where) - 1)))
    r = s.search("check", program, "--max-executions", "20")  # heddle knows where its own runtime is
    s.is_clean(r, 2)
    s.check(p.returncode == 0, "")


OTHER = """#include <pthread.h>
#include <unistd.h>
static int x;
/* Ends as the runtime of another version does, once there is a file "other". */
__attribute__((constructor(101))) static void start(void) {
  if (access("other", F_OK) == 0) _exit(96);
}
static void *add(void *p) {
  x++;
  return p;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, add, 0);
  x++;
  pthread_join(t, 0);
  return 0;
}
"""


def test_other_version(s):
    """A program linked with another version is named as such by every verb that runs it, replay included."""
    s.write("p.c", OTHER)
    s.cc("p.c", "p", "-g")
    s.run([s.heddle, "check", "--quiet", "--", "./p"], want=1)
    s.write("other", "")
    for words in (["check"], ["run"], ["record", "-o", "t.trace"], ["predict"], ["aim", "p.c:9"]):
        common.refused(s, [s.heddle, *words, "--", "./p"], 3, "link it again with heddle cc")
    for verb, status in (("replay", 3), ("explain", None)):
        said = s.run([s.heddle, verb, ".heddle/1"], want=status).stderr
        s.check("link it again with heddle cc" in said, "%s: %s" % (verb, said))

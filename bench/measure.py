"""Building the benchmark programs, running commands on one core, and comparing them fairly.

Programs to compare run interleaved (A B A B ...), so that other work on the machine affects all of them alike. The best
repetition counts: noise only adds. Costs are differences of CPU
time (user and system, of the command and of every process it waited for) between a long and a short run of
the same program, so that start-up, page faults of the first touch and reading arguments cancel out."""
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
TIMEOUT = 120  # seconds; a command that takes longer hangs, and is killed

# What a benchmarked program may take: steps are not cut, and no detection is slowed down or left out.
RUN = ["run", "--quiet", "--max-length", "100000000"]


class Failure(Exception):
    """A command that had to work did not."""


class Result:
    """One finished command."""

    def __init__(self, command, status, cpu, wall, out, err):
        self.command, self.status, self.cpu, self.wall, self.out, self.err = command, status, cpu, wall, out, err


class Lab:
    """A place to build and run in."""

    def __init__(self, build, quick):
        self.heddle = os.path.join(os.path.abspath(build), "heddle")
        if not os.access(self.heddle, os.X_OK):
            raise Failure("no %s; run `make build` first" % os.path.join(build, "heddle"))
        self.tmp = tempfile.TemporaryDirectory(prefix="heddle-bench-")
        self.dir = self.tmp.name
        self.quick = quick
        self.cpu = max(os.sched_getaffinity(0))
        self.flat = self._flat()

    @staticmethod
    def _flat():
        """ThreadSanitizer's shadow does not fit every randomised layout: run it without randomisation."""
        try:
            ok = subprocess.run(["setarch", "-R", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0
        except FileNotFoundError:
            ok = False
        return ["setarch", "-R"] if ok else []

    def build(self, how, program, name, defines=()):
        """how: heddle, native or tsan, a dash, and the compiler. Returns the path of the program."""
        kind, compiler = how.split("-", 1)
        out = os.path.join(self.dir, "%s.%s" % (name, how))
        if os.path.exists(out):
            return out
        source = os.path.join(PROGRAMS, program + ".c")
        flags = ["-O2", "-g", "-pthread", *defines, source, "-o", out, "-lm"]
        command = {
            "heddle": [self.heddle, "cc", "--heddle-compiler=" + compiler],
            "native": [compiler],
            "tsan": [compiler, "-fsanitize=thread"],
        }[kind] + flags
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failure("cannot compile: %s\n%s" % (" ".join(command), done.stderr))
        return out

    def start(self, command, out, err, env=None, cpu=None):
        return subprocess.Popen(["taskset", "-c", str(self.cpu if cpu is None else cpu), *command], cwd=self.dir, stdin=subprocess.DEVNULL,
                                stdout=out, stderr=err, env=env)

    def run(self, command, env=None, statuses=(0,), cpu=None):
        """Runs to the end, pinned to one core (by default always the same)."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            began = time.monotonic()
            p = self.start(command, out, err, env, cpu)
            watchdog = threading.Timer(TIMEOUT, p.kill)
            watchdog.start()
            _, status, usage = os.wait4(p.pid, 0)
            watchdog.cancel()
            wall = time.monotonic() - began
            p.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            err.seek(0)
            r = Result(command, p.returncode, usage.ru_utime + usage.ru_stime, wall, out.read(), err.read())
        if r.status not in statuses:
            raise Failure("exit status %d: %s\n%s" % (r.status, " ".join(command), r.err.decode(errors="replace")))
        return r

    def best(self, commands, repeat, key="cpu", env=None, best=None, statuses=(0,)):
        """Runs {name: command} interleaved, `repeat` times each. Returns {name: best Result}; `best` is what an
        earlier call returned, to go on from."""
        best = best or {}
        for _ in range(repeat):
            for name, command in commands.items():
                r = self.run(command, env, statuses)
                if name not in best or getattr(r, key) < getattr(best[name], key):
                    best[name] = r
        return best

    def summary(self, *words):
        """The --json object of `heddle WORDS`, which must have found nothing and cut nothing."""
        path = os.path.join(self.dir, "summary.json")
        words = list(words)
        r = self.run([self.heddle, words[0], "--quiet", "--json", path, *words[1:]])
        with open(path, encoding="utf-8") as f:
            s = json.load(f)
        if s["findings"] or s["cut"]:
            raise Failure("a finding, or a cut execution, where there is none: %s" % " ".join(r.command))
        s["cpu"] = r.cpu
        return s

    def under(self, program, *args):
        """The command that runs a program once under Heddle."""
        return [self.heddle, *RUN, "--", program, *map(str, args)]


def hooks(program, function):
    """How many read and write hooks the code of a function calls, as (reads, writes)."""
    try:
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True,
                              check=True).stdout
    except (OSError, subprocess.CalledProcessError) as e:
        raise Failure("cannot read the code of %s: %s" % (function, e)) from e
    inside, calls = False, []
    for line in text.splitlines():
        if line.endswith(">:"):  # gcc may add a suffix to the name of a function it specialised
            inside = line.split("<", 1)[1][:-2].split(".")[0] == function
        elif inside and ("call" in line or "jmp" in line):
            calls.append(line)
    return sum("__tsan_read" in c for c in calls), sum("__tsan_write" in c for c in calls)


def tested_process(supervisor):
    """The child of a running `heddle`, or None."""
    try:
        with open("/proc/%d/task/%d/children" % (supervisor, supervisor), encoding="ascii") as f:
            children = f.read().split()
        return int(children[0]) if children else None
    except OSError:
        pass
    for entry in os.listdir("/proc"):  # a kernel without that file
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % entry, encoding="ascii", errors="replace") as f:
                if int(f.read().rsplit(")", 1)[1].split()[1]) == supervisor:
                    return int(entry)
        except (OSError, ValueError, IndexError):
            continue
    return None


def resident(pid):
    """KiB of resident memory: counted by the kernel page by page, where it offers that, since the cheap
    counter of /proc/PID/status lags behind."""
    for name, field in (("smaps_rollup", "Rss:"), ("status", "VmRSS:")):
        try:
            with open("/proc/%d/%s" % (pid, name), encoding="ascii", errors="replace") as f:
                for line in f:
                    if line.startswith(field):
                        return int(line.split()[1])
        except OSError:
            continue
    return None


def say(text):
    """Progress, on standard error: the table alone goes to standard output."""
    print(text, file=sys.stderr, flush=True)

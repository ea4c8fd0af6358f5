#!/usr/bin/env python3
"""Generates docs/supported.md: how the runtime handles each function and system call.

usage: scripts/supported.py [--check] [--library build/lib/heddle/libheddle_rt.so]

It reads the sources in src/runtime after preprocessing, since macros define many of the functions. Exported functions
are listed; the family of a function is the first sentence of its file's opening comment, and its status follows from
its code. --check writes nothing and exits with 1 when the page is out of date. --library also compares the list with
the symbols that the built runtime exports.
"""
import argparse
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs/supported.md")
RUNTIME = os.path.join(ROOT, "src/runtime")

CONTROLLED, PASSED, REFUSED = "controlled", "passed through", "refused"
EXPORT = 'visibility("default")'
NAME = re.compile(r"(\w+)\s*\((?:[^()]|\([^()]*\))*\)\s*(?:__asm__\s*\(\s*\"(\w+)\"\s*\)\s*)?$")

HEAD = """\
# Supported functions and system calls

`scripts/supported.py` generates this page from the sources of the runtime. It describes a program that runs under
`heddle`; started on its own, the program uses the original functions. The [glossary](glossary.md) defines the terms.

- **controlled**: Heddle implements the function.
- **passed through**: the original runs, and Heddle records its effects: the memory it reads and writes counts as
  accessed, handlers are remembered, and changes that a restart must undo are noted.
- **refused**: the search ends with a message that names the function and the place of the call, and exit code 3.

The last column names the operation (`src/model/ops.def`) of the call in schedules and events. A *memory access* is a
scheduling point only where threads contend for the memory (see
[soundness.md](soundness.md#which-operations-are-scheduling-points)).

Functions that are not listed run unchanged, as code without instrumentation
([soundness.md](soundness.md#code-without-instrumentation)). If such a function makes a system call, the list of system
calls at the end applies to it.
"""

# Operations that a call performs in another file of the runtime.
ELSEWHERE = {"hd__thread_create(": "create", "hd__thread_join(": "join", "hd__thread_detach(": "detach",
             "hd__mutex_lock(": "lock", "hd__mutex_trylock(": "trylock", "hd__mutex_lock_until(": "timedlock",
             "hd__mutex_unlock(": "unlock", "hd__mutex_destroy(": "mutex-destroy", "hd__mutex_init(": "mutex-init", "hd__cond_init(": "cond-init", "hd__cond_wait(": "wait, wake",
             "hd__cond_signal(": "signal", "hd__cond_broadcast(": "broadcast", "hd__cond_destroy(": "cond-destroy",
             "hd__once(": "once, once-done", "hd__sleep(": "sleep", "pthread_exit(": "exit",
             "hd__access_": "memory access", "hd__atomic_load(": "memory access", "hd__atomic_store(": "memory access",
             "hd__atomic_rmw(": "memory access", "hd__atomic_exchange(": "memory access", "hd__atomic_cas(": "memory access",
             "hd__change(": "change", "hd__lookup(": "look-up",
             "hd__heap_free": "free", "hd__thread_exit": "exit"}

# What serve() in sysguard.c does with a system call, keyed by a call in its code; the first match wins.
ACTIONS = [
    ("fill_random", "random bytes come from the seed, also those of /dev/urandom"),
    ("hd__sigaction_call", "virtual: handlers are kept in the runtime"),
    ("hd__altstack_call", "virtual: handlers run on the stack of their thread"),
    ("hd__signals_mask", "virtual: the mask is kept in the runtime"),
    ("virtual_time", "virtual: the same in every run"),
    ("virtual_usage", "all zero"),
    ("virtual_gettimeofday", "virtual: the same in every run"),
    ("time((time_t", "virtual: the same in every run"),
    ("hd__file_changes", "passed through; a restart restores the contents of the file"),
    ("hd__signalfd_", "virtual: reports signals that threads send; closed at a restart"),
    ("hd__timerfd_", "virtual: a timer descriptor follows virtual time; closed at a restart"),
    ("hd__sync_is_idle", "does not wait for the disk: a restart restores the file; in `heddle run` passed through"),
    ("hd__socket_option", "passed through; time limits of sockets are virtual"),
    ("hd__socket_query", "passed through; the number of the process is the virtual one"),
    ("hd__pid()", "virtual: the same in every run"),
    ("hd__ppid()", "virtual: the same in every run"),
    ("hd__tid(", "virtual: the same in every run"),
    ("unsigned *)a[0] = 0", "always processor 0"),
    ("hd__unsupported", "refused"),
    ("hd__exit_now", "ends the execution, not the process"),
    ("do_futex", "controlled; called directly, it is an operation of the schedule only when it waits or wakes a waiter; "
                 "through `syscall()` everything but `FUTEX_WAIT_REQUEUE_PI` and `FUTEX_CMP_REQUEUE_PI`, which are refused"),
    ("wait_call", "polls without waiting; a finite time-out expires at once, an infinite one is refused while "
                  "another thread lives"),
    ("do_mmap", "passed through, at an address of the thread's own; unmapped at a restart"),
    ("do_mremap", "passed through"),
    ("do_madvise", "passed through; a restart restores what it empties"),
    ("do_shmat", "passed through; detached at a restart"),
    ("do_shmdt", "passed through"),
    ("do_munmap", "passed through for mappings of the execution; those from before `main` stay"),
    ("do_mprotect", "passed through; a restart restores the old protection"),
    ("mask_start", "passed through; restored at a restart"),
    ("hd__fd_dup", "passed through; a restart closes it and restores the descriptors from before `main`"),
    ("hd__fd_mode_changes", "passed through; a restart restores the flags of a description from before `main`"),
    ("do_kill", "to this process: handled by a thread, a finding if it would kill; passed through otherwise"),
    ("brk_moved", "passed through; restored at a restart"),
    ("hd__fd_close", "passed through; a restart restores the descriptors from before `main`"),
    ("hd__fd_moved", "passed through; a restart restores the offset of a descriptor from before `main`"),
    ("hd__fd_opened", "passed through; closed at a restart"),
    ("made(", "passed through; closed at a restart"),
    ("hd__socket_", "passed through; closed at a restart"),
    ("pipe_call", "passed through; closed at a restart"),
]


# ---- reading C ----

def preprocessed(path):
    """The text of the file itself, with its macros expanded and without what it includes."""
    command = [os.environ.get("CC", "gcc"), "-E", "-D_GNU_SOURCE", "-I" + os.path.join(ROOT, "src"),
               "-I" + os.path.join(ROOT, "include"), path]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("supported.py: %s\n%s" % (" ".join(command), done.stderr))
    out, own = [], True
    for line in done.stdout.splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            own = os.path.abspath(marker.group(1)) == path
        elif own and not line.startswith("#"):
            out.append(line)
    return "\n".join(out)


def skip_literal(text, i):
    """The position after the string or character literal at i."""
    quote, i = text[i], i + 1
    while text[i] != quote:
        i += 2 if text[i] == "\\" else 1
    return i + 1


def closing(text, i):
    """The position after the brace or bracket that closes the one at i."""
    depth = 0
    while True:
        c = text[i]
        if c in "\"'":
            i = skip_literal(text, i)
            continue
        depth += (c in "{(") - (c in "})")
        i += 1
        if depth == 0:
            return i


def declarations(text):
    """(head, body) of every top-level declaration; body is None without braces."""
    i = start = 0
    while i < len(text):
        c = text[i]
        if c in "\"'":
            i = skip_literal(text, i)
        elif c == "(":
            i = closing(text, i)
        elif c == "{":
            end = closing(text, i)
            head = text[start:i].strip()
            if head.endswith(")"):  # a function; else a type or an initialiser
                yield head, text[i:end]
                start = end
            i = end
        elif c == ";":
            yield text[start:i].strip(), None
            i = start = i + 1
        else:
            i += 1


def without_inactive(body):
    """The body without the branches for a process that is not controlled."""
    while True:
        m = re.search(r"if \(!hot\.active\)\s*", body)
        if not m:
            break
        if body[m.end()] == "{":
            end = closing(body, m.end())
        else:
            end = body.index(";", m.end()) + 1
        body = body[:m.start()] + body[end:]
    return re.sub(r"hot\.active[\s),1]*\?([^;:]*):[^;]*;", r"\1;", body)


class Source:
    """The functions of one file of the runtime."""

    def __init__(self, path):
        self.name = os.path.relpath(path, RUNTIME)
        base = os.path.basename(path)
        with open(path) as f:
            opening = re.match(r"/\* %s: (.*?)\*/" % re.escape(base), f.read(), re.S)
        if not opening:
            sys.exit("supported.py: %s does not open with a comment `%s: ...`" % (path, base))
        text = re.sub(r"\s*\n \*\s*", " ", opening.group(1))
        self.family = re.match(r".*?(?=[.;] |\.$|: )", text.strip() + " ").group()
        self.body, self.exported, self.symbol = {}, [], {}
        text = preprocessed(path)
        # names that our symbols really have
        versioned = dict(re.findall(r'"\.symver (\w+), (\w+)@', re.sub(r'"\s*"', "", text)))
        for head, body in declarations(text):
            bare = re.sub(r"__attribute__\s*\(\(.*?\)\)\s*(?=\w|$)", "", head) if EXPORT in head else head
            m = NAME.search(re.sub(r'"\s*"', "", bare))
            if not m:
                continue
            name, symbol = m.groups()
            entry = re.match(r"hd_in_(\w+)", name)  # the exported symbol is in arch_*.S and jumps here
            if (EXPORT in head or entry) and name not in self.exported:
                self.exported.append(name)
                self.symbol[name] = entry.group(1) if entry else versioned.get(name) or symbol or name
            if body is not None:
                self.body[name] = without_inactive(body)

    def reached(self, name):
        """The code of a function and of those of the same file that it calls, in a controlled run."""
        seen, todo = [], [name]
        while todo:
            at = todo.pop(0)
            if at in seen or at not in self.body:
                continue
            seen.append(at)
            todo += re.findall(r"\b(\w+)\s*\(", self.body[at])
        return " ".join(self.body[n] for n in seen)

    def describe(self, name, texts):
        """(status, operations) of an exported function."""
        if name not in self.body:
            sys.exit("supported.py: %s: the definition of %s was not found" % (self.name, name))
        code = self.reached(name)
        own = self.body[name]
        if "hd__unsupported(" in own:
            return REFUSED, []
        found = []
        for text in re.findall(r"(?:\b(?:hd__point(?:_open|_cancel)?|hd__request(?:_cancel)?|hd__init_object)\s*\(|struct hd_op\)\s*\{)([^;]*);", code):
            found += [texts[op] for op in re.findall(r"HD_OP_(\w+)", text) if texts[op] not in found]
        for call, text in ELSEWHERE.items():
            if call in code and text not in found:
                found.append(text)
        timed = [op for op in found if op.startswith("timed")]
        if timed:  # helpers serve both kinds: the name says which one this is
            found = timed if re.search("timed|clock", name) else [op for op in found if op not in timed]
        status = PASSED if re.search(r"\breal_\w+\s*\(", code) else CONTROLLED
        return status, found


# ---- the page ----

def operation_texts():
    with open(os.path.join(ROOT, "src/model/ops.def")) as f:
        return dict(re.findall(r'^HD_OP\((\w+),\s*"([^"]*)"', f.read(), re.M))


def grouped(rows):
    """Names that differ only in a number become one row: __tsan_read{1,2,4,8,16}."""
    order, sizes = [], {}
    for name, status, ops in rows:
        m = re.match(r"((?:__tsan|__atomic)_\D*?)(\d+)(.*)$", name)
        key = (m.group(1), m.group(3), status, ops) if m else (name, None, status, ops)
        if key not in sizes:
            order.append(key)
            sizes[key] = []
        if m:
            sizes[key].append(int(m.group(2)))
    for key in order:
        head, tail, status, ops = key
        if tail is None:
            yield "`%s`" % head, status, ops
        elif len(sizes[key]) == 1:
            yield "`%s%d%s`" % (head, sizes[key][0], tail), status, ops
        else:
            yield "`%s{%s}%s`" % (head, ",".join(map(str, sorted(sizes[key]))), tail), status, ops


def table(head, rows):
    rows = [head] + [tuple(r) for r in rows]
    width = [max(len(r[i]) for r in rows) for i in range(len(head))]
    line = "| " + " | ".join("%%-%ds" % w for w in width) + " |"
    rule = "|" + "|".join("-" * (w + 2) for w in width) + "|"
    text = [line % rows[0], rule] + [line % r for r in rows[1:]]
    return "\n".join(text) + "\n"


def system_calls():
    """(calls, what happens) of sysguard.c."""
    with open(os.path.join(RUNTIME, "kernel/sysguard.c")) as f:
        text = f.read()
    serve = re.search(r"\nlong hd__serve\(.*?\n\}\n", text, re.S).group()
    group = r"((?:\n +case SYS_\w+:[ {]*)+)(.*?)(?=\n +case |\n +default)"
    for labels, code in re.findall(group, serve, re.S):
        names = re.findall(r"SYS_(\w+)", labels)
        action = next((what for mark, what in ACTIONS if mark in code), None)
        if not action:
            sys.exit("supported.py: no words for what sysguard.c does with %s; add them to ACTIONS" % names)
        yield names, action
    yield (re.findall(r"\{SYS_(\w+), \"", text), "refused while another thread lives, passed through otherwise")
    yield from operations()


def operations():
    """(calls, what happens) of those that are operations of the schedule."""
    def read(name):
        with open(os.path.join(RUNTIME, name)) as f:
            return f.read()
    with open(os.path.join(ROOT, "src", "model", "syscalls.def")) as f:
        listed = re.findall(r"^HD_SYSCALL\((\w+), (\w+), -?\d\)$", f.read(), re.M)
    used = ("IN", "OUT", "LOCK", "SHUT", "CLOSE", "DUP", "DUP2", "RANGE", "CONTROL", "POSITION", "LOOK", "CONTENTS", "USE",
            "OPTION", "MOVE")
    io = [(n, what) for n, what in listed if what in used]
    cases = [re.search(r"\nbool hd__%s_is_op\(.*?\n\}\n" % what, read("kernel/io_%s.c" % what), re.S).group()
             for what in ("wait", "socket")]
    waits, sockets = [re.findall(r"case SYS_(\w+)", text) for text in cases]
    yield ([n for n, what in io if what in ("IN", "OUT", "LOCK")] + waits + sockets,
           "an operation of the schedule; a thread that would have to wait is blocked until it can proceed; time-outs"
           " are virtual. Output to a descriptor from before `main` is passed through")
    yield ([n for n, what in io if what not in ("IN", "OUT", "LOCK")],
           "an operation of the schedule where threads contend for the file or the descriptor")
    yield ([n for n, what in listed if what == "UNKNOWN"],
           "passed through; when other threads live, the verdict names it (reason `syscall`)")
    names = re.findall(r"\{SYS_(\w+), (\w+), -?\d, ", read("kernel/files.c"))
    yield ([n for n, what in names if what != "LOOK"],
           "passed through; a restart undoes its changes and closes what it opened. An operation of the"
           " schedule where threads contend for names")
    yield ([n for n, what in names if what == "LOOK"],
           "passed through. An operation of the schedule where threads contend for names")
    yield (["wait4", "waitid"], "an operation of the schedule, enabled when no thread can run and the child has ended")
    yield (["fork", "vfork", "clone", "clone3"],
           "the child runs natively, and is killed at a restart; with `CLONE_THREAD`: refused")
    yield (["execve", "execveat"], "the new program runs natively; the execution ends with it")
    yield (["exit_group"], "ends the execution, not the process")
    yield (["nanosleep", "clock_nanosleep"], "called directly: sleeps in virtual time")
    yield (["pause", "rt_sigsuspend"], "an operation of the schedule, enabled when a signal is pending")
    yield (re.findall(r"nr == SYS_(\w+)", re.search(r"\nbool hd__alarm_serves\(.*?\n\}\n", read("kernel/timers.c"), re.S).group()),
           "virtual: the signal arrives when virtual time reaches the deadline; timers of processor time and `SIGEV_THREAD` are"
           " refused")


def system_call_page():
    out = ["## System calls\n",
           "Heddle intercepts every system call made outside the runtime (`src/runtime/kernel/sysguard.c`), whoever makes\n"
           "it. For a call on two lines, both apply. Calls that are not listed are passed through.\n"]
    actions, order = {}, []
    for names, action in system_calls():
        if action not in actions:
            order.append(action)
        actions.setdefault(action, []).extend(names)
    for action in order:
        line = "- "
        for i, name in enumerate(actions[action]):
            word = "`%s`" % name + ("," if i + 1 < len(actions[action]) else ":")
            if len(line) + len(word) > 108:
                out.append(line.rstrip())
                line = "  "
            line += word + " "
        for word in action.split():
            if len(line) + len(word) > 108:
                out.append(line.rstrip())
                line = "  "
            line += word + " "
        out.append(line.rstrip())
    return "\n".join(out) + "\n"


CXX_TEXTS = {
    "OUT": "output to a stream", "FORMAT_OUT": "formatted output to a stream", "IN": "input from a stream",
    "FORMAT_IN": "formatted input from a stream", "STREAM_TEXT": "the text of a string stream",
    "BUFFER_TEXT": "the text of a string buffer", "BUFFER_SETS": "sets the text of a string buffer",
    "TEXT_CHANGES": "changes a string", "TEXT_MOVES": "moves a string", "TEXT_LOOKS": "reads a string",
    "TEXT_COPIES": "copies a string"}


def cxx_page():
    """The functions of libstdc++ in wrap/cxx.def, by what they do, and their symbols."""
    with open(os.path.join(RUNTIME, "wrap", "cxx.def")) as f:
        entries = re.findall(r"^HD_CXX\((\w+), \d+, (\w+),", f.read(), re.M)
    rows = [(text, str(sum(how == kind for kind, _ in entries))) for how, text in CXX_TEXTS.items()]
    out = "## Functions of libstdc++ for streams and strings of char\n\n`src/runtime/wrap/cxx.def`, which names them\n\n"
    return out + table(("what they do", "functions"), rows), {symbol for _, symbol in entries}


def page():
    texts, out, symbols = operation_texts(), [HEAD], set()
    for path in sorted(glob.glob(os.path.join(RUNTIME, "*/*.c"))):
        with open(path) as f:
            if not re.search(r"HD_EXPORT|wrap/results\.h", f.read()):
                continue
        source = Source(path)
        rows = []
        for name in source.exported:
            status, ops = source.describe(name, texts)
            symbols.add(source.symbol[name])
            rows.append((source.symbol[name], status, ", ".join(ops) or "-"))
        title = source.family
        name = re.match(r"(\w+)(?:,| and) ", title)
        if not name or name.group(1) not in source.exported:  # a title may begin with a function
            title = title[0].upper() + title[1:]
        out.append("## %s\n\n`src/runtime/%s`\n" % (title, source.name))
        out.append(table(("function", "status", "shows up as"), grouped(rows)))
    text, names = cxx_page()
    out.append(text)
    out.append(system_call_page())
    return "\n".join(out), symbols | names


def compare(symbols, library):
    """Whether the page lists exactly what the library exports."""
    command = ["nm", "-D", "--defined-only", library]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    built = {line.split()[-1].split("@")[0] for line in lines if " T " in line or " W " in line}
    for what, names in (("exported but not listed", built - symbols),
                        ("listed but not exported", symbols - built)):
        for name in sorted(names):
            print("supported.py: %s: %s" % (what, name))
    return built == symbols


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 when the page is out of date")
    parser.add_argument("--library", help="compare with what this build of the runtime exports")
    args = parser.parse_args()
    text, symbols = page()
    good = not args.library or compare(symbols, args.library)
    if not args.check:
        with open(PAGE, "w") as f:
            f.write(text)
        return 0 if good else 1
    try:
        with open(PAGE) as f:
            same = f.read() == text
    except FileNotFoundError:
        same = False
    if not same:
        print("docs/supported.md is out of date: run python3 scripts/supported.py")
    return 0 if same and good else 1


if __name__ == "__main__":
    sys.exit(main())

"""Runs every command of the documentation and compares its output with the page. Each page is one session in a folder of
its own, with the heddle of the build on PATH and a copy of examples/. pages.py describes the format of pages, not_run.py
lists the exceptions.

HEDDLE_UPDATE_GOLDEN=1 tests/run.py docs/pages      writes the current output into the pages; review the diff

Standard output and error are compared together, after NORMAL has been applied to both sides. The session's folder is shown
as /home/me, and the build folder as the installation prefix.
"""
import glob
import os
import random
import re
import shutil

import not_run
import pages
from scratch import Failed, each

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = sorted(os.path.relpath(p, ROOT) for pattern in ("*.md", "docs/*.md", "examples/*.md", "examples/*/*.md")
               for p in glob.glob(os.path.join(ROOT, pattern)))

NORMAL = ((re.compile(r"\b[0-9]+\.[0-9]+ s \([0-9.]+[kM]? per second\)"), "TIME"),     # of a search
          (re.compile(r" +[0-9]+\.[0-9]+ s(?= +[0-9])"), " TIME"),                     # of a row of targets
          (re.compile(r"last new (class|pair of conflicting lines) after [0-9.]+ s"), "NEWS"),
          (re.compile(r" +[0-9]+\.[0-9]+ sec\b|\([0-9]+ ms\b"), " TIME"),               # of ctest and GoogleTest
          (re.compile(r"\([0-9]+\.[0-9]+ s\)$"), "(TIME)"),                             # of a prediction ...
          (re.compile(r"(?<=[0-9]) +[0-9]\.[0-9]{3}$"), " TIME"),                      # ... and its detectors
          (re.compile(r"\b0x[0-9a-f]{6,}\b|\b[0-9a-f]{12,16}\b"), "ADDRESS"),          # and keys made of them
          (re.compile(r"\b[0-9]+ kB\b"), "SIZE"),                                      # of the report page
          (re.compile(r"^#[0-9]+ +"), "#N "),                                          # of gdb: Heddle's frames count
          (re.compile(r"\b[0-9]+(?===)|(?<=pid=)[0-9]+|(?<=tid=)[0-9]+"), "PID"))      # of valgrind and tsan

# One command in a shell that continues where the previous one ended: folder, exported variables, exit status.
SHELL = """. "$STATE/exports" 2>/dev/null
cd "$(cat "$STATE/folder")" && (exit "$(cat "$STATE/status")")
. "$STATE/command"
status=$?
echo $status >"$STATE/status"; pwd >"$STATE/folder"; export -p >"$STATE/exports"
exit $status"""


def normal(line):
    for pattern, word in NORMAL:
        line = pattern.sub(word, line)
    return line.rstrip()


def on_one_processor():
    """On several, a search that takes more than a second on a busy machine would be shared, and count otherwise."""
    os.sched_setaffinity(0, {random.choice(sorted(os.sched_getaffinity(0)))})


class Session:
    """The shell of one page."""

    def __init__(self, s, page):
        self.s, self.page = s, page
        self.home = s.path("home")
        os.mkdir(self.home)
        shutil.copytree(os.path.join(ROOT, "examples"), os.path.join(self.home, "examples"))
        s.write("state/folder", self.home)
        s.write("state/status", "0")
        self.env = {"PATH": s.build + ":" + s.env["PATH"], "HOME": self.home, "STATE": s.path("state"),
                    "CMAKE_PREFIX_PATH": s.build, "PYTHONUNBUFFERED": "1", "BUILD": s.build}

    def run(self, command, stdin=None):
        """(exit status, lines printed); a command in not_run.INSTEAD is replaced first."""
        if command in not_run.INSTEAD.get(self.page, {}):
            command = not_run.INSTEAD[self.page][command][0]
        self.s.write("state/command", command + "\n")
        p = self.s.run(["bash", "-c", "exec 2>&1; unset MAKEFLAGS MAKELEVEL MFLAGS; " + SHELL], cwd=self.home, env=self.env, stdin=stdin, want=None,
                       timeout=120, preexec_fn=on_one_processor)
        out = p.stdout
        for path, shown in ((self.home, "/home/me"), (self.s.build, "/usr/local")):
            out = out.replace(os.path.realpath(path), shown).replace(path, shown)
        return p.returncode, out.split("\n")[:-1] if out.endswith("\n") else out.split("\n") if out else []

    def transcript(self, step):
        """The current output of a step, with the commands typed at gdb's prompt, which gdb does not echo."""
        commands = pages.typed(step.output)
        if not commands:
            return self.run(step.command)[1]
        out = "\n".join(self.run(step.command, "".join(c + "\n" for c in commands))[1])
        parts = re.split(r"^\(gdb\) ", out, flags=re.M)
        text = parts[0]
        for command, answer in zip(commands, parts[1:]):
            text += "(gdb) %s\n%s" % (command, answer)
        return text.rstrip("\n").split("\n")


def matches(want, got):
    """Whether the lines match; `...` stands for any number of lines."""
    pattern = "".join("(?:.*\n)*" if line.strip() == "..." else re.escape(normal(line)) + "\n" for line in want)
    return re.fullmatch(pattern, "".join(normal(line) + "\n" for line in got)) is not None


def after_the_gap(want, got):
    """The number of lines that a leading `...` stands for, or 0."""
    if len(want) < 2 or want[0].strip() != "...":
        return 0
    return next((n for n, line in enumerate(got) if normal(line) == normal(want[1])), 0)


def difference(want, got):
    """The first line that differs: its index in the page's output, the actual line, the line in the page."""
    gap = after_the_gap(want, got)
    skipped = 1 if gap else 0
    for n, line in enumerate(got[gap:], skipped):
        if n >= len(want) or normal(want[n]) != normal(line):
            return n, "'%s'" % line, "'%s'" % want[n] if n < len(want) else "the end"
    n = skipped + len(got) - gap
    return n, "the end", "'%s'" % want[n]


def kept(want, got):
    """The new output for the page: keeps existing lines that are equivalent, and a leading `...`."""
    gap = after_the_gap(want, got)
    if gap:
        return want[:1] + kept(want[1:], got[gap:])
    return [want[n] if n < len(want) and normal(want[n]) == normal(line) else line.rstrip() for n, line in enumerate(got)]


def play(s, page, text, update=False):
    """Runs the page; returns its text, with the actual output if `update` is set."""
    session = Session(s, page)
    lines = text.split("\n")
    moved = 0

    def fail(at, message):
        raise Failed("%s:%d: %s" % (page, at + 1, message))

    for block in pages.blocks(text):
        if block.language == "console":
            listed = pages.steps(block)
            if listed is None:
                fail(block.at, "a session begins with `$ `")
            for step in listed:
                if step.command in not_run.NOT_RUN.get(page, {}):
                    continue
                got = session.transcript(step)
                if matches(step.output, got):
                    continue
                if not update:
                    n, now, then = difference(step.output, got)
                    fail(step.at + n, "`%s` printed %s, the page shows %s" % (step.command, now, then))
                got = kept(step.output, got)
                lines[step.at + moved:step.at + moved + len(step.output)] = got
                moved += len(got) - len(step.output)
        elif block.language == "sh":
            for command in commands(block):
                if command not in not_run.NOT_RUN.get(page, {}):
                    status, out = session.run(command)
                    if status != 0:
                        fail(block.at, "`%s` ended with status %d: %s" % (command, status, " | ".join(out[-6:])))
        elif block.name:
            if "`%s`" % block.name not in block.before:
                fail(block.at - 1, "the paragraph before the block does not name `%s`" % block.name)
            path = os.path.join(s.read("state/folder").strip(), block.name)
            if block.language == "diff":
                with open(path) as f:
                    old = f.read()
                try:
                    new = pages.changed(old, block)
                except ValueError as error:
                    fail(block.at, str(error))
            else:
                new = block.text()
            with open(path, "w") as f:
                f.write(new)
    return "\n".join(lines)


def commands(block):
    """The commands of an sh block, without trailing comments."""
    return [re.sub(r"\s+#.*", "", line).strip() for line in block.text().replace("\\\n", "").splitlines()
            if line.strip() and not line.strip().startswith("#")]


def read(page):
    with open(os.path.join(ROOT, page)) as f:
        return f.read()


def sessions(page):
    """All commands of a page."""
    for block in pages.blocks(read(page)):
        if block.language == "console":
            yield from (step.command for step in pages.steps(block) or ())
        elif block.language == "sh":
            yield from commands(block)


@each(*[page for page in PAGES if any(sessions(page))])
def test_page(s, page):
    text = read(page)
    new = play(s, page, text, update=bool(os.environ.get("HEDDLE_UPDATE_GOLDEN")))
    if new != text:
        with open(os.path.join(ROOT, page), "w") as f:
            f.write(new)


def test_no_command_is_left_out(s):
    """Whatever looks like a command is in a block that is run, and every exception belongs to a page."""
    for page in PAGES:
        for block in pages.blocks(read(page)):
            for n, line in enumerate(block.lines):
                s.check(block.language not in ("", "indented") or not pages.COMMAND.match(line),
                        "%s:%d: a command in a block that is not run: make it ```console or ```sh" % (page, block.at + n + 1))
    for table in not_run.NOT_RUN, not_run.INSTEAD:
        for page, listed in table.items():
            for command in listed:
                s.check(command in sessions(page), "not_run.py: %s does not have `%s`" % (page, command))


def test_options_in_the_text(s):
    """Verbs and options of heddle, scripts and make targets that a page names exist."""
    verbs = re.findall(r"^  heddle (\S+) ", s.run([s.heddle, "help"]).stdout, re.M)
    options = {verb: set(re.findall(r"--[a-z][a-z-]*", s.run([s.heddle, "help", verb]).stdout)) for verb in verbs}
    known = set().union(*options.values(), not_run.FOREIGN)
    makefile = read("Makefile")
    for page in PAGES:
        for span in pages.spans(read(page)):
            words = span.split(" -- ")[0].split()
            if words[0] == "heddle" and len(words) > 1 and re.fullmatch("[a-z+]+", words[1]):
                verb = words[1]
                s.check(verb in verbs or verb in not_run.OTHER_WORDS, "%s: there is no verb %s: `%s`" % (page, verb, span))
                allowed = options.get(verb, known)
            elif words[0].startswith("--"):
                allowed = known
            else:
                script = re.match(r"(?:python3|sh) (\S+)", span)
                if script:
                    s.check(os.path.exists(os.path.join(ROOT, script.group(1))), "%s: no such file: `%s`" % (page, span))
                    for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", span):
                        s.check('"%s"' % option in read(script.group(1)), "%s: no option %s: `%s`" % (page, option, span))
                target = re.match(r"make ([a-z-]+)(?: [A-Z_]+=\S*)*$", span)
                s.check(not target or "\n%s:" % target.group(1) in makefile, "%s: no such target: `%s`" % (page, span))
                continue
            for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", " ".join(words)):
                s.check(option in allowed, "%s: there is no option %s: `%s`" % (page, option, span))


def anchors(page):
    """The anchors of a page, derived from headings as Markdown renderers do."""
    text = re.sub(r"(?ms)^ *```.*?^ *```$", "", read(page))
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.M)}


def test_links(s):
    """Links have a target, and every page of docs/ is linked from the README."""
    linked = set()
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", read(page)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page
            s.check(os.path.exists(os.path.join(ROOT, path)), "%s: %s is not there" % (page, target))
            s.check(not anchor or anchor in anchors(path), "%s: %s has no heading for %s" % (page, path, target))
            if page == "README.md":
                linked.add(path)
    missing = {page for page in PAGES if page.startswith("docs/")} - linked
    s.check(not missing, "README.md does not link " + ", ".join(sorted(missing)))


WRONG = {
    "another line": "```console\n$ echo one\ntwo\n```\n",
    "a line too many": "```console\n$ echo one\none\ntwo\n```\n",
    "another line after a gap": "```console\n$ seq 5\n...\n4\n6\n```\n",
    "a line missing": "```console\n$ echo one; echo two\none\n```\n",
    "another status": "```console\n$ false\n$ echo $?\n0\n```\n",
    "no command": "```console\none\n```\n",
    "a failure": "```sh\ntrue\nfalse\n```\n",
    "a file without a name": "Some text.\n\n```c x.c\nint x;\n```\n",
    "a change of other lines": "In `x.c`:\n\n```c x.c\nint x;\n```\n\nIn `x.c`:\n\n```diff x.c\n-int y;\n+int z;\n```\n",
}
RIGHT = """Into `x.c`:

```c x.c
int x;
int y;
```

Then `x.c` becomes:

```diff x.c
 int x;
-int y;
+int z;
```

```console
$ cat x.c; mkdir sub; cd sub; false
int x;
int z;
$ echo $?; pwd; export A=7
1
/home/me/sub
$ echo $A; echo 3 executions in 9.99 s \\
  "(81 per second)"; ls ..
7
3 executions in 0.01 s (5 per second)
...
x.c
```
"""


def test_what_is_right(s):
    s.same(play(s, "a page", RIGHT), RIGHT, "the page")


@each(*WRONG.items())
def test_what_is_wrong(s, case):
    try:
        play(s, "a page", case[1])
    except Failed:
        return
    s.check(False, "%s was not noticed" % case[0])

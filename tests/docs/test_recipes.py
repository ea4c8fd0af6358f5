"""The examples of docs/recipes.md work. A block of code whose first line names a file is applied to a copy of src/: the
whole file, or lines that come after the one line (statement) that contains a text. Then what the example touches is
compiled, with the commands of the build, and a small program looks at the result."""
import os
import re
import shlex
import shutil
import subprocess

from scratch import Failed

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"^```c (\S+\.\w+)(?: after ([^\n]+))?\n(.*?)^```$", re.M | re.S)


def section(title):
    with open(os.path.join(ROOT, "docs/recipes.md")) as f:
        parts = re.split(r"^## ", f.read(), flags=re.M)
    return next(p for p in parts if p.startswith(title + "\n"))


def apply(s, title, most):
    """The example of a section in a copy of src/; returns the files it touches."""
    shutil.copytree(os.path.join(ROOT, "src"), s.path("src"))
    touched = []
    for name, anchor, text in BLOCK.findall(section(title)):
        touched.append(name)
        if not anchor:
            s.write(name, text)
            continue
        with open(s.path(name)) as f:
            lines = f.read().splitlines(keepends=True)
        at = [i for i, line in enumerate(lines) if anchor in line]
        if len(at) != 1:
            raise Failed("recipe '%s': '%s' is in %d lines of %s" % (title, anchor, len(at), name))
        end = at[0]
        while name.endswith(".h") and "(" in anchor and not lines[end].rstrip().endswith(";"):
            end += 1
        lines.insert(end + 1, text)
        s.write(name, "".join(lines))
    steps = re.findall(r"^\d\. +.*?`((?:src|docs|tests)/[\w/.]+)`|^\d\. The wrapper", section(title), re.M)
    if not touched or len(steps) > most:
        raise Failed("recipe '%s': %d files in its steps, at most %d" % (title, len(steps), most))
    return touched


def commands(s, target):
    return subprocess.run(["ninja", "-C", s.build, "-t", "commands", target], capture_output=True, text=True,
                          check=True).stdout.splitlines()


def compile_all(s, target, folders, extra=()):
    """Objects of the copy: all sources of the folders that the target has, and `extra` files, new ones like a sibling."""
    known = {}
    for c in commands(s, target):
        m = re.search(r" -c (\S+/(src/\S+\.c))", c)
        if m:
            known[m.group(2)] = shlex.split(c)
    wanted = [n for n in known if os.path.dirname(n) in folders] + list(extra)
    objects, running = [], []
    for name in wanted:
        words = known.get(name) or next(w for n, w in known.items() if os.path.dirname(n) == os.path.dirname(name))
        source = next(w for w in words if w.endswith(".c"))
        out = s.path(name.replace("/", "_") + ".o")
        words = [s.path(name) if w == source else w.replace(ROOT + "/src", s.path("src")) for w in words]
        words[words.index("-o") + 1] = out
        words = [w for i, w in enumerate(words) if w not in ("-MD",) and "-MT" not in words[max(i - 1, 0):i + 1]
                 and "-MF" not in words[max(i - 1, 0):i + 1]]
        running.append((name, subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=s.build)))
        objects.append(out)
        if len(running) >= 4:
            finish(running)
    finish(running)
    return objects


def finish(running):
    while running:
        name, p = running.pop(0)
        err = p.communicate()[1]
        if p.returncode:
            raise Failed("%s of a recipe does not compile: %s" % (name, err[-800:]))


def check(s, objects, libraries, text):
    """Links a program with the objects and archives of the build, and runs it."""
    s.write("check.c", text)
    libs = [os.path.join(s.build, "lib", "libhd_%s.a" % n) for n in libraries]
    p = subprocess.run(["gcc", "-std=gnu17", "-I" + s.path("src"), "-o", s.path("check"), s.path("check.c"), *objects, *libs,
                        "-lzstd"], capture_output=True, text=True)
    if p.returncode:
        raise Failed("the program that looks at a recipe does not build: " + p.stderr[-800:])
    p = subprocess.run([s.path("check")], capture_output=True, text=True, cwd=s.dir)
    if p.returncode:
        raise Failed("the recipe does not do what it says: " + p.stdout + p.stderr)


def test_operation(s):
    touched = apply(s, "Add an operation", 4)
    objects = compile_all(s, "lib/libhd_model.a", ["src/model"])
    new = [n for n in touched if n.endswith(".c")]
    s.same(len(new), 1, "wrappers of the example")
    compile_all(s, "lib/heddle/libheddle_rt.so.1", [], new)
    check(s, objects, [], """
#include "model/depend.h"
#include <assert.h>
#include <string.h>
int main(void) {
  struct hd_op down = {.kind = HD_OP_COUNTDOWN, .thread = 1, .object = 8}, wait = {.kind = HD_OP_SEMWAIT, .thread = 2, .object = 8};
  assert(strcmp(hd_op_text(HD_OP_COUNTDOWN), "latch-count") == 0);
  assert(hd_dependent(&down, 0, &wait, 0));
  assert(!hd_dependent(&down, 0, &down, 0));
  wait.object = 16;
  assert(!hd_dependent(&down, 0, &wait, 0));
  return 0;
}
""")


def test_event_field(s):
    touched = apply(s, "Add a field to an event", 5)
    objects = compile_all(s, "lib/libhd_trace.a", ["src/trace"]) + compile_all(s, "lib/libhd_model.a", ["src/model"])
    compile_all(s, "lib/heddle/libheddle_rt.so.1", [], [n for n in touched if n.startswith("src/runtime")])
    check(s, objects, ["base"], """
#include "trace/trace.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
static char *write_as(struct hd_tr_source *s, enum hd_tr_format format, size_t *n) {
  char *out;
  struct hd_err err;
  FILE *f = open_memstream(&out, n);
  assert(hd_tr_write(s, format, f, "memory", &err) == 0);
  fclose(f);
  hd_tr_close(s);
  return out;
}
int main(void) {
  struct hd_event e[2] = {{.op = {.kind = HD_OP_YIELD}, .depth = 7}, {.op = {.kind = HD_OP_YIELD}}}, *read;
  struct hd_tr_source *s = hd_tr_record(&(struct hd_tr_recording){.event = e, .n = 2});
  struct hd_err err;
  size_t n;
  char *binary = write_as(s, HD_TR_BINARY, &n);
  assert(hd_tr_open(binary, n, "binary", &s, &err) == 0);
  char *text = write_as(s, HD_TR_TEXT, &n);
  assert(strstr(text, " depth=7\\n") && !strstr(text, "depth=0"));
  assert(hd_tr_open(text, n, "text", &s, &err) == 0);
  assert(hd_tr_collect(s, &read, &n, &err) == 0 && n == 2 && read[0].depth == 7 && read[1].depth == 0);
  return 0;
}
""")


def test_analysis(s):
    touched = apply(s, "Add an analysis", 4)
    objects = compile_all(s, "lib/libhd_analysis.a", [], [n for n in touched if n.endswith(".c")])
    s.write("trace", "T0|acq(m)|1\nT0|rel(m)|2\nT1|acq(m)|3\nT1|rel(m)|4\nT1|acq(m)|5\nT1|rel(m)|6\nT0|acq(m)|7\n")
    check(s, objects, ["analysis", "trace", "model", "base"], """
#include "analysis/analysis.h"
#include <assert.h>
int main(void) {
  struct hd_tr_source *s;
  struct hd_event *ev;
  struct hd_err err;
  size_t n;
  assert(hd_analysis_load("trace", &s, &ev, &n, &err) == 0);
  assert(n == 7 && hd_analysis_handovers(ev, n) == 2);
  return 0;
}
""")

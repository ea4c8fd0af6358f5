"""Transcripts: golden/*.txt holds commands (`$ heddle ...`) with what they must print, standard output first, and
their exit status. What differs from run to run is anonymised (lib/scratch.py).

HEDDLE_UPDATE_GOLDEN=1 tests/run.py golden      writes what comes out now; look at the difference before you commit
"""
import glob
import os
import re

import common
import scratch

GOLDEN = sorted(glob.glob(os.path.join(common.HERE, "golden", "*.txt")))


def transcript(s, command):
    p = s.run(["sh", "-c", command], env={"PATH": s.build + ":" + s.env["PATH"]}, want=None)
    text = "$ %s\n%s" % (command, p.stdout)
    if p.stderr:
        text += "".join("! " + line + "\n" for line in p.stderr.splitlines())
    text = re.sub(r"(unknown strategy .*known are:) .*", r"\1 LIST", text)
    return scratch.anonymise(text + "=> %d\n" % p.returncode, s)


@scratch.each(*[(os.path.splitext(os.path.basename(p))[0], p) for p in GOLDEN])
def test_golden(s, parameter):
    name, path = parameter
    with open(path) as f:
        text = f.read()
    got = ""
    for line in text.splitlines():
        if line.startswith("# "):
            got += line + "\n"
            if line.startswith("# build: "):
                for program in line[9:].split():
                    common.build(s, program)
        elif line.startswith("$ "):
            got += "\n" + transcript(s, line[2:])
    if os.environ.get("HEDDLE_UPDATE_GOLDEN"):
        with open(path, "w") as f:
            f.write(got)
        return
    want = text.splitlines()
    for n, line in enumerate(got.splitlines()):
        s.check(n < len(want) and want[n] == line, "%s:%d: got '%s', expected '%s'" % (
            os.path.basename(path), n + 1, line, want[n] if n < len(want) else "the end"))
    s.same(len(got.splitlines()), len(want), "number of lines")

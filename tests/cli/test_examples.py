"""The programs of examples/: each bug is found and replays, each fixed twin is clean, and the demo runs."""
import os
import shutil

import common
from scratch import each

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(common.HERE)), "examples")
KINDS = {"bank": "deadlock", "buffer": "assertion", "refcount": "data-race|double-free|use-after-free",
         "lazy": "data-race", "pool": "lost-wakeup", "queue": "assertion"}


def test_all_are_known(s):
    names = {f.split(".")[0] for f in os.listdir(EXAMPLES) if f.endswith((".c", ".cc"))}
    s.same({n for n in names if not n.endswith("_fixed")}, set(KINDS), "examples")


@each(*["%s-%s" % (n, c) for n in sorted(KINDS) for c in ("gcc", "clang")])
def test_example(s, parameter):
    name, compiler = parameter.split("-")
    source = name + (".cc" if name == "queue" else ".c")
    shutil.copy(os.path.join(EXAMPLES, source), s.dir)
    s.cc(source, name, "-Wall", "-Wextra", "-Werror", compiler=compiler)
    s.is_bug(s.search("check", "./" + name), KINDS[name].split("|"))
    s.replay(times=5)
    fixed = name + "_fixed.c"
    if os.path.exists(os.path.join(EXAMPLES, fixed)):
        shutil.copy(os.path.join(EXAMPLES, fixed), s.dir)
        s.cc(fixed, "fixed", "-Wall", "-Wextra", "-Werror", compiler=compiler)
        r = s.search("check", "./fixed", "--leaks")
        s.is_clean(r)
        s.same(r["verdict"], "clean", "verdict")
        s.is_clean(s.search("check", "./fixed", "--spurious", "--leaks", "--max-executions", "2000"))


def test_demo(s):
    p = s.run(["sh", os.path.join(EXAMPLES, "demo.sh")], env={"HEDDLE": s.heddle, "TMPDIR": s.dir})
    for text in ("deadlock", "lost wake-up", "3 of 3 identical", "Everything came out as expected"):
        s.check(text in p.stdout, "'%s' is not in what the demo shows" % text)
    s.same([f for f in os.listdir(s.dir) if "demo" in f], [], "what the demo leaves behind")


def test_demo_notices(s):
    """The demo fails when heddle does not find anything."""
    s.write("heddle", "#!/bin/sh\n[ \"$1\" = check ] && exit 0\nexec %s \"$@\"\n" % s.heddle)
    os.chmod(s.path("heddle"), 0o755)
    s.run(["sh", os.path.join(EXAMPLES, "demo.sh")], env={"HEDDLE": s.path("heddle"), "TMPDIR": s.dir}, want=1)

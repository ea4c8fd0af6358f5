#!/usr/bin/env python3
"""Tests of the repository's own scripts: layers, setup, counting of tests. Ends with 'N passed, N failed'.

usage: tests/frame/run.py [--build DIR]
"""
import argparse
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPTS = os.path.join(ROOT, "scripts")
sys.path.insert(0, SCRIPTS)
import test as test_command  # noqa: E402  (scripts/test.py)


def sh(script, *args, env=None):
    p = subprocess.run(["/bin/sh", os.path.join(SCRIPTS, script), *args], env=env, text=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return p.returncode, p.stdout, p.stderr


def write(folder, name, text, mode=0o644):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)


def layers(folder, includer, included):
    """Exit status and text of check-layers.sh for one file with one include line."""
    write(folder, "src/" + includer, '#include "%s"\n' % included)
    status, out, _ = sh("check-layers.sh", folder)
    os.remove(os.path.join(folder, "src", includer))
    return status, out


def test_layers_allowed(tmp):
    for includer, included in (("base/a.c", "base/base.h"), ("abi/a.c", "abi/abi.h"), ("abi/a.c", "model/model.h"),
                               ("explore/a.c", "model/model.h"), ("runtime/a.c", "explore/explore.h"),
                               ("analysis/a.c", "base/base.h"), ("report/a.h", "analysis/a.h"),
                               ("session/a.c", "report/report.h"),
                               ("cli/a.c", "session/session.h"), ("runtime/a.c", "heddle.h"), ("cli/a.c", "local.h")):
        assert layers(tmp, includer, included) == (0, ""), (includer, included)


def test_layers_refused(tmp):
    for includer, included in (("base/a.c", "abi/abi.h"), ("abi/a.h", "base/base.h"), ("model/a.c", "explore/x.h"),
                               ("model/a.c", "base/base.h"), ("explore/a.c", "runtime/core/core.h"),
                               ("runtime/a.c", "base/base.h"), ("runtime/a.S", "cli/cli.h"),
                               ("report/a.c", "session/session.h"), ("session/a.c", "cli/cli.h"), ("analysis/a.c", "runtime/core/core.h"),
                               ("cli/a.c", "runtime/core/core.h"), ("cli/a.c", "../base/base.h"), ("new/a.c", "new/a.h")):
        status, out = layers(tmp, includer, included)
        assert status != 0 and "src/%s:1: " % includer in out, (includer, included, status, out)


def fake_machine(folder, installed, uid, sudo, apt=0):
    """A PATH on which dpkg-query knows `installed`, id says `uid`, sudo may exist, and apt-get is recorded."""
    log = os.path.join(folder, "log")
    write(folder, "bin/dpkg-query", "#!/bin/sh\nprintf '%s'\n" % "".join("%s installed\\n" % p for p in installed), 0o755)
    write(folder, "bin/id", "#!/bin/sh\necho %d\n" % uid, 0o755)
    write(folder, "bin/apt-get", '#!/bin/sh\necho "apt-get $*" >> %s\nexit %d\n' % (log, apt), 0o755)
    write(folder, "bin/env", '#!/bin/sh\nshift\nexec "$@"\n', 0o755)
    write(folder, "bin/true", "#!/bin/sh\nexit 0\n", 0o755)
    if sudo is not None:
        write(folder, "bin/sudo", '#!/bin/sh\n[ "$1" = -n ] && shift\n[ %d = 0 ] || exit 1\nexec "$@"\n' % sudo, 0o755)
    return {"PATH": os.path.join(folder, "bin")}, log


def packages():
    with open(os.path.join(SCRIPTS, "setup.sh")) as f:
        return f.read().split('packages="')[1].split('"')[0].split()


def recorded(log):
    if not os.path.exists(log):
        return ""
    with open(log) as f:
        return f.read()


def test_setup_nothing_missing(tmp):
    env, log = fake_machine(tmp, packages(), 1000, None)
    assert sh("setup.sh", "build", env=env) == (0, "", "")
    assert recorded(log) == ""


def test_setup_of_tests(tmp):
    """The tests need more than a build does."""
    env, log = fake_machine(tmp, packages(), 0, None)
    assert sh("setup.sh", "test", env=env)[0] == 0
    last = recorded(log).splitlines()[-1].split()
    wanted = "chromium fonts-dejavu-core libxml2-utils groff-base meson zsh valgrind python3-jsonschema libgtest-dev catch2 check"
    assert not set(wanted.split()) - set(last), last
    assert not set(packages()) & set(last), last


def test_setup_as_root(tmp):
    env, log = fake_machine(tmp, [p for p in packages() if p not in ("cmake", "g++")], 0, None)
    status, _, err = sh("setup.sh", "build", env=env)
    assert status == 0, err
    last = recorded(log).splitlines()[-1]
    assert " install " in last and last.endswith(" g++ cmake"), last


def test_setup_with_sudo(tmp):
    env, log = fake_machine(tmp, packages()[1:], 1000, 0)
    assert sh("setup.sh", "build", env=env)[0] == 0
    assert recorded(log).endswith(" " + packages()[0] + "\n")


def test_setup_may_not(tmp):
    for sudo in (None, 1):
        folder = os.path.join(tmp, str(sudo))
        env, log = fake_machine(folder, packages()[1:], 1000, sudo)
        status, _, err = sh("setup.sh", "build", env=env)
        assert status == 3, (status, err)
        assert "apt-get install" in err and err.rstrip().endswith(" " + packages()[0]), err
        assert recorded(log) == ""


def test_setup_install_fails(tmp):
    env, _ = fake_machine(tmp, [], 0, None, apt=100)
    status, _, err = sh("setup.sh", "build", env=env)
    assert status == 3 and "apt-get install" in err, (status, err)


def test_counting(_):
    count = test_command.count
    assert count(0, "x\n3 passed, 0 failed\n", "runner") == (3, 0)
    assert count(1, "3 passed, 2 failed\n", "runner") == (3, 2)
    assert count(1, "3 passed, 0 failed\n", "runner") == (3, 1), "a failing runner cannot have passed"
    assert count(0, "", "runner") == (0, 1), "silence is not success"
    assert count(-11, "[  PASSED  ] 2 test(s).\n", "cmocka") == (2, 1), "a crash is a failure"
    text = "[  PASSED  ] 2 test(s).\n[  FAILED  ] tests: 1 test(s), listed below:\n"
    assert count(1, text, "cmocka") == (2, 1)
    assert count(0, "", "check") == (1, 0) and count(1, "", "check") == (0, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", help="not used: these tests need no build")
    parser.parse_args()
    passed = failed = 0
    for name, function in sorted(globals().items()):
        if not name.startswith("test_") or not callable(function):
            continue
        with tempfile.TemporaryDirectory(prefix="heddle-frame-") as tmp:
            try:
                function(tmp)
                passed += 1
            except Exception as problem:  # a broken test is a failed test
                failed += 1
                print("FAILED %s: %r\n  again with: tests/frame/run.py" % (name, problem))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

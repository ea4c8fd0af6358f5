"""An installation as others use it: manual page, completions, CMake, pkg-config, Meson, Make, a workflow, a package."""
import glob
import os
import re
import shutil

import common
from common import environment, install, slow as build
from scratch import each

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROJECT = os.path.join(ROOT, "examples", "project")


def project(s):
    shutil.copytree(PROJECT, s.path("project"))
    return s.path("project")


def options(s):
    """The options of every verb, by its help."""
    verbs = re.findall(r"^  heddle (\S+) ", s.run([s.heddle, "help"]).stdout, re.M)
    s.check("check" in verbs and "trace" in verbs, "verbs: %s" % verbs)
    found = {}
    for verb in verbs:
        text = s.run([s.heddle, "help", verb]).stdout.split("Exit codes:")[0]
        found[verb] = sorted(set(re.findall(r"^  (--[a-z][a-z-]*)", text, re.M)))
    s.check("--strategy" in found["check"] and "--times" in found["replay"], "options: %s" % found)
    return found


# ---- manual page ----

def test_man(s):
    """groff has nothing to complain about, and every option of every verb is there."""
    install(s)
    p = s.run(["groff", "-man", "-Tutf8", "-ww", "-rLL=100n", "-P-c", "inst/share/man/man1/heddle.1"])
    s.same(p.stderr, "", "warnings")
    text = re.sub(r".\x08", "", p.stdout).replace("\u2212", "-").replace("\u2010", "-")
    verbs = re.split(r"^   (?=heddle )", text.split("STRATEGIES")[0], flags=re.M)[1:]
    for verb, names in options(s).items():
        section = [part for part in verbs if part.startswith("heddle %s " % verb)]
        s.same(len(section), 1, "number of sections about " + verb)
        for name in names:
            s.check(re.search(r"^ +%s\b" % re.escape(name), section[0], re.M), "%s of %s is missing" % (name, verb))
    for word in ("KINDS OF FINDINGS", "data-race", "optimal", "Exit codes:", "HEDDLE_CHECK_OPTIONS"):
        s.check(word in text, word + " is missing")


# ---- completions ----

BASH = """
. inst/share/bash-completion/completions/heddle
compopt() { :; }
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_heddle
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(s, *words):
    return s.run(["bash", "-c", BASH, "bash", *words]).stdout.split()


def test_bash(s):
    install(s)
    known = options(s)
    s.same(sorted(set(completed(s, "heddle", "")) - {"help", "--version"}), sorted(known), "verbs")
    for verb, names in known.items():
        s.check(set(names) <= set(completed(s, "heddle", verb, "--")), "options of %s: %s" % (
            verb, set(names) - set(completed(s, "heddle", verb, "--"))))
    s.same(completed(s, "heddle", "check", "--strategy", "r"), ["rdfs", "random", "rff"], "strategies")
    s.same(completed(s, "heddle", "check", "--format", "=", "g"), ["gcc", "github"], "values after =")
    s.same(completed(s, "heddle", "check", "--all", "--ignore", "dead"), ["deadlock"], "kinds")
    s.same(completed(s, "heddle", "check", "--format", "=", "gcc", "--ju"), ["--junit"], "options after a value")
    s.same(completed(s, "heddle", "check", "--", "./prog", "--ju"), [], "arguments of the program")
    s.same(completed(s, "heddle", "trace", "c"), ["convert"], "words of trace")
    s.same(completed(s, "heddle", "help", "ex"), ["explain"], "help")
    s.same(completed(s, "heddle", "replay", "x"), [], "folders are the shell's to complete")


ZSH = r"""
fpath=($PWD/inst/share/zsh/site-functions $fpath)
autoload -Uz compinit && compinit -u -d $PWD/dump || exit 9
[[ $_comps[heddle] == _heddle ]] || exit 8
_describe() { print -rl -- "${(@P)${@[-1]}}" }
_arguments() { print -rl -- "$@" }
words=("$@")
CURRENT=$#
_heddle
"""


def test_zsh(s):
    """compinit takes the file for heddle's, and what it hands to _arguments has every option."""
    install(s)

    def asked(*words):
        # The file calls itself when it is loaded, so what it says comes twice.
        return s.run(["zsh", "-f", "-c", ZSH, "zsh", *words], env={"HOME": s.dir}).stdout.splitlines()
    known = options(s)
    s.check(set(known) <= {line.split(":")[0] for line in asked("heddle", "")}, "verbs: %s" % asked("heddle", ""))
    for verb, names in known.items():
        specs = asked("heddle", verb, "-")
        for name in names:
            s.check(any(re.match(r"\*?%s(=?\[|$)" % re.escape(name), line) for line in specs), "%s of %s is missing: %s" % (
                name, verb, specs))
    check = "\n".join(asked("heddle", "check", "-"))
    s.check("(text gcc github)" in check and ":_files -/" in check and ":(auto optimal " in check, check)


def test_generate_usage(s):
    for words in ([], ["html"], ["man", "bash"]):
        common.refused(s, [s.heddle, "generate", *words], 2, "man, bash or zsh")


# ---- builds ----

@each("Ninja", "Unix Makefiles")
def test_cmake(s, generator):
    """The example passes under CTest; with its mistake in it, it fails and the finding replays."""
    env = install(s)
    folder = project(s)
    for out, flags, status in (("good", "", 0), ("bad", "-DHASTY", 8)):
        build(s, ["cmake", "-G", generator, "-S", folder, "-B", out, "-DCMAKE_C_FLAGS=" + flags], env=env)
        build(s, ["cmake", "--build", out], env=env)
        p = build(s, ["ctest", "--test-dir", out, "--output-on-failure"], env=env, want=status)
        s.check(("100% tests passed" in p.stdout) == (status == 0), p.stdout)
    s.check("assertion failed: account.balance >= 0" in p.stdout, p.stdout)
    finding = s.path("bad/heddle/test_account/1")
    s.check("replay: heddle replay %s" % os.path.realpath(finding) in p.stdout or
            "replay: heddle replay %s" % finding in p.stdout, "no replay command: " + p.stdout)
    s.run(["heddle", "replay", finding], env=env, want=1)
    # Only what was asked to be is instrumented.
    symbols = s.run(["nm", "good/libaccount.a"]).stdout, s.run(["nm", "good/libaccount_heddle.a"]).stdout
    s.same(["__tsan" in text for text in symbols], [False, True], "instrumentation")


LISTS = """cmake_minimum_required(VERSION 3.21)
project(try C CXX)
enable_testing()
find_package(Heddle 0.1 REQUIRED)
%s
"""


def test_cmake_budget(s):
    """A search that its budget ended is neither passed nor failed. C++ works as C does, and without an installation."""
    s.write("many.c", "#include <pthread.h>\n_Atomic int n;\n"
                      "void *go(void *p) { n++; n++; n++; return p; }\n"
                      "int main(void) { pthread_t t; pthread_create(&t, 0, go, 0); go(0); pthread_join(t, 0); }\n")
    s.write("two.cc", "#include <thread>\n#include <atomic>\nstd::atomic<int> n;\n"
                      "int main() { std::thread t([] { n++; }); n++; t.join(); return n - 2; }\n")
    s.write("CMakeLists.txt", LISTS % "heddle_add_test(NAME many SOURCES many.c OPTIONS --max-executions 3)\n"
                                      "heddle_add_test(NAME two SOURCES two.cc STRATEGY optimal)")
    build(s, ["cmake", "-G", "Ninja", "-S", ".", "-B", "out", "-DHeddle_DIR=" + os.path.join(s.build, "lib/cmake/Heddle")])
    build(s, ["cmake", "--build", "out"])
    p = build(s, ["ctest", "--test-dir", "out"])
    s.check(re.search(r"many \.+\**Skipped", p.stdout), p.stdout)
    s.check(re.search(r"two \.+ +Passed", p.stdout), p.stdout)


@each(("arguments", "heddle_add_test(a NAME a SOURCES a.c)", "what is a?"),
      ("nothing", "heddle_add_test(NAME a)", "give at least NAME and SOURCES"))
def test_cmake_usage(s, case):
    s.write("a.c", "int main(void) { return 0; }\n")
    s.write("CMakeLists.txt", LISTS % case[1])
    p = build(s, ["cmake", "-G", "Ninja", "-S", ".", "-B", "out", "-DHeddle_DIR=" + os.path.join(s.build, "lib/cmake/Heddle")],
              want=1)
    s.check(case[2] in " ".join(p.stderr.split()), p.stderr)


def test_pkg_config(s):
    env = install(s)

    def ask(*words):
        return s.run(["pkg-config", *words, "heddle"], env=env).stdout.strip()
    s.same(ask("--modversion"), s.run([s.heddle, "--version"]).stdout.split()[1], "version")
    shutil.copy(os.path.join(PROJECT, "test_account.c"), s.path("t.c"))
    for name in ("account.c", "account.h"):
        shutil.copy(os.path.join(PROJECT, name), s.path(name))
    s.run([ask("--variable=cc"), "-g", "t.c", "account.c", "-o", "t", "-pthread"])
    s.run([ask("--variable=heddle"), "check", "--", "./t"])
    # heddle.h works without Heddle as well.
    s.run(["gcc", *ask("--cflags").split(), "t.c", "account.c", "-o", "plain", "-pthread"])
    s.run(["./plain"])


def test_make(s):
    env = install(s)
    folder = project(s)
    s.run(["make", "check"], cwd=folder, env=env)
    s.run(["make", "clean"], cwd=folder, env=env)
    p = s.run(["make", "check", "CFLAGS=-g -DHASTY"], cwd=folder, env=env, want=2)
    s.check("assertion failed: account.balance >= 0" in p.stdout, p.stdout)


def test_project(s):
    """The project's heddle.toml builds and checks by itself."""
    env = install(s)
    folder = project(s)
    for flags, status, verdicts in (("-g", 0, ["clean", "bounded"]), ("-g -DHASTY", 1, ["found", "found"])):
        s.run(["make", "clean"], cwd=folder, env=env)
        p = s.run(["heddle", "check"], cwd=folder, env=dict(env, CFLAGS=flags), want=status)
        s.same(re.findall(r"^account[-a-z]* +([a-z]+)", p.stdout, re.M), verdicts, "verdicts")
    s.check("heddle replay .heddle/account-quick/1" in p.stdout, p.stdout)


def test_meson(s):
    env = install(s)
    folder = project(s)
    for out, flags, status in (("good", "", 0), ("bad", "-DHASTY", 1)):
        build(s, ["meson", "setup", out, folder], env=dict(env, CC="heddle-cc", CFLAGS=flags))
        build(s, ["meson", "compile", "-C", out], env=env)
        build(s, ["meson", "test", "-C", out], env=env, want=status)
    s.check("assertion failed: account.balance >= 0" in s.read("bad/meson-logs/testlog.txt"), "another failure")


def steps(path):
    """Name and command of the steps of a workflow that run something."""
    with open(path) as f:
        text = re.sub(r"\n +#[^\n]*", "", f.read())
    for name, fold, command in re.findall(r"- name: (\S+)\n +run:( >)? *(.*(?:\n {10}.*)*)", text):
        yield name, " ".join(command.split()) if fold else command


def test_github(s):
    """The commands of the workflow, but for the first one, which installs: with and without the mistake."""
    env = install(s)
    folder = project(s)
    commands = dict(steps(os.path.join(folder, "github.yml")))
    s.same(sorted(commands), ["build", "check", "install"], "steps")
    for flags, status in (("-g", 0), ("-g -DHASTY", 1)):
        s.run(["make", "clean"], cwd=folder, env=env)
        s.run(["sh", "-ec", commands["build"]], cwd=folder, env=dict(env, CFLAGS=flags))
        p = s.run(["sh", "-ec", commands["check"]], cwd=folder, env=env, want=status)
        s.same("::error file=test_account.c,line=" in p.stdout, status == 1, "an annotation")
        s.check(os.path.exists(s.path("project/heddle.sarif")), "no SARIF")


# ---- the package ----

def test_deb(s):
    """What `make deb` runs, in another folder: what is in the package, and that it works where it is unpacked."""
    build(s, ["cpack", "-G", "DEB", "--config", os.path.join(s.build, "CPackConfig.cmake"), "-B", s.path("deb")])
    packages = glob.glob(s.path("deb/*.deb"))
    s.same(len(packages), 1, "number of packages")
    s.check(re.fullmatch(r"heddle_[0-9.]+_amd64\.deb", os.path.basename(packages[0])), packages[0])
    about = s.run(["dpkg-deb", "--info", packages[0]]).stdout
    s.check("Package: heddle\n" in about and "libjansson4" in about and "gcc | clang" in about, about)
    s.run(["dpkg-deb", "-x", packages[0], "root"])
    env = environment(s, s.path("root/usr"))
    for name in ("bin/heddle-cc", "share/man/man1/heddle.1", "lib/cmake/Heddle/HeddleConfig.cmake",
                 "share/doc/heddle/LICENSE", "share/doc/heddle/docs/tutorial.md", "share/doc/heddle/examples/bank.c",
                 "include/heddle.h", "include/heddle.hpp", "include/heddle_gtest.hpp", "include/heddle_cmocka.h",
                 "include/heddle_catch2.hpp"):
        s.check(os.path.exists(s.path("root/usr", name)), name + " is missing")
    folder = project(s)
    p = s.run(["make", "check"], cwd=folder, env=env)
    s.check("complete: every schedule was covered" in p.stdout, p.stdout)


# The newest versions of symbols that Ubuntu 22.04 has.
NEWEST = {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "ELFUTILS": (0, 186), "ELFUTILS_": (1, 7)}


def test_symbol_versions(s):
    """What is installed runs with the libraries of Ubuntu 22.04, which are the oldest."""
    install(s)
    found = 0
    for folder, _, names in os.walk(s.path("inst")):
        for path in (os.path.join(folder, name) for name in names):
            with open(path, "rb") as f:
                if f.read(4) != b"\x7fELF" or path.endswith((".o", ".a")):
                    continue
            found += 1
            symbols = s.run(["objdump", "-T", path]).stdout
            for library, version in set(re.findall(r"\((GLIBC|GLIBCXX|CXXABI|ELFUTILS)_([0-9.]+)\)", symbols)):
                numbers = tuple(map(int, version.split(".")))
                most = NEWEST["ELFUTILS_" if library == "ELFUTILS" and numbers[0] else library]
                s.check(numbers <= most, "%s needs %s_%s" % (path, library, version))
    s.check(found > 3, "only %d binaries" % found)


def test_uninstall(s):
    """Nothing that `make install` has written is left, and nothing else is removed."""
    install(s)
    manifest = s.read(os.path.join(s.build, "install_manifest.txt")).split()
    s.write("mine/share/doc/other", "")
    for name in manifest:
        s.write("mine" + name, "")
    s.write("build/install_manifest.txt", "\n".join(manifest))
    shutil.copy(os.path.join(ROOT, "Makefile"), s.dir)
    s.run(["make", "uninstall", "BUILD=build", "DESTDIR=" + s.path("mine")])
    left = [os.path.join(folder, name) for folder, _, names in os.walk(s.path("mine")) for name in names]
    s.same(left, [s.path("mine/share/doc/other")], "what is left")


def test_packaging(s):
    """The container file and the action name what there is."""
    with open(os.path.join(ROOT, "packaging", "Containerfile")) as f:
        text = f.read()
    s.check("make install" in text and "libdw1" in text and text.count("FROM debian:12") == 2, text)
    with open(os.path.join(ROOT, "packaging", "action", "action.yml")) as f:
        action = f.read()
    script = action[action.index("run: |") + 6:].replace("exec heddle", "echo heddle")
    env = dict(s.env, COMMAND="hunt --time 5m build", BASELINE="then.json")
    out = s.run(["bash", "-e", "-c", script], env=env).stdout
    s.same(out, "heddle hunt --format github --json heddle-result.json --baseline then.json --time 5m build\n", "command")
    s.run([s.heddle, "hunt", "--format", "github", "--json", "heddle-result.json", "--baseline", "x", "--help"])

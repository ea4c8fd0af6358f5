"""Which compiler is used, and that questions are answered by it alone."""
import os
import shutil

from harness import HELLO, only


def test_questions_are_answered_by_the_compiler(d):
    for query in (["--version"], ["-v"], ["-dumpversion"], ["-dumpmachine"], ["-print-search-dirs"],
                  ["-print-libgcc-file-name"], ["-print-file-name=libtsan.so"], ["-print-prog-name=ld"],
                  ["-print-multi-os-directory"]):
        ours, theirs = d.cc(*query, want=None), d.run([d.native, *query], want=None)
        d.same((ours.returncode, ours.stdout, ours.stderr), (theirs.returncode, theirs.stdout, theirs.stderr),
               " ".join(query))
        ours, theirs = d.cxx(*query, want=None), d.run([d.native_cxx, *query], want=None)
        d.same((ours.returncode, ours.stdout), (theirs.returncode, theirs.stdout), " ".join(query))


def test_dry_run(d):
    d.write("a.c", HELLO)
    p = d.cc("-###", "a.c", silent=False)
    d.check("-fsanitize=thread" in p.stderr and "libheddle_rt.so" in p.stderr, p.stderr)
    d.check(not d.exists("a.out"), "-### must only print")


def test_help(d):
    for verb in ("cc", "c++"):
        text = d.run([d.heddle, verb, "--help"]).stdout
        for word in ("--heddle-compiler=", "HEDDLE_CC", "HEDDLE_CXX", "heddle " + verb):
            d.check(word in text, "%s is not explained" % word)


@only("gcc")
def test_default_is_gcc(d):
    for variable in ("HEDDLE_CC", "HEDDLE_CXX"):
        del d.env[variable]
    d.same(d.cc("--version").stdout, d.run(["gcc", "--version"]).stdout)
    d.same(d.cxx("--version").stdout, d.run(["g++", "--version"]).stdout)


@only("gcc")
def test_clang_alone(d):
    """Where there is no gcc, clang is taken."""
    for variable in ("HEDDLE_CC", "HEDDLE_CXX"):
        del d.env[variable]
    os.mkdir(d.path("bin"))
    for name in ("clang", "clang++", "ld"):
        os.symlink(shutil.which(name), d.path("bin", name))
    d.write("a.c", HELLO)
    d.cc("a.c", "-o", "a", env={"PATH": d.path("bin")})
    d.check("clang" in d.cc("--version", env={"PATH": d.path("bin")}).stdout, "cc")
    d.check("clang" in d.cxx("--version", env={"PATH": d.path("bin")}).stdout, "c++")


@only("gcc")
def test_order_of_choice(d):
    clang, clangxx = (d.run([c, "--version"]).stdout for c in ("clang", "clang++"))
    gcc, gxx = (d.run([c, "--version"]).stdout for c in ("gcc", "g++"))
    d.same(d.cc("--version", env={"HEDDLE_CC": "clang"}).stdout, clang, "HEDDLE_CC")
    d.same(d.cxx("--version", env={"HEDDLE_CXX": "clang++"}).stdout, clangxx, "HEDDLE_CXX")
    d.same(d.cc("--heddle-compiler=gcc", "--version", env={"HEDDLE_CC": "clang"}).stdout, gcc, "the option wins")
    d.same(d.cc("--version", "--heddle-compiler", "clang").stdout, clang, "as two words")
    d.same(d.cc("--version", env={"HEDDLE_CC": ""}).stdout, gcc, "empty HEDDLE_CC")
    # C++ follows the choice for C when nothing else is said.
    d.same(d.cxx("--version", env={"HEDDLE_CC": "clang", "HEDDLE_CXX": ""}).stdout, clangxx, "sibling")
    d.same(d.cxx("--heddle-compiler=clang", "--version").stdout, clangxx, "sibling of the option")
    d.same(d.cxx("--heddle-compiler=gcc", "--version").stdout, gxx, "sibling of the option")
    d.same(d.cxx("--heddle-compiler=clang++", "--version").stdout, clangxx, "the C++ compiler itself")


def test_name_that_says_nothing(d):
    """A compiler called cc is asked what it is."""
    d.write("a.c", HELLO)
    os.symlink(shutil.which(d.native), d.path("cc"))
    d.cc("--heddle-compiler=./cc", "a.c", "-o", "a")
    d.check_runtime("a")
    d.check("write4" in d.hooks("a"), "not instrumented")
    d.same(d.output("a"), "hello 1\n")


def test_compiler_of_several_words(d):
    d.write("a.c", HELLO)
    d.cc("--heddle-compiler=env X=1 " + d.native, "a.c", "-o", "a")
    d.check_runtime("a")
    d.same(d.output("a"), "hello 1\n")


def test_started_by_another_name(d):
    d.write("a.c", HELLO)
    d.write("a.cc", '#include <iostream>\nint main() { std::cout << "c++\\n"; }\n')
    d.run([d.heddle + "-cc", "a.c", "-o", "a"])
    d.check_runtime("a")
    d.same(d.output("a"), "hello 1\n")
    d.run([d.heddle + "-c++", "a.cc", "-o", "b"])
    d.check_runtime("b")
    d.same(d.output("b"), "c++\n")
    env = {"PATH": d.build + ":" + d.env["PATH"]}
    d.run(["sh", "-c", "heddle-cc a.c -o c && heddle cc a.c -o d"], env=env)
    d.same(d.output("c") + d.output("d"), "hello 1\nhello 1\n")

"""hd_check and heddle::check in the test frameworks people have: whole suites under CTest, and each framework's habits."""
import os
import re
import shutil

import common
from scratch import CXX, Failed, each

ROOT = os.path.dirname(os.path.dirname(common.HERE))
SUITES = os.path.join(ROOT, "examples", "suites")
PACKAGES = {"libgtest-dev": "/usr/include/gtest/gtest.h", "catch2": "/usr/include/catch2/catch.hpp",
            "check": "/usr/include/check.h", "libcmocka-dev": "/usr/include/cmocka.h"}


def need(*packages):
    missing = [p for p in packages if not os.path.exists(PACKAGES[p])]
    if missing:
        raise Failed("not installed: %s; run: sh scripts/setup.sh test" % " ".join(missing))


def commands(text):
    """The commands that replay what was found."""
    return re.findall(r"^ +replay: (heddle replay .*)$", text, re.M)


def replays(s, command, env=None):
    p = s.run(["sh", "-c", command], want=1, cwd="/", env=env or {"PATH": s.build + ":" + os.environ["PATH"]})
    s.check("replayed: the same finding" in p.stderr, "%s: %s" % (command, p.stderr[-300:]))
    return p


# ---- the suites of examples/suites ----

FAILED = {"gtest": ["Cache.MakesEachValueOnce", "Queue.ClosesForAllWhoTake"],
          "cmocka": ["cache_makes_each_value_once", "queue_closes_for_all_who_take"]}


def suites(text):
    """What each suite printed under ctest."""
    parts = re.split(r"^ *\d+/2 Test +#\d+: test_parts_(\w+) .*\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


@each("gcc", "clang")
def test_ctest(s, compiler):
    """Twenty tests in one process each. With the mistakes of the library two fail, and both replay; without them none
    does, and nothing is left behind."""
    need("libgtest-dev", "libcmocka-dev")
    env = common.install(s)
    shutil.copytree(SUITES, s.path("suites"))
    out = "build folder"
    configure = ["cmake", "-G", "Ninja", "-S", "suites", "-B", out, "-DCMAKE_C_COMPILER=" + compiler,
                 "-DCMAKE_CXX_COMPILER=" + CXX[compiler]]
    ctest = ["ctest", "--test-dir", out, "-j2", "--output-on-failure"]
    common.slow(s, [*configure, "-DCMAKE_C_FLAGS=-DHASTY"], env=env)
    common.slow(s, ["cmake", "--build", out, "-j2"], env=env)
    text = suites(common.slow(s, ctest, env=env, want=8).stdout)
    s.same(sorted(text), sorted(FAILED), "suites")
    s.check("20 tests from 3 test suites ran" in text["gtest"] and "20 test(s) run" in text["cmocka"], "other numbers of tests")
    for name, tests in FAILED.items():
        s.same(sorted(set(re.findall(r"^\[  FAILED  \] (\S*[_.]\S+?)(?: .*)?$", text[name], re.M))), tests, "failed tests")
        found = commands(text[name])
        folder = os.path.join(os.path.realpath(s.dir), out, "heddle", "test_parts_" + name)
        s.same(found, ["heddle replay '%s/%d'" % (folder, n) for n in (1, 2)], "commands")
        for command in found:
            replays(s, command, env)
    shutil.rmtree(s.path(out, "heddle"))
    common.slow(s, [*configure, "-DCMAKE_C_FLAGS="], env=env)
    common.slow(s, ["cmake", "--build", out, "-j2"], env=env)
    p = common.slow(s, ctest, env=env)
    s.check("100% tests passed" in p.stdout, p.stdout)
    for name in FAILED:
        s.same(s.findings(os.path.join(out, "heddle", "test_parts_" + name)), [], "findings")


def test_plain_compiler(s):
    """Without Heddle the same tests run each body once."""
    need("libcmocka-dev")
    include = os.path.join(s.build, "lib/heddle/include")
    s.run(["gcc", "-Wall", "-Wextra", "-Werror", "-I", include, "-I", SUITES, os.path.join(SUITES, "test_parts.c"),
           os.path.join(SUITES, "parts.c"), "-lcmocka", "-pthread", "-o", "plain"])
    s.check("PASSED  ] 20 test(s)" in s.run(["./plain"]).stderr, "not all passed")


@each(("arguments", "heddle_add_suite(a NAME a SOURCES a.c)", "heddle_add_suite: what is a?"),
      ("nothing", "heddle_add_suite(SOURCES a.c)", "heddle_add_suite: give at least NAME and SOURCES"))
def test_cmake_usage(s, case):
    s.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.21)\nproject(try C)\nfind_package(Heddle REQUIRED)\n" + case[1])
    p = common.slow(s, ["cmake", "-G", "Ninja", "-S", ".", "-B", "out", "-DHeddle_DIR=" + os.path.join(
        s.build, "lib/cmake/Heddle")], want=1)
    s.check(case[2] in " ".join(p.stderr.split()), p.stderr)


# ---- headers ----

@each(*["%s-%s" % (c, std) for c in ("gcc", "clang") for std in ("c99", "c11", "c17", "c++11", "c++14", "c++17", "c++20")])
def test_headers(s, parameter):
    """The headers have nothing to warn about, whatever the standard."""
    need("libgtest-dev", "libcmocka-dev")
    compiler, std = parameter.split("-")
    cxx = std.startswith("c++")
    text = ("#include <heddle.hpp>\n#include <heddle_gtest.hpp>\n"
            "int main() { heddle::options o{}; o.strategy = \"pct\"; int n = 0;\n"
            "  auto r = heddle::check([&] { n++; }, o); heddle::expect_passed([&] { n++; });\n"
            "  for (const auto &f : r) n += f.line;\n  return r && r.complete() ? n : 0; }\n") if cxx else (
            "#include <setjmp.h>\n#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <cmocka.h>\n"
            "#include <heddle.h>\n#include <heddle_cmocka.h>\nstatic void body(void *p) { ++*(int *)p; }\n"
            "int main(void) { struct hd_check_options o = {0}; int n = 0; struct hd_check_result r = hd_check(body, &n, &o);\n"
            "  heddle_assert_clean(body, &n, NULL); return hd_check_passed(&r) ? 0 : 1; }\n")
    s.write("prog." + ("cc" if cxx else "c"), text)
    s.run([CXX[compiler] if cxx else compiler, "-std=" + std, "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror",
           "-fsyntax-only", "-I", os.path.join(s.build, "lib/heddle/include"), "prog." + ("cc" if cxx else "c")])

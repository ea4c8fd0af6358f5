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
    p = common.slow(s, [*ctest, "-R", "cmocka"], env=dict(env, HEDDLE_CHECK_OPTIONS="--strategy nonsense"), want=8)
    s.check(p.stdout.count("heddle: unknown strategy 'nonsense'") >= 20, "options of the environment: " + p.stdout)
    for name in FAILED:
        s.same(s.findings(os.path.join(out, "heddle", "test_parts_" + name)), [], "findings")


@each("make", "meson")
def test_builds(s, how):
    """The same suites without CMake: both fail as they should, and what they found replays."""
    need("libgtest-dev", "libcmocka-dev")
    env = common.install(s)
    shutil.copytree(SUITES, s.path("suites"))
    if how == "make":
        p = common.slow(s, ["make", "-C", "suites", "-k", "check", "CFLAGS=-g -DHASTY"], env=env, want=2)
        text, places = p.stdout + p.stderr, ["suites/.heddle/1", "suites/.heddle/2"]
    else:
        common.slow(s, ["meson", "setup", "out", "suites"], env=dict(env, CC="heddle-cc", CXX="heddle-c++", CFLAGS="-DHASTY"))
        common.slow(s, ["meson", "compile", "-C", "out"], env=env)
        common.slow(s, ["meson", "test", "-C", "out"], env=env, want=2)
        text = s.read("out/meson-logs/testlog.txt")
        places = ["out/heddle-%s/%d" % (suite, n) for suite in FAILED for n in (1, 2)]
    s.check("2 FAILED TEST" in text, text)
    for place in places:
        s.check("heddle replay " + os.path.join(os.path.realpath(s.dir), place) in text, "no command for " + place)
        s.run(["heddle", "replay", place], env=env, want=1)


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


# ---- the habits of each framework ----

GTEST = """
#include <heddle_gtest.hpp>
#include <atomic>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

static std::map<std::string, int> global{{"static", 1}};
static std::atomic<int> n;
static void lose() { int v = n; n = v + 1; }

struct Environment : ::testing::Environment {
  void SetUp() override { std::thread([] { global["environment"] = 2; }).join(); }
};
static auto *environment = ::testing::AddGlobalTestEnvironment(new Environment);

struct Fixture : ::testing::Test {
  std::unique_ptr<std::map<int, std::string>> heap;
  static int *suite;
  static void SetUpTestSuite() { suite = new int(5); }
  static void TearDownTestSuite() { delete suite; }
  void SetUp() override {
    heap.reset(new std::map<int, std::string>);
    std::thread([&] { (*heap)[1] = std::string(100, 'x'); }).join();
  }
};
int *Fixture::suite;

TEST_F(Fixture, StateIsThere) {
  heddle::expect_clean([&] {
    std::thread a([] { n++; }), b([] { n++; });
    a.join();
    b.join();
    EXPECT_EQ(n, 2);
    EXPECT_EQ(heap->at(1).size(), 100u);
    EXPECT_EQ(*suite, 5);
    EXPECT_EQ(global["environment"], 2);
    (*heap)[2] = "y";
    global.clear();
    heap.reset();
  });
  EXPECT_EQ(n, 0);
  EXPECT_EQ(heap->size(), 1u);
  EXPECT_EQ(global.size(), 2u);
}
TEST_F(Fixture, Expect) {
  heddle::expect_clean([] {
    std::thread a(lose), b(lose);
    a.join();
    b.join();
    EXPECT_EQ(n, 2) << "lost an update";  // expect
  });
}
TEST_F(Fixture, Assert) {
  heddle::expect_clean([] {
    std::thread a(lose);
    ASSERT_EQ(n, 0);  // assert
    a.join();
  });
}
TEST_F(Fixture, ExpectInThread) {
  heddle::expect_clean([] {
    std::thread a([] { n++; });
    std::thread b([] {
      EXPECT_EQ(n, 0);  // in thread
    });
    a.join();
    b.join();
  });
}
TEST_F(Fixture, Throws) {
  heddle::expect_clean([] { throw std::runtime_error("oops"); });  // throws
}
TEST_F(Fixture, Bounded) {
  heddle::options o{};
  o.strategy = "random";
  o.executions = 5;
  heddle::expect_passed([] { std::thread(lose).join(); }, o);
}
TEST_F(Fixture, BoundedIsNotClean) {
  heddle::options o{};
  o.strategy = "random";
  o.executions = 5;
  heddle::expect_clean([] { std::thread(lose).join(); }, o);
}
TEST_F(Fixture, Result) {
  heddle::result r = heddle::check([] {
    std::thread a(lose), b(lose);
    a.join();
    b.join();
    if (n != 2) throw n.load();
  });
  EXPECT_FALSE(r);
  EXPECT_EQ(r.verdict(), HD_CHECK_BUG);
  ASSERT_EQ(r.findings(), 1u);
  EXPECT_STREQ(r.begin()->kind, "uncaught-exception");
}
TEST(DeathTest, Dies) { EXPECT_DEATH(abort(), ""); }
TEST(DeathTest, DiesAnew) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(abort(), "");
}
"""


def test_gtest(s):
    """Assertions of every kind are findings, at their lines; what was made before the call is there; filters, repeated
    tests, death tests and XML are as ever. Tests in another order are told of."""
    need("libgtest-dev")
    s.write("prog.cc", GTEST)
    common.slow(s, [s.heddle, "c++", "-g", "prog.cc", "-o", "prog", "-lgtest", "-lgtest_main", "-pthread"])
    text = s.run(["./prog", "--gtest_output=xml:out.xml"], want=1).stdout
    failed = ["Fixture." + name for name in ("Assert", "BoundedIsNotClean", "Expect", "ExpectInThread", "Throws")]
    s.same(sorted(set(re.findall(r"^\[  FAILED  \] (\w+\.\w+)$", text, re.M))), failed, "failed tests")
    found = commands(text)
    s.same(len(found), 4, "commands")
    for command in found:
        replays(s, command)
    lines = GTEST.splitlines()
    for remark in ("expect", "assert", "in thread", "throws"):
        at = [i + 1 for i, line in enumerate(lines) if line.endswith("// " + remark)][0]
        s.check("prog.cc:%d\n" % at in text, "no finding at line %d, %s: %s" % (at, remark, text))
    s.check("lost an update" in text and "std::runtime_error: oops" in text, text)
    s.run(["xmllint", "--noout", "out.xml"])
    s.check("heddle replay" in s.read("out.xml"), "no command in the XML")

    one = ["./prog", "--gtest_filter=Fixture.Expect:Fixture.StateIsThere"]
    text = s.run([*one, "--gtest_repeat=3"], want=1).stdout
    s.same(text.count("[       OK ] Fixture.StateIsThere"), 3, "repeated tests")
    for command in commands(text):
        replays(s, command)
    text = s.run([*one, "--gtest_shuffle", "--gtest_random_seed=7"], want=1).stdout
    replays(s, commands(text)[0])


CATCH2 = """
#include <heddle_catch2.hpp>
#include <atomic>
#include <stdexcept>
#include <thread>

static std::atomic<int> n;
static void lose() { int v = n; n = v + 1; }
static void both() {
  std::thread a(lose), b(lose);
  a.join();
  b.join();
}
TEST_CASE("passes") {
  heddle::expect_clean([] {
    std::thread(lose).join();
    REQUIRE(n == 1);
    CHECK_THROWS(throw std::runtime_error("expected"));
    CHECK_NOFAIL(n == 7);
  });
  CHECK(n == 0);
}
TEST_CASE("require") {
  heddle::expect_clean([] {
    both();
    REQUIRE(n == 2);
  });
}
TEST_CASE("check") {
  heddle::expect_clean([] {
    both();
    CHECK(n == 2);
  });
}
TEST_CASE("sections") {
  SECTION("result") {
    auto r = heddle::check([] {
      both();
      if (n != 2) FAIL("lost one");
    });
    CHECK(r);
  }
  SECTION("exception") { heddle::expect_passed([] { throw std::runtime_error("oops"); }); }
}
"""


def test_catch2(s):
    """REQUIRE and CHECK in a body are findings. One who forgets the header in the main file is told by the linker."""
    need("catch2")
    s.write("main.cc", "#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>\n#ifdef WITH\n#include <heddle_catch2.hpp>\n#endif\n")
    s.write("prog.cc", CATCH2)
    common.slow(s, [s.heddle, "c++", "-g", "-DWITH", "-c", "main.cc"])
    s.run([s.heddle, "c++", "-g", "-Wall", "-Wextra", "-Werror", "-c", "prog.cc"])
    s.run([s.heddle, "c++", "main.o", "prog.o", "-o", "prog", "-pthread"])
    p = s.run(["./prog"], want=4)
    s.check("test cases: 4 | 1 passed | 3 failed" in p.stdout and "assertions: 5 | 1 passed | 4 failed" in p.stdout, p.stdout)
    text = p.stderr
    s.check("assertion failed: REQUIRE( n == 2 ): 1 == 2" in text and "assertion failed: CHECK( n == 2 ): 1 == 2" in text and
            "uncaught exception: std::runtime_error: oops" in text and "FAIL(  ): lost one" in p.stdout, text + p.stdout)
    s.same(s.findings(), [1, 2, 3, 4], "findings")
    for number in (1, 2, 3, 4):
        replays(s, "heddle replay %s" % s.path(".heddle/%d" % number))
    p = s.run([s.heddle, "c++", "prog.o", "-o", "prog"], want=1)
    s.check("heddle_catch2_hpp_is_in_the_main_file" in p.stderr, p.stderr[-300:])


CHECK = """
#include <check.h>
#include <heddle.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int n;
static void *add(void *a) { n++; return a; }
static void *lose(void *a) { int v = n; n = v + 1; return a; }
static void *early(void *a) { ck_assert_int_eq(n, 0); return a; }
static void with_add(void *f) {
  pthread_t a, b;
  pthread_create(&a, NULL, (void *(*)(void *))f, NULL);
  pthread_create(&b, NULL, add, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  if (f != (void *)early) ck_assert_int_eq(n, 2);
}
static void check(void *f) {
  struct hd_check_result r = hd_check(with_add, f, NULL);
  ck_assert_msg(hd_check_passed(&r), "%s", r.message);
}
START_TEST(adds) { check(add); } END_TEST
START_TEST(loses) { check(lose); } END_TEST
START_TEST(in_thread) { check(early); } END_TEST
START_TEST(adds_again) { check(add); } END_TEST

int main(void) {
  Suite *s = suite_create("Parts");
  TCase *c = tcase_create("Core");
  suite_add_tcase(s, c);
  tcase_add_test(c, adds);
  tcase_add_test(c, loses);
  tcase_add_test(c, in_thread);
  tcase_add_test(c, adds_again);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed;
}
"""


@each("yes", "no")
def test_check(s, fork):
    """Check ends a test that failed by leaving its process, or without one by a jump."""
    need("check")
    s.write("prog.c", CHECK)
    libraries = s.run(["pkg-config", "--libs", "check"]).stdout.split()
    s.run([s.heddle, "cc", "-g", "-O1", "-Wall", "prog.c", "-o", "prog", *libraries, "-pthread"])
    text = s.run(["./prog"], want=2, env={"CK_FORK": fork}).stdout
    s.check("50%: Checks: 4, Failures: 2, Errors: 0" in text, text)
    s.check(("exit with status 1" if fork == "yes" else "longjmp out of the body") in text, text)
    found = commands(text)
    s.same(len(found), 2, "commands")
    for command in found:
        replays(s, command)


CMOCKA = """
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <heddle_cmocka.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int n;
static void *add(void *a) { n++; return a; }
static void *early(void *a) {
  assert_int_equal(n, 0);
  return a;
}
static void body(void *a) {
  pthread_t t[2];
  pthread_create(&t[0], NULL, add, a);
  pthread_create(&t[1], NULL, early, a);
  pthread_join(t[0], NULL);
  pthread_join(t[1], NULL);
}
static void in_thread(void **state) { heddle_assert_passed(body, *state, NULL); }
static void one_more(void *a) { add(a); }
static void not_complete(void **state) {
  heddle_assert_clean(one_more, *state, &(struct hd_check_options){.strategy = "random", .executions = 3});
}
static void wrong_options(void **state) { heddle_assert_passed(body, *state, &(struct hd_check_options){.strategy = "none"}); }
static void skips(void **state) { skip(); }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(in_thread), cmocka_unit_test(not_complete),
                                     cmocka_unit_test(wrong_options), cmocka_unit_test(skips)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
"""


def test_cmocka(s):
    """An assertion in a thread is a finding; the message that cmocka keeps has the command, however long the story is."""
    need("libcmocka-dev")
    s.build_text(CMOCKA, "-O0", "-Wl,--no-as-needed", "-lcmocka")
    env = {"CMOCKA_MESSAGE_OUTPUT": "xml", "CMOCKA_XML_FILE": s.path("out.xml")}
    s.run(["./prog"], want=3, env=env)
    xml = s.read("out.xml")
    s.check("unexpected exit status; heddle replay" in xml and "unknown strategy" in xml and "3 executions" in xml, xml)
    replays(s, "heddle replay %s" % s.path(".heddle/1"))


BODIES = """
#include <heddle.hpp>
#include <functional>
#include <iostream>
#include <memory>
#include <thread>

static int n;
static void function() { n++; }
struct functor {
  int k;
  void operator()() const { n += k; }
};
struct movable {
  std::unique_ptr<int> p{new int(3)};
  int operator()() { return n += *p; }
};
struct holder {
  int k;
  void add() { n += k; }
};
int main() {
  heddle::options o{};
  o.strategy = "optimal";
  int k = 5;
  const functor constant{2};
  movable m;
  holder h{4};
  auto changes = [k]() mutable { n += k++; };
  std::function<void()> any = function;
  bool all = heddle::check(function) && heddle::check(&function, o) && heddle::check(constant) && heddle::check(functor{1}, o) &&
             heddle::check(m) && heddle::check(movable{}) && heddle::check(changes) && heddle::check(any) &&
             heddle::check(std::bind(&holder::add, &h)) && heddle::check([&] { std::thread(function).join(); });
  auto r = heddle::check([&] { n += k; });
  std::cout << r << (all && n == 0 && r.complete() && r.executions() == 1 && r.begin() == r.end());
#if __cplusplus >= 202002L
  std::cout << heddle::check(function, {.strategy = "random", .executions = 3}).executions();
#endif
}
"""


@each("gcc", "clang")
def test_bodies(s, compiler):
    """Anything that can be called is a body."""
    p = s.run([s.build_text(BODIES, "-O1", "-Wall", "-Wextra", "-Werror", "-std=c++20", compiler=compiler, suffix=".cc")])
    s.check(p.stdout.endswith("\n13"), p.stdout)


# ---- headers ----

IN_C = """#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <heddle.h>
#include <heddle_cmocka.h>
static void body(void *p) { ++*(int *)p; }
int main(void) {
  struct hd_check_options o = {0};
  int n = 0;
  struct hd_check_result r = hd_check(body, &n, &o);
  heddle_assert_clean(body, &n, NULL);
  return hd_check_passed(&r) ? 0 : 1;
}
"""
IN_CXX = """#include <heddle.hpp>
#include <%s>
int main() {
  heddle::options o{};
  o.strategy = "pct";
  int n = 0;
  auto r = heddle::check([&] { n++; }, o);
  heddle::expect_passed([&] { n++; });
  for (const auto &f : r) n += f.line;
  return r && r.complete() ? n : 0;
}
"""


@each(*["%s-%s" % (c, std) for c in ("gcc", "clang") for std in ("c99", "c11", "c17", "c++11", "c++14", "c++17", "c++20")])
def test_headers(s, parameter):
    """The headers have nothing to warn about, whatever the standard."""
    need("libgtest-dev", "libcmocka-dev", "catch2")
    compiler, std = parameter.split("-")
    if std.startswith("c++"):
        programs = {"gtest.cc": IN_CXX % "heddle_gtest.hpp", "catch2.cc": IN_CXX % "heddle_catch2.hpp"}
        compiler = CXX[compiler]
    else:
        programs = {"prog.c": IN_C}
    for name, text in programs.items():
        s.write(name, text)
        s.run([compiler, "-std=" + std, "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only",
               "-I", os.path.join(s.build, "lib/heddle/include"), name])

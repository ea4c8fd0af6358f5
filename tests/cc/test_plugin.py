"""Heddle's plug-ins for the compilers: used where one fits, left out where none does."""
import os
import stat

from harness import only

BLOCKS = """
#include <string.h>
struct s { long a[5]; } x, *p = &x;
int use(struct s);
void f(void) { memset(p, 0, sizeof *p); }
int g(void) { return use(*p); }
"""


def constructor(d, binary):
    """Which constructor the object calls: "heddle" when the plug-in has seen it, "tsan" when not."""
    text = d.run(["nm", "-u", d.path(binary)]).stdout
    return {name for name in ("heddle", "tsan") if "__%s_init" % name in text}


def test_used(d):
    d.write("a.c", BLOCKS)
    for level in ("-O0", "-O2", "-Og"):
        d.cc(level, "-Wall", "-Wextra", "-Werror", "-c", "a.c")
        d.same(constructor(d, "a.o"), {"heddle"}, level)
        d.check("read_range" in d.hooks("a.o"), level + ": the argument is not read: %s" % d.hooks("a.o"))
        d.check({"memset", "write_range"} & d.hooks("a.o"), level + ": memset is not seen: %s" % d.hooks("a.o"))


def test_file_without_functions(d):
    d.write("a.c", "int x;\n")
    d.cc("-c", "a.c")
    d.same(constructor(d, "a.o") | {"heddle"}, {"heddle"})


def test_left_out_when_asked(d):
    d.write("a.c", BLOCKS)
    d.cc("-O2", "-c", "a.c", env={"HEDDLE_PLUGIN": "no"})
    d.same(constructor(d, "a.o"), {"tsan"})
    d.check(" U memset" in d.run(["nm", "-u", d.path("a.o")]).stdout, "memset is not called")


def test_left_out_without_instrumentation(d):
    d.write("a.c", BLOCKS)
    d.cc("-O2", "-fno-sanitize=thread", "-c", "a.c")
    d.same(constructor(d, "a.o"), set())
    d.same(d.hooks("a.o"), set())


# Stores to `mine` that only the copy uses, in a variable whose address nobody else has.
COPIES = """
#include <string.h>
struct s { long id; void *p; };
__attribute__((noinline)) static int copy(const struct s *from, struct s *to) {
  struct s mine[5];
  size_t i;
  for (i = 0; from[i].id != -1; i++) {
    if (i == 4) return 1;
    mine[i].id = from[i].id;
    mine[i].p = from[i].p;
  }
  mine[i].id = -1;
  mine[i].p = 0;
  COPY(to, mine, (i + 1) * sizeof *mine);
  return 0;
}
int main(void) {
  struct s a[] = {{7, a}, {8, 0}, {-1, 0}}, b[3];
  memset(b, 0, sizeof b);
  copy(a, b);
  return !(b[0].id == 7 && b[0].p == a && b[1].id == 8 && b[2].id == -1);
}
"""


def test_what_is_copied_stays(d):
    d.write("a.c", COPIES)
    for level in ("-O0", "-O1", "-O2", "-O3"):
        for copy in ("memcpy", "memmove", "__builtin_memcpy"):
            d.cc(level, "-DCOPY=" + copy, "a.c", "-o", "a")
            d.run([d.path("a")])


QUIET = """
struct s { long a[5]; };
#define QUIET __attribute__((no_sanitize("thread")))
QUIET int get(int *p) { return *p; }
QUIET void put(volatile int *p) { *p = 1; }
QUIET void copy(struct s *p, struct s *q) { *p = *q; }
QUIET void add(int *p) { __atomic_fetch_add(p, 1, 5); }
"""


def test_silent_functions(d):
    """They are instrumented, with hooks that report nothing."""
    for level in ("-O0", "-O1", "-O2", "-Os"):
        d.write("a.c", QUIET)
        d.cc(level, "-c", "a.c")
        text = d.run(["nm", "-u", d.path("a.o")]).stdout
        d.check("__heddle_silence" in text, level + ": not silent")
        d.check("read4" in text and "volatile_write4" in text and "fetch_add" in text, level + ": not instrumented " + text)
        d.write("a.c", QUIET.replace('"thread"', '"undefined"'))
        d.cc(level, "-c", "a.c")
        d.check("__heddle_silence" not in d.run(["nm", "-u", d.path("a.o")]).stdout, level + ": silent")


def test_naked_functions(d):
    """They have no frame: nothing is inserted."""
    d.write("a.c", "__attribute__((naked)) void f(void) { __asm__(\"ret\"); }\n"
                   "__attribute__((naked, no_sanitize(\"thread\"))) void g(void) { __asm__(\"ret\"); }\n")
    for level in ("-O0", "-O2"):
        d.cc(level, "-c", "a.c")
        d.same(d.hooks("a.o") - {"init"}, set())


def test_left_out_for_another_version(d):
    """A compiler whose version nothing is known about is used as it is."""
    version = '"-dumpfullversion"' if d.compiler == "gcc" else '"-print-prog-name=clang"'
    other = d.write("other-" + d.compiler, '#!/bin/sh\nif [ "$1" = %s ]; then echo 99.1.0; exit; fi\nexec %s "$@"\n'
                    % (version, d.compiler))
    os.chmod(other, os.stat(other).st_mode | stat.S_IXUSR)
    d.write("a.c", BLOCKS)
    d.cc("--heddle-compiler=" + other, "-O2", "-c", "a.c")
    d.same(constructor(d, "a.o"), {"tsan"})


def test_used_through_a_starter(d):
    """ccache and the like: one word before the compiler."""
    starter = d.write("starter", '#!/bin/sh\nexec "$@"\n')
    os.chmod(starter, os.stat(starter).st_mode | stat.S_IXUSR)
    d.write("a.c", BLOCKS)
    d.cc("--heddle-compiler=%s %s" % (starter, d.compiler), "-O2", "-c", "a.c")
    d.same(constructor(d, "a.o"), {"heddle"})


def test_cxx(d):
    d.write("a.cc", "#include <vector>\n#include <string>\n#include <cstring>\n"
                    "constexpr int n = __builtin_strlen(\"four\");\n"
                    "constexpr bool less = __builtin_memcmp(\"a\", \"b\", 1) < 0;\n"
                    "static_assert(n == 4 && less, \"\");\n"
                    "struct big { long a[9]; };\n"
                    "big make(int n) { if (n < 0) throw n; return big{{n}}; }\n"
                    "void fill(std::vector<big> &v) { try { v[0] = make(3); v.push_back(make(4)); } catch (int) {} }\n"
                    "int main() { std::vector<big> v(3); fill(v); std::string s(40, 'x'); return v[3].a[0] != 4; }\n")
    for level in ("-O0", "-O2", "-O3"):
        d.cxx(level, "-std=c++17", "-Wall", "-Wextra", "-Werror", "a.cc", "-o", "a")
        d.output("a")


@only("gcc")
def test_link_time_optimisation(d):
    """gcc instruments when it links: the plug-in has to be there, too."""
    d.write("a.c", BLOCKS + "int main(void) { f(); return g(); }\n")
    d.write("b.c", "struct s { long a[5]; }; int use(struct s s) { return s.a[0] != 0; }\n")
    d.cc("-O2", "-flto", "-c", "a.c", "b.c")
    d.cc("-O2", "-flto", "a.o", "b.o", "-o", "a")
    d.output("a")
    d.same(constructor(d, "a"), {"heddle"})

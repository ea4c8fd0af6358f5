"""Compiling: what is instrumented, and that every way to stop before linking works as with the compiler."""
from harness import HELLO

ACCESSES = """
#include <stdatomic.h>
int x; volatile int v; long long a[4]; _Atomic int at;
void inc(void) { x++; }
void add(int k) { x += k; }
void vol(void) { v = v + 1; }
void arr(int i) { a[i] |= 1; }
void atm(void) { atomic_fetch_add(&at, 2); }
void fence(void) { atomic_thread_fence(memory_order_seq_cst); }
"""


def test_read_modify_write_is_two_accesses(d):
    d.write("a.c", ACCESSES)
    for level in ("-O0", "-O1", "-O2", "-O3", "-Os", "-Ofast"):
        d.cc(level, "-S", "a.c", "-o", "a.s")
        hooks = d.hooks_by_function("a.s")
        d.same(hooks["inc"], ["read4", "write4"], level + " x++")
        d.same(hooks["add"], ["read4", "write4"], level + " x += k")
        d.same(hooks["arr"], ["read8", "write8"], level + " a[i] |= 1")
        d.same(hooks["vol"], ["volatile_read4", "volatile_write4"], level + " volatile")
        d.check("atomic32_fetch_add" in hooks["atm"], level + ": no atomic hook")
        d.check("atomic_thread_fence" in hooks["fence"], level + ": no fence hook")


def test_fence_gives_no_warning(d):
    d.write("a.c", ACCESSES)
    d.cc("-Wall", "-Wextra", "-Werror", "-c", "a.c")


def test_every_c_standard(d):
    d.write("a.c", HELLO)
    for std in ("c99", "gnu99", "c11", "gnu11", "c17", "gnu17", "c2x"):
        d.cc("-std=" + std, "-Wall", "-Wextra", "-pedantic-errors", "-Werror", "a.c", "-o", "a")
        d.same(d.output("a"), "hello 1\n", std)


def test_every_cxx_standard(d):
    d.write("a.cc", "#include <cstdio>\nstruct s { virtual ~s() {} int n = 1; };\n"
                    "int main() { s *p = new s; std::printf(\"%d\\n\", p->n); delete p; }\n")
    for std in ("c++11", "c++14", "gnu++17", "c++20"):
        d.cxx("-std=" + std, "-Wall", "-Wextra", "-Werror", "a.cc", "-o", "a")
        d.same(d.output("a"), "1\n", std)


def test_compile_only(d):
    d.write("a.c", HELLO)
    d.cc("-Wall", "-c", "a.c")
    d.check({"read4", "write4", "func_entry", "func_exit"} <= d.hooks("a.o"), "hooks missing: %s" % d.hooks("a.o"))
    d.check(not d.exists("a.out"), "-c must not link")


def test_preprocess_equals_the_compiler(d):
    d.write("a.c", HELLO + "#define TWO 2\nint two = TWO;\n")
    want = d.run([d.native, "-E", "-fsanitize=thread", "a.c"]).stdout
    d.same(d.cc("-E", "a.c").stdout, want)
    d.cc("-E", "a.c", "-o", "a.i")
    d.same(d.read("a.i"), want)
    d.cc("-c", "a.i")
    d.check("write4" in d.hooks("a.o"), "a preprocessed file is not instrumented")


def test_predefined_macros(d):
    macros = d.cc("-dM", "-E", "-x", "c", "-", stdin="").stdout
    d.check("__x86_64__" in macros, macros[:200])


def test_dependencies(d):
    d.write("h.h", "#define ONE 1\n")
    d.write("a.c", '#include "h.h"\nint main(void) { return ONE - 1; }\n')
    for option in ("-M", "-MM"):
        d.same(d.cc(option, "a.c").stdout, d.run([d.native, option, "a.c"]).stdout, option)
        d.check(not d.exists("a.out") and not d.exists("a.o"), option + " must only print")
    d.cc("-MMD", "-MP", "-MF", "a.dep", "-MT", "target", "-c", "a.c")
    d.check(d.read("a.dep").startswith("target: a.c h.h"), d.read("a.dep"))
    d.cc("-MD", "a.c", "-o", "a")
    d.output("a")
    d.check(d.exists("a.d") or d.exists("a-a.d"), "-MD wrote nothing")


def test_syntax_only(d):
    d.write("a.c", HELLO)
    d.cc("-fsyntax-only", "-Wall", "a.c")
    d.check(not d.exists("a.o") and not d.exists("a.out"), "-fsyntax-only must write nothing")


def test_assembly_output(d):
    d.write("a.c", HELLO)
    d.cc("-S", "a.c")
    d.check("__tsan_" in d.read("a.s"), "no hooks in the assembly")
    d.cc("a.s", "-o", "a")
    d.same(d.output("a"), "hello 1\n")


def test_assembler_inputs(d):
    d.write("one.s", ".globl one\none: mov $1, %eax\n ret\n.section .note.GNU-stack,\"\",@progbits\n")
    d.write("two.S", "#define TWO $2\n.globl two\ntwo: mov TWO, %eax\n ret\n"
                     ".section .note.GNU-stack,\"\",@progbits\n")
    d.write("a.c", "#include <stdio.h>\nint one(void), two(void);\n"
                   "int main(void) { printf(\"%d\\n\", one() + two()); }\n")
    d.cc("-c", "one.s")
    d.cc("-c", "two.S")
    d.cc("a.c", "one.o", "two.o", "-o", "a")
    d.same(d.output("a"), "3\n")
    d.cc("a.c", "one.s", "two.S", "-o", "b")
    d.same(d.output("b"), "3\n")


def test_standard_input(d):
    d.cc("-x", "c", "-", "-o", "a", stdin=HELLO)
    d.same(d.output("a"), "hello 1\n")
    d.cc("-xc", "-c", "-o", "b.o", "-", stdin=HELLO)
    d.check("write4" in d.hooks("b.o"), "standard input is not instrumented")


def test_precompiled_header(d):
    d.write("p.h", "#pragma once\n#include <stdio.h>\nstatic inline int one(void) { return 1; }\n")
    d.write("a.c", '#include "p.h"\nint main(void) { printf("%d\\n", one()); }\n')
    d.cc("p.h", silent=False)  # "#pragma once in main file"
    d.check(d.exists("p.h.gch") or d.exists("p.h.pch"), "no precompiled header")
    d.check(not d.exists("a.out"), "a header must not be linked")
    d.cc("-Winvalid-pch", "-include", "p.h", "a.c", "-o", "a")
    d.same(d.output("a"), "1\n")
    d.cc("-x", "c-header", "p.h", "-o", "q.pch", silent=False)
    d.check(d.exists("q.pch"), "no precompiled header with -x")


def test_debug_information_by_default(d):
    def has_debug(*options):
        d.cc("-c", *options, "a.c")
        return ".debug_info" in d.run(["readelf", "-SW", "a.o"]).stdout
    d.write("a.c", HELLO)
    d.check(has_debug(), "no debug information")
    d.check(has_debug("-O2", "-gcolumn-info"), "no debug information with -gcolumn-info")
    d.check(has_debug("-ggdb3"), "no debug information with -ggdb3")
    d.check(not has_debug("-g0"), "-g0 was overruled")


def test_heddle_header(d):
    d.write("a.c", "#include <heddle.h>\nint main(void) { return 0; }\n")
    d.cc("a.c", "-o", "a")
    d.output("a")
    d.write("own/heddle.h", "#define OWN 1\n")
    d.write("b.c", "#include <heddle.h>\n#ifndef OWN\n#error not my own\n#endif\nint main(void) { return 0; }\n")
    d.cc("-Iown", "-c", "b.c")


def test_uninstrumented_on_request(d):
    d.write("a.c", HELLO)
    for option in ("-fno-sanitize=thread", "-fno-sanitize=all", "-fno-sanitize=undefined,thread"):
        d.cc(option, "-c", "a.c")
        d.same(d.hooks("a.o"), set(), option)
    d.cc("-fno-sanitize=all", "-fsanitize=thread", "-c", "a.c")
    d.check("write4" in d.hooks("a.o"), "-fsanitize=thread after -fno-sanitize=all has no effect")
    d.cc("-fno-sanitize=thread", "a.c", "-o", "a")
    d.check_runtime("a")
    d.same(d.output("a"), "hello 1\n")


def test_own_fsanitize_thread(d):
    d.write("a.c", HELLO)
    d.cc("-fsanitize=thread", "a.c", "-o", "a")
    d.check_runtime("a")
    d.same(d.output("a"), "hello 1\n")
    d.cc("-fsanitize=thread", "-c", "a.c")
    d.cc("-fsanitize=thread", "a.o", "-o", "b")
    d.check_runtime("b")


def test_response_file(d):
    d.write("a b.c", HELLO)
    d.write("inner", "-DNAME=\\\"x\\\"   'a b.c'\n")
    d.write("rsp", "-Wall -c\n@inner -o \"o u t.o\"\n")
    d.cc("@rsp")
    d.check("write4" in d.hooks("o u t.o"), "not compiled or not instrumented")
    d.check(not d.exists("a.out"), "-c in a response file must not link")
    d.write("link", "'o u t.o' -o a\n")
    d.cc("@link")
    d.check_runtime("a")
    d.same(d.output("a"), "hello 1\n")
    d.write("both", "-fsanitize=thread -DQ='\"q q\"' 'a b.c' -o b\n")
    d.cc("@both")
    d.check_runtime("b")
    d.same(d.output("b"), "hello 1\n")
    d.write("static", "-static\n")
    d.cc("@static", "a b.c", want=2)
    d.cc("@missing", want=1)
    d.write("loop", "@loop\n")
    d.cc("@loop", "-c", "a b.c", want=None)


def test_compile_error_is_the_compilers(d):
    d.write("a.c", "int main(void) { return x; }\n")
    ours, theirs = d.cc("-c", "a.c", want=1), d.run([d.native, "-c", "a.c"], want=1)
    d.same(ours.stderr, theirs.stderr)


def test_user_warnings_stay(d):
    d.write("a.c", "int main(void) { int unused; return 0; }\n")
    d.check("unused" in d.cc("-Wall", "-c", "a.c", silent=False).stderr, "the warning is gone")
    d.cc("-Wall", "-Werror", "-c", "a.c", want=1)


def test_freestanding(d):
    d.write("a.c", "int x;\nvoid f(void) { x++; }\n")
    d.cc("-ffreestanding", "-nostdinc", "-c", "a.c")
    d.check("write4" in d.hooks("a.o"), "not instrumented")

"""Linking: libheddle_rt.so comes first and ThreadSanitizer's runtime never comes in, whatever is linked."""
import os

from harness import HELLO, THREADS, only

LIBRARY = "int shared_value;\nint bump(void) { return ++shared_value; }\n"
USER = '#include <stdio.h>\nint bump(void);\nint main(void) { bump(); printf("%d\\n", bump()); return 0; }\n'


def test_one_step(d):
    d.write("a.c", HELLO)
    d.cc("a.c", "-o", "a")
    d.check_runtime("a")
    d.same(d.output("a"), "hello 1\n")
    d.cc("a.c")
    d.same(d.output("a.out"), "hello 1\n")


def test_two_steps(d):
    d.write("a.c", HELLO)
    d.cc("-c", "a.c", "-o", "a.o")
    d.cc("a.o", "-o", "a")
    d.check_runtime("a")
    d.same(d.output("a"), "hello 1\n")


def test_several_inputs(d):
    d.write("lib.c", LIBRARY)
    d.write("a.c", USER)
    d.cc("a.c", "lib.c", "-o", "a")
    d.same(d.output("a"), "2\n")
    d.cc("-c", "a.c", "lib.c")
    d.cc("a.o", "lib.c", "-o", "b")
    d.same(d.output("b"), "2\n")


def test_kinds_of_programs(d):
    d.write("a.c", HELLO)
    for options in (["-pie", "-fPIE"], ["-no-pie", "-fno-pie"], ["-O2", "-s"], ["-Wl,--as-needed"], ["-pthread"],
                    ["-Wl,-z,now", "-Wl,-z,relro"], ["-Wl,--gc-sections", "-ffunction-sections"], ["-rdynamic"],
                    ["-Wl,--no-undefined"], ["-static-libgcc"], ["-lm", "-ldl", "-lpthread"], ["-pipe"],
                    ["-L/usr/lib/gcc/x86_64-linux-gnu/12"]):
        d.cc(*options, "a.c", "-o", "a")
        d.check_runtime("a")
        d.same(d.output("a"), "hello 1\n", " ".join(options))


def test_temporary_files_kept(d):
    d.write("a.c", HELLO)
    d.cc("-save-temps", "a.c", "-o", "a", silent=False)
    d.check_runtime("a")
    d.check("write4" in d.hooks("a"), "not instrumented")
    d.same(d.output("a"), "hello 1\n")


def test_nothing_instrumented_still_has_the_runtime(d):
    d.write("a.c", HELLO)
    d.run([d.native, "-c", "a.c"])
    d.cc("a.o", "-Wl,--as-needed", "-o", "a")
    d.check_runtime("a")


def test_other_linkers(d):
    d.write("a.c", HELLO)
    for linker in ("-fuse-ld=gold", "-fuse-ld=lld"):
        if d.native_works(linker, "a.c", "-o", "native"):
            d.cc(linker, "a.c", "-o", "a")
            d.check_runtime("a")
            d.same(d.output("a"), "hello 1\n", linker)


def test_link_time_optimisation(d):
    d.write("lib.c", LIBRARY)
    d.write("a.c", USER)
    if not d.native_works("-flto", "a.c", "lib.c", "-o", "native"):
        return
    for level in ("-O0", "-O2"):
        d.cc("-flto", level, "a.c", "lib.c", "-o", "a")
        d.check_runtime("a")
        d.check("write4" in d.hooks("a"), "not instrumented")
        d.same(d.output("a"), "2\n")
    d.cc("-flto", "-O2", "-c", "a.c", "lib.c")
    d.cc("-flto", "-O2", "a.o", "lib.o", "-o", "b")
    d.check("write4" in d.hooks("b"), "not instrumented in two steps")
    d.same(d.output("b"), "2\n")


def test_static_library(d):
    d.write("lib.c", LIBRARY)
    d.write("a.c", USER)
    d.cc("-c", "lib.c")
    d.run(["ar", "rcs", "libmine.a", "lib.o"])
    d.cc("a.c", "-L.", "-lmine", "-o", "a")
    d.check_runtime("a")
    d.same(d.output("a"), "2\n")
    d.cc("a.c", "-Wl,-Bstatic", "-L.", "-lmine", "-Wl,-Bdynamic", "-o", "b")
    d.same(d.output("b"), "2\n")


def test_shared_library(d):
    d.write("lib.c", LIBRARY)
    d.write("a.c", USER)
    d.cc("-shared", "-fPIC", "-Wl,-soname,libmine.so", "-Wl,-z,defs", "lib.c", "-o", "libmine.so")
    d.check_runtime("libmine.so")
    d.cc("a.c", "-L.", "-lmine", "-Wl,-rpath,$ORIGIN", "-o", "a")
    d.check_runtime("a")
    d.same(d.output("a"), "2\n")
    # A program of the plain compiler can use the library, too.
    d.run([d.native, "a.c", "-L.", "-lmine", "-Wl,-rpath," + d.dir, "-o", "b"])
    d.same(d.output("b"), "2\n")


def test_library_without_default_libraries(d):
    """The way libtool links C++ libraries."""
    d.write("lib.c", LIBRARY)
    d.cc("-shared", "-fPIC", "-nostdlib", "lib.c", "-lc", "-o", "libmine.so")
    d.check_runtime("libmine.so")
    d.write("a.c", HELLO)
    d.cc("-nodefaultlibs", "a.c", "-lc", "-lgcc", "-lgcc_s", "-o", "a")
    d.check_runtime("a")
    d.same(d.output("a"), "hello 1\n")


def test_relocatable_object(d):
    d.write("lib.c", LIBRARY)
    d.write("a.c", USER)
    d.cc("-c", "a.c", "lib.c")
    for options in (["-r"], ["-nostdlib", "-no-pie", "-Wl,-r"]):
        d.cc(*options, "a.o", "lib.o", "-o", "both.o")
        d.check("DYNAMIC" not in d.run(["readelf", "-lW", "both.o"], want=None).stdout, "not an object")
        d.cc("both.o", "-o", "a")
        d.check_runtime("a")
        d.same(d.output("a"), "2\n")


def test_linker_query(d):
    d.same(d.cc("-Wl,--version", silent=False).stdout, d.run([d.native, "-Wl,--version"]).stdout)


def test_cxx(d):
    d.write("a.cc", """
#include <iostream>
#include <thread>
#include <mutex>
#include <vector>
#include <stdexcept>
std::mutex m; int total;
static std::vector<int> &list() { static std::vector<int> l; return l; }
int main() {
  std::vector<std::thread> t;
  for (int i = 0; i < 4; i++) t.emplace_back([i] { std::lock_guard<std::mutex> g(m); total += i; list().push_back(i); });
  for (auto &x : t) x.join();
  try { throw std::runtime_error("thrown"); } catch (const std::exception &e) { std::cout << e.what() << " "; }
  std::cout << total << " " << list().size() << std::endl;
}
""")
    for options in (["-O0"], ["-O2"], ["-O2", "-no-pie"], ["-static-libstdc++", "-static-libgcc"]):
        d.cxx(*options, "-Wall", "a.cc", "-o", "a")
        d.check_runtime("a")
        d.same(d.output("a"), "thrown 6 4\n", " ".join(options))
    d.cxx("-c", "a.cc")
    d.cxx("a.o", "-o", "b")
    d.check_runtime("b")
    d.same(d.output("b"), "thrown 6 4\n")


def test_c_and_cxx_together(d):
    d.write("lib.c", LIBRARY)
    d.write("a.cc", '#include <iostream>\nextern "C" int bump(void);\n'
                    'int main() { bump(); std::cout << bump() << "\\n"; }\n')
    d.cc("-c", "lib.c")
    d.cxx("a.cc", "lib.o", "-o", "a")
    d.check_runtime("a")
    d.same(d.output("a"), "2\n")


def test_threads_are_real_without_heddle(d):
    d.write("a.c", THREADS)
    for level in ("-O0", "-O2"):
        d.cc(level, "-Wall", "-pthread", "a.c", "-o", "a")
        d.same(d.output("a"), "4000 6\n", level)


def test_undefined_behaviour_sanitizer(d):
    d.write("a.c", "#include <stdio.h>\n"
                   "int main(int argc, char **argv) { int k = 0x7ffffffe + argc; (void)argv; k += argc;"
                   " puts(\"end\"); return k == 0; }\n")
    if not d.native_works("-fsanitize=undefined", "a.c", "-o", "native"):
        return
    for option in ("-fsanitize=undefined", "-fsanitize=thread,undefined", "-fsanitize=signed-integer-overflow"):
        d.cc(option, "a.c", "-o", "a")
        d.check_runtime("a")
        p = d.run([d.path("a")], env={"UBSAN_OPTIONS": ""})
        d.check("signed integer overflow" in p.stderr, "%s reports nothing: %s" % (option, p.stderr))


@only("gcc")
def test_static_libtsan_is_left_out(d):
    d.write("a.c", HELLO)
    d.cc("-fsanitize=thread", "-static-libtsan", "a.c", "-o", "a")
    d.check_runtime("a")
    d.same(d.output("a"), "hello 1\n")


def test_moved_installation(d):
    """An installation works from any folder, also one with a blank and a comma in its name."""
    d.run(["cmake", "--install", d.build, "--prefix", d.path("first")])
    home = d.path("my, heddle")
    os.rename(d.path("first"), home)
    d.write("a.c", "#include <heddle.h>\n" + HELLO)
    for tool in (["heddle", "cc"], ["heddle-cc"], ["heddle-c++", "-x", "c++"]):
        d.run([os.path.join(home, "bin", tool[0]), *tool[1:], "a.c", "-o", "a"])
        d.same(d.needed("a")[0], "libheddle_rt.so.1")
        d.check(os.path.join(home, "lib/heddle") in d.run(["readelf", "-d", "a"]).stdout, "run path")
        d.same(d.output("a"), "hello 1\n", tool[0])
    d.check(os.path.exists(os.path.join(home, "include/heddle.h")), "include/heddle.h is not installed")
    os.remove(os.path.join(home, "lib/heddle/libheddle_rt.so"))
    p = d.run([os.path.join(home, "bin/heddle"), "cc", "a.c"], want=3)
    d.check("libheddle_rt.so" in p.stderr and p.stderr.count("\n") == 1, p.stderr)

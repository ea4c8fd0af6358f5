"""As the compiler of make, CMake and an autoconf configure script."""
import shutil

from harness import HELLO, THREADS

LIBRARY = "#include <pthread.h>\nint value;\nint bump(void) { return ++value; }\n"
USER = '#include <stdio.h>\nint bump(void);\nint main(void) { bump(); printf("%d\\n", bump()); return 0; }\n'


def test_make(d):
    d.write("lib.c", LIBRARY)
    d.write("a.c", USER)
    d.write("Makefile", "CFLAGS = -O2 -Wall -Werror -MMD\nLDLIBS = -lpthread\n"
                        "all: a libmine.a\na: a.o lib.o\nlibmine.a: libmine.a(lib.o)\n-include *.d\n")
    d.run(["make", "CC=%s cc" % d.heddle])
    d.check_runtime("a")
    d.same(d.output("a"), "2\n")
    d.check("write4" in d.hooks("lib.o"), "not instrumented")


def test_cmake(d):
    d.write("lib.c", LIBRARY)
    d.write("a.c", USER)
    d.write("b.cc", '#include <iostream>\n#include <thread>\nextern "C" int bump(void);\n'
                    'int main() { std::thread t([] { bump(); }); t.join(); std::cout << bump() << "\\n"; }\n')
    d.write("CMakeLists.txt", """
cmake_minimum_required(VERSION 3.13)
project(try C CXX)
find_package(Threads REQUIRED)
include(CheckCSourceRuns)
include(CheckIPOSupported)
check_c_source_runs("int main(void) { return 0; }" RUNS)
if(NOT RUNS)
  message(FATAL_ERROR "test programs do not run")
endif()
add_library(mine SHARED lib.c)
add_library(other STATIC lib.c)
add_executable(a a.c)
target_link_libraries(a mine)
add_executable(b b.cc)
target_link_libraries(b other Threads::Threads)
install(TARGETS mine a LIBRARY DESTINATION lib RUNTIME DESTINATION bin)
""")
    d.run(["cmake", "-G", "Ninja", "-S", ".", "-B", "out", "-DCMAKE_C_COMPILER=%s-cc" % d.heddle,
           "-DCMAKE_CXX_COMPILER=%s-c++" % d.heddle, "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
           "-DCMAKE_C_FLAGS=-Wall -Werror"])
    d.run(["cmake", "--build", "out"])
    for program in ("a", "b"):
        d.check_runtime("out/" + program)
        d.same(d.output("out/" + program), "2\n", program)
    d.check_runtime("out/libmine.so")
    # Installing changes run paths; the one to the runtime has to stay.
    d.run(["cmake", "--install", "out", "--prefix", d.path("inst")])
    d.check_runtime("inst/bin/a")
    d.same(d.output("inst/bin/a", env={"LD_LIBRARY_PATH": d.path("inst/lib")}), "2\n", "installed program")


def test_autoconf(d):
    if not shutil.which("autoreconf") or not shutil.which("automake"):
        raise RuntimeError("autoconf and automake are needed for this test; run scripts/setup.sh")
    d.write("configure.ac", """
AC_INIT([try], [1.0])
AM_INIT_AUTOMAKE([foreign no-dist])
AC_PROG_CC
AC_PROG_CXX
AC_C_BIGENDIAN
AC_CHECK_HEADERS([pthread.h no_such_header.h])
AC_CHECK_FUNCS([pthread_create malloc no_such_function])
AC_FUNC_MALLOC
AC_CHECK_SIZEOF([long])
AC_SEARCH_LIBS([pthread_mutex_lock], [pthread])
AC_MSG_CHECKING([whether threads run])
AC_RUN_IFELSE([AC_LANG_SOURCE([[
#include <pthread.h>
static void *f(void *p) { *(int *)p = 0; return 0; }
int main(void) { int r = 1; pthread_t t; pthread_create(&t, 0, f, &r); pthread_join(t, 0); return r; }
]])], [AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no]); AC_MSG_ERROR([threads do not run])],
  [AC_MSG_ERROR([taken for a cross compiler])])
AC_CONFIG_HEADERS([config.h])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
""")
    d.write("Makefile.am", "bin_PROGRAMS = a b\na_SOURCES = a.c lib.c\nb_SOURCES = b.cc\n")
    d.write("a.c", USER)
    d.write("lib.c", "#include <config.h>\n" + LIBRARY)
    d.write("b.cc", '#include <iostream>\nint main() { std::cout << "c++\\n"; }\n')
    d.run(["autoreconf", "-i"])
    p = d.run(["./configure", "CC=%s cc" % d.heddle, "CXX=%s c++" % d.heddle])
    for line in ("whether we are cross compiling... no", "whether the compiler supports GNU C... yes",
                 "for pthread_create... yes", "for no_such_function... no", "for no_such_header.h... no",
                 "whether byte ordering is bigendian... no", "size of long... 8"):
        d.check(line in p.stdout, "configure does not say %r\n%s" % (line, p.stdout))
    d.run(["make", "V=1"])
    for program, text in (("a", "2\n"), ("b", "c++\n")):
        d.check_runtime(program)
        d.same(d.output(program), text)


def test_configure_results_equal_the_compilers(d):
    """The same configure script comes to the same conclusions with the plain compiler."""
    d.write("configure.ac", "AC_INIT([try], [1.0])\nAC_PROG_CC\nAC_CHECK_HEADERS([threads.h stdatomic.h])\n"
                            "AC_CHECK_FUNCS([thrd_create pthread_setname_np strlcpy qsort_r])\nAC_C_INLINE\n"
                            "AC_CHECK_TYPES([__int128])\nAC_C_RESTRICT\nAC_FUNC_STRERROR_R\n"
                            "AC_CONFIG_HEADERS([config.h])\nAC_OUTPUT\n")
    d.run(["autoreconf", "-i"])
    headers = []
    for cc in ("%s cc" % d.heddle, d.native):
        d.run(["./configure", "CC=" + cc])
        headers.append(d.read("config.h"))
    d.same(headers[0], headers[1], "config.h")


def test_nothing_but_the_program_is_written(d):
    d.write("a.c", HELLO + THREADS.replace("int main", "int other"))
    d.cc("a.c", "-pthread", "-o", "a")
    import os
    d.same(sorted(os.listdir(d.dir)), ["a", "a.c"], "files")

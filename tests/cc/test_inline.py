"""The fast path that clang's plug-in inlines: it leaves out a call only if the hook would have done nothing. With gcc, which
calls every hook, the same programs are checked.

Each case is a function of the first thread that accesses some bytes after other accesses which are not enough to know the
last one; the second thread accesses the same bytes, in conflict with that access alone.
"""
import json

from harness import only

TYPES = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t", 16: "v16"}
SYMBOL = "__heddle_inline_1"

HEAD = """
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef uint64_t v16 __attribute__((vector_size(16), aligned(8)));
typedef uint16_t u2 __attribute__((aligned(1)));
typedef uint32_t u4 __attribute__((aligned(1)));
typedef uint64_t u8 __attribute__((aligned(1)));
typedef uint64_t u16 __attribute__((vector_size(16), aligned(1)));
#define CASE __attribute__((noinline)) void
#define KEEP(x) __asm__ volatile("" : : "rm"(x))
#define CLOBBER __asm__ volatile("" : : : "memory")
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void release(void) { pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); }
"""

MAIN = """
static _Alignas(64) unsigned char memory[COUNT][64];
static void *first(void *unused) { for (int i = 0; i < COUNT; i++) cases[i].f(memory[i] + 16); return unused; }
static void *second(void *unused) {
  for (int i = 0; i < COUNT; i++) {
    unsigned char *p = memory[i] + 16 + cases[i].offset;
    for (int k = 0; k < cases[i].size; k++)
      if (cases[i].writes) p[k] = 1; else KEEP(p[k]);
  }
  return unused;
}
int main(int argc, char **argv) {
  pthread_t t, u;
  int ordered = argc > 1 && !strcmp(argv[1], "ordered");
  pthread_create(&t, 0, first, 0);
  if (ordered) pthread_join(t, 0);
  pthread_create(&u, 0, second, 0);
  if (!ordered) pthread_join(t, 0);
  pthread_join(u, 0);
  puts("done");
  return 0;
}
"""


def cases():
    """(name, offset, bytes, whether the other thread has to write, code)"""
    for size, plain in TYPES.items():
        for offset in sorted({0, size % 16, 3, 6, 7, 16 - size}):
            aligned = offset % min(size, 8) == 0
            if size == 1 and offset not in (0, 7):
                continue
            kind = plain if aligned else "u%d" % size
            at = "(*(%s *)(p + %d))" % (kind, offset)
            value = "(%s){1, 1}" % kind if size == 16 else "1"
            read, write = "{ %s x = %s; KEEP(*(char *)&x); CLOBBER; }" % (kind, at), "%s = %s; CLOBBER;" % (at, value)
            if size == 16:
                read = "{ %s x = %s; sink[0] = x[0]; sink[1] = x[1]; CLOBBER; }" % (kind, at)
            near = "{ unsigned char x = p[%d]; KEEP(x); CLOBBER; p[%d] = 2; CLOBBER; }"
            beside = [o for o in (offset - 1, offset + size) if 0 <= o + 16 < 64]
            around = "".join(near % (o, o) for o in beside)
            name = "%d_%d" % (size, offset)
            yield "first_read_" + name, offset, size, True, read
            yield "first_write_" + name, offset, size, False, write
            yield "read_beside_" + name, offset, size, True, around + read
            yield "write_beside_" + name, offset, size, False, around + write
            yield "read_then_write_" + name, offset, size, False, read + read + write
            yield "write_again_" + name, offset, size, False, write + "release();" + write
            yield "read_again_" + name, offset, size, True, read + "release();" + read
            if size > 1:  # a part of the bytes is known
                part = "{ unsigned char x = p[%d]; KEEP(x); CLOBBER; }" % offset
                yield "read_more_" + name, offset + 1, size - 1, True, part + read
                yield "write_more_" + name, offset + 1, size - 1, False, "p[%d] = 2; CLOBBER;" % offset + write


def source(some):
    text = [HEAD, "uint64_t sink[2] __attribute__((section(\".data.sink\")));\n"]
    for name, _, _, _, code in some:
        text.append("CASE %s(unsigned char *p) { %s }\n" % (name, code))
    text.append("static const struct { void (*f)(unsigned char *); int offset, size, writes; } cases[] = {\n")
    text += ["{%s, %d, %d, %d},\n" % (name, o, n, w) for name, o, n, w, _ in some]
    text.append("};\n#define COUNT %d\n" % len(some))
    return "".join(text) + MAIN


def racing(d, program):
    """The cases with a race."""
    d.run([d.heddle, "check", "--strategy", "random", "--max-executions", "1", "--all", "--quiet", "--no-explain", "--out",
           d.path("out"), "--json", d.path("result.json"), "--", d.path(program)], want=None)
    with open(d.path("result.json")) as f:
        findings = json.load(f)["findings"]
    return {w["function"] for f in findings if f["kind"] == "data-race" for w in f["where"] if w.get("function")}


def clean(d, program, *args):
    p = d.run([d.heddle, "check", "--strategy", "random", "--max-executions", "20", "--", d.path(program), *args],
              want=None)
    d.check(p.returncode in (0, 5), "a finding: " + p.stdout + p.stderr)


BATCH = 100  # fewer than the findings that are kept


def try_all(d, *options):
    every = list(cases())
    for i in range(0, len(every), BATCH):
        some = every[i:i + BATCH]
        d.write("a.c", source(some))
        d.cc("-g", "-w", "-fno-builtin", "-fno-strict-aliasing", *options, "a.c", "-o", "a", "-pthread")
        d.same(d.output("a"), "done\n", "output of the program on its own")
        lost = {c[0] for c in some} - racing(d, "a")
        d.check(not lost, "%s: no race in %s" % (" ".join(options), ", ".join(sorted(lost))))
        clean(d, "a", "ordered")


def test_accesses_o1(d):
    try_all(d, "-O1")


def test_accesses_o2(d):
    try_all(d, "-O2")


def test_accesses_o3_not_pie(d):
    try_all(d, "-O3", "-fno-pie", "-no-pie")


PLACES = """
#include <pthread.h>
#include <string.h>
#include <stdio.h>
#include <stdatomic.h>
static _Thread_local long own[8];
static volatile long flag;
static atomic_long sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *escape(void *p) { __asm__ volatile("" : "+r"(p) : : "memory"); return p; }
/* Frames of other functions come to the same addresses. */
static __attribute__((noinline)) long small(long x) {
  long v[4]; long *p = escape(v);
  for (int i = 0; i < 4; i++) p[i] = x + i;
  for (int i = 0; i < 4; i++) x += p[i];
  return x;
}
static __attribute__((noinline)) long large(long x) {
  static const int n = 40000; char v[40000]; char *p = escape(v);
  for (int i = 0; i < n; i += 100) p[i] = (char)(x + i);
  for (int i = 0; i < n; i += 100) x += p[i];
  return x + small(x);
}
static __attribute__((noinline)) long varying(long n) {
  char v[n]; char *p = escape(v);
  memset(p, 3, (size_t)n);
  return p[n / 2] + p[0];
}
static void *work(void *arg) {
  long *mine = escape(own), x = (long)arg;
  for (int i = 0; i < 200; i++) {
    mine[i % 8] += small(x) + large(x) + varying(100 + i);
    pthread_mutex_lock(&lock);
    flag = flag + 1;
    pthread_mutex_unlock(&lock);
    sum += mine[i % 8] & 7;
  }
  return 0;
}
int main(void) {
  pthread_t t[3];
  for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, work, (void *)i);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  printf("%ld %ld\\n", flag, (long)sum);
  return 0;
}
"""


def test_stacks_and_thread_local(d):
    d.write("a.c", PLACES)
    d.run([d.native, "-O2", "a.c", "-o", "native", "-pthread"])
    for level in ("-O0", "-O1", "-O2", "-O3", "-Os"):
        d.cc(level, "a.c", "-o", "a", "-pthread")
        d.same(d.output("a"), d.output("native"), level)
        clean(d, "a")
        p = d.run([d.heddle, "run", "--", d.path("a")])
        d.check(d.output("native") in p.stdout, level + ": other output under heddle run: " + p.stdout)


def test_shared_library(d):
    d.write("lib.c", "long total;\nvoid add(long *p) { for (int i = 0; i < 4; i++) total += p[i]++; }\n")
    d.write("main.c", "#include <pthread.h>\nvoid add(long *); long v[4];\n"
                      "static void *work(void *p) { add(v); return p; }\n"
                      "int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); add(v); pthread_join(t, 0); return 0; }\n")
    d.cc("-O2", "-fPIC", "-shared", "lib.c", "-o", "libadd.so")
    d.cc("-O2", "main.c", "-o", "main", "-pthread", "-L.", "-ladd", "-Wl,-rpath," + d.dir)
    d.output("main")
    d.check("add" in racing(d, "main"), "no race in the library")


def test_cxx(d):
    d.write("a.cc", "#include <thread>\n#include <vector>\n#include <stdexcept>\n"
                    "struct base { virtual ~base() {} virtual long f(long x) { return x; } long n = 0; };\n"
                    "struct derived : base { long f(long x) override { if (x > 5) throw std::runtime_error(\"x\"); return n += x; } };\n"
                    "static void work(base *b) { try { for (long i = 0; i < 9; i++) b->f(i); } catch (std::exception &) { b->n++; } }\n"
                    "int main() { derived a, b; std::vector<std::thread> t; t.emplace_back(work, &a);\n"
                    "  t.emplace_back(work, RACE ? &a : &b); for (auto &x : t) x.join(); return a.n == 16 && b.n == 16 ? 0 : RACE ? 0 : 1; }\n")
    for level in ("-O1", "-O2"):
        d.cxx(level, "-DRACE=0", "a.cc", "-o", "a", "-pthread")
        d.output("a")
        clean(d, "a")
        d.cxx(level, "-DRACE=1", "a.cc", "-o", "b", "-pthread")
        found = racing(d, "b")
        d.check(any("derived::f" in f or "work" in f for f in found), level + ": no race: %s" % found)


@only("clang")
def test_where_it_is_inlined(d):
    d.write("a.c", "void f(long *p) { *p += 1; }\nvoid g(volatile long *p) { *p = 1; }\n")
    for level, inlined in (("-O0", False), ("-O1", True), ("-O2", True), ("-Oz", False)):
        d.cc(level, "-c", "a.c")
        text = d.run(["nm", "-u", d.path("a.o")]).stdout
        d.same(SYMBOL in text, inlined, level)
        d.same(d.hooks("a.o") & {"read8", "write8", "volatile_write8"}, {"read8", "write8", "volatile_write8"}, level)


def test_other_layout(d):
    """A program whose inlined code knows another layout is refused."""
    d.write("lib.c", "char __heddle_inline_0;\n")
    d.write("a.c", "extern char __heddle_inline_0;\nint main(void) { return __heddle_inline_0; }\n")
    d.cc("-fPIC", "-shared", "lib.c", "-o", "libother.so")
    d.cc("-fPIC", "a.c", "-o", "a", "-L.", "-lother", "-Wl,-rpath," + d.dir)
    for verb in ("check", "run"):
        p = d.run([d.heddle, verb, "--", d.path("a")], want=3)
        d.check("incompatible version of heddle" in p.stderr and "rebuild it" in p.stderr, "refused with: " + p.stderr)

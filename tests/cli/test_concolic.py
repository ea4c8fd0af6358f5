"""heddle concolic: inputs as well as schedules (src/session/partition.c, src/runtime/symbolic, src/plugin/llvm_symbolic.cc)."""
import os
import re
import shutil
import sys

from scratch import each

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz"))
import interference  # noqa: E402

CLANG = shutil.which("clang-19")
HEAD = """#include <assert.h>
#include <ctype.h>
#include <heddle.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
int __VERIFIER_nondet_int(void);
void __VERIFIER_assume(int);
static pthread_t t;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int x;
"""

# Body of main (after what comes before it), classes (None: any number), findings: (kind, inputs).
CASES = {
    "range": ("", 'int n = (int)hd_input_range(-5, 1000000, "n"); if (n == 77) hd_failure("77");', 2, [("assertion", {"n": "77"})]),
    "nothing": ("", 'int n = (int)hd_input_range(0, 5, "n"); if (n == 6) hd_failure("6");', 1, []),
    "bytes": ("", 'char b[3]; hd_input(b, sizeof b, "b"); if (b[0] == 120 && b[2] - 1 == b[0]) hd_failure("b");', None, [("assertion", {"b": None})]),
    "nondet": ("", "int a = __VERIFIER_nondet_int(), b = __VERIFIER_nondet_int();"
                   "__VERIFIER_assume(a > 1000 && b > 1000 && a < 4000 && b < 4000); if (a * b == 1018081) hd_failure(\"square\");",
               None, [("assertion", None)]),
    "divide": ("", 'int n; hd_input(&n, sizeof n, "n"); x = 100 / (n - 3);', None, [("crash", {"n": "3"})]),
    "index": ("", 'unsigned i = (unsigned)hd_input_range(0, 10, "i"); volatile int *p = calloc(10, sizeof *p); x = p[i]; free((void *)p);',
              None, [("heap-overflow", {"i": "10"})]),
    "size": ("", 'long n = hd_input_range(1, 4, "n"); volatile char *p = malloc((size_t)n); p[2] = 1; free((void *)p);', None,
             [("heap-overflow", None)]),
    "switch": ("", 'int n; hd_input(&n, 4, "n"); switch (n) { case 5: case 6: x = 1; break; case -9: hd_failure("nine"); }',
               4, [("assertion", {"n": "-9 or 4294967287"})]),
    "copy": ("struct two { int a; short b[2]; };", 'struct two p, q; hd_input(&p, sizeof p, "p"); q = p; struct two *h = malloc(sizeof q);'
             'memcpy(h, &q, sizeof q); if (h->b[1] == 300 && h->a > INT_MAX - 2) hd_failure("copy"); free(h);',
             None, [("assertion", None)]),
    "float": ("", 'int n = (int)hd_input_range(0, 3, "n"); double d = n * 0.5; if (d > 1.2) hd_failure("half");', None,
              [("assertion", {"n": "3"})]),
    "call": ("static __attribute__((noinline)) long f(int a, long b, char c) { return a + b * c; }"
             "static long (*volatile g)(int, long, char) = f;",
             'char c; hd_input(&c, 1, "c"); if (g(1, c, c) == 26) hd_failure("26");', None, [("assertion", None)]),
    "string": ("", 'char s[4] = ""; hd_input(s, 2, "s"); if (strcmp(s, "") == 0 || s[1]) return 0; exit(0);', None, []),
    "thread": ("static void *w(void *p) { int k; hd_input(&k, sizeof k, \"k\"); pthread_mutex_lock(&m); x = k;"
               " pthread_mutex_unlock(&m); return (void *)(long)k; }",
               'void *r; pthread_create(&t, 0, w, 0); pthread_mutex_lock(&m); int v = x; pthread_mutex_unlock(&m);'
               ' pthread_join(t, &r); if (v == 12 && (long)r == 12) hd_failure("12");', None, [("assertion", {"k": "12"})]),
    "cas": ("static _Atomic int a; static void *w(void *p) { int e = 5; if (atomic_compare_exchange_strong(&a, &e, 6)) x = 1; return p; }",
            'int n; hd_input(&n, sizeof n, "n"); pthread_create(&t, 0, w, 0); atomic_fetch_add(&a, n); pthread_join(t, 0);'
            ' if (x) hd_failure("won");', None, [("assertion", {"n": "5"})]),
    "abort": ("", 'int n; hd_input(&n, sizeof n, "n"); if (n == 9) abort();', 2, [("abort", {"n": "9"})]),
    "strlen": ("", 'char s[9] = ""; hd_input(s, 8, "s"); if (strlen(s) == 5) hd_failure("five");', 9, [("assertion", None)]),
    "strcmp": ("", 'char s[9] = ""; hd_input(s, 8, "s"); if (strcmp(s, "heddle") == 0) hd_failure("name");', 8, [("assertion", None)]),
    "compare": ("", 'char s[8]; hd_input(s, 8, "s"); if (memcmp(s, "\\177ELF", 4) == 0 && strncmp(s + 4, "ab", 2) > 0) hd_failure("elf");',
                None, [("assertion", None)]),
    "strchr": ("", 'char s[5] = ""; hd_input(s, 4, "s"); char *p = strchr(s, 61); if (p && p[1] == 55) hd_failure("=7");', None,
               [("assertion", None)]),
    "strcpy": ("", 'char s[5] = "", d[12] = "x"; hd_input(s, 4, "s"); strcat(d, s); if (d[3] == 66 && !d[4]) hd_failure("B");', None,
               [("assertion", None)]),
    "number": ("", 'char s[6] = ""; hd_input(s, 3, "s"); if (atoi(s) == -12) hd_failure("12");', None,
               [("assertion", {"s": '"-12"'})]),
    "hex": ("", 'char s[4] = "", *e; hd_input(s, 3, "s"); if (strtol(s, &e, 0) == 11 && !*e && e > s + 2) hd_failure("0xb or 013");', None,
            [("assertion", None)]),
    "ctype": ("", 'unsigned char s[3]; hd_input(s, 3, "s"); int n = 0; for (int i = 0; i < 3; i++) n += isalpha(s[i]) ? 1 : isdigit(s[i]) ? 10 : 100;'
              ' if (n == 21 && toupper(s[0]) == 81 && s[0] != 81) hd_failure("q");', None, [("assertion", None)]),
    "table": ("static const int table[16] = {5, 3, 9, 12, 7, 1, 0, 2, 8, 4, 44, 6, 10, 13, 15, 14};",
              'unsigned i = (unsigned)hd_input_range(0, 15, "i"); if (table[i] == 44) hd_failure("ten");', 2, [("assertion", {"i": "10"})]),
    "loop": ("", 'int n = (int)hd_input_range(0, 6, "n"), s = 0; for (int i = 0; i < n; i++) s += i; if (s == 10) hd_failure("ten");',
             None, [("assertion", {"n": "5"})]),
}


@each(*[name + level for name in CASES for level in (("-O1",) if name not in ("call", "copy") else ("-O0", "-O2"))])
def test_case(s, which):
    name, level = which[:-3], which[-3:]
    if not CLANG:
        return
    before, body, classes, want = CASES[name]
    s.write("prog.c", HEAD + before + "\nint main(void) { " + body + " return 0; }\n")
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", level, "prog.c", "-o", "prog"])
    r = s.search("concolic", "./prog", "--all", "--no-explain")
    s.check(r["complete"], "not complete: %s" % r["inexact"])
    if classes:
        s.same(r["input_classes"], classes, "classes")
    s.same([f["kind"] for f in r["findings"]], [kind for kind, _ in want], "findings")
    for f, (_, inputs) in zip(r["findings"], want):
        s.check(f["replays"], "does not replay")
        given = {i["name"]: i["value"] for i in f["inputs"]}
        for key, value in (inputs or {}).items():
            s.check(key in given and value in (None, given[key]), "inputs: %s, not %s" % (given, inputs))


# What functions make of a text of three characters, each one of "aB, " and the end, and of three numbers from 0 to 3.
TEXT = {
    "strstr": 'where(strstr(s, "aB")) * 10 + where(strstr(s, ""))',
    "strcasestr": 'where(strcasestr(s, "ab"))',
    "strspn": '(int)(strspn(s, "aB") * 10 + strcspn(s, ", ")) * 10 + where(strpbrk(s, ",B"))',
    "strchrnul": "(int)(strchrnul(s, 44) - s)",
    "strtok": 'where(strtok(s, ", ")) * 10 + where(strtok(0, " "))',
    "strsep": "split(s)",
    "strcasecmp": 'sign(strcasecmp(s, "Ab")) * 10 + sign(strncasecmp(s, "bA", 1))',
    "qsort": "(qsort(v, 3, sizeof *v, order), v[0] * 100 + v[1] * 10 + v[2])",
    "bits": "__builtin_popcount(v[0] * 5 + v[1]) * 10000 + __builtin_ctz(v[1] * 4 + v[2] + 16) * 100 + __builtin_clz(v[2] * v[2] + 1)",
}


@each(*TEXT)
def test_text(s, name):
    """All contents, as choices and as inputs, give the same results."""
    if not CLANG:
        return
    s.write("prog.c", "#define _GNU_SOURCE\n" + HEAD + """#include <stdio.h>
#ifdef CHOOSE
#define IN(name) hd_choose(4)
#else
#define IN(name) (int)hd_input_range(0, 3, name)
#endif
static char s[4];
static int v[3];
static int where(const char *p) { return p ? (int)(p - s) + 1 : 0; }
static int sign(int n) { return n > 0 ? 2 : n < 0; }
static int order(const void *a, const void *b) { return *(const int *)b - *(const int *)a; }
static int split(char *p) { int n = 0; for (char *t; (t = strsep(&p, ", ")); ) n = n * 10 + where(t); return n; }
int main(void) {
  static const char letter[] = {'a', 'B', ',', 0};
  char label[20];
  for (int i = 0; i < 3; i++) v[i] = IN("v"), s[i] = letter[v[i]];
  int r = """ + TEXT[name] + """;
  (void)where, (void)sign, (void)order, (void)split;
  snprintf(label, sizeof label, "%d", r);
  hd_target(label);
}
""")
    s.run([s.heddle, "cc", "-DCHOOSE", "-w", "-g", "prog.c", "-o", "all"])
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "-O1", "prog.c", "-o", "prog"])
    want = s.search("check", "./all", "--strategy", "optimal")
    r = s.search("concolic", "./prog")
    s.check(want["complete"] and r["complete"], r["inexact"])
    s.same(sorted(r["targets"]), sorted(want["targets"]), "results")
    s.same(want["executions"], 64, "executions of all contents")
    s.check(r["input_classes"] <= 64, "%d classes" % r["input_classes"])


@each("-O0", "-O2")
def test_printed(s, level):
    """What is only printed has no class for each value; what is printed elsewhere has."""
    if not CLANG:
        return
    text = HEAD + """#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int n; char s[4];
  FILE *f = TO;
  hd_input(&n, sizeof n, "n"); hd_input(s, 3, "s"); s[3] = 0;
  n &= 127;
  fprintf(f, "%d and %-5s\\n", n, s); fputs(s, f); fputc(n, f); fwrite(s, 1, 3, f);
  if (f == stderr) printf("%x", n), putchar(n), puts(s), (void)!write(1, s, 3);
  if (n == 117 && s[0] == 'q') hd_failure("found");
}
"""
    for to, most in ("stderr", 20), ("fopen(\"x\", \"w\")", 1000):
        s.write("prog.c", text.replace("TO", to))
        s.run([s.heddle, "cc", "--symbolic", "-w", "-g", level, "prog.c", "-o", "prog"])
        r = s.search("concolic", "./prog", "--all", "--no-explain", *(["--time", "2s"] if most > 20 else []))
        s.same((r["complete"], r["input_classes"] < 20), (most == 20, most == 20), "complete, few classes")
        if most == 20:
            s.same([int(f["inputs"][0]["value"].split()[0]) & 127 for f in r["findings"]], [117], "findings")


def test_values_in_turn(s):
    """Classes that differ in a value that was made concrete, or in the case of a switch, are asked for one by one."""
    if not CLANG:
        return
    s.write("prog.c", HEAD + 'static int a[20]; int main(void) { int n = (int)hd_input_range(0, 19, "n"); a[n] = 1; switch (n) {'
            ' case 3: case 7: x = 1; break; case 9: x = 2; break; case 12: hd_failure("twelve"); } return 0; }\n')
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "prog.c", "-o", "prog"])
    out = s.run([s.heddle, "concolic", "--all", "--no-explain", "--", "./prog"], want=1).stdout
    questions = re.search(r"solver: (\d+) questions", out)
    s.check("20 classes" in out and questions and int(questions[1]) >= 19, out)


def test_small_numbers(s):
    """Values of a finding are the smallest that fail, also where larger ones do not."""
    if not CLANG:
        return
    s.write("prog.c", HEAD + 'int main(void) { int n, k; hd_input(&n, sizeof n, "n"); hd_input(&k, sizeof k, "k");'
            ' if (n > 100 && n % 7 == 3 && (int)((unsigned)k + 100u) < 0 && k > 0) hd_failure("found"); return 0; }\n')
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "prog.c", "-o", "prog"])
    r = s.search("concolic", "./prog")
    s.same({i["name"]: i["value"] for i in r["findings"][0]["inputs"]}, {"n": "101", "k": "2147483548"}, "inputs")


def test_replay(s):
    """The finding has its inputs, in the text, the schedule and the replay; `check` alone does not find it."""
    if not CLANG:
        return
    s.write("prog.c", HEAD + 'int main(void) { int n; hd_input(&n, sizeof n, "my n"); assert(n != 123456); }\n')
    s.run([s.heddle, "cc", "--symbolic", "-g", "prog.c", "-o", "prog"])
    s.same(s.search("check", "./prog", "--strategy", "optimal")["findings"], [], "findings of check")
    p = s.run([s.heddle, "concolic", "--", "./prog"], want=1)
    out = p.stdout + p.stderr
    s.check("inputs: my n = 123456 (T0)" in out, out)
    p = s.run([s.heddle, "replay", ".heddle/1"], want=1)
    out = p.stdout + p.stderr
    s.check("inputs: my n = 123456 (T0)" in out and "the same finding" in out, out)
    s.check("input 0 0 0 0 0 40e20100 my n\n" in s.read(".heddle/1/schedule"), s.read(".heddle/1/schedule"))


def test_arguments(s):
    """Arguments are inputs; a finding replays with them, and the branches that were covered are counted."""
    if not CLANG:
        return
    s.write("prog.c", HEAD + 'int main(int n, char **v) { if (n == 3 && v[1][0] == 0x6b && strcmp(v[2], "42")) return 0;'
                             ' assert(n != 3 || v[1][0] != 0x6b || v[1][1] != 0x65); return 0; }\n')
    s.run([s.heddle, "cc", "--symbolic", "-g", "prog.c", "-o", "prog"])
    p = s.run([s.heddle, "concolic", "--symbolic-args", "2:4", "--", "./prog"], want=1)
    s.check('argument 1 = "ke' in p.stdout and 'argument 2 = "42"' in p.stdout, p.stdout)
    p = s.run([s.heddle, "replay", "--times", "3", ".heddle/1"], want=1)
    s.check("3 of 3 identical" in p.stdout + p.stderr, p.stdout + p.stderr)
    p = s.run([s.heddle, "concolic", "--symbolic-args", "1:4", "--", "./prog"])
    s.check("complete: every schedule of every input" in p.stdout, p.stdout)
    p = s.run([s.heddle, "concolic", "--symbolic-args", "4", "--", "./prog"], want=2)
    s.check("such as 1:8" in p.stdout + p.stderr, p.stdout + p.stderr)


# Options, body of main, what the finding's inputs show, and a reason why values were made concrete.
STDIN = ["--symbolic-stdin", "4"]
READS = {
    "read": (STDIN, "char b[4]; assert(read(0, b, 4) != 3 || b[0] != 120 || b[2] != b[0] + 1);", ['standard input = "x', 'y"'], None),
    "readv": (STDIN, "char a, b; struct iovec v[2] = {{&a, 1}, {&b, 1}}; assert(readv(0, v, 2) != 2 || a != 75 || b != 76);",
              ['standard input = "KL"'], None),
    "getchar": (STDIN, "assert(getchar() != 120 || getchar() != 121 || getchar() != EOF);", ['standard input = "xy"'], None),
    "fgets": (STDIN, 'char b[9]; while (fgets(b, 9, stdin)) assert(strcmp(b, "k\\n"));', ['k\\x0a"'], None),
    "getline": (STDIN, "char *l = 0; size_t n = 0; while (getline(&l, &n, stdin) == 2) assert(l[0] != 113);", ['= "q'], None),
    "unlocked": (STDIN, "int c = getc_unlocked(stdin); assert(c != 45 || getchar_unlocked() != 104);", ['"-h"'], None),
    "push back": (STDIN, "int c = getchar(); if (c == 45) { ungetc(43, stdin); c = getchar(); assert(c != 43 || getchar() != 55); }",
                  ['"-7"'], "bytes of a file that were read in a way that is not followed"),
    "scanf": (["--symbolic-stdin", "1"], 'int n; if (scanf("%d", &n) == 1) assert(n != 7);', ['"7"'],
              "bytes of a file that were read in a way that is not followed"),
    "size": (STDIN, "struct stat st; fstat(0, &st); assert(st.st_size != 3);", ["standard input"], "the length of a file"),
    "seek": (STDIN, "assert(lseek(0, 0, SEEK_END) != 2);", ["standard input"], "the length of a file"),
    "map": (["--symbolic-stdin", "1"], "struct stat st; fstat(0, &st); if (!st.st_size) return 0;"
            "char *p = mmap(0, 1, PROT_READ, MAP_PRIVATE, 0, 0); assert(*p != 5);", ['"\\x05"'], "the length of a file"),
    "child": (["--symbolic-stdin", "1"], "pid_t p = fork(); char b; int st; if (!p) _exit(read(0, &b, 1) == 1 && b == 9 ? 3 : 0);"
              "waitpid(p, &st, 0); assert(WEXITSTATUS(st) != 3);", ['"\\x09"'], "bytes of a file"),
    "file": (["--symbolic-file", "in.bin:6"], 'FILE *f = fopen("in.bin", "r"); char b[4]; size_t n = fread(b, 1, 4, f);'
             'int c = getc(f); fclose(f); assert(n != 4 || memcmp(b, "\\177ELF", 4) || c != 57);', ['file in.bin = "\\x7fELF9'], None),
    "file by name": (["--symbolic-file", "new.txt:3", "--symbolic-stdin", "2"],
                     'int fd = open("new.txt", O_RDONLY); char a, b; assert(read(fd, &a, 1) != 1 || read(0, &b, 1) != 1 || a != 65 || b != a + 1);',
                     ['file new.txt = "A', 'standard input = "B"'], None),
    "environment": (["--symbolic-env", "MODE:6", "--symbolic-env", "HOME:2"],
                    'assert(strcmp(getenv("MODE"), "fast") || getenv("HOME")[0] != 47);', ['environment MODE = "fast"', 'environment HOME = "/'], None),
}


@each(*READS)
def test_read(s, name):
    """What the program reads is an input: found, shown, replayed; the file is as before."""
    if not CLANG:
        return
    options, body, shown, reason = READS[name]
    s.write("in.bin", "as it was")
    s.write("prog.c", "#include <assert.h>\n#include <fcntl.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n"
            "#include <sys/stat.h>\n#include <sys/uio.h>\n#include <sys/wait.h>\n#include <unistd.h>\nint main(void) { " + body + " return 0; }\n")
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "-O1", "prog.c", "-o", "prog"])
    r = s.search("concolic", "./prog", *options)
    s.same([f["kind"] for f in r["findings"]], ["assertion"], "findings")
    s.check(r["findings"][0]["replays"], "does not replay")
    reasons = " ".join(c["reason"] for c in r.get("concrete", []))
    s.check(reason is None or reason in reasons, "made concrete: " + reasons)
    s.same(s.read("in.bin"), "as it was", "the file")
    s.check(not os.path.exists(s.path("new.txt")), "new.txt is there")
    p = s.run([s.heddle, "replay", ".heddle/1"], want=1)
    out = p.stdout + p.stderr
    s.check("the same finding" in out and all(text in out for text in shown), out)


def test_stream_of_cxx(s):
    """std::cin reads as libstdc++ does, without shadows: every value is a class, and the search ends with its time."""
    if not CLANG:
        return
    s.write("prog.cc", '#include <iostream>\n#include <string>\nint main() { std::string s; return std::cin >> s && s == "ab" ? 3 : 0; }\n')
    s.run([s.heddle, "c++", "--symbolic", "-w", "-g", "-O1", "prog.cc", "-o", "prog"])
    r = s.search("concolic", "./prog", "--symbolic-stdin", "2", "--time", "2s", "--all", "--no-explain")
    s.same((r["complete"], r["stopped"]), (False, "time"), "complete, stopped")
    s.check(r["seconds"] < 20, "it went on for %s s" % r["seconds"])


def test_optimised_cxx(s):
    """Calls that may throw, whose results flow together where shadows do."""
    if not CLANG:
        return
    s.write("prog.cc", """#include <cassert>
#include <heddle.h>
#include <map>
#include <mutex>
#include <thread>
int main() {
  std::map<int, int> all;
  std::mutex lock;
  int k = (int)hd_input_range(0, 4, "k");
  all[2] = 1;
  std::thread t([&] { std::lock_guard<std::mutex> l(lock); all.erase(2); });
  bool has;
  { std::lock_guard<std::mutex> l(lock); has = all.count(k); }
  { std::lock_guard<std::mutex> l(lock); if (has) assert(all.count(k)); }
  t.join();
}
""")
    s.run([s.heddle, "c++", "--symbolic", "-w", "-g", "-O1", "prog.cc", "-o", "prog"])
    r = s.search("concolic", "./prog", "--all", "--no-explain")
    s.same([(f["kind"], f["inputs"][0]["value"]) for f in r["findings"]], [("assertion", "2")], "findings")
    s.check(r["complete"], r["inexact"])


def test_all_contents(s):
    """Every file of up to three bytes: complete, also for two threads that read it."""
    if not CLANG:
        return
    s.write("prog.c", HEAD + '#include <stdio.h>\n#include <unistd.h>\nstatic void *w(void *p) { char b; if (read(0, &b, 1) == 1 && b == 65) __atomic_add_fetch(&x, 1, 5); return p; }\n'
            'int main(void) { pthread_create(&t, 0, w, 0); w(0); pthread_join(t, 0); if (x == 3) hd_failure("never"); return 0; }\n')
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "prog.c", "-o", "prog"])
    r = s.search("concolic", "./prog", "--symbolic-stdin", "3")
    s.check(r["complete"] and not r["findings"], r["inexact"])


def test_smaller_inputs(s):
    """Values that do not matter to the finding become small."""
    if not CLANG:
        return
    s.write("prog.c", HEAD + 'int main(int n, char **v) { int a = 0, b; hd_input(&b, 4, "b"); if (b > 900 && b * 3 != 5000 && v[1][0] == 113) assert(b < 901); return 0; }\n')
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "prog.c", "-o", "prog"])
    out = s.run([s.heddle, "concolic", "--symbolic-args", "1:4", "--", "./prog"], want=1).stdout
    s.check('argument 1 = "q" (T0)' in out and "b = 901 (T0)" in out, out)


WRONG = {
    "--symbolic-stdin=0": "--symbolic-stdin needs a number of bytes from 1 to 4096, not '0'",
    "--symbolic-stdin=5000": "--symbolic-stdin needs a number of bytes from 1 to 4096, not '5000'",
    "--symbolic-env=HOME": "--symbolic-env needs a variable and the size of its value, such as LANG:8, not 'HOME'",
    "--symbolic-env=A=B:4": "--symbolic-env needs a variable",
    "--symbolic-file=x": "--symbolic-file needs a file and its size, such as in.txt:16, not 'x'",
    "--symbolic-file=%s:4" % ("x" * 60): "use one of at most 42 characters, relative to the folder where the program runs",
    "--symbolic-args=0:4": "--symbolic-args needs a number of arguments and their size, such as 1:8, not '0:4'",
}


def test_wrong_sources(s):
    if not CLANG:
        return
    s.write("prog.c", "int main(void) { return 0; }\n")
    s.run([s.heddle, "cc", "--symbolic", "prog.c", "-o", "prog"])
    for option, message in WRONG.items():
        p = s.run([s.heddle, "concolic", option, "--", "./prog"], want=2)
        s.check(message in p.stdout + p.stderr, option + ": " + p.stderr)
    p = s.run([s.heddle, "concolic", "--symbolic-file", "none/there:4", "--", "./prog"], want=3)
    s.check("cannot write none/there for --symbolic-file" in p.stdout + p.stderr, p.stderr)


CHECKED = """#include <heddle.hpp>
#include <mutex>
#include <thread>
#include <gtest/gtest.h>
static void book(bool fixed) {
  int seats = 5;
  std::mutex m;
  int n = (int)hd_input_range(1, 1000, "n");
  std::thread t([&] { std::lock_guard<std::mutex> g(m); if (seats >= 1) seats--; });
  auto enough = [&] { std::lock_guard<std::mutex> g(m); return n <= seats; };
  if (fixed) {
    std::lock_guard<std::mutex> g(m);
    if (n <= seats) seats -= n;
  } else if (enough()) {
    std::lock_guard<std::mutex> g(m);
    seats -= n;
  }
  t.join();
  if (seats < 0) hd_failure("negative");
}
TEST(Seats, Broken) {
  struct hd_check_options o = {};
  o.arguments = "--inputs";
  auto r = heddle::check([] { book(false); }, o);
  EXPECT_FALSE(r);
  EXPECT_NE(std::string(r.message()).find("n = 5 (T0)"), std::string::npos) << r.message();
}
TEST(Seats, Fixed) {
  struct hd_check_options o = {};
  o.arguments = "--inputs";
  auto r = heddle::check([] { book(true); }, o);
  EXPECT_TRUE(r) << r.message();
}
TEST(Seats, Driver) {
  struct hd_check_options o = {};
  o.arguments = "--inputs --driver mta";
  auto r = heddle::check([] { book(false); }, o);
  EXPECT_FALSE(r);
}
"""


def test_googletest(s):
    """Inputs in the function that hd_check searches; the finding replays with them."""
    if not CLANG:
        return
    s.write("prog.cc", CHECKED)
    s.run([s.heddle, "c++", "--symbolic", "-w", "-g", "-O1", "prog.cc", "-o", "prog", "-lgtest", "-lgtest_main"])
    p = s.run(["./prog"])
    s.check("PASSED  ] 3 tests" in p.stdout, p.stdout)
    p = s.run([s.heddle, "replay", ".heddle/1"], want=1)
    out = p.stdout + p.stderr
    s.check("n = 5 (T0)" in out and "the same finding" in out, out)


def test_outcomes(s):
    if not CLANG:
        return
    s.write("prog.c", HEAD + 'int main(void) { int n = (int)hd_input_range(0, 9, "n"); if (n > 3) x = 1; if (n * n == 50) x = 2; return 0; }\n')
    s.run([s.heddle, "cc", "--symbolic", "-g", "prog.c", "-o", "prog"])
    out = s.run([s.heddle, "concolic", "--", "./prog"]).stdout
    s.check("branches that depend on inputs: 3 of 4 outcomes covered" in out, out)
    s.check("one outcome of a condition not covered: no input leads there" in out, out)


def test_wrong_use(s):
    if not CLANG:
        return
    s.write("prog.c", HEAD + 'int main(void) { int n; hd_input(&n, sizeof n, "n"); return n == 5; }\n')
    s.run([s.heddle, "cc", "-g", "prog.c", "-o", "prog"])
    p = s.run([s.heddle, "concolic", "--", "./prog"], want=2)
    out = p.stdout + p.stderr
    s.check("was not built with heddle cc --symbolic" in out, out)
    p = s.run([s.heddle, "concolic"], want=2)
    out = p.stdout + p.stderr
    s.check("no program given" in out, out)
    p = s.run([s.heddle, "cc", "--symbolic", "--heddle-compiler=gcc", "prog.c"], want=2)
    out = p.stdout + p.stderr
    s.check("--symbolic needs clang-19, not gcc" in out, out)


def test_queries(s):
    """Questions to the solver are files that say what is asked."""
    if not CLANG:
        return
    s.write("prog.c", HEAD + 'int main(void) { int n = (int)hd_input_range(0, 9, "n"); assert(n * n != 49); return 0; }\n')
    s.run([s.heddle, "cc", "--symbolic", "-g", "prog.c", "-o", "prog"])
    for driver in "partition", "sequential":
        s.run([s.heddle, "concolic", "--driver", driver, "--queries", driver, "--", "./prog"], want=1)
        texts = [s.read(driver + "/" + name) for name in os.listdir(s.path(driver))]
        s.check(texts and all("(check-sat)" in t for t in texts) and any("bv49 32" in t for t in texts), texts)
    p = s.run([s.heddle, "concolic", "--queries", "none/there", "--", "./prog"], want=3)
    s.check("--queries none/there: cannot create the folder" in p.stdout + p.stderr, p.stderr)


# What a thread does with an input, and what comes of it.
HARD = {
    "divide by zero": ("x = 100 / (n - 3);", ["crash"]),
    "size of a block": ("char *b = malloc(n & 7); if (b) b[4] = 1; free(b);", ["heap-overflow"]),
    "outside of a block": ("int *b = malloc(40); if (n <= 10) b[n] = 3; free(b);", ["heap-overflow"]),
    "loop without an end": ("for (unsigned i = 0; i < n; i++) if (i == 5) hd_failure(\"five\");", ["assertion"]),
    "recursion": ("if (deep(n)) hd_failure(\"deep\");", ["assertion"]),
}


@each(*HARD)
def test_hard(s, name):
    """What has no bound is answered, or said to be cut: nothing is lost."""
    if not CLANG:
        return
    code, want = HARD[name]
    s.write("prog.c", HEAD + "static __attribute__((noinline)) int deep(unsigned n) { return n == 0 ? 0 : n == 4 ? 1 : deep(n / 2); }\n"
            "static void *w(void *p) { unsigned n; hd_input(&n, sizeof n, \"n\"); " + code + " return p; }\n"
            "int main(void) { pthread_create(&t, 0, w, 0); pthread_join(t, 0); return 0; }\n")
    s.run([s.heddle, "cc", "--symbolic", "-w", "-g", "-O0", "prog.c", "-o", "prog"])
    r = s.search("concolic", "./prog", "--no-explain", "--time", "120s")
    s.same([f["kind"] for f in r["findings"]], want, "findings")
    s.check(r["findings"][0]["replays"] and r["findings"][0]["inputs"], r["findings"])


# Random programs in which two branches, of threads that do not depend on each other up to there, lead to the reads and writes that
# matter: the driver hyper has to come to one outcome without giving up the other.
@each("30250", "30428")
def test_independent_branches(s, seed):
    if not CLANG:
        return
    s.same(interference.check(s.heddle, int(seed), s.path("."), 0, 60, ["hyper"])[0], "ok", "result")

"""What the tests of the compiler drivers share: a scratch folder, running commands, looking into ELF files."""
import os
import re
import shlex
import shutil
import subprocess
import tempfile

NATIVE_CXX = {"gcc": "g++", "clang": "clang++"}


class Failed(Exception):
    """A check that did not hold; the text says which command to look at."""


def only(*compilers):
    """Decorator: the test is about these compilers."""
    def mark(function):
        function.compilers = compilers
        return function
    return mark


class Driver:
    """`heddle cc` over one compiler, in a folder of its own."""

    def __init__(self, build, compiler):
        self.build = build
        self.heddle = os.path.join(build, "heddle")
        self.libdir = os.path.join(build, "lib", "heddle")
        self.compiler = compiler
        self.native = compiler
        self.native_cxx = NATIVE_CXX[compiler]
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("HEDDLE")}
        self.env.update(LC_ALL="C", HEDDLE_CC=compiler, HEDDLE_CXX=self.native_cxx)

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="heddle-cc-")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir, ignore_errors=True)

    # ---- files ----

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, text):
        full = self.path(name)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w") as f:
            f.write(text)
        return full

    def read(self, name):
        with open(self.path(name), errors="replace") as f:
            return f.read()

    def exists(self, name):
        return os.path.exists(self.path(name))

    # ---- running ----

    def run(self, command, want=0, env=None, stdin=None, cwd=None):
        """Runs a command in the folder; fails unless the exit status is `want` (None: any)."""
        p = subprocess.run(command, cwd=cwd or self.dir, env=dict(self.env, **(env or {})), input=stdin, text=True,
                           errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                           **({} if stdin is not None else {"stdin": subprocess.DEVNULL}))
        self.last = " ".join(map(shlex.quote, command))
        if want is not None and p.returncode != want:
            raise Failed("%s\nexit status %d, expected %d\n%s%s" % (self.last, p.returncode, want, p.stdout, p.stderr))
        return p

    def cc(self, *args, **kw):
        """heddle cc, which must succeed without a word (warnings included) unless `want` says otherwise."""
        return self._compile("cc", args, **kw)

    def cxx(self, *args, **kw):
        return self._compile("c++", args, **kw)

    def _compile(self, verb, args, want=0, silent=True, **kw):
        p = self.run([self.heddle, verb, *args], want=want, **kw)
        if want == 0 and silent:
            self.check(p.stderr == "", "expected no messages, got: " + p.stderr)
        return p

    def output(self, program, *args, **kw):
        return self.run([self.path(program), *args], **kw).stdout

    # ---- checking ----

    def check(self, condition, message):
        if not condition:
            raise Failed("%s\n%s" % (self.last, message))

    def same(self, got, want, what="output"):
        if got != want:
            got, want = repr(got), repr(want)
            at = len(os.path.commonprefix([got, want]))
            start = max(0, at - 60)
            self.check(False, "%s differs at character %d\n  got:      %s\n  expected: %s"
                       % (what, at, got[start:at + 200], want[start:at + 200]))

    def needed(self, binary):
        """The libraries an ELF file asks for, in order."""
        text = self.run(["readelf", "-d", self.path(binary)]).stdout
        return re.findall(r"\(NEEDED\).*\[(.*)\]", text)

    def check_runtime(self, binary):
        """libheddle_rt first, found by the path in the file, and no libtsan."""
        needed = self.needed(binary)
        self.check(needed[:1] == ["libheddle_rt.so.1"], "libheddle_rt.so.1 is not first in DT_NEEDED: %s" % needed)
        self.check(not any("tsan" in n for n in needed), "libtsan came in: %s" % needed)
        text = self.run(["readelf", "-d", self.path(binary)]).stdout
        self.check(self.libdir in text, "no run path to %s" % self.libdir)
        symbols = self.run(["nm", "-a", self.path(binary)]).stdout
        self.check(not re.search(r" [TtWw] __tsan_", symbols), "ThreadSanitizer's runtime is linked in")

    def hooks(self, binary):
        """Names of the __tsan_* functions an object, program or library refers to."""
        text = self.run(["nm", "-u", self.path(binary)]).stdout
        return set(re.findall(r"U __tsan_(\w+)", text))

    def hooks_by_function(self, assembly):
        """The calls of __tsan_* in each function of an assembly file, in order, without entry and exit."""
        result, function = {}, None
        for line in self.read(assembly).splitlines():
            label = re.match(r"([A-Za-z]\w*):", line)
            if label:
                function = label.group(1)
            call = re.search(r"\b(?:call|callq|jmp|jmpq)\s+\*?__tsan_(\w+?)(?:@|$)", line)
            if call and not call.group(1).startswith(("func_", "init")):
                result.setdefault(function, []).append(call.group(1))
        return result

    def native_works(self, *args):
        """Whether the plain compiler can do this here (a linker plug-in may be missing)."""
        return self.run([self.native, *args], want=None).returncode == 0


HELLO = """
#include <stdio.h>
int counter;
int main(void) { counter++; printf("hello %d\\n", counter); return 0; }
"""

# Each thread waits for the other to have started, so the program only ends when they run side by side.
THREADS = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sched.h>
static atomic_int started;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;
static _Thread_local int mine;
static void *work(void *arg) {
  started++;
  while (started < 4) sched_yield();
  for (int i = 0; i < 1000; i++) { mine++; pthread_mutex_lock(&lock); total++; pthread_mutex_unlock(&lock); }
  return (void *)(long)(mine == 1000 ? *(int *)arg : -1);
}
int main(void) {
  pthread_t t[4]; int id[4]; long sum = 0; void *r;
  for (int i = 0; i < 4; i++) { id[i] = i; if (pthread_create(&t[i], 0, work, &id[i])) return 3; }
  for (int i = 0; i < 4; i++) { pthread_join(t[i], &r); sum += (long)r; }
  printf("%d %ld\\n", total, sum);
  return 0;
}
"""

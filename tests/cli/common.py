"""What the tests of the command line share."""
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))

# Two threads, one variable, line 4.
RACE = """#include <pthread.h>
int counter;
void *worker(void *p) {
  counter++;
  return p;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
}
"""


def build(s, name, *flags, out=None):
    """Builds cli/programs/NAME.c in the test's folder, from a copy there, so that paths in reports are short."""
    with open(os.path.join(HERE, "programs", name + ".c")) as f:
        s.write(name + ".c", f.read())
    s.cc(name + ".c", out or name, *(flags or ("-O1",)))
    return "./" + (out or name)


def slow(s, command, **kw):
    """For what starts many compilers, on a machine that has others to run."""
    return s.run(command, timeout=180, **kw)


def install(s):
    """Installs Heddle into the test's folder; returns the environment that finds it."""
    slow(s, ["cmake", "--install", s.build, "--prefix", s.path("inst")])
    return environment(s, s.path("inst"))


def environment(s, prefix):
    return {"PATH": os.path.join(prefix, "bin") + ":" + os.environ["PATH"],
            "PKG_CONFIG_PATH": os.path.join(prefix, "lib/pkgconfig"), "CMAKE_PREFIX_PATH": prefix}


def refused(s, command, want, *texts, stdout="", **kw):
    """The command ends with this status and one line on standard error, which has these texts in it."""
    p = s.run(command, want=want, **kw)
    lines = p.stderr.removesuffix("\n").split("\n")  # not splitlines, which also splits at control characters
    s.check(len(lines) == 1, "expected one line of message, got %d: %s" % (len(lines), " | ".join(lines)))
    s.check(lines[0].startswith("heddle: "), "the message does not say who speaks: " + lines[0])
    s.check(all(c.isprintable() for c in lines[0]), "control characters in the message: %r" % lines[0])
    for text in texts:
        s.check(text in lines[0], "'%s' is not in: %s" % (text, lines[0]))
    if stdout is not None:
        s.same(p.stdout, stdout, "standard output")
    return p


def snapshot(s, *skip):
    """The names of all files in the test's folder."""
    return sorted(os.path.relpath(os.path.join(d, f), s.dir) for d, dirs, files in os.walk(s.dir) for f in files + dirs)


def alive(name):
    """The process ids of that program, without those that have ended and that process 1 has yet to collect."""
    states = "D,R,S,T,t"
    return subprocess.run(["pgrep", "-r", states, "-x", name], stdout=subprocess.PIPE, text=True).stdout.split()

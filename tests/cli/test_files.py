"""A program that changes files finds them unchanged in every execution, and so does the user afterwards."""
import os
import stat

from scratch import each

HEAD = """
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
static int x;
static void *worker(void *arg) { __atomic_fetch_add(&x, 1, 0); return arg; }
static void put(const char *name, const char *text) {
  int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0640);
  assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}
static const char *get(const char *name) {
  static char buf[200];
  int fd = open(name, O_RDONLY);
  assert(fd >= 0);
  ssize_t n = read(fd, buf, sizeof buf - 1);
  assert(n >= 0 && close(fd) == 0);
  buf[n] = 0;
  return buf;
}
int main(int argc, char **argv) {
  pthread_t a, b;
  assert(strcmp(get("data"), "original") == 0 && access("sub/inner", F_OK) == 0 && access("new", F_OK) != 0);
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  { %s; }
  pthread_join(a, 0);
  pthread_join(b, 0);
  %s
  return 0;
}
"""

CHANGES = {
    "truncate-open": 'put("data", "x")',
    "write": 'int fd = open("data", O_RDWR); assert(write(fd, "XX", 2) == 2)',
    "append": 'int fd = open("data", O_WRONLY | O_APPEND); assert(write(fd, "more", 4) == 4)',
    "pwrite": 'int fd = open("data", O_RDWR); assert(pwrite(fd, "end", 3, 100) == 3)',
    "ftruncate": 'int fd = open("data", O_RDWR); assert(ftruncate(fd, 2) == 0)',
    "truncate": 'assert(truncate("data", 3) == 0)',
    "mmap": 'int fd = open("data", O_RDWR); char *p = mmap(0, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);'
            ' assert(p != MAP_FAILED); p[0] = 33',
    "stdio": 'FILE *f = fopen("data", "r+"); fprintf(f, "%d", 7); fclose(f)',
    "unlink": 'assert(unlink("data") == 0)',
    "unlink-new": 'assert(unlink("data") == 0); put("data", "other")',
    "rename": 'assert(rename("data", "new") == 0)',
    "rename-over": 'put("tmp", "next"); assert(rename("tmp", "data") == 0 && strcmp(get("data"), "next") == 0)',
    "exchange": 'assert(renameat2(AT_FDCWD, "data", AT_FDCWD, "sub/inner", RENAME_EXCHANGE) == 0)',
    "folder-renamed": 'assert(rename("sub", "elsewhere") == 0 && unlink("elsewhere/inner") == 0)',
    "folder-removed": 'assert(unlink("sub/inner") == 0 && rmdir("sub") == 0)',
    "folder-made": 'assert(mkdir("new", 0700) == 0); put("new/file", "x")',
    "symlink": 'assert(symlink("data", "new") == 0); put("new", "through the link")',
    "symlink-removed": 'assert(unlink("link") == 0)',
    "link": 'assert(link("data", "new") == 0); put("new", "through the link")',
    "chmod": 'assert(chmod("data", 0) == 0)',
    "fchmod": 'int fd = open("data", O_RDONLY); assert(fchmod(fd, 0400) == 0)',
    "times": 'assert(utimensat(AT_FDCWD, "data", 0, 0) == 0)',
    "chdir": 'assert(chdir("sub") == 0 && unlink("inner") == 0); put("other", "x"); assert(chdir("..") == 0)',
    "at": 'int d = open("sub", O_RDONLY | O_DIRECTORY); assert(unlinkat(d, "inner", 0) == 0 && mkdirat(d, "deep", 0700) == 0)',
    "tmpfile": 'FILE *f = tmpfile(); assert(f && fputs("x", f) >= 0); char t[] = "abXXXXXX"; assert(mkstemp(t) >= 0)',
    "journal": 'put("data-journal", "original"); int fd = open("data", O_RDWR); assert(pwrite(fd, "ORIG", 4, 0) == 4'
               ' && fsync(fd) == 0 && close(fd) == 0 && unlink("data-journal") == 0)',
    "shm": 'int fd = shm_open("/heddle-test-files", O_CREAT | O_EXCL | O_RDWR, 0600); assert(fd >= 0)',
}


def prepare(s):
    s.write("data", "original")
    os.mkdir(s.path("sub"))
    s.write("sub/inner", "inner")
    os.symlink("data", s.path("link"))
    os.utime(s.path("data"), (1000000, 2000000))
    return state(s)


def state(s):
    """Everything in the folder that is not Heddle's or the test's."""
    out = {}
    for folder, folders, files in os.walk(s.dir):
        folders[:] = [f for f in folders if f not in (".heddle", "o0", "o1")]
        for name in folders + files:
            path = os.path.join(folder, name)
            if name in ("prog", "prog.c", "result.json"):
                continue
            st = os.lstat(path)
            kind = stat.S_IFMT(st.st_mode)
            text = os.readlink(path) if os.path.islink(path) else open(path).read() if os.path.isfile(path) else ""
            when = st.st_mtime if name == "data" and kind == stat.S_IFREG else 0
            out[os.path.relpath(path, s.dir)] = (kind, stat.S_IMODE(st.st_mode), text, when)
    return out


@each(*sorted(CHANGES))
def test_undone(s, name):
    program = s.build_text(HEAD % (CHANGES[name], ""))
    before = prepare(s)
    for restart in ("memory", "fork"):
        r = s.search("check", program, "--max-executions", "20", "--strategy", "random", "--restart", restart)
        s.is_clean(r, 20)
        s.same(state(s), before, "the folder after --restart " + restart)


@each("raise(SIGKILL);", "*(volatile int *)8 = 1;", "assert(0);", "_exit(0);", "syscall(231, 3);")
def test_undone_after_an_end(s, end):
    """However an execution ends, nothing of it is left, and findings replay."""
    program = s.build_text(HEAD % (CHANGES["rename-over"] + "; " + CHANGES["folder-removed"], end))
    before = prepare(s)
    r = s.search("check", program, "--max-executions", "5", "--strategy", "random")
    s.same(state(s), before, "the folder")
    if r["findings"]:
        s.is_bug(r, ["crash", "assertion", "exit"])
        s.replay()
        s.same(state(s), before, "the folder after the replays")
    else:
        s.is_clean(r)


def test_kept_by_run(s):
    """`run` is the program as it is: what it writes stays."""
    program = s.build_text(HEAD % (CHANGES["write"], ""))
    prepare(s)
    s.run([s.heddle, "run", "--quiet", "--", program])
    s.same(s.read("data"), "XXiginal", "the file")


def test_two_searches_at_once(s):
    """Processes of one program do not see each other's files."""
    import concurrent.futures
    program = s.build_text(HEAD.replace(" && access(\"new\", F_OK) != 0", "") % (
        'int fd = open("new", O_CREAT | O_EXCL | O_RDWR, 0600); assert(fd >= 0)', ""))
    before = prepare(s)

    def one(i):
        return s.run([s.heddle, "check", "--strategy", "random", "--max-executions", "300", "--out", "o%d" % i,
                      "--", program])
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(one, range(2)))
    s.same(state(s), before, "the folder")


def test_several_processes(s):
    """Processes that share one search take turns."""
    program = s.build_text(HEAD.replace(" && access(\"new\", F_OK) != 0", "").replace(
        "__atomic_fetch_add(&x, 1, 0);", "for (int i = 0; i < 3; i++) __atomic_fetch_add(&x, 1, 0);") % (
        'int fd = open("new", O_CREAT | O_EXCL | O_RDWR, 0600); assert(fd >= 0)', ""))
    before = prepare(s)
    s.is_clean(s.search("check", program, "--strategy", "optimal", "--jobs", "3"))
    s.same(state(s), before, "the folder")


OTHER = r"""
#include <assert.h>
#include <fcntl.h>
#include <unistd.h>
int main(void) {
  int fd = open("pid", O_CREAT | O_EXCL | O_WRONLY, 0644);
  assert(fd >= 0 && write(fd, "1", 1) == 1 && setuid(65534) == 0);
  return 0;
}
"""


def test_another_user(s):
    """A daemon that has become another user may not remove its pid file: that is left to the supervisor."""
    program = s.build_text(OTHER)
    if os.getuid():
        return
    s.run([s.heddle, "record", "-o", "t.trace", "--", program], want=0)
    s.check(not os.path.exists(s.path("pid")), "the file is still there")
    s.is_clean(s.search("check", program, "--strategy", "optimal"), 1)
    s.check(not os.path.exists(s.path("pid")), "the search has left the file")
    r = s.search("check", program, "--exit-status", "1")
    s.is_bug(r, ["exit"])
    s.same(r["executions"], 1, "executions")

"""Input and output: each wrapped function touches its buffer, each call is an operation of the schedule."""
import re

from scratch import each

HEAD = """
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>
char buf[64] = "hello"; /* shared */
int s[2], p[2], ev, ep, file, tm;
struct iovec vec = {buf, 4};
struct msghdr msg = {.msg_iov = &vec, .msg_iovlen = 1};
struct epoll_event events[4];
FILE *stream;
volatile long result;
static void *one(void *arg) { %s; return arg; }
static void *two(void *arg) { %s; return arg; }
int main(void) {
  pthread_t a, b;
  uint64_t n = 1;
  assert(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0 && pipe(p) == 0);
  assert(write(s[0], "abcdefgh", 8) == 8 && write(p[1], "abcdefgh", 8) == 8);
  ev = eventfd(0, 0);
  assert(write(ev, &n, 8) == 8);
  ep = epoll_create1(0);
  struct epoll_event e = {.events = EPOLLIN};
  epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e);
  file = memfd_create("file", 0);
  assert(write(file, "abcdefgh", 8) == 8 && lseek(file, 0, SEEK_SET) == 0);
  tm = timerfd_create(CLOCK_MONOTONIC, 0);
  stream = fopen("/dev/null", "w");
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  %s
  return 0;
}
"""

WRITES = {
    "read": "read(p[0], buf, 4)", "pread": "pread(file, buf, 4, 0)", "readv": "readv(p[0], &vec, 1)",
    "recv": "recv(s[1], buf, 4, 0)", "recvfrom": "recvfrom(s[1], buf, 4, 0, 0, 0)", "recvmsg": "recvmsg(s[1], &msg, 0)",
    "epoll_wait": "epoll_wait(ep, (struct epoll_event *)buf, 1, -1)",
}
READS = {
    "write": "write(p[1], buf, 4)", "pwrite": "pwrite(file, buf, 4, 0)", "writev": "writev(p[1], &vec, 1)",
    "send": "send(s[0], buf, 4, 0)", "sendto": "sendto(s[0], buf, 4, 0, 0, 0)", "sendmsg": "sendmsg(s[0], &msg, 0)",
}


def check(s, one, two="", end=""):
    return s.search("check", s.build_text(HEAD % (one, two, end)), "--max-executions", "2000")


@each(*sorted(WRITES))
def test_buffer_is_written(s, name):
    f = s.is_bug(check(s, WRITES[name], "result = buf[2]"), ["data-race"])
    s.check(any(w["function"] == "one" for w in f["where"]), "the call is not a place of the finding")
    s.is_clean(check(s, WRITES[name], "result = buf[40]"))


@each(*sorted(READS))
def test_buffer_is_read(s, name):
    f = s.is_bug(check(s, READS[name], "buf[2] = 'x'"), ["data-race"])
    s.check(any(w["function"] == "one" for w in f["where"]), "the call is not a place of the finding")
    s.is_clean(check(s, READS[name], "result = buf[2]"))


@each("flockfile(stream)", "while (ftrylockfile(stream)) {}")
def test_stream_lock(s, take):
    """What two threads do to memory while they have a stream is ordered."""
    body = take + "; buf[0]++; funlockfile(stream)"
    s.is_clean(check(s, body, body))
    s.is_bug(check(s, body, "buf[0]++"), ["data-race"])


EVENTS = {
    "read": ("read(p[0], buf, 1)", "io-read"), "write": ("write(p[1], buf, 1)", "io-write"),
    "eventfd": ("uint64_t n; read(ev, &n, 8)", "io-read"), "recv": ("recv(s[1], buf, 1, 0)", "io-read"),
    "send": ("send(s[0], buf, 1, 0)", "io-write"), "poll": ("struct pollfd f = {p[0], POLLIN, 0}; poll(&f, 1, -1)", "poll"),
    "select": ("fd_set f; FD_ZERO(&f); FD_SET(p[0], &f); select(p[0] + 1, &f, 0, 0, 0)", "poll"),
    "epoll_wait": ("epoll_wait(ep, events, 4, -1)", "poll"), "close": ("close(p[0])", "io-change"),
    "shutdown": ("shutdown(s[0], SHUT_WR)", "io-change"), "lseek": ("lseek(file, 0, SEEK_SET)", "io-change"),
    "pwrite-file": ("char x = 1; pwrite(file, &x, 1, 0)", "io-change"), "read-file": ("char x; read(file, &x, 1)", "io-read"),
    "write-file": ("char x = 1; write(file, &x, 1)", "io-write"), "mkdir": ("mkdir(\"d\", 0700)", "io-change"),
    "unlink": ("unlink(\"d\")", "io-change"), "open-new": ("open(\"n\", O_CREAT, 0600)", "io-change"),
    "ftruncate": ("ftruncate(file, 3)", "io-change"),
    "flock": ("flock(file, LOCK_EX)", "io-write"), "epoll_ctl": ("epoll_ctl(ep, EPOLL_CTL_ADD, s[0], events)", "io-change"),
    "timerfd_settime": ("struct itimerspec t = {{0, 0}, {1, 0}}; timerfd_settime(tm, 0, &t, 0)", "io-change"),
    "bind": ("struct sockaddr a = {AF_UNIX}; bind(socket(AF_UNIX, SOCK_STREAM, 0), &a, 2)", "io-change"),
    "connect": ("struct sockaddr a = {AF_UNIX}; connect(socket(AF_UNIX, SOCK_STREAM, 0), &a, 3)", "connect"),
    "accept": ("int l = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0); struct sockaddr a = {AF_UNIX}; bind(l, &a, 2);"
               " listen(l, 1); accept(l, 0, 0)", "accept"),
}


# Operations on files are scheduling points only when two threads touch the same.
CONTENDED = {"lseek", "ftruncate", "pwrite-file", "read-file", "write-file", "mkdir", "unlink", "open-new"}


@each(*sorted(EVENTS))
def test_event(s, name):
    body, op = EVENTS[name]
    two = body if name in CONTENDED else ""
    s.is_bug(check(s, body, two, end="assert(!file);"), ["assertion"])
    s.check(re.search(r"^T\S+ %s " % re.escape(op), "\n".join(s.events()), re.M), "no event '%s'" % op)
    s.replay()


SEMAPHORE_WAITERS = """
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <sys/sem.h>
static int id;
static void *waiter(void *arg) {
  struct sembuf down = {0, -1, 0};
  assert(semop(id, &down, 1) == 0);
  return arg;
}
int main(void) {
  pthread_t t;
  id = semget(IPC_PRIVATE, 1, 0600);
  pthread_create(&t, 0, waiter, 0);
  while (semctl(id, 0, GETNCNT) != 1) sched_yield();
  assert(semctl(id, 0, GETZCNT) == 0 && semctl(id, 0, SETVAL, 1) == 0);
  pthread_join(t, 0);
  return semctl(id, 0, IPC_RMID);
}
"""


@each("dfs", "optimal", "random")
def test_semaphore_waiters(s, strategy):
    """A thread that waits for a semaphore of System V is counted: a loop that waits for that is no livelock."""
    r = s.search("check", s.build_text(SEMAPHORE_WAITERS, "-O1"), "--strategy", strategy, "--max-executions", "200")
    s.check(not r["findings"], "a loop until one waits: " + ", ".join(f["kind"] for f in r["findings"]))

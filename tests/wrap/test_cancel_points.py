"""Cancellation points: which calls a thread is cancelled in. What libc does itself is checked first, by a native run.

Each call is made by a thread that has been cancelled before. One that waits for ever is also made by a thread that is
cancelled meanwhile: before the call, or in it. No schedule may end otherwise.
"""
from scratch import each

PROGRAM = r"""
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t go, one, none;
static pthread_t helper, endless;
static mtx_t mtx;
static cnd_t cnd;
static int file, null, temporary, full[2], empty[2], stream[2], packets[2], epoll, event, event0, queue, number;
static char b[64];
static void *memory;
static sigset_t usr2;
static FILE *in, *out;
static struct message { long type; char c; } message = {1, 'x'};
static struct stat status;
#define IOV &(struct iovec){b, 1}, 1
#define NOW &(struct timespec){0, 0}
#define PAST &(struct timespec){1, 0}
#define MSG &(struct msghdr){.msg_iov = &(struct iovec){b, 1}, .msg_iovlen = 1}
static void *nothing(void *p) { return p; }
static void *forever(void *p) { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); sem_wait(&none); return p; }
static void prepare(int waits)
{
  sem_init(&go, 0, 0), sem_init(&one, 0, 1), sem_init(&none, 0, 0), mtx_init(&mtx, mtx_plain), cnd_init(&cnd);
  sigemptyset(&usr2), sigaddset(&usr2, SIGUSR2), pthread_sigmask(SIG_BLOCK, &usr2, NULL);
  file = open("/etc/passwd", O_RDONLY), null = open("/dev/null", O_WRONLY), temporary = fileno(tmpfile());
  if (pipe(full) || write(full[1], "xyz", 3) != 3 || pipe(empty)) abort();
  socketpair(AF_UNIX, SOCK_STREAM, 0, stream), socketpair(AF_UNIX, SOCK_DGRAM, 0, packets);
  if (write(stream[1], "xyz", 3) != 3) abort();
  epoll = epoll_create1(0), event = eventfd(1, 0), event0 = eventfd(0, 0);
  memory = mmap(NULL, 4096, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  in = fopen("/etc/passwd", "r"), out = fopen("/dev/null", "w"), setvbuf(out, NULL, _IONBF, 0);
  pthread_create(&helper, NULL, nothing, NULL);
  if (waits) pthread_create(&endless, NULL, forever, NULL);
}
static void call(void) { @; }
static void *early(void *p)
{
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  sem_wait(&go);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  call();
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  return p;
}
static void *late(void *p)
{
  call();
  return p;
}
int main(int argc, char **argv)
{
  int is_point = argv[1][0] == 'y', waits = argv[1][0] == 'w';
  void *r;
  pthread_t t;
  prepare(waits);
  pthread_create(&t, NULL, waits ? late : early, NULL);
  pthread_cancel(t);
  if (!waits) sem_post(&go);
  pthread_join(t, &r);
  assert((r == PTHREAD_CANCELED) == (is_point || waits));
  if (waits) _exit(0);
  return 0;
}
"""

POINTS = {
    "descriptors": """read(file, b, 1)|read(full[0], b, 1)|read(-1, b, 1)|pread(file, b, 1, 0)|readv(full[0], IOV)
        |preadv(file, IOV, 0)|write(null, b, 1)|write(full[1], b, 1)|pwrite(temporary, b, 1, 0)|writev(null, IOV)
        |pwritev(temporary, IOV, 0)|open("/dev/null", O_RDONLY)|open("/nonexistent/x", O_RDONLY)
        |openat(AT_FDCWD, "/dev/null", O_RDONLY)|creat("/dev/null", 0600)|close(-1)|fdatasync(temporary)|fsync(temporary)
        |msync(memory, 4096, MS_SYNC)|fallocate(temporary, 0, 0, 10)|splice(full[0], NULL, empty[1], NULL, 1, 0)
        |fcntl(temporary, F_SETLKW, &(struct flock){.l_type = F_WRLCK})|lockf(temporary, F_LOCK, 0)|tcdrain(-1)
        |eventfd_read(event, &(eventfd_t){0})|eventfd_write(event, 1)""",
    "sockets": """accept(-1, NULL, NULL)|connect(-1, NULL, 0)|recv(stream[0], b, 1, 0)|recvfrom(stream[0], b, 1, 0, NULL, NULL)
        |recvmsg(stream[0], MSG, 0)|recv(packets[0], b, 1, MSG_DONTWAIT)|send(stream[0], b, 1, 0)
        |sendto(stream[0], b, 1, 0, NULL, 0)|sendmsg(stream[0], MSG, 0)""",
    "readiness": """poll(NULL, 0, 0)|poll(&(struct pollfd){full[0], POLLIN, 0}, 1, -1)|ppoll(NULL, 0, NOW, NULL)
        |select(0, NULL, NULL, NULL, &(struct timeval){0, 0})|pselect(0, NULL, NULL, NULL, NOW, NULL)
        |epoll_wait(epoll, &(struct epoll_event){0}, 1, 0)|epoll_pwait(epoll, &(struct epoll_event){0}, 1, 0, NULL)""",
    "time": """sleep(0)|sleep(1)|usleep(1)|nanosleep(NOW, NULL)|clock_nanosleep(CLOCK_MONOTONIC, 0, NOW, NULL)
        |clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, PAST, NULL)|thrd_sleep(NOW, NULL)""",
    "threads": """sem_wait(&one)|sem_timedwait(&one, PAST)|pthread_testcancel()
        |(pthread_mutex_lock(&m), pthread_cond_timedwait(&cond, &m, PAST), pthread_mutex_unlock(&m))
        |(pthread_mutex_lock(&m), pthread_cond_clockwait(&cond, &m, CLOCK_MONOTONIC, PAST), pthread_mutex_unlock(&m))
        |(mtx_lock(&mtx), cnd_timedwait(&cnd, &mtx, PAST), mtx_unlock(&mtx))""",
    "signals": """(raise(SIGUSR2), sigwait(&usr2, &number))|(raise(SIGUSR2), sigwaitinfo(&usr2, NULL))
        |sigtimedwait(&usr2, NULL, NOW)""",
    "children": "wait(NULL)|waitpid(-1, NULL, WNOHANG)|waitpid(-1, NULL, 0)|waitid(P_ALL, 0, NULL, WEXITED | WNOHANG)|wait4(-1, NULL, WNOHANG, NULL)",
    "streams": """fgetc(in)|fgets(b, 8, in)|fread(b, 1, 1, in)|fscanf(in, "%c", b)|fputc('x', out)|fputs("x", out)|fprintf(out, "x")
        |fwrite(b, 1, 1, out)|fopen("/dev/null", "w")|fseek(in, 0, SEEK_END)""",
}
NO_POINTS = {
    "descriptors": """lseek(file, 0, SEEK_SET)|fstat(file, &status)|stat("/", &status)|access("/", F_OK)|unlink("/nonexistent/x")
        |rename("/nonexistent/x", "/nonexistent/y")|mkdir("/nonexistent/x", 0)|dup(file)|dup2(file, null)|ftruncate(temporary, 10)
        |fcntl(temporary, F_GETFL)|fcntl(temporary, F_SETLK, &(struct flock){.l_type = F_WRLCK})|flock(temporary, LOCK_EX)
        |lockf(temporary, F_TLOCK, 0)|sendfile(null, file, NULL, 1)|isatty(file)|socket(AF_UNIX, SOCK_STREAM, 0)
        |shutdown(stream[0], 0)|epoll_ctl(epoll, EPOLL_CTL_DEL, full[0], NULL)""",
    "threads": """sem_trywait(&one)|sem_post(&one)|pthread_tryjoin_np(helper, NULL)|pthread_detach(helper)|pthread_cond_signal(&cond)
        |(pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex))|pthread_mutex_timedlock(&mutex, PAST)
        |pthread_rwlock_rdlock(&rwlock)|pthread_rwlock_wrlock(&rwlock)|thrd_yield()|sched_yield()
        |pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL)|pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL)""",
    "others": """raise(SIGUSR2)|pthread_kill(pthread_self(), 0)|sigpending(&usr2)|getpid()|time(NULL)|free(malloc(10))|setenv("A", "b", 1)
        |getcwd(b, 64)|ftell(in)|fclose(in)|mmap(NULL, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)|clock_gettime(CLOCK_REALTIME, NOW)""",
}
WAITS = {
    "descriptors": """read(empty[0], b, 1)|readv(empty[0], IOV)|eventfd_read(event0, &(eventfd_t){0})
        |splice(empty[0], NULL, null, NULL, 1, 0)""",
    "sockets": "recv(packets[0], b, 1, 0)|recvfrom(packets[0], b, 1, 0, NULL, NULL)|recvmsg(packets[0], MSG, 0)",
    "readiness": """poll(NULL, 0, -1)|poll(&(struct pollfd){empty[0], POLLIN, 0}, 1, -1)|ppoll(NULL, 0, NULL, NULL)
        |select(0, NULL, NULL, NULL, NULL)|pselect(0, NULL, NULL, NULL, NULL, NULL)
        |epoll_wait(epoll, &(struct epoll_event){0}, 1, -1)""",
    "threads": """sem_wait(&none)|pthread_join(endless, NULL)|thrd_join(endless, NULL)
        |for (pthread_mutex_lock(&m);;) pthread_cond_wait(&cond, &m)|for (mtx_lock(&mtx);;) cnd_wait(&cnd, &mtx)""",
    "signals": "sigwait(&usr2, &number)|sigwaitinfo(&usr2, NULL)|pause()|sigsuspend(&usr2)",
}


def split(text):
    """At the bars that begin a call, not at those inside of one."""
    out, depth = [""], 0
    for c in text:
        depth += (c in "({") - (c in ")}")
        if c == "|" and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return [" ".join(c.split()) for c in out]


def check(s, text, mode):
    for call in split(text):
        program = s.build_text(PROGRAM.replace("@", call), "-O1", "-w")
        s.run([program, mode])
        r = s.search("check", program, "--no-explain", "--strategy", "optimal", args=[mode])
        s.check(not r["findings"], "%s: %s" % (call, [f["title"] for f in r["findings"]]))
        s.check(r["executions"] > 0, "%s: no execution has ended" % call)


@each(*POINTS)
def test_point(s, group):
    check(s, POINTS[group], "yes")


@each(*NO_POINTS)
def test_no_point(s, group):
    check(s, NO_POINTS[group], "no")


@each(*WAITS)
def test_waits(s, group):
    check(s, WAITS[group], "wait")

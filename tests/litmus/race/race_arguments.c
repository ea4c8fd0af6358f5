// What functions of libc, or the kernel for them, read and write for their caller: names, sets, vectors, structures.
// expect: kind=data-race
// argv: open
// expect: kind=data-race
// argv: fopen
// expect: kind=data-race
// argv: unlink
// expect: kind=data-race
// argv: lock
// expect: kind=data-race
// argv: semop
// expect: kind=data-race
// argv: connect
// expect: kind=data-race
// argv: vector
// expect: kind=data-race
// argv: message
// expect: kind=data-race
// argv: set
// expect: kind=data-race
// argv: attribute
// expect: kind=data-race
// argv: name
// expect: kind=data-race
// argv: sleep
// expect: kind=data-race
// argv: until
// expect: kind=data-race
// argv: raw
// expect: kind=data-race
// argv: reader
// expect: kind=data-race
// argv: mutex
// expect: kind=data-race
// argv: wide
// expect: exact executions=1
// argv: 0
#define _GNU_SOURCE
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "litmus.h"

struct memory {
  char path[32];
  struct flock lock;
  struct sembuf sem;
  struct sockaddr_un name;
  struct iovec vector;
  struct msghdr message;
  sigset_t set;
  size_t size;
  struct timespec time;
  char text[4];
};
static struct memory shared;
static int pair[2], queue, file;
static const char *what;
static sem_t free_sem;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void call(struct memory *m)
{
  pthread_attr_t attr;
  if (!strcmp(what, "open")) close(open(m->path, O_RDONLY));
  if (!strcmp(what, "fopen")) {
    FILE *f = fopen(m->path, "r");
    if (f) fclose(f);
  }
  if (!strcmp(what, "unlink")) unlink(m->path);
  if (!strcmp(what, "lock")) fcntl(file, F_OFD_SETLK, &m->lock);
  if (!strcmp(what, "semop")) semop(-1, &m->sem, 1);
  if (!strcmp(what, "connect")) connect(queue, (struct sockaddr *)&m->name, sizeof m->name);
  if (!strcmp(what, "vector")) (void)!writev(pair[1], &m->vector, 1);
  if (!strcmp(what, "message")) sendmsg(pair[1], &m->message, 0);
  if (!strcmp(what, "set")) sigaddset(&m->set, SIGUSR1);
  if (!strcmp(what, "sleep")) nanosleep(&m->time, NULL);
  if (!strcmp(what, "until")) sem_timedwait(&free_sem, &m->time);
  if (!strcmp(what, "raw")) syscall(SYS_access, m->path, 0);
  if (!strcmp(what, "reader") && !pthread_rwlock_timedrdlock(&rwlock, &m->time)) pthread_rwlock_unlock(&rwlock);
  if (!strcmp(what, "mutex")) pthread_mutex_timedlock(&held, &m->time); /* looks, since it has to wait */
  if (!strcmp(what, "wide")) {
    wchar_t text[64];
    swprintf(text, 64, L"%s", m->path);
  }
  if (!strcmp(what, "name")) prctl(PR_SET_NAME, m->path);
  if (!strcmp(what, "attribute")) {
    pthread_attr_init(&attr);
    pthread_attr_getstacksize(&attr, &m->size);
  }
}

static void prepare(struct memory *m)
{
  strcpy(m->path, "/tmp/heddle-no-such-file");
  m->lock.l_type = F_WRLCK;
  m->name.sun_family = AF_UNIX;
  strcpy(m->name.sun_path, "/tmp/heddle-no-such-name");
  m->vector = (struct iovec){m->text, sizeof m->text};
  m->message = (struct msghdr){.msg_iov = &m->vector, .msg_iovlen = 1};
}

static void *caller(void *arg)
{
  struct memory own;
  if (*what == '0') memset(&own, 0, sizeof own), prepare(&own), sigemptyset(&own.set), call(&own);
  call(&shared);
  return arg;
}

static void *writer(void *arg)
{
  if (*what == '0') return arg;
  shared.path[12] = 'N';
  shared.lock.l_len = 1;
  shared.sem.sem_op = 1;
  shared.name.sun_path[12] = 'N';
  shared.vector.iov_len = 1;
  shared.set = (sigset_t){{0}};
  shared.size = 0;
  shared.time.tv_nsec = 1;
  return arg;
}

int main(int argc, char **argv)
{
  (void)argc;
  what = argv[1];
  prepare(&shared);
  sem_init(&free_sem, 0, 1);
  file = memfd_create("file", 0);
  queue = socket(AF_UNIX, SOCK_STREAM, 0);
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  pthread_mutex_lock(&held);
  both(caller, writer);
  pthread_mutex_unlock(&held);
  return 0;
}

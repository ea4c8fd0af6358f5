// A thread that is cancelled while it holds a lock, exactly at one call: a deadlock if the call is a cancellation point of
// libc, whether it waits or not; nothing otherwise.
// compilers: gcc
// expect: kind=deadlock
// argv: close
// expect: kind=deadlock
// argv: open
// expect: kind=deadlock
// argv: pread
// expect: kind=deadlock
// argv: fsync
// expect: kind=deadlock
// argv: lockf
// expect: kind=deadlock
// argv: fopen
// expect: kind=deadlock
// argv: fgetc
// expect: kind=deadlock
// argv: getrandom
// expect: kind=deadlock
// argv: poll
// expect: kind=deadlock
// argv: msync
// expect: kind=deadlock
// argv: testcancel
// expect: kind=deadlock
// argv: sem_wait
// expect: exact executions=6
// argv: fclose
// expect: exact executions=6
// argv: sched_yield
// expect: exact executions=5
// argv: lseek
// expect: exact executions=6
// argv: setlk
// expect: exact executions=5
// argv: disabled
#include "litmus.h"
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

MUTEX(lock);
static const char *what;
static int fd, file;
static FILE *stream;
static sem_t sem;
static void *memory;
static char byte;

static int is(const char *name) { return !strcmp(what, name); }

static void call(void)
{
  if (is("close")) close(fd);
  if (is("open")) open("/dev/null", O_RDONLY);
  if (is("pread")) pread(fd, &byte, 1, 0);
  if (is("fsync")) fsync(file);
  if (is("lockf")) lockf(file, F_LOCK, 1);
  if (is("fopen")) fopen("/dev/null", "r");
  if (is("fgetc")) fgetc(stream);
  if (is("getrandom")) getrandom(&byte, 1, 0);
  if (is("poll")) poll(NULL, 0, 0);
  if (is("msync")) msync(memory, 4096, MS_SYNC);
  if (is("testcancel")) pthread_testcancel();
  if (is("sem_wait")) sem_wait(&sem);
  if (is("fclose")) fclose(stream);
  if (is("sched_yield")) sched_yield();
  if (is("lseek")) lseek(fd, 0, SEEK_SET);
  if (is("setlk")) fcntl(fd, F_SETLK, &(struct flock){.l_type = F_RDLCK});
  if (is("disabled")) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_testcancel();
    close(fd);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  }
}

static void *worker(void *arg)
{
  pthread_mutex_lock(&lock);
  call();
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(int argc, char **argv)
{
  what = argc > 1 ? argv[1] : "";
  sem_init(&sem, 0, 1);
  fd = open("/etc/passwd", O_RDONLY);
  file = fileno(tmpfile());
  stream = fopen("/etc/passwd", "r");
  memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_t t = spawn(worker, NULL);
  pthread_cancel(t);
  pthread_join(t, NULL);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  return 0;
}

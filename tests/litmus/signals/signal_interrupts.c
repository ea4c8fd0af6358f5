// A handler runs while its thread waits. Afterwards the wait continues, or returns EINTR, as signal(7) says.
// native: no
// compilers: gcc
// expect: kind=assertion
// argv: 0 read
// where: function=main line=@interrupted
// expect: clean executions=20
// argv: restart read
// expect: kind=assertion
// argv: restart poll
// expect: kind=assertion
// argv: 0 sem
// expect: clean executions=20
// argv: restart sem
// expect: kind=assertion
// argv: restart sleep
// expect: kind=deadlock
// argv: 0 pause
// where: function=worker
// expect: clean executions=20
// argv: 0 mutex
// expect: clean executions=20
// argv: 0 cond
// expect: clean executions=20
// argv: 0 rwlock
// expect: clean executions=20
// argv: 0 join
// expect: clean executions=20
// argv: 0 post
#include "litmus.h"
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

MUTEX(lock);
COND(changed);
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static const char *what;
static sem_t sem;
static int fd[2], ready, hits;
static pthread_t first;

static int is(const char *name) { return !strcmp(what, name); }

static void handler(int sig)
{
  (void)sig;
  __atomic_fetch_add(&hits, 1, __ATOMIC_SEQ_CST);
  if (is("post")) sem_post(&sem);
}

static void *worker(void *arg)
{
  long r = 0;
  char c;
  struct pollfd p = {fd[0], POLLIN, 0};
  if (is("read")) r = read(fd[0], &c, 1);
  if (is("poll")) r = poll(&p, 1, -1);
  if (is("sem")) r = sem_wait(&sem);
  if (is("post")) while (sem_wait(&sem)) assert(errno == EINTR);
  if (is("sleep")) r = nanosleep(&(struct timespec){1000, 0}, NULL);
  if (is("pause")) pause();
  if (is("mutex")) pthread_mutex_lock(&lock), pthread_mutex_unlock(&lock);
  if (is("rwlock")) pthread_rwlock_wrlock(&rwlock), pthread_rwlock_unlock(&rwlock);
  if (is("cond")) {
    pthread_mutex_lock(&lock);
    while (!ready) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
  }
  if (is("join")) pthread_kill(first, SIGUSR1);
  assert(r >= 0 || errno == EINTR);
  return (void *)(arg ? arg : (void *)(r < 0));
}

int main(int argc, char **argv)
{
  what = argc > 2 ? argv[2] : "read";
  first = pthread_self();
  struct sigaction action = {.sa_handler = handler, .sa_flags = argc > 1 && argv[1][0] == 'r' ? SA_RESTART : 0};
  void *interrupted = NULL;
  sigaction(SIGUSR1, &action, NULL);
  sem_init(&sem, 0, 0);
  assert(pipe(fd) == 0);
  if (is("mutex")) pthread_mutex_lock(&lock);
  if (is("rwlock")) pthread_rwlock_rdlock(&rwlock);
  pthread_t t = spawn(worker, NULL);
  if (!is("join")) pthread_kill(t, SIGUSR1);
  if (is("mutex")) pthread_mutex_unlock(&lock);
  if (is("rwlock")) pthread_rwlock_unlock(&rwlock);
  if (is("cond")) {
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
  }
  if (is("sem")) sem_post(&sem);
  assert(write(fd[1], "x", 1) == 1);
  pthread_join(t, &interrupted);
  assert(!interrupted); /* @interrupted */
  return 0;
}

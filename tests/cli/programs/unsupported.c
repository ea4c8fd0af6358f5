/* What a controlled run does not support yet, one thing by argument. The line that does it carries its
 * name. */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static int word;
static sem_t sem;
static pthread_barrier_t barrier;
static const char *what;

#define CASE(name) if (strcmp(what, name) == 0)

static void post(int sig)
{
  (void)sig;
  sem_post(&sem);
}

static void *blocker(void *arg)
{
  sigset_t signals;
  int n;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  CASE("futex") syscall(SYS_futex, &word, FUTEX_WAIT_REQUEUE_PI, 0, NULL, NULL, 0);
  CASE("setitimer") setitimer(ITIMER_VIRTUAL, NULL, NULL);
  CASE("handler") pthread_barrier_wait(&barrier); /* before it is left the handler must have run */
  (void)n;
  return arg;
}

int main(int argc, char **argv)
{
  pthread_t t;
  what = argv[argc - 1];
  sem_init(&sem, 0, 0);
  pthread_barrier_init(&barrier, NULL, 2);
  signal(SIGUSR1, post);
  pthread_create(&t, NULL, blocker, NULL);
  sched_yield();
  CASE("handler") {
    pthread_kill(t, SIGUSR1);
    sem_wait(&sem);
    pthread_barrier_wait(&barrier);
  }
  pthread_join(t, NULL);
  return 0;
}

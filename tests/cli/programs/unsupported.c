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
#include <unistd.h>

static int word;
static const char *what;

#define CASE(name) if (strcmp(what, name) == 0)

static void *blocker(void *arg)
{
  sigset_t signals;
  int n;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  CASE("futex") syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
  CASE("pause") pause();
  (void)n;
  return arg;
}

int main(int argc, char **argv)
{
  pthread_t t;
  what = argv[argc - 1];
  pthread_create(&t, NULL, blocker, NULL);
  sched_yield();
  pthread_join(t, NULL);
  return 0;
}

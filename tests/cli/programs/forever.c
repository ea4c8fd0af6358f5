/* Never ends, by argument: spinning on an atomic, sleeping, in a loop that nobody sees, printing. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int flag;

static void blind(void)
{
  for (volatile int i = 0;; i++) {
  }
}

static void *worker(void *arg)
{
  const char *how = arg;
  if (strcmp(how, "blind") == 0) blind();
  while (!__atomic_load_n(&flag, __ATOMIC_RELAXED)) {
    if (strcmp(how, "sleep") == 0) sleep(1);
    if (strcmp(how, "yield") == 0) sched_yield();
    if (strcmp(how, "print") == 0) printf("again and again\n");
  }
  return NULL;
}

int main(int argc, char **argv)
{
  pthread_t t;
  (void)argc;
  pthread_create(&t, NULL, worker, argv[1]);
  pthread_join(t, NULL);
  return 0;
}

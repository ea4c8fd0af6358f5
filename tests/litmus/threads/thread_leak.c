// A thread that is never joined, reported only on request; a detached one is not a leak once it has ended.
// expect: kind=thread-leak
// args: --thread-leaks
// argv: forgotten
// where: function=main line=@create
// expect: clean executions=200
// argv: forgotten
// expect: clean executions=200
// args: --thread-leaks
// argv: detached
#include "litmus.h"

static int done;

static void *worker(void *arg)
{
  __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
  return arg;
}

int main(int argc, char **argv)
{
  pthread_t t;
  (void)argc;
  pthread_create(&t, NULL, worker, NULL); /* @create */
  if (argv[1][0] == 'd') {
    pthread_detach(t);
    for (int i = 0; i < 5; i++) sched_yield();
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) sched_yield();
    usleep(1000);
  }
  return 0;
}

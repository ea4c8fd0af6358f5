// Names, processors and priorities: accepted, read back, and reported.
// restart: memory fork
// native: no
// expect: clean executions=30
// args: --strategy random
// expect: kind=data-race
// argv: race
// says: (writer)
// says: (reader)
#include "litmus.h"

static int shared;

static void *writer(void *arg)
{
  assert(pthread_setname_np(pthread_self(), "writer") == 0);
  if (arg) shared = 1;
  return NULL;
}

static void *reader(void *arg)
{
  char name[16];
  assert(pthread_setname_np(pthread_self(), "a name that is too long") == ERANGE);
  assert(pthread_setname_np(pthread_self(), "reader") == 0);
  assert(pthread_getname_np(pthread_self(), name, sizeof name) == 0 && !strcmp(name, "reader"));
  assert(pthread_getname_np(pthread_self(), name, 3) == ERANGE);
  if (arg) shared += 2;
  return NULL;
}

int main(int argc, char **argv)
{
  (void)argv;
  pthread_t a = spawn(writer, argc > 1 ? &shared : NULL), b = spawn(reader, argc > 1 ? &shared : NULL);
  cpu_set_t one, got;
  CPU_ZERO(&one);
  assert(pthread_setaffinity_np(a, sizeof one, &one) == EINVAL);
  CPU_SET(7, &one);
  assert(pthread_setaffinity_np(a, sizeof one, &one) == 0);
  assert(pthread_getaffinity_np(a, sizeof got, &got) == 0 && CPU_EQUAL(&one, &got));
  assert(sched_setaffinity(0, sizeof one, &one) == 0);
  assert(sched_getaffinity(0, sizeof got, &got) == 0 && CPU_EQUAL(&one, &got));
  struct sched_param p = {.sched_priority = 10}, q = {0};
  int policy = -1;
  assert(pthread_setschedparam(a, SCHED_OTHER, &p) == EINVAL);
  assert(pthread_setschedparam(a, SCHED_FIFO, &p) == 0);
  assert(pthread_setschedprio(a, 20) == 0 && pthread_setschedprio(a, 1000) == EINVAL);
  assert(pthread_getschedparam(a, &policy, &q) == 0 && policy == SCHED_FIFO && q.sched_priority == 20);
  pthread_attr_t attr;
  void *stack;
  size_t size;
  assert(pthread_getattr_np(b, &attr) == 0 && pthread_attr_getstack(&attr, &stack, &size) == 0 && size > 0);
  join(a);
  join(b);
  assert(pthread_setname_np(a, "gone") == ESRCH);
  return 0;
}

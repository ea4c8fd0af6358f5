// Freed memory is used again, also large blocks and those that another thread has freed, if the free happened before: a long
// run needs no more memory than a short one.
// native: no
// expect: clean executions=2
// args: --strategy random
#include "litmus.h"
#include <semaphore.h>

#define MANY 4000
static char *from = (char *)-1l, *to;
static char *passed;
static sem_t full, empty;

static void note(char *p, size_t size)
{
  if (p < from) from = p;
  if (p + size > to) to = p + size;
  *p = 1;
}

static void *release(void *arg)
{
  for (int i = 0; i < MANY; i++) {
    sem_wait(&full);
    free(passed);
    sem_post(&empty);
  }
  return arg;
}

static void *alone(void *arg)
{
  char *before = NULL;
  for (int i = 0; i < MANY; i++) {
    size_t size = 40000 + (size_t)i % 5 * 9000;
    char *p = malloc(size);
    note(p, size);
    assert(p != before);
    free(p);
    before = p;
  }
  return arg;
}

int main(void)
{
  pthread_t t;
  sem_init(&full, 0, 0);
  sem_init(&empty, 0, 0);
  pthread_create(&t, 0, release, 0);
  for (int i = 0; i < MANY; i++) {
    passed = malloc(500);
    note(passed, 500);
    sem_post(&full);
    sem_wait(&empty);
  }
  pthread_join(t, 0);
  assert(to - from < 2 << 20);
  from = (char *)-1l;
  to = NULL;
  pthread_create(&t, 0, alone, 0);
  pthread_join(t, 0);
  assert(to - from < 8 << 20);
  return 0;
}

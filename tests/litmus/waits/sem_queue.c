// Producers and a consumer with two semaphores and a lock: correct, and one that forgets to wait for room.
// expect: clean executions=2
// args: --strategy optimal
// expect: clean executions=200
// args: --strategy random
// restart: memory fork
// expect: kind=assertion
// argv: overrun
// where: function=put
#include "litmus.h"
#include <semaphore.h>

#define SLOTS 1
static sem_t room, items;
MUTEX(lock);
static int slot[SLOTS], used, overrun;

static void put(int v)
{
  if (!overrun) sem_wait(&room);
  pthread_mutex_lock(&lock);
  assert(used < SLOTS);
  slot[used++] = v;
  pthread_mutex_unlock(&lock);
  sem_post(&items);
}

static int get(void)
{
  sem_wait(&items);
  pthread_mutex_lock(&lock);
  int v = slot[--used];
  pthread_mutex_unlock(&lock);
  sem_post(&room);
  return v;
}

static void *producer(void *arg)
{
  put(1 + (int)(intptr_t)arg);
  return NULL;
}

int main(int argc, char **argv)
{
  overrun = argc > 1 && argv[1][0] == 'o';
  sem_init(&room, 0, SLOTS);
  sem_init(&items, 0, 0);
  pthread_t a = spawn(producer, (void *)0L), b = spawn(producer, (void *)1L);
  assert(get() + get() == 3);
  join(a);
  join(b);
  sem_destroy(&room);
  sem_destroy(&items);
  return 0;
}

// Five thousand detached threads, up to 256 of them alive at once, and five thousand joined ones: their number over
// time does not matter. Wrong: the very last one is too late.
// restart: memory fork
// compilers: gcc
// expect: clean executions=2
// args: --strategy random
// expect: kind=assertion
// args: --strategy random
// argv: bug
// where: function=main line=@bug
#include <semaphore.h>

#include "litmus.h"

#define ALL 5000
#define ALIVE 256
static sem_t room, ended;
static int count;

static void *detached(void *arg)
{
  __atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);
  sem_post(arg ? &room : &ended);
  return NULL;
}

static void *joined(void *arg)
{
  __atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);
  return arg;
}

int main(int argc, char **argv)
{
  int bug = argc > 1 && argv[1][0] == 'b';
  sem_init(&room, 0, ALIVE);
  sem_init(&ended, 0, 0);
  for (int i = 0; i < ALL; i++) {
    sem_wait(&room);
    pthread_detach(spawn(detached, &room));
    join(spawn(joined, NULL));
  }
  for (int i = 0; i < ALIVE; i++) sem_wait(&room);
  pthread_detach(spawn(detached, NULL));
  if (!bug) sem_wait(&ended);
  assert(__atomic_load_n(&count, __ATOMIC_SEQ_CST) == 2 * ALL + 1); /* @bug */
  return 0;
}

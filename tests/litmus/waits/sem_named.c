// Named semaphores: created in every execution, shared by name, gone when unlinked.
// restart: memory fork
// expect: clean executions=60
// args: --strategy random
// expect: kind=assertion
// argv: exclusive
// where: function=opener
#include "litmus.h"
#include <fcntl.h>
#include <semaphore.h>

static int exclusive, opened;
static char name[32]; /* of this process alone: natively it is the machine's, and tests run side by side */

static void *opener(void *arg)
{
  sem_t *s = sem_open(name, O_CREAT | (exclusive ? O_EXCL : 0), 0600, 1);
  assert(s != SEM_FAILED);
  sem_wait(s);
  opened++;
  sem_post(s);
  assert(sem_close(s) == 0);
  return arg;
}

int main(int argc, char **argv)
{
  exclusive = argc > 1;
  snprintf(name, sizeof name, "/heddle-litmus-%d", getpid());
  if (!exclusive) sem_unlink(name);
  assert(sem_open(name, 0) == SEM_FAILED && errno == ENOENT);
  both(opener, opener);
  sem_t *s = sem_open(name, 0);
  assert(s != SEM_FAILED && opened == 2);
  assert(sem_unlink(name) == 0);
  assert(sem_unlink(name) == -1 && errno == ENOENT);
  assert(sem_open(name, 0) == SEM_FAILED);
  assert(sem_trywait(s) == 0);
  assert(sem_close(s) == 0);
  return 0;
}

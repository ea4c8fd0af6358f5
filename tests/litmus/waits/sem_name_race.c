// Who opens a named semaphore first decides what the other one gets: both orders are tried.
// args: --strategy optimal
// expect: kind=assertion
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>

#include "litmus.h"

static sem_t *mine, *other;

static void *opens(void *unused) {
  other = sem_open("/heddle-name", O_CREAT | O_EXCL, 0600, 1);
  return unused;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, NULL, opens, NULL);
  mine = sem_open("/heddle-name", O_CREAT | O_EXCL, 0600, 1);
  pthread_join(t, NULL);
  assert(mine != SEM_FAILED); // not if the other one was first
  return 0;
}

// The handler runs between two operations though the signal is sent only after the first.
// expect: kind=assertion
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

static sem_t ready;
static atomic_int x;

static void handler(int sig) {
  (void)sig;
  assert(x);
}

static void *worker(void *arg) {
  sem_post(&ready);
  x = 1;
  return arg;
}

int main(void) {
  pthread_t t;
  signal(SIGUSR1, handler);
  sem_init(&ready, 0, 0);
  pthread_create(&t, NULL, worker, NULL);
  sem_wait(&ready);
  pthread_kill(t, SIGUSR1);
  pthread_join(t, NULL);
  return 0;
}

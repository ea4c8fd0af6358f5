// A handler runs while its thread waits at a barrier; the wait goes on afterwards.
// expect: clean
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

static pthread_barrier_t barrier;
static sem_t handled;

static void handler(int sig) {
  (void)sig;
  sem_post(&handled);
}

static void *waiter(void *arg) {
  pthread_barrier_wait(&barrier);
  return arg;
}

int main(void) {
  pthread_t t;
  struct sigaction a = {.sa_handler = handler};
  sigaction(SIGUSR1, &a, NULL);
  pthread_barrier_init(&barrier, NULL, 2);
  sem_init(&handled, 0, 0);
  pthread_create(&t, NULL, waiter, NULL);
  pthread_kill(t, SIGUSR1);
  while (sem_wait(&handled)) {}
  pthread_barrier_wait(&barrier); /* only now */
  pthread_join(t, NULL);
  return 0;
}

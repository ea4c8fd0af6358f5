// The handler may run just before the call that it was to interrupt, which then waits forever.
// expect: kind=deadlock
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

static sem_t ready, never;

static void handler(int sig) { (void)sig; }

static void *waiter(void *arg) {
  sem_post(&ready);
  sem_wait(&never);
  return arg;
}

int main(void) {
  pthread_t t;
  struct sigaction a = {.sa_handler = handler};
  sigaction(SIGUSR1, &a, NULL);
  sem_init(&ready, 0, 0);
  sem_init(&never, 0, 0);
  pthread_create(&t, NULL, waiter, NULL);
  sem_wait(&ready);
  pthread_kill(t, SIGUSR1);
  pthread_join(t, NULL);
  return 0;
}

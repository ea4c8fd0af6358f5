// A handler runs while its thread waits for another one in pthread_once.
// expect: clean
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t handled, inside;
static pthread_t first;

static void handler(int sig) {
  (void)sig;
  sem_post(&handled);
}

static void routine(void) {
  sem_post(&inside);
  while (sem_wait(&handled)) {}
}

static void *initialiser(void *arg) {
  pthread_once(&once, routine);
  return arg;
}

static void *sender(void *arg) {
  pthread_kill(first, SIGUSR1);
  return arg;
}

int main(void) {
  pthread_t a, b;
  signal(SIGUSR1, handler);
  sem_init(&handled, 0, 0);
  sem_init(&inside, 0, 0);
  first = pthread_self();
  pthread_create(&a, NULL, initialiser, NULL);
  sem_wait(&inside);
  pthread_create(&b, NULL, sender, NULL);
  pthread_once(&once, routine);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}

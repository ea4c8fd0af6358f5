// Four philosophers, each taking the left fork first; or, with an argument, one taking the right fork first.
// expect: kind=deadlock
// expect: clean executions=300
// argv: polite
#include "litmus.h"

#define N 4
static pthread_mutex_t fork_[N];
static int meals[N], polite;

static void *philosopher(void *arg)
{
  long i = (long)arg;
  pthread_mutex_t *first = &fork_[i], *second = &fork_[(i + 1) % N];
  if (polite && i == N - 1) {
    first = &fork_[0];
    second = &fork_[N - 1];
  }
  pthread_mutex_lock(first);
  pthread_mutex_lock(second);
  meals[i]++;
  pthread_mutex_unlock(second);
  pthread_mutex_unlock(first);
  return NULL;
}

int main(int argc, char **argv)
{
  (void)argv;
  polite = argc > 1;
  pthread_t t[N];
  for (int i = 0; i < N; i++) pthread_mutex_init(&fork_[i], NULL);
  for (long i = 0; i < N; i++) t[i] = spawn(philosopher, (void *)i);
  for (int i = 0; i < N; i++) join(t[i]);
  for (int i = 0; i < N; i++) assert(meals[i] == 1);
  for (int i = 0; i < N; i++) pthread_mutex_destroy(&fork_[i]);
  return 0;
}

#include <pthread.h>
#include <stdio.h>

int counter;

static void *worker(void *arg)
{
  counter++;
  return arg;
}

int main(void)
{
  pthread_t a, b;
  printf("hello from the program\n");
  fflush(stdout);
  pthread_create(&a, NULL, worker, NULL);
  pthread_create(&b, NULL, worker, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}

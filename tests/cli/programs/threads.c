/* Starts as many threads as the argument says, with stacks of as many MiB as the second says. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *worker(void *arg) { return arg; }

int main(int argc, char **argv)
{
  int n = atoi(argv[1]);
  pthread_t *t = calloc((size_t)n, sizeof *t);
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  if (argc > 2) pthread_attr_setstacksize(&attr, (size_t)atol(argv[2]) << 20);
  for (int i = 0; i < n; i++) {
    int rc = pthread_create(&t[i], &attr, worker, NULL);
    if (rc) {
      fprintf(stderr, "thread %d: %s\n", i, strerror(rc));
      return 9;
    }
  }
  for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
  free(t);
  return 0;
}

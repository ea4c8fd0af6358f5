// A program that duplicates, closes or replaces its standard output: the search, whose output goes nowhere, and the replay,
// whose output is kept, are the same execution.
// expect: kind=data-race
// argv: duplicates
// expect: kind=data-race
// argv: closes
// native: no
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int x;
static void *add(void *arg) {
  x++;
  return arg;
}

int main(int argc, char **argv) {
  pthread_t t;
  if (argc > 1 && argv[1][0] == 'd') {
    int saved = dup(1);
    close(1);
    dup2(saved, 1);
    close(saved);
    printf("%d\n", saved);
    fflush(stdout);
  } else {
    close(0);
    close(1);
    close(2);
    int null = open("/dev/null", O_RDWR);
    dup(null);
    dup(null);
  }
  pthread_create(&t, NULL, add, NULL);
  x++;
  pthread_join(t, NULL);
  return 0;
}

// A once-control, or a barrier, is freed by a thread that has used it while another one is about to use it.
// native: no
// expect: kind=use-after-free
// argv: once
// expect: kind=use-after-free
// argv: barrier
#include "litmus.h"

static pthread_once_t *once;
static pthread_barrier_t *barrier;

static void nothing(void) {}

static void use(void)
{
  if (once) pthread_once(once, nothing);
  if (barrier) pthread_barrier_wait(barrier);
}

static void *user(void *arg)
{
  use();
  return arg;
}

static void *owner(void *arg)
{
  use();
  free(once);
  free(barrier);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argc;
  if (strcmp(argv[1], "once") == 0)
    once = calloc(1, sizeof *once);
  else
    pthread_barrier_init(barrier = malloc(sizeof *barrier), NULL, 1);
  both(user, owner);
  return 0;
}

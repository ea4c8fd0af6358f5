// expect: exact executions=4
/* A thread that waits for a descriptor can be cancelled; its cleanup handlers run. */
#include <poll.h>

#include "litmus.h"

static int p[2], cleaned;
static void clean(void *arg) { cleaned += *(int *)arg; }

static void *reader(void *arg)
{
  char c;
  pthread_cleanup_push(clean, arg);
  assert(read(p[0], &c, 1) == 1); /* never */
  pthread_cleanup_pop(0);
  return NULL;
}

static void *poller(void *arg)
{
  struct pollfd f = {p[0], POLLIN, 0};
  pthread_cleanup_push(clean, arg);
  poll(&f, 1, -1);
  pthread_cleanup_pop(0);
  return NULL;
}

int main(void)
{
  int one = 1;
  void *r;
  assert(pipe(p) == 0);
  pthread_t t = spawn(reader, &one);
  pthread_cancel(t);
  assert(pthread_join(t, &r) == 0 && r == PTHREAD_CANCELED && cleaned == 1);
  t = spawn(poller, &one);
  pthread_cancel(t);
  assert(pthread_join(t, &r) == 0 && r == PTHREAD_CANCELED && cleaned == 2);
  return 0;
}

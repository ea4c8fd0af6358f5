// What is reachable at exit is not a leak: through a global, a chain, an interior pointer, thread-local storage.
// restart: memory fork
// expect: clean executions=100
// args: --leaks
#include "litmus.h"

struct node {
  struct node *next;
  char pad[40];
};
static struct node *head;
static char *middle;
static _Thread_local void *mine;

static void *worker(void *arg)
{
  struct node *n = calloc(1, sizeof *n);
  do
    n->next = peek(&head);
  while (!__atomic_compare_exchange_n(&head, &n->next, n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return arg;
}

int main(void)
{
  both(worker, worker);
  middle = (char *)malloc(100) + 50;
  mine = malloc(10);
  return 0;
}

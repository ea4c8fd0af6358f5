// Tens of thousands of small blocks in one execution.
// restart: memory fork
// expect: clean executions=10
// args: --leaks
#include "litmus.h"

struct node {
  struct node *next;
  int value;
};

static void *worker(void *arg)
{
  struct node *list = NULL;
  for (int i = 0; i < 20000; i++) {
    struct node *n = malloc(sizeof *n);
    n->next = list;
    n->value = i;
    list = n;
  }
  for (int i = 19999; list; i--) {
    struct node *n = list->next;
    assert(list->value == i);
    free(list);
    list = n;
  }
  return arg;
}

int main(void)
{
  both(worker, worker);
  return 0;
}

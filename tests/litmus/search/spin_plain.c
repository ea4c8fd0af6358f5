// Loops that wait by plain reads: a flag, a lock handed over through a pointer (as in MCS locks), a chain of two.
// Apart from the data races, they end whenever another thread can continue, and the search does not repeat them.
// opt: -O0
// expect: clean executions=50
// args: --ignore data-race
// expect: clean executions=400
// args: --ignore data-race
// argv: lock
// expect: clean executions=400
// args: --ignore data-race
// argv: stack
// expect: kind=livelock
// args: --ignore data-race
// argv: alone
// where: function=reader line=@wait
// expect: kind=data-race
#include "litmus.h"

static int flag, data, alone;

static void *writer(void *arg)
{
  data = 1;
  if (!alone) flag = 1;
  return arg;
}

static void *reader(void *arg)
{
  while (!flag) continue; /* @wait */
  assert(data == 1);
  return arg;
}

struct node {
  struct node *next;
  int locked;
};
static struct node *tail;
static int inside;

static void *queued(void *arg)
{
  struct node mine, *me = arg ? arg : &mine, *before, *none = me;
  me->next = NULL;
  me->locked = 1;
  before = __atomic_exchange_n(&tail, me, __ATOMIC_ACQ_REL);
  if (before) {
    before->next = me;
    while (me->locked) continue;
  }
  assert(inside++ == 0);
  inside--;
  if (!me->next) {
    if (__atomic_compare_exchange_n(&tail, &none, NULL, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return NULL;
    while (!me->next) continue;
  }
  me->next->locked = 0;
  return NULL;
}

int main(int argc, char **argv)
{
  static struct node a, b;
  alone = argc > 1 && argv[1][0] == 'a';
  if (argc > 1 && (argv[1][0] == 'l' || argv[1][0] == 's')) {
    int own = argv[1][0] == 's'; /* on their own stacks */
    pthread_t t = spawn(queued, own ? NULL : &a), u = spawn(queued, own ? NULL : &b);
    join(t);
    join(u);
    return 0;
  }
  both(reader, writer);
  return 0;
}

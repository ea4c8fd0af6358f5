// Threads created by different threads: the order of the creations makes no difference, not even to addresses.
// expect: exact executions=1 dfs=no
// argv: nothing 3 3
// expect: exact executions=1
// argv: nothing 2 1
// expect: exact executions=1
// args: --restart=fork
// argv: nothing 2 1
// expect: exact executions=6 dfs=no
// argv: lock 3 3
// expect: exact executions=2
// argv: stack 2 1
// expect: exact executions=2
// argv: more 2 1
// expect: exact executions=2 kinds=assertion
// argv: bug 2 1
// where: function=leaf line=@bug thread=T2.1
#include "litmus.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int order, flag, *shared;
static char what;

static void *leaf(void *arg)
{
  int own = 0;
  if (what == 'b' && (intptr_t)arg == 1) __atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST);
  if (what == 'b' && (intptr_t)arg == 2) assert(__atomic_load_n(&flag, __ATOMIC_SEQ_CST) == 0); /* @bug */
  if (what == 's' && (intptr_t)arg == 1) __atomic_store_n(&shared, &own, __ATOMIC_SEQ_CST);
  if (what == 's' && (intptr_t)arg == 2) __atomic_load_n(&shared, __ATOMIC_SEQ_CST);
  return arg;
}

static int children = 1;

static void *creator(void *arg)
{
  pthread_t t[3];
  int n = children;
  if (what == 'l') {
    pthread_mutex_lock(&mutex);
    order++;
    pthread_mutex_unlock(&mutex);
  }
  /* One that exists in some executions only. */
  if (what == 'm' && (intptr_t)arg == 1) n += __atomic_load_n(&flag, __ATOMIC_SEQ_CST);
  if (what == 'm' && (intptr_t)arg == 2) __atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < n; i++) t[i] = spawn(leaf, i ? NULL : arg);
  for (int i = 0; i < n; i++) join(t[i]);
  return arg;
}

int main(int argc, char **argv)
{
  pthread_t t[3];
  int n = argc > 2 ? atoi(argv[2]) : 2;
  what = argc > 1 ? argv[1][0] : 'n';
  children = argc > 3 ? atoi(argv[3]) : 1;
  for (int i = 0; i < n; i++) t[i] = spawn(creator, (void *)(intptr_t)(i + 1));
  for (int i = 0; i < n; i++) join(t[i]);
  return 0;
}

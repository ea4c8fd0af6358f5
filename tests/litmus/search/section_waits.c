// A section that has to wait lets other threads run, and is re-entered when the wait ends.
// restart: memory fork
// expect: exact executions=4 states=1
// argv: lock
// expect: exact executions=4 states=1
// argv: cond
// expect: exact executions=4 states=1
// argv: join
// expect: exact executions=8 kinds=deadlock states=1
// argv: dead
#include "heddle.h"
#include "litmus.h"

void hd_rt_observe(uint64_t value);
MUTEX(m);
MUTEX(n);
COND(c);
static int ready, seen;
static char how;

static void *waiter(void *arg)
{
  hd_atomic_begin();
  pthread_mutex_lock(&m);
  if (how == 'c')
    while (!ready) pthread_cond_wait(&c, &m);
  if (how == 'd') pthread_mutex_lock(&n);
  seen += 1;
  if (how == 'd') pthread_mutex_unlock(&n);
  pthread_mutex_unlock(&m);
  hd_atomic_end();
  return arg;
}

static void *other(void *arg)
{
  if (how == 'd') pthread_mutex_lock(&n);
  pthread_mutex_lock(&m);
  seen += 1;
  ready = 1;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
  if (how == 'd') pthread_mutex_unlock(&n);
  return arg;
}

int main(int argc, char **argv)
{
  how = argv[1][0];
  if (how == 'j') {
    pthread_t t = spawn(other, NULL);
    hd_atomic_begin();
    join(t);
    seen += 1;
    hd_atomic_end();
  } else {
    both(waiter, other);
  }
  hd_rt_observe((uint64_t)seen);
  return 0;
}

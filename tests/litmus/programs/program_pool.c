// A pool of two threads on a condition variable: tasks are queued, run once each, and the pool is shut down. Wrong:
// the shutdown wakes only one thread; a task is taken without checking again that there is one.
// expect: exact executions=1176 dfs=no
// expect: kind=lost-wakeup
// argv: signal
// where: function=worker line=@wait
// expect: kind=assertion
// argv: if
// where: function=worker line=@take
#include "litmus.h"

enum { WORKERS = 2, TASKS = 2 };

MUTEX(lock);
COND(more);
static int queue[TASKS], head, tail, closed, done[TASKS], signal_only, ask_once;

static void *worker(void *arg)
{
  for (;;) {
    pthread_mutex_lock(&lock);
    while (head == tail && !closed) {
      pthread_cond_wait(&more, &lock); /* @wait */
      if (ask_once) break;
    }
    if (head == tail && closed) break;
    assert(head < tail); /* @take */
    int task = queue[head++];
    pthread_mutex_unlock(&lock);
    done[task]++;
  }
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(int argc, char **argv)
{
  pthread_t t[WORKERS];
  signal_only = argc > 1 && argv[1][0] == 's';
  ask_once = argc > 1 && argv[1][0] == 'i';
  for (int i = 0; i < WORKERS; i++) t[i] = spawn(worker, NULL);
  for (int i = 0; i < TASKS; i++) {
    pthread_mutex_lock(&lock);
    queue[tail++] = i;
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&lock);
  }
  pthread_mutex_lock(&lock);
  closed = 1;
  if (signal_only)
    pthread_cond_signal(&more);
  else
    pthread_cond_broadcast(&more);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < WORKERS; i++) join(t[i]);
  for (int i = 0; i < TASKS; i++) assert(done[i] == 1);
  return 0;
}

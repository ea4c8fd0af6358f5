// Threads use variables of functions that wait for them: by joining, by a semaphore, by a flag, in memory of alloca, in
// nested calls. All of them are alive as long as they are used.
// expect: exact executions=8
#include "litmus.h"
#include <alloca.h>
#include <semaphore.h>
#include <stdatomic.h>

struct job {
  sem_t *done;
  atomic_int *flag;
  int *value;
};

static void *work(void *arg)
{
  struct job *j = arg;
  sem_t *done = j->done;
  atomic_int *flag = j->flag;
  *j->value += 1;
  if (done) sem_post(done);
  if (flag) atomic_store(flag, 1);
  return NULL;
}

static sem_t done;
static atomic_int flag;

__attribute__((noinline)) static int joined(void)
{
  int v = 0;
  struct job j = {NULL, NULL, &v};
  pthread_t t = spawn(work, &j);
  join(t);
  return v;
}

__attribute__((noinline)) static int posted(int n)
{
  int *v = alloca(sizeof(int) * (size_t)n);
  v[0] = 0;
  struct job j = {&done, NULL, v};
  pthread_t t = spawn(work, &j);
  pthread_detach(t);
  sem_wait(&done);
  return v[0];
}

__attribute__((noinline)) static int flagged(void)
{
  int v = 0;
  struct job j = {NULL, &flag, &v};
  pthread_t t = spawn(work, &j);
  pthread_detach(t);
  while (!atomic_load(&flag)) {}
  return v;
}

int main(void)
{
  sem_init(&done, 0, 0);
  int n = joined() + posted(4);
  n += flagged();
  assert(n == 3);
  return 0;
}

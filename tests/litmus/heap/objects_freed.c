// An object with a lock, a condition variable or a semaphore is freed while another thread is about to use it: it was
// not finished when its last word was read. Right: the last use comes before what the other one waits for.
// expect: kind=use-after-free
// argv: signal
// where: function=worker line=@signal
// expect: kind=use-after-free
// argv: unlock
// where: function=worker line=@unlock
// expect: kind=use-after-free
// argv: post
// where: function=worker line=@post
// expect: kind=use-after-free
// argv: rwlock
// where: function=worker line=@rwlock
// expect: exact executions=2
// argv: right
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "litmus.h"

static struct object {
  pthread_mutex_t m;
  pthread_cond_t c;
  pthread_rwlock_t rw;
  sem_t s;
  int ready, done;
} *o;
static const char *what;

static int is(const char *name) { return !strcmp(what, name); }
static void set_done(void) { __atomic_store_n(&o->done, 1, __ATOMIC_SEQ_CST); }

static void *worker(void *arg)
{
  if (is("rwlock")) {
    pthread_rwlock_rdlock(&o->rw);
    set_done();
    pthread_rwlock_unlock(&o->rw); /* @rwlock */
    return arg;
  }
  pthread_mutex_lock(&o->m);
  o->ready = 1;
  if (is("right")) pthread_cond_signal(&o->c);
  if (is("unlock")) set_done();
  pthread_mutex_unlock(&o->m); /* @unlock */
  if (is("signal")) pthread_cond_signal(&o->c); /* @signal */
  if (is("post")) sem_post(&o->s); /* @post */
  return arg;
}

int main(int argc, char **argv)
{
  what = argc > 1 ? argv[1] : "";
  o = calloc(1, sizeof *o);
  pthread_t t = spawn(worker, NULL);
  if (is("unlock") || is("rwlock")) {
    while (!__atomic_load_n(&o->done, __ATOMIC_SEQ_CST)) {}
  } else {
    pthread_mutex_lock(&o->m);
    while (!o->ready && !is("post")) pthread_cond_wait(&o->c, &o->m);
    int ready = o->ready;
    pthread_mutex_unlock(&o->m);
    if (!ready) join(t);
    if (!ready) return 0;
  }
  free(o);
  join(t);
  return 0;
}

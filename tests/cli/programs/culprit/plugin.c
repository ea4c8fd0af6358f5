#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The worker is started before what it uses is there. No other thread has done anything yet when it fails. */
struct plugin {
  const char *name;
  void (*run)(struct plugin *);
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct plugin *active;
static size_t length;

static void run(struct plugin *p) { length = strlen(p->name); }

static void *worker(void *arg)
{
  pthread_mutex_lock(&lock);
  struct plugin *p = active; /* @null */
  pthread_mutex_unlock(&lock);
  p->run(p); /* @crash */
  return arg;
}

int main(void)
{
  pthread_t t;
  pthread_create(&t, NULL, worker, NULL);
  struct plugin *p = malloc(sizeof *p);
  p->name = "demo";
  p->run = run;
  pthread_mutex_lock(&lock);
  active = p;
  pthread_mutex_unlock(&lock);
  pthread_join(t, NULL);
  free(p);
}

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Sessions with a logger each; a session that times out gives its logger back. */
struct logger { int lines; char last[16]; };
struct session { pthread_mutex_t lock; struct logger *logger; int open, requests; };

static struct session table[2];
static pthread_mutex_t totals = PTHREAD_MUTEX_INITIALIZER;
static int served, closed;

static int is_open(struct session *s) {
  pthread_mutex_lock(&s->lock);
  int open = s->open; /* @check */
  pthread_mutex_unlock(&s->lock);
  return open;
}

static void add(int *to) {
  pthread_mutex_lock(&totals);
  (*to)++;
  pthread_mutex_unlock(&totals);
}

static void serve(struct session *s, const char *text) {
  if (!is_open(s)) return;
  add(&served);
  pthread_mutex_lock(&s->lock);
  s->requests++;
  strncpy(s->logger->last, text, 15); /* @crash */
  s->logger->lines++;
  pthread_mutex_unlock(&s->lock);
}

static void expire(struct session *s) {
  pthread_mutex_lock(&s->lock);
  struct logger *old = s->logger;
  s->open = 0;
  s->logger = NULL; /* @null */
  pthread_mutex_unlock(&s->lock);
  add(&closed);
  free(old);
}

static void *client(void *a) {
  for (int i = 0; i < 2; i++) serve(&table[0], "hello");
  return a;
}

static void *other(void *a) {
  serve(&table[1], "other");
  return a;
}

static void *reaper(void *a) {
  expire(&table[1]);
  expire(&table[0]);
  return a;
}

int main(void) {
  pthread_t t[3];
  for (int i = 0; i < 2; i++) {
    pthread_mutex_init(&table[i].lock, NULL);
    table[i].logger = calloc(1, sizeof(struct logger));
    table[i].open = 1;
  }
  pthread_create(&t[0], NULL, client, NULL);
  pthread_create(&t[1], NULL, reaper, NULL);
  for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
  return 0;
}

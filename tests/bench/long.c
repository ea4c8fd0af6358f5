/* long.c: two threads that do one thing N times. For test_long.py: the time of an execution grows as its length. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int word, other;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t full, empty;
static int turn;

static void loads(int me, int i) {
  if (me && i == 7) word = 1;
  (void)atomic_load(&word);
}

static void additions(int me, int i) {
  (void)me, (void)i;
  atomic_fetch_add(&word, 1);
}

static void apart(int me, int i) {
  (void)i;
  atomic_fetch_add(me ? &word : &other, 1);
}

static void yields(int me, int i) {
  additions(me, i);
  sched_yield();
}

static void locks(int me, int i) {
  (void)me, (void)i;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

static void readers(int me, int i) {
  if (me && i % 1000 == 7)
    pthread_rwlock_wrlock(&lock);
  else
    pthread_rwlock_rdlock(&lock);
  pthread_rwlock_unlock(&lock);
}

static void posts(int me, int i) {
  (void)i;
  if (me)
    sem_post(&full);
  else
    sem_wait(&full);
}

static void signals(int me, int i) {
  (void)me, (void)i;
  pthread_cond_signal(&cond);
}

static void turns(int me, int i) {
  (void)i;
  pthread_mutex_lock(&mutex);
  while (turn != me) pthread_cond_wait(&cond, &mutex);
  turn = !me;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&mutex);
}

static void exchange(int me, int i) {
  (void)i;
  sem_post(me ? &empty : &full);
  sem_wait(me ? &full : &empty);
}

static const struct {
  const char *name;
  void (*step)(int me, int i);
} shape[] = {{"loads", loads},     {"additions", additions}, {"apart", apart},     {"yields", yields},
             {"locks", locks},     {"readers", readers},     {"posts", posts},     {"signals", signals},
             {"turns", turns},     {"exchange", exchange}};

static void (*step)(int me, int i);
static int n;

static void *run(void *me) {
  for (int i = 0; i < n; i++) step(me != NULL, i);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t t[2];
  if (argc < 3) return 2;
  for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
    if (!strcmp(argv[1], shape[i].name)) step = shape[i].step;
  n = atoi(argv[2]);
  sem_init(&full, 0, 0);
  sem_init(&empty, 0, 0);
  pthread_create(&t[0], NULL, run, NULL);
  pthread_create(&t[1], NULL, run, &n);
  pthread_join(t[0], NULL);
  pthread_join(t[1], NULL);
  return 0;
}

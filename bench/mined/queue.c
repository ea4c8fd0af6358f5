/* queue.c: an unbounded queue with a lock at each end (Michael and Scott's two-lock queue). */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <stdatomic.h>

struct node {
  int value;
  _Atomic(struct node *) next;
};
static struct node *head, *tail;
static pthread_mutex_t head_lock = PTHREAD_MUTEX_INITIALIZER, tail_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int taken;

static void enqueue(int v) {
  struct node *n = malloc(sizeof *n);
  n->value = v;
  atomic_init(&n->next, NULL);
  pthread_mutex_lock(&tail_lock);
  atomic_store(&tail->next, n);
  tail = n;
  pthread_mutex_unlock(&tail_lock);
}

static int dequeue(void) {
  pthread_mutex_lock(&head_lock);
  struct node *old = head;
  struct node *first = atomic_load(&old->next);
  if (!first) {
    pthread_mutex_unlock(&head_lock);
    return 0;
  }
  int v = first->value;
  head = first;
  pthread_mutex_unlock(&head_lock);
  free(old);
  return v;
}

static void *producer(void *p) {
  enqueue((int)(long)p);
  enqueue((int)(long)p + 1);
  return 0;
}

static void *consumer(void *p) {
  for (int i = 0; i < 2; i++) atomic_fetch_add(&taken, dequeue());
  return p;
}

int main(void) {
  pthread_t t[4];
  head = tail = calloc(1, sizeof *head);
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, producer, (void *)(10 * i + 1));
  for (long i = 0; i < 2; i++) pthread_create(&t[2 + i], 0, consumer, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  for (int v; (v = dequeue());) taken += v;
  assert(taken == 1 + 2 + 11 + 12);
}

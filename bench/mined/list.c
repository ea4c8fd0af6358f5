/* list.c: a sorted list with hand-over-hand locks. Two threads add, two remove. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct node {
  int key;
  struct node *next;
  pthread_mutex_t lock;
};
static struct node *head;

static struct node *make(int key, struct node *next) {
  struct node *n = malloc(sizeof *n);
  n->key = key;
  n->next = next;
  pthread_mutex_init(&n->lock, 0);
  return n;
}

static int add(int key) {
  struct node *before = head, *at;
  pthread_mutex_lock(&before->lock);
  at = before->next;
  pthread_mutex_lock(&at->lock);
  while (at->key < key) {
    pthread_mutex_unlock(&before->lock);
    before = at;
    at = at->next;
    pthread_mutex_lock(&at->lock);
  }
  int fresh = at->key != key;
  if (fresh) before->next = make(key, at);
  pthread_mutex_unlock(&at->lock);
  pthread_mutex_unlock(&before->lock);
  return fresh;
}

static int drop(int key) {
  struct node *before = head, *at, *gone = NULL;
  pthread_mutex_lock(&before->lock);
  at = before->next;
  pthread_mutex_lock(&at->lock);
  while (at->key < key) {
    pthread_mutex_unlock(&before->lock);
    before = at;
    at = at->next;
    pthread_mutex_lock(&at->lock);
  }
  if (at->key == key) {
    before->next = at->next;
    gone = at;
  }
  pthread_mutex_unlock(&at->lock);
  pthread_mutex_unlock(&before->lock);
  free(gone);
  return gone != NULL;
}

static int added[2], dropped[2];
static void *adder(void *p) {
  long me = (long)p;
  added[me] = add(1) + add(2 + (int)me);
  return 0;
}
static void *dropper(void *p) {
  long me = (long)p;
  dropped[me] = drop(1) + drop(2);
  return 0;
}

int main(void) {
  pthread_t t[4];
  head = make(0, make(9, NULL));
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, adder, (void *)i);
  for (long i = 0; i < 2; i++) pthread_create(&t[2 + i], 0, dropper, (void *)i);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  int n = 0;
  for (struct node *x = head->next; x->key < 9; x = x->next) n++;
  assert(n == added[0] + added[1] - dropped[0] - dropped[1]);
}

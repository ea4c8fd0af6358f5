/* tree.c: a binary search tree with a lock in each node, taken on the way down. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct node {
  pthread_mutex_t lock;
  int key, hits;
  struct node *child[2];
};
static struct node *root;

static struct node *make(int key) {
  struct node *n = calloc(1, sizeof *n);
  n->key = key;
  n->hits = 1;
  pthread_mutex_init(&n->lock, 0);
  return n;
}

static void insert(int key) {
  struct node *at = root;
  pthread_mutex_lock(&at->lock);
  for (;;) {
    if (at->key == key) {
      at->hits++;
      pthread_mutex_unlock(&at->lock);
      return;
    }
    int side = key > at->key;
    struct node *next = at->child[side];
    if (!next) {
      at->child[side] = make(key);
      pthread_mutex_unlock(&at->lock);
      return;
    }
    pthread_mutex_lock(&next->lock);
    pthread_mutex_unlock(&at->lock);
    at = next;
  }
}

static int lookup(int key) {
  struct node *at = root;
  int hits = 0;
  pthread_mutex_lock(&at->lock);
  while (at) {
    if (at->key == key) hits = at->hits;
    struct node *next = at->key == key ? NULL : at->child[key > at->key];
    if (next) pthread_mutex_lock(&next->lock);
    pthread_mutex_unlock(&at->lock);
    at = next;
  }
  return hits;
}

static void *inserter(void *p) {
  insert(2);
  insert(7);
  insert(1 + (int)(long)p);
  return 0;
}
static void *looker(void *p) {
  assert(lookup(2) >= 0 && lookup(7) >= 0);
  return p;
}

static int sum(const struct node *n) { return n ? n->hits + sum(n->child[0]) + sum(n->child[1]) : 0; }

int main(void) {
  pthread_t t[4];
  root = make(5);
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, inserter, (void *)i);
  for (int i = 0; i < 2; i++) pthread_create(&t[2 + i], 0, looker, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  assert(sum(root) == 1 + 6);
}

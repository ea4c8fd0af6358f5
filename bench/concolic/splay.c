/* splay.c: a tree that each search changes: what it finds becomes the root. Each operation is in a critical section; which branches it
 * takes depends on what the other thread has left. Nothing fails. */
#include <heddle.h>
#include <pthread.h>

#define NODES 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int root = 2, last;
static int seen[3];

static void splay(int key) {
  pthread_mutex_lock(&lock);
  int top = root;
  if (key < top) {
    seen[0] = 1;
    if (top - key > 1) last = top;
    root = key;
  } else if (key > top) {
    seen[1] = 1;
    if (last > key) root = last;
    else root = key;
  } else if (last == NODES) {
    seen[2] = 1;
  }
  pthread_mutex_unlock(&lock);
}

static void *first(void *unused) {
  (void)unused;
  splay(0);
  splay(4);
  return NULL;
}

static void *second(void *unused) {
  (void)unused;
  splay(3);
  if (last == 3) splay(1);
  if (root == 4) splay(2);
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, first, NULL);
  pthread_create(&b, NULL, second, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}

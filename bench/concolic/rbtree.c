/* rbtree.c: a red-black tree of three places, by colours alone: an insertion below a red node rotates or recolours. Both threads
 * insert; the cases they meet depend on each other. Nothing fails. */
#include <heddle.h>
#include <pthread.h>

enum { EMPTY, RED, BLACK };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int colour[3], rotations;

static void insert(int place) {
  pthread_mutex_lock(&lock);
  int top = colour[0], other = colour[3 - place], own = colour[place];
  if (top == EMPTY) {
    colour[0] = BLACK;
  } else if (own == EMPTY) {
    colour[place] = RED;
  } else if (own == RED && other == RED) {
    colour[1] = colour[2] = BLACK; /* recoloured */
  } else if (own == RED) {
    rotations = rotations + 1;
    colour[3 - place] = RED;
  } else if (other == EMPTY) {
    colour[0] = RED;
  }
  pthread_mutex_unlock(&lock);
}

static void *left(void *unused) {
  (void)unused;
  for (int i = 0; i < 2; i++) insert(1);
  if (rotations) insert(1);
  return NULL;
}

static void *right(void *unused) {
  (void)unused;
  int n = (int)hd_input_range(0, 3, "n");
  insert(2);
  if (n > 1) insert(2);
  if (colour[1] == BLACK) insert(2);
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, left, NULL);
  pthread_create(&b, NULL, right, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}

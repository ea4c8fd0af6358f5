#include <pthread.h>
#include <stdio.h>

/* A tree whose nodes are locked from the root down, but for moves between branches. */
struct node { pthread_mutex_t lock; int size; };
static struct node root, left, right;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int moves;

static void note(void) {
  pthread_mutex_lock(&log_lock);
  moves++;
  pthread_mutex_unlock(&log_lock);
}

static void insert(struct node *branch) {
  pthread_mutex_lock(&root.lock);
  root.size++;
  pthread_mutex_unlock(&root.lock);
  pthread_mutex_lock(&branch->lock);
  branch->size++;
  pthread_mutex_unlock(&branch->lock);
  note();
}

static void move(struct node *from, struct node *to) {
  pthread_mutex_lock(&from->lock); /* @first */
  if (from->size > 0) {
    pthread_mutex_lock(&to->lock); /* @second */
    from->size--;
    to->size++;
    pthread_mutex_unlock(&to->lock);
  }
  pthread_mutex_unlock(&from->lock);
  note();
}

static void *one(void *a) { insert(&left); insert(&right); move(&left, &right); return a; }
static void *two(void *a) { insert(&right); move(&right, &left); return a; }

int main(void) {
  pthread_t t[2];
  pthread_mutex_init(&root.lock, 0);
  pthread_mutex_init(&left.lock, 0);
  pthread_mutex_init(&right.lock, 0);
  pthread_create(&t[0], 0, one, 0);
  pthread_create(&t[1], 0, two, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}

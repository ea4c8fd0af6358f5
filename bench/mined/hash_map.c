/* hash_map.c: a hash map with a lock for each bucket and a count of its own. */
#include <assert.h>
#include <pthread.h>

enum { BUCKETS = 2, SLOTS = 4 };
struct bucket {
  pthread_mutex_t lock;
  int n, key[SLOTS], value[SLOTS];
};
static struct bucket map[BUCKETS];
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static int find(struct bucket *b, int key) {
  for (int i = 0; i < b->n; i++)
    if (b->key[i] == key) return i;
  return -1;
}

static void put(int key, int value) {
  struct bucket *b = &map[key % BUCKETS];
  pthread_mutex_lock(&b->lock);
  int i = find(b, key);
  if (i >= 0) {
    b->value[i] += value;
    pthread_mutex_unlock(&b->lock);
    return;
  }
  b->key[b->n] = key;
  b->value[b->n] = value;
  b->n++;
  pthread_mutex_lock(&count_lock);
  count++;
  pthread_mutex_unlock(&count_lock);
  pthread_mutex_unlock(&b->lock);
}

static int get(int key) {
  struct bucket *b = &map[key % BUCKETS];
  int v = 0;
  pthread_mutex_lock(&b->lock);
  int i = find(b, key);
  if (i >= 0) v = b->value[i];
  pthread_mutex_unlock(&b->lock);
  return v;
}

static int move(int from, int to, int value) {
  struct bucket *a = &map[from % BUCKETS], *b = &map[to % BUCKETS];
  if (a == b) return 0;
  struct bucket *first = a < b ? a : b, *second = a < b ? b : a;
  pthread_mutex_lock(&first->lock);
  pthread_mutex_lock(&second->lock);
  int i = find(a, from), k = find(b, to);
  if (i >= 0 && k >= 0) {
    a->value[i] -= value;
    b->value[k] += value;
  }
  pthread_mutex_unlock(&second->lock);
  pthread_mutex_unlock(&first->lock);
  return 1;
}

static void *writer(void *p) {
  put(1, 5);
  put(2, 7);
  return p;
}

static void *mover(void *p) {
  if (p)
    move(1, 2, 1);
  else
    move(2, 1, 1);
  return p;
}

static void *reader(void *p) {
  assert(get(1) >= -1);
  return p;
}

int main(void) {
  pthread_t t[5];
  for (int i = 0; i < BUCKETS; i++) pthread_mutex_init(&map[i].lock, 0);
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, writer, 0);
  for (long i = 0; i < 2; i++) pthread_create(&t[2 + i], 0, mover, (void *)i);
  pthread_create(&t[4], 0, reader, 0);
  for (int i = 0; i < 5; i++) pthread_join(t[i], 0);
  assert(count == 2 && get(1) + get(2) == 24);
}

/* deque.c: a work-stealing deque (Chase and Lev) of fixed size: its owner works at the bottom, two thieves at the top. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { SIZE = 8, TASKS = 3, EMPTY = -1, LOST = -2 };
static atomic_int top, bottom, task[SIZE];
static atomic_int done[TASKS];

static void push(int t) {
  int b = atomic_load(&bottom);
  atomic_store(&task[b % SIZE], t);
  atomic_store(&bottom, b + 1);
}

static int take(void) {
  int b = atomic_load(&bottom) - 1;
  atomic_store(&bottom, b);
  int t = atomic_load(&top);
  if (t > b) {
    atomic_store(&bottom, t);
    return EMPTY;
  }
  int x = atomic_load(&task[b % SIZE]);
  if (t < b) return x;
  if (!atomic_compare_exchange_strong(&top, &t, t + 1)) x = EMPTY;
  atomic_store(&bottom, b + 1);
  return x;
}

static int steal(void) {
  int t = atomic_load(&top);
  int b = atomic_load(&bottom);
  if (t >= b) return EMPTY;
  int x = atomic_load(&task[t % SIZE]);
  if (!atomic_compare_exchange_strong(&top, &t, t + 1)) return LOST;
  return x;
}

static void *owner(void *p) {
  for (int i = 0; i < TASKS; i++) push(i);
  for (int x; (x = take()) != EMPTY;) atomic_fetch_add(&done[x], 1);
  return p;
}

static void *thief(void *p) {
  for (int i = 0; i < 2; i++) {
    int x = steal();
    if (x >= 0) atomic_fetch_add(&done[x], 1);
  }
  return p;
}

int main(void) {
  pthread_t t[3];
  pthread_create(&t[0], 0, owner, 0);
  for (int i = 1; i < 3; i++) pthread_create(&t[i], 0, thief, 0);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  for (int i = 0; i < TASKS; i++) assert(done[i] == 1);
}

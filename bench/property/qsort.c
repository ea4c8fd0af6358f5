/* qsort.c NUMBERS DEPTH: a quick sort whose left halves are sorted by threads of their own, down to DEPTH; a lock counts
 * how many there are. After the program of that name in Yang (2009), table 5.1, which says no more about it. */
#include "../search/sizes.h"

enum { MAX_NUMBERS = 64 };

struct part {
  int *v, n, depth;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int numbers[MAX_NUMBERS], sorting;

static void sort(const struct part *p);

static void *sort_in_thread(void *part) {
  pthread_mutex_lock(&lock);
  sorting++;
  pthread_mutex_unlock(&lock);
  sort(part);
  pthread_mutex_lock(&lock);
  sorting--;
  pthread_mutex_unlock(&lock);
  return 0;
}

static void swap(int *a, int *b) {
  int t = *a;
  *a = *b;
  *b = t;
}

static void sort(const struct part *p) {
  if (p->n < 2) return;
  int last = p->n - 1, k = 0;
  for (int i = 0; i < last; i++)
    if (p->v[i] < p->v[last]) swap(&p->v[i], &p->v[k++]);
  swap(&p->v[k], &p->v[last]);
  struct part left = {p->v, k, p->depth - 1}, right = {p->v + k + 1, last - k, p->depth - 1};
  pthread_t t;
  if (p->depth > 0)
    pthread_create(&t, 0, sort_in_thread, &left);
  else
    sort(&left);
  sort(&right);
  if (p->depth > 0) pthread_join(t, 0);
}

MAIN {
  int n = SIZE(1, 16);
  for (int i = 0; i < n; i++) numbers[i] = i * 7 % n;
  struct part all = {numbers, n, SIZE(2, 2)};
  sort(&all);
  for (int i = 1; i < n; i++) assert(numbers[i - 1] <= numbers[i]);
  return 0;
}

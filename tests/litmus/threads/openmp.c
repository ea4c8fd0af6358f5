// OpenMP: Heddle knows what its constructs order, so a correct program has no races; unordered accesses are found.
// compilers: gcc
// cflags: -fopenmp
// expect: clean executions=20
// argv: right
// expect: kind=data-race
// argv: race
// expect: kind=data-race
// argv: nowait
// expect: kind=assertion
// argv: lost
// expect: kind=deadlock
// argv: locks
#include <omp.h>

#include "litmus.h"

static int a[8], total, lost, held;
static omp_lock_t one, two;

static int sum(int n) {
  int left, right;
  if (n < 2) return n;
#pragma omp task shared(left)
  left = sum(n - 1);
#pragma omp task shared(right)
  right = sum(n - 2);
#pragma omp taskwait
  return left + right;
}

static void right(void) {
  int s = 0, fib = 0;
#pragma omp parallel for num_threads(2) schedule(dynamic)
  for (int i = 0; i < 8; i++) a[i] = i;
  for (int i = 0; i < 8; i++) s += a[i];
  assert(s == 28);
#pragma omp parallel num_threads(2)
  {
#pragma omp for
    for (int i = 0; i < 8; i++) a[i]++;
#pragma omp single
    total = a[7];
#pragma omp critical
    total++;
#pragma omp critical(other)
    lost++;
    omp_set_lock(&one);
    held++;
    omp_unset_lock(&one);
#pragma omp barrier
    assert(total == 10);
#pragma omp for ordered schedule(static, 1)
    for (int i = 1; i < 8; i++) {
#pragma omp ordered
      a[i] = a[i - 1] + 1;
    }
#pragma omp single
    fib = sum(4);
#pragma omp sections
    {
#pragma omp section
      a[0] = 5;
#pragma omp section
      a[1] = 6;
    }
  }
  assert(fib == 3 && a[0] + a[1] == 11 && a[7] == 8);
  s = 0;
#pragma omp parallel for reduction(+ : s) num_threads(2)
  for (int i = 0; i < 8; i++) s += 1;
  assert(s == 8);
}

static void wrong(const char *how) {
#pragma omp parallel num_threads(2)
  {
    if (!strcmp(how, "race")) total++;
    if (!strcmp(how, "nowait")) {
#pragma omp for nowait
      for (int i = 0; i < 8; i++) a[i] = i;
      assert(a[7 - omp_get_thread_num() * 4] < 8);
    }
    if (!strcmp(how, "lost")) {
      int v;
#pragma omp critical
      v = lost;
#pragma omp critical
      lost = v + 1;
    }
    if (!strcmp(how, "locks")) {
      omp_lock_t *first = omp_get_thread_num() ? &one : &two, *then = omp_get_thread_num() ? &two : &one;
      omp_set_lock(first);
      omp_set_lock(then);
      omp_unset_lock(then);
      omp_unset_lock(first);
    }
  }
  assert(strcmp(how, "lost") || lost == 2);
}

int main(int argc, char **argv) {
  omp_init_lock(&one);
  omp_init_lock(&two);
  if (argc > 1 && strcmp(argv[1], "right"))
    wrong(argv[1]);
  else
    right();
  return 0;
}

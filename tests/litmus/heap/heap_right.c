// The allocator itself: every function, every size to the last byte, alignment, preserved contents, zero, NULL.
// opt: -O0 -O2
// restart: memory fork
// expect: clean executions=20
// args: --leaks
#include "litmus.h"
#include <malloc.h>

_Thread_local void *keep; /* or the compiler would leave out a malloc and its free */

static void fill(char *p, size_t n)
{
  for (size_t i = 0; i < n; i++) p[i] = (char)(i * 7);
}

static void same(const char *p, size_t n)
{
  for (size_t i = 0; i < n; i++) assert(p[i] == (char)(i * 7));
}

static __attribute__((noinline)) void *worker(void *arg)
{
  static const size_t sizes[] = {1, 7, 8, 15, 16, 17, 24, 100, 128, 1000, 4096, 9000};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t n = sizes[i];
    char *p = malloc(n);
    assert(p && (uintptr_t)p % 16 == 0 && malloc_usable_size(p) >= n);
    fill(p, n);
    p = realloc(p, n * 2);
    same(p, n);
    fill(p, n * 2);
    p = realloc(p, n);
    same(p, n);
    free(p);
    p = calloc(n, 3);
    for (size_t k = 0; k < 3 * n; k++) assert(p[k] == 0);
    free(p);
    for (size_t align = 16; align <= 4096; align *= 4) {
      void *q = aligned_alloc(align, (n + align - 1) / align * align);
      assert(q && (uintptr_t)q % align == 0);
      fill(q, n);
      free(q);
      assert(posix_memalign(&q, align, n) == 0 && (uintptr_t)q % align == 0);
      fill(q, n);
      free(q);
      q = memalign(align, n);
      assert((uintptr_t)q % align == 0);
      free(q);
    }
  }
  void *q;
  assert(posix_memalign(&q, 3, 10) == EINVAL);
  free(NULL);
  free(malloc(0));
  char *d = strdup("hello"), *e = strndup("hello", 3);
  assert(strcmp(d, "hello") == 0 && strcmp(e, "hel") == 0);
  free(d);
  free(e);
  volatile size_t huge = (size_t)-1 / 2;
  assert((keep = malloc(huge)) == NULL && errno == ENOMEM);
  assert((keep = calloc(huge, 4)) == NULL && errno == ENOMEM);
  assert(reallocarray(NULL, huge, 4) == NULL);
  d = reallocarray(NULL, 10, 10);
  fill(d, 100);
  assert(realloc(d, huge) == NULL);
  same(d, 100);
  free(d);
  q = valloc(10);
  assert((uintptr_t)q % 4096 == 0);
  free(q);
  return arg;
}

int main(void)
{
  both(worker, worker);
  return 0;
}

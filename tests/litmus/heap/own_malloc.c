// A program with a malloc of its own, which the loader and libc use too, before anything is ready: it calls libc, and reads
// the thread pointer in assembly.
// expect: clean
// opt: -O0 -O2
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char room[1 << 20];
static size_t used;
static int limit;

static void *self(void) {
  void *p;
  size_t offset = 0;
  __asm__("movq %%fs:%1, %0" : "=r"(p) : "m"(*(void **)offset) :);
  return p;
}

static void *take(size_t align, size_t n) {
  char text[32];
  if (!limit) {
    snprintf(text, sizeof text, "%d", getenv("NO_SUCH_VARIABLE") ? 1 : (int)sizeof room);
    limit = atoi(text);
  }
  size_t at = __atomic_load_n(&used, __ATOMIC_SEQ_CST);
  size_t from;
  do from = (at + 16 + align - 1) / align * align;
  while (!__atomic_compare_exchange_n(&used, &at, from + n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  assert(self() && from + n <= (size_t)limit);
  memcpy(room + from - sizeof n, &n, sizeof n);
  return room + from;
}

void *malloc(size_t n) { return take(16, n); }
void *memalign(size_t align, size_t n) { return take(align < 16 ? 16 : align, n); }
void *aligned_alloc(size_t align, size_t n) { return memalign(align, n); }
void *calloc(size_t n, size_t size) { return take(16, n * size); } /* never used before */
void free(void *p) { (void)p; }
void *realloc(void *p, size_t n) {
  size_t old = 0;
  char *to = take(16, n);
  if (p) memcpy(&old, (char *)p - sizeof old, sizeof old);
  if (p) memcpy(to, p, old < n ? old : n);
  return to;
}

static void *box[2];
static void *work(void *arg) {
  *(void **)arg = malloc(40);
  return arg;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, NULL, work, &box[0]);
  work(&box[1]);
  pthread_join(t, NULL);
  assert(box[0] && box[1] && box[0] != box[1]);
  return 0;
}

/* apache.c: threads of a server that serve a request each. They let go of a cached object, and whoever sees that it was the last one
 * frees it; the count is read apart from its decrement. VARIANT 1: they look it up before. VARIANT 2: they append a line to a log
 * buffer; its end may move while that is done. */
#include <assert.h>
#include <heddle.h>
#include <pthread.h>

#ifndef VARIANT
#define VARIANT 1
#endif
#define ROOM 8

static _Atomic int users = 1, freed, end;

static void release(int size) {
  if (size <= 0 || size > 100) return;
  users = users - 1;
  if (users == 0) freed = freed + 1;
}

/* Returns where the line begins; -1: there is no room. */
static int append(int n) {
  int at = end;
  if (n < 1 || at + n > ROOM) return -1;
  end = at + n;
  return at;
}

static void *serve(void *unused) {
  (void)unused;
  int size = (int)hd_input_range(-5, 200, "size");
#if VARIANT == 1
  if (size == 42) assert(!freed); /* a lookup of what was freed */
  release(size);
  if (freed == 2) return NULL;
#else
  int at = append(size);
  if (at >= 0 && end < at + size) assert(!freed); /* the line was cut, and the object is gone */
  release(size);
  if (at > 4) return NULL;
#endif
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, serve, NULL);
  pthread_create(&b, NULL, serve, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}

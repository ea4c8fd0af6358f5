/* bluetooth.c: a thread that adds a request to a driver, and one that stops it. The increment may come after the check. */
#include <assert.h>
#include <heddle.h>
#include <pthread.h>
#include <stdbool.h>

static _Atomic int pending = 1;
static _Atomic bool stopping, event, stopped;

static int io_increment(void) {
  if (stopping) return -1;
  pending++;
  return 0;
}

static void io_decrement(void) {
  if (--pending == 0) event = true;
}

static void *add(void *unused) {
  (void)unused;
  if (io_increment() == 0) assert(!stopped);
  io_decrement();
  return NULL;
}

static void *stop(void *unused) {
  (void)unused;
  stopping = true;
  io_decrement();
  if (event) stopped = true;
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, add, NULL);
  pthread_create(&b, NULL, stop, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}

/* addall.c: a vector is filled from another one, whose count is read twice: the space is checked with the first count, and
 * the second one may be larger. */
#include <assert.h>
#include <heddle.h>
#include <pthread.h>

#define SIZE 20

struct vector {
  pthread_mutex_t lock;
  _Atomic int count;
};
static struct vector u = {PTHREAD_MUTEX_INITIALIZER, 0}, v = {PTHREAD_MUTEX_INITIALIZER, 10};

static void *append(void *unused) { /* u to v */
  (void)unused;
  pthread_mutex_lock(&v.lock);
  int n = u.count;
  if (v.count + n <= SIZE) {
    int added = v.count + u.count;
    assert(added <= SIZE);
    v.count = added;
  }
  pthread_mutex_unlock(&v.lock);
  return NULL;
}

static void *grow(void *unused) {
  (void)unused;
  long n = hd_input_range(0, 10, "n");
  pthread_mutex_lock(&u.lock);
  u.count = u.count + (int)n;
  pthread_mutex_unlock(&u.lock);
  return NULL;
}

int main(void) {
  pthread_t a, b, c;
  u.count = 5;
  pthread_create(&a, NULL, append, NULL);
  pthread_create(&b, NULL, grow, NULL);
  pthread_create(&c, NULL, grow, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  pthread_join(c, NULL);
  return 0;
}

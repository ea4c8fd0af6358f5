// A key of thread-specific data that one thread creates while others use keys.
// expect: kind=data-race
// argv: late
// native: no
// expect: kind=assertion
// argv: deleted
// native: no
// expect: exact executions=2
// argv: numbers
// expect: exact executions=1
// argv: early
#include <threads.h>

#include "litmus.h"

static pthread_key_t key = 77, other;
static int first;

static void *user(void *how)
{
  if (!strcmp(how, "numbers")) {
    pthread_key_create(&other, NULL);
    return NULL;
  }
  static _Thread_local tss_t own;
  tss_create(&own, NULL);
  tss_set(own, how);
  assert(tss_get(own) == how);
  pthread_key_t k = !strcmp(how, "deleted") ? peek(&key) : key;
  int e = pthread_setspecific(k, &key);
  assert(!e);
  return pthread_getspecific(k);
}

int main(int argc, char **argv)
{
  (void)argc;
  const char *how = argv[1];
  if (!strcmp(how, "early") || !strcmp(how, "deleted")) pthread_key_create(&key, NULL);
  pthread_t t = spawn(user, argv[1]);
  if (!strcmp(how, "late")) pthread_key_create(&key, NULL);
  if (!strcmp(how, "deleted")) pthread_key_delete(peek(&key));
  if (!strcmp(how, "numbers")) pthread_key_create(&key, NULL);
  join(t);
  first = !strcmp(how, "numbers") && key < other;
  return 0;
}

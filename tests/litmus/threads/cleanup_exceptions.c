// The same with -fexceptions, where the handlers run by unwinding; __attribute__((cleanup)) too.
// cflags: -fexceptions
// opt: -O0 -O2
// restart: memory fork
// expect: clean executions=200
#include "litmus.h"

static char order[16];

static void note(void *arg) { strcat(order, arg); }
static void note_variable(const char **v) { strcat(order, *v); }

static void inner(void)
{
  const char *v __attribute__((cleanup(note_variable))) = "v";
  pthread_cleanup_push(note, "a");
  pthread_exit((void *)7L);
  pthread_cleanup_pop(0);
}

static void *worker(void *arg)
{
  pthread_cleanup_push(note, "c");
  inner();
  pthread_cleanup_pop(0);
  return arg;
}

int main(void)
{
  void *result;
  pthread_t t = spawn(worker, NULL);
  assert(pthread_join(t, &result) == 0 && result == (void *)7L);
  assert(strcmp(order, "avc") == 0);
  return 0;
}

// A handler for everything that does not rethrow a cancellation, or pthread_exit: libc ends the process.
// expect: kind=abort
// argv: cancel
// says: not rethrown
// expect: kind=abort
// argv: exit
// says: not rethrown
// expect: exact executions=4
// argv: rethrow
#include <pthread.h>

#include <cstring>

static const char *what;

static void *worker(void *arg)
{
  try {
    if (!std::strcmp(what, "exit")) pthread_exit(nullptr);
    pthread_testcancel();
  } catch (...) {
    if (!std::strcmp(what, "rethrow")) throw;
  }
  return arg;
}

int main(int argc, char **argv)
{
  what = argc > 1 ? argv[1] : "rethrow";
  pthread_t t;
  pthread_create(&t, nullptr, worker, nullptr);
  pthread_cancel(t);
  pthread_join(t, nullptr);
  return 0;
}

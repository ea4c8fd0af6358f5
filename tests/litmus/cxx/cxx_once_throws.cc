// A once-routine that throws leaves the flag for the next caller, whichever way it is called.
// restart: memory fork
// cflags: -std=c++17
// expect: exact executions=2
#include <pthread.h>

#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>

static std::once_flag flag;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static std::atomic<int> tries, made;

static void init()
{
  if (tries++ % 2 == 0) throw 1;
  made++;
}

static void again()
{
  try {
    std::call_once(flag, init);
  } catch (int) {
    std::call_once(flag, init);
  }
}

static void plainly()
{
  try {
    pthread_once(&once, init);
  } catch (int) {
  }
}

int main()
{
  again();
  assert(made == 1);
  tries = 0;
  std::thread other(plainly);
  plainly();
  other.join();
  assert(made == 2);
  again();
  assert(made == 2);
  return 0;
}

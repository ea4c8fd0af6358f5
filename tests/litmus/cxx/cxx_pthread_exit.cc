// pthread_exit in C++ unwinds: destructors run, and catch (...) sees it and must rethrow.
// opt: -O0 -O2
// restart: memory fork
// expect: clean executions=100
#include <atomic>
#include <cassert>
#include <pthread.h>

static std::atomic<int> steps{0};

struct Guard {
  ~Guard() { steps++; }
};

static void *worker(void *)
{
  Guard outer;
  try {
    Guard inner;
    pthread_exit(reinterpret_cast<void *>(3));
  } catch (...) {
    steps += 10;
    throw;
  }
}

int main()
{
  pthread_t t;
  void *result;
  pthread_create(&t, nullptr, worker, nullptr);
  pthread_join(t, &result);
  assert(result == reinterpret_cast<void *>(3) && steps == 12);
  return 0;
}

// std::call_once, recursive_mutex, scoped_lock.
// restart: memory fork
// cflags: -std=c++17
// expect: clean executions=200
#include <cassert>
#include <mutex>
#include <thread>

static std::once_flag flag;
static std::recursive_mutex again;
static std::mutex x, y;
static int made, both;

static void worker(bool swap)
{
  std::call_once(flag, [] { made++; });
  assert(made == 1);
  std::lock_guard<std::recursive_mutex> one(again), two(again);
  if (swap) {
    std::scoped_lock hold(x, y);
    both++;
  } else {
    std::scoped_lock hold(y, x);
    both++;
  }
}

int main()
{
  std::thread a(worker, true), b(worker, false);
  a.join();
  b.join();
  assert(both == 2);
  return 0;
}

// std::thread, mutex, lock_guard and atomic, used correctly.
// opt: -O0 -O2
// restart: memory fork
// expect: clean executions=200
// args: --leaks
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex lock;
static std::vector<int> list;
static std::atomic<int> total{0};

static void worker(int from)
{
  for (int i = 0; i < 3; i++) {
    std::lock_guard<std::mutex> hold(lock);
    list.push_back(from + i);
    total += i;
  }
}

int main()
{
  std::thread a(worker, 10), b([] { worker(20); });
  a.join();
  b.join();
  assert(list.size() == 6 && total == 6);
  return 0;
}

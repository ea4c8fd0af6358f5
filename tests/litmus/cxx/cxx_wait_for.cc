// Timed waits of the standard library end.
// restart: memory fork
// expect: clean executions=200
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::timed_mutex timed;
static std::condition_variable changed;

int main()
{
  std::thread a([] {
    std::unique_lock<std::mutex> hold(lock);
    assert(!changed.wait_for(hold, std::chrono::milliseconds(20), [] { return false; }));
    auto until = std::chrono::system_clock::now() + std::chrono::milliseconds(20);
    assert(changed.wait_until(hold, until) == std::cv_status::timeout);
  });
  std::thread b([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::yield();
    if (timed.try_lock_for(std::chrono::milliseconds(5))) timed.unlock();
  });
  a.join();
  b.join();
  return 0;
}

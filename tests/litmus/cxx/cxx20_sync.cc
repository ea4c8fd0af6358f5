// C++20 facilities built on futexes: waiting on atomics, latches, barriers, semaphores; and futures.
// cflags: -std=c++20
// compilers: gcc clang
// expect: clean executions=100
// args: --strategy random
// expect: kind=assertion
// argv: latch
// expect: kind=data-race
// argv: future
// expect: kind=lost-wakeup|deadlock
// argv: notify
// libstdc++ 12 loses a wake-up (docs/real-programs.md)
// expect: kind=lost-wakeup
// argv: semaphore
#include <atomic>
#include <barrier>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>

static int value;

static void atomics(bool notify)
{
  std::atomic<int> flag{0};
  std::thread t([&] {
    flag.wait(0);
    assert(value == 1);
  });
  value = 1;
  flag.store(1);
  if (notify) flag.notify_one();
  t.join();
  value = 0;
}

static void latches(bool early)
{
  std::latch done(early ? 1 : 2);
  std::atomic<int> n{0};
  std::thread a([&] { n++; done.count_down(); }), b([&] { n++; done.count_down(early ? 0 : 1); });
  done.wait();
  assert(n == 2);
  a.join();
  b.join();
}

static void barriers()
{
  int cell[2] = {0, 0}, rounds = 0;
  std::barrier sync(2, [&]() noexcept { rounds++; });
  auto work = [&](int me) {
    cell[me] = 1;
    sync.arrive_and_wait();
    assert(cell[1 - me] == 1);
  };
  std::thread a(work, 0), b(work, 1);
  a.join();
  b.join();
  assert(rounds == 1);
}

static void semaphores()
{
  std::counting_semaphore<4> items(0);
  std::binary_semaphore mine(1);
  int n = 0;
  auto work = [&] {
    mine.acquire();
    n++;
    mine.release();
    items.release();
  };
  std::thread a(work), b(work);
  items.acquire();
  items.acquire();
  assert(n == 2);
  a.join();
  b.join();
}

static void futures(bool racy)
{
  std::promise<int> p;
  std::future<int> f = p.get_future();
  std::thread t([&] {
    value = 7;
    p.set_value(3);
    if (racy) value = 8;
  });
  assert(f.get() == 3);
  assert(value == 7 || racy);
  t.join();
  value = 0;
  auto a = std::async(std::launch::async, [] { return 20; });
  auto b = std::async(std::launch::async, [] { return 22; });
  assert(a.get() + b.get() == 42);
}

static void others()
{
  std::shared_mutex shared;
  std::once_flag once;
  std::condition_variable_any cv;
  std::mutex m;
  int n = 0, inits = 0;
  bool go = false;
  std::jthread stopper([&](std::stop_token stop) {
    std::unique_lock<std::mutex> l(m);
    cv.wait(l, stop, [&] { return go; });
  });
  std::thread r([&] { std::shared_lock<std::shared_mutex> l(shared); std::call_once(once, [&] { inits++; }); });
  std::thread w([&] { std::unique_lock<std::shared_mutex> l(shared); n++; std::call_once(once, [&] { inits++; }); });
  r.join();
  w.join();
  assert(n == 1 && inits == 1);
  std::timed_mutex tm;
  tm.lock();
  std::thread late([&] { assert(!tm.try_lock_for(std::chrono::milliseconds(10))); });
  late.join();
  tm.unlock();
}

int main(int argc, char **argv)
{
  const char *what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "notify")) atomics(false);
  if (!strcmp(what, "latch")) latches(true);
  if (!strcmp(what, "future")) futures(true);
  if (!strcmp(what, "semaphore")) semaphores();
  if (argc > 1) return 0;
  atomics(true);
  latches(false);
  barriers();
  futures(false);
  others();
  return 0;
}

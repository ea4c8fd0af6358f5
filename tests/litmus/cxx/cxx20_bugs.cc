// The typical bug with each facility of cxx20_sync.cc, which uses them correctly.
// cflags: -std=c++20
// native: no
// expect: kind=lost-wakeup|deadlock
// argv: barrier
// expect: kind=lost-wakeup|deadlock
// argv: semaphore
// expect: kind=data-race
// argv: shared_mutex
// where: function=write line=@write
// expect: kind=lost-wakeup|deadlock
// argv: condition_variable_any
// expect: kind=data-race
// argv: call_once
// expect: kind=lost-wakeup|deadlock
// argv: jthread
// expect: kind=uncaught-exception
// argv: promise
// says: std::future_error
#include <barrier>
#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <thread>

static int value;
static std::shared_mutex shared;

/* One more was to come. */
static void barriers()
{
  std::barrier sync(3);
  std::thread a([&] { sync.arrive_and_wait(); }), b([&] { sync.arrive_and_wait(); });
  a.join();
  b.join();
}

/* Two are wanted, one is given. */
static void semaphores()
{
  std::counting_semaphore<2> items(0);
  std::thread a([&] { items.release(); });
  items.acquire();
  items.acquire();
  a.join();
}

__attribute__((noinline)) static void write()
{
  value++; // @write
}

static void shared_mutexes()
{
  auto change = [] { std::shared_lock<std::shared_mutex> l(shared); write(); };
  std::thread a(change), b(change);
  a.join();
  b.join();
}

/* Who comes too late is not told again. */
static void conditions()
{
  std::condition_variable_any cv;
  std::mutex m;
  std::thread a([&] { cv.notify_one(); });
  {
    std::unique_lock<std::mutex> l(m);
    cv.wait(l);
  }
  a.join();
}

static void once()
{
  static std::once_flag flag;
  std::thread a([] { std::call_once(flag, [] { value = 1; }); });
  int seen = value;
  a.join();
  value += seen;
}

/* Its destructor asks it to stop and waits; it does not listen. */
static void jthreads()
{
  std::condition_variable_any cv;
  std::mutex m;
  std::jthread t([&](std::stop_token stop) {
    std::unique_lock<std::mutex> l(m);
    while (!stop.stop_requested()) cv.wait(l);
  });
}

/* Both keep the promise. */
static void promises()
{
  std::promise<int> p;
  std::thread a([&] { p.set_value(1); }), b([&] { p.set_value(2); });
  value = p.get_future().get();
  a.join();
  b.join();
}

int main(int argc, char **argv)
{
  const char *what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "barrier")) barriers();
  if (!strcmp(what, "semaphore")) semaphores();
  if (!strcmp(what, "shared_mutex")) shared_mutexes();
  if (!strcmp(what, "condition_variable_any")) conditions();
  if (!strcmp(what, "call_once")) once();
  if (!strcmp(what, "jthread")) jthreads();
  if (!strcmp(what, "promise")) promises();
  return 0;
}

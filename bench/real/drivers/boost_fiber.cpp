// Boost.Context: a fiber of one thread is continued by another one. Boost tells ThreadSanitizer about each switch.
#include <boost/context/fiber.hpp>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

namespace ctx = boost::context;
static std::mutex lock;
static std::condition_variable ready;
static ctx::fiber handed;
static bool there;
static int steps;

int main(int argc, char **argv) {
  bool careless = argc > 1 && !strcmp(argv[1], "careless");
  ctx::fiber f([](ctx::fiber &&back) {
    steps++;
    back = std::move(back).resume();
    steps++; /* on the other thread */
    return std::move(back);
  });
  std::thread t([&] {
    std::unique_lock<std::mutex> held(lock);
    ready.wait(held, [] { return there; });
    held.unlock();
    handed = std::move(handed).resume();
  });
  f = std::move(f).resume();
  {
    std::lock_guard<std::mutex> held(lock);
    handed = std::move(f);
    there = true;
  }
  ready.notify_one();
  if (careless) steps++; /* the fiber may be running: a race */
  t.join();
  return steps == (careless ? 3 : 2) && !handed ? 0 : 1;
}

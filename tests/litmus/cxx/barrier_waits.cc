// The standard barrier and semaphore look several times before they wait: that costs no executions.
// expect: clean executions=200
// argv: barrier
// cflags: -std=c++20
// expect: clean executions=20
// argv: semaphore
// cflags: -std=c++20
#include <barrier>
#include <cassert>
#include <cstring>
#include <semaphore>
#include <thread>

static int phases;

int main(int argc, char **argv) {
  if (argc > 1 && !std::strcmp(argv[1], "semaphore")) {
    std::binary_semaphore s(0);
    std::thread t([&] { s.release(); });
    while (!s.try_acquire()) {}
    t.join();
    return 0;
  }
  std::barrier b(2, []() noexcept { phases++; });
  std::thread t([&] {
    b.arrive_and_wait();
    b.arrive_and_wait();
  });
  b.arrive_and_wait();
  assert(phases == 1);
  b.arrive_and_wait();
  assert(phases == 2);
  t.join();
}

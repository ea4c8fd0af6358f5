// Exceptions thrown and caught inside threads, through frames with destructors, while others run.
// opt: -O0 -O2
// restart: memory fork
// expect: clean executions=200
// args: --leaks
#include <cassert>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

struct Guard {
  int *n;
  ~Guard() { ++*n; }
};

static void thrower(int depth, int *n)
{
  Guard g{n};
  std::this_thread::yield();
  if (depth == 0) throw std::runtime_error("at the bottom");
  thrower(depth - 1, n);
}

static void worker()
{
  int n = 0;
  for (int i = 0; i < 2; i++) {
    try {
      thrower(3, &n);
      assert(!"not thrown");
    } catch (const std::exception &e) {
      std::this_thread::yield();
      assert(std::string(e.what()) == "at the bottom");
    }
  }
  assert(n == 8 && std::uncaught_exceptions() == 0);
}

int main()
{
  std::thread a(worker), b(worker);
  worker();
  a.join();
  b.join();
  return 0;
}

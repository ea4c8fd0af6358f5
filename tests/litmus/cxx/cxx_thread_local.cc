// thread_local objects: constructed on first use in each thread, destroyed when it ends.
// opt: -O0 -O2
// restart: memory fork
// expect: clean executions=200
// args: --leaks
#include <atomic>
#include <cassert>
#include <string>
#include <thread>

static std::atomic<int> built{0}, destroyed{0};

struct Counter {
  int n = 0;
  std::string text = "a text that is too long for the small buffer";
  Counter() { built++; }
  ~Counter() { destroyed++; }
};

static thread_local Counter counter;

static void worker()
{
  for (int i = 0; i < 3; i++) {
    counter.n++;
    std::this_thread::yield();
  }
  assert(counter.n == 3 && counter.text.size() > 20);
}

int main()
{
  std::thread a(worker), b(worker), c([] {});
  a.join();
  b.join();
  c.join();
  assert(built == 2 && destroyed == 2);
  return 0;
}

// Copies of one shared_ptr in several threads: the count is correct, the object is destroyed once.
// opt: -O0 -O2
// expect: clean executions=200
// args: --leaks
#include <atomic>
#include <cassert>
#include <memory>
#include <thread>

static std::atomic<int> gone{0};

struct Thing {
  int value = 5;
  ~Thing() { gone++; }
};

int main()
{
  auto p = std::make_shared<Thing>();
  std::weak_ptr<Thing> w = p;
  std::thread a([p] { assert(p->value == 5); });
  std::thread b([w] {
    if (auto q = w.lock()) assert(q->value == 5);
  });
  p.reset();
  a.join();
  b.join();
  assert(gone == 1 && w.expired());
  return 0;
}

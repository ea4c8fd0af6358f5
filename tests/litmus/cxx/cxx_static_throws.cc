// An initialiser that throws leaves the static for the next caller.
// restart: memory fork
// expect: clean executions=300
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<int> tries{0}, made{0};

struct Thing {
  int value;
  Thing() : value(7)
  {
    if (tries++ == 0) throw 1;
    made++;
  }
};

static int get()
{
  try {
    static Thing it;
    return it.value;
  } catch (int) {
    return 0;
  }
}

int main()
{
  int x = 0, y = 0;
  std::thread a([&] { x = get(); }), b([&] { y = get(); });
  a.join();
  b.join();
  assert(x + y == 7 && get() == 7 && made == 1);
  return 0;
}

// The initialiser of a static local runs once; a second caller waits for it and sees its effects.
// opt: -O0 -O2
// restart: memory fork
// expect: clean executions=300
#include <cassert>
#include <thread>

static int made;

struct Thing {
  int value;
  Thing()
  {
    made++;
    std::this_thread::yield();
    value = 42;
  }
};

static Thing &thing()
{
  static Thing it;
  return it;
}

int main()
{
  std::thread a([] { assert(thing().value == 42); }), b([] { assert(thing().value == 42); });
  a.join();
  b.join();
  assert(made == 1);
  return 0;
}

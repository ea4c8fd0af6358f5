// A pipeline of std::async, explored completely; and one whose stages share data that they should hand over.
// cflags: -std=c++17
// expect: clean executions=1
// args: --strategy optimal
// expect: clean executions=100
// args: --strategy random
// expect: kind=data-race
// argv: shared
#include <cassert>
#include <future>

static int parts;

int main(int argc, char **)
{
  bool shared = argc > 1;
  auto first = std::async(std::launch::async, [=] {
    if (shared) parts++;
    return 20;
  });
  auto second = std::async(std::launch::async, [&, shared] {
    if (shared) parts++;
    return first.get() + 1;
  });
  assert(second.get() * 2 == 42);
  return 0;
}

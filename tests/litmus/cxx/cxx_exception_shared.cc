// An exception that several threads handle: who gives up the last share frees it, after all others have read it.
// cflags: -std=c++17
// opt: -O0 -O2
// expect: exact executions=40 dfs=no
// expect: kind=data-race
// argv: shared
#include <cassert>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

static bool shared;
struct Problem {
  int number;
  std::string text = "a text that is too long for the small buffer";
};

static int handle(std::exception_ptr p)
{
  int n = 0;
  try {
    std::rethrow_exception(std::move(p));
  } catch (Problem &e) {
    n = e.number + (int)e.text.size();
    if (shared) e.number++;
  }
  return n;
}

int main(int argc, char **)
{
  shared = argc > 1;
  auto p = std::make_exception_ptr(Problem{7});
  std::thread a([p]() mutable { handle(std::move(p)); });
  std::thread b([p = std::move(p)]() mutable { handle(std::move(p)); });
  a.detach();
  b.join();
  return 0;
}

// A pipeline of std::async: two stages wait for the same promise, a third combines their results, and a fourth fails
// with an exception that is rethrown where the result is used. Wrong: two stages count in an unprotected variable;
// the promise is never kept; the exception is not caught.
// cflags: -std=c++17
// expect: exact executions=234 dfs=no
// expect: kind=data-race
// argv: count
// where: line=@count
// expect: kind=lost-wakeup
// argv: promise
// expect: kind=uncaught-exception
// argv: throw
#include <cassert>
#include <future>
#include <stdexcept>
#include <string>

static int counted;

static int stage(std::shared_future<int> from, int n, bool count)
{
  int v = from.get();
  if (count) counted++; /* @count */
  return v + n;
}

static int only_41(int n)
{
  if (n != 41) throw std::runtime_error("not 41");
  return n;
}

int main(int argc, char **argv)
{
  std::string wrong = argc > 1 ? argv[1] : "";
  std::promise<int> source;
  std::shared_future<int> from = source.get_future().share();
  auto a = std::async(std::launch::async, stage, from, 1, wrong == "count");
  auto b = std::async(std::launch::async, stage, from, 2, wrong == "count");
  if (wrong != "promise") source.set_value(20);
  auto sum = std::async(std::launch::async, [&] { return a.get() + b.get(); });
  auto refused = std::async(std::launch::async, only_41, sum.get());
  if (wrong == "throw") return refused.get();
  try {
    refused.get();
    assert(false);
  } catch (const std::runtime_error &) {
  }
  return 0;
}

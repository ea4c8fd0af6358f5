// What the shared library of C++ reads and writes for std::to_chars, std::from_chars and pools of memory.
// cflags: -std=c++17
// expect: kind=data-race
// argv: to
// expect: kind=data-race
// argv: from
// expect: kind=data-race
// argv: value
// expect: kind=data-race
// argv: pool
// expect: clean
// argv: own
#include "litmus.h"
#include <charconv>
#include <memory_resource>
#include <thread>

static char text[64] = "1.5 ";
static double value;
static const char *what;

static int is(const char *name) { return !strcmp(what, name); }

static void convert(char *from, char *to, double *v)
{
  auto r = std::from_chars(from, from + 3, *v);
  assert(r.ec == std::errc() && *v == 1.5);
  auto w = std::to_chars(to, to + 32, *v);
  assert(w.ec == std::errc() && w.ptr == to + 3);
}

int main(int argc, char **argv)
{
  if (argc < 2) return 0;
  what = argv[1];
  std::pmr::unsynchronized_pool_resource pool;
  std::thread t([&] {
    char mine[64] = "1.5", out[64];
    double v;
    if (is("to")) convert(mine, text, &v);
    if (is("from")) convert(text, out, &v);
    if (is("value")) convert(mine, out, &value);
    if (is("own")) convert(mine, out, &v);
    if (is("pool")) pool.deallocate(pool.allocate(16), 16);
  });
  char mine[64] = "1.5", out[64];
  double v = 0;
  if (is("to")) v = text[1];
  if (is("from")) text[2] = '5';
  if (is("value")) v = value;
  if (is("own")) convert(mine, out, &v), text[3] = '5';
  if (is("pool")) pool.deallocate(pool.allocate(16), 16);
  t.join();
  return v < 0;
}

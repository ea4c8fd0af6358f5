// new, new[], aligned new and their deletes, and a use after delete.
// cflags: -std=c++17
// expect: clean executions=100
// args: --leaks
// expect: kind=use-after-free
// argv: bad
// where: function=worker line=@bad
#include <cassert>
#include <cstdint>
#include <new>
#include <thread>

struct alignas(64) Wide {
  char c[100];
};

__attribute__((noinline)) static int worker(bool bad)
{
  int *one = new int(3), *many = new int[10]();
  Wide *wide = new Wide;
  assert(*one == 3 && many[9] == 0 && reinterpret_cast<std::uintptr_t>(wide) % 64 == 0);
  int *volatile kept = one;
  delete one;
  delete[] many;
  delete wide;
  return bad ? *kept : 0; /* @bad */
}

int main(int argc, char **)
{
  std::thread a(worker, argc > 1), b(worker, false);
  a.join();
  b.join();
  return 0;
}

// operator new counts as a write to its block: what is published without order races with it.
// cflags: -std=c++17
// native: no
// expect: kind=data-race
// argv: one
// expect: kind=data-race
// argv: many
// expect: kind=data-race
// argv: wide
// expect: kind=data-race
// argv: nothrow
// expect: exact executions=2
// argv: ordered
#include <atomic>
#include <cstring>
#include <new>
#include <thread>

struct alignas(64) Wide {
  char c[100];
};

static std::atomic<char *> published;
static const char *how;

static bool is(const char *s) { return std::strcmp(how, s) == 0; }

static void make()
{
  void *p = is("many") ? new char[10] : is("wide") ? new Wide : is("nothrow") ? new (std::nothrow) int : (void *)new int;
  published.store(static_cast<char *>(p), is("ordered") ? std::memory_order_release : std::memory_order_relaxed);
}

static void use()
{
  char *p = published.load(std::memory_order_acquire);
  if (p) *static_cast<volatile char *>(p) = 1;
}

int main(int argc, char **argv)
{
  how = argv[argc - 1];
  std::thread a(make), b(use);
  a.join();
  b.join();
  return 0;
}

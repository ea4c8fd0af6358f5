// The ways in which an exception ends the program, each in the schedule in which the other thread was faster. The type
// and what it says are told, and where it was thrown, however far the stack was unwound since.
// opt: -O0 -O2
// native: no
// expect: kind=uncaught-exception
// argv: noexcept
// says: uncaught exception: std::out_of_range: vector::_M_range_check
// says: it reached a noexcept function
// expect: kind=uncaught-exception
// argv: deep
// says: uncaught exception: std::runtime_error: deep
// says: it reached a noexcept function
// where: line=@deep
// expect: kind=uncaught-exception
// argv: int
// says: uncaught exception: int
// where: line=@int
// expect: kind=uncaught-exception
// argv: bases
// says: uncaught exception: Both: of two
// where: line=@bases
// expect: kind=uncaught-exception
// argv: again
// says: uncaught exception: std::runtime_error: once more
// says: T2 threw it
// where: line=@first role=thrown
// where: line=@again role=at
// expect: kind=uncaught-exception
// argv: async
// says: uncaught exception: std::logic_error: from afar
// says: T2.1 threw it
// where: line=@afar role=thrown
// expect: kind=uncaught-exception
// argv: handler
// says: uncaught exception: std::runtime_error: handled
// expect: kind=uncaught-exception
// argv: pthread
// says: uncaught exception: Both: of two
// expect: kind=uncaught-exception
// argv: what
// says: uncaught exception: int
// where: line=@what
// expect: kind=abort
// argv: terminate
// says: std::terminate was called without an active exception
// where: line=@terminate
// expect: clean executions=100
// argv: quits
// expect: clean executions=100
// argv: nothing
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <future>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::atomic<int> state{0};

struct Base {
  int padding = 1;
  virtual ~Base() {}
};
struct Both : Base, virtual std::logic_error {
  Both() : std::logic_error("of two") {}
};
struct Talks : std::exception {
  const char *what() const noexcept override { throw 1; } // @what
};

static std::string name() { return "a string too long to be kept inside of the object"; }

static void never_throws(std::vector<int> &v) noexcept
{
  std::string guard = name();
  v.at(9) = (int)guard.size();
}

static void deep(int n)
{
  std::string guard = name();
  if (n == 0) throw std::runtime_error("deep"); // @deep
  deep(n - 1);
}

static void calls_deep() noexcept { deep(3); }

__attribute__((noinline)) static void terminate()
{
  std::terminate(); // @terminate
}

static void again()
{
  try {
    throw std::runtime_error("once more"); // @first
  } catch (const std::exception &) {
    std::string guard = name();
    throw; // @again
  }
}

static void *by_pthread(void *) { throw Both(); }

static void fail(const char *how)
{
  auto is = [how](const char *s) { return strcmp(how, s) == 0; };
  std::vector<int> v(3);
  if (is("noexcept")) never_throws(v);
  if (is("deep")) calls_deep();
  if (is("int")) throw 5;        // @int
  if (is("bases")) throw Both(); // @bases
  if (is("again")) again();
  if (is("async"))
    std::async(std::launch::async, [] { throw std::logic_error("from afar"); }).get(); // @afar
  if (is("handler") || is("quits")) throw std::runtime_error("handled");
  if (is("what")) throw Talks();
  if (is("terminate")) terminate();
  if (is("pthread")) {
    pthread_t t;
    pthread_create(&t, nullptr, by_pthread, nullptr);
    pthread_join(t, nullptr);
  }
}

int main(int argc, char **argv)
{
  const char *how = argc > 1 ? argv[1] : "nothing";
  if (strcmp(how, "handler") == 0) std::set_terminate([] { std::abort(); });
  if (strcmp(how, "quits") == 0) std::set_terminate([] { std::_Exit(0); });
  std::thread a([] { state = 1; });
  std::thread b([how] {
    if (state == 1) fail(how);
  });
  a.join();
  b.join();
  return 0;
}

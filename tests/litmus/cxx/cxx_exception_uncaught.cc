// An exception that is not caught, in one schedule.
// expect: kind=uncaught-exception
// says: uncaught exception: std::runtime_error: too late
// where: line=@throw
#include <atomic>
#include <stdexcept>
#include <thread>

static std::atomic<int> state{0};

int main()
{
  std::thread a([] { state = 1; });
  std::thread b([] {
    if (state == 1) throw std::runtime_error("too late"); // @throw
  });
  a.join();
  b.join();
  return 0;
}

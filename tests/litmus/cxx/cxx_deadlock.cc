// Two std::mutex in two orders.
// expect: kind=deadlock
// where: role=waits thread=T1
// where: role=waits thread=T2
#include <mutex>
#include <thread>

static std::mutex x, y;

int main()
{
  std::thread a([] {
    std::lock_guard<std::mutex> one(x);
    std::lock_guard<std::mutex> two(y);
  });
  std::thread b([] {
    std::lock_guard<std::mutex> one(y);
    std::lock_guard<std::mutex> two(x);
  });
  a.join();
  b.join();
  return 0;
}

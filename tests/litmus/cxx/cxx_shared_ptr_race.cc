// The shared_ptr itself, assigned in one thread and copied in another.
// expect: kind=data-race|use-after-free|crash
#include <memory>
#include <thread>

static std::shared_ptr<int> p = std::make_shared<int>(1);

int main()
{
  std::thread a([] { p = std::make_shared<int>(2); });
  std::thread b([] {
    std::shared_ptr<int> q = p;
    if (*q == 7) std::this_thread::yield();
  });
  a.join();
  b.join();
  return 0;
}

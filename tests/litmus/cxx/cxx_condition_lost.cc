// notify before wait, without a predicate.
// expect: kind=lost-wakeup
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::condition_variable changed;

int main()
{
  std::thread waiter([] {
    std::unique_lock<std::mutex> hold(lock);
    changed.wait(hold);
  });
  std::thread notifier([] { changed.notify_one(); });
  waiter.join();
  notifier.join();
  return 0;
}

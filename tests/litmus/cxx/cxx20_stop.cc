// A worker waits on a condition_variable_any until there is work or a stop is requested: nothing is lost. Wrong: the
// stop flag is a plain variable, read without the lock.
// cflags: -std=c++20
// expect: clean executions=300
// expect: kind=data-race
// argv: flag
// where: line=@flag
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <thread>

static std::shared_mutex lock;
static std::condition_variable_any more;
static int items, taken;
static bool over;

static void work(std::stop_token stop, bool plain)
{
  for (;;) {
    if (plain && over) return; /* @flag */
    std::unique_lock hold(lock);
    if (!more.wait(hold, stop, [] { return items > 0; })) return;
    items--;
    taken++;
  }
}

int main(int argc, char **)
{
  bool plain = argc > 1;
  {
    std::jthread worker(work, plain);
    {
      std::unique_lock hold(lock);
      items = 1;
    }
    more.notify_one();
    if (plain) over = true;
  }
  std::shared_lock hold(lock);
  assert(items + taken == 1);
  return 0;
}

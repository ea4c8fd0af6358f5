// A thread pool that returns futures. Wrong: it is stopped while a task is queued, whose promise is then broken; two
// tasks deadlock on recursive locks.
// expect: clean executions=300
// args: --strategy random
// expect: kind=uncaught-exception
// argv: early
// says: std::future_error
// expect: kind=deadlock
// argv: order
#include <cassert>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

class Pool {
  std::mutex m;
  std::condition_variable cv;
  std::deque<std::function<void()>> queue;
  bool stop = false, early;
  std::vector<std::thread> workers;

  void work()
  {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock<std::mutex> l(m);
        cv.wait(l, [this] { return stop || !queue.empty(); });
        if (queue.empty() || (early && stop)) return;
        task = std::move(queue.front());
        queue.pop_front();
      }
      task();
    }
  }

public:
  Pool(int n, bool early_) : early(early_)
  {
    for (int i = 0; i < n; i++) workers.emplace_back([this] { work(); });
  }
  template <class F> auto submit(F f) -> std::future<decltype(f())>
  {
    auto task = std::make_shared<std::packaged_task<decltype(f())()>>(std::move(f));
    auto result = task->get_future();
    {
      std::lock_guard<std::mutex> l(m);
      queue.emplace_back([task] { (*task)(); });
    }
    cv.notify_one();
    return result;
  }
  void end()
  {
    {
      std::lock_guard<std::mutex> l(m);
      stop = true;
    }
    cv.notify_all();
    for (auto &w : workers) w.join();
    queue.clear();
  }
};

static std::recursive_mutex x, y;

static int both(std::recursive_mutex &a, std::recursive_mutex &b)
{
  std::lock_guard<std::recursive_mutex> l(a), again(a), k(b);
  return 1;
}

int main(int argc, char **argv)
{
  const char *how = argc > 1 ? argv[1] : "";
  bool order = !strcmp(how, "order");
  Pool pool(2, !strcmp(how, "early"));
  auto a = pool.submit([] { return both(x, y); });
  auto b = pool.submit([order] { return order ? both(y, x) : both(x, y); });
  auto c = pool.submit([]() -> int { throw std::runtime_error("told by the future"); });
  if (!strcmp(how, "early")) pool.end();
  assert(a.get() + b.get() == 2);
  try {
    c.get();
    assert(!"not thrown");
  } catch (const std::runtime_error &) {
  }
  if (strcmp(how, "early")) pool.end();
  return 0;
}

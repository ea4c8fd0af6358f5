// A bounded queue of std::condition_variable, with predicates.
// opt: -O0 -O2
// restart: memory fork
// expect: clean executions=200
// args: --spurious --leaks
#include <cassert>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

struct Queue {
  std::mutex lock;
  std::condition_variable changed;
  std::deque<int> items;

  void put(int v)
  {
    std::unique_lock<std::mutex> hold(lock);
    changed.wait(hold, [this] { return items.size() < 2; });
    items.push_back(v);
    changed.notify_all();
  }
  int get()
  {
    std::unique_lock<std::mutex> hold(lock);
    changed.wait(hold, [this] { return !items.empty(); });
    int v = items.front();
    items.pop_front();
    changed.notify_all();
    return v;
  }
};

int main()
{
  Queue q;
  int sum = 0;
  std::thread producer([&] {
    for (int i = 1; i <= 4; i++) q.put(i);
  });
  std::thread consumer([&] {
    for (int i = 1; i <= 4; i++) sum += q.get();
  });
  producer.join();
  consumer.join();
  assert(sum == 10);
  return 0;
}

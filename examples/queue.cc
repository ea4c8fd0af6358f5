// queue.cc: a queue in C++ that checks and takes in two steps.
//
// empty() and pop() each hold the lock, but between them another thread can take the last element:
// pop() of an empty std::deque. Every access is locked, so no race detector complains; only the right
// schedule shows it.
//
//   heddle c++ -g queue.cc -o queue && heddle check -- ./queue
#include <cassert>
#include <deque>
#include <mutex>
#include <thread>

class Queue {
 public:
  void push(int v)
  {
    std::lock_guard<std::mutex> hold(lock_);
    items_.push_back(v);
  }
  bool empty()
  {
    std::lock_guard<std::mutex> hold(lock_);
    return items_.empty();
  }
  int pop()
  {
    std::lock_guard<std::mutex> hold(lock_);
    assert(!items_.empty());
    int v = items_.front();
    items_.pop_front();
    return v;
  }

 private:
  std::mutex lock_;
  std::deque<int> items_;
};

int main()
{
  Queue queue;
  queue.push(1);
  auto drain = [&] {
    while (!queue.empty()) queue.pop();
  };
  std::thread a(drain), b(drain);
  a.join();
  b.join();
  return 0;
}

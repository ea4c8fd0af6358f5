#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

// A bounded buffer with one condition for both: waking one thread may wake the wrong one.
class Buffer {
 public:
  void put(int v) {
    std::unique_lock<std::mutex> hold(lock_);
    while (items_.size() == 1) changed_.wait(hold);
    items_.push_back(v);
    changed_.notify_one(); // @one
  }
  int get() {
    std::unique_lock<std::mutex> hold(lock_);
    while (items_.empty()) changed_.wait(hold); // @wait
    int v = items_.back();
    items_.pop_back();
    changed_.notify_one();
    return v;
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<int> items_;
};

int main() {
  Buffer b;
  std::thread a([&] { b.get(); }), c([&] { b.get(); });
  std::thread d([&] { b.put(1); }), e([&] { b.put(2); });
  a.join(), c.join(), d.join(), e.join();
}

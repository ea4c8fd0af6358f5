#include <map>
#include <mutex>
#include <string>
#include <thread>

// Counters by name; reading one takes no lock.
class Stats {
 public:
  void add(const char *name, int n) {
    std::lock_guard<std::mutex> hold(lock_);
    total_ += n; // @write
    by_name_[name] += n;
  }
  int total() const { return total_; } // @read

 private:
  mutable std::mutex lock_;
  std::map<std::string, int> by_name_;
  int total_ = 0;
};

int main() {
  Stats stats;
  int last = 0;
  std::thread worker([&stats] { stats.add("requests", 1); stats.add("errors", 2); });
  std::thread monitor([&stats, &last] { last = stats.total(); });
  worker.join();
  monitor.join();
  return last > 3;
}

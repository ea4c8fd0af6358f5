// account.cc: accounts with std::lock_guard, a condition variable for those that wait for money, and an atomic log.
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>

struct account {
  std::mutex lock;
  std::condition_variable more;
  int balance = 0;
};
static account a, b;
static std::atomic<int> transfers{0};

static void deposit(account &x, int v) {
  std::lock_guard<std::mutex> g(x.lock);
  x.balance += v;
  x.more.notify_all();
}

static bool withdraw(account &x, int v) {
  std::lock_guard<std::mutex> g(x.lock);
  if (x.balance < v) return false;
  x.balance -= v;
  return true;
}

static void collect(account &x, int v) {
  std::unique_lock<std::mutex> g(x.lock);
  while (x.balance < v) x.more.wait(g);
  x.balance -= v;
}

static void transfer(account &from, account &to, int v) {
  if (!withdraw(from, v)) return;
  deposit(to, v);
  transfers.fetch_add(1);
}

int main() {
  a.balance = 4;
  std::thread t1([] { transfer(a, b, 3); });
  std::thread t2([] { transfer(a, b, 3); });
  std::thread t3([] { collect(b, 2); });
  t1.join();
  t2.join();
  t3.join();
  assert(transfers == 1 && a.balance == 1 && b.balance == 1);
}

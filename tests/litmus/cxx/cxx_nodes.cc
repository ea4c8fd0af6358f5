// std::list, std::map and std::set, whose nodes are linked by functions of libstdc++'s shared library. With a lock
// every operation is correct; without one, or with a lock for reading, two threads race.
// opt: -O0 -O2
// cflags: -std=c++17
// expect: clean executions=50
// args: --strategy random
// expect: kind=data-race
// argv: list
// expect: kind=data-race
// argv: map
// expect: kind=data-race
// argv: walk
#include <algorithm>
#include <cassert>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <thread>
#include <vector>

static std::shared_mutex lock;
static std::list<int> queue{1, 2, 3};
static std::map<int, int> map{{10, 1}};
static volatile int seen;

__attribute__((noinline)) static void splice()
{
  std::shared_lock<std::shared_mutex> l(lock); /* it changes the list: not enough */
  queue.splice(queue.begin(), queue, std::prev(queue.end()));
}
__attribute__((noinline)) static void insert(int n)
{
  map.emplace(n, n);
}
__attribute__((noinline)) static int walk()
{
  int sum = 0;
  for (auto &p : map) sum += p.first;
  return sum;
}

/* Everything there is, compared with vectors. */
static void lists()
{
  std::list<int> a, b;
  std::vector<int> v;
  for (int i = 0; i < 20; i++) {
    a.push_back(i * 7 % 20);
    v.push_back(i * 7 % 20);
  }
  a.reverse();
  std::reverse(v.begin(), v.end());
  a.sort();
  std::sort(v.begin(), v.end());
  a.swap(b);
  assert(a.empty() && std::equal(b.begin(), b.end(), v.begin(), v.end()));
  a.swap(b);
  b.push_back(99);
  a.swap(b);
  assert(a.size() == 1 && a.front() == 99 && b.size() == 20 && b.back() == 19);
  a.splice(a.begin(), b);
  assert(b.empty() && a.size() == 21 && a.back() == 99 && *std::prev(a.end(), 2) == 19);
  a.remove_if([](int n) { return n % 2; });
  assert(a.size() == 10 && a.front() == 0 && a.back() == 18);
}
static void trees()
{
  std::set<int> s;
  std::vector<int> v;
  unsigned x = 1;
  for (int i = 0; i < 300; i++) {
    x = x * 1103515245 + 12345;
    int n = x >> 16 & 63;
    if (i % 3 == 2) {
      assert(s.erase(n) == (size_t)(std::find(v.begin(), v.end(), n) != v.end()));
      v.erase(std::remove(v.begin(), v.end(), n), v.end());
    } else if (s.insert(n).second) {
      v.push_back(n);
    }
    std::sort(v.begin(), v.end());
    assert(std::equal(s.begin(), s.end(), v.begin(), v.end()));
    assert(std::equal(s.rbegin(), s.rend(), v.rbegin(), v.rend()));
  }
  while (!s.empty()) s.erase(x % 2 ? s.begin() : std::prev(s.end())), x /= 2;
}

int main(int argc, char **argv)
{
  const char *how = argc > 1 ? argv[1] : "right";
  auto work = [how](int n) {
    if (!strcmp(how, "list")) return splice();
    if (!strcmp(how, "map")) return insert(n);
    if (!strcmp(how, "walk")) return n == 1 ? insert(n) : (void)(seen = walk());
    std::unique_lock<std::shared_mutex> l(lock);
    queue.splice(queue.begin(), queue, std::prev(queue.end()));
    insert(n);
    insert(n + 5);
    assert(walk() >= 10 && map.erase(n) == 1);
  };
  if (argc == 1) lists(), trees();
  std::thread a(work, 1), b(work, 2);
  a.join();
  b.join();
  if (argc == 1) assert(map.size() == 3 && walk() == 23 && queue.size() == 3);
  return 0;
}

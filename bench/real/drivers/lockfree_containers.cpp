// Boost.Lockfree: queue, stack and the ring for one producer and one consumer, each with two threads.
#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/spsc_queue.hpp>
#include <boost/lockfree/stack.hpp>
#include <cstring>
#include <thread>

template <class Container> static int both(Container &c) {
  int mine = 0, sum = 0, v;
  std::thread t([&] {
    int w;
    c.push(1);
    if (c.pop(w)) mine = w;
  });
  c.push(2);
  if (c.pop(v)) sum = v;
  t.join();
  while (c.pop(v)) sum += v;
  return sum + mine;
}

int main(int argc, char **argv) {
  const char *which = argc > 1 ? argv[1] : "queue";
  if (!strcmp(which, "queue")) {
    boost::lockfree::queue<int, boost::lockfree::fixed_sized<true>> q(4);
    return both(q) == 3 ? 0 : 1;
  }
  if (!strcmp(which, "stack")) {
    boost::lockfree::stack<int, boost::lockfree::fixed_sized<true>> s(4);
    return both(s) == 3 ? 0 : 1;
  }
  boost::lockfree::spsc_queue<int, boost::lockfree::capacity<2>> ring;
  int sum = 0, v;
  std::thread t([&] {
    for (int i = 1; i < 4;) i += ring.push(i);
  });
  for (int n = 0; n < 3;)
    if (ring.pop(v)) n++, sum += v;
  t.join();
  return sum == 6 ? 0 : 1;
}

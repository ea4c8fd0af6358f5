// push_back from two threads: a race, or its consequences.
// expect: kind=data-race|use-after-free|double-free|crash
#include <thread>
#include <vector>

static std::vector<int> list;

static void worker()
{
  for (int i = 0; i < 5; i++) list.push_back(i);
}

int main()
{
  std::thread a(worker), b(worker);
  a.join();
  b.join();
  return 0;
}

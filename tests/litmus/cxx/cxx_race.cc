// The same without the lock.
// expect: kind=data-race
// where: function=add role=at
// where: function=add role=previous
#include <thread>

int counter;

__attribute__((noinline)) static void add(int n) { counter += n; }

int main()
{
  std::thread a(add, 1), b(add, 2);
  a.join();
  b.join();
  return counter == 0;
}

// A std::thread destroyed while it is joinable: std::terminate.
// native: no
// expect: kind=abort
// says: std::terminate was called without an active exception
#include <thread>

int main()
{
  std::thread t([] {});
  return 0;
}

// A std::thread destroyed while it is joinable: std::terminate.
// native: no
// expect: kind=abort
#include <thread>

int main()
{
  std::thread t([] {});
  return 0;
}

// A virtual call while the destructor runs in another thread.
// opt: -O0
// expect: kind=data-race|use-after-free|abort
#include <thread>

struct Base {
  virtual ~Base() {}
  virtual void run() {}
};
struct Derived : Base {
  ~Derived() override {}
  void run() override {}
};

int main()
{
  Base *object = new Derived;
  std::thread a([object] { object->run(); });
  delete object;
  a.join();
  return 0;
}

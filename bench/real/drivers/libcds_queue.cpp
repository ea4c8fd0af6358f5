// libcds: a lock-free queue and a lock-free stack with hazard pointers, used by two threads.
#include <cds/container/msqueue.h>
#include <cds/container/treiber_stack.h>
#include <cds/gc/hp.h>
#include <cds/init.h>
#include <cstring>
#include <thread>

template <class Container> static int use() {
  Container c;
  int sum = 0, mine = 0;
  std::thread t([&] {
    cds::threading::Manager::attachThread();
    int v;
    c.push(1);
    if (c.pop(v)) mine = v;
    cds::threading::Manager::detachThread();
  });
  c.push(2);
  int v;
  if (c.pop(v)) sum = v;
  t.join();
  while (c.pop(v)) sum += v;
  return sum + mine;
}

int main(int argc, char **argv) {
  cds::Initialize();
  int sum;
  {
    cds::gc::HP hazards(3, 2, 4); /* as few pointers as the containers need */
    cds::threading::Manager::attachThread();
    sum = argc > 1 && !strcmp(argv[1], "stack") ? use<cds::container::TreiberStack<cds::gc::HP, int>>()
                                                 : use<cds::container::MSQueue<cds::gc::HP, int>>();
    cds::threading::Manager::detachThread();
  }
  cds::Terminate();
  return sum == 3 ? 0 : 1;
}

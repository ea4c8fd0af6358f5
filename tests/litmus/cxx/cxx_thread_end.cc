// What libstdc++ does when a thread ends, in code without hooks: futures become ready after the destructors of thread_local
// objects, conditions are notified, destructors of thread-specific data run. All of it orders memory.
// cflags: -std=c++17
// opt: -O0 -O2
// expect: exact executions=141 dfs=no
// argv: promise
// expect: exact executions=5
// argv: void
// expect: exact executions=15 dfs=no
// argv: task
// expect: exact executions=10
// argv: exception
// expect: exact executions=2
// argv: condition
// expect: exact executions=1
// argv: key
// expect: exact executions=2 states=2
// argv: asked
// expect: kind=data-race
// argv: early
#include <cassert>
#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>
#include <pthread.h>
#include <stdexcept>
#include <thread>

extern "C" void hd_rt_observe(unsigned long value);

static int data, local;
struct Ends {
  int alive = 1;
  ~Ends() { local = 1; }
};
static thread_local Ends ends;

static void by_promise()
{
  std::promise<int> p;
  auto f = p.get_future();
  std::thread([&p] { ends.alive = 2; data = 1; p.set_value_at_thread_exit(7); data = 2; }).detach();
  assert(f.get() == 7 && data == 2 && local == 1);
}

static void by_promise_of_nothing()
{
  std::promise<void> p;
  auto f = p.get_future().share();
  std::thread t([&p] { data = 1; p.set_value_at_thread_exit(); data = 2; });
  f.wait();
  assert(data == 2);
  t.join();
}

static void by_task()
{
  std::packaged_task<int(int)> task([](int n) { return n + 1; });
  auto f = task.get_future();
  std::thread t([](std::packaged_task<int(int)> own) { ends.alive = 2; own.make_ready_at_thread_exit(1); data = 3; },
                std::move(task));
  assert(f.get() == 2 && data == 3 && local == 1);
  t.join();
}

static void by_exception()
{
  std::promise<int> p;
  auto f = p.get_future();
  std::thread t([&p] { p.set_exception_at_thread_exit(std::make_exception_ptr(5)); data = 1; });
  try {
    f.get();
    assert(false);
  } catch (int n) {
    assert(n == 5 && data == 1);
  }
  t.join();
}

static std::mutex m;
static std::condition_variable c;
static bool done;
static void by_condition()
{
  std::thread t([] {
    std::unique_lock<std::mutex> lock(m);
    ends.alive = 2;
    done = true;
    std::notify_all_at_thread_exit(c, std::move(lock));
  });
  std::unique_lock<std::mutex> lock(m);
  while (!done) c.wait(lock);
  assert(local == 1);
  lock.unlock();
  t.join();
}

static pthread_key_t key;
static void *with_key(void *p)
{
  pthread_setspecific(key, p);
  data = 1;
  return p;
}
static void by_key()
{
  pthread_t t;
  pthread_key_create(&key, [](void *p) { *(int *)p += data; });
  int n = 1;
  pthread_create(&t, nullptr, with_key, &n);
  pthread_join(t, nullptr);
  assert(n == 2);
}

static void by_asking()
{
  std::promise<int> p;
  auto f = p.get_future();
  std::thread t([&p] { p.set_value_at_thread_exit(7); });
  hd_rt_observe(f.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
  t.join();
}

static void too_early()
{
  std::promise<int> p;
  auto f = p.get_future();
  std::thread t([&p] { ends.alive = 2; p.set_value(7); });
  f.get();
  data = local;
  t.join();
}

int main(int, char **argv)
{
  const struct {
    const char *name;
    void (*run)();
  } all[] = {{"promise", by_promise}, {"void", by_promise_of_nothing}, {"task", by_task},
             {"exception", by_exception}, {"condition", by_condition}, {"key", by_key},
             {"asked", by_asking}, {"early", too_early}};
  for (auto &a : all)
    if (argv[1] && !strcmp(a.name, argv[1])) a.run();
  return 0;
}

/* Abseil's synchronisation, which is annotated for ThreadSanitizer: "await": a mutex with conditions; "readers": readers and a
 * writer; "careless": a deliberate bug of ours, readers that write; else a counter and a notification. */
#include <cstdlib>
#include <cstring>
#include <thread>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

static absl::Mutex mutex;
static int n, plain;

static void must(bool good) {
  if (!good) abort();
}

static bool is_one(int *p) { return *p == 1; }
static bool is_two(int *p) { return *p == 2; }

static void await() {
  std::thread a([] {
    mutex.LockWhen(absl::Condition(is_one, &n));
    n = 2;
    mutex.Unlock();
  });
  {
    absl::MutexLock l(&mutex);
    n = 1;
  }
  {
    absl::MutexLock l(&mutex);
    mutex.Await(absl::Condition(is_two, &n));
  }
  a.join();
}

static void read(bool writes) {
  absl::ReaderMutexLock l(&mutex);
  must(n >= 0);
  if (writes) n++;
}

static void readers(bool careless) {
  std::thread a([=] { read(careless); }), b([=] {
    if (careless) return read(true);
    absl::WriterMutexLock l(&mutex);
    n++;
  });
  read(false);
  a.join();
  b.join();
}

static void count() {
  absl::Notification done;
  absl::BlockingCounter counter(2);
  auto work = [&] {
    {
      absl::MutexLock l(&mutex);
      n++;
    }
    counter.DecrementCount();
  };
  std::thread a(work), b(work), c([&] {
    counter.Wait();
    plain = 1;
    done.Notify();
  });
  done.WaitForNotification();
  must(plain == 1);
  a.join();
  b.join();
  c.join();
  must(n == 2);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "count";
  if (!strcmp(what, "await"))
    await();
  else if (!strcmp(what, "count"))
    count();
  else
    readers(!strcmp(what, "careless"));
}

/* constructors.c: locks that the program takes before main and holds in main. Runs in the tested process.
 *
 * Constructors run before the search, with libc's own functions. What they hold at the end is released there, and the first
 * thread takes it again, in the same order, as the first thing that it does in every execution. */
#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/wrap/wrap.h"

#define HOLDS 256

static struct hold {
  enum hd_constructed kind;
  void *lock;
  uint64_t pc;
} holds[HOLDS];
static unsigned nholds;
static bool over;

static bool before_main(void) { return rt.ctl && !rt.callback && !rt.child && !over; }

int hd__constructor_takes(enum hd_constructed kind, void *lock, int result, uint64_t pc) {
  if (result || !before_main()) return result;
  if (nholds == HOLDS) hd__fail(HD_RTE_ENVIRONMENT, pc, "more than 256 locks are held before main");
  holds[nholds++] = (struct hold){kind, lock, pc};
  return result;
}

int hd__constructor_gives(const void *lock, int result) {
  if (!before_main()) return result;
  unsigned i = nholds;
  while (i && holds[i - 1].lock != lock) i--;
  if (i)
    for (nholds--; i <= nholds; i++) holds[i - 1] = holds[i];
  return result;
}

void hd__constructors_over(void) {
  over = true;
  for (unsigned i = nholds; i--;) {
    void *lock = holds[i].lock;
    switch (holds[i].kind) {
      case HD_CONSTRUCTED_MUTEX: real_pthread_mutex_unlock(lock); break;
      case HD_CONSTRUCTED_READER:
      case HD_CONSTRUCTED_WRITER: real_pthread_rwlock_unlock(lock); break;
      case HD_CONSTRUCTED_SPIN: real_pthread_spin_unlock(lock); break;
      case HD_CONSTRUCTED_STREAM: real_funlockfile(lock); break;
    }
  }
}

void hd__constructors_locks(void) {
  for (unsigned i = 0; i < nholds; i++) {
    void *lock = holds[i].lock;
    uint64_t pc = holds[i].pc;
    switch (holds[i].kind) {
      case HD_CONSTRUCTED_MUTEX: hd__mutex_lock(lock, pc); break;
      case HD_CONSTRUCTED_READER: hd__rwlock_lock(lock, false, pc); break;
      case HD_CONSTRUCTED_WRITER: hd__rwlock_lock(lock, true, pc); break;
      case HD_CONSTRUCTED_SPIN: hd__spinlock_lock(lock, pc); break;
      case HD_CONSTRUCTED_STREAM: hd__stream_lock(lock, pc); break;
    }
  }
}

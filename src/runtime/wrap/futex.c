/* futex.c: futexes, called through syscall() or by hand. Runs in the tested process.
 *
 * Hand-written locks use them, and C++ implements waiting for atomics, latches, barriers, semaphores and futures
 * with them. A wait is two steps. FWAIT reads the word and queues the thread atomically. FRETURN comes when it was
 * woken. The word is visible memory from then on, so that every change of it is ordered with that read. Which
 * waiters are woken is a choice, if not all are. Waiting orders nothing for the race detector: what the program does with
 * the word does.
 *
 * libc's internal locks use futexes by hand, with a system call instruction of their own: a thread that was
 * preempted in popen holds one. Such a call is an operation only when it waits, or wakes a waiter. Accesses to the
 * word are not seen, so the search is not exact then. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <unistd.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/modules.h"
#include "runtime/core/objects.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/symbolic/symbolic.h"
#include "runtime/wrap/wrap.h"

static struct hd_obj *object(const uint32_t *word) {
  struct hd_obj *o = hd__obj((uint64_t)word | HD_APART_FUTEX, HD_OBJ_FUTEX);
  o->addr = (uint64_t)word;
  return o;
}

#define AGAIN 1 /* a handler with SA_RESTART ran */

static long wait_once(uint32_t *word, uint32_t value, uint32_t bits, const struct hd_until *until,
                      uint64_t pc) {
  struct hd_thread *t = rt.cur;
  hd__block_check((uint64_t)word, 4, 0, pc);
  if (!bits || (until && hd__bad_time(until->at))) return -EINVAL;
  hd__shadow_show((uint64_t)word, 4);
  hd__point_open(HD_OP_FWAIT, (uint64_t)word, 4, pc);
  bool changed = *word != value;
  hd__event(changed ? HD_EV_FAILED : 0);
  if (changed) return -EAGAIN;
  struct hd_obj *o = object(word);
  bool any_time = until && hd__gives_up(until->clock, until->at, pc);
  t->op = (struct hd_op){
      .kind = any_time ? HD_OP_CTIMEOUT : HD_OP_FRETURN, .thread = t->id, .object = (uint64_t)word, .pc = pc};
  t->wait.bits = bits;
  hd__enqueue(o, t);
  if (!any_time) hd__disable(t);
  if (until && !any_time) hd__deadline_set(t, until->clock, until->at);
  hd__step();
  while (hd__interrupted()) { /* if it was woken before that, it returns all the same */
    if (t->sig.blocked && t->sig.restarts && !until) return AGAIN;
    if (t->sig.blocked || t->op.kind == HD_OP_CTIMEOUT) return -EINTR;
    hd__step();
  }
  if (t->op.kind == HD_OP_CTIMEOUT) { /* it was not woken */
    hd__event(0);
    hd__early(true, until->clock, until->at);
    t->timer.expired = false;
    hd__dequeue(o, t);
    return -ETIMEDOUT;
  }
  hd__deadline_clear(t);
  bool late = t->timer.expired;
  t->timer.expired = false;
  hd__event(late ? HD_EV_FAILED : 0);
  return late ? -ETIMEDOUT : 0;
}

static long wait(uint32_t *word, uint32_t value, uint32_t bits, const struct hd_until *until, uint64_t pc) {
  long r;
  do r = wait_once(word, value, bits, until, pc);
  while (r == AGAIN);
  return r;
}

static void wake_one(struct hd_obj *o, struct hd_thread *t) {
  if (t->vc.time < rt.cur->vc.time) t->vc.time = rt.cur->vc.time; /* it is not woken before that */
  hd__dequeue(o, t);
  hd__deadline_clear(t);
  t->timer.expired = false;
  t->op.kind = HD_OP_FRETURN;
  hd__enable(t);
}

/* The k-th waiter that listens to one of the bits, NULL if there are fewer. */
static struct hd_thread *listener(const struct hd_obj *o, uint32_t bits, unsigned k) {
  for (unsigned i = 0; i < o->nqueue; i++) {
    struct hd_thread *t = hd__waiter(o, i);
    if (t->wait.bits & bits && k-- == 0) return t;
  }
  return NULL;
}

#define SUBSETS 1000 /* of the waiters that are tried */
#define NAMED 64     /* threads that fit into the operation */

/* n of m, at most SUBSETS + 1. */
static unsigned subsets(unsigned m, unsigned n) {
  uint64_t c = 1;
  if (n > m - n) n = m - n;
  for (unsigned i = 1; i <= n && c <= SUBSETS; i++) c = c * (m - n + i) / i;
  return c > SUBSETS ? SUBSETS + 1 : (unsigned)c;
}

/* The k-th set of n of those m waiters that listen, in the order of their numbers. */
static uint64_t subset(const struct hd_obj *o, uint32_t bits, unsigned m, unsigned n, unsigned k) {
  uint64_t set = 0;
  for (unsigned i = 0; n; i++, m--) {
    unsigned with = subsets(m - 1, n - 1); /* those that contain the next one come first */
    if (k < with) {
      set |= 1ull << listener(o, bits, i)->id;
      n--;
    } else {
      k -= with;
    }
  }
  return set;
}

/* Wakes more than one, but perhaps not all of them. */
static long wake_some(uint32_t *word, unsigned n, uint32_t bits, uint64_t pc) {
  hd__point_open(HD_OP_FWAKESOME, (uint64_t)word, 0, pc);
  struct hd_obj *o = object(word);
  unsigned all = 0;
  while (listener(o, bits, all)) all++;
  if (n > all) n = all;
  unsigned of = subsets(all, n);
  if (of > SUBSETS) hd__inexact(HD_INEXACT_FUTEX_BITS, pc);
  uint64_t set = subset(o, bits, all, n, hd__choose(of > SUBSETS ? SUBSETS : of));
  rt.cur->op.wake.count = n;
  rt.cur->op.wake.set = set;
  for (unsigned i = 0; i < NAMED; i++)
    if (set >> i & 1) rt.cur->op.wake.late |= hd__late_waiter(&rt.thread[i]);
  hd__event(0);
  if (!n) o->signals++;
  for (unsigned i = 0; i < NAMED; i++)
    if (set >> i & 1) wake_one(o, &rt.thread[i]);
  return n;
}

/* Wakes up to n; returns how many. */
static long wake(uint32_t *word, long n, uint32_t bits, uint64_t pc) {
  if (!bits) return -EINVAL;
  if (n <= 0) return 0;
  bool surely_all = n >= HD_MAX_THREADS && bits == ~0u;
  if (n > 1 && !surely_all && rt.nthreads <= NAMED)
    return wake_some(word, n < NAMED ? (unsigned)n : NAMED, bits, pc);
  hd__point_open(n == 1 ? HD_OP_FWAKE : HD_OP_FWAKEALL, (uint64_t)word, 0, pc);
  struct hd_obj *o = object(word);
  unsigned all = 0;
  while (listener(o, bits, all)) all++;
  if (n > 1 && (all != o->nqueue || n < (long)all))
    hd__inexact(HD_INEXACT_FUTEX_BITS, pc); /* the search takes it for a wake of all */
  struct hd_thread *one = n == 1 && all ? listener(o, bits, hd__choose(all)) : NULL;
  if (n == 1)
    rt.cur->op.wake.thread = one ? one->id + 1u : 0;
  else
    rt.cur->op.wake.count = all;
  rt.cur->op.wake.late = hd__late_waiter(one);
  for (unsigned i = 0; n > 1 && i < all; i++) rt.cur->op.wake.late |= hd__late_waiter(listener(o, bits, i));
  hd__event(0);
  if (!all) o->signals++;
  if (one) wake_one(o, one);
  if (n == 1) return one != NULL;
  while ((one = listener(o, bits, 0))) wake_one(o, one);
  return n < (long)all ? n : (long)all;
}

/* The kernel wakes one also when none is asked for. */
static long at_least_one(long n) { return n < 1 ? 1 : n; }

/* Wakes n waiters of one word, and moves up to m more to the other. */
static long requeue(uint32_t *from, long n, long m, uint32_t *to, uint64_t pc) {
  long woken = wake(from, n, ~0u, pc), moved = 0;
  struct hd_obj *o = object(from), *p = object(to);
  if (woken < 0) return woken;
  /* The search does not know where they wait now; without a wake it does not even know of the operation. */
  if (o->nqueue || n <= 0) hd__inexact(HD_INEXACT_FUTEX_REQUEUE, pc);
  for (; moved < m && o->nqueue; moved++) {
    struct hd_thread *t = o->queue;
    hd__dequeue(o, t);
    t->op.object = hd__canonical((uint64_t)to);
    hd__enqueue(p, t);
  }
  return woken + moved;
}

/* Changes a second word, and wakes waiters there too if its old value compares as requested. */
static long wake_op(uint32_t *word, long n, uint32_t *second, long m, uint32_t code, uint64_t pc) {
  uint32_t op = code >> 28 & 7, cmp = code >> 24 & 15;
  int32_t arg = (int32_t)(code << 8) >> 20, with = (int32_t)(code << 20) >> 20;
  if (code >> 31) arg = 1 << (arg & 31);
  hd__access_slow((uint64_t)second, 4, HD_A_ATOMIC | HD_A_WRITE | HD_A_RMW, pc);
  int32_t old = (int32_t)*second;
  switch (op) {
    case FUTEX_OP_SET: *second = (uint32_t)arg; break;
    case FUTEX_OP_ADD: *second = (uint32_t)old + (uint32_t)arg; break;
    case FUTEX_OP_OR: *second = (uint32_t)(old | arg); break;
    case FUTEX_OP_ANDN: *second = (uint32_t)(old & ~arg); break;
    case FUTEX_OP_XOR: *second = (uint32_t)(old ^ arg); break;
    default: return -ENOSYS;
  }
  bool also;
  switch (cmp) {
    case FUTEX_OP_CMP_EQ: also = old == with; break;
    case FUTEX_OP_CMP_NE: also = old != with; break;
    case FUTEX_OP_CMP_LT: also = old < with; break;
    case FUTEX_OP_CMP_LE: also = old <= with; break;
    case FUTEX_OP_CMP_GT: also = old > with; break;
    case FUTEX_OP_CMP_GE: also = old >= with; break;
    default: return -ENOSYS;
  }
  long woken = wake(word, n, ~0u, pc);
  return also ? woken + wake(second, m, ~0u, pc) : woken;
}

/* The word of a priority-inheritance lock names its holder. As with mutexes, the schedule and not priorities
 * decides who gets it next: it is released first, and a waiter is woken to retry. A thread that has to wait marks
 * the word, so that no unlock misses a woken waiter. */
static long lock_pi(uint32_t *word, bool may_wait, const struct hd_until *until, uint64_t pc) {
  uint32_t me = (uint32_t)hd__tid(rt.cur);
  for (;;) {
    hd__access_slow((uint64_t)word, 4, HD_A_ATOMIC | HD_A_WRITE | HD_A_RMW, pc);
    hd__acquire(&hd__obj((uint64_t)word, HD_OBJ_MEMORY)->vc);
    uint32_t others = object(word)->nqueue ? FUTEX_WAITERS : 0;
    if (!(*word & FUTEX_TID_MASK)) {
      *word = me | others;
      return 0;
    }
    if ((*word & FUTEX_TID_MASK) == me) return -EDEADLK;
    if (!may_wait) return -EAGAIN;
    *word |= FUTEX_WAITERS;
    if (wait(word, *word, ~0u, until, pc) == -ETIMEDOUT) return -ETIMEDOUT;
  }
}

static long unlock_pi(uint32_t *word, uint64_t pc) {
  hd__access_slow((uint64_t)word, 4, HD_A_ATOMIC | HD_A_WRITE | HD_A_RMW, pc);
  if ((*word & FUTEX_TID_MASK) != (uint32_t)hd__tid(rt.cur)) return -EPERM;
  hd__release(&hd__obj((uint64_t)word, HD_OBJ_MEMORY)->vc);
  *word = 0;
  wake(word, 1, ~0u, pc);
  return 0;
}

#define LOCK_PI2 13 /* FUTEX_LOCK_PI2, which older headers lack */

static long do_futex(const long *a, uint64_t pc) {
  uint32_t *word = (uint32_t *)a[0], *second = (uint32_t *)a[4];
  int op = (int)a[1] & FUTEX_CMD_MASK;
  clockid_t clock = a[1] & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  const struct timespec *time = (const struct timespec *)a[3];
  struct timespec at;
  struct hd_until until = {clock, time};
  if ((uint64_t)word & 3) return -EINVAL;
  switch (op) {
    case FUTEX_WAIT: /* relative time */
      if (time && hd__bad_time(time)) return -EINVAL;
      if (time) {
        clock_gettime(clock, &at);
        at.tv_sec += time->tv_sec + (at.tv_nsec + time->tv_nsec) / 1000000000;
        at.tv_nsec = (at.tv_nsec + time->tv_nsec) % 1000000000;
        until.at = &at;
      }
      return wait(word, (uint32_t)a[2], ~0u, time ? &until : NULL, pc);
    case FUTEX_WAIT_BITSET: return wait(word, (uint32_t)a[2], (uint32_t)a[5], time ? &until : NULL, pc);
    case FUTEX_WAKE: return wake(word, at_least_one((int)a[2]), ~0u, pc);
    case FUTEX_WAKE_BITSET: return wake(word, at_least_one((int)a[2]), (uint32_t)a[5], pc);
    case FUTEX_CMP_REQUEUE:
      hd__access_slow((uint64_t)word, 4, HD_A_ATOMIC, pc);
      hd__symbolic_reads(word, 4, pc);
      if (*word != (uint32_t)a[5]) return -EAGAIN; /* fall through */
    case FUTEX_REQUEUE: return requeue(word, (int)a[2], (int)a[3], second, pc);
    case FUTEX_WAKE_OP:
      return wake_op(word, at_least_one((int)a[2]), second, at_least_one((int)a[3]), (uint32_t)a[5], pc);
    case FUTEX_LOCK_PI: until.clock = CLOCK_REALTIME; return lock_pi(word, true, time ? &until : NULL, pc);
    case LOCK_PI2: return lock_pi(word, true, time ? &until : NULL, pc);
    case FUTEX_TRYLOCK_PI: return lock_pi(word, false, NULL, pc);
    case FUTEX_UNLOCK_PI: return unlock_pi(word, pc);
    default: hd__unsupported("a futex operation that moves waiters to a lock of the kernel", pc);
  }
}

bool hd__futex_is_op(const long *a) {
  const uint32_t *word = (const uint32_t *)a[0];
  int op = (int)a[1] & FUTEX_CMD_MASK;
  if (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET) return *word == (uint32_t)a[2];
  return (op == FUTEX_WAKE || op == FUTEX_WAKE_BITSET) && object(word)->nqueue;
}

long hd__futex_call(const long *a, uint64_t pc) {
  hd__inexact(HD_INEXACT_FUTEX_UNSEEN, pc);
  return do_futex(a, pc);
}

long hd__futex(const long *a, uint64_t pc) {
  int op = (int)a[1] & FUTEX_CMD_MASK;
  bool timed = op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI || op == LOCK_PI2;
  if (timed && a[3]) hd__access_range((uint64_t)a[3], sizeof(struct timespec), 0, pc);
  long r = do_futex(a, pc);
  if (r >= 0) return r;
  errno = (int)-r;
  return -1;
}

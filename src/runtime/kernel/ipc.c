/* ipc.c: System V queues, semaphores and shared memory, and io_uring. Runs in the tested process, on the stack of the
 * thread that made the system call.
 *
 * The calls are made without waiting. The kernel does not tell when one could be made: it is tried again after each
 * operation on descriptors, and the verdict says so. What an execution has made and not removed is removed after it. */
#include <errno.h>
#include <linux/io_uring.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/spin.h"
#include "runtime/core/state.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"

/* ---- what an execution has made ---- */

static struct made { long nr, id; /* the call that removes it */ } made[256];
static unsigned nmade;

bool hd__ipc_made(void) { return nmade; }

static long remover(long nr) {
  return nr == SYS_msgget ? SYS_msgctl : nr == SYS_semget ? SYS_semctl : nr == SYS_shmget ? SYS_shmctl : -1;
}

static void removes(long nr, long id) {
  hd_sys4(nr, id, nr == SYS_semctl ? 0 : IPC_RMID, nr == SYS_semctl ? IPC_RMID : 0, 0);
}

/* Whether the call makes a new one, if it succeeds. */
static bool makes(long nr, const long *a) {
  long flags = nr == SYS_msgget ? a[1] : a[2];
  if (remover(nr) < 0 || a[0] == IPC_PRIVATE) return remover(nr) >= 0;
  if (!(flags & IPC_CREAT)) return false;
  return hd_sys3(nr, a[0], nr == SYS_msgget ? 0 : a[1], 0) == -ENOENT;
}

static void keep(long nr, long id) {
  if (id >= 0 && nmade < sizeof made / sizeof *made) made[nmade++] = (struct made){remover(nr), id};
}

static void forget(long nr, const long *a) {
  if (a[nr == SYS_semctl ? 2 : 1] != IPC_RMID) return;
  for (unsigned i = 0; i < nmade; i++)
    if (made[i].nr == nr && made[i].id == a[0]) made[i--] = made[--nmade];
}

void hd__ipc_begin(void) {
  while (nmade) {
    nmade--;
    removes(made[nmade].nr, made[nmade].id);
  }
}

/* ---- the calls ---- */

#define IPC (0xfbull << 56)

/* Other processes may use an object that the program has not made itself. */
static void note_outside(long nr, long id, uint64_t pc) {
  if (!rt.nunjoined || remover(nr) >= 0 || nr == SYS_shmdt) return;
  for (unsigned i = 0; i < nmade; i++)
    if (made[i].id == id) return;
  hd__inexact(HD_INEXACT_SYSCALL, pc | (uint64_t)nr << HD_INEXACT_DETAIL);
}

bool hd__ipc_is_op(long nr) {
  switch (nr) {
    case SYS_msgget:
    case SYS_msgsnd:
    case SYS_msgrcv:
    case SYS_msgctl:
    case SYS_semget:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_semctl:
    case SYS_shmget:
    case SYS_shmctl:
    case SYS_shmat:
    case SYS_shmdt:
    case SYS_io_uring_enter: return true;
    default: return false;
  }
}

/* Whether the call only looks. */
static bool ipc_looks(long nr, const long *a) {
  long command = (nr == SYS_semctl ? a[2] : a[1]) & 0xff;
  if (nr != SYS_msgctl && nr != SYS_shmctl && nr != SYS_semctl) return false;
  return command == IPC_STAT || (nr == SYS_semctl && command >= GETPID && command <= GETZCNT);
}

static bool ipc_waits(long nr, const long *a) {
  const struct {
    unsigned short number;
    short op, flags;
  } *ops = (void *)a[1];
  if (nr == SYS_msgsnd) return !(a[3] & IPC_NOWAIT);
  if (nr == SYS_msgrcv) return !(a[4] & IPC_NOWAIT);
  if (nr != SYS_semop && nr != SYS_semtimedop) return false;
  for (long i = 0; i < a[2] && i < 64; i++)
    if (ops[i].flags & IPC_NOWAIT) return false;
  return true;
}

/* The same call that does not wait. `ops` is room for the operations of semop. */
static void no_wait(long nr, long *a, short *ops) {
  if (nr == SYS_msgsnd) a[3] |= IPC_NOWAIT;
  if (nr == SYS_msgrcv) a[4] |= IPC_NOWAIT;
  if ((nr != SYS_semop && nr != SYS_semtimedop) || a[2] > 64) return;
  hd__copy(ops, (void *)a[1], (size_t)a[2] * 6);
  for (long i = 0; i < a[2]; i++) ops[i * 3 + 2] |= IPC_NOWAIT;
  a[1] = (long)ops;
}

/* ---- who waits for a semaphore, as the kernel would count ---- */

/* The semaphore that the thread waits for, in the call `io`. */
static HD_EXEC_LARGE struct waiter {
  const struct hd_io *io;
  uint32_t epoch;
  int id;
  unsigned short number;
  bool zero;
} waiter[HD_MAX_THREADS];

/* The call could not be made: the first of its operations that cannot is what it waits for. */
static void note_wait(const struct hd_io *io, const long *a) {
  const struct {
    unsigned short number;
    short op, flags;
  } *ops = (void *)a[1];
  long n = a[2] < 64 ? a[2] : 64, i = 0;
  for (; i < n; i++) {
    long v = hd_sys4(SYS_semctl, a[0], ops[i].number, GETVAL, 0);
    for (long k = 0; k < i; k++) v += ops[k].number == ops[i].number ? ops[k].op : 0;
    if (ops[i].op ? v + ops[i].op < 0 : v != 0) break;
  }
  if (i == n) return;
  bool new = waiter[rt.cur->id].io != io || waiter[rt.cur->id].epoch != rt.epoch;
  waiter[rt.cur->id] = (struct waiter){io, rt.epoch, (int)a[0], ops[i].number, !ops[i].op};
  if (new) hd__spin_word[HD_POLLS_IO]++; /* others can count it from now on */
}

static long count_waiters(const long *a) {
  long n = 0;
  for (unsigned i = 0; i < rt.nthreads; i++) {
    const struct waiter *w = &waiter[i];
    if (w->epoch == rt.epoch && w->io && rt.thread[i].sys.io == w->io && w->id == (int)a[0] &&
        w->number == (unsigned short)a[1])
      n += w->zero == ((a[2] & 0xff) == GETZCNT);
  }
  return n;
}

static bool counts_waiters(long nr, const long *a) {
  return nr == SYS_semctl && ((a[2] & 0xff) == GETNCNT || (a[2] & 0xff) == GETZCNT);
}

static uint64_t timeout_of(long nr, const long *a) {
  const struct timespec *t = nr == SYS_semtimedop ? (const struct timespec *)a[3] : NULL;
  return t && t->tv_sec < 1000000000 ? (uint64_t)t->tv_sec * 1000000000ull + (uint64_t)t->tv_nsec
                                     : HD_FOREVER;
}

/* Only an attempt shows whether it has to wait. */
static bool attempt(const struct hd_io *o, struct hd_ready *r) {
  (void)o;
  *r = (struct hd_ready){.on = true};
  return true;
}

static long ring_call(long *a, uint64_t pc) {
  struct hd_desc *d = hd__fd(a[0]);
  struct hd_item item = {d, 0};
  struct hd_io o = {.kind = HD_OP_IOPOLL, .writes = 0xffff, .fd = (int)a[0], .timeout = HD_FOREVER, .pc = pc};
  long b[6], wanted = a[2];
  hd__copy(b, a, sizeof b);
  b[2] = 0;
  hd__io_point(&o);
  long r = hd__plain(SYS_io_uring_enter, b);
  hd__io_done(false);
  if (r < 0 || !wanted || !(a[3] & IORING_ENTER_GETEVENTS) || !d) return r;
  o.item = &item; /* one completion is waited for: the program asks again for more */
  o.n = 1;
  hd__io_point(&o);
  hd__io_done(false);
  return r;
}

/* Whoever uses one of them comes after all that others have done with any. */
static void order_all(void) {
  static HD_EXEC struct hd_vc vc;
  static HD_EXEC uint32_t epoch;
  if (epoch != rt.epoch) vc = (struct hd_vc){0};
  epoch = rt.epoch;
  hd__acquire(&vc);
  hd_vc_join(&rt.arena, &vc, &rt.cur->vc);
  hd__new_segment(rt.cur);
}

long hd__ipc_call(long nr, long *a, uint64_t pc) {
  if (nr == SYS_io_uring_enter) return ring_call(a, pc);
  note_outside(nr, a[0], pc);
  bool waits = ipc_waits(nr, a), looks = ipc_looks(nr, a);
  short ops[64 * 3];
  long b[6];
  struct hd_io o = {.kind = waits   ? HD_OP_IOWRITE
                            : looks ? HD_OP_IOLOOK
                                    : HD_OP_IOCHANGE,
                    .object = IPC, /* their numbers differ from run to run */
                    .reads = 1,
                    .writes = !looks,
                    .fd = -1,
                    .n = waits,
                    .timeout = timeout_of(nr, a),
                    .pc = pc,
                    .can = attempt,
                    .ends = true};
  hd__copy(b, a, sizeof b);
  if (waits) no_wait(nr, b, ops);
  for (;;) {
    bool late = hd__io_point(&o), new = makes(nr, b);
    bool maps = nr == SYS_shmat || nr == SYS_shmdt;
    long r = maps ? hd__serve(nr, b) : hd__plain(nr == SYS_semtimedop ? SYS_semop : nr, b);
    if (new) keep(nr, r);
    if (r >= 0 && counts_waiters(nr, b)) r += count_waiters(b);
    if (nr == SYS_msgctl || nr == SYS_semctl || nr == SYS_shmctl) forget(nr, b);
    bool busy = r == -EAGAIN || r == -ENOMSG;
    if (!busy && !maps) order_all();
    if (!busy || !waits || late) {
      if (r < 0) hd__io_nothing(); /* a loop may wait so */
      hd__io_done(late);
      return busy && waits ? -EAGAIN : r;
    }
    if (nr == SYS_semop || nr == SYS_semtimedop) note_wait(&o, a);
    hd__io_retry(&o);
  }
}

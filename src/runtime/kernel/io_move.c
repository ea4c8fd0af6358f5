/* io_move.c: calls that wait for something else than one descriptor to be ready: data that the kernel moves from one
 * descriptor to another, the two sides of a FIFO, queues and semaphores of System V, io_uring. Runs in the tested process,
 * on the stack of the thread that made the system call.
 *
 * The calls are made without waiting. What the kernel does not tell about (System V) is tried again after each operation
 * on descriptors; the verdict says so. */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sys/ipc.h>
#include <sys/stat.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"

/* ---- from one descriptor to another ---- */

struct move {
  struct hd_io io;
  struct hd_item item[2]; /* from, to; d is NULL where there is none, or where it does not wait */
};

/* Enabled when both are ready. */
static bool both_ready(const struct hd_io *o, struct hd_ready *r) {
  const struct move *m = (const struct move *)o;
  *r = (struct hd_ready){.on = true};
  uint32_t since = UINT32_MAX;
  for (int i = 0; i < 2; i++) {
    const struct hd_desc *d = m->item[i].d;
    const struct hd_ready *s = d ? &d->ready[m->item[i].dir] : NULL;
    if (!s || !d->polled || d->fd == -1) continue;
    r->on &= s->on;
    if (s->on && s->enabler > r->enabler) r->enabler = s->enabler;
    if (!s->on && s->disabler < since) since = s->disabler;
    if (s->on && s->disabler > r->disabler) r->disabler = s->disabler;
    if (s->enabler_before > r->enabler_before) r->enabler_before = s->enabler_before;
  }
  if (!r->on) r->disabler = since;
  return r->on;
}

static long in_of(long nr, const long *a) {
  return nr == SYS_sendfile ? a[1] : nr == SYS_vmsplice ? -1 : a[0];
}
static long out_of(long nr, const long *a) {
  return nr == SYS_sendfile || nr == SYS_vmsplice ? a[0] : nr == SYS_tee ? a[1] : a[2];
}

#define NONBLOCK 2 /* SPLICE_F_NONBLOCK */
static bool may_wait(long nr, const long *a, long fd) {
  long flags = nr == SYS_splice ? a[5] : nr == SYS_tee || nr == SYS_vmsplice ? a[3] : 0;
  long mode = hd_sys3(SYS_fcntl, fd, F_GETFL, 0);
  return !(flags & NONBLOCK) && mode >= 0 && !(mode & O_NONBLOCK);
}

static void aim(struct hd_io *o) {
  struct move *m = (struct move *)o;
  long fd[2] = {in_of(o->nr, o->a), out_of(o->nr, o->a)};
  o->n = 0;
  for (int i = 0; i < 2; i++) {
    struct hd_desc *d = fd[i] >= 0 ? hd__fd(fd[i]) : NULL;
    bool waits = d && d->polled && may_wait(o->nr, o->a, fd[i]);
    m->item[i] = (struct hd_item){waits ? d : NULL, (uint8_t)i};
    o->n |= waits;
  }
}

/* Makes the call with both descriptors in non-blocking mode. */
static long transfer(long nr, const long *a) {
  long fd[2] = {in_of(nr, a), out_of(nr, a)}, flags[2];
  for (int i = 0; i < 2; i++) {
    flags[i] = fd[i] >= 0 ? hd_sys3(SYS_fcntl, fd[i], F_GETFL, 0) : -1;
    if (flags[i] >= 0) hd_sys3(SYS_fcntl, fd[i], F_SETFL, flags[i] | O_NONBLOCK);
  }
  long r = hd__plain(nr, a);
  for (int i = 0; i < 2; i++)
    if (flags[i] >= 0) hd_sys3(SYS_fcntl, fd[i], F_SETFL, flags[i]);
  return r;
}

void hd__move_touch(long nr, const long *a) {
  struct hd_desc *in = in_of(nr, a) >= 0 ? hd__fd(in_of(nr, a)) : NULL, *out = hd__fd(out_of(nr, a));
  if (in) hd__file_read(in);
  if (in && in->kind == HD_IO_FILE)
    hd__file_contended(&in->chan->touch, in->chan->object, HD_FACET_CONTENTS, in->in);
  if (out && out->kind == HD_IO_FILE) hd__file_contended(&out->chan->touch, out->chan->object, 0, out->out);
}

long hd__move_call(long nr, long *a, uint64_t pc) {
  struct move m = {.io = {.kind = HD_OP_IOWRITE,
                          .writes = 0xffff,
                          .fd = (int)out_of(nr, a),
                          .timeout = HD_FOREVER,
                          .pc = pc,
                          .aim = aim,
                          .can = both_ready,
                          .nr = nr,
                          .a = a}};
  long part[6], done = 0;
  hd__copy(part, a, sizeof part);
  for (;;) {
    hd__io_point(&m.io);
    struct hd_desc *in = in_of(nr, a) >= 0 ? hd__fd(in_of(nr, a)) : NULL, *out = hd__fd(out_of(nr, a));
    if (out) hd__file_changes(out_of(nr, a));
    if (in) hd__fd_moved(in_of(nr, a));
    if (in) hd__io_learn(in->chan);
    if (out) hd__io_publish(out->chan);
    long r = transfer(nr, part);
    if (r == -EAGAIN && m.io.n) {
      hd__io_retry(&m.io);
      continue;
    }
    hd__io_done(false);
    if (out && r > 0) hd__io_unaccepted(out);
    if (r <= 0) return done ? done : r;
    done += r;
    part[3] -= r;
    if (nr != SYS_sendfile || !m.io.n || part[3] <= 0) return done; /* the others may transfer less */
  }
}

/* ---- FIFOs: opening one waits for the other side ---- */

struct open_fifo {
  struct hd_io io;
  const uint32_t *other; /* when the other side came, an event counted from 1 */
};

static bool other_came(const struct hd_io *o, struct hd_ready *r) {
  const struct open_fifo *f = (const struct open_fifo *)o;
  *r = (struct hd_ready){.on = *f->other != 0, .enabler = *f->other};
  return r->on;
}

/* A wait of its own, after the open itself: for the other side of d. */
void hd__fifo_wait(long fd, bool writes, uint64_t pc) {
  struct hd_desc *d = hd__fd(fd);
  if (!d) return;
  struct open_fifo f = {.io = {.kind = writes ? HD_OP_IOWRITE : HD_OP_IOREAD,
                               .object = hd__object(d->chan),
                               .reads = 1,
                               .n = 1,
                               .fd = (int)fd,
                               .timeout = HD_FOREVER,
                               .pc = pc,
                               .can = other_came},
                        .other = &d->chan->came[!writes]};
  if (*f.other) return; /* it is there */
  hd__io_point(&f.io);
  hd__io_learn(d->chan);
  hd__io_done(false);
}

/* ---- System V, io_uring ---- */

#define IPC (0xfbull << 56)

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
    case SYS_io_uring_enter: return true;
    default: return false;
  }
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
  static struct hd_vc vc;
  static uint32_t epoch;
  if (epoch != rt.epoch) vc = (struct hd_vc){0};
  epoch = rt.epoch;
  hd__acquire(&vc);
  hd_vc_join(&rt.arena, &vc, &rt.cur->vc);
  hd__new_segment(rt.cur);
}

long hd__ipc_call(long nr, long *a, uint64_t pc) {
  if (nr == SYS_io_uring_enter) return ring_call(a, pc);
  bool waits = ipc_waits(nr, a);
  short ops[64 * 3];
  long b[6];
  struct hd_io o = {.kind = waits ? HD_OP_IOWRITE : HD_OP_IOCHANGE,
                    .object = IPC, /* their numbers differ from run to run */
                    .writes = 1,
                    .fd = -1,
                    .n = waits,
                    .timeout = timeout_of(nr, a),
                    .pc = pc,
                    .can = attempt};
  hd__copy(b, a, sizeof b);
  if (waits) no_wait(nr, b, ops);
  for (;;) {
    bool late = hd__io_point(&o);
    long r = hd__plain(nr == SYS_semtimedop ? SYS_semop : nr, b);
    bool busy = r == -EAGAIN || r == -ENOMSG;
    if (!busy) order_all();
    if (!busy || !waits || late) {
      hd__io_done(late);
      return busy && waits ? -EAGAIN : r;
    }
    hd__io_retry(&o);
  }
}

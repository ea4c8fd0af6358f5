/* io_move.c: calls that wait for more than one descriptor to be ready: data that the kernel moves from one descriptor to
 * another, the two sides of a FIFO. Runs in the tested process, on the stack of the thread that made the system call. The
 * calls are made without waiting. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

static void uses(long fd) {
  struct hd_desc *d = fd >= 0 && fd < HD_FDS ? hd__fd(fd) : NULL;
  if (!d && rt.nunjoined && fd >= 0) hd__fd_stale();
  hd__fd_used(fd, d, HD_USE_PLAIN);
}

void hd__move_touch(long nr, const long *a) {
  uses(in_of(nr, a));
  uses(out_of(nr, a));
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
    if (in) hd__io_received(in);
    if (out) hd__io_sent(out);
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
    m.io.partial = done;
    rt.cur->sys.done = false;
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
                               .can = other_came,
                               .opened = (int)fd + 1},
                        .other = &d->chan->came[!writes]};
  if (*f.other) return; /* it is there */
  rt.cur->sys.done = false;
  hd__io_point(&f.io);
  hd__io_learn(d->chan);
  hd__io_done(false);
}

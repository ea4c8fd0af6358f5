/* io.c: reading and writing descriptors as operations of the schedule. Runs in the tested process, on the stack of
 * the thread that made the system call (see hd_arch_leave_handler).
 *
 * Invariants
 *  1. A thread whose descriptor is not ready is disabled. When it is picked the call is made, without waiting.
 *  2. After each operation the readiness of all descriptions is polled. That operation caused any change (enabler,
 *     disabler), so the search knows which orders are possible. Time is the exception.
 *  3. The process really waits only when no thread can run and something outside it could end the wait.
 *  4. What the race detector learns: a reader of a channel has seen everything that happened before any write to
 *     it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

#define PATIENCE_MS 200 /* how long to wait for something outside when virtual time could pass instead */

static bool early;           /* the current operation timed out early (--timeouts=any) */
static uint32_t changes = 1; /* operations on descriptors in this execution */

void hd__io_begin(void) { changes = 1; }

int hd__io_fd(const struct hd_thread *t) { return t->sys.io ? t->sys.io->fd : -1; }

void hd__io_publish(struct hd_chan *c) {
  hd_vc_join(&rt.arena, &c->vc, &rt.cur->vc);
  hd__new_segment(rt.cur);
}

void hd__io_learn(const struct hd_chan *c) { hd__acquire(&c->vc); }

/* ---- readiness ---- */

static void note(struct hd_ready *r, bool on) {
  if (r->on == on) return;
  r->on = on;
  if (on) {
    r->enabler = (uint32_t)rt.events;
  } else {
    r->disabler = (uint32_t)rt.events;
    r->enabler_before = r->enabler;
  }
}

static void look(struct pollfd *p, struct hd_desc **of, unsigned n) {
  if (!n || hd_sys3(SYS_poll, p, n, 0) < 0) return;
  for (unsigned i = 0; i < n; i++) {
    short e = p[i].revents;
    bool in = e & (POLLIN | POLLPRI | POLLHUP | POLLERR | POLLNVAL);
    bool out = e & (POLLOUT | POLLHUP | POLLERR | POLLNVAL);
    if (!of[i]->looked) { /* its initial state */
      of[i]->ready[0].on = in;
      of[i]->ready[1].on = out;
    }
    note(&of[i]->ready[0], in);
    note(&of[i]->ready[1], out);
    of[i]->broken = e & POLLERR;
    of[i]->looked = true;
  }
}

/* Invariant 2. */
static void poll_all(bool idle) {
  static struct pollfd p[HD_FDS];
  static struct hd_desc *of[HD_FDS];
  unsigned n = 0;
  for (struct hd_desc *d = hd__descs; d; d = d->next)
    if (d->polled && d->fd >= 0 && n < HD_FDS && (idle || !d->idle_only)) {
      p[n] = (struct pollfd){d->fd, POLLIN | POLLPRI | POLLOUT, 0};
      of[n++] = d;
    }
  look(p, of, n);
  hd__descs_new = false;
}

/* Whether the operation can be executed, and what enabled it. Of several descriptions: the one that has been ready
 * longest. Of those that were ready before that: the one that ceased to be last. */
static bool ready(const struct hd_io *o, struct hd_op *op) {
  const struct hd_ready *best = NULL, *past = NULL;
  op->ready.enabler = op->ready.disabler = op->ready.enabler_before = 0;
  if (!o->n) return true;
  if (o->stalled == changes) return false;
  for (unsigned i = 0; i < o->n; i++) {
    const struct hd_ready *r = &o->item[i].d->ready[o->item[i].dir];
    if (!o->item[i].d->polled) return true;
    if (r->on && (!best || r->enabler < best->enabler)) best = r;
  }
  uint32_t limit = best ? best->enabler : UINT32_MAX;
  for (unsigned i = 0; i < o->n; i++) {
    const struct hd_ready *r = &o->item[i].d->ready[o->item[i].dir];
    if (r->disabler && r->disabler < limit && (!past || r->disabler > past->disabler)) past = r;
  }
  if (best) op->ready.enabler = best->enabler;
  if (past) {
    op->ready.disabler = past->disabler;
    op->ready.enabler_before = past->enabler_before;
  }
  return best != NULL;
}

/* If each of several descriptions would be enough, any may be missing: lists all events that made one of them
 * ready, for the search. */
static void list_enablers(const struct hd_io *o, struct hd_op *op) {
  uint32_t e[HD_FDS], n = 0;
  for (unsigned i = 0; i < o->n && n < HD_FDS; i++) {
    const struct hd_ready *r = &o->item[i].d->ready[o->item[i].dir];
    if (!o->interest && r->on) e[n++] = r->enabler;
  }
  for (const struct hd_interest *l = o->interest; l && n + 2 < HD_FDS; l = l->next)
    for (int dir = 0; dir < 2; dir++)
      if (l->d->ready[dir].on && (l->events & (dir ? POLLOUT : POLLIN))) e[n++] = l->d->ready[dir].enabler;
  if (n < 2) return;
  uint32_t *list = hd_arena_get(&rt.arena, (n + 1) * sizeof *list);
  HD_BUG_ON(!list);
  list[0] = n;
  hd__copy(list + 1, e, n * sizeof *e);
  op->ready.alternatives = list;
}

static void update(struct hd_thread *t) {
  if (t->timer.expired || t->cancel.taken || t->sig.taken) return; /* it continues in any case */
  bool on = ready(t->sys.io, &t->op);
  if (on)
    hd__enable(t);
  else
    hd__disable(t);
}

static void update_all(void) {
  for (unsigned i = 0; i < rt.nthreads; i++)
    if (rt.thread[i].sys.io && rt.thread[i].state != HD_T_DONE) update(&rt.thread[i]);
}

/* ---- one operation ---- */

static bool may_cancel(const struct hd_thread *t) {
  return t->sys.context && t->sys.point && !t->cancel.disabled;
}

/* Whether the call is made again after a handler with SA_RESTART (signal(7)). */
static bool restarts(const struct hd_io *o) { return o->kind != HD_OP_IOPOLL && o->timeout == HD_FOREVER; }

bool hd__io_point(struct hd_io *o) {
  struct hd_thread *t = rt.cur;
  hd__take_signals();
  bool cancels = may_cancel(t), cancelled = false;
  if (cancels) hd__test_cancel();
  t->op = (struct hd_op){.kind = o->kind,
                         .thread = t->id,
                         .size = o->reads | (uint32_t)o->writes << 16,
                         .object = o->object,
                         .pc = o->pc};
  bool look = hd__descs_new;
  for (unsigned i = 0; i < o->n; i++) look |= !o->item[i].d->inside; /* it changes by itself */
  if (look) poll_all(false);
  t->sys.io = o;
  rt.nio++;
  unsigned n = o->n;
  bool any_time = o->timeout != HD_FOREVER && n && hd__any_time(o->pc);
  if (any_time) o->n = 0;
  update(t);
  if (o->timeout != HD_FOREVER && t->state == HD_T_BLOCKED) hd__deadline_in(t, o->timeout);
  if (cancels)
    cancelled = hd__step_cancel();
  else
    hd__step();
  o->n = n;
  rt.nio--;
  t->sys.io = NULL;
  hd__deadline_clear(t);
  if (cancelled) hd__cancel();
  if (hd__interrupted()) hd__syscall_interrupted(t->sig.restarts && restarts(o));
  bool late = t->timer.expired;
  t->timer.expired = false;
  struct hd_op unused;
  early = any_time && !ready(o, &unused);
  if (early) {
    late = true;
    t->timer.early++;
    hd__deadline_in(t, o->timeout);
    hd__deadline_clear(t);
    if (t->timer.clock < t->timer.deadline) t->timer.clock = t->timer.deadline;
  }
  if (o->n > 1 || o->interest) list_enablers(o, &t->op);
  return late;
}

/* The other end of a connection that was not accepted yet has no descriptor to poll. */
static void note_unaccepted(const struct hd_desc *d) {
  for (int i = 0; d && i < 2; i++) {
    struct hd_desc *to = d->chan->end[i];
    if (to && to != d && to->unaccepted) note(&to->ready[0], true);
  }
}

void hd__io_done(bool late) {
  hd__event(late && !early ? HD_EV_LATE : 0);
  early = false;
  rt.cur->sys.done = true;
  if (rt.cur->op.kind != HD_OP_IOPOLL && rt.cur->op.size >> 16) changes++;
  poll_all(false);
  if (rt.nio) update_all();
}

void hd__io_stalled(struct hd_io *o) {
  hd__event(0);
  o->stalled = changes;
}

void hd__io_world(unsigned kind, uint16_t reads, uint16_t writes, long fd, uint64_t pc) {
  struct hd_io o = {.kind = (uint8_t)kind,
                    .reads = reads,
                    .writes = writes,
                    .fd = (int)fd,
                    .timeout = HD_FOREVER,
                    .pc = pc};
  hd__io_point(&o);
}

long hd__nowait(long nr, const long *a) {
  long flags = hd_sys3(SYS_fcntl, a[0], F_GETFL, 0);
  if (flags < 0 || (flags & O_NONBLOCK)) return hd__plain(nr, a);
  hd_sys3(SYS_fcntl, a[0], F_SETFL, flags | O_NONBLOCK);
  long r = hd__plain(nr, a);
  hd_sys3(SYS_fcntl, a[0], F_SETFL, flags);
  return r;
}

/* ---- no thread can run: waiting for the outside ---- */

void hd__io_poll(void) {
  changes++;
  poll_all(true);
  update_all();
}

/* A child may still be writing. How much of it has arrived would vary, so wait for the rest. */
static void await_writers(const struct pollfd *p, unsigned n) {
  struct timespec ms = {0, 1000000};
  long before = -1, now = 0;
  for (int rounds = 0; rounds < 50 && now != before; rounds++) {
    before = now;
    now = 0;
    hd_sys3(SYS_nanosleep, &ms, 0, 0);
    for (unsigned i = 0; i < n; i++) {
      int k = 0;
      if (hd_sys3(SYS_ioctl, p[i].fd, FIONREAD, &k) == 0) now += k;
    }
  }
}

bool hd__io_idle(uint64_t limit) {
  static struct pollfd p[HD_FDS];
  unsigned n = 0;
  uint64_t pc = 0; /* of the first that waits */
  for (unsigned i = 0; i < rt.nthreads; i++) {
    const struct hd_io *o = rt.thread[i].sys.io;
    if (!o || rt.thread[i].state != HD_T_BLOCKED) continue;
    for (unsigned k = 0; k < o->n && n < HD_FDS; k++)
      if (!o->item[k].d->inside && o->item[k].d->fd >= 0) {
        if (!n) pc = o->pc;
        p[n++] = (struct pollfd){o->item[k].d->fd, o->item[k].dir ? POLLOUT : POLLIN | POLLPRI, 0};
      }
  }
  if (!n) return false;
  hd__inexact(HD_INEXACT_OUTSIDE, pc); /* when it comes is not ours to schedule */
  long ms = limit == HD_FOREVER ? -1 : limit / 1000000 > PATIENCE_MS ? PATIENCE_MS : (long)(limit / 1000000);
  long r;
  do r = hd_sys3(SYS_poll, p, n, ms);
  while (r < 0 && ms < 0);
  if (r <= 0) return false;
  await_writers(p, n);
  hd__io_poll();
  return rt.nenabled != 0;
}

/* ---- reading and writing ---- */

enum what { IN = 1, OUT, CLOSE, POSITION, CONTENTS, LOOK, LOCK };

static const struct call {
  short nr;
  uint8_t what;
} calls[] = {
    {SYS_read, IN},           {SYS_readv, IN},           {SYS_recvfrom, IN},
    {SYS_recvmsg, IN},        {SYS_recvmmsg, IN},        {SYS_write, OUT},
    {SYS_writev, OUT},        {SYS_sendto, OUT},         {SYS_sendmsg, OUT},
    {SYS_sendmmsg, OUT},      {SYS_close, CLOSE},        {SYS_shutdown, CLOSE},
    {SYS_lseek, POSITION},    {SYS_pread64, LOOK},       {SYS_preadv, LOOK},
    {SYS_preadv2, LOOK},      {SYS_pwrite64, CONTENTS},  {SYS_pwritev, CONTENTS},
    {SYS_pwritev2, CONTENTS}, {SYS_ftruncate, CONTENTS}, {SYS_fallocate, CONTENTS},
    {SYS_fstat, LOOK},        {SYS_flock, LOCK},
};

static unsigned what_of(long nr) {
  for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
    if (calls[i].nr == nr) return calls[i].what;
  return 0;
}

/* Facets that a call reads and writes. */
static void facets(const struct hd_desc *d, unsigned what, const long *a, uint16_t *reads, uint16_t *writes) {
  bool file = d->kind == HD_IO_FILE;
  *reads = what == LOOK || (what == IN && file) || (what == POSITION && a[2] == 2 /* SEEK_END */);
  *writes = what == IN         ? d->in
            : what == OUT      ? d->out
            : what == CLOSE    ? d->in | d->out
            : what == POSITION ? d->in
            : what == LOOK     ? 0
                               : 1;
}

bool hd__io_is_op(long nr, const long *a) {
  unsigned what = what_of(nr);
  struct hd_desc *d = what && !hd__fd_random(a[0]) ? hd__fd(a[0]) : NULL;
  if (!d || d->kind == HD_IO_OTHER) return false;
  if (d->kind == HD_IO_FILE) {
    uint16_t reads, writes;
    facets(d, what, a, &reads, &writes);
    if (what == CLOSE || (d->before && what != IN && what != POSITION)) return false;
    return hd__file_contended(&d->chan->touch, d->chan->object, reads, writes) || what == LOCK;
  }
  if (what == CLOSE) return !hd__fd_before(a[0]);
  if (what == OUT) return !d->before; /* no thread here observes output to the outside */
  return what == IN;
}

static bool waits(long nr, const long *a) {
  long flags = nr == SYS_recvfrom || nr == SYS_sendto     ? a[3]
               : nr == SYS_recvmmsg || nr == SYS_sendmmsg ? a[3]
               : nr == SYS_recvmsg || nr == SYS_sendmsg   ? a[2]
                                                          : 0;
  return !(flags & MSG_DONTWAIT) && !(hd_sys3(SYS_fcntl, a[0], F_GETFL, 0) & O_NONBLOCK);
}

/* The kernel writes there. A page that is still protected would cause a short read. */
static void touch_buffers(long nr, const long *a) {
  if (nr == SYS_read || nr == SYS_recvfrom) {
    hd__snapshot_touch((uint64_t)a[1], (uint64_t)a[2]);
  } else if (nr == SYS_readv) {
    const struct iovec *v = (const struct iovec *)a[1];
    for (long i = 0; i < a[2] && i < 1024; i++) hd__snapshot_touch((uint64_t)v[i].iov_base, v[i].iov_len);
  }
}

/* Registers descriptors that were received with a message. */
static void take_rights(const long *a, long r) {
  struct msghdr *m = (struct msghdr *)a[1];
  if (r < 0 || !m->msg_controllen) return;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    int *fd = (int *)CMSG_DATA(c);
    for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof *fd; i++)
      fd[i] = (int)hd__fd_opened(fd[i], NULL);
  }
}

static struct hd_io prepare(struct hd_desc *d, unsigned kind, const long *a, uint64_t pc) {
  return (struct hd_io){
      .kind = (uint8_t)kind, .object = hd__object(d->chan), .fd = (int)a[0], .timeout = HD_FOREVER, .pc = pc};
}

static void stall(struct hd_io *o) {
  hd__inexact(HD_INEXACT_IO_RETRIED, o->pc); /* the search does not know which operation enables it */
  hd__io_stalled(o);
}

static long receive(struct hd_desc *d, long nr, long *a, uint64_t pc) {
  bool whole = nr == SYS_recvfrom && (a[3] & MSG_WAITALL) && d->stream;
  struct hd_item item = {d, 0};
  struct hd_io o = prepare(d, HD_OP_IOREAD, a, pc);
  facets(d, IN, a, &o.reads, &o.writes);
  o.item = &item;
  o.n = waits(nr, a);
  if (d->limit[0]) o.timeout = d->limit[0];
  long done = 0, part[6];
  hd__copy(part, a, sizeof part);
  touch_buffers(nr, a);
  if (d->kind == HD_IO_FILE) hd__fd_moved(a[0]);
  for (;;) {
    bool late = hd__io_point(&o);
    long r = o.n ? hd__nowait(nr, part) : hd__plain(nr, part);
    hd__io_learn(d->chan);
    if (r == -EAGAIN && o.n && !late) {
      stall(&o);
      continue;
    }
    hd__io_done(late || d->late);
    d->late = false;
    if (nr == SYS_recvmsg) take_rights(a, r);
    if (!whole || r <= 0 || done + r >= a[2]) return r > 0 || !done ? done + r : done;
    done += r;
    part[1] += r;
    part[2] -= r;
  }
}

/* Skips the first n bytes of a gathered write. */
static void advance(long *nv, struct iovec **at, size_t n) {
  while (*nv && n >= (*at)->iov_len) {
    n -= (*at)->iov_len;
    (*at)++;
    (*nv)--;
  }
  if (*nv && n) {
    (*at)->iov_base = (char *)(*at)->iov_base + n;
    (*at)->iov_len -= n;
  }
}

/* No reader is left: the kernel's SIGPIPE is caught, and sent to the program by us. */
static long write_broken(long nr, const long *a, uint64_t pc) {
  uint64_t pipe_mask = 1ull << (SIGPIPE - 1), old;
  struct timespec zero = {0, 0};
  hd_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &pipe_mask, &old, 8);
  long r = hd__plain(nr, a);
  bool sent = r == -EPIPE && hd_sys4(SYS_rt_sigtimedwait, &pipe_mask, 0, &zero, 8) == SIGPIPE;
  hd_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &old, 0, 8);
  if (sent) {
    siginfo_t info = hd__signal_info(SIGPIPE, SI_USER);
    hd__signal_send(rt.cur, &info, pc);
  }
  return r;
}

#define MAX_IOV 64
static long transmit(struct hd_desc *d, long nr, long *a, uint64_t pc) {
  struct hd_item item = {d, 1};
  struct hd_io o = prepare(d, HD_OP_IOWRITE, a, pc);
  struct iovec copy[MAX_IOV], *at = copy;
  bool gathered = nr == SYS_writev && a[2] > 0 && a[2] <= MAX_IOV;
  bool whole =
      d->stream && d->polled && d->kind != HD_IO_EVENT && (nr == SYS_write || nr == SYS_sendto || gathered);
  facets(d, OUT, a, &o.reads, &o.writes);
  if (d->kind == HD_IO_SOCKET && !d->stream && !d->chan->end[0]) { /* a datagram may go to any socket */
    o.object = 0;
    o.writes = 0xffff;
  }
  o.item = &item;
  o.n = d->polled && waits(nr, a);
  if (d->limit[1]) o.timeout = d->limit[1];
  long done = 0, part[6];
  hd__copy(part, a, sizeof part);
  if (gathered) {
    hd__copy(copy, (void *)a[1], (size_t)a[2] * sizeof *copy);
    part[1] = (long)copy;
  }
  for (;;) {
    bool late = hd__io_point(&o);
    int waiting = hd__socket_waiting(d);
    hd__file_changes(a[0]);
    hd__io_publish(d->chan);
    long r = d->broken ? write_broken(nr, part, pc) : o.n ? hd__nowait(nr, part) : hd__plain(nr, part);
    hd__socket_settle(d, r, waiting);
    if (r == -EAGAIN && o.n && !late) {
      stall(&o);
      continue;
    }
    hd__io_done(late);
    if (r > 0) note_unaccepted(d);
    if (!whole || !o.n || r <= 0) return r > 0 || !done ? done + r : done;
    done += r;
    if (gathered) {
      advance(&part[2], &at, (size_t)r);
      part[1] = (long)at;
      if (!part[2]) return done;
    } else {
      part[1] += r;
      part[2] -= r;
      if (!part[2]) return done;
    }
  }
}

/* A lock on a file. Only an attempt shows whether it has to wait. */
static long file_lock(struct hd_desc *d, long *a, uint64_t pc) {
  struct hd_item item = {d, 1};
  struct hd_io o = prepare(d, HD_OP_IOWRITE, a, pc);
  o.writes = 1;
  o.item = &item;
  for (;;) {
    hd__io_point(&o);
    long r = hd_sys3(SYS_flock, a[0], a[1] | LOCK_NB, 0);
    bool unlock = (a[1] & ~LOCK_NB) == LOCK_UN;
    if (unlock) hd__io_publish(d->chan);
    if (r == 0 && !unlock) hd__io_learn(d->chan);
    if (r != -EAGAIN || (a[1] & LOCK_NB)) {
      hd__io_done(false);
      return r;
    }
    stall(&o);
    o.n = 1;
  }
}

/* All other calls; they never wait. */
static long touch_file(struct hd_desc *d, unsigned what, long nr, long *a, uint64_t pc) {
  struct hd_io o = prepare(d, what == LOOK ? HD_OP_IOLOOK : HD_OP_IOCHANGE, a, pc);
  facets(d, what, a, &o.reads, &o.writes);
  hd__io_point(&o);
  if (what == POSITION) hd__fd_moved(a[0]);
  if (what == CONTENTS) hd__file_changes(a[0]);
  if (what == LOOK)
    hd__io_learn(d->chan);
  else
    hd__io_publish(d->chan);
  struct hd_desc copy = *d;
  long r = nr == SYS_close ? hd__fd_close(a[0]) : hd__plain(nr, a);
  if (what == CLOSE && (nr == SYS_shutdown || copy.refs == 1)) hd__socket_settle(&copy, 0, 0);
  hd__io_done(false);
  if (what == CLOSE) note_unaccepted(d);
  return r;
}

long hd__io_call(long nr, long *a, uint64_t pc) {
  struct hd_desc *d = hd__fd(a[0]);
  unsigned what = what_of(nr);
  switch (what) {
    case IN: return receive(d, nr, a, pc);
    case OUT: return transmit(d, nr, a, pc);
    case LOCK: return file_lock(d, a, pc);
    default: return touch_file(d, what, nr, a, pc);
  }
}

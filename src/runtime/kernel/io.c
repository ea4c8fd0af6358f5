/* io.c: operations on descriptors: when they can be executed, and waiting for that. Runs in the tested process, on the
 * stack of the thread that made the system call (see hd_arch_leave_handler).
 *
 * Invariants
 *  1. A thread whose descriptor is not ready is disabled. When it is picked the call is made, without waiting.
 *  2. After each operation the readiness of all descriptions is polled. That operation caused any change (enabler,
 *     disabler), so the search knows which orders are possible. Time is the exception.
 *  3. The process really waits only when no thread can run and something outside it could end the wait.
 *  4. What the race detector learns: a reader of a channel has seen everything that happened before any write to
 *     it, in that direction. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/spin.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

#define PATIENCE_MS 200 /* how long to wait for something outside when virtual time could pass instead */

static HD_EXEC bool early;                  /* the current operation timed out early (--timeouts=any) */
#define nchanges hd__spin_word[HD_POLLS_IO] /* operations on descriptors in this execution */
static HD_EXEC bool nothing;                /* the current operation has changed nothing */

void hd__io_begin(void) { nchanges = 1; }

int hd__io_fd(const struct hd_thread *t) { return t->sys.io ? t->sys.io->fd : -1; }

void hd__io_publish(struct hd_chan *c) {
  hd_vc_join(&rt.arena, &c->vc, &rt.cur->vc);
  hd_vc_join(&rt.arena, &c->back, &rt.cur->vc);
  hd__new_segment(rt.cur);
}

void hd__io_learn(const struct hd_chan *c) {
  hd__acquire(&c->vc);
  hd__acquire(&c->back);
}

/* The facet of a direction tells which it is; everything but a connection has one. */
static bool is_back(const struct hd_desc *d, uint16_t facet) {
  return d->kind == HD_IO_SOCKET && !(facet & 1);
}

void hd__io_sent(struct hd_desc *d) {
  hd_vc_join(&rt.arena, is_back(d, d->out) ? &d->chan->back : &d->chan->vc, &rt.cur->vc);
  hd__new_segment(rt.cur);
}

void hd__io_received(const struct hd_desc *d) {
  hd__acquire(is_back(d, d->in) ? &d->chan->back : &d->chan->vc);
}

/* ---- readiness ---- */

static HD_EXEC uint32_t timer; /* readiness comes from a timer: the event that set it, counted from 1 */

static void note(struct hd_ready *r, bool on) {
  if (r->on == on) return;
  r->on = on;
  if (on) {
    r->enabler = timer ? timer : (uint32_t)rt.events;
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
  hd__signalfds_update();
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
  if (o->any_time) op->ready.enabler = o->due;
  if (!o->n || o->any_time) return true;
  if (o->stalled == nchanges) return false;
  if (o->can) {
    struct hd_ready r;
    bool on = o->can(o, &r);
    if (on) op->ready.enabler = r.enabler;
    op->ready.disabler = r.disabler;
    op->ready.enabler_before = r.enabler_before;
    return on;
  }
  for (unsigned i = 0; i < o->n; i++) {
    const struct hd_ready *r = &o->item[i].d->ready[o->item[i].dir];
    if (!o->item[i].d->polled || o->item[i].d->fd == -1) return true; /* -1: it was closed */
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
  if (on || hd__signal_window_due(t))
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
static bool restarts(const struct hd_io *o) {
  return o->kind != HD_OP_IOPOLL && o->timeout == HD_FOREVER && !o->ends;
}

/* A handler has run in the place of a wait. Returns if the wait continues. */
static void interrupted(const struct hd_io *o) {
  const struct hd_thread *t = rt.cur;
  if (!t->sys.context || !t->sig.blocked) return;
  if (t->sig.window) { /* with its mask it was masked until it waited */
    hd__signal_window_end();
    hd__syscall_interrupted(false);
  }
  if (o->partial) hd__syscall_returns(o->partial);
  if (o->opened && t->sig.restarts) return;
  if (o->opened) {
    hd__fd_close(o->opened - 1);
    hd__syscall_returns(-EINTR);
  }
  hd__syscall_interrupted((t->sig.restarts && restarts(o)) || hd__handled_before());
}

/* Returns false when a handler ran in the place of the operation, which is then to be requested again. */
static bool request(struct hd_io *o, bool again) {
  struct hd_thread *t = rt.cur;
  hd__take_signals();
  bool cancels = may_cancel(t), cancelled = false;
  if (cancels) hd__test_cancel();
  if (o->aim) o->aim(o);
  t->op = (struct hd_op){.kind = o->kind,
                         .thread = t->id,
                         .size = o->reads | (uint32_t)o->writes << 16,
                         .object = o->object,
                         .pc = o->pc};
  bool look = hd__descs_new;
  for (unsigned i = 0; !o->can && i < o->n; i++) look |= !o->item[i].d->inside; /* it changes by itself */
  if (look) poll_all(false);
  t->sys.io = o;
  rt.nio++;
  if (!again) o->any_time = o->timeout != HD_FOREVER && o->n && hd__any_time(o->pc);
  update(t);
  /* Also if it is ready now: another thread may take what it waits for. */
  if (o->timeout != HD_FOREVER && o->n) hd__deadline_in(t, o->timeout);
  if (cancels)
    cancelled = hd__step_cancel();
  else
    hd__step();
  rt.nio--;
  t->sys.io = NULL;
  hd__deadline_clear(t);
  hd__fd_reached(o->fd); /* others may have opened it while this was pending */
  if (cancelled) {
    hd__signal_window_end();
    hd__cancel();
  }
  if (HD_LIKELY(!hd__interrupted())) return true;
  interrupted(o);
  return false;
}

bool hd__io_point(struct hd_io *o) {
  struct hd_thread *t = rt.cur;
  hd__spin_poll(HD_POLLS_IO, false, o->pc);
  for (bool again = false; !request(o, again); again = true) {}
  bool any_time = o->any_time, due = o->due != 0;
  o->any_time = false;
  o->due = 0;
  bool late = t->timer.expired;
  t->timer.expired = false;
  hd__timerfd_due();
  struct hd_op unused;
  early = any_time && !ready(o, &unused);
  if (early) {
    late = true;
    if (!due) hd__early_in(o->timeout);
  }
  if (o->n > 1 || o->interest) list_enablers(o, &t->op);
  return late;
}

void hd__io_unaccepted(const struct hd_desc *d) {
  for (int i = 0; d && i < 2; i++) {
    struct hd_desc *to = d->chan->end[i];
    if (to && to != d && to->unaccepted) note(&to->ready[0], true);
  }
}

void hd__io_nothing(void) { nothing = !hd__children_any(); }

void hd__io_done(bool late) {
  struct hd_spin *spin = &rt.cur->spin;
  bool quiet = nothing || (rt.cur->op.kind == HD_OP_IOLOOK && !hd__children_any());
  uint64_t writes = spin->writes, own = spin->changes;
  nothing = false;
  hd__event(late && !early ? HD_EV_LATE : 0);
  early = false;
  rt.cur->sys.done = true;
  if (quiet) { /* a loop that waits may contain it */
    spin->writes = writes;
    spin->changes = own;
    hd__spin_polled(HD_POLLS_IO, false);
  } else if (rt.cur->op.kind != HD_OP_IOPOLL && rt.cur->op.size >> 16) {
    nchanges++;
  }
  poll_all(false);
  if (rt.nio) update_all();
}

void hd__io_signalled(void) {
  nchanges++;
  if (!rt.nio) return;
  poll_all(false);
  update_all();
}

void hd__io_retarget(long fd, const struct hd_desc *d) {
  for (unsigned i = 0; rt.nio && i < rt.nthreads; i++) {
    struct hd_thread *t = &rt.thread[i];
    struct hd_io *o = t->sys.io;
    if (!o || !o->aim || o->entered || t->state == HD_T_DONE || t->cancel.taken || t->sig.taken) continue;
    if (o->fd != fd && (!d || o->d != d)) continue;
    o->aim(o);
    t->op.kind = o->kind;
    t->op.object = o->object;
    t->op.size = o->reads | (uint32_t)o->writes << 16;
    update(t);
  }
}

void hd__io_retry(struct hd_io *o) {
  hd__inexact(HD_INEXACT_IO_RETRIED, o->pc); /* the search does not know which operation enables it */
  hd__io_stalled(o);
}

void hd__io_stalled(struct hd_io *o) {
  hd__event(0);
  o->stalled = nchanges;
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

static bool outside;

bool hd__io_waits_outside(void) { return outside; }

void hd__io_poll(uint32_t set) {
  nchanges++;
  timer = set;
  poll_all(true);
  timer = 0;
  update_all();
}

void hd__io_due(struct hd_thread *t) {
  if (!t->sys.io || t->cancel.taken || t->sig.taken) return;
  t->sys.io->any_time = true;
  t->sys.io->due = (uint32_t)rt.events;
  update(t);
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

/* Children that end at about the same time would do so in another order each time: wait for the others. */
static void await_children(struct pollfd *p, unsigned n) {
  struct timespec ms = {0, 1000000};
  for (int rounds = 0; rounds < 50 && hd_sys3(SYS_poll, p, n, 0) < n; rounds++)
    hd_sys3(SYS_nanosleep, &ms, 0, 0);
}

bool hd__io_idle(uint64_t limit) {
  static struct pollfd p[HD_FDS];
  unsigned n = 0, children = 0;
  struct hd_thread *first = NULL; /* that waits */
  for (unsigned i = 0; i < rt.nthreads; i++) {
    const struct hd_io *o = rt.thread[i].sys.io;
    if (!o || rt.thread[i].state != HD_T_BLOCKED) continue;
    children += o->kind == HD_OP_WAITCHILD;
    for (unsigned k = 0; !o->can && k < o->n && n < HD_FDS; k++)
      if (o->item[k].d->fd >= 0 && hd__fd_outside(o->item[k].d)) {
        if (!n) first = &rt.thread[i];
        p[n++] = (struct pollfd){o->item[k].d->fd, o->item[k].dir ? POLLOUT : POLLIN | POLLPRI, 0};
      }
  }
  if (!n) return false;
  hd__inexact(HD_INEXACT_OUTSIDE, first->sys.io->pc); /* when it comes is not ours to schedule */
  long ms = limit == HD_FOREVER ? -1 : limit / 1000000 > PATIENCE_MS ? PATIENCE_MS : (long)(limit / 1000000);
  long r;
  outside = true;
  do {
    r = hd_sys3(SYS_poll, p, n, ms);
    if (r < 0 && hd__signals_outside()) break;
  } while (r < 0 && ms < 0);
  outside = false;
  if (rt.nenabled) return true;
  if (r <= 0) return false;
  await_writers(p, n);
  if (children > 1) await_children(p, n);
  hd__io_poll(0);
  return rt.nenabled != 0;
}

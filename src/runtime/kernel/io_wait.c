/* io_wait.c: poll, select and epoll, and timer descriptors. Runs in the tested process, on the stack of the thread
 * that made the call.
 *
 * A wait is one operation that reads the state of what it waits for: for one description that is its channel, for
 * several it is all channels. Its time-out is virtual. A timer descriptor is an eventfd to which the runtime writes
 * when virtual time reaches its expiration, so it can be read and waited for like any other. */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/signal.h"
#include "runtime/wrap/wrap.h"

#define MAX_ITEMS 256
#define MS 1000000ull
#define EPOLL_FACET 0x8000u /* two threads that wait at one epoll descriptor may take each other's events */

bool hd__wait_is_op(long nr, const long *a) {
  switch (nr) {
    case SYS_signalfd:
    case SYS_signalfd4: return (int)a[0] >= 0; /* changes one that is open */
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_epoll_ctl:
    case SYS_timerfd_gettime:
    case SYS_timerfd_settime: return true;
    default: return false;
  }
}

/* ---- what is waited for ---- */

/* Never ready: for waits that only time ends. */
static struct hd_desc never = {.polled = true, .inside = true, .fd = -2};

struct waiting {
  struct hd_io io;
  unsigned nitems;
  bool closed;   /* one of the numbers is closed: the call returns at once */
  bool contends; /* one of them may be closed by another thread meanwhile */
  struct hd_item item[MAX_ITEMS];
};

static void add(struct waiting *w, long fd, bool in, bool out) {
  struct hd_desc *d = hd__fd(fd);
  if (!d) {
    hd__fd_used(fd, NULL, HD_USE_PLAIN);
    if (rt.nunjoined) hd__fd_stale();
    w->closed = true;
  }
  if (!d || w->io.n + 2 > MAX_ITEMS) return;
  w->contends |= hd__fd_used(fd, d, HD_USE_PLAIN);
  if (in) w->item[w->io.n++] = (struct hd_item){d, 0};
  if (out) w->item[w->io.n++] = (struct hd_item){d, 1};
  if (w->io.n == 0) w->item[w->io.n++] = (struct hd_item){d, 0}; /* errors always end a wait */
}

static void name(struct waiting *w) {
  struct hd_chan *only = w->io.n ? w->item[0].d->chan : NULL;
  for (unsigned i = 0; i < w->io.n; i++)
    if (w->item[i].d->chan != only) only = NULL;
  w->io.item = w->item;
  w->io.object = only && w->io.kind == HD_OP_IOPOLL && !w->io.writes ? hd__object(only) : 0;
  w->io.reads = 0xffff;
  w->io.fd = w->io.n ? w->item[0].d->fd : -1;
}

static uint64_t ns_of(const struct timespec *t) {
  if (!t) return HD_FOREVER;
  if (t->tv_sec > 1000000000) return HD_FOREVER;
  return t->tv_sec < 0 ? 0 : (uint64_t)t->tv_sec * 1000000000ull + (uint64_t)t->tv_nsec;
}

static void learn_ready(const struct waiting *w) {
  for (unsigned i = 0; i < w->io.n; i++)
    if (w->item[i].d->ready[w->item[i].dir].on) {
      if (w->item[i].dir == 0)
        hd__io_received(w->item[i].d);
      else
        hd__io_learn(w->item[i].d->chan);
    }
}

static bool all_inside(const struct waiting *w) {
  for (unsigned i = 0; i < w->nitems; i++)
    if (!w->item[i].d->inside) return false;
  return true;
}

void hd__io_unwaited(const struct hd_desc *d, long nr) {
  if (d->kind == HD_IO_DEVICE && rt.nunjoined)
    hd__inexact(HD_INEXACT_SYSCALL, hot.syscall_pc | (uint64_t)nr << HD_INEXACT_DETAIL);
}

/* Makes the call with time-out zero, until it returns something or the time is over. `saved` is what select clears
 * when nothing is ready. */
static long wait(struct waiting *w, long nr, long *a, int timeout_arg, long zero, fd_set *saved) {
  bool at_once = w->io.timeout == 0 || w->closed;
  long look[6];
  name(w);
  w->nitems = w->io.n;
  if (w->closed) w->io.object = 0;
  if (w->contends && !at_once) hd__inexact(HD_INEXACT_CLOSED_WAIT, w->io.pc);
  for (unsigned i = 0; at_once && i < w->io.n; i++) hd__io_unwaited(w->item[i].d, nr);
  for (const struct hd_interest *i = w->io.interest; at_once && i; i = i->next) hd__io_unwaited(i->d, nr);
  if (at_once)
    w->io.n = 0;
  else if (!w->io.n)
    w->item[w->io.n++] = (struct hd_item){&never, 0};
  hd__copy(look, a, sizeof look);
  look[timeout_arg] = zero;
  for (;;) {
    bool late = hd__io_point(&w->io);
    long r = hd__plain(nr, look);
    bool timer = false;
    for (unsigned i = 0; i < w->io.n; i++) {
      timer |= w->item[i].d->late && r > 0;
      if (r > 0) w->item[i].d->late = false;
    }
    if (r > 0) learn_ready(w);
    if (r == 0 && all_inside(w)) hd__io_nothing();
    if (r == 0 && hd__signal_window_due(rt.cur)) {
      hd__io_done(late);
      if (hd__signal_window_handle()) return -EINTR;
      if (late || at_once) return 0;
      continue;
    }
    if (r != 0 || late || at_once) {
      hd__io_done(late || timer);
      return r;
    }
    hd__io_stalled(&w->io); /* nothing is left of what was noted */
    for (int i = 0; saved && i < 3; i++)
      if (a[i + 1]) hd__copy((void *)a[i + 1], &saved[i], sizeof saved[i]);
  }
}

static long poll_call(long nr, long *a, uint64_t pc) {
  struct waiting w = {.io = {.kind = HD_OP_IOPOLL, .pc = pc}};
  struct timespec zero = {0, 0};
  const struct pollfd *p = (const struct pollfd *)a[0];
  for (unsigned long i = 0; i < (unsigned long)a[1] && p; i++)
    if (p[i].fd >= 0) add(&w, p[i].fd, p[i].events & (POLLIN | POLLPRI), p[i].events & POLLOUT);
  w.io.timeout = nr == SYS_ppoll ? ns_of((const struct timespec *)a[2])
                 : (int)a[2] < 0 ? HD_FOREVER
                                 : (uint64_t)(int)a[2] * MS;
  hd__snapshot_touch((uint64_t)a[0], (uint64_t)a[1] * sizeof *p);
  return wait(&w, nr, a, 2, nr == SYS_ppoll ? (long)&zero : 0, NULL);
}

static long select_call(long nr, long *a, uint64_t pc) {
  struct waiting w = {.io = {.kind = HD_OP_IOPOLL, .pc = pc}};
  struct timespec zero = {0, 0};
  struct timeval zero_tv = {0, 0};
  fd_set saved[3];
  for (int i = 0; i < 3; i++) {
    if (!a[i + 1]) continue;
    hd__copy(&saved[i], (void *)a[i + 1], ((size_t)a[0] + 63) / 64 * 8);
    hd__snapshot_touch((uint64_t)a[i + 1], sizeof saved[i]);
    for (int fd = 0; fd < (int)a[0] && fd < FD_SETSIZE; fd++)
      if (FD_ISSET(fd, &saved[i])) add(&w, fd, i != 1, i == 1);
  }
  if (nr == SYS_select && a[4]) {
    const struct timeval *tv = (const struct timeval *)a[4];
    struct timespec t = {tv->tv_sec, tv->tv_usec * 1000};
    w.io.timeout = ns_of(&t);
  } else {
    w.io.timeout = ns_of(nr == SYS_select ? NULL : (const struct timespec *)a[4]);
  }
  return wait(&w, nr, a, 4, nr == SYS_select ? (long)&zero_tv : (long)&zero, saved);
}

static long epoll_call(long nr, long *a, uint64_t pc) {
  struct waiting w = {.io = {.kind = HD_OP_IOPOLL, .pc = pc, .writes = EPOLL_FACET}};
  struct timespec zero = {0, 0};
  add(&w, a[0], true, false);
  w.io.timeout = nr == SYS_epoll_pwait2 ? ns_of((const struct timespec *)a[3])
                 : (int)a[3] < 0        ? HD_FOREVER
                                        : (uint64_t)(int)a[3] * MS;
  if (w.io.n) w.io.interest = w.item[0].d->interest;
  hd__snapshot_touch((uint64_t)a[1], (uint64_t)(a[2] > 0 ? a[2] : 0) * sizeof(struct epoll_event));
  return wait(&w, nr, a, 3, nr == SYS_epoll_pwait2 ? (long)&zero : 0, NULL);
}

static void keep_interest(struct hd_desc *e, struct hd_desc *d, long op, const struct epoll_event *ev) {
  struct hd_interest **p = &e->interest;
  while (*p && (*p)->d != d) p = &(*p)->next;
  if (op == EPOLL_CTL_DEL) {
    if (*p) *p = (*p)->next;
    return;
  }
  if (!*p) {
    *p = hd_arena_get(&rt.arena, sizeof **p);
    HD_BUG_ON(!*p);
    **p = (struct hd_interest){.d = d};
  }
  (*p)->events = ev->events;
  if (!d->chan->group) d->chan->group = e->chan;
}

static long control_call(long *a, uint64_t pc) {
  struct hd_desc *e = hd__fd(a[0]), *d = hd__fd(a[2]);
  hd__io_world(HD_OP_IOCHANGE, 0, 0xffff, a[0], pc);
  if (e) hd__io_publish(e->chan);
  long r = hd__plain(SYS_epoll_ctl, a);
  if (r == 0 && e && d) keep_interest(e, d, a[1], (const struct epoll_event *)a[3]);
  if (e && d && !d->inside) e->inside = false;
  hd__io_done(false);
  return r;
}

/* ---- timers ---- */

#define NS 1000000000ull

static uint64_t to_ns(const struct timespec *t) { return (uint64_t)t->tv_sec * NS + (uint64_t)t->tv_nsec; }
static struct timespec to_timespec(uint64_t ns) {
  return (struct timespec){(time_t)(ns / NS), (long)(ns % NS)};
}

static void get_setting(const struct hd_desc *d, struct itimerspec *out) {
  if (!out) return;
  hd__snapshot_touch((uint64_t)out, sizeof *out);
  out->it_interval = to_timespec(d->every);
  uint64_t now = hd__read_time(); /* a loop around this waits for time to pass */
  out->it_value = to_timespec(d->at > now ? d->at - now : 0);
}

static HD_EXEC uint32_t timers_epoch; /* there are some in this execution */

long hd__timerfd_create(const long *a) {
  int flags = (a[1] & TFD_CLOEXEC ? EFD_CLOEXEC : 0) | (a[1] & TFD_NONBLOCK ? EFD_NONBLOCK : 0);
  long fd = hd_sys3(SYS_eventfd2, 0, flags, 0);
  if (fd < 0) return fd;
  struct hd_desc *d = hd__desc_new(HD_IO_TIMER, NULL);
  timers_epoch = rt.epoch;
  d->clock = (int)a[0];
  return hd__fd_opened(fd, d);
}

/* It is the same operation whether the descriptor was closed before the call or while it was pending. */
static void aim_at_setting(struct hd_io *o) {
  const struct hd_desc *d = hd__fd(o->fd);
  bool sets = d && o->nr != SYS_timerfd_gettime;
  o->kind = sets ? HD_OP_IOCHANGE : HD_OP_IOLOOK;
  if (!d) {
    hd__io_closed(o);
    return;
  }
  o->object = hd__object(d->chan);
  o->reads = !sets;
  o->writes = sets;
}

/* Looks at the setting of a description of that kind, or changes it. Returns it, or NULL with an error in *e. */
static struct hd_desc *point_setting(unsigned kind, long nr, const long *a, uint64_t pc, long *e) {
  struct hd_io o = {.fd = (int)a[0], .nr = nr, .timeout = HD_FOREVER, .pc = pc, .aim = aim_at_setting};
  aim_at_setting(&o);
  hd__fd_used(a[0], hd__fd(a[0]), HD_USE_PLAIN);
  hd__io_point(&o);
  struct hd_desc *d = hd__fd(a[0]);
  if (d && d->kind == kind) return d;
  hd__io_done(false);
  *e = d ? -EINVAL : -EBADF;
  return NULL;
}

static long gettime(const long *a, uint64_t pc) {
  long e = 0;
  struct hd_desc *d = point_setting(HD_IO_TIMER, SYS_timerfd_gettime, a, pc, &e);
  if (!d) return e;
  get_setting(d, (struct itimerspec *)a[1]);
  hd__io_done(false);
  return 0;
}

static long settime(long *a, uint64_t pc) {
  long e = 0;
  const struct itimerspec *new = (const struct itimerspec *)a[2];
  struct hd_desc *d = point_setting(HD_IO_TIMER, SYS_timerfd_settime, a, pc, &e);
  if (!d) return e;
  get_setting(d, (struct itimerspec *)a[3]);
  uint64_t unread, value = to_ns(&new->it_value);
  long in[6] = {a[0], (long)&unread, 8, 0, 0, 0};
  hd__nowait(SYS_read, in); /* discards earlier expirations */
  if (value && (a[1] & TFD_TIMER_ABSTIME)) {
    uint64_t zero = hd__clock_zero(d->clock);
    value = value > zero ? value - zero : 1;
  } else if (value) {
    value += hd__time();
  }
  d->at = value;
  d->every = to_ns(&new->it_interval);
  d->late = false;
  d->set = (uint32_t)rt.events + 1;
  if (d->at && d->at <= rt.now) hd__timerfd_fire(rt.now, false);
  hd__io_done(false);
  return 0;
}

void hd__timerfd_due(void) {
  if (HD_UNLIKELY(timers_epoch == rt.epoch) && hd__timerfd_next() <= rt.now) hd__timerfd_fire(rt.now, false);
}

uint64_t hd__timerfd_next(void) {
  uint64_t next = HD_FOREVER;
  for (const struct hd_desc *d = hd__descs; d; d = d->next)
    if (d->kind == HD_IO_TIMER && d->at && d->fd >= 0 && !d->ready[0].on && d->at < next) next = d->at;
  return next;
}

uint32_t hd__timerfd_fire(uint64_t now, bool late) {
  uint32_t set = 0;
  for (struct hd_desc *d = hd__descs; d; d = d->next) {
    if (d->kind != HD_IO_TIMER || !d->at || d->at > now || d->fd < 0) continue;
    uint64_t times = d->every ? 1 + (now - d->at) / d->every : 1;
    long out[6] = {d->fd, (long)&times, 8, 0, 0, 0};
    hd__nowait(SYS_write, out);
    d->at = d->every ? d->at + times * d->every : 0;
    d->late = late;
    if (d->set > set) set = d->set;
  }
  return set;
}

/* ---- signals ---- */

/* Signals between threads never reach the kernel (wrap/signal.c): an eventfd is ready in its place. */
long hd__signalfd_create(long nr, const long *a) {
  const uint64_t *mask = (const uint64_t *)a[1];
  if (!mask) return -EINVAL;
  long fd = hd_sys3(SYS_eventfd2, 0, nr == SYS_signalfd4 ? a[3] : 0, 0);
  if (fd < 0) return fd;
  struct hd_desc *d = hd__desc_new(HD_IO_SIGNAL, NULL);
  d->signals = *mask;
  return hd__fd_opened(fd, d);
}

/* Changes which signals one reports that is open. */
static long signalfd_change(long nr, const long *a, uint64_t pc) {
  const uint64_t *mask = (const uint64_t *)a[1];
  long e = 0;
  if (!mask) return -EINVAL;
  struct hd_desc *d = point_setting(HD_IO_SIGNAL, nr, a, pc, &e);
  if (!d) return e;
  d->signals = *mask;
  hd__io_done(false);
  return a[0];
}

void hd__signalfds_update(void) {
  for (struct hd_desc *d = hd__descs; d; d = d->next) {
    if (d->kind != HD_IO_SIGNAL || d->fd < 0) continue;
    uint64_t pending = hd__process_signals()->set, one = 1;
    for (unsigned i = 0; i < rt.nthreads; i++)
      if (rt.thread[i].state != HD_T_DONE) pending |= rt.thread[i].sig.pending.set;
    bool on = pending & d->signals;
    long call[6] = {d->fd, (long)&one, 8, 0, 0, 0};
    if (on != d->signalled) hd__nowait(on ? SYS_write : SYS_read, call);
    d->signalled = on;
  }
}

long hd__signalfd_read(const struct hd_desc *d, const long *a) {
  struct signalfd_siginfo *out = (struct signalfd_siginfo *)a[1];
  siginfo_t info;
  long n = 0;
  if ((size_t)a[2] < sizeof *out) return -EINVAL;
  for (; (size_t)(n + 1) * sizeof *out <= (size_t)a[2]; n++) {
    if (!hd__signal_take(&rt.cur->sig.pending, d->signals, &info)) {
      struct hd_signals *all = hd__process_signals();
      if (!hd__signal_take(all, d->signals, &info)) break;
      hd__acquire(&all->vc);
    }
    hd__zero(&out[n], sizeof *out);
    out[n].ssi_signo = (uint32_t)info.si_signo;
    out[n].ssi_code = info.si_code;
    out[n].ssi_pid = (uint32_t)info.si_pid;
    out[n].ssi_uid = info.si_uid;
    out[n].ssi_int = info.si_value.sival_int;
    out[n].ssi_ptr = (uint64_t)info.si_value.sival_ptr;
  }
  return n ? n * (long)sizeof *out : -EAGAIN;
}

/* The argument that is the mask of signals during the wait, if there is one; the kernel is not to set it. */
static const uint64_t *take_mask(long nr, long *a) {
  unsigned at = nr == SYS_ppoll ? 3 : nr == SYS_epoll_pwait || nr == SYS_epoll_pwait2 ? 4 : 5;
  bool has = nr == SYS_ppoll || nr == SYS_pselect6 || at == 4;
  if (!has || !a[at]) return NULL;
  const uint64_t *mask = nr == SYS_pselect6 ? *(const uint64_t *const *)a[at] : (const uint64_t *)a[at];
  a[at] = 0;
  return mask;
}

static long wait_call(long nr, long *a, uint64_t pc) {
  switch (nr) {
    case SYS_poll:
    case SYS_ppoll: return poll_call(nr, a, pc);
    case SYS_select:
    case SYS_pselect6: return select_call(nr, a, pc);
    case SYS_epoll_ctl: return control_call(a, pc);
    case SYS_timerfd_gettime: return gettime(a, pc);
    case SYS_timerfd_settime: return settime(a, pc);
    case SYS_signalfd:
    case SYS_signalfd4: return signalfd_change(nr, a, pc);
    default: return epoll_call(nr, a, pc);
  }
}

long hd__wait_call(long nr, long *a, uint64_t pc) {
  const uint64_t *mask = take_mask(nr, a);
  if (!mask) return wait_call(nr, a, pc);
  hd__signal_window(*mask, pc);
  long r = wait_call(nr, a, pc);
  hd__signal_window_end();
  return r;
}

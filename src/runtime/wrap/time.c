/* time.c: time is virtual in a controlled run. Runs in the tested process.
 *
 * A sleep, or a timed wait, ends when nothing else can run; the clock then jumps to its deadline. One of length zero, or
 * whose deadline is past, does not wait at all.
 *
 * Reading a clock advances it a little, for the reading thread and for whoever is ordered after it: the time is part of the
 * vector clocks, so that no clock runs backwards, and readings do not depend on unrelated threads. A thread that does
 * nothing but read clocks waits for time to pass: after a few readings each takes 16 times as long as the last, so the loop
 * ends soon whatever its limit. Until hours have passed that way, a reading counts as progress (core/spin.c). */
#include <errno.h>
#include <dlfcn.h>
#include <sched.h>
#include <sys/random.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/spin.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/access.h"
#include "runtime/wrap/wrap.h"

#define SECOND 1000000000ull
#define START_REALTIME (1700000000ull * SECOND)
#define START_MONOTONIC (1000ull * SECOND)
#define TICK 1000ull
#define POLLS 4      /* readings in a row that take one tick each ... */
#define POLLS_MAX 12 /* ... and those that count as progress: 16 ^ 8 microseconds, more than an hour */

uint64_t hd__clock_zero(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME_ALARM:
    case CLOCK_TAI: return START_REALTIME;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM: return START_MONOTONIC;
    default: return 0; /* processor time */
  }
}

uint64_t hd__time(void) { return rt.cur->vc.time > rt.now ? rt.cur->vc.time : rt.now; }

static uint64_t to_virtual(clockid_t clock, const struct timespec *at) {
  uint64_t abs = at->tv_sec < 0 ? 0 : (uint64_t)at->tv_sec * SECOND + (uint64_t)at->tv_nsec,
           off = hd__clock_zero(clock);
  return abs > off ? abs - off : 0;
}

void hd__deadline_set(struct hd_thread *t, clockid_t clock, const struct timespec *at) {
  t->timer.deadline = to_virtual(clock, at);
  if (!t->timer.set) rt.ntimed++;
  t->timer.set = true;
}

/* Counts from the time that the thread sees. pre: it is running. */
void hd__deadline_in(struct hd_thread *t, uint64_t ns) {
  uint64_t from = hd__time();
  t->timer.deadline = ns > UINT64_MAX / 2 - from ? UINT64_MAX / 2 : from + ns;
  if (!t->timer.set) rt.ntimed++;
  t->timer.set = true;
}

void hd__deadline_over(struct hd_thread *t) {
  if (t->timer.set) rt.ntimed--;
  t->timer.set = false;
}

void hd__deadline_clear(struct hd_thread *t) {
  if (t->timer.set && t->state == HD_T_BLOCKED) hd__deadline_trusted(t);
  hd__deadline_over(t);
}

void hd__deadline_trusted(const struct hd_thread *t) {
  if (!rt.config->timeouts_any) hd__inexact(HD_INEXACT_TIMEOUTS, t->op.pc);
}

/* What the next reading adds, and whether it is progress. */
static uint64_t tick(struct hd_thread *t, bool *progress) {
  bool again = t->timer.writes == t->spin.writes && t->timer.now == rt.now;
  unsigned n = t->timer.polls = again ? t->timer.polls + 1 : 0;
  *progress = n < POLLS_MAX;
  return n < POLLS || n >= POLLS_MAX ? TICK : TICK << 4 * (n - POLLS + 1);
}

uint64_t hd__read_time(void) {
  struct hd_thread *t = rt.cur;
  bool progress;
  rt.clocked = true;
  t->vc.time = hd__time() + tick(t, &progress);
  if (progress) hd__spin_unlike(); /* a loop that looks at the clock does not only wait for others */
  t->timer.writes = t->spin.writes;
  t->timer.now = rt.now;
  return t->vc.time;
}

static uint64_t read_clock(clockid_t clock) { return hd__read_time() + hd__clock_zero(clock); }

/* ---- waits that end at once, or early (--timeouts=any) ---- */

bool hd__past(clockid_t clock, const struct timespec *at) { return to_virtual(clock, at) <= hd__time(); }

/* A loop around a timed wait could run forever: only so many waits of a thread end so. */
static bool few(uint64_t pc) {
  if (rt.cur->timer.early < HD_EARLY_TIMEOUTS) return true;
  hd__inexact(HD_INEXACT_EARLY_TIMEOUTS, pc);
  return false;
}

bool hd__any_time(uint64_t pc) { return rt.config->timeouts_any && few(pc); }

bool hd__at_once(clockid_t clock, const struct timespec *at, uint64_t pc) {
  return hd__past(clock, at) || hd__any_time(pc);
}

bool hd__gives_up(clockid_t clock, const struct timespec *at, uint64_t pc) {
  bool past = hd__past(clock, at);
  if (!(past || rt.config->timeouts_any) || !few(pc)) return false;
  rt.cur->timer.early += past;
  return true;
}

/* The running thread sees this time from now on. */
static void advance(uint64_t to) {
  rt.clocked = true;
  if (rt.cur->vc.time < to) rt.cur->vc.time = to;
}

bool hd__early(bool blocked, clockid_t clock, const struct timespec *at) {
  if (!blocked) return false;
  if (!hd__past(clock, at)) rt.cur->timer.early++;
  advance(to_virtual(clock, at));
  return true;
}

void hd__early_in(uint64_t ns) {
  rt.cur->timer.early++;
  hd__deadline_in(rt.cur, ns);
  hd__deadline_clear(rt.cur);
  advance(rt.cur->timer.deadline);
}

/* What a timed operation is once its time is over: one that does not wait. */
static const uint8_t without_time[HD_OP_COUNT] = {
    [HD_OP_TIMEOUT] = HD_OP_AWAKE,         [HD_OP_TIMEDLOCK] = HD_OP_TRYLOCK,
    [HD_OP_TIMEDRDLOCK] = HD_OP_TRYRDLOCK, [HD_OP_TIMEDWRLOCK] = HD_OP_TRYWRLOCK,
    [HD_OP_SEMTIMED] = HD_OP_SEMTRYWAIT,   [HD_OP_TIMEDJOIN] = HD_OP_TRYJOIN,
    [HD_OP_SIGWAIT] = HD_OP_SIGPOLL,       [HD_OP_TIMEDWAIT] = HD_OP_CTIMEOUT,
    [HD_OP_FRETURN] = HD_OP_CTIMEOUT,
};

void hd__time_due(struct hd_thread *t) {
  unsigned kind = without_time[t->op.kind];
  if (!kind && !t->sys.io) return; /* it waits until time passes again */
  rt.clocked = true;
  if (t->vc.time < t->timer.deadline) t->vc.time = t->timer.deadline;
  hd__deadline_over(t);
  if (t->sys.io) {
    hd__io_due(t);
    return;
  }
  t->op.kind = (uint8_t)kind;
  t->timer.expired = true;
  hd__enable(t);
}

uint64_t hd__sleep(uint64_t ns, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  hd__test_cancel();
  if (hd__spin_idles()) { /* the wait that follows takes as long */
    hd__cancel_idle(pc);
    advance(hd__time() + ns);
    return 0;
  }
  hd__point_cancel(HD_OP_SLEEP, 0, pc);
  hd__event(0);
  hd__deadline_in(t, ns);
  if (!ns || rt.config->timeouts_any) { /* it may wake at any time: it need not wait */
    hd__deadline_clear(t);
    if (ns) advance(t->timer.deadline);
    hd__notice_signals();
    return 0;
  }
  t->op.kind = HD_OP_TIMEOUT;
  hd__disable(t);
  hd__step_or_cancel();
  uint64_t end = t->timer.deadline;
  if (hd__interrupted()) {
    hd__test_cancel();
    return end > rt.now ? end - rt.now : 0;
  }
  hd__event(0);
  hd__deadline_clear(t);
  t->timer.expired = false;
  return 0;
}

/* The result of a sleep that a handler may have interrupted. */
static int slept(uint64_t left, struct timespec *out) {
  if (!left) return 0;
  if (out) *out = (struct timespec){(time_t)(left / SECOND), (long)(left % SECOND)};
  errno = EINTR;
  return -1;
}

static bool bad(const struct timespec *d) {
  return d->tv_sec < 0 || d->tv_nsec < 0 || d->tv_nsec >= (long)SECOND;
}

/* A result for the program. Our own handlers of system calls must not meet a scheduling point. */
static void stores(void *out, size_t size, uint64_t pc) {
  if (!hd__own_code(pc)) hd__access_range((uint64_t)out, size, HD_A_WRITE, pc);
}

HD_EXPORT int clock_gettime(clockid_t clock, struct timespec *out) {
  if (!hot.active) return real_clock_gettime(clock, out);
  stores(out, sizeof *out, HD_CALLER);
  uint64_t v = read_clock(clock);
  out->tv_sec = (time_t)(v / SECOND);
  out->tv_nsec = (long)(v % SECOND);
  return 0;
}

HD_EXPORT int gettimeofday(struct timeval *restrict tv, void *restrict tz) {
  if (!hot.active) return real_gettimeofday(tv, tz);
  stores(tv, sizeof *tv, HD_CALLER);
  uint64_t v = read_clock(CLOCK_REALTIME);
  tv->tv_sec = (time_t)(v / SECOND);
  tv->tv_usec = (suseconds_t)(v % SECOND / 1000);
  return 0;
}

HD_EXPORT time_t time(time_t *out) {
  if (!hot.active) return real_time(out);
  if (out) stores(out, sizeof *out, HD_CALLER);
  time_t v = (time_t)(read_clock(CLOCK_REALTIME) / SECOND);
  if (out) *out = v;
  return v;
}

HD_EXPORT int nanosleep(const struct timespec *d, struct timespec *left) {
  if (!hot.active) return real_nanosleep(d, left);
  READS(d, sizeof *d);
  if (bad(d)) {
    errno = EINVAL;
    return -1;
  }
  return slept(hd__sleep((uint64_t)d->tv_sec * SECOND + (uint64_t)d->tv_nsec, HD_CALLER), left);
}

HD_EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *d, struct timespec *left) {
  if (!hot.active) return real_clock_nanosleep(clock, flags, d, left);
  READS(d, sizeof *d);
  if (bad(d) || clock == CLOCK_THREAD_CPUTIME_ID) return EINVAL;
  uint64_t ns = (uint64_t)d->tv_sec * SECOND + (uint64_t)d->tv_nsec;
  if (flags & TIMER_ABSTIME) {
    uint64_t at = hd__time() + hd__clock_zero(clock);
    ns = ns > at ? ns - at : 0;
  }
  return slept(hd__sleep(ns, HD_CALLER), flags & TIMER_ABSTIME ? NULL : left) ? EINTR : 0;
}

HD_EXPORT int usleep(unsigned us) {
  if (!hot.active) return real_usleep(us);
  return slept(hd__sleep(us * 1000ull, HD_CALLER), NULL);
}

HD_EXPORT unsigned sleep(unsigned s) {
  if (!hot.active) return real_sleep(s);
  return (unsigned)((hd__sleep(s * SECOND, HD_CALLER) + SECOND / 2) / SECOND);
}

/* The program must not depend on the processor it runs on. */
HD_EXPORT int sched_getcpu(void) { return hot.active ? 0 : real_sched_getcpu(); }

HD_EXPORT clock_t clock(void) {
  if (!hot.active) return real_clock();
  return (clock_t)(hd__read_time() / (SECOND / CLOCKS_PER_SEC));
}

/* std::random_device of libstdc++ asks the processor, which cannot be intercepted. */
HD_EXPORT unsigned hd_rt_random_device(void *self) __asm__("_ZNSt13random_device9_M_getvalEv");
unsigned hd_rt_random_device(void *self) {
  static unsigned (*real)(void *);
  unsigned v = 0;
  if (hot.active && getrandom(&v, sizeof v, 0) == sizeof v) return v;
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "_ZNSt13random_device9_M_getvalEv");
  return real(self);
}

HD_EXPORT int sched_yield(void) {
  if (!hot.active) return real_sched_yield();
  if (hd__spin_idles()) return 0;
  hd__point(HD_OP_YIELD, 0, 0, HD_CALLER);
  hd__notice_signals();
  return 0;
}

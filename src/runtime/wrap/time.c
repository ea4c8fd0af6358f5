/* time.c: time is virtual in a controlled run. Runs in the tested process.
 *
 * A sleep, or a timed wait, ends when nothing else can run; the clock then jumps to its deadline. Reading the clock
 * advances it a little for the reading thread only, so that loops which wait for time to pass end, and a thread's
 * readings do not depend on other threads. */
#include <errno.h>
#include <dlfcn.h>
#include <sched.h>
#include <sys/random.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/spin.h"
#include "runtime/wrap/wrap.h"

#define SECOND 1000000000ull
#define START_REALTIME (1700000000ull * SECOND)
#define START_MONOTONIC (1000ull * SECOND)
#define TICK 1000ull
#define SPIN_FASTER \
  4 /* rounds of a loop until the clock goes faster: one that waits for a point in time ends soon */

uint64_t hd__clock_zero(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI ? START_REALTIME
                                                                                         : START_MONOTONIC;
}

void hd__deadline_set(struct hd_thread *t, clockid_t clock, const struct timespec *at) {
  uint64_t abs = at->tv_sec < 0 ? 0 : (uint64_t)at->tv_sec * SECOND + (uint64_t)at->tv_nsec,
           off = hd__clock_zero(clock);
  t->timer.deadline = abs > off ? abs - off : 0;
  if (!t->timer.set) rt.ntimed++;
  t->timer.set = true;
}

/* Counts from the time that the thread sees. */
void hd__deadline_in(struct hd_thread *t, uint64_t ns) {
  uint64_t from = t->timer.clock > rt.now ? t->timer.clock : rt.now;
  t->timer.deadline = ns > UINT64_MAX / 2 - from ? UINT64_MAX / 2 : from + ns;
  if (!t->timer.set) rt.ntimed++;
  t->timer.set = true;
}

void hd__deadline_clear(struct hd_thread *t) {
  if (t->timer.set) rt.ntimed--;
  t->timer.set = false;
}

static uint64_t read_clock(clockid_t clock) {
  struct hd_thread *t = rt.cur;
  if (t->timer.clock < rt.now) t->timer.clock = rt.now;
  hd__spin_unlike(); /* a loop that looks at the clock does not only wait for others */
  unsigned laps = hd__spin_laps(), faster = laps < SPIN_FASTER ? 0 : laps - SPIN_FASTER;
  return (t->timer.clock += TICK << (faster < 24 ? faster : 24)) + hd__clock_zero(clock);
}

/* ---- --timeouts=any ---- */

/* A loop around a timed wait could run forever: only so many waits of a thread end early. */
bool hd__any_time(uint64_t pc) {
  if (!rt.config->timeouts_any) return false;
  if (rt.cur->timer.early < HD_EARLY_TIMEOUTS) return true;
  hd__inexact(HD_INEXACT_EARLY_TIMEOUTS, pc);
  return false;
}

bool hd__early(bool blocked, clockid_t clock, const struct timespec *at) {
  struct hd_thread *t = rt.cur;
  if (!blocked) return false;
  t->timer.early++;
  hd__deadline_set(t, clock, at);
  hd__deadline_clear(t);
  if (t->timer.clock < t->timer.deadline) t->timer.clock = t->timer.deadline;
  return true;
}

void hd__sleep(uint64_t ns, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  hd__test_cancel();
  if (hd__spin_idles()) return; /* the wait that follows takes as long */
  hd__point_cancel(HD_OP_SLEEP, 0, pc);
  hd__event(0);
  hd__deadline_in(t, ns);
  if (rt.config->timeouts_any) { /* it may wake at any time: it need not wait */
    hd__deadline_clear(t);
    t->timer.clock = t->timer.deadline;
    return;
  }
  t->op.kind = HD_OP_TIMEOUT;
  hd__disable(t);
  hd__step_or_cancel();
  hd__event(0);
  hd__deadline_clear(t);
  t->timer.expired = false;
}

static bool bad(const struct timespec *d) {
  return d->tv_sec < 0 || d->tv_nsec < 0 || d->tv_nsec >= (long)SECOND;
}

HD_EXPORT int clock_gettime(clockid_t clock, struct timespec *out) {
  if (!hot.active) return real_clock_gettime(clock, out);
  uint64_t v = read_clock(clock);
  out->tv_sec = (time_t)(v / SECOND);
  out->tv_nsec = (long)(v % SECOND);
  return 0;
}

HD_EXPORT int gettimeofday(struct timeval *restrict tv, void *restrict tz) {
  if (!hot.active) return real_gettimeofday(tv, tz);
  uint64_t v = read_clock(CLOCK_REALTIME);
  tv->tv_sec = (time_t)(v / SECOND);
  tv->tv_usec = (suseconds_t)(v % SECOND / 1000);
  return 0;
}

HD_EXPORT time_t time(time_t *out) {
  if (!hot.active) return real_time(out);
  time_t v = (time_t)(read_clock(CLOCK_REALTIME) / SECOND);
  if (out) *out = v;
  return v;
}

HD_EXPORT int nanosleep(const struct timespec *d, struct timespec *left) {
  if (!hot.active) return real_nanosleep(d, left);
  if (bad(d)) {
    errno = EINVAL;
    return -1;
  }
  hd__sleep((uint64_t)d->tv_sec * SECOND + (uint64_t)d->tv_nsec, HD_CALLER);
  return 0;
}

HD_EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *d, struct timespec *left) {
  if (!hot.active) return real_clock_nanosleep(clock, flags, d, left);
  if (bad(d)) return EINVAL;
  uint64_t ns = (uint64_t)d->tv_sec * SECOND + (uint64_t)d->tv_nsec;
  if (flags & TIMER_ABSTIME) {
    uint64_t at = rt.now + hd__clock_zero(clock);
    ns = ns > at ? ns - at : 0;
  }
  hd__sleep(ns, HD_CALLER);
  return 0;
}

HD_EXPORT int usleep(unsigned us) {
  if (!hot.active) return real_usleep(us);
  hd__sleep(us * 1000ull, HD_CALLER);
  return 0;
}

HD_EXPORT unsigned sleep(unsigned s) {
  if (!hot.active) return real_sleep(s);
  hd__sleep(s * SECOND, HD_CALLER);
  return 0;
}

/* The program must not depend on the processor it runs on. */
HD_EXPORT int sched_getcpu(void) { return hot.active ? 0 : real_sched_getcpu(); }

HD_EXPORT clock_t clock(void) {
  if (!hot.active) return real_clock();
  return (clock_t)((read_clock(CLOCK_MONOTONIC) - START_MONOTONIC) / (SECOND / CLOCKS_PER_SEC));
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
  return 0;
}

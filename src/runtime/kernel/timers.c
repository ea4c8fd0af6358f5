/* timers.c: timers that send signals, in virtual time. Runs in the tested process, for alarm, setitimer and
 * timer_create, as system calls.
 *
 * A timer expires as a timed wait does: when no thread can run, and its time is the next to come. Its signal goes
 * to a thread that waits for it (sigwait, pause), to one that spins, or else to one that handles it when its own
 * wait is over. A signal without a handler that would end the process has no effect: it is a guard against hanging,
 * and a hang is reported as such. */
#include <errno.h>
#include <time.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/objects.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

#define NS 1000000000ull
#define TIMERS 32

static HD_EXEC_LARGE struct timer {
  bool used;
  uint64_t at, every; /* virtual time of the next expiration (0: none), period */
  int sig;            /* 0: none */
  int thread;         /* the thread it goes to, -1: any */
  clockid_t clock;
  union sigval value;
  int overrun;
} timer[TIMERS]; /* the first belongs to alarm and setitimer, the others are named by their index */
/* ITIMER_VIRTUAL and ITIMER_PROF. Virtual time is no processor time: when they would expire is not known, so they never do. */
static HD_EXEC struct itimerval processor[2];

void hd__alarms_begin(void) {
  for (unsigned i = 0; i < rt.nalarms; i++) timer[i] = (struct timer){0};
  rt.nalarms = 0;
  processor[0] = processor[1] = (struct itimerval){0};
}

/* ---- expiring ---- */

static struct hd_thread *taker(const struct timer *t) {
  return t->thread < 0 ? hd__signal_taker(t->sig) : &rt.thread[t->thread];
}

/* Whether its expiration would have an effect now. */
static bool matters(const struct timer *t) {
  const struct hd_thread *to = taker(t);
  uint64_t bit = 1ull << (t->sig - 1);
  if (!to || to->state == HD_T_DONE || to->sig.pending.set & bit) return false; /* an overrun, at most */
  return to->sig.waits & bit || hd__signal_handled(t->sig);
}

/* Until it expires. One whose signal is still to be sent, since threads can run, is about to. */
static uint64_t left(const struct timer *t) {
  uint64_t now = hd__read_time(); /* a loop around this waits for time to pass */
  if (!t->at || t->at > now) return t->at ? t->at - now : 0;
  if (t->sig && matters(t)) return 1;
  return t->every ? t->every - (now - t->at) % t->every : 0;
}

uint64_t hd__alarm_next(void) {
  uint64_t next = HD_FOREVER;
  for (unsigned i = 0; i < rt.nalarms; i++)
    if (timer[i].at && timer[i].sig && timer[i].at < next && matters(&timer[i])) next = timer[i].at;
  return next;
}

void hd__alarm_fire(void) {
  for (unsigned i = 0; i < rt.nalarms; i++) {
    struct timer *t = &timer[i];
    if (!t->at || t->at > rt.now) continue;
    uint64_t times = t->every ? 1 + (rt.now - t->at) / t->every : 1;
    t->at = t->every ? t->at + times * t->every : 0;
    t->overrun = (int)(times - 1);
    if (!t->sig || !matters(t)) continue;
    hd__inexact(HD_INEXACT_TIMER_SIGNAL, taker(t)->op.pc); /* the search does not know what sent it */
    siginfo_t info = {.si_signo = t->sig, .si_code = i ? SI_TIMER : SI_KERNEL};
    if (i) {
      info.si_timerid = (int)i;
      info.si_overrun = t->overrun;
      info.si_value = t->value;
    }
    hd__signal_arrive(taker(t), &info);
  }
}

/* ---- alarm, setitimer ---- */

static struct timer *process_timer(void) {
  if (!rt.nalarms) rt.nalarms = 1;
  timer[0].used = true;
  timer[0].sig = SIGALRM;
  timer[0].thread = -1;
  return &timer[0];
}

static void set(struct timer *t, uint64_t in, uint64_t every) {
  t->at = in ? hd__time() + in : 0;
  t->every = every;
}

static uint64_t from_timeval(const struct timeval *v) {
  return (uint64_t)v->tv_sec * NS + (uint64_t)v->tv_usec * 1000;
}
static struct timeval to_timeval(uint64_t ns) {
  return (struct timeval){(time_t)(ns / NS), (suseconds_t)(ns % NS / 1000)};
}

static long alarm_call(const long *a) {
  struct timer *t = process_timer();
  uint64_t old = left(t);
  set(t, (uint64_t)(unsigned)a[0] * NS, 0);
  return (long)((old + NS - 1) / NS);
}

static long interval_call(const struct itimerval *new, struct itimerval *old) {
  struct timer *t = process_timer();
  if (old) {
    hd__snapshot_touch((uint64_t)old, sizeof *old);
    old->it_value = to_timeval(left(t));
    old->it_interval = to_timeval(t->every);
  }
  if (new) set(t, from_timeval(&new->it_value), from_timeval(&new->it_interval));
  return 0;
}

static long processor_call(long which, const struct itimerval *new, struct itimerval *old) {
  if (which != ITIMER_VIRTUAL && which != ITIMER_PROF) return -EINVAL;
  struct itimerval *t = &processor[which == ITIMER_PROF];
  if (old) {
    hd__snapshot_touch((uint64_t)old, sizeof *old);
    *old = *t;
  }
  if (!new) return 0;
  *t = *new;
  if (from_timeval(&t->it_value)) hd__inexact(HD_INEXACT_PROCESSOR_TIMER, hd__innermost());
  return 0;
}

/* ---- timer_create ---- */

static long create(const long *a) {
  const struct sigevent *event = (const struct sigevent *)a[1];
  int how = event ? event->sigev_notify : SIGEV_SIGNAL;
  if (how == SIGEV_THREAD) hd__unsupported("timer_create with SIGEV_THREAD", hd__innermost());
  unsigned i = 1;
  while (i < TIMERS && timer[i].used) i++;
  if (i == TIMERS) return -EAGAIN;
  if (i >= rt.nalarms) rt.nalarms = i + 1;
  timer[i] = (struct timer){.used = true,
                            .sig = how == SIGEV_NONE ? 0
                                   : event           ? event->sigev_signo
                                                     : SIGALRM,
                            .thread = -1,
                            .clock = (clockid_t)a[0]};
  if (timer[i].sig < 0 || timer[i].sig > 64) return -EINVAL;
  if (event)
    timer[i].value = event->sigev_value;
  else
    timer[i].value.sival_int = (int)i;
  if (how == SIGEV_THREAD_ID) timer[i].thread = hd__thread_of_tid(event->_sigev_un._tid);
  hd__snapshot_touch((uint64_t)a[2], sizeof(int));
  *(int *)a[2] = (int)i;
  return 0;
}

static struct timer *find(long name) {
  return name > 0 && name < TIMERS && timer[name].used ? &timer[name] : NULL;
}

static void get_setting(const struct timer *t, struct itimerspec *out) {
  if (!out) return;
  uint64_t ns = left(t);
  hd__snapshot_touch((uint64_t)out, sizeof *out);
  out->it_value = (struct timespec){(time_t)(ns / NS), (long)(ns % NS)};
  out->it_interval = (struct timespec){(time_t)(t->every / NS), (long)(t->every % NS)};
}

static uint64_t to_ns(const struct timespec *t) { return (uint64_t)t->tv_sec * NS + (uint64_t)t->tv_nsec; }

static long settime(struct timer *t, long flags, const struct itimerspec *new, struct itimerspec *old) {
  if (hd__bad_time(&new->it_value) || hd__bad_time(&new->it_interval)) return -EINVAL;
  get_setting(t, old);
  uint64_t value = to_ns(&new->it_value), zero = hd__clock_zero(t->clock);
  set(t, value, to_ns(&new->it_interval));
  if (value && (flags & TIMER_ABSTIME)) t->at = value > zero ? value - zero : 1;
  t->overrun = 0;
  return 0;
}

bool hd__alarm_serves(long nr) {
  return nr == SYS_alarm || nr == SYS_setitimer || nr == SYS_getitimer || nr == SYS_timer_create ||
         nr == SYS_timer_settime || nr == SYS_timer_gettime || nr == SYS_timer_getoverrun ||
         nr == SYS_timer_delete;
}

long hd__alarm_call(long nr, const long *a) {
  struct timer *t = find(a[0]);
  if ((nr == SYS_setitimer || nr == SYS_getitimer) && a[0] != ITIMER_REAL)
    return processor_call(a[0], nr == SYS_setitimer ? (const struct itimerval *)a[1] : NULL,
                          (struct itimerval *)(nr == SYS_setitimer ? a[2] : a[1]));
  switch (nr) {
    case SYS_alarm: return alarm_call(a);
    case SYS_setitimer: return interval_call((const struct itimerval *)a[1], (struct itimerval *)a[2]);
    case SYS_getitimer: return interval_call(NULL, (struct itimerval *)a[1]);
    case SYS_timer_create: return create(a);
    default: break;
  }
  if (!t) return -EINVAL;
  switch (nr) {
    case SYS_timer_settime:
      return settime(t, a[1], (const struct itimerspec *)a[2], (struct itimerspec *)a[3]);
    case SYS_timer_gettime: get_setting(t, (struct itimerspec *)a[1]); return 0;
    case SYS_timer_getoverrun: return t->overrun;
    default: *t = (struct timer){0}; return 0; /* timer_delete */
  }
}

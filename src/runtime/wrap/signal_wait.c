/* signal_wait.c: waiting for signals: sigwait and related functions, sigsuspend, pause, sigpending. Runs in the tested
 * process. */
#include <errno.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/objects.h"
#include "runtime/core/spin.h"
#include "runtime/core/state.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/signal.h"
#include "runtime/wrap/access.h"
#include "runtime/wrap/wrap.h"
#include "runtime/kernel/io.h"

int HD_IN(sigpending)(sigset_t *set);
int HD_IN(sigpending)(sigset_t *set) {
  if (!hot.active) {
    hd__real_init();
    return real_sigpending(set);
  }
  uint64_t pc = HD_CALLER, word = (uint64_t)&hd__signal_word[rt.cur->id];
  hd__signal_show();
  if (!hd__spin_check(word, HD_SPIN_OTHER, pc) && rt.nunjoined) hd__observe(HD_STATE_SIGNALS, 0, pc);
  hd__signal_show();
  hd__spin_read(word, 8);
  hd__writes(set, sizeof *set, pc);
  hd__zero(set, sizeof *set);
  *(uint64_t *)set = hd__signal_word[rt.cur->id];
  return 0;
}

static bool take_now(uint64_t set, siginfo_t *info) {
  struct hd_thread *t = rt.cur;
  bool own = hd__signal_take(&t->sig.pending, set, info);
  if (!own && !hd__signal_take(hd__process_signals(), set, info)) return false;
  hd__acquire(own ? &t->sig.vc : &hd__process_signals()->vc);
  hd__signal_show();
  return true;
}

/* Returns 0, EAGAIN when the time was over, or EINTR when a handler ran. */
static int wait_for(const sigset_t *set, const struct timespec *limit, siginfo_t *info, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  uint64_t bits = hd__signal_bits(set);
  if (rt.nunjoined) hd__change(HD_STATE_SIGNALS, 0, pc); /* it may take what is pending for the process */
  hd__test_cancel();                                     /* nothing comes between this and the wait */
  if (take_now(bits, info)) return 0;
  uint64_t ns =
      limit && limit->tv_sec >= 0 ? (uint64_t)limit->tv_sec * 1000000000ull + (uint64_t)limit->tv_nsec : 0;
  if (limit && (!ns || hd__any_time(pc))) {
    if (ns) hd__early_in(ns);
    return EAGAIN;
  }
  t->op = (struct hd_op){.kind = HD_OP_SIGWAIT, .thread = t->id, .object = t->id, .pc = pc};
  t->sig.waits = bits;
  if (limit) hd__deadline_in(t, ns);
  hd__disable(t);
  bool cancelled = hd__step_cancel();
  hd__deadline_clear(t);
  t->sig.waits = 0;
  if (cancelled) hd__cancel();
  if (hd__interrupted()) return EINTR;
  bool late = t->timer.expired && !((t->sig.pending.set | hd__process_signals()->set) & bits);
  t->timer.expired = false;
  hd__signal_event(late ? HD_EV_FAILED : 0);
  return take_now(bits, info) ? 0 : EAGAIN;
}

void hd__signals_stuck(void) {
  for (unsigned i = 0; i < rt.nthreads; i++) {
    struct hd_thread *t = &rt.thread[i];
    uint64_t ready = t->sig.pending.set & ~t->sig.mask;
    for (int sig = 1; t->state == HD_T_BLOCKED && sig <= 64; sig++)
      if (ready >> (sig - 1) & 1 && hd__signal_handled(sig)) {
        rt.cur = t;
        hd__unsupported("a signal handler that must run while its thread waits", t->op.pc);
      }
  }
}

/* The mask applies to the wait, and to the handlers that end it. */
long hd__signal_suspend(const sigset_t *mask, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  uint64_t before = t->sig.mask, during = mask ? hd__signal_bits(mask) : before;
  if (rt.nunjoined)
    hd__change(HD_STATE_SIGNALS, 0, pc);
  else
    hd__take_signals();
  hd__test_cancel();         /* nothing comes between this and the wait */
  unsigned ran = t->sig.ran; /* what was handled before does not end the wait */
  t->sig.mask = during;
  hd__signals_deliver();
  while (t->sig.ran == ran) { /* an ignored signal does not end the wait */
    t->op = (struct hd_op){.kind = HD_OP_SIGWAIT, .thread = t->id, .object = t->id, .pc = pc};
    t->sig.waits = ~during;
    hd__disable(t);
    bool cancelled = hd__step_cancel();
    t->sig.waits = 0;
    t->sig.mask = before;
    if (cancelled) hd__cancel();
    hd__signal_event(0);
    t->sig.mask = during;
    hd__signals_deliver();
  }
  t->sig.mask = before;
  hd__signal_show();
  hd__signals_deliver();
  return -EINTR;
}

void hd__signal_window(uint64_t mask, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  if (rt.nunjoined) hd__change(HD_STATE_SIGNALS, 0, pc);
  t->sig.outside = t->sig.mask;
  t->sig.mask = mask & ~(1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1));
  t->sig.window = true;
  hd__signal_show();
}

void hd__signal_window_end(void) {
  struct hd_thread *t = rt.cur;
  if (!t->sig.window) return;
  t->sig.window = false;
  t->sig.mask = t->sig.outside;
  hd__signal_show();
  hd__signals_deliver();
}

bool hd__signal_window_due(const struct hd_thread *t) {
  if (HD_LIKELY(!t->sig.window)) return false;
  return (t->sig.pending.set | hd__process_signals()->set) & ~(t->sig.mask | t->sig.late);
}

bool hd__signal_window_handle(void) {
  struct hd_thread *t = rt.cur;
  unsigned ran = t->sig.ran;
  hd__signals_deliver();
  if (t->sig.ran == ran) return false;
  hd__signal_window_end();
  return true;
}

HD_EXPORT int sigwait(const sigset_t *set, int *sig) {
  if (!hot.active) return real_sigwait(set, sig);
  siginfo_t info;
  while (wait_for(set, NULL, &info, HD_CALLER)) {} /* it does not return EINTR */
  WRITES(sig, sizeof *sig);
  *sig = info.si_signo;
  return 0;
}

static int wait_info(const sigset_t *set, siginfo_t *out, const struct timespec *limit, uint64_t pc) {
  siginfo_t info;
  hd__reads(set, sizeof *set, pc);
  hd__reads(limit, sizeof *limit, pc);
  int e = limit && hd__bad_time(limit) ? EINVAL : wait_for(set, limit, &info, pc);
  if (e) {
    errno = e;
    return -1;
  }
  hd__writes(out, sizeof *out, pc);
  if (out) *out = info;
  return info.si_signo;
}

HD_EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info) {
  return hot.active ? wait_info(set, info, NULL, HD_CALLER) : real_sigwaitinfo(set, info);
}

HD_EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *limit) {
  return hot.active ? wait_info(set, info, limit, HD_CALLER) : real_sigtimedwait(set, info, limit);
}

/* ---- timers that start threads (SIGEV_THREAD) ---- */

/* As in glibc, one thread waits for the signals of all such timers and makes a detached thread for each expiration. */
#define TIMER_SIGNAL 32 /* glibc's: programs cannot use it */
#define THREAD_TIMERS 32

static HD_EXEC struct thread_timer {
  void (*fn)(union sigval);
  union sigval value;
} thread_timer[THREAD_TIMERS];
static HD_EXEC unsigned nthread_timers;
static HD_EXEC uint32_t timers_epoch;
static HD_EXEC pthread_once_t timers_once = PTHREAD_ONCE_INIT;
static HD_EXEC pthread_t timers_thread;
static HD_EXEC uint64_t timers_pc;

static void *hd_rt_timer(void *arg) {
  const struct thread_timer *t = arg;
  t->fn(t->value);
  return NULL;
}

void hd__start_detached(pthread_t *thread, void *(*fn)(void *), void *arg, uint64_t pc) {
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  hd__thread_create(thread, &attr, fn, arg, pc);
}

static void *hd_rt_timers(void *arg) {
  uint64_t bits = 1ull << (TIMER_SIGNAL - 1);
  sigset_t set;
  siginfo_t info;
  pthread_t thread;
  hd__zero(&set, sizeof set);
  hd__copy(&set, &bits, sizeof bits);
  (void)arg;
  for (;;)
    if (!wait_for(&set, NULL, &info, timers_pc))
      hd__start_detached(&thread, hd_rt_timer, info.si_value.sival_ptr, timers_pc);
  return NULL;
}

static void start_timers(void) { hd__start_detached(&timers_thread, hd_rt_timers, NULL, timers_pc); }

bool hd__thread_timer(const struct sigevent *e, struct sigevent *signal, uint64_t pc) {
  if (timers_epoch != rt.epoch) {
    timers_epoch = rt.epoch;
    nthread_timers = 0;
    timers_once = PTHREAD_ONCE_INIT;
  }
  if (nthread_timers == THREAD_TIMERS) {
    errno = EAGAIN;
    return false;
  }
  struct thread_timer *t = &thread_timer[nthread_timers++];
  *t = (struct thread_timer){e->sigev_notify_function, e->sigev_value};
  timers_pc = pc;
  hd__once(&timers_once, start_timers, pc);
  hd__zero(signal, sizeof *signal);
  signal->sigev_notify = SIGEV_THREAD_ID;
  signal->sigev_signo = TIMER_SIGNAL;
  signal->sigev_value.sival_ptr = t;
  signal->_sigev_un._tid = (int)hd__tid(hd__thread_find(timers_thread));
  return true;
}

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

int HD_IN(sigpending)(sigset_t *set);
int HD_IN(sigpending)(sigset_t *set) {
  if (!hot.active) {
    hd__real_init();
    return real_sigpending(set);
  }
  uint64_t pc = HD_CALLER, word = (uint64_t)&hd__signal_word[rt.cur->id];
  hd__signal_show();
  if (!hd__spin_check(word, HD_SPIN_OTHER, pc) && rt.nunjoined) hd__lookup(HD_STATE_SIGNALS, 0, pc);
  hd__signal_show();
  hd__spin_read(word, 8);
  hd__writes(set, sizeof *set, pc);
  sigemptyset(set);
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
  hd__test_cancel();
  if (rt.nunjoined) hd__change(HD_STATE_SIGNALS, 0, pc); /* it may take what is pending for the process */
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
  hd__event(late ? HD_EV_FAILED : 0);
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
  hd__test_cancel();
  if (rt.nunjoined)
    hd__change(HD_STATE_SIGNALS, 0, pc);
  else
    hd__take_signals();
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
    hd__event(0);
    t->sig.mask = during;
    hd__signals_deliver();
  }
  t->sig.mask = before;
  hd__signal_show();
  hd__signals_deliver();
  return -EINTR;
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

/* signal.c: signals sent to a thread, masks, and waiting for signals. Runs in the tested process.
 *
 * One kernel thread runs everything, so masks and signals between threads are kept here. A thread handles a signal
 * that pthread_kill sent to it before its next operation on anything shared (if it waits, when its wait is over;
 * calls do not return EINTR). A masked signal stays pending until the thread unmasks it or waits for it. A signal
 * that would kill the process is a finding at once. */
#include <errno.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/objects.h"
#include "runtime/kernel/kernel.h"
#include "runtime/wrap/wrap.h"

static uint64_t bits_of(const sigset_t *set) { return *(const uint64_t *)set; }
static uint64_t bit(int sig) { return 1ull << (sig - 1); }

bool hd__signal_handled(int sig) {
  struct sigaction a;
  return sigaction(sig, NULL, &a) == 0 && a.sa_handler != SIG_IGN && a.sa_handler != SIG_DFL;
}

struct hd_thread *hd__signal_taker(int sig) {
  for (unsigned i = 0; i < rt.nthreads; i++)
    if (rt.thread[i].state != HD_T_DONE && (rt.thread[i].sig.waits & bit(sig))) return &rt.thread[i];
  if (rt.cur->state != HD_T_DONE && !(rt.cur->sig.mask & bit(sig))) return rt.cur;
  for (unsigned i = 0; i < rt.nthreads; i++)
    if (rt.thread[i].state != HD_T_DONE && !(rt.thread[i].sig.mask & bit(sig))) return &rt.thread[i];
  return rt.cur;
}

static void run_handler(int sig) {
  struct hd_thread *t = rt.cur;
  struct sigaction a;
  int saved = errno;
  if (sigaction(sig, NULL, &a) || a.sa_handler == SIG_IGN) return;
  if (a.sa_handler == SIG_DFL) {
    hd__self_signal(sig, t->op.pc);
    return;
  }
  t->sig.ran++;
  uint64_t mask = t->sig.mask;
  t->sig.mask |= bits_of(&a.sa_mask) | (a.sa_flags & SA_NODEFER ? 0 : bit(sig));
  if (a.sa_flags & SA_SIGINFO) {
    siginfo_t info = {.si_signo = sig, .si_code = SI_TKILL};
    hd__alarm_info(&info);
    ucontext_t context = {0};
    a.sa_sigaction(sig, &info, &context);
  } else {
    a.sa_handler(sig);
  }
  t->sig.mask = mask;
  errno = saved;
}

void hd__signals_deliver(void) {
  struct hd_thread *t = rt.cur;
  uint64_t now, sp = hot.sp, regs[6]; /* the program's state at the hook that led here, for spin.c */
  hd__copy(regs, hot.regs, sizeof regs);
  hd__acquire(&t->sig.vc);
  while ((now = t->sig.pending & ~t->sig.mask)) {
    int sig = __builtin_ctzll(now) + 1;
    t->sig.pending &= ~bit(sig);
    run_handler(sig);
  }
  hot.sp = sp;
  hd__copy(hot.regs, regs, sizeof regs);
}

int hd__signal_send(struct hd_thread *t, int sig, uint64_t pc) {
  if (!t || t->join.done) return ESRCH;
  if (sig < 0 || sig > 64) return EINVAL;
  if (!sig) return 0;
  hd__point_open(HD_OP_KILL, t->id, 0, pc);
  /* Only the runtime blocks a spin loop: it would take the signal. */
  bool waits =
      t->state == HD_T_BLOCKED && (t->sig.waits & bit(sig) || (t->spin.waiting && !(t->sig.mask & bit(sig))));
  rt.cur->op.wake.thread = waits ? t->id + 1u : 0;
  hd__event(0);
  if (t->state == HD_T_DONE) return 0;
  if (!((t->sig.waits | t->sig.mask) & bit(sig))) hd__self_signal(sig, pc);
  t->sig.pending |= bit(sig);
  hd_vc_join(&rt.arena, &t->sig.vc, &rt.cur->vc); /* the receiver is ordered after what the sender has done */
  hd__new_segment(rt.cur);
  if (waits) hd__enable(t);
  if (t == rt.cur) hd__signals_deliver();
  return 0;
}

HD_EXPORT int pthread_kill(pthread_t th, int sig) {
  return hot.active ? hd__signal_send(hd__thread_find(th), sig, HD_CALLER) : real_pthread_kill(th, sig);
}

static int change_mask(int how, const sigset_t *set, sigset_t *old) {
  struct hd_thread *t = rt.cur;
  if (old) {
    sigemptyset(old);
    *(uint64_t *)old = t->sig.mask;
  }
  if (!set) return 0;
  switch (how) {
    case SIG_BLOCK: t->sig.mask |= bits_of(set); break;
    case SIG_UNBLOCK: t->sig.mask &= ~bits_of(set); break;
    case SIG_SETMASK: t->sig.mask = bits_of(set); break;
    default: return EINVAL;
  }
  t->sig.mask &= ~(bit(SIGKILL) | bit(SIGSTOP));
  hd__signals_deliver();
  return 0;
}

HD_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
  return hot.active ? change_mask(how, set, old) : real_pthread_sigmask(how, set, old);
}

HD_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
  if (!hot.active) return real_sigprocmask(how, set, old);
  int e = change_mask(how, set, old);
  if (!e) return 0;
  errno = e;
  return -1;
}

HD_EXPORT int sigpending(sigset_t *set) {
  if (!hot.active) return real_sigpending(set);
  sigemptyset(set);
  *(uint64_t *)set = rt.cur->sig.pending & rt.cur->sig.mask;
  return 0;
}

/* Returns the signal, or 0 when the time was over. */
static int wait_for(const sigset_t *set, const struct timespec *limit, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  uint64_t ns =
      limit && limit->tv_sec >= 0 ? (uint64_t)limit->tv_sec * 1000000000ull + (uint64_t)limit->tv_nsec : 0;
  bool look = limit && (!ns || hd__any_time(pc)); /* without waiting */
  hd__test_cancel();
  t->op = (struct hd_op){
      .kind = look ? HD_OP_SIGPOLL : HD_OP_SIGWAIT, .thread = t->id, .object = t->id, .pc = pc};
  t->sig.waits = bits_of(set);
  if (limit && !look) hd__deadline_in(t, ns);
  if (!look && !(t->sig.pending & t->sig.waits)) hd__disable(t);
  bool cancelled = hd__step_cancel();
  hd__deadline_clear(t);
  t->sig.waits = 0;
  if (cancelled) hd__cancel();
  bool late = (look || t->timer.expired) && !(t->sig.pending & bits_of(set));
  t->timer.expired = false;
  hd__event(late ? HD_EV_FAILED : 0);
  if (look && late && ns) hd__early_in(ns);
  uint64_t got = t->sig.pending & bits_of(set);
  if (!got) return 0;
  int sig = __builtin_ctzll(got) + 1;
  hd__acquire(&t->sig.vc);
  t->sig.pending &= ~bit(sig);
  return sig;
}

void hd__signal_arrive(struct hd_thread *t, int sig) {
  t->sig.pending |= bit(sig);
  if (t->state == HD_T_BLOCKED && (t->sig.waits & bit(sig) || (t->spin.waiting && !(t->sig.mask & bit(sig)))))
    hd__enable(t);
}

void hd__signals_stuck(void) {
  for (unsigned i = 0; i < rt.nthreads; i++) {
    struct hd_thread *t = &rt.thread[i];
    uint64_t ready = t->sig.pending & ~t->sig.mask;
    for (int sig = 1; t->state == HD_T_BLOCKED && sig <= 64; sig++)
      if (ready & bit(sig) && hd__signal_handled(sig)) {
        rt.cur = t;
        hd__unsupported("a signal handler that must run while its thread waits", t->op.pc);
      }
  }
}

/* The mask applies to the wait, and to the handlers that end it. */
long hd__signal_suspend(const sigset_t *mask, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  uint64_t before = t->sig.mask, during = mask ? bits_of(mask) : before;
  unsigned ran = t->sig.ran;
  while (t->sig.ran == ran) { /* an ignored signal does not end the wait */
    t->op = (struct hd_op){.kind = HD_OP_SIGWAIT, .thread = t->id, .object = t->id, .pc = pc};
    t->sig.waits = ~during;
    if (!(t->sig.pending & t->sig.waits)) hd__disable(t);
    bool cancelled = hd__step_cancel();
    t->sig.waits = 0;
    if (cancelled) hd__cancel();
    hd__event(0);
    t->sig.mask = during;
    hd__signals_deliver();
    t->sig.mask = before;
  }
  hd__signals_deliver();
  return -EINTR;
}

HD_EXPORT int sigwait(const sigset_t *set, int *sig) {
  if (!hot.active) return real_sigwait(set, sig);
  *sig = wait_for(set, NULL, HD_CALLER);
  return 0;
}

static int wait_info(const sigset_t *set, siginfo_t *info, const struct timespec *limit, uint64_t pc) {
  int sig = limit && hd__bad_time(limit) ? -1 : wait_for(set, limit, pc);
  if (sig <= 0) {
    errno = sig ? EINVAL : EAGAIN;
    return -1;
  }
  if (info) {
    hd__zero(info, sizeof *info);
    info->si_signo = sig;
    info->si_code = SI_TKILL;
    hd__alarm_info(info);
  }
  return sig;
}

HD_EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info) {
  return hot.active ? wait_info(set, info, NULL, HD_CALLER) : real_sigwaitinfo(set, info);
}

HD_EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *limit) {
  return hot.active ? wait_info(set, info, limit, HD_CALLER) : real_sigtimedwait(set, info, limit);
}

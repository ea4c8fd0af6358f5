/* signals.c: what becomes of signals: faults, fatal signals, and those from outside. Runs in the tested process, on an
 * alternate stack.
 *
 * What the program wants to be done with a signal is kept here and never in the kernel. Faults and fatal signals become
 * findings, or call the program's handler. A signal from outside (a child, another process) that the program handles
 * is kept until no thread can run, and then sent to the process by wrap/signal.c. */
#include <errno.h>
#include <sys/mman.h>

#include "runtime/core/endless.h"
#include "runtime/core/aim.h"
#include "runtime/core/core.h"
#include "runtime/core/library.h"
#include "runtime/core/drive.h"
#include "runtime/core/finding.h"
#include "runtime/core/ident.h"
#include "runtime/core/modules.h"
#include "runtime/core/record.h"
#include "runtime/core/tick.h"
#include "runtime/core/state.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

struct kernel_sigaction {
  void (*handler)(int, siginfo_t *, void *);
  unsigned long flags;
  void (*restorer)(void);
  uint64_t mask;
};
#define SA_RESTORER_ 0x04000000
#define ALT_STACK (256u << 10)
#define NSIG_ 65
#define SMALLEST_STACK 2048 /* MINSIGSTKSZ of the kernel */

static const int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, HD_SIG_HANG};
static struct sigaction theirs[NSIG_], theirs_start[NSIG_];
static bool changed[NSIG_]; /* the kernel's dispositions that this execution changed */
static bool any_changed;
static siginfo_t outside[NSIG_]; /* the last from outside of each */
static uint64_t outside_set;     /* one bit each, from 1 */
static uint64_t first_mask;      /* of the process when control started */

static bool is_caught(int sig) {
  for (unsigned i = 0; i < sizeof caught / sizeof *caught; i++)
    if (caught[i] == sig) return true;
  return sig == SIGSYS;
}

static void set_raw(int sig, const struct kernel_sigaction *a) { hd_sys4(SYS_rt_sigaction, sig, a, 0, 8); }

static bool handles(const struct sigaction *a) {
  return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
}

/* Kept for hd__signals_outside. */
static void on_signal(int sig, siginfo_t *info, void *uc) {
  (void)uc;
  if (!hot.active && !rt.cur) return;
  outside[sig] = *info;
  outside_set |= 1ull << (sig - 1);
}

/* Tells the kernel what to do with a signal from outside. */
static void set_kernel(int sig) {
  struct kernel_sigaction plain = {.handler = theirs[sig].sa_sigaction};
  if (handles(&theirs[sig]))
    hd__signal_install(sig, on_signal);
  else
    set_raw(sig, &plain);
}

/* The kernel calls the program's handlers from now on. */
static void set_native(int sig) {
  struct kernel_sigaction a = {.handler = theirs[sig].sa_sigaction,
                               .flags = (unsigned long)theirs[sig].sa_flags | SA_RESTORER_,
                               .restorer = hd_arch_sigreturn};
  hd__copy(&a.mask, &theirs[sig].sa_mask, sizeof a.mask);
  set_raw(sig, &a);
}

void hd__signal_default(int sig) {
  struct kernel_sigaction plain = {0};
  set_raw(sig, &plain);
}

void hd__signal_install(int sig, void (*fn)(int, siginfo_t *, void *)) {
  struct kernel_sigaction a = {fn, SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTORER_, hd_arch_sigreturn, 0};
  if (sig == HD_SIG_HANG) a.flags |= SA_RESTART;
  set_raw(sig, &a);
}

static char *alt_stack;

bool hd__on_signal_stack(uint64_t sp) { return sp - (uint64_t)alt_stack < ALT_STACK; }

/* ---- what a fault means ---- */

static bool in_stack_guard(uint64_t addr, uint64_t sp) {
  const struct hd_ident *id = rt.cur->ident;
  if (!id) return hd__first_stack_overflow(addr, sp);
  uint64_t lo = (uint64_t)id->stack_lo;
  return addr >= lo - id->guard - 65536 && addr < lo + 4096 && sp < lo + 65536;
}

/* A hang is wherever the program happens to be: the function it hangs in identifies it. */
static uint64_t hang_at(const ucontext_t *uc) {
  return hot.call > rt.cur->calls ? hot.call[-1].pc : hd_sig_pc(uc);
}

bool hd__hang_known(const ucontext_t *uc) { return hd__finding_known(HD_KIND_HANG, hang_at(uc)); }

static void fault(int sig, const siginfo_t *info, ucontext_t *uc) {
  bool has_addr = sig == SIGSEGV || sig == SIGBUS;
  uint64_t addr = has_addr ? (uint64_t)info->si_addr : 0, pc = hd_sig_pc(uc);
  if (sig != HD_SIG_HANG) rt.faulted = sig;
  unsigned kind = sig == HD_SIG_HANG                                ? HD_KIND_HANG
                  : has_addr && in_stack_guard(addr, hd_sig_sp(uc)) ? HD_KIND_STACK_OVERFLOW
                                                                    : HD_KIND_CRASH;
  uint64_t key = kind == HD_KIND_CRASH ? pc : hang_at(uc);
  if (kind == HD_KIND_HANG && rt.nstopped) hd__thread_stop(); /* it may wait for a stopped thread */
  if (hot.log && has_addr) hd__record_fault(addr);
  struct hd_finding_rec *f = hd__finding(kind, key, 0);
  if (!f && kind == HD_KIND_HANG && rt.hung) hd__inexact(HD_INEXACT_HUNG, pc);
  if (!f) hd__thread_stop();
  f->signal = sig == HD_SIG_HANG ? 0 : sig;
  f->fault_addr = addr;
  struct hd_site *s = hd__finding_site(f, HD_ROLE_AT, rt.cur->id, HD_OP_NONE);
  hd__site_fault(s, pc, hd_sig_sp(uc));
  s->object = addr;
  if (has_addr) hd__site_block(f, addr);
  hd__finding_done(f, true);
}

void hd__report_hang(ucontext_t *uc, bool proved) {
  rt.hung = !proved;
  fault(HD_SIG_HANG, NULL, uc);
}

/* The fault that the program's handler is running for, on our signal stack. */
static struct {
  int sig;
  siginfo_t *info;
  ucontext_t *uc; /* NULL: none */
} first;

void hd__fault_again(void) {
  if (first.uc && hd__on_signal_stack((uint64_t)__builtin_frame_address(0)))
    fault(first.sig, first.info, first.uc);
}

static void call_handler(int sig, siginfo_t *info, ucontext_t *uc) {
  struct sigaction a = theirs[sig];
  uint64_t *mask = &rt.cur->sig.mask, before = *mask, more;
  hd__copy(&more, &a.sa_mask, sizeof more);
  if (a.sa_flags & (int)SA_RESETHAND) hd__disposition_reset(sig);
  *mask |= more | (a.sa_flags & SA_NODEFER ? 0 : 1ull << (sig - 1));
  first.sig = sig;
  first.info = info;
  first.uc = uc;
  if (a.sa_flags & SA_SIGINFO)
    a.sa_sigaction(sig, info, uc);
  else
    a.sa_handler(sig);
  first.uc = NULL;
  *mask = before;
}

static void handler(int sig, siginfo_t *info, void *uc) {
  if (sig == SIGSEGV && info->si_code > 0 && hd_sig_is_write(uc) &&
      hd__snapshot_fault((uint64_t)info->si_addr))
    return;
  if (hd_arch_peek_fault(uc)) return;
  if (sig == SIGTRAP && (hd__aim_trap(uc) || hd__endless_trap(uc, info->si_code == TRAP_TRACE))) return;
  if (sig == SIGSEGV || sig == SIGBUS) hd__endless_stop(uc);
  if (sig == SIGSEGV && (uint64_t)info->si_addr == hd_sig_pc(uc) &&
      (hd__library_fault(uc) || hd__plain_fault(hd_sig_pc(uc))))
    return;
  if (sig == SIGSEGV && info->si_code == SI_KERNEL && hd__tsc_fault(uc)) return;
  if (sig == HD_SIG_HANG && info->si_code == SI_TIMER) {
    hd__tick(uc);
    return;
  }
  if (!hot.active) {
    if (sig == HD_SIG_HANG) return;
    /* A fault of our own, or before main: die of it, and the supervisor reports it. */
    hd__signal_default(sig);
    if (info->si_code <= 0)
      hd_sys3(SYS_tgkill, hd_sys3(SYS_getpid, 0, 0, 0), hd_sys3(SYS_gettid, 0, 0, 0), sig);
    return;
  }
  if (sig == HD_SIG_HANG && hd__io_waits_outside()) hd__report_unanswered();
  if (sig == HD_SIG_HANG) {
    if (!hd__tick_hang(uc)) hd__report_hang(uc, false);
    return;
  }
  struct sigaction *t = &theirs[sig];
  if (t->sa_handler != SIG_DFL && t->sa_handler != SIG_IGN) {
    /* A crash in the handler of a crash ends the process; what matters is where the first one was. */
    if (hd__on_signal_stack(hd_sig_sp(uc))) hd__fault_again();
    call_handler(sig, info, uc);
    return;
  }
  if (t->sa_handler == SIG_IGN && info->si_code <= 0) return;
  if (hd__on_signal_stack(hd_sig_sp(uc))) hd__fault_again();
  fault(sig, info, uc);
}

void hd__signals_init(void) {
  char *st = alt_stack = hd__map(ALT_STACK);
  stack_t ss = {.ss_sp = st, .ss_size = ALT_STACK};
  if (!st || hd_sys3(SYS_sigaltstack, &ss, 0, 0) < 0)
    hd__fail(HD_RTE_ENVIRONMENT, 0, "no memory for the signal stack");
  /* wrap/signal.c keeps the masks; the kernel must not block the faults that the snapshot needs. */
  uint64_t none = 0;
  hd_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &none, &first_mask, 8);
  for (int sig = 1; sig < NSIG_; sig++) {
    real_sigaction(sig, NULL, &theirs[sig]);
    /* The handlers of a test framework would leave the body. */
    if (rt.callback && is_caught(sig)) theirs[sig] = (struct sigaction){0};
    theirs_start[sig] = theirs[sig];
    if (handles(&theirs[sig])) set_kernel(sig);
  }
  for (unsigned i = 0; i < sizeof caught / sizeof *caught; i++) hd__signal_install(caught[i], handler);
}

uint64_t hd__first_mask(void) { return first_mask; }

void hd__signals_native(void) {
  for (int sig = 1; sig < NSIG_; sig++)
    if (sig != SIGSYS && (changed[sig] || is_caught(sig) || handles(&theirs[sig]))) set_native(sig);
  uint64_t mask = rt.cur->sig.mask;
  hd_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
}

void hd__signals_begin(void) {
  for (int sig = 1; any_changed && sig < NSIG_; sig++) {
    if (changed[sig] || is_caught(sig)) theirs[sig] = theirs_start[sig];
    if (changed[sig]) set_kernel(sig);
    changed[sig] = false;
  }
  any_changed = false;
  outside_set = 0;
}

void hd__signals_keep(void) {
  hd__copy(theirs_start, theirs, sizeof theirs);
  hd__zero(changed, sizeof changed);
  any_changed = false;
}

bool hd__default_ignores(int sig) {
  return sig == SIGCHLD || sig == SIGCONT || sig == SIGURG || sig == SIGWINCH || sig == SIGSTOP ||
         sig == SIGTSTP;
}

void hd__self_signal(int sig, uint64_t pc) {
  char text[80];
  hd__format(text, sizeof text, "the program sent itself signal %d", (int64_t)sig);
  if (theirs[sig].sa_handler != SIG_DFL || hd__default_ignores(sig)) return;
  hd__fault_again();
  struct hd_finding_rec *f = hd__finding(sig == SIGABRT ? HD_KIND_ABORT : HD_KIND_CRASH, pc, 0);
  if (f) {
    f->signal = sig;
    hd__format(f->text, sizeof f->text, "%s", text);
    hd__site_stack(hd__finding_site(f, HD_ROLE_AT, rt.cur->id, HD_OP_NONE), rt.cur, pc);
    hd__finding_done(f, true);
  }
  hd__thread_stop();
}

/* ---- dispositions ---- */

const struct sigaction *hd__disposition(int sig) { return &theirs[sig]; }

static void set(int sig, const struct sigaction *act) {
  theirs[sig] = *act;
  any_changed = true;
  if (is_caught(sig)) return;
  changed[sig] = true;
  set_kernel(sig);
}

void hd__disposition_reset(int sig) {
  struct sigaction a = theirs[sig];
  a.sa_handler = SIG_DFL;
  set(sig, &a);
}

/* The call as libc makes it, for functions that are not wrapped. */
long hd__sigaction_call(const long *a) {
  int sig = (int)a[0];
  const struct kernel_sigaction *act = (const struct kernel_sigaction *)a[1];
  struct kernel_sigaction *old = (struct kernel_sigaction *)a[2];
  if (sig < 1 || sig >= NSIG_ || (act && (sig == SIGKILL || sig == SIGSTOP))) return -EINVAL;
  struct sigaction new = {0}, before = theirs[sig];
  if (act) {
    new.sa_sigaction = act->handler;
    new.sa_flags = (int)(act->flags & ~(unsigned long)SA_RESTORER_);
    hd__copy(&new.sa_mask, &act->mask, sizeof act->mask);
    set(sig, &new);
  }
  if (old) {
    hd__snapshot_touch((uint64_t)old, sizeof *old);
    *old = (struct kernel_sigaction){.handler = before.sa_sigaction, .flags = (unsigned long)before.sa_flags};
    hd__copy(&old->mask, &before.sa_mask, sizeof old->mask);
  }
  return 0;
}

int HD_IN(sigaction)(int sig, const struct sigaction *act, struct sigaction *old);
int HD_IN(sigaction)(int sig, const struct sigaction *act, struct sigaction *old) {
  if (!hot.active) return real_sigaction(sig, act, old);
  if (!act && sig > 0 && sig < NSIG_) hd__lookup_noted(HD_STATE_HANDLER, (uint32_t)sig, HD_CALLER);
  if (act) hd__access_range((uint64_t)act, sizeof *act, 0, HD_CALLER);
  if (old) hd__access_range((uint64_t)old, sizeof *old, HD_A_WRITE, HD_CALLER);
  if (sig < 1 || sig >= NSIG_ || (act && (sig == SIGKILL || sig == SIGSTOP))) {
    errno = EINVAL;
    return -1;
  }
  if (act) hd__change(HD_STATE_HANDLER, (uint32_t)sig, HD_CALLER);
  struct sigaction new, before = theirs[sig];
  if (act) {
    new = *act;
    set(sig, &new);
  }
  if (old) *old = before;
  return 0;
}

HD_EXPORT sighandler_t signal(int sig, sighandler_t fn) {
  if (!hot.active) return real_signal(sig, fn);
  struct sigaction a = {.sa_handler = fn, .sa_flags = SA_RESTART}, old;
  return sigaction(sig, &a, &old) ? SIG_ERR : old.sa_handler;
}

/* ---- alternate stacks ---- */

/* Handlers run on the stack of their thread, which has room for them; the kernel's alternate stack is ours. */
long hd__altstack_call(const long *a) {
  const stack_t *new = (const stack_t *)a[0];
  stack_t *old = (stack_t *)a[1], before = rt.cur->sig.alt;
  if (!before.ss_sp) before.ss_flags = SS_DISABLE;
  if (new) {
    int flags = new->ss_flags & ~(int)(1u << 31); /* SS_AUTODISARM */
    if (flags && flags != SS_DISABLE && flags != SS_ONSTACK) return -EINVAL;
    if (flags != SS_DISABLE && new->ss_size < SMALLEST_STACK) return -ENOMEM;
    rt.cur->sig.alt =
        flags == SS_DISABLE ? (stack_t){0} : (stack_t){.ss_sp = new->ss_sp, .ss_size = new->ss_size};
  }
  if (old) {
    hd__snapshot_touch((uint64_t)old, sizeof *old);
    *old = before;
  }
  return 0;
}

/* ---- signals from outside ---- */

/* A signal without a handler that a thread masks must not end the process. */
void hd__signals_expect(void) {
  uint64_t masked = 0;
  for (unsigned i = 0; i < rt.nthreads; i++) masked |= rt.thread[i].sig.mask;
  for (int sig = 1; sig < NSIG_; sig++)
    if (masked >> (sig - 1) & 1 && !is_caught(sig) && !changed[sig] && !handles(&theirs[sig])) {
      changed[sig] = any_changed = true;
      hd__signal_install(sig, on_signal);
    }
}

bool hd__signals_expected(void) {
  for (unsigned i = 0; i < rt.nthreads; i++)
    if (rt.thread[i].sig.waits) return true;
  for (int sig = 1; sig < NSIG_; sig++)
    if (handles(&theirs[sig]) && !is_caught(sig)) return true;
  return false;
}

void hd__signals_child(long pid) {
  siginfo_t info = hd__signal_info(SIGCHLD, CLD_EXITED);
  info.si_pid = (pid_t)pid;
  hd__inexact(HD_INEXACT_OUTSIDE, rt.cur->op.pc);
  hd__signal_arrive(hd__signal_taker(SIGCHLD), &info);
}

bool hd__signals_arrived(void) { return outside_set; }

bool hd__signals_outside(void) {
  bool any = outside_set;
  while (outside_set) {
    int sig = __builtin_ctzll(outside_set) + 1;
    outside_set &= outside_set - 1;
    if (!handles(&theirs[sig]) && hd__signal_taker(sig) &&
        !(hd__signal_taker(sig)->sig.waits >> (sig - 1) & 1)) {
      hd__signal_default(sig); /* as it would have without us */
      hd_sys3(SYS_tgkill, hd_sys3(SYS_getpid, 0, 0, 0), hd_sys3(SYS_gettid, 0, 0, 0), sig);
    }
    hd__inexact(HD_INEXACT_OUTSIDE, rt.cur->op.pc);
    hd__signal_arrive(hd__signal_taker(sig), &outside[sig]);
  }
  return any && rt.nenabled;
}

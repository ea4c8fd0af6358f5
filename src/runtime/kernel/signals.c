/* signals.c: faults and fatal signals of the tested program become findings. Runs in the tested process, on an
 * alternate stack. The program's own handlers for these signals are kept here and called by ours. */
#include <errno.h>
#include <sys/mman.h>

#include "runtime/core/core.h"
#include "runtime/core/drive.h"
#include "runtime/core/finding.h"
#include "runtime/core/ident.h"
#include "runtime/core/record.h"
#include "runtime/core/spin.h"
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

static const int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, HD_SIG_HANG};
static struct sigaction theirs[NSIG_], theirs_start[NSIG_];
static bool changed[NSIG_]; /* dispositions of other signals the program changed */
static bool any_changed;
static uint64_t first_mask; /* of the process when control started */

static bool is_caught(int sig) {
  for (unsigned i = 0; i < sizeof caught / sizeof *caught; i++)
    if (caught[i] == sig) return true;
  return sig == SIGSYS;
}

static void set_raw(int sig, const struct kernel_sigaction *a) { hd_sys4(SYS_rt_sigaction, sig, a, 0, 8); }

void hd__signal_default(int sig) {
  struct kernel_sigaction plain = {0};
  set_raw(sig, &plain);
}

void hd__signal_install(int sig, void (*fn)(int, siginfo_t *, void *)) {
  struct kernel_sigaction a = {fn, SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTORER_, hd_arch_sigreturn, 0};
  if (sig == HD_SIG_HANG) a.flags |= SA_RESTART;
  set_raw(sig, &a);
}

/* ---- what a fault means ---- */

static bool in_stack_guard(uint64_t addr, uint64_t sp) {
  const struct hd_ident *id = rt.cur->ident;
  if (!id) return hd__first_stack_overflow(addr, sp);
  uint64_t lo = (uint64_t)id->stack_lo;
  return addr >= lo - id->guard - 65536 && addr < lo + 4096 && sp < lo + 65536;
}

static void fault(int sig, siginfo_t *info, ucontext_t *uc) {
  uint64_t addr = (uint64_t)info->si_addr, pc = hd_sig_pc(uc);
  bool has_addr = sig == SIGSEGV || sig == SIGBUS;
  unsigned kind = sig == HD_SIG_HANG                                ? HD_KIND_HANG
                  : has_addr && in_stack_guard(addr, hd_sig_sp(uc)) ? HD_KIND_STACK_OVERFLOW
                                                                    : HD_KIND_CRASH;
  /* A hang is wherever the program happens to be: the function it hangs in identifies it. */
  uint64_t key = kind == HD_KIND_CRASH ? pc : hot.call > rt.cur->calls ? hot.call[-1].pc : pc;
  if (kind == HD_KIND_HANG && rt.nstopped) hd__thread_stop(); /* it may wait for a stopped thread */
  if (hot.log && has_addr) hd__record_fault(addr);
  struct hd_finding_rec *f = hd__finding(kind, key, 0);
  if (!f) hd__thread_stop();
  f->signal = sig == HD_SIG_HANG ? 0 : sig;
  f->fault_addr = has_addr ? addr : 0;
  struct hd_site *s = hd__finding_site(f, HD_ROLE_AT, rt.cur->id, HD_OP_NONE);
  hd__site_fault(s, pc, hd_sig_sp(uc));
  s->object = has_addr ? addr : 0;
  if (has_addr) hd__site_block(f, addr);
  hd__finding_done(f, true);
}

static void handler(int sig, siginfo_t *info, void *uc) {
  if (sig == SIGSEGV && info->si_code > 0 && hd_sig_is_write(uc) &&
      hd__snapshot_fault((uint64_t)info->si_addr))
    return;
  if (hd_arch_peek_fault(uc)) return;
  if (sig == SIGSEGV && info->si_code == SI_KERNEL && hd__tsc_fault(uc)) return;
  if (sig == HD_SIG_HANG && info->si_code == SI_TIMER) {
    hd__spin_tick(hd_sig_pc(uc), hd_sig_sp(uc));
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
  struct sigaction *t = &theirs[sig];
  if (sig != HD_SIG_HANG && t->sa_handler != SIG_DFL && t->sa_handler != SIG_IGN) {
    if (t->sa_flags & SA_SIGINFO)
      t->sa_sigaction(sig, info, uc);
    else
      t->sa_handler(sig);
    return;
  }
  if (t->sa_handler == SIG_IGN && info->si_code <= 0) return;
  fault(sig, info, uc);
}

static char *alt_stack;

bool hd__on_signal_stack(uint64_t sp) { return sp - (uint64_t)alt_stack < ALT_STACK; }

void hd__signals_init(void) {
  char *st = alt_stack = hd__map(ALT_STACK);
  stack_t ss = {.ss_sp = st, .ss_size = ALT_STACK};
  if (!st || hd_sys3(SYS_sigaltstack, &ss, 0, 0) < 0)
    hd__fail(HD_RTE_ENVIRONMENT, 0, "no memory for the signal stack");
  /* wrap/signal.c keeps the masks; the kernel must not block the faults that the snapshot needs. */
  uint64_t none = 0;
  hd_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &none, &first_mask, 8);
  for (unsigned i = 0; i < sizeof caught / sizeof *caught; i++) {
    real_sigaction(caught[i], NULL, &theirs[caught[i]]);
    if (rt.callback)
      theirs[caught[i]] = (struct sigaction){0}; /* the test framework's handlers would leave the body */
    theirs_start[caught[i]] = theirs[caught[i]];
    hd__signal_install(caught[i], handler);
  }
}

uint64_t hd__first_mask(void) { return first_mask; }

void hd__signals_native(void) {
  for (unsigned i = 0; i < sizeof caught / sizeof *caught; i++)
    real_sigaction(caught[i], &theirs[caught[i]], NULL);
  hd__signal_default(SIGSYS);
}

void hd__signals_begin(void) {
  for (unsigned i = 0; i < sizeof caught / sizeof *caught; i++) theirs[caught[i]] = theirs_start[caught[i]];
  for (int s = 1; any_changed && s < NSIG_; s++)
    if (changed[s]) {
      real_sigaction(s, &theirs_start[s], NULL);
      changed[s] = false;
    }
  any_changed = false;
}

void hd__self_signal(int sig, uint64_t pc) {
  struct sigaction *t = &theirs[sig];
  char text[80];
  hd__format(text, sizeof text, "the program sent itself signal %d", (int64_t)sig);
  struct sigaction now;
  if (!is_caught(sig)) {
    real_sigaction(sig, NULL, &now);
    t = &now;
  }
  if (t->sa_handler != SIG_DFL) return;
  if (sig == SIGCHLD || sig == SIGCONT || sig == SIGURG || sig == SIGWINCH || sig == SIGSTOP ||
      sig == SIGTSTP)
    return;
  struct hd_finding_rec *f = hd__finding(sig == SIGABRT ? HD_KIND_ABORT : HD_KIND_CRASH, pc, 0);
  if (f) {
    f->signal = sig;
    hd__format(f->text, sizeof f->text, "%s", text);
    hd__site_stack(hd__finding_site(f, HD_ROLE_AT, rt.cur->id, HD_OP_NONE), rt.cur, pc);
    hd__finding_done(f, true);
  }
  hd__thread_stop();
}

/* ---- the functions ---- */

HD_EXPORT int sigaction(int sig, const struct sigaction *act, struct sigaction *old) {
  if (!hot.active) return real_sigaction(sig, act, old);
  if (sig < 1 || sig >= NSIG_) {
    errno = EINVAL;
    return -1;
  }
  if (is_caught(sig)) {
    if (old) *old = theirs[sig];
    if (act) theirs[sig] = *act;
    return 0;
  }
  if (act && !changed[sig]) {
    real_sigaction(sig, NULL, &theirs_start[sig]);
    changed[sig] = any_changed = true;
  }
  return real_sigaction(sig, act, old);
}

HD_EXPORT sighandler_t signal(int sig, sighandler_t fn) {
  if (!hot.active) return real_signal(sig, fn);
  struct sigaction a = {.sa_handler = fn, .sa_flags = SA_RESTART}, old;
  sigemptyset(&a.sa_mask);
  return sigaction(sig, &a, &old) ? SIG_ERR : old.sa_handler;
}

HD_EXPORT int raise(int sig) {
  if (hot.active && sig > 0 && sig < NSIG_ && rt.cur->sig.mask >> (sig - 1) & 1) {
    rt.cur->sig.pending |= 1ull << (sig - 1); /* until it is unmasked or waited for */
    return 0;
  }
  if (hot.active && sig > 0 && sig < NSIG_) hd__self_signal(sig, HD_CALLER);
  return real_raise(sig);
}

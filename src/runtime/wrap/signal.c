/* signal.c: sending signals, pending ones, and their handlers. Runs in the tested process.
 *
 * One kernel thread runs everything, so masks, handlers and pending signals are kept here; the kernel never sees a signal
 * that the program sends to itself. signal_wait.c has the calls that wait for signals, kernel/signals.c the dispositions.
 *
 * Invariants
 *  1. A thread handles a signal that it has noticed before anything else: the operation that sends the signal, or
 *     signal_late.c after it, puts a HANDLE
 *     in the place of what the thread is about to do, whether it can do that or waits for it. Afterwards the thread
 *     does it, or waits again, or its call returns EINTR. So the order of the sending and of the thread's operations
 *     decides where the handler runs.
 *  2. A signal to the process goes to one of the threads that do not mask it or that wait for it; which one is a choice. If
 *     there is none it is pending for the process, and the first thread that unmasks it or waits for it takes it.
 *  3. Real-time signals queue; of the others one is pending at most. The lowest number comes first.
 *  4. Memory that a handler and the code it interrupts both access becomes visible (memory/shadow.c), so that signals
 *  are taken
 *     at each of these accesses. */
#include <errno.h>
#include <unistd.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/objects.h"
#include "runtime/core/state.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/signal.h"
#include "runtime/wrap/access.h"
#include "runtime/wrap/wrap.h"

static HD_EXEC struct hd_signals process; /* pending for all threads */
static HD_EXEC uint32_t process_epoch;
HD_EXEC_LARGE uint64_t hd__signal_word[HD_MAX_THREADS];

static uint64_t bit(int sig) { return 1ull << (sig - 1); }

struct hd_signals *hd__process_signals(void) {
  if (process_epoch != rt.epoch) process = (struct hd_signals){0};
  process_epoch = rt.epoch;
  return &process;
}

void hd__signal_show(void) {
  uint64_t shared = hd__process_signals()->set;
  for (unsigned i = 0; i < rt.nthreads; i++)
    hd__signal_word[i] = (rt.thread[i].sig.pending.set | shared) & rt.thread[i].sig.mask;
}

/* Returns false if it merges with one that is pending. */
static bool put(struct hd_signals *s, const siginfo_t *info, bool anyone) {
  int sig = info->si_signo;
  struct hd_signal **end = &s->first;
  if (sig < 32 && (s->set & bit(sig))) return false; /* invariant 3 */
  while (*end) end = &(*end)->next;
  *end = hd_arena_get(&rt.arena, sizeof **end);
  HD_BUG_ON(!*end);
  **end = (struct hd_signal){.info = *info, .anyone = anyone};
  s->set |= bit(sig);
  hd__io_signalled();
  return true;
}

bool hd__signal_take(struct hd_signals *s, uint64_t of, siginfo_t *out) {
  if (!(s->set & of)) return false;
  int sig = __builtin_ctzll(s->set & of) + 1;
  struct hd_signal **p = &s->first;
  bool found = false, more = false;
  while (*p) {
    if ((*p)->info.si_signo != sig || found) {
      more |= (*p)->info.si_signo == sig;
      p = &(*p)->next;
      continue;
    }
    *out = (*p)->info;
    *p = (*p)->next;
    found = true;
  }
  if (!more) s->set &= ~bit(sig);
  return found;
}

/* ---- handlers ---- */

bool hd__signal_handled(int sig) {
  const struct sigaction *a = hd__disposition(sig);
  return a->sa_handler != SIG_IGN && a->sa_handler != SIG_DFL;
}

/* Returns whether an interrupted call is made again. */
static bool run_handler(const siginfo_t *info) {
  struct hd_thread *t = rt.cur;
  int saved = errno, sig = info->si_signo;
  if (rt.nunjoined) {
    if (hd__disposition(sig)->sa_flags & (int)SA_RESETHAND)
      hd__change(HD_STATE_HANDLER, (uint32_t)sig, t->op.pc);
    else
      hd__lookup(HD_STATE_HANDLER, (uint32_t)sig, t->op.pc);
  }
  struct sigaction a = *hd__disposition(sig);
  if (a.sa_handler == SIG_IGN) return true;
  if (a.sa_handler == SIG_DFL) {
    hd__self_signal(sig, t->op.pc);
    return true;
  }
  if (a.sa_flags & (int)SA_RESETHAND) hd__disposition_reset(sig);
  uint64_t mask = t->sig.mask, floor = t->sig.floor;
  bool silent = t->silent;
  t->silent = false;
  t->sig.ran++;
  t->handled = true;
  t->sig.handling++;
  t->sig.floor = (uint64_t)__builtin_frame_address(0);
  t->sig.mask |= hd__signal_bits(&a.sa_mask) | (a.sa_flags & SA_NODEFER ? 0 : bit(sig));
  hd__new_segment(t); /* invariant 4: the fast path must not hide what the handler accesses */
  errno = saved;      /* what the handler makes of it stays, as in any interrupted code */
  if (a.sa_flags & SA_SIGINFO) {
    siginfo_t copy = *info;
    ucontext_t context = {0};
    hd_sig_fill(&context, t->op.pc, (uint64_t)__builtin_frame_address(0));
    hd__copy(&context.uc_sigmask, &mask, sizeof mask);
    context.uc_stack = t->sig.alt;
    a.sa_sigaction(sig, &copy, &context);
    hd__copy(&mask, &context.uc_sigmask, sizeof mask); /* a handler may change it there */
  } else {
    a.sa_handler(sig);
  }
  if (errno != saved)
    hd__access_range((uint64_t)&errno, sizeof errno, HD_A_WRITE, t->op.pc); /* by libc, maybe */
  hd__new_segment(t);
  t->sig.handling--;
  t->sig.floor = floor;
  t->sig.mask = mask;
  t->silent = silent;
  return a.sa_flags & SA_RESTART;
}

/* Runs the handlers of pending signals. Returns whether an interrupted call is made again. */
static bool deliver(void) {
  struct hd_thread *t = rt.cur;
  uint64_t sp = hot.sp, regs[6]; /* the program's state at the hook that led here, for spin.c */
  struct hd_op op = t->op;
  void *context = t->sys.context; /* of the call that is interrupted; a handler makes calls of its own */
  bool point = t->sys.point, done = t->sys.done, again = true;
  siginfo_t info;
  hd__copy(regs, hot.regs, sizeof regs);
  t->sys.context = NULL;
  t->sig.late = 0;
  for (;;) {
    if (hd__signal_take(&t->sig.pending, ~t->sig.mask, &info))
      hd__acquire(&t->sig.vc);
    else if (hd__signal_take(hd__process_signals(), ~t->sig.mask, &info))
      hd__acquire(&process.vc);
    else
      break;
    hd__signal_show();
    again &= run_handler(&info);
  }
  t->op = op;
  t->sys.context = context;
  t->sys.point = point;
  t->sys.done = done;
  hot.sp = sp;
  hd__copy(hot.regs, regs, sizeof regs);
  return again;
}

void hd__signals_deliver(void) { deliver(); }

void hd__signal_event(unsigned flags) {
  if (rt.cur->sig.timed) flags |= HD_EV_LATE;
  rt.cur->sig.timed = false;
  hd__event(flags);
}

void hd__signals_noticed(void) { hd__signal_notice(rt.cur); }

void hd__signal_notice(struct hd_thread *t) {
  uint64_t late = t->sig.late & ~t->sig.mask;
  siginfo_t info;
  t->sig.late = 0;
  while (hd__signal_take(hd__process_signals(), late, &info)) {
    hd_vc_join(&rt.arena, &t->sig.vc, &process.vc);
    put(&t->sig.pending, &info, true);
  }
}

bool hd__interrupted(void) {
  struct hd_thread *t = rt.cur;
  if (HD_LIKELY(!t->sig.taken)) return false;
  struct hd_op op = t->sig.op;
  bool blocked = t->sig.blocked, expired = t->sig.expired;
  unsigned section = t->sig.section;
  t->sig.taken = false;
  hd__signal_event(0);
  bool stays = t->sig.window && !blocked; /* what it waits for is there: its call returns that */
  bool again = stays || deliver();
  t->op = op;
  t->section = section;
  t->sig.blocked = blocked;
  t->sig.expired = expired;
  t->sig.restarts = again || !blocked;
  return true;
}

bool hd__handled_before(void) {
  struct hd_op op = rt.cur->op;
  hd__point_open(HD_OP_CHOOSE, 0, 0, op.pc);
  unsigned before = hd__choose(2);
  hd__event(0);
  rt.cur->op = op;
  return before;
}

/* First code that a thread runs in which a handler comes before an operation that it does not wait for. */
static void hd_rt_handle(void) {
  struct hd_thread *t = rt.cur;
  uint64_t waits = t->sig.waits;
  struct hd_io *io = t->sys.io; /* it was cancelled there */
  bool at_point = t->cancel.at_point, taken = t->cancel.taken, expired = t->timer.expired;
  t->sig.waits = 0;
  t->sys.io = NULL;
  t->cancel.at_point = t->cancel.taken = t->timer.expired = false;
  hd__interrupted();
  t->sig.waits = waits;
  t->sys.io = io;
  t->cancel.at_point = at_point;
  t->cancel.taken = taken;
  t->timer.expired = expired;
  hd__cancel_again();
  hd__step();
}

/* ---- sending ---- */

static bool alive(const struct hd_thread *t) { return t->state == HD_T_READY || t->state == HD_T_BLOCKED; }

/* A wait that one signal has ended takes no other. */
static bool takes(const struct hd_thread *t, int sig) {
  bool waits = (t->sig.waits & bit(sig)) && !(t->sig.pending.set & t->sig.waits);
  return alive(t) && (waits || !(t->sig.mask & bit(sig)));
}

static unsigned takers(int sig) {
  unsigned n = 0;
  for (unsigned i = 0; i < rt.nthreads; i++) n += takes(&rt.thread[i], sig);
  return n;
}

static struct hd_thread *taker(int sig, unsigned k) {
  for (unsigned i = 0; i < rt.nthreads; i++)
    if (takes(&rt.thread[i], sig) && !k--) return &rt.thread[i];
  return NULL;
}

struct hd_thread *hd__signal_taker(int sig) {
  return taker(sig, 0);
}

/* What the signal does to the thread: nothing now, ends its wait for it, or a handler runs. A call that has had an effect
 * continues first. */
enum { STAYS, GOES_ON, HANDLES };

bool hd__signal_interrupts(const struct hd_thread *t, int sig) {
  return alive(t) && !((t->sig.mask | t->sig.waits) & bit(sig)) && hd__signal_handled(sig);
}

static unsigned effect_on(const struct hd_thread *t, int sig) {
  if (alive(t) && (t->sig.waits & bit(sig))) return t->state == HD_T_BLOCKED ? GOES_ON : STAYS;
  if (!hd__signal_interrupts(t, sig)) return STAYS;
  return t->sig.taken || t->sys.done ? STAYS : HANDLES;
}

/* Whether it is about to do what it may have to wait for, or is in a queue. */
static bool waits(const struct hd_thread *t) {
  return !t->cancel.taken &&
         (hd_op_is(t->op.kind, HD_TRAIT_WAITS) || t->wait.at || t->sys.io || t->spin.waiting || t->aside.is);
}

/* A handler comes in the place of what the thread is about to do. One that waits for something stops waiting, and its
 * wrapper waits again (hd__interrupted). */
static void interrupt(struct hd_thread *t) {
  t->sig.op = t->op;
  t->sig.blocked = t->state == HD_T_BLOCKED;
  t->sig.expired = t->timer.expired;
  t->sig.section = t->section; /* it does not enter that for its handler */
  t->section = 0;
  if (waits(t))
    hd__leave_wait(t);
  else
    hd_arch_interpose(&t->ctx, hd_rt_handle);
  t->op = (struct hd_op){.kind = HD_OP_HANDLE, .thread = t->id, .object = t->id, .pc = t->op.pc};
  t->sig.taken = true;
  hd__enable(t);
}

/* Says in the running thread's operation what the signal does to another one. */
static unsigned announce(struct hd_thread *t, int sig) {
  struct hd_op *op = &rt.cur->op;
  unsigned effect = t && t != rt.cur && sig ? effect_on(t, sig) : STAYS;
  if (effect == HANDLES && waits(t)) hd__state_learn(HD_STATE_WAITS);
  if (t) op->object = t->id;
  op->cancel.thread = effect != STAYS ? t->id + 1u : 0;
  op->cancel.instead = effect == HANDLES ? &t->op : NULL;
  op->cancel.could = effect == HANDLES && t->state == HD_T_READY;
  return effect;
}

static void act(struct hd_thread *t, unsigned effect) {
  if (effect == GOES_ON) hd__enable(t);
  if (effect == HANDLES) interrupt(t);
}

void hd__signal_kick(struct hd_thread *t, int sig) {
  unsigned effect = announce(t, sig);
  hd__event(0);
  if (t) hd__signal_notice(t);
  act(t, effect);
}

/* The signal is pending for the thread, or for the process (NULL). */
static void arrive(struct hd_thread *t, const siginfo_t *info, bool anyone, unsigned effect) {
  put(t ? &t->sig.pending : hd__process_signals(), info, anyone);
  hd__signal_show();
  act(t, effect);
}

/* Whether it has no effect on those who do not mask it. */
static bool ignored(int sig) {
  const struct sigaction *a = hd__disposition(sig);
  return a->sa_handler == SIG_IGN || (a->sa_handler == SIG_DFL && hd__default_ignores(sig));
}

static void send_to_self(const siginfo_t *info, bool anyone) {
  struct hd_thread *t = rt.cur;
  int sig = info->si_signo;
  bool masked = t->sig.mask & bit(sig);
  if (!masked && ignored(sig)) hd__lookup(HD_STATE_HANDLER, (uint32_t)sig, t->op.pc);
  if (!masked && ignored(sig)) return;
  put(anyone ? hd__process_signals() : &t->sig.pending, info, anyone);
  hd__signal_show();
  hd__signals_deliver();
}

void hd__signal_point(struct hd_thread *t, int sig, uint64_t pc) {
  struct hd_thread *me = rt.cur;
  me->op = (struct hd_op){.kind = HD_OP_KILL,
                          .thread = me->id,
                          .size = (uint32_t)sig,
                          .object = t ? t->id : me->id,
                          .pc = pc,
                          .cancel.narrow = t && !hd__state_changes(HD_STATE_WAITS)};
  hd__step();
}

/* Whether one that was sent to the process has found its thread, which has not taken it yet (invariant 3). */
static bool is_on_its_way(int sig) {
  for (unsigned i = 0; sig < 32 && i < rt.nthreads; i++)
    for (const struct hd_signal *s = rt.thread[i].sig.pending.first; s && alive(&rt.thread[i]); s = s->next)
      if (s->anyone && s->info.si_signo == sig) return true;
  return false;
}

struct hd_thread *hd__signal_choose_taker(int sig) {
  unsigned n = takers(sig);
  return n ? taker(sig, hd__choose(n)) : NULL;
}

int hd__signal_send(struct hd_thread *t, const siginfo_t *info, uint64_t pc) {
  int sig = info->si_signo;
  bool anyone = !t;
  if (sig < 0 || sig > 64) return EINVAL;
  if (t == rt.cur || (!t && !rt.nunjoined)) {
    if (!sig) return 0;
    rt.cur->op.pc = pc;
    send_to_self(info, anyone);
    return 0;
  }
  struct hd_thread *me = rt.cur;
  hd__take_signals();
  if (sig) hd__state_learn(HD_STATE_SIGNALS); /* it may come before the receiver masks it, or after */
  hd__signal_point(t, sig, pc);
  if (anyone && sig && is_on_its_way(sig)) {
    announce(NULL, sig);
    hd__event(0);
    return 0;
  }
  if (anyone && sig) t = hd__signal_choose_taker(sig);
  bool late = t && t != me && sig && hd__signal_interrupts(t, sig) && hd__signal_is_late();
  unsigned effect = announce(late ? NULL : t, sig);
  if (t) me->op.object = t->id;
  hd__event(0);
  if (t && !alive(t)) return ESRCH;
  if (!sig) return 0;
  bool masked = !t || ((t->sig.mask | t->sig.waits) & bit(sig));
  if (!masked) hd__self_signal(sig, pc);
  if (!masked && ignored(sig)) return 0;
  hd_vc_join(&rt.arena, t ? &t->sig.vc : &hd__process_signals()->vc,
             &me->vc); /* what the sender has done comes first */
  hd__new_segment(me);
  if (!late) arrive(t, info, anyone, effect);
  if (late && put(anyone ? hd__process_signals() : &t->sig.pending, info, anyone))
    hd__signal_deliver_later(t, sig, anyone, pc);
  if (t == me) hd__signals_deliver();
  return 0;
}

void hd__signal_arrive(struct hd_thread *t, const siginfo_t *info) {
  unsigned effect = t ? effect_on(t, info->si_signo) : STAYS;
  if (effect != STAYS) t->sig.timed = true;
  arrive(t, info, true, effect);
}

/* What was sent to the process goes to another thread. */
void hd__signals_leave(void) {
  struct hd_thread *me = rt.cur;
  for (const struct hd_signal *s = me->sig.pending.first; s; s = s->next)
    if (s->anyone) {
      struct hd_thread *t = hd__signal_taker(s->info.si_signo);
      hd_vc_join(&rt.arena, t ? &t->sig.vc : &hd__process_signals()->vc, &me->sig.vc);
      arrive(t, &s->info, true, t ? effect_on(t, s->info.si_signo) : STAYS);
    }
}

siginfo_t hd__signal_info(int sig, int code) {
  siginfo_t i = {.si_signo = sig, .si_code = code};
  i.si_pid = (pid_t)hd__pid();
  i.si_uid = (uid_t)hd_sys3(SYS_getuid, 0, 0, 0);
  return i;
}

/* glibc returns 0 when the thread has ended, joined or not. */
static int send_to(pthread_t th, const siginfo_t *info, uint64_t pc) {
  struct hd_thread *t = hd__thread_named(th);
  int e = t ? hd__signal_send(t, info, pc) : ESRCH;
  return e == ESRCH && t ? 0 : e;
}

HD_EXPORT int pthread_kill(pthread_t th, int sig) {
  if (!hot.active) return real_pthread_kill(th, sig);
  siginfo_t info = hd__signal_info(sig, SI_TKILL);
  return send_to(th, &info, HD_CALLER);
}

HD_EXPORT int pthread_sigqueue(pthread_t th, int sig, const union sigval value) {
  if (!hot.active) return real_pthread_sigqueue(th, sig, value);
  siginfo_t info = hd__signal_info(sig, SI_QUEUE);
  info.si_value = value;
  return send_to(th, &info, HD_CALLER);
}

HD_EXPORT int raise(int sig) {
  if (!hot.active) return real_raise(sig);
  siginfo_t info = hd__signal_info(sig, SI_TKILL);
  int e = sig < 1 || sig > 64 ? EINVAL : hd__signal_send(rt.cur, &info, HD_CALLER);
  if (!e) return 0;
  errno = e;
  return -1;
}

/* ---- masks ---- */

/* Which signals a thread masks decides who takes them. */
static int change_mask(int how, const sigset_t *set, sigset_t *old, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  uint64_t mask = t->sig.mask, bits = set ? hd__signal_bits(set) : 0;
  if (old) {
    hd__zero(old, sizeof *old);
    *(uint64_t *)old = mask;
  }
  if (!set) return 0;
  switch (how) {
    case SIG_BLOCK: mask |= bits; break;
    case SIG_UNBLOCK: mask &= ~bits; break;
    case SIG_SETMASK: mask = bits; break;
    default: return EINVAL;
  }
  mask &= ~(bit(SIGKILL) | bit(SIGSTOP));
  if (rt.nunjoined && (t->sig.mask & ~mask))
    hd__change(HD_STATE_SIGNALS, 0, pc); /* it may take what is pending for the process */
  else if (rt.nunjoined && mask != t->sig.mask)
    hd__lookup(HD_STATE_SIGNALS, t->id + 1u, pc);
  t->sig.mask = mask;
  if (hd__children_any()) hd__signals_expect();
  hd__signal_show();
  hd__signals_deliver();
  return 0;
}

long hd__signals_mask(int how, const uint64_t *set, uint64_t *old) {
  struct hd_thread *t = rt.cur;
  uint64_t mask = t->sig.mask;
  if (set && how == SIG_BLOCK)
    t->sig.mask |= *set;
  else if (set && how == SIG_UNBLOCK)
    t->sig.mask &= ~*set;
  else if (set && how == SIG_SETMASK)
    t->sig.mask = *set;
  else if (set)
    return -EINVAL;
  t->sig.mask &= ~(bit(SIGKILL) | bit(SIGSTOP));
  if (old) *old = mask;
  return 0;
}

void hd__signals_jump(uint64_t sp, const sigset_t *mask, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  if (t->sig.handling && sp > t->sig.floor) {
    t->sig.handling = 0;
    t->sig.floor = 0;
    hd__new_segment(t);
  }
  if (mask) change_mask(SIG_SETMASK, mask, NULL, pc);
}

HD_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
  READS(set, sizeof *set);
  WRITES(old, sizeof *old);
  return hot.active ? change_mask(how, set, old, HD_CALLER) : real_pthread_sigmask(how, set, old);
}

HD_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
  if (!hot.active) return real_sigprocmask(how, set, old);
  READS(set, sizeof *set);
  WRITES(old, sizeof *old);
  int e = change_mask(how, set, old, HD_CALLER);
  if (!e) return 0;
  errno = e;
  return -1;
}

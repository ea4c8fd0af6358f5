/* tick.c: threads that compute without reaching a scheduling point. Runs in the tested process; the tick itself on the
 * signal stack.
 *
 * A timer of processor time checks whether anything has happened. If not, the running thread may be
 *  - in a loop that waits by plain reads of memory that is not visible. Its next reads are checked, as those of visible
 *    memory are (spin.c). The moment depends on the timer, but not the outcome: all rounds of a waiting loop are alike.
 *  - in a loop without end, which only another thread ends: by exit, a cancellation, a signal. It is put aside, in the
 *    middle of its step, and the others go on. When none of them can, it does. If it is proved then that the loop has no
 *    end (endless.c), that is a hang.
 *
 * Invariants
 *  1. Putting a thread aside, and going on with it, is neither a step nor an event: how far a thread has come between two of
 *     its operations makes no difference to others.
 *  2. A thread is put aside only where it was proved that it computes without end, or where one is known to: it did so for
 *     MANY ticks, or until the watchdog noticed, while something else could have happened. Such places are learned like visible memory, so that every later
 *     execution and a replay put the thread aside there, too. What happens does not depend on when the ticks come, as long
 *     as a thread that computes there does so for FEW ticks at least.
 *  3. Without a proof, a thread is put aside in code of the program, or before a system call, as at a scheduling point: the
 *     runtime, and libraries that may hold locks of their own, are not interrupted elsewhere. */
#include <time.h>

#include "runtime/core/core.h"
#include "runtime/core/endless.h"
#include "runtime/core/finding.h"
#include "runtime/core/modules.h"
#include "runtime/core/spin.h"
#include "runtime/core/tick.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

#define TICK_NS 100000000l
#define SOON_NS 50000l
#define WATCHED 64
#define PROVE 2 /* ticks before a proof is tried that the thread computes without end */
#define FEW 4   /* before a thread is put aside at a known place */
#define AGAIN 5 /* before a hang is one where another execution has hung */
#define MANY 20 /* before a place is learned */

static int soon; /* a timer of real time, which is finer; NONE: not created yet, REFUSED */
#define NONE -1
#define REFUSED -2
static unsigned ticks; /* in which nothing has happened */
static struct { unsigned at, until; /* ticks between which a proof is tried; 0: PROVE */ } proof;
static uint64_t
    due; /* the running thread is put aside soon, if it has done nothing since: rt.events, plus 1 */

static bool new_timer(long clock, int *id) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = HD_SIG_HANG};
  event._sigev_un._tid = (int)hd_sys3(SYS_gettid, 0, 0, 0);
  return hd_sys3(SYS_timer_create, clock, &event, id) == 0;
}

void hd__tick_start(void) {
  struct itimerspec every = {{0, TICK_NS}, {0, TICK_NS}};
  int id = 0;
  if (new_timer(CLOCK_THREAD_CPUTIME_ID, &id)) hd_sys4(SYS_timer_settime, id, 0, &every, 0);
  soon = NONE; /* that of a parent is not inherited */
}

/* The program was interrupted in a hook: tries again after a moment, not always the same one. */
static void try_soon(void) {
  static unsigned tries;
  struct itimerspec once = {{0, 0}, {0, SOON_NS + tries++ % 64 * SOON_NS / 64}};
  due = rt.events + 1;
  if (soon == NONE && !new_timer(CLOCK_MONOTONIC, &soon)) soon = REFUSED;
  if (soon >= 0) hd_sys4(SYS_timer_settime, soon, 0, &once, 0);
}

/* A name for what the running thread computes: which thread, since which operation. */
static uint64_t place(void) {
  return 1ull << 61 | hd_mix64(rt.cur->op.pc + ((uint64_t)rt.cur->id << 48) + 1) >> 4; /* no address */
}

/* Those that this process has seen: an execution that is run again from the same knowledge need not take as long. */
#define PLACES 64
static uint64_t seen[PLACES];
static unsigned nseen;

static bool is_known(uint64_t p) {
  for (unsigned i = 0; i < nseen && i < PLACES; i++)
    if (seen[i] == p) return true;
  return hd__spin_known(p);
}

/* Whether something else may happen while the running thread is aside. */
static bool others(void) {
  return rt.nenabled > (rt.cur->state == HD_T_READY) || rt.ntimed || rt.nio || rt.nspinning ||
         hd__alarm_next() != HD_FOREVER || hd__signals_arrived() || hd__children_any();
}

static bool goes_on(const struct hd_thread *t) { return t->aside.is && t->state == HD_T_BLOCKED; }

/* Whether another thread that was put aside has not gone on since the last event. */
static bool others_aside(void) {
  for (unsigned i = 0; i < rt.nthreads && rt.naside; i++)
    if (goes_on(&rt.thread[i]) && rt.thread[i].aside.until <= rt.events) return true;
  return false;
}

/* On the thread's own stack. */
static void step_aside(ucontext_t *uc) {
  struct hd_thread *t = rt.cur;
  struct hd_op op = t->op;
  bool at_point = t->cancel.at_point;
  ticks = 0;
  t->aside.is = true;
  rt.naside++;
  rt.watched = 0;
  t->cancel.at_point = t->anywhere;
  t->op = (struct hd_op){.kind = HD_OP_NONE, .thread = t->id, .pc = op.pc};
  hd__disable(t);
  hd__step_aside();
  rt.naside--;
  t->aside.is = false;
  if (t->cancel.taken) {
    t->cancel.taken = t->cancel.at_point = false;
    hd__event(0);
    hd__cancel();
  }
  t->cancel.at_point = at_point;
  hd__interrupted();
  t->op = op;
  ticks = 0;
  hd__keep_mask(uc);
}

static void hd_rt_aside(ucontext_t *uc) {
  if (!is_known(place())) seen[nseen++ % PLACES] = place();
  hd__learn(place());
  step_aside(uc);
}

static void hd_rt_aside_proved(ucontext_t *uc) { step_aside(uc); }

static void hd_rt_aside_before_call(ucontext_t *uc) {
  hd_rt_aside(uc);
  hd_sig_again(uc);
}

/* Puts the running thread aside, now or soon. Returns false when it is not to be. */
static bool put_aside(const ucontext_t *uc) {
  if (!hot.active || rt.section || rt.event_due || rt.events < rt.cur->aside.until ||
      hd__on_signal_stack(hd_sig_sp(uc)) || !others())
    return false;
  if (hd__user_text(hd_sig_pc(uc))) hd_arch_leave_handler(uc, hd_rt_aside);
  try_soon();
  return true;
}

void hd__tick_call(const ucontext_t *uc) {
  bool now = due == rt.events + 1;
  due = 0;
  if (!now || !hot.active || rt.section || rt.event_due || hd__on_signal_stack(hd_sig_sp(uc)) || !others())
    return;
  hd_arch_leave_handler(uc, hd_rt_aside_before_call);
}

bool hd__tick_due(void) { return due; }

void hd__tick_endless(ucontext_t *uc) {
  bool first = rt.events >= rt.cur->aside.until && others();
  if (!rt.section && (first || others_aside())) hd_arch_leave_handler(uc, hd_rt_aside_proved);
  hd__report_hang(uc, true);
}

/* Whether a proof is under way; begins one now and then. It takes about a third of the time. */
static bool proves(ucontext_t *uc) {
  if (hd__endless_tries()) {
    if (ticks < proof.until) return true;
    hd__endless_stop(uc);
    proof.at = ticks * 2;
    return false;
  }
  if (ticks <= PROVE) proof.at = PROVE;
  if (ticks < proof.at || rt.event_due || hd__private_depth || hd__on_signal_stack(hd_sig_sp(uc)))
    return false;
  proof.until = ticks + (ticks + 1) / 2;
  hd__endless_begin(uc);
  return true;
}

/* Where another execution has hung, this one is given up: waiting for the watchdog would tell nothing new. */
static void give_up(ucontext_t *uc) {
  if (ticks < AGAIN || others() || others_aside() || !hd__hang_known(uc)) return;
  hd__report_hang(uc, false);
}

void hd__tick(ucontext_t *uc) {
  static uint64_t before;
  uint64_t now = rt.events + ((uint64_t)rt.seg_base << 32), pc = hd_sig_pc(uc), sp = hd_sig_sp(uc);
  bool still = now == before;
  before = now;
  if (!still || !hot.active) {
    ticks = 0;
    hd__endless_stop(uc);
    return;
  }
  ticks++;
  if (proves(uc)) return;
  give_up(uc);
  if (ticks >= (is_known(place()) ? FEW : MANY) && put_aside(uc)) ticks--;
  rt.watched = WATCHED;
  /* A tag that no thread has makes the fast path fail. Only while the program or a hook runs, not the rest of the
   * runtime. */
  if (hd__user_text(pc) || hd__user_text(*(const uint64_t *)sp)) hot.tag |= 0x8000;
}

bool hd__tick_hang(const ucontext_t *uc) {
  if (ticks < FEW || !put_aside(uc)) return false;
  ticks = MANY;
  return true;
}

struct hd_thread *hd__aside_next(void) {
  for (unsigned i = 0; i < rt.nthreads; i++) {
    struct hd_thread *t = &rt.thread[i];
    if (!goes_on(t) || (t->aside.until > rt.events && others_aside())) continue;
    t->aside.until = rt.events + 1;
    rt.status->heartbeat++; /* the watchdog waits as long again */
    hd__enable(t);
    return t;
  }
  return NULL;
}

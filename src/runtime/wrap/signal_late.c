/* signal_late.c: signals that are on their way. Runs in the tested process.
 *
 * A thread that runs on another processor notices a signal only when the kernel interrupts it. Until then it goes on, also
 * with what it knows from the sender's next operations. It has noticed all signals when it comes back from a system call.
 *
 * Invariants
 *  1. As long as no sender does anything after a signal that others can see, no thread can tell whether it noticed the
 *     signal at once: then it does. The search restarts when an execution shows that a sender does (HD_STATE_LATE).
 *  2. From then on a thread of ours carries the signal. Its only operation is the one by which signal.c interrupts a thread,
 *     so the search decides when it comes, in relation to what the receiver does.
 *  3. A signal on its way is pending: whoever unmasks or waits for it takes it. A signal to the process has its
 *     thread already. If that has ended or masks the signal by then, another one is chosen. */
#include "runtime/core/core.h"
#include "runtime/core/state.h"
#include "runtime/kernel/kernel.h"
#include "runtime/wrap/signal.h"
#include "runtime/wrap/wrap.h"

struct carried {
  struct hd_thread *to;
  uint64_t pc;
  int sig;
  bool anyone; /* it was sent to the process */
};

static uint64_t bit(int sig) { return 1ull << (sig - 1); }

/* Others see nothing of what only looks, and of the end of a thread only who joins it; nobody sees that of the process. */
static bool is_seen(const struct hd_op *op) {
  if (hd_op_effect(op->kind, 0) == HD_EFF_END) return false;
  unsigned effects =
      hd_effect_properties[hd_op_effect(op->kind, 0)] | hd_effect_properties[hd_op_second(op->kind, 0)];
  return op->kind != HD_OP_EXIT && (effects & HD_EFF_CHANGES);
}

void hd__signal_followed(void) {
  if (!rt.cur->sig.sent || !is_seen(&rt.cur->op)) return;
  hd__state_learn(HD_STATE_LATE);
  rt.sent = false;
}

bool hd__signal_is_late(void) {
  if (hd__state_changes(HD_STATE_LATE)) return true;
  rt.sent = rt.cur->sig.sent = true;
  return false;
}

static void *hd_rt_carry(void *arg) {
  const struct carried *c = arg;
  struct hd_thread *t = c->to;
  hd__signal_point(c->anyone ? NULL : t, c->sig, c->pc);
  bool there = t->sig.late & bit(c->sig);
  if (c->anyone && (!there || !hd__signal_interrupts(t, c->sig))) {
    t = hd__process_signals()->set & bit(c->sig) ? hd__signal_choose_taker(c->sig) : NULL;
    if (t) t->sig.late |= bit(c->sig);
    there = t;
  }
  hd__signal_kick(there ? t : NULL, c->sig);
  return NULL;
}

void hd__signal_deliver_later(struct hd_thread *t, int sig, bool anyone, uint64_t pc) {
  pthread_t thread;
  struct carried *c = hd_arena_get(&rt.arena, sizeof *c);
  HD_BUG_ON(!c);
  *c = (struct carried){t, pc, sig, anyone};
  t->sig.late |= bit(sig);
  hd__signal_show();
  hd__start_detached(&thread, hd_rt_carry, c, pc);
  hd__thread_find(thread)->sig.mask = ~0ull;
}

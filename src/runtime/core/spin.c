/* spin.c: loops that wait for another thread by reading. Runs in the tested process.
 *
 * A thread returns to the same read of something atomic, volatile or visible (or to a failed trylock) with the same
 * registers and the same stack, has written nothing, and finds the values it read on the way unchanged. Then it
 * will do the same forever until another thread changes one of them. It is made to wait for that: its next
 * operation is a SPINWAIT, enabled exactly while one of the values differs. So a spin loop neither fills the
 * schedule with useless steps nor multiplies executions. When no thread is left that could change anything, that is
 * a livelock.
 *
 * Invariants
 *  1. A wait starts only when the local state equals, bit for bit, that of the previous round: a loop that counts
 *     its rounds is never delayed.
 *  2. At first a loop must make four rounds. Then its place is learned (like visible memory, in the same log) and
 *     one round is enough, in every later execution and in a replay alike.
 *  3. What a thread does here depends only on what it has read so far: memory is read only to decide whether the
 *     SPINWAIT is enabled. (Otherwise the search would miss that another thread's write decides.)
 *  4. What the loop reads is visible memory from then on, so that every write to it is an event.
 *  5. What lay on the stack before the first round, in places that the loop fills, must not matter: the runtime or
 *     an earlier execution left it there. If the state differs after the first round, that round is repeated
 *     without scheduling points. No other thread has run, so it does the same; from then on equal states are
 *     conclusive. If the first round executed other steps than its own read (a sleep), it just does not count. In
 *     rounds of a known loop yields are no scheduling points.
 *
 * Not recognised: state that only uninstrumented code keeps (a loop that ends by calling rand()). See
 * docs/soundness.md. */
#include <time.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/drive.h"
#include "runtime/core/modules.h"
#include "runtime/core/spin.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"

#define LEARN_ROUNDS 4
#define KNOWN_CAP 4096 /* a power of two */

static uint64_t known[KNOWN_CAP];
static unsigned nknown;

static uint64_t *known_slot(uint64_t pc) {
  unsigned i = (unsigned)(hd_mix64(pc) & (KNOWN_CAP - 1));
  while (known[i] && known[i] != pc) i = (i + 1) & (KNOWN_CAP - 1);
  return &known[i];
}

bool hd__spin_known(uint64_t pc) { return *known_slot(pc) == pc; }

void hd__spin_learn(uint64_t pc) {
  uint64_t *k = known_slot(pc);
  if (!*k && nknown < KNOWN_CAP / 2) {
    *k = pc;
    nknown++;
  }
}

void hd__spin_relearn(void) {
  hd__zero(known, sizeof known);
  nknown = 0;
  for (uint64_t i = 0; i < rt.status->visible_count; i++)
    if (rt.visible[i] & HD_VISIBLE_SPIN) hd__spin_learn(rt.visible[i] & ~HD_VISIBLE_SPIN);
}

static uint64_t value_at(uint64_t a, uint32_t size) {
  switch (size) {
    case 1: return *(const uint8_t *)a;
    case 2: return *(const uint16_t *)a;
    case 4: return *(const uint32_t *)a;
    case 8: return *(const uint64_t *)a;
    default: {
      uint64_t h = 0;
      for (uint32_t i = 0; i < size; i++) h = h * 31 + ((const uint8_t *)a)[i];
      return h;
    }
  }
}

#define FIRST_STACK (1ull << 30) /* more than the first thread's can be */
#define OTHER_STACK (64ull << 10)

/* The end of the stack that the thread is on. It may be one of the program's (a coroutine, pthread_attr_setstack), whose end
 * is not known: as much as can be read then, up to a limit. What is left out counts as memory like any other. */
static uint64_t stack_end(const struct hd_thread *t) {
  uint64_t sp = (uint64_t)__builtin_frame_address(0), unused;
  uint64_t end = t->ident ? (uint64_t)t->ident->frame : hd__first_stack_end();
  uint64_t lo = t->ident ? (uint64_t)t->ident->stack_lo : end - FIRST_STACK;
  if (sp >= lo && sp < end) return end;
  for (end = (sp | (HD_PAGE - 1)) + 1; end - sp < OTHER_STACK && hd_arch_peek(end, 1, &unused);)
    end += HD_PAGE;
  return end;
}

static bool own_stack(const struct hd_thread *t, uint64_t a) {
  uint64_t sp = (uint64_t)__builtin_frame_address(0);
  return a >= sp && a < stack_end(t);
}

/* The registers that survive a call, and the stack. */
static uint64_t local_state(const struct hd_thread *t) {
  uint64_t h = hot.sp;
  for (unsigned i = 0; i < 6; i++) h = hd_mix64(h ^ hot.regs[i]);
  for (const uint64_t *p = (const uint64_t *)hot.sp; (uint64_t)p < stack_end(t); p++)
    h = (h ^ *p) * 0x9e3779b97f4a7c15ull, h ^= h >> 32;
  return h;
}

void hd__spin_read(uint64_t a, uint32_t size) {
  struct hd_thread *t = rt.cur;
  struct hd_spin *s = &t->spin;
  if (!s->armed || size > 16) return;
  /* Its own stack is part of the local state, unless other threads access it, or nothing else is left to watch. */
  if (own_stack(t, a) && !rt.watched && !hd__shadow_visible(a, size)) return;
  for (unsigned i = 0; i < s->nread && i < HD_SPIN_READS; i++)
    if (s->read[i].addr == a) return;
  if (s->nread < HD_SPIN_READS) s->read[s->nread] = (struct hd_spin_read){a, value_at(a, size), size};
  s->nread++;
}

void hd__spin_wrote(uint64_t a) {
  if (!own_stack(rt.cur, a)) rt.cur->spin.writes++;
}

static bool changed(const struct hd_spin *s) {
  for (unsigned i = 0; i < s->nread; i++)
    if (value_at(s->read[i].addr, s->read[i].size) != s->read[i].value) return true;
  return false;
}

static void disarm(struct hd_spin *s) {
  rt.narmed -= s->armed;
  s->armed = false;
}

void hd__spin_stop(struct hd_thread *t) { disarm(&t->spin); }

/* Starts a round. */
static void start_round(struct hd_thread *t) {
  struct hd_spin *s = &t->spin;
  rt.narmed += !s->armed;
  s->armed = true;
  s->nread = s->events = 0;
  s->again = s->on = false;
  s->enabler = s->disabler = s->enabler_before = 0;
  hd__new_segment(t); /* the fast path must not hide what the loop reads and writes */
}

static void wait_for_change(struct hd_thread *t, uint64_t pc, bool fresh) {
  struct hd_spin *s = &t->spin;
  if (fresh) {
    hd__spin_learn(pc);
    hd__log_visible(pc | HD_VISIBLE_SPIN);
  }
  for (unsigned i = 0; i < s->nread; i++) hd__shadow_show(s->read[i].addr, s->read[i].size);
  t->op = (struct hd_op){.kind = HD_OP_SPINWAIT,
                         .thread = t->id,
                         .object = s->read[0].addr,
                         .pc = pc,
                         .ready.enabler = s->enabler,
                         .ready.disabler = s->disabler,
                         .ready.enabler_before = s->enabler_before,
                         .size = s->read[0].size};
  if (s->nread > 1) hd__inexact(HD_INEXACT_SPIN_PLACES, pc); /* the search knows of one place only */
  t->spin.waiting = true;
  rt.nspinning++;
  if (!s->on) hd__disable(t);
  hd__step();
  t->spin.waiting = false;
  rt.nspinning--;
  hd__event(0);
  disarm(s);
  s->rounds = 0;
  s->pc = 0;
}

bool hd__spin_idles(void) { return rt.cur->spin.armed && nknown && *known_slot(rt.cur->spin.pc); }

/* A plain read in a loop that has a better place to start a round is just one of its reads. */
#define MISSES 8
bool hd__spin_check_plain(uint64_t a, uint64_t pc) {
  struct hd_spin *s = &rt.cur->spin;
  bool inside = s->pc && s->pc != pc && s->round_writes == s->writes && !(nknown && *known_slot(pc));
  if (inside && s->misses++ < MISSES) return false;
  return hd__spin_check(a, pc);
}

bool hd__spin_check(uint64_t a, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  hd__take_signals(); /* a wait would delay them */
  struct hd_spin *s = &t->spin;
  bool is_known = nknown && *known_slot(pc);
  s->misses = 0;
  if (s->pc != pc || s->addr != a || s->round_writes != s->writes) {
    s->pc = pc;
    s->addr = a;
    s->round_writes = s->writes;
    s->rounds = 0;
    disarm(s);
    if (is_known) {
      s->state = local_state(t);
      start_round(t);
    }
    return false;
  }
  s->rounds++;
  /* Comparing states is expensive: a loop that does not wait is checked less and less often. */
  if (!is_known &&
      (s->rounds < LEARN_ROUNDS - 2 || (s->rounds > LEARN_ROUNDS && (s->rounds & (s->rounds - 1)) > 1))) {
    disarm(s);
    return false;
  }
  uint64_t now = local_state(t);
  bool watched = s->armed && s->nread >= 1 && s->nread <= HD_SPIN_READS;
  bool same = watched && now == s->state;
  s->state = now;
  if (is_known && s->rounds == 1) { /* invariant 5 */
    if (s->events > 1) same = false;
    if (watched && !same && s->events <= 1 && !changed(s)) {
      s->again = true;
      return true;
    }
  }
  if (s->again && !same)
    hd__inexact(HD_INEXACT_SPIN_ROUND, pc); /* it does not only wait: a scheduling point was left out */
  if (same && (is_known || s->rounds >= LEARN_ROUNDS))
    wait_for_change(t, pc, !is_known);
  else
    start_round(t);
  return false;
}

/* Another process may change memory that it shares with this one. Then waiting takes real time, and what the loop
 * reads is not caused by this program. Returns whether a thread can continue. If that never happens, the watchdog
 * ends the wait. */
bool hd__spin_outside(void) {
  bool shared = false;
  uint64_t pc = 0;
  for (unsigned i = 0; i < rt.nthreads && !shared; i++) {
    const struct hd_spin *s = &rt.thread[i].spin;
    for (unsigned k = 0; rt.thread[i].spin.waiting && k < s->nread && !shared; k++)
      shared = hd__snapshot_shared(s->read[k].addr);
    pc = rt.thread[i].op.pc;
  }
  if (!shared) return false;
  hd__inexact(HD_INEXACT_SHARED_MEMORY, pc);
  while (!rt.nenabled) {
    struct timespec ms = {0, 1000000};
    hd_sys4(SYS_nanosleep, &ms, 0, 0, 0);
    hd__spin_update();
  }
  return true;
}

/* ---- loops that wait by plain reads of memory that is not visible ---- */

/* They run in the fast path, where nothing counts them. A timer of processor time checks whether anything has
 * happened. If not, the next reads are checked, as those of visible memory are. The moment depends on the timer,
 * but not the outcome: all rounds of a waiting loop are alike. */

#define TICK_NS 100000000l
#define WATCHED 64

void hd__spin_clock(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = HD_SIG_HANG};
  struct itimerspec every = {{0, TICK_NS}, {0, TICK_NS}};
  int id = 0;
  event._sigev_un._tid = (int)hd_sys3(SYS_gettid, 0, 0, 0);
  if (hd_sys3(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &id) == 0)
    hd_sys4(SYS_timer_settime, id, 0, &every, 0);
}

void hd__spin_tick(uint64_t pc, uint64_t sp) {
  static uint64_t before;
  uint64_t now = rt.events + ((uint64_t)rt.epoch << 40);
  bool still = now == before;
  before = now;
  if (!still || !hot.active) return;
  rt.watched = WATCHED;
  /* A tag that no thread has makes the fast path fail. Only while the program or a hook runs, not the rest of the
   * runtime. */
  if (hd__user_text(pc) || hd__user_text(*(const uint64_t *)sp)) hot.tag |= 0x8000;
}

/* Called before every decision while any thread is armed: the event executed last is what changed the values. */
void hd__spin_update(void) {
  for (unsigned i = 0; i < rt.nthreads; i++) {
    struct hd_thread *t = &rt.thread[i];
    struct hd_spin *s = &t->spin;
    if (!s->armed || s->nread > HD_SPIN_READS || t->state == HD_T_DONE) continue;
    bool on = changed(s);
    if (on == s->on) continue;
    s->on = on;
    if (on) {
      s->enabler = (uint32_t)rt.events;
    } else {
      s->disabler = (uint32_t)rt.events;
      s->enabler_before = s->enabler;
    }
    if (!t->spin.waiting) continue;
    t->op.ready.enabler = s->enabler;
    t->op.ready.disabler = s->disabler;
    t->op.ready.enabler_before = s->enabler_before;
    if (on)
      hd__enable(t);
    else
      hd__disable(t);
  }
}

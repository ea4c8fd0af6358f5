/* spin.c: loops that wait for another thread. Runs in the tested process.
 *
 * A thread returns to the same access of something atomic, volatile or visible (or to a trylock, or the lock of a mutex)
 * with the same registers and the same stack, has changed nothing, and finds the values it read on the way unchanged.
 * Then it will do the same forever until another thread changes one of them. It is made to wait for that: its next
 * operation has a guard (model/order.h), and is enabled exactly while one of the values differs. That is an operation of
 * its own, a SPINWAIT, which reads all places and stands for the first read of the next round; or, if the round consists
 * of one operation that may change its place (compare-and-swap, exchange), that operation. So a spin loop neither fills
 * the schedule with useless steps nor multiplies executions. When no thread is left that could change anything, that is
 * a livelock.
 *
 * A round runs from one check at the anchor, an instruction and an address, to the next. If the anchor does not come
 * again, it moves; the number of checks that are let pass doubles, as in Brent's search for cycles ("An Improved Monte
 * Carlo Factorization Algorithm", 1980).
 *
 * Invariants
 *  1. A wait starts only when the local state equals, bit for bit, that of the previous round: a loop that counts
 *     its rounds is never taken for one that waits.
 *  2. At first a loop must make four rounds. Then its entry is learned (like visible memory, in the same log) and
 *     one round is enough, in every later execution and in a replay alike.
 *  3. What a thread does here depends only on what it has read so far: memory is read only to decide whether the
 *     operation with the guard is enabled. (Otherwise the search would miss that another thread's write decides.)
 *  4. What the loop waits for is visible memory from then on, so that every write to it is an event. What else it reads,
 *     of memory that is not visible, is compared at every decision while it waits: if it has changed since it was read, it
 *     becomes visible, and is waited for. Before that, the thread may have left the loop. If the loop reads nothing else,
 *     it waits for that memory from the start.
 *  5. What lay on the stack before a round, in places that the loop fills, must not matter: the runtime, an earlier
 *     execution, or a round that has read other values left it there. If the state differs after a round, that round
 *     is repeated without scheduling points, and finds the values again that it found: so it does the same, and from
 *     then on equal states are conclusive. If the first round did more than read (a sleep, a lock), it just does not
 *     count, nor does one that has read two values at one place. In rounds of a known loop yields and sleeps are no
 *     scheduling points.
 *     The state may also differ because it matters: the same code waits for one thing after another. The repetition then
 *     reads something else, or ends in another state. The execution is dropped, and it is learned that those registers and
 *     words of the stack matter: a round after which they differ is not repeated any more.
 *  6. A loop that does more, but finds the same value at its anchor again and again, lets others go first after some
 *     laps: as if it waited (invariant 4), but it continues when nothing else can run, too, with all that wait like it (Musuvathi,
 *     Qadeer, "Fair Stateless Model Checking", PLDI 2008). That it could have gone on is noted.
 *
 * Not recognised: state that only uninstrumented code keeps (a loop that ends by calling rand()). See
 * docs/soundness.md. */
#include "runtime/core/core.h"
#include "runtime/core/family.h"
#include "runtime/core/finding.h"
#include "runtime/core/drive.h"
#include "runtime/core/modules.h"
#include "runtime/core/spin.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"

#define LEARN_ROUNDS 4
#define WINDOW 8 /* checks elsewhere before the anchor moves, at first and at most */
#define WINDOW_MAX 64
#define MOVES 4
#define LAPS 32 /* rounds of a loop that does more than wait, before others go first */
#define LAPS_MAX \
  4096 /* what that doubles to, at most, while several loops wait; more where executions may be longer */
#define LAPS_LONG (1u << 22)
#define LAPS_ALONE (1u << 30)
#define LOCK_LAPS 64
#define ALIKE 2 /* the same for one that changes something, and is otherwise as in the round before */
#define MANY_LAPS 64
#define SOME_LAPS 16     /* of these, ALIKE + 1 are compared */
#define UNSEEN_LAPS 2000 /* the same where nobody else has accessed what it reads */
#define KNOWN_CAP 4096   /* a power of two */
#define LOCAL_TIMES \
  64 /* looks at a volatile variable on the own stack, unchanged, before it counts as shared */

static uint64_t known[KNOWN_CAP];
static unsigned nknown;

static uint64_t *known_slot(uint64_t pc) {
  unsigned i = (unsigned)(hd_mix64(pc) & (KNOWN_CAP - 1));
  while (known[i] && known[i] != pc) i = (i + 1) & (KNOWN_CAP - 1);
  return &known[i];
}

bool hd__spin_known(uint64_t pc) { return *known_slot(pc) == pc; }

unsigned hd__spin_places(void) { return nknown; }

void hd__spin_learn(uint64_t pc) {
  uint64_t *k = known_slot(pc);
  if (!*k && nknown < KNOWN_CAP / 2) {
    *k = pc;
    nknown++;
  }
}

bool hd__learn(uint64_t what) {
  if (hd__spin_known(what)) return true;
  hd__spin_learn(what);
  hd__log_visible(what | HD_VISIBLE_SPIN);
  return hd__spin_known(what);
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
#define FIRST_FRAMES (64ull << 20) /* of the first thread's, in use: the kernel maps nothing else there */

/* The end of the stack that the thread is on. It may be one of the program's (a coroutine, pthread_attr_setstack),
 * whose end is not known: as much as can be read then, up to a limit. What is left out counts as memory like any other. */
static uint64_t stack_end(const struct hd_thread *t) {
  uint64_t sp = (uint64_t)__builtin_frame_address(0), unused;
  uint64_t end = t->ident ? (uint64_t)t->ident->frame : hd__first_stack_end();
  uint64_t lo = t->ident ? (uint64_t)t->ident->stack_lo : end - FIRST_STACK;
  if (sp >= lo && sp < end) return end;
  for (end = (sp | (HD_PAGE - 1)) + 1; end - sp < OTHER_STACK && hd_arch_peek(end, 1, &unused);)
    end += HD_PAGE;
  return end;
}

/* And the lowest address that may have belonged to frames below. */
static uint64_t stack_start(const struct hd_thread *t) {
  uint64_t lo = t->ident ? (uint64_t)t->ident->stack_lo : hd__first_stack_end() - FIRST_FRAMES;
  return hot.sp >= lo && hot.sp < stack_end(t) && hot.sp - lo <= FIRST_STACK ? lo : hot.sp - HD_PAGE;
}

static bool own_stack(const struct hd_thread *t, uint64_t a) {
  uint64_t sp = (uint64_t)__builtin_frame_address(0);
  return a >= sp && a < stack_end(t);
}

/* The registers that survive a call, and the stack. Four sums, so that a word need not wait for the one before it. */
static uint64_t local_state(const struct hd_thread *t) {
  uint64_t h[4] = {hot.sp, 1, 2, 3}, end = stack_end(t);
  const uint64_t *p = (const uint64_t *)hot.sp;
  for (unsigned i = 0; i < 6; i++) h[i & 3] = hd_mix64(h[i & 3] ^ hot.regs[i]);
  for (; (uint64_t)(p + 4) <= end; p += 4)
    for (unsigned i = 0; i < 4; i++) h[i] = (h[i] ^ p[i]) * 0x9e3779b97f4a7c15ull, h[i] ^= h[i] >> 32;
  for (; (uint64_t)p < end; p++) h[0] = hd_mix64(h[0] ^ *p);
  for (unsigned i = 1; i < 4; i++) h[0] = hd_mix64(h[0] ^ h[i]);
  return h[0];
}

/* Looks at what changes in most loops that do not wait: the registers. Returns false when they are not as at the last
 * look: the local state is another one then. No product waits for another. The stack may have what the runtime left
 * there, until a round collects reads. */
static bool same_registers(struct hd_spin *s) {
  static const uint64_t factor[] = {/* any odd numbers */
                                    0xf2a74de452e6b439, 0x6513270e269e0d37, 0x0c5c7fd0a6a3a451,
                                    0xd23f0824128b2f33, 0x1818e811892f902b, 0x9531985d5d9dc9f9};
  uint64_t now = hot.sp;
#pragma GCC unroll 6
  for (unsigned i = 0; i < 6; i++) now += hot.regs[i] * factor[i];
  bool same = now == s->registers;
  s->registers = now;
  return same;
}

/* Compares registers and stack with those that were noted at the last check of a known loop, and notes them. Returns a name
 * for what differs: which words, not how. */
static uint64_t differences(const struct hd_thread *t, struct hd_spin *s) {
  uint64_t end = stack_end(t), n = (end - hot.sp) / 8, which = s->pc;
  if (n > HD_SPIN_IMAGE - 6) n = HD_SPIN_IMAGE - 6;
  for (uint64_t i = 0; i < n + 6; i++) {
    uint64_t word = i < 6 ? hot.regs[i] : ((const uint64_t *)hot.sp)[i - 6];
    if (i >= s->nimage || s->image[i] != word) which = hd_mix64(which ^ i);
    s->image[i] = word;
  }
  s->nimage = (unsigned)n + 6;
  return 1ull << 61 | which >> 4; /* no address */
}

/* ---- what a round does ---- */

static void disarm(struct hd_thread *t) {
  rt.narmed -= t->armed;
  t->armed = false;
}

void hd__spin_stop(struct hd_thread *t) { disarm(t); }

/* What a loop that does more changes itself it does not wait for. */
static bool is_own(const struct hd_spin *s, uint64_t a) {
  for (unsigned i = 0; i < s->nown; i++)
    if (s->own[i] == a) return true;
  return false;
}

static void unswap(struct hd_spin *s);

/* The round that was to repeat the one before does something else. A scheduling point was left out. */
static void end_repetition(struct hd_spin *s) {
  bool stale = s->swapped;
  s->again = false;
  s->unlike = true;
  if (stale) unswap(s);
  if (!hd__learn(s->change)) hd__inexact(HD_INEXACT_DIVERGED, s->pc);
  if (stale || rt.strategy->forget) hd__end(HD_RUN_DIVERGED);
}

HD_EXEC uint32_t hd__spin_word[HD_POLLS] = {[HD_POLLS_IO] = 1};

static bool is_word(uint64_t a) {
  return a >= (uint64_t)hd__spin_word && a < (uint64_t)(hd__spin_word + HD_POLLS);
}

/* Whether this round has read it, or the round that it repeats. */
static bool was_read(const struct hd_spin *s, uint64_t a) {
  for (unsigned i = 0; i < s->guard.nplaces; i++)
    if (s->guard.place[i].addr == a) return true;
  for (unsigned i = 0; i < s->nprivate; i++)
    if (s->private[i].addr == a) return true;
  return false;
}

static bool watch(struct hd_spin *s, uint64_t a, uint32_t size, uint64_t value) {
  struct hd_guard *g = &s->guard;
  if (g->nplaces == HD_GUARD_PLACES) return false;
  g->place[g->nplaces].addr = a;
  g->place[g->nplaces].size = size;
  s->read[g->nplaces++] = (struct hd_spin_read){value, value};
  return true;
}

static bool watch_private(struct hd_spin *s, uint64_t a, uint32_t size, uint64_t value) {
  if (s->nprivate == HD_SPIN_PRIVATE) return false;
  s->private[s->nprivate++] = (struct hd_spin_private){a, value, size};
  return true;
}

static void forget_private(struct hd_spin *s, uint64_t a) {
  for (unsigned i = 0; i < s->nprivate; i++)
    if (s->private[i].addr == a) s->private[i--] = s->private[--s->nprivate];
}

/* Of its own stack, a thread has left or changed some places on the way, which nobody else has. */
static void forget_left(const struct hd_thread *t, struct hd_spin *s) {
  uint64_t lo = stack_start(t), end = stack_end(t);
  for (unsigned i = 0; i < s->nprivate; i++) {
    const struct hd_spin_private *p = &s->private[i];
    if (p->addr < lo || p->addr >= end) continue;
    bool left = p->addr < hot.sp;
    if (left || (!hd__shadow_visible(p->addr, p->size) && value_at(p->addr, p->size) != p->value))
      s->private[i--] = s->private[--s->nprivate];
  }
}

void hd__spin_lent(struct hd_thread *t, uint64_t a) {
  struct hd_spin *s = &t->spin;
  if (!s->waiting || !s->locals) return;
  hd__shadow_show(a, 1);
  s->lent = true;
}

/* There is nothing else to wait for. */
static void watch_privates(struct hd_spin *s) {
  while (s->nprivate) {
    const struct hd_spin_private *p = &s->private[s->nprivate - 1];
    if (!watch(s, p->addr, p->size, p->value)) return;
    s->nprivate--;
  }
}

static void read_at(uint64_t a, uint32_t size, bool plain) {
  struct hd_thread *t = rt.cur;
  struct hd_spin *s = &t->spin;
  if (a == s->addr) s->seen = value_at(a, size);
  if (!t->armed) return;
  const struct hd_guard *g = &s->guard;
  if (s->counts && (s->counts == HD_SPIN_LOOKS || is_own(s, a))) return;
  bool visible = is_word(a) || hd__shadow_visible(a, size);
  /* Its own stack is part of the local state, unless other threads access it, or nothing else is left to watch. */
  if ((plain || s->counts) && own_stack(t, a) && (s->counts || !rt.watched) && !visible) {
    s->locals = true;
    return;
  }
  for (unsigned i = 0; i < g->nplaces; i++)
    if (g->place[i].addr == a) {
      s->mixed |= value_at(a, g->place[i].size) != s->read[i].value;
      return;
    }
  if (was_read(s, a)) return;
  if (s->again) end_repetition(s);
  bool room = size <= UINT8_MAX && (visible ? watch : watch_private)(s, a, size, value_at(a, size));
  if (!room && (visible || !s->counts)) disarm(t);
}

void hd__spin_read(uint64_t a, uint32_t size) { read_at(a, size, false); }

void hd__spin_read_plain(uint64_t a, uint32_t size) { read_at(a, size, true); }

void hd__spin_unlike(void) {
  struct hd_spin *s = &rt.cur->spin;
  s->writes++;
  if (s->again) end_repetition(s);
  if (rt.cur->armed && !s->counts) disarm(rt.cur);
}

void hd__spin_wrote(uint64_t a) {
  struct hd_spin *s = &rt.cur->spin;
  if (own_stack(rt.cur, a) && !hd__shadow_visible(a, 1)) { /* part of the local state */
    forget_private(s, a);
    return;
  }
  s->writes++;
  if (HD_LIKELY(!rt.cur->armed)) return;
  if (!s->counts)
    hd__spin_unlike();
  else if (!is_own(s, a))
    s->own[s->nown < HD_SPIN_OWN ? s->nown++ : 0] = a;
}

void hd__spin_updated(uint64_t a, uint32_t size, bool same) {
  if (same)
    hd__spin_read(a, size);
  else
    hd__spin_wrote(a);
}

void hd__spin_updates(uint64_t a, uint32_t size, uint64_t pc) {
  struct hd_spin *s = &rt.cur->spin;
  s->update_size = size;
  s->update_addr = a;
  s->update_pc = pc;
  s->update_value = value_at(a, size);
  s->update_event = rt.events;
}

/* If anything came between, the value may be another thread's; and assembly with several operands has a hook for each
 * before it changes any. So only a loop with that one operation can wait by it. */
static void settle_update(struct hd_spin *s, uint64_t a, uint64_t pc) {
  uint32_t size = s->update_size;
  s->update_size = 0;
  hd__spin_updated(s->update_addr, size,
                   a == s->update_addr && pc == s->update_pc && rt.events == s->update_event &&
                       value_at(a, size) == s->update_value);
}

/* Locks that are released again change nothing. One that the round releases, and takes again, was held when it started:
 * others can take it on the way, but could not while the thread waited. Such a loop does more than wait. */
static void follow_locks(struct hd_spin *s, const struct hd_op *op, unsigned flags) {
  if (hd_op_does(op->kind, flags, HD_EFF_HOLDS)) {
    if (s->nheld == HD_SPIN_HOLDS)
      s->gave = true;
    else
      s->held[s->nheld++] = op->object;
  } else if (hd_op_does(op->kind, flags, HD_EFF_LETS_GO)) {
    unsigned i = s->nheld;
    while (i > 0 && s->held[i - 1] != op->object) i--;
    if (!i)
      s->gave = true;
    else
      s->held[i - 1] = s->held[--s->nheld];
  }
}

void hd__spin_event(const struct hd_op *op, unsigned flags) {
  struct hd_spin *s = &rt.cur->spin;
  if (s->again) end_repetition(s);
  follow_locks(s, op, flags);
  unsigned object = hd_op_object(op->kind);
  bool reads =
      object ==
          HD_OBJ_MEMORY || /* a try that fails has only read its lock, and a repetition reads it again */
      (object != HD_OBJ_THREAD && hd_op_is(op->kind, HD_TRAIT_TRIES) && (flags & HD_EV_FAILED));
  s->steps += !reads;
}

/* ---- rounds ---- */

/* Starts a round. */
static void start_round(struct hd_thread *t) {
  struct hd_spin *s = &t->spin;
  rt.narmed += !t->armed;
  t->armed = true;
  s->guard.nplaces = s->nprivate = s->steps = 0;
  s->mixed = s->locals = s->lent = false;
  s->guard.last = NULL;
  s->nheld = 0;
  s->gave = s->again = s->on = false;
  s->counts = HD_SPIN_GOES_ON;
  s->round_writes = s->writes;
  hd__new_segment(t); /* the fast path must not hide what the loop reads and writes */
}

/* Moves the anchor. */
static void anchor(struct hd_thread *t, uint64_t a, uint64_t pc, bool is_known) {
  struct hd_spin *s = &t->spin;
  s->pc = pc;
  s->addr = a;
  s->round_writes = s->writes;
  s->unlike = false;
  s->rounds = s->misses = s->laps = s->lap_changes = s->alike = s->not_alike = 0;
  s->registers = s->state = 0;
  disarm(t);
  if (!is_known) return;
  s->state = local_state(t);
  differences(t, s);
  start_round(t);
}

/* The check `back` before the last one. */
static const struct hd_spin_look *trail(const struct hd_spin *s, unsigned back) {
  return &s->trail[(s->ntrail - 1 - back) % HD_SPIN_TRAIL];
}

/* Whether the check `back` before the last one was among those from the `first` to the `end` before the last one. */
static bool was_checked(const struct hd_spin *s, const struct hd_spin_look *c, unsigned first, unsigned end) {
  for (unsigned i = first; i < end; i++)
    if (trail(s, i)->pc == c->pc && trail(s, i)->addr == c->addr) return true;
  return false;
}

/* A name for places of the code that are checked several times in one round, with different addresses. */
static uint64_t walks(uint64_t pc) { return 1ull << 61 | hd_mix64(pc ^ 1ull << 60) >> 4; /* no address */ }

/* Learns the check at which the loop was entered: before it came others, or a write. Which of its checks becomes the anchor
 * must not depend on when the loop was recognised. */
static void learn_entry(const struct hd_spin *s) {
  unsigned n = s->ntrail - s->ntrail_wrote, most = n < HD_SPIN_TRAIL ? n : HD_SPIN_TRAIL, period = 1, end;
  while (period < most && !was_checked(s, trail(s, 0), period, period + 1)) period++;
  for (end = period; end < most && was_checked(s, trail(s, end), 0, period); end++) {}
  uint64_t entry = trail(s, end - 1)->pc;
  hd__learn(entry);
  for (unsigned i = 0, times = 0; i < period; i++)
    if (trail(s, i)->pc == entry && ++times > 1) hd__learn(walks(entry));
}

/* Whether the anchor moves to the check that was just made, at the entry of a known loop: not again and again between the same ones. In
 * a loop that walks, only where the thread stays. */
static bool moves_here(struct hd_spin *s, uint64_t pc) {
  const struct hd_spin_look *c = trail(s, 0);
  unsigned n = s->ntrail < HD_SPIN_TRAIL ? s->ntrail : HD_SPIN_TRAIL;
  if (s->pc == pc && hd__spin_known(walks(pc)) && !was_checked(s, c, 1, n < 2 ? n : 2)) {
    s->misses -= s->misses > 0;
    return false;
  }
  if (!was_checked(s, c, 1, n)) return true;
  return s->moves++ < MOVES;
}

void hd__spin_hold(void) {
  struct hd_thread *t = rt.cur;
  t->spin.waiting = true;
  rt.nspinning++;
  rt.guard[t->id] = &t->spin.guard;
  if (!t->spin.on) hd__disable(t);
}

/* A handler ran in the place of the wait: the loop goes on, and waits again when it has come round. */
bool hd__spin_interrupted(void) {
  struct hd_spin *s = &rt.cur->spin;
  if (HD_LIKELY(!hd__interrupted())) return false;
  s->rounds = s->laps = s->lap_changes = s->alike = 0;
  s->late = false;
  s->counts = HD_SPIN_GOES_ON;
  disarm(rt.cur);
  return true;
}

/* What follows is the next round. */
void hd__spin_let_go(void) {
  struct hd_thread *t = rt.cur;
  struct hd_spin *s = &t->spin;
  s->waiting = false;
  rt.nspinning--;
  rt.guard[t->id] = NULL;
  if (s->counts) {
    s->counts = HD_SPIN_GOES_ON;
    s->laps = s->lap_changes = s->alike = 0;
    s->late = false;
    disarm(t);
    return;
  }
  s->rounds = 1;
  start_round(t);
}

/* Other threads may go. What the hook has noted of this one is looked at afterwards, too. */
static void step(void) {
  uint64_t sp = hot.sp, regs[sizeof hot.regs / sizeof *hot.regs];
  hd__copy(regs, hot.regs, sizeof regs);
  hd__step();
  hot.sp = sp;
  hd__copy(hot.regs, regs, sizeof regs);
}

/* A loop might have gone on meanwhile. With states the claim is not that of a part of `auto` that samples; nor, if the part
 * that compares them completes the search, that of another one. */
static void note_bounded(uint64_t pc) {
  bool tries = rt.config->states == HD_REDUCE_TRY;
  if (tries && !rt.fingerprints)
    hd_inexact_note(&rt.status->loops, 0, pc);
  else if (tries || !rt.fingerprints || !rt.status->phase_now)
    hd__inexact(HD_INEXACT_LOOP_BOUND, pc);
}

/* The loop waits: its next operation, if that is all it consists of, or an operation of its own. */
static void wait_for_change(struct hd_thread *t, uint64_t a, enum hd_spin_head head, uint64_t pc,
                            bool fresh) {
  struct hd_spin *s = &t->spin;
  const struct hd_guard *g = &s->guard;
  if (fresh) learn_entry(s);
  forget_left(t, s);
  if (!g->nplaces) watch_privates(s);
  if (!g->nplaces)
    watch(s, a, sizeof(int), value_at(a, sizeof(int))); /* the lock that it takes (hd__spin_lent) */
  for (unsigned i = 0; i < g->nplaces; i++)
    if (!is_word(g->place[i].addr)) hd__shadow_show(g->place[i].addr, g->place[i].size);
  if (!s->counts && head == HD_SPIN_UPDATES && g->nplaces == 1 && g->place[0].addr == a && rt.nunjoined) {
    s->mode = HD_SPIN_HELD;
    return;
  }
  t->op = (struct hd_op){.kind = HD_OP_SPINWAIT, .thread = t->id, .object = g->place[0].addr, .pc = pc};
  for (unsigned i = 0; i < g->nplaces && i < HD_AWAIT_PLACES; i++) {
    t->op.size |= g->place[i].size << 8 * i;
    if (i) t->op.await.place[i - 1] = g->place[i].addr;
  }
  if (g->nplaces > HD_AWAIT_PLACES) hd__inexact(HD_INEXACT_SPIN_PLACES, pc);
  s->lap_event = rt.events;
  hd__spin_hold();
  if (s->counts && s->on) note_bounded(pc); /* it might have gone on before what has just changed, too */
  step();
  if (hd__spin_interrupted()) return;
  hd__event(s->late ? HD_EV_LATE : 0);
  hd__spin_let_go();
  if (head <= HD_SPIN_LOADS) s->mode = HD_SPIN_SEEN;
}

bool hd__spin_idles(void) { return rt.cur->armed && nknown && *known_slot(rt.cur->spin.pc); }

/* Exchanges what is there with what the round before has read. Returns false when that is not known. */
static bool swap(struct hd_spin *s) {
  const struct hd_guard *g = &s->guard;
  for (unsigned i = 0; i < g->nplaces; i++)
    if (g->place[i].size > 8 && value_at(g->place[i].addr, g->place[i].size) != s->read[i].value)
      return false;
  for (unsigned i = 0; i < g->nplaces; i++) {
    uint64_t a = g->place[i].addr, v = value_at(a, g->place[i].size);
    if (v == s->read[i].value) continue;
    hd__copy((void *)a, &s->read[i].value, g->place[i].size);
    s->read[i].value = v;
    s->swapped = true;
  }
  return true;
}

static void unswap(struct hd_spin *s) {
  const struct hd_guard *g = &s->guard;
  s->swapped = false;
  for (unsigned i = 0; i < g->nplaces; i++) {
    uint64_t a = g->place[i].addr,
             v = g->place[i].size > 8 ? s->read[i].value : value_at(a, g->place[i].size);
    if (v == s->read[i].value) continue;
    hd__copy((void *)a, &s->read[i].value, g->place[i].size);
    s->read[i].value = v;
  }
}

/* Counts in s->alike. Once many laps in a row were not, only some in a row are compared, now and then: a program that
 * takes the same lock again and again does not wait, and comparing states is expensive. */
static void compare_laps(struct hd_thread *t, struct hd_spin *s, bool like) {
  unsigned turn = s->not_alike < MANY_LAPS ? 1 : s->not_alike % SOME_LAPS;
  if (turn <= ALIKE) {
    uint64_t now = like ? local_state(t) : 0;
    s->alike = turn && like && now == s->state ? s->alike + 1 : 0;
    s->state = now;
  }
  s->not_alike = s->alike ? 0 : s->not_alike + 1;
}

/* Laps that are only counted are counted in advance, and their locks not looked at, until a loop is known to wait. So it
 * takes up to SOME_LAPS laps more to notice that the program has begun to wait. */
static void pass_over(struct hd_spin *s, bool changed, unsigned limit) {
  unsigned turn = changed ? s->not_alike % SOME_LAPS : 0;
  if (nknown || s->counts || s->alike || s->laps < MANY_LAPS) return;
  if (changed && (s->not_alike < MANY_LAPS || turn <= ALIKE)) return;
  unsigned n = SOME_LAPS - turn;
  if (s->laps + 2 + n >= limit) return;
  s->passes = (uint8_t)n;
  s->laps += n;
  if (changed) s->not_alike += n, s->lap_changes += n;
}

/* Loops around locks seldom wait: they are followed for so many times as long, and longer where executions may be long. */
static uint64_t lock_laps(void) {
  uint64_t n = rt.config->max_length / (LAPS * 64);
  return n < LOCK_LAPS ? LOCK_LAPS : n;
}

/* A lap of the anchor that was not one of a waiting loop (invariant 6). */
static void count_lap(struct hd_thread *t, uint64_t a, enum hd_spin_head head, uint64_t pc, bool like) {
  struct hd_spin *s = &t->spin;
  if (s->seen != s->seen_before) s->laps = s->lap_changes = 0;
  bool changed = s->changes != s->changes_before;
  s->lap_changes += changed;
  s->changes_before = s->changes;
  s->seen_before = s->seen;
  s->laps++;
  if (head < HD_SPIN_OTHER &&
      !hd__shadow_visible(a, 1)) { /* nobody else has accessed it: it may be private */
    if (s->laps < UNSEEN_LAPS) return;
    hd__shadow_show(a, 1);
    s->laps = 0;
    return;
  }
  if (!s->lap_limit) s->lap_limit = LAPS;
  if (changed && s->laps > 1) { /* it sets and clears something */
    compare_laps(t, s, like);
    unsigned enough = ALIKE * (s->lap_limit / LAPS);
    if (s->alike == enough && s->laps + 1 < s->lap_limit) s->laps = s->lap_limit - 1;
    if (s->alike >= enough) s->lap_changes = 0;
  }
  uint64_t most = s->lap_limit * (uint64_t)(head >= HD_SPIN_OTHER          ? lock_laps()
                                            : s->lap_changes * 2 > s->laps ? 8
                                                                           : 1);
  unsigned limit = most < UINT32_MAX ? (unsigned)most : UINT32_MAX;
  if (s->laps + 2 < limit) {
    if (head == HD_SPIN_LOCK) pass_over(s, changed, limit);
    return;
  }
  if (s->counts != HD_SPIN_COLLECTS) {
    uint8_t next = s->counts ? HD_SPIN_COLLECTS : HD_SPIN_LOOKS;
    start_round(t);
    s->nown = next == HD_SPIN_LOOKS ? 0 : s->nown;
    s->counts = next;
    return;
  }
  if (!t->armed || !(s->guard.nplaces + s->nprivate)) {
    s->counts = HD_SPIN_GOES_ON;
    s->laps = 0;
    return;
  }
  wait_for_change(t, a, head, pc, false);
}

/* A volatile variable on the thread's own stack seldom is what a loop waits for; mostly it counts. */
static void count_local(struct hd_spin *s, uint64_t a) {
  uint8_t value = *(const uint8_t *)a;
  bool same = s->local.addr == a && s->local.value == value && s->local.writes == s->writes;
  s->local.times = same ? s->local.times + 1 : 0;
  s->local.addr = a;
  s->local.value = value;
  s->local.writes = s->writes;
  if (s->local.times >= LOCAL_TIMES && rt.nunjoined) hd__shadow_show(a, 1);
}

bool hd__spin_check(uint64_t a, enum hd_spin_head head, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  hd__take_signals(); /* a wait would delay them */
  struct hd_spin *s = &t->spin;
  s->mode = HD_SPIN_PLAIN;
  if (HD_UNLIKELY(s->update_size)) settle_update(s, a, pc);
  if (head == HD_SPIN_READS && own_stack(t, a) && !rt.watched && !hd__shadow_visible(a, 1)) {
    count_local(s, a);
    return s->again;
  }
  bool is_known = nknown && *known_slot(pc), wrote = s->round_writes != s->writes;
  bool hit = s->pc == pc && s->addr == a;
  if (s->again && !hit) {
    if (!wrote && was_read(s, a)) return true;
    end_repetition(s);
  }
  if (s->trail_writes != s->writes) {
    s->trail_writes = s->writes;
    s->ntrail_wrote = s->ntrail;
  }
  s->trail[s->ntrail++ % HD_SPIN_TRAIL] = (struct hd_spin_look){pc, a};
  if (!hit) {
    bool jump = is_known && moves_here(s, pc);
    if (s->pc && !jump && s->misses++ < s->window) return false;
    s->window = jump || !s->window ? WINDOW : s->window < WINDOW_MAX ? s->window * 2 : WINDOW_MAX;
    anchor(t, a, pc, is_known);
    return false;
  }
  s->misses = s->moves = 0;
  bool like = same_registers(s);
  if (wrote) {
    s->round_writes = s->writes;
    s->rounds = 0;
    if (!s->counts) disarm(t);
    count_lap(t, a, head, pc, like);
    if (is_known && !t->armed && !s->mode) {
      s->state = local_state(t);
      differences(t, s);
      start_round(t);
    }
    return false;
  }
  s->rounds++;
  /* Comparing states is expensive: a loop that does not wait is checked less and less often. */
  if (!is_known && (!like || s->rounds < LEARN_ROUNDS - 2 ||
                    (s->rounds > LEARN_ROUNDS && (s->rounds & (s->rounds - 1)) > 1))) {
    if (!s->counts) disarm(t);
    count_lap(t, a, head, pc, like);
    return false;
  }
  if (s->swapped) unswap(s);
  uint64_t now = local_state(t);
  bool watched = t->armed && !s->counts && !s->nheld && !s->gave && !s->mixed;
  bool same = watched && now == s->state;
  bool locals =
      s->locals && head >= HD_SPIN_OTHER && a && !is_word(a); /* what they hold is compared anyway */
  if (!s->guard.nplaces && !s->nprivate && !locals) watched = same = false;
  s->state = now;
  if (is_known) { /* invariant 5 */
    uint64_t change = differences(t, s);
    if (!s->again) s->change = change;
    if (s->steps && s->rounds == 1) same = false;
    if (watched && !same && !s->steps && !s->again && !s->unlike && !hd__spin_known(change) && swap(s)) {
      s->again = true;
      hd__new_segment(t); /* its reads take the same path, and leave the same on the stack */
      return true;
    }
  }
  if (s->again && !same) end_repetition(s);
  s->again = false;
  if (same && (is_known || s->rounds >= LEARN_ROUNDS)) {
    wait_for_change(t, a, head, pc, !is_known);
    return false;
  }
  bool counting = s->counts;
  count_lap(t, a, head, pc, like);
  if (!s->mode && !counting && !s->counts) start_round(t);
  return false;
}

void hd__spin_poll(unsigned what, bool noted, uint64_t pc) {
  if (!(noted || rt.cur->sys.context) || !rt.nunjoined) return;
  if (!noted) {
    if (rt.cur->sys.polled) return; /* one place for all that a call looks at */
    rt.cur->sys.polled = true;
    hd_arch_note_state(rt.cur->sys.context);
  }
  hd__spin_check((uint64_t)&hd__spin_word[what], HD_SPIN_OTHER, pc);
}

void hd__spin_polled(unsigned what, bool noted) {
  if (noted || rt.cur->sys.context) hd__spin_read((uint64_t)&hd__spin_word[what], sizeof hd__spin_word[what]);
}

/* 32 rounds of so many laps are as long as an execution may be. */
static unsigned laps_max(void) {
  uint64_t n = rt.config->max_length / 32;
  return n < LAPS_MAX ? LAPS_MAX : n < LAPS_LONG ? (unsigned)n : LAPS_LONG;
}

/* All that wait by counting go on: if only one did, it could reach the end of its loop while the others are still held in
 * theirs, and what follows the loops would never interleave. Each is patient for longer now, so that few such rounds
 * bring long loops to their ends; a loop without an end ends with --max-length. */
bool hd__spin_late(void) {
  unsigned n = 0;
  for (unsigned i = 0; i < rt.nthreads; i++) n += rt.thread[i].spin.waiting && rt.thread[i].spin.counts;
  if (!n) return false;
  for (unsigned i = 0; i < rt.nthreads; i++) {
    struct hd_thread *t = &rt.thread[i];
    if (!t->spin.waiting || !t->spin.counts) continue;
    if (t->spin.lap_limit < (n == 1 ? LAPS_ALONE : laps_max())) t->spin.lap_limit *= 2;
    t->spin.late = true;
    hd__enable(t);
  }
  return true;
}

/* Another process may change memory that it shares with this one. Then waiting takes real time, and what the loop
 * reads is not caused by this program. Returns whether a thread can continue. If that never happens, the watchdog
 * ends the wait. */
bool hd__spin_outside(void) {
  bool shared = false;
  uint64_t pc = 0;
  for (unsigned i = 0; i < rt.nthreads && !shared; i++) {
    const struct hd_spin *s = &rt.thread[i].spin;
    for (unsigned k = 0; rt.thread[i].spin.waiting && k < s->guard.nplaces && !shared; k++)
      shared = hd__snapshot_shared(s->guard.place[k].addr);
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

/* Called before every decision while any thread is armed: the event executed last is what changed the values. */
static void look(struct hd_thread *t) {
  struct hd_spin *s = &t->spin;
  struct hd_guard *g = &s->guard;
  bool on = false;
  for (unsigned i = 0; i < g->nplaces; i++) {
    struct hd_spin_read *r = &s->read[i];
    uint64_t v = value_at(g->place[i].addr, g->place[i].size);
    if (v != r->now) {
      struct hd_change *c = hd_arena_get(&rt.arena, sizeof *c);
      if (c) *c = (struct hd_change){(uint32_t)rt.events, (uint16_t)i, v != r->value, g->last};
      if (c) g->last = c;
      r->now = v;
    }
    on |= v != r->value;
  }
  for (unsigned i = 0; s->waiting && i < s->nprivate; i++) {
    const struct hd_spin_private *p = &s->private[i];
    if (value_at(p->addr, p->size) == p->value) continue;
    hd__shadow_show(p->addr, p->size);
    on = s->mixed = true;
  }
  if (s->waiting && s->lent) on = s->mixed = true;
  if (s->waiting && s->counts && rt.events != s->lap_event) {
    note_bounded(t->op.pc);
    s->lap_event = rt.events;
  }
  if (on == s->on) return;
  s->on = on;
  if (!s->waiting) return;
  if (on)
    hd__enable(t);
  else
    hd__disable(t);
}

void hd__spin_update(void) {
  if (rt.cur && rt.cur->spin.swapped) unswap(&rt.cur->spin);
  for (unsigned i = 0; i < rt.nthreads; i++)
    if (rt.thread[i].armed && rt.thread[i].state != HD_T_DONE) look(&rt.thread[i]);
}

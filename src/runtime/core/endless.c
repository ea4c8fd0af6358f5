/* endless.c: proves that the running thread computes for ever. Runs in the tested process, in handlers of signals.
 *
 * A thread that has done nothing visible for some ticks (tick.c) is executed one instruction at a time for a while. When
 * its registers are the same again, one more round is executed. If after that the registers and all memory of the
 * program are as they were before the round, the thread repeats that round until somebody else changes what it reads.
 *
 * Invariants
 *  1. States are compared where the thread executes code of the program or of a library, or ours that stands for such. What the runtime computes in
 *     between must follow from those: only hooks of plain accesses and of functions may be entered. After any other call of
 *     the runtime, a system call, an event or a switch nothing is proved.
 *  2. Registers are compared as in Brent's search for cycles ("An Improved Monte Carlo Factorization Algorithm", 1980): with
 *     those at a step whose number is a power of two.
 *  3. The proof ends in the first state of the cycle, in an order of states. So it does not matter where in the cycle
 *     the thread was when it began. */
#include "runtime/core/core.h"
#include "runtime/core/endless.h"
#include "runtime/core/modules.h"
#include "runtime/core/spin.h"
#include "runtime/core/tick.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"

#define FLAGS_IGNORED 0x10100ull /* trap and resume: ours */

struct state {
  uint64_t reg[17]; /* the general registers and the program counter */
  uint64_t flags, vectors;
};

struct place { /* orders the states of a cycle; names of places are the same in every process */
  uint64_t code, rest;
};

static struct {
  enum { OFF, SEEKS, CONFIRMS, ARRIVES } phase;
  const struct hd_thread *thread;
  uint64_t events, now;
  bool ours; /* the last instruction was one of the runtime */
  struct state at;
  uint64_t n, limit; /* states since `at`; when to take another one (invariant 2) */
  uint64_t period, memory;
  struct place first;
} proof;

/* Functions that may be entered (invariant 1). */
#define SIZES(X) X(1) X(2) X(4) X(8) X(16)
#define DECLARE(n) void __tsan_read##n(void *), __tsan_write##n(void *), __tsan_read_write##n(void *);
#define DECLARE_UNALIGNED(n)                                                \
  void __tsan_unaligned_read##n(void *), __tsan_unaligned_write##n(void *), \
      __tsan_unaligned_read_write##n(void *);
#define WIDER(X) X(2) X(4) X(8) X(16)
SIZES(DECLARE)
WIDER(DECLARE_UNALIGNED)
void __tsan_func_entry(void *), __tsan_func_exit(void), __tsan_vptr_read(void **),
    __tsan_read_range(void *, uint64_t), __tsan_write_range(void *, uint64_t);

extern const char hd__program_begin[] __asm__("__start_heddle_program") __attribute__((visibility("hidden")));
extern const char hd__program_end[] __asm__("__stop_heddle_program") __attribute__((visibility("hidden")));

static bool is_ours(uint64_t pc) {
  return hd__own_code(pc) &&
         pc - (uint64_t)hd__program_begin >= (uint64_t)(hd__program_end - hd__program_begin);
}

static bool may_enter(uint64_t pc) {
#define IS(f) pc == (uint64_t)(f) ||
#define IS_ACCESS(n) IS(__tsan_read##n) IS(__tsan_write##n) IS(__tsan_read_write##n)
#define IS_UNALIGNED(n) \
  IS(__tsan_unaligned_read##n) IS(__tsan_unaligned_write##n) IS(__tsan_unaligned_read_write##n)
  return SIZES(IS_ACCESS) WIDER(IS_UNALIGNED) IS(__tsan_func_entry) IS(__tsan_func_exit) IS(__tsan_vptr_read)
      IS(__tsan_read_range) IS(__tsan_write_range) IS(hd__access_slow) IS(hd_arch_watched_read_here) false;
}

static struct state state_of(const ucontext_t *uc) {
  static const uint8_t saved[16] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  struct state s;
  for (unsigned i = 0; i < 16; i++) s.reg[i] = (uint64_t)uc->uc_mcontext.gregs[saved[i]];
  s.reg[16] = hd_sig_pc(uc);
  s.flags = (uint64_t)uc->uc_mcontext.gregs[REG_EFL] & ~FLAGS_IGNORED;
  s.vectors = hd_arch_vectors(uc);
  return s;
}

static bool is_at(const struct state *s) {
  for (unsigned i = 17; i-- > 0;)
    if (s->reg[i] != proof.at.reg[i]) return false;
  return s->flags == proof.at.flags && s->vectors == proof.at.vectors;
}

static struct place place_of(const struct state *s) {
  uint64_t h = s->flags ^ s->vectors;
  for (unsigned i = 0; i < 16; i++) h = hd_mix64(h ^ s->reg[i]);
  return (struct place){hd__stable(s->reg[16]), h};
}

static bool comes_before(const struct place *a, const struct place *b) {
  return a->code != b->code ? a->code < b->code : a->rest < b->rest;
}

bool hd__endless_tries(void) { return proof.phase != OFF; }

void hd__endless_stop(ucontext_t *uc) {
  if (!proof.phase) return;
  proof.phase = OFF;
  hd_sig_step(uc, 0);
}

static void note(const struct state *s) {
  proof.at = *s;
  proof.n = 0;
}

void hd__endless_begin(ucontext_t *uc) {
  proof.phase = SEEKS;
  proof.thread = rt.cur;
  proof.events = rt.events;
  proof.now = rt.now + rt.cur->vc.time;
  proof.ours = is_ours(hd_sig_pc(uc));
  proof.limit = 64;
  struct state s = state_of(uc);
  note(&s);
  hd_sig_step(uc, 1);
}

/* The next state of the program. Returns whether the proof is complete. */
static bool next(const struct state *s, uint64_t sp) {
  struct place here;
  proof.n++;
  switch (proof.phase) {
    case OFF: return false;
    case SEEKS:
      if (is_at(s) && hd__memory_sum(sp, &proof.memory)) {
        proof.period = proof.n;
        proof.phase = CONFIRMS;
        proof.first = place_of(s);
        note(s);
      } else if (proof.n == proof.limit) {
        proof.limit *= 2;
        note(s);
      }
      return false;
    case CONFIRMS:
      here = place_of(s);
      if (comes_before(&here, &proof.first)) proof.first = here;
      if (proof.n < proof.period) return false;
      uint64_t memory = 0;
      bool same = is_at(s) && hd__memory_sum(sp, &memory) && memory == proof.memory;
      proof.phase = same ? ARRIVES : SEEKS;
      proof.limit *= 2;
      note(s);
      if (!same) return false;
      break;
    case ARRIVES: break;
  }
  here = place_of(s);
  return here.code == proof.first.code && here.rest == proof.first.rest;
}

bool hd__endless_trap(ucontext_t *uc, bool stepped) {
  if (!proof.phase) { /* code that has saved the flags restores that one, too */
    if (stepped) hd_sig_step(uc, 0);
    return stepped;
  }
  bool ours = is_ours(hd_sig_pc(uc));
  bool goes_on = hot.active && rt.cur == proof.thread && rt.events == proof.events &&
                 rt.now + rt.cur->vc.time == proof.now && !hd__on_signal_stack(hd_sig_sp(uc));
  if (!goes_on || (ours && !proof.ours && !may_enter(hd_sig_pc(uc)))) {
    hd__endless_stop(uc);
    return true;
  }
  proof.ours = ours;
  if (ours) return true;
  struct state s = state_of(uc);
  if (!next(&s, hd_sig_sp(uc))) return true;
  hd__endless_stop(uc);
  hd__tick_endless(uc);
  return true;
}

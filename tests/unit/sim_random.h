/* sim_random.h: random programs for the simulator, parts of programs made by hand, and how a program is written.
 * Included by test_strategies.c.
 *
 * Programs are small enough for depth-first search: two to four threads of a few blocks each, where a block is an
 * access, a critical section, a wait, and so on. A program uses a random part of the features it may use, so that
 * each of them is also seen alone. */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include "sim.h"

static struct hd_rng rng;
static inline unsigned below(unsigned n) { return hd_rng_below(&rng, n); }

static inline struct sim_instr memory_instr(unsigned features) {
  static const uint8_t kinds[] = {HD_OP_READ,  HD_OP_WRITE,  HD_OP_READ,  HD_OP_WRITE,
                                  HD_OP_VREAD, HD_OP_VWRITE, HD_OP_ALOAD, HD_OP_ASTORE,
                                  HD_OP_FREE,  HD_OP_ARMW,   HD_OP_ACAS};
  static const uint8_t sizes[] = {1, 1, 2, 4, 8, 8, 3};
  static const uint8_t at[] = {0, 0, 0, 1, 4, 7, 8};
  struct sim_instr i = {
      .what = I_MEM, .a = kinds[below(features & SIM_CAS ? 11 : 9)], .v = (uint8_t)below(16)};
  i.size = sizes[below(7)];
  i.b = at[below(7)];
  if (i.a ==
      HD_OP_ACAS) { /* one byte: whatever else touches it covers it, so its outcome is known in any order */
    i.v = (uint8_t)below(4);
    i.b = 0;
    i.size = 1;
  }
  return i;
}

static inline void emit(struct sim_program *p, unsigned t, struct sim_instr i) {
  if (p->n[t] < SIM_LENGTH) p->code[t][p->n[t]++] = i;
}

static inline void random_block(struct sim_program *p, unsigned t, unsigned features, unsigned depth) {
  uint8_t m = (uint8_t)below(SIM_LOCKS), c = (uint8_t)(below(4) == 0);
  uint8_t way = (uint8_t)(features & SIM_TIMED && below(3) == 0 ? 2 : features & SIM_TRY ? below(3) == 0 : 0);
  for (;;) switch (below(19)) {
      case 0:
      case 1:
        if (!(features & SIM_LOCKED) || depth > 1) continue;
        emit(p, t, (struct sim_instr){.what = I_LOCK, .a = m});
        random_block(p, t, features, depth + 1);
        emit(p, t, (struct sim_instr){.what = I_UNLOCK, .a = m});
        return;
      case 2:
        if (!(features & SIM_TRY) || depth > 1) continue;
        emit(p, t, (struct sim_instr){.what = I_TRYLOCK, .a = m});
        if (below(2)) emit(p, t, (struct sim_instr){.what = I_SKIP, .b = 1, .v = (uint8_t)below(2)});
        random_block(p, t, features, depth + 1);
        emit(p, t, (struct sim_instr){.what = I_UNLOCK, .a = m});
        return;
      case 3:
        if (!(features & SIM_COND) || depth > 1) continue;
        emit(p, t, (struct sim_instr){.what = I_LOCK, .a = m});
        if (features & SIM_TIMED && below(2))
          emit(p, t, (struct sim_instr){.what = I_TIMEDWAIT, .a = c, .b = m, .v = (uint8_t)(1 + below(3))});
        else
          emit(p, t, (struct sim_instr){.what = I_WAIT, .a = c, .b = m});
        if (below(2)) random_block(p, t, features, depth + 1);
        emit(p, t, (struct sim_instr){.what = I_UNLOCK, .a = m});
        return;
      case 4:
        if (!(features & SIM_COND)) continue;
        emit(p, t, (struct sim_instr){.what = below(3) ? I_SIGNAL : I_BROADCAST, .a = c});
        return;
      case 5:
        if (!(features & SIM_CHOICE)) continue;
        emit(p, t, (struct sim_instr){.what = I_CHOOSE, .v = (uint8_t)(2 + below(2))});
        return;
      case 6:
        if (!(features & SIM_ONCE) || depth > 1) continue;
        emit(p, t, (struct sim_instr){.what = I_ONCE});
        if (below(2)) random_block(p, t, features & ~(unsigned)SIM_ONCE, depth + 1);
        emit(p, t, (struct sim_instr){.what = I_ONCE_DONE});
        return;
      case 7:
        if (!(features & SIM_TIMED)) continue;
        if (below(2)) {
          emit(p, t, (struct sim_instr){.what = I_SLEEP, .v = (uint8_t)(1 + below(3))});
          return;
        }
        emit(p, t, (struct sim_instr){.what = I_TIMEDLOCK, .a = m, .v = (uint8_t)(1 + below(3))});
        random_block(p, t, features, depth + 1);
        emit(p, t, (struct sim_instr){.what = I_UNLOCK, .a = m});
        return;
      case 8:
        emit(p, t, (struct sim_instr){.what = I_SKIP, .b = (uint8_t)(1 + below(2)), .v = (uint8_t)below(2)});
        return;
      case 9:
        if (!(features & SIM_FAIL)) continue;
        emit(p, t, (struct sim_instr){.what = I_FAIL, .v = (uint8_t)below(4)});
        return;
      case 10:
        if (!(features & SIM_DESTROY) || below(3)) continue;
        emit(p, t, (struct sim_instr){.what = I_MDESTROY, .a = m});
        return;
      case 11:
        if (!(features & SIM_SPIN)) continue;
        emit(p, t,
             (struct sim_instr){.what = I_SPIN,
                                .a = HD_OP_ALOAD,
                                .b = (uint8_t)below(2),
                                .size = (uint8_t)(1 + below(2)),
                                .v = (uint8_t)(below(4) == 0)});
        return;
      case 12:
        if (!(features & SIM_RW) || depth > 1) continue;
        emit(p, t, (struct sim_instr){.what = below(3) ? I_RDLOCK : I_WRLOCK, .v = way});
        if (below(3)) random_block(p, t, features, depth + 1);
        emit(p, t, (struct sim_instr){.what = I_RWUNLOCK});
        return;
      case 13:
        if (!(features & SIM_SEM)) continue;
        emit(p, t, (struct sim_instr){.what = below(9) ? I_TAKE : I_VALUE, .v = way});
        if (below(3) == 0) return;
        if (depth < 2) random_block(p, t, features, depth + 1);
        emit(p, t, (struct sim_instr){.what = I_POST});
        return;
      case 14:
        if (!(features & SIM_SEM)) continue;
        emit(p, t, (struct sim_instr){.what = I_POST});
        return;
      case 15:
        if (!(features & SIM_BARRIER)) continue;
        emit(p, t, (struct sim_instr){.what = I_BARRIER});
        return;
      case 16:
        if (!(features & SIM_SECTION) || depth > 1) continue;
        emit(p, t, (struct sim_instr){.what = I_BEGIN});
        for (unsigned blocks = below(3); blocks--;) random_block(p, t, features, depth + 1);
        emit(p, t, (struct sim_instr){.what = I_FINISH});
        return;
      default: emit(p, t, memory_instr(features)); return;
    }
}

static inline void random_program(struct sim_program *p, unsigned features) {
  memset(p, 0, sizeof *p);
  features &= (unsigned)hd_rng_next(&rng) | (unsigned)hd_rng_next(&rng);
  p->nthreads = 2 + (below(3) > 0) + (below(6) == 0);
  p->starts = features & SIM_STARTS ? 1 : 0;
  p->tokens = below(3);
  p->barrier = 1 + below(3);
  if (below(3) == 0) random_block(p, 0, features, 0);
  for (unsigned t = 1; t < p->nthreads; t++) {
    emit(p, 0, (struct sim_instr){.what = I_CREATE, .a = (uint8_t)t});
    unsigned blocks = 1 + below(p->nthreads == 2 ? 3 : 2);
    while (blocks--) random_block(p, t, features, 0);
  }
  while (below(2)) random_block(p, 0, features, 0);
  for (unsigned t = 1; t < p->nthreads; t++)
    if (!(features & SIM_ENDS) || below(3) == 0)
      emit(p, 0, (struct sim_instr){.what = I_JOIN, .a = (uint8_t)t});
  if (below(3) == 0) random_block(p, 0, features, 0);
}

/* ---- programs by hand ---- */

static const struct sim_instr lock0 = {.what = I_LOCK}, unlock0 = {.what = I_UNLOCK};

static inline struct sim_instr access_to(unsigned kind, unsigned at, unsigned size, unsigned value) {
  return (struct sim_instr){
      .what = I_MEM, .a = (uint8_t)kind, .b = (uint8_t)at, .size = (uint8_t)size, .v = (uint8_t)value};
}

/* n threads besides the first, which creates and joins them. The caller adds what they do. */
static inline struct sim_program workers(unsigned n) {
  struct sim_program p = {.nthreads = n + 1};
  for (unsigned t = 1; t <= n; t++) emit(&p, 0, (struct sim_instr){.what = I_CREATE, .a = (uint8_t)t});
  for (unsigned t = 1; t <= n; t++) emit(&p, 0, (struct sim_instr){.what = I_JOIN, .a = (uint8_t)t});
  return p;
}

static inline void print_program(const struct sim_program *p) {
  static const char *const names[] = {"-",         "mem",    "lock",      "trylock", "timedlock", "unlock",
                                      "mdestroy",  "wait",   "timedwait", "signal",  "broadcast", "once",
                                      "once-done", "choose", "sleep",     "skip",    "fail",      "create",
                                      "join",      "spin",   "rdlock",    "wrlock",  "rwunlock",  "take",
                                      "post",      "value",  "barrier",   "begin",   "finish"};
  printf("program: %u threads, %u tokens, barrier of %u%s\n", p->nthreads, p->tokens, p->barrier,
         p->starts ? ", with START" : "");
  for (unsigned t = 0; t < p->nthreads; t++) {
    printf("  T%u:", t);
    for (unsigned k = 0; k < p->n[t]; k++) {
      const struct sim_instr *i = &p->code[t][k];
      if (i->what == I_MEM)
        printf(" %s@%u/%u=%u;", hd_op_text(i->a), i->b, i->size, i->v);
      else
        printf(" %s(a%u b%u v%u);", names[i->what], i->a, i->b, i->v);
    }
    printf("\n");
  }
}

#endif

/* sim.h: small simulated programs, to drive strategies without a runtime. Included by test_strategies.c.
 *
 * A program is a few threads, each an array of instructions over 16 bytes of memory, two locks, two
 * conditions, a read-write lock, a semaphore, a barrier and one once-object. Every array is a valid program, so that the shrinker may remove any
 * instruction: what makes no sense (an unlock without the lock) is passed over without a visible operation.
 * The conventions are those of the runtime: operations are pending before they execute, a wait is WAIT then
 * WAKE, outcomes of choices come between pick and event, the first thread creates and joins the others. */
#ifndef SIM_H
#define SIM_H

#include <stdio.h>
#include <string.h>

#include "explore/explore_int.h"

enum instruction {
  I_NONE,
  I_MEM,       /* a: kind of operation, b: offset, size, v: value */
  I_LOCK,      /* a: lock */
  I_TRYLOCK,   /* a: lock */
  I_TIMEDLOCK, /* a: lock, v: time */
  I_UNLOCK,    /* a: lock */
  I_MDESTROY,  /* a: lock */
  I_WAIT,      /* a: condition, b: lock */
  I_TIMEDWAIT, /* a: condition, b: lock, v: time */
  I_SIGNAL,    /* a: condition */
  I_BROADCAST, /* a: condition */
  I_ONCE,      /* if it is done already: goes on after the next I_ONCE_DONE */
  I_ONCE_DONE,
  I_CHOOSE, /* v: outcomes */
  I_SLEEP,  /* v: time */
  I_SKIP,   /* passes over b instructions if the value read last is v (mod 2) */
  I_FAIL,   /* the thread goes no further if the value read last is v (mod 4) */
  I_CREATE, /* a: thread */
  I_JOIN,   /* a: thread */
  I_SPIN,   /* a: HD_OP_ALOAD, b: offset, size; reads again while what it reads is v (mod 2) */
  I_RDLOCK, /* v: 0 waits, 1 tries, 2 waits for a time */
  I_WRLOCK, /* the same */
  I_RWUNLOCK,
  I_TAKE, /* from the semaphore; v as for I_RDLOCK */
  I_POST,
  I_VALUE,
  I_BARRIER,
  I_BEGIN,  /* of an atomic section */
  I_FINISH, /* of the same */
};

struct sim_instr {
  uint8_t what, a, b, size, v;
};

#define SIM_THREADS 6
#define SIM_LENGTH 14
#define SIM_LOCKS 2

struct sim_program {
  unsigned nthreads;
  int starts;       /* a thread begins with an operation START of its own */
  unsigned tokens;  /* value of the semaphore at the start */
  unsigned barrier; /* threads that pass it together */
  int one_place;    /* all operations are at one place of the code, as those of a loop are */
  unsigned n[SIM_THREADS];
  struct sim_instr code[SIM_THREADS][SIM_LENGTH];
};

/* What the generator may use. */
enum {
  SIM_LOCKED = 1,
  SIM_TRY = 2,
  SIM_COND = 4,
  SIM_CHOICE = 8,
  SIM_CAS = 16,
  SIM_ONCE = 32,
  SIM_TIMED = 64,
  SIM_FAIL = 128,
  SIM_ENDS = 256, /* the first thread ends the process without joining */
  SIM_STARTS = 512,
  SIM_DESTROY = 1024,
  SIM_SPIN = 2048, /* loops that wait by reading */
  SIM_RW = 4096,
  SIM_SEM = 8192,
  SIM_BARRIER = 16384,
  SIM_SECTION = 32768,
  SIM_ALL = 65535,
  /* What every complete strategy must be exact on. Left out: time-outs (rare misses) and destroyed
   * mutexes (executions in vain); docs/soundness.md tells. */
  SIM_EXACT = SIM_LOCKED | SIM_TRY | SIM_COND | SIM_CHOICE | SIM_CAS | SIM_ONCE | SIM_FAIL | SIM_ENDS |
              SIM_STARTS | SIM_RW | SIM_SEM | SIM_BARRIER | SIM_SECTION | SIM_SPIN,
};

#define SIM_MEMORY 0x1000ull
#define SIM_LOCK(i) (0x2000ull + 64 * (uint64_t)(i))
#define SIM_COND_AT(i) (0x3000ull + 64 * (uint64_t)(i))
#define SIM_ONCE_AT 0x4000ull
#define SIM_RW_AT 0x5000ull
#define SIM_SEM_AT 0x6000ull
#define SIM_BARRIER_AT 0x7000ull

/* ---- one execution ---- */

enum sim_state { SIM_NEW, SIM_RUNS, SIM_QUEUED, SIM_WOKEN, SIM_ARRIVED, SIM_GONE, SIM_STOPPED };

struct sim_thread {
  enum sim_state state;
  unsigned pc;
  int started;
  uint64_t last; /* value read last */
  uint64_t seen; /* all that was read */
  int timed, late;
  uint64_t deadline;
  unsigned mutex;   /* of the wait under way */
  unsigned section; /* nesting of atomic sections */
  unsigned round;   /* who has arrived at the barrier with it: bit per thread */
  struct hd_op op;
  /* A loop that waits by reading: what it read, what is there now, whether that differs, and by which events. */
  int armed, changed;
  uint8_t read[8], now[8];
  struct hd_guard guard;
};
#define SIM_CHANGES 256
/* Of the program under way. */
static const struct hd_guard *sim_guard[SIM_THREADS];

struct sim {
  const struct sim_program *p;
  struct sim_thread t[SIM_THREADS];
  uint8_t memory[32];
  int owner[SIM_LOCKS]; /* thread + 1 */
  int once_owner, once_done;
  int writer;       /* thread + 1 */
  unsigned readers; /* bit per thread */
  unsigned tokens;
  unsigned arrived; /* at the barrier: bit per thread */
  int ordered;      /* more threads use the barrier than pass it together */
  uint64_t now;
  unsigned created, joined; /* by the first thread: bit per thread */
  uint32_t events;
  struct hd_change change[SIM_CHANGES];
  unsigned nchanges;
  int over;
  unsigned stopped; /* threads that failed */
  unsigned section; /* thread + 1 that is in an atomic section */
  struct hd_set enabled;
  const struct hd_op *op[SIM_THREADS];
  struct hd_point point;
};

static inline const struct sim_instr *sim_at(const struct sim *s, unsigned t) {
  return s->t[t].pc < s->p->n[t] ? &s->p->code[t][s->t[t].pc] : NULL;
}

static inline int sim_owns(const struct sim *s, unsigned t, unsigned lock) {
  return s->owner[lock] == (int)t + 1;
}

static inline int sim_holds(const struct sim *s, unsigned t) {
  return s->writer == (int)t + 1 || s->readers >> t & 1;
}

/* The operation of an instruction that waits, tries or waits for a time. */
static inline unsigned sim_way(const struct sim_instr *i) {
  static const uint8_t kinds[][3] = {{HD_OP_RDLOCK, HD_OP_TRYRDLOCK, HD_OP_TIMEDRDLOCK},
                                     {HD_OP_WRLOCK, HD_OP_TRYWRLOCK, HD_OP_TIMEDWRLOCK},
                                     {HD_OP_SEMWAIT, HD_OP_SEMTRYWAIT, HD_OP_SEMTIMED}};
  return kinds[i->what == I_RDLOCK ? 0 : i->what == I_WRLOCK ? 1 : 2][i->v];
}

static inline void sim_timer(struct sim *s, struct sim_thread *t, unsigned time) {
  t->timed = 1;
  t->late = 0;
  t->deadline = s->now + time;
}

static inline void sim_pend(struct sim *s, unsigned t, unsigned kind, uint64_t object, uint32_t size) {
  /* Threads with the same instructions are at the same places of the code. */
  uint64_t pc = s->p->one_place ? 1 : hd_mix64((uint64_t)kind << 32 ^ object << 8 ^ s->t[t].pc);
  s->t[t].op =
      (struct hd_op){.kind = (uint8_t)kind, .thread = (uint16_t)t, .size = size, .object = object, .pc = pc};
}

/* The thread is in no section any more. */
static inline void sim_leave(struct sim *s, unsigned t) {
  s->t[t].section = 0;
  if (s->section == t + 1) s->section = 0;
}

/* Runs thread t up to its next visible operation. */
static inline void sim_advance(struct sim *s, unsigned t) {
  struct sim_thread *me = &s->t[t];
  if (!me->started && s->p->starts) {
    sim_pend(s, t, HD_OP_START, t, 0);
    return;
  }
  const struct sim_instr *i;
  for (; (i = sim_at(s, t)); me->pc++) {
    switch (i->what) {
      case I_SPIN:
      case I_MEM:
        sim_pend(s, t, i->a, SIM_MEMORY + i->b, i->size);
        if (i->a == HD_OP_ACAS) me->op.access.expected = (i->v & 1) * 0x0101010101010101ull;
        return;
      case I_LOCK:
      case I_TIMEDLOCK:
        if (sim_owns(s, t, i->a)) break;
        if (i->what == I_TIMEDLOCK) sim_timer(s, me, i->v);
        sim_pend(s, t, i->what == I_LOCK ? HD_OP_LOCK : HD_OP_TIMEDLOCK, SIM_LOCK(i->a), 0);
        return;
      case I_TRYLOCK: sim_pend(s, t, HD_OP_TRYLOCK, SIM_LOCK(i->a), 0); return;
      case I_MDESTROY: sim_pend(s, t, HD_OP_MDESTROY, SIM_LOCK(i->a), 0); return;
      case I_UNLOCK:
        if (!sim_owns(s, t, i->a)) break;
        sim_pend(s, t, HD_OP_UNLOCK, SIM_LOCK(i->a), 0);
        return;
      case I_WAIT:
      case I_TIMEDWAIT:
        if (!sim_owns(s, t, i->b)) break;
        sim_pend(s, t, i->what == I_WAIT ? HD_OP_WAIT : HD_OP_TIMEDWAIT, SIM_COND_AT(i->a), 0);
        return;
      case I_SIGNAL: sim_pend(s, t, HD_OP_SIGNAL, SIM_COND_AT(i->a), 0); return;
      case I_BROADCAST: sim_pend(s, t, HD_OP_BROADCAST, SIM_COND_AT(i->a), 0); return;
      case I_ONCE: sim_pend(s, t, HD_OP_ONCE, SIM_ONCE_AT, 0); return;
      case I_ONCE_DONE:
        if (s->once_owner != (int)t + 1) break;
        sim_pend(s, t, HD_OP_ONCE_DONE, SIM_ONCE_AT, 0);
        return;
      case I_RDLOCK:
      case I_WRLOCK:
        if (sim_holds(s, t)) break;
        if (i->v == 2) sim_timer(s, me, 2);
        sim_pend(s, t, sim_way(i), SIM_RW_AT, 0);
        return;
      case I_RWUNLOCK:
        if (!sim_holds(s, t)) break;
        sim_pend(s, t, s->writer ? HD_OP_WRUNLOCK : HD_OP_RDUNLOCK, SIM_RW_AT, 0);
        return;
      case I_TAKE:
        if (i->v == 2) sim_timer(s, me, 2);
        sim_pend(s, t, sim_way(i), SIM_SEM_AT, 0);
        return;
      case I_POST: sim_pend(s, t, HD_OP_SEMPOST, SIM_SEM_AT, 0); return;
      case I_VALUE: sim_pend(s, t, HD_OP_SEMVALUE, SIM_SEM_AT, 0); return;
      case I_BARRIER:
        sim_pend(s, t, HD_OP_BARRIER, SIM_BARRIER_AT, s->p->barrier);
        me->op.barrier.ordered = (uint32_t)s->ordered;
        return;
      case I_CHOOSE: sim_pend(s, t, HD_OP_CHOOSE, 0, i->v); return;
      case I_SLEEP: sim_pend(s, t, HD_OP_SLEEP, 0, 0); return;
      case I_SKIP:
        if (me->last % 2 == i->v) me->pc += i->b;
        break;
      case I_FAIL:
        if (me->last % 4 == i->v) {
          sim_pend(s, t, HD_OP_NONE, 0, 0);
          sim_leave(s, t);
          me->state = SIM_STOPPED;
          s->stopped++;
          return;
        }
        break;
      case I_BEGIN:
        if (me->section++) break;
        sim_pend(s, t, HD_OP_SECTION, 0, 0);
        me->op.section = HD_SECTION_ENTERS;
        return;
      case I_FINISH:
        if (!me->section) break;
        if (--me->section == 0) sim_leave(s, t);
        break;
      case I_CREATE:
        if (i->a >= s->p->nthreads || s->t[i->a].state != SIM_NEW) break;
        sim_pend(s, t, HD_OP_CREATE, i->a, 0);
        return;
      case I_JOIN:
        if (i->a >= s->p->nthreads || s->t[i->a].state == SIM_NEW) break;
        sim_pend(s, t, HD_OP_JOIN, i->a, 0);
        return;
      default: break;
    }
  }
  sim_leave(s, t);
  if (t) {
    sim_pend(s, t, HD_OP_EXIT, t, 0);
    return;
  }
  /* After joining all it created nothing is left that could come before or after the end. */
  if (s->created & ~s->joined)
    sim_pend(s, t, HD_OP_END, 0, 0);
  else
    s->over = 1;
}

static inline void sim_begin(struct sim *s, const struct sim_program *p) {
  memset(s, 0, sizeof *s);
  s->p = p;
  s->t[0].state = SIM_RUNS;
  for (unsigned i = 0; i < SIM_THREADS; i++) {
    s->op[i] = &s->t[i].op;
    s->t[i].op.thread = (uint16_t)i;
    sim_guard[i] = NULL;
  }
  s->tokens = p->tokens;
  unsigned users = 0;
  for (unsigned i = 0; i < p->nthreads; i++)
    for (unsigned k = 0; k < p->n[i]; k++)
      if (p->code[i][k].what == I_BARRIER) {
        users++;
        break;
      }
  s->ordered = users > p->barrier;
  sim_advance(s, 0);
}

static inline int sim_enabled(const struct sim *s, unsigned t) {
  const struct sim_thread *me = &s->t[t];
  if (me->state != SIM_RUNS && me->state != SIM_WOKEN) return 0;
  unsigned others = s->readers & ~(1u << t);
  switch (me->op.kind) {
    case HD_OP_LOCK:
    case HD_OP_WAKE: return !s->owner[(me->op.object - SIM_LOCK(0)) / 64];
    case HD_OP_TIMEDLOCK: return me->late || !s->owner[(me->op.object - SIM_LOCK(0)) / 64];
    case HD_OP_JOIN: return s->t[me->op.object].state == SIM_GONE;
    case HD_OP_ONCE: return !s->once_owner;
    case HD_OP_TIMEOUT: return me->late;
    case HD_OP_SPINWAIT: return me->changed;
    case HD_OP_RDLOCK: return !s->writer;
    case HD_OP_TIMEDRDLOCK: return me->late || !s->writer;
    case HD_OP_WRLOCK: return !s->writer && !others;
    case HD_OP_TIMEDWRLOCK: return me->late || (!s->writer && !others);
    case HD_OP_SEMWAIT: return s->tokens > 0;
    case HD_OP_SEMTIMED: return me->late || s->tokens > 0;
    default: return 1;
  }
}

static inline void sim_wake(struct sim *s, unsigned t) {
  s->t[t].state = SIM_WOKEN;
  s->t[t].timed = 0;
  s->t[t].op.kind = HD_OP_WAKE;
  s->t[t].op.object = SIM_LOCK(s->t[t].mutex);
}

/* Threads that wait by reading learn what the last event did to them. */
static inline void sim_spins(struct sim *s) {
  for (unsigned i = 0; i < SIM_THREADS; i++) {
    struct sim_thread *t = &s->t[i];
    const struct sim_instr *at = sim_at(s, i);
    if (!t->armed) continue;
    if (!memcmp(t->now, s->memory + at->b, at->size) || s->nchanges == SIM_CHANGES) continue;
    memcpy(t->now, s->memory + at->b, at->size);
    t->changed = memcmp(t->read, t->now, at->size) != 0;
    s->change[s->nchanges] = (struct hd_change){s->events, 0, (uint16_t)t->changed, t->guard.last};
    t->guard.last = &s->change[s->nchanges++];
  }
}

/* What a memory operation would find now. */
static inline void sim_find(const struct sim *s, struct hd_op *op) {
  op->access.found = 0;
  memcpy(&op->access.found, s->memory + (op->object - SIM_MEMORY), op->size);
  op->access.known = 1;
}

/* Who can go on; the number of them. */
static inline unsigned sim_here(struct sim *s, unsigned current) {
  unsigned n = 0;
  sim_spins(s);
  s->enabled = (struct hd_set){{0}};
  for (unsigned i = 0; i < SIM_THREADS; i++)
    if (sim_enabled(s, i)) {
      hd_set_add(&s->enabled, i);
      n++;
    }
  for (unsigned i = 0; i < SIM_THREADS; i++)
    if (s->t[i].op.kind == HD_OP_ACAS) sim_find(s, &s->t[i].op);
  if (s->section) {
    struct hd_op *op = &s->t[s->section - 1].op;
    if (hd_set_has(&s->enabled, s->section - 1) && hd_op_is(op->kind, HD_TRAIT_INSIDE)) {
      op->section = HD_SECTION_INSIDE;
      s->enabled = (struct hd_set){{1ull << (s->section - 1)}};
      n = 1;
    } else {
      op->section = HD_SECTION_ENTERS;
      s->section = 0;
    }
  }
  s->point = (struct hd_point){&s->enabled, n, 1, current, s->op};
  return n;
}

/* The same before a step: time passes when nobody can go on. Returns 0 when the program is stuck. */
static inline int sim_look(struct sim *s, unsigned current) {
  while (!sim_here(s, current)) {
    struct sim_thread *first = NULL;
    for (unsigned i = 0; i < SIM_THREADS; i++)
      if (s->t[i].timed && (!first || s->t[i].deadline < first->deadline)) first = &s->t[i];
    if (!first) return 0;
    if (first->deadline > s->now) s->now = first->deadline;
    first->timed = 0;
    if (first->state == SIM_QUEUED) sim_wake(s, (unsigned)(first - s->t));
    first->late = 1;
  }
  return 1;
}

static inline uint64_t sim_hash(const void *p, size_t n, uint64_t h) {
  const uint8_t *b = p;
  while (n--) h = hd_mix64(h * 31 + *b++ + 1);
  return h;
}

/* Executes a memory operation; returns its flags. */
static inline unsigned sim_access(struct sim *s, struct sim_thread *t, const struct sim_instr *i) {
  uint8_t *m = s->memory + i->b;
  if (hd_op_does(i->a, 0, HD_EFF_SEES)) {
    t->last = 0;
    for (unsigned k = 0; k < i->size; k++) t->last += m[k];
    t->seen = sim_hash(m, i->size, t->seen);
  }
  switch (i->a) {
    case HD_OP_ACAS:
      for (unsigned k = 0; k < i->size; k++)
        if (m[k] != (i->v & 1)) return HD_EV_FAILED;
      memset(m, i->v >> 1, i->size);
      break;
    case HD_OP_ARMW:
      for (unsigned k = 0; k < i->size; k++) m[k] = (uint8_t)(m[k] + i->v);
      break;
    default:
      if (hd_op_does(i->a, 0, HD_EFF_CHANGES))
        for (unsigned k = 0; k < i->size; k++) m[k] = i->v & 8 ? (uint8_t)(t->last + i->v) : i->v;
  }
  return 0;
}

/* Executes the pending operation of thread t and goes on to its next one. choose() asks for an outcome among n;
 * event() hears of the operation. Returns 0 when choose refused. */
static inline int sim_step(struct sim *s, unsigned t, int (*choose)(void *, unsigned),
                           void (*event)(void *, const struct hd_op *, unsigned, unsigned, unsigned),
                           void *ctx) {
  struct sim_thread *me = &s->t[t];
  const struct sim_instr *i = sim_at(s, t);
  unsigned flags = 0, nchoices = 0, go_on = 1;
  int choice = 0;
  if (me->section && s->section != t + 1) {
    s->section = t + 1;
    me->op.section = HD_SECTION_ENTERS;
  }
  uint64_t queue = 0;
  for (unsigned k = 0; k < SIM_THREADS; k++)
    if (s->t[k].state == SIM_QUEUED && s->t[k].op.object == me->op.object) queue |= 1ull << k;
  struct hd_set queued = {{queue}};
  switch (me->op.kind) {
    case HD_OP_SIGNAL: nchoices = (unsigned)__builtin_popcountll(queue); break;
    case HD_OP_BROADCAST: me->op.wake.count = (uint32_t)__builtin_popcountll(queue); break;
    case HD_OP_CHOOSE: nchoices = i->v; break;
    case HD_OP_BLEAVE: nchoices = me->op.size; break;
    case HD_OP_WAIT:
    case HD_OP_TIMEDWAIT: me->op.wait.mutex = SIM_LOCK(i->b); break;
    default: break;
  }
  if (nchoices > 1 && (choice = choose(ctx, nchoices)) < 0) return 0;
  if (me->op.kind == HD_OP_SIGNAL) me->op.wake.thread = queue ? hd_set_nth(&queued, (unsigned)choice) + 1 : 0;
  unsigned lock = me->op.object >= SIM_LOCK(0) ? (unsigned)((me->op.object - SIM_LOCK(0)) / 64) : 0;
  if (hd_op_object(me->op.kind) == HD_OBJ_MEMORY) {
    sim_find(s, &me->op);
    flags = sim_access(s, me, i);
  }
  if (me->op.kind == HD_OP_TRYLOCK && s->owner[lock]) flags = HD_EV_FAILED;
  if ((me->op.kind == HD_OP_TIMEDLOCK || me->op.kind == HD_OP_WAKE) && me->late) flags = HD_EV_FAILED;
  if (me->op.kind == HD_OP_ONCE && s->once_done) flags = HD_EV_FAILED;
  if (hd_op_object(me->op.kind) == HD_OBJ_SEM) {
    me->op.sem.value = s->tokens;
    if (i->what == I_TAKE && !s->tokens) flags = HD_EV_FAILED;
  }
  if (hd_op_object(me->op.kind) == HD_OBJ_RWLOCK && i->what != I_RWUNLOCK &&
      (s->writer || (i->what == I_WRLOCK && s->readers)))
    flags = HD_EV_FAILED;
  s->events++;
  event(ctx, &me->op, flags, (unsigned)choice, nchoices > 1 ? nchoices : 0);
  switch (me->op.kind) {
    case HD_OP_START:
      me->started = 1;
      sim_advance(s, t);
      return 1;
    case HD_OP_CREATE:
      s->t[i->a].state = SIM_RUNS;
      s->created |= 1u << i->a;
      sim_advance(s, i->a);
      break;
    case HD_OP_JOIN: s->joined |= 1u << i->a; break;
    case HD_OP_EXIT: me->state = SIM_GONE; return 1;
    case HD_OP_END: s->over = 1; return 1;
    case HD_OP_TIMEDLOCK: me->timed = 0; /* fall through */
    case HD_OP_LOCK:
    case HD_OP_TRYLOCK:
      if (!flags) s->owner[lock] = (int)t + 1;
      me->last = !flags;
      me->seen = hd_mix64(me->seen * 31 + flags);
      me->late = 0;
      break;
    case HD_OP_WAKE:
      s->owner[lock] = (int)t + 1;
      me->state = SIM_RUNS;
      me->seen = hd_mix64(me->seen * 31 + flags);
      me->late = 0;
      break;
    case HD_OP_UNLOCK: s->owner[lock] = 0; break;
    case HD_OP_MDESTROY: me->seen = hd_mix64(me->seen * 31 + (uint64_t)(s->owner[lock] != 0)); break;
    case HD_OP_WAIT:
    case HD_OP_TIMEDWAIT:
      me->state = SIM_QUEUED;
      me->mutex = i->b;
      s->owner[i->b] = 0;
      if (i->what == I_TIMEDWAIT) sim_timer(s, me, i->v);
      return 1;
    case HD_OP_SIGNAL:
      if (queue) sim_wake(s, me->op.wake.thread - 1);
      break;
    case HD_OP_BROADCAST:
      for (unsigned k = 0; k < SIM_THREADS; k++)
        if (queue >> k & 1) sim_wake(s, k);
      break;
    case HD_OP_ONCE:
      if (!flags) {
        s->once_owner = (int)t + 1;
      } else {
        while (sim_at(s, t) && sim_at(s, t)->what != I_ONCE_DONE) me->pc++;
      }
      break;
    case HD_OP_ONCE_DONE:
      s->once_owner = 0;
      s->once_done = 1;
      break;
    case HD_OP_RDLOCK:
    case HD_OP_TRYRDLOCK:
    case HD_OP_TIMEDRDLOCK:
    case HD_OP_WRLOCK:
    case HD_OP_TRYWRLOCK:
    case HD_OP_TIMEDWRLOCK:
      if (!flags && i->what == I_RDLOCK) s->readers |= 1u << t;
      if (!flags && i->what == I_WRLOCK) s->writer = (int)t + 1;
      me->timed = me->late = 0;
      me->last = !flags;
      me->seen = hd_mix64(me->seen * 31 + flags);
      break;
    case HD_OP_RDUNLOCK: s->readers &= ~(1u << t); break;
    case HD_OP_WRUNLOCK: s->writer = 0; break;
    case HD_OP_SEMWAIT:
    case HD_OP_SEMTRYWAIT:
    case HD_OP_SEMTIMED:
      s->tokens -= !flags;
      me->timed = me->late = 0;
      me->last = !flags;
      me->seen = hd_mix64(me->seen * 31 + flags);
      break;
    case HD_OP_SEMPOST: s->tokens++; break;
    case HD_OP_SEMVALUE:
      me->last = s->tokens;
      me->seen = hd_mix64(me->seen * 31 + s->tokens);
      break;
    case HD_OP_BARRIER:
      me->state = SIM_ARRIVED;
      s->arrived |= 1u << t;
      me->op.kind = HD_OP_BLEAVE;
      me->op.barrier.ordered = 0;
      me->round = 0;
      if ((unsigned)__builtin_popcount(s->arrived) == s->p->barrier) { /* the first of them chooses */
        unsigned first = (unsigned)__builtin_ctz(s->arrived);
        for (unsigned k = 0; k < SIM_THREADS; k++)
          if (s->arrived >> k & 1) {
            s->t[k].round = s->arrived;
            s->t[k].op.size = 0;
          }
        s->t[first].op.size = s->p->barrier;
        s->t[first].state = SIM_RUNS;
        s->arrived = 0;
      }
      return 1;
    case HD_OP_BLEAVE:
      if (me->op.size) {
        struct hd_set all = {{me->round}};
        for (unsigned k = 0; k < SIM_THREADS; k++)
          if (me->round >> k & 1) {
            s->t[k].last = k == hd_set_nth(&all, (unsigned)choice);
            s->t[k].seen = hd_mix64(s->t[k].seen * 31 + s->t[k].last);
            s->t[k].state = SIM_RUNS;
          }
      }
      break;
    case HD_OP_CHOOSE:
      me->last = (uint64_t)choice;
      me->seen = hd_mix64(me->seen * 31 + (uint64_t)choice + 7);
      break;
    case HD_OP_SLEEP:
      sim_timer(s, me, i->v);
      me->op.kind = HD_OP_TIMEOUT;
      go_on = 0;
      break;
    case HD_OP_TIMEOUT: me->late = me->timed = 0; break;
    case HD_OP_SPINWAIT:
      me->armed = 0;
      sim_guard[t] = NULL;
      sim_advance(s, t);
      return 1;
    case HD_OP_ALOAD:
      if (i->what != I_SPIN || me->last % 2 != i->v) break;
      me->armed = 1;
      me->changed = 0;
      memcpy(me->read, s->memory + i->b, i->size);
      memcpy(me->now, me->read, i->size);
      me->guard = (struct hd_guard){.place = {{me->op.object, i->size}}, .nplaces = 1};
      sim_guard[t] = &me->guard;
      sim_pend(s, t, HD_OP_SPINWAIT, me->op.object, i->size);
      return 1;
    default: break;
  }
  if (!go_on) return 1;
  me->pc++;
  sim_advance(s, t);
  return 1;
}

#endif

/* order.c: the happens-before order of one execution, and its reversible races. Runs in the tested process.
 *
 * Invariants
 *  1. clock[q] of an event is the index of the latest event of thread q that happened before it.
 *  2. (e, f) is a race when they are dependent, of different threads, neither is ordered by a third event in
 *     between, and f could have been executed instead of e at the state before e.
 *  3. Taking a lock races with the previous taking of it, not with the release in between: a release and the
 *     next acquire cannot be swapped. A failed trylock only reads the lock; it races with the acquire before
 *     and the release after it.
 *  4. Whoever waits for a lock races with its initialisation, unless the lock was held then: it could not have come
 *     before that, only before the taking of the lock.
 *  5. A time-out happens only when nothing else can run, so all that came before is ordered before it, and all that comes
 *     after is ordered after it. That order is kept apart from all others, in the last entry of each clock: where a
 *     conflict has no other, the program relies on time (by_time). */
#include "model/memory.h"
#include "model/order_int.h"

#define TABLE_MIN (1u << 11) /* few pages: a process forked for one execution touches them anew */
#define TABLE_MAX (1u << 22)

void hd_order_init(struct hd_order *t, void *memory) {
  char *m = memory;
  t->cap_ev = 1u << 22;
  t->cap_races = 1u << 22;
  t->table_cap = TABLE_MIN;
  t->ev = (struct hd_ev *)m;
  m += sizeof *t->ev * (uint64_t)t->cap_ev;
  t->race = (struct hd_race *)m;
  m += sizeof *t->race * (uint64_t)t->cap_races;
  t->key = (uint64_t *)m;
  m += sizeof *t->key * (uint64_t)t->cap_ev;
  t->mark = (struct hd_mark *)m;
  m += sizeof *t->mark * (uint64_t)(t->cap_ev + 1);
  m += -(uintptr_t)m % sizeof *t->table;
  t->table = (struct hd_tobj *)m;
  m += sizeof *t->table * (uint64_t)TABLE_MAX;
  hd_arena_init(&t->arena, m, (uint64_t)((char *)memory + HD_ORDER_MEMORY - m));
  t->threads_max = 8;
}

void hd_order_begin(struct hd_order *t) {
  if (t->nthreads >= t->threads_max) t->threads_max = (t->nthreads + 8) & ~7u;
  for (uint32_t i = 0; i < t->nthreads; i++) {
    t->last[i] = t->cause[i] = HD_NONE;
    t->waits[i] = 0;
    t->gate[i] = NULL;
  }
  t->last[0] = t->cause[0] = HD_NONE;
  t->n = t->nraces = t->nthreads = 0;
  t->renewed = HD_NONE;
  t->table_used = 0;
  t->barrier = t->section = t->section_last = t->interrupt = t->narrow = HD_NONE;
  t->floor = ++t->stamp;
  t->undo = NULL;
  t->kept = 0;
  t->logging = t->afresh = t->ended = 0;
  hd_arena_reset(&t->arena);
}

void *hd_order_get(struct hd_order *t, size_t n) {
  void *p = hd_arena_get(&t->arena, n);
  if (!p) hd_give_up("an execution is too long: no memory is left for its trace; lower --max-length");
  return p;
}

/* Twice the room, for this execution and all to come. Nobody holds a pointer into the table meanwhile. */
static void grow_table(struct hd_order *t) {
  struct hd_tobj *old = hd_order_get(t, t->table_used * sizeof *old);
  uint32_t n = 0;
  if (t->table_cap == TABLE_MAX) hd_give_up("an execution touches too many objects");
  for (uint32_t i = 0; i < t->table_cap; i++)
    if (t->table[i].stamp >= t->floor) old[n++] = t->table[i];
  t->table_cap *= 2;
  t->table_used = 0;
  t->floor = ++t->stamp;
  t->afresh = 1;
  for (uint32_t i = 0; i < n; i++) {
    struct hd_tobj *o = hd__tobj(t, old[i].key);
    old[i].stamp = t->stamp;
    *o = old[i];
  }
}

struct hd_tobj *hd__tobj(struct hd_order *t, uint64_t key) {
  uint32_t i = (uint32_t)(hd_mix64(key) & (t->table_cap - 1));
  while (t->table[i].stamp >= t->floor && t->table[i].key != key) i = (i + 1) & (t->table_cap - 1);
  struct hd_tobj *o = &t->table[i];
  if (o->stamp == t->stamp) return o;
  if (o->stamp < t->floor) {
    if (++t->table_used * 2 > t->table_cap) {
      grow_table(t);
      return hd__tobj(t, key);
    }
    hd_order_save(t, o, sizeof *o);
    *o = (struct hd_tobj){.key = key, .acquire = HD_NONE, .release = HD_NONE, .destroy = HD_NONE};
  } else {
    hd_order_save(t, o, sizeof *o);
  }
  o->stamp = t->stamp;
  return o;
}

/* ---- one event ---- */

void hd__join(struct hd_work *w, uint32_t e) {
  const uint32_t *restrict c = w->t->ev[e].clock;
  uint32_t *restrict d = w->clock;
  for (uint32_t i = 0, n = w->t->threads_max; i < n; i++)
    if (c[i] > d[i]) d[i] = c[i];
}

int hd__covered(const struct hd_work *w, const uint32_t *clock, uint32_t e) {
  const struct hd_ev *v = &w->t->ev[e];
  if (clock[v->op.thread] >= v->index) return 1;
  if (e >= clock[HD_LATE(w->t)]) return 0;
  w->t->by_time++;
  return 1;
}

void hd__add_race(struct hd_work *w, uint32_t e, const uint32_t *also, uint32_t nalso) {
  struct hd_order *t = w->t;
  if (t->nraces < t->cap_races)
    t->race[t->nraces++] = (struct hd_race){e, w->f, w->op->thread, *w->op, also, nalso, NULL};
}

void hd__meet(struct hd_work *w, uint32_t e) {
  if (e == HD_NONE || hd__covered(w, w->clock, e) || w->t->ev[e].op.section == HD_SECTION_INSIDE) return;
  hd__add_race(w, e, NULL, 0);
  hd__join(w, e);
}

void hd__remember(struct hd_work *w, struct hd_tobj *o) {
  if (w->f == HD_NONE) return;
  struct hd_link *l = hd_order_get(w->t, sizeof *l);
  *l = (struct hd_link){.ev = w->f, .next = o->list};
  o->list = l;
}

/* Takes the link after prev out of the list; prev is NULL: the first. */
static void unlink_after(struct hd_work *w, struct hd_tobj *o, struct hd_link *prev) {
  if (!prev) {
    o->list = o->list->next;
  } else {
    hd_order_save(w->t, &prev->next, sizeof prev->next);
    prev->next = prev->next->next;
  }
}

void hd__remember_last(struct hd_work *w, struct hd_tobj *o) {
  if (w->f == HD_NONE) return;
  struct hd_link *prev = NULL;
  for (struct hd_link *l = o->list; l; prev = l, l = l->next) {
    const struct hd_ev *e = &w->t->ev[l->ev];
    if (e->op.thread != w->op->thread || !hd_conflict_alike(&e->op, e->flags, w->op, w->flags)) continue;
    unlink_after(w, o, prev);
    break;
  }
  hd__remember(w, o);
}

/* What the operation does to a condition or futex. */
static enum hd_effect queue_effect(const struct hd_op *op, unsigned flags) {
  unsigned object = hd_op_object(op->kind);
  return object == HD_OBJ_COND || object == HD_OBJ_FUTEX ? hd_op_effect(op->kind, flags)
                                                         : hd_op_second(op->kind, flags);
}

/* Whoever kept it from going earlier (invariant 3). */
static void meet_rival(struct hd_work *w, const struct hd_tobj *o) {
  uint32_t rival = hd__section_rival(w->t, o);
  if (rival != HD_NONE && !hd__covered(w, w->pred, rival)) hd__add_race(w, rival, NULL, 0);
}

/* Whether the lock is taken. */
static int held(const struct hd_tobj *o) {
  return o->acquire != HD_NONE && (o->release == HD_NONE || o->release < o->acquire);
}

void hd__meet_life(struct hd_work *w, const struct hd_tobj *o) {
  if (o->destroy != HD_NONE && o->init_held && hd_op_is(w->op->kind, HD_TRAIT_WAITS))
    hd__join(w, o->destroy);
  else
    hd__meet(w, o->destroy);
}

void hd__on_life(struct hd_work *w, struct hd_tobj *o, enum hd_effect effect, int is_held) {
  if (w->f == HD_NONE) return;
  o->destroy = w->f;
  o->init_held = effect == HD_EFF_INIT && is_held;
  if (effect != HD_EFF_INIT) return;
  o->list = o->spins = NULL;
  o->release = HD_NONE;
  if (!is_held) o->acquire = HD_NONE;
}

/* A mutex, or a once-control. */
static void on_lock(struct hd_work *w, uint64_t at, enum hd_effect effect) {
  struct hd_tobj *o = hd__tobj(w->t, at * 4 + 1);
  hd__meet_life(w, o);
  switch (effect) {
    case HD_EFF_ACQUIRE:
      if (hd_op_is(w->op->kind, HD_TRAIT_TRIES)) {
        hd__meet(w, o->release); /* before it, it would have failed */
      } else {
        meet_rival(w, o);
        if (o->release != HD_NONE) hd__join(w, o->release);
      }
      for (struct hd_link *s = o->spins; s; s = s->next) hd__meet(w, s->ev);
      if (w->f == HD_NONE) return;
      uint32_t taker = hd__section_taker(w->t, o, w->f);
      if (taker == o->acquire) o->release = HD_NONE; /* taken again: it is not free */
      o->acquire = taker;
      o->list = o->spins = NULL;
      break;
    case HD_EFF_LOOK:
      if (hd_op_is(w->op->kind, HD_TRAIT_TRIES | HD_TRAIT_TIMED)) {
        hd__meet(w, o->acquire);
      } else { /* it has waited until nobody had it */
        meet_rival(w, o);
        if (o->release != HD_NONE) hd__join(w, o->release);
      }
      hd__remember_last(w, o);
      break;
    case HD_EFF_RELEASE:
      for (struct hd_link *r = o->list; r; r = r->next) hd__meet(w, r->ev);
      if (w->f != HD_NONE) o->release = w->f;
      break;
    case HD_EFF_INIT:
    case HD_EFF_DESTROY:
      for (struct hd_link *r = o->list; r; r = r->next) hd__meet(w, r->ev);
      for (struct hd_link *s = o->spins; s && effect == HD_EFF_INIT; s = s->next) hd__meet(w, s->ev);
      hd__meet(w, o->release);
      hd__meet(w, o->acquire);
      hd__on_life(w, o, effect, held(o));
      break;
    default: break;
  }
}

/* A condition, or a futex. */
static void on_queue(struct hd_work *w, enum hd_effect b) {
  if (b == HD_EFF_RETURN) return;
  struct hd_tobj *o = hd__tobj(w->t, w->op->object * 4 + 2);
  for (struct hd_link *l = o->list; l; l = l->next) {
    const struct hd_ev *e = &w->t->ev[l->ev];
    enum hd_effect a = queue_effect(&e->op, e->flags);
    if (e->op.thread != w->op->thread && (hd_conflicts[a] & HD_EFFECT_BIT(b)) &&
        hd_carried_conflict(&e->op, a, w->op, b))
      hd__meet(w, l->ev);
  }
  hd__remember_last(w, o);
}

void hd__access(struct hd_work *w, struct hd_tobj *o, uint8_t mask, int write) {
  struct hd_link *l = hd_order_get(w->t, sizeof *l);
  *l = (struct hd_link){.ev = w->f, .mask = mask, .write = (uint8_t)write, .next = o->list};
  o->list = l;
}

/* The list keeps no access that a later one stands for: whatever conflicts with it conflicts with the later one too,
 * which happened after it. That is a write of the same bytes or more, and for a read also a read by the same thread. */
static void on_granule(struct hd_work *w, uint64_t granule, uint8_t mask, int write) {
  struct hd_tobj *o = hd__tobj(w->t, granule * 4 + 3);
  struct hd_link *prev = NULL;
  int adds =
      w->f != HD_NONE && (write || w->op->section != HD_SECTION_INSIDE); /* nothing meets a read inside */
  for (struct hd_link *l = o->list; l; l = l->next) {
    int same = w->t->ev[l->ev].op.thread == w->op->thread, last = 0;
    if (l->mask & mask) {
      if (!same && (write || l->write)) hd__meet(w, l->ev);
      last = l->write && hd_memory_hides(l->mask, mask);
      if (adds && !(l->mask & ~mask) && (write || (same && !l->write)))
        unlink_after(w, o, prev);
      else
        prev = l;
      if (last) break;
    } else {
      prev = l;
    }
  }
  if (adds) hd__access(w, o, mask, write);
}

/* Of a large block, whose granules would need an entry each, only those count that other threads may access meanwhile: the
 * accesses of all others are ordered by other events. */
#define LARGE 512
static void on_memory(struct hd_work *w) {
  uint64_t lo = w->op->object, hi = lo + w->op->size;
  int write = hd_op_does(w->op->kind, w->flags, HD_EFF_CHANGES);
  int (*counts)(uint64_t) = w->op->size >= LARGE ? w->t->contended : NULL;
  for (uint64_t g = lo & ~7ull; g < hi; g += 8) {
    if (counts && !counts(g)) continue;
    unsigned mask = 0xff;
    if (lo > g) mask &= 0xffu << (lo - g);
    if (hi < g + 8) mask &= 0xffu >> (g + 8 - hi);
    on_granule(w, g, (uint8_t)mask, write);
  }
}

/* The process ends: everything anybody did comes before, and could have come after (that is, never). */
static void on_end(struct hd_work *w) {
  for (uint32_t i = 0; i < w->t->nthreads; i++)
    if (i != w->op->thread) hd__meet(w, w->t->last[i]);
}

/* Meets both, the later first: it may have happened after the other. */
static void meet_both(struct hd_work *w, uint32_t a, uint32_t b) {
  int first = a != HD_NONE && (b == HD_NONE || a > b);
  hd__meet(w, first ? a : b);
  hd__meet(w, first ? b : a);
}

static struct hd_tobj *of_thread(struct hd_order *t, uint64_t id) { return hd__tobj(t, (id + 1) * 4); }

/* A signal that only its thread, and its handler, can tell apart. */
static void on_signal(struct hd_work *w) {
  struct hd_order *t = w->t;
  uint32_t to = (uint32_t)w->op->object, cause = to < t->nthreads ? t->cause[to] : HD_NONE;
  if (cause != HD_NONE && hd_op_effect(t->ev[cause].op.kind, 0) == HD_EFF_SPAWN)
    hd__join(w, cause); /* before that, there was no such thread */
  meet_both(w, of_thread(t, to)->acquire, to < t->nthreads ? t->last[to] : HD_NONE);
  on_granule(w, hd_op_handler(w->op), 1, 0);
}

/* Orders the operation after the last signal to its thread, and the last interruption of any. */
static void meet_interrupts(struct hd_work *w) {
  const struct hd_order *t = w->t;
  uint32_t narrow = t->narrow == HD_NONE ? HD_NONE : of_thread(w->t, w->op->thread)->acquire;
  meet_both(w, t->interrupt, narrow);
}

/* Like a lock: whoever took the chance away races with this; what gave it back is ordered before, for good. */
int hd__on_enabled(struct hd_work *w) {
  const struct hd_op *op = w->op;
  uint32_t rival = op->ready.disabler ? hd__section_entry(w->t, op->ready.disabler - 1) : HD_NONE;
  if (rival != HD_NONE && !hd__covered(w, w->pred, rival)) hd__add_race(w, rival, NULL, 0);
  if (w->f == HD_NONE) return 0;
  if (op->ready.enabler) hd__join(w, op->ready.enabler - 1);
  return 1;
}

static void on_create(struct hd_work *w) {
  if (!w->op->spawn.ordered) return;
  struct hd_tobj *o = hd__tobj(w->t, 0);
  hd__meet(w, o->acquire);
  if (w->f != HD_NONE) o->acquire = w->f;
}

/* How the operations on each kind of object meet the earlier ones. */
static void conflicts(struct hd_work *w) {
  const struct hd_op *op = w->op;
  const struct hd_op_info *info = &hd_op_table[op->kind];
  enum hd_effect effect = hd_op_effect(op->kind, w->flags), second = hd_op_second(op->kind, w->flags);
  const struct hd_guard *guard = hd__guard(w->t, op);
  int waits = guard != NULL;
  /* The signal of a timer: nothing else could run when its time came. */
  if (info->first.object == HD_OBJ_THREAD && (w->flags & HD_EV_LATE)) w->clock[HD_LATE(w->t)] = w->f;
  if (guard) hd__on_guard(w, guard);
  switch (info->first.object) {
    case HD_OBJ_MEMORY:
    case HD_OBJ_STATE:
      if (!guard) on_memory(w);
      break;
    case HD_OBJ_IO: hd__on_io(w); break;
    case HD_OBJ_MUTEX:
    case HD_OBJ_ONCE:
      on_lock(w, op->object, effect);
      waits = hd_op_is(op->kind, HD_TRAIT_WAITS);
      break;
    case HD_OBJ_COND:
    case HD_OBJ_FUTEX: on_queue(w, effect); break;
    case HD_OBJ_NONE: break;
    default: hd__sync_conflicts(w);
  }
  if (effect == HD_EFF_SPAWN) on_create(w);
  if (effect == HD_EFF_INTERRUPT && op->cancel.narrow)
    on_signal(w);
  else if (effect == HD_EFF_END || effect == HD_EFF_INTERRUPT)
    on_end(w);
  if (second == HD_EFF_RELEASE) on_lock(w, hd_op_second_object(op), second);
  if (second == HD_EFF_QUEUE || second == HD_EFF_UNQUEUE) on_queue(w, second);
  /* A time-out could not have come before an interrupt, nor because it enters a section again: something could
   * still run. */
  if (hd_op_late(op->kind, w->flags)) return;
  meet_interrupts(w); /* after all that made it possible, since that may have come of the interrupt */
  hd__meet_everybody(w);
  hd__meet_section(w, waits);
}

static uint32_t *new_clock(struct hd_order *t, const uint32_t *from) {
  uint32_t n = t->threads_max, *restrict c = hd_order_get(t, n * sizeof *c);
  for (uint32_t i = 0; i < n; i++) c[i] = from ? from[i] : 0;
  return c;
}

static void merge(struct hd_order *t, uint32_t *c, uint32_t e) {
  if (e == HD_NONE) return;
  const uint32_t *restrict d = t->ev[e].clock;
  for (uint32_t i = 0, n = t->threads_max; i < n; i++)
    if (d[i] > c[i]) c[i] = d[i];
}

int hd__woke_spuriously(const struct hd_ev *wait) {
  return hd_wakes_spuriously(wait->nchoices, wait->choice);
}

/* Whether after that event the thread can only go on when somebody wakes it, or its time is over. */
static int sleeps_on(const struct hd_ev *e) {
  return queue_effect(&e->op, e->flags) == HD_EFF_QUEUE && !hd__woke_spuriously(e);
}

/* The event that let the operation go on for good, plus 1; 0: none. One that ended once before it really did could
 * have gone on then: what ended it last is no condition. */
static uint32_t enabled_by(const struct hd_op *op) {
  if (!hd_op_is(op->kind, HD_TRAIT_ENABLER) || op->ready.alternatives) return 0;
  return op->ready.disabler ? op->ready.enabler_before : op->ready.enabler;
}

/* What orders the operation apart from its conflicts: its thread, and what enabled it. Mostly that is just the
 * previous event of the thread, whose clock is then shared. (A time-out does not: the operation was pending
 * already, and could have come before the time passed.) */
static const uint32_t *pred_clock(struct hd_order *t, const struct hd_op *op) {
  uint32_t prev = t->last[op->thread], cause = t->cause[op->thread];
  enum hd_effect effect = hd_op_effect(op->kind, 0);
  int joins = effect == HD_EFF_JOIN && op->object < t->nthreads;
  uint32_t spins = enabled_by(op);
  int timed_out = hd_op_second(op->kind, 0) == HD_EFF_RETURN && cause == HD_NONE && prev != HD_NONE &&
                  sleeps_on(&t->ev[prev]);
  const uint32_t *gate = effect == HD_EFF_LEAVE && op->thread < t->nthreads ? t->gate[op->thread] : NULL;
  uint32_t after = t->follows ? t->follows[op->thread] : HD_NONE;
  int due = hd_op_is(op->kind, HD_TRAIT_DUE);
  if (prev != HD_NONE && cause == HD_NONE && !joins && !spins && !timed_out && !due && !gate &&
      after >= HD_HELD)
    return t->ev[prev].clock;
  uint32_t *c = new_clock(t, prev == HD_NONE ? NULL : t->ev[prev].clock);
  merge(t, c, cause);
  if (after < HD_HELD) merge(t, c, after);
  if (joins) merge(t, c, t->last[op->object]);
  if (spins) merge(t, c, spins - 1);
  for (uint32_t i = 0; gate && i < t->threads_max; i++)
    if (gate[i] > c[i]) c[i] = gate[i];
  if (timed_out || (due && hd_op_is(op->kind, HD_TRAIT_LATE)))
    c[HD_LATE(t)] = t->n; /* nothing else could run when its time came */
  else if (due && t->barrier != HD_NONE && c[HD_LATE(t)] <= t->barrier)
    c[HD_LATE(t)] = t->barrier + 1;
  return c;
}

static const uint32_t *wider(struct hd_order *t, const uint32_t *clock, uint32_t old) {
  uint32_t *c = hd_order_get(t, t->threads_max * sizeof *c);
  for (uint32_t k = 0; k < t->threads_max; k++) c[k] = k < old - 1 ? clock[k] : 0;
  c[HD_LATE(t)] = clock[old - 1];
  return c;
}

/* More threads than any execution had before: clocks must be wider. Old ones are copied. */
static void widen(struct hd_order *t, uint32_t n) {
  uint32_t old = t->threads_max;
  t->afresh = 1;
  t->threads_max = (n + 7) & ~7u;
  for (uint32_t i = 0; i < t->n; i++) {
    t->ev[i].clock = wider(t, t->ev[i].clock, old);
    t->ev[i].pred = wider(t, t->ev[i].pred, old);
  }
  for (uint32_t i = 0; i < t->nraces; i++)
    if (t->race[i].pred) t->race[i].pred = wider(t, t->race[i].pred, old);
  for (uint32_t i = 0; i < t->nthreads; i++) { /* gates are shared, and compared by address */
    const uint32_t *gate = t->gate[i];
    if (!gate) continue;
    const uint32_t *c = wider(t, gate, old);
    for (uint32_t k = i; k < t->nthreads; k++)
      if (t->gate[k] == gate) t->gate[k] = c;
  }
}

static void know_thread(struct hd_order *t, uint32_t id) {
  if (id >= HD_LATE(t)) widen(t, id + 2);
  for (; t->nthreads <= id; t->nthreads++) {
    t->last[t->nthreads] = t->cause[t->nthreads] = HD_NONE;
    t->waits[t->nthreads] = 0;
    t->gate[t->nthreads] = NULL;
  }
}

/* Takes a mutex or a once-control, if it succeeds. */
static int acquires_lock(const struct hd_op *op) {
  unsigned object = hd_op_object(op->kind);
  return (object == HD_OBJ_MUTEX || object == HD_OBJ_ONCE) && hd_op_effect(op->kind, 0) == HD_EFF_ACQUIRE;
}

/* Races of an operation that was never executed because it had to wait, with those who kept it waiting. */
static void held_up(struct hd_work *w) {
  const struct hd_guard *guard = hd__guard(w->t, w->op);
  if (guard)
    hd__on_guard(w, guard);
  else if (acquires_lock(w->op))
    on_lock(w, w->op->object, HD_EFF_ACQUIRE);
  else if (hd_op_is(w->op->kind, HD_TRAIT_ENABLER))
    hd__on_enabled(w);
  else if (hd__sync_waits(w->op))
    hd__sync_conflicts(w);
}

/* A cancellation or a handler comes in the place of what the thread was about to do: that may have been executed before,
 * or before those who kept it waiting. */
static void cancels(struct hd_order *t, uint32_t f) {
  const struct hd_op *op = t->ev[f].op.cancel.instead;
  if (!op) return;
  const uint32_t *pred = pred_clock(t, op);
  struct hd_work w = {t, HD_NONE, op, 0, pred, new_clock(t, pred)};
  uint32_t n = t->nraces;
  if (t->ev[f].op.cancel.could)
    hd__add_race(&w, hd__section_entry(t, f), NULL, 0);
  else
    held_up(&w);
  for (; n < t->nraces; n++)
    t->race[n].pred = pred; /* the thread goes on: its last event is another one then */
}

/* Event f lets a thread go on; it has waited, if anywhere, no longer. */
static void wake(struct hd_order *t, uint32_t f, uint32_t thread) {
  hd_order_save_thread(t, thread);
  t->cause[thread] = f;
  t->waits[thread] = 0;
}

/* Event f puts its thread into the queue of its object, or takes it out. */
static void queue(struct hd_order *t, uint32_t f, enum hd_effect effect) {
  const struct hd_ev *ev = &t->ev[f];
  int queued = effect == HD_EFF_QUEUE && !hd__woke_spuriously(ev);
  t->waits[ev->op.thread] = queued ? ev->op.object : 0;
}

/* What follows from an executed event: who can go on because of it, and who waits. Of most, nothing does. */
#define BIT(effect) HD_EFFECT_BIT(HD_EFF_##effect)
#define ENABLING                                                                                 \
  (BIT(SPAWN) | BIT(INTERRUPT) | BIT(NOTIFY) | BIT(NOTIFY_ALL) | BIT(NOTIFY_SOME) | BIT(QUEUE) | \
   BIT(UNQUEUE) | BIT(RETURN) | BIT(ARRIVE) | BIT(LEAVE) | BIT(INIT))

/* Whoever is woken after its time was over could have given up before that. */
static void gave_up_before(struct hd_order *t, uint32_t f) {
  const struct hd_op *by = &t->ev[f].op;
  for (uint32_t i = 0; by->wake.late >> i; i++) {
    if (!(by->wake.late >> i & 1)) continue;
    const struct hd_op op = {
        .kind = HD_OP_CTIMEOUT, .thread = (uint16_t)i, .object = by->object, .pc = by->pc};
    const uint32_t *pred = pred_clock(t, &op);
    struct hd_work w = {t, HD_NONE, &op, 0, pred, NULL};
    hd__add_race(&w, hd__section_entry(t, f), NULL, 0);
    t->race[t->nraces - 1].pred = pred;
    if (i == 63) break;
  }
}

static void enable(struct hd_order *t, uint32_t f, enum hd_effect effect) {
  const struct hd_op *op = &t->ev[f].op;
  if ((HD_EFFECT_BIT(effect) & (BIT(NOTIFY) | BIT(NOTIFY_ALL) | BIT(NOTIFY_SOME))) && op->wake.late)
    gave_up_before(t, f);
  switch (effect) {
    case HD_EFF_SPAWN:
      hd_order_save_thread(t, (uint32_t)op->object);
      t->cause[op->object] = f;
      break;
    case HD_EFF_INTERRUPT:
      if (op->cancel.narrow)
        of_thread(t, op->object)->acquire = t->narrow = f;
      else
        t->interrupt = f;
      if (hd_op_woken(op)) wake(t, f, hd_op_woken(op) - 1);
      break;
    case HD_EFF_NOTIFY:
      if (hd_op_woken(op)) wake(t, f, hd_op_woken(op) - 1);
      break;
    case HD_EFF_NOTIFY_ALL:
      for (uint32_t i = 0; i < t->nthreads; i++)
        if (t->waits[i] == op->object) wake(t, f, i);
      break;
    case HD_EFF_NOTIFY_SOME:
      for (uint32_t i = 0; i < t->nthreads && i < 64; i++)
        if (op->wake.set >> i & 1) wake(t, f, i);
      break;
    case HD_EFF_QUEUE:
    case HD_EFF_UNQUEUE:
    case HD_EFF_RETURN: queue(t, f, effect); break;
    case HD_EFF_INIT: /* a condition forgets its waiters */
      for (uint32_t i = 0; i < t->nthreads; i++)
        if (t->waits[i] && t->waits[i] == op->object) {
          hd_order_save_thread(t, i);
          t->waits[i] = 0;
        }
      break;
    case HD_EFF_ARRIVE: hd__arrived(t, f); break;
    case HD_EFF_LEAVE: hd__left(t, f); break;
    default: break;
  }
  switch (hd_op_second(op->kind, t->ev[f].flags)) {
    case HD_EFF_QUEUE: queue(t, f, HD_EFF_QUEUE); break;
    case HD_EFF_UNQUEUE:
    case HD_EFF_RETURN: queue(t, f, HD_EFF_RETURN); break;
    default: break;
  }
}

void hd_order_event(struct hd_order *t, const struct hd_op *op, unsigned flags, unsigned choice,
                    unsigned nchoices) {
  if (t->n == t->cap_ev || (t->n < t->kept && hd_order_known(t, op, flags, choice, nchoices))) return;
  if (t->logging) hd_order_mark(t, op->thread);
  t->stamp++;
  know_thread(t, op->thread);
  enum hd_effect effect = hd_op_effect(op->kind, flags);
  if (effect == HD_EFF_SPAWN) know_thread(t, (uint32_t)op->object);
  uint32_t f = t->n++, prev = t->last[op->thread];
  struct hd_ev *ev = &t->ev[f];
  const uint32_t *pred = pred_clock(t, op);
  /* Field by field: clearing all of it first takes longer. */
  ev->index = prev == HD_NONE ? 1 : t->ev[prev].index + 1;
  ev->prev = prev;
  ev->pred = pred;
  ev->op = *op;
  ev->value = 0;
  ev->from = ev->place = 0;
  ev->choice = choice;
  ev->nchoices = nchoices;
  ev->flags = (uint8_t)flags;
  t->key[f] = hd_dependence_key(op, flags);
  t->chooses |= nchoices > 1;
  if (hd_payload_points(op->kind) && f < t->renewed) t->renewed = f;
  uint32_t *clock = new_clock(t, pred);
  ev->clock = clock;
  struct hd_work w = {t, f, &ev->op, flags, pred, clock};
  conflicts(&w);
  if (hd_op_payload(op->kind) == HD_PAYLOAD_CANCEL) cancels(t, f);
  if (t->barrier != HD_NONE && clock[HD_LATE(t)] <= t->barrier) clock[HD_LATE(t)] = t->barrier + 1;
  clock[op->thread] = ev->index;
  t->last[op->thread] = f;
  t->cause[op->thread] = HD_NONE;
  if (op->section == HD_SECTION_ENTERS) t->section = f;
  if (op->section) t->section_last = f;
  if (((HD_EFFECT_BIT(effect) | HD_EFFECT_BIT(hd_op_second(op->kind, flags))) & ENABLING) != 0)
    enable(t, f, effect);
  if (hd_op_late(op->kind, flags)) { /* invariant 5 */
    clock[HD_LATE(t)] = f + 1;
    t->barrier = f;
  }
}

void hd_order_stop(struct hd_order *t) {
  hd_order_settle(t);
  if (!t->n) return;
  uint32_t f = t->n - 1;
  struct hd_ev *ev = &t->ev[f];
  ev->flags |= HD_EV_STOP;
  t->key[f] = 0;
  struct hd_work w = {t, f, &ev->op, ev->flags, ev->pred, (uint32_t *)ev->clock};
  on_end(&w);
}

/* Whether the event released that mutex or once-control. */
static int releases(const struct hd_ev *e, uint64_t lock) {
  const struct hd_op_info *info = &hd_op_table[e->op.kind];
  if (info->second.object == HD_OBJ_MUTEX) return hd_op_second_object(&e->op) == lock;
  return (info->first.object == HD_OBJ_MUTEX || info->first.object == HD_OBJ_ONCE) &&
         hd_op_effect(e->op.kind, e->flags) == HD_EFF_RELEASE && e->op.object == lock;
}

void hd_order_end(struct hd_order *t, const struct hd_point *p) {
  hd_order_settle(t);
  if (t->logging) hd_order_mark(t, 0);
  t->ended = 1;
  t->stamp++;
  int ended = t->n && (hd_op_effect(t->ev[t->n - 1].op.kind, 0) == HD_EFF_END ||
                       (t->ev[t->n - 1].flags & HD_EV_STOP));
  for (uint32_t i = 0; i < t->nthreads; i++) {
    const struct hd_op *op = p->op[i];
    if (i && t->last[i] == HD_NONE && t->cause[i] == HD_NONE) continue; /* it was not created */
    if (t->last[i] != HD_NONE && hd_op_effect(t->ev[t->last[i]].op.kind, 0) == HD_EFF_FINISH &&
        t->cause[i] == HD_NONE)
      continue;
    if (ended && i == t->ev[t->n - 1].op.thread) continue;
    uint32_t after = t->follows ? t->follows[i] : HD_NONE, before = t->nraces;
    if (after == HD_HELD) continue; /* what it follows races in its place */
    const uint32_t *pred = pred_clock(t, op);
    struct hd_work w = {t, HD_NONE, op, 0, pred, new_clock(t, pred)};
    if (hd_set_has(p->enabled, i)) {
      if (!ended || hd__covered(&w, pred, t->n - 1)) continue;
      const struct hd_ev *e = &t->ev[t->n - 1];
      int freed = (acquires_lock(op) && releases(e, op->object)) || hd__sync_freed(e, op);
      const struct hd_guard *guard = hd__guard(t, op);
      if (guard ? !hd__open_without(t, guard, t->n - 1)
                : hd_op_is(op->kind, HD_TRAIT_ENABLER) && op->ready.enabler == t->n)
        freed = 1;
      if (!freed) {
        /* It could have done this before the end of the process. */
        hd__add_race(&w, hd__section_entry(t, t->n - 1), NULL, 0);
        if (after < HD_HELD) t->race[t->nraces - 1].pred = pred;
        continue;
      }
      /* The last step is what let it go: it could not have come before that, only before what held it up. */
    }
    held_up(&w);
    for (; after < HD_HELD && before < t->nraces; before++) t->race[before].pred = pred;
  }
}

void hd_order_pending(struct hd_order *t, const struct hd_op *op) {
  const uint32_t *pred = pred_clock(t, op);
  struct hd_work w = {t, HD_NONE, op, 0, pred, new_clock(t, pred)};
  conflicts(&w);
}

uint32_t hd_order_enabler(struct hd_order *t, const struct hd_op *op) {
  if (!hd_op_is(op->kind, HD_TRAIT_WAITS)) return HD_NONE;
  switch (hd_op_object(op->kind)) {
    case HD_OBJ_IO: return op->ready.enabler ? op->ready.enabler - 1 : HD_NONE;
    case HD_OBJ_THREAD:
      return hd_op_effect(op->kind, 0) == HD_EFF_JOIN && op->object < t->nthreads ? t->last[op->object]
                                                                                  : HD_NONE;
    case HD_OBJ_MUTEX:
    case HD_OBJ_ONCE: return hd__tobj(t, op->object * 4 + 1)->release;
    case HD_OBJ_RWLOCK:
    case HD_OBJ_SEM:
    case HD_OBJ_BARRIER: return hd__sync_enabler(t, op);
    default: return HD_NONE;
  }
}

uint64_t hd_order_event_class(const struct hd_order *t, const struct hd_ev *e) {
  uint64_t h = hd_mix64(hd_numbers_name(t->numbers, e->op.thread) * 1000003ull + e->index);
  uint64_t object = hd_op_object(e->op.kind) == HD_OBJ_THREAD
                        ? hd_numbers_name(t->numbers, (unsigned)e->op.object)
                    : t->layout ? hd_layout_stable(t->layout, e->op.object)
                                : e->op.object;
  uint64_t before = 0;
  h = hd_mix64(h ^ (object + ((uint64_t)e->op.kind << 56) + ((uint64_t)e->flags << 48)));
  h = hd_mix64(h ^ (e->op.size + ((uint64_t)e->choice << 40)));
  for (uint32_t k = 0; k < t->nthreads; k++)
    if (e->clock[k]) before += hd_mix64(hd_numbers_name(t->numbers, k) * 0x9e3779b97f4a7c15ull + e->clock[k]);
  h = hd_mix64(h * 31 + before);
  uint32_t late = e->clock[HD_LATE(t)];
  return late ? hd_mix64(h * 31 + ((uint64_t)HD_MAX_THREADS << 32) + late) : h;
}

uint64_t hd_order_class(const struct hd_order *t) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < t->n; i++) sum += hd_order_event_class(t, &t->ev[i]);
  return hd_mix64(sum);
}

/* order.c: the happens-before order of one execution, and its reversible races. Runs in the tested process.
 *
 * Invariants
 *  1. clock[q] of an event is the index of the latest event of thread q that happened before it.
 *  2. (e, f) is a race when they are dependent, of different threads, neither is ordered by a third event in
 *     between, and f could have been executed instead of e at the state before e.
 *  3. Taking a lock races with the previous taking of it, not with the release in between: a release and the
 *     next acquire cannot be swapped. A failed trylock only reads the lock; it races with the acquire before
 *     and the release after it.
 *  4. A time-out happens only when nothing else can run, so all that came before is ordered before it. */
#include "model/order_int.h"

#define TABLE_MAX (1u << 22)

void hd_order_init(struct hd_order *t, void *memory) {
  char *m = memory;
  t->cap_ev = 1u << 22;
  t->cap_races = 1u << 22;
  t->table_cap = 1u << 16;
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
  if (t->nthreads > t->threads_max) t->threads_max = t->nthreads;
  for (uint32_t i = 0; i < t->nthreads; i++) {
    t->last[i] = t->cause[i] = HD_NONE;
    t->waits[i] = 0;
    t->gate[i] = NULL;
  }
  t->last[0] = t->cause[0] = HD_NONE;
  t->n = t->nraces = t->nthreads = 0;
  t->table_used = 0;
  t->barrier = t->section = t->section_last = t->interrupt = HD_NONE;
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

/* ---- dependence ---- */

int hd__is_write(unsigned kind, unsigned flags) {
  return hd_op_effect[kind] == HD_EFF_WRITE && !(kind == HD_OP_ACAS && (flags & HD_EV_FAILED));
}

int hd__overlap(const struct hd_op *a, const struct hd_op *b) {
  return a->object < b->object + b->size && b->object < a->object + a->size;
}

enum hd_lock_role hd__lock_role(unsigned kind, unsigned flags) {
  switch (kind) {
    case HD_OP_LOCK: /* failed: its owner ended, and nobody made it consistent */
      return flags & HD_EV_FAILED ? HD_LOCK_READ : HD_LOCK_ACQUIRE;
    case HD_OP_WAKE: return HD_LOCK_ACQUIRE;
    case HD_OP_ONCE: /* failed: it was done already */
      return flags & HD_EV_FAILED ? HD_LOCK_READ : HD_LOCK_ACQUIRE;
    case HD_OP_TIMEDLOCK: return flags & HD_EV_FAILED ? HD_LOCK_READ : HD_LOCK_ACQUIRE;
    case HD_OP_TRYLOCK: return flags & HD_EV_FAILED ? HD_LOCK_READ : HD_LOCK_ACQUIRE;
    case HD_OP_UNLOCK:
    case HD_OP_ONCE_DONE:
    case HD_OP_WAIT:
    case HD_OP_TIMEDWAIT: return HD_LOCK_RELEASE;
    case HD_OP_MDESTROY: return HD_LOCK_WRITE;
    default: return HD_LOCK_NONE;
  }
}

uint64_t hd__lock_of(const struct hd_op *op) {
  return op->kind == HD_OP_WAIT || op->kind == HD_OP_TIMEDWAIT ? op->aux : op->object;
}

/* A futex is a condition whose wait begins with a look at memory. */
static int is_cond(unsigned kind) {
  return hd_op_object[kind] == HD_OBJ_COND || kind == HD_OP_FWAIT || kind == HD_OP_FWAKE ||
         kind == HD_OP_FWAKEALL;
}

static int is_wait(unsigned kind) {
  return kind == HD_OP_WAIT || kind == HD_OP_TIMEDWAIT || kind == HD_OP_CTIMEOUT || kind == HD_OP_FWAIT;
}

static int is_signal(unsigned kind) {
  return kind == HD_OP_SIGNAL || kind == HD_OP_BROADCAST || kind == HD_OP_FWAKE || kind == HD_OP_FWAKEALL;
}

static int cond_dependent(const struct hd_op *a, const struct hd_op *b) {
  if (is_wait(a->kind) && is_wait(b->kind))
    return 0; /* which waiter is woken is a choice, not a matter of who came first */
  if (is_signal(a->kind) && is_signal(b->kind)) return a->aux || b->aux; /* two signals that nobody hears */
  return 1;
}

/* A spin reads what it waits for; whatever can begin or end the wait is dependent. */
static int spin_dependent(const struct hd_op *spin, const struct hd_op *b, unsigned bf) {
  if (hd_op_object[b->kind] == HD_OBJ_MEMORY) return hd__is_write(b->kind, bf) && hd__overlap(spin, b);
  if (hd_op_object[b->kind] > HD_OBJ_ONCE) return b->object == spin->object;
  enum hd_lock_role role = hd__lock_role(b->kind, bf);
  return (role == HD_LOCK_ACQUIRE || role == HD_LOCK_RELEASE) && hd__lock_of(b) == spin->object;
}

static int is_io(unsigned kind) { return hd_op_object[kind] == HD_OBJ_IO; }

/* Enabled and disabled by others, with the events that did it in the operation itself. */
static int tells_enabler(unsigned kind) { return kind == HD_OP_SPINWAIT || is_io(kind); }

/* What is done to another thread, wherever that is: depends on everything. */
static int interrupts(unsigned kind) { return kind == HD_OP_CANCEL || kind == HD_OP_KILL; }

int hd_dependent(const struct hd_op *a, unsigned af, const struct hd_op *b, unsigned bf) {
  if (a->kind == HD_OP_END || b->kind == HD_OP_END || ((af | bf) & HD__EV_STOP)) return 1;
  if (interrupts(a->kind) || interrupts(b->kind)) return 1;
  if (hd__section_dependent(a, b)) return 1;
  if (a->kind == HD_OP_CREATE && b->kind == HD_OP_CREATE)
    return 1; /* the order decides the numbers of the new threads */
  if (a->kind == HD_OP_SPINWAIT) return spin_dependent(a, b, bf);
  if (b->kind == HD_OP_SPINWAIT) return spin_dependent(b, a, af);
  unsigned oa = hd_op_object[a->kind], ob = hd_op_object[b->kind];
  if (oa == HD_OBJ_IO || ob == HD_OBJ_IO) return oa == ob && hd__io_dependent(a, b);
  if (oa == HD_OBJ_MEMORY && ob == HD_OBJ_MEMORY)
    return hd__overlap(a, b) && (hd__is_write(a->kind, af) || hd__is_write(b->kind, bf));
  if (is_cond(a->kind) && is_cond(b->kind) && a->object == b->object && cond_dependent(a, b)) return 1;
  if (oa > HD_OBJ_ONCE || ob > HD_OBJ_ONCE || (oa == HD_OBJ_THREAD && ob == HD_OBJ_THREAD))
    return hd__sync_dependent(a, af, b, bf);
  enum hd_lock_role ra = hd__lock_role(a->kind, af), rb = hd__lock_role(b->kind, bf);
  return ra && rb && hd__lock_of(a) == hd__lock_of(b) && !(ra == HD_LOCK_READ && rb == HD_LOCK_READ);
}

uint64_t hd_dependence_key(const struct hd_op *op, unsigned flags) {
  if (op->section || (flags & HD__EV_STOP) || interrupts(op->kind)) return 0;
  switch (hd_op_object[op->kind]) {
    case HD_OBJ_NONE:
      return op->kind == HD_OP_YIELD || op->kind == HD_OP_SLEEP || op->kind == HD_OP_CHOOSE ? 4 : 0;
    case HD_OBJ_THREAD: return op->kind == HD_OP_CREATE ? 0 : 8;
    case HD_OBJ_MEMORY: /* within one granule */
      return op->kind != HD_OP_SPINWAIT && (op->object & 7) + op->size <= 8 ? (op->object >> 3) << 2 | 1 : 0;
    case HD_OBJ_MUTEX: return op->object << 2 | 2;
    default: return 0;
  }
}

/* ---- one event ---- */

void hd__join(struct hd_work *w, uint32_t e) {
  const uint32_t *c = w->t->ev[e].clock;
  for (uint32_t i = 0; i < w->t->threads_max; i++)
    if (c[i] > w->clock[i]) w->clock[i] = c[i];
}

int hd__covered(const struct hd_work *w, const uint32_t *clock, uint32_t e) {
  const struct hd_ev *v = &w->t->ev[e];
  return clock[v->op.thread] >= v->index;
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

/* Whoever kept it from going earlier (invariant 3). */
static void meet_rival(struct hd_work *w, const struct hd_tobj *o) {
  uint32_t rival = hd__section_rival(w->t, o);
  if (rival != HD_NONE && !hd__covered(w, w->pred, rival)) hd__add_race(w, rival, NULL, 0);
}

static void on_lock(struct hd_work *w, uint64_t key, enum hd_lock_role role) {
  struct hd_tobj *o = hd__tobj(w->t, key * 4 + 1);
  hd__meet(w, o->destroy);
  switch (role) {
    case HD_LOCK_ACQUIRE:
      if (w->op->kind == HD_OP_TRYLOCK) {
        hd__meet(w, o->release); /* before it, the trylock would have failed */
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
    case HD_LOCK_READ:
      if (w->op->kind == HD_OP_ONCE || w->op->kind == HD_OP_LOCK) {
        meet_rival(w, o);
        if (o->release != HD_NONE) hd__join(w, o->release);
      } else {
        hd__meet(w, o->acquire);
      }
      if (w->f == HD_NONE) return;
      struct hd_link *l = hd_order_get(w->t, sizeof *l);
      *l = (struct hd_link){w->f, 0, 0, o->list};
      o->list = l;
      break;
    case HD_LOCK_RELEASE:
      for (struct hd_link *r = o->list; r; r = r->next) hd__meet(w, r->ev);
      if (w->f == HD_NONE) return;
      o->release = w->f;
      break;
    case HD_LOCK_WRITE:
      for (struct hd_link *r = o->list; r; r = r->next) hd__meet(w, r->ev);
      hd__meet(w, o->release);
      hd__meet(w, o->acquire);
      if (w->f == HD_NONE) return;
      o->destroy = w->f;
      break;
    default: break;
  }
}

static void on_cond(struct hd_work *w) {
  struct hd_tobj *o = hd__tobj(w->t, w->op->object * 4 + 2);
  for (struct hd_link *l = o->list; l; l = l->next)
    if (w->t->ev[l->ev].op.thread != w->op->thread && cond_dependent(&w->t->ev[l->ev].op, w->op))
      hd__meet(w, l->ev);
  if (w->f == HD_NONE) return;
  struct hd_link *l = hd_order_get(w->t, sizeof *l);
  *l = (struct hd_link){w->f, 0, 0, o->list};
  o->list = l;
}

static void on_granule(struct hd_work *w, uint64_t granule, uint8_t mask, int write) {
  struct hd_tobj *o = hd__tobj(w->t, granule * 4 + 3);
  for (struct hd_link *l = o->list; l; l = l->next) {
    if (!(l->mask & mask)) continue;
    if (w->t->ev[l->ev].op.thread != w->op->thread && (write || l->write)) hd__meet(w, l->ev);
    if (l->write && !(mask & ~l->mask))
      break; /* all earlier accesses to these bytes happened before this write */
  }
  if (w->f == HD_NONE) return;
  struct hd_link *l = hd_order_get(w->t, sizeof *l);
  *l = (struct hd_link){w->f, mask, (uint8_t)write, o->list};
  o->list = l;
}

static void on_memory(struct hd_work *w) {
  uint64_t lo = w->op->object, hi = lo + w->op->size;
  int write = hd__is_write(w->op->kind, w->flags);
  for (uint64_t g = lo & ~7ull; g < hi; g += 8) {
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

/* Like a lock: whoever took the chance away races with this; what gave it back is ordered before, for good. */
int hd__on_enabled(struct hd_work *w) {
  const struct hd_op *op = w->op;
  uint32_t rival = op->disabler ? hd__section_entry(w->t, op->disabler - 1) : HD_NONE;
  if (op->kind == HD_OP_SPINWAIT && w->t->section != HD_NONE && op->enabler > op->disabler &&
      op->enabler - 1 < w->t->section)
    rival = w->t->section;
  if (rival != HD_NONE && !hd__covered(w, w->pred, rival)) hd__add_race(w, rival, NULL, 0);
  if (w->f == HD_NONE) return 0;
  if (op->enabler) hd__join(w, op->enabler - 1);
  return 1;
}

static void on_spin(struct hd_work *w) {
  const struct hd_op *op = w->op;
  if (!hd__on_enabled(w)) return;
  on_memory(w); /* from here on it is a read of what it waited for ... */
  struct hd_tobj *o = hd__tobj(w->t, op->object * 4 + 1);
  struct hd_link *l =
      hd_order_get(w->t, sizeof *l); /* ... or a look at a lock, which the next taking of it would end */
  *l = (struct hd_link){w->f, 0, 0, o->spins};
  o->spins = l;
}

static void on_create(struct hd_work *w) {
  struct hd_tobj *o = hd__tobj(w->t, 0);
  hd__meet(w, o->acquire);
  if (w->f != HD_NONE) o->acquire = w->f;
}

static int is_timed(unsigned kind) {
  return kind == HD_OP_TIMEDLOCK || kind == HD_OP_WAKE || kind == HD_OP_TIMEDRDLOCK ||
         kind == HD_OP_TIMEDWRLOCK || kind == HD_OP_SEMTIMED || kind == HD_OP_TIMEDJOIN ||
         kind == HD_OP_FRETURN || kind == HD_OP_SIGWAIT;
}

/* Whether time had to pass for it, which it does only when nothing else can run (invariant 4). */
static int is_late(const struct hd_op *op, unsigned flags) {
  return op->kind == HD_OP_TIMEOUT || (flags & HD_EV_LATE) || ((flags & HD_EV_FAILED) && is_timed(op->kind));
}

static void conflicts(struct hd_work *w) {
  const struct hd_op *op = w->op;
  if (op->kind == HD_OP_SPINWAIT) on_spin(w);
  if (is_io(op->kind)) hd__on_io(w);
  if (op->kind == HD_OP_END) on_end(w);
  if (op->kind == HD_OP_CREATE) on_create(w);
  if (hd_op_object[op->kind] == HD_OBJ_MEMORY) on_memory(w);
  if (is_cond(op->kind)) on_cond(w);
  if (hd_op_object[op->kind] > HD_OBJ_ONCE || hd_op_object[op->kind] == HD_OBJ_THREAD) hd__sync_conflicts(w);
  enum hd_lock_role role = hd__lock_role(op->kind, w->flags);
  if (role) on_lock(w, hd__lock_of(op), role);
  if (interrupts(op->kind)) on_end(w);
  /* A time-out could not have come before an interrupt, nor because it enters a section again: something could
   * still run. */
  if (is_late(op, w->flags)) return;
  hd__meet(w,
           w->t->interrupt); /* after all that made it possible, since that may have come of the interrupt */
  hd__meet_everybody(w);
  hd__meet_section(w, op->kind == HD_OP_SPINWAIT || op->kind == HD_OP_ONCE || op->kind == HD_OP_LOCK ||
                          (role == HD_LOCK_ACQUIRE && op->kind != HD_OP_TRYLOCK));
}

static uint32_t *new_clock(struct hd_order *t, const uint32_t *from) {
  uint32_t *c = hd_order_get(t, t->threads_max * sizeof *c);
  for (uint32_t i = 0; i < t->threads_max; i++) c[i] = from ? from[i] : 0;
  return c;
}

static void merge(struct hd_order *t, uint32_t *c, uint32_t e) {
  if (e == HD_NONE) return;
  const uint32_t *d = t->ev[e].clock;
  for (uint32_t i = 0; i < t->threads_max; i++)
    if (d[i] > c[i]) c[i] = d[i];
}

int hd__woke_spuriously(const struct hd_ev *wait) { return wait->nchoices == 2 && wait->choice == 1; }

/* Whether after that event the thread can only go on when somebody wakes it, or its time is over. */
static int sleeps_on(const struct hd_ev *e) {
  return e->op.kind != HD_OP_CTIMEOUT && !hd__woke_spuriously(e);
}

/* What orders the operation apart from its conflicts: its thread, and what enabled it. Mostly that is just the
 * previous event of the thread, whose clock is then shared. (A time-out does not: the operation was pending
 * already, and could have come before the time passed.) */
static const uint32_t *pred_clock(struct hd_order *t, const struct hd_op *op) {
  uint32_t prev = t->last[op->thread], cause = t->cause[op->thread];
  int joins = (op->kind == HD_OP_JOIN || op->kind == HD_OP_TIMEDJOIN) && op->object < t->nthreads;
  /* A spin that ended once before it really did could have gone on then: what ended it last is no condition. */
  uint32_t spins = tells_enabler(op->kind) && !(is_io(op->kind) && op->aux)
                       ? (op->disabler ? op->enabler_before : op->enabler)
                       : 0;
  int timed_out = op->kind == HD_OP_WAKE && cause == HD_NONE && prev != HD_NONE && sleeps_on(&t->ev[prev]);
  const uint32_t *gate = op->kind == HD_OP_BLEAVE && op->thread < t->nthreads ? t->gate[op->thread] : NULL;
  if (prev != HD_NONE && cause == HD_NONE && !joins && !spins && !timed_out && !gate)
    return t->ev[prev].clock;
  uint32_t *c = new_clock(t, prev == HD_NONE ? NULL : t->ev[prev].clock);
  merge(t, c, cause);
  if (joins) merge(t, c, t->last[op->object]);
  if (spins) merge(t, c, spins - 1);
  for (uint32_t i = 0; gate && i < t->threads_max; i++)
    if (gate[i] > c[i]) c[i] = gate[i];
  for (uint32_t i = 0; timed_out && i < t->nthreads; i++)
    merge(t, c, t->last[i]); /* nothing else could run when its time came */
  return c;
}

static const uint32_t *wider(struct hd_order *t, const uint32_t *clock, uint32_t old) {
  uint32_t *c = hd_order_get(t, t->threads_max * sizeof *c);
  for (uint32_t k = 0; k < t->threads_max; k++) c[k] = k < old ? clock[k] : 0;
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
  if (id >= t->threads_max) widen(t, id + 1);
  for (; t->nthreads <= id; t->nthreads++) {
    t->last[t->nthreads] = t->cause[t->nthreads] = HD_NONE;
    t->waits[t->nthreads] = 0;
    t->gate[t->nthreads] = NULL;
  }
}

/* Races of an operation that was never executed because it had to wait, with those who kept it waiting. */
static void held_up(struct hd_work *w) {
  enum hd_lock_role role = hd__lock_role(w->op->kind, 0);
  if (role == HD_LOCK_ACQUIRE)
    on_lock(w, hd__lock_of(w->op), role);
  else if (tells_enabler(w->op->kind))
    hd__on_enabled(w);
  else if (hd__sync_waits(w->op))
    hd__sync_conflicts(w);
}

/* A cancellation puts another operation in the place of what the thread was about to do: that may have been executed
 * before, or before those who kept it waiting. */
static void cancels(struct hd_order *t, uint32_t f) {
  const struct hd_op *op = t->ev[f].op.instead;
  if (!op) return;
  const uint32_t *pred = pred_clock(t, op);
  struct hd_work w = {t, HD_NONE, op, 0, pred, new_clock(t, pred)};
  uint32_t n = t->nraces;
  if (t->ev[f].op.known)
    hd__add_race(&w, hd__section_entry(t, f), NULL, 0);
  else
    held_up(&w);
  for (; n < t->nraces; n++)
    t->race[n].pred = pred; /* the thread goes on: its last event is another one then */
}

void hd_order_event(struct hd_order *t, const struct hd_op *op, unsigned flags, unsigned choice,
                    unsigned nchoices) {
  if (t->n == t->cap_ev || (t->n < t->kept && hd_order_known(t, op, flags, choice, nchoices))) return;
  if (t->logging) hd_order_mark(t, op->thread);
  t->stamp++;
  know_thread(t, op->thread);
  if (op->kind == HD_OP_CREATE) know_thread(t, (uint32_t)op->object);
  uint32_t f = t->n++, prev = t->last[op->thread];
  struct hd_ev *ev = &t->ev[f];
  const uint32_t *pred = pred_clock(t, op);
  *ev = (struct hd_ev){.op = *op,
                       .flags = (uint8_t)flags,
                       .choice = choice,
                       .nchoices = nchoices & 0xffffff,
                       .index = prev == HD_NONE ? 1 : t->ev[prev].index + 1,
                       .prev = prev,
                       .pred = pred};
  t->key[f] = hd_dependence_key(op, flags);
  t->chooses |= nchoices > 1;
  uint32_t *clock = new_clock(t, pred);
  ev->clock = clock;
  struct hd_work w = {t, f, &ev->op, flags, pred, clock};
  conflicts(&w);
  if (op->kind == HD_OP_CANCEL) cancels(t, f);
  merge(t, clock, t->barrier); /* invariant 4 */
  clock[op->thread] = ev->index;
  t->last[op->thread] = f;
  t->cause[op->thread] = HD_NONE;
  if (op->section == HD_SECTION_ENTERS) t->section = f;
  if (op->section) t->section_last = f;
  switch (op->kind) {
    case HD_OP_CREATE:
      hd_order_save_thread(t, (uint32_t)op->object);
      t->cause[op->object] = f;
      break;
    case HD_OP_CANCEL:
    case HD_OP_KILL:
      t->interrupt = f;
      if (op->aux) {
        hd_order_save_thread(t, (uint32_t)op->aux - 1);
        t->cause[op->aux - 1] = f;
        t->waits[op->aux - 1] = 0;
      }
      break;
    case HD_OP_WAIT:
    case HD_OP_TIMEDWAIT: t->waits[op->thread] = hd__woke_spuriously(ev) ? 0 : op->object; break;
    case HD_OP_FWAIT: t->waits[op->thread] = flags & HD_EV_FAILED ? 0 : op->object; break;
    case HD_OP_CTIMEOUT:
    case HD_OP_FRETURN:
    case HD_OP_WAKE: t->waits[op->thread] = 0; break;
    case HD_OP_SIGNAL:
    case HD_OP_FWAKE:
      if (op->aux) {
        hd_order_save_thread(t, (uint32_t)op->aux - 1);
        t->cause[op->aux - 1] = f;
        t->waits[op->aux - 1] = 0;
      }
      break;
    case HD_OP_BROADCAST:
    case HD_OP_FWAKEALL:
      for (uint32_t i = 0; i < t->nthreads; i++)
        if (t->waits[i] == op->object) {
          hd_order_save_thread(t, i);
          t->cause[i] = f;
          t->waits[i] = 0;
        }
      break;
    default: break;
  }
  if (hd_op_object[op->kind] > HD_OBJ_ONCE) hd__sync_event(t, f);
  if (is_late(op, flags)) { /* invariant 4 */
    for (uint32_t i = 0; i < t->nthreads; i++) merge(t, clock, t->last[i]);
    t->barrier = f;
  }
}

void hd_order_stop(struct hd_order *t) {
  hd_order_settle(t);
  if (!t->n) return;
  uint32_t f = t->n - 1;
  struct hd_ev *ev = &t->ev[f];
  ev->flags |= HD__EV_STOP;
  t->key[f] = 0;
  struct hd_work w = {t, f, &ev->op, ev->flags, ev->pred, (uint32_t *)ev->clock};
  on_end(&w);
}

void hd_order_end(struct hd_order *t, const struct hd_point *p) {
  hd_order_settle(t);
  if (t->logging) hd_order_mark(t, 0);
  t->ended = 1;
  t->stamp++;
  int ended = t->n && (t->ev[t->n - 1].op.kind == HD_OP_END || (t->ev[t->n - 1].flags & HD__EV_STOP));
  for (uint32_t i = 0; i < t->nthreads; i++) {
    const struct hd_op *op = p->op[i];
    if (t->last[i] != HD_NONE && t->ev[t->last[i]].op.kind == HD_OP_EXIT && t->cause[i] == HD_NONE) continue;
    if (ended && i == t->ev[t->n - 1].op.thread) continue;
    enum hd_lock_role role = hd__lock_role(op->kind, 0);
    const uint32_t *pred = pred_clock(t, op);
    struct hd_work w = {t, HD_NONE, op, 0, pred, new_clock(t, pred)};
    if (hd_set_has(p->enabled, i)) {
      if (!ended || hd__covered(&w, pred, t->n - 1)) continue;
      const struct hd_ev *e = &t->ev[t->n - 1];
      int freed = (role == HD_LOCK_ACQUIRE && hd__lock_role(e->op.kind, e->flags) == HD_LOCK_RELEASE &&
                   hd__lock_of(&e->op) == hd__lock_of(op)) ||
                  hd__sync_freed(e, op);
      int ended_spin = tells_enabler(op->kind) && op->enabler == t->n;
      if (!freed && !ended_spin) {
        /* It could have done this before the end of the process. */
        hd__add_race(&w, hd__section_entry(t, t->n - 1), NULL, 0);
        continue;
      }
      /* The last step is what let it go: it could not have come before that, only before what held it up. */
    }
    held_up(&w);
  }
}

void hd_order_pending(struct hd_order *t, const struct hd_op *op) {
  const uint32_t *pred = pred_clock(t, op);
  struct hd_work w = {t, HD_NONE, op, 0, pred, new_clock(t, pred)};
  conflicts(&w);
}

uint32_t hd_order_enabler(struct hd_order *t, const struct hd_op *op) {
  switch (hd_op_object[op->kind]) {
    case HD_OBJ_NONE:
    case HD_OBJ_MEMORY:
    case HD_OBJ_COND: return HD_NONE; /* never has to wait */
    case HD_OBJ_IO: return op->enabler ? op->enabler - 1 : HD_NONE;
    case HD_OBJ_THREAD:
      return (op->kind == HD_OP_JOIN || op->kind == HD_OP_TIMEDJOIN) && op->object < t->nthreads
                 ? t->last[op->object]
                 : HD_NONE;
    case HD_OBJ_MUTEX:
    case HD_OBJ_ONCE:
      if (op->kind == HD_OP_TRYLOCK || hd__lock_role(op->kind, 0) != HD_LOCK_ACQUIRE) return HD_NONE;
      return hd__tobj(t, hd__lock_of(op) * 4 + 1)->release;
    default: return hd__sync_enabler(t, op);
  }
}

uint64_t hd_order_event_class(const struct hd_order *t, const struct hd_ev *e) {
  uint64_t h = hd_mix64(e->op.thread * 1000003ull + e->index);
  uint64_t object = t->layout ? hd_layout_stable(t->layout, e->op.object) : e->op.object;
  h = hd_mix64(h ^ (object + ((uint64_t)e->op.kind << 56) + ((uint64_t)e->flags << 48)));
  h = hd_mix64(h ^ (e->op.size + ((uint64_t)e->choice << 40)));
  for (uint32_t k = 0; k < t->nthreads; k++)
    if (e->clock[k]) h = hd_mix64(h * 31 + ((uint64_t)k << 32) + e->clock[k]);
  return h;
}

uint64_t hd_order_class(const struct hd_order *t) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < t->n; i++) sum += hd_order_event_class(t, &t->ev[i]);
  return hd_mix64(sum);
}

/* order_sync.c: orders operations on read-write locks, semaphores, barriers and ending threads after earlier
 * conflicting ones. Runs in the tested process. Part of order.c, whose invariants hold here too; depend.c defines the
 * dependences.
 *
 * Invariants
 *  1. A writer that waited could have come before a reader only if no other thread held the lock then: readers that
 *     would hold it are moved after the writer too (hd_race.also), or there is no race.
 *  2. A wait for a semaphore could have come before an operation if the value, without that operation and its
 *     successors, was not zero. It races with the latest such operations. An initialisation sets the value; what it
 *     found is the value without it. */
#include "model/order_int.h"

#define BIT(effect) HD_EFFECT_BIT(effect)

static enum hd_effect effect_at(const struct hd_order *t, uint32_t ev) {
  return hd_op_effect(t->ev[ev].op.kind, t->ev[ev].flags);
}

/* The change that this effect makes to the value of a semaphore. */
static int tokens(enum hd_effect e) { return (e == HD_EFF_POST) - (e == HD_EFF_TAKE); }

int hd__sync_waits(const struct hd_op *op) {
  enum hd_effect e = hd_op_effect(op->kind, 0);
  return hd_op_is(op->kind, HD_TRAIT_WAITS) &&
         (hd_op_object(op->kind) == HD_OBJ_RWLOCK || hd_op_object(op->kind) == HD_OBJ_SEM) &&
         (e == HD_EFF_SHARE || e == HD_EFF_ACQUIRE || e == HD_EFF_TAKE);
}

int hd__sync_freed(const struct hd_ev *e, const struct hd_op *op) {
  enum hd_effect by = hd_op_effect(e->op.kind, e->flags);
  if (!hd__sync_waits(op) || e->op.object != op->object || hd_op_object(e->op.kind) != hd_op_object(op->kind))
    return 0;
  switch (hd_op_effect(op->kind, 0)) {
    case HD_EFF_SHARE: return by == HD_EFF_RELEASE;
    case HD_EFF_ACQUIRE: return by == HD_EFF_RELEASE || by == HD_EFF_UNSHARE;
    default: return (by == HD_EFF_POST || (by == HD_EFF_INIT && e->op.size)) && e->op.sem.value == 0;
  }
}

static struct hd_tobj *object_of(struct hd_work *w) { return hd__tobj(w->t, w->op->object * 4 + 1); }

static int before_or_same(const struct hd_order *t, uint32_t a, uint32_t b) {
  return a == b || (a < b && hd_order_before(t, a, b));
}

/* ---- read-write locks ---- */

/* A time in which a thread holds the lock for reading, once or several times. */
struct hd_span {
  uint32_t lock, unlock; /* the first lock and the last unlock; unlock: HD_NONE while it is held */
  struct hd_span *before;
};

/* What one thread did with the lock since it was last taken for writing. */
struct hd_sharer {
  struct hd_span *span;  /* the latest */
  struct hd_span *first; /* scratch: it and the later ones are moved after the writer; NULL: none */
  struct hd_sharer *next;
  uint32_t thread, depth;
  uint32_t last; /* event: lock or unlock */
  uint32_t met;  /* scratch */
};

static struct hd_sharer *sharer(const struct hd_tobj *o, uint32_t thread) {
  struct hd_sharer *r = o->sharers;
  while (r && r->thread != thread) r = r->next;
  return r;
}

/* Whether the thread still holds the lock when what is to be moved has been moved. */
static int holds(const struct hd_order *t, const struct hd_tobj *o, const struct hd_span *s) {
  if (s->unlock == HD_NONE) return 1;
  for (const struct hd_sharer *d = o->sharers; d; d = d->next)
    if (d->first && before_or_same(t, d->first->lock, s->unlock)) return 1;
  return 0;
}

/* Moves the latest span of r, and all spans that then cannot end, after the writer. Returns 0 when the writer happens
 * after one of them. */
static int clear_the_way(const struct hd_work *w, const struct hd_tobj *o, struct hd_sharer *r) {
  for (struct hd_sharer *q = o->sharers; q; q = q->next) q->first = NULL;
  r->first = r->span;
  for (int again = 1; again;) {
    again = 0;
    for (struct hd_sharer *q = o->sharers; q; q = q->next) {
      struct hd_span *s = q->first ? q->first->before : q->span;
      for (; s && holds(w->t, o, s); s = s->before) {
        q->first = s;
        again = 1;
      }
      if (q->first && hd__covered(w, w->pred, q->first->lock)) return 0;
    }
  }
  return 1;
}

/* The race of a writer that waited with the first of those that were moved. */
static void race_with_moved(struct hd_work *w, const struct hd_tobj *o) {
  uint32_t e = HD_NONE, n = 0;
  for (const struct hd_sharer *q = o->sharers; q; q = q->next) {
    if (!q->first) continue;
    if (q->first->lock < e) e = q->first->lock;
    n++;
  }
  uint32_t *also = n > 1 ? hd_order_get(w->t, n * sizeof *also) : NULL;
  n = 0;
  for (const struct hd_sharer *q = o->sharers; q; q = q->next)
    if (q->first && q->first->lock != e && !hd_order_before(w->t, e, q->first->lock))
      also[n++] = q->first->lock;
  hd__add_race(w, e, also, n);
}

/* Races of a writer that waited with the readers before it (invariant 1). What has to be moved with the last span of a
 * thread includes whatever that span depends on and cannot end without; of two such sets, one inside the other, the
 * smaller is the race. */
static void before_readers(struct hd_work *w, struct hd_tobj *o) {
  uint32_t n = 0, i = 0;
  for (const struct hd_sharer *r = o->sharers; r; r = r->next) n++;
  struct hd_set *moved =
      hd_order_get(w->t, n * sizeof *moved); /* threads whose last span moves with that of r */
  for (struct hd_sharer *r = o->sharers; r; r = r->next, i++) {
    moved[i] = (struct hd_set){{0}};
    if (!clear_the_way(w, o, r)) continue;
    for (const struct hd_sharer *q = o->sharers; q; q = q->next)
      if (q->first) hd_set_add(&moved[i], q->thread);
  }
  i = 0;
  for (struct hd_sharer *r = o->sharers; r; r = r->next, i++) {
    int least = hd_set_has(&moved[i], r->thread);
    uint32_t k = 0;
    for (const struct hd_sharer *q = o->sharers; q && least; q = q->next, k++)
      if (k != i && hd_set_has(&moved[i], q->thread)) least = k > i && hd_set_has(&moved[k], r->thread);
    if (least && clear_the_way(w, o, r)) race_with_moved(w, o);
  }
}

/* Conflicts with every reader, latest first. */
static void meet_readers(struct hd_work *w, struct hd_tobj *o) {
  for (struct hd_sharer *r = o->sharers; r; r = r->next) r->met = 0;
  for (;;) {
    struct hd_sharer *last = NULL;
    for (struct hd_sharer *r = o->sharers; r; r = r->next)
      if (!r->met && (!last || r->last > last->last)) last = r;
    if (!last) return;
    last->met = 1;
    hd__meet(w, last->last);
  }
}

static void begin_sharing(struct hd_work *w, struct hd_tobj *o) {
  struct hd_sharer *r = sharer(o, w->op->thread);
  if (r) {
    hd_order_save(w->t, r, sizeof *r);
  } else {
    r = hd_order_get(w->t, sizeof *r);
    *r = (struct hd_sharer){.next = o->sharers, .thread = w->op->thread};
    o->sharers = r;
  }
  r->last = w->f;
  if (r->depth++) return;
  struct hd_span *s = hd_order_get(w->t, sizeof *s);
  *s = (struct hd_span){w->f, HD_NONE, r->span};
  r->span = s;
}

static void end_sharing(struct hd_work *w, struct hd_tobj *o) {
  struct hd_sharer *r = sharer(o, w->op->thread);
  if (!r || !r->depth) return;
  hd_order_save(w->t, r, sizeof *r);
  r->last = w->f;
  if (--r->depth) return;
  hd_order_save(w->t, r->span, sizeof *r->span);
  r->span->unlock = w->f;
}

/* Conflicts with the events of the list that have one of these effects. */
static void meet_list(struct hd_work *w, const struct hd_tobj *o, uint64_t effects) {
  for (const struct hd_link *l = o->list; l; l = l->next)
    if (effects & BIT(effect_at(w->t, l->ev))) hd__meet(w, l->ev);
}

static void lock_for_writing(struct hd_work *w, struct hd_tobj *o) {
  if (hd_op_is(w->op->kind, HD_TRAIT_TRIES)) { /* before any of these it would have failed */
    meet_readers(w, o);
    hd__meet(w, o->release);
  } else if (o->sharers) {
    before_readers(w, o);
  } else if (o->acquire != HD_NONE && !hd__covered(w, w->pred, o->acquire)) {
    hd__add_race(w, o->acquire, NULL, 0);
  }
  for (struct hd_sharer *r = o->sharers; r; r = r->next)
    if (!r->depth) hd__join(w, r->last);
  if (o->release != HD_NONE) hd__join(w, o->release);
  if (w->f == HD_NONE) return;
  o->acquire = w->f;
  o->list = NULL;
  o->sharers = NULL;
}

static void lock_for_reading(struct hd_work *w, struct hd_tobj *o) {
  if (hd_op_is(w->op->kind, HD_TRAIT_TRIES))
    hd__meet(w, o->release);
  else if (o->acquire != HD_NONE && !hd__covered(w, w->pred, o->acquire))
    hd__add_race(w, o->acquire, NULL, 0);
  if (w->f == HD_NONE) return; /* readers that a later writer blocks come after that writer */
  if (o->release != HD_NONE) hd__join(w, o->release);
  meet_list(w, o, BIT(HD_EFF_LOOK));
  begin_sharing(w, o);
}

static void unlock_reading(struct hd_work *w, struct hd_tobj *o) {
  meet_list(w, o, BIT(HD_EFF_LOOK));
  if (w->f != HD_NONE) end_sharing(w, o);
}

/* Conflicts with spin loops that were enabled and that this operation disables. */
static void meet_spins(struct hd_work *w, struct hd_tobj *o) {
  for (struct hd_link *s = o->spins; s; s = s->next) hd__meet(w, s->ev);
  if (w->f != HD_NONE) o->spins = NULL;
}

static int held_by_any(const struct hd_tobj *o) {
  for (const struct hd_sharer *r = o->sharers; r; r = r->next)
    if (r->depth) return 1;
  return o->acquire != HD_NONE && (o->release == HD_NONE || o->release < o->acquire) && !o->sharers;
}

static void on_rwlock(struct hd_work *w, enum hd_effect effect) {
  struct hd_tobj *o = object_of(w);
  hd__meet_life(w, o);
  if (effect == HD_EFF_SHARE || effect == HD_EFF_ACQUIRE) meet_spins(w, o);
  switch (effect) {
    case HD_EFF_SHARE: lock_for_reading(w, o); return;
    case HD_EFF_ACQUIRE: lock_for_writing(w, o); return;
    case HD_EFF_UNSHARE: unlock_reading(w, o); return;
    case HD_EFF_RELEASE:
      meet_list(w, o, ~0ull);
      if (w->f != HD_NONE) o->release = w->f;
      return;
    case HD_EFF_LOOK:
      if (o->sharers &&
          !hd_op_is(w->op->kind, HD_TRAIT_TRIES)) { /* it timed out: it waited like any writer */
        before_readers(w, o);
        hd__remember_last(w, o);
        return;
      }
      meet_readers(w, o); /* fall through */
    case HD_EFF_LOOK_SHARED:
      hd__meet(w, o->acquire);
      hd__remember_last(w, o);
      return;
    default:
      meet_readers(w, o);
      meet_list(w, o, ~0ull);
      hd__meet(w, o->release);
      hd__meet(w, o->acquire);
      int is_held = held_by_any(o);
      hd__on_life(w, o, effect, is_held);
      if (w->f != HD_NONE && effect == HD_EFF_INIT && !is_held) o->sharers = NULL;
  }
}

/* ---- semaphores ---- */

/* The value of the semaphore without event y and its successors. pre: y is in the list. */
static int64_t value_without(const struct hd_work *w, const struct hd_tobj *o, uint32_t y, int64_t value) {
  for (const struct hd_link *l = o->list; l; l = l->next) {
    enum hd_effect effect = effect_at(w->t, l->ev);
    if (before_or_same(w->t, y, l->ev))
      value = effect == HD_EFF_INIT ? (int64_t)w->t->ev[l->ev].op.sem.value : value - tokens(effect);
    if (l->ev == y) break;
  }
  return value;
}

/* Races of a wait with the operations that it could have come before (invariant 2). Since the last taking there are
 * only operations that take nothing: of each thread the last one leaves the most, back to an initialisation. */
static void before_others(struct hd_work *w, struct hd_tobj *o) {
  uint32_t *known = hd_order_get(w->t, w->t->threads_max * sizeof *known);
  struct hd_set looked_at = {{0}};
  uint64_t seen = 0; /* operations that conflict with these effects are ordered before them */
  int64_t value = (int64_t)(w->f == HD_NONE ? o->count : w->op->sem.value);
  for (uint32_t i = 0; i < w->t->threads_max; i++) known[i] = w->pred[i];
  for (const struct hd_link *l = o->list; l; l = l->next) {
    enum hd_effect effect = effect_at(w->t, l->ev);
    unsigned thread = w->t->ev[l->ev].op.thread;
    if (seen & hd_conflicts[effect]) break;
    if (effect == HD_EFF_INIT) looked_at = (struct hd_set){{0}}; /* the value before it was another */
    if (effect != HD_EFF_TAKE && hd_set_has(&looked_at, thread)) continue;
    hd_set_add(&looked_at, thread);
    if (!hd__covered(w, known, l->ev)) {
      if (value_without(w, o, l->ev, value) < 1) continue;
      hd__add_race(w, l->ev, NULL, 0);
      const uint32_t *clock = w->t->ev[l->ev].clock;
      for (uint32_t i = 0; i < w->t->threads_max; i++)
        if (clock[i] > known[i]) known[i] = clock[i];
    }
    seen |= BIT(effect);
  }
}

/* Adds the event to the list of the semaphore. pre: executed. */
static void remember_run(struct hd_work *w, struct hd_tobj *o, enum hd_effect effect) {
  struct hd_link *was = o->list;
  hd__remember(w, o);
  o->list->run = was && effect_at(w->t, was->ev) == effect ? was->run : was;
}

static void on_sem(struct hd_work *w, enum hd_effect effect) {
  struct hd_tobj *o = object_of(w);
  int waits = hd__sync_waits(w->op); /* also if it timed out */
  uint64_t seen = 0;
  hd__meet(w, o->destroy);
  if (effect == HD_EFF_TAKE) meet_spins(w, o);
  if (waits) before_others(w, o);
  if (w->f == HD_NONE) return;
  for (const struct hd_link *l = o->list; l;) {
    enum hd_effect other = effect_at(w->t, l->ev);
    if (seen & hd_conflicts[other]) break;
    if (!(hd_conflicts[effect] & BIT(other))) {
      if (hd__covered(w, w->clock, l->ev)) seen |= BIT(other);
      l = l->run;
      continue;
    }
    if (!waits)
      hd__meet(w, l->ev);
    else if (!hd__covered(w, w->clock, l->ev))
      hd__join(w, l->ev);
    seen |= BIT(other);
    l = l->next;
  }
  o->count = effect == HD_EFF_INIT ? w->op->size : (uint64_t)((int64_t)w->op->sem.value + tokens(effect));
  if (effect == HD_EFF_DESTROY)
    o->destroy = w->f;
  else
    remember_run(w, o, effect);
}

/* ---- barriers ---- */

static void on_barrier(struct hd_work *w, enum hd_effect effect) {
  struct hd_tobj *o = object_of(w);
  if (effect == HD_EFF_LEAVE) return;
  hd__meet(w, o->destroy);
  if (effect == HD_EFF_DESTROY || effect == HD_EFF_INIT) {
    meet_list(w, o, hd_conflicts[effect]);
    if (w->f != HD_NONE) o->destroy = w->f;
    return;
  }
  if (w->op->barrier.ordered) {
    hd__meet(w, o->acquire);
    if (w->f != HD_NONE) o->acquire = w->f;
  }
  hd__remember(w, o);
}

/* All threads have arrived: each leaves after all arrivals. */
static void pass(struct hd_order *t, struct hd_tobj *o, uint32_t n) {
  uint32_t *all = hd_order_get(t, t->threads_max * sizeof *all);
  for (uint32_t i = 0; i < t->threads_max; i++) all[i] = 0;
  uint32_t left = n;
  for (const struct hd_link *l = o->list; l && left; l = l->next) {
    left--;
    for (uint32_t i = 0; i < t->threads_max; i++)
      if (t->ev[l->ev].clock[i] > all[i]) all[i] = t->ev[l->ev].clock[i];
    hd_order_save_thread(t, t->ev[l->ev].op.thread);
    t->gate[t->ev[l->ev].op.thread] = all;
  }
  o->count = 0;
}

void hd__arrived(struct hd_order *t, uint32_t f) {
  const struct hd_op *op = &t->ev[f].op;
  struct hd_tobj *o = hd__tobj(t, op->object * 4 + 1);
  if (++o->count >= op->size) pass(t, o, op->size);
}

/* The other threads leave after the first. */
void hd__left(struct hd_order *t, uint32_t f) {
  const struct hd_op *op = &t->ev[f].op;
  const uint32_t *gate = t->gate[op->thread];
  t->gate[op->thread] = NULL;
  for (uint32_t i = 0; gate && i < t->nthreads; i++)
    if (t->gate[i] == gate) {
      /* Of its own: it is not the first to leave. A handler may come in between, which does not wait for this. */
      uint32_t *c = hd_order_get(t, t->threads_max * sizeof *c);
      for (uint32_t k = 0; k < t->threads_max; k++)
        c[k] = gate[k] > t->ev[f].clock[k] ? gate[k] : t->ev[f].clock[k];
      hd_order_save_thread(t, i);
      t->gate[i] = c;
    }
}

uint32_t hd__sync_enabler(struct hd_order *t, const struct hd_op *op) {
  enum hd_effect effect = hd_op_effect(op->kind, 0);
  const struct hd_tobj *o = hd__tobj(t, op->object * 4 + 1);
  uint32_t last = effect == HD_EFF_SHARE || effect == HD_EFF_ACQUIRE ? o->release : HD_NONE;
  for (const struct hd_sharer *r = o->sharers; effect == HD_EFF_ACQUIRE && r; r = r->next)
    if (!r->depth && r->thread != op->thread && (last == HD_NONE || r->last > last)) last = r->last;
  enum hd_effect by = effect == HD_EFF_TAKE    ? HD_EFF_POST
                      : effect == HD_EFF_LEAVE ? HD_EFF_ARRIVE
                                               : HD_EFF_NONE;
  for (const struct hd_link *l = o->list; l && by && last == HD_NONE; l = l->next)
    if (t->ev[l->ev].op.thread != op->thread &&
        (effect_at(t, l->ev) == by || (effect == HD_EFF_TAKE && effect_at(t, l->ev) == HD_EFF_INIT)))
      last = l->ev;
  return last;
}

/* ---- the end of a thread, and operations that check for it without waiting ---- */

static void on_thread(struct hd_work *w, enum hd_effect effect) {
  uint64_t at = (w->op->object + 1) * 4;
  if (effect == HD_EFF_FINISH) {
    /* Those that decide something conflict with all others, which are many and conflict with nothing else. */
    int decides = w->op->exit.decides != 0;
    struct hd_tobj *deciding = hd__tobj(w->t, (HD_MAX_THREADS + 1ull) * 4);
    for (const struct hd_link *l = deciding->list; l; l = l->next) hd__meet(w, l->ev);
    if (decides) hd__remember_last(w, deciding);
    struct hd_tobj *others = hd__tobj(w->t, (HD_MAX_THREADS + 4ull) * 4);
    for (const struct hd_link *l = others->list; decides && l; l = l->next) hd__meet(w, l->ev);
    if (!decides) hd__remember(w, others);
    struct hd_tobj *o = hd__tobj(w->t, at);
    meet_list(w, o, BIT(HD_EFF_FIND_RUNNING));
    if (w->f != HD_NONE) o->release = w->f;
  } else if (effect == HD_EFF_FIND_ENDED) {
    hd__meet(w, hd__tobj(w->t, at)->release);
  } else if (effect == HD_EFF_FIND_RUNNING) {
    hd__remember_last(w, hd__tobj(w->t, at));
  }
}

void hd__sync_conflicts(struct hd_work *w) {
  enum hd_effect effect = hd_op_effect(w->op->kind, w->flags);
  switch (hd_op_object(w->op->kind)) {
    case HD_OBJ_RWLOCK: on_rwlock(w, effect); break;
    case HD_OBJ_SEM: on_sem(w, effect); break;
    case HD_OBJ_BARRIER: on_barrier(w, effect); break;
    case HD_OBJ_THREAD: on_thread(w, effect); break;
    default: break;
  }
}

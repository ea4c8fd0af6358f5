/* flip_sync.c: operations on locks, semaphores, conditions and the like in another order, whatever follows from it. Runs in
 * the supervisor.
 *
 *   signal  a signal came after the wait on its condition: it comes first, and wakes nobody
 *   wake    a signal came after another one: it comes as soon as a thread waits, which may not be ready for it
 *   turn    two threads operate on one object, and who comes first matters: two wait for the same condition or signal it,
 *           arrive at a barrier, take from a semaphore, write to a pipe. The second comes first
 *   outcome a signal woke one of several waiters, or a choice was made: it is another one. A wait for a condition
 *           returns spuriously
 *   take    y takes from a semaphore between two takes of another thread, the second from that semaphore: each may wait
 *           for the other one then
 *   try     an attempt to take a lock succeeded: it comes while another thread holds the lock. Or it failed: it comes
 *           before that thread takes it
 *   wait    a thread waits for something else while it holds a lock: it takes the lock before another thread does, which
 *           may be the one that it waits for */
#include "model/depend.h"
#include "predict/flip.h"

#include <stdlib.h>

#define OUTCOMES 4 /* of an event, that are tried */
#define SIGNALS 8  /* after a wait, that are tried before it */
#define SECTIONS 8 /* of a lock, or takes from a semaphore, that are tried ... */
#define NEAR 256   /* ... of so many before and after */

static enum hd_effect effect(const struct flips *f, uint32_t e) {
  return hd_op_effect(f->tr->event[e].op.kind, f->tr->event[e].flags);
}

static uint64_t places(const struct flips *f, uint32_t a, uint32_t b, uint64_t which) {
  return which * hd__hash(hd__place_of(f->tr, a, 0)) + 11 * hd__hash(hd__place_of(f->tr, b, 0));
}

static bool notifies(const struct flips *f, uint32_t e) {
  return effect(f, e) == HD_EFF_NOTIFY || effect(f, e) == HD_EFF_NOTIFY_ALL;
}

/* As soon as the thread waits, y signals, which came after the signal x. */
static void wake_with(struct flips *f, uint32_t wait, uint32_t x, uint32_t y) {
  const struct hd__trace *tr = f->tr;
  unsigned tx = hd__thread(tr, x), ty = hd__thread(tr, y);
  f->stats->solved++;
  hd__flip_start(f);
  hd__flip_follow(f, wait);
  f->limit[tx] = f->at[tx];
  if (!hd__in_ideal(tr, f->at, x) && hd__flip_advance(f, ty, tr->pos[y], 0))
    hd__flip_predict(f, HD_PREDICTED_ORDER, (const uint32_t[]){y, x}, 2);
}

/* `op`: the waits for conditions, and the signals. */
static void flip_signals(struct flips *f, const uint32_t *op, size_t n) {
  const struct hd__trace *tr = f->tr;
  for (size_t i = 0; i < n; i++) {
    uint32_t wait = op[i], first = HD__NONE;
    unsigned tries = 0;
    for (size_t k = i + 1; k < n && k < i + NEAR && tries < SIGNALS; k++) {
      uint32_t signal = op[k];
      if (!hd__may_miss(tr, wait, signal)) continue;
      tries++;
      if (hd__thread(tr, wait) == hd__thread(tr, signal)) continue;
      if (hd__flip_is_new(f, places(f, wait, signal, 1))) hd__flip_order(f, wait, signal);
      if (first == HD__NONE)
        first = signal;
      else if (hd__thread(tr, first) != hd__thread(tr, signal) &&
               hd__flip_is_new(f, places(f, first, signal, 23) + hd__place_of(tr, wait, 0)))
        wake_with(f, wait, first, signal);
    }
  }
}

/* ---- turns ---- */

bool hd__flip_is_turn(const struct hd__trace *tr, uint32_t from, uint32_t to) {
  const struct hd_event *a = &tr->event[from], *b = &tr->event[to];
  enum hd_obj_kind kind = hd_op_object(a->op.kind);
  bool same =
      a->op.object == b->op.object && hd_object_family(kind) == hd_object_family(hd_op_object(b->op.kind));
  if (!same || kind == HD_OBJ_NONE || kind == HD_OBJ_MEMORY) return false;
  enum hd_effect first = hd_op_effect(a->op.kind, a->flags), then = hd_op_effect(b->op.kind, b->flags);
  if (!(hd_conflicts[first] >> then & 1)) return false;
  if ((hd_effect_properties[first] & HD_EFF_GIVES) && (hd_effect_properties[then] & HD_EFF_SEES))
    return false;
  return kind != HD_OBJ_IO || hd_io_dependent(&a->op, &b->op);
}

static void flip_turns(struct flips *f) {
  const struct hd__trace *tr = f->tr;
  for (uint32_t y = 0; y < tr->n; y++)
    for (uint32_t i = tr->edge_at[y]; i < tr->edge_at[y + 1]; i++) {
      uint32_t x = tr->edge[i];
      if (hd__thread(tr, x) != hd__thread(tr, y) && hd__flip_is_turn(tr, x, y) && !hd__may_miss(tr, x, y) &&
          hd__flip_is_new(f, places(f, x, y, 17)))
        hd__flip_turn(f, x, y);
    }
}

/* The thread of y goes on to y and the other one then to `then`, both after `first` of the other. */
static void put_between(struct flips *f, uint32_t first, uint32_t y, uint32_t then) {
  const struct hd__trace *tr = f->tr;
  unsigned t = hd__thread(tr, first), u = hd__thread(tr, y);
  f->stats->solved++;
  hd__flip_start(f);
  f->limit[t] = tr->pos[first];
  if (y < first) f->limit[u] = tr->pos[y] - 1;
  hd__flip_follow(f, first);
  if (!hd__flip_advance(f, t, tr->pos[first], 0)) return;
  f->limit[u] = tr->pos[y];
  if (!hd__flip_advance(f, u, tr->pos[y], 0)) return;
  f->limit[t] = tr->pos[then] - 1;
  if (hd__flip_advance(f, t, tr->pos[then] - 1, 0))
    hd__flip_predict(f, HD_PREDICTED_ATOMICITY, (const uint32_t[]){first, y, then}, 3);
}

/* ---- semaphores ---- */

/* The last take of the thread before `e` that it has not given back; HD__NONE: there is none. */
static uint32_t take_before(const struct flips *f, uint32_t e) {
  const struct hd__trace *tr = f->tr;
  for (uint32_t k = hd__before(tr, e); k != HD__NONE; k = hd__before(tr, k)) {
    if (effect(f, k) == HD_EFF_POST) return HD__NONE;
    if (effect(f, k) == HD_EFF_TAKE) return k;
  }
  return HD__NONE;
}

static void flip_takes(struct flips *f, const uint32_t *take, size_t n) {
  const struct hd__trace *tr = f->tr;
  for (size_t i = 0; i < n; i++) {
    uint32_t first = take_before(f, take[i]);
    unsigned tries = 0;
    for (size_t k = i > NEAR ? i - NEAR : 0; first != HD__NONE && k < n && k < i + NEAR && tries < SECTIONS;
         k++) {
      uint32_t y = take[k];
      if (hd__thread(tr, y) == hd__thread(tr, first) ||
          tr->event[y].op.object != tr->event[take[i]].op.object)
        continue;
      tries++;
      if (hd__flip_is_new(f, places(f, first, y, 3) + hd__place_of(tr, take[i], 0)))
        put_between(f, first, y, take[i]);
    }
  }
}

/* ---- outcomes ---- */

static bool may_wake(const struct flips *f, uint32_t e) {
  return f->run->o->spurious && hd__waits(f->tr, e) && !hd_op_is(f->tr->event[e].op.kind, HD_TRAIT_TIMED);
}

static void flip_outcomes(struct flips *f) {
  const struct hd__trace *tr = f->tr;
  for (uint32_t e = 0; e < tr->n; e++) {
    uint32_t n = may_wake(f, e) ? 2 : tr->event[e].nchoices;
    for (uint32_t k = 0; k < n && k < OUTCOMES; k++)
      if (k != tr->event[e].choice && hd__flip_is_new(f, 19 * hd__hash(hd__place_of(tr, e, 0)) + k))
        hd__flip_outcome(f, e, k);
  }
}

/* ---- attempts ---- */

static bool is_attempt(const struct hd_event *e) {
  return hd_op_is(e->op.kind, HD_TRAIT_TRIES) || hd_op_is(e->op.kind, HD_TRAIT_TIMED);
}

/* The attempt begins its section; another thread's comes first. */
static void flip_success(struct flips *f, uint32_t y) {
  const struct hd__trace *tr = f->tr;
  size_t at = tr->opens[y] - 1;
  const struct hd__section *own = &tr->section.v[at];
  unsigned tries = 0;
  for (size_t i = at > NEAR ? at - NEAR : 0; i < tr->section.n && i < at + NEAR && tries < SECTIONS; i++) {
    const struct hd__section *s = &tr->section.v[i];
    if (s->lock != own->lock || s->thread == own->thread || (s->shared && own->shared) ||
        s->release == HD__NONE)
      continue;
    if (hd__ordered(&f->hard, y, s->acquire) || hd__ordered(&f->hard, s->release, y)) continue;
    uint32_t then = hd__nth(tr, s->thread, tr->pos[s->acquire] + 1);
    tries++;
    if (hd__flip_is_new(f, places(f, s->acquire, y, 5))) put_between(f, s->acquire, y, then);
  }
}

static void flip_attempts(struct flips *f) {
  const struct hd__trace *tr = f->tr;
  for (uint32_t e = 0; e < tr->n; e++)
    if (tr->opens[e] && is_attempt(&tr->event[e])) flip_success(f, e);
  for (size_t i = 0; i < tr->look.n; i++) {
    uint32_t y = tr->look.v[i].event, x = tr->section.v[tr->look.v[i].section].acquire;
    if (hd__thread(tr, x) != hd__thread(tr, y) && hd__flip_is_new(f, places(f, x, y, 7)))
      hd__flip_order(f, x, y);
  }
}

/* ---- waiting with a lock held ---- */

/* Whether the thread waits for something other than a lock. */
static bool waits_otherwise(const struct flips *f, uint32_t e) {
  const struct hd_op *op = &f->tr->event[e].op;
  if (!hd_op_is(op->kind, HD_TRAIT_WAITS)) return false;
  return !hd_op_does(op->kind, f->tr->event[e].flags, HD_EFF_HOLDS) ||
         hd_op_second(op->kind, f->tr->event[e].flags) == HD_EFF_RETURN;
}

/* Whether the section contains such a wait, and not of its own lock. */
static bool has_wait(const struct flips *f, const struct hd__section *s) {
  const struct hd__trace *tr = f->tr;
  uint32_t until = s->release == HD__NONE ? hd__length(tr, s->thread) + 1 : tr->pos[s->release];
  for (uint32_t pos = tr->pos[s->acquire] + 1; pos < until; pos++)
    if (waits_otherwise(f, hd__nth(tr, s->thread, pos))) return true;
  return false;
}

static void flip_waits(struct flips *f) {
  const struct hd__trace *tr = f->tr;
  for (size_t i = 0; i < tr->section.n; i++) {
    const struct hd__section *s = &tr->section.v[i];
    unsigned tries = 0;
    if (!has_wait(f, s)) continue;
    for (size_t k = i; k-- > 0 && k + NEAR > i && tries < SECTIONS;) {
      const struct hd__section *x = &tr->section.v[k];
      if (x->lock != s->lock || x->thread == s->thread || (x->shared && s->shared)) continue;
      if (hd__ordered(&f->hard, x->acquire, s->acquire)) continue;
      tries++;
      if (hd__flip_is_new(f, places(f, x->acquire, s->acquire, 13)))
        hd__flip_order(f, x->acquire, s->acquire);
    }
  }
}

void hd__flip_sync(struct flips *f) {
  HD_VEC(uint32_t) take = {0}, signal = {0};
  for (uint32_t e = 0; e < f->tr->n; e++) {
    if (effect(f, e) == HD_EFF_TAKE) hd_vec_push(&take, e);
    if (hd__waits(f->tr, e) || notifies(f, e)) hd_vec_push(&signal, e);
  }
  flip_signals(f, signal.v, signal.n);
  flip_takes(f, take.v, take.n);
  flip_attempts(f);
  flip_waits(f);
  flip_turns(f);
  flip_outcomes(f);
  hd_vec_free(&take);
  hd_vec_free(&signal);
}

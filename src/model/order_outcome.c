/* order_outcome.c: what comes of the second operation of a race when it comes first. Runs in the tested process.
 *
 * What an operation depends on is a matter of its outcome: a trylock that fails only reads the lock, two signals that
 * nobody hears are independent. Reversed, it is executed in the state before the first of the two, after everything
 * else that stays (hd_order_stays); the outcome there follows from the trace.
 *
 * Invariant: where the outcome is not known, the one that depends on more is assumed. Then a branch may be added that
 * was covered already (explore/sleep.c sees to it that nothing is left out because of that), never the other way
 * round. */
#include "model/order_int.h"

/* Goes back through the events that come before the second operation when the race is reversed; HD_NONE at the end. */
static uint32_t previous(const struct hd_order *t, const struct hd_race *r, uint32_t i) {
  while (i-- > 0)
    if (i < r->e || (i > r->e && hd_order_stays(t, r, i))) return i;
  return HD_NONE;
}

/* The last of these events. */
static uint32_t latest(const struct hd_order *t, const uint32_t *last) {
  uint32_t i = HD_NONE;
  for (uint32_t k = 0; k < t->nthreads; k++)
    if (last[k] != HD_NONE && (i == HD_NONE || last[k] > i)) i = last[k];
  return i;
}

/* Whether the operation says what it found. */
static int finds_value(const struct hd_op *op) {
  enum hd_payload payload = hd_op_payload(op->kind);
  return (payload == HD_PAYLOAD_ACCESS || payload == HD_PAYLOAD_CAS) && op->access.known;
}

static int byte_of(const struct hd_op *op, uint64_t at) {
  return (int)(op->access.found >> (at - op->object) * 8 & 0xff);
}

/* The byte at `at` after the events that come before the second operation, if the last one that touches it only reads.
 * -1: unknown. */
static int byte_left(const struct hd_order *t, const struct hd_race *r, const uint32_t *last, uint64_t at) {
  const struct hd_op byte = {.object = at, .size = 1};
  for (uint32_t i = latest(t, last); i != HD_NONE; i = previous(t, r, i)) {
    const struct hd_op *o = &t->ev[i].op;
    if (hd_op_object(o->kind) != HD_OBJ_MEMORY || !hd_ops_overlap(o, &byte)) continue;
    return finds_value(o) && !hd_op_does(o->kind, t->ev[i].flags, HD_EFF_CHANGES) ? byte_of(o, at) : -1;
  }
  return -1;
}

/* The byte that a reversed compare-and-swap finds at `at`: what the first of those found that touch it and do not stay,
 * since whoever changes it after that one does not stay either. There may be none in an execution that was given up. -1:
 * unknown. */
static int byte_found(const struct hd_order *t, const struct hd_race *r, const uint32_t *last, uint64_t at) {
  const struct hd_op byte = {.object = at, .size = 1}, *found = NULL;
  for (uint32_t i = r->e; i < t->n && !found; i++) {
    const struct hd_op *o = &t->ev[i].op;
    if (hd_op_object(o->kind) != HD_OBJ_MEMORY || !hd_ops_overlap(o, &byte)) continue;
    if (i != r->e && hd_order_stays(t, r, i)) continue;
    if (finds_value(o))
      found = o;
    else if (hd_op_does(o->kind, t->ev[i].flags, HD_EFF_CHANGES))
      return -1;
  }
  if (!found && r->f == HD_NONE && finds_value(&r->op)) found = &r->op;
  return found ? byte_of(found, at) : byte_left(t, r, last, at);
}

static unsigned of_cas(const struct hd_order *t, const struct hd_race *r, const uint32_t *last) {
  if (r->op.size > 8 || (t->ev[r->e].flags & HD_EV_STOP)) return 0;
  for (uint32_t i = 0; i < r->op.size; i++) {
    int found = byte_found(t, r, last, r->op.object + i);
    if (found >= 0 && found != (int)(r->op.access.expected >> i * 8 & 0xff)) return HD_EV_FAILED;
  }
  return 0;
}

/* What the event does to that mutex or once-control. */
static enum hd_effect on_lock(const struct hd_ev *e, uint64_t lock) {
  const struct hd_op_info *info = &hd_op_table[e->op.kind];
  if (info->second.object == HD_OBJ_MUTEX && hd_op_second_object(&e->op) == lock)
    return hd_op_second(e->op.kind, e->flags);
  if ((info->first.object != HD_OBJ_MUTEX && info->first.object != HD_OBJ_ONCE) || e->op.object != lock)
    return HD_EFF_NONE;
  return hd_op_effect(e->op.kind, e->flags);
}

/* The last event that says in what state the lock is; HD_NONE: nobody has touched it. */
static uint32_t of_lock(const struct hd_order *t, const struct hd_race *r, const uint32_t *last) {
  uint32_t i = latest(t, last);
  for (; i != HD_NONE; i = previous(t, r, i)) {
    enum hd_effect effect = on_lock(&t->ev[i], r->op.object);
    if (effect == HD_EFF_ACQUIRE || effect == HD_EFF_RELEASE) break;
  }
  return i;
}

/* Fails when the lock is taken. */
static unsigned of_trylock(const struct hd_order *t, const struct hd_race *r, const uint32_t *last) {
  uint32_t i = of_lock(t, r, last);
  return i != HD_NONE && on_lock(&t->ev[i], r->op.object) == HD_EFF_ACQUIRE ? HD_EV_FAILED : 0;
}

/* Has nothing to do when it was done, and not given up (size). */
static unsigned of_once(const struct hd_order *t, const struct hd_race *r, const uint32_t *last) {
  uint32_t i = of_lock(t, r, last);
  return i != HD_NONE && on_lock(&t->ev[i], r->op.object) == HD_EFF_RELEASE && !t->ev[i].op.size
             ? HD_EV_FAILED
             : 0;
}

static int on_same(const struct hd_order *t, uint32_t i, const struct hd_op *op) {
  return t->ev[i].op.object == op->object && hd_op_object(t->ev[i].op.kind) == hd_op_object(op->kind);
}

static enum hd_effect effect_at(const struct hd_order *t, uint32_t i) {
  return hd_op_effect(t->ev[i].op.kind, t->ev[i].flags);
}

/* Readers are those since the last writer, if that is gone. */
static unsigned of_try_rwlock(const struct hd_order *t, const struct hd_race *r, const uint32_t *last) {
  int readers = 0, alone = hd_op_effect(r->op.kind, 0) == HD_EFF_ACQUIRE;
  for (uint32_t i = latest(t, last); i != HD_NONE; i = previous(t, r, i)) {
    if (!on_same(t, i, &r->op)) continue;
    enum hd_effect effect = effect_at(t, i);
    if (effect == HD_EFF_ACQUIRE) return HD_EV_FAILED;
    if (effect == HD_EFF_RELEASE) break;
    readers += (effect == HD_EFF_SHARE) - (effect == HD_EFF_UNSHARE);
  }
  return alone && readers > 0 ? HD_EV_FAILED : 0;
}

/* Each operation on a semaphore says how much there was before it. */
static unsigned of_try_sem(const struct hd_order *t, const struct hd_race *r, const uint32_t *last) {
  int64_t change = 0, before = (int64_t)r->op.sem.value;
  uint32_t i = latest(t, last);
  for (; i != HD_NONE && i > r->e; i = previous(t, r, i))
    if (on_same(t, i, &r->op)) change += (effect_at(t, i) == HD_EFF_POST) - (effect_at(t, i) == HD_EFF_TAKE);
  for (i = r->e; i < t->n && !on_same(t, i, &r->op);) i++;
  if (i < t->n) before = (int64_t)t->ev[i].op.sem.value;
  return before + change > 0 ? 0 : HD_EV_FAILED;
}

/* Whether the thread whose last event that is waits at the object that op notifies. */
static int waits_at(const struct hd_order *t, uint32_t i, const struct hd_op *op) {
  const struct hd_ev *e = &t->ev[i];
  return e->op.object == op->object && !hd__woke_spuriously(e) &&
         (effect_at(t, i) == HD_EFF_QUEUE || hd_op_second(e->op.kind, e->flags) == HD_EFF_QUEUE);
}

/* Whether the event wakes that thread, which waits at the object. */
static int wakes(const struct hd_ev *e, unsigned thread, const struct hd_op *op) {
  switch (hd_op_effect(e->op.kind, e->flags)) {
    case HD_EFF_NOTIFY:
    case HD_EFF_INTERRUPT: return hd_op_woken(&e->op) == thread + 1;
    case HD_EFF_NOTIFY_ALL: return e->op.object == op->object;
    case HD_EFF_NOTIFY_SOME: return thread < 64 && (e->op.wake.set >> thread & 1);
    default: return 0;
  }
}

/* Whether anybody hears the notification. */
static void of_signal(const struct hd_order *t, const struct hd_race *r, const uint32_t *last,
                      struct hd_op *op) {
  unsigned first = 0;
  for (; first < t->nthreads; first++) {
    uint32_t at = last[first], i = latest(t, last);
    if (at == HD_NONE || !waits_at(t, at, op)) continue;
    while (i != HD_NONE && i > at && !wakes(&t->ev[i], first, op)) i = previous(t, r, i);
    if (i == HD_NONE || i <= at) break;
  }
  op->wake.thread = op->wake.count = 0;
  if (hd_op_payload(op->kind) == HD_PAYLOAD_WAKE)
    op->wake.thread = first < t->nthreads ? first + 1 : 0;
  else
    op->wake.count = first < t->nthreads;
}

/* Whether the first thread has ended, or this is it. */
static void of_exit(const struct hd_order *t, const uint32_t *last, struct hd_op *op) {
  if (op->object) op->exit.decides &= last[0] != HD_NONE && effect_at(t, last[0]) == HD_EFF_FINISH;
}

unsigned hd_order_reversed_outcome(const struct hd_order *t, const struct hd_race *r, const uint32_t *last,
                                   struct hd_op *op) {
  int tries = hd_op_is(op->kind, HD_TRAIT_TRIES);
  switch (hd_op_effect(op->kind, 0)) {
    case HD_EFF_UPDATE: return hd_op_payload(op->kind) == HD_PAYLOAD_CAS ? of_cas(t, r, last) : 0;
    case HD_EFF_ACQUIRE:
      if (hd_op_object(op->kind) == HD_OBJ_ONCE) return of_once(t, r, last);
      if (!tries) return 0;
      return hd_op_object(op->kind) == HD_OBJ_MUTEX ? of_trylock(t, r, last) : of_try_rwlock(t, r, last);
    case HD_EFF_SHARE: return tries ? of_try_rwlock(t, r, last) : 0;
    case HD_EFF_TAKE: return tries ? of_try_sem(t, r, last) : 0;
    case HD_EFF_NOTIFY:
    case HD_EFF_NOTIFY_ALL:
    case HD_EFF_NOTIFY_SOME: of_signal(t, r, last, op); return 0;
    case HD_EFF_FINISH: of_exit(t, last, op); return 0;
    default: return 0;
  }
}

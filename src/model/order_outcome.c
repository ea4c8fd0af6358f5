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

/* Goes through the events that come before the second operation when the race is reversed, from the first on, or
 * from the last on; HD_NONE at the end. */
static uint32_t next(const struct hd_order *t, const struct hd_race *r, uint32_t i) {
  do i++;
  while (i < t->n && i >= r->e && (i == r->e || !hd_order_stays(t, r, i)));
  return i < t->n ? i : HD_NONE;
}

static uint32_t previous(const struct hd_order *t, const struct hd_race *r, uint32_t i) {
  while (i-- > 0)
    if (i < r->e || (i > r->e && hd_order_stays(t, r, i))) return i;
  return HD_NONE;
}

/* Whether the operation says what it found. */
static int finds_value(const struct hd_op *op) {
  enum hd_payload payload = hd_op_payload(op->kind);
  return (payload == HD_PAYLOAD_ACCESS || payload == HD_PAYLOAD_CAS) && op->access.known;
}

/* The byte that a reversed compare-and-swap finds at `at`: what the first of those found that touch it and do not stay,
 * since whoever changes it after that one does not stay either. -1: unknown. */
static int byte_found(const struct hd_order *t, const struct hd_race *r, uint64_t at) {
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
  return found ? (int)(found->access.found >> (at - found->object) * 8 & 0xff) : -1;
}

static unsigned of_cas(const struct hd_order *t, const struct hd_race *r) {
  if (r->op.size > 8 || (t->ev[r->e].flags & HD_EV_STOP)) return 0;
  for (uint32_t i = 0; i < r->op.size; i++) {
    int found = byte_found(t, r, r->op.object + i);
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
static uint32_t of_lock(const struct hd_order *t, const struct hd_race *r) {
  uint32_t i = previous(t, r, t->n);
  for (; i != HD_NONE; i = previous(t, r, i)) {
    enum hd_effect effect = on_lock(&t->ev[i], r->op.object);
    if (effect == HD_EFF_ACQUIRE || effect == HD_EFF_RELEASE) break;
  }
  return i;
}

/* Fails when the lock is taken. */
static unsigned of_trylock(const struct hd_order *t, const struct hd_race *r) {
  uint32_t i = of_lock(t, r);
  return i != HD_NONE && on_lock(&t->ev[i], r->op.object) == HD_EFF_ACQUIRE ? HD_EV_FAILED : 0;
}

/* Has nothing to do when it was done, and not given up (size). */
static unsigned of_once(const struct hd_order *t, const struct hd_race *r) {
  uint32_t i = of_lock(t, r);
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

static unsigned of_try_rwlock(const struct hd_order *t, const struct hd_race *r) {
  int readers = 0, writers = 0;
  for (uint32_t i = next(t, r, HD_NONE); i != HD_NONE; i = next(t, r, i)) {
    if (!on_same(t, i, &r->op)) continue;
    enum hd_effect effect = effect_at(t, i);
    readers += (effect == HD_EFF_SHARE) - (effect == HD_EFF_UNSHARE);
    writers += (effect == HD_EFF_ACQUIRE) - (effect == HD_EFF_RELEASE);
  }
  int alone = hd_op_effect(r->op.kind, 0) == HD_EFF_ACQUIRE;
  return writers > 0 || (alone && readers > 0) ? HD_EV_FAILED : 0;
}

/* Each operation on a semaphore says how much there was before it. */
static unsigned of_try_sem(const struct hd_order *t, const struct hd_race *r) {
  uint32_t first = 0;
  while (first < t->n && !on_same(t, first, &r->op)) first++;
  int64_t tokens = (int64_t)(first < t->n ? t->ev[first].op.sem.value : r->op.sem.value);
  for (uint32_t i = next(t, r, HD_NONE); i != HD_NONE; i = next(t, r, i))
    if (on_same(t, i, &r->op)) tokens += (effect_at(t, i) == HD_EFF_POST) - (effect_at(t, i) == HD_EFF_TAKE);
  return tokens > 0 ? 0 : HD_EV_FAILED;
}

/* Follows who is queued at the object that `at` notifies. */
static void follow_queue(struct hd_set *waiting, const struct hd_ev *e, enum hd_effect effect,
                         const struct hd_op *at) {
  switch (effect) {
    case HD_EFF_QUEUE:
      if (e->op.object == at->object && !hd__woke_spuriously(e)) hd_set_add(waiting, e->op.thread);
      break;
    case HD_EFF_UNQUEUE:
    case HD_EFF_RETURN: hd_set_del(waiting, e->op.thread); break;
    case HD_EFF_NOTIFY:
    case HD_EFF_INTERRUPT:
      if (hd_op_woken(&e->op)) hd_set_del(waiting, hd_op_woken(&e->op) - 1);
      break;
    case HD_EFF_NOTIFY_ALL:
      if (e->op.object == at->object) *waiting = (struct hd_set){{0}};
      break;
    case HD_EFF_NOTIFY_SOME: waiting->w[0] &= ~e->op.wake.set; break;
    default: break;
  }
}

/* Whether anybody hears the notification. */
static void of_signal(const struct hd_order *t, const struct hd_race *r, struct hd_op *op) {
  struct hd_set waiting = {{0}};
  for (uint32_t i = next(t, r, HD_NONE); i != HD_NONE; i = next(t, r, i)) {
    follow_queue(&waiting, &t->ev[i], effect_at(t, i), op);
    follow_queue(&waiting, &t->ev[i], hd_op_second(t->ev[i].op.kind, t->ev[i].flags), op);
  }
  unsigned first = 0;
  while (first < t->nthreads && !hd_set_has(&waiting, first)) first++;
  op->wake.thread = op->wake.count = 0;
  if (hd_op_payload(op->kind) == HD_PAYLOAD_WAKE)
    op->wake.thread = first < t->nthreads ? first + 1 : 0;
  else
    op->wake.count = first < t->nthreads;
}

/* Whether the first thread has ended. */
static void of_exit(const struct hd_order *t, const struct hd_race *r, struct hd_op *op) {
  op->exit.first_ended = 0;
  for (uint32_t i = previous(t, r, t->n); i != HD_NONE && !op->exit.first_ended; i = previous(t, r, i))
    op->exit.first_ended = effect_at(t, i) == HD_EFF_FINISH && t->ev[i].op.object == 0;
}

unsigned hd_order_reversed_outcome(const struct hd_order *t, const struct hd_race *r, struct hd_op *op) {
  int tries = hd_op_is(op->kind, HD_TRAIT_TRIES);
  switch (hd_op_effect(op->kind, 0)) {
    case HD_EFF_UPDATE: return hd_op_payload(op->kind) == HD_PAYLOAD_CAS ? of_cas(t, r) : 0;
    case HD_EFF_ACQUIRE:
      if (hd_op_object(op->kind) == HD_OBJ_ONCE) return of_once(t, r);
      if (!tries) return 0;
      return hd_op_object(op->kind) == HD_OBJ_MUTEX ? of_trylock(t, r) : of_try_rwlock(t, r);
    case HD_EFF_SHARE: return tries ? of_try_rwlock(t, r) : 0;
    case HD_EFF_TAKE: return tries ? of_try_sem(t, r) : 0;
    case HD_EFF_NOTIFY:
    case HD_EFF_NOTIFY_ALL:
    case HD_EFF_NOTIFY_SOME: of_signal(t, r, op); return 0;
    case HD_EFF_FINISH: of_exit(t, r, op); return 0;
    default: return 0;
  }
}

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

/* The byte that a reversed compare-and-swap finds at `at`: what the first of those found that touch it and do not stay,
 * since whoever changes it after that one does not stay either. -1: unknown. */
static int byte_found(const struct hd_order *t, const struct hd_race *r, uint64_t at) {
  const struct hd_op byte = {.object = at, .size = 1}, *found = NULL;
  for (uint32_t i = r->e; i < t->n && !found; i++) {
    const struct hd_op *o = &t->ev[i].op;
    if (hd_op_object[o->kind] != HD_OBJ_MEMORY || !hd__overlap(o, &byte)) continue;
    if (i != r->e && hd_order_stays(t, r, i)) continue;
    if (o->known)
      found = o;
    else if (hd__is_write(o->kind, t->ev[i].flags))
      return -1;
  }
  if (!found && r->f == HD_NONE && r->op.known) found = &r->op;
  return found ? (int)(found->before >> (at - found->object) * 8 & 0xff) : -1;
}

static unsigned of_cas(const struct hd_order *t, const struct hd_race *r) {
  if (r->op.size > 8 || (t->ev[r->e].flags & HD__EV_STOP)) return 0;
  for (uint32_t i = 0; i < r->op.size; i++) {
    int found = byte_found(t, r, r->op.object + i);
    if (found >= 0 && found != (int)(r->op.aux >> i * 8 & 0xff)) return HD_EV_FAILED;
  }
  return 0;
}

/* The last event that says in what state the lock is; HD_NONE: nobody has touched it. */
static uint32_t of_lock(const struct hd_order *t, const struct hd_race *r) {
  uint32_t i = previous(t, r, t->n);
  for (; i != HD_NONE; i = previous(t, r, i)) {
    const struct hd_ev *e = &t->ev[i];
    enum hd_lock_role role = hd__lock_role(e->op.kind, e->flags);
    if ((role == HD_LOCK_ACQUIRE || role == HD_LOCK_RELEASE) && hd__lock_of(&e->op) == r->op.object) break;
  }
  return i;
}

/* Fails when the lock is taken. */
static unsigned of_trylock(const struct hd_order *t, const struct hd_race *r) {
  uint32_t i = of_lock(t, r);
  return i != HD_NONE && hd__lock_role(t->ev[i].op.kind, t->ev[i].flags) == HD_LOCK_ACQUIRE ? HD_EV_FAILED
                                                                                            : 0;
}

/* Has nothing to do when it was done, and not given up (size). */
static unsigned of_once(const struct hd_order *t, const struct hd_race *r) {
  uint32_t i = of_lock(t, r);
  return i != HD_NONE && t->ev[i].op.kind == HD_OP_ONCE_DONE && !t->ev[i].op.size ? HD_EV_FAILED : 0;
}

static int on_same(const struct hd_order *t, uint32_t i, const struct hd_op *op) {
  return t->ev[i].op.object == op->object && hd_op_object[t->ev[i].op.kind] == hd_op_object[op->kind];
}

static unsigned of_try_rwlock(const struct hd_order *t, const struct hd_race *r) {
  struct hd_held held = {0, 0, 0};
  for (uint32_t i = next(t, r, HD_NONE); i != HD_NONE; i = next(t, r, i)) {
    if (!on_same(t, i, &r->op)) continue;
    struct hd_held h = hd__sync_held(&t->ev[i]);
    held.readers += h.readers;
    held.writers += h.writers;
  }
  return held.writers > 0 || (r->op.kind == HD_OP_TRYWRLOCK && held.readers > 0) ? HD_EV_FAILED : 0;
}

/* Each operation on a semaphore says how much there was before it. */
static unsigned of_try_sem(const struct hd_order *t, const struct hd_race *r) {
  uint32_t first = 0;
  while (first < t->n && !on_same(t, first, &r->op)) first++;
  int64_t tokens = (int64_t)(first < t->n ? t->ev[first].op.aux : r->op.aux);
  for (uint32_t i = next(t, r, HD_NONE); i != HD_NONE; i = next(t, r, i))
    if (on_same(t, i, &r->op)) tokens += hd__sync_held(&t->ev[i]).tokens;
  return tokens > 0 ? 0 : HD_EV_FAILED;
}

/* Tells in op->aux whether anybody hears the signal. */
static void of_signal(const struct hd_order *t, const struct hd_race *r, struct hd_op *op) {
  struct hd_set waiting = {{0}};
  for (uint32_t i = next(t, r, HD_NONE); i != HD_NONE; i = next(t, r, i)) {
    const struct hd_ev *e = &t->ev[i];
    switch (e->op.kind) {
      case HD_OP_WAIT:
      case HD_OP_TIMEDWAIT:
        if (e->op.object == op->object && !hd__woke_spuriously(e)) hd_set_add(&waiting, e->op.thread);
        break;
      case HD_OP_FWAIT:
        if (e->op.object == op->object && !(e->flags & HD_EV_FAILED)) hd_set_add(&waiting, e->op.thread);
        break;
      case HD_OP_WAKE:
      case HD_OP_CTIMEOUT:
      case HD_OP_FRETURN: hd_set_del(&waiting, e->op.thread); break;
      case HD_OP_SIGNAL:
      case HD_OP_FWAKE:
      case HD_OP_CANCEL:
      case HD_OP_KILL:
        if (e->op.aux) hd_set_del(&waiting, (unsigned)e->op.aux - 1);
        break;
      case HD_OP_BROADCAST:
      case HD_OP_FWAKEALL:
        if (e->op.object == op->object) waiting = (struct hd_set){{0}};
        break;
      default: break;
    }
  }
  unsigned first = 0;
  while (first < t->nthreads && !hd_set_has(&waiting, first)) first++;
  op->aux = first < t->nthreads ? first + 1 : 0;
}

/* Tells in op->aux whether the first thread has ended. */
static void of_exit(const struct hd_order *t, const struct hd_race *r, struct hd_op *op) {
  op->aux = 0;
  for (uint32_t i = previous(t, r, t->n); i != HD_NONE && !op->aux; i = previous(t, r, i))
    op->aux = t->ev[i].op.kind == HD_OP_EXIT && t->ev[i].op.object == 0;
}

unsigned hd_order_reversed_outcome(const struct hd_order *t, const struct hd_race *r, struct hd_op *op) {
  switch (op->kind) {
    case HD_OP_ACAS: return of_cas(t, r);
    case HD_OP_TRYLOCK: return of_trylock(t, r);
    case HD_OP_ONCE: return of_once(t, r);
    case HD_OP_TRYRDLOCK:
    case HD_OP_TRYWRLOCK: return of_try_rwlock(t, r);
    case HD_OP_SEMTRYWAIT: return of_try_sem(t, r);
    case HD_OP_SIGNAL:
    case HD_OP_BROADCAST:
    case HD_OP_FWAKE:
    case HD_OP_FWAKEALL: of_signal(t, r, op); return 0;
    case HD_OP_EXIT: of_exit(t, r, op); return 0;
    default: return 0;
  }
}

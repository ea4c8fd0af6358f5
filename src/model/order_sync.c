/* order_sync.c: what the operations on read-write locks, semaphores, barriers and ending threads depend on. Runs in the tested
 * process. Part of order.c, whose invariants hold here too.
 *
 * Invariants
 *  1. Readers do not depend on each other, neither when they come nor when they go. A writer depends on all.
 *  2. A writer that had to wait could have come before a reader only if nobody else had the lock then: whoever
 *     would have it goes out of the way too (hd_race.also), or there is no race.
 *  3. Posts of a semaphore do not depend on each other: each adds one, and whoever takes one afterwards is ordered
 *     after all of them. Everything else depends on everything.
 *  4. A wait for a semaphore could have come before an operation if its value, without that operation and all
 *     that came of it, was not zero. Among those it races with the latest.
 *  5. Arrivals at a barrier do not depend on each other as long as only those take part that it was made for;
 *     then who comes last decides nothing, since which thread is told to be the special one is a choice. The
 *     runtime notices when more take part, and says so in the operation (aux): then they all depend.
 *  6. The ends of threads do not depend on each other, unless the first thread ends like any other: then the last of
 *     all ends the process. */
#include "model/order_int.h"

enum act {
  NOTHING,
  READ_LOCK,
  READ_UNLOCK,
  WRITE_LOCK,
  WRITE_UNLOCK,
  NO_READ,  /* could not be locked for reading */
  NO_WRITE, /* could not be locked for writing */
  RW_DESTROY,
  POST,
  TAKE,
  LOOK, /* at the value of a semaphore; it may have been zero */
  SEM_DESTROY,
  ARRIVE,
  LEAVE, /* depends on nothing but what let it go */
  BARRIER_DESTROY,
  THREAD_END,
  JOINED, /* without waiting */
  NOT_ENDED,
};

#define BIT(c) (1u << (c))
#define RW_ALL                                                                                              \
  (BIT(READ_LOCK) | BIT(READ_UNLOCK) | BIT(WRITE_LOCK) | BIT(WRITE_UNLOCK) | BIT(NO_READ) | BIT(NO_WRITE) | \
   BIT(RW_DESTROY))
#define SEM_ALL (BIT(POST) | BIT(TAKE) | BIT(LOOK) | BIT(SEM_DESTROY))
static const uint32_t depends[] = {
    [READ_LOCK] = BIT(WRITE_LOCK) | BIT(WRITE_UNLOCK) | BIT(NO_WRITE) | BIT(RW_DESTROY),
    [READ_UNLOCK] = BIT(WRITE_LOCK) | BIT(WRITE_UNLOCK) | BIT(NO_WRITE) | BIT(RW_DESTROY),
    [WRITE_LOCK] = RW_ALL,
    [WRITE_UNLOCK] = RW_ALL,
    [NO_READ] = BIT(WRITE_LOCK) | BIT(WRITE_UNLOCK) | BIT(RW_DESTROY),
    [NO_WRITE] = RW_ALL & ~(BIT(NO_READ) | BIT(NO_WRITE)),
    [RW_DESTROY] = RW_ALL,
    [POST] = SEM_ALL & ~BIT(POST),
    [TAKE] = SEM_ALL,
    [LOOK] = SEM_ALL & ~BIT(LOOK),
    [SEM_DESTROY] = SEM_ALL,
    [THREAD_END] = BIT(JOINED) | BIT(NOT_ENDED),
    [JOINED] = BIT(THREAD_END),
    [NOT_ENDED] = BIT(THREAD_END),
    [ARRIVE] = BIT(BARRIER_DESTROY),
    [BARRIER_DESTROY] = BIT(ARRIVE) | BIT(BARRIER_DESTROY), /* it waits for those who have yet to leave */
};

static enum act class_of(unsigned kind, unsigned flags) {
  int failed = flags & HD_EV_FAILED;
  switch (kind) {
    case HD_OP_RDLOCK: return READ_LOCK;
    case HD_OP_TRYRDLOCK:
    case HD_OP_TIMEDRDLOCK: return failed ? NO_READ : READ_LOCK;
    case HD_OP_WRLOCK: return WRITE_LOCK;
    case HD_OP_TRYWRLOCK:
    case HD_OP_TIMEDWRLOCK: return failed ? NO_WRITE : WRITE_LOCK;
    case HD_OP_RDUNLOCK: return READ_UNLOCK;
    case HD_OP_WRUNLOCK: return WRITE_UNLOCK;
    case HD_OP_RWDESTROY: return RW_DESTROY;
    case HD_OP_SEMPOST: return POST;
    case HD_OP_SEMWAIT: return TAKE;
    case HD_OP_SEMTRYWAIT:
    case HD_OP_SEMTIMED: return failed ? LOOK : TAKE;
    case HD_OP_SEMVALUE: return LOOK;
    case HD_OP_SEMDESTROY: return SEM_DESTROY;
    case HD_OP_BARRIER: return ARRIVE;
    case HD_OP_BLEAVE: return LEAVE;
    case HD_OP_BDESTROY: return BARRIER_DESTROY;
    case HD_OP_EXIT: return THREAD_END;
    case HD_OP_TRYJOIN: return failed ? NOT_ENDED : JOINED;
    case HD_OP_TIMEDJOIN: return failed ? NOT_ENDED : NOTHING;
    default: return NOTHING;
  }
}

/* Never waits, whatever comes of it. */
static int tries(unsigned kind) {
  return kind == HD_OP_TRYRDLOCK || kind == HD_OP_TRYWRLOCK || kind == HD_OP_SEMTRYWAIT;
}

/* Invariant 6. */
static int ends_depend(const struct hd_op *a, const struct hd_op *b) {
  return a->aux || b->aux || a->object == 0 || b->object == 0;
}

int hd__sync_dependent(const struct hd_op *a, unsigned af, const struct hd_op *b, unsigned bf) {
  enum act ca = class_of(a->kind, af), cb = class_of(b->kind, bf);
  if (ca == THREAD_END && cb == THREAD_END) return ends_depend(a, b);
  if (a->object != b->object) return 0;
  if (ca == ARRIVE && cb == ARRIVE) return a->aux || b->aux;
  return (depends[ca] & BIT(cb)) != 0;
}

int hd__sync_waits(const struct hd_op *op) {
  enum act c = class_of(op->kind, 0);
  return (c == READ_LOCK || c == WRITE_LOCK || c == TAKE) && !tries(op->kind);
}

int hd__sync_freed(const struct hd_ev *e, const struct hd_op *op) {
  enum act c = class_of(op->kind, 0), by = class_of(e->op.kind, e->flags);
  if (!hd__sync_waits(op) || e->op.object != op->object) return 0;
  switch (c) {
    case READ_LOCK: return by == WRITE_UNLOCK;
    case WRITE_LOCK: return by == WRITE_UNLOCK || by == READ_UNLOCK;
    default: return by == POST && e->op.aux == 0;
  }
}

struct hd_held hd__sync_held(const struct hd_ev *e) {
  enum act c = class_of(e->op.kind, e->flags);
  return (struct hd_held){(c == READ_LOCK) - (c == READ_UNLOCK), (c == WRITE_LOCK) - (c == WRITE_UNLOCK),
                          (c == POST) - (c == TAKE)};
}

static struct hd_tobj *object_of(struct hd_work *w) { return hd__tobj(w->t, w->op->object * 4 + 1); }

static void remember(struct hd_work *w, struct hd_tobj *o) {
  if (w->f == HD_NONE) return;
  struct hd_link *l = hd_order_get(w->t, sizeof *l);
  *l = (struct hd_link){w->f, 0, 0, o->list};
  o->list = l;
}

static int before_or_same(const struct hd_order *t, uint32_t a, uint32_t b) {
  return a == b || (a < b && hd_order_before(t, a, b));
}

/* ---- read-write locks ---- */

/* A stretch of reading. */
struct hd_reader {
  uint32_t lock, unlock; /* unlock: HD_NONE while it lasts */
  uint32_t meets;        /* scratch: goes out of the way */
  struct hd_reader *next;
};

/* Lets reader r, and all whom that keeps from unlocking, go out of the way of the writer. Returns how many
 * others that are, or -1 when one of them came before r. */
static int clear_the_way(struct hd_work *w, struct hd_tobj *o, struct hd_reader *r) {
  int n = 0, again = 1;
  for (struct hd_reader *q = o->readers; q; q = q->next) q->meets = q == r;
  while (again) {
    again = 0;
    for (struct hd_reader *q = o->readers; q; q = q->next) {
      int holds = q->unlock == HD_NONE;
      for (struct hd_reader *d = o->readers; d && !holds; d = d->next)
        holds = d->meets && before_or_same(w->t, d->lock, q->unlock);
      if (q->meets || !holds) continue;
      if (q->lock < r->lock || hd__covered(w, w->pred, q->lock)) return -1;
      q->meets = again = 1;
      n++;
    }
  }
  return n;
}

/* A writer that waited, against the readers before it (invariant 2). */
static void before_readers(struct hd_work *w, struct hd_tobj *o) {
  for (struct hd_reader *r = o->readers; r; r = r->next) {
    if (hd__covered(w, w->pred, r->lock)) continue;
    int later = 0; /* another reader comes after this one: the race is with that one */
    for (struct hd_reader *q = o->readers; q && !later; q = q->next)
      later = q != r && r->lock < q->lock && hd_order_before(w->t, r->lock, q->lock);
    int n = later ? -1 : clear_the_way(w, o, r);
    if (n < 0) continue;
    uint32_t *also = n ? hd_order_get(w->t, (uint32_t)n * sizeof *also) : NULL;
    n = 0;
    for (struct hd_reader *q = o->readers; q; q = q->next)
      if (q != r && q->meets) also[n++] = q->lock;
    hd__add_race(w, r->lock, also, (uint32_t)n);
  }
}

/* Meets every reader, those that have gone at their going; the latest first. */
static void meet_readers(struct hd_work *w, struct hd_tobj *o) {
  for (struct hd_reader *r = o->readers; r; r = r->next) r->meets = 0;
  for (;;) {
    struct hd_reader *last = NULL;
    uint32_t at = 0;
    for (struct hd_reader *r = o->readers; r; r = r->next) {
      uint32_t ev = r->unlock == HD_NONE ? r->lock : r->unlock;
      if (!r->meets && (!last || ev > at)) {
        last = r;
        at = ev;
      }
    }
    if (!last) return;
    last->meets = 1;
    hd__meet(w, at);
  }
}

static void meet_list(struct hd_work *w, const struct hd_tobj *o, uint32_t classes) {
  for (const struct hd_link *l = o->list; l; l = l->next) {
    const struct hd_ev *e = &w->t->ev[l->ev];
    if (classes & BIT(class_of(e->op.kind, e->flags))) hd__meet(w, l->ev);
  }
}

static void lock_for_writing(struct hd_work *w, struct hd_tobj *o) {
  if (tries(w->op->kind)) { /* before any of those it would have failed */
    meet_readers(w, o);
    hd__meet(w, o->release);
  } else if (o->readers) {
    before_readers(w, o);
  } else if (o->acquire != HD_NONE && !hd__covered(w, w->pred, o->acquire)) {
    hd__add_race(w, o->acquire, NULL, 0);
  }
  for (struct hd_reader *r = o->readers; r; r = r->next)
    if (r->unlock != HD_NONE) hd__join(w, r->unlock);
  if (o->release != HD_NONE) hd__join(w, o->release);
  if (w->f == HD_NONE) return;
  o->acquire = w->f;
  o->list = NULL;
  o->readers = NULL;
}

static void lock_for_reading(struct hd_work *w, struct hd_tobj *o) {
  if (tries(w->op->kind))
    hd__meet(w, o->release);
  else if (o->acquire != HD_NONE && !hd__covered(w, w->pred, o->acquire))
    hd__add_race(w, o->acquire, NULL, 0);
  if (w->f == HD_NONE) return; /* what a writer has since kept out came after it */
  if (o->release != HD_NONE) hd__join(w, o->release);
  meet_list(w, o, BIT(NO_WRITE));
  struct hd_reader *r = hd_order_get(w->t, sizeof *r);
  *r = (struct hd_reader){w->f, HD_NONE, 0, o->readers};
  o->readers = r;
}

static void unlock_reading(struct hd_work *w, struct hd_tobj *o) {
  meet_list(w, o, BIT(NO_WRITE));
  for (struct hd_reader *r = o->readers; r && w->f != HD_NONE; r = r->next)
    if (r->unlock == HD_NONE && w->t->ev[r->lock].op.thread == w->op->thread) {
      hd_order_save(w->t, r, sizeof *r);
      r->unlock = w->f;
      return;
    }
}

/* Loops that saw a chance which this operation takes away. */
static void meet_spins(struct hd_work *w, struct hd_tobj *o) {
  for (struct hd_link *s = o->spins; s; s = s->next) hd__meet(w, s->ev);
  if (w->f != HD_NONE) o->spins = NULL;
}

static void on_rwlock(struct hd_work *w, enum act c) {
  struct hd_tobj *o = object_of(w);
  hd__meet(w, o->destroy);
  if (c == READ_LOCK || c == WRITE_LOCK) meet_spins(w, o);
  switch (c) {
    case READ_LOCK: lock_for_reading(w, o); return;
    case WRITE_LOCK: lock_for_writing(w, o); return;
    case READ_UNLOCK: unlock_reading(w, o); return;
    case WRITE_UNLOCK:
      meet_list(w, o, ~0u);
      if (w->f != HD_NONE) o->release = w->f;
      return;
    case NO_WRITE:
      if (o->readers && !tries(w->op->kind)) { /* its time was over: it waited like any other writer */
        before_readers(w, o);
        remember(w, o);
        return;
      }
      meet_readers(w, o); /* fall through */
    case NO_READ:
      hd__meet(w, o->acquire);
      remember(w, o);
      return;
    default:
      meet_readers(w, o);
      meet_list(w, o, ~0u);
      hd__meet(w, o->release);
      hd__meet(w, o->acquire);
      if (w->f != HD_NONE) o->destroy = w->f;
  }
}

/* ---- semaphores ---- */

/* The value of the semaphore without event y and all that came of it. pre: y is in the list. */
static int64_t value_without(const struct hd_work *w, const struct hd_tobj *o, uint32_t y, int64_t value) {
  for (const struct hd_link *l = o->list; l; l = l->next) {
    const struct hd_ev *e = &w->t->ev[l->ev];
    enum act c = class_of(e->op.kind, e->flags);
    if (before_or_same(w->t, y, l->ev)) value -= c == POST ? 1 : c == TAKE ? -1 : 0;
    if (l->ev == y) break;
  }
  return value;
}

static enum act class_at(const struct hd_work *w, const struct hd_link *l) {
  return class_of(w->t->ev[l->ev].op.kind, w->t->ev[l->ev].flags);
}

/* A wait, against what it could have come before (invariant 4). */
static void before_others(struct hd_work *w, struct hd_tobj *o) {
  uint32_t *known = hd_order_get(w->t, w->t->threads_max * sizeof *known);
  uint32_t seen = 0; /* everything that depends on one of these comes before it */
  int64_t value = (int64_t)(w->f == HD_NONE ? o->count : w->op->aux);
  for (uint32_t i = 0; i < w->t->threads_max; i++) known[i] = w->pred[i];
  for (const struct hd_link *l = o->list; l; l = l->next) {
    enum act c = class_at(w, l);
    if (seen & depends[c]) break;
    if (!hd__covered(w, known, l->ev)) {
      if (value_without(w, o, l->ev, value) < 1) continue;
      hd__add_race(w, l->ev, NULL, 0);
      const uint32_t *clock = w->t->ev[l->ev].clock;
      for (uint32_t i = 0; i < w->t->threads_max; i++)
        if (clock[i] > known[i]) known[i] = clock[i];
    }
    seen |= BIT(c);
  }
}

static void on_sem(struct hd_work *w, enum act c) {
  struct hd_tobj *o = object_of(w);
  int waits = hd__sync_waits(w->op); /* also if its time was over in the end */
  uint32_t seen = 0;
  hd__meet(w, o->destroy);
  if (c == TAKE) meet_spins(w, o);
  if (waits) before_others(w, o);
  if (w->f == HD_NONE) return;
  for (const struct hd_link *l = o->list; l; l = l->next) {
    enum act y = class_at(w, l);
    if (seen & depends[y]) break;
    if (!(depends[c] & BIT(y))) {
      if (hd__covered(w, w->clock, l->ev)) seen |= BIT(y);
      continue;
    }
    if (!waits)
      hd__meet(w, l->ev);
    else if (!hd__covered(w, w->clock, l->ev))
      hd__join(w, l->ev);
    seen |= BIT(y);
  }
  o->count = w->op->aux + (c == POST) - (c == TAKE);
  if (c == SEM_DESTROY)
    o->destroy = w->f;
  else
    remember(w, o);
}

/* ---- barriers ---- */

static void on_barrier(struct hd_work *w, enum act c) {
  struct hd_tobj *o = object_of(w);
  if (c == LEAVE) return;
  hd__meet(w, o->destroy);
  if (c == BARRIER_DESTROY) {
    meet_list(w, o, BIT(ARRIVE));
    if (w->f != HD_NONE) o->destroy = w->f;
    return;
  }
  if (w->op->aux) {
    hd__meet(w, o->acquire);
    if (w->f != HD_NONE) o->acquire = w->f;
  }
  remember(w, o);
}

/* All have arrived: whoever leaves comes after all of them. */
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

void hd__sync_event(struct hd_order *t, uint32_t f) {
  const struct hd_op *op = &t->ev[f].op;
  if (op->kind == HD_OP_BARRIER) {
    struct hd_tobj *o = hd__tobj(t, op->object * 4 + 1);
    if (++o->count >= op->size) pass(t, o, op->size);
  } else if (op->kind == HD_OP_BLEAVE) {
    const uint32_t *gate = t->gate[op->thread];
    t->gate[op->thread] = NULL;
    for (uint32_t i = 0; gate && i < t->nthreads; i++) /* the others wait for the first to leave */
      if (t->gate[i] == gate) {
        hd_order_save_thread(t, i);
        t->gate[i] = NULL;
        t->cause[i] = f;
      }
  }
}

uint32_t hd__sync_enabler(struct hd_order *t, const struct hd_op *op) {
  enum act c = class_of(op->kind, 0);
  if (!hd__sync_waits(op) && c != LEAVE) return HD_NONE;
  const struct hd_tobj *o = hd__tobj(t, op->object * 4 + 1);
  uint32_t last = c == READ_LOCK || c == WRITE_LOCK ? o->release : HD_NONE;
  for (const struct hd_reader *r = o->readers; c == WRITE_LOCK && r; r = r->next)
    if (r->unlock != HD_NONE && (last == HD_NONE || r->unlock > last)) last = r->unlock;
  enum act by = c == TAKE ? POST : c == LEAVE ? ARRIVE : NOTHING;
  for (const struct hd_link *l = o->list; l && by && last == HD_NONE; l = l->next) {
    const struct hd_ev *e = &t->ev[l->ev];
    if (e->op.thread != op->thread && class_of(e->op.kind, e->flags) == by) last = l->ev;
  }
  return last;
}

/* ---- the end of a thread, against those who ask without waiting ---- */

static void on_thread(struct hd_work *w, enum act c) {
  if (c == NOTHING) return;
  struct hd_tobj *o = hd__tobj(w->t, (w->op->object + 1) * 4);
  if (c == THREAD_END) {
    struct hd_tobj *all = hd__tobj(w->t, (HD_MAX_THREADS + 1ull) * 4);
    for (const struct hd_link *l = all->list; l; l = l->next)
      if (ends_depend(&w->t->ev[l->ev].op, w->op)) hd__meet(w, l->ev);
    remember(w, all);
    o = hd__tobj(w->t, (w->op->object + 1) * 4); /* the table may have grown */
    meet_list(w, o, BIT(NOT_ENDED));
    if (w->f != HD_NONE) o->release = w->f;
  } else if (c == JOINED) {
    hd__meet(w, o->release);
  } else {
    remember(w, o);
  }
}

void hd__sync_conflicts(struct hd_work *w) {
  enum act c = class_of(w->op->kind, w->flags);
  switch (hd_op_object[w->op->kind]) {
    case HD_OBJ_RWLOCK: on_rwlock(w, c); break;
    case HD_OBJ_SEM: on_sem(w, c); break;
    case HD_OBJ_BARRIER: on_barrier(w, c); break;
    case HD_OBJ_THREAD: on_thread(w, c); break;
    default: break;
  }
}

/* events.c: the model of a trace: program order, sections of locks, and the edges that every reordering keeps. Runs in
 * the supervisor.
 *
 * What an operation does is asked of the execution model (model/op.h, model/depend.h). Memory is in locations.c, locks
 * are sections; operations on anything else keep the order of those that conflict or that one sees of the other.
 *
 * Invariants
 *  1. A sequence of prefixes of the threads that keeps program order and all edges, in which conflicting sections do not
 *     overlap, a failed attempt to take a lock is within the section that it saw, and reads see their values, is an
 *     execution of any program that has this one.
 *  2. Conflicts are judged by effects alone, not by what operations carry: too many edges, never too few.
 *  3. Cancellations, signals, the end of the process and what is in an atomic section keep their places: all events
 *     before them in the trace come before them, all later ones after them.
 *  4. All operations on descriptors keep their order, and so do those on a once-control: who comes first runs other
 *     code. */
#include "model/depend.h"
#include "predict/predict_int.h"

#include <stdlib.h>
#include <string.h>

/* ---- hash map ---- */

static size_t slot_of(const struct hd__index *m, uint64_t key) {
  size_t i = hd__hash(key) & (m->cap - 1);
  while (m->key[i] && m->key[i] != key) i = (i + 1) & (m->cap - 1);
  return i;
}

uint32_t *hd__index_at(struct hd__index *m, uint64_t key) {
  if (2 * (m->n + 1) > m->cap) {
    struct hd__index old = *m;
    m->cap = old.cap ? 2 * old.cap : 64;
    m->key = hd_alloc(m->cap * sizeof *m->key);
    m->value = hd_alloc(m->cap * sizeof *m->value);
    for (size_t i = 0; i < old.cap; i++)
      if (old.key[i]) {
        size_t to = slot_of(m, old.key[i]);
        m->key[to] = old.key[i];
        m->value[to] = old.value[i];
      }
    free(old.key);
    free(old.value);
  }
  size_t i = slot_of(m, key);
  if (!m->key[i]) {
    m->key[i] = key;
    m->n++;
  }
  return &m->value[i];
}

void hd__index_fini(struct hd__index *m) {
  free(m->key);
  free(m->value);
  *m = (struct hd__index){0};
}

/* ---- state of the construction ---- */

/* The last event of a thread that had this effect on an object. */
struct touch {
  uint32_t event;
  uint16_t thread;
  uint8_t effect;
};

struct object {
  HD_VEC(struct touch) touch;
  uint32_t lock; /* its number as a lock, plus 1 */
};

struct hold {
  uint32_t section, depth;
};

struct thread {
  HD_VEC(struct hold) hold;
  uint32_t set;              /* of the locks it holds */
  uint32_t last;             /* its last event */
  uint32_t created;          /* the event that created it, until its first event */
  uint32_t barrier;          /* the last barrier event that it comes after */
  uint32_t queued, waits_on; /* its last event that queued, and the object plus 1 */
  bool ended, joined;
};

struct builder {
  struct hd__trace *tr;
  struct hd__edges edges;
  struct hd__index object_of;
  HD_VEC(struct object) object;
  struct thread *thread;
  HD_VEC(uint32_t) open;   /* open sections */
  struct hd__index set_of; /* hash of a set of locks to its number plus 1 */
  uint32_t barrier;        /* the last event that everything keeps its order with */
  bool lenient;
  struct hd_err *err;
};

/* The event contradicts those before it: it is an error, or keeps its place and is counted. */
static int contradicts(struct builder *b, uint32_t e, const char *why) {
  if (b->lenient) {
    if (!b->tr->unmatched++) {
      b->tr->first_unmatched = e + 1;
      b->tr->unmatched_why = why;
    }
    return HD_OK;
  }
  struct hd_str s;
  hd_str_init(&s);
  if (b->tr->tables)
    hd_tr_describe(&s, b->tr->tables, &b->tr->event[e]);
  else
    hd_str_addf(&s, "thread %u %s", hd__thread(b->tr, e), hd_op_text(b->tr->event[e].op.kind));
  int rc = hd_fail(b->err, HD_EUSAGE, "the trace contradicts itself: event %u (%s) %s", e + 1, s.s, why);
  hd_str_fini(&s);
  return rc;
}

static uint32_t object_at(struct builder *b, unsigned kind, uint64_t addr) {
  uint64_t family = hd_object_family(kind);
  /* Objects of descriptors are one. */
  uint64_t key = family == HD_OBJ_IO || family == HD_OBJ_STREAM ? 1 : (hd__hash(addr + 1) ^ family << 56) | 2;
  uint32_t *at = hd__index_at(&b->object_of, key);
  if (!*at) {
    hd_vec_push(&b->object, ((struct object){0}));
    *at = (uint32_t)b->object.n;
  }
  return *at - 1;
}

/* ---- edges ---- */

#define BIT(effect) HD_EFFECT_BIT(HD_EFF_##effect)
#define LOCKING (BIT(ACQUIRE) | BIT(RELEASE) | BIT(SHARE) | BIT(UNSHARE))

/* Whether the order of the two effects on one object is kept. Sections of locks may move, and failed attempts with the
 * section that they saw (invariant 1). */
static bool keeps(unsigned a, unsigned b, bool lock) {
  uint64_t both = HD_EFFECT_BIT(a) | HD_EFFECT_BIT(b);
  if (lock && (both & LOCKING) && !(both & ~(LOCKING | BIT(LOOK) | BIT(LOOK_SHARED)))) return false;
  if (hd_conflicts[a] >> b & 1) return true;
  return (hd_effect_properties[a] & HD_EFF_GIVES) && (hd_effect_properties[b] & HD_EFF_SEES);
}

/* The event has an effect on the object. */
static void touch(struct builder *b, uint32_t object, uint32_t e, unsigned effect, bool lock) {
  struct object *o = &b->object.v[object];
  unsigned t = hd__thread(b->tr, e);
  struct touch *own = NULL;
  for (size_t i = 0; i < o->touch.n; i++) {
    struct touch *x = &o->touch.v[i];
    if (x->thread != t) {
      if (keeps(x->effect, effect, lock)) hd__edge(&b->edges, x->event, e);
    } else if (x->effect == effect) {
      own = x;
    }
  }
  if (own)
    own->event = e;
  else
    hd_vec_push(&o->touch, ((struct touch){e, (uint16_t)t, (uint8_t)effect}));
}

/* Everything keeps its order with this event (invariant 3). */
static void barrier(struct builder *b, uint32_t e) {
  for (unsigned t = 0; t < b->tr->nthreads; t++)
    if (t != hd__thread(b->tr, e)) hd__edge(&b->edges, b->thread[t].last, e);
  b->barrier = e;
}

/* ---- locks ---- */

/* The number of the set of locks that the thread holds now. */
static uint32_t set_of(struct builder *b, const struct thread *t) {
  struct hd__trace *tr = b->tr;
  uint64_t h = 0;
  for (size_t i = 0; i < t->hold.n; i++) {
    const struct hd__section *s = &tr->section.v[t->hold.v[i].section];
    h += hd__hash(((uint64_t)s->lock << 1 | s->shared) + 1);
  }
  uint32_t *at = hd__index_at(&b->set_of, h | 1ull << 63);
  if (!*at) {
    for (size_t i = 0; i < t->hold.n; i++) {
      const struct hd__section *s = &tr->section.v[t->hold.v[i].section];
      hd_vec_push(&tr->held_lock, s->lock << 1 | s->shared);
    }
    hd_vec_push(&tr->held_at, (uint32_t)tr->held_lock.n);
    *at = (uint32_t)tr->held_at.n - 1;
  }
  return *at - 1;
}

static void close_section(struct builder *b, uint32_t section, uint32_t e) {
  struct hd__section *s = &b->tr->section.v[section];
  struct thread *t = &b->thread[s->thread];
  s->release = e;
  b->tr->closes[e] = section + 1;
  for (size_t i = 0; i < t->hold.n; i++)
    if (t->hold.v[i].section == section) {
      memmove(&t->hold.v[i], &t->hold.v[i + 1], (t->hold.n - i - 1) * sizeof t->hold.v[0]);
      t->hold.n--;
      break;
    }
  for (size_t i = 0; i < b->open.n; i++)
    if (b->open.v[i] == section) {
      b->open.v[i] = b->open.v[--b->open.n];
      break;
    }
  t->set = set_of(b, t);
}

/* The open section of the lock that keeps this one out, HD__NONE: there is none. */
static uint32_t keeper(const struct builder *b, uint32_t lock, bool shared, unsigned but) {
  for (size_t i = 0; i < b->open.n; i++) {
    const struct hd__section *s = &b->tr->section.v[b->open.v[i]];
    if (s->lock == lock && !(s->shared && shared) && s->thread != but) return b->open.v[i];
  }
  return HD__NONE;
}

static int acquire(struct builder *b, uint32_t e, uint32_t lock, bool shared) {
  unsigned thread = hd__thread(b->tr, e);
  struct thread *t = &b->thread[thread];
  for (size_t i = 0; i < t->hold.n; i++) {
    const struct hd__section *s = &b->tr->section.v[t->hold.v[i].section];
    if (s->lock == lock && s->shared == shared) {
      t->hold.v[i].depth++; /* recursive */
      return HD_OK;
    }
  }
  uint32_t other = keeper(b, lock, shared, thread);
  if (other != HD__NONE) {
    /* A lock may outlive its holder: a robust mutex. */
    if (!b->thread[b->tr->section.v[other].thread].ended) {
      int rc = contradicts(b, e, "takes a lock that another thread holds");
      if (rc != HD_OK) return rc;
    }
    barrier(b, e);
    close_section(b, other, b->thread[b->tr->section.v[other].thread].last);
  }
  struct hd__section s = {e, HD__NONE, lock, (uint16_t)thread, shared};
  b->tr->opens[e] = (uint32_t)b->tr->section.n + 1;
  hd_vec_push(&t->hold, ((struct hold){(uint32_t)b->tr->section.n, 1}));
  hd_vec_push(&b->open, (uint32_t)b->tr->section.n);
  hd_vec_push(&b->tr->section, s);
  t->set = set_of(b, t);
  return HD_OK;
}

static int release(struct builder *b, uint32_t e, uint32_t lock, bool failed) {
  struct thread *t = &b->thread[hd__thread(b->tr, e)];
  for (size_t i = t->hold.n; i-- > 0;) {
    if (b->tr->section.v[t->hold.v[i].section].lock != lock) continue;
    if (--t->hold.v[i].depth == 0) close_section(b, t->hold.v[i].section, e);
    return HD_OK;
  }
  int rc = failed ? HD_OK : contradicts(b, e, "releases a lock that its thread does not hold");
  if (rc == HD_OK) barrier(b, e);
  return rc;
}

/* What one operation does to an object that is a lock. */
static int lock_effect(struct builder *b, uint32_t e, uint32_t object, unsigned effect) {
  struct object *o = &b->object.v[object];
  if (!o->lock) o->lock = ++b->tr->nlocks;
  uint32_t lock = o->lock - 1;
  unsigned does = hd_effect_properties[effect];
  touch(b, object, e, effect, true);
  if (does & HD_EFF_HOLDS) return acquire(b, e, lock, effect == HD_EFF_SHARE);
  if (does & HD_EFF_LETS_GO) return release(b, e, lock, b->tr->event[e].flags & HD_EV_FAILED);
  if (effect == HD_EFF_LOOK || effect == HD_EFF_LOOK_SHARED) {
    uint32_t by = keeper(b, lock, effect == HD_EFF_LOOK_SHARED, UINT16_MAX + 1u);
    if (by != HD__NONE) {
      hd_vec_push(&b->tr->look, ((struct hd__look){e, by}));
      if (b->tr->section.v[by].thread != hd__thread(b->tr, e))
        hd__edge(&b->edges, b->tr->section.v[by].acquire, e);
    } else {
      barrier(b, e); /* what it saw is unknown */
    }
  }
  return HD_OK;
}

/* ---- events ---- */

static bool is_lock(unsigned object) { return object == HD_OBJ_MUTEX || object == HD_OBJ_RWLOCK; }

static int effect_on(struct builder *b, uint32_t e, unsigned kind, uint64_t addr, unsigned effect) {
  struct thread *t = &b->thread[hd__thread(b->tr, e)];
  if (effect == HD_EFF_NONE || kind == HD_OBJ_MEMORY) return HD_OK;
  if (kind == HD_OBJ_NONE && effect != HD_EFF_RETURN) return HD_OK; /* AWAIT, END: see event() */
  if (effect == HD_EFF_RETURN) {
    if (!t->waits_on) return HD_OK;
    const struct object *o = &b->object.v[t->waits_on - 1];
    for (size_t i = 0; i < o->touch.n; i++) {
      const struct touch *x = &o->touch.v[i];
      uint64_t notifying = BIT(NOTIFY) | BIT(NOTIFY_ALL) | BIT(NOTIFY_SOME);
      if ((notifying >> x->effect & 1) && x->event > t->queued && x->thread != hd__thread(b->tr, e))
        hd__edge(&b->edges, x->event, e);
    }
    t->waits_on = 0;
    return HD_OK;
  }
  if (effect == HD_EFF_QUEUE && kind == HD_OBJ_COND && !hd__waits(b->tr, e)) return HD_OK;
  uint32_t object = object_at(b, kind, addr);
  if (effect == HD_EFF_QUEUE) {
    t->queued = e;
    t->waits_on = object + 1;
  }
  if (is_lock(kind)) return lock_effect(b, e, object, effect);
  touch(b, object, e, effect, false);
  return HD_OK;
}

/* A loop waits for a lock or semaphore: what it awaits may be at that address. */
static void await(struct builder *b, uint32_t e) {
  static const uint8_t kinds[] = {HD_OBJ_MUTEX, HD_OBJ_RWLOCK, HD_OBJ_SEM};
  for (unsigned i = 0; i < HD_AWAIT_PLACES; i++) {
    unsigned size;
    uint64_t addr = hd_await_place(&b->tr->event[e].op, i, &size);
    if (!size) return;
    for (size_t k = 0; k < sizeof kinds; k++) touch(b, object_at(b, kinds[k], addr), e, HD_EFF_AWAIT, false);
  }
}

static int event(struct builder *b, uint32_t e) {
  const struct hd_event *ev = &b->tr->event[e];
  const struct hd_op *op = &ev->op;
  const struct hd_op_info *info = &hd_op_table[op->kind];
  struct thread *t = &b->thread[op->thread];
  enum hd_effect first = hd_op_effect(op->kind, ev->flags), second = hd_op_second(op->kind, ev->flags);
  if (t->created != HD__NONE) {
    hd__edge(&b->edges, t->created, e);
    t->created = HD__NONE;
  }
  if (b->barrier != HD__NONE && t->barrier != b->barrier) {
    if (hd__thread(b->tr, b->barrier) != op->thread) hd__edge(&b->edges, b->barrier, e);
    t->barrier = b->barrier;
  }
  b->tr->held[e] = t->set;
  if (t->joined) {
    t->joined = false; /* one note is enough */
    int rc = contradicts(b, e, "comes after another thread has waited for the end of its thread");
    if (rc != HD_OK) return rc;
    barrier(b, e);
  }
  bool keeps_place = first == HD_EFF_INTERRUPT || first == HD_EFF_END || op->section != HD_SECTION_NONE ||
                     (ev->flags & HD_EV_STOP);
  if (keeps_place) barrier(b, e);
  if (first == HD_EFF_AWAIT) await(b, e);
  int rc = effect_on(b, e, info->first.object, op->object, first);
  if (rc == HD_OK) rc = effect_on(b, e, info->second.object, hd_op_second_object(op), second);
  if (first == HD_EFF_SPAWN && op->object < b->tr->nthreads && op->object != op->thread) {
    struct thread *child = &b->thread[op->object];
    if (child->last != HD__NONE && !child->ended) {
      rc = contradicts(b, e, "creates a thread that is running already");
      if (rc != HD_OK) return rc;
    }
    child->created = e;
    child->ended = child->joined = false;
  }
  bool sees_end = first == HD_EFF_JOIN || first == HD_EFF_FIND_ENDED;
  if (sees_end && op->object < b->tr->nthreads && op->object != op->thread) {
    hd__edge(&b->edges, b->thread[op->object].last, e);
    b->thread[op->object].joined = true;
  }
  if (first == HD_EFF_FINISH) t->ended = true;
  t->last = e;
  return rc;
}

/* ---- the whole ---- */

static void program_order(struct hd__trace *tr) {
  for (uint32_t e = 0; e < tr->n; e++) {
    unsigned t = tr->thread[e] = tr->event[e].op.thread;
    if (t >= tr->nthreads) tr->nthreads = t + 1;
  }
  tr->first = hd_alloc((tr->nthreads + 2) * sizeof *tr->first);
  for (uint32_t e = 0; e < tr->n; e++) tr->pos[e] = ++tr->first[hd__thread(tr, e) + 1];
  for (unsigned t = 0; t < tr->nthreads; t++) tr->first[t + 1] += tr->first[t];
  for (uint32_t e = 0; e < tr->n; e++) tr->at[tr->first[hd__thread(tr, e)] + tr->pos[e] - 1] = e;
}

static void sort_edges(struct hd__trace *tr, struct hd__edges *x) {
  tr->edge_at = hd_alloc(((size_t)tr->n + 2) * sizeof *tr->edge_at);
  tr->edge = hd_alloc((x->v.n + 1) * sizeof *tr->edge);
  tr->edge_source = hd_alloc((size_t)tr->n + 1);
  for (size_t i = 0; i < x->v.n; i++) {
    tr->edge_at[x->v.v[i].to + 1]++;
    tr->edge_source[x->v.v[i].from] = 1;
  }
  for (uint32_t e = 0; e < tr->n; e++) tr->edge_at[e + 1] += tr->edge_at[e];
  uint32_t *fill = hd_alloc(((size_t)tr->n + 1) * sizeof *fill);
  memcpy(fill, tr->edge_at, tr->n * sizeof *fill);
  for (size_t i = 0; i < x->v.n; i++) tr->edge[fill[x->v.v[i].to]++] = x->v.v[i].from;
  free(fill);
  hd_vec_free(&x->v);
}

int hd__trace_init(struct hd__trace *tr, const struct hd_event *ev, size_t n,
                   const struct hd_tr_tables *tables, bool lenient, struct hd_err *err) {
  *tr = (struct hd__trace){.event = ev, .tables = tables, .n = (uint32_t)n};
  if (n >= HD__NONE / 2)
    return hd_fail(err, HD_EUSAGE, "the trace has %zu events; at most %u can be analysed", n,
                   HD__NONE / 2 - 1);
  tr->thread = hd_alloc((n + 1) * sizeof *tr->thread);
  tr->pos = hd_alloc((n + 1) * sizeof *tr->pos);
  tr->at = hd_alloc((n + 1) * sizeof *tr->at);
  tr->opens = hd_alloc((n + 1) * sizeof *tr->opens);
  tr->closes = hd_alloc((n + 1) * sizeof *tr->closes);
  tr->held = hd_alloc((n + 1) * sizeof *tr->held);
  program_order(tr);
  struct builder b = {.tr = tr, .barrier = HD__NONE, .lenient = lenient, .err = err};
  b.thread = hd_alloc((tr->nthreads + 1) * sizeof *b.thread);
  hd_vec_push(&tr->held_at, 0);
  for (unsigned t = 0; t < tr->nthreads; t++) {
    b.thread[t].last = b.thread[t].created = b.thread[t].barrier = HD__NONE;
    b.thread[t].set = set_of(&b, &b.thread[t]);
  }
  int rc = HD_OK;
  for (uint32_t e = 0; e < tr->n && rc == HD_OK; e++) rc = event(&b, e);
  if (rc == HD_OK) rc = hd__trace_locations(tr, &b.edges, lenient, err);
  if (rc == HD_OK) sort_edges(tr, &b.edges);
  if (rc == HD_OK) hd__trace_decisions(tr);
  for (size_t i = 0; i < b.object.n; i++) hd_vec_free(&b.object.v[i].touch);
  for (unsigned t = 0; t < tr->nthreads; t++) hd_vec_free(&b.thread[t].hold);
  hd_vec_free(&b.object);
  hd_vec_free(&b.open);
  hd_vec_free(&b.edges.v);
  hd__index_fini(&b.object_of);
  hd__index_fini(&b.set_of);
  free(b.thread);
  if (rc != HD_OK) hd__trace_fini(tr);
  return rc;
}

void hd__trace_fini(struct hd__trace *tr) {
  free(tr->thread);
  free(tr->pos);
  free(tr->at);
  free(tr->first);
  free(tr->access_kind);
  free(tr->access_at);
  free(tr->access);
  free(tr->accessor);
  free(tr->opens);
  free(tr->closes);
  free(tr->held);
  free(tr->edge_at);
  free(tr->edge);
  free(tr->edge_source);
  free(tr->decides);
  hd_vec_free(&tr->location);
  hd_vec_free(&tr->section);
  hd_vec_free(&tr->held_lock);
  hd_vec_free(&tr->held_at);
  hd_vec_free(&tr->look);
  *tr = (struct hd__trace){0};
}

bool hd__held_common(const struct hd__trace *tr, uint32_t a, uint32_t b) {
  const uint32_t *at = tr->held_at.v, *lock = tr->held_lock.v;
  for (uint32_t i = at[a]; i < at[a + 1]; i++)
    for (uint32_t j = at[b]; j < at[b + 1]; j++)
      if (lock[i] >> 1 == lock[j] >> 1 && !(lock[i] & lock[j] & 1)) return true;
  return false;
}

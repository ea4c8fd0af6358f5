/* deadlock.c: deadlocks of other schedules: cycles in the order of locks. Runs in the supervisor.
 *
 * A dependency is a thread that waits for a lock while it holds others. Dependencies of different threads form a cycle when
 * each holds what the one before it waits for. A cycle is impossible when two of them hold a common lock (a guard), or when
 * one happens before another by creation, joining, barriers and wake-ups, which are thread segments (Agarwal et al.,
 * "Detection of deadlock potentials in multithreaded programs", IBM J. R&D 2010; Havelund, "Using runtime analysis to guide
 * model checking of Java programs", SPIN 2000). Locks that are shared by readers conflict with writers only.
 *
 * The order that leads to a cycle is the observed one, restricted to the events that its threads need before they wait
 * (Tunç, Mathur, Pavlogiannis, Viswanathan, "Sound Dynamic Deadlock Prediction in Linear Time", PLDI 2023: sync-preserving
 * deadlocks, section 3): closed under the order of each thread, what reads saw, and of two sections of a lock the whole
 * first one. If that needs an event at which a thread of the cycle shall wait, the cycle is only plausible: the order then
 * drops what reads saw, and last the order of sections.
 *
 * Differences from that paper: read locks; conditions, barriers and semaphores, whose operations keep their observed order;
 * each combination of places in the code is predicted once. */
#include "predict/deadlock.h"

#include <stdlib.h>
#include <string.h>

#define INSTANCES 4      /* of a dependency that are tried, with the same places, locks and segment */
#define STEPS (1u << 22) /* of the search for cycles */
#define NONE UINT32_MAX

/* A lock that is held: since which event, until which one. */
struct section {
  uint32_t acquire, release; /* events; release NONE: never */
  uint32_t lock;             /* number */
  uint32_t count;            /* while it is open: of a recursive lock */
  bool shared;
};

struct dependency {
  uint32_t event;
  uint16_t thread;
  bool shared; /* it waits for a read lock */
  uint32_t lock;
  uint32_t *held; /* sections; owned */
  uint32_t nheld;
  uint64_t hash; /* of all that makes it a different one */
};

/* A cycle that was found, by its places. */
struct cycle {
  uint64_t places;
  size_t prediction; /* entry plus 1; 0: none */
};

struct deadlocks {
  const struct hd_event *event;
  size_t n, nthreads;
  struct hd_predictions *out;
  struct hd_detector_stats *stats;
  uint32_t limit;
  double deadline;
  uint32_t *position; /* of each event in its thread */
  uint32_t **of;      /* events of each thread */
  uint32_t *count;    /* ... and how many */
  uint32_t *need;     /* of each event: one that it needs, plus 1; 0: none */
  uint32_t *clock;    /* [n of segments][nthreads] events of each thread that are before a segment begins */
  uint32_t *segment;  /* of each event */
  uint32_t nsegments;
  HD_VEC(uint64_t) lock; /* addresses, sorted: the entry is the number */
  HD_VEC(struct section) sections;
  HD_VEC(struct dependency) dependency;
  HD_VEC(struct cycle) seen;
  uint32_t chain[HD_MAX_THREADS]; /* dependencies */
  uint32_t length;
  uint64_t steps;
};

static uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15ull;
  return h ^ h >> 29;
}

static uint64_t pc_of(const struct hd_event *e) { return e->op.pc ? e->op.pc : e->place; }

/* ---- what each event needs ---- */

static bool is_lock(const struct hd_event *e) {
  return hd_op_does(e->op.kind, e->flags, HD_EFF_HOLDS | HD_EFF_LETS_GO);
}

/* Operations on semaphores and barriers need all earlier ones on the same object, which is a chain. */
struct last {
  uint64_t object;
  uint32_t event; /* plus 1 */
};

static void find_needs(struct deadlocks *d) {
  size_t cap = 1024, used = 0;
  while (cap < 2 * d->n) cap *= 2;
  struct last *last = hd_alloc(cap * sizeof *last);
  uint32_t *waits = hd_alloc(d->nthreads * sizeof *waits); /* the last wait of each thread, plus 1 */
  for (size_t i = 0; i < d->n; i++) {
    const struct hd_event *e = &d->event[i];
    unsigned kind = hd_op_object(e->op.kind), effect = hd_op_effect(e->op.kind, e->flags);
    bool wakes = hd_op_second(e->op.kind, e->flags) == HD_EFF_RETURN;
    if (hd_event_sees(e) && !is_lock(e) && e->from && e->from <= i) d->need[i] = e->from;
    bool chained = kind == HD_OBJ_SEM || kind == HD_OBJ_BARRIER || kind == HD_OBJ_COND;
    uint64_t object = e->op.object;
    if (effect == HD_EFF_QUEUE && kind == HD_OBJ_COND) waits[e->op.thread] = (uint32_t)i + 1;
    if (wakes && waits[e->op.thread]) { /* what has happened to its condition since */
      object = d->event[waits[e->op.thread] - 1].op.object;
      chained = true;
      waits[e->op.thread] = 0;
    }
    if (!chained || used * 2 > cap) continue;
    size_t k = (size_t)mix(1, object) & (cap - 1);
    while (last[k].event && last[k].object != object) k = (k + 1) & (cap - 1);
    if (!last[k].event) used++;
    if (last[k].event) d->need[i] = last[k].event;
    if (!wakes) last[k] = (struct last){object, (uint32_t)i + 1};
  }
  free(last);
  free(waits);
}

/* ---- thread segments ---- */

/* Whether nothing but `need` orders them: creation, joining, barriers, wake-ups. */
static bool hard(const struct hd_event *e) {
  unsigned effect = hd_op_effect(e->op.kind, e->flags);
  return effect == HD_EFF_BEGIN || effect == HD_EFF_JOIN || effect == HD_EFF_FIND_ENDED ||
         effect == HD_EFF_LEAVE || hd_op_second(e->op.kind, e->flags) == HD_EFF_RETURN;
}

/* A segment begins where a thread comes to know of others. */
static void find_segments(struct deadlocks *d) {
  size_t t = d->nthreads, cap = t + 1;
  uint32_t *now = hd_alloc(t * sizeof *now);
  for (size_t i = 0; i < d->n; i++) cap += d->need[i] && hard(&d->event[i]);
  d->clock = hd_alloc(cap * t * sizeof *d->clock);
  for (size_t i = 0; i < t; i++) now[i] = (uint32_t)i; /* each thread begins with a segment of its own */
  d->nsegments = (uint32_t)t;
  for (size_t i = 0; i < d->n; i++) {
    const struct hd_event *e = &d->event[i];
    if (d->need[i] && hard(e)) {
      uint32_t from = d->need[i] - 1, *c = d->clock + d->nsegments * t;
      const uint32_t *a = d->clock + now[e->op.thread] * t, *b = d->clock + d->segment[from] * t;
      for (size_t k = 0; k < t; k++) c[k] = a[k] > b[k] ? a[k] : b[k];
      unsigned other = d->event[from].op.thread;
      if (c[other] < d->position[from] + 1) c[other] = d->position[from] + 1;
      now[e->op.thread] = d->nsegments++;
    }
    d->segment[i] = now[e->op.thread];
  }
  free(now);
}

static bool before(const struct deadlocks *d, uint32_t a, uint32_t b) {
  return d->position[a] < d->clock[d->segment[b] * d->nthreads + d->event[a].op.thread];
}

/* ---- sections and dependencies ---- */

static int by_address(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void find_locks(struct deadlocks *d) {
  for (size_t i = 0; i < d->n; i++) {
    const struct hd_event *e = &d->event[i];
    if (hd_op_does(e->op.kind, e->flags, HD_EFF_HOLDS)) hd_vec_push(&d->lock, e->op.object);
  }
  size_t n = 0;
  if (d->lock.n) qsort(d->lock.v, d->lock.n, sizeof *d->lock.v, by_address);
  for (size_t i = 0; i < d->lock.n; i++)
    if (!i || d->lock.v[i] != d->lock.v[i - 1]) d->lock.v[n++] = d->lock.v[i];
  d->lock.n = n;
}

/* NONE: nobody ever acquired it. */
static uint32_t lock_number(const struct deadlocks *d, uint64_t address) {
  const uint64_t *at =
      d->lock.n ? bsearch(&address, d->lock.v, d->lock.n, sizeof *d->lock.v, by_address) : NULL;
  return at ? (uint32_t)(at - d->lock.v) : NONE;
}

/* Whether a thread may wait for the lock forever: the operation neither fails nor times out instead. */
static bool waits_forever(const struct hd_op *op) {
  return hd_op_is(op->kind, HD_TRAIT_WAITS) &&
         (!hd_op_is(op->kind, HD_TRAIT_TIMED) || hd_op_does(op->kind, HD_EV_FAILED, HD_EFF_HOLDS));
}

struct open {
  HD_VEC(uint32_t) v; /* sections of a thread */
};

static void acquire(struct deadlocks *d, struct open *o, uint32_t i, uint64_t address, bool shared) {
  uint32_t lock = lock_number(d, address);
  for (size_t k = 0; k < o->v.n; k++) {
    if (d->sections.v[o->v.v[k]].lock != lock) continue;
    d->sections.v[o->v.v[k]].count++;
    return;
  }
  const struct hd_op *op = &d->event[i].op;
  if (o->v.n && waits_forever(op)) {
    struct dependency one = {.event = i, .thread = op->thread, .shared = shared, .lock = lock};
    one.held = hd_alloc(o->v.n * sizeof *one.held);
    one.nheld = (uint32_t)o->v.n;
    one.hash = mix(mix(op->thread, pc_of(&d->event[i])), (uint64_t)lock << 1 | shared);
    for (size_t k = 0; k < o->v.n; k++) {
      one.held[k] = o->v.v[k];
      const struct section *s = &d->sections.v[one.held[k]];
      one.hash = mix(mix(one.hash, pc_of(&d->event[s->acquire])), (uint64_t)s->lock << 1 | s->shared);
    }
    one.hash = mix(one.hash, d->segment[i]);
    hd_vec_push(&d->dependency, one);
  }
  hd_vec_push(&d->sections, ((struct section){i, NONE, lock, 1, shared}));
  hd_vec_push(&o->v, (uint32_t)d->sections.n - 1);
}

static void release(struct deadlocks *d, struct open *o, uint32_t i, uint64_t address, bool whole) {
  uint32_t lock = lock_number(d, address);
  for (size_t k = 0; k < o->v.n; k++) {
    struct section *s = &d->sections.v[o->v.v[k]];
    if (s->lock != lock) continue;
    if (--s->count > 0 && !whole) return;
    s->release = i;
    o->v.v[k] = o->v.v[--o->v.n];
    return;
  }
}

static int by_hash(const void *a, const void *b) {
  const struct dependency *x = a, *y = b;
  if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
  return (x->event > y->event) - (x->event < y->event);
}

static int by_event(const void *a, const void *b) {
  const struct dependency *x = a, *y = b;
  return (x->event > y->event) - (x->event < y->event);
}

/* Keeps a few of the dependencies that differ in nothing but the time. */
static void thin_out(struct deadlocks *d) {
  size_t kept = 0, same = 0;
  if (d->dependency.n) qsort(d->dependency.v, d->dependency.n, sizeof *d->dependency.v, by_hash);
  for (size_t i = 0; i < d->dependency.n; i++) {
    same = i && d->dependency.v[i].hash == d->dependency.v[i - 1].hash ? same + 1 : 0;
    if (same < INSTANCES)
      d->dependency.v[kept++] = d->dependency.v[i];
    else
      free(d->dependency.v[i].held);
  }
  d->dependency.n = kept;
  if (kept) qsort(d->dependency.v, kept, sizeof *d->dependency.v, by_event);
}

static void find_dependencies(struct deadlocks *d) {
  struct open *open = hd_alloc(d->nthreads * sizeof *open);
  for (uint32_t i = 0; i < d->n; i++) {
    const struct hd_event *e = &d->event[i];
    struct open *o = &open[e->op.thread];
    enum hd_effect effect = hd_op_effect(e->op.kind, e->flags), second = hd_op_second(e->op.kind, e->flags);
    unsigned does = hd_effect_properties[effect];
    if (does & HD_EFF_HOLDS) acquire(d, o, i, e->op.object, effect == HD_EFF_SHARE);
    if (does & HD_EFF_LETS_GO) release(d, o, i, e->op.object, false);
    if (hd_effect_properties[second] & HD_EFF_LETS_GO) release(d, o, i, hd_op_second_object(&e->op), true);
  }
  for (size_t i = 0; i < d->nthreads; i++) hd_vec_free(&open[i].v);
  free(open);
  thin_out(d);
}

/* ---- the order that leads to a cycle ---- */

enum strictness { EVERYTHING, NO_READS, NO_SECTIONS, STRICTNESSES };

struct prefix {
  uint32_t *cut;  /* events of each thread that are included */
  uint32_t *done; /* ... whose needs are */
  bool changed, impossible;
};

static void include(const struct deadlocks *d, struct prefix *p, uint32_t event) {
  unsigned t = d->event[event].op.thread;
  if (p->cut[t] > d->position[event]) return;
  p->cut[t] = d->position[event] + 1;
  p->changed = true;
}

static bool included(const struct deadlocks *d, const struct prefix *p, uint32_t event) {
  return d->position[event] < p->cut[d->event[event].op.thread];
}

static void include_needs(const struct deadlocks *d, struct prefix *p, enum strictness how) {
  for (size_t t = 0; t < d->nthreads; t++)
    for (; p->done[t] < p->cut[t]; p->done[t]++) {
      uint32_t i = d->of[t][p->done[t]];
      bool reads = hd_op_object(d->event[i].op.kind) == HD_OBJ_MEMORY;
      if (d->need[i] && !(reads && how >= NO_READS)) include(d, p, d->need[i] - 1);
    }
}

/* Of two sections of a lock that are begun, the whole first one. */
static void include_sections(const struct deadlocks *d, struct prefix *p) {
  uint32_t *last =
      hd_alloc(2 * d->lock.n * sizeof *last); /* the last begun of each, exclusive and shared; plus 1 */
  for (uint32_t i = 0; i < d->sections.n; i++) {
    const struct section *s = &d->sections.v[i];
    if (included(d, p, s->acquire)) last[2 * s->lock + s->shared] = i + 1;
  }
  for (uint32_t i = 0; i < d->sections.n; i++) {
    const struct section *s = &d->sections.v[i];
    if (!included(d, p, s->acquire)) continue;
    uint32_t later = last[2 * s->lock];
    if (!s->shared && last[2 * s->lock + 1] > later) later = last[2 * s->lock + 1];
    if (later <= i + 1) continue;
    if (s->release == NONE)
      p->impossible = true;
    else
      include(d, p, s->release);
  }
  free(last);
}

/* The events before the cycle in `order`. Returns false when they contain one at which a thread of the cycle waits. */
static bool close_prefix(const struct deadlocks *d, enum strictness how, struct prefix *p) {
  memset(p->cut, 0, d->nthreads * sizeof *p->cut);
  memset(p->done, 0, d->nthreads * sizeof *p->done);
  p->impossible = false;
  for (uint32_t i = 0; i < d->length; i++) {
    const struct dependency *one = &d->dependency.v[d->chain[i]];
    p->cut[one->thread] = d->position[one->event];
  }
  do {
    p->changed = false;
    include_needs(d, p, how);
    if (how < NO_SECTIONS) include_sections(d, p);
  } while (p->changed && !p->impossible);
  for (uint32_t i = 0; i < d->length && !p->impossible; i++)
    p->impossible = included(d, p, d->dependency.v[d->chain[i]].event);
  return !p->impossible;
}

/* Whether a section is open when the cycle is reached. */
static bool stays_open(const struct deadlocks *d, const struct prefix *p, const struct section *s) {
  return included(d, p, s->acquire) && (s->release == NONE || !included(d, p, s->release));
}

/* Adds the events of the prefix: those from where a lock is taken for good come last, each thread's one after the other. */
static void put_order(const struct deadlocks *d, const struct prefix *p, enum strictness how,
                      struct hd_prediction *out) {
  uint32_t *last =
      hd_alloc(d->nthreads * sizeof *last); /* events of each thread before it takes such a lock */
  for (size_t t = 0; t < d->nthreads; t++) last[t] = p->cut[t];
  for (size_t i = 0; how == NO_SECTIONS && i < d->sections.n; i++) {
    const struct section *s = &d->sections.v[i];
    unsigned t = d->event[s->acquire].op.thread;
    if (stays_open(d, p, s) && d->position[s->acquire] < last[t]) last[t] = d->position[s->acquire];
  }
  for (int late = 0; late < 2; late++)
    for (uint32_t i = 0; i < d->n; i++) {
      unsigned t = d->event[i].op.thread;
      if (included(d, p, i) && (d->position[i] >= last[t]) == late) hd_vec_push(&out->order, i);
    }
  free(last);
}

/* ---- cycles ---- */

static bool conflicts(bool shared, const struct section *s) { return !shared || !s->shared; }

/* Whether the second dependency holds what the first waits for. */
static bool waits_for(const struct deadlocks *d, const struct dependency *a, const struct dependency *b) {
  for (uint32_t i = 0; i < b->nheld; i++) {
    const struct section *s = &d->sections.v[b->held[i]];
    if (s->lock == a->lock && conflicts(a->shared, s)) return true;
  }
  return false;
}

/* Whether both can be waited in at the same time. */
static bool concurrent(const struct deadlocks *d, const struct dependency *a, const struct dependency *b) {
  if (before(d, a->event, b->event) || before(d, b->event, a->event)) return false;
  for (uint32_t i = 0; i < a->nheld; i++)
    for (uint32_t k = 0; k < b->nheld; k++) {
      const struct section *x = &d->sections.v[a->held[i]], *y = &d->sections.v[b->held[k]];
      if (x->lock == y->lock && conflicts(x->shared, y)) return false;
    }
  return true;
}

/* A cycle by its places: the same whichever thread it begins with. */
static uint64_t places(const struct deadlocks *d) {
  uint64_t sum = d->length;
  for (uint32_t i = 0; i < d->length; i++) {
    const struct dependency *one = &d->dependency.v[d->chain[i]];
    uint64_t h = pc_of(&d->event[one->event]);
    for (uint32_t k = 0; k < one->nheld; k++)
      h += mix(3, pc_of(&d->event[d->sections.v[one->held[k]].acquire]));
    sum += mix(7, h);
  }
  return sum;
}

static struct cycle *cycle_of(struct deadlocks *d, uint64_t key) {
  for (size_t i = 0; i < d->seen.n; i++)
    if (d->seen.v[i].places == key) return &d->seen.v[i];
  return NULL;
}

static bool is_certain(const struct deadlocks *d, const struct cycle *c) {
  return c->prediction && d->out->v.v[c->prediction - 1].certainty == HD_CERTAIN;
}

/* The chain is a cycle. Of the same places, one that is certain is predicted rather than one that is not. */
static void found(struct deadlocks *d, struct prefix *p) {
  uint64_t key = places(d);
  struct cycle *c = cycle_of(d, key);
  bool fresh = !c;
  if (fresh) {
    d->stats->candidates++;
    hd_vec_push(&d->seen, ((struct cycle){key, 0}));
    c = &d->seen.v[d->seen.n - 1];
  }
  if (is_certain(d, c)) return;
  if (fresh && d->stats->predicted >= d->limit) {
    d->stats->skipped++;
    return;
  }
  int how = EVERYTHING;
  while (how < STRICTNESSES && !close_prefix(d, (enum strictness)how, p)) how++;
  d->stats->solved += fresh;
  if (how == STRICTNESSES || (c->prediction && how > EVERYTHING)) return;
  struct hd_prediction one = {.kind = HD_PREDICTED_DEADLOCK,
                              .certainty = how == EVERYTHING ? HD_CERTAIN : HD_PLAUSIBLE,
                              .detector = hd_detector_name[HD_DETECT_DEADLOCK]};
  for (uint32_t i = 0; i < d->length; i++) hd_vec_push(&one.event, d->dependency.v[d->chain[i]].event);
  put_order(d, p, (enum strictness)how, &one);
  if (c->prediction) {
    hd_prediction_fini(&d->out->v.v[c->prediction - 1]);
    d->out->v.v[c->prediction - 1] = one;
    return;
  }
  hd_vec_push(&d->out->v, one);
  c->prediction = d->out->v.n;
  d->stats->predicted++;
}

/* Extends the chain by every dependency that holds what its last one waits for. The first has the lowest thread. */
static void extend(struct deadlocks *d, struct prefix *p) {
  const struct dependency *first = &d->dependency.v[d->chain[0]],
                          *last = &d->dependency.v[d->chain[d->length - 1]];
  if (d->length > 1 && waits_for(d, last, first)) {
    found(d, p);
    return; /* a longer one through here contains this one */
  }
  for (uint32_t i = 0; i < d->dependency.n && d->length < HD_MAX_THREADS; i++) {
    const struct dependency *next = &d->dependency.v[i];
    if (next->thread <= first->thread || !waits_for(d, last, next)) continue;
    if (++d->steps > STEPS || (d->deadline > 0 && !(d->steps & 4095) && hd_now() > d->deadline)) return;
    bool fits = true;
    for (uint32_t k = 0; k < d->length && fits; k++) {
      const struct dependency *other = &d->dependency.v[d->chain[k]];
      fits = other->thread != next->thread && concurrent(d, other, next);
    }
    if (!fits) {
      d->stats->filtered++;
      continue;
    }
    d->chain[d->length++] = i;
    extend(d, p);
    d->length--;
  }
}

static void find_cycles(struct deadlocks *d) {
  struct prefix p = {.cut = hd_alloc(d->nthreads * sizeof *p.cut),
                     .done = hd_alloc(d->nthreads * sizeof *p.done)};
  for (uint32_t i = 0; i < d->dependency.n && d->steps <= STEPS; i++) {
    d->chain[0] = i;
    d->length = 1;
    extend(d, &p);
  }
  if (d->steps > STEPS) d->stats->skipped++;
  free(p.cut);
  free(p.done);
}

/* ---- all of it ---- */

static void list_events(struct deadlocks *d) {
  for (size_t i = 0; i < d->n; i++) d->position[i] = d->count[d->event[i].op.thread]++;
  for (size_t t = 0; t < d->nthreads; t++) d->of[t] = hd_alloc(d->count[t] * sizeof **d->of);
  for (uint32_t i = 0; i < d->n; i++) d->of[d->event[i].op.thread][d->position[i]] = i;
}

void hd__predict_deadlocks(const struct hd_event *event, size_t n, size_t nthreads, uint32_t limit,
                           double deadline, struct hd_predictions *out, struct hd_detector_stats *stats) {
  double began = hd_now();
  struct deadlocks *d = hd_alloc(sizeof *d);
  *d = (struct deadlocks){.event = event,
                          .n = n,
                          .nthreads = nthreads,
                          .out = out,
                          .stats = stats,
                          .limit = limit ? limit : UINT32_MAX,
                          .deadline = deadline,
                          .position = hd_alloc(n * sizeof *d->position),
                          .of = hd_alloc(nthreads * sizeof *d->of),
                          .count = hd_alloc(nthreads * sizeof *d->count),
                          .need = hd_alloc(n * sizeof *d->need),
                          .segment = hd_alloc(n * sizeof *d->segment)};
  list_events(d);
  find_needs(d);
  find_segments(d);
  find_locks(d);
  find_dependencies(d);
  find_cycles(d);
  for (size_t t = 0; t < nthreads; t++) free(d->of[t]);
  for (size_t i = 0; i < d->dependency.n; i++) free(d->dependency.v[i].held);
  hd_vec_free(&d->dependency);
  hd_vec_free(&d->sections);
  hd_vec_free(&d->lock);
  hd_vec_free(&d->seen);
  free(d->position);
  free(d->of);
  free(d->count);
  free(d->need);
  free(d->segment);
  free(d->clock);
  free(d);
  stats->seconds += hd_now() - began;
}

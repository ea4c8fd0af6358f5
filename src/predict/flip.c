/* flip.c: conflicting accesses in another order than the observed one, whatever reads see then. Runs in the supervisor.
 *
 * The other detectors keep what every read saw, and so miss most failures that come from what a read sees. Here only the
 * edges are kept, and locks as far as they are held by the threads in question. What is predicted is plausible, no more: the
 * execution decides. Patterns, each a few times for a combination of places in the code:
 *
 *   order      x of one thread came before y of another: y comes first
 *   atomicity  y comes between two accesses of another thread to the same location that follow each other there, and
 *              the three are not serialisable (Lu, Tucek, Qin, Zhou, "AVIO: Detecting Atomicity Violations via Access
 *              Interleaving Invariants", ASPLOS 2006, table 1)
 *
 * Those of locks, semaphores and signals are in flip_sync.c.
 *
 * The order is the observed one up to where one thread is stopped; then the other thread goes on alone, with what it needs
 * by edges, to its access and until it has released the locks that both need. */
#include "predict/flip.h"

#include <stdlib.h>
#include <string.h>

#define SAME 6      /* of them, of one place */
#define INSTANCES 4 /* of a combination of places, by different threads */
#define DEPTH 500   /* of needs that have needs */

/* ---- orders ---- */

/* Whether the edge is the outcome of an operation that another order may change: an order that cannot keep it goes
 * without. */
static bool may_change(const struct hd__trace *tr, uint32_t from, uint32_t to) {
  if (hd__may_miss(tr, from, to)) return true;
  const struct hd_event *a = &tr->event[from], *b = &tr->event[to];
  if (a->op.object != b->op.object) return false;
  if (hd__flip_is_turn(tr, from, to)) return true;
  enum hd_effect first = hd_op_effect(a->op.kind, a->flags), then = hd_op_effect(b->op.kind, b->flags);
  if (then == HD_EFF_TAKE) return first == HD_EFF_TAKE || first == HD_EFF_POST;
  return hd_op_is(b->op.kind, HD_TRAIT_TRIES) && (then == HD_EFF_LOOK || then == HD_EFF_LOOK_SHARED);
}

bool hd__flip_advance(struct flips *f, unsigned t, uint32_t to, unsigned depth) {
  const struct hd__trace *tr = f->tr;
  if (to > f->limit[t] || depth > DEPTH) return false;
  while (f->at[t] < to) {
    uint32_t e = hd__nth(tr, t, f->at[t] + 1);
    for (uint32_t i = tr->edge_at[e]; i < tr->edge_at[e + 1]; i++) {
      uint32_t from = tr->edge[i];
      unsigned of = hd__thread(tr, from);
      if (hd__in_ideal(tr, f->at, from) || hd__may_miss(tr, from, e)) continue;
      if (tr->pos[from] > f->limit[of] && may_change(tr, from, e)) continue;
      if (of == t || !hd__flip_advance(f, of, tr->pos[from], depth + 1)) return false;
    }
    if (f->at[t] >= to) break; /* what it needed has needed it */
    hd_vec_push(&f->order, e);
    f->at[t]++;
  }
  return true;
}

bool hd__flip_follow(struct flips *f, uint32_t upto) {
  const struct hd__trace *tr = f->tr;
  for (uint32_t e = 0; e <= upto; e++) {
    unsigned t = hd__thread(tr, e);
    if (tr->pos[e] <= f->limit[t] && !hd__in_ideal(tr, f->at, e) && !hd__flip_advance(f, t, tr->pos[e], 0))
      f->limit[t] = f->at[t]; /* it needs one that is stopped */
  }
  return true;
}

void hd__flip_start(struct flips *f) {
  memset(f->at, 0, (f->tr->nthreads + 1) * sizeof *f->at);
  for (unsigned t = 0; t < f->tr->nthreads; t++) f->limit[t] = hd__length(f->tr, t);
  f->order.n = 0;
}

/* The position where the thread of `e` has done it and holds no lock that `other` is executed with; 0: it holds one
 * until `last`. */
static uint32_t released(const struct flips *f, uint32_t e, uint32_t other, uint32_t last) {
  const struct hd__trace *tr = f->tr;
  unsigned t = hd__thread(tr, e);
  for (uint32_t pos = tr->pos[e]; pos < last; pos++)
    if (pos == hd__length(tr, t) || !hd__held_common(tr, tr->held[hd__nth(tr, t, pos + 1)], tr->held[other]))
      return pos;
  return 0;
}

/* The last position of the thread of `e` before it where it holds no such lock. */
static uint32_t not_begun(const struct flips *f, uint32_t e, uint32_t other) {
  const struct hd__trace *tr = f->tr;
  unsigned t = hd__thread(tr, e);
  uint32_t pos = tr->pos[e];
  while (pos > 1 && hd__held_common(tr, tr->held[hd__nth(tr, t, pos)], tr->held[other])) pos--;
  return pos - 1;
}

bool hd__flip_is_new(struct flips *f, uint64_t key) {
  uint32_t *seen = hd__index_at(&f->seen, key | 1);
  if (*seen == INSTANCES) return false;
  ++*seen;
  f->stats->candidates++;
  bool fits = f->stats->predicted < f->run->o->limit && hd_now() < f->run->deadline;
  f->stats->skipped += !fits;
  return fits;
}

void hd__flip_predict(struct flips *f, enum hd_predicted kind, const uint32_t *event, size_t n) {
  struct hd_prediction p = {.kind = kind,
                            .certainty = HD_PLAUSIBLE,
                            .detector = hd_detector_name[HD_DETECT_FLIP],
                            .late = (uint32_t)n - 1};
  for (size_t i = 0; i < f->order.n; i++) hd_vec_push(&p.order, f->order.v[i]);
  for (size_t i = 0; i < n; i++) hd_vec_push(&p.event, event[i]);
  hd_vec_push(&f->run->out->v, p);
  f->stats->predicted++;
}

void hd__flip_outcome(struct flips *f, uint32_t e, uint32_t choice) {
  f->stats->solved++;
  hd__flip_start(f);
  for (uint32_t i = 0; i < e; i++) hd_vec_push(&f->order, i);
  hd__flip_predict(f, HD_PREDICTED_OUTCOME, &e, 1);
  f->run->out->v.v[f->run->out->v.n - 1].outcome = choice;
}

/* ---- order: y before x ---- */

/* Adds y with what it needs, and all until then without x. Returns false if y needs x. */
static bool put_first(struct flips *f, uint32_t x, uint32_t y) {
  const struct hd__trace *tr = f->tr;
  unsigned tx = hd__thread(tr, x), ty = hd__thread(tr, y);
  f->stats->solved++;
  hd__flip_start(f);
  f->limit[tx] = not_begun(f, x, y);
  hd__flip_follow(f, x);
  uint32_t until = released(f, y, x, hd__length(tr, ty) + 1);
  return until && hd__flip_advance(f, ty, until, 0);
}

void hd__flip_order(struct flips *f, uint32_t x, uint32_t y) {
  const struct hd__trace *tr = f->tr;
  unsigned tx = hd__thread(tr, x);
  if (!put_first(f, x, y)) return;
  /* The thread comes to x at the end, if nothing is in between that another thread would have to do. */
  f->limit[tx] = tr->pos[x] - 1;
  if (!hd__flip_advance(f, tx, tr->pos[x] - 1, 0)) return;
  hd__flip_predict(f, HD_PREDICTED_ORDER, (const uint32_t[]){y, x}, 2);
}

void hd__flip_turn(struct flips *f, uint32_t x, uint32_t y) {
  if (put_first(f, x, y)) hd__flip_predict(f, HD_PREDICTED_ORDER, (const uint32_t[]){y, x}, 2);
}

static void flip_classes(struct flips *f, const struct class *a, const struct class *b) {
  unsigned kinds = a->kind | b->kind;
  if (a->thread == b->thread || !(kinds & HD__WRITES) || (kinds & (HD__AWAITS | HD__FREES))) return;
  if (a->first >= b->last) return;
  uint32_t y = b->first > a->first ? b->first : b->last;
  if (hd__ordered(&f->hard, a->first, y)) {
    f->stats->filtered++;
    return;
  }
  if (hd__flip_is_new(f, hd__hash(a->place) + 3 * hd__hash(b->place))) hd__flip_order(f, a->first, y);
}

/* ---- atomicity: y between two of another thread ---- */

static bool unserialisable(const struct hd__trace *tr, uint32_t a, uint32_t y, uint32_t b) {
  unsigned first = tr->access_kind[a], middle = tr->access_kind[y], last = tr->access_kind[b];
  if ((first | middle | last) & (HD__AWAITS | HD__FREES)) return false;
  return (middle & HD__WRITES) || ((first & HD__WRITES) && (last & HD__WRITES));
}

static void intervene(struct flips *f, const uint32_t *pair, uint32_t y) {
  const struct hd__trace *tr = f->tr;
  unsigned t = hd__thread(tr, pair[0]), ty = hd__thread(tr, y);
  bool early = y < pair[0];
  f->stats->solved++;
  uint32_t stop = released(f, pair[0], y, tr->pos[pair[1]]);
  if (!stop) return;
  hd__flip_start(f);
  f->limit[t] = stop;
  if (early) f->limit[ty] = not_begun(f, y, pair[0]);
  hd__flip_follow(f, early ? y : pair[0]);
  if (!hd__flip_advance(f, t, stop, 0)) return;
  f->limit[ty] = hd__length(tr, ty);
  uint32_t until = released(f, y, pair[1], hd__length(tr, ty) + 1);
  if (!until || !hd__flip_advance(f, ty, until, 0)) return;
  f->limit[t] = tr->pos[pair[1]] - 1;
  if (!hd__flip_advance(f, t, tr->pos[pair[1]] - 1, 0)) return;
  hd__flip_predict(f, HD_PREDICTED_ATOMICITY, (const uint32_t[]){pair[0], y, pair[1]}, 3);
}

static void intervene_class(struct flips *f, const struct pair *p, const struct class *c) {
  if (p->thread == c->thread) return;
  uint32_t y = c->first > p->event[1] ? c->first : c->last;
  if ((y > p->event[0] && y < p->event[1]) || !unserialisable(f->tr, p->event[0], y, p->event[1])) return;
  if (hd__ordered(&f->hard, y, p->event[0]) || hd__ordered(&f->hard, p->event[1], y)) {
    f->stats->filtered++;
    return;
  }
  uint64_t key = hd__hash(p->place[0]) + 5 * hd__hash(p->place[1]) + 7 * hd__hash(c->place);
  if (hd__flip_is_new(f, key * 2 + (y < p->event[0]))) intervene(f, p->event, y);
}

/* ---- locations ---- */

static void add_access(struct flips *f, uint32_t e, uint32_t location) {
  uint64_t place = hd__place_of(f->tr, e, location);
  uint16_t t = (uint16_t)hd__thread(f->tr, e);
  unsigned i = 0, same = 0;
  for (; i < f->nclasses && (f->class[i].place != place || f->class[i].thread != t); i++)
    same += f->class[i].place == place;
  if (i == CLASSES || (i == f->nclasses && same == SAME)) return;
  if (i == f->nclasses) f->class[f->nclasses++] = (struct class){place, t, f->tr->access_kind[e], e, e};
  f->class[i].last = e;
}

static void add_pair(struct flips *f, uint32_t a, uint32_t b, uint32_t location) {
  struct pair p = {{hd__place_of(f->tr, a, location), hd__place_of(f->tr, b, location)},
                   (uint16_t)hd__thread(f->tr, a),
                   {a, b}};
  unsigned same = 0;
  for (unsigned i = 0; i < f->npairs; i++) {
    if (memcmp(f->pair[i].place, p.place, sizeof p.place) != 0) continue;
    if (f->pair[i].thread == p.thread || ++same == SAME) return;
  }
  if (f->npairs < CLASSES) f->pair[f->npairs++] = p;
}

static void look_at(struct flips *f, uint32_t location, uint32_t *last) {
  const struct hd__location *l = &f->tr->location.v[location];
  f->nclasses = f->npairs = 0;
  memset(last, 0, (f->tr->nthreads + 1) * sizeof *last);
  for (uint32_t i = l->first; i < l->first + l->n; i++) {
    uint32_t e = f->tr->accessor[i], *before = &last[hd__thread(f->tr, e)];
    add_access(f, e, location);
    if (*before && *before - 1 != e) add_pair(f, *before - 1, e, location);
    *before = e + 1;
  }
  for (unsigned i = 0; i < f->npairs; i++)
    for (unsigned k = 0; k < f->nclasses; k++) intervene_class(f, &f->pair[i], &f->class[k]);
  for (unsigned i = 0; i < f->nclasses; i++)
    for (unsigned k = 0; k < f->nclasses; k++) flip_classes(f, &f->class[i], &f -> class[k]);
}

void hd__detect_flips(struct hd__run *r) {
  double began = hd_now();
  const struct hd__trace *tr = r->tr;
  struct flips *f = hd_alloc(sizeof *f);
  *f = (struct flips){.run = r,
                      .tr = tr,
                      .stats = &r->stats->detector[HD_DETECT_FLIP],
                      .at = hd_alloc((tr->nthreads + 1) * sizeof *f->at),
                      .limit = hd_alloc((tr->nthreads + 1) * sizeof *f->limit)};
  uint32_t *last = hd_alloc((tr->nthreads + 1) * sizeof *last);
  hd__clocks_init(&f->hard, tr, 0);
  hd__flip_sync(f);
  for (uint32_t i = 0; i < tr->location.n; i++) look_at(f, i, last);
  hd__clocks_fini(&f->hard);
  hd__index_fini(&f->seen);
  hd_vec_free(&f->order);
  free(f->at);
  free(f->limit);
  free(last);
  f->stats->seconds += hd_now() - began;
  free(f);
}

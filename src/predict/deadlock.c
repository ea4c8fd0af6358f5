/* deadlock.c: deadlocks of other schedules: cycles in the order of locks. Runs in the supervisor.
 *
 * A dependency is a thread that waits for a lock while it holds others. Dependencies of different threads form a cycle when
 * each holds what the one before it waits for. A cycle is impossible when two of them hold a common lock (a guard), or when
 * one comes before another in every reordering, by creation, joining and waiting, which separate threads into segments
 * (Agarwal et al., "Detection of deadlock potentials in multithreaded programs", IBM J. R&D 2010). Locks that are shared by
 * readers conflict with writers only.
 *
 * The order that leads to a cycle is the observed one, restricted to the smallest ideal that has the events before the
 * cycle's and is closed under edges, what reads saw, and of two sections of a lock the whole first one (Tunç, Mathur,
 * Pavlogiannis, Viswanathan, "Sound Dynamic Deadlock Prediction in Linear Time", PLDI 2023, section 3: sync-preserving
 * deadlocks). If that contains an event of the cycle, the cycle is only plausible: its ideal drops what reads saw, and
 * last the order of sections.
 *
 * A cycle that the end of the process does not wait for is plausible, too.
 *
 * Difference from that paper: cycles are enumerated with a few instances of each dependency, not with all; each combination
 * of places in the code is predicted once. */
#include "predict/predict_int.h"

#include <stdlib.h>
#include <string.h>

#define INSTANCES 4      /* of a dependency that are tried, with the same places, locks and segment */
#define STEPS (1u << 22) /* of the search for cycles */
#define LONGEST 64       /* threads of a cycle */

struct dependency {
  uint32_t event;
  uint16_t thread;
  uint32_t section; /* that the event begins: what it waits for */
  uint32_t *held;   /* sections; owned */
  uint32_t nheld;
  uint64_t hash; /* of all that makes it a different one */
};

/* A cycle that was found, by its places. */
struct cycle {
  uint64_t places;
  size_t prediction; /* entry plus 1; 0: none */
};

struct deadlocks {
  struct hd__run *run;
  const struct hd__trace *tr;
  struct hd_detector_stats *stats;
  struct hd__clocks segments;
  HD_VEC(struct dependency) dependency;
  HD_VEC(struct cycle) seen;
  uint32_t chain[LONGEST]; /* dependencies */
  uint32_t length;
  uint32_t *ideal, *looked; /* [thread] of the cycle; how much of it has been looked at */
  uint32_t *
      needed; /* [thread] what comes before the end of the process in any case; NULL: that is not in the trace */
  uint32_t *last; /* [lock] the last section of the ideal, exclusive and shared; plus 1 */
  bool grown;
  uint64_t steps;
};

/* ---- dependencies ---- */

static uint64_t place(const struct deadlocks *d, uint32_t e) { return hd__place_of(d->tr, e, 0); }

struct open {
  HD_VEC(uint32_t) v; /* sections of a thread */
};

static void add_dependency(struct deadlocks *d, const struct open *o, uint32_t e) {
  const struct hd__section *s = d->tr->section.v;
  struct dependency one = {.event = e,
                           .thread = d->tr->event[e].op.thread,
                           .section = d->tr->opens[e] - 1,
                           .held = hd_alloc(o->v.n * sizeof *one.held),
                           .nheld = (uint32_t)o->v.n};
  one.hash =
      hd__hash(place(d, e) + one.thread) + hd__hash(2ull * s[one.section].lock + s[one.section].shared);
  for (size_t i = 0; i < o->v.n; i++) {
    uint32_t k = one.held[i] = o->v.v[i];
    one.hash += hd__hash(place(d, s[k].acquire) * 31 + 2ull * s[k].lock + s[k].shared);
  }
  one.hash += hd__hash((uint64_t)d->segments.row[e] << 32);
  hd_vec_push(&d->dependency, one);
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
  uint64_t last = 0;
  if (d->dependency.n) qsort(d->dependency.v, d->dependency.n, sizeof *d->dependency.v, by_hash);
  for (size_t i = 0; i < d->dependency.n; i++) {
    same = i && d->dependency.v[i].hash == last ? same + 1 : 0;
    last = d->dependency.v[i].hash;
    if (same < INSTANCES)
      d->dependency.v[kept++] = d->dependency.v[i];
    else
      free(d->dependency.v[i].held);
  }
  d->dependency.n = kept;
  if (kept) qsort(d->dependency.v, kept, sizeof *d->dependency.v, by_event);
}

static void find_dependencies(struct deadlocks *d) {
  const struct hd__trace *tr = d->tr;
  struct open *open = hd_alloc((tr->nthreads + 1) * sizeof *open);
  for (uint32_t e = 0; e < tr->n; e++) {
    struct open *o = &open[hd__thread(tr, e)];
    for (size_t i = 0; tr->closes[e] && i < o->v.n; i++)
      if (o->v.v[i] == tr->closes[e] - 1) o->v.v[i--] = o->v.v[--o->v.n];
    if (!tr->opens[e]) continue;
    if (o->v.n && hd_op_waits_forever(tr->event[e].op.kind)) add_dependency(d, o, e);
    hd_vec_push(&o->v, tr->opens[e] - 1);
  }
  for (unsigned t = 0; t < tr->nthreads; t++) hd_vec_free(&open[t].v);
  free(open);
  thin_out(d);
}

/* ---- the ideal that leads to a cycle ---- */

enum strictness { EVERYTHING, NO_READS, NO_SECTIONS, STRICTNESSES };

static void include(struct deadlocks *d, uint32_t e) {
  uint32_t *of = &d->ideal[hd__thread(d->tr, e)];
  if (*of >= d->tr->pos[e]) return;
  *of = d->tr->pos[e];
  d->grown = true;
}

static void include_needs(struct deadlocks *d, enum strictness how) {
  const struct hd__trace *tr = d->tr;
  for (unsigned t = 0; t < tr->nthreads; t++)
    for (; d->looked[t] < d->ideal[t]; d->looked[t]++) {
      uint32_t e = hd__nth(tr, t, d->looked[t] + 1);
      for (uint32_t i = tr->edge_at[e]; i < tr->edge_at[e + 1]; i++) include(d, tr->edge[i]);
      bool reads = how == EVERYTHING && (tr->access_kind[e] & (HD__READS | HD__AWAITS));
      for (uint32_t i = tr->access_at[e]; reads && i < tr->access_at[e + 1]; i++)
        if (tr->access[i].from != HD__NONE) include(d, tr->access[i].from);
    }
}

/* Of two sections of a lock that are begun, the whole first one. Returns false when that is never released. */
static bool include_sections(struct deadlocks *d) {
  const struct hd__trace *tr = d->tr;
  memset(d->last, 0, 2 * (tr->nlocks + 1) * sizeof *d->last);
  for (uint32_t i = 0; i < tr->section.n; i++) {
    const struct hd__section *s = &tr->section.v[i];
    if (hd__in_ideal(tr, d->ideal, s->acquire)) d->last[2 * s->lock + s->shared] = i + 1;
  }
  for (uint32_t i = 0; i < tr->section.n; i++) {
    const struct hd__section *s = &tr->section.v[i];
    if (!hd__in_ideal(tr, d->ideal, s->acquire)) continue;
    uint32_t later = d->last[2 * s->lock];
    if (!s->shared && d->last[2 * s->lock + 1] > later) later = d->last[2 * s->lock + 1];
    if (later <= i + 1) continue;
    if (s->release == HD__NONE) return false;
    include(d, s->release);
  }
  return true;
}

/* Returns false when the ideal contains an event of the cycle. */
static bool close_ideal(struct deadlocks *d, enum strictness how) {
  const struct hd__trace *tr = d->tr;
  memset(d->ideal, 0, (tr->nthreads + 1) * sizeof *d->ideal);
  memset(d->looked, 0, (tr->nthreads + 1) * sizeof *d->looked);
  for (uint32_t i = 0; i < d->length; i++) {
    const struct dependency *one = &d->dependency.v[d->chain[i]];
    d->ideal[one->thread] = tr->pos[one->event] - 1;
  }
  do {
    d->grown = false;
    include_needs(d, how);
    if (how < NO_SECTIONS && !include_sections(d)) return false;
  } while (d->grown);
  for (uint32_t i = 0; i < d->length; i++)
    if (hd__in_ideal(tr, d->ideal, d->dependency.v[d->chain[i]].event)) return false;
  return true;
}

/* Moves what comes after the last locks of the cycle's threads to the end: nobody else needs these locks then. */
static void put_holders_last(struct deadlocks *d, struct hd_prediction *p) {
  const struct hd__trace *tr = d->tr;
  uint32_t *from = d->looked, n = 0; /* [thread] position from which its events are late */
  for (unsigned t = 0; t < tr->nthreads; t++) from[t] = UINT32_MAX;
  for (uint32_t i = 0; i < d->length; i++) {
    const struct dependency *one = &d->dependency.v[d->chain[i]];
    for (uint32_t k = 0; k < one->nheld; k++) {
      uint32_t at = tr->pos[tr->section.v[one->held[k]].acquire];
      if (at < from[one->thread]) from[one->thread] = at;
    }
  }
  uint32_t *order = hd_alloc(p->order.n * sizeof *order);
  for (int late = 0; late < 2; late++)
    for (size_t i = 0; i < p->order.n; i++) {
      uint32_t e = p->order.v[i];
      if ((tr->pos[e] >= from[hd__thread(tr, e)]) == late) order[n++] = e;
    }
  memcpy(p->order.v, order, n * sizeof *order);
  free(order);
}

/* ---- the end of the process ---- */

/* Whether the event may come without what it came after: it gives up, or finds something else. */
static bool may_go_on(const struct deadlocks *d, uint32_t e) {
  unsigned kind = d->tr->event[e].op.kind;
  return hd_op_is(kind, HD_TRAIT_TIMED) || hd_op_is(kind, HD_TRAIT_TRIES);
}

/* Fills in what the end of the process waits for: joins, and so on. */
static void find_needed(struct deadlocks *d) {
  const struct hd__trace *tr = d->tr;
  uint32_t end = tr->n;
  while (end > 0 && hd_op_effect(tr->event[end - 1].op.kind, tr->event[end - 1].flags) != HD_EFF_END) end--;
  if (!end) return;
  d->needed = hd_alloc((tr->nthreads + 1) * sizeof *d->needed);
  d->needed[hd__thread(tr, end - 1)] = tr->pos[end - 1];
  for (uint32_t e = end; e-- > 0;) { /* edges come from events before */
    if (!hd__in_ideal(tr, d->needed, e) || may_go_on(d, e)) continue;
    if (hd_op_effect(tr->event[e].op.kind, tr->event[e].flags) == HD_EFF_END)
      continue; /* it keeps its place, no more */
    for (uint32_t i = tr->edge_at[e]; i < tr->edge_at[e + 1]; i++) {
      uint32_t *of = &d->needed[hd__thread(tr, tr->edge[i])];
      if (*of < tr->pos[tr->edge[i]]) *of = tr->pos[tr->edge[i]];
    }
  }
}

/* Whether the process can end although the threads of the cycle wait: then nobody sees a deadlock. */
static bool may_end(const struct deadlocks *d) {
  for (uint32_t i = 0; d->needed && i < d->length; i++)
    if (hd__in_ideal(d->tr, d->needed, d->dependency.v[d->chain[i]].event)) return false;
  return d->needed != NULL;
}

/* ---- cycles ---- */

static bool conflict(const struct hd__section *a, const struct hd__section *b) {
  return a->lock == b->lock && !(a->shared && b->shared);
}

/* Whether the second dependency holds what the first waits for. */
static bool waits_for(const struct deadlocks *d, const struct dependency *a, const struct dependency *b) {
  const struct hd__section *s = d->tr->section.v;
  for (uint32_t i = 0; i < b->nheld; i++)
    if (conflict(&s[a->section], &s[b->held[i]])) return true;
  return false;
}

/* Whether both threads can wait at the same time. */
static bool concurrent(const struct deadlocks *d, const struct dependency *a, const struct dependency *b) {
  const struct hd__section *s = d->tr->section.v;
  if (hd__ordered(&d->segments, a->event, b->event) || hd__ordered(&d->segments, b->event, a->event))
    return false;
  for (uint32_t i = 0; i < a->nheld; i++)
    for (uint32_t k = 0; k < b->nheld; k++)
      if (conflict(&s[a->held[i]], &s[b->held[k]])) return false;
  return true;
}

/* The same whichever thread the cycle begins with. */
static uint64_t places(const struct deadlocks *d) {
  uint64_t sum = d->length;
  for (uint32_t i = 0; i < d->length; i++) {
    const struct dependency *one = &d->dependency.v[d->chain[i]];
    uint64_t h = place(d, one->event);
    for (uint32_t k = 0; k < one->nheld; k++) h += hd__hash(place(d, d->tr->section.v[one->held[k]].acquire));
    sum += hd__hash(h);
  }
  return sum;
}

static struct cycle *cycle_of(struct deadlocks *d, uint64_t key) {
  for (size_t i = 0; i < d->seen.n; i++)
    if (d->seen.v[i].places == key) return &d->seen.v[i];
  d->stats->candidates++;
  hd_vec_push(&d->seen, ((struct cycle){key, 0}));
  return &d->seen.v[d->seen.n - 1];
}

/* Adds the prediction of the chain, or replaces `old` by it. */
static void predict(struct deadlocks *d, enum strictness how, struct hd_prediction *old) {
  uint32_t event[LONGEST], broken = 0;
  for (uint32_t i = 0; i < d->length; i++) event[i] = d->dependency.v[d->chain[i]].event;
  struct hd_prediction *p =
      hd__predict_ideal(d->run, HD_DETECT_DEADLOCK, HD_PREDICTED_DEADLOCK, event, d->length, d->ideal);
  if (how == NO_SECTIONS) put_holders_last(d, p);
  bool valid = hd__order_valid(d->tr, p->order.v, p->order.n, NULL, 0, &broken);
  p->certainty = valid && !broken && !may_end(d) ? HD_CERTAIN : HD_PLAUSIBLE;
  p->broken = broken;
  if (!old) return;
  struct hd_prediction one = *p;
  d->run->out->v.n--;
  d->stats->predicted--;
  hd_prediction_fini(old);
  *old = one;
}

/* The chain is a cycle. Of the same places, one that is certain is predicted rather than one that is not. */
static void found(struct deadlocks *d) {
  struct hd_predictions *out = d->run->out;
  size_t known = d->seen.n;
  struct cycle *c = cycle_of(d, places(d));
  bool fresh = d->seen.n > known;
  if (c->prediction && out->v.v[c->prediction - 1].certainty == HD_CERTAIN) return;
  if (fresh && d->stats->predicted >= d->run->o->limit) {
    d->stats->skipped++;
    return;
  }
  int how = EVERYTHING;
  while (how < STRICTNESSES && !close_ideal(d, (enum strictness)how)) how++;
  d->stats->solved += fresh;
  if (how == STRICTNESSES || (c->prediction && how > EVERYTHING)) return;
  size_t at = c->prediction;
  if (!at) c->prediction = out->v.n + 1;
  predict(d, (enum strictness)how, at ? &out->v.v[at - 1] : NULL);
}

/* Extends the chain by every dependency that holds what its last one waits for. The first has the lowest thread. */
static void extend(struct deadlocks *d) {
  const struct dependency *first = &d->dependency.v[d->chain[0]],
                          *last = &d->dependency.v[d->chain[d->length - 1]];
  if (d->length > 1 && waits_for(d, last, first)) {
    found(d);
    return; /* a longer one through here contains this one */
  }
  for (uint32_t i = 0; i < d->dependency.n && d->length < LONGEST; i++) {
    const struct dependency *next = &d->dependency.v[i];
    if (next->thread <= first->thread || !waits_for(d, last, next)) continue;
    if (++d->steps > STEPS) return;
    if (!(d->steps & 4095) && hd_now() > d->run->deadline) d->steps = STEPS;
    bool fits = true;
    for (uint32_t k = 0; k < d->length && fits; k++) {
      const struct dependency *other = &d->dependency.v[d->chain[k]];
      fits = other->thread != next->thread && concurrent(d, other, next);
    }
    d->stats->filtered += !fits;
    if (!fits) continue;
    d->chain[d->length++] = i;
    extend(d);
    d->length--;
  }
}

void hd__detect_deadlocks(struct hd__run *r) {
  double began = hd_now();
  const struct hd__trace *tr = r->tr;
  struct deadlocks d = {.run = r,
                        .tr = tr,
                        .stats = &r->stats->detector[HD_DETECT_DEADLOCK],
                        .ideal = hd_alloc((tr->nthreads + 1) * sizeof *d.ideal),
                        .looked = hd_alloc((tr->nthreads + 1) * sizeof *d.looked),
                        .last = hd_alloc(2 * (tr->nlocks + 1) * sizeof *d.last)};
  hd__clocks_init(&d.segments, tr, 0);
  find_needed(&d);
  find_dependencies(&d);
  for (uint32_t i = 0; i < d.dependency.n && d.steps <= STEPS; i++) {
    d.chain[0] = i;
    d.length = 1;
    extend(&d);
  }
  d.stats->skipped += d.steps > STEPS;
  hd__clocks_fini(&d.segments);
  for (size_t i = 0; i < d.dependency.n; i++) free(d.dependency.v[i].held);
  hd_vec_free(&d.dependency);
  hd_vec_free(&d.seen);
  free(d.ideal);
  free(d.looked);
  free(d.needed);
  free(d.last);
  d.stats->seconds += hd_now() - began;
}

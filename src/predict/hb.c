/* hb.c: races by happens-before, and by schedulable happens-before. Runs in the supervisor.
 *
 * hb   FastTrack (Flanagan and Freund, PLDI 2009): per location the last write and the last reads as epochs. Only the
 *      first race of a trace is certain; a later one may need that a read sees another value.
 * shb  the same with an edge from each write to the reads that saw it (Mathur, Kini and Viswanathan, "What happens-after
 *      the first race?", OOPSLA 2018): every race is certain.
 *
 * Differences: synchronisation through atomics follows C11; clocks are kept for all events, so that an epoch is an event;
 * each pair of places is reported once. */
#include "predict/predict_int.h"

#include <stdlib.h>
#include <string.h>

struct cell {
  uint32_t write;  /* last write plus 1 */
  uint32_t read;   /* last read plus 1, while one is enough */
  uint32_t *reads; /* [thread] last reads plus 1, or NULL */
};

struct detector {
  struct hd__run *run;
  enum hd_detector d;
  struct hd__clocks clocks, schedulable;
  struct hd__index seen; /* pairs of places */
  uint32_t *ideal;
};

/* Everything that must come before the event can be next: what is before it in its thread, and its edges. */
static void add_enabling(const struct hd__clocks *c, uint32_t *ideal, uint32_t e) {
  uint32_t before = hd__before(c->tr, e);
  if (before != HD__NONE) hd__ideal_add(c, ideal, before);
  for (uint32_t i = c->tr->edge_at[e]; i < c->tr->edge_at[e + 1]; i++)
    hd__ideal_add(c, ideal, c->tr->edge[i]);
}

/* Whether a comes before what enables b. */
static bool before_enabling(const struct hd__clocks *c, uint32_t a, uint32_t b) {
  uint32_t before = hd__before(c->tr, b);
  if (before != HD__NONE && hd__ordered(c, a, before)) return true;
  for (uint32_t i = c->tr->edge_at[b]; i < c->tr->edge_at[b + 1]; i++)
    if (hd__ordered(c, a, c->tr->edge[i])) return true;
  return false;
}

static void race(struct detector *x, uint32_t a, uint32_t b) {
  const struct hd__trace *tr = x->run->tr;
  struct hd_detector_stats *st = &x->run->stats->detector[x->d];
  uint32_t pair[2] = {a, b};
  if (hd__run_full(x->run, x->d)) {
    st->skipped++;
    return;
  }
  bool certain = x->d == HD_DETECT_SHB || !before_enabling(&x->schedulable, a, b);
  const struct hd__clocks *by = x->d == HD_DETECT_SHB || !certain ? &x->clocks : &x->schedulable;
  memset(x->ideal, 0, tr->nthreads * sizeof *x->ideal);
  add_enabling(by, x->ideal, a);
  add_enabling(by, x->ideal, b);
  struct hd_prediction *p = hd__predict_ideal(x->run, x->d, HD_PREDICTED_RACE, pair, 2, x->ideal);
  if (certain) return;
  hd__order_valid(tr, p->order.v, p->order.n, pair, 2, &p->broken);
  p->certainty = p->broken ? HD_PLAUSIBLE : HD_CERTAIN;
}

static void compare(struct detector *x, uint32_t earlier, uint32_t e, uint32_t location) {
  const struct hd__trace *tr = x->run->tr;
  if (!earlier-- || !hd__conflict(tr, earlier, e)) return;
  struct hd_detector_stats *st = &x->run->stats->detector[x->d];
  uint64_t pa = hd__place_of(tr, earlier, location), pb = hd__place_of(tr, e, location);
  uint32_t *seen = hd__index_at(&x->seen, hd__place_pair(pa, pb));
  if (*seen == 2) return;
  if (!*seen) {
    *seen = 1;
    st->candidates++;
  }
  if (before_enabling(&x->clocks, earlier, e)) return;
  *seen = 2;
  race(x, earlier, e);
}

static void access(struct detector *x, struct cell *c, uint32_t e, uint32_t location) {
  const struct hd__trace *tr = x->run->tr;
  unsigned kind = tr->access_kind[e], t = hd__thread(tr, e);
  compare(x, c->write, e, location);
  if (kind & HD__WRITES) {
    compare(x, c->read, e, location);
    for (unsigned u = 0; c->reads && u < tr->nthreads; u++) compare(x, c->reads[u], e, location);
    c->write = e + 1;
    c->read = 0;
    free(c->reads);
    c->reads = NULL;
  } else if (c->reads) {
    c->reads[t] = e + 1;
  } else if (!c->read || hd__thread(tr, c->read - 1) == t || hd__ordered(&x->clocks, c->read - 1, e)) {
    c->read = e + 1;
  } else {
    c->reads = hd_alloc(tr->nthreads * sizeof *c->reads);
    c->reads[hd__thread(tr, c->read - 1)] = c->read;
    c->reads[t] = e + 1;
    c->read = 0;
  }
}

void hd__detect_hb(struct hd__run *r, enum hd_detector d) {
  const struct hd__trace *tr = r->tr;
  struct hd_detector_stats *st = &r->stats->detector[d];
  double start = hd_now();
  struct detector x = {.run = r, .d = d, .ideal = hd_alloc((tr->nthreads + 1) * sizeof(uint32_t))};
  struct cell *cell = hd_alloc((tr->location.n + 1) * sizeof *cell);
  unsigned schedulable = HD__BY_READS | HD__BY_LOCKS;
  hd__clocks_init(&x.clocks, tr, d == HD_DETECT_SHB ? schedulable : HD__BY_LOCKS | HD__BY_ATOMICS);
  if (d != HD_DETECT_SHB) hd__clocks_init(&x.schedulable, tr, schedulable);
  for (uint32_t e = 0; e < tr->n; e++)
    for (uint32_t i = tr->access_at[e]; i < tr->access_at[e + 1]; i++)
      access(&x, &cell[tr->access[i].location], e, tr->access[i].location);
  for (size_t i = 0; i < tr->location.n; i++) free(cell[i].reads);
  st->solved = st->candidates;
  free(cell);
  free(x.ideal);
  hd__index_fini(&x.seen);
  hd__clocks_fini(&x.clocks);
  hd__clocks_fini(&x.schedulable);
  st->seconds += hd_now() - start;
}

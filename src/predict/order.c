/* order.c: the wanted order of a prediction, and the check that an order is what it claims. Runs in the supervisor. */
#include "predict/predict_int.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ENTRIES (1u << 28) /* 1 GiB of orders */

bool hd__run_full(const struct hd__run *r, enum hd_detector d) {
  return r->stats->detector[d].predicted >= r->o->limit || r->entries >= MOST_ENTRIES ||
         hd_now() > r->deadline;
}

struct hd_prediction *hd__predict_ideal(struct hd__run *r, enum hd_detector d, enum hd_predicted kind,
                                        const uint32_t *event, size_t nevents, const uint32_t *ideal) {
  const struct hd__trace *tr = r->tr;
  struct hd_prediction p = {.kind = kind, .detector = hd_detector_name[d]};
  uint32_t last = 0;
  for (unsigned t = 0; t < tr->nthreads; t++)
    if (ideal[t] && hd__nth(tr, t, ideal[t]) >= last) last = hd__nth(tr, t, ideal[t]) + 1;
  for (uint32_t e = 0; e < last; e++)
    if (hd__in_ideal(tr, ideal, e)) hd_vec_push(&p.order, e);
  for (size_t i = 0; i < nevents; i++) hd_vec_push(&p.event, event[i]);
  r->entries += p.order.n;
  hd_vec_push(&r->out->v, p);
  r->stats->detector[d].predicted++;
  return &r->out->v.v[r->out->v.n - 1];
}

/* ---- checking ---- */

struct check {
  const struct hd__trace *tr;
  uint32_t *done;       /* [thread] events executed */
  uint32_t *writer;     /* [location] last writer plus 1 */
  uint32_t *excl;       /* [lock] its exclusive sections that are open */
  uint32_t *shared;     /* [lock] the shared ones */
  const uint32_t *next; /* what comes after the sequence */
  size_t nnext;
  uint32_t broken;
};

const struct hd__look *hd__look_of(const struct hd__trace *tr, uint32_t e) {
  size_t lo = 0, hi = tr->look.n;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (tr->look.v[mid].event < e)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < tr->look.n && tr->look.v[lo].event == e ? &tr->look.v[lo] : NULL;
}

static bool done(const struct check *c, uint32_t e) { return hd__in_ideal(c->tr, c->done, e); }

static bool is_missed(const struct check *c, uint32_t wait, uint32_t signal) {
  for (size_t i = 0; i < c->nnext; i++)
    if (c->next[i] == wait) return hd__may_miss(c->tr, wait, signal);
  return false;
}

/* Whether the thread may execute the event now; what it reads is no matter. */
static bool enabled(const struct check *c, uint32_t e) {
  const struct hd__trace *tr = c->tr;
  if (tr->pos[e] != c->done[hd__thread(tr, e)] + 1) return false;
  for (uint32_t i = tr->edge_at[e]; i < tr->edge_at[e + 1]; i++)
    if (!done(c, tr->edge[i]) && !is_missed(c, tr->edge[i], e)) return false;
  if (tr->opens[e]) {
    const struct hd__section *s = &tr->section.v[tr->opens[e] - 1];
    if (c->excl[s->lock] || (!s->shared && c->shared[s->lock])) return false;
  }
  const struct hd__look *l = hd__look_of(tr, e);
  if (l) {
    const struct hd__section *s = &tr->section.v[l->section];
    if (!done(c, s->acquire) || (s->release != HD__NONE && done(c, s->release))) return false;
  }
  return true;
}

static void read_in_order(struct check *c, uint32_t e, const struct hd__access *a) {
  const struct hd__trace *tr = c->tr;
  uint32_t now = c->writer[a->location] ? c->writer[a->location] - 1 : HD__NONE;
  uint64_t saw, sees;
  if (now == a->from) return;
  const struct hd__location *l = &tr->location.v[a->location];
  bool known = hd__value_read(tr, e, a->location, &saw);
  bool same = now == HD__NONE ? l->init_known && (sees = l->init, true)
                              : hd__value_written(tr, now, a->location, &sees);
  if (!known || !same || saw != sees) c->broken++;
}

static void execute(struct check *c, uint32_t e) {
  const struct hd__trace *tr = c->tr;
  for (uint32_t i = tr->access_at[e]; i < tr->access_at[e + 1]; i++) {
    if (tr->access_kind[e] & (HD__READS | HD__AWAITS)) read_in_order(c, e, &tr->access[i]);
    if (tr->access_kind[e] & HD__WRITES) c->writer[tr->access[i].location] = e + 1;
  }
  for (int opening = 0; opening < 2; opening++) {
    uint32_t at = opening ? tr->opens[e] : tr->closes[e];
    if (!at) continue;
    const struct hd__section *s = &tr->section.v[at - 1];
    *(s->shared ? &c->shared[s->lock] : &c->excl[s->lock]) += opening ? 1 : UINT32_MAX;
  }
  c->done[hd__thread(tr, e)]++;
}

bool hd__order_valid(const struct hd__trace *tr, const uint32_t *order, size_t n, const uint32_t *next,
                     size_t nnext, uint32_t *broken) {
  struct check c = {.tr = tr,
                    .next = next,
                    .nnext = nnext,
                    .done = hd_alloc((tr->nthreads + 1) * sizeof(uint32_t)),
                    .writer = hd_alloc((tr->location.n + 1) * sizeof(uint32_t)),
                    .excl = hd_alloc((tr->nlocks + 1) * sizeof(uint32_t)),
                    .shared = hd_alloc((tr->nlocks + 1) * sizeof(uint32_t))};
  bool valid = true;
  for (size_t i = 0; i < n && valid; i++) {
    valid = order[i] < tr->n && enabled(&c, order[i]);
    if (valid) execute(&c, order[i]);
  }
  for (size_t i = 0; i < nnext && valid; i++) valid = enabled(&c, next[i]);
  *broken = c.broken;
  free(c.done);
  free(c.writer);
  free(c.excl);
  free(c.shared);
  return valid;
}

/* clocks.c: vector clocks of all events, by several relations. Runs in the supervisor.
 *
 * An event's row changes only where an order with another thread adds something, so most events share one with the event
 * before them in their thread. */
#include "predict/predict_int.h"

#include <stdlib.h>
#include <string.h>

/* C11's synchronisation through atomic locations. */
struct fence {
  uint32_t *released, *pending; /* by a release fence; seen by relaxed reads, for an acquire fence */
};

struct state {
  struct hd__clocks *c;
  const struct hd__trace *tr;
  unsigned T, by;
  uint32_t **now;            /* [thread] */
  uint32_t *last_row;        /* [thread] */
  uint32_t *released;        /* [lock][exclusive, shared][thread] */
  uint32_t **sync;           /* [location] what an acquire there comes after, or NULL */
  struct fence *fence;       /* [thread] */
  struct accessed *accessed; /* [location] */
  bool grown;                /* `now` of the current thread is more than its last row */
};

static void join(struct state *s, unsigned t, const uint32_t *other) {
  uint32_t *now = s->now[t];
  for (unsigned u = 0; u < s->T; u++)
    if (u != t && other[u] > now[u]) {
      now[u] = other[u];
      s->grown = true;
    }
}

static void join_into(uint32_t *to, const uint32_t *from, unsigned n) {
  for (unsigned u = 0; u < n; u++)
    if (from[u] > to[u]) to[u] = from[u];
}

static void join_event(struct state *s, unsigned t, uint32_t e) {
  unsigned u = hd__thread(s->tr, e);
  if (u == t || s->tr->pos[e] <= s->now[t][u]) return;
  join(s, t, hd__row(s->c, e));
  s->now[t][u] = s->tr->pos[e];
  s->grown = true;
}

static uint32_t *zeros(unsigned n) { return hd_alloc(n * sizeof(uint32_t)); }

static void atomics(struct state *s, unsigned t, uint32_t e) {
  const struct hd_event *ev = &s->tr->event[e];
  unsigned order = hd_op_is(ev->op.kind, HD_TRAIT_ATOMIC) ? ev->op.access.order : HD_MO_NONE;
  unsigned kind = s->tr->access_kind[e];
  if (kind & HD__AWAITS) order = HD_MO_ACQUIRE;
  bool acquires =
      order == HD_MO_ACQUIRE || order == HD_MO_CONSUME || order == HD_MO_ACQ_REL || order == HD_MO_SEQ_CST;
  bool releases = order == HD_MO_RELEASE || order == HD_MO_ACQ_REL || order == HD_MO_SEQ_CST;
  struct fence *f = &s->fence[t];
  if (!kind) {
    if (order == HD_MO_NONE || hd_op_object(ev->op.kind) != HD_OBJ_NONE) return;
    if (acquires && f->pending) join(s, t, f->pending);
    if (releases) {
      if (!f->released) f->released = zeros(s->T);
      memcpy(f->released, s->now[t], s->T * sizeof(uint32_t));
    }
    return;
  }
  for (uint32_t i = s->tr->access_at[e]; i < s->tr->access_at[e + 1]; i++) {
    uint32_t **sync = &s->sync[s->tr->access[i].location];
    if ((kind & HD__READS) && *sync && order != HD_MO_NONE) {
      if (acquires) {
        join(s, t, *sync);
      } else {
        if (!f->pending) f->pending = zeros(s->T);
        join_into(f->pending, *sync, s->T);
      }
    }
    if (!(kind & HD__WRITES)) continue;
    const uint32_t *gives = releases ? s->now[t] : f->released && order != HD_MO_NONE ? f->released : NULL;
    if (*sync && !(kind & HD__READS)) memset(*sync, 0, s->T * sizeof(uint32_t));
    if (!gives) continue;
    if (!*sync) *sync = zeros(s->T);
    join_into(*sync, gives, s->T);
  }
}

/* Per location the last write, and the last read of each thread since. */
struct accessed {
  uint32_t write; /* plus 1 */
  HD_VEC(uint32_t) reads;
};

static void conflicts(struct state *s, unsigned t, uint32_t e) {
  const struct hd__trace *tr = s->tr;
  for (uint32_t i = tr->access_at[e]; i < tr->access_at[e + 1]; i++) {
    struct accessed *a = &s->accessed[tr->access[i].location];
    if (a->write) join_event(s, t, a->write - 1);
    if (tr->access_kind[e] & HD__WRITES) {
      for (size_t k = 0; k < a->reads.n; k++) join_event(s, t, a->reads.v[k]);
      a->reads.n = 0;
      a->write = e + 1;
      continue;
    }
    size_t k = 0;
    while (k < a->reads.n && hd__thread(tr, a->reads.v[k]) != t) k++;
    if (k < a->reads.n)
      a->reads.v[k] = e;
    else
      hd_vec_push(&a->reads, e);
  }
}

static void one(struct state *s, uint32_t e) {
  const struct hd__trace *tr = s->tr;
  unsigned t = hd__thread(tr, e);
  s->now[t][t] = tr->pos[e];
  s->grown = tr->pos[e] == 1;
  for (uint32_t i = tr->edge_at[e]; i < tr->edge_at[e + 1]; i++) join_event(s, t, tr->edge[i]);
  if (s->by & HD__BY_READS)
    for (uint32_t i = tr->access_at[e]; i < tr->access_at[e + 1]; i++)
      if (tr->access[i].from != HD__NONE) join_event(s, t, tr->access[i].from);
  if ((s->by & HD__BY_LOCKS) && tr->opens[e]) {
    const struct hd__section *x = &tr->section.v[tr->opens[e] - 1];
    uint32_t *r = s->released + (size_t)x->lock * 2 * s->T;
    join(s, t, r);
    if (!x->shared) join(s, t, r + s->T);
  }
  if (s->by & HD__BY_ATOMICS) atomics(s, t, e);
  if (s->by & HD__BY_CONFLICTS) conflicts(s, t, e);
  if (s->grown) {
    size_t at = s->c->v.n;
    s->c->v.v = hd_vec_grow(s->c->v.v, &s->c->v.cap, at + s->T, sizeof *s->c->v.v);
    memcpy(s->c->v.v + at, s->now[t], s->T * sizeof(uint32_t));
    s->c->v.n += s->T;
    s->last_row[t] = (uint32_t)(at / s->T);
  }
  s->c->row[e] = s->last_row[t];
  if ((s->by & HD__BY_LOCKS) && tr->closes[e]) {
    const struct hd__section *x = &tr->section.v[tr->closes[e] - 1];
    join_into(s->released + (size_t)x->lock * 2 * s->T + (x->shared ? s->T : 0), s->now[t], s->T);
  }
}

void hd__clocks_init(struct hd__clocks *c, const struct hd__trace *tr, unsigned by) {
  unsigned T = tr->nthreads ? tr->nthreads : 1;
  *c = (struct hd__clocks){.tr = tr};
  c->row = hd_alloc(((size_t)tr->n + 1) * sizeof *c->row);
  struct state s = {.c = c, .tr = tr, .T = T, .by = by};
  s.now = hd_alloc(T * sizeof *s.now);
  s.last_row = hd_alloc(T * sizeof *s.last_row);
  s.fence = hd_alloc(T * sizeof *s.fence);
  for (unsigned t = 0; t < T; t++) s.now[t] = zeros(T);
  s.released = hd_alloc(((size_t)tr->nlocks * 2 * T + 1) * sizeof *s.released);
  s.sync = hd_alloc((tr->location.n + 1) * sizeof *s.sync);
  s.accessed = hd_alloc((tr->location.n + 1) * sizeof *s.accessed);
  for (uint32_t e = 0; e < tr->n; e++) one(&s, e);
  for (unsigned t = 0; t < T; t++) {
    free(s.now[t]);
    free(s.fence[t].released);
    free(s.fence[t].pending);
  }
  for (size_t i = 0; i < tr->location.n; i++) {
    free(s.sync[i]);
    hd_vec_free(&s.accessed[i].reads);
  }
  free(s.accessed);
  free(s.now);
  free(s.last_row);
  free(s.fence);
  free(s.released);
  free(s.sync);
}

void hd__clocks_fini(struct hd__clocks *c) {
  free(c->row);
  hd_vec_free(&c->v);
}

uint32_t *hd__ideal_up_to(const struct hd__trace *tr, uint32_t end) {
  uint32_t *ideal = hd_alloc((tr->nthreads + 1) * sizeof *ideal);
  for (unsigned t = 0; t < tr->nthreads; t++) {
    uint32_t lo = 0, hi = hd__length(tr, t);
    while (lo < hi) {
      uint32_t mid = lo + (hi - lo) / 2;
      if (hd__nth(tr, t, mid + 1) < end)
        lo = mid + 1;
      else
        hi = mid;
    }
    ideal[t] = lo;
  }
  return ideal;
}

void hd__between(const struct hd__trace *tr, const uint32_t *done, const uint32_t *upto, uint32_t *lo,
                 uint32_t *hi) {
  *lo = tr->n;
  *hi = 0;
  for (unsigned t = 0; t < tr->nthreads; t++) {
    uint32_t end = done[t] > upto[t] ? done[t] : upto[t];
    if (end && hd__nth(tr, t, end) >= *hi) *hi = hd__nth(tr, t, end) + 1;
    if (done[t] < upto[t] && hd__nth(tr, t, done[t] + 1) < *lo) *lo = hd__nth(tr, t, done[t] + 1);
  }
  if (*lo > *hi) *lo = *hi;
}

void hd__ideal_add(const struct hd__clocks *c, uint32_t *ideal, uint32_t e) {
  unsigned t = hd__thread(c->tr, e);
  join_into(ideal, hd__row(c, e), c->tr->nthreads);
  if (c->tr->pos[e] > ideal[t]) ideal[t] = c->tr->pos[e];
}

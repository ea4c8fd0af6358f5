/* null.c: null pointers and indices out of range that another thread reads, memory that another thread uses after it was
 * freed, or before it was set. Runs in the supervisor.
 *
 * After segment.c's thesis: pairs of a write of null and a read of a pointer at the same place (or a free and an access
 * of the block), of two threads, such that the second may come after the first. Filters: creation and joining, locks.
 * The part of the trace that matters is solved first with every read as observed, then with as few other values as
 * possible, up to a limit; those runs may not exist, so they are only plausible.
 *
 * By the same means: a read that comes before the first write of a location, of a pointer, or of memory without a name, which
 * nobody else has set; and the read of an index, another value of which was written. What an index is, is a guess: a small
 * number, read just before an access of its thread. One is out of range if it is negative, or much greater than all
 * others that were read there.
 *
 * Differences: a section may be open when the second event comes, by any thread; pruning does not change which
 * constraints bind (encode.c, invariant 3). The planner knows only reads as observed. */
#include "predict/encode.h"
#include "predict/plan.h"

#include <stdlib.h>
#include <string.h>

#define NEAR 1000   /* accesses of the location, before and after the first of two, that are looked at */
#define TRIES 4     /* pairs of events for one pair of places */
#define LOWEST 4096 /* smaller values are not pointers */
#define WIDEST 8    /* windows: a part that is larger is left out */

struct search {
  struct hd__run *run;
  enum hd_detector d;
  struct hd__clocks must, causal;
  uint32_t *lambda, *rho;
  struct hd__index tried; /* pairs of places: tries, or FOUND */
  struct hd_err *err;
};

#define FOUND 1000u

struct pair {
  enum hd_predicted kind;
  uint32_t e, f;     /* f after e; UNSET: f before e and all other writes of the location */
  uint32_t location; /* that f reads from e; FREED: HD__NONE, no matter what it reads */
};

static bool is_before(struct pair p) { return p.kind == HD_PREDICTED_UNSET; }

/* f is next, e was before it, and f reads what e wrote. */
static bool ask(struct hd__encoding *x, struct pair p) {
  const struct hd__trace *tr = x->tr;
  hd_term f = x->time[p.f - x->lo];
  hd_smt_require(x->smt, hd_smt_less(x->smt, f, x->now, 0));
  hd_smt_require(x->smt, hd_smt_less(x->smt, x->now, f, 0));
  if (!is_before(p)) {
    hd_smt_require(x->smt, hd__included(x, p.e));
    hd_smt_require(x->smt, hd__kept(x, p.e, p.location != HD__NONE));
  }
  hd_smt_require(x->smt, hd__kept(x, p.f, false));
  if (p.location == HD__NONE) return true;
  HD_VEC(uint32_t) write = {0};
  uint32_t to = hd__accessor_from(tr, p.location, x->hi);
  for (uint32_t i = hd__accessor_from(tr, p.location, x->lo); i < to; i++) {
    uint32_t w = tr->accessor[i];
    if ((tr->access_kind[w] & HD__WRITES) && w >= x->lo && w < x->hi && x->time[w - x->lo])
      hd_vec_push(&write, w);
  }
  hd_term t = hd__coupled(x, p.f, is_before(p) ? HD__NONE : p.e, write.v, write.n);
  hd_vec_free(&write);
  if (t) hd_smt_require(x->smt, t);
  return t != 0;
}

static struct hd_prediction prediction(const struct search *s, struct pair p) {
  struct hd_prediction out = {
      .kind = p.kind, .detector = hd_detector_name[s->d], .late = is_before(p) ? 0 : 1};
  hd_vec_push(&out.event, is_before(p) ? p.f : p.e);
  hd_vec_push(&out.event, is_before(p) ? p.e : p.f);
  return out;
}

static bool answer(struct search *s, struct hd__encoding *x, struct pair p) {
  struct hd_prediction out = prediction(s, p);
  hd__model_order(x, hd_smt_value(x->smt, x->now), &p.f, 1, &out);
  if (!hd__order_valid(x->tr, out.order.v, out.order.n, &p.f, 1, &out.broken)) {
    hd_prediction_fini(&out);
    return false;
  }
  out.certainty = hd__certainty(out.broken);
  s->run->entries += out.order.n;
  hd_vec_push(&s->run->out->v, out);
  s->run->stats->detector[s->d].predicted++;
  return true;
}

static enum hd_smt_answer by_planner(struct search *s, struct pair p, bool keep) {
  struct hd__goal goal = {{p.f}, 1, is_before(p) ? HD__NONE : p.e, p.location, HD__NONE};
  struct hd_prediction out = prediction(s, p);
  return hd__plan_query(s->run, s->d, s->lambda, s->rho, &goal, &out, keep);
}

/* With at most so many other values, fewest first. */
static int by_solver(struct search *s, struct pair p, bool relaxed, enum hd_smt_answer *out) {
  struct hd__encoding x;
  int rc = hd__encoding_init(&x, s->run, &s->must, HD__PREFIX, s->lambda, s->rho, relaxed, s->err);
  *out = HD_SMT_UNSAT;
  unsigned most = relaxed ? s->run->o->relax : 0;
  if (rc == HD_OK && ask(&x, p))
    for (unsigned k = relaxed; k <= most && *out == HD_SMT_UNSAT; k++) {
      hd_smt_push(x.smt);
      if (relaxed) hd_smt_require(x.smt, hd_smt_at_most(x.smt, x.broken.v, x.broken.n, k));
      *out = hd_smt_check(x.smt, s->run->o->query_seconds);
      if (*out == HD_SMT_SAT && !answer(s, &x, p)) *out = HD_SMT_UNKNOWN;
      hd_smt_pop(x.smt);
    }
  hd__encoding_fini(&x);
  return rc;
}

/* With every read as observed. */
static int solve(struct search *s, struct pair p, enum hd_smt_answer *out) {
  int rc = HD_OK;
  *out = hd__plans_first(s->run) ? by_planner(s, p, true) : HD_SMT_UNKNOWN;
  if (hd__solves(s->run) && *out == HD_SMT_UNKNOWN) rc = by_solver(s, p, false, out);
  if (rc == HD_OK && hd__plans(s->run))
    *out = hd__agree(s->run, *out, by_planner(s, p, *out == HD_SMT_UNKNOWN));
  return rc;
}

static int candidate(struct search *s, struct pair p, uint32_t location, uint32_t end) {
  const struct hd__trace *tr = s->run->tr;
  struct hd_detector_stats *st = &s->run->stats->detector[s->d];
  uint64_t place = hd__place_of(tr, p.e, location) * 31 + hd__place_of(tr, p.f, location);
  uint32_t *tried = hd__index_at(&s->tried, hd__hash(place) | 1);
  if (*tried >= TRIES) return HD_OK;
  if (!*tried) st->candidates++;
  bool possible = is_before(p) ? !hd__ordered(&s->must, p.e, p.f)
                               : !hd__ordered(&s->must, p.f, p.e) && hd__locks_reach(tr, p.e, p.f, end);
  if (!possible) {
    if (!*tried) st->filtered++;
    *tried += !*tried;
    return HD_OK;
  }
  ++*tried;
  if (hd__run_full(s->run, s->d)) {
    st->skipped++;
    return HD_OK;
  }
  hd__segment(&s->causal, p.e, p.f, s->lambda, s->rho);
  uint64_t size = 0;
  for (unsigned t = 0; t < tr->nthreads; t++) size += s->rho[t] - s->lambda[t];
  if (size > (uint64_t)WIDEST * s->run->o->window) {
    st->cut++;
    return HD_OK;
  }
  enum hd_smt_answer result;
  int rc = solve(s, p, &result);
  if (rc == HD_OK && result == HD_SMT_UNSAT && tr->n <= s->run->o->window) {
    /* Pruning may lose orders that leave out what was before. */
    memset(s->lambda, 0, tr->nthreads * sizeof *s->lambda);
    for (unsigned t = 0; t < tr->nthreads; t++) s->rho[t] = hd__length(tr, t);
    rc = solve(s, p, &result);
  }
  if (rc == HD_OK && result == HD_SMT_UNSAT && s->run->o->relax && hd__solves(s->run))
    rc = by_solver(s, p, true, &result);
  st->solved += result != HD_SMT_UNKNOWN;
  st->unknown += result == HD_SMT_UNKNOWN;
  if (result == HD_SMT_SAT) *tried = FOUND;
  return rc;
}

/* ---- pairs ---- */

static uint32_t next_write(const struct hd__trace *tr, const struct hd__location *l, uint32_t i) {
  for (uint32_t k = i + 1; k < l->first + l->n; k++)
    if (hd__thread(tr, tr->accessor[k]) == hd__thread(tr, tr->accessor[i]) &&
        (tr->access_kind[tr->accessor[k]] & HD__WRITES))
      return tr->accessor[k];
  return HD__NONE;
}

static bool is_pointer(const struct hd__trace *tr, uint32_t e, uint32_t location) {
  const struct hd_op *op = &tr->event[e].op;
  return tr->location.v[location].size == sizeof(void *) && op->size == sizeof(void *);
}

static int nulls(struct search *s, uint32_t location) {
  const struct hd__trace *tr = s->run->tr;
  const struct hd__location *l = &tr->location.v[location];
  uint64_t v;
  int rc = HD_OK;
  for (uint32_t i = l->first; i < l->first + l->n; i++) {
    uint32_t e = tr->accessor[i];
    if (!is_pointer(tr, e, location) || !hd__value_written(tr, e, location, &v) || v) continue;
    uint32_t end = next_write(tr, l, i);
    uint32_t from = i - l->first > NEAR ? i - NEAR : l->first, last = l->first + l->n;
    if (last - i > NEAR) last = i + NEAR;
    for (uint32_t j = from; j < last && rc == HD_OK; j++) {
      uint32_t f = tr->accessor[j];
      if (hd__thread(tr, f) == hd__thread(tr, e) || (tr->access_kind[f] & HD__AWAITS)) continue;
      if (hd__value_read(tr, f, location, &v) && v >= LOWEST)
        rc = candidate(s, (struct pair){HD_PREDICTED_NULL, e, f, location}, location, end);
    }
  }
  return rc;
}

/* Uses of a block before it was freed, since the last one at its place was. */
static int frees(struct search *s, uint32_t location) {
  const struct hd__trace *tr = s->run->tr;
  const struct hd__location *l = &tr->location.v[location];
  int rc = HD_OK;
  for (uint32_t i = l->first; i < l->first + l->n; i++) {
    uint32_t e = tr->accessor[i];
    if (!(tr->access_kind[e] & HD__FREES)) continue;
    for (uint32_t j = i; j-- > l->first && i - j <= NEAR && rc == HD_OK;) {
      uint32_t f = tr->accessor[j];
      if (tr->access_kind[f] & HD__FREES) break;
      if (hd__thread(tr, f) != hd__thread(tr, e) && !(tr->access_kind[f] & HD__AWAITS))
        rc = candidate(s, (struct pair){HD_PREDICTED_FREED, e, f, HD__NONE}, location, HD__NONE);
    }
  }
  return rc;
}

static bool has_name(const struct hd__trace *tr, uint64_t addr) {
  for (size_t i = 0; tr->tables && i < tr->tables->object.n; i++)
    if (tr->tables->object.v[i].addr == addr) return true;
  return false;
}

/* Reads that other threads make after the first write. */
static int unset(struct search *s, uint32_t location) {
  const struct hd__trace *tr = s->run->tr;
  const struct hd__location *l = &tr->location.v[location];
  uint64_t v;
  int rc = HD_OK;
  uint32_t e = tr->accessor[l->first];
  if (!(tr->access_kind[e] & HD__WRITES) || (tr->access_kind[e] & (HD__READS | HD__FREES))) return HD_OK;
  bool pointer = is_pointer(tr, e, location) && hd__value_written(tr, e, location, &v) && v >= LOWEST;
  if (!pointer && has_name(tr, l->addr)) return HD_OK;
  for (uint32_t j = l->first + 1; j < l->first + l->n && j - l->first <= NEAR && rc == HD_OK; j++) {
    uint32_t f = tr->accessor[j];
    if (tr->access_kind[f] & HD__FREES) break; /* another block at this place */
    bool reads = (tr->access_kind[f] & HD__READS) && !(tr->access_kind[f] & (HD__WRITES | HD__AWAITS));
    if (reads && hd__thread(tr, f) != hd__thread(tr, e))
      rc = candidate(s, (struct pair){HD_PREDICTED_UNSET, e, f, location}, location, HD__NONE);
  }
  return rc;
}

#define FLAGS 8 /* small numbers that are no indices, mostly */
#define SOON 4  /* events from the read of an index to the access */

/* Whether the thread accesses something else right after the read. */
static bool is_used(const struct hd__trace *tr, uint32_t f) {
  unsigned t = hd__thread(tr, f);
  for (uint32_t pos = tr->pos[f] + 1; pos <= hd__length(tr, t) && pos <= tr->pos[f] + SOON; pos++) {
    const struct hd_event *e = &tr->event[hd__nth(tr, t, pos)];
    if (hd_op_object(e->op.kind) == HD_OBJ_MEMORY && e->op.object != tr->event[f].op.object) return true;
  }
  return false;
}

static int64_t as_signed(uint64_t v, unsigned size) {
  return size >= 8 ? (int64_t)v : (int64_t)(v << (64 - 8 * size)) >> (64 - 8 * size);
}

static int indices(struct search *s, uint32_t location) {
  const struct hd__trace *tr = s->run->tr;
  const struct hd__location *l = &tr->location.v[location];
  uint64_t v;
  int64_t most = -1;
  int rc = HD_OK;
  if (l->size != 4 && l->size != 8) return HD_OK;
  for (uint32_t i = l->first; i < l->first + l->n; i++) {
    uint32_t f = tr->accessor[i];
    bool known = (tr->access_kind[f] & HD__READS) && hd__value_read(tr, f, location, &v) && is_used(tr, f);
    if (known && as_signed(v, l->size) > most) most = as_signed(v, l->size);
  }
  if (most < 0 || most >= LOWEST) return HD_OK;
  for (uint32_t i = l->first; i < l->first + l->n; i++) {
    uint32_t e = tr->accessor[i];
    if (!hd__value_written(tr, e, location, &v)) continue;
    int64_t value = as_signed(v, l->size);
    if (value >= 0 && value <= 2 * most + FLAGS) continue;
    uint32_t from = i - l->first > NEAR ? i - NEAR : l->first, last = l->first + l->n;
    if (last - i > NEAR) last = i + NEAR;
    for (uint32_t j = from; j < last && rc == HD_OK; j++) {
      uint32_t f = tr->accessor[j];
      if (hd__thread(tr, f) == hd__thread(tr, e) || (tr->access_kind[f] & HD__AWAITS)) continue;
      if (hd__value_read(tr, f, location, &v) && v != (uint64_t)value && is_used(tr, f))
        rc = candidate(s, (struct pair){HD_PREDICTED_INDEX, e, f, location}, location, next_write(tr, l, i));
    }
  }
  return rc;
}

int hd__detect_nulls(struct hd__run *r, enum hd_detector d, struct hd_err *err) {
  const struct hd__trace *tr = r->tr;
  double start = hd_now();
  struct search s = {.run = r, .d = d, .err = err};
  hd__clocks_init(&s.must, tr, 0);
  hd__clocks_init(&s.causal, tr, HD__BY_READS | HD__BY_LOCKS | HD__BY_CONFLICTS);
  s.lambda = hd_alloc((tr->nthreads + 1) * sizeof *s.lambda);
  s.rho = hd_alloc((tr->nthreads + 1) * sizeof *s.rho);
  int rc = HD_OK;
  for (uint32_t l = 0; l < tr->location.n && rc == HD_OK; l++)
    rc = d == HD_DETECT_NULLS   ? nulls(&s, l)
         : d == HD_DETECT_FREED ? frees(&s, l)
         : d == HD_DETECT_UNSET ? unset(&s, l)
                                : indices(&s, l);
  free(s.lambda);
  free(s.rho);
  hd__index_fini(&s.tried);
  hd__clocks_fini(&s.must);
  hd__clocks_fini(&s.causal);
  r->stats->detector[d].seconds += hd_now() - start;
  return rc;
}

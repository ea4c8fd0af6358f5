/* atomicity.c: an access of another thread between two that belong together. Runs in the supervisor.
 *
 * The five orders of three accesses to one variable, the outer two of one thread, that no execution without
 * interleaving explains (Vaziri, Tip and Dolby, "Associating synchronization constraints with data in an object-oriented
 * language", POPL 2006): a write between any two accesses, and a read between two writes. The two are consecutive
 * accesses of their thread to the variable, in one section of a lock or in two.
 *
 * Two variables that are mostly accessed one after the other belong together as well (Lu et al., "MUVI: automatically
 * inferring multi-variable access correlations", SOSP 2007). Their accesses by a thread are not serialisable with those by another one
 * between them, if both conflict: one variable is seen before, the other after the change. Not every such order is wrong; only an execution that fails is a finding. */
#include "predict/encode.h"
#include "predict/plan.h"

#include <stdlib.h>
#include <string.h>

struct triple {
  uint32_t first, other, second;
  uint32_t last; /* of two variables: the other thread's second access; else `other` */
};

#define PART 4 /* of a window, for long traces: what belongs together is not far apart */
#define TRIED 8u
#define TRIES 4 /* windows in which three places are solved */

struct search {
  struct hd__run *run;
  struct hd__clocks must;
  uint32_t fresh; /* triples whose events all come before it were in the last window */
  struct hd__index
      state; /* of three places: 1 seen, 2 waiting for the solver, 4 found, and TRIED for each time */
  HD_VEC(struct triple) candidate;
  HD_VEC(uint64_t) key; /* of each candidate */
};

static bool unserialisable(const struct hd__trace *tr, struct triple c) {
  if (tr->access_kind[c.other] & HD__WRITES) return true;
  return (tr->access_kind[c.first] & HD__WRITES) && (tr->access_kind[c.second] & HD__WRITES);
}

/* Whether the thread releases the lock between two of its events. */
static bool releases(const struct hd__trace *tr, uint32_t from, uint32_t to, uint32_t lock) {
  for (uint32_t pos = tr->pos[from]; pos < tr->pos[to]; pos++) {
    uint32_t e = hd__nth(tr, hd__thread(tr, from), pos);
    if (tr->closes[e] && tr->section.v[tr->closes[e] - 1].lock == lock) return true;
  }
  return false;
}

/* Whether its thread holds a lock from the first to the second that the other has, too. */
static bool guarded(const struct hd__trace *tr, struct triple c) {
  const uint32_t *at = tr->held_at.v, *lock = tr->held_lock.v;
  for (uint32_t i = at[tr->held[c.first]]; i < at[tr->held[c.first] + 1]; i++)
    for (uint32_t k = at[tr->held[c.other]]; k < at[tr->held[c.other] + 1]; k++)
      if (lock[i] >> 1 == lock[k] >> 1 && !(lock[i] & lock[k] & 1) &&
          !releases(tr, c.first, c.second, lock[i] >> 1))
        return true;
  return false;
}

static uint64_t key_of(const struct hd__trace *tr, struct triple c, uint32_t location) {
  uint64_t places[3] = {hd__place_of(tr, c.first, location), hd__place_of(tr, c.other, location),
                        hd__place_of(tr, c.second, location)};
  return hd__hash(places[0] * 31 + hd__hash(places[1] * 31 + hd__hash(places[2]))) | 1;
}

/* Whether no order has the other access between the two. */
static bool impossible(const struct search *x, struct triple c) {
  return hd__ordered(&x->must, c.other, c.first) || hd__ordered(&x->must, c.second, c.other) ||
         guarded(x->run->tr, c);
}

static bool waits_or_frees(const struct hd__trace *tr, struct triple c) {
  return (tr->access_kind[c.first] | tr->access_kind[c.other] | tr->access_kind[c.second]) &
         (HD__AWAITS | HD__FREES);
}

static void consider(struct search *x, struct triple c, uint32_t location) {
  const struct hd__trace *tr = x->run->tr;
  struct hd_detector_stats *st = &x->run->stats->detector[HD_DETECT_ATOMICITY];
  if (c.second < x->fresh && c.other < x->fresh) return;
  if (waits_or_frees(tr, c)) return;
  if (c.first < c.other && c.other < c.second) return; /* that was observed */
  uint64_t key = key_of(tr, c, location);
  uint32_t *state = hd__index_at(&x->state, key);
  if (*state & 6) return;
  if (*state / TRIED >= TRIES) {
    if (*state / TRIED > TRIES) return;
    *state += TRIED; /* counted once */
    st->skipped++;
    return;
  }
  if (!*state) st->candidates++;
  if (impossible(x, c)) {
    st->filtered += !*state;
    *state |= 1;
    return;
  }
  *state |= 3;
  hd_vec_push(&x->candidate, c);
  hd_vec_push(&x->key, key);
}

#define NEAR 64 /* accesses of the location, before and after the two, that are looked at */

static void candidates(struct search *x, uint32_t location, uint32_t lo, uint32_t hi) {
  const struct hd__trace *tr = x->run->tr;
  uint32_t *last = hd_alloc((tr->nthreads + 1) * sizeof *last); /* access of each thread, plus 1 */
  uint32_t from = hd__accessor_from(tr, location, lo), to = hd__accessor_from(tr, location, hi);
  for (uint32_t i = from; i < to; i++) {
    uint32_t e = tr->accessor[i];
    unsigned t = hd__thread(tr, e);
    uint32_t begin = i - from > NEAR ? i - NEAR : from, end = to - i > NEAR ? i + NEAR : to;
    for (uint32_t j = begin; last[t] && j < end; j++) {
      struct triple c = {last[t] - 1, tr->accessor[j], e, tr->accessor[j]};
      if (hd__thread(tr, c.other) != t && unserialisable(tr, c)) consider(x, c, location);
    }
    last[t] = e + 1;
  }
  free(last);
}

/* ---- two variables ---- */

/* Accesses of a thread to two locations, one after the other. */
struct couple {
  uint32_t location[2], event[2];
};
#define COUPLES 8 /* of two locations, that are looked at in a window */
#define GAP 8     /* events of the thread between the two */

static uint64_t couple_key(const struct couple *c) {
  return (hd__hash(c->location[0] + 1ull) + hd__hash(c->location[1] + 1ull)) | 1;
}

static int by_key(const void *a, const void *b) {
  uint64_t x = couple_key(a), y = couple_key(b);
  if (x != y) return x < y ? -1 : 1;
  uint32_t e = ((const struct couple *)a)->event[0], f = ((const struct couple *)b)->event[0];
  return (e > f) - (e < f);
}

static uint32_t only_location(const struct hd__trace *tr, uint32_t e) {
  return tr->access_at[e + 1] == tr->access_at[e] + 1 ? tr->access[tr->access_at[e]].location : HD__NONE;
}

static bool conflict_at(const struct hd__trace *tr, const struct couple *a, int i, const struct couple *b) {
  int k = b->location[0] == a->location[i] ? 0 : 1;
  return (tr->access_kind[a->event[i]] | tr->access_kind[b->event[k]]) & HD__WRITES;
}

/* Whether the two locations are mostly accessed together: by at least two threads, and half of the accesses of one. */
static bool belong_together(const struct hd__trace *tr, const struct couple *c, size_t n) {
  bool several = false;
  for (size_t i = 1; i < n; i++) several |= hd__thread(tr, c[i].event[0]) != hd__thread(tr, c[0].event[0]);
  uint32_t a = tr->location.v[c->location[0]].n, b = tr->location.v[c->location[1]].n;
  return several && 2 * n >= (a < b ? a : b);
}

static void consider_couples(struct search *x, const struct couple *c, size_t n) {
  const struct hd__trace *tr = x->run->tr;
  if (n > COUPLES) n = COUPLES;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < n; k++)
      if (hd__thread(tr, c[i].event[0]) != hd__thread(tr, c[k].event[0]) &&
          conflict_at(tr, &c[i], 0, &c[k]) && conflict_at(tr, &c[i], 1, &c[k]))
        consider(x, (struct triple){c[i].event[0], c[k].event[0], c[i].event[1], c[k].event[1]},
                 c[i].location[0]);
}

static void couples(struct search *x, uint32_t lo, uint32_t hi) {
  const struct hd__trace *tr = x->run->tr;
  HD_VEC(struct couple) v = {0};
  uint32_t *last = hd_alloc((tr->nthreads + 1) * sizeof *last); /* access of each thread, plus 1 */
  for (uint32_t e = lo; e < hi; e++) {
    uint32_t location = only_location(tr, e), *before = &last[hd__thread(tr, e)];
    if (location == HD__NONE) continue;
    uint32_t other = *before ? only_location(tr, *before - 1) : location;
    if (other != location && tr->pos[e] - tr->pos[*before - 1] <= GAP)
      hd_vec_push(&v, ((struct couple){{other, location}, {*before - 1, e}}));
    *before = e + 1;
  }
  free(last);
  if (v.n) qsort(v.v, v.n, sizeof *v.v, by_key);
  for (size_t i = 0, k; i < v.n; i = k) {
    for (k = i; k < v.n && couple_key(&v.v[k]) == couple_key(&v.v[i]);) k++;
    if (belong_together(tr, &v.v[i], k - i)) consider_couples(x, &v.v[i], k - i);
  }
  hd_vec_free(&v);
}

/* ---- queries ---- */

static struct hd_prediction prediction(struct triple y) {
  struct hd_prediction p = {
      .kind = HD_PREDICTED_ATOMICITY, .detector = hd_detector_name[HD_DETECT_ATOMICITY], .late = 1};
  hd_vec_push(&p.event, y.first);
  hd_vec_push(&p.event, y.other);
  hd_vec_push(&p.event, y.second);
  return p;
}

static enum hd_smt_answer by_solver(struct search *x, struct hd__encoding *c, struct triple y) {
  hd_smt_push(c->smt);
  hd_term other = c->time[y.other - c->lo];
  hd_smt_require(c->smt, hd_smt_less(c->smt, other, c->now, 0));
  hd_smt_require(c->smt, hd_smt_less(c->smt, c->now, other, 0));
  hd_smt_require(c->smt, hd__included(c, y.first));
  hd_smt_require(c->smt, hd_smt_less(c->smt, c->now, c->time[y.second - c->lo], 0));
  hd_smt_require(c->smt, hd__kept(c, y.other, false));
  enum hd_smt_answer answer = hd_smt_check(c->smt, x->run->o->query_seconds);
  if (answer == HD_SMT_SAT) {
    struct hd_prediction p = prediction(y);
    hd__model_order(c, hd_smt_value(c->smt, c->now), &y.other, 1, &p);
    if (hd__order_valid(c->tr, p.order.v, p.order.n, &y.other, 1, &p.broken) && hd__allows(c->tr, p.broken)) {
      p.certainty = hd__certainty(p.broken);
      x->run->entries += p.order.n;
      hd_vec_push(&x->run->out->v, p);
      x->run->stats->detector[HD_DETECT_ATOMICITY].predicted++;
    } else {
      hd_prediction_fini(&p);
      answer = HD_SMT_UNKNOWN;
    }
  }
  hd_smt_pop(c->smt);
  return answer;
}

static enum hd_smt_answer by_planner(struct search *x, const uint32_t *done, const uint32_t *upto,
                                     struct triple y, bool keep) {
  struct hd__goal goal = {{y.other}, 1, y.first, HD__NONE, y.second};
  struct hd_prediction p = prediction(y);
  return hd__plan_query(x->run, HD_DETECT_ATOMICITY, done, upto, &goal, &p, keep);
}

/* The other thread's first access is next in the order of the last prediction: lets it go on to the second one. */
static void go_on(struct search *x, struct triple y) {
  const struct hd__trace *tr = x->run->tr;
  struct hd_prediction *p = &x->run->out->v.v[x->run->out->v.n - 1];
  size_t before = p->order.n;
  uint32_t broken;
  for (uint32_t pos = tr->pos[y.other]; pos < tr->pos[y.last]; pos++)
    hd_vec_push(&p->order, hd__nth(tr, hd__thread(tr, y.other), pos));
  if (hd__order_valid(tr, p->order.v, p->order.n, &y.last, 1, &broken)) {
    p->event.v[1] = y.last;
    p->broken = broken;
    p->certainty = hd__certainty(broken);
  } else {
    p->order.n = before;
  }
}

static int solve(struct search *x, struct hd__encoding *c, const uint32_t *done, const uint32_t *upto,
                 struct triple y, uint64_t key, struct hd_err *err) {
  struct hd_detector_stats *st = &x->run->stats->detector[HD_DETECT_ATOMICITY];
  size_t predictions = x->run->out->v.n;
  enum hd_smt_answer answer = hd__plans_first(x->run) ? by_planner(x, done, upto, y, true) : HD_SMT_UNKNOWN;
  if (hd__solves(x->run) && answer == HD_SMT_UNKNOWN) {
    int rc = c->smt ? HD_OK : hd__encoding_init(c, x->run, &x->must, HD__PREFIX, done, upto, false, err);
    if (rc != HD_OK) return rc;
    answer = by_solver(x, c, y);
  }
  if (hd__plans(x->run))
    answer = hd__agree(x->run, answer, by_planner(x, done, upto, y, answer == HD_SMT_UNKNOWN));
  st->solved += answer != HD_SMT_UNKNOWN;
  st->unknown += answer == HD_SMT_UNKNOWN;
  uint32_t *state = hd__index_at(&x->state, key);
  *state = (*state & ~2u) + TRIED;
  if (answer == HD_SMT_SAT) *state |= 4;
  if (answer == HD_SMT_SAT && y.last != y.other && x->run->out->v.n > predictions) go_on(x, y);
  return HD_OK;
}

static int window(struct search *x, uint32_t lo, uint32_t hi, struct hd_err *err) {
  const struct hd__trace *tr = x->run->tr;
  bool *seen = hd_alloc(tr->location.n + 1);
  x->candidate.n = x->key.n = 0;
  for (uint32_t k = tr->access_at[lo]; k < tr->access_at[hi]; k++) {
    uint32_t l = tr->access[k].location;
    if (!seen[l]) candidates(x, l, lo, hi);
    seen[l] = true;
  }
  free(seen);
  couples(x, lo, hi);
  if (!x->candidate.n) return HD_OK;
  struct hd__encoding c = {0};
  uint32_t *done = hd__ideal_up_to(tr, lo), *upto = hd__ideal_up_to(tr, hi);
  int rc = HD_OK;
  for (size_t i = 0; i < x->candidate.n && rc == HD_OK; i++) {
    if (hd__run_full(x->run, HD_DETECT_ATOMICITY))
      x->run->stats->detector[HD_DETECT_ATOMICITY].skipped++;
    else
      rc = solve(x, &c, done, upto, x->candidate.v[i], x->key.v[i], err);
  }
  hd__encoding_fini(&c);
  free(done);
  free(upto);
  return rc;
}

/* ---- what windows cut ---- */

#define MANY 1000 /* combinations of places of a location; of more, what windows cut is not counted */

/* Two accesses of a thread that follow each other: the first such pair of these places, and the last. */
struct pair {
  uint32_t first[2], last[2];
};

/* Whether the access can come between one of the pairs: three places that were in no window. */
static bool is_cut(struct search *x, const struct pair *p, const uint32_t *other, uint32_t location) {
  for (int i = 0; i < 4; i++) {
    const uint32_t *two = i & 1 ? p->last : p->first;
    struct triple c = {two[0], other[i >> 1], two[1], other[i >> 1]};
    if (!unserialisable(x->run->tr, c) || waits_or_frees(x->run->tr, c) || impossible(x, c)) continue;
    uint32_t *state = hd__index_at(&x->state, key_of(x->run->tr, c, location));
    if (*state) return false;
    *state = 1;
    return true;
  }
  return false;
}

/* Three places whose accesses to one variable could not be serialised, but were never in one window. */
static void count_cut(struct search *x) {
  const struct hd__trace *tr = x->run->tr;
  uint32_t *last = hd_alloc((tr->nthreads + 1) * sizeof *last); /* access of each thread, plus 1 */
  HD_VEC(struct pair) pair = {0};
  struct hd__classes c;
  hd__classes_init(&c, tr);
  for (uint32_t l = 0; l < tr->location.n && hd_now() < x->run->deadline; l++) {
    const struct hd__location *at = &tr->location.v[l];
    struct hd__index number = {0}; /* of a pair by places and thread, plus 1 */
    memset(last, 0, (tr->nthreads + 1) * sizeof *last);
    pair.n = 0;
    for (uint32_t i = at->first; i < at->first + at->n; i++) {
      uint32_t e = tr->accessor[i], *before = &last[hd__thread(tr, e)];
      if (*before) {
        uint64_t places = hd__place_of(tr, *before - 1, l) * 31 + hd__place_of(tr, e, l);
        uint32_t *n = hd__index_at(&number, hd__hash(places * 8191 + hd__thread(tr, e)) | 1);
        if (!*n) {
          hd_vec_push(&pair, ((struct pair){.first = {*before - 1, e}}));
          *n = (uint32_t)pair.n;
        }
        pair.v[*n - 1].last[0] = *before - 1;
        pair.v[*n - 1].last[1] = e;
      }
      *before = e + 1;
    }
    hd__index_fini(&number);
    hd__classes_of(&c, tr, l, true);
    for (size_t i = 0; i < pair.n && pair.n * c.v.n <= MANY; i++)
      for (size_t k = 0; k < c.v.n; k++) {
        const struct hd__class *y = &c.v.v[k];
        uint32_t other[2] = {c.event[y->first], c.event[y->first + y->n - 1]};
        if (y->thread == hd__thread(tr, pair.v[i].first[0])) continue;
        x->run->stats->detector[HD_DETECT_ATOMICITY].cut += is_cut(x, &pair.v[i], other, l);
      }
  }
  hd__classes_fini(&c);
  hd_vec_free(&pair);
  free(last);
}

int hd__detect_atomicity(struct hd__run *r, struct hd_err *err) {
  const struct hd__trace *tr = r->tr;
  double start = hd_now();
  struct search x = {.run = r};
  uint32_t width = tr->n <= r->o->window ? r->o->window : r->o->window / PART;
  if (width < 2) width = 2;
  hd__clocks_init(&x.must, tr, 0);
  int rc = HD_OK;
  for (uint32_t lo = 0; lo < tr->n && rc == HD_OK; lo += width / 2) {
    uint32_t hi = tr->n - lo < width ? tr->n : lo + width;
    if (hd_now() > r->deadline) {
      r->stats->detector[HD_DETECT_ATOMICITY].skipped += (tr->n - lo) / (width / 2); /* windows */
      break;
    }
    rc = window(&x, lo, hi, err);
    x.fresh = hi;
    if (hi == tr->n) break;
  }
  if (tr->n > width && rc == HD_OK) count_cut(&x);
  hd__clocks_fini(&x.must);
  hd__index_fini(&x.state);
  hd_vec_free(&x.candidate);
  hd_vec_free(&x.key);
  r->stats->detector[HD_DETECT_ATOMICITY].seconds += hd_now() - start;
  return rc;
}

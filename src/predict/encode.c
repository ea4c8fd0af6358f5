/* encode.c: the reorderings of a part of a trace, as constraints on differences of integers. Runs in the supervisor.
 *
 * The part lies between two ideals: what is in the first has been executed as observed, what is outside the second is
 * left out. Mostly it is a window, the events from one to another. Each event of it that matters to other threads has an
 * integer, its time. The failing events are at the time `now` or next to each other.
 *
 *   strict  all events of the part; writes of a location, and sections of a lock, in the observed order
 *   said    all events of the part; locks and writes in any order (Said, Wang, Yang and Sakallah, "Generating data race
 *           witnesses by an SMT-based analysis", NFM 2011)
 *   prefix  the events before `now`, whatever they are; the others are free. This is the maximal model of Huang, Meredith
 *           and Rosu, "Maximal sound predictive race detection with control flow abstraction", PLDI 2014. With no
 *           branches recorded, each event depends on all reads before it in its thread
 *
 * Invariants
 *  1. Constraints are strict, or about `now`: events at one time may come in any order.
 *  2. A read that counts sees a write of its value, or, if values are unknown, the one that it saw.
 *  3. In a prefix, every constraint between events binds only if they are in it. That of a lock is stated for all pairs
 *     of sections: one that is not in the prefix says nothing about another one.
 *  4. With branches, a read is kept if a decision in the prefix depends on it, or a kept read sees a write that does; what
 *     others see does not matter. Unlike in the paper, which reads these are is left to the solver, so that one set of
 *     constraints serves all candidates. */
#include "predict/encode.h"

#include <stdlib.h>
#include <string.h>

/* ---- terms ---- */

static void add(struct hd__encoding *x, hd_term t) { hd_vec_push(&x->clause, t); }

static hd_term before(struct hd__encoding *x, uint32_t a, uint32_t b) {
  return hd_smt_less(x->smt, x->time[a - x->lo], x->time[b - x->lo], 1);
}

/* Requires one of the terms that were added since `from`. */
static void require_any(struct hd__encoding *x, size_t from) {
  hd_smt_require(x->smt, hd_smt_any(x->smt, x->clause.v + from, x->clause.n - from));
  x->clause.n = from;
}

static hd_term all_since(struct hd__encoding *x, size_t from) {
  hd_term t = hd_smt_all(x->smt, x->clause.v + from, x->clause.n - from);
  x->clause.n = from;
  return t;
}

static bool inside(const struct hd__encoding *x, uint32_t e) {
  return hd__in_ideal(x->tr, x->upto, e) && !hd__in_ideal(x->tr, x->done, e);
}

hd_term hd__included(struct hd__encoding *x, uint32_t e) {
  return hd_smt_less(x->smt, x->time[e - x->lo], x->now, 1);
}

static hd_term left_out(struct hd__encoding *x, uint32_t e) {
  return hd_smt_less(x->smt, x->now, x->time[e - x->lo], 0);
}

static bool must(const struct hd__encoding *x, uint32_t a, uint32_t b) { return hd__ordered(x->must, a, b); }

/* ---- which events have a time ---- */

static bool matters(const struct hd__trace *tr, uint32_t e) {
  return tr->access_at[e + 1] > tr->access_at[e] || tr->opens[e] || tr->closes[e] ||
         tr->edge_at[e + 1] > tr->edge_at[e] || (tr->decides && tr->decides[e]);
}

static void give_times(struct hd__encoding *x) {
  const struct hd__trace *tr = x->tr;
  bool *mark = hd_alloc(x->hi - x->lo + 1);
  for (uint32_t e = x->lo; e < x->hi; e++) {
    if (!inside(x, e)) continue;
    if (matters(tr, e)) mark[e - x->lo] = true;
    for (uint32_t i = tr->edge_at[e]; i < tr->edge_at[e + 1]; i++)
      if (inside(x, tr->edge[i])) mark[tr->edge[i] - x->lo] = true;
  }
  for (size_t i = 0; i < tr->look.n; i++)
    if (inside(x, tr->look.v[i].event)) mark[tr->look.v[i].event - x->lo] = true;
  uint32_t *last = hd_alloc((tr->nthreads + 1) * sizeof *last);
  for (uint32_t e = x->lo; e < x->hi; e++) {
    if (!mark[e - x->lo]) continue;
    x->time[e - x->lo] = hd_smt_integer(x->smt);
    unsigned t = hd__thread(tr, e);
    if (last[t]) hd_smt_require(x->smt, before(x, last[t] - 1, e));
    last[t] = e + 1;
    for (uint32_t i = tr->edge_at[e]; i < tr->edge_at[e + 1]; i++)
      if (inside(x, tr->edge[i])) hd_smt_require(x->smt, before(x, tr->edge[i], e));
  }
  free(last);
  free(mark);
}

/* ---- locks ---- */

/* The release of a section, if it is in the part. */
static uint32_t release_of(const struct hd__encoding *x, const struct hd__section *s) {
  return s->release != HD__NONE && inside(x, s->release) ? s->release : HD__NONE;
}

/* Two conflicting sections, the first of which begins first in the trace, do not overlap. */
static void exclude(struct hd__encoding *x, const struct hd__section *a, const struct hd__section *b) {
  uint32_t ra = release_of(x, a), rb = release_of(x, b);
  size_t from = x->clause.n;
  if (a->acquire < x->lo) { /* held when the window begins */
    if (ra == HD__NONE) {   /* and for good */
      if (x->mode == HD__PREFIX) hd_smt_require(x->smt, left_out(x, b->acquire));
      return;
    }
    if (!must(x, ra, b->acquire)) hd_smt_require(x->smt, before(x, ra, b->acquire));
    return;
  }
  if (ra != HD__NONE && must(x, ra, b->acquire)) return;
  if (x->mode == HD__STRICT && ra != HD__NONE) {
    hd_smt_require(x->smt, before(x, ra, b->acquire));
    return;
  }
  if (x->mode == HD__PREFIX) {
    add(x, left_out(x, a->acquire));
    add(x, left_out(x, b->acquire));
  }
  if (ra != HD__NONE) add(x, before(x, ra, b->acquire));
  if (rb != HD__NONE) add(x, before(x, rb, a->acquire));
  require_any(x, from);
}

static int by_lock(const void *a, const void *b, void *arg) {
  const struct hd__trace *tr = arg;
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  uint32_t lx = tr->section.v[x].lock, ly = tr->section.v[y].lock;
  return lx != ly ? (lx > ly) - (lx < ly) : (x > y) - (x < y);
}

static void locks(struct hd__encoding *x) {
  const struct hd__trace *tr = x->tr;
  HD_VEC(uint32_t) section = {0};
  for (uint32_t i = 0; i < tr->section.n; i++) {
    const struct hd__section *s = &tr->section.v[i];
    if (s->acquire >= x->hi) break;
    if (!hd__in_ideal(tr, x->upto, s->acquire)) continue;
    if (s->release == HD__NONE || !hd__in_ideal(tr, x->done, s->release)) hd_vec_push(&section, i);
  }
  if (section.n) qsort_r(section.v, section.n, sizeof section.v[0], by_lock, (void *)(uintptr_t)tr);
  for (size_t i = 0; i < section.n; i++)
    for (size_t j = i + 1; j < section.n; j++) {
      const struct hd__section *a = &tr->section.v[section.v[i]], *b = &tr->section.v[section.v[j]];
      if (a->lock != b->lock) break;
      if (a->thread == b->thread || (a->shared && b->shared)) continue;
      if (hd__in_ideal(tr, x->done, b->acquire)) {
        if (!hd__in_ideal(tr, x->done, a->acquire)) exclude(x, b, a);
        continue;
      }
      exclude(x, a, b);
    }
  hd_vec_free(&section);
  for (size_t i = 0; i < tr->look.n; i++) {
    uint32_t e = tr->look.v[i].event;
    if (!inside(x, e)) continue;
    uint32_t r = release_of(x, &tr->section.v[tr->look.v[i].section]);
    if (r == HD__NONE || must(x, e, r)) continue;
    size_t from = x->clause.n;
    if (x->mode == HD__PREFIX) add(x, left_out(x, e));
    add(x, before(x, e, r));
    require_any(x, from);
  }
}

/* ---- memory ---- */

/* The writes of a location in the part, and what it has at the start. */
struct history {
  uint32_t location;
  uint32_t first;         /* the last write that was executed, or HD__NONE */
  HD_VEC(uint32_t) write; /* those in the part */
};

/* The read sees this write, and no other comes between; HD__NONE: what was there at the start. Returns 0 if
 * that cannot be. */
hd_term hd__coupled(struct hd__encoding *x, uint32_t r, uint32_t w, const uint32_t *write, size_t n) {
  size_t from = x->clause.n;
  if (w != HD__NONE) {
    if (must(x, r, w)) return 0;
    if (!must(x, w, r)) add(x, before(x, w, r));
  }
  for (size_t i = 0; i < n; i++) {
    uint32_t other = write[i];
    if (other == w || other == r || must(x, r, other)) continue;
    if (w != HD__NONE && must(x, other, w)) continue;
    bool after_w = w == HD__NONE || must(x, w, other);
    if (after_w && must(x, other, r)) {
      x->clause.n = from;
      return 0;
    }
    hd_term later = must(x, other, r) ? 0 : before(x, r, other), earlier = after_w ? 0 : before(x, other, w);
    if (later && earlier) {
      hd_term both[2] = {later, earlier};
      add(x, hd_smt_any(x->smt, both, 2));
    } else {
      add(x, later ? later : earlier);
    }
  }
  return all_since(x, from);
}

/* ---- decisions ---- */

static bool may_ignore(const struct hd__encoding *x) { return x->tr->decides && x->mode == HD__PREFIX; }

hd_term hd__kept(struct hd__encoding *x, uint32_t e, bool value) {
  size_t from = x->clause.n;
  bool depends = may_ignore(x) && (value || (x->tr->decides[e] & HD__DECIDES));
  for (uint32_t at = e, r; depends && (r = hd__guard(x->tr, &at)) != HD__NONE && inside(x, r);)
    add(x, x->keeps[r - x->lo]);
  if (depends && value && (x->tr->access_kind[e] & HD__READS) && inside(x, e)) add(x, x->keeps[e - x->lo]);
  return all_since(x, from);
}

static void decisions(struct hd__encoding *x) {
  for (uint32_t e = x->lo; e < x->hi; e++) {
    if (!inside(x, e) || !x->tr->decides[e]) continue;
    hd_term t[2] = {left_out(x, e), hd__kept(x, e, false)};
    hd_smt_require(x->smt, hd_smt_any(x->smt, t, 2));
    t[1] = x->keeps[e - x->lo];
    if (x->tr->decides[e] & HD__TESTS) hd_smt_require(x->smt, hd_smt_any(x->smt, t, 2));
  }
}

/* The read sees the write, which has its value. */
static hd_term coupled_kept(struct hd__encoding *x, uint32_t r, uint32_t w, const struct history *h) {
  hd_term t = hd__coupled(x, r, w, h->write.v, h->write.n);
  if (!t || !may_ignore(x)) return t;
  hd_term both[2] = {t, hd__kept(x, w, true)};
  return hd_smt_all(x->smt, both, 2);
}

static void read_value(struct hd__encoding *x, uint32_t r, const struct hd__access *a,
                       const struct history *h) {
  size_t from = x->clause.n;
  hd_term t;
  if (x->mode == HD__PREFIX) {
    add(x, left_out(x, r));
    if (may_ignore(x)) add(x, hd_smt_not(x->smt, x->keeps[r - x->lo]));
    if (x->relaxed) {
      hd_term b = hd_smt_boolean(x->smt);
      hd_vec_push(&x->broken, b);
      hd_vec_push(&x->broken_read, r);
      add(x, b);
    }
  }
  if (hd__same_value(x->tr, r, h->first, a) && (t = hd__coupled(x, r, HD__NONE, h->write.v, h->write.n)))
    add(x, t);
  for (size_t i = 0; i < h->write.n; i++) {
    uint32_t w = h->write.v[i];
    if (w == r || !hd__same_value(x->tr, r, w, a)) continue;
    if ((t = coupled_kept(x, r, w, h))) add(x, t);
  }
  require_any(x, from);
}

static void memory(struct hd__encoding *x, uint32_t location) {
  const struct hd__trace *tr = x->tr;
  uint32_t from = hd__accessor_from(tr, location, x->lo), to = hd__accessor_from(tr, location, x->hi);
  struct history h = {.location = location, .first = hd__last_write(tr, location, x->done, x->hi)};
  for (uint32_t i = from; i < to; i++) {
    uint32_t e = tr->accessor[i];
    if ((tr->access_kind[e] & HD__WRITES) && inside(x, e)) hd_vec_push(&h.write, e);
  }
  if (x->mode == HD__STRICT)
    for (size_t i = 1; i < h.write.n; i++)
      if (!must(x, h.write.v[i - 1], h.write.v[i]))
        hd_smt_require(x->smt, before(x, h.write.v[i - 1], h.write.v[i]));
  if (h.write.n) /* else every read sees what it saw */
    for (uint32_t i = from; i < to; i++) {
      uint32_t e = tr->accessor[i];
      if (inside(x, e) && (tr->access_kind[e] & HD__READS))
        read_value(x, e, hd__access_to(tr, e, location), &h);
    }
  hd_vec_free(&h.write);
}

/* ---- the whole ---- */

int hd__encoding_init(struct hd__encoding *x, const struct hd__run *r, const struct hd__clocks *order,
                      enum hd__mode mode, const uint32_t *done, const uint32_t *upto, bool relaxed,
                      struct hd_err *err) {
  const struct hd__trace *tr = r->tr;
  *x = (struct hd__encoding){
      .tr = tr, .must = order, .mode = mode, .done = done, .upto = upto, .relaxed = relaxed};
  int rc = hd_smt_new(r->o->libdir, HD_SMT_DIFFERENCES, &x->smt, err);
  if (rc != HD_OK) return rc;
  hd__between(tr, done, upto, &x->lo, &x->hi);
  x->time = hd_alloc((x->hi - x->lo + 1) * sizeof *x->time);
  x->now = hd_smt_integer(x->smt);
  give_times(x);
  if (may_ignore(x)) {
    x->keeps = hd_alloc((x->hi - x->lo + 1) * sizeof *x->keeps);
    for (uint32_t e = x->lo; e < x->hi; e++)
      if (inside(x, e) && (tr->access_kind[e] & HD__READS)) x->keeps[e - x->lo] = hd_smt_boolean(x->smt);
  }
  locks(x);
  bool *seen = hd_alloc(tr->location.n + 1);
  for (uint32_t e = x->lo; e < x->hi; e++)
    for (uint32_t i = tr->access_at[e]; inside(x, e) && i < tr->access_at[e + 1]; i++) {
      uint32_t l = tr->access[i].location;
      if (!seen[l]) memory(x, l);
      seen[l] = true;
    }
  free(seen);
  if (may_ignore(x)) decisions(x);
  return HD_OK;
}

void hd__encoding_fini(struct hd__encoding *x) {
  if (!x->smt) return;
  hd_smt_free(x->smt);
  free(x->time);
  free(x->keeps);
  hd_vec_free(&x->clause);
  hd_vec_free(&x->broken);
  hd_vec_free(&x->broken_read);
}

/* ---- the order of a model ---- */

struct timed {
  int64_t time;
  uint32_t event;
};

static int by_time(const void *a, const void *b) {
  const struct timed *x = a, *y = b;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  return (x->event > y->event) - (x->event < y->event);
}

/* Adds what the thread does before the event and has not done: nothing of it matters to others. */
static void catch_up(const struct hd__encoding *x, struct hd_prediction *p, uint32_t *done, uint32_t e) {
  unsigned t = hd__thread(x->tr, e);
  while (done[t] + 1 < x->tr->pos[e]) hd_vec_push(&p->order, hd__nth(x->tr, t, ++done[t]));
}

void hd__model_order(struct hd__encoding *x, int64_t end, const uint32_t *next, size_t nnext,
                     struct hd_prediction *p) {
  const struct hd__trace *tr = x->tr;
  HD_VEC(struct timed) v = {0};
  uint32_t *done = hd_alloc((tr->nthreads + 1) * sizeof *done);
  for (uint32_t e = 0; e < tr->n; e++)
    if (hd__in_ideal(tr, x->done, e)) {
      hd_vec_push(&p->order, e);
      done[hd__thread(tr, e)]++;
    }
  for (uint32_t e = x->lo; e < x->hi; e++) {
    if (!x->time[e - x->lo]) continue;
    int64_t time = hd_smt_value(x->smt, x->time[e - x->lo]);
    bool last = false;
    for (size_t i = 0; i < nnext; i++) last |= next[i] == e;
    if (time < end && !last) hd_vec_push(&v, ((struct timed){time, e}));
  }
  if (v.n) qsort(v.v, v.n, sizeof v.v[0], by_time);
  for (size_t i = 0; i < v.n; i++) {
    catch_up(x, p, done, v.v[i].event);
    hd_vec_push(&p->order, v.v[i].event);
    done[hd__thread(tr, v.v[i].event)]++;
  }
  for (size_t i = 0; i < nnext; i++) catch_up(x, p, done, next[i]);
  hd_vec_free(&v);
  free(done);
}

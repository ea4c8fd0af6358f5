/* path.c: one execution as expressions over inputs, and the order of its operations (concolic.h). Runs in the supervisor.
 *
 * Values are substituted as in data.c. A read of memory that was written in another size, or by nobody, has the value that
 * it had: that it is this one is not a condition, since the order that is kept makes it so.
 *
 * Dependent are two operations of different threads that access the same memory, one of them writing; that acquire and
 * release the same lock; that do something else to the same object; the creation of a thread and what it does; the end of
 * a thread and its join. */
#include "concolic/concolic_int.h"

#include <stdlib.h>
#include <string.h>

#define MAX_EVENTS 8000

/* ---- what is computed ---- */

static bool overlap(const struct hd_cc_event *a, const struct hd_cc_event *b) {
  return a->object < b->object + b->size && b->object < a->object + a->size;
}

/* The write that a read sees, plus 1. */
static uint32_t source_of(const struct hd__path *p, uint32_t read) {
  for (uint32_t i = read; i-- > 0;)
    if (p->event[i].kind == HD_CC_WRITE && overlap(&p->event[i], &p->event[read])) return i + 1;
  return 0;
}

static void compute(struct hd__path *p, struct hd_exprs *x) {
  HD_VEC(hd_expr_ref) with = {0}; /* of symbols */
  for (uint32_t i = 0; i < p->n; i++) {
    const struct hd_cc_event *e = &p->event[i];
    if (e->kind == HD_CC_READ) {
      uint32_t symbol = (uint32_t)hd_expr_node(x, e->expr)->value, w = source_of(p, i);
      bool whole = w && p->event[w - 1].object == e->object && p->event[w - 1].size == e->size;
      while (with.n <= symbol) hd_vec_push(&with, 0);
      with.v[symbol] = whole ? p->value[w - 1] : hd_expr_const(x, hd_expr_width(x, e->expr), e->value);
      p->value[i] = with.v[symbol];
      p->source[i] = w;
      p->value[i] = with.v[symbol];
      p->source[i] = w;
    } else if (e->kind == HD_CC_WRITE) {
      p->value[i] = hd_expr_substitute(x, e->expr, with.v, with.n);
    } else if (e->kind == HD_CC_BRANCH) {
      p->value[i] = hd_expr_substitute(x, e->expr, with.v, with.n);
      p->other[i] = e->other ? hd_expr_substitute(x, e->other, with.v, with.n) : hd_expr_not(x, p->value[i]);
    }
  }
  hd_vec_free(&with);
}

/* ---- what follows from what ---- */

static bool is_access(const struct hd_cc_event *e) { return e->kind == HD_CC_READ || e->kind == HD_CC_WRITE; }

static bool depend(const struct hd_cc_event *a, const struct hd_cc_event *b) {
  if (is_access(a) && is_access(b))
    return (a->kind == HD_CC_WRITE || b->kind == HD_CC_WRITE) && overlap(a, b);
  if (a->kind == HD_CC_UNLOCK && b->kind == HD_CC_LOCK) return a->object == b->object;
  if (a->kind == HD_CC_CREATE) return a->child == b->thread;
  if (a->kind == HD_CC_END) return b->kind == HD_CC_JOIN && b->child == a->thread;
  return a->kind == HD_CC_OTHER && b->kind == HD_CC_OTHER && a->object && a->object == b->object;
}

static uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15ull;
  return h ^ h >> 29;
}

static uint64_t own(const struct hd__path *p, uint32_t i, bool taken, hd_expr_ref expr) {
  const struct hd_cc_event *e = &p->event[i];
  uint64_t h = mix(mix(mix(1, e->thread), p->index[i]), e->kind);
  h = mix(mix(mix(h, e->object), e->size), e->site);
  if (e->kind == HD_CC_BRANCH) h = mix(mix(h, taken), e->counts ? 0 : expr);
  return h;
}

static uint64_t label(const struct hd__path *p, uint32_t i, bool taken, hd_expr_ref expr) {
  return mix(own(p, i, taken, expr), p->before[i] ? p->hash[p->before[i] - 1] : 0);
}

uint64_t hd__path_dual(const struct hd__path *p, uint32_t branch) {
  const struct hd_cc_event *e = &p->event[branch];
  return mix(label(p, branch, !e->taken, e->other), 0);
}

/* Where the operation begins that the event is a part of. */
static uint32_t beginning(const struct hd__path *p, uint32_t i) {
  while (is_access(&p->event[i]) && !p->event[i].step && p->before[i]) i = p->before[i] - 1;
  return i;
}

/* The acquisition that a release ends. */
static uint32_t acquired(const struct hd__path *p, uint32_t release) {
  for (uint32_t i = p->before[release]; i; i = p->before[i - 1])
    if (p->event[i - 1].kind == HD_CC_LOCK && p->event[i - 1].object == p->event[release].object)
      return i - 1;
  return release;
}

static void join(uint32_t *clock, const uint32_t *other, unsigned n) {
  for (unsigned t = 0; t < n; t++)
    if (clock[t] < other[t]) clock[t] = other[t];
}

/* From the latest one: what another dependent event already follows from is not next to this one. */
static void order(struct hd__path *p, uint32_t i) {
  unsigned nt = p->nthreads;
  uint32_t *clock = p->clock + i * nt, before[HD_CC_THREADS] = {0};
  const struct hd_cc_event *e = &p->event[i];
  if (p->before[i]) memcpy(clock, p->clock + (p->before[i] - 1) * nt, nt * sizeof *clock);
  memcpy(before, clock, nt * sizeof *clock);
  clock[e->thread] = p->index[i] + 1;
  uint64_t from = 0;
  bool starts = !p->before[i],
       does = is_access(e) || e->kind == HD_CC_LOCK || e->kind == HD_CC_JOIN || e->kind == HD_CC_OTHER;
  for (uint32_t j = i; (starts || does) && j-- > 0;) {
    const struct hd_cc_event *d = &p->event[j];
    if (d->thread == e->thread || hd__follows(p, i, j) || !depend(d, e)) continue;
    join(clock, p->clock + j * nt, nt);
    from += p->hash[j];
    if (d->kind == HD_CC_CREATE || d->kind == HD_CC_END) continue;
    uint32_t first = beginning(p, d->kind == HD_CC_UNLOCK ? acquired(p, j) : j);
    if (before[p->event[first].thread] <= p->index[first])
      hd_vec_push(&p->pair, ((struct hd__pair){first, i}));
  }
  p->hash[i] = mix(label(p, i, e->taken, e->expr), from);
  p->local[i] = mix(own(p, i, e->taken, e->expr), p->before[i] ? p->local[p->before[i] - 1] : 0);
}

uint64_t hd__path_reversed(const struct hd__path *p, const struct hd__pair *r) {
  uint64_t from = 0;
  const struct hd_cc_event *e = &p->event[r->second];
  uint32_t clock[HD_CC_THREADS] = {0};
  if (p->before[r->second])
    memcpy(clock, p->clock + (p->before[r->second] - 1) * p->nthreads, p->nthreads * sizeof *clock);
  for (uint32_t j = r->second; j-- > 0;) {
    const struct hd_cc_event *d = &p->event[j];
    if (d->thread == e->thread || clock[d->thread] > p->index[j] || hd__follows(p, j, r->first)) continue;
    if (!depend(d, e)) continue;
    join(clock, p->clock + j * p->nthreads, p->nthreads);
    from += p->hash[j];
  }
  return mix(label(p, r->second, e->taken, e->expr), from);
}

bool hd__path_init(struct hd__path *p, struct hd_exprs *x, const struct hd_cc_event *event, size_t n) {
  uint32_t last[HD_CC_THREADS] = {0}, count[HD_CC_THREADS] = {0};
  bool whole = n <= MAX_EVENTS;
  memset(p, 0, sizeof *p);
  p->n = (uint32_t)(whole ? n : MAX_EVENTS);
  for (uint32_t i = 0; i < p->n; i++)
    if (event[i].thread >= HD_CC_THREADS || event[i].child >= HD_CC_THREADS) {
      p->n = i;
      whole = false;
    } else if (event[i].thread >= p->nthreads) {
      p->nthreads = event[i].thread + 1u;
    }
  p->event = hd_alloc((p->n + 1) * sizeof *p->event);
  if (p->n) memcpy(p->event, event, p->n * sizeof *event);
  p->index = hd_alloc((p->n + 1) * sizeof *p->index);
  p->before = hd_alloc((p->n + 1) * sizeof *p->before);
  p->clock = hd_alloc((size_t)(p->n + 1) * p->nthreads * sizeof *p->clock);
  p->hash = hd_alloc((p->n + 1) * sizeof *p->hash);
  p->local = hd_alloc((p->n + 1) * sizeof *p->local);
  p->source = hd_alloc((p->n + 1) * sizeof *p->source);
  p->value = hd_alloc((p->n + 1) * sizeof *p->value);
  p->other = hd_alloc((p->n + 1) * sizeof *p->other);
  compute(p, x);
  for (uint32_t i = 0; i < p->n; i++) {
    unsigned t = p->event[i].thread;
    p->index[i] = count[t]++;
    p->before[i] = last[t];
    last[t] = i + 1;
    order(p, i);
  }
  return whole;
}

void hd__path_fini(struct hd__path *p) {
  free(p->event);
  free(p->index);
  free(p->before);
  free(p->clock);
  free(p->hash);
  free(p->local);
  free(p->source);
  free(p->value);
  free(p->other);
  hd_vec_free(&p->pair);
  memset(p, 0, sizeof *p);
}

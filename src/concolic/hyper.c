/* hyper.c: branches and orders of operations, turned round one after the other: the driver `hyper` (concolic.h). Runs in the
 * supervisor.
 *
 * Hyperconcolic execution: one execution is a list of constraints, some on inputs (outcomes of branches), some on the order
 * of two operations. For each of them there is a context: the constraints that it does not depend on, and its negation.
 * Differences to the thesis, whose dependency rules are incomplete as printed:
 *  - What a constraint depends on is read off the execution: everything that the event follows from by program order,
 *    creation and join, locks and memory. An order is turned round by leaving out the first operation and all that follow
 *    from it, which is exact where the rules say that constraints are "mutually dependent".
 *  - Only orders of neighbours are constraints: those that follow from others need none.
 *  - An operation that has to wait for one that never comes blocks nothing: after the beginning the others go on.
 *  - Each thread goes on alone once after its creation, so that a failure of another one does not hide what it does.
 *  - The thesis keeps its contexts in a heap without saying by what key, and proposes iterative deepening on the length of
 *    traces, which it did not try. Both are here (enum hd_cc_order): the key is the number of constraints that are kept.
 *  - The outcome of a branch is asked for after everything that came before it, after what it follows from alone, and after
 *    everything that does not follow from it. Without the last one, outcomes of branches that do not depend on each other
 *    would not come together where they were first seen in different executions, and nor would what follows from both.
 *
 * Invariants
 *  1. A context is executed only if no execution so far has everything that it keeps, and then what it asks for.
 *  2. Everything that an execution shows is turned round, not only what comes after the point that it was made for. */
#include "concolic/concolic_int.h"

#include <stdlib.h>

struct seen {
  uint64_t *hash; /* of the events of an execution, sorted */
  size_t n;
};

struct queue {
  HD_VEC(struct hd__context) v;
  size_t head;
};

#define FIRST_DEPTH 8 /* of the orders DEEPEN and NEAREST */

struct hyper {
  struct hd_cc base;
  uint32_t depth;         /* of the orders DEEPEN and NEAREST: contexts of a larger cost are in `cold` */
  struct queue hot, cold; /* outcomes of branches that are not covered come first */
  HD_VEC(struct seen) seen;
  HD_VEC(uint64_t) asked; /* contexts that were added: open addressing */
  size_t nasked;
  struct hd__context running;
  bool begun;
};

static struct hd_cc *create(const struct hd_cc_options *o) {
  (void)o;
  struct hyper *h = hd_alloc(sizeof *h);
  h->depth = FIRST_DEPTH;
  return &h->base;
}

static void free_queue(struct queue *q) {
  for (size_t i = q->head; i < q->v.n; i++) hd__context_free(&q->v.v[i]);
  hd_vec_free(&q->v);
}

static void destroy(struct hd_cc *c) {
  struct hyper *h = (struct hyper *)c;
  free_queue(&h->hot);
  free_queue(&h->cold);
  for (size_t i = 0; i < h->seen.n; i++) free(h->seen.v[i].hash);
  hd_vec_free(&h->seen);
  hd_vec_free(&h->asked);
  hd__context_free(&h->running);
}

/* ---- what was executed, and what was asked for ---- */

static bool has(const struct seen *s, uint64_t hash) {
  return bsearch(&hash, s->hash, s->n, sizeof hash, hd_by_number) != NULL;
}

static bool is_executed(const struct hyper *h, const struct hd__context *t) {
  for (size_t i = 0; i < h->seen.n; i++) {
    const struct seen *s = &h->seen.v[i];
    bool all = has(s, t->then);
    for (size_t k = 0; all && k < t->kept.n; k++) all = has(s, t->kept.v[k]);
    if (all) return true;
  }
  return false;
}

static uint64_t key_of(const struct hd__context *t) {
  uint64_t key = t->then;
  for (size_t i = 0; i < t->kept.n; i++) key = (key ^ t->kept.v[i]) * 0x9e3779b97f4a7c15ull, key ^= key >> 31;
  return key | 1;
}

/* Whether it is asked for the first time. */
static bool ask(struct hyper *h, uint64_t key) {
  if (h->nasked * 2 >= h->asked.n) {
    size_t n = h->asked.n ? 2 * h->asked.n : 1024, count = h->asked.n;
    uint64_t *old = h->asked.v;
    h->asked.v = hd_alloc(n * sizeof *h->asked.v);
    h->asked.n = h->asked.cap = n;
    for (size_t i = 0; i < count; i++) {
      size_t k = (size_t)(old[i] >> 7) & (n - 1);
      while (old[i] && h->asked.v[k]) k = (k + 1) & (n - 1);
      if (old[i]) h->asked.v[k] = old[i];
    }
    free(old);
  }
  size_t i = (size_t)(key >> 7) & (h->asked.n - 1);
  for (; h->asked.v[i]; i = (i + 1) & (h->asked.n - 1))
    if (h->asked.v[i] == key) return false;
  h->asked.v[i] = key;
  h->nasked++;
  return true;
}

/* The heap of the order HEAP: `hot`, from its head on. */
static bool is_smaller(const struct queue *q, size_t a, size_t b) {
  return q->v.v[a].kept.n < q->v.v[b].kept.n;
}

static void swap(struct queue *q, size_t a, size_t b) {
  struct hd__context t = q->v.v[a];
  q->v.v[a] = q->v.v[b];
  q->v.v[b] = t;
}

static void heap_add(struct queue *q, const struct hd__context *t) {
  hd_vec_push(&q->v, *t);
  for (size_t i = q->v.n - 1; i && is_smaller(q, i, (i - 1) / 2); i = (i - 1) / 2) swap(q, i, (i - 1) / 2);
}

static void heap_take(struct queue *q, struct hd__context *out) {
  size_t n = --q->v.n;
  *out = q->v.v[0];
  q->v.v[0] = q->v.v[n];
  for (size_t i = 0;;) {
    size_t least = i;
    for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < n; k++)
      if (is_smaller(q, k, least)) least = k;
    if (least == i) return;
    swap(q, i, least);
    i = least;
  }
}

/* Events of the thread up to there, and what is left to the target at least. */
static uint32_t cost_of(const struct hyper *h, const struct hd__context *t) {
  const struct hd_cc_options *o = &h->base.o;
  return t->depth +
         (o->order == HD_CC_NEAREST && o->distance ? o->distance(o->distance_arg, t->sink.site) : 0);
}

static void put(struct hyper *h, const struct hd__context *t) {
  switch (h->base.o.order) {
    case HD_CC_HEAP: heap_add(&h->hot, t); break;
    case HD_CC_DEEPEN:
    case HD_CC_NEAREST: hd_vec_push(cost_of(h, t) <= h->depth ? &h->hot.v : &h->cold.v, *t); break;
    default: {
      bool is_new = t->sink.kind == HD_CC_BRANCH && t->sink.counts && !hd__is_covered(&h->base, &t->sink);
      hd_vec_push(is_new ? &h->hot.v : &h->cold.v, *t);
    }
  }
}

static void add(struct hyper *h, struct hd__context *t) {
  if (ask(h, key_of(t)) && !is_executed(h, t))
    put(h, t);
  else
    hd__context_free(t);
}

/* ---- executions ---- */

static void see_branch(struct hyper *h, const struct hd__path *p, uint32_t i) {
  static const enum hd__kept each[] = {HD__KEPT_BEFORE, HD__KEPT_PAST, HD__KEPT_REST};
  if (p->event[i].fixed) return;
  for (size_t k = 0; k < sizeof each / sizeof *each; k++) {
    struct hd__context t;
    hd__context_branch(&t, p, i, each[k], &h->base.inputs);
    add(h, &t);
  }
}

static void observe(struct hd_cc *c, const struct hd_cc_event *event, size_t n) {
  struct hyper *h = (struct hyper *)c;
  struct hd__path p;
  if (!hd__path_init(&p, c->x, event, n)) c->stats.too_large++;
  struct seen s = {hd_alloc((p.n + 1) * sizeof *s.hash), p.n};
  for (uint32_t i = 0; i < p.n; i++) s.hash[i] = p.hash[i];
  if (s.n) qsort(s.hash, s.n, sizeof *s.hash, hd_by_number);
  hd_vec_push(&h->seen, s);
  /* A creation keeps the hash of no event; what is not known may have to wait. */
  bool reached = !h->begun || h->running.sink.kind == HD_CC_CREATE || h->running.sink.kind == HD_CC_OTHER ||
                 has(&s, h->running.then) ||
                 (h->running.sink.kind == HD_CC_BRANCH && !h->running.sink.counts);
  c->stats.realized += reached;
  c->stats.diverged += !reached;
  h->begun = true;
  for (uint32_t i = 0; i < p.n; i++) {
    if (p.event[i].kind == HD_CC_BRANCH && p.event[i].counts) hd__cover(c, &p.event[i], -1);
    if (p.event[i].kind == HD_CC_OTHER && p.event[i].step) c->stats.others++;
  }
  for (uint32_t i = 0; i < p.n; i++) {
    struct hd__context t;
    if (p.event[i].kind == HD_CC_BRANCH) see_branch(h, &p, i);
    if (p.event[i].kind != HD_CC_CREATE) continue;
    hd__context_create(&t, &p, i, &c->inputs);
    add(h, &t);
  }
  for (size_t i = 0; i < p.pair.n; i++) {
    struct hd__context t;
    hd__context_pair(&t, &p, &p.pair.v[i], &c->inputs);
    add(h, &t);
  }
  hd__path_fini(&p);
}

/* The next bound: twice as many events, or the smallest cost beyond it. */
static void deepen(struct hyper *h) {
  while (!h->hot.v.n && h->cold.v.n) {
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < h->cold.v.n; i++)
      if (cost_of(h, &h->cold.v.v[i]) < least) least = cost_of(h, &h->cold.v.v[i]);
    h->depth = h->base.o.order == HD_CC_NEAREST ? least : 2 * h->depth;
    size_t kept = 0;
    for (size_t i = 0; i < h->cold.v.n; i++)
      if (cost_of(h, &h->cold.v.v[i]) <= h->depth)
        hd_vec_push(&h->hot.v, h->cold.v.v[i]);
      else
        h->cold.v.v[kept++] = h->cold.v.v[i];
    h->cold.v.n = kept;
  }
}

static bool pop(struct hyper *h, struct hd__context *out) {
  if (h->base.o.order == HD_CC_DEEPEN || h->base.o.order == HD_CC_NEAREST) deepen(h);
  if (h->base.o.order != HD_CC_COVERING) {
    if (!h->hot.v.n) return false;
    if (h->base.o.order == HD_CC_HEAP)
      heap_take(&h->hot, out);
    else
      *out = h->hot.v.v[--h->hot.v.n];
    return true;
  }
  struct queue *q = h->hot.head < h->hot.v.n ? &h->hot : &h->cold;
  if (q->head == q->v.n) return false;
  *out = q->v.v[q->head++];
  return true;
}

static enum hd_cc_state next(struct hd_cc *c, struct hd_cc_plan *out, double deadline) {
  struct hyper *h = (struct hyper *)c;
  struct hd__context t;
  enum hd_smt_answer answer;
  while (pop(h, &t)) {
    if (deadline > 0 && hd_now() >= deadline) {
      hd__context_free(&t);
      return HD_CC_LATE;
    }
    if (is_executed(h, &t) || !hd__context_solve(c, &t, &answer)) {
      hd__context_free(&t);
      continue;
    }
    hd__context_free(&h->running);
    h->running = t;
    hd__context_plan(c, &h->running, out);
    return HD_CC_GOES_ON;
  }
  return HD_CC_MAX;
}

const struct hd__driver hd__hyper = {HD_CC_HYPER, create, destroy, observe, next};

/* plan.c: a search for an order of events that reaches a goal, without a solver. Runs in the supervisor.
 *
 * The planner of the thesis that segment.c cites (section 2.5), with the search of Hoffmann and Nebel, "The FF planning
 * system", JAIR 2001. A state is the position of each thread, the last writer of each location, and who holds each lock.
 * A step executes the next event of a thread: it is possible when its edges are satisfied, its lock is free, and what it
 * reads has the value that it had. The reorderings are those of encode.c's prefixes.
 *
 * With branches (encode.c, invariant 4) a read may see another value. Its thread is then off its way: it can come to no
 * decision, and what it writes is not what it wrote. Both are part of the state.
 *
 * Heuristic: the events of a relaxed plan, in which nothing that was once true ceases to be: all that is needed before
 * the goal, a writer for each read whose value was not there yet, the release of each lock that is held.
 *
 * First enforced hill climbing: from each state to the nearest one that is better, by steps of the relaxed plan only. If
 * that fails, best-first search over all steps; if it ends without the goal, there is no such order. */
#include "predict/plan.h"

#include <stdlib.h>
#include <string.h>

#define QUICK 0.02 /* seconds, if the solver is asked next */
#define MOST_NODES 100000
#define MOST_STATES (1u << 27) /* entries */

struct node {
  uint32_t parent, event; /* the step that led to it; HD__NONE: the start */
  uint32_t h;
  size_t state; /* in `states` */
};

struct planner {
  const struct hd__trace *tr;
  const struct hd__goal *goal;
  const uint32_t *done, *upto;
  uint32_t lo, hi;           /* what is between the ideals is among the events lo .. hi - 1 */
  uint32_t nlocations;       /* of the part */
  struct hd__index location; /* location plus 1 to its number in the state plus 1 */
  size_t width; /* of a state: positions, then writers plus 1, then which threads are off their way */
  HD_VEC(uint32_t) states;
  HD_VEC(struct node) node;
  HD_VEC(uint32_t) heap; /* of nodes, by h, then the newest */
  struct hd__index seen; /* hashes of states */
  uint8_t *needed;       /* [n] in the relaxed plan of the state that was looked at last: its round */
  uint8_t round;
  HD_VEC(uint32_t) plan, work;
  uint32_t *now; /* the state that is looked at */
  double until;
  uint32_t climb_from; /* estimate of the state that hill climbing wants to improve on */
};

/* ---- states ---- */

static uint32_t *writer_of(struct planner *p, uint32_t *state, uint32_t location) {
  return &state[p->tr->nthreads + *hd__index_at(&p->location, location + 1) - 1];
}

#define OTHER (1u << 31) /* of a writer: it has written another value */

/* Whether the thread has read another value. Always false without branches. */
static uint32_t off_its_way(const struct planner *p, const uint32_t *state, unsigned t) {
  return p->tr->decides ? state[p->tr->nthreads + p->nlocations + t] : 0;
}

static bool executed(const struct planner *p, const uint32_t *state, uint32_t e) {
  return hd__in_ideal(p->tr, state, e);
}

static bool is_open(const struct planner *p, const uint32_t *state, const struct hd__section *s) {
  return executed(p, state, s->acquire) && (s->release == HD__NONE || !executed(p, state, s->release));
}

/* A section that keeps this one out, or NULL: of each thread only the last one that it has begun can. */
static const struct hd__section *keeper(const struct planner *p, const uint32_t *state,
                                        const struct hd__section *s) {
  const struct hd__trace *tr = p->tr;
  for (unsigned t = 0; t < tr->nthreads; t++) {
    if (t == s->thread || !state[t]) continue;
    uint32_t last = hd__nth(tr, t, state[t]), set = tr->held[last];
    bool holds = tr->opens[last] && tr->section.v[tr->opens[last] - 1].lock == s->lock;
    for (uint32_t i = tr->held_at.v[set]; i < tr->held_at.v[set + 1]; i++)
      holds |= tr->held_lock.v[i] >> 1 == s->lock;
    for (uint32_t pos = state[t]; holds && pos; pos--) {
      uint32_t e = hd__nth(tr, t, pos);
      if (!tr->opens[e] || tr->section.v[tr->opens[e] - 1].lock != s->lock) continue;
      const struct hd__section *other = &tr->section.v[tr->opens[e] - 1];
      if (is_open(p, state, other) && !(other->shared && s->shared)) return other;
      break;
    }
  }
  return NULL;
}

/* Whether the goal is that the signal comes before this wait. */
static bool is_missed(const struct planner *p, uint32_t wait, uint32_t signal) {
  return p->goal->nnext == 1 && p->goal->next[0] == wait && hd__may_miss(p->tr, wait, signal);
}

/* What may come next: the event's edges, its lock. */
static bool enabled(const struct planner *p, const uint32_t *state, uint32_t e) {
  const struct hd__trace *tr = p->tr;
  for (uint32_t i = tr->edge_at[e]; i < tr->edge_at[e + 1]; i++)
    if (!executed(p, state, tr->edge[i]) && !is_missed(p, tr->edge[i], e)) return false;
  if (tr->opens[e] && keeper(p, state, &tr->section.v[tr->opens[e] - 1])) return false;
  if (tr->look.n) {
    const struct hd__look *l = hd__look_of(tr, e);
    if (l && !is_open(p, state, &tr->section.v[l->section])) return false;
  }
  return true;
}

static bool reads_the_same(struct planner *p, uint32_t *state, uint32_t e) {
  const struct hd__trace *tr = p->tr;
  if (!(tr->access_kind[e] & HD__READS)) return true;
  for (uint32_t i = tr->access_at[e]; i < tr->access_at[e + 1]; i++) {
    uint32_t w = *writer_of(p, state, tr->access[i].location);
    if ((w & OTHER) || !hd__same_value(tr, e, w ? w - 1 : HD__NONE, &tr->access[i])) return false;
  }
  return true;
}

/* Whether its thread is where it was, as far as the event depends on that. */
static bool is_on_its_way(const struct planner *p, const uint32_t *state, uint32_t e) {
  return !p->tr->decides || !(p->tr->decides[e] & HD__DECIDES) ||
         !off_its_way(p, state, hd__thread(p->tr, e));
}

static bool forbidden(const struct planner *p, uint32_t e) {
  const struct hd__goal *g = p->goal;
  for (unsigned i = 0; i < g->nnext; i++)
    if (g->next[i] == e) return true;
  return e == g->not_yet;
}

static bool may_execute(struct planner *p, uint32_t *state, uint32_t e) {
  if (forbidden(p, e) || !enabled(p, state, e)) return false;
  if (!p->tr->decides) return reads_the_same(p, state, e);
  if (!is_on_its_way(p, state, e)) return false;
  return !(p->tr->decides[e] & HD__TESTS) || reads_the_same(p, state, e);
}

/* Executes what the thread does that matters to no other, and returns its next event; HD__NONE: it has none. */
static uint32_t next_of(const struct planner *p, uint32_t *state, unsigned t) {
  const struct hd__trace *tr = p->tr;
  while (state[t] < p->upto[t]) {
    uint32_t e = hd__nth(tr, t, state[t] + 1);
    bool matters = tr->access_at[e + 1] > tr->access_at[e] || tr->opens[e] || tr->closes[e] ||
                   tr->edge_at[e + 1] > tr->edge_at[e] || tr->edge_source[e] ||
                   (tr->look.n && hd__look_of(tr, e)) || (tr->decides && tr->decides[e]) || forbidden(p, e);
    if (matters) return e;
    state[t]++;
  }
  return HD__NONE;
}

static void execute(struct planner *p, uint32_t *state, uint32_t e) {
  const struct hd__trace *tr = p->tr;
  unsigned t = hd__thread(tr, e);
  if (tr->decides && !reads_the_same(p, state, e)) state[tr->nthreads + p->nlocations + t] = 1;
  if (tr->access_kind[e] & HD__WRITES)
    for (uint32_t i = tr->access_at[e]; i < tr->access_at[e + 1]; i++)
      *writer_of(p, state, tr->access[i].location) = (e + 1) | (off_its_way(p, state, t) ? OTHER : 0);
  state[t]++;
  next_of(p, state, t);
}

static bool reached(struct planner *p, uint32_t *state) {
  const struct hd__goal *g = p->goal;
  for (unsigned i = 0; i < g->nnext; i++)
    if (p->tr->pos[g->next[i]] != state[hd__thread(p->tr, g->next[i])] + 1 ||
        !enabled(p, state, g->next[i]) || !is_on_its_way(p, state, g->next[i]))
      return false;
  if (g->before != HD__NONE && !executed(p, state, g->before)) return false;
  return g->location == HD__NONE || *writer_of(p, state, g->location) == g->before + 1;
}

/* ---- the heuristic ---- */

static void need(struct planner *p, const uint32_t *state, uint32_t e) {
  if (e == HD__NONE || executed(p, state, e)) return;
  if (hd__in_ideal(p->tr, p->upto, e)) {
    if (p->needed[e - p->lo] == p->round) return;
    p->needed[e - p->lo] = p->round;
  }
  hd_vec_push(&p->work, e);
}

/* What must come before an event, whatever else happens. */
static void need_before(struct planner *p, const uint32_t *state, uint32_t e) {
  need(p, state, hd__before(p->tr, e));
  for (uint32_t i = p->tr->edge_at[e]; i < p->tr->edge_at[e + 1]; i++)
    if (!is_missed(p, p->tr->edge[i], e)) need(p, state, p->tr->edge[i]);
}

/* What will do: for a read the write that it saw, for a lock the release by who has it. There may be other ways. */
static void need_condition(struct planner *p, uint32_t *state, uint32_t e) {
  const struct hd__trace *tr = p->tr;
  if (tr->access_kind[e] & HD__READS)
    for (uint32_t i = tr->access_at[e]; i < tr->access_at[e + 1]; i++) {
      uint32_t w = *writer_of(p, state, tr->access[i].location);
      if ((w & OTHER) || !hd__same_value(tr, e, w ? w - 1 : HD__NONE, &tr->access[i]))
        need(p, state, tr->access[i].from);
    }
  if (tr->opens[e]) {
    const struct hd__section *s = keeper(p, state, &tr->section.v[tr->opens[e] - 1]);
    if (s) need(p, state, s->release);
  }
}

/* The number of events of a relaxed plan; UINT32_MAX: the goal cannot be reached any more. */
static uint32_t estimate(struct planner *p, uint32_t *state) {
  const struct hd__trace *tr = p->tr;
  const struct hd__goal *g = p->goal;
  if (++p->round == 0) {
    memset(p->needed, 0, p->hi - p->lo);
    p->round = 1;
  }
  p->work.n = p->plan.n = 0;
  for (unsigned i = 0; i < g->nnext; i++) {
    if (executed(p, state, g->next[i])) return UINT32_MAX;
    need_before(p, state, g->next[i]);
  }
  if (g->before != HD__NONE) need(p, state, g->before);
  while (p->work.n) {
    uint32_t e = p->work.v[--p->work.n];
    if (forbidden(p, e) || !hd__in_ideal(tr, p->upto, e)) return UINT32_MAX;
    hd_vec_push(&p->plan, e);
    need_before(p, state, e);
  }
  for (size_t i = 0; i < p->plan.n; i++) {
    need_condition(p, state, p->plan.v[i]);
    while (p->work.n) {
      uint32_t e = p->work.v[--p->work.n];
      if (forbidden(p, e) || !hd__in_ideal(tr, p->upto, e)) continue;
      hd_vec_push(&p->plan, e);
      need_before(p, state, e);
    }
  }
  return (uint32_t)p->plan.n;
}

/* ---- search ---- */

static uint64_t hash_of(const struct planner *p, const uint32_t *state) {
  uint64_t h = 1;
  for (size_t i = 0; i < p->width; i++) h = hd__hash(h * 31 + state[i]);
  return h | 1;
}

static bool better(const struct planner *p, uint32_t a, uint32_t b) {
  uint32_t x = p->node.v[a].h, y = p->node.v[b].h;
  return x != y ? x < y : a > b;
}

static void heap_add(struct planner *p, uint32_t node) {
  hd_vec_push(&p->heap, node);
  for (size_t i = p->heap.n - 1; i && better(p, p->heap.v[i], p->heap.v[(i - 1) / 2]); i = (i - 1) / 2) {
    uint32_t t = p->heap.v[i];
    p->heap.v[i] = p->heap.v[(i - 1) / 2];
    p->heap.v[(i - 1) / 2] = t;
  }
}

static uint32_t heap_take(struct planner *p) {
  uint32_t top = p->heap.v[0];
  p->heap.v[0] = p->heap.v[--p->heap.n];
  for (size_t i = 0;;) {
    size_t least = i;
    for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < p->heap.n; k++)
      if (better(p, p->heap.v[k], p->heap.v[least])) least = k;
    if (least == i) return top;
    uint32_t t = p->heap.v[i];
    p->heap.v[i] = p->heap.v[least];
    p->heap.v[least] = t;
    i = least;
  }
}

/* Adds the state p->now unless it was seen; returns its node, HD__NONE: it was, or the goal is out of reach. */
static uint32_t add_node(struct planner *p, uint32_t parent, uint32_t event) {
  uint32_t *seen = hd__index_at(&p->seen, hash_of(p, p->now));
  if (*seen) return HD__NONE;
  *seen = 1;
  uint32_t h = estimate(p, p->now);
  if (h == UINT32_MAX) return HD__NONE;
  struct node x = {parent, event, h, p->states.n};
  p->states.v = hd_vec_grow(p->states.v, &p->states.cap, p->states.n + p->width, sizeof *p->states.v);
  memcpy(p->states.v + p->states.n, p->now, p->width * sizeof *p->now);
  p->states.n += p->width;
  hd_vec_push(&p->node, x);
  return (uint32_t)p->node.n - 1;
}

/* The nodes after one; only steps of its relaxed plan, if `helpful`. Calls `found` for each; that may stop it. */
static uint32_t expand(struct planner *p, uint32_t node, bool helpful,
                       bool found(struct planner *, uint32_t)) {
  const struct hd__trace *tr = p->tr;
  bool *may = NULL;
  if (helpful) { /* the marks are those of the state that was estimated last */
    memcpy(p->now, p->states.v + p->node.v[node].state, p->width * sizeof *p->now);
    estimate(p, p->now);
    may = hd_alloc(tr->nthreads + 1);
    for (unsigned t = 0; t < tr->nthreads; t++) {
      uint32_t e = next_of(p, p->now, t);
      may[t] = e != HD__NONE && p->needed[e - p->lo] == p->round;
    }
  }
  uint32_t result = HD__NONE;
  for (unsigned t = 0; t < tr->nthreads && result == HD__NONE; t++) {
    if (may && !may[t]) continue;
    memcpy(p->now, p->states.v + p->node.v[node].state, p->width * sizeof *p->now);
    uint32_t e = next_of(p, p->now, t);
    if (e == HD__NONE || !may_execute(p, p->now, e)) continue;
    execute(p, p->now, e);
    uint32_t added = add_node(p, node, e);
    if (added != HD__NONE && found(p, added)) result = added;
  }
  free(may);
  return result;
}

static bool is_goal(struct planner *p, uint32_t node) {
  return p->node.v[node].h == 0 && reached(p, p->states.v + p->node.v[node].state);
}

static bool over(const struct planner *p, uint32_t most) {
  return p->node.n >= most || p->states.n >= MOST_STATES || hd_now() > p->until;
}

static bool is_better(struct planner *p, uint32_t node) {
  return p->node.v[node].h < p->climb_from || is_goal(p, node);
}

/* Each time breadth-first to a node that is better. */
static uint32_t hill_climb(struct planner *p, uint32_t start) {
  uint32_t at = start;
  while (!is_goal(p, at)) {
    p->climb_from = p->node.v[at].h;
    uint32_t next = (uint32_t)p->node.n, found = expand(p, at, true, is_better);
    while (found == HD__NONE && next < p->node.n && !over(p, MOST_NODES / 4))
      found = expand(p, next++, true, is_better);
    if (found == HD__NONE) return HD__NONE;
    at = found;
  }
  return at;
}

static bool queue(struct planner *p, uint32_t node) {
  if (is_goal(p, node)) return true;
  heap_add(p, node);
  return false;
}

static uint32_t best_first(struct planner *p, uint32_t start, bool *complete) {
  *complete = true;
  if (queue(p, start)) return start;
  while (p->heap.n) {
    if (over(p, MOST_NODES)) {
      *complete = false;
      return HD__NONE;
    }
    uint32_t found = expand(p, heap_take(p), false, queue);
    if (found != HD__NONE) return found;
  }
  return HD__NONE;
}

/* ---- the whole ---- */

static void begin(struct planner *p) {
  const struct hd__trace *tr = p->tr;
  p->now = hd_alloc((p->width + 1) * sizeof *p->now);
  for (unsigned t = 0; t < tr->nthreads; t++) p->now[t] = p->done[t];
  for (size_t i = 0; i < p->location.cap; i++) {
    if (!p->location.key[i]) continue;
    uint32_t w = hd__last_write(tr, (uint32_t)p->location.key[i] - 1, p->done, p->hi);
    p->now[tr->nthreads + p->location.value[i] - 1] = w == HD__NONE ? 0 : w + 1;
  }
  for (unsigned t = 0; t < tr->nthreads; t++) next_of(p, p->now, t);
}

/* The steps to a node, and what their threads do between. */
static void write_order(struct planner *p, uint32_t node, struct hd_prediction *out) {
  const struct hd__trace *tr = p->tr;
  HD_VEC(uint32_t) step = {0};
  uint32_t *at = hd_alloc((tr->nthreads + 1) * sizeof *at);
  const uint32_t *end = p->states.v + p->node.v[node].state;
  for (uint32_t i = node; i != HD__NONE && p->node.v[i].event != HD__NONE; i = p->node.v[i].parent)
    hd_vec_push(&step, p->node.v[i].event);
  for (uint32_t e = 0; e < tr->n; e++)
    if (hd__in_ideal(tr, p->done, e)) hd_vec_push(&out->order, e);
  memcpy(at, p->done, tr->nthreads * sizeof *at);
  for (size_t i = step.n; i-- > 0;) {
    unsigned t = hd__thread(tr, step.v[i]);
    while (at[t] < tr->pos[step.v[i]]) hd_vec_push(&out->order, hd__nth(tr, t, ++at[t]));
  }
  for (unsigned i = 0; i < p->goal->nnext; i++) {
    unsigned t = hd__thread(tr, p->goal->next[i]);
    while (at[t] < end[t]) hd_vec_push(&out->order, hd__nth(tr, t, ++at[t]));
  }
  hd_vec_free(&step);
  free(at);
}

enum hd_smt_answer hd__plan(const struct hd__trace *tr, const uint32_t *done, const uint32_t *upto,
                            const struct hd__goal *goal, double until, struct hd_prediction *out) {
  struct planner p = {.tr = tr, .goal = goal, .done = done, .upto = upto, .until = until};
  hd__between(tr, done, upto, &p.lo, &p.hi);
  for (unsigned t = 0; t < tr->nthreads; t++)
    for (uint32_t pos = done[t] + 1; pos <= upto[t]; pos++) {
      uint32_t e = hd__nth(tr, t, pos);
      for (uint32_t i = tr->access_at[e]; i < tr->access_at[e + 1]; i++) {
        uint32_t *at = hd__index_at(&p.location, (uint64_t)tr->access[i].location + 1);
        if (!*at) *at = ++p.nlocations;
      }
    }
  p.width = tr->nthreads + p.nlocations + (tr->decides ? tr->nthreads : 0);
  p.needed = hd_alloc((size_t)p.hi - p.lo + 1);
  begin(&p);
  bool complete = true;
  uint32_t *start = hd_alloc((p.width + 1) * sizeof *start);
  memcpy(start, p.now, p.width * sizeof *start);
  uint32_t first = add_node(&p, HD__NONE, HD__NONE), found = HD__NONE;
  if (first != HD__NONE) found = hill_climb(&p, first);
  if (first != HD__NONE && found == HD__NONE) {
    hd__index_fini(&p.seen);
    p.node.n = p.states.n = 0;
    memcpy(p.now, start, p.width * sizeof *start);
    first = add_node(&p, HD__NONE, HD__NONE);
    found = best_first(&p, first, &complete);
  }
  if (found != HD__NONE) write_order(&p, found, out);
  free(start);
  free(p.now);
  free(p.needed);
  hd__index_fini(&p.location);
  hd__index_fini(&p.seen);
  hd_vec_free(&p.states);
  hd_vec_free(&p.node);
  hd_vec_free(&p.heap);
  hd_vec_free(&p.plan);
  hd_vec_free(&p.work);
  return found != HD__NONE ? HD_SMT_SAT : complete ? HD_SMT_UNSAT : HD_SMT_UNKNOWN;
}

enum hd_smt_answer hd__plan_query(struct hd__run *r, enum hd_detector d, const uint32_t *done,
                                  const uint32_t *upto, const struct hd__goal *goal, struct hd_prediction *p,
                                  bool keep) {
  double seconds = hd__plans_first(r) && r->has_solver ? QUICK : r->o->query_seconds;
  enum hd_smt_answer a = hd__plan(r->tr, done, upto, goal, hd_now() + seconds, p);
  if (r->o->pddl) hd__pddl_write(r, d, done, upto, goal, a);
  if (a == HD_SMT_SAT &&
      (!hd__order_valid(r->tr, p->order.v, p->order.n, goal->next, goal->nnext, &p->broken) ||
       !hd__allows(r->tr, p->broken)))
    a = HD_SMT_UNKNOWN; /* a bug of ours */
  p->certainty = hd__certainty(p->broken);
  if (a != HD_SMT_SAT || !keep) {
    hd_prediction_fini(p);
    return a;
  }
  r->entries += p->order.n;
  hd_vec_push(&r->out->v, *p);
  r->stats->detector[d].predicted++;
  return a;
}

enum hd_smt_answer hd__agree(struct hd__run *r, enum hd_smt_answer solver, enum hd_smt_answer planner) {
  if (solver == HD_SMT_UNKNOWN) return planner;
  if (planner != HD_SMT_UNKNOWN && planner != solver) r->stats->disagreed++;
  return solver;
}

/* strategy_dpor.c: dynamic partial order reduction with sleep sets. Runs in the tested process; all that must
 * survive it is in the search area, so a new process goes on where the last one died.
 *
 * Flanagan, Godefroid, "Dynamic Partial-Order Reduction for Model Checking Software", POPL 2005: after an
 * execution, for every race (e, f) the state before e gets a branch that leads to f before e. Sleep sets
 * (Godefroid 1996) keep a branch from running again what an earlier one covered; an execution in which everything
 * enabled is asleep is given up and counted as blocked. Differences from the paper:
 *  - Which thread begins the branch: one that can come first in what happened after e without depending on it,
 *    followed by f (a source set: Abdulla, Aronis, Jonsson, Sagonas, POPL 2014, algorithm 1). The paper takes any
 *    thread with an event in between that happens before f; that also works, and explores more.
 *  - All races of f are reversed, not only the last: trace.c finds those with nothing in between that orders them,
 *    and reversing one of them does not always show the others.
 *  - Outcomes of choices: a branch is a thread; it is left for the next one when all its outcomes were explored.
 *    Each outcome sleeps on its own, since they can depend on different things (one may stop the program).
 *  - Operations that never ran (a lock that was never obtained, a thread the end of the process cut off) race
 *    like executed ones (trace.c, hd__trace_end).
 * The lock-set refinement (two operations whose threads hold a common lock are not co-enabled, so they need no
 * branch) is not a test of its own here: the release by the first thread happens before the acquire by the second,
 * so operations under a common lock are ordered by happens-before and trace.c never calls them a race. What races
 * is the acquires (trace.c, invariant 3).
 *
 * Invariants
 *  1. node[k] is the state after the first k steps: the branch being explored, the threads that need a branch, and
 *     what sleeps there: each operation that was explored from there, or slept before and nothing dependent on it
 *     was executed since.
 *  2. A thread asleep at a node is never run from it; what it would do is covered by an earlier branch.
 *  3. Nodes below `depth` do not change while an execution runs, and later ones are written anew, so the same
 *     execution can be tried again from the start. All conclusions are drawn in end(). */
#include "explore/explore_int.h"

struct sleeper {
  struct hd_op op;
  uint16_t choice, nchoices; /* the outcome it had, of how many */
  uint32_t flags;
};

struct node {
  uint16_t thread; /* the branch being explored; its outcome is the first that does not sleep */
  uint32_t nsleep;
  struct sleeper *sleep; /* allocated on the sleep stack, in the order of the nodes */
  struct hd_set enabled;
  struct hd_set backtrack; /* threads that need a branch, those that had theirs included */
};

struct dpor {
  uint32_t ready; /* memory is laid out */
  uint32_t depth; /* nodes fixed for the next execution */
  uint32_t at;    /* steps of the execution under way */
  uint32_t complete;
  struct node *node;
  uint32_t node_cap;
  struct sleeper *sleep_next, *sleep_end;
};

static struct hd_trace trace;

static struct dpor *state(struct hd_search *s) { return (struct dpor *)s->memory; }

static void lay_out(struct hd_search *s) {
  struct dpor *d = state(s);
  char *m = s->memory + 4096;
  uint64_t size = s->memory_size / 2 - 4096;
  *d =
      (struct dpor){.ready = 1, .node = (struct node *)m, .node_cap = (uint32_t)(size / 2 / sizeof *d->node)};
  m += size / 2;
  d->sleep_next = (struct sleeper *)m;
  d->sleep_end = d->sleep_next + size / 2 / sizeof *d->sleep_next;
}

/* ---- sleep sets ---- */

static void put_to_sleep(struct dpor *d, struct node *n, struct sleeper q) {
  if (d->sleep_next == d->sleep_end)
    hd_give_up("the search needs more memory than it has: try a smaller program or a sampling strategy");
  *d->sleep_next++ = q;
  n->nsleep++;
}

static int outcome_sleeps(const struct node *n, unsigned thread, unsigned choice) {
  for (uint32_t i = 0; i < n->nsleep; i++)
    if (n->sleep[i].op.thread == thread && n->sleep[i].choice == choice) return 1;
  return 0;
}

/* Whether the thread sleeps with all its outcomes. */
static int asleep(const struct node *n, unsigned thread) {
  unsigned outcomes = 0, of = 0;
  for (uint32_t i = 0; i < n->nsleep; i++)
    if (n->sleep[i].op.thread == thread) {
      outcomes++;
      of = n->sleep[i].nchoices;
    }
  return outcomes && outcomes >= of;
}

/* What sleeps at a new node: what slept before and is independent of the step just made. */
static void inherit(struct dpor *d, struct node *n) {
  n->sleep = d->sleep_next;
  n->nsleep = 0;
  if (!d->at) return;
  const struct node *up = &d->node[d->at - 1];
  const struct hd_ev *e = &trace.ev[d->at - 1];
  for (uint32_t i = 0; i < up->nsleep; i++) {
    const struct sleeper *q = &up->sleep[i];
    if (q->op.thread != e->op.thread && !hd__dependent(&q->op, q->flags, &e->op, e->flags))
      put_to_sleep(d, n, *q);
  }
}

/* ---- races ---- */

/* The first event of each thread in the sequence v that a race asks for; HD_NONE: it has none. */
static uint32_t first[HD_MAX_THREADS];

/* Whether nothing in v so far happens before an operation with this clock. */
static int comes_first(const uint32_t *clock) {
  for (uint32_t i = 0; i < trace.nthreads; i++)
    if (first[i] != HD_NONE && clock[i] >= trace.ev[first[i]].index) return 0;
  return 1;
}

/* Whether the second operation of the race can come before all of v. */
static int second_comes_first(const struct hd_race *r) {
  static const uint32_t none[HD_MAX_THREADS];
  const uint32_t *pred = none;
  if (r->f != HD_NONE)
    pred = trace.ev[r->f].pred;
  else if (trace.last[r->thread] != HD_NONE)
    pred = trace.ev[trace.last[r->thread]].clock;
  if (!comes_first(pred)) return 0;
  for (uint32_t i = r->e + 1; i < trace.n; i++)
    if (hd__stays(&trace, r, i) && hd__dependent(&trace.ev[i].op, trace.ev[i].flags, &r->op, 0)) return 0;
  return 1;
}

/* v = what happened after e without depending on it, then the second operation. One of the threads that can begin
 * v must have a branch before e. */
static void reverse(struct dpor *d, const struct hd_race *r) {
  struct node *n = &d->node[r->e];
  int found = -1;
  for (uint32_t i = 0; i < trace.nthreads; i++) first[i] = HD_NONE;
  for (uint32_t i = r->e + 1; i < trace.n; i++) {
    unsigned t = trace.ev[i].op.thread;
    if (first[t] != HD_NONE || !hd__stays(&trace, r, i)) continue;
    if (comes_first(trace.ev[i].clock)) {
      if (hd_set_has(&n->backtrack, t) || asleep(n, t)) return; /* covered */
      if (found < 0 && hd_set_has(&n->enabled, t)) found = (int)t;
    }
    first[t] = i;
  }
  if (second_comes_first(r)) {
    if (hd_set_has(&n->backtrack, r->thread) || asleep(n, r->thread)) return;
    if (hd_set_has(&n->enabled, r->thread)) found = r->thread;
  }
  if (found >= 0)
    hd_set_add(&n->backtrack, (unsigned)found);
  else /* as in the paper, when it is not known who leads there */
    for (unsigned i = 0; i < HD_SET_WORDS; i++) n->backtrack.w[i] |= n->enabled.w[i];
}

/* ---- the strategy ---- */

static int begin(struct hd_search *s) {
  struct dpor *d = state(s);
  if (!d->ready) lay_out(s);
  if (d->complete) return 0;
  if (!trace.ev) hd__trace_init(&trace, s->scratch);
  hd__trace_begin(&trace);
  d->at = 0;
  if (d->depth) /* a try that was given up may have left more */
    d->sleep_next = d->node[d->depth - 1].sleep + d->node[d->depth - 1].nsleep;
  return 1;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct dpor *d = state(s);
  if (d->at != trace.n || d->at == d->node_cap) return HD_PICK_DIVERGED;
  struct node *n = &d->node[d->at];
  if (d->at < d->depth) {
    d->at++;
    return n->thread < p->words * 64 && hd_set_has(p->enabled, n->thread) ? n->thread : HD_PICK_DIVERGED;
  }
  *n = (struct node){0};
  for (unsigned i = 0; i < p->words; i++) n->enabled.w[i] = p->enabled->w[i];
  inherit(d, n);
  /* Staying with the running thread makes the first execution a plain one. */
  int best = -1;
  if (hd_set_has(p->enabled, p->current) && !asleep(n, p->current)) best = (int)p->current;
  for (unsigned i = 0; best < 0 && i < p->words * 64; i++)
    if (hd_set_has(p->enabled, i) && !asleep(n, i)) best = (int)i;
  if (best < 0) return HD_PICK_GIVE_UP;
  n->thread = (uint16_t)best;
  hd_set_add(&n->backtrack, n->thread);
  d->at++;
  return best;
}

static int choose(struct hd_search *s, unsigned k) {
  const struct node *n = &state(s)->node[state(s)->at - 1];
  for (unsigned c = 0; c < k; c++)
    if (!outcome_sleeps(n, n->thread, c)) return (int)c;
  return HD_PICK_DIVERGED;
}

static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  (void)s;
  hd__trace_event(&trace, op, flags, choice, nchoices);
}

/* A thread that needs a branch and does not sleep; -1 when there is none. */
static int next_branch(const struct node *n) {
  for (unsigned i = 0; i < HD_SET_WORDS; i++)
    for (uint64_t left = n->backtrack.w[i]; left; left &= left - 1) {
      unsigned t = i * 64 + (unsigned)__builtin_ctzll(left);
      if (!asleep(n, t)) return (int)t;
    }
  return -1;
}

/* Leaves the branch that was just explored for the next one, from the deepest node up. Returns 0 when there
 * is none. */
static int backtrack(struct dpor *d, uint32_t running) {
  for (uint32_t k = running; k-- > 0;) {
    struct node *n = &d->node[k];
    const struct hd_ev *e = &trace.ev[k];
    d->depth = k + 1;
    d->sleep_next = n->sleep + n->nsleep;
    put_to_sleep(d, n, (struct sleeper){e->op, e->choice, e->nchoices, e->flags});
    int t = asleep(n, n->thread) ? next_branch(n) : n->thread;
    if (t >= 0) {
      n->thread = (uint16_t)t;
      return 1;
    }
  }
  return 0;
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  struct dpor *d = state(s);
  uint32_t running = d->at < trace.n ? d->at : trace.n;
  if (how == HD_HOW_STOPPED) hd__trace_stop(&trace);
  hd__count_class(s, &trace, how);
  /* Also of an execution that was given up: what it did, and what could not run in it, may race like anything
   * else; only what sleeps has been seen to by the branch that covers it. */
  hd__trace_end(&trace, p);
  for (uint32_t i = 0; i < trace.nraces; i++) reverse(d, &trace.race[i]);
  d->complete = !backtrack(d, running);
  return !d->complete;
}

static void forget(struct hd_search *s) {
  state(s)->ready = 0;
  hd__forget_classes(s);
}

const struct hd_strategy hd_strategy_dpor = {.name = "dpor",
                                             .systematic = 1,
                                             .begin = begin,
                                             .pick = pick,
                                             .choose = choose,
                                             .event = event,
                                             .end = end,
                                             .forget = forget};

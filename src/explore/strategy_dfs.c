/* strategy_dfs.c: every interleaving of visible operations, and every outcome of every choice. Runs in the
 * tested process. The reference that the reductions are checked against; exponential, and meant to be.
 *
 * Two strategies that differ in the order only: `dfs` takes the children of a node in increasing order, `rdfs`
 * in one that depends on the seed: a bug that hides in the last corner for one seed comes early for another
 * (the baseline "randomised DFS" of the literature).
 *
 * Under a bound (bounds.c) a thread that would cost more than is left is no child of the node.
 *
 * Several workers: each has a stack of its own; below `base` it is only followed. One that has nothing to do is
 * given all children that are left at the shallowest node of another.
 *
 * Invariants
 *  1. The first `depth` nodes are fixed before an execution begins and do not change while it runs; later ones
 *     are drawn from the stream of (seed, number of the execution), so the same try can be made again.
 *  2. A thread is in `left` of a node while it has not been tried there. Outcomes of a choice are tried in the
 *     order first, first + stride, first + 2 stride, ... modulo their number, with a stride prime to it. */
#include "explore/explore_int.h"

struct node {
  uint16_t pick;     /* thread, or outcome */
  uint16_t choices;  /* 0: a step; else the number of outcomes */
  uint16_t stride;   /* of the outcomes */
  uint16_t tried;    /* outcomes tried before this one */
  uint64_t children; /* of a step: threads that can go */
  struct hd_set left;
};

/* The stack of one worker, in its slot. */
struct unit {
  uint64_t epoch;  /* of the search that it belongs to; another: nothing here counts */
  uint32_t active; /* there is something left to explore */
  uint32_t base;   /* nodes from here on are its own */
  uint32_t depth;  /* nodes whose pick is fixed for the next execution */
  uint32_t at;     /* nodes used by the one under way */
  struct node node[];
};

/* The head of the search area. */
struct dfs {
  uint64_t epoch; /* counts the times the search began */
  uint32_t ready, started;
  uint32_t live; /* active units */
  uint32_t complete;
};
#define HEAD 4096

static struct hd_order trace;
static int shuffled;  /* rdfs */
static unsigned used; /* of the bound, by the execution under way */
static struct unit *unit;

static struct dfs *head(struct hd_search *s) { return (struct dfs *)s->memory; }
static uint64_t slot_size(const struct hd_search *s) {
  return ((s->memory_size / 2 - HEAD) / HD_MAX_WORKERS) & ~7ull;
}
static uint32_t capacity(const struct hd_search *s) {
  return (uint32_t)((slot_size(s) - sizeof(struct unit)) / sizeof(struct node));
}
static struct unit *slot(struct hd_search *s, unsigned i) {
  return (struct unit *)(s->memory + HEAD + i * slot_size(s));
}

static int active(struct hd_search *s, unsigned i) {
  return slot(s, i)->epoch == head(s)->epoch && slot(s, i)->active;
}

/* Something for a worker that has nothing to do. pre: the lock is held. */
static int find_work(struct hd_search *s, struct unit **u) {
  struct dfs *d = head(s);
  if (d->complete) return 0;
  if ((*u)->active) return 1; /* it was given something */
  if (!d->started) {
    HD_REDO(s, d->started, 1);
    HD_REDO(s, d->live, 1);
    HD_REDO(s, (*u)->active, 1);
    hd__redo_commit(s);
    return 1;
  }
  if (hd__slot_adopt(s, active)) {
    *u = slot(s, hd__slot(s));
    return 1;
  }
  s->shared->hungry |= 1ull << s->worker;
  return HD_BEGIN_LATER;
}

static struct unit *my_unit(struct hd_search *s) {
  uint64_t epoch = head(s)->epoch;
  struct unit *u = slot(s, hd__slot(s));
  if (u->epoch != epoch) *u = (struct unit){.epoch = epoch};
  return u;
}

static int begin(struct hd_search *s, int shuffle) {
  struct dfs *d = head(s);
  if (!d->ready) {
    hd_search_lock(s);
    if (!d->ready) {
      hd__slots_anew(s);
      *d = (struct dfs){.epoch = d->epoch + 1, .ready = 1};
    }
    hd_search_unlock(s);
  }
  struct unit *u = my_unit(s);
  if (!u->active) {
    hd_search_lock(s);
    int found = find_work(s, &u);
    hd_search_unlock(s);
    if (found <= 0) return found;
  }
  unit = u;
  shuffled = shuffle;
  u->at = 0;
  used = 0;
  hd_rng_seed(&s->rng, s->config->seed, s->execution);
  if (!trace.ev) hd_order_init(&trace, s->scratch);
  hd_order_begin(&trace);
  return 1;
}

static int begin_dfs(struct hd_search *s) { return begin(s, 0); }
static int begin_rdfs(struct hd_search *s) { return begin(s, 1); }

/* Takes the next member out of the set; -1 when it is empty. */
static int draw(struct hd_search *s, struct hd_set *set) {
  unsigned n = 0;
  for (unsigned i = 0; i < HD_SET_WORDS; i++) n += (unsigned)__builtin_popcountll(set->w[i]);
  if (!n) return -1;
  unsigned t = hd_set_nth(set, shuffled ? hd_rng_below(&s->rng, n) : 0);
  hd_set_del(set, t);
  return (int)t;
}

/* Takes out of the set what the bound does not allow. */
static void keep_bound(struct hd_search *s, const struct hd_point *p, const struct hd_bound_at *at,
                       struct hd_set *set) {
  for (unsigned i = 0; i < p->words * 64; i++)
    if (hd_set_has(set, i) && used + hd__bound_cost(at, p->enabled, p->words, i) > hd__bound(s)) {
      hd_set_del(set, i);
      s->status->bound_cut = 1;
    }
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct unit *d = unit;
  if (d->at == capacity(s)) return HD_PICK_GIVE_UP;
  struct node *n = &d->node[d->at++];
  struct hd_bound_at at = hd__bound_at(s, p);
  if (d->at > d->depth) {
    *n = (struct node){0};
    for (unsigned i = 0; i < p->words; i++) n->left.w[i] = p->enabled->w[i];
    if (at.kind) keep_bound(s, p, &at, &n->left);
    for (unsigned i = 0; i < p->words; i++) n->children += (unsigned)__builtin_popcountll(n->left.w[i]);
    n->pick = (uint16_t)draw(s, &n->left);
  }
  if (at.kind) used += hd__bound_cost(&at, p->enabled, p->words, n->pick);
  return n->pick;
}

static unsigned gcd(unsigned a, unsigned b) {
  while (b) {
    unsigned r = a % b;
    a = b;
    b = r;
  }
  return a;
}

static int choose(struct hd_search *s, unsigned k) {
  struct unit *d = unit;
  if (d->at == capacity(s)) return HD_PICK_GIVE_UP;
  struct node *n = &d->node[d->at++];
  if (d->at <= d->depth) return n->pick;
  *n = (struct node){.choices = (uint16_t)k, .stride = 1};
  if (shuffled) {
    unsigned stride = 1 + hd_rng_below(&s->rng, k - 1);
    while (gcd(stride, k) != 1) stride = stride % (k - 1) + 1;
    n->stride = (uint16_t)stride;
    n->pick = (uint16_t)hd_rng_below(&s->rng, k);
  }
  return n->pick;
}

static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  (void)s;
  hd_order_event(&trace, op, flags, choice, nchoices);
}

/* Moves on to the next child of the node; returns 0 when it has none left. */
static int next_child(struct hd_search *s, struct node *n) {
  if (n->choices) {
    if (++n->tried == n->choices) return 0;
    n->pick = (uint16_t)((n->pick + n->stride) % n->choices);
    return 1;
  }
  int t = draw(s, &n->left);
  if (t < 0) return 0;
  n->pick = (uint16_t)t;
  return 1;
}

static void estimate(struct hd_search *s, const struct unit *d) {
  double p = 1, done = 0;
  for (uint32_t k = 0; k < d->depth; k++) {
    const struct node *n = &d->node[k];
    double left = 0, of = n->choices ? n->choices : n->children;
    for (unsigned i = 0; i < HD_SET_WORDS; i++) left += __builtin_popcountll(n->left.w[i]);
    done += p * (n->choices ? n->tried : of - 1 - left) / of;
    p /= of;
  }
  hd__estimate(s, done, p);
}

/* Somebody has nothing to do: gives him the children that are left at our shallowest node that has any. */
static void donate(struct hd_search *s, struct unit *u) {
  struct dfs *d = head(s);
  hd_search_lock(s);
  uint64_t hungry = s->shared->hungry & ~(1ull << s->worker);
  unsigned w = hungry ? (unsigned)__builtin_ctzll(hungry) : s->worker;
  struct unit *v = slot(s, w);
  int can = hungry && s->status->epoch == s->shared->epoch && v->epoch == d->epoch && !v->active;
  for (uint32_t k = u->base; can && k + 1 < u->depth; k++) {
    struct node given = u->node[k], rest = u->node[k];
    if (!next_child(s, &given)) continue;
    for (uint32_t i = 0; i < k; i++) v->node[i] = u->node[i];
    v->node[k] = given;
    rest.left = (struct hd_set){{0}};
    if (rest.choices) rest.choices = (uint16_t)(rest.tried + 1);
    hd__redo_copy(s, &u->node[k], &rest, sizeof rest);
    HD_REDO(s, v->base, k);
    HD_REDO(s, v->depth, k + 1);
    HD_REDO(s, v->active, 1);
    HD_REDO(s, d->live, d->live + 1);
    hd__redo_commit(s);
    s->shared->hungry &= ~(1ull << w);
    break;
  }
  hd_search_unlock(s);
}

static void finish(struct hd_search *s, struct unit *u) {
  struct dfs *d = head(s);
  hd_search_lock(s);
  if (s->status->epoch == s->shared->epoch) {
    HD_REDO(s, u->active, 0);
    HD_REDO(s, s->shared->slot_of[s->worker], 0);
    HD_REDO(s, d->live, d->live - 1);
    HD_REDO(s, d->complete, d->live == 1);
    hd__redo_tally(s);
    hd__redo_commit(s);
  }
  hd_search_unlock(s);
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  struct unit *u = unit;
  (void)p;
  /* Another worker has begun the search anew meanwhile: this execution is void. */
  if (s->status->epoch != s->shared->epoch) return 1;
  if (how == HD_HOW_STOPPED) hd_order_stop(&trace);
  hd__count_class(s, &trace, how);
  /* The step to the next execution is made at once, so that it is made once if the process is killed here. */
  for (uint32_t k = u->at; k-- > u->base;) {
    struct node next = u->node[k];
    if (!next_child(s, &next)) continue;
    hd__redo_copy(s, &u->node[k], &next, sizeof next);
    HD_REDO(s, u->depth, k + 1);
    hd__redo_tally(s);
    hd__redo_commit(s);
    if (s->shared->hungry & ~(1ull << s->worker)) donate(s, u);
    if (s->workers == 1 && s->execution % HD_ESTIMATE_EVERY == 0) estimate(s, u);
    return 1;
  }
  finish(s, u);
  return !head(s)->complete;
}

static void forget(struct hd_search *s) {
  head(s)->ready = 0;
  hd__forget_classes(s);
}

#define STRATEGY(id, text)                                          \
  const struct hd_strategy hd_strategy_##id = {.name = text,        \
                                               .systematic = 1,     \
                                               .begin = begin_##id, \
                                               .pick = pick,        \
                                               .choose = choose,    \
                                               .event = event,      \
                                               .end = end,          \
                                               .forget = forget}

STRATEGY(dfs, "dfs");
STRATEGY(rdfs, "rdfs");

/* strategy_rdfs.c: depth-first search with the children of every node in random order. Runs in the tested
 * process.
 *
 * Explores exactly what strategy_dfs.c explores, in an order that depends on the seed: a bug that hides in the
 * last corner for one seed comes early for another (the baseline "randomised DFS" of the literature). Complete
 * when exhausted.
 *
 * Invariants
 *  1. The first `depth` nodes are fixed before an execution begins and do not change while it runs; later ones
 *     are drawn from the stream of (seed, number of the execution), so the same try can be made again.
 *  2. A thread is in `left` of a node while it has not been tried there. Outcomes of a choice are tried in the
 *     order first, first + stride, first + 2 stride, ... modulo their number, with a stride prime to it. */
#include "explore/explore_int.h"

struct node {
  uint16_t pick;    /* thread, or outcome */
  uint16_t choices; /* 0: a step; else the number of outcomes */
  uint16_t stride;  /* of the outcomes */
  uint16_t tried;   /* outcomes tried before this one */
  struct hd_set left;
};

struct rdfs {
  uint32_t depth; /* nodes whose pick is fixed for the next execution */
  uint32_t at;    /* nodes used by the one under way */
  struct node node[];
};

static struct hd_trace trace;

static struct rdfs *state(struct hd_search *s) { return (struct rdfs *)s->memory; }
static uint32_t capacity(const struct hd_search *s) {
  return (uint32_t)((s->memory_size / 2 - sizeof(struct rdfs)) / sizeof(struct node));
}

static int begin(struct hd_search *s) {
  state(s)->at = 0;
  hd_rng_seed(&s->rng, s->config->seed, s->execution);
  if (!trace.ev) hd__trace_init(&trace, s->scratch);
  hd__trace_begin(&trace);
  return 1;
}

/* Takes a random member out of the set; -1 when it is empty. */
static int draw(struct hd_search *s, struct hd_set *set) {
  unsigned n = 0;
  for (unsigned i = 0; i < HD_SET_WORDS; i++) n += (unsigned)__builtin_popcountll(set->w[i]);
  if (!n) return -1;
  unsigned t = hd_set_nth(set, hd_rng_below(&s->rng, n));
  hd_set_del(set, t);
  return (int)t;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct rdfs *d = state(s);
  if (d->at == capacity(s)) return HD_PICK_GIVE_UP;
  struct node *n = &d->node[d->at++];
  if (d->at <= d->depth) return n->pick;
  *n = (struct node){0};
  for (unsigned i = 0; i < p->words; i++) n->left.w[i] = p->enabled->w[i];
  n->pick = (uint16_t)draw(s, &n->left);
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
  struct rdfs *d = state(s);
  if (d->at == capacity(s)) return HD_PICK_GIVE_UP;
  struct node *n = &d->node[d->at++];
  if (d->at <= d->depth) return n->pick;
  unsigned stride = 1 + hd_rng_below(&s->rng, k - 1);
  while (gcd(stride, k) != 1) stride = stride % (k - 1) + 1;
  *n = (struct node){
      .pick = (uint16_t)hd_rng_below(&s->rng, k), .choices = (uint16_t)k, .stride = (uint16_t)stride};
  return n->pick;
}

static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  (void)s;
  hd__trace_event(&trace, op, flags, choice, nchoices);
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

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  struct rdfs *d = state(s);
  (void)p;
  if (how == HD_HOW_STOPPED) hd__trace_stop(&trace);
  hd__count_class(s, &trace, how);
  for (d->depth = d->at; d->depth; d->depth--)
    if (next_child(s, &d->node[d->depth - 1])) return 1;
  return 0;
}

static void forget(struct hd_search *s) {
  state(s)->depth = 0;
  hd__forget_classes(s);
}

const struct hd_strategy hd_strategy_rdfs = {.name = "rdfs",
                                             .systematic = 1,
                                             .begin = begin,
                                             .pick = pick,
                                             .choose = choose,
                                             .event = event,
                                             .end = end,
                                             .forget = forget};

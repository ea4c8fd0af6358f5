/* strategy_dfs.c: every interleaving of visible operations, and every outcome of every choice. Runs in the
 * tested process. The reference that the reductions are checked against; exponential, and meant to be.
 *
 * The stack holds, for each step, the alternatives that are left: for a step the enabled threads not yet
 * tried (in increasing order), for a choice the next outcome. */
#include "explore/explore_int.h"

struct node {
  uint16_t pick;    /* thread, or outcome */
  uint16_t choices; /* 0: a step; else the number of outcomes */
  struct hd_set left;
};

struct dfs {
  uint32_t depth; /* nodes whose pick is fixed for the next execution */
  uint32_t at;    /* nodes used by the one under way */
  struct node node[];
};

static struct hd_trace trace;

static struct dfs *state(struct hd_search *s) { return (struct dfs *)s->memory; }
static uint32_t capacity(const struct hd_search *s) {
  return (uint32_t)((s->memory_size / 2 - sizeof(struct dfs)) / sizeof(struct node));
}

static int begin(struct hd_search *s) {
  state(s)->at = 0;
  if (!trace.ev) hd__trace_init(&trace, s->scratch);
  hd__trace_begin(&trace);
  return 1;
}

static int next_in(const struct hd_set *set, unsigned words) {
  for (unsigned i = 0; i < words; i++)
    if (set->w[i]) return (int)(i * 64 + (unsigned)__builtin_ctzll(set->w[i]));
  return -1;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct dfs *d = state(s);
  if (d->at == capacity(s)) return HD_PICK_GIVE_UP;
  struct node *n = &d->node[d->at++];
  if (d->at <= d->depth) return n->pick;
  *n = (struct node){0};
  for (unsigned i = 0; i < p->words; i++) n->left.w[i] = p->enabled->w[i];
  n->pick = (uint16_t)next_in(&n->left, p->words);
  hd_set_del(&n->left, n->pick);
  return n->pick;
}

static int choose(struct hd_search *s, unsigned k) {
  struct dfs *d = state(s);
  if (d->at == capacity(s)) return HD_PICK_GIVE_UP;
  struct node *n = &d->node[d->at++];
  if (d->at <= d->depth) return n->pick;
  *n = (struct node){.choices = (uint16_t)k};
  return 0;
}

static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  (void)s;
  hd__trace_event(&trace, op, flags, choice, nchoices);
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  struct dfs *d = state(s);
  (void)p;
  if (how == HD_HOW_STOPPED) hd__trace_stop(&trace);
  hd__count_class(s, &trace, how);
  d->depth = d->at;
  while (d->depth) {
    struct node *n = &d->node[d->depth - 1];
    int next = n->choices ? (n->pick + 1 < n->choices ? n->pick + 1 : -1) : next_in(&n->left, HD_SET_WORDS);
    if (next >= 0) {
      n->pick = (uint16_t)next;
      if (!n->choices) hd_set_del(&n->left, (unsigned)next);
      return 1;
    }
    d->depth--;
  }
  return 0;
}

static void forget(struct hd_search *s) {
  state(s)->depth = 0;
  hd__forget_classes(s);
}

const struct hd_strategy hd_strategy_dfs = {.name = "dfs",
                                            .systematic = 1,
                                            .begin = begin,
                                            .pick = pick,
                                            .choose = choose,
                                            .event = event,
                                            .end = end,
                                            .forget = forget};

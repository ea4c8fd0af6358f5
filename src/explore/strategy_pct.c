/* strategy_pct.c: probabilistic concurrency testing. Runs in the tested process.
 *
 * Burckhardt, Kothari, Musuvathi, Nagarakatte, "A Randomized Scheduler with Probabilistic Guarantees of Finding
 * Bugs", ASPLOS 2010. Every thread has a priority, drawn at random when it appears; the enabled thread with the
 * highest priority goes. At d - 1 steps, drawn uniformly from the k steps of an execution, the thread that has
 * just run gets a priority below all initial ones. A bug of depth d (one that needs d ordering constraints) is
 * found by one execution with a probability of at least 1 / (n k^(d-1)), for n threads and k steps.
 *
 * Differences from the paper:
 *  - k is learned: the longest execution so far. The first one runs without change points to learn it (it finds
 *    bugs of depth 1 as any other does). An execution longer than all before has change points in its first k
 *    steps only; the guarantee is that of the k in force.
 *  - Threads that yield, sleep or begin: see priorities.c. Creating a thread is no step. In programs that do neither
 *    of the former nothing else changes.
 *
 * Invariants
 *  1. What an execution does depends on the seed, its number and k; k changes only in end().
 *  2. Priorities are distinct: change point i of 1 .. d-1 gives i, less than any initial one. */
#include "explore/explore_int.h"
#include "model/unit.h"

#define MAX_DEPTH 64

struct pct {
  uint64_t k; /* steps of the longest execution so far; 0: none yet */
};

/* The execution under way. */
struct run {
  struct hd_priorities threads;
  unsigned nchanges;
  uint64_t change_at[MAX_DEPTH]; /* step after which change point i (from 1) takes place */
  uint64_t steps;
};

static struct pct *state(struct hd_search *s) { return (struct pct *)s->memory; }

static int begin(struct hd_search *s) {
  struct run *r = hd__own(s, sizeof *r);
  hd_rng_seed(&s->rng, s->config->seed, s->execution);
  hd__sample_begin(s);
  hd__priorities_begin(&r->threads);
  r->steps = 0;
  uint64_t k = state(s)->k;
  r->nchanges = k ? s->config->depth - 1 : 0;
  if (r->nchanges >= MAX_DEPTH) r->nchanges = MAX_DEPTH - 1;
  for (unsigned i = 1; i <= r->nchanges; i++) r->change_at[i] = 1 + hd_rng_below(&s->rng, (uint32_t)k);
  return 1;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct run *r = s->own;
  unsigned t = hd__priorities_highest(s, &r->threads, p);
  if (hd__begins(p->op[t])) return (int)t;
  r->steps++;
  for (unsigned i = 1; i <= r->nchanges; i++)
    if (r->change_at[i] == r->steps) r->threads.of[t] = i;
  hd__priorities_picked(&r->threads, p->op[t], t);
  return (int)t;
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  const struct run *r = s->own;
  (void)p;
  hd__sample_end(s, how);
  if (r->steps > state(s)->k && r->steps <= UINT32_MAX) state(s)->k = r->steps;
  return 1;
}

static void save(struct hd_search *s, struct hd_writer *out) { hd_put_number(out, state(s)->k); }
static void load(struct hd_search *s, struct hd_reader *r) { state(s)->k = hd_get_number(r, UINT32_MAX); }

const struct hd_strategy hd_strategy_pct = {.name = "pct",
                                            .begin = begin,
                                            .pick = pick,
                                            .choose = hd__sample_choose,
                                            .event = hd__sample_event,
                                            .end = end,
                                            .save = save,
                                            .load = load};

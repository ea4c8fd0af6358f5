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
 *  - A thread that yields or sleeps gets the lowest priority of all: in a loop that waits for others it would
 *    never let them go. In programs that do neither nothing changes.
 *
 * Invariants
 *  1. What an execution does depends on the seed, its number and k; k changes only in end().
 *  2. Priorities are distinct: initial ones above 2^32 (64 random bits: equal ones do not occur in practice and
 *     the lower thread wins), change point i of 1 .. d-1 gives i, yields give -1, -2, ... */
#include "explore/explore_int.h"
#include "model/unit.h"

#define MAX_DEPTH 64

struct pct {
  uint64_t k; /* steps of the longest execution so far; 0: none yet */
};

/* The execution under way. */
struct run {
  int64_t priority[HD_MAX_THREADS]; /* 0: not drawn yet */
  unsigned nthreads;                /* entries of it in use */
  unsigned nchanges;
  uint64_t change_at[MAX_DEPTH]; /* step after which change point i (from 1) takes place */
  uint64_t steps;
  int64_t yields;
};

static struct pct *state(struct hd_search *s) { return (struct pct *)s->memory; }

static int begin(struct hd_search *s) {
  struct run *r = hd__own(s, sizeof *r);
  hd_rng_seed(&s->rng, s->config->seed, s->execution);
  hd__sample_begin(s);
  for (unsigned i = 0; i < r->nthreads; i++) r->priority[i] = 0;
  r->nthreads = 0;
  r->steps = 0;
  r->yields = 0;
  uint64_t k = state(s)->k;
  r->nchanges = k ? s->config->depth - 1 : 0;
  if (r->nchanges >= MAX_DEPTH) r->nchanges = MAX_DEPTH - 1;
  for (unsigned i = 1; i <= r->nchanges; i++) r->change_at[i] = 1 + hd_rng_below(&s->rng, (uint32_t)k);
  return 1;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct run *r = s->own;
  int best = -1;
  for (unsigned w = 0; w < p->words; w++)
    for (uint64_t left = p->enabled->w[w]; left; left &= left - 1) {
      unsigned t = w * 64 + (unsigned)__builtin_ctzll(left);
      if (t >= r->nthreads) r->nthreads = t + 1;
      if (!r->priority[t]) r->priority[t] = (int64_t)((hd_rng_next(&s->rng) >> 1) | 1ull << 32);
      if (best < 0 || r->priority[t] > r->priority[best]) best = (int)t;
    }
  r->steps++;
  for (unsigned i = 1; i <= r->nchanges; i++)
    if (r->change_at[i] == r->steps) r->priority[best] = i;
  unsigned kind = p->op[best]->kind;
  if (hd_op_is(kind, HD_TRAIT_YIELDS)) r->priority[best] = --r->yields;
  return best;
}

static int choose(struct hd_search *s, unsigned n) { return (int)hd_rng_below(&s->rng, n); }

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
                                            .choose = choose,
                                            .event = hd__sample_event,
                                            .end = end,
                                            .save = save,
                                            .load = load};

/* strategy_mined.c: structural heuristics over roles of threads. Runs in the tested process.
 *
 * Milewicz, Pirkelbauer, "Refinement of Structural Heuristics for Model Checking of Concurrent Programs Through Data Mining",
 * 2016. The supervisor records one execution, makes a Markov chain of the reads and writes of each thread, and clusters the
 * threads by it (analysis/roles.c); a cluster is a *role*. A heuristic gives each thread that could go next a cost, and the
 * cheapest goes. With a history of the last L steps:
 *
 *   ti      (Groce and Visser) how often the thread is in the history, times the threads that could go
 *   ci      how often its role is in the history, times the roles that could go
 *   tici+   ti + ci: roles alternate, for bugs between roles, as between a producer and a consumer
 *   tici-   ti - ci: threads of one role alternate, for bugs within a role
 *   mined   tici+ and tici- in turns: the paper expects that the sign fits the bug, its own figures do not bear that out
 *           (tici- wins on nearly all), and with both nobody has to choose
 *
 * Differences from the paper:
 *  - A search there is best-first over states, with a queue. Here an execution is one path and goes from its start to its end;
 *    what takes the place of the queue, which comes back to costlier states, is chance: equal costs are decided at random, and
 *    each execution draws which part of its picks ignores the cost: none, or up to three in four.
 *  - The last step is not counted (the paper's formula counts it, its text says that a thread which ran only once costs
 *    nothing), and the factor path.length, which all threads of a point have in common, is left out.
 *  - Threads that are created begin at once (hd__begins).
 *
 * Invariants
 *  1. What an execution does depends on the seed, its number and the roles, which do not change: so not on other workers.
 *  2. A thread that is enabled is not held up for ever: after PATIENCE picks it goes. */
#include "abi/mined.h"
#include "explore/explore_int.h"
#include "model/unit.h"

#define HISTORY 10 /* the paper's L */
#define HEAT 4     /* of so many picks up to HEAT - 1 ignore the cost */
#define PATIENCE 256
#define ROLES (HD_MINED_THREADS + 1)

struct run {
  int of_thread, of_role; /* signs of the two parts */
  uint32_t heat;          /* of HEAT picks so many ignore the cost */
  uint32_t n;             /* steps in the history */
  uint16_t history[HISTORY - 1];
  uint32_t at;
  uint64_t picks;
  uint32_t threads;               /* entries of the following in use */
  uint64_t seen[HD_MAX_THREADS];  /* the last pick at which it was enabled, from 1 on */
  uint64_t since[HD_MAX_THREADS]; /* and the first one, of those without a break */
  uint32_t times_role[ROLES];
  uint32_t times[HD_MAX_THREADS];
};

static struct hd_mined *mined(struct hd_search *s) { return (struct hd_mined *)s->memory; }

static unsigned role_of(struct hd_search *s, unsigned thread) {
  return thread < HD_MINED_THREADS ? mined(s)->role[thread] : 0;
}

static int begin_with(struct hd_search *s, int of_thread, int of_role) {
  struct run *r = hd__own(s, sizeof *r);
  hd_rng_seed(&s->rng, s->config->seed, s->execution);
  hd__sample_begin(s);
  for (uint32_t t = 0; t < r->threads; t++) r->seen[t] = r->since[t] = r->times[t] = 0;
  for (unsigned i = 0; i < ROLES; i++) r->times_role[i] = 0;
  r->n = r->at = r->threads = 0;
  r->picks = 0;
  r->of_thread = of_thread;
  r->of_role = of_role;
  r->heat = hd_rng_below(&s->rng, HEAT);
  return 1;
}

static int begin_ti(struct hd_search *s) { return begin_with(s, 1, 0); }
static int begin_ci(struct hd_search *s) { return begin_with(s, 0, 1); }
static int begin_plus(struct hd_search *s) { return begin_with(s, 1, 1); }
static int begin_minus(struct hd_search *s) { return begin_with(s, 1, -1); }
static int begin_both(struct hd_search *s) { return begin_with(s, 1, s->execution % 2 ? -1 : 1); }

/* Who has waited for too long; HD_MAX_THREADS: nobody. */
static unsigned impatient(struct run *r, const struct hd_point *p) {
  unsigned most = HD_MAX_THREADS;
  r->picks++;
  HD_SET_EACH (t, p->enabled, p->words) {
    if (t >= r->threads) r->threads = t + 1;
    if (r->seen[t] + 1 != r->picks) r->since[t] = r->picks;
    r->seen[t] = r->picks;
    if (r->picks - r->since[t] > PATIENCE && (most == HD_MAX_THREADS || r->since[t] < r->since[most]))
      most = t;
  }
  return most;
}

static unsigned enabled_roles(struct hd_search *s, const struct hd_point *p) {
  uint64_t met[(ROLES + 63) / 64] = {0};
  unsigned n = 0;
  HD_SET_EACH (t, p->enabled, p->words) {
    unsigned role = role_of(s, t);
    n += !(met[role / 64] >> role % 64 & 1);
    met[role / 64] |= 1ull << role % 64;
  }
  return n;
}

/* Any of the cheapest threads. */
static unsigned cheapest(struct hd_search *s, const struct run *r, const struct hd_point *p) {
  unsigned best = HD_MAX_THREADS, equal = 0;
  int64_t least = 0, roles = r->of_role ? (int64_t)enabled_roles(s, p) * r->of_role : 0;
  int64_t threads = (int64_t)p->nenabled * r->of_thread;
  HD_SET_EACH (t, p->enabled, p->words) {
    int64_t cost = threads * r->times[t] + roles * r->times_role[role_of(s, t)];
    if (best == HD_MAX_THREADS || cost < least) {
      best = t;
      least = cost;
      equal = 1;
    } else if (cost == least && !hd_rng_below(&s->rng, ++equal)) {
      best = t;
    }
  }
  return best;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct run *r = s->own;
  unsigned t = impatient(r, p);
  HD_SET_EACH (u, p->enabled, p->words)
    if (hd__begins(p->op[u])) return (int)u;
  if (t == HD_MAX_THREADS)
    t = hd_rng_below(&s->rng, HEAT) >= r->heat ? cheapest(s, r, p)
                                               : hd_set_nth(p->enabled, hd_rng_below(&s->rng, p->nenabled));
  r->seen[t] = 0; /* its wait is over */
  return (int)t;
}

static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  struct run *r = s->own;
  hd__sample_event(s, op, flags, choice, nchoices);
  if (r->n == HISTORY - 1) {
    unsigned gone = r->history[r->at];
    r->times[gone]--;
    r->times_role[role_of(s, gone)]--;
  } else {
    r->n++;
  }
  r->history[r->at] = op->thread;
  r->at = (r->at + 1) % (HISTORY - 1);
  r->times[op->thread]++;
  r->times_role[role_of(s, op->thread)]++;
  if (op->thread >= r->threads) r->threads = op->thread + 1u;
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  (void)p;
  hd__sample_end(s, how);
  return 1;
}

/* ---- saved searches: a search continues with the roles that it had ---- */

static void save(struct hd_search *s, struct hd_writer *out) {
  const struct hd_mined *m = mined(s);
  hd_put_number(out, m->nthreads);
  hd_put_number(out, m->nroles);
  for (uint32_t t = 0; t < m->nthreads; t++) hd_put_number(out, m->role[t]);
}

static void load(struct hd_search *s, struct hd_reader *r) {
  struct hd_mined *m = mined(s);
  m->nthreads = (uint32_t)hd_get_number(r, HD_MINED_THREADS);
  m->nroles = (uint32_t)hd_get_number(r, HD_MINED_THREADS);
  for (uint32_t t = 0; t < HD_MINED_THREADS; t++)
    m->role[t] = t < m->nthreads ? (uint8_t)hd_get_number(r, UINT8_MAX) : 0;
}

#define STRATEGY(id, text, begins)                                          \
  const struct hd_strategy hd_strategy_##id = {.name = text,                \
                                               .begin = begins,             \
                                               .pick = pick,                \
                                               .choose = hd__sample_choose, \
                                               .event = event,              \
                                               .end = end,                  \
                                               .save = save,                \
                                               .load = load}
STRATEGY(ti, "ti", begin_ti);
STRATEGY(ci, "ci", begin_ci);
STRATEGY(tici_plus, "tici+", begin_plus);
STRATEGY(tici_minus, "tici-", begin_minus);
STRATEGY(mined, "mined", begin_both);

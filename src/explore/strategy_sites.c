/* strategy_sites.c: priorities that change at places of the code. Runs in the tested process.
 *
 * As in strategy_pct.c the enabled thread with the highest priority goes, and a few threads lose theirs on the way.
 * PCT draws the steps at which that happens from all steps of an execution, so that its chance falls with every thread
 * and every round of a loop although these run the same code. Here the draws are made over what the code has few of:
 *
 *  - Where: a *site*, the place of a visible operation in the code, drawn from all that were ever executed. Whoever is
 *    about to execute an operation there is held up: gets a priority below all initial ones. Either its n-th visitor
 *    only, n = 1 with probability 1/2, 2 with 1/4, ..., or (one time in two) each thread once, when it first comes there.
 *  - Who goes first: one time in two, priorities are drawn for kinds of threads, those that begin at the same site,
 *    and within a kind for each thread; otherwise for each thread.
 *
 * A hundred threads that run one function beside one that runs another are then two kinds, and stopping all of them at
 * one place of that function is one draw. Nothing is promised about the chance to find a bug.
 *
 * Threads begin at once when they are created (their first operation tells their kind); see priorities.c.
 *
 * Invariants
 *  1. What an execution does depends on the seed, its number and the list of sites; that changes only in end().
 *  2. Priorities of hold-up i are in [i 2^24, (i+1) 2^24), i >= 1: below all initial ones. */
#include "explore/explore_int.h"
#include "model/unit.h"

#define MAX_SITES 1024
#define MAX_HOLDS 63

/* In the search area: the next execution may be another process. */
struct sites {
  uint32_t n;
  uint64_t site[MAX_SITES];
  uint16_t table[2 * MAX_SITES]; /* open addressing: number of the site + 1 */
};

struct hold {
  uint64_t site;   /* 0: over */
  uint32_t visits; /* until it takes place; 0: for each thread, when it first comes there */
};

#define MAX_FRESH 64 /* sites learned in one execution */

/* The execution under way. */
struct run {
  struct hd_priorities threads;
  uint64_t met[HD_MAX_THREADS]; /* bit i: hold-up i has been met by this thread */
  unsigned nholds;
  struct hold hold[MAX_HOLDS + 1];
  uint64_t fresh[MAX_FRESH];
  unsigned nfresh;
};

static struct sites *state(struct hd_search *s) { return (struct sites *)s->memory; }

/* Where the site is in the table, or the free place where it belongs. */
static uint32_t find(const struct sites *m, uint64_t site) {
  uint32_t i = (uint32_t)(hd_mix64(site) % (2 * MAX_SITES));
  while (m->table[i] && m->site[m->table[i] - 1] != site) i = (i + 1) % (2 * MAX_SITES);
  return i;
}

static void add(struct sites *m, uint64_t site) {
  uint32_t i = find(m, site);
  if (m->table[i] || m->n == MAX_SITES) return;
  m->site[m->n++] = site;
  m->table[i] = (uint16_t)m->n;
}

static int begin(struct hd_search *s) {
  struct run *r = hd__own(s, sizeof *r);
  struct sites *m = state(s);
  for (unsigned i = 0; !m->n && i < 2 * MAX_SITES; i++)
    m->table[i] = 0; /* the area may have been another's */
  hd_rng_seed(&s->rng, s->config->seed, s->execution);
  hd__sample_begin(s);
  for (unsigned i = 0; i < r->threads.nthreads; i++) r->met[i] = 0;
  hd__priorities_begin(&r->threads);
  r->nfresh = 0;
  uint64_t coins = hd_rng_next(&s->rng);
  r->threads.kinds = coins & 1 ? coins : 0;
  r->nholds = m->n ? s->config->depth - 1 : 0;
  if (r->nholds > MAX_HOLDS) r->nholds = MAX_HOLDS;
  for (unsigned i = 1; i <= r->nholds; i++) {
    coins = hd_rng_next(&s->rng);
    uint32_t nth = 1 + (uint32_t)__builtin_ctzll(coins >> 1 | 1ull << 20);
    r->hold[i] = (struct hold){m->site[hd_rng_below(&s->rng, m->n)], coins & 1 ? nth : 0};
  }
  return 1;
}

/* Whether the thread is held up before the operation it is about to execute. */
static int held_up(struct hd_search *s, unsigned t, uint64_t site) {
  struct run *r = s->own;
  for (unsigned i = 1; i <= r->nholds; i++) {
    struct hold *h = &r->hold[i];
    if (h->site != site || (r->met[t] >> i & 1)) continue;
    if (!h->visits) {
      r->met[t] |= 1ull << i;
    } else {
      if (--h->visits) continue;
      h->site = 0;
    }
    r->threads.of[t] = (int64_t)i << 24 | (int64_t)hd_rng_below(&s->rng, 1u << 24);
    return 1;
  }
  return 0;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct run *r = s->own;
  unsigned t = hd__priorities_highest(s, &r->threads, p);
  while (!hd__begins(p->op[t]) && p->nenabled > 1 && held_up(s, t, p->op[t]->pc))
    t = hd__priorities_highest(s, &r->threads, p);
  hd__priorities_picked(&r->threads, p->op[t], t);
  uint64_t site = p->op[t]->pc;
  if (!hd__begins(p->op[t]) && site && r->nfresh < MAX_FRESH && !state(s)->table[find(state(s), site)])
    r->fresh[r->nfresh++] = site;
  return (int)t;
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  const struct run *r = s->own;
  (void)p;
  hd__sample_end(s, how);
  for (unsigned i = 0; i < r->nfresh; i++) add(state(s), r->fresh[i]);
  return 1;
}

static void save(struct hd_search *s, struct hd_writer *out) {
  hd_put_number(out, state(s)->n);
  for (uint32_t i = 0; i < state(s)->n; i++) hd_put_address(out, state(s)->site[i]);
}

static void load(struct hd_search *s, struct hd_reader *r) {
  for (uint64_t n = hd_get_number(r, MAX_SITES); n > 0 && !r->bad; n--) add(state(s), hd_get_address(r));
}

const struct hd_strategy hd_strategy_sites = {.name = "sites",
                                              .begin = begin,
                                              .pick = pick,
                                              .choose = hd__sample_choose,
                                              .event = hd__sample_event,
                                              .end = end,
                                              .save = save,
                                              .load = load};

/* strategy_auto.c: the default. The optimal search, which ends when every schedule is covered, takes turns with
 * sampling strategies, which often hit a bug long before. Runs in the tested process.
 *
 * Under a bound the systematic part is `bounded`, and the others sample without one.
 *
 * Each part gets its share of the work, which is counted in steps: unlike time they are the same whenever the search is
 * run again, and an execution takes time in proportion to them. At the beginning, for as long as executions are short, come
 * the EARLY ones:
 *
 *  - The optimal search begins. Any execution may be its first, so a sampler leads that one, and both learn from it.
 *  - Where no more than one execution is left then, it follows: a space of one or two classes is finished before anything
 *    is sampled. When more operations have become visible, the next execution is again the first of a tree, and led.
 *  - Otherwise a handful of executions of the sampler follow: most bugs are found by these. It is `rff`, whose first
 *    executions, the led ones among them, are not steered: each is the one that `pos` alone would run, so what `pos` finds
 *    with these is found as soon. Steered by what it has learned, `rff` then finds most of the rest sooner.
 *
 * From then on the part that is furthest behind its share goes next; so each soon gets a few samples, and one with long
 * executions gets few of them. Workers count together: while one is at a long execution of the optimal search, the others
 * sample. The shares are those with which the programs of bench/search take the fewest executions (docs/performance.md).
 *
 * The optimal search and STATES, which uses visited states (stateful.c) and symmetry, are two searches of the whole, each with a tree
 * of its own. Neither is better everywhere: with states there may be exponentially fewer executions, or many more, of which
 * almost all end at a state that is known; so how many of them do says nothing. STATES begins when the optimal search has run
 * config.states_after executions and is not over. From then on the one that seems to need less work in all has a large share,
 * the other one a small one. What is forecast so badly that it is never over costs no more than that: the other one goes on.
 * STATES is dropped when most states cannot be captured. It does not begin where executions restart by fork.
 *
 * When what is left of the optimal search seems to be less work than all that was done so far, almost all work is its: a
 * space of some thousand classes would otherwise take four times as long as with that search alone. Forecasts are often wrong,
 * since the tree grows while it is explored. So this ends when twice the work has not sufficed, and does not begin again soon:
 * a bug that a sampler would have found is found after three times the work at most.
 *
 * The claim of completeness rests on whichever of the two is over first, and on that alone; what each strategy did stands in
 * status.phase. When that search has ended but may have missed schedules (HD_CLASS_GAP: a process died in it, ...), AFTER
 * executions more are sampled. STATES is one of the parts then, if loops are all that was not followed to their ends: where
 * threads write while they wait, the states often come again (Burns' and Lamport's one-bit algorithm). */
#include "explore/explore_int.h"
#include "model/unit.h"

static const struct {
  const struct hd_strategy *strategy;
  unsigned share;
} part[] = {{&hd_strategy_optimal, 6}, {&hd_strategy_rff, 5},    {&hd_strategy_pos, 8},
            {&hd_strategy_sites, 2},   {&hd_strategy_surw, 1},   {&hd_strategy_uniform, 1},
            {&hd_strategy_pct, 1},     {&hd_strategy_random, 1}, {&hd_strategy_dpor, 1}};
#define NPARTS (sizeof part / sizeof *part)
_Static_assert(NPARTS <= HD_MAX_PHASES, "status.phase has room for every part");

/* Of each worker, in the search area, in front of the memory of the parts. */
struct state {
  uint32_t part;
  uint32_t exhausted; /* enum over */
  uint32_t after;     /* executions of samplers since the optimal search has nothing left */
  uint32_t first;     /* work of the first execution */
  uint32_t early;     /* executions of this worker, until they are EARLY */
  uint32_t favours;   /* STATES, or the optimal search */
  uint32_t gaps;      /* of this worker's executions, if there are others */
  uint32_t
      finishing; /* what is left of the optimal search is forecast to be less work than all that is done */
  uint64_t in_flight;
  uint64_t epoch;
  uint64_t runs;         /* executions of the optimal search */
  uint64_t work[NPARTS]; /* done by each part */
  double until;          /* finishing: the forecast was wrong if it has done that much work */
  double next;           /* not finishing: nor is it before all have done that much */
};
/* What of the search of the whole has nothing left. */
enum over { OPTIMAL_OVER = 1, BOTH_OVER };
/* Why a search is not all, although it is over: loops that were followed for some rounds only, or another reason. */
enum gap { LOOP = 1, GAP };
#define SAMPLER 1 /* leads, and goes first */
#define STATES (NPARTS - 1)
#define LARGE 12    /* share of the search that is forecast to be over first, */
#define LITTLE 1    /* and of the other one */
#define ALMOST 200  /* share of the optimal search when it is forecast to be over soon, */
#define BESIDE 40   /* and of STATES then */
#define ENOUGH 256  /* executions of the optimal search before that is believed */
#define AGAIN 4     /* by which all work grows before it is, after it was wrong */
#define CAPTURE 80  /* work of capturing a state, and of what is concluded from it: as measured, 40 to 200 */
#define SOME 64     /* states, before anything is concluded from how many could be captured */
#define EARLY 20    /* executions at the beginning, if their work is ... */
#define SHORT 20000 /* ... in all less than this */
#define UNSTEERED 8 /* of them follow no constraints */
#define EACH 20     /* work of an execution besides its steps */
#define DEATH 20000 /* work of starting another process */
#define TURN 128    /* a turn is this part of all the work so far */
#define AFTER 10000
#define HEAD 65536
_Static_assert(sizeof(struct state) * HD_MAX_WORKERS <= HEAD, "every worker has its state");
#define SMALL (64ull << 20) /* for each sampler; the optimal search has the rest */

/* What this process keeps. */
struct own {
  struct hd_search sub[NPARTS]; /* the searches of the parts, as it sees them */
  int leads;                    /* SAMPLER leads the execution under way, which is the optimal search's */
};

static struct hd_search *subs(struct hd_search *s) { return ((struct own *)s->own)->sub; }
static int *leads(struct hd_search *s) { return &((struct own *)s->own)->leads; }

static struct state *state(struct hd_search *s) { return (struct state *)s->memory + s->worker; }

static const struct hd_strategy *strategy_of(const struct hd_search *s, unsigned i) {
  return i == 0 && s->config->bound_kind ? &hd_strategy_bounded : part[i].strategy;
}

static const char *name_of(const struct hd_search *s, unsigned i) {
  return i == STATES ? "states" : strategy_of(s, i)->name;
}

static int tries_states(const struct hd_search *s) { return s->config->states == HD_REDUCE_TRY; }

static void set_up(struct hd_search *s) {
  if (s->own) return;
  struct hd_search *sub = ((struct own *)hd__own(s, sizeof(struct own)))->sub;
  char *at = s->memory + HEAD;
  for (unsigned i = NPARTS; i-- > 0;) {
    sub[i] = *s;
    sub[i].own = NULL;
    sub[i].memory = at;
    sub[i].memory_size = i ? SMALL : s->memory_size - (uint64_t)(at - s->memory);
    if (tries_states(s)) sub[i].fingerprint = NULL;
    if (s->config->symmetry == HD_REDUCE_TRY && i != STATES) sub[i].alike = NULL;
    if (i == STATES && !tries_states(s)) continue;
    if (i != STATES) at += SMALL;
    for (unsigned k = 0; k < sizeof s->status->phase[i].strategy - 1 && name_of(s, i)[k]; k++)
      s->status->phase[i].strategy[k] = name_of(s, i)[k];
  }
  if (!tries_states(s)) return;
  sub[0].memory_size = sub[0].memory_size / 2 & ~4095ull;
  sub[STATES].memory = sub[0].memory + sub[0].memory_size;
  sub[STATES].memory_size = sub[0].memory_size;
  sub[STATES].scratch = s->scratch + HD_SCRATCH_PART;
  sub[STATES].fingerprint = s->fingerprint;
}

/* ---- shares ---- */

/* Of all workers, which count together. */
static uint64_t sum(const struct hd_search *s, const uint64_t *mine) {
  const struct state *all = (const struct state *)s->memory;
  const char *own = (const char *)&all[s->worker];
  uint64_t n = 0;
  for (unsigned w = 0; w < s->workers; w++)
    if (all[w].epoch == s->shared->epoch)
      n += __atomic_load_n((const uint64_t *)((const char *)&all[w] + ((const char *)mine - own)),
                           __ATOMIC_RELAXED);
  return n;
}

static int most_uncaptured(const struct hd_search *s) {
  const struct hd_state_counts *c = &s->shared->state_counts;
  uint64_t n = 0;
  for (unsigned i = 0; i < HD_UNCAPTURED_COUNT; i++) n += c->uncaptured[i];
  return n > SOME && n > c->states + c->matches;
}

/* Whether it takes part. */
static int is_part(struct hd_search *s, unsigned i) {
  const struct state *a = state(s);
  if (i != STATES && s->config->states_alone && is_part(s, STATES)) return 0;
  if (i == 0) return !a->exhausted;
  if (i != STATES) return 1;
  return tries_states(s) && a->exhausted != BOTH_OVER && s->status->restart != HD_RESTART_FORK &&
         (a->exhausted || sum(s, &a->runs) >= s->config->states_after) && !most_uncaptured(s);
}

static unsigned share(struct hd_search *s, unsigned i) {
  const struct state *a = state(s);
  if (a->finishing && (i == 0 || i == STATES)) return i == 0 ? ALMOST : BESIDE;
  if ((i != 0 && i != STATES) || !is_part(s, STATES)) return part[i].share;
  return i == a->favours ? LARGE : LITTLE;
}

/* What all workers have done for the part, by its share. Half an execution more, so that those with large shares begin. */
static uint64_t progress(struct hd_search *s, unsigned i) {
  struct state *a = state(s);
  return (a->first / 2 + sum(s, &a->work[i])) / share(s, i);
}

/* Work of the search in all, if what is left is like what is done; in each, others may be at what is left. */
static double forecast(struct hd_search *s, unsigned i) {
  double explored = hd__walk_explored(&subs(s)[i]);
  return (double)(sum(s, &state(s)->work[i]) + 1) / (explored > 0 ? explored : 1e-300);
}

static void look_ahead(struct hd_search *s, struct state *a) {
  if (a->exhausted) {
    a->finishing = 0;
    a->favours = STATES;
    return;
  }
  double all = forecast(s, 0), own = (double)sum(s, &a->work[0]), done = 0;
  a->favours = is_part(s, STATES) && forecast(s, STATES) < all ? STATES : 0;
  for (unsigned i = 0; i < NPARTS; i++) done += (double)sum(s, &a->work[i]);
  if (a->finishing && own > a->until) {
    a->finishing = 0;
    a->next = AGAIN * done;
  } else if (!a->finishing && all - own <= done && done >= a->next && sum(s, &a->runs) >= ENOUGH) {
    a->finishing = 1;
    a->until = 2 * all - own;
  }
}

/* The part whose turn it is now, other than that one if there are others: it is furthest behind. */
static void next_part(struct hd_search *s, struct state *a, unsigned other) {
  unsigned best = NPARTS;
  if (a->part == 0 || a->part == STATES) look_ahead(s, a);
  for (unsigned i = 1; i <= NPARTS; i++) { /* samplers first */
    unsigned k = i % NPARTS;
    if (k != other && is_part(s, k) && (best == NPARTS || progress(s, k) < progress(s, best))) best = k;
  }
  a->part = best < NPARTS ? best : other;
}

/* Whether the part has had its turn. */
static int turn_over(struct hd_search *s, unsigned i) {
  uint64_t all = 0, least = UINT64_MAX;
  for (unsigned k = 0; k < NPARTS; k++) {
    if (!is_part(s, k)) continue;
    uint64_t n = progress(s, k);
    all += n;
    if (k != i && n < least) least = n;
  }
  return progress(s, i) > least + all / TURN;
}

/* What this worker's executions have missed. */
static uint32_t gaps(const struct hd_search *s) {
  return (hd_inexact_sum(s->status->inexact, HD_CLASS_GAP) ? GAP : 0) | (s->status->loops.count ? LOOP : 0);
}

/* Whether that search is not all. Loops that another part has followed for some rounds only do not concern STATES. */
static int has_gaps(const struct hd_search *s, unsigned i) {
  const struct state *all = (const struct state *)s->memory;
  uint32_t found = gaps(s);
  for (unsigned w = 0; w < s->workers; w++)
    if (all[w].epoch == s->shared->epoch) found |= __atomic_load_n(&all[w].gaps, __ATOMIC_RELAXED);
  return found & GAP || (i != STATES && found & LOOP);
}

/* That part has ended. Returns whether it has covered everything. */
static int is_all(struct hd_search *s, unsigned i) {
  if (i == STATES) s->shared->by_states = 1;
  return !has_gaps(s, i);
}

/* That part has ended with gaps. What STATES has, too, need not be searched twice. */
static void set_over(struct hd_search *s, struct state *a, unsigned i) {
  a->exhausted = i == STATES || has_gaps(s, STATES) ? BOTH_OVER : OPTIMAL_OVER;
}

/* Begins an execution of the part whose turn it is, or of the next one that has anything to do. */
static int begin_part(struct hd_search *s, struct state *a) {
  for (;;) {
    subs(s)[a->part].execution = s->execution;
    subs(s)[a->part].probing = s->probing;
    subs(s)[a->part].diverged_at = s->diverged_at;
    int begun = strategy_of(s, a->part)->begin(&subs(s)[a->part]);
    if (begun > 0) return begun;
    if (!begun && is_all(s, a->part)) return 0;
    if (!begun) set_over(s, a, a->part); /* else other workers are at what is left of the search */
    unsigned tried = a->part;
    next_part(s, a, tried);
    if (a->part == tried) return begun;
  }
}

/* The first execution of a tree is led, without a bound. */
static void begin_lead(struct hd_search *s, const struct state *a, int begun) {
  *leads(s) = begun > 0 && a->part == 0 && !s->config->bound_kind && hd__walk_is_first(&subs(s)[0]);
  subs(s)[0].lead = 0;
  if (!*leads(s)) return;
  subs(s)[SAMPLER].execution = s->execution;
  part[SAMPLER].strategy->begin(&subs(s)[SAMPLER]);
}

static int begin(struct hd_search *s) {
  struct state *a = state(s);
  set_up(s);
  if (a->epoch != s->shared->epoch)
    *a =
        (struct state){.part = a->part == STATES ? 0 : a->part, .early = a->early, .epoch = s->shared->epoch};
  if (a->in_flight > s->shared->forgive && a->in_flight != s->execution && a->in_flight != s->diverged_at) {
    /* The process died: let the others try before the optimal search goes on. */
    s->status->phase[a->part].executions++;
    a->work[a->part] += DEATH;
    next_part(s, a, a->part);
  }
  subs(s)[SAMPLER].unsteered = s->worker == 0 && a->early < UNSTEERED;
  int begun = begin_part(s, a);
  begin_lead(s, a, begun);
  if (tries_states(s)) s->captures = a->part == STATES;
  a->in_flight = s->execution;
  s->status->phase_now = a->part;
  return begun;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  unsigned i = state(s)->part;
  if (*leads(s)) subs(s)[0].lead = 1 + (uint32_t)part[SAMPLER].strategy->pick(&subs(s)[SAMPLER], p);
  return strategy_of(s, i)->pick(&subs(s)[i], p);
}

static int choose(struct hd_search *s, unsigned n) {
  unsigned i = state(s)->part;
  if (*leads(s)) subs(s)[0].lead = 1 + (uint32_t)part[SAMPLER].strategy->choose(&subs(s)[SAMPLER], n);
  return strategy_of(s, i)->choose(&subs(s)[i], n);
}

static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  unsigned i = state(s)->part;
  const struct hd_strategy *st = strategy_of(s, i);
  if (st->event) st->event(&subs(s)[i], op, flags, choice, nchoices);
  if (*leads(s)) part[SAMPLER].strategy->event(&subs(s)[SAMPLER], op, flags, choice, nchoices);
  s->diverged |= subs(s)[i].diverged;
  state(s)->work[i]++;
}

/* The counters that change with this execution, that of its part included. */
static void tally(struct hd_search *s, unsigned i, enum hd_how how) {
  uint64_t *of_part = &s->status->phase[i].executions;
  s->tally[s->ntally].at = of_part;
  s->tally[s->ntally++].value = *of_part + (how != HD_HOW_BLOCKED && !s->infeasible);
  for (unsigned k = 0; k < s->ntally; k++) subs(s)[i].tally[k] = s->tally[k];
  subs(s)[i].ntally = s->ntally;
}

static int is_early(struct hd_search *s, const struct state *a) {
  return s->worker == 0 && is_part(s, SAMPLER) && a->early < EARLY && a->work[0] + a->work[SAMPLER] < SHORT;
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  struct state *a = state(s);
  unsigned i = a->part;
  subs(s)[i].observed = s->observed;
  subs(s)[i].infeasible = s->infeasible;
  tally(s, i, how);
  if (*leads(s)) part[SAMPLER].strategy->end(&subs(s)[SAMPLER], p, how);
  int more = strategy_of(s, i)->end(&subs(s)[i], p, how);
  a->in_flight = 0;
  a->work[i] += EACH + s->known->steps;
  if (i == 0) a->runs++;
  if (i == STATES) a->work[i] += CAPTURE * subs(s)[i].captured;
  subs(s)[i].captured = 0;
  if (s->workers > 1) __atomic_store_n(&a->gaps, gaps(s), __ATOMIC_RELAXED); /* others look at it, too */
  if (a->early < EARLY) a->early++;
  if (!a->first) a->first = (uint32_t)(a->work[i] < UINT32_MAX ? a->work[i] : UINT32_MAX);
  if ((i == 0 || i == STATES) && !more) {
    if (is_all(s, i)) return 0;
    set_over(s, a, i);
    next_part(s, a, i);
  } else if (is_early(s, a)) {
    if (i == 0 && !hd__walk_is_first(&subs(s)[0]) && !hd__walk_is_last(&subs(s)[0])) a->part = SAMPLER;
  } else if (!is_part(s, i) || turn_over(s, i)) {
    next_part(s, a, i);
  }
  if (a->exhausted && i != STATES) a->after++;
  return a->after <= AFTER;
}

static void forget(struct hd_search *s) {
  set_up(s);
  strategy_of(s, 0)->forget(&subs(s)[0]);
  s->shared->by_states = 0;
  if (tries_states(s)) strategy_of(s, STATES)->forget(&subs(s)[STATES]);
}

static void forget_states(struct hd_search *s) {
  set_up(s);
  strategy_of(s, STATES)->forget(&subs(s)[STATES]);
}

/* Whose turn it is, for each worker, and what each part keeps. */
static void save(struct hd_search *s, struct hd_writer *out) {
  const struct state *all = (const struct state *)s->memory;
  set_up(s);
  for (unsigned i = 0; i < HD_MAX_WORKERS; i++) {
    int counts = all[i].epoch == s->shared->epoch;
    hd_put_number(out, counts ? all[i].part : 0);
    hd_put_number(out, counts ? all[i].first : 0);
    hd_put_number(out, counts ? all[i].early : 0);
    for (unsigned k = 0; k < NPARTS; k++) hd_put_number(out, counts ? all[i].work[k] : 0);
    hd_put_number(out, counts ? all[i].exhausted : 0);
    hd_put_number(out, counts ? all[i].after : 0);
  }
  for (unsigned i = 0; i < STATES; i++)
    if (strategy_of(s, i)->save) strategy_of(s, i)->save(&subs(s)[i], out);
}

static void load(struct hd_search *s, struct hd_reader *r) {
  struct state *all = (struct state *)s->memory;
  set_up(s);
  for (unsigned i = 0; i < HD_MAX_WORKERS; i++) {
    all[i] = (struct state){.part = (uint32_t)hd_get_number(r, NPARTS - 1), .epoch = s->shared->epoch};
    all[i].first = (uint32_t)hd_get_number(r, UINT32_MAX);
    all[i].early = (uint32_t)hd_get_number(r, EARLY);
    for (unsigned k = 0; k < NPARTS; k++) all[i].work[k] = hd_get_number(r, UINT64_MAX);
    all[i].exhausted = (uint32_t)hd_get_number(r, BOTH_OVER);
    all[i].after = (uint32_t)hd_get_number(r, UINT32_MAX);
  }
  for (unsigned i = 0; i < STATES; i++)
    if (strategy_of(s, i)->load) strategy_of(s, i)->load(&subs(s)[i], r);
}

const struct hd_strategy hd_strategy_auto = {.name = "auto",
                                             .systematic = 1,
                                             .begin = begin,
                                             .pick = pick,
                                             .choose = choose,
                                             .event = event,
                                             .end = end,
                                             .forget = forget,
                                             .forget_states = forget_states,
                                             .save = save,
                                             .load = load};

/* strategy_auto.c: the default. Slices of the optimal search, which ends when every schedule is covered, take
 * turns with slices of sampling strategies, which often hit a bug long before. Runs in the tested process.
 *
 * Under a bound the systematic part is `bounded`, and the others sample without one.
 *
 * Small spaces are finished by the first slice, before anything is sampled. The claim of completeness rests on
 * the optimal search alone; what each strategy did stands in status.phase. When that search has come to its end
 * but may have missed schedules (HD_CLASS_GAP: a process died in it, ...), AFTER executions more are sampled. */
#include "explore/explore_int.h"
#include "model/unit.h"

static const struct {
  const struct hd_strategy *strategy;
  unsigned slice; /* executions of one turn */
} part[] = {{&hd_strategy_optimal, 120},
            {&hd_strategy_sites, 20},
            {&hd_strategy_pos, 20},
            {&hd_strategy_pct, 20},
            {&hd_strategy_random, 20}};
#define NPARTS (sizeof part / sizeof *part)
_Static_assert(NPARTS <= HD_MAX_PHASES, "status.phase has room for every part");

/* Of each worker, in the search area, in front of the memory of the parts. */
struct state {
  uint32_t part, done;
  uint64_t in_flight;
  uint64_t epoch;
  uint32_t exhausted; /* the optimal search has nothing left */
  uint32_t after;     /* executions since then */
};
#define AFTER 10000
#define HEAD 16384
_Static_assert(sizeof(struct state) * HD_MAX_WORKERS <= HEAD, "every worker has its state");
#define SMALL (64ull << 20) /* for each sampler; the optimal search has the rest */

/* The searches of the parts, as this process sees them. */
static struct hd_search *subs(struct hd_search *s) { return s->own; }

static struct state *state(struct hd_search *s) { return (struct state *)s->memory + s->worker; }

static const struct hd_strategy *strategy_of(const struct hd_search *s, unsigned i) {
  return i == 0 && s->config->bound_kind ? &hd_strategy_bounded : part[i].strategy;
}

static void set_up(struct hd_search *s) {
  if (s->own) return;
  struct hd_search *sub = hd__own(s, NPARTS * sizeof *sub);
  char *at = s->memory + HEAD;
  for (unsigned i = NPARTS; i-- > 0;) {
    sub[i] = *s;
    sub[i].own = NULL;
    sub[i].memory = at;
    sub[i].memory_size = i ? SMALL : s->memory_size - (uint64_t)(at - s->memory);
    at += SMALL;
    for (unsigned k = 0; k < sizeof s->status->phase[i].strategy - 1 && strategy_of(s, i)->name[k]; k++)
      s->status->phase[i].strategy[k] = strategy_of(s, i)->name[k];
  }
}

static void next_part(struct state *a) {
  a->part = (a->part + 1) % NPARTS;
  if (!a->part && a->exhausted) a->part = 1;
  a->done = 0;
}

static int has_gaps(const struct hd_search *s) {
  return hd_inexact_sum(s->status->inexact, HD_CLASS_GAP) != 0;
}

/* Begins an execution of the part whose turn it is, or of the next one that has anything to do. */
static int begin_part(struct hd_search *s, struct state *a) {
  for (;;) {
    subs(s)[a->part].execution = s->execution;
    subs(s)[a->part].diverged_at = s->diverged_at;
    int begun = strategy_of(s, a->part)->begin(&subs(s)[a->part]);
    if (begun > 0) return begun;
    if (!begun && !has_gaps(s)) return 0;
    a->exhausted |= !begun; /* else other workers are at what is left of the optimal search */
    next_part(a);
  }
}

static int begin(struct hd_search *s) {
  struct state *a = state(s);
  set_up(s);
  if (a->epoch != s->shared->epoch) *a = (struct state){.epoch = s->shared->epoch};
  if (a->in_flight > s->shared->forgive && a->in_flight != s->execution) {
    /* The process died: let the others try before the optimal search goes on. */
    s->status->phase[a->part].executions++;
    next_part(a);
  }
  int begun = begin_part(s, a);
  a->in_flight = s->execution;
  s->status->phase_now = a->part;
  return begun;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  unsigned i = state(s)->part;
  return strategy_of(s, i)->pick(&subs(s)[i], p);
}

static int choose(struct hd_search *s, unsigned n) {
  unsigned i = state(s)->part;
  return strategy_of(s, i)->choose(&subs(s)[i], n);
}

static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  unsigned i = state(s)->part;
  const struct hd_strategy *st = strategy_of(s, i);
  if (st->event) st->event(&subs(s)[i], op, flags, choice, nchoices);
  s->diverged = subs(s)[i].diverged;
}

/* The counters that change with this execution, that of its part included. */
static void tally(struct hd_search *s, unsigned i, enum hd_how how) {
  uint64_t *of_part = &s->status->phase[i].executions;
  s->tally[s->ntally].at = of_part;
  s->tally[s->ntally++].value = *of_part + (how != HD_HOW_BLOCKED && !s->infeasible);
  for (unsigned k = 0; k < s->ntally; k++) subs(s)[i].tally[k] = s->tally[k];
  subs(s)[i].ntally = s->ntally;
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  struct state *a = state(s);
  unsigned i = a->part;
  subs(s)[i].observed = s->observed;
  subs(s)[i].infeasible = s->infeasible;
  tally(s, i, how);
  int more = strategy_of(s, i)->end(&subs(s)[i], p, how);
  a->in_flight = 0;
  if (i == 0 && !more) {
    if (!has_gaps(s)) return 0;
    a->exhausted = 1;
    next_part(a);
  } else if (++a->done >= part[i].slice) {
    next_part(a);
  }
  return !a->exhausted || ++a->after <= AFTER;
}

static void forget(struct hd_search *s) {
  set_up(s);
  strategy_of(s, 0)->forget(&subs(s)[0]);
}

/* Whose turn it is, for each worker, and what each part keeps. */
static void save(struct hd_search *s, struct hd_writer *out) {
  const struct state *all = (const struct state *)s->memory;
  set_up(s);
  for (unsigned i = 0; i < HD_MAX_WORKERS; i++) {
    int counts = all[i].epoch == s->shared->epoch;
    hd_put_number(out, counts ? all[i].part : 0);
    hd_put_number(out, counts ? all[i].done : 0);
    hd_put_number(out, counts ? all[i].exhausted : 0);
    hd_put_number(out, counts ? all[i].after : 0);
  }
  for (unsigned i = 0; i < NPARTS; i++)
    if (strategy_of(s, i)->save) strategy_of(s, i)->save(&subs(s)[i], out);
}

static void load(struct hd_search *s, struct hd_reader *r) {
  struct state *all = (struct state *)s->memory;
  set_up(s);
  for (unsigned i = 0; i < HD_MAX_WORKERS; i++) {
    all[i] = (struct state){.part = (uint32_t)hd_get_number(r, NPARTS - 1), .epoch = s->shared->epoch};
    all[i].done = (uint32_t)hd_get_number(r, UINT32_MAX);
    all[i].exhausted = (uint32_t)hd_get_number(r, 1);
    all[i].after = (uint32_t)hd_get_number(r, UINT32_MAX);
  }
  for (unsigned i = 0; i < NPARTS; i++)
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
                                             .save = save,
                                             .load = load};

/* strategy_random.c: uniform choice among the enabled threads at every step. Runs in the tested process.
 *
 * The stream of random numbers depends on the seed and the number of the execution only, so an execution
 * can be run again without running those before it. Never complete. */
#include "explore/explore_int.h"

static int begin(struct hd_search *s) {
  hd_rng_seed(&s->rng, s->config->seed, s->execution);
  hd__sample_begin(s);
  return 1;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  return (int)hd_set_nth(p->enabled, hd_rng_below(&s->rng, p->nenabled));
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  (void)p;
  hd__sample_end(s, how);
  return 1;
}

const struct hd_strategy hd_strategy_random = {.name = "random",
                                               .skip_forced = 1,
                                               .begin = begin,
                                               .pick = pick,
                                               .choose = hd__sample_choose,
                                               .event = hd__sample_event,
                                               .end = end};

/* strategy_plan.c: follows a plan of the supervisor (abi/plan.h). Runs in the tested process.
 *
 * One execution. The steps name threads; a step whose thread cannot go on ends the plan. Then the plan's last thread goes on
 * as long as it can, and when it cannot, the others do, the current one first. */
#include "abi/plan.h"
#include "explore/explore_int.h"

static struct hd_plan *plan_of(struct hd_search *s) { return (struct hd_plan *)s->memory; }

static int begin(struct hd_search *s) {
  plan_of(s)->followed = 0;
  s->replay_pos = 0;
  hd__sample_begin(s);
  return 1;
}

static int is_enabled(const struct hd_point *p, uint32_t thread) {
  return thread < p->words * 64 && hd_set_has(p->enabled, thread);
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct hd_plan *plan = plan_of(s);
  uint32_t n = plan->nsteps < HD_PLAN_STEPS ? plan->nsteps : HD_PLAN_STEPS;
  if (s->replay_pos < n) {
    unsigned thread = plan->step[s->replay_pos];
    if (is_enabled(p, thread)) {
      plan->followed = (uint32_t)++s->replay_pos;
      return (int)thread;
    }
    s->replay_pos = n;
  }
  if (is_enabled(p, plan->tail) && !hd_op_is(p->op[plan->tail]->kind, HD_TRAIT_YIELDS))
    return (int)plan->tail;
  if (is_enabled(p, p->current) && !hd_op_is(p->op[p->current]->kind, HD_TRAIT_YIELDS))
    return (int)p->current;
  HD_SET_EACH (t, p->enabled, p->words)
    if (!hd_op_is(p->op[t]->kind, HD_TRAIT_YIELDS)) return (int)t;
  return (int)hd_set_next(p->enabled, p->words, 0);
}

static int choose(struct hd_search *s, unsigned n) {
  (void)s;
  (void)n;
  return 0;
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  (void)p;
  hd__sample_end(s, how);
  return 0;
}

const struct hd_strategy hd_strategy_plan = {.name = HD_PLAN_NAME,
                                             .systematic = 1,
                                             .begin = begin,
                                             .pick = pick,
                                             .choose = choose,
                                             .event = hd__sample_event,
                                             .end = end};

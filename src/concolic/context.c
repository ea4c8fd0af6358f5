/* context.c: the beginning of an execution, and then something else (concolic.h). Runs in the supervisor.
 *
 * Invariant: what is kept is closed: with an event it has all events that it follows from. So the conditions of the branches
 * that are kept, with the order of the operations that are kept, lead there again. */
#include "concolic/concolic_int.h"

#include <stdlib.h>
#include <string.h>

static void keep(struct hd__context *c, const struct hd__path *p, uint32_t i, bool conditions) {
  const struct hd_cc_event *e = &p->event[i];
  hd_vec_push(&c->kept, p->hash[i]);
  if (e->step) hd_vec_push(&c->step, e->thread);
  if (conditions && e->kind == HD_CC_BRANCH) hd_vec_push(&c->condition, p->value[i]);
}

static void end(struct hd__context *c, const struct hd__path *p, uint32_t sink, uint64_t then,
                const struct hd_values *inputs) {
  if (c->kept.n) qsort(c->kept.v, c->kept.n, sizeof *c->kept.v, hd_by_number);
  c->sink = p->event[sink];
  c->depth = p->index[sink] + 1;
  c->tail = c->sink.thread;
  c->then = then;
  for (size_t i = 0; i < inputs->n; i++) hd_values_set(&c->inputs, (uint32_t)i, inputs->v[i]);
}

static bool is_kept(const struct hd__path *p, uint32_t branch, enum hd__kept kept, uint32_t i) {
  switch (kept) {
    case HD__KEPT_PAST: return i < branch && hd__follows(p, branch, i);
    case HD__KEPT_BEFORE: return i < branch;
    default: return !hd__follows(p, i, branch); /* an event follows from itself */
  }
}

void hd__context_branch(struct hd__context *c, const struct hd__path *p, uint32_t branch, enum hd__kept kept,
                        const struct hd_values *inputs) {
  memset(c, 0, sizeof *c);
  for (uint32_t i = 0; i < p->n; i++)
    if (is_kept(p, branch, kept, i)) keep(c, p, i, true);
  hd_vec_push(&c->condition, p->other[branch]);
  end(c, p, branch, hd__path_dual(p, branch), inputs);
  c->sink.taken = !c->sink.taken;
}

void hd__context_pair(struct hd__context *c, const struct hd__path *p, const struct hd__pair *r,
                      const struct hd_values *inputs) {
  memset(c, 0, sizeof *c);
  for (uint32_t i = 0; i < r->second; i++)
    if (i < r->first || !hd__follows(p, i, r->first)) keep(c, p, i, false);
  if (p->event[r->second].step) hd_vec_push(&c->step, p->event[r->second].thread);
  end(c, p, r->second, hd__path_reversed(p, r), inputs);
  c->tail =
      p->event[r->first].thread; /* it comes at once: what the other one does next may end the execution */
}

void hd__context_create(struct hd__context *c, const struct hd__path *p, uint32_t create,
                        const struct hd_values *inputs) {
  memset(c, 0, sizeof *c);
  for (uint32_t i = 0; i <= create; i++)
    if (hd__follows(p, create, i)) keep(c, p, i, false);
  end(c, p, create, ~p->hash[create], inputs); /* which no event has */
  c->tail = c->thread = p->event[create].child;
}

void hd__context_free(struct hd__context *c) {
  hd_vec_free(&c->step);
  hd_vec_free(&c->condition);
  hd_vec_free(&c->kept);
  hd_values_free(&c->inputs);
}

bool hd__context_solve(struct hd_cc *c, const struct hd__context *t, enum hd_smt_answer *answer) {
  c->inputs.n = 0;
  for (size_t i = 0; i < t->inputs.n; i++) hd_values_set(&c->inputs, (uint32_t)i, t->inputs.v[i]);
  c->stats.scenarios++;
  *answer = t->condition.n ? hd_solver_check(c->solver, t->condition.v, t->condition.n, &c->inputs, NULL)
                           : HD_SMT_SAT;
  if (*answer == HD_SMT_UNSAT) c->stats.no_inputs++;
  if (*answer == HD_SMT_UNKNOWN) c->stats.unknown++;
  return *answer == HD_SMT_SAT;
}

void hd__context_plan(struct hd_cc *c, const struct hd__context *t, struct hd_cc_plan *out) {
  c->stats.executions++;
  c->step.n = 0;
  for (size_t i = 0; i < t->step.n; i++) hd_vec_push(&c->step, t->step.v[i]);
  *out = (struct hd_cc_plan){
      .step = c->step.v, .nsteps = c->step.n, .tail = t->tail, .inputs = &c->inputs, .degree = 0};
}

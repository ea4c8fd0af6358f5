/* plan.h: the planner: orders of events without a solver. Inside src/predict. */
#ifndef HD_PREDICT_PLAN_H
#define HD_PREDICT_PLAN_H

#include "predict/predict_int.h"
#include "smt/smt.h"

/* What an order has to reach. */
struct hd__goal {
  uint32_t next[2]; /* events that are next, and can be executed */
  unsigned nnext;
  uint32_t before;   /* an event that was executed, or HD__NONE */
  uint32_t location; /* whose last writer `before` is, or HD__NONE */
  uint32_t not_yet;  /* an event that was not executed, or HD__NONE */
};

/* Searches between two ideals until a time. Adds the order to the prediction if there is one. */
enum hd_smt_answer hd__plan(const struct hd__trace *tr, const uint32_t *done, const uint32_t *upto,
                            const struct hd__goal *goal, double until, struct hd_prediction *out);
/* The same for a detector, within the limits of a query. If there is an order and it is to be kept, adds the prediction
 * `p`, which it frees otherwise. */
enum hd_smt_answer hd__plan_query(struct hd__run *r, enum hd_detector d, const uint32_t *done,
                                  const uint32_t *upto, const struct hd__goal *goal, struct hd_prediction *p,
                                  bool keep);
/* Writes a question and its answer as a planning problem to the folder of the options (pddl.c). */
void hd__pddl_write(struct hd__run *r, enum hd_detector d, const uint32_t *done, const uint32_t *upto,
                    const struct hd__goal *goal, enum hd_smt_answer answer);
/* Which engines a query goes to. */
static inline bool hd__plans_first(const struct hd__run *r) { return !r->o->engines; }
static inline bool hd__plans(const struct hd__run *r) { return r->o->engines & HD_ENGINE_PLAN; }
static inline bool hd__solves(const struct hd__run *r) {
  return r->o->engines ? r->o->engines & HD_ENGINE_SMT : r->has_solver;
}
/* Counts it if both engines have answered, and differently. Returns what is known. */
enum hd_smt_answer hd__agree(struct hd__run *r, enum hd_smt_answer solver, enum hd_smt_answer planner);

#endif

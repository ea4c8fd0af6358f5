/* strategy_optimal.c: one execution per happens-before class. Runs in the tested process.
 *
 * Optimal-DPOR with wakeup trees (tree.c, tree_insert.c): a branch is a whole sequence that leads to an execution
 * that no other branch leads to, so no execution is ever given up half-way (status.blocked stays 0). */
#include "explore/tree.h"

static const struct rules rules = {.whole = 1};

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  return hd__tree_end(s, p, how, &rules);
}

const struct hd_strategy hd_strategy_optimal = {.name = "optimal",
                                                .systematic = 1,
                                                .begin = hd__tree_begin,
                                                .pick = hd__tree_pick,
                                                .choose = hd__tree_choose,
                                                .event = hd__tree_event,
                                                .end = end,
                                                .forget = hd__tree_forget};

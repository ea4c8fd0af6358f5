/* strategy_dpor.c: dynamic partial order reduction with sleep sets. Runs in the tested process.
 *
 * Flanagan, Godefroid, "Dynamic Partial-Order Reduction for Model Checking Software", POPL 2005: after an
 * execution, for every race (e, f) the state before e gets a branch that leads to f before e. Sleep sets
 * (Godefroid 1996) keep a branch from running again what an earlier one covered; an execution in which everything
 * enabled is asleep is given up and counted as blocked. The walk is that of `optimal` (tree.c); a branch is the
 * first step of a sequence alone. Differences from the paper:
 *  - Which thread begins the branch: one that can come first in what happened after e without depending on it,
 *    followed by f (a source set: Abdulla, Aronis, Jonsson, Sagonas, POPL 2014, algorithm 1). The paper takes any
 *    thread with an event in between that happens before f; that also works, and explores more.
 *  - All races of f are reversed, not only the last: order.c finds those with nothing in between that orders them,
 *    and reversing one of them does not always show the others.
 * The lock-set refinement (two operations whose threads hold a common lock are not co-enabled, so they need no
 * branch) is not a test of its own here: the release by the first thread happens before the acquire by the second,
 * so operations under a common lock are ordered by happens-before and order.c never calls them a race. What races
 * is the acquires (order.c, invariant 3). */
#include "explore/tree.h"

static const struct rules rules = {.whole = 0};

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  return hd__tree_end(s, p, how, &rules);
}

const struct hd_strategy hd_strategy_dpor = {.name = "dpor",
                                             .systematic = 1,
                                             .begin = hd__tree_begin,
                                             .pick = hd__tree_pick,
                                             .choose = hd__tree_choose,
                                             .event = hd__tree_event,
                                             .end = end,
                                             .forget = hd__tree_forget};

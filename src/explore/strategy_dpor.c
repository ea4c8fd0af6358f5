/* strategy_dpor.c: dynamic partial order reduction with sleep sets. Runs in the tested process.
 *
 * Flanagan, Godefroid, "Dynamic Partial-Order Reduction for Model Checking Software", POPL 2005: after an
 * execution, for every race (e, f) the state before e gets a branch that leads to f before e. Sleep sets
 * (Godefroid 1996) keep a branch from running again what an earlier one covered; an execution in which everything
 * enabled is asleep is given up and counted as blocked. The branches are those of `optimal` (reverse.c), cut to
 * the first step of each sequence. Differences from the paper:
 *  - Which thread begins the branch: one that can come first in what happened after e without depending on it,
 *    followed by f (a source set: Abdulla, Aronis, Jonsson, Sagonas, POPL 2014, algorithm 1). The paper takes any
 *    thread with an event in between that happens before f; that also works, and explores more.
 *  - All races of f are reversed, not only the last: order.c finds those with nothing in between that orders them,
 *    and reversing one of them does not always show the others.
 * The lock-set refinement (two operations whose threads hold a common lock are not co-enabled, so they need no
 * branch) is not a test of its own here: the release by the first thread happens before the acquire by the second,
 * so operations under a common lock are ordered by happens-before and order.c never calls them a race. What races
 * is the acquires (order.c, invariant 3). */
#include "explore/property.h"
#include "explore/walk.h"

static const struct policy dpor = {.filter = {&hd__filter_sleep, &hd__filter_symmetry},
                                   .keeps_done = 1,
                                   .ordered = 1,
                                   .first = hd__reverse_first,
                                   .conclude = hd__reverse_conclude,
                                   .retreat = hd__reverse_settle};

/* With --states; `optimal`, too. */
const struct policy hd__stateful = {.filter = {&hd__filter_symmetry, &hd__filter_stateful},
                                    .keeps_done = 1,
                                    .ordered = 1,
                                    .first = hd__reverse_first,
                                    .after_event = hd__stateful_event,
                                    .conclude = hd__stateful_conclude,
                                    .retreat = hd__reverse_settle,
                                    .put_record = hd__stateful_put,
                                    .get_record = hd__stateful_get};

HD_WALK_STRATEGY(dpor, "dpor", *(s->fingerprint ? &hd__stateful : s->plan ? &hd__pruned : &dpor));

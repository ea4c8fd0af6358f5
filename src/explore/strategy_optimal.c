/* strategy_optimal.c: one execution per happens-before class. Runs in the tested process.
 *
 * Optimal-DPOR with wakeup trees (reverse.c): a branch is a whole sequence that leads to an execution that no other
 * branch leads to, so no execution is ever given up half-way (status.blocked stays 0). With --states it is the search of
 * `dpor`: a wakeup tree leads to executions that may be given up at a state that is known, so it promises nothing. */
#include "explore/property.h"
#include "explore/walk.h"

static const struct policy optimal = {.filter = {&hd__filter_sleep, &hd__filter_symmetry},
                                      .whole = 1,
                                      .keeps_done = 1,
                                      .ordered = 1,
                                      .first = hd__reverse_first,
                                      .conclude = hd__reverse_conclude,
                                      .retreat = hd__reverse_settle};

HD_WALK_STRATEGY(optimal, "optimal", *(s->fingerprint ? &hd__stateful : s->plan ? &hd__pruned : &optimal));

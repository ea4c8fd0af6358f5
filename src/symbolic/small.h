/* small.h: conditions on symbols that have few values each, decided by trying all. */
#ifndef HD_SYMBOLIC_SMALL_H
#define HD_SYMBOLIC_SMALL_H

#include "symbolic/solver.h"

/* pre: the conditions are sorted, and not constant. UNKNOWN: there are too many combinations. UNSAT: *core gets a contradiction
 * among the conditions. */
enum hd_smt_answer hd__small_decide(struct hd_exprs *x, const hd_expr_ref *v, size_t n,
                                    struct hd_values *model, struct hd_core *core);

#endif

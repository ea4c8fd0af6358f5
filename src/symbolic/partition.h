/* partition.h: classes of inputs, and an input outside of all of them. Runs in the supervisor.
 *
 * A class is what the conditions of one complete search have in common: all inputs for which each condition has the value
 * it had. Inputs with a range are in that range. */
#ifndef HD_SYMBOLIC_PARTITION_H
#define HD_SYMBOLIC_PARTITION_H

#include "smt/smt.h"
#include "symbolic/expr.h"
#include "symbolic/solver.h"

struct hd_partition;

int hd_partition_new(struct hd_partition **out, const char *libdir, struct hd_err *err);
void hd_partition_free(struct hd_partition *p);

/* The class of the inputs that `s` has the values of. Copies what it needs; `table` may be read again from the start of the
 * nodes known when it grows, and is never shorter. Returns the position of a condition that does not have, for these
 * inputs, the value that it is said to have, or -1: the class then is too large or too small, and what follows from it is
 * no proof. */
long hd_partition_add(struct hd_partition *p, const struct hd_symbolic *s, const struct hd_expr *table,
                      const struct hd_condition *condition, size_t n);

/* Conditions of a search that did not end: they count as covered, but are no class. */
void hd_partition_saw(struct hd_partition *p, const struct hd_condition *condition, size_t n);

/* SAT: writes an input outside of all classes to s->bytes. UNSAT: there is none. UNKNOWN: the deadline (of hd_now; 0: none) is
 * over, or there may be inputs where a question took longer than `seconds`, but there are none elsewhere. */
enum hd_smt_answer hd_partition_ask(struct hd_partition *p, struct hd_symbolic *s, double seconds,
                                    double deadline);

/* One value of a condition at a place of the code. */
struct hd_outcome_seen {
  uint64_t site;
  bool taken, covered, is_case;
  bool unknown; /* not covered: the solver did not say whether inputs lead there */
  bool open;    /* not covered: not asked for everywhere */
};
typedef void hd_partition_outcome(void *arg, const struct hd_outcome_seen *o);
void hd_partition_outcomes(struct hd_partition *p, hd_partition_outcome *visit, void *arg);
struct hd_solver *hd_partition_solver(struct hd_partition *p);
const struct hd_solver_stats *hd_partition_stats(const struct hd_partition *p);

size_t hd_partition_classes(const struct hd_partition *p);
size_t hd_partition_exprs(const struct hd_partition *p); /* different ones, after simplification */

#endif

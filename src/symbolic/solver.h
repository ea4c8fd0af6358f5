/* solver.h: are conditions satisfiable together, and by which values? Runs in the supervisor.
 *
 * Conditions are split into groups that share no symbols. For each group the solver tries, in this order: the values
 * that the caller has, answers to the same question, values of earlier answers, contradictions found earlier, all values if
 * they are few (small.c), and Z3. */
#ifndef HD_SYMBOLIC_SOLVER_H
#define HD_SYMBOLIC_SOLVER_H

#include "smt/smt.h"
#include "symbolic/expr.h"

struct hd_solver;

struct hd_solver_stats {
  uint64_t queries; /* from outside */
  uint64_t groups;  /* that the values of the caller did not satisfy: one of these counts each */
  uint64_t same, models, cores, small, asked;
  uint64_t sat, unsat, unknown; /* of those asked */
  double seconds;               /* in Z3 */
};

/* A solver over a store, which it borrows. Gives up a question to Z3 after so many seconds. */
int hd_solver_new(struct hd_solver **out, struct hd_exprs *x, const char *libdir, double seconds,
                  struct hd_err *err);
void hd_solver_free(struct hd_solver *s);

struct hd_core {
  hd_expr_ref *v;
  size_t n, cap;
};

/* Values of *model are kept where they satisfy a group, and replaced where others do. When the answer is UNSAT and `core`
 * is not NULL, it gets conditions that contradict each other; it need not be the smallest set. */
enum hd_smt_answer hd_solver_check(struct hd_solver *s, const hd_expr_ref *condition, size_t n,
                                   struct hd_values *model, struct hd_core *core);
const struct hd_solver_stats *hd_solver_stats(const struct hd_solver *s);
/* Whether all combinations of values are tried where they are few (default), instead of asking Z3. Not while questions are
 * written to files. */
void hd_solver_try_all(struct hd_solver *s, bool on);
/* From now on Z3 may take so many seconds for a question. */
void hd_solver_limit(struct hd_solver *s, double seconds);

/* Queries to Z3 are written to numbered files NNNNN.smt2 of that folder, which exists; NULL: not. */
void hd_solver_export(struct hd_solver *s, const char *folder);

#endif

/* terms.h: expressions as terms of a solver, for the files of src/symbolic that have one. */
#ifndef HD_SYMBOLIC_TERMS_H
#define HD_SYMBOLIC_TERMS_H

#include "smt/smt.h"
#include "symbolic/expr.h"

struct hd_terms { /* of expressions: bit-vectors; 0: none yet */
  hd_term *v;
  size_t n, cap;
};

hd_term hd__expr_term(const struct hd_exprs *x, struct hd_smt *s, struct hd_terms *terms, hd_expr_ref e);

#endif

/* expr_int.h: the store, for the files of src/symbolic that work on its nodes. */
#ifndef HD_SYMBOLIC_EXPR_INT_H
#define HD_SYMBOLIC_EXPR_INT_H

#include "symbolic/expr.h"

struct hd_exprs {
  struct hd_node *node; /* node[0] is none */
  size_t n, cap;
  hd_expr_ref *table; /* open addressing; 0: free */
  size_t slots;
  /* Results of the evaluation or search under way, valid where mark[e] == round. */
  uint32_t *mark, round;
  uint64_t *memo;
  uint32_t symbols; /* more than the number of any symbol */
  HD_VEC(hd_expr_ref) stack;
};

/* The node as it is, without simplification. */
hd_expr_ref hd__expr_intern(struct hd_exprs *x, const struct hd_node *n);
/* Begins a walk: no node is marked. */
void hd__expr_begin(struct hd_exprs *x);
/* The next node below `root` whose operands are all marked, from the leaves up; 0: the root is marked. The caller marks
 * what it gets before it asks again. */
hd_expr_ref hd__expr_next(struct hd_exprs *x, hd_expr_ref root);

static inline unsigned hd__arity(unsigned op) {
  static const uint8_t arity[HD_EXPR_COUNT] = {
#define HD_EXPR(NAME, text, arity, result) arity,
#include "model/exprs.def"
#undef HD_EXPR
  };
  return arity[op];
}

static inline bool hd__is_comparison(unsigned op) { return op >= HD_EXPR_EQ && op <= HD_EXPR_SLE; }

#endif

/* terms.c: expressions as terms of a solver (terms.h). Runs in the supervisor. */
#include "symbolic/terms.h"

#include <stdlib.h>

static bool has(const struct hd_terms *t, hd_expr_ref e) { return e < t->n && t->v[e]; }

static hd_term make(const struct hd_exprs *x, struct hd_smt *s, const struct hd_terms *t,
                    const struct hd_node *n) {
  if (n->op == HD_EXPR_CONST) return hd_smt_bits_value(s, n->width, n->value);
  if (n->op == HD_EXPR_INPUT) return hd_smt_bits(s, n->width);
  return hd_smt_bits_make(s, &(struct hd_smt_bits){.op = n->op,
                                                   .width = n->width,
                                                   .from = hd_expr_width(x, n->a),
                                                   .low = (unsigned)n->value,
                                                   .a = t->v[n->a],
                                                   .b = n->b ? t->v[n->b] : 0,
                                                   .c = n->c ? t->v[n->c] : 0});
}

hd_term hd__expr_term(const struct hd_exprs *x, struct hd_smt *s, struct hd_terms *t, hd_expr_ref root) {
  HD_VEC(hd_expr_ref) stack = {0};
  hd_vec_push(&stack, root);
  while (stack.n) {
    hd_expr_ref e = stack.v[stack.n - 1];
    const struct hd_node *n = hd_expr_node(x, e);
    size_t before = stack.n;
    if (!has(t, e)) {
      if (n->a && !has(t, n->a)) hd_vec_push(&stack, n->a);
      if (n->b && !has(t, n->b)) hd_vec_push(&stack, n->b);
      if (n->c && !has(t, n->c)) hd_vec_push(&stack, n->c);
    }
    if (stack.n > before) continue;
    stack.n--;
    if (has(t, e)) continue;
    while (t->n <= e) hd_vec_push(t, 0);
    t->v[e] = make(x, s, t, n);
  }
  hd_vec_free(&stack);
  return t->v[root];
}

/* text.c: expressions as text, for people and for other solvers. Runs in the supervisor. */
#include "symbolic/expr_int.h"

#include <stdlib.h>

#define DEPTH 24 /* nested deeper than this is shown as "..." */

static const char *const smtlib[HD_EXPR_COUNT] = {
#define HD_EXPR(NAME, text, arity, result) text,
#include "model/exprs.def"
#undef HD_EXPR
};

static const char *const infix[HD_EXPR_COUNT] = {
    [HD_EXPR_ADD] = "+",   [HD_EXPR_SUB] = "-",   [HD_EXPR_MUL] = "*",  [HD_EXPR_UDIV] = "/u",
    [HD_EXPR_SDIV] = "/",  [HD_EXPR_UREM] = "%u", [HD_EXPR_SREM] = "%", [HD_EXPR_AND] = "&",
    [HD_EXPR_OR] = "|",    [HD_EXPR_XOR] = "^",   [HD_EXPR_SHL] = "<<", [HD_EXPR_LSHR] = ">>u",
    [HD_EXPR_ASHR] = ">>", [HD_EXPR_EQ] = "==",   [HD_EXPR_ULT] = "<u", [HD_EXPR_ULE] = "<=u",
    [HD_EXPR_SLT] = "<",   [HD_EXPR_SLE] = "<=",
};

static void show(struct hd_str *out, const struct hd_exprs *x, hd_expr_ref e,
                 const char *name(void *, uint32_t), void *arg, int depth) {
  const struct hd_node *n = hd_expr_node(x, e);
  if (depth > DEPTH) {
    hd_str_add(out, "...");
    return;
  }
  switch (n->op) {
    case HD_EXPR_CONST:
      hd_str_addf(out, "%lld",
                  n->width == 1 ? (long long)n->value
                                : (long long)hd_expr_compute(HD_EXPR_SEXT, 64, n->width, n->value, 0, 0, 0));
      return;
    case HD_EXPR_INPUT:
      if (name && name(arg, (uint32_t)n->value))
        hd_str_add(out, name(arg, (uint32_t)n->value));
      else
        hd_str_addf(out, "s%u", (unsigned)n->value);
      return;
    case HD_EXPR_ZEXT:
    case HD_EXPR_SEXT: show(out, x, n->a, name, arg, depth + 1); return;
    case HD_EXPR_EXTRACT:
      show(out, x, n->a, name, arg, depth + 1);
      hd_str_addf(out, "[%u:%u]", (unsigned)n->value + n->width - 1, (unsigned)n->value);
      return;
    default: break;
  }
  hd_str_addc(out, '(');
  show(out, x, n->a, name, arg, depth + 1);
  if (n->op == HD_EXPR_ITE) {
    hd_str_add(out, " ? ");
    show(out, x, n->b, name, arg, depth + 1);
    hd_str_add(out, " : ");
    show(out, x, n->c, name, arg, depth + 1);
  } else {
    hd_str_addf(out, " %s ", infix[n->op] ? infix[n->op] : smtlib[n->op]);
    show(out, x, n->b, name, arg, depth + 1);
  }
  hd_str_addc(out, ')');
}

void hd_expr_text(struct hd_str *out, const struct hd_exprs *x, hd_expr_ref e,
                  const char *name(void *, uint32_t), void *arg) {
  show(out, x, e, name, arg, 0);
}

/* Every node is a definition of its own, so that what is shared is written once. */
static void define(struct hd_str *out, const struct hd_exprs *x, hd_expr_ref e) {
  const struct hd_node *n = &x->node[e];
  if (n->op == HD_EXPR_INPUT) {
    hd_str_addf(out, "(declare-const s%u (_ BitVec %u))\n", (unsigned)n->value, n->width);
    hd_str_addf(out, "(define-fun e%u () (_ BitVec %u) s%u)\n", e, n->width, (unsigned)n->value);
    return;
  }
  hd_str_addf(out, "(define-fun e%u () (_ BitVec %u) ", e, n->width);
  const char *word = smtlib[n->op];
  switch (n->op) {
    case HD_EXPR_CONST: hd_str_addf(out, "(_ bv%llu %u)", (unsigned long long)n->value, n->width); break;
    case HD_EXPR_ZEXT:
    case HD_EXPR_SEXT:
      hd_str_addf(out, "((_ %s %u) e%u)", word, (unsigned)n->width - x->node[n->a].width, n->a);
      break;
    case HD_EXPR_EXTRACT:
      hd_str_addf(out, "((_ extract %u %u) e%u)", (unsigned)n->value + n->width - 1, (unsigned)n->value,
                  n->a);
      break;
    case HD_EXPR_ITE: hd_str_addf(out, "(ite (= e%u #b1) e%u e%u)", n->a, n->b, n->c); break;
    default:
      if (hd__is_comparison(n->op))
        hd_str_addf(out, "(ite (%s e%u e%u) #b1 #b0)", word, n->a, n->b);
      else
        hd_str_addf(out, "(%s e%u e%u)", word, n->a, n->b);
  }
  hd_str_add(out, ")\n");
}

void hd_expr_smtlib(struct hd_str *out, struct hd_exprs *x, const hd_expr_ref *condition, size_t n) {
  hd_str_add(out, "(set-logic QF_BV)\n");
  hd__expr_begin(x);
  for (size_t i = 0; i < n; i++) {
    for (hd_expr_ref e; (e = hd__expr_next(x, condition[i]));) {
      x->mark[e] = x->round;
      define(out, x, e);
    }
    hd_str_addf(out, "(assert (= e%u #b1))\n", condition[i]);
  }
  hd_str_add(out, "(check-sat)\n(get-model)\n");
}

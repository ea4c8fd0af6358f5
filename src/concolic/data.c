/* data.c: are there inputs for a scenario? (concolic.h). Runs in the supervisor.
 *
 * The constraints are those of the thesis, figure 6.4 (DC): the conditions on the paths hold, and each read has the value
 * of the write that it sees. Instead of equations for reads, values are substituted in the order of events, so that what
 * the solver gets speaks of inputs alone, and most conditions are constants. A contradiction among conditions concerns
 * the reads that they depend on, directly or through what was written (optimisation U). */
#include "concolic/concolic_int.h"

#include <stdlib.h>
#include <string.h>

struct values {
  HD_VEC(hd_expr_ref) with; /* of symbols */
  HD_VEC(uint32_t) read_of; /* of symbols: the read's event plus 1 */
};

static uint32_t symbol_of(const struct hd_exprs *x, hd_expr_ref e) {
  return (uint32_t)hd_expr_node(x, e)->value;
}

static void set(struct values *v, uint32_t symbol, hd_expr_ref value, uint32_t event) {
  while (v->with.n <= symbol) hd_vec_push(&v->with, 0);
  while (v->read_of.n <= symbol) hd_vec_push(&v->read_of, 0);
  v->with.v[symbol] = value;
  v->read_of.v[symbol] = event + 1;
}

/* Local reads that an expression depends on. */
static void depend(const struct hd__case *k, struct hd_exprs *x, const struct values *v, hd_expr_ref e,
                   bool *visited, struct hd__reads *reads) {
  HD_VEC(hd_expr_ref) stack = {0};
  hd_vec_push(&stack, e);
  while (stack.n) {
    struct hd_symbols in = {0};
    hd_expr_ref top = stack.v[--stack.n];
    hd_expr_symbols(x, &top, 1, &in);
    for (size_t i = 0; i < in.n; i++) {
      uint32_t event = in.v[i] < v->read_of.n ? v->read_of.v[in.v[i]] : 0;
      if (!event-- || visited[event]) continue;
      visited[event] = true;
      if (k->local.v[event]) hd_vec_push(reads, k->node.v[event]);
      if (k->source.v[event]) hd_vec_push(&stack, k->f->node.v[k->node.v[k->source.v[event] - 1]].e.expr);
    }
    hd_vec_free(&in);
  }
  hd_vec_free(&stack);
}

/* The value is the symbol itself as long as no execution has shown the initial value. */
static hd_expr_ref value_of(const struct hd__case *k, struct hd_exprs *x, const hd_expr_ref *written,
                            uint32_t event) {
  const struct hd__node *n = &k->f->node.v[k->node.v[event]];
  if (k->source.v[event]) return written[k->source.v[event] - 1];
  const struct hd__var *v = &k->f->var.v[n->var];
  return v->has_initial ? hd_expr_const(x, hd_expr_width(x, n->e.expr), v->initial) : n->e.expr;
}

/* Whether conditions depend on initial values that are not known. */
static bool has_reads(struct hd_exprs *x, const struct values *v, const hd_expr_ref *condition, size_t n) {
  struct hd_symbols in = {0};
  bool found = false;
  hd_expr_symbols(x, condition, n, &in);
  for (size_t i = 0; i < in.n; i++) found |= in.v[i] < v->read_of.n && v->read_of.v[in.v[i]];
  hd_vec_free(&in);
  return found;
}

enum hd__answer hd__inputs(struct hd__case *k, struct hd_exprs *x, struct hd_solver *s,
                           struct hd_values *inputs, struct hd__reads *reads, bool *guessed) {
  struct values v = {0};
  HD_VEC(hd_expr_ref) condition = {0};
  HD_VEC(uint32_t) of = {0}; /* the branch of each */
  hd_expr_ref *written = hd_alloc((k->node.n + 1) * sizeof *written);
  for (size_t i = 0; i < k->order.n; i++) {
    uint32_t event = k->order.v[i];
    const struct hd_cc_event *e = &k->f->node.v[k->node.v[event]].e;
    if (e->kind == HD_CC_READ) {
      set(&v, symbol_of(x, e->expr), value_of(k, x, written, event), event);
    } else if (e->kind == HD_CC_WRITE) {
      written[event] = hd_expr_substitute(x, e->expr, v.with.v, v.with.n);
    } else if (e->kind == HD_CC_BRANCH) {
      uint64_t c;
      hd_expr_ref now = hd_expr_substitute(x, e->expr, v.with.v, v.with.n);
      if (hd_expr_is_const(x, now, &c) && c) continue;
      hd_vec_push(&condition, now);
      hd_vec_push(&of, event);
    }
  }
  struct hd_core core = {0};
  enum hd_smt_answer answer = hd_solver_check(s, condition.v, condition.n, inputs, &core);
  if (answer == HD_SMT_UNSAT) {
    bool *visited = hd_alloc(k->node.n + 1);
    for (size_t c = 0; c < core.n; c++)
      for (size_t i = 0; i < condition.n; i++)
        if (condition.v[i] == core.v[c])
          depend(k, x, &v, k->f->node.v[k->node.v[of.v[i]]].e.expr, visited, reads);
    free(visited);
  }
  if (answer == HD_SMT_SAT) *guessed = has_reads(x, &v, condition.v, condition.n);
  hd_vec_free(&core);
  hd_vec_free(&condition);
  hd_vec_free(&of);
  hd_vec_free(&v.with);
  hd_vec_free(&v.read_of);
  free(written);
  return answer == HD_SMT_SAT ? HD__YES : answer == HD_SMT_UNSAT ? HD__NO : HD__UNKNOWN;
}

/* engine_z3.c: Z3 as a solver (smt.h). A module that the supervisor loads.
 *
 * Differences of integers Z3 solves fastest with its solver for difference logic, bit-vectors with its SAT solver. Every
 * term is referenced from its creation to the pop of the push before it. */
#include "smt/smt.h"

#include <stdlib.h>
#include <string.h>
#include <z3.h>

struct solver {
  Z3_context c;
  Z3_solver s;
  Z3_model model;
  Z3_sort integers, booleans;
  Z3_sort vectors[65]; /* bit-vectors by width, those that are used */
  Z3_ast *term;
  size_t n, cap;
  size_t *mark; /* terms at each push */
  size_t nmarks, marks_cap;
  unsigned names;
  unsigned timeout_ms; /* that is set */
  bool failed;         /* Z3 reported an error: answers are unknown from then on */
};

static void on_error(Z3_context c, Z3_error_code e) {
  (void)c;
  (void)e; /* asked for after each check */
}

static hd_term keep(struct solver *s, Z3_ast a) {
  if (!a) {
    s->failed = true;
    a = Z3_mk_true(s->c);
  }
  Z3_inc_ref(s->c, a);
  if (s->n == s->cap) {
    s->cap = s->cap ? 2 * s->cap : 1024;
    s->term = realloc(s->term, s->cap * sizeof *s->term);
    if (!s->term) abort();
  }
  s->term[s->n++] = a;
  return (hd_term)s->n;
}

static Z3_ast at(const struct solver *s, hd_term t) { return s->term[t - 1]; }

static void *new (enum hd_smt_theory theory) {
  struct solver *s = calloc(1, sizeof *s);
  if (!s) abort();
  Z3_config config = Z3_mk_config();
  Z3_set_param_value(config, "model", "true");
  s->c = Z3_mk_context_rc(config);
  Z3_del_config(config);
  Z3_set_error_handler(s->c, on_error);
  s->s = theory == HD_SMT_BITS ? Z3_mk_solver_for_logic(s->c, Z3_mk_string_symbol(s->c, "QF_BV"))
                               : Z3_mk_simple_solver(s->c);
  Z3_solver_inc_ref(s->c, s->s);
  s->integers = Z3_mk_int_sort(s->c);
  Z3_inc_ref(s->c, Z3_sort_to_ast(s->c, s->integers));
  s->booleans = Z3_mk_bool_sort(s->c);
  Z3_inc_ref(s->c, Z3_sort_to_ast(s->c, s->booleans));
  return s;
}

static void drop_model(struct solver *s) {
  if (s->model) Z3_model_dec_ref(s->c, s->model);
  s->model = NULL;
}

static void free_solver(void *state) {
  struct solver *s = state;
  drop_model(s);
  for (size_t i = 0; i < s->n; i++) Z3_dec_ref(s->c, s->term[i]);
  Z3_solver_dec_ref(s->c, s->s);
  Z3_del_context(s->c);
  free(s->term);
  free(s->mark);
  free(s);
}

static hd_term variable(struct solver *s, Z3_sort sort) {
  return keep(s, Z3_mk_const(s->c, Z3_mk_int_symbol(s->c, (int)s->names++), sort));
}
static hd_term integer(void *s) { return variable(s, ((struct solver *)s)->integers); }
static hd_term boolean(void *s) { return variable(s, ((struct solver *)s)->booleans); }

/* A term without a reference lives only until the next call. */
static hd_term less(void *state, hd_term a, hd_term b, int distance) {
  struct solver *s = state;
  Z3_ast operand[2] = {at(s, a), at(s, b)};
  Z3_ast difference = Z3_mk_sub(s->c, 2, operand);
  Z3_inc_ref(s->c, difference);
  Z3_ast bound = Z3_mk_int(s->c, -distance, s->integers);
  Z3_inc_ref(s->c, bound);
  hd_term out = keep(s, Z3_mk_le(s->c, difference, bound));
  Z3_dec_ref(s->c, difference);
  Z3_dec_ref(s->c, bound);
  return out;
}

static hd_term combine(struct solver *s, const hd_term *t, size_t n,
                       Z3_ast make(Z3_context, unsigned, Z3_ast const *)) {
  Z3_ast small[64], *a = n <= 64 ? small : malloc(n * sizeof *a);
  if (!a) abort();
  for (size_t i = 0; i < n; i++) a[i] = at(s, t[i]);
  hd_term out = n == 1 ? t[0] : keep(s, make(s->c, (unsigned)n, a));
  if (a != small) free(a);
  return out;
}

static hd_term all(void *state, const hd_term *t, size_t n) {
  struct solver *s = state;
  return n ? combine(s, t, n, Z3_mk_and) : keep(s, Z3_mk_true(s->c));
}

static hd_term any(void *state, const hd_term *t, size_t n) {
  struct solver *s = state;
  return n ? combine(s, t, n, Z3_mk_or) : keep(s, Z3_mk_false(s->c));
}

static hd_term not_(void *state, hd_term t) {
  struct solver *s = state;
  return keep(s, Z3_mk_not(s->c, at(s, t)));
}

static hd_term at_most(void *state, const hd_term *t, size_t n, unsigned k) {
  struct solver *s = state;
  if (n <= k) return keep(s, Z3_mk_true(s->c));
  Z3_ast *a = malloc((n + 1) * sizeof *a);
  if (!a) abort();
  for (size_t i = 0; i < n; i++) a[i] = at(s, t[i]);
  hd_term out = keep(s, Z3_mk_atmost(s->c, (unsigned)n, a, k));
  free(a);
  return out;
}

static void require(void *state, hd_term t) {
  struct solver *s = state;
  Z3_solver_assert(s->c, s->s, at(s, t));
}

static void push(void *state) {
  struct solver *s = state;
  if (s->nmarks == s->marks_cap) {
    s->marks_cap = s->marks_cap ? 2 * s->marks_cap : 16;
    s->mark = realloc(s->mark, s->marks_cap * sizeof *s->mark);
    if (!s->mark) abort();
  }
  s->mark[s->nmarks++] = s->n;
  Z3_solver_push(s->c, s->s);
}

static void pop(void *state) {
  struct solver *s = state;
  drop_model(s);
  Z3_solver_pop(s->c, s->s, 1);
  size_t to = s->mark[--s->nmarks];
  while (s->n > to) Z3_dec_ref(s->c, s->term[--s->n]);
}

static void limit(struct solver *s, double seconds) {
  unsigned ms = (unsigned)(seconds * 1000) + 1;
  if (ms == s->timeout_ms) return;
  s->timeout_ms = ms;
  Z3_params p = Z3_mk_params(s->c);
  Z3_params_inc_ref(s->c, p);
  Z3_params_set_uint(s->c, p, Z3_mk_string_symbol(s->c, "timeout"), ms);
  Z3_solver_set_params(s->c, s->s, p);
  Z3_params_dec_ref(s->c, p);
}

static void interrupt(void *state) {
  struct solver *s = state;
  Z3_solver_interrupt(s->c, s->s);
}

static enum hd_smt_answer answer_of(struct solver *s, Z3_lbool answer) {
  if (s->failed || Z3_get_error_code(s->c) != Z3_OK || answer == Z3_L_UNDEF) return HD_SMT_UNKNOWN;
  if (answer == Z3_L_FALSE) return HD_SMT_UNSAT;
  s->model = Z3_solver_get_model(s->c, s->s);
  if (!s->model) return HD_SMT_UNKNOWN;
  Z3_model_inc_ref(s->c, s->model);
  return HD_SMT_SAT;
}

static enum hd_smt_answer check(void *state, double seconds) {
  struct solver *s = state;
  drop_model(s);
  limit(s, seconds);
  return answer_of(s, Z3_solver_check(s->c, s->s));
}

static enum hd_smt_answer check_assuming(void *state, const hd_term *t, size_t n, double seconds) {
  struct solver *s = state;
  Z3_ast small[64], *a = n <= 64 ? small : malloc(n * sizeof *a);
  if (!a) abort();
  drop_model(s);
  limit(s, seconds);
  for (size_t i = 0; i < n; i++) a[i] = at(s, t[i]);
  enum hd_smt_answer out = answer_of(s, Z3_solver_check_assumptions(s->c, s->s, (unsigned)n, a));
  if (a != small) free(a);
  return out;
}

static size_t core(void *state, const hd_term *t, size_t n, size_t *out) {
  struct solver *s = state;
  size_t found = 0;
  Z3_ast_vector v = Z3_solver_get_unsat_core(s->c, s->s);
  Z3_ast_vector_inc_ref(s->c, v);
  for (size_t i = 0; i < n; i++)
    for (unsigned k = 0; k < Z3_ast_vector_size(s->c, v); k++)
      if (Z3_is_eq_ast(s->c, Z3_ast_vector_get(s->c, v, k), at(s, t[i]))) {
        out[found++] = i;
        break;
      }
  Z3_ast_vector_dec_ref(s->c, v);
  return found;
}

/* ---- bit-vectors ---- */

static Z3_sort vector(struct solver *s, unsigned width) {
  if (!s->vectors[width]) {
    s->vectors[width] = Z3_mk_bv_sort(s->c, width);
    Z3_inc_ref(s->c, Z3_sort_to_ast(s->c, s->vectors[width]));
  }
  return s->vectors[width];
}

static hd_term bits(void *state, unsigned width) { return variable(state, vector(state, width)); }

static hd_term bits_value(void *state, unsigned width, uint64_t v) {
  struct solver *s = state;
  return keep(s, Z3_mk_unsigned_int64(s->c, v, vector(s, width)));
}

/* A boolean as a bit-vector of width 1. */
static Z3_ast bit(struct solver *s, Z3_ast boolean) {
  Z3_inc_ref(s->c, boolean);
  Z3_ast one = Z3_mk_unsigned_int64(s->c, 1, vector(s, 1));
  Z3_inc_ref(s->c, one);
  Z3_ast zero = Z3_mk_unsigned_int64(s->c, 0, vector(s, 1));
  Z3_inc_ref(s->c, zero);
  Z3_ast out = Z3_mk_ite(s->c, boolean, one, zero);
  Z3_inc_ref(s->c, out);
  Z3_dec_ref(s->c, zero);
  Z3_dec_ref(s->c, one);
  Z3_dec_ref(s->c, boolean);
  return out; /* with a reference, which the caller drops */
}

static Z3_ast is_one(struct solver *s, hd_term t) {
  Z3_ast one = Z3_mk_unsigned_int64(s->c, 1, vector(s, 1));
  Z3_inc_ref(s->c, one);
  Z3_ast out = Z3_mk_eq(s->c, at(s, t), one);
  Z3_inc_ref(s->c, out);
  Z3_dec_ref(s->c, one);
  return out; /* with a reference */
}

static hd_term is_set(void *state, hd_term t) {
  struct solver *s = state;
  Z3_ast a = is_one(s, t);
  hd_term out = keep(s, a);
  Z3_dec_ref(s->c, a);
  return out;
}

static hd_term bits_make(void *state, const struct hd_smt_bits *o) {
  struct solver *s = state;
  Z3_context c = s->c;
  Z3_ast a = o->a ? at(s, o->a) : NULL, b = o->b ? at(s, o->b) : NULL, t = NULL;
  hd_term out;
  switch (o->op) {
    case HD_EXPR_ADD: return keep(s, Z3_mk_bvadd(c, a, b));
    case HD_EXPR_SUB: return keep(s, Z3_mk_bvsub(c, a, b));
    case HD_EXPR_MUL: return keep(s, Z3_mk_bvmul(c, a, b));
    case HD_EXPR_UDIV: return keep(s, Z3_mk_bvudiv(c, a, b));
    case HD_EXPR_SDIV: return keep(s, Z3_mk_bvsdiv(c, a, b));
    case HD_EXPR_UREM: return keep(s, Z3_mk_bvurem(c, a, b));
    case HD_EXPR_SREM: return keep(s, Z3_mk_bvsrem(c, a, b));
    case HD_EXPR_AND: return keep(s, Z3_mk_bvand(c, a, b));
    case HD_EXPR_OR: return keep(s, Z3_mk_bvor(c, a, b));
    case HD_EXPR_XOR: return keep(s, Z3_mk_bvxor(c, a, b));
    case HD_EXPR_SHL: return keep(s, Z3_mk_bvshl(c, a, b));
    case HD_EXPR_LSHR: return keep(s, Z3_mk_bvlshr(c, a, b));
    case HD_EXPR_ASHR: return keep(s, Z3_mk_bvashr(c, a, b));
    case HD_EXPR_NOT: return keep(s, Z3_mk_bvnot(c, a));
    case HD_EXPR_ZEXT: return keep(s, Z3_mk_zero_ext(c, o->width - o->from, a));
    case HD_EXPR_SEXT: return keep(s, Z3_mk_sign_ext(c, o->width - o->from, a));
    case HD_EXPR_EXTRACT: return keep(s, Z3_mk_extract(c, o->low + o->width - 1, o->low, a));
    case HD_EXPR_CONCAT: return keep(s, Z3_mk_concat(c, a, b));
    case HD_EXPR_ITE:
      t = is_one(s, o->a);
      out = keep(s, Z3_mk_ite(c, t, b, at(s, o->c)));
      Z3_dec_ref(c, t);
      return out;
    case HD_EXPR_EQ: t = bit(s, Z3_mk_eq(c, a, b)); break;
    case HD_EXPR_ULT: t = bit(s, Z3_mk_bvult(c, a, b)); break;
    case HD_EXPR_ULE: t = bit(s, Z3_mk_bvule(c, a, b)); break;
    case HD_EXPR_SLT: t = bit(s, Z3_mk_bvslt(c, a, b)); break;
    case HD_EXPR_SLE: t = bit(s, Z3_mk_bvsle(c, a, b)); break;
    default: return keep(s, NULL);
  }
  out = keep(s, t);
  Z3_dec_ref(c, t);
  return out;
}

static uint64_t bits_of(void *state, hd_term t) {
  struct solver *s = state;
  Z3_ast v;
  uint64_t out = 0;
  if (Z3_model_eval(s->c, s->model, at(s, t), true, &v)) {
    Z3_inc_ref(s->c, v);
    Z3_get_numeral_uint64(s->c, v, &out);
    Z3_dec_ref(s->c, v);
  }
  return out;
}

static int64_t value(void *state, hd_term t) {
  struct solver *s = state;
  Z3_ast v;
  int64_t out = 0;
  if (Z3_model_eval(s->c, s->model, at(s, t), true, &v)) {
    Z3_inc_ref(s->c, v);
    Z3_get_numeral_int64(s->c, v, &out);
    Z3_dec_ref(s->c, v);
  }
  return out;
}

static bool truth(void *state, hd_term t) {
  struct solver *s = state;
  Z3_ast v;
  bool out = false;
  if (Z3_model_eval(s->c, s->model, at(s, t), true, &v)) {
    Z3_inc_ref(s->c, v);
    out = Z3_get_bool_value(s->c, v) == Z3_L_TRUE;
    Z3_dec_ref(s->c, v);
  }
  return out;
}

extern const struct hd_smt_engine hd_smt_engine_3;
const struct hd_smt_engine hd_smt_engine_3 = {
    .name = "Z3",
    .new = new,
    .free = free_solver,
    .integer = integer,
    .boolean = boolean,
    .less = less,
    .all = all,
    .any = any,
    .not_ = not_,
    .at_most = at_most,
    .require = require,
    .push = push,
    .pop = pop,
    .check = check,
    .interrupt = interrupt,
    .value = value,
    .truth = truth,
    .bits = bits,
    .bits_value = bits_value,
    .bits_make = bits_make,
    .is_set = is_set,
    .check_assuming = check_assuming,
    .core = core,
    .bits_of = bits_of,
};

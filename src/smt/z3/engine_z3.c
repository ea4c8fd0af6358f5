/* engine_z3.c: Z3 as a solver (smt.h). A module that the supervisor loads.
 *
 * Only differences of integers occur, which Z3 solves fastest with its solver for difference logic. Every term is
 * referenced from its creation to the pop of the push before it. */
#include "smt/smt.h"

#include <stdlib.h>
#include <string.h>
#include <z3.h>

struct solver {
  Z3_context c;
  Z3_solver s;
  Z3_model model;
  Z3_sort integers, booleans;
  Z3_ast *term;
  size_t n, cap;
  size_t *mark; /* terms at each push */
  size_t nmarks, marks_cap;
  unsigned names;
  bool failed; /* Z3 reported an error: answers are unknown from then on */
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

static void *new (void) {
  struct solver *s = calloc(1, sizeof *s);
  if (!s) abort();
  Z3_config config = Z3_mk_config();
  Z3_set_param_value(config, "model", "true");
  s->c = Z3_mk_context_rc(config);
  Z3_del_config(config);
  Z3_set_error_handler(s->c, on_error);
  s->s = Z3_mk_simple_solver(s->c);
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

static enum hd_smt_answer check(void *state, double seconds) {
  struct solver *s = state;
  drop_model(s);
  Z3_params p = Z3_mk_params(s->c);
  Z3_params_inc_ref(s->c, p);
  Z3_params_set_uint(s->c, p, Z3_mk_string_symbol(s->c, "timeout"), (unsigned)(seconds * 1000) + 1);
  Z3_solver_set_params(s->c, s->s, p);
  Z3_params_dec_ref(s->c, p);
  Z3_lbool answer = Z3_solver_check(s->c, s->s);
  if (s->failed || Z3_get_error_code(s->c) != Z3_OK || answer == Z3_L_UNDEF) return HD_SMT_UNKNOWN;
  if (answer == Z3_L_FALSE) return HD_SMT_UNSAT;
  s->model = Z3_solver_get_model(s->c, s->s);
  if (!s->model) return HD_SMT_UNKNOWN;
  Z3_model_inc_ref(s->c, s->model);
  return HD_SMT_SAT;
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

extern const struct hd_smt_engine hd_smt_engine_1;
const struct hd_smt_engine hd_smt_engine_1 = {
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
    .value = value,
    .truth = truth,
};

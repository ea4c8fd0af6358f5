/* solver.c: satisfiability of conditions (solver.h). Runs in the supervisor.
 *
 * Invariants
 *  1. A condition is given to Z3 once, as `literal implies condition`; a question assumes the literals of its group. So
 *     everything that Z3 has learned holds for later questions.
 *  2. What is remembered (answers, values, contradictions) speaks of groups alone, never of other conditions of a question.
 *  3. A model is evaluated before it is returned: an error of the translation would be a bug of ours, never a wrong path. */
#include "symbolic/solver.h"

#include "symbolic/expr_int.h"
#include "symbolic/small.h"
#include "symbolic/terms.h"

#include <stdlib.h>
#include <string.h>

#define MODELS 16         /* earlier values that are tried */
#define MAX_LITERALS 4000 /* then Z3 begins afresh */

struct answer {
  hd_expr_ref *condition; /* sorted */
  size_t n;
  enum hd_smt_answer answer;
  size_t what; /* of `model` or `core` */
};

struct model {
  uint32_t *symbol;
  uint64_t *value;
  size_t n;
};

struct set {
  hd_expr_ref *v; /* sorted */
  size_t n;
};

struct hd_solver {
  struct hd_exprs *x;
  struct hd_smt *smt;
  char *libdir, *folder;
  double seconds;
  bool only_z3;
  struct hd_solver_stats stats;
  struct hd_terms term;
  HD_VEC(hd_term) literal; /* of conditions: the boolean that implies them */
  size_t nliterals;
  HD_VEC(uint32_t) first; /* of conditions: where their symbols begin in `pool`, plus 1 */
  HD_VEC(uint32_t) pool;  /* count, symbols ... */
  HD_VEC(struct answer) answer;
  uint32_t *table; /* of answers: index plus 1 */
  size_t slots;
  HD_VEC(struct model) model;
  HD_VEC(struct set) core;
  HD_VEC(uint32_t) last_core; /* of conditions: the youngest core whose largest member they are, plus 1 ... */
  HD_VEC(uint32_t) next_core; /* ... and the one before, of each core */
  HD_VEC(uint32_t) owner;     /* of symbols: the first condition of the question that has them, plus 1 */
  HD_VEC(uint32_t) touched;
};

int hd_solver_new(struct hd_solver **out, struct hd_exprs *x, const char *libdir, double seconds,
                  struct hd_err *err) {
  struct hd_smt *smt;
  *out = NULL;
  int rc = hd_smt_new(libdir, HD_SMT_BITS, &smt, err);
  if (rc != HD_OK) return rc;
  struct hd_solver *s = *out = hd_alloc(sizeof *s);
  s->x = x;
  s->smt = smt;
  s->libdir = libdir ? hd_strdup(libdir) : NULL;
  s->seconds = seconds;
  s->slots = 256;
  s->table = hd_alloc(s->slots * sizeof *s->table);
  return HD_OK;
}

void hd_solver_free(struct hd_solver *s) {
  if (!s) return;
  hd_smt_free(s->smt);
  for (size_t i = 0; i < s->answer.n; i++) free(s->answer.v[i].condition);
  for (size_t i = 0; i < s->model.n; i++) free(s->model.v[i].symbol), free(s->model.v[i].value);
  for (size_t i = 0; i < s->core.n; i++) free(s->core.v[i].v);
  hd_vec_free(&s->term);
  hd_vec_free(&s->literal);
  hd_vec_free(&s->first);
  hd_vec_free(&s->pool);
  hd_vec_free(&s->answer);
  hd_vec_free(&s->model);
  hd_vec_free(&s->core);
  hd_vec_free(&s->last_core);
  hd_vec_free(&s->next_core);
  hd_vec_free(&s->owner);
  hd_vec_free(&s->touched);
  free(s->table);
  free(s->libdir);
  free(s->folder);
  free(s);
}

const struct hd_solver_stats *hd_solver_stats(const struct hd_solver *s) { return &s->stats; }
void hd_solver_limit(struct hd_solver *s, double seconds) { s->seconds = seconds; }

void hd_solver_try_all(struct hd_solver *s, bool on) { s->only_z3 = !on; }

void hd_solver_export(struct hd_solver *s, const char *folder) {
  free(s->folder);
  s->folder = folder ? hd_strdup(folder) : NULL;
}

/* ---- sets of conditions ---- */

static int by_number(const void *a, const void *b) {
  hd_expr_ref x = *(const hd_expr_ref *)a, y = *(const hd_expr_ref *)b;
  return (x > y) - (x < y);
}

/* Sorts and drops repetitions. */
static size_t as_set(hd_expr_ref *v, size_t n) {
  size_t kept = 0;
  if (n) qsort(v, n, sizeof *v, by_number);
  for (size_t i = 0; i < n; i++)
    if (!kept || v[kept - 1] != v[i]) v[kept++] = v[i];
  return kept;
}

static bool contains(const hd_expr_ref *v, size_t n, const struct set *part) {
  size_t i = 0;
  for (size_t k = 0; k < part->n; k++) {
    while (i < n && v[i] < part->v[k]) i++;
    if (i == n || v[i] != part->v[k]) return false;
  }
  return true;
}

static hd_expr_ref *copy(const hd_expr_ref *v, size_t n) {
  hd_expr_ref *out = hd_alloc((n + 1) * sizeof *out);
  memcpy(out, v, n * sizeof *out);
  return out;
}

/* The symbols of a condition; returns how many. */
static size_t symbols(struct hd_solver *s, hd_expr_ref e, const uint32_t **out) {
  while (s->first.n <= e) hd_vec_push(&s->first, 0);
  if (!s->first.v[e]) {
    struct hd_symbols found = {0};
    hd_expr_symbols(s->x, &e, 1, &found);
    hd_vec_push(&s->pool, (uint32_t)found.n);
    s->first.v[e] = (uint32_t)s->pool.n;
    for (size_t i = 0; i < found.n; i++) hd_vec_push(&s->pool, found.v[i]);
    hd_vec_free(&found);
  }
  *out = s->pool.v + s->first.v[e];
  return s->pool.v[s->first.v[e] - 1];
}

static bool satisfied(struct hd_solver *s, const hd_expr_ref *v, size_t n, const struct hd_values *values) {
  for (size_t i = 0; i < n; i++)
    if (!hd_expr_eval(s->x, v[i], values)) return false;
  return true;
}

/* ---- what is remembered ---- */

static size_t slot_of(const struct hd_solver *s, const hd_expr_ref *v, size_t n) {
  uint64_t h = n;
  for (size_t i = 0; i < n; i++) h = (h ^ v[i]) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
  size_t at = (size_t)h & (s->slots - 1);
  for (; s->table[at]; at = (at + 1) & (s->slots - 1)) {
    const struct answer *a = &s->answer.v[s->table[at] - 1];
    if (a->n == n && memcmp(a->condition, v, n * sizeof *v) == 0) break;
  }
  return at;
}

static void remember(struct hd_solver *s, const hd_expr_ref *v, size_t n, enum hd_smt_answer answer,
                     size_t what) {
  hd_vec_push(&s->answer, ((struct answer){copy(v, n), n, answer, what}));
  s->table[slot_of(s, v, n)] = (uint32_t)s->answer.n;
  if (s->answer.n <= s->slots / 2) return;
  free(s->table);
  s->slots *= 2;
  s->table = hd_alloc(s->slots * sizeof *s->table);
  for (size_t i = 0; i < s->answer.n; i++)
    s->table[slot_of(s, s->answer.v[i].condition, s->answer.v[i].n)] = (uint32_t)i + 1;
}

static size_t add_model(struct hd_solver *s, const hd_expr_ref *v, size_t n, const struct hd_values *values) {
  struct hd_symbols in = {0};
  hd_expr_symbols(s->x, v, n, &in);
  uint64_t *value = hd_alloc((in.n + 1) * sizeof *value);
  for (size_t i = 0; i < in.n; i++) value[i] = hd_values_of(values, in.v[i]);
  hd_vec_push(&s->model, ((struct model){in.v, value, in.n}));
  return s->model.n - 1;
}

/* Values of the symbols in the conditions; what else the model says may contradict the other groups of the question. */
static void use_model(struct hd_solver *s, size_t i, const hd_expr_ref *v, size_t n,
                      struct hd_values *values) {
  const struct model *m = &s->model.v[i];
  struct hd_symbols in = {0};
  hd_expr_symbols(s->x, v, n, &in);
  for (size_t k = 0; k < m->n; k++)
    for (size_t j = 0; j < in.n; j++)
      if (in.v[j] == m->symbol[k]) hd_values_set(values, m->symbol[k], m->value[k]);
  hd_vec_free(&in);
}

static size_t add_core(struct hd_solver *s, const hd_expr_ref *v, size_t n) {
  struct set c = {copy(v, n), n};
  c.n = as_set(c.v, n);
  hd_expr_ref top = c.n ? c.v[c.n - 1] : 0;
  while (s->last_core.n <= top) hd_vec_push(&s->last_core, 0);
  hd_vec_push(&s->core, c);
  hd_vec_push(&s->next_core, s->last_core.v[top]);
  s->last_core.v[top] = (uint32_t)s->core.n;
  return s->core.n - 1;
}

/* A known contradiction among the conditions; SIZE_MAX: none. */
static size_t find_core(const struct hd_solver *s, const hd_expr_ref *v, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (uint32_t c = v[i] < s->last_core.n ? s->last_core.v[v[i]] : 0; c; c = s->next_core.v[c - 1])
      if (contains(v, n, &s->core.v[c - 1])) return c - 1;
  return SIZE_MAX;
}

/* ---- Z3 ---- */

static hd_term literal(struct hd_solver *s, hd_expr_ref e) {
  while (s->literal.n <= e) hd_vec_push(&s->literal, 0);
  if (!s->literal.v[e]) {
    hd_term l = hd_smt_boolean(s->smt);
    hd_term clause[2] = {hd_smt_not(s->smt, l),
                         hd_smt_is_set(s->smt, hd__expr_term(s->x, s->smt, &s->term, e))};
    hd_smt_require(s->smt, hd_smt_any(s->smt, clause, 2));
    s->literal.v[e] = l;
    s->nliterals++;
  }
  return s->literal.v[e];
}

/* A new Z3: the old one carries too many conditions that are no longer asked about. */
static void start_afresh(struct hd_solver *s, size_t n) {
  struct hd_err err;
  struct hd_smt *smt;
  if (s->nliterals < MAX_LITERALS + 4 * n || hd_smt_new(s->libdir, HD_SMT_BITS, &smt, &err) != HD_OK) return;
  hd_smt_free(s->smt);
  s->smt = smt;
  s->term.n = s->literal.n = s->nliterals = 0;
}

static void write_query(struct hd_solver *s, const hd_expr_ref *v, size_t n) {
  struct hd_str out;
  struct hd_err err;
  if (!s->folder) return;
  hd_str_init(&out);
  hd_expr_smtlib(&out, s->x, v, n);
  char *path = hd_sprintf("%s/%05llu.smt2", s->folder, (unsigned long long)s->stats.asked);
  if (hd_write_file(path, out.s, out.n, &err) != HD_OK) hd_solver_export(s, NULL);
  free(path);
  hd_str_fini(&out);
}

/* pre: a walk has begun. */
static void read_model(struct hd_solver *s, hd_expr_ref condition, struct hd_values *model) {
  for (hd_expr_ref e; (e = hd__expr_next(s->x, condition));) {
    s->x->mark[e] = s->x->round;
    if (s->x->node[e].op == HD_EXPR_INPUT)
      hd_values_set(model, (uint32_t)s->x->node[e].value, hd_smt_bits_of(s->smt, s->term.v[e]));
  }
}

static enum hd_smt_answer ask(struct hd_solver *s, const hd_expr_ref *v, size_t n, struct hd_values *model) {
  double from = hd_now();
  start_afresh(s, n);
  s->stats.asked++;
  write_query(s, v, n);
  hd_term *assumed = hd_alloc((n + 1) * sizeof *assumed);
  for (size_t i = 0; i < n; i++) assumed[i] = literal(s, v[i]);
  enum hd_smt_answer a = hd_smt_check_assuming(s->smt, assumed, n, s->seconds);
  size_t what = 0;
  if (a == HD_SMT_SAT) {
    hd__expr_begin(s->x);
    for (size_t i = 0; i < n; i++) read_model(s, v[i], model);
    HD_BUG_ON(!satisfied(s, v, n, model)); /* invariant 3 */
    what = add_model(s, v, n, model);
  }
  if (a == HD_SMT_UNKNOWN) s->nliterals = SIZE_MAX / 2; /* an error would stay */
  if (a == HD_SMT_UNSAT) {
    size_t *at = hd_alloc((n + 1) * sizeof *at), found = hd_smt_core(s->smt, assumed, n, at);
    hd_expr_ref *c = hd_alloc((n + 1) * sizeof *c);
    for (size_t i = 0; i < found; i++) c[i] = v[at[i]];
    what = add_core(s, c, found);
    free(c);
    free(at);
  }
  free(assumed);
  s->stats.seconds += hd_now() - from;
  remember(s, v, n, a, what);
  return a;
}

/* ---- questions ---- */

/* All combinations of values, where these are few. */
static enum hd_smt_answer try_all(struct hd_solver *s, const hd_expr_ref *v, size_t n,
                                  struct hd_values *model) {
  struct hd_core core = {0};
  size_t what = 0;
  enum hd_smt_answer a = hd__small_decide(s->x, v, n, model, &core);
  HD_BUG_ON(a == HD_SMT_SAT && !satisfied(s, v, n, model)); /* invariant 3 */
  if (a == HD_SMT_SAT) what = add_model(s, v, n, model);
  if (a == HD_SMT_UNSAT) what = add_core(s, core.v, core.n);
  hd_vec_free(&core);
  if (a == HD_SMT_UNKNOWN) return a;
  s->stats.small++;
  remember(s, v, n, a, what);
  return a;
}

/* One group. */
static enum hd_smt_answer decide(struct hd_solver *s, const hd_expr_ref *v, size_t n, struct hd_values *model,
                                 struct hd_core *core) {
  if (satisfied(s, v, n, model)) return HD_SMT_SAT;
  s->stats.groups++;
  enum hd_smt_answer answer = HD_SMT_UNSAT;
  size_t what = 0, known = s->table[slot_of(s, v, n)];
  if (known) {
    s->stats.same++;
    answer = s->answer.v[known - 1].answer;
    what = s->answer.v[known - 1].what;
  } else if ((what = find_core(s, v, n)) != SIZE_MAX) {
    s->stats.cores++;
    remember(s, v, n, HD_SMT_UNSAT, what);
  } else {
    struct hd_values old = {0};
    for (size_t i = 0; i < model->n; i++) hd_vec_push(&old, model->v[i]);
    for (size_t i = s->model.n; i-- > 0 && s->model.n - i <= MODELS;) {
      use_model(s, i, v, n, model);
      if (satisfied(s, v, n, model)) {
        s->stats.models++;
        remember(s, v, n, HD_SMT_SAT, add_model(s, v, n, model));
        hd_values_free(&old);
        return HD_SMT_SAT;
      }
      model->n = 0;
      for (size_t k = 0; k < old.n; k++) hd_vec_push(model, old.v[k]);
    }
    hd_values_free(&old);
    answer = s->only_z3 || s->folder ? HD_SMT_UNKNOWN : try_all(s, v, n, model);
    if (answer == HD_SMT_UNKNOWN) answer = ask(s, v, n, model);
    if (answer == HD_SMT_SAT) s->stats.sat++;
    if (answer == HD_SMT_UNSAT) s->stats.unsat++;
    if (answer == HD_SMT_UNKNOWN) s->stats.unknown++;
    what = s->answer.v[s->answer.n - 1].what;
  }
  if (answer == HD_SMT_SAT) use_model(s, what, v, n, model);
  if (answer == HD_SMT_UNSAT && core)
    for (size_t i = 0; i < s->core.v[what].n; i++) hd_vec_push(core, s->core.v[what].v[i]);
  return answer;
}

static uint32_t root_of(uint32_t *parent, uint32_t i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

/* Makes conditions that share symbols one group: parent[i] leads to the same one for all of them. */
static void split(struct hd_solver *s, const hd_expr_ref *v, size_t n, uint32_t *parent) {
  for (uint32_t i = 0; i < n; i++) {
    parent[i] = i;
    const uint32_t *symbol;
    size_t count = symbols(s, v[i], &symbol);
    for (size_t k = 0; k < count; k++) {
      while (s->owner.n <= symbol[k]) hd_vec_push(&s->owner, 0);
      uint32_t *owner = &s->owner.v[symbol[k]];
      if (*owner) {
        parent[root_of(parent, i)] = root_of(parent, *owner - 1);
      } else {
        *owner = i + 1;
        hd_vec_push(&s->touched, symbol[k]);
      }
    }
  }
  for (size_t i = 0; i < s->touched.n; i++) s->owner.v[s->touched.v[i]] = 0;
  s->touched.n = 0;
}

enum hd_smt_answer hd_solver_check(struct hd_solver *s, const hd_expr_ref *condition, size_t n,
                                   struct hd_values *model, struct hd_core *core) {
  s->stats.queries++;
  if (core) core->n = 0;
  hd_expr_ref *v = copy(condition, n), *group = hd_alloc((n + 1) * sizeof *group);
  uint32_t *parent = hd_alloc((n + 1) * sizeof *parent);
  enum hd_smt_answer answer = HD_SMT_SAT;
  uint64_t truth;
  n = as_set(v, n);
  for (size_t i = 0; i < n && answer == HD_SMT_SAT; i++) {
    if (!hd_expr_is_const(s->x, v[i], &truth) || truth) continue;
    answer = HD_SMT_UNSAT;
    if (core) hd_vec_push(core, v[i]);
  }
  if (answer == HD_SMT_SAT) split(s, v, n, parent);
  bool *done = hd_alloc(n + 1);
  for (uint32_t i = 0; i < n && answer != HD_SMT_UNSAT; i++) {
    size_t members = 0;
    if (done[i] || hd_expr_is_const(s->x, v[i], &truth)) continue;
    for (uint32_t k = i; k < n; k++) {
      if (done[k] || root_of(parent, k) != root_of(parent, i)) continue;
      done[k] = true;
      group[members++] = v[k];
    }
    enum hd_smt_answer a = decide(s, group, members, model, core);
    if (a != HD_SMT_SAT) answer = a; /* a contradiction elsewhere is worth more than not to know */
  }
  free(done);
  free(parent);
  free(group);
  free(v);
  return answer;
}

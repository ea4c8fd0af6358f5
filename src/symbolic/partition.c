/* partition.c: classes of inputs (partition.h). Runs in the supervisor.
 *
 * A search with fixed inputs meets conditions in an order that depends on the values of earlier conditions only. So classes
 * are the leaves of a tree: an inner node is a condition, its two sides are its values. An input outside of all classes is
 * one that leads to a side that no class is in yet.
 *
 * Invariants
 *  1. A node's condition is met by every search whose inputs lead to the node, or is false by the condition that the search meets
 *     instead. If one ever does not meet it (its schedules were not searched in the same order), the tree is given up for one question with a clause for each class ("some condition
 *     has its other value"), which needs no order.
 *  2. A side is open until it is taken by a class, or no input leads to it. Without open sides, every input is in a class. */
#include "symbolic/partition.h"

#include "symbolic/expr_int.h"
#include "symbolic/import.h"
#include "symbolic/solver.h"
#include "symbolic/terms.h"

#include <stdlib.h>

enum side_state { UNSEEN, OPEN, ASKED, TAKEN, EMPTY, UNKNOWN };

struct node {
  hd_expr_ref condition; /* as true, on side 1 */
  uint32_t parent;       /* 0: it is the root */
  uint32_t child[2];     /* LEAF: a class ends there */
  uint8_t state[2], of;  /* of: the side of its parent that it is on */
  uint8_t why;
  uint32_t depth;
  uint64_t site;
};
#define LEAF UINT32_MAX

/* An open side. Those of outcomes that were asked for least come first, then those nearest to the root. */
struct open {
  uint32_t node, asked;
  uint8_t side;
};

struct outcome {
  uint64_t site;
  bool side, covered;
  uint32_t asked, empty, unknown; /* sides of the tree */
  uint8_t why;
};

struct hd_partition {
  struct hd_exprs *x;
  struct hd_import *import;
  struct hd_solver *solver;
  char *libdir;
  HD_VEC(struct node) node; /* node.v[0] is none */
  HD_VEC(struct open) heap;
  HD_VEC(struct outcome) outcome;
  uint32_t *outcomes; /* open addressing: index plus 1 */
  size_t slots;
  uint32_t asked_node; /* the side that the last answer leads to */
  uint8_t asked_side;
  HD_VEC(hd_expr_ref) range; /* of symbols: what their ranges require; 0: nothing */
  size_t classes, unknown;
  bool impossible;    /* a class has all inputs */
  struct hd_smt *smt; /* not NULL: the tree was given up */
  struct hd_terms term;
};

int hd_partition_new(struct hd_partition **out, const char *libdir, struct hd_err *err) {
  struct hd_exprs *x = hd_exprs_new();
  struct hd_solver *solver;
  *out = NULL;
  int rc = hd_solver_new(&solver, x, libdir, 0, err);
  if (rc != HD_OK) {
    hd_exprs_free(x);
    return rc;
  }
  struct hd_partition *p = *out = hd_alloc(sizeof *p);
  p->x = x;
  p->solver = solver;
  p->libdir = libdir ? hd_strdup(libdir) : NULL;
  p->import = hd_import_new(p->x);
  p->slots = 64;
  p->outcomes = hd_alloc(p->slots * sizeof *p->outcomes);
  hd_vec_push(&p->node, ((struct node){0}));
  return HD_OK;
}

void hd_partition_free(struct hd_partition *p) {
  if (!p) return;
  hd_smt_free(p->smt);
  hd_solver_free(p->solver);
  hd_import_free(p->import);
  hd_exprs_free(p->x);
  hd_vec_free(&p->node);
  hd_vec_free(&p->heap);
  hd_vec_free(&p->outcome);
  hd_vec_free(&p->range);
  hd_vec_free(&p->term);
  free(p->outcomes);
  free(p->libdir);
  free(p);
}

size_t hd_partition_classes(const struct hd_partition *p) { return p->classes; }
size_t hd_partition_exprs(const struct hd_partition *p) { return hd_exprs_count(p->x); }
struct hd_solver *hd_partition_solver(struct hd_partition *p) {
  return p->solver;
}

const struct hd_solver_stats *hd_partition_stats(const struct hd_partition *p) {
  return hd_solver_stats(p->solver);
}

/* ---- values of inputs ---- */

/* Where the bytes of a symbol are; false: there is no such input. */
static bool bytes_of(const struct hd_symbolic *s, const struct hd_leaf *l, uint32_t *at, uint32_t *n) {
  *n = (l->width + 7u) / 8;
  if (l->op != HD_EXPR_INPUT || l->a >= s->ninputs || l->a >= HD_MAX_INPUTS) return false;
  uint64_t first = (uint64_t)s->input[l->a].at + l->b;
  *at = (uint32_t)first;
  return first + *n <= HD_MAX_INPUT_BYTES;
}

static void read_values(const struct hd_partition *p, const struct hd_symbolic *s, struct hd_values *out) {
  for (uint32_t i = 0; i < hd_import_symbols(p->import); i++) {
    const struct hd_leaf *l = hd_import_leaf(p->import, i);
    uint32_t at, n;
    uint64_t v = 0;
    if (bytes_of(s, l, &at, &n))
      for (uint32_t k = 0; k < n; k++) v |= (uint64_t)s->bytes[at + k] << 8 * k;
    hd_values_set(out, i, hd_bits(l->width, v));
  }
}

static void write_value(const struct hd_partition *p, struct hd_symbolic *s, uint32_t symbol, uint64_t v) {
  uint32_t at, n;
  if (!bytes_of(s, hd_import_leaf(p->import, symbol), &at, &n)) return;
  for (uint32_t k = 0; k < n; k++) s->bytes[at + k] = (uint8_t)(v >> 8 * k);
}

/* The range of a symbol is known when the symbol is met first. */
static void read_ranges(struct hd_partition *p, const struct hd_symbolic *s) {
  for (size_t i = p->range.n; i < hd_import_symbols(p->import); i++) {
    const struct hd_leaf *l = hd_import_leaf(p->import, (uint32_t)i);
    hd_vec_push(&p->range, 0);
    if (l->op != HD_EXPR_INPUT || l->a >= s->ninputs || l->a >= HD_MAX_INPUTS || l->b) continue;
    const struct hd_symbolic_input *in = &s->input[l->a];
    if (!(in->flags & HD_INPUT_RANGE)) continue;
    hd_expr_ref e = hd_expr_symbol(p->x, l->width, (uint32_t)i);
    hd_expr_ref wide = in->flags & HD_INPUT_SIGNED ? hd_expr_sext(p->x, 64, e) : hd_expr_zext(p->x, 64, e);
    hd_expr_ref limit[2] = {
        hd_expr_binary(p->x, HD_EXPR_SLE, hd_expr_const(p->x, 64, (uint64_t)in->lo), wide),
        hd_expr_binary(p->x, HD_EXPR_SLE, wide, hd_expr_const(p->x, 64, (uint64_t)in->hi)),
    };
    p->range.v[i] = hd_expr_all(p->x, limit, 2);
  }
}

/* ---- outcomes of places in the code ---- */

static struct outcome *outcome_of(struct hd_partition *p, uint64_t site, bool side, uint8_t why) {
  size_t i = (size_t)((site * 2 + side) * 0x9e3779b97f4a7c15ull >> 20) & (p->slots - 1);
  for (; p->outcomes[i]; i = (i + 1) & (p->slots - 1)) {
    struct outcome *o = &p->outcome.v[p->outcomes[i] - 1];
    if (o->site == site && o->side == side) return o;
  }
  hd_vec_push(&p->outcome, ((struct outcome){.site = site, .side = side, .why = why}));
  p->outcomes[i] = (uint32_t)p->outcome.n;
  if (p->outcome.n > p->slots / 2) {
    free(p->outcomes);
    p->slots *= 2;
    p->outcomes = hd_alloc(p->slots * sizeof *p->outcomes);
    for (size_t k = 0; k < p->outcome.n; k++) {
      const struct outcome *o = &p->outcome.v[k];
      size_t at = (size_t)((o->site * 2 + o->side) * 0x9e3779b97f4a7c15ull >> 20) & (p->slots - 1);
      while (p->outcomes[at]) at = (at + 1) & (p->slots - 1);
      p->outcomes[at] = (uint32_t)k + 1;
    }
  }
  return &p->outcome.v[p->outcome.n - 1];
}

static struct outcome *outcome_at(struct hd_partition *p, uint32_t node, unsigned side) {
  const struct node *n = &p->node.v[node];
  return outcome_of(p, n->site, side, n->why);
}

/* ---- open sides ---- */

static bool before(const struct hd_partition *p, const struct open *a, const struct open *b) {
  if (a->asked != b->asked) return a->asked < b->asked;
  uint32_t x = p->node.v[a->node].depth, y = p->node.v[b->node].depth;
  return x != y ? x < y : a->node < b->node;
}

static void push(struct hd_partition *p, uint32_t node, unsigned side) {
  struct open o = {.node = node, .side = (uint8_t)side, .asked = outcome_at(p, node, side)->asked};
  p->node.v[node].state[side] = OPEN;
  hd_vec_push(&p->heap, o);
  size_t i = p->heap.n - 1;
  for (; i && before(p, &o, &p->heap.v[(i - 1) / 2]); i = (i - 1) / 2) p->heap.v[i] = p->heap.v[(i - 1) / 2];
  p->heap.v[i] = o;
}

static struct open pop(struct hd_partition *p) {
  struct open top = p->heap.v[0], last = p->heap.v[--p->heap.n];
  size_t i = 0, n = p->heap.n;
  for (size_t k; (k = 2 * i + 1) < n; i = k) {
    if (k + 1 < n && before(p, &p->heap.v[k + 1], &p->heap.v[k])) k++;
    if (!before(p, &p->heap.v[k], &last)) break;
    p->heap.v[i] = p->heap.v[k];
  }
  if (n) p->heap.v[i] = last;
  return top;
}

/* The open side to ask for, as of what was asked for by now; false: there is none. */
static bool pick(struct hd_partition *p, struct open *out) {
  while (p->heap.n) {
    *out = pop(p);
    if (p->node.v[out->node].state[out->side] != OPEN) continue;
    if (out->asked == outcome_at(p, out->node, out->side)->asked) return true;
    push(p, out->node, out->side);
  }
  return false;
}

/* ---- clauses, without a tree ---- */

static hd_term is_set(struct hd_partition *p, hd_expr_ref e) {
  return hd_smt_is_set(p->smt, hd__expr_term(p->x, p->smt, &p->term, e));
}

static void add_clause(struct hd_partition *p, const hd_expr_ref *v, size_t n) {
  HD_VEC(hd_term) other = {0};
  for (size_t i = 0; i < n; i++) hd_vec_push(&other, hd_smt_not(p->smt, is_set(p, v[i])));
  if (other.n) hd_smt_require(p->smt, hd_smt_any(p->smt, other.v, other.n));
  hd_vec_free(&other);
}

/* The conditions on the way to a node's side, that of the side last. */
static void conditions_to(struct hd_partition *p, uint32_t node, unsigned side, struct hd_core *out) {
  out->n = 0;
  for (;;) {
    const struct node *n = &p->node.v[node];
    hd_vec_push(out, side ? n->condition : hd_expr_not(p->x, n->condition));
    if (!n->parent) break;
    side = n->of;
    node = n->parent;
  }
}

static void give_up_tree(struct hd_partition *p) {
  struct hd_err err;
  struct hd_core way = {0};
  int rc = hd_smt_new(p->libdir, HD_SMT_BITS, &p->smt, &err);
  HD_BUG_ON(rc != HD_OK); /* there was one before */
  for (uint32_t i = 1; i < p->node.n; i++)
    for (unsigned side = 0; side < 2; side++) {
      if (p->node.v[i].child[side] != LEAF) continue;
      conditions_to(p, i, side, &way);
      add_clause(p, way.v, way.n);
    }
  hd_vec_free(&way);
}

static enum hd_smt_answer ask_clauses(struct hd_partition *p, struct hd_symbolic *s, double seconds) {
  for (size_t i = 0; i < p->range.n; i++)
    if (p->range.v[i]) hd_smt_require(p->smt, is_set(p, p->range.v[i]));
  enum hd_smt_answer answer = hd_smt_check(p->smt, seconds);
  if (answer != HD_SMT_SAT) return answer;
  for (uint32_t i = 0; i < p->range.n; i++) {
    hd_expr_ref e = hd_expr_symbol(p->x, hd_import_leaf(p->import, i)->width, i);
    hd_term t = e < p->term.n ? p->term.v[e] : 0;
    if (t) write_value(p, s, i, hd_smt_bits_of(p->smt, t));
  }
  return answer;
}

/* ---- classes ---- */

/* The comparisons of something with a constant that an expression, a conjunction, consists of. */
static void add_equalities(struct hd_exprs *x, hd_expr_ref e, struct hd_core *out) {
  const struct hd_node n = *hd_expr_node(x, e);
  if (n.op == HD_EXPR_AND && n.width == 1) {
    add_equalities(x, n.a, out);
    add_equalities(x, n.b, out);
  } else if (n.op == HD_EXPR_EQ) {
    hd_vec_push(out, e);
  }
}

/* Whether both compare the same with different constants. */
static bool differ(struct hd_exprs *x, hd_expr_ref a, hd_expr_ref b) {
  const struct hd_node p = *hd_expr_node(x, a), q = *hd_expr_node(x, b);
  uint64_t v, w;
  for (int i = 0; i < 4; i++) {
    hd_expr_ref of = i & 1 ? p.a : p.b, with = i & 2 ? q.a : q.b;
    if (of == with && hd_expr_is_const(x, i & 1 ? p.b : p.a, &v) &&
        hd_expr_is_const(x, i & 2 ? q.b : q.a, &w))
      return v != w;
  }
  return false;
}

/* Whether e cannot hold where `holds` does, since a value that both compare cannot be two at once: each search in which a value
 * is made concrete meets another such condition. */
static bool excludes(struct hd_exprs *x, hd_expr_ref holds, hd_expr_ref e) {
  struct hd_core a = {0}, b = {0};
  bool found = false;
  add_equalities(x, holds, &a);
  add_equalities(x, e, &b);
  for (size_t i = 0; i < a.n; i++)
    for (size_t k = 0; k < b.n && !found; k++) found = differ(x, a.v[i], b.v[k]);
  hd_vec_free(&a);
  hd_vec_free(&b);
  return found;
}

/* Adds a class to the tree. False: it does not fit. */
static bool add_path(struct hd_partition *p, const hd_expr_ref *v, const struct hd_condition *condition,
                     size_t n) {
  uint32_t at = 0, depth = 0;
  unsigned side = 0;
  uint32_t first = p->node.n > 1 ? 1 : 0;
  for (size_t i = 0; i < n;) {
    uint32_t next = at ? p->node.v[at].child[side] : first;
    bool taken = condition[i].taken != 0, follows = false;
    hd_expr_ref e = taken ? v[i] : hd_expr_not(p->x, v[i]);
    if (next == LEAF) return false;
    if (!next) {
      next = (uint32_t)p->node.n;
      hd_vec_push(&p->node, ((struct node){.condition = e,
                                           .parent = at,
                                           .of = (uint8_t)side,
                                           .why = condition[i].why,
                                           .depth = depth,
                                           .site = condition[i].site}));
      if (at) p->node.v[at].child[side] = next;
      push(p, next, !taken);
    } else if (p->node.v[next].condition != e) {
      follows = taken && excludes(p->x, v[i], p->node.v[next].condition);
      if (!follows) return false;
    }
    at = next;
    side = taken && !follows;
    depth++;
    i += !follows;
    p->node.v[at].state[side] = TAKEN;
    outcome_at(p, at, side)->covered = true;
    outcome_at(p, at, !side);
  }
  if (!at) return true;
  if (p->node.v[at].child[side]) return false;
  p->node.v[at].child[side] = LEAF;
  return !p->asked_node || p->node.v[p->asked_node].state[p->asked_side] == TAKEN;
}

long hd_partition_add(struct hd_partition *p, const struct hd_symbolic *s, const struct hd_expr *table,
                      const struct hd_condition *condition, size_t n) {
  HD_VEC(hd_expr_ref) all = {0};
  HD_VEC(struct hd_condition) of = {0};
  long wrong = -1;
  struct hd_values values = {0};
  for (size_t i = 0; i < n; i++) { /* all symbols, before their values */
    hd_import_condition(p->import, table, s->nexprs, condition[i].expr, true);
  }
  read_ranges(p, s);
  read_values(p, s, &values);
  for (size_t i = 0; i < n; i++) {
    hd_expr_ref e =
        hd_import_condition(p->import, table, s->nexprs, condition[i].expr, condition[i].taken != 0);
    uint64_t v;
    if ((!e || !hd_expr_eval(p->x, e, &values)) && wrong < 0) wrong = (long)i;
    if (!e || hd_expr_is_const(p->x, e, &v) || condition[i].why == HD_WHY_RANGE) continue;
    hd_vec_push(&all, e);
    hd_vec_push(&of, condition[i]);
  }
  p->impossible |= all.n == 0;
  p->classes++;
  if (p->smt) {
    add_clause(p, all.v, all.n);
  } else if (!add_path(p, all.v, of.v, all.n)) {
    give_up_tree(p);
    add_clause(p, all.v, all.n);
  }
  p->asked_node = 0;
  hd_values_free(&values);
  hd_vec_free(&all);
  hd_vec_free(&of);
  return wrong;
}

void hd_partition_saw(struct hd_partition *p, const struct hd_condition *condition, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (condition[i].why == HD_WHY_RANGE) continue;
    outcome_of(p, condition[i].site, condition[i].taken, condition[i].why)->covered = true;
    outcome_of(p, condition[i].site, !condition[i].taken, condition[i].why);
  }
}

#define SMALL_CHECKS 20000 /* evaluations of conditions, at most, for smaller inputs */
#define NEAR_VALUES 300    /* of an input, to which a smaller value is looked for one by one */

static bool all_hold(const struct hd_partition *p, const struct hd_core *way,
                     const struct hd_values *values) {
  for (size_t i = 0; i < way->n; i++)
    if (!hd_expr_eval(p->x, way->v[i], values)) return false;
  return true;
}

/* One symbol, for make_small: its value is base + away. */
struct shrunk {
  uint32_t symbol;
  unsigned width;
  uint64_t base;
  int64_t away;
};

static bool holds_with(const struct hd_partition *p, const struct hd_core *way, struct hd_values *values,
                       struct shrunk *s, int64_t away, size_t *left) {
  if (!*left) return false;
  --*left;
  hd_values_set(values, s->symbol, hd_bits(s->width, s->base + (uint64_t)away));
  bool holds = all_hold(p, way, values);
  if (holds) s->away = away;
  hd_values_set(values, s->symbol, hd_bits(s->width, s->base + (uint64_t)s->away));
  return holds;
}

static uint64_t distance(int64_t a, int64_t b) {
  return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* As near to the base as it goes by halves. */
static void halve(const struct hd_partition *p, const struct hd_core *way, struct hd_values *values,
                  struct shrunk *s, size_t *left) {
  int64_t near = 0;
  if (!s->away || holds_with(p, way, values, s, 0, left)) return;
  while (*left && distance(s->away, near) > 1) {
    int64_t mid = near / 2 + s->away / 2 + (near % 2 + s->away % 2) / 2;
    if (!holds_with(p, way, values, s, mid, left)) near = mid;
  }
}

/* The nearest of a few: what holds may not hold for everything beyond it. */
static void try_near(const struct hd_partition *p, const struct hd_core *way, struct hd_values *values,
                     struct shrunk *s, size_t *left) {
  for (int64_t k = 1; *left && k <= NEAR_VALUES && (uint64_t)k < distance(s->away, 0); k++)
    if (holds_with(p, way, values, s, k, left) || holds_with(p, way, values, s, -k, left)) return;
}

/* Values that are nearer to what new inputs have, where all conditions still hold: people read them. */
static void make_small(const struct hd_partition *p, const struct hd_symbolic *s, const struct hd_core *way,
                       struct hd_values *values) {
  size_t left = way->n ? SMALL_CHECKS / way->n : 0;
  HD_VEC(struct shrunk) all = {0};
  for (uint32_t i = 0; i < p->range.n; i++) {
    const struct hd_leaf *l = hd_import_leaf(p->import, i);
    if (l->op != HD_EXPR_INPUT || l->a >= s->ninputs || l->a >= HD_MAX_INPUTS) continue;
    const struct hd_symbolic_input *in = &s->input[l->a];
    uint64_t base = in->flags & HD_INPUT_RANGE ? (uint64_t)in->lo : 0, now = hd_values_of(values, i);
    unsigned up = 64u - l->width;
    hd_vec_push(&all, ((struct shrunk){i, l->width, base, (int64_t)((now - base) << up) >> up}));
  }
  for (size_t i = 0; i < all.n; i++) halve(p, way, values, &all.v[i], &left);
  for (size_t i = 0; i < all.n; i++) try_near(p, way, values, &all.v[i], &left);
  hd_vec_free(&all);
}

/* Whether inputs lead to an open side; if so they are written. */
static enum hd_smt_answer ask_for(struct hd_partition *p, struct hd_symbolic *s, const struct open *o) {
  struct hd_core way = {0};
  struct hd_values values = {0};
  conditions_to(p, o->node, o->side, &way);
  for (size_t i = 0; i < p->range.n; i++)
    if (p->range.v[i]) hd_vec_push(&way, p->range.v[i]);
  read_values(p, s, &values);
  enum hd_smt_answer answer = hd_solver_check(p->solver, way.v, way.n, &values, NULL);
  if (answer == HD_SMT_SAT) make_small(p, s, &way, &values);
  if (answer == HD_SMT_SAT)
    for (uint32_t i = 0; i < p->range.n; i++) write_value(p, s, i, hd_values_of(&values, i));
  hd_values_free(&values);
  hd_vec_free(&way);
  return answer;
}

enum hd_smt_answer hd_partition_ask(struct hd_partition *p, struct hd_symbolic *s, double seconds,
                                    double deadline) {
  struct open o;
  if (p->impossible) return HD_SMT_UNSAT;
  if (p->smt) {
    double left = deadline > 0 ? deadline - hd_now() : seconds;
    return left <= 0 ? HD_SMT_UNKNOWN : ask_clauses(p, s, left < seconds ? left : seconds);
  }
  while (pick(p, &o)) {
    double left = deadline > 0 ? deadline - hd_now() : seconds;
    if (left <= 0) {
      push(p, o.node, o.side);
      return HD_SMT_UNKNOWN;
    }
    hd_solver_limit(p->solver, left < seconds ? left : seconds);
    enum hd_smt_answer answer = ask_for(p, s, &o);
    struct outcome *of = outcome_at(p, o.node, o.side);
    of->asked++;
    of->empty += answer == HD_SMT_UNSAT;
    of->unknown += answer == HD_SMT_UNKNOWN;
    p->unknown += answer == HD_SMT_UNKNOWN;
    p->node.v[o.node].state[o.side] = answer == HD_SMT_SAT ? ASKED : answer == HD_SMT_UNSAT ? EMPTY : UNKNOWN;
    if (answer != HD_SMT_SAT) continue;
    p->asked_node = o.node;
    p->asked_side = o.side;
    return answer;
  }
  return p->unknown ? HD_SMT_UNKNOWN : HD_SMT_UNSAT;
}

/* ---- what was covered ---- */

void hd_partition_outcomes(struct hd_partition *p, hd_partition_outcome *visit, void *arg) {
  HD_VEC(uint32_t) open = {0};
  for (size_t i = 0; i < p->outcome.n; i++) hd_vec_push(&open, 0);
  for (size_t i = 0; i < p->heap.n; i++) {
    const struct open *o = &p->heap.v[i];
    if (p->node.v[o->node].state[o->side] == OPEN) open.v[outcome_at(p, o->node, o->side) - p->outcome.v]++;
  }
  for (size_t i = 0; i < p->outcome.n; i++) {
    const struct outcome *o = &p->outcome.v[i];
    if (o->why != HD_WHY_BRANCH && o->why != HD_WHY_CASE) continue;
    visit(arg, &(struct hd_outcome_seen){.site = o->site,
                                         .taken = o->side,
                                         .covered = o->covered,
                                         .is_case = o->why == HD_WHY_CASE,
                                         .unknown = o->unknown > 0,
                                         .open = open.v[i] > 0});
  }
  hd_vec_free(&open);
}

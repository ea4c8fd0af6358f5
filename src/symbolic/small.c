/* small.c: conditions on symbols that have few values each: all combinations are tried. Runs in the supervisor.
 *
 * Limits of each symbol are read off the conditions: comparisons with constants, of the symbol itself or extended. They only
 * have to include every solution, since each combination is evaluated. This answers in microseconds what a solver takes
 * milliseconds for: sums of entries of small tables, products of inputs with short ranges.
 *
 * Invariant: a node is computed again only when a symbol below it has another value. Its level is the highest number of such
 * a symbol, and the last symbol changes fastest. */
#include "symbolic/expr_int.h"
#include "symbolic/small.h"

#include <stdlib.h>
#include <string.h>

#define SYMBOLS 8
#define WORK 400000 /* nodes to compute, at most */

struct limits {
  uint32_t symbol;
  unsigned width;
  int64_t lo, hi;    /* signed */
  uint64_t ulo, uhi; /* unsigned */
  int by[4];         /* the conditions that lo, hi, ulo and uhi come from; -1: the width */
};

struct problem {
  struct hd_exprs *x;
  struct limits of[SYMBOLS];
  unsigned nsymbols;
  int condition;             /* whose limits are being read */
  HD_VEC(hd_expr_ref) node;  /* by level, operands first */
  size_t level[SYMBOLS + 2]; /* where each begins: level 0 has no symbol */
};

/* ---- limits ---- */

static struct limits *limits_of(struct problem *p, hd_expr_ref e) {
  const struct hd_node *n = hd_expr_node(p->x, e);
  for (unsigned i = 0; i < p->nsymbols; i++)
    if (p->of[i].symbol == n->value) return &p->of[i];
  if (p->nsymbols == SYMBOLS) return NULL;
  unsigned w = n->width;
  p->of[p->nsymbols] = (struct limits){(uint32_t)n->value,
                                       w,
                                       -(int64_t)(1ull << (w - 1)),
                                       (int64_t)(hd_bits(w, ~0ull) >> 1),
                                       0,
                                       hd_bits(w, ~0ull),
                                       {-1, -1, -1, -1}};
  return &p->of[p->nsymbols++];
}

/* The symbol that the expression is, or an extension of. */
static struct limits *symbol_in(struct problem *p, hd_expr_ref e, bool *is_signed, bool *exact) {
  const struct hd_node *n = hd_expr_node(p->x, e);
  *exact = n->op == HD_EXPR_INPUT;
  *is_signed = n->op == HD_EXPR_SEXT;
  if (!*exact &&
      ((n->op != HD_EXPR_SEXT && n->op != HD_EXPR_ZEXT) || hd_expr_node(p->x, n->a)->op != HD_EXPR_INPUT))
    return NULL;
  return limits_of(p, *exact ? e : n->a);
}

static void at_most(struct limits *l, bool is_signed, uint64_t v, int by) {
  if (is_signed && (int64_t)v < l->hi) l->hi = (int64_t)v, l->by[1] = by;
  if (!is_signed && v < l->uhi) l->uhi = v, l->by[3] = by;
}

static void at_least(struct limits *l, bool is_signed, uint64_t v, int by) {
  if (is_signed && (int64_t)v > l->lo) l->lo = (int64_t)v, l->by[0] = by;
  if (!is_signed && v > l->ulo) l->ulo = v, l->by[2] = by;
}

/* A comparison of a constant with a symbol: upper is that the symbol is the smaller one. */
static void limit(struct problem *p, hd_expr_ref e, uint64_t v, unsigned width, bool signed_order, bool upper,
                  bool strict) {
  bool is_signed, exact;
  struct limits *l = symbol_in(p, e, &is_signed, &exact);
  if (!l) return;
  int64_t s = (int64_t)(v << (64 - width)) >> (64 - width);
  if (signed_order && !exact && !is_signed) { /* zero-extended: never negative */
    if (s < 0) return;
    signed_order = false;
  } else if (!signed_order && is_signed) {
    return;
  }
  if (signed_order) v = (uint64_t)s;
  if (strict && v == (signed_order ? (uint64_t)(upper ? INT64_MIN : INT64_MAX) : upper ? 0 : ~0ull)) return;
  if (strict) v = upper ? v - 1 : v + 1;
  if (upper)
    at_most(l, signed_order, v, p->condition);
  else
    at_least(l, signed_order, v, p->condition);
}

static void read_limits(struct problem *p, hd_expr_ref e, bool truth, int depth) {
  struct hd_node n = *hd_expr_node(p->x, e);
  uint64_t v;
  if (n.op == HD_EXPR_NOT && depth) return read_limits(p, n.a, !truth, depth - 1);
  if (depth && n.width == 1 && ((n.op == HD_EXPR_AND && truth) || (n.op == HD_EXPR_OR && !truth))) {
    read_limits(p, n.a, truth, depth - 1);
    read_limits(p, n.b, truth, depth - 1);
    return;
  }
  if (!hd__is_comparison(n.op)) return;
  unsigned w = hd_expr_width(p->x, n.a);
  bool left = hd_expr_is_const(p->x, n.a, &v);
  if (!left && !hd_expr_is_const(p->x, n.b, &v)) return;
  hd_expr_ref other = left ? n.b : n.a;
  if (n.op == HD_EXPR_EQ) {
    if (!truth) return;
    limit(p, other, v, w, false, true, false);
    limit(p, other, v, w, false, false, false);
    return;
  }
  bool is_signed = n.op == HD_EXPR_SLT || n.op == HD_EXPR_SLE,
       strict = n.op == HD_EXPR_ULT || n.op == HD_EXPR_SLT;
  /* not (a < b) is b <= a */
  limit(p, other, v, w, is_signed, left != truth, truth ? strict : !strict);
}

/* How many values, from *first on, by which conditions: a bit for each. */
static uint64_t values_of(const struct limits *l, uint64_t *first, uint64_t *by) {
  if (l->lo > l->hi || l->ulo > l->uhi) return 0;
  uint64_t s = (uint64_t)l->hi - (uint64_t)l->lo, u = l->uhi - l->ulo;
  *first = s < u ? (uint64_t)l->lo : l->ulo;
  for (int i = s < u ? 0 : 2, end = i + 2; i < end; i++)
    if (l->by[i] >= 0) *by |= 1ull << l->by[i];
  uint64_t n = s < u ? s : u;
  return n == UINT64_MAX ? n : n + 1;
}

/* ---- evaluation ---- */

static unsigned symbol_level(const struct problem *p, uint64_t symbol) {
  for (unsigned i = 0; i < p->nsymbols; i++)
    if (p->of[i].symbol == symbol) return i + 1;
  return 0;
}

/* Sorts the nodes of the conditions by level. False: a symbol has no limits. */
static bool order(struct problem *p, const hd_expr_ref *v, size_t n) {
  struct hd_exprs *x = p->x;
  HD_VEC(hd_expr_ref) all = {0};
  bool known = true;
  hd__expr_begin(x);
  for (size_t i = 0; i < n; i++)
    for (hd_expr_ref e; (e = hd__expr_next(x, v[i]));) {
      const struct hd_node *d = &x->node[e];
      uint64_t level = d->op == HD_EXPR_INPUT ? symbol_level(p, d->value) : 0;
      known &= d->op != HD_EXPR_INPUT || level;
      hd_expr_ref operand[3] = {d->a, d->b, d->c};
      for (int k = 0; k < 3; k++)
        if (operand[k] && x->memo[operand[k]] > level) level = x->memo[operand[k]];
      x->memo[e] = level;
      x->mark[e] = x->round;
      hd_vec_push(&all, e);
    }
  for (uint64_t level = 0; level <= p->nsymbols; level++) {
    p->level[level] = p->node.n;
    for (size_t i = 0; i < all.n; i++)
      if (x->memo[all.v[i]] == level) hd_vec_push(&p->node, all.v[i]);
  }
  p->level[p->nsymbols + 1] = p->node.n;
  hd_vec_free(&all);
  return known;
}

static void compute(const struct problem *p, unsigned from, const uint64_t *value) {
  struct hd_exprs *x = p->x;
  for (size_t i = p->level[from]; i < p->node.n; i++) {
    const struct hd_node *n = &x->node[p->node.v[i]];
    if (n->op == HD_EXPR_INPUT) {
      x->memo[p->node.v[i]] = hd_bits(n->width, value[symbol_level(p, n->value) - 1]);
      continue;
    }
    unsigned width = n->op == HD_EXPR_CONCAT ? x->node[n->b].width : n->a ? x->node[n->a].width : 0;
    x->memo[p->node.v[i]] = hd_expr_compute(n->op, n->width, width, n->a ? x->memo[n->a] : 0,
                                            n->b ? x->memo[n->b] : 0, n->c ? x->memo[n->c] : 0, n->value);
  }
}

/* Conditions of which each combination violates one: that which most violate comes first. */
static void add_core(const uint64_t *failed, size_t count, const hd_expr_ref *v, size_t n,
                     struct hd_core *core) {
  bool *done = hd_alloc(count + 1);
  for (size_t left = count; left;) {
    size_t best = 0, most = 0;
    for (size_t c = 0; c < n; c++) {
      size_t covers = 0;
      for (size_t i = 0; i < count; i++) covers += !done[i] && (failed[i] >> c & 1);
      if (covers > most) most = covers, best = c;
    }
    HD_BUG_ON(!most);
    for (size_t i = 0; i < count; i++)
      if (!done[i] && (failed[i] >> best & 1)) done[i] = true, left--;
    hd_vec_push(core, v[best]);
  }
  free(done);
}

enum hd_smt_answer hd__small_decide(struct hd_exprs *x, const hd_expr_ref *v, size_t n,
                                    struct hd_values *model, struct hd_core *core) {
  struct problem p = {.x = x};
  uint64_t first[SYMBOLS], many[SYMBOLS], value[SYMBOLS], total = 1;
  enum hd_smt_answer answer = HD_SMT_UNKNOWN;
  if (n > 64) return answer; /* `failed` has a bit for each */
  uint64_t by = 0;           /* conditions that exclude all other values */
  for (size_t i = 0; i < n; i++) {
    p.condition = (int)i;
    read_limits(&p, v[i], true, 8);
  }
  for (unsigned i = 0; i < p.nsymbols; i++) {
    many[i] = values_of(&p.of[i], &first[i], &by);
    if (many[i] > WORK || (total *= many[i]) > WORK) return answer;
    value[i] = first[i];
  }
  if (!p.nsymbols || !total || !order(&p, v, n) || total * (p.node.n - p.level[p.nsymbols]) > WORK) {
    hd_vec_free(&p.node);
    return answer;
  }
  uint64_t *failed = hd_alloc((size_t)(total + 1) * sizeof *failed), count = 0;
  answer = HD_SMT_UNSAT;
  for (unsigned changed = 0; count < total; count++) {
    compute(&p, changed, value);
    for (size_t c = 0; c < n; c++) failed[count] |= (uint64_t)!x->memo[v[c]] << c;
    if (!failed[count]) {
      answer = HD_SMT_SAT;
      for (unsigned i = 0; i < p.nsymbols; i++)
        hd_values_set(model, p.of[i].symbol, hd_bits(p.of[i].width, value[i]));
      break;
    }
    for (changed = p.nsymbols; changed > 0 && ++value[changed - 1] == first[changed - 1] + many[changed - 1];
         changed--)
      value[changed - 1] = first[changed - 1];
  }
  if (answer == HD_SMT_UNSAT) add_core(failed, (size_t)count, v, n, core);
  for (size_t i = 0; i < n && answer == HD_SMT_UNSAT; i++)
    if (by >> i & 1) hd_vec_push(core, v[i]);
  free(failed);
  hd_vec_free(&p.node);
  return answer;
}

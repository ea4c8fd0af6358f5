/* expr.c: the store of expressions, and what is computed over them. Runs in the supervisor.
 *
 * Invariants
 *  1. Equal nodes are one node; operands are older than the node.
 *  2. The value of a constant has no bit beyond its width.
 *  3. Walks use no recursion: an expression may be as deep as the program ran loops. */
#include "symbolic/expr_int.h"

#include <stdlib.h>
#include <string.h>

struct hd_exprs *hd_exprs_new(void) {
  struct hd_exprs *x = hd_alloc(sizeof *x);
  x->n = 1;
  x->cap = 256;
  x->node = hd_alloc(x->cap * sizeof *x->node);
  x->mark = hd_alloc(x->cap * sizeof *x->mark);
  x->memo = hd_alloc(x->cap * sizeof *x->memo);
  x->slots = 1024;
  x->table = hd_alloc(x->slots * sizeof *x->table);
  return x;
}

void hd_exprs_free(struct hd_exprs *x) {
  if (!x) return;
  free(x->node);
  free(x->mark);
  free(x->memo);
  free(x->table);
  hd_vec_free(&x->stack);
  free(x);
}

size_t hd_exprs_count(const struct hd_exprs *x) { return x->n - 1; }
uint32_t hd_expr_fresh(const struct hd_exprs *x) { return x->symbols; }

static uint64_t hash(const struct hd_node *n) {
  uint64_t h = n->op * 256ull + n->width;
  h = (h ^ n->value) * 0x9e3779b97f4a7c15ull;
  h = (h ^ h >> 29 ^ n->a) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ h >> 32 ^ n->b) * 0x94d049bb133111ebull;
  h = (h ^ h >> 31 ^ n->c) * 0x9e3779b97f4a7c15ull;
  return h ^ h >> 30;
}

static bool same(const struct hd_node *p, const struct hd_node *q) {
  return p->op == q->op && p->width == q->width && p->a == q->a && p->b == q->b && p->c == q->c &&
         p->value == q->value;
}

static void grow_table(struct hd_exprs *x) {
  free(x->table);
  x->slots *= 2;
  x->table = hd_alloc(x->slots * sizeof *x->table);
  for (size_t e = 1; e < x->n; e++) {
    size_t i = hash(&x->node[e]) & (x->slots - 1);
    while (x->table[i]) i = (i + 1) & (x->slots - 1);
    x->table[i] = (hd_expr_ref)e;
  }
}

hd_expr_ref hd__expr_intern(struct hd_exprs *x, const struct hd_node *n) {
  size_t i = hash(n) & (x->slots - 1);
  for (; x->table[i]; i = (i + 1) & (x->slots - 1))
    if (same(&x->node[x->table[i]], n)) return x->table[i];
  HD_BUG_ON(x->n >= UINT32_MAX);
  struct hd_node copy = *n; /* it may be in the array that moves */
  if (x->n == x->cap) {
    x->cap *= 2;
    x->node = hd_realloc(x->node, x->cap * sizeof *x->node);
    x->mark = hd_realloc(x->mark, x->cap * sizeof *x->mark);
    x->memo = hd_realloc(x->memo, x->cap * sizeof *x->memo);
    memset(x->mark + x->n, 0, (x->cap - x->n) * sizeof *x->mark);
  }
  x->node[x->n] = copy;
  x->table[i] = (hd_expr_ref)x->n++;
  hd_expr_ref out = x->table[i];
  if (x->n > x->slots / 2) grow_table(x);
  return out;
}

const struct hd_node *hd_expr_node(const struct hd_exprs *x, hd_expr_ref e) {
  HD_BUG_ON(!e || e >= x->n);
  return &x->node[e];
}

unsigned hd_expr_width(const struct hd_exprs *x, hd_expr_ref e) { return hd_expr_node(x, e)->width; }

bool hd_expr_is_const(const struct hd_exprs *x, hd_expr_ref e, uint64_t *value) {
  const struct hd_node *n = hd_expr_node(x, e);
  if (n->op == HD_EXPR_CONST) *value = n->value;
  return n->op == HD_EXPR_CONST;
}

bool hd_expr_fits(const struct hd_exprs *x, const struct hd_node *n) {
  if (n->op == HD_EXPR_NONE || n->op == HD_EXPR_READ || n->op >= HD_EXPR_COUNT || n->width < 1 ||
      n->width > 64)
    return false;
  hd_expr_ref operand[3] = {n->a, n->b, n->c};
  unsigned w[3] = {0, 0, 0}, arity = hd__arity(n->op);
  for (unsigned i = 0; i < 3; i++) {
    if (i >= arity) {
      if (operand[i]) return false;
      continue;
    }
    if (!operand[i] || operand[i] >= x->n) return false;
    w[i] = x->node[operand[i]].width;
  }
  switch (n->op) {
    case HD_EXPR_CONST: return hd_bits(n->width, n->value) == n->value;
    case HD_EXPR_INPUT: return n->value < UINT32_MAX;
    case HD_EXPR_NOT: return w[0] == n->width;
    case HD_EXPR_ITE: return w[0] == 1 && w[1] == n->width && w[2] == n->width;
    case HD_EXPR_ZEXT:
    case HD_EXPR_SEXT: return w[0] <= n->width;
    case HD_EXPR_EXTRACT: return n->value < 64 && n->value + n->width <= w[0];
    case HD_EXPR_CONCAT: return w[0] + w[1] == n->width;
    default: return w[0] == w[1] && n->width == (hd__is_comparison(n->op) ? 1 : w[0]);
  }
}

/* ---- walks ---- */

void hd__expr_begin(struct hd_exprs *x) {
  if (++x->round == 0) {
    memset(x->mark, 0, x->cap * sizeof *x->mark);
    x->round = 1;
  }
  x->stack.n = 0;
}

hd_expr_ref hd__expr_next(struct hd_exprs *x, hd_expr_ref root) {
  if (x->mark[root] == x->round) return 0;
  if (!x->stack.n) hd_vec_push(&x->stack, root);
  for (;;) {
    hd_expr_ref e = x->stack.v[x->stack.n - 1];
    if (x->mark[e] == x->round) {
      if (--x->stack.n == 0) return 0;
      continue;
    }
    const struct hd_node *n = &x->node[e];
    size_t before = x->stack.n;
    if (n->a && x->mark[n->a] != x->round) hd_vec_push(&x->stack, n->a);
    if (n->b && x->mark[n->b] != x->round) hd_vec_push(&x->stack, n->b);
    if (n->c && x->mark[n->c] != x->round) hd_vec_push(&x->stack, n->c);
    if (x->stack.n == before) {
      x->stack.n--;
      return e;
    }
  }
}

/* ---- values ---- */

uint64_t hd_values_of(const struct hd_values *a, uint32_t symbol) { return symbol < a->n ? a->v[symbol] : 0; }

void hd_values_set(struct hd_values *a, uint32_t symbol, uint64_t value) {
  while (a->n <= symbol) hd_vec_push(a, 0);
  a->v[symbol] = value;
}

void hd_values_free(struct hd_values *a) { hd_vec_free(a); }

static int64_t as_signed(unsigned width, uint64_t v) {
  uint64_t sign = 1ull << (width - 1);
  return (int64_t)((hd_bits(width, v) ^ sign) - sign);
}

static uint64_t divide(int64_t a, int64_t b, bool remainder) {
  if (b == 0) return remainder ? (uint64_t)a : a < 0 ? 1 : ~0ull;
  if (b == -1) return remainder ? 0 : 0 - (uint64_t)a;
  return (uint64_t)(remainder ? a % b : a / b);
}

uint64_t hd_expr_compute(enum hd_expr_op op, unsigned width, unsigned from, uint64_t a, uint64_t b,
                         uint64_t c, uint64_t value) {
  uint64_t r = 0;
  switch (op) {
    case HD_EXPR_CONST: r = value; break;
    case HD_EXPR_ADD: r = a + b; break;
    case HD_EXPR_SUB: r = a - b; break;
    case HD_EXPR_MUL: r = a * b; break;
    case HD_EXPR_UDIV: r = b ? a / b : ~0ull; break;
    case HD_EXPR_UREM: r = b ? a % b : a; break;
    case HD_EXPR_SDIV: r = divide(as_signed(width, a), as_signed(width, b), false); break;
    case HD_EXPR_SREM: r = divide(as_signed(width, a), as_signed(width, b), true); break;
    case HD_EXPR_SHL: r = b < width ? a << b : 0; break;
    case HD_EXPR_LSHR: r = b < width ? a >> b : 0; break;
    case HD_EXPR_ASHR: r = (uint64_t)(as_signed(width, a) >> (b < width ? b : width - 1)); break;
    case HD_EXPR_AND: r = a & b; break;
    case HD_EXPR_OR: r = a | b; break;
    case HD_EXPR_XOR: r = a ^ b; break;
    case HD_EXPR_EQ: r = a == b; break;
    case HD_EXPR_ULT: r = a < b; break;
    case HD_EXPR_ULE: r = a <= b; break;
    case HD_EXPR_SLT: r = as_signed(from, a) < as_signed(from, b); break;
    case HD_EXPR_SLE: r = as_signed(from, a) <= as_signed(from, b); break;
    case HD_EXPR_ITE: r = a ? b : c; break;
    case HD_EXPR_ZEXT: r = a; break;
    case HD_EXPR_SEXT: r = (uint64_t)as_signed(from, a); break;
    case HD_EXPR_EXTRACT: r = a >> value; break;
    case HD_EXPR_CONCAT: r = a << from | b; break; /* from: the width of b */
    case HD_EXPR_NOT: r = ~a; break;
    case HD_EXPR_NONE:
    case HD_EXPR_INPUT:
    case HD_EXPR_READ:
    case HD_EXPR_COUNT: break;
  }
  return hd_bits(width, r);
}

static uint64_t eval_node(const struct hd_exprs *x, const struct hd_node *n, const struct hd_values *values) {
  if (n->op == HD_EXPR_INPUT) return hd_bits(n->width, hd_values_of(values, (uint32_t)n->value));
  unsigned from = n->op == HD_EXPR_CONCAT ? x->node[n->b].width : n->a ? x->node[n->a].width : 0;
  return hd_expr_compute(n->op, n->width, from, x->memo[n->a], x->memo[n->b], x->memo[n->c], n->value);
}

uint64_t hd_expr_eval(struct hd_exprs *x, hd_expr_ref e, const struct hd_values *values) {
  hd__expr_begin(x);
  for (hd_expr_ref at; (at = hd__expr_next(x, e));) {
    x->memo[at] = eval_node(x, &x->node[at], values);
    x->mark[at] = x->round;
  }
  return x->memo[e];
}

void hd_expr_symbols(struct hd_exprs *x, const hd_expr_ref *e, size_t n, struct hd_symbols *out) {
  hd__expr_begin(x);
  for (size_t i = 0; i < n; i++) {
    for (hd_expr_ref at; (at = hd__expr_next(x, e[i]));) {
      x->mark[at] = x->round;
      if (x->node[at].op == HD_EXPR_INPUT) hd_vec_push(out, (uint32_t)x->node[at].value);
    }
  }
}

hd_expr_ref hd_expr_substitute(struct hd_exprs *x, hd_expr_ref e, const hd_expr_ref *with, size_t n) {
  hd__expr_begin(x);
  for (hd_expr_ref at; (at = hd__expr_next(x, e));) {
    struct hd_node node = x->node[at];
    hd_expr_ref out = at;
    if (node.op == HD_EXPR_INPUT) {
      if (node.value < n && with[node.value]) out = with[node.value];
    } else if (node.a) {
      hd_expr_ref a = (hd_expr_ref)x->memo[node.a], b = node.b ? (hd_expr_ref)x->memo[node.b] : 0,
                  c = node.c ? (hd_expr_ref)x->memo[node.c] : 0;
      if (a != node.a || b != node.b || c != node.c) {
        node.a = a;
        node.b = b;
        node.c = c;
        out = hd_expr_make(x, &node); /* walks nothing, so the marks stay */
      }
    }
    x->memo[at] = out;
    x->mark[at] = x->round;
  }
  return (hd_expr_ref)x->memo[e];
}

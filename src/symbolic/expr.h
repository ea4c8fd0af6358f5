/* expr.h: symbolic expressions: bit-vectors of 1 to 64 bits over symbols. Runs in the supervisor.
 *
 * An expression is a number in a store. Equal expressions have the same number (hash-consing), and a store only grows.
 * What is made is simplified first (simplify.c), so the number of an expression that is constant is that of a constant.
 * A symbol is a number that the user of the store chooses; it has one width, and its node is an INPUT. Conditions are
 * expressions of one bit. */
#ifndef HD_SYMBOLIC_EXPR_H
#define HD_SYMBOLIC_EXPR_H

#include "abi/symbolic.h"
#include "base/base.h"

typedef uint32_t hd_expr_ref; /* 0: none */

struct hd_node {
  uint8_t op; /* enum hd_expr_op */
  uint8_t width;
  hd_expr_ref a, b, c; /* as many as the operation has; each older than the node */
  uint64_t value;      /* CONST: its value; INPUT: the symbol; EXTRACT: the lowest bit */
};

struct hd_exprs;
struct hd_exprs *hd_exprs_new(void);
void hd_exprs_free(struct hd_exprs *x);
size_t hd_exprs_count(const struct hd_exprs *x);

/* ---- making expressions ---- */

hd_expr_ref hd_expr_const(struct hd_exprs *x, unsigned width, uint64_t value);
hd_expr_ref hd_expr_symbol(struct hd_exprs *x, unsigned width, uint32_t symbol);
hd_expr_ref hd_expr_binary(struct hd_exprs *x, enum hd_expr_op op, hd_expr_ref a, hd_expr_ref b);
hd_expr_ref hd_expr_ite(struct hd_exprs *x, hd_expr_ref condition, hd_expr_ref yes, hd_expr_ref no);
hd_expr_ref hd_expr_zext(struct hd_exprs *x, unsigned width, hd_expr_ref a);
hd_expr_ref hd_expr_sext(struct hd_exprs *x, unsigned width, hd_expr_ref a);
hd_expr_ref hd_expr_extract(struct hd_exprs *x, unsigned low, unsigned width, hd_expr_ref a);
hd_expr_ref hd_expr_concat(struct hd_exprs *x, hd_expr_ref high, hd_expr_ref low);
hd_expr_ref hd_expr_not(struct hd_exprs *x, hd_expr_ref a); /* every bit */
hd_expr_ref hd_expr_all(struct hd_exprs *x, const hd_expr_ref *e,
                        size_t n); /* of conditions; of none: true */
/* A number that no symbol of the store has yet. */
uint32_t hd_expr_fresh(const struct hd_exprs *x);
/* Any of them. pre: the widths fit the operation (hd_expr_fits). */
hd_expr_ref hd_expr_make(struct hd_exprs *x, const struct hd_node *n);
/* Whether a node read from elsewhere makes sense, its operands being expressions of the store. */
bool hd_expr_fits(const struct hd_exprs *x, const struct hd_node *n);

/* ---- asking ---- */

const struct hd_node *hd_expr_node(const struct hd_exprs *x, hd_expr_ref e);
unsigned hd_expr_width(const struct hd_exprs *x, hd_expr_ref e);
/* Whether it is a constant, and which. */
bool hd_expr_is_const(const struct hd_exprs *x, hd_expr_ref e, uint64_t *value);
static inline uint64_t hd_bits(unsigned width, uint64_t v) {
  return width >= 64 ? v : v & ((1ull << width) - 1);
}

/* ---- values ---- */

/* Values of symbols; those beyond are 0. */
struct hd_values {
  uint64_t *v;
  size_t n, cap;
};
uint64_t hd_values_of(const struct hd_values *a, uint32_t symbol);
void hd_values_set(struct hd_values *a, uint32_t symbol, uint64_t value);
void hd_values_free(struct hd_values *a);

/* What one operation gives. `width` is that of the result, `from` that of the operand of an extension or comparison. */
uint64_t hd_expr_compute(enum hd_expr_op op, unsigned width, unsigned from, uint64_t a, uint64_t b,
                         uint64_t c, uint64_t value);
uint64_t hd_expr_eval(struct hd_exprs *x, hd_expr_ref e, const struct hd_values *values);
/* The symbols of expressions, each once, added to *out. */
struct hd_symbols {
  uint32_t *v;
  size_t n, cap;
};
void hd_expr_symbols(struct hd_exprs *x, const hd_expr_ref *e, size_t n, struct hd_symbols *out);
/* Replaces symbols: `with` has, for each symbol below n, an expression of its width, or 0 to keep it. */
hd_expr_ref hd_expr_substitute(struct hd_exprs *x, hd_expr_ref e, const hd_expr_ref *with, size_t n);

/* ---- text ---- */

/* As in C, nearly: `(x0 + 3) < x1`. name gives a symbol's; NULL: s0, s1, ... */
void hd_expr_text(struct hd_str *out, const struct hd_exprs *x, hd_expr_ref e,
                  const char *name(void *arg, uint32_t), void *arg);
/* A query for any SMT-LIB solver: are these conditions satisfiable together? */
void hd_expr_smtlib(struct hd_str *out, struct hd_exprs *x, const hd_expr_ref *condition, size_t n);

#endif

/* import.c: expressions of the tested process (import.h). Runs in the supervisor. */
#include "symbolic/import.h"

#include "symbolic/expr_int.h"

#include <stdlib.h>
#include <string.h>

struct hd_import {
  struct hd_exprs *x;
  HD_VEC(hd_expr_ref) of; /* of each number, 0: not imported, or senseless */
  HD_VEC(struct hd_leaf) leaf;
  uint32_t *table; /* of leaves, open addressing: index plus 1 */
  size_t slots;
  HD_VEC(uint32_t) stack;
};

struct hd_import *hd_import_new(struct hd_exprs *x) {
  struct hd_import *m = hd_alloc(sizeof *m);
  m->x = x;
  m->slots = 64;
  m->table = hd_alloc(m->slots * sizeof *m->table);
  return m;
}

void hd_import_free(struct hd_import *m) {
  if (!m) return;
  hd_vec_free(&m->of);
  hd_vec_free(&m->leaf);
  hd_vec_free(&m->stack);
  free(m->table);
  free(m);
}

void hd_import_restart(struct hd_import *m) { m->of.n = 0; }

/* ---- symbols ---- */

static size_t slot_of(const struct hd_import *m, const struct hd_leaf *l) {
  uint64_t h = ((uint64_t)l->a << 32 | l->b) * 0x9e3779b97f4a7c15ull + l->op * 77u + l->width;
  size_t i = (size_t)(h ^ h >> 31) & (m->slots - 1);
  for (; m->table[i]; i = (i + 1) & (m->slots - 1)) {
    const struct hd_leaf *k = &m->leaf.v[m->table[i] - 1];
    if (k->op == l->op && k->width == l->width && k->a == l->a && k->b == l->b) break;
  }
  return i;
}

uint32_t hd_import_symbol(struct hd_import *m, const struct hd_leaf *leaf) {
  size_t i = slot_of(m, leaf);
  if (m->table[i]) return m->table[i] - 1;
  uint32_t symbol = hd_expr_fresh(m->x);
  hd_expr_symbol(m->x, leaf->width, symbol);
  while (m->leaf.n < symbol) hd_vec_push(&m->leaf, (struct hd_leaf){0}); /* symbols of others */
  hd_vec_push(&m->leaf, *leaf);
  m->table[i] = (uint32_t)m->leaf.n;
  if (m->leaf.n > m->slots / 2) {
    free(m->table);
    m->slots *= 2;
    m->table = hd_alloc(m->slots * sizeof *m->table);
    for (size_t k = 0; k < m->leaf.n; k++)
      if (m->leaf.v[k].op) m->table[slot_of(m, &m->leaf.v[k])] = (uint32_t)k + 1;
  }
  return (uint32_t)m->leaf.n - 1;
}

const struct hd_leaf *hd_import_leaf(const struct hd_import *m, uint32_t symbol) {
  return symbol < m->leaf.n ? &m->leaf.v[symbol] : NULL;
}

size_t hd_import_symbols(const struct hd_import *m) { return m->leaf.n; }

/* ---- nodes ---- */

static hd_expr_ref ref_of(const struct hd_import *m, uint32_t number) {
  return number < m->of.n ? m->of.v[number] : 0;
}

static hd_expr_ref make(struct hd_import *m, const struct hd_expr *e) {
  if (e->width < 1 || e->width > 64) return 0;
  if (e->op == HD_EXPR_INPUT || e->op == HD_EXPR_READ)
    return hd_expr_symbol(m->x, e->width,
                          hd_import_symbol(m, &(struct hd_leaf){e->op, e->width, e->a, e->b}));
  if (e->op == HD_EXPR_CONST) return hd_expr_const(m->x, e->width, e->value);
  struct hd_node n = {.op = e->op,
                      .width = e->width,
                      .a = ref_of(m, e->a),
                      .b = ref_of(m, e->b),
                      .c = ref_of(m, e->c),
                      .value = e->low};
  return hd_expr_fits(m->x, &n) ? hd_expr_make(m->x, &n) : 0;
}

/* Whether the operand has yet to be imported. One that makes no sense counts as done after its visit. */
static bool pending(struct hd_import *m, uint32_t number, uint32_t above) {
  if (!number || number >= above || ref_of(m, number)) return false;
  hd_vec_push(&m->stack, number);
  return true;
}

hd_expr_ref hd_import_node(struct hd_import *m, const struct hd_expr *table, size_t n, uint32_t number) {
  if (!number || number >= n) return 0;
  while (m->of.n < n) hd_vec_push(&m->of, 0);
  if (m->of.v[number]) return m->of.v[number];
  m->stack.n = 0;
  hd_vec_push(&m->stack, number);
  while (m->stack.n) {
    uint32_t at = m->stack.v[m->stack.n - 1];
    struct hd_expr e = table[at]; /* once: the process may still be writing */
    size_t before = m->stack.n;
    unsigned arity = e.op < HD_EXPR_COUNT ? hd__arity(e.op) : 0;
    if (!m->of.v[at]) {
      if (arity > 0) pending(m, e.a, at);
      if (arity > 1) pending(m, e.b, at);
      if (arity > 2) pending(m, e.c, at);
    }
    if (m->stack.n > before) continue;
    m->stack.n--;
    if (!m->of.v[at]) m->of.v[at] = make(m, &e);
    if (!m->of.v[at]) return 0; /* what is above it makes no sense either */
  }
  return m->of.v[number];
}

hd_expr_ref hd_import_condition(struct hd_import *m, const struct hd_expr *table, size_t n, uint32_t number,
                                bool taken) {
  hd_expr_ref e = hd_import_node(m, table, n, number);
  if (!e || hd_expr_width(m->x, e) != 1) return 0;
  return taken ? e : hd_expr_not(m->x, e);
}

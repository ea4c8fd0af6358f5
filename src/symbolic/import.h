/* import.h: expressions of the tested process (abi/symbolic.h) as expressions of a store. Runs in the supervisor.
 *
 * The table of the process is believed as far as it makes sense: a node that does not gives none. Numbers of nodes are the
 * same over all executions, so each is imported once. */
#ifndef HD_SYMBOLIC_IMPORT_H
#define HD_SYMBOLIC_IMPORT_H

#include "symbolic/expr.h"

/* What a symbol stands for. */
struct hd_leaf {
  uint8_t op; /* HD_EXPR_INPUT, HD_EXPR_READ; HD_EXPR_NONE: the symbol is not of the process */
  uint8_t width;
  uint32_t a, b; /* as in struct hd_expr */
};

struct hd_import;
struct hd_import *hd_import_new(struct hd_exprs *x); /* the store is borrowed */
void hd_import_free(struct hd_import *m);
/* The node of that number; 0: it makes no sense. `n` is one more than the largest number in the table. */
hd_expr_ref hd_import_node(struct hd_import *m, const struct hd_expr *table, size_t n, uint32_t number);
/* The condition with the value that it had; 0: its node makes no sense. */
hd_expr_ref hd_import_condition(struct hd_import *m, const struct hd_expr *table, size_t n, uint32_t number,
                                bool taken);
/* The symbol of a leaf, made if it is new. */
uint32_t hd_import_symbol(struct hd_import *m, const struct hd_leaf *leaf);
const struct hd_leaf *hd_import_leaf(const struct hd_import *m, uint32_t symbol);
size_t hd_import_symbols(const struct hd_import *m);
/* Forgets the numbers of nodes, which mean something else from now on, but no symbols. */
void hd_import_restart(struct hd_import *m);

#endif

/* search.c: trees, hash tables, arrays and lists that libc keeps for a program. Runs in the tested process.
 *
 * The nodes of a tree are libc's. A change of the tree counts as a write to its root, and looking something up as a read
 * of that. What the comparison accesses is the program's own, and seen. */
#include <search.h>

#include "runtime/wrap/access.h"

/* The root, and the node there, for those who walk the tree from it. glibc keeps the colour in the lowest bit. */
static void *node(void *const *root) {
  return root && *root ? (void *)((uintptr_t)*root & ~(uintptr_t)1) : NULL;
}

static void tree_changes(void **root, uint64_t pc) {
  if (!hot.active) return;
  hd__writes(root, sizeof *root, pc);
  hd__writes(node(root), sizeof(void *), pc);
}

HD_EXPORT void *tsearch(const void *key, void **root, __compar_fn_t compare) {
  hd__real_init();
  tree_changes(root, HD_CALLER);
  return real_tsearch(key, root, compare);
}

HD_EXPORT void *tdelete(const void *restrict key, void **restrict root, __compar_fn_t compare) {
  hd__real_init();
  tree_changes(root, HD_CALLER);
  return real_tdelete(key, root, compare);
}

HD_EXPORT void *tfind(const void *key, void *const *root, __compar_fn_t compare) {
  hd__real_init();
  READS(root, sizeof *root);
  return real_tfind(key, root, compare);
}

HD_EXPORT void twalk(const void *root, __action_fn_t action) {
  hd__real_init();
  READS(root, sizeof(void *));
  real_twalk(root, action);
}

/* ---- hash tables: one for all, or one of the program's ---- */

static uint64_t table;

HD_EXPORT int hcreate(size_t n) {
  hd__real_init();
  WRITES(&table, sizeof table);
  return real_hcreate(n);
}

HD_EXPORT void hdestroy(void) {
  hd__real_init();
  WRITES(&table, sizeof table);
  real_hdestroy();
}

static void look_up(void *in, size_t n, ACTION action, uint64_t pc) {
  if (action == ENTER)
    hd__writes(in, n, pc);
  else
    hd__reads(in, n, pc);
}

HD_EXPORT ENTRY *hsearch(ENTRY item, ACTION action) {
  hd__real_init();
  look_up(&table, sizeof table, action, HD_CALLER);
  return real_hsearch(item, action);
}

HD_EXPORT int hsearch_r(ENTRY item, ACTION action, ENTRY **result, struct hsearch_data *in) {
  hd__real_init();
  look_up(in, sizeof *in, action, HD_CALLER);
  WRITES(result, sizeof *result);
  return real_hsearch_r(item, action, result, in);
}

/* ---- arrays and lists ---- */

HD_EXPORT void *lsearch(const void *key, void *base, size_t *n, size_t size, __compar_fn_t compare) {
  hd__real_init();
  READS(n, sizeof *n);
  size_t had = *n;
  void *r = real_lsearch(key, base, n, size, compare);
  if (*n != had) {
    WRITES(n, sizeof *n);
    WRITES(r, size);
  }
  return r;
}

struct link {
  struct link *next, *last;
};

HD_EXPORT void insque(void *item, void *after) {
  hd__real_init();
  struct link *l = item, *p = after;
  WRITES(l, sizeof *l);
  if (p) {
    WRITES(&p->next, sizeof p->next);
    if (p->next) WRITES(&p->next->last, sizeof p->next->last);
  }
  real_insque(item, after);
}

HD_EXPORT void remque(void *item) {
  hd__real_init();
  struct link *l = item;
  READS(l, sizeof *l);
  if (l->next) WRITES(&l->next->last, sizeof l->next->last);
  if (l->last) WRITES(&l->last->next, sizeof l->last->next);
  real_remque(item);
}

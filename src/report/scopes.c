/* scopes.c: finds the functions around an address in the debug information. Runs in the supervisor.
 *
 * libdw's dwarf_getscopes visits every function of the unit for every address. Here the functions of a unit are listed
 * once, by their addresses; for those that the list does not have (of local classes), libdw is asked. */
#include "report/scopes.h"
#include "base/base.h"

#include <dwarf.h>
#include <stdlib.h>

struct function {
  Dwarf_Addr low, high;
  Dwarf_Die die;
};

struct unit {
  Dwarf_CU *cu;
  HD_VEC(struct function) function; /* by address */
};

static HD_VEC(struct unit) units;

/* ---- the list of a unit ---- */

static void add_function(struct unit *u, Dwarf_Die *die) {
  Dwarf_Addr base, low, high;
  ptrdiff_t at = 0;
  while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
    if (low < high) hd_vec_push(&u->function, ((struct function){low, high, *die}));
}

/* Adds the functions below `die`, those of namespaces included. */
static void add_functions(struct unit *u, Dwarf_Die *die) {
  Dwarf_Die child;
  if (dwarf_child(die, &child) != 0) return;
  do {
    int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) add_function(u, &child);
    if (tag == DW_TAG_namespace) add_functions(u, &child);
  } while (dwarf_siblingof(&child, &child) == 0);
}

static int by_address(const void *a, const void *b) {
  const struct function *x = a, *y = b;
  return (x->low > y->low) - (x->low < y->low);
}

static const struct unit *unit_of(Dwarf_Die *cu) {
  for (size_t i = 0; i < units.n; i++)
    if (units.v[i].cu == cu->cu) return &units.v[i];
  struct unit u = {.cu = cu->cu};
  add_functions(&u, cu);
  if (u.function.n) qsort(u.function.v, u.function.n, sizeof *u.function.v, by_address);
  hd_vec_push(&units, u);
  return &units.v[units.n - 1];
}

static const Dwarf_Die *function_at(Dwarf_Die *cu, Dwarf_Addr addr) {
  const struct unit *u = unit_of(cu);
  size_t low = 0, high = u->function.n;
  while (low < high) {
    size_t mid = (low + high) / 2;
    if (u->function.v[mid].low <= addr)
      low = mid + 1;
    else
      high = mid;
  }
  return low && addr < u->function.v[low - 1].high ? &u->function.v[low - 1].die : NULL;
}

void hd__scopes_forget(void) {
  for (size_t i = 0; i < units.n; i++) hd_vec_free(&units.v[i].function);
  hd_vec_free(&units);
}

/* ---- within a function ---- */

static bool is_scope(int tag) {
  switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block: return true;
    default: return false;
  }
}

/* The scope directly below `die` that has the address. */
static bool enter(const Dwarf_Die *die, Dwarf_Addr addr, Dwarf_Die *child) {
  if (dwarf_child((Dwarf_Die *)die, child) != 0) return false;
  do {
    if (is_scope(dwarf_tag(child)) && dwarf_haspc(child, addr) == 1) return true;
  } while (dwarf_siblingof(child, child) == 0);
  return false;
}

static int scopes_below(const Dwarf_Die *function, Dwarf_Addr addr, Dwarf_Die scope[HD_MAX_SCOPES]) {
  Dwarf_Die die = *function, child;
  int n = 1;
  scope[0] = die; /* the outermost first; turned round at the end */
  while (enter(&die, addr, &child)) {
    int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) n = 0;
    if (n == HD_MAX_SCOPES) return 0;
    if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) scope[n++] = child;
    die = child;
  }
  for (int i = 0; i < n / 2; i++) {
    Dwarf_Die other = scope[i];
    scope[i] = scope[n - 1 - i];
    scope[n - 1 - i] = other;
  }
  return n;
}

/* ---- all functions ---- */

static bool is_function(Dwarf_Die *die) {
  int tag = dwarf_tag(die);
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

static int ask_libdw(Dwarf_Die *cu, Dwarf_Addr addr, Dwarf_Die scope[HD_MAX_SCOPES]) {
  Dwarf_Die *inner = NULL, *outer = NULL;
  int n = dwarf_getscopes(cu, addr, &inner), first = 0, found = 0;
  while (first < n && !is_function(&inner[first])) first++;
  /* dwarf_getscopes continues in the abstract origin; the lexical parents of the concrete one are needed. */
  int m = first < n ? dwarf_getscopes_die(&inner[first], &outer) : 0;
  for (int i = 0; i < m && found < HD_MAX_SCOPES; i++) {
    if (!is_function(&outer[i])) continue;
    scope[found++] = outer[i];
    if (dwarf_tag(&outer[i]) == DW_TAG_subprogram) break;
  }
  free(outer);
  free(inner);
  return found;
}

int hd__scopes_at(Dwarf_Die *cu, Dwarf_Addr addr, Dwarf_Die scope[HD_MAX_SCOPES]) {
  const Dwarf_Die *function = function_at(cu, addr);
  return function ? scopes_below(function, addr, scope) : ask_libdw(cu, addr, scope);
}

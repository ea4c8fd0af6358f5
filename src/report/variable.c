/* variable.c: names the part of a variable at an address: `accounts[2].balance` instead of `accounts+88`. Runs in the
 * supervisor.
 *
 * The variable is the one whose location in the debug information is the address of the symbol. From there the type is
 * followed down to a scalar or a type of the system (a mutex). */
#include "report/report_int.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <string.h>

#define MAX_DEPTH 8 /* of scopes around a variable, and of parts within parts */

/* ---- finding the variable ---- */

static bool is_at(Dwarf_Die *die, uint64_t addr) {
  Dwarf_Attribute attr;
  Dwarf_Op *op;
  size_t n;
  return dwarf_attr(die, DW_AT_location, &attr) && dwarf_getlocation(&attr, &op, &n) == 0 && n == 1 &&
         op[0].atom == DW_OP_addr && op[0].number == addr;
}

/* Searches for the variable at `addr` below `die`, and stores it in `found`. */
static bool find_below(Dwarf_Die *die, uint64_t addr, unsigned depth, Dwarf_Die *found) {
  Dwarf_Die child;
  if (depth == MAX_DEPTH || dwarf_child(die, &child) != 0) return false;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_variable:
        if (!is_at(&child, addr)) break;
        *found = child;
        return true;
      case DW_TAG_namespace:
      case DW_TAG_subprogram:
      case DW_TAG_lexical_block:
        if (find_below(&child, addr, depth + 1, found)) return true;
        break;
      default: break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

/* The same few variables are looked up repeatedly, so the last ones are cached while their module is loaded. */
static struct {
  Dwfl_Module *mod;
  uint64_t addr;
  bool there;
  Dwarf_Die die;
} known[32];
#define KNOWN (sizeof known / sizeof *known)

void hd__variable_forget(void) { memset(known, 0, sizeof known); }

static bool find_variable(Dwfl_Module *mod, uint64_t addr, Dwarf_Die *found) {
  static size_t next;
  for (size_t i = 0; i < KNOWN; i++)
    if (known[i].mod == mod && known[i].addr == addr) {
      *found = known[i].die;
      return known[i].there;
    }
  Dwarf_Addr bias;
  Dwarf_Die *cu = NULL;
  bool there = false;
  while (!there && (cu = dwfl_module_nextcu(mod, cu, &bias))) there = find_below(cu, addr - bias, 0, found);
  size_t at = next++ % KNOWN;
  known[at].mod = mod;
  known[at].addr = addr;
  known[at].there = there;
  if (there) known[at].die = *found;
  return there;
}

/* ---- following its type ---- */

static bool type_of(Dwarf_Die *die, Dwarf_Die *type) {
  Dwarf_Attribute attr;
  return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attr), type) != NULL;
}

/* Strips typedefs and qualifiers. */
static bool strip(Dwarf_Die *type) {
  for (unsigned i = 0; i < 4 * MAX_DEPTH; i++) {
    switch (dwarf_tag(type)) {
      case DW_TAG_typedef:
      case DW_TAG_const_type:
      case DW_TAG_volatile_type:
      case DW_TAG_atomic_type: break;
      default: return true;
    }
    Dwarf_Die of;
    if (!type_of(type, &of)) return false;
    *type = of;
  }
  return false;
}

static bool is_of_the_system(Dwarf_Die *type) {
  const char *file = dwarf_decl_file(type);
  return file && strncmp(file, "/usr/", 5) == 0;
}

/* Enters the member at `offset`, and makes the offset relative to it. */
static bool enter_member(struct hd_str *out, Dwarf_Die *type, uint64_t *offset) {
  Dwarf_Die child;
  if (dwarf_child(type, &child) != 0) return false;
  do {
    Dwarf_Attribute attr;
    Dwarf_Word at, size;
    Dwarf_Die of;
    if (dwarf_tag(&child) != DW_TAG_member || !type_of(&child, &of) ||
        dwarf_formudata(dwarf_attr(&child, DW_AT_data_member_location, &attr), &at) != 0 ||
        dwarf_aggregate_size(&of, &size) != 0 || *offset < at || *offset >= at + size)
      continue;
    const char *name = dwarf_diename(&child);
    if (name) hd_str_addf(out, ".%s", name);
    *offset -= at;
    *type = of;
    return true;
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

/* Enters the element at `offset`. Only the first of several dimensions is distinguished. */
static bool enter_element(struct hd_str *out, Dwarf_Die *type, uint64_t *offset) {
  Dwarf_Die of, range, second;
  Dwarf_Word size;
  if (!type_of(type, &of) || dwarf_aggregate_size(&of, &size) != 0 || size == 0) return false;
  if (dwarf_child(type, &range) != 0 || dwarf_siblingof(&range, &second) == 0) return false;
  hd_str_addf(out, "[%llu]", (unsigned long long)(*offset / size));
  *offset %= size;
  *type = of;
  return true;
}

void hd__variable_part(struct hd_str *out, struct Dwfl_Module *mod, uint64_t symbol, uint64_t offset) {
  Dwarf_Die type, variable;
  bool inside = find_variable(mod, symbol, &variable) && type_of(&variable, &type);
  for (unsigned depth = 0; inside && depth < MAX_DEPTH && strip(&type); depth++) {
    int tag = dwarf_tag(&type);
    bool made_of_parts = tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
    if (is_of_the_system(&type)) break;
    if (made_of_parts)
      inside = enter_member(out, &type, &offset);
    else
      inside = tag == DW_TAG_array_type && enter_element(out, &type, &offset);
  }
  if (offset) hd_str_addf(out, "+%llu", (unsigned long long)offset);
}

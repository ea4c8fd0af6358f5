/* variable.c: names the part of a variable at an address: `accounts[2].balance` instead of `accounts+88`. Runs in the
 * supervisor.
 *
 * The variable is the one whose location in the debug information is the address of the symbol. From there the type is
 * followed down to a scalar or a type of the system (a mutex). */
#include "report/report_int.h"
#include "report/scopes.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

#define HEADER 16   /* bytes before an object of std::make_shared: a pointer and two counters */
#define MAX_DEPTH 8 /* of scopes around a variable, and of parts within parts */

/* ---- finding the variable ---- */

struct variable {
  uint64_t addr;
  Dwarf_Die die;
};

/* The variables of the units that were read so far, unit by unit, each by address. */
struct unit {
  Dwfl_Module *mod;
  Dwarf_Die *cu; /* libdw's own */
  Dwarf_Addr bias;
  HD_VEC(struct variable) variable;
};

static HD_VEC(struct unit) units;
static HD_VEC(Dwfl_Module *) read_whole; /* modules without further units */

/* The address is fixed: not on a stack, not thread-local. */
static bool has_address(Dwarf_Die *die, uint64_t *addr) {
  Dwarf_Attribute attr;
  Dwarf_Op *op;
  size_t n;
  if (!dwarf_attr(die, DW_AT_location, &attr) || dwarf_getlocation(&attr, &op, &n) != 0 || n != 1 ||
      op[0].atom != DW_OP_addr)
    return false;
  *addr = op[0].number;
  return true;
}

static void add_variables(struct unit *u, Dwarf_Die *die, unsigned depth) {
  Dwarf_Die child;
  uint64_t addr;
  if (depth == MAX_DEPTH || dwarf_child(die, &child) != 0) return;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_variable:
        if (has_address(&child, &addr)) hd_vec_push(&u->variable, ((struct variable){addr, child}));
        break;
      case DW_TAG_namespace:
      case DW_TAG_subprogram:
      case DW_TAG_lexical_block: add_variables(u, &child, depth + 1); break;
      default: break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

static int by_address(const void *a, const void *b) {
  const struct variable *x = a, *y = b;
  return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Reads the unit after `previous`, the first one for NULL; NULL when there is none. */
static struct unit *read_unit(Dwfl_Module *mod, struct unit *previous) {
  struct unit u = {.mod = mod};
  u.cu = dwfl_module_nextcu(mod, previous ? previous->cu : NULL, &u.bias);
  if (!u.cu) {
    hd_vec_push(&read_whole, mod);
    return NULL;
  }
  add_variables(&u, u.cu, 0);
  if (u.variable.n) qsort(u.variable.v, u.variable.n, sizeof *u.variable.v, by_address);
  hd_vec_push(&units, u);
  return &units.v[units.n - 1];
}

static bool find_in_unit(const struct unit *u, uint64_t addr, Dwarf_Die *found) {
  struct variable key = {.addr = addr - u->bias};
  const struct variable *v =
      u->variable.n ? bsearch(&key, u->variable.v, u->variable.n, sizeof key, by_address) : NULL;
  if (v) *found = v->die;
  return v != NULL;
}

void hd__variable_forget(void) {
  for (size_t i = 0; i < units.n; i++) hd_vec_free(&units.v[i].variable);
  hd_vec_free(&units);
  hd_vec_free(&read_whole);
}

static bool find_variable(Dwfl_Module *mod, uint64_t addr, Dwarf_Die *found) {
  struct unit *last = NULL;
  for (size_t i = 0; i < units.n; i++) {
    if (units.v[i].mod != mod) continue;
    last = &units.v[i];
    if (find_in_unit(last, addr, found)) return true;
  }
  for (size_t i = 0; i < read_whole.n; i++)
    if (read_whole.v[i] == mod) return false;
  while ((last = read_unit(mod, last)))
    if (find_in_unit(last, addr, found)) return true;
  return false;
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

/* Adds the part of a variable at `offset`; `inside`: its type is known. */
static void add_part(struct hd_str *out, bool inside, Dwarf_Die type, uint64_t offset) {
  for (unsigned depth = 0; inside && depth < MAX_DEPTH && strip(&type); depth++) {
    int tag = dwarf_tag(&type);
    bool made_of_parts = tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
    if (is_of_the_system(&type) && made_of_parts) return; /* a class's parts are not the user's */
    if (is_of_the_system(&type)) break;
    if (made_of_parts)
      inside = enter_member(out, &type, &offset);
    else
      inside = tag == DW_TAG_array_type && enter_element(out, &type, &offset);
  }
  if (offset) hd_str_addf(out, "+%llu", (unsigned long long)offset);
}

void hd__variable_part(struct hd_str *out, struct Dwfl_Module *mod, uint64_t symbol, uint64_t offset) {
  Dwarf_Die type = {0}, variable;
  bool inside = find_variable(mod, symbol, &variable) && type_of(&variable, &type);
  add_part(out, inside, type, offset);
}

/* ---- local variables ---- */

/* The address that the function's variables are relative to; false if its debug information gives it otherwise. */
static bool frame_base(Dwarf_Die *function, const struct hd_frame_rec *frame, uint64_t *base) {
  Dwarf_Attribute attr;
  Dwarf_Op *op;
  size_t n;
  if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attr) || dwarf_getlocation(&attr, &op, &n) || n != 1)
    return false;
  switch (op[0].atom) {
    case DW_OP_call_frame_cfa: return *base = frame->cfa, true;
    case DW_OP_reg6:
      return *base = frame->cfa - 16, true; /* the frame pointer, saved below the return address */
    case DW_OP_reg7: return *base = frame->sp, true;
    default: return false;
  }
}

struct local {
  const struct hd_frame_rec *frame;
  uint64_t pc, base, addr;
  Dwarf_Die variable, type;
  uint64_t offset;
};

static bool is_at(struct local *l, Dwarf_Die *die) {
  Dwarf_Attribute attr;
  Dwarf_Op *op;
  size_t n;
  Dwarf_Word size;
  if (!dwarf_diename(die) || !dwarf_attr_integrate(die, DW_AT_location, &attr) ||
      dwarf_getlocation_addr(&attr, l->pc, &op, &n, 1) != 1 || n != 1 || !type_of(die, &l->type) ||
      dwarf_aggregate_size(&l->type, &size))
    return false;
  switch (op[0].atom) {
    case DW_OP_fbreg: l->offset = l->addr - (l->base + op[0].number); break;
    case DW_OP_breg6: l->offset = l->addr - (l->frame->cfa - 16 + op[0].number); break; /* as above */
    case DW_OP_breg7: l->offset = l->addr - (l->frame->sp + op[0].number); break;
    default: return false;
  }
  l->variable = *die;
  return l->offset < size;
}

static bool find_local(struct local *l, Dwarf_Die *die, unsigned depth) {
  Dwarf_Die child;
  if (depth == MAX_DEPTH || dwarf_child(die, &child) != 0) return false;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_variable:
      case DW_TAG_formal_parameter:
        if (is_at(l, &child)) return true;
        break;
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_inlined_subroutine:
        if (dwarf_haspc(&child, l->pc) != 0 && find_local(l, &child, depth + 1)) return true;
        break;
      default: break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

bool hd__local_variable(struct hd_str *out, void *cu, uint64_t pc, const struct hd_frame_rec *frame,
                        uint64_t addr) {
  Dwarf_Die scope[HD_MAX_SCOPES];
  struct local l = {.frame = frame, .pc = pc, .addr = addr};
  int n = hd__scopes_at(cu, pc, scope);
  if (n == 0 || !frame_base(&scope[n - 1], frame, &l.base) || !find_local(&l, &scope[n - 1], 0)) return false;
  hd_str_add(out, dwarf_diename(&l.variable));
  add_part(out, true, l.type, l.offset);
  return true;
}

/* ---- types by their names ---- */

static bool is_type(int tag) {
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
         tag == DW_TAG_typedef || tag == DW_TAG_base_type;
}

/* Whether two names mean one type: gcc writes "Table<long int>" for what is Table<long> in the source. */
static bool same_type(const char *a, const char *b) {
  static const char *const optional[] = {" int", " "};
  while (*a || *b) {
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) {
      size_t n = strlen(optional[i]);
      if (strncmp(a, optional[i], n) == 0 && strncmp(b, optional[i], n) != 0) a += n;
      if (strncmp(b, optional[i], n) == 0 && strncmp(a, optional[i], n) != 0) b += n;
    }
    if (*a != *b) return false;
    if (*a) a++, b++;
  }
  return true;
}

static bool find_type(Dwarf_Die *die, const char *name, unsigned depth, Dwarf_Die *type) {
  Dwarf_Die child;
  if (depth == MAX_DEPTH || dwarf_child(die, &child) != 0) return false;
  do {
    int tag = dwarf_tag(&child);
    const char *own = dwarf_diename(&child);
    Dwarf_Word size;
    if (is_type(tag) && own && same_type(own, name) && dwarf_aggregate_size(&child, &size) == 0)
      return *type = child, true;
    bool scope = tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
                 tag == DW_TAG_subprogram;
    if (scope && find_type(&child, name, depth + 1, type)) return true;
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

/* The part at `offset` of a block that holds one or several objects of the type. */
static bool add_part_of_block(struct hd_str *out, Dwarf_Die type, uint64_t size, uint64_t offset,
                              bool header) {
  Dwarf_Word one;
  if (dwarf_aggregate_size(&type, &one) != 0 || one == 0 || one > size) return false;
  if (header) {
    if (offset < HEADER) return false;
    offset -= HEADER;
  } else if (size >= 2 * one && size % one == 0) {
    hd_str_addf(out, "[%llu]", (unsigned long long)(offset / one));
    offset %= one;
  }
  add_part(out, offset < one, type, offset);
  return true;
}

bool hd__typed_part(struct hd_str *out, void *cu, const char *name, uint64_t size, uint64_t offset,
                    bool header) {
  Dwarf_Die type;
  const char *scope = strstr(name, "::"), *last = name;
  for (; scope; scope = strstr(last, "::")) last = scope + 2;
  return find_type(cu, last, 0, &type) && add_part_of_block(out, type, size, offset, header);
}

static bool find_by_name(Dwarf_Die *die, const char *name, unsigned depth, Dwarf_Die *found) {
  Dwarf_Die child;
  if (depth == MAX_DEPTH || dwarf_child(die, &child) != 0) return false;
  do {
    int tag = dwarf_tag(&child);
    const char *own = dwarf_diename(&child);
    bool variable = tag == DW_TAG_variable || tag == DW_TAG_formal_parameter;
    if (variable && own && strcmp(own, name) == 0) return *found = child, true;
    bool scope = tag == DW_TAG_lexical_block || tag == DW_TAG_namespace;
    if (scope && find_by_name(&child, name, depth + 1, found)) return true;
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

bool hd__pointee_part(struct hd_str *out, void *cu, uint64_t pc, const char *variable, uint64_t size,
                      uint64_t offset) {
  Dwarf_Die scope[HD_MAX_SCOPES], found, type, of;
  int n = hd__scopes_at(cu, pc, scope);
  bool is = false;
  for (int i = 0; i < n && !is; i++) is = find_by_name(&scope[i], variable, 0, &found);
  if (!is && !find_by_name(cu, variable, 0, &found)) return false;
  return type_of(&found, &type) && strip(&type) && dwarf_tag(&type) == DW_TAG_pointer_type &&
         type_of(&type, &of) && strip(&of) && add_part_of_block(out, of, size, offset, false);
}

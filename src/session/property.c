/* property.c: what a search for one property has to know about the code, from the bitcode of the program. Runs in the
 * supervisor.
 *
 * The bitcode names functions and lines, the process has addresses: the debug information of the program has the line, and
 * the innermost inlined function, of each. A place is a line of a function. Two functions of one name are one, whose lines
 * may do what those of either do. */
#include "session/session_int.h"
#include "report/places.h"
#include "static/static.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- symbols ---- */

struct symbol {
  char *name; /* owned */
  uint64_t value, size;
  bool function;
};
struct symbols {
  HD_VEC(struct symbol) v; /* by name */
};

static int by_name(const void *a, const void *b) {
  return strcmp(((const struct symbol *)a)->name, ((const struct symbol *)b)->name);
}

static void read_symbols(struct symbols *s, const char *program) {
  int fd = open(program, O_RDONLY | O_CLOEXEC);
  elf_version(EV_CURRENT);
  Elf *e = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
  for (Elf_Scn *scn = NULL; e && (scn = elf_nextscn(e, scn));) {
    GElf_Shdr h;
    Elf_Data *d = gelf_getshdr(scn, &h) && h.sh_type == SHT_SYMTAB ? elf_getdata(scn, NULL) : NULL;
    for (int i = 0; d && h.sh_entsize && (uint64_t)i < h.sh_size / h.sh_entsize; i++) {
      GElf_Sym y;
      const char *name = gelf_getsym(d, i, &y) ? elf_strptr(e, h.sh_link, y.st_name) : NULL;
      int type = name ? GELF_ST_TYPE(y.st_info) : STT_NOTYPE;
      if ((type != STT_FUNC && type != STT_OBJECT) || y.st_shndx == SHN_UNDEF) continue;
      hd_vec_push(&s->v, ((struct symbol){hd_strdup(name), y.st_value, y.st_size, type == STT_FUNC}));
    }
  }
  if (e) elf_end(e);
  if (fd >= 0) close(fd);
  if (s->v.n) qsort(s->v.v, s->v.n, sizeof *s->v.v, by_name);
}

/* How many there are of that name and kind; *at: the last one's index. */
static size_t find_symbol(const struct symbols *s, const char *name, bool function, size_t *at) {
  size_t lo = 0, hi = s->v.n, n = 0;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (strcmp(s->v.v[mid].name, name) < 0)
      lo = mid + 1;
    else
      hi = mid;
  }
  for (; lo < s->v.n && strcmp(s->v.v[lo].name, name) == 0; lo++)
    if (s->v.v[lo].function == function) *at = lo, n++;
  return n;
}

/* ---- what the bitcode says ---- */

struct place {
  const char *function; /* in `names` */
  unsigned line, only;  /* only: where that object is accessed; 0: any */
  HD_VEC(uint32_t) object;
};
struct entry {
  uint64_t offset;
  HD_VEC(struct hd_property_fact) fact; /* [place] */
  struct hd_property_fact beginning;
};

struct making {
  struct symbols symbols;
  HD_VEC(char *) name; /* owned */
  HD_VEC(struct place) place;
  uint32_t *table; /* of places: a hash table of numbers plus 1 */
  size_t slots;
  HD_VEC(struct entry) entry;
  HD_VEC(struct hd_property_access) access;
  HD_VEC(uint64_t) lock; /* ~0: its address is not known */
  HD_VEC(struct hd_property_variable) variable;
  struct hd_property_fact *last; /* the fact that futures belong to; NULL: none */
  bool skips;                    /* the entry is not known to the linker */
  char *refused, *missing;       /* owned */
};

static uint64_t hash_of(const char *s, unsigned line, unsigned only) {
  uint64_t h = 1469598103934665603ull ^ line ^ (uint64_t)only << 32;
  for (; *s; s++) h = (h ^ (unsigned char)*s) * 1099511628211ull;
  return h ^ h >> 29;
}

static uint32_t *slot_of(struct making *m, const char *function, unsigned line, unsigned only) {
  size_t i = hash_of(function, line, only) & (m->slots - 1);
  for (; m->table[i]; i = (i + 1) & (m->slots - 1)) {
    const struct place *p = &m->place.v[m->table[i] - 1];
    if (p->line == line && p->only == only && strcmp(p->function, function) == 0) break;
  }
  return &m->table[i];
}

static uint32_t find_place(struct making *m, const char *function, unsigned line) {
  return m->slots ? *slot_of(m, function, line, 0) : 0;
}

/* The number of a place, from 1. */
static uint32_t add_place(struct making *m, const char *function, unsigned line, unsigned only) {
  if (2 * (m->place.n + 1) >= m->slots) {
    free(m->table);
    m->slots = m->slots ? 2 * m->slots : 1024;
    m->table = hd_alloc(m->slots * sizeof *m->table);
    for (size_t i = 0; i < m->place.n; i++)
      *slot_of(m, m->place.v[i].function, m->place.v[i].line, m->place.v[i].only) = (uint32_t)i + 1;
  }
  uint32_t *slot = slot_of(m, function, line, only);
  if (!*slot) {
    size_t n = m->name.n;
    if (!n || strcmp(m->name.v[n - 1], function) != 0) hd_vec_push(&m->name, hd_strdup(function));
    struct place p = {m->name.v[m->name.n - 1], line, only, {0}};
    hd_vec_push(&m->place, p);
    *slot = (uint32_t)m->place.n;
  }
  return *slot;
}

static void on_external(void *arg, const char *function) {
  struct making *m = arg;
  size_t at;
  if (!m->missing && find_symbol(&m->symbols, function, true, &at)) m->missing = hd_strdup(function);
}

static void on_lock(void *arg, const char *variable, uint64_t offset) {
  struct making *m = arg;
  size_t at;
  uint64_t address = ~0ull;
  if (find_symbol(&m->symbols, variable, false, &at) == 1) address = m->symbols.v.v[at].value + offset;
  hd_vec_push(&m->lock, address);
}

/* A variable of another size may be another one of that name. */
static void on_variable(void *arg, unsigned object, const char *name, uint64_t size) {
  struct making *m = arg;
  size_t at;
  if (find_symbol(&m->symbols, name, false, &at) != 1 || m->symbols.v.v[at].size != size || !size) return;
  hd_vec_push(&m->variable, ((struct hd_property_variable){m->symbols.v.v[at].value, size, object}));
}

static void on_object(void *arg, const char *function, unsigned line, unsigned object) {
  struct making *m = arg;
  uint32_t place = add_place(m, function, line, 0);
  struct place *p = &m->place.v[place - 1];
  for (size_t i = 0; i < p->object.n; i++)
    if (p->object.v[i] == object) return;
  hd_vec_push(&p->object, object);
}

static void on_entry(void *arg, const char *function) {
  struct making *m = arg;
  size_t at = 0;
  bool first = strcmp(function, "main") == 0;
  m->last = NULL;
  m->skips = !first && find_symbol(&m->symbols, function, true, &at) != 1;
  if (m->skips) return;
  struct entry e = {.offset = first ? 0 : m->symbols.v.v[at].value};
  hd_vec_push(&m->entry, e);
}

static void on_line(void *arg, const char *function, unsigned line, unsigned object, unsigned flags) {
  struct making *m = arg;
  if (m->skips) return;
  struct entry *e = &m->entry.v[m->entry.n - 1];
  struct hd_property_fact *f = &e->beginning;
  if (line) {
    uint32_t place = add_place(m, function, line, object);
    while (e->fact.n <= place) hd_vec_push(&e->fact, (struct hd_property_fact){0});
    f = &e->fact.v[place];
  }
  f->flags |= flags;
  f->first = (uint32_t)m->access.n;
  f->n = 0;
  m->last = f;
}

static void on_future(void *arg, unsigned object, unsigned how, uint64_t acquired, uint64_t released) {
  struct making *m = arg;
  if (m->skips || !m->last) return;
  for (size_t i = 0; i < m->lock.n; i++)
    if (m->lock.v[i] == ~0ull) {
      acquired &= ~(1ull << i);
      if (released >> i & 1) released = ~0ull; /* it may be any lock that is held */
    }
  hd_vec_push(&m->access, ((struct hd_property_access){.object = object,
                                                       .writes = how & HD_RACE_WRITE,
                                                       .atomic = (how & HD_RACE_ATOMIC) != 0,
                                                       .acquired = acquired,
                                                       .released = released}));
  m->last->n++;
}

static void on_refuse(void *arg, const char *why) {
  struct making *m = arg;
  if (!m->refused) m->refused = hd_strdup(why);
}

static void making_fini(struct making *m) {
  for (size_t i = 0; i < m->symbols.v.n; i++) free(m->symbols.v.v[i].name);
  for (size_t i = 0; i < m->name.n; i++) free(m->name.v[i]);
  for (size_t i = 0; i < m->place.n; i++) hd_vec_free(&m->place.v[i].object);
  for (size_t i = 0; i < m->entry.n; i++) hd_vec_free(&m->entry.v[i].fact);
  hd_vec_free(&m->symbols.v);
  hd_vec_free(&m->name);
  hd_vec_free(&m->place);
  hd_vec_free(&m->entry);
  hd_vec_free(&m->access);
  hd_vec_free(&m->lock);
  hd_vec_free(&m->variable);
  free(m->table);
  free(m->refused);
  free(m->missing);
}

/* ---- the plan ---- */

static uint64_t take(uint64_t *at, uint64_t bytes) {
  uint64_t here = *at;
  *at += (bytes + 63) & ~63ull;
  return here;
}

static int by_offset(const void *a, const void *b) {
  const struct hd_property_variable *x = a, *y = b;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Sorts them by address. Variables that overlap cannot be told apart, so none of them is kept. */
static void sort_variables(struct making *m) {
  struct hd_property_variable *v = m->variable.v;
  size_t n = 0;
  if (m->variable.n) qsort(v, m->variable.n, sizeof *v, by_offset);
  for (size_t i = 0; i < m->variable.n;) {
    uint64_t end = v[i].offset + v[i].size;
    size_t k = i + 1;
    for (; k < m->variable.n && v[k].offset < end; k++)
      if (v[k].offset + v[k].size > end) end = v[k].offset + v[k].size;
    if (k == i + 1) v[n++] = v[i];
    i = k;
  }
  m->variable.n = n;
}

/* The parts of each place: those that come after it in the list of places. */
static void write_parts(struct making *m, uint32_t *first, struct hd_property_part *part) {
  size_t n = m->place.n;
  uint32_t sum = 0;
  memset(first, 0, (n + 2) * sizeof *first);
  for (size_t i = 0; i < n; i++)
    if (m->place.v[i].only) first[find_place(m, m->place.v[i].function, m->place.v[i].line)]++;
  for (size_t i = 0; i <= n + 1; i++) {
    uint32_t here = first[i];
    first[i] = sum;
    sum += here;
  }
  uint32_t *next = hd_alloc((n + 1) * sizeof *next);
  memcpy(next, first, (n + 1) * sizeof *next);
  for (size_t i = 0; i < n; i++) {
    const struct place *p = &m->place.v[i];
    if (p->only)
      part[next[find_place(m, p->function, p->line)]++] = (struct hd_property_part){p->only, (uint32_t)i + 1};
  }
  free(next);
}

static int write_plan(struct making *m, struct hd_places *places, char *memory, struct hd_err *err) {
  size_t nrows, nobjects = 0, np = m->place.n + 1;
  const struct hd_place_row *row = hd_places_rows(places, &nrows);
  for (size_t i = 0; i < m->place.n; i++) nobjects += m->place.v[i].object.n;
  sort_variables(m);
  struct hd_property_plan h = {.nrows = (uint32_t)nrows,
                               .nplaces = (uint32_t)np,
                               .nentries = (uint32_t)m->entry.n,
                               .nlocks = (uint32_t)m->lock.n,
                               .naccesses = (uint32_t)m->access.n,
                               .nobjects = (uint32_t)nobjects,
                               .nvariables = (uint32_t)m->variable.n};
  for (size_t i = 0; i < m->place.n; i++) h.nparts += m->place.v[i].only != 0;
  uint64_t at = (sizeof h + 63) & ~63ull;
  h.at_row = take(&at, nrows * sizeof(uint64_t));
  h.at_place = take(&at, nrows * sizeof(uint32_t));
  h.at_entry = take(&at, m->entry.n * sizeof(uint64_t));
  h.at_lock = take(&at, m->lock.n * sizeof(uint64_t));
  h.at_facts = take(&at, m->entry.n * (np + 1) * sizeof(struct hd_property_fact));
  h.at_accesses = take(&at, m->access.n * sizeof(struct hd_property_access));
  h.at_objects = take(&at, (np + 1) * sizeof(uint32_t));
  h.at_object = take(&at, nobjects * sizeof(uint32_t));
  h.at_parts = take(&at, (np + 1) * sizeof(uint32_t));
  h.at_part = take(&at, h.nparts * sizeof(struct hd_property_part));
  h.at_variables = take(&at, m->variable.n * sizeof *m->variable.v);
  if (at > HD_PROPERTY_SIZE) return hd_fail(err, HD_EUSAGE, "--property: the program is too large");
  h.size = at;
  for (size_t i = 0; i < nrows; i++) {
    struct hd_place_scope scope[HD_PLACE_SCOPES];
    ((uint64_t *)(memory + h.at_row))[i] = row[i].code;
    size_t n = hd_places_scopes(places, row[i].code, scope);
    unsigned line = row[i].file && row[i].line ? (unsigned)row[i].line : HD_RACE_ANY_LINE;
    ((uint32_t *)(memory + h.at_place))[i] =
        n && scope[0].function ? find_place(m, scope[0].function, line) : 0;
  }
  for (size_t i = 0; i < m->entry.n; i++) {
    struct hd_property_fact *f = (struct hd_property_fact *)(memory + h.at_facts) + i * (np + 1);
    ((uint64_t *)(memory + h.at_entry))[i] = m->entry.v[i].offset;
    if (m->entry.v[i].fact.n) memcpy(f, m->entry.v[i].fact.v, m->entry.v[i].fact.n * sizeof *f);
    f[np] = m->entry.v[i].beginning;
  }
  if (m->lock.n) memcpy(memory + h.at_lock, m->lock.v, m->lock.n * sizeof(uint64_t));
  if (m->variable.n) memcpy(memory + h.at_variables, m->variable.v, m->variable.n * sizeof *m->variable.v);
  if (m->access.n) memcpy(memory + h.at_accesses, m->access.v, m->access.n * sizeof *m->access.v);
  uint32_t *first = (uint32_t *)(memory + h.at_objects), *object = (uint32_t *)(memory + h.at_object), k = 0;
  for (size_t i = 0; i < np; i++) {
    first[i] = k;
    for (size_t j = 0; i && j < m->place.v[i - 1].object.n; j++) object[k++] = m->place.v[i - 1].object.v[j];
  }
  first[np] = k;
  write_parts(m, (uint32_t *)(memory + h.at_parts), (struct hd_property_part *)(memory + h.at_part));
  *(struct hd_property_plan *)memory = h;
  return HD_OK;
}

int hd__property_prepare(struct hd_session *s, struct hd_err *err) {
  struct making m = {0};
  struct hd_places *places = NULL;
  const struct hd_race_sink sink = {&m,       on_external, on_lock,   on_variable, on_object,
                                    on_entry, on_line,     on_future, on_refuse};
  const char *program = s->command.program.path;
  size_t units = 0, nrows = 0;
  read_symbols(&m.symbols, program);
  int rc = hd_races_read(program, hd_libdir(), &sink, &units, err);
  if (rc == HD_OK && !units)
    rc = hd_fail(err, HD_EUSAGE, "--property needs facts about the code: build %s with heddle cc --facts",
                 program);
  if (rc == HD_OK && m.missing)
    rc = hd_fail(
        err, HD_EUSAGE,
        "--property needs facts about all of the code, and there are none about %s: build all of %s with "
        "heddle cc --facts",
        m.missing, program);
  if (rc == HD_OK) rc = hd_places_open(&places, program, NULL, 0, err);
  if (rc == HD_OK) hd_places_rows(places, &nrows);
  if (rc == HD_OK && !nrows)
    rc = hd_fail(err, HD_EUSAGE, "--property needs debug information: build %s with -g", program);
  if (rc == HD_OK && m.refused && s->config.property_prunes)
    rc = hd_fail(err, HD_EUSAGE, "--property: the program uses %s", m.refused);
  if (rc == HD_OK && m.refused)
    hd_warn(
        "--property: nothing is left out, since the program uses %s, after which its threads cannot be followed",
        m.refused);
  else if (rc == HD_OK)
    rc = write_plan(&m, places,
                    (char *)s->worker[0].control.shared + HD_SEARCH_MEMORY + HD_SEARCH_CAP - HD_PROPERTY_SIZE,
                    err);
  hd_places_close(places);
  making_fini(&m);
  return rc;
}

/* places.c: source lines of a program as addresses, and back, with elfutils' libdw. Runs in the supervisor.
 *
 * Everything is read from the files of the program and its libraries. A relative path of the debug information is relative to
 * the folder of the compilation. */
#include "report/places.h"
#include "report/scopes.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file of the program, or of a library. */
struct module {
  int fd;
  Dwarf *dwarf;
  char *path;
};

struct unit_range {
  uint64_t lo, hi;
  Dwarf_Off die;
};

struct hd_places {
  struct module module[1 + HD_MAX_AIM_LIBRARIES]; /* as HD_AIM_CODE numbers them */
  size_t nmodules;
  HD_VEC(struct hd_place_row) row;
  HD_VEC(char *) path;            /* of files, absolute */
  HD_VEC(struct unit_range) unit; /* in increasing order */
};

/* ---- reading ---- */

/* The sources may be elsewhere by now, so the disk is not looked at. */
char *hd_places_clean(const char *dir, const char *file) {
  char *whole = file[0] == '/' || !dir ? hd_strdup(file) : hd_sprintf("%s/%s", dir, file);
  HD_VEC(char *) part = {0};
  struct hd_str out;
  hd_str_init(&out);
  bool absolute = whole[0] == '/';
  char *rest = whole, *word;
  while ((word = strsep(&rest, "/"))) {
    if (!*word || strcmp(word, ".") == 0) continue;
    if (strcmp(word, "..") == 0 && part.n && strcmp(part.v[part.n - 1], "..") != 0)
      part.n--;
    else
      hd_vec_push(&part, word);
  }
  for (size_t i = 0; i < part.n; i++) hd_str_addf(&out, "%s%s", i || absolute ? "/" : "", part.v[i]);
  hd_vec_free(&part);
  free(whole);
  return hd_str_take(&out);
}

/* The path, kept once. */
static const char *intern(struct hd_places *p, const char *dir, const char *file) {
  char *path = hd_places_clean(dir, file);
  for (size_t i = p->path.n; i-- > 0;) /* most often the last one */
    if (strcmp(p->path.v[i], path) == 0) return free(path), p->path.v[i];
  hd_vec_push(&p->path, path);
  return path;
}

static void read_unit(struct hd_places *p, Dwarf_Die *cu, uint64_t module) {
  Dwarf_Lines *lines;
  size_t n;
  Dwarf_Attribute attr;
  const char *dir = dwarf_formstring(dwarf_attr(cu, DW_AT_comp_dir, &attr)), *last = NULL, *path = NULL;
  Dwarf_Addr base, lo, hi;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(cu, at, &base, &lo, &hi)) > 0;)
    hd_vec_push(&p->unit,
                ((struct unit_range){HD_AIM_CODE(module, lo), HD_AIM_CODE(module, hi), dwarf_dieoffset(cu)}));
  if (dwarf_getsrclines(cu, &lines, &n)) return;
  for (size_t i = 0; i < n; i++) {
    Dwarf_Line *l = dwarf_onesrcline(lines, i);
    Dwarf_Addr addr;
    struct hd_place_row r = {0};
    bool end = false, statement = false;
    if (dwarf_lineaddr(l, &addr)) continue;
    dwarf_lineendsequence(l, &end);
    dwarf_linebeginstatement(l, &statement);
    r.code = HD_AIM_CODE(module, addr);
    if (!end) {
      const char *file = dwarf_linesrc(l, NULL, NULL);
      dwarf_lineno(l, &r.line);
      dwarf_linecol(l, &r.column);
      if (file && file != last) path = intern(p, dir, file), last = file;
      r.file = file && r.line ? path : NULL;
      r.statement = statement;
    }
    hd_vec_push(&p->row, r);
  }
}

static int by_code(const void *a, const void *b) {
  const struct hd_place_row *x = a, *y = b;
  if (x->code != y->code) return x->code < y->code ? -1 : 1;
  return (x->file != NULL) - (y->file != NULL); /* the end of a sequence comes first */
}

static int by_lo(const void *a, const void *b) {
  const struct unit_range *x = a, *y = b;
  return (x->lo > y->lo) - (x->lo < y->lo);
}

static void close_module(struct module *m) {
  if (m->dwarf) dwarf_end(m->dwarf);
  if (m->fd >= 0) close(m->fd);
  free(m->path);
}

/* A library without debug information is left out. */
static void read_module(struct hd_places *p, const char *path) {
  struct module *m = &p->module[p->nmodules];
  size_t before = p->row.n;
  m->fd = open(path, O_RDONLY | O_CLOEXEC);
  m->dwarf = m->fd >= 0 ? dwarf_begin(m->fd, DWARF_C_READ) : NULL;
  Dwarf_Off at = 0, next;
  size_t head;
  while (m->dwarf && dwarf_nextcu(m->dwarf, at, &next, &head, NULL, NULL, NULL) == 0) {
    Dwarf_Die cu;
    if (dwarf_offdie(m->dwarf, at + head, &cu)) read_unit(p, &cu, p->nmodules);
    at = next;
  }
  m->path = hd_strdup(path);
  if (p->row.n > before || !p->nmodules)
    p->nmodules++;
  else
    close_module(m);
}

int hd_places_open(struct hd_places **out, const char *program, char *const *library, size_t n,
                   struct hd_err *err) {
  struct hd_places *p = *out = hd_alloc(sizeof *p);
  read_module(p, program);
  for (size_t i = 0; i < n && p->nmodules <= HD_MAX_AIM_LIBRARIES; i++)
    if (strlen(hd_base_name(library[i])) < HD_AIM_LIBRARY_NAME && !strpbrk(hd_base_name(library[i]), " \n"))
      read_module(p, library[i]);
  if (!p->row.n) return hd_fail(err, HD_EUSAGE, "%s has no debug information; build it with -g", program);
  qsort(p->row.v, p->row.n, sizeof *p->row.v, by_code);
  if (p->unit.n) qsort(p->unit.v, p->unit.n, sizeof *p->unit.v, by_lo);
  return HD_OK;
}

void hd_places_libraries(const struct hd_places *p, struct hd_aims *out) {
  out->nlibraries = (uint32_t)p->nmodules - 1;
  for (size_t i = 1; i < p->nmodules; i++) strcpy(out->library[i - 1], hd_base_name(p->module[i].path));
}

void hd_places_close(struct hd_places *p) {
  if (!p) return;
  hd__scopes_forget();
  for (size_t i = 0; i < p->nmodules; i++) close_module(&p->module[i]);
  for (size_t i = 0; i < p->path.n; i++) free(p->path.v[i]);
  hd_vec_free(&p->path);
  hd_vec_free(&p->row);
  hd_vec_free(&p->unit);
  free(p);
}

const struct hd_place_row *hd_places_rows(struct hd_places *p, size_t *n) {
  *n = p->row.n;
  return p->row.v;
}

/* ---- functions ---- */

static const char *name_of(Dwarf_Die *die) {
  Dwarf_Attribute attr;
  const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));
  return name ? name : dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
}

static int number_of(Dwarf_Die *die, unsigned name) {
  Dwarf_Attribute attr;
  Dwarf_Word v;
  return dwarf_formudata(dwarf_attr(die, name, &attr), &v) == 0 ? (int)v : 0;
}

size_t hd_places_scopes(struct hd_places *p, uint64_t code, struct hd_place_scope out[HD_PLACE_SCOPES]) {
  size_t lo = 0, hi = p->unit.n;
  const struct module *m = &p->module[HD_AIM_MODULE(code)];
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (p->unit.v[mid].lo <= code)
      lo = mid + 1;
    else
      hi = mid;
  }
  Dwarf_Die cu, scope[HD_MAX_SCOPES];
  if (!lo || code >= p->unit.v[lo - 1].hi || !dwarf_offdie(m->dwarf, p->unit.v[lo - 1].die, &cu)) return 0;
  int n = hd__scopes_at(&cu, HD_AIM_OFFSET(code), scope);
  for (int i = 0; i < n; i++) {
    out[i] = (struct hd_place_scope){.function = name_of(&scope[i])};
    if (i) out[i].line = number_of(&scope[i - 1], DW_AT_call_line);
    if (i) out[i].column = number_of(&scope[i - 1], DW_AT_call_column);
  }
  return n > 0 ? (size_t)n : 0;
}

/* ---- files and lines ---- */

/* Whether the path is `end`, or ends with it after a slash. */
static bool ends(const char *path, const char *end) {
  size_t n = strlen(path), k = strlen(end);
  return n >= k && strcmp(path + n - k, end) == 0 && (n == k || path[n - k - 1] == '/');
}

int hd_places_file(struct hd_places *p, const char *file, const char **path, struct hd_err *err) {
  char full[PATH_MAX];
  const char *real = realpath(file, full);
  char *cleaned = hd_places_clean(NULL, file);
  *path = NULL;
  const char *second = NULL;
  for (size_t i = 0; i < p->path.n; i++) { /* a file that is there is meant, whatever else ends like it */
    char there[PATH_MAX];
    if (real && realpath(p->path.v[i], there) && strcmp(there, full) == 0) *path = p->path.v[i];
  }
  for (size_t i = 0; i < p->path.n && !*path; i++)
    if (strcmp(p->path.v[i], cleaned) == 0) *path = p->path.v[i];
  if (!*path)
    for (size_t i = 0; i < p->path.n; i++)
      if (ends(p->path.v[i], cleaned)) {
        if (*path) second = p->path.v[i];
        if (!*path) *path = p->path.v[i];
      }
  int rc = HD_OK;
  if (!*path) {
    struct hd_near near = {.word = file, .len = strlen(file)};
    for (size_t i = 0; i < p->path.n; i++) {
      hd_near_try(&near, hd_base_name(p->path.v[i]));
    }
    rc = near.best ? hd_fail(err, HD_EUSAGE, "%s is not a source file of %s; did you mean %s?", file,
                             p->module[0].path, near.best)
                   : hd_fail(err, HD_EUSAGE,
                             "%s is not a source file of %s or its libraries, or was compiled without -g",
                             file, p->module[0].path);
  } else if (second) {
    rc = hd_fail(err, HD_EUSAGE, "%s may be %s or %s: give more of its path", file, *path, second);
  }
  free(cleaned);
  return rc;
}

int hd_places_line(struct hd_places *p, const char *path, int line, hd_codes *out, struct hd_err *err) {
  size_t before = out->n;
  int nearest = 0;
  for (size_t i = 0; i < p->row.n; i++) {
    const struct hd_place_row *r = &p->row.v[i];
    if (!r->file || strcmp(r->file, path) != 0) continue;
    int far = abs(r->line - line), best = abs(nearest - line);
    if (!nearest || far < best) nearest = r->line;
    if (r->line != line) continue;
    const struct hd_place_row *prev = i ? &p->row.v[i - 1] : NULL;
    bool goes_on = prev && prev->file && prev->line == line && strcmp(prev->file, path) == 0;
    bool empty = i + 1 < p->row.n && p->row.v[i + 1].code == r->code && p->row.v[i + 1].file &&
                 p->row.v[i + 1].line != line;
    if (!goes_on && !empty) hd_vec_push(out, r->code);
  }
  if (out->n > before) return HD_OK;
  return hd_fail(err, HD_EUSAGE, "no code at %s:%d; the nearest line with code is %d", hd_base_name(path),
                 line, nearest);
}

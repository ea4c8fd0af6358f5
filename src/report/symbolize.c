/* symbolize.c: maps addresses of the tested process to functions, source lines and variables, with elfutils' libdw.
 * Runs in the supervisor.
 *
 * Everything is read from the files of the modules, at the load addresses the runtime recorded, since the tested
 * process may have ended. Nothing is fetched from debug information servers: a report must not depend on the network.
 * Frames of Heddle itself are dropped here and nowhere else. */
#include "report/report_int.h"
#include "report/scopes.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A module is opened when an address in it is asked for: most searches ask for addresses of the program alone. */
struct module {
  uint64_t base, start, end;
  char *path; /* NULL: without a file (the vdso), or not to be tried again */
  bool runtime;
};

struct hd_symbolizer {
  Dwfl *dwfl;
  char *cwd, *program;
  struct stat version; /* of the program's file */
  struct hd_module *given;
  struct module *module;
  size_t n;
  unsigned users;
  HD_VEC(struct hd_frame_rec) frame;
  size_t nearlier;          /* of these, before those at the finding */
  struct hd_blocks *blocks; /* owned; NULL: none */
};

/* Whether a separate file of debug information may be at one of the places where libdw searches for it. */
static bool may_have_debuginfo(const char *file, const char *link) {
  const char *slash = strrchr(file, '/');
  int dir = slash ? (int)(slash - file) : 0;
  char *name = link ? hd_strdup(link) : hd_sprintf("%s.debug", slash ? slash + 1 : file);
  static const char *const form[] = {"%.*s/%s", "%.*s/.debug/%s", "/usr/lib/debug%.*s/%s"};
  bool there = false;
  for (size_t i = 0; i < sizeof form / sizeof *form && !there; i++) {
    char *path = hd_sprintf(form[i], dir, file, name);
    there = access(path, R_OK) == 0;
    free(path);
  }
  free(name);
  return there;
}

/* libdw's own function loads the client of debug information servers, with libraries for encryption, whenever a
 * module has no debug information. So it is called only when there is some. */
static int find_debuginfo(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, const char *file,
                          const char *link, GElf_Word crc, char **found) {
  int fd = dwfl_build_id_find_debuginfo(mod, data, name, base, file, link, crc, found);
  if (fd >= 0 || !file || !may_have_debuginfo(file, link)) return fd;
  return dwfl_standard_find_debuginfo(mod, data, name, base, file, link, crc, found);
}

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

/* A search symbolizes several times, always the same modules. */
static struct hd_symbolizer *last;

/* Whether the module is Heddle's runtime, whose frames are dropped. */
static bool is_runtime(const char *path) {
  const char *base = strrchr(path, '/');
  return strncmp(base ? base + 1 : path, "libheddle_rt.so", 15) == 0;
}

static bool same_file(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static struct stat version_of(const char *path) {
  struct stat st;
  if (stat(path, &st)) memset(&st, 0, sizeof st);
  return st;
}

struct hd_symbolizer *hd_symbolizer_new(const struct hd_module *modules, size_t n, const char *program,
                                        const char *cwd) {
  struct stat version = version_of(program);
  if (!cwd) cwd = "";
  if (last && last->n == n && strcmp(last->program, program) == 0 && strcmp(last->cwd, cwd) == 0 &&
      same_file(&last->version, &version) && memcmp(last->given, modules, n * sizeof *modules) == 0) {
    last->users++;
    last->frame.n = 0;
    return last;
  }
  struct hd_symbolizer *s = hd_alloc(sizeof *s);
  s->cwd = hd_strdup(cwd);
  s->program = hd_strdup(program);
  s->version = version;
  s->given = hd_alloc(n * sizeof *modules);
  memcpy(s->given, modules, n * sizeof *modules);
  s->module = hd_alloc(n * sizeof *s->module);
  s->n = n;
  for (size_t i = 0; i < n; i++) {
    char path[sizeof modules[i].path + 1];
    memcpy(path, modules[i].path, sizeof modules[i].path);
    path[sizeof path - 1] = '\0';
    if (!path[0]) snprintf(path, sizeof path, "%s", program);
    s->module[i] = (struct module){
        .base = modules[i].base,
        .start = modules[i].start,
        .end = modules[i].end,
        .path = hd_absolute(*cwd ? cwd : "/", path), /* a library may be loaded by a relative name */
        .runtime = is_runtime(path)};
  }
  unsetenv("DEBUGINFOD_URLS");
  s->dwfl = dwfl_begin(&callbacks);
  hd_symbolizer_forget();
  last = s;
  s->users = 2; /* one is `last` */
  return s;
}

void hd_symbolizer_free(struct hd_symbolizer *s) {
  if (!s || --s->users) return;
  hd__variable_forget();
  hd__scopes_forget();
  if (s->dwfl) dwfl_end(s->dwfl);
  for (size_t i = 0; i < s->n; i++) free(s->module[i].path);
  hd_vec_free(&s->frame);
  hd__blocks_free(s->blocks);
  free(s->module);
  free(s->given);
  free(s->program);
  free(s->cwd);
  free(s);
}

void hd_symbolizer_forget(void) {
  struct hd_symbolizer *s = last;
  last = NULL;
  hd_symbolizer_free(s);
}

void hd_symbolizer_frames(struct hd_symbolizer *s, const struct hd_frame_recs *frames) {
  s->frame.n = 0;
  for (uint64_t i = 0; i < frames->n && i < HD_FRAMES_CAP; i++) hd_vec_push(&s->frame, frames->v[i]);
  s->nearlier = frames->nearlier < s->frame.n ? frames->nearlier : s->frame.n;
}

void hd_symbolizer_blocks(struct hd_symbolizer *s, const struct hd_block_recs *blocks) {
  hd__blocks_free(s->blocks);
  s->blocks = hd__blocks_new(blocks);
}

/* The module of the address, with its file open; NULL: none, or the runtime. */
static Dwfl_Module *find_module(struct hd_symbolizer *s, uint64_t addr, bool *runtime) {
  struct module *m = s->module;
  *runtime = false;
  while (m < s->module + s->n && (addr < m->start || addr >= m->end)) m++;
  if (m == s->module + s->n || !s->dwfl) return NULL;
  *runtime = m->runtime;
  if (m->runtime) return NULL;
  if (m->path) {
    dwfl_report_begin_add(s->dwfl);
    if (access(m->path, R_OK) == 0) dwfl_report_elf(s->dwfl, m->path, m->path, -1, m->base, true);
    dwfl_report_end(s->dwfl, NULL, NULL);
    free(m->path);
    m->path = NULL;
  }
  return dwfl_addrmodule(s->dwfl, addr);
}

/* ---- names ---- */

/* The C++ library demangles names if it is installed; Heddle does not link it. */
static char *demangle(const char *name, bool type) {
  static char *(*cxa)(const char *, char *, size_t *, int *);
  static bool looked;
  if (!type && (name[0] != '_' || name[1] != 'Z')) return hd_strdup(name);
  if (!looked) {
    looked = true;
    void *lib = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    void *symbol = lib ? dlsym(lib, "__cxa_demangle") : NULL;
    memcpy(&cxa, &symbol, sizeof cxa);
  }
  int status = -1;
  char *out = cxa ? cxa(name, NULL, NULL, &status) : NULL;
  return out && status == 0 ? out : hd_strdup(name);
}

char *hd_symbolize_type(const char *name) { return demangle(name, true); }

/* Drops the parameters, which the source line shows anyway: std::f<int>(long) becomes std::f<int>. */
static char *function_name(const char *linkage) {
  char *name = demangle(linkage, false);
  size_t len = strlen(name);
  if (strcmp(name, linkage) == 0 || len == 0) return name;
  char *end = strrchr(name, ')');
  int depth = 0;
  for (char *p = end; p && p >= name; p--) {
    if (*p == ')') depth++;
    if (*p == '(' && --depth == 0) {
      /* "operator()" keeps its own parentheses. */
      if (p - name < 8 || strncmp(p - 8, "operator", 8) != 0) *p = '\0';
      break;
    }
  }
  return name;
}

static const char *attr_string(Dwarf_Die *die, unsigned name) {
  Dwarf_Attribute attr;
  return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

/* The linkage name includes C++ scopes; C has the plain name only. */
static char *die_function(Dwarf_Die *die) {
  const char *linkage = attr_string(die, DW_AT_linkage_name);
  if (linkage) return function_name(linkage);
  const char *plain = attr_string(die, DW_AT_name);
  return plain ? hd_strdup(plain) : NULL;
}

/* ---- locations ---- */

/* Resolves "a/./b" and "a/x/../b" in a path, in place. */
static void clean_path(char *path) {
  HD_VEC(char *) part = {0};
  bool absolute = path[0] == '/';
  char *rest = path, *word;
  while ((word = strsep(&rest, "/"))) {
    if (!*word || strcmp(word, ".") == 0) continue;
    if (strcmp(word, "..") == 0 && part.n > 0 && strcmp(part.v[part.n - 1], "..") != 0)
      part.n--;
    else
      hd_vec_push(&part, word);
  }
  struct hd_str out;
  hd_str_init(&out);
  for (size_t i = 0; i < part.n; i++) hd_str_addf(&out, "%s%s", i || absolute ? "/" : "", part.v[i]);
  strcpy(path, out.s); /* never longer than before */
  hd_str_fini(&out);
  hd_vec_free(&part);
}

static void set_file(struct hd_symbolizer *s, struct hd_frame *f, const char *file, const char *comp_dir) {
  if (!file) return;
  bool relative = file[0] != '/';
  f->path = relative && comp_dir ? hd_sprintf("%s/%s", comp_dir, file) : hd_strdup(file);
  clean_path(f->path);
  size_t len = strlen(s->cwd);
  bool below = len > 1 && strncmp(f->path, s->cwd, len) == 0 && f->path[len] == '/';
  f->file = hd_strdup(below ? f->path + len + 1 : f->path);
}

static const char *comp_dir_of(Dwarf_Die *cu) {
  Dwarf_Attribute attr;
  return dwarf_formstring(dwarf_attr(cu, DW_AT_comp_dir, &attr));
}

static void add_frame(struct hd_frames *out, struct hd_frame *f) { hd_vec_push(out, *f); }

/* The call site of an inlined function: the location of the frame around it. */
static void set_call_site(struct hd_symbolizer *s, struct hd_frame *f, Dwarf_Die *cu, Dwarf_Die *inlined) {
  Dwarf_Attribute attr;
  Dwarf_Word v;
  Dwarf_Files *files;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attr), &v) == 0 &&
      dwarf_getsrcfiles(cu, &files, NULL) == 0)
    set_file(s, f, dwarf_filesrc(files, v, NULL, NULL), comp_dir_of(cu));
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attr), &v) == 0) f->line = (int)v;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_column, &attr), &v) == 0) f->column = (int)v;
}

/* The compilation unit of `pc`. libdw finds it by .debug_aranges, which clang does not write; then every unit of the
 * module is checked. */
static Dwarf_Die *find_unit(Dwfl_Module *mod, uint64_t pc, Dwarf_Addr *bias) {
  Dwarf_Die *cu = dwfl_module_addrdie(mod, pc, bias);
  if (cu) return cu;
  while ((cu = dwfl_module_nextcu(mod, cu, bias)))
    if (dwarf_haspc(cu, pc - *bias) == 1) return cu;
  return NULL;
}

static void set_line(struct hd_symbolizer *s, struct hd_frame *f, Dwarf_Die *cu, uint64_t addr) {
  Dwarf_Line *line = dwarf_getsrc_die(cu, addr);
  if (!line) return;
  dwarf_lineno(line, &f->line);
  dwarf_linecol(line, &f->column);
  set_file(s, f, dwarf_linesrc(line, NULL, NULL), comp_dir_of(cu));
}

static bool in_header(const char *path) { return path && strncmp(path, "/usr/", 5) == 0; }

/* Code inlined from a header may have a known line but no known scope: libdw does not find the scopes of lambdas. Then
 * use the last line before it in the file of the function itself, which begins at `low`. */
static void set_own_line(struct hd_symbolizer *s, struct hd_frame *f, Dwarf_Die *cu, uint64_t low,
                         uint64_t addr) {
  Dwarf_Lines *lines;
  Dwarf_Addr at;
  size_t n;
  if (!in_header(f->path) || dwarf_getsrclines(cu, &lines, &n)) return;
  Dwarf_Line *begin = dwarf_getsrc_die(cu, low);
  const char *own = begin ? dwarf_linesrc(begin, NULL, NULL) : NULL;
  if (!own || in_header(own)) return;
  Dwarf_Line *best = NULL;
  for (size_t i = 0; i < n; i++) {
    Dwarf_Line *line = dwarf_onesrcline(lines, i);
    if (dwarf_lineaddr(line, &at) || at < low) continue;
    if (at > addr) break;
    const char *file = dwarf_linesrc(line, NULL, NULL);
    if (file && strcmp(file, own) == 0) best = line;
  }
  if (!best) return;
  free(f->path);
  free(f->file);
  f->path = f->file = NULL;
  dwarf_lineno(best, &f->line);
  dwarf_linecol(best, &f->column);
  set_file(s, f, own, comp_dir_of(cu));
}

static bool is_system(Dwfl_Module *mod) {
  const char *path = dwfl_module_info(mod, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
  return path && (strncmp(path, "/lib", 4) == 0 || strncmp(path, "/usr/lib", 8) == 0);
}

/* Adds the inlined functions at `pc` and the one around them; false if there is no debug information. */
static bool add_scopes(struct hd_symbolizer *s, Dwarf_Die *cu, uint64_t addr, struct hd_frame *at,
                       struct hd_frames *out) {
  Dwarf_Die scope[HD_MAX_SCOPES];
  int n = hd__scopes_at(cu, addr, scope);
  for (int i = 0; i < n; i++) {
    if (i) {
      *at = (struct hd_frame){.pc = at->pc, .system = at->system};
      set_call_site(s, at, cu, &scope[i - 1]);
    }
    at->function = die_function(&scope[i]);
    at->inlined = dwarf_tag(&scope[i]) == DW_TAG_inlined_subroutine;
    add_frame(out, at);
  }
  return n > 0;
}

void hd_frames_drop(struct hd_frames *f, size_t i) {
  free(f->v[i].function);
  free(f->v[i].file);
  free(f->v[i].path);
  memmove(&f->v[i], &f->v[i + 1], (f->n - i - 1) * sizeof f->v[0]);
  f->n--;
}

/* Whether the frame is in heddle.h or another header of ours, which is not part of the program either. */
static bool is_own_header(const struct hd_frame *f) {
  static const char *const name[] = {"/heddle.h", "/heddle.hpp", "/heddle_gtest.hpp", "/heddle_catch2.hpp"};
  size_t len = f->path ? strlen(f->path) : 0;
  for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
    size_t n = strlen(name[i]);
    if (len > n && strcmp(f->path + len - n, name[i]) == 0) return true;
  }
  return false;
}

/* Inlined helpers of system headers (a checked memcpy, std::atomic's load) are less informative than their call site.
 * */
static void drop_header_frames(struct hd_frames *f, size_t first) {
  for (size_t i = f->n; i-- > first;)
    if (is_own_header(&f->v[i])) hd_frames_drop(f, i);
  while (f->n > first + 1 && f->v[first].inlined && in_header(f->v[first].path)) hd_frames_drop(f, first);
}

void hd_symbolize_pc(struct hd_symbolizer *s, uint64_t pc, bool exact, struct hd_frames *out) {
  size_t first = out->n;
  struct hd_frame f = {.pc = pc};
  uint64_t addr = exact || pc == 0 ? pc : pc - 1;
  bool runtime;
  Dwfl_Module *mod = find_module(s, addr, &runtime);
  if (!mod) {
    if (!runtime) add_frame(out, &f);
    return;
  }
  f.system = is_system(mod);
  Dwarf_Addr bias;
  Dwarf_Die *cu = find_unit(mod, addr, &bias);
  if (cu) set_line(s, &f, cu, addr - bias);
  if (!cu || !add_scopes(s, cu, addr - bias, &f, out)) {
    GElf_Sym sym;
    GElf_Off offset = 0;
    const char *symbol = dwfl_module_addrinfo(mod, addr, &offset, &sym, NULL, NULL, NULL);
    if (symbol) f.function = function_name(symbol);
    if (symbol && cu) set_own_line(s, &f, cu, addr - bias - offset, addr - bias);
    add_frame(out, &f);
  }
  drop_header_frames(out, first);
}

void hd_frames_free(struct hd_frames *f) {
  for (size_t i = 0; i < f->n; i++) {
    free(f->v[i].function);
    free(f->v[i].file);
    free(f->v[i].path);
  }
  hd_vec_free(f);
}

static bool is_in(const struct hd_frame_rec *f, uint64_t addr) { return addr >= f->sp && addr < f->cfa; }

static char *name_in_frame(struct hd_symbolizer *s, const struct hd_frame_rec *f, uint64_t addr) {
  uint64_t at;
  Dwarf_Die *cu = f->pc ? hd__unit_at(s, f->pc, &at) : NULL;
  struct hd_str out;
  hd_str_init(&out);
  if (cu && hd__local_variable(&out, cu, at, f, addr)) return hd_str_take(&out);
  hd_str_fini(&out);
  return NULL;
}

/* The local variable at the address: that of the innermost frame above it. If no thread is in such a frame any more, that of an
 * earlier one; of several that do not agree, none. */
static char *local_name(struct hd_symbolizer *s, uint64_t addr) {
  const struct hd_frame_rec *best = NULL;
  for (size_t i = s->nearlier; i < s->frame.n; i++) {
    const struct hd_frame_rec *f = &s->frame.v[i];
    if (is_in(f, addr) && (!best || f->cfa < best->cfa)) best = f;
  }
  char *found = best ? name_in_frame(s, best, addr) : NULL;
  for (size_t i = 0; !best && i < s->nearlier; i++) {
    char *name = is_in(&s->frame.v[i], addr) ? name_in_frame(s, &s->frame.v[i], addr) : NULL;
    if (!name) continue;
    bool same = !found || strcmp(name, found) == 0;
    free(found);
    found = name;
    if (same) continue;
    free(name);
    return NULL;
  }
  return found;
}

void *hd__unit_at(struct hd_symbolizer *s, uint64_t pc, uint64_t *at) {
  bool runtime;
  Dwarf_Addr bias;
  Dwfl_Module *mod = find_module(s, pc - 1, &runtime);
  Dwarf_Die *cu = mod ? find_unit(mod, pc - 1, &bias) : NULL;
  if (cu) *at = pc - 1 - bias;
  return cu;
}

char *hd_symbolize_block(struct hd_symbolizer *s, uint64_t addr) {
  return s->blocks ? hd__block_name(s->blocks, s, addr, true) : NULL;
}

/* The variable at the address, from the symbol table; NULL if there is none. At the first address of a section the linker has
 * symbols of its own, without a size: they are no variables. */
static const char *variable_at(Dwfl_Module *mod, uint64_t addr, uint64_t *offset) {
  GElf_Sym sym;
  const char *name = dwfl_module_addrinfo(mod, addr, offset, &sym, NULL, NULL, NULL);
  bool is_object = name && GELF_ST_TYPE(sym.st_info) == STT_OBJECT;
  if (is_object && sym.st_size) return *offset < sym.st_size ? name : NULL;
  for (int i = 0, n = dwfl_module_getsymtab(mod); i < n; i++) {
    GElf_Addr at;
    const char *other = dwfl_module_getsym_info(mod, i, &sym, &at, NULL, NULL, NULL);
    if (!other || GELF_ST_TYPE(sym.st_info) != STT_OBJECT || addr - at >= sym.st_size) continue;
    *offset = addr - at;
    return other;
  }
  return is_object ? name : NULL;
}

char *hd_symbolize_object(struct hd_symbolizer *s, uint64_t addr) {
  const char *state = hd_state_text(addr);
  if (state) return hd_strdup(state);
  bool runtime;
  Dwfl_Module *mod = find_module(s, addr, &runtime);
  if (!mod) {
    char *local = local_name(s, addr);
    return local || !s->blocks ? local : hd__block_name(s->blocks, s, addr, false);
  }
  GElf_Off offset;
  const char *name = variable_at(mod, addr, &offset);
  if (!name) return NULL;
  char *plain = demangle(name, false);
  /* A static variable of a function is "name.123" in the symbol table. */
  char *dot = strchr(plain, '.');
  if (dot && dot > plain && dot[1] && strspn(dot + 1, "0123456789") == strlen(dot + 1)) *dot = '\0';
  struct hd_str out;
  hd_str_init(&out);
  hd_str_add(&out, plain);
  free(plain);
  hd__variable_part(&out, mod, addr - offset, offset);
  return hd_str_take(&out);
}

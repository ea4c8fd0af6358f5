/* clang.c: source files through libclang. Runs in the supervisor.
 *
 * The library is loaded when it is needed, from where Debian's clang installs it or from wherever the linker finds it: Heddle
 * is built without its headers and runs without it. libclang promises a stable ABI, so the few declarations below are all
 * that is used; of the kinds of cursors none whose number has changed between versions. */
#include "mutate/mutate_int.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *CXIndex, *CXTranslationUnit, *CXFile, *CXDiagnostic;
typedef struct {
  int kind;
  int xdata;
  const void *data[3];
} CXCursor;
typedef struct {
  const void *ptr_data[2];
  unsigned int_data;
} CXSourceLocation;
typedef struct {
  const void *ptr_data[2];
  unsigned begin_int_data, end_int_data;
} CXSourceRange;
typedef struct {
  const void *data;
  unsigned private_flags;
} CXString;
typedef struct {
  int kind;
  void *data[2];
} CXType;
typedef struct {
  unsigned int_data[4];
  void *ptr_data;
} CXToken;
typedef int visitor(CXCursor cursor, CXCursor parent, void *arg);

enum { VISIT_BREAK, VISIT_CONTINUE };
enum { SEVERITY_ERROR = 3 };
enum { TOKEN_PUNCTUATION, TOKEN_KEYWORD, TOKEN_IDENTIFIER, TOKEN_LITERAL, TOKEN_COMMENT };
enum {
  CURSOR_FIELD = 6,
  CURSOR_FUNCTION = 8,
  CURSOR_VARIABLE = 9,
  CURSOR_PARAMETER = 10,
  CURSOR_METHOD = 21,
  CURSOR_CONSTRUCTOR = 24,
  CURSOR_DESTRUCTOR = 25,
  CURSOR_TEMPLATE = 30,
  CURSOR_NAME = 101,
  CURSOR_MEMBER = 102,
  CURSOR_CALL = 103,
  CURSOR_UNARY = 112,
  CURSOR_ASSIGN_WITH = 115,
  CURSOR_LAMBDA = 144,
  CURSOR_BLOCK = 202,
  CURSOR_GOTO = 210,
  CURSOR_CONTINUE = 212,
  CURSOR_BREAK = 213,
  CURSOR_RETURN = 214,
  CURSOR_DECLARATION = 231,
};

/* The functions that are used: result, name, parameters. */
#define API(X)                                                                                          \
  X(CXIndex, createIndex, (int, int))                                                                   \
  X(void, disposeIndex, (CXIndex))                                                                      \
  X(int, parseTranslationUnit2,                                                                         \
    (CXIndex, const char *, const char *const *, int, void *, unsigned, unsigned, CXTranslationUnit *)) \
  X(void, disposeTranslationUnit, (CXTranslationUnit))                                                  \
  X(unsigned, getNumDiagnostics, (CXTranslationUnit))                                                   \
  X(CXDiagnostic, getDiagnostic, (CXTranslationUnit, unsigned))                                         \
  X(int, getDiagnosticSeverity, (CXDiagnostic))                                                         \
  X(CXString, formatDiagnostic, (CXDiagnostic, unsigned))                                               \
  X(void, disposeDiagnostic, (CXDiagnostic))                                                            \
  X(CXCursor, getTranslationUnitCursor, (CXTranslationUnit))                                            \
  X(unsigned, visitChildren, (CXCursor, visitor *, void *))                                             \
  X(CXSourceRange, getCursorExtent, (CXCursor))                                                         \
  X(CXSourceLocation, getCursorLocation, (CXCursor))                                                    \
  X(CXSourceLocation, getRangeStart, (CXSourceRange))                                                   \
  X(CXSourceLocation, getRangeEnd, (CXSourceRange))                                                     \
  X(CXSourceRange, getRange, (CXSourceLocation, CXSourceLocation))                                      \
  X(void, getFileLocation, (CXSourceLocation, CXFile *, unsigned *, unsigned *, unsigned *))            \
  X(void, getExpansionLocation, (CXSourceLocation, CXFile *, unsigned *, unsigned *, unsigned *))       \
  X(CXSourceLocation, getLocationForOffset, (CXTranslationUnit, CXFile, unsigned))                      \
  X(CXFile, getFile, (CXTranslationUnit, const char *))                                                 \
  X(int, File_isEqual, (CXFile, CXFile))                                                                \
  X(CXType, getCursorType, (CXCursor))                                                                  \
  X(CXType, getCanonicalType, (CXType))                                                                 \
  X(CXString, getTypeSpelling, (CXType))                                                                \
  X(CXCursor, getCursorReferenced, (CXCursor))                                                          \
  X(CXString, getCursorSpelling, (CXCursor))                                                            \
  X(const char *, getCString, (CXString))                                                               \
  X(void, disposeString, (CXString))                                                                    \
  X(void, tokenize, (CXTranslationUnit, CXSourceRange, CXToken **, unsigned *))                         \
  X(int, getTokenKind, (CXToken))                                                                       \
  X(CXSourceRange, getTokenExtent, (CXTranslationUnit, CXToken))                                        \
  X(void, disposeTokens, (CXTranslationUnit, CXToken *, unsigned))

#define X(type, name, parameters) static type(*clang_##name) parameters;
API(X)
#undef X

static bool load_from(const char *path) {
  void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!lib) return false;
#define X(type, name, parameters)                       \
  *(void **)&clang_##name = dlsym(lib, "clang_" #name); \
  if (!clang_##name) return false;
  API(X)
#undef X
  return true;
}

/* The newest of the folders /usr/lib/llvm-N, whose headers (stddef.h and so on) then fit, else what the linker finds. */
static bool load(struct hd_err *err) {
  static bool loaded; /* it stays */
  const char *own = getenv("HEDDLE_LIBCLANG");
  if (loaded) return true;
  if (own) {
    loaded = load_from(own);
    if (!loaded) hd_fail(err, HD_EENV, "HEDDLE_LIBCLANG=%s cannot be loaded as libclang", own);
    return loaded;
  }
  glob_t g;
  char *best = NULL;
  int newest = 0;
  if (glob("/usr/lib/llvm-*/lib/libclang*.so*", 0, NULL, &g) == 0) {
    for (size_t i = 0; i < g.gl_pathc; i++) {
      int version = atoi(g.gl_pathv[i] + strlen("/usr/lib/llvm-"));
      if (strstr(g.gl_pathv[i], "libclang-cpp") || version <= newest) continue;
      newest = version;
      free(best);
      best = hd_strdup(g.gl_pathv[i]);
    }
    globfree(&g);
  }
  static const char *const elsewhere[] = {"libclang.so", "libclang.so.1", "libclang.so.13", NULL};
  loaded = best && load_from(best);
  for (const char *const *p = elsewhere; !loaded && *p; p++) loaded = load_from(*p);
  free(best);
  if (!loaded)
    hd_fail(err, HD_EENV,
            "heddle mutate needs libclang, which is not installed: on Debian and Ubuntu, install clang "
            "(or libclang1-N of any version); elsewhere, set HEDDLE_LIBCLANG to the library");
  return loaded;
}

static char *take(CXString s) {
  const char *text = clang_getCString(s);
  char *copy = hd_strdup(text ? text : "");
  clang_disposeString(s);
  return copy;
}

/* ---- the tree ---- */

struct parse {
  struct hd__source *s;
  CXTranslationUnit unit;
  CXFile file;
};

/* Where the walk is. */
struct walk {
  struct parse *p;
  uint32_t function, block; /* plus 1; 0: none */
  bool expects_body;        /* a block here is the body of the function */
};

/* An offset in the file; HD_NOWHERE: in another one. */
static uint32_t offset_of(const struct parse *p, CXSourceLocation at, bool of_argument) {
  CXFile file;
  unsigned offset;
  (of_argument ? clang_getFileLocation : clang_getExpansionLocation)(at, &file, NULL, NULL, &offset);
  return file && clang_File_isEqual(file, p->file) ? offset : HD_NOWHERE;
}

static struct hd__span span_of(const struct parse *p, CXCursor c) {
  CXSourceRange r = clang_getCursorExtent(c);
  return (struct hd__span){offset_of(p, clang_getRangeStart(r), false),
                           offset_of(p, clang_getRangeEnd(r), false)};
}

static bool is_here(const struct parse *p, struct hd__span at) {
  return at.begin != HD_NOWHERE && at.end != HD_NOWHERE && at.begin < at.end && at.end <= p->s->len;
}

static char *type_of(CXCursor c) {
  return take(clang_getTypeSpelling(clang_getCanonicalType(clang_getCursorType(c))));
}

static int first_child(CXCursor c, CXCursor parent, void *arg) {
  (void)parent;
  *(CXCursor *)arg = c;
  return VISIT_BREAK;
}

static bool has_child(CXCursor c, CXCursor *out) {
  out->kind = 0;
  clang_visitChildren(c, first_child, out);
  return out->kind != 0;
}

static void add_ref(struct parse *p, CXCursor c) {
  struct hd__ref r = {.at = offset_of(p, clang_getCursorLocation(c), true), .decl = HD_NOWHERE};
  CXCursor to = clang_getCursorReferenced(c), base;
  if (r.at == HD_NOWHERE) return;
  if (to.kind) r.decl = offset_of(p, clang_getCursorLocation(to), true);
  if (c.kind == CURSOR_MEMBER && has_child(c, &base)) r.base = type_of(base);
  hd_vec_push(&p->s->ref, r);
}

static void add_decl(struct parse *p, CXCursor c, const struct walk *w) {
  struct hd__decl d = {.at = span_of(p, c), .name = offset_of(p, clang_getCursorLocation(c), true)};
  if (!is_here(p, d.at) || d.name == HD_NOWHERE) return;
  d.type = type_of(c);
  d.local = w->function && c.kind != CURSOR_FIELD;
  hd_vec_push(&p->s->decl, d);
}

/* x++ and x += v, where x is atomic. In C++ these are calls of an operator. */
static void add_update(struct parse *p, CXCursor c) {
  CXCursor operand;
  struct hd__update u = {.at = span_of(p, c)};
  if (!is_here(p, u.at) || !has_child(c, &operand)) return;
  const char *text = p->s->text;
  u.operand = span_of(p, operand);
  if (!is_here(p, u.operand) || !hd__inside(u.operand, u.at)) return;
  char *type = type_of(operand);
  bool atomic = strstr(type, "_Atomic(") || strstr(type, "std::atomic<");
  free(type);
  uint32_t rest = u.operand.begin == u.at.begin ? u.operand.end : u.at.begin;
  while (text[rest] == ' ') rest++;
  bool changes = strchr("+-&|^", text[rest]) && (text[rest + 1] == text[rest] || text[rest + 1] == '=');
  if (atomic && changes) hd_vec_push(&p->s->update, u);
}

static enum hd__stmt_kind stmt_kind(int kind) {
  if (kind == CURSOR_DECLARATION) return HD__STMT_DECL;
  bool leaves =
      kind == CURSOR_GOTO || kind == CURSOR_CONTINUE || kind == CURSOR_BREAK || kind == CURSOR_RETURN;
  return leaves ? HD__STMT_LEAVES : HD__STMT;
}

static bool is_function(int kind) {
  return kind == CURSOR_FUNCTION || kind == CURSOR_METHOD || kind == CURSOR_CONSTRUCTOR ||
         kind == CURSOR_DESTRUCTOR || kind == CURSOR_TEMPLATE || kind == CURSOR_LAMBDA;
}

static int visit(CXCursor c, CXCursor parent, void *arg) {
  const struct walk *w = arg;
  struct parse *p = w->p;
  struct walk inner = {p, w->function, w->block, false};
  struct hd__span at = span_of(p, c);
  (void)parent;
  if (c.kind == CURSOR_NAME || c.kind == CURSOR_MEMBER) add_ref(p, c);
  if (!is_here(p, at)) { /* another file, or a macro: its arguments may be of this one */
    if (w->function) clang_visitChildren(c, visit, &inner);
    return VISIT_CONTINUE;
  }
  if (w->block) hd_vec_push(&p->s->block.v[w->block - 1].stmt, ((struct hd__stmt){at, stmt_kind(c.kind)}));
  inner.block = 0;
  if (is_function(c.kind)) {
    hd_vec_push(&p->s->function, ((struct hd__function){at, take(clang_getCursorSpelling(c))}));
    inner.function = (uint32_t)p->s->function.n;
    inner.expects_body = true;
  } else if (c.kind == CURSOR_BLOCK && p->s->text[at.begin] == '{' && p->s->text[at.end - 1] == '}') {
    hd_vec_push(&p->s->block,
                ((struct hd__block){.at = at, .function = w->function, .body = w->expects_body}));
    inner.block = (uint32_t)p->s->block.n;
  } else if (c.kind == CURSOR_VARIABLE || c.kind == CURSOR_FIELD || c.kind == CURSOR_PARAMETER) {
    add_decl(p, c, w);
  } else if (c.kind == CURSOR_UNARY || c.kind == CURSOR_ASSIGN_WITH || (p->s->cxx && c.kind == CURSOR_CALL)) {
    add_update(p, c);
  }
  clang_visitChildren(c, visit, &inner);
  return VISIT_CONTINUE;
}

/* ---- tokens ---- */

/* The end of the preprocessor's line that begins there. */
static uint32_t directive_end(const struct hd__source *s, uint32_t at) {
  while (at < s->len && (s->text[at] != '\n' || s->text[at - 1] == '\\')) at++;
  return at;
}

static bool begins_line(const struct hd__source *s, uint32_t at) {
  while (at && (s->text[at - 1] == ' ' || s->text[at - 1] == '\t')) at--;
  return !at || s->text[at - 1] == '\n';
}

static void read_tokens(struct parse *p) {
  struct hd__source *s = p->s;
  CXToken *t = NULL;
  unsigned n = 0;
  uint32_t skip = 0;
  CXSourceRange all = clang_getRange(clang_getLocationForOffset(p->unit, p->file, 0),
                                     clang_getLocationForOffset(p->unit, p->file, (unsigned)s->len));
  clang_tokenize(p->unit, all, &t, &n);
  for (unsigned i = 0; i < n; i++) {
    CXSourceRange r = clang_getTokenExtent(p->unit, t[i]);
    struct hd__span at = {offset_of(p, clang_getRangeStart(r), true),
                          offset_of(p, clang_getRangeEnd(r), true)};
    int kind = clang_getTokenKind(t[i]);
    if (!is_here(p, at) || kind == TOKEN_COMMENT || at.begin < skip) continue;
    if (s->text[at.begin] == '#' && begins_line(s, at.begin)) {
      skip = directive_end(s, at.begin);
      continue;
    }
    enum hd__token_kind k = kind == TOKEN_KEYWORD      ? HD__KEYWORD
                            : kind == TOKEN_IDENTIFIER ? HD__IDENTIFIER
                            : kind == TOKEN_LITERAL    ? HD__LITERAL
                                                       : HD__PUNCTUATION;
    hd_vec_push(&s->token, ((struct hd__token){at, k}));
  }
  clang_disposeTokens(p->unit, t, n);
}

/* A statement includes its semicolon, which libclang leaves out. */
static void add_semicolons(struct hd__source *s) {
  for (size_t b = 0; b < s->block.n; b++)
    for (size_t i = 0; i < s->block.v[b].stmt.n; i++) {
      struct hd__span *at = &s->block.v[b].stmt.v[i].at;
      uint32_t t = hd__token_at(s, at->end);
      if (t < s->token.n && s->text[at->end - 1] != ';' && hd__is(s, s->token.v[t].at, ";"))
        at->end = s->token.v[t].at.end;
    }
}

/* ---- the file ---- */

/* About a flag of another compiler: what it says is ignored, as the flag is. */
static bool is_about_flags(const char *text) {
  return strncmp(text, "error: unknown argument", 23) == 0 ||
         strncmp(text, "error: unsupported option", 25) == 0;
}

/* The first error, or NULL. The caller frees. */
static char *first_error(CXTranslationUnit unit) {
  char *text = NULL;
  for (unsigned i = 0, n = clang_getNumDiagnostics(unit); i < n && !text; i++) {
    CXDiagnostic d = clang_getDiagnostic(unit, i);
    if (clang_getDiagnosticSeverity(d) >= SEVERITY_ERROR) text = take(clang_formatDiagnostic(d, 1 | 2));
    clang_disposeDiagnostic(d);
    if (text && is_about_flags(text)) {
      free(text);
      text = NULL;
    }
  }
  return text;
}

static CXTranslationUnit open_unit(CXIndex index, const struct hd_mutate_file *f, const char *libdir,
                                   bool cxx) {
  HD_VEC(const char *) word = {0};
  char *include = hd_sprintf("%s/include", libdir), *folder = NULL;
  CXTranslationUnit unit = NULL;
  hd_vec_push(&word, cxx ? "-xc++" : "-xc");
  for (const char *const *w = f->flags; w && *w; w++) hd_vec_push(&word, *w);
  hd_vec_push(&word, "-Wno-unknown-warning-option");
  hd_vec_push(&word, "-idirafter");
  hd_vec_push(&word, include);
  if (f->folder) {
    folder = hd_sprintf("-working-directory=%s", f->folder);
    hd_vec_push(&word, folder);
  }
  clang_parseTranslationUnit2(index, f->path, word.v, (int)word.n, NULL, 0, 0, &unit);
  hd_vec_free(&word);
  free(include);
  free(folder);
  return unit;
}

static int read_unit(struct parse *p, const struct hd_mutate_file *f, struct hd_err *err) {
  char *error = first_error(p->unit);
  if (error) {
    hd_fail(err, HD_EUSAGE, "%s does not parse: %s (give its compiler flags after --, or --compile-commands)",
            f->path, error);
    free(error);
    return err->code;
  }
  p->file = clang_getFile(p->unit, f->path);
  if (!p->file) return hd_fail(err, HD_EENV, "libclang cannot read %s", f->path);
  read_tokens(p);
  struct walk w = {.p = p};
  clang_visitChildren(clang_getTranslationUnitCursor(p->unit), visit, &w);
  add_semicolons(p->s);
  return HD_OK;
}

int hd__parse(const struct hd_mutate_file *f, const char *libdir, struct hd__source *s, struct hd_err *err) {
  int rc = hd_read_file(f->path, 64u << 20, &s->text, &s->len, err);
  if (rc != HD_OK) return rc;
  if (!load(err)) return err->code;
  s->path = f->path;
  s->cxx = hd_mutate_is_cxx(f->path);
  CXIndex index = clang_createIndex(0, 0);
  struct parse p = {.s = s, .unit = open_unit(index, f, libdir, s->cxx)};
  rc = p.unit ? read_unit(&p, f, err)
              : hd_fail(err, HD_EUSAGE, "%s cannot be parsed with these compiler flags", f->path);
  if (p.unit) clang_disposeTranslationUnit(p.unit);
  clang_disposeIndex(index);
  return rc;
}

/* warnings.c: warnings of other tools, as lines to aim at. Runs in the supervisor.
 *
 * A report becomes a list of warnings, each with a title and some stacks. Of each stack that belongs to the warning itself the
 * innermost frame is taken that is a line of the program: frames above it are those of the tool and of libraries. The two
 * accesses of a race, or the acquisitions of a cycle of locks, are the lines of one goal. DRD knows one of the two accesses;
 * its other stacks say between which operations the other one was. */
#include "session/warnings.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REPORT (256u << 20)

/* ---- what the parsers make ---- */

struct frame {
  char *file;
  int line;
};
struct stack {
  HD_VEC(struct frame) frame;
  bool allocates; /* it is in a function that allocates memory */
};
struct raw {
  char *title;
  enum hd_kind kind; /* HD_KIND_NONE: only to be reached */
  HD_VEC(struct stack) stack;
};
typedef HD_VEC(struct raw) raws;

static struct raw *add_raw(raws *r, char *title, enum hd_kind kind) {
  hd_vec_push(r, ((struct raw){.title = title, .kind = kind}));
  return &r->v[r->n - 1];
}

static void add_stack(struct raw *r) { hd_vec_push(&r->stack, ((struct stack){0})); }

static void add_frame(struct raw *r, const char *file, size_t n, int line) {
  if (!r->stack.n) add_stack(r);
  struct stack *s = &r->stack.v[r->stack.n - 1];
  hd_vec_push(&s->frame, ((struct frame){hd_strndup(file, n), line}));
}

static void drop_stacks(struct raw *r, size_t from) {
  while (r->stack.n > from) {
    struct stack *s = &r->stack.v[--r->stack.n];
    for (size_t i = 0; i < s->frame.n; i++) free(s->frame.v[i].file);
    hd_vec_free(&s->frame);
  }
}

static bool has(const char *line, const char *word) { return strstr(line, word) != NULL; }

/* Reads "FILE:LINE" or "FILE:LINE:COLUMN" that ends at `end`. */
static bool add_place(struct raw *r, const char *from, const char *end) {
  for (int part = 0; part < 2; part++) {
    const char *p = end;
    while (p > from && p[-1] >= '0' && p[-1] <= '9') p--;
    if (p == end || p == from || p[-1] != ':') return false;
    const char *file = p - 1;
    while (file > from && file[-1] >= '0' && file[-1] <= '9') file--;
    if (part == 0 && file > from && file[-1] == ':' && file < p - 1) { /* there is a column, too */
      end = p - 1;
      continue;
    }
    add_frame(r, from, (size_t)(p - 1 - from), atoi(p));
    return true;
  }
  return false;
}

/* ---- ThreadSanitizer, AddressSanitizer ---- */

/* A block that is allocated is written to: its allocation is an access. */
static bool allocates(const char *function) {
  static const char *const name[] = {"malloc",   "calloc",         "realloc",      "reallocarray",
                                     "memalign", "posix_memalign", "aligned_alloc"};
  size_t n = strcspn(function, " (");
  for (size_t i = 0; i < sizeof name / sizeof *name; i++)
    if (strlen(name[i]) == n && strncmp(function, name[i], n) == 0) return true;
  return strncmp(function, "operator new", 12) == 0;
}

/* "    #1 worker /src/a.c:12:3 (prog+0x12)": the place is the last word before the parenthesis. */
static void tsan_frame(struct raw *r, const char *line) {
  const char *function = line + strspn(line, " #0123456789");
  if (r->stack.n && allocates(function)) r->stack.v[r->stack.n - 1].allocates = true;
  const char *end = strstr(line, " (");
  for (const char *p = end; p && (p = strstr(p + 1, " (")) && strchr(p, '+');) end = p;
  if (!end) end = line + strlen(line);
  const char *from = end;
  while (from > line && from[-1] != ' ') from--;
  add_place(r, from, end);
}

#define TSAN_WARNS "WARNING: ThreadSanitizer: "
#define TSAN_FAILS "ERROR: ThreadSanitizer: "
#define ASAN_FAILS "ERROR: AddressSanitizer: "

/* What the line is the first one of: "data race (pid=1)", "SEGV on unknown address 0x0"; NULL: of nothing. */
static const char *sanitizer_mark(const char *line, bool *fails) {
  static const char *const mark[] = {TSAN_WARNS, TSAN_FAILS, ASAN_FAILS};
  for (size_t i = 0; i < sizeof mark / sizeof *mark; i++) {
    const char *at = strstr(line, mark[i]);
    *fails = i > 0;
    if (at) return at + strlen(mark[i]);
  }
  return NULL;
}

static enum hd_kind sanitizer_kind(const char *title) {
  static const struct {
    const char *title;
    enum hd_kind kind;
  } known[] = {{"data race", HD_KIND_DATA_RACE},
               {"lock-order-inversion", HD_KIND_DEADLOCK},
               {"heap-use-after-free", HD_KIND_USE_AFTER_FREE},
               {"heap-buffer-overflow", HD_KIND_HEAP_OVERFLOW},
               {"double-free", HD_KIND_DOUBLE_FREE},
               {"SEGV", HD_KIND_CRASH}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (has(title, known[i].title)) return known[i].kind;
  return HD_KIND_NONE;
}

/* The stack of a failure follows without a head. */
static void read_sanitizer(raws *out, char *text) {
  struct raw *r = NULL;
  bool wanted = false, fails = false;
  for (char *line; (line = strsep(&text, "\n"));) {
    bool failure;
    const char *at = sanitizer_mark(line, &failure);
    const char *word = line + strspn(line, " ");
    if (fails && r && *word != '#' && r->stack.v[0].frame.n) r = NULL;
    if (at) {
      const char *end = strstr(at, failure ? " on " : " (pid=");
      char *title = hd_strndup(at, end ? (size_t)(end - at) : strlen(at));
      r = add_raw(out, title, sanitizer_kind(title));
      wanted = fails = failure;
      if (fails) add_stack(r);
    } else if (fails && *word != '#') {
      continue;
    } else if (r && *word == '#') {
      if (wanted) tsan_frame(r, line);
    } else if (r && *word && line[strlen(line) - 1] == ':') {
      /* The head of a stack. */
      wanted = r->kind == HD_KIND_DATA_RACE  ? has(line, " of size ") && r->stack.n < 2
               : r->kind == HD_KIND_DEADLOCK ? has(line, "acquired here while holding")
                                             : r->stack.n == 0;
      if (wanted) add_stack(r);
    } else if (r && strncmp(line, "====", 4) == 0) {
      r = NULL;
    }
  }
}

/* ---- Helgrind and DRD, as text ---- */

/* Whether the stack behind that text is not that of an access or of an acquisition. */
static bool is_origin(const char *text) {
  return has(text, "first observed") || has(text, "segment") || has(text, "alloc'd") ||
         has(text, "was created") || has(text, "llocation context");
}

static void read_valgrind(raws *out, char *text) {
  struct raw *r = NULL;
  bool wanted = false;
  for (char *line; (line = strsep(&text, "\n"));) {
    if (strncmp(line, "==", 2) != 0) continue;
    char *p = strstr(line + 2, "== ");
    if (!p) continue;
    p += 3;
    bool race = strncmp(p, "Possible data race", 18) == 0 || has(p, "Conflicting load") ||
                has(p, "Conflicting store");
    if (race || (strncmp(p, "Thread #", 8) == 0 && has(p, "lock order"))) {
      r = add_raw(out, hd_strdup(race ? "data race" : "lock order"),
                  race ? HD_KIND_DATA_RACE : HD_KIND_DEADLOCK);
      add_stack(r);
      wanted = true;
    } else if (r && strncmp(p, "Observed (incorrect) order", 26) == 0) {
      drop_stacks(r, 0); /* what it holds while it waits where the later acquisition is */
      wanted = false;
    } else if (r && (has(p, "This conflicts with") || has(p, "followed by a later acquisition"))) {
      add_stack(r);
      wanted = true;
    } else if (r && wanted && (has(p, "   at 0x") || has(p, "   by 0x"))) {
      char *open = strrchr(p, '('), *close = open ? strchr(open, ')') : NULL;
      if (close) add_place(r, open + 1, close);
    } else if (r && (strncmp(p, "-----", 5) == 0 || strncmp(p, "Required order", 14) == 0 || is_origin(p))) {
      wanted = false;
      if (*p == '-') r = NULL;
    }
  }
}

/* ---- XML: Helgrind and DRD, cppcheck ---- */

/* The text with its entities replaced; the caller frees. */
static char *plain_xml(const char *s, size_t n) {
  static const struct {
    const char *name;
    char c;
  } entity[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&apos;", '\''}, {"&quot;", '"'}};
  struct hd_str out;
  hd_str_init(&out);
  for (size_t i = 0; i < n;) {
    size_t k = 0;
    while (k < 5 && strncmp(s + i, entity[k].name, strlen(entity[k].name)) != 0) k++;
    hd_str_addc(&out, k < 5 ? entity[k].c : s[i]);
    i += k < 5 ? strlen(entity[k].name) : 1;
  }
  return hd_str_take(&out);
}

/* What stands between <name> and </name> from `from` up to `end`, or NULL. */
static char *xml_text(const char *from, const char *end, const char *name) {
  char open[32], shut[32];
  snprintf(open, sizeof open, "<%s>", name);
  snprintf(shut, sizeof shut, "</%s>", name);
  const char *a = strstr(from, open), *b = a ? strstr(a, shut) : NULL;
  if (!b || b > end) return NULL;
  a += strlen(open);
  return plain_xml(a, (size_t)(b - a));
}

static void xml_frames(struct raw *r, const char *from, const char *end) {
  for (const char *p = from; (p = strstr(p, "<frame>")) && p < end; p++) {
    const char *shut = strstr(p, "</frame>");
    if (!shut) return;
    char *dir = xml_text(p, shut, "dir"), *file = xml_text(p, shut, "file"),
         *line = xml_text(p, shut, "line");
    if (file && line) {
      char *path = dir && *file != '/' ? hd_sprintf("%s/%s", dir, file) : hd_strdup(file);
      add_frame(r, path, strlen(path), atoi(line));
      free(path);
    }
    free(dir);
    free(file);
    free(line);
  }
}

static void read_valgrind_xml(raws *out, const char *text) {
  for (const char *p = text; (p = strstr(p, "<error>")); p++) {
    const char *end = strstr(p, "</error>");
    if (!end) return; /* see ends_early */
    char *kind = xml_text(p, end, "kind");
    bool race = kind && (strcmp(kind, "Race") == 0 || strcmp(kind, "ConflictingAccess") == 0);
    bool order = kind && strcmp(kind, "LockOrder") == 0;
    struct raw *r = add_raw(out, kind ? kind : hd_strdup("error"),
                            race    ? HD_KIND_DATA_RACE
                            : order ? HD_KIND_DEADLOCK
                                    : HD_KIND_NONE);
    const char *after = p; /* the end of the stack before */
    for (const char *s = p; (s = strstr(s, "<stack>")) && s < end; s = after) {
      const char *shut = strstr(s, "</stack>");
      if (!shut) break;
      char *about = hd_strndup(after, (size_t)(s - after));
      if (!is_origin(about)) add_stack(r), xml_frames(r, s, shut);
      free(about);
      after = shut;
    }
    if (order && r->stack.n >= 3) { /* this acquisition, and the last one in the other order */
      struct stack t = r->stack.v[1];
      r->stack.v[1] = r->stack.v[2];
      r->stack.v[2] = t;
    }
    drop_stacks(r, (race && strcmp(r->title, "ConflictingAccess") != 0) || order ? 2 : 1);
  }
}

/* The value of an attribute of the tag that begins at `tag`, or NULL. */
static char *xml_attribute(const char *tag, const char *name) {
  const char *end = strchr(tag, '>');
  char word[32];
  snprintf(word, sizeof word, " %s=\"", name);
  const char *a = strstr(tag, word), *b = a ? strchr(a + strlen(word), '"') : NULL;
  if (!b || !end || a > end) return NULL;
  a += strlen(word);
  return plain_xml(a, (size_t)(b - a));
}

static void read_cppcheck(raws *out, const char *text) {
  for (const char *p = text; (p = strstr(p, "<error ")); p++) {
    const char *end = strstr(p, "</error>");
    const char *at = strstr(p, "<location ");
    char *id = xml_attribute(p, "id");
    if (end && at && at < end) {
      char *file = xml_attribute(at, "file"), *line = xml_attribute(at, "line");
      struct raw *r = add_raw(out, id ? id : hd_strdup("error"), HD_KIND_NONE);
      id = NULL;
      if (file && line) add_frame(r, file, strlen(file), atoi(line));
      free(file);
      free(line);
    }
    free(id);
  }
}

/* ---- Infer ---- */

static void infer_frame(struct raw *r, json_t *at, const char *file, const char *line) {
  const char *name = json_string_value(json_object_get(at, file));
  if (name) add_frame(r, name, strlen(name), (int)json_integer_value(json_object_get(at, line)));
}

static int read_infer(raws *out, const char *text, const char *file, struct hd_err *err) {
  json_error_t wrong;
  json_t *all = json_loads(text, 0, &wrong), *bug;
  size_t i, typed = 0;
  if (!all)
    return hd_fail(err, HD_EUSAGE, "%s:%d: not a whole report of Infer: %s", file, wrong.line, wrong.text);
  json_array_foreach(all, i, bug) {
    const char *type = json_string_value(json_object_get(bug, "bug_type"));
    if (!type) continue;
    typed++;
    struct raw *r = add_raw(out, hd_strdup(type),
                            strcmp(type, "THREAD_SAFETY_VIOLATION") == 0 ? HD_KIND_DATA_RACE
                            : has(type, "DEADLOCK")                      ? HD_KIND_DEADLOCK
                                                                         : HD_KIND_NONE);
    add_stack(r);
    infer_frame(r, bug, "file", "line");
  }
  size_t n = json_array_size(all);
  json_decref(all);
  if (!n || typed) return HD_OK;
  return hd_fail(err, HD_EUSAGE, "%s: a list of %zu, but none is a bug of Infer (\"bug_type\")", file, n);
}

/* ---- from warnings to goals ---- */

static bool usable(struct hd_places *places, const struct frame *f) {
  struct hd_err ignored;
  const char *path;
  hd_codes at = {0};
  bool good = hd_places_file(places, f->file, &path, &ignored) == HD_OK &&
              hd_places_line(places, path, f->line, &at, &ignored) == HD_OK;
  hd_vec_free(&at);
  return good;
}

static void make_goal(struct hd_warning *w, const struct raw *r, struct hd_places *places) {
  struct hd_err err;
  w->goal = (struct hd_goal){.kind = r->kind, .failure = r->kind != HD_KIND_NONE, .any_order = true};
  for (size_t i = 0; i < r->stack.n; i++) {
    const struct stack *s = &r->stack.v[i];
    size_t k = 0;
    while (k < s->frame.n && !usable(places, &s->frame.v[k])) k++;
    if (k == s->frame.n) continue; /* of code that is not the program's: the other lines are aimed at */
    /* Both accesses of a race may be at one line: then hd_goal_add refuses the second. */
    size_t n = w->goal.n;
    if (hd_goal_add(&w->goal, places, s->frame.v[k].file, s->frame.v[k].line, &err) != HD_OK && w->goal.n > n)
      free(w->goal.line[--w->goal.n].given);
    else if (w->goal.n > n)
      w->goal.line[n].allocates = s->allocates;
  }
  if (!w->goal.n)
    w->unusable = hd_strdup(r->stack.n ? "the warning has no line of the program"
                                       : "the warning names no source lines (no debug information?)");
}

static bool same_goal(const struct hd_goal *a, const struct hd_goal *b) {
  if (a->kind != b->kind || a->n != b->n || !a->n) return false;
  for (size_t i = 0; i < a->n; i++) {
    size_t k = 0;
    while (k < b->n && (a->line[i].line != b->line[k].line || strcmp(a->line[i].path, b->line[k].path) != 0))
      k++;
    if (k == b->n) return false;
  }
  return true;
}

static void add_warning(struct hd_warnings *w, struct raw *r, struct hd_places *places) {
  struct hd_warning one = {.title = r->title, .alike = 1};
  r->title = NULL;
  make_goal(&one, r, places);
  for (size_t i = 0; i < w->v.n; i++) {
    if (one.unusable || w->v.v[i].unusable || !same_goal(&w->v.v[i].goal, &one.goal)) continue;
    w->v.v[i].alike++;
    hd_goal_fini(&one.goal);
    free(one.title);
    return;
  }
  hd_vec_push(&w->v, one);
}

/* A report that ends before this tag was cut off: what it has is used, and what it has not is said. */
static int ends_early(const char *text, const char *tag, const char *file, size_t warnings,
                      struct hd_err *err) {
  if (has(text, tag)) return HD_OK;
  if (!warnings) return hd_fail(err, HD_EUSAGE, "%s: cut off: it has no %s, and no whole warning", file, tag);
  hd_warn("%s: cut off: it has no %s, so there may have been more warnings", file, tag);
  return HD_OK;
}

int hd_warnings_read(struct hd_warnings *w, const char *file, struct hd_places *places, struct hd_err *err) {
  *w = (struct hd_warnings){0};
  char *text;
  size_t len;
  int rc = hd_read_file(file, MAX_REPORT, &text, &len, err);
  if (rc != HD_OK) return rc;
  raws all = {0};
  if (has(text, "<valgrindoutput>"))
    w->tool = "Valgrind", read_valgrind_xml(&all, text),
    rc = ends_early(text, "</valgrindoutput>", file, all.n, err);
  else if (has(text, "<results") && has(text, "<cppcheck"))
    w->tool = "cppcheck", read_cppcheck(&all, text), rc = ends_early(text, "</results>", file, all.n, err);
  else if (has(text, ASAN_FAILS))
    w->tool = "AddressSanitizer", read_sanitizer(&all, text);
  else if (has(text, TSAN_WARNS) || has(text, TSAN_FAILS) || has(text, "ThreadSanitizer: reported"))
    w->tool = "ThreadSanitizer", read_sanitizer(&all, text);
  else if (has(text, "== Helgrind, ") || has(text, "== drd, "))
    w->tool = "Valgrind", read_valgrind(&all, text);
  else if (text[strspn(text, " \t\r\n")] == '[')
    w->tool = "Infer", rc = read_infer(&all, text, file, err);
  else if (!text[strspn(text, " \t\r\n")])
    w->tool = "no tool"; /* ThreadSanitizer has found nothing */
  else
    rc = hd_fail(
        err, HD_EUSAGE,
        "%s: no report of ThreadSanitizer, AddressSanitizer, Helgrind, DRD, cppcheck (--xml) or Infer (report.json) in it; if it is "
        "the output of a program under a sanitizer, there was no warning",
        file);
  for (size_t i = 0; i < all.n; i++) {
    if (rc == HD_OK) add_warning(w, &all.v[i], places);
    drop_stacks(&all.v[i], 0);
    hd_vec_free(&all.v[i].stack);
    free(all.v[i].title);
  }
  hd_vec_free(&all);
  free(text);
  return rc;
}

void hd_warnings_fini(struct hd_warnings *w) {
  for (size_t i = 0; i < w->v.n; i++) {
    free(w->v.v[i].title);
    free(w->v.v[i].unusable);
    hd_goal_fini(&w->v.v[i].goal);
  }
  hd_vec_free(&w->v);
}

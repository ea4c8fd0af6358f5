/* suppress.c: files that list findings not to be reported. Runs in the supervisor.
 *
 * A line is kind:glob. The kind is a kind of finding or *; the glob is matched against the function names
 * and file paths of every frame of the finding. '#' begins a comment.
 *
 * Files of ThreadSanitizer are read as they are: race:, race_top:, mutex:, deadlock:, thread:, signal:, called_from_lib:. A
 * pattern matches a part of a name there, unless it has ^ or $. A file is one of ThreadSanitizer's when a line has a word that
 * is no kind of ours; that decides about deadlock:, which is both. */
#include "session/names.h"
#include "session/session.h"

#include <fnmatch.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct rule {
  bool any, top;  /* every kind; only the innermost frames */
  uint64_t kinds; /* a bit for each */
  char *glob;
};

#define BIT(kind) (1ull << (kind))

/* The words of ThreadSanitizer. */
static const struct {
  const char *word;
  uint64_t kinds; /* 0: of something that Heddle does not report */
  bool top;
} tsan[] = {
    {"race", BIT(HD_KIND_DATA_RACE) | BIT(HD_KIND_USE_AFTER_FREE), false},
    {"race_top", BIT(HD_KIND_DATA_RACE) | BIT(HD_KIND_USE_AFTER_FREE), true},
    {"mutex", BIT(HD_KIND_DOUBLE_LOCK) | BIT(HD_KIND_NOT_OWNER) | BIT(HD_KIND_DESTROY_BUSY), false},
    {"thread", BIT(HD_KIND_THREAD_LEFT), false},
    {"signal", 0, false},
    {"called_from_lib", 0, false},
    {"deadlock", BIT(HD_KIND_DEADLOCK), false}, /* the last one: it is a kind of ours, too */
};
#define TSAN_WORDS (sizeof tsan / sizeof *tsan)

struct known {
  char *identity;
  bool again;
};

struct hd_suppressions {
  HD_VEC(struct rule) rule;
  HD_VEC(struct known) known; /* of the baseline */
};

static char *trim(char *s) {
  s += strspn(s, " \t\r");
  char *end = s + strlen(s);
  while (end > s && strchr(" \t\r", end[-1])) *--end = '\0';
  return s;
}

int hd_suppressions_load(const char *path, struct hd_suppressions **out, struct hd_err *err) {
  char *text;
  size_t len;
  if (hd_read_file(path, 1 << 20, &text, &len, err) != HD_OK) {
    err->code = HD_EUSAGE;
    return err->code;
  }
  int rc = hd_suppressions_parse(text, path, out, err);
  free(text);
  return rc;
}

/* The number of the word at the beginning of a line among the first `n`, or n. */
static size_t tsan_word(const char *line, size_t n) {
  size_t i = 0, len = strcspn(line, ":");
  while (i < n && !(strlen(tsan[i].word) == len && strncmp(line, tsan[i].word, len) == 0)) i++;
  return i;
}

static bool is_tsan(const char *text) {
  for (const char *at = text; at; at = strchr(at, '\n')) {
    at += strspn(at, " \t\r\n");
    if (tsan_word(at, TSAN_WORDS - 1) < TSAN_WORDS - 1) return true;
  }
  return false;
}

/* A pattern of ThreadSanitizer as a glob. */
static char *tsan_glob(const char *pattern) {
  struct hd_str out;
  hd_str_init(&out);
  bool begin = *pattern == '^';
  if (!begin) hd_str_addc(&out, '*');
  for (const char *p = pattern + begin; *p; p++) {
    if (*p == '$' && !p[1]) return hd_str_take(&out);
    if (strchr("?[\\", *p)) hd_str_addc(&out, '\\');
    hd_str_addc(&out, *p);
  }
  hd_str_addc(&out, '*');
  return hd_str_take(&out);
}

/* Reads a line that is not empty. */
static int read_rule(struct rule *r, char *line, bool of_tsan, const char *path, int number,
                     struct hd_err *err) {
  char *colon = strchr(line, ':');
  if (!colon || !*trim(colon + 1))
    return hd_fail(err, HD_EUSAGE, "%s:%d: expected kind:glob, for example data-race:worker*", path, number);
  *colon = '\0';
  char *kind = trim(line), *glob = trim(colon + 1);
  size_t word = of_tsan ? tsan_word(kind, TSAN_WORDS) : TSAN_WORDS;
  enum hd_kind one;
  r->any = strcmp(kind, "*") == 0;
  if (word < TSAN_WORDS) {
    r->kinds = tsan[word].kinds;
    r->top = tsan[word].top;
  } else if (!r->any && hd_kind_by_name(kind, strlen(kind), &one)) {
    r->kinds = BIT(one);
  } else if (!r->any) {
    struct hd_err why;
    uint64_t bits = 0;
    hd_kinds_parse(kind, &bits, &why);
    return hd_fail(err, HD_EUSAGE, "%s:%d: %s", path, number, why.text);
  }
  r->glob = word < TSAN_WORDS ? tsan_glob(glob) : hd_strdup(glob);
  return HD_OK;
}

int hd_suppressions_parse(char *text, const char *path, struct hd_suppressions **out, struct hd_err *err) {
  struct hd_suppressions *s = *out ? *out : hd_alloc(sizeof *s);
  int rc = HD_OK, number = 0;
  bool of_tsan = is_tsan(text);
  char *rest = text;
  for (char *line; rc == HD_OK && (line = strsep(&rest, "\n"));) {
    number++;
    line[strcspn(line, "#")] = '\0';
    line = trim(line);
    if (!*line) continue;
    struct rule r = {0};
    rc = read_rule(&r, line, of_tsan, path, number, err);
    if (rc == HD_OK) hd_vec_push(&s->rule, r);
  }
  *out = s;
  if (rc == HD_OK) return HD_OK;
  hd_suppressions_free(s);
  *out = NULL;
  return rc;
}

static bool frame_matches(const char *glob, const struct hd_frame *f) {
  return (f->function && fnmatch(glob, f->function, 0) == 0) || (f->file && fnmatch(glob, f->file, 0) == 0) ||
         (f->path && fnmatch(glob, f->path, 0) == 0);
}

/* ---- the baseline ---- */

int hd_baseline_load(const char *path, struct hd_suppressions **out, struct hd_err *err) {
  json_error_t e;
  json_t *root = json_load_file(path, 0, &e), *f;
  size_t i;
  const json_t *findings = json_object_get(root, "findings");
  if (!json_is_array(findings)) {
    json_decref(root);
    return hd_fail(err, HD_EUSAGE, "--baseline %s: not a result of heddle check --json", path);
  }
  if (!*out) *out = hd_alloc(sizeof **out);
  json_array_foreach(findings, i, f) {
    const char *identity = json_string_value(json_object_get(f, "identity"));
    if (identity) hd_vec_push(&(*out)->known, ((struct known){hd_strdup(identity), false}));
  }
  json_decref(root);
  return HD_OK;
}

void hd_baseline_counts(const struct hd_suppressions *s, uint64_t *known, uint64_t *again) {
  *known = s ? s->known.n : 0;
  *again = 0;
  for (size_t i = 0; i < *known; i++) *again += s->known.v[i].again;
}

static bool is_known(struct hd_suppressions *s, const struct hd_finding *f) {
  if (!s->known.n) return false;
  char *identity = hd_finding_identity(f);
  bool found = false;
  for (size_t i = 0; i < s->known.n; i++) {
    if (strcmp(s->known.v[i].identity, identity) != 0) continue;
    found = s->known.v[i].again = true;
  }
  free(identity);
  return found;
}

bool hd_suppressed(struct hd_suppressions *s, const struct hd_finding *f) {
  if (!s) return false;
  if (is_known(s, f)) return true;
  for (size_t i = 0; i < s->rule.n; i++) {
    const struct rule *r = &s->rule.v[i];
    if (!r->any && !(r->kinds >> f->kind & 1)) continue;
    for (size_t p = 0; p < f->nplaces; p++)
      for (size_t k = 0; k < f->place[p].stack.n && !(r->top && k); k++)
        if (frame_matches(r->glob, &f->place[p].stack.v[k])) return true;
  }
  return false;
}

char *hd_suppression(const char *kind, const char *function, const char *file) {
  const char *place = function && *function ? function : file;
  if (!place || !*place) return NULL;
  struct hd_str rule;
  hd_str_init(&rule);
  hd_str_addf(&rule, "%s:", kind);
  for (; *place; place++) {
    if (strchr("*?[\\", *place)) hd_str_addc(&rule, '\\');
    hd_str_addc(&rule, *place == '#' ? '?' : *place); /* it would begin a comment */
  }
  return hd_str_take(&rule);
}

void hd_suppressions_free(struct hd_suppressions *s) {
  if (!s) return;
  for (size_t i = 0; i < s->rule.n; i++) free(s->rule.v[i].glob);
  hd_vec_free(&s->rule);
  for (size_t i = 0; i < s->known.n; i++) free(s->known.v[i].identity);
  hd_vec_free(&s->known);
  free(s);
}

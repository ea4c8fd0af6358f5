/* suppress.c: files that list findings not to be reported. Runs in the supervisor.
 *
 * A line is kind:glob. The kind is a kind of finding or *; the glob is matched against the function names
 * and file paths of every frame of the finding. '#' begins a comment. */
#include "session/names.h"
#include "session/session.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct rule {
  bool any;
  enum hd_kind kind;
  char *glob;
};

struct hd_suppressions {
  HD_VEC(struct rule) rule;
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

int hd_suppressions_parse(char *text, const char *path, struct hd_suppressions **out, struct hd_err *err) {
  struct hd_suppressions *s = *out ? *out : hd_alloc(sizeof *s);
  int rc = HD_OK, number = 0;
  char *rest = text;
  for (char *line; rc == HD_OK && (line = strsep(&rest, "\n"));) {
    number++;
    line[strcspn(line, "#")] = '\0';
    line = trim(line);
    if (!*line) continue;
    char *colon = strchr(line, ':');
    struct rule r = {0};
    if (!colon || !*trim(colon + 1)) {
      rc = hd_fail(err, HD_EUSAGE, "%s:%d: expected kind:glob, for example data-race:worker*", path, number);
      break;
    }
    *colon = '\0';
    char *kind = trim(line);
    r.any = strcmp(kind, "*") == 0;
    if (!r.any && !hd_kind_by_name(kind, strlen(kind), &r.kind)) {
      struct hd_err why;
      uint64_t bits = 0;
      hd_kinds_parse(kind, &bits, &why);
      rc = hd_fail(err, HD_EUSAGE, "%s:%d: %s", path, number, why.text);
      break;
    }
    r.glob = hd_strdup(trim(colon + 1));
    hd_vec_push(&s->rule, r);
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

bool hd_suppressed(const struct hd_suppressions *s, const struct hd_finding *f) {
  if (!s) return false;
  for (size_t i = 0; i < s->rule.n; i++) {
    const struct rule *r = &s->rule.v[i];
    if (!r->any && r->kind != f->kind) continue;
    for (size_t p = 0; p < f->nplaces; p++)
      for (size_t k = 0; k < f->place[p].stack.n; k++)
        if (frame_matches(r->glob, &f->place[p].stack.v[k])) return true;
  }
  return false;
}

void hd_suppressions_free(struct hd_suppressions *s) {
  if (!s) return;
  for (size_t i = 0; i < s->rule.n; i++) free(s->rule.v[i].glob);
  hd_vec_free(&s->rule);
  free(s);
}

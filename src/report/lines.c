/* lines.c: a finding as lines that tools parse from a log. Runs in the supervisor.
 *
 *   gcc      file:line:column: error: ..., and a note for every other place and step, in the format of compilers,
 *            which editors can navigate
 *   github   workflow commands: an annotation at the failing line with the whole story, and one at every other
 *            place. Nothing else of the finding is printed, since it could be parsed as a command. */
#include "report/report_int.h"

#include <stdlib.h>
#include <string.h>

/* On one line, without control characters. */
static void add_plain(struct hd_str *out, const char *s) {
  for (; *s; s++) hd_str_addc(out, *s == '\n' ? ' ' : (unsigned char)*s < ' ' || *s == 0x7f ? '?' : *s);
}

/* ---- gcc ---- */

static void add_gcc(struct hd_str *out, const char *file, int line, int column, const char *what,
                    const char *text) {
  add_plain(out, file ? file : "heddle");
  if (file && line > 0) hd_str_addf(out, ":%d", line);
  if (file && line > 0 && column > 0) hd_str_addf(out, ":%d", column);
  hd_str_addf(out, ": %s: ", what);
  add_plain(out, text);
}

static void add_gcc_at(struct hd_str *out, const struct hd_frame *f, const char *what, const char *text) {
  add_gcc(out, f ? f->file : NULL, f ? f->line : 0, f ? f->column : 0, what, text);
}

static void add_gcc_steps(struct hd_str *out, const struct hd_story *s) {
  for (size_t i = 0; i < s->row.n; i++) {
    const struct hd_row *r = &s->row.v[i];
    if (!r->kept) continue;
    const char *thread = "?";
    for (size_t t = 0; t < s->thread.n; t++)
      if (s->thread.v[t] == r->thread) thread = s->name.v[t];
    struct hd_str said;
    hd_str_init(&said);
    hd__text_row(&said, s, i);
    char *text = hd_sprintf("(%zu) %s%s%s", i + 1, thread, said.n ? ": " : "", said.s);
    add_gcc(out, r->file, r->line, 0, "note", text);
    hd_str_addc(out, '\n');
    free(text);
    hd_str_fini(&said);
  }
}

static void add_gcc_finding(struct hd_str *out, const struct hd_finding *f) {
  const struct hd_place *main = hd_finding_place(f);
  add_gcc_at(out, main ? hd_place_frame(main) : NULL, "error", f->title);
  hd_str_addf(out, " [%s]\n", hd_kind_name[f->kind]);
  for (size_t i = 0; i < f->nplaces; i++) {
    const struct hd_place *p = &f->place[i];
    if (hd__text_redundant(f, i) || (p == main && p->op == HD_OP_NONE)) continue;
    struct hd_str what;
    hd_str_init(&what);
    hd__text_place(&what, p);
    if (p->role == HD_ROLE_PREVIOUS) hd_str_add(&what, " (previous access)");
    add_gcc_at(out, hd_place_frame(p), "note", what.s);
    hd_str_addc(out, '\n');
    hd_str_fini(&what);
  }
  if (f->story) add_gcc_steps(out, f->story);
  if (f->folder) {
    struct hd_str say;
    hd_str_init(&say);
    hd_str_add(&say, "replay: heddle replay ");
    hd_str_add_quoted(&say, f->folder);
    add_gcc_at(out, main ? hd_place_frame(main) : NULL, "note", say.s);
    hd_str_addc(out, '\n');
    hd_str_fini(&say);
  }
}

/* ---- github ---- */

/* A value of a workflow command. Escapes percent signs and newlines, and in a property colons and commas. */
static void add_value(struct hd_str *out, const char *s, bool property) {
  struct hd_str clean;
  hd_str_init(&clean);
  hd_str_add_utf8(&clean, s);
  for (const char *p = clean.s; *p; p++) {
    if (*p == '%' || *p == '\n' || (property && (*p == ':' || *p == ',')))
      hd_str_addf(out, "%%%02X", *p);
    else
      hd_str_addc(out, *p);
  }
  hd_str_fini(&clean);
}

static void add_annotation(struct hd_str *out, const char *command, const struct hd_frame *f,
                           const char *title, const char *text) {
  hd_str_addf(out, "::%s ", command);
  if (f) {
    hd_str_add(out, "file=");
    add_value(out, f->file, true);
    hd_str_addf(out, ",line=%d", f->line);
    if (f->column > 0) hd_str_addf(out, ",col=%d", f->column);
    hd_str_addc(out, ',');
  }
  hd_str_add(out, "title=");
  add_value(out, title, true);
  hd_str_add(out, "::");
  add_value(out, text, false);
  hd_str_addc(out, '\n');
}

/* Waiting threads and the other access of a race are as much part of the failure as its first place. */
static bool is_other_end(const struct hd_place *p) {
  return p->role == HD_ROLE_AT || p->role == HD_ROLE_PREVIOUS || p->role == HD_ROLE_WAITS;
}

static void add_github_finding(struct hd_str *out, const struct hd_finding *f) {
  const struct hd_place *main = hd_finding_place(f);
  struct hd_str text;
  hd_str_init(&text);
  hd_text_finding(&text, f, HD_STYLE_PLAIN);
  while (text.n && text.s[text.n - 1] == '\n') text.s[--text.n] = '\0';
  add_annotation(out, "error", main ? hd_place_frame(main) : NULL, f->title, text.s);
  for (size_t i = 0; i < f->nplaces; i++) {
    const struct hd_place *p = &f->place[i];
    const struct hd_frame *at = hd_place_frame(p);
    if (p == main || !at || !is_other_end(p)) continue;
    hd_str_clear(&text);
    hd__text_place(&text, p);
    add_annotation(out, "notice", at, f->title, text.s);
  }
  hd_str_fini(&text);
}

void hd_lines_finding(struct hd_str *out, const struct hd_finding *f, enum hd_format format) {
  HD_BUG_ON(format == HD_FORMAT_TEXT);
  if (format == HD_FORMAT_GCC)
    add_gcc_finding(out, f);
  else
    add_github_finding(out, f);
}

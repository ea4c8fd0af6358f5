/* story_text.c: the story of a finding as text, one column per thread while there are few. Runs in the supervisor. It
 * fits the given width, and colour never carries meaning. */
#include "report/report_int.h"

#include <stdlib.h>
#include <string.h>

#define LEFT 5        /* "  12 " or "> 12 " */
#define MAX_COLUMNS 4 /* with more threads, rows are not in columns */

#define BOLD "\033[1m"
#define RED "\033[1;31m"
#define CYAN "\033[36m"
#define PLAIN "\033[0m"

static void paint(struct hd_str *out, bool colour, const char *how) {
  if (colour) hd_str_add(out, how);
}

/* The file that most rows are in, which is named once. */
static const char *main_file(const struct hd_story *s) {
  const char *best = NULL;
  size_t most = 0;
  for (size_t i = 0; i < s->row.n; i++) {
    size_t n = 0;
    for (size_t k = 0; k < s->row.n; k++)
      n += s->row.v[k].file && s->row.v[i].file && strcmp(s->row.v[k].file, s->row.v[i].file) == 0;
    if (n > most) {
      most = n;
      best = s->row.v[i].file;
    }
  }
  return best;
}

/* "23 count++;": the line as quoted, without a trailing comment. */
static void add_code(struct hd_str *out, const struct hd_row *r, const char *file) {
  if (r->file && file && strcmp(r->file, file) != 0) hd_str_addf(out, "%s:", hd_base_name(r->file));
  hd_str_addf(out, "%d ", r->line);
  const char *line = hd__source_line(r->path, r->line);
  if (!line) {
    hd_str_addf(out, "in %s", r->function ? r->function : "?");
    return;
  }
  line += strspn(line, " \t");
  size_t len = strlen(line);
  const char *c = strstr(line, "/*"), *cc = strstr(line, " //");
  if (c && c > line) len = (size_t)(c - line);
  if (cc && (size_t)(cc - line) < len) len = (size_t)(cc - line);
  while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t')) len--;
  for (size_t i = 0; i < len; i++) hd_str_addc(out, line[i] == '\t' ? ' ' : line[i]);
}

/* One line of a cell, cut to its width. */
static void add_cut(struct hd_str *out, const char *text, size_t width) {
  size_t len = strlen(text);
  if (len <= width)
    hd_str_add(out, text);
  else
    hd_str_addf(out, "%.*s..", (int)width - 2, text);
}

/* Breaks `text` into lines of at most `width`, each indented by `indent` columns. */
static void add_wrapped(struct hd_str *out, const char *text, size_t indent, size_t width) {
  while (*text) {
    size_t len = strlen(text);
    if (len > width) {
      len = width;
      while (len > 0 && text[len] != ' ') len--;
      if (len == 0) len = width;
    }
    hd_str_addf(out, "%*s%.*s\n", (int)indent, "", (int)len, text);
    text += len;
    text += strspn(text, " ");
  }
}

static size_t column_of(const struct hd_story *s, unsigned thread) {
  size_t i = 0;
  while (i + 1 < s->thread.n && s->thread.v[i] != thread) i++;
  return i;
}

void hd__text_row(struct hd_str *out, const struct hd_story *s, size_t row) {
  const struct hd_row *r = &s->row.v[row];
  if (r->what) hd_str_add(out, r->what);
  if (r->mark != HD_ROW_FAILS) return;
  hd_str_add(out, out->n ? "; " : "");
  for (size_t i = 0; i < s->row.n; i++)
    if (s->row.v[i].mark == HD_ROW_RACES) {
      hd_str_addf(out, "races with %zu", i + 1);
      return;
    }
  hd_str_add(out, "fails here");
}

/* The start of the column of the k-th of n threads. A row fills one column only, so its text may extend to the right.
 * */
static size_t column_start(size_t k, size_t n, size_t width) {
  return k * (width * (n == 2 ? 36 : n == 3 ? 19 : 14) / 80);
}

static void add_row(struct hd_str *out, const struct hd_story *s, size_t i, const char *file,
                    const struct hd_style *style) {
  bool colour = style->colour;
  const struct hd_row *r = &s->row.v[i];
  size_t k = column_of(s, r->thread), n = s->thread.n;
  bool columns = n <= MAX_COLUMNS, marked = r->mark != HD_ROW_STEP;
  size_t indent = columns ? column_start(k, n, style->width) : 6, width = style->width - LEFT - indent;
  struct hd_str code, what;
  hd_str_init(&code);
  hd_str_init(&what);
  add_code(&code, r, file);
  hd__text_row(&what, s, i);
  bool beside = code.n + 3 + what.n <= width;
  bool decides = i + 1 == s->before || i + 1 == s->after;
  paint(out, colour && (marked || decides), marked ? RED : BOLD);
  hd_str_addf(out, "%c%3zu ", marked ? '>' : ' ', i + 1);
  if (columns)
    hd_str_addf(out, "%*s", (int)indent, "");
  else
    hd_str_addf(out, "%-6.*s", (int)strcspn(s->name.v[k], " "), s->name.v[k]);
  add_cut(out, code.s, width);
  paint(out, colour && (marked || decides), PLAIN);
  paint(out, colour, CYAN);
  if (beside && what.n) hd_str_addf(out, "   %s", what.s);
  hd_str_addc(out, '\n');
  if (!beside) add_wrapped(out, what.s, LEFT + indent + 3, width - 3);
  paint(out, colour, PLAIN);
  hd_str_fini(&code);
  hd_str_fini(&what);
}

static void add_head(struct hd_str *out, const struct hd_story *s, const char *file,
                     const struct hd_style *style) {
  bool colour = style->colour;
  if (file)
    hd_str_addf(out, "  What happened, in %s:\n", file);
  else
    hd_str_add(out, "  What happened:\n");
  if (s->thread.n > MAX_COLUMNS) return;
  paint(out, colour, BOLD);
  size_t at = 0;
  hd_str_addf(out, "%*s", LEFT, "");
  for (size_t i = 0; i < s->thread.n; i++) {
    size_t start = column_start(i, s->thread.n, style->width),
           room = column_start(i + 1, s->thread.n, style->width) - start - 1;
    hd_str_addf(out, "%*s%.*s", (int)(start - at), "", (int)room, s->name.v[i]);
    at = start + strnlen(s->name.v[i], room);
  }
  paint(out, colour, PLAIN);
  hd_str_addc(out, '\n');
}

void hd__text_story(struct hd_str *out, const struct hd_story *s, const struct hd_style *style) {
  bool colour = style->colour;
  const char *file = main_file(s);
  add_head(out, s, file, style);
  size_t skipped = 0;
  for (size_t i = 0; i < s->row.n; i++) {
    if (!s->row.v[i].kept && !style->full) {
      skipped++;
      continue;
    }
    if (skipped) hd_str_addf(out, "     ... %zu more line%s\n", skipped, skipped == 1 ? "" : "s");
    skipped = 0;
    add_row(out, s, i, file, style);
  }
  if (s->remark) add_wrapped(out, s->remark, 2, style->width - 4);
  if (s->before && s->after) {
    paint(out, colour, BOLD);
    hd_str_addf(out, "  The order of %zu and %zu matters: swapping them makes it pass (verified).\n",
                s->before, s->after);
    paint(out, colour, PLAIN);
  }
}

json_t *hd__json_story(const struct hd_story *s) {
  static const char *const mark[] = {"step", "fails", "waits", "races"};
  json_t *rows = json_array();
  for (size_t i = 0; i < s->row.n; i++) {
    const struct hd_row *r = &s->row.v[i];
    json_t *o = json_object();
    json_object_set_new(o, "number", json_integer((json_int_t)i + 1));
    if (!r->kept) json_object_set_new(o, "hidden", json_true());
    if (r->event) {
      json_object_set_new(o, "event", json_integer((json_int_t)r->event));
      json_object_set_new(o, "last_event", json_integer((json_int_t)r->last_event));
    }
    json_object_set_new(o, "thread", hd_json_text(s->name.v[column_of(s, r->thread)]));
    json_object_set_new(o, "file", hd_json_text(r->file));
    json_object_set_new(o, "line", json_integer(r->line));
    json_object_set_new(o, "function", hd_json_text(r->function));
    json_object_set_new(o, "source", hd_json_text(hd__source_line(r->path, r->line)));
    json_object_set_new(o, "what", hd_json_text(r->what));
    json_object_set_new(o, "mark", hd_json_text(mark[r->mark]));
    json_array_append_new(rows, o);
  }
  json_t *o = json_object();
  json_object_set_new(o, "rows", rows);
  if (s->remark) json_object_set_new(o, "remark", hd_json_text(s->remark));
  if (s->before && s->after)
    json_object_set_new(
        o, "order", json_pack("{s:I,s:I}", "before", (json_int_t)s->before, "after", (json_int_t)s->after));
  return o;
}

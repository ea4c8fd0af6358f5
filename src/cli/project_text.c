/* project_text.c: the table of `heddle check` for a project: a row per target, and its findings. Runs in the
 * supervisor. Names take the remaining columns of WIDTH; longer ones are shortened in the middle. */
#include "cli/project.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 80
#define OTHERS (2 + 8 + 2 + 10 + 2 + 10 + 2 + 8) /* columns besides the name, with the gaps before them */
#define MIN_NAME 6                               /* "target" */
#define MAX_NAME (WIDTH - OTHERS)

#define RED "\033[1;31m"
#define PLAIN "\033[0m"

void hd__print(int fd, struct hd_str *text) {
  hd_write_all(fd, text->s, text->n);
  hd_str_clear(text);
}

void hd__table_lines(struct hd_str *out, const struct hd_task_row *r) {
  const char *lines = json_string_value(json_object_get(r->result, "lines"));
  if (lines) hd_str_add(out, lines);
}

const char *hd__row_verdict(const struct hd_task_row *r) {
  const json_t *summary = json_object_get(r->result, "summary");
  if (r->skipped) return "skipped";
  switch (r->status) {
    case 0: return json_is_true(json_object_get(summary, "complete")) ? "clean" : "bounded";
    case 1: return "found";
    case 5: return "stopped";
    default: return "error";
  }
}

static size_t columns(const char *s) {
  size_t n = 0;
  for (; *s; s++) n += ((unsigned char)*s & 0xc0) != 0x80;
  return n;
}

/* The byte at which column `n` begins. */
static size_t byte_at(const char *s, size_t n) {
  size_t i = 0;
  while (s[i] && n > 0) {
    i++;
    while (((unsigned char)s[i] & 0xc0) == 0x80) i++;
    n--;
  }
  return i;
}

void hd__add_short(struct hd_str *out, const char *name, size_t width) {
  size_t n = columns(name), tail = (width - 3) / 2, head = width - 3 - tail;
  if (n > width)
    hd_str_addf(out, "%.*s...%s", (int)byte_at(name, head), name, name + byte_at(name, n - tail));
  else
    hd_str_add(out, name);
}

static void add_name(struct hd_str *out, const char *name, size_t width) {
  size_t n = columns(name);
  hd__add_short(out, name, width);
  hd_str_addf(out, "%*s", n < width ? (int)(width - n) : 0, "");
}

static size_t name_width(const struct hd_project *p) {
  size_t width = MIN_NAME;
  for (size_t i = 0; i < p->task.n; i++) {
    size_t n = columns(p->task.v[i].name);
    if (n > width) width = n;
  }
  return width < MAX_NAME ? width : MAX_NAME;
}

void hd__table_head(struct hd_str *out, const struct hd_project *p) {
  add_name(out, p->hunt > 0 ? "test" : "target", name_width(p));
  hd_str_addf(out, "  %-8s  %10s  %10s  %8s\n", "verdict", "executions", "time", "findings");
}

void hd__table_row(struct hd_str *out, const struct hd_project *p, const struct hd_task_row *r, bool colour) {
  const json_t *s = json_object_get(r->result, "summary");
  const char *verdict = hd__row_verdict(r);
  double executions = (double)json_integer_value(json_object_get(s, "executions"));
  double seconds = json_number_value(json_object_get(s, "seconds"));
  bool red = colour && r->status != 0 && r->status != 5;
  add_name(out, r->name, name_width(p));
  hd_str_addf(out, "  %s%-8s%s", red ? RED : "", verdict, red ? PLAIN : "");
  if (r->skipped || (executions == 0 && r->status > 1)) {
    hd_str_addf(out, "  %10s  %10s  %8s\n", "-", "-", "-");
    return;
  }
  char count[16], time[24];
  if (executions < 1e10)
    snprintf(count, sizeof count, "%.0f", executions);
  else
    hd_text_count(count, executions);
  snprintf(time, sizeof time, seconds < 100000 ? "%.2f s" : "%.0f s", seconds);
  hd_str_addf(out, "  %10s  %10s  %8zu\n", count, time, json_array_size(json_object_get(s, "findings")));
}

void hd__table_reasons(struct hd_str *out, const struct hd_project *p, const struct hd_task_row *r) {
  if (r->skipped || (r->status != 0 && r->status != 5))
    return; /* a finding or a message is printed instead */
  size_t i;
  const json_t *one, *all = json_object_get(json_object_get(r->result, "summary"), "inexact");
  json_array_foreach(all, i, one) {
    const char *reason = json_string_value(json_object_get(one, "reason"));
    if (p->hunt > 0 && reason && strcmp(reason, "time") == 0) continue; /* the column of times says it */
    const json_t *where = json_object_get(one, "where");
    hd_str_addf(out, "%s: not complete: %s", r->name, json_string_value(json_object_get(one, "text")));
    if (json_is_object(where))
      hd_str_addf(out, " (%s:%d)", json_string_value(json_object_get(where, "file")),
                  (int)json_integer_value(json_object_get(where, "line")));
    hd_str_addc(out, '\n');
  }
}

void hd__table_totals(struct hd_str *out, const struct hd_project *p, const struct hd_task_row *rows) {
  const size_t n = p->task.n;
  static const char *const verdicts[] = {"clean", "bounded", "stopped", "found", "error", "skipped"};
  const char *separator = ": ";
  hd_str_addf(out, "heddle: %zu %s%s", n, p->hunt > 0 ? "test" : "target", n == 1 ? "" : "s");
  for (size_t k = 0; k < sizeof verdicts / sizeof verdicts[0]; k++) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += strcmp(hd__row_verdict(&rows[i]), verdicts[k]) == 0;
    if (!count) continue;
    hd_str_addf(out, "%s%zu %s", separator, count, verdicts[k]);
    separator = ", ";
  }
  hd_str_addc(out, '\n');
}

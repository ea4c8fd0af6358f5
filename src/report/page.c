/* page.c: the report page: one self-contained HTML file with its style, script and data. Runs in the supervisor.
 *
 * The data come from the tested program and its source, and are not trusted. They are JSON in a <script> that is not
 * executed: every '<' is escaped, so that they cannot end the element or begin a comment. The script shows them as
 * text only, and the page's content security policy forbids loading anything. */
#include "report/page_int.h"
#include "report/page.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#define SOURCE_WHOLE \
  ((size_t)96 << 10) /* of a longer file, only the surroundings of executed lines are shown */
#define SOURCE_MOST ((size_t)16 << 20)
#define SOURCE_AROUND 60 /* lines */

static void add_data(struct hd_str *out, json_t *data) {
  char *text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(12));
  for (const char *c = text ? text : "{}"; *c; c++) {
    if (*c == '<')
      hd_str_add(out, "\\u003c");
    else
      hd_str_addc(out, *c);
  }
  free(text);
}

void hd_page_write(struct hd_str *out, json_t *data) {
  static const char style[] = "@STYLE@", script[] = "@SCRIPT@", values[] = "@DATA@";
  const char *at = hd__page_html;
  const char *css = strstr(at, style), *json = strstr(at, values), *js = strstr(at, script);
  HD_BUG_ON(!css || !json || !js || css > json || json > js);
  hd_str_addn(out, at, (size_t)(css - at));
  hd_str_addn(out, hd__page_css, (size_t)(hd__page_css_end - hd__page_css));
  at = css + sizeof style - 1;
  hd_str_addn(out, at, (size_t)(json - at));
  add_data(out, data);
  at = json + sizeof values - 1;
  hd_str_addn(out, at, (size_t)(js - at));
  hd_str_addn(out, hd__page_js, (size_t)(hd__page_js_end - hd__page_js));
  at = js + sizeof script - 1;
  hd_str_addn(out, at, (size_t)(hd__page_html_end - at));
}

/* ---- source files ---- */

/* Names come from a stored folder, which may be forged to expose another file on a page. Accept only source files and
 * system headers. */
static bool is_source(const char *path) {
  static const char *const suffix[] = {"c",   "h",   "cc", "hh", "cpp", "hpp", "cxx", "hxx",
                                       "c++", "h++", "C",  "H",  "inl", "inc", "ipp", "tcc",
                                       "tpp", "def", "y",  "l",  "S",   "s"};
  if (strncmp(path, "/usr/include/", 13) == 0) return true;
  const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
  for (size_t i = 0; dot && i < sizeof suffix / sizeof suffix[0]; i++)
    if (strcmp(dot + 1, suffix[i]) == 0) return true;
  return false;
}

static int by_line(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* The file as pieces, [number of the first line, text]: one of the whole file, or several around lines[0..n). */
static json_t *pieces(const char *text, size_t len, uint32_t *lines, size_t n) {
  json_t *all = json_array();
  if (len <= SOURCE_WHOLE) {
    json_array_append_new(all, json_pack("[i,o]", 1, hd_json_text(text)));
    return all;
  }
  qsort(lines, n, sizeof *lines, by_line);
  uint32_t line = 1;
  for (size_t i = 0; i < n;) {
    uint32_t from = lines[i] > SOURCE_AROUND ? lines[i] - SOURCE_AROUND : 1, to = lines[i] + SOURCE_AROUND;
    while (++i < n && lines[i] <= to + SOURCE_AROUND) to = lines[i] + SOURCE_AROUND;
    for (; line < from && *text; line++) text += strcspn(text, "\n"), text += *text == '\n';
    const char *begin = text;
    from = line;
    for (; line <= to && *text; line++) text += strcspn(text, "\n"), text += *text == '\n';
    char *piece = hd_strndup(begin, (size_t)(text - begin));
    if (*piece) json_array_append_new(all, json_pack("[i,o]", (int)from, hd_json_text(piece)));
    free(piece);
  }
  return all;
}

json_t *hd_page_source(const char *path, uint32_t *lines, size_t n) {
  char *text, *real = realpath(path, NULL);
  size_t len;
  struct hd_err ignored;
  json_t *result = NULL;
  if (real && is_source(path) && is_source(real) &&
      hd_read_file(real, SOURCE_MOST, &text, &len, &ignored) == HD_OK) {
    result = pieces(text, len, lines, n);
    free(text);
  }
  free(real);
  return result;
}

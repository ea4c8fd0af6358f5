/* junit.c: a search as JUnit XML, which every CI service shows. Runs in the supervisor.
 *
 * A check is a test suite with the program as its only test case; each target of a project is a suite. All findings
 * form one failure, since most readers show only one per test case: its message names the first finding, its text
 * lists all. A search that could not run is an error. A search that a budget ended passes, and its output states how
 * far it got. */
#include "report/report.h"

#include <stdlib.h>

/* Escapes text for content or an attribute. */
static void add_xml(struct hd_str *out, const char *s) {
  struct hd_str clean;
  hd_str_init(&clean);
  hd_str_add_utf8(&clean, s);
  for (const char *p = clean.s; *p; p++) {
    switch (*p) {
      case '&': hd_str_add(out, "&amp;"); break;
      case '<': hd_str_add(out, "&lt;"); break;
      case '>': hd_str_add(out, "&gt;"); break;
      case '"': hd_str_add(out, "&quot;"); break;
      default: hd_str_addc(out, *p);
    }
  }
  hd_str_fini(&clean);
}

/* Newlines and tabs of an attribute would be read as blanks. */
static void add_attribute(struct hd_str *out, const char *name, const char *value) {
  struct hd_str b;
  hd_str_init(&b);
  add_xml(&b, value);
  hd_str_addf(out, " %s=\"", name);
  for (const char *p = b.s; *p; p++) {
    if (*p == '\n' || *p == '\t')
      hd_str_addf(out, "&#%d;", *p);
    else
      hd_str_addc(out, *p);
  }
  hd_str_addc(out, '"');
  hd_str_fini(&b);
}

static void add_property(struct hd_str *out, const char *name, const char *value) {
  hd_str_add(out, "      <property");
  add_attribute(out, "name", name);
  add_attribute(out, "value", value);
  hd_str_add(out, "/>\n");
}

static void add_properties(struct hd_str *out, const struct hd_summary *s) {
  static const char *const verdict[] = {"bug", "clean", "bounded"};
  char number[32];
  hd_str_add(out, "    <properties>\n");
  add_property(out, "heddle", HD_VERSION);
  add_property(out, "strategy", s->strategy);
  add_property(out, "verdict", verdict[hd_summary_verdict(s)]);
  add_property(out, "complete", s->complete ? "true" : "false");
  for (size_t i = 0; i < s->nreasons; i++) add_property(out, "inexact", hd_reason_name(s->reason[i].what));
  snprintf(number, sizeof number, "%llu", (unsigned long long)s->executions);
  add_property(out, "executions", number);
  snprintf(number, sizeof number, "%llu", (unsigned long long)s->seed);
  add_property(out, "seed", number);
  hd_str_add(out, "    </properties>\n");
}

/* <failure> or <error> with its text. */
static void add_problem(struct hd_str *out, const char *element, const char *say, const char *type,
                        const char *text) {
  hd_str_addf(out, "      <%s", element);
  add_attribute(out, "message", say);
  add_attribute(out, "type", type);
  hd_str_addc(out, '>');
  add_xml(out, text);
  hd_str_addf(out, "</%s>\n", element);
}

static void add_failure(struct hd_str *out, const struct hd_summary *s) {
  struct hd_str say, text;
  hd_str_init(&say);
  hd_str_init(&text);
  const struct hd_finding *first = s->nfindings ? s->findings[0] : NULL;
  if (s->nfindings > 1) hd_str_addf(&say, "%zu findings, the first: ", s->nfindings);
  if (first)
    hd_str_add(&say, first->title);
  else
    hd_str_addf(&say, "%llu findings before the search was resumed", (unsigned long long)s->before);
  for (size_t i = 0; i < s->nfindings; i++) hd_text_finding(&text, s->findings[i], HD_STYLE_PLAIN);
  add_problem(out, "failure", say.s, first ? hd_kind_name[first->kind] : "before", text.s);
  hd_str_fini(&text);
  hd_str_fini(&say);
}

static void add_counts(struct hd_str *out, const struct hd_junit_counts *c) {
  hd_str_addf(out, " tests=\"%u\" failures=\"%u\" errors=\"%u\" time=\"%.3f\"", c->tests, c->failures,
              c->errors, c->seconds);
}

/* Why the search has no result; NULL: it has one. */
static const char *trouble(const struct hd_summary *s) {
  switch (s->stop) {
    case HD_STOP_ERROR: return s->error ? s->error : "the search could not continue";
    case HD_STOP_INTERRUPTED: return "interrupted";
    case HD_STOP_CRASH_LOOP: return "the program kept killing its process";
    default: return NULL;
  }
}

void hd_junit_suite(struct hd_str *out, const struct hd_summary *s, const char *target,
                    struct hd_junit_counts *counts) {
  bool failed = hd_summary_verdict(s) == HD_VERDICT_BUG;
  const char *why = failed ? NULL : trouble(s);
  struct hd_str name, text;
  hd_str_init(&name);
  hd_str_init(&text);
  for (char *const *w = s->command; *w; w++) {
    if (name.n) hd_str_addc(&name, ' ');
    hd_str_add_quoted(&name, *w);
  }
  *counts = (struct hd_junit_counts){1, failed, why != NULL, s->seconds};
  hd_text_summary(&text, s, HD_STYLE_PLAIN);
  hd_str_add(out, "  <testsuite");
  add_attribute(out, "name", target ? target : s->command[0]);
  add_counts(out, counts);
  hd_str_add(out, " skipped=\"0\">\n");
  add_properties(out, s);
  hd_str_add(out, "    <testcase");
  add_attribute(out, "name", name.s);
  hd_str_addf(out, " classname=\"heddle\" time=\"%.3f\">\n", s->seconds);
  if (failed) add_failure(out, s);
  if (why) add_problem(out, "error", why, "heddle", why);
  hd_str_add(out, "      <system-out>");
  add_xml(out, text.s);
  hd_str_add(out, "</system-out>\n    </testcase>\n  </testsuite>\n");
  hd_str_fini(&text);
  hd_str_fini(&name);
}

void hd_junit(struct hd_str *out, const char *suites, const struct hd_junit_counts *counts) {
  hd_str_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"heddle\"");
  add_counts(out, counts);
  hd_str_addf(out, ">\n%s</testsuites>\n", suites);
}

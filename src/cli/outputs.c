/* outputs.c: the output files of a search: --json, --sarif, --junit, --lcov. Runs in the supervisor.
 *
 * They are checked for writability before the search, not after hours of it. Each is replaced atomically. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *dump(json_t *json) {
  char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
  char *out = hd_sprintf("%s\n", text ? text : "{}");
  free(text);
  json_decref(json);
  return out;
}

/* ---- a result: one search, and its part of each file ---- */

json_t *hd_outputs_result(const struct hd_options *o, const struct hd_summary *s, const char *cwd) {
  json_t *result = json_pack("{s:o}", "summary", hd_json_summary(s));
  struct hd_str text;
  hd_str_init(&text);
  if (o->sarif) json_object_set_new(result, "sarif", hd_sarif_run(s, cwd, o->name));
  if (o->junit) {
    struct hd_junit_counts c;
    hd_junit_suite(&text, s, o->name, &c);
    json_object_set_new(result, "junit", hd_json_text(text.s));
    json_object_set_new(result, "counts", json_pack("[i,i,i,f]", c.tests, c.failures, c.errors, c.seconds));
  }
  hd_str_clear(&text);
  if (o->lcov) {
    hd_branches_lcov(&text, s->branches, cwd);
    json_object_set_new(result, "lcov", hd_json_text(text.s));
  }
  hd_str_clear(&text);
  for (size_t i = 0; o->name && i < s->nfindings; i++) {
    if (o->format == HD_FORMAT_TEXT)
      hd_text_brief(&text, s->findings[i], o->name);
    else
      hd_lines_finding(&text, s->findings[i], o->format);
  }
  if (o->name) json_object_set_new(result, "lines", hd_json_text(text.s));
  hd_str_fini(&text);
  return result;
}

/* ---- the files: from results, and JSON about all of them or NULL ---- */

static char *make_json(json_t *results, json_t *about) {
  return dump(about ? json_incref(about)
                    : json_incref(json_object_get(json_array_get(results, 0), "summary")));
}

static char *make_sarif(json_t *results, json_t *about) {
  (void)about;
  json_t *runs = json_array(), *r;
  size_t i;
  json_array_foreach(results, i, r) json_array_append(runs, json_object_get(r, "sarif"));
  return dump(hd_sarif(runs));
}

static char *make_junit(json_t *results, json_t *about) {
  (void)about;
  struct hd_junit_counts all = {0};
  struct hd_str suites, out;
  hd_str_init(&suites);
  hd_str_init(&out);
  json_t *r;
  size_t i;
  json_array_foreach(results, i, r) {
    struct hd_junit_counts c = {0};
    json_unpack(json_object_get(r, "counts"), "[i,i,i,F]", &c.tests, &c.failures, &c.errors, &c.seconds);
    all.tests += c.tests;
    all.failures += c.failures;
    all.errors += c.errors;
    all.seconds += c.seconds;
    hd_str_add(&suites, json_string_value(json_object_get(r, "junit")));
  }
  hd_junit(&out, suites.s, &all);
  hd_str_fini(&suites);
  return hd_str_take(&out);
}

static char *make_lcov(json_t *results, json_t *about) {
  (void)about;
  struct hd_str out;
  hd_str_init(&out);
  json_t *r;
  size_t i;
  json_array_foreach(results, i, r) {
    const char *text = json_string_value(json_object_get(r, "lcov"));
    if (text) hd_str_add(&out, text);
  }
  return hd_str_take(&out);
}

#define OUTPUTS 4

struct output {
  const char *option, *path; /* NULL: not requested */
  char *(*make)(json_t *results, json_t *about);
};

static void list(const struct hd_options *o, struct output out[OUTPUTS]) {
  bool target = o->result_fd >= 0; /* the parent process writes the files */
  out[0] = (struct output){"json", target ? NULL : o->json, make_json};
  out[1] = (struct output){"sarif", target ? NULL : o->sarif, make_sarif};
  out[2] = (struct output){"junit", target ? NULL : o->junit, make_junit};
  out[3] = (struct output){"lcov", target ? NULL : o->lcov, make_lcov};
}

static bool is_stdout(const char *path) { return path && strcmp(path, "-") == 0; }

bool hd_outputs_own_stdout(const struct hd_options *o) {
  struct output out[OUTPUTS];
  list(o, out);
  return is_stdout(out[0].path) || is_stdout(out[1].path) || is_stdout(out[2].path) || is_stdout(out[3].path);
}

static int check_path(const char *option, const char *path, struct hd_err *err) {
  if (!path || is_stdout(path)) return HD_OK;
  struct stat st;
  bool there = stat(path, &st) == 0;
  if (there && S_ISDIR(st.st_mode))
    return hd_fail(err, HD_EUSAGE, "--%s %s: a folder, not a file", option, path);
  if (there && !S_ISREG(st.st_mode)) return HD_OK;
  char *folder = hd_strdup(path);
  char *slash = strrchr(folder, '/');
  if (slash) slash[slash == folder] = '\0';
  const char *where = slash ? folder : ".";
  int rc = HD_OK;
  if (access(where, W_OK | X_OK) || (there && access(path, W_OK)))
    rc = hd_fail(err, HD_EENV, "--%s %s: cannot write there; name a file in a folder you may write to",
                 option, path);
  free(folder);
  return rc;
}

int hd_outputs_check(const struct hd_options *o, struct hd_err *err) {
  struct output out[OUTPUTS];
  list(o, out);
  int rc = HD_OK;
  for (size_t i = 0; i < OUTPUTS && rc == HD_OK; i++) {
    for (size_t k = 0; k < i && out[i].path; k++)
      if (out[k].path && strcmp(out[i].path, out[k].path) == 0)
        return hd_fail(err, HD_EUSAGE, "--%s and --%s name the same file: give each its own", out[k].option,
                       out[i].option);
    rc = check_path(out[i].option, out[i].path, err);
  }
  if (rc == HD_OK) rc = check_path("save", o->save, err);
  if (rc == HD_OK && o->resume && access(o->resume, F_OK) == 0) rc = check_path("resume", o->resume, err);
  return rc;
}

int hd_outputs_write_all(const struct hd_options *o, json_t *results, json_t *about, struct hd_err *err) {
  struct output out[OUTPUTS];
  list(o, out);
  int rc = HD_OK;
  for (size_t i = 0; i < OUTPUTS && rc == HD_OK; i++) {
    if (!out[i].path) continue;
    char *text = out[i].make(results, about);
    if (!is_stdout(out[i].path))
      rc = hd_write_file_atomic(out[i].path, text, strlen(text), err);
    else if (hd_write_all(STDOUT_FILENO, text, strlen(text)))
      rc = hd_fail(err, HD_EENV, "cannot write to standard output");
    free(text);
  }
  return rc;
}

/* A target of a project: its result goes to the parent process. Source files are named relative to its folder. */
static int hand_over(const struct hd_options *o, const struct hd_summary *s, struct hd_err *err) {
  char *here = hd_cwd();
  for (size_t i = 0; here && i < s->nfindings; i++) hd_finding_names(s->findings[i], here);
  json_t *result = hd_outputs_result(o, s, here ? here : s->command[0]);
  char *text = json_dumps(result, JSON_COMPACT | JSON_REAL_PRECISION(12));
  int rc = HD_OK;
  if (!text || hd_write_all(o->result_fd, text, strlen(text)) || hd_write_all(o->result_fd, "\n", 1))
    rc = hd_fail(err, HD_EENV, "cannot hand over the result of the search");
  free(text);
  json_decref(result);
  free(here);
  return rc;
}

int hd_outputs_write(const struct hd_options *o, const struct hd_summary *s, const char *cwd,
                     struct hd_err *err) {
  if (o->result_fd >= 0) return hand_over(o, s, err);
  if (!o->json && !o->sarif && !o->junit) return HD_OK;
  json_t *results = json_array();
  json_array_append_new(results, hd_outputs_result(o, s, cwd));
  int rc = hd_outputs_write_all(o, results, NULL, err);
  json_decref(results);
  return rc;
}

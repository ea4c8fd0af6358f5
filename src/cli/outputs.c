/* outputs.c: the files that the result of a search is written to: --json, --sarif, --junit. Runs in the supervisor.
 *
 * That they can be written is looked at before the search, not after hours of it. Each is replaced in one step. */
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

static char *make_json(const struct hd_summary *s, const char *cwd) {
  (void)cwd;
  return dump(hd_json_summary(s));
}

static char *make_sarif(const struct hd_summary *s, const char *cwd) { return dump(hd_sarif(s, cwd)); }

static char *make_junit(const struct hd_summary *s, const char *cwd) {
  (void)cwd;
  struct hd_str out;
  hd_str_init(&out);
  hd_junit(&out, s);
  return hd_str_take(&out);
}

#define OUTPUTS 3

struct output {
  const char *option, *path; /* NULL: not asked for */
  char *(*make)(const struct hd_summary *s, const char *cwd);
};

static void list(const struct hd_options *o, struct output out[OUTPUTS]) {
  out[0] = (struct output){"json", o->json, make_json};
  out[1] = (struct output){"sarif", o->sarif, make_sarif};
  out[2] = (struct output){"junit", o->junit, make_junit};
}

static bool is_stdout(const char *path) { return path && strcmp(path, "-") == 0; }

bool hd_outputs_own_stdout(const struct hd_options *o) {
  return is_stdout(o->json) || is_stdout(o->sarif) || is_stdout(o->junit);
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
  return rc;
}

int hd_outputs_write(const struct hd_options *o, const struct hd_summary *s, const char *cwd,
                     struct hd_err *err) {
  struct output out[OUTPUTS];
  list(o, out);
  int rc = HD_OK;
  for (size_t i = 0; i < OUTPUTS && rc == HD_OK; i++) {
    if (!out[i].path) continue;
    char *text = out[i].make(s, cwd);
    if (!is_stdout(out[i].path))
      rc = hd_write_file_atomic(out[i].path, text, strlen(text), err);
    else if (hd_write_all(STDOUT_FILENO, text, strlen(text)))
      rc = hd_fail(err, HD_EENV, "cannot write to standard output");
    free(text);
  }
  return rc;
}

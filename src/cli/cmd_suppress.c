/* cmd_suppress.c: `heddle suppress`: appends a rule for stored findings to a suppression file. Runs in the supervisor. */
#include "cli/cli.h"
#include "session/session.h"
#include "session/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *text_at(const json_t *o, const char *key) {
  return json_string_value(json_object_get(o, key));
}

/* The rule, and beside it what it leaves out. */
static int rule_of(const char *dir, char **rule, char **line, struct hd_err *err) {
  json_t *finding = NULL;
  char *text, *output;
  int rc = hd_store_texts(dir, 1, &finding, &text, &output, err);
  if (rc == HD_OK) {
    const json_t *place = json_array_get(json_object_get(finding, "where"), 0);
    const char *kind = text_at(finding, "kind"), *title = text_at(finding, "title");
    *rule = kind ? hd_suppression(kind, text_at(place, "function"), text_at(place, "file")) : NULL;
    if (*rule)
      *line = hd_sprintf("%s  # %s\n", *rule, title ? title : kind);
    else
      rc = hd_fail(err, HD_EUSAGE, "%s: the place of this finding has no name; build with -g", dir);
  }
  json_decref(finding);
  free(text);
  free(output);
  return rc;
}

/* Whether the file has this rule in a line of its own. */
static bool has_rule(const char *file, const char *rule) {
  char *text;
  size_t len, n = strlen(rule);
  struct hd_err none;
  bool found = false;
  if (access(file, F_OK) || hd_read_file(file, 1 << 20, &text, &len, &none) != HD_OK) return false;
  for (const char *s = text; s && !found; s = strchr(s, '\n')) {
    s += *s == '\n';
    found = strncmp(s, rule, n) == 0 && (s[n] == '\0' || strchr(" \t\r\n#", s[n]));
  }
  free(text);
  return found;
}

static int append(const char *file, const char *line, struct hd_err *err) {
  bool is_new = access(file, F_OK) != 0;
  int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  struct stat before = {0};
  if (fd >= 0) fstat(fd, &before);
  bool written = fd >= 0 && hd_write_all(fd, line, strlen(line)) == HD_OK;
  int why = errno;
  if (fd >= 0 && !written && S_ISREG(before.st_mode)) { /* no half of a line */
    if (ftruncate(fd, before.st_size) == 0 && is_new) unlink(file);
  }
  if (fd >= 0) close(fd);
  return written ? HD_OK : hd_fail(err, HD_EENV, "%s: %s", file, strerror(why));
}

static int suppress(const char *dir, const char *file, struct hd_err *err) {
  char *rule = NULL, *line = NULL;
  int rc = rule_of(dir, &rule, &line, err);
  if (rc == HD_OK && has_rule(file, rule)) {
    hd_say("%s has %s already", file, rule);
  } else if (rc == HD_OK) {
    rc = append(file, line, err);
    if (rc == HD_OK) hd_say("%s: added %s; check with --suppressions %s", file, rule, file);
  }
  free(rule);
  free(line);
  return rc;
}

int hd_cmd_suppress(int argc, char **argv) {
  struct hd_err err;
  const char *file = "heddle.supp";
  int rc = HD_OK, n = 0;
  for (int i = 1; i < argc && rc == HD_OK; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return hd_help_verb("suppress"), 0;
    if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
      file = argv[++i];
    else if (argv[i][0] == '-')
      rc = hd_fail(&err, HD_EUSAGE, "usage: heddle suppress DIR... [-o FILE]");
    else
      argv[n++] = argv[i];
  }
  if (rc == HD_OK && n == 0) rc = hd_fail(&err, HD_EUSAGE, "name one folder: heddle suppress .heddle/1");
  for (int i = 0; i < n && rc == HD_OK; i++) rc = suppress(argv[i], file, &err);
  return rc == HD_OK ? 0 : hd_err_exit(&err);
}

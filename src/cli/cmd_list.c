/* cmd_list.c: `heddle list` and `heddle clean`: the stored findings, and what removes them. Runs in the supervisor.
 *
 * Only what Heddle has written is removed: numbered folders with a schedule, the search, and what a killed process left
 * behind. A folder that is empty then goes, too. */
#include "cli/cli.h"
#include "session/store.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_DIR ".heddle"
#define MINUTE 60
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The folders of targets and tests below `dir`. */
static char **targets(const char *dir, size_t *n) {
  HD_VEC(char *) all = {0};
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));) {
    uint64_t number;
    if (e->d_name[0] == '.' || hd_parse_u64(e->d_name, 10, UINT64_MAX, &number)) continue;
    char *search = hd_sprintf("%s/%s/" HD_SEARCH_FILE, dir, e->d_name);
    if (access(search, F_OK) == 0) hd_vec_push(&all, hd_sprintf("%s/%s", dir, e->d_name));
    free(search);
  }
  if (d) closedir(d);
  if (all.n) qsort(all.v, all.n, sizeof *all.v, by_name);
  *n = all.n;
  return all.v;
}

/* Calls `f` for each finding of the folder and its targets; returns how many there were. */
static size_t each_finding(const char *dir, bool top, void (*f)(void *arg, const char *finding), void *arg) {
  size_t n, below = 0;
  unsigned *number = hd_store_list(dir, &n);
  size_t found = 0;
  for (size_t i = 0; i < n; i++) {
    char *path = hd_sprintf("%s/%u", dir, number[i]);
    if (hd_store_is_finding(path)) f(arg, path), found++;
    free(path);
  }
  free(number);
  char **target = top ? targets(dir, &below) : NULL;
  for (size_t i = 0; i < below; i++) {
    found += each_finding(target[i], false, f, arg);
    free(target[i]);
  }
  free(target);
  return found;
}

/* Checks a word of the command line. */
static int find_folder(const char *dir, bool named, struct hd_err *err) {
  struct stat st;
  if (stat(dir, &st))
    return named
               ? hd_fail(err, HD_EUSAGE, "%s: %s", dir, strerror(errno))
               : hd_fail(err, HD_EUSAGE,
                         "there is no folder %s here: heddle check writes one when it finds something", dir);
  return S_ISDIR(st.st_mode) ? HD_OK : hd_fail(err, HD_EUSAGE, "%s is not a folder", dir);
}

/* ---- list ---- */

static char *age(time_t then) {
  double s = difftime(time(NULL), then);
  if (s < MINUTE) return hd_strdup("now");
  if (s < HOUR) return hd_sprintf("%.0f min", s / MINUTE);
  if (s < DAY) return hd_sprintf("%.0f h", s / HOUR);
  return hd_sprintf("%.0f days", s / DAY);
}

struct listing {
  struct hd_str out;
  unsigned width;
};

static void list_one(void *arg, const char *dir) {
  struct listing *l = arg;
  json_t *finding = NULL;
  char *text = NULL, *output = NULL;
  struct hd_err err;
  struct stat st = {0};
  stat(dir, &st);
  char *when = age(st.st_mtime);
  hd_str_addf(&l->out, "%-12s  %7s  ", dir, when);
  size_t left = l->width > 40 ? l->width - 23 : 17;
  if (strlen(dir) > 12) left -= strlen(dir) - 12 < left ? strlen(dir) - 12 : left - 1;
  if (hd_store_texts(dir, 0, &finding, &text, &output, &err) == HD_OK) {
    json_t *first = json_array_get(json_object_get(finding, "where"), 0);
    const char *title = json_string_value(json_object_get(finding, "title"));
    const char *file = json_string_value(json_object_get(first, "file"));
    char *place = file ? hd_sprintf(", %s:%d", file, (int)json_integer_value(json_object_get(first, "line")))
                       : hd_strdup("");
    char *line = hd_sprintf("%s%s", title ? title : "?", place);
    if (strlen(line) > left && left > 2)
      hd_str_addf(&l->out, "%.*s..\n", (int)left - 2, line);
    else
      hd_str_addf(&l->out, "%s\n", line);
    free(line);
    free(place);
  } else {
    hd_str_addf(&l->out, "damaged: %s\n", err.text);
  }
  json_decref(finding);
  free(text);
  free(output);
  free(when);
}

int hd_cmd_list(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (hd_options_parse(&o, HD_VERB_LIST, argc, argv, &err) != HD_OK) return hd_err_exit(&err);
  if (o.help) return hd_help_verb("list"), 0;
  struct listing l = {.width = hd_style_of(STDOUT_FILENO, false).width};
  hd_str_init(&l.out);
  size_t found = 0;
  int rc = HD_OK;
  for (int i = 0; i < (o.nargs ? o.nargs : 1) && rc == HD_OK; i++) {
    const char *dir = o.nargs ? o.args[i] : DEFAULT_DIR;
    rc = find_folder(dir, o.nargs > 0, &err);
    if (rc == HD_OK && hd_store_is_finding(dir))
      list_one(&l, dir), found++;
    else if (rc == HD_OK)
      found += each_finding(dir, true, list_one, &l);
  }
  hd_write_all(STDOUT_FILENO, l.out.s ? l.out.s : "", l.out.n);
  hd_str_fini(&l.out);
  if (rc != HD_OK) return hd_err_exit(&err);
  if (!o.quiet && found) hd_say("%zu finding%s; heddle replay DIR shows one", found, found == 1 ? "" : "s");
  if (!o.quiet && !found) hd_say("no findings are stored");
  return 0;
}

/* ---- clean ---- */

static void remove_one(void *arg, const char *dir) {
  size_t *removed = arg;
  hd_remove_folder(dir);
  ++*removed;
}

/* What is Heddle's besides findings. */
static void remove_rest(const char *dir) {
  DIR *d = opendir(dir);
  HD_VEC(char *) all = {0};
  for (struct dirent *e; d && (e = readdir(d));) {
    const char *name = e->d_name;
    size_t len = strlen(name);
    bool left = strncmp(name, ".tmp-", 5) == 0 || strncmp(name, ".old-", 5) == 0 ||
                (len > 5 && strcmp(name + len - 5, ".hunt") == 0);
    if (left || strcmp(name, HD_SEARCH_FILE) == 0) hd_vec_push(&all, hd_sprintf("%s/%s", dir, name));
  }
  if (d) closedir(d);
  for (size_t i = 0; i < all.n; i++) {
    if (unlink(all.v[i])) hd_remove_folder(all.v[i]);
    free(all.v[i]);
  }
  hd_vec_free(&all);
}

static void clean(const char *dir, size_t *removed) {
  size_t n;
  char **target = targets(dir, &n);
  each_finding(dir, true, remove_one, removed);
  for (size_t i = 0; i < n; i++) {
    remove_rest(target[i]);
    rmdir(target[i]);
    free(target[i]);
  }
  free(target);
  remove_rest(dir);
  rmdir(dir);
}

int hd_cmd_clean(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (hd_options_parse(&o, HD_VERB_CLEAN, argc, argv, &err) != HD_OK) return hd_err_exit(&err);
  if (o.help) return hd_help_verb("clean"), 0;
  size_t removed = 0;
  int rc = HD_OK;
  for (int i = 0; i < (o.nargs ? o.nargs : 1) && rc == HD_OK; i++) {
    const char *dir = o.nargs ? o.args[i] : DEFAULT_DIR;
    rc = find_folder(dir, o.nargs > 0, &err);
    if (rc == HD_OK && hd_store_is_finding(dir))
      remove_one(&removed, dir);
    else if (rc == HD_OK)
      clean(dir, &removed);
  }
  if (rc != HD_OK) return hd_err_exit(&err);
  if (!o.quiet) hd_say("removed %zu finding%s", removed, removed == 1 ? "" : "s");
  return 0;
}

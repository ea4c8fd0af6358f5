/* cmd_report.c: `heddle report`: one page about a search and its findings. Runs in the supervisor. Nothing is
 * executed: the page shows the stored data, and the current source files. */
#include "cli/cli.h"
#include "report/page.h"
#include "session/store.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_DIR ".heddle"
#define DEFAULT_FILE "report.html"
#define MOST_EVENTS 100000 /* of one run: more are not useful, and slow down the browser */
#define MOST_OUTPUT 65536

struct source {
  char *path;
  HD_VEC(uint32_t) line; /* that were executed */
  time_t newest;         /* finding that refers to it; if older than the file, lines may have moved */
};

struct gather {
  json_t *searches, *findings;
  HD_VEC(struct source) source;
};

/* ---- source files ---- */

static size_t source_entry(struct gather *g, const char *cwd, const char *file, time_t when) {
  char *path = hd_absolute(cwd, file);
  size_t i = 0;
  while (i < g->source.n && strcmp(g->source.v[i].path, path) != 0) i++;
  if (i == g->source.n)
    hd_vec_push(&g->source, (struct source){.path = path});
  else
    free(path);
  if (when > g->source.v[i].newest) g->source.v[i].newest = when;
  return i;
}

/* Adds to a place, [file, line, function], its source file. */
static void add_source(struct gather *g, json_t *place, const char *cwd, time_t when) {
  const char *file = json_string_value(json_array_get(place, 0));
  if (!file) return;
  size_t i = source_entry(g, cwd, file, when);
  hd_vec_push(&g->source.v[i].line, (uint32_t)json_integer_value(json_array_get(place, 1)));
  json_array_append_new(place, json_integer((json_int_t)i));
}

static json_t *sources(struct gather *g) {
  json_t *all = json_array();
  for (size_t i = 0; i < g->source.n; i++) {
    struct source *s = &g->source.v[i];
    struct stat st;
    bool changed = s->newest && stat(s->path, &st) == 0 && st.st_mtime > s->newest;
    json_t *text = hd_page_source(s->path, s->line.v, s->line.n);
    json_array_append_new(all, json_pack("[b,o]", changed, text ? text : json_null()));
  }
  return all;
}

/* ---- findings ---- */

static int add_run(struct gather *g, json_t *runs, const char *name, const struct hd_stored *s,
                   struct hd_err *err) {
  struct hd_tr_source *trace;
  struct stat st;
  int rc = hd_tr_open_file(s->trace, &trace, err);
  if (rc != HD_OK) return rc;
  time_t when = stat(s->trace, &st) == 0 ? st.st_mtime : 0;
  json_t *run = NULL, *place;
  rc = hd_page_run(trace, MOST_EVENTS, &run, err);
  hd_tr_close(trace);
  if (rc != HD_OK) return rc;
  size_t i;
  json_array_foreach(json_object_get(run, "places"), i, place) add_source(g, place, s->command.cwd, when);
  json_object_set_new(run, "name", json_string(name));
  return json_array_append_new(runs, run), HD_OK;
}

/* Adds the files of the finding's own places and of its story, which events need not refer to. */
static void add_more_sources(struct gather *g, json_t *entry, json_t *finding, const char *cwd) {
  json_t *lists[] = {json_object_get(finding, "where"),
                     json_object_get(json_object_get(finding, "story"), "rows")};
  json_t *files = json_object(), *place;
  size_t i;
  for (size_t k = 0; k < 2; k++) {
    json_array_foreach(lists[k], i, place) {
      const char *file = json_string_value(json_object_get(place, "file"));
      if (!file) continue;
      size_t n = source_entry(g, cwd, file, 0);
      hd_vec_push(&g->source.v[n].line, (uint32_t)json_integer_value(json_object_get(place, "line")));
      json_object_set_new(files, file, json_integer((json_int_t)n));
    }
  }
  json_object_set_new(entry, "files", files);
}

static int add_finding(struct gather *g, const char *dir, struct hd_err *err) {
  struct hd_stored stored, smaller = {0};
  json_t *finding = NULL, *runs = json_array();
  char *text = NULL, *output = NULL;
  int rc = hd_store_read(dir, true, &stored, err);
  if (rc == HD_OK) rc = hd_store_texts(dir, MOST_OUTPUT, &finding, &text, &output, err);
  if (rc == HD_OK && hd_store_is_minimised(dir)) {
    rc = hd_store_read(dir, false, &smaller, err);
    if (rc == HD_OK) rc = add_run(g, runs, "smaller", &smaller, err);
  }
  if (rc == HD_OK) rc = add_run(g, runs, "original", &stored, err);
  if (rc == HD_OK) {
    json_t *command = json_array(), *entry = json_object();
    for (char **w = stored.command.argv; *w; w++) json_array_append_new(command, hd_json_text(*w));
    add_more_sources(g, entry, finding, stored.command.cwd);
    json_object_set_new(entry, "folder", hd_json_text(dir));
    json_object_set_new(entry, "command", command);
    json_object_set(entry, "finding", finding);
    json_object_set_new(entry, "text", hd_json_text(text));
    json_object_set_new(entry, "output", hd_json_text(output));
    json_object_set(entry, "runs", runs);
    json_array_append_new(g->findings, entry);
  }
  json_decref(finding);
  json_decref(runs);
  hd_stored_fini(&stored);
  hd_stored_fini(&smaller);
  free(output);
  free(text);
  return rc;
}

/* ---- folders ---- */

/* Adds to the exercised lines their source files. */
static void add_covered(struct gather *g, const char *dir, json_t *search) {
  const char *cwd = json_string_value(json_object_get(search, "cwd"));
  char *path = hd_sprintf("%s/" HD_SEARCH_FILE, dir);
  struct stat st;
  time_t when = stat(path, &st) == 0 ? st.st_mtime : 0;
  json_t *line;
  size_t i;
  json_array_foreach(json_object_get(json_object_get(search, "coverage"), "lines"), i, line) {
    const char *file = json_string_value(json_object_get(line, "file"));
    if (!file || !cwd || !json_is_object(line)) continue;
    size_t n = source_entry(g, cwd, file, when);
    hd_vec_push(&g->source.v[n].line, (uint32_t)json_integer_value(json_object_get(line, "line")));
    json_object_set_new(line, "source", json_integer((json_int_t)n));
  }
  free(path);
}

static int add_search(struct gather *g, const char *dir, struct hd_err *err) {
  json_t *search = NULL;
  int rc = hd_store_search(dir, &search, err);
  if (rc != HD_OK || !search) return rc;
  add_covered(g, dir, search);
  json_object_set_new(search, "folder", hd_json_text(dir));
  json_array_append_new(g->searches, search);
  return HD_OK;
}

static int add_folder(struct gather *g, const char *dir, bool top, struct hd_err *err);

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Adds the folders of a project's targets: those that contain a search. */
static int add_targets(struct gather *g, const char *dir, struct hd_err *err) {
  HD_VEC(char *) all = {0};
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));) {
    if (e->d_name[0] == '.') continue;
    char *search = hd_sprintf("%s/%s/" HD_SEARCH_FILE, dir, e->d_name);
    if (access(search, F_OK) == 0) hd_vec_push(&all, hd_sprintf("%s/%s", dir, e->d_name));
    free(search);
  }
  if (d) closedir(d);
  if (all.n) qsort(all.v, all.n, sizeof *all.v, by_name);
  int rc = HD_OK;
  for (size_t i = 0; i < all.n; i++) {
    if (rc == HD_OK) rc = add_folder(g, all.v[i], false, err);
    free(all.v[i]);
  }
  hd_vec_free(&all);
  return rc;
}

/* `top`: it may contain folders of targets. */
static int add_folder(struct gather *g, const char *dir, bool top, struct hd_err *err) {
  size_t n, before = json_array_size(g->searches);
  unsigned *number = hd_store_list(dir, &n);
  int rc = add_search(g, dir, err);
  for (size_t i = 0; i < n && rc == HD_OK; i++) {
    char *path = hd_sprintf("%s/%u", dir, number[i]);
    rc = add_finding(g, path, err);
    bool alone = n == 1 && json_array_size(g->searches) == before;
    if (rc != HD_OK && !alone) { /* the others are shown all the same */
      hd_warn("left out: %s", err->text);
      rc = HD_OK;
    }
    free(path);
  }
  free(number);
  if (rc == HD_OK && top) rc = add_targets(g, dir, err);
  if (rc == HD_OK && n == 0 && json_array_size(g->searches) == before)
    rc =
        hd_fail(err, HD_EUSAGE,
                "%s has no findings and no search in it: name a folder of heddle check, or one finding", dir);
  return rc;
}

static int add_word(struct gather *g, const char *word, bool named, struct hd_err *err) {
  size_t len = strlen(word);
  while (len > 1 && word[len - 1] == '/') len--;
  char *dir = hd_strndup(word, len);
  struct stat st;
  int rc;
  if (stat(dir, &st))
    rc =
        named
            ? hd_fail(err, HD_EUSAGE, "%s: %s", dir, strerror(errno))
            : hd_fail(
                  err, HD_EUSAGE,
                  "there is no folder %s here; name the one that heddle check wrote (it writes one when it finds "
                  "something, or with --out DIR)",
                  dir);
  else if (!S_ISDIR(st.st_mode))
    rc =
        hd_fail(err, HD_EUSAGE, "%s is not a folder; name one that heddle check wrote, such as .heddle", dir);
  else
    rc = hd_store_is_finding(dir) ? add_finding(g, dir, err) : add_folder(g, dir, true, err);
  free(dir);
  return rc;
}

/* ---- the page ---- */

static int write_page(struct gather *g, const struct hd_options *o, const char *path, struct hd_err *err) {
  json_t *data = json_pack("{s:s,s:O,s:O,s:o,s:o}", "heddle", HD_VERSION, "searches", g->searches, "findings",
                           g->findings, "operations", hd_page_operations(), "sources", sources(g));
  struct hd_str page;
  hd_str_init(&page);
  hd_page_write(&page, data);
  json_decref(data);
  int rc = HD_OK;
  struct stat st;
  if (strcmp(path, "-") == 0)
    rc = hd_write_all(STDOUT_FILENO, page.s, page.n)
             ? hd_fail(err, HD_EENV, "cannot write to standard output: %s", strerror(errno))
             : HD_OK;
  else if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
    rc = hd_fail(err, HD_EUSAGE, "-o %s: a folder, not a file", path);
  else
    rc = hd_write_file_atomic(path, page.s, page.n, err);
  size_t n = json_array_size(g->findings);
  if (rc == HD_OK && !o->quiet && strcmp(path, "-") != 0)
    hd_say("%s: %zu finding%s, %zu kB; open it in a browser", path, n, n == 1 ? "" : "s",
           (page.n + 999) / 1000);
  hd_str_fini(&page);
  return rc;
}

int hd_cmd_report(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (hd_options_parse(&o, HD_VERB_REPORT, argc, argv, &err) != HD_OK) return hd_err_exit(&err);
  if (o.help) return hd_help_verb("report"), 0;
  struct gather g = {.searches = json_array(), .findings = json_array()};
  int rc = o.nargs == 0 ? add_word(&g, DEFAULT_DIR, false, &err) : HD_OK;
  for (int i = 0; i < o.nargs && rc == HD_OK; i++) rc = add_word(&g, o.args[i], true, &err);
  if (rc == HD_OK) rc = write_page(&g, &o, o.output ? o.output : DEFAULT_FILE, &err);
  for (size_t i = 0; i < g.source.n; i++) {
    free(g.source.v[i].path);
    hd_vec_free(&g.source.v[i].line);
  }
  hd_vec_free(&g.source);
  json_decref(g.searches);
  json_decref(g.findings);
  return rc == HD_OK ? 0 : hd_err_exit(&err);
}

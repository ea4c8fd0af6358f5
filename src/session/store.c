/* store.c: the folder of a finding, .heddle/N: written atomically, read strictly. Runs in the supervisor.
 *
 * A folder is filled as DIR/.tmp-PID and then renamed to the next free number. Damaged data are refused with the file
 * and the problem. docs/formats.md has the formats. */
#include "session/rerun.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_MAX ((size_t)1 << 31)

/* ---- writing ---- */

/* Creates the folders above `dir`; what cannot be created is noticed when `dir` is. */
static void make_parents(const char *dir) {
  for (const char *slash = dir; (slash = strchr(slash + 1, '/'));) {
    char *parent = hd_strndup(dir, (size_t)(slash - dir));
    mkdir(parent, 0777);
    free(parent);
  }
}

int hd_store_init(struct hd_store *s, const char *dir, struct hd_err *err) {
  s->dir = hd_strdup(dir ? dir : ".heddle");
  size_t len = strlen(s->dir);
  while (len > 1 && s->dir[len - 1] == '/') s->dir[--len] = '\0';
  struct stat st;
  int rc = HD_OK;
  if (stat(s->dir, &st) == 0) {
    if (!S_ISDIR(st.st_mode))
      rc = hd_fail(err, HD_EENV, "%s is not a folder, so findings cannot be stored; use --out DIR", s->dir);
    else if (access(s->dir, W_OK | X_OK) && errno != ENOENT) /* another search has just tried it */
      rc = hd_fail(err, HD_EENV, "cannot store findings in %s: %s; use --out DIR", s->dir, strerror(errno));
  } else if (errno != ENOENT) {
    rc = hd_fail(err, HD_EENV, "cannot store findings in %s: %s; use --out DIR", s->dir, strerror(errno));
  } else if (make_parents(s->dir), mkdir(s->dir, 0777)) {
    if (errno != EEXIST) /* another search has just created it */
      rc = hd_fail(err, HD_EENV, "cannot create %s for findings: %s; use --out DIR", s->dir, strerror(errno));
  } else {
    rmdir(s->dir); /* it was created only as a test */
  }
  if (rc != HD_OK) hd_store_fini(s);
  return rc;
}

void hd_store_fini(struct hd_store *s) {
  free(s->dir);
  s->dir = NULL;
}

static json_t *words_json(char *const *words) {
  json_t *a = json_array();
  for (; *words; words++) {
    json_t *s = json_string(*words);
    /* JSON is UTF-8; other bytes are kept as {"bytes": [..]} so that nothing is lost. */
    if (!s) {
      json_t *bytes = json_array();
      for (const unsigned char *p = (const unsigned char *)*words; *p; p++)
        json_array_append_new(bytes, json_integer(*p));
      s = json_pack("{s:o}", "bytes", bytes);
    }
    json_array_append_new(a, s);
  }
  return a;
}

static json_t *command_json(const struct hd_command *c) {
  char hash[20];
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)c->program.hash);
  json_t *cwd = json_string(c->cwd), *path = json_string(c->program.path);
  if (!cwd || !path) {
    json_decref(cwd);
    json_decref(path);
    return NULL;
  }
  return json_pack("{s:s, s:o, s:o, s:o, s:I, s:s, s:s, s:o}", "heddle", HD_VERSION, "argv",
                   words_json(c->argv), "cwd", cwd, "program", path, "size", (json_int_t)c->program.size,
                   "build_id", c->program.build_id, "xxh64", hash, "environment", words_json(c->envp));
}

static int write_part(const char *dir, const char *name, const char *data, size_t len, struct hd_err *err) {
  char *path = hd_sprintf("%s/%s", dir, name);
  int rc = hd_write_file(path, data, len, err);
  free(path);
  return rc;
}

static int write_json(const char *dir, const char *name, json_t *json, struct hd_err *err) {
  char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
  json_decref(json);
  if (!text) return hd_fail(err, HD_EENV, "%s/%s: a path is not UTF-8 and cannot be stored", dir, name);
  char *line = hd_sprintf("%s\n", text);
  int rc = write_part(dir, name, line, strlen(line), err);
  free(line);
  free(text);
  return rc;
}

static int write_input(const char *dir, const struct hd_input *in, struct hd_err *err) {
  if (!in || in->fd < 0) return HD_OK;
  char *data = hd_alloc(in->size);
  ssize_t n = pread(in->fd, data, in->size, 0);
  int rc = n == (ssize_t)in->size ? write_part(dir, "input", data, in->size, err)
                                  : hd_fail(err, HD_EENV, "%s/input: cannot read the kept input", dir);
  free(data);
  return rc;
}

/* The results of earlier calls, which a replay returns from them. */
static int write_calls(const char *dir, const struct hd_command *c, struct hd_err *err) {
  char *data;
  size_t len;
  if (!c->calls) return HD_OK;
  int rc = hd_read_file(c->calls, READ_MAX, &data, &len, err);
  if (rc != HD_OK) return rc;
  rc = write_part(dir, "calls", data, len, err);
  free(data);
  return rc;
}

static int write_trace(const char *dir, const char *name, const struct hd_rerun *r,
                       const struct hd_command *cmd, struct hd_err *err) {
  char *path = hd_sprintf("%s/%s", dir, name);
  struct hd_tr_source *s = hd_rerun_trace(r, cmd, true, false);
  int rc = hd_tr_write_file(s, HD_TR_BINARY, path, err);
  hd_tr_close(s);
  free(path);
  return rc;
}

static int write_smaller(const char *dir, const struct hd_reduction *r, const struct hd_command *cmd,
                         struct hd_err *err) {
  struct hd_str b;
  hd_str_init(&b);
  int rc = write_trace(dir, "trace.min", &r->rerun, cmd, err);
  hd_schedule_format(&b, &r->schedule);
  if (rc == HD_OK) rc = write_part(dir, "schedule.min", b.s, b.n, err);
  hd_str_fini(&b);
  return rc;
}

static int write_texts(const char *dir, const struct hd_finding *f, struct hd_err *err) {
  struct hd_str b;
  hd_str_init(&b);
  hd_text_finding(&b, f, HD_STYLE_PLAIN);
  int rc = write_part(dir, "finding.txt", b.s, b.n, err);
  hd_str_fini(&b);
  return rc == HD_OK ? write_json(dir, "finding.json", hd_json_finding(f), err) : rc;
}

static int write_parts(const char *dir, const struct hd_record *r, struct hd_err *err) {
  struct hd_str b;
  hd_str_init(&b);
  hd_schedule_format(&b, r->schedule);
  int rc = write_part(dir, "schedule", b.s, b.n, err);
  hd_str_fini(&b);
  if (rc == HD_OK) rc = write_trace(dir, "trace", r->rerun, r->command, err);
  if (rc == HD_OK) rc = write_part(dir, "output", r->output->s, r->output->n, err);
  if (rc == HD_OK) rc = write_input(dir, r->input, err);
  if (rc == HD_OK) rc = write_calls(dir, r->command, err);
  if (rc == HD_OK && r->reduction) rc = write_smaller(dir, r->reduction, r->command, err);
  if (rc == HD_OK) rc = write_texts(dir, r->finding, err);
  if (rc == HD_OK) rc = write_json(dir, "command.json", command_json(r->command), err);
  return rc;
}

static int by_number(const void *a, const void *b) {
  unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
  return (x > y) - (x < y);
}

unsigned *hd_store_list(const char *dir, size_t *n) {
  HD_VEC(unsigned) all = {0};
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));) {
    uint64_t number;
    if (hd_parse_u64(e->d_name, 10, 1000000000, &number) && number > 0) hd_vec_push(&all, (unsigned)number);
  }
  if (d) closedir(d);
  if (all.n) qsort(all.v, all.n, sizeof *all.v, by_number);
  *n = all.n;
  return all.v;
}

/* One more than the highest number in use. */
static unsigned next_number(const char *dir) {
  size_t n;
  unsigned *all = hd_store_list(dir, &n), next = n ? all[n - 1] + 1 : 1;
  free(all);
  return next;
}

/* Creates the folder to write into. Its parent may disappear when another search tests whether it can be created. */
static int make_folder(const struct hd_store *s, const char *tmp, struct hd_err *err) {
  for (int tries = 0; tries < 10; tries++) {
    if (mkdir(s->dir, 0777) && errno != EEXIST)
      return hd_fail(err, HD_EENV, "cannot create %s for findings: %s; use --out DIR", s->dir,
                     strerror(errno));
    if (mkdir(tmp, 0777) == 0) return HD_OK;
    if (errno != ENOENT) break;
  }
  return hd_fail(err, HD_EENV, "cannot store a finding in %s: %s; use --out DIR", s->dir, strerror(errno));
}

static json_t *load_quietly(const char *dir, const char *name) {
  char *path = hd_sprintf("%s/%s", dir, name);
  json_t *root = json_load_file(path, 0, NULL);
  free(path);
  return root;
}

/* Whether the folder has this finding of this command; the program may have been rebuilt since. The places of findings of
 * different functions that a test framework searches may be the same, those of the framework: their titles differ. */
static bool is_same(const char *dir, const char *identity, const struct hd_record *r) {
  const struct hd_command *c = r->command;
  json_t *finding = load_quietly(dir, "finding.json"), *title = hd_json_text(r->finding->title);
  const char *then = json_string_value(json_object_get(finding, "identity"));
  bool same = then && strcmp(then, identity) == 0 && json_equal(json_object_get(finding, "title"), title);
  json_decref(title);
  json_decref(finding);
  if (!same) return false;
  json_t *command = load_quietly(dir, "command.json"), *argv = words_json(c->argv);
  const char *program = json_string_value(json_object_get(command, "program"));
  same =
      program && strcmp(program, c->program.path) == 0 && json_equal(json_object_get(command, "argv"), argv);
  json_decref(argv);
  json_decref(command);
  return same;
}

/* The number of the folder with the same finding; 0: there is none. */
static unsigned number_of(const char *dir, const struct hd_record *r) {
  size_t n;
  unsigned *all = hd_store_list(dir, &n), found = 0;
  char *identity = hd_finding_identity(r->finding);
  for (size_t i = n; i-- > 0 && !found;) {
    char *folder = hd_sprintf("%s/%u", dir, all[i]);
    if (is_same(folder, identity, r)) found = all[i];
    free(folder);
  }
  free(identity);
  free(all);
  return found;
}

/* Whether the folder was written for the same build of the program. */
static bool is_same_build(const char *dir, const struct hd_command *c) {
  json_t *command = load_quietly(dir, "command.json");
  const char *then = json_string_value(json_object_get(command, "xxh64"));
  uint64_t hash;
  bool same = then && hd_parse_u64(then, 16, UINT64_MAX, &hash) && hash == c->program.hash;
  json_decref(command);
  return same;
}

/* Moves the folder of the same finding out of the way. */
static void replace_folder(const struct hd_store *s, const char *folder) {
  char *old = hd_sprintf("%s/.old-%d", s->dir, (int)getpid());
  hd_remove_folder(old);
  if (rename(folder, old) == 0) hd_remove_folder(old);
  free(old);
}

int hd_store_write(struct hd_store *s, struct hd_record *r, struct hd_err *err) {
  char *tmp = hd_sprintf("%s/.tmp-%d", s->dir, (int)getpid());
  hd_remove_folder(tmp);
  if (make_folder(s, tmp, err) != HD_OK) {
    free(tmp);
    return err->code;
  }
  struct hd_finding *f = r->finding;
  unsigned same = number_of(s->dir, r);
  int rc;
  for (;; same = 0) {
    f->id = same ? same : next_number(s->dir);
    free(f->folder);
    f->folder = hd_sprintf("%s/%u", s->dir, f->id);
    rc = HD_OK;
    if (same && f->untried && is_same_build(f->folder, r->command)) {
      hd_remove_folder(tmp); /* what is there is more: a search has confirmed it */
      break;
    }
    rc = write_parts(tmp, r, err);
    if (rc == HD_OK && same) replace_folder(s, f->folder);
    /* Another heddle may take the number between the check and the rename. */
    if (rc != HD_OK || rename(tmp, f->folder) == 0) break;
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR) continue;
    rc = hd_fail(err, HD_EENV, "cannot create %s: %s", f->folder, strerror(errno));
    break;
  }
  if (rc != HD_OK) {
    hd_remove_folder(tmp);
    free(f->folder);
    f->folder = NULL;
    f->id = 0;
  }
  free(tmp);
  return rc;
}

int hd_store_complete(const char *dir, const struct hd_finding *f, const struct hd_rerun *r,
                      const struct hd_command *cmd, struct hd_err *err) {
  /* The trace last: until then the folder is as it was to a replay. */
  int rc = write_texts(dir, f, err);
  return rc == HD_OK ? write_trace(dir, "trace", r, cmd, err) : rc;
}

int hd_store_add(const char *dir, struct hd_finding *f, const struct hd_reduction *r,
                 const struct hd_command *cmd, struct hd_err *err) {
  /* While one part is missing or older than the other, there must be no smaller schedule. */
  char *path = hd_sprintf("%s/schedule.min", dir);
  unlink(path);
  free(path);
  int rc = write_smaller(dir, r, cmd, err);
  return rc == HD_OK ? write_texts(dir, f, err) : rc;
}

/* ---- reading ---- */

/* A required part. Without it the folder is not a finding, or is damaged. */
static int read_part(const char *dir, const char *name, char **data, size_t *len, char **path,
                     struct hd_err *err) {
  *path = hd_sprintf("%s/%s", dir, name);
  struct stat st;
  if (stat(*path, &st) == 0 && !S_ISREG(st.st_mode))
    return hd_fail(err, HD_EUSAGE, "not a Heddle finding: %s is not a file", *path);
  if (hd_read_file(*path, READ_MAX, data, len, err) == HD_OK) return HD_OK;
  int code = errno == EACCES ? HD_EENV : HD_EUSAGE;
  char why[1024];
  snprintf(why, sizeof why, "%s", err->text);
  return hd_fail(err, code, "not a Heddle finding: %s", why);
}

static int bad_json(const char *path, const char *key, const char *what, struct hd_err *err) {
  return hd_fail(err, HD_EUSAGE, "%s: damaged: \"%s\" must be %s", path, key, what);
}

static char *word_from_json(json_t *w) {
  if (json_is_string(w)) return hd_strdup(json_string_value(w));
  json_t *bytes = json_object_get(w, "bytes"), *b;
  if (!json_is_array(bytes)) return NULL;
  struct hd_str s;
  hd_str_init(&s);
  size_t i;
  json_array_foreach(bytes, i, b) {
    json_int_t v = json_is_integer(b) ? json_integer_value(b) : 0;
    if (v < 1 || v > 255) {
      hd_str_fini(&s);
      return NULL;
    }
    hd_str_addc(&s, (char)v);
  }
  return s.s;
}

static int words_from_json(json_t *root, const char *key, size_t min, char ***out, const char *path,
                           struct hd_err *err) {
  json_t *a = json_object_get(root, key), *w;
  if (!json_is_array(a) || json_array_size(a) < min) return bad_json(path, key, "a list of strings", err);
  char **words = hd_alloc((json_array_size(a) + 1) * sizeof *words);
  *out = words;
  size_t i;
  json_array_foreach(a, i, w) {
    words[i] = word_from_json(w);
    if (!words[i]) return bad_json(path, key, "a list of strings", err);
  }
  return HD_OK;
}

static int string_from_json(json_t *root, const char *key, char **out, const char *path, struct hd_err *err) {
  json_t *s = json_object_get(root, key);
  if (!json_is_string(s)) return bad_json(path, key, "a string", err);
  *out = hd_strdup(json_string_value(s));
  return HD_OK;
}

static int read_command(json_t *root, struct hd_command *c, const char *path, struct hd_err *err) {
  char *hash = NULL, *id = NULL;
  json_t *size = json_object_get(root, "size");
  int rc = words_from_json(root, "argv", 1, &c->argv, path, err);
  if (rc == HD_OK) rc = words_from_json(root, "environment", 0, &c->envp, path, err);
  if (rc == HD_OK) rc = string_from_json(root, "cwd", &c->cwd, path, err);
  if (rc == HD_OK) rc = string_from_json(root, "program", &c->program.path, path, err);
  if (rc == HD_OK) rc = string_from_json(root, "build_id", &id, path, err);
  if (rc == HD_OK) rc = string_from_json(root, "xxh64", &hash, path, err);
  if (rc == HD_OK && !hd_parse_u64(hash, 16, UINT64_MAX, &c->program.hash))
    rc = bad_json(path, "xxh64", "a hexadecimal number", err);
  if (rc == HD_OK && (!json_is_integer(size) || json_integer_value(size) < 0))
    rc = bad_json(path, "size", "a number", err);
  if (rc == HD_OK && strlen(id) >= sizeof c->program.build_id)
    rc = bad_json(path, "build_id", "a build-id", err);
  if (rc == HD_OK && c->program.path[0] != '/') rc = bad_json(path, "program", "an absolute path", err);
  if (rc == HD_OK && c->cwd[0] != '/') rc = bad_json(path, "cwd", "an absolute path", err);
  if (rc == HD_OK) {
    c->program.size = (uint64_t)json_integer_value(size);
    strcpy(c->program.build_id, id);
  }
  free(hash);
  free(id);
  return rc;
}

static int load_json(const char *dir, const char *name, json_t **root, char **path, struct hd_err *err) {
  char *data = NULL;
  size_t len;
  *root = NULL;
  int rc = read_part(dir, name, &data, &len, path, err);
  if (rc != HD_OK) return rc;
  json_error_t e;
  *root = json_loadb(data, len, JSON_REJECT_DUPLICATES, &e);
  free(data);
  if (!*root) {
    for (char *c = e.text; *c; c++) /* it quotes the file, which is not trusted */
      if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    return hd_fail(err, HD_EUSAGE, "%s:%d: damaged: %s", *path, e.line, e.text);
  }
  if (!json_is_object(*root)) {
    json_decref(*root);
    *root = NULL;
    return hd_fail(err, HD_EUSAGE, "%s:1: damaged: expected a JSON object", *path);
  }
  return HD_OK;
}

static int read_schedule(const char *dir, const char *name, struct hd_schedule *out, struct hd_err *err) {
  char *data = NULL, *path;
  size_t len;
  int rc = read_part(dir, name, &data, &len, &path, err);
  if (rc == HD_OK) rc = hd_schedule_parse(out, data, len, path, err);
  free(data);
  free(path);
  return rc;
}

/* Reads the trace once, so that a damaged one is refused before anything is run. */
static int read_trace(const char *dir, const char *name, struct hd_stored *out, struct hd_err *err) {
  char *data = NULL, *path;
  size_t len;
  struct hd_tr_source *s = NULL;
  struct hd_tr_stat st = {0};
  int rc = read_part(dir, name, &data, &len, &path, err);
  if (rc == HD_OK) rc = hd_tr_open(data, len, path, &s, err);
  if (rc == HD_OK) rc = hd_tr_stat(s, &st, err);
  hd_tr_close(s);
  free(st.thread);
  free(out->trace);
  out->trace = path;
  out->nevents = st.events;
  out->noperations = st.events - st.plain;
  return rc;
}

static bool has_part(const char *dir, const char *name) {
  char *path = hd_sprintf("%s/%s", dir, name);
  bool there = access(path, F_OK) == 0;
  free(path);
  return there;
}

bool hd_store_is_finding(const char *dir) { return has_part(dir, "schedule"); }

bool hd_store_is_minimised(const char *dir) { return has_part(dir, "schedule.min"); }

char *hd_store_trace(const char *dir) {
  return hd_sprintf("%s/%s", dir, hd_store_is_minimised(dir) ? "trace.min" : "trace");
}

/* Replaces schedule and trace by those of the smaller schedule. */
static int read_smaller(const char *dir, struct hd_stored *out, struct hd_err *err) {
  struct hd_schedule schedule = {0};
  int rc = read_schedule(dir, "schedule.min", &schedule, err);
  if (rc == HD_OK && (schedule.kind != out->schedule.kind || schedule.key != out->schedule.key))
    rc =
        hd_fail(err, HD_EUSAGE,
                "%s/schedule.min: damaged: it belongs to another finding than schedule; use --original", dir);
  if (rc == HD_OK) rc = read_trace(dir, "trace.min", out, err);
  if (rc != HD_OK) {
    hd_schedule_fini(&schedule);
    return rc;
  }
  hd_schedule_fini(&out->schedule);
  out->schedule = schedule;
  return HD_OK;
}

static int read_run_parts(const char *dir, bool original, struct hd_stored *out, struct hd_err *err) {
  int rc = read_schedule(dir, "schedule", &out->schedule, err);
  if (rc == HD_OK) rc = read_trace(dir, "trace", out, err);
  return rc == HD_OK && !original && hd_store_is_minimised(dir) ? read_smaller(dir, out, err) : rc;
}

/* The row of the story that was shown with this number, plus 1. */
static size_t row_with_number(json_t *rows, json_t *number) {
  size_t i;
  json_t *row;
  json_array_foreach(rows, i, row) {
    json_t *n = json_object_get(row, "number");
    if (json_is_integer(n) && json_integer_value(n) == json_integer_value(number)) return i + 1;
  }
  return 0;
}

static void read_order(json_t *root, struct hd_stored *out) {
  json_t *story = json_object_get(root, "story"), *order = json_object_get(story, "order");
  json_t *before = json_object_get(order, "before"), *after = json_object_get(order, "after");
  if (!json_is_integer(before) || !json_is_integer(after)) return;
  out->before = row_with_number(json_object_get(story, "rows"), before);
  out->after = row_with_number(json_object_get(story, "rows"), after);
}

static int read_json_parts(const char *dir, struct hd_stored *out, struct hd_err *err) {
  json_t *root;
  char *path;
  int rc = load_json(dir, "command.json", &root, &path, err);
  if (rc == HD_OK) rc = read_command(root, &out->command, path, err);
  json_decref(root);
  free(path);
  if (rc != HD_OK) return rc;
  rc = load_json(dir, "finding.json", &root, &path, err);
  if (rc == HD_OK) rc = string_from_json(root, "title", &out->title, path, err);
  if (rc == HD_OK) read_order(root, out);
  json_t *kind = json_object_get(root, "kind");
  if (rc == HD_OK &&
      (!json_is_string(kind) || strcmp(json_string_value(kind), hd_kind_name[out->schedule.kind]) != 0))
    rc = bad_json(path, "kind", "the kind that the schedule names", err);
  json_decref(root);
  free(path);
  return rc;
}

static int no_folder(const char *dir, struct hd_err *err) {
  int why = errno;
  struct stat st;
  char *meant = hd_sprintf(".heddle/%s", dir);
  bool there = why == ENOENT && stat(meant, &st) == 0 && S_ISDIR(st.st_mode);
  int rc = there ? hd_fail(err, HD_EUSAGE, "%s: no such folder; did you mean %s?", dir, meant)
                 : hd_fail(err, HD_EUSAGE, "%s: %s", dir, strerror(why));
  free(meant);
  return rc;
}

int hd_store_read(const char *dir, bool original, struct hd_stored *out, struct hd_err *err) {
  *out = (struct hd_stored){0};
  struct stat st;
  if (stat(dir, &st)) return no_folder(dir, err);
  if (!S_ISDIR(st.st_mode)) return hd_fail(err, HD_EUSAGE, "not a Heddle finding: %s is not a folder", dir);
  int rc = read_run_parts(dir, original, out, err);
  if (rc == HD_OK) rc = read_json_parts(dir, out, err);
  if (has_part(dir, "input")) out->input_path = hd_sprintf("%s/input", dir);
  if (rc == HD_OK && has_part(dir, "calls")) {
    char *cwd = hd_cwd(), *folder = hd_absolute(cwd ? cwd : "/", dir);
    out->command.calls = hd_sprintf("%s/calls", folder);
    free(folder);
    free(cwd);
  }
  if (rc != HD_OK) hd_stored_fini(out);
  return rc;
}

void hd_stored_fini(struct hd_stored *s) {
  hd_schedule_fini(&s->schedule);
  free(s->trace);
  hd_command_fini(&s->command);
  free(s->title);
  free(s->input_path);
  *s = (struct hd_stored){0};
}

int hd_store_texts(const char *dir, size_t most, json_t **finding, char **text, char **output,
                   struct hd_err *err) {
  char *path;
  size_t len;
  *text = *output = NULL;
  int rc = load_json(dir, "finding.json", finding, &path, err);
  free(path);
  if (rc != HD_OK) return rc;
  rc = read_part(dir, "finding.txt", text, &len, &path, err);
  free(path);
  if (rc != HD_OK) return rc;
  rc = read_part(dir, "output", output, &len, &path, err);
  free(path);
  if (rc == HD_OK && len > most) (*output)[most] = '\0';
  return rc;
}

static int check_search(json_t *root, const char *path, struct hd_err *err) {
  static const char *const number[] = {"executions", "executions_per_second", "seconds", "events", "threads",
                                       "seed"};
  static const char *const text[] = {"strategy", "verdict", "stopped"};
  static const char *const list[] = {"command", "findings", "samples"};
  for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
    if (!json_is_number(json_object_get(root, number[i]))) return bad_json(path, number[i], "a number", err);
  for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
    if (!json_is_string(json_object_get(root, text[i]))) return bad_json(path, text[i], "a string", err);
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
    if (!json_is_array(json_object_get(root, list[i]))) return bad_json(path, list[i], "a list", err);
  return HD_OK;
}

int hd_store_search(const char *dir, json_t **out, struct hd_err *err) {
  *out = NULL;
  if (!has_part(dir, HD_SEARCH_FILE)) return HD_OK;
  char *path;
  int rc = load_json(dir, HD_SEARCH_FILE, out, &path, err);
  if (rc == HD_OK) rc = check_search(*out, path, err);
  if (rc != HD_OK) {
    json_decref(*out);
    *out = NULL;
  }
  free(path);
  return rc;
}

int hd_store_search_update(const char *dir, json_t *parts, struct hd_err *err) {
  json_t *search;
  if (!dir) dir = ".heddle";
  int rc = hd_store_search(dir, &search, err);
  if (rc != HD_OK || !search) return rc;
  json_object_update(search, parts);
  char *dump = json_dumps(search, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
  char *text = hd_sprintf("%s\n", dump ? dump : "{}"), *path = hd_sprintf("%s/" HD_SEARCH_FILE, dir);
  rc = hd_write_file_atomic(path, text, strlen(text), err);
  free(path);
  free(text);
  free(dump);
  json_decref(search);
  return rc;
}

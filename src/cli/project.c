/* project.c: reads heddle.toml, for `heddle check` without a program. Runs in the supervisor.
 *
 * The file is in the current folder or the nearest parent that has one; its paths are relative to its folder. Keys are
 * the long options of `heddle check`, read through the same table, and a few of its own. Mistakes are reported with
 * line and column before anything is run. */
#include "cli/project.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SIZE (256 << 10)

/* ---- messages ---- */

HD_PRINTF(5, 6)
static int wrong(const struct hd_project *p, int line, int column, struct hd_err *err, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  hd_toml_fail(err, p->file, line, column, fmt, ap);
  va_end(ap);
  return err->code;
}
#define wrong_key(p, v, err, ...) wrong(p, (v)->key_line, (v)->key_column, err, __VA_ARGS__)
#define wrong_value(p, v, err, ...) wrong(p, (v)->line, (v)->column, err, __VA_ARGS__)

/* The edit distance. */
static size_t distance(const char *a, const char *b) {
  size_t n = strlen(b);
  size_t *row = hd_alloc((n + 1) * sizeof *row);
  for (size_t k = 0; k <= n; k++) row[k] = k;
  for (size_t i = 1; *a; a++, i++) {
    size_t corner = row[0];
    row[0] = i;
    for (size_t k = 1; k <= n; k++) {
      size_t best = corner + (*a != b[k - 1]);
      if (row[k] + 1 < best) best = row[k] + 1;
      if (row[k - 1] + 1 < best) best = row[k - 1] + 1;
      corner = row[k];
      row[k] = best;
    }
  }
  size_t d = row[n];
  free(row);
  return d;
}

struct guess {
  const char *word, *best;
  size_t distance;
};

static void guess(struct guess *g, const char *candidate) {
  size_t d = distance(g->word, candidate);
  if (d < g->distance) *g = (struct guess){g->word, candidate, d};
}

/* Looks up an option by name; false if it is unknown. */
static bool find_option(const char *name, struct hd_option_info *out, struct guess *g, bool target) {
  for (size_t at = 0; hd_options_next(HD_VERB_CHECK, &at, out);) {
    if (strcmp(out->name, name) == 0) return true;
    if (out->place == HD_PLACE_ANY || (out->place == HD_PLACE_PROJECT && !target)) guess(g, out->name);
  }
  return false;
}

static struct guess new_guess(const char *word) {
  return (struct guess){word, NULL, strlen(word) < 4 ? 2 : 3}; /* a smaller distance counts as a typo */
}

static int unknown(const struct hd_project *p, const struct hd_toml *v, const struct guess *g,
                   struct hd_err *err) {
  if (g->best) return wrong_key(p, v, err, "unknown key `%s`; do you mean `%s`?", v->key, g->best);
  return wrong_key(p, v, err, "unknown key `%s`; keys are the long options of `heddle help check`", v->key);
}

/* ---- values ---- */

char *hd__project_own(struct hd_project *p, char *s) {
  hd_vec_push(&p->made, s);
  return s;
}

static int get_string(const struct hd_project *p, const struct hd_toml *v, const char **out,
                      struct hd_err *err) {
  if (v->type != HD_TOML_STRING)
    return wrong_value(p, v, err, "`%s` needs a string, not %s", v->key, hd_toml_kind(v));
  if (!*v->text) return wrong_value(p, v, err, "`%s` is empty; leave it out or give it a value", v->key);
  *out = v->text;
  return HD_OK;
}

/* A file named in heddle.toml, relative to the current folder. */
static const char *from_here(struct hd_project *p, const char *path) {
  if (path[0] == '/' || strcmp(path, "-") == 0 || !*p->prefix) return path;
  return hd__project_own(p, hd_sprintf("%s%s", p->prefix, path));
}

static bool is_path(const struct hd_option_info *i) {
  return i->arg && (strcmp(i->arg, "FILE") == 0 || strcmp(i->arg, "DIR") == 0);
}

/* Checks the type of an option's value, by its placeholder in the help. */
static bool fits(const struct hd_option_info *i, const struct hd_toml *v, const char **needs) {
  bool count = i->arg && i->arg[0] == 'N' && (!i->arg[1] || i->arg[1] == '|'), only = count && !i->arg[1];
  bool time = i->arg && (strcmp(i->arg, "TIME") == 0 || strstr(i->arg, "90s"));
  *needs = !i->arg ? "true or false"
           : only  ? "a whole number"
           : count ? "a whole number or a string"
           : time  ? "a time such as \"90s\", \"5m\" or \"2h\""
                   : "a string";
  switch (v->type) {
    case HD_TOML_BOOLEAN: return !i->arg;
    case HD_TOML_INTEGER: return count || time;
    case HD_TOML_FLOAT: return time;
    case HD_TOML_STRING: return i->arg && !only;
    default: return false;
  }
}

/* One value of an option; lists have several. */
static int set_value(struct hd_project *p, struct hd_options *o, const struct hd_option_info *i,
                     const char *key, const struct hd_toml *v, struct hd_err *err) {
  const char *needs, *text = v->text;
  if (!fits(i, v, &needs))
    return wrong_value(p, v, err, "`%s` needs %s%s, not %s", key, needs, i->list ? " or a list of them" : "",
                       hd_toml_kind(v));
  if (v->type == HD_TOML_INTEGER) text = hd__project_own(p, hd_sprintf("%lld", (long long)v->integer));
  if (i->arg && !*text) return wrong_value(p, v, err, "`%s` is empty; leave it out or give it a value", key);
  if (is_path(i)) text = from_here(p, text);
  struct hd_err why;
  int rc = hd_options_set(o, HD_VERB_CHECK, i->name, text, v->integer, &why);
  if (rc == HD_OK) return HD_OK;
  /* The message names --time, as on the command line. */
  return wrong_value(p, v, err, "%s", why.text + (strncmp(why.text, "--", 2) == 0 ? 2 : 0));
}

static int set_option(struct hd_project *p, struct hd_options *o, const struct hd_option_info *i, bool target,
                      const struct hd_toml *v, struct hd_err *err) {
  if (i->place == HD_PLACE_COMMAND)
    return wrong_key(p, v, err, "`%s` is for the command line; take it out of the file", v->key);
  if (i->place == HD_PLACE_PROJECT && target)
    return wrong_key(p, v, err, "`%s` is for all targets together; put it into [defaults]", v->key);
  if (!i->list || v->type != HD_TOML_ARRAY) return set_value(p, o, i, v->key, v, err);
  int rc = HD_OK;
  for (size_t k = 0; k < v->item.n && rc == HD_OK; k++) rc = set_value(p, o, i, v->key, v->item.v[k], err);
  return rc;
}

/* ---- [defaults] ---- */

static int read_defaults(struct hd_project *p, struct hd_options *o, struct hd_err *err) {
  const struct hd_toml *t = hd_toml_get(p->toml, "defaults");
  hd_options_init(o, HD_VERB_CHECK);
  int rc = hd_options_environment(o, HD_VERB_CHECK, err);
  for (size_t i = 0; t && i < t->item.n && rc == HD_OK; i++) {
    struct hd_option_info info;
    struct guess g = new_guess(t->item.v[i]->key);
    if (find_option(g.word, &info, &g, false))
      rc = set_option(p, o, &info, false, t->item.v[i], err);
    else
      rc = unknown(p, t->item.v[i], &g, err);
  }
  hd_options_layer(o);
  return rc;
}

/* ---- [[target]] ---- */

static int read_build(const struct hd_project *p, const struct hd_toml *v, struct hd_build *out,
                      struct hd_err *err) {
  out->line = v->line;
  out->column = v->column;
  return get_string(p, v, &out->command, err);
}

static int read_args(const struct hd_project *p, const struct hd_toml *v, struct hd_task *t,
                     struct hd_err *err) {
  size_t n = v->type == HD_TOML_ARRAY ? v->item.n : 0;
  if (v->type != HD_TOML_ARRAY)
    return wrong_value(p, v, err, "`args` needs a list of strings, not %s: args = [\"one\", \"two\"]",
                       hd_toml_kind(v));
  t->argv = hd_realloc(t->argv, (n + 2) * sizeof *t->argv);
  for (size_t i = 0; i < n; i++) {
    const struct hd_toml *w = v->item.v[i];
    if (w->type != HD_TOML_STRING)
      return wrong_value(p, w, err, "an argument is a string, not %s; put it in quotes", hd_toml_kind(w));
    t->argv[i + 1] = w->text;
  }
  t->argv[n + 1] = NULL;
  return HD_OK;
}

static int read_env(const struct hd_project *p, const struct hd_toml *v, struct hd_task *t,
                    struct hd_err *err) {
  if (v->type != HD_TOML_TABLE)
    return wrong_value(p, v, err, "`env` needs a table, not %s: env = { NAME = \"value\" }", hd_toml_kind(v));
  for (size_t i = 0; i < v->item.n; i++) {
    const struct hd_toml *e = v->item.v[i];
    if (!*e->key || strchr(e->key, '=')) return wrong_key(p, e, err, "this is no name for a variable");
    if (e->type != HD_TOML_STRING)
      return wrong_value(p, e, err, "`%s` needs a string, not %s; put it in quotes", e->key, hd_toml_kind(e));
  }
  for (size_t i = 0; i < v->item.n; i++)
    hd_vec_push(&t->env, ((struct hd_variable){v->item.v[i]->key, v->item.v[i]->text}));
  return HD_OK;
}

/* The name is a folder below .heddle, where findings are folders with numbers. */
static int check_name(const struct hd_project *p, const char *name, int line, int column,
                      struct hd_err *err) {
  bool bad = name[0] == '.' || strchr(name, '/') || strlen(name) > HD_MAX_TARGET_NAME ||
             strspn(name, "0123456789") == strlen(name);
  for (const char *c = name; *c; c++) bad |= (unsigned char)*c < ' ' || *c == 0x7f;
  if (bad)
    return wrong(
        p, line, column, err,
        "a target's name is the name of a folder, too: at most %d bytes, without slashes or a dot at its "
        "beginning, and not just a number",
        HD_MAX_TARGET_NAME);
  for (size_t i = 0; i < p->task.n; i++)
    if (strcmp(p->task.v[i].name, name) == 0)
      return wrong(p, line, column, err,
                   "two targets are called `%s`, the first in line %d; give this one another name", name,
                   p->task.v[i].line);
  return HD_OK;
}

static int read_key(struct hd_project *p, struct hd_task *t, const struct hd_toml *v, struct hd_err *err) {
  static const char *const own[] = {"name", "program", "args", "cwd", "env", "build", "input"};
  struct hd_option_info info;
  struct guess g = new_guess(v->key);
  const char *s;
  int rc;
  if (strcmp(v->key, "name") == 0) {
    rc = get_string(p, v, &s, err);
    if (rc == HD_OK) rc = check_name(p, s, v->line, v->column, err);
    if (rc == HD_OK) t->name = hd_strdup(s);
    return rc;
  }
  if (strcmp(v->key, "program") == 0) return get_string(p, v, &s, err);
  if (strcmp(v->key, "args") == 0) return read_args(p, v, t, err);
  if (strcmp(v->key, "env") == 0) return read_env(p, v, t, err);
  if (strcmp(v->key, "build") == 0) return read_build(p, v, &t->build, err);
  if (strcmp(v->key, "cwd") == 0) {
    rc = get_string(p, v, &s, err);
    if (rc == HD_OK) t->o.cwd = hd__project_own(p, hd_absolute(p->folder, s));
    return rc;
  }
  if (strcmp(v->key, "input") == 0) {
    rc = get_string(p, v, &s, err);
    if (rc == HD_OK) t->input = from_here(p, s);
    return rc;
  }
  if (find_option(v->key, &info, &g, true)) return set_option(p, &t->o, &info, true, v, err);
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) guess(&g, own[i]);
  return unknown(p, v, &g, err);
}

/* The program as argv[0]: a path relative to the folder of the file. */
static char *program_word(struct hd_project *p, const struct hd_task *t, const char *program) {
  if (program[0] == '/') return hd__project_own(p, hd_strdup(program));
  if (t->o.cwd) return hd__project_own(p, hd_absolute(p->folder, program));
  return hd__project_own(p, strchr(program, '/') ? hd_strdup(program) : hd_sprintf("./%s", program));
}

/* Fills in missing keys. */
static int complete(struct hd_project *p, struct hd_task *t, const struct hd_toml *v, struct hd_err *err) {
  const struct hd_toml *program = hd_toml_get(v, "program");
  if (!program) return wrong_value(p, v, err, "this target has no program: add program = \"./test\" to it");
  if (!t->name) {
    t->name = hd_strdup(hd_base_name(program->text));
    int rc = check_name(p, t->name, program->line, program->column, err);
    if (rc != HD_OK) return rc;
  }
  if (!t->argv) t->argv = hd_alloc(2 * sizeof *t->argv);
  t->argv[0] = program_word(p, t, program->text);
  if (!t->o.cwd) t->o.cwd = p->folder;
  return HD_OK;
}

static int finish(struct hd_project *p, struct hd_task *t, int argc, char **argv, struct hd_err *err) {
  struct hd_err why;
  const char *cwd = t->o.cwd;
  hd_options_layer(&t->o);
  int rc = hd_options_words(&t->o, HD_VERB_CHECK, argc, argv, &why);
  if (rc == HD_OK) rc = hd_options_finish(&t->o, HD_VERB_CHECK, &why);
  if (rc != HD_OK) return wrong(p, t->line, t->column, err, "target `%s`: %s", t->name, why.text);
  t->o.name = t->name;
  t->o.cwd = cwd;
  t->o.args = t->argv;
  for (t->o.nargs = 0; t->argv[t->o.nargs];) t->o.nargs++;
  const char *out = t->o.out ? t->o.out : from_here(p, ".heddle");
  t->o.out = hd__project_own(p, hd_sprintf("%s/%s", out, t->name));
  return HD_OK;
}

static int read_target(struct hd_project *p, const struct hd_toml *v, int argc, char **argv,
                       struct hd_err *err) {
  struct hd_task t = {.line = v->line, .column = v->column};
  int rc = read_defaults(p, &t.o, err);
  for (size_t i = 0; i < v->item.n && rc == HD_OK; i++) rc = read_key(p, &t, v->item.v[i], err);
  if (rc == HD_OK) rc = complete(p, &t, v, err);
  if (rc == HD_OK) rc = finish(p, &t, argc, argv, err);
  hd_vec_push(&p->task, t); /* also to be freed */
  return rc;
}

/* ---- the file ---- */

static int read_top(struct hd_project *p, const struct hd_toml *v, struct hd_err *err) {
  if (strcmp(v->key, "build") == 0) return read_build(p, v, &p->build, err);
  if (strcmp(v->key, "defaults") == 0)
    return v->type == HD_TOML_TABLE ? HD_OK
                                    : wrong_value(p, v, err, "write [defaults] as the line before its keys");
  if (strcmp(v->key, "target") == 0) {
    bool tables = v->type == HD_TOML_ARRAY;
    for (size_t i = 0; tables && i < v->item.n; i++) tables = v->item.v[i]->type == HD_TOML_TABLE;
    return tables ? HD_OK
                  : wrong_key(p, v, err, "write [[target]], in two brackets, as the line before its keys");
  }
  struct hd_option_info info;
  struct guess g = new_guess(v->key), unused = g;
  if (find_option(v->key, &info, &unused, false) && info.place != HD_PLACE_COMMAND)
    return wrong_key(p, v, err, "`%s` belongs below [defaults] or into a [[target]]", v->key);
  guess(&g, "build");
  guess(&g, "defaults");
  guess(&g, "target");
  if (g.best) return unknown(p, v, &g, err);
  return wrong_key(p, v, err, "unknown key `%s`; the top level has only build, [defaults] and [[target]]",
                   v->key);
}

static bool is_chosen(const struct hd_word_list *patterns, const char *name) {
  for (unsigned i = 0; i < patterns->n; i++)
    if (fnmatch(patterns->v[i], name, 0) == 0) return true;
  return patterns->n == 0;
}

static void free_task(struct hd_task *t) {
  free(t->name);
  free(t->argv);
  hd_vec_free(&t->env);
}

int hd__project_choose(struct hd_project *p, struct hd_err *err) {
  struct hd_str names;
  hd_str_init(&names);
  for (size_t i = 0; i < p->task.n; i++) hd_str_addf(&names, "%s%s", i ? ", " : "", p->task.v[i].name);
  for (unsigned k = 0; k < p->o.targets.n; k++) {
    struct hd_word_list one = {.v = {p->o.targets.v[k]}, .n = 1};
    size_t i = 0;
    while (i < p->task.n && !is_chosen(&one, p->task.v[i].name)) i++;
    if (i == p->task.n) {
      hd_fail(err, HD_EUSAGE, "--target %s: %s has no such target; there are: %s", one.v[0], p->file,
              names.s);
      hd_str_fini(&names);
      return err->code;
    }
  }
  hd_str_fini(&names);
  size_t n = 0;
  for (size_t i = 0; i < p->task.n; i++) {
    if (is_chosen(&p->o.targets, p->task.v[i].name))
      p->task.v[n++] = p->task.v[i];
    else
      free_task(&p->task.v[i]);
  }
  p->task.n = n;
  return HD_OK;
}

static int read_project(struct hd_project *p, int argc, char **argv, struct hd_err *err) {
  int rc = HD_OK;
  for (size_t i = 0; i < p->toml->item.n && rc == HD_OK; i++) rc = read_top(p, p->toml->item.v[i], err);
  if (rc == HD_OK) rc = read_defaults(p, &p->o, err);
  if (rc == HD_OK) rc = hd_options_words(&p->o, HD_VERB_CHECK, argc, argv, err);
  if (rc == HD_OK && (p->o.save || p->o.resume))
    rc = hd_fail(err, HD_EUSAGE, "--%s is for one program: heddle check --%s FILE -- PROGRAM",
                 p->o.save ? "save" : "resume", p->o.save ? "save" : "resume");
  const struct hd_toml *targets = hd_toml_get(p->toml, "target");
  for (size_t i = 0; targets && i < targets->item.n && rc == HD_OK; i++)
    rc = read_target(p, targets->item.v[i], argc, argv, err);
  if (rc == HD_OK && p->task.n == 0)
    rc = hd_fail(err, HD_EUSAGE, "%s has no targets: add [[target]] and, below it, program = \"./test\"",
                 p->file);
  return rc == HD_OK ? hd__project_choose(p, err) : rc;
}

/* ---- finding it ---- */

/* The file here or in the nearest parent folder that has it. A file of another user is not used: it names programs and
 * commands that would be run. */
static int find_file(struct hd_project *p, struct hd_err *err) {
  char *cwd = hd_cwd();
  if (!cwd) return hd_fail(err, HD_EENV, "the current folder no longer exists; cd to one that does");
  struct hd_str prefix;
  hd_str_init(&prefix);
  struct stat st;
  for (;;) {
    char *name = hd_sprintf("%s" HD_PROJECT_FILE, prefix.s);
    if (stat(name, &st) == 0 && S_ISREG(st.st_mode)) {
      p->file = name;
      p->folder = cwd;
      p->prefix = hd_str_take(&prefix);
      if (!*p->prefix || st.st_uid == getuid() || st.st_uid == 0) return HD_OK;
      return hd_fail(err, HD_EUSAGE, "%s belongs to another user; if you trust it: heddle check --config %s",
                     name, name);
    }
    free(name);
    char *slash = strrchr(cwd, '/');
    if (!slash || !slash[1]) break;
    slash[slash == cwd] = '\0';
    hd_str_add(&prefix, "../");
  }
  free(cwd);
  hd_str_fini(&prefix);
  return hd_fail(err, HD_EUSAGE,
                 "no program given, and no " HD_PROJECT_FILE
                 " here or above: heddle check [options] -- PROGRAM [ARGS], or heddle init");
}

static int use_file(struct hd_project *p, const char *path, struct hd_err *err) {
  const char *slash = strrchr(path, '/');
  p->file = hd_strdup(path);
  p->prefix = slash ? hd_strndup(path, (size_t)(slash + 1 - path)) : hd_strdup("");
  p->folder = realpath(slash ? p->prefix : ".", NULL);
  if (!p->folder) return hd_fail(err, HD_EUSAGE, "--config %s: %s", path, strerror(errno));
  return HD_OK;
}

int hd_project_open(struct hd_project *p, const char *config, int argc, char **argv, struct hd_err *err) {
  *p = (struct hd_project){0};
  char *text = NULL;
  size_t len;
  int rc = config ? use_file(p, config, err) : find_file(p, err);
  if (rc == HD_OK && hd_read_file(p->file, MAX_SIZE, &text, &len, err) != HD_OK) rc = err->code = HD_EUSAGE;
  if (rc == HD_OK) rc = hd_toml_parse(text, len, p->file, &p->toml, err);
  free(text);
  if (rc == HD_OK) rc = read_project(p, argc, argv, err);
  if (rc != HD_OK) hd_project_fini(p);
  return rc;
}

void hd_project_fini(struct hd_project *p) {
  for (size_t i = 0; i < p->task.n; i++) free_task(&p->task.v[i]);
  for (size_t i = 0; i < p->made.n; i++) free(p->made.v[i]);
  hd_vec_free(&p->task);
  hd_vec_free(&p->made);
  hd_toml_free(p->toml);
  free(p->file);
  free(p->folder);
  free(p->prefix);
  *p = (struct hd_project){0};
}

/* suite.c: the tests of a build folder of CMake or Meson, or of a list of commands, as a project. Runs in the supervisor.
 *
 * A test of CTest that heddle_add_test has made is the program behind its `heddle check`. */
#include "cli/project.h"
#include "session/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_SIZE (64 << 20)
#define SHOWN 3 /* tests that are left out and named */

/* What is read so far. */
struct suite {
  struct hd_project *p;
  int nwords; /* the command line */
  char **words;
  size_t left_out;
};

/* ---- tests ---- */

/* The name of a folder below .heddle, which no other test has. */
static char *folder_name(const struct hd_project *p, const char *name) {
  char *out = hd_strndup(*name ? name : "test", HD_MAX_TARGET_NAME - 8);
  for (char *c = out; *c; c++)
    if (*c == '/' || (unsigned char)*c < ' ' || *c == 0x7f) *c = '-';
  if (out[0] == '.' || strspn(out, "0123456789") == strlen(out)) {
    char *longer = hd_sprintf("test-%s", out);
    free(out);
    out = longer;
  }
  char *unique = hd_strdup(out);
  for (size_t i = 0, n = 2; i < p->task.n; i++) {
    if (strcmp(p->task.v[i].name, unique) != 0) continue;
    free(unique);
    unique = hd_sprintf("%s-%zu", out, n++);
    i = (size_t)-1;
  }
  free(out);
  return unique;
}

/* The words of the program in a command that may be `heddle check ... -- PROGRAM`. */
static char **program_words(char **argv) {
  if (strcmp(hd_base_name(argv[0]), "heddle") != 0) return argv;
  char **word = argv;
  while (*word && strcmp(*word, "--") != 0) word++;
  return *word && word[1] ? word + 1 : argv;
}

static bool is_program(struct suite *s, const char *name, const char *program, const char *cwd) {
  struct hd_program found = {0};
  struct hd_err err;
  if (hd_program_open(program, getenv("PATH"), cwd, &found, &err) == HD_OK) {
    hd_program_fini(&found);
    return true;
  }
  if (s->left_out++ < SHOWN) hd_warn("%s is left out: %s", name, err.text);
  return false;
}

/* Adds the test with the options of the command line; the words are freed. `t` has its environment, and what it ignores. */
static int add_test(struct suite *s, const char *name, char **argv, const char *cwd, struct hd_task *t,
                    struct hd_err *err) {
  struct hd_project *p = s->p;
  char **words = program_words(argv), **own = argv;
  size_t n = 0;
  uint64_t ignored = t->o.ignore;
  hd_options_init(&t->o, HD_VERB_CHECK);
  int rc = hd_options_environment(&t->o, HD_VERB_CHECK, err);
  if (rc == HD_OK) rc = hd_options_words(&t->o, HD_VERB_CHECK, s->nwords, s->words, err);
  if (rc == HD_OK) rc = hd_options_finish(&t->o, HD_VERB_CHECK, err);
  if (rc == HD_OK && is_program(s, name, words[0], cwd)) {
    t->name = folder_name(p, name);
    t->argv = hd_alloc(sizeof *t->argv);
    for (; words[n]; n++) {
      t->argv = hd_realloc(t->argv, (n + 2) * sizeof *t->argv);
      t->argv[n] = hd__project_own(p, hd_strdup(words[n]));
    }
    t->argv[n] = NULL;
    t->o.ignore |= ignored;
    t->o.name = t->name;
    t->o.cwd = hd__project_own(p, hd_strdup(cwd));
    t->o.args = t->argv;
    t->o.nargs = (int)n;
    t->o.out = hd__project_own(p, hd_sprintf("%s/%s", t->o.out ? t->o.out : ".heddle", t->name));
    hd_vec_push(&p->task, *t);
  } else {
    hd_vec_free(&t->env);
  }
  for (size_t i = 0; own[i]; i++) free(own[i]);
  free(own);
  return rc;
}

/* The strings of a JSON array, as argv. */
static char **json_words(const json_t *array) {
  size_t n = json_array_size(array);
  char **argv = hd_alloc((n + 1) * sizeof *argv);
  for (size_t i = 0; i < n; i++) {
    const char *word = json_string_value(json_array_get(array, i));
    argv[i] = hd_strdup(word ? word : "");
  }
  return argv;
}

static void add_variable(struct suite *s, struct hd_task *t, const char *name, size_t n, const char *value) {
  hd_vec_push(&t->env, ((struct hd_variable){hd__project_own(s->p, hd_strndup(name, n)),
                                             hd__project_own(s->p, hd_strdup(value))}));
}

/* ---- CTest ---- */

/* What a command prints. */
static int output_of(char *const *argv, const char *folder, char **text, struct hd_err *err) {
  int pipes[2], status = 0;
  if (pipe2(pipes, O_CLOEXEC)) return hd_fail(err, HD_EENV, "cannot create a pipe: %s", strerror(errno));
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    dup2(pipes[1], STDOUT_FILENO);
    if (chdir(folder) == 0) execvp(argv[0], argv);
    _exit(127);
  }
  close(pipes[1]);
  struct hd_str out;
  hd_str_init(&out);
  char part[1 << 16];
  for (ssize_t n; pid > 0 && out.n < MAX_SIZE && (n = read(pipes[0], part, sizeof part)) != 0;)
    if (n > 0) hd_str_addn(&out, part, (size_t)n);
  close(pipes[0]);
  bool ended = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  *text = hd_str_take(&out);
  if (ended) return HD_OK;
  return hd_fail(err, HD_EENV, "`%s %s` failed in %s; is it installed, and the folder configured?", argv[0],
                 argv[1], folder);
}

static void read_property(struct suite *s, struct hd_task *t, const char *name, const json_t *value,
                          const char **cwd, bool *disabled) {
  size_t i;
  const json_t *one;
  if (strcmp(name, "WORKING_DIRECTORY") == 0 && json_is_string(value)) *cwd = json_string_value(value);
  if (strcmp(name, "DISABLED") == 0) *disabled = json_is_true(value);
  if (strcmp(name, "WILL_FAIL") == 0 && json_is_true(value)) t->o.ignore |= 1ull << HD_KIND_EXIT;
  if (strcmp(name, "ENVIRONMENT") == 0) json_array_foreach(value, i, one) {
      const char *text = json_string_value(one), *equals = text ? strchr(text, '=') : NULL;
      if (equals) add_variable(s, t, text, (size_t)(equals - text), equals + 1);
    }
}

static int read_ctest(struct suite *s, const char *folder, struct hd_err *err) {
  static char *const command[] = {(char *)"ctest", (char *)"--show-only=json-v1", NULL};
  char *text;
  int rc = output_of(command, folder, &text, err);
  json_t *all = rc == HD_OK ? json_loads(text, 0, NULL) : NULL;
  free(text);
  if (rc == HD_OK && !all)
    rc = hd_fail(err, HD_EENV, "%s: `ctest --show-only=json-v1` prints no JSON; CMake 3.14 does", folder);
  size_t i, k;
  const json_t *test, *property;
  json_array_foreach(json_object_get(all, "tests"), i, test) {
    const char *name = json_string_value(json_object_get(test, "name")), *cwd = folder;
    const json_t *words = json_object_get(test, "command");
    struct hd_task t = {0};
    bool disabled = false;
    json_array_foreach(json_object_get(test, "properties"), k, property)
        read_property(s, &t, json_string_value(json_object_get(property, "name")),
                      json_object_get(property, "value"), &cwd, &disabled);
    if (name && json_array_size(words) && !disabled && rc == HD_OK)
      rc = add_test(s, name, json_words(words), cwd, &t, err);
    else
      hd_vec_free(&t.env);
  }
  json_decref(all);
  return rc;
}

/* ---- Meson ---- */

static int read_meson(struct suite *s, const char *folder, const char *file, struct hd_err *err) {
  char *text = NULL;
  size_t len, i;
  int rc = hd_read_file(file, MAX_SIZE, &text, &len, err);
  json_t *all = rc == HD_OK ? json_loads(text, 0, NULL) : NULL;
  free(text);
  if (rc == HD_OK && !json_is_array(all))
    rc = hd_fail(err, HD_EENV, "%s: not a list of tests; configure the folder again", file);
  const json_t *test;
  json_array_foreach(all, i, test) {
    const char *name = json_string_value(json_object_get(test, "name")), *key;
    const char *cwd = json_string_value(json_object_get(test, "workdir"));
    json_t *words = json_object_get(test, "cmd"), *value;
    struct hd_task t = {0};
    json_object_foreach(json_object_get(test, "env"), key, value) if (json_is_string(value))
        add_variable(s, &t, key, strlen(key), json_string_value(value));
    if (name && json_array_size(words) && rc == HD_OK)
      rc = add_test(s, name, json_words(words), cwd ? cwd : folder, &t, err);
    else
      hd_vec_free(&t.env);
  }
  json_decref(all);
  return rc;
}

/* ---- a list of commands ---- */

/* The next word of a line as sh sees it, without expansions; NULL at the end. Sets *bad when a quote does not end. */
static char *next_word(const char **at, bool *bad) {
  struct hd_str word;
  const char *c = *at + strspn(*at, " \t\r");
  if (!*c || *c == '#') return NULL;
  hd_str_init(&word);
  char quote = 0;
  for (; *c && (quote || !strchr(" \t\r", *c)); c++) {
    if (quote ? *c == quote : (*c == '\'' || *c == '"'))
      quote = quote ? 0 : *c;
    else if (*c == '\\' && quote != '\'' && c[1])
      hd_str_addc(&word, *++c);
    else
      hd_str_addc(&word, *c);
  }
  *bad |= quote != 0;
  *at = c;
  return hd_str_take(&word);
}

static int read_line(struct suite *s, const char *file, int line, const char *text, const char *folder,
                     struct hd_err *err) {
  HD_VEC(char *) words = {0};
  struct hd_task t = {0};
  bool bad = false;
  for (char *word; (word = next_word(&text, &bad));) hd_vec_push(&words, word);
  size_t n = words.n;
  hd_vec_push(&words, NULL);
  if (n && !bad) {
    char *name = hd_strdup(hd_base_name(words.v[0]));
    int rc = add_test(s, name, words.v, folder, &t, err);
    free(name);
    return rc;
  }
  for (size_t i = 0; i < n; i++) free(words.v[i]);
  hd_vec_free(&words);
  return bad ? hd_fail(err, HD_EUSAGE, "%s:%d: a quote is not closed", file, line) : HD_OK;
}

static int read_list(struct suite *s, const char *file, const char *folder, struct hd_err *err) {
  char *text = NULL, *rest;
  size_t len;
  bool standard = strcmp(file, "-") == 0;
  int rc = hd_read_file(standard ? "/dev/stdin" : file, MAX_SIZE, &text, &len, err);
  if (rc != HD_OK) return err->code = HD_EUSAGE;
  if (strlen(text) != len)
    rc = hd_fail(err, HD_EUSAGE, "%s is not a list of commands: give a text file, or a build folder", file);
  rest = text;
  int line = 1;
  for (char *one; rc == HD_OK && (one = strsep(&rest, "\n")); line++)
    rc = read_line(s, standard ? "standard input" : file, line, one, folder, err);
  free(text);
  return rc;
}

/* ---- which ---- */

static bool is_file(const char *folder, const char *name) {
  struct stat st;
  char *path = hd_sprintf("%s/%s", folder, name);
  bool there = stat(path, &st) == 0 && S_ISREG(st.st_mode);
  free(path);
  return there;
}

#define CTEST "CTestTestfile.cmake"
#define MESON "meson-info/intro-tests.json"

/* A build folder below this one, or this one; NULL: there is none. */
static const char *find_folder(void) {
  static const char *const usual[] = {".", "build", "builddir", "build-heddle"};
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
    if (is_file(usual[i], CTEST) || is_file(usual[i], MESON)) return usual[i];
  return NULL;
}

static int read_folder(struct suite *s, const char *folder, struct hd_err *err) {
  char *absolute = realpath(folder, NULL), *meson = hd_sprintf("%s/" MESON, folder);
  int rc = is_file(folder, CTEST) ? read_ctest(s, absolute, err)
           : is_file(folder, MESON)
               ? read_meson(s, absolute, meson, err)
               : hd_fail(err, HD_EUSAGE, "%s has no tests of CMake or Meson (" CTEST ", " MESON ")", folder);
  free(absolute);
  free(meson);
  return rc;
}

static int read_suite(struct suite *s, const char *where, struct hd_err *err) {
  struct hd_project *p = s->p;
  struct stat st;
  hd_options_init(&p->o, HD_VERB_CHECK);
  int rc = hd_options_environment(&p->o, HD_VERB_CHECK, err);
  if (rc == HD_OK) rc = hd_options_words(&p->o, HD_VERB_CHECK, s->nwords, s->words, err);
  bool folder = stat(where, &st) == 0 && S_ISDIR(st.st_mode);
  p->file = hd_strdup(where);
  p->prefix = hd_strdup("");
  p->folder = hd_cwd();
  if (!p->folder) return hd_fail(err, HD_EENV, "the current folder no longer exists; cd to one that does");
  if (rc == HD_OK) rc = folder ? read_folder(s, where, err) : read_list(s, where, p->folder, err);
  if (s->left_out > SHOWN) hd_warn("%zu more tests are left out for such reasons", s->left_out - SHOWN);
  if (rc == HD_OK && p->task.n == 0)
    rc = hd_fail(err, HD_EUSAGE,
                 s->left_out ? "%s has no test that was built with heddle cc: build it with CC=\"heddle cc\" "
                               "CXX=\"heddle c++\" (docs/builds.md)"
                             : "%s has no tests",
                 where);
  return rc == HD_OK ? hd__project_choose(p, err) : rc;
}

int hd_suite_open(struct hd_project *p, const char *where, int nwords, char **words, struct hd_err *err) {
  size_t len = where ? strlen(where) : 0;
  if (where && len > 5 && strcmp(where + len - 5, ".toml") == 0)
    return hd_project_open(p, where, nwords, words, err);
  if (!where && !is_file(".", HD_PROJECT_FILE)) where = find_folder();
  if (!where) {
    int rc = hd_project_open(p, NULL, nwords, words, err);
    if (rc == HD_EUSAGE && strncmp(err->text, "no program given", 16) == 0)
      return hd_fail(err, HD_EUSAGE,
                     "no tests given, and no build folder or " HD_PROJECT_FILE
                     " here: heddle hunt [options] FOLDER, or a file "
                     "with a command in each line");
    return rc;
  }
  *p = (struct hd_project){0};
  struct suite s = {.p = p, .nwords = nwords, .words = words};
  int rc = read_suite(&s, where, err);
  if (rc != HD_OK) hd_project_fini(p);
  return rc;
}

/* cmd_init.c: `heddle init`: writes a commented heddle.toml with the programs that it finds. Runs in the supervisor.
 * */
#include "cli/project.h"
#include "session/command.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_DEPTH 4     /* levels of folders that are searched */
#define MAX_FILES 20000 /* examined at most: this may be a home folder */
#define MAX_PROGRAMS 1000

struct found {
  HD_VEC(char *) path;
  size_t files;
};

static bool is_built(const char *path) {
  struct hd_program program = {0};
  struct hd_err err;
  if (hd_program_open(path, NULL, ".", &program, &err) != HD_OK) return false;
  hd_program_fini(&program);
  return true;
}

/* `path` is "." or begins with "./". */
static void look_into(struct found *f, const char *path, int depth) {
  DIR *dir = opendir(path);
  for (struct dirent *e; dir && (e = readdir(dir));) {
    if (e->d_name[0] == '.' || ++f->files > MAX_FILES) continue;
    char *name = hd_sprintf("%s/%s", path, e->d_name);
    struct stat st;
    bool there = lstat(name, &st) == 0; /* skips links, which would be found twice */
    if (there && S_ISDIR(st.st_mode) && depth < MAX_DEPTH) look_into(f, name, depth + 1);
    if (there && S_ISREG(st.st_mode) && (st.st_mode & 0100) && f->path.n < MAX_PROGRAMS && is_built(name)) {
      hd_vec_push(&f->path, name);
      continue;
    }
    free(name);
  }
  if (dir) closedir(dir);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* A string of TOML. */
static void add_string(struct hd_str *out, const char *s) {
  hd_str_addc(out, '"');
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') hd_str_addc(out, '\\');
    hd_str_addc(out, *s);
  }
  hd_str_addc(out, '"');
}

/* Whether TOML can represent it: valid text of limited length. */
static bool is_text(const char *s) {
  for (size_t n; *s; s += n) {
    n = hd_utf8_length(s);
    if (!n || (unsigned char)*s < ' ' || *s == 0x7f) return false;
  }
  return true;
}

/* A name for a program whose own name is ambiguous or not allowed: the path with the slashes replaced, or a number.
 * NULL: its own name will do. */
static char *target_name(const struct found *f, size_t k) {
  const char *path = f->path.v[k], *name = hd_base_name(path);
  bool clash = strspn(name, "0123456789") == strlen(name);
  for (size_t i = 0; i < f->path.n; i++) clash |= i != k && strcmp(hd_base_name(f->path.v[i]), name) == 0;
  if (strlen(name) <= HD_MAX_TARGET_NAME && !clash) return NULL;
  if (strlen(path + 2) > HD_MAX_TARGET_NAME) return hd_sprintf("target-%zu", k + 1);
  char *out = hd_strdup(path + 2);
  for (char *c = out; *c; c++)
    if (*c == '/') *c = '-';
  return out;
}

static void add_target(struct hd_str *out, const struct found *f, size_t i) {
  char *name = target_name(f, i);
  hd_str_add(out, "\n[[target]]\n");
  if (name) {
    hd_str_add(out, "name = ");
    add_string(out, name);
    hd_str_addc(out, '\n');
  }
  hd_str_add(out, "program = ");
  add_string(out, f->path.v[i]);
  hd_str_addc(out, '\n');
  free(name);
}

static void add_file(struct hd_str *out, const struct found *f) {
  hd_str_add(
      out,
      "# What `heddle check` runs in this folder: every [[target]], as one row of a table.\n"
      "# Options on the command line override those of a target, and these override [defaults].\n"
      "\n"
      "# A command that is run first, in this folder:\n"
      "#build = \"make tests\"\n"
      "\n"
      "# Every long option of `heddle check` can be set here (see `heddle help check`).\n"
      "[defaults]\n"
      "#strategy = \"auto\"\n"
      "#time = \"60s\"                   # for each target\n"
      "#jobs = 2                       # processes that share a search\n"
      "#all = true                     # continue after the first finding\n"
      "#preemptions = 2                # only schedules with at most this many, for searches that never end\n"
      "#suppressions = \"heddle.supp\"   # or a list of files; lines of kind:glob\n"
      "#ignore = [\"leak\", \"thread-leak\"]\n");
  for (size_t i = 0; i < f->path.n; i++) add_target(out, f, i);
  hd_str_add(
      out,
      f->path.n
          ? "\n# What else a target can contain:\n"
          : "\n# A program that was built with `heddle cc` or `heddle c++`, and what a target can contain:\n");
  hd_str_add(out, "#[[target]]\n"
                  "#name = \"queue-small\"           # default: the name of the program\n"
                  "#program = \"./queue_test\"       # all paths begin at this file's folder\n"
                  "#args = [\"--items\", \"3\"]\n"
                  "#cwd = \"tests\"                  # where it runs; default: this folder\n"
                  "#env = { QUEUE_LOG = \"off\" }\n"
                  "#input = \"tests/queue.txt\"      # its standard input; default: none\n"
                  "#build = \"make queue_test\"\n"
                  "#strategy = \"optimal\"           # and any other option\n");
}

int hd_cmd_init(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (hd_options_parse(&o, HD_VERB_INIT, argc, argv, &err) != HD_OK) return hd_err_exit(&err);
  if (o.help) return hd_help_verb("init"), 0;
  struct stat st;
  int rc = HD_OK;
  if (o.nargs > 0)
    rc = hd_fail(&err, HD_EUSAGE,
                 "heddle init takes no arguments: it writes " HD_PROJECT_FILE " in this folder");
  else if (lstat(HD_PROJECT_FILE, &st) == 0 && !o.force)
    rc = hd_fail(&err, HD_EUSAGE,
                 HD_PROJECT_FILE " is there already: edit it, or replace it with heddle init --force");
  if (rc != HD_OK) return hd_err_exit(&err);
  struct found f = {0};
  struct hd_str text;
  hd_str_init(&text);
  look_into(&f, ".", 0);
  size_t n = 0;
  for (size_t i = 0; i < f.path.n; i++) {
    if (is_text(f.path.v[i]))
      f.path.v[n++] = f.path.v[i];
    else
      free(f.path.v[i]);
  }
  f.path.n = n;
  if (n) qsort(f.path.v, n, sizeof *f.path.v, by_name);
  add_file(&text, &f);
  rc = hd_write_file_atomic(HD_PROJECT_FILE, text.s, text.n, &err);
  if (rc == HD_OK && !o.quiet) {
    if (n)
      hd_say(HD_PROJECT_FILE " is written, with %zu target%s; heddle check runs %s", n, n == 1 ? "" : "s",
             n == 1 ? "it" : "them");
    else
      hd_say(HD_PROJECT_FILE " is written; no program built with heddle cc was found here: add a [[target]]");
  }
  hd_str_fini(&text);
  for (size_t i = 0; i < n; i++) free(f.path.v[i]);
  hd_vec_free(&f.path);
  return rc == HD_OK ? 0 : hd_err_exit(&err);
}

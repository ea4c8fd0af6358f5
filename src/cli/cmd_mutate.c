/* cmd_mutate.c: `heddle mutate`: makes mutants of a program, each in a folder of its own. Runs in the supervisor.
 *
 * Mutants are taken in the order of their list until enough of them compile; those that do not are counted. A folder has the
 * mutated file under its own name. manifest.json says what each mutant is and how the program is compiled, which is all that
 * `heddle mutate --run` needs. */
#include "cli/mutate_cli.h"
#include "mutate/mutate.h"
#include "session/command.h"
#include "session/process.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_DIR "heddle-mutants"
#define COMPILE_SECONDS 60

struct file {
  const char *given; /* as the user wrote it */
  char *path;        /* absolute */
  char *folder;      /* where its compiler runs */
  hd_words flags;    /* ends with NULL */
};

struct make {
  const struct hd_options *o;
  const char *dir;
  char *cwd;
  HD_VEC(struct file) file;
  struct hd_mutants *mutants;
  json_t *list;
  size_t rejected;
};

static bool is_source(const char *word) {
  const char *dot = strrchr(word, '.');
  return word[0] != '-' && dot && (strcmp(dot, ".c") == 0 || hd_mutate_is_cxx(word));
}

static int add_file(struct make *m, const char *given, struct hd_err *err) {
  struct file f = {.given = given, .path = hd_absolute(m->cwd, given)};
  if (access(given, R_OK) != 0) {
    free(f.path);
    return hd_fail(err, HD_EUSAGE, "cannot read %s: %s", given, strerror(errno));
  }
  int rc = is_source(given) ? HD_OK
                            : hd_fail(err, HD_EUSAGE,
                                      "%s is not a C or C++ source file: name a .c, .cc or .cpp file", given);
  if (rc == HD_OK && m->o->compile_commands) {
    rc = hd__compile_command(m->o->compile_commands, given, &f.flags, &f.folder, err);
  } else if (rc == HD_OK) {
    f.folder = hd_strdup(m->cwd);
    for (char **w = m->o->after; *w; w++)
      if (!is_source(*w))
        hd_vec_push(&f.flags, hd_strdup(*w)); /* others are sources of the program that stay as they are */
  }
  hd_vec_push(&f.flags, NULL);
  hd_vec_push(&m->file, f);
  if (rc != HD_OK) return rc;
  bool database = m->o->compile_commands != NULL;
  struct hd_mutate_file source = {database ? f.path : given, database ? f.folder : NULL,
                                  (const char *const *)f.flags.v};
  return hd_mutants_add(m->mutants, &source, m->o->operators ? m->o->operators : UINT32_MAX, err);
}

/* Whether the compiler accepts it. */
static bool compiles(const struct file *f, const char *mutant) {
  static const char *const strict[] = {"-w",
                                       "-Werror=incompatible-pointer-types",
                                       "-Werror=int-conversion",
                                       "-Werror=implicit-function-declaration",
                                       "-fsyntax-only",
                                       NULL};
  bool cxx = hd_mutate_is_cxx(f->path);
  char *quote = hd_strndup(f->path, (size_t)(hd_base_name(f->path) - f->path));
  struct hd__job j = {.folder = f->folder, .seconds = COMPILE_SECONDS};
  hd_vec_push(&j.words, (char *)hd__self());
  hd_vec_push(&j.words, (char *)(cxx ? "c++" : "cc"));
  for (size_t i = 0; f->flags.v[i]; i++) hd_vec_push(&j.words, f->flags.v[i]);
  for (const char *const *w = strict; *w; w++)
    if (!cxx || (*w)[1] != 'W') hd_vec_push(&j.words, (char *)*w);
  hd_vec_push(&j.words, (char *)"-iquote");
  hd_vec_push(&j.words, quote);
  hd_vec_push(&j.words, (char *)mutant);
  int status = hd__job_run(&j);
  hd_vec_free(&j.words);
  free(quote);
  return status == 0;
}

/* Writes the file into a folder of its own; removes it again when it does not compile. */
static int write_mutant(struct make *m, const struct hd_mutant *x, bool *kept, struct hd_err *err) {
  const struct file *f = &m->file.v[x->file];
  char id[16];
  snprintf(id, sizeof id, "%03zu", json_array_size(m->list) + 1);
  char *folder = hd_sprintf("%s/%s", m->dir, id), *path = hd_sprintf("%s/%s", folder, hd_base_name(f->path));
  char *absolute = hd_absolute(m->cwd, path);
  size_t len;
  char *text = hd_mutant_text(m->mutants, x, &len);
  int rc = HD_OK;
  if (mkdir(folder, 0777) != 0 && errno != EEXIST)
    rc = hd_fail(err, HD_EENV, "cannot create %s: %s", folder, strerror(errno));
  if (rc == HD_OK) rc = hd_write_file(path, text, len, err);
  *kept = rc == HD_OK && compiles(f, absolute);
  if (*kept) {
    json_array_append_new(m->list, json_pack("{s:s,s:s,s:o,s:i,s:o,s:o}", "id", id, "operator",
                                             hd_mutation_name[x->op], "file", hd_json_text(f->given), "line",
                                             (int)x->line, "what", hd_json_text(x->what), "path",
                                             hd_json_text(path + strlen(m->dir) + 1)));
    if (!m->o->quiet)
      printf("%s  %-4s  %s:%u: %s\n", id, hd_mutation_name[x->op], f->given, x->line, x->what);
  } else if (rc == HD_OK) {
    hd_remove_folder(folder);
  }
  free(text);
  free(absolute);
  free(path);
  free(folder);
  return rc;
}

static json_t *words_json(char *const *v) {
  json_t *a = json_array();
  for (; *v; v++) json_array_append_new(a, hd_json_text(*v));
  return a;
}

static int write_manifest(const struct make *m, struct hd_err *err) {
  json_t *files = json_array(), *j = json_object();
  for (size_t i = 0; i < m->file.n; i++) {
    const struct file *f = &m->file.v[i];
    json_array_append_new(files, json_pack("{s:o,s:o,s:o,s:o}", "file", hd_json_text(f->given), "path",
                                           hd_json_text(f->path), "folder", hd_json_text(f->folder), "flags",
                                           words_json(f->flags.v)));
  }
  json_object_set_new(j, "heddle", json_string(HD_VERSION));
  json_object_set_new(j, "seed", json_integer((json_int_t)m->o->seed));
  json_object_set_new(j, "folder", hd_json_text(m->cwd));
  json_object_set_new(j, "database", json_boolean(m->o->compile_commands != NULL));
  json_object_set_new(j, "words", words_json(m->o->after));
  json_object_set_new(j, "files", files);
  json_object_set_new(j, "candidates", json_integer((json_int_t)hd_mutants_count(m->mutants)));
  json_object_set_new(j, "rejected", json_integer((json_int_t)m->rejected));
  json_object_set(j, "mutants", m->list);
  char *text = json_dumps(j, JSON_INDENT(1)), *path = hd_sprintf("%s/" HD_MUTATE_MANIFEST, m->dir);
  int rc = hd_write_file_atomic(path, text, strlen(text), err);
  free(path);
  free(text);
  json_decref(j);
  return rc;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st, (void)type, (void)at;
  return remove(path);
}

/* Removes the mutants of an earlier call, and what was found with them. */
static void remove_mutants(const char *dir, const char *manifest) {
  json_t *old = json_load_file(manifest, 0, NULL), *one;
  size_t i;
  json_array_foreach(json_object_get(old, "mutants"), i, one) {
    const char *id = json_string_value(json_object_get(one, "id"));
    if (!id || id[strspn(id, "0123456789")]) continue;
    char *folder = hd_sprintf("%s/%s", dir, id);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(folder);
  }
  json_decref(old);
  char *original = hd_sprintf("%s/original", dir);
  nftw(original, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  free(original);
  unlink(manifest);
}

/* A folder of an earlier call is replaced; any other is the user's. */
static int prepare_folder(const struct make *m, struct hd_err *err) {
  char *manifest = hd_sprintf("%s/" HD_MUTATE_MANIFEST, m->dir);
  bool ours = access(manifest, F_OK) == 0;
  int rc = HD_OK;
  if (mkdir(m->dir, 0777) != 0 && (errno != EEXIST || !ours))
    rc = errno == EEXIST
             ? hd_fail(err, HD_EUSAGE,
                       "%s is there already and not of heddle mutate: name another folder with -o", m->dir)
             : hd_fail(err, HD_EENV, "cannot create %s: %s", m->dir, strerror(errno));
  if (rc == HD_OK && ours) remove_mutants(m->dir, manifest);
  free(manifest);
  return rc;
}

static void report(const struct make *m, uint64_t wanted) {
  size_t n = json_array_size(m->list), all = hd_mutants_count(m->mutants);
  if (m->o->quiet) return;
  printf("%zu mutant%s in %s (of %zu possible%s", n, n == 1 ? "" : "s", m->dir, all,
         m->rejected ? "; " : ")\n");
  if (m->rejected) printf("%zu did not compile)\n", m->rejected);
  fflush(stdout);
  if (n < wanted && !hd_interrupts())
    hd_say("%llu mutants were asked for, but there are no more than %zu", (unsigned long long)wanted, n);
}

static int make(struct make *m, struct hd_err *err) {
  const struct hd_options *o = m->o;
  uint64_t wanted = o->count ? o->count : 20;
  int rc = HD_OK;
  for (int i = 0; i < o->nargs && rc == HD_OK; i++) rc = add_file(m, o->args[i], err);
  if (rc != HD_OK) return rc;
  size_t all = hd_mutants_count(m->mutants);
  if (all == 0)
    return hd_fail(
        err, HD_EUSAGE, "%s%s: nothing to mutate: no lock, thread, semaphore, barrier, atomic or volatile%s",
        o->args[0], o->nargs > 1 ? " and the others" : "", o->operators ? " for these operators" : "");
  if ((rc = prepare_folder(m, err)) != HD_OK) return rc;
  hd_mutants_shuffle(m->mutants, o->seed);
  for (size_t i = 0; i < all && json_array_size(m->list) < wanted && rc == HD_OK && !hd_interrupts(); i++) {
    bool kept;
    rc = write_mutant(m, hd_mutants_get(m->mutants, i), &kept, err);
    m->rejected += rc == HD_OK && !kept;
  }
  if (rc == HD_OK) rc = write_manifest(m, err);
  if (rc == HD_OK) report(m, wanted);
  return rc;
}

static void make_fini(struct make *m) {
  for (size_t i = 0; i < m->file.n; i++) {
    struct file *f = &m->file.v[i];
    for (size_t k = 0; k < f->flags.n; k++) free(f->flags.v[k]);
    hd_vec_free(&f->flags);
    free(f->path);
    free(f->folder);
  }
  hd_vec_free(&m->file);
  hd_mutants_free(m->mutants);
  json_decref(m->list);
  free(m->cwd);
}

int hd_cmd_mutate(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (hd_options_parse(&o, HD_VERB_MUTATE, argc, argv, &err) != HD_OK) return hd_err_exit(&err);
  if (o.help) return hd_help_verb("mutate"), 0;
  if (o.nargs == 0 && !o.run_mutants) {
    hd_fail(&err, HD_EUSAGE, "name a source file: heddle mutate prog.c -n 50 -- -O1");
    return hd_err_exit(&err);
  }
  hd_interrupt_catch();
  const char *dir = o.output ? o.output : DEFAULT_DIR;
  int code = 0;
  if (o.nargs) {
    struct make m = {
        .o = &o, .dir = dir, .cwd = hd_cwd(), .list = json_array(), .mutants = hd_mutants_new(hd_libdir())};
    int rc = m.cwd ? make(&m, &err) : hd_fail(&err, HD_EENV, "the current folder is gone");
    make_fini(&m);
    if (rc != HD_OK) return hd_err_exit(&err);
  }
  if (o.run_mutants) {
    char *none[] = {NULL};
    code = hd__mutate_run(&o, dir, o.nargs ? none : o.after, &err);
    if (code < 0) code = hd_err_exit(&err);
  }
  return code;
}

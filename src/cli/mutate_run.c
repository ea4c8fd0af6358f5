/* mutate_run.c: `heddle mutate --run`: which mutants a test kills, and under which schedules. Runs in the supervisor.
 *
 * Each mutant is built and checked like any program: by `heddle cc` with the mutated file in place of the original, then by
 * `heddle check`, in a process of its own with a limit of time. First comes the program as it is: a test that fails without
 * a mutation says nothing about mutants. What is found is stored in the folder of the mutant and replays from there. */
#include "cli/mutate_cli.h"
#include "mutate/mutate.h"
#include "session/process.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUILD_SECONDS 600
#define CHECK_SECONDS 10
#define CHECK_GRACE 60 /* for the start, and for storing what was found */

struct run {
  const struct hd_options *o;
  const char *dir;
  char *absolute; /* dir */
  json_t *manifest;
  char **program; /* empty: the one that is built here */
  int fd;
  unsigned killed, proved, unknown, broken;
  json_t *rows;
};

static const char *text_of(const json_t *o, const char *key) {
  const char *s = json_string_value(json_object_get(o, key));
  return s ? s : "";
}

/* The entry of a file. */
static const json_t *file_of(const struct run *r, const char *name) {
  json_t *one;
  size_t i;
  json_array_foreach(json_object_get(r->manifest, "files"), i,
                     one) if (strcmp(text_of(one, "file"), name) == 0) return one;
  return NULL;
}

/* ---- one mutant ---- */

/* The paths of a mutant; of the program as it is, id is "original". */
struct target {
  const char *id;
  char *folder, *program, *log, *json, *findings;
  char *mutant;         /* the changed file, or NULL */
  const char *original; /* that it replaces */
};

static struct target target(const struct run *r, const char *id, const json_t *m) {
  struct target t = {.id = id, .folder = hd_sprintf("%s/%s", r->absolute, id)};
  t.program = hd_sprintf("%s/test", t.folder);
  t.log = hd_sprintf("%s/log", t.folder);
  t.json = hd_sprintf("%s/check.json", t.folder);
  t.findings = hd_sprintf("%s/%s/findings", r->dir, id);
  if (m) {
    t.mutant = hd_sprintf("%s/%s", r->absolute, text_of(m, "path"));
    const json_t *f = file_of(r, text_of(m, "file"));
    t.original = f ? text_of(f, "path") : "";
  }
  return t;
}

static void target_fini(struct target *t) {
  free(t->folder);
  free(t->program);
  free(t->log);
  free(t->json);
  free(t->findings);
  free(t->mutant);
}

/* heddle cc with the words of the manifest; `heddle cc` puts the mutant in the place of the original. */
static void default_build(const struct run *r, const struct target *t, hd_words *out) {
  json_t *one;
  size_t i;
  bool cxx = false;
  json_t *files = json_object_get(r->manifest, "files"), *words = json_object_get(r->manifest, "words");
  json_array_foreach(files, i, one) cxx |= hd_mutate_is_cxx(text_of(one, "file"));
  json_array_foreach(words, i, one) cxx |=
      json_string_value(one)[0] != '-' && hd_mutate_is_cxx(json_string_value(one));
  hd_vec_push(out, (char *)hd__self());
  hd_vec_push(out, (char *)(cxx ? "c++" : "cc"));
  hd_vec_push(out, (char *)"-pthread");
  json_array_foreach(files, i, one) hd_vec_push(out, (char *)text_of(one, "path"));
  json_array_foreach(words, i, one) hd_vec_push(out, (char *)json_string_value(one));
  hd_vec_push(out, (char *)"-o");
  hd_vec_push(out, t->program);
}

static bool build(const struct run *r, const struct target *t) {
  struct hd__job j = {.folder = r->o->build ? NULL : text_of(r->manifest, "folder"),
                      .output = t->log,
                      .mutant = t->mutant,
                      .original = t->original,
                      .seconds = BUILD_SECONDS};
  if (r->o->build) {
    hd_vec_push(&j.words, (char *)"sh");
    hd_vec_push(&j.words, (char *)"-c");
    hd_vec_push(&j.words, (char *)r->o->build);
  } else {
    default_build(r, t, &j.words);
  }
  int status = hd__job_run(&j);
  hd_vec_free(&j.words);
  return status == 0;
}

/* Returns the exit code of `heddle check`. */
static int check(const struct run *r, const struct target *t) {
  const struct hd_options *o = r->o;
  double seconds = o->time > 0 ? o->time : CHECK_SECONDS;
  char *time = hd_sprintf("%gs", seconds), *seed = hd_sprintf("%llu", (unsigned long long)o->seed);
  char *most = hd_sprintf("%llu", (unsigned long long)o->max_executions);
  char *jobs = hd_sprintf("%llu", (unsigned long long)o->jobs);
  struct hd__job j = {.output = t->log, .seconds = seconds + CHECK_GRACE};
  const char *words[] = {hd__self(), "check", "--quiet",    "--no-explain", "--time", time,
                         "--seed",   seed,    "--json",     t->json,        "--out",  t->findings,
                         "--jobs",   jobs,    "--strategy", o->strategy};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) hd_vec_push(&j.words, (char *)words[i]);
  if (o->max_executions) {
    hd_vec_push(&j.words, (char *)"--max-executions");
    hd_vec_push(&j.words, most);
  }
  hd_vec_push(&j.words, (char *)"--");
  if (!*r->program) hd_vec_push(&j.words, t->program);
  for (char **w = r->program; *w; w++) hd_vec_push(&j.words, *w);
  unlink(t->json);
  int status = hd__job_run(&j);
  hd_vec_free(&j.words);
  free(time);
  free(seed);
  free(most);
  free(jobs);
  return status;
}

/* ---- results ---- */

/* The first finding's "2 preemptions, 5 switches" as JSON. */
static json_t *schedule_of(const json_t *finding) {
  json_t *m = json_object_get(finding, "minimised");
  return m ? json_pack("{s:O,s:O}", "preemptions", json_object_get(m, "preemptions"), "switches",
                       json_object_get(m, "switches"))
           : json_null();
}

static json_t *row_of(struct run *r, const json_t *m, const struct target *t, bool built, int code) {
  json_t *row = json_deep_copy(m), *j = built ? json_load_file(t->json, 0, NULL) : NULL;
  json_t *finding = json_array_get(json_object_get(j, "findings"), 0);
  const char *result = !built                                         ? "build failed"
                       : finding                                      ? "killed"
                       : code != 0 && code != 5                       ? "not checked"
                       : json_is_true(json_object_get(j, "complete")) ? "survived every schedule"
                                                                      : "survived";
  json_object_set_new(row, "result", json_string(result));
  json_object_set(row, "executions", j ? json_object_get(j, "executions") : json_null());
  json_object_set(row, "complete", j ? json_object_get(j, "complete") : json_false());
  json_object_set(row, "seconds", j ? json_object_get(j, "seconds") : json_null());
  json_object_set(row, "kind", finding ? json_object_get(finding, "kind") : json_null());
  json_object_set(row, "finding", finding ? json_object_get(finding, "title") : json_null());
  json_object_set(row, "strategy", finding ? json_object_get(finding, "strategy") : json_null());
  json_object_set(row, "replay", finding ? json_object_get(finding, "replay") : json_null());
  json_object_set_new(row, "schedule", finding ? schedule_of(finding) : json_null());
  if (finding)
    r->killed++;
  else if (!built || (code != 0 && code != 5))
    r->broken++;
  else if (json_is_true(json_object_get(j, "complete")))
    r->proved++;
  else
    r->unknown++;
  json_decref(j);
  return row;
}

static void print_row(const struct run *r, const json_t *row) {
  struct hd_str out;
  char count[24] = "-";
  const json_t *n = json_object_get(row, "executions");
  if (json_is_integer(n)) snprintf(count, sizeof count, "%lld", (long long)json_integer_value(n));
  hd_str_init(&out);
  char *place =
      hd_sprintf("%s:%d", text_of(row, "file"), (int)json_integer_value(json_object_get(row, "line")));
  hd_str_addf(&out, "%s  %-4s  %-20s  %-23s  %10s  %s\n", text_of(row, "id"), text_of(row, "operator"), place,
              text_of(row, "result"), count,
              json_is_string(json_object_get(row, "finding")) ? text_of(row, "finding")
                                                              : text_of(row, "what"));
  free(place);
  hd_write_all(r->fd, out.s, out.n);
  hd_str_fini(&out);
}

static void print_end(const struct run *r) {
  size_t n = json_array_size(r->rows), i;
  const json_t *row;
  struct hd_str out;
  hd_str_init(&out);
  hd_str_addf(&out, "\n%zu mutant%s: %u killed, %u survived every schedule, %u survived the time", n,
              n == 1 ? "" : "s", r->killed, r->proved, r->unknown);
  if (r->broken) hd_str_addf(&out, ", %u not checked", r->broken);
  unsigned judged = r->killed + r->proved + r->unknown;
  if (judged) hd_str_addf(&out, " (%.0f%% killed)", 100.0 * r->killed / judged);
  hd_str_addc(&out, '\n');
  if (r->proved + r->unknown) hd_str_add(&out, "Survivors:\n");
  json_array_foreach(r->rows, i, row) {
    if (strncmp(text_of(row, "result"), "survived", 8) != 0) continue;
    hd_str_addf(&out, "  %s  %s:%d: %s%s\n", text_of(row, "id"), text_of(row, "file"),
                (int)json_integer_value(json_object_get(row, "line")), text_of(row, "what"),
                json_is_true(json_object_get(row, "complete")) ? " (no schedule of this test fails)" : "");
  }
  hd_write_all(r->fd, out.s, out.n);
  hd_str_fini(&out);
}

static int write_results(const struct run *r, struct hd_err *err) {
  json_t *j =
      json_pack("{s:s,s:s,s:I,s:i,s:i,s:i,s:i,s:O}", "heddle", HD_VERSION, "strategy", r->o->strategy, "seed",
                (json_int_t)r->o->seed, "killed", (int)r->killed, "survived_every_schedule", (int)r->proved,
                "survived", (int)r->unknown, "not_checked", (int)r->broken, "mutants", r->rows);
  char *text = json_dumps(j, JSON_INDENT(1)), *path = hd_sprintf("%s/" HD_MUTATE_RESULTS, r->dir);
  int rc = hd_write_file_atomic(path, text, strlen(text), err);
  if (rc == HD_OK && r->o->json && strcmp(r->o->json, "-") == 0)
    printf("%s\n", text);
  else if (rc == HD_OK && r->o->json)
    rc = hd_write_file_atomic(r->o->json, text, strlen(text), err);
  free(path);
  free(text);
  json_decref(j);
  return rc;
}

/* The program as it is must build and must not fail. */
static int check_original(const struct run *r, struct hd_err *err) {
  struct target t = target(r, "original", NULL);
  int rc = HD_OK;
  mkdir(t.folder, 0777);
  unlink(t.log);
  if (!build(r, &t)) {
    rc = hd_fail(err, HD_EUSAGE, "the program does not build without a mutation: see %s", t.log);
  } else {
    int code = check(r, &t);
    if (code == 1)
      rc = hd_fail(err, HD_EUSAGE, "the test fails without a mutation: see %s/1; fix that first", t.findings);
    else if (code != 0 && code != 5)
      rc = hd_fail(err, HD_EUSAGE, "the test cannot be checked without a mutation: see %s", t.log);
  }
  target_fini(&t);
  return rc;
}

static int run(struct run *r, struct hd_err *err) {
  json_t *m;
  size_t i;
  int rc = check_original(r, err);
  if (rc != HD_OK) return rc;
  if (!r->o->quiet) {
    static const char head[] =
        "id   op    place                 result                   executions  finding or mutation\n";
    hd_write_all(r->fd, head, sizeof head - 1);
  }
  json_array_foreach(json_object_get(r->manifest, "mutants"), i, m) {
    if (hd_interrupts()) break;
    struct target t = target(r, text_of(m, "id"), m);
    unlink(t.log);
    bool built = build(r, &t);
    int code = built ? check(r, &t) : 0;
    if (!hd_interrupts()) {
      json_t *row = row_of(r, m, &t, built, code);
      if (!r->o->quiet) print_row(r, row);
      json_array_append_new(r->rows, row);
    }
    target_fini(&t);
  }
  print_end(r);
  if ((rc = write_results(r, err)) != HD_OK) return rc;
  return hd_interrupts() || r->broken ? 5 : r->proved + r->unknown ? 1 : 0;
}

int hd__mutate_run(const struct hd_options *o, const char *dir, char **program, struct hd_err *err) {
  struct run r = {.o = o, .dir = dir, .program = program, .rows = json_array(), .fd = STDOUT_FILENO};
  char *path = hd_sprintf("%s/" HD_MUTATE_MANIFEST, dir), *cwd = hd_cwd();
  json_error_t why;
  int rc;
  if (o->json && strcmp(o->json, "-") == 0) r.fd = STDERR_FILENO;
  r.absolute = hd_absolute(cwd ? cwd : "/", dir);
  r.manifest = json_load_file(path, 0, &why);
  if (access(path, F_OK) != 0)
    rc = hd_fail(err, HD_EUSAGE, "%s has no mutants: make some first, as in heddle mutate prog.c -o %s", dir,
                 dir);
  else if (!json_is_array(json_object_get(r.manifest, "mutants")) ||
           !json_is_array(json_object_get(r.manifest, "files")))
    rc = hd_fail(err, HD_EUSAGE, "%s is damaged: make the mutants again", path);
  else if (json_is_true(json_object_get(r.manifest, "database")) && !o->build)
    rc = hd_fail(err, HD_EUSAGE,
                 "the files are of a compile_commands.json: say how to build the program with --build");
  else if (o->build && !*program)
    rc = hd_fail(err, HD_EUSAGE,
                 "--build needs the program that it builds: heddle mutate --run --build 'make -B' -- ./test");
  else
    rc = run(&r, err);
  json_decref(r.manifest);
  json_decref(r.rows);
  free(r.absolute);
  free(path);
  free(cwd);
  return rc;
}

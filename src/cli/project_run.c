/* project_run.c: runs the targets of heddle.toml, one after the other, and prints and writes the results. Runs in the
 * supervisor. */
#include "cli/project.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The most important status: a bug of ours, then errors that prevented a search, then findings. */
static int worst(const struct hd_task_row *row, size_t n) {
  static const int order[] = {4, 3, 2, 1, 5};
  for (size_t k = 0; k < sizeof order / sizeof order[0]; k++)
    for (size_t i = 0; i < n; i++)
      if (row[i].status == order[k]) return order[k];
  return 0;
}

/* The JSON of a project. */
static json_t *about(const struct hd_project *p, const struct hd_task_row *row, double seconds) {
  json_t *targets = json_array();
  for (size_t i = 0; i < p->task.n; i++)
    json_array_append_new(targets, json_pack("{s:o,s:s,s:i,s:O}", "name", hd_json_text(row[i].name),
                                             "verdict", hd__row_verdict(&row[i]), "status", row[i].status,
                                             "result", json_object_get(row[i].result, "summary")));
  return json_pack("{s:s,s:o,s:i,s:f,s:o}", "heddle", HD_VERSION, "config", hd_json_text(p->file), "status",
                   worst(row, p->task.n), "seconds", seconds, "targets", targets);
}

static void say_messages(const struct hd_task_row *row) {
  char *copy = hd_strdup(row->said.s), *rest = copy;
  for (char *line; (line = strsep(&rest, "\n"));)
    if (*line) hd_say("%s: %s", row->name, line);
  free(copy);
}

/* Creates .heddle, which contains a folder per target. */
static void make_folders(const struct hd_project *p) {
  for (size_t i = 0; i < p->task.n; i++) {
    const char *out = p->task.v[i].o.out;
    char *folder = hd_strndup(out, (size_t)(strrchr(out, '/') - out));
    mkdir(folder, 0777); /* on failure, the search reports it */
    free(folder);
  }
}

/* One after the other; a row is printed as soon as it is known. */
static void run_each(struct hd_runner *r, struct hd_project *p, struct hd_task_row *row, int fd) {
  bool colour = hd_text_colour(fd);
  struct hd_str text;
  hd_str_init(&text);
  hd__table_head(&text, p);
  for (size_t i = 0; i < p->task.n; i++) {
    hd__run_task(r, p, &p->task.v[i], &row[i]);
    hd__table_row(&text, p, &row[i], colour);
    if (!p->o.quiet) hd__print(fd, &text);
  }
  hd_str_fini(&text);
}

static void print_rest(const struct hd_project *p, const struct hd_task_row *row, int fd) {
  bool quiet = p->o.quiet;
  struct hd_str text;
  hd_str_init(&text);
  for (size_t i = 0; i < p->task.n && p->hunt == 0; i++) hd__table_lines(&text, &row[i]);
  for (size_t i = 0; i < p->task.n && !quiet; i++) hd__table_reasons(&text, p, &row[i]);
  if (text.n && !quiet) hd_write_all(fd, "\n", 1);
  hd__print(fd, &text);
  for (size_t i = 0; i < p->task.n; i++) say_messages(&row[i]);
  hd__table_totals(&text, p, row);
  if (!quiet) hd__print(fd, &text);
  hd_str_fini(&text);
}

static int run_all(struct hd_runner *r, struct hd_project *p, struct hd_task_row *row, struct hd_err *err) {
  int fd = hd_outputs_own_stdout(&p->o) ? STDERR_FILENO : STDOUT_FILENO;
  double began = hd_now();
  if (p->hunt > 0)
    hd__hunt(r, p, row, fd);
  else
    run_each(r, p, row, fd);
  print_rest(p, row, fd);
  json_t *all = json_array(), *json = about(p, row, hd_now() - began);
  for (size_t i = 0; i < p->task.n; i++) json_array_append(all, row[i].result);
  int rc = hd_outputs_write_all(&p->o, all, json, err);
  json_decref(all);
  json_decref(json);
  return rc;
}

int hd_project_run(struct hd_project *p) {
  struct hd_err err;
  struct hd_runner r;
  struct hd_task_row *row = hd_alloc(p->task.n * sizeof *row);
  int rc = hd_outputs_check(&p->o, &err);
  hd__runner_begin(&r);
  if (rc == HD_OK) rc = hd__run_build(&r, p, &p->build, &err);
  if (rc == HD_OK) {
    make_folders(p);
    rc = run_all(&r, p, row, &err);
  }
  int code = rc == HD_OK ? worst(row, p->task.n) : hd_err_exit(&err);
  hd__runner_end(&r);
  for (size_t i = 0; i < p->task.n; i++) hd__row_fini(&row[i]);
  free(row);
  return code;
}

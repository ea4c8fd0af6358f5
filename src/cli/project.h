/* project.h: heddle.toml: project.c reads it, project_run.c runs its targets, project_text.c prints the result. */
#ifndef HD_PROJECT_H
#define HD_PROJECT_H

#include "cli/cli.h"

#define HD_PROJECT_FILE "heddle.toml"
#define HD_MAX_TARGET_NAME 100 /* bytes: it is also the name of a folder */

/* A command of the file, with its place. */
struct hd_build {
  const char *command; /* NULL: none */
  int line, column;
};

/* A [[target]]. */
struct hd_task {
  char *name;
  int line, column;
  struct hd_options o; /* its own, those of [defaults], and the command line's */
  char **argv;         /* ends with NULL; the words are the project's */
  const char *input;   /* the file that it reads as standard input, or NULL */
  const struct hd_toml *env;
  struct hd_build build;
};

struct hd_project {
  char *file;           /* its name from here */
  char *folder;         /* its folder, as an absolute path ... */
  char *prefix;         /* ... and relative to here: "" or ends with a slash */
  struct hd_toml *toml; /* owns the strings above ... */
  HD_VEC(char *) made;  /* ... or these do */
  struct hd_options o;  /* [defaults] and the command line */
  struct hd_build build;
  HD_VEC(struct hd_task) task; /* the selected targets */
};

/* Reads the file for this command line of `heddle check`; `config`: its name, or NULL: it is searched for. */
int hd_project_open(struct hd_project *p, const char *config, int argc, char **argv, struct hd_err *err);
void hd_project_fini(struct hd_project *p);

/* Runs the targets, prints and writes the results, and returns the exit code. */
int hd_project_run(struct hd_project *p);

/* ---- between project_run.c and project_text.c ---- */

/* The result of a target. */
struct hd_task_row {
  const char *name;
  int status; /* its exit code */
  bool skipped;
  json_t *result;     /* as hd_outputs_result makes it; owned */
  struct hd_str said; /* messages, a line each */
};

const char *hd__row_verdict(const struct hd_task_row *r);
/* The name, shortened in the middle if it has more columns than `width`. */
void hd__add_short(struct hd_str *out, const char *name, size_t width);
/* The first line of the table, for the names of these targets. */
void hd__table_head(struct hd_str *out, const struct hd_project *p);
void hd__table_row(struct hd_str *out, const struct hd_project *p, const struct hd_task_row *r, bool colour);
/* "NAME: not complete: ..." for each reason, of a target in which nothing was found. */
void hd__table_reasons(struct hd_str *out, const struct hd_task_row *r);
/* "10 targets: 7 clean, 3 found" */
void hd__table_totals(struct hd_str *out, const struct hd_task_row *rows, size_t n);

#endif

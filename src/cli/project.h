/* project.h: several programs to check: the targets of heddle.toml (project.c), or the tests of a suite (suite.c). task.c
 * searches one of them, project_run.c all, hunt.c as many as pay; project_text.c prints the result. */
#ifndef HD_PROJECT_H
#define HD_PROJECT_H

#include "cli/cli.h"

#include <signal.h>

#define HD_PROJECT_FILE "heddle.toml"
#define HD_MAX_TARGET_NAME 100 /* bytes: it is also the name of a folder */

/* A command of the file, with its place. */
struct hd_build {
  const char *command; /* NULL: none */
  int line, column;
};

/* To set in the environment of the program. */
struct hd_variable {
  const char *name, *value;
};

/* A [[target]], or a test of a suite. */
struct hd_task {
  char *name;
  int line, column;
  struct hd_options o; /* its own, those of [defaults], and the command line's */
  char **argv;         /* ends with NULL; the words are the project's */
  const char *input;   /* the file that it reads as standard input, or NULL */
  HD_VEC(struct hd_variable) env;
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
  double hunt;                 /* seconds that they share; 0: each has its own */
};

/* Reads the file for this command line of `heddle check`; `config`: its name, or NULL: it is searched for. */
int hd_project_open(struct hd_project *p, const char *config, int argc, char **argv, struct hd_err *err);
void hd_project_fini(struct hd_project *p);
/* A string that the project is to free. */
char *hd__project_own(struct hd_project *p, char *s);
/* Keeps only the targets that --target selects. */
int hd__project_choose(struct hd_project *p, struct hd_err *err);

/* The tests of a suite: `where` is a build folder of CMake or Meson, a file with a command in each line ("-": standard
 * input), or a heddle.toml; NULL: what there is here. `words` is the command line of `heddle hunt`. Programs that were not
 * built with heddle cc are left out, with a warning. */
int hd_suite_open(struct hd_project *p, const char *where, int nwords, char **words, struct hd_err *err);

/* Runs the targets, prints and writes the results, and returns the exit code. */
int hd_project_run(struct hd_project *p);

/* ---- task.c ---- */

struct hd_runner {
  sigset_t waited, before; /* signals that are blocked; the previous mask */
  bool interrupted;
};

/* The result of a target. */
struct hd_task_row {
  const char *name;
  int status; /* its exit code */
  bool skipped;
  json_t *result;     /* as hd_outputs_result makes it; owned */
  struct hd_str said; /* messages, a line each */
};

void hd__row_fini(struct hd_task_row *row);

void hd__runner_begin(struct hd_runner *r);
void hd__runner_end(struct hd_runner *r);
bool hd__runner_interrupted(struct hd_runner *r);
/* Runs a build command, if there is one. */
int hd__run_build(struct hd_runner *r, const struct hd_project *p, const struct hd_build *b,
                  struct hd_err *err);
/* Searches one target. */
void hd__run_task(struct hd_runner *r, const struct hd_project *p, struct hd_task *t,
                  struct hd_task_row *row);

/* ---- hunt.c ---- */

/* Searches all of them in p->hunt seconds, and prints findings as they come, then the table. */
void hd__hunt(struct hd_runner *r, struct hd_project *p, struct hd_task_row *row, int fd);

/* ---- project_text.c ---- */

void hd__print(int fd, struct hd_str *text); /* and clears it */
const char *hd__row_verdict(const struct hd_task_row *r);
/* Its findings. */
void hd__table_lines(struct hd_str *out, const struct hd_task_row *r);
/* The name, shortened in the middle if it has more columns than `width`. */
void hd__add_short(struct hd_str *out, const char *name, size_t width);
/* The first line of the table, for the names of these targets. */
void hd__table_head(struct hd_str *out, const struct hd_project *p);
void hd__table_row(struct hd_str *out, const struct hd_project *p, const struct hd_task_row *r, bool colour);
/* "NAME: not complete: ..." for each reason, of a target in which nothing was found. */
void hd__table_reasons(struct hd_str *out, const struct hd_project *p, const struct hd_task_row *r);
/* "10 targets: 7 clean, 3 found" */
void hd__table_totals(struct hd_str *out, const struct hd_project *p, const struct hd_task_row *rows);

#endif

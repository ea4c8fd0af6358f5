/* mutate_cli.h: shared by the files of `heddle mutate`. Runs in the supervisor. */
#ifndef HD_MUTATE_CLI_H
#define HD_MUTATE_CLI_H

#include "cli/cc_args.h"
#include "cli/cli.h"

#define HD_MUTATE_MANIFEST "manifest.json"
#define HD_MUTATE_RESULTS "results.json"

/* A command that is run for its exit status. */
struct hd__job {
  hd_words words;                /* without the final NULL */
  const char *folder;            /* NULL: here */
  const char *output;            /* the file that gets what it prints; NULL: nothing does */
  const char *mutant, *original; /* what `heddle cc` compiles instead of the original; NULL: no replacement */
  double seconds;                /* then it is killed */
};
/* Returns the exit status; 128 and more: killed. -1: it could not be started. */
int hd__job_run(const struct hd__job *j);
/* This binary. */
const char *hd__self(void);

/* The flags of a file in a compile_commands.json, and the folder where its compiler runs; the caller owns both. Fails when it
 * is not in there. */
int hd__compile_command(const char *database, const char *file, hd_words *flags, char **folder,
                        struct hd_err *err);

/* Checks every mutant of the folder (mutate_run.c). Returns the exit code, or HD_E*. */
int hd__mutate_run(const struct hd_options *o, const char *dir, char **program, struct hd_err *err);

#endif

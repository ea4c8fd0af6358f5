/* cli.h: shared by the files of the command line: the verbs, their help, and the output of a search. Runs in the
 * supervisor. The searches themselves are in session/. */
#ifndef HD_CLI_H
#define HD_CLI_H

#include "base/base.h"
#include "cli/options.h"
#include "report/report.h"

/* ---- verbs, cmd_*.c: argv[0] is the verb; the result is the exit code ---- */

int hd_cmd_cc(int argc, char **argv);
int hd_cmd_cxx(int argc, char **argv);
int hd_cmd_run(int argc, char **argv);
int hd_cmd_check(int argc, char **argv);
int hd_cmd_hunt(int argc, char **argv);
int hd_cmd_cluster(int argc, char **argv);
int hd_cmd_init(int argc, char **argv);
int hd_cmd_replay(int argc, char **argv);
int hd_cmd_record(int argc, char **argv);
int hd_cmd_trace(int argc, char **argv);
int hd_cmd_predict(int argc, char **argv);
int hd_cmd_aim(int argc, char **argv);
int hd_cmd_concolic(int argc, char **argv);
int hd_cmd_facts(int argc, char **argv);
int hd_cmd_mutate(int argc, char **argv);
int hd_cmd_sequentialize(int argc, char **argv);
int hd_cmd_explain(int argc, char **argv);
int hd_cmd_report(int argc, char **argv);
int hd_cmd_list(int argc, char **argv);
int hd_cmd_clean(int argc, char **argv);
int hd_cmd_suppress(int argc, char **argv);
int hd_cmd_gdb_start(int argc, char **argv);
int hd_cmd_generate(int argc, char **argv);

/* 1 if heddle was started as heddle-cc, 2 if as heddle-c++, else 0. */
int hd_cc_by_name(const char *argv0);

/* ---- help.c ---- */

/* A line of the table of verbs. */
struct hd_verb_info {
  const char *name, *usage, *first;
  enum hd_verb options; /* 0: no options in the table */
  const char *text;
  const char *words; /* allowed first words, separated by blanks; NULL: none */
};
/* The next verb, from *at = 0 on; false at the end. */
bool hd_verbs_next(size_t *at, struct hd_verb_info *out);

/* The lines of --help about the options of a verb, and about the strategies. */
void hd_help_options(struct hd_str *out, enum hd_verb verb);
void hd_help_strategies(struct hd_str *out);

void hd_help_verb(const char *verb);
int hd_help(int argc, char **argv);
/* Says which verb may have been meant; returns the exit code. */
int hd_unknown_verb(const char *word);

/* ---- present.c ---- */

/* Runs a search with these options, prints progress, findings and the summary, writes the requested files, and returns
 * the exit code. */
int hd_present_search(struct hd_options *o, enum hd_verb verb);
/* The same as one rank of a cluster: only the first presents anything. */
struct hd_cluster;
int hd_present_cluster(struct hd_options *o, struct hd_cluster *c);
/* Writes the text; on a terminal, lines are broken between words. */
void hd_print(int fd, struct hd_str *text);
/* Prints a finding as it is confirmed, in the requested format. */
void hd_present_found(const struct hd_options *o, int fd, const struct hd_finding *f);
/* Prints a finding as text. */
void hd_present_finding(int fd, const struct hd_finding *f, bool full);
/* Warns that the program is not the one that the finding was stored for. */
struct hd_replay;
void hd_present_rebuilt(const struct hd_replay *r);

/* ---- outputs.c ---- */

/* Whether one of the files is standard output. */
bool hd_outputs_own_stdout(const struct hd_options *o);
/* Checks that the files can be written, as far as possible in advance. */
int hd_outputs_check(const struct hd_options *o, struct hd_err *err);
int hd_outputs_write(const struct hd_options *o, const struct hd_summary *s, const char *cwd,
                     struct hd_err *err);
/* The result of one search, to be combined with others: "summary" as in --json, and if requested "sarif" (a run),
 * "junit" (a suite) and its "counts", "lcov"; for a target also "lines": its findings as printed. */
json_t *hd_outputs_result(const struct hd_options *o, const struct hd_summary *s, const char *cwd);
/* The files of several results; `about` is the JSON. */
int hd_outputs_write_all(const struct hd_options *o, json_t *results, json_t *about, struct hd_err *err);

#endif

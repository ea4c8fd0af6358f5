/* options_int.h: the options, for the files that read them. */
#ifndef HD_CLI_OPTIONS_INT_H
#define HD_CLI_OPTIONS_INT_H

#include "cli/options.h"

enum option_id {
  OPT_STRATEGY,
  OPT_DEPTH,
  OPT_PREEMPTIONS,
  OPT_DELAYS,
  OPT_SEED,
  OPT_MAX_EXECUTIONS,
  OPT_TIME,
  OPT_JOBS,
  OPT_ALL,
  OPT_DRIVER,
  OPT_DATARACE,
  OPT_ORDER,
  OPT_INTERFERENCE,
  OPT_SYMBOLIC_ARGS,
  OPT_SYMBOLIC_STDIN,
  OPT_SYMBOLIC_ENV,
  OPT_SYMBOLIC_FILE,
  OPT_IGNORE,
  OPT_SUPPRESSIONS,
  OPT_BASELINE,
  OPT_RESTART,
  OPT_CHECKPOINT,
  OPT_SPURIOUS,
  OPT_TIMEOUTS,
  OPT_CLOSED,
  OPT_PRELOAD,
  OPT_CLASSES,
  OPT_STATES,
  OPT_NO_STATES,
  OPT_SYMMETRY,
  OPT_NO_SYMMETRY,
  OPT_STATE_MEMORY,
  OPT_LEAKS,
  OPT_THREAD_LEAKS,
  OPT_EXIT_STATUS,
  OPT_MAX_LENGTH,
  OPT_HANG_TIMEOUT,
  OPT_SAVE,
  OPT_RESUME,
  OPT_JSON,
  OPT_SARIF,
  OPT_JUNIT,
  OPT_LCOV,
  OPT_QUERIES,
  OPT_FORMAT,
  OPT_OUT,
  OPT_QUIET,
  OPT_EXPLAIN,
  OPT_NO_LOCK_ORDER,
  OPT_NO_EXPLAIN,
  OPT_NO_SPURIOUS,
  OPT_BUDGET,
  OPT_FULL,
  OPT_ORIGINAL,
  OPT_PLAIN,
  OPT_OUTPUT,
  OPT_TIMES,
  OPT_GDB,
  OPT_HELP,
  OPT_CONFIG,
  OPT_TARGET,
  OPT_FORCE,
  OPT_DETECTORS,
  OPT_ENGINE,
  OPT_WINDOW,
  OPT_FOLLOW,
  OPT_PDDL,
  OPT_FAILURE,
  OPT_FROM,
  OPT_HEURISTIC,
  OPT_SEARCH,
  OPT_NO_REFINE,
  OPT_NO_META,
  OPT_NO_FACTS,
  OPT_SYMBOLIC,
  OPT_COUNT,
  OPT_OPERATORS,
  OPT_COMPILE_COMMANDS,
  OPT_RUN,
  OPT_BUILD,
  OPT_INPUTS,
  OPT_PROPERTY,
  OPT_LAST = OPT_PROPERTY
};
_Static_assert(OPT_LAST < HD_MAX_OPTIONS, "hd_options.given");

#define HD_DEFAULT_CHECK "auto"
#define HD_COUNT(a) (sizeof(a) / sizeof(a)[0])

/* ---- options_inputs.c ---- */

int hd__parse_symbolic_args(struct hd_options *o, const char *value, struct hd_err *err);
int hd__parse_symbolic_stdin(struct hd_options *o, const char *value, struct hd_err *err);
int hd__parse_symbolic_env(struct hd_options *o, const char *value, struct hd_err *err);
int hd__parse_symbolic_file(struct hd_options *o, const char *value, struct hd_err *err);
/* Those of an earlier layer. */
void hd__forget_sources(struct hd_options *o, unsigned kind);

/* ---- options_driver.c ---- */

int hd__parse_driver(struct hd_options *o, const char *value, struct hd_err *err);
int hd__parse_datarace(struct hd_options *o, const char *value, struct hd_err *err);
int hd__parse_order(struct hd_options *o, const char *value, struct hd_err *err);
/* Whether they fit together; sets the driver of `heddle aim`. */
int hd__check_driver(struct hd_options *o, enum hd_verb verb, struct hd_err *err);

static inline bool hd__given(const struct hd_options *o, enum option_id id) { return o->given[id]; }
/* How long to search by default. */
void hd__set_budget(struct hd_options *o);

#endif

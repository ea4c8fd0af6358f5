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
  OPT_IGNORE,
  OPT_SUPPRESSIONS,
  OPT_RESTART,
  OPT_CHECKPOINT,
  OPT_SPURIOUS,
  OPT_TIMEOUTS,
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
  OPT_FORMAT,
  OPT_OUT,
  OPT_QUIET,
  OPT_EXPLAIN,
  OPT_NO_EXPLAIN,
  OPT_NO_SPURIOUS,
  OPT_BUDGET,
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
  OPT_PDDL,
  OPT_FAILURE,
  OPT_FROM,
  OPT_HEURISTIC,
  OPT_SEARCH,
  OPT_NO_REFINE,
  OPT_NO_META,
  OPT_NO_FACTS,
  OPT_COUNT,
  OPT_OPERATORS,
  OPT_COMPILE_COMMANDS,
  OPT_RUN,
  OPT_BUILD,
  OPT_LAST = OPT_BUILD
};
_Static_assert(OPT_LAST < HD_MAX_OPTIONS, "hd_options.given");

#define HD_DEFAULT_CHECK "auto"
#define HD_COUNT(a) (sizeof(a) / sizeof(a)[0])

static inline bool hd__given(const struct hd_options *o, enum option_id id) { return o->given[id]; }
/* How long to search by default. */
void hd__set_budget(struct hd_options *o);

#endif

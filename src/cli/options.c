/* options.c: one table with every option of the verbs that run a program. Runs in the supervisor.
 *
 * The parser and --help both read the table, so every accepted option is documented. Both `--opt value` and
 * `--opt=value` work. The program begins after `--` or at the first word that is not an option; nothing after that is
 * parsed. */
#include "cli/options.h"
#include "cli/options_int.h"

#include "mutate/mutate.h"
#include "predict/predict.h"
#include "session/names.h"

#include <stdlib.h>
#include <string.h>

#define SEARCH (HD_VERB_RUN | HD_VERB_CHECK)
#define STORED (HD_VERB_REPLAY | HD_VERB_EXPLAIN)
#define READS                                                                                \
  (STORED | HD_VERB_REPORT | HD_VERB_PREDICT | HD_VERB_AIM | HD_VERB_MUTATE | HD_VERB_LIST | \
   HD_VERB_CLEAN) /* folders or files, named before or after the options */
#define EVERY (SEARCH | STORED | HD_VERB_RECORD | HD_VERB_PREDICT | HD_VERB_AIM)
#define RUNS (SEARCH | HD_VERB_RECORD | HD_VERB_PREDICT | HD_VERB_AIM)
#define FINDS (SEARCH | HD_VERB_PREDICT | HD_VERB_AIM)

static const struct {
  enum option_id id;
  const char *name;
  const char *arg; /* NULL: a flag */
  unsigned verbs;
  const char *help;
} options[] = {
    {OPT_STRATEGY, "strategy", "NAME", HD_VERB_RUN, "how the schedule is chosen (see below; default random)"},
    {OPT_STRATEGY, "strategy", "NAME", HD_VERB_CHECK, "how schedules are chosen (see below; default auto)"},
    {OPT_DEPTH, "depth", "N", SEARCH,
     "pct, sites: how many ordering constraints a bug needs at most (default 3)"},
    {OPT_PREEMPTIONS, "preemptions", "N|iterate", SEARCH,
     "only schedules with at most N switches away from a thread that could continue;\n"
     "iterate: 0, then 1, 2, ... (complete strategies)"},
    {OPT_DELAYS, "delays", "N|iterate", SEARCH,
     "only schedules that deviate at most N times from one deterministic schedule;\n"
     "iterate: as above (complete strategies)"},
    {OPT_SEED, "seed", "N", SEARCH, "seed of the strategy (default 1)"},
    {OPT_OUTPUT, "output", "FILE", HD_VERB_RECORD,
     "where to write the trace (also -o FILE; default heddle.trace)"},
    {OPT_OUTPUT, "output", "FILE", HD_VERB_REPORT,
     "where to write the page (also -o FILE; default report.html; - is standard output)"},
    {OPT_DETECTORS, "detectors", "LIST", HD_VERB_PREDICT,
     "what to predict by, separated by commas (see below; default: all that do not only filter)"},
    {OPT_ENGINE, "engine", "smt|plan|both", HD_VERB_PREDICT,
     "what looks for orders: the solver, the planner, or both for each question\n"
     "(default: first the planner, then the solver where it is installed)"},
    {OPT_PDDL, "pddl", "FOLDER", HD_VERB_PREDICT,
     "also write the planner's questions there as PDDL, for other planners"},
    {OPT_WINDOW, "window", "N", HD_VERB_PREDICT,
     "how many events the solver looks at together (default 1000)"},
    {OPT_FOLLOW, "follow", "N", HD_VERB_PREDICT,
     "also predict from at most N of the executions that were tried and did something\n"
     "new (default 24; 0: only from what was recorded)"},
    {OPT_FROM, "from", "FILE", HD_VERB_AIM,
     "instead of lines: the warnings of a report of ThreadSanitizer, AddressSanitizer,\n"
     "Helgrind, DRD, cppcheck (--xml) or Infer (report.json), one after the other"},
    {OPT_FAILURE, "failure", NULL, HD_VERB_AIM,
     "look for a failure at the last line (an assertion, a race, a crash, ...): reaching\nit is not enough"},
    {OPT_HEURISTIC, "heuristic", "distance|fsm|random|thread", HD_VERB_AIM,
     "which thread goes first on the way to the next line: the nearest, through its\n"
     "callers (default) or through any; any; or all before the first thread"},
    {OPT_SEARCH, "search", "greedy|best-first", HD_VERB_AIM,
     "follow an execution to its end (default), or leave it for a nearer state"},
    {OPT_NO_REFINE, "no-refine", NULL, HD_VERB_AIM,
     "do not look for writes of other threads where a branch goes the other way"},
    {OPT_NO_META, "no-meta", NULL, HD_VERB_AIM, "do not prefer states that have reached more of the lines"},
    {OPT_SYMBOLIC, "symbolic", NULL, HD_VERB_AIM,
     "search the inputs, too (heddle cc --symbolic), by --driver mta or another one, then by\npartition"},
    {OPT_NO_FACTS, "no-facts", NULL, HD_VERB_AIM, "do not use facts about the code (heddle cc --facts)"},
    {OPT_MAX_EXECUTIONS, "max-executions", "N", HD_VERB_AIM,
     "stop after N executions; then nothing is shown to be unreachable"},
    {OPT_SEED, "seed", "N", HD_VERB_AIM, "seed of the search (default 1)"},
    {OPT_TIME, "time", "90s|5m|2h", HD_VERB_PREDICT | HD_VERB_AIM, "stop after this time (default 60s)"},
    {OPT_SEED, "seed", "N", HD_VERB_RECORD | HD_VERB_PREDICT,
     "a random schedule, a different one for each N (default: each thread runs\nas long as it can, in order of creation)"},
    {OPT_PLAIN, "plain", NULL, HD_VERB_RECORD,
     "record every memory access, including memory of a single thread"},
    {OPT_MAX_EXECUTIONS, "max-executions", "N", HD_VERB_CHECK,
     "stop after N executions (default 10000 for sampling strategies)"},
    {OPT_TIME, "time", "90s|5m|2h", HD_VERB_CHECK,
     "stop after this time (default 60s for auto without --max-executions)"},
    {OPT_JOBS, "jobs", "N", HD_VERB_CHECK, "share the search among N processes (also -j N; default 1)"},
    {OPT_ALL, "all", NULL, HD_VERB_CHECK, "continue after the first finding"},
    {OPT_INPUTS, "inputs", NULL, HD_VERB_CHECK,
     "search the inputs, too: values of hd_input and __VERIFIER_nondet_*, all that make a\ndifference (built with heddle cc --symbolic)"},
    {OPT_DRIVER, "driver", "partition|bounded|hyper|mta|sequential", HD_VERB_CHECK | HD_VERB_AIM,
     "--inputs: a complete search of schedules for each class of inputs (default); inputs\n"
     "and schedules by the number of interferences; branches and orders of operations\n"
     "turned round one at a time; other orders of what executions did, and parts of several\n"
     "together; or inputs of each thread, which runs alone"},
    {OPT_DATARACE, "datarace", "DETECTOR", HD_VERB_CHECK,
     "a driver other than partition: execute data races that its executions imply, by hb,\n"
     "shb, sync, strict, said or huang (see heddle help predict)"},
    {OPT_ORDER, "order", "covering|heap|deepen", HD_VERB_CHECK,
     "--driver hyper: what is turned round next: what leads to outcomes that are not covered\n"
     "(default), what follows from the least, or what is early in its thread"},
    {OPT_INTERFERENCE, "interference", "K", HD_VERB_CHECK,
     "--driver bounded: all schedules in which threads read at most K values that others\n"
     "wrote (default: until every branch outcome is covered, at most 4)"},
    {OPT_SYMBOLIC_ARGS, "symbolic-args", "N:SIZE", HD_VERB_CHECK,
     "--inputs: the program gets N more arguments, any strings of up to SIZE bytes"},
    {OPT_SYMBOLIC_STDIN, "symbolic-stdin", "SIZE", HD_VERB_CHECK,
     "--inputs: standard input is any up to SIZE bytes"},
    {OPT_SYMBOLIC_ENV, "symbolic-env", "NAME:SIZE", HD_VERB_CHECK,
     "--inputs: this variable of the environment is any string of up to SIZE bytes (repeatable)"},
    {OPT_SYMBOLIC_FILE, "symbolic-file", "FILE:SIZE", HD_VERB_CHECK,
     "--inputs: this file has any up to SIZE bytes when an execution begins (repeatable);\n"
     "afterwards it is as it was"},
    {OPT_IGNORE, "ignore", "KIND", FINDS,
     "do not look for this kind of finding (repeatable, or a comma-separated list)"},
    {OPT_SUPPRESSIONS, "suppressions", "FILE", FINDS,
     "do not report findings that match a kind:glob line of the file, or a line of\n"
     "ThreadSanitizer's (repeatable)"},
    {OPT_BASELINE, "baseline", "FILE", HD_VERB_CHECK,
     "do not report findings that are in FILE, which an earlier search wrote (--json)"},
    {OPT_RESTART, "restart", "memory|fork|auto", SEARCH, "how executions are restarted (default auto)"},
    {OPT_CHECKPOINT, "checkpoint", "auto|always|never", HD_VERB_CHECK,
     "start executions after the set-up of the program: where it pays (default),\nwherever it can be done, or never"},
    {OPT_SPURIOUS, "spurious", NULL, RUNS,
     "wake spuriously at any wait (default: once a thread, at the end)"},
    {OPT_NO_SPURIOUS, "no-spurious", NULL, HD_VERB_CHECK | HD_VERB_PREDICT,
     "do not explore spurious wake-ups"},
    {OPT_TIMEOUTS, "timeouts", "last|any", RUNS,
     "timed waits end when nothing else can run (default), or at any point"},
    {OPT_CLOSED, "closed", NULL, RUNS,
     "nothing comes from outside the program: no client, no message, no input\n"
     "(default: noticed where the program's own threads are the clients)"},
    {OPT_PRELOAD, "preload", NULL, RUNS,
     "for a program not built with heddle cc: controls its synchronisation, input and\n"
     "output, but not its memory accesses, so data races are not detected"},
    {OPT_CLASSES, "classes", NULL, SEARCH, "count the happens-before classes seen"},
    {OPT_STATES, "states", NULL, HD_VERB_CHECK,
     "do not explore a state of the program again that was explored before\n"
     "(strategies dpor, the default then, optimal, auto, dfs and rdfs)"},
    {OPT_NO_STATES, "no-states", NULL, HD_VERB_CHECK,
     "do not compare states (default; auto begins to where a search is long)"},
    {OPT_STATE_MEMORY, "state-memory", "SIZE", HD_VERB_CHECK,
     "--states: memory for states, such as 512M or 4G (default 1G)"},
    {OPT_SYMMETRY, "symmetry", NULL, HD_VERB_CHECK,
     "of threads that are interchangeable, explore only schedules in which the one\n"
     "created first goes first"},
    {OPT_NO_SYMMETRY, "no-symmetry", NULL, HD_VERB_CHECK,
     "explore the schedules of all threads (default, as for --no-states)"},
    {OPT_PROPERTY, "property", "races", HD_VERB_CHECK,
     "cover every schedule for data races only: leave out what cannot lead to one, by facts\n"
     "about the code (heddle cc --facts; strategies optimal, the default then, and dpor)"},
    {OPT_LEAKS, "leaks", NULL, FINDS, "report memory that is not freed at exit"},
    {OPT_THREAD_LEAKS, "thread-leaks", NULL, SEARCH, "report threads running or not joined at exit"},
    {OPT_EXIT_STATUS, "exit-status", "N", FINDS, "report an exit status other than N (default 0)"},
    {OPT_MAX_LENGTH, "max-length", "N", FINDS, "cut an execution after N steps (default 100000)"},
    {OPT_MAX_LENGTH, "max-length", "N", HD_VERB_RECORD, "cut the execution after N steps (default 10000000)"},
    {OPT_HANG_TIMEOUT, "hang-timeout", "TIME", EVERY, "report a hang after this time (default 10s)"},
    {OPT_SAVE, "save", "FILE", HD_VERB_CHECK, "save the search to FILE every few seconds, and when it ends"},
    {OPT_RESUME, "resume", "FILE", HD_VERB_CHECK,
     "continue the search saved in FILE, with its options, and save it there again"},
    {OPT_JSON, "json", "FILE", FINDS | HD_VERB_EXPLAIN, "write the result as JSON; - is standard output"},
    {OPT_SARIF, "sarif", "FILE", SEARCH, "write the findings as SARIF 2.1.0, for code scanning and editors"},
    {OPT_QUERIES, "queries", "DIR", HD_VERB_CHECK,
     "--inputs: write the questions that the solver is asked to the folder, as SMT-LIB"},
    {OPT_LCOV, "lcov", "FILE", HD_VERB_CHECK,
     "--inputs: write the outcomes of branches that were covered as a tracefile of lcov"},
    {OPT_JUNIT, "junit", "FILE", SEARCH, "write the result as JUnit XML, for CI services"},
    {OPT_FORMAT, "format", "text|gcc|github", FINDS,
     "how findings are printed: for people (default), as compiler messages,\n"
     "or as annotations of a GitHub workflow"},
    {OPT_OUT, "out", "DIR", FINDS, "store findings in DIR (default .heddle)"},
    {OPT_EXPLAIN, "explain", "TIME", HD_VERB_CHECK | HD_VERB_PREDICT | HD_VERB_AIM,
     "spend this long, in total, on smaller schedules with the same findings\n"
     "(default 2s, 8s for a schedule of more than 20000 steps)"},
    {OPT_NO_LOCK_ORDER, "no-lock-order", NULL, HD_VERB_CHECK,
     "do not remark on locks that threads take in different orders"},
    {OPT_NO_EXPLAIN, "no-explain", NULL, HD_VERB_CHECK | HD_VERB_PREDICT | HD_VERB_AIM,
     "show failing schedules as found"},
    {OPT_BUDGET, "time", "TIME", HD_VERB_EXPLAIN,
     "spend this long looking for a smaller schedule (default 10s)"},
    {OPT_FULL, "full", NULL, FINDS | HD_VERB_REPLAY | HD_VERB_EXPLAIN,
     "show every line of what happened, not only those that explain the failure"},
    {OPT_ORIGINAL, "original", NULL, HD_VERB_REPLAY, "use the schedule as found, not the smaller one"},
    {OPT_TIMES, "times", "N", HD_VERB_REPLAY, "replay N times and compare (default 1)"},
    {OPT_GDB, "gdb", NULL, HD_VERB_REPLAY,
     "start gdb just before the failing step; what follows -- is passed to gdb\n"
     "(see docs/debugging.md, and `help heddle` in gdb)"},
    {OPT_CONFIG, "config", "FILE", HD_VERB_CHECK,
     "without a program: the file with the targets (default heddle.toml, here or in a parent folder)"},
    {OPT_TARGET, "target", "TARGET", HD_VERB_CHECK,
     "without a program: only targets that match this name or pattern (repeatable)"},
    {OPT_COUNT, "count", "N", HD_VERB_MUTATE, "how many mutants to make (also -n N; default 20)"},
    {OPT_OUTPUT, "output", "DIR", HD_VERB_MUTATE,
     "the folder of the mutants (also -o DIR; default heddle-mutants)"},
    {OPT_OPERATORS, "operators", "LIST", HD_VERB_MUTATE,
     "what to mutate by, separated by commas (see below; default: all)"},
    {OPT_COMPILE_COMMANDS, "compile-commands", "FILE", HD_VERB_MUTATE,
     "take the compiler flags of the files from this compile_commands.json"},
    {OPT_SEED, "seed", "N", HD_VERB_MUTATE,
     "which mutants are made, and the seed of their searches (default 1)"},
    {OPT_RUN, "run", NULL, HD_VERB_MUTATE,
     "check each mutant of the folder, after making them if files are named"},
    {OPT_BUILD, "build", "COMMAND", HD_VERB_MUTATE,
     "--run: how the program is built, with heddle cc as its compiler (default: heddle cc\n"
     "with the files and the words after --)"},
    {OPT_TIME, "time", "90s|5m|2h", HD_VERB_MUTATE, "--run: the time for each mutant (default 10s)"},
    {OPT_MAX_EXECUTIONS, "max-executions", "N", HD_VERB_MUTATE, "--run: the executions of each mutant"},
    {OPT_STRATEGY, "strategy", "NAME", HD_VERB_MUTATE,
     "--run: how schedules are chosen (see heddle help check; default auto)"},
    {OPT_JOBS, "jobs", "N", HD_VERB_MUTATE,
     "--run: share each search among N processes (also -j N; default 1)"},
    {OPT_JSON, "json", "FILE", HD_VERB_MUTATE,
     "--run: write the results as JSON (also in DIR/results.json); - is standard output"},
    {OPT_FORCE, "force", NULL, HD_VERB_INIT, "replace an existing heddle.toml"},
    {OPT_QUIET, "quiet", NULL,
     EVERY | HD_VERB_REPORT | HD_VERB_INIT | HD_VERB_MUTATE | HD_VERB_LIST | HD_VERB_CLEAN,
     "print only findings and errors"},
    {OPT_HELP, "help", NULL,
     EVERY | HD_VERB_REPORT | HD_VERB_INIT | HD_VERB_MUTATE | HD_VERB_LIST | HD_VERB_CLEAN, "show this help"},
};

#define DEFAULT_RUN "random" /* one execution, a different one for each --seed */
#define DEFAULT_EXECUTIONS 10000
#define DEFAULT_FOLLOW 24
#define DEFAULT_SECONDS 60
#define EXPLAIN_SECONDS 10 /* of `heddle explain` */
#define RECORD_LENGTH 10000000
#define MAX_BOUND 1000000 /* preemptions or delays */

static int parse_number(const char *name, const char *value, uint64_t min, uint64_t *out,
                        struct hd_err *err) {
  /* JSON cannot represent larger integers. */
  if (hd_parse_u64(value, 10, INT64_MAX, out) && *out >= min) return HD_OK;
  return hd_fail(err, HD_EUSAGE, "--%s needs a whole number of at least %llu, not '%s'", name,
                 (unsigned long long)min, value);
}

/* 90s, 5m, 2h, 1.5h; a bare number is seconds. */
static int parse_time(const char *name, const char *value, double *out, struct hd_err *err) {
  size_t digits = strspn(value, "0123456789.");
  char *end = NULL;
  double v = digits ? strtod(value, &end) : 0;
  double unit = 0;
  if (digits && end == value + digits) {
    if (strcmp(end, "") == 0 || strcmp(end, "s") == 0) unit = 1;
    if (strcmp(end, "m") == 0) unit = 60;
    if (strcmp(end, "h") == 0) unit = 3600;
  }
  if (unit == 0 || v <= 0 || v * unit > 1e9)
    return hd_fail(err, HD_EUSAGE, "--%s needs a time such as 90s, 5m or 2h, not '%s'", name, value);
  *out = v * unit;
  return HD_OK;
}

/* 512M, 4G; a bare number is bytes. */
static int parse_size(const char *name, const char *value, uint64_t *out, struct hd_err *err) {
  size_t digits = strspn(value, "0123456789");
  char number[24];
  const char *unit = value + digits;
  unsigned shift = strcmp(unit, "K") == 0   ? 10
                   : strcmp(unit, "M") == 0 ? 20
                   : strcmp(unit, "G") == 0 ? 30
                                            : 0;
  bool ok = digits > 0 && digits < 12 && (shift || !*unit);
  if (ok) {
    memcpy(number, value, digits);
    number[digits] = 0;
    ok = hd_parse_u64(number, 10, 1ull << 40, out) && *out > 0 && *out << shift <= 1ull << 40;
    *out <<= shift;
  }
  return ok ? HD_OK : hd_fail(err, HD_EUSAGE, "--%s needs a size such as 512M or 4G, not '%s'", name, value);
}

static int parse_bound(struct hd_options *o, enum hd_bound kind, const char *name, const char *value,
                       struct hd_err *err) {
  if (o->bound_kind && o->bound_kind != kind)
    return hd_fail(err, HD_EUSAGE, "--preemptions and --delays exclude each other: give only one");
  uint64_t n = 0;
  o->bound_kind = kind;
  o->bound_iterate = strcmp(value, "iterate") == 0;
  if (!o->bound_iterate && !hd_parse_u64(value, 10, MAX_BOUND, &n))
    return hd_fail(err, HD_EUSAGE, "--%s needs a whole number up to %d or `iterate`, not '%s'", name,
                   MAX_BOUND, value);
  o->bound = (uint32_t)n;
  return HD_OK;
}

static int parse_restart(const char *value, uint32_t *out, struct hd_err *err) {
  if (strcmp(value, "auto") == 0) return *out = HD_RESTART_AUTO, HD_OK;
  if (strcmp(value, "memory") == 0) return *out = HD_RESTART_MEMORY, HD_OK;
  if (strcmp(value, "fork") == 0) return *out = HD_RESTART_FORK, HD_OK;
  return hd_fail(err, HD_EUSAGE, "--restart is memory, fork or auto, not '%s'", value);
}

static int parse_checkpoint(const char *value, uint32_t *out, struct hd_err *err) {
  if (strcmp(value, "auto") == 0) return *out = HD_CHECKPOINT_AUTO, HD_OK;
  if (strcmp(value, "always") == 0) return *out = HD_CHECKPOINT_ALWAYS, HD_OK;
  if (strcmp(value, "never") == 0) return *out = HD_CHECKPOINT_NEVER, HD_OK;
  return hd_fail(err, HD_EUSAGE, "--checkpoint is auto, always or never, not '%s'", value);
}

static int parse_property(const char *value, uint32_t *out, struct hd_err *err) {
  if (strcmp(value, "races") == 0) return *out = HD_PROPERTY_RACES, HD_OK;
  if (strcmp(value, "deadlocks") == 0)
    return hd_fail(
        err, HD_EUSAGE,
        "--property deadlocks is not possible: locks do not say which waits another schedule may have "
        "(docs/soundness.md); search without --property");
  return hd_fail(err, HD_EUSAGE, "--property is races, not '%s'", value);
}

static int parse_engine(const char *value, uint32_t *out, struct hd_err *err) {
  if (strcmp(value, "smt") == 0) return *out = HD_ENGINE_SMT, HD_OK;
  if (strcmp(value, "plan") == 0) return *out = HD_ENGINE_PLAN, HD_OK;
  if (strcmp(value, "both") == 0) return *out = HD_ENGINE_SMT | HD_ENGINE_PLAN, HD_OK;
  return hd_fail(err, HD_EUSAGE, "--engine is smt, plan or both, not '%s'", value);
}

static int parse_detectors(const char *value, uint32_t *out, struct hd_err *err) {
  *out = 0;
  for (const char *p = value;; p++) {
    size_t len = strcspn(p, ",");
    char *name = hd_strndup(p, len);
    enum hd_detector d;
    bool known = hd_detector_by_name(name, &d);
    free(name);
    if (!known) {
      struct hd_str all;
      hd_str_init(&all);
      for (int i = 0; i < HD_DETECTORS; i++) hd_str_addf(&all, "%s%s", i ? ", " : "", hd_detector_name[i]);
      hd_fail(err, HD_EUSAGE, "unknown detector '%.*s'; known are: %s", (int)len, p, all.s);
      hd_str_fini(&all);
      return err->code;
    }
    *out |= HD_DETECTOR_BIT(d);
    p += len;
    if (!*p) return HD_OK;
  }
}

static int parse_format(const char *value, enum hd_format *out, struct hd_err *err) {
  if (strcmp(value, "text") == 0) return *out = HD_FORMAT_TEXT, HD_OK;
  if (strcmp(value, "gcc") == 0) return *out = HD_FORMAT_GCC, HD_OK;
  if (strcmp(value, "github") == 0) return *out = HD_FORMAT_GITHUB, HD_OK;
  return hd_fail(err, HD_EUSAGE, "--format is text, gcc or github, not '%s'", value);
}

static int parse_heuristic(const char *value, struct hd_options *o, struct hd_err *err) {
  o->fsm = strcmp(value, "fsm") == 0;
  if (o->fsm || strcmp(value, "distance") == 0) return o->heuristic = HD_AIM_DISTANCE, HD_OK;
  if (strcmp(value, "random") == 0) return o->heuristic = HD_AIM_RANDOM, HD_OK;
  if (strcmp(value, "thread") == 0) return o->heuristic = HD_AIM_THREAD, HD_OK;
  return hd_fail(err, HD_EUSAGE, "--heuristic is distance, fsm, random or thread, not '%s'", value);
}

static int parse_search(const char *value, bool *best_first, struct hd_err *err) {
  *best_first = strcmp(value, "best-first") == 0;
  if (*best_first || strcmp(value, "greedy") == 0) return HD_OK;
  return hd_fail(err, HD_EUSAGE, "--search is greedy or best-first, not '%s'", value);
}

/* Adds to a list of words. */
static int add_word(struct hd_word_list *list, const char *name, const char *value, struct hd_err *err) {
  if (list->n == HD_MAX_WORDS)
    return hd_fail(err, HD_EUSAGE, "--%s can be given %d times at most", name, HD_MAX_WORDS);
  list->v[list->n++] = value;
  return HD_OK;
}

/* Drops the values of an earlier layer, for options whose values accumulate or exclude each other. */
static void forget(struct hd_options *o, enum option_id id) {
  if (id == OPT_IGNORE) o->ignore = 0;
  if (id == OPT_SUPPRESSIONS) o->suppressions.n = 0;
  if (id == OPT_SYMBOLIC_ENV) hd__forget_sources(o, HD_INPUT_ENVIRONMENT);
  if (id == OPT_SYMBOLIC_FILE) hd__forget_sources(o, HD_INPUT_FILE);
  bool bound = id == OPT_PREEMPTIONS || id == OPT_DELAYS;
  if (bound && !o->layer[OPT_PREEMPTIONS] && !o->layer[OPT_DELAYS]) o->bound_kind = HD_BOUND_NONE;
}

static int no_explain(struct hd_options *o, bool on) {
  struct hd_session_config d;
  hd_session_config_init(&d, NULL);
  o->explain = on ? 0 : d.explain;
  return HD_OK;
}

/* `on` is for a flag, `value` for the others. */
static int set_option(struct hd_options *o, enum option_id id, const char *name, const char *value, bool on,
                      struct hd_err *err) {
  switch (id) {
    case OPT_STRATEGY: return hd_strategy_parse(value, &o->strategy, err);
    case OPT_DEPTH:
      if (hd_parse_u64(value, 10, 64, &o->depth) && o->depth >= 1) return HD_OK;
      return hd_fail(err, HD_EUSAGE, "--depth needs a whole number from 1 to 64, not '%s'", value);
    case OPT_PREEMPTIONS: return parse_bound(o, HD_BOUND_PREEMPTIONS, name, value, err);
    case OPT_DELAYS: return parse_bound(o, HD_BOUND_DELAYS, name, value, err);
    case OPT_SEED: return parse_number(name, value, 0, &o->seed, err);
    case OPT_MAX_EXECUTIONS: return parse_number(name, value, 1, &o->max_executions, err);
    case OPT_TIME: return parse_time(name, value, &o->time, err);
    case OPT_JOBS:
      if (hd_parse_u64(value, 10, HD_MAX_WORKERS, &o->jobs) && o->jobs >= 1) return HD_OK;
      return hd_fail(err, HD_EUSAGE, "--jobs needs a whole number from 1 to %d, not '%s'", HD_MAX_WORKERS,
                     value);
    case OPT_ALL: o->all = on; return HD_OK;
    case OPT_INPUTS: o->inputs = on; return HD_OK;
    case OPT_DRIVER: return hd__parse_driver(o, value, err);
    case OPT_DATARACE: return hd__parse_datarace(o, value, err);
    case OPT_ORDER: return hd__parse_order(o, value, err);
    case OPT_INTERFERENCE:
      if (hd_parse_u64(value, 10, 60, &o->interference)) return HD_OK;
      return hd_fail(err, HD_EUSAGE, "--interference needs a whole number from 0 to 60, not '%s'", value);
    case OPT_SYMBOLIC_ARGS: return hd__parse_symbolic_args(o, value, err);
    case OPT_SYMBOLIC_STDIN: return hd__parse_symbolic_stdin(o, value, err);
    case OPT_SYMBOLIC_ENV: return hd__parse_symbolic_env(o, value, err);
    case OPT_SYMBOLIC_FILE: return hd__parse_symbolic_file(o, value, err);
    case OPT_PLAIN: o->plain = on; return HD_OK;
    case OPT_OUTPUT: o->output = value; return HD_OK;
    case OPT_IGNORE: return hd_kinds_parse(value, &o->ignore, err);
    case OPT_BASELINE: o->baseline = value; return HD_OK;
    case OPT_SUPPRESSIONS: return add_word(&o->suppressions, name, value, err);
    case OPT_RESTART: return parse_restart(value, &o->restart, err);
    case OPT_CHECKPOINT: return parse_checkpoint(value, &o->checkpoint, err);
    case OPT_SPURIOUS:
      o->spurious = on;
      o->no_spurious = !on;
      return HD_OK;
    case OPT_NO_SPURIOUS:
      o->no_spurious = on;
      if (on) o->spurious = false;
      return HD_OK;
    case OPT_PRELOAD: o->preload = on; return HD_OK;
    case OPT_CLOSED: o->closed = on; return HD_OK;
    case OPT_TIMEOUTS:
      o->timeouts_any = strcmp(value, "any") == 0;
      if (o->timeouts_any || strcmp(value, "last") == 0) return HD_OK;
      return hd_fail(err, HD_EUSAGE, "--timeouts needs last or any, not '%s'", value);
    case OPT_CLASSES: o->classes = on; return HD_OK;
    case OPT_STATES:
    case OPT_NO_STATES:
      o->states = on == (id == OPT_STATES);
      o->no_states = !o->states;
      return HD_OK;
    case OPT_SYMMETRY:
    case OPT_NO_SYMMETRY:
      o->symmetry = on == (id == OPT_SYMMETRY);
      o->no_symmetry = !o->symmetry;
      return HD_OK;
    case OPT_STATE_MEMORY: return parse_size(name, value, &o->state_memory, err);
    case OPT_PROPERTY: return parse_property(value, &o->property, err);
    case OPT_LEAKS: o->leaks = on; return HD_OK;
    case OPT_THREAD_LEAKS: o->thread_leaks = on; return HD_OK;
    case OPT_EXIT_STATUS:
      if (hd_parse_u64(value, 10, 255, &o->exit_status)) return HD_OK;
      return hd_fail(err, HD_EUSAGE, "--exit-status needs a whole number from 0 to 255, not '%s'", value);
    case OPT_MAX_LENGTH: return parse_number(name, value, 1, &o->max_length, err);
    case OPT_HANG_TIMEOUT: return parse_time(name, value, &o->hang_timeout, err);
    case OPT_SAVE: o->save = value; return HD_OK;
    case OPT_RESUME: o->resume = value; return HD_OK;
    case OPT_JSON: o->json = value; return HD_OK;
    case OPT_SARIF: o->sarif = value; return HD_OK;
    case OPT_JUNIT: o->junit = value; return HD_OK;
    case OPT_QUERIES: o->queries = value; return HD_OK;
    case OPT_LCOV: o->lcov = value; return HD_OK;
    case OPT_FORMAT: return parse_format(value, &o->format, err);
    case OPT_OUT: o->out = value; return HD_OK;
    case OPT_QUIET: o->quiet = on; return HD_OK;
    case OPT_EXPLAIN:
    case OPT_BUDGET: return parse_time(name, value, &o->explain, err);
    case OPT_NO_LOCK_ORDER: o->no_lock_order = on; return HD_OK;
    case OPT_NO_EXPLAIN: return no_explain(o, on);
    case OPT_FULL: o->full = on; return HD_OK;
    case OPT_ORIGINAL: o->original = on; return HD_OK;
    case OPT_TIMES: return parse_number(name, value, 1, &o->times, err);
    case OPT_GDB: o->gdb = on; return HD_OK;
    case OPT_HELP: o->help = on; return HD_OK;
    case OPT_CONFIG: o->config = value; return HD_OK;
    case OPT_TARGET: return add_word(&o->targets, name, value, err);
    case OPT_FORCE: o->force = on; return HD_OK;
    case OPT_DETECTORS: return parse_detectors(value, &o->detectors, err);
    case OPT_ENGINE: return parse_engine(value, &o->engines, err);
    case OPT_PDDL: o->pddl = value; return HD_OK;
    case OPT_FROM: o->from = value; return HD_OK;
    case OPT_FAILURE: o->failure = on; return HD_OK;
    case OPT_HEURISTIC: return parse_heuristic(value, o, err);
    case OPT_SEARCH: return parse_search(value, &o->best_first, err);
    case OPT_NO_REFINE: o->no_refine = on; return HD_OK;
    case OPT_NO_META: o->no_meta = on; return HD_OK;
    case OPT_SYMBOLIC: o->inputs = on; return HD_OK;
    case OPT_NO_FACTS: o->no_facts = on; return HD_OK;
    case OPT_WINDOW: return parse_number(name, value, 2, &o->window, err);
    case OPT_FOLLOW: return parse_number(name, value, 0, &o->follow, err);
    case OPT_COUNT: return parse_number(name, value, 1, &o->count, err);
    case OPT_OPERATORS: return hd_mutations_parse(value, &o->operators, err);
    case OPT_COMPILE_COMMANDS: o->compile_commands = value; return HD_OK;
    case OPT_RUN: o->run_mutants = on; return HD_OK;
    case OPT_BUILD: o->build = value; return HD_OK;
  }
  return HD_OK;
}

/* pre: `k` is a number of the table. */
static int give(struct hd_options *o, size_t k, const char *value, bool on, struct hd_err *err) {
  enum option_id id = options[k].id;
  if (!o->layer[id]) forget(o, id);
  int rc = set_option(o, id, options[k].name, value, on, err);
  o->layer[id] = o->given[id] = true;
  return rc;
}

void hd__set_budget(struct hd_options *o) {
  if (hd__given(o, OPT_MAX_EXECUTIONS) || hd__given(o, OPT_TIME)) return;
  o->time_default = strcmp(o->strategy, HD_DEFAULT_CHECK) == 0;
  o->time = o->time_default ? DEFAULT_SECONDS : 0;
  o->max_executions = hd_strategy_systematic(o->strategy) ? 0 : DEFAULT_EXECUTIONS;
}

void hd_options_init(struct hd_options *o, enum hd_verb verb) {
  struct hd_session_config d;
  hd_session_config_init(&d, NULL);
  *o = (struct hd_options){.interference = 4,
                           .depth = d.search.depth,
                           .seed = d.search.seed,
                           .jobs = d.search.workers,
                           .max_length = d.search.max_length,
                           .hang_timeout = d.hang_timeout,
                           .times = 1,
                           .result_fd = -1};
  if (verb & (HD_VERB_CHECK | HD_VERB_PREDICT | HD_VERB_AIM)) o->explain = d.explain;
  if (verb == HD_VERB_EXPLAIN) o->explain = EXPLAIN_SECONDS;
}

void hd_options_layer(struct hd_options *o) { memset(o->layer, 0, sizeof o->layer); }

/* The option's index in the table, or HD_COUNT(options). */
static size_t find_option(enum hd_verb verb, const char *name, size_t len) {
  size_t k = 0;
  while (k < HD_COUNT(options) && (!(options[k].verbs & verb) || strlen(options[k].name) != len ||
                                   memcmp(options[k].name, name, len) != 0))
    k++;
  return k;
}

int hd_options_set(struct hd_options *o, enum hd_verb verb, const char *name, const char *value, bool on,
                   struct hd_err *err) {
  size_t k = find_option(verb, name, strlen(name));
  HD_BUG_ON(k == HD_COUNT(options));
  return give(o, k, value, on, err);
}

/* --no-FLAG turns off a flag of heddle.toml; HD_COUNT(options) if there is no such flag. */
static size_t find_negated(enum hd_verb verb, const char *name, size_t len) {
  if (verb != HD_VERB_CHECK || len < 3 || memcmp(name, "no-", 3) != 0) return HD_COUNT(options);
  size_t k = find_option(verb, name + 3, len - 3);
  return k < HD_COUNT(options) && !options[k].arg ? k : HD_COUNT(options);
}

/* The long form of a short option; `attached` is the value in -j4. */
static const char *long_word(enum hd_verb verb, const char *word, const char **attached) {
  if (strcmp(word, "-h") == 0) return "--help";
  if (word[0] != '-' || !word[1]) return word;
  const char *name = word[1] == 'j' ? "--jobs"
                     : word[1] == 'o' && (verb & (HD_VERB_RECORD | HD_VERB_REPORT | HD_VERB_MUTATE))
                         ? "--output"
                     : word[1] == 'n' && verb == HD_VERB_MUTATE ? "--count"
                                                                : NULL;
  if (!name) return word;
  *attached = word[2] ? word + 2 : NULL;
  return name;
}

static int unknown_option(enum hd_verb verb, const char *name, const char *word, size_t len,
                          struct hd_err *err) {
  struct hd_near near = {.word = word + 2, .len = word[1] == '-' ? len - 2 : 0};
  for (size_t k = 0; k < HD_COUNT(options); k++)
    if (options[k].verbs & verb) hd_near_try(&near, options[k].name);
  if (near.best)
    return hd_fail(err, HD_EUSAGE, "unknown option '%.*s'; did you mean --%s?", (int)len, word, near.best);
  return hd_fail(err, HD_EUSAGE, "unknown option '%.*s'; see `heddle help %s`", (int)len, word, name);
}

/* Reads the option at argv[*i] and its value. */
static int take_option(struct hd_options *o, enum hd_verb verb, int argc, char **argv, int *i,
                       struct hd_err *err) {
  const char *attached = NULL, *word = long_word(verb, argv[*i], &attached);
  const char *eq = strchr(word, '=');
  size_t len = eq ? (size_t)(eq - word) : strlen(word);
  size_t k = word[1] == '-' ? find_option(verb, word + 2, len - 2) : HD_COUNT(options);
  bool on = k < HD_COUNT(options);
  if (!on && word[1] == '-') k = find_negated(verb, word + 2, len - 2);
  if (k == HD_COUNT(options)) return unknown_option(verb, argv[0], word, len, err);
  const char *value = NULL;
  if (options[k].arg) {
    value = attached ? attached : eq ? eq + 1 : *i + 1 < argc ? argv[++*i] : NULL;
    if (!value || !*value)
      return hd_fail(err, HD_EUSAGE, "--%s needs a value: --%s %s", options[k].name, options[k].name,
                     options[k].arg);
  } else if (eq) {
    return hd_fail(err, HD_EUSAGE, "--%s takes no value", options[k].name);
  }
  return give(o, k, value, on, err);
}

int hd_options_words(struct hd_options *o, enum hd_verb verb, int argc, char **argv, struct hd_err *err) {
  int i = 1;
  for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (argv[i][0] == '-' && argv[i][1]) {
      int rc = take_option(o, verb, argc, argv, &i, err);
      if (rc != HD_OK) return rc;
      continue;
    }
    /* `replay DIR --times 3` has the folder first; a program ends the options. */
    if (!(verb & READS)) break;
    argv[1 + o->nargs++] = argv[i];
  }
  if (i < argc && strcmp(argv[i], "--") == 0) i++;
  if (verb & READS) {
    o->after = argv + i;
    while (i < argc && !o->gdb && !(verb & (HD_VERB_PREDICT | HD_VERB_AIM | HD_VERB_MUTATE)))
      argv[1 + o->nargs++] = argv[i++];
    o->args = argv + 1;
    o->args[o->nargs] = NULL;
    if (o->gdb && hd__given(o, OPT_TIMES))
      return hd_fail(err, HD_EUSAGE, "--gdb and --times exclude each other: give only one");
  } else {
    o->args = argv + i;
    o->nargs = argc - i;
  }
  return HD_OK;
}

/* What states are combined with (explore/states.c). */
static int check_states(struct hd_options *o, struct hd_err *err) {
  if (!o->strategy) o->strategy = "dpor";
  static const char *const with[] = {"dfs", "rdfs", "dpor", "optimal", "auto"};
  unsigned i = 0;
  while (i < sizeof with / sizeof *with && strcmp(o->strategy, with[i]) != 0) i++;
  if (i == sizeof with / sizeof *with)
    return hd_fail(err, HD_EUSAGE, "--states is for --strategy auto, optimal, dpor, dfs and rdfs, not %s",
                   o->strategy);
  if (o->bound_kind)
    return hd_fail(
        err, HD_EUSAGE,
        "--states cannot be combined with --preemptions or --delays: how much of the bound is left "
        "is no part of a state");
  if (o->save || o->resume)
    return hd_fail(err, HD_EUSAGE, "--states cannot be combined with --save or --resume");
  return HD_OK;
}

/* What symmetry is combined with (explore/symmetry.c). */
static int check_symmetry(const struct hd_options *o, struct hd_err *err) {
  if (!hd_strategy_systematic(o->strategy))
    return hd_fail(err, HD_EUSAGE,
                   "--symmetry is for strategies that cover every schedule, and %s samples: use "
                   "--strategy auto, optimal, dpor, dfs or rdfs",
                   o->strategy);
  if (o->bound_kind)
    return hd_fail(err, HD_EUSAGE,
                   "--symmetry cannot be combined with --preemptions or --delays: what a switch costs "
                   "depends on which thread ran last");
  return HD_OK;
}

/* What a search for one property is combined with (explore/property.c). */
static int check_property(struct hd_options *o, struct hd_err *err) {
  if (!o->strategy) o->strategy = "optimal";
  if (strcmp(o->strategy, "optimal") != 0 && strcmp(o->strategy, "dpor") != 0)
    return hd_fail(err, HD_EUSAGE, "--property is for --strategy optimal and dpor, not %s", o->strategy);
  const char *other = o->states       ? "states"
                      : o->symmetry   ? "symmetry"
                      : o->bound_kind ? "preemptions or --delays"
                      : o->save       ? "save"
                      : o->resume     ? "resume"
                      : o->preload    ? "preload"
                                      : NULL;
  if (other) return hd_fail(err, HD_EUSAGE, "--property cannot be combined with --%s", other);
  if (o->ignore >> HD_KIND_DATA_RACE & 1)
    return hd_fail(err, HD_EUSAGE, "--property races looks for data races, which --ignore turns off");
  return HD_OK;
}

int hd_options_finish(struct hd_options *o, enum hd_verb verb, struct hd_err *err) {
  int rc = hd__check_driver(o, verb, err);
  if (rc == HD_OK && o->property) rc = check_property(o, err);
  if (rc == HD_OK && o->states) rc = check_states(o, err);
  if (rc != HD_OK) return rc;
  if (!o->strategy)
    o->strategy = (verb & (HD_VERB_RUN | HD_VERB_RECORD)) && !o->bound_kind ? DEFAULT_RUN : HD_DEFAULT_CHECK;
  if (o->bound_kind && !hd_strategy_systematic(o->strategy))
    return hd_fail(err, HD_EUSAGE,
                   "--%s is for strategies that cover every schedule, and %s samples: use --strategy auto, "
                   "optimal, dpor, dfs or rdfs",
                   o->bound_kind == HD_BOUND_DELAYS ? "delays" : "preemptions", o->strategy);
  if (o->symmetry && (rc = check_symmetry(o, err)) != HD_OK) return rc;
  if (verb == HD_VERB_RUN || verb == HD_VERB_RECORD) o->max_executions = 1;
  if (verb == HD_VERB_RECORD && !hd__given(o, OPT_MAX_LENGTH)) o->max_length = RECORD_LENGTH;
  if (verb == HD_VERB_RUN && !hd__given(o, OPT_MAX_LENGTH)) o->max_length = HD_PATH_CAP / 2;
  o->seeded = hd__given(o, OPT_SEED);
  if (verb == HD_VERB_CHECK) hd__set_budget(o);
  if ((verb & (HD_VERB_PREDICT | HD_VERB_AIM)) && !hd__given(o, OPT_TIME)) o->time = DEFAULT_SECONDS;
  if (!hd__given(o, OPT_FOLLOW)) o->follow = DEFAULT_FOLLOW;
  return HD_OK;
}

/* Whether the word is an option of some verb. */
static bool is_option(const char *word) {
  const char *attached;
  word = long_word((enum hd_verb) ~0u, word, &attached);
  return word[1] == '-' &&
         find_option((enum hd_verb) ~0u, word + 2, strcspn(word + 2, "=")) < HD_COUNT(options);
}

int hd_options_environment(struct hd_options *o, enum hd_verb verb, struct hd_err *err) {
  const char *given = getenv(HD_OPTIONS_ENV);
  static char *text; /* options refer to it */
  int rc = HD_OK;
  if (!given || !*given) return HD_OK;
  free(text);
  text = hd_strdup(given);
  HD_VEC(char *) word = {0};
  char *rest = text;
  for (char *one; (one = strsep(&rest, " \t\n"));)
    if (*one) hd_vec_push(&word, one);
  for (int i = 0; i < (int)word.n && rc == HD_OK; i++) {
    const char *attached = NULL, *name = long_word(verb, word.v[i], &attached);
    size_t k = name[0] == '-' && name[1] == '-' ? find_option(verb, name + 2, strcspn(name + 2, "=")) : 0;
    if (name[0] != '-' || !is_option(word.v[i]))
      rc = hd_fail(err, HD_EUSAGE, "'%s' is not an option", word.v[i]);
    else if (k < HD_COUNT(options))
      rc = take_option(o, verb, (int)word.n, word.v, &i, err);
    else /* of other verbs */
      while (i + 1 < (int)word.n && word.v[i + 1][0] != '-') i++;
  }
  hd_vec_free(&word);
  hd_options_layer(o);
  if (rc == HD_OK) return HD_OK;
  struct hd_err why = *err;
  return hd_fail(err, why.code, HD_OPTIONS_ENV ": %s", why.text);
}

int hd_options_parse(struct hd_options *o, enum hd_verb verb, int argc, char **argv, struct hd_err *err) {
  hd_options_init(o, verb);
  int rc = hd_options_environment(o, verb, err);
  if (rc == HD_OK) rc = hd_options_words(o, verb, argc, argv, err);
  return rc == HD_OK ? hd_options_finish(o, verb, err) : rc;
}

/* Whether it can be given several times. */
static bool is_list(enum option_id id) {
  return id == OPT_IGNORE || id == OPT_SUPPRESSIONS || id == OPT_TARGET || id == OPT_SYMBOLIC_ENV ||
         id == OPT_SYMBOLIC_FILE;
}

/* Where the option may be given. */
static enum hd_option_place place_of(enum option_id id) {
  switch (id) {
    case OPT_SAVE:
    case OPT_RESUME:
    case OPT_CONFIG:
    case OPT_TARGET:
    case OPT_HELP: return HD_PLACE_COMMAND;
    case OPT_JSON:
    case OPT_SARIF:
    case OPT_JUNIT:
    case OPT_LCOV:
    case OPT_FORMAT:
    case OPT_FULL:
    case OPT_QUIET: return HD_PLACE_PROJECT;
    default: return HD_PLACE_ANY;
  }
}

bool hd_options_next(enum hd_verb verb, size_t *at, struct hd_option_info *out) {
  while (*at < HD_COUNT(options) && !(options[*at].verbs & verb)) ++*at;
  if (*at == HD_COUNT(options)) return false;
  *out = (struct hd_option_info){options[*at].name, options[*at].arg, options[*at].help,
                                 is_list(options[*at].id), place_of(options[*at].id)};
  ++*at;
  return true;
}

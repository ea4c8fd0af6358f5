/* options.h: the options of the verbs: one table for the command line and heddle.toml, and the conversion to a
 * configuration of session/. Runs in the supervisor. */
#ifndef HD_OPTIONS_H
#define HD_OPTIONS_H

#include "report/report.h"
#include "session/session.h"

enum hd_verb {
  HD_VERB_RUN = 1,
  HD_VERB_CHECK = 2,
  HD_VERB_REPLAY = 4,
  HD_VERB_EXPLAIN = 8,
  HD_VERB_RECORD = 16,
  HD_VERB_REPORT = 32,
  HD_VERB_INIT = 64,
  HD_VERB_PREDICT = 128,
  HD_VERB_AIM = 256,
  HD_VERB_MUTATE = 512,
  HD_VERB_LIST = 1024,
  HD_VERB_CLEAN = 2048
};

#define HD_MAX_WORDS 32
#define HD_MAX_OPTIONS 128
struct hd_word_list {
  const char *v[HD_MAX_WORDS];
  unsigned n;
};

struct hd_options {
  const char *strategy;
  uint64_t depth; /* of pct and sites */
  enum hd_bound bound_kind;
  uint32_t bound;
  bool bound_iterate;
  uint64_t seed;
  uint64_t jobs;           /* processes that share the search */
  uint64_t max_executions; /* 0: no limit */
  double time;             /* seconds, 0: no limit */
  bool time_default;       /* that limit is a default */
  uint64_t max_length;
  double hang_timeout;
  uint64_t ignore; /* bit per enum hd_kind */
  uint32_t restart;
  uint32_t checkpoint;   /* enum hd_checkpoint */
  uint64_t state_memory; /* bytes, 0: the default */
  bool all, classes, states, no_states, symmetry, no_symmetry, spurious, no_spurious, no_lock_order,
      timeouts_any, leaks, thread_leaks, quiet, preload, closed, inputs;
  enum hd_cc_driver driver;                      /* --inputs */
  bool datarace;                                 /* the same: --datarace ... */
  enum hd_detector race_detector;                /* ... which */
  enum hd_cc_order order;                        /* --driver hyper */
  uint64_t interference;                         /* --driver bounded */
  uint64_t symbolic_args, symbolic_size;         /* --symbolic-args: how many, and bytes of each */
  struct hd_input_source source[HD_MAX_SOURCES]; /* --symbolic-stdin, -env, -file */
  unsigned nsources;
  struct hd_str *covered;           /* gets what that covered, as text */
  uint32_t property;                /* enum hd_property_kind */
  uint64_t exit_status;             /* the expected one */
  struct hd_word_list suppressions; /* files */
  const char *baseline;             /* a file with known findings; NULL: none */
  const char *json, *sarif, *junit, *lcov, *queries, *out;
  enum hd_format format;
  const char *save, *resume;
  bool seeded;                     /* a seed was given */
  uint32_t detectors;              /* HD_DETECTOR_BIT of each; 0: the default */
  uint32_t engines;                /* HD_ENGINE_*; 0: the default */
  uint64_t window;                 /* events; 0: the default */
  uint64_t follow;                 /* executions that are predicted from, besides the first */
  const char *from;                /* aim: a report of another tool, or NULL */
  enum hd_aim_heuristic heuristic; /* of aim, and its other options */
  bool failure, best_first, no_refine, no_meta, no_facts, fsm;
  const char *pddl;   /* folder, or NULL */
  uint64_t count;     /* of mutants; 0: the default */
  uint32_t operators; /* bit per enum hd_mutation; 0: all */
  const char *compile_commands, *build;
  bool run_mutants;
  bool plain;                 /* every access is recorded */
  const char *output;         /* the file of a trace or a page; NULL: the default */
  bool given[HD_MAX_OPTIONS]; /* it was given somewhere ... */
  bool layer[HD_MAX_OPTIONS]; /* ... since hd_options_layer */
  uint64_t times;
  double explain; /* seconds for finding smaller schedules; 0: do not try; < 0: by their length */
  bool original, full;
  bool help, gdb, force;
  const char *config;          /* --config */
  struct hd_word_list targets; /* --target */
  /* for a target of heddle.toml: */
  const char *name;
  const char *cwd; /* where the program runs; NULL: here */
  int result_fd;   /* where its result goes instead of files; -1: to files */
  int nargs;       /* the words that are not options: program and its arguments, or folders */
  char **args;     /* ends with NULL */
  char **after; /* replay --gdb, predict, aim: the words after `--`, for gdb or the program; ends with NULL */
};

/* Reads the command line of `verb` (argv[0] is its name). */
/* --symbolic-args: adds them to o->args. */
void hd_options_add_symbolic_args(struct hd_options *o);
int hd_options_parse(struct hd_options *o, enum hd_verb verb, int argc, char **argv, struct hd_err *err);

/* ---- the same in steps, for options that come from several places; values are not copied ---- */

void hd_options_init(struct hd_options *o, enum hd_verb verb);
/* Starts a new layer: options given from now on override earlier ones. */
void hd_options_layer(struct hd_options *o);
/* Sets one option: `on` for a flag, `value` for others. pre: it is in the table. */
int hd_options_set(struct hd_options *o, enum hd_verb verb, const char *name, const char *value, bool on,
                   struct hd_err *err);
/* The options of the environment variable, which those of heddle.toml and of the command line override. Options of other
 * verbs are passed over. */
#define HD_OPTIONS_ENV "HEDDLE_OPTIONS"
int hd_options_environment(struct hd_options *o, enum hd_verb verb, struct hd_err *err);
/* The options of a command line. */
int hd_options_words(struct hd_options *o, enum hd_verb verb, int argc, char **argv, struct hd_err *err);
/* Checks all of them together, and fills in defaults that depend on others. */
int hd_options_finish(struct hd_options *o, enum hd_verb verb, struct hd_err *err);

/* ---- conversion for session/ ---- */

/* The configuration of the requested search. It borrows from `o`. */
void hd_options_session(const struct hd_options *o, enum hd_verb verb, struct hd_session_config *c);
/* With --resume: replaces the settings by those of the saved search. An option that conflicts with one is an error. */
int hd_options_resume(struct hd_options *o, struct hd_session_config *c, struct hd_err *err);

/* ---- the table, for generated output ---- */

/* Where an option may be given. */
enum hd_option_place {
  HD_PLACE_COMMAND, /* on the command line only */
  HD_PLACE_PROJECT, /* also in heddle.toml, for all targets together */
  HD_PLACE_ANY,
};
struct hd_option_info {
  const char *name, *arg, *help; /* arg is NULL for a flag */
  bool list;                     /* can be given several times */
  enum hd_option_place place;
};
/* The next option of `verb`, from *at = 0 on; false at the end. */
bool hd_options_next(enum hd_verb verb, size_t *at, struct hd_option_info *out);

#endif

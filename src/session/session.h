/* session.h: a search of the schedules of one program, from its configuration to its summary.
 *
 * Runs in the supervisor. A session does not depend on command lines and prints nothing: the caller fills in a
 * configuration, receives progress and findings through callbacks, and reads the summary at the end. Warnings go to
 * hd_warn, which the caller can collect (hd_speak_for). Error messages may name the option that helps.
 *
 *   command.h   the program and how it is started
 *   control.h   the shared memory of one tested process
 *   process.h   a tested process, its input and output
 *   store.h     schedules, and the folder of a finding
 *   rerun.h     re-execution of schedules: confirm, minimise, replay, debug
 *   names.h     kinds of findings and strategies by name */
#ifndef HD_SESSION_H
#define HD_SESSION_H

#include "abi/abi.h"
#include "base/base.h"
#include "concolic/concolic.h"
#include "predict/predict.h"
#include "report/report.h"

/* ---- configuration ---- */

struct hd_attachment;
struct hd_capture;
struct hd_control;
struct hd_input;
struct hd_session;

/* Something that the program finds when it begins, and that is an input (abi/symbolic.h). */
struct hd_input_source {
  unsigned kind; /* one of HD_INPUT_SOURCES */
  uint32_t size; /* bytes, at most */
  char *name;    /* with the text that its kind begins with */
};
#define HD_MAX_SOURCES 16

/* Strings and lists are borrowed and must outlive the session. */
struct hd_session_config {
  /* The runtime's configuration: strategy, seed, bounds, limits, kinds of findings. The mode is HD_MODE_CHECK, a
   * search, or HD_MODE_RUN, one execution with the supervisor's own input and output. `workers` is the number of
   * processes. */
  struct hd_config search;
  char **argv;                            /* ends with NULL */
  const char *cwd;                        /* where the program runs; NULL: here */
  bool preload;                           /* it was not built with heddle cc */
  const struct hd_attachment *attachment; /* of hd_check, which started the search; NULL: it did not */
  double time;                            /* seconds to search; 0: no limit */
  bool time_default;                      /* that limit is a default, which the summary states */
  double alone;                           /* seconds after which the other processes join the first */
  double hang_timeout;                    /* seconds */
  double predict;                         /* seconds for other schedules of one execution; 0: none ... */
  double predict_after; /* ... after so many seconds of a search that proves to be long; 0: first of all */
  double explain;       /* total seconds for finding smaller schedules; 0: do not try; < 0: by their length */
  const char *const *suppressions; /* files */
  size_t nsuppressions;
  const char *baseline;       /* a JSON result whose findings are known; NULL: none */
  const char *out;            /* the folder of findings; NULL: .heddle */
  const char *save;           /* where to save the search every few seconds, or NULL */
  const char *resume;         /* the saved search to continue, or NULL */
  uint64_t executions_before; /* numbers of executions that are other machines' */
  struct hd_span span;        /* with search.served: those to begin with */
  bool lock_order;            /* the summary has locks that threads take in different orders */
  bool coverage;              /* the summary must have the coverage; else only when a folder keeps it */
  const uint64_t *known;      /* keys of findings that were reported before */
  size_t nknown;
  char *const *identities; /* of the same (hd_finding_identity) */
  size_t nidentities;
  const struct hd_input *input;          /* of the program; NULL: standard input, which is spooled */
  uint32_t symbolic_args;                /* the last arguments are inputs: how many << 16 | their size */
  const struct hd_input_source *sources; /* what else of its surroundings are inputs */
  unsigned nsources;
  enum hd_cc_driver driver; /* inputs and schedules together (driven.c); HD_CC_NONE: no, ... */
  bool datarace;            /* ... and data races that its executions imply, by this detector ... */
  enum hd_detector race_detector;
  enum hd_cc_order order; /* of the driver hyper */
  uint32_t (*distance)(void *arg,
                       uint64_t code); /* from there (HD_AIM_CODE) to what is looked for; NULL: nothing is */
  void *distance_arg;
  unsigned interference;  /* ... with so many interferences at most ... */
  bool until_covered;     /* ... or until every outcome of the branches that were executed is covered */
  const char *queries;    /* a folder for the questions to the solver; NULL: they are not written */
  struct hd_str *covered; /* gets what that covered, as text; NULL: nobody asks */
  /* Writes what the strategy needs to the shared memory of the first process, before anything runs; NULL: nothing. */
  void (*prepare)(void *arg, struct hd_control *control);
  void *prepare_arg;
  /* Adds to a finding what it was predicted from; `sym` knows the stacks at the failure. NULL: nothing. With prepare_arg. */
  void (*describe)(void *arg, struct hd_finding *f, struct hd_symbolizer *sym);
  bool property_prunes; /* with search.property: an error if nothing can be left out */
  /* Whether a finding is one that is looked for; others are treated as suppressed. NULL: every one is. */
  bool (*wants)(void *arg, const struct hd_finding *f);
  void *wants_arg;
};

/* A search in HD_MODE_CHECK with the defaults of `heddle check`, for `argv`. */
void hd_session_config_init(struct hd_session_config *c, char **argv);

/* ---- settings that determine a search, and therefore are fixed when it is saved ---- */

enum hd_setting {
  HD_SETTING_STRATEGY,
  HD_SETTING_DEPTH,
  HD_SETTING_BOUND, /* kind and number */
  HD_SETTING_SEED,
  HD_SETTING_ALL,
  HD_SETTING_IGNORE,
  HD_SETTING_RESTART,
  HD_SETTING_SPURIOUS,
  HD_SETTING_TIMEOUTS,
  HD_SETTING_CLOSED,
  HD_SETTING_CLASSES,
  HD_SETTING_SYMMETRY,
  HD_SETTING_LEAKS,
  HD_SETTING_THREAD_LEAKS,
  HD_SETTING_EXIT_STATUS,
  HD_SETTING_MAX_LENGTH,
  HD_SETTING_COUNT
};
/* The settings that differ: one bit per enum hd_setting. */
uint64_t hd_settings_differ(const struct hd_config *a, const struct hd_config *b);
/* Copies all settings, and nothing else. */
void hd_settings_copy(struct hd_config *to, const struct hd_config *from);
/* Reads the settings of a saved search. A session that resumes it must have the same. */
int hd_settings_read(const char *path, struct hd_config *out, struct hd_err *err);
/* How many findings it had reported. */
int hd_saved_findings(const char *path, uint64_t *n, struct hd_err *err);

/* ---- running ---- */

struct hd_session_progress {
  uint64_t executions, events;
  size_t findings;
  double seconds;  /* of this run of the search ... */
  double rate;     /* ... and executions per second in it */
  bool bounded;    /* bounds are tried in increasing order: ... */
  uint32_t bound;  /* ... this is the current one */
  double at_least; /* as in struct hd_summary */
  struct hd_size estimate;
  double last_class, last_pair;
  bool minimising; /* it is searching for a smaller schedule */
};

/* Callbacks during the search; any may be NULL. */
struct hd_session_events {
  void *arg;
  /* About ten times a second. */
  void (*progress)(void *arg, const struct hd_session_progress *p);
  /* A new finding, confirmed and stored. */
  void (*finding)(void *arg, const struct hd_finding *f);
  /* The program's output when it died before main. */
  void (*startup_output)(void *arg, const char *text, size_t n);
  void *cluster; /* argument of the following ones */
  /* Every few milliseconds, of a search that is one of several (units.h). Returns whether to stop. */
  bool (*tick)(void *arg, struct hd_session *s);
  /* A finding that has come out again is another machine's to report. */
  void (*relay)(void *arg, const struct hd_capture *c);
  /* The processes of this machine have ended; next comes the summary. `failed`: why the search could not go on, or NULL. */
  void (*over)(void *arg, struct hd_session *s, const char *failed);
};

struct hd_session;

/* Checks the program, the folder of findings, the suppressions and the saved search, and spools standard input;
 * nothing is run. The caller frees, also after an error (then *out may be NULL). */
int hd_session_new(struct hd_session **out, const struct hd_session_config *c,
                   const struct hd_session_events *events, struct hd_err *err);
/* Searches until the strategy, a limit, a finding or an interrupt ends it. */
int hd_session_run(struct hd_session *s, struct hd_err *err);
/* How many seconds it may take beyond the time that it is given. */
double hd_session_grace(double time);
/* pre: hd_session_run returned HD_OK. Valid until hd_session_free. */
const struct hd_summary *hd_session_summary(const struct hd_session *s);
/* HD_E* of the error that ended the search (summary->error), or HD_OK. */
int hd_session_error(const struct hd_session *s);
/* The folder that the program runs in. */
const char *hd_session_cwd(const struct hd_session *s);
void hd_session_free(struct hd_session *s);

/* ---- attach.c: searches that hd_check has started ---- */

struct hd_attachment {
  int socket, result,
      calls; /* descriptors: the process to copy, where the result goes, results of earlier calls */
};
/* Whether hd_check started this process; removes the variable that states it from the environment. */
bool hd_attachment_find(struct hd_attachment *a);

/* ---- suppress.c: findings that are not reported ---- */

struct hd_suppressions;
/* Adds the rules of the file to *out; NULL: none yet. */
int hd_suppressions_load(const char *path, struct hd_suppressions **out, struct hd_err *err);
/* The same from a text, which it modifies; `path` is its name for messages. */
int hd_suppressions_parse(char *text, const char *path, struct hd_suppressions **out, struct hd_err *err);
/* The same for the findings in a JSON result of an earlier search: each is known, and is not reported again. */
int hd_baseline_load(const char *path, struct hd_suppressions **out, struct hd_err *err);
/* How many findings the baseline has, and how many of them were found again. */
void hd_baseline_counts(const struct hd_suppressions *s, uint64_t *known, uint64_t *again);
/* Remembers which of the known findings it is. */
bool hd_suppressed(struct hd_suppressions *s, const struct hd_finding *f);
/* The rule for a finding of this kind in this function, or else this file. NULL: it has neither. The caller frees. */
char *hd_suppression(const char *kind, const char *function, const char *file);
void hd_suppressions_free(struct hd_suppressions *s);

#endif

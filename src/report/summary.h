/* summary.h: the result of a search as a value, and why it is not complete. Runs in the supervisor; part of report.h. */
#ifndef HD_SUMMARY_H
#define HD_SUMMARY_H

#include "abi/abi.h"
#include "base/base.h"

#include <jansson.h>

struct hd_finding;
struct hd_roles;

enum hd_verdict { HD_VERDICT_BUG, HD_VERDICT_CLEAN, HD_VERDICT_BOUNDED };

/* Why the search ended. */
enum hd_stop {
  HD_STOP_FINISHED,    /* the strategy is exhausted, or the requested executions are done */
  HD_STOP_FOUND,       /* the first finding ended it */
  HD_STOP_TIME,        /* --time */
  HD_STOP_EXECUTIONS,  /* --max-executions stopped a systematic search */
  HD_STOP_INTERRUPTED, /* Ctrl-C or SIGTERM */
  HD_STOP_CRASH_LOOP,  /* the tested process kept dying */
  HD_STOP_ERROR,       /* the runtime gave up */
};

/* How the number of happens-before classes is known. */
enum hd_class_count {
  HD_CLASSES_UNKNOWN,
  HD_CLASSES_COUNTED,    /* --classes */
  HD_CLASSES_EXECUTIONS, /* every execution is a class of its own */
  HD_CLASSES_AT_LEAST,   /* so are those of a part of the search; the rest was not counted */
};

/* A reason why a search is not complete (model/inexact.def). */
struct hd_reason {
  enum hd_inexact what;
  uint64_t count;
  char detail[64];       /* replaces $ in its text */
  char *file, *function; /* where it arose first; NULL if unknown */
  int line;              /* 0 if unknown */
};

/* An estimate of the executions of a complete search. */
struct hd_size {
  double executions;
  double error; /* of it, relative: three standard deviations */
  uint64_t samples;
};

/* A search that several machines shared. */
struct hd_ranks {
  unsigned n;                      /* 0: it was one machine's */
  unsigned sampling;               /* of `auto`: those that sample, the others share a complete search */
  uint64_t units, messages, bytes; /* units of work that went from one to another; messages about these */
  double idle;                     /* share of their time, from 0 to 1 */
  uint64_t explored;               /* with states or bounds: the states that each explored, together, ... */
  uint64_t repeated;               /* ... and how many of them another one had, too, ... */
  bool sampled;                    /* ... about */
};

/* One outcome of a branch, of a search of inputs. */
/* How an outcome of a branch was covered. */
enum hd_branch_way { HD_WAY_UNKNOWN, HD_WAY_ALONE, HD_WAY_REORDERED, HD_WAY_COMBINED, HD_WAYS };

struct hd_branch_outcome {
  uint64_t site; /* in the code */
  int thread;    /* that was seen first at the branch; -1: not noted */
  int degree;    /* covered with so many interferences, at least; -1: not counted */
  enum hd_branch_way way;
  bool taken, is_case;
  bool covered;
  const char *why; /* it is not covered */
  char *file, *function;
  int line; /* 0 if unknown */
};
struct hd_branches {
  struct hd_branch_outcome *v;
  size_t n, cap;
};

/* Locks that threads of one execution took in different orders (lockorder.c): each requests what the next one holds. */
struct hd_lock_use {
  char *name; /* of the lock; NULL if unknown */
  char *file, *function;
  int line;
  bool shared;
};
struct hd_lock_order {
  size_t n;   /* threads */
  bool apart; /* not all of them can run at the same time */
  struct {
    struct hd_lock_use held, wanted;
  } step[HD_LOCK_LINKS];
};
struct hd_lock_orders {
  struct hd_lock_order *v;
  size_t n, cap;
};

struct hd_summary {
  char *const *command;
  const char *strategy;
  bool once;       /* `heddle run`: one execution was all that was asked for */
  bool systematic; /* it ends by itself when complete */
  uint64_t seed;
  enum hd_stop stop;
  bool complete;                             /* every schedule was covered: there is no reason below */
  bool preload;                              /* only synchronisation, input and output were scheduled */
  struct hd_reason reason[HD_INEXACT_COUNT]; /* why it is not complete, in the order of inexact.def */
  size_t nreasons;
  bool only_time; /* --time was the requested amount of work */
  enum hd_bound bound_kind;
  uint32_t bound;    /* as requested; of increasing bounds, the largest one covered */
  bool bound_done;   /* everything within it was covered */
  uint32_t property; /* enum hd_property_kind: the search is for that only */
  uint64_t pruned;   /* executions after which it left something out */
  uint64_t asked;    /* requested executions, 0: no limit */
  double time_limit; /* seconds, 0: none */
  bool time_default; /* not set by the user */
  uint64_t executions, blocked, events, switches;
  uint64_t input_classes; /* of a search of inputs: classes of inputs that were searched; 0: it is none */
  const struct hd_branches *branches; /* of a search of inputs; NULL or none: no branch was seen */
  const struct hd_branches *concrete; /* the same: places where values were made concrete, and `why` */
  uint64_t symmetric;                 /* branches left out for those of interchangeable threads */
  uint64_t infeasible;                /* not counted in executions: an assumption did not hold */
  uint32_t threads;
  uint32_t restart;   /* enum hd_restart: the mode chosen */
  uint32_t kept;      /* executions start after the set-up of the program */
  uint32_t unkept;    /* enum hd_unkept: why they do not, where it would pay */
  uint64_t templates; /* processes that stayed at a scheduling point, for executions to continue from */
  uint64_t resumed;   /* executions that did */
  uint32_t unshared;  /* enum hd_unkept: why others could not */
  bool left;          /* a child process was still there when an execution ended */
  unsigned processes; /* tested processes started */
  struct hd_ranks ranks;
  uint64_t suppressed;
  uint64_t known, again;        /* findings of the baseline, and those of them that were found again */
  uint64_t restarts, discarded; /* of a systematic search: restarts, and executions discarded by them */
  struct {
    const char *strategy;
    uint64_t executions, findings;
  } phase[HD_MAX_PHASES];          /* of the auto strategy; unused ones have no name */
  const struct hd_target *targets; /* labels reached */
  size_t ntargets;
  bool classes_counted;
  uint64_t classes, class_sum, states, state_sum;
  enum hd_class_count class_count;
  uint64_t classes_known; /* by class_count */
  bool compares_states;
  bool rests_on_states; /* and what is claimed is claimed for a search that does */
  bool uses_symmetry;
  struct hd_set alike; /* threads that are interchangeable with others */
  struct hd_state_counts state_counts;
  double seconds;
  const char *error; /* why the runtime gave up, or NULL */
  struct hd_finding **findings;
  size_t nfindings;
  uint64_t before;         /* findings reported before the search was resumed */
  double at_least;         /* executions that a complete search has, or more; 0: unknown */
  struct hd_size estimate; /* of their number */
  double last_class,
      last_pair; /* seconds until there was a new class, or pair of conflicting lines; 0: unknown */
  const struct hd_roles *roles;      /* of the threads, if the strategy uses them; else NULL */
  struct hd_lock_orders lock_orders; /* that were no deadlock in any schedule that ran */
  json_t *coverage;                  /* hd_json_coverage, or NULL if not requested; borrowed */
};

/* What keeps a state from being captured: for programs, and for people. */
extern const char *const hd_uncaptured_name[HD_UNCAPTURED_COUNT];
extern const char *const hd_uncaptured_text[HD_UNCAPTURED_COUNT];

enum hd_verdict hd_summary_verdict(const struct hd_summary *s);
/* Whether every schedule that may violate the property was covered. */
bool hd_summary_property(const struct hd_summary *s);

/* ---- why a search is not complete (inexact.c) ---- */

/* The evidence for the reasons. */
struct hd_evidence {
  const struct hd_inexact_count
      *counts;    /* reasons noted by the runtime, [HD_INEXACT_COUNT]; NULL: nothing ran */
  bool over;      /* the strategy was exhausted */
  bool bound_cut; /* the bound excluded schedules */
  uint64_t max_length;
  const struct hd_module *module; /* of the tested process */
  size_t nmodules;
  const char *program, *cwd; /* as for the symbolizer */
};
/* Fills in the reasons, and `complete`. pre: the other fields are set. */
void hd_summary_judge(struct hd_summary *s, const struct hd_evidence *e);
void hd_summary_fini(struct hd_summary *s);
/* The entry of that reason, or NULL. */
const struct hd_reason *hd_summary_reason(const struct hd_summary *s, enum hd_inexact what);
/* Executions that did not come to their end. */
uint64_t hd_summary_cut(const struct hd_summary *s);
/* "3 executions were longer than --max-length 100 steps" */
void hd_reason_text(struct hd_str *out, const struct hd_reason *r);
const char *hd_reason_name(enum hd_inexact what);
/* The words for an enum hd_unkept (unkept.c). */
const char *hd_unkept_name(uint32_t why);
const char *hd_unkept_text(uint32_t why);
/* [{"reason": ..., "count": ..., "text": ..., "advice": ..., "where": ...}, ...] */
json_t *hd_json_reasons(const struct hd_summary *s);
/* The list in a summary, without the reasons that its first line states. */
void hd_text_reasons(struct hd_str *out, const struct hd_summary *s, unsigned width);

#endif

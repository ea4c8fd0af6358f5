/* report.h: findings and summaries as values, and the formats they are printed in. Runs in the supervisor.
 *
 * A raw record of the runtime (struct hd_finding_rec: numbers and addresses) becomes a struct hd_finding (names,
 * source locations). Text, JSON and all other formats are printed from that value only.
 *
 *   place        one site of a finding: a thread, its operation, the object, and its call stack
 *   replays      whether re-executing the schedule gave the same finding */
#ifndef HD_REPORT_H
#define HD_REPORT_H

#include "abi/abi.h"
#include "analysis/analysis.h"
#include "base/base.h"
#include "report/symbolize.h"
#include "trace/trace.h"

#include <jansson.h>
#include <stdio.h>

/* ---- names ---- */

/* T0 is the first thread, its n-th child is Tn, the n-th child of T1 is T1.n. `threads` has each thread's creator.
 * A number beyond `n` is written "#number". The caller frees. */
char *hd_thread_name(const struct hd_thread_rec *threads, size_t n, unsigned number);

/* "SIGSEGV" and the like; "signal 99" for unnamed ones. */
const char *hd_signal_name(int signal);

/* ---- findings ---- */

struct hd_place {
  enum hd_role role;
  enum hd_op_kind op;
  unsigned thread_no;
  char *thread;         /* "T1" */
  char *thread_name;    /* name given by the program, or NULL */
  char *who;            /* both, for people: "T1 (worker)" */
  char *peer;           /* WAITS: the thread that holds the object, or NULL */
  char *object;         /* its name without quotes, or NULL */
  uint64_t object_addr; /* 0: no object */
  uint32_t size;
  bool atomic;
  struct hd_frames stack; /* innermost first, without frames of Heddle */
};

/* ---- the story of a finding (story.c) ---- */

/* The execution that a story is built from. */
struct hd_recording {
  const struct hd_event *event;
  size_t n;
  const uint64_t *calls; /* HD_CALLS for each of the first `ncalls` events */
  size_t ncalls;
  const struct hd_thread_rec *thread;
  size_t nthreads;
};

enum hd_row_mark {
  HD_ROW_STEP,
  HD_ROW_FAILS, /* the failure occurs here */
  HD_ROW_WAITS, /* waits here forever */
  HD_ROW_RACES, /* the other access of a race */
};

/* A line of source that a thread executes, and its effect on shared objects. */
struct hd_row {
  unsigned thread;
  enum hd_row_mark mark;
  char *file, *path, *function; /* NULL if unknown */
  int line;                     /* 0 if unknown */
  char *what;                   /* "reads count = 0; writes count = 1" */
  size_t first, last;           /* the events it covers; first > last: none */
  bool locks, memory;           /* it only takes locks, or only accesses memory */
  bool kept;                    /* shown; false: omitted for lack of room */
};

struct hd_story {
  HD_VEC(struct hd_row) row;
  HD_VEC(unsigned) thread; /* the threads that have rows, in order */
  HD_VEC(char *) name;     /* their names */
  char *remark;            /* an additional explanation, or NULL */
  /* Rows whose swap makes the failure disappear, plus 1; 0: none known. */
  size_t before, after;
};

/* The cost of reading a schedule, most important first. */
struct hd_cost {
  uint32_t preemptions, switches, threads;
  uint64_t steps;
};

struct hd_finding {
  unsigned id; /* number of its folder; 0: not stored */
  enum hd_kind kind;
  char *title;
  char *detail;           /* text of the runtime, or NULL */
  char *exception, *what; /* of an uncaught exception: its type, and its what() or NULL */
  int signal, status;
  bool partial;
  uint64_t key, execution, seed, fault_addr;
  char strategy[32]; /* that ran the execution */
  uint64_t leaked_bytes, leaked_blocks;
  size_t steps; /* of its schedule */
  struct hd_place *place;
  size_t nplaces;
  struct {
    char *thread, *text;
    uint64_t event;
  } note[HD_MAX_NOTES]; /* the program's notes during the execution */
  size_t nnotes;
  char *folder; /* ".heddle/1", or NULL */
  struct {
    bool there;  /* minimisation was attempted; the places are those of its result */
    bool fewest; /* the number of preemptions is the minimum */
    struct hd_cost before, after;
  } minimised;
  struct hd_story *story; /* or NULL; owned */
  bool replays;
  char *no_replay; /* the result of the replay, when it differs */
};

/* Builds a finding from a record. `s` may be NULL: then there are no locations. The caller frees. */
struct hd_finding *hd_finding_new(const struct hd_finding_rec *rec, struct hd_symbolizer *s);
void hd_finding_free(struct hd_finding *f);

/* Names source files below the folder `base` relative to it; others get their absolute path. */
void hd_finding_names(struct hd_finding *f, const char *base);

/* Kind and sorted source locations: two findings with equal identities are duplicates. The caller frees. */
char *hd_finding_identity(const struct hd_finding *f);

/* Builds the story of a finding from its execution. NULL when source lines are unknown, or only one thread ran. */
struct hd_story *hd_story_new(const struct hd_recording *r, const struct hd_finding *f,
                              struct hd_symbolizer *s);
void hd_story_free(struct hd_story *s);
/* The row of event `i`, or the last row of `thread` for HD_PENDING; plus 1, 0: none. */
size_t hd_story_row(const struct hd_story *s, size_t i, unsigned thread);
/* Records that swapping the two rows makes the failure disappear. Both will be shown. */
void hd_story_order(struct hd_story *s, size_t before, size_t after);
/* The threads that take part in the failure, for hd_analysis_mark. Stores at most `max`, returns how many. */
size_t hd_story_ends(const struct hd_finding *f, struct hd_pending *out, size_t max);

/* The frame to point at: the innermost in a source file of the user's, else in any; NULL: none. */
const struct hd_frame *hd_place_frame(const struct hd_place *p);
/* The place of the failure: the first place with a location; in a deadlock, the first that does not just join another
 * thread. NULL: none. */
const struct hd_place *hd_finding_place(const struct hd_finding *f);

/* ---- the summary of a search ---- */

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
  uint64_t units, messages, bytes; /* units of work that went from one to another; messages about these */
  double idle;                     /* share of their time, from 0 to 1 */
};

struct hd_summary {
  char *const *command;
  const char *strategy;
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
  uint64_t asked;    /* requested executions, 0: no limit */
  double time_limit; /* seconds, 0: none */
  bool time_default; /* not set by the user */
  uint64_t executions, blocked, events, switches;
  uint64_t symmetric;  /* branches left out for those of interchangeable threads */
  uint64_t infeasible; /* not counted in executions: an assumption did not hold */
  uint32_t threads;
  uint32_t restart;   /* enum hd_restart: the mode chosen */
  uint32_t kept;      /* executions start after the set-up of the program */
  uint32_t unkept;    /* enum hd_unkept: why they do not, where it would pay */
  uint64_t templates; /* processes that stayed at a scheduling point, for executions to continue from */
  uint64_t resumed;   /* executions that did */
  uint32_t unshared;  /* enum hd_unkept: why others could not */
  unsigned processes; /* tested processes started */
  struct hd_ranks ranks;
  uint64_t suppressed;
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
  bool uses_symmetry;
  struct hd_state_counts state_counts;
  double seconds;
  const char *error; /* why the runtime gave up, or NULL */
  struct hd_finding **findings;
  size_t nfindings;
  uint64_t before;         /* findings reported before the search was resumed */
  double at_least;         /* executions that a complete search has, or more; 0: unknown */
  struct hd_size estimate; /* of their number */
  double last_class,
      last_pair;    /* seconds until there was a new class, or pair of conflicting lines; 0: unknown */
  json_t *coverage; /* hd_json_coverage, or NULL if not requested; borrowed */
};

/* What keeps a state from being captured: for programs, and for people. */
extern const char *const hd_uncaptured_name[HD_UNCAPTURED_COUNT];
extern const char *const hd_uncaptured_text[HD_UNCAPTURED_COUNT];

enum hd_verdict hd_summary_verdict(const struct hd_summary *s);

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
/* "3 executions were longer than --max-length 100 steps" */
void hd_reason_text(struct hd_str *out, const struct hd_reason *r);
const char *hd_reason_name(enum hd_inexact what);
/* The words for an enum hd_unkept (unkept.c). */
const char *hd_unkept_name(uint32_t why);
const char *hd_unkept_text(uint32_t why);
/* [{"reason": ..., "count": ..., "text": ..., "advice": ..., "where": ...}, ...] */
json_t *hd_json_reasons(const struct hd_summary *s);
/* The list in a summary, without the reasons that its first line states. */
void hd_text_reasons(struct hd_str *out, const struct hd_summary *s);

/* ---- output ---- */

/* Colours for `fd`: a terminal, and NO_COLOR not set. */
bool hd_text_colour(int fd);

void hd_text_finding(struct hd_str *out, const struct hd_finding *f, bool colour);
/* The finding of a target in one line, and how to replay it in another. */
void hd_text_brief(struct hd_str *out, const struct hd_finding *f, const char *target);
void hd_text_summary(struct hd_str *out, const struct hd_summary *s, bool colour);

/* "about 12.3k" or "of the order of 10^24"; false when it says nothing, or less than that there are at least so many. */
bool hd_text_size(char out[64], const struct hd_size *size, double at_least);
/* "12.3k", "4.5M": a rate or count in at most 6 characters. */
void hd_text_count(char out[16], double n);

/* The stack of an error of the runtime, as lines. */
void hd_text_stack(struct hd_str *out, const struct hd_frames *stack, bool colour);

/* A string, or null for NULL. Invalid UTF-8 is replaced: source files and program output may contain any bytes. */
json_t *hd_json_text(const char *s);
json_t *hd_json_finding(const struct hd_finding *f);
json_t *hd_json_summary(const struct hd_summary *s);

/* The coverage of a search by source lines: the merged tables of its `n` workers (cover.c). */
json_t *hd_json_coverage(const struct hd_cover *const *part, size_t n, struct hd_symbolizer *s);

/* SARIF 2.1.0: one search as a run; files below `cwd` are named relative to it. `target`: its name in a project, or
 * NULL. */
json_t *hd_sarif_run(const struct hd_summary *s, const char *cwd, const char *target);
/* The log with these runs; takes ownership of them. */
json_t *hd_sarif(json_t *runs);

/* JUnit XML: one search as a suite, with the program as its test case. */
struct hd_junit_counts {
  unsigned tests, failures, errors;
  double seconds;
};
void hd_junit_suite(struct hd_str *out, const struct hd_summary *s, const char *target,
                    struct hd_junit_counts *counts);
/* The file with all suites and their totals. */
void hd_junit(struct hd_str *out, const char *suites, const struct hd_junit_counts *counts);

/* The format of findings on standard output. */
enum hd_format { HD_FORMAT_TEXT, HD_FORMAT_GCC, HD_FORMAT_GITHUB };

/* A finding as lines that a tool reads. pre: not HD_FORMAT_TEXT. */
void hd_lines_finding(struct hd_str *out, const struct hd_finding *f, enum hd_format format);

#endif

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
#include "report/summary.h"
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
  const uint8_t *kept; /* whether each event goes into the trace; NULL: all do */
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
  uint8_t distance;             /* from the failure (hd_analysis_why) */
  uint64_t event, last_event;   /* their numbers in the trace; 0: none */
};

/* Rows are numbered from 1, hidden ones too, so that a number means the same row everywhere. */
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
  uint64_t
      executions; /* of the search until then, as its summary counts them: `execution` also counts redundant ones */
  uint64_t events;   /* of the search until then */
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
  struct hd_input_shown {
    char *thread, *name, *value; /* the value as a word */
    unsigned index;              /* among the inputs of the thread, from 0 */
  } * input; /* values of inputs that it needs, in the order in which they were asked for; owned */
  size_t ninputs;
  char *folder; /* ".heddle/1", or NULL */
  struct {
    bool there;  /* minimisation was attempted; the places are those of its result */
    bool fewest; /* the number of preemptions is the minimum */
    struct hd_cost before, after;
  } minimised;
  struct hd_story *story; /* or NULL; owned */
  /* Of a prediction: the events that matter to the failure, a line each, in the order of the execution that it was predicted
   * from, and as predicted. Or NULL, both. */
  char *observed, *predicted;
  bool replays;
  bool untried;    /* of `heddle run`, which executes nothing twice: whether it replays is not known */
  char *said;      /* of an exit: the last lines that the program printed; NULL: none */
  char *no_replay; /* the result of the replay, when it differs */
};

/* Builds a finding from a record. `s` may be NULL: then there are no locations. The caller frees. */
struct hd_finding *hd_finding_new(const struct hd_finding_rec *rec, struct hd_symbolizer *s);
void hd_finding_free(struct hd_finding *f);

/* Names source files below the folder `base` relative to it; others get their absolute path. */
void hd_finding_names(struct hd_finding *f, const char *base);

/* Kind and sorted source locations: two findings with equal identities are duplicates. The caller frees. */
char *hd_finding_identity(const struct hd_finding *f);
/* Keeps the last lines of the output with an exit: they say why. */
void hd_finding_said(struct hd_finding *f, const char *output, size_t len);

/* Builds the story of a finding from its execution. NULL when source lines are unknown, or only one thread ran. */
struct hd_story *hd_story_new(const struct hd_recording *r, const struct hd_finding *f,
                              struct hd_symbolizer *s);
void hd_story_free(struct hd_story *s);
/* The row of event `i`, or the last row of `thread` for HD_PENDING; plus 1, 0: none. */
size_t hd_story_row(const struct hd_story *s, size_t i, unsigned thread);
/* Records that swapping the two rows makes the failure disappear. Both will be shown, and the writes by which their threads
 * overwrite what others wrote after they had read it there. `event`: those of the recording. */
void hd_story_order(struct hd_story *s, const struct hd_event *event, size_t n, size_t before, size_t after);
/* The threads that take part in the failure, for hd_analysis_mark. Stores at most `max`, returns how many. */
size_t hd_story_ends(const struct hd_finding *f, struct hd_pending *out, size_t max);

/* The frame to point at: the innermost in a source file of the user's, else in any; NULL: none. */
const struct hd_frame *hd_place_frame(const struct hd_place *p);
/* The place of the failure: the first place with a location; in a deadlock, the first that does not just join another
 * thread. NULL: none. */
const struct hd_place *hd_finding_place(const struct hd_finding *f);

/* ---- output ---- */

/* Colours for `fd`: a terminal, and NO_COLOR not set. */
bool hd_text_colour(int fd);
/* None from here on: what looks like a terminal is not the user's. */
void hd_text_no_colour(void);

/* How findings are printed. */
struct hd_style {
  bool colour;
  bool full;      /* no row of the story is hidden */
  unsigned width; /* columns, HD_WIDTH_MIN to HD_WIDTH_MAX */
};
#define HD_WIDTH_MIN 60
#define HD_WIDTH_MAX 200
#define HD_STYLE_PLAIN (&(const struct hd_style){.width = 80}) /* for files */
/* For `fd`: the width of a terminal, else 80. */
struct hd_style hd_style_of(int fd, bool full);

/* Breaks what is longer than the width between words. */
void hd_text_fold(struct hd_str *text, unsigned width);
void hd_text_finding(struct hd_str *out, const struct hd_finding *f, const struct hd_style *style);
/* The finding of a target in one line, and how to replay it in another. */
void hd_text_brief(struct hd_str *out, const struct hd_finding *f, const char *target);
void hd_text_summary(struct hd_str *out, const struct hd_summary *s, const struct hd_style *style);

/* "about 12.3k" or "of the order of 10^24"; false when it says nothing. */
bool hd_text_size(char out[64], const struct hd_size *size);
/* "12.3k", "4.5M": a rate or count in at most 6 characters. */
void hd_text_count(char out[16], double n);

/* The stack of an error of the runtime, as lines. */
void hd_text_stack(struct hd_str *out, const struct hd_frames *stack, bool colour);

/* A string, or null for NULL. Invalid UTF-8 is replaced: source files and program output may contain any bytes. */
json_t *hd_json_text(const char *s);
json_t *hd_json_finding(const struct hd_finding *f);
json_t *hd_json_summary(const struct hd_summary *s);

/* ---- branches.c: which outcomes of branches a search of inputs has covered ---- */

/* Finds their lines, and sorts them by these. */
void hd_branches_locate(struct hd_branches *b, struct hd_symbolizer *s);
void hd_branches_free(struct hd_branches *b);
/* How many are covered, with how many interferences, and why the others are not; `what` says which branches these are. */
void hd_branches_text(struct hd_str *out, const struct hd_branches *b, const char *what);
json_t *hd_json_branches(const struct hd_branches *b);
/* Where values that depend on inputs were not followed. */
void hd_concrete_text(struct hd_str *out, const struct hd_branches *b);
json_t *hd_json_concrete(const struct hd_branches *b);
/* A tracefile of lcov, for genhtml. Relative files are those of the folder `cwd`. */
void hd_branches_lcov(struct hd_str *out, const struct hd_branches *b, const char *cwd);

/* The coverage of a search by source lines: the merged tables of its `n` workers (cover.c). */
json_t *hd_json_coverage(const struct hd_cover *const *part, size_t n, struct hd_symbolizer *s);

/* ---- lockorder.c: locks that threads take in different orders ---- */

/* Adds those of the tables of `n` workers that are none of these findings. */
void hd_lock_orders_find(struct hd_lock_orders *out, const struct hd_cover *const *part, size_t n,
                         struct hd_finding *const *finding, size_t nfindings, struct hd_symbolizer *s);
void hd_lock_orders_free(struct hd_lock_orders *o);
/* `complete`: every schedule was covered. */
void hd_text_lock_orders(struct hd_str *out, const struct hd_lock_orders *o, bool complete);
json_t *hd_json_lock_orders(const struct hd_lock_orders *o, bool complete);

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

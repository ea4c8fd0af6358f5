/* session_int.h: the state of one search, shared by session.c (its life cycle), search.c (findings and the summary),
 * crew.c (its processes), samples.c (its progress over time), save.c (saving and resuming) and attach.c. */
#ifndef HD_SESSION_INT_H
#define HD_SESSION_INT_H

#include "session/names.h"
#include "session/inputs.h"
#include "session/rerun.h"
#include "analysis/analysis.h"
#include "session/session.h"
#include "session/units.h"

/* One tested process at a time, and the state that its successor inherits. */
struct hd_worker {
  struct hd_control control;
  struct hd_streams streams;
  size_t seen;        /* findings of its memory that are handled */
  uint64_t before;    /* executions when its process was started */
  unsigned fruitless; /* consecutive processes that died without finishing an execution */
  uint64_t retried;   /* the execution that is repeated since its process was killed from outside ... */
  unsigned retries;   /* ... and how many times */
  bool dropped;       /* a finding of its did not come out again, though there was time */
};

#define HD_MAX_SAMPLES 256

/* The progress of a search at some time. */
struct hd_sample {
  double seconds;
  uint64_t executions, classes, findings;
};
struct hd_samples {
  struct hd_sample v[HD_MAX_SAMPLES];
  size_t n;
  double interval, next; /* seconds; when to take the next one */
};

struct hd_session {
  struct hd_session_config config;
  struct hd_session_events events;
  struct hd_command command;
  struct hd_store store;
  struct hd_input input;
  struct hd_suppressions *suppressions;
  struct hd_worker worker[HD_MAX_WORKERS];
  struct hd_process process[HD_MAX_WORKERS]; /* of each worker */
  unsigned nworkers;                         /* upper limit; the first runs alone until it is ready */
  struct hd_status carried;                  /* counters of the resumed search */
  struct hd_status past;                     /* counters of earlier rounds (partition.c) ... */
  uint64_t classes;                          /* ... and how many rounds there were */
  double carried_seconds;
  uint64_t reported_before;    /* findings that it had reported */
  struct hd_units *units;      /* units.c: the search as one of several; NULL: not in use */
  HD_VEC(struct hd_part) part; /* counters of other machines */
  struct hd_ranks ranks;
  const char *save; /* where the search is saved, or NULL */
  HD_VEC(struct hd_finding *) finding;
  HD_VEC(char *) identity; /* of findings reported or suppressed */
  HD_VEC(uint64_t) key;    /* the same, by key */
  uint64_t deaths;         /* executions that ended with their process */
  uint64_t counted_death;  /* the last one that the process had counted before */
  unsigned doubts;         /* deaths that did not come out again */
  unsigned drops;          /* processes with a finding that did not */
  uint64_t suppressed;
  bool hidden_deadlock;                   /* one of them was a deadlock */
  uint64_t phase_findings[HD_MAX_PHASES]; /* of those reported */
  unsigned processes;
  double started, deadline;
  double prepared;  /* seconds spent before it started */
  double explained; /* seconds spent on smaller schedules */
  double shown_at;  /* when progress was last reported */
  struct {
    double looked_at, class, pair; /* when there was last a new one; 0: never */
    uint64_t classes, pairs;
  } news;
  double saved_at; /* when the search was last saved */
  struct hd_samples samples;
  struct hd_roles roles;       /* of its threads, for strategies that mine them */
  bool stopped;                /* by events.tick */
  bool predicted;              /* config.predict is spent */
  int failed;                  /* HD_E*: a finding could not be confirmed or stored ... */
  struct hd_err failure;       /* ... and why */
  struct hd_status total;      /* the summary points into it */
  struct hd_branches branches; /* of a search of inputs; the summary points to them */
  struct hd_branches concrete; /* the same: where values were made concrete */
  struct hd_str error;         /* why the runtime gave up; the summary points into it */
  struct hd_summary summary;
};

/* ---- search.c ---- */

/* Counters of all workers together. */
struct hd_status hd__session_total(const struct hd_session *s);
/* Adds the counters of the workers to those of earlier rounds. */
void hd__session_past(struct hd_session *s);
/* Handles the findings that the worker's runtime has recorded since the last call. */
void hd__session_harvest(struct hd_session *s, struct hd_worker *w);
/* Its process died: adds a finding of the supervisor's own, unless the runtime recorded one for that execution. `sure`: it
 * has died there several times. Returns false when it must die again when the schedule is run, and did not. */
bool hd__session_death(struct hd_session *s, struct hd_worker *w, const struct hd_outcome *o, bool sure);
/* A finding that another machine has seen twice. */
void hd__session_handle(struct hd_session *s, const struct hd_capture *c);
/* `heddle run`: the program is executed once, so what it did is reported as that run recorded it. */
bool hd__session_once(const struct hd_session *s);
/* Whether the strategy has finished and covered everything. */
bool hd__session_complete(const struct hd_session *s);
/* Reports progress, if it is time. */
void hd__session_progress(struct hd_session *s);
/* Fills in the summary. */
void hd__session_conclude(struct hd_session *s, enum hd_stop stop);

/* ---- mined.c ---- */

/* Records an execution for a strategy that uses roles of threads, and finds those. */
void hd__session_mine(struct hd_session *s);

/* ---- property.c ---- */

/* Writes what a search for one property needs to its memory. */
int hd__property_prepare(struct hd_session *s, struct hd_err *err);

/* ---- samples.c ---- */

/* Notes when the search last ran a new class, or a new pair of conflicting lines. */
void hd__session_news(struct hd_session *s, bool last);
/* Records the progress of the search, if it is time or for the last time. */
void hd__session_sample(struct hd_session *s, bool last);
/* How many happens-before classes there were, if they are counted or known without counting. */
enum hd_class_count hd__session_classes(const struct hd_session *s, const struct hd_status *st, uint64_t *n);
/* Stores the result beside the findings, if their folder exists or was named; warns on failure. */
void hd__session_keep(struct hd_session *s, const struct hd_summary *sum);
/* Adds the locks that threads took in different orders to the summary. */
void hd__session_lock_orders(struct hd_session *s);
/* The coverage of the search; NULL when it is not needed. The caller releases. */
json_t *hd__session_coverage(const struct hd_session *s);

/* ---- save.c ---- */

/* Saves the search, if it is time. */
int hd__save_tick(struct hd_session *s, struct hd_err *err);
/* Saves it for the last time. pre: no process runs. */
int hd__save_end(struct hd_session *s, struct hd_err *err);
/* Restores the search from the file. pre: the first control is there, no process has been started. */
int hd__resume(struct hd_session *s, const char *path, struct hd_err *err);

/* Saves that of a sampler, with the numbers that other machines have left. */
int hd__save_spans(struct hd_session *s, const char *path, const struct hd_span *span, uint64_t n,
                   struct hd_err *err);
/* Saves the search of a cluster. */
int hd__save_merged(struct hd_session *s, const char *path, const struct hd_saved_part *part, uint32_t ranks,
                    struct hd_err *err);
/* The search, as a process of it would see it. Pointers in its memory are valid here: it is mapped where they point.
 * False when it is not, or has no strategy. */
bool hd__search_attach(const struct hd_session *s, struct hd_search *search, struct hd_status *status);
void hd__search_detach(struct hd_search *search);
struct hd_layout hd__layout_of(const struct hd_control *c);
int hd__writer_grow(struct hd_writer *w, size_t n);

/* ---- units.c ---- */

void hd__units_fini(struct hd_session *s);
/* Does the job while no worker has the lock. HD_LATER: it cannot be had now. */
int hd__units_locked(struct hd_session *s, int (*f)(struct hd_shared *sh, void *arg), void *arg);
/* Whether all workers wait. */
bool hd__session_waits(const struct hd_session *s);
/* The parts of a cluster's search as one, in bytes. Returns 0 when they do not fit. */
int hd__units_merge(struct hd_session *s, const struct hd_saved_part *part, uint32_t ranks,
                    struct hd_writer *out);

/* ---- predict.c ---- */

/* Records an execution, executes what it says of others, and handles what fails as findings of the search. */
void hd__session_predict(struct hd_session *s);

/* ---- crew.c ---- */

/* Runs processes until the search ends. */
int hd__crew_run(struct hd_session *s, enum hd_stop *stop, struct hd_err *err);

/* ---- driven.c ---- */

/* A condition was recorded there for that reason (enum hd_symbolic_why): places where values were made concrete are kept. */
void hd__concrete_note(struct hd_session *s, uint64_t site, unsigned why);
/* Locates the branches that the session has got, and writes them to config.covered; `what` they depend on. */
struct hd_solver;
struct hd_solver_stats;
/* The solver writes its questions to config.queries, a folder that is made if it is missing. */
int hd__queries_begin(const struct hd_session *s, struct hd_solver *solver, struct hd_err *err);
void hd__branches_report(struct hd_session *s, const char *what, const struct hd_solver_stats *q);
/* Searches inputs and schedules together, with a driver. */
int hd__driven_run(struct hd_session *s, enum hd_stop *stop, struct hd_err *err);

/* ---- races.c: data races that the executions of a driver imply ---- */

struct hd__races;
struct hd_cc_plan;
struct hd__races *hd__races_new(struct hd_session *s, enum hd_detector d);
void hd__races_free(struct hd__races *r);
/* Memory is visible that was not: events are others. */
void hd__races_restart(struct hd__races *r);
/* Predicts from the execution that has just ended. */
void hd__races_look(struct hd__races *r, const struct hd_event *event, size_t n);
/* A plan for a race that was not found yet, with the values of all inputs; false: there is none. */
bool hd__races_next(struct hd__races *r, struct hd_cc_plan *plan, const uint8_t **inputs, uint32_t *nbytes);
void hd__races_report(const struct hd__races *r, struct hd_str *out);

/* ---- partition.c ---- */

/* Searches for one class of inputs after the other. */
int hd__partition_run(struct hd_session *s, enum hd_stop *stop, struct hd_err *err);

/* ---- attach.c ---- */

/* The command that copies the process that waits at the call of hd_check. */
int hd__attach_command(struct hd_command *c, const struct hd_attachment *a, char **argv, struct hd_err *err);
/* Starts a tested process by copying the template. */
int hd__attach_start(const struct hd_command *c, const struct hd_control *control, const struct hd_streams *s,
                     pid_t *pid, struct hd_err *err);
/* Sends the result to the test process. */
void hd__attach_result(const struct hd_attachment *a, const struct hd_summary *s);

#endif

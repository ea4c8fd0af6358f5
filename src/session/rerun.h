/* rerun.h: re-execution of schedules: to confirm a finding, to minimise it, to replay it, to debug it.
 * Runs in the supervisor. */
#ifndef HD_SESSION_RERUN_H
#define HD_SESSION_RERUN_H

#include "report/report.h"
#include "session/store.h"
#include "trace/trace.h"

/* ---- rerun.c: one execution of a schedule ---- */

struct hd_rerun {
  struct hd_outcome outcome;
  bool found; /* any finding */
  struct hd_capture capture;
  struct hd_control control; /* the process's shared memory, until hd_rerun_fini */
  const struct hd_event
      *event; /* every operation, with values; accesses that were not steps are HD_EV_PLAIN */
  size_t nevents;
  const uint64_t *calls; /* HD_CALLS for each of the first `ncalls` events: the callers of its place */
  size_t ncalls;
  uint8_t *kept;            /* [nevents] whether it goes into the trace; owned */
  struct hd_module *module; /* owned */
  size_t nmodules;
  char *error; /* why the runtime gave up, or NULL; owned */
  struct hd_status status;
};

/* Of nothing. */
#define HD_RERUN_NONE                       \
  (struct hd_rerun) {                       \
    .control = {.fd = -1, .search_fd = -1 } \
  }

/* Executes the schedule in a fresh process. */
int hd_rerun_schedule(const struct hd_command *cmd, const struct hd_schedule *s, const struct hd_input *in,
                      enum hd_output how, struct hd_str *kept, double hang_timeout, struct hd_rerun *out,
                      struct hd_err *err);
/* The same with another configuration than that of the schedule. It may take so many seconds; 0: no limit. */
int hd_rerun_config(const struct hd_command *cmd, const struct hd_schedule *s, const struct hd_config *config,
                    const struct hd_input *in, enum hd_output how, struct hd_str *kept, double hang_timeout,
                    double seconds, struct hd_rerun *out, struct hd_err *err);
/* The same, without a schedule: `prepare` writes to the process's memory what it needs before it starts. */
typedef void hd_prepare(void *arg, struct hd_control *c);
int hd_rerun_prepared(const struct hd_command *cmd, const struct hd_config *config, hd_prepare *prepare,
                      void *arg, const struct hd_input *in, double hang_timeout, double seconds,
                      struct hd_rerun *out, struct hd_err *err);
void hd_rerun_fini(struct hd_rerun *r);
/* Whether it gave the finding of the schedule; if not, `why` describes the actual result. */
bool hd_rerun_same(const struct hd_rerun *r, const struct hd_schedule *s, struct hd_str *why);
/* The names of its program, and of the local variables at the time of its finding. */
struct hd_symbolizer *hd_rerun_symbolizer(const struct hd_rerun *r, const struct hd_command *cmd);
/* Its finding as a value, with the names of the program. pre: r->found. The caller frees both; `sym` may be NULL. */
struct hd_finding *hd_rerun_finding(const struct hd_rerun *r, const struct hd_command *cmd,
                                    struct hd_symbolizer **sym);
/* The story of `f`, or NULL when there is none to show. */
struct hd_story *hd_rerun_story(const struct hd_rerun *r, const struct hd_finding *f,
                                struct hd_symbolizer *sym);
/* The recording as a trace. `names`: resolve the names of places and objects; `all`: include accesses to memory that
 * only one thread uses. Close it before hd_rerun_fini. */
struct hd_tr_source *hd_rerun_trace(const struct hd_rerun *r, const struct hd_command *cmd, bool names,
                                    bool all);

/* "the program called sem_wait, which ... at x.c:12 (worker)": why the runtime gave up. */
void hd_runtime_error_text(struct hd_str *out, const struct hd_ctl *ctl, const struct hd_command *cmd);
/* HD_E* of such an error (enum hd_rt_error). */
int hd_runtime_error_code(uint32_t error);

/* ---- reduce.c: smaller schedules with the same finding ---- */

#define HD_LONG_SCHEDULE 20000 /* steps: one execution takes a good part of the time for smaller schedules */

struct hd_reduction {
  bool found;  /* a schedule with the same finding, confirmed; it may not be smaller than the original */
  bool fewest; /* no schedule has fewer preemptions */
  struct hd_schedule schedule;
  struct hd_rerun rerun; /* the run that confirmed it */
  struct hd_cost before, after;
  uint64_t tries;
  double seconds;
};
/* Searches for the smallest schedule with the finding `f` of `s`, for about so many seconds. */
int hd_reduce(const struct hd_command *cmd, const struct hd_schedule *s, const struct hd_input *in,
              const struct hd_finding *f, double seconds, double hang_timeout, struct hd_reduction *out,
              struct hd_err *err);
void hd_reduction_fini(struct hd_reduction *r);
/* Follows the steps as far as possible. `fails`: the run gave the finding `f`, or its result is unknown. */
int hd_reduce_try(const struct hd_command *cmd, const struct hd_schedule *s, const struct hd_input *in,
                  const struct hd_finding *f, double hang_timeout, bool *fails, struct hd_err *err);

/* ---- reduce_inputs.c ---- */

/* Whether an execution of the schedule, with its inputs, surely has the finding. */
typedef bool hd_reduce_fails(void *arg, const struct hd_schedule *s);
/* Makes the schedule's inputs smaller. Returns how many executions that took. */
unsigned hd_reduce_inputs(struct hd_schedule *s, hd_reduce_fails *fails, void *arg, double deadline);

/* ---- explain.c ---- */

/* Searches for a smaller schedule with the finding. If it finds one, it replaces the finding by that of the smaller
 * schedule's run. */
int hd_explain(const struct hd_command *cmd, const struct hd_schedule *s, const struct hd_input *in,
               struct hd_finding **f, double seconds, double hang_timeout, struct hd_reduction *out,
               struct hd_err *err);

/* ---- replay.c: re-executes a stored finding and compares ---- */

struct hd_replay {
  struct hd_stored stored;
  struct hd_program now; /* the program as it is now ... */
  bool rebuilt;          /* ... differs from the one that the finding was stored for */
  struct hd_input input;
};
/* Reads the folder (as hd_store_read) and checks that its program can be run. */
int hd_replay_init(struct hd_replay *r, const char *dir, bool original, struct hd_err *err);
void hd_replay_fini(struct hd_replay *r);

/* The finding of a run that reproduced it, with what is stored of its search. The caller frees both; `sym` may be NULL. */
struct hd_finding *hd_replay_finding(const struct hd_replay *r, const struct hd_rerun *run, const char *dir,
                                     struct hd_symbolizer **sym);

/* From best to worst. */
enum hd_replay_result {
  HD_REPLAY_SAME,
  HD_REPLAY_OTHER_EVENTS, /* the same finding */
  HD_REPLAY_NOT_REPRODUCED,
  HD_REPLAY_ERROR, /* the runtime gave up */
};
/* How a run compares with what is stored. */
struct hd_comparison {
  enum hd_replay_result result;
  bool same;          /* it gave the finding */
  struct hd_str why;  /* the actual result, if not */
  bool whole;         /* all events of the trace were the same, not only the operations of the schedule */
  uint64_t event;     /* number of the first event that differs; 0: none */
  bool beyond;        /* the replay went on where the stored trace ends: `event` is one more than it has */
  struct hd_str want; /* that event as stored ... */
  struct hd_str got;  /* ... and now */
  const char *cause;  /* the likely cause */
};
/* Fails if the program did not reach the point where control begins. */
int hd_replay_compare(const struct hd_replay *r, const struct hd_rerun *run, struct hd_comparison *out,
                      struct hd_err *err);
void hd_comparison_fini(struct hd_comparison *c);

/* ---- gdb.c ---- */

/* The verb by which gdb starts the program. */
#define HD_GDB_START "gdb-start"

/* Starts gdb in the failing execution. `original`: as for hd_store_read; `run`: a replay that reproduced the finding;
 * `args`: further arguments for gdb, ends with NULL. Returns gdb's exit code, or an error. */
int hd_gdb(const struct hd_stored *stored, const char *dir, bool original, const struct hd_rerun *run,
           char **args, struct hd_err *err);
/* Replaces this process, which gdb has started, by the program. Returns only on failure. */
int hd_gdb_exec(struct hd_err *err);

#endif

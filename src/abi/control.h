/* control.h: what the supervisor asks of a tested process, and what that reports. Part of abi.h. */
#ifndef HD_CONTROL_H
#define HD_CONTROL_H

#include <stdint.h>

#include "abi/aim.h"
#include "abi/cover.h"
#include "abi/finding.h"
#include "abi/property.h"
#include "abi/reduced.h"
#include "abi/wanted.h"
#include "model/decision.h"
#include "model/event.h"
#include "model/inexact.h"
#include "model/layout.h"
#include "model/numbers.h"
#include "model/point.h"

/* ---- limits ---- */

#define HD_MAX_FINDINGS 256        /* kept in one search; more are counted */
#define HD_MAX_SEGMENTS (1u << 26) /* of one execution; then it is cut */
#define HD_EARLY_TIMEOUTS 3        /* waits of one thread that may time out early, with timeouts_any */
#define HD_MAX_MODULES 128
#define HD_MAX_RANGES 2304 /* of the address layout: modules, stacks */
#define HD_MAX_TARGETS 32  /* labels of hd_target; others are not counted */
#define HD_MAX_PHASES 9
#define HD_MAX_WORKERS 256 /* processes that share one search */
#define HD_MAX_GROWN 64    /* times that one process needed more threads to run on, as far as they are kept */
#define HD_PATH_MAX 4096

/* ---- control block ---- */

enum hd_mode { HD_MODE_CHECK, HD_MODE_RUN, HD_MODE_REPLAY, HD_MODE_REDUCE };
enum hd_restart { HD_RESTART_AUTO, HD_RESTART_MEMORY, HD_RESTART_FORK };
/* Whether executions start after the set-up of the program: where it pays, wherever they can, or never. */
enum hd_checkpoint { HD_CHECKPOINT_AUTO, HD_CHECKPOINT_ALWAYS, HD_CHECKPOINT_NEVER };
/* Whether a search uses a reduction: no, from its start, or in one more part of `auto` when it is long. */
enum hd_reduce_by { HD_REDUCE_NO, HD_REDUCE_YES, HD_REDUCE_TRY };
enum hd_bound { HD_BOUND_NONE, HD_BOUND_PREEMPTIONS, HD_BOUND_DELAYS };

struct hd_config {
  uint32_t mode;
  uint32_t restart;
  uint32_t checkpoint;     /* enum hd_checkpoint */
  uint32_t template_every; /* a template at every so many scheduling points; 0: where it pays */
  uint32_t may_switch;     /* from memory to forks, where templates make that cheaper */
  uint32_t
      symmetry; /* enum hd_reduce_by: of threads that are interchangeable only one goes first (explore/symmetry.c) */
  char strategy[32];
  uint64_t seed;
  uint64_t max_executions;  /* 0: no limit */
  uint32_t worker, workers; /* this process is number `worker` of so many */
  uint32_t cluster;         /* the search is shared with other machines: 1 + its rank there; 0: it is not */
  uint32_t served;          /* enum hd_served: of a sampler that several machines share */
  uint64_t max_length;      /* steps of one execution before it is cut */
  uint64_t ignore;          /* bit per enum hd_kind: do not stop at and do not report */
  uint32_t all;             /* go on after a finding */
  uint32_t detail;          /* record events and full stacks (slow; for replay) */
  uint32_t callers;         /* with detail: record who called the places, of up to HD_CALLS_CAP events */
  uint32_t one_phase;       /* spurious wake-ups are not explored when everything else is covered */
  uint32_t spurious;        /* condition variables may wake spuriously */
  uint32_t leaks;           /* report leaks at exit */
  uint32_t thread_leaks;    /* report threads running or unjoined at exit */
  uint32_t exit_status;     /* the expected one; others are findings */
  uint32_t classes;         /* count happens-before classes and final states (costs memory) */
  uint32_t
      states; /* enum hd_reduce_by: one that was explored before is not explored again (explore/states.c) */
  uint64_t state_memory; /* bytes for those states */
  uint64_t states_after; /* HD_REDUCE_TRY: executions of the systematic part before */
  uint32_t states_alone; /* for tests: the other parts end then */
  uint32_t states_pad;
  uint32_t depth;         /* pct: bug depth looked for */
  uint32_t bound_kind;    /* enum hd_bound: what a systematic search may use only so much of */
  uint32_t bound_iterate; /* 0, 1, 2, ... instead of `bound` */
  uint32_t bound;
  uint32_t bound_last;   /* of those tried one after the other; 0: no last one */
  uint32_t timeouts_any; /* a timed wait may end at any point, not only when nothing else can run */
  uint32_t closed;       /* nothing comes from outside the program */
  uint32_t closed_pad;
  uint64_t replay_len;       /* REPLAY, REDUCE: steps in the path area to follow, then any order */
  uint64_t visible;          /* entries of the visible log that are there from the start */
  struct hd_numbers numbers; /* of threads, known from the start */
  /* With detail: accesses to memory to record that are no scheduling points; when there were so many, only those to
   * memory that several threads have touched. */
  uint64_t plain;
  uint64_t target_key;  /* the finding looked for; others are passed over (0: any) */
  uint32_t target_kind; /* REDUCE without a key: any finding of this kind */
  int32_t target_death; /* REDUCE in fork mode: the process ends with this wait status (0: not looked for) */
  uint32_t debug; /* REPLAY: under a debugger: one execution, in place, with stops (runtime/core/debug.c) */
  /* status.grown of an earlier process: of one without debugger, so that nothing is begun twice; of the one that saved
   * the search, so that the stacks that are named in it are there. */
  uint32_t ngrown;
  uint64_t grown[HD_MAX_GROWN];
  uint32_t symbolic; /* enum hd_symbolic_mode */
  uint32_t symbolic_pad;
  struct hd_aims aims; /* lines to reach */
  uint32_t property;   /* enum hd_property_kind: the only thing that is searched for completely */
  uint32_t property_pad;
};

/* Where numbers of executions come from. */
enum hd_served {
  HD_SERVED_NO,
  HD_SERVED_ALSO, /* whoever finds none waits, until shared.spent: another machine may return some */
  HD_SERVED_ONLY, /* the same, and there are no others than those that the supervisor gives (shared.span) */
};

enum hd_run_state { HD_ST_STARTING, HD_ST_RUNNING, HD_ST_DONE, HD_ST_ERROR };

/* Why the runtime gave up (status.error); each has its text in status.error_text. */
enum hd_rt_error {
  HD_RTE_NONE,
  HD_RTE_UNSUPPORTED,    /* the program called something a controlled run cannot do */
  HD_RTE_NONDETERMINISM, /* the same schedule gave other events, also in fork mode */
  HD_RTE_ENVIRONMENT,    /* no memory for stacks, a system call refused, ... */
  HD_RTE_INTERNAL,       /* a bug of ours */
};

struct hd_status {
  uint32_t state;
  uint32_t error;
  char error_text[512];
  struct hd_site error_site;
  uint64_t executions; /* maximal executions finished */
  uint64_t counted;    /* number of the last one that is in the counters */
  uint64_t infeasible; /* of their own: those in which an assumption did not hold */
  uint64_t blocked;    /* redundant ones given up */
  uint64_t events;     /* visible operations executed in all */
  uint64_t switches;
  uint64_t pruned;           /* reversals left out where no data race can follow (explore/property.c) */
  uint64_t symmetric;        /* branches left out for an interchangeable thread's (explore/symmetry.c) */
  struct hd_set alike;       /* threads that were interchangeable with others */
  uint64_t heartbeat;        /* changes while anything happens */
  uint64_t upkeep;           /* changes while the search is at work, or waits for other workers */
  uint64_t execution;        /* number of the execution under way */
  uint64_t path_len;         /* steps of it so far, in the path area */
  uint64_t visible_at_start; /* visible log entries known when it began */
  uint64_t visible_count;
  struct hd_numbers numbers; /* of its threads so far, and those of config */
  uint32_t max_threads;
  uint32_t restart;   /* the mode chosen: HD_RESTART_MEMORY or _FORK */
  uint32_t decided;   /* it will not change any more */
  uint32_t kept;      /* executions start after the set-up of the program (runtime/core/checkpoint.c) */
  uint32_t unkept;    /* enum hd_unkept: why they do not */
  uint32_t unshared;  /* enum hd_unkept: why not all executions could continue from a template */
  uint32_t left;      /* a child process was still there when an execution ended */
  uint32_t switched;  /* from restoring memory to forks, since executions can continue from templates then */
  uint64_t templates; /* processes that stayed at a scheduling point (runtime/core/template.c) */
  uint64_t resumed;   /* executions that continued from one of them */
  uint32_t again;     /* processes that left to start once more (ctl.again) */
  uint32_t again_pad;
  uint64_t
      kinds; /* findings of the execution under way, those that were stored before included: bits of enum hd_kind */
  uint32_t nfindings;
  uint32_t diverged;     /* REPLAY: the schedule asked for something impossible */
  uint32_t diverge_kind; /* enum hd_decision_kind: what the schedule wanted decided ... */
  uint64_t diverge_want; /* ... and how */
  uint64_t diverge_step;
  uint32_t diverge_pad;
  uint32_t diverge_op;    /* what that thread was about to do, HD_OP_NONE if it does not exist or has ended */
  uint64_t nevents;       /* entries of the event area */
  uint64_t points;        /* detail: scheduling points of the execution so far */
  uint64_t event_hash;    /* of the last execution */
  int32_t exit_status;    /* of the last execution */
  uint32_t assumed_wrong; /* in the last execution an assumption did not hold */
  uint32_t nmodules;
  uint32_t changes_files; /* some execution has: from then on one process at a time */
  uint64_t epoch;         /* times the search had restarted when the counters above were last set to 0 */
  uint64_t discarded;     /* executions from before those restarts */
  struct hd_inexact_count inexact[HD_INEXACT_COUNT]; /* why the search is not complete */
  struct hd_inexact_count loops; /* HD_INEXACT_LOOP_BOUND, if that part does not complete the search */
  uint32_t phase_now;            /* auto: entry of phase[] that the execution under way belongs to */
  uint32_t paused;               /* it waits for shared.pause to end */
  uint32_t paused_pad;
  uint64_t shared_seen; /* entries of the shared log of visible operations that it has taken over */
  struct {
    char strategy[16];
    uint64_t executions;
  } phase[HD_MAX_PHASES]; /* auto: what each strategy did */
  uint64_t ngrown;        /* times that more threads to run on were made, and the stack size asked for */
  uint64_t grown[HD_MAX_GROWN];
  uint32_t ntargets;
  uint32_t targets_pad;
  struct hd_target target[HD_MAX_TARGETS];
  uint32_t aimed; /* lines that some execution has reached, one after the other, at most */
  uint32_t aimed_pad;
  uint64_t classes, class_sum; /* happens-before classes seen, and a checksum of the set */
  uint64_t states, state_sum;  /* the same for final states */
};

struct hd_module {
  uint64_t base, start, end; /* load bias, lowest and highest address */
  char path[240];
};

/* From the process of an execution, or a template, to the process that waits for it. */
struct hd_relay {
  uint64_t next; /* number of the execution to run next; 0: none */
  uint64_t cover_skip;
  uint32_t cover_skipping, cover_pad;
  /* What a fork takes, in nanoseconds; and what templates have saved and cost so far. */
  uint64_t fork_cost, saved, spent;
  uint32_t lost; /* enum hd_unkept: rt.lost, of an execution that has to be run again */
  uint32_t lost_pad;
};

struct hd_ctl {
  uint64_t magic;
  uint32_t abi;
  uint32_t size;            /* sizeof(struct hd_ctl) */
  uint64_t supervisor_stop; /* set by the supervisor: finish the execution under way and end */
  uint64_t fork_grow;       /* runtime: from a forked execution to its parent */
  int32_t fork_status; /* wait status of a forked execution that destroyed itself; the parent exits with 98 */
  uint32_t retry; /* set by the supervisor: the process was killed from outside, run status.execution again */
  uint32_t again; /* the process has ended to start once more, before status.execution */
  uint32_t again_pad;
  struct hd_relay relay; /* runtime: from a forked execution to its parent */
  struct hd_config config;
  struct hd_status status;
  struct hd_module module[HD_MAX_MODULES];
  uint32_t nranges, ranges_pad;
  struct hd_range range[HD_MAX_RANGES]; /* the address layout of the process, as far as it has a name */
  char thread_name[HD_MAX_THREADS][16]; /* with detail: what the program calls its threads */
  struct hd_finding_rec finding[HD_MAX_FINDINGS];
};

#endif

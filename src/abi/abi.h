/* abi.h: what crosses the border between the supervisor (`heddle`) and the tested process
 * (libheddle_rt.so).
 *
 * Both map one shared memory file at the same fixed address. The supervisor fills in `config`
 * before it starts the tested process; the runtime writes everything else. Whatever the tested
 * process had recorded when it died is therefore still there for the next one.
 *
 * Rules: plain data only, no pointers except into the file itself, every field written by one side.
 * A change of anything in this folder bumps HD_ABI_VERSION. */
#ifndef HD_ABI_H
#define HD_ABI_H

#include <stdint.h>

#include "abi/cover.h"
#include "abi/finding.h"
#include "abi/reduced.h"
#include "model/decision.h"
#include "model/event.h"
#include "model/inexact.h"
#include "model/layout.h"
#include "model/numbers.h"

#define HD_VERSION "0.1.0"
#define HD_ABI_VERSION 21
#define HD_CTL_MAGIC 0x31656c6464656848ull /* "Heddle1" */
#define HD_RUNTIME_SONAME "libheddle_rt.so.1"

/* The environment variable that turns control on: "HEDDLE_CTL=<fd>", always this descriptor, so that
 * the length of the environment (and with it every stack address) is the same in every process. */
#define HD_CTL_ENV "HEDDLE_CTL"
#define HD_SPIN_ENV "GOMP_SPINCOUNT" /* libgomp: threads that wait sleep, so that others can be scheduled */
#define HD_SPIN_VALUE "0"
#define HD_CTL_FD 1000
#define HD_SEARCH_FD 1001  /* the file that all workers of one search share */
#define HD_FILE_LIMIT 1024 /* what a process must be allowed to have for that */

/* Sent by the supervisor when the execution makes no progress: the runtime records where it is. */
#define HD_SIG_HANG 16 /* SIGSTKFLT: no program uses it */

/* ---- limits ---- */

#define HD_MAX_FINDINGS 256        /* kept in one search; more are counted */
#define HD_MAX_SEGMENTS (1u << 26) /* of one execution; then it is cut */
#define HD_EARLY_TIMEOUTS 3        /* waits of one thread that may time out early, with timeouts_any */
#define HD_MAX_MODULES 128
#define HD_MAX_RANGES 2304 /* of the address layout: modules, stacks */
#define HD_MAX_TARGETS 32  /* labels of hd_target; others are not counted */
#define HD_MAX_PHASES 8
#define HD_MAX_WORKERS 256 /* processes that share one search */
#define HD_MAX_GROWN 64    /* times that one process needed more threads to run on, as far as they are kept */
#define HD_PATH_MAX 4096

/* ---- control block ---- */

enum hd_mode { HD_MODE_CHECK, HD_MODE_RUN, HD_MODE_REPLAY, HD_MODE_REDUCE };
enum hd_restart { HD_RESTART_AUTO, HD_RESTART_MEMORY, HD_RESTART_FORK };
/* Whether executions start after the set-up of the program: where it pays, wherever they can, or never. */
enum hd_checkpoint { HD_CHECKPOINT_AUTO, HD_CHECKPOINT_ALWAYS, HD_CHECKPOINT_NEVER };
enum hd_bound { HD_BOUND_NONE, HD_BOUND_PREEMPTIONS, HD_BOUND_DELAYS };

struct hd_config {
  uint32_t mode;
  uint32_t restart;
  uint32_t checkpoint;     /* enum hd_checkpoint */
  uint32_t template_every; /* a template at every so many scheduling points; 0: where it pays */
  uint32_t may_switch;     /* from memory to forks, where templates make that cheaper */
  uint32_t symmetry;       /* of threads that are interchangeable only one goes first (explore/symmetry.c) */
  char strategy[32];
  uint64_t seed;
  uint64_t max_executions;  /* 0: no limit */
  uint32_t worker, workers; /* this process is number `worker` of so many */
  uint32_t cluster;         /* the search is shared with other machines: 1 + its rank there; 0: it is not */
  uint32_t cluster_pad;
  uint64_t max_length;    /* steps of one execution before it is cut */
  uint64_t ignore;        /* bit per enum hd_kind: do not stop at and do not report */
  uint32_t all;           /* go on after a finding */
  uint32_t detail;        /* record events and full stacks (slow; for replay) */
  uint32_t callers;       /* with detail: record who called the places, of up to HD_CALLS_CAP events */
  uint32_t one_phase;     /* spurious wake-ups are not explored when everything else is covered */
  uint32_t spurious;      /* condition variables may wake spuriously */
  uint32_t leaks;         /* report leaks at exit */
  uint32_t thread_leaks;  /* report threads running or unjoined at exit */
  uint32_t exit_status;   /* the expected one; others are findings */
  uint32_t classes;       /* count happens-before classes and final states (costs memory) */
  uint32_t states;        /* a state that was explored before is not explored again (explore/states.c) */
  uint64_t state_memory;  /* bytes for those states */
  uint32_t depth;         /* pct: bug depth looked for */
  uint32_t bound_kind;    /* enum hd_bound: what a systematic search may use only so much of */
  uint32_t bound_iterate; /* 0, 1, 2, ... instead of `bound` */
  uint32_t bound;
  uint32_t bound_last;       /* of those tried one after the other; 0: no last one */
  uint32_t timeouts_any;     /* a timed wait may end at any point, not only when nothing else can run */
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
  uint64_t infeasible; /* of their own: those in which an assumption did not hold */
  uint64_t blocked;    /* redundant ones given up */
  uint64_t events;     /* visible operations executed in all */
  uint64_t switches;
  uint64_t symmetric;        /* branches left out for an interchangeable thread's (explore/symmetry.c) */
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
  uint32_t switched;  /* from restoring memory to forks, since executions can continue from templates then */
  uint64_t templates; /* processes that stayed at a scheduling point (runtime/core/template.c) */
  uint64_t resumed;   /* executions that continued from one of them */
  uint32_t again;     /* processes that left to start once more (ctl.again) */
  uint32_t again_pad;
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
  uint32_t phase_now; /* auto: entry of phase[] that the execution under way belongs to */
  uint32_t paused;    /* it waits for shared.pause to end */
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

/* ---- what the workers of one search share ---- */

/* Writes that belong together. Once n is set they will all be made, by the worker itself or, if it was killed,
 * by whoever looks next. */
#define HD_REDO_CAP 64
struct hd_redo {
  uint32_t n; /* 0: nothing is under way */
  uint32_t unused;
  struct {
    uint64_t at, value;
    uint64_t size; /* 4 or 8 */
  } write[HD_REDO_CAP];
};

/* A set of workers; members come and go one by one, by whoever it is. */
#define HD_CREW_WORDS (HD_MAX_WORKERS / 64)
struct hd_crew_set {
  uint64_t w[HD_CREW_WORDS];
};
static inline void hd_crew_add(struct hd_crew_set *s, unsigned i) {
  __atomic_or_fetch(&s->w[i >> 6], 1ull << (i & 63), __ATOMIC_SEQ_CST);
}
static inline void hd_crew_del(struct hd_crew_set *s, unsigned i) {
  __atomic_and_fetch(&s->w[i >> 6], ~(1ull << (i & 63)), __ATOMIC_SEQ_CST);
}
static inline void hd_crew_clear(struct hd_crew_set *s) {
  for (unsigned k = 0; k < HD_CREW_WORDS; k++) __atomic_store_n(&s->w[k], 0, __ATOMIC_RELAXED);
}
static inline int hd_crew_has(const struct hd_crew_set *s, unsigned i) {
  return (int)(__atomic_load_n(&s->w[i >> 6], __ATOMIC_SEQ_CST) >> (i & 63) & 1);
}
/* Whether it has members other than i. */
static inline int hd_crew_others(const struct hd_crew_set *s, unsigned i) {
  uint64_t any = 0;
  for (unsigned k = 0; k < HD_CREW_WORDS; k++)
    any |= __atomic_load_n(&s->w[k], __ATOMIC_RELAXED) & ~(k == i >> 6 ? 1ull << (i & 63) : 0);
  return any != 0;
}

/* Random descents of the tree of executions: what each says its size is (explore/strategy_uniform.c). */
struct hd_estimate {
  uint64_t samples;
  double sum, squares, largest;
};

/* Why a state cannot be captured, in 128 bits or at all (runtime/core/fingerprint.c). */
enum hd_uncaptured {
  HD_UNCAPTURED_NONE,
  HD_UNCAPTURED_SYSCALL,   /* a system call that may leave something behind in the kernel */
  HD_UNCAPTURED_OPERATION, /* descriptors, signals, cancellation, fibers and the like */
  HD_UNCAPTURED_STACK,     /* a stack that the program made */
  HD_UNCAPTURED_LIBRARY,   /* state of a library function that is kept elsewhere */
  HD_UNCAPTURED_FORK,      /* executions restart by fork: what they have changed is not known */
  HD_UNCAPTURED_COUNT
};

/* How states were compared. */
struct hd_state_counts {
  uint64_t states;                          /* stored */
  uint64_t matches;                         /* executions that were given up at one of them */
  uint64_t bytes;                           /* of the table */
  uint64_t full;                            /* it has no room for more */
  uint64_t uncaptured[HD_UNCAPTURED_COUNT]; /* scheduling points at which they could not be compared */
};

struct hd_shared {
  uint64_t magic;
  uint32_t lock;             /* number + 1 of the worker that holds it, 0: free */
  uint32_t pause;            /* set by the supervisor: wait between two executions */
  uint64_t next_execution;   /* number of the next execution to begin, less 1 */
  uint64_t not_begun;        /* numbers that were drawn when there was nothing to do */
  uint64_t spent;            /* a worker has left since there were no more numbers: its work is left undone */
  uint64_t forgive;          /* executions up to this one that did not end were stopped from outside */
  uint64_t epoch;            /* times the search has begun anew because more operations proved visible */
  uint64_t visible_count;    /* entries of the shared log of visible operations */
  struct hd_numbers numbers; /* of threads, of a systematic search */
  struct hd_crew_set hungry; /* they have nothing to do */
  struct hd_crew_set ending; /* they change the tree at the end of an execution */
  struct hd_crew_set died;   /* they were killed, what they were writing must be finished */
  uint32_t crew;             /* workers that there have been, also before the search was saved */
  uint32_t over;             /* the strategy has nothing left */
  uint32_t bound;            /* under which the search is, with bound_iterate */
  uint32_t bounds_done;      /* bounds covered whole: the largest of them plus 1 */
  uint32_t partial;          /* some execution could not be followed to its end: no bound is covered whole */
  uint32_t inbox_full;       /* a saved search waits at HD_SEARCH_INBOX for the first process to read it */
  uint64_t inbox;            /* its bytes */
  uint64_t inbox_layout;     /* hd_layout_hash of the process that it was saved from */
  uint32_t cover_dropped;    /* that layout was another: what it had exercised is not known any more */
  uint32_t waited;           /* a thread has waited at a condition, without a time limit */
  uint32_t renumbered;       /* threads have opened and closed descriptors, and nothing orders them */
  uint64_t bound_cut;        /* hd_shared_cut(): the bound kept the search from something */
  struct hd_estimate estimate; /* of the executions of a complete search */
  struct hd_state_counts state_counts;
  /* --states: memory that proved to be accessed by several threads, and written; and when the search last restarted. */
  uint64_t contended, contended_seen;
  double
      at_least; /* executions that a systematic search has, those that are known to be left included; 0: unknown */
  uint32_t
      slot_of[HD_MAX_WORKERS]; /* the part of a systematic search each worker is at, plus 1; 0: its own */
  struct hd_redo redo[HD_MAX_WORKERS];
};

/* The bound under which the search is, and what `bound_cut` is when it has left something out under it: the number of
 * the search is in it, so that an execution of one that was restarted meanwhile changes nothing. */
static inline uint32_t hd_shared_bound(const struct hd_shared *s, const struct hd_config *c) {
  return c->bound_iterate ? s->bound : c->bound;
}
static inline uint64_t hd_shared_cut(const struct hd_shared *s, const struct hd_config *c) {
  return (s->epoch << 32 | hd_shared_bound(s, c)) + 1;
}

/* ---- the shared files: areas at fixed offsets, all sparse ---- */

/* One for each process. */
#define HD_SHM_BASE 0x380000000000ull
#define HD_SHM_CTL 0ull             /* struct hd_ctl */
#define HD_SHM_PATH (1ull << 28)    /* hd_step[]: schedule of the execution under way, or to replay */
#define HD_SHM_VISIBLE (2ull << 28) /* uint64_t[]: addresses (8-byte granules) learned to be visible */
#define HD_SHM_FPATH (3ull << 28)   /* hd_step[]: schedules of the findings */
#define HD_SHM_EVENT (4ull << 28)   /* struct hd_event[] of the execution under detail */
#define HD_SHM_UNDO (16ull << 28)   /* struct hd_undo_log: changes of files to be undone */
#define HD_SHM_CALLS (20ull << 28)  /* uint64_t[HD_CALLS][]: with `plain`, who called the place of an event */
#define HD_SHM_SIZE (21ull << 28)   /* more than 5 GiB of address space */

/* One for the whole search. */
#define HD_SEARCH_BASE 0x390000000000ull
#define HD_SEARCH_HEAD 0ull            /* struct hd_shared */
#define HD_SEARCH_VISIBLE (1ull << 28) /* uint64_t[]: what any worker learned to be visible */
#define HD_SEARCH_COVER (2ull << 28)   /* struct hd_cover of each worker, HD_COVER_SIZE apart */
#define HD_SEARCH_CLASSES (6ull << 28) /* happens-before classes and final states that were counted */
#define HD_SEARCH_MEMORY (1ull << 38)  /* the strategy's memory */
#define HD_SEARCH_INBOX (7ull << 37)   /* a saved search, until it has been read */
#define HD_SEARCH_SIZE (1ull << 40)    /* 1 TiB of address space */

#define HD_PATH_CAP ((1ull << 28) / sizeof(hd_step))
#define HD_VISIBLE_CAP ((1ull << 28) / sizeof(uint64_t))
#define HD_FPATH_CAP ((1ull << 28) / sizeof(hd_step))
#define HD_EVENT_CAP ((12ull << 28) / sizeof(struct hd_event))
#define HD_UNDO_CAP (4ull << 28)
#define HD_CALLS 8 /* return addresses, the innermost first, 0 after the last one */
#define HD_CALLS_CAP (1ull << 18)
#define HD_SEARCH_CAP (HD_SEARCH_INBOX - HD_SEARCH_MEMORY)
#define HD_COVER_SIZE (1ull << 22)
_Static_assert(sizeof(struct hd_cover) <= HD_COVER_SIZE && HD_COVER_SIZE * HD_MAX_WORKERS <= 4ull << 28,
               "every worker has room for what it covers");

#endif

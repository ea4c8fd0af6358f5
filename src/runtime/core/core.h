/* core.h: the state of the runtime and the scheduler. Private to src/runtime, which runs in the tested process.
 *
 * Reading order: arch.h (switching), ident.c (borrowed threads), sched.c (who goes next), memory/shadow.c (who
 * touched what), memory/heap.c, memory/snapshot.c (restoring memory), drive.c (the loop over executions), kernel/
 * (system calls), then wrap/, one file per API family.
 *
 * Rules of src/runtime
 *  1. One kernel thread runs everything, so nothing here needs a lock or an atomic operation.
 *  2. The runtime uses neither malloc nor stdio of the process it lives in, and never prints: it records findings
 *     and errors in the shared file, and the supervisor reports them.
 *  3. A restart restores all of the program's memory and none of the runtime's.
 *  4. While hot.active is 0 the process is an ordinary one: every wrapper calls the original. */
#ifndef HD_RUNTIME_CORE_H
#define HD_RUNTIME_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/abi.h"
#include "explore/explore.h"
#include "model/model.h"
#include "runtime/core/arch.h"
#include "runtime/core/thread.h"
#include "runtime/core/util.h"

/* ---- hot: the few words that every hook needs ---- */

struct hd_hot {
  uint64_t sp,
      regs[6];  /* of the program, at the last hook it entered through arch.h; known to the assembler */
  uint64_t tag; /* of the running thread; 0 while not active */
  struct hd_call *call; /* top of the running thread's call stack */
  struct hd_call *call_end;
  uint64_t stack_limit; /* lower bound of the running thread's stack pointer */
  uint8_t active;       /* a tested thread is running under control */
  uint8_t detail;       /* keep whole call stacks */
  uint8_t cover;        /* this execution is observed for coverage (cover.c) */
  uint8_t log;          /* record every event; 2: and every memory access */
  uint8_t selector;     /* system-call interception, see sysguard.c */
  uint64_t syscall_pc;  /* where the program made the last intercepted system call */
};
extern struct hd_hot hot;
/* Whether this byte or the next one is set, with one load. */
typedef uint16_t __attribute__((may_alias, aligned(1))) hd_two_bytes;
static inline bool hd__either(const uint8_t *p) { return *(const hd_two_bytes *)p != 0; }
#define HD_DETAIL_OR_COVER HD_UNLIKELY(hd__either(&hot.detail))
#define HD_COVER_OR_LOG HD_UNLIKELY(hd__either(&hot.cover))
#define HD_SCRUBS_OR_GONE HD_UNLIKELY(hd__either((const uint8_t *)&rt.cur->scrubs))
_Static_assert(offsetof(struct hd_hot, cover) == offsetof(struct hd_hot, detail) + 1 &&
                   offsetof(struct hd_hot, log) == offsetof(struct hd_hot, cover) + 1,
               "HD_DETAIL_OR_COVER and HD_COVER_OR_LOG read them in pairs");

/* Where the stacks of threads are, among other things, and that of the first one. */
struct hd_stacks {
  uint64_t lo, size;
  uint64_t first;
};

struct hd_rt {
  struct hd_ctl *ctl;
  struct hd_config *config;
  struct hd_status *status;
  hd_step *path; /* schedule of the current execution */
  uint64_t path_len;
  uint64_t cover_skip;      /* executions that are not observed before the next one that is (cover.c) */
  uint64_t *visible;        /* the visible log */
  struct hd_shared *shared; /* with the other workers of the search */
  uint64_t *shared_visible;
  const struct hd_strategy *strategy;
  struct hd_search search;
  struct hd_arena arena; /* for one execution */
  struct hd_thread *cur;
  struct hd_thread *thread; /* [HD_MAX_THREADS] */
  const struct hd_op *op[HD_MAX_THREADS];
  const struct hd_guard *guard[HD_MAX_THREADS]; /* of the pending operations, NULL: none (spin.c) */
  unsigned
      nthreads; /* the highest number of a thread in this execution, plus 1; not all below it need exist */
  unsigned nnumbers; /* of those that do */
  unsigned nalive;
  unsigned nstopped; /* of those in state HD_T_STOPPED */
  unsigned
      nunjoined; /* created, and not known by every thread to have ended: a detached thread counts forever */
  struct hd_stacks stacks;   /* (memory/lent.c) */
  unsigned choice, nchoices; /* of the current operation */
  bool event_due; /* a thread was picked, and hd__event has not been called for its operation yet */
  struct hd_set enabled;
  unsigned nenabled;
  /* What a decision has to look at first, which is seldom anything. */
  union {
    uint64_t attend;
    struct {
      uint16_t narmed;   /* threads that are armed (spin.c) */
      uint16_t naliases; /* mappings of memory that has another address, too (alias.c) */
      bool sent;         /* a thread has sig.sent */
      bool entered;      /* code of a library was made executable (library.c) */
      bool templates;    /* this execution may become a template (template.c) */
    };
  };
  struct hd_set gone;        /* threads that ended, and were joined or are detached */
  struct hd_thread *section; /* the thread in an atomic section: no other runs */
  struct hd_vc section_vc;   /* published by the sections so far */
  unsigned nspinning;        /* threads whose pending operation is a SPINWAIT */
  /* What every access has to look at. */
  union {
    uint64_t looks;
    struct {
      uint16_t
          between; /* the thread that has joined some members of a family and not all, plus 1 (family.c) */
      uint16_t watched; /* plain reads to come that are checked as those of a waiting loop */
      bool
          preload; /* the program was not built with heddle cc: what its memory accesses order is not known */
      bool touches; /* they are noted (touch.c) */
    };
  };
  unsigned naside; /* threads that were put aside (tick.c) */
  unsigned ntimed;
  unsigned nalarms; /* timers that send signals and were used in this execution */
  unsigned nio;     /* threads whose pending operation is one on descriptors */
  uint32_t epoch;   /* number of executions started in this process */
  uint32_t seg_next, seg_base;
  uint64_t now;          /* virtual time, nanoseconds */
  bool clocked;          /* a thread has read a clock in this execution */
  uint64_t due;          /* time has passed: all waits that end until then end together; 0: they have */
  struct hd_known known; /* and the hash of the operations so far */
  uint64_t events;
  struct hd_ctx sched; /* the context that executions start from */
  uint64_t main_tp;
  int end_reason;      /* enum hd_run_end */
  enum hd_inexact cut; /* HD_RUN_CUT: the reason to count */
  bool
      unsure; /* the execution may fail only because what an earlier one did was not restored: no finding is kept */
  uint64_t grow_stack; /* HD_RUN_GROW: the pool of identities that is too small (ident.h) */
  int exit_status;
  int faulted;   /* signal of the last fault, 0: none yet in this process */
  bool hung;     /* this execution took too long, and ended there */
  bool in_exit;  /* exit handlers are running */
  bool callback; /* executions call a function (hd_check) instead of main */
  bool child;    /* this process was forked by the program and runs natively */
  bool prefix;   /* no choice has come yet, and it matters when one does (checkpoint.c) */
  bool forked;   /* this execution has started a process */
  uint8_t
      lost; /* enum hd_unkept: this execution did something after which the checkpoint cannot be restored */
  bool fingerprints;  /* the search compares states (fingerprint.c) */
  bool branched;      /* an outcome was chosen in this execution */
  uint8_t uncaptured; /* enum hd_uncaptured: why that is not possible in this execution */
};
extern struct hd_rt rt;

/* Why an execution ended. A strategy learns less (enum hd_how): to it, a finding and a cut are the same. */
enum hd_run_end {
  HD_RUN_EXIT,    /* the program ended */
  HD_RUN_FINDING, /* a finding that the program does not survive, or the first without --all */
  HD_RUN_STUCK,   /* deadlock */
  HD_RUN_GROW,    /* not enough identities: it is re-executed with more */
  HD_RUN_BLOCKED, /* redundant */
  HD_RUN_CUT,     /* too long */
  HD_RUN_DIVERGED,
  HD_RUN_OVER,   /* it did not start: nothing is left to explore */
  HD_RUN_LATER,  /* it did not start: other workers have what is left */
  HD_RUN_PASSED, /* a template has ended; ctl.relay says how to go on */
  HD_RUN_PAUSED, /* it has not ended: the first thread waits at its first choice (checkpoint.c) */
};

/* The result of a function that the program has called, where the function ends: while states are compared, nothing of
 * ours stays behind on the stack (fingerprint.c). */
#define HD_LEAVE(result)                                             \
  __extension__({                                                    \
    int result_ = (result);                                          \
    HD_UNLIKELY(rt.fingerprints) ? hd_arch_leave(result_) : result_; \
  })

/* Functions of the running thread have returned whose variables others have accessed (memory/lent.c). */
void hd__returned(void);

/* ---- sched.c ---- */

int hd__sched_init(void);
/* Prepares a new execution: no threads, no clocks. */
void hd__sched_begin(void);
/* Runs the execution; returns when it is over. pre: thread 0 exists. */
void hd__run(void);
/* Runs it on from where the first thread was paused. */
void hd__continue(void);
/* What a strategy sees now. */
struct hd_point hd__here(void);

/* The running thread is about to execute this operation, which is enabled. Other threads may run first; returns
 * when the operation may be executed. */
void hd__point(unsigned kind, uint64_t object, uint32_t size, uint64_t pc);
/* hd__point without the event, for operations whose outcome is known only afterwards. */
void hd__point_open(unsigned kind, uint64_t object, uint32_t size, uint64_t pc);
/* The running thread has executed its pending operation; HD_EV_* flags. hd__point does this itself. */
void hd__event(unsigned flags);
/* One decision: the next thread runs. Returns when the caller is picked again. */
void hd__step(void);
/* The same for a thread that is put aside: returns also when it is to go on, which is no step. */
void hd__step_aside(void);
void hd__enable(struct hd_thread *t);
void hd__disable(struct hd_thread *t);
/* A choice with n outcomes, part of the operation whose event follows. */
unsigned hd__choose(unsigned n);
/* Ends the wait of a timed operation whose deadline has come (wrap/cond.c). */
void hd__time_out(struct hd_thread *t);
/* The same for one whose deadline came together with that of another thread, which has just ended its wait
 * (wrap/time.c). */
void hd__time_due(struct hd_thread *t);
/* Something else than time ends the wait of a timed operation: it is not explored that its time is over before that
 * (wrap/time.c). */
void hd__deadline_trusted(const struct hd_thread *t);

/* The n-th thread that the parent has created; `numbered`: the number stands for that. */
struct hd_thread *hd__thread_new(struct hd_thread *parent, unsigned number, unsigned nth, bool numbered);
/* Another thread can get the number. */
void hd__thread_forget(struct hd_thread *t);
/* The running thread has finished. */
_Noreturn void hd__thread_gone(void);
/* Stops the running thread; the others continue to the end of the execution. Such an execution reports no deadlock,
 * leak or exit status. Nothing can depend on the stopped thread, so other findings of it occur without it too. */
_Noreturn void hd__thread_stop(void);
/* Ends an execution that is too long. It is counted when its end is committed (drive.c). */
_Noreturn void hd__cut(enum hd_inexact why);
/* Ends the execution. */
_Noreturn void hd__end(int reason);

/* ---- number.c: thread numbers ---- */

void hd__numbers_init(void);
void hd__numbers_begin(void); /* of an execution */
/* The number of the n-th thread that the parent creates; 0: it depends on the other threads. */
unsigned hd__thread_number(const struct hd_thread *parent, unsigned nth);
/* In that case: the number that it gets now; HD_MAX_THREADS: none is left. */
unsigned hd__thread_number_now(const struct hd_thread *parent);
/* Their order, the same in every search. */
bool hd__thread_before(const struct hd_thread *a, const struct hd_thread *b);

/* ---- happens-before: a segment is the part of a thread between two of its releases ---- */

struct hd_segment {
  uint32_t clock;
  uint32_t thread;
};
extern struct hd_segment *hd__segments; /* of this execution, from rt.seg_base */
void hd__new_segment(struct hd_thread *t);
void hd__release(struct hd_vc *into);       /* publishes the running thread's clock */
void hd__acquire(const struct hd_vc *from); /* joins it */
static inline unsigned hd__segment_thread(uint32_t seg) { return hd__segments[seg - rt.seg_base].thread; }
/* Whether that segment of this execution happened before the running thread's next action. */
static inline bool hd__happened_before(uint32_t seg) {
  const struct hd_segment *s = &hd__segments[seg - rt.seg_base];
  return hd_vc_get(&rt.cur->vc, s->thread) >= s->clock;
}

/* ---- section.c: atomic sections ---- */

/* Before a decision, while a thread is in a section. Returns true when that thread continues, false when it has to
 * wait and has left the section. */
bool hd__section_continues(void);
/* The thread was picked outside its section: it enters. */
void hd__section_enter(struct hd_thread *t);
/* The running thread is no longer in any section. */
void hd__section_leave(void);
void hd__atomic_begin(uint64_t pc);
void hd__atomic_end(uint64_t pc);

/* ---- api.c ---- */

/* An operation of its own whose outcome is one of 0 .. n-1. */
unsigned hd__choose_here(unsigned n, uint64_t pc);
_Noreturn void hd__assume_failed(void);

#endif

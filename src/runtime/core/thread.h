/* thread.h: a tested thread. */
#ifndef HD_RUNTIME_THREAD_H
#define HD_RUNTIME_THREAD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "model/op.h"
#include "runtime/core/arch.h"
#include "runtime/core/ident.h"
#include "runtime/core/spin.h"

struct hd_fiber;
struct hd_io;
struct hd_obj;
struct hd_team;
struct hd_tls_dtor;
struct hd_footprint;

/* Pending signals. */
struct hd_signal {
  siginfo_t info;
  bool anyone; /* it was sent to the process */
  struct hd_signal *next;
};
struct hd_signals {
  uint64_t set;            /* one bit each, from 1 */
  struct hd_signal *first; /* oldest first */
  struct hd_vc vc;         /* published by the senders, of those for the process */
};

/* One entry of a call stack, kept by the compilers' function hooks. */
struct hd_call {
  uint64_t pc; /* return address into the caller */
  uint64_t sp; /* stack pointer inside the callee; entries above it with a smaller one are dead (longjmp) */
};
#define HD_CALL_DEPTH 4096 /* deeper calls are counted, not recorded */

/* The last choice that a thread made, and how often in a row. */
struct hd_choices {
  uint64_t pc;
  unsigned last, alike;
};

/* What has happened to the object of its pending operation, while another thread ran. */
enum hd_gone { HD_GONE_NOT, HD_GONE_FREED, HD_GONE_DESTROYED };

enum hd_tstate {
  HD_T_READY,   /* its pending operation is enabled */
  HD_T_BLOCKED, /* its pending operation is disabled */
  HD_T_DONE,
  HD_T_STOPPED, /* it failed in a way that the program does not survive */
};

/* A tested thread. A new thread is all zero but for what hd__thread_new sets. The fields that every scheduling point
 * and every access use come first; the others are grouped by the concept that owns them. */
struct hd_thread {
  _Alignas(64) struct hd_ctx ctx;
  struct hd_op op;      /* pending operation */
  uint64_t tag;         /* segment of the thread, as it stands in shadow words */
  struct hd_call *call; /* top of its call stack, while it is not running */
  struct hd_call *calls;
  uint64_t stack_limit;
  struct hd_vc vc;
  uint16_t id, parent;
  uint32_t nth, children; /* nth: of its parent's children, from 1 */
  uint8_t state;          /* enum hd_tstate */
  bool foreign;           /* its code belongs to a library without hooks: what orders it is not known */
  bool numbered;          /* its number stands for its place in the tree of creations (number.c) */
  unsigned heap_slot, heap_reuses; /* where it allocates; choices to reuse a block (memory/heap.c) */
  uint64_t allocating;             /* where it calls a function of libc that allocates for it, or 0 */
  unsigned section;                /* nesting of atomic sections (section.c) */
  /* While any of this is set, its accesses need more than to be recorded (memory/shadow.c). */
  union {
    uint64_t special;
    struct {
      uint16_t ignore; /* nesting of regions whose races are not reported */
      bool silent;     /* the hook under way belongs to a function that wants no reports */
      bool armed;      /* its reads are being collected, or waited for (spin.c) */
      bool scrubs;     /* hooks clear what they leave on the stack in any case (fingerprint.c) */
      uint8_t gone;    /* its pending operation has lost its object: enum hd_gone */
      bool anywhere;   /* it may be cancelled at any moment: enabled, and of the asynchronous type */
      bool handled;    /* it has run a handler of a signal */
    };
  };
  uint32_t lost_calls; /* entries of its call stack beyond HD_CALL_DEPTH */
  uint32_t lends;      /* so many of them are needed by variables that others have accessed (memory/lent.c) */
  struct {             /* cancellation (wrap/cleanup.c), with hd__cancel_word */
    bool disabled;     /* by pthread_setcancelstate */
    bool at_point;     /* its pending operation is a cancellation point */
    bool taken;        /* it was cancelled there */
    int type;
    unsigned writes; /* in a row that were operations */
  } cancel;
  struct { /* signals, one bit each, from 1 (wrap/signal.c) */
    uint64_t mask;
    uint64_t outside;             /* `window`: the mask from before */
    bool window;                  /* ppoll and the like: its mask is that of the wait it is in */
    uint64_t late;                /* sent, but not noticed yet (wrap/signal_late.c) */
    unsigned ran, handling;       /* handlers that it ran; that it is in */
    bool taken;                   /* a handler comes in the place of its pending operation */
    bool timed;                   /* the signal came when nothing else could run: of a timer, from outside */
    struct hd_signals pending;    /* sent to it */
    uint64_t waits;               /* for these it waits */
    bool sent;                    /* it, or one that it joined, has sent a signal that was noticed at once */
    struct hd_footprint *touched; /* by its handlers (memory/shadow.c) */
    uint64_t floor;               /* the stack of the handler that it is in is below */
    struct hd_op op;              /* `taken`: instead of this operation, */
    bool blocked, expired;        /* was not enabled, or its time was over, */
    unsigned section;             /* and so deep in atomic sections */
    bool restarts;   /* all handlers that interrupted its wait have SA_RESTART, or it did not wait */
    struct hd_vc vc; /* published by the senders */
    stack_t alt;     /* sigaltstack; NULL: none */
  } sig;
  struct hd_op replaced; /* the operation that a cancellation replaced */
  struct hd_choices choices;
  struct {                  /* waiting for an object (objects.c) */
    struct hd_obj *at;      /* object whose list or queue it is in */
    struct hd_thread *next; /* in that list */
    struct hd_obj *mutex;   /* condition: mutex to reacquire */
    uint32_t bits;          /* futex: bits it listens to */
    unsigned spurious;      /* condition: waits that ended by themselves */
    uint64_t site, cond;    /* the last of those: where it was, on which condition, */
    uint64_t writes;        /* and spin.writes when it ended */
    bool woke;              /* condition: it woke by itself, and reacquires the mutex */
  } wait;
  struct {             /* time (wrap/time.c) */
    bool set, expired; /* its pending operation has a deadline; the deadline has come */
    uint64_t deadline; /* virtual nanoseconds, while `set`. The last time it saw is vc.time */
    unsigned early;    /* waits that ended at once, or before their time (--timeouts=any) */
    unsigned polls;    /* readings of clocks in a row, without anything done in between ... */
    uint64_t writes;   /* ... that is, spin.writes and rt.now after the last one */
    uint64_t now;
  } timer;
  struct {                /* fences (memory/hooks_atomic.c) */
    struct hd_vc release; /* clock at the last release fence */
    struct hd_vc acquire; /* clocks seen by relaxed loads, for the next acquire fence */
  } fence;
  struct {             /* system calls (kernel/) */
    void *context;     /* of the call it is in, if that is an operation (sysguard.c) */
    struct hd_io *io;  /* its pending operation is one on descriptors (io.c) */
    bool forks;        /* its next call is a fork for which it was picked */
    bool polled;       /* its call has looked at something that is no memory */
    bool unloads;      /* its next call unmaps a library, for which it was picked */
    bool point;        /* the call it is in is a cancellation point */
    bool done;         /* the call it is in has had an effect, and continues */
    bool tested;       /* its next call is one at which it was not cancelled */
    uint32_t channels; /* pipes, sockets and the like that it has made */
    uint8_t nreserved; /* numbers that the call it is in has taken, for new descriptors */
    int reserved[2];
    uint32_t renumbers; /* operations on the table of descriptors */
    int closing;        /* the number that it closes, from 1; 0: none (fds.c) */
    uint32_t randoms;   /* times it asked for random numbers */
    uint32_t named; /* the number of a process or thread in the name that its call was given, 0 (pids.c) */
  } sys;
  struct hd_ident *ident; /* NULL for the first thread */
  struct hd_ident
      *spare; /* identities of threads that it has joined, and of those that they had joined ... */
  struct hd_ident *spare_last; /* ... the last of them, or NULL when it is not known */
  struct {                     /* creation */
    void *(*fn)(void *);
    void *arg;
    uint64_t site;    /* where it was created, with hot.detail */
    uint64_t tp;      /* pthread_t, also when it is gone */
    uint32_t segment; /* its first segment */
  } start;
  struct {
    bool done, detached;
    struct hd_thread *waiter; /* waits for its end */
    uint16_t by;              /* the thread that joined it */
    uint32_t segment;         /* segments before this one existed when it was joined; 0: it was not */
  } join;
  struct {         /* in the list of threads that the program sees (kernel/proc.c) */
    uint16_t adds; /* the number of the thread that it is about to create; HD_MAX_THREADS: not known yet */
    bool left;     /* it is in it no longer */
  } list;
  struct {          /* computing without end (tick.c) */
    bool is;        /* it was put aside in the middle of its step */
    uint64_t until; /* it is not put aside again before there are that many events */
  } aside;
  struct { /* its end */
    bool begun;
    uint8_t terminating; /* std::terminate was called; 2: and what() of the exception */
    void *value;
    void *cleanup; /* innermost C cleanup buffer (wrap/cleanup.c) */
    struct hd_tls_dtor *tls_dtors;
  } exit;
  struct hd_fiber *fiber; /* that it runs, if the program declares fibers (wrap/annotate.c) */
  struct hd_obj *robust;  /* robust mutexes that it holds */
  struct {
    bool serial;             /* it gets PTHREAD_BARRIER_SERIAL_THREAD */
    bool unused;             /* it does not look whether it does */
    struct hd_thread *round; /* the threads it releases when it leaves, itself included */
    struct hd_thread *next;  /* of those at the barrier, or of the round */
    bool go;                 /* it may leave */
    unsigned leads;          /* it is the first of that many */
  } barrier;
  struct {                /* OpenMP (wrap/openmp.c) */
    struct hd_team *team; /* that it is a member of */
    unsigned phase;       /* barriers of the team that it has passed */
  } omp;
  struct { /* what the program set and nothing depends on (wrap/settings.c) */
    char name[16];
    int policy, priority;
    unsigned long *cpus; /* NULL: any */
  } attr;
  struct {                  /* inputs and expressions (symbolic/) */
    uint32_t inputs, reads; /* that it has had */
    uint32_t result;        /* of what it returned: an expression, or 0 */
    bool quiet;             /* what the function that it calls reads stays symbolic */
    uint8_t written;        /* ... is written to standard output: HD_SHADOWED_TEXT or HD_SHADOWED_BLOCK */
    bool direct;            /* it reads files by itself (sources.h) */
    bool told;              /* of the call of stdio under way: it was said what it consumed */
    uint8_t source;         /* the same: number of the source, plus 1; 0: none */
    uint32_t one;           /* the same: the character that it returns */
    uint64_t from;          /* the same: position before it */
  } symbolic;
  uint32_t looks;      /* at what is not known to change (state.h) */
  struct hd_spin spin; /* the last: most of it is not cleared */
};
/* So much of a new thread is cleared. */
_Static_assert(offsetof(struct hd_thread, handled) < offsetof(struct hd_thread, special) + 8, "one load");
#define HD_THREAD_CLEARED offsetof(struct hd_thread, spin.guard.place)

/* Whether pthread_cancel was called for the thread of that number. It counts as memory of the program: a loop may wait for
 * it, and cancellation points are scheduling points once it is visible. */
extern uint64_t hd__cancel_word[HD_MAX_THREADS];

#endif

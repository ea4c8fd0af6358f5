/* thread.h: a tested thread. */
#ifndef HD_RUNTIME_THREAD_H
#define HD_RUNTIME_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "model/op.h"
#include "runtime/core/arch.h"
#include "runtime/core/ident.h"
#include "runtime/core/spin.h"

struct hd_io;
struct hd_obj;
struct hd_team;
struct hd_tls_dtor;

/* One entry of a call stack, kept by the compilers' function hooks. */
struct hd_call {
  uint64_t pc; /* return address into the caller */
  uint64_t sp; /* stack pointer inside the callee; entries above it with a smaller one are dead (longjmp) */
};
#define HD_CALL_DEPTH 4096 /* deeper calls are counted, not recorded */

enum hd_tstate {
  HD_T_READY,   /* its pending operation is enabled */
  HD_T_BLOCKED, /* its pending operation is disabled */
  HD_T_DONE,
  HD_T_STOPPED, /* it failed in a way that the program does not survive */
};

struct hd_thread {
  struct hd_ctx ctx;
  struct hd_op op;      /* pending operation */
  uint64_t tag;         /* segment of the thread, as it stands in shadow words */
  struct hd_call *call; /* top of its call stack, while it is not running */
  struct hd_call *calls;
  uint16_t id, parent, nth, children;
  unsigned heap_slot;
  uint8_t state;
  char name[16]; /* that the program gave it */
  int policy, priority;
  unsigned long *cpus; /* it was told to run on; NULL: any */
  bool joined, detached, exiting;
  bool cancel_asked, cancel_off; /* it was cancelled; it does not want to know (pthread_setcancelstate) */
  bool cancel_point;             /* its pending operation is one at which it may be cancelled */
  bool cancel_now;               /* it was, there */
  struct hd_op cancel_op;        /* what it would have done instead */
  int cancel_type;
  uint64_t sig_mask, sig_pending, sig_waits; /* bit per signal, from 1 (wrap/signal.c) */
  unsigned sig_ran;                          /* handlers that it ran */
  struct hd_vc sig_vc;                       /* what those who sent them had done */
  uint8_t terminating;             /* std::terminate was called; 2: and the exception asked what() */
  bool barrier_serial;             /* the special one of the barrier it leaves */
  struct hd_thread *barrier_round; /* those it lets go when it leaves, itself among them */
  bool timed, timed_out;
  uint64_t deadline;           /* virtual nanoseconds, while `timed` */
  struct hd_thread *next_pend; /* others that want the same object */
  struct hd_obj *wait;         /* object it is queued at */
  struct hd_obj *wait2;        /* mutex to take again after a wait */
  struct hd_vc vc;
  struct hd_vc fence_rel; /* clock at the last release fence */
  struct hd_vc fence_acq; /* clocks seen by relaxed loads, for the next acquire fence */
  struct hd_ident *ident; /* NULL for the first thread */
  void *(*start)(void *);
  void *arg, *ret;
  void *cleanup; /* innermost C cleanup buffer (wrap/cleanup.c) */
  struct hd_tls_dtor *tls_dtors;
  struct hd_thread *joiner; /* who waits for its end */
  uint32_t born;            /* its first segment */
  uint32_t joined_at;       /* segments before this one were there when it was joined; 0: it was not */
  uint16_t joined_by;
  uint32_t nframes_lost;
  uint64_t create_site;  /* detail: call stack of its creation */
  int ignore;            /* nesting of ignore regions */
  uint64_t clock_read;   /* last time it saw */
  uint32_t futex_bits;   /* what the futex wait it is in listens to */
  unsigned early;        /* waits that ended before their time (--timeouts=any) */
  struct hd_obj *robust; /* robust mutexes that it has */
  uint32_t randoms;      /* times it asked the kernel for random numbers */
  uint64_t stack_limit;
  struct hd_spin spin;
  void *syscall;        /* the context of the system call it is in, if that is an operation (sysguard.c) */
  struct hd_io *io;     /* its pending operation is one on descriptors (io.c) */
  bool forks;           /* its next system call is a fork for which it was picked */
  uint32_t channels;    /* pipes, sockets and the like that it has made */
  unsigned section;     /* nesting of atomic sections (section.c) */
  bool spinning;        /* its pending operation is a SPINWAIT */
  bool foreign;         /* its code is a library's that was not built for us: what orders it is not known */
  struct hd_team *team; /* of OpenMP, that it is a member of (wrap/openmp.c) ... */
  unsigned team_phase;  /* ... and how many of its barriers are behind it */
  unsigned unseen;      /* atomic and volatile accesses in a row that were no scheduling points */
};

#endif

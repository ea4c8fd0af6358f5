/* rt.h: the runtime inside the tested process, private to this folder.
 *
 * Reading order: arch.h (switching), ident.c (borrowed threads), sched.c (who goes next), shadow.c (who
 * touched what), heap.c, snapshot.c (putting memory back), drive.c (the loop over executions), then the
 * wrappers, one wrap_*.c per family.
 *
 * Rules of this folder
 *  1. One kernel thread runs everything, so nothing here needs a lock or an atomic operation.
 *  2. No malloc and no stdio of the process we live in; no printing at all: findings and errors are
 *     recorded in the shared file and the supervisor speaks.
 *  3. The runtime's own memory is never put back by a restart; the program's always is.
 *  4. While hot.active is 0 the process is an ordinary one: every wrapper goes straight to the original. */
#ifndef HD_RT_H
#define HD_RT_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>

#include "abi/abi.h"
#include "explore/explore.h"
#include "model/model.h"
#include "runtime/core/arch.h"

#define HD_EXPORT __attribute__((visibility("default")))
/* The function has that name for the dynamic linker only ("name@version"; versions.map lists the versions). */
#define HD_STANDS_FOR(function, name_at_version) __asm__(".symver " #function ", " name_at_version ", remove")
#define HD_LIKELY(x) __builtin_expect(!!(x), 1)
#define HD_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define HD_CALLER ((uint64_t)__builtin_return_address(0))
#define HD_BUG_ON(c) (HD_UNLIKELY(c) ? hd__bug(#c, __FILE__, __LINE__) : (void)0)
#define HD_PAGE 4096ull

/* ---- borrowed thread identities (ident.c) ---- */

/* A real thread that sleeps forever; a tested thread runs on its stack with its thread pointer. */
struct hd_ident {
  uint64_t tp;     /* thread pointer, which is also its pthread_t */
  char *stack_lo;  /* lowest usable address */
  char *stack_top; /* where a fiber's stack starts */
  char *frame;     /* frames of its start-up code, then TLS and the thread control block, up to ... */
  char *stack_hi;  /* ... here */
  size_t guard;
  size_t want_size; /* the stack size it was asked for, 0 = default */
  uint64_t limit;   /* below this address lies room for our hooks, not for the program */
  char *image;      /* copy of [frame, stack_hi) as it was when the thread was new */
  uint64_t *dtv;    /* the same of libc's table of thread-local blocks, from its size on */
  uint64_t dtv_words;
  struct hd_ident *next; /* free list */
  bool used;             /* since memory was last put back */
  bool quiet;            /* the kernel does not write into it by itself */
};

/* Makes sure there are `n` idle identities with that stack size. pre: between executions.
 * Returns 0, or -1 when the system has no memory or threads left. */
int hd__ident_grow(size_t stack_size, unsigned n);
/* Returns an identity as good as new, or NULL when the pool has none of that size. */
struct hd_ident *hd__ident_take(size_t stack_size);
/* The stack of each, with its control block and thread-local storage, and its number. */
void hd__ident_each_stack(void (*f)(char *lo, char *hi, unsigned number));
/* The pages of each with its control block and thread-local storage. */
void hd__ident_each_block(void (*f)(char *lo, char *hi));
/* Makes those dirty that the kernel may write to. */
void hd__ident_touch(void);
void hd__ident_give(struct hd_ident *id);
/* All identities are idle again (an execution was given up). */
void hd__ident_reset(void);
unsigned hd__ident_count(size_t stack_size);
/* The end of the identity's stack that addr lies in, 0 if in none. */
uint64_t hd__ident_end(uint64_t addr);

/* ---- call stacks as the instrumentation tells them ---- */

struct hd_frame {
  uint64_t pc; /* return address into the caller */
  uint64_t sp; /* stack pointer inside the callee; smaller ones above it are dead (longjmp) */
};
#define HD_FRAMES 4096 /* deeper calls are not recorded, only counted */

/* ---- tested threads ---- */

struct hd_io;

enum hd_tstate {
  HD_T_READY,   /* its pending operation is enabled */
  HD_T_BLOCKED, /* its pending operation is not */
  HD_T_DONE,
  HD_T_STOPPED, /* goes no further: it failed in a way the program does not survive */
};

struct hd_obj;

/* A loop that waits by reading (spin.c). */
#define HD_SPIN_READS 8
struct hd_spin_read {
  uint64_t addr, value;
  uint32_t size;
};
struct hd_spin {
  uint64_t pc, addr;     /* where the round began */
  uint64_t state;        /* registers and stack then */
  uint64_t writes;       /* of the thread so far, to anything but its own stack */
  uint64_t round_writes; /* at the beginning of the round */
  unsigned rounds;
  unsigned events; /* of the thread in this round */
  unsigned misses; /* plain reads elsewhere since */
  unsigned nread;  /* more than HD_SPIN_READS: too many to watch */
  bool armed;      /* reads are being collected, or waited for */
  bool again;      /* this round is the one before once more, unseen (invariant 5) */
  bool on;         /* one of the values has changed since */
  uint32_t enabler, disabler, enabler_before; /* as in struct hd_op */
  struct hd_spin_read read[HD_SPIN_READS];
};

struct hd_thread {
  struct hd_ctx ctx;
  struct hd_op op;        /* pending operation */
  uint64_t tag;           /* segment of the thread, as it stands in shadow words */
  struct hd_frame *frame; /* top of its call stack, while it is not running */
  struct hd_frame *frames;
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

/* ---- objects: locks and the like, by address, for one execution ---- */

/* One of several threads that have an object, such as the readers of a read-write lock. */
struct hd_holder {
  uint16_t thread;
  uint32_t count; /* how often it has it; 0: not any more */
  uint64_t site;
  struct hd_holder *next;
};

struct hd_obj {
  uint64_t addr;
  uint32_t epoch; /* execution it belongs to; others are empty */
  uint8_t kind;   /* enum hd_obj_kind */
  uint16_t owner; /* thread number, HD_NOBODY */
  uint32_t count;
  struct hd_thread *pend;  /* threads whose pending operation takes it */
  struct hd_thread *queue; /* condition waiters, first to last */
  struct hd_thread *queue_last;
  uint32_t nqueue;
  struct hd_vc vc;  /* what its last release published */
  uint64_t site;    /* where it was taken: program counter, or call stack when detail is on */
  uint32_t signals; /* condition: signals that found nobody waiting */
  struct hd_holder *holders;
  struct hd_obj *next_robust; /* of the same owner */
  struct hd_vc before;        /* read-write lock: what readers published; barrier: what the last round did */
};
#define HD_NOBODY 0xffff

/* ---- the few words every hook needs ---- */

struct hd_hot {
  uint64_t sp, regs[6];   /* of the program, where it entered a hook of arch.h last; known to the assembler */
  uint64_t tag;           /* of the running thread; 0 while not active */
  struct hd_frame *frame; /* top of the running thread's call stack */
  struct hd_frame *frame_end;
  uint64_t stack_limit; /* the running thread's stack pointer must stay above */
  uint8_t active;       /* controlled run, and a tested thread is running */
  uint8_t detail;       /* keep whole call stacks */
  uint8_t cover;        /* what this execution exercises is noted (cover.c) */
  uint8_t log;          /* keep every event; 2: and every access to memory */
  uint8_t selector;     /* system-call interception, see sysguard.c */
  uint64_t syscall_pc;  /* where the program made the last one that was intercepted */
};
extern struct hd_hot hot;
/* Two of its bytes at once: whether this one or the next is set. */
typedef uint16_t __attribute__((may_alias, aligned(1))) hd_two_bytes;
static inline bool hd__either(const uint8_t *p) { return *(const hd_two_bytes *)p != 0; }
#define HD_DETAIL_OR_COVER HD_UNLIKELY(hd__either(&hot.detail))
#define HD_COVER_OR_LOG HD_UNLIKELY(hd__either(&hot.cover))
_Static_assert(offsetof(struct hd_hot, cover) == offsetof(struct hd_hot, detail) + 1 &&
                   offsetof(struct hd_hot, log) == offsetof(struct hd_hot, cover) + 1,
               "they are next to each other");

struct hd_rt {
  struct hd_ctl *ctl;
  struct hd_config *config;
  struct hd_status *status;
  hd_step *path; /* of the execution under way */
  uint64_t path_len;
  uint64_t cover_skip;      /* executions that are not looked at before the next one that is (cover.c) */
  uint64_t *visible;        /* log of visible granules */
  struct hd_shared *shared; /* with the other workers of the search */
  uint64_t *shared_visible;
  const struct hd_strategy *strategy;
  struct hd_search search;
  struct hd_arena arena; /* for one execution */
  struct hd_thread *cur;
  struct hd_thread *thread; /* [HD_MAX_THREADS] */
  const struct hd_op *op[HD_MAX_THREADS];
  unsigned nthreads; /* created in this execution */
  unsigned nalive;
  unsigned nstopped;         /* of those: HD_T_STOPPED */
  unsigned nunjoined;        /* created and not known to be over by everybody: detached ones count for ever */
  unsigned choice, nchoices; /* of the operation under way */
  bool untold;               /* a thread was picked, and the event of its operation has not come yet */
  struct hd_set enabled;
  unsigned nenabled;
  struct hd_thread *section; /* who is in an atomic section: nobody else runs */
  struct hd_vc section_vc;   /* what the sections so far published */
  unsigned nspinning;        /* threads that wait */
  unsigned watched;          /* plain reads to come that are looked at as those of a loop that waits */
  unsigned narmed;           /* threads that may be about to */
  unsigned ntimed;
  unsigned nalarms; /* timers that send signals, and have been used in this execution */
  unsigned nio;     /* threads whose pending operation is one on descriptors */
  uint32_t epoch;   /* number of executions begun in this process */
  uint32_t seg_next, seg_base;
  uint64_t now; /* virtual time, nanoseconds */
  uint64_t event_hash;
  uint64_t events;
  struct hd_ctx sched; /* where executions are started from */
  uint64_t main_tp;
  int end_reason; /* enum hd_end */
  size_t grow_stack;
  int exit_status;
  bool in_exit;  /* exit handlers are running */
  bool preload;  /* the program was not built for us: what its memory accesses order is not known */
  bool callback; /* executions are calls of a function (hd_check), not runs of main */
  bool child;    /* this is a process that the program has forked: it runs natively */
};
extern struct hd_rt rt;

enum hd_end {
  HD_END_EXIT,    /* the program ended */
  HD_END_FINDING, /* it cannot go on */
  HD_END_STUCK,   /* deadlock */
  HD_END_GROW,    /* not enough identities: try again */
  HD_END_BLOCKED, /* redundant */
  HD_END_CUT,     /* too long */
  HD_END_DIVERGED,
  HD_END_OVER,  /* nothing was begun: nothing is left */
  HD_END_LATER, /* nothing was begun: other workers are at what is left */
};

/* ---- sched.c ---- */

int hd__sched_init(void);
/* A new execution: no threads, no clocks. */
void hd__sched_begin(void);
/* Runs the execution; returns when it is over. pre: thread 0 exists. */
void hd__run(void);
struct hd_thread *hd__thread_new(struct hd_thread *parent);
/* The number that a thread created now would get. */
unsigned hd__thread_number(const struct hd_thread *parent);
/* The running thread is about to do this operation, which is enabled: somebody (perhaps another thread)
 * goes first; returns when the operation may be executed. */
void hd__point(unsigned kind, uint64_t object, uint32_t size, uint64_t pc);
/* One decision: the next thread runs. Returns when the caller is picked again. */
void hd__step(void);
void hd__enable(struct hd_thread *t);
void hd__disable(struct hd_thread *t);
/* A choice with n outcomes, part of the operation whose event follows. */
unsigned hd__choose(unsigned n);
/* What a strategy sees now. */
struct hd_point hd__here(void);
/* The running thread has finished; does not return. */
_Noreturn void hd__thread_gone(void);
/* The running thread goes no further; the others do, to the end of the execution, which has no deadlock, leak or
 * exit status of its own then. Nothing can depend on it any more, so what else is found happens without it too. */
_Noreturn void hd__thread_stop(void);
/* Ends the execution; does not return to the program. */
_Noreturn void hd__end(int reason);
void hd__release(struct hd_vc *into);       /* publish the running thread's clock */
void hd__acquire(const struct hd_vc *from); /* learn */
void hd__new_segment(struct hd_thread *t);
/* Whether that segment of this execution happened before the running thread's next action. */
struct hd_segment {
  uint32_t clock;
  uint32_t thread;
};
extern struct hd_segment *hd__segments; /* of this execution, from rt.seg_base */
static inline unsigned hd__segment_thread(uint32_t seg) { return hd__segments[seg - rt.seg_base].thread; }
static inline bool hd__happened_before(uint32_t seg) {
  const struct hd_segment *s = &hd__segments[seg - rt.seg_base];
  return hd_vc_get(&rt.cur->vc, s->thread) >= s->clock;
}
/* The pending operation of the running thread was executed; HD_EV_* flags. hd__point does this itself. */
void hd__event(unsigned flags);
/* hd__point without the event, for operations whose outcome is known only afterwards. */
void hd__point_open(unsigned kind, uint64_t object, uint32_t size, uint64_t pc);
/* Leaves the wait it is in because its time has come (timed operations). */
void hd__time_out(struct hd_thread *t);

/* ---- debug.c ---- */

enum hd_debug_reason { HD_DEBUG_POINT = 1, HD_DEBUG_FINDING };
/* A scheduling point, seen by the thread that goes on from there. pre: hot.log. */
void hd__debug_point(void);
/* A finding is on record. pre: hot.log. */
void hd__debug_finding(struct hd_finding_rec *f);
static inline void hd__debug_look(void) {
  if (HD_UNLIKELY(hot.log)) hd__debug_point();
}

/* ---- section.c ---- */

/* Before a decision, while somebody is in a section: it goes on, or leaves the section because it has to wait.
 * Returns whether it goes on. */
bool hd__section_goes_on(void);
/* The thread was picked outside its section: it enters. */
void hd__section_enter(struct hd_thread *t);
/* The running thread is in no section any more. */
void hd__section_leave(void);
void hd__atomic_begin(uint64_t pc);
void hd__atomic_end(uint64_t pc);

/* ---- api.c ---- */

/* An operation of its own whose outcome is one of 0 .. n-1. */
unsigned hd__choose_here(unsigned n, uint64_t pc);
_Noreturn void hd__assume_failed(void);
void hd__notes_begin(void);
/* What was noted in this execution so far becomes part of the finding. */
void hd__notes_take(struct hd_finding_rec *f);

/* ---- record.c: what an execution did; all of it pre: hot.log, except begin ---- */

void hd__record_begin(void);
/* The running thread executes its pending operation. */
void hd__record_op(const struct hd_op *op, unsigned flags);
/* It does what is no operation of the schedule: an access to memory (HD_EV_PLAIN), or a note. */
void hd__record_access(unsigned kind, uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);
/* Whether there is still room for accesses to memory that one thread alone may have touched. */
bool hd__record_room(void);
/* The access recorded last was none: others come first after all. */
void hd__record_undo(void);
/* The hook that recorded a write returns: from now on the write is done. */
void hd__record_done(void);
/* What the running thread has written is there now, and may not be any more when others have run. */
void hd__record_settle(void);
/* The access to addr has failed. */
void hd__record_fault(uint64_t addr);

/* ---- cover.c: what the executions of the search exercised ---- */

/* An execution begins that may be looked at. */
void hd__cover_look(void);
/* The last one was. */
void hd__cover_looked(void);
/* In fork mode: a child has run an execution. */
void hd__cover_forked(void);
/* The search is over, for this process. */
void hd__cover_end(void);
static inline void hd__cover_begin(void) {
  if (HD_UNLIKELY(hot.cover)) hd__cover_looked();
  if (HD_LIKELY(rt.cover_skip))
    rt.cover_skip--;
  else
    hd__cover_look();
}
/* An operation of the schedule is executed. pre: hot.cover. */
void hd__cover_event(const struct hd_op *op);
/* The running thread's access at pc conflicts with an earlier one, of another thread in segment `seg` at a place that
 * the shadow memory has as `site`. pre: hot.cover. */
void hd__cover_access(uint32_t seg, uint64_t site, unsigned first_op, uint64_t pc, unsigned op,
                      uint64_t object);

/* ---- objects.c ---- */

struct hd_obj *hd__obj(uint64_t addr, unsigned kind);
struct hd_obj *hd__obj_find(uint64_t addr);
void hd__pend(struct hd_obj *o, struct hd_thread *t);
void hd__unpend(struct hd_obj *o, struct hd_thread *t);
void hd__enable_pending(struct hd_obj *o);
void hd__disable_pending(struct hd_obj *o, struct hd_thread *except);

/* The queue of those who wait to be woken; next_pend links it, so a thread is in one queue or list. */
void hd__enqueue(struct hd_obj *o, struct hd_thread *t);
void hd__dequeue(struct hd_obj *o, struct hd_thread *t);
/* The k-th waiter by thread number: in what order they came does not matter to the choice. */
struct hd_thread *hd__waiter(const struct hd_obj *o, unsigned k);

/* When a timed operation gives up. */
struct hd_until {
  clockid_t clock;
  const struct timespec *at;
};
static inline bool hd__bad_time(const struct timespec *at) {
  return at->tv_nsec < 0 || at->tv_nsec >= 1000000000;
}
/* The running thread wants to do this to o, and can now or not; it is at o until it may (whoever makes that
 * possible enables it), or until its time is over, if it has one. Returns true when it is. The event follows. */
bool hd__want(struct hd_obj *o, unsigned kind, bool can, const struct hd_until *until, uint64_t pc);
/* The same at a cancellation point. */
bool hd__want_cancel(struct hd_obj *o, unsigned kind, bool can, const struct hd_until *until, uint64_t pc);
/* A misuse of a lock: where, and where those who have it took it. */
void hd__report_lock(unsigned kind, const struct hd_obj *o, unsigned op, uint64_t pc, const char *text);
/* Reports a use of freed memory, or of an object that says it was destroyed. */
void hd__touch_object(const void *object, size_t size, bool destroyed, const char *text, uint64_t pc);

/* ---- shadow.c ---- */

#define HD_A_WRITE 1u
#define HD_A_ATOMIC 2u
#define HD_A_VOLATILE 4u
#define HD_A_FREE 8u
#define HD_A_RMW 16u
#define HD_A_CAS 32u

struct hd_cell {
  uint64_t w, r; /* last write and last read: segment << 32 | flags << 8 | byte mask */
  uint64_t wpc,
      rpc; /* where; of wpc, bit 63: the granule is visible, bit 61: it is watched, bit 62: rpc is seg_base << 32 | list, and
                        w and r only tell the fast path what the list has */
};
#define HD_CELL_LIST (1ull << 62)
#define HD_CELL_WATCHED \
  (1ull << 61) /* of wpc: every access is recorded, so that the fast path must not hit */
#define HD_CELL_ATOMIC (1ull << 9)
#define HD_CELL_VISIBLE (1ull << 63)
#define HD_PC_MASK ((1ull << 48) - 1)

#define HD_SHADOW_BASE 0x300000000000ull
#define HD_SHADOW_ADDR_MASK ((1ull << 40) - 1)
static inline struct hd_cell *hd__cell(uint64_t addr) {
  /* The low 40 bits without the last 3, times 4; written with shifts, which need no long constants. */
  return (struct hd_cell *)(HD_SHADOW_BASE + ((addr << 24 >> 27) << 5));
}

int hd__shadow_init(void);
/* A new execution: everything recorded before is stale. */
void hd__shadow_begin(void);
/* Takes over entries [from, to) of the visible log. */
void hd__shadow_learn(uint64_t from, uint64_t to);
void hd__access_slow(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);
struct hd_cas {
  const void *at, *expected;
  unsigned size;
};
bool hd__cas_wins(const struct hd_cas *cas);
/* Notes what an atomic operation would find now. */
void hd__op_find(struct hd_op *op);
/* The same for a compare-and-swap, which is a write only if it is going to succeed. */
void hd__access_cas(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc, const struct hd_cas *cas);
/* The block [addr, addr+size) is freed: a write to every byte of it that anybody has touched. */
void hd__shadow_free(uint64_t addr, uint64_t size, uint64_t pc);
/* The block [addr, addr+size) is new: forget who touched its addresses before. */
void hd__shadow_forget(uint64_t addr, uint64_t size);
/* The same of memory that may be large and hardly touched. */
void hd__shadow_forget_large(uint64_t addr, uint64_t size);
/* Whether an atomic or volatile access there is a scheduling point. */
bool hd__shadow_visible(uint64_t addr, uint64_t size);

/* Makes the memory visible, if it is not. */
void hd__shadow_show(uint64_t addr, uint64_t size);
/* Appends to the log of what was learned: a granule, or the place of a spin loop (HD_VISIBLE_SPIN | pc). */
void hd__log_visible(uint64_t entry);
#define HD_VISIBLE_SPIN (1ull << 62)

/* ---- spin.c ---- */

/* hooks.c: a plain read of visible memory, or while a thread is watched; hd_arch_watched_read notes the caller's
 * registers and goes there. */
void hd__watched_read(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);
void hd_arch_watched_read(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);
/* The thread that runs has used a processor for a while without anything to show for it. */
void hd__spin_tick(uint64_t pc, uint64_t sp);
void hd__spin_clock(void); /* this process will be told so */
bool hd__spin_check_plain(uint64_t a, uint64_t pc);
bool hd__spin_check(uint64_t a, uint64_t pc); /* true: it is no scheduling point this time */
bool hd__spin_idles(void);                    /* a yield of the running thread is part of a loop that waits */
void hd__spin_read(uint64_t a, uint32_t size);
void hd__spin_wrote(uint64_t a);
void hd__spin_stop(struct hd_thread *t); /* it does not read any more */
void hd__spin_update(void);
bool hd__spin_outside(void); /* waits for another process; false: none could end it */
void hd__spin_learn(uint64_t pc);
bool hd__spin_known(uint64_t pc);
void hd__spin_relearn(void); /* from the log, which has become shorter */
void hd__report_livelock(void);

/* ---- heap.c ---- */

#define HD_HEAP_BASE 0x201000000000ull
#define HD_HEAP_END 0x20f000000000ull
static inline bool hd__heap_owns(uint64_t a) { return a - HD_HEAP_BASE < HD_HEAP_END - HD_HEAP_BASE; }

struct hd_block {
  uint64_t base, size; /* what the program sees */
  uint16_t thread;
  bool live;
  uint32_t alloc_site, free_site;
};

int hd__heap_init(void);
/* Where a thread allocates: fixed by its place in the tree of creations, not by when it was created. */
unsigned hd__heap_slot(const struct hd_thread *t, const struct hd_thread *parent);
void *hd__heap_alloc(size_t size, size_t align, uint64_t pc);
void hd__heap_free(void *p, uint64_t pc);
size_t hd__heap_size(void *p);
extern bool hd__heap_fresh; /* the block allocated last is all zero */
/* Reports an access to [addr, addr+size) that is not inside a live block. */
void hd__heap_check_slow(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);
/* The live block that was last looked up; freeing, and a new execution, empty it. */
extern struct hd_live { uint64_t lo, hi; } hd__live;
static inline void hd__heap_check(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc) {
  if (addr < hd__live.lo || addr + size > hd__live.hi) hd__heap_check_slow(addr, size, flags, pc);
}
bool hd__heap_block(uint64_t addr, struct hd_block *b);
void hd__heap_mark(void); /* the state to come back to */
void hd__heap_restore(void);
/* Calls f for every stretch of heap memory in use. */
void hd__heap_each_range(void (*f)(char *lo, char *hi));
/* Calls f for every block, live or freed, allocated since hd__heap_mark. */
void hd__heap_each_block(void (*f)(const struct hd_block *b));
size_t hd__heap_marked_blocks(void);
/* Memory of the runtime's own that real libc functions asked for. */
void *hd__private_alloc(size_t size, size_t align);
bool hd__private_owns(uint64_t a);
extern int hd__private_depth; /* > 0: malloc serves the runtime, not the program */

/* Findings: a free() that is none, an access to what is no live block. */
void hd__bad_free(unsigned kind, uint64_t p, uint64_t pc);
void hd__bad_access(unsigned kind, uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);
extern bool hd__heap_on; /* malloc serves from our heap */
void hd__heap_start(void);

/* ---- heap_before.c: blocks from before a call of hd_check ---- */

void hd__before_free(uint64_t p, uint64_t size, uint64_t pc);
extern unsigned hd__before_freed; /* how many have been freed */
/* Reports an access to a block that was freed. */
void hd__before_check_slow(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);
/* The freed block at `addr`, if there is one. */
bool hd__before_block(uint64_t addr, struct hd_block *b);
void hd__before_restore(void);

/* Whether an access is to memory that may be accessed, wherever it was allocated. */
static inline void hd__block_check(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc) {
  if (hd__heap_owns(addr))
    hd__heap_check(addr, size, flags, pc);
  else if (HD_UNLIKELY(hd__before_freed))
    hd__before_check_slow(addr, size, flags, pc);
}

/* ---- snapshot.c ---- */

/* Records all writable memory, and with `guard` write-protects it, so that it can be put back;
 * [stack_lo, stack_hi) is the part of the first thread's stack that is in use. */
int hd__snapshot_take(char *stack_lo, char *stack_hi, bool guard);
void hd__snapshot_restore(void);
/* A write fault at addr: returns true when it was one of ours and the write may be tried again. */
bool hd__snapshot_fault(uint64_t addr);
/* Makes [addr, addr+size) writable for the kernel (a system call is about to write there). */
void hd__snapshot_touch(uint64_t addr, uint64_t size);
/* Makes all memory writable again; nothing will be put back. pre: just restored. */
void hd__snapshot_unguard(void);
/* The protection of the page at addr as the kernel has it now, -1 if there is none. */
int hd__snapshot_prot(uint64_t addr);
/* Whether another process may have the memory at addr too. */
bool hd__snapshot_shared(uint64_t addr);
/* Pages in the range that were clean are read-only again. */
void hd__snapshot_reguard(uint64_t addr, uint64_t size);
/* Calls f for every recorded stretch of memory. */
void hd__snapshot_each_range(void (*f)(char *lo, char *hi));

/* ---- drive.c ---- */

/* Runs the search instead of main, and ends the process. */
/* ---- wrap/openmp.c ---- */

void hd__openmp_init(void);
void hd__openmp_begin(void);

/* Maps the control block and prepares the runtime for it. */
void hd__attach(void);
_Noreturn void hd__drive(int (*main_fn)(int, char **, char **), int argc, char **argv, char **envp);

/* Calls f for the first thread's stack from sp up. */
bool hd__first_stack_has(uint64_t addr);
uint64_t hd__first_stack_end(void);
void hd__scan_first_stack(char *sp, void (*f)(char *lo, char *hi));
bool hd__first_stack_overflow(uint64_t addr, uint64_t sp);

/* ---- finding.c ---- */

/* Call stacks kept for reports: 0 is none. Without detail a site is just a program counter. */
uint64_t hd__site_here(uint64_t pc);
void hd__sites_reset(void);

/* Begins a finding; NULL when it is ignored, known already, or not the one looked for.
 * The caller adds sites and calls hd__finding_done. */
struct hd_finding_rec *hd__finding(unsigned kind, uint64_t pc1, uint64_t pc2);
struct hd_site *hd__finding_site(struct hd_finding_rec *f, unsigned role, unsigned thread, unsigned op);
/* Program counters of the thread's calls, the innermost first, after `pc` unless that is 0; how many. */
unsigned hd__walk(const struct hd_thread *t, uint64_t pc, uint64_t *out, unsigned max);
void hd__site_stack(struct hd_site *s, struct hd_thread *t, uint64_t pc);
/* The stack of the running thread at a fault, from the registers in the signal frame. */
void hd__site_fault(struct hd_site *s, uint64_t pc, uint64_t sp);
void hd__site_stored(struct hd_site *s, uint64_t site);
/* One site for each thread that has the object, where it took it. */
void hd__site_holders(struct hd_finding_rec *f, const struct hd_obj *o);
void hd__site_block(struct hd_finding_rec *f, uint64_t addr);
/* Stores the finding with the schedule so far. Ends the execution, unless --all: then `fatal` stops the thread. */
void hd__finding_done(struct hd_finding_rec *f, bool fatal);
uint64_t hd__site_pc(uint64_t site);
/* The same with its callers; returns how many there are, at most `max`. */
unsigned hd__site_walk(uint64_t site, uint64_t *out, unsigned max);
void hd__report_simple(unsigned kind, uint64_t object, uint64_t pc, const char *text, bool fatal);
/* A finding of the running thread, here, with a place that names all callers; NULL: it is not wanted. */
struct hd_finding_rec *hd__finding_unwound(unsigned kind, unsigned op);
_Noreturn void hd__report_assertion(const char *text);
void hd__report_deadlock(void);
void hd__report_overflow(uint64_t pc);
void hd__report_leaks(void); /* leaks.c */
/* The search cannot go on: records why and ends it. */
_Noreturn void hd__fail(unsigned error, uint64_t pc, const char *text);
/* Where the running thread was last known to be, for calls that come from code without hooks. */
uint64_t hd__innermost(void);
/* Whether that is code of the program, or of a library of its own. */
/* A program counter in a form that is the same in every process, wherever the module was loaded. */
uint64_t hd__stable(uint64_t pc);
/* Whether a thread that begins there belongs to a library whose accesses and atomic operations are not seen. */
bool hd__foreign_start(uint64_t start, const void *arg);
/* Whether the address lies in the shared library of C++. */
bool hd__cxx_library(uint64_t addr);
bool hd__user_text(uint64_t pc);
/* The call in the program's own code that led to pc, found on the stack at sp. */
uint64_t hd__user_pc(uint64_t pc, uint64_t sp);
/* Whether a path names a library of the system rather than one of the user's. */
bool hd__system_path(const char *path);
_Noreturn void hd__unsupported(const char *function, uint64_t pc);
_Noreturn void hd__bug(const char *cond, const char *file, int line);
void hd__modules_record(void);
/* Writes down where everything is that has a name in every process (model/layout.h). */
void hd__layout_publish(void);

/* ---- signals.c, sysguard.c ---- */

void hd__signals_init(void);
/* The signals that the first thread masks at its beginning, bit per signal, from 1. */
uint64_t hd__first_mask(void);
void hd__signal_install(int sig, void (*fn)(int, siginfo_t *, void *));
/* What it does to a process that says nothing about it. */
void hd__signal_default(int sig);
/* The program sends itself a signal: a finding if that would kill it. */
void hd__self_signal(int sig, uint64_t pc);
/* The running thread handles what was sent to it. */
void hd__signals_deliver(void);
/* Sends a signal to a thread; returns 0 or an errno. */
int hd__signal_send(struct hd_thread *t, int sig, uint64_t pc);
static inline void hd__take_signals(void) {
  if (HD_UNLIKELY(rt.cur->sig_pending & ~rt.cur->sig_mask)) hd__signals_deliver();
}
/* Who takes a signal to the whole process: a thread that waits for it, this one, another that does not mask it. */
struct hd_thread *hd__signal_taker(int sig);
/* A timer sends it, while nobody can run. */
void hd__signal_arrive(struct hd_thread *t, int sig);
bool hd__signal_handled(int sig); /* by a handler of the program's */
/* pause (mask: NULL), sigsuspend. */
long hd__signal_suspend(const sigset_t *mask, uint64_t pc);
/* Nobody can run, but a handler would have to while its thread waits: the search cannot go on. */
void hd__signals_stuck(void);
void hd__signals_begin(void);          /* the program's handlers are those of the start again */
bool hd__on_signal_stack(uint64_t sp); /* ours, on which handlers run */
void hd__sysguard_init(void);
/* The running thread was cancelled in a system call: it does not return from it. */
_Noreturn void hd__syscall_cancelled(void);
void hd__vdso_init(void);
void hd__signals_native(void); /* the program's handlers are the kernel's again */
void hd__children_begin(void); /* none is left */
void hd__sysguard_begin(void); /* undo what the last execution left in the kernel */
void hd__sysguard_enable(void);

/* ---- io.c, io_wait.c: descriptors; io.h has the rest ---- */

#define HD_FOREVER UINT64_MAX
/* Nobody can run: waits for what is outside the process, not longer than `limit` (virtual nanoseconds, or
 * HD_FOREVER). Returns true when somebody can run now. */
bool hd__io_idle(uint64_t limit);
/* The state of the world has changed by itself: finds out who can go on. */
void hd__io_look(void);
/* The earliest virtual time at which a timer descriptor fires, HD_FOREVER if none would help anybody. */
uint64_t hd__timer_next(void);
void hd__timer_fire(uint64_t now);
int hd__io_fd(const struct hd_thread *t); /* the descriptor its pending operation is about, -1 */

/* ---- timers.c ---- */

void hd__alarms_begin(void);
/* The earliest virtual time at which a timer would send a signal that makes a difference, HD_FOREVER if none. */
uint64_t hd__alarm_next(void);
void hd__alarm_fire(void);
/* What a handler is told of a signal, if a timer sent it. */
void hd__alarm_info(siginfo_t *info);

/* ---- files.c ---- */

void hd__files_init(void);
void hd__files_begin(void); /* before an execution */
void hd__files_undo(void);  /* after it: puts back what it changed */

/* ---- util.c ---- */

void *hd__map(size_t size);       /* zeroed memory of our own, NULL on failure */
uint64_t hd__map_end(uint64_t a); /* the end of the piece of such memory that a lies in, 0 if in none */
void hd__copy(void *to, const void *from, size_t n);
void hd__zero(void *to, size_t n);
_Noreturn void hd__die(int code); /* ends the process at once */
/* The loaded segment that addr lies in. Returns false if there is none. pre: not inside an execution. */
bool hd__segment_of(uint64_t addr, uint64_t *lo, uint64_t *hi);
size_t hd__strlen(const char *s);
bool hd__streq(const char *a, const char *b);
bool hd__starts(const char *s, const char *with);
bool hd__starts_n(const char *s, const char *with, size_t n);
/* Calls f for the names that a module wants from others, until it returns true; whether it did. */
struct dl_phdr_info;
bool hd__module_names(const struct dl_phdr_info *info, bool (*f)(const char *name, void *arg), void *arg);
/* The same for the program and its own libraries. */
void hd__each_needed_name(bool (*f)(const char *name, void *arg), void *arg);
/* Appends to a bounded string: %s %d %u %x (64-bit arguments) only. Returns the new length. */
size_t hd__format(char *buf, size_t cap, const char *fmt, ...);

/* ---- one of several workers (worker.c) ---- */

/* This process begins, perhaps after one that was killed. */
void hd__worker_start(void);
/* Between two executions: tells what this worker has learned, and learns what others have. */
void hd__worker_sync(void);
/* Waits while the supervisor wants nothing to change. */
void hd__worker_pause(void);
/* Nothing to do for a moment. */
void hd__worker_nap(void);
bool hd__worker_later(void);
/* The number of the execution to come; 0 when as many as asked for have begun. */
uint64_t hd__worker_next(void);

/* ---- between the wrappers ---- */

bool hd__mutex_owned(const pthread_mutex_t *m); /* by the running thread */
bool hd__mutex_free(uint64_t m);
void hd__mutex_leave(pthread_mutex_t *m);
int hd__mutex_return(pthread_mutex_t *m, uint64_t pc);
void hd__mutex_not_owned(pthread_mutex_t *m, uint64_t pc);
/* The functions of the same name, called from pc. */
int hd__mutex_lock(pthread_mutex_t *m, uint64_t pc);
int hd__mutex_lock_until(pthread_mutex_t *m, clockid_t clock, const struct timespec *at, uint64_t pc);
int hd__mutex_trylock(pthread_mutex_t *m, uint64_t pc);
int hd__mutex_unlock(pthread_mutex_t *m, uint64_t pc);
int hd__mutex_destroy(pthread_mutex_t *m, uint64_t pc);
int hd__cond_wait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *at,
                  uint64_t pc); /* at: NULL for a wait without end */
int hd__cond_signal(pthread_cond_t *c, uint64_t pc);
int hd__cond_broadcast(pthread_cond_t *c, uint64_t pc);
int hd__cond_destroy(pthread_cond_t *c, uint64_t pc);
int hd__once(pthread_once_t *once, void (*fn)(void), uint64_t pc);
int hd__thread_create(pthread_t *out, const pthread_attr_t *attr, void *(*fn)(void *), void *arg,
                      uint64_t pc);
int hd__thread_join(pthread_t th, void **ret, uint64_t pc);
int hd__thread_detach(pthread_t th, uint64_t pc);
/* The running thread is at a cancellation point: returns if it was not cancelled. */
void hd__test_cancel(void);
/* hd__step where the thread may be cancelled. Returns true when it was: the caller puts things in order and calls
 * hd__cancel. */
bool hd__step_cancel(void);
_Noreturn void hd__cancel(void);
/* hd__point_open where it may be cancelled. */
void hd__point_cancel(unsigned kind, uint64_t object, uint64_t pc);
/* The same without anything to put in order. */
static inline void hd__step_or_cancel(void) {
  if (HD_UNLIKELY(hd__step_cancel())) hd__cancel();
}
/* The thread of that name, NULL if there is none. */
struct hd_thread *hd__thread_find(pthread_t th);
/* The running thread ends: the robust mutexes that it has are free, and inconsistent. */
void hd__mutexes_abandon(void);
/* Whether a timed wait of the running thread may end before its time. */
bool hd__any_time(void);
/* The wait ends now, and early if it is blocked: the thread believes its time has come. Returns `blocked`. */
bool hd__early(bool blocked, clockid_t clock, const struct timespec *at);
void hd__timer_set(struct hd_thread *t, clockid_t clock, const struct timespec *at);
void hd__timer_in(struct hd_thread *t, uint64_t ns);
void hd__timer_clear(struct hd_thread *t);
uint64_t hd__clock_zero(clockid_t clock); /* what the clock shows at virtual time 0 */
void hd__sleep(uint64_t ns, uint64_t pc);

_Noreturn void hd__program_exit(int status);
/* The program aborts: does not return if that is the end of a std::terminate (wrap/exception.c). */
void hd__terminated(uint64_t pc);
void hd__terminate_mark(void);
void hd__terminate_begin(void);
void hd__run_tls_dtors(struct hd_thread *t); /* of C++ thread_local objects */
_Noreturn void hd__thread_exit(void *ret);
/* Finds out whether leaving the program runs anything (destructors, atexit handlers). */
void hd__exit_mark(void);
void hd__exit_begin(void);
void hd__exit_register_last(void);
void hd__keys_mark(void);
_Noreturn void hd__exit_now(int status); /* as _exit */
void hd__keys_begin(void);

/* ---- the originals (real.c) ---- */

typedef void (*hd_handler)(void); /* of std::terminate */
#define HD_REAL(ret, name, args) extern ret(*real_##name) args;
#include "runtime/wrap/real.def"
#undef HD_REAL
void hd__real_init(void);

#endif

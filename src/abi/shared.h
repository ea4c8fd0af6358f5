/* shared.h: what the workers of one search share. Part of abi.h. */
#ifndef HD_SHARED_H
#define HD_SHARED_H

#include "abi/control.h"

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

/* An execution of a recorded tree: the steps that it has in common with the one before it, and in all. */
struct hd_branching {
  uint16_t common, steps;
};

/* With states: who has accessed half a granule beside other threads, in any execution of the search: a bit for each thread;
 * whether all accesses were atomic; and locks that were held at all of them (a lock set, as in Savage and others, "Eraser: A
 * Dynamic Data Race Detector for Multithreaded Programs", TOCS 1997). explore/accessed.c. */
#define HD_ACCESSED_LOCKS 3
#define HD_ACCESSED (1u << 22) /* at most */
enum hd_locks { HD_LOCKS_UNKNOWN, HD_LOCKS_LISTING, HD_LOCKS_LISTED, HD_LOCKS_NONE };
struct hd_accessed {
  uint64_t half; /* its address; 0: empty */
  uint32_t writers, readers;
  uint16_t plain;                   /* not all were atomic */
  uint16_t known;                   /* it is contended, and the search has been told to restart */
  uint32_t listed;                  /* enum hd_locks */
  uint64_t lock[HD_ACCESSED_LOCKS]; /* 0: none */
  uint64_t changed;                 /* shared.accesses at the last change */
};

/* Numbers of executions that nobody has begun: next + 1 to end. */
#define HD_SPANS 4096
struct hd_span {
  uint64_t next, end;
};

struct hd_shared {
  uint64_t magic;
  uint32_t lock;             /* number + 1 of the worker that holds it, 0: free */
  uint32_t pause;            /* set by the supervisor: wait between two executions */
  uint64_t next_execution;   /* number of the next execution to begin, less 1 */
  uint64_t not_begun;        /* numbers that were drawn when there was nothing to do */
  uint64_t spent;            /* a worker has left since there were no more numbers: its work is left undone */
  uint64_t forgive;          /* executions up to this one that did not end were stopped from outside */
  uint64_t epoch;            /* times the search has restarted because more operations proved visible */
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
  uint64_t
      branchings_max; /* the tree is recorded for the simulator: so many at HD_SEARCH_INBOX, at most; 0: not */
  uint64_t branchings;         /* of it */
  uint64_t bound_cut;          /* hd_shared_cut(): the bound kept the search from something */
  struct hd_estimate estimate; /* of the executions of a complete search */
  struct hd_state_counts state_counts;
  /* With states: memory that proved to be accessed by several threads, and written; and when the search, or the part of
   * `auto` that compares states, last restarted. */
  uint64_t contended, contended_seen;
  uint32_t nstacks; /* cluster: stacks of threads that another machine has made, as in struct hd_status */
  uint32_t unused;
  uint64_t stacks[HD_MAX_GROWN];
  uint64_t naccessed, accesses; /* entries of the table of accessed memory; changes of them */
  uint64_t by_states;           /* the part of `auto` that compares states has completed the search */
  uint64_t apart[2]; /* HD_REDUCE_TRY: what tells threads apart, as runtime/core/family.c numbers it */
  double
      at_least; /* executions that a systematic search has, those that are known to be left included; 0: unknown */
  uint32_t
      slot_of[HD_MAX_WORKERS]; /* the part of a systematic search each worker is at, plus 1; 0: its own */
  struct hd_redo redo[HD_MAX_WORKERS];
  uint64_t nspans; /* of a sampler: numbers below next_execution that are left; the last one is drawn from */
  struct hd_span span[HD_SPANS];
};

/* The bound under which the search is, and what `bound_cut` is when it has left something out under it: the number of
 * the search is in it, so that an execution of one that was restarted meanwhile changes nothing. */
static inline uint32_t hd_shared_bound(const struct hd_shared *s, const struct hd_config *c) {
  return c->bound_iterate ? s->bound : c->bound;
}
static inline uint64_t hd_shared_cut(const struct hd_shared *s, const struct hd_config *c) {
  return (s->epoch << 32 | hd_shared_bound(s, c)) + 1;
}

#endif

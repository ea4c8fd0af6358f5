/* order.h: the happens-before order of one execution, and its reversible races. Linked into both binaries.
 *
 * Two operations are dependent when swapping them can change anything (depend.h). Happens-before here is the order of
 * dependent operations and of each thread: two executions with the same happens-before are the same to the program
 * (one Mazurkiewicz class). It is finer than the order the race detector uses: relaxed atomics order too. */
#ifndef HD_MODEL_ORDER_H
#define HD_MODEL_ORDER_H

#include "model/depend.h"
#include "model/event.h"
#include "model/layout.h"
#include "model/model.h"
#include "model/numbers.h"
#include "model/point.h"

#define HD_NONE 0xffffffffu
#define HD_HELD 0xfffffffeu

/* An event and its place in the order. */
struct hd_ev {
  uint32_t index;        /* n-th of its thread, from 1 */
  uint32_t prev;         /* previous event of its thread, HD_NONE */
  const uint32_t *pred;  /* what had happened before it without its own conflicts; [cap] */
  const uint32_t *clock; /* what happened before it, and itself */
  union {
    struct hd_event event;
    struct {
      HD_EVENT_FIELDS
    };
  };
};

/* What the pending operation of a thread in a waiting loop waits for: until one of the values differs from the one that
 * the loop has read. The changes since are known, latest first. */
struct hd_change {
  uint32_t event; /* that changed it, from 1 */
  uint16_t place; /* number in the guard */
  uint16_t differs;
  const struct hd_change *before;
};
#define HD_GUARD_PLACES 8
struct hd_guard {
  const struct hd_change *last;
  uint32_t nplaces;
  struct {
    uint64_t addr;
    uint32_t size;
  } place[HD_GUARD_PLACES];
};

/* Events e and f (e earlier) could have come the other way round; f is the pending operation of `thread`
 * when it was never executed (f == HD_NONE). */
struct hd_race {
  uint32_t e, f;
  uint16_t thread;
  struct hd_op op; /* of the second */
  /* What else, after e, has to go out of the way for the second to be possible before e. */
  const uint32_t *also;
  uint32_t nalso;
  const uint32_t
      *pred; /* of an operation that was never executed: what orders it; NULL: its thread's last event */
};

/* The last entry of a clock: how many events had happened at the last time-out that it knows of. All of those come before
 * (invariant 5 of order.c). */
#define HD_LATE(t) ((t)->threads_max - 1)
#define HD_CLOCK_MAX (HD_MAX_THREADS + 8) /* the most entries that a clock can have */

struct hd_order {
  struct hd_ev *ev;
  uint64_t *key; /* of each event: hd_dependence_key */
  uint32_t n, cap_ev;
  struct hd_race *race;
  uint32_t nraces, cap_races;
  uint32_t nthreads;                          /* entries of each clock */
  uint32_t last[HD_MAX_THREADS];              /* last event of each thread */
  _Alignas(8) uint32_t cause[HD_MAX_THREADS]; /* event that enabled its pending operation: create, signal */
  uint64_t waits[HD_MAX_THREADS];             /* condition it is queued at */
  const uint32_t *gate[HD_MAX_THREADS];       /* what had happened when the barrier it is at was passed */
  const struct hd_guard *const
      *guard; /* [thread]: of its pending operation, NULL: none; NULL: of no thread */
  /* [thread]: the event of another thread that its pending operation comes after by decree, HD_NONE: none, HD_HELD: it has
   * not been executed, so the operation cannot be either (explore/symmetry.c); NULL: of no thread */
  const uint32_t *follows;
  /* Whether accesses of the granule can be unordered, so that their order is looked at; NULL: those of any granule. */
  int (*contended)(uint64_t granule);
  struct hd_layout *layout;         /* in which addresses are; NULL: they mean the same everywhere */
  const struct hd_numbers *numbers; /* of the threads; NULL: they mean the same everywhere */
  struct hd_arena arena;
  struct hd_tobj *table;
  uint32_t table_cap, table_used;
  uint64_t stamp;                 /* of the event being added; grows for ever */
  uint64_t floor;                 /* entries of the table with a lower stamp are not in use */
  uint32_t barrier;               /* last time-out: everything after it comes after everything before it */
  uint32_t section, section_last; /* first and last event of the atomic section entered last, HD_NONE */
  uint32_t interrupt;             /* last cancellation or signal that depends on everything */
  uint32_t narrow;                /* last signal that does not (hd_op.cancel.narrow) */
  uint32_t threads_max;           /* entries of each clock: one more than there can be threads, at least */
  uint32_t by_time;               /* events that only a time-out ordered after one that they conflict with */
  /* order_undo.c */
  struct hd_mark *mark;
  struct hd_undo *undo;
  uint32_t
      renewed;   /* the first event that points into the memory of the run, which it has to renew; HD_NONE */
  uint32_t kept; /* events that this execution is known to begin with: in place, though n is less */
  uint8_t logging; /* changes can be taken back */
  uint8_t afresh;  /* but not those of this execution */
  uint8_t ended;   /* pending operations have been looked at */
  uint8_t chooses; /* there has ever been a choice */
};

/* pre: memory of at least HD_ORDER_MEMORY bytes that is the trace's own. */
#define HD_ORDER_MEMORY (4ull << 30)
void hd_order_init(struct hd_order *t, void *memory);
void hd_order_begin(struct hd_order *t);
/* Instead of begin: as far as the execution is like the last one of this trace, what is known of its events is not
 * worked out again. */
void hd_order_resume(struct hd_order *t);
/* The execution does not go on like the last one, or is over. */
void hd_order_settle(struct hd_order *t);
/* How many of the races were found before the event; 0 if that is not known. */
uint32_t hd_order_races_before(const struct hd_order *t, uint32_t event);
/* Appends the event and finds its races. */
void hd_order_event(struct hd_order *t, const struct hd_op *op, unsigned flags, unsigned choice,
                    unsigned nchoices);
/* The execution was stopped (crash, finding) in the step of its last event: that step is dependent on all. */
void hd_order_stop(struct hd_order *t);
/* The execution is over: races with operations that were still pending. */
void hd_order_end(struct hd_order *t, const struct hd_point *p);
/* Races of an operation that is still pending, as if it came next. */
void hd_order_pending(struct hd_order *t, const struct hd_op *op);
/* Whether event a happened before event b. pre: a < b. */
static inline int hd_order_before(const struct hd_order *t, uint32_t a, uint32_t b) {
  const uint32_t *clock = t->ev[b].clock;
  return clock[t->ev[a].op.thread] >= t->ev[a].index || a < clock[HD_LATE(t)];
}
/* Whether event i stays when the race is reversed: v = what stays, in order, then the second operation.
 * pre: i > r->e. */
static inline int hd_order_stays(const struct hd_order *t, const struct hd_race *r, uint32_t i) {
  if (i == r->f || hd_order_before(t, r->e, i)) return 0;
  for (uint32_t k = 0; k < r->nalso; k++)
    if (i == r->also[k] || (i > r->also[k] && hd_order_before(t, r->also[k], i))) return 0;
  return 1;
}
/* What will come of the second operation of a race when it comes first (order_outcome.c): returns its flags, and
 * changes in op what depends on it. last: the last event of each thread that comes before it then, HD_NONE. */
unsigned hd_order_reversed_outcome(const struct hd_order *t, const struct hd_race *r, const uint32_t *last,
                                   struct hd_op *op);
/* A number that is the same for all executions of one happens-before class, in all processes, and no others: hd_mix64
 * of the sum of the numbers of its events. */
uint64_t hd_order_class(const struct hd_order *t);
uint64_t hd_order_event_class(const struct hd_order *t, const struct hd_ev *e);
/* The event that a pending operation may have had to wait for: the last release of its lock, the last event of the
 * thread to be joined; HD_NONE. */
uint32_t hd_order_enabler(struct hd_order *t, const struct hd_op *op);

#endif

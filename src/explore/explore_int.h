/* explore_int.h: private to the search: the trace of one execution with its happens-before order and races.
 * Runs in the tested process.
 *
 * Two operations are dependent when swapping them can change anything (the table below, from abi/ops.def and
 * the outcomes). Happens-before here is the order of dependent operations and of each thread: two executions
 * with the same happens-before are the same to the program (one Mazurkiewicz class). It is finer than the
 * order the race detector uses: relaxed atomics order too. */
#ifndef HD_EXPLORE_INT_H
#define HD_EXPLORE_INT_H

#include "explore/explore.h"

#define HD_NONE 0xffffffffu
#define HD__EV_STOP 0x80 /* the execution was stopped in the middle of this event's step */

/* An executed operation. */
struct hd_ev {
  struct hd_op op;
  uint8_t flags;   /* HD_EV_* */
  uint16_t choice; /* outcome chosen, while nchoices > 1 */
  uint16_t nchoices;
  uint32_t index;        /* n-th of its thread, from 1 */
  uint32_t prev;         /* previous event of its thread, HD_NONE */
  const uint32_t *pred;  /* what had happened before it without its own conflicts; [cap] */
  const uint32_t *clock; /* what happened before it, and itself */
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

struct hd_trace {
  struct hd_ev *ev;
  uint64_t *key; /* of each event: hd__key */
  uint32_t n, cap_ev;
  struct hd_race *race;
  uint32_t nraces, cap_races;
  uint32_t nthreads;                          /* entries of each clock */
  uint32_t last[HD_MAX_THREADS];              /* last event of each thread */
  _Alignas(8) uint32_t cause[HD_MAX_THREADS]; /* event that enabled its pending operation: create, signal */
  uint64_t waits[HD_MAX_THREADS];             /* condition it is queued at */
  const uint32_t *gate[HD_MAX_THREADS];       /* what had happened when the barrier it is at was passed */
  struct hd_arena arena;
  struct hd_tobj *table;
  uint32_t table_cap, table_used;
  uint64_t stamp;                 /* of the event being added; grows for ever */
  uint64_t floor;                 /* entries of the table with a lower stamp are not in use */
  uint32_t barrier;               /* last time-out: everything after it comes after everything before it */
  uint32_t section, section_last; /* first and last event of the atomic section entered last, HD_NONE */
  uint32_t interrupt;             /* last cancellation or signal: nothing is independent of those */
  uint32_t threads_max;
  /* trace_undo.c */
  struct hd_mark *mark;
  struct hd_undo *undo;
  uint32_t kept;   /* events that this execution is known to begin with: in place, though n is less */
  uint8_t logging; /* changes can be taken back */
  uint8_t afresh;  /* but not those of this execution */
  uint8_t ended;   /* pending operations have been looked at */
  uint8_t chooses; /* there has ever been a choice */
};

/* pre: memory of at least HD_TRACE_MEMORY bytes that is the trace's own. */
#define HD_TRACE_MEMORY (4ull << 30)
void hd__trace_init(struct hd_trace *t, void *memory);
void hd__trace_begin(struct hd_trace *t);
/* Instead of begin: as far as the execution is like the last one of this trace, what is known of its events is not
 * worked out again. */
void hd__trace_resume(struct hd_trace *t);
/* Appends the event and finds its races. */
void hd__trace_event(struct hd_trace *t, const struct hd_op *op, unsigned flags, unsigned choice,
                     unsigned nchoices);
/* The execution was stopped (crash, finding) in the step of its last event: that step is dependent on all. */
void hd__trace_stop(struct hd_trace *t);
/* The execution is over: races with operations that were still pending. */
void hd__trace_end(struct hd_trace *t, const struct hd_point *p);
/* Races of an operation that is still pending, as if it came next. */
void hd__trace_pending(struct hd_trace *t, const struct hd_op *op);
/* Whether event a happened before event b. pre: a < b. */
static inline int hd__before(const struct hd_trace *t, uint32_t a, uint32_t b) {
  return t->ev[b].clock[t->ev[a].op.thread] >= t->ev[a].index;
}
/* Whether event i stays when the race is reversed: v = what stays, in order, then the second operation.
 * pre: i > r->e. */
static inline int hd__stays(const struct hd_trace *t, const struct hd_race *r, uint32_t i) {
  if (i == r->f || hd__before(t, r->e, i)) return 0;
  for (uint32_t k = 0; k < r->nalso; k++)
    if (i == r->also[k] || (i > r->also[k] && hd__before(t, r->also[k], i))) return 0;
  return 1;
}
/* What will come of the second operation of a race when it comes first (trace_outcome.c): returns its flags, and
 * changes in op what depends on it. */
unsigned hd__outcome_reversed(const struct hd_trace *t, const struct hd_race *r, struct hd_op *op);
/* Whether the two operations, of different threads, are dependent. `failed` as in HD_EV_FAILED. */
int hd__dependent(const struct hd_op *a, unsigned aflags, const struct hd_op *b, unsigned bflags);
/* What tells most pairs of independent operations apart: those with different keys, neither of them 0, are. */
uint64_t hd__key(const struct hd_op *op, unsigned flags);
static inline int hd__apart(uint64_t a, uint64_t b) { return a && b && a != b; }
/* A number that is the same for all executions of one happens-before class, and no others: hd_mix64 of the sum of
 * the numbers of its events. */
uint64_t hd__trace_class(const struct hd_trace *t);
uint64_t hd__event_class(const struct hd_trace *t, const struct hd_ev *e);
/* The event that a pending operation may have had to wait for: the last release of its lock, the last event of the
 * thread to be joined; HD_NONE. */
uint32_t hd__trace_enabler(struct hd_trace *t, const struct hd_op *op);

/* ---- bounds (bounds.c) ---- */

/* What the bound says of a scheduling point. */
struct hd_bound_at {
  enum hd_bound kind;
  uint16_t current; /* the thread that ran last */
  uint16_t stays;   /* it could go on, and is not about to give way to others */
};
struct hd_bound_at hd__bound_at(const struct hd_search *s, const struct hd_point *p);
/* What it costs to pick `thread` there. pre: it is in `enabled`, of which the first `words` are in use. */
unsigned hd__bound_cost(const struct hd_bound_at *at, const struct hd_set *enabled, unsigned words,
                        unsigned thread);
/* The thread whose turn it is: it costs nothing. */
unsigned hd__bound_turn(const struct hd_bound_at *at, const struct hd_set *enabled, unsigned words);
/* The bound under which the search is. pre: there is one. */
unsigned hd__bound(const struct hd_search *s);

/* ---- states that were explored already (visited.c) ---- */

/* What was learned below a state. */
struct hd_visit {
  uint64_t key;
  uint32_t epoch;
  uint32_t used;  /* of the bound when it was reached: more is left the less this is */
  uint32_t at, n; /* of the log: requests */
  uint32_t block; /* of the log: threads */
  uint32_t nblock;
};

struct hd_visited {
  uint32_t epoch; /* entries of others are empty slots */
  uint32_t full;  /* nothing can be added any more */
  uint64_t n,
      cap; /* entries, and slots of the present table; the table of c slots is c slots from the start */
  uint64_t max;
  struct hd_visit *slot;
  uint64_t *log; /* append only */
  uint64_t log_n, log_max;
};
void hd__visited_init(struct hd_visited *v, char *memory, uint64_t size);
void hd__visited_clear(struct hd_visited *v);
/* The state with that key, if it was explored with as much of the bound left or more; else NULL. */
const struct hd_visit *hd__visited_find(const struct hd_visited *v, uint64_t key, uint32_t used);
/* Adds a state that was explored whole; does nothing when there is no room. */
void hd__visited_add(struct hd_visited *v, const struct hd_visit *state);
/* Room for n more numbers in the log, and their place; HD_NONE when there is none. */
uint32_t hd__visited_room(struct hd_visited *v, uint64_t n);

/* ---- for the files that know the dependencies of one family (trace.c, trace_sync.c, trace_io.c) ---- */

struct hd_link {
  uint32_t ev;
  uint8_t mask;
  uint8_t write;
  struct hd_link *next;
};

/* What is known of one object. Memory: per granule a list of accesses; locks: the last acquire and release. */
struct hd_tobj {
  uint64_t key;
  uint64_t stamp;                     /* of the event that touched it last */
  uint32_t acquire, release, destroy; /* last events, HD_NONE */
  struct hd_link *list;               /* most recent first */
  struct hd_link *spins;              /* lock: loops that saw it free since it was last taken */
  struct hd_reader *readers;          /* read-write lock: since it was last taken for writing, latest first */
  uint64_t count;                     /* semaphore: its value; barrier: threads that have arrived */
};

/* The event being appended, or an operation that was never executed. */
struct hd_work {
  struct hd_trace *t;
  uint32_t f; /* the new event, HD_NONE */
  const struct hd_op *op;
  unsigned flags;
  const uint32_t *pred; /* what orders it apart from its conflicts */
  uint32_t *clock;      /* the same with the conflicts so far */
};

/* The state before an event. */
struct hd_mark {
  char *next; /* of the arena */
  struct hd_undo *undo;
  uint64_t waits; /* of its thread, as the next two */
  const uint32_t *gate;
  uint32_t cause;
  uint32_t barrier, section, section_last, interrupt;
  uint32_t nraces, nthreads, table_used;
};

/* trace_undo.c: before a change in place. pre: size is a multiple of 8. */
void hd__trace_save(struct hd_trace *t, void *at, uint32_t size);
/* Before the event changes what is known of a thread that is not its own. */
void hd__trace_save_thread(struct hd_trace *t, uint32_t i);
/* Before an event of the thread is added. */
void hd__trace_mark(struct hd_trace *t, uint32_t thread);
/* Whether the event is one that the trace is known to go on with; it is then part of it. pre: n < kept. */
int hd__trace_known(struct hd_trace *t, const struct hd_op *op, unsigned flags, unsigned choice,
                    unsigned nchoices);
/* The execution is over before all events it was known to begin with. */
void hd__trace_settle(struct hd_trace *t);

int hd__overlap(const struct hd_op *a, const struct hd_op *b);
/* Of an operation on memory. A compare-and-swap that fails is a read. */
int hd__is_write(unsigned kind, unsigned flags);
int hd__woke_spuriously(const struct hd_ev *wait);
/* What an operation does to the lock it names, and that lock: of WAIT the mutex in aux. */
enum hd_lock_role { HD_LOCK_NONE, HD_LOCK_ACQUIRE, HD_LOCK_RELEASE, HD_LOCK_READ, HD_LOCK_WRITE };
enum hd_lock_role hd__lock_role(unsigned kind, unsigned flags);
uint64_t hd__lock_of(const struct hd_op *op);
void *hd__trace_get(struct hd_trace *t, size_t n);
struct hd_tobj *hd__tobj(struct hd_trace *t, uint64_t key);
void hd__join(struct hd_work *w, uint32_t e);
int hd__covered(const struct hd_work *w, const uint32_t *clock, uint32_t e);
void hd__add_race(struct hd_work *w, uint32_t e, const uint32_t *also, uint32_t nalso);
/* Ordered after e; a race when nothing else orders them. An event inside an atomic section is passed over: the
 * section as a whole takes its place. */
void hd__meet(struct hd_work *w, uint32_t e);
/* For operations that tell what enabled and disabled them. Returns 0 when there is no more to say of one that
 * was never executed. */
int hd__on_enabled(struct hd_work *w);
int hd__io_dependent(const struct hd_op *a, const struct hd_op *b);
void hd__on_io(struct hd_work *w);

/* The families of trace_sync.c: read-write locks, semaphores, barriers. */
int hd__sync_dependent(const struct hd_op *a, unsigned aflags, const struct hd_op *b, unsigned bflags);
void hd__sync_conflicts(struct hd_work *w);
/* What follows from an executed event. */
void hd__sync_event(struct hd_trace *t, uint32_t f);
/* Whether the operation may have to wait. */
int hd__sync_waits(const struct hd_op *op);
/* Whether op could not be executed before event e. */
int hd__sync_freed(const struct hd_ev *e, const struct hd_op *op);
/* What the event adds to the readers, writers and tokens of its read-write lock or semaphore. */
struct hd_held {
  int readers, writers, tokens;
};
struct hd_held hd__sync_held(const struct hd_ev *e);
/* hd__trace_enabler for these operations. */
uint32_t hd__sync_enabler(struct hd_trace *t, const struct hd_op *op);

/* Atomic sections (trace_section.c). */
int hd__section_dependent(const struct hd_op *a, const struct hd_op *b);
/* What an operation that may have to wait for o races with: whoever took it, or the section entered last, whichever
 * it could have come before. */
uint32_t hd__section_rival(const struct hd_trace *t, const struct hd_tobj *o);
/* The event that stands for the taking of o by the event f. */
uint32_t hd__section_taker(const struct hd_trace *t, const struct hd_tobj *o, uint32_t f);
/* The event that e can be reversed at: itself, or the entry of the section that it is in. */
uint32_t hd__section_entry(const struct hd_trace *t, uint32_t e);
/* Orders the operation after the section entered last. `waits`: the races are known already. */
void hd__meet_section(struct hd_work *w, int waits);
/* The operation enters a section: it meets whatever the others did last. */
void hd__meet_everybody(struct hd_work *w);

/* Writes that are made together or not at all (share.c): listed, then committed. */
void hd__redo_put(struct hd_search *s, void *at, uint64_t value, unsigned size);
void hd__redo_tally(struct hd_search *s);
void hd__redo_commit(struct hd_search *s);
/* Lists the writes that make `to` equal to `from`: any object of n bytes, a multiple of 8. */
void hd__redo_copy(struct hd_search *s, void *to, const void *from, size_t n);
#define HD_REDO(s, field, v) hd__redo_put(s, &(field), (uint64_t)(v), sizeof(field))

/* Workers keep their part of a systematic search in slots. Each begins with the slot of its own number; one that has
 * nothing to do takes over an active slot that no process looks after any more: the search was saved by more
 * workers than it has now. pre of the latter: the lock is held. Returns whether there was one. */
unsigned hd__slot(const struct hd_search *s);
int hd__slot_adopt(struct hd_search *s, int (*active)(struct hd_search *s, unsigned slot));
void hd__slots_anew(struct hd_search *s);

/* How far a search is: the part of its tree that is explored, and the part that one leaf stands for. Now and then. */
#define HD_ESTIMATE_EVERY 256 /* executions */
void hd__estimate(struct hd_search *s, double explored, double p);

/* Classes and final states seen so far, counted in status when config.classes is set (classes.c). */
void hd__count_class(struct hd_search *s, const struct hd_trace *t, enum hd_how how);
void hd__forget_classes(struct hd_search *s);
/* The same for strategies that need no trace: one is kept for this only. */
void hd__sample_begin(struct hd_search *s);
void hd__sample_event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                      unsigned nchoices);
void hd__sample_end(struct hd_search *s, enum hd_how how);

#endif

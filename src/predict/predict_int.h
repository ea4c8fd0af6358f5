/* predict_int.h: declarations shared by the files of this folder: the model of a trace, clocks, candidates.
 *
 *   section    from taking a lock to releasing it, by one thread; recursive ones count once
 *   location   bytes that every access touches as a whole or not at all; only those count that several threads access
 *              and one changes
 *   edge       two events of different threads whose order is kept in every reordering: creation and start, end and
 *              join, notification and return, operations on semaphores, barriers, descriptors and the like that conflict
 *   ideal      a set of events that has a prefix of each thread, as the length of each prefix
 *   decision   a branch, or an operation of an instruction that had several objects in the trace: it happens as it did if all
 *              reads of its thread before it have their values. Only known of programs that record branches (heddle cc
 *              --branches); of others, everything that a thread does is taken for one
 *   reordering a sequence of such prefixes that keeps all edges, in which no lock has two holders. It is correct when
 *              every read sees the value that it saw
 *
 * Events are numbered from 0 here, as in predictions; HD__NONE means no event. */
#ifndef HD_PREDICT_INT_H
#define HD_PREDICT_INT_H

#include "predict/predict.h"

#define HD__NONE UINT32_MAX

/* ---- the model of a trace (events.c, locations.c) ---- */

struct hd__section {
  uint32_t acquire, release; /* HD__NONE: never released */
  uint32_t lock;             /* number of the lock */
  uint16_t thread;
  bool shared;
};

/* A failed attempt to take a lock, while the section had it. */
struct hd__look {
  uint32_t event, section;
};

struct hd__location {
  uint64_t addr, init; /* init: the initial value, if known */
  uint32_t size;
  bool init_known, pinned; /* pinned: its accesses keep their order */
  uint32_t first, n;       /* its accesses: entries of `accessor`, in the order of the trace */
};

struct hd__access {
  uint32_t location;
  uint32_t from; /* event whose write the read saw, HD__NONE: the initial value, or it does not read */
};

enum {
  HD__DECIDES = 1, /* a decision, which depends on a read before it */
  HD__TESTS = 2,   /* a read that decides by itself */
};
enum { HD__READS = 1, HD__WRITES = 2, HD__ATOMIC = 4, HD__FREES = 8, HD__AWAITS = 16 };

struct hd__trace {
  const struct hd_event *event;
  const struct hd_tr_tables *tables; /* or NULL */
  uint32_t n, nthreads;
  uint16_t *thread;          /* [n] */
  uint32_t *pos;             /* [n] in its thread, from 1 */
  uint32_t *at, *first;      /* events of thread t: at[first[t]] .. at[first[t + 1] - 1] */
  uint8_t *access_kind;      /* [n] HD__READS, ... on locations; 0: none */
  uint32_t *access_at;       /* [n + 1] */
  struct hd__access *access; /* of event e: access[access_at[e]] .. access[access_at[e + 1] - 1] */
  uint32_t *accessor;        /* events by location */
  HD_VEC(struct hd__location) location;
  HD_VEC(struct hd__section) section; /* in the order of acquisition */
  uint32_t *opens, *closes;           /* [n] the section that the event begins or ends, plus 1 */
  uint32_t *held;             /* [n] number of the set of locks that its thread holds before the event */
  HD_VEC(uint32_t) held_lock; /* lock << 1 | shared, of all sets */
  HD_VEC(uint32_t) held_at;   /* set i: held_lock[held_at[i]] .. held_lock[held_at[i + 1] - 1] */
  uint32_t nlocks;
  HD_VEC(struct hd__look) look;
  uint8_t *decides;         /* [n] HD__DECIDES, ...; NULL: branches were not recorded */
  uint8_t *edge_source;     /* [n] an edge begins there */
  uint32_t *edge_at, *edge; /* edges to event e: from edge[edge_at[e]] .. */
  uint64_t unexplained, first_unexplained, unmatched, first_unmatched;
  const char *unmatched_why;
};

int hd__trace_init(struct hd__trace *tr, const struct hd_event *event, size_t n,
                   const struct hd_tr_tables *tables, bool lenient, struct hd_err *err);
void hd__trace_fini(struct hd__trace *tr);

static inline unsigned hd__thread(const struct hd__trace *tr, uint32_t e) { return tr->thread[e]; }
static inline uint32_t hd__nth(const struct hd__trace *tr, unsigned t, uint32_t pos) {
  return tr->at[tr->first[t] + pos - 1];
}
static inline uint32_t hd__length(const struct hd__trace *tr, unsigned t) {
  return tr->first[t + 1] - tr->first[t];
}
/* The event before it in its thread, HD__NONE: it is the first. */
static inline uint32_t hd__before(const struct hd__trace *tr, uint32_t e) {
  return tr->pos[e] > 1 ? hd__nth(tr, hd__thread(tr, e), tr->pos[e] - 1) : HD__NONE;
}
/* The access of an event to a location, or NULL. */
const struct hd__access *hd__access_to(const struct hd__trace *tr, uint32_t e, uint32_t location);
/* The value that the event read from the location, or left there; false: unknown. */
bool hd__value_read(const struct hd__trace *tr, uint32_t e, uint32_t location, uint64_t *v);
bool hd__value_written(const struct hd__trace *tr, uint32_t e, uint32_t location, uint64_t *v);
/* Whether the read may see the write (HD__NONE: the initial value) instead of what it saw: the value is the same. */
bool hd__same_value(const struct hd__trace *tr, uint32_t r, uint32_t w, const struct hd__access *a);
/* The first entry of `accessor` for the location that is at or after the event. */
uint32_t hd__accessor_from(const struct hd__trace *tr, uint32_t location, uint32_t event);
/* The last write of the location in the ideal before event `end`, or HD__NONE. pre: the ideal has no later one. */
uint32_t hd__last_write(const struct hd__trace *tr, uint32_t location, const uint32_t *ideal, uint32_t end);
/* The reads that the event depends on directly, if it has the observed value or, as a decision, happens as observed: from
 * the event on back to the last decision. Call with *at = the event until it returns HD__NONE. */
uint32_t hd__guard(const struct hd__trace *tr, uint32_t *at);
/* Whether the event waits for a signal: one that returns spuriously does not. */
bool hd__waits(const struct hd__trace *tr, uint32_t e);
/* Whether the two are a wait and a signal, whose order is kept only since that is how it was: a signal can come before the
 * wait, and is lost then. */
bool hd__may_miss(const struct hd__trace *tr, uint32_t wait, uint32_t signal);
/* What a failed attempt to take a lock saw; NULL: the event is none. */
const struct hd__look *hd__look_of(const struct hd__trace *tr, uint32_t e);
/* Whether two sets of locks have one that keeps their holders apart. */
bool hd__held_common(const struct hd__trace *tr, uint32_t a, uint32_t b);

/* ---- inside the construction of the model ---- */

struct hd__edge {
  uint32_t from, to;
};
struct hd__edges {
  HD_VEC(struct hd__edge) v;
};
static inline void hd__edge(struct hd__edges *x, uint32_t from, uint32_t to) {
  if (from != HD__NONE) hd_vec_push(&x->v, ((struct hd__edge){from, to}));
}
/* Fills in everything about memory. Fails on reads of values that nobody wrote, unless lenient: then their locations
 * are pinned. */
int hd__trace_locations(struct hd__trace *tr, struct hd__edges *edges, bool lenient, struct hd_err *err);
/* Finds the decisions, if branches were recorded. */
void hd__trace_decisions(struct hd__trace *tr);
/* The places of memory that an event touches and how: HD__READS, ...; at most HD_AWAIT_PLACES. */
unsigned hd__memory_places(const struct hd_event *e, unsigned *kind, uint64_t *addr, uint64_t *size);

/* Hash map from numbers other than 0 to numbers; a new entry is 0. */
struct hd__index {
  uint64_t *key;
  uint32_t *value;
  size_t n, cap;
};
uint32_t *hd__index_at(struct hd__index *m, uint64_t key);
void hd__index_fini(struct hd__index *m);
static inline uint64_t hd__hash(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return x ^ x >> 33;
}

/* ---- clocks (clocks.c) ---- */

/* What orders events beside program order and edges. */
enum {
  HD__BY_READS = 1,     /* a read comes after the write that it saw */
  HD__BY_LOCKS = 2,     /* a section comes after the conflicting ones before it */
  HD__BY_ATOMICS = 4,   /* an acquire comes after the release that it saw, as in C11 */
  HD__BY_CONFLICTS = 8, /* an access comes after the conflicting ones before it */
};

/* Of each event how many events of each thread come before it or are it. Rows are shared by events of a thread, and a
 * thread's own entry is the event's position. */
struct hd__clocks {
  const struct hd__trace *tr;
  uint32_t *row; /* [n] */
  HD_VEC(uint32_t) v;
};
void hd__clocks_init(struct hd__clocks *c, const struct hd__trace *tr, unsigned by);
void hd__clocks_fini(struct hd__clocks *c);
static inline const uint32_t *hd__row(const struct hd__clocks *c, uint32_t e) {
  return c->v.v + (size_t)c->row[e] * c->tr->nthreads;
}
/* Whether a is b or comes before it. */
static inline bool hd__ordered(const struct hd__clocks *c, uint32_t a, uint32_t b) {
  unsigned t = hd__thread(c->tr, a);
  if (t == hd__thread(c->tr, b)) return c->tr->pos[a] <= c->tr->pos[b];
  return c->tr->pos[a] <= hd__row(c, b)[t];
}
/* Adds the event and what comes before it to an ideal. */
void hd__ideal_add(const struct hd__clocks *c, uint32_t *ideal, uint32_t e);
/* The ideal of all events before number `end` of the trace; the caller frees. */
uint32_t *hd__ideal_up_to(const struct hd__trace *tr, uint32_t end);
/* Where the events are that are in one ideal, but not in the other: among *lo .. *hi - 1. Nothing of either is later. */
void hd__between(const struct hd__trace *tr, const uint32_t *done, const uint32_t *upto, uint32_t *lo,
                 uint32_t *hi);
static inline bool hd__in_ideal(const struct hd__trace *tr, const uint32_t *ideal, uint32_t e) {
  return tr->pos[e] <= ideal[hd__thread(tr, e)];
}

/* ---- predictions (order.c) ---- */

struct hd__run {
  const struct hd__trace *tr;
  const struct hd_predict_options *o;
  struct hd_predictions *out;
  struct hd_predict_stats *stats;
  double deadline;
  bool has_solver;
  uint64_t entries;   /* of all orders */
  uint32_t questions; /* that were written as PDDL */
};
/* Whether the detector has to stop: no time is left, it has predicted enough, or the orders take too much memory. */
bool hd__run_full(const struct hd__run *r, enum hd_detector d);

/* Adds a prediction whose order is that of the trace, restricted to the ideal. */
struct hd_prediction *hd__predict_ideal(struct hd__run *r, enum hd_detector d, enum hd_predicted kind,
                                        const uint32_t *event, size_t nevents, const uint32_t *ideal);
/* What is known of an order in which so many reads see other values. */
static inline enum hd_certainty hd__certainty(uint32_t broken) { return broken ? HD_PLAUSIBLE : HD_CERTAIN; }
/* Whether an order may have so many reads that see other values: only if branches show which of them matter. */
static inline bool hd__allows(const struct hd__trace *tr, uint32_t broken) { return !broken || tr->decides; }
/* Checks a sequence of events: a reordering (else false), and in *broken how many reads see another value. After it,
 * the next events of `next` must be what their threads do next. Signals may come before a wait of `next`. */
bool hd__order_valid(const struct hd__trace *tr, const uint32_t *order, size_t n, const uint32_t *next,
                     size_t nnext, uint32_t *broken);

/* Whether two accesses of one location can race: different threads, one changes it, not both are atomic. */
static inline bool hd__conflict(const struct hd__trace *tr, uint32_t a, uint32_t b) {
  unsigned ka = tr->access_kind[a], kb = tr->access_kind[b];
  return hd__thread(tr, a) != hd__thread(tr, b) && ((ka | kb) & HD__WRITES) && !(ka & kb & HD__ATOMIC) &&
         !((ka | kb) & HD__AWAITS);
}

/* ---- candidates (candidates.c) ---- */

/* Accesses of one location by one thread, in one way, with the same locks; at one place of the code, if by place. */
struct hd__class {
  uint32_t first, n; /* entries of `event`, in the order of the trace */
  uint64_t place;
  uint32_t held;
  uint16_t thread;
  uint8_t kind; /* HD__READS, ... */
};
struct hd__classes {
  HD_VEC(struct hd__class) v;
  uint32_t *event; /* room for the accesses of any location */
  struct hd__index by_key;
};
void hd__classes_init(struct hd__classes *c, const struct hd__trace *tr);
void hd__classes_fini(struct hd__classes *c);
/* The classes of one location. */
void hd__classes_of(struct hd__classes *c, const struct hd__trace *tr, uint32_t location, bool by_place);
/* Whether accesses of the two can race, whatever orders them. */
bool hd__classes_conflict(const struct hd__class *a, const struct hd__class *b);
/* The place of an access, or its location where that is unknown. */
uint64_t hd__place_of(const struct hd__trace *tr, uint32_t e, uint32_t location);
/* A number for two places of the code, whatever their order; never 0. */
uint64_t hd__place_pair(uint64_t a, uint64_t b);
/* The first pair of events of two classes that the clocks leave unordered; false: there is none. */
bool hd__unordered(const struct hd__clocks *c, const struct hd__classes *cl, const struct hd__class *a,
                   const struct hd__class *b, uint32_t *ea, uint32_t *eb);

/* ---- detectors ---- */

void hd__detect_filters(struct hd__run *r);                /* lockset and loose */
void hd__detect_hb(struct hd__run *r, enum hd_detector d); /* hb and shb */
void hd__detect_sync(struct hd__run *r);
void hd__detect_deadlocks(struct hd__run *r);
void hd__detect_flips(struct hd__run *r);
int hd__detect_races(struct hd__run *r, enum hd_detector d, struct hd_err *err); /* strict, said and huang */
int hd__detect_nulls(struct hd__run *r, enum hd_detector d,
                     struct hd_err *err); /* null, freed, unset and index */
void hd__detect_signals(struct hd__run *r);
int hd__detect_atomicity(struct hd__run *r, struct hd_err *err);

#endif

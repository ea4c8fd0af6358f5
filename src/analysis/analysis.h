/* analysis.h: analyses of the events of one execution. Runs in the supervisor.
 *
 * The events come from a run or from a trace file (hd_analysis_load). Threads are the numbers in op.thread.
 *
 *   shared   an event on memory that several threads access, at least one writing, counted from the first creation of
 *            a thread; or on a lock, condition or the like that several threads use
 *   cone     the events that happen before the end of the execution, by program order and dependence
 *   pair     two dependent events of different threads with no event between them that both depend on: a reversible
 *            race */
#ifndef HD_ANALYSIS_H
#define HD_ANALYSIS_H

#include "base/base.h"
#include "trace/trace.h"

/* All events of a trace file; the caller frees *ev and closes *source, which has the tables. */
int hd_analysis_load(const char *path, struct hd_tr_source **source, struct hd_event **ev, size_t *n,
                     struct hd_err *err);

/* Marks of one event. */
#define HD_MARK_SHARED 1
#define HD_MARK_CONE 2

/* A thread at the end of the execution, and the object it waits for (0: none). */
struct hd_pending {
  unsigned thread;
  uint64_t object;
};

/* One mark for each event; the caller frees. */
uint8_t *hd_analysis_mark(const struct hd_event *ev, size_t n, const struct hd_pending *end, size_t nends);

#define HD_PENDING SIZE_MAX

struct hd_pair {
  size_t first, second; /* second is HD_PENDING: the operation that `thread` blocks in at the end */
  unsigned thread;      /* of the second */
};
struct hd_pairs {
  struct hd_pair *v;
  size_t n, cap;
};

/* The pairs among events that have both marks, latest first. The caller frees out->v. */
void hd_analysis_pairs(const struct hd_event *ev, size_t n, const uint8_t *mark,
                       const struct hd_pending *pending, size_t npending, struct hd_pairs *out);

/* ---- why it failed ---- */

#define HD_WHY_NONE 255

/* The step of a thread that fails: its events from..at-1. `object`: what it waits for, or 0. */
struct hd_failing {
  unsigned thread;
  size_t from, at;
  uint64_t object;
};
/* For each event how far it is from the failing steps: 0 for their own reads and for writes that came between a read and
 * its use, 1 for the writers of those values, and so on; HD_WHY_NONE: no influence is known. `line`: the source line of
 * each event as a number, 0: unknown. The caller frees. */
uint8_t *hd_analysis_why(const struct hd_event *ev, size_t n, const uint32_t *line,
                         const struct hd_failing *failing, size_t nfailing);

/* The locks that `thread` holds before event `at`, in order of acquisition. Stores at most `max`, returns how many. */
size_t hd_analysis_held(const struct hd_event *ev, size_t at, unsigned thread, uint64_t *lock, size_t max);

/* ---- roles of threads (roles.c) ---- */

struct hd_role_thread {
  uint64_t next[2][2]; /* transitions between reads (0) and writes (1): from, to */
  uint64_t count[2];
  int last;
  double chain[4]; /* read-read, read-write, write-read, write-write */
  unsigned role;   /* from 1 on */
  char *name;      /* "T1", or NULL; owned, as the function where it began */
  char *function;
};

/* Zero at first. */
struct hd_roles {
  HD_VEC(struct hd_role_thread) thread;
  unsigned k; /* roles */
  double (*centre)[4];
  double homogeneity; /* the average distance of a thread from its centre: less is better */
  double separation;  /* the weighted average distance between centres: more is better */
  double agreement;   /* with the functions where threads begin: 0 to 1 (hd_roles_rand) */
};

void hd_roles_access(struct hd_roles *r, unsigned thread, bool write);
/* The accesses to memory among the events. */
void hd_roles_events(struct hd_roles *r, const struct hd_event *ev, size_t n);
/* How many roles so many threads are clustered into, at most. */
unsigned hd_roles_wanted(size_t threads);
/* Finds chains and roles. */
void hd_roles_cluster(struct hd_roles *r);
/* The Rand index of the roles and a labelling of the threads: the share of pairs on which both agree. */
double hd_roles_rand(const struct hd_roles *r, const unsigned *label);
void hd_roles_fini(struct hd_roles *r);

#endif

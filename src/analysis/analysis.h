/* analysis.h: what can be concluded from the events of one execution. Runs in the supervisor.
 *
 * The events may come from a run or from a trace file (hd_analysis_load): threads are the numbers that op.thread has there.
 *
 *   shared   an event on memory that several threads access, one of them writing, after the first of them was created;
 *            or on a lock, condition and the like that several use
 *   cone     the events without which the end would not have come about as it did: what happened before it, in the
 *            order of each thread and of dependent operations
 *   pair     two dependent events of different threads with nothing between them that both depend on: they might have
 *            come the other way round */
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

/* What the end of the execution is made of: the last events of a thread, and what it waits for (0: nothing). */
struct hd_pending {
  unsigned thread;
  uint64_t object;
};

/* One mark for each event; the caller frees. */
uint8_t *hd_analysis_mark(const struct hd_event *ev, size_t n, const struct hd_pending *end, size_t nends);

#define HD_PENDING SIZE_MAX

struct hd_pair {
  size_t first, second; /* second HD_PENDING: the operation that `thread` waits in at the end */
  unsigned thread;      /* of the second */
};
struct hd_pairs {
  struct hd_pair *v;
  size_t n, cap;
};

/* The pairs among events with all marks, the last ones first. The caller frees out->v. */
void hd_analysis_pairs(const struct hd_event *ev, size_t n, const uint8_t *mark,
                       const struct hd_pending *pending, size_t npending, struct hd_pairs *out);

/* The locks that `thread` holds before event `at`, in the order in which it took them; at most `max`, returns how
 * many. */
size_t hd_analysis_held(const struct hd_event *ev, size_t at, unsigned thread, uint64_t *lock, size_t max);

#endif

/* deadlock.h: cycles of locks. Inside src/predict, but for tests. */
#ifndef HD_PREDICT_DEADLOCK_H
#define HD_PREDICT_DEADLOCK_H

#include "predict/predict.h"

/* Adds at most `limit` deadlocks that other schedules of these events have, until `deadline` (on the clock of hd_now; 0:
 * none). pre: the events are those of a trace (trace/trace.h), whose lock operations need not match. */
void hd__predict_deadlocks(const struct hd_event *event, size_t n, size_t nthreads, uint32_t limit,
                           double deadline, struct hd_predictions *out, struct hd_detector_stats *stats);

#endif

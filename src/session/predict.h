/* predict.h: from the trace of one execution to findings: it is recorded or read, other schedules are predicted, and those
 * are executed. Runs in the supervisor. */
#ifndef HD_SESSION_PREDICT_H
#define HD_SESSION_PREDICT_H

#include "session/confirm.h"

struct hd_forecast_config {
  struct hd_session_config
      session; /* the program, its limits and where findings go; argv NULL: nothing is run */
  struct hd_predict_options predict;
  const uint64_t *known; /* keys of predictions that were confirmed before: they are left out */
  size_t nknown;
  const char *trace; /* a file; NULL: the execution is recorded, with the seed of the session */
  const struct hd_run_trace *combined; /* instead: a combination of several runs; or NULL */
  bool whole;                          /* not from an execution that was stopped, since it took too long */
  bool seeded;                         /* a random schedule; else each thread runs as long as it can */
  bool shows;                          /* the output of the recorded execution is shown */
};

/* A prediction; those of several detectors that have the same places are one. */
struct hd_forecast_one {
  struct hd_prediction *prediction;
  size_t chosen;
  uint32_t detectors; /* HD_DETECTOR_BIT of each that predicts it */
  struct hd_confirmation result;
};

/* Numbers of one detector, with those of its predictions. */
struct hd_forecast_row {
  enum hd_detector detector;
  struct hd_detector_stats stats;
  uint64_t confirmed; /* HD_CONFIRM_YES and _KNOWN */
};

struct hd_forecast;

/* Reads or records the trace, and predicts; with a program, only what needs no solver. The caller frees, also after an error. */
int hd_forecast_new(struct hd_forecast **out, const struct hd_forecast_config *c, struct hd_err *err);
/* Executes what is predicted; then predicts with the solver, and executes that. pre: there is a program. `events` as for a search, may be NULL. */
int hd_forecast_confirm(struct hd_forecast *f, const struct hd_session_events *events, struct hd_err *err);
/* The last search; NULL: nothing was executed. */
const struct hd_session *hd_forecast_session(const struct hd_forecast *f);
/* The keys and identities of its findings, and of those that the session knew before, for struct hd_session_config; the keys of
 * predictions, for `known` here. */
const uint64_t *hd_forecast_found(const struct hd_forecast *f, size_t *n);
char *const *hd_forecast_identities(const struct hd_forecast *f, size_t *n);
uint64_t hd_forecast_key(const struct hd_forecast *f, size_t i);
uint64_t hd_forecast_executions(const struct hd_forecast *f);
const struct hd_observed *hd_forecast_observed(const struct hd_forecast *f);
const struct hd_predict_stats *hd_forecast_stats(const struct hd_forecast *f);
const struct hd_forecast_one *hd_forecast_list(const struct hd_forecast *f, size_t *n);
/* The detectors that ran, one after the other from *at = 0 on; false at the end. */
bool hd_forecast_next(const struct hd_forecast *f, int *at, struct hd_forecast_row *out);
/* Seconds for recording or reading, for predicting, and for executing. */
void hd_forecast_seconds(const struct hd_forecast *f, double out[3]);
void hd_forecast_free(struct hd_forecast *f);

/* ---- follow.c: the executions that predictions led to ---- */

/* What traces have done so far: who did what where, and which write each read saw. */
struct hd_deeds;
struct hd_deeds *hd_deeds_new(void);
void hd_deeds_free(struct hd_deeds *d);
/* Returns how much of it is new. */
size_t hd_deeds_add(struct hd_deeds *d, const struct hd_run_trace *t);

/* An execution that kept to an order, up to where it failed, if it did, as a trace from which more can be predicted. */
struct hd_followed {
  struct hd_rerun run;
  struct hd_tr_source *source;
  struct hd_event *event;
  struct hd_run_trace trace;
};
/* The next one from *at = 0 on that does something new, which is added to `d`. Runs the program. The caller releases
 * it, after the forecasts from it; false: there are no more, or it is past `until`. */
bool hd_forecast_follow(const struct hd_forecast *f, size_t *at, struct hd_deeds *d, double until,
                        struct hd_followed *out);
void hd_followed_fini(struct hd_followed *f);

/* Inside this folder: the events of a source, without what libraries guard themselves; the last search. */
int hd__forecast_collect(struct hd_tr_source *s, struct hd_event **event, size_t *n, struct hd_err *err);
struct hd_confirm *hd__forecast_confirmed(const struct hd_forecast *f);

#endif

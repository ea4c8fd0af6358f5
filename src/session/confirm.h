/* confirm.h: executes the orders of events that predictions ask for. Only what fails then is a finding. Runs in the
 * supervisor. */
#ifndef HD_SESSION_CONFIRM_H
#define HD_SESSION_CONFIRM_H

#include "predict/predict.h"
#include "session/rerun.h"
#include "session/session.h"

/* The observed execution. The caller keeps all of it until the last confirmation. */
struct hd_observed {
  const struct hd_event *event;
  size_t n;
  const struct hd_tr_tables *tables;
};

enum hd_confirm_result {
  HD_CONFIRM_YES,     /* it failed as predicted */
  HD_CONFIRM_KNOWN,   /* it failed as another prediction had already */
  HD_CONFIRM_OTHER,   /* it failed in another way */
  HD_CONFIRM_NO,      /* it did not fail: `why` */
  HD_CONFIRM_UNTRIED, /* the time was over, or the program could not be run: `why` */
};

struct hd_confirmation {
  enum hd_confirm_result result;
  const struct hd_finding
      *finding; /* YES, OTHER: of the session's summary; KNOWN: the same, or NULL; else NULL */
  char *why;    /* NO, UNTRIED: the reason, for people; else NULL */
};

/* A search whose schedules are those of predictions. */
struct hd_confirm;

/* Prepares a session with the configuration `c`, whose strategy and number of processes are replaced. `order 0` is the
 * observed execution itself. Nothing is run. The caller frees, also after an error. */
int hd_confirm_new(struct hd_confirm **out, const struct hd_session_config *c,
                   const struct hd_session_events *events, const struct hd_observed *observed,
                   const struct hd_predictions *p, struct hd_err *err);
/* Executes them: findings are confirmed, minimised, stored and reported as those of any search. */
int hd_confirm_run(struct hd_confirm *c, struct hd_err *err);
/* pre: hd_confirm_run returned HD_OK. Both are valid until hd_confirm_free. */
const struct hd_session *hd_confirm_session(const struct hd_confirm *c);
const struct hd_confirmation *hd_confirm_result(const struct hd_confirm *c, size_t prediction);
/* Executes the order of a prediction once more, and records it. The caller releases the run; false: there is none. */
bool hd_confirm_record(struct hd_confirm *c, const struct hd_prediction *p, struct hd_rerun *out);
/* An error if the places of the trace, a file of that name, are others in the program. pre: nothing was executed yet. */
int hd_confirm_check(struct hd_confirm *c, const char *trace, struct hd_err *err);
const struct hd_command *hd_confirm_command(const struct hd_confirm *c);
void hd_confirm_free(struct hd_confirm *c);

/* "data race of T1 at x.c:12 and T2 at x.c:30" */
void hd_prediction_text(struct hd_str *out, const struct hd_observed *o, const struct hd_prediction *p);
/* "data-race", as in JSON. */
const char *hd_prediction_name(const struct hd_prediction *p);

#endif

/* units.h: a search that is one of several, on other machines: units of work in and out, what was learned, findings and
 * counters. Runs in the supervisor, between two looks at its processes (struct hd_session_events.tick).
 *
 * Units and news are bytes that mean the same on every machine with the same program (model/unit.h). Nothing here waits
 * for a worker longer than it takes to end an execution: what cannot be done now returns HD_LATER. */
#ifndef HD_SESSION_UNITS_H
#define HD_SESSION_UNITS_H

#include "explore/explore.h"
#include "session/control.h"
#include "session/session.h"

enum { HD_LATER = -1, HD_REFUSED = 0, HD_DONE = 1 };

/* Whether the search has begun, so that others can join it. */
bool hd_session_ready(const struct hd_session *s);
/* Changes whenever the search restarts. */
uint64_t hd_session_epoch(const struct hd_session *s);
/* Units and news belong to the search with that number: when it has restarted since, they have to wait. */
void hd_session_expect(struct hd_session *s, uint64_t epoch);
/* The search cannot go on. */
void hd_session_fail(struct hd_session *s, const char *why);
bool hd_session_idle(struct hd_session *s);

/* Gives a unit away, appended to *out. HD_REFUSED: there is none. */
int hd_session_give(struct hd_session *s, struct hd_str *out);
/* HD_REFUSED: the unit does not fit this process. */
int hd_session_accept(struct hd_session *s, uint32_t serial, const char *data, size_t n);
typedef void hd_session_told(void *arg, enum hd_units_news what, uint32_t rank, uint32_t serial,
                             const char *data, size_t n);
/* What owners of junctions must know. */
int hd_session_news(struct hd_session *s, hd_session_told *told, void *arg);
/* What we must know as the owner. */
int hd_session_told_news(struct hd_session *s, enum hd_units_news what, const char *data, size_t n);

/* What was learned, appended to *out. */
int hd_session_knowledge(struct hd_session *s, struct hd_str *out);
/* Learns it; the search restarts if there is anything new, or in any case. */
enum hd_learn {
  HD_LEARN_RESTART = 1, /* in any case */
  HD_LEARN_UNIT = 4,    /* from a unit, which has the numbers of threads alone */
  HD_LEARN_NUMBERS = 2, /* the numbers of threads are those of the other side, and not only what ours lack */
};
int hd_session_learn(struct hd_session *s, unsigned how, const char *data, size_t n);
/* Whether we know more visible operations than the other side. */
bool hd_session_knows_more(struct hd_session *s, const char *data, size_t n);

/* ---- saving ---- */

/* Makes all workers wait between two executions, until hd_session_go_on. Returns whether they do, after so many seconds. */
bool hd_session_pause(struct hd_session *s, double patience);
void hd_session_go_on(struct hd_session *s);
/* Our part of the search and its counters, appended to *out. pre: paused. */
int hd_session_put_saved(struct hd_session *s, struct hd_str *out);
/* Saves the search whose parts these are, [rank], as `heddle check --save` does. */
struct hd_saved_part {
  const char *data;
  size_t n;
};
int hd_session_save_parts(struct hd_session *s, const char *path, const struct hd_saved_part *part,
                          uint32_t ranks, struct hd_err *err);

/* ---- samples: numbers of executions (explore/spans.c) ---- */

/* How many numbers nobody has been given; without an end, more than anybody asks for. */
uint64_t hd_session_samples_ahead(const struct hd_session *s);
/* Takes at most n numbers for another machine. An empty span: none are left. Returns HD_DONE or HD_LATER. */
int hd_session_take_samples(struct hd_session *s, uint64_t n, struct hd_span *out);
int hd_session_add_samples(struct hd_session *s, struct hd_span span);
/* How many of those that were given are left. HD_LATER, HD_DONE. */
int hd_session_samples_left(struct hd_session *s, uint64_t *n);
/* Whether no worker runs an execution, since there are no numbers. What they have found was handled then. */
bool hd_session_at_rest(struct hd_session *s);
/* The counters and what is left, appended to *out: with the spans that the search does not know of yet.
 * `s` NULL: it has not begun. pre: paused. */
int hd_session_put_samples(struct hd_session *s, const struct hd_span *more, size_t n, struct hd_str *out);
/* Saves the search, of which the others have done these parts, [rank] from 1 on. */
int hd_session_save_samples(struct hd_session *s, const char *path, const struct hd_saved_part *part,
                            uint32_t ranks, struct hd_err *err);

/* ---- findings and counters ---- */

/* A finding of another machine, which has come out twice there. */
void hd_capture_put(const struct hd_capture *c, struct hd_str *out);
void hd_session_found(struct hd_session *s, const char *data, size_t n);
bool hd_session_has_finding(const struct hd_session *s);
/* Counters of another machine, at the end. */
struct hd_part {
  struct hd_status status;
  struct hd_state_counts states;
  uint64_t deaths, processes;
};
void hd_session_part(const struct hd_session *s, struct hd_part *out);
void hd_session_add_part(struct hd_session *s, const struct hd_part *p);
void hd_session_set_ranks(struct hd_session *s, const struct hd_ranks *r);
/* The states that were explored here, or a sample of them (hd_states_sample). */
size_t hd_session_states(struct hd_session *s, unsigned *shift, uint64_t *out, size_t cap);
/* Of the program and its arguments. */
uint64_t hd_session_identity(const struct hd_session *s);
/* Executions so far, and events. */
void hd_session_counts(const struct hd_session *s, uint64_t *executions, uint64_t *events);
/* All machines together have run what was asked for. */
void hd_session_spend(struct hd_session *s);
/* How it restarts executions, and the threads that it needed, for those who join. */
void hd_session_shape(const struct hd_session *s, struct hd_config *out);

#endif

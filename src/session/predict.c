/* predict.c: from the trace of one execution to findings. Runs in the supervisor. */
#include "session/predict.h"
#include "session/session_int.h"

#include <stdlib.h>
#include <string.h>

#define RECORD_LENGTH 10000000 /* steps of the recorded execution, at least */
#define SHARE 0.5              /* of the time that is left, for recording and for predicting */

/* First what needs no solver, which may take long. */
enum { WITHOUT_SOLVER, WITH_SOLVER, ROUNDS };

struct hd_forecast {
  struct hd_forecast_config config;
  struct hd_command command;
  struct hd_input input;
  struct hd_rerun run; /* the recorded execution */
  bool ran;
  struct hd_tr_source *source;
  struct hd_event *event; /* owned */
  struct hd_observed observed;
  struct hd_predictions all; /* of every detector ... */
  struct hd_predictions
      unique; /* ... and those to execute, the best of each combination of places; it borrows from the others */
  HD_VEC(struct hd_forecast_one) one;
  HD_VEC(size_t) group; /* of each of all: its entry of `one` */
  HD_VEC(uint64_t) key; /* of `one` */
  size_t done;          /* entries of `one` that have been executed */
  struct hd_predict_stats stats;
  struct hd_confirm *confirm[ROUNDS];
  HD_VEC(uint64_t) found;  /* keys of findings */
  HD_VEC(char *) identity; /* and what they are, by places; owned */
  double deadline;         /* on the clock of hd_now; 0: none */
  double seconds[3];
};

/* ---- the trace ---- */

static int record(struct hd_forecast *f, struct hd_err *err) {
  const struct hd_session_config *c = &f->config.session;
  int rc = hd_command_init(&f->command, c->argv, c->preload, c->cwd, err);
  if (rc == HD_OK)
    rc = c->input ? hd_input_copy(&f->input, c->input, err) : hd_input_init(&f->input, false, err);
  if (rc != HD_OK) return rc;
  struct hd_schedule schedule = {.seed = c->search.seed,
                                 .max_length = c->search.max_length > RECORD_LENGTH ? c->search.max_length
                                                                                    : RECORD_LENGTH,
                                 .restart = HD_RESTART_MEMORY,
                                 .spurious = c->search.spurious,
                                 .timeouts_any = c->search.timeouts_any,
                                 .closed = c->search.closed,
                                 .exit_status = c->search.exit_status,
                                 .partial = true};
  snprintf(schedule.strategy, sizeof schedule.strategy, "random");
  struct hd_config config;
  hd_schedule_config(&schedule, &config);
  if (f->config.seeded) config.mode = HD_MODE_RUN;
  double seconds = f->deadline > 0 ? SHARE * (f->deadline - hd_now()) : 0;
  rc = hd_rerun_config(&f->command, &schedule, &config, &f->input,
                       f->config.shows ? HD_OUTPUT_SHOW : HD_OUTPUT_NULL, NULL, c->hang_timeout, seconds,
                       &f->run, err);
  if (rc != HD_OK) return rc;
  f->ran = true;
  if (f->run.error) return hd_fail(err, hd_runtime_error_code(f->run.status.error), "%s", f->run.error);
  if (f->run.outcome.end == HD_PROCESS_START)
    return hd_start_failed(&f->run.outcome, f->command.argv[0], err);
  if (f->run.outcome.end == HD_PROCESS_STOPPED && hd_interrupts() == 0) {
    if (f->config.whole) return hd_fail(err, HD_EENV, "the execution is too long to predict from");
    hd_warn("the recorded execution was stopped after %.0f s: what follows is predicted from its beginning",
            seconds);
  }
  f->source = hd_rerun_trace(&f->run, &f->command, true, false);
  return HD_OK;
}

/* The accesses of library calls to memory that a lock of the library's guards, which is not in the trace: they are at the
 * place of an operation on the state of the process, before or after it in their thread. */
static void mark_internal(const struct hd_event *event, size_t n, size_t nthreads, uint8_t *drop) {
  size_t *last = hd_alloc((nthreads + 1) * sizeof *last); /* of each thread, plus 1 */
  for (size_t i = 0; i < n; i++) {
    size_t *before = &last[event[i].op.thread];
    for (int back = 0; *before && back < 2; back++) {
      size_t access = back ? *before - 1 : i, state = back ? i : *before - 1;
      if (hd_op_object(event[state].op.kind) == HD_OBJ_STATE && (event[access].flags & HD_EV_PLAIN) &&
          event[state].place == event[access].place)
        drop[access] = 1;
    }
    *before = i + 1;
  }
  free(last);
}

/* The same of what the lock of a stream guards: one call takes the lock, accesses it and releases it, all at one place. Where
 * nobody else used the stream yet, the lock is not in the trace. */
static void mark_guarded(const struct hd_event *event, size_t n, size_t nthreads, uint8_t *drop) {
  size_t *taken = hd_alloc((nthreads + 1) * sizeof *taken); /* the last lock of each thread, plus 1 */
  HD_VEC(uint64_t) inside = {0};
  for (size_t i = 0; i < n; i++) {
    const struct hd_event *e = &event[i];
    const struct hd_event *lock = taken[e->op.thread] ? &event[taken[e->op.thread] - 1] : NULL;
    if (e->op.kind == HD_OP_LOCK)
      taken[e->op.thread] = i + 1;
    else if (!e->place || !lock || lock->place != e->place)
      taken[e->op.thread] = 0;
    else if ((e->flags & HD_EV_PLAIN) && (!inside.n || inside.v[inside.n - 1] != e->op.object))
      hd_vec_push(&inside, e->op.object);
  }
  if (inside.n) qsort(inside.v, inside.n, sizeof *inside.v, hd_by_number);
  for (size_t i = 0; i < n && inside.n; i++)
    if ((event[i].flags & HD_EV_PLAIN) &&
        bsearch(&event[i].op.object, inside.v, inside.n, sizeof *inside.v, hd_by_number))
      drop[i] = 1;
  hd_vec_free(&inside);
  free(taken);
}

static size_t drop_internal(struct hd_event *event, size_t n, size_t nthreads) {
  uint8_t *drop = hd_alloc(n);
  uint32_t *number = hd_alloc((n + 1) * sizeof *number); /* from the old to the new */
  size_t kept = 0;
  mark_internal(event, n, nthreads, drop);
  mark_guarded(event, n, nthreads, drop);
  for (size_t i = 0; i < n; i++) {
    if (drop[i]) continue;
    event[kept] = event[i];
    event[kept].from = number[event[i].from <= i ? event[i].from : 0];
    number[i + 1] = (uint32_t)++kept;
  }
  free(drop);
  free(number);
  return kept;
}

int hd__forecast_collect(struct hd_tr_source *s, struct hd_event **event, size_t *n, struct hd_err *err) {
  int rc = hd_tr_collect(s, event, n, err);
  if (rc == HD_OK) *n = drop_internal(*event, *n, s->tables->thread.n);
  return rc;
}

static void load_combined(struct hd_forecast *f) {
  const struct hd_run_trace *c = f->config.combined;
  f->event = hd_alloc((c->n + 1) * sizeof *f->event);
  memcpy(f->event, c->event, c->n * sizeof *f->event);
  f->observed = (struct hd_observed){.event = f->event, .n = c->n, .tables = c->tables};
}

static int load(struct hd_forecast *f, struct hd_err *err) {
  if (f->config.combined) {
    load_combined(f);
    return HD_OK;
  }
  int rc = f->config.trace ? hd_tr_open_file(f->config.trace, &f->source, err) : record(f, err);
  if (rc != HD_OK) return rc;
  f->observed.tables = f->source->tables;
  rc = hd__forecast_collect(f->source, &f->event, &f->observed.n, err);
  f->observed.event = f->event;
  return rc;
}

/* ---- predictions ---- */

static uint64_t place_of(const struct hd_forecast *f, uint32_t event) {
  const struct hd_event *e = &f->observed.event[event];
  const struct hd_tr_place *p = e->place ? &f->observed.tables->place.v[e->place - 1] : NULL;
  if (!p || !p->file) return p ? p->pc : e->op.object;
  uint64_t h = p->line;
  for (const char *c = p->file; *c; c++) h = h * 31 + (unsigned char)*c;
  return h;
}

/* Kind and places, in any order. Where the failure depends on what is read, each combination of events is one. */
static uint64_t key_of(const struct hd_forecast *f, const struct hd_prediction *p) {
  uint64_t sum = p->kind;
  bool open_ended =
      p->kind == HD_PREDICTED_ORDER || p->kind == HD_PREDICTED_ATOMICITY || p->kind == HD_PREDICTED_OUTCOME;
  sum += p->outcome * 31ull;
  for (size_t i = 0; i < p->event.n; i++) {
    uint64_t h = (open_ended ? p->event.v[i] * 7 + i : place_of(f, p->event.v[i])) * 0x9e3779b97f4a7c15ull;
    sum += h ^ h >> 31;
  }
  return sum;
}

static bool is_better(const struct hd_prediction *a, const struct hd_prediction *b) {
  if (a->certainty != b->certainty) return a->certainty == HD_CERTAIN;
  return a->order.n < b->order.n;
}

static uint32_t bit_of(const struct hd_prediction *p) {
  enum hd_detector d;
  return hd_detector_by_name(p->detector, &d) ? HD_DETECTOR_BIT(d) : 0;
}

/* Whether it would be no finding, or is one already. */
static bool is_ignored(const struct hd_forecast *f, const struct hd_prediction *p) {
  for (size_t i = 0; i < f->config.nknown; i++)
    if (f->config.known[i] == key_of(f, p)) return true;
  uint64_t ignore = f->config.session.search.ignore;
  return (p->kind == HD_PREDICTED_RACE && (ignore >> HD_KIND_DATA_RACE & 1)) ||
         (p->kind == HD_PREDICTED_DEADLOCK && (ignore >> HD_KIND_DEADLOCK & 1));
}

/* Sorts the predictions from `from` on. One that was executed stays what it is. */
static void merge(struct hd_forecast *f, size_t from) {
  for (size_t i = from; i < f->all.v.n; i++) {
    struct hd_prediction *p = &f->all.v.v[i];
    if (is_ignored(f, p)) {
      hd_vec_push(&f->group, SIZE_MAX);
      continue;
    }
    uint64_t k = key_of(f, p);
    size_t at = 0;
    while (at < f->key.n && f->key.v[at] != k) at++;
    if (at == f->key.n) {
      hd_vec_push(&f->key, k);
      hd_vec_push(&f->one, ((struct hd_forecast_one){.chosen = i, .result.result = HD_CONFIRM_UNTRIED}));
    }
    struct hd_forecast_one *one = &f->one.v[at];
    one->detectors |= bit_of(p);
    hd_vec_push(&f->group, at);
    if (at >= f->done && is_better(p, &f->all.v.v[one->chosen])) one->chosen = i;
  }
  for (size_t i = 0; i < f->one.n; i++) f->one.v[i].prediction = &f->all.v.v[f->one.v[i].chosen];
}

static uint32_t detectors_of(const struct hd_forecast *f, int round) {
  uint32_t bits = f->config.predict.detectors;
  for (int d = 0; d < HD_DETECTORS; d++)
    if (hd_detector_solves((enum hd_detector)d) != (round == WITH_SOLVER)) bits &= ~HD_DETECTOR_BIT(d);
  return bits;
}

static int predict(struct hd_forecast *f, int round, struct hd_err *err) {
  struct hd_predict_options o = f->config.predict;
  struct hd_predict_stats stats;
  size_t before = f->all.v.n;
  double from = hd_now();
  o.detectors = detectors_of(f, round);
  if (f->deadline > 0) o.seconds = SHARE * (f->deadline - from);
  if (!o.detectors || (f->deadline > 0 && o.seconds <= 0)) return HD_OK;
  int rc = hd_predict(f->observed.event, f->observed.n, f->observed.tables, &o, &f->all, &stats, err);
  if (rc != HD_OK) return rc;
  for (int d = 0; d < HD_DETECTORS; d++)
    if (!(o.detectors >> d & 1)) stats.detector[d] = f->stats.detector[d];
  stats.disagreed += f->stats.disagreed;
  f->stats = stats;
  bool guess = f->config.combined != NULL;
  for (size_t i = 0; i < f->observed.n; i++) /* where an atomic section ends is not in a trace */
    guess |= f->observed.event[i].op.kind == HD_OP_SECTION;
  for (size_t i = before; guess && i < f->all.v.n; i++) f->all.v.v[i].certainty = HD_PLAUSIBLE;
  merge(f, before);
  f->seconds[1] += hd_now() - from;
  return HD_OK;
}

int hd_forecast_new(struct hd_forecast **out, const struct hd_forecast_config *c, struct hd_err *err) {
  struct hd_forecast *f = *out = hd_alloc(sizeof *f);
  f->config = *c;
  f->input.fd = -1;
  double from = hd_now();
  if (c->session.time > 0) f->deadline = from + c->session.time;
  for (size_t i = 0; i < c->session.nknown; i++) hd_vec_push(&f->found, c->session.known[i]);
  for (size_t i = 0; i < c->session.nidentities; i++)
    hd_vec_push(&f->identity, hd_strdup(c->session.identities[i]));
  int rc = load(f, err);
  f->seconds[0] = hd_now() - from;
  if (rc == HD_OK) rc = predict(f, WITHOUT_SOLVER, err);
  if (rc == HD_OK && !c->session.argv) rc = predict(f, WITH_SOLVER, err);
  return rc;
}

/* ---- executions ---- */

/* Executes what has been predicted since the last round. */
static int confirm(struct hd_forecast *f, int round, const struct hd_session_events *events,
                   struct hd_err *err) {
  double from = hd_now();
  struct hd_session_config c = f->config.session;
  if (f->ran) c.input = &f->input;
  if (f->deadline > 0) c.time = f->deadline > from + 0.1 ? f->deadline - from : 0.1;
  c.known = f->found.v; /* also those that the configuration knows */
  c.nknown = f->found.n;
  c.identities = f->identity.v;
  c.nidentities = f->identity.n;
  f->unique.v.n = 0;
  for (size_t i = f->done; i < f->one.n; i++) hd_vec_push(&f->unique.v, *f->one.v[i].prediction);
  int rc = hd_confirm_new(&f->confirm[round], &c, events, &f->observed, &f->unique, err);
  if (rc == HD_OK && f->config.trace && round == 0)
    rc = hd_confirm_check(f->confirm[round], f->config.trace, err);
  if (rc == HD_OK) rc = hd_confirm_run(f->confirm[round], err);
  for (size_t i = 0; rc == HD_OK && i < f->unique.v.n; i++)
    f->one.v[f->done + i].result = *hd_confirm_result(f->confirm[round], i);
  if (rc == HD_OK) {
    const struct hd_summary *sum = hd_session_summary(hd_confirm_session(f->confirm[round]));
    for (size_t i = 0; i < sum->nfindings; i++) {
      hd_vec_push(&f->found, sum->findings[i]->key);
      hd_vec_push(&f->identity, hd_finding_identity(sum->findings[i]));
    }
    f->done = f->one.n;
  }
  f->seconds[2] += hd_now() - from;
  return rc;
}

int hd_forecast_confirm(struct hd_forecast *f, const struct hd_session_events *events, struct hd_err *err) {
  int rc = confirm(f, WITHOUT_SOLVER, events, err);
  if (rc != HD_OK || hd_interrupts() > 0) return rc;
  rc = predict(f, WITH_SOLVER, err);
  return rc == HD_OK && f->done < f->one.n ? confirm(f, WITH_SOLVER, events, err) : rc;
}

struct hd_confirm *hd__forecast_confirmed(const struct hd_forecast *f) {
  return f->confirm[f->confirm[WITH_SOLVER] ? WITH_SOLVER : WITHOUT_SOLVER];
}

const struct hd_session *hd_forecast_session(const struct hd_forecast *f) {
  const struct hd_confirm *c = hd__forecast_confirmed(f);
  return c ? hd_confirm_session(c) : NULL;
}

const uint64_t *hd_forecast_found(const struct hd_forecast *f, size_t *n) {
  *n = f->found.n;
  return f->found.v;
}

char *const *hd_forecast_identities(const struct hd_forecast *f, size_t *n) {
  *n = f->identity.n;
  return f->identity.v;
}

uint64_t hd_forecast_key(const struct hd_forecast *f, size_t i) { return f->key.v[i]; }

uint64_t hd_forecast_executions(const struct hd_forecast *f) {
  uint64_t n = 0;
  for (int i = 0; i < ROUNDS; i++)
    if (f->confirm[i]) n += hd_session_summary(hd_confirm_session(f->confirm[i]))->executions;
  return n;
}

const struct hd_observed *hd_forecast_observed(const struct hd_forecast *f) { return &f->observed; }

const struct hd_predict_stats *hd_forecast_stats(const struct hd_forecast *f) { return &f->stats; }

const struct hd_forecast_one *hd_forecast_list(const struct hd_forecast *f, size_t *n) {
  *n = f->one.n;
  return f->one.v;
}

bool hd_forecast_next(const struct hd_forecast *f, int *at, struct hd_forecast_row *out) {
  while (*at < HD_DETECTORS && !(f->config.predict.detectors >> *at & 1)) ++*at;
  if (*at == HD_DETECTORS) return false;
  *out = (struct hd_forecast_row){.detector = (enum hd_detector) * at, .stats = f->stats.detector[*at]};
  for (size_t i = 0; i < f->all.v.n; i++)
    out->confirmed += bit_of(&f->all.v.v[i]) == HD_DETECTOR_BIT(*at) && f->group.v[i] != SIZE_MAX &&
                      f->one.v[f->group.v[i]].result.result <= HD_CONFIRM_KNOWN;
  ++*at;
  return true;
}

void hd_forecast_seconds(const struct hd_forecast *f, double out[3]) {
  memcpy(out, f->seconds, sizeof f->seconds);
}

void hd_forecast_free(struct hd_forecast *f) {
  if (!f) return;
  for (int i = 0; i < ROUNDS; i++) hd_confirm_free(f->confirm[i]);
  hd_vec_free(&f->key);
  hd_vec_free(&f->found);
  for (size_t i = 0; i < f->identity.n; i++) free(f->identity.v[i]);
  hd_vec_free(&f->identity);
  hd_vec_free(&f->unique.v);
  hd_vec_free(&f->one);
  hd_vec_free(&f->group);
  hd_predictions_fini(&f->all);
  free(f->event);
  hd_tr_close(f->source);
  if (f->ran) hd_rerun_fini(&f->run);
  hd_input_fini(&f->input);
  hd_command_fini(&f->command);
  free(f);
}

/* ---- as a part of a search ---- */

/* Without the solver: the search must not wait for it. */
#define DETECTORS                                                                                           \
  (HD_DETECTOR_BIT(HD_DETECT_SHB) | HD_DETECTOR_BIT(HD_DETECT_SYNC) | HD_DETECTOR_BIT(HD_DETECT_DEADLOCK) | \
   HD_DETECTOR_BIT(HD_DETECT_FLIP))

static void on_found(void *arg, const struct hd_capture *c) {
  c->rec->phase = HD_PHASE_PREDICTED;
  hd__session_handle(arg, c);
}

void hd__session_predict(struct hd_session *s) {
  struct hd_err err;
  struct hd_forecast *f;
  struct hd_forecast_config c = {
      .session = s->config, .predict = {.detectors = DETECTORS, .lenient = true}, .whole = true};
  c.session.time = s->config.predict;
  if (s->deadline > 0 && s->deadline - hd_now() < c.session.time) c.session.time = s->deadline - hd_now();
  if (c.session.time <= 0) return;
  c.session.predict = c.session.explain = 0;
  c.session.search.one_phase = 1; /* what needs a spurious wake-up is left to its second pass */
  c.session.input = &s->input;
  c.session.coverage = false;
  /* What fails is handled by the search as that of another machine would be. What cannot be predicted is no matter. */
  struct hd_session_events events = {.cluster = s, .relay = on_found};
  if (hd_forecast_new(&f, &c, &err) == HD_OK) hd_forecast_confirm(f, &events, &err);
  hd_forecast_free(f);
}

/* cmd_predict.c: `heddle predict`: failures of other schedules, from one execution. Runs in the supervisor. */
#include "cli/cli.h"
#include "session/predict.h"
#include "session/store.h"
#include "session/process.h"
#include "session/command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct predict {
  const struct hd_options *o;
  int fd; /* findings and tables go there */
  size_t findings, untried, predictions;
  uint64_t executions;
  HD_VEC(uint64_t) keys, confirmed; /* keys of findings and predictions, of the traces so far */
  struct hd_input input;            /* of the program, for all traces: it can be read once only */
  HD_VEC(char *) identities;        /* of those findings; owned */
  json_t *parts;                    /* one for each trace */
  json_t *found;
  json_t *summary; /* of the last search, or NULL */
};

static void on_finding(void *arg, const struct hd_finding *f) {
  struct predict *p = arg;
  p->findings++;
  hd_present_found(p->o, p->fd, f);
  json_array_append_new(p->found, hd_json_finding(f));
}

static void on_startup_output(void *arg, const char *text, size_t n) {
  (void)arg;
  hd_write_all(STDERR_FILENO, text, n);
}

/* ---- text ---- */

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

#define TABLE_WIDTH 72 /* columns of the whole table */

/* On a narrow terminal, without what was filtered and solved. */
static void add_table(struct hd_str *out, const struct hd_forecast *f, bool ran, unsigned columns) {
  struct hd_forecast_row r;
  bool whole = columns >= TABLE_WIDTH;
  hd_str_addf(out, "  %-10s %10s%s %9s%s %8s\n", "detector", "candidates", whole ? "  filtered  solved" : "",
              "predicted", ran ? " confirmed" : "", "seconds");
  for (int at = 0; hd_forecast_next(f, &at, &r);) {
    hd_str_addf(out, "  %-10s %10llu", hd_detector_name[r.detector], (unsigned long long)r.stats.candidates);
    if (whole)
      hd_str_addf(out, " %9llu %7llu", (unsigned long long)r.stats.filtered,
                  (unsigned long long)r.stats.solved);
    hd_str_addf(out, " %9llu", (unsigned long long)r.stats.predicted);
    if (ran) hd_str_addf(out, " %9llu", (unsigned long long)r.confirmed);
    hd_str_addf(out, " %8.3f\n", r.stats.seconds);
  }
  for (int at = 0; hd_forecast_next(f, &at, &r);) {
    uint64_t left = r.stats.unknown + r.stats.skipped + r.stats.cut;
    if (left)
      hd_str_addf(out, "  %s: %llu candidate%s undecided (solver %llu, limits %llu, windows %llu)\n",
                  hd_detector_name[r.detector], (unsigned long long)left, plural(left),
                  (unsigned long long)r.stats.unknown, (unsigned long long)r.stats.skipped,
                  (unsigned long long)r.stats.cut);
  }
}

/* What does not fit together in the trace. Nothing is lost: such events keep their places. */
static void add_notes(struct hd_str *out, const struct hd_forecast *f) {
  const struct hd_observed *o = hd_forecast_observed(f);
  const struct hd_predict_stats *s = hd_forecast_stats(f);
  const struct {
    uint64_t n, first;
    const char *why, *then;
  } note[] = {{s->unmatched, s->first_unmatched, s->unmatched_why, "such events keep their places"},
              {s->unexplained, s->first_unexplained, "reads a value that no event wrote",
               "accesses to such locations keep their order"}};
  for (size_t i = 0; i < sizeof note / sizeof *note; i++) {
    if (!note[i].n || note[i].first > o->n) continue;
    hd_str_addf(out, "Note: event %llu (", (unsigned long long)note[i].first);
    hd_tr_describe(out, o->tables, &o->event[note[i].first - 1]);
    hd_str_addf(out, ") %s", note[i].why);
    if (note[i].n > 1) hd_str_addf(out, ", and %llu more", (unsigned long long)note[i].n - 1);
    hd_str_addf(out, "; %s.\n", note[i].then);
  }
  if (s->disagreed)
    hd_str_addf(out, "Note: the engines disagree on %llu quer%s: please report it.\n",
                (unsigned long long)s->disagreed, s->disagreed == 1 ? "y" : "ies");
}

/* Whether it only proposes an order to try: that is no prediction of a failure. */
static bool is_try(const struct hd_forecast_one *one) {
  return one->detectors == HD_DETECTOR_BIT(HD_DETECT_FLIP) && one->result.result != HD_CONFIRM_YES &&
         one->result.result != HD_CONFIRM_OTHER;
}

/* What was predicted and is not a finding. */
static void add_rest(struct hd_str *out, const struct hd_forecast *f, bool ran) {
  size_t n, rest = 0, tries = 0;
  const struct hd_forecast_one *one = hd_forecast_list(f, &n);
  for (size_t i = 0; i < n; i++) {
    tries += is_try(&one[i]);
    rest += !is_try(&one[i]) && one[i].result.result > HD_CONFIRM_KNOWN;
  }
  if (tries && ran)
    hd_str_addf(out, "%zu other order%s of conflicting accesses %s tried.\n", tries, plural(tries),
                tries == 1 ? "was" : "were");
  if (!rest) return;
  hd_str_add(out, ran ? "Predicted, not confirmed:\n" : "Predicted:\n");
  for (size_t i = 0; i < n; i++) {
    const struct hd_confirmation *c = &one[i].result;
    if (c->result <= HD_CONFIRM_KNOWN || is_try(&one[i])) continue;
    hd_str_add(out, "  ");
    hd_prediction_text(out, hd_forecast_observed(f), one[i].prediction);
    hd_str_addc(out, '\n');
    if (!ran) continue;
    hd_str_addf(out, "    %s%s\n", c->finding ? "it failed in another way: " : "",
                c->finding ? c->finding->title
                : c->why   ? c->why
                           : "not tried");
  }
}

static void print_result(const struct predict *p, const struct hd_forecast *f, bool combined) {
  const struct hd_observed *o = hd_forecast_observed(f);
  bool ran = hd_forecast_session(f) != NULL;
  size_t n, predicted = 0;
  double s[3];
  struct hd_str out;
  if (p->o->quiet) return;
  hd_str_init(&out);
  const struct hd_forecast_one *one = hd_forecast_list(f, &n);
  for (size_t i = 0; i < n; i++) predicted += !is_try(&one[i]);
  hd_forecast_seconds(f, s);
  hd_str_addf(&out, "%s%s%zu event%s of %zu thread%s, %zu prediction%s", p->findings ? "\n" : "",
              combined ? "Combined from several runs: " : "", o->n, plural(o->n), o->tables->thread.n,
              plural(o->tables->thread.n), predicted, plural(predicted));
  if (ran) {
    uint64_t executions = hd_forecast_executions(f);
    hd_str_addf(&out, ", %llu execution%s, %zu finding%s", (unsigned long long)executions, plural(executions),
                p->findings, plural(p->findings));
  }
  hd_str_addf(&out, " (%.2f s)\n", s[0] + s[1] + s[2]);
  add_table(&out, f, ran, hd_style_of(p->fd, false).width);
  add_rest(&out, f, ran);
  add_notes(&out, f);
  hd_print(p->fd, &out);
  hd_str_fini(&out);
}

/* ---- JSON ---- */

static json_t *event_json(const struct hd_observed *o, uint32_t number) {
  const struct hd_event *e = &o->event[number];
  const struct hd_tr_place *at = e->place ? &o->tables->place.v[e->place - 1] : NULL;
  json_t *j = json_object();
  json_object_set_new(j, "event", json_integer((json_int_t)number + 1));
  json_object_set_new(j, "thread", hd_json_text(o->tables->thread.v[e->op.thread].name));
  json_object_set_new(j, "operation", hd_json_text(hd_op_text(e->op.kind)));
  json_object_set_new(j, "file", hd_json_text(at ? at->file : NULL));
  json_object_set_new(j, "line", at && at->line ? json_integer(at->line) : json_null());
  return j;
}

static json_t *prediction_json(const struct hd_forecast *f, const struct hd_forecast_one *one, bool ran) {
  static const char *const word[] = {"confirmed", "confirmed", "other", "not-confirmed", "not-tried"};
  const struct hd_observed *o = hd_forecast_observed(f);
  const struct hd_prediction *p = one->prediction;
  json_t *j = json_object(), *by = json_array(), *events = json_array(), *order = json_array();
  json_object_set_new(j, "kind", hd_json_text(hd_prediction_name(p)));
  for (int d = 0; d < HD_DETECTORS; d++)
    if (one->detectors >> d & 1) json_array_append_new(by, hd_json_text(hd_detector_name[d]));
  json_object_set_new(j, "detectors", by);
  json_object_set_new(j, "certain", json_boolean(p->certainty == HD_CERTAIN));
  for (size_t i = 0; i < p->event.n; i++) json_array_append_new(events, event_json(o, p->event.v[i]));
  json_object_set_new(j, "events", events);
  for (size_t i = 0; i < p->order.n; i++)
    json_array_append_new(order, json_integer((json_int_t)p->order.v[i] + 1));
  json_object_set_new(j, "order", order);
  if (!ran) return j;
  const struct hd_confirmation *c = &one->result;
  json_object_set_new(j, "result", hd_json_text(word[c->result]));
  json_object_set_new(j, "finding", c->finding ? json_integer(c->finding->id) : json_null());
  if (c->why) json_object_set_new(j, "reason", hd_json_text(c->why));
  return j;
}

static json_t *result_json(const struct hd_forecast *f, const char *trace) {
  const struct hd_observed *o = hd_forecast_observed(f);
  json_t *j = json_object(), *rows = json_array(), *list = json_array();
  bool ran = hd_forecast_session(f) != NULL;
  double s[3];
  size_t n;
  hd_forecast_seconds(f, s);
  json_object_set_new(j, "trace", hd_json_text(trace));
  json_object_set_new(j, "events", json_integer((json_int_t)o->n));
  json_object_set_new(j, "threads", json_integer((json_int_t)o->tables->thread.n));
  json_object_set_new(
      j, "seconds",
      json_pack("{s:f,s:f,s:f}", trace ? "read" : "record", s[0], "predict", s[1], "confirm", s[2]));
  struct hd_forecast_row r;
  for (int at = 0; hd_forecast_next(f, &at, &r);)
    json_array_append_new(
        rows,
        json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f}", "detector", hd_detector_name[r.detector],
                  "candidates", (json_int_t)r.stats.candidates, "filtered", (json_int_t)r.stats.filtered,
                  "solved", (json_int_t)r.stats.solved, "predicted", (json_int_t)r.stats.predicted,
                  "confirmed", (json_int_t)r.confirmed, "unknown", (json_int_t)r.stats.unknown, "skipped",
                  (json_int_t)r.stats.skipped, "cut", (json_int_t)r.stats.cut, "seconds", r.stats.seconds));
  json_object_set_new(j, "detectors", rows);
  const struct hd_predict_stats *st = hd_forecast_stats(f);
  json_object_set_new(j, "unmatched", json_integer((json_int_t)st->unmatched));
  json_object_set_new(j, "unexplained", json_integer((json_int_t)st->unexplained));
  json_object_set_new(j, "disagreed", json_integer((json_int_t)st->disagreed));
  const struct hd_forecast_one *one = hd_forecast_list(f, &n);
  for (size_t i = 0; i < n; i++) json_array_append_new(list, prediction_json(f, &one[i], ran));
  json_object_set_new(j, "predictions", list);
  return j;
}

/* The object of a search with all findings, and what was predicted; without a program only the latter. */
static int write_json(struct predict *p, struct hd_err *err) {
  if (!p->o->json) return HD_OK;
  json_t *j = p->summary ? json_incref(p->summary) : json_pack("{s:s}", "heddle", HD_VERSION);
  json_object_set(j, "findings", p->found);
  json_object_set_new(j, "verdict", json_string(p->findings ? "bug" : "bounded"));
  json_object_set(j, "predict", p->parts);
  json_t *none = json_array();
  int rc = hd_outputs_write_all(p->o, none, j, err);
  json_decref(none);
  json_decref(j);
  return rc;
}

/* ---- the verb ---- */

/* Those that find most; others find less, sooner. */
#define DEFAULT_DETECTORS                                                                                   \
  (HD_DETECTOR_BIT(HD_DETECT_SHB) | HD_DETECTOR_BIT(HD_DETECT_SYNC) | HD_DETECTOR_BIT(HD_DETECT_HUANG) |    \
   HD_DETECTOR_BIT(HD_DETECT_NULLS) | HD_DETECTOR_BIT(HD_DETECT_FREED) | HD_DETECTOR_BIT(HD_DETECT_UNSET) | \
   HD_DETECTOR_BIT(HD_DETECT_INDEX) | HD_DETECTOR_BIT(HD_DETECT_SIGNAL) |                                   \
   HD_DETECTOR_BIT(HD_DETECT_ATOMICITY) | HD_DETECTOR_BIT(HD_DETECT_DEADLOCK) |                             \
   HD_DETECTOR_BIT(HD_DETECT_FLIP))

/* Without the solver: there may be many of them. */
#define FOLLOWED_DETECTORS (DEFAULT_DETECTORS & ~SOLVING)
#define SOLVING                                                                                              \
  (HD_DETECTOR_BIT(HD_DETECT_HUANG) | HD_DETECTOR_BIT(HD_DETECT_NULLS) | HD_DETECTOR_BIT(HD_DETECT_FREED) |  \
   HD_DETECTOR_BIT(HD_DETECT_UNSET) | HD_DETECTOR_BIT(HD_DETECT_INDEX) | HD_DETECTOR_BIT(HD_DETECT_SIGNAL) | \
   HD_DETECTOR_BIT(HD_DETECT_ATOMICITY))

/* Adds what came of the executions to those of the traces so far. */
static int account(struct predict *p, const struct hd_forecast *f, struct hd_err *err) {
  size_t n;
  const struct hd_forecast_one *one = hd_forecast_list(f, &n);
  const struct hd_session *s = hd_forecast_session(f);
  p->predictions += n;
  for (size_t i = 0; s && i < n; i++)
    if (one[i].result.result <= HD_CONFIRM_KNOWN) hd_vec_push(&p->confirmed, hd_forecast_key(f, i));
  const uint64_t *found = hd_forecast_found(f, &n);
  for (size_t i = p->keys.n; i < n; i++) hd_vec_push(&p->keys, found[i]);
  char *const *identity = hd_forecast_identities(f, &n);
  for (size_t i = p->identities.n; i < n; i++) hd_vec_push(&p->identities, hd_strdup(identity[i]));
  if (!s) return HD_OK;
  p->executions += hd_forecast_executions(f);
  json_decref(p->summary);
  p->summary = hd_json_summary(hd_session_summary(s));
  json_object_set_new(p->summary, "executions", json_integer((json_int_t)p->executions));
  if (hd_session_summary(s)->stop != HD_STOP_ERROR) return HD_OK;
  return hd_fail(err, hd_session_error(s), "%s", hd_session_summary(s)->error);
}

/* From one trace (NULL: an execution is recorded, unless there are events): predicts and executes. The caller frees. */
static int foresee(struct predict *p, const char *trace, const struct hd_run_trace *events,
                   uint32_t detectors, double deadline, struct hd_forecast **out, struct hd_err *err) {
  struct hd_options *o = (struct hd_options *)p->o;
  struct hd_forecast_config c = {.trace = trace, .combined = events, .seeded = o->seeded};
  char **files = o->args;
  o->args = o->after;
  hd_options_session(o, HD_VERB_PREDICT, &c.session);
  o->args = files;
  if (!*o->after) c.session.argv = NULL;
  c.session.time = deadline - hd_now();
  c.predict = (struct hd_predict_options){.detectors = detectors,
                                          .engines = o->engines,
                                          .window = o->window > UINT32_MAX ? UINT32_MAX : (uint32_t)o->window,
                                          .spurious = !c.session.search.one_phase,
                                          .pddl = o->pddl,
                                          .libdir = hd_libdir(),
                                          .lenient = true};
  if (c.session.argv) c.session.input = &p->input;
  c.session.known = p->keys.v;
  c.session.nknown = p->keys.n;
  c.session.identities = p->identities.v;
  c.session.nidentities = p->identities.n;
  c.known = p->confirmed.v;
  c.nknown = p->confirmed.n;
  struct hd_session_events on = {.arg = p, .finding = on_finding, .startup_output = on_startup_output};
  int rc = hd_forecast_new(out, &c, err);
  if (rc == HD_OK && c.session.argv) rc = hd_forecast_confirm(*out, &on, err);
  return rc == HD_OK ? account(p, *out, err) : rc;
}

/* ---- executions that did something new ---- */

#define FOLLOW_EACH 12       /* of one trace so many, ... */
#define FOLLOW_EVENTS 100000 /* ... if the first trace is no longer, ... */
#define FOLLOW_SECONDS 3.0   /* ... for so long, ... */
#define FOLLOW_MORE 1.0      /* ... or so, if there is a finding already, ... */
#define FOLLOW_SHARE 0.5     /* ... and for so much of the time that is left */

/* A trace that is followed, and what it came from. */
struct trail {
  struct hd_forecast *forecast; /* the first one is the caller's */
  struct hd_followed from;
  size_t at, taken;
};

/* Shows what came of it. */
static void print_followed(const struct predict *p, size_t traces, size_t predictions, size_t findings,
                           uint64_t executions) {
  struct hd_str out;
  if (p->o->quiet || !traces) return;
  hd_str_init(&out);
  hd_str_addf(
      &out,
      "%s%zu of these executions did something new: %zu more order%s from %s, %llu execution%s, %zu finding%s.\n",
      findings ? "\n" : "", traces, predictions, plural(predictions), traces == 1 ? "it" : "them",
      (unsigned long long)executions, plural(executions), findings, plural(findings));
  hd_print(p->fd, &out);
  hd_str_fini(&out);
}

/* Predicts from what the executions of `first` did, and from what those did in turn. */
static int follow(struct predict *p, struct hd_forecast *first, double deadline, struct hd_err *err) {
  const struct hd_observed *o = hd_forecast_observed(first);
  uint32_t detectors = p->o->detectors ? p->o->detectors & ~SOLVING : FOLLOWED_DETECTORS;
  size_t most = (size_t)p->o->follow, n = 1, predictions = p->predictions, findings = p->findings;
  uint64_t executions = p->executions;
  if (!most || o->n > FOLLOW_EVENTS || !detectors) return HD_OK;
  double until = hd_now() + FOLLOW_SHARE * (deadline - hd_now());
  double longest = hd_now() + (p->findings ? FOLLOW_MORE : FOLLOW_SECONDS);
  if (until > longest) until = longest;
  struct trail *trail = hd_alloc((most + 1) * sizeof *trail);
  struct hd_deeds *deeds = hd_deeds_new();
  struct hd_run_trace observed = {o->event, o->n, o->tables};
  hd_deeds_add(deeds, &observed);
  trail[0].forecast = first;
  int rc = HD_OK;
  for (size_t i = 0; i < n && rc == HD_OK; i++) {
    struct trail *t = &trail[i];
    while (rc == HD_OK && n <= most && t->taken < FOLLOW_EACH &&
           hd_forecast_follow(t->forecast, &t->at, deeds, until, &trail[n].from)) {
      struct trail *next = &trail[n++];
      t->taken++;
      rc = foresee(p, NULL, &next->from.trace, detectors, until, &next->forecast, err);
      if (rc == HD_OK) json_array_append_new(p->parts, result_json(next->forecast, "followed"));
    }
  }
  print_followed(p, n - 1, p->predictions - predictions, p->findings - findings, p->executions - executions);
  for (size_t i = 1; i < n; i++) {
    hd_forecast_free(trail[i].forecast);
    hd_followed_fini(&trail[i].from);
  }
  hd_deeds_free(deeds);
  free(trail);
  return rc;
}

/* From one trace; NULL: an execution is recorded, or several were combined. */
static int predict(struct predict *p, const char *trace, const struct hd_run_trace *combined, double deadline,
                   struct hd_err *err) {
  struct hd_forecast *f = NULL;
  int rc =
      foresee(p, trace, combined, p->o->detectors ? p->o->detectors : DEFAULT_DETECTORS, deadline, &f, err);
  if (rc == HD_OK) {
    size_t n;
    const struct hd_forecast_one *one = hd_forecast_list(f, &n);
    for (size_t i = 0; hd_forecast_session(f) && i < n; i++)
      p->untried += one[i].result.result == HD_CONFIRM_UNTRIED;
    print_result(p, f, combined != NULL);
    json_array_append_new(p->parts, result_json(f, combined ? "combined" : trace));
  }
  if (rc == HD_OK && !combined && hd_forecast_session(f)) rc = follow(p, f, deadline, err);
  hd_forecast_free(f);
  return rc;
}

#define COMBINED 32 /* traces out of several runs, at most */

/* From the traces together: each thread as in one of them. */
static int predict_combined(struct predict *p, double deadline, struct hd_err *err) {
  size_t n = (size_t)p->o->nargs;
  struct hd_run_trace *run = hd_alloc((n + 1) * sizeof *run), one;
  struct hd_tr_source **source = hd_alloc((n + 1) * sizeof *source);
  struct hd_event **event = hd_alloc((n + 1) * sizeof *event);
  int rc = HD_OK;
  for (size_t i = 0; i < n && rc == HD_OK; i++) {
    rc = hd_tr_open_file(p->o->args[i], &source[i], err);
    if (rc == HD_OK) rc = hd_tr_collect(source[i], &event[i], &run[i].n, err);
    if (rc == HD_OK) run[i] = (struct hd_run_trace){event[i], run[i].n, source[i]->tables};
  }
  struct hd_combination *c = rc == HD_OK ? hd_combination_new(run, n) : NULL;
  for (int i = 0; i < COMBINED && rc == HD_OK && hd_interrupts() == 0 && hd_now() < deadline; i++) {
    if (!hd_combination_next(c, &one)) break;
    rc = predict(p, NULL, &one, deadline, err);
    free((void *)(uintptr_t)one.event);
  }
  hd_combination_free(c);
  for (size_t i = 0; i < n; i++) {
    free(event[i]);
    hd_tr_close(source[i]);
  }
  free(run);
  free(source);
  free(event);
  return rc;
}

/* What is kept for `heddle report` is that of the last search: it becomes that of all. */
static int keep_summary(struct predict *p, double took, struct hd_err *err) {
  json_t *all = json_pack("{s:s,s:O,s:I,s:f,s:f}", "verdict", p->findings ? "bug" : "bounded", "findings",
                          p->found, "executions", (json_int_t)p->executions, "seconds", took,
                          "executions_per_second", (double)p->executions / took);
  int rc = hd_store_search_update(p->o->out, all, err);
  json_decref(all);
  return rc;
}

static int run(struct predict *p, struct hd_err *err) {
  const struct hd_options *o = p->o;
  double began = hd_now(), deadline = began + o->time;
  double outer = hd_time_begin(deadline + hd_session_grace(o->time));
  int rc = hd_outputs_check(o, err);
  if (rc == HD_OK && *o->after) rc = hd_input_init(&p->input, false, err);
  if (rc == HD_OK && o->nargs == 0) rc = predict(p, NULL, NULL, deadline, err);
  for (int i = 0; i < o->nargs && rc == HD_OK && hd_interrupts() == 0; i++)
    rc = predict(p, o->args[i], NULL, deadline, err);
  if (rc == HD_OK && o->nargs > 1 && hd_interrupts() == 0) rc = predict_combined(p, deadline, err);
  hd_time_end(outer);
  double took = hd_now() - began;
  if (p->summary) {
    json_object_set_new(p->summary, "seconds", json_real(took));
    json_object_set_new(p->summary, "executions_per_second", json_real((double)p->executions / took));
  }
  if (rc == HD_OK) rc = write_json(p, err);
  if (rc == HD_OK && p->summary) rc = keep_summary(p, took, err);
  return rc;
}

int hd_cmd_predict(int argc, char **argv) {
  struct hd_options o;
  struct hd_err err;
  if (hd_options_parse(&o, HD_VERB_PREDICT, argc, argv, &err) != HD_OK) return hd_err_exit(&err);
  if (o.help) return hd_help_verb("predict"), 0;
  if (o.nargs == 0 && !*o.after) {
    hd_fail(&err, HD_EUSAGE, "name a program: heddle predict -- ./test (or a trace of heddle record)");
    return hd_err_exit(&err);
  }
  hd_interrupt_catch();
  struct predict p = {.o = &o,
                      .fd = hd_outputs_own_stdout(&o) ? STDERR_FILENO : STDOUT_FILENO,
                      .input.fd = -1,
                      .parts = json_array(),
                      .found = json_array()};
  int rc = run(&p, &err), code = rc == HD_OK ? 0 : hd_err_exit(&err);
  if (p.findings)
    code = 1;
  else if (rc == HD_OK && (p.untried || hd_interrupts()))
    code = 5;
  hd_input_fini(&p.input);
  hd_vec_free(&p.keys);
  for (size_t i = 0; i < p.identities.n; i++) free(p.identities.v[i]);
  hd_vec_free(&p.identities);
  hd_vec_free(&p.confirmed);
  json_decref(p.parts);
  json_decref(p.found);
  json_decref(p.summary);
  return code;
}

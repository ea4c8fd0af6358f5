/* races.c: data races that the executions of a driver imply, in schedules that it need not come to. Runs in the supervisor.
 *
 * A detector of predict/ reads the trace of each execution, and each race that it predicts is executed with the inputs of that
 * execution: its events in the predicted order, the two accesses next to each other. What the runtime then reports is a
 * finding like any other; what it does not report is none.
 *
 * Invariants
 *  1. Each pair of places is executed once at most, and not if a data race of these places was found before.
 *  2. A plan is executed before memory becomes visible that was not when it was made: then the search restarts. */
#include "concolic/concolic.h"
#include "predict/predict.h"
#include "session/session_int.h"

#include <stdlib.h>
#include <string.h>

#define PREDICT_SECONDS 10 /* for each execution */

struct pair {
  uint64_t pc[2];
};

struct plan {
  struct pair pair;
  uint16_t *step, tail;
  size_t nsteps;
  uint8_t *inputs; /* values of all inputs */
  uint32_t nbytes;
};

struct hd__races {
  struct hd_session *s;
  enum hd_detector detector;
  HD_VEC(struct pair) pair; /* predicted */
  HD_VEC(struct plan) plan;
  size_t head;
  uint64_t executed;
};

struct hd__races *hd__races_new(struct hd_session *s, enum hd_detector d) {
  struct hd__races *r = hd_alloc(sizeof *r);
  r->s = s;
  r->detector = d;
  return r;
}

void hd__races_restart(struct hd__races *r) {
  for (size_t i = 0; i < r->plan.n; i++) {
    free(r->plan.v[i].step);
    free(r->plan.v[i].inputs);
  }
  r->plan.n = r->head = r->pair.n = 0;
}

void hd__races_free(struct hd__races *r) {
  if (!r) return;
  hd__races_restart(r);
  hd_vec_free(&r->plan);
  hd_vec_free(&r->pair);
  free(r);
}

static uint64_t top_pc(const struct hd_finding *f, size_t place) {
  return place < f->nplaces && f->place[place].stack.n ? f->place[place].stack.v[0].pc : 0;
}

static bool is_found(const struct hd__races *r, const struct pair *p) {
  for (size_t i = 0; i < r->s->finding.n; i++) {
    const struct hd_finding *f = r->s->finding.v[i];
    if (f->kind != HD_KIND_DATA_RACE) continue;
    uint64_t a = top_pc(f, 0), b = top_pc(f, 1);
    if ((a == p->pc[0] && b == p->pc[1]) || (a == p->pc[1] && b == p->pc[0])) return true;
  }
  return false;
}

static bool is_step(const struct hd_event *e) {
  return !(e->flags & HD_EV_PLAIN) && !hd_op_is(e->op.kind, HD_TRAIT_UNSCHEDULED);
}

/* The events of the prediction, by thread. */
static void add_plan(struct hd__races *r, const struct hd_prediction *p, const struct hd_event *event,
                     const struct pair *pair) {
  const struct hd_symbolic *sym = hd_control_symbolic(&r->s->worker[0].control);
  struct plan plan = {.pair = *pair,
                      .tail = event[p->event.v[p->event.n - 1]].op.thread,
                      .nbytes = sym->nbytes < HD_MAX_INPUT_BYTES ? sym->nbytes : HD_MAX_INPUT_BYTES};
  plan.step = hd_alloc((p->order.n + p->event.n + 1) * sizeof *plan.step);
  plan.inputs = hd_alloc(plan.nbytes + 1u);
  memcpy(plan.inputs, sym->bytes, plan.nbytes);
  for (size_t i = 0; i < p->order.n + p->event.n - p->late; i++) {
    const struct hd_event *e = &event[i < p->order.n ? p->order.v[i] : p->event.v[p->late + i - p->order.n]];
    if (is_step(e)) plan.step[plan.nsteps++] = e->op.thread;
  }
  hd_vec_push(&r->plan, plan);
}

static void add(struct hd__races *r, const struct hd_prediction *p, const struct hd_event *event) {
  if (p->kind != HD_PREDICTED_RACE || p->event.n != 2) return;
  struct pair pair = {{event[p->event.v[0]].op.pc, event[p->event.v[1]].op.pc}};
  if (pair.pc[0] > pair.pc[1]) pair = (struct pair){{pair.pc[1], pair.pc[0]}};
  for (size_t i = 0; i < r->pair.n; i++)
    if (memcmp(&r->pair.v[i], &pair, sizeof pair) == 0) return;
  hd_vec_push(&r->pair, pair);
  if (!is_found(r, &pair)) add_plan(r, p, event, &pair);
}

void hd__races_look(struct hd__races *r, const struct hd_event *event, size_t n) {
  struct hd_err err;
  size_t count;
  struct hd_event *linked = NULL;
  struct hd_predictions out = {0};
  struct hd_predict_options o = {.detectors = HD_DETECTOR_BIT(r->detector),
                                 .engines = HD_ENGINE_SMT,
                                 .lenient = true,
                                 .seconds = PREDICT_SECONDS,
                                 .libdir = hd_libdir()};
  if (r->s->deadline > 0 && r->s->deadline - hd_now() < o.seconds) o.seconds = r->s->deadline - hd_now();
  struct hd_tr_source *s = hd_tr_record(&(struct hd_tr_recording){.event = event, .n = n});
  bool same = hd_tr_collect(s, &linked, &count, &err) == HD_OK && count == n;
  if (same && o.seconds > 0 && hd_predict(linked, n, s->tables, &o, &out, NULL, &err) == HD_OK)
    for (size_t i = 0; i < out.v.n; i++) add(r, &out.v.v[i], event);
  hd_predictions_fini(&out);
  free(linked);
  hd_tr_close(s);
}

bool hd__races_next(struct hd__races *r, struct hd_cc_plan *plan, const uint8_t **inputs, uint32_t *nbytes) {
  while (r->head < r->plan.n) {
    const struct plan *p = &r->plan.v[r->head++];
    if (is_found(r, &p->pair)) continue;
    *plan = (struct hd_cc_plan){.step = p->step, .nsteps = p->nsteps, .tail = p->tail};
    *inputs = p->inputs;
    *nbytes = p->nbytes;
    r->executed++;
    return true;
  }
  return false;
}

void hd__races_report(const struct hd__races *r, struct hd_str *out) {
  size_t found = 0;
  for (size_t i = 0; i < r->pair.n; i++) found += is_found(r, &r->pair.v[i]);
  hd_str_addf(out, "data races by %s: %zu predicted, %zu of them found, %llu executed for it\n",
              hd_detector_name[r->detector], r->pair.n, found, (unsigned long long)r->executed);
}

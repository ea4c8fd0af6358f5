/* signal.c: signals that come before the wait that they should end. Runs in the supervisor.
 *
 * A signal that nobody waits for has no effect. Where a thread waited and was woken, the signal may also come first, if all
 * reads before the wait have their values: the thread does not look whether there is something to wait for, or not under
 * the lock of the signal. Then it waits for another signal, or for ever. Edges from a wait to a signal are an observed order
 * only, and do not bind a wait that has not happened.
 *
 * The planner alone answers: the constraints of the solver have these edges. */
#include "model/depend.h"
#include "predict/plan.h"

#include <stdlib.h>

#define SIGNALS 8 /* of those after a wait, the first and the last ones that are tried */

static enum hd_effect effect_of(const struct hd__trace *tr, uint32_t e) {
  return hd_op_effect(tr->event[e].op.kind, tr->event[e].flags);
}

bool hd__waits(const struct hd__trace *tr, uint32_t e) {
  const struct hd_event *w = &tr->event[e];
  return effect_of(tr, e) == HD_EFF_QUEUE && hd_op_object(w->op.kind) == HD_OBJ_COND &&
         !hd_wakes_spuriously(w->nchoices, w->choice);
}

bool hd__may_miss(const struct hd__trace *tr, uint32_t wait, uint32_t signal) {
  enum hd_effect effect = effect_of(tr, signal);
  return (effect == HD_EFF_NOTIFY || effect == HD_EFF_NOTIFY_ALL) && hd__waits(tr, wait) &&
         tr->event[signal].op.object == tr->event[wait].op.object;
}

struct search {
  struct hd__run *run;
  struct hd_detector_stats *st;
  struct hd__index seen; /* pairs of places: 1 looked at, 2 found */
};

/* Returns whether the signal can come before the wait. */
static bool try_signal(struct search *x, uint32_t wait, uint32_t signal) {
  const struct hd__trace *tr = x->run->tr;
  uint64_t key = hd__hash(hd__place_of(tr, wait, 0)) + 11 * hd__hash(hd__place_of(tr, signal, 0));
  uint32_t *seen = hd__index_at(&x->seen, key | 1), half = x->run->o->window / 2;
  if (*seen & 2) return true;
  x->st->candidates += !*seen;
  *seen |= 1;
  if (hd__run_full(x->run, HD_DETECT_SIGNAL)) {
    x->st->skipped++;
    return false;
  }
  if (signal - wait > half) {
    x->st->cut++;
    return false;
  }
  /* Also what follows the signal, such as the release of its lock. */
  uint32_t lo = wait > half ? wait - half : 0, hi = tr->n - signal > half ? signal + half : tr->n;
  uint32_t *done = hd__ideal_up_to(tr, lo), *upto = hd__ideal_up_to(tr, hi);
  struct hd__goal goal = {{wait}, 1, signal, HD__NONE, HD__NONE};
  struct hd_prediction p = {
      .kind = HD_PREDICTED_SIGNAL, .detector = hd_detector_name[HD_DETECT_SIGNAL], .late = 1};
  hd_vec_push(&p.event, signal);
  hd_vec_push(&p.event, wait);
  enum hd_smt_answer a = hd__plan_query(x->run, HD_DETECT_SIGNAL, done, upto, &goal, &p, true);
  free(done);
  free(upto);
  x->st->solved += a != HD_SMT_UNKNOWN;
  x->st->unknown += a == HD_SMT_UNKNOWN;
  if (a == HD_SMT_SAT) *hd__index_at(&x->seen, key | 1) |= 2;
  return a == HD_SMT_SAT;
}

/* The later the signal that comes first, the fewer are left to end the wait. */
static void look_at(struct search *x, uint32_t wait) {
  const struct hd__trace *tr = x->run->tr;
  uint32_t first[SIGNALS], last[SIGNALS], n = 0;
  for (uint32_t e = wait + 1; e < tr->n; e++) {
    if (hd__thread(tr, e) == hd__thread(tr, wait) || !hd__may_miss(tr, wait, e)) continue;
    if (n < SIGNALS) first[n] = e;
    last[n++ % SIGNALS] = e;
  }
  for (uint32_t i = 0; i < n && i < SIGNALS; i++)
    if (try_signal(x, wait, last[(n - 1 - i) % SIGNALS])) return;
  for (uint32_t i = 0; n > SIGNALS && i < SIGNALS; i++)
    if (try_signal(x, wait, first[i])) return;
}

void hd__detect_signals(struct hd__run *r) {
  double start = hd_now();
  struct search x = {.run = r, .st = &r->stats->detector[HD_DETECT_SIGNAL]};
  for (uint32_t e = 0; e < r->tr->n; e++)
    if (hd__waits(r->tr, e)) look_at(&x, e);
  hd__index_fini(&x.seen);
  x.st->seconds += hd_now() - start;
}

/* decisions.c: which events of a trace depend on what their threads have read. Runs in the supervisor.
 *
 * Without recorded branches, every event of a thread may depend on every read before it. With them, what a read sees
 * matters only to the next decision of its thread, and to the values that its thread writes before that (Huang, Meredith
 * and Rosu, PLDI 2014, section 3: control flow abstraction). A read that matters to nothing may see any value.
 *
 * Which object an instruction accesses may depend on a read as well. An instruction that accessed several objects in the
 * trace counts as a decision. One that accessed only one may be a decision that the trace does not show: so an order in which
 * reads see other values is never certain. */
#include "predict/predict_int.h"

#include <stdlib.h>

static bool has_object(const struct hd_event *e) {
  enum hd_obj_kind kind = hd_op_object(e->op.kind);
  return kind != HD_OBJ_NONE && kind != HD_OBJ_THREAD && kind != HD_OBJ_IO;
}

/* Whether what the operation does depends on what it reads itself: it waits for a value, or compares it. */
static bool is_test(const struct hd_event *e) { return hd_op_payload(e->op.kind) != HD_PAYLOAD_ACCESS; }

static uint64_t place_of(const struct hd_event *e) { return e->place ? e->place : e->op.pc; }

/* What the trace shows of an instruction. */
enum { UNSEEN, SAME, VARIES };

struct places {
  struct hd__index state, first; /* by place: UNSEEN, ...; the first event there */
};

static void look_at(struct places *p, const struct hd__trace *tr, uint32_t e) {
  const struct hd_event *ev = &tr->event[e];
  if (!has_object(ev) || !place_of(ev)) return;
  uint32_t *state = hd__index_at(&p->state, place_of(ev)), *first = hd__index_at(&p->first, place_of(ev));
  if (*state == UNSEEN) *state = SAME, *first = e;
  if (tr->event[*first].op.object != ev->op.object) *state = VARIES;
}

static bool decides(struct places *p, const struct hd_event *e) {
  if (hd_op_is(e->op.kind, HD_TRAIT_DECIDES)) return true;
  return has_object(e) && (!place_of(e) || *hd__index_at(&p->state, place_of(e)) == VARIES);
}

void hd__trace_decisions(struct hd__trace *tr) {
  uint32_t e = 0;
  while (e < tr->n && !hd_op_is(tr->event[e].op.kind, HD_TRAIT_DECIDES)) e++;
  if (e == tr->n) return;
  struct places p = {0};
  bool *read = hd_alloc(tr->nthreads + 1); /* the thread has read since its last decision */
  tr->decides = hd_alloc((size_t)tr->n + 1);
  for (e = 0; e < tr->n; e++) look_at(&p, tr, e);
  for (e = 0; e < tr->n; e++) {
    bool *pending = &read[hd__thread(tr, e)];
    if (*pending && decides(&p, &tr->event[e])) {
      tr->decides[e] = HD__DECIDES;
      *pending = false;
    }
    if (!(tr->access_kind[e] & HD__READS)) continue;
    *pending = true;
    if (is_test(&tr->event[e])) tr->decides[e] |= HD__TESTS;
  }
  hd__index_fini(&p.state);
  hd__index_fini(&p.first);
  free(read);
}

uint32_t hd__guard(const struct hd__trace *tr, uint32_t *at) {
  while (*at != HD__NONE) {
    uint32_t e = *at = hd__before(tr, *at);
    if (e == HD__NONE) break;
    if (tr->decides[e] & HD__DECIDES) *at = HD__NONE; /* what is before it matters to it */
    if (tr->access_kind[e] & HD__READS) return e;
  }
  return HD__NONE;
}

/* model.c: predicts the next event, for both sides of the binary format (codec.h). Runs in the supervisor. */
#include "trace/codec.h"

#include <stdlib.h>

#define FIRST_SHAPES 64

void hd__model_init(struct hd__model *m, size_t nthreads) {
  *m = (struct hd__model){.nshapes = 1,
                          .at = hd_alloc(nthreads * sizeof *m->at),
                          .shape = hd_alloc(FIRST_SHAPES * sizeof *m->shape),
                          .room = FIRST_SHAPES,
                          .value = hd_alloc(SLOTS * sizeof *m->value),
                          .given = hd_alloc(SLOTS * sizeof *m->given)};
}

void hd__model_fini(struct hd__model *m) {
  free(m->at);
  free(m->shape);
  free(m->value);
  free(m->given);
}

uint32_t hd__model_add(struct hd__model *m, const struct hd_event *e) {
  if (m->nshapes == SHAPES) return 0;
  if (m->nshapes == m->room) m->shape = hd_vec_grow(m->shape, &m->room, m->room + 1, sizeof *m->shape);
  m->shape[m->nshapes] = (struct hd__shape){.op = e->op.kind, .flags = e->flags, .place = e->place};
  return m->nshapes++;
}

void hd__model_learn(struct hd__model *m, const struct hd_event *e, uint32_t number) {
  struct hd__shape *s = &m->shape[number];
  m->number++;
  m->thread = e->op.thread;
  m->shape[m->at[e->op.thread]].follows = number;
  m->at[e->op.thread] = number;
  /* A stride is trusted once it was seen twice in a row. */
  uint64_t delta = e->op.object - s->object;
  if (delta == s->delta) s->stride = delta;
  s->delta = delta;
  s->object = e->op.object;
  s->size = e->op.size;
  for (int i = 0; i < HD_EVENT_NFIELDS; i++) s->number[i] = hd_field_get(e, &hd_event_fields[i]);
  const struct hd_field *f = hd_payload_table[hd_op_payload(e->op.kind)].field;
  for (int i = 0; f[i].key; i++) {
    if (f[i].type == HD_FIELD_FOUND)
      s->known = e->op.access.known;
    else
      s->field[i] = hd_field_get(&e->op, &f[i]);
  }
  if (e->flags & HD_EV_VALUE) m->value[hd__value_slot(e->op.object)] = e->value;
  if (hd_event_gives(e)) m->given[hd__given_slot(e->op.kind, e->op.object)] = m->number;
  uint64_t second = hd_event_gives_second(e);
  if (second) m->given[hd__mix(second >> 3) & (SLOTS - 1)] = m->number;
}

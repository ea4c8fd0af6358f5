/* objects.c: small numbers for the objects that operations touch, and for abstract events, for samplers that count or
 * remember by them (strategy_uniform.c, strategy_surw.c, strategy_rff.c). Runs in the tested process; the table is in
 * the search area.
 *
 * Numbers count from 1, in the order in which objects were met; 0 stands for all objects beyond HD_OBJECTS. Memory counts
 * by granules, so that whatever overlaps touches a common object, or where that does not matter by the first byte, so that
 * neighbours are distinct (fine). Workers that add at the same time may give one number to two objects: the samplers
 * then take two objects for one. */
#include "explore/explore_int.h"
#include "model/unit.h"

#define TABLE (2 * HD_OBJECTS)

static void name(const struct hd_objects *o, enum hd_obj_kind *kind, uint64_t *object) {
  if (*kind == HD_OBJ_IO) *object = 0; /* some are about all descriptors */
  *kind = (enum hd_obj_kind)hd_object_family(*kind);
  if (*kind == HD_OBJ_MEMORY && !o->fine) *object &= ~7ull;
}

static uint32_t place(enum hd_obj_kind kind, uint64_t object) {
  return (uint32_t)(hd_mix64(object * 16 + (uint64_t)kind) % TABLE);
}

/* pre: table[i] is free. */
static unsigned append(struct hd_objects *o, enum hd_obj_kind kind, uint64_t object, uint32_t i) {
  if (o->n >= HD_OBJECTS - 1) return 0;
  uint32_t n = o->n + 1;
  o->object[n] = object;
  o->kind[n] = (uint8_t)kind;
  o->table[i] = (uint16_t)n;
  o->n = n;
  return n;
}

unsigned hd__object_number(struct hd_objects *o, enum hd_obj_kind kind, uint64_t object) {
  name(o, &kind, &object);
  uint32_t i = place(kind, object);
  for (; o->table[i]; i = (i + 1) % TABLE)
    if (o->object[o->table[i]] == object && o->kind[o->table[i]] == kind) return o->table[i];
  return append(o, kind, object, i);
}

static void add(struct hd_objects *o, struct hd_touch *t, unsigned kind, uint64_t object, unsigned effect) {
  if (kind == HD_OBJ_NONE || kind == HD_OBJ_THREAD) return;
  t->object[t->n] = (uint16_t)hd__object_number(o, (enum hd_obj_kind)kind, object);
  t->effect[t->n++] = (uint8_t)effect;
}

struct hd_touch hd__touch_of(struct hd_objects *o, const struct hd_op *op, unsigned flags) {
  struct hd_touch t = {.n = 0};
  const struct hd_op_info *info = &hd_op_table[op->kind];
  if (hd_op_payload(op->kind) == HD_PAYLOAD_AWAIT) {
    for (unsigned i = 0; i < HD_AWAIT_PLACES; i++) {
      unsigned size;
      uint64_t at = hd_await_place(op, i, &size);
      if (size) add(o, &t, HD_OBJ_MEMORY, at, HD_EFF_READ);
    }
    return t;
  }
  add(o, &t, info->first.object, op->object, hd_op_effect(op->kind, flags));
  if (info->second.object != HD_OBJ_NONE)
    add(o, &t, info->second.object, hd_op_second_object(op), hd_op_second(op->kind, flags));
  return t;
}

void hd__objects_forget(struct hd_objects *o) {
  for (unsigned i = 0; o->n && i < TABLE; i++) o->table[i] = 0;
  o->n = 0;
}

void hd__objects_save(const struct hd_objects *o, struct hd_writer *out) {
  hd_put_number(out, o->n);
  for (uint32_t i = 1; i <= o->n; i++) {
    hd_put_number(out, o->kind[i]);
    hd_put_address(out, o->object[i]);
  }
}

void hd__objects_load(struct hd_objects *o, struct hd_reader *r) {
  hd__objects_forget(o);
  for (uint64_t n = hd_get_number(r, HD_OBJECTS - 1); n > 0 && !r->bad; n--) {
    enum hd_obj_kind kind = (enum hd_obj_kind)hd_get_number(r, UINT8_MAX);
    uint64_t object = hd_get_address(r);
    uint32_t i = place(kind, object);
    while (o->table[i]) i = (i + 1) % TABLE; /* one that is there twice keeps its numbers */
    append(o, kind, object, i);
  }
}

/* ---- abstract events ---- */

#define PLACES (2 * HD_ABSTRACTS)

static uint32_t place_of(uint64_t pc, unsigned object) {
  return (uint32_t)(hd_mix64(pc * HD_OBJECTS + object) % PLACES);
}

static unsigned append_event(struct hd_abstracts *a, struct hd_abstract e, uint32_t i) {
  if (a->n >= HD_ABSTRACTS - 1) return 0;
  uint32_t n = a->n + 1;
  a->event[n] = e;
  a->table[i] = (uint16_t)n;
  a->n = n;
  return n;
}

unsigned hd__abstract_of(struct hd_abstracts *a, const struct hd_op *op, const struct hd_touch *t, int add) {
  if (!t->n || !t->object[0]) return 0;
  uint32_t i = place_of(op->pc, t->object[0]);
  for (; a->table[i]; i = (i + 1) % PLACES) {
    const struct hd_abstract *e = &a->event[a->table[i]];
    if (e->pc == op->pc && e->object == t->object[0]) return a->table[i];
  }
  return add ? append_event(a, (struct hd_abstract){.pc = op->pc, .object = t->object[0]}, i) : 0;
}

void hd__abstracts_save(const struct hd_abstracts *a, struct hd_writer *out) {
  hd__objects_save(&a->objects, out);
  hd_put_number(out, a->n);
  for (uint32_t i = 1; i <= a->n; i++) {
    hd_put_address(out, a->event[i].pc);
    hd_put_number(out, a->event[i].object);
    hd_put_number(out, (uint64_t)(a->event[i].gives | a->event[i].sees << 1));
  }
}

void hd__abstracts_load(struct hd_abstracts *a, struct hd_reader *r) {
  hd__objects_load(&a->objects, r);
  for (uint64_t n = hd_get_number(r, HD_ABSTRACTS - 1); n > 0 && !r->bad; n--) {
    struct hd_abstract e = {.pc = hd_get_address(r)};
    e.object = (uint16_t)hd_get_number(r, HD_OBJECTS - 1);
    uint64_t flags = hd_get_number(r, 3);
    e.gives = flags & 1;
    e.sees = (uint8_t)(flags >> 1);
    uint32_t i = place_of(e.pc, e.object);
    while (a->table[i]) i = (i + 1) % PLACES;
    append_event(a, e, i);
  }
}

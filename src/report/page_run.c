/* page_run.c: a trace as JSON for the report page. Runs in the supervisor.
 *
 * An event is a list: thread, operation, object, place, flags, from, value, payload, choice, holders. Trailing zeros
 * are omitted. Objects and places are entries of their tables plus 1, or 0; the object of an operation on threads is a
 * thread. Values are text, since JavaScript has no 64-bit numbers. The payload is a list of its fields in the order of
 * hd_page_operations, null where one is unknown; the choice is text. For an acquisition or release of a lock, holders
 * is a list: the lock, then the threads that hold it afterwards. */
#include "model/holders.h"
#include "report/page.h"
#include "report/report.h"
#include "report/report_int.h"

#include <stdlib.h>

struct run {
  const struct hd_tr_tables *t;
  const struct hd_event *event;
  size_t n;
  HD_VEC(uint64_t) addr; /* sorted, each once */
  HD_VEC(struct hd_hold) room;
  struct hd_holders holders;
};

static const struct hd_field *fields_of(const struct hd_event *e) {
  return hd_payload_table[hd_op_payload(e->op.kind)].field;
}

static void find_objects(struct run *r) {
  for (size_t i = 0; i < r->n; i++) {
    const struct hd_event *e = &r->event[i];
    if (hd_op_object(e->op.kind) != HD_OBJ_THREAD && e->op.object) hd_vec_push(&r->addr, e->op.object);
    for (const struct hd_field *f = fields_of(e); f->key; f++)
      if (f->type == HD_FIELD_OBJECT && hd_field_get(&e->op, f))
        hd_vec_push(&r->addr, hd_field_get(&e->op, f));
  }
  if (r->addr.n) qsort(r->addr.v, r->addr.n, sizeof *r->addr.v, hd_by_number);
  size_t n = 0;
  for (size_t i = 0; i < r->addr.n; i++)
    if (!n || r->addr.v[n - 1] != r->addr.v[i]) r->addr.v[n++] = r->addr.v[i];
  r->addr.n = n;
}

static json_int_t object_entry(const struct run *r, uint64_t addr) {
  const uint64_t *p =
      r->addr.n ? bsearch(&addr, r->addr.v, r->addr.n, sizeof *r->addr.v, hd_by_number) : NULL;
  return p ? p - r->addr.v + 1 : 0;
}

static json_t *objects(const struct run *r) {
  json_t *all = json_array();
  for (size_t i = 0; i < r->addr.n; i++) {
    char hex[24];
    snprintf(hex, sizeof hex, "0x%llx", (unsigned long long)r->addr.v[i]);
    json_array_append_new(all, json_pack("[n,s]", hex));
  }
  for (size_t i = 0; i < r->t->object.n; i++) {
    json_int_t k = object_entry(r, r->t->object.v[i].addr);
    json_t *entry = k ? json_array_get(all, (size_t)k - 1) : NULL;
    if (entry && json_is_null(json_array_get(entry, 0)))
      json_array_set_new(entry, 0, hd_json_text(r->t->object.v[i].name));
  }
  return all;
}

/* As in the story (story.c). */
static json_t *value(uint64_t v, uint32_t size) {
  struct hd_str b;
  hd_str_init(&b);
  hd__text_value(&b, v, size);
  json_t *j = json_string(b.s);
  hd_str_fini(&b);
  return j;
}

static json_t *field(const struct run *r, const struct hd_op *op, const struct hd_field *f) {
  uint64_t v = hd_field_get(op, f);
  if (!hd_field_recorded(op, f)) return json_null();
  if (f->type == HD_FIELD_FOUND) return value(v, op->size);
  if (f->type == HD_FIELD_ORDER) return json_string(hd_memory_order_text[v]);
  return json_integer(f->type == HD_FIELD_OBJECT ? object_entry(r, v) : (json_int_t)v);
}

static json_t *payload(const struct run *r, const struct hd_event *e) {
  json_t *all = json_array();
  bool any = false;
  for (const struct hd_field *f = fields_of(e); f->key; f++) {
    if (f->type >= HD_FIELD_RUN) continue;
    any |= hd_field_recorded(&e->op, f);
    json_array_append_new(all, field(r, &e->op, f));
  }
  if (any) return all;
  json_decref(all);
  return json_integer(0);
}

static json_t *choice(const struct hd_event *e) {
  return e->nchoices > 1 ? json_sprintf("%u of %u", e->choice, e->nchoices) : json_integer(0);
}

/* Tracks lock holders. */
static json_t *holders(struct run *r, const struct hd_event *e) {
  if (r->holders.n == r->holders.cap) {
    r->room.v = hd_vec_grow(r->room.v, &r->room.cap, r->holders.n + 16, sizeof *r->room.v);
    r->holders.hold = r->room.v;
    r->holders.cap = r->room.cap;
  }
  uint64_t lock = hd_held_object(&e->op, e->flags);
  hd_holders_event(&r->holders, &e->op, e->flags, 0);
  if (!lock) return json_integer(0);
  json_t *all = json_pack("[I]", object_entry(r, lock));
  size_t at = 0;
  const struct hd_hold *h;
  while ((h = hd_holders_of_object(&r->holders, lock, &at)))
    json_array_append_new(all, json_integer(h->thread));
  return all;
}

static bool is_zero(json_t *j) { return json_is_integer(j) && json_integer_value(j) == 0; }

static json_t *event(struct run *r, const struct hd_event *e) {
  bool on_thread = hd_op_object(e->op.kind) == HD_OBJ_THREAD;
  json_int_t object = on_thread ? (json_int_t)e->op.object + 1 : object_entry(r, e->op.object);
  json_t *a = json_pack("[I,i,I,I,i,I]", (json_int_t)e->op.thread, e->op.kind, object, (json_int_t)e->place,
                        e->flags, (json_int_t)e->from);
  json_array_append_new(a, e->flags & HD_EV_VALUE ? value(e->value, e->op.size) : json_integer(0));
  json_array_append_new(a, payload(r, e));
  json_array_append_new(a, choice(e));
  json_array_append_new(a, holders(r, e));
  for (size_t n = json_array_size(a); n > 2 && is_zero(json_array_get(a, n - 1)); n--)
    json_array_remove(a, n - 1);
  return a;
}

static json_t *threads(const struct run *r) {
  json_t *all = json_array();
  for (size_t i = 0; i < r->t->thread.n; i++) {
    const struct hd_tr_thread *t = &r->t->thread.v[i];
    json_array_append_new(
        all, json_pack("[o,o,o]", hd_json_text(t->name), hd_json_text(t->called), hd_json_text(t->function)));
  }
  return all;
}

static json_t *places(const struct run *r) {
  json_t *all = json_array();
  for (size_t i = 0; i < r->t->place.n; i++) {
    const struct hd_tr_place *p = &r->t->place.v[i];
    json_array_append_new(
        all, json_pack("[o,I,o]", hd_json_text(p->file), (json_int_t)p->line, hd_json_text(p->function)));
  }
  return all;
}

int hd_page_run(struct hd_tr_source *s, size_t most, json_t **out, struct hd_err *err) {
  struct hd_event *all;
  size_t n;
  int rc = hd_tr_collect(s, &all, &n, err);
  if (rc == HD_OK) {
    size_t left_out = n > most ? n - most : 0;
    struct run r = {.t = s->tables, .event = all + left_out, .n = n - left_out};
    find_objects(&r);
    json_t *events = json_array();
    for (size_t i = 0; i < r.n; i++) json_array_append_new(events, event(&r, &r.event[i]));
    *out = json_pack("{s:I,s:o,s:o,s:o,s:o}", "left_out", (json_int_t)left_out, "threads", threads(&r),
                     "places", places(&r), "objects", objects(&r), "events", events);
    hd_vec_free(&r.addr);
    hd_vec_free(&r.room);
  }
  free(all);
  return rc;
}

/* For each operation: its name, the kind of its object, its effect, its effect when it fails, its effect on a second
 * object, and the keys of its payload. */
json_t *hd_page_operations(void) {
  json_t *all = json_array();
  for (unsigned k = 0; k < HD_OP_COUNT; k++) {
    json_t *keys = json_array();
    for (const struct hd_field *f = hd_payload_table[hd_op_payload(k)].field; f->key; f++)
      if (f->type < HD_FIELD_RUN) json_array_append_new(keys, json_string(f->key));
    json_array_append_new(all, json_pack("[s,s,s,s,s,o]", hd_op_text(k), hd_object_word(hd_op_object(k)),
                                         hd_effect_word[hd_op_effect(k, 0)],
                                         hd_effect_word[hd_op_effect(k, HD_EV_FAILED)],
                                         hd_effect_word[hd_op_second(k, 0)], keys));
  }
  return all;
}

/* page_run.c: a trace as the report page wants it. Runs in the supervisor.
 *
 * An event is a list: thread, operation, object, place, flags, from, value, aux. Zeros at its end are left out. Objects
 * and places are entries of their tables plus 1, 0 is none; the object of an operation on threads is a thread. Values
 * are text, since JavaScript has no 64-bit numbers. */
#include "report/report.h"

#include <stdlib.h>

struct run {
  const struct hd_tr_tables *t;
  const struct hd_tr_event *event;
  size_t n;
  HD_VEC(uint64_t) addr; /* sorted, each once */
};

static int by_address(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static bool aux_is_object(const struct hd_tr_event *e) {
  const char *key;
  return !(e->flags & HD_EV_FOUND) && hd_tr_aux_kind(e->op, &key) == HD_TR_AUX_OBJECT;
}

static void find_objects(struct run *r) {
  for (size_t i = 0; i < r->n; i++) {
    const struct hd_tr_event *e = &r->event[i];
    if (hd_op_object[e->op] != HD_OBJ_THREAD && e->object) hd_vec_push(&r->addr, e->object);
    if (aux_is_object(e) && e->aux) hd_vec_push(&r->addr, e->aux);
  }
  if (r->addr.n) qsort(r->addr.v, r->addr.n, sizeof *r->addr.v, by_address);
  size_t n = 0;
  for (size_t i = 0; i < r->addr.n; i++)
    if (!n || r->addr.v[n - 1] != r->addr.v[i]) r->addr.v[n++] = r->addr.v[i];
  r->addr.n = n;
}

static json_int_t object_entry(const struct run *r, uint64_t addr) {
  const uint64_t *p = r->addr.n ? bsearch(&addr, r->addr.v, r->addr.n, sizeof *r->addr.v, by_address) : NULL;
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

static json_t *value(uint64_t v, uint32_t size) {
  struct hd_str b;
  hd_str_init(&b);
  hd_tr_value(&b, v, size);
  json_t *j = json_string(b.s);
  hd_str_fini(&b);
  return j;
}

static json_t *aux(const struct run *r, const struct hd_tr_event *e) {
  if (e->flags & HD_EV_FOUND) return value(e->aux, e->size);
  return json_integer(aux_is_object(e) ? object_entry(r, e->aux) : (json_int_t)e->aux);
}

static bool is_zero(json_t *j) { return json_is_integer(j) && json_integer_value(j) == 0; }

static json_t *event(const struct run *r, const struct hd_tr_event *e) {
  bool on_thread = hd_op_object[e->op] == HD_OBJ_THREAD;
  json_int_t object = on_thread ? (json_int_t)e->object + 1 : object_entry(r, e->object);
  json_t *a = json_pack("[I,i,I,I,i,I]", (json_int_t)e->thread, e->op, object, (json_int_t)e->place, e->flags,
                        (json_int_t)e->from);
  json_array_append_new(a, e->flags & HD_EV_VALUE ? value(e->value, e->size) : json_integer(0));
  json_array_append_new(a, aux(r, e));
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
  struct hd_tr_event *all;
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
  }
  free(all);
  return rc;
}

json_t *hd_page_operations(void) {
  static const char *const object[] = {
      [HD_OBJ_NONE] = "",         [HD_OBJ_THREAD] = "thread", [HD_OBJ_MEMORY] = "memory",
      [HD_OBJ_IO] = "io",         [HD_OBJ_STREAM] = "io",     [HD_OBJ_FUTEX] = "futex",
      [HD_OBJ_MUTEX] = "mutex",   [HD_OBJ_COND] = "cond",     [HD_OBJ_ONCE] = "once",
      [HD_OBJ_RWLOCK] = "rwlock", [HD_OBJ_SEM] = "sem",       [HD_OBJ_BARRIER] = "barrier",
  };
  static const char *const effect[] = {[HD_EFF_NONE] = "",
                                       [HD_EFF_READ] = "read",
                                       [HD_EFF_WRITE] = "write",
                                       [HD_EFF_ACQUIRE] = "acquire",
                                       [HD_EFF_RELEASE] = "release"};
  json_t *all = json_array();
  for (int k = 0; k < HD_OP_COUNT; k++) {
    const char *key = "";
    if (hd_tr_aux_kind((enum hd_op_kind)k, &key) == HD_TR_AUX_NONE) key = "";
    json_array_append_new(all, json_pack("[s,s,s,s]", hd_op_text[k], object[hd_op_object[k]],
                                         effect[hd_op_effect[k]], key ? key : ""));
  }
  return all;
}

/* recording.c: turns the runtime's recording in shared memory into a trace. Runs in the supervisor.
 *
 * It makes two passes over the events: one for the tables, one that yields them. The tested process may have
 * overwritten any of them, so every field that is out of range is replaced by a valid one. */
#include "trace/trace_int.h"

#include <stdlib.h>

struct recording {
  struct hd_tr_source source;
  struct hd_tr_recording r;
  struct hd_tr_tables tables;
  struct hd__map place; /* program counter to entry plus 1 */
  struct hd__map known; /* objects whose names were looked up */
  struct hd__linker *linker;
  size_t pos;                        /* of the recording */
  uint64_t number;                   /* of the last event */
  HD_VEC(uint32_t) created;          /* entries plus 1 of the threads in order of creation */
  size_t ncreated;                   /* how many of them the second pass has reached */
  uint32_t implied[HD_MAX_THREADS];  /* entry plus 1 of a thread without a creation event */
  uint32_t current[HD_MAX_THREADS];  /* entry plus 1 of the thread that has the number now */
  uint32_t children[HD_MAX_THREADS]; /* number of threads it has created */
};

/* Replaces control characters, which a terminal would interpret. */
static char *printable(const char *s, size_t max) {
  size_t n = strnlen(s, max);
  if (!n) return NULL;
  char *out = hd_strndup(s, n);
  for (char *c = out; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
  return out;
}

static uint32_t add_thread(struct recording *r, char *name, unsigned number) {
  struct hd_tr_thread t = {.name = hd__keep(&r->tables, name)};
  if (r->r.thread_name)
    t.called = hd__keep(&r->tables, printable(r->r.thread_name[number], sizeof r->r.thread_name[number]));
  hd_vec_push(&r->tables.thread, t);
  return (uint32_t)r->tables.thread.n;
}

static unsigned number_of(uint64_t thread) { return thread < HD_MAX_THREADS ? (unsigned)thread : 0; }

/* The entry plus 1 of the thread that has that number. A thread without a creation event is named by its number. */
static uint32_t thread_entry(struct recording *r, uint64_t thread) {
  unsigned number = number_of(thread);
  if (!r->current[number])
    r->current[number] = r->implied[number] =
        add_thread(r, number ? hd_sprintf("#%u", number) : hd_strdup("T0"), number);
  return r->current[number];
}

static void create_thread(struct recording *r, const struct hd_event *e) {
  unsigned number = number_of(e->op.object);
  uint32_t parent = thread_entry(r, e->op.thread);
  unsigned nth = ++r->children[number_of(e->op.thread)];
  const char *base = r->tables.thread.v[parent - 1].name;
  if (r->tables.thread.n < HD_TR_MAX_THREADS || !r->current[number])
    r->current[number] =
        add_thread(r, parent == 1 ? hd_sprintf("T%u", nth) : hd_sprintf("%s.%u", base, nth), number);
  r->children[number] = 0;
  hd_vec_push(&r->created, r->current[number]);
}

/* The operation; a note in place of an invalid one. */
static unsigned op_of(const struct hd_event *e) {
  return e->op.kind > HD_OP_NONE && e->op.kind < HD_OP_COUNT ? e->op.kind : HD_OP_NOTE;
}

/* A failed creation has no object. */
static bool creates(const struct hd_event *e) {
  return hd_op_effect(op_of(e), 0) == HD_EFF_SPAWN && number_of(e->op.object) != 0;
}

static uint32_t place_entry(struct recording *r, uint64_t pc) {
  if (!pc) return 0;
  uint64_t *at = hd__map_at(&r->place, pc);
  if (*at || r->tables.place.n >= HD_TR_MAX_TABLE) return (uint32_t)*at;
  struct hd_tr_place p = {.pc = pc};
  char *file = NULL, *function = NULL;
  if (r->r.locate) r->r.locate(r->r.arg, pc, &file, &p.line, &function);
  p.file = hd__keep(&r->tables, file);
  p.function = hd__keep(&r->tables, function);
  if (!p.file) p.line = 0;
  hd_vec_push(&r->tables.place, p);
  *at = r->tables.place.n;
  return (uint32_t)r->tables.place.n;
}

static void name_object(struct recording *r, uint64_t addr) {
  if (!r->r.name || !addr || addr == UINT64_MAX || r->tables.object.n >= HD_TR_MAX_TABLE) return;
  uint64_t *known = hd__map_at(&r->known, addr);
  if (*known) return;
  *known = 1;
  const char *name = hd__keep(&r->tables, r->r.name(r->r.arg, addr));
  if (name) hd_vec_push(&r->tables.object, ((struct hd_tr_object){addr, name}));
}

static void fill_tables(struct recording *r) {
  r->tables.command = hd__keep(&r->tables, r->r.command ? hd_strdup(r->r.command) : NULL);
  thread_entry(r, 0);
  for (size_t i = 0; i < r->r.n; i++) {
    const struct hd_event *e = &r->r.event[i];
    if (r->r.kept && !r->r.kept[i]) continue;
    r->tables.nevents++;
    unsigned op = op_of(e), kind = hd_op_object(op);
    uint32_t t = thread_entry(r, e->op.thread);
    if (creates(e))
      create_thread(r, e);
    else if (kind == HD_OBJ_THREAD)
      thread_entry(r, e->op.object);
    else if (kind != HD_OBJ_NONE && kind != HD_OBJ_IO)
      name_object(r, e->op.object);
    for (const struct hd_field *f = hd_payload_table[hd_op_payload(op)].field; f->key; f++) {
      uint64_t v = hd_field_get(&e->op, f);
      if (f->type == HD_FIELD_OBJECT) name_object(r, v);
      if (f->type == HD_FIELD_THREAD && v) thread_entry(r, v - 1);
    }
    uint32_t place = place_entry(r, e->op.pc);
    struct hd_tr_thread *thread = &r->tables.thread.v[t - 1];
    if (hd_op_effect(op, 0) == HD_EFF_BEGIN && place && r->tables.place.v[place - 1].function &&
        !thread->function)
      thread->function = r->tables.place.v[place - 1].function;
  }
}

static int next(struct hd_tr_source *s, struct hd_event *out, struct hd_err *err) {
  (void)err;
  struct recording *r = (struct recording *)s;
  while (r->pos < r->r.n && r->r.kept && !r->r.kept[r->pos]) r->pos++;
  if (r->pos == r->r.n) return 0;
  const struct hd_event *e = &r->r.event[r->pos++];
  unsigned op = op_of(e);
  *out = (struct hd_event){.op = {.kind = (uint8_t)op,
                                  .thread = (uint16_t)(r->current[number_of(e->op.thread)] - 1),
                                  .size = e->op.size,
                                  .object = e->op.object,
                                  .pc = e->op.pc},
                           .flags = e->flags & (HD_EV_FAILED | HD_EV_LATE | HD_EV_PLAIN),
                           .place = e->op.pc ? (uint32_t)*hd__map_at(&r->place, e->op.pc) : 0};
  if (creates(e)) r->current[number_of(e->op.object)] = r->created.v[r->ncreated++];
  if (hd_op_object(op) == HD_OBJ_THREAD) out->op.object = r->current[number_of(e->op.object)] - 1;
  bool valued = hd_op_object(op) == HD_OBJ_MEMORY && e->op.size >= 1 && e->op.size <= 8;
  if (valued && (e->flags & HD_EV_VALUE)) {
    out->flags |= HD_EV_VALUE;
    out->value = e->value & hd__value_mask(e->op.size);
  }
  for (const struct hd_field *f = hd_event_fields; f->key; f++) hd_field_set(out, f, hd_field_get(e, f));
  if (e->nchoices < 2 || e->choice >= e->nchoices) out->choice = out->nchoices = 0;
  for (const struct hd_field *f = hd_payload_table[hd_op_payload(op)].field; f->key; f++) {
    if (!hd_field_recorded(&e->op, f) || (f->type == HD_FIELD_FOUND && !valued)) continue;
    uint64_t v = hd_field_get(&e->op, f);
    if (f->type == HD_FIELD_FOUND) {
      v &= hd__value_mask(e->op.size);
      out->op.access.known = 1;
    }
    if (f->type == HD_FIELD_THREAD && v) v = r->current[number_of(v - 1)];
    if (f->type == HD_FIELD_ORDER && v >= HD_MO_COUNT) continue;
    hd_field_set(&out->op, f, v);
  }
  hd__link(r->linker, out, ++r->number);
  return 1;
}

static void close_recording(struct hd_tr_source *s) {
  struct recording *r = (struct recording *)s;
  hd_tr_tables_fini(&r->tables);
  hd__map_fini(&r->place);
  hd__map_fini(&r->known);
  hd__linker_free(r->linker);
  hd_vec_free(&r->created);
  free(r);
}

struct hd_tr_source *hd_tr_record(const struct hd_tr_recording *recording) {
  struct recording *r = hd_alloc(sizeof *r);
  r->r = *recording;
  r->source = (struct hd_tr_source){.tables = &r->tables, .next = next, .close = close_recording};
  r->linker = hd__linker_new();
  fill_tables(r);
  memcpy(r->current, r->implied, sizeof r->current);
  r->r.locate = NULL; /* the caller may release what they use */
  r->r.name = NULL;
  return &r->source;
}

/* encode.c: writes the binary format (codec.h, docs/formats.md). Runs in the supervisor. */
#include "trace/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

struct encoder {
  FILE *out;
  ZSTD_CCtx *z;
  struct hd_str packed;
  struct hd__model model;
  struct hd__map shapes; /* operation, flags and place to number of the shape */
  struct hd_str stream[ST_COUNT];
  unsigned count; /* events of the block so far */
};

static void add_varint(struct hd_str *b, uint64_t v) {
  char buf[10];
  size_t n = 0;
  while (v >= 0x80) {
    buf[n++] = (char)(v | 0x80);
    v >>= 7;
  }
  buf[n++] = (char)v;
  hd_str_addn(b, buf, n);
}

static void put(struct encoder *c, const char *data, size_t n) { fwrite(data, 1, n, c->out); }

static void put_chunk(struct encoder *c, char kind, const char *data, size_t n) {
  struct hd_str head;
  size_t bound = ZSTD_compressBound(n);
  c->packed.s = hd_vec_grow(c->packed.s, &c->packed.cap, bound, 1);
  size_t packed = ZSTD_compress2(c->z, c->packed.s, bound, data, n);
  HD_BUG_ON(ZSTD_isError(packed));
  bool dense = kind == HD_CHUNK_TABLES && n > packed * HD_TR_PACKED_RATIO + HD_TR_PACKED_FREE;
  bool raw = packed >= n || dense;
  uint32_t sum = XXH32(data, n, 0);
  hd_str_init(&head);
  hd_str_addc(&head, kind);
  add_varint(&head, n);
  add_varint(&head, raw ? n : packed);
  for (int i = 0; i < 4; i++) hd_str_addc(&head, (char)(sum >> 8 * i));
  put(c, head.s, head.n);
  put(c, raw ? data : c->packed.s, raw ? n : packed);
  hd_str_fini(&head);
}

/* ---- tables ---- */

/* 0: NULL; 1: a new string follows; k: the string number k-2, counted from 0 in the order of writing. */
static void add_string(struct hd_str *b, struct hd__map *known, const char *s) {
  if (!s) {
    add_varint(b, 0);
    return;
  }
  size_t n = strlen(s);
  uint64_t *at = hd__map_at(known, hd__string_key(s, n));
  if (*at) {
    add_varint(b, *at + 1);
    return;
  }
  *at = known->n;
  add_varint(b, 1);
  add_varint(b, n);
  hd_str_addn(b, s, n);
}

static void put_tables(struct encoder *c, const struct hd_tr_tables *t) {
  struct hd_str b;
  struct hd__map known = {0};
  hd_str_init(&b);
  add_varint(&b, t->nevents);
  add_string(&b, &known, t->command);
  add_varint(&b, t->thread.n);
  for (size_t i = 0; i < t->thread.n; i++) {
    add_string(&b, &known, t->thread.v[i].name);
    add_string(&b, &known, t->thread.v[i].called);
    add_string(&b, &known, t->thread.v[i].function);
  }
  add_varint(&b, t->place.n);
  uint64_t last = 0;
  for (size_t i = 0; i < t->place.n; i++) {
    const struct hd_tr_place *p = &t->place.v[i];
    add_varint(&b, hd__zigzag(p->pc - last));
    last = p->pc;
    add_string(&b, &known, p->file);
    add_varint(&b, p->line);
    add_string(&b, &known, p->function);
  }
  add_varint(&b, t->object.n);
  last = 0;
  for (size_t i = 0; i < t->object.n; i++) {
    add_varint(&b, hd__zigzag(t->object.v[i].addr - last));
    last = t->object.v[i].addr;
    add_string(&b, &known, t->object.v[i].name);
  }
  put_chunk(c, HD_CHUNK_TABLES, b.s, b.n);
  hd_str_fini(&b);
  hd__map_fini(&known);
}

/* ---- events ---- */

static uint64_t shape_key(const struct hd_event *e) {
  return 1ull << 63 | (uint64_t)e->op.kind << 40 | (uint64_t)e->flags << 32 | e->place;
}

/* Writes the event's shape and returns its number. */
static uint32_t add_shape(struct encoder *c, const struct hd_event *e) {
  struct hd__model *m = &c->model;
  struct hd_str *b = &c->stream[ST_SHAPE];
  uint32_t number = (uint32_t)hd__map_get(&c->shapes, shape_key(e));
  if (number) {
    bool expected = m->shape[m->at[e->op.thread]].follows == number;
    add_varint(b, expected ? SHAPE_EXPECTED : number + SHAPE_KNOWN);
    return number;
  }
  add_varint(b, SHAPE_NEW);
  hd_str_addc(b, (char)e->op.kind);
  hd_str_addc(b, (char)e->flags);
  add_varint(b, e->place);
  number = hd__model_add(m, e);
  if (number) *hd__map_at(&c->shapes, shape_key(e)) = number;
  return number;
}

static void flush_block(struct encoder *c) {
  if (!c->count) return;
  struct hd_str b;
  hd_str_init(&b);
  add_varint(&b, c->count);
  for (int i = 0; i < ST_COUNT; i++) add_varint(&b, c->stream[i].n);
  for (int i = 0; i < ST_COUNT; i++) {
    hd_str_addn(&b, c->stream[i].s, c->stream[i].n);
    hd_str_clear(&c->stream[i]);
  }
  put_chunk(c, HD_CHUNK_EVENTS, b.s, b.n);
  hd_str_fini(&b);
  c->count = 0;
}

/* Found values are predicted by the last value at the address, other fields by the shape. */
static void add_payload(struct hd_str *b, const struct hd_event *e, const struct hd__shape *s,
                        uint64_t value) {
  const struct hd_field *f = hd_payload_table[hd_op_payload(e->op.kind)].field;
  for (int i = 0; f[i].key; i++) {
    if (f[i].type >= HD_FIELD_RUN) continue;
    uint64_t v = hd_field_get(&e->op, &f[i]);
    if (f[i].type != HD_FIELD_FOUND) {
      add_varint(b, hd__zigzag(v - s->field[i]));
      continue;
    }
    add_varint(b, e->op.access.known ^ s->known);
    if (e->op.access.known) add_varint(b, hd__zigzag(hd__difference(v, value, e->op.size)));
  }
}

static void add_event(struct encoder *c, const struct hd_event *e) {
  struct hd__model *m = &c->model;
  add_varint(&c->stream[ST_THREAD], e->op.thread == m->thread ? 0 : e->op.thread + 1ull);
  uint32_t number = add_shape(c, e);
  const struct hd__shape *s = &m->shape[number];
  uint64_t value = m->value[hd__value_slot(e->op.object)];
  add_varint(&c->stream[ST_OBJECT], hd__zigzag(e->op.object - hd__expected_object(s)));
  add_varint(&c->stream[ST_SIZE], hd__zigzag((uint64_t)e->op.size - s->size));
  if (e->flags & HD_EV_VALUE)
    add_varint(&c->stream[ST_VALUE], hd__zigzag(hd__difference(e->value, value, e->op.size)));
  add_payload(&c->stream[ST_PAYLOAD], e, s, value);
  for (int i = 0; i < HD_EVENT_NFIELDS; i++)
    add_varint(&c->stream[ST_FIELDS], hd__zigzag(hd_field_get(e, &hd_event_fields[i]) - s->number[i]));
  add_varint(&c->stream[ST_FROM], e->from == hd__expected_from(m, e) ? 0 : m->number + 1 - e->from);
  hd__model_learn(m, e, number);
  if (++c->count == HD_TR_BLOCK) flush_block(c);
}

int hd__write_binary(struct hd_tr_source *s, FILE *out, struct hd_err *err) {
  struct encoder *c = hd_alloc(sizeof *c);
  c->out = out;
  c->z = ZSTD_createCCtx();
  HD_BUG_ON(!c->z);
  ZSTD_CCtx_setParameter(c->z, ZSTD_c_compressionLevel, HD_TR_LEVEL);
  hd_str_init(&c->packed);
  hd__model_init(&c->model, s->tables->thread.n);
  for (int i = 0; i < ST_COUNT; i++) hd_str_init(&c->stream[i]);
  static const char version = HD_TR_BINARY_VERSION;
  put(c, HD_TR_MAGIC, HD_TR_MAGIC_LEN);
  put(c, &version, 1);
  put_tables(c, s->tables);
  struct hd_event e;
  int rc;
  while ((rc = hd_tr_next(s, &e, err)) > 0) add_event(c, &e);
  flush_block(c);
  put_chunk(c, HD_CHUNK_END, "", 0);
  for (int i = 0; i < ST_COUNT; i++) hd_str_fini(&c->stream[i]);
  hd__model_fini(&c->model);
  hd__map_fini(&c->shapes);
  hd_str_fini(&c->packed);
  ZSTD_freeCCtx(c->z);
  free(c);
  return rc;
}

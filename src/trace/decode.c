/* decode.c: reads the binary format (codec.h, docs/formats.md). Runs in the supervisor.
 *
 * The file is not trusted. Invariants
 *  1. Every read stays within the file; every number is checked before it is used as an index or a size.
 *  2. Memory is bounded by a constant (one block, the model) plus a multiple of the size of the file: vectors grow
 *     with the entries that were read, never by an announced count. */
#include "trace/codec.h"

#include <stdlib.h>
#include <zstd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define TABLES_MAX (1ull << 31)
#define BLOCK_MAX ((uint64_t)HD_TR_BLOCK * HD_TR_EVENT_BYTES)

struct bytes {
  const unsigned char *p, *end;
};

struct decoder {
  struct hd_tr_source source;
  struct hd__input in;
  struct bytes file;
  struct hd_tr_tables tables;
  struct hd__model model;
  bool ready; /* the model is initialised */
  ZSTD_DCtx *z;
  struct hd_str raw; /* the chunk, unpacked */
  struct bytes stream[ST_COUNT];
  uint64_t left; /* unread events of the block */
};

static int refuse(struct decoder *d, const char *what, struct hd_err *err) {
  return hd_fail(err, HD_EUSAGE, "%s: damaged near byte %zu: %s", d->in.name,
                 (size_t)((const char *)d->file.p - d->in.data), what);
}

static bool varint(struct bytes *b, uint64_t *out) {
  uint64_t v = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (b->p == b->end) return false;
    uint64_t c = *b->p++;
    if (shift == 63 && c > 1) return false;
    v |= (c & 0x7f) << shift;
    if (!(c & 0x80)) return *out = v, true;
  }
  return false;
}

/* ---- chunks ---- */

static int unpack(struct decoder *d, const unsigned char *data, uint64_t stored, uint64_t n,
                  struct hd_err *err) {
  d->raw.s = hd_vec_grow(d->raw.s, &d->raw.cap, n + 1, 1);
  d->raw.n = n;
  if (stored == n) {
    if (n) memcpy(d->raw.s, data, n);
    return HD_OK;
  }
  size_t got = ZSTD_decompressDCtx(d->z, d->raw.s, n, data, stored);
  return ZSTD_isError(got) || got != n ? refuse(d, "a chunk cannot be unpacked", err) : HD_OK;
}

/* Unpacks the next chunk into d->raw; its kind, or an error. */
static int next_chunk(struct decoder *d, struct hd_err *err) {
  struct bytes *f = &d->file;
  uint64_t n, stored;
  if (f->p == f->end) return refuse(d, "it ends too early", err);
  int kind = *f->p++;
  if (kind != HD_CHUNK_TABLES && kind != HD_CHUNK_EVENTS && kind != HD_CHUNK_END)
    return refuse(d, "an unknown chunk", err);
  if (!varint(f, &n) || !varint(f, &stored) || (size_t)(f->end - f->p) < 4 ||
      stored > (uint64_t)(f->end - f->p) - 4)
    return refuse(d, "it ends too early", err);
  if (stored > n) return refuse(d, "a chunk that is larger packed than unpacked", err);
  bool big = kind == HD_CHUNK_EVENTS   ? n > BLOCK_MAX
             : kind == HD_CHUNK_TABLES ? n > TABLES_MAX || n > stored * HD_TR_PACKED_RATIO + HD_TR_PACKED_FREE
                                       : n > 0;
  if (big) return refuse(d, "a chunk larger than any valid one", err);
  uint32_t sum = f->p[0] | (uint32_t)f->p[1] << 8 | (uint32_t)f->p[2] << 16 | (uint32_t)f->p[3] << 24;
  f->p += 4;
  int rc = unpack(d, f->p, stored, n, err);
  if (rc != HD_OK) return rc;
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION /* a fuzzer could not pass the checksum */
  if (XXH32(d->raw.s, n, 0) != sum) return refuse(d, "a wrong checksum", err);
#else
  (void)sum;
#endif
  f->p += stored;
  return kind;
}

/* ---- tables ---- */

static bool string(struct decoder *d, struct bytes *b, const char **out) {
  uint64_t code, n;
  *out = NULL;
  if (!varint(b, &code)) return false;
  if (code == 0) return true;
  if (code == 1) {
    if (!varint(b, &n) || n < 1 || n > HD_TR_MAX_STRING || n > (size_t)(b->end - b->p) || memchr(b->p, 0, n))
      return false;
    hd__keep(&d->tables, hd_strndup((const char *)b->p, n));
    b->p += n;
    code = d->tables.string.n + 1;
  }
  if (code - 2 >= d->tables.string.n) return false;
  *out = d->tables.string.v[code - 2];
  return true;
}

static bool read_threads(struct decoder *d, struct bytes *b) {
  uint64_t n;
  if (!varint(b, &n) || n < 1 || n > HD_TR_MAX_THREADS) return false;
  while (d->tables.thread.n < n) {
    struct hd_tr_thread t = {0};
    bool ok = string(d, b, &t.name) && t.name && string(d, b, &t.called) && string(d, b, &t.function);
    hd_vec_push(&d->tables.thread, t);
    if (!ok) return false;
  }
  return true;
}

static bool read_places(struct decoder *d, struct bytes *b) {
  uint64_t n, pc = 0;
  if (!varint(b, &n) || n > HD_TR_MAX_TABLE) return false;
  while (d->tables.place.n < n) {
    struct hd_tr_place p = {0};
    uint64_t delta, line = 0;
    bool ok = varint(b, &delta) && string(d, b, &p.file) && varint(b, &line) && line <= UINT32_MAX &&
              string(d, b, &p.function);
    p.pc = pc += ok ? hd__unzigzag(delta) : 0;
    p.line = (uint32_t)line;
    hd_vec_push(&d->tables.place, p);
    if (!ok) return false;
  }
  return true;
}

static bool read_objects(struct decoder *d, struct bytes *b) {
  uint64_t n, addr = 0;
  if (!varint(b, &n) || n > HD_TR_MAX_TABLE) return false;
  while (d->tables.object.n < n) {
    struct hd_tr_object o = {0};
    uint64_t delta;
    bool ok = varint(b, &delta) && string(d, b, &o.name) && o.name;
    o.addr = addr += ok ? hd__unzigzag(delta) : 0;
    hd_vec_push(&d->tables.object, o);
    if (!ok || !o.addr || o.addr == UINT64_MAX) return false;
  }
  return true;
}

static int read_tables(struct decoder *d, struct hd_err *err) {
  int kind = next_chunk(d, err);
  if (kind < 0) return kind;
  if (kind != HD_CHUNK_TABLES) return refuse(d, "the tables are missing", err);
  struct bytes b = {(unsigned char *)d->raw.s, (unsigned char *)d->raw.s + d->raw.n};
  bool ok = varint(&b, &d->tables.nevents) && d->tables.nevents < HD_TR_MAX_EVENTS &&
            string(d, &b, &d->tables.command) && read_threads(d, &b) && read_places(d, &b) &&
            read_objects(d, &b) && b.p == b.end;
  return ok ? HD_OK : refuse(d, "the tables make no sense", err);
}

/* ---- events ---- */

/* The next block. Returns 1, 0 at the end of the trace, or an error. */
static int next_block(struct decoder *d, struct hd_err *err) {
  int kind = next_chunk(d, err);
  if (kind < 0) return kind;
  if (kind == HD_CHUNK_TABLES) return refuse(d, "a second set of tables", err);
  if (kind == HD_CHUNK_END) {
    if (d->model.number != d->tables.nevents) return refuse(d, "events are missing", err);
    if (d->file.p != d->file.end) return refuse(d, "something follows the end", err);
    return 0;
  }
  struct bytes b = {(unsigned char *)d->raw.s, (unsigned char *)d->raw.s + d->raw.n};
  uint64_t size[ST_COUNT];
  if (!varint(&b, &d->left) || d->left < 1 || d->left > HD_TR_BLOCK ||
      d->left > d->tables.nevents - d->model.number)
    return refuse(d, "a block with a wrong number of events", err);
  for (int i = 0; i < ST_COUNT; i++)
    if (!varint(&b, &size[i])) return refuse(d, "a block without its sizes", err);
  for (int i = 0; i < ST_COUNT; i++) {
    if (size[i] > (size_t)(b.end - b.p)) return refuse(d, "a block with wrong sizes", err);
    d->stream[i] = (struct bytes){b.p, b.p + size[i]};
    b.p += size[i];
  }
  return b.p == b.end ? 1 : refuse(d, "a block with wrong sizes", err);
}

/* The shape of the next event, and its number. */
static bool read_shape(struct decoder *d, struct hd_event *e, uint32_t *number) {
  struct hd__model *m = &d->model;
  struct bytes *b = &d->stream[ST_SHAPE];
  uint64_t code, place;
  if (!varint(b, &code)) return false;
  if (code == SHAPE_NEW) {
    if (b->end - b->p < 2) return false;
    e->op.kind = *b->p++;
    e->flags = *b->p++;
    if (!varint(b, &place) || place > UINT32_MAX) return false;
    e->place = (uint32_t)place;
    *number = hd__model_add(m, e);
    return true;
  }
  uint64_t n = code == SHAPE_EXPECTED ? m->shape[m->at[e->op.thread]].follows : code - SHAPE_KNOWN;
  if (n < 1 || n >= m->nshapes) return false;
  e->op.kind = m->shape[n].op;
  e->flags = m->shape[n].flags;
  e->place = m->shape[n].place;
  *number = (uint32_t)n;
  return true;
}

static bool read_payload(struct bytes *b, struct hd_event *e, const struct hd__shape *s, uint64_t value) {
  const struct hd_field *f = hd_payload_table[hd_op_payload(e->op.kind)].field;
  uint64_t code;
  for (int i = 0; f[i].key; i++) {
    if (f[i].type >= HD_FIELD_RUN) continue;
    if (!varint(b, &code)) return false;
    if (f[i].type != HD_FIELD_FOUND) {
      code = s->field[i] + hd__unzigzag(code);
      if (f[i].size < 8 && code >> 8 * f[i].size) return false;
      hd_field_set(&e->op, &f[i], code);
      continue;
    }
    if (code > 1) return false;
    e->op.access.known = (uint8_t)code ^ s->known;
    if (!e->op.access.known) continue;
    if (!varint(b, &code)) return false;
    hd_field_set(&e->op, &f[i], (value + hd__unzigzag(code)) & hd__value_mask(e->op.size));
  }
  return true;
}

/* Reads one event; false when a stream ends early or is invalid. pre: e is zero. */
static bool read_event(struct decoder *d, struct hd_event *e, uint32_t *number) {
  struct hd__model *m = &d->model;
  struct bytes *st = d->stream;
  uint64_t code;
  if (!varint(&st[ST_THREAD], &code) || code > d->tables.thread.n) return false;
  e->op.thread = (uint16_t)(code ? code - 1 : m->thread);
  if (!read_shape(d, e, number) || e->op.kind >= HD_OP_COUNT) return false;
  const struct hd__shape *s = &m->shape[*number];
  if (!varint(&st[ST_OBJECT], &code)) return false;
  e->op.object = hd__expected_object(s) + hd__unzigzag(code);
  if (!varint(&st[ST_SIZE], &code)) return false;
  code = s->size + hd__unzigzag(code);
  if (code > UINT32_MAX) return false;
  e->op.size = (uint32_t)code;
  uint64_t value = m->value[hd__value_slot(e->op.object)];
  if (e->flags & HD_EV_VALUE) {
    if (!varint(&st[ST_VALUE], &code)) return false;
    e->value = (value + hd__unzigzag(code)) & hd__value_mask(e->op.size);
  }
  if (!read_payload(&st[ST_PAYLOAD], e, s, value)) return false;
  for (int i = 0; i < HD_EVENT_NFIELDS; i++) {
    const struct hd_field *f = &hd_event_fields[i];
    if (!varint(&st[ST_FIELDS], &code)) return false;
    code = s->number[i] + hd__unzigzag(code);
    if (f->size < 8 && code >> 8 * f->size) return false;
    hd_field_set(e, f, code);
  }
  if (!varint(&st[ST_FROM], &code) || code > m->number + 1) return false;
  e->from = (uint32_t)(code ? m->number + 1 - code : hd__expected_from(m, e));
  return true;
}

static int next(struct hd_tr_source *s, struct hd_event *e, struct hd_err *err) {
  struct decoder *d = (struct decoder *)s;
  uint32_t number;
  if (!d->left) {
    int rc = next_block(d, err);
    if (rc <= 0) return rc;
  }
  *e = (struct hd_event){0};
  if (!read_event(d, e, &number)) return refuse(d, "an event that makes no sense", err);
  if (e->place && e->place <= d->tables.place.n) e->op.pc = d->tables.place.v[e->place - 1].pc;
  const char *wrong = hd__event_wrong(&d->tables, e, d->model.number + 1);
  if (wrong)
    return hd_fail(err, HD_EUSAGE, "%s: damaged: event %llu has %s", d->in.name,
                   (unsigned long long)d->model.number + 1, wrong);
  hd__model_learn(&d->model, e, number);
  if (--d->left == 0)
    for (int i = 0; i < ST_COUNT; i++)
      if (d->stream[i].p != d->stream[i].end) return refuse(d, "a block with more than its events", err);
  return 1;
}

static void close_decoder(struct hd_tr_source *s) {
  struct decoder *d = (struct decoder *)s;
  hd_tr_tables_fini(&d->tables);
  if (d->ready) hd__model_fini(&d->model);
  ZSTD_freeDCtx(d->z);
  hd_str_fini(&d->raw);
  hd__input_fini(&d->in);
  free(d);
}

bool hd__is_binary(const char *data, size_t len) {
  return len >= HD_TR_MAGIC_LEN && memcmp(data, HD_TR_MAGIC, HD_TR_MAGIC_LEN) == 0;
}

int hd__open_binary(struct hd__input in, struct hd_tr_source **out, struct hd_err *err) {
  struct decoder *d = hd_alloc(sizeof *d);
  d->source = (struct hd_tr_source){.tables = &d->tables, .next = next, .close = close_decoder};
  d->in = in;
  const unsigned char *data = (unsigned char *)in.data;
  d->file = (struct bytes){data + HD_TR_MAGIC_LEN, data + in.len};
  d->z = ZSTD_createDCtx();
  HD_BUG_ON(!d->z);
  hd_str_init(&d->raw);
  int rc = HD_OK;
  if (d->file.p == d->file.end)
    rc = refuse(d, "it ends too early", err);
  else if (*d->file.p++ != HD_TR_BINARY_VERSION)
    rc = hd_fail(err, HD_EUSAGE, "%s: written by another version of heddle (format %u, this one reads %u)",
                 in.name, data[HD_TR_MAGIC_LEN], HD_TR_BINARY_VERSION);
  if (rc == HD_OK) rc = read_tables(d, err);
  if (rc != HD_OK) {
    close_decoder(&d->source);
    return rc;
  }
  hd__model_init(&d->model, d->tables.thread.n);
  d->ready = true;
  *out = &d->source;
  return HD_OK;
}

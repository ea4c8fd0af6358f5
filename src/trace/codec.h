/* codec.h: shared by the writer and the reader of the binary format. Included by encode.c, decode.c and model.c only.
 *
 * A trace is a header followed by chunks. A chunk is a kind byte, its unpacked and its stored size (varints), 4 bytes
 * of checksum (XXH32 of the unpacked bytes), and the stored bytes: a zstd frame, or the raw bytes where zstd would not
 * shorten them. The tables come first, then the events in blocks, then the end.
 *
 * Both sides predict each field of an event from the events before it, with the same tables of fixed size. A correct
 * prediction is encoded as 0. Each field has its own stream within a block, since zstd compresses runs of zeros well.
 *
 * Invariants
 *  1. Only hd__model_learn and hd__model_add change the model, with the same event on both sides.
 *  2. Its size is bounded by a constant plus the number of threads. */
#ifndef HD_TRACE_CODEC_H
#define HD_TRACE_CODEC_H

#include "trace/trace_int.h"

#define HD_TR_MAGIC "\x89HdTr\r\n" /* 7 bytes; the 8th is the version */
#define HD_TR_MAGIC_LEN 7
#define HD_TR_BINARY_VERSION 3
#define HD_TR_BLOCK 65536       /* events of one block */
#define HD_TR_EVENT_BYTES 128   /* no event takes more, unpacked */
#define HD_TR_PACKED_RATIO 256  /* tables are not packed more densely, plus ... */
#define HD_TR_PACKED_FREE 65536 /* ... this much, so that small files need little memory */
#define HD_TR_LEVEL 3           /* of zstd */

enum { HD_CHUNK_TABLES = 'T', HD_CHUNK_EVENTS = 'E', HD_CHUNK_END = 'Z' };
enum { ST_THREAD, ST_SHAPE, ST_OBJECT, ST_SIZE, ST_VALUE, ST_PAYLOAD, ST_FIELDS, ST_FROM, ST_COUNT };

/* Codes of ST_SHAPE; larger ones are a shape's number plus SHAPE_KNOWN. */
enum { SHAPE_EXPECTED, SHAPE_NEW, SHAPE_KNOWN };

#define SHAPES (1u << 16) /* that get a number; further ones are written out each time */
#define SLOTS (1u << 16)  /* of the tables by object */

/* Operation, flags and place: a line of the program mostly has one of these. Number 0 stands for all shapes that no
 * longer fit. */
struct hd__shape {
  uint8_t op, flags;
  uint32_t place;
  uint32_t follows; /* the shape that came after it in the same thread */
  uint32_t size;
  uint64_t object, stride, delta;
  uint64_t field[HD_MAX_FIELDS];     /* of the payload */
  uint64_t number[HD_EVENT_NFIELDS]; /* fields of events.def */
  uint8_t known;
};

struct hd__model {
  uint64_t number;         /* of the last event */
  uint32_t thread;         /* of the last event */
  uint32_t *at;            /* [thread] its last shape; owned */
  uint32_t nshapes;        /* in use, number 0 included */
  struct hd__shape *shape; /* [room], of which nshapes are in use; owned */
  size_t room;             /* at most SHAPES */
  uint64_t *value;         /* [SLOTS] last value at an address; owned */
  uint64_t *given;         /* [SLOTS] last event that released or wrote there; owned */
};

void hd__model_init(struct hd__model *m, size_t nthreads);
void hd__model_fini(struct hd__model *m);

/* Places in the tables by object. */
static inline uint32_t hd__value_slot(uint64_t object) { return (uint32_t)(hd__mix(object) & (SLOTS - 1)); }
static inline uint32_t hd__given_slot(unsigned op, uint64_t object) {
  return (uint32_t)(hd__mix(hd__object_key(op, object)) & (SLOTS - 1));
}
static inline uint64_t hd__expected_object(const struct hd__shape *s) { return s->object + s->stride; }
static inline uint64_t hd__expected_from(const struct hd__model *m, const struct hd_event *e) {
  return hd_event_sees(e) ? m->given[hd__given_slot(e->op.kind, e->op.object)] : 0;
}
/* Updates the model with an event that was written or read; `shape` is the number of its shape. */
void hd__model_learn(struct hd__model *m, const struct hd_event *e, uint32_t shape);
/* Adds a new shape and returns its number; 0: no room. */
uint32_t hd__model_add(struct hd__model *m, const struct hd_event *e);

static inline uint64_t hd__zigzag(uint64_t v) { return v << 1 ^ (uint64_t)((int64_t)v >> 63); }
static inline uint64_t hd__unzigzag(uint64_t v) { return v >> 1 ^ -(v & 1); }
/* The difference of two values of `size` bytes, sign-extended, so that it is close to 0. */
static inline uint64_t hd__difference(uint64_t a, uint64_t b, uint32_t size) {
  unsigned shift = size >= 8 ? 0 : 64 - 8 * size;
  return (uint64_t)((int64_t)((a - b) << shift) >> shift);
}

#endif

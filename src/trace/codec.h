/* codec.h: what the writer and the reader of the binary format have in common. Included by encode.c and decode.c only.
 *
 * A trace is the head, then chunks: a byte that tells the kind, the number of bytes it is when unpacked and as
 * stored (varints), 4 bytes of checksum (XXH32 of the unpacked bytes), the stored bytes: a zstd frame, or, when that
 * would not be shorter, the bytes themselves. First the tables, then the events in blocks, then the end.
 *
 * Both sides predict each field of an event from those before it, with the same tables of fixed size, and only what
 * was predicted wrongly takes more than a 0. Each field has a stream of its own within a block; runs of zeros are
 * what zstd is good at.
 *
 * Invariants
 *  1. The model is changed by hd__model_learn only, with the same event on both sides.
 *  2. Its size does not depend on the trace, other than on the number of threads. */
#ifndef HD_TRACE_CODEC_H
#define HD_TRACE_CODEC_H

#include "trace/trace_int.h"

#define HD_TR_MAGIC "\x89HdTr\r\n" /* 7 bytes; the 8th is the version */
#define HD_TR_MAGIC_LEN 7
#define HD_TR_BINARY_VERSION 2
#define HD_TR_BLOCK 65536       /* events of one block */
#define HD_TR_EVENT_BYTES 128   /* no event takes more, unpacked */
#define HD_TR_PACKED_RATIO 256  /* tables are not packed more densely, plus ... */
#define HD_TR_PACKED_FREE 65536 /* ... this much, so that small files need little memory */
#define HD_TR_LEVEL 3           /* of zstd */

enum { HD_CHUNK_TABLES = 'T', HD_CHUNK_EVENTS = 'E', HD_CHUNK_END = 'Z' };
enum { ST_THREAD, ST_SHAPE, ST_OBJECT, ST_SIZE, ST_VALUE, ST_PAYLOAD, ST_FIELDS, ST_FROM, ST_COUNT };

/* Codes of ST_SHAPE; larger ones are a shape's number plus SHAPE_KNOWN. */
enum { SHAPE_EXPECTED, SHAPE_NEW, SHAPE_KNOWN };

#define SHAPES (1u << 16) /* numbered; further ones are written out each time */
#define SLOTS (1u << 16)  /* of the tables by object */

/* Operation, flags and place: what a line of the program does is mostly one of these. Number 0 stands for those that
 * there was no room for. */
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
  uint64_t *given;         /* [SLOTS] last event that gave something there; owned */
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
/* The event, whose shape has that number, was written or read. */
void hd__model_learn(struct hd__model *m, const struct hd_event *e, uint32_t shape);
/* A shape that was not known gets a number, 0 if there is no room. */
uint32_t hd__model_add(struct hd__model *m, const struct hd_event *e);

static inline uint64_t hd__zigzag(uint64_t v) { return v << 1 ^ (uint64_t)((int64_t)v >> 63); }
static inline uint64_t hd__unzigzag(uint64_t v) { return v >> 1 ^ -(v & 1); }
/* The difference of two values of so many bytes, as near to 0 as it can be. */
static inline uint64_t hd__difference(uint64_t a, uint64_t b, uint32_t size) {
  unsigned shift = size >= 8 ? 0 : 64 - 8 * size;
  return (uint64_t)((int64_t)((a - b) << shift) >> shift);
}

#endif

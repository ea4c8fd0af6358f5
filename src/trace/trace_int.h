/* trace_int.h: declarations shared by the files of this folder. */
#ifndef HD_TRACE_INT_H
#define HD_TRACE_INT_H

#include "trace/trace.h"

#include <string.h>

/* ---- limits, for readers and writers ---- */

#define HD_TR_MAX_EVENTS (1ull << 32)
#define HD_TR_MAX_TABLE (1u << 24)   /* entries of one table */
#define HD_TR_MAX_THREADS UINT16_MAX /* op.thread has 16 bits */
#define HD_TR_MAX_STRING 4096        /* bytes */

/* ---- hash map from numbers or strings to numbers ---- */

struct hd__map {
  struct hd__map_entry {
    uint64_t key, value; /* key 0: empty */
  } * entry;
  size_t n, cap;
};
/* The value of a key other than 0; a new one is 0. The pointer is valid until the next call. */
uint64_t *hd__map_at(struct hd__map *m, uint64_t key);
/* The value; 0 if the key is absent. */
uint64_t hd__map_get(const struct hd__map *m, uint64_t key);
void hd__map_fini(struct hd__map *m);
/* A hash of a string, never 0. It is assumed to be free of collisions. */
uint64_t hd__string_key(const char *s, size_t n);

static inline uint64_t hd__mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return x ^ x >> 33;
}

/* ---- events ---- */

/* A number that events on the same object share. For memory it identifies an 8-byte granule. */
static inline uint64_t hd__object_key(unsigned op, uint64_t object) {
  return hd_op_object(op) == HD_OBJ_THREAD ? ~object : object >> 3;
}
static inline uint64_t hd__value_mask(uint32_t size) { return size >= 8 ? ~0ull : (1ull << 8 * size) - 1; }

/* Why an event is invalid, or NULL. Checks references into the tables, the range of values, and fields that must be 0.
 * `number` is the event's own. The reason completes "the event has ...". */
const char *hd__event_wrong(const struct hd_tr_tables *t, const struct hd_event *e, uint64_t number);

/* Hands a string over to the tables. An empty or NULL one becomes NULL; one that is too long is truncated. */
const char *hd__keep(struct hd_tr_tables *t, char *s);

/* ---- labels: unique words for the entries of the tables, in the text format ---- */

/* A label is derived from its entry on demand; the n-th entry with the same word gets ~n. */
struct hd__labels {
  const struct hd_tr_tables *t;
  uint32_t *thread, *place, *object; /* n, for each entry */
  struct hd__map by_addr;            /* address plus 1 to entry of objects plus 1 */
};
void hd__labels_init(struct hd__labels *l, const struct hd_tr_tables *t);
void hd__labels_fini(struct hd__labels *l);
/* A field of a payload as one word; threads and objects by their labels. pre: the field is recorded. */
void hd__add_field(struct hd_str *out, const struct hd__labels *l, const struct hd_op *op,
                   const struct hd_field *f);
void hd__add_thread(struct hd_str *out, const struct hd__labels *l, size_t i);
void hd__add_place(struct hd_str *out, const struct hd__labels *l, size_t i);
void hd__add_named(struct hd_str *out, const struct hd__labels *l, size_t i);
/* The label of the object at an address, "@address" if it has no name, "-" for 0. */
void hd__add_object(struct hd_str *out, const struct hd__labels *l, uint64_t addr);
/* A string as one word: special bytes become %xx; "-" for NULL. */
void hd__escape(struct hd_str *out, const char *s);
/* The inverse, in place; false if the word is malformed. *s becomes NULL for "-". */
bool hd__unescape(char **s);

/* ---- the formats ---- */

struct hd__input {
  char *data; /* owned */
  size_t len;
  char *name; /* owned */
};
void hd__input_fini(struct hd__input *in);

bool hd__is_binary(const char *data, size_t len);
bool hd__is_text(const char *data, size_t len);
bool hd__is_std(const char *data, size_t len);
/* They take ownership of the input, even on failure. */
int hd__open_binary(struct hd__input in, struct hd_tr_source **out, struct hd_err *err);
int hd__open_text(struct hd__input in, struct hd_tr_source **out, struct hd_err *err);
int hd__open_std(struct hd__input in, struct hd_tr_source **out, struct hd_err *err);

int hd__write_binary(struct hd_tr_source *s, FILE *out, struct hd_err *err);
int hd__write_text(struct hd_tr_source *s, FILE *out, struct hd_err *err);
int hd__write_std(struct hd_tr_source *s, FILE *out, struct hd_err *err);
int hd__write_perfetto(struct hd_tr_source *s, FILE *out, struct hd_err *err);

/* ---- versions ---- */

/* Determines which event each event reads from (link.c). */
struct hd__linker;
struct hd__linker *hd__linker_new(void);
/* Sets e->from. Call it for every event, in order; `number` is the event's. */
void hd__link(struct hd__linker *l, struct hd_event *e, uint64_t number);
void hd__linker_free(struct hd__linker *l);

#endif

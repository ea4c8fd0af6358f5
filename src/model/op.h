/* op.h: operations: what a thread is about to do, and the table that says what each kind means. Linked into both
 * binaries.
 *
 * ops.def, effects.def and payloads.def are the table, kinds.def lists the kinds of findings. Nothing relies on the
 * order of the values: ask the functions below. */
#ifndef HD_MODEL_OP_H
#define HD_MODEL_OP_H

#include <stddef.h>
#include <stdint.h>

/* ---- the vocabulary ---- */

enum hd_op_kind {
#define HD_OP(id, text, obj, eff, failed, second, payload, traits) HD_OP_##id,
#include "model/ops.def"
#undef HD_OP
  HD_OP_COUNT
};

enum hd_obj_kind {
  HD_OBJ_NONE,
  HD_OBJ_THREAD,
  HD_OBJ_MEMORY,
  HD_OBJ_STATE, /* of the process: states.def */
  HD_OBJ_IO,
  HD_OBJ_STREAM,
  HD_OBJ_FUTEX,
  HD_OBJ_MUTEX,
  HD_OBJ_COND,
  HD_OBJ_ONCE,
  HD_OBJ_RWLOCK,
  HD_OBJ_SEM,
  HD_OBJ_BARRIER,
};

enum hd_state {
#define HD_STATE(id, text) HD_STATE_##id,
#include "model/states.def"
#undef HD_STATE
  HD_STATE_COUNT
};

enum hd_effect {
#define HD_EFFECT(id, word, properties) HD_EFF_##id,
#include "model/effects.def"
#undef HD_EFFECT
  HD_EFF_COUNT
};

/* Properties of effects. */
enum { HD_EFF_CHANGES = 1, HD_EFF_GIVES = 2, HD_EFF_SEES = 4, HD_EFF_HOLDS = 8, HD_EFF_LETS_GO = 16 };

enum hd_payload {
#define HD_PAYLOAD(id, fields) HD_PAYLOAD_##id,
#include "model/payloads.def"
#undef HD_PAYLOAD
  HD_PAYLOAD_COUNT
};

/* Traits of operations, see ops.def. */
enum {
  HD_TRAIT_WAITS = 1 << 0,
  HD_TRAIT_TRIES = 1 << 1,
  HD_TRAIT_TIMED = 1 << 2,
  HD_TRAIT_LATE = 1 << 3,
  HD_TRAIT_CANCEL = 1 << 4,
  HD_TRAIT_ATOMIC = 1 << 5,
  HD_TRAIT_QUIET = 1 << 6,
  HD_TRAIT_QUIET_FAILED = 1 << 7,
  HD_TRAIT_YIELDS = 1 << 8,
  HD_TRAIT_ENABLER = 1 << 9,
  HD_TRAIT_INSIDE = 1 << 10,
  HD_TRAIT_SECTION = 1 << 11,
  HD_TRAIT_UNSCHEDULED = 1 << 12,
  HD_TRAIT_NETS = 1 << 13,
  HD_TRAIT_DUE = 1 << 14,
  HD_TRAIT_DECIDES = 1 << 15,
};

enum hd_memory_order {
  HD_MO_NONE, /* not atomic */
  HD_MO_RELAXED,
  HD_MO_CONSUME,
  HD_MO_ACQUIRE,
  HD_MO_RELEASE,
  HD_MO_ACQ_REL,
  HD_MO_SEQ_CST,
  HD_MO_COUNT
};

enum hd_kind {
#define HD_KIND(id, name, title) HD_KIND_##id,
#include "model/kinds.def"
#undef HD_KIND
  HD_KIND_COUNT
};

/* Names of the above, indexed by enum value. */
extern const char *const hd_kind_name[HD_KIND_COUNT];
extern const char *const hd_kind_title[HD_KIND_COUNT];
extern const char *const hd_memory_order_text[HD_MO_COUNT]; /* of HD_MO_NONE: "" */
const char *hd_object_word(enum hd_obj_kind kind);          /* "mutex"; of HD_OBJ_NONE: "" */

#define HD_MAX_THREADS 1024 /* created in one execution */

/* ---- what came of an operation ---- */

#define HD_EV_FAILED 1  /* trylock that found the lock taken, timed operation that timed out, CAS that lost */
#define HD_EV_LATE 2    /* time had to pass for it (operations on descriptors, signals of timers) */
#define HD_EV_PLAIN 4   /* an access that was no scheduling point */
#define HD_EV_VALUE 8   /* the value is known */
#define HD_EV_STOP 0x80 /* the search: the execution was stopped in the middle of this event's step */

/* ---- the table ---- */

/* What is done to one object, indexed by whether the operation failed. */
struct hd_op_touch {
  uint8_t object; /* enum hd_obj_kind */
  uint8_t effect[2];
};

struct hd_op_info {
  const char *text;
  struct hd_op_touch first, second;
  uint8_t payload; /* enum hd_payload */
  uint16_t traits; /* HD_TRAIT_* */
};

extern const struct hd_op_info hd_op_table[HD_OP_COUNT];
extern const char *const hd_effect_word[HD_EFF_COUNT];
extern const uint8_t hd_effect_properties[HD_EFF_COUNT];

_Static_assert(HD_EV_FAILED == 1, "it is the index of hd_op_touch.effect");

static inline const char *hd_op_text(unsigned kind) { return hd_op_table[kind].text; }
static inline enum hd_obj_kind hd_op_object(unsigned kind) {
  return (enum hd_obj_kind)hd_op_table[kind].first.object;
}
static inline enum hd_payload hd_op_payload(unsigned kind) {
  return (enum hd_payload)hd_op_table[kind].payload;
}
/* What an operation does to its object, and to the second one, with these HD_EV_* flags. */
static inline enum hd_effect hd_op_effect(unsigned kind, unsigned flags) {
  return (enum hd_effect)hd_op_table[kind].first.effect[flags & HD_EV_FAILED];
}
static inline enum hd_effect hd_op_second(unsigned kind, unsigned flags) {
  return (enum hd_effect)hd_op_table[kind].second.effect[flags & HD_EV_FAILED];
}
/* Whether its effect has one of the properties HD_EFF_*. */
static inline int hd_op_does(unsigned kind, unsigned flags, unsigned properties) {
  return (hd_effect_properties[hd_op_effect(kind, flags)] & properties) != 0;
}
/* Whether a wait that made this choice returns although nobody wakes it. */
static inline int hd_wakes_spuriously(unsigned nchoices, unsigned choice) {
  return nchoices == 2 && choice == 1;
}
/* Whether it has one of the traits. */
static inline int hd_op_is(unsigned kind, unsigned traits) {
  return (hd_op_table[kind].traits & traits) != 0;
}
/* Whether a waiting loop may contain it: it has no effect of its own, or one that has to be looked at. */
static inline int hd_op_quiet(unsigned kind, unsigned flags) {
  return hd_op_is(kind, HD_TRAIT_QUIET | HD_TRAIT_NETS | (flags & HD_EV_FAILED ? HD_TRAIT_QUIET_FAILED : 0));
}
/* Whether time had to pass for it, which it does only when nothing else can run. */
static inline int hd_op_late(unsigned kind, unsigned flags) {
  return hd_op_is(kind, HD_TRAIT_LATE | (flags & HD_EV_FAILED ? HD_TRAIT_TIMED : 0)) || (flags & HD_EV_LATE);
}

/* Whether a thread may wait forever to hold the lock: the operation neither fails nor times out instead. */
static inline int hd_op_waits_forever(unsigned kind) {
  return hd_op_is(kind, HD_TRAIT_WAITS) &&
         (!hd_op_is(kind, HD_TRAIT_TIMED) || hd_op_does(kind, HD_EV_FAILED, HD_EFF_HOLDS));
}

/* ---- one operation ---- */

/* Where an operation stands in an atomic section of its thread, in which nobody else runs. A section that has to
 * wait is left, and entered again by the operation that it waited for. */
enum { HD_SECTION_NONE, HD_SECTION_ENTERS, HD_SECTION_INSIDE };

/* The pending operation of one thread. Which member of the payload is in use says its line in ops.def. It is copied
 * on the hot path, and stays at 48 bytes. */
struct hd_op {
  uint8_t kind;    /* enum hd_op_kind */
  uint8_t section; /* HD_SECTION_* */
  uint16_t thread;
  uint32_t
      size; /* bytes; of IO objects: facets read | facets written << 16; AWAIT: hd_await_place; KILL: signal */
  uint64_t object; /* address, or number of a thread; of IO operations, 0: all of them */
  uint64_t pc;
  union {
    uint64_t payload[3];
    struct {
      uint64_t found;    /* at most 8 bytes: the value found there, when `known` */
      uint64_t expected; /* CAS of at most 8 bytes: the value it expects */
      uint8_t order;     /* enum hd_memory_order */
      uint8_t known;
    } access;
    struct {
      uint64_t mutex; /* that is released */
    } wait;
    struct {
      uint32_t thread; /* WAKE: the thread that goes on because of it, plus 1 */
      uint32_t count;  /* WAKEALL, WAKESOME: how many do */
      uint64_t set;    /* WAKESOME: which ones, of the first 64 threads */
      uint64_t late;   /* those of them whose time was over: each could have given up instead */
    } wake;
    struct {
      uint32_t thread;             /* as in `wake` */
      uint32_t could;              /* it could have gone on in any case */
      const struct hd_op *instead; /* what the cancelled thread was about to do */
      uint32_t narrow;             /* it depends only on that thread, and on what its signal does */
    } cancel;
    struct {
      uint32_t decides; /* whoever of these is last runs the exit handlers */
    } exit;
    struct {
      uint32_t ordered; /* the number of the new thread depends on the order of creations (numbers.h) */
    } spawn;
    struct {
      uint64_t value; /* before it */
    } sem;
    struct {
      uint32_t ordered; /* the order of arrivals matters */
    } barrier;
    struct {
      uint64_t place[3]; /* what else the loop reads, 0: nothing more (hd_await_place) */
    } await;
    /* Events count from 1. */
    struct {
      uint32_t enabler, disabler;   /* what enabled it, what had disabled it before */
      uint32_t enabler_before;      /* what had enabled it before that */
      const uint32_t *alternatives; /* [0] events that each would have been enough, or NULL */
    } ready;
  };
};
_Static_assert(sizeof(struct hd_op) == 48, "struct hd_op is copied on the hot path");

/* The places that a loop waits for, of an operation with the payload AWAIT: the object, and up to three more. Their
 * sizes are the bytes of hd_op.size. */
#define HD_AWAIT_PLACES 4
static inline uint64_t hd_await_place(const struct hd_op *op, unsigned i, unsigned *size) {
  *size = op->size >> 8 * i & 0xff;
  return i ? op->await.place[i - 1] : op->object;
}

/* The address of the second object. pre: the operation has one. */
static inline uint64_t hd_op_second_object(const struct hd_op *op) {
  return hd_op_payload(op->kind) == HD_PAYLOAD_WAIT ? op->wait.mutex : op->object;
}
/* The thread that goes on because of it, plus 1; 0: none. pre: the payload is WAKE or CANCEL, which begin alike. */
static inline uint32_t hd_op_woken(const struct hd_op *op) { return op->wake.thread; }

/* State of the process has addresses that no memory has; `which` tells several of a kind apart. Its operations have
 * a size of 1. */
#define HD_STATE_BASE 0xffff800000000000ull
static inline uint64_t hd_state_object(enum hd_state state, uint32_t which) {
  return HD_STATE_BASE | (uint64_t)state << 36 | (uint64_t)which << 3;
}
/* What the signal of a KILL does. */
static inline uint64_t hd_op_handler(const struct hd_op *op) {
  return hd_state_object(HD_STATE_HANDLER, op->size);
}
/* What it is called; NULL: it is an address of memory. */
const char *hd_state_text(uint64_t object);

/* ---- the fields of payloads ---- */

enum hd_field_type {
  HD_FIELD_NUMBER,
  HD_FIELD_THREAD,
  HD_FIELD_OBJECT,
  HD_FIELD_ORDER,
  HD_FIELD_FOUND,
  HD_FIELD_RUN,
  HD_FIELD_POINTER
};
enum hd_field_when { HD_FIELD_BEFORE, HD_FIELD_AFTER };

struct hd_field {
  const char *key; /* NULL: after the last one */
  uint8_t offset, size, type, when;
};

#define HD_MAX_FIELDS 4
struct hd_payload_info {
  struct hd_field field[HD_MAX_FIELDS + 1];
};
extern const struct hd_payload_info hd_payload_table[HD_PAYLOAD_COUNT];
/* The bits of hd_op.payload that make a difference. */
extern const uint64_t hd_payload_compared[HD_PAYLOAD_COUNT][4];

/* The field of an operation, or of an event (event.h), and its change. */
uint64_t hd_field_get(const void *op, const struct hd_field *f);
void hd_field_set(void *op, const struct hd_field *f, uint64_t value);
/* Whether the field is written down in traces: it has a meaning outside the run, and is known. */
static inline int hd_field_recorded(const struct hd_op *op, const struct hd_field *f) {
  if (f->type == HD_FIELD_FOUND) return op->access.known;
  if (f->type == HD_FIELD_ORDER) return op->access.order != HD_MO_NONE;
  return f->type < HD_FIELD_RUN;
}

/* Whether two operations of the same kind carry the same. Mostly they do, to the last bit. */
static inline int hd_payload_same(const struct hd_op *a, const struct hd_op *b) {
  uint64_t d[3];
  for (int i = 0; i < 3; i++) d[i] = a->payload[i] ^ b->payload[i];
  if (__builtin_expect(!(d[0] | d[1] | d[2]), 1)) return 1;
  const uint64_t *m = hd_payload_compared[hd_op_payload(a->kind)];
  return !((d[0] & m[0]) | (d[1] & m[1]) | (d[2] & m[2]));
}
/* The payloads that have pointers. */
enum {
  HD_PAYLOADS_POINTING = 0
#define F(key, member, type, when) | (HD_FIELD_##type == HD_FIELD_POINTER)
#define HD_PAYLOAD(id, fields) | (0 fields) << HD_PAYLOAD_##id
#include "model/payloads.def"
#undef HD_PAYLOAD
#undef F
};
static inline int hd_payload_points(unsigned kind) { return HD_PAYLOADS_POINTING >> hd_op_payload(kind) & 1; }
/* Whether that holds of what is known while they are pending. */
int hd_payload_same_before(const struct hd_op *a, const struct hd_op *b);
/* Leaves only what means something outside the run. */
void hd_payload_strip(struct hd_op *op);

#endif

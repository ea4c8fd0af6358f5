/* tables.c: the tables of operations, effects, payloads and findings, made of the .def files. Linked into both
 * binaries. */
#include "model/event.h"

#define T(trait) HD_TRAIT_##trait
#define S(obj, eff, failed)                         \
  {                                                 \
    HD_OBJ_##obj, { HD_EFF_##eff, HD_EFF_##failed } \
  }
#define S0 S(NONE, NONE, NONE)

const struct hd_op_info hd_op_table[HD_OP_COUNT] = {
#define HD_OP(id, text, obj, eff, failed, second, payload, traits) \
  [HD_OP_##id] = {text, S(obj, eff, failed), second, HD_PAYLOAD_##payload, traits},
#include "model/ops.def"
#undef HD_OP
};

#define P(property) HD_EFF_##property

const char *const hd_effect_word[HD_EFF_COUNT] = {
#define HD_EFFECT(id, word, properties) [HD_EFF_##id] = word,
#include "model/effects.def"
#undef HD_EFFECT
};

const uint8_t hd_effect_properties[HD_EFF_COUNT] = {
#define HD_EFFECT(id, word, properties) [HD_EFF_##id] = properties,
#include "model/effects.def"
#undef HD_EFFECT
};

const char *const hd_kind_name[HD_KIND_COUNT] = {
#define HD_KIND(id, name, title) [HD_KIND_##id] = name,
#include "model/kinds.def"
#undef HD_KIND
};

const char *const hd_kind_title[HD_KIND_COUNT] = {
#define HD_KIND(id, name, title) [HD_KIND_##id] = title,
#include "model/kinds.def"
#undef HD_KIND
};

const char *const hd_memory_order_text[HD_MO_COUNT] = {
    [HD_MO_NONE] = "",           [HD_MO_RELAXED] = "relaxed", [HD_MO_CONSUME] = "consume",
    [HD_MO_ACQUIRE] = "acquire", [HD_MO_RELEASE] = "release", [HD_MO_ACQ_REL] = "acq_rel",
    [HD_MO_SEQ_CST] = "seq_cst",
};

const char *hd_object_word(enum hd_obj_kind kind) {
  static const char *const word[] = {
      [HD_OBJ_NONE] = "",           [HD_OBJ_THREAD] = "thread", [HD_OBJ_MEMORY] = "memory",
      [HD_OBJ_STATE] = "state",     [HD_OBJ_IO] = "io",         [HD_OBJ_STREAM] = "io",
      [HD_OBJ_FUTEX] = "futex",     [HD_OBJ_MUTEX] = "mutex",   [HD_OBJ_COND] = "cond",
      [HD_OBJ_ONCE] = "once",       [HD_OBJ_RWLOCK] = "rwlock", [HD_OBJ_SEM] = "sem",
      [HD_OBJ_BARRIER] = "barrier",
  };
  return word[kind];
}

const char *hd_state_text(uint64_t object) {
  static const char *const text[HD_STATE_COUNT] = {
#define HD_STATE(id, text) [HD_STATE_##id] = text,
#include "model/states.def"
#undef HD_STATE
  };
  uint64_t state = (object & ~HD_STATE_BASE) >> 36;
  return object >= HD_STATE_BASE && state < HD_STATE_COUNT ? text[state] : NULL;
}

/* ---- payloads ---- */

#define AT(member) offsetof(struct hd_op, member)
#define SIZE(member) sizeof(((struct hd_op *)0)->member)
#define OFFSET(member) (AT(member) - AT(payload))
/* The bits of the member in word k of the payload. */
#define BITS(k, member) \
  (OFFSET(member) / 8 == (k) ? (~0ull >> (64 - 8 * SIZE(member))) << OFFSET(member) % 8 * 8 : 0ull)

const struct hd_payload_info hd_payload_table[HD_PAYLOAD_COUNT] = {
#define F(key, member, type, when) \
  {#key, (uint8_t)AT(member), (uint8_t)SIZE(member), HD_FIELD_##type, HD_FIELD_##when},
#define HD_PAYLOAD(id, fields) [HD_PAYLOAD_##id].field = {fields{0}},
#include "model/payloads.def"
#undef HD_PAYLOAD
#undef F
};

_Alignas(32) const uint64_t hd_payload_compared[HD_PAYLOAD_COUNT][4] = {
#define F(key, member, type, when) | (HD_FIELD_##type == HD_FIELD_POINTER ? 0ull : BITS(WORD, member))
#define HD_PAYLOAD(id, fields) [HD_PAYLOAD_##id][WORD] = 0ull fields,
#define WORD 0
#include "model/payloads.def"
#undef WORD
#define WORD 1
#include "model/payloads.def"
#undef WORD
#define WORD 2
#include "model/payloads.def"
#undef WORD
#undef HD_PAYLOAD
};

#define HD_EVENT_FIELD(key, member)                                                                  \
  {#key, offsetof(struct hd_event, member), sizeof(((struct hd_event *)0)->member), HD_FIELD_NUMBER, \
   HD_FIELD_AFTER},
const struct hd_field hd_event_fields[HD_EVENT_NFIELDS + 1] = {
#include "model/events.def"
    {0},
};
#undef HD_EVENT_FIELD

uint64_t hd_field_get(const void *op, const struct hd_field *f) {
  const char *at = (const char *)op + f->offset;
  switch (f->size) {
    case 1: return *(const uint8_t *)at;
    case 2: return *(const uint16_t *)at;
    case 4: return *(const uint32_t *)at;
    default: return *(const uint64_t *)at;
  }
}

void hd_field_set(void *op, const struct hd_field *f, uint64_t value) {
  char *at = (char *)op + f->offset;
  switch (f->size) {
    case 1: *(uint8_t *)at = (uint8_t)value; break;
    case 2: *(uint16_t *)at = (uint16_t)value; break;
    case 4: *(uint32_t *)at = (uint32_t)value; break;
    default: *(uint64_t *)at = value;
  }
}

int hd_payload_same_before(const struct hd_op *a, const struct hd_op *b) {
  for (const struct hd_field *f = hd_payload_table[hd_op_payload(a->kind)].field; f->key; f++)
    if (f->when == HD_FIELD_BEFORE && hd_field_get(a, f) != hd_field_get(b, f)) return 0;
  return 1;
}

/* No copy of the operation is made: the runtime must leave no address of code on a thread's stack. */
void hd_payload_strip(struct hd_op *op) {
  uint64_t keep[3] = {0, 0, 0};
  for (const struct hd_field *f = hd_payload_table[hd_op_payload(op->kind)].field; f->key; f++) {
    unsigned at = f->offset - (unsigned)AT(payload);
    if (!hd_field_recorded(op, f)) continue;
    keep[at / 8] |= (~0ull >> (64 - 8 * f->size)) << at % 8 * 8;
    if (f->type == HD_FIELD_FOUND) keep[OFFSET(access.known) / 8] |= 0xffull << OFFSET(access.known) % 8 * 8;
  }
  for (int i = 0; i < 3; i++) op->payload[i] &= keep[i];
}

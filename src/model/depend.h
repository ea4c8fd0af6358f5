/* depend.h: which operations depend on each other: the one relation that the search, traces and analyses ask. Linked
 * into both binaries. */
#ifndef HD_MODEL_DEPEND_H
#define HD_MODEL_DEPEND_H

#include "model/op.h"

/* A set of effects is a word, bit HD_EFFECT_BIT(effect) each. */
#define HD_EFFECT_BIT(effect) (1ull << (effect))

/* The effects on the same object that conflict with this one: swapped, the two can give another result. Some only do
 * with what the operations carry (hd_dependent looks). */
extern const uint64_t hd_conflicts[HD_EFF_COUNT];

/* Whether two operations of different threads are dependent: swapping them can change anything. The flags are HD_EV_*. */
int hd_dependent(const struct hd_op *a, unsigned aflags, const struct hd_op *b, unsigned bflags);

/* What tells most pairs of independent operations apart: those with different keys, neither of them 0, are. */
uint64_t hd_dependence_key(const struct hd_op *op, unsigned flags);
static inline int hd_keys_apart(uint64_t a, uint64_t b) { return a && b && a != b; }

/* Whether the bytes overlap. */
static inline int hd_ops_overlap(const struct hd_op *a, const struct hd_op *b) {
  return a->object < b->object + b->size && b->object < a->object + a->size;
}
/* The facets of a channel that say whether its descriptions are open, and with which flags. */
#define HD_IO_LIFE 0x7f00u
/* Objects of these kinds are known by the same addresses: a lock is a lock, and a futex a condition whose wait begins
 * with a look at memory. */
static inline unsigned hd_object_family(unsigned object) {
  return object == HD_OBJ_ONCE ? HD_OBJ_MUTEX : object == HD_OBJ_FUTEX ? HD_OBJ_COND : object;
}

/* Whether two operations on descriptors conflict. */
int hd_io_dependent(const struct hd_op *a, const struct hd_op *b);
/* Whether two effects that conflict do so, given what their operations carry: notifications that nobody hears do not,
 * nor arrivals at a barrier whose order does not matter, nor most ends and creations of threads. pre: same object. */
int hd_carried_conflict(const struct hd_op *a, enum hd_effect ea, const struct hd_op *b, enum hd_effect eb);

/* The same for the ends of two threads. */
static inline int hd_ends_conflict(const struct hd_op *a, const struct hd_op *b) {
  return a->exit.decides || b->exit.decides;
}

/* Whether everything that conflicts with one of them on their object conflicts with the other too. */
int hd_conflict_alike(const struct hd_op *a, unsigned af, const struct hd_op *b, unsigned bf);

/* Whether the second operation had to wait for the first, which gives up a lock that it takes: the two can never be
 * swapped, though they are dependent. */
int hd_waits_for(const struct hd_op *release, unsigned rflags, const struct hd_op *op, unsigned flags);
/* Leaves of an operation what its dependences, and whom it lets go on, follow from. */
void hd_dependence_strip(struct hd_op *op);

/* Whether entering an atomic section depends on the operation (order_section.c, invariant 2). */
static inline int hd_meets_sections(const struct hd_op *op) {
  return op->section == HD_SECTION_ENTERS || hd_op_is(op->kind, HD_TRAIT_SECTION);
}

#endif

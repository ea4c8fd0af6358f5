/* holders.c: who holds which lock, worked out from events. Linked into both binaries. */
#include "model/holders.h"

static void drop(struct hd_holders *h, size_t i) {
  for (h->n--; i < h->n; i++) h->hold[i] = h->hold[i + 1];
}

/* The latest hold of that thread is over. */
static int let_go(struct hd_holders *h, uint64_t object, unsigned thread) {
  for (size_t i = h->n; i-- > 0;)
    if (h->hold[i].object == object && h->hold[i].thread == thread) {
      drop(h, i);
      return 1;
    }
  return 0;
}

static int apply(struct hd_holders *h, const struct hd_op *op, unsigned object_kind, uint64_t object,
                 enum hd_effect effect, uint32_t number) {
  unsigned does = hd_effect_properties[effect];
  if (does & HD_EFF_HOLDS) {
    if (h->n == h->cap) return -1;
    h->hold[h->n++] =
        (struct hd_hold){object, number, op->thread, (uint8_t)object_kind, effect == HD_EFF_SHARE};
    return 1;
  }
  if (does & HD_EFF_LETS_GO) return let_go(h, object, op->thread);
  if (effect != HD_EFF_DESTROY && effect != HD_EFF_INIT) return 0;
  int any = 0;
  for (size_t i = h->n; i-- > 0;)
    if (h->hold[i].object == object && h->hold[i].kind == object_kind) {
      drop(h, i);
      any = 1;
    }
  return any;
}

int hd_holders_event(struct hd_holders *h, const struct hd_op *op, unsigned flags, uint32_t number) {
  const struct hd_op_info *info = &hd_op_table[op->kind];
  int first = apply(h, op, info->first.object, op->object, hd_op_effect(op->kind, flags), number);
  enum hd_effect second = hd_op_second(op->kind, flags);
  if (first || second == HD_EFF_NONE) return first;
  return apply(h, op, info->second.object, hd_op_second_object(op), second, number);
}

uint64_t hd_held_object(const struct hd_op *op, unsigned flags) {
  unsigned holding = HD_EFF_HOLDS | HD_EFF_LETS_GO;
  if (hd_op_does(op->kind, flags, holding)) return op->object;
  return hd_effect_properties[hd_op_second(op->kind, flags)] & holding ? hd_op_second_object(op) : 0;
}

const struct hd_hold *hd_holders_of_object(const struct hd_holders *h, uint64_t object, size_t *at) {
  while (*at < h->n)
    if (h->hold[(*at)++].object == object) return &h->hold[*at - 1];
  return NULL;
}

const struct hd_hold *hd_holders_of_thread(const struct hd_holders *h, unsigned thread, size_t *at) {
  while (*at < h->n)
    if (h->hold[(*at)++].thread == thread) return &h->hold[*at - 1];
  return NULL;
}

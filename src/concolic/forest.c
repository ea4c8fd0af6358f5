/* forest.c: what threads were seen to do (concolic.h). Runs in the supervisor.
 *
 * Invariants
 *  1. A thread is deterministic: below a node, what comes next is one event, unless the node is a branch: then one for
 *     each outcome. Values that were read are symbols, so they make no difference until a branch asks.
 *  2. The symbol of a read is given by the thread and the number of the read on its path. */
#include "concolic/concolic_int.h"

#include <stdlib.h>
#include <string.h>

void hd__forest_init(struct hd__forest *f) {
  memset(f, 0, sizeof *f);
  hd_vec_push(&f->node, ((struct hd__node){0}));
  hd_vec_push(&f->var, ((struct hd__var){0}));
  f->slots = 64;
  f->table = hd_alloc(f->slots * sizeof *f->table);
}

void hd__forest_fini(struct hd__forest *f) {
  hd_vec_free(&f->node);
  hd_vec_free(&f->var);
  free(f->table);
}

static size_t slot_of(const struct hd__forest *f, uint64_t object, uint8_t size) {
  uint64_t h = (object ^ (uint64_t)size << 56) * 0x9e3779b97f4a7c15ull;
  size_t i = (size_t)(h >> 20) & (f->slots - 1);
  for (; f->table[i]; i = (i + 1) & (f->slots - 1)) {
    const struct hd__var *v = &f->var.v[f->table[i]];
    if (v->object == object && v->size == size) break;
  }
  return i;
}

uint32_t hd__forest_var(struct hd__forest *f, uint64_t object, uint8_t size) {
  size_t i = slot_of(f, object, size);
  if (f->table[i]) return f->table[i];
  for (size_t k = 1; k < f->var.n; k++)
    f->overlapping += f->var.v[k].object < object + size && object < f->var.v[k].object + f->var.v[k].size;
  f->table[i] = (uint32_t)f->var.n;
  hd_vec_push(&f->var, ((struct hd__var){.object = object, .size = size}));
  if (f->var.n > f->slots / 2) {
    free(f->table);
    f->slots *= 2;
    f->table = hd_alloc(f->slots * sizeof *f->table);
    for (uint32_t k = 1; k < f->var.n; k++) f->table[slot_of(f, f->var.v[k].object, f->var.v[k].size)] = k;
  }
  return (uint32_t)f->var.n - 1;
}

uint32_t hd__forest_root(struct hd__forest *f, unsigned thread) {
  if (!f->root[thread]) {
    hd_vec_push(&f->node,
                ((struct hd__node){.seen = true, .e = {.kind = HD_CC_OTHER, .thread = (uint16_t)thread}}));
    f->root[thread] = (uint32_t)f->node.n - 1;
  }
  return f->root[thread];
}

static bool same(const struct hd_cc_event *a, const struct hd_cc_event *b) {
  return a->kind == b->kind && a->size == b->size && a->object == b->object && a->site == b->site &&
         a->child == b->child && a->expr == b->expr && a->taken == b->taken && a->step == b->step;
}

uint32_t hd__forest_add(struct hd__forest *f, uint32_t parent, const struct hd_cc_event *e) {
  for (uint32_t c = f->node.v[parent].child; c; c = f->node.v[c].sibling)
    if (same(&f->node.v[c].e, e)) return c;
  struct hd__node n = {.parent = parent,
                       .sibling = f->node.v[parent].child,
                       .depth = f->node.v[parent].depth + 1,
                       .held = f->node.v[parent].held,
                       .e = *e};
  if (e->kind == HD_CC_LOCK) n.held++;
  if (e->kind == HD_CC_UNLOCK && n.held) n.held--;
  if (e->kind == HD_CC_READ || e->kind == HD_CC_WRITE) n.var = hd__forest_var(f, e->object, e->size);
  if (e->kind == HD_CC_READ) {
    uint32_t up = parent;
    n.outer = true;
    for (; up; up = f->node.v[up].parent) {
      if (f->node.v[up].var != n.var) continue;
      n.outer = false;
      if (f->node.v[up].e.kind == HD_CC_WRITE) break;
    }
    n.local = up;
  }
  hd_vec_push(&f->node, n);
  return f->node.v[parent].child = (uint32_t)f->node.n - 1;
}

bool hd__forest_above(const struct hd__forest *f, uint32_t a, uint32_t b) {
  while (f->node.v[b].depth > f->node.v[a].depth) b = f->node.v[b].parent;
  return a == b;
}

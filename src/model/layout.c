/* layout.c: addresses of one process as names that mean the same in every process. Linked into both binaries. */
#include "model/layout.h"

#include "model/model.h"

#define PAGE_SHIFT 12

void hd_layout_init(struct hd_layout *l, const struct hd_range *range, uint32_t n) {
  l->range = range;
  l->n = n;
  for (unsigned i = 0; i < HD_LAYOUT_CACHE; i++) l->cache[i].page = 0;
}

const struct hd_range *hd_layout_find(const struct hd_layout *l, uint64_t addr) {
  for (uint32_t i = 0; i < l->n; i++)
    if (addr >= l->range[i].start && addr < l->range[i].end) return &l->range[i];
  return NULL;
}

const struct hd_range *hd_layout_named(const struct hd_layout *l, uint32_t name) {
  for (uint32_t i = 0; i < l->n; i++)
    if (l->range[i].name == name) return &l->range[i];
  return NULL;
}

uint64_t hd_layout_stable(struct hd_layout *l, uint64_t addr) {
  uint64_t page = addr >> PAGE_SHIFT;
  unsigned i = page % HD_LAYOUT_CACHE;
  if (l->cache[i].page != page + 1) {
    const struct hd_range *r = hd_layout_find(l, addr);
    l->cache[i].page = page + 1;
    l->cache[i].add = r ? (1ull << 63 | (uint64_t)r->name << 40) - r->start : 0;
  }
  return addr + l->cache[i].add;
}

static uint64_t hash(const struct hd_layout *l, int where) {
  uint64_t h = l->n;
  for (uint32_t i = 0; i < l->n; i++) {
    const struct hd_range *r = &l->range[i];
    h = hd_mix64(h * 31 + r->name);
    h = hd_mix64(h * 31 + (where ? r->start : 0) + (r->end - r->start));
  }
  return h;
}

uint64_t hd_layout_hash(const struct hd_layout *l) { return hash(l, 1); }
uint64_t hd_layout_shape(const struct hd_layout *l) { return hash(l, 0); }

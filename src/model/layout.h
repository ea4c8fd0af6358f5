/* layout.h: addresses of one process as names that mean the same in every process of the program. Linked into both
 * binaries.
 *
 * A layout is a table of address ranges with stable names: modules, the stack of the first thread, its thread-local
 * block, the stack (with thread-local block) of the n-th identity. What is in none of them keeps its address: the heap
 * is at a fixed place, and numbers that are no addresses are not changed. */
#ifndef HD_MODEL_LAYOUT_H
#define HD_MODEL_LAYOUT_H

#include <stdint.h>

enum hd_range_kind { HD_RANGE_MODULE, HD_RANGE_STACK, HD_RANGE_FIRST_STACK, HD_RANGE_FIRST_TLS };

struct hd_range {
  uint64_t start, end;
  uint32_t name; /* hd_range_name */
  uint32_t unused;
};
static inline uint32_t hd_range_name(enum hd_range_kind kind, uint32_t number) {
  return (uint32_t)kind << 20 | number;
}

/* Ranges are looked up in order: the first that has the address counts. The table is its owner's. */
#define HD_LAYOUT_CACHE 256
struct hd_layout {
  const struct hd_range *range;
  uint32_t n;
  struct {
    uint64_t page; /* + 1; 0: empty */
    uint64_t add;
  } cache[HD_LAYOUT_CACHE];
};
void hd_layout_init(struct hd_layout *l, const struct hd_range *range, uint32_t n);

/* The range that the address is in; NULL: none. */
const struct hd_range *hd_layout_find(const struct hd_layout *l, uint64_t addr);
const struct hd_range *hd_layout_named(const struct hd_layout *l, uint32_t name);
/* A number that stands for the address in every layout, for hashes. The same for all bytes of a page, plus their offset:
 * ranges should begin and end at pages. */
uint64_t hd_layout_stable(struct hd_layout *l, uint64_t addr);
/* The same for equal layouts only; and for layouts of the same ranges, wherever they are. */
uint64_t hd_layout_hash(const struct hd_layout *l);
uint64_t hd_layout_shape(const struct hd_layout *l);

#endif

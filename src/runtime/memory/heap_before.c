/* heap_before.c: blocks that the test had allocated before it called hd_check, and that the body has freed. Runs in
 * the tested process.
 *
 * They are libc's, whose heap is not asked any more: a block that is freed stays where it is, and is noted here. Invariant:
 * the list is sorted by address, without overlaps, and as it is at any point of an execution depends on that execution
 * only. When it is full, blocks that are freed are not noted: nothing wrong is reported then, only less. */
#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/memory/memory.h"

#define ROOM 65536

struct freed {
  uint64_t lo, hi;
  uint32_t site;
};
static struct freed *freed; /* mapped when it is first needed */
unsigned hd__before_freed;

/* The index of the first block that ends above `addr`. */
static unsigned find(uint64_t addr) {
  unsigned lo = 0, hi = hd__before_freed;
  while (lo < hi) {
    unsigned mid = (lo + hi) / 2;
    if (freed[mid].hi <= addr)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

static bool is_freed(uint64_t addr) {
  unsigned i = find(addr);
  return i < hd__before_freed && freed[i].lo <= addr;
}

static void note(uint64_t p, uint64_t size, uint64_t pc) {
  if (!freed) freed = hd__map(ROOM * sizeof *freed);
  if (!freed || hd__before_freed == ROOM) return;
  unsigned at = find(p);
  for (unsigned i = hd__before_freed++; i > at; i--) freed[i] = freed[i - 1];
  freed[at] = (struct freed){p, p + size, HD_UNLIKELY(hot.detail) ? (uint32_t)hd__site_here(pc) : 0};
}

void hd__before_free(uint64_t p, uint64_t size, uint64_t pc) {
  /* As for blocks of ours: others may run where it races, and free it first. */
  if (!is_freed(p) && size && rt.nthreads > 1) hd__shadow_free(p, size, pc);
  if (is_freed(p)) {
    hd__bad_free(HD_KIND_DOUBLE_FREE, p, pc);
    return;
  }
  if (!size) return;
  hd__new_segment(rt.cur); /* no fast path of ours may still hit the block */
  note(p, size, pc);
}

void hd__before_check_slow(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc) {
  unsigned i = find(addr);
  if (i < hd__before_freed && freed[i].lo < addr + size)
    hd__bad_access(HD_KIND_USE_AFTER_FREE, addr, size, flags, pc);
}

bool hd__before_block(uint64_t addr, struct hd_block *b) {
  if (!is_freed(addr)) return false;
  const struct freed *f = &freed[find(addr)];
  *b = (struct hd_block){.base = f->lo, .size = f->hi - f->lo, .free_site = f->site};
  return true;
}

void hd__before_restore(void) { hd__before_freed = 0; }

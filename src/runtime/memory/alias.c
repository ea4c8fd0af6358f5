/* alias.c: memory that the program sees at several addresses: one file, or segment, that is mapped twice. Runs in the
 * tested process.
 *
 * Shadow memory goes by address. So that both addresses have the same cells, the shadow of the second mapping is another
 * mapping of the shadow of the first. Objects and operations are named by an address of the first mapping, the canonical
 * one (hd__canonical).
 *
 * Invariants
 *  1. The canonical address of memory is the same as long as the first mapping exists, and it can be read.
 *  2. Between executions there are no aliases, and all shadow memory is private. */
#include <sys/mman.h>

#include "runtime/core/core.h"
#include "runtime/memory/memory.h"

#define ALIASES 64
static struct alias { uint64_t lo, hi, to; } alias[ALIASES];
static struct { uint64_t lo, hi; } changed[2 * ALIASES]; /* memory whose shadow is not private */
static unsigned nchanged;

uint64_t hd__canonical_slow(uint64_t a) {
  for (unsigned i = 0; i < rt.naliases; i++)
    if (a >= alias[i].lo && a < alias[i].hi) return a - alias[i].lo + alias[i].to;
  return a;
}

void hd__canonical_op(struct hd_op *op) {
  op->object = hd__canonical_slow(op->object);
  switch (hd_op_payload(op->kind)) {
    case HD_PAYLOAD_WAIT: op->wait.mutex = hd__canonical_slow(op->wait.mutex); break;
    case HD_PAYLOAD_AWAIT:
      for (unsigned i = 0; i + 1 < HD_AWAIT_PLACES; i++)
        op->await.place[i] = hd__canonical_slow(op->await.place[i]);
      break;
    default: break;
  }
}

/* ---- shadow memory ---- */

static void make_private(uint64_t lo, uint64_t hi) {
  HD_BUG_ON(!hd__shadow_map((uint64_t)hd__cell(lo), (hi - lo) << 2, MAP_FIXED));
}

static bool is_changed(uint64_t lo, uint64_t hi) {
  for (unsigned i = 0; i < nchanged; i++)
    if (changed[i].lo <= lo && hi <= changed[i].hi) return true;
  return false;
}

static void note_changed(uint64_t lo, uint64_t hi) {
  changed[nchanged].lo = lo;
  changed[nchanged++].hi = hi;
}

static char *next_shared;

static void copy_piece(uint64_t addr, uint64_t size, uint64_t base) {
  hd__copy(next_shared + ((addr - base) << 2), hd__cell(addr), size << 2);
}

/* Makes the shadow of [lo, hi) one that can be mapped again. */
static bool make_shared(uint64_t lo, uint64_t hi) {
  if (is_changed(lo, hi)) return true;
  long n = (long)((hi - lo) << 2);
  long p = hd_sys6(SYS_mmap, 0, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p < 0 && p > -4096) return false;
  next_shared = (char *)p;
  hd__shadow_each_touched(lo, hi - lo, lo, copy_piece);
  if (hd_sys6(SYS_mremap, p, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, (long)hd__cell(lo), 0) < 0) return false;
  note_changed(lo, hi);
  return true;
}

/* ---- aliases ---- */

bool hd__alias(uint64_t lo, uint64_t hi, uint64_t first, uint64_t size, uint64_t second) {
  if (rt.naliases == ALIASES || nchanged + 2 > 2 * ALIASES || hi - lo > HD_SHADOW_ADDR_MASK >> 4)
    return false;
  if (!make_shared(lo, hi)) return false;
  /* An old size of 0: the same pages, once more. */
  long p = hd_sys6(SYS_mremap, (long)hd__cell(first), 0, (long)(size << 2), MREMAP_MAYMOVE | MREMAP_FIXED,
                   (long)hd__cell(second), 0);
  if (p != (long)hd__cell(second)) return false;
  note_changed(second, second + size);
  alias[rt.naliases++] = (struct alias){second, second + size, first};
  hd__shadow_learn(0, rt.status->visible_count); /* a visible granule may be known by either address */
  hd__new_segment(rt.cur);                       /* the fast path must look again */
  return true;
}

bool hd__alias_end(uint64_t lo, uint64_t hi) {
  bool any = false;
  for (unsigned i = rt.naliases; i-- > 0;) {
    struct alias *x = &alias[i];
    bool second = x->lo < hi && lo < x->hi, first = x->to < hi && lo < x->to + (x->hi - x->lo);
    if (!second && !first) continue;
    any = true;
    *x = alias[--rt.naliases];
  }
  for (unsigned i = nchanged; i-- > 0;) {
    if (changed[i].lo >= hi || lo >= changed[i].hi) continue;
    any = true;
    make_private(changed[i].lo, changed[i].hi);
    changed[i] = changed[--nchanged];
  }
  if (any) hd__shadow_learn(0, rt.status->visible_count);
  return any;
}

/* Invariant 2. */
void hd__alias_begin(void) {
  if (!nchanged) return;
  while (nchanged) {
    nchanged--;
    make_private(changed[nchanged].lo, changed[nchanged].hi);
  }
  rt.naliases = 0;
  hd__shadow_learn(0, rt.status->visible_count);
}

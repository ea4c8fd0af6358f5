/* memory.h: what a read may see. Linked into both binaries.
 *
 * A memory model answers one question: given the events of an execution so far, which writes may this read return? The
 * first model is sequential consistency: a read sees, of each byte, the latest write, so there is one candidate. What
 * asks (the linker of traces; later a search that branches over candidates) does not know which model it is.
 *
 * Invariants
 *  1. Memory is followed byte by byte: a read of several bytes saw the latest of the writes to any of them.
 *  2. A write of whole pages is kept once for each page, so that clearing a gigabyte stays cheap; what is known of a
 *     byte is the later of what its page and what its granule say. */
#ifndef HD_MODEL_MEMORY_H
#define HD_MODEL_MEMORY_H

#include "model/op.h"

/* Memory of the caller's: `size` bytes that begin with what `old` had, the rest zero or not; size 0 frees it. */
typedef void *hd_memory_resize(void *arg, void *old, size_t size);

struct hd_memory_slot;
struct hd_memory {
  hd_memory_resize *resize;
  void *arg;
  struct hd_memory_slot *slot; /* hash table by granule and by page */
  size_t n, cap;
};

void hd_memory_init(struct hd_memory *m, hd_memory_resize *resize, void *arg);
void hd_memory_fini(struct hd_memory *m);

/* The operation, event `number` from 1, has written to its object. */
void hd_memory_write(struct hd_memory *m, const struct hd_op *op, uint32_t number);
/* The events whose effect the read may see, 0 standing for what was there at the start, at most `max`; the one that it
 * sees in this execution comes first. Returns how many there are. pre: max >= 1. */
size_t hd_memory_candidates(const struct hd_memory *m, const struct hd_op *read, uint32_t *out, size_t max);

/* Whether a write to the bytes `written` of a granule hides all earlier accesses from one to `bytes`: whatever conflicts
 * with them is ordered by that write. */
static inline int hd_memory_hides(unsigned written, unsigned bytes) { return !(bytes & ~written); }

#endif

/* fingerprint.h: the state of the tested program in 128 bits (fingerprint.c). */
#ifndef HD_RUNTIME_FINGERPRINT_H
#define HD_RUNTIME_FINGERPRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/util.h"
#include "abi/abi.h"

/* Before the first execution: prepares for --states, if the search compares states. */
void hd__fingerprint_init(void);
/* An execution begins: the strategy has said whether states are compared in it (hd_search.captures). */
HD_EACH void hd__fingerprint_begin(void);
/* The state at this scheduling point, while no thread runs. Returns false when it cannot be captured. */
bool hd__fingerprint(uint64_t out[2]);
/* The part of it that only that thread can see. pre: hd__fingerprint returned true at this scheduling point. */
const uint64_t *hd__fingerprint_local(unsigned thread);
/* From now on, in this execution, the program has state that is not captured. */
void hd__uncaptured(enum hd_uncaptured why);
/* The running thread accesses these bytes of the granule. Returns whether the access is to be part of the state. */
bool hd__fingerprint_access(uint64_t granule, unsigned mask, bool write, bool atomic);
/* Accesses to which of its bytes are. */
unsigned hd__fingerprint_contended(uint64_t granule);
/* The program makes a system call. */
void hd__fingerprint_syscall(long nr, const long *a);

/* ---- for files that have a part of the state ---- */

struct hd_fingerprint;
/* Adds a fact to the state; the order of facts does not matter. `place` says what the value is of. */
void hd__fact(struct hd_fingerprint *f, uint64_t place, uint64_t value);
/* Instead of a mask: words that are not 0; of a stack, not those of our frames that depend on the interleaving. */
#define HD_LINE_MEMORY 0x100u
#define HD_LINE_STACK 0x200u
/* Adds those of 8 words that are in the mask, the n-th as a fact of place + 8n. `addr` tells lines apart. */
void hd__fact_line(struct hd_fingerprint *f, uint64_t addr, uint64_t place, unsigned mask,
                   const uint64_t word[8]);
/* Adds the memory from `from`, which is a multiple of 8, to `to`, named relative to `base`. */
void hd__fact_range(struct hd_fingerprint *f, uint64_t from, uint64_t to, uint64_t base, unsigned how);
/* Adds an access of the past that a later one may race with, if there is a thread that does not come after it. */
void hd__fact_access(struct hd_fingerprint *f, uint64_t place, uint64_t what, uint32_t segment);
/* The same for one of that thread at that clock. */
void hd__fact_clock(struct hd_fingerprint *f, uint64_t place, uint64_t what, uint32_t thread, uint32_t clock);

#endif

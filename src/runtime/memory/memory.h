/* memory.h: the program's memory: who accessed it (shadow.c), the heap, and restoring it (snapshot.c). */
#ifndef HD_RUNTIME_MEMORY_H
#define HD_RUNTIME_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/inline.h"
#include "runtime/core/core.h"

struct hd_fingerprint;

/* ---- shadow.c ---- */

/* What an access does. */
#define HD_A_WRITE 1u
#define HD_A_ATOMIC 2u
#define HD_A_VOLATILE 4u
#define HD_A_FREE 8u
#define HD_A_RMW 16u
#define HD_A_CAS 32u
#define HD_A_SILENT 64u /* its races are not reported */
#define HD_A_NETS 128u  /* hd__spin_updated says later whether it changes anything */
#define HD_A_ORDER(order) ((unsigned)(order) << 8) /* enum hd_memory_order */

/* The last accesses to a granule, 8 aligned bytes. */
struct hd_cell {
  uint64_t w, r;     /* last write and last read: segment << 32 | flags << 8 | byte mask */
  uint64_t wpc, rpc; /* where; wpc also has the bits below */
};
/* Bits of wpc. */
#define HD_CELL_VISIBLE (1ull << 63) /* accesses to the granule are scheduling points */
#define HD_CELL_LIST \
  (1ull << 62) /* rpc is seg_base << 32 | list, and w and r only summarise it for the fast path */
#define HD_CELL_WATCHED (1ull << 61) /* every access is recorded: the fast path must not match */
/* Bits of w and r: the access was atomic, or volatile. */
#define HD_CELL_ATOMIC (1ull << 9)
#define HD_CELL_VOLATILE (1ull << 10)
#define HD_PC_MASK ((1ull << 48) - 1)

#define HD_SHADOW_ADDR_MASK ((1ull << HD_SHADOW_BITS) - 1)
static inline struct hd_cell *hd__cell(uint64_t addr) {
  /* The low 40 bits without the last 3, times 4; written with shifts, which need no long constants. */
  return (struct hd_cell *)(HD_SHADOW_BASE + ((addr << 24 >> 27) << 5));
}

int hd__shadow_init(void);
/* Maps empty shadow memory there; `how`: MAP_FIXED, or MAP_FIXED_NOREPLACE. */
bool hd__shadow_map(uint64_t at, uint64_t size, int how);
/* Clears the shadow memory, when segment numbers start again. */
void hd__shadow_begin(void);
void hd__access_slow(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);
/* A plain access to any number of bytes, or none (hooks.c). Does nothing while the runtime is not active. */
void hd__access_range(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);
/* A place in a module that was instrumented without Heddle's plug-in for the compiler, or 0 (hooks_plugin.c). */
uint64_t hd__without_plugin(void);
/* How many object files heddle cc has instrumented. */
unsigned hd__instrumented(void);
HD_EACH uint64_t hd__plain_object(void);
struct hd_cas {
  const void *at, *expected;
  unsigned size;
  uint8_t fail_order; /* enum hd_memory_order of a failure */
};
/* Whether the compare-and-swap would succeed now. */
bool hd__cas_wins(const struct hd_cas *cas);
/* hd__access_slow for a compare-and-swap, which is a write only if it is going to succeed. */
void hd__access_cas(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc, const struct hd_cas *cas);
/* Notes the value that an atomic operation would find now. */
void hd__op_find(struct hd_op *op);
/* The block [addr, addr+size) is freed: a write to every byte of it that any thread has accessed. */
void hd__shadow_free(uint64_t addr, uint64_t size, uint64_t pc);

/* ---- lent.c: local variables that other threads access ---- */

#define HD_FIRST_STACK (8ull << 20) /* as much of it as most systems allow */
void hd__lent_init(void);           /* there are more stacks */
/* Whether the address may be on the stack of another thread than the running one. */
static inline bool hd__on_other_stack(uint64_t addr) {
  const struct hd_ident *own = rt.cur->ident;
  if (addr - rt.stacks.first < HD_FIRST_STACK) return own != NULL;
  if (HD_LIKELY(addr - rt.stacks.lo >= rt.stacks.size)) return false;
  return !own || addr < (uint64_t)own->stack_lo || addr >= (uint64_t)own->stack_hi;
}
/* The running thread accesses memory on such a stack, beside other threads. */
void hd__lend(uint64_t addr, bool write, uint64_t pc);
/* The memory [addr, addr+size), which may be large and hardly accessed, is new: forgets the accesses to its addresses. */
void hd__shadow_forget_large(uint64_t addr, uint64_t size);

/* The last write to the granule, as a number that tells it from others of this execution. Returns false when it is not known. */
bool hd__shadow_written(uint64_t addr, uint64_t *which);

/* Calls f(address, bytes, arg) for the parts of the memory that have been accessed, as far as that is known. */
void hd__shadow_each_touched(uint64_t addr, uint64_t size, uint64_t arg,
                             void (*f)(uint64_t addr, uint64_t size, uint64_t arg));

/* Races on this memory are not reported in this execution. */
void hd__benign(uint64_t addr, uint64_t size);

/* The accesses that later ones may race with, as part of the state of the program (core/fingerprint.c). */
void hd__shadow_fingerprint(struct hd_fingerprint *f);

/* ---- visible memory: accesses to it are scheduling points ---- */

bool hd__shadow_visible(uint64_t addr, uint64_t size);
/* For the order of events (hd_order.contended). */
int hd__shadow_contended(uint64_t granule);
/* Makes the memory visible, if it is not. */
void hd__shadow_show(uint64_t addr, uint64_t size);
/* Appends to the visible log: a granule, or the place of a spin loop (HD_VISIBLE_SPIN | pc). */
void hd__log_visible(uint64_t entry);
/* Applies entries [from, to) of the visible log. */
void hd__shadow_learn(uint64_t from, uint64_t to);

/* ---- alias.c: memory that has several addresses ---- */

/* The address by which objects and operations are named. */
uint64_t hd__canonical_slow(uint64_t a);
static inline uint64_t hd__canonical(uint64_t a) {
  return HD_UNLIKELY(rt.naliases) ? hd__canonical_slow(a) : a;
}
void hd__canonical_op(struct hd_op *op);
/* [second, second+size) is the same memory as [first, first+size), which is part of the mapping [lo, hi): page-aligned, and
 * with canonical addresses. Returns false if there are too many of these. */
bool hd__alias(uint64_t lo, uint64_t hi, uint64_t first, uint64_t size, uint64_t second);
/* [lo, hi) is unmapped. Returns whether it had other addresses; its history is lost then. */
bool hd__alias_end(uint64_t lo, uint64_t hi);
void hd__alias_begin(void);

/* ---- heap.c ---- */

#define HD_HEAP_BASE 0x201000000000ull
#define HD_HEAP_END 0x20f000000000ull
#define HD_HEAP_SLOT_SHIFT 28 /* each thread allocates in a range of that size */
static inline bool hd__heap_owns(uint64_t a) { return a - HD_HEAP_BASE < HD_HEAP_END - HD_HEAP_BASE; }

struct hd_block {
  uint64_t base, size; /* what the program sees */
  uint16_t thread;
  bool live;
  uint32_t alloc_site, free_site;
};

int hd__heap_init(void);
extern bool hd__heap_on; /* malloc serves from our heap */
void hd__heap_start(void);
/* Whether the program has a malloc of its own, of which Heddle knows nothing. */
bool hd__malloc_replaced(void);
/* A block that the program will give to free: by its own malloc, where it has one. */
void *hd__malloc_for_program(size_t n, uint64_t pc);
/* malloc and aligned_alloc, called from pc. */
void *hd__malloc(size_t n, uint64_t pc);
void *hd__malloc_aligned(size_t n, size_t align, uint64_t pc);
/* Where a thread allocates: fixed by its place in the tree of creations, not by when it was created. */
unsigned hd__heap_slot(const struct hd_thread *t);
void *hd__heap_alloc(size_t size, size_t align, uint64_t pc);
extern bool hd__heap_fresh; /* the block allocated last is all zero */
void hd__heap_free(void *p, uint64_t pc);
size_t hd__heap_size(void *p);
/* An atomic operation finds the pointer p somewhere. */
void hd__heap_seen(uint64_t p, uint64_t pc);
bool hd__heap_block(uint64_t addr, struct hd_block *b);
/* The segment in which the block around addr was allocated beside other threads, or 0; and where, with hot.detail. */
uint32_t hd__heap_allocated(uint64_t addr, uint64_t *site);
/* Whether another thread may have allocated the block around addr. pre: hd__heap_owns(addr). */
static inline bool hd__heap_foreign(uint64_t addr) {
  return (addr - HD_HEAP_BASE) >> HD_HEAP_SLOT_SHIFT != rt.cur->heap_slot;
}
/* Marks the state that hd__heap_restore returns to; `start`: of a program that has not started yet. */
void hd__heap_mark(bool start);
/* What the heap has of the state of the program (core/fingerprint.c). */
void hd__heap_fingerprint(struct hd_fingerprint *f);
void hd__heap_restore(void);
/* Calls f for every range of heap memory in use. */
void hd__heap_each_range(void (*f)(char *lo, char *hi));
/* Calls f for every block, live or freed, that the program has allocated. */
void hd__heap_each_block(void (*f)(const struct hd_block *b));
size_t hd__heap_marked_blocks(void);

/* Reports an invalid free, or an access outside any live block. */
void hd__bad_free(unsigned kind, uint64_t p, uint64_t pc);
void hd__bad_access(unsigned kind, uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);
/* Reports an access to [addr, addr+size) that is not inside a live block. */
void hd__heap_check_slow(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);
/* The live block that was last looked up; a free and a new execution empty it. */
extern struct hd_live { uint64_t lo, hi; } hd__live;
static inline void hd__heap_check(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc) {
  if (addr < hd__live.lo || addr + size > hd__live.hi) hd__heap_check_slow(addr, size, flags, pc);
}
/* leaks.c: reports blocks of this execution that are not reachable. */
void hd__report_leaks(void);

/* Memory of the runtime's own, for what the original libc functions allocate. */
void *hd__private_alloc(size_t size, size_t align);
bool hd__private_owns(uint64_t a);
extern int hd__private_depth; /* > 0: malloc serves the runtime, not the program */

/* ---- heap_before.c: blocks from before a call of hd_check ---- */

extern unsigned hd__before_freed; /* how many have been freed */
void hd__before_free(uint64_t p, uint64_t size, uint64_t pc);
/* Reports an access to a block that was freed. */
void hd__before_check_slow(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);
/* The freed block at `addr`, if there is one. */
bool hd__before_block(uint64_t addr, struct hd_block *b);
void hd__before_restore(void);

/* Reports an access to memory that is not allocated, wherever it was allocated. */
static inline void hd__block_check(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc) {
  if (hd__heap_owns(addr))
    hd__heap_check(addr, size, flags, pc);
  else if (HD_UNLIKELY(hd__before_freed))
    hd__before_check_slow(addr, size, flags, pc);
}

/* ---- snapshot.c ---- */

/* Records all writable memory so that it can be restored; with `guard` it is write-protected to find the pages that
 * change. [stack_lo, stack_hi) is the part of the first thread's stack that is in use. `start`: the program has not started
 * yet. */
int hd__snapshot_take(char *stack_lo, char *stack_hi, bool guard, bool start);
void hd__snapshot_restore(void);
/* Restores memory that executions in processes of their own share. */
void hd__snapshot_share(void);
/* Handles a write fault at addr. Returns true when the page was protected by us and the write may be retried. */
bool hd__snapshot_fault(uint64_t addr);
/* Whether all of the range is recorded. */
bool hd__snapshot_has(uint64_t addr, uint64_t size);
/* Makes [addr, addr+size) writable for a system call that is about to write there. */
void hd__snapshot_touch(uint64_t addr, uint64_t size);
/* Protects the pages in the range again that have not changed. */
void hd__snapshot_reguard(uint64_t addr, uint64_t size);
/* Makes all memory writable; nothing will be restored any more. pre: just restored. */
void hd__snapshot_unguard(void);
/* The current protection of the page at addr, -1 if there is none. */
int hd__snapshot_prot(uint64_t addr);
/* Whether another process may share the memory at addr. */
bool hd__snapshot_shared(uint64_t addr);
/* Calls f for all groups of 8 words, of pages that are wanted, of which the words in the mask are not as they were recorded. */
void hd__snapshot_each_change(bool (*wanted)(uint64_t page), void (*f)(uint64_t addr, unsigned mask));
/* A hash of all memory that the program can write to and that is in use; of the running thread's stack only from sp on.
 * Returns false when that is too much, or another process may change it. pre: the running thread is in code of the program. */
bool hd__memory_sum(uint64_t sp, uint64_t *out);
/* Calls f for every range of memory that was recorded before the program started. */
void hd__snapshot_each_range(void (*f)(char *lo, char *hi));

#endif

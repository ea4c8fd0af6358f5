/* model.h: the ideas the search and the race detector share. Runs in the tested process.
 *
 * Glossary
 *   visible operation  something a thread does that another thread can notice: a lock, a wait, an
 *                      access to memory that is known to be raced for. The scheduler is asked before each.
 *   step               one decision of the scheduler: which thread executes its pending operation.
 *   execution          one run of the program from main to its end, under one schedule.
 *   clock              per thread, a counter that grows when the thread publishes what it did
 *                      (unlocks, creates a thread, stores with release order).
 *   vector clock       for each thread, the latest clock value that is known to have happened before.
 *   segment            the stretch of one thread between two of its clock values. Numbers grow over the
 *                      life of the process, so that a number from an earlier execution is recognised as stale.
 *   granule            8 aligned bytes of the program's memory; the unit of the shadow memory.
 *
 * Rules: no malloc, no stdio; memory comes from the arena of the execution. */
#ifndef HD_MODEL_H
#define HD_MODEL_H

#include <stddef.h>
#include <stdint.h>

/* The compiler may call memcpy and memset for assignments of structures. In the tested process those names
 * are wrappers that count as accesses of the program, so all of our own files call these instead. */
void *hd__memcpy(void *to, const void *from, size_t n);
void *hd__memset(void *to, int c, size_t n);
#ifndef HD_DEFINES_MEMCPY
__asm__(".set memcpy, hd__memcpy\n\t.set memset, hd__memset");
#endif

/* Called when a limit of ours is reached, and the search cannot go on; never returns. The runtime sets it. It is the only
 * global of the model: everything else is passed in, memory too. */
extern void (*hd_fatal)(const char *why);
_Noreturn void hd_give_up(const char *why);

/* ---- memory for one execution, reset in one store ---- */

struct hd_arena {
  char *base, *next, *end;
};

static inline void hd_arena_init(struct hd_arena *a, void *memory, size_t size) {
  a->base = a->next = memory;
  a->end = a->base + size;
}
/* Returns `size` zero-or-stale bytes, 16-aligned; NULL when the arena is exhausted. */
static inline void *hd_arena_get(struct hd_arena *a, size_t size) {
  char *p = a->next;
  size = (size + 15) & ~(size_t)15;
  if (__builtin_expect(size > (size_t)(a->end - p), 0)) return NULL;
  a->next = p + size;
  return p;
}
static inline void hd_arena_reset(struct hd_arena *a) { a->next = a->base; }

/* ---- vector clocks ---- */

/* Entries come in blocks, which are compared and copied whole: those between n and the end of its block are 0. */
#define HD_VC_BLOCK 8u
struct hd_vc {
  uint32_t n; /* entries in use; the others count as 0 */
  uint32_t cap;
  uint32_t *c;
  uint64_t time; /* virtual: the latest that a thread had read from a clock before it published this */
};

void hd_vc_reserve(struct hd_arena *a, struct hd_vc *v, uint32_t n);
/* post: v = max(v, w), entry by entry. */
void hd_vc_join(struct hd_arena *a, struct hd_vc *v, const struct hd_vc *w);
void hd_vc_copy(struct hd_arena *a, struct hd_vc *v, const struct hd_vc *w);
static inline uint32_t hd_vc_blocks(uint32_t n) { return (n + HD_VC_BLOCK - 1) & ~(HD_VC_BLOCK - 1); }
static inline void hd_vc_clear(struct hd_vc *v) { v->n = 0; }
static inline uint32_t hd_vc_get(const struct hd_vc *v, uint32_t i) { return i < v->n ? v->c[i] : 0; }
static inline void hd_vc_set(struct hd_arena *a, struct hd_vc *v, uint32_t i, uint32_t value) {
  if (i >= v->n) {
    hd_vc_reserve(a, v, i + 1);
    for (uint32_t k = hd_vc_blocks(v->n), end = hd_vc_blocks(i + 1); k < end; k++) v->c[k] = 0;
    v->n = i + 1;
  }
  v->c[i] = value;
}

/* ---- random numbers: splitmix64, one stream per (seed, execution) ---- */

static inline uint64_t hd_mix64(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
struct hd_rng {
  uint64_t s;
};
static inline void hd_rng_seed(struct hd_rng *r, uint64_t seed, uint64_t stream) {
  r->s = hd_mix64(seed * 0x9e3779b97f4a7c15ull + 1) ^ hd_mix64(stream + 0x632be59bd9b4e019ull);
}
static inline uint64_t hd_rng_next(struct hd_rng *r) { return hd_mix64(r->s += 0x9e3779b97f4a7c15ull); }
/* Uniform in [0, n), n > 0 (multiply-shift; the bias is below n / 2^32). */
static inline uint32_t hd_rng_below(struct hd_rng *r, uint32_t n) {
  return (uint32_t)(((hd_rng_next(r) >> 32) * (uint64_t)n) >> 32);
}

#endif

/* atomic.h: atomic operations as hooks_atomic.c models them, for the interfaces by which programs reach them: the
 * instrumentation (hooks_atomic.c), libatomic (hooks_libatomic.c), inline assembly (hooks_plugin.c), libstdc++
 * (wrap/counts.c). Private to these files.
 *
 * Each of these functions comes before the operation itself: whoever runs at its scheduling point runs before it. */
#ifndef HD_RUNTIME_ATOMIC_H
#define HD_RUNTIME_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

typedef unsigned __int128 u128;

void hd__atomic_load(uint64_t a, uint64_t n, int mo, uint64_t pc);
void hd__atomic_store(uint64_t a, uint64_t n, int mo, uint64_t pc);
void hd__atomic_rmw(uint64_t a, uint64_t n, int mo, uint64_t pc);
/* The same before and after one that may leave the value as it is. */
void hd__atomic_exchange(uint64_t a, uint64_t n, int mo, uint64_t pc);
void hd__atomic_exchanged(uint64_t a, uint64_t n, bool same);
void hd__atomic_cas(uint64_t a, uint64_t n, const void *expected, int mo, int fail_mo, uint64_t pc);

/* 16 bytes: cmpxchg16b for everything, so that libatomic is not needed. */
static inline int cas128(volatile u128 *a, u128 *c, u128 v) {
  uint64_t lo = (uint64_t)*c, hi = (uint64_t)(*c >> 64);
  unsigned char ok;
  __asm__ volatile("lock cmpxchg16b %1; sete %0"
                   : "=q"(ok), "+m"(*a), "+a"(lo), "+d"(hi)
                   : "b"((uint64_t)v), "c"((uint64_t)(v >> 64))
                   : "memory", "cc");
  *c = (u128)hi << 64 | lo;
  return ok;
}

static inline u128 load128(const volatile u128 *a) {
  u128 c = 0;
  cas128((volatile u128 *)a, &c, 0); /* stores 0 only over 0 */
  return c;
}

static inline u128 exchange128(volatile u128 *a, u128 v) {
  u128 c = load128(a);
  while (!cas128(a, &c, v))
    ;
  return c;
}

#endif

/* access.h: memory that a function of libc reads and writes for its caller. */
#ifndef HD_RUNTIME_ACCESS_H
#define HD_RUNTIME_ACCESS_H

#include <string.h>

#include "runtime/core/core.h"
#include "runtime/core/state.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

/* Accesses of the running thread, or of nobody while the runtime is not active. What a function writes is announced
 * before the call where it is known by then: others run before it does. */
static inline void hd__reads(const void *p, size_t n, uint64_t pc) {
  if (p) hd__access_range((uint64_t)p, n, 0, pc);
}
static inline void hd__writes(const void *p, size_t n, uint64_t pc) {
  if (p) hd__access_range((uint64_t)p, n, HD_A_WRITE, pc);
}
static inline void hd__reads_string(const char *s, uint64_t pc) {
  if (hot.active && s) hd__reads(s, real_strlen(s) + 1, pc);
}

/* For exported functions. */
#define READS(p, n) hd__reads((p), (n), HD_CALLER)
#define WRITES(p, n) hd__writes((p), (n), HD_CALLER)
#define READS_STRING(s) hd__reads_string((s), HD_CALLER)
/* Local time: TZ in the environment is looked at by all but the functions that end in _r. */
#define LOCAL_TIME_R hd__lookup(HD_STATE_ZONE, 0, HD_CALLER)
#define LOCAL_TIME (hd__lookup(HD_STATE_ENVIRON, 0, HD_CALLER), LOCAL_TIME_R)

#endif

/* unsupported.c: functions that block or start something and that a controlled run cannot handle yet.
 * Runs in the tested process. Each is noticed by name, with the place of the call, instead of hanging. */
#include <dlfcn.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"

/* Goes to the original in an ordinary process. The argument lists do not matter: at most six words. Defined
 * under another name in C, since the headers declare the real prototypes. */
#define UNSUPPORTED(name)                                                                        \
  HD_EXPORT long hd_rt_un_##name(long a, long b, long c, long d, long e, long f) __asm__(#name); \
  long hd_rt_un_##name(long a, long b, long c, long d, long e, long f) {                         \
    static long (*real)(long, long, long, long, long, long);                                     \
    if (hot.active) hd__unsupported(#name, HD_CALLER);                                           \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name);                                        \
    return real(a, b, c, d, e, f);                                                               \
  }

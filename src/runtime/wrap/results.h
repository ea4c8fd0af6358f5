/* results.h: wrappers whose originals are looked up when they are called first (results.c, names.c, arguments.c). */
#ifndef HD_RUNTIME_RESULTS_H
#define HD_RUNTIME_RESULTS_H

#include <dlfcn.h>

#include "runtime/wrap/access.h"
#include "runtime/wrap/wrap.h"

static inline void *hd__original(void **at, const char *name) {
  if (!*at) *at = dlsym(RTLD_NEXT, name);
  return *at;
}

/* A function whose result r says whether it stored something. */
#define RESULT(ret, name, params, args, before, stored, after) \
  HD_EXPORT ret name params;                                   \
  ret name params {                                            \
    static void *found;                                        \
    hd__real_init();                                           \
    before;                                                    \
    ret r = ((ret(*) params)hd__original(&found, #name))args;  \
    hd__allocating(0);                                         \
    if (hot.active && (stored)) {                              \
      after;                                                   \
    }                                                          \
    return r;                                                  \
  }
#define NOTHING (void)0
/* One that stores nothing for its caller behind the call. */
#define CALL(ret, name, params, args, before) RESULT(ret, name, params, args, before, false, NOTHING)

#endif

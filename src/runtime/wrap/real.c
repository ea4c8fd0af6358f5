/* real.c: finds the originals behind our wrappers. Runs in the tested process, once, before anything else. */
#include <dlfcn.h>

#include "runtime/wrap/wrap.h"

#define HD_REAL(ret, name, args) ret(*real_##name) args;
#include "runtime/wrap/real.def"
#undef HD_REAL

static void *find(const char *name) {
  /* The condition variable functions exist in two versions; dlsym alone may give the old one. */
  if (name[0] == 'p' && name[8] == 'c' && name[9] == 'o' && name[10] == 'n' && name[11] == 'd') {
    void *p = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    if (p) return p;
  }
  return dlsym(RTLD_NEXT, name);
}

void hd__real_init(void) {
  static bool done;
  if (done) return;
  done = true;
#define HD_REAL(ret, name, args) *(void **)&real_##name = find(#name);
#include "runtime/wrap/real.def"
#undef HD_REAL
}

/* real.c: finds the originals behind our wrappers. Runs in the tested process, once, before anything else. */
#include <dlfcn.h>

#include "runtime/wrap/wrap.h"

#define HD_REAL(ret, name, args) ret(*real_##name) args;
#include "runtime/wrap/real.def"
#undef HD_REAL

static void *find(const char *name) {
  /* The condition variable functions exist in two versions; dlsym alone may return the old one. */
  if (name[0] == 'p' && name[8] == 'c' && name[9] == 'o' && name[10] == 'n' && name[11] == 'd') {
    void *p = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    if (p) return p;
  }
  return dlsym(RTLD_NEXT, name);
}

/* Of dlsym the original is needed first. In a program of the plain compiler libc may come before us. */
static void find_dlsym(void) {
  static const char *const version[] = {"GLIBC_2.34", "GLIBC_2.2.5"};
  for (unsigned i = 0; i < 4 && !real_dlsym; i++)
    *(void **)&real_dlsym = dlvsym(i < 2 ? RTLD_NEXT : RTLD_DEFAULT, "dlsym", version[i % 2]);
}

void hd__real_init(void) {
  static bool done;
  if (done) return;
  done = true;
  find_dlsym();
#define HD_REAL(ret, name, args) \
  if (!real_##name) *(void **)&real_##name = find(#name);
#include "runtime/wrap/real.def"
#undef HD_REAL
}

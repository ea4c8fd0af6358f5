/* library.c: loading libraries. Runs in the tested process.
 *
 * The loader has one lock, which it holds while it runs constructors and destructors. Here it is a gate (rwlock.c), so that
 * nobody ever waits inside the loader. What one thread loads or unloads happens before what the next one does.
 *
 * A library that is loaded while the program runs is one more module; a restart unloads it. Unloading it is an operation
 * when the loader unmaps it (core/library.c). */
#include <dlfcn.h>
#include <link.h>

#include "runtime/core/core.h"
#include "runtime/core/library.h"
#include "runtime/core/modules.h"
#include "runtime/core/objects.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/access.h"
#include "runtime/wrap/wrap.h"

static const char loader;             /* its address names the lock */
static HD_EXEC uint32_t loads, epoch; /* calls of dlopen under way in this execution */

bool hd__loads_library(void) { return loads && epoch == rt.epoch; }

static struct hd_obj *lock_of_loader(void) { return hd__obj((uint64_t)&loader, HD_OBJ_RWLOCK); }

/* Constructors and destructors may load others. */
static void lock(uint64_t pc) {
  if (!hot.active) return;
  struct hd_obj *o = lock_of_loader();
  if (o->owner != rt.cur->id) {
    if (rt.nunjoined) hd__gate_enter(o, true, NULL, pc);
    o->owner = rt.cur->id;
    hd__acquire(&o->vc);
  }
  o->count++;
}

static void unlock(uint64_t pc) {
  if (!hot.active) return;
  struct hd_obj *o = lock_of_loader();
  if (--o->count) return;
  hd__acquire(&o->vc);
  hd__release(&o->vc);
  if (rt.nunjoined)
    hd__gate_leave(o, pc);
  else
    o->owner = HD_NOBODY;
}

HD_EXPORT void *dlopen(const char *file, int mode) {
  hd__real_init();
  file = READS_STRING(file);
  lock(HD_CALLER);
  hd__libraries_first();
  if (epoch != rt.epoch) loads = 0;
  epoch = rt.epoch;
  loads++;
  void *h = real_dlopen(file, hot.active ? mode & ~RTLD_DEEPBIND
                                         : mode); /* with it the library would bind past our wrappers */
  loads--;
  hd__libraries_look();
  if (hot.active && h) hd__modules_record();
  unlock(HD_CALLER);
  return h;
}

/* Before dlsym itself, which is in core/arch. */
void HD_IN(dlsym)(const void *handle, uint64_t pc);
void HD_IN(dlsym)(const void *handle, uint64_t pc) {
  hd__real_init();
  if (!hot.active || handle == RTLD_DEFAULT || handle == RTLD_NEXT) return;
  hd__library_handle(handle, pc);
  struct hd_obj *o = lock_of_loader();
  if (o->owner != HD_NOBODY && o->owner != rt.cur->id) hd__gate_enter(o, false, NULL, pc);
  hd__block_check((uint64_t)handle, sizeof(struct link_map), 0, pc);
}

HD_EXPORT int dlclose(void *handle) {
  hd__real_init();
  lock(HD_CALLER);
  if (hot.active) hd__block_check((uint64_t)handle, sizeof(struct link_map), 0, HD_CALLER);
  int e = real_dlclose(handle);
  hd__libraries_look();
  if (hot.active) hd__plain_closed();
  unlock(HD_CALLER);
  return e;
}

/* mapping.c: memory mappings. Runs in the tested process.
 *
 * Removing a mapping, or its contents, counts as freeing the memory: it races with accesses that nothing orders before it.
 * A new mapping begins without a history. kernel/sysguard.c gives each thread addresses of its own.
 *
 * Shadow memory goes by address, so two mappings of one object are two objects to it. That, a call that writes to a file
 * which is mapped, and a child that shares memory are noted. */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include "runtime/core/finding.h"
#include "runtime/wrap/access.h"

static uint64_t round_up(uint64_t n) { return (n + HD_PAGE - 1) & ~(uint64_t)(HD_PAGE - 1); }

static void gone(const void *at, size_t n, uint64_t pc) {
  if (hot.active && rt.nthreads > 1) hd__shadow_free((uint64_t)at, round_up(n), pc);
}

static void fresh(const void *at, size_t n) {
  if (!hot.active) return;
  hd__shadow_forget_large((uint64_t)at, round_up(n));
  hd__new_segment(rt.cur); /* the fast path must not match what it saw there */
}

/* ---- shared objects ---- */

#define SHARED_MAX 64
static struct shared {
  uint32_t epoch;
  bool writable;
  uint64_t dev, ino; /* of System V memory: 0 and its number; of anonymous memory both are 0 */
  uint64_t from, to; /* in the object */
  uint64_t at;
} shared[SHARED_MAX];

static bool live(const struct shared *s) { return s->epoch == rt.epoch && s->to > s->from; }

static void share(struct shared new, uint64_t pc) {
  struct shared *room = NULL;
  for (unsigned i = 0; i < SHARED_MAX; i++) {
    struct shared *s = &shared[i];
    if (!live(s)) {
      room = s;
    } else if ((new.dev || new.ino) && s->dev == new.dev && s->ino == new.ino &&
               s->from < new.to &&new.from < s->to && (s->writable || new.writable)) {
      hd__inexact(HD_INEXACT_ALIAS, pc);
    }
  }
  new.epoch = rt.epoch;
  if (room) *room = new;
}

static void forget_shared(uint64_t at, uint64_t n) {
  for (unsigned i = 0; i < SHARED_MAX; i++)
    if (live(&shared[i]) && shared[i].at >= at && shared[i].at < at + n) shared[i].epoch = 0;
}

bool hd__shares_memory(void) {
  for (unsigned i = 0; i < SHARED_MAX; i++)
    if (live(&shared[i])) return true;
  return false;
}

void hd__mapped_file_changes(uint64_t dev, uint64_t ino) {
  for (unsigned i = 0; i < SHARED_MAX; i++)
    if (live(&shared[i]) && shared[i].dev == dev && shared[i].ino == ino)
      hd__inexact(HD_INEXACT_ALIAS, hd__innermost());
}

/* ---- the functions ---- */

static void *map(void *at, size_t n, int prot, int flags, int fd, off_t from, uint64_t pc) {
  hd__real_init();
  if (flags & MAP_FIXED) gone(at, n, pc);
  void *p = real_mmap(at, n, prot, flags, fd, from);
  if (!hot.active || p == MAP_FAILED) return p;
  fresh(p, n);
  if (!(flags & MAP_SHARED)) return p;
  struct stat st = {0};
  if (!(flags & MAP_ANONYMOUS) && real_fstat(fd, &st)) return p;
  share((struct shared){.writable = prot & PROT_WRITE,
                        .dev = st.st_dev,
                        .ino = st.st_ino,
                        .from = (uint64_t)from,
                        .to = (uint64_t)from + round_up(n),
                        .at = (uint64_t)p},
        pc);
  return p;
}

HD_EXPORT void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t from) {
  return map(at, n, prot, flags, fd, from, HD_CALLER);
}
HD_EXPORT void *mmap64(void *at, size_t n, int prot, int flags, int fd, off64_t from) {
  return map(at, n, prot, flags, fd, from, HD_CALLER);
}

HD_EXPORT int munmap(void *at, size_t n) {
  hd__real_init();
  gone(at, n, HD_CALLER);
  int e = real_munmap(at, n);
  if (hot.active && !e) {
    fresh(at, n);
    forget_shared((uint64_t)at, n);
  }
  return e;
}

HD_EXPORT void *mremap(void *at, size_t n, size_t m, int flags, ...) {
  hd__real_init();
  va_list ap;
  va_start(ap, flags);
  void *to = flags & MREMAP_FIXED ? va_arg(ap, void *) : NULL;
  va_end(ap);
  gone(at, n, HD_CALLER);
  if (to) gone(to, m, HD_CALLER);
  void *p = real_mremap(at, n, m, flags, to);
  if (hot.active && p != MAP_FAILED && p != at) fresh(p, m);
  return p;
}

HD_EXPORT int madvise(void *at, size_t n, int advice) {
  hd__real_init();
  if (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE) gone(at, n, HD_CALLER);
  return real_madvise(at, n, advice);
}

/* Accesses of other threads may fault before or after it, depending on the order, which is not explored. */
HD_EXPORT int mprotect(void *at, size_t n, int prot) {
  hd__real_init();
  if (hot.active && rt.nunjoined) hd__inexact(HD_INEXACT_PROTECTION, HD_CALLER);
  return real_mprotect(at, n, prot);
}

HD_EXPORT void *shmat(int id, const void *at, int flags) {
  hd__real_init();
  void *p = real_shmat(id, at, flags);
  if (!hot.active || p == (void *)-1) return p;
  share(
      (struct shared){.writable = !(flags & SHM_RDONLY), .ino = (uint64_t)id + 1, .to = 1, .at = (uint64_t)p},
      HD_CALLER);
  return p;
}

HD_EXPORT int shmdt(const void *at) {
  hd__real_init();
  if (hot.active) forget_shared((uint64_t)at, 1);
  return real_shmdt(at);
}

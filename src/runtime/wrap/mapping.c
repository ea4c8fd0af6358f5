/* mapping.c: memory mappings. Runs in the tested process.
 *
 * Removing a mapping, or its contents, counts as freeing the memory: it races with accesses that nothing orders before it.
 * A new mapping begins without a history. kernel/sysguard.c gives each thread addresses of its own.
 *
 * Two mappings of one object are the same memory (memory/alias.c). A call that reads or writes a file which is mapped
 * accesses the memory, without being a data race. Where that is not followed exactly, and where a child shares memory,
 * it is noted. */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include "runtime/core/finding.h"
#include "runtime/wrap/results.h"

static uint64_t round_up(uint64_t n) { return (n + HD_PAGE - 1) & ~(uint64_t)(HD_PAGE - 1); }

static void gone(const void *at, size_t n, uint64_t pc) {
  if (n && hot.active && rt.nthreads > 1) hd__shadow_free((uint64_t)at, round_up(n), pc);
}

/* A place that the program has not chosen is not used again in the same execution: that of a large mapping, which would take
 * long to look through, needs no cleaning. */
#define LARGE (64ull << 20)

static void fresh(const void *at, size_t n, bool chosen) {
  if (!hot.active || (!chosen && n > LARGE)) return;
  hd__shadow_forget_large((uint64_t)at, round_up(n));
  hd__new_segment(rt.cur); /* the fast path must not match what it saw there */
}

/* ---- shared objects ---- */

#define SHARED_MAX 64
#define ANONYMOUS (~0ull) /* the device of memory without a file */
static HD_EXEC_LARGE struct shared {
  uint32_t epoch;
  bool writable;
  bool private; /* a copy of a file, which shows what calls write to it until it is written itself */
  uint64_t dev,
      ino; /* of System V memory: 0 and its number; of anonymous memory: ANONYMOUS and its address */
  uint64_t from, to; /* in the object */
  uint64_t at;
} shared[SHARED_MAX];

static bool live(const struct shared *s) { return s->epoch == rt.epoch && s->to > s->from; }
static uint64_t end_of(const struct shared *s) { return s->at + (s->to - s->from); }

/* The two mappings overlap in the object. */
static void overlap(const struct shared *old, const struct shared *new, uint64_t pc) {
  uint64_t from = old->from > new->from ? old->from : new->from, to = old->to < new->to ? old->to : new->to;
  uint64_t first = old->at + (from - old->from), second = new->at + (from - new->from);
  if (hd__canonical(first) != first || hd__canonical(second) != second)
    return; /* a third mapping was the first */
  if (!hd__alias(old->at, end_of(old), first, to - from, second)) hd__inexact(HD_INEXACT_ALIAS, pc);
}

static void share(struct shared new, uint64_t pc) {
  struct shared *room = NULL;
  for (unsigned i = 0; i < SHARED_MAX; i++) {
    struct shared *s = &shared[i];
    if (!live(s))
      room = s;
    else if ((new.dev || new.ino) && s->dev == new.dev && s->ino == new.ino &&
             s->from < new.to &&new.from < s->to && (s->writable || new.writable)) {
      if (!s->private && !new.private)
        overlap(s, &new, pc);
      else if ((s->writable && !s->private) || (new.writable && !new.private))
        hd__inexact(HD_INEXACT_ALIAS, pc); /* what one of them writes, the other may show */
    }
  }
  new.epoch = rt.epoch;
  if (room)
    *room = new;
  else
    hd__inexact(HD_INEXACT_ALIAS, pc);
}

/* A part of an object is unmapped: what is left of its mapping is forgotten, too. */
static void forget_shared(uint64_t at, uint64_t n, uint64_t pc) {
  for (unsigned i = 0; i < SHARED_MAX; i++) {
    struct shared *s = &shared[i];
    if (!live(s) || s->at >= at + n || at >= end_of(s)) continue;
    if (hd__alias_end(s->at, end_of(s)) && rt.nunjoined) hd__inexact(HD_INEXACT_ALIAS, pc);
    s->epoch = 0;
  }
}

bool hd__shares_memory(void) {
  for (unsigned i = 0; i < SHARED_MAX; i++)
    if (live(&shared[i]) && !shared[i].private) return true;
  return false;
}

bool hd__maps_files(void) {
  for (unsigned i = 0; i < SHARED_MAX; i++)
    if (live(&shared[i])) return true;
  return false;
}

bool hd__is_mapped(uint64_t dev, uint64_t ino) {
  for (unsigned i = 0; i < SHARED_MAX; i++)
    if (live(&shared[i]) && shared[i].dev == dev && shared[i].ino == ino) return true;
  return false;
}

/* An access may be a scheduling point, so the first one is that of the part which is mapped first. */
void hd__mapped_access(uint64_t dev, uint64_t ino, uint64_t from, uint64_t to, bool write, uint64_t pc) {
  for (unsigned i = 0; i < SHARED_MAX; i++) {
    const struct shared *s = &shared[i];
    if (!live(s) || s->dev != dev || s->ino != ino || s->from >= to || from >= s->to) continue;
    uint64_t lo = from > s->from ? from : s->from, hi = to < s->to ? to : s->to, at = s->at + (lo - s->from);
    if (hd__canonical(at) != at) continue;
    hd__access_slow(at, hi - lo, HD_A_SILENT | (write ? HD_A_WRITE : 0), pc);
  }
}

/* ---- the functions ---- */

static void *map(void *at, size_t n, int prot, int flags, int fd, off_t from, uint64_t pc) {
  hd__real_init();
  if ((flags & MAP_FIXED) && hot.active) {
    forget_shared((uint64_t)at, round_up(n), pc);
    gone(at, n, pc);
  }
  void *p = real_mmap(at, n, prot, flags, fd, from);
  if (!hot.active || p == MAP_FAILED) return p;
  fresh(p, n, at != NULL);
  bool private = !(flags & MAP_SHARED);
  if (private && (flags & MAP_ANONYMOUS)) return p;
  struct stat st = {0};
  if (flags & MAP_ANONYMOUS) {
    st.st_dev = ANONYMOUS; /* mremap may map it once more */
    st.st_ino = (uint64_t)p;
  } else if (real_fstat(fd, &st)) {
    return p;
  }
  share((struct shared){.writable = prot & PROT_WRITE,
                        .private = private,
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
  if (hot.active) forget_shared((uint64_t)at, round_up(n), HD_CALLER);
  gone(at, n, HD_CALLER);
  int e = real_munmap(at, n);
  if (hot.active && !e) fresh(at, n, false);
  return e;
}

static const struct shared *shared_at(uint64_t at) {
  for (unsigned i = 0; i < SHARED_MAX; i++)
    if (live(&shared[i]) && shared[i].at <= at && at < end_of(&shared[i])) return &shared[i];
  return NULL;
}

HD_EXPORT void *mremap(void *at, size_t n, size_t m, int flags, ...) {
  hd__real_init();
  va_list ap;
  va_start(ap, flags);
  void *to = flags & MREMAP_FIXED ? va_arg(ap, void *) : NULL;
  va_end(ap);
  const struct shared *s = hot.active ? shared_at((uint64_t)at) : NULL;
  struct shared old = s ? *s : (struct shared){0};
  if (to && hot.active) forget_shared((uint64_t)to, round_up(m), HD_CALLER);
  if (n && hot.active) forget_shared((uint64_t)at, round_up(n), HD_CALLER);
  gone(at, n, HD_CALLER);
  if (to) gone(to, m, HD_CALLER);
  void *p = real_mremap(at, n, m, flags, to);
  if (!hot.active || p == MAP_FAILED) return p;
  if (p != at) fresh(p, m, to != NULL);
  if (s) {
    old.from += (uint64_t)at - old.at;
    old.to = old.from + round_up(m);
    old.at = (uint64_t)p;
    share(old, HD_CALLER);
  }
  return p;
}

HD_EXPORT int madvise(void *at, size_t n, int advice) {
  hd__real_init();
  if (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE) gone(at, n, HD_CALLER);
  return real_madvise(at, n, advice);
}

/* Whether the pages are mapped: a read of each, which races with nothing. */
static void look_at_pages(const void *at, size_t n, uint64_t pc) {
  if (!hot.active || !rt.nunjoined) return;
  for (size_t i = 0; i < n; i += HD_PAGE) hd__access_slow((uint64_t)at + i, 1, HD_A_SILENT, pc);
}

#define NEEDS_PAGES(name, params, args) \
  RESULT(int, name, params, args, look_at_pages(at, n, HD_CALLER), false, NOTHING)
NEEDS_PAGES(mlock, (const void *at, size_t n), (at, n))
NEEDS_PAGES(mlock2, (const void *at, size_t n, unsigned flags), (at, n, flags))
NEEDS_PAGES(munlock, (const void *at, size_t n), (at, n))
NEEDS_PAGES(msync, (void *at, size_t n, int flags), (at, n, flags))

HD_EXPORT int mincore(void *at, size_t n, unsigned char *pages) {
  hd__real_init();
  look_at_pages(at, n, HD_CALLER);
  int e = real_mincore(at, n, pages);
  if (hot.active && !e) WRITES(pages, round_up(n) / HD_PAGE);
  return e;
}

/* ---- the break ---- */

/* What is behind it is unmapped. */
static void *move_break(char *to, uint64_t pc) {
  char *old = real_sbrk(0);
  if (to < old) gone((void *)round_up((uint64_t)to), (size_t)(old - to), pc);
  if (real_brk(to)) return (void *)-1;
  if (to > old) fresh((void *)((uint64_t)old & ~(HD_PAGE - 1)), (size_t)(to - old), true);
  return old;
}

HD_EXPORT void *sbrk(intptr_t by) {
  hd__real_init();
  if (!hot.active) return real_sbrk(by);
  if (!by) hd__lookup(HD_STATE_BREAK, 0, HD_CALLER);
  if (by) hd__change(HD_STATE_BREAK, 0, HD_CALLER);
  return by ? move_break((char *)real_sbrk(0) + by, HD_CALLER) : real_sbrk(0);
}

HD_EXPORT int brk(void *to) {
  hd__real_init();
  if (!hot.active) return real_brk(to);
  hd__change(HD_STATE_BREAK, 0, HD_CALLER);
  return move_break(to, HD_CALLER) == (void *)-1 ? -1 : 0;
}

/* Accesses of other threads may fault before or after it, depending on the order: like a write to all of it, which races with
 * nothing. */
#define PROTECTED (256ull << 10) /* of more, and of parts of the heap, the order is not explored */

HD_EXPORT int mprotect(void *at, size_t n, int prot) {
  hd__real_init();
  if (hot.active && rt.nunjoined && n) {
    if (n <= PROTECTED && !hd__heap_owns((uint64_t)at))
      hd__access_slow((uint64_t)at, round_up(n), HD_A_WRITE | HD_A_SILENT, HD_CALLER);
    else
      hd__inexact(HD_INEXACT_PROTECTION, HD_CALLER);
  }
  return real_mprotect(at, n, prot);
}

HD_EXPORT void *shmat(int id, const void *at, int flags) {
  hd__real_init();
  void *p = real_shmat(id, at, flags);
  if (!hot.active || p == (void *)-1) return p;
  struct shmid_ds segment = {0};
  if (hd_sys3(SYS_shmctl, id, IPC_STAT, &segment)) return p;
  fresh(p, segment.shm_segsz, at != NULL);
  share((struct shared){.writable = !(flags & SHM_RDONLY),
                        .ino = (uint64_t)id + 1,
                        .to = round_up(segment.shm_segsz),
                        .at = (uint64_t)p},
        HD_CALLER);
  return p;
}

HD_EXPORT int shmdt(const void *at) {
  hd__real_init();
  const struct shared *s = hot.active ? shared_at((uint64_t)at) : NULL;
  uint64_t n = s && s->at == (uint64_t)at ? s->to - s->from : 0;
  if (n) forget_shared((uint64_t)at, n, HD_CALLER);
  gone(at, n, HD_CALLER);
  int e = real_shmdt(at);
  if (n && !e) fresh(at, n, false);
  return e;
}

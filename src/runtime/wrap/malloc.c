/* malloc.c: malloc and related functions. Runs in the tested process; heap.c does the work.
 *
 * Memory that libc allocated before the runtime was ready is never freed in a controlled run. Under hd_check that
 * is everything the test had allocated by then (heap_before.c). */
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/core/core.h"
#include "runtime/core/drive.h"
#include "runtime/core/ident.h"
#include "runtime/core/modules.h"
#include "runtime/memory/memory.h"
#include "runtime/symbolic/symbolic.h"
#include "runtime/wrap/wrap.h"

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

bool hd__heap_on;
static char *libc_heap, *libc_heap_end; /* bounds of the heap that libc had by then */

/* In a child that the program forked, threads are real. */
static int child_lock;
static void enter(void) {
  while (rt.child && __atomic_exchange_n(&child_lock, 1, __ATOMIC_ACQUIRE)) hd_sys3(SYS_sched_yield, 0, 0, 0);
}
static void leave(void) {
  if (rt.child) __atomic_store_n(&child_lock, 0, __ATOMIC_RELEASE);
}

static void *get(size_t n, size_t align, uint64_t pc) {
  if (hot.active && HD_UNLIKELY(rt.cur->allocating) && !hd__user_text(pc)) pc = rt.cur->allocating;
  enter();
  void *p = hd__private_depth ? hd__private_alloc(n, align) : hd__heap_alloc(n, align, pc);
  leave();
  if (!p) errno = ENOMEM;
  return p;
}

static size_t old_size(void *p) {
  uint64_t a = (uint64_t)p;
  if (hd__heap_owns(a)) return hd__heap_size(p);
  if (hd__private_owns(a)) return ((uint64_t *)p)[-1];
  uint64_t head = ((uint64_t *)p)[-1]; /* libc's own header; 2: a mapping of its own */
  return (head & ~7ull) - (head & 2 ? 16 : 8);
}

/* Whether libc may have allocated it. Large blocks are mappings: anything that is neither a stack nor part of a
 * module. */
static bool libc_owns(const char *p) {
  uint64_t lo, hi;
  if (p >= libc_heap && p < libc_heap_end) return true;
  return rt.callback && !hd__segment_of((uint64_t)p, &lo, &hi) && !hd__first_stack_has((uint64_t)p) &&
         !hd__ident_end((uint64_t)p) && hd__snapshot_prot((uint64_t)p) >= 0;
}

static void give(void *p, uint64_t pc) {
  if (!p) return;
  if (hd__heap_owns((uint64_t)p)) {
    enter();
    hd__heap_free(p, pc);
    leave();
  } else if (!hd__heap_on)
    __libc_free(p);
  else if (hot.active && !hd__private_owns((uint64_t)p) && !libc_owns(p))
    hd__bad_free(HD_KIND_INVALID_FREE, (uint64_t)p, pc);
  else if (hot.active && rt.callback && !hd__private_owns((uint64_t)p))
    hd__before_free((uint64_t)p, old_size(p), pc);
}

/* libc's first heap lies between the end of the program and the break. */
static int find_program_end(struct dl_phdr_info *info, size_t size, void *arg) {
  (void)size, (void)arg;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    char *end = (char *)(info->dlpi_addr + p->p_vaddr + p->p_memsz);
    if (p->p_type == PT_LOAD && end > libc_heap) libc_heap = end;
  }
  return 1; /* the program itself comes first */
}

void hd__heap_start(void) {
  libc_heap_end = sbrk(0);
  dl_iterate_phdr(find_program_end, NULL);
  hd__heap_on = true;
}

void *hd__malloc(size_t n, uint64_t pc) { return hd__heap_on ? get(n, 16, pc) : __libc_malloc(n); }

HD_EXPORT void *malloc(size_t n) { return hd__malloc(n, HD_CALLER); }

/* The malloc that the program's free belongs to, where it has one of its own; else NULL. */
static void *(*own_malloc(void))(size_t) {
  static void *(*own)(size_t);
  static bool known;
  if (known) return own;
  *(void **)&own = hd__real_before("malloc");
  known = true;
  return own;
}

bool hd__malloc_replaced(void) { return own_malloc() != NULL; }

void *hd__malloc_for_program(size_t n, uint64_t pc) {
  void *(*own)(size_t) = own_malloc();
  return own ? own(n) : hd__malloc(n, pc);
}

HD_EXPORT void free(void *p) { give(p, HD_CALLER); }
HD_EXPORT void cfree(void *p);
void cfree(void *p) { give(p, HD_CALLER); }

HD_EXPORT void *calloc(size_t n, size_t m) {
  if (!hd__heap_on) return __libc_calloc(n, m);
  size_t size;
  if (__builtin_mul_overflow(n, m, &size)) {
    errno = ENOMEM;
    return NULL;
  }
  void *p = get(size, 16, HD_CALLER);
  if (p && !hd__heap_fresh && !hd__private_owns((uint64_t)p)) hd__zero(p, size);
  return p;
}

static void *resize(void *p, size_t n, uint64_t pc) {
  if (!hd__heap_on) return __libc_realloc(p, n);
  if (!p) return get(n, 16, pc);
  if (n == 0) {
    give(p, pc);
    return NULL;
  }
  void *q = get(n, 16, pc);
  if (q) {
    size_t old = old_size(p), kept = old < n ? old : n;
    hd__access_range((uint64_t)p, kept, 0, pc); /* others may run before it is read */
    hd__copy(q, p, kept);
    if (hd__symbolic_active()) hd__bytes_copy((uint64_t)q, (uint64_t)p, kept);
    give(p, pc);
  }
  return q;
}

HD_EXPORT void *realloc(void *p, size_t n) { return resize(p, n, HD_CALLER); }

HD_EXPORT void *reallocarray(void *p, size_t n, size_t m) {
  size_t size;
  if (__builtin_mul_overflow(n, m, &size)) {
    errno = ENOMEM;
    return NULL;
  }
  return resize(p, size, HD_CALLER);
}

void *hd__malloc_aligned(size_t n, size_t align, uint64_t pc) {
  return hd__heap_on ? get(n, align, pc) : __libc_memalign(align, n);
}

HD_EXPORT void *memalign(size_t align, size_t n) { return hd__malloc_aligned(n, align, HD_CALLER); }
HD_EXPORT void *aligned_alloc(size_t align, size_t n) { return hd__malloc_aligned(n, align, HD_CALLER); }
HD_EXPORT void *valloc(size_t n) { return hd__malloc_aligned(n, HD_PAGE, HD_CALLER); }
HD_EXPORT void *pvalloc(size_t n) {
  return hd__malloc_aligned((n + HD_PAGE - 1) & ~(HD_PAGE - 1), HD_PAGE, HD_CALLER);
}

HD_EXPORT int posix_memalign(void **out, size_t align, size_t n) {
  if (align < sizeof(void *) || (align & (align - 1))) return EINVAL;
  int saved = errno;
  void *p = hd__malloc_aligned(n, align, HD_CALLER);
  errno = saved;
  if (!p) return ENOMEM;
  hd__access_range((uint64_t)out, sizeof *out, HD_A_WRITE, HD_CALLER);
  *out = p;
  return 0;
}

HD_EXPORT size_t malloc_usable_size(void *p) { return p ? old_size(p) : 0; }

/* library.c: libraries that are loaded while the program runs, and may be unloaded beside other threads. Runs in the
 * tested process.
 *
 * Unloading is an operation that changes the library's code, and frees the memory of its data. Running the code is one
 * that looks at it, if some execution has unloaded a library beside other threads. That is noticed by a fault: such code is
 * not executable until a thread has been picked to run it, and again from the next scheduling point on. So one operation
 * stands for all that a thread runs of a library between two scheduling points.
 *
 * What was loaded before the first dlopen is never unloaded. */
#include "runtime/core/library.h"

#include <link.h>
#include <sys/mman.h>

#include "runtime/core/core.h"
#include "runtime/core/modules.h"
#include "runtime/core/state.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"

static struct library {
  uint64_t start, end; /* all of it */
  uint64_t lo, hi;     /* its code, whole pages */
  uint32_t id;         /* of its path */
  bool closed;         /* not executable */
} library[HD_MAX_MODULES];
static unsigned nlibraries, nearlier; /* nearlier: loaded before main */
static unsigned nstay;                /* modules that were loaded before the first dlopen */
static uint32_t epoch;

/* Forgets the libraries of the execution before, which a restart has unmapped. */
static void renew(void) {
  if (hot.active && epoch != rt.epoch) nlibraries = nearlier;
  epoch = rt.epoch;
}

static int count(struct dl_phdr_info *info, size_t size, void *n) {
  (void)info, (void)size;
  ++*(unsigned *)n;
  return 0;
}

void hd__libraries_first(void) {
  if (!nstay) dl_iterate_phdr(count, &nstay);
}

static void protect(struct library *l, bool close) {
  if (l->closed == close) return;
  l->closed = close;
  hd_sys3(SYS_mprotect, l->lo, l->hi - l->lo, close ? PROT_READ : PROT_READ | PROT_EXEC);
}

struct found {
  unsigned seen, n;
  struct library library[HD_MAX_MODULES];
};

static int find(struct dl_phdr_info *info, size_t size, void *arg) {
  (void)size;
  struct found *found = arg;
  if (found->seen++ < nstay) return 0;
  if (found->n == HD_MAX_MODULES) return 1;
  struct library l = {.start = ~0ull, .lo = ~0ull};
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type != PT_LOAD) continue;
    uint64_t lo = (info->dlpi_addr + p->p_vaddr) & ~(HD_PAGE - 1);
    uint64_t hi = (info->dlpi_addr + p->p_vaddr + p->p_memsz + HD_PAGE - 1) & ~(HD_PAGE - 1);
    if (lo < l.start) l.start = lo;
    if (hi > l.end) l.end = hi;
    if (!(p->p_flags & PF_X)) continue;
    if (lo < l.lo) l.lo = lo;
    if (hi > l.hi) l.hi = hi;
  }
  if (l.lo >= l.hi) return 0;
  uint64_t hash = 0;
  for (const char *c = info->dlpi_name; *c; c++) hash = hd_mix64(hash ^ (unsigned char)*c);
  l.id = (uint32_t)hash;
  found->library[found->n++] = l;
  return 0;
}

void hd__libraries_look(void) {
  static struct found found;
  renew();
  found.seen = found.n = 0;
  if (nstay) dl_iterate_phdr(find, &found);
  for (unsigned i = 0; i < found.n; i++)
    for (unsigned k = 0; k < nlibraries; k++)
      if (library[k].start == found.library[i].start) found.library[i].closed = library[k].closed;
  nlibraries = found.n;
  for (unsigned i = 0; i < nlibraries; i++) library[i] = found.library[i];
  if (!hot.active) nearlier = nlibraries;
  hd__libraries_watch();
}

static void protect_all(bool close) {
  renew();
  for (unsigned i = 0; i < nlibraries; i++) protect(&library[i], close);
}

void hd__libraries_watch(void) {
  if (hot.active && hd__state_learned(HD_STATE_CODE)) protect_all(true);
}

void hd__libraries_release(void) { protect_all(false); }

void hd__libraries_leave(void) {
  rt.entered = false;
  if (hd__state_changes(HD_STATE_CODE)) protect_all(true);
}

/* ---- running its code ---- */

static struct library *closed_at(uint64_t pc) {
  renew();
  for (unsigned i = 0; i < nlibraries; i++)
    if (pc >= library[i].lo && pc < library[i].hi && library[i].closed) return &library[i];
  return NULL;
}

/* On the thread's own stack. When the library is gone, the code faults again. */
static void hd_rt_enter_library(ucontext_t *uc) {
  uint64_t pc = hd_sig_pc(uc);
  const struct library *l = closed_at(pc);
  if (l) hd__lookup(HD_STATE_CODE, l->id, pc);
  hd__plain_fault(pc);
  struct library *now = closed_at(pc);
  if (now) protect(now, false);
  rt.entered = true;
  hd__keep_mask(uc);
}

bool hd__library_fault(const ucontext_t *uc) {
  struct library *l = closed_at(hd_sig_pc(uc));
  if (!l) return false;
  if (hot.active && rt.nunjoined && !rt.event_due && !hd__on_signal_stack(hd_sig_sp(uc)))
    hd_arch_leave_handler(uc, hd_rt_enter_library);
  protect(l, false);
  rt.entered = true;
  return true;
}

void hd__library_handle(const void *handle, uint64_t pc) {
  const struct link_map *map = handle;
  hd__block_check((uint64_t)map, sizeof *map, 0, pc);
  if (!hd__state_changes(HD_STATE_CODE)) return;
  for (unsigned i = 0; i < nlibraries; i++) {
    if ((uint64_t)map->l_ld < library[i].start || (uint64_t)map->l_ld >= library[i].end) continue;
    hd__lookup(HD_STATE_CODE, library[i].id, pc);
    break;
  }
}

/* ---- unloading it ---- */

static struct library *mapped_at(uint64_t at, uint64_t size) {
  renew();
  for (unsigned i = 0; i < nlibraries; i++)
    if (at <= library[i].start && at + size > library[i].end - HD_PAGE) return &library[i];
  return NULL;
}

bool hd__library_unmaps(uint64_t at, uint64_t size) { return rt.nunjoined && mapped_at(at, size); }

void hd__library_unload(uint64_t at, uint64_t size, uint64_t pc) {
  struct library *l = mapped_at(at, size);
  uint32_t id = l->id;
  hd__shadow_free(l->start, l->end - l->start, pc);
  rt.entered = true;
  hd__change(HD_STATE_CODE, id, pc);
  l = mapped_at(at, size);
  if (l) *l = library[--nlibraries];
}

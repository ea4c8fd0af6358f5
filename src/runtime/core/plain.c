/* plain.c: calls of libraries that were not built with heddle cc. Runs in the tested process.
 *
 * What such a library accesses is not seen, which matters if it runs beside other threads. While there are some, its code
 * is not executable: the first call faults, is noted, and makes it executable again. In later executions of the process it
 * is noted when the second thread is created.
 *
 * A library that dlopen loads is gone after the execution, or after dlclose: its entry must not outlive it. */
#include <link.h>
#include <sys/mman.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/modules.h"

static struct {
  uint64_t lo, hi; /* its code, whole pages */
  uint64_t start;  /* of the library */
  bool closed;     /* not executable */
} plain[HD_MAX_MODULES];
static unsigned nplain, nfirst; /* nfirst: loaded before main */
static uint32_t epoch;
static uint64_t called; /* one that was called beside other threads, or 0 */

static void protect(unsigned i, bool close) {
  if (plain[i].closed == close) return;
  plain[i].closed = close;
  hd_sys3(SYS_mprotect, plain[i].lo, plain[i].hi - plain[i].lo, close ? PROT_READ : PROT_READ | PROT_EXEC);
}

/* Forgets the libraries of the execution before. */
static void renew(void) {
  if (hot.active && epoch != rt.epoch) nplain = nfirst;
  epoch = rt.epoch;
}

void hd__plain_add(const struct dl_phdr_info *info) {
  renew();
  for (int k = 0; k < info->dlpi_phnum; k++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[k];
    if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
    uint64_t lo = (info->dlpi_addr + p->p_vaddr) & ~(HD_PAGE - 1);
    uint64_t hi = (info->dlpi_addr + p->p_vaddr + p->p_memsz + HD_PAGE - 1) & ~(HD_PAGE - 1);
    unsigned i = 0;
    while (i < nplain && plain[i].lo != lo) i++;
    if (i < nplain || nplain == HD_MAX_MODULES) continue;
    plain[nplain].lo = lo;
    plain[nplain].hi = hi;
    plain[nplain].start = info->dlpi_addr;
    plain[nplain++].closed = false;
    if (!hot.active)
      nfirst = nplain;
    else if (rt.nunjoined) /* its constructors have run */
      hd__inexact(HD_INEXACT_PLAIN_LIBRARY, lo);
  }
}

void hd__plain_watch(void) {
  renew();
  if (rt.preload || rt.config->debug) return;
  if (called) hd__inexact(HD_INEXACT_PLAIN_LIBRARY, called);
  for (unsigned i = 0; !called && i < nplain; i++) protect(i, true);
}

void hd__plain_release(void) {
  renew();
  for (unsigned i = 0; i < nplain; i++) protect(i, false);
}

static int is_loaded(struct dl_phdr_info *info, size_t size, void *start) {
  (void)size;
  return info->dlpi_addr == *(const uint64_t *)start;
}

void hd__plain_closed(void) {
  unsigned n = 0;
  for (unsigned i = 0; i < nplain; i++)
    if (dl_iterate_phdr(is_loaded, &plain[i].start)) plain[n++] = plain[i];
  nplain = n;
}

bool hd__plain_fault(uint64_t pc) {
  for (unsigned i = 0; i < nplain; i++) {
    if (pc < plain[i].lo || pc >= plain[i].hi || !plain[i].closed) continue;
    if (hot.active && rt.nunjoined) {
      called = plain[i].lo;
      hd__inexact(HD_INEXACT_PLAIN_LIBRARY, called);
    }
    hd__plain_release();
    return true;
  }
  return false;
}

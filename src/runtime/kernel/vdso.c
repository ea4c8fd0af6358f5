/* vdso.c: clocks that are read without a system call. Runs in the tested process.
 *
 * The kernel maps a small library into every process, through which libc reads clocks, and in newer versions random
 * numbers, without entering the kernel. No wrapper sees the calls that libc makes inside itself (mkstemp,
 * timespec_get). Each function of that library is therefore replaced by the plain system call, which sysguard.c
 * serves. The time stamp counter of the processor is made to fault (PR_SET_TSC), and read by hd__tsc_fault: it counts
 * virtual nanoseconds. */
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "runtime/core/core.h"
#include "runtime/kernel/kernel.h"
#include "runtime/wrap/wrap.h"

static const struct {
  const char *name;
  int nr;
} functions[] = {
    {"__vdso_clock_gettime", SYS_clock_gettime},
    {"clock_gettime", SYS_clock_gettime},
    {"__vdso_gettimeofday", SYS_gettimeofday},
    {"gettimeofday", SYS_gettimeofday},
    {"__vdso_time", SYS_time},
    {"time", SYS_time},
    {"__vdso_getcpu", SYS_getcpu},
    {"getcpu", SYS_getcpu},
};

static void replace(uint64_t at, const char *name) {
  for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++)
    if (hd__streq(functions[i].name, name)) hd_arch_write_syscall((void *)at, functions[i].nr);
  /* Its state cannot be restored; without it libc asks the kernel. -ENOSYS, also for the query of sizes. */
  if (hd__streq(name, "__vdso_getrandom") || hd__streq(name, "getrandom"))
    hd_arch_write_return((void *)at, -38);
}

void hd__tsc_trap(bool on) { hd_sys3(SYS_prctl, PR_SET_TSC, on ? PR_TSC_SIGSEGV : PR_TSC_ENABLE, 0); }

bool hd__tsc_fault(ucontext_t *uc) {
  if (!hd_arch_reads_tsc(uc)) return false;
  struct timespec real = {0, 0};
  if (!hot.active) hd_sys3(SYS_clock_gettime, CLOCK_MONOTONIC, &real, 0);
  hd_arch_set_tsc(uc, hot.active ? hd__read_time()
                                 : (uint64_t)real.tv_sec * 1000000000ull + (uint64_t)real.tv_nsec);
  return true;
}

void hd__vdso_init(void) {
  hd__tsc_trap(true);
  uint64_t base = getauxval(AT_SYSINFO_EHDR);
  if (!base) return;
  const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)base;
  const ElfW(Phdr) *p = (const ElfW(Phdr) *)(base + e->e_phoff);
  const ElfW(Dyn) *dyn = NULL;
  uint64_t bias = base, size = 0;
  for (int i = 0; i < e->e_phnum; i++) {
    if (p[i].p_type == PT_LOAD) {
      bias = base + p[i].p_offset - p[i].p_vaddr;
      size = p[i].p_memsz;
    }
    if (p[i].p_type == PT_DYNAMIC) dyn = (const ElfW(Dyn) *)(base + p[i].p_offset);
  }
  const char *names = NULL;
  const ElfW(Sym) *sym = NULL;
  const uint32_t *hash = NULL;
  for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
    if (dyn->d_tag == DT_STRTAB) names = (const char *)(bias + dyn->d_un.d_ptr);
    if (dyn->d_tag == DT_SYMTAB) sym = (const ElfW(Sym) *)(bias + dyn->d_un.d_ptr);
    if (dyn->d_tag == DT_HASH) hash = (const uint32_t *)(bias + dyn->d_un.d_ptr);
  }
  uint64_t end = (base + size + HD_PAGE - 1) & ~(HD_PAGE - 1);
  /* Without the old hash table the number of symbols is not stored: they end where the strings begin. */
  uint64_t n = hash                               ? hash[1]
               : sym && names > (const char *)sym ? (uint64_t)(names - (const char *)sym) / sizeof *sym
                                                  : 0;
  if (!names || !sym || hd_sys3(SYS_mprotect, base, end - base, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
    return;
  for (uint64_t i = 0; i < n; i++)
    if (sym[i].st_value && ELF64_ST_TYPE(sym[i].st_info) == STT_FUNC)
      replace(bias + sym[i].st_value, names + sym[i].st_name);
  hd_sys3(SYS_mprotect, base, end - base, PROT_READ | PROT_EXEC);
}

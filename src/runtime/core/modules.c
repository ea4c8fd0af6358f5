/* modules.c: the program and its libraries: whose code an address is, which libraries have no hooks, names for
 * places that are the same in every process. Runs in the tested process. */
#include <link.h>

#include "runtime/core/core.h"
#include "runtime/core/drive.h"
#include "runtime/core/finding.h"
#include "runtime/core/library.h"
#include "runtime/core/modules.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

static struct { uint64_t lo, hi; } user_text[HD_MAX_MODULES]; /* code of the program and its own libraries */
static unsigned nuser_text;

bool hd__system_path(const char *n) {
  static const char *const prefix[] = {"/lib", "/usr/lib", "linux-vdso"};
  for (unsigned i = 0; i < sizeof prefix / sizeof *prefix; i++)
    if (hd__starts(n, prefix[i])) return true;
  return false;
}

/* ---- segments and imported names ---- */

struct segment {
  uint64_t addr, lo, hi;
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *arg) {
  (void)size;
  struct segment *s = arg;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    uint64_t lo = info->dlpi_addr + p->p_vaddr, hi = lo + p->p_memsz;
    if (p->p_type == PT_LOAD && s->addr >= lo && s->addr < hi) {
      s->lo = lo;
      s->hi = hi;
      return 1;
    }
  }
  return 0;
}

bool hd__segment_of(uint64_t addr, uint64_t *lo, uint64_t *hi) {
  struct segment s = {addr, 0, 0};
  if (!dl_iterate_phdr(find_segment, &s)) return false;
  *lo = s.lo;
  *hi = s.hi;
  return true;
}

uint64_t hd__program_base(void) {
  for (unsigned i = 0; i < rt.status->nmodules; i++)
    if (!rt.ctl->module[i].path[0]) return rt.ctl->module[i].base;
  return 0;
}

bool hd__module_names(const struct dl_phdr_info *info, bool (*f)(const char *name, void *arg), void *arg) {
  const ElfW(Dyn) *d = NULL;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  uint64_t symbols = 0, names = 0, table[2] = {0}, bytes[2] = {0};
  for (; d && d->d_tag != DT_NULL; d++) switch (d->d_tag) {
      case DT_SYMTAB: symbols = d->d_un.d_ptr; break;
      case DT_STRTAB: names = d->d_un.d_ptr; break;
      case DT_RELA: table[0] = d->d_un.d_ptr; break;
      case DT_RELASZ: bytes[0] = d->d_un.d_val; break;
      case DT_JMPREL: table[1] = d->d_un.d_ptr; break;
      case DT_PLTRELSZ: bytes[1] = d->d_un.d_val; break;
    }
  /* The loader has relocated these, except in itself and in the vDSO. */
  if (symbols <= info->dlpi_addr || names <= info->dlpi_addr) return false;
  for (int t = 0; t < 2; t++)
    for (uint64_t i = 0; table[t] && i < bytes[t] / sizeof(ElfW(Rela)); i++) {
      uint64_t k = ELF64_R_SYM(((const ElfW(Rela) *)table[t])[i].r_info);
      const ElfW(Sym) *symbol = &((const ElfW(Sym) *)symbols)[k];
      if (k && f((const char *)names + symbol->st_name, arg)) return true;
    }
  return false;
}

struct names {
  bool (*f)(const char *name, void *arg);
  void *arg;
};

static int each_name(struct dl_phdr_info *info, size_t size, void *arg) {
  (void)size;
  const struct names *n = arg;
  return !hd__system_path(info->dlpi_name) && hd__module_names(info, n->f, n->arg);
}

void hd__each_needed_name(bool (*f)(const char *name, void *arg), void *arg) {
  struct names n = {f, arg};
  dl_iterate_phdr(each_name, &n);
}

/* ---- code of the user ---- */

bool hd__user_text(uint64_t v) {
  for (unsigned i = 0; i < nuser_text; i++)
    if (v >= user_text[i].lo && v < user_text[i].hi) return true;
  return false;
}

uint64_t hd__user_pc(uint64_t pc, uint64_t sp) {
  if (hd__user_text(pc)) return pc;
  /* The call of the entry hook and the calls that a function makes later have their return address at the same
   * place on the stack. */
  if (hot.call > rt.cur->calls) {
    uint64_t slot = hot.call[-1].sp + 8;
    if (slot > sp && hd__user_text(*(const uint64_t *)slot)) return *(const uint64_t *)slot;
  }
  const uint64_t *word = (const uint64_t *)(sp & ~7ull);
  for (unsigned k = 0; k < 512; k++) {
    if (hd__user_text(word[k])) return word[k];
    if (rt.cur->ident && (char *)&word[k + 1] >= rt.cur->ident->stack_top) break;
  }
  return pc;
}

/* ---- libraries without hooks ---- */

static struct { uint64_t lo, hi; } foreign[HD_MAX_MODULES];
static unsigned nforeign;
/* The C++ library: its threads belong to the module that instantiated std::thread. */
static uint64_t cxx_lo, cxx_hi;

static bool is_hook(const char *name, void *unused) {
  (void)unused;
  return hd__starts(name, "__tsan_") || hd__starts(name, "__heddle_init");
}

/* Whether what orders its threads is known: it was built with heddle cc, or orders threads only by functions that
 * we wrap. */
static bool is_transparent(const struct dl_phdr_info *info) {
  static const char *const known[] = {"libc.",   "libm.",      "libm-",       "ld-linux", "libpthread",
                                      "libdl.",  "librt.",     "libstdc++",   "libc++",   "libgcc_s",
                                      "libgomp", "linux-vdso", "libheddle_rt"};
  const char *base = info->dlpi_name;
  for (const char *p = info->dlpi_name; *p; p++)
    if (*p == '/') base = p + 1;
  for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
    if (hd__starts(base, known[i])) return true;
  return !*base || hd__module_names(info, is_hook, NULL);
}

static bool in_foreign(uint64_t a) {
  for (unsigned i = 0; i < nforeign; i++)
    if (a >= foreign[i].lo && a < foreign[i].hi) {
      hd__inexact(HD_INEXACT_FOREIGN_THREADS, a);
      return true;
    }
  return false;
}

void hd__threads_begin(void) {
  hd__plain_watch();
  hd__libraries_watch();
  if (hd__plain_object() && !rt.preload) hd__inexact(HD_INEXACT_PLAIN_OBJECT, hd__plain_object());
}

bool hd__cxx_library(uint64_t addr) { return addr >= cxx_lo && addr < cxx_hi; }

bool hd__foreign_start(uint64_t start, const void *arg) {
  if (!nforeign || rt.preload) return false;
  /* The state of a std::thread points to a vtable in the module that instantiated it. */
  uint64_t type = 0;
  bool cxx = hd__cxx_library(start) && arg && hd_arch_peek((uint64_t)arg, 8, &type);
  return in_foreign(cxx ? type : start);
}

#define RUN 2 /* index of std::thread::_State::_M_run in its vtable, after two destructors */

uint64_t hd__start_code(uint64_t start, const void *arg) {
  uint64_t type = 0, code = 0;
  bool cxx = hd__cxx_library(start) && arg && hd_arch_peek((uint64_t)arg, 8, &type) &&
             hd_arch_peek(type + 8 * RUN, 8, &code);
  return cxx && hd__user_text(code) ? code : start;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *arg) {
  (void)size, (void)arg;
  struct hd_status *st = rt.status;
  if (st->nmodules == HD_MAX_MODULES) return 1;
  struct hd_module *m = &rt.ctl->module[st->nmodules];
  *m = (struct hd_module){.base = info->dlpi_addr, .start = ~0ull};
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type != PT_LOAD) continue;
    uint64_t lo = info->dlpi_addr + p->p_vaddr, hi = lo + p->p_memsz;
    m->start = lo < m->start ? lo : m->start;
    m->end = hi > m->end ? hi : m->end;
    if ((p->p_flags & PF_X) && !hd__system_path(info->dlpi_name) &&
        !((uint64_t)add_module >= lo && (uint64_t)add_module < hi)) {
      if (nuser_text == HD_MAX_MODULES) continue;
      user_text[nuser_text].lo = lo;
      user_text[nuser_text++].hi = hi;
    }
  }
  hd__format(m->path, sizeof m->path, "%s", info->dlpi_name);
  if (!is_transparent(info)) {
    if (!hd__system_path(info->dlpi_name)) hd__plain_add(info);
    foreign[nforeign].lo = m->start;
    foreign[nforeign++].hi = m->end;
  }
  for (const char *p = m->path; *p; p++)
    if (hd__starts(p, "/libstdc++") || hd__starts(p, "/libc++.")) cxx_lo = m->start, cxx_hi = m->end;
  st->nmodules++;
  return 0;
}

/* ---- the address layout: what has a name that is the same in every process ---- */

static struct hd_layout layout;

static uint32_t nranges; /* while they are listed */

static void add_range(uint64_t start, uint64_t end, enum hd_range_kind kind, uint32_t number) {
  if (nranges == HD_MAX_RANGES || start >= end) return;
  rt.ctl->range[nranges++] = (struct hd_range){start, end, hd_range_name(kind, number), 0};
}

static int add_tls(struct dl_phdr_info *info, size_t size, void *lowest) {
  uint64_t *low = lowest;
  (void)size;
  if (info->dlpi_tls_data && (uint64_t)info->dlpi_tls_data < rt.main_tp &&
      (uint64_t)info->dlpi_tls_data < *low)
    *low = (uint64_t)info->dlpi_tls_data;
  return 0;
}

static void add_stack(char *lo, char *hi, unsigned number) {
  add_range((uint64_t)lo, (uint64_t)hi, HD_RANGE_STACK, number);
}

#define FIRST_STACK (64ull << 20) /* of it: what is deeper has no name */
#define CONTROL_BLOCK 4096        /* of a thread, behind its thread-local variables */

void hd__layout_publish(void) {
  uint64_t tls = rt.main_tp, end = hd__first_stack_end();
  /* The supervisor of a cluster may look at any time: none, or all. */
  __atomic_store_n(&rt.ctl->nranges, 0, __ATOMIC_SEQ_CST);
  nranges = 0;
  dl_iterate_phdr(add_tls, &tls);
  uint64_t variables = (rt.main_tp - tls + HD_PAGE - 1) & ~(HD_PAGE - 1);
  add_range(rt.main_tp - variables, rt.main_tp + CONTROL_BLOCK, HD_RANGE_FIRST_TLS, 0);
  for (unsigned i = 0; i < rt.status->nmodules; i++) {
    const struct hd_module *m = &rt.ctl->module[i];
    add_range(m->start & ~(HD_PAGE - 1), (m->end + HD_PAGE - 1) & ~(HD_PAGE - 1), HD_RANGE_MODULE, i);
  }
  hd__ident_each_stack(add_stack);
  hd__lent_init();
  add_range(end - FIRST_STACK, end, HD_RANGE_FIRST_STACK, 0);
  __atomic_store_n(&rt.ctl->nranges, nranges, __ATOMIC_RELEASE);
  hd_layout_init(&layout, rt.ctl->range, nranges);
  rt.search.layout = &layout;
}

void hd__modules_record(void) {
  rt.status->nmodules = nuser_text = nforeign = 0;
  dl_iterate_phdr(add_module, NULL);
  hd__layout_publish();
  if (hd__without_plugin()) hd__inexact(HD_INEXACT_NO_PLUGIN, hd__without_plugin());
}

static bool find_stable(uint64_t pc, uint64_t *stable) {
  for (unsigned i = 0; i < rt.status->nmodules; i++) {
    const struct hd_module *m = &rt.ctl->module[i];
    if (pc < m->start || pc >= m->end) continue;
    *stable = hd_mix64(i * 0x10001ull + pc - m->base);
    return true;
  }
  return false;
}

uint64_t hd__stable(uint64_t pc) {
  uint64_t stable = hd_mix64(pc);
  if (find_stable(pc, &stable) || !hd__loads_library()) return stable;
  hd__modules_record(); /* a constructor of a library runs */
  find_stable(pc, &stable);
  return stable;
}

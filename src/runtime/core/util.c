/* util.c: the few helpers that replace libc inside the runtime. Runs in the tested process. */
#include <link.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "runtime/rt.h"

#define OWN_BASE 0x3c0000000000ull
#define MAX_MAPS 4096
static struct { uint64_t lo, hi; } maps[MAX_MAPS];
static unsigned nmaps;

void *hd__map(size_t size) {
  /* At addresses of our own, so that where the program's mappings go does not depend on what we do. */
  static uint64_t next = OWN_BASE;
  size = (size + HD_PAGE - 1) & ~(HD_PAGE - 1);
  long p = hd_sys6(SYS_mmap, (long)next, (long)size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  next += size;
  if ((p < 0 && p > -4096) || nmaps == MAX_MAPS) return NULL;
  maps[nmaps].lo = (uint64_t)p;
  maps[nmaps++].hi = (uint64_t)p + size;
  return (void *)p;
}

uint64_t hd__map_end(uint64_t a) {
  for (unsigned i = 0; i < nmaps; i++)
    if (a >= maps[i].lo && a < maps[i].hi) return maps[i].hi;
  return 0;
}

_Noreturn void hd__die(int code) {
  for (;;) hd_sys3(SYS_exit_group, code, 0, 0);
}

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
  /* The loader has made addresses of these, but for its own and the kernel's. */
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

void hd__copy(void *to, const void *from, size_t n) {
  if (HD_LIKELY(real_memcpy != NULL)) {
    real_memcpy(to, from, n);
    return;
  }
  char *d = to;
  const char *s = from;
  while (n--) *d++ = *s++;
}

void hd__zero(void *to, size_t n) {
  if (HD_LIKELY(real_memset != NULL)) {
    real_memset(to, 0, n);
    return;
  }
  char *d = to;
  while (n--) *d++ = 0;
}

size_t hd__strlen(const char *s) {
  size_t n = 0;
  while (s[n]) n++;
  return n;
}

bool hd__streq(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

bool hd__starts_n(const char *s, const char *with, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (s[i] != with[i]) return false;
  return true;
}

bool hd__starts(const char *s, const char *with) { return hd__starts_n(s, with, hd__strlen(with)); }

static size_t put(char *buf, size_t cap, size_t at, char c) {
  if (at + 1 < cap) buf[at] = c;
  return at + 1;
}

static size_t put_number(char *buf, size_t cap, size_t at, uint64_t v, unsigned base) {
  char digits[24];
  unsigned n = 0;
  do digits[n++] = "0123456789abcdef"[v % base];
  while (v /= base);
  while (n) at = put(buf, cap, at, digits[--n]);
  return at;
}

size_t hd__format(char *buf, size_t cap, const char *fmt, ...) {
  size_t at = 0;
  va_list ap;
  va_start(ap, fmt);
  for (; *fmt; fmt++) {
    if (*fmt != '%') {
      at = put(buf, cap, at, *fmt);
      continue;
    }
    switch (*++fmt) {
      case 's': {
        const char *s = va_arg(ap, const char *);
        for (s = s ? s : "(null)"; *s; s++) at = put(buf, cap, at, *s);
        break;
      }
      case 'd': {
        int64_t v = va_arg(ap, int64_t);
        if (v < 0) at = put(buf, cap, at, '-');
        at = put_number(buf, cap, at, v < 0 ? -(uint64_t)v : (uint64_t)v, 10);
        break;
      }
      case 'u': at = put_number(buf, cap, at, va_arg(ap, uint64_t), 10); break;
      case 'x': at = put_number(buf, cap, at, va_arg(ap, uint64_t), 16); break;
      default: at = put(buf, cap, at, *fmt);
    }
  }
  va_end(ap);
  if (cap) buf[at < cap ? at : cap - 1] = 0;
  return at;
}

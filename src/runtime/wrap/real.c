/* real.c: finds the originals behind our wrappers. Runs in the tested process, once, before anything else.
 *
 * The loader allocates when a name does not exist, perhaps by a malloc of the program (bundled jemalloc, mimalloc), which calls
 * some of these functions. So they are first looked up here, in the tables of the libraries, and only the rest by the
 * loader. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "runtime/wrap/wrap.h"

#define HD_REAL(ret, name, args) ret(*real_##name) args;
#include "runtime/wrap/real.def"
#undef HD_REAL

/* Condition variable functions, most of which exist in two versions; dlsym alone may return the old one. */
static __attribute__((noinline)) bool is_cond(const char *name) { return hd__starts(name, "pthread_cond"); }

static void *find(const char *name) {
  void *p = is_cond(name) ? dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2") : NULL;
  return p ? p : dlsym(RTLD_NEXT, name);
}

/* Of dlsym the original is needed first. In a program of the plain compiler libc may come before us. */
static void find_dlsym(void) {
  static const char *const version[] = {"GLIBC_2.34", "GLIBC_2.2.5"};
  for (unsigned i = 0; i < 4 && !real_dlsym; i++)
    *(void **)&real_dlsym = dlvsym(i < 2 ? RTLD_NEXT : RTLD_DEFAULT, "dlsym", version[i % 2]);
}

/* The tables of one library. */
struct library {
  const ElfW(Sym) * symbol;
  const char *names;
  const uint16_t *versions;
  const uint32_t *hash;
  uint64_t base;
};

static struct library library[64],
    before[8]; /* behind this one, and before it: the program, and what is preloaded */
static unsigned nlibraries, nbefore;

static int add_library(struct dl_phdr_info *info, size_t size, void *arg) {
  bool *behind = arg;
  struct library l = {.base = info->dlpi_addr};
  const ElfW(Dyn) *d = NULL;
  bool ours = false;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &info->dlpi_phdr[i];
    uint64_t lo = info->dlpi_addr + h->p_vaddr;
    ours |= h->p_type == PT_LOAD && (uint64_t)add_library - lo < h->p_memsz;
    if (h->p_type == PT_DYNAMIC) d = (const ElfW(Dyn) *)lo;
  }
  for (; d && d->d_tag; d++) {
    uint64_t at = d->d_un.d_ptr < l.base ? d->d_un.d_ptr + l.base : d->d_un.d_ptr;
    if (d->d_tag == DT_SYMTAB) l.symbol = (const ElfW(Sym) *)at;
    if (d->d_tag == DT_STRTAB) l.names = (const char *)at;
    if (d->d_tag == DT_VERSYM) l.versions = (const uint16_t *)at;
    if (d->d_tag == DT_GNU_HASH) l.hash = (const uint32_t *)at;
  }
  bool whole = l.symbol && l.names && l.hash && l.versions;
  if (*behind && whole && nlibraries < 64) library[nlibraries++] = l;
  if (!*behind && !ours && whole && nbefore < 8) before[nbefore++] = l;
  *behind |= ours;
  return 0;
}

/* Of several versions the one that programs are linked with today. */
static void *find_in(const struct library *l, const char *name, uint32_t hash) {
  uint32_t nbuckets = l->hash[0], first = l->hash[1], nfilter = l->hash[2];
  const uint32_t *bucket = l->hash + 4 + 2 * nfilter, *chain = bucket + nbuckets;
  uint32_t i = nbuckets ? bucket[hash % nbuckets] : 0;
  for (; i >= first && i; i++) {
    uint32_t h = chain[i - first];
    const ElfW(Sym) *y = &l->symbol[i];
    unsigned type = ELF64_ST_TYPE(y->st_info);
    bool function = (type == STT_FUNC || type == STT_GNU_IFUNC) && y->st_shndx && !(l->versions[i] & 0x8000);
    if ((h | 1) == (hash | 1) && function && hd__streq(l->names + y->st_name, name)) {
      void *at = (void *)(l->base + y->st_value);
      return type == STT_GNU_IFUNC ? ((void *(*)(void))at)() : at;
    }
    if (h & 1) break;
  }
  return NULL;
}

static void *find_first(const struct library *of, unsigned n, const char *name) {
  uint32_t hash = 5381;
  for (const char *c = name; *c; c++) hash = hash * 33 + (unsigned char)*c;
  void *p = NULL;
  for (unsigned i = 0; i < n && !p; i++) p = find_in(&of[i], name, hash);
  return p;
}

void *hd__real_before(const char *name) {
  hd__real_init();
  return find_first(before, nbefore, name);
}

void hd__real_init(void) {
  static bool done;
  bool behind = false;
  if (done) return;
  done = true;
  dl_iterate_phdr(add_library, &behind);
#define HD_REAL(ret, name, args) \
  if (!real_##name) *(void **)&real_##name = find_first(library, nlibraries, #name);
#include "runtime/wrap/real.def"
#undef HD_REAL
  find_dlsym();
#define HD_REAL(ret, name, args) \
  if (!real_##name) *(void **)&real_##name = find(#name);
#include "runtime/wrap/real.def"
#undef HD_REAL
}

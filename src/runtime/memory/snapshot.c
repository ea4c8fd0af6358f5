/* snapshot.c: restores the program's memory to the moment before main, or to a checkpoint (checkpoint.c). Runs in the
 * tested process, on the scheduler's stack or in the fault handler.
 *
 * Invariants
 *  1. Every page of a recorded region is either clean (read-only, never written since the snapshot) or dirty
 *     (writable, with a copy of its original).
 *  2. The first write to a clean page faults once in the life of the process; from then on every restart restores
 *     the page from its copy. After a few executions there are no more faults, and a restart costs one copy for
 *     each page that the program really dirties.
 *  3. The kernel writes into the control blocks of threads whose restartable sequences could not be turned off
 *     (ident.c). These pages are dirty from the start, since a fault there would kill the process. */
#include <fcntl.h>
#include <sys/mman.h>

#include "runtime/core/checkpoint.h"
#include "runtime/core/core.h"
#include "runtime/core/ident.h"
#include "runtime/core/modules.h"
#include "runtime/memory/memory.h"

struct region {
  uint64_t lo, hi;
  int prot;
  uint32_t ndirty;
  uint64_t *dirty; /* bit per page */
};

struct page {
  char *at, *copy;
  size_t from; /* what is before is not restored */
};

#define MAX_REGIONS 8192
#define MAX_BLOCKS 16384
static struct region region[MAX_REGIONS];
static unsigned nregions;
static bool guarded;
static struct page *page;
static size_t npages, page_cap;
static char *copy_next, *copy_end;
#define BLOCK (4ull << 20)
static char *block[MAX_BLOCKS]; /* of copies; those from block_next on are free */
static unsigned block_next;
static struct { uint64_t lo, hi; } * root; /* the shared regions before the program started */
static unsigned nroots;
static uint64_t stack_from; /* what the first page of the first thread's stack has below is dead */

static char *copy_room(void) {
  if (copy_next == copy_end) {
    HD_BUG_ON(block_next == MAX_BLOCKS);
    if (!block[block_next]) block[block_next] = hd__map(BLOCK);
    copy_next = block[block_next++];
    HD_BUG_ON(!copy_next);
    copy_end = copy_next + BLOCK;
  }
  char *p = copy_next;
  copy_next += HD_PAGE;
  return p;
}

static bool is_dirty(const struct region *r, uint64_t addr) {
  uint64_t i = (addr - r->lo) / HD_PAGE;
  return r->dirty[i >> 6] >> (i & 63) & 1;
}

static void make_dirty(struct region *r, uint64_t addr) {
  addr &= ~(HD_PAGE - 1);
  if (is_dirty(r, addr)) return;
  uint64_t i = (addr - r->lo) / HD_PAGE;
  r->dirty[i >> 6] |= 1ull << (i & 63);
  r->ndirty++;
  if (npages == page_cap) {
    size_t cap = page_cap ? page_cap * 2 : 65536;
    struct page *p = hd__map(cap * sizeof *p);
    HD_BUG_ON(!p);
    hd__copy(p, page, npages * sizeof *p);
    page = p;
    page_cap = cap;
  }
  struct page *p = &page[npages++];
  p->at = (char *)addr;
  p->copy = copy_room();
  p->from = stack_from - addr < HD_PAGE ? stack_from - addr : 0;
  hd__copy(p->copy, p->at, HD_PAGE);
  hd_sys3(SYS_mprotect, addr, HD_PAGE, r->prot);
}

static struct region *region_of(uint64_t addr) {
  for (unsigned i = 0; i < nregions; i++)
    if (addr >= region[i].lo && addr < region[i].hi) return &region[i];
  return NULL;
}

bool hd__snapshot_fault(uint64_t addr) {
  struct region *r = guarded ? region_of(addr) : NULL;
  if (!r || is_dirty(r, addr)) return false;
  /* Many scattered pages would exhaust the kernel's limit on mappings: take the whole region then. */
  if (npages > 20000 && r->ndirty > 64)
    for (uint64_t a = r->lo; a < r->hi; a += HD_PAGE) make_dirty(r, a);
  else
    make_dirty(r, addr);
  return true;
}

bool hd__snapshot_has(uint64_t addr, uint64_t size) {
  for (uint64_t a = addr & ~(HD_PAGE - 1); a < addr + size; a += HD_PAGE)
    if (!region_of(a)) return false;
  return true;
}

void hd__snapshot_touch(uint64_t addr, uint64_t size) {
  for (uint64_t a = addr & ~(HD_PAGE - 1); guarded && size && a < addr + size; a += HD_PAGE) {
    struct region *r = region_of(a);
    if (r) make_dirty(r, a);
  }
}

static void add_region(uint64_t lo, uint64_t hi, int prot) {
  lo &= ~(HD_PAGE - 1);
  hi = (hi + HD_PAGE - 1) & ~(HD_PAGE - 1);
  if (lo >= hi || nregions == MAX_REGIONS) return;
  struct region *r = &region[nregions];
  *r = (struct region){lo, hi, prot, 0, NULL};
  r->dirty = hd__private_alloc(((hi - lo) / HD_PAGE + 63) / 64 * 8, 16);
  HD_BUG_ON(!r->dirty);
  hd__zero(r->dirty, ((hi - lo) / HD_PAGE + 63) / 64 * 8);
  nregions++;
}

static void add_writable(char *lo, char *hi) {
  add_region((uint64_t)lo, (uint64_t)hi, PROT_READ | PROT_WRITE);
}

/* ---- which memory is the program's ---- */

static uint64_t own_lo, own_hi; /* our own data segment */

static uint64_t parse_hex(const char **s) {
  uint64_t v = 0;
  for (;; (*s)++) {
    char c = **s;
    if (c >= '0' && c <= '9')
      v = v * 16 + (uint64_t)(c - '0');
    else if (c >= 'a' && c <= 'f')
      v = v * 16 + (uint64_t)(c - 'a' + 10);
    else
      return v;
  }
}

/* The end of the memory at `a` if that is not the program's, else 0. */
static uint64_t end_of_other(uint64_t a) {
  if (a >= own_lo && a < own_hi) return own_hi;
  if (hd__heap_owns(a)) return HD_HEAP_END;
  if (a >= HD_SHM_BASE && a < HD_SHM_BASE + HD_SHM_SIZE) return HD_SHM_BASE + HD_SHM_SIZE;
  if (a >= HD_SHADOW_BASE && a < HD_SHADOW_BASE + ((HD_SHADOW_ADDR_MASK + 1) << 2))
    return HD_SHADOW_BASE + ((HD_SHADOW_ADDR_MASK + 1) << 2);
  if (a >= HD_SEARCH_BASE && a < HD_SEARCH_BASE + HD_SEARCH_SIZE) return HD_SEARCH_BASE + HD_SEARCH_SIZE;
  uint64_t end = hd__map_end(a);
  return end ? end : hd__ident_end(a);
}

/* Memory from before main that the program may share with its children is restored page by page, since it cannot become
 * private. In fork mode the executions share it with their parent, which restores it. */
#define MAX_SHARED 64
#define SHARED_LIMIT (256ull << 20)
static struct {
  char *at, *copy;
  uint64_t size;
} shared[MAX_SHARED];
static unsigned nshared;

/* Anonymous: a file in memory that has been deleted, or System V. */
static bool is_anonymous(const char *path) {
  return hd__starts(path, "/dev/zero (deleted)") || hd__starts(path, "/SYSV");
}

static void add_shared(uint64_t lo, uint64_t hi) {
  static uint64_t total;
  uint64_t size = hi - lo;
  for (unsigned i = 0; i < nshared; i++)
    if ((uint64_t)shared[i].at == lo && shared[i].size == size) return;
  char *copy = nshared < MAX_SHARED && total + size <= SHARED_LIMIT ? hd__map(size) : NULL;
  if (!copy) return;
  total += size;
  shared[nshared].at = (char *)lo;
  shared[nshared].copy = copy;
  shared[nshared++].size = size;
}

/* Memory of which no page exists reads as zero. */
static bool exists(const char *at) {
  unsigned char is = 1;
  return hd_sys3(SYS_mincore, at, HD_PAGE, &is) < 0 || (is & 1);
}

static void each_shared(bool save) {
  for (unsigned i = 0; i < nshared; i++)
    for (uint64_t k = 0; k < shared[i].size; k += HD_PAGE) {
      char *at = shared[i].at + k, *copy = shared[i].copy + k;
      if (!exists(at)) continue;
      if (save)
        hd__copy(copy, at, HD_PAGE);
      else
        hd__copy(at, copy, HD_PAGE);
    }
}

void hd__snapshot_share(void) { each_shared(false); }

/* A line of /proc/self/maps: "lo-hi perms offset dev inode path". Adjacent mappings of several owners can appear as
 * one, so those that are not the program's are cut out. */
static void add_line(const char *s, uint64_t stack_lo, uint64_t stack_hi) {
  uint64_t lo = parse_hex(&s);
  s++;
  uint64_t hi = parse_hex(&s);
  const char *path = s + 5;
  while (*path && *path != '/') path++;
  if (s[1] == 'r' && s[2] == 'w' && s[4] == 's' && is_anonymous(path)) add_shared(lo, hi);
  if (s[1] != 'r' || s[2] != 'w' || s[4] != 'p') return;
  int prot = PROT_READ | PROT_WRITE | (s[3] == 'x' ? PROT_EXEC : 0);
  if (stack_lo >= lo && stack_lo < hi) {
    add_region(stack_lo, stack_hi, prot);
    return;
  }
  uint64_t from = lo;
  for (uint64_t a = lo, end; a < hi; a = end) {
    end = end_of_other(a);
    if (end) {
      add_region(from, a, prot);
      from = end;
    } else {
      end = a + HD_PAGE;
    }
  }
  if (from < hi) add_region(from, hi, prot);
}

/* The text of /proc/self/maps, valid until the next call. */
static char *read_maps(void) {
  static char buf[1 << 20];
  size_t len = 0;
  long fd = hd_sys4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return NULL;
  for (long n; (n = hd_sys3(SYS_read, fd, buf + len, sizeof buf - 1 - len)) > 0;) len += (size_t)n;
  hd_sys3(SYS_close, fd, 0, 0);
  buf[len] = 0;
  return buf;
}

/* The five characters after the range that holds addr, " rwxp", or NULL. */
static const char *kind_at(uint64_t addr) {
  for (const char *s = read_maps(); s && *s;) {
    uint64_t lo = parse_hex(&s);
    s++;
    uint64_t hi = parse_hex(&s);
    if (addr >= lo && addr < hi) return s;
    while (*s && *s++ != '\n')
      ;
  }
  return NULL;
}

int hd__snapshot_prot(uint64_t addr) {
  const char *s = kind_at(addr);
  return !s ? -1
            : (s[1] == 'r' ? PROT_READ : 0) | (s[2] == 'w' ? PROT_WRITE : 0) | (s[3] == 'x' ? PROT_EXEC : 0);
}

bool hd__snapshot_shared(uint64_t addr) {
  const char *s = kind_at(addr);
  return s && s[4] == 's';
}

void hd__snapshot_reguard(uint64_t addr, uint64_t size) {
  for (uint64_t a = addr & ~(HD_PAGE - 1); guarded && a < addr + size; a += HD_PAGE) {
    const struct region *r = region_of(a);
    if (r) hd_sys3(SYS_mprotect, a, HD_PAGE, is_dirty(r, a) ? r->prot : r->prot & ~PROT_WRITE);
  }
}

static int protect(const struct region *r) {
  for (uint64_t lo = r->lo; lo < r->hi;) {
    uint64_t hi = lo;
    while (hi < r->hi && !is_dirty(r, hi)) hi += HD_PAGE;
    if (hi > lo && hd_sys3(SYS_mprotect, lo, hi - lo, r->prot & ~PROT_WRITE) < 0) return -1;
    lo = hi + HD_PAGE;
  }
  return 0;
}

static bool keep_roots(void) {
  if (!root) root = hd__map(MAX_REGIONS * sizeof *root);
  if (!root) return false;
  for (nroots = 0; nroots < nregions; nroots++) {
    root[nroots].lo = region[nroots].lo;
    root[nroots].hi = region[nroots].hi;
  }
  return true;
}

int hd__snapshot_take(char *stack_lo, char *stack_hi, bool guard, bool start) {
  nregions = 0;
  npages = 0;
  stack_from = (uint64_t)stack_lo;
  block_next = 0;
  copy_next = copy_end = NULL;
  guarded = guard;
  if (!hd__segment_of((uint64_t)&hot, &own_lo, &own_hi)) return -1;
  own_lo &= ~(HD_PAGE - 1);
  own_hi = (own_hi + HD_PAGE - 1) & ~(HD_PAGE - 1);
  char *maps = read_maps();
  if (!maps) return -1;
  for (char *p = maps; *p;) {
    char *nl = p;
    while (*nl && *nl != '\n') nl++;
    if (*nl) *nl++ = 0;
    add_line(p, (uint64_t)stack_lo, (uint64_t)stack_hi);
    p = nl;
  }
  if (start) each_shared(true);
  hd__heap_each_range(add_writable);
  if (start && !keep_roots()) return -1;
  hd__ident_each_block(add_writable);
  hd__checkpoint_each_range(add_writable);
  if (!guarded) return 0;
  hd__ident_touch(); /* invariant 3: before anything is protected */
  for (unsigned i = 0; i < nregions; i++)
    if (protect(&region[i])) return -1;
  return 0;
}

void hd__snapshot_restore(void) {
  hd__snapshot_share();
  for (size_t i = 0; i < npages; i++)
    hd__copy(page[i].at + page[i].from, page[i].copy + page[i].from, HD_PAGE - page[i].from);
}

void hd__snapshot_unguard(void) {
  for (unsigned i = 0; i < nregions && guarded; i++)
    hd_sys3(SYS_mprotect, region[i].lo, region[i].hi - region[i].lo, region[i].prot);
  guarded = false;
  npages = 0;
}

void hd__snapshot_each_range(void (*f)(char *lo, char *hi)) {
  for (unsigned i = 0; i < nroots; i++) f((char *)root[i].lo, (char *)root[i].hi);
}

void hd__snapshot_each_change(bool (*wanted)(uint64_t page), void (*f)(uint64_t addr, unsigned mask)) {
  for (size_t i = 0; i < npages; i++) {
    if (!wanted((uint64_t)page[i].at)) continue;
    const uint64_t *a = (const uint64_t *)page[i].at, *b = (const uint64_t *)page[i].copy;
    for (unsigned k = 0; k < HD_PAGE / sizeof *a; k += 8) {
      uint64_t differs = 0; /* few words of a page do */
      for (unsigned n = k; n < k + 8; n++) differs |= a[n] ^ b[n];
      if (!differs) continue;
      unsigned mask = 0;
      for (unsigned n = 0; n < 8; n++) mask |= (unsigned)(a[k + n] != b[k + n]) << n;
      f((uint64_t)&a[k], mask);
    }
  }
}

/* ---- all of it, as a hash (core/endless.c) ---- */

#define SUM_MAX (256ull << 20)
#define SUM_PAGES 512 /* that are looked up at once */
#define RED_ZONE 128  /* that a function may use below its stack pointer */
static struct {
  uint64_t hash, bytes;
  uint64_t dead_lo, dead_hi;     /* the stack below the stack pointer */
  uint64_t theirs_lo, theirs_hi; /* written by the kernel */
} sum;

static void sum_words(uint64_t at, uint64_t end) {
  uint64_t h = sum.hash ^ at * 0x9e3779b97f4a7c15ull;
  for (; at < end; at += 8) {
    if (at - sum.dead_lo < sum.dead_hi - sum.dead_lo || at - sum.theirs_lo < sum.theirs_hi - sum.theirs_lo)
      continue;
    h = (h ^ *(const uint64_t *)at) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 32;
  }
  sum.hash = h;
}

static void sum_range(char *lo, char *hi) {
  unsigned char in[SUM_PAGES];
  for (uint64_t at = (uint64_t)lo & ~(HD_PAGE - 1), end = (uint64_t)hi, n; at < end && sum.bytes < SUM_MAX;
       at += n * HD_PAGE) {
    n = (end - at + HD_PAGE - 1) / HD_PAGE;
    if (n > SUM_PAGES) n = SUM_PAGES;
    bool known = hd_sys3(SYS_mincore, at, n * HD_PAGE, in) >= 0;
    for (uint64_t i = 0; i < n; i++) {
      if (known && !(in[i] & 1)) continue;
      sum_words(at + i * HD_PAGE, at + (i + 1) * HD_PAGE);
      sum.bytes += HD_PAGE;
    }
  }
}

static void sum_stack(char *lo, char *hi, unsigned number) {
  (void)number;
  sum_range(lo, hi);
}

/* A line of /proc/self/maps. */
static void sum_line(const char *s) {
  uint64_t lo = parse_hex(&s);
  s++;
  uint64_t hi = parse_hex(&s);
  bool is_shared = s[1] == 'r' && s[4] == 's';
  if (!is_shared && (s[1] != 'r' || s[2] != 'w')) return;
  for (uint64_t a = lo, end; a < hi; a = end) {
    end = end_of_other(a);
    if (end) continue;
    if (is_shared) sum.bytes = SUM_MAX; /* another process may change it */
    if (is_shared) return;
    for (end = a; end < hi && !end_of_other(end); end += HD_PAGE) {}
    sum_range((char *)a, (char *)end);
  }
}

bool hd__memory_sum(uint64_t sp, uint64_t *out) {
  char *maps = read_maps();
  if (!maps) return false;
  const struct hd_ident *own = rt.cur->ident;
  sum.hash = sum.bytes = 0;
  sum.dead_hi = (sp - RED_ZONE) & ~7ull;
  sum.dead_lo = own ? (uint64_t)own->stack_lo : sum.dead_hi - HD_FIRST_STACK;
  hd__rseq_area(&sum.theirs_lo, &sum.theirs_hi);
  for (char *p = maps; *p;) {
    sum_line(p);
    while (*p && *p++ != '\n') {}
  }
  hd__heap_each_range(sum_range);
  hd__ident_each_stack(sum_stack);
  *out = sum.hash;
  return sum.bytes < SUM_MAX;
}

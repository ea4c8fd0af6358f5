/* heap.c: the program's heap. Runs in the tested process.
 *
 * Each tested thread allocates from an address range of its own (a slot), so that an address depends on what the
 * thread did and not on the interleaving. A slot is cut into chunks of 64 KiB; a chunk holds blocks of one stride,
 * or is part of a run of chunks that holds one large block. From any address the block around it is found in a few
 * instructions, which detects uses of freed memory and overflows.
 *
 * Invariants
 *  1. Memory beyond the bump pointer of a chunk is zero.
 *  2. Blocks of one size are reused by the thread that allocated them, the oldest first, once it has QUARANTINE bytes of
 *     them; and only if the free happened before the allocation. So the address does not depend on the interleaving, but
 *     only on what is ordered before, whoever freed the block. The exception is a choice of the search, see "reuse".
 *  3. hd__heap_restore restores exactly the state at hd__heap_mark; snapshot.c restores the contents of chunks that
 *     existed then like any other memory. */
#include <sys/mman.h>

#include "runtime/core/core.h"
#include "runtime/core/fingerprint.h"
#include "runtime/core/finding.h"
#include "runtime/core/modules.h"
#include "runtime/core/objects.h"
#include "runtime/core/spin.h"
#include "runtime/memory/memory.h"

#define CHUNK_SHIFT 16
#define CHUNK (1ull << CHUNK_SHIFT)
#define SLOT_SIZE (1ull << HD_HEAP_SLOT_SHIFT)
#define NSLOTS 1024
#define BIG_BASE (HD_HEAP_BASE + SLOT_SIZE * NSLOTS) /* for blocks that do not fit into a slot */
#define NCHUNKS ((HD_HEAP_END - HD_HEAP_BASE) >> CHUNK_SHIFT)
#define NCLASSES 40
#define QUARANTINE (1ull << 20)
#define LOOKS 16      /* blocks in use that are passed over, looking for one to reuse */
#define WAIT_MAX 1024 /* allocations between two such looks, at most */
#define NLARGE 64     /* sizes of large blocks */
#define MIN_GAP 8     /* bytes after a block that never belong to one */

struct header {
  uint32_t size; /* low 32 bits; large blocks: see chunk.size */
  uint32_t alloc_site;
  uint32_t free_site; /* while it is live: the segment in which it was allocated beside other threads, or 0 */
  uint16_t off;       /* user address - block, in units of 16, and the bits below */
  uint8_t thread_lo;
  uint8_t state;
};
enum { B_NONE = 0, B_LIVE = 0xa1, B_FREED = 0xf3 };
#define OFF_MASK 0x3fff
#define SEEN 0x4000  /* an atomic operation found a pointer to it */
#define AGAIN 0x8000 /* an ordinary malloc might have returned the address of a freed block that was SEEN */

struct chunk {
  uint32_t stride; /* 0: unused; 1: large */
  uint32_t recip;  /* ceil(2^32 / stride) */
  uint32_t first;  /* large: first chunk of the run */
  uint32_t used;   /* bytes allocated (bump) */
  uint64_t size;   /* large: requested bytes */
  uint16_t slot;
  uint32_t older; /* the chunk of this stride, or block of this size, that the slot took before, +1 */
  uint32_t newer; /* and after it */
};

/* What a slot has of one size. */
struct line {
  uint32_t oldest, newest; /* chunks, +1; small: the newest may have room */
  uint32_t chunks;
  uint32_t at, off; /* the block that is looked at next, to be reused; at: chunk, +1 */
  uint16_t wait;    /* allocations until then */
  uint16_t pause;   /* what it was last time */
};

struct slot {
  uint32_t next_chunk; /* relative to the slot */
  bool reuses;         /* it has looked for blocks to reuse */
  struct line line[NCLASSES + NLARGE];
};

/* Blocks of a slot and class that were looked at because of a block that was freed: see "reuse". */
struct walked {
  struct header *newest, *oldest;
  uint32_t by; /* thread, +1 */
  bool mixed;  /* addresses were used again: those of newer blocks are not behind those of older ones */
};

bool hd__heap_fresh;
static struct chunk *chunks;
static struct slot *slots;
static struct walked (*walked)[NCLASSES];
static bool any_walked;
static uint64_t big_next;
static uint32_t *log_chunk; /* chunks taken since the mark, in order */
static uint32_t nlog;
static bool marked;
static uint32_t touched[NSLOTS]; /* slots used since the mark */
static uint32_t ntouched;
static struct {
  uint32_t nchunks;
  uint32_t *chunk, *used;
  struct slot slot0;
  uint64_t big_next;
} mark;
static uint32_t before_main; /* chunks taken before the program started */

/* Strides: 32..512 by 32, then powers of two with three steps between, up to a quarter of a chunk. */
static const uint32_t stride_of[] = {32,   64,   96,   128,  160,  192,  224,   256,   288,  320,  352,
                                     384,  416,  448,  480,  512,  640,  768,   1024,  1280, 1536, 2048,
                                     2560, 3072, 4096, 5120, 6144, 8192, 10240, 12288, 16384};
#define NSTRIDES (sizeof stride_of / sizeof *stride_of)

static unsigned class_of(uint64_t n) {
  if (n <= 512) return (unsigned)((n + 31) / 32 - 1);
  unsigned k = 16;
  while (stride_of[k] < n) k++;
  return k;
}

int hd__heap_init(void) {
  long p = hd_sys6(SYS_mmap, (long)HD_HEAP_BASE, (long)(HD_HEAP_END - HD_HEAP_BASE), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (p != (long)HD_HEAP_BASE) return -1;
  hd_sys3(SYS_madvise, HD_HEAP_BASE, HD_HEAP_END - HD_HEAP_BASE, MADV_NOHUGEPAGE);
  chunks = hd__map(NCHUNKS * sizeof *chunks);
  slots = hd__map(NSLOTS * sizeof *slots);
  walked = hd__map(NSLOTS * sizeof *walked);
  log_chunk = hd__map(NCHUNKS * sizeof *log_chunk);
  big_next = BIG_BASE;
  return chunks && slots && walked && log_chunk ? 0 : -1;
}

static uint64_t chunk_addr(uint32_t c) { return HD_HEAP_BASE + ((uint64_t)c << CHUNK_SHIFT); }
static uint32_t chunk_of(uint64_t a) { return (uint32_t)((a - HD_HEAP_BASE) >> CHUNK_SHIFT); }

/* A thread whose number stands for its place in the tree of creations has a slot for itself. */
unsigned hd__heap_slot(const struct hd_thread *t) {
  return t->numbered ? t->id
                     : HD_NUMBERED + hd_mix64(t->parent * 1000003ull + t->nth) % (NSLOTS - HD_NUMBERED);
}

static unsigned slot_of(const struct hd_thread *t) { return t ? t->heap_slot : 0; }

/* The slot has grown from `before` to `after` bytes. */
static void grown(uint64_t slot, uint64_t before, uint64_t after) {
  const uint64_t cells = sizeof(struct hd_cell) / 8, some = HD_LARGE_PAGE / cells, many = HD_LARGE_PAGE;
  if (before <= some && after > some)
    hd__large_pages((uint64_t)hd__cell(slot + some), (SLOT_SIZE - some) * cells);
  if (before <= many && after > many) hd__large_pages(slot + many, SLOT_SIZE - many);
}

/* Appends a chunk, or a large block. */
static void append(struct line *l, uint32_t c, uint32_t n) {
  chunks[c].older = l->newest;
  if (l->newest)
    chunks[l->newest - 1].newer = c + 1;
  else
    l->oldest = c + 1;
  l->newest = c + 1;
  l->chunks += n;
}

static uint32_t take_chunks(unsigned s, uint64_t n) {
  struct slot *sl = &slots[s];
  uint32_t c;
  if (sl->next_chunk + n <= SLOT_SIZE >> CHUNK_SHIFT) {
    uint64_t slot = HD_HEAP_BASE + s * SLOT_SIZE, before = (uint64_t)sl->next_chunk << CHUNK_SHIFT;
    c = chunk_of(slot + before);
    sl->next_chunk += (uint32_t)n;
    grown(slot, before, before + (n << CHUNK_SHIFT));
  } else {
    if (n > (HD_HEAP_END - big_next) >> CHUNK_SHIFT) return 0xffffffffu;
    c = chunk_of(big_next);
    hd__large_pages(big_next, n << CHUNK_SHIFT);
    hd__large_pages((uint64_t)hd__cell(big_next), (n << CHUNK_SHIFT) * (sizeof(struct hd_cell) / 8));
    big_next += n << CHUNK_SHIFT;
  }
  for (uint64_t i = 0; i < n; i++) {
    chunks[c + i] = (struct chunk){.first = c, .slot = (uint16_t)s};
    log_chunk[nlog++] = c + (uint32_t)i;
  }
  return c;
}

static struct header *header_of(uint64_t addr, struct chunk **out) {
  uint32_t c = chunk_of(addr);
  struct chunk *ch = &chunks[c];
  *out = ch;
  if (ch->stride == 0) return NULL;
  if (ch->stride == 1) {
    *out = &chunks[ch->first];
    return (struct header *)chunk_addr(ch->first);
  }
  uint64_t off = addr & (CHUNK - 1);
  if (off >= ch->used) return NULL;
  uint64_t i = off * ch->recip >> 32;
  return (struct header *)(chunk_addr(c) + i * ch->stride);
}

static uint64_t user_of(const struct header *h) { return (uint64_t)h + (uint64_t)(h->off & OFF_MASK) * 16; }
static uint64_t size_of(const struct header *h, const struct chunk *c) {
  return c->stride == 1 ? c->size : h->size;
}

/* In the first bytes of a freed block: the segment in which it was freed, 0 for before the first. */
static uint32_t *freed_in(const struct header *h) { return (uint32_t *)user_of(h); }

/* Whether an ordinary allocation of the running thread may have this block. */
static bool may_reuse(const struct header *h) {
  if (h->state != B_FREED || (h->off & ~AGAIN) != 1) return false;
  uint32_t seg = *freed_in(h);
  return seg < rt.seg_base || hd__segment_thread(seg) == rt.cur->id || hd__happened_before(seg);
}

/* The next block of the line, the oldest after the newest. stride 0: large blocks. */
static struct header *next_block(struct line *l, uint32_t stride) {
  if (!l->at || l->off >= chunks[l->at - 1].used) {
    l->at = l->at && chunks[l->at - 1].newer ? chunks[l->at - 1].newer : l->oldest;
    l->off = 0;
  }
  struct header *h = (struct header *)(chunk_addr(l->at - 1) + l->off);
  l->off += stride ? stride : 1;
  return h;
}

/* Invariant 2. Everything that was done with the block happened before, so its shadow need not be cleared. A thread that
 * frees little looks seldom. */
static struct header *reuse_oldest(struct slot *sl, struct line *l, uint32_t stride) {
  if (HD_LIKELY((uint64_t)l->chunks << CHUNK_SHIFT < QUARANTINE) || !hot.active) return NULL;
  if (l->wait) {
    l->wait--;
    return NULL;
  }
  sl->reuses = true;
  for (unsigned i = 0; i < LOOKS; i++) {
    struct header *h = next_block(l, stride);
    if (!may_reuse(h)) continue;
    l->pause = 0;
    return h;
  }
  l->pause = l->pause ? (uint16_t)(l->pause < WAIT_MAX ? l->pause * 2 : WAIT_MAX) : 1;
  l->wait = l->pause;
  return NULL;
}

static struct header *take_small(unsigned s, unsigned cls) {
  struct line *l = &slots[s].line[cls];
  uint32_t stride = stride_of[cls];
  struct header *h = reuse_oldest(&slots[s], l, stride);
  if (h) {
    walked[s][cls].mixed = any_walked = true;
    return h;
  }
  struct chunk *c = l->newest ? &chunks[l->newest - 1] : NULL;
  if (!c || c->used + stride > CHUNK) {
    uint32_t n = take_chunks(s, 1);
    if (n == 0xffffffffu) return NULL;
    c = &chunks[n];
    c->stride = stride;
    c->recip = (uint32_t)((0x100000000ull + stride - 1) / stride);
    append(l, n, 1);
  }
  h = (struct header *)(chunk_addr((uint32_t)(c - chunks)) + c->used);
  c->used += stride;
  return h;
}

/* Numbers of chunks: powers of two, with one step between, so that blocks of about one size can follow each other. */
static uint64_t round_chunks(uint64_t n, unsigned *cls) {
  uint64_t size = 1;
  for (*cls = 0; size < n; (*cls)++) size = *cls % 2 ? size / 2 * 3 : *cls ? size / 3 * 4 : 2;
  return size;
}

static struct header *take_large(unsigned s, uint64_t size, uint64_t need) {
  unsigned cls;
  uint64_t n = round_chunks((need + CHUNK - 1) >> CHUNK_SHIFT, &cls);
  struct line *l = &slots[s].line[NCLASSES + cls];
  struct header *h = reuse_oldest(&slots[s], l, 0);
  if (h) {
    chunks[chunk_of((uint64_t)h)].size = size;
    return h;
  }
  uint32_t c = take_chunks(s, n);
  if (c == 0xffffffffu) return NULL;
  for (uint64_t i = 0; i < n; i++) chunks[c + i].stride = 1;
  chunks[c].size = size;
  chunks[c].used = 1;
  append(l, c, (uint32_t)n);
  return (struct header *)chunk_addr(c);
}

/* ---- reuse ----
 *
 * An ordinary malloc likes to return the block that its thread freed last (ABA: a pointer compares equal to one that was
 * read before). That matters when atomic operations find both pointers. Where that has happened in some execution, which
 * is learned like visible memory, by the place of the allocation, malloc returns either the freed block or another one: a
 * choice, which each thread makes a few times. A block that another thread has freed is not returned; where it could
 * matter, that is noted: whatever the order of the two in this execution, unless the allocation happens before the free. */

#define REUSES 3                    /* choices of a thread */
static HD_EXEC uint64_t freed_seen; /* classes of which such a block was freed in this execution */

/* What a thread has freed of a class. */
static HD_EXEC struct freed {
  struct freed *next; /* of another thread */
  struct reusable {
    struct header *h;
    struct reusable *below;
  } * top; /* freed last */
  uint16_t thread;
} * freed[NCLASSES];

static HD_EXEC struct again {
  struct again *next;
  struct header *h;
  uint64_t site;
} * again; /* blocks with AGAIN, whose place is not known yet */

static void *new_entry(size_t size) {
  void *p = hd_arena_get(&rt.arena, size);
  HD_BUG_ON(!p);
  return p;
}

static void add_reusable(struct header *h, unsigned cls) {
  struct freed *f = freed[cls];
  freed_seen |= 1ull << cls;
  while (f && f->thread != rt.cur->id) f = f->next;
  if (!f) {
    f = new_entry(sizeof *f);
    *f = (struct freed){.next = freed[cls], .thread = rt.cur->id};
    freed[cls] = f;
  }
  struct reusable *r = new_entry(sizeof *r);
  *r = (struct reusable){h, f->top};
  f->top = r;
}

/* What the running thread has freed, or NULL; whether other threads freed any. */
static struct freed *find_reusable(unsigned cls, bool *others) {
  struct freed *mine = NULL;
  *others = false;
  for (struct freed *f = freed[cls]; f; f = f->next) {
    if (f->top && f->thread == rt.cur->id)
      mine = f;
    else if (f->top)
      *others = true;
  }
  return mine;
}

/* Returns a freed block, if there is one and the search has chosen it. `site` is where an allocation has to be watched. */
static struct header *reuse(unsigned cls, uint64_t pc, uint64_t *site, bool *others) {
  *site = 0;
  struct freed *f = find_reusable(cls, others);
  if (!f) return NULL;
  *site = hd__user_pc(pc, (uint64_t)__builtin_frame_address(0));
  if (!hd__spin_known(*site)) return NULL;
  *site = 0;
  if (rt.cur->heap_reuses++ >= REUSES) {
    *others = true;
    return NULL;
  }
  if (!hd__choose_here(2, pc)) return NULL;
  struct header *h = f->top->h;
  f->top = f->top->below;
  walked[chunks[chunk_of((uint64_t)h)].slot][cls].mixed = any_walked = true;
  return h;
}

/* An ordinary malloc might have returned another address. */
static void note_again(struct header *h, uint64_t site, bool others) {
  if (!site && !others) return;
  h->off |= AGAIN;
  if (others) return; /* then it is noted */
  struct again *a = new_entry(sizeof *a);
  *a = (struct again){again, h, site};
  again = a;
}

/* A thread allocates its blocks one after the other, so those that are not ordered before the running thread are the newest of
 * its slot: the walk ends at the first that is. What another walk has marked it skips. Neither holds for a slot that several
 * threads share; where addresses were used again (`mixed`), a walk skips what this thread has looked at before, which later
 * allocations there cannot have changed: they are marked at once (`others`). */
static void note_slot(unsigned s, unsigned cls, uint64_t pc) {
  struct walked *w = &walked[s][cls];
  uint32_t stride = stride_of[cls], c = slots[s].line[cls].newest, off = c ? chunks[c - 1].used : 0;
  bool ordered = s < HD_NUMBERED && !w->mixed;
  struct header *newest = NULL, *oldest = NULL;
  if (!ordered && w->by != rt.cur->id + 1u) w->newest = NULL;
  while (c) {
    if (!off) {
      c = chunks[c - 1].older;
      off = c ? chunks[c - 1].used : 0;
      continue;
    }
    off -= stride;
    struct header *h = (struct header *)(chunk_addr(c - 1) + off);
    if (!newest) newest = h;
    if (h == w->newest) {
      oldest = w->oldest;
      c = chunk_of((uint64_t)oldest) + 1;
      off = (uint32_t)((uint64_t)oldest & (CHUNK - 1));
      continue;
    }
    uint32_t allocated = h->state == B_LIVE ? h->free_site : 0;
    bool before = allocated && hd__happened_before(allocated);
    if (before && ordered) break;
    oldest = h;
    if (!allocated || before || (h->off & AGAIN) || hd__segment_thread(allocated) == rt.cur->id) continue;
    if (h->off & SEEN)
      hd__inexact(HD_INEXACT_HEAP_REUSE, pc);
    else
      h->off |= AGAIN; /* noted when it is seen */
  }
  if (oldest) {
    w->newest = newest;
    w->oldest = oldest;
    w->by = rt.cur->id + 1u;
    any_walked = true;
  }
}

/* The running thread has freed a block of this size that was SEEN: those that other threads have allocated, not ordered
 * before that, might have got its address. */
static void note_concurrent(unsigned cls, uint64_t pc) {
  if (!rt.nunjoined) return;
  unsigned own = slot_of(rt.cur);
  if (own) note_slot(0, cls, pc);
  for (uint32_t i = 0; i < ntouched; i++)
    if (touched[i] != own) note_slot(touched[i], cls, pc);
  if (walked[own][cls].mixed || own >= HD_NUMBERED) note_slot(own, cls, pc);
}

void hd__heap_seen(uint64_t p, uint64_t pc) {
  struct chunk *c;
  struct header *h = header_of(p, &c);
  if (!h || h->state != B_LIVE || user_of(h) != p) return;
  h->off |= SEEN;
  if (!(h->off & AGAIN)) return;
  const struct again *a = again;
  while (a && a->h != h) a = a->next;
  if (a)
    hd__learn(a->site);
  else
    hd__inexact(HD_INEXACT_HEAP_REUSE, pc);
}

void *hd__heap_alloc(size_t size, size_t align, uint64_t pc) {
  struct hd_thread *t = hot.active ? rt.cur : NULL;
  unsigned s = slot_of(t);
  if (align < 16) align = 16;
  if (size > (1ull << 46) || align > CHUNK) return NULL;
  if (slots[s].next_chunk == 0 && marked && s) touched[ntouched++] = s;
  uint64_t need = size + MIN_GAP + align; /* the header takes at most `align` */
  struct header *h = NULL;
  uint64_t site = 0;
  bool others = false;
  if (need <= stride_of[NSTRIDES - 1]) {
    unsigned cls = class_of(need);
    if (HD_UNLIKELY(freed_seen >> cls & 1) && align == 16 && rt.nunjoined && t)
      h = reuse(cls, pc, &site, &others);
    if (!h) h = take_small(s, cls);
    if (!h) return NULL;
  } else {
    h = take_large(s, size, need);
    if (!h) return NULL;
  }
  hd__heap_fresh = h->state == B_NONE;
  uint64_t user = ((uint64_t)h + sizeof *h + align - 1) & ~(align - 1);
  *h = (struct header){(uint32_t)size,         0,     0, (uint16_t)((user - (uint64_t)h) >> 4),
                       t ? (uint8_t)t->id : 0, B_LIVE};
  /* What a library allocates, it may hand over in an order that is not seen (setenv). */
  if (t && rt.nunjoined && hd__user_text(pc)) h->free_site = (uint32_t)(hot.tag >> 32);
  note_again(h, site, others);
  if (HD_UNLIKELY(hot.detail) && t) h->alloc_site = (uint32_t)hd__site_here(pc);
  return (void *)user;
}

void hd__bad_free(unsigned kind, uint64_t p, uint64_t pc) {
  struct hd_finding_rec *f = hd__finding(kind, pc, 0);
  if (!f) return;
  struct hd_site *s = hd__finding_site(f, HD_ROLE_AT, rt.cur->id, HD_OP_FREE);
  hd__site_stack(s, rt.cur, pc);
  s->object = p;
  hd__site_block(f, p);
  hd__finding_done(f, false);
}

void hd__heap_free(void *ptr, uint64_t pc) {
  uint64_t p = (uint64_t)ptr;
  struct chunk *c;
  struct header *h = header_of(p, &c);
  if (!h || h->state == B_NONE || user_of(h) != p) {
    if (hot.active) hd__bad_free(HD_KIND_INVALID_FREE, p, pc);
    return;
  }
  if (h->state != B_LIVE) {
    if (hot.active) hd__bad_free(HD_KIND_DOUBLE_FREE, p, pc);
    return;
  }
  uint32_t seg = 0;
  if (hot.active) {
    /* Freeing is a write to every byte: it races with any access that is not ordered before it. */
    uint64_t size = size_of(h, c);
    if (size && rt.nthreads > 1) {
      hd__shadow_free(p, size, pc);
      hd__objects_freed(p, size, pc);
      if (h->state != B_LIVE) { /* another thread freed it at the scheduling point */
        hd__bad_free(HD_KIND_DOUBLE_FREE, p, pc);
        return;
      }
    }
    seg = (uint32_t)(hot.tag >> 32);
    hd__new_segment(rt.cur); /* the fast path must no longer match the block */
    h->free_site = HD_UNLIKELY(hot.detail) ? (uint32_t)hd__site_here(pc) : 0;
  }
  h->state = B_FREED;
  *freed_in(h) = seg;
  hd__live = (struct hd_live){0, 0};
  if (HD_UNLIKELY(h->off & SEEN) && c->stride > 1 && (h->off & OFF_MASK) == 1 && hot.active) {
    unsigned cls = class_of(c->stride);
    add_reusable(h, cls);
    note_concurrent(cls, pc);
  }
}

size_t hd__heap_size(void *p) {
  struct chunk *c;
  struct header *h = header_of((uint64_t)p, &c);
  return h && h->state == B_LIVE && user_of(h) == (uint64_t)p ? size_of(h, c) : 0;
}

bool hd__heap_block(uint64_t addr, struct hd_block *b) {
  if (!hd__heap_owns(addr)) return false;
  struct chunk *c;
  struct header *h = header_of(addr, &c);
  if (!h || h->state == B_NONE) return false;
  bool alive = h->state == B_LIVE;
  *b = (struct hd_block){user_of(h), size_of(h, c), h->thread_lo,
                         alive,      h->alloc_site, alive ? 0 : h->free_site};
  return true;
}

uint32_t hd__heap_allocated(uint64_t addr, uint64_t *site) {
  struct chunk *c;
  struct header *h = header_of(addr, &c);
  if (!h || h->state != B_LIVE) return 0;
  *site = h->alloc_site;
  return h->free_site;
}

void hd__bad_access(unsigned kind, uint64_t addr, uint64_t size, unsigned flags, uint64_t pc) {
  struct hd_finding_rec *f = hd__finding(kind, pc, 0);
  if (!f) return;
  struct hd_site *s =
      hd__finding_site(f, HD_ROLE_AT, rt.cur->id, flags & HD_A_WRITE ? HD_OP_WRITE : HD_OP_READ);
  hd__site_stack(s, rt.cur, pc);
  s->object = addr;
  s->size = (uint32_t)size;
  hd__site_block(f, addr);
  hd__finding_done(f, false);
}

struct hd_live hd__live;

void hd__heap_check_slow(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc) {
  struct chunk *c;
  struct header *h = header_of(addr, &c);
  if (HD_UNLIKELY(!h || h->state == B_NONE)) {
    hd__bad_access(HD_KIND_HEAP_OVERFLOW, addr, size, flags, pc);
    return;
  }
  uint64_t user = user_of(h);
  if (HD_UNLIKELY(h->state == B_FREED))
    hd__bad_access(HD_KIND_USE_AFTER_FREE, addr, size, flags, pc);
  else if (HD_UNLIKELY(addr < user || addr + size > user + size_of(h, c)))
    hd__bad_access(HD_KIND_HEAP_OVERFLOW, addr, size, flags, pc);
  else
    hd__live = (struct hd_live){user, user + size_of(h, c)};
}

/* ---- restart ---- */

void hd__heap_mark(bool start) {
  if (start) before_main = nlog;
  mark.nchunks = nlog;
  mark.chunk = hd__map((nlog + 1) * sizeof *mark.chunk);
  mark.used = hd__map((nlog + 1) * sizeof *mark.used);
  HD_BUG_ON(!mark.chunk || !mark.used);
  for (uint32_t i = 0; i < nlog; i++) {
    mark.chunk[i] = log_chunk[i];
    mark.used[i] = chunks[log_chunk[i]].used;
  }
  mark.slot0 = slots[0];
  mark.big_next = big_next;
  marked = true;
  ntouched = 0;
}

void hd__heap_restore(void) {
  if (freed_seen) hd__zero(freed, sizeof freed);
  freed_seen = 0;
  again = NULL;
  hd__live = (struct hd_live){0, 0};
  hd__before_restore();
  for (uint32_t i = mark.nchunks; i < nlog; i++) {
    uint32_t c = log_chunk[i];
    struct chunk *ch = &chunks[c];
    if (ch->stride == 1) {
      if (ch->first == c) { /* the whole run at once */
        uint64_t n = 1;
        while (i + n < nlog && chunks[log_chunk[i + n]].stride == 1 && chunks[log_chunk[i + n]].first == c)
          n++;
        if (n == 1)
          hd__zero((void *)chunk_addr(c), CHUNK);
        else
          hd_sys3(SYS_madvise, chunk_addr(c), n << CHUNK_SHIFT, MADV_DONTNEED);
      }
    } else if (ch->used) {
      hd__zero((void *)chunk_addr(c), ch->used);
    }
    *ch = (struct chunk){0};
  }
  nlog = mark.nchunks;
  for (uint32_t i = 0; i < mark.nchunks; i++) chunks[mark.chunk[i]].used = mark.used[i];
  for (uint32_t i = 0; i < ntouched; i++) {
    hd__zero(&slots[touched[i]], sizeof *slots);
    if (any_walked) hd__zero(walked[touched[i]], sizeof walked[0]);
  }
  ntouched = 0;
  if (any_walked) hd__zero(walked[0], sizeof walked[0]);
  any_walked = false;
  slots[0] = mark.slot0;
  for (unsigned i = 0; i < NCLASSES + NLARGE; i++)
    if (slots[0].line[i].newest) chunks[slots[0].line[i].newest - 1].newer = 0;
  big_next = mark.big_next;
}

void hd__heap_each_range(void (*f)(char *lo, char *hi)) {
  for (uint32_t i = 0, n; i < nlog; i += n) {
    char *a = (char *)chunk_addr(log_chunk[i]);
    for (n = 1; i + n < nlog && log_chunk[i + n] == log_chunk[i] + n;) n++;
    f(a, a + n * CHUNK);
  }
}

void hd__heap_each_block(void (*f)(const struct hd_block *b)) {
  for (uint32_t i = before_main; i < nlog; i++) {
    uint32_t c = log_chunk[i];
    const struct chunk *ch = &chunks[c];
    uint32_t step = ch->stride == 1 ? (uint32_t)CHUNK : ch->stride;
    if (ch->stride == 1 && ch->first != c) continue;
    for (uint32_t off = 0; step && (off < ch->used || (ch->stride == 1 && off == 0)); off += step) {
      struct hd_block b;
      if (hd__heap_block(chunk_addr(c) + off, &b)) f(&b);
    }
  }
}

/* ---- the state of the program ---- */

static void add_block(struct hd_fingerprint *f, const struct header *h, const struct chunk *c) {
  uint64_t at = (uint64_t)h, user = user_of(h), end = user + size_of(h, c);
  hd__fact(f, at, size_of(h, c));
  hd__fact(f, at + 8, h->off | (uint64_t)h->thread_lo << 16 | (uint64_t)h->state << 32);
  if (h->state != B_LIVE) { /* what it contains does not matter any more */
    uint32_t seg = *freed_in(h);
    if (seg >= rt.seg_base && rt.thread[hd__segment_thread(seg)].heap_slot != c->slot)
      hd__fact_access(f, at + 4, 1, seg);
    return;
  }
  if (h->free_site) hd__fact_access(f, at + 4, 0, h->free_site);
  hd__fact_range(f, user, end, 0, HD_LINE_MEMORY);
}

static void add_slot(struct hd_fingerprint *f, unsigned slot) {
  for (unsigned i = 0; slots[slot].reuses && i < NCLASSES + NLARGE; i++) {
    const struct line *l = &slots[slot].line[i];
    hd__fact(f, slot | (i + 1ull) << 16, l->at | (uint64_t)l->off << 32);
    hd__fact(f, slot | (i + 1ull) << 16 | 1ull << 32, l->wait | (uint64_t)l->pause << 16);
  }
}

/* Blocks from before main are taken as a whole, too, where their chunk has changed. */
void hd__heap_fingerprint(struct hd_fingerprint *f) {
  for (uint32_t i = 0; i < nlog; i++) {
    uint32_t c = log_chunk[i];
    const struct chunk *ch = &chunks[c];
    if (ch->stride == 1 && ch->first != c) continue;
    hd__fact(f, chunk_addr(c) + 1, ch->stride | (uint64_t)ch->used << 32);
    if (ch->stride == 1) {
      add_block(f, (const struct header *)chunk_addr(c), ch);
      continue;
    }
    for (uint32_t off = 0; ch->stride && off < ch->used; off += ch->stride) {
      const struct header *h = (const struct header *)(chunk_addr(c) + off);
      if (h->state != B_NONE) add_block(f, h, ch);
    }
  }
  add_slot(f, 0);
  for (unsigned i = 0; i < ntouched; i++) add_slot(f, touched[i]);
  hd__fact(f, HD_HEAP_BASE + 2, freed_seen);
  for (unsigned i = 0; i < NCLASSES && freed_seen; i++)
    for (const struct freed *k = freed[i]; k; k = k->next) {
      uint64_t all = k->thread + 1u;
      for (const struct reusable *r = k->top; r; r = r->below) all = hd_mix64(all ^ (uint64_t)r->h);
      if (k->top) hd__fact(f, HD_HEAP_BASE + 3 + i, all);
    }
  for (const struct again *a = again; a; a = a->next)
    hd__fact(f, HD_HEAP_BASE + 64, (uint64_t)a->h ^ hd_mix64(a->site));
}

/* An upper bound of the blocks that existed before main. */
size_t hd__heap_marked_blocks(void) {
  size_t n = 0;
  for (uint32_t i = 0; i < before_main; i++) n += mark.used[i] / 32 + 1;
  return n;
}

/* ---- the runtime's own memory, never restored ---- */

int hd__private_depth;
static char *private_base, *private_next, *private_end;

void *hd__private_alloc(size_t size, size_t align) {
  if (!private_base) {
    private_base = private_next = hd__map(1ull << 30);
    if (!private_base) return NULL;
    private_end = private_base + (1ull << 30);
  }
  if (align < 16) align = 16;
  char *p = (char *)(((uint64_t)private_next + 16 + align - 1) & ~(align - 1));
  if (p + size > private_end) return NULL;
  ((uint64_t *)p)[-1] = size;
  private_next = p + size;
  return p;
}

bool hd__private_owns(uint64_t a) {
  return a - (uint64_t)private_base < (uint64_t)(private_end - private_base);
}

/* shadow.c: which thread accessed what, and in which order; data races; which memory is worth a scheduling point.
 * Runs in the tested process.
 *
 * Each granule (8 bytes) has one cell with the last write and the last read, as segment + byte mask: FastTrack
 * (Flanagan and Freund, PLDI 2009) with byte masks. Difference: where one word is not enough (concurrent reads,
 * different bytes by different threads, mixed atomic and plain accesses) the cell is inflated to a list. Nothing is
 * ever dropped: the representation neither hides nor invents races.
 *
 * Invariants
 *  1. A word is valid when its segment is >= rt.seg_base; anything older is from an earlier execution.
 *  2. The fast path of a hook (hooks.c) returns only when the word says that this thread, in this very segment, has
 *     accessed these bytes in the same or a stronger way. Recording the access again changes nothing.
 *  3. The words of a visible or watched granule are 0 or stale, so that the fast path never matches; its accesses
 *     are in the list.
 *  4. A granule becomes visible when two accesses conflict and neither happened before the other, in any execution.
 *     Accesses that are ordered in every execution follow from the order of the other operations and need no
 *     scheduling point of their own (docs/soundness.md has the argument).
 *  5. Entry e of a list is dropped only when the new access n has e happened-before n, covers e's bytes, is at
 *     least as strong (a write, or e is a read), is plain or e is atomic, and is reported or e is silent: whatever
 *     races with e then races with n too. */
#include <sys/mman.h>

#include "runtime/core/checkpoint.h"
#include "runtime/core/core.h"
#include "runtime/core/family.h"
#include "runtime/core/fingerprint.h"
#include "runtime/core/finding.h"
#include "runtime/core/ident.h"
#include "runtime/core/modules.h"
#include "runtime/core/record.h"
#include "runtime/core/spin.h"
#include "runtime/core/touch.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

struct access {
  uint32_t seg;
  uint16_t thread;
  uint8_t mask;
  uint8_t flags; /* HD_A_WRITE, HD_A_ATOMIC, HD_A_SILENT */
  uint64_t pc;
};

struct list {
  uint32_t n, cap;
  struct access *a;
};

#define WATCH_MAX \
  65536 /* bytes: of longer accesses, such as clearing a large block, only the access is recorded */
#define SHADOW_SIZE ((HD_SHADOW_ADDR_MASK + 1) << 2)

bool hd__shadow_map(uint64_t at, uint64_t size, int how) {
  long p = hd_sys6(SYS_mmap, (long)at, (long)size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | how, -1, 0);
  if (p != (long)at) return false;
  hd_sys3(SYS_madvise, at, size, MADV_NOHUGEPAGE);
  hd_sys3(SYS_madvise, at, size, MADV_DONTDUMP);
  return true;
}

int hd__shadow_init(void) {
  return hd__shadow_map(HD_SHADOW_BASE, SHADOW_SIZE, MAP_FIXED_NOREPLACE) ? 0 : -1;
}

void hd__shadow_begin(void) {
  hd_sys3(SYS_madvise, HD_SHADOW_BASE, SHADOW_SIZE, MADV_DONTNEED);
  hd__shadow_learn(0, rt.status->visible_count);
}

void hd__shadow_learn(uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; i++)
    if (rt.visible[i] & HD_VISIBLE_SPIN)
      hd__spin_learn(rt.visible[i] & ~HD_VISIBLE_SPIN);
    else
      hd__cell(rt.visible[i])->wpc |= HD_CELL_VISIBLE;
}

void hd__log_visible(uint64_t entry) {
  if (rt.status->visible_count < HD_VISIBLE_CAP) rt.visible[rt.status->visible_count++] = entry;
}

static void make_visible(struct hd_cell *c, uint64_t granule) {
  if (c->wpc & HD_CELL_VISIBLE) return;
  c->wpc |= HD_CELL_VISIBLE;
  c->w = c->r = 0;
  hd__log_visible(granule);
  if (rt.search.alike) hd__family_visible(granule);
}

static inline bool valid(uint64_t word) { return (uint32_t)(word >> 32) >= rt.seg_base; }

/* Whether it is an access of the running thread. */
static inline bool own(uint64_t word) { return valid(word) && (uint16_t)(word >> 16) == rt.cur->id; }

/* ---- lists ---- */

static bool inflated(const struct hd_cell *c) {
  return (c->wpc & HD_CELL_LIST) && (uint32_t)(c->rpc >> 32) == rt.seg_base;
}

bool hd__shadow_written(uint64_t addr, uint64_t *which) {
  const struct hd_cell *c = hd__cell(addr);
  *which = c->w;
  return !(c->wpc & HD_CELL_VISIBLE) && !inflated(c);
}

static struct list *list_of(struct hd_cell *c) {
  return (struct list *)(rt.arena.base + ((c->rpc & 0xffffffffu) << 4));
}

static void list_add(struct list *l, struct access a) {
  if (l->n == l->cap) {
    uint32_t cap = l->cap ? l->cap * 2 : 4;
    struct access *n = hd_arena_get(&rt.arena, cap * sizeof *n);
    HD_BUG_ON(!n);
    for (uint32_t i = 0; i < l->n; i++) n[i] = l->a[i];
    l->a = n;
    l->cap = cap;
  }
  l->a[l->n++] = a;
}

/* Whether more than one thread has accessed it. */
static bool is_shared(const struct list *l) {
  for (uint32_t i = 0; i < l->n; i++)
    if (l->a[i].thread != rt.cur->id) return true;
  return false;
}

static struct access from_word(uint64_t word, uint64_t pc, unsigned write) {
  uint32_t seg = (uint32_t)(word >> 32);
  return (struct access){seg, (uint16_t)hd__segment_thread(seg), (uint8_t)word,
                         (uint8_t)(write | (word & HD_CELL_ATOMIC ? HD_A_ATOMIC : 0) |
                                   (word & HD_CELL_VOLATILE ? HD_A_VOLATILE : 0)),
                         pc & HD_PC_MASK};
}

static struct list *inflate(struct hd_cell *c) {
  if (inflated(c)) return list_of(c);
  struct list *l = hd_arena_get(&rt.arena, sizeof *l);
  HD_BUG_ON(!l);
  *l = (struct list){0};
  if (valid(c->w)) list_add(l, from_word(c->w, c->wpc, HD_A_WRITE));
  if (valid(c->r)) list_add(l, from_word(c->r, c->rpc, 0));
  c->w = c->r = 0;
  c->wpc = (c->wpc & (HD_CELL_VISIBLE | HD_CELL_WATCHED)) | HD_CELL_LIST;
  c->rpc = (uint64_t)rt.seg_base << 32 | (uint64_t)((char *)l - rt.arena.base) >> 4;
  return l;
}

/* ---- races ---- */

static unsigned op_of(unsigned flags) {
  bool w = flags & HD_A_WRITE;
  if (flags & HD_A_FREE) return HD_OP_FREE;
  if (flags & HD_A_RMW) return flags & HD_A_CAS ? HD_OP_ACAS : HD_OP_ARMW;
  if (flags & HD_A_ATOMIC) return w ? HD_OP_ASTORE : HD_OP_ALOAD;
  if (flags & HD_A_VOLATILE) return w ? HD_OP_VWRITE : HD_OP_VREAD;
  return w ? HD_OP_WRITE : HD_OP_READ;
}

static HD_EXEC struct benign {
  uint64_t addr, size;
  struct benign *next;
} * benign; /* of this execution */
static HD_EXEC uint32_t benign_epoch;

void hd__benign(uint64_t addr, uint64_t size) {
  struct benign *b = hd_arena_get(&rt.arena, sizeof *b);
  HD_BUG_ON(!b);
  hd__uncaptured(HD_UNCAPTURED_LIBRARY);
  *b = (struct benign){addr, size, benign_epoch == rt.epoch ? benign : NULL};
  benign = b;
  benign_epoch = rt.epoch;
}

static bool is_benign(uint64_t addr, uint64_t size) {
  for (const struct benign *b = benign_epoch == rt.epoch ? benign : NULL; b; b = b->next)
    if (addr < b->addr + b->size && b->addr < addr + size) return true;
  return false;
}

/* `place` identifies the finding, together with pc. */
static void report_race(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc, const struct access *prev,
                        uint64_t place) {
  if (rt.cur->foreign || rt.thread[prev->thread].foreign) return; /* what orders them is not known */
  /* The C++ library's own variables (caches of its locales): the standard promises that there is no race. */
  if (hd__cxx_library(addr) || is_benign(addr, size)) return;
  struct hd_finding_rec *f = hd__finding(HD_KIND_DATA_RACE, pc, place);
  if (!f) return;
  struct hd_site *s = hd__finding_site(f, HD_ROLE_AT, rt.cur->id, op_of(flags));
  hd__site_stack(s, rt.cur, pc);
  s->object = addr;
  s->size = (uint32_t)size;
  s->flags |= flags & HD_A_ATOMIC ? HD_SITE_ATOMIC : 0;
  struct hd_site *q = hd__finding_site(f, HD_ROLE_PREVIOUS, prev->thread, op_of(prev->flags));
  hd__site_stored(q, prev->pc);
  q->object = (addr & ~7ull) + (unsigned)__builtin_ctz(prev->mask | 0x100u);
  q->size = (uint32_t)__builtin_popcount(prev->mask);
  q->flags |= prev->flags & HD_A_ATOMIC ? HD_SITE_ATOMIC : 0;
  hd__site_block(f, addr);
  hd__finding_done(f, false);
}

/* An allocation may write to its block: what is not ordered after it races with it. Accesses to what has been written
 * since need not be looked at: they race with that, or are ordered after it. */
static __attribute__((noinline, cold)) void look_at_allocation(uint64_t addr, uint64_t size, unsigned flags,
                                                               uint64_t pc) {
  uint64_t site;
  uint32_t seg = hd__heap_allocated(addr, &site);
  if (!seg || hd__segment_thread(seg) == rt.cur->id || hd__happened_before(seg) || (flags & HD_A_SILENT))
    return;
  struct access alloc = {seg, (uint16_t)hd__segment_thread(seg), 0xff, HD_A_WRITE, site};
  report_race(addr, size, flags, pc, &alloc, 0); /* where it was allocated is known only with hot.detail */
}

/* A recorded access that conflicts with the current one and is not ordered with it. If several do, one that races. */
struct conflict {
  bool any;
  bool race;
  struct access with;
};

static inline void add_conflict(struct conflict *k, const struct access *e, unsigned flags) {
  bool race = !((flags & HD_A_ATOMIC) && (e->flags & HD_A_ATOMIC)) && !((flags | e->flags) & HD_A_SILENT);
  if (!k->any || (race && !k->race)) *k = (struct conflict){true, race, *e};
}

static bool conflicts(uint32_t seg, unsigned emask, bool ewrite, unsigned mask, unsigned flags) {
  return (emask & mask) && (ewrite || (flags & HD_A_WRITE)) && hd__segment_thread(seg) != rt.cur->id &&
         !hd__happened_before(seg);
}

static void find_conflict(struct hd_cell *c, unsigned mask, unsigned flags, struct conflict *k) {
  if (inflated(c)) {
    struct list *l = list_of(c);
    for (uint32_t i = 0; i < l->n; i++) {
      struct access *e = &l->a[i];
      if ((e->mask & mask) && ((e->flags | flags) & HD_A_WRITE) && e->thread != rt.cur->id &&
          !hd__happened_before(e->seg))
        add_conflict(k, e, flags);
    }
    return;
  }
  if (valid(c->w) && conflicts((uint32_t)(c->w >> 32), c->w & 0xff, true, mask, flags)) {
    struct access e = from_word(c->w, c->wpc, HD_A_WRITE);
    add_conflict(k, &e, flags);
  }
  if (valid(c->r) && conflicts((uint32_t)(c->r >> 32), c->r & 0xff, false, mask, flags)) {
    struct access e = from_word(c->r, c->rpc, 0);
    add_conflict(k, &e, flags);
  }
}

/* ---- signal handlers ---- */

/* A granule that a handler of the thread accessed. */
struct hd_footprint {
  uint64_t granule;
  bool wrote;
  struct hd_footprint *next;
};

/* Whether the running thread itself has accessed the granule, at least one of the two accesses being a write. */
static bool accessed_before(struct hd_cell *c, unsigned flags) {
  if (inflated(c)) {
    struct list *l = list_of(c);
    for (uint32_t i = 0; i < l->n; i++)
      if (l->a[i].thread == rt.cur->id && ((l->a[i].flags | flags) & HD_A_WRITE)) return true;
    return false;
  }
  return (valid(c->w) && hd__segment_thread((uint32_t)(c->w >> 32)) == rt.cur->id) ||
         ((flags & HD_A_WRITE) && valid(c->r) && hd__segment_thread((uint32_t)(c->r >> 32)) == rt.cur->id);
}

/* The running thread has run handlers. What they and the code they interrupt both access becomes visible: the handler may
 * have run before or after any of these accesses. */
static __attribute__((noinline, cold)) void look_at_handlers(uint64_t addr, uint64_t end, unsigned flags) {
  struct hd_thread *t = rt.cur;
  if (t->sig.handling && !t->id) hd__checkpoint_handler();
  if (t->sig.handling && addr < t->sig.floor && addr > (uint64_t)__builtin_frame_address(0))
    return; /* the handler's own stack */
  for (uint64_t g = addr & ~7ull; g < end; g += 8) {
    struct hd_footprint *p = t->sig.touched;
    while (p && p->granule != g) p = p->next;
    bool clash =
        t->sig.handling ? accessed_before(hd__cell(g), flags) : p && (p->wrote || (flags & HD_A_WRITE));
    if (clash) {
      inflate(hd__cell(g));
      make_visible(hd__cell(g), g);
    }
    if (!t->sig.handling) continue;
    if (!p) {
      p = hd_arena_get(&rt.arena, sizeof *p);
      HD_BUG_ON(!p);
      *p = (struct hd_footprint){g, false, t->sig.touched};
      t->sig.touched = p;
    }
    p->wrote |= flags & HD_A_WRITE;
  }
}

/* ---- coverage ---- */

/* Notes the earlier accesses of other threads that this one conflicts with. pre: hot.cover. */
static __attribute__((noinline, cold)) void cover(struct hd_cell *c, unsigned mask, unsigned flags,
                                                  uint64_t addr, uint64_t pc) {
  unsigned op = op_of(flags);
  if (inflated(c)) {
    struct list *l = list_of(c);
    for (uint32_t i = 0; i < l->n; i++) {
      const struct access *e = &l->a[i];
      if ((e->mask & mask) && ((e->flags | flags) & HD_A_WRITE) && e->thread != rt.cur->id)
        hd__cover_access(e->seg, e->pc, op_of(e->flags), pc, op, addr);
    }
    return;
  }
  for (unsigned write = 0; write < 2; write++) {
    uint64_t word = write ? c->w : c->r;
    if (!valid(word) || !(word & mask) || !(write || (flags & HD_A_WRITE))) continue;
    struct access e = from_word(word, write ? c->wpc : c->rpc, write ? HD_A_WRITE : 0);
    if (e.thread != rt.cur->id) hd__cover_access(e.seg, e.pc, op_of(e.flags), pc, op, addr);
  }
}

/* ---- the state of the program ---- */

/* Granules with accesses that later ones may race with, while states are compared. A granule that all threads come after
 * is taken from the set, until it is accessed again. */
static struct {
  uint32_t epoch, n, cap;
  uint64_t *slot;   /* hash table of granules */
  uint64_t *member; /* the same as a list */
} tracked;

static void track_all(uint32_t from) {
  for (uint32_t i = 0; i < tracked.cap; i++) tracked.slot[i] = 0;
  for (uint32_t i = from; i < tracked.n; i++) {
    uint32_t k = (uint32_t)hd_mix64(tracked.member[i]) & (tracked.cap - 1);
    while (tracked.slot[k]) k = (k + 1) & (tracked.cap - 1);
    tracked.slot[k] = tracked.member[i];
  }
}

static __attribute__((noinline, cold)) void track(uint64_t granule) {
  if (tracked.epoch != rt.epoch) {
    tracked.epoch = rt.epoch;
    tracked.n = 0;
    track_all(0);
  }
  if (tracked.n * 2 >= tracked.cap) {
    uint32_t cap = tracked.cap ? tracked.cap * 2 : 1024;
    uint64_t *slot = hd__map(cap * sizeof *slot), *member = hd__map(cap * sizeof *member);
    HD_BUG_ON(!slot || !member);
    hd__copy(member, tracked.member, tracked.n * sizeof *member);
    if (tracked.cap) hd_sys3(SYS_munmap, tracked.slot, tracked.cap * sizeof *slot, 0);
    if (tracked.cap) hd_sys3(SYS_munmap, tracked.member, tracked.cap * sizeof *slot, 0);
    tracked.slot = slot;
    tracked.member = member;
    tracked.cap = cap;
    track_all(0);
  }
  uint32_t k = (uint32_t)hd_mix64(granule) & (tracked.cap - 1);
  while (tracked.slot[k] && tracked.slot[k] != granule) k = (k + 1) & (tracked.cap - 1);
  if (tracked.slot[k]) return;
  tracked.slot[k] = tracked.member[tracked.n++] = granule;
}

static void add_access(struct hd_fingerprint *f, uint64_t granule, const struct access *e, unsigned bytes) {
  unsigned mask = e->mask & bytes;
  if (mask)
    hd__fact_access(f, granule, hd__site_pc(e->pc) ^ (uint64_t)mask << 48 ^ (uint64_t)e->flags << 56, e->seg);
}

void hd__shadow_fingerprint(struct hd_fingerprint *f) {
  for (uint32_t i = 0; i < tracked.n && tracked.epoch == rt.epoch; i++) {
    uint64_t g = tracked.member[i];
    struct hd_cell *c = hd__cell(g);
    unsigned bytes = hd__fingerprint_contended(g);
    if (inflated(c)) {
      const struct list *l = list_of(c);
      for (uint32_t k = 0; k < l->n; k++) add_access(f, g, &l->a[k], bytes);
      continue;
    }
    for (unsigned write = 0; write < 2; write++) {
      uint64_t word = write ? c->w : c->r;
      if (!valid(word)) continue;
      struct access e = from_word(word, write ? c->wpc : c->rpc, write ? HD_A_WRITE : 0);
      add_access(f, g, &e, bytes);
    }
  }
}

/* ---- recording ---- */

/* Invariant 5. */
static bool covers(unsigned mask, unsigned flags, unsigned emask, unsigned eflags) {
  return !(emask & ~mask) && ((flags & HD_A_WRITE) || !(eflags & HD_A_WRITE)) &&
         (!(flags & HD_A_ATOMIC) || (eflags & HD_A_ATOMIC)) &&
         (!(flags & HD_A_SILENT) || (eflags & HD_A_SILENT));
}

/* `hooked`: the fast path never skips such accesses, so the latest one counts, as in a word. */
static void record_list(struct list *l, unsigned mask, unsigned flags, bool hooked, uint64_t site) {
  uint32_t seg = (uint32_t)(hot.tag >> 32), keep = 0;
  for (uint32_t i = 0; i < l->n; i++) {
    struct access *e = &l->a[i];
    if (e->seg == seg && !(mask & ~e->mask) && e->flags == flags) { /* known */
      if (hooked) e->pc = site;
      return;
    }
    if (!(covers(mask, flags, e->mask, e->flags) && (e->thread == rt.cur->id || hd__happened_before(e->seg))))
      l->a[keep++] = *e;
  }
  l->n = keep;
  list_add(l, (struct access){seg, rt.cur->id, (uint8_t)mask, (uint8_t)flags, site});
}

/* Whether the word's access may be replaced by (mask, flags) of the running thread. */
static bool replaceable(uint64_t word, unsigned eflags, unsigned mask, unsigned flags) {
  if (!valid(word)) return true;
  uint32_t seg = (uint32_t)(word >> 32);
  if (word & HD_CELL_ATOMIC) eflags |= HD_A_ATOMIC;
  return covers(mask, flags, word & 0xff, eflags) &&
         (hd__segment_thread(seg) == rt.cur->id || hd__happened_before(seg));
}

static void record(struct hd_cell *c, unsigned mask, unsigned flags, uint64_t site) {
  uint64_t atomic = flags & HD_A_ATOMIC ? HD_CELL_ATOMIC : 0;
  uint64_t word = hot.tag | atomic | (flags & HD_A_VOLATILE ? HD_CELL_VOLATILE : 0) | mask;
  bool hooked = flags & (HD_A_ATOMIC | HD_A_VOLATILE);
  flags &= HD_A_WRITE | HD_A_ATOMIC | HD_A_VOLATILE | HD_A_SILENT;
  bool silent = flags & HD_A_SILENT;
  if (!(c->wpc & (HD_CELL_VISIBLE | HD_CELL_WATCHED)) && !inflated(c) && !silent) {
    c->wpc &= ~HD_CELL_LIST; /* of an earlier execution */
    if (flags & HD_A_WRITE) {
      if ((c->w & ~0xffull) == (word & ~0xffull)) { /* same segment, more bytes */
        c->w |= mask;
        c->wpc = site;
        return;
      }
      if (replaceable(c->w, HD_A_WRITE, mask, flags)) {
        if (valid(c->r) && replaceable(c->r, 0, mask, flags)) c->r = 0;
        c->w = word;
        c->wpc = site;
        return;
      }
    } else {
      if ((c->r & ~0xffull) == (word & ~0xffull)) {
        c->r |= mask;
        c->rpc = site;
        return;
      }
      if (replaceable(c->r, 0, mask, flags)) {
        c->r = word;
        c->rpc = site;
        return;
      }
    }
  }
  record_list(inflate(c), mask, flags, hooked, site);
  if (!(c->wpc & (HD_CELL_VISIBLE | HD_CELL_WATCHED)) && !atomic && !silent) {
    if (flags & HD_A_WRITE)
      c->w = (c->w & ~0xffull) == hot.tag ? c->w | mask : word;
    else
      c->r = (c->r & ~0xffull) == hot.tag ? c->r | mask : word;
  }
}

static unsigned granule_mask(uint64_t addr, uint64_t end, uint64_t granule) {
  unsigned m = 0xff;
  if (addr > granule) m &= 0xffu << (addr - granule);
  if (end < granule + 8) m &= 0xffu >> (granule + 8 - end);
  return m & 0xff;
}

void hd__shadow_show(uint64_t addr, uint64_t size) {
  for (uint64_t g = addr & ~7ull; g < addr + size; g += 8) {
    inflate(hd__cell(g));
    make_visible(hd__cell(g), g);
  }
}

int hd__shadow_contended(uint64_t granule) { return hd__cell(granule)->wpc & HD_CELL_VISIBLE ? 1 : 0; }

bool hd__shadow_visible(uint64_t addr, uint64_t size) {
  for (uint64_t g = addr & ~7ull; g < addr + size; g += 8)
    if (hd__cell(g)->wpc & HD_CELL_VISIBLE) return true;
  return false;
}

bool hd__cas_wins(const struct hd_cas *cas) {
  const char *at = cas->at, *expected = cas->expected;
  if (cas->size == 4) return *(const uint32_t *)at == *(const uint32_t *)expected;
  if (cas->size == 8) return *(const uint64_t *)at == *(const uint64_t *)expected;
  for (unsigned i = 0; i < cas->size; i++)
    if (at[i] != expected[i]) return false;
  return true;
}

void hd__op_find(struct hd_op *op) {
  if (op->size > 8) return;
  op->access.found = 0;
  hd__copy(&op->access.found, (const void *)op->object, op->size);
  op->access.known = 1;
}

/* Whether the access, which is no scheduling point, is recorded as an event. The fast path must not match that
 * memory then. */
static bool watched(uint64_t addr, uint64_t size) {
  bool any = false, all = hot.log > 1 && hd__record_room(), some = size <= WATCH_MAX;
  for (uint64_t g = addr & ~7ull; g < addr + size; g += 8) {
    struct hd_cell *c = hd__cell(g);
    if (all && some) {
      inflate(c); /* which empties its words */
      c->wpc |= HD_CELL_WATCHED;
    }
    any |= all || (c->wpc & HD_CELL_VISIBLE) || (hot.log > 1 && inflated(c) && is_shared(list_of(c)));
  }
  return any;
}

/* A compare-and-swap writes only if it will succeed, which can change whenever others run. */
static unsigned outcome(unsigned flags, const struct hd_cas *cas) {
  if (!cas) return flags;
  return hd__cas_wins(cas) ? flags | HD_A_WRITE : flags & ~HD_A_WRITE;
}

static inline bool ordered(uint64_t word) {
  return !((word ^ hot.tag) & 0xffff0000u) || hd__happened_before((uint32_t)(word >> 32));
}

/* Whether accesses of the running thread need nothing but to be recorded, as far as that depends on the thread. */
static inline bool only_recorded(void) { return HD_LIKELY(!HD_DETAIL_OR_COVER && !rt.cur->special); }

/* Whether a plain access only replaces words of the cell: it is neither visible nor inflated, and the access comes after
 * everything recorded there. */
static inline bool replaces(const struct hd_cell *c, uint64_t mask, bool write) {
  if (HD_UNLIKELY((c->wpc & HD_CELL_VISIBLE) || inflated(c))) return false;
  bool w = valid(c->w), r = valid(c->r);
  if (w && !ordered(c->w)) return false;
  if (!write) return (c->r & ~0xffull) == hot.tag || !r || (ordered(c->r) && !(c->r & 0xff & ~mask));
  if (r && (!ordered(c->r) || (c->r & 0xff & ~mask))) return false;
  return (c->w & ~0xffull) == hot.tag || !w || !(c->w & 0xff & ~mask);
}

static inline void replace(struct hd_cell *c, uint64_t mask, bool write, uint64_t pc) {
  uint64_t *word = write ? &c->w : &c->r;
  *word = hot.tag | mask | ((*word & ~0xffull) == hot.tag ? *word & 0xff : 0);
  if (write) {
    c->r = 0;
    c->wpc = pc & HD_PC_MASK; /* a list of an earlier execution ends, too */
  } else {
    c->wpc &= ~HD_CELL_LIST;
    c->rpc = pc & HD_PC_MASK;
  }
}

static inline bool on_own_stack(uint64_t addr) {
  const struct hd_ident *own = rt.cur->ident;
  if (!own) return addr - rt.stacks.first < HD_FIRST_STACK;
  return addr >= (uint64_t)own->stack_lo && addr < (uint64_t)own->stack_hi;
}

/* The common case of the slow path: a plain access within one granule that only replaces words. Returns false for the
 * general case. The same as below, for one cell: every access that is the first since a release comes here. */
static inline __attribute__((always_inline)) bool one_word(uint64_t addr, uint64_t size, unsigned flags,
                                                           uint64_t pc, bool checked) {
  struct hd_cell *c = hd__cell(addr);
  uint64_t mask = ((1ull << size) - 1) << (addr & 7), word = hot.tag | mask;
  if (HD_UNLIKELY((c->wpc & HD_CELL_VISIBLE) || inflated(c)) || !only_recorded()) return false;
  c->wpc &= ~HD_CELL_LIST; /* of an earlier execution */
  bool again = own(c->r) || own(c->w);
  bool w = valid(c->w), r = valid(c->r);
  if (w ? !ordered(c->w) : rt.nunjoined && hd__heap_owns(addr) && hd__heap_foreign(addr)) return false;
  if (flags & HD_A_WRITE) {
    if (r && (!ordered(c->r) || (c->r & 0xff & ~mask))) return false;
    if ((c->w & ~0xffull) == hot.tag)
      word |= c->w & 0xff;
    else if (w && (c->w & 0xff & ~mask))
      return false;
    if (!checked) hd__block_check(addr, size, flags, pc);
    rt.cur->spin.writes += !on_own_stack(addr);
    c->r = 0;
    c->w = word;
    c->wpc = pc & HD_PC_MASK;
  } else {
    if ((c->r & ~0xffull) == hot.tag)
      word |= c->r & 0xff;
    else if (r && (!ordered(c->r) || (c->r & 0xff & ~mask)))
      return false;
    if (!checked) hd__block_check(addr, size, flags, pc);
    c->r = word;
    c->rpc = pc & HD_PC_MASK;
  }
  rt.status->heartbeat += !again;
  return true;
}

#define WORDS_MAX 4096 /* bytes */

/* The same for several granules: vectors, structures, blocks that are freed. */
static __attribute__((noinline)) bool some_words(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc) {
  uint64_t end = addr + size;
  bool write = flags & HD_A_WRITE, check = !(flags & HD_A_FREE);
  bool foreign = check && rt.nunjoined && hd__heap_owns(addr) && hd__heap_foreign(addr);
  if (!only_recorded() || hot.log || rt.cur->spin.mode != HD_SPIN_PLAIN) return false;
  for (uint64_t g = addr & ~7ull; g < end; g += 8) {
    const struct hd_cell *c = hd__cell(g);
    if (!replaces(c, granule_mask(addr, end, g), write) || (foreign && !valid(c->w))) return false;
  }
  if (check) hd__block_check(addr, size, flags, pc);
  if (write)
    hd__spin_wrote(addr);
  else
    hd__spin_read_plain(addr, (uint32_t)size);
  for (uint64_t g = addr & ~7ull; g < end; g += 8)
    replace(hd__cell(g), granule_mask(addr, end, g), write, pc);
  rt.status->heartbeat++;
  return true;
}

/* The running thread may be in the middle of joining a family (core/family.c). */
static __attribute__((noinline, cold)) void look_between(uint64_t addr, uint64_t end) {
  if (rt.cur->id + 1u != rt.between) return;
  for (uint64_t g = addr & ~7ull; g < end; g += 8) {
    struct hd_cell *c = hd__cell(g);
    bool others = !inflated(c) && valid(c->w) && hd__segment_thread((uint32_t)(c->w >> 32)) != rt.cur->id;
    struct list *l = inflated(c) ? list_of(c) : NULL;
    for (uint32_t i = 0; l && i < l->n; i++)
      others |= (l->a[i].flags & HD_A_WRITE) && l->a[i].thread != rt.cur->id;
    if (others) hd__family_reads();
  }
}

static __attribute__((noinline)) void access_general(uint64_t addr, uint64_t size, unsigned flags,
                                                     uint64_t pc) {
  hd__access_cas(addr, size, flags, pc, NULL);
  HD_SPIN_LEAVE();
}

static __attribute__((noinline)) void access_any(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc) {
  if (HD_UNLIKELY(rt.looks)) {
    if (rt.watched) hot.tag = rt.cur->tag;
    if (rt.between) look_between(addr, addr + size);
  }
  if (HD_UNLIKELY(rt.preload)) { /* atomic accesses are not seen, so everything would be a race */
    if (hd__heap_owns(addr) && !(flags & HD_A_FREE)) hd__heap_check(addr, size, flags, pc);
    return;
  }
  bool recorded = false;
  if (HD_UNLIKELY(rt.touches))
    recorded = false;
  else if ((addr & 7) + size <= 8)
    recorded = flags <= HD_A_WRITE && one_word(addr, size, flags, pc, false);
  else if (size <= WORDS_MAX)
    recorded = !(flags & ~(HD_A_WRITE | HD_A_FREE)) && some_words(addr, size, flags, pc);
  if (HD_LIKELY(recorded)) {
    if (HD_UNLIKELY(hd__on_other_stack(addr)) && rt.nunjoined) hd__lend(addr, flags & HD_A_WRITE, pc);
    return;
  }
  access_general(addr, size, flags, pc);
}

/* Every access that the fast path did not skip. The hook precedes the access itself, so other threads that run at a
 * scheduling point in here run before it.
 *
 * What most of them need calls nothing, so that it need not save registers. */
void hd__access_slow(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc) {
  bool checked = hd__heap_owns(addr) ? addr >= hd__live.lo && addr + size <= hd__live.hi : !hd__before_freed;
  if (HD_UNLIKELY(flags > HD_A_WRITE || (addr & 7) + size > 8 || !checked || rt.looks ||
                  hd__on_other_stack(addr)))
    access_any(addr, size, flags, pc);
  else if (!one_word(addr, size, flags, pc, true))
    access_general(addr, size, flags, pc);
}

/* Records the access in the cells of [addr, end), and in the coverage. */
static inline void record_all(uint64_t addr, uint64_t end, unsigned flags, uint64_t pc) {
  uint64_t site = pc & HD_PC_MASK;
  if (HD_DETAIL_OR_COVER) {
    if (hot.detail) site = hd__site_here(pc);
    for (uint64_t g = addr & ~7ull; g < end && hot.cover; g += 8)
      cover(hd__cell(g), granule_mask(addr, end, g), flags, addr, pc);
  }
  if (HD_UNLIKELY(rt.touches)) hd__touch(addr, end - addr, flags, pc);
  for (uint64_t g = addr & ~7ull; g < end; g += 8) {
    unsigned mask = granule_mask(addr, end, g);
    if (HD_UNLIKELY(rt.fingerprints) &&
        hd__fingerprint_access(g, mask, flags & HD_A_WRITE, flags & HD_A_ATOMIC))
      track(g);
    record(hd__cell(g), mask, flags, site);
  }
}

#define POPULATED (16u << 10) /* bytes: below, a call costs more than it saves */

static void populate(uint64_t lo, uint64_t hi) {
  lo &= ~(HD_PAGE - 1);
  hd_sys3(SYS_madvise, lo, (hi - lo + HD_PAGE - 1) & ~(HD_PAGE - 1), MADV_POPULATE_WRITE);
}

/* A process that was forked for one execution has no shadow of the large block: one call makes it, where there would be two
 * faults for each page, when it is read and when it is written. So it is with the block itself. */
static __attribute__((noinline)) void make_pages(uint64_t addr, uint64_t end, unsigned flags) {
  if (rt.status->restart != HD_RESTART_FORK) return;
  populate((uint64_t)hd__cell(addr), (uint64_t)hd__cell(end - 1));
  if ((flags & HD_A_WRITE) && !(flags & HD_A_FREE) && hd__heap_owns(addr)) populate(addr, end);
}

/* Whether it has accessed that memory already: that is no sign of life. */
static bool repeats(uint64_t addr, uint64_t size) {
  struct hd_cell *c = hd__cell(addr);
  unsigned mask = granule_mask(addr, addr + size, addr & ~7ull);
  if (!inflated(c)) return own(c->r) || own(c->w);
  const struct list *l = list_of(c);
  for (uint32_t i = 0; i < l->n; i++)
    if (l->a[i].thread == rt.cur->id && !(mask & ~l->a[i].mask)) return true;
  return false;
}

void hd__access_cas(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc, const struct hd_cas *cas) {
  uint64_t end = addr + size;
  bool check = !(flags & HD_A_FREE), point = false, raced = false;
  unsigned mode = rt.cur->spin.mode;
  rt.status->heartbeat += !repeats(addr, size);
  rt.cur->spin.mode = HD_SPIN_PLAIN;
  if (HD_UNLIKELY(rt.between)) look_between(addr, end);
  if (HD_UNLIKELY(rt.cur->ignore | rt.cur->silent)) flags |= HD_A_SILENT;
  if (HD_UNLIKELY(rt.cur->anywhere) && (flags & HD_A_WRITE)) hd__cancel_write(addr, size, pc);
  if (check) hd__block_check(addr, size, flags, pc);
  if (HD_UNLIKELY(size >= POPULATED)) make_pages(addr, end, flags);
  if (HD_UNLIKELY(rt.cur->handled)) look_at_handlers(addr, end, flags);
  if (HD_UNLIKELY(mode == HD_SPIN_SEEN)) {
    point = true;
  } else if (rt.nunjoined && hd__shadow_visible(addr, size)) {
    point = true;
    hd__take_signals();
    rt.cur->op = (struct hd_op){.kind = (uint8_t)op_of(flags),
                                .thread = rt.cur->id,
                                .size = (uint32_t)size,
                                .object = addr,
                                .pc = pc,
                                .access.order = (uint8_t)(flags >> 8)};
    if (cas && size <= 8) hd__copy(&rt.cur->op.access.expected, cas->expected, size);
    if (HD_UNLIKELY(mode)) hd__spin_hold();
    hd__step();
    if (HD_UNLIKELY(mode) && hd__spin_interrupted()) {
      mode = HD_SPIN_PLAIN;
      hd__step();
    }
    if (flags & HD_A_ATOMIC) hd__op_find(&rt.cur->op);
    bool fails = outcome(flags, cas) != flags;
    if (fails) rt.cur->op.access.order = cas->fail_order;
    hd__event(fails ? HD_EV_FAILED : 0);
    if (HD_UNLIKELY(mode)) hd__spin_let_go();
    if (check) /* another thread may have freed it */
      hd__block_check(addr, size, flags, pc);
  }
  unsigned asked = flags;
  flags = outcome(flags, cas);
  bool recorded = HD_UNLIKELY(hot.log) && !point && watched(addr, size);
  if (recorded)
    hd__record_access(op_of(asked), addr, size, HD_EV_PLAIN | (flags == asked ? 0 : HD_EV_FAILED),
                      flags == asked ? flags >> 8 : cas->fail_order, pc);
  if (!(flags & HD_A_WRITE))
    (flags & HD_A_ATOMIC ? hd__spin_read : hd__spin_read_plain)(addr, (uint32_t)size);
  else if (!(flags & HD_A_NETS))
    hd__spin_wrote(addr);
  for (uint64_t g = addr & ~7ull; g < end && rt.nthreads > 1; g += 8) {
    struct hd_cell *c = hd__cell(g);
    struct conflict k = {0};
    find_conflict(c, granule_mask(addr, end, g), flags, &k);
    if (!k.any) continue;
    bool fresh = !(c->wpc & HD_CELL_VISIBLE);
    inflate(c);
    make_visible(c, g);
    raced |= k.race;
    if (k.race) report_race(addr, size, flags, pc, &k.with, hd__site_pc(k.with.pc));
    if (fresh && !point && rt.nunjoined) { /* newly contended: this access is a scheduling point already */
      point = true;
      if (recorded) hd__record_undo();
      hd__point_open(op_of(flags), addr, (uint32_t)size, pc);
      rt.cur->op.access.order = cas && !hd__cas_wins(cas) ? cas->fail_order : (uint8_t)(flags >> 8);
      hd__event(0);
      if (check) hd__block_check(addr, size, flags, pc);
      flags = outcome(flags, cas);
      g = (addr & ~7ull) - 8; /* others have run: start over */
    }
  }
  if (HD_UNLIKELY(hd__on_other_stack(addr)) && rt.nunjoined) hd__lend(addr, flags & HD_A_WRITE, pc);
  if (rt.nunjoined && check && !raced && hd__heap_owns(addr) && hd__heap_foreign(addr))
    look_at_allocation(addr, size, flags, pc);
  record_all(addr, end, flags, pc);
  if (HD_UNLIKELY(hot.log)) hd__record_done();
}

static void forget(uint64_t addr, uint64_t size) {
  for (uint64_t g = addr & ~7ull; g < addr + size; g += 8) {
    struct hd_cell *c = hd__cell(g);
    c->w = c->r = 0;
    c->wpc &= ~HD_CELL_LIST;
  }
}

/* Only the parts of a large block whose shadow exists can have been accessed: the kernel knows which. Calls f for
 * each of them, in pieces. */
#define LARGE_PIECE (64ull << 20)
typedef uint64_t __attribute__((may_alias)) hd_eight_bytes;
void hd__shadow_each_touched(uint64_t addr, uint64_t size, uint64_t arg,
                             void (*f)(uint64_t addr, uint64_t size, uint64_t arg)) {
  static _Alignas(8) unsigned char resident[(LARGE_PIECE << 2) / HD_PAGE];
  const uint64_t unit = HD_PAGE >> 2; /* bytes of the program that one page of shadow describes */
  uint64_t end = addr + size;
  for (uint64_t lo = addr & ~(unit - 1), n; lo < end; lo += n) {
    n = end - lo < LARGE_PIECE ? (end - lo + unit - 1) & ~(unit - 1) : LARGE_PIECE;
    if (hd_sys3(SYS_mincore, hd__cell(lo), n << 2, resident) < 0) return;
    for (uint64_t i = 0; i < n / unit; i++) {
      if (i % 8 == 0 && n / unit - i >= 8 && !*(const hd_eight_bytes *)&resident[i]) i += 7;
      if (!(resident[i] & 1)) continue;
      uint64_t a = lo + i * unit, b = a + unit;
      a = a < addr ? addr : a;
      b = b > end ? end : b;
      f(a, b - a, arg);
    }
  }
}

static void forget_piece(uint64_t addr, uint64_t size, uint64_t pc) {
  (void)pc;
  forget(addr, size);
}

void hd__shadow_forget_large(uint64_t addr, uint64_t size) {
  hd__shadow_each_touched(addr, size, 0, forget_piece);
}

static void free_piece(uint64_t addr, uint64_t size, uint64_t pc) {
  hd__access_slow(addr, size, HD_A_WRITE | HD_A_FREE, pc);
}

void hd__shadow_free(uint64_t addr, uint64_t size, uint64_t pc) {
  if (size <= LARGE_PIECE >> 8)
    free_piece(addr, size, pc);
  else
    hd__shadow_each_touched(addr, size, pc, free_piece);
}

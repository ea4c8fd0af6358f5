/* leaks.c: heap blocks that nothing points to when the program ends. Runs in the tested process.
 *
 * Conservative marking: any aligned word in writable memory, on a live stack or in a reachable block that
 * points into a block keeps it. So what is reported is lost for certain. */
#include "runtime/core/core.h"
#include "runtime/core/drive.h"
#include "runtime/core/finding.h"
#include "runtime/memory/memory.h"

static uint64_t *todo; /* blocks found reachable, not yet scanned */
static size_t ntodo;
static uint64_t *seen; /* open hash set of block addresses */
static size_t seen_mask;
static size_t nblocks;

static bool add_seen(uint64_t base) {
  size_t i = hd_mix64(base) & seen_mask;
  while (seen[i] && seen[i] != base) i = (i + 1) & seen_mask;
  if (seen[i]) return false;
  seen[i] = base;
  return true;
}

static bool is_seen(uint64_t base) {
  size_t i = hd_mix64(base) & seen_mask;
  while (seen[i] && seen[i] != base) i = (i + 1) & seen_mask;
  return seen[i] != 0;
}

static void scan(char *lo, char *hi) {
  for (uint64_t *p = (uint64_t *)(((uint64_t)lo + 7) & ~7ull); p + 1 <= (uint64_t *)hi; p++) {
    struct hd_block b;
    if (hd__heap_owns(*p) && hd__heap_block(*p, &b) && b.live && add_seen(b.base)) {
      todo[ntodo++] = b.base;
      todo[ntodo++] = b.size;
    }
  }
}

static void count(const struct hd_block *b) {
  (void)b;
  nblocks++;
}

static struct { uint64_t site, bytes, blocks, base; } group[64];
static unsigned ngroups;

static void check(const struct hd_block *b) {
  if (!b->live || is_seen(b->base)) return;
  unsigned i = 0;
  uint64_t pc = hot.detail ? hd__site_pc(b->alloc_site) : 0;
  while (i < ngroups && (hot.detail ? hd__site_pc(group[i].site) : 0) != pc) i++;
  if (i == ngroups) {
    if (ngroups == 64) return;
    group[ngroups++].site = b->alloc_site;
    group[i].bytes = group[i].blocks = 0;
    group[i].base = b->base;
  }
  group[i].bytes += b->size;
  group[i].blocks++;
}

void hd__report_leaks(void) {
  nblocks = 0;
  hd__heap_each_block(count);
  seen_mask = 1024;
  while (seen_mask < (nblocks + hd__heap_marked_blocks()) * 4) seen_mask *= 2;
  seen = hd_arena_get(&rt.arena, seen_mask * sizeof *seen);
  todo = hd_arena_get(&rt.arena, seen_mask * sizeof *todo);
  if (!seen || !todo) return;
  hd__zero(seen, seen_mask * sizeof *seen);
  seen_mask--;
  ntodo = ngroups = 0;
  hd__snapshot_each_range(scan);
  for (unsigned i = 0; i < rt.nthreads; i++) {
    const struct hd_thread *t = &rt.thread[i];
    if (!t->ident || t->state == HD_T_DONE) continue;
    scan(t == rt.cur ? __builtin_frame_address(0) : t->ctx.sp, t->ident->stack_hi);
  }
  if (rt.thread[0].state != HD_T_DONE)
    hd__scan_first_stack(rt.cur->id == 0 ? __builtin_frame_address(0) : rt.thread[0].ctx.sp, scan);
  while (ntodo) {
    uint64_t size = todo[--ntodo], base = todo[--ntodo];
    scan((char *)base, (char *)base + size);
  }
  hd__heap_each_block(check);
  for (unsigned i = 0; i < ngroups; i++) {
    uint64_t pc = hd__site_pc(group[i].site);
    struct hd_finding_rec *f = hd__finding(HD_KIND_LEAK, hot.detail ? pc : 1, 0);
    if (!f) continue;
    f->leaked_bytes = group[i].bytes;
    f->leaked_blocks = group[i].blocks;
    struct hd_site *s = hd__finding_site(f, HD_ROLE_ALLOC, 0, HD_OP_NONE);
    hd__site_stored(s, group[i].site);
    s->object = group[i].base;
    s->size = (uint32_t)group[i].bytes;
    hd__finding_done(f, false);
  }
}

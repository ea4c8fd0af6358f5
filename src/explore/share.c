/* share.c: several workers, one search. Runs in the tested process.
 *
 * A worker can be killed at any instruction. So nobody waits for a lock whose holder is dead (the supervisor releases
 * it and marks the worker in `died`), and writes that only make sense together are first listed, then committed with
 * one store, then made; the next one to take the lock finishes what a dead worker had committed. The order of stores
 * is that of the program (x86), so only the compiler must be kept from changing it.
 *
 * Nothing here or in walk_share.c depends on the runtime: a search is a value (struct hd_search), and `relax` is the
 * only thing it calls. */
#include "explore/explore_int.h"

/* tests/self/share.c has others: there a worker may be killed at each point, and only waits by yielding. */
#ifndef HD_SHARE_POINT
#define HD_SHARE_POINT() ((void)0)
#define HD_SHARE_SPINS 200
#endif
#define BARRIER() (__atomic_signal_fence(__ATOMIC_SEQ_CST), HD_SHARE_POINT())

void hd__redo_put(struct hd_search *s, void *at, uint64_t value, unsigned size) {
  struct hd_redo *r = &s->shared->redo[s->worker];
  if (s->nredo == HD_REDO_CAP) hd_give_up("too many writes in one step of the search: a defect of Heddle");
  r->write[s->nredo].at = (uint64_t)at;
  r->write[s->nredo].value = value;
  r->write[s->nredo].size = size;
  s->nredo++;
}

void *hd__own(struct hd_search *s, size_t size) {
  uint64_t *used = (uint64_t *)s->scratch; /* bytes given away; the parts of `auto` have one scratch memory */
  if (s->own) return s->own;
  if (!*used) *used = 0xb6c0; /* not where other areas begin: see walk.c, lay_out_unit */
  size = (size + 63) & ~(size_t)63;
  if (*used + size > HD_SCRATCH_OWN) hd_give_up("too many strategies in one search: a defect of Heddle");
  s->own = s->scratch + *used;
  *used += size;
  return s->own;
}

typedef uint64_t __attribute__((may_alias)) word;
typedef uint32_t __attribute__((may_alias)) half;

void hd__redo_copy(struct hd_search *s, void *to, const void *from, size_t n) {
  word *t = to;
  const word *f = from;
  for (size_t i = 0; i < n / 8; i++)
    if (t[i] != f[i]) hd__redo_put(s, t + i, f[i], 8);
}

/* Every worker has its own memory at that address: counters. */
static int is_private(uint64_t at) { return at - HD_SHM_BASE < HD_SHM_SIZE; }

/* `own`: this process is of the worker whose writes they are. The supervisor has made the private ones of a dead worker. */
static void make(struct hd_redo *r, int own) {
  for (uint32_t i = 0; i < r->n; i++) {
    if (!own && is_private(r->write[i].at)) continue;
    if (r->write[i].size == 8)
      __atomic_store_n((word *)r->write[i].at, r->write[i].value, __ATOMIC_RELAXED);
    else
      __atomic_store_n((half *)r->write[i].at, (uint32_t)r->write[i].value, __ATOMIC_RELAXED);
  }
  BARRIER();
  r->n = 0;
  BARRIER();
}

void hd__redo_commit(struct hd_search *s) {
  struct hd_redo *r = &s->shared->redo[s->worker];
  BARRIER();
  r->n = s->nredo;
  BARRIER();
  s->nredo = 0;
  make(r, 1);
}

void hd__redo_tally(struct hd_search *s) {
  for (unsigned i = 0; i < s->ntally; i++) hd__redo_put(s, s->tally[i].at, s->tally[i].value, 8);
}

void hd_search_tally(struct hd_search *s) {
  hd__redo_tally(s);
  hd__redo_commit(s);
}

void hd_search_recover(struct hd_search *s) {
  s->nredo = 0;
  if (s->shared->redo[s->worker].n) make(&s->shared->redo[s->worker], 1);
}

void hd_search_recover_all(struct hd_search *s) {
  for (unsigned i = 0; i < HD_MAX_WORKERS; i++)
    if (s->shared->redo[i].n) make(&s->shared->redo[i], 0);
}

static int grab(struct hd_search *s) {
  struct hd_shared *sh = s->shared;
  uint32_t free = 0;
  if (__atomic_compare_exchange_n(&sh->lock, &free, s->worker + 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return 1;
  if (free > HD_MAX_WORKERS) __builtin_trap(); /* the program overwrote it */
  return 0;
}

static void finish_dead(struct hd_shared *sh) {
  for (unsigned i = 0; i < HD_CREW_WORDS; i++)
    for (uint64_t died; (died = __atomic_load_n(&sh->died.w[i], __ATOMIC_ACQUIRE));) {
      unsigned dead = i * 64 + (unsigned)__builtin_ctzll(died);
      if (sh->redo[dead].n) make(&sh->redo[dead], 0);
      hd_crew_del(&sh->died, dead);
    }
}

void hd_search_lock(struct hd_search *s) {
  for (unsigned tries = 0; !grab(s); tries++) {
    if (tries < HD_SHARE_SPINS)
      __builtin_ia32_pause();
    else if (s->relax)
      s->relax();
  }
  finish_dead(s->shared);
}

int hd_search_trylock(struct hd_search *s) {
  if (!grab(s)) return 0;
  finish_dead(s->shared);
  return 1;
}

void hd_search_unlock(struct hd_search *s) { __atomic_store_n(&s->shared->lock, 0, __ATOMIC_RELEASE); }

void hd__execution_lost(struct hd_search *s, uint64_t execution) {
  if (execution != s->diverged_at) hd_inexact_note(s->status->inexact, HD_INEXACT_PROCESS_DIED, 0);
}

unsigned hd__slot(const struct hd_search *s) {
  uint32_t other = s->shared->slot_of[s->worker];
  return other ? other - 1 : s->worker;
}

int hd__slot_adopt(struct hd_search *s, unsigned nslots, int (*active)(struct hd_search *s, unsigned slot)) {
  for (unsigned slot = s->workers; slot < nslots; slot++) {
    int taken = !active(s, slot);
    for (unsigned w = 0; w < s->workers; w++) taken |= s->shared->slot_of[w] == slot + 1;
    if (taken) continue;
    HD_REDO(s, s->shared->slot_of[s->worker], slot + 1);
    hd__redo_commit(s);
    return 1;
  }
  return 0;
}

void hd__slots_restart(struct hd_search *s) {
  for (unsigned w = 0; w < HD_MAX_WORKERS; w++) s->shared->slot_of[w] = 0;
}

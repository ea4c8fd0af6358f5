/* share.c: several workers, one search. Runs in the tested process.
 *
 * A worker can be killed at any instruction. So: nobody waits for a lock whose holder is dead (the supervisor
 * takes it away and sets a bit in `died`), and writes that only make sense together are first listed, then
 * committed with one store, then made; whoever comes next finishes what a dead worker had committed. The order
 * of stores is that of the program (x86), so only the compiler must be kept from changing it. */
#include "explore/explore_int.h"

#define BARRIER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

void (*hd_relax)(void);

void hd__redo_put(struct hd_search *s, void *at, uint64_t value, unsigned size) {
  struct hd_redo *r = &s->shared->redo[s->worker];
  if (s->nredo == HD_REDO_CAP) hd_give_up("too many writes in one step of the search: a defect of Heddle");
  r->write[s->nredo].at = (uint64_t)at;
  r->write[s->nredo].value = value;
  r->write[s->nredo].size = size;
  s->nredo++;
}

static void make(struct hd_redo *r) {
  for (uint32_t i = 0; i < r->n; i++) {
    if (r->write[i].size == 8)
      *(uint64_t *)r->write[i].at = r->write[i].value;
    else
      *(uint32_t *)r->write[i].at = (uint32_t)r->write[i].value;
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
  make(r);
}

void hd__redo_tally(struct hd_search *s) {
  for (unsigned i = 0; i < s->ntally; i++) hd__redo_put(s, s->tally[i].at, s->tally[i].value, 8);
}

void hd_search_recover(struct hd_search *s) {
  s->nredo = 0;
  if (s->shared->redo[s->worker].n) make(&s->shared->redo[s->worker]);
}

void hd_search_lock(struct hd_search *s) {
  struct hd_shared *sh = s->shared;
  for (unsigned tries = 0;; tries++) {
    uint32_t free = 0;
    if (__atomic_compare_exchange_n(&sh->lock, &free, s->worker + 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      break;
    if (tries < 200)
      __builtin_ia32_pause();
    else if (hd_relax)
      hd_relax();
  }
  while (sh->died) {
    unsigned dead = (unsigned)__builtin_ctzll(sh->died);
    if (sh->redo[dead].n) make(&sh->redo[dead]);
    __atomic_and_fetch(&sh->died, ~(1ull << dead), __ATOMIC_RELAXED);
  }
}

void hd_search_unlock(struct hd_search *s) { __atomic_store_n(&s->shared->lock, 0, __ATOMIC_RELEASE); }

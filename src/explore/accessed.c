/* accessed.c: which memory several threads have accessed, in any execution of a search that compares states
 * (runtime/core/fingerprint.c, invariant 4). In the memory of the search, where all workers add to it; the machines of a
 * cluster tell each other. Runs in the tested process, and in the supervisor of a machine of a cluster.
 *
 * Invariants
 *  1. An entry only ever grows: more threads, fewer locks. So entries of two machines are merged in any order.
 *  2. `changed` is written after the change that it counts: who has seen a count knows every change up to it.
 *  3. What a machine has learned is at the owner of a unit before the unit is concluded there (walk_move.c); so the first
 *     machine knows what all have learned before the search is over. */
#include "explore/walk.h"

#define PROBES 64

_Static_assert((HD_ACCESSED & (HD_ACCESSED - 1)) == 0, "a place is found by its lowest bits");

void hd_accessed_init(struct hd_search *s) {
  s->memory_size -= HD_ACCESSED * (sizeof *s->accessed + sizeof(uint32_t));
  s->accessed = (struct hd_accessed *)(s->memory + s->memory_size);
}

/* The places of the entries, in the order in which they were added. */
static uint32_t *places(const struct hd_search *s) { return (uint32_t *)(s->accessed + HD_ACCESSED); }

static void list(struct hd_search *s, uint32_t place) {
  uint64_t n = __atomic_fetch_add(&s->shared->naccessed, 1, __ATOMIC_SEQ_CST);
  if (n < HD_ACCESSED) __atomic_store_n(&places(s)[n], place + 1, __ATOMIC_SEQ_CST);
}

struct hd_accessed *hd_accessed_find(struct hd_search *s, uint64_t half, int add) {
  for (unsigned i = 0; i < PROBES; i++) {
    uint32_t place = (uint32_t)(hd_mix64(half) + i) & (HD_ACCESSED - 1);
    struct hd_accessed *a = &s->accessed[place];
    uint64_t empty = 0;
    if (a->half == half) return a;
    if (a->half) continue;
    if (!add) return NULL;
    list(s, place); /* before it is there, since this process may be killed; twice is no harm */
    if (__atomic_compare_exchange_n(&a->half, &empty, half, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||
        empty == half)
      return a;
  }
  return NULL;
}

static int is_guarded(const struct hd_accessed *a) {
  uint64_t any = 0;
  for (unsigned i = 0; i < HD_ACCESSED_LOCKS; i++) any |= __atomic_load_n(&a->lock[i], __ATOMIC_SEQ_CST);
  return any && __atomic_load_n(&a->listed, __ATOMIC_SEQ_CST) == HD_LOCKS_LISTED;
}

int hd_accessed_contended(const struct hd_accessed *a) {
  uint32_t all = a->writers | a->readers;
  int several = (all & (all - 1)) || all >> 31; /* the last bit stands for many threads */
  return a->writers && a->plain && several && !is_guarded(a);
}

void hd_accessed_changed(struct hd_search *s, struct hd_accessed *a) {
  __atomic_store_n(&a->changed, __atomic_add_fetch(&s->shared->accesses, 1, __ATOMIC_SEQ_CST),
                   __ATOMIC_SEQ_CST);
}

void hd_accessed_restart(struct hd_search *s, struct hd_accessed *a) {
  /* If others learn the same meanwhile, or this process is killed here, the search restarts once more. */
  __atomic_add_fetch(&s->shared->contended, 1, __ATOMIC_SEQ_CST);
  __atomic_store_n(&a->known, 1, __ATOMIC_SEQ_CST);
}

/* ---- between machines ---- */

static void put_entry(struct hd_writer *out, const struct hd_accessed *a) {
  hd_put_number(out, 1);
  hd_put_address(out, a->half);
  hd_put_number(out, a->writers);
  hd_put_number(out, a->readers);
  hd_put_number(out, (uint64_t)(a->plain | a->known << 1));
  hd_put_number(out, a->listed);
  for (unsigned i = 0; i < HD_ACCESSED_LOCKS; i++) hd_put_address(out, a->lock[i]);
}

uint64_t hd_accessed_put(struct hd_search *s, uint64_t since, struct hd_writer *out) {
  uint64_t until = __atomic_load_n(&s->shared->accesses, __ATOMIC_SEQ_CST);
  uint64_t n = until != since ? __atomic_load_n(&s->shared->naccessed, __ATOMIC_SEQ_CST) : 0;
  for (uint64_t i = 0; i < n && i < HD_ACCESSED; i++) {
    uint32_t place = __atomic_load_n(&places(s)[i], __ATOMIC_SEQ_CST);
    if (place && s->accessed[place - 1].changed > since) put_entry(out, &s->accessed[place - 1]);
  }
  hd_put_number(out, 0);
  return until;
}

/* The locks that are held at all accesses of both. Returns whether ours are fewer now. */
static int merge_locks(struct hd_accessed *a, const struct hd_accessed *b) {
  uint32_t none = HD_LOCKS_UNKNOWN;
  if (b->listed == HD_LOCKS_UNKNOWN || a->listed == HD_LOCKS_NONE) return 0;
  if (b->listed == HD_LOCKS_LISTED && __atomic_compare_exchange_n(&a->listed, &none, HD_LOCKS_LISTING, 0,
                                                                  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    uint32_t begun = HD_LOCKS_LISTING;
    for (unsigned i = 0; i < HD_ACCESSED_LOCKS; i++) a->lock[i] = b->lock[i];
    __atomic_compare_exchange_n(&a->listed, &begun, HD_LOCKS_LISTED, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return 1;
  }
  if (b->listed != HD_LOCKS_LISTED || a->listed != HD_LOCKS_LISTED) {
    __atomic_store_n(&a->listed, HD_LOCKS_NONE, __ATOMIC_SEQ_CST);
    return 1;
  }
  int fewer = 0;
  for (unsigned i = 0; i < HD_ACCESSED_LOCKS; i++) {
    int common = 0;
    for (unsigned k = 0; k < HD_ACCESSED_LOCKS; k++) common |= a->lock[i] == b->lock[k];
    if (common || !a->lock[i]) continue;
    __atomic_store_n(&a->lock[i], 0, __ATOMIC_SEQ_CST);
    fewer = 1;
  }
  return fewer;
}

static int add_threads(uint32_t *to, uint32_t more) {
  return (__atomic_fetch_or(to, more, __ATOMIC_SEQ_CST) & more) != more;
}

static void merge(struct hd_search *s, const struct hd_accessed *b) {
  struct hd_accessed *a = hd_accessed_find(s, b->half, 1);
  if (!a) return; /* where there is no room, memory counts as contended */
  int changed = merge_locks(a, b);
  if (b->plain && !a->plain) {
    __atomic_store_n(&a->plain, 1, __ATOMIC_SEQ_CST);
    changed = 1;
  }
  changed |= add_threads(&a->writers, b->writers);
  changed |= add_threads(&a->readers, b->readers);
  if (!a->known && (b->known || hd_accessed_contended(a))) {
    hd_accessed_restart(s, a);
    changed = 1;
  }
  if (changed) hd_accessed_changed(s, a);
}

void hd_accessed_get(struct hd_search *s, struct hd_reader *r) {
  while (hd_get_number(r, 1) && !r->bad) {
    struct hd_accessed b = {.half = hd_get_address(r)};
    b.writers = (uint32_t)hd_get_number(r, UINT32_MAX);
    b.readers = (uint32_t)hd_get_number(r, UINT32_MAX);
    unsigned bits = (unsigned)hd_get_number(r, 3);
    b.plain = bits & 1;
    b.known = bits >> 1 & 1;
    b.listed = (uint32_t)hd_get_number(r, HD_LOCKS_NONE);
    for (unsigned i = 0; i < HD_ACCESSED_LOCKS; i++) b.lock[i] = hd_get_address(r);
    if (!r->bad) merge(s, &b);
  }
}

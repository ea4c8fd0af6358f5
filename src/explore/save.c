/* save.c: a search as bytes, so that another process can continue it, with another address layout, on another machine.
 * Writing runs in the supervisor, reading in the tested process: only there the new layout is known.
 *
 * A search is: what was learned to be visible, the numbers of threads, the classes and final states that were counted,
 * and what the strategy keeps (units and junctions of a systematic one: walk_save.c). Counters are the supervisor's. */
#include "explore/explore_int.h"
#include "model/unit.h"

#define MAGIC 0x33534448u /* "HDS3" */
#define SPIN (1ull << 62) /* of an entry of the log of visible operations: the rest is a program counter */

static void put_visible(struct hd_writer *w, const uint64_t *visible, uint64_t n) {
  hd_put_number(w, n);
  for (uint64_t i = 0; i < n; i++) {
    hd_put_number(w, (visible[i] & SPIN) != 0);
    hd_put_address(w, visible[i] & ~SPIN);
  }
}

static void put_numbers(struct hd_writer *w, const struct hd_numbers *n) {
  unsigned known = 1;
  while (known < HD_NUMBERED && n->place[known]) known++;
  hd_put_number(w, known);
  for (unsigned i = 1; i < known; i++) hd_put_number(w, n->place[i]);
}

static void get_numbers(struct hd_reader *r, struct hd_numbers *n) {
  unsigned known = (unsigned)hd_get_number(r, HD_NUMBERED);
  for (unsigned i = 1; i < known && !r->bad; i++) {
    n->place[i] = (uint16_t)hd_get_number(r, UINT16_MAX);
    if (!hd_place_valid(n->place[i], i)) r->bad = 1;
  }
}

static uint64_t get_visible(struct hd_reader *r, uint64_t *visible, uint64_t cap) {
  uint64_t n = hd_get_number(r, cap);
  for (uint64_t i = 0; i < n && !r->bad; i++) {
    uint64_t spin = hd_get_number(r, 1) ? SPIN : 0;
    visible[i] = hd_get_address(r) | spin;
  }
  return r->bad ? 0 : n;
}

void hd_search_put_knowledge(const struct hd_search *s, const uint64_t *visible, uint64_t n,
                             struct hd_writer *w) {
  put_visible(w, visible, n);
  put_numbers(w, &s->shared->numbers);
}

int hd_search_add_visible(struct hd_shared *sh, uint64_t *visible, uint64_t entry) {
  uint64_t n = sh->visible_count;
  for (uint64_t i = n; i-- > 0;)
    if (visible[i] == entry) return 0;
  if (n == HD_VISIBLE_CAP) return 0;
  visible[n] = entry;
  __atomic_store_n(&sh->visible_count, n + 1, __ATOMIC_RELEASE);
  return 1;
}

/* Adds the places that ours do not have. Returns 0 when one has another number. */
static int add_numbers(struct hd_numbers *ours, const struct hd_numbers *theirs) {
  unsigned number[HD_NUMBERED] = {0}; /* in ours */
  int same = 1;
  for (unsigned i = 1; i < HD_NUMBERED && theirs->place[i]; i++) {
    unsigned parent = number[hd_place_parent(theirs->place[i])];
    number[i] = hd_numbers_get(ours, hd_place(parent, hd_place_nth(theirs->place[i])));
    same &= number[i] == i;
  }
  return same;
}

int64_t hd_search_get_knowledge(struct hd_search *s, uint64_t *visible, int numbers, struct hd_reader *r) {
  struct hd_shared *sh = s->shared;
  struct hd_numbers theirs = {{0}};
  int64_t fresh = 0;
  uint64_t n = hd_get_number(r, HD_VISIBLE_CAP);
  for (uint64_t i = 0; i < n && !r->bad; i++) {
    uint64_t spin = hd_get_number(r, 1) ? SPIN : 0, entry = hd_get_address(r) | spin;
    if (!r->bad) fresh += hd_search_add_visible(sh, visible, entry);
  }
  get_numbers(r, &theirs);
  if (r->bad) return 0;
  if (numbers) sh->numbers = theirs;
  return numbers || add_numbers(&sh->numbers, &theirs) ? 1 + fresh : -1;
}

int hd_search_stale(const struct hd_search *s) {
  return s->accessed && s->shared->contended != s->shared->contended_seen;
}

void hd_search_restart(struct hd_search *s, const struct hd_strategy *strategy) {
  struct hd_shared *sh = s->shared;
  sh->contended_seen = sh->contended;
  strategy->forget(s);
  hd_classes_restart(s);
  hd_bound_restart(s);
  sh->over = 0;
  sh->at_least = 0;
  sh->estimate = (struct hd_estimate){0};
  __atomic_store_n(&sh->epoch, sh->epoch + 1, __ATOMIC_RELEASE);
}

int hd_search_save(struct hd_search *s, const struct hd_strategy *strategy, const uint64_t *visible,
                   uint64_t nvisible, struct hd_writer *w) {
  hd_put_block(w, MAGIC);
  put_visible(w, visible, nvisible);
  put_numbers(w, &s->shared->numbers);
  hd__classes_save(s, w);
  hd_put_number(w, strategy->save != NULL);
  if (strategy->save) strategy->save(s, w);
  hd_put_block_end(w);
  return !w->bad;
}

int hd_search_load(struct hd_search *s, const struct hd_strategy *strategy, uint64_t *visible,
                   uint64_t *nvisible, uint64_t cap, struct hd_reader *r) {
  if (!hd_get_block(r, MAGIC)) return 0;
  *nvisible = get_visible(r, visible, cap);
  get_numbers(r, &s->shared->numbers);
  hd__classes_load(s, r);
  if (hd_get_number(r, 1)) {
    if (strategy->load)
      strategy->load(s, r);
    else
      r->bad = 1;
  }
  return hd_get_block_end(r);
}

/* visited.c: states that a bounded search has explored whole, with what was learned below them. Runs in the tested
 * process; lives in the search area, so that it survives it.
 *
 * Open addressing. A table that is half full is copied into one of twice the size, which lies behind it: the table of
 * c slots begins c slots after the beginning of the area, so no two overlap. Clearing is one increment of the epoch.
 * When there is no room for a larger one, nothing is added any more; the search goes on and finds what is there. */
#include "explore/explore_int.h"

#define FIRST 1024 /* slots of the smallest table */

void hd__visited_init(struct hd_visited *v, char *memory, uint64_t size) {
  uint32_t epoch = v->epoch;
  uint64_t max = FIRST;
  while (max * 4 * sizeof(struct hd_visit) <= size / 2) max *= 2;
  *v = (struct hd_visited){.epoch = epoch,
                           .max = max,
                           .slot = (struct hd_visit *)memory,
                           .log = (uint64_t *)(memory + size / 2),
                           .log_max = size / 2 / sizeof(uint64_t)};
  if (v->log_max > HD_NONE) v->log_max = HD_NONE;
  hd__visited_clear(v);
}

void hd__visited_clear(struct hd_visited *v) {
  v->epoch++;
  v->full = 0;
  v->n = v->log_n = 0;
  v->cap = FIRST;
}

static struct hd_visit *place(const struct hd_visited *v, uint64_t cap, uint64_t key) {
  struct hd_visit *table = v->slot + cap;
  uint64_t at = hd_mix64(key) & (cap - 1);
  while (table[at].epoch == v->epoch && table[at].key != key) at = (at + 1) & (cap - 1);
  return &table[at];
}

const struct hd_visit *hd__visited_find(const struct hd_visited *v, uint64_t key, uint32_t used) {
  const struct hd_visit *e = place(v, v->cap, key);
  return e->epoch == v->epoch && e->used <= used ? e : NULL;
}

static int grow(struct hd_visited *v) {
  if (v->cap == v->max) return 0;
  for (uint64_t i = 0; i < v->cap; i++) {
    const struct hd_visit *e = &v->slot[v->cap + i];
    if (e->epoch == v->epoch) *place(v, v->cap * 2, e->key) = *e;
  }
  v->cap *= 2;
  return 1;
}

void hd__visited_add(struct hd_visited *v, const struct hd_visit *state) {
  if (v->full) return;
  struct hd_visit *e = place(v, v->cap, state->key);
  if (e->epoch != v->epoch) {
    if (v->n * 2 >= v->cap && !grow(v)) {
      v->full = 1;
      return;
    }
    e = place(v, v->cap, state->key);
    v->n++;
  }
  *e = *state;
  e->epoch = v->epoch;
}

uint32_t hd__visited_room(struct hd_visited *v, uint64_t n) {
  if (v->full || v->log_n + n > v->log_max) {
    v->full = 1;
    return HD_NONE;
  }
  v->log_n += n;
  return (uint32_t)(v->log_n - n);
}

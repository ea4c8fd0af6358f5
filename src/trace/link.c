/* link.c: which event each one saw: the write that a read read from, the release before an acquisition, the creation
 * of a thread that starts, the end of one that is joined. Runs in the supervisor.
 *
 * Invariants
 *  1. Memory is followed byte by byte: a read of several bytes saw the latest of the writes to any of them.
 *  2. A write of whole pages is kept once for each page, so that clearing a gigabyte stays cheap; what is known of a
 *     byte is the later of what its page and what its granule say. */
#include "trace/trace_int.h"

#include <stdlib.h>

#define PAGE 4096ull

struct granule {
  uint32_t last[8]; /* the event that wrote each byte */
};

struct hd__linker {
  struct hd__map granules; /* address / 8 + 1 to entry of `granule` plus 1 */
  HD_VEC(struct granule) granule;
  struct hd__map pages; /* address / PAGE + 1 to event */
  struct hd__map other; /* objects that are no memory, to the last event that gave something */
};

struct hd__linker *hd__linker_new(void) {
  return hd_alloc(sizeof(struct hd__linker));
}

void hd__linker_free(struct hd__linker *l) {
  if (!l) return;
  hd__map_fini(&l->granules);
  hd__map_fini(&l->pages);
  hd__map_fini(&l->other);
  hd_vec_free(&l->granule);
  free(l);
}

static void wrote(struct hd__linker *l, uint64_t from, uint64_t to, uint64_t number) {
  while (from < to) {
    if (from % PAGE == 0 && to - from >= PAGE) {
      *hd__map_at(&l->pages, from / PAGE + 1) = number;
      from += PAGE;
      continue;
    }
    uint64_t *at = hd__map_at(&l->granules, from / 8 + 1);
    if (!*at) {
      hd_vec_push(&l->granule, (struct granule){{0}});
      *at = l->granule.n;
    }
    struct granule *g = &l->granule.v[*at - 1];
    do g->last[from % 8] = (uint32_t)number;
    while (++from < to && from % 8);
  }
}

static uint64_t last_write(const struct hd__linker *l, uint64_t from, uint64_t to) {
  uint64_t last = 0;
  while (from < to) {
    uint64_t page = hd__map_get(&l->pages, from / PAGE + 1), at = hd__map_get(&l->granules, from / 8 + 1);
    if (page > last) last = page;
    do
      if (at && l->granule.v[at - 1].last[from % 8] > last) last = l->granule.v[at - 1].last[from % 8];
    while (++from < to && from % 8);
  }
  return last;
}

static uint64_t other_key(const struct hd_tr_event *e) {
  return hd_op_object[e->op] == HD_OBJ_THREAD ? ~e->object : e->object + 1;
}

void hd__link(struct hd__linker *l, struct hd_tr_event *e, uint64_t number) {
  e->from = 0;
  if (hd_op_object[e->op] == HD_OBJ_MEMORY) {
    uint64_t end = e->object + e->size;
    if (end < e->object) end = UINT64_MAX;
    if (hd_tr_takes(e)) e->from = last_write(l, e->object, end);
    if (hd_tr_gives(e)) wrote(l, e->object, end, number);
    return;
  }
  uint64_t key = other_key(e);
  if (!key) return;
  if (hd_tr_takes(e)) e->from = hd__map_get(&l->other, key);
  if (hd_tr_gives(e)) *hd__map_at(&l->other, key) = number;
  /* A wait gives up its mutex. */
  if ((e->op == HD_OP_WAIT || e->op == HD_OP_TIMEDWAIT) && e->aux + 1 > 1)
    *hd__map_at(&l->other, e->aux + 1) = number;
}

/* filter.c: filters out of a recording the accesses that concern one thread only. Runs in the supervisor. */
#include "trace/trace_int.h"

#define RANGE_MAX 65536 /* bytes; longer accesses, such as clearing a large block, are rare and kept */
#define SHARED UINT64_MAX

static bool is_access(const struct hd_event *e) {
  return e->op.kind < HD_OP_COUNT && hd_op_object(e->op.kind) == HD_OBJ_MEMORY &&
         e->op.object < UINT64_MAX - RANGE_MAX && e->op.size <= RANGE_MAX;
}

static bool touches_shared(const struct hd__map *m, const struct hd_event *e) {
  for (uint64_t g = e->op.object / 8; g <= (e->op.object + e->op.size - !!e->op.size) / 8; g++)
    if (hd__map_get(m, g + 1) == SHARED) return true;
  return false;
}

void hd_tr_keep_shared(const struct hd_event *event, size_t n, uint8_t *keep) {
  struct hd__map threads = {0}; /* granule plus 1 to the thread plus 1 that touched it, or SHARED */
  for (size_t i = 0; i < n; i++) {
    const struct hd_event *e = &event[i];
    if (!is_access(e)) continue;
    for (uint64_t g = e->op.object / 8; g <= (e->op.object + e->op.size - !!e->op.size) / 8; g++) {
      uint64_t *who = hd__map_at(&threads, g + 1);
      *who = !*who || *who == e->op.thread + 1ull ? e->op.thread + 1ull : SHARED;
    }
  }
  struct hd__map read = {0}; /* thread plus 1 to 1: it has read since its last branch */
  for (size_t i = 0; i < n; i++) {
    const struct hd_event *e = &event[i];
    keep[i] = !(e->flags & HD_EV_PLAIN) || !is_access(e) || touches_shared(&threads, e);
    if (!keep[i] || e->op.kind >= HD_OP_COUNT) continue;
    uint64_t *has_read = hd__map_at(&read, e->op.thread + 1ull);
    if (hd_op_is(e->op.kind, HD_TRAIT_DECIDES)) keep[i] = *has_read != 0, *has_read = 0;
    if (hd_event_sees(e)) *has_read = 1;
  }
  hd__map_fini(&read);
  hd__map_fini(&threads);
}

/* link.c: links each event to the one it reads from: a read to its write (model/memory.h), an acquisition to the
 * release before it, the start of a thread to its creation, a join to the thread's end. Runs in the supervisor. */
#include "model/memory.h"
#include "trace/trace_int.h"

#include <stdlib.h>

struct hd__linker {
  struct hd_memory memory;
  struct hd__map other; /* objects other than memory, to the last event that released them */
};

static void *resize(void *arg, void *old, size_t size) {
  (void)arg;
  if (size) return hd_realloc(old, size);
  free(old);
  return NULL;
}

struct hd__linker *hd__linker_new(void) {
  struct hd__linker *l = hd_alloc(sizeof *l);
  hd_memory_init(&l->memory, resize, NULL);
  return l;
}

void hd__linker_free(struct hd__linker *l) {
  if (!l) return;
  hd_memory_fini(&l->memory);
  hd__map_fini(&l->other);
  free(l);
}

static uint64_t other_key(const struct hd_event *e) {
  return hd_op_object(e->op.kind) == HD_OBJ_THREAD ? ~e->op.object : e->op.object + 1;
}

void hd__link(struct hd__linker *l, struct hd_event *e, uint64_t number) {
  e->from = 0;
  if (hd_op_object(e->op.kind) == HD_OBJ_MEMORY) {
    if (hd_event_sees(e)) hd_memory_candidates(&l->memory, &e->op, &e->from, 1);
    if (hd_event_gives(e)) hd_memory_write(&l->memory, &e->op, (uint32_t)number);
    return;
  }
  uint64_t key = other_key(e), second = hd_event_gives_second(e);
  if (key && hd_event_sees(e)) e->from = (uint32_t)hd__map_get(&l->other, key);
  if (key && hd_event_gives(e)) *hd__map_at(&l->other, key) = number;
  if (second && second + 1) *hd__map_at(&l->other, second + 1) = number;
}

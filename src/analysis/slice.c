/* slice.c: selects the recorded events that matter for the end of the execution. Runs in the supervisor.
 *
 * Invariants
 *  1. Memory is tracked per byte; of an access to more than MAX_BYTES only the first MAX_BYTES count.
 *  2. The cone is closed: with an event it contains all earlier events of its thread, all earlier events it depends
 *     on, and the creation of its thread. */
#include "analysis/analysis.h"
#include "model/holders.h"

#include <stdlib.h>

#define MAX_BYTES 512
#define THREADS 65536 /* thread numbers; in a trace, entries of its table */

struct cell {
  uint64_t key;                 /* 0: empty */
  uint32_t thread;              /* the first thread that touched it, plus 1 */
  bool many, written;           /* accessed by several threads; written to */
  bool want_reads, want_writes; /* the cone depends on earlier reads, writes */
  size_t write, read[2];        /* last events, plus 1; the two reads are of different threads */
  size_t taken;                 /* last acquisition, plus 1 */
};

struct table {
  struct cell *cell;
  size_t mask, used;
};

static size_t slot_of(const struct table *t, uint64_t key) {
  size_t i = (size_t)((key * 0x9e3779b97f4a7c15ull) >> 20) & t->mask;
  while (t->cell[i].key && t->cell[i].key != key) i = (i + 1) & t->mask;
  return i;
}

static void table_init(struct table *t) {
  t->mask = 1023;
  t->used = 0;
  t->cell = hd_alloc((t->mask + 1) * sizeof *t->cell);
}

static struct cell *cell_of(struct table *t, uint64_t key) {
  if (t->used * 2 > t->mask) {
    struct table bigger = {hd_alloc((t->mask + 1) * 2 * sizeof *t->cell), t->mask * 2 + 1, t->used};
    for (size_t i = 0; i <= t->mask; i++)
      if (t->cell[i].key) bigger.cell[slot_of(&bigger, t->cell[i].key)] = t->cell[i];
    free(t->cell);
    *t = bigger;
  }
  struct cell *c = &t->cell[slot_of(t, key)];
  if (!c->key) {
    c->key = key;
    t->used++;
  }
  return c;
}

/* ---- properties of an event ---- */

/* A recording is not trusted: an unknown operation has no object and no effect. */
static bool is_memory(const struct hd_event *e) {
  return e->op.kind < HD_OP_COUNT && hd_op_object(e->op.kind) == HD_OBJ_MEMORY;
}

static bool is_sync(const struct hd_event *e) {
  if (e->op.kind >= HD_OP_COUNT) return false;
  switch (hd_op_object(e->op.kind)) {
    case HD_OBJ_NONE:
    case HD_OBJ_THREAD:
    case HD_OBJ_MEMORY: return false;
    default: return true;
  }
}

static enum hd_effect effect_of(const struct hd_event *e) {
  return e->op.kind < HD_OP_COUNT ? hd_op_effect(e->op.kind, e->flags) : HD_EFF_NONE;
}

static bool writes(const struct hd_event *e) { return hd_effect_properties[effect_of(e)] & HD_EFF_CHANGES; }

static size_t ncells(const struct hd_event *e) {
  if (is_sync(e)) return 1;
  if (!is_memory(e)) return 0;
  return e->op.size == 0 ? 1 : e->op.size < MAX_BYTES ? e->op.size : MAX_BYTES;
}

static uint64_t key_of(const struct hd_event *e, size_t i) {
  return is_sync(e) ? e->op.object | 1ull << 63 : (e->op.object + i) | 1ull << 62;
}

/* ---- shared, cone ---- */

static void note_sharing(struct table *t, const struct hd_event *ev, size_t n) {
  bool threads = false; /* some were created */
  for (size_t i = 0; i < n; i++) {
    const struct hd_event *e = &ev[i];
    threads |= effect_of(e) == HD_EFF_SPAWN;
    if (!threads) continue;
    for (size_t k = 0; k < ncells(e); k++) {
      struct cell *c = cell_of(t, key_of(e, k));
      c->many |= c->thread && c->thread != e->op.thread + 1u;
      c->written |= writes(e);
      if (!c->thread) c->thread = e->op.thread + 1u;
    }
  }
}

static bool in_cone(struct table *t, const struct hd_event *e, const bool *thread) {
  if (thread[e->op.thread]) return true;
  if (effect_of(e) == HD_EFF_SPAWN && e->op.object < THREADS && thread[e->op.object]) return true;
  for (size_t k = 0; k < ncells(e); k++) {
    const struct cell *c = cell_of(t, key_of(e, k));
    if (writes(e) ? c->want_writes : c->want_reads) return true;
  }
  return false;
}

static void want(struct table *t, const struct hd_event *e, bool *thread) {
  thread[e->op.thread] = true;
  bool joins = effect_of(e) == HD_EFF_JOIN || effect_of(e) == HD_EFF_FIND_ENDED;
  if (joins && e->op.object < THREADS) thread[e->op.object] = true;
  for (size_t k = 0; k < ncells(e); k++) {
    struct cell *c = cell_of(t, key_of(e, k));
    c->want_writes = true;
    c->want_reads |= writes(e);
  }
}

uint8_t *hd_analysis_mark(const struct hd_event *ev, size_t n, const struct hd_pending *end, size_t nends) {
  uint8_t *mark = hd_alloc(n + 1);
  struct table t;
  bool *thread = hd_alloc(THREADS * sizeof *thread);
  table_init(&t);
  note_sharing(&t, ev, n);
  for (size_t i = 0; i < nends; i++) {
    if (end[i].thread < THREADS) thread[end[i].thread] = true;
    if (end[i].object) cell_of(&t, end[i].object | 1ull << 63)->many = true;
  }
  for (size_t i = n; i-- > 0;) {
    const struct hd_event *e = &ev[i];
    for (size_t k = 0; k < ncells(e); k++) {
      const struct cell *c = cell_of(&t, key_of(e, k));
      if (c->many && (c->written || is_sync(e))) mark[i] |= HD_MARK_SHARED;
    }
    if (!in_cone(&t, e, thread)) continue;
    mark[i] |= HD_MARK_CONE;
    want(&t, e, thread);
  }
  free(thread);
  free(t.cell);
  return mark;
}

/* ---- pairs ---- */

static void add_pair(struct hd_pairs *out, const struct hd_event *ev, size_t first, size_t second) {
  if (!first || ev[first - 1].op.thread == ev[second].op.thread) return;
  for (size_t i = out->n; i-- > 0 && out->v[i].second == second;)
    if (out->v[i].first == first - 1) return;
  hd_vec_push(out, ((struct hd_pair){first - 1, second, ev[second].op.thread}));
}

/* Acquires something that other threads may wait for. */
static bool acquires(const struct hd_event *e) {
  return (hd_effect_properties[effect_of(e)] & HD_EFF_HOLDS) || effect_of(e) == HD_EFF_TAKE;
}

static void pairs_of_memory(struct cell *c, const struct hd_event *ev, size_t i, struct hd_pairs *out) {
  if (writes(&ev[i])) {
    for (int k = 0; k < 2; k++) add_pair(out, ev, c->read[k], i);
    add_pair(out, ev, c->write, i);
    c->write = i + 1;
    c->read[0] = c->read[1] = 0;
  } else {
    add_pair(out, ev, c->write, i);
    if (!c->read[0] || ev[c->read[0] - 1].op.thread != ev[i].op.thread) c->read[1] = c->read[0];
    c->read[0] = i + 1;
  }
}

/* A release follows its acquisition, so that pair cannot be reversed. */
static void pairs_of_sync(struct cell *c, const struct hd_event *ev, size_t i, struct hd_pairs *out) {
  if (hd_effect_properties[effect_of(&ev[i])] & HD_EFF_LETS_GO) return;
  if (acquires(&ev[i])) {
    add_pair(out, ev, c->taken, i);
    c->taken = i + 1;
  } else {
    add_pair(out, ev, c->write, i);
    c->write = i + 1;
  }
}

void hd_analysis_pairs(const struct hd_event *ev, size_t n, const uint8_t *mark, const struct hd_pending *end,
                       size_t nends, struct hd_pairs *out) {
  *out = (struct hd_pairs){0};
  struct table t;
  table_init(&t);
  for (size_t i = 0; i < n; i++) {
    if ((mark[i] & (HD_MARK_SHARED | HD_MARK_CONE)) != (HD_MARK_SHARED | HD_MARK_CONE)) continue;
    for (size_t k = 0; k < ncells(&ev[i]); k++) {
      struct cell *c = cell_of(&t, key_of(&ev[i], k));
      if (is_sync(&ev[i]))
        pairs_of_sync(c, ev, i, out);
      else
        pairs_of_memory(c, ev, i, out);
    }
  }
  for (size_t i = 0; i < nends; i++) {
    const struct cell *c = cell_of(&t, end[i].object | 1ull << 63);
    size_t first = c->taken ? c->taken : c->write;
    if (first && ev[first - 1].op.thread != end[i].thread)
      hd_vec_push(out, ((struct hd_pair){first - 1, HD_PENDING, end[i].thread}));
  }
  for (size_t i = 0; i < out->n / 2; i++) {
    struct hd_pair p = out->v[i];
    out->v[i] = out->v[out->n - 1 - i];
    out->v[out->n - 1 - i] = p;
  }
  free(t.cell);
}

/* ---- locks held ---- */

/* Once-controls are omitted: running under one is not holding a lock. */
size_t hd_analysis_held(const struct hd_event *ev, size_t at, unsigned thread, uint64_t *lock, size_t max) {
  HD_VEC(struct hd_hold) room = {0};
  struct hd_holders h = {0};
  for (size_t i = 0; i < at; i++) {
    if (ev[i].op.kind >= HD_OP_COUNT || ev[i].op.thread != thread) continue;
    if (h.n == h.cap) {
      room.v = hd_vec_grow(room.v, &room.cap, h.n + 16, sizeof *room.v);
      h.hold = room.v;
      h.cap = room.cap;
    }
    hd_holders_event(&h, &ev[i].op, ev[i].flags, (uint32_t)i + 1);
  }
  size_t n = 0, k = 0;
  const struct hd_hold *hold;
  while (n < max && (hold = hd_holders_of_thread(&h, thread, &k)))
    if (hold->kind != HD_OBJ_ONCE) lock[n++] = hold->object;
  free(room.v);
  return n;
}

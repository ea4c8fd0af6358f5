/* slice.c: selects the recorded events that matter for the end of the execution. Runs in the supervisor.
 *
 * Invariants
 *  1. Memory is tracked per byte; of an access to more than MAX_BYTES only the first MAX_BYTES count.
 *  2. The cone is closed: with an event it contains all earlier events of its thread, all earlier events it depends
 *     on, and the creation of its thread.
 *  3. What a step depends on (hd_analysis_why) is a guess where values pass through registers: what its thread has read
 *     shortly before. First come the value that it stores, and the variable that it stores to if another thread has
 *     changed that meanwhile; then other variables that were changed meanwhile. */
#include "analysis/analysis.h"
#include "model/holders.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BYTES 512
#define THREADS 65536 /* thread numbers; in a trace, entries of its table */

struct cell {
  uint64_t key;                 /* 0: empty */
  uint32_t thread;              /* the first thread that touched it, plus 1 */
  bool many, written;           /* accessed by several threads; written to */
  bool want_reads, want_writes; /* the cone depends on earlier reads, writes */
  size_t write, read[2];        /* last events, plus 1; the two reads are of different threads */
  size_t taken;                 /* last acquisition, plus 1 */
  size_t next[2];               /* the next writes, plus 1; of different threads */
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

/* ---- why it failed ---- */

#define LOOK_BACK 12 /* lines of its own thread that a step may depend on */
#define BEFORE 256   /* events of its own thread: a recursion is one line */
#define STEP 32      /* events of one line that are one step */
#define SEEN 32      /* objects that a thread read, which are kept track of */
#define FARTHEST 16  /* distances that are distinguished */

struct why {
  const struct hd_event *ev;
  const uint32_t *line;
  size_t *previous;    /* event of the same thread, plus 1 */
  size_t *writer;      /* the last write to its bytes, plus 1 */
  size_t *overwritten; /* the first later write to its bytes by another thread, plus 1 */
  uint8_t *distance;
  HD_VEC(size_t) at[FARTHEST]; /* events at this distance */
};

static bool reads(const struct hd_event *e) {
  enum hd_effect effect = effect_of(e);
  return is_memory(e) && (effect == HD_EFF_READ || effect == HD_EFF_UPDATE || effect == HD_EFF_AWAIT);
}

static void find_previous(struct why *w, size_t n) {
  size_t *last = hd_alloc(THREADS * sizeof *last);
  for (size_t i = 0; i < n; i++) {
    w->previous[i] = last[w->ev[i].op.thread];
    last[w->ev[i].op.thread] = i + 1;
  }
  free(last);
}

static void find_writers(struct why *w, size_t n) {
  struct table t;
  table_init(&t);
  for (size_t i = 0; i < n; i++) {
    if (!is_memory(&w->ev[i])) continue;
    for (size_t k = 0; k < ncells(&w->ev[i]); k++) {
      struct cell *c = cell_of(&t, key_of(&w->ev[i], k));
      if (c->write > w->writer[i]) w->writer[i] = c->write;
      if (writes(&w->ev[i])) c->write = i + 1;
    }
  }
  for (size_t i = n; i-- > 0;) {
    if (!is_memory(&w->ev[i])) continue;
    for (size_t k = 0; k < ncells(&w->ev[i]); k++) {
      struct cell *c = cell_of(&t, key_of(&w->ev[i], k));
      bool own = c->next[0] && w->ev[c->next[0] - 1].op.thread == w->ev[i].op.thread;
      size_t other = c->next[own ? 1 : 0], *first = &w->overwritten[i];
      if (other && (!*first || other < *first)) *first = other;
      if (!writes(&w->ev[i])) continue;
      if (!own) c->next[1] = c->next[0];
      c->next[0] = i + 1;
    }
  }
  free(t.cell);
}

static void consider(struct why *w, size_t i, unsigned distance) {
  if (distance >= FARTHEST || w->distance[i] <= distance) return;
  w->distance[i] = (uint8_t)distance;
  hd_vec_push(&w->at[distance], i);
}

/* A value that is more than a flag, and the same in both. */
static bool same_value(const struct hd_event *read, const struct hd_event *write) {
  return write && (read->flags & write->flags & HD_EV_VALUE) && read->value == write->value &&
         read->value + 1 > 2;
}

/* What the thread read in its events from..at-1, which are one step at this distance, and before. */
static void depend_on_reads(struct why *w, unsigned thread, size_t from, size_t at, unsigned distance) {
  const struct hd_event *store = at > from && writes(&w->ev[at - 1]) ? &w->ev[at - 1] : NULL;
  size_t i = at;
  while (i > 0 && w->ev[i - 1].op.thread != thread) i--;
  unsigned back = 0, before = 0, nseen = 0;
  uint64_t seen[SEEN]; /* read since: what was read before matters less */
  for (uint32_t line = 0; i > 0 && back <= LOOK_BACK && before <= BEFORE; i = w->previous[i - 1]) {
    size_t k = i - 1;
    bool inside = k >= from;
    before += !inside;
    if (!inside && (back == 0 || w->line[k] != line || !line)) back++;
    line = w->line[k];
    if (!reads(&w->ev[k])) continue;
    size_t over = w->overwritten[k];
    bool again = false;
    for (unsigned j = 0; j < nseen && !again; j++) again = seen[j] == w->ev[k].op.object;
    if (!again && nseen < SEEN) seen[nseen++] = w->ev[k].op.object;
    bool changed = over && over - 1 < at && !again;
    bool same = changed && store && store->op.object == w->ev[k].op.object;
    unsigned more = inside || same || same_value(&w->ev[k], store) ? 0
                    : changed                                      ? 1 + back / 4
                                                                   : 2 + back / 2 + again;
    consider(w, k, distance + more);
    if (changed) consider(w, over - 1, distance + more);
  }
}

/* The events of the line of event `i` up to it are one step. */
static size_t step_begin(const struct why *w, size_t i) {
  for (unsigned n = 0; n < STEP && w->line[i] && w->previous[i] && w->line[w->previous[i] - 1] == w->line[i];
       n++)
    i = w->previous[i] - 1;
  return i;
}

/* Waits for locks and signals: who took the lock, who came to signal. */
static void depend_on_sync(struct why *w, size_t n, const struct hd_failing *f) {
  for (size_t i = n; f->object && i-- > 0;) {
    const struct hd_event *e = &w->ev[i];
    if (!is_sync(e) || e->op.object != f->object) continue;
    consider(w, i, 0);
    if (acquires(e)) return;
  }
}

uint8_t *hd_analysis_why(const struct hd_event *ev, size_t n, const uint32_t *line,
                         const struct hd_failing *failing, size_t nfailing) {
  struct why w = {.ev = ev,
                  .line = line,
                  .previous = hd_alloc((n + 1) * sizeof *w.previous),
                  .writer = hd_alloc((n + 1) * sizeof *w.writer),
                  .overwritten = hd_alloc((n + 1) * sizeof *w.overwritten),
                  .distance = hd_alloc(n + 1)};
  memset(w.distance, HD_WHY_NONE, n + 1);
  find_previous(&w, n);
  find_writers(&w, n);
  for (size_t i = 0; i < nfailing; i++) {
    const struct hd_failing *f = &failing[i];
    for (size_t k = f->from; k < f->at; k++)
      if (ev[k].op.thread == f->thread) consider(&w, k, 0);
    depend_on_reads(&w, f->thread, f->from, f->at, 0);
    depend_on_sync(&w, n, f);
  }
  for (unsigned d = 0; d < FARTHEST; d++) {
    for (size_t k = 0; k < w.at[d].n; k++) {
      size_t i = w.at[d].v[k];
      if (w.distance[i] != d) continue; /* it turned out to be nearer */
      if (reads(&ev[i]) && w.writer[i]) consider(&w, w.writer[i] - 1, d + 1);
      if (is_memory(&ev[i]) && writes(&ev[i]))
        depend_on_reads(&w, ev[i].op.thread, step_begin(&w, i), i + 1, d);
    }
    hd_vec_free(&w.at[d]);
  }
  free(w.previous);
  free(w.writer);
  free(w.overwritten);
  return w.distance;
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

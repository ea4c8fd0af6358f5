/* visited.c: the filter of states that were explored already. Runs in the tested process; lives in the search area,
 * so that it survives it, and is shared by all workers.
 *
 * Two prefixes with the same happens-before order lead to the same state. A state is explored once for each thread that
 * may be running in it, unless it is reached again with more of the bound left. An execution that comes to a state
 * explored before is given up and counted as blocked.
 *
 * Soundness. A state is added when everything in it that the search promises has been explored; so what is explored from
 * a state may depend on the state, on the cost of what follows (both are in its key) and on the rest of the bound, on
 * nothing else: not on what sleeps (sleep.c). Branches that executions below a state requested above it must be
 * requested again wherever the state is met: the policy keeps them with it (list, block). A 64-bit hash identifies a state.
 * States of a node that became a junction are not added: its worker does not see all that is explored there. That is
 * sound, since a state that is not known is explored.
 *
 * Open addressing. A table that is half full is copied into one of twice the size, which lies behind it: the table of
 * c slots begins c slots after the beginning of the area, so no two overlap. Clearing is one increment of the epoch.
 * When there is no room for a larger one, nothing is added any more; the search continues and finds what is there.
 *
 * Sharing. Entries are added under the lock and found without it. A slot changes with one store, of a reference to a
 * record in the log that was written before and never changes. A process that is killed leaves records that nothing
 * refers to. The same execution, run again, may find more states than before: it is given up earlier then. */
#include "explore/walk.h"

#define FIRST 1024 /* slots of the smallest table */
#define CHUNK 4096 /* numbers that a worker reserves in the log at once */

struct hd_visited_slot {
  uint64_t key;
  uint64_t ref; /* epoch << 32 | place in the log; another epoch: empty */
};

void hd__visited_init(struct hd_visited *v, char *memory, uint64_t size) {
  uint32_t epoch = v->epoch;
  uint64_t max = FIRST;
  while (max * 4 * sizeof(struct hd_visited_slot) <= size / 2) max *= 2;
  *v = (struct hd_visited){.epoch = epoch + 1,
                           .cap = FIRST,
                           .max = max,
                           .slot = (struct hd_visited_slot *)memory,
                           .log = (uint64_t *)(memory + size / 2),
                           .log_max = size / 2 / sizeof(uint64_t)};
  if (v->log_max > HD_NONE) v->log_max = HD_NONE;
  v->log_chunk = v->log_max / 64 < CHUNK ? v->log_max / 64 : CHUNK;
}

static int is_used(const struct hd_visited *v, const struct hd_visited_slot *e) {
  return __atomic_load_n(&e->ref, __ATOMIC_ACQUIRE) >> 32 == v->epoch;
}

static struct hd_visited_slot *place(const struct hd_visited *v, uint64_t cap, uint64_t key) {
  struct hd_visited_slot *table = v->slot + cap;
  uint64_t at = hd_mix64(key) & (cap - 1);
  while (is_used(v, &table[at]) && table[at].key != key) at = (at + 1) & (cap - 1);
  return &table[at];
}

const struct hd_visit *hd__visited_find(const struct hd_visited *v, uint64_t key, uint32_t used) {
  const struct hd_visited_slot *e = place(v, __atomic_load_n(&v->cap, __ATOMIC_ACQUIRE), key);
  uint64_t ref = __atomic_load_n(&e->ref, __ATOMIC_ACQUIRE);
  if (ref >> 32 != v->epoch) return NULL;
  const struct hd_visit *r = (const struct hd_visit *)(v->log + (uint32_t)ref);
  return r->used <= used ? r : NULL;
}

static int grow(struct hd_visited *v) {
  if (v->cap == v->max) return 0;
  for (uint64_t i = 0; i < v->cap; i++) {
    const struct hd_visited_slot *from = &v->slot[v->cap + i];
    if (!is_used(v, from)) continue;
    struct hd_visited_slot *to = place(v, v->cap * 2, from->key);
    to->key = from->key;
    __atomic_store_n(&to->ref, from->ref, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&v->cap, v->cap * 2, __ATOMIC_RELEASE);
  return 1;
}

void hd__visited_add(struct hd_visited *v, uint64_t key, const struct hd_visit *state) {
  if (v->full) return;
  struct hd_visited_slot *e = place(v, v->cap, key);
  if (!is_used(v, e)) {
    if (v->n * 2 >= v->cap && !grow(v)) {
      v->full = 1;
      return;
    }
    e = place(v, v->cap, key);
    v->n++;
    e->key = key;
  } else if (((const struct hd_visit *)(v->log + (uint32_t)e->ref))->used < state->used) {
    return; /* another worker has explored more of it */
  }
  __atomic_store_n(&e->ref, (uint64_t)v->epoch << 32 | (uint64_t)((const uint64_t *)state - v->log),
                   __ATOMIC_RELEASE);
}

uint32_t hd__visited_room(struct hd_visited *v, uint64_t n, uint64_t *got) {
  if (n < v->log_chunk) n = v->log_chunk;
  if (v->full || v->log_n + n > v->log_max) {
    v->full = 1;
    return HD_NONE;
  }
  v->log_n += n;
  *got = n;
  return (uint32_t)(v->log_n - n);
}

void hd__visited_sample(const struct hd_visited *v, struct hd_key_sample *a) {
  for (uint64_t i = 0; i < v->cap; i++)
    if (is_used(v, &v->slot[v->cap + i])) hd__sample_key(a, v->slot[v->cap + i].key);
}

/* ---- the filter ---- */

/* Numbers in the part of the log that is the unit's own; NULL: there is no room. */
static uint64_t *reserve(struct walk *w, uint32_t n) {
  struct hd_search *s = w->s;
  struct hd_visited *v = &hd__tree(s)->visited;
  struct unit *u = w->unit;
  if (v->full) return NULL;
  if (u->log_end - u->log_next < n) {
    int held = s->shared->lock == s->worker + 1;
    uint64_t got = 0;
    if (!held) hd_search_lock(s);
    uint32_t at = hd__walk_valid(w) ? hd__visited_room(v, n, &got) : HD_NONE;
    if (!held) hd_search_unlock(s);
    if (at == HD_NONE) return NULL;
    u->log_next = at;
    u->log_end = at + (uint32_t)got;
  }
  u->log_next += n;
  return v->log + u->log_next - n;
}

union hd_list hd__visited_keep(struct walk *w, const uint64_t *from, uint32_t n) {
  uint64_t *to = n ? reserve(w, n) : NULL;
  if (!to) return (union hd_list){.word = 0};
  for (uint32_t i = 0; i < n; i++) to[i] = from[i];
  return (union hd_list){{(uint32_t)(to - hd__tree(w->s)->visited.log), n}};
}

void hd__visited_put_list(const struct walk *w, union hd_list l, struct hd_writer *out) {
  hd_put_number(out, l.n);
  for (uint32_t i = 0; i < l.n; i++) hd_put_number(out, hd__tree(w->s)->visited.log[l.at + i]);
}

/* Where a list has no room nothing is added any more: visited_room says so. */
union hd_list hd__visited_get_list(struct walk *w, struct hd_reader *r) {
  struct hd_visited *v = &hd__tree(w->s)->visited;
  struct unit *u = w->unit;
  uint32_t n = (uint32_t)hd_get_number(r, HD_NONE - 1);
  if (n > r->n - r->at) r->bad = 1;
  uint64_t got = 0;
  if (n && !r->bad && u->log_end - u->log_next < n) {
    uint32_t at = hd__visited_room(v, n, &got);
    if (at != HD_NONE) {
      u->log_next = at;
      u->log_end = at + (uint32_t)got;
    }
  }
  int room = u->log_end - u->log_next >= n;
  union hd_list l = {{u->log_next, n}};
  for (uint32_t i = 0; i < n && !r->bad; i++) {
    uint64_t x = hd_get_number(r, UINT64_MAX);
    if (room) v->log[u->log_next++] = x;
  }
  if (!room || !n) l.word = 0;
  return l;
}

/* Two states are the same when the happens-before order of what led there is, and the costs of what can follow are:
 * the thread that may continue for nothing, if there is one. */
static uint64_t key_of(struct walk *w, uint32_t k) {
  const struct bound_node *b = hd__bound_node(w, k);
  unsigned turn = hd__bound_turn(w->s, &b->at, &b->enabled, b->words);
  unsigned runs = b->at.kind == HD_BOUND_DELAYS || b->at.stays ? turn + 1 : 0;
  return hd_mix64(w->prefix + hd_mix64(runs));
}

static void enter(struct walk *w, uint32_t k, const struct hd_point *p, int fresh) {
  struct visited_node *n = hd__visited_node(w, k);
  (void)p;
  n->prefix = w->prefix;
  n->key = key_of(w, k);
  if (!fresh && k >= w->unit->base) return;
  n->list.word = 0;
  n->block = (struct hd_set){{0}};
}

static int covers(struct walk *w, uint32_t k) {
  w->met =
      hd__visited_find(&hd__tree(w->s)->visited, hd__visited_node(w, k)->key, hd__bound_node(w, k)->used);
  return w->met != NULL;
}

static void leave(struct walk *w, uint32_t k) {
  const struct visited_node *n = hd__visited_node(w, k);
  uint64_t members[HD_MAX_THREADS];
  uint32_t m = 0;
  HD_SET_EACH (t, &n->block, HD_SET_WORDS) members[m++] = t;
  union hd_list block = hd__visited_keep(w, members, m);
  struct hd_visit *r = (struct hd_visit *)reserve(w, sizeof *r / sizeof(uint64_t));
  if (!r || block.n != m) return;
  *r = (struct hd_visit){hd__bound_node(w, k)->used, n->list, block};
  hd__visited_add(&hd__tree(w->s)->visited, n->key, r);
}

/* The log, and of each state its key and where in the log it is. */
static void put(struct walk *w, struct hd_writer *out) {
  const struct hd_visited *v = &hd__tree(w->s)->visited;
  hd_put_number(out, v->full);
  hd_put_number(out, v->log_n);
  for (uint64_t i = 0; i < v->log_n; i++) hd_put_number(out, v->log[i]);
  uint64_t n = 0;
  for (uint64_t i = 0; i < v->cap; i++) n += (uint64_t)is_used(v, &v->slot[v->cap + i]);
  hd_put_number(out, n);
  for (uint64_t i = 0; i < v->cap; i++) {
    const struct hd_visited_slot *e = &v->slot[v->cap + i];
    if (!is_used(v, e)) continue;
    hd_put_number(out, e->key);
    hd_put_number(out, (uint32_t)e->ref);
  }
}

static int is_list(const struct hd_visited *v, union hd_list l) {
  return l.at <= v->log_n && l.n <= v->log_n - l.at;
}

static void get(struct walk *w, struct hd_reader *r) {
  struct hd_visited *v = &hd__tree(w->s)->visited;
  const uint64_t words = sizeof(struct hd_visit) / sizeof(uint64_t);
  uint32_t full = (uint32_t)hd_get_number(r, 1);
  v->log_n = hd_get_number(r, v->log_max);
  for (uint64_t i = 0; i < v->log_n && !r->bad; i++) v->log[i] = hd_get_number(r, UINT64_MAX);
  for (uint64_t n = hd_get_number(r, v->max / 2); n > 0 && !r->bad; n--) {
    uint64_t key = hd_get_number(r, UINT64_MAX), at = hd_get_number(r, v->log_n);
    const struct hd_visit *e = (const struct hd_visit *)(v->log + at);
    if (r->bad || v->log_n - at < words || !is_list(v, e->list) || !is_list(v, e->block) ||
        e->block.n > HD_MAX_THREADS) {
      r->bad = 1;
      break;
    }
    hd__visited_add(v, key, e);
  }
  v->full = full;
}

const struct filter hd__filter_visited = {.id = FILTER_VISITED,
                                          .record = sizeof(struct visited_node),
                                          .enter = enter,
                                          .covers = covers,
                                          .leave = leave,
                                          .put = put,
                                          .get = get};

/* states.c: the filter of states. Runs in the tested process.
 *
 * A state of the program that was explored before is not explored again: explicit-state search, as of Holzmann, "Design and
 * Validation of Computer Protocols", 1991; with a hash of 128 bits in the place of the state ("hash compaction": Wolper,
 * Leroy, "Reliable Hashing without Collision Detection", CAV 1993). The runtime computes the hash
 * (runtime/core/fingerprint.c). It covers whatever can influence what happens from there on, the race detector's knowledge
 * of the past included: so no summary of a subtree is needed to know which data races it has with another past.
 *
 * Invariants
 *  1. A state is added when it is entered, with the execution and the depth. Whoever has added it explores all of its
 *     branches; when that worker is killed, the same execution is run again, and finds its own entry. So a state is
 *     given up only if it is, or will be, explored whole: by another execution, another worker, or further up in this one.
 *     The latter is a cycle: all that follows begins with a branch of the state further up.
 *  2. Only scheduling points with several branches (threads, or outcomes of a choice) and those that follow one are added
 *     and looked up. A loop of a thread that nothing can disturb is left to what recognises waits and bounds loops
 *     (runtime/core/spin.c).
 *  3. When the table is full, no state is added: those that are not in it are explored wherever they are met.
 *
 * Soundness. Every branch of every state that is reachable is explored once, as long as no other filter of the policy
 * leaves out branches for a reason that is not part of the state. Sleep sets and a bound do, so they are not combined with
 * this filter (cli/options.c checks). A policy that leaves out branches has a filter of its own (stateful.c), which uses
 * the same table. */
#include "explore/walk.h"

#define FIRST 4096 /* slots; a power of two */

static struct states *table(const struct walk *w) { return &hd__tree(w->s)->states; }

static void publish(struct hd_search *s, const struct states *t) {
  s->shared->state_counts.states = t->n;
  s->shared->state_counts.bytes =
      t->cap * sizeof *t->slot + t->log_n * sizeof *t->log + t->nops * sizeof *t->op;
  s->shared->state_counts.full = t->full;
}

void hd__states_publish(struct walk *w) { publish(w->s, table(w)); }

/* The table of states in the first half of the memory; operations, their table and summaries in the second. */
void hd__states_init(struct hd_search *s, char *memory, uint64_t size, int summaries) {
  struct states *t = &hd__tree(s)->states;
  char *rest = memory + size / 2;
  uint64_t budget =
      s->config->state_memory && s->config->state_memory < size ? s->config->state_memory : size;
  uint64_t max = FIRST;
  if (summaries) budget /= 2;
  while (max * 4 * sizeof(struct state_slot) <= budget) max *= 2; /* while it grows there are two tables */
  *t = (struct states){.epoch = t->epoch + 1,
                       .cap = FIRST,
                       .max = max,
                       .slot = (struct state_slot *)memory,
                       .op = (struct summary_op *)rest,
                       .op_table = (uint32_t *)(rest + HD_SUMMARY_OPS * sizeof *t->op)};
  t->log = (uint64_t *)(t->op_table + 2ull * HD_SUMMARY_OPS);
  t->log_n = 1; /* 0 is none */
  t->log_max = budget / sizeof *t->log < UINT32_MAX ? budget / sizeof *t->log : UINT32_MAX;
  s->shared->state_counts = (struct hd_state_counts){0};
  publish(s, t);
}

static struct state_slot *find(const struct states *t, uint64_t cap, const uint64_t key[2]) {
  struct state_slot *slot = t->slot + cap;
  uint64_t at = key[0] & (cap - 1);
  while (slot[at].epoch == t->epoch && (slot[at].key[0] != key[0] || slot[at].key[1] != key[1]))
    at = (at + 1) & (cap - 1);
  return &slot[at];
}

struct state_slot *hd__state_find(const struct states *t, const uint64_t key[2]) {
  struct state_slot *e = find(t, t->cap, key);
  return e->epoch == t->epoch ? e : NULL;
}

/* A worker that is killed here leaves entries in the larger table that the next one makes again. */
static int grow(struct states *t) {
  if (t->cap == t->max) return 0;
  for (uint64_t i = 0; i < t->cap; i++) {
    const struct state_slot *from = &t->slot[t->cap + i];
    if (from->epoch == t->epoch) *find(t, t->cap * 2, from->key) = *from;
  }
  __atomic_store_n(&t->cap, t->cap * 2, __ATOMIC_RELEASE);
  return 1;
}

struct state_slot *hd__state_add(struct walk *w, const uint64_t key[2], uint32_t depth) {
  struct states *t = table(w);
  if (t->n * 2 >= t->cap && !grow(t)) {
    t->full = 1;
    publish(w->s, t);
    return NULL;
  }
  struct state_slot *e = find(t, t->cap, key);
  uint32_t epoch = e->epoch;
  *e = (struct state_slot){
      .key = {key[0], key[1]}, .execution = w->s->execution, .depth = depth, .epoch = epoch};
  t->n++;
  __atomic_store_n(&e->epoch, t->epoch, __ATOMIC_RELEASE);
  publish(w->s, t);
  return e;
}

void hd__sample_key(struct hd_key_sample *a, uint64_t key) {
  while (a->n == a->cap && hd_state_sampled(key, a->shift)) {
    size_t left = 0;
    a->shift++;
    for (size_t k = 0; k < a->n; k++)
      if (hd_state_sampled(a->out[k], a->shift)) a->out[left++] = a->out[k];
    a->n = left;
  }
  if (hd_state_sampled(key, a->shift)) a->out[a->n++] = key;
}

size_t hd_states_sample(struct hd_search *s, unsigned *shift, uint64_t *out, size_t cap) {
  struct hd_key_sample a = {.out = out, .cap = cap};
  if (hd__tree(s)->ready) {
    const struct states *t = &hd__tree(s)->states;
    for (uint64_t i = 0; i < t->cap; i++) {
      const struct state_slot *e = &t->slot[t->cap + i];
      if (e->epoch == t->epoch) hd__sample_key(&a, e->key[0]);
    }
    hd__visited_sample(&hd__tree(s)->visited, &a);
  }
  *shift = a.shift;
  return a.n;
}

/* Whether the state was added before, by another execution or further up; adds it if not. */
static int visit(struct walk *w, const uint64_t key[2], uint32_t depth) {
  struct state_slot *e = hd__state_find(table(w), key);
  if (!e) {
    hd__state_add(w, key, depth);
    return 0;
  }
  if (e->execution != w->s->execution || e->depth < depth) return 1;
  e->depth = depth; /* this execution was begun before */
  return 0;
}

static int active(const struct hd_search *s) { return s->fingerprint != NULL; }

/* Invariant 2. What chooses is known only when it has chosen, but for a CHOOSE. */
int hd__state_branches(const struct hd_point *p) {
  if (p->nenabled > 1) return 1;
  HD_SET_EACH (t, p->enabled, p->words) return p->op[t]->kind == HD_OP_CHOOSE;
  return 0;
}

struct state_node {
  uint64_t branches;
};

static void enter(struct walk *w, uint32_t k, const struct hd_point *p, int fresh) {
  struct state_node *n = hd__record(w, FILTER_STATES, k);
  (void)fresh;
  n->branches = (uint64_t)hd__state_branches(p);
}

static int covers(struct walk *w, uint32_t k) {
  struct hd_search *s = w->s;
  const struct state_node *n = hd__record(w, FILTER_STATES, k);
  uint64_t key[2];
  const struct state_node *up = k ? hd__record(w, FILTER_STATES, k - 1) : NULL;
  if (!n->branches && !(up && up->branches)) return 0;
  if (!s->fingerprint(s, key)) return 0;
  int shared = s->workers > 1, known = 0;
  if (shared) hd_search_lock(s);
  if (hd__walk_valid(w)) known = visit(w, key, k);
  if (known) s->shared->state_counts.matches++;
  if (shared) hd_search_unlock(s);
  return known;
}

const struct filter hd__filter_states = {.id = FILTER_STATES,
                                         .record = sizeof(struct state_node),
                                         .active = active,
                                         .enter = enter,
                                         .covers = covers};

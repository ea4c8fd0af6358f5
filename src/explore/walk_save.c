/* walk_save.c: the units and junctions of a systematic search as bytes. See save.c for where each direction runs.
 *
 * A junction is written with its place in the table, which others name. A unit is written as the nodes from the one that
 * belongs to its junction down to the last that is fixed; those above follow from the junctions, as when a unit is taken
 * (walk_share.c). What an unfinished execution left below is not written: it is run again.
 *
 * Reading lays the tree out again. Units come into slots from the first on; those beyond the number of workers are
 * adopted by whoever has nothing to do (share.c). */
#include "explore/walk.h"

/* Steps that sleep in one state: no more than there are bytes. */
static uint32_t get_count(struct hd_reader *r) {
  uint64_t n = hd_get_number(r, UINT32_MAX);
  if (n > r->n - r->at) r->bad = 1;
  return r->bad ? 0 : (uint32_t)n;
}

static void put_pick(struct hd_writer *w, union pick p) {
  hd_put_number(w, p.thread);
  hd_put_number(w, p.choice);
  hd_put_number(w, p.fixed_choice | p.executed << 1);
  hd_put_number(w, p.settled);
}

static union pick get_pick(struct hd_reader *r) {
  union pick p = {.word = 0};
  p.thread = (uint16_t)hd_get_number(r, HD_MAX_THREADS - 1);
  p.choice = (uint32_t)hd_get_number(r, UINT32_MAX);
  unsigned bits = (unsigned)hd_get_number(r, 3);
  p.fixed_choice = bits & 1;
  p.executed = bits >> 1 & 1;
  p.settled = (uint8_t)hd_get_number(r, 4);
  return p;
}

void hd__put_sleepers(struct hd_writer *w, const struct hd_sleeper *s, uint32_t n) {
  hd_put_number(w, n);
  for (uint32_t i = 0; i < n; i++) hd_put_sleeper(w, &s[i]);
}

struct hd_branch *hd__get_branch_memory(void *unit) {
  struct unit *u = unit;
  return u->branch_free || u->branch_next != u->branch_end ? hd__branch_new(u) : NULL;
}

void hd__put_steps(struct hd_writer *w, union pick pick, const struct hd_sleeper *did) {
  put_pick(w, pick);
  hd_put_sleeper(w, did);
}

void hd__get_steps(struct hd_reader *r, union pick *pick, struct hd_sleeper *did) {
  *pick = get_pick(r);
  hd_get_sleeper(r, did);
}

void hd__get_sleepers(struct hd_reader *r, struct tree *t, struct junction *j) {
  j->nsleep = get_count(r);
  if (r->bad) return;
  j->sleep = hd__pool_get(t, j->nsleep + 1, &j->cap);
  for (uint32_t k = 0; k < j->nsleep && !r->bad; k++) hd_get_sleeper(r, &j->sleep[k]);
}

/* ---- junctions ---- */

void hd__put_junction(struct hd_writer *w, const struct junction *j) {
  hd__put_steps(w, j->pick, &j->did);
  hd_put_number(w, j->depth);
  hd_put_number(w, j->live);
  hd_put_number(w, j->finished);
  hd_put_number(w, j->starting);
  hd__put_sleepers(w, j->sleep, j->nsleep);
  hd_put_branches(w, j->list);
}

void hd__get_junction(struct hd_reader *r, struct tree *t, struct junction *j, struct unit *memory) {
  hd__get_steps(r, &j->pick, &j->did);
  j->depth = (uint32_t)hd_get_number(r, UINT32_MAX);
  j->live = (uint32_t)hd_get_number(r, UINT32_MAX);
  j->finished = (uint32_t)hd_get_number(r, UINT32_MAX);
  j->starting = (uint32_t)hd_get_number(r, 1);
  hd__get_sleepers(r, t, j);
  j->list = hd_get_branches(r, hd__get_branch_memory, memory);
}

static uint64_t number_of(const struct tree *t, const struct junction *j) {
  return j ? (uint64_t)(j - t->junction) + 1 : 0;
}

static void put_junctions(struct hd_writer *w, const struct tree *t) {
  hd_put_number(w, t->njunctions);
  for (uint32_t i = 0; i < t->njunctions; i++) {
    const struct junction *j = &t->junction[i];
    hd_put_number(w, j->used);
    if (!j->used) continue;
    hd_put_number(w, number_of(t, j->parent));
    hd__put_junction(w, j);
  }
}

static struct junction *get_link(struct hd_reader *r, const struct tree *t) {
  uint64_t n = hd_get_number(r, t->njunctions);
  return n ? &t->junction[n - 1] : NULL;
}

static void get_junctions(struct hd_reader *r, struct tree *t, struct unit *memory) {
  t->njunctions = (uint32_t)hd_get_number(r, t->cap_junctions);
  for (uint32_t i = 0; i < t->njunctions && !r->bad; i++) {
    struct junction *j = &t->junction[i];
    *j = (struct junction){.used = (uint32_t)hd_get_number(r, 1)};
    if (!j->used) continue;
    j->parent = get_link(r, t);
    hd__get_junction(r, t, j, memory);
  }
  for (uint32_t i = 0; i < t->njunctions && !r->bad; i++) {
    const struct junction *j = &t->junction[i], *up = j->parent;
    if (j->used && (up ? !up->used || up->depth + 1 != j->depth : j->depth != 0)) r->bad = 1;
  }
}

/* ---- units ---- */

void hd__put_nodes(struct hd_writer *out, struct walk *w) {
  const struct unit *u = w->unit;
  uint32_t from = u->base ? u->base - 1 : 0;
  hd_put_number(out, u->base);
  hd_put_number(out, u->depth);
  hd_put_number(out, u->told);
  hd_put_number(out, u->whole);
  for (uint32_t k = from; k < u->depth; k++) {
    const struct node *n = &u->node[k];
    put_pick(out, n->pick);
    hd_put_sleeper(out, &n->did);
    hd_put_number(out, n->finished);
    hd__put_sleepers(out, n->sleep, n->nsleep);
    hd_put_branches(out, k >= u->base ? n->list : NULL);
    if (k >= u->base && w->policy->put_record) w->policy->put_record(w, k, out);
  }
  if (u->depth) hd_put_branch(out, u->node[u->depth - 1].branch);
}

static void put_unit(struct hd_writer *out, struct walk *w) {
  hd_put_number(out, number_of(hd__tree(w->s), w->unit->root));
  hd__put_nodes(out, w);
}

static void get_node(struct hd_reader *r, struct walk *w, uint32_t k) {
  struct unit *u = w->unit;
  struct node *n = &u->node[k];
  *n = (struct node){.pick = get_pick(r), .sleep = u->sleep_next};
  hd_get_sleeper(r, &n->did);
  n->finished = (uint32_t)hd_get_number(r, UINT32_MAX);
  n->nsleep = get_count(r);
  if (!r->bad && (uint64_t)(u->sleep_end - u->sleep_next) < n->nsleep + 1ull) r->bad = 1;
  for (uint32_t i = 0; i < n->nsleep && !r->bad; i++) hd_get_sleeper(r, u->sleep_next++);
  n->list = hd_get_branches(r, hd__get_branch_memory, u);
  if (k >= u->base && w->policy->get_record) w->policy->get_record(w, k, r);
}

void hd__get_nodes(struct hd_reader *r, struct walk *w) {
  struct unit *u = w->unit;
  u->base = (uint32_t)hd_get_number(r, u->node_cap);
  u->depth = (uint32_t)hd_get_number(r, u->node_cap);
  u->told = (uint32_t)hd_get_number(r, 1);
  u->whole = (uint32_t)hd_get_number(r, 1);
  if (u->root ? u->base != u->root->depth + 1 || u->depth < u->base : u->base != 0) r->bad = 1;
  if (r->bad) return;
  for (struct junction *i = u->root; i && i->parent; i = i->parent) hd__prefix_node(u, i);
  for (uint32_t k = u->base ? u->base - 1 : 0; k < u->depth && !r->bad; k++) get_node(r, w, k);
  if (u->base) u->node[u->base - 1].junction = u->root;
  if (u->depth) u->node[u->depth - 1].branch = hd_get_branch(r, hd__get_branch_memory, u);
  u->active = 1;
}

static void get_unit(struct hd_reader *r, struct walk *w) {
  w->unit->root = get_link(r, hd__tree(w->s));
  hd__get_nodes(r, w);
}

/* ---- the tree ---- */

static unsigned active_units(struct hd_search *s) {
  const struct tree *t = hd__tree(s);
  unsigned n = 0;
  for (unsigned i = 0; i < t->nslots; i++) n += hd__unit_active(s, i) != 0;
  return n;
}

void hd__walk_save(struct hd_search *s, const struct policy *policy, struct hd_writer *out) {
  struct tree *t = hd__tree(s);
  struct walk *w = hd__walk_set_up(s, policy);
  hd_put_number(out, t->ready);
  if (!t->ready) return;
  hd__walk_close(s);
  unsigned n = active_units(s);
  hd_put_number(out, n);
  hd_put_number(out, t->started);
  hd_put_number(out, t->complete);
  hd_put_number(out, t->whole);
  hd_put_number(out, t->spread);
  for (unsigned i = 0; w->filter[i]; i++)
    if (w->filter[i]->put) w->filter[i]->put(w, out);
  put_junctions(out, t);
  for (unsigned i = 0; i < t->nslots; i++) {
    w->unit = hd__unit(s, i);
    if (w->unit->epoch == t->epoch && w->unit->active) put_unit(out, w);
  }
}

void hd__walk_load(struct hd_search *s, const struct policy *policy, struct hd_reader *r) {
  struct walk *w = hd__walk_set_up(s, policy);
  if (!hd_get_number(r, 1)) return;
  unsigned n = (unsigned)hd_get_number(r, HD_MAX_UNITS);
  if (r->bad) return;
  hd__walk_lay_out(w, hd__walk_slots(s, n > s->workers ? n : s->workers));
  struct tree *t = hd__tree(s);
  hd__tree_set_ready(t, 0);
  for (unsigned i = 0; i < t->nslots; i++) hd__walk_lay_out_unit(w, hd__unit(s, i));
  t->started = (uint32_t)hd_get_number(r, 1);
  t->complete = (uint32_t)hd_get_number(r, 1);
  t->whole = (uint32_t)hd_get_number(r, 1);
  t->spread |= (uint32_t)hd_get_number(r, 1);
  for (unsigned i = 0; w->filter[i]; i++)
    if (w->filter[i]->get) w->filter[i]->get(w, r);
  get_junctions(r, t, hd__unit(s, 0));
  for (unsigned i = 0; i < n && !r->bad; i++) {
    w->unit = hd__unit(s, i);
    get_unit(r, w);
  }
  if (!r->bad) hd__tree_set_ready(t, 1);
}

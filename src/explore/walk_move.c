/* walk_move.c: units of work between machines. Runs in the supervisor, on the search memory of its own machine.
 *
 * Each machine of a cluster has a tree of its own (walk.h). A unit whose first step is known is handed over together
 * with the junctions above it. At the receiver these are *foreign*: copies, with the rank of the owner and the number
 * that the junction has there. The workers of the receiver use them like any others. Whatever they insert at one is
 * sent to its owner, and so is the conclusion of the unit.
 *
 * Invariants
 *  1. A junction has one owner, the machine that made it. Only the owner begins branches there, closes it, and counts
 *     what is under way below it; a unit that was handed over counts at the giver's junction until it is concluded.
 *  2. What a foreign copy has is at the owner, was begun there, or is on its way: the sleep list and the pending branches
 *     of a junction only ever cover more. So what the copy covers need not be sent. What is sent may be covered at the
 *     owner by something newer that is merely independent of it. Then a step of the branch sleeps where the branch has it
 *     go: such a step is left out (walk.c), and an execution in which everything sleeps is given up as redundant, as with
 *     several workers (walk_share.c, invariant 4). So no class is run twice. And the branch absorbs what the one that
 *     covers it asks for later: so in it nothing is left to what merely sleeps (`late`, `weak`), and no class is lost.
 *  3. A unit is concluded when everything below it is explored and the owners have acknowledged all it inserted. (Each
 *     message goes straight to the owner, so one may overtake the conclusion of a unit that contains this one.)
 *  4. What holds for the whole search, and not for a unit alone, goes to the owner with the conclusion of a unit, and so to
 *     the first machine before the search is over: whether a bound left something out, what is left for the next phase, which
 *     memory several threads accessed.
 *  5. All of this happens under the lock of the search. A unit is given while its worker waits between two executions,
 *     and accepted for a worker that has found nothing to do. */
#include "explore/walk.h"

/* Branches of the supervisor are in the last slot, which is no worker's. */
static struct unit *spare(struct walk *w) {
  struct unit *u = hd__unit(w->s, hd__tree(w->s)->nslots - 1);
  if (u->epoch != hd__tree(w->s)->epoch) hd__walk_lay_out_unit(w, u);
  return u;
}

static void release(struct unit *u, struct hd_branch *b) {
  b->next = u->branch_free;
  u->branch_free = b;
}

/* Releases the branch, its siblings and what is below them. What is left to release is one list: children are put in front
 * of it. */
static void release_tree(struct unit *u, struct hd_branch *b) {
  while (b) {
    struct hd_branch *rest = b->next, *c = b->child;
    if (c) {
      struct hd_branch *last = c;
      while (last->next) last = last->next;
      last->next = rest;
      rest = c;
    }
    release(u, b);
    b = rest;
  }
}

static int is_pending(const struct tree *t) {
  for (uint32_t i = 0; i < t->njunctions; i++) {
    const struct junction *j = &t->junction[i];
    if (j->used && j->list && !j->foreign) return 1;
  }
  return 0;
}

int hd_units_idle(struct hd_search *s) {
  const struct tree *t = hd__tree(s);
  if (!t->ready) return s->config->cluster > 1;
  for (unsigned i = 0; i < t->nslots; i++)
    if (hd__unit_active(s, i)) return 0;
  return !is_pending(t) && (t->started || s->config->cluster > 1);
}

/* ---- giving ---- */

static int is_attended(const struct hd_search *s, unsigned slot) {
  for (unsigned w = 0; w < s->workers; w++) {
    uint32_t other = s->shared->slot_of[w];
    if (slot == (other ? other - 1 : w)) return 1;
  }
  return 0;
}

/* The unit nearest to the root; its slot, or -1. One that a worker is at only if there is something else for it to do. */
static int choose_unit(struct hd_search *s) {
  const struct tree *t = hd__tree(s);
  int best = -1, pending = is_pending(t);
  uint32_t depth = UINT32_MAX;
  for (unsigned i = 0; i < t->nslots; i++) {
    const struct unit *u = hd__unit(s, i);
    if (!hd__unit_active(s, i) || !u->told || !u->root || u->root->foreign || u->in_flight) continue;
    if (u->root->depth >= depth || (!pending && is_attended(s, i))) continue;
    best = (int)i;
    depth = u->root->depth;
  }
  return best;
}

/* From the junction up to the initial state. */
static void put_chain(struct hd_writer *out, const struct tree *t, const struct junction *j, uint32_t self) {
  hd_put_number(out, j->depth);
  for (; j; j = j->parent) {
    hd_put_number(out, j->foreign ? j->foreign - 1 : self);
    hd_put_number(out, j->foreign ? j->number : (uint64_t)(j - t->junction));
    hd__put_steps(out, j->pick, &j->did);
    hd__put_sleepers(out, j->sleep, j->nsleep);
    hd_put_branches(out, j->list);
  }
}

int hd_units_give(struct hd_search *s, const struct hd_strategy *strategy, struct hd_writer *out) {
  const struct tree *t = hd__tree(s);
  if (!t->ready || t->complete) return 0;
  struct walk *w = hd__walk_set_up(s, strategy->policy(s));
  hd__walk_close(s);
  int slot = choose_unit(s);
  if (slot < 0) {
    hd_crew_add(&s->shared->hungry, s->worker); /* whoever can will share what it has */
    return 0;
  }
  struct unit *u = w->unit = hd__unit(s, (unsigned)slot);
  hd_put_number(out, t->whole);
  put_chain(out, t, u->root, s->config->cluster - 1);
  hd__put_nodes(out, w);
  if (out->bad) return 0;
  u->active = 0;
  u->known = 0;
  for (unsigned i = 0; i < s->workers; i++)
    if (s->shared->slot_of[i] == (uint32_t)slot + 1) s->shared->slot_of[i] = 0;
  return 1;
}

/* ---- accepting ---- */

static void mark_sent(struct walk *w, struct hd_branch *b) {
  struct hd_branch **stack = (struct hd_branch **)w->scratch;
  uint32_t n = 0;
  for (; b; b = n ? stack[--n] : NULL) {
    b->sent = 1;
    if (b->next) stack[n++] = b->next;
    if (b->child) stack[n++] = b->child;
  }
}

static void free_chain(struct walk *w, struct junction *j) {
  struct tree *t = hd__tree(w->s);
  for (; j; j = j->parent) {
    release_tree(spare(w), j->list);
    if (j->cap) hd__pool_put(t, j->sleep, j->cap);
    j->used = 0;
  }
}

static struct junction *get_chain(struct hd_reader *r, struct walk *w, uint32_t serial) {
  struct tree *t = hd__tree(w->s);
  struct junction *bottom = NULL, *below = NULL;
  uint32_t depth = (uint32_t)hd_get_number(r, UINT32_MAX - 1);
  for (uint32_t k = depth + 1; k-- > 0 && !r->bad;) {
    struct junction *j = hd__junction_new(t);
    *j = (struct junction){.used = 1, .depth = k, .live = 1, .serial = serial};
    if (below)
      below->parent = j;
    else
      bottom = j;
    below = j;
    j->foreign = 1 + (uint32_t)hd_get_number(r, UINT32_MAX - 1);
    j->number = (uint32_t)hd_get_number(r, UINT32_MAX);
    hd__get_steps(r, &j->pick, &j->did);
    hd__get_sleepers(r, t, j);
    j->list = hd_get_branches(r, hd__get_branch_memory, spare(w));
    mark_sent(w, j->list);
  }
  return bottom;
}

int hd_units_accept(struct hd_search *s, const struct hd_strategy *strategy, uint32_t serial,
                    struct hd_reader *r) {
  struct tree *t = hd__tree(s);
  if (!t->ready) return HD_BEGIN_LATER;
  unsigned slot = 0;
  while (slot < s->workers &&
         (hd__unit_active(s, slot) || s->shared->slot_of[slot] || !hd_crew_has(&s->shared->hungry, slot)))
    slot++;
  if (slot == s->workers) return HD_BEGIN_LATER;
  struct walk *w = hd__walk_set_up(s, strategy->policy(s));
  t->whole |= (uint32_t)hd_get_number(r, 1);
  struct junction *j = get_chain(r, w, serial);
  struct unit *u = w->unit = hd__unit(s, slot);
  if (u->epoch != t->epoch) hd__walk_lay_out_unit(w, u);
  u->root = j;
  u->known = 0;
  u->in_flight = 0;
  u->sleep_next = u->sleep_base;
  if (!r->bad) hd__get_nodes(r, w);
  if (r->bad) {
    u->active = 0;
    free_chain(w, j);
    return 0;
  }
  hd_crew_del(&s->shared->hungry, slot);
  return 1;
}

/* ---- what the owners have to know ---- */

static void put_step(struct hd_writer *out, const struct hd_branch *b) {
  hd_put_number(out, b->any_choice);
  hd_put_op(out, &b->op);
  hd_put_number(out, b->choice);
  hd_put_number(out, b->flags);
}

/* The n steps that lead to the branch, and the branch. */
static void put_insertion(struct hd_writer *out, const struct junction *j, struct hd_branch *const *path,
                          uint32_t n, const struct hd_branch *b) {
  hd_put_number(out, j->number);
  hd_put_number(out, n);
  for (uint32_t i = 0; i < n; i++) put_step(out, path[i]);
  hd_put_branch(out, b);
}

static void put_new_branches(struct walk *w, const struct junction *j, struct hd_writer *out,
                             hd_units_told *told, void *ctx) {
  struct hd_branch **path = (struct hd_branch **)w->scratch + (1u << 26);
  uint32_t n = 0;
  for (struct hd_branch *b = j->list;;) {
    while (!b && n) b = path[--n]->next;
    if (!b) return;
    if (b->sent) {
      path[n++] = b;
      b = b->child;
      continue;
    }
    out->n = 0;
    put_insertion(out, j, path, n, b);
    told(ctx, HD_UNITS_INSERT, j->foreign - 1, j->serial, out);
    struct hd_branch *next = b->next;
    b->next = NULL;
    mark_sent(w, b);
    b->next = next;
    b = next;
  }
}

/* Invariant 4. */
enum { LEARNED_CUT = 1, LEARNED_PARTIAL = 2, LEARNED_WAITED = 4, LEARNED_RENUMBERED = 8, LEARNED_WHOLE = 16 };

static void put_learned(struct hd_search *s, struct hd_writer *out) {
  const struct hd_shared *sh = s->shared;
  hd_put_number(out, (hd_bound_cut(s) ? LEARNED_CUT : 0u) | (sh->partial ? LEARNED_PARTIAL : 0u) |
                         (sh->waited ? LEARNED_WAITED : 0u) | (sh->renumbered ? LEARNED_RENUMBERED : 0u) |
                         (hd__tree(s)->whole ? LEARNED_WHOLE : 0u));
  if (s->accessed) hd__tree(s)->accesses = hd_accessed_put(s, hd__tree(s)->accesses, out);
}

static void get_learned(struct hd_search *s, struct hd_reader *r) {
  struct hd_shared *sh = s->shared;
  unsigned learned = (unsigned)hd_get_number(r, 31);
  if (learned & LEARNED_CUT) sh->bound_cut = hd_shared_cut(sh, s->config);
  if (learned & LEARNED_PARTIAL) sh->partial = 1;
  if (learned & LEARNED_WAITED) sh->waited = 1;
  if (learned & LEARNED_RENUMBERED) sh->renumbered = 1;
  if (learned & LEARNED_WHOLE) hd__tree(s)->whole = 1;
  if (s->accessed) hd_accessed_get(s, r);
}

void hd_units_news(struct hd_search *s, const struct hd_strategy *strategy, struct hd_writer *out,
                   hd_units_told *told, void *ctx) {
  struct tree *t = hd__tree(s);
  if (!t->ready || !t->news) return;
  struct walk *w = hd__walk_set_up(s, strategy->policy(s));
  t->news = 0;
  for (uint32_t i = 0; i < t->njunctions; i++)
    if (t->junction[i].used && t->junction[i].foreign) put_new_branches(w, &t->junction[i], out, told, ctx);
  for (uint32_t i = 0; i < t->njunctions; i++) {
    struct junction *j = &t->junction[i];
    if (!j->used || !j->concluded) continue;
    out->n = 0;
    hd_put_number(out, j->number);
    put_learned(s, out);
    told(ctx, HD_UNITS_CONCLUDED, j->foreign - 1, j->serial, out);
    free_chain(w, j);
  }
}

/* ---- as the owner ---- */

static struct junction *get_owned(struct hd_reader *r, struct tree *t) {
  uint64_t number = hd_get_number(r, UINT32_MAX);
  struct junction *j = &t->junction[number];
  if (r->bad || !t->ready || number >= t->njunctions || !j->used || j->foreign) {
    r->bad = 1;
    return NULL;
  }
  return j;
}

static struct hd_branch *get_insertion(struct hd_reader *r, struct unit *u) {
  struct hd_branch *top = NULL, **to = &top;
  uint32_t n = (uint32_t)hd_get_number(r, UINT32_MAX);
  for (uint32_t i = 0; i < n && !r->bad; i++) {
    struct hd_branch *b = *to = hd__branch_new(u);
    b->any_choice = hd_get_number(r, 1) != 0;
    hd_get_op(r, &b->op);
    b->choice = (uint32_t)hd_get_number(r, UINT32_MAX);
    b->flags = (uint16_t)hd_get_number(r, 0xff);
    to = &b->child;
  }
  *to = hd_get_branch(r, hd__get_branch_memory, u);
  return r->bad ? NULL : top;
}

/* Adds the branch, with what is below it, to the list, as far as it is not there. */
static void merge(struct unit *u, struct hd_branch **list, struct hd_branch *b) {
  for (;;) {
    struct hd_branch **p = list, *c;
    b->next = NULL;
    for (; (c = *p); p = &c->next)
      if (c->op.thread == b->op.thread && (c->any_choice || b->any_choice || c->choice == b->choice)) break;
    if (!c) {
      b->late = 1;
      __atomic_store_n(p, b, __ATOMIC_RELEASE);
      return;
    }
    struct hd_branch *below = b->child;
    release(u, b);
    if (c->child && below) c->late = 1;
    if (!c->child || !below) { /* everything from there on will be explored */
      release_tree(u, below);
      return;
    }
    list = &c->child;
    while (below->next) {
      struct hd_branch *next = below->next;
      merge(u, list, below);
      below = next;
    }
    b = below;
  }
}

int hd_units_insert(struct hd_search *s, const struct hd_strategy *strategy, struct hd_reader *r) {
  struct tree *t = hd__tree(s);
  struct walk *w = hd__walk_set_up(s, strategy->policy(s));
  struct junction *j = get_owned(r, t);
  if (!j) return 0;
  if (j->starting) return HD_BEGIN_LATER;
  struct unit *u = spare(w);
  struct hd_branch *b = get_insertion(r, u);
  if (!b) return 0;
  if (hd__sleeps(j->sleep, j->nsleep, b))
    release_tree(u, b);
  else
    merge(u, &j->list, b);
  return 1;
}

int hd_units_concluded(struct hd_search *s, const struct hd_strategy *strategy, struct hd_reader *r) {
  struct tree *t = hd__tree(s);
  hd__walk_set_up(s, strategy->policy(s));
  struct junction *j = get_owned(r, t);
  if (!j || !j->live) return 0;
  get_learned(s, r);
  if (r->bad) return 0;
  if (hd_search_stale(s)) { /* what was explored compared too little */
    hd_search_restart(s, strategy);
    return 1;
  }
  j->finished++;
  j->live--;
  if (!j->live && !j->list) t->closing = j;
  hd__walk_close(s);
  return 1;
}

/* ---- the trees of all machines as one, to be saved ---- */

static void put_link(struct hd_writer *out, const struct tree *t, const struct junction *j, uint32_t self) {
  hd_put_number(out, j != NULL);
  if (!j) return;
  hd_put_number(out, j->foreign ? j->foreign - 1 : self);
  hd_put_number(out, j->foreign ? j->number : (uint64_t)(j - t->junction));
}

void hd_units_put_junctions(struct hd_search *s, const struct hd_strategy *strategy, struct hd_writer *out) {
  const struct tree *t = hd__tree(s);
  hd__walk_set_up(s, strategy->policy(s));
  hd_put_number(out, t->ready);
  if (!t->ready) return;
  hd__walk_close(s);
  hd_put_number(out, t->started);
  hd_put_number(out, t->complete);
  hd_put_number(out, t->whole);
  hd_put_number(out, t->njunctions);
  for (uint32_t i = 0; i < t->njunctions; i++) {
    const struct junction *j = &t->junction[i];
    int own = j->used && !j->foreign;
    hd_put_number(out, (uint64_t)own);
    if (!own) continue;
    put_link(out, t, j->parent, s->config->cluster - 1);
    hd__put_junction(out, j);
  }
}

void hd_units_put_units(struct hd_search *s, const struct hd_strategy *strategy, struct hd_writer *out) {
  const struct tree *t = hd__tree(s);
  struct walk *w = hd__walk_set_up(s, strategy->policy(s));
  unsigned n = 0;
  for (unsigned i = 0; t->ready && i < t->nslots; i++) n += hd__unit_active(s, i) != 0;
  hd_put_number(out, n);
  for (unsigned i = 0; n && i < t->nslots; i++) {
    if (!hd__unit_active(s, i)) continue;
    w->unit = hd__unit(s, i);
    put_link(out, t, w->unit->root, s->config->cluster - 1);
    hd__put_nodes(out, w);
  }
}

void hd_units_merge_begin(struct hd_search *s, const struct hd_strategy *strategy, unsigned units) {
  struct walk *w = hd__walk_set_up(s, strategy->policy(s));
  hd__walk_lay_out(w, units + 1); /* the last for the branches of the junctions */
  for (unsigned i = 0; i <= units; i++) hd__walk_lay_out_unit(w, hd__unit(s, i));
  hd__tree(s)->started = hd__tree(s)->spread = 1;
}

/* Where the junctions of each rank begin in the table. */
static struct junction *get_link(struct hd_reader *r, const struct tree *t, const uint32_t *first,
                                 uint32_t ranks) {
  if (!hd_get_number(r, 1)) return NULL;
  uint64_t rank = hd_get_number(r, ranks - 1), number = hd_get_number(r, UINT32_MAX);
  if (r->bad || first[rank] + number >= first[rank + 1]) {
    r->bad = 1;
    return NULL;
  }
  return &t->junction[first[rank] + number];
}

uint32_t hd_units_count_junctions(struct hd_reader *r) {
  if (!hd_get_number(r, 1)) return 0;
  for (int i = 0; i < 3; i++) hd_get_number(r, 1);
  return (uint32_t)hd_get_number(r, UINT32_MAX);
}

int hd_units_merge_junctions(struct hd_search *s, uint32_t rank, const uint32_t *first, uint32_t ranks,
                             struct hd_reader *r) {
  struct tree *t = hd__tree(s);
  if (!hd_get_number(r, 1)) return !r->bad;
  uint32_t started = (uint32_t)hd_get_number(r, 1), complete = (uint32_t)hd_get_number(r, 1);
  if (!rank) {
    t->started = started;
    t->complete = complete;
  }
  t->whole |= (uint32_t)hd_get_number(r, 1);
  uint32_t n = (uint32_t)hd_get_number(r, UINT32_MAX);
  if (first[ranks] > t->cap_junctions || n != first[rank + 1] - first[rank]) r->bad = 1;
  if (t->njunctions < first[ranks] && !r->bad) {
    for (uint32_t i = 0; i < first[ranks]; i++) t->junction[i] = (struct junction){0};
    t->njunctions = first[ranks];
  }
  for (uint32_t i = 0; i < n && !r->bad; i++) {
    struct junction *j = &t->junction[first[rank] + i];
    if (!hd_get_number(r, 1)) continue;
    j->used = 1;
    j->parent = get_link(r, t, first, ranks);
    hd__get_junction(r, t, j, hd__unit(s, t->nslots - 1));
  }
  return !r->bad;
}

int hd_units_merge_units(struct hd_search *s, const uint32_t *first, uint32_t ranks, unsigned *at,
                         struct hd_reader *r) {
  struct tree *t = hd__tree(s);
  struct walk *w = s->own;
  unsigned n = (unsigned)hd_get_number(r, UINT32_MAX);
  for (unsigned i = 0; i < n && !r->bad; i++) {
    if (*at == t->nslots - 1) r->bad = 1;
    if (r->bad) break;
    w->unit = hd__unit(s, (*at)++);
    w->unit->root = get_link(r, t, first, ranks);
    if (!r->bad) hd__get_nodes(r, w);
  }
  return !r->bad;
}

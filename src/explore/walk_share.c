/* walk_share.c: units of work and the junctions between them. Runs in the tested process.
 *
 * Invariants (with the lock free)
 *  1. Every branch of the tree that is not explored is: pending in a node of an active unit, pending at a junction,
 *     or under way (an active unit, or a junction below). `live` of a junction counts the latter.
 *  2. A junction's sleep list holds what slept there and the first step of every branch begun there, but for one
 *     (`starting`) whose first execution is not over. Until that is known no other branch is begun there, and
 *     whoever wants to insert one waits: what is begun covers what is inserted.
 *  3. A junction from which everything is explored is closed: its parent's counters are changed in the same commit
 *     that frees it. `closing` names the next one, so that this continues after a worker was killed.
 *  4. A branch that is begun while others of the same junction are under way cannot count on what those would have
 *     added at the junction: it finds it begun. So what sleeps there covers in the new unit only what begins with it
 *     (`weak`), as in the classic algorithm; some of its executions may have to be given up. No class is run twice or
 *     left out.
 *  5. A junction knows the operation that leads to it (`did`): whoever takes a branch below compares the operations of
 *     its prefix with those of the worker that donated it (walk.c, invariant 3). */
#include "explore/walk.h"

/* ---- sleep lists of junctions: blocks of 2^i entries ---- */

/* A free block begins with the address of the next one. */
typedef struct hd_sleeper *__attribute__((may_alias)) block;

static struct hd_sleeper *pool_get(struct tree *t, unsigned i) {
  struct hd_sleeper *p = t->pool_free[i];
  if (p) {
    t->pool_free[i] = *(block *)p;
    return p;
  }
  if ((uint64_t)(t->pool_end - t->pool_next) < (1ull << i)) hd_give_up(HD_TREE_FULL);
  p = t->pool_next;
  t->pool_next += 1ull << i;
  return p;
}

void hd__pool_put(struct tree *t, struct hd_sleeper *p, uint32_t cap) {
  unsigned i = (unsigned)__builtin_ctz(cap);
  *(block *)p = t->pool_free[i];
  t->pool_free[i] = p;
}

static unsigned log2_up(uint32_t n) {
  unsigned i = 2;
  while ((1u << i) < n) i++;
  return i;
}

struct hd_sleeper *hd__pool_get(struct tree *t, uint32_t n, uint32_t *cap) {
  unsigned i = log2_up(n);
  *cap = 1u << i;
  return pool_get(t, i);
}

/* ---- junctions ---- */

struct junction *hd__junction_new(struct tree *t) {
  for (uint32_t i = 0; i < t->njunctions; i++)
    if (!t->junction[i].used) return &t->junction[i];
  if (t->njunctions == t->cap_junctions) hd_give_up(HD_TREE_FULL);
  struct junction *j = &t->junction[t->njunctions];
  *j = (struct junction){0};
  t->njunctions++;
  return j;
}

/* Adds to the list of writes what puts `did` to sleep at the junction. */
static void redo_begun(struct hd_search *s, struct junction *j, const struct hd_sleeper *did) {
  struct tree *t = hd__tree(s);
  if (j->nsleep == j->cap) { /* the old block is lost: too rare to care */
    uint32_t cap;
    struct hd_sleeper *more = hd__pool_get(t, j->cap + 1, &cap);
    for (uint32_t k = 0; k < j->nsleep; k++) more[k] = j->sleep[k];
    more[j->nsleep] = *did;
    HD_REDO(s, j->sleep, more);
    HD_REDO(s, j->cap, cap);
  } else {
    j->sleep[j->nsleep] = *did;
  }
  HD_REDO(s, j->nsleep, j->nsleep + 1);
}

void hd__walk_publish(struct hd_search *s, struct unit *u) {
  const struct node *n = &u->node[u->base - 1];
  if (!u->root || u->told) return;
  if (n->pick.executed) redo_begun(s, u->root, &n->did);
  HD_REDO(s, u->root->starting, 0);
  HD_REDO(s, u->told, 1);
  hd__redo_commit(s);
}

void hd__walk_lock_junctions(struct walk *w) {
  struct hd_search *s = w->s;
  for (;;) {
    const struct junction *j = w->unit->root;
    hd_search_lock(s);
    if (!hd__walk_valid(w)) return;
    while (j && !j->starting) j = j->parent;
    if (!j) return;
    hd_search_unlock(s);
    s->status->upkeep++; /* the other worker may take long to begin */
    if (s->relax) s->relax();
  }
}

void hd__walk_finish(struct hd_search *s, struct unit *u) {
  struct tree *t = hd__tree(s);
  HD_REDO(s, u->active, 0);
  HD_REDO(s, s->shared->slot_of[s->worker], 0);
  struct junction *j = u->root;
  if (!j) {
    HD_REDO(s, t->complete, 1);
    return;
  }
  HD_REDO(s, j->live, j->live - 1);
  HD_REDO(s, j->finished, j->finished + 1);
  if (j->live == 1 && (!j->list || j->foreign)) HD_REDO(s, t->closing, j);
}

/* pre: the lock is held. */
void hd__walk_close(struct hd_search *s) {
  struct tree *t = hd__tree(s);
  while (t->closing) {
    struct junction *j = t->closing, *up = j->parent;
    if (j->foreign) { /* its owner goes on, when it has been told */
      HD_REDO(s, j->concluded, 1);
      HD_REDO(s, t->news, 1);
      HD_REDO(s, t->closing, NULL);
      hd__redo_commit(s);
      return;
    }
    HD_REDO(s, j->used, 0);
    if (up) {
      HD_REDO(s, up->live, up->live - 1);
      HD_REDO(s, up->finished, up->finished + 1);
    } else {
      HD_REDO(s, t->complete, 1);
    }
    HD_REDO(s, t->closing, up && up->live == 1 && (!up->list || up->foreign) ? up : NULL);
    hd__redo_commit(s);
    hd__pool_put(t, j->sleep, j->cap);
  }
}

/* ---- giving ---- */

/* Turns the node at k into a junction; what it says of itself is not known to others before the commit. */
static struct junction *convert(struct hd_search *s, struct unit *u, uint32_t k, struct junction *parent) {
  struct tree *t = hd__tree(s);
  const struct node *n = &u->node[k];
  uint32_t cap;
  struct hd_sleeper *sleep = hd__pool_get(t, n->nsleep + 1, &cap);
  struct junction *j = hd__junction_new(t);
  *j = (struct junction){.parent = parent,
                         .pick = k ? u->node[k - 1].pick : (union pick){.word = 0},
                         .did = k ? u->node[k - 1].did : (struct hd_sleeper){.weak = 0},
                         .depth = k,
                         .live = 1,
                         .finished = n->finished,
                         .nsleep = n->nsleep + 1,
                         .cap = cap,
                         .sleep = sleep,
                         .list = n->list};
  for (uint32_t q = 0; q < n->nsleep; q++) j->sleep[q] = n->sleep[q];
  j->sleep[n->nsleep] = n->did;
  /* Where nothing waits there is nothing to find; the one where something does appears with the commit. */
  j->used = !n->list;
  return j;
}

/* Another worker is idle: everything that waits at the shallowest node that has any becomes available to all. */
void hd__walk_donate(struct walk *w) {
  struct hd_search *s = w->s;
  struct unit *u = w->unit;
  uint32_t k = u->base;
  while (k + 1 < u->depth && !u->node[k].list) k++;
  if (k + 1 >= u->depth) return; /* what the branch of the last node does is not known yet */
  hd_search_lock(s);
  if (hd__walk_valid(w)) {
    struct junction *j = u->root;
    for (uint32_t i = u->base; i <= k; i++) u->node[i].junction = j = convert(s, u, i, j);
    HD_REDO(s, j->used, 1);
    HD_REDO(s, u->root, j);
    HD_REDO(s, u->base, k + 1);
    HD_REDO(s, u->told, 1);
    HD_REDO(s, u->node[k].list, NULL);
    hd__redo_commit(s);
    hd_crew_clear(&s->shared->hungry);
  }
  hd_search_unlock(s);
}

/* ---- taking ---- */

void hd__prefix_node(struct unit *u, const struct junction *j) {
  struct node *n = &u->node[j->depth - 1];
  *n = (struct node){.pick = j->pick, .did = j->did, .sleep = u->sleep_base, .junction = j->parent};
  n->pick.settled = 0; /* others have looked at what it races with, with another sequel */
}

/* The unit in whose memory the branch is. */
static struct unit *home(struct hd_search *s, const struct hd_branch *b) {
  const struct tree *t = hd__tree(s);
  return hd__unit(s, (unsigned)((uint64_t)((const char *)b - t->slot) / t->slot_size));
}

/* Moves the branch that the link leads to into the memory of the unit. A worker that is killed in between loses one. */
static void move(struct hd_search *s, struct unit *u, struct hd_branch **link) {
  struct hd_branch *b = *link, *copy;
  struct unit *from = home(s, b);
  if (from == u) return;
  copy = hd__branch_new(u);
  *copy = *b;
  __atomic_store_n(link, copy, __ATOMIC_RELEASE);
  b->next = from->branch_returned;
  from->branch_returned = b;
}

/* The first branch of the junction, with what is below it; all of it in the memory of the unit (walk.c, invariant 5). */
static struct hd_branch *adopt(struct hd_search *s, struct unit *u, struct junction *j) {
  struct hd_branch ***stack = (struct hd_branch ***)((struct walk *)s->own)->scratch;
  uint32_t n = 0;
  move(s, u, &j->list);
  stack[n++] = &j->list->child;
  while (n) {
    for (struct hd_branch **link = stack[--n]; *link; link = &(*link)->child) {
      move(s, u, link);
      if ((*link)->next) stack[n++] = &(*link)->next;
    }
  }
  return j->list;
}

/* Makes the first branch that waits at the junction the unit of this worker. */
static void take(struct hd_search *s, struct unit *u, struct junction *j) {
  struct hd_branch *b = adopt(s, u, j);
  struct node *n = &u->node[j->depth];
  *n = (struct node){.pick = {.thread = b->op.thread, .choice = b->choice, .fixed_choice = !b->any_choice},
                     .nsleep = j->nsleep,
                     .sleep = u->sleep_base,
                     .branch = b,
                     .junction = j};
  if (u->sleep_end - u->sleep_base < j->nsleep) hd_give_up(HD_TREE_FULL);
  for (uint32_t i = 0; i < j->nsleep; i++) {
    u->sleep_base[i] = j->sleep[i];
    u->sleep_base[i].weak |= j->live > 0 || b->late;
  }
  for (struct junction *i = j; i->parent; i = i->parent) hd__prefix_node(u, i);
  HD_REDO(s, j->list, b->next);
  HD_REDO(s, j->live, j->live + 1);
  HD_REDO(s, j->starting, 1);
  HD_REDO(s, u->root, j);
  HD_REDO(s, u->told, 0);
  HD_REDO(s, u->known, 0);
  HD_REDO(s, u->whole, 0);
  HD_REDO(s, u->base, j->depth + 1);
  HD_REDO(s, u->depth, j->depth + 1);
  HD_REDO(s, u->active, 1);
  hd__redo_commit(s);
}

/* Where the most is likely to be left: nearest to the root. */
static struct junction *shallowest(const struct tree *t) {
  struct junction *best = NULL;
  for (uint32_t i = 0; i < t->njunctions; i++) {
    struct junction *j = &t->junction[i];
    if (j->used && j->list && !j->starting && !j->foreign && (!best || j->depth < best->depth)) best = j;
  }
  return best;
}

static int find(struct hd_search *s, struct unit **u) {
  struct tree *t = hd__tree(s);
  if (t->complete) return 0;
  if (!t->started && s->config->cluster <= 1) { /* of several machines, the first begins */
    HD_REDO(s, t->started, 1);
    HD_REDO(s, (*u)->active, 1);
    hd__redo_commit(s);
    return 1;
  }
  if (hd__slot_adopt(s, t->nslots, hd__unit_active)) {
    *u = hd__unit(s, hd__slot(s));
    return 1;
  }
  struct junction *j = shallowest(t);
  if (!j) return HD_BEGIN_LATER;
  take(s, *u, j);
  return 1;
}

int hd__walk_find_work(struct hd_search *s, struct unit **u) {
  hd__walk_close(s);
  if (!(*u)->branch_free) {
    (*u)->branch_free = (*u)->branch_returned;
    (*u)->branch_returned = NULL;
  }
  int found = find(s, u);
  if (found == HD_BEGIN_LATER)
    hd_crew_add(&s->shared->hungry, s->worker);
  else if (s->config->cluster) /* so that whoever is in the set has found nothing (walk_move.c) */
    hd_crew_del(&s->shared->hungry, s->worker);
  return found;
}

/* ---- how far it is ---- */

/* Each leaf of a wakeup tree leads to an execution of its own. Adds what was looked at to *cost. */
static double leaves(const struct hd_branch *b, uint64_t *cost) {
  double n = 0;
  for (; b; b = b->next) {
    const struct hd_branch *c = b;
    for (; c->child && !c->child->next; c = c->child) ++*cost; /* a chain, which may be long */
    n += c->child ? leaves(c->child, cost) : 1;
    ++*cost;
  }
  return n;
}

static double count_list(const struct hd_branch *b) {
  double n = 0;
  for (; b; b = b->next) n++;
  return n;
}

/* Every branch of a node counts as much as its siblings. */
double hd__walk_explored(struct hd_search *s) {
  struct tree *t = hd__tree(s);
  const struct walk *w = s->own;
  double part = 0, weight = 1;
  if (!w || !t->ready) return 0;
  hd_search_lock(s);
  const struct unit *u = hd__unit(s, hd__slot(s));
  if (hd__walk_valid(w) && u->epoch == t->epoch && u->active)
    for (uint32_t k = 0; k < u->depth; k++) {
      const struct node *n = &u->node[k];
      const struct junction *j = k < u->base ? n->junction : NULL;
      double done = j ? j->finished : n->finished;
      double all = done + (j ? j->live : 1) + count_list(j ? j->list : n->list);
      part += weight * done / all;
      weight /= all;
    }
  hd_search_unlock(s);
  return part;
}

/* A lower bound of the executions of the search: those that are done, and one for each branch that is pending. The tree
 * grows while it is explored, by factors that nothing seen so far tells (strategy_uniform.c has an estimate). Branches
 * that other workers added may turn out to be redundant; then there is no bound either. */
void hd__walk_count(struct walk *w) {
  struct hd_search *s = w->s;
  struct unit *u = w->unit;
  const struct hd_status *st = s->status;
  int exact = __atomic_load_n(&s->shared->crew, __ATOMIC_RELAXED) <= 1 && !s->config->bound_kind &&
              w->policy->whole && !s->shared->state_counts.states; /* another part may be over sooner */
  uint64_t cost = 0;
  double pending = 0;
  for (uint32_t k = u->base; exact && u->active && k < u->depth; k++)
    pending += leaves(u->node[k].list, &cost);
  u->next_count = s->execution + HD_COUNT_EVERY + cost / HD_COUNT_SHARE;
  double seen =
      st->phase[0].strategy[0] ? (double)st->phase[0].executions : (double)(st->executions + st->infeasible);
  double least = exact ? seen + pending + (u->active ? 1 : 0) : 0;
  __atomic_store(&s->shared->at_least, &least, __ATOMIC_RELAXED); /* others do, too */
}

/* walk.c: the depth-first walk of one worker through the tree of executions. Runs in the tested process; all that
 * must survive it is in the search area, so a new process continues where the last one was killed.
 *
 * Invariants
 *  1. node[k] describes the state after the first k steps of the current execution; its sleep list holds what has been
 *     explored from there, with the outcome it had.
 *  2. Nothing that is fixed (nodes below `depth`, pending branches) changes while an execution runs. end() adds
 *     branches with one store each, then commits the step to the next execution with one store (share.c): the same
 *     execution can be run again at any time, with the same result.
 *  3. The operations of a known prefix are compared with those it had (kind, object, outcome). A difference is a
 *     divergence: the execution does not count. Where the last execution of the process had the same prefix, the driver
 *     repeats its decisions by itself (struct hd_known), and the hash of all its operations is compared instead.
 *  4. An execution that made more operations visible draws no conclusions, and leaves nothing in the tree that others
 *     could take: they do not know those operations yet, and would diverge. The search restarts after it anyway
 *     (runtime/core/worker.c).
 *  5. A worker follows and writes branches in the memory of its own slot only: one that it takes from another worker is
 *     moved there (walk_share.c). So an execution that is under way when the search restarts is not disturbed by what
 *     others write. What all share is laid out again only when no worker is at the end of an execution of the search before
 *     (wait_for_others). */
#include "explore/walk.h"

/* ---- memory ---- */

/* The search area: head, junctions and their sleep lists (a sixteenth), visited states (an eighth), slots. */
void hd__walk_lay_out(struct walk *w, unsigned nslots) {
  struct hd_search *s = w->s;
  struct tree *t = hd__tree(s);
  uint64_t common = s->memory_size / 16 & ~4095ull, at = common;
  char *m = s->memory + 8192;
  hd__slots_restart(s);
  t->epoch++;
  t->started = t->whole = 0;
  t->spread = s->config->cluster != 0;
  s->shared->branchings = 0;
  __atomic_store_n(&t->complete, 0, __ATOMIC_RELAXED);
  t->nslots = nslots;
  t->closing = NULL;
  t->accesses = 0;
  t->junction = (struct junction *)m;
  t->njunctions = 0;
  t->cap_junctions = (uint32_t)((common - 8192) / 4 / sizeof(struct junction));
  t->pool_next = (struct hd_sleeper *)(m + (common - 8192) / 4);
  t->pool_end = (struct hd_sleeper *)(s->memory + common);
  for (unsigned i = 0; i < sizeof t->pool_free / sizeof *t->pool_free; i++) t->pool_free[i] = NULL;
  for (unsigned i = 0; w->filter[i]; i++)
    if (w->filter[i]->id == FILTER_VISITED) {
      hd__visited_init(&t->visited, s->memory + at, s->memory_size / 8 & ~4095ull);
      at += s->memory_size / 8 & ~4095ull;
    }
  for (unsigned i = 0; w->filter[i]; i++)
    if (w->filter[i]->id == FILTER_STATES) {
      hd__states_init(s, s->memory + at, s->memory_size / 8 & ~4095ull, w->filter[i] == &hd__filter_stateful);
      at += s->memory_size / 8 & ~4095ull;
    }
  at += 0x3480;
  t->slot = s->memory + at;
  t->slot_size = (s->memory_size - at) / t->nslots & ~63ull;
  hd__tree_set_ready(t, 1);
}

/* A slot: the unit, nodes, the sleep stack, records of the nodes, pending branches. What is used at every step stands
 * close together, and not where other areas begin: pages at round addresses compete for the same entries of caches. */
#define UNIT_SIZE 512
_Static_assert(sizeof(struct unit) <= UNIT_SIZE, "nodes begin after the unit");

void hd__walk_lay_out_unit(struct walk *w, struct unit *u) {
  const struct tree *t = hd__tree(w->s);
  char *m = (char *)u + UNIT_SIZE;
  uint64_t quarter = (t->slot_size - UNIT_SIZE) / 4 & ~63ull, nodes = quarter / sizeof(struct node);
  if (w->stride && quarter / w->stride < nodes) nodes = quarter / w->stride;
  char *rest = m + (w->stride ? 3 : 2) * quarter;
  *u = (struct unit){.node = (struct node *)m,
                     .node_cap = nodes,
                     .sleep_base = (struct hd_sleeper *)(m + quarter),
                     .record = m + 2 * quarter,
                     .branch_next = (struct hd_branch *)rest};
  u->branch_end = u->branch_next + (uint64_t)(m + 4 * quarter - rest) / sizeof(struct hd_branch);
  u->sleep_next = u->sleep_base;
  u->sleep_end = u->sleep_base + quarter / sizeof *u->sleep_base;
  u->epoch = t->epoch;
}

static struct unit *my_unit(struct walk *w) {
  struct unit *u = hd__unit(w->s, hd__slot(w->s));
  if (u->epoch != hd__tree(w->s)->epoch) hd__walk_lay_out_unit(w, u);
  return u;
}

struct hd_branch *hd__branch_new(struct unit *u) {
  struct hd_branch *b = u->branch_free;
  if (b) {
    u->branch_free = b->next;
  } else {
    if (u->branch_next == u->branch_end) hd_give_up(HD_TREE_FULL);
    b = u->branch_next++;
  }
  *b = (struct hd_branch){0};
  return b;
}

struct hd_branch *hd__branch_step(struct unit *u, unsigned thread, int outcome, struct hd_branch *next) {
  struct hd_branch *b = hd__branch_new(u);
  b->op.thread = (uint16_t)thread;
  b->choice = (uint32_t)(outcome >= 0 ? outcome : 0);
  b->any_choice = outcome < 0;
  b->next = next;
  return b;
}

int hd__has_branch(const struct walk *w, uint32_t k, unsigned thread) {
  uint32_t n;
  const struct hd_sleeper *done = hd__done(w, k, &n);
  if (w->unit->node[k].pick.thread == thread) return 1;
  for (uint32_t i = 0; i < n; i++)
    if (done[i].op.thread == thread) return 1;
  for (const struct hd_branch *b = *hd__branches(w, k); b; b = b->next)
    if (b->op.thread == thread) return 1;
  return 0;
}

static int is_listed(const struct walk *w, uint32_t k, unsigned thread, unsigned choice) {
  uint32_t n;
  const struct hd_sleeper *done = hd__done(w, k, &n);
  for (uint32_t i = 0; i < n; i++)
    if (done[i].op.thread == thread && done[i].choice == choice) return 1;
  for (const struct hd_branch *b = *hd__branches(w, k); b; b = b->next)
    if (b->op.thread == thread && b->choice == choice && !b->any_choice) return 1;
  return 0;
}

/* Exchanges each of the first n branches with one drawn from it and those after it. */
static void shuffle(struct walk *w, struct hd_branch *head, unsigned n,
                    unsigned (*draw)(struct walk *w, unsigned n)) {
  for (struct hd_branch *b = head; n > 1; b = b->next, n--) {
    struct hd_branch *other = b;
    for (unsigned i = draw(w, n); i > 0; i--) other = other->next;
    uint32_t choice = b->choice;
    b->choice = other->choice;
    other->choice = choice;
  }
}

static void add_outcomes_of(struct walk *w, uint32_t k, unsigned (*draw)(struct walk *w, unsigned n)) {
  const struct node *n = &w->unit->node[k];
  struct hd_branch *head = *hd__branches(w, k);
  unsigned added = 0;
  for (unsigned c = n->did.nchoices; c-- > hd__least_outcome(w, k);)
    if (c != n->did.choice && !is_listed(w, k, n->pick.thread, c)) {
      head = hd__branch_step(w->unit, n->pick.thread, (int)c, head);
      added++;
    }
  if (draw) shuffle(w, head, added, draw);
  __atomic_store_n(hd__branches(w, k), head, __ATOMIC_RELEASE);
  if (added) hd__walk_added(w, k);
}

int hd__add_outcomes(struct walk *w, int above, unsigned (*draw)(struct walk *w, unsigned n)) {
  const struct unit *u = w->unit;
  int more = 0;
  for (uint32_t k = u->depth ? u->depth - 1 : 0; k < u->running; k++) {
    if (u->node[k].did.nchoices <= 1 || u->node[k].pick.fixed_choice) continue;
    if ((k < u->base) == above)
      add_outcomes_of(w, k, draw);
    else
      more = 1;
  }
  return more;
}

/* ---- going on ---- */

/* The deepest node that has a branch left, plus 1; u->base when none has. */
static uint32_t next_depth(const struct unit *u) {
  uint32_t k = u->running;
  while (k > u->base && !u->node[k - 1].list) k--;
  return k;
}

/* Leaves the branch that was just explored for the next one of the deepest node that has any. */
static void backtrack(struct walk *w, uint32_t depth) {
  struct hd_search *s = w->s;
  struct unit *u = w->unit;
  struct node *n = &u->node[depth - 1];
  struct hd_branch *b = n->list;
  if (b->late) { /* walk_move.c, invariant 2 */
    n->did.weak = 1;
    for (uint32_t i = 0; i < n->nsleep; i++) n->sleep[i].weak = 1;
  }
  if (n->pick.executed && w->policy->keeps_done) {
    if (n->sleep + n->nsleep == u->sleep_end) hd_give_up(HD_TREE_FULL);
    hd__redo_copy(s, n->sleep + n->nsleep, &n->did, sizeof n->did);
    HD_REDO(s, n->nsleep, n->nsleep + 1);
  }
  union pick pick = {.thread = b->op.thread, .choice = b->choice, .fixed_choice = !b->any_choice};
  HD_REDO(s, n->finished, n->finished + 1);
  HD_REDO(s, n->pick.word, pick.word);
  HD_REDO(s, n->branch, b);
  HD_REDO(s, n->list, b->next);
  HD_REDO(s, u->depth, depth);
}

/* For heddle cluster simulate. */
__attribute__((cold, noinline)) static void record_branching(const struct walk *w) {
  struct hd_shared *sh = w->s->shared;
  const struct unit *u = w->unit;
  if (sh->branchings == sh->branchings_max) return;
  uint32_t common = u->depth ? u->depth - 1 : 0;
  struct hd_branching *b = (struct hd_branching *)((char *)sh + HD_SEARCH_INBOX) + sh->branchings++;
  *b = (struct hd_branching){(uint16_t)(common < UINT16_MAX ? common : UINT16_MAX),
                             (uint16_t)(u->running < UINT16_MAX ? u->running : UINT16_MAX)};
}

/* Ends the execution under way: what led here is used up, and the next one is fixed.
 * pre: the lock is held if the unit ends. */
static void go_on(struct walk *w) {
  struct hd_search *s = w->s;
  struct unit *u = w->unit;
  uint32_t depth = next_depth(u), nused = 0;
  if (__builtin_expect(s->shared->branchings_max != 0, 0)) record_branching(w);
  /* The branches that led here are released after the commit, which ends their use. */
  struct hd_branch **used = (struct hd_branch **)w->scratch;
  for (uint32_t k = u->depth ? u->depth - 1 : 0; k < u->running; k++)
    if (u->node[k].branch) used[nused++] = u->node[k].branch;
  if (depth > u->base)
    backtrack(w, depth);
  else
    hd__walk_finish(s, u);
  if (w->cut) HD_REDO(s, s->shared->bound_cut, w->cut);
  HD_REDO(s, u->in_flight, 0);
  hd__redo_tally(s);
  hd__redo_commit(s);
  for (uint32_t i = 0; i < nused; i++) {
    used[i]->next = u->branch_free;
    u->branch_free = used[i];
  }
}

/* The program destroyed its process in the middle of an execution. What it would have shown is lost: the search
 * continues with what is left to do, and cannot claim any more to have covered everything. pre: the lock is held. */
static void give_up_execution(struct walk *w) {
  struct hd_search *s = w->s;
  struct unit *u = w->unit;
  uint32_t n = 0;
  while (n < u->running && u->node[n].pick.executed) n++;
  u->running = n > u->depth ? n : u->depth;
  hd__execution_lost(s, u->in_flight);
  s->shared->partial = 1;
  s->ntally = 0;
  if (w->policy->lost) w->policy->lost(w);
  hd__walk_publish(s, u);
  go_on(w);
  hd__walk_close(s);
}

/* ---- what is known of an execution ---- */

#define HASHES (3ull << 30) /* where they are in the scratch memory, behind that of policies */

/* How many steps the execution to begin has in common with the last one, which the order knows. */
static uint32_t known_steps(const struct walk *w) {
  const struct unit *u = w->unit;
  if (!w->run || w->run + 1 != w->s->known->runs || !w->trusts_order || !u->depth) return 0;
  uint32_t n = u->depth - 1;
  if (n > w->order.kept) n = w->order.kept;
  if (n > w->order.renewed) n = w->order.renewed;
  return n < u->known ? n : u->known ? u->known - 1 : 0;
}

/* Whether the execution to begin has the steps in which this process is (hd_known.from). Since they were executed every
 * execution had them, if the unit is the same: a walk that leaves a node does not return to it. */
static int continues(const struct walk *w, const struct unit *before) {
  const struct unit *u = w->unit;
  uint32_t from = w->s->known->from;
  return from && u == before && u->serial == w->serial && u->epoch == w->tree && u->depth > from &&
         (!w->stride || u->known > from) && w->events == from;
}

/* The driver has executed the known steps. */
static void catch_up(struct walk *w) {
  uint32_t n = w->s->known->steps;
  if (n <= w->events) return;
  w->events = w->order.n = w->unit->at = n;
  w->thread = w->order.ev[n - 1].op.thread;
  if (w->policy->catch_up) w->policy->catch_up(w);
  for (uint32_t i = 0; w->symmetric && i < n; i++) hd__symmetry_event(w, i);
}

/* ---- the strategy ---- */

static void symmetry_event(struct walk *w) {
  if (w->policy->after_event) w->policy->after_event(w);
  hd__symmetry_event(w, w->order.n - 1);
}

struct walk *hd__walk_set_up(struct hd_search *s, const struct policy *policy) {
  struct walk *w = hd__own(s, sizeof *w);
  uint32_t at = 0;
  unsigned n = 0, entered = 0;
  w->s = s;
  w->policy = policy;
  w->free_from = HD_NONE;
  w->before_event = policy->before_event;
  w->after_event = policy->after_event;
  w->symmetric = 0;
  for (unsigned i = 0; policy->filter[i]; i++) {
    const struct filter *f = policy->filter[i];
    if (f->active && !f->active(s)) continue;
    w->filter[n++] = f;
    w->symmetric |= f->id == FILTER_SYMMETRY;
    if (f->enter) w->enter[entered++] = f->enter;
    w->offset[f->id] = at;
    at += (uint32_t)((f->record + 7) & ~7ull);
  }
  w->filter[n] = NULL;
  if (w->symmetric) w->after_event = symmetry_event;
  if (policy->enter) w->enter[entered++] = policy->enter;
  w->enter[entered] = NULL;
  w->offset[FILTERS] = at;
  w->stride = at + (uint32_t)((policy->record + 7) & ~7ull);
  w->ordered = policy->ordered || s->config->classes || w->symmetric;
  if (w->order.ev) return w;
  hd_order_init(&w->order, s->scratch + HD_SCRATCH_WALK);
  w->order.contended = s->contended;
  w->order.layout = s->layout;
  w->order.numbers = s->numbers;
  w->order.guard = s->guard;
  w->scratch = (uint32_t *)(s->scratch + HD_SCRATCH_WALK + HD_ORDER_MEMORY);
  w->hash = (uint64_t *)((char *)w->scratch + HASHES);
  return w;
}

/* The unit to go on with. Returns as `begin`. pre: the lock is held. */
static int find_unit(struct walk *w) {
  struct hd_search *s = w->s;
  /* Others know of visible operations that this process has yet to learn of (invariant 4): it would diverge. */
  if (s->status->epoch != s->shared->epoch) return HD_BEGIN_LATER;
  if (!hd__tree(s)->ready) hd__walk_lay_out(w, hd__walk_slots(s, s->workers));
  struct unit *u = w->unit = my_unit(w);
  if (u->in_flight > s->shared->forgive && u->in_flight != s->execution) give_up_execution(w);
  if (u->active) return 1;
  w->run = 0;
  int found = hd__walk_find_work(s, &w->unit);
  if (found > 0) w->unit->serial++;
  return found;
}

/* Invariant 5. pre: the lock is not held. */
static void wait_for_others(struct walk *w) {
  struct hd_search *s = w->s;
  uint64_t epoch = __atomic_load_n(&s->shared->epoch, __ATOMIC_SEQ_CST);
  if (s->fingerprint) epoch += __atomic_load_n(&s->shared->contended_seen, __ATOMIC_SEQ_CST);
  if (w->epoch == epoch) return;
  /* The new process of a worker that was killed, in a search that goes on: another may wait at its end for the first step of our
   * unit (hd__walk_lock_junctions). */
  if (!w->tree && __atomic_load_n(&hd__tree(s)->ready, __ATOMIC_ACQUIRE) &&
      s->status->epoch == s->shared->epoch) {
    w->epoch = epoch;
    return;
  }
  const struct hd_crew_set *ending = &s->shared->ending;
  const unsigned n = s->workers, own = s->worker;
  void (*const relax)(void) = s->relax;
  for (unsigned i = 0; i < n; i++)
    while (i != own && hd_crew_has(ending, i))
      if (relax) relax();
  w->epoch = epoch;
}

static void begin_order(struct walk *w) {
  hd__symmetry_begin(w);
  /* In fork mode every execution has a process of its own. */
  if (w->s->status->restart == HD_RESTART_FORK)
    hd_order_begin(&w->order);
  else if (w->ordered)
    hd_order_resume(&w->order);
  w->trusts_order = w->policy->ordered && (!w->unit->root || w->unit->told);
}

int hd__walk_begin(struct hd_search *s, const struct policy *policy) {
  struct walk *w = hd__walk_set_up(s, policy);
  const struct unit *before = w->unit;
  wait_for_others(w);
  hd_search_lock(s);
  int found = find_unit(w);
  w->spread = hd__tree(s)->spread != 0;
  hd_search_unlock(s);
  if (found <= 0) return found;
  struct unit *u = w->unit;
  u->in_flight = s->execution;
  hd_rng_seed(&s->rng, s->config->seed, s->execution);
  w->contended = s->shared->contended_seen;
  w->cut = 0;
  w->met = NULL;
  w->requests.nasked = 0;
  s->diverged = 0;
  u->running = u->depth;
  if (!w->stride || u->known > u->depth) u->known = u->depth;
  if (!w->tree)
    u->known =
        0; /* filters keep some of what they know of a node in the process, and this is its first execution */
  s->known->shared = !s->fingerprint;
  if (continues(w, before)) {
    s->known->steps = u->at = w->events;
  } else {
    begin_order(w);
    w->serial = u->serial;
    w->tree = u->epoch;
    w->events = 0;
    w->prefix = 0;
    u->at = 0;
    s->known->steps = known_steps(w);
    s->known->then = s->known->steps ? w->hash[s->known->steps - 1] : 0;
  }
  u->guide = NULL;
  if (u->depth) { /* a try that was given up may have left more */
    struct node *n = &u->node[u->depth - 1];
    u->guide = n->branch ? n->branch->child : NULL;
    u->sleep_next = n->sleep + n->nsleep;
  }
  return 1;
}

/* The step from a fresh state. Returns 0 when there is none to be made. */
static int choose_step(struct walk *w, struct node *n, const struct hd_point *p) {
  struct unit *u = w->unit;
  for (unsigned i = 0; w->filter[i]; i++)
    if (w->filter[i]->covers && w->filter[i]->covers(w, u->at)) return 0;
  if (u->guide && w->spread) u->guide = hd__awake(n, u->guide);
  if (u->guide) {
    n->branch = u->guide;
    n->list = u->guide->next;
    n->pick = (union pick){
        .thread = u->guide->op.thread, .choice = u->guide->choice, .fixed_choice = !u->guide->any_choice};
    u->guide = n->branch->child;
  } else {
    int outcome = -1, thread = w->policy->first(w, u->at, p, &outcome);
    if (thread < 0) return 0;
    n->pick = (union pick){.thread = (uint16_t)thread,
                           .choice = (uint32_t)(outcome >= 0 ? outcome : 0),
                           .fixed_choice = outcome >= 0};
  }
  u->running = u->at + 1;
  return 1;
}

int hd__walk_pick(struct hd_search *s, const struct hd_point *p) {
  struct walk *w = s->own;
  struct unit *u = w->unit;
  catch_up(w);
  if (s->diverged || u->at != w->events || u->at == u->node_cap) return HD_PICK_DIVERGED;
  struct node *n = &u->node[u->at];
  int fresh = u->at >= u->depth;
  w->symmetry.op = p->op; /* the outcome of a step in the known prefix may be open */
  if (fresh) {            /* all but what the step does */
    n->pick.word = 0;
    n->nsleep = n->finished = 0;
    n->sleep = u->sleep_next;
    n->branch = n->list = NULL;
    n->junction = NULL;
  }
  if (u->at >= u->known) {
    for (unsigned i = 0; w->enter[i]; i++) w->enter[i](w, u->at, p, fresh);
    u->known = u->at + 1;
  }
  if (fresh && !choose_step(w, n, p)) return HD_PICK_GIVE_UP;
  if (n->pick.thread >= p->words * 64 || !hd_set_has(p->enabled, n->pick.thread)) return HD_PICK_DIVERGED;
  u->at++;
  return n->pick.thread;
}

int hd__walk_choose(struct hd_search *s, unsigned k) {
  struct walk *w = s->own;
  const struct unit *u = w->unit;
  const struct node *n = &u->node[u->at - 1];
  if (n->pick.fixed_choice) return n->pick.choice < k ? (int)n->pick.choice : 0;
  if (u->at < u->depth && n->pick.executed) return n->did.choice < k ? (int)n->did.choice : HD_PICK_DIVERGED;
  unsigned least = w->symmetric ? hd__symmetry_least(w, n->pick.thread, k) : 0;
  if (s->lead > least && s->lead <= k) return (int)s->lead - 1;
  return (int)(least + (w->policy->outcome ? w->policy->outcome(w, k - least) : 0));
}

int hd__walk_is_first(const struct hd_search *s) {
  const struct unit *u = ((const struct walk *)s->own)->unit;
  return !u->depth && !u->root;
}

int hd__walk_is_last(struct hd_search *s) {
  const struct tree *t = hd__tree(s);
  if (!s->own || !t->ready) return 0;
  const struct unit *u = hd__unit(s, hd__slot(s));
  if (u->epoch != t->epoch || !u->active || u->root || !u->depth) return 0;
  for (uint32_t k = 0; k < u->depth; k++)
    if (u->node[k].list) return 0;
  const struct hd_branch *b = u->node[u->depth - 1].branch;
  while (b && b->child && !b->child->next) b = b->child;
  return !b || !b->child;
}

/* Invariant 3. */
static int as_before(const struct hd_sleeper *did, const struct hd_op *op, unsigned flags, unsigned choice) {
  return did->op.kind == op->kind && did->op.object == op->object && did->choice == choice &&
         (did->flags & ~HD_EV_STOP) == flags;
}

/* The program relies on time. Without an order it is not known whether it does: it may when others ran meanwhile. */
__attribute__((cold, noinline)) static void note_time(struct walk *w, const struct hd_op *op) {
  if (w->ordered ? w->order.by_time : w->thread != op->thread || w->s->fingerprint)
    hd_inexact_note(w->s->status->inexact, HD_INEXACT_SLEEPS, op->pc);
  w->order.by_time = 0;
}

void hd__walk_event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                    unsigned nchoices) {
  struct walk *w = s->own;
  struct unit *u = w->unit;
  if (w->before_event) w->before_event(w, op);
  if (w->ordered) hd_order_event(&w->order, op, flags, choice, nchoices);
  if (__builtin_expect(w->ordered ? w->order.by_time != 0 : hd_op_late(op->kind, flags), 0)) note_time(w, op);
  w->thread = op->thread;
  w->hash[w->events++] = s->known->now;
  if (w->after_event) w->after_event(w);
  /* The order has compared it with the last execution, which had this prefix, too. */
  if (u->at < u->depth && w->trusts_order && w->order.n <= w->order.kept) return;
  struct node *n = &u->node[u->at - 1];
  if (u->at < u->depth && n->pick.executed) {
    if (!as_before(&n->did, op, flags, choice)) s->diverged = 1;
    return;
  }
  n->did = (struct hd_sleeper){
      .op = *op, .choice = choice, .nchoices = nchoices & HD_CHOICES_MAX, .flags = flags & 0xff};
  n->pick.executed = 1;
}

/* What states have to say of the past has grown since the execution began. */
static int is_stale(const struct walk *w) {
  const struct hd_shared *sh = w->s->shared;
  return w->s->fingerprint && (__atomic_load_n(&sh->contended, __ATOMIC_RELAXED) != w->contended ||
                               sh->contended_seen != w->contended);
}

/* Another worker has restarted the search with more visible operations, or this execution will (invariant 4). */
int hd__walk_is_void(const struct walk *w) {
  const struct hd_search *s = w->s;
  const struct hd_status *st = s->status;
  return st->epoch != __atomic_load_n(&s->shared->epoch, __ATOMIC_RELAXED) || is_stale(w) ||
         (st->visible_count != st->visible_at_start && s->shared->visible_count < HD_VISIBLE_CAP);
}

/* Nodes from `from` on are left for good. */
static void leave(struct walk *w, uint32_t from) {
  struct hd_search *s = w->s;
  for (unsigned i = 0; w->filter[i]; i++) {
    if (!w->filter[i]->leave || from >= w->unit->running) continue;
    hd_search_lock(s);
    for (uint32_t k = w->unit->running; k-- > from && hd__walk_valid(w);) w->filter[i]->leave(w, k);
    hd_search_unlock(s);
  }
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  struct tree *t = hd__tree(s);
  struct walk *w = s->own;
  struct unit *u = w->unit;
  catch_up(w);
  if (w->symmetric) hd__symmetry_end(w, p, how);
  if (hd__walk_is_void(w)) return 1;
  w->run = s->known->runs;
  u->running = u->at < w->events ? u->at : w->events;
  if (how == HD_HOW_STOPPED) {
    if (w->ordered) hd_order_stop(&w->order);
    if (u->running) u->node[u->running - 1].did.flags |= HD_EV_STOP;
  }
  if (w->ordered) hd__count_class(s, &w->order, how);
  int above = w->policy->conclude(w, p, how, 0);
  if (u->root && !u->told) {
    hd_search_lock(s);
    if (hd__walk_valid(w)) hd__walk_publish(s, u);
    hd_search_unlock(s);
  }
  uint32_t left = u->running;
  if (above || next_depth(u) == u->base) {
    hd__walk_lock_junctions(w);
    if (hd__walk_valid(w)) {
      if (above) w->policy->conclude(w, p, how, 1);
      left = next_depth(u);
      if (w->policy->retreat) w->policy->retreat(w, left);
      go_on(w);
      hd__walk_close(s);
    }
    hd_search_unlock(s);
  } else {
    left = next_depth(u);
    if (w->policy->retreat) w->policy->retreat(w, left);
    go_on(w);
  }
  leave(w, left);
  if (u->active && hd_crew_others(&s->shared->hungry, s->worker)) hd__walk_donate(w);
  int complete = __atomic_load_n(&t->complete, __ATOMIC_RELAXED) != 0;
  if (s->execution >= u->next_count || complete) hd__walk_count(w);
  return !complete;
}

int hd__walk_end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  if (s->workers <= 1) return end(s, p, how);
  hd_crew_add(&s->shared->ending, s->worker);
  int more = end(s, p, how);
  hd_crew_del(&s->shared->ending, s->worker);
  return more;
}

void hd__walk_forget(struct hd_search *s) { hd__tree_set_ready(hd__tree(s), 0); }

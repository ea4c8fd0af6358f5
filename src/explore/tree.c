/* tree.c: the depth-first walk of one worker through the tree of executions. Runs in the tested process; all
 * that must survive it is in the search area, so a new process goes on where the last one was killed.
 *
 * Abdulla, Aronis, Jonsson, Sagonas, "Source Sets: A Foundation for Optimal Dynamic Partial Order Reduction",
 * JACM 64(4), 2017, sections 4 and 6. Differences:
 *  - Outcomes of choices are part of an event: another outcome is inserted as if the event raced with itself.
 *  - Operations that never ran (a lock that was never obtained, a thread the end of the process cut off) race
 *    like executed ones (order.c, hd_order_end).
 *  - The tree is shared by several workers (tree_share.c). A branch that another worker explores counts as
 *    explored: what it leads to will be seen.
 *
 * Invariants
 *  1. node[k] describes the state after the first k steps of the current execution; its sleep list holds what
 *     has been explored from there, with the outcome it had.
 *  2. A thread asleep at a node is not run before something dependent on its operation was.
 *  3. Nothing that is fixed (nodes below `depth`, pending branches) changes while an execution runs, and end()
 *     adds branches with one store each, then commits the step to the next execution with one store (share.c):
 *     the same execution can be run again at any time, with the same result. */
#include "explore/tree.h"

struct hd_order hd__tree_trace;
uint32_t *hd__tree_seq;
#define trace hd__tree_trace

/* ---- memory ---- */

/* The first half of the search area: head, junctions and their sleep lists (an eighth), slots. */
static uint64_t common_size(const struct hd_search *s) { return s->memory_size / 16; }

static uint64_t slot_size(const struct hd_search *s) {
  return ((s->memory_size / 2 - common_size(s)) / HD_MAX_WORKERS) & ~4095ull;
}

struct unit *hd__tree_unit(struct hd_search *s, unsigned slot) {
  return (struct unit *)(s->memory + common_size(s) + slot * slot_size(s));
}

/* pre: the lock is held, if there are other workers. */
static void lay_out(struct hd_search *s) {
  struct tree *t = hd__tree(s);
  uint64_t epoch = t->epoch + 1;
  hd__slots_anew(s);
  char *m = s->memory + 8192;
  uint64_t size = common_size(s) - 8192;
  *t = (struct tree){.epoch = epoch,
                     .junction = (struct junction *)m,
                     .cap_junctions = (uint32_t)(size / 4 / sizeof(struct junction)),
                     .pool_next = (struct sleeper *)(m + size / 4),
                     .pool_end = (struct sleeper *)(m + size)};
  t->ready = 1;
}

static void lay_out_unit(struct hd_search *s, struct unit *u) {
  char *m = (char *)u + 4096;
  uint64_t size = slot_size(s) - 4096;
  *u = (struct unit){.node = (struct node *)m,
                     .node_cap = size / 4 / sizeof(struct node),
                     .sleep_base = (struct sleeper *)(m + size / 4),
                     .wut_next = (struct wut *)(m + size / 2),
                     .wut_end = (struct wut *)(m + size / 2) + size / 2 / sizeof(struct wut)};
  u->sleep_next = u->sleep_base;
  u->sleep_end = u->sleep_base + size / 4 / sizeof *u->sleep_base;
  u->epoch = hd__tree(s)->epoch;
}

static struct unit *unit; /* that the execution under way belongs to */

static struct unit *my_unit(struct hd_search *s) {
  struct unit *u = hd__tree_unit(s, hd__slot(s));
  if (u->epoch != hd__tree(s)->epoch) lay_out_unit(s, u);
  return u;
}

/* ---- going on ---- */

/* Leaves the branch that was just explored for the next one, from the deepest node up. */
static int backtrack(struct hd_search *s, struct unit *u) {
  for (uint32_t k = u->running; k-- > u->base;) {
    struct node *n = &u->node[k];
    if (!n->list) continue;
    if (n->pick.executed) {
      if (n->sleep + n->nsleep == u->sleep_end) hd_give_up(HD_TREE_FULL);
      hd__redo_copy(s, n->sleep + n->nsleep, &n->did, sizeof n->did);
      HD_REDO(s, n->nsleep, n->nsleep + 1);
    }
    struct wut *b = n->list;
    union pick pick = {.thread = b->op.thread, .choice = b->choice, .fixed_choice = !b->any_choice};
    HD_REDO(s, n->finished, n->finished + 1);
    HD_REDO(s, n->pick.word, pick.word);
    HD_REDO(s, n->branch, b);
    HD_REDO(s, n->list, b->next);
    HD_REDO(s, u->depth, k + 1);
    return 1;
  }
  return 0;
}

/* Ends the execution under way: what led here is used up, and the next one is fixed.
 * pre: the lock is held if the unit ends. */
static void go_on(struct hd_search *s, struct unit *u) {
  /* The branches that led here are let go of after the commit, which ends their use. */
  struct wut **used = (struct wut **)hd__tree_seq;
  uint32_t nused = 0;
  for (uint32_t k = u->depth ? u->depth - 1 : 0; k < u->running; k++)
    if (u->node[k].branch) used[nused++] = u->node[k].branch;
  if (!backtrack(s, u)) hd__tree_finish(s, u);
  HD_REDO(s, u->in_flight, 0);
  hd__redo_tally(s);
  hd__redo_commit(s);
  for (uint32_t i = 0; i < nused; i++) {
    used[i]->next = u->wut_free;
    u->wut_free = used[i];
  }
}

static int ends(const struct unit *u) {
  for (uint32_t k = u->running; k-- > u->base;)
    if (u->node[k].list) return 0;
  return 1;
}

/* The program destroyed its process in the middle of an execution. The trace is gone, and with it the races that
 * it had: the search goes on with what is left to do, but cannot claim any more to have covered everything. */
static void give_up_execution(struct hd_search *s, struct unit *u) {
  uint32_t n = 0;
  while (n < u->running && u->node[n].pick.executed) n++;
  u->running = n > u->depth ? n : u->depth;
  s->status->lossy = 1;
  s->ntally = 0;
  hd_search_lock(s);
  hd__tree_tell(s, u);
  go_on(s, u);
  hd__tree_close(s);
  hd_search_unlock(s);
}

/* ---- the strategy ---- */

int hd__tree_begin(struct hd_search *s) {
  struct tree *t = hd__tree(s);
  if (!trace.ev) {
    hd_order_init(&trace, s->scratch);
    hd__tree_seq = (uint32_t *)(s->scratch + HD_ORDER_MEMORY);
  }
  if (!t->ready) {
    hd_search_lock(s);
    if (!t->ready) lay_out(s);
    hd_search_unlock(s);
  }
  struct unit *u = my_unit(s);
  if (u->in_flight > s->shared->forgive && u->in_flight != s->execution) give_up_execution(s, u);
  if (!u->active) {
    int found = hd__tree_find_work(s, &u);
    if (found <= 0) return found;
  }
  unit = u;
  u->in_flight = s->execution;
  if (s->status->restart == HD_RESTART_FORK) /* every execution has a process of its own */
    hd_order_begin(&trace);
  else
    hd_order_resume(&trace);
  u->at = 0;
  u->running = u->depth;
  u->guide = NULL;
  if (u->depth) { /* a try that was given up may have left more */
    struct node *n = &u->node[u->depth - 1];
    u->guide = n->branch ? n->branch->child : NULL;
    u->sleep_next = n->sleep + n->nsleep;
  }
  return 1;
}

/* Whether a sleeper goes on sleeping beyond an operation with that outcome. */
static int sleeps_on(const struct sleeper *s, const struct hd_op *op, unsigned flags, uint64_t key) {
  return s->op.thread != op->thread && (hd_keys_apart(key, hd_dependence_key(&s->op, s->flags)) ||
                                        !hd_dependent(&s->op, s->flags, op, flags));
}

/* Whether the step turned out to be other than was thought when its branch was added. */
static int unexpected(const struct wut *b, const struct hd_ev *e) {
  return b->flags != e->flags || b->op.kind != e->op.kind || b->op.object != e->op.object ||
         b->op.size != e->op.size || !hd_payload_same(&b->op, &e->op);
}

/* What sleeps at a new node: what slept before and is independent of the step just made, both as it was and as it was
 * thought to be. (A branch that was added although something here covers it stands for all that begins like it: what
 * is asked for later is not added beside it. So here nothing may be left to what covers it.) */
static void inherit(struct unit *u, struct node *n) {
  n->sleep = u->sleep_next;
  n->nsleep = 0;
  if (!u->at) return;
  const struct node *up = &u->node[u->at - 1];
  const struct hd_ev *e = &trace.ev[u->at - 1];
  const struct wut *thought = up->branch && unexpected(up->branch, e) ? up->branch : NULL;
  uint64_t key = trace.key[u->at - 1];
  for (uint32_t i = 0; i < up->nsleep; i++)
    if (sleeps_on(&up->sleep[i], &e->op, e->flags, key) &&
        (!thought || sleeps_on(&up->sleep[i], &thought->op, thought->flags, 0))) {
      if (u->sleep_next == u->sleep_end) hd_give_up(HD_TREE_FULL);
      *u->sleep_next++ = up->sleep[i];
      n->nsleep++;
    }
}

/* Whether the thread may go on freely from here; an outcome of its choice that must be taken then, or -1. */
static int awake(const struct node *n, unsigned thread, int *outcome) {
  unsigned seen = 0, nchoices = 0;
  *outcome = -1;
  for (uint32_t i = 0; i < n->nsleep; i++)
    if (n->sleep[i].op.thread == thread) {
      seen++;
      nchoices = n->sleep[i].nchoices;
    }
  if (!seen) return 1;
  if (seen >= nchoices || nchoices <= 1) return 0;
  for (int c = 0; c < (int)nchoices; c++) {
    int used = 0;
    for (uint32_t i = 0; i < n->nsleep; i++)
      used |= n->sleep[i].op.thread == thread && n->sleep[i].choice == c;
    if (!used) {
      *outcome = c;
      return 1;
    }
  }
  return 0;
}

int hd__tree_pick(struct hd_search *s, const struct hd_point *p) {
  (void)s;
  struct unit *u = unit;
  if (u->at != trace.n || u->at == u->node_cap) return HD_PICK_DIVERGED;
  struct node *n = &u->node[u->at];
  if (u->at >= u->depth) {
    *n = (struct node){0};
    inherit(u, n);
    if (u->guide) {
      n->branch = u->guide;
      n->list = u->guide->next;
      n->pick = (union pick){
          .thread = u->guide->op.thread, .choice = u->guide->choice, .fixed_choice = !u->guide->any_choice};
      u->guide = n->branch->child;
    } else {
      /* Staying with the running thread makes the first execution a plain one. One that yields or sleeps wants others
       * to go first: a loop that waits for them would run on to --max-length. */
      int best = -1, outcome = -1;
      unsigned kind = p->op[p->current]->kind, from = hd_op_is(kind, HD_TRAIT_YIELDS) ? p->current + 1 : 0;
      if (!from && hd_set_has(p->enabled, p->current) && awake(n, p->current, &outcome))
        best = (int)p->current;
      for (unsigned i = 0; best < 0 && i < p->words * 64; i++) {
        unsigned t = (from + i) % (p->words * 64);
        if (hd_set_has(p->enabled, t) && awake(n, t, &outcome)) best = (int)t;
      }
      if (best < 0) return HD_PICK_GIVE_UP;
      n->pick = (union pick){.thread = (uint16_t)best,
                             .choice = (uint16_t)(outcome >= 0 ? outcome : 0),
                             .fixed_choice = outcome >= 0};
    }
    u->running = u->at + 1;
  }
  if (n->pick.thread >= p->words * 64 || !hd_set_has(p->enabled, n->pick.thread)) return HD_PICK_DIVERGED;
  u->at++;
  return n->pick.thread;
}

int hd__tree_choose(struct hd_search *s, unsigned k) {
  (void)s;
  const struct unit *u = unit;
  union pick pick = u->node[u->at - 1].pick;
  return pick.fixed_choice && pick.choice < k ? pick.choice : 0;
}

void hd__tree_event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                    unsigned nchoices) {
  (void)s;
  struct unit *u = unit;
  hd_order_event(&trace, op, flags, choice, nchoices);
  struct node *n = &u->node[u->at - 1];
  if (u->at < u->depth && n->pick.executed) return; /* as before */
  n->did = (struct sleeper){*op, (uint16_t)choice, (uint16_t)nchoices, (uint16_t)flags, 0};
  n->pick.executed = 1;
}

int hd__tree_end(struct hd_search *s, const struct hd_point *p, enum hd_how how, const struct rules *rules) {
  struct tree *t = hd__tree(s);
  struct unit *u = unit;
  /* Another worker has begun the search anew meanwhile, with more visible operations: this one is void. */
  if (s->status->epoch != s->shared->epoch) return 1;
  u->running = u->at < trace.n ? u->at : trace.n;
  if (how == HD_HOW_STOPPED) {
    hd_order_stop(&trace);
    if (u->running) u->node[u->running - 1].did.flags |= HD_EV_STOP;
  }
  hd__count_class(s, &trace, how);
  /* Also of an execution that was given up: what it did, and what could not run in it, may race like anything
   * else; only what sleeps has been seen to by the branch that covers it. */
  hd_order_end(&trace, p);
  int above = hd__tree_reverse(u, rules, 0);
  if (u->root && !u->told) {
    hd_search_lock(s);
    if (s->status->epoch == s->shared->epoch) hd__tree_tell(s, u);
    hd_search_unlock(s);
  }
  if (above || ends(u)) {
    hd__tree_lock_junctions(s, u);
    if (s->status->epoch == s->shared->epoch) {
      if (above) hd__tree_reverse(u, rules, 1);
      hd__tree_settle(u);
      go_on(s, u);
      hd__tree_close(s);
    }
    hd_search_unlock(s);
  } else {
    hd__tree_settle(u);
    go_on(s, u);
  }
  if (u->active && (s->shared->hungry & ~(1ull << s->worker))) hd__tree_donate(s, u);
  if (s->execution % HD_ESTIMATE_EVERY == 0 || t->complete) hd__tree_estimate(s, u);
  return !t->complete;
}

void hd__tree_forget(struct hd_search *s) {
  hd__tree(s)->ready = 0;
  hd__forget_classes(s);
}

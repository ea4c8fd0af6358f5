/* strategy_bounded.c: every happens-before class that has a schedule within the bound (bounds.c). Stands in for
 * `dpor` and `optimal` when there is a bound. Runs in the tested process.
 *
 * Sleep sets and wakeup trees leave out a branch because another one covers it; under a bound the other one may cost
 * more and be cut. Two other things keep this search small: states that were explored already (visited.c), and the
 * policy here.
 *
 * Bounded partial order reduction, for preemptions (Coons, Musuvathi, McKinley, OOPSLA 2013, section 4). A state has
 * at first one branch: the running thread goes on, or, if it cannot, any other one. A race (e, f) asks for a branch
 * of the thread of f before e, and before the block of e: the steps that its thread made in a row, from the switch to
 * it or from the last point where it gave way. (Running a whole block earlier may save a preemption that running e
 * alone earlier does not.) A thread that cannot run there is replaced by all that can. Differences from the paper:
 *  - Races are those of order.c, with nothing in between that orders them, instead of the last dependent step of each
 *    thread; the others show when these are reversed, which costs nothing at the beginning of a block.
 *  - A release of what f takes, and the end of a thread that f joins, cannot be swapped with f; but while f has to
 *    wait, leaving its thread is free, so a class may be within the bound only by having that thread wait. When
 *    somebody is to go between what the thread did before f and after it in one block (wait_instead), the release
 *    asks for a branch of the thread of f too, unless f is all it has left to do there.
 *  - Operations that have to wait, or that the end of the process forestalls, race as if they came next: when they
 *    are first held up, and at the end.
 *  - Visited states. What the executions below a state asked for is kept with it, in names that do not depend on the
 *    order of unrelated steps (n-th event of a thread), and asked for again wherever the state is met.
 * For delays, and for preemptions from the first execution on that enters an atomic section, cancels a thread or sends
 * it a signal (tree.whole), every thread within the bound is a branch. With delays, which one is next depends on who
 * can run, so hardly any two steps are independent. In a section nobody can be preempted, and a cancellation depends
 * on everything and changes what a thread is about to do: where it costs nothing to leave a thread is not where the
 * races are.
 *
 * Invariants
 *  1. Every request for a branch of a state comes from an execution through that state. It is answered at the end of that
 *     execution, at any node of its path: at those above the unit under the lock.
 *  2. list of a node: what was asked for before events that precede it, sorted by their position in the execution
 *     under way. block of a node: threads asked for before the block that its running thread is in; each of them was
 *     asked for at the beginning of that block, too.
 *  3. When memory runs out no states are added any more, and lists are no longer kept. */
#include "explore/walk.h"

/* What this policy keeps of a node. */
struct record {
  uint32_t asked; /* the block of visited.c is not empty */
  uint32_t waits; /* wait_instead has asked */
};
#define REQUESTS (64ull << 20) /* of one execution at most */

/* A request: `thread` before the index-th event of `of`. `self`: not if the self-th event of `thread` is all that it
 * could do there; 0: in any case. */
struct request {
  unsigned of, index, thread, self;
};

/* ---- names of events ---- */

static void index_events(struct walk *w) {
  struct requests *r = &w->requests;
  const struct hd_order *o = &w->order;
  uint32_t n = 0;
  for (uint32_t t = 0; t <= o->nthreads; t++) {
    r->from[t] = n;
    if (t < o->nthreads && o->last[t] != HD_NONE) n += o->ev[o->last[t]].index;
  }
  for (uint32_t i = 0; i < o->n; i++) r->position[r->from[o->ev[i].op.thread] + o->ev[i].index - 1] = i;
}

/* Where the index-th event of a thread is; HD_NONE when it did not come to that. */
static uint32_t position_of(const struct walk *w, unsigned thread, unsigned index) {
  const struct requests *r = &w->requests;
  if (thread >= w->order.nthreads || !index || index > r->from[thread + 1] - r->from[thread]) return HD_NONE;
  return r->position[r->from[thread] + index - 1];
}

/* 10 bits for a thread, 22 for an event, as many as an order has. */
static uint64_t pack(struct request r) {
  return (uint64_t)r.of << 54 | (uint64_t)r.index << 32 | (uint64_t)r.thread << 22 | r.self;
}

static struct request unpack(uint64_t p) {
  return (struct request){(unsigned)(p >> 54), p >> 32 & 0x3fffff, p >> 22 & 0x3ff, p & 0x3fffff};
}
_Static_assert(HD_MAX_THREADS <= 1 << 10, "a thread has 10 bits");

static uint32_t place_of(const struct walk *w, uint64_t packed) {
  struct request r = unpack(packed);
  return position_of(w, r.of, r.index);
}

static int comes_before(const struct walk *w, uint64_t a, uint64_t b) {
  uint32_t pa = place_of(w, a), pb = place_of(w, b);
  return pa != pb ? pa < pb : a < b;
}

/* ---- branches ---- */

/* Whether the step of the node continues a block that began before it. */
static int goes_on(const struct walk *w, uint32_t k) {
  const struct bound_node *b = hd__bound_node(w, k);
  return b->at.stays && w->unit->node[k].pick.thread == b->at.current;
}

static void want_one(struct walk *w, uint32_t k, unsigned t) {
  uint32_t n;
  const struct hd_sleeper *done = hd__done(w, k, &n);
  struct hd_branch **p = hd__branches(w, k);
  int outcome;
  if (w->unit->node[k].pick.thread == t) return;
  for (uint32_t i = 0; i < n; i++)
    if (done[i].op.thread == t) return;
  for (const struct hd_branch *b = *p; b; b = b->next)
    if (b->op.thread == t) return;
  if (!hd__admits(w, k, t, &outcome)) return;
  /* In the order of their numbers, after the outcomes that are left of the step under way. */
  while (*p && (!(*p)->any_choice || (*p)->op.thread < t)) p = &(*p)->next;
  __atomic_store_n(p, hd__branch_step(w->unit, t, -1, *p), __ATOMIC_RELEASE);
  hd__walk_added(w, k);
}

static void want_all(struct walk *w, uint32_t k) {
  const struct bound_node *b = hd__bound_node(w, k);
  for (unsigned t = 0; t < b->words * 64u; t++)
    if (hd_set_has(&b->enabled, t)) want_one(w, k, t);
}

static void want(struct walk *w, uint32_t k, unsigned t) {
  const struct bound_node *b = hd__bound_node(w, k);
  if (t < b->words * 64u && hd_set_has(&b->enabled, t))
    want_one(w, k, t);
  else
    want_all(w, k);
}

/* ---- requests of one execution ---- */

static void ask(struct walk *w, uint32_t e, unsigned thread, unsigned self) {
  const struct hd_ev *ev = &w->order.ev[e];
  if (ev->op.thread != thread)
    w->requests.asked[w->requests.nasked++] = pack((struct request){ev->op.thread, ev->index, thread, self});
}

/* Of the executed operations since node `first`, and of those still pending at the end. */
static void ask_for_races(struct walk *w, uint32_t first) {
  for (uint32_t i = hd_order_races_before(&w->order, first); i < w->order.nraces; i++)
    if (w->order.race[i].f >= first) ask(w, w->order.race[i].e, w->order.race[i].thread, 0);
}

/* The thread is left with an operation that is not executed, as far as is known. */
static void pending(struct walk *w, const struct hd_point *p, unsigned t) {
  if (w->order.last[t] != HD_NONE) {
    const struct hd_ev *e = &w->order.ev[w->order.last[t]];
    if (hd_op_effect(e->op.kind, 0) == HD_EFF_FINISH || hd_op_effect(e->op.kind, 0) == HD_EFF_END ||
        (e->flags & HD_EV_STOP))
      return;
  }
  hd_order_pending(&w->order, p->op[t]);
}

/* A thread that could go on before the last step, or made it, and cannot now. What holds it up may be hidden behind
 * others by the time it continues, and there may be no way to let it go earlier within the bound but before this. */
static void held_up(struct walk *w, const struct hd_point *p, const struct bound_node *up) {
  for (unsigned i = 0; i < up->words; i++)
    for (uint64_t left = up->enabled.w[i] & ~p->enabled->w[i]; left; left &= left - 1)
      pending(w, p, i * 64 + (unsigned)__builtin_ctzll(left));
}

/* Shell's sort, by position, then without doubles. */
static void sort_asked(struct walk *w) {
  uint64_t *asked = w->requests.asked;
  uint32_t gap = 1, n = 0, nasked = w->requests.nasked;
  while (gap < nasked / 3) gap = gap * 3 + 1;
  for (; gap; gap /= 3)
    for (uint32_t i = gap; i < nasked; i++) {
      uint64_t x = asked[i];
      uint32_t k = i;
      for (; k >= gap && comes_before(w, x, asked[k - gap]); k -= gap) asked[k] = asked[k - gap];
      asked[k] = x;
    }
  for (uint32_t i = 0; i < nasked; i++)
    if (!n || asked[n - 1] != asked[i]) asked[n++] = asked[i];
  w->requests.nasked = n;
}

/* ---- lists ---- */

/* The union of the two; in scratch first, since it often is one of them. */
static union hd_list unite(struct walk *w, union hd_list x, union hd_list y) {
  if (!x.n || !y.n) return x.n ? x : y;
  const uint64_t *log = hd__tree(w->s)->visited.log, *a = log + x.at, *c = log + y.at;
  uint64_t *merged = w->requests.merged;
  uint32_t i = 0, k = 0, n = 0;
  while (i < x.n || k < y.n) {
    if (i < x.n && k < y.n && a[i] == c[k]) k++;
    merged[n++] = k == y.n || (i < x.n && !comes_before(w, c[k], a[i])) ? a[i++] : c[k++];
  }
  return n == x.n ? x : n == y.n ? y : hd__visited_keep(w, merged, n);
}

static void unite_with(struct walk *w, uint32_t k, union hd_list l) {
  struct visited_node *v = hd__visited_node(w, k);
  v->list.word = unite(w, v->list, l).word;
}

/* ---- answers ---- */

/* Each returns whether all was done; what is above the unit is done only with `above`. */

static int mine(const struct walk *w, uint32_t k, int above) { return above || k >= w->unit->base; }

/* The thread is to go before the block that step k continues: at its beginning. From there down the nodes are marked,
 * so that a worker that is killed leaves no mark without its request. */
static int before_block(struct walk *w, uint32_t k, unsigned thread, int above) {
  uint32_t top = k;
  while (top && goes_on(w, top) && !hd_set_has(&hd__visited_node(w, top)->block, thread)) top--;
  if (!goes_on(w, top)) {
    if (!mine(w, top, above)) return 0;
    want(w, top, thread);
  }
  for (uint32_t i = top; i <= k; i++)
    if (goes_on(w, i)) {
      hd_set_add(&hd__visited_node(w, i)->block, thread);
      ((struct record *)hd__record(w, FILTERS, i))->asked = 1;
    }
  return 1;
}

static int answer(struct walk *w, uint64_t packed, int above) {
  struct request r = unpack(packed);
  uint32_t e = position_of(w, r.of, r.index);
  if (e == HD_NONE || (r.self && (r.self == 1 || position_of(w, r.thread, r.self - 1) < e))) return 1;
  int done = mine(w, e, above);
  if (done) want(w, e, r.thread);
  if (goes_on(w, e)) done &= before_block(w, e, r.thread, above);
  return done;
}

/* Another thread is to go between what the running thread did before step k and what it did after. That may cost
 * nothing if this step had to wait: before what let it go. */
static int wait_instead(struct walk *w, uint32_t k, int above) {
  struct record *r = hd__record(w, FILTERS, k);
  if (!r->asked || r->waits) return 1;
  uint32_t e = w->requests.enabler[k];
  unsigned thread = w->unit->node[k].pick.thread;
  if (e == HD_NONE || !goes_on(w, k) || w->order.ev[e].op.thread == thread) return 1;
  const struct hd_ev *ev = &w->order.ev[e];
  uint64_t packed = pack((struct request){ev->op.thread, ev->index, thread, w->order.ev[k].index});
  if (!answer(w, packed, above)) return 0;
  if (k >= w->unit->base) unite_with(w, k, hd__visited_keep(w, &packed, 1));
  r->waits = 1;
  return 1;
}

/* What the execution asked for. */
static int answer_all(struct walk *w, int above) {
  struct unit *u = w->unit;
  const struct tree *t = hd__tree(w->s);
  int done = 1;
  for (uint32_t i = 0; i < w->requests.nasked; i++) done &= answer(w, w->requests.asked[i], above);
  for (uint32_t i = 0; w->met && i < w->requests.nblock; i++)
    done &= before_block(w, u->running - 1, (unsigned)w->requests.block[i], above);
  for (uint32_t k = u->running; k-- > 0;) done &= wait_instead(w, k, above);
  if (t->whole && !u->whole) {
    int all = 1;
    for (uint32_t k = 0; k < u->running; k++) {
      all &= mine(w, k, above);
      if (mine(w, k, above)) want_all(w, k);
    }
    if (all) u->whole = 1;
    done &= all;
  }
  return done;
}

/* ---- the policy ---- */

static int reduces(const struct walk *w) { return w->s->config->bound_kind == HD_BOUND_PREEMPTIONS; }

static void enter(struct walk *w, uint32_t k, const struct hd_point *p, int fresh) {
  if (fresh || k < w->unit->base) *(struct record *)hd__record(w, FILTERS, k) = (struct record){0};
  if (fresh && k && reduces(w)) held_up(w, p, hd__bound_node(w, k - 1));
}

static int first(struct walk *w, uint32_t k, const struct hd_point *p, int *outcome) {
  const struct bound_node *b = hd__bound_node(w, k);
  (void)outcome;
  unsigned t = reduces(w) && !b->at.stays ? hd_set_nth(p->enabled, 0)
                                          : hd__bound_turn(w->s, &b->at, &b->enabled, b->words);
  w->unit->node[k].pick.thread = (uint16_t)t;
  if (!reduces(w) || hd__tree(w->s)->whole) want_all(w, k);
  return (int)t;
}

static void before_event(struct walk *w, const struct hd_op *op) {
  struct requests *r = &w->requests;
  if (!r->asked) {
    r->position = w->scratch + 2ull * w->order.cap_ev; /* walk.c uses what is before */
    r->enabler = r->position + w->order.cap_ev;
    r->asked = (uint64_t *)(r->enabler + w->order.cap_ev);
    r->merged = r->asked + REQUESTS;
  }
  if (w->order.n < w->order.kept && w->order.n + 1 < w->unit->depth) return; /* the same as last time */
  hd_order_settle(&w->order);
  r->enabler[w->order.n] = hd_order_enabler(&w->order, op);
}

static void catch_up(struct walk *w) { w->prefix = hd__visited_node(w, w->events)->prefix; }

static void after_event(struct walk *w) {
  if (w->events < w->unit->known)
    catch_up(w);
  else
    w->prefix += hd_order_event_class(&w->order, &w->order.ev[w->order.n - 1]);
}

/* What was asked for below the state that was met. Under the lock: the search may restart, and the log with it. */
static void ask_again(struct walk *w) {
  struct requests *r = &w->requests;
  const uint64_t *log = hd__tree(w->s)->visited.log;
  r->nblock = 0;
  hd_search_lock(w->s);
  if (hd__walk_valid(w)) {
    for (uint32_t i = 0; i < w->met->list.n; i++) r->asked[r->nasked++] = log[w->met->list.at + i];
    for (uint32_t i = 0; i < w->met->block.n; i++) r->block[r->nblock++] = log[w->met->block.at + i];
  }
  hd_search_unlock(w->s);
}

static void collect(struct walk *w, const struct hd_point *p, enum hd_how how) {
  const struct unit *u = w->unit;
  w->requests.nasked = 0;
  w->requests.below.word = 0;
  index_events(w);
  if (!reduces(w)) return;
  if (how != HD_HOW_BLOCKED) {
    hd_order_end(&w->order, p);
    for (unsigned t = 0; t < w->order.nthreads; t++) pending(w, p, t);
  }
  ask_for_races(w, u->depth ? u->depth - 1 : 0);
  if (w->met) ask_again(w);
  sort_asked(w);
  w->requests.below = hd__visited_keep(w, w->requests.asked, w->requests.nasked);
}

static int conclude(struct walk *w, const struct hd_point *p, enum hd_how how, int above) {
  struct tree *t = hd__tree(w->s);
  if (!above) collect(w, p, how);
  if (w->order.section != HD_NONE || w->order.interrupt != HD_NONE || w->order.narrow != HD_NONE)
    t->whole = 1;
  int more = hd__add_outcomes(w, above, NULL);
  return !answer_all(w, above) || more;
}

/* Hands up what was asked for below each node that is left, to the node that is not. */
static void retreat(struct walk *w, uint32_t from) {
  const struct unit *u = w->unit;
  const struct hd_visited *v = &hd__tree(w->s)->visited;
  uint32_t last = from > u->base ? from - 1 : u->base;
  union hd_list below = w->requests.below;
  for (uint32_t k = u->running; k-- > last;) {
    struct visited_node *n = hd__visited_node(w, k);
    while (below.n && place_of(w, v->log[below.at + below.n - 1]) >= k) below.n--;
    if (v->full) below.n = 0, n->list.word = 0;
    unite_with(w, k, below);
    below = n->list;
  }
}

/* What the execution would have asked for is lost: no state that it went through may be taken for explored. */
static void lost(struct walk *w) { hd__tree(w->s)->visited.full = 1; }

static void put_record(struct walk *w, uint32_t k, struct hd_writer *out) {
  const struct record *r = hd__record(w, FILTERS, k);
  const struct visited_node *v = hd__visited_node(w, k);
  hd_put_number(out, r->asked);
  hd_put_number(out, r->waits);
  hd__visited_put_list(w, v->list, out);
  for (unsigned i = 0; r->asked && i < HD_SET_WORDS; i++) hd_put_number(out, v->block.w[i]);
}

static void get_record(struct walk *w, uint32_t k, struct hd_reader *in) {
  struct record *r = hd__record(w, FILTERS, k);
  struct visited_node *v = hd__visited_node(w, k);
  *r = (struct record){(uint32_t)hd_get_number(in, 1), (uint32_t)hd_get_number(in, 1)};
  v->list = hd__visited_get_list(w, in);
  v->block = (struct hd_set){{0}};
  for (unsigned i = 0; r->asked && i < HD_SET_WORDS; i++) v->block.w[i] = hd_get_number(in, UINT64_MAX);
}

static const struct policy bounded = {.filter = {&hd__filter_bound, &hd__filter_visited},
                                      .record = sizeof(struct record),
                                      .keeps_done = 1,
                                      .ordered = 1,
                                      .enter = enter,
                                      .first = first,
                                      .before_event = before_event,
                                      .after_event = after_event,
                                      .catch_up = catch_up,
                                      .conclude = conclude,
                                      .retreat = retreat,
                                      .lost = lost,
                                      .put_record = put_record,
                                      .get_record = get_record};

HD_WALK_STRATEGY(bounded, "bounded", bounded);

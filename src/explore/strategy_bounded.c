/* strategy_bounded.c: every happens-before class that has a schedule within the bound (bounds.c). Stands in for
 * `dpor` and `optimal` when there is a bound. Runs in the tested process; all that must survive it is in the search
 * area.
 *
 * Sleep sets and wakeup trees leave out a branch because another one covers it; under a bound the other one may cost
 * more and be cut. Two other things keep this search small.
 *
 * Visited states. Two prefixes with the same happens-before order lead to the same state. A state is explored once
 * for each thread that may be running in it, unless it is reached again with more of the bound left. An execution
 * that comes to a state explored before is given up and counted as blocked.
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
 * it a signal, every thread within the bound is a branch. With delays, which one is next depends on who can run, so
 * hardly any two steps are independent. In a section nobody can be preempted, and a cancellation depends on everything
 * and changes what a thread is about to do: where it costs nothing to leave a thread is not where the races are.
 *
 * Invariants
 *  1. node[k] is the state after k steps. Nodes below `depth` do not change while an execution runs, later ones are
 *     written anew; all conclusions are drawn in end().
 *  2. A state is added to the visited ones when everything that was asked for in it and is within the bound has been
 *     explored. All that is ever asked for in it comes from below it.
 *  3. list of a node: what was asked for before events that precede it, sorted by their position in the execution
 *     under way. block of a node: threads asked for before the block that its running thread is in.
 *  4. When memory runs out no states are added any more, and lists are no longer kept. */
#include "explore/explore_int.h"

struct node {
  uint64_t key;
  struct hd_bound_at at;
  uint32_t used; /* of the bound, before the step */
  uint32_t list, nlist;
  uint16_t thread;           /* the branch being explored */
  uint16_t choice, nchoices; /* its outcome; 0 outcomes: it has no choice */
  uint16_t words;            /* of the sets, in use */
  uint16_t waits;            /* wait_instead has asked */
  struct hd_set enabled;
  struct hd_set wanted; /* branches asked for */
  struct hd_set tried;
  struct hd_set block;
};

struct bounded {
  uint32_t ready; /* memory is laid out */
  uint32_t depth; /* nodes fixed for the next execution */
  uint32_t at;    /* steps of the execution under way */
  uint32_t complete;
  uint32_t whole; /* some execution entered an atomic section, or cancelled a thread: nothing is left out */
  uint64_t in_flight; /* number of the execution under way, 0 between them */
  struct node *node;
  uint32_t node_cap;
  struct hd_visited visited;
};

/* A request: `thread` before the index-th event of `of`. `self`: not if the self-th event of `thread` is all that it
 * could do there; 0: in any case. */
struct request {
  unsigned of, index, thread, self;
};

static struct hd_order trace;
static uint64_t prefix;                   /* sum of hd_order_event_class */
static struct hd_visit met;               /* the state that the execution was given up at */
static uint64_t *asked;                   /* scratch: requests of an execution, packed */
static uint32_t nasked;                   /* of them */
static uint32_t *position;                /* scratch: of all events, by thread and index */
static uint32_t *enabler;                 /* scratch: what each event may have had to wait for */
static uint32_t from[HD_MAX_THREADS + 1]; /* where a thread begins there */

static struct bounded *state(struct hd_search *s) { return (struct bounded *)s->memory; }

static void lay_out(struct hd_search *s) {
  struct bounded *b = state(s);
  uint64_t size = s->memory_size / 2 - 4096, nodes = size / 4 & ~4095ull;
  char *m = s->memory + 4096;
  b->node = (struct node *)m;
  b->node_cap = (uint32_t)(nodes / sizeof *b->node);
  hd__visited_init(&b->visited, m + nodes, size - nodes);
  b->depth = b->at = b->complete = b->whole = 0;
  b->in_flight = 0;
  b->ready = 1;
}

/* ---- names of events ---- */

static void index_events(void) {
  uint32_t n = 0;
  for (uint32_t t = 0; t <= trace.nthreads; t++) {
    from[t] = n;
    if (t < trace.nthreads && trace.last[t] != HD_NONE) n += trace.ev[trace.last[t]].index;
  }
  for (uint32_t i = 0; i < trace.n; i++) position[from[trace.ev[i].op.thread] + trace.ev[i].index - 1] = i;
}

/* Where the index-th event of a thread is; HD_NONE when it did not come to that. */
static uint32_t position_of(unsigned thread, unsigned index) {
  if (thread >= trace.nthreads || !index || index > from[thread + 1] - from[thread]) return HD_NONE;
  return position[from[thread] + index - 1];
}

/* 10 bits for a thread, 22 for an event, as many as a trace has. */
static uint64_t pack(struct request r) {
  return (uint64_t)r.of << 54 | (uint64_t)r.index << 32 | (uint64_t)r.thread << 22 | r.self;
}

static struct request unpack(uint64_t p) {
  return (struct request){(unsigned)(p >> 54), p >> 32 & 0x3fffff, p >> 22 & 0x3ff, p & 0x3fffff};
}
_Static_assert(HD_MAX_THREADS <= 1 << 10, "a thread has 10 bits");

static uint32_t place_of(uint64_t packed) {
  struct request r = unpack(packed);
  return position_of(r.of, r.index);
}

static int comes_before(uint64_t a, uint64_t b) {
  uint32_t pa = place_of(a), pb = place_of(b);
  return pa != pb ? pa < pb : a < b;
}

/* ---- branches ---- */

static void want_one(struct hd_search *s, struct node *n, unsigned t) {
  if (hd_set_has(&n->tried, t) || hd_set_has(&n->wanted, t)) return;
  if (n->used + hd__bound_cost(&n->at, &n->enabled, n->words, t) > hd__bound(s))
    s->status->bound_cut = 1;
  else
    hd_set_add(&n->wanted, t);
}

static void want_all(struct hd_search *s, struct node *n) {
  for (unsigned t = 0; t < n->words * 64; t++)
    if (hd_set_has(&n->enabled, t)) want_one(s, n, t);
}

static void want(struct hd_search *s, struct node *n, unsigned t) {
  if (t < n->words * 64u && hd_set_has(&n->enabled, t))
    want_one(s, n, t);
  else
    want_all(s, n);
}

/* Whether the step of the node goes on with a block that began before it. */
static int goes_on(const struct node *n) { return n->at.stays && n->thread == n->at.current; }

/* ---- requests of one execution ---- */

static void ask(uint32_t e, unsigned thread, unsigned self) {
  const struct hd_ev *ev = &trace.ev[e];
  if (ev->op.thread != thread)
    asked[nasked++] = pack((struct request){ev->op.thread, ev->index, thread, self});
}

/* Of the executed operations since node `first`, and of those still pending at the end. */
static void ask_for_races(uint32_t first) {
  for (uint32_t i = 0; i < trace.nraces; i++)
    if (trace.race[i].f >= first) ask(trace.race[i].e, trace.race[i].thread, 0);
}

/* The thread is left with an operation that is not executed, as far as is known. */
static void pending(const struct hd_point *p, unsigned t) {
  if (trace.last[t] != HD_NONE) {
    const struct hd_ev *e = &trace.ev[trace.last[t]];
    if (hd_op_effect(e->op.kind, 0) == HD_EFF_FINISH || hd_op_effect(e->op.kind, 0) == HD_EFF_END ||
        (e->flags & HD_EV_STOP))
      return;
  }
  hd_order_pending(&trace, p->op[t]);
}

/* A thread that could go on before the last step, or made it, and cannot now. What holds it up may be hidden behind
 * others by the time it goes on, and there may be no way to let it go on earlier within the bound but before this. */
static void held_up(const struct hd_point *p, const struct node *up) {
  for (unsigned i = 0; i < up->words; i++)
    for (uint64_t left = up->enabled.w[i] & ~p->enabled->w[i]; left; left &= left - 1)
      pending(p, i * 64 + (unsigned)__builtin_ctzll(left));
}

/* Shell's sort, by position, then without doubles. */
static void sort_asked(void) {
  uint32_t gap = 1, n = 0;
  while (gap < nasked / 3) gap = gap * 3 + 1;
  for (; gap; gap /= 3)
    for (uint32_t i = gap; i < nasked; i++) {
      uint64_t x = asked[i];
      uint32_t k = i;
      for (; k >= gap && comes_before(x, asked[k - gap]); k -= gap) asked[k] = asked[k - gap];
      asked[k] = x;
    }
  for (uint32_t i = 0; i < nasked; i++)
    if (!n || asked[n - 1] != asked[i]) asked[n++] = asked[i];
  nasked = n;
}

static void answer(struct hd_search *s, struct bounded *b, uint64_t packed) {
  struct request r = unpack(packed);
  uint32_t e = position_of(r.of, r.index);
  if (r.self && (r.self == 1 || position_of(r.thread, r.self - 1) < e)) return;
  struct node *n = &b->node[e];
  want(s, n, r.thread);
  if (goes_on(n)) hd_set_add(&n->block, r.thread);
}

/* ---- what is kept with a state ---- */

struct list {
  uint32_t at, n;
};

static struct list keep(struct bounded *b, const uint64_t *from_, uint32_t n) {
  struct list l = {0, 0};
  uint32_t at = n ? hd__visited_room(&b->visited, n) : HD_NONE;
  if (at == HD_NONE) return l;
  for (uint32_t i = 0; i < n; i++) b->visited.log[at + i] = from_[i];
  return (struct list){at, n};
}

/* The union of the two; in scratch first, since it often is one of them. */
static struct list unite(struct bounded *b, struct list x, struct list y) {
  if (!x.n || !y.n) return x.n ? x : y;
  const uint64_t *a = b->visited.log + x.at, *c = b->visited.log + y.at;
  uint32_t i = 0, k = 0, n = 0;
  while (i < x.n || k < y.n) {
    if (i < x.n && k < y.n && a[i] == c[k]) k++;
    asked[n++] = k == y.n || (i < x.n && !comes_before(c[k], a[i])) ? a[i++] : c[k++];
  }
  return n == x.n ? x : n == y.n ? y : keep(b, asked, n);
}

static void unite_with(struct bounded *b, struct node *n, struct list l) {
  l = unite(b, (struct list){n->list, n->nlist}, l);
  n->list = l.at;
  n->nlist = l.n;
}

/* The node is left for good. */
static void add_visited(struct bounded *b, const struct node *n) {
  struct hd_visit v = {.key = n->key, .used = n->used, .at = n->list, .n = n->nlist};
  uint64_t members[HD_MAX_THREADS];
  uint32_t m = 0;
  for (unsigned i = 0; i < HD_SET_WORDS; i++)
    for (uint64_t left = n->block.w[i]; left; left &= left - 1)
      members[m++] = i * 64 + (unsigned)__builtin_ctzll(left);
  struct list l = keep(b, members, m);
  v.block = l.at;
  v.nblock = l.n;
  hd__visited_add(&b->visited, &v);
}

/* ---- the strategy ---- */

/* What was asked for before the block that the running thread of the state below is in: it began here, or earlier. */
static void take_block(struct hd_search *s, struct node *n, const struct hd_set *block) {
  for (unsigned i = 0; i < HD_SET_WORDS; i++)
    for (uint64_t left = block->w[i]; left; left &= left - 1) {
      unsigned t = i * 64 + (unsigned)__builtin_ctzll(left);
      if (goes_on(n))
        hd_set_add(&n->block, t);
      else
        want(s, n, t);
    }
}

/* Somebody is to go between what the running thread did before this step and what it did after. That may cost nothing
 * if this step had to wait: before what let it go. */
static void wait_instead(struct hd_search *s, struct bounded *b, uint32_t k) {
  struct node *n = &b->node[k];
  if (k >= trace.n || enabler[k] == HD_NONE || n->waits || !goes_on(n)) return;
  uint64_t any = 0;
  for (unsigned i = 0; i < HD_SET_WORDS; i++) any |= n->block.w[i];
  if (!any) return;
  n->waits = 1;
  nasked = 0;
  ask(enabler[k], n->thread, trace.ev[k].index);
  if (!nasked) return;
  answer(s, b, asked[0]);
  unite_with(b, n, keep(b, asked, nasked));
}

/* Leaves the branch that was just explored for the next one, from the deepest node up; `below` and `block` are what
 * is known of the state it led to. Returns 0 when there is none. */
static int backtrack(struct hd_search *s, struct bounded *b, uint32_t running, struct list below,
                     const struct hd_set *block) {
  for (uint32_t k = running; k-- > 0;) {
    struct node *n = &b->node[k];
    while (below.n && place_of(b->visited.log[below.at + below.n - 1]) >= k) below.n--;
    if (b->visited.full) below.n = n->nlist = 0;
    unite_with(b, n, below);
    take_block(s, n, block);
    wait_instead(s, b, k);
    b->depth = k + 1;
    if (++n->choice < n->nchoices) return 1;
    n->choice = n->nchoices = 0;
    for (unsigned i = 0; i < n->words; i++) {
      uint64_t left = n->wanted.w[i] & ~n->tried.w[i];
      if (!left) continue;
      n->thread = (uint16_t)(i * 64 + (unsigned)__builtin_ctzll(left));
      hd_set_add(&n->tried, n->thread);
      return 1;
    }
    add_visited(b, n);
    below = (struct list){n->list, n->nlist};
    block = &n->block;
  }
  return 0;
}

/* The process died in the middle of an execution, and with it what that one would have asked for. */
static void recover(struct hd_search *s, struct bounded *b) {
  b->visited.full = 1;
  s->status->lossy = 1;
  static const struct hd_set nothing;
  b->complete = !backtrack(s, b, b->at > b->depth ? b->at : b->depth, (struct list){0, 0}, &nothing);
  b->in_flight = 0;
}

static int begin(struct hd_search *s) {
  struct bounded *b = state(s);
  if (!b->ready) lay_out(s);
  if (b->in_flight && b->in_flight != s->execution) recover(s, b);
  if (b->complete) return 0;
  b->in_flight = s->execution;
  if (!trace.ev) {
    hd_order_init(&trace, s->scratch);
    position = (uint32_t *)(s->scratch + HD_ORDER_MEMORY);
    enabler = position + trace.cap_ev;
    asked = (uint64_t *)(enabler + trace.cap_ev);
  }
  hd_order_begin(&trace);
  b->at = 0;
  prefix = 0;
  met.epoch = 0;
  nasked = 0;
  return 1;
}

/* Two states are the same when the happens-before order of what led there is, and the costs of what can follow are:
 * the thread that may go on for nothing, if there is one. */
static uint64_t key_of(const struct node *n) {
  unsigned turn = hd__bound_turn(&n->at, &n->enabled, n->words);
  unsigned runs = n->at.kind == HD_BOUND_DELAYS || n->at.stays ? turn + 1 : 0;
  return hd_mix64(prefix + hd_mix64(runs));
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct bounded *b = state(s);
  if (b->at != trace.n || b->at == b->node_cap) return HD_PICK_DIVERGED;
  struct node *n = &b->node[b->at];
  if (b->at < b->depth) {
    b->at++;
    return n->thread < p->words * 64 && hd_set_has(p->enabled, n->thread) ? n->thread : HD_PICK_DIVERGED;
  }
  const struct node *up = n - 1;
  n->at = hd__bound_at(s, p);
  n->used = b->at ? up->used + hd__bound_cost(&up->at, &up->enabled, up->words, up->thread) : 0;
  n->list = n->nlist = 0;
  n->choice = n->nchoices = n->waits = 0;
  n->words = (uint16_t)p->words;
  for (unsigned i = 0; i < p->words; i++) {
    n->enabled.w[i] = p->enabled->w[i];
    n->wanted.w[i] = n->tried.w[i] = 0;
  }
  n->block = (struct hd_set){{0}}; /* may name threads that do not exist yet */
  int reduce = n->at.kind == HD_BOUND_PREEMPTIONS;
  if (reduce && b->at) held_up(p, up);
  n->key = key_of(n);
  const struct hd_visit *v = hd__visited_find(&b->visited, n->key, n->used);
  if (v) {
    met = *v;
    return HD_PICK_GIVE_UP;
  }
  n->thread = (uint16_t)(reduce && !n->at.stays ? hd_set_nth(p->enabled, 0)
                                                : hd__bound_turn(&n->at, &n->enabled, n->words));
  hd_set_add(&n->tried, n->thread);
  if (!reduce || b->whole) want_all(s, n);
  b->at++;
  return n->thread;
}

static int choose(struct hd_search *s, unsigned k) {
  struct node *n = &state(s)->node[state(s)->at - 1];
  n->nchoices = (uint16_t)k;
  return n->choice < k ? n->choice : HD_PICK_DIVERGED;
}

static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  (void)s;
  enabler[trace.n] = hd_order_enabler(&trace, op);
  hd_order_event(&trace, op, flags, choice, nchoices);
  prefix += hd_order_event_class(&trace, &trace.ev[trace.n - 1]);
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  struct bounded *b = state(s);
  uint32_t running = b->at < trace.n ? b->at : trace.n;
  if (how == HD_HOW_STOPPED) hd_order_stop(&trace);
  hd__count_class(s, &trace, how);
  struct list below = {0, 0};
  struct hd_set block = {{0}};
  if (s->config->bound_kind == HD_BOUND_PREEMPTIONS) {
    if (how != HD_HOW_BLOCKED) {
      hd_order_end(&trace, p);
      for (unsigned t = 0; t < trace.nthreads; t++) pending(p, t);
    }
    ask_for_races(b->depth ? b->depth - 1 : 0);
    for (uint32_t i = 0; met.epoch && i < met.n; i++) asked[nasked++] = b->visited.log[met.at + i];
    for (uint32_t i = 0; met.epoch && i < met.nblock; i++)
      hd_set_add(&block, (unsigned)b->visited.log[met.block + i]);
    index_events();
    sort_asked();
    for (uint32_t i = 0; i < nasked; i++) answer(s, b, asked[i]);
    below = keep(b, asked, nasked);
  }
  if ((trace.section != HD_NONE || trace.interrupt != HD_NONE) && !b->whole) {
    b->whole = 1;
    for (uint32_t i = 0; i < running; i++) want_all(s, &b->node[i]);
  }
  b->in_flight = 0;
  b->complete = !backtrack(s, b, running, below, &block);
  return !b->complete;
}

static void forget(struct hd_search *s) {
  state(s)->ready = 0;
  hd__forget_classes(s);
}

const struct hd_strategy hd_strategy_bounded = {.name = "bounded",
                                                .systematic = 1,
                                                .begin = begin,
                                                .pick = pick,
                                                .choose = choose,
                                                .event = event,
                                                .end = end,
                                                .forget = forget};

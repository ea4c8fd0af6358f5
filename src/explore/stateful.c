/* stateful.c: visited states with a policy that reverses races: stateful dynamic partial order reduction. Runs in the
 * tested process.
 *
 * Yang, Chen, Gopalakrishnan, Kirby, "Efficient Stateful Dynamic Partial Order Reduction", SPIN 2008: an execution is given
 * up at a state that was explored before; what would have followed may race with the steps that led there this time, so a
 * summary of it is kept with the state, and each operation of the summary adds branches before the steps it may race with,
 * as if it had been executed. Differences:
 *  - States are exact (runtime/core/fingerprint.c), and so are summaries: the paper takes all operations that ever followed
 *    one another anywhere (a graph of visible operations) for what follows a state.
 *  - With each operation it is kept what happens before it, wherever it followed the state: threads, and operations such as
 *    the taking of a lock. A step that happens before one of those does not race with the operation: so accesses under a
 *    common lock add nothing.
 *  - Cycles (below), which the paper leaves out.
 *  - Source sets (reverse.c) in the place of persistent ones. No sleep sets: two orders of independent steps lead to one
 *    state, which is recognised; what sleeps would be another part of it.
 *
 * Terms. The summary U(s) of a state s is the operations of all executions from s that were explored, or stand for explored
 * ones. With each u stand sets B(u) of threads, whose past happens before u, since a step of them after s does or since they
 * are joined; and sets A(u) of operations, which are executed after s and happen before u. In every such execution at least
 * one pair of sets is true. A state is finished when everything from it is explored; then U(s) is known. A node is expanded
 * when every enabled thread is a branch of it.
 *
 * Invariants
 *  1. A node that is left gives its summary to the node above: the step between them happens before u if it is of the same
 *     thread, or of one in B(u), or dependent with u or A(u), or lets one of these threads go on. Then its thread is added to
 *     B(u), and it to A(u). Sets may be smaller than they could be, never larger. Of two pairs the larger is left out.
 *     A step that only ends a wait of u is left out of its sets: u races with whoever made it wait before (model/order.c,
 *     invariant 3), and that may be an earlier step of the same thread. So is any other step that u depends on while it
 *     waits; only the taking of a lock stands for all that came before it.
 *  2. A match with a finished state s, after the steps e1..ek: for each u of U(s) and each ei that is dependent with u, of
 *     another thread, and not known to happen before u (by the clocks of u's thread, of B(u), or of a later step that is
 *     dependent with one of A(u)), the node before ei has a branch that begins what happens without ei: a thread of the
 *     first steps after ei that do not depend on it, or the thread of u, or, if it cannot go there, all threads that can
 *     and have not gone since.
 *  3. A match with a state that is not finished closes a cycle: it is further up, or leads to one that is. All nodes from
 *     where the cycle is entered (Tarjan, "Depth-First Search and Linear Graph Algorithms", 1972) are expanded, so nothing
 *     has to be reversed inside (the proviso of Godefroid 1996, for all states of the cycle). Its states are finished
 *     together, with one summary, in which all sets are empty; that is applied as in 2 to the steps that lead to the cycle.
 *  4. Nodes that other workers take part in, and those of a process that died, are not finished: their states are
 *     explored wherever they are met. Cycles through them expand all nodes above.
 *  5. With symmetry.c: where threads are held back because they follow others, U(s) has each operation also as it is when
 *     these threads are exchanged with each other. So it is true of all executions from s, whoever follows whom where s is
 *     met again.
 *
 * Soundness. Claim: the branches of a node that is left are a source set: for each execution w from its state one of them is
 * of a thread that can begin an execution equivalent to w. By induction on the order in which nodes are left, what follows
 * the node's first step e is explored up to equivalence, in pieces that end at matches. Let f be the first operation of w
 * that is dependent with e. If e and f are in one piece, reverse.c adds the branch. If f comes after a match with s, then f
 * is in U(s), with sets that are true of w: what they name happens before f in w, and does not happen after e, since f is the
 * first that does; so by 2 the race is not passed over, and the branch is added. That a
 * branch of the thread of f will do where it does not begin w itself: then an earlier step of w is dependent with it, and
 * the same argument for that branch and the shorter w adds the missing one (Flanagan, Godefroid, POPL 2005). In a cycle every
 * node is expanded, and before it 3 applies 2. Which data races and which visible memory follow a state is part of the
 * state (fingerprint.c, invariant 4), so they were found from it before.
 *
 * With symmetry.c the claim is for executions w of the restricted system, in which threads that follow others are held back,
 * and w is explored up to the exchange of threads that are interchangeable in a state it passes. That they are is a property
 * of the state, although it is found from the past. Which threads are held back is not: where s is met again, w may have
 * the threads exchanged that were held back from s; by 5, U(s) has the operations of that w, too. */
#include "explore/walk.h"

struct state_node {
  uint64_t key[2];
  uint32_t has_key; /* the state is in the table, and explored here */
  uint32_t branches;
  uint32_t cyclic; /* a cycle is entered here */
  uint32_t words;
  uint32_t holds;         /* threads that are held back here, since they follow others (symmetry.c) */
  struct hd_set enabled;  /* those that may go, */
  struct hd_set together; /* the ones held back, and those they follow */
};

/* Of a node; of the one after the last step, what is known to follow. */
struct summary {
  struct summary_item *item; /* sorted by `op` */
  uint32_t n, cap;
  uint32_t low;  /* the uppermost node that is on a cycle with it; itself: none */
  uint32_t open; /* summaries.nopen when it was entered */
};

struct open_state {
  uint64_t key[2];
  uint32_t private; /* it is in the table twice: another explores it, too */
};

/* At `depth` a state was met: that summary follows; or, without items, a cycle that is entered at `from`. */
struct met {
  uint32_t depth, from, cycle;
  uint32_t n;
  const struct summary_item *item;
};

#define MAX_MET 4096
#define MAX_SETS 8 /* of threads, for one operation of a summary */

static struct states *table(const struct walk *w) { return &hd__tree(w->s)->states; }
static struct state_node *record(const struct walk *w, uint32_t k) { return hd__record(w, FILTER_STATES, k); }

/* ---- memory ---- */

static void lay_out(struct walk *w) {
  struct summaries *m = &w->summaries;
  uint64_t n = w->order.cap_ev;
  char *at = (char *)(w->scratch + 10 * n); /* reverse.c and symmetry.c use what is before */
  m->of = (struct summary *)at;
  at += n * sizeof *m->of;
  m->open = (struct open_state *)at;
  at += n * sizeof *m->open;
  m->depends = (struct depends *)at;
  at += n * sizeof *m->depends;
  m->met = (struct met *)at;
  m->next = at + MAX_MET * sizeof *m->met;
  m->end = (char *)w->scratch + (3ull << 30);
}

/* Nodes before `floor` are not finished here from now on. */
static void raise_floor(struct walk *w, uint32_t floor) {
  struct summaries *m = &w->summaries;
  const struct unit *u = w->unit;
  for (uint32_t k = u->base; k < floor && k < u->running; k++) m->cyclic |= record(w, k)->cyclic;
  if (floor > m->floor) m->floor = floor;
}

/* What this process knows belongs to another unit, or to none. */
static void begin(struct walk *w, uint32_t floor) {
  struct summaries *m = &w->summaries;
  struct unit *u = w->unit;
  if (!m->of) lay_out(w);
  m->unit = u;
  m->epoch = u->epoch;
  m->serial = __atomic_add_fetch(&table(w)->serials, 1, __ATOMIC_SEQ_CST);
  m->floor = m->nopen = m->cyclic = 0;
  m->base = u->base;
  m->met_in = 0;
  for (uint32_t e = 0; e < u->depth; e++) m->depends[e] = (struct depends){.n = 0};
  raise_floor(w, floor);
}

static void look_at_unit(struct walk *w) {
  struct summaries *m = &w->summaries;
  const struct unit *u = w->unit;
  if (m->unit != u || m->epoch != u->epoch || !m->serial) begin(w, u->depth);
  for (; m->base < u->base; m->base++) /* these were given away since */
    if (m->base >= m->floor) m->cyclic |= record(w, m->base)->cyclic;
}

static uint32_t floor_of(const struct walk *w) {
  const struct summaries *m = &w->summaries;
  return m->floor > w->unit->base ? m->floor : w->unit->base;
}

/* Room for one more item. */
static int make_room(struct walk *w, struct summary *a) {
  struct summaries *m = &w->summaries;
  if (a->n < a->cap) return 1;
  uint32_t cap = a->cap ? a->cap * 2 : 16;
  struct summary_item *item = (struct summary_item *)m->next;
  if ((uint64_t)(m->end - m->next) < cap * sizeof *item) return 0;
  m->next += cap * sizeof *item;
  for (uint32_t i = 0; i < a->n; i++) item[i] = a->item[i];
  a->item = item;
  a->cap = cap;
  return 1;
}

/* ---- operations by number ---- */

static int same_op(const struct summary_op *a, const struct summary_op *b) {
  return a->op.kind == b->op.kind && a->op.section == b->op.section && a->op.thread == b->op.thread &&
         a->op.size == b->op.size && a->op.object == b->op.object && a->flags == b->flags &&
         a->op.payload[0] == b->op.payload[0] && a->op.payload[1] == b->op.payload[1] &&
         a->op.payload[2] == b->op.payload[2];
}

/* Of a summary's operation: a waiting loop (model/order_await.c). */
#define GUARDED 0x100

/* The number of the operation; 0: there are too many. Numbers of earlier searches that are left in the table stand for
 * other operations, or for none. */
static uint64_t number_of(struct walk *w, const struct hd_op *op, unsigned flags) {
  struct states *t = table(w);
  struct summary_op o = {.op = *op, .flags = flags & (HD_EV_FAILED | HD_EV_LATE | HD_EV_STOP | GUARDED)};
  hd_dependence_strip(&o.op);
  o.key = hd_dependence_key(&o.op, o.flags);
  uint64_t h = o.op.object + ((uint64_t)o.op.kind << 56) + ((uint64_t)o.op.thread << 40) + o.flags;
  h = hd_mix64(h ^ hd_mix64(o.op.size + o.op.payload[0]));
  for (;; h++) {
    uint32_t *at = &t->op_table[h & (2 * HD_SUMMARY_OPS - 1)];
    if (!*at || *at > t->nops) {
      if (t->nops + 1 == HD_SUMMARY_OPS) return 0;
      t->op[t->nops + 1] = o;
      *at = ++t->nops;
      return *at;
    }
    if (same_op(&t->op[*at], &o)) return *at;
  }
}

static const struct summary_op *op_of(const struct walk *w, const struct summary_item *i) {
  return &table(w)->op[i->op & (HD_SUMMARY_OPS - 1)];
}

/* ---- summaries ---- */

/* The number of an operation in states.after, as a bit; 0: there are too many, or it is of another kind. */
static uint64_t after_bit(struct walk *w, const struct hd_op *op, unsigned flags) {
  const uint64_t kinds = HD_EFFECT_BIT(HD_EFF_ACQUIRE) | HD_EFFECT_BIT(HD_EFF_SHARE) |
                         HD_EFFECT_BIT(HD_EFF_READ) | HD_EFFECT_BIT(HD_EFF_WRITE) |
                         HD_EFFECT_BIT(HD_EFF_UPDATE);
  struct states *t = table(w);
  if (!(kinds >> hd_op_effect(op->kind, flags) & 1) || (flags & HD_EV_STOP)) return 0;
  struct summary_op o = {.op = *op, .flags = flags & (HD_EV_FAILED | HD_EV_LATE)};
  hd_dependence_strip(&o.op);
  o.op.thread = 0;
  o.key = hd_dependence_key(&o.op, o.flags);
  uint32_t i = 0;
  while (i < t->nafter && !same_op(&t->after[i], &o)) i++;
  if (i == 64) return 0;
  if (i == t->nafter) t->after[t->nafter++] = o;
  return 1ull << i;
}

/* Which of those the event is dependent with. */
static uint64_t depends_on(const struct walk *w, uint32_t e) {
  const struct states *t = table(w);
  const struct hd_ev *ev = &w->order.ev[e];
  struct depends *d = &w->summaries.depends[e];
  for (; d->n < t->nafter; d->n++) {
    const struct summary_op *o = &t->after[d->n];
    if (!hd_keys_apart(w->order.key[e], o->key) && hd_dependent(&ev->op, ev->flags, &o->op, o->flags))
      d->set |= 1ull << d->n;
  }
  return d->set;
}

static int contains(const struct summary_item *a, const struct summary_item *b) {
  return !(b->threads & ~a->threads) && !(b->after & ~a->after);
}

/* Invariant 1. Of the sets of one operation only those are kept that contain no other: whatever those would pass over, this
 * one does not. Returns 0 when there is no room. */
static int add_item(struct walk *w, struct summary *a, struct summary_item x) {
  uint32_t lo = 0, hi = a->n, n = 0;
  if (!x.op) return 0;
  while (lo < hi) {
    uint32_t mid = (lo + hi) / 2;
    if (a->item[mid].op < x.op)
      lo = mid + 1;
    else
      hi = mid;
  }
  for (uint32_t i = lo; i < a->n && a->item[i].op == x.op; i++, n++)
    if (contains(&x, &a->item[i])) return 1;
  for (uint32_t i = lo; n == MAX_SETS && i < lo + n; i++) {
    x.threads &= a->item[i].threads;
    x.after &= a->item[i].after;
  }
  uint32_t to = lo;
  for (uint32_t i = lo; i < lo + n; i++)
    if (!contains(&a->item[i], &x)) a->item[to++] = a->item[i];
  for (uint32_t i = lo + n; to != lo + n && i < a->n; i++) a->item[to + i - lo - n] = a->item[i];
  a->n -= lo + n - to;
  if (!make_room(w, a)) return 0;
  for (uint32_t i = a->n++; i > to; i--) a->item[i] = a->item[i - 1];
  a->item[to] = x;
  return 1;
}

static uint64_t bit(uint64_t thread) { return thread < 64 ? 1ull << thread : 0; }

/* The last event of the thread before event k. */
static uint32_t last_of(const struct hd_order *o, unsigned thread, uint32_t k) {
  uint32_t e = thread < o->nthreads ? o->last[thread] : HD_NONE;
  while (e != HD_NONE && e >= k) e = o->ev[e].prev;
  return e;
}

/* Whether the thread waited at the object of event e, which wakes all that do. */
static int waited(const struct hd_order *o, uint32_t e, unsigned thread) {
  uint32_t last = last_of(o, thread, e);
  if (last == HD_NONE || o->ev[last].op.object != o->ev[e].op.object) return 0;
  const struct hd_ev *v = &o->ev[last];
  return (hd_op_effect(v->op.kind, v->flags) == HD_EFF_QUEUE ||
          hd_op_second(v->op.kind, v->flags) == HD_EFF_QUEUE) &&
         !(v->nchoices == 2 && v->choice); /* it may have woken by itself */
}

/* Whether u, or the first step of one of these threads, is possible because of event e. */
static int lets_go(const struct hd_order *o, uint32_t e, const struct hd_op *u, uint64_t before) {
  const struct hd_op *op = &o->ev[e].op;
  enum hd_effect effect = hd_op_effect(op->kind, o->ev[e].flags);
  if (hd_op_effect(u->kind, 0) == HD_EFF_JOIN && u->object == op->thread) return 1;
  if (effect == HD_EFF_SPAWN) return op->object == u->thread || (before & bit(op->object));
  if (hd_op_payload(op->kind) == HD_PAYLOAD_WAKE && hd_op_woken(op))
    return hd_op_woken(op) - 1 == u->thread || (before & bit(hd_op_woken(op) - 1));
  if (effect != HD_EFF_NOTIFY_ALL) return 0;
  if (waited(o, e, u->thread)) return 1;
  for (; before; before &= before - 1)
    if (waited(o, e, (unsigned)__builtin_ctzll(before))) return 1;
  return 0;
}

/* Whether all that happened before event e, on which u depends, comes before u for good (invariant 1). */
static int hides(const struct hd_ev *e, const struct summary_op *u) {
  const uint64_t locks = HD_EFFECT_BIT(HD_EFF_ACQUIRE) | HD_EFFECT_BIT(HD_EFF_SHARE) |
                         HD_EFFECT_BIT(HD_EFF_LOOK) | HD_EFFECT_BIT(HD_EFF_LOOK_SHARED);
  if (!(u->flags & GUARDED) && !hd_op_is(u->op.kind, HD_TRAIT_WAITS | HD_TRAIT_ENABLER)) return 1;
  return !(u->flags & GUARDED) && (locks >> hd_op_effect(u->op.kind, u->flags) & 1) &&
         hd_op_effect(e->op.kind, e->flags) == HD_EFF_ACQUIRE;
}

static int happens_before(const struct walk *w, uint32_t e, const struct summary_item *x) {
  const struct hd_order *o = &w->order;
  const struct hd_ev *ev = &o->ev[e];
  const struct summary_op *u = op_of(w, x);
  if (ev->op.thread == u->op.thread || (x->threads & bit(ev->op.thread)) || (depends_on(w, e) & x->after))
    return 1;
  if (!hd_keys_apart(o->key[e], u->key) && hides(ev, u) && hd_dependent(&ev->op, ev->flags, &u->op, u->flags))
    return 1;
  return lets_go(o, e, &u->op, x->threads);
}

/* With GUARDED. */
static unsigned flags_of(const struct walk *w, uint32_t e) {
  return w->order.ev[e].flags | (w->summaries.depends[e].guarded ? GUARDED : 0);
}

/* Gives the summary of node k to the one above. */
static int give(struct walk *w, uint32_t k) {
  const struct summary *from = &w->summaries.of[k];
  struct summary *to = &w->summaries.of[k - 1];
  const struct hd_ev *e = &w->order.ev[k - 1];
  uint64_t threads = bit(e->op.thread), after = after_bit(w, &e->op, e->flags);
  if (hd_op_effect(e->op.kind, e->flags) == HD_EFF_JOIN) threads |= bit(e->op.object);
  for (uint32_t i = 0; i < from->n; i++) {
    struct summary_item x = from->item[i];
    if (happens_before(w, k - 1, &x)) {
      x.threads |= threads;
      x.after |= after;
    }
    if (!add_item(w, to, x)) return 0;
  }
  if (from->low < to->low) to->low = from->low;
  return add_item(w, to, (struct summary_item){.op = number_of(w, &e->op, flags_of(w, k - 1))});
}

/* Whether the thread exists and has not ended, after all events. */
static int is_alive(const struct hd_order *o, uint32_t i) {
  uint32_t last = o->last[i];
  if (last == HD_NONE) return !i || o->cause[i] != HD_NONE;
  return hd_op_effect(o->ev[last].op.kind, 0) != HD_EFF_FINISH || o->cause[i] != HD_NONE;
}

static int is_guarded(const struct walk *w, unsigned thread) {
  return w->order.guard && w->order.guard[thread];
}

/* What could not be executed at the end follows, too. */
static int add_pending(struct walk *w, struct summary *a, const struct hd_point *p) {
  for (uint32_t i = 0; i < w->order.nthreads; i++)
    if (is_alive(&w->order, i) && !hd_set_has(p->enabled, i) && p->op[i]->kind != HD_OP_NONE &&
        !add_item(w, a, (struct summary_item){.op = number_of(w, p->op[i], is_guarded(w, i) ? GUARDED : 0)}))
      return 0;
  return 1;
}

/* Keeps a summary in the log; where, 0: there is no room. The last one is often the same. */
static uint32_t keep(struct walk *w, const struct summary *a) {
  struct states *t = table(w);
  uint64_t words = 1 + sizeof *a->item / sizeof *t->log * a->n;
  if (t->log_n > words && t->log[t->log_n - words] == a->n) {
    const struct summary_item *last = (const struct summary_item *)&t->log[t->log_n - words + 1];
    uint32_t i = 0;
    while (i < a->n && last[i].op == a->item[i].op && last[i].threads == a->item[i].threads &&
           last[i].after == a->item[i].after)
      i++;
    if (i == a->n && t->log_last == t->log_n - words) return (uint32_t)t->log_last;
  }
  if (t->log_n + words > t->log_max) {
    t->full = 1;
    return 0;
  }
  uint64_t at = t->log_n;
  t->log[at] = a->n;
  struct summary_item *to = (struct summary_item *)&t->log[at + 1];
  for (uint32_t i = 0; i < a->n; i++) to[i] = a->item[i];
  t->log_last = at;
  t->log_n = at + words;
  return (uint32_t)at;
}

/* ---- branches ---- */

static void add_branch(struct walk *w, uint32_t k, unsigned thread) {
  struct hd_branch **p = hd__branches(w, k);
  if (hd__has_branch(w, k, thread)) return;
  while (*p) p = &(*p)->next;
  __atomic_store_n(p, hd__branch_step(w->unit, thread, -1, NULL), __ATOMIC_RELEASE);
  hd__walk_added(w, k);
}

/* All nodes in between are expanded. Returns whether some are on the other side of the unit. */
static int expand(struct walk *w, uint32_t from, uint32_t to, int above) {
  int more = 0;
  for (uint32_t k = from; k < to; k++) {
    if ((k < w->unit->base) != above) {
      more = 1;
      continue;
    }
    const struct state_node *n = record(w, k);
    HD_SET_EACH (t, &n->enabled, n->words) add_branch(w, k, t);
  }
  return more;
}

static void merge(const struct hd_order *o, uint32_t *clock, uint32_t e) {
  const uint32_t *c = o->ev[e].clock;
  for (uint32_t i = 0; i < o->threads_max; i++)
    if (c[i] > clock[i]) clock[i] = c[i];
}

/* What happened before the next step of the thread after k events. */
static void know(const struct hd_order *o, uint32_t *clock, unsigned thread, uint32_t k) {
  uint32_t last = last_of(o, thread, k);
  if (last != HD_NONE) merge(o, clock, last);
  if (k == o->n && thread < o->nthreads && o->cause[thread] != HD_NONE) merge(o, clock, o->cause[thread]);
  if (last != HD_NONE || !thread) return;
  for (uint32_t e = k; e-- > 0;)
    if (hd_op_effect(o->ev[e].op.kind, o->ev[e].flags) == HD_EFF_SPAWN && o->ev[e].op.object == thread) {
      merge(o, clock, e);
      return;
    }
}

/* The same, with what it follows (symmetry.c). */
static void know_next(const struct walk *w, uint32_t *clock, unsigned thread, uint32_t k) {
  const struct hd_order *o = &w->order;
  const struct symmetry *y = &w->symmetry;
  know(o, clock, thread, k);
  if (!w->symmetric || k != o->n) return;
  for (; y->follows[thread] == HD_HELD; know(o, clock, thread, k)) thread = y->leader[thread] - 1u;
  if (y->follows[thread] != HD_NONE) merge(o, clock, y->follows[thread]);
}

static int covers_event(struct hd_order *o, const uint32_t *clock, uint32_t e) {
  if (clock[o->ev[e].op.thread] >= o->ev[e].index) return 1;
  if (e >= clock[HD_LATE(o)]) return 0;
  o->by_time++;
  return 1;
}

/* Whether a step of the thread begins what happens without event e, of the first k: its first step after e does not depend
 * on e, nor on another that does not. */
static int begins(const struct hd_order *o, uint32_t e, uint32_t k, unsigned thread) {
  uint32_t f = e + 1;
  while (f < k && o->ev[f].op.thread != thread) f++;
  if (f == k || hd_order_before(o, e, f)) return 0;
  for (uint32_t i = e + 1; i < f; i++)
    if (!hd_order_before(o, e, i) && hd_order_before(o, i, f)) return 0;
  return 1;
}

/* Invariant 2: a branch before event e, of the first k, for an operation of the thread. */
static void reverse(struct walk *w, uint32_t e, uint32_t k, unsigned thread) {
  const struct hd_order *o = &w->order;
  const struct state_node *n = record(w, e);
  uint32_t last = last_of(o, thread, k), ndone;
  int can = (last == HD_NONE || last < e) && hd_set_has(&n->enabled, thread);
  if (can && hd__has_branch(w, e, thread)) return;
  const struct hd_sleeper *done = hd__done(w, e, &ndone);
  for (uint32_t i = 0; i < ndone; i++)
    if (begins(o, e, k, done[i].op.thread)) return;
  for (const struct hd_branch *b = *hd__branches(w, e); b; b = b->next)
    if (begins(o, e, k, b->op.thread)) return;
  if (can) {
    add_branch(w, e, thread);
    return;
  }
  for (uint32_t f = e + 1; f < k; f++)
    if (!hd_order_before(o, e, f)) {
      add_branch(w, e, o->ev[f].op.thread);
      return;
    }
  HD_SET_EACH (t, &n->enabled, n->words)
    if (last_of(o, t, k) == HD_NONE || last_of(o, t, k) < e) add_branch(w, e, t);
}

/* What follows after the first k events, as if it had been executed. Returns whether it concerns nodes on the other side
 * of the unit. */
static int apply(struct walk *w, uint32_t k, const struct summary_item *item, uint32_t n, int above) {
  struct hd_order *o = &w->order;
  uint32_t clock[HD_CLOCK_MAX];
  int more = 0;
  for (uint32_t i = 0; i < n; i++) {
    const struct summary_op *u = op_of(w, &item[i]);
    if (u->op.section == HD_SECTION_INSIDE) continue; /* the entry takes its place (model/order_section.c) */
    for (uint32_t t = 0; t < o->threads_max; t++) clock[t] = 0;
    know_next(w, clock, u->op.thread, k);
    for (uint64_t b = item[i].threads; b; b &= b - 1) know(o, clock, (unsigned)__builtin_ctzll(b), k);
    for (uint32_t e = k; e-- > 0;) {
      const struct hd_ev *ev = &o->ev[e];
      if (depends_on(w, e) & item[i].after) {
        merge(o, clock, e);
        continue;
      }
      if (ev->op.thread == u->op.thread || hd_keys_apart(o->key[e], u->key) ||
          ev->op.section == HD_SECTION_INSIDE || !hd_dependent(&ev->op, ev->flags, &u->op, u->flags) ||
          hd_waits_for(&ev->op, ev->flags, &u->op, u->flags) || covers_event(o, clock, e))
        continue;
      if ((e < w->unit->base) == above)
        reverse(w, e, k, u->op.thread);
      else
        more = 1;
      if (hides(ev, u)) merge(o, clock, e);
    }
  }
  return more;
}

static int take_into_account(struct walk *w, const struct met *t, int above) {
  if (!t->cycle) return apply(w, t->depth, t->item, t->n, above);
  return expand(w, t->from < floor_of(w) ? 0 : t->from, t->depth, above);
}

/* ---- interchangeable threads ---- */

/* Adds what x is when two of the threads are exchanged. */
static int add_image(struct walk *w, struct summary *a, struct summary_item x, const struct hd_set *threads,
                     unsigned one, unsigned other) {
  struct summary_op u = *op_of(w, &x);
  int is_thread = hd_op_object(u.op.kind) == HD_OBJ_THREAD && u.op.object < HD_MAX_THREADS;
  int object = is_thread && hd_set_has(threads, (unsigned)u.op.object);
  if (u.op.thread == one)
    u.op.thread = (uint16_t)other;
  else if (u.op.thread == other)
    u.op.thread = (uint16_t)one;
  if (object && u.op.object == one)
    u.op.object = other;
  else if (object && u.op.object == other)
    u.op.object = one;
  x.op = number_of(w, &u.op, u.flags);
  return add_item(w, a, x);
}

/* Invariant 5. */
static int exchange(struct walk *w, uint32_t k) {
  const struct state_node *n = record(w, k);
  struct summaries *m = &w->summaries;
  struct summary *a = &m->of[k];
  const uint32_t count = a->n;
  uint64_t all = 0;
  HD_SET_EACH (t, &n->together, n->words) all |= bit(t);
  char *end = m->end;
  if ((uint64_t)(m->end - m->next) < 2ull * count * sizeof *a->item) return 0;
  m->end -= count * sizeof *a->item;
  struct summary_item *item = (struct summary_item *)m->end;
  for (uint32_t i = 0; i < count; i++) item[i] = a->item[i];
  int room = 1;
  HD_SET_EACH (one, &n->together, n->words)
    HD_SET_EACH (other, &n->together, n->words)
      for (uint32_t i = 0; other > one && i < count && room; i++) {
        struct summary_item x = item[i];
        x.threads &= ~all;
        if (n->holds == 1 && __builtin_popcountll(all) == 2) { /* they are just two */
          uint64_t swapped = item[i].threads & all;
          x.threads |= swapped && swapped != all ? all & ~swapped : swapped;
        }
        room = add_image(w, a, x, &n->together, one, other);
      }
  m->end = end;
  return room;
}

/* ---- the end of an execution ---- */

static void finish_state(struct walk *w, const uint64_t key[2], uint32_t summary) {
  struct state_slot *e = hd__state_find(table(w), key);
  if (!e || e->status == STATE_FINISHED) return;
  e->status = summary ? STATE_FINISHED : STATE_OPEN;
  e->by = 0;
  e->summary = summary;
}

static void private_key(const struct walk *w, const uint64_t key[2], uint64_t out[2]) {
  out[0] = key[0] ^ hd_mix64(w->summaries.serial);
  out[1] = key[1] ^ hd_mix64(w->summaries.serial + (1ull << 32));
}

/* Everything from node k is explored. */
static int finish(struct walk *w, uint32_t k) {
  struct summaries *m = &w->summaries;
  struct summary *a = &m->of[k];
  const struct state_node *n = record(w, k);
  if (n->holds && !exchange(w, k)) return 0;
  if (a->low < k) { /* on a cycle that is entered further up */
    struct state_slot *e = n->has_key ? hd__state_find(table(w), n->key) : NULL;
    if (e && e->by == m->serial) {
      e->status = STATE_IN_CYCLE;
      e->depth = a->low;
    }
    return 1;
  }
  if (n->cyclic) {
    for (uint32_t i = 0; i < a->n; i++) a->item[i].threads = a->item[i].after = 0;
    if (m->nmet < MAX_MET)
      m->met[m->nmet++] = (struct met){.depth = k, .n = a->n, .item = a->item};
    else
      m->cyclic = 1;
  }
  uint32_t summary = m->nopen > a->open ? keep(w, a) : 0;
  while (m->nopen > a->open) {
    const struct open_state *x = &m->open[--m->nopen];
    uint64_t own[2] = {x->key[0], x->key[1]};
    if (x->private) private_key(w, x->key, own);
    const struct state_slot *e = hd__state_find(table(w), own);
    /* One that is still open was entered by an execution that did not count. */
    int explored =
        e && e->by == m->serial &&
        (e->status == STATE_IN_CYCLE || (n->has_key && n->key[0] == own[0] && n->key[1] == own[1]));
    finish_state(w, own, explored ? summary : 0);
    if (x->private && explored && summary) finish_state(w, x->key, summary);
  }
  return 1;
}

/* Finishes what can be, from the end. Returns whether branches are missing above the unit. */
static int finish_nodes(struct walk *w, uint32_t last) {
  struct summaries *m = &w->summaries;
  uint32_t floor = floor_of(w);
  int more = 0, full = 0;
  for (uint32_t k = last; k >= floor; k--) {
    if (k < last) {
      uint32_t met = m->nmet;
      if (w->unit->node[k].list) break;
      full = !finish(w, k);
      for (; met < m->nmet; met++) more |= take_into_account(w, &m->met[met], 0);
    }
    if (!k || k - 1 < floor) break;
    if (full || !give(w, k)) { /* no room: nothing is finished any more */
      raise_floor(w, UINT32_MAX);
      break;
    }
  }
  return more;
}

int hd__stateful_conclude(struct walk *w, const struct hd_point *p, enum hd_how how, int above) {
  struct hd_search *s = w->s;
  struct summaries *m = &w->summaries;
  const struct unit *u = w->unit;
  const uint32_t last = u->running;
  int more = hd__reverse_conclude(w, p, how, above);
  if (above) {
    for (uint32_t i = 0; i < m->nmet; i++) take_into_account(w, &m->met[i], 1);
    if (m->cyclic) expand(w, 0, floor_of(w), 1);
    return 0;
  }
  look_at_unit(w);
  if (m->met_in != s->execution) m->nmet = 0;
  int shared = s->workers > 1;
  if (shared) hd_search_lock(s);
  if (hd__walk_valid(w)) {
    struct summary *a = &m->of[last];
    a->n = 0;
    a->low = last;
    int room = 1;
    if (!m->nmet) {
      room = add_pending(w, a, p);
    } else if (m->met[0].cycle) {
      a->low = m->met[0].from;
      if (a->low >= floor_of(w)) record(w, a->low)->cyclic = 1;
    } else {
      for (uint32_t i = 0; i < m->met[0].n && room; i++) room = add_item(w, a, m->met[0].item[i]);
    }
    if (!room) raise_floor(w, UINT32_MAX);
    if (m->nmet) more |= take_into_account(w, &m->met[0], 0);
    more |= finish_nodes(w, last);
    if (m->cyclic) more |= expand(w, 0, floor_of(w) < last ? floor_of(w) : last, 0);
    hd__states_publish(w);
  }
  if (shared) hd_search_unlock(s);
  return more;
}

/* ---- the filter ---- */

static int active(const struct hd_search *s) { return s->fingerprint != NULL; }

static void hold(struct walk *w, struct state_node *n, const struct hd_point *p) {
  HD_SET_EACH (t, p->enabled, p->words) {
    uint32_t leader = hd__symmetry_holds(w, t);
    if (leader == HD_NONE) continue;
    n->holds++;
    hd_set_del(&n->enabled, t);
    hd_set_add(&n->together, t);
    hd_set_add(&n->together, leader);
  }
}

static void enter(struct walk *w, uint32_t k, const struct hd_point *p, int fresh) {
  struct state_node *n = record(w, k);
  n->branches = (uint32_t)hd__state_branches(p);
  n->words = p->words;
  n->holds = 0;
  for (unsigned i = 0; i < p->words; i++) {
    n->enabled.w[i] = p->enabled->w[i];
    n->together.w[i] = 0;
  }
  if (w->symmetric) hold(w, n, p);
  if (!k)
    begin(w, fresh ? 0 : w->unit->depth);
  else
    look_at_unit(w);
  if (!fresh && k >= w->unit->base) return;
  n->has_key = n->cyclic = 0;
  struct summary *a = &w->summaries.of[k];
  a->n = 0;
  a->low = k;
  a->open = w->summaries.nopen;
}

/* Of a unit that is handed over; its states are explored wherever they are met. */
void hd__stateful_put(struct walk *w, uint32_t k, struct hd_writer *out) {
  hd_put_number(out, record(w, k)->cyclic != 0);
}

void hd__stateful_get(struct walk *w, uint32_t k, struct hd_reader *r) {
  struct state_node *n = record(w, k);
  n->cyclic = (uint32_t)hd_get_number(r, 1);
  n->has_key = 0;
}

void hd__stateful_event(struct walk *w) {
  uint32_t e = w->order.n - 1;
  if (e + 1 < w->unit->depth) return;
  w->summaries.depends[e] = (struct depends){.guarded = is_guarded(w, w->order.ev[e].op.thread)};
}

/* The state of node k is explored here from now on. */
static int explore(struct walk *w, uint32_t k, struct state_slot *e, const uint64_t key[2],
                   const uint64_t own[2]) {
  struct summaries *m = &w->summaries;
  struct state_node *n = record(w, k);
  if (!e || m->nopen == w->order.cap_ev) return 0;
  e->by = m->serial;
  e->status = STATE_OPEN;
  e->execution = w->s->execution;
  e->depth = k;
  n->has_key = 1;
  for (int i = 0; i < 2; i++) n->key[i] = own[i];
  m->open[m->nopen++] = (struct open_state){{key[0], key[1]}, key[0] != own[0] || key[1] != own[1]};
  return 0;
}

static int meet(struct walk *w, const struct met *t) {
  w->summaries.met[0] = *t;
  w->summaries.nmet = 1;
  w->summaries.met_in = w->s->execution;
  return 1;
}

/* Where the cycle is entered that a match with a state closes which this unit explores, HD_NONE if it is none. */
static uint32_t entry_of(const struct walk *w, const struct state_slot *e, uint32_t k) {
  uint32_t at = e->depth;
  if (at >= k) return HD_NONE; /* this execution was begun before */
  if (e->status == STATE_OPEN) {
    const struct state_node *n = record(w, at);
    if (!n->has_key || n->key[0] != e->key[0] || n->key[1] != e->key[1]) return HD_NONE;
  }
  while (at >= floor_of(w) && w->summaries.of[at].low < at) at = w->summaries.of[at].low;
  return at;
}

/* Whether the node has several branches, or follows one that has. */
static int branches(const struct walk *w, uint32_t k) {
  return record(w, k)->branches || (k && record(w, k - 1)->branches);
}

/* Looks the state up. A cycle of one thread that nothing can disturb is left to what recognises waits and bounds loops
 * (runtime/core/spin.c). */
static int visit(struct walk *w, uint32_t k, const uint64_t key[2]) {
  struct states *t = table(w);
  uint64_t own[2] = {key[0], key[1]};
  for (int i = 0; i < 2; i++) {
    struct state_slot *e = hd__state_find(t, own);
    if (!e) return explore(w, k, hd__state_add(w, own, k), key, own);
    if (e->status == STATE_FINISHED)
      return meet(w, &(struct met){.depth = k,
                                   .n = (uint32_t)t->log[e->summary],
                                   .item = (const struct summary_item *)&t->log[e->summary + 1]});
    if (e->by == w->summaries.serial) {
      uint32_t at = entry_of(w, e, k);
      if (at != HD_NONE && !branches(w, k)) return 0;
      if (at == HD_NONE) return explore(w, k, e, key, own);
      return meet(w, &(struct met){.depth = k, .from = at, .cycle = 1});
    }
    private_key(w, key, own); /* another explores it, or nobody does any more */
  }
  return 0;
}

static int covers(struct walk *w, uint32_t k) {
  struct hd_search *s = w->s;
  uint64_t key[2];
  if (!k || w->order.nthreads < 2 || !s->fingerprint(s, key)) return 0;
  int shared = s->workers > 1, known = 0;
  if (shared) hd_search_lock(s);
  if (hd__walk_valid(w)) known = visit(w, k, key);
  if (known) s->shared->state_counts.matches++;
  if (shared) hd_search_unlock(s);
  return known;
}

const struct filter hd__filter_stateful = {.id = FILTER_STATES,
                                           .record = sizeof(struct state_node),
                                           .active = active,
                                           .enter = enter,
                                           .covers = covers};

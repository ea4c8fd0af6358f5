/* symmetry.c: the filter of interchangeable threads. Runs in the tested process.
 *
 * A family is a list of threads that one thread has created one directly after the other, from the same code and with the
 * same arguments (runtime/core/family.c). Let b be created just after a. While both have executed the same operations,
 * with the same outcomes and the same past, they are level: exchanging them changes nothing. From there, every execution
 * in which b goes first is one in which a does, with the names exchanged. So b may execute its n-th operation only after a
 * has executed its n-th, as long as they are alike up to there: b follows a. Such an order among symmetric threads makes
 * symmetry sound together with optimal partial order reduction: Kokologiannakis, Marmanis, Vafeiadis, "SPORE: Combining
 * Symmetry and Partial Order Reduction", PLDI 2024. That symmetry is found at run time, by comparing what threads did, is
 * from Yang, Chen, Gopalakrishnan, Wang, "Automatic Discovery of Transition Symmetry in Multithreaded Programs Using
 * Dynamic Analysis", SPIN 2009; they compare local states, and leave out a branch when a symmetric one was explored.
 *
 * Differences from SPORE: executions are happens-before classes, not graphs, so there is no case distinction by the kind of
 * operation; what the creator does with the threads later is watched instead of assumed (invariant 3).
 *
 * Invariants
 *  1. Whether b follows a depends on the happens-before class of the prefix alone: on the events of a and b, and on their
 *     clocks. The n-th events are alike when kind, object, place, outcome are the same and independent, and when their
 *     clocks have the same entries of all other threads; the past of a's has no event of b, and that of b's none of a's
 *     beyond the n-th. (All entries of b's clock that it has from a's n-th event are the same by that; so what b's event
 *     depends on, and a's does not, shows as a larger entry.)
 *  2. What b follows is an enabler of its operation, like the creation of a thread is of its first step: order.follows
 *     makes it part of the happens-before order, so that no race is reversed across it, and `admits` holds b back. The
 *     system that is searched is another one then, with fewer executions, in which operations commute as before: sleep sets
 *     and wakeup trees are exact for it. If a cannot go, neither can b, since they are level: it has no new deadlocks.
 *  3. What tells the threads of a family apart is learned, like contended memory, and the search restarts without that
 *     family: an operation on one of them other than its creation, start, end and join; a join by another thread than the
 *     creator; anything that the creator does, or reads from others, between the joins of the family; different results;
 *     level threads whose next operations differ, other than in memory of their own: an address, or the like, decides (but
 *     not in an execution that makes memory contended: there the one that comes later has an operation more);
 *     descriptors, time-outs and atomic sections of members; whatever gives a member a number, a name or a place of its own that is no memory (family.c).
 *  4. An operation that concerns one of two level threads and not the other makes them different: a signal that wakes one
 *     of those who wait, the choice of the serial thread at a barrier.
 *  5. When a and b are level before an hd_choose, b's outcome is not less than a's: with the names exchanged it would be.
 *     A choice depends on nothing but its thread, so b's can be put before what a has done since. Not with states: which
 *     outcomes are left out of a state follows from the past.
 *
 * Soundness. Let E = s.b.w be an execution of the program in which b goes although it is level with a after s. All threads
 * but a and b have the same past in s whichever of the two did which of their events (invariant 1), the memory is the same
 * up to the names of a and b, and so is all that the creator knows but the two names themselves. By invariant 3 names are
 * used for the joins only, and between those nothing else happens: the joins of a family wait for all of its members,
 * whatever their order. So s.a.w', with the names exchanged in w, is an execution, too: with the same findings, and the same
 * final state, up to the names. It comes first in the order of the creation of the threads that go; so this ends, with an
 * execution of the restricted system. That invariant 3 is noticed if it does not hold: take a shortest execution with such
 * an operation. Without its last steps it has an image that is explored, after which the same operation is pending in the
 * same thread. If that is never executed, since the thread waits for another member there, that is noticed as well (`end`).
 *
 * Not combined with a bound: what a switch costs depends on who ran last. Combined with states.c it is sound because a
 * state is explored whole up to the exchange of threads that are interchangeable in it, whatever led there; stateful.c has
 * the argument for summaries. */
#include "explore/walk.h"

static int active(const struct hd_search *s) { return s->alike != NULL && !s->config->bound_kind; }

/* ---- families ---- */

static void forget(struct symmetry *y, uint32_t thread) {
  y->follows[thread] = y->first[thread] = y->last[thread] = HD_NONE;
  y->leader[thread] = y->follower[thread] = y->root[thread] = y->joining[thread] = 0;
  y->is_joined[thread] = 0;
}

void hd__symmetry_begin(struct walk *w) {
  struct symmetry *y = &w->symmetry;
  if (!w->symmetric) return;
  if (!w->order.follows) y->nthreads = HD_MAX_THREADS;
  for (uint32_t t = 0; t < y->nthreads; t++) forget(y, t);
  y->nthreads = 1;
  y->next = w->scratch + 8ull * w->order.cap_ev; /* reverse.c uses what is before */
  y->least = y->next + w->order.cap_ev;
  w->order.follows = y->follows;
  uint64_t epoch = w->s->shared->epoch + w->s->shared->contended_seen;
  if (y->epoch == epoch) return;
  y->epoch = epoch;
  w->order.afresh = 1; /* another family may be known to be none */
}

static void tell_apart(struct walk *w, uint32_t thread) { w->s->tell_apart(w->s, thread); }

/* The family of the thread, as the number of its first member plus 1; 0: none. */
static unsigned root_of(const struct symmetry *y, uint64_t thread) {
  return thread < HD_MAX_THREADS ? y->root[thread] : 0;
}

static void adopt(struct walk *w, const struct hd_ev *e) {
  struct symmetry *y = &w->symmetry;
  uint32_t b = (uint32_t)e->op.object, a = w->s->alike[b];
  if (y->nthreads <= b) y->nthreads = b + 1;
  forget(y, b);
  y->parent[b] = e->op.thread;
  y->created[b] = e->index;
  if (!a-- || y->parent[a] != e->op.thread || y->created[a] + 1 != e->index) return;
  if (!y->root[a]) {
    y->root[a] = (uint16_t)(a + 1);
    y->size[a] = 1;
    y->joined[a] = 0;
  }
  y->root[b] = y->root[a];
  y->size[y->root[a] - 1]++;
  y->leader[b] = (uint16_t)(a + 1);
  y->follower[a] = (uint16_t)(b + 1);
  y->follows[b] = y->first[a] == HD_NONE ? HD_HELD : y->first[a];
}

/* ---- following ---- */

static int same_place(const struct hd_op *a, const struct hd_op *b) {
  enum hd_effect effect = hd_op_effect(a->kind, 0);
  int own = effect == HD_EFF_BEGIN || effect == HD_EFF_FINISH;
  return a->kind == b->kind && (own || a->object == b->object) && a->size == b->size && a->pc == b->pc &&
         a->section == b->section && hd_payload_same(a, b);
}

/* Invariant 5: the least outcome of a choice among n by the thread whose pending operation that is. */
static unsigned least_of(const struct walk *w, const struct hd_op *op, unsigned n) {
  uint32_t to = w->symmetry.follows[op->thread];
  if (op->kind != HD_OP_CHOOSE || to >= HD_HELD || w->s->fingerprint) return 0;
  const struct hd_ev *e = &w->order.ev[to];
  return same_place(&e->op, op) && e->nchoices == n ? e->choice : 0;
}

unsigned hd__symmetry_least(const struct walk *w, unsigned thread, unsigned n) {
  return least_of(w, w->symmetry.op[thread], n);
}

/* Invariant 1. */
static int are_alike(const struct walk *w, const struct hd_ev *a, const struct hd_ev *b) {
  const struct symmetry *y = &w->symmetry;
  uint32_t ta = a->op.thread, tb = b->op.thread, parent = y->parent[tb];
  if (a->index != b->index || !same_place(&a->op, &b->op) || a->flags != b->flags || a->choice != b->choice ||
      a->nchoices != b->nchoices || hd_dependent(&a->op, a->flags, &b->op, b->flags))
    return 0;
  for (uint32_t q = 0; q < w->order.threads_max; q++) {
    uint32_t x = a->clock[q], z = b->clock[q];
    if (q == ta || q == tb) continue;
    if (x != z && !(q == parent && x == y->created[ta] && z == y->created[tb])) return 0;
  }
  return a->clock[tb] == 0 && b->clock[ta] == a->index;
}

/* Whether the threads, with the same past, do something else: then it matters which one it is (invariant 3). */
static int differ(const struct walk *w, const struct hd_ev *a, const struct hd_ev *b) {
  struct hd_search *s = w->s;
  if (a->index != b->index) return 0;
  if (a->op.kind != b->op.kind || a->op.pc != b->op.pc) return 1;
  if (a->op.object == b->op.object || hd_op_object(a->op.kind) == HD_OBJ_THREAD) return 0;
  return !s->owns || !s->owns(s, a->op.thread, a->op.object) || !s->owns(s, b->op.thread, b->op.object);
}

static void part(struct symmetry *y, uint32_t b) {
  y->follower[y->leader[b] - 1] = 0;
  y->leader[b] = 0;
  y->follows[b] = HD_NONE;
}

static void follow(struct walk *w, uint32_t f) {
  struct symmetry *y = &w->symmetry;
  const struct hd_ev *e = &w->order.ev[f];
  uint32_t t = e->op.thread;
  if (y->leader[t]) {
    uint32_t to = y->follows[t];
    if (to < HD_HELD && !hd__walk_is_void(w) && differ(w, &w->order.ev[to], e)) tell_apart(w, t);
    if (to >= HD_HELD || !are_alike(w, &w->order.ev[to], e))
      part(y, t);
    else
      y->follows[t] = y->next[to] == HD_NONE ? HD_HELD : y->next[to];
  }
  if (!y->follower[t] || y->follows[y->follower[t] - 1] != HD_HELD) return;
  y->follows[y->follower[t] - 1] = f;
  if (f < w->unit->depth) return;
  w->s->status->symmetric++;
  hd_set_add(&w->s->status->alike, t);
  hd_set_add(&w->s->status->alike, y->follower[t] - 1u);
}

/* The event concerns this one of two level threads, and not the other. If one is behind, its own event is after this one, and
 * will not be like that of the other. */
static void pick_out(struct symmetry *y, uint32_t thread) {
  uint32_t follower = y->follower[thread];
  if (follower && y->follows[follower - 1] == HD_HELD) part(y, follower - 1);
  if (y->follows[thread] == HD_HELD) part(y, thread);
}

/* Invariant 4. */
static void choose_thread(struct walk *w, const struct hd_ev *e) {
  struct symmetry *y = &w->symmetry;
  const struct hd_ev *ev = w->order.ev;
  enum hd_effect effect = hd_op_effect(e->op.kind, e->flags);
  if (effect == HD_EFF_NOTIFY && hd_op_woken(&e->op)) pick_out(y, hd_op_woken(&e->op) - 1);
  for (uint32_t t = 0; effect == HD_EFF_NOTIFY_SOME && t < 64; t++)
    if (e->op.wake.set >> t & 1) pick_out(y, t);
  for (uint32_t t = 0; effect == HD_EFF_LEAVE && e->nchoices > 1 && t < y->nthreads; t++)
    if (y->last[t] != HD_NONE && ev[y->last[t]].op.object == e->op.object) pick_out(y, t);
}

/* ---- what tells threads apart (invariant 3) ---- */

static int joins(const struct hd_op *op) { return op->kind == HD_OP_JOIN; }

/* Whether the operation, executed or not, uses a thread as more than one of several. */
static int singles_out(const struct hd_op *op, unsigned flags) {
  if (hd_op_object(op->kind) != HD_OBJ_THREAD || joins(op)) return 0;
  enum hd_effect effect = hd_op_effect(op->kind, flags);
  return effect != HD_EFF_BEGIN && effect != HD_EFF_FINISH && effect != HD_EFF_SPAWN;
}

/* The creator of a family that it is joining does something else. */
static void leave_off(struct walk *w, const struct hd_op *op) {
  struct symmetry *y = &w->symmetry;
  unsigned family = y->joining[op->thread];
  if (family && !(joins(op) && root_of(y, op->object) == family)) tell_apart(w, family - 1);
}

static void join(struct walk *w, const struct hd_op *op) {
  struct symmetry *y = &w->symmetry;
  unsigned family = root_of(y, op->object);
  if (!family) return;
  if (y->parent[op->object] != op->thread) tell_apart(w, family - 1);
  y->is_joined[op->object] = 1;
  y->joining[op->thread] = (uint16_t)(++y->joined[family - 1] < y->size[family - 1] ? family : 0);
}

static void inspect(struct walk *w, const struct hd_ev *e) {
  const struct symmetry *y = &w->symmetry;
  const struct hd_op *op = &e->op;
  leave_off(w, op);
  if (singles_out(op, e->flags)) tell_apart(w, HD_MAX_THREADS);
  if (joins(op)) join(w, op);
  /* Of those whose time is over the one with the lowest number goes on; in an atomic section nobody else is enabled. */
  int odd = hd_op_object(op->kind) == HD_OBJ_IO || hd_op_late(op->kind, e->flags) || op->section;
  if (odd && y->root[op->thread]) tell_apart(w, op->thread);
}

static int has_ended(const struct walk *w, uint32_t thread) {
  uint32_t last = w->symmetry.last[thread];
  return last != HD_NONE && hd_op_effect(w->order.ev[last].op.kind, 0) == HD_EFF_FINISH;
}

/* Whether the creator waits for one that will never end, though it could have joined another. */
static int is_stuck(const struct walk *w, const struct hd_op *op) {
  const struct symmetry *y = &w->symmetry;
  unsigned family = joins(op) ? root_of(y, op->object) : 0;
  if (!family || has_ended(w, (uint32_t)op->object)) return 0;
  for (uint32_t t = 0; t < y->nthreads; t++)
    if (y->root[t] == family && !y->is_joined[t] && has_ended(w, t)) return 1;
  return 0;
}

void hd__symmetry_end(struct walk *w, const struct hd_point *p, enum hd_how how) {
  const struct symmetry *y = &w->symmetry;
  if (how == HD_HOW_BLOCKED) return; /* it is not over */
  for (uint32_t t = 0; t < y->nthreads; t++) {
    if (y->last[t] == HD_NONE || has_ended(w, t)) continue;
    if (p->op[t]->kind != HD_OP_NONE) leave_off(w, p->op[t]);
    if (singles_out(p->op[t], 0)) tell_apart(w, HD_MAX_THREADS);
    if (is_stuck(w, p->op[t])) tell_apart(w, (uint32_t)p->op[t]->object);
  }
}

void hd__symmetry_event(struct walk *w, uint32_t f) {
  struct symmetry *y = &w->symmetry;
  const struct hd_ev *e = &w->order.ev[f];
  uint32_t t = e->op.thread;
  *(y->last[t] == HD_NONE ? &y->first[t] : &y->next[y->last[t]]) = f;
  y->next[f] = HD_NONE;
  y->last[t] = f;
  y->least[f] = least_of(w, &e->op, e->nchoices);
  inspect(w, e);
  choose_thread(w, e);
  if (hd_op_effect(e->op.kind, e->flags) == HD_EFF_SPAWN) adopt(w, e);
  follow(w, f);
}

/* ---- the filter ---- */

/* Level threads can go or cannot: if only the one that follows can, they are not (invariant 2). */
static int is_held(struct walk *w, unsigned thread) {
  const struct symmetry *y = &w->symmetry;
  if (y->follows[thread] != HD_HELD) return 0;
  if (hd_set_has(y->enabled, y->leader[thread] - 1u)) return 1;
  if (!hd__walk_is_void(w)) tell_apart(w, thread);
  return 0;
}

uint32_t hd__symmetry_holds(struct walk *w, unsigned thread) {
  return is_held(w, thread) ? w->symmetry.leader[thread] - 1u : HD_NONE;
}

static void enter(struct walk *w, uint32_t k, const struct hd_point *p, int fresh) {
  (void)k, (void)fresh;
  w->symmetry.enabled = p->enabled;
}

static int admits(struct walk *w, uint32_t k, unsigned thread, int *outcome) {
  (void)k, (void)outcome;
  return !is_held(w, thread);
}

const struct filter hd__filter_symmetry = {
    .id = FILTER_SYMMETRY, .active = active, .enter = enter, .admits = admits};

/* property.c: a search for data races only: subspaces that cannot contain any are left out. Runs in the tested process.
 *
 * After an execution, the first state s(k) is looked for from which no schedule whatsoever leads to a data race. Races
 * between operations from there on are not reversed. The idea is that of Wang, Yang, Gupta, Gopalakrishnan, "Dynamic Model
 * Checking with Property Driven Pruning to Detect Race Conditions", ATVA 2008 (Yang 2009, chapter 5): lock sets of what the
 * execution did, together with facts about branches that it did not take. The differences are needed for soundness:
 *
 *  1. What a thread does after s(k), in any schedule. It does what it did in this execution, up to the first *unstable* read:
 *     one of memory that another thread may write after s(k), or a result of an operation that depends on others (a trylock,
 *     the value of a joined thread, a choice). If no value that is read there can flow into a branch, an address, an argument
 *     of an operation or a call (facts: DECIDES), the thread goes on as before. Otherwise it does what does not depend on the
 *     value as before, and may from there on access whatever a forward slice of the value has (static/llvm/slice.c), on any path,
 *     through any caller, with the locks that are held on all of these paths. If the slice has locks, joins or the like, it is
 *     everything that follows. Writes that only come then make further reads unstable, until nothing changes. (The paper looks
 *     at the other side of each branch up to where the two meet, and takes what was executed after that for granted, whatever
 *     the branch has changed.)
 *  2. Code without facts, and code that may create threads, after an unstable read: anything may happen, s(k) does not count.
 *     So does a thread that has not ended, an execution that did not end by itself, and too much of anything.
 *  3. Two accesses may race unless they have a lock in common, which not both hold shared, or creating and joining of threads
 *     orders them in every schedule. One of the two comes after s(k), the other one need not: the race detector knows
 *     happens-before, so a race of an access before s(k) need not have been seen yet. (The paper compares only what comes
 *     after: it detects races by two enabled operations.) Atomic accesses that are no operations yet count as plain ones,
 *     since what is an operation must not depend on what was left out: 4 knows events only. (Of two that come after s(k) neither
 *     need be one.)
 *  4. What was left out might have shown races with events before s(k), whose reversal leads to states above, which are not
 *     free of data races. So every event e before k with which an operation may be dependent that comes after s(k), in this
 *     execution or by 1, gets all enabled threads as branches: whatever would have been found there begins with one of them.
 *     (The paper says nothing about this, and misses races.)
 *
 * So the tree that is explored is that of `dpor` with more branches, but for subtrees without data races. Every race that
 * `dpor` finds is found. Other failures are found only if they happen. */
#include "explore/property.h"
#include "model/holders.h"

#define MAX_EVENTS (1u << 16)
#define MAX_THREADS 64
#define MAX_TOUCHES (1u << 15)
#define MAX_CLOCKS (1u << 24)
#define MAX_STEPS 100000000ull
#define MAX_HOLDS 1024

/* A touch, or an event after which its thread may do something else. One stands for all that are alike in one segment: what a
 * thread does from one creation or join to the next, which is ordered alike in every schedule. `at` is the last of them, since
 * what may follow from any of them may follow for all k up to that. */
struct item {
  uint64_t held, shared; /* locks: bits; those of them that others may hold, too */
  uint32_t at;           /* the last event of its thread before it */
  uint32_t place;
  uint32_t flags; /* HD_PROPERTY_* of the place for the thread */
  uint32_t thread, segment;
  int32_t deviates; /* the thread may deviate there, for all k up to this; -1: it does not */
  int32_t varies;   /* it may see another value there, for all k up to this */
  uint32_t object;  /* the variable that it is in; 0: not known */
  const struct hd_noted *touch;
  const struct hd_property_fact *fact;
};

struct look {
  const struct hd_search *s;
  const struct hd_order *o;
  const struct hd_property_plan *plan;
  uint32_t nthreads, n;
  uint32_t *clock; /* [event][thread]: how many events of that thread came before by creating and joining */
  uint32_t last[MAX_THREADS];    /* its last event */
  uint32_t entry[MAX_THREADS];   /* what it began with; HD_NONE: not known */
  uint32_t segment[MAX_THREADS]; /* in which each thread is */
  uint32_t nsegments;
  uint32_t *segment_before; /* [segment]: of its thread; HD_NONE */
  int32_t *varied; /* [segment]: up to its end the thread may have seen another value, for all k up to this */
  uint64_t lock[HD_PROPERTY_LOCKS];
  uint32_t nlocks;
  struct item *item; /* in the order of the execution */
  uint32_t nitems;
  uint64_t steps;
  struct hd_hold *hold;
};

static const void *part(const struct look *l, uint64_t at) { return (const char *)l->plan + at; }

/* ---- what orders events in every schedule ---- */

static uint32_t *clock_of(const struct look *l, uint32_t i) { return l->clock + (uint64_t)i * l->nthreads; }

/* Returns 0 if a thread has not ended, or is not known to have begun. */
static int find_clocks(struct look *l) {
  const struct hd_order *o = l->o;
  uint32_t begun[MAX_THREADS];
  for (uint32_t t = 0; t < l->nthreads; t++) l->last[t] = begun[t] = HD_NONE;
  for (uint32_t i = 0; i < l->n; i++) {
    const struct hd_ev *e = &o->ev[i];
    uint32_t *c = clock_of(l, i), t = e->op.thread, from = HD_NONE;
    enum hd_effect effect = hd_op_effect(e->op.kind, e->flags);
    if (t >= l->nthreads) return 0;
    for (uint32_t k = 0; k < l->nthreads; k++) c[k] = 0;
    if (l->last[t] != HD_NONE)
      for (uint32_t k = 0; k < l->nthreads; k++) c[k] = clock_of(l, l->last[t])[k];
    else if (t && begun[t] == HD_NONE)
      return 0;
    else if (t)
      from = begun[t];
    if (effect == HD_EFF_JOIN) {
      if (e->op.object >= l->nthreads) return 0;
      from = l->last[e->op.object];
      if (from == HD_NONE) return 0;
    }
    for (uint32_t k = 0; from != HD_NONE && k < l->nthreads; k++)
      if (clock_of(l, from)[k] > c[k]) c[k] = clock_of(l, from)[k];
    c[t] = e->index;
    if (effect == HD_EFF_SPAWN) {
      if (e->op.object >= l->nthreads || begun[e->op.object] != HD_NONE) return 0;
      begun[e->op.object] = i;
    }
    l->last[t] = i;
  }
  for (uint32_t t = 1; t < l->nthreads; t++)
    if (begun[t] != HD_NONE &&
        (l->last[t] == HD_NONE || hd_op_effect(o->ev[l->last[t]].op.kind, 0) != HD_EFF_FINISH))
      return 0;
  return 1;
}

/* Whether what thread t does after its event i, and before its next one, comes before what follows event j. */
static int before(const struct look *l, uint32_t t, uint32_t i, uint32_t j) {
  return clock_of(l, j)[t] > l->o->ev[i].index;
}
/* Whether all that thread t ever does comes before what follows event j. */
static int over_before(const struct look *l, uint32_t t, uint32_t j) {
  return l->last[t] == HD_NONE || clock_of(l, j)[t] >= l->o->ev[l->last[t]].index;
}

/* ---- places and locks ---- */

static uint32_t place_of(const struct look *l, uint64_t pc) {
  const uint64_t *row = part(l, l->plan->at_row);
  uint32_t lo = 0, hi = l->plan->nrows;
  uint64_t offset = pc - 1 - l->s->base;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (row[mid] <= offset)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo ? ((const uint32_t *)part(l, l->plan->at_place))[lo - 1] : 0;
}

/* The object that has all of that memory; 0: it is not known. */
static uint32_t object_at(const struct look *l, uint64_t addr, uint64_t size) {
  const struct hd_property_variable *v = part(l, l->plan->at_variables);
  uint32_t lo = 0, hi = l->plan->nvariables;
  uint64_t offset = addr - l->s->base;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (v[mid].offset <= offset)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo && offset - v[lo - 1].offset < v[lo - 1].size &&
                 size <= v[lo - 1].size - (offset - v[lo - 1].offset)
             ? (uint32_t)v[lo - 1].object
             : 0;
}

/* The part of the place that accesses the object, if it is one. */
static uint32_t part_of(const struct look *l, uint32_t place, uint32_t object) {
  const uint32_t *first = part(l, l->plan->at_parts);
  const struct hd_property_part *v = part(l, l->plan->at_part);
  for (uint32_t i = first[place]; object && i < first[place + 1]; i++)
    if (v[i].object == object) return v[i].place;
  return place;
}

static const struct hd_property_fact *fact_of(const struct look *l, uint32_t thread, uint32_t place) {
  static const struct hd_property_fact none;
  if (l->entry[thread] == HD_NONE) return &none;
  return (const struct hd_property_fact *)part(l, l->plan->at_facts) +
         (uint64_t)l->entry[thread] * (l->plan->nplaces + 1) + place;
}

static void find_entries(struct look *l) {
  const uint64_t *entry = part(l, l->plan->at_entry);
  for (uint32_t t = 0; t < l->nthreads; t++) {
    uint64_t begins = t ? l->s->begins((struct hd_search *)l->s, t) - l->s->base : 0;
    l->entry[t] = HD_NONE;
    for (uint32_t i = 0; i < l->plan->nentries; i++)
      if (entry[i] == begins) l->entry[t] = i;
  }
}

static uint64_t lock_bit(struct look *l, uint64_t address) {
  uint32_t i = 0;
  while (i < l->nlocks && l->lock[i] != address) i++;
  if (i == HD_PROPERTY_LOCKS) return 0;
  if (i == l->nlocks) l->lock[l->nlocks++] = address;
  return 1ull << i;
}

/* ---- what the execution did ---- */

/* Fills in the item behind the last one. */
static struct item *new_item(struct look *l, uint32_t thread, uint32_t at, const struct hd_holders *h) {
  struct item *x = &l->item[l->nitems];
  *x = (struct item){.at = at, .thread = thread, .segment = l->segment[thread], .deviates = -1, .varies = -1};
  size_t next = 0;
  for (const struct hd_hold *k; (k = hd_holders_of_thread(h, thread, &next));) {
    uint64_t bit = lock_bit(l, k->object);
    x->held |= bit;
    if (k->shared) x->shared |= bit;
  }
  return x;
}

static int alike(const struct item *x, const struct item *y) {
  if (x->segment != y->segment || x->place != y->place || x->held != y->held || x->shared != y->shared ||
      x->flags != y->flags || !x->touch != !y->touch)
    return 0;
  const struct hd_noted *a = x->touch, *b = y->touch;
  return !a || (a->addr == b->addr && a->size == b->size && a->writes == b->writes && a->reads == b->reads &&
                !a->atomic && !b->atomic);
}

/* Adds the new item, unless one like it is there. */
static void add_item(struct look *l) {
  const struct item *x = &l->item[l->nitems];
  for (uint32_t i = l->nitems; i-- > 0;) {
    struct item *y = &l->item[i];
    if (y->thread != x->thread) continue;
    if (y->segment != x->segment) break;
    if (!alike(x, y)) continue;
    y->at = x->at;
    y->deviates = x->deviates;
    y->varies = x->varies;
    return;
  }
  l->nitems++;
}

static void new_segment(struct look *l, uint32_t thread) {
  l->segment_before[l->nsegments] = l->segment[thread];
  l->segment[thread] = l->nsegments++;
}

/* Whether what comes of the operation depends on others, and its thread learns it. */
static int has_result(const struct hd_ev *e) {
  enum hd_obj_kind object = hd_op_object(e->op.kind);
  if (object == HD_OBJ_MUTEX || object == HD_OBJ_RWLOCK || object == HD_OBJ_SEM || object == HD_OBJ_COND)
    return hd_op_is(e->op.kind, HD_TRAIT_TRIES | HD_TRAIT_TIMED);
  enum hd_effect effect = hd_op_effect(e->op.kind, e->flags);
  return effect != HD_EFF_BEGIN && effect != HD_EFF_FINISH && effect != HD_EFF_SPAWN;
}

/* Operations that are known: others may do anything. */
static int is_known(const struct hd_ev *e) {
  enum hd_obj_kind object = hd_op_object(e->op.kind);
  enum hd_effect effect = hd_op_effect(e->op.kind, e->flags);
  if (object == HD_OBJ_THREAD)
    return effect == HD_EFF_BEGIN || effect == HD_EFF_FINISH || effect == HD_EFF_SPAWN ||
           effect == HD_EFF_JOIN;
  return object == HD_OBJ_MUTEX || object == HD_OBJ_RWLOCK || object == HD_OBJ_SEM || object == HD_OBJ_COND ||
         object == HD_OBJ_BARRIER || object == HD_OBJ_MEMORY;
}

static void add_event(struct look *l, uint32_t i, const struct hd_holders *h) {
  const struct hd_ev *e = &l->o->ev[i];
  uint32_t t = e->op.thread;
  enum hd_effect effect = hd_op_effect(e->op.kind, e->flags);
  if (effect == HD_EFF_FINISH || e->op.kind == HD_OP_END) return; /* of a thread, or of the process */
  if (effect == HD_EFF_BEGIN || effect == HD_EFF_SPAWN || effect == HD_EFF_JOIN) new_segment(l, t);
  struct item *x = new_item(l, t, i, h);
  x->place = effect == HD_EFF_BEGIN ? l->plan->nplaces : place_of(l, e->op.pc);
  x->fact = fact_of(l, t, x->place);
  x->flags = x->fact->flags;
  int choice = e->nchoices > 1 && hd_op_object(e->op.kind) != HD_OBJ_COND;
  if (!(x->flags & HD_PROPERTY_KNOWN) || !is_known(e) || choice) {
    x->flags |= HD_PROPERTY_ANYTHING;
    x->deviates = (int32_t)i;
  }
  unsigned decides =
      HD_PROPERTY_RESULT | (hd_op_object(e->op.kind) == HD_OBJ_MEMORY ? HD_PROPERTY_DECIDES : 0);
  if ((x->flags & HD_PROPERTY_UNSTABLE) || ((x->flags & decides) && has_result(e))) x->deviates = (int32_t)i;
  if ((x->flags & HD_PROPERTY_VARIES) || has_result(e) || choice) x->varies = (int32_t)i;
  if (x->deviates >= 0 || x->varies >= 0) add_item(l);
}

static int find_items(struct look *l) {
  struct hd_holders h = {l->hold, 0, MAX_HOLDS};
  const struct hd_noted *touch = l->s->touch;
  uint32_t ntouches = *l->s->ntouches, last[MAX_THREADS], k = 0;
  for (uint32_t t = 0; t < l->nthreads; t++) last[t] = l->segment[t] = HD_NONE;
  for (uint32_t i = 0; i <= l->n; i++) {
    for (; k < ntouches && touch[k].events <= i; k++) {
      uint32_t t = touch[k].thread;
      if (t >= l->nthreads || last[t] == HD_NONE) return 0;
      struct item *x = new_item(l, t, last[t], &h);
      x->touch = &touch[k];
      x->object = object_at(l, touch[k].addr, touch[k].size);
      x->place = part_of(l, place_of(l, touch[k].pc), x->object);
      x->fact = fact_of(l, t, x->place);
      x->flags = x->fact->flags;
      if (!(x->flags & HD_PROPERTY_KNOWN)) x->flags |= HD_PROPERTY_DECIDES | HD_PROPERTY_ANYTHING;
      add_item(l);
    }
    if (i == l->n) break;
    const struct hd_ev *e = &l->o->ev[i];
    add_event(l, i, &h); /* with what was held before: a lock that is tried may not be there */
    last[e->op.thread] = i;
    if (hd_holders_event(&h, &e->op, e->flags, i) < 0) return 0;
  }
  return k == ntouches;
}

/* ---- conflicts ---- */

static int protects(uint64_t a, uint64_t a_shared, uint64_t b, uint64_t b_shared) {
  return (a & b & ~(a_shared & b_shared)) != 0;
}

/* A scheduling point of its own. */
static int is_point(const struct look *l, const struct item *x) {
  const struct hd_op *op = &l->o->ev[x->at].op;
  return hd_op_object(op->kind) == HD_OBJ_MEMORY && op->object == x->touch->addr &&
         op->size == x->touch->size;
}

static int overlap(const struct hd_noted *a, const struct hd_noted *b) {
  return a->addr < b->addr + b->size && b->addr < a->addr + a->size;
}

/* Whether two touches of different threads may race in another schedule. */
static int may_race(const struct look *l, const struct item *a, const struct item *b) {
  if (!overlap(a->touch, b->touch) || !(a->touch->writes | b->touch->writes)) return 0;
  if (a->touch->atomic && b->touch->atomic && is_point(l, a) && is_point(l, b)) return 0;
  return !protects(a->held, a->shared, b->held, b->shared) && !before(l, a->thread, a->at, b->at) &&
         !before(l, b->thread, b->at, a->at);
}

/* The locks that a thread has at an access that comes after it deviated. */
static uint64_t held_then(const struct item *x, const struct hd_property_access *a) {
  return (x->held & ~x->shared & ~a->released) | a->acquired;
}

/* Whether the touch may be of that object. */
static int may_be(const struct look *l, const struct item *x, uint32_t object) {
  const uint32_t *first = part(l, l->plan->at_objects), *v = part(l, l->plan->at_object), place = x->place;
  if (x->object && object) return x->object == object;
  if (!place || place >= l->plan->nplaces || !object) return 1;
  for (uint32_t i = first[place]; i < first[place + 1]; i++)
    if (v[i] == object || !v[i]) return 1;
  return 0;
}

static const struct hd_property_access *accesses(const struct look *l, const struct item *x) {
  return (const struct hd_property_access *)part(l, l->plan->at_accesses) + x->fact->first;
}

/* Whether the two cannot both happen, or always in the same order: x deviates, and y is what its thread did. */
static int kept_apart(const struct look *l, const struct item *x, const struct item *y) {
  return before(l, y->thread, y->at, x->at) || over_before(l, x->thread, y->at);
}

static int deviation_races(struct look *l, const struct item *x, const struct item *y) {
  const struct hd_property_access *a = accesses(l, x);
  if (kept_apart(l, x, y)) return 0;
  l->steps += x->fact->n + 1;
  for (uint32_t i = 0; i < x->fact->n; i++)
    if ((a[i].writes | y->touch->writes) && may_be(l, y, a[i].object) &&
        !(a[i].atomic && y->touch->atomic && is_point(l, y)) &&
        !protects(held_then(x, &a[i]), 0, y->held, y->shared))
      return 1;
  return 0;
}

static int deviations_race(struct look *l, const struct item *x, const struct item *y) {
  const struct hd_property_access *a = accesses(l, x), *b = accesses(l, y);
  if (over_before(l, x->thread, y->at) || over_before(l, y->thread, x->at)) return 0;
  l->steps += (uint64_t)x->fact->n * y->fact->n + 1;
  for (uint32_t i = 0; i < x->fact->n; i++)
    for (uint32_t k = 0; k < y->fact->n; k++)
      if ((a[i].writes | b[k].writes) && (a[i].object == b[k].object || !a[i].object || !b[k].object) &&
          !(a[i].atomic && b[k].atomic) && !protects(held_then(x, &a[i]), 0, held_then(y, &b[k]), 0))
        return 1;
  return 0;
}

/* ---- deviations ---- */

static int32_t lower(int32_t a, int32_t b) { return a < b ? a : b; }

/* Also where all that its thread does comes before the read: then it has written or not. */
static int may_write(struct look *l, const struct item *x, const struct item *r) {
  const struct hd_property_access *a = accesses(l, x);
  if (before(l, r->thread, r->at, x->at)) return 0;
  l->steps += x->fact->n + 1;
  for (uint32_t i = 0; i < x->fact->n; i++)
    if (a[i].writes && may_be(l, r, a[i].object)) return 1;
  return 0;
}

static int reads(const struct item *x) { return x->touch && x->touch->reads; }

/* For which k the read may see another value because of the write of another thread: both come after s(k). If the write comes
 * before it in every schedule, only what is written may be another value, where its thread has seen one before. */
static int32_t unstable_upto(const struct look *l, const struct item *r, const struct item *w,
                             int32_t varied) {
  if (w->thread == r->thread || !w->touch || !w->touch->writes || !overlap(r->touch, w->touch)) return -1;
  if (before(l, r->thread, r->at, w->at)) return -1;
  int32_t upto = lower((int32_t)r->at, (int32_t)w->at);
  return before(l, w->thread, w->at, r->at) ? lower(upto, varied) : upto;
}

static int varies_upto(struct item *r, int32_t upto) {
  if (upto <= r->varies) return 0;
  r->varies = upto;
  if ((r->flags & HD_PROPERTY_DECIDES) && upto > r->deviates) r->deviates = upto;
  return 1;
}

static void find_varied(struct look *l) {
  for (uint32_t i = 0; i < l->nsegments; i++) l->varied[i] = -1;
  for (uint32_t k = 0; k < l->nitems; k++) {
    const struct item *x = &l->item[k];
    int32_t upto = x->varies > x->deviates ? x->varies : x->deviates;
    if (upto > l->varied[x->segment]) l->varied[x->segment] = upto;
  }
  for (uint32_t i = 0; i < l->nsegments; i++) {
    uint32_t k = l->segment_before[i];
    if (k != HD_NONE && l->varied[k] > l->varied[i]) l->varied[i] = l->varied[k];
  }
}

/* Which reads may have another value, and who deviates then. */
static void find_deviations(struct look *l) {
  for (int more = 1; more && l->steps < MAX_STEPS;) {
    more = 0;
    find_varied(l);
    for (uint32_t k = 0; k < l->nitems; k++) {
      const struct item *x = &l->item[k];
      int deviates = x->deviates >= 0 && !(x->flags & HD_PROPERTY_ANYTHING);
      if (!deviates && !(x->touch && x->touch->writes)) continue;
      l->steps += l->nitems;
      for (uint32_t i = 0; i < l->nitems; i++) {
        struct item *r = &l->item[i];
        if (!reads(r) || r->thread == x->thread) continue;
        if (x->touch) more |= varies_upto(r, unstable_upto(l, r, x, l->varied[x->segment]));
        int32_t upto = lower((int32_t)r->at, x->deviates);
        if (deviates && upto > r->varies && may_write(l, x, r)) more |= varies_upto(r, upto);
      }
    }
  }
}

/* ---- the first state without data races ---- */

static uint32_t first_free(struct look *l) {
  int64_t bad = -1; /* the last state with one; from the end, so that most pairs need not be looked at */
  for (uint32_t i = l->nitems; i-- > 0 && l->steps < MAX_STEPS;) {
    const struct item *x = &l->item[i];
    l->steps += i;
    if (x->deviates >= 0 && (x->flags & HD_PROPERTY_ANYTHING) && x->deviates > bad) bad = x->deviates;
    for (uint32_t k = 0; k < i; k++) {
      const struct item *y = &l->item[k];
      if (x->thread == y->thread) continue;
      int64_t later = x->at > y->at ? x->at : y->at;
      if (later > bad && x->touch && y->touch && may_race(l, x, y)) bad = later;
      if (x->deviates > bad && y->touch && deviation_races(l, x, y)) bad = x->deviates;
      if (y->deviates > bad && x->touch && deviation_races(l, y, x)) bad = y->deviates;
      int32_t both = lower(x->deviates, y->deviates);
      if (both > bad && deviations_race(l, x, y)) bad = both;
    }
  }
  return l->steps < MAX_STEPS ? (uint32_t)(bad + 1) : l->n;
}

_Static_assert(sizeof(struct look) <= 65536, "it is before its arrays");
static struct look *look_of(struct walk *w) { return (struct look *)(w->s->scratch + HD_SCRATCH_PART); }

/* The arrays are behind the memory of the other strategies. */
static int set_up(struct look *l, struct walk *w, enum hd_how how) {
  char *m = w->s->scratch + HD_SCRATCH_PART + 65536;
  *l = (struct look){
      .s = w->s, .o = &w->order, .plan = w->s->plan, .nthreads = w->order.nthreads, .n = w->order.n};
  if (how != HD_HOW_EXIT || !l->plan->size || !l->n || l->n > MAX_EVENTS || l->nthreads > MAX_THREADS ||
      (uint64_t)l->n * l->nthreads > MAX_CLOCKS || *w->s->ntouches > MAX_TOUCHES)
    return 0;
  l->clock = (uint32_t *)m;
  l->hold = (struct hd_hold *)(m += (uint64_t)MAX_CLOCKS * sizeof *l->clock);
  l->segment_before = (uint32_t *)(m += MAX_HOLDS * sizeof *l->hold);
  l->varied = (int32_t *)(m += (MAX_EVENTS + MAX_THREADS) * sizeof *l->segment_before);
  l->item = (struct item *)(m + (MAX_EVENTS + MAX_THREADS) * sizeof *l->varied);
  const uint64_t *lock = part(l, l->plan->at_lock);
  for (; l->nlocks < l->plan->nlocks; l->nlocks++) l->lock[l->nlocks] = w->s->base + lock[l->nlocks];
  return 1;
}

static uint32_t look(struct look *l, struct walk *w, enum hd_how how) {
  if (!set_up(l, w, how) || !find_clocks(l)) return HD_NONE;
  find_entries(l);
  if (!find_items(l)) return HD_NONE;
  find_deviations(l);
  uint32_t from = first_free(l);
  return from < l->n ? from : HD_NONE;
}

/* ---- branches for what was left out ---- */

struct enabled {
  uint32_t words;
  struct hd_set set;
};

static void enter(struct walk *w, uint32_t k, const struct hd_point *p, int fresh) {
  struct enabled *e = hd__record(w, FILTERS, k);
  (void)fresh;
  e->words = p->words;
  for (unsigned i = 0; i < p->words; i++) e->set.w[i] = p->enabled->w[i];
}

/* Whether an operation that comes after state `from`, in some schedule, may depend on event i. */
static int may_meet(const struct look *l, uint32_t i, uint32_t from) {
  const struct hd_order *o = l->o;
  const struct hd_ev *e = &o->ev[i];
  for (uint32_t f = from; f < l->n; f++) {
    if (o->ev[f].op.thread == e->op.thread || hd_keys_apart(o->key[i], o->key[f])) continue;
    if (clock_of(l, f)[e->op.thread] >= e->index) continue; /* in every schedule it comes after it */
    if (hd_dependent(&e->op, e->flags, &o->ev[f].op, o->ev[f].flags)) return 1;
  }
  for (uint32_t k = 0; k < l->nitems; k++) {
    const struct item *x = &l->item[k];
    if (x->deviates < (int32_t)from || x->thread == e->op.thread) continue;
    if (clock_of(l, x->at)[e->op.thread] < e->index) return 1;
  }
  return 0;
}

static void add_enabled(struct walk *w, uint32_t k) {
  const struct enabled *e = hd__record(w, FILTERS, k);
  struct hd_branch *head = *hd__branches(w, k);
  int added = 0;
  for (unsigned t = hd_set_next(&e->set, e->words, 0); t < HD_MAX_THREADS;
       t = hd_set_next(&e->set, e->words, t + 1))
    if (!hd__has_branch(w, k, t)) {
      head = hd__branch_step(w->unit, t, -1, head);
      added = 1;
    }
  if (!added) return;
  __atomic_store_n(hd__branches(w, k), head, __ATOMIC_RELEASE);
  hd__walk_added(w, k);
}

static int conclude(struct walk *w, const struct hd_point *p, enum hd_how how, int above) {
  struct look *l = look_of(w); /* the second call goes on with it */
  if (!above) w->free_from = look(l, w, how);
  int more = hd__reverse_conclude(w, p, how, above);
  for (uint32_t i = 0; w->free_from != HD_NONE && i < w->free_from; i++) {
    if ((i < w->unit->base) != above) {
      more |= i < w->unit->base;
      continue;
    }
    if (may_meet(l, i, w->free_from)) add_enabled(w, i);
  }
  if (!above && w->free_from != HD_NONE) w->s->status->pruned++;
  return more;
}

const struct policy hd__pruned = {.filter = {&hd__filter_sleep},
                                  .record = sizeof(struct enabled),
                                  .keeps_done = 1,
                                  .ordered = 1,
                                  .enter = enter,
                                  .first = hd__reverse_first,
                                  .conclude = conclude,
                                  .retreat = hd__reverse_settle};

/* lockorder.c: locks that threads take in different orders, which may be a deadlock that no execution has come to. Runs in
 * the tested process, in executions that cover.c observes.
 *
 * An edge is a thread that requested a lock, without a time limit, while it held another. Edges of different threads form a
 * cycle when each thread requests what the next one holds (Havelund, "Using runtime analysis to guide model checking of Java
 * programs", SPIN 2000). Of an execution all edges are kept, so a cycle belongs to one execution.
 *
 * Invariants
 *  1. No cycle has two threads that hold a common lock, unless both share it: such threads are never there together. Nor has
 *     it two that share the lock which one holds and the other requests.
 *  2. No cycle has a thread that did its part before it created another one of the cycle, or after that one was joined:
 *     that is setting up and cleaning up. Those that a third thread keeps apart by joining are marked (`apart`).
 *  3. A lock is the same in all edges of a cycle, not another one that came to its address: it was not initialised, destroyed
 *     or freed since the first of them, and nobody has written to its memory, as a constructor would.
 *  4. What is not known for certain (more locks held than there is room for, memory whose writers are not known) gives no
 *     edge. */
#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/objects.h"
#include "runtime/core/record.h"
#include "runtime/memory/memory.h"

#include "model/holders.h"

#define HOLDS 128
#define HELD 8 /* locks that one thread holds at a time, as far as there are edges */
#define EDGES 256
#define PLACES 1024u /* a power of two */

struct edge {
  struct hd_lock_link link;
  bool gone;                             /* one of its locks is no longer there */
  uint64_t held_written, wanted_written; /* hd__shadow_written of the locks */
  uint32_t nheld;
  struct hd_hold all[HELD]; /* that the thread held */
  uint32_t seg;
  uint8_t before[EDGES]; /* enum hd_fixed: whether that edge came before this one in any case */
};

/* Of the execution under way. */
static struct {
  uint32_t run; /* rt.seg_base; else it is empty */
  bool full;    /* more is held than there is room for */
  uint32_t places, nedges;
  struct hd_holders holders;
  struct hd_hold hold[HOLDS];
  struct { /* where a lock was taken, by the number of its hold */
    uint32_t number;
    uint64_t chain[HD_LOCK_CHAIN];
  } place[PLACES];
  struct edge edge[EDGES];
} now;

/* ---- what is held ---- */

static void add_hold(const struct hd_obj *o, unsigned thread, bool shared, uint64_t site) {
  if (now.holders.n == HOLDS) {
    now.full = true;
    return;
  }
  uint32_t number = ++now.places;
  now.place[number % PLACES].number = number;
  uint64_t *chain = now.place[number % PLACES].chain;
  for (unsigned i = hd__site_walk(site, chain, HD_LOCK_CHAIN); i < HD_LOCK_CHAIN; i++) chain[i] = 0;
  now.hold[now.holders.n++] = (struct hd_hold){o->addr, number, (uint16_t)thread, o->kind, shared};
}

static void add_held(struct hd_obj *o) {
  if (o->kind != HD_OBJ_MUTEX && o->kind != HD_OBJ_RWLOCK) return;
  if (o->owner != HD_NOBODY) add_hold(o, o->owner, false, o->site);
  for (const struct hd_holder *h = o->holders; h; h = h->next)
    if (h->count) add_hold(o, h->thread, true, h->site);
}

/* The first operation of the execution that is observed. What is held then was taken before a checkpoint. */
static void begin(void) {
  now.run = rt.seg_base;
  now.full = false;
  now.places = now.nedges = 0;
  now.holders = (struct hd_holders){now.hold, 0, HOLDS};
  hd__objects_each(add_held);
}

/* ---- the same lock ---- */

void hd__lockorder_forget(uint64_t at, uint64_t size) {
  if (now.run != rt.seg_base) return;
  for (uint32_t i = 0; i < now.nedges; i++) {
    const struct hd_lock_link *l = &now.edge[i].link;
    now.edge[i].gone |= l->held - at < size || l->wanted - at < size;
  }
}

/* Whether it is known when the lock at that address begins. */
static bool is_known(uint64_t object, uint64_t *written) {
  bool stack = object - rt.stacks.lo < rt.stacks.size || object - rt.stacks.first < HD_FIRST_STACK;
  return hd__shadow_written(object, written) && (*written || !stack);
}

/* ---- cycles ---- */

static bool excluded_by(const struct edge *x, const struct edge *y) {
  for (uint32_t i = 0; i < x->nheld; i++)
    for (uint32_t k = 0; k < y->nheld; k++)
      if (x->all[i].object == y->all[k].object && !(x->all[i].shared && y->all[k].shared)) return true;
  return false;
}

static enum hd_fixed fixed_order(const struct edge *x, const struct edge *y) {
  return (enum hd_fixed)(x < y ? y->before[x - now.edge] : x->before[y - now.edge]);
}

/* Whether both can be in one cycle; *apart: they never run at the same time. */
static bool compatible(const struct edge *x, const struct edge *y, uint32_t *apart) {
  if (x->link.thread == y->link.thread || excluded_by(x, y)) return false;
  enum hd_fixed how = fixed_order(x, y);
  *apart |= how == HD_FIXED_APART;
  return how != HD_FIXED_FAMILY;
}

/* Whether x requests what y holds, and would have to wait. */
static bool waits_for(const struct edge *x, const struct edge *y) {
  return x->link.wanted == y->link.held && x->wanted_written == y->held_written &&
         !(x->link.wanted_shared && y->link.held_shared);
}

static bool same_places(const struct hd_lock_link *a, const struct hd_lock_link *b) {
  for (unsigned i = 0; i < HD_LOCK_CHAIN; i++)
    if (a->held_at[i] != b->held_at[i] || a->wanted_at[i] != b->wanted_at[i]) return false;
  return true;
}

/* Whether both have the same places in the same order, wherever they begin. */
static bool same_cycle(const struct hd_lock_cycle *a, const struct hd_lock_cycle *b) {
  for (uint32_t from = 0; a->n == b->n && from < a->n; from++) {
    uint32_t i = 0;
    while (i < a->n && same_places(&a->link[i], &b->link[(from + i) % a->n])) i++;
    if (i == a->n) return true;
  }
  return false;
}

static void note_cycle(const struct edge *const *chain, uint32_t n, uint32_t apart) {
  struct hd_cover *c = hd__cover_table();
  struct hd_lock_cycle found = {.n = n, .apart = apart};
  uint32_t first = 0;
  for (uint32_t i = 1; i < n; i++)
    if (chain[i]->link.thread < chain[first]->link.thread) first = i;
  for (uint32_t i = 0; i < n; i++) found.link[i] = chain[(first + i) % n]->link;
  uint32_t known = c->ncycles < HD_LOCK_CYCLES ? c->ncycles : HD_LOCK_CYCLES;
  for (uint32_t i = 0; i < known; i++)
    if (same_cycle(&c->cycle[i], &found)) {
      c->cycle[i].apart &= apart;
      return;
    }
  if (known == HD_LOCK_CYCLES) return;
  c->cycle[known] = found;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  c->ncycles = known + 1;
}

/* Extends the chain by every edge that holds what its last one requests. */
static void extend(const struct edge **chain, uint32_t n, uint32_t apart) {
  for (uint32_t i = 0; i < now.nedges; i++) {
    const struct edge *e = &now.edge[i];
    uint32_t together = apart, k = 0;
    if (e->gone || !waits_for(chain[n - 1], e)) continue;
    while (k < n && compatible(chain[k], e, &together)) k++;
    if (k < n) continue;
    chain[n] = e;
    if (waits_for(e, chain[0]))
      note_cycle(chain, n + 1, together);
    else if (n + 1 < HD_LOCK_LINKS)
      extend(chain, n + 1, together);
  }
}

/* ---- edges ---- */

static bool same_held(const struct edge *x, const struct edge *y) {
  if (x->nheld != y->nheld) return false;
  for (uint32_t i = 0; i < x->nheld; i++)
    if (x->all[i].object != y->all[i].object || x->all[i].shared != y->all[i].shared) return false;
  return true;
}

static bool same_edge(const struct edge *x, const struct edge *y) {
  const struct hd_lock_link *a = &x->link, *b = &y->link;
  return a->held == b->held && a->wanted == b->wanted && a->thread == b->thread &&
         a->held_shared == b->held_shared && a->wanted_shared == b->wanted_shared &&
         x->held_written == y->held_written && x->wanted_written == y->wanted_written && same_held(x, y) &&
         same_places(a, b);
}

static void add_edge(const struct edge *e) {
  for (uint32_t i = 0; i < now.nedges; i++)
    if (!now.edge[i].gone && same_edge(&now.edge[i], e)) return;
  if (now.nedges == EDGES) return;
  struct edge *added = &now.edge[now.nedges];
  *added = *e;
  for (uint32_t i = 0; i < now.nedges; i++)
    added->before[i] = (uint8_t)hd__cover_fixed(now.edge[i].link.thread, now.edge[i].seg, rt.cur);
  now.nedges++;
  const struct edge *chain[HD_LOCK_LINKS] = {added};
  extend(chain, 1, 0);
}

/* The running thread has executed an operation that requested a lock. */
static void note_request(const struct hd_op *op) {
  struct edge e = {.link = {.wanted = op->object,
                            .thread = op->thread,
                            .wanted_shared = hd_op_effect(op->kind, 0) == HD_EFF_SHARE},
                   .seg = (uint32_t)(rt.cur->tag >> 32)};
  const struct hd_hold *h;
  for (size_t at = 0; (h = hd_holders_of_thread(&now.holders, op->thread, &at));) {
    if (h->object == op->object || e.nheld == HELD) return;
    e.all[e.nheld++] = *h;
  }
  if (!e.nheld || !is_known(op->object, &e.wanted_written)) return;
  hd__walk(rt.cur, op->pc, e.link.wanted_at, HD_LOCK_CHAIN);
  for (uint32_t i = 0; i < e.nheld; i++) {
    uint32_t number = e.all[i].event;
    if (now.place[number % PLACES].number != number || !is_known(e.all[i].object, &e.held_written)) continue;
    e.link.held = e.all[i].object;
    e.link.held_shared = e.all[i].shared;
    for (unsigned k = 0; k < HD_LOCK_CHAIN; k++) e.link.held_at[k] = now.place[number % PLACES].chain[k];
    add_edge(&e);
  }
}

void hd__lockorder_event(const struct hd_op *op, unsigned flags) {
  if (!hd__instrumented()) return; /* nobody sees what is written */
  if (now.run != rt.seg_base) begin();
  unsigned object = hd_op_object(op->kind);
  bool lock = object == HD_OBJ_MUTEX || object == HD_OBJ_RWLOCK;
  bool takes = lock && hd_op_does(op->kind, flags, HD_EFF_HOLDS);
  if ((!hd_held_object(op, flags) && !lock) || (op->object & 1))
    return; /* odd: the gate of a lock (wrap/rwlock.c) */
  if (takes && hd_op_waits_forever(op->kind) && !rt.cur->section && !now.full) note_request(op);
  if (lock && hd_op_does(op->kind, flags, HD_EFF_CHANGES) &&
      !hd_op_does(op->kind, flags, HD_EFF_HOLDS | HD_EFF_LETS_GO))
    hd__lockorder_forget(op->object, 1); /* initialised or destroyed */
  uint32_t number = now.places + 1;
  if (hd_holders_event(&now.holders, op, flags, number) < 0) now.full = true;
  if (!takes) return;
  now.places = number;
  now.place[number % PLACES].number = number;
  uint64_t *chain = now.place[number % PLACES].chain;
  for (unsigned i = hd__walk(rt.cur, op->pc, chain, HD_LOCK_CHAIN); i < HD_LOCK_CHAIN; i++) chain[i] = 0;
}

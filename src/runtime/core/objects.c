/* objects.c: locks, condition variables and the like, found by address. Runs in the tested process.
 *
 * What the program can see of an object (whether it is locked, how often) stands in the object's own memory, in
 * libc's layout; the table has only what the scheduler needs besides. Entries of earlier executions are recognised
 * by their epoch and count as empty, so that a restart costs nothing. */
#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/objects.h"
#include "runtime/core/record.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

struct slot {
  uint64_t addr;
  uint32_t epoch;
  struct hd_obj *obj;
};
static HD_EXEC struct slot *table;
static HD_EXEC size_t cap, used;
static uint32_t era;                     /* of this execution: entries of another one are empty */
static HD_EXEC struct hd_obj *objects;   /* of this execution, the last one first */
static HD_EXEC uint64_t lowest, highest; /* addresses of this execution's entries */
static HD_EXEC struct hd_obj *last;      /* the one that hd__obj has found last: a lock is released soon */

static struct slot *probe(struct slot *t, size_t n, uint64_t addr) {
  size_t i = (addr * 0x9e3779b97f4a7c15ull >> 20) & (n - 1);
  while (t[i].epoch == era && t[i].addr != addr) i = (i + 1) & (n - 1);
  return &t[i];
}

static struct slot *kept; /* the table of the checkpoint: it comes back */
#define LISTED 32
static struct slot listed[LISTED]; /* a few are entered again instead */
static unsigned nlisted;
static uint32_t kept_era, last_era;
static struct slot *spare[48]; /* tables that were given up, by the binary logarithm of their size */

static struct slot *get_table(size_t n) {
  struct slot **s = &spare[__builtin_ctzll(n)], *t = *s;
  *s = NULL;
  if (!t) return hd__map(n * sizeof *t);
  hd__zero(t, n * sizeof *t);
  return t;
}

static void drop(struct slot *t, size_t n) {
  if (t && t != kept) spare[__builtin_ctzll(n)] = t;
}

static void grow(void) {
  size_t n = cap ? cap * 2 : 1024;
  struct slot *t = get_table(n);
  if (!t) hd__fail(HD_RTE_ENVIRONMENT, 0, "no memory for the table of locks");
  for (size_t i = 0; i < cap; i++)
    if (table[i].epoch == era) *probe(t, n, table[i].addr) = table[i];
  drop(table, cap);
  table = t;
  cap = n;
}

void hd__objects_init(void) {
  grow();
  hd__zero(table, cap * sizeof *table); /* so that forked executions find its pages */
}

/* With room for what follows, so that it seldom grows. */
void hd__objects_keep(void) {
  while (!cap || used * 4 >= cap) grow();
  kept = table;
  kept_era = era;
  if (used > LISTED) return;
  for (size_t i = 0; i < cap; i++)
    if (table[i].epoch == era) listed[nlisted++] = table[i];
}

void hd__objects_begin(void) {
  era = ++last_era;
  used = 0;
  objects = last = NULL;
  lowest = UINT64_MAX;
  highest = 0;
}

void hd__objects_return(void) {
  last = NULL;
  if (used > LISTED) {
    era = kept_era;
    return;
  }
  for (unsigned i = 0; i < nlisted; i++) {
    struct slot *s = probe(table, cap, listed[i].addr);
    *s = listed[i];
    s->epoch = era;
  }
}

void hd__objects_leave(void) {
  if (kept && table != kept) drop(table, cap);
}

void hd__objects_range(void (*f)(char *lo, char *hi)) {
  if (used > LISTED) f((char *)table, (char *)(table + cap));
}

struct hd_obj *hd__obj_find(uint64_t addr) {
  if (!cap) return NULL;
  addr = hd__canonical(addr);
  struct slot *s = probe(table, cap, addr);
  return s->epoch == era ? s->obj : NULL;
}

struct hd_obj *hd__obj(uint64_t addr, unsigned kind) {
  addr = hd__canonical(addr);
  if (last && last->addr == addr && last->kind == kind) return last;
  if (HD_UNLIKELY(used * 2 >= cap)) grow();
  struct slot *s = probe(table, cap, addr);
  if (s->epoch == era && s->obj->kind == kind) return last = s->obj;
  if (s->epoch != era) {
    used++;
    if (addr < lowest) lowest = addr;
    if (addr > highest) highest = addr;
    s->addr = addr;
    s->epoch = era;
    s->obj = hd_arena_get(&rt.arena, sizeof *s->obj);
    HD_BUG_ON(!s->obj);
    s->obj->next = objects;
    objects = s->obj;
  } /* else: another use of the same memory, which resets the entry */
  struct hd_obj *next = s->obj->next;
  hd__zero(s->obj, sizeof *s->obj);
  s->obj->next = next;
  s->obj->addr = addr;
  s->obj->kind = (uint8_t)kind;
  s->obj->owner = HD_NOBODY;
  return s->obj;
}

void hd__objects_each(void (*f)(struct hd_obj *o)) {
  for (struct hd_obj *o = objects; o; o = o->next) f(o);
}

void hd__pend(struct hd_obj *o, struct hd_thread *t) {
  t->wait.at = o;
  t->wait.next = o->pend;
  o->pend = t;
}

void hd__unpend(struct hd_obj *o, struct hd_thread *t) {
  for (struct hd_thread **p = &o->pend; *p; p = &(*p)->wait.next)
    if (*p == t) {
      *p = t->wait.next;
      break;
    }
  t->wait.at = NULL;
}

void hd__enable_pending(struct hd_obj *o) {
  for (struct hd_thread *t = o->pend; t; t = t->wait.next) hd__enable(t);
}

void hd__disable_pending(struct hd_obj *o, struct hd_thread *except) {
  for (struct hd_thread *t = o->pend; t; t = t->wait.next)
    if (t != except && !t->timer.expired) hd__disable(t);
}

void hd__enqueue(struct hd_obj *o, struct hd_thread *t) {
  t->wait.at = o;
  t->wait.next = NULL;
  if (o->queue)
    o->queue_last->wait.next = t;
  else
    o->queue = t;
  o->queue_last = t;
  o->nqueue++;
}

void hd__dequeue(struct hd_obj *o, struct hd_thread *t) {
  struct hd_thread *prev = NULL;
  for (struct hd_thread *q = o->queue; q; prev = q, q = q->wait.next)
    if (q == t) {
      if (prev)
        prev->wait.next = t->wait.next;
      else
        o->queue = t->wait.next;
      if (o->queue_last == t) o->queue_last = prev;
      o->nqueue--;
      break;
    }
  t->wait.at = NULL;
  t->wait.next = NULL;
}

struct hd_thread *hd__waiter(const struct hd_obj *o, unsigned k) {
  struct hd_thread *best = NULL;
  for (unsigned round = 0; round <= k; round++) {
    struct hd_thread *next = NULL;
    for (struct hd_thread *t = o->queue; t; t = t->wait.next)
      if ((!best || hd__thread_before(best, t)) && (!next || hd__thread_before(t, next))) next = t;
    best = next;
  }
  return best;
}

/* A function of its own, so that no register still says during the wait whether it `can`: a state is the same however long
 * the thread has waited (fingerprint.c). */
static __attribute__((noinline)) void ask(struct hd_obj *o, unsigned kind, bool can,
                                          const struct hd_until *until, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  t->op = (struct hd_op){.kind = (uint8_t)kind, .thread = t->id, .object = o->addr, .pc = pc};
  if (until) hd__deadline_set(t, until->clock, until->at);
  hd__pend(o, t);
  if (!can) hd__disable(t);
}

static enum hd_requested request(struct hd_obj *o, unsigned kind, bool can, const struct hd_until *until,
                                 bool cancel, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  ask(o, kind, can, until, pc);
  if (cancel)
    hd__step_or_cancel();
  else
    hd__step();
  if (HD_UNLIKELY(t->sig.taken) && hd__interrupted()) return HD_INTERRUPTED;
  hd__unpend(o, t);
  if (!until) return HD_GRANTED;
  hd__deadline_clear(t);
  bool late = t->timer.expired;
  t->timer.expired = false;
  return late ? HD_LATE : HD_GRANTED;
}

enum hd_requested hd__request_once(struct hd_obj *o, unsigned kind, bool can, const struct hd_until *until,
                                   uint64_t pc) {
  if (HD_UNLIKELY(rt.fingerprints)) hd_arch_scrub(); /* what the caller has called before is not state */
  return request(o, kind, can, until, false, pc);
}

enum hd_requested hd__request_cancel(struct hd_obj *o, unsigned kind, bool can, const struct hd_until *until,
                                     uint64_t pc) {
  if (HD_UNLIKELY(rt.fingerprints)) hd_arch_scrub();
  return request(o, kind, can, until, true, pc);
}

/* ---- misuse ---- */

void hd__report_lock(unsigned kind, const struct hd_obj *o, unsigned op, uint64_t pc, const char *text) {
  struct hd_finding_rec *f = hd__finding(kind, pc, 0);
  if (!f) return;
  struct hd_site *s = hd__finding_site(f, HD_ROLE_AT, rt.cur->id, op);
  hd__site_stack(s, rt.cur, pc);
  s->object = o->addr;
  hd__site_holders(f, o);
  hd__format(f->text, sizeof f->text, "%s", text);
  hd__finding_done(f, false);
}

/* ---- initialisation ---- */

static HD_EXEC uint32_t
    init_epoch; /* the last execution in which an object was initialised beside other threads */

/* Reports that an initialisation and a use are not ordered: what the running thread does, and what the other one did, at
 * `site`, or is about to do. */
static void report_init(uint64_t object, unsigned op, uint64_t pc, struct hd_thread *other, unsigned other_op,
                        uint64_t site) {
  if (rt.cur->foreign || other->foreign || rt.preload) return; /* what orders them is not known */
  struct hd_finding_rec *f = hd__finding(HD_KIND_DATA_RACE, pc, site ? hd__site_pc(site) : other->op.pc);
  if (!f) return;
  struct hd_site *s = hd__finding_site(f, HD_ROLE_AT, rt.cur->id, op);
  hd__site_stack(s, rt.cur, pc);
  s->object = object;
  s = hd__finding_site(f, HD_ROLE_PREVIOUS, other->id, other_op);
  if (site)
    hd__site_stored(s, site);
  else
    hd__site_stack(s, other, other->op.pc);
  s->object = object;
  hd__site_block(f, object);
  hd__finding_done(f, false);
}

/* The running thread uses an object. */
static __attribute__((noinline)) void check_init(uint64_t object, uint64_t pc) {
  const struct hd_obj *o = hd__obj_find(object);
  if (!o || !o->init || hd__happened_before(o->init)) return;
  struct hd_thread *by = &rt.thread[hd__segment_thread(o->init)];
  if (by == rt.cur || (by->state == HD_T_DONE && by->join.detached))
    return; /* its stack may be another's by now */
  report_init(object, HD_OP_NONE, pc, by, o->init_op, o->init_site);
}

/* Some other thread is about to use it, or waits for it. */
static void check_users(uint64_t object, unsigned op, uint64_t pc) {
  for (unsigned i = 0; i < rt.nthreads; i++) {
    struct hd_thread *t = &rt.thread[i];
    if (t == rt.cur || t->state > HD_T_BLOCKED || t->op.object != object ||
        hd_op_object(t->op.kind) != hd_op_object(op))
      continue;
    report_init(object, op, pc, t, t->op.kind, 0);
  }
}

static bool is_held(const struct hd_obj *o) {
  if (o->owner != HD_NOBODY && rt.thread[o->owner].state != HD_T_DONE) return true;
  for (const struct hd_holder *h = o->holders; h; h = h->next)
    if (h->count && rt.thread[h->thread].state != HD_T_DONE) return true;
  return false;
}

struct hd_obj *hd__init_object(unsigned op, const void *object, size_t size, uint32_t value, uint64_t pc) {
  uint64_t at = (uint64_t)object;
  hd__block_check(at, size, HD_A_WRITE, pc);
  if (HD_UNLIKELY(hot.cover)) hd__lockorder_forget(at, size);
  bool others = rt.nunjoined;
  if (others) {
    hd__point_open(op, at, value, pc);
    if (op == HD_OP_SEMINIT) rt.cur->op.sem.value = *(const uint32_t *)object;
    hd__event(0);
  }
  struct hd_obj *o = hd__obj(at, hd_op_object(op));
  if (HD_UNLIKELY(others && is_held(o))) hd__inexact(HD_INEXACT_HELD_INIT, pc);
  hd_vc_clear(&o->vc);
  hd_vc_clear(&o->before);
  o->owner = HD_NOBODY;
  o->init = 0;
  if (!others) return o;
  o->init = (uint32_t)(hot.tag >> 32);
  o->init_op = (uint8_t)op;
  o->init_site = hd__site_here(pc);
  init_epoch = rt.epoch;
  check_users(at, op, pc);
  return o;
}

/* ---- the end of an object ---- */

static __attribute__((cold, noinline)) void report_destroyed(uint64_t object, enum hd_obj_kind kind,
                                                             uint64_t pc) {
  static const char *const text[] = {
      [HD_OBJ_MUTEX] = "use of a destroyed mutex",
      [HD_OBJ_COND] = "use of a destroyed condition variable",
      [HD_OBJ_RWLOCK] = "use of a destroyed read-write lock",
      [HD_OBJ_SEM] = "use of a destroyed semaphore",
      [HD_OBJ_BARRIER] = "use of a destroyed barrier",
  };
  hd__report_simple(HD_KIND_DESTROY_BUSY, object, pc, text[kind], false);
}

void hd__touch_object(const void *object, size_t size, enum hd_obj_kind kind, bool destroyed, uint64_t pc) {
  hd__take_signals();
  hd__block_check((uint64_t)object, size, HD_A_WRITE, pc);
  if (HD_UNLIKELY(hd__on_other_stack((uint64_t)object)) && rt.nunjoined)
    hd__lend((uint64_t)object, false, pc);
  if (HD_UNLIKELY(init_epoch == rt.epoch)) check_init((uint64_t)object, pc);
  if (HD_UNLIKELY(destroyed)) report_destroyed((uint64_t)object, kind, pc);
}

/* Leaving a barrier is no use of it, and an initialisation begins a new life. */
static bool uses(const struct hd_op *op) {
  enum hd_effect effect = hd_op_effect(op->kind, 0);
  return effect != HD_EFF_LEAVE && effect != HD_EFF_INIT;
}

void hd__object_destroyed(uint64_t object, enum hd_obj_kind kind) {
  if (!rt.nunjoined) return;
  for (unsigned i = 0; i < rt.nthreads; i++) {
    struct hd_thread *t = &rt.thread[i];
    if (t != rt.cur && t->state <= HD_T_BLOCKED && t->op.object == object &&
        hd_op_object(t->op.kind) == kind && uses(&t->op))
      t->gone = HD_GONE_DESTROYED;
  }
}

/* ---- memory that is freed ---- */

/* What freeing is to such an object. */
static unsigned end_of(unsigned kind) {
  switch (kind) {
    case HD_OBJ_MUTEX: return HD_OP_MDESTROY;
    case HD_OBJ_COND: return HD_OP_CDESTROY;
    case HD_OBJ_RWLOCK: return HD_OP_RWDESTROY;
    case HD_OBJ_SEM: return HD_OP_SEMDESTROY;
    case HD_OBJ_BARRIER: return HD_OP_BDESTROY;
    case HD_OBJ_ONCE: return HD_OP_ONCE_FREED;
    default: return HD_OP_NONE;
  }
}

static void object_freed(uint64_t at, uint64_t pc) {
  const struct hd_obj *o = hd__obj_find(at);
  unsigned op = o ? end_of(o->kind) : HD_OP_NONE;
  if (op == HD_OP_NONE) return;
  hd__point(op, at, 0, pc);
  for (unsigned i = 0; i < rt.nthreads; i++) {
    struct hd_thread *t = &rt.thread[i];
    if (t != rt.cur && t->state <= HD_T_BLOCKED && t->op.object == at &&
        end_of(hd_op_object(t->op.kind)) == op && hd_op_effect(t->op.kind, 0) != HD_EFF_LEAVE)
      t->gone = HD_GONE_FREED; /* a thread may still leave a barrier */
  }
}

void hd__objects_freed(uint64_t block, uint64_t size, uint64_t pc) {
  if (HD_UNLIKELY(hot.cover)) hd__lockorder_forget(block, size);
  if (!rt.nunjoined) return;
  for (unsigned i = 0; i < rt.nthreads; i++) { /* one that is about to be used for the first time */
    const struct hd_thread *t = &rt.thread[i];
    unsigned kind = hd_op_object(t->op.kind);
    if (t != rt.cur && t->state <= HD_T_BLOCKED && t->op.object - block < size && end_of(kind) != HD_OP_NONE)
      hd__obj(t->op.object, kind);
  }
  if (block > highest || block + size <= lowest) return;
  uint64_t from = block > lowest ? block : lowest,
           to = block + size - 1 < highest ? block + size - 1 : highest;
  if ((to - from) / 4 < cap) {
    for (uint64_t at = (from + 3) & ~3ull; at <= to; at += 4) object_freed(at, pc);
  } else {
    for (size_t i = 0; i < cap; i++)
      if (table[i].epoch == era && table[i].addr >= from && table[i].addr <= to)
        object_freed(table[i].addr, pc);
  }
}

void hd__object_gone(void) {
  struct hd_thread *t = rt.cur;
  enum hd_gone how = t->gone;
  t->gone = HD_GONE_NOT;
  if (how == HD_GONE_FREED)
    hd__block_check(t->op.object, 4, HD_A_WRITE, t->op.pc);
  else
    report_destroyed(t->op.object, hd_op_object(t->op.kind), t->op.pc);
}

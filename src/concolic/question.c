/* question.c: inputs and an order of operations, as one question to the solver (concolic.h). Runs in the supervisor.
 *
 * After Razavi 2014, section 3.4.2 (logicalEncoder). The operations of one execution may come in any order, and some threads may
 * go on as they did in another one: is there an order, and are there inputs, with which a branch has its other outcome?
 * An operation has a boolean, that it comes before the branch, and a time. Constraints, with the names of the thesis:
 *   FP   the first operations happen as they did: what they wrote is known, and their conditions hold
 *   PO   an operation comes after the one before it in its thread, a thread's first one after its creation, a join after
 *        the end of the thread
 *   ST   what a thread does between two operations is as it was: the conditions of its branches hold
 *   PI   a read has the value of the last write before it
 *   LOCK sections of one lock do not overlap
 *   BR   the thread comes to the branch, and the condition of its other outcome holds
 *   AWR  one read sees a given write of the other execution
 *   IND  where a thread has two ways to go on, it goes one of them
 * Differences:
 *  - AWR as printed says nothing (FIX-3 of our notes); here the read's only candidate is the write.
 *  - What both executions have in common is one operation each. The thesis compares statements; here threads have done the
 *    same since their start, so that what is computed later means the same, too.
 *  - PI of a read is asked for only if the read comes before the branch, and counts only writes that do.
 *  - Times are bit-vectors, so that one solver decides both parts. An operation that reads and writes has one time.
 *  - Locks are no variables: for each two sections one comes first. */
#include "concolic/concolic_int.h"

#include <stdlib.h>
#include <string.h>

#define MAX_UNITS 4000

struct list {
  HD_VEC(uint32_t) v; /* events of a thread */
};

/* An operation that has no fixed place. */
struct unit {
  const struct hd__path *path;
  const struct list *list;
  uint16_t thread;
  bool other;        /* of the second execution */
  uint32_t branches; /* its thread's events in `list`: the branches before it begin here, ... */
  uint32_t from, to; /* ... here the operation begins, and here its last access ends */
  uint32_t pred;     /* unit of its thread before it, plus 1 */
  hd_expr_ref happens, time;
};

struct access {
  uint32_t unit, event;
  const struct hd_cc_event *e;
  hd_expr_ref value;
};

/* Of a lock, from acquiring to releasing it. The release may differ between the two ways of a thread. */
struct section {
  uint64_t lock;
  uint16_t thread;
  uint32_t from;       /* unit plus 1; 0: it is held already */
  uint32_t release[2]; /* units plus 1 */
};

struct encoding {
  const struct hd__question *q;
  struct hd_exprs *x;
  struct hd__symbols *symbols;
  struct list list[2][HD_CC_THREADS];
  uint32_t fixed[HD_CC_THREADS]; /* events of each thread that happen as they did */
  HD_VEC(struct unit) unit;
  uint32_t last[HD_CC_THREADS][2]; /* units plus 1: the end of each way of a thread, ... */
  uint32_t fork[HD_CC_THREADS][2]; /* ... and the first of each that is not of both */
  HD_VEC(struct access) access;
  HD_VEC(struct section) section;
  HD_VEC(hd_expr_ref) with; /* of symbols: what is known of reads */
  HD_VEC(hd_expr_ref) condition;
  unsigned width; /* of times */
  bool impossible;
};

/* ---- making conditions ---- */

static void require(struct encoding *n, hd_expr_ref e) { hd_vec_push(&n->condition, e); }

static hd_expr_ref truth(struct encoding *n, bool v) { return hd_expr_const(n->x, 1, v); }
static hd_expr_ref both(struct encoding *n, hd_expr_ref a, hd_expr_ref b) {
  return hd_expr_binary(n->x, HD_EXPR_AND, a, b);
}
static hd_expr_ref either(struct encoding *n, hd_expr_ref a, hd_expr_ref b) {
  return hd_expr_binary(n->x, HD_EXPR_OR, a, b);
}
static hd_expr_ref implies(struct encoding *n, hd_expr_ref a, hd_expr_ref b) {
  return either(n, hd_expr_not(n->x, a), b);
}

static hd_expr_ref symbol(struct encoding *n, unsigned width, uint32_t number) {
  struct hd__symbols *s = n->symbols;
  while (s->of[width].n <= number) {
    uint32_t fresh = hd_expr_fresh(n->x);
    hd_vec_push(&s->of[width], hd_expr_symbol(n->x, width, fresh));
  }
  return s->of[width].v[number];
}

static bool is_before(const struct encoding *n, uint32_t a, uint32_t b) { /* on the way to b; or it is b */
  for (uint32_t u = b + 1; u; u = n->unit.v[u - 1].pred)
    if (u == a + 1) return true;
  return false;
}

/* Unit a comes before unit b, given that both happen. */
static hd_expr_ref earlier(struct encoding *n, uint32_t a, uint32_t b) {
  if (n->unit.v[a].thread == n->unit.v[b].thread) return truth(n, a != b && is_before(n, a, b));
  return hd_expr_binary(n->x, HD_EXPR_ULT, n->unit.v[a].time, n->unit.v[b].time);
}

static const struct hd_cc_event *event_of(const struct unit *u, uint32_t position) {
  return &u->path->event[u->list->v.v[position]];
}

/* ---- operations ---- */

static bool is_access(const struct hd_cc_event *e) { return e->kind == HD_CC_READ || e->kind == HD_CC_WRITE; }

static const struct hd_cc_event *nth(const struct hd__path *p, const struct list *l, uint32_t i) {
  return &p->event[l->v.v[i]];
}

/* Where the operation ends that begins there: after its last access. */
static uint32_t core_end(const struct hd__path *p, const struct list *l, uint32_t from, uint32_t end) {
  uint32_t to = from + 1;
  for (uint32_t i = from + 1; i < end && !nth(p, l, i)->step; i++)
    if (is_access(nth(p, l, i))) to = i + 1;
  return to;
}

/* Adds the operations of a thread from `from` to `end`; `pred`: unit plus 1. Returns the last one, plus 1. */
static uint32_t add_units(struct encoding *n, unsigned thread, bool other, uint32_t from, uint32_t end,
                          uint32_t pred) {
  const struct hd__path *p = other ? n->q->other : n->q->run;
  const struct list *l = &n->list[other][thread];
  for (uint32_t i = from; i < end;) {
    struct unit u = {
        .path = p, .list = l, .thread = (uint16_t)thread, .other = other, .branches = i, .pred = pred};
    while (i < end && !nth(p, l, i)->step) i++;
    if (i == end || n->unit.n >= MAX_UNITS) break;
    u.from = i;
    u.to = i = core_end(p, l, i, end);
    hd_vec_push(&n->unit, u);
    pred = (uint32_t)n->unit.n;
  }
  return pred;
}

/* How many events the thread has in common in both executions. */
static uint32_t common(const struct encoding *n, unsigned t) {
  const struct list *a = &n->list[0][t], *b = &n->list[1][t];
  uint32_t i = 0;
  while (i < a->v.n && i < b->v.n && n->q->run->local[a->v.v[i]] == n->q->other->local[b->v.v[i]]) i++;
  return i;
}

/* The way of the other execution. */
static void add_other_way(struct encoding *n, unsigned t, uint32_t run_end) {
  uint32_t upto = n->q->upto[t], same = common(n, t), pred = 0, at = n->fixed[t];
  if (upto <= same && upto <= run_end) return;
  if (same < n->fixed[t] || t == n->q->run->event[n->q->target].thread) {
    n->impossible = true;
    return;
  }
  for (uint32_t i = 0; i < n->unit.n; i++) {
    const struct unit *u = &n->unit.v[i];
    if (u->thread == t && u->to <= same) pred = i + 1, at = u->to;
  }
  uint32_t first = (uint32_t)n->unit.n + 1;
  n->last[t][1] = add_units(n, t, true, at, upto, pred);
  if (n->unit.n + 1 == first) return;
  n->fork[t][1] = first;
  for (uint32_t i = 0; i + 1 < first; i++)
    if (n->unit.v[i].thread == t && n->unit.v[i].pred == pred && !n->unit.v[i].other) n->fork[t][0] = i + 1;
}

static void add_operations(struct encoding *n) {
  const struct hd__question *q = n->q;
  for (uint32_t i = 0; i < q->run->n; i++) {
    unsigned t = q->run->event[i].thread;
    hd_vec_push(&n->list[0][t].v, i);
    n->fixed[t] += i < q->fixed;
  }
  for (uint32_t i = 0; q->other && i < q->other->n; i++)
    hd_vec_push(&n->list[1][q->other->event[i].thread].v, i);
  unsigned target = q->run->event[q->target].thread;
  for (unsigned t = 0; t < HD_CC_THREADS; t++) {
    uint32_t end = t == target ? q->run->index[q->target] : (uint32_t)n->list[0][t].v.n;
    n->last[t][0] = add_units(n, t, false, n->fixed[t], end, 0);
    if (q->other && t < q->other->nthreads) add_other_way(n, t, end);
  }
  n->impossible |= n->unit.n >= MAX_UNITS;
  for (n->width = 4; 1u << n->width <= n->unit.n + 1; n->width += 2) {}
  for (uint32_t i = 0; i < n->unit.n; i++) {
    n->unit.v[i].happens = symbol(n, 1, i);
    n->unit.v[i].time = symbol(n, n->width, i);
  }
}

/* The operation is needed, with all before it. */
static void force(struct encoding *n, uint32_t unit) {
  for (uint32_t u = unit; u; u = n->unit.v[u - 1].pred) n->unit.v[u - 1].happens = truth(n, true);
}

/* ---- values ---- */

static hd_expr_ref substituted(struct encoding *n, hd_expr_ref e) {
  return hd_expr_substitute(n->x, e, n->with.v, n->with.n);
}

static void set_known(struct encoding *n, const struct hd_cc_event *read, hd_expr_ref value) {
  uint32_t s = (uint32_t)hd_expr_node(n->x, read->expr)->value;
  while (n->with.n <= s) hd_vec_push(&n->with, 0);
  n->with.v[s] = value;
}

static bool overlap(const struct hd_cc_event *a, const struct hd_cc_event *b) {
  return a->object < b->object + b->size && b->object < a->object + a->size;
}

/* What a read gets of a written value; 0: not all of it is there. */
static hd_expr_ref part(struct encoding *n, const struct hd_cc_event *read, const struct hd_cc_event *write,
                        hd_expr_ref value) {
  if (write->object > read->object || write->object + write->size < read->object + read->size) return 0;
  return hd_expr_extract(n->x, 8u * (unsigned)(read->object - write->object), 8u * read->size, value);
}

/* What the memory holds after the fixed part; 0: not known. */
static hd_expr_ref value_at_start(struct encoding *n, const struct hd_cc_event *read) {
  const struct hd__path *p = n->q->run;
  for (uint32_t i = n->q->fixed; i-- > 0;)
    if (p->event[i].kind == HD_CC_WRITE && overlap(&p->event[i], read))
      return part(n, read, &p->event[i], p->value[i]);
  const struct hd__initials *known = n->q->initials;
  for (size_t i = 0; i < known->n; i++)
    if (known->v[i].object == read->object && known->v[i].size == read->size)
      return hd_expr_const(n->x, 8u * read->size, known->v[i].value);
  return 0;
}

static void add_prefix(struct encoding *n) {
  const struct hd__path *p = n->q->run;
  for (uint32_t i = 0; i < n->q->fixed; i++) {
    if (p->event[i].kind == HD_CC_READ) set_known(n, &p->event[i], p->value[i]);
    if (p->event[i].kind == HD_CC_BRANCH) require(n, p->value[i]);
  }
}

static void add_accesses(struct encoding *n) {
  for (uint32_t i = 0; i < n->unit.n; i++) {
    const struct unit *u = &n->unit.v[i];
    for (uint32_t k = u->from; k < u->to; k++) {
      const struct hd_cc_event *e = event_of(u, k);
      if (is_access(e))
        hd_vec_push(&n->access, ((struct access){i, u->list->v.v[k], e, substituted(n, e->expr)}));
    }
  }
}

/* ---- PI and AWR ---- */

struct writes {
  HD_VEC(uint32_t) v; /* accesses */
};

/* What may come between: writes to the same memory, but those of the reader's thread that come later, or that others of
 * it hide. Sets *own: the last one of the reader's thread, plus 1. */
static void writes_for(const struct encoding *n, uint32_t read, struct writes *out, uint32_t *own) {
  const struct access *r = &n->access.v[read];
  *own = 0;
  out->v.n = 0;
  for (uint32_t i = 0; i < n->access.n; i++) {
    const struct access *w = &n->access.v[i];
    if (w->e->kind != HD_CC_WRITE || !overlap(w->e, r->e)) continue;
    if (n->unit.v[w->unit].thread != n->unit.v[r->unit].thread) {
      hd_vec_push(&out->v, i);
      continue;
    }
    bool before = w->unit == r->unit ? i < read : is_before(n, w->unit, r->unit);
    if (before && (!*own || is_before(n, n->access.v[*own - 1].unit, w->unit))) *own = i + 1;
  }
  if (*own) hd_vec_push(&out->v, *own - 1);
}

/* No other write comes between the write and the read; `write`: access plus 1, 0: the start. */
static hd_expr_ref nothing_between(struct encoding *n, uint32_t write, uint32_t read,
                                   const struct writes *all) {
  const struct access *r = &n->access.v[read];
  hd_expr_ref e = truth(n, true);
  for (size_t i = 0; i < all->v.n; i++) {
    uint32_t k = all->v.v[i];
    const struct access *o = &n->access.v[k];
    if (k + 1 == write) continue;
    hd_expr_ref out = hd_expr_not(n->x, n->unit.v[o->unit].happens);
    if (n->unit.v[o->unit].thread != n->unit.v[r->unit].thread)
      out = either(n, out, earlier(n, r->unit, o->unit));
    if (write) {
      const struct access *w = &n->access.v[write - 1];
      out = either(n, out, o->unit == w->unit ? truth(n, k < write - 1) : earlier(n, o->unit, w->unit));
    }
    e = both(n, e, out);
  }
  return e;
}

static void add_read(struct encoding *n, uint32_t read, struct writes *w) {
  const struct access *r = &n->access.v[read];
  const struct hd__question *q = n->q;
  uint32_t own;
  bool only = q->other && r->e == &q->run->event[q->read] && !n->unit.v[r->unit].other;
  hd_expr_ref any = truth(n, false);
  writes_for(n, read, w, &own);
  for (size_t i = 0; i < w->v.n; i++) {
    const struct access *a = &n->access.v[w->v.v[i]];
    hd_expr_ref value = part(n, r->e, a->e, a->value);
    if (!value || (only && a->e != n->q->seen)) continue;
    hd_expr_ref here = hd_expr_binary(n->x, HD_EXPR_EQ, r->e->expr, value);
    here = both(n, here, n->unit.v[a->unit].happens);
    if (w->v.v[i] + 1 != own) here = both(n, here, earlier(n, a->unit, r->unit));
    any = either(n, any, both(n, here, nothing_between(n, w->v.v[i] + 1, read, w)));
  }
  if (!own && !only) {
    hd_expr_ref value = value_at_start(n, r->e);
    hd_expr_ref here = value ? hd_expr_binary(n->x, HD_EXPR_EQ, r->e->expr, value) : truth(n, true);
    any = either(n, any, both(n, here, nothing_between(n, 0, read, w)));
  }
  require(n, implies(n, n->unit.v[r->unit].happens, any));
}

static void add_reads(struct encoding *n) {
  struct writes w = {0};
  for (uint32_t i = 0; i < n->access.n; i++)
    if (n->access.v[i].e->kind == HD_CC_READ) add_read(n, i, &w);
  hd_vec_free(&w.v);
}

/* ---- PO and ST ---- */

/* The branches of a thread from one of its events to another. */
static hd_expr_ref conditions(struct encoding *n, const struct hd__path *p, const struct list *l,
                              uint32_t from, uint32_t to) {
  hd_expr_ref e = truth(n, true);
  for (uint32_t i = from; i < to; i++)
    if (nth(p, l, i)->kind == HD_CC_BRANCH) e = both(n, e, substituted(n, nth(p, l, i)->expr));
  return e;
}

/* One of the units of this kind about the thread comes before unit i. `of`: the thread that they are of, or any. */
static hd_expr_ref one_before(struct encoding *n, unsigned kind, unsigned child, uint32_t i) {
  hd_expr_ref any = truth(n, false);
  for (uint32_t k = 0; k < n->unit.n; k++) {
    const struct unit *u = &n->unit.v[k];
    const struct hd_cc_event *e = event_of(u, u->from);
    if (e->kind != kind || (kind == HD_CC_CREATE ? e->child : e->thread) != child) continue;
    any = either(n, any, both(n, u->happens, earlier(n, k, i)));
  }
  return any;
}

static bool in_prefix(const struct encoding *n, unsigned kind, unsigned child) {
  for (uint32_t i = 0; i < n->q->fixed; i++) {
    const struct hd_cc_event *e = &n->q->run->event[i];
    if (e->kind == kind && (kind == HD_CC_CREATE ? e->child : e->thread) == child) return true;
  }
  return false;
}

static bool is_created(const struct encoding *n, unsigned thread) {
  for (uint32_t i = 0; i < n->q->run->n; i++)
    if (n->q->run->event[i].kind == HD_CC_CREATE && n->q->run->event[i].child == thread) return true;
  for (uint32_t i = 0; n->q->other && i < n->q->other->n; i++)
    if (n->q->other->event[i].kind == HD_CC_CREATE && n->q->other->event[i].child == thread) return true;
  return false;
}

/* What is not known keeps the order that it had. */
static void add_unknown(struct encoding *n, uint32_t i) {
  const struct unit *u = &n->unit.v[i];
  const struct hd_cc_event *e = event_of(u, u->from);
  for (uint32_t k = 0; k < n->unit.n; k++) {
    const struct unit *v = &n->unit.v[k];
    const struct hd_cc_event *d = event_of(v, v->from);
    if (d->kind != HD_CC_OTHER || d->object != e->object || v->other || v->thread == u->thread) continue;
    if (v->list->v.v[v->from] > u->list->v.v[u->from]) continue;
    require(n, implies(n, u->happens, both(n, v->happens, earlier(n, k, i))));
  }
}

static void add_program_order(struct encoding *n) {
  for (uint32_t i = 0; i < n->unit.n; i++) {
    const struct unit *u = &n->unit.v[i];
    const struct hd_cc_event *e = event_of(u, u->from);
    hd_expr_ref needs = both(n, conditions(n, u->path, u->list, u->branches, u->from),
                             conditions(n, u->path, u->list, u->from, u->to));
    if (u->pred) {
      needs = both(n, needs, n->unit.v[u->pred - 1].happens);
      require(n, hd_expr_binary(n->x, HD_EXPR_ULT, n->unit.v[u->pred - 1].time, u->time));
    } else if (!n->fixed[u->thread] && is_created(n, u->thread) && !in_prefix(n, HD_CC_CREATE, u->thread)) {
      needs = both(n, needs, one_before(n, HD_CC_CREATE, u->thread, i));
    }
    if (e->kind == HD_CC_JOIN && !in_prefix(n, HD_CC_END, e->child))
      needs = both(n, needs, one_before(n, HD_CC_END, e->child, i));
    require(n, implies(n, u->happens, needs));
    if (e->kind == HD_CC_OTHER && e->object && !u->other) add_unknown(n, i);
  }
  for (unsigned t = 0; t < HD_CC_THREADS; t++)
    if (n->fork[t][0] && n->fork[t][1])
      require(n, hd_expr_not(n->x, both(n, n->unit.v[n->fork[t][0] - 1].happens,
                                        n->unit.v[n->fork[t][1] - 1].happens)));
}

/* ---- locks ---- */

/* The section that the way of a thread is in. */
static struct section *open_section(struct encoding *n, unsigned thread, uint64_t lock, uint32_t acquired) {
  for (size_t i = 0; i < n->section.n; i++) {
    struct section *s = &n->section.v[i];
    if (s->thread == thread && s->lock == lock && s->from == acquired) return s;
  }
  hd_vec_push(&n->section, ((struct section){.lock = lock, .thread = (uint16_t)thread, .from = acquired}));
  return &n->section.v[n->section.n - 1];
}

/* Sections of one lock on one way of a thread. */
static void add_way(struct encoding *n, unsigned thread, unsigned way, uint64_t lock) {
  HD_VEC(uint32_t) chain = {0}; /* units plus 1, from the end */
  int depth = 0;
  uint32_t acquired = 0;
  for (uint32_t i = 0; i < n->fixed[thread]; i++) {
    const struct hd_cc_event *e = nth(n->q->run, &n->list[0][thread], i);
    if (e->object == lock && (e->kind == HD_CC_LOCK || e->kind == HD_CC_UNLOCK))
      depth += e->kind == HD_CC_LOCK ? 1 : -1;
  }
  if (depth > 0) open_section(n, thread, lock, 0);
  for (uint32_t u = n->last[thread][way]; u; u = n->unit.v[u - 1].pred) hd_vec_push(&chain, u);
  for (size_t i = chain.n; i-- > 0;) {
    const struct unit *u = &n->unit.v[chain.v[i] - 1];
    const struct hd_cc_event *e = event_of(u, u->from);
    if (e->object != lock) continue;
    if (e->kind == HD_CC_LOCK && depth++ == 0) {
      acquired = chain.v[i];
      open_section(n, thread, lock, acquired);
    }
    if (e->kind == HD_CC_UNLOCK && --depth == 0)
      open_section(n, thread, lock, acquired)->release[way] = chain.v[i];
  }
  hd_vec_free(&chain);
}

/* Section a ends before section b begins. */
static hd_expr_ref ends_before(struct encoding *n, const struct section *a, const struct section *b) {
  hd_expr_ref any = truth(n, false);
  for (unsigned way = 0; way < 2 && b->from; way++)
    if (a->release[way])
      any = either(
          n, any,
          both(n, n->unit.v[a->release[way] - 1].happens, earlier(n, a->release[way] - 1, b->from - 1)));
  return any;
}

static void add_locks(struct encoding *n) {
  HD_VEC(uint64_t) lock = {0};
  for (uint32_t i = 0; i < n->unit.n; i++) {
    const struct hd_cc_event *e = event_of(&n->unit.v[i], n->unit.v[i].from);
    if (e->kind == HD_CC_LOCK) hd_vec_push(&lock, e->object);
  }
  if (lock.n) qsort(lock.v, lock.n, sizeof *lock.v, hd_by_number);
  for (size_t i = 0; i < lock.n; i++) {
    if (i && lock.v[i] == lock.v[i - 1]) continue;
    for (unsigned t = 0; t < HD_CC_THREADS; t++) {
      add_way(n, t, 0, lock.v[i]);
      if (n->last[t][1]) add_way(n, t, 1, lock.v[i]);
    }
  }
  for (size_t i = 0; i < n->section.n; i++)
    for (size_t k = i + 1; k < n->section.n; k++) {
      const struct section *a = &n->section.v[i], *b = &n->section.v[k];
      if (a->lock != b->lock || a->thread == b->thread) continue;
      hd_expr_ref happen = truth(n, true);
      if (a->from) happen = both(n, happen, n->unit.v[a->from - 1].happens);
      if (b->from) happen = both(n, happen, n->unit.v[b->from - 1].happens);
      require(n, implies(n, happen, either(n, ends_before(n, a, b), ends_before(n, b, a))));
    }
  hd_vec_free(&lock);
}

/* ---- BR ---- */

static void add_target(struct encoding *n) {
  const struct hd__path *p = n->q->run;
  const struct hd_cc_event *e = &p->event[n->q->target];
  const struct list *l = &n->list[0][e->thread];
  uint32_t at = p->index[n->q->target], last = n->last[e->thread][0];
  require(n, conditions(n, p, l, last ? n->unit.v[last - 1].to : n->fixed[e->thread], at));
  require(n, substituted(n, e->other ? e->other : hd_expr_not(n->x, e->expr)));
  /* An operation that the branch is a part of is not over: it comes last. */
  bool within = false;
  for (uint32_t i = at + 1; i < l->v.n && !nth(p, l, i)->step; i++) within |= is_access(nth(p, l, i));
  for (uint32_t i = 0; last && within && i < n->unit.n; i++)
    if (i + 1 != last) require(n, implies(n, n->unit.v[i].happens, earlier(n, i, last - 1)));
}

/* ---- the answer ---- */

struct place {
  uint64_t time;
  uint32_t unit;
  uint16_t thread;
};

static int by_time(const void *a, const void *b) {
  const struct place *x = a, *y = b;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  return (x->unit > y->unit) - (x->unit < y->unit);
}

static void read_answer(struct encoding *n, struct hd_cc *c) {
  HD_VEC(struct place) place = {0};
  c->step.n = 0;
  for (uint32_t i = 0; i < n->q->fixed; i++)
    if (n->q->run->event[i].step) hd_vec_push(&c->step, n->q->run->event[i].thread);
  for (uint32_t i = 0; i < n->unit.n; i++) {
    const struct unit *u = &n->unit.v[i];
    if (hd_expr_eval(n->x, u->happens, &c->inputs))
      hd_vec_push(&place, ((struct place){hd_expr_eval(n->x, u->time, &c->inputs), i, u->thread}));
  }
  if (place.n) qsort(place.v, place.n, sizeof *place.v, by_time);
  for (size_t i = 0; i < place.n; i++) hd_vec_push(&c->step, place.v[i].thread);
  hd_vec_free(&place);
}

enum hd_smt_answer hd__question_ask(struct hd_cc *c, const struct hd__question *q,
                                    struct hd__symbols *symbols) {
  struct encoding n = {.q = q, .x = c->x, .symbols = symbols};
  enum hd_smt_answer answer = HD_SMT_UNSAT;
  add_operations(&n);
  if (!n.impossible) {
    force(&n, n.last[q->run->event[q->target].thread][0]);
    for (uint32_t i = 0; q->other && i < n.unit.n; i++) {
      const struct unit *u = &n.unit.v[i];
      for (uint32_t k = u->from; k < u->to; k++)
        if (event_of(u, k) == q->seen || (!u->other && event_of(u, k) == &q->run->event[q->read]))
          force(&n, i + 1);
    }
    add_prefix(&n);
    add_accesses(&n);
    add_program_order(&n);
    add_reads(&n);
    add_locks(&n);
    add_target(&n);
    c->inputs.n = 0;
    for (size_t i = 0; i < q->inputs->n; i++) hd_values_set(&c->inputs, (uint32_t)i, q->inputs->v[i]);
    answer = hd_solver_check(c->solver, n.condition.v, n.condition.n, &c->inputs, NULL);
    if (answer == HD_SMT_SAT) read_answer(&n, c);
  }
  for (unsigned t = 0; t < HD_CC_THREADS; t++) {
    hd_vec_free(&n.list[0][t].v);
    hd_vec_free(&n.list[1][t].v);
  }
  hd_vec_free(&n.unit);
  hd_vec_free(&n.access);
  hd_vec_free(&n.section);
  hd_vec_free(&n.with);
  hd_vec_free(&n.condition);
  return answer;
}

void hd__symbols_free(struct hd__symbols *s) {
  for (size_t i = 0; i < sizeof s->of / sizeof *s->of; i++) hd_vec_free(&s->of[i]);
}

/* bounded.c: the search by bounded interference (concolic.h). Runs in the supervisor.
 *
 * After Razavi 2014, algorithms 3 to 5, with these differences:
 *  - Algorithm 3, line 22 combines a new write with unrealizable scenarios of smaller degrees only, which loses some
 *    (FIX-6 of our notes: one that was given up before the write was known is never combined with it). Here all are.
 *  - The tree of a thread has one node for an event, whatever the reads before it saw; scenarios say what reads see. So a
 *    scenario is a few numbers, equal scenarios are found by one look-up, and no hypothetical events need nodes.
 *  - Each thread runs alone as soon as it was created in some execution: else one that fails would hide what others do.
 *    For each read that saw another thread's write there is a scenario in which it does not.
 *  - After the steps of a plan and its last thread, the others go on to their ends; what is seen then counts.
 *
 * Invariants
 *  1. A scenario is looked at once (`all` has them). An execution marks those that it was: they need not be executed.
 *  2. Every pair of an unrealizable scenario's read, and a write of another thread to the same memory, has been combined
 *     when the second of both becomes known, or waits in `later` for a degree that is not done.
 *  3. Scenarios in which threads run one after the other come first, whatever their degree, if the search ends when every
 *     outcome is covered, and theirs is not yet: each interference is a thread's first read of a memory location, and sees
 *     the last write of another thread. There are few of them, and what needs many interferences often needs no more than
 *     that. */
#include "concolic/concolic_int.h"

#include <stdlib.h>
#include <string.h>

#define VARIANTS 16 /* ways to leave critical sections, of one scenario */

struct stuck { /* an unrealizable scenario and one of its reads */
  uint32_t scenario, read;
};
struct queue {
  HD_VEC(uint32_t) v;
  size_t head;
};
struct of_var {           /* what is to be combined on a memory location */
  HD_VEC(uint32_t) write; /* scenarios whose sink is a write */
  HD_VEC(struct stuck) stuck;
};

/* A scenario, one of its reads, and the scenario of a write that the read may see. */
struct merger {
  uint32_t scenario, read, write;
};
struct later {
  HD_VEC(struct merger) v;
  size_t head;
};

struct bounded {
  struct hd_cc base;
  struct hd__forest forest;
  struct hd__scenarios all;
  HD_VEC(struct of_var) var;
  struct of_var thread[HD_CC_THREADS]; /* the same of the ends of a thread, and of those that wait for it */
  struct queue *hot, *cold;            /* for each degree: with sinks that are not covered, and with others */
  struct queue *serial;                /* for each degree: ahead of their turn (invariant 3) */
  struct later *later; /* for each degree: what has that degree at least, once it is combined */
  size_t alone;        /* of cold[0]: those before it were looked at by pop_alone */
  unsigned degree;     /* smaller ones are done */
  unsigned above;      /* scenarios of a degree above the limit exist */
  uint32_t running;    /* the scenario of the last plan, plus 1 */
  bool guessed;        /* its inputs depend on initial values that were not known */
};

static struct hd_cc *create(const struct hd_cc_options *o) {
  struct bounded *c = hd_alloc(sizeof *c);
  hd__forest_init(&c->forest);
  hd__scenarios_init(&c->all);
  c->hot = hd_alloc((o->max_degree + 1) * sizeof *c->hot);
  c->serial = hd_alloc((o->max_degree + 1) * sizeof *c->serial);
  c->cold = hd_alloc((o->max_degree + 1) * sizeof *c->cold);
  c->later = hd_alloc((o->max_degree + 1) * sizeof *c->later);
  return &c->base;
}

static void destroy(struct hd_cc *base) {
  struct bounded *c = (struct bounded *)base;
  for (unsigned k = 0; k <= c->base.o.max_degree; k++) {
    hd_vec_free(&c->hot[k].v);
    hd_vec_free(&c->cold[k].v);
    hd_vec_free(&c->serial[k].v);
    hd_vec_free(&c->later[k].v);
  }
  for (size_t i = 0; i < c->var.n; i++) {
    hd_vec_free(&c->var.v[i].write);
    hd_vec_free(&c->var.v[i].stuck);
  }
  for (size_t i = 0; i < HD_CC_THREADS; i++) {
    hd_vec_free(&c->thread[i].write);
    hd_vec_free(&c->thread[i].stuck);
  }
  hd_vec_free(&c->var);
  hd__forest_fini(&c->forest);
  hd__scenarios_fini(&c->all);
  free(c->hot);
  free(c->cold);
  free(c->serial);
  free(c->later);
}

static const struct hd__node *node(const struct bounded *c, uint32_t n) { return &c->forest.node.v[n]; }

/* Whether it is made for code that is not covered. */
static bool is_hot(const struct bounded *c, const struct hd__scenario *s) {
  const struct hd_cc_event *e = &node(c, s->sink)->e;
  if (c->base.o.no_priority || s->kind != HD__SINK_BRANCH || !e->counts) return s->kind != HD__SINK_BRANCH;
  int degree = hd__covered_with(&c->base, e);
  return degree < 0 || (c->base.o.until_full && (uint32_t)degree > s->nedge);
}

/* Invariant 3. */
static bool is_serial(const struct bounded *c, const struct hd__scenario *s) {
  for (uint32_t i = 0; i < s->nedge; i++)
    if (!node(c, s->edge[i].read)->outer || !node(c, s->edge[i].write)->outer) return false;
  return c->base.o.until_full;
}

/* ---- new scenarios ---- */

static void push(struct bounded *c, const struct hd__scenario *s) {
  bool is_new;
  if (s->nedge > c->base.o.max_degree) {
    c->above = 1;
    return;
  }
  uint32_t at = hd__scenarios_save(&c->all, s, &is_new);
  if (c->base.o.no_cache ? *hd__scenarios_mark(&c->all, at) == HD__OBSERVED
                         : *hd__scenarios_mark(&c->all, at))
    return;
  *hd__scenarios_mark(&c->all, at) = HD__QUEUED;
  bool hot = is_hot(c, s);
  if (hot && (s->kind == HD__SINK_BRANCH || s->kind == HD__SINK_CREATE) && is_serial(c, s)) {
    hd_vec_push(&c->serial[s->nedge].v, at);
    return;
  }
  hd_vec_push(hot ? &c->hot[s->nedge].v : &c->cold[s->nedge].v, at);
  if (s->nedge < c->degree) c->degree = s->nedge;
}

/* Leaves of other threads than the sink's move on to where the thread holds no lock. Pushes all ways to do that. */
static void push_unlocked(struct bounded *c, struct hd__scenario *s, uint32_t from, unsigned *variants) {
  unsigned sink = node(c, s->sink)->e.thread;
  while (from < s->nleaf && (node(c, s->leaf[from])->e.thread == sink || !node(c, s->leaf[from])->held))
    from++;
  if (from == s->nleaf) {
    push(c, s);
    ++*variants;
    return;
  }
  uint32_t leaf = s->leaf[from];
  for (uint32_t n = node(c, leaf)->child; n && *variants < VARIANTS; n = node(c, n)->sibling) {
    if (!node(c, n)->seen) continue;
    s->leaf[from] = n;
    push_unlocked(c, s, from, variants);
  }
  if (!node(c, leaf)->child) { /* it was never seen to release the lock */
    s->leaf[from] = leaf;
    push_unlocked(c, s, from + 1, variants);
  }
  s->leaf[from] = leaf;
}

/* What an execution has shown, with other threads moved on: one that holds a lock would keep the sink's thread from it. */
static void push_shown(struct bounded *c, struct hd__scenario *s) {
  unsigned variants = 0;
  push_unlocked(c, s, 0, &variants);
  if (variants >= VARIANTS) c->base.stats.too_large++;
}

static void combine_now(struct bounded *c, const struct merger *m) {
  struct hd__scenario a, b, out;
  hd__scenarios_load(&c->all, m->scenario, &a);
  hd__scenarios_load(&c->all, m->write, &b);
  if (a.nedge + b.nedge + 1 > HD_CC_EDGES) {
    c->base.stats.too_large++;
    return;
  }
  if (!hd__scenario_merge(&c->forest, &a, &b, m->read, &out)) return;
  if (out.kind == HD__SINK_BEFORE_JOIN) out.kind = HD__SINK_JOIN;
  push_shown(c, &out);
}

static bool may_be_serial(const struct bounded *c, uint32_t at) {
  struct hd__scenario s;
  hd__scenarios_load(&c->all, at, &s);
  return is_serial(c, &s) && (s.kind != HD__SINK_BRANCH || is_hot(c, &s));
}

/* Both have their interferences and a new one. There are many more of them than are ever looked at: they wait until their
 * degree comes. */
static void combine(struct bounded *c, uint32_t scenario, uint32_t read, uint32_t write) {
  struct merger m = {scenario, read, write};
  uint32_t a, b, joins = node(c, read)->e.kind != HD_CC_READ; /* then there is no new one */
  uint32_t writes = hd__scenarios_sink(&c->all, write, &b);
  if (node(c, writes)->e.thread == node(c, read)->e.thread) return;
  hd__scenarios_sink(&c->all, scenario, &a);
  uint32_t degree = (a > b ? a : b) + !joins;
  bool serial = c->base.o.until_full && !joins && node(c, read)->outer && node(c, writes)->outer;
  if (degree > c->base.o.max_degree)
    c->above = 1;
  else if (degree <= c->degree || (serial && may_be_serial(c, scenario) && may_be_serial(c, write)))
    combine_now(c, &m);
  else
    hd_vec_push(&c->later[degree].v, m);
}

static struct of_var *of_var(struct bounded *c, uint32_t var) {
  while (c->var.n <= var) hd_vec_push(&c->var, ((struct of_var){0}));
  return &c->var.v[var];
}

static void add_stuck(struct bounded *c, struct of_var *v, uint32_t scenario, uint32_t read) {
  hd_vec_push(&v->stuck, ((struct stuck){scenario, read}));
  for (size_t i = 0; i < v->write.n; i++) combine(c, scenario, read, v->write.v[i]);
}

static void add_write(struct bounded *c, struct of_var *v, uint32_t scenario) {
  hd_vec_push(&v->write, scenario);
  for (size_t i = 0; i < v->stuck.n; i++) combine(c, v->stuck.v[i].scenario, v->stuck.v[i].read, scenario);
}

/* ---- what an execution shows ---- */

struct trace {
  const struct hd_cc_event *event;
  size_t n;
  unsigned nthreads;
  uint32_t *node;  /* of each event */
  uint32_t *depth; /* its position in its thread, from 1 */
  uint32_t
      *need; /* of each event: for each thread, how many of its events it follows from, itself included */
  size_t *source;                       /* of reads: the write's event plus 1; 0: the initial value */
  bool *interferes;                     /* that write is an interference */
  HD_VEC(uint32_t) path[HD_CC_THREADS]; /* nodes */
  HD_VEC(size_t) at[HD_CC_THREADS];     /* events */
  HD_VEC(size_t) interfered;            /* reads */
};

static size_t last_write(const struct trace *t, size_t before, uint32_t var, const struct bounded *c) {
  for (size_t i = before; i-- > 0;)
    if (t->event[i].kind == HD_CC_WRITE && node(c, t->node[i])->var == var) return i + 1;
  return 0;
}

/* Whether thread `reader` has from its start what another thread did at `event`. */
static bool is_inherited(const struct trace *t, const size_t *created, unsigned reader, size_t event) {
  for (unsigned of = reader; created[of];) {
    size_t create = created[of] - 1;
    unsigned parent = t->event[create].thread;
    if (t->event[event].thread == parent && event < create) return true;
    if (parent == of) return false;
    of = parent;
  }
  return false;
}

static void check_value(struct bounded *c, const struct hd_cc_event *read, const struct hd_cc_event *write) {
  struct hd__var *v = &c->forest.var.v[hd__forest_var(&c->forest, read->object, read->size)];
  if (write) {
    c->base.stats.unseen += write->value != read->value;
  } else if (!v->has_initial) {
    v->has_initial = true;
    v->initial = read->value;
  } else {
    c->base.stats.unseen += v->initial != read->value;
  }
}

static void load(struct bounded *c, struct trace *t, const struct hd_cc_event *event, size_t n) {
  size_t created[HD_CC_THREADS] = {0}, ended[HD_CC_THREADS] = {0};
  memset(t, 0, sizeof *t);
  t->event = event;
  t->n = n;
  for (size_t i = 0; i < n; i++)
    if (event[i].thread >= t->nthreads) t->nthreads = event[i].thread + 1u;
  t->node = hd_alloc((n + 1) * sizeof *t->node);
  t->depth = hd_alloc((n + 1) * sizeof *t->depth);
  t->source = hd_alloc((n + 1) * sizeof *t->source);
  t->interferes = hd_alloc(n + 1);
  t->need = hd_alloc((n + 1) * t->nthreads * sizeof *t->need);
  for (size_t i = 0; i < n; i++) {
    const struct hd_cc_event *e = &event[i];
    unsigned th = e->thread;
    size_t before = t->path[th].n;
    uint32_t parent = before ? t->path[th].v[before - 1] : hd__forest_root(&c->forest, th);
    uint32_t *need = t->need + i * t->nthreads;
    t->node[i] = hd__forest_add(&c->forest, parent, e);
    c->forest.node.v[t->node[i]].seen = true;
    size_t up = before ? t->at[th].v[before - 1] + 1 : created[th];
    if (up) memcpy(need, t->need + (up - 1) * t->nthreads, t->nthreads * sizeof *need);
    hd_vec_push(&t->path[th], t->node[i]);
    hd_vec_push(&t->at[th], i);
    need[th] = t->depth[i] = (uint32_t)t->path[th].n;
    size_t from = 0;
    if (e->kind == HD_CC_READ) {
      t->source[i] = last_write(t, i, node(c, t->node[i])->var, c);
      check_value(c, e, t->source[i] ? &event[t->source[i] - 1] : NULL);
      if (t->source[i] && event[t->source[i] - 1].thread != th)
        t->interferes[i] = !is_inherited(t, created, th, t->source[i] - 1);
      if (t->interferes[i]) {
        from = t->source[i];
        hd_vec_push(&t->interfered, i);
      }
    }
    if (e->kind == HD_CC_CREATE && e->child < HD_CC_THREADS) created[e->child] = i + 1;
    if (e->kind == HD_CC_END) ended[th] = i + 1;
    if (e->kind == HD_CC_JOIN && e->child < HD_CC_THREADS) from = ended[e->child];
    if (e->kind == HD_CC_OTHER && e->step) c->base.stats.others++;
    if (!from) continue;
    const uint32_t *other = t->need + (from - 1) * t->nthreads;
    for (unsigned k = 0; k < t->nthreads; k++)
      if (need[k] < other[k]) need[k] = other[k];
  }
}

static void unload(struct trace *t) {
  for (unsigned i = 0; i < HD_CC_THREADS; i++) {
    hd_vec_free(&t->path[i]);
    hd_vec_free(&t->at[i]);
  }
  hd_vec_free(&t->interfered);
  free(t->node);
  free(t->depth);
  free(t->source);
  free(t->interferes);
  free(t->need);
}

/* The scenario of everything that an event follows from, but the event itself is `sink`. False: it is too large. */
static bool closure(struct bounded *c, const struct trace *t, const uint32_t *need, unsigned thread,
                    uint32_t sink, enum hd__sink kind, struct hd__scenario *out) {
  out->sink = sink;
  out->kind = kind;
  out->nleaf = out->nedge = 0;
  for (unsigned i = 0; i < t->nthreads; i++) {
    if (i != thread && !need[i]) continue;
    out->leaf[out->nleaf++] = i == thread ? sink : t->path[i].v[need[i] - 1];
  }
  for (size_t i = 0; i < t->interfered.n; i++) {
    size_t r = t->interfered.v[i];
    unsigned th = t->event[r].thread;
    /* the sink itself, if it is a read, sees no other thread's write */
    if (t->depth[r] > need[th] || (kind == HD__SINK_READ && th == thread && t->depth[r] == need[th]))
      continue;
    if (out->nedge == HD_CC_EDGES) {
      c->base.stats.too_large++;
      return false;
    }
    struct hd__edge e = {t->node[r], t->node[t->source[r] - 1]};
    uint32_t k = out->nedge++;
    for (; k > 0 && out->edge[k - 1].read > e.read; k--) out->edge[k] = out->edge[k - 1];
    out->edge[k] = e;
  }
  return true;
}

static void observed(struct bounded *c, const struct hd__scenario *s) {
  bool is_new;
  uint32_t at = hd__scenarios_save(&c->all, s, &is_new);
  *hd__scenarios_mark(&c->all, at) = HD__OBSERVED;
}

/* Where the thread releases a lock that it holds after `from` of its events, and a later event of another thread below
 * `need` takes; 0: there is no such lock. */
static uint32_t release_after(const struct trace *t, unsigned thread, uint32_t from, const uint32_t *need) {
  for (uint32_t k = from; k < t->at[thread].n; k++) {
    const struct hd_cc_event *e = &t->event[t->at[thread].v[k]];
    if (e->kind != HD_CC_UNLOCK) continue;
    bool held = false, wanted = false;
    for (uint32_t j = 0; j < k; j++) {
      const struct hd_cc_event *b = &t->event[t->at[thread].v[j]];
      if (b->object != e->object || (b->kind != HD_CC_LOCK && b->kind != HD_CC_UNLOCK)) continue;
      if (j < from) held = b->kind == HD_CC_LOCK;
    }
    for (unsigned o = 0; o < t->nthreads && held && !wanted; o++)
      for (uint32_t j = 0; o != thread && j < need[o] && !wanted; j++) {
        size_t i = t->at[o].v[j];
        wanted = i > t->at[thread].v[k] && t->event[i].kind == HD_CC_LOCK && t->event[i].object == e->object;
      }
    if (wanted) return k + 1;
  }
  return 0;
}

/* Interferences without which the event does not come: also those of critical sections that had to end before it. */
static unsigned interferences(const struct trace *t, size_t event) {
  uint32_t need[HD_CC_THREADS] = {0};
  memcpy(need, t->need + event * t->nthreads, t->nthreads * sizeof *need);
  for (bool grown = true; grown;) {
    grown = false;
    for (unsigned i = 0; i < t->nthreads; i++) {
      uint32_t to = i != t->event[event].thread && need[i] ? release_after(t, i, need[i], need) : 0;
      if (!to) continue;
      grown = true;
      for (unsigned k = 0; k < t->nthreads; k++) {
        uint32_t other = t->need[t->at[i].v[to - 1] * t->nthreads + k];
        if (need[k] < other) need[k] = other;
      }
    }
  }
  unsigned n = 0;
  for (size_t i = 0; i < t->interfered.n; i++)
    n += t->depth[t->interfered.v[i]] <= need[t->event[t->interfered.v[i]].thread];
  return n;
}

static void see_branch(struct bounded *c, const struct trace *t, size_t i) {
  struct hd__scenario s;
  const struct hd_cc_event *e = &t->event[i];
  const uint32_t *need = t->need + i * t->nthreads;
  if (!closure(c, t, need, e->thread, t->node[i], HD__SINK_BRANCH, &s)) return;
  if (e->counts) hd__cover(&c->base, e, (int)interferences(t, i));
  if (e->fixed) return;
  observed(c, &s);
  struct hd_cc_event other = *e;
  other.taken = !e->taken;
  other.expr = e->other ? e->other : hd_expr_not(c->base.x, e->expr);
  other.other = e->expr;
  uint32_t dual = hd__forest_add(&c->forest, node(c, t->node[i])->parent, &other);
  if (!closure(c, t, need, e->thread, dual, HD__SINK_BRANCH, &s)) return;
  push_shown(c, &s);
}

/* What an event follows from by itself, without what it saw of other threads. */
static void needed_before(const struct trace *t, size_t i, uint32_t *need) {
  unsigned th = t->event[i].thread;
  size_t before = t->depth[i] - 1;
  memset(need, 0, HD_CC_THREADS * sizeof *need);
  if (before) {
    memcpy(need, t->need + t->at[th].v[before - 1] * t->nthreads, t->nthreads * sizeof *need);
  } else {
    for (size_t k = 0; k < i; k++)
      if (t->event[k].kind == HD_CC_CREATE && t->event[k].child == th)
        memcpy(need, t->need + k * t->nthreads, t->nthreads * sizeof *need);
  }
  need[th] = t->depth[i];
}

static void see_read(struct bounded *c, const struct trace *t, size_t i) {
  struct hd__scenario s;
  uint32_t need[HD_CC_THREADS];
  needed_before(t, i, need);
  if (!closure(c, t, need, t->event[i].thread, t->node[i], HD__SINK_READ, &s)) return;
  if (t->interferes[i])
    push_shown(c, &s);
  else
    observed(c, &s);
}

/* Writes that are their thread's last ones to that memory. */
static void mark_outer(struct bounded *c, const struct trace *t) {
  for (unsigned th = 0; th < t->nthreads; th++)
    for (size_t i = t->at[th].n; i-- > 0;) {
      struct hd__node *w = &c->forest.node.v[t->path[th].v[i]];
      bool later = w->e.kind != HD_CC_WRITE;
      for (size_t k = i + 1; k < t->at[th].n && !later; k++) {
        const struct hd__node *o = node(c, t->path[th].v[k]);
        later = o->e.kind == HD_CC_WRITE && o->var == w->var;
      }
      if (!later) w->outer = true;
    }
}

static void see_write(struct bounded *c, const struct trace *t, size_t i) {
  struct hd__scenario s;
  bool is_new, ends = t->event[i].kind == HD_CC_END;
  unsigned th = t->event[i].thread;
  if (!closure(c, t, t->need + i * t->nthreads, th, t->node[i], ends ? HD__SINK_END : HD__SINK_WRITE, &s))
    return;
  uint32_t at = hd__scenarios_save(&c->all, &s, &is_new);
  if (is_new) add_write(c, ends ? &c->thread[th] : of_var(c, node(c, s.sink)->var), at);
}

/* Every way in which the other thread may have ended is tried. */
static void see_join(struct bounded *c, const struct trace *t, size_t i) {
  struct hd__scenario s;
  bool is_new;
  unsigned th = t->event[i].thread;
  if (!closure(c, t, t->need + i * t->nthreads, th, t->node[i], HD__SINK_JOIN, &s)) return;
  observed(c, &s);
  uint32_t need[HD_CC_THREADS];
  needed_before(t, i, need);
  if (!closure(c, t, need, th, t->node[i], HD__SINK_BEFORE_JOIN, &s)) return;
  uint32_t at = hd__scenarios_save(&c->all, &s, &is_new);
  if (is_new) add_stuck(c, &c->thread[t->event[i].child], at, t->node[i]);
}

/* The new thread goes on alone. */
static void see_create(struct bounded *c, const struct trace *t, size_t i) {
  struct hd__scenario s;
  const uint32_t *need = t->need + i * t->nthreads;
  if (closure(c, t, need, t->event[i].thread, t->node[i], HD__SINK_CREATE, &s)) push_shown(c, &s);
}

static void observe(struct hd_cc *base, const struct hd_cc_event *event, size_t n) {
  struct bounded *c = (struct bounded *)base;
  struct trace t;
  for (size_t i = 0; i < n; i++)
    if (event[i].thread >= HD_CC_THREADS || event[i].child >= HD_CC_THREADS) {
      n = i;
      c->base.stats.too_large++;
    }
  load(c, &t, event, n);
  for (size_t i = 0; i < n; i++) {
    if (event[i].kind == HD_CC_BRANCH) see_branch(c, &t, i);
    if (event[i].kind == HD_CC_READ) see_read(c, &t, i);
    if (event[i].kind == HD_CC_CREATE) see_create(c, &t, i);
  }
  mark_outer(c, &t);
  for (size_t i = 0; i < n; i++)
    if (event[i].kind == HD_CC_WRITE || event[i].kind == HD_CC_END) see_write(c, &t, i);
  for (size_t i = 0; i < n; i++)
    if (event[i].kind == HD_CC_JOIN) see_join(c, &t, i);
  struct hd__scenario s;
  bool reached = false;
  if (c->running) {
    hd__scenarios_load(&c->all, c->running - 1, &s);
    reached =
        s.kind == HD__SINK_BRANCH && !node(c, s.sink)->e.counts; /* another value that was made concrete */
    for (size_t i = 0; i < n && !reached; i++) reached = t.node[i] == s.sink;
  }
  unload(&t);
  c->base.stats.nodes = c->forest.node.n;
  c->base.stats.overlapping = c->forest.overlapping;
  if (!c->running) return;
  if (reached) {
    c->base.stats.realized++;
  } else if (c->guessed) { /* the execution has shown the initial values */
    *hd__scenarios_mark(&c->all, c->running - 1) = 0;
    push(c, &s);
  } else {
    c->base.stats.diverged++;
  }
  c->running = 0;
}

/* ---- what to execute ---- */

/* The next one that is made for code that is not covered. */
static bool pop_hot(struct bounded *c, struct queue *hot, uint32_t *out) {
  while (hot->head < hot->v.n) {
    struct hd__scenario s;
    *out = hot->v.v[hot->head++];
    hd__scenarios_load(&c->all, *out, &s);
    if (is_hot(c, &s)) return true;
    hd_vec_push(&c->cold[s.nedge].v, *out); /* covered meanwhile */
    if (s.nedge < c->degree) c->degree = s.nedge;
  }
  return false;
}

/* Every outcome is covered, but not by each thread that came to the branch: which memory threads share, and so which
 * branches depend on it, is known only when all of them have been there. Leaves the queue as it is. */
static bool pop_alone(struct bounded *c, uint32_t *out) {
  const struct queue *cold = &c->cold[0];
  while (c->alone < cold->v.n) {
    struct hd__scenario s;
    *out = cold->v.v[c->alone++];
    hd__scenarios_load(&c->all, *out, &s);
    if (*hd__scenarios_mark(&c->all, *out) == HD__OBSERVED || s.kind != HD__SINK_BRANCH) continue;
    const struct hd_cc_event *e = &node(c, s.sink)->e;
    if (e->counts && !hd__covered_by(&c->base, e)) return true;
  }
  return false;
}

static bool pop(struct bounded *c, uint32_t *out) {
  for (unsigned k = 0; k <= c->base.o.max_degree; k++)
    if (pop_hot(c, &c->serial[k], out)) return true;
  if (c->base.o.until_full && hd__all_covered(&c->base)) return pop_alone(c, out);
  for (; c->degree <= c->base.o.max_degree; c->degree++) {
    struct queue *cold = &c->cold[c->degree];
    struct later *later = &c->later[c->degree];
    for (;;) {
      if (pop_hot(c, &c->hot[c->degree], out)) return true;
      if (later->head == later->v.n) break;
      struct merger m = later->v.v[later->head++];
      combine_now(c, &m);
    }
    if (cold->head < cold->v.n) {
      *out = cold->v.v[cold->head++];
      return true;
    }
  }
  return false;
}

/* Interferences are added to an unrealizable scenario, for the reads that keep it from being realizable. */
static void extend(struct bounded *c, const struct hd__case *k, uint32_t scenario, struct hd__reads *reads) {
  if (c->base.o.no_core) {
    reads->n = 0;
    for (uint32_t i = 0; i < k->node.n; i++)
      if (k->local.v[i]) hd_vec_push(reads, k->node.v[i]);
  }
  if (!reads->n) c->base.stats.dropped++;
  for (size_t i = 0; i < reads->n; i++)
    add_stuck(c, of_var(c, node(c, reads->v[i])->var), scenario, reads->v[i]);
}

/* Whether it is realizable; then c->base.inputs and c->base.step say how. */
static bool realize(struct bounded *c, uint32_t scenario, const struct hd__scenario *s) {
  struct hd__case k;
  struct hd__reads reads = {0};
  hd__case_init(&k, &c->forest, s);
  enum hd__answer order = hd__order(&k, false), inputs = HD__NO;
  if (order == HD__NO) {
    c->base.stats.no_order++;
    if (hd__order(&k, true) == HD__NO)
      c->base.stats.dropped++;
    else {
      hd__order_reads(&k, &reads);
      extend(c, &k, scenario, &reads);
    }
  } else if (order == HD__YES) {
    c->base.inputs.n = 0;
    c->guessed = false;
    inputs = hd__inputs(&k, c->base.x, c->base.solver, &c->base.inputs, &reads, &c->guessed);
    if (inputs == HD__NO) {
      c->base.stats.no_inputs++;
      extend(c, &k, scenario, &reads);
    }
  }
  bool yes = order == HD__YES && inputs == HD__YES;
  if (order == HD__UNKNOWN || inputs == HD__UNKNOWN) c->base.stats.unknown++;
  c->base.step.n = 0;
  for (size_t i = 0; yes && i < k.order.n; i++) {
    const struct hd_cc_event *e = &node(c, k.node.v[k.order.v[i]])->e;
    if (e->step) hd_vec_push(&c->base.step, e->thread);
  }
  hd_vec_free(&reads);
  hd__case_fini(&k);
  return yes;
}

static enum hd_cc_state next(struct hd_cc *base, struct hd_cc_plan *out, double deadline) {
  struct bounded *c = (struct bounded *)base;
  uint32_t at;
  while (pop(c, &at)) {
    struct hd__scenario s;
    if (*hd__scenarios_mark(&c->all, at) == HD__OBSERVED) continue;
    hd__scenarios_load(&c->all, at, &s);
    c->base.stats.scenarios++;
    if (deadline > 0 && hd_now() >= deadline) return HD_CC_LATE;
    if (!realize(c, at, &s)) continue;
    c->base.stats.executions++;
    c->running = at + 1;
    const struct hd_cc_event *sink = &node(c, s.sink)->e;
    *out = (struct hd_cc_plan){.step = c->base.step.v,
                               .nsteps = c->base.step.n,
                               .tail = s.kind == HD__SINK_CREATE ? sink->child : sink->thread,
                               .inputs = &c->base.inputs,
                               .degree = s.nedge};
    return HD_CC_GOES_ON;
  }
  if (c->base.o.until_full && hd__all_covered(base)) return HD_CC_FULL;
  return c->above ? HD_CC_LIMIT : HD_CC_MAX;
}

const struct hd__driver hd__bounded = {HD_CC_BOUNDED, create, destroy, observe, next};

/* strategy_optimal.c: one execution per happens-before class. Runs in the tested process; all its memory is in
 * the search area, so a new process goes on where the last one died.
 *
 * Optimal-DPOR with wakeup trees: Abdulla, Aronis, Jonsson, Sagonas, "Source Sets: A Foundation for Optimal
 * Dynamic Partial Order Reduction", JACM 64(4), 2017, section 6. Differences:
 *  - Outcomes of choices are part of an event: another outcome is inserted as if the event raced with itself.
 *  - Operations that never ran (a lock that was never obtained, a thread the end of the process cut off) race
 *    like executed ones (trace.c, hd__trace_end).
 *
 * Invariants
 *  1. node[k] describes the state after the first k steps of the current execution; its sleep list holds what
 *     has been explored from there, with the outcome it had.
 *  2. A thread asleep at a node is not run before something dependent on its operation was.
 *  3. Every sequence in a wakeup tree leads to an execution that no other branch leads to: no execution is
 *     ever given up half-way (status.blocked stays 0).
 *  4. Nothing in the trees changes while an execution runs, so it can be tried again from the start. */
#include "explore/explore_int.h"

/* A pending branch: a sequence of events to follow, as a tree of common prefixes. */
struct wut {
  struct hd_op op;
  uint16_t choice;
  uint16_t flags;      /* HD_EV_*; as it was seen */
  uint32_t any_choice; /* the outcome of the choice does not matter */
  struct wut *child, *next;
};

struct sleeper {
  struct hd_op op;
  uint16_t choice, nchoices;
  uint16_t flags;
};

struct node {
  uint16_t thread, choice; /* the branch being explored */
  uint8_t fixed_choice;    /* it must have this outcome */
  uint8_t executed;        /* `did` is known */
  struct sleeper did;      /* what the branch turned out to do */
  uint32_t nsleep;
  struct sleeper *sleep; /* allocated on the sleep stack, in the order of the nodes */
  struct wut *branch;    /* of the branch being explored; NULL when it was chosen freely */
  struct wut *list;      /* further branches */
};

struct optimal {
  uint32_t ready;   /* memory is laid out */
  uint32_t depth;   /* nodes fixed for the next execution; node[depth-1].branch guides from there on */
  uint32_t at;      /* steps of the execution under way */
  uint32_t running; /* nodes in use: max(depth, at) */
  uint32_t complete;
  uint64_t in_flight; /* number of the execution under way, 0 between them */
  struct wut *guide;  /* pending branches of the node to come */
  struct node *node;
  uint32_t node_cap;
  struct sleeper *sleep_next, *sleep_end;
  struct wut *wut_free, *wut_next, *wut_end;
};

static struct hd_trace trace;
static uint32_t *seq; /* scratch: a sequence being built, as event numbers */

static struct optimal *state(struct hd_search *s) { return (struct optimal *)s->memory; }

static void lay_out(struct hd_search *s) {
  struct optimal *o = state(s);
  char *m = s->memory + 4096;
  uint64_t size = s->memory_size / 2 - 4096;
  o->node = (struct node *)m;
  o->node_cap = (uint32_t)(size / 8 / sizeof *o->node);
  m += size / 8;
  o->sleep_next = (struct sleeper *)m;
  o->sleep_end = (struct sleeper *)(m + size / 4);
  m += size / 4;
  o->wut_next = (struct wut *)m;
  o->wut_end = (struct wut *)(m + size / 2);
  o->wut_free = NULL;
  o->depth = o->at = o->running = o->complete = 0;
  o->in_flight = 0;
  o->guide = NULL;
  o->ready = 1;
}

/* ---- wakeup trees ---- */

static struct wut *wut_new(struct optimal *o) {
  struct wut *w = o->wut_free;
  if (w) {
    o->wut_free = w->next;
  } else {
    if (o->wut_next == o->wut_end)
      hd_give_up("the search needs more memory than it has: try a smaller program or a sampling strategy");
    w = o->wut_next++;
  }
  *w = (struct wut){0};
  return w;
}

static void wut_delete(struct optimal *o, struct wut *w) {
  while (w) { /* the next sibling is reached through the list; children are put in front */
    struct wut *next = w->next;
    if (w->child) {
      struct wut *last = w->child;
      while (last->next) last = last->next;
      last->next = next;
      next = w->child;
    }
    w->next = o->wut_free;
    o->wut_free = w;
    w = next;
  }
}

/* ---- sequences to be inserted: events of the trace, then one more operation ---- */

struct sequence {
  uint32_t *ev; /* event numbers, in order */
  uint32_t n;
  struct hd_op last;
  const uint32_t *last_pred;
  uint16_t last_choice;
  unsigned last_flags; /* only what cannot be otherwise in the other order */
  int last_fixed;
  uint8_t *taken;  /* events that were found further up in the tree */
  uint32_t *first; /* of each thread: its first event that is left, HD_NONE */
  int last_taken;
};

/* Whether anything left in v happened before the event with that clock: then so did the first of its thread. */
static int has_cause(const struct sequence *v, const uint32_t *clock, unsigned thread) {
  for (uint32_t t = 0; t < trace.nthreads; t++)
    if (v->first[t] != HD_NONE && t != thread && clock[t] >= trace.ev[v->ev[v->first[t]]].index) return 1;
  return 0;
}

/* hd__dependent, with the pairs that have nothing in common sorted out first. */
static inline int depends(const struct hd_op *a, unsigned af, const struct hd_op *b, unsigned bf) {
  unsigned oa = hd_op_object[a->kind], ob = hd_op_object[b->kind];
  if (oa > HD_OBJ_MEMORY && ob > HD_OBJ_MEMORY && ob != HD_OBJ_IO && a->object != b->object &&
      a->aux != b->object && a->object != b->aux && !((af | bf) & HD__EV_STOP) && !a->section && !b->section)
    return 0;
  return hd__dependent(a, af, b, bf);
}

static int depends_on_any(const struct sequence *v, const struct hd_op *op, unsigned flags) {
  for (uint32_t i = 0; i < v->n; i++) {
    const struct hd_ev *e = &trace.ev[v->ev[i]];
    if (!v->taken[i] && depends(&e->op, e->flags, op, flags)) return 1;
  }
  return 0;
}

/* Whether `op` (with its outcome) can come first in v: 0 no; 1 yes, and it is the event `*at` of v (n for the
 * last); 2 yes, and it is not in v. */
static int weak_initial(const struct sequence *v, const struct hd_op *op, unsigned flags, unsigned choice,
                        int any, uint32_t *at) {
  uint32_t i = op->thread < trace.nthreads ? v->first[op->thread] : HD_NONE;
  if (i != HD_NONE) {
    const struct hd_ev *e = &trace.ev[v->ev[i]];
    if (!any && e->nchoices > 1 && e->choice != choice) return 0;
    *at = i;
    return !has_cause(v, e->clock, op->thread);
  }
  if (!v->last_taken && v->last.thread == op->thread) {
    if (!any && v->last_fixed && v->last_choice != choice) return 0;
    *at = v->n;
    return !has_cause(v, v->last_pred, op->thread) && !depends_on_any(v, &v->last, v->last_flags);
  }
  if (!v->last_taken && depends(&v->last, v->last_flags, op, flags)) return 0;
  return depends_on_any(v, op, flags) ? 0 : 2;
}

static void take(struct sequence *v, uint32_t at) {
  if (at == v->n) {
    v->last_taken = 1;
    return;
  }
  unsigned thread = trace.ev[v->ev[at]].op.thread;
  v->taken[at] = 1;
  while (++at < v->n && trace.ev[v->ev[at]].op.thread != thread) continue;
  v->first[thread] = at < v->n ? at : HD_NONE;
}

static struct wut *chain(struct optimal *o, const struct sequence *v) {
  struct wut *first = NULL, **tail = &first;
  for (uint32_t i = 0; i < v->n; i++) {
    if (v->taken[i]) continue;
    const struct hd_ev *e = &trace.ev[v->ev[i]];
    struct wut *w = wut_new(o);
    w->op = e->op;
    w->choice = e->choice;
    w->flags = e->flags;
    w->any_choice = e->nchoices <= 1;
    *tail = w;
    tail = &w->child;
  }
  if (!v->last_taken) {
    struct wut *w = wut_new(o);
    w->op = v->last;
    w->flags = (uint16_t)v->last_flags;
    w->choice = v->last_choice;
    w->any_choice = !v->last_fixed;
    *tail = w;
  }
  return first;
}

/* Adds v to the branches of node k, unless something there covers it. */
static void insert(struct optimal *o, uint32_t k, struct sequence *v) {
  struct node *n = &o->node[k];
  uint32_t at;
  for (uint32_t i = 0; i < n->nsleep; i++) {
    const struct sleeper *q = &n->sleep[i];
    if (weak_initial(v, &q->op, q->flags, q->choice, 0, &at)) return;
  }
  struct wut **p = &n->list;
  while (*p) {
    struct wut *w = *p;
    int r = weak_initial(v, &w->op, w->flags, w->choice, w->any_choice, &at);
    if (!r) {
      p = &w->next;
      continue;
    }
    if (r == 1) take(v, at);
    if (!w->child) return; /* a leaf: everything from there on will be explored */
    p = &w->child;
  }
  *p = chain(o, v);
}

/* ---- races ---- */

/* v = what happened after e without depending on it, then the second operation; inserted before e. */
static void reverse(struct optimal *o, const struct hd_race *r, int choice) {
  uint32_t f = r->f;
  struct sequence v = {.ev = seq,
                       .taken = (uint8_t *)(seq + trace.cap_ev),
                       .last = r->op,
                       .last_fixed = choice >= 0,
                       .last_choice = (uint16_t)(choice >= 0 ? choice : 0)};
  static const uint32_t none[HD_MAX_THREADS];
  static uint32_t first[HD_MAX_THREADS];
  v.last.thread = r->thread;
  v.first = first;
  for (uint32_t t = 0; t < trace.nthreads; t++) first[t] = HD_NONE;
  for (uint32_t i = r->e + 1; i < trace.n; i++)
    if (hd__stays(&trace, r, i)) {
      unsigned t = trace.ev[i].op.thread;
      if (first[t] == HD_NONE) first[t] = v.n;
      v.taken[v.n] = 0;
      v.ev[v.n++] = i;
    }
  if (f != HD_NONE) {
    v.last_pred = trace.ev[f].pred;
    v.last_flags = trace.ev[f].flags & HD__EV_STOP;
  } else
    v.last_pred = trace.last[r->thread] != HD_NONE ? trace.ev[trace.last[r->thread]].clock : none;
  insert(o, r->e, &v);
}

static void reverse_all(struct optimal *o) {
  for (uint32_t i = 0; i < trace.nraces; i++) reverse(o, &trace.race[i], -1);
  for (uint32_t i = 0; i < trace.n; i++) {
    const struct hd_ev *e = &trace.ev[i];
    for (unsigned c = 0; e->nchoices > 1 && c < e->nchoices; c++)
      if (c != e->choice)
        reverse(o, &(struct hd_race){.e = i, .f = i, .thread = e->op.thread, .op = e->op}, (int)c);
  }
}

/* ---- the strategy ---- */

static void commit(struct optimal *o);
static int backtrack(struct optimal *o);

/* The process died in the middle of an execution. Its trace is gone, and with it the races that it had: the
 * search goes on with what is left to do, but cannot claim any more to have covered everything. */
static void recover(struct hd_search *s, struct optimal *o) {
  uint32_t n = 0;
  while (n < o->running && o->node[n].executed) n++;
  o->running = n;
  if (o->depth > n) o->depth = n;
  commit(o);
  o->complete = !backtrack(o);
  o->in_flight = 0;
  s->status->lossy = 1;
}

static int begin(struct hd_search *s) {
  struct optimal *o = state(s);
  if (!o->ready) lay_out(s);
  if (o->in_flight && o->in_flight != s->execution) recover(s, o);
  if (o->complete) return 0;
  o->in_flight = s->execution;
  if (!trace.ev) {
    hd__trace_init(&trace, s->scratch);
    seq = (uint32_t *)(s->scratch + HD_TRACE_MEMORY);
  }
  hd__trace_begin(&trace);
  o->at = 0;
  o->running = o->depth;
  if (o->depth) { /* a try that was given up may have left more */
    struct node *n = &o->node[o->depth - 1];
    o->guide = n->branch ? n->branch->child : NULL;
    o->sleep_next = n->sleep + n->nsleep;
  }
  return 1;
}

/* What sleeps at a new node: what slept before and is independent of the step just made. */
static void inherit(struct optimal *o, struct node *n) {
  n->sleep = o->sleep_next;
  n->nsleep = 0;
  if (!o->at) return;
  const struct node *up = &o->node[o->at - 1];
  const struct hd_ev *e = &trace.ev[o->at - 1];
  for (uint32_t i = 0; i < up->nsleep; i++)
    if (up->sleep[i].op.thread != e->op.thread &&
        !hd__dependent(&up->sleep[i].op, up->sleep[i].flags, &e->op, e->flags)) {
      if (o->sleep_next == o->sleep_end)
        hd_give_up("the search needs more memory than it has: try a smaller program or a sampling strategy");
      *o->sleep_next++ = up->sleep[i];
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

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct optimal *o = state(s);
  if (o->at != trace.n || o->at == o->node_cap) return HD_PICK_DIVERGED;
  if (o->at < o->depth) return o->node[o->at++].thread;
  struct node *n = &o->node[o->at];
  *n = (struct node){0};
  inherit(o, n);
  if (o->guide) {
    n->branch = o->guide;
    n->list = o->guide->next;
    n->thread = o->guide->op.thread;
    n->choice = o->guide->choice;
    n->fixed_choice = !o->guide->any_choice;
    o->guide = n->branch->child;
    if (n->thread >= p->words * 64 || !hd_set_has(p->enabled, n->thread)) return HD_PICK_DIVERGED;
  } else {
    /* Staying with the running thread makes the first execution a plain one. */
    int best = -1, outcome = -1;
    if (hd_set_has(p->enabled, p->current) && awake(n, p->current, &outcome)) best = (int)p->current;
    for (unsigned i = 0; best < 0 && i < p->words * 64; i++)
      if (hd_set_has(p->enabled, i) && awake(n, i, &outcome)) best = (int)i;
    if (best < 0) return HD_PICK_GIVE_UP;
    n->thread = (uint16_t)best;
    n->fixed_choice = outcome >= 0;
    n->choice = (uint16_t)(outcome >= 0 ? outcome : 0);
  }
  o->at++;
  o->running = o->at;
  return n->thread;
}

static int choose(struct hd_search *s, unsigned k) {
  struct node *n = &state(s)->node[state(s)->at - 1];
  return n->fixed_choice && n->choice < k ? n->choice : 0;
}

static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  struct optimal *o = state(s);
  hd__trace_event(&trace, op, flags, choice, nchoices);
  struct node *n = &o->node[o->at - 1];
  n->did = (struct sleeper){*op, (uint16_t)choice, (uint16_t)nchoices, (uint16_t)flags};
  n->executed = 1;
}

/* The execution is over: the nodes own their lists now, and the branches that led here are used up. */
static void commit(struct optimal *o) {
  for (uint32_t k = o->depth ? o->depth - 1 : 0; k < o->running; k++) {
    struct node *n = &o->node[k];
    if (!n->branch) continue;
    struct wut *b = n->branch;
    n->branch = NULL;
    if (k + 1 < o->running) b->child = NULL; /* the next node's branch and list */
    b->next = NULL;
    wut_delete(o, b);
  }
}

/* Leaves the branch that was just explored for the next one, from the deepest node up. */
static int backtrack(struct optimal *o) {
  for (uint32_t k = o->running; k-- > 0;) {
    struct node *n = &o->node[k];
    if (!n->list) continue;
    o->sleep_next = n->sleep + n->nsleep;
    if (o->sleep_next == o->sleep_end)
      hd_give_up("the search needs more memory than it has: try a smaller program or a sampling strategy");
    *o->sleep_next++ = n->did;
    n->nsleep++;
    n->executed = 0;
    n->branch = n->list;
    n->list = n->branch->next;
    n->branch->next = NULL;
    n->thread = n->branch->op.thread;
    n->choice = n->branch->choice;
    n->fixed_choice = !n->branch->any_choice;
    o->depth = k + 1;
    return 1;
  }
  return 0;
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  struct optimal *o = state(s);
  o->running = o->at < trace.n ? o->at : trace.n;
  o->in_flight = 0;
  commit(o);
  if (how == HD_HOW_STOPPED) {
    hd__trace_stop(&trace);
    if (o->running) o->node[o->running - 1].did.flags |= HD__EV_STOP;
  }
  hd__count_class(s, &trace, how);
  if (how != HD_HOW_BLOCKED) {
    hd__trace_end(&trace, p);
    reverse_all(o);
  }
  o->complete = !backtrack(o);
  return !o->complete;
}

static void forget(struct hd_search *s) {
  state(s)->ready = 0;
  hd__forget_classes(s);
}

const struct hd_strategy hd_strategy_optimal = {.name = "optimal",
                                                .systematic = 1,
                                                .begin = begin,
                                                .pick = pick,
                                                .choose = choose,
                                                .event = event,
                                                .end = end,
                                                .forget = forget};

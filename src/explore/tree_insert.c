/* tree_insert.c: which branches an execution shows to be missing. Runs in the tested process.
 *
 * For every race (e, f) of the execution there must be a branch, before e, that leads to f before e: the sequence
 * v of what happened after e without depending on it, then f. It is inserted into the wakeup tree of that node,
 * unless something there covers it: a step that can come first in v (a weak initial) and was explored before, or
 * a branch whose every continuation will be explored. Abdulla, Aronis, Jonsson, Sagonas, "Source Sets: A
 * Foundation for Optimal Dynamic Partial Order Reduction", JACM 64(4), 2017, sections 4 and 6.
 *
 * A race between two steps that an earlier execution had in common with this one need not be looked at again when
 * that execution has seen to it that a step of v itself leads to the reversal (a source set). When it has only been
 * found to be covered by something independent of v, it must: this v may be another one. */
#include "explore/tree.h"

#define trace hd__tree_trace

/* ---- memory of pending branches ---- */

static struct wut *wut_new(struct unit *u) {
  struct wut *w = u->wut_free;
  if (w) {
    u->wut_free = w->next;
  } else {
    if (u->wut_next == u->wut_end) hd_give_up(HD_TREE_FULL);
    w = u->wut_next++;
  }
  *w = (struct wut){0};
  return w;
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
  int inside; /* an atomic section: nobody but the last can go there, the others must wait for its end */
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

/* What is left of v as a branch; only its first step when `whole` is not set. */
static struct wut *chain(struct unit *u, const struct sequence *v, int whole) {
  struct wut *first = NULL, **tail = &first;
  for (uint32_t i = 0; i < v->n && (!v->inside || v->last_taken); i++) {
    if (v->taken[i]) continue;
    const struct hd_ev *e = &trace.ev[v->ev[i]];
    struct wut *w = wut_new(u);
    w->op = e->op;
    w->choice = e->choice;
    w->flags = e->flags;
    w->any_choice = e->nchoices <= 1;
    *tail = w;
    tail = &w->child;
    if (!whole) return first;
  }
  if (!v->last_taken) {
    struct wut *w = wut_new(u);
    w->op = v->last;
    w->flags = (uint16_t)v->last_flags;
    w->choice = v->last_choice;
    w->any_choice = !v->last_fixed;
    *tail = w;
  }
  return first;
}

/* The last operation of v makes a choice whose outcome is open: v is covered when all outcomes sleep; else it is
 * about the first that does not. */
static int all_outcomes_sleep(const struct sleeper *sleep, uint32_t nsleep, struct sequence *v, unsigned of) {
  for (unsigned c = 0; c < of; c++) {
    int sleeps = 0;
    for (uint32_t i = 0; i < nsleep && !sleeps; i++)
      sleeps = sleep[i].op.thread == v->last.thread && sleep[i].choice == c;
    if (sleeps) continue;
    v->last_fixed = 1;
    v->last_choice = (uint16_t)c;
    return 0;
  }
  return 1;
}

/* Adds v to a list of branches, unless something there, or what sleeps there, covers it. What is merely independent
 * of v covers it only when branches are whole sequences, since it says nothing of where else it may come: its own
 * branches must bring that up. One store makes the change: a worker that is killed leaves all of it or nothing.
 * Returns whether a step of v itself leads to it now. */
static int insert(struct unit *u, const struct sleeper *sleep, uint32_t nsleep, struct wut **p,
                  struct sequence *v, int whole) {
  uint32_t at;
  int covered = 0;
  for (uint32_t i = 0; i < nsleep; i++) {
    int r = weak_initial(v, &sleep[i].op, sleep[i].flags, sleep[i].choice, 0, &at);
    if (!r) continue;
    if (r == 2) {
      covered |= whole && !sleep[i].weak;
      continue;
    }
    int open = at == v->n && !v->last_fixed && sleep[i].nchoices > 1;
    if (!open || all_outcomes_sleep(sleep, nsleep, v, sleep[i].nchoices)) return 1;
  }
  if (covered) return 0;
  int own = 1;
  while (*p) {
    struct wut *w = *p;
    int r = weak_initial(v, &w->op, w->flags, w->choice, w->any_choice, &at);
    if (!r || (r == 2 && !whole)) {
      p = &w->next;
      continue;
    }
    if (r == 1) take(v, at);
    own &= r == 1;
    if (!w->child) return own; /* a leaf: everything from there on will be explored */
    p = &w->child;
  }
  struct wut *new = chain(u, v, whole);
  __atomic_store_n(p, new, __ATOMIC_RELEASE);
  return own;
}

/* ---- races ---- */

/* v = what happened after e without depending on it, then the second operation; inserted before e. */
static int reverse(struct unit *u, const struct hd_race *r, int choice, int whole) {
  uint32_t *seq = hd__tree_seq, f = r->f;
  struct sequence v = {.ev = seq,
                       .taken = (uint8_t *)(seq + trace.cap_ev),
                       .last = r->op,
                       .last_fixed = choice >= 0,
                       .last_choice = (uint16_t)(choice >= 0 ? choice : 0)};
  static const uint32_t none[HD_MAX_THREADS];
  static uint32_t first[HD_MAX_THREADS];
  v.last.thread = r->thread;
  v.first = first;
  v.inside = trace.ev[r->e].op.section == HD_SECTION_INSIDE;
  for (uint32_t t = 0; t < trace.nthreads; t++) first[t] = HD_NONE;
  int alone = r->e == f && !whole; /* another outcome of this very step */
  for (uint32_t i = r->e + 1; i < trace.n && !alone; i++)
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
  v.last_flags |= hd__outcome_reversed(&trace, r);
  struct node *n = &u->node[r->e];
  if (r->e < u->base)
    return insert(u, n->junction->sleep, n->junction->nsleep, &n->junction->list, &v, whole);
  return insert(u, n->sleep, n->nsleep, &n->list, &v, whole);
}

int hd__tree_reverse(struct unit *u, const struct rules *rules, int above) {
  int more = 0;
  for (uint32_t i = 0; i < trace.nraces; i++) {
    const struct hd_race *r = &trace.race[i];
    union pick *second = r->f == HD_NONE ? NULL : &u->node[r->f].pick;
    if (second && second->settled == 1) continue;
    if ((r->e < u->base) != above) {
      more = 1;
      continue;
    }
    int own = reverse(u, r, -1, rules->whole);
    if (second && !own) second->settled = 2;
  }
  for (uint32_t i = 0; i < trace.n; i++) {
    const struct hd_ev *e = &trace.ev[i];
    union pick *second = &u->node[i].pick;
    if (e->nchoices <= 1 || second->settled == 1) continue;
    if ((i < u->base) != above) {
      more = 1;
      continue;
    }
    for (unsigned c = 0; c < e->nchoices; c++)
      if (c != e->choice) {
        struct hd_race self = {.e = i, .f = i, .thread = e->op.thread, .op = e->op};
        if (!reverse(u, &self, (int)c, rules->whole)) second->settled = 2;
      }
  }
  return more;
}

void hd__tree_settle(struct unit *u) {
  for (uint32_t k = 0; k < u->running; k++) {
    union pick *p = &u->node[k].pick;
    if (p->settled != 1) p->settled = p->settled == 0;
  }
}

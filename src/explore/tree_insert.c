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

/* v is never written down: it is what stays of the trace when the race is reversed, without what was taken. Most of
 * the races of an execution are found to be covered, after a look at a few events. */
struct sequence {
  const struct hd_race *race;
  uint32_t front; /* events before this one do not stay, or were taken */
  uint32_t end;   /* after the last event */
  struct hd_op last;
  const uint32_t *last_pred;
  uint16_t last_choice;
  unsigned last_flags; /* only what cannot be otherwise in the other order */
  int last_fixed;
  int last_taken;
  int inside; /* an atomic section: nobody but the last can go there, the others must wait for its end */
};

/* Of each thread: its first event that is left in v, HD_NONE, and its index among those of the thread, else LATER. */
static uint32_t first[HD_MAX_THREADS];
static int32_t first_index[HD_MAX_THREADS];
#define LATER INT32_MAX

/* Of each event: the next one of its thread, and whether it was taken from the sequence that has this number. Of each
 * event the first race to be reversed before it, and of each race the next such, as numbers plus 1. */
static uint32_t *next_of, *taken, *first_race, *next_race;
static uint32_t sequences;

static void scratch(void) {
  next_of = hd__tree_seq + 2ull * trace.cap_ev; /* go_on uses what is before */
  taken = next_of + trace.cap_ev;
  first_race = taken + trace.cap_ev;
  next_race = first_race + trace.cap_ev;
}

static int left(const struct sequence *v, uint32_t i) {
  return taken[i] != sequences && hd_order_stays(&trace, v->race, i);
}

static void set_first(const struct sequence *v, unsigned thread, uint32_t i) {
  int there = i < v->end && hd_order_stays(&trace, v->race, i);
  first[thread] = there ? i : HD_NONE;
  first_index[thread] = there ? (int32_t)trace.ev[i].index : LATER;
}

/* Whether anything left in v happened before the event with that clock: then so did the first of its thread. */
static int has_cause(const uint32_t *clock, unsigned thread) {
  int32_t own = first_index[thread];
  uint32_t n = trace.threads_max, any = 0;
  first_index[thread] = LATER;
  for (uint32_t t = 0; t < n; t++) any |= (int32_t)clock[t] >= first_index[t];
  first_index[thread] = own;
  return any != 0;
}

/* Whether event i of v has nothing in v before it. What comes first in the trace never has. */
static int comes_first(struct sequence *v, uint32_t i) {
  while (v->front < i && !left(v, v->front)) v->front++;
  return v->front == i || !has_cause(trace.ev[i].clock, trace.ev[i].op.thread);
}

static int depends_on_any(const struct sequence *v, const struct hd_op *op, unsigned flags) {
  uint64_t key = hd_dependence_key(op, flags);
  for (uint32_t i = v->front; i < v->end; i++) {
    if (hd_keys_apart(key, trace.key[i])) continue;
    const struct hd_ev *e = &trace.ev[i];
    if (left(v, i) && hd_dependent(&e->op, e->flags, op, flags)) return 1;
  }
  return 0;
}

/* Whether `op` (with its outcome) can come first in v: 0 no; 1 yes, and it is the event `*at` of v (end for the
 * last); 2 yes, and it is not in v. */
static int weak_initial(struct sequence *v, const struct hd_op *op, unsigned flags, unsigned choice, int any,
                        uint32_t *at) {
  uint32_t i = op->thread < trace.nthreads ? first[op->thread] : HD_NONE;
  if (i != HD_NONE) {
    const struct hd_ev *e = &trace.ev[i];
    if (!any && e->nchoices > 1 && e->choice != choice) return 0;
    *at = i;
    return comes_first(v, i);
  }
  if (!v->last_taken && v->last.thread == op->thread) {
    if (!any && v->last_fixed && v->last_choice != choice) return 0;
    *at = v->end;
    return !has_cause(v->last_pred, op->thread) && !depends_on_any(v, &v->last, v->last_flags);
  }
  if (!v->last_taken && hd_dependent(&v->last, v->last_flags, op, flags)) return 0;
  return depends_on_any(v, op, flags) ? 0 : 2;
}

static void take(struct sequence *v, uint32_t at) {
  if (at == v->end) {
    v->last_taken = 1;
    return;
  }
  taken[at] = sequences;
  set_first(v, trace.ev[at].op.thread, next_of[at]);
}

/* What is left of v as a branch; only its first step when `whole` is not set. */
static struct wut *chain(struct unit *u, const struct sequence *v, int whole) {
  struct wut *head = NULL, **tail = &head;
  for (uint32_t i = v->front; i < v->end && (!v->inside || v->last_taken); i++) {
    if (!left(v, i)) continue;
    const struct hd_ev *e = &trace.ev[i];
    struct wut *w = wut_new(u);
    w->op = e->op;
    w->choice = e->choice;
    w->flags = e->flags;
    w->any_choice = e->nchoices <= 1;
    *tail = w;
    tail = &w->child;
    if (!whole) return head;
  }
  if (!v->last_taken) {
    struct wut *w = wut_new(u);
    w->op = v->last;
    w->flags = (uint16_t)v->last_flags;
    w->choice = v->last_choice;
    w->any_choice = !v->last_fixed;
    *tail = w;
  }
  return head;
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
    int open = at == v->end && !v->last_fixed && sleep[i].nchoices > 1;
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

/* v = what happened after e without depending on it, then the second operation; inserted before e.
 * pre: after[t] is the first event of thread t after e. */
static int reverse(struct unit *u, const struct hd_race *r, const uint32_t *after, int choice, int whole) {
  uint32_t f = r->f;
  static const uint32_t none[HD_MAX_THREADS];
  int alone = r->e == f && !whole; /* another outcome of this very step */
  struct sequence v = {.race = r,
                       .front = r->e + 1,
                       .end = alone ? r->e + 1 : trace.n,
                       .last = r->op,
                       .last_fixed = choice >= 0,
                       .last_choice = (uint16_t)(choice >= 0 ? choice : 0),
                       .inside = trace.ev[r->e].op.section == HD_SECTION_INSIDE};
  v.last.thread = r->thread;
  if (!++sequences) { /* the numbers begin again: nothing may be left of the old ones */
    for (uint32_t i = 0; i < trace.cap_ev; i++) taken[i] = 0;
    sequences = 1;
  }
  for (uint32_t t = 0; t < trace.nthreads; t++) set_first(&v, t, after[t]);
  for (uint32_t t = trace.nthreads; t < trace.threads_max; t++) first_index[t] = LATER;
  if (f != HD_NONE) {
    v.last_pred = trace.ev[f].pred;
    v.last_flags = trace.ev[f].flags & HD_EV_STOP;
  } else if (r->pred)
    v.last_pred = r->pred;
  else
    v.last_pred = trace.last[r->thread] != HD_NONE ? trace.ev[trace.last[r->thread]].clock : none;
  v.last_flags |= hd_order_reversed_outcome(&trace, r, &v.last);
  struct node *n = &u->node[r->e];
  if (r->e < u->base)
    return insert(u, n->junction->sleep, n->junction->nsleep, &n->junction->list, &v, whole);
  return insert(u, n->sleep, n->nsleep, &n->list, &v, whole);
}

static int settled(const struct unit *u, uint32_t f) { return f != HD_NONE && u->node[f].pick.settled == 1; }

/* Every other outcome of a choice. */
static void reverse_choice(struct unit *u, uint32_t i, const uint32_t *after, int whole) {
  const struct hd_ev *e = &trace.ev[i];
  struct hd_race self = {.e = i, .f = i, .thread = e->op.thread, .op = e->op};
  for (unsigned c = 0; c < e->nchoices; c++)
    if (c != e->choice && !reverse(u, &self, after, (int)c, whole)) u->node[i].pick.settled = 2;
}

/* Whether the races that end in event f are to be looked at, and begin on this side of the unit; else `more`. */
static int concerns(const struct unit *u, uint32_t e, uint32_t f, int above, int *more) {
  if (settled(u, f)) return 0;
  if ((e < u->base) == above) return 1;
  *more = 1;
  return 0;
}

/* Lists the races to be reversed by the event they are reversed before, in their order. Returns the number of the
 * first such event, trace.n if there is none. */
static uint32_t sort_races(const struct unit *u, int above, int *more) {
  uint32_t lowest = trace.n;
  for (uint32_t i = 0; i < trace.nraces; i++) {
    const struct hd_race *r = &trace.race[i];
    next_race[i] = HD_NONE;
    if (!concerns(u, r->e, r->f, above, more)) continue;
    next_race[i] = 0;
    if (r->e < lowest) lowest = r->e;
  }
  for (uint32_t i = 0; trace.chooses && i < trace.n; i++)
    if (trace.ev[i].nchoices > 1 && concerns(u, i, i, above, more) && i < lowest) lowest = i;
  for (uint32_t i = lowest; i < trace.n; i++) {
    next_of[i] = HD_NONE;
    first_race[i] = 0;
    if (trace.ev[i].prev != HD_NONE && trace.ev[i].prev >= lowest) next_of[trace.ev[i].prev] = i;
  }
  for (uint32_t i = trace.nraces; i-- > 0;)
    if (next_race[i] != HD_NONE) {
      next_race[i] = first_race[trace.race[i].e];
      first_race[trace.race[i].e] = i + 1;
    }
  return lowest;
}

int hd__tree_reverse(struct unit *u, const struct rules *rules, int above) {
  static uint32_t after[HD_MAX_THREADS];
  int more = 0;
  scratch();
  uint32_t lowest = sort_races(u, above, &more);
  for (uint32_t t = 0; t < trace.nthreads; t++) after[t] = HD_NONE;
  /* From the end, so that the next event of each thread is known at each. Branches at different nodes have nothing to
   * do with each other; those at one keep their order. */
  for (uint32_t e = trace.n; e-- > lowest;) {
    for (uint32_t i = first_race[e]; i; i = next_race[i - 1]) {
      const struct hd_race *r = &trace.race[i - 1];
      if (!reverse(u, r, after, -1, rules->whole) && r->f != HD_NONE) u->node[r->f].pick.settled = 2;
    }
    if (trace.ev[e].nchoices > 1 && concerns(u, e, e, above, &more))
      reverse_choice(u, e, after, rules->whole);
    after[trace.ev[e].op.thread] = e;
  }
  return more;
}

void hd__tree_settle(struct unit *u) {
  for (uint32_t k = 0; k < u->running; k++) {
    union pick *p = &u->node[k].pick;
    if (p->settled != 1) p->settled = p->settled == 0;
  }
}

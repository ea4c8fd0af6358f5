/* reverse.c: the policy of `optimal` and `dpor`: which branches an execution shows to be missing. Runs in the tested
 * process.
 *
 * For every race (e, f) of the execution there must be a branch, before e, that leads to f before e: the sequence
 * v of what happened after e without depending on it, then f. It is inserted into the wakeup tree of that node,
 * unless something there covers it: a step that can come first in v (a weak initial) and was explored before, or
 * a branch whose every continuation will be explored. Abdulla, Aronis, Jonsson, Sagonas, "Source Sets: A
 * Foundation for Optimal Dynamic Partial Order Reduction", JACM 64(4), 2017, sections 4 and 6.
 *
 * A race between two steps that an earlier execution had in common with this one need not be looked at again when
 * that execution has seen to it that a step of v itself leads to the reversal (a source set). When it has only been
 * found to be covered by something independent of v, it must: this v may be another one. So it must when the second step
 * depends on more in the other order and this execution has new steps that it may then depend on: such a step does not
 * depend on it as it was executed, so it comes before it in this v.
 *
 * Where v is long, what is inserted is only a part of it: what f depends on, and what keeps others from coming first. Each
 * step that sleeps at the node, or has a branch there that is explored before this one, and cannot come first in v, depends on
 * an event of v, its witness. With that in the branch it is awake at the end of it, whatever follows: so no execution is given
 * up, as with the whole of v. All else of v follows, or is reversed with what follows. (In "Parsimonious Optimal Dynamic Partial
 * Order Reduction", Abdulla, Atig, Das, Jonsson, Sagonas, CAV 2024, a race is reversed with what f depends on alone, and sleep
 * sets are characterised in another way; here only sequences get shorter.) */
#include "explore/walk.h"

/* Whether the races that end in a step are to be looked at in the next execution: pick.settled. The last two are what
 * this execution has found; the greatest of all races of the step counts. */
enum {
  OPEN,     /* yes */
  SETTLED,  /* no */
  GUARDED,  /* where a new step may conflict with it */
  GUARDING, /* will be GUARDED */
  REOPENED  /* will be OPEN */
};

/* ---- the first branch of a state ---- */

/* Any execution may be the first, so a sampler may lead it. Staying with the running thread makes it a plain one. One
 * that yields or sleeps wants others to go first: a loop that waits for them would run on to --max-length. */
int hd__reverse_first(struct walk *w, uint32_t k, const struct hd_point *p, int *outcome) {
  uint32_t lead = w->s->lead;
  if (lead && hd_set_has(p->enabled, lead - 1) && hd__admits(w, k, lead - 1, outcome)) return (int)lead - 1;
  unsigned kind = p->op[p->current]->kind, from = hd_op_is(kind, HD_TRAIT_YIELDS) ? p->current + 1 : 0;
  if (!from && hd_set_has(p->enabled, p->current) && hd__admits(w, k, p->current, outcome))
    return (int)p->current;
  for (unsigned t = hd_set_next(p->enabled, p->words, from); t < HD_MAX_THREADS;
       t = hd_set_next(p->enabled, p->words, t + 1))
    if (hd__admits(w, k, t, outcome)) return (int)t;
  for (unsigned t = 0; t < from; t++)
    if (hd_set_has(p->enabled, t) && hd__admits(w, k, t, outcome)) return (int)t;
  return -1;
}

/* ---- sequences to be inserted: events of the trace, then one more operation ---- */

/* v is never written down: it is what stays of the trace when the race is reversed, without what was taken. Most of
 * the races of an execution are found to be covered, after a look at a few events. */
struct sequence {
  struct walk *w;
  const struct hd_order *o;
  struct reversal *r;
  const struct hd_race *race;
  uint32_t front; /* events before this one do not stay, or were taken */
  uint32_t end;   /* after the last event that stays */
  struct hd_op last;
  const uint32_t *last_pred;
  uint32_t last_choice;
  unsigned last_flags; /* only what cannot be otherwise in the other order */
  int last_fixed;
  int last_taken;
  int inside; /* an atomic section: nobody but the last can go there, the others must wait for its end */
  uint32_t nwitnesses; /* of reversal.witness; more than that: all of v */
};

#define LATER INT32_MAX

static void lay_out(struct walk *w) {
  struct reversal *r = &w->reversal;
  r->next_of = w->scratch + 2ull * w->order.cap_ev; /* walk.c uses what is before */
  r->taken = r->next_of + w->order.cap_ev;
  r->first_race = r->taken + w->order.cap_ev;
  r->next_race = r->first_race + w->order.cap_ev;
}

static int left(const struct sequence *v, uint32_t i) {
  return v->r->taken[i] != v->r->sequences && hd_order_stays(v->o, v->race, i);
}

/* Sets the first event of the thread that is left in v. */
static void set_first(const struct sequence *v, unsigned thread, uint32_t i) {
  int there = i < v->end && hd_order_stays(v->o, v->race, i);
  v->r->first[thread] = there ? i : HD_NONE;
  v->r->first_index[thread] = there ? (int32_t)v->o->ev[i].index : LATER;
}

/* Finds of each thread the first event of v, and the last one that comes before the second operation when the race is
 * reversed; sets what is after the last event of v. Those of a thread that stay are the first ones after the race,
 * so the rest of the trace need not be looked at.
 * pre: after[t] is the first event of thread t after the race. */
static void find_ends(struct sequence *v) {
  const struct hd_order *const o = v->o;
  struct reversal *const r = v->r;
  const struct hd_race *race = v->race;
  v->end = race->e + 1;
  for (uint32_t t = 0; t < o->nthreads; t++) {
    uint32_t i = r->after[t], last = o->last[t];
    r->first[t] = HD_NONE;
    r->first_index[t] = LATER;
    if (i != HD_NONE && !hd_order_stays(o, race, i)) {
      last = o->ev[i].prev;
    } else if (i != HD_NONE) {
      r->first[t] = i;
      r->first_index[t] = (int32_t)o->ev[i].index;
      if (!hd_order_stays(o, race, last)) {
        uint32_t next = r->next_of[i];
        for (last = i; hd_order_stays(o, race, next); next = r->next_of[next]) last = next;
      }
      if (last >= v->end) v->end = last + 1;
    }
    r->last[t] = last;
  }
  r->last[o->ev[race->e].op.thread] = o->ev[race->e].prev;
  for (uint32_t t = o->nthreads; t < o->threads_max; t++) r->first_index[t] = LATER;
}

/* Nothing but the second operation is left in v. */
static void leave_out_all(struct sequence *v) {
  for (uint32_t t = 0; t < v->o->nthreads; t++) set_first(v, t, HD_NONE);
  v->end = v->race->e + 1;
}

/* Whether anything left in v happened before the event with that clock: then so did the first of its thread. */
static int has_cause(const struct sequence *v, const uint32_t *clock, unsigned thread) {
  int32_t own = v->r->first_index[thread];
  uint32_t n = v->o->threads_max, any = 0;
  v->r->first_index[thread] = LATER;
  for (uint32_t t = 0; t < n; t++) any |= (int32_t)clock[t] >= v->r->first_index[t];
  v->r->first_index[thread] = own;
  return any != 0;
}

/* Whether event i of v has nothing in v before it. What comes first in the trace never has. */
static int comes_first(struct sequence *v, uint32_t i) {
  while (v->front < i && !left(v, v->front)) v->front++;
  return v->front == i || !has_cause(v, v->o->ev[i].clock, v->o->ev[i].op.thread);
}

/* The first event left in v, from i on, that the operation depends on; HD_NONE. */
static uint32_t next_dependent(const struct sequence *v, uint32_t i, const struct hd_op *op, unsigned flags) {
  uint64_t key = hd_dependence_key(op, flags);
  for (; i < v->end; i++) {
    if (hd_keys_apart(key, v->o->key[i])) continue;
    const struct hd_ev *e = &v->o->ev[i];
    if (left(v, i) && hd_dependent(&e->op, e->flags, op, flags)) return i;
  }
  return HD_NONE;
}

static int depends_on_any(const struct sequence *v, const struct hd_op *op, unsigned flags) {
  return next_dependent(v, v->front, op, flags) != HD_NONE;
}

/* Something cannot come first because of event i. */
static int need(struct sequence *v, uint32_t i) {
  if (v->nwitnesses < HD_WITNESSES) v->r->witness[v->nwitnesses] = i;
  v->nwitnesses++;
  return 0;
}

/* Whether `op` (with its outcome) can come first in v: 0 no, and then what has to come before it is a witness; 1 yes, and it
 * is the event `*at` of v (end for the last); 2 yes, and it is not in v. */
static int weak_initial(struct sequence *v, const struct hd_op *op, unsigned flags, unsigned choice, int any,
                        uint32_t *at) {
  uint32_t i = op->thread < v->o->nthreads ? v->r->first[op->thread] : HD_NONE;
  if (i != HD_NONE) {
    const struct hd_ev *e = &v->o->ev[i];
    if (!any && e->nchoices > 1 && e->choice != choice) return need(v, i);
    *at = i;
    return comes_first(v, i) || need(v, i);
  }
  if (!v->last_taken && v->last.thread == op->thread) {
    if (!any && v->last_fixed && v->last_choice != choice) return 0;
    *at = v->end;
    return !has_cause(v, v->last_pred, op->thread) && !depends_on_any(v, &v->last, v->last_flags);
  }
  if (!v->last_taken && hd_dependent(&v->last, v->last_flags, op, flags)) return 0;
  i = next_dependent(v, v->front, op, flags);
  return i == HD_NONE ? 2 : need(v, i);
}

static void take(struct sequence *v, uint32_t at) {
  if (at == v->end) {
    v->last_taken = 1;
    return;
  }
  v->r->taken[at] = v->r->sequences;
  set_first(v, v->o->ev[at].op.thread, v->r->next_of[at]);
}

static void join(uint32_t *clock, const uint32_t *other, uint32_t n) {
  for (uint32_t t = 0; t < n; t++)
    if (other[t] > clock[t]) clock[t] = other[t];
}

/* Sequences of so many events are inserted in part. Shorter ones as they are: what follows is then done as it was the last
 * time, so that few races are new. */
#define LONG 128

/* What the branch must have, as a clock: the witnesses, what the second operation depends on, and what happened before these.
 * Returns 0 when that is all of v. (A section that is begun has to be ended before another thread can go.) */
static int find_needed(const struct sequence *v, uint32_t *clock) {
  const struct hd_order *const o = v->o;
  const uint32_t n = o->threads_max;
  if (v->end - v->front < LONG || !v->w->policy->whole || v->r->sections || v->nwitnesses > HD_WITNESSES)
    return 0;
  for (uint32_t t = 0; t < n; t++) clock[t] = v->last_pred[t];
  if (v->race->f != HD_NONE) join(clock, o->ev[v->race->f].clock, n);
  for (uint32_t i = 0; i < v->nwitnesses; i++) join(clock, o->ev[v->r->witness[i]].clock, n);
  if (v->last_taken) return 1;
  for (uint32_t i = next_dependent(v, v->front, &v->last, v->last_flags); i != HD_NONE;
       i = next_dependent(v, i + 1, &v->last, v->last_flags))
    join(clock, o->ev[i].clock, n);
  return 1;
}

static int is_needed(const struct hd_order *o, const uint32_t *clock, uint32_t i) {
  return o->ev[i].index <= clock[o->ev[i].op.thread] || i < clock[HD_LATE(o)];
}

/* What is left of v as a branch; only its first step when branches are not whole sequences. */
static struct hd_branch *chain(const struct sequence *v) {
  struct unit *u = v->w->unit;
  struct hd_branch *head = NULL, **tail = &head;
  uint32_t clock[HD_CLOCK_MAX];
  int part = find_needed(v, clock);
  for (uint32_t i = v->front; i < v->end && (!v->inside || v->last_taken); i++) {
    const struct hd_ev *e = &v->o->ev[i];
    if (!left(v, i) || (part && !is_needed(v->o, clock, i))) continue;
    struct hd_branch *b = hd__branch_new(u);
    b->op = e->op;
    b->choice = e->choice;
    b->flags = e->flags;
    b->any_choice = e->nchoices <= 1;
    *tail = b;
    tail = &b->child;
    if (!v->w->policy->whole) return head;
  }
  if (!v->last_taken) {
    struct hd_branch *b = hd__branch_new(u);
    b->op = v->last;
    b->flags = (uint16_t)v->last_flags;
    b->choice = v->last_choice;
    b->any_choice = !v->last_fixed;
    *tail = b;
  }
  return head;
}

/* The last operation of v makes a choice whose outcome is open: v is covered when all outcomes sleep; else it is
 * about the first that does not. */
static int all_outcomes_sleep(const struct hd_sleeper *sleep, uint32_t nsleep, struct sequence *v,
                              unsigned of) {
  for (unsigned c = 0; c < of; c++) {
    int sleeps = 0;
    for (uint32_t i = 0; i < nsleep && !sleeps; i++)
      sleeps = sleep[i].op.thread == v->last.thread && sleep[i].choice == c;
    if (sleeps) continue;
    v->last_fixed = 1;
    v->last_choice = c;
    return 0;
  }
  return 1;
}

/* Adds v to a list of branches, unless something there, or what sleeps there, covers it. What is merely independent
 * of v covers it only when branches are whole sequences, since it says nothing about where else it may come: its own
 * branches must add that. One store makes the change: a worker that is killed leaves all of it or nothing.
 * Returns whether a step of v itself leads to it now. */
static int insert(const struct hd_sleeper *sleep, uint32_t nsleep, struct hd_branch **p, struct sequence *v) {
  uint32_t at;
  int covered = 0, whole = v->w->policy->whole;
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
    struct hd_branch *b = *p;
    int r = weak_initial(v, &b->op, b->flags, b->choice, b->any_choice, &at);
    if (!r || (r == 2 && !whole)) {
      p = &b->next;
      continue;
    }
    if (r == 1) take(v, at);
    own &= r == 1;
    if (!b->child) return own; /* a leaf: everything from there on will be explored */
    p = &b->child;
  }
  struct hd_branch *new = chain(v);
  __atomic_store_n(p, new, __ATOMIC_RELEASE);
  hd__walk_added(v->w, v->race->e);
  return own;
}

/* ---- races ---- */

/* Whether the event would depend on more where the race is reversed. */
static int depends_on_more(const struct hd_ev *e, const struct sequence *v) {
  unsigned kind = e->op.kind;
  uint64_t first =
      hd_conflicts[hd_op_effect(kind, v->last_flags)] & ~hd_conflicts[hd_op_effect(kind, e->flags)];
  uint64_t second =
      hd_conflicts[hd_op_second(kind, v->last_flags)] & ~hd_conflicts[hd_op_second(kind, e->flags)];
  return first || second || !hd_payload_same(&v->last, &e->op);
}

/* v = what happened after e without depending on it, then the second operation; inserted before e. Returns what
 * that makes of the second step, OPEN for nothing.
 * pre: after[t] is the first event of thread t after e. */
static unsigned reverse(struct walk *w, const struct hd_race *r, int choice) {
  static const uint32_t none[HD_CLOCK_MAX];
  const uint32_t f = r->f;
  struct sequence v = {.w = w,
                       .o = &w->order,
                       .r = &w->reversal,
                       .race = r,
                       .front = r->e + 1,
                       .last = r->op,
                       .last_fixed = choice >= 0,
                       .last_choice = (uint32_t)(choice >= 0 ? choice : 0),
                       .inside = w->order.ev[r->e].op.section == HD_SECTION_INSIDE};
  v.last.thread = r->thread;
  if (!++w->reversal.sequences) { /* the numbers begin again: nothing may be left of the old ones */
    for (uint32_t i = 0; i < w->order.cap_ev; i++) w->reversal.taken[i] = 0;
    w->reversal.sequences = 1;
  }
  find_ends(&v);
  if (r->e == f && !w->policy->whole) leave_out_all(&v); /* another outcome of this very step */
  if (f != HD_NONE) {
    v.last_pred = w->order.ev[f].pred;
    v.last_flags = w->order.ev[f].flags & HD_EV_STOP;
  } else if (r->pred)
    v.last_pred = r->pred;
  else
    v.last_pred = w->order.last[r->thread] != HD_NONE ? w->order.ev[w->order.last[r->thread]].clock : none;
  v.last_flags |= hd_order_reversed_outcome(&w->order, r, w->reversal.last, &v.last);
  uint32_t nsleep;
  const struct hd_sleeper *sleep = hd__done(w, r->e, &nsleep);
  int more = f != HD_NONE && depends_on_more(&w->order.ev[f], &v);
  if (!insert(sleep, nsleep, hd__branches(w, r->e), &v)) return REOPENED;
  return more ? GUARDING : OPEN;
}

static void note(struct walk *w, uint32_t f, unsigned settled) {
  union pick *p = &w->unit->node[f].pick;
  if (settled > p->settled) p->settled = (uint8_t)settled;
}

/* Whether what the last execution did not have brings a step into v that may conflict with the second operation. Steps
 * after a known state are not among the events. */
static int meets_new(const struct walk *w, const struct hd_race *r) {
  const struct hd_order *o = &w->order;
  uint32_t fixed = w->unit->depth ? w->unit->depth - 1 : 0;
  for (uint32_t i = fixed; i < o->n; i++)
    if (!hd_keys_apart(o->key[r->f], o->key[i]) && hd_order_stays(o, r, i)) return 1;
  return w->s->fingerprint != NULL;
}

/* Whether the race is to be looked at, and begins on this side of the unit; else `more`. */
static int concerns(const struct walk *w, const struct hd_race *r, int above, int *more) {
  const struct unit *u = w->unit;
  if (r->e >= w->free_from) return 0;
  unsigned settled = r->f != HD_NONE ? u->node[r->f].pick.settled : OPEN;
  if (settled == SETTLED || (settled == GUARDED && !meets_new(w, r))) return 0;
  if ((r->e < u->base) == above) return 1;
  *more = 1;
  return 0;
}

/* A choice could have had another outcome. */
static struct hd_race race_of_choice(const struct hd_order *o, uint32_t i) {
  return (struct hd_race){.e = i, .f = i, .thread = o->ev[i].op.thread, .op = o->ev[i].op};
}

/* Every other outcome of a choice. */
static void reverse_choice(struct walk *w, uint32_t i, int above, int *more) {
  const struct hd_ev *e = &w->order.ev[i];
  const struct hd_race self = race_of_choice(&w->order, i);
  if (!concerns(w, &self, above, more)) return;
  for (unsigned c = hd__least_outcome(w, i); c < e->nchoices; c++)
    if (c != e->choice) note(w, i, reverse(w, &self, (int)c));
}

/* Lists the races to be reversed by the event they are reversed before, in their order. Returns the number of the
 * first such event, order.n if there is none. */
static uint32_t sort_races(struct walk *w, int above, int *more) {
  struct reversal *const v = &w->reversal;
  const struct hd_order *const o = &w->order;
  uint32_t lowest = o->n;
  v->sections = 0;
  for (uint32_t i = 0; i < o->nraces; i++) {
    const struct hd_race *r = &o->race[i];
    v->next_race[i] = HD_NONE;
    if (!concerns(w, r, above, more)) continue;
    v->next_race[i] = 0;
    if (r->e < lowest) lowest = r->e;
  }
  for (uint32_t i = 0; o->chooses && i < lowest; i++) {
    const struct hd_race self = race_of_choice(o, i);
    if (o->ev[i].nchoices > 1 && concerns(w, &self, above, more)) lowest = i;
  }
  for (uint32_t i = lowest; i < o->n; i++) {
    v->next_of[i] = HD_NONE;
    v->first_race[i] = 0;
    v->sections |= o->ev[i].op.section;
    if (o->ev[i].prev != HD_NONE && o->ev[i].prev >= lowest) v->next_of[o->ev[i].prev] = i;
  }
  for (uint32_t i = o->nraces; i-- > 0;)
    if (v->next_race[i] != HD_NONE) {
      v->next_race[i] = v->first_race[o->race[i].e];
      v->first_race[o->race[i].e] = i + 1;
    }
  return lowest;
}

static int reverse_all(struct walk *w, int above) {
  const struct hd_order *const o = &w->order;
  uint32_t *after = w->reversal.after;
  int more = 0;
  lay_out(w);
  uint32_t lowest = sort_races(w, above, &more);
  for (uint32_t t = 0; t < o->nthreads; t++) after[t] = HD_NONE;
  /* From the end, so that the next event of each thread is known at each. Branches at different nodes have nothing to
   * do with each other; those at one keep their order. */
  for (uint32_t e = o->n; e-- > lowest;) {
    w->s->status->upkeep++; /* this may take long */
    for (uint32_t i = w->reversal.first_race[e]; i; i = w->reversal.next_race[i - 1]) {
      const struct hd_race *r = &o->race[i - 1];
      unsigned again = reverse(w, r, -1);
      if (r->f != HD_NONE) note(w, r->f, again);
    }
    if (o->ev[e].nchoices > 1) reverse_choice(w, e, above, &more);
    after[o->ev[e].op.thread] = e;
  }
  return more;
}

/* Also of an execution that was given up: what it did, and what could not run in it, may race like anything else;
 * only what sleeps has been seen to by the branch that covers it. */
int hd__reverse_conclude(struct walk *w, const struct hd_point *p, enum hd_how how, int above) {
  (void)how;
  if (!above) hd_order_end(&w->order, p);
  if (w->order.by_time) hd_inexact_note(w->s->status->inexact, HD_INEXACT_SLEEPS, 0);
  w->order.by_time = 0;
  return reverse_all(w, above);
}

/* All races have been seen to: marks the steps whose races are settled. */
void hd__reverse_settle(struct walk *w, uint32_t from) {
  const struct unit *u = w->unit;
  (void)from;
  for (uint32_t k = 0; k < u->running; k++) {
    union pick *p = &u->node[k].pick;
    static const uint8_t after[] = {SETTLED, SETTLED, GUARDED, GUARDED, OPEN};
    p->settled = after[p->settled];
  }
}

/* strategy_wanted.c: keeps to wanted orders of events, as long as the program does. Runs in the tested process.
 *
 * The supervisor gives a list of orders (abi/wanted.h). Each is tried a few times, with different continuations. A thread
 * is recognised by its creator and how many that had created before, an event by its thread, operation, place and object:
 * the next wanted event of a thread that fits what the thread is about to do is that one.
 *
 * Of the enabled threads, the one whose next wanted event comes first goes next. A thread without further wanted events
 * is held back as long as any other can go on. What a thread does between its wanted events is not held back: it is on
 * the way to the next one.
 *
 * Invariants
 *  1. Some enabled thread is picked at every point, so a wanted event that never comes blocks nothing. A thread that does
 *     DETOUR operations in a row that are not wanted has left the order, and is treated as one without wanted events.
 *  2. Which order is tried depends on the number of the execution and on the search memory alone, so that an execution can
 *     be begun again. A process that dies loses its try, and the next one goes on with the next order.
 *  3. The order is data of the supervisor, and positions in it are valid; what is compared with it may be anything. */
#include "explore/explore_int.h"

#define DETOUR 2000 /* operations in a row that are not wanted */
#define SKIP 32     /* wanted events that may be missing before one that fits */

struct run {
  uint16_t entry[HD_MAX_THREADS];    /* of a thread in the table, plus 1 */
  uint16_t number[HD_MAX_THREADS];   /* the reverse, plus 1 */
  uint16_t children[HD_MAX_THREADS]; /* threads that it has created */
  uint32_t cursor[HD_MAX_THREADS];   /* of each entry: position of its next wanted event */
  uint32_t detour[HD_MAX_THREADS];
  uint32_t executed; /* wanted events */
  uint32_t arrived;
  uint32_t last;  /* position that was executed last */
  uint32_t over;  /* the order is, or cannot be kept to any more */
  uint32_t swaps; /* the last two are exchanged */
  uint32_t holds; /* the events of the failure come when no other thread can go on */
  struct hd_stray stray;
};

static struct hd_wanted *head(struct hd_search *s) { return (struct hd_wanted *)s->memory; }
static struct hd_wanted_order *order_of(struct hd_search *s) {
  return (struct hd_wanted_order *)(s->memory + head(s)->at_orders) + head(s)->order;
}
static const uint32_t *next_of(struct hd_search *s) {
  return (const uint32_t *)(s->memory + order_of(s)->at_next);
}
static const struct hd_wanted_event *event_at(struct hd_search *s, uint32_t position) {
  const uint32_t *event = (const uint32_t *)(s->memory + order_of(s)->at_event);
  return (const struct hd_wanted_event *)(s->memory + head(s)->at_events) + event[position];
}

/* ---- tries ---- */

/* Moves on to the next try; returns 0 after the last. */
static int advance(struct hd_search *s, int same_order) {
  struct hd_wanted *w = head(s);
  if (same_order && w->trial + 1 < order_of(s)->trials) {
    w->trial++;
    return 1;
  }
  if (w->order + 1 >= w->norders) return 0;
  w->order++;
  w->trial = 0;
  return 1;
}

static int begin(struct hd_search *s) {
  struct hd_wanted *w = head(s);
  if (!w->norders) return 0;
  if (w->begun && w->execution != s->execution) {
    if (!w->ended)
      order_of(s)->kinds |= 1ull << HD_KIND_CRASH; /* the supervisor reports the death of its process */
    if (!advance(s, w->ended != 0)) return 0;
  }
  if (!w->begun || w->execution != s->execution) {
    w->begun = 1;
    w->ended = 0;
    if (!order_of(s)->tried++) order_of(s)->first = s->execution;
    w->execution = s->execution;
  }
  struct run *r = hd__own(s, sizeof *r);
  for (unsigned i = 0; i < HD_MAX_THREADS; i++)
    r->entry[i] = r->number[i] = r->children[i] = 0, r->cursor[i] = HD_WANTED_END, r->detour[i] = 0;
  const uint32_t *first = (const uint32_t *)(s->memory + order_of(s)->at_first);
  for (unsigned i = 0; i < w->nthreads; i++) r->cursor[i] = first[i];
  r->entry[0] = r->number[0] = 1;
  r->executed = r->arrived = r->over = 0;
  r->last = HD_WANTED_END;
  r->swaps = order_of(s)->swaps && (w->trial & 1);
  r->holds = !order_of(s)->swaps && w->trial == 1;
  r->stray = (struct hd_stray){0};
  hd_rng_seed(&s->rng, s->config->seed + w->order, w->trial);
  hd__sample_begin(s);
  return 1;
}

/* ---- what fits ---- */

static int fits(const struct hd_wanted_event *e, const struct hd_op *op, int exactly) {
  if (e->kind != op->kind || (e->pc && op->pc && e->pc != op->pc)) return 0;
  enum hd_obj_kind kind = hd_op_object(op->kind);
  int named = kind != HD_OBJ_NONE && kind != HD_OBJ_THREAD && kind != HD_OBJ_IO; /* by address */
  return !exactly || !named || e->object == op->object;
}

/* The position of the wanted event that the operation is, from `at` on; at most `skip` others that were scheduling points
 * are missing before it. HD_WANTED_END: it is none. */
static uint32_t find(struct hd_search *s, uint32_t at, const struct hd_op *op, int exactly, unsigned skip) {
  for (; at != HD_WANTED_END; at = next_of(s)[at]) {
    const struct hd_wanted_event *e = event_at(s, at);
    if (fits(e, op, exactly)) return at;
    if (!e->plain && !skip--) break;
  }
  return HD_WANTED_END;
}

static uint32_t match(struct hd_search *s, const struct run *r, unsigned entry, const struct hd_op *op) {
  uint32_t at = find(s, r->cursor[entry], op, 1, 0);
  if (at == HD_WANTED_END) at = find(s, r->cursor[entry], op, 0, 0);
  return at == HD_WANTED_END ? find(s, r->cursor[entry], op, 1, SKIP) : at;
}

static void note_stray(struct run *r, uint32_t position, const struct hd_op *op, int blocked) {
  if (r->stray.position) return;
  r->stray = (struct hd_stray){position + 1ull, op ? op->pc : 0, op ? op->object : 0,
                               op ? op->kind : HD_OP_NONE, (uint32_t)blocked};
}

/* ---- who goes next ---- */

/* The place of a position in the order of this try. */
static uint32_t rank(struct hd_search *s, const struct run *r, uint32_t position) {
  uint32_t n = order_of(s)->n;
  return r->swaps && n >= 2 && position + 2 >= n ? 2 * n - 3 - position : position;
}

/* The thread whose wanted event comes first, HD_NONE: nobody has one. *at is that event, HD_WANTED_END when the thread
 * is on the way there. */
static uint32_t wanted(struct hd_search *s, struct run *r, const struct hd_point *p, uint32_t *at) {
  uint32_t best = HD_NONE, lowest = HD_WANTED_END,
           end = order_of(s)->n - (r->holds ? order_of(s)->failure : 0);
  HD_SET_EACH (t, p->enabled, p->words) {
    unsigned entry = r->entry[t];
    if (!entry-- || r->cursor[entry] >= end) continue;
    uint32_t here = match(s, r, entry, p->op[t]);
    uint32_t of = rank(s, r, here == HD_WANTED_END ? r->cursor[entry] : here);
    if (best != HD_NONE && of >= lowest) continue;
    best = t;
    lowest = of;
    *at = here;
  }
  return best;
}

/* The order has come as far as it can: what is missing, and whether the threads of the failure are where it is about to
 * happen. */
static void look_back(struct hd_search *s, struct run *r, const struct hd_point *p) {
  const struct hd_wanted_order *o = order_of(s);
  uint32_t missing = HD_WANTED_END;
  for (unsigned i = 0; i < head(s)->nthreads; i++)
    if (r->cursor[i] < missing) missing = r->cursor[i];
  r->arrived = 1;
  for (uint32_t i = o->n - o->failure; i < o->n; i++) {
    unsigned entry = event_at(s, i)->thread, number = r->number[entry];
    if (r->cursor[entry] > i && r->cursor[entry] != HD_WANTED_END) continue;
    if (r->cursor[entry] == HD_WANTED_END && !r->detour[entry]) continue;
    const struct hd_op *op = number && number <= p->words * 64 ? p->op[number - 1] : 0;
    if (!op || r->cursor[entry] != i || !fits(event_at(s, i), op, 1)) r->arrived = 0;
  }
  if (missing == HD_WANTED_END || missing >= o->n - o->failure) return;
  unsigned number = r->number[event_at(s, missing)->thread];
  note_stray(r, missing, number ? p->op[number - 1] : 0, 1);
}

/* Nothing is wanted of the enabled threads. */
static uint32_t continuation(struct hd_search *s, struct run *r, const struct hd_point *p) {
  unsigned how = head(s)->trial >> (order_of(s)->swaps != 0);
  if (!r->over) look_back(s, r, p);
  r->over = 1;
  if (how > 1) return hd_set_nth(p->enabled, hd_rng_below(&s->rng, p->nenabled));
  int stays = p->current < p->words * 64 && hd_set_has(p->enabled, p->current) &&
              !hd_op_is(p->op[p->current]->kind, HD_TRAIT_YIELDS);
  if (how == 0 && stays) return p->current;
  unsigned first = hd_set_next(p->enabled, p->words, 0);
  if (how == 0 || p->nenabled == 1) return first;
  /* The threads of the failure go last. */
  HD_SET_EACH (t, p->enabled, p->words) {
    uint32_t n = order_of(s)->n, k = n - order_of(s)->failure;
    while (k < n && (!r->entry[t] || event_at(s, k)->thread != r->entry[t] - 1u)) k++;
    if (k == n) return t;
  }
  return first;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct run *r = s->own;
  uint32_t at = HD_WANTED_END, next;
  r->last = HD_WANTED_END;
  while ((next = wanted(s, r, p, &at)) != HD_NONE) {
    unsigned entry = r->entry[next] - 1u;
    if (at != HD_WANTED_END) {
      for (uint32_t i = r->cursor[entry]; i != at; i = next_of(s)[i])
        if (!event_at(s, i)->plain) note_stray(r, i, p->op[next], 0);
      r->cursor[entry] = next_of(s)[at];
      r->detour[entry] = 0;
      r->executed++;
      r->last = at;
      return (int)next;
    }
    note_stray(r, r->cursor[entry], p->op[next], 0);
    if (++r->detour[entry] <= DETOUR) return (int)next;
    r->cursor[entry] = HD_WANTED_END;
  }
  return (int)continuation(s, r, p);
}

static int choose(struct hd_search *s, unsigned n) {
  const struct run *r = s->own;
  if (r->last != HD_WANTED_END) {
    const struct hd_wanted_event *e = event_at(s, r->last);
    uint32_t other = r->last + 1 == order_of(s)->n ? order_of(s)->outcome : 0;
    if (other) return other - 1 < n ? (int)other - 1 : 0;
    return e->nchoices > 1 && e->choice < n ? (int)e->choice : 0;
  }
  return r->over && head(s)->trial >> (order_of(s)->swaps != 0) > 1 ? (int)hd_rng_below(&s->rng, n) : 0;
}

/* A created thread gets its entry. */
static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  struct run *r = s->own;
  hd__sample_event(s, op, flags, choice, nchoices);
  if (hd_op_effect(op->kind, flags) != HD_EFF_SPAWN || !op->object || op->object >= HD_MAX_THREADS) return;
  const struct hd_wanted_thread *t = (const struct hd_wanted_thread *)(s->memory + head(s)->at_threads);
  unsigned nth = ++r->children[op->thread], parent = r->entry[op->thread];
  r->children[op->object] = r->entry[op->object] = 0;
  for (unsigned i = 1; parent && i < head(s)->nthreads; i++) {
    if (t[i].parent != parent - 1u || t[i].nth != nth) continue;
    r->entry[op->object] = (uint16_t)(i + 1);
    r->number[i] = (uint16_t)(op->object + 1);
  }
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  struct hd_wanted *w = head(s);
  struct hd_wanted_order *o = order_of(s);
  struct run *r = s->own;
  hd__sample_end(s, how);
  if (!r->over) look_back(s, r, p);
  if (r->executed >= o->reached || !o->execution) {
    o->reached = r->executed;
    o->stray = r->stray;
    o->execution = s->execution;
  }
  o->arrived |= r->arrived;
  o->kinds |= s->status->kinds;
  w->ended = 1;
  return w->order + 1 < w->norders || w->trial + 1 < o->trials;
}

const struct hd_strategy hd_strategy_wanted = {
    .name = HD_WANTED_NAME, .begin = begin, .pick = pick, .choose = choose, .event = event, .end = end};

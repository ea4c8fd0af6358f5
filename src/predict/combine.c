/* combine.c: one trace out of several runs of a program: each thread as in one of them. Runs in the supervisor.
 *
 * The threads' events are put into one order in which each read sees its value. A thread that did something else in another run is taken from that one, the
 * others stay as they are; what a failure needs may be spread over runs. Threads are known by their names, places by their
 * addresses, memory and locks by theirs, which are the same in all runs.
 *
 * The order is built step by step: of the threads that can go on, the one that came first in its run, or the exchanged thread
 * as early or as late as possible; the longest of these is kept. A thread can go on if it was created, those that it joins have
 * ended, its lock is free, who wakes it has done so, and it reads its value. That is less than the model of events.c, and there is no
 * search: a combined trace is a guess, and all that is predicted from it is plausible. */
#include "predict/predict_int.h"

#include <stdlib.h>
#include <string.h>

#define MOST_EVENTS 1000000 /* of a run; longer ones are not combined */

/* ---- one table for all runs ---- */

struct hd_combination {
  const struct hd_run_trace *run;
  size_t nruns;
  struct hd_tr_tables tables;      /* the strings are those of the runs */
  HD_VEC(struct hd_event) * event; /* [run] with entries of the common tables */
  struct hd__index place_of, object_of;
  struct hd__index initial; /* address plus 1 of a byte to its value before all writes, as in struct build */
  size_t base, other;
  uint32_t thread; /* the next to be exchanged */
};

static uint32_t thread_entry(struct hd_combination *c, const struct hd_tr_tables *t, uint64_t thread) {
  const struct hd_tr_thread *x = &t->thread.v[thread < t->thread.n ? thread : 0];
  for (uint32_t i = 0; i < c->tables.thread.n; i++)
    if (strcmp(c->tables.thread.v[i].name, x->name) == 0) return i;
  hd_vec_push(&c->tables.thread, *x);
  return (uint32_t)c->tables.thread.n - 1;
}

static uint32_t place_entry(struct hd_combination *c, const struct hd_tr_tables *t, uint32_t place) {
  if (!place) return 0;
  const struct hd_tr_place *p = &t->place.v[place - 1];
  uint32_t *at = hd__index_at(&c->place_of, p->pc ? p->pc : hd__hash(place) | 1ull << 63);
  if (!*at) {
    hd_vec_push(&c->tables.place, *p);
    *at = (uint32_t)c->tables.place.n;
  }
  return *at;
}

static void add_run(struct hd_combination *c, size_t r) {
  const struct hd_tr_tables *t = c->run[r].tables;
  for (size_t i = 0; i < t->object.n; i++) {
    uint32_t *known = hd__index_at(&c->object_of, t->object.v[i].addr | 1ull << 63);
    if (!*known) hd_vec_push(&c->tables.object, t->object.v[i]);
    *known = 1;
  }
  for (size_t i = 0; i < c->run[r].n; i++) {
    struct hd_event e = c->run[r].event[i];
    e.op.thread = (uint16_t)thread_entry(c, t, e.op.thread);
    if (hd_op_object(e.op.kind) == HD_OBJ_THREAD) e.op.object = thread_entry(c, t, e.op.object);
    e.place = place_entry(c, t, e.place);
    e.from = 0;
    hd_vec_push(&c->event[r], e);
  }
}

#define UNKNOWN 300u /* the value of a byte */

/* Sets the bytes that the event writes; `reads`: and those that it reads, if nobody has written them. */
static void set_bytes(struct hd__index *byte, const struct hd_event *e, bool reads) {
  unsigned kind;
  uint64_t addr[HD_AWAIT_PLACES], size[HD_AWAIT_PLACES];
  if (hd__memory_places(e, &kind, addr, size) != 1 || size[0] > 4096) return;
  bool writes = kind & HD__WRITES, known = (e->flags & HD_EV_VALUE) && size[0] <= 8;
  for (uint64_t i = 0; i < size[0] && (writes || reads); i++) {
    uint32_t *at = hd__index_at(byte, addr[0] + i + 1);
    if (reads && *at) continue;
    *at = known && (writes != reads) ? (uint32_t)(e->value >> 8 * i & 0xff) + 1 : UNKNOWN;
  }
}

/* A byte is known at the start if its first access in some run is a read. */
static void find_initial(struct hd_combination *c, size_t r) {
  struct hd__index first = {0};
  for (size_t i = 0; i < c->event[r].n; i++) set_bytes(&first, &c->event[r].v[i], true);
  for (size_t i = 0; i < first.cap; i++)
    if (first.key[i] && first.value[i] != UNKNOWN) *hd__index_at(&c->initial, first.key[i]) = first.value[i];
  hd__index_fini(&first);
}

struct hd_combination *hd_combination_new(const struct hd_run_trace *run, size_t nruns) {
  struct hd_combination *c = hd_alloc(sizeof *c);
  c->run = run;
  c->nruns = nruns;
  c->event = hd_alloc((nruns + 1) * sizeof *c->event);
  for (size_t r = 0; r < nruns; r++)
    if (run[r].n <= MOST_EVENTS) add_run(c, r);
  for (size_t r = 0; r < nruns; r++) find_initial(c, r);
  return c;
}

void hd_combination_free(struct hd_combination *c) {
  if (!c) return;
  for (size_t r = 0; r < c->nruns; r++) hd_vec_free(&c->event[r]);
  free(c->event);
  hd_vec_free(&c->tables.thread);
  hd_vec_free(&c->tables.place);
  hd_vec_free(&c->tables.object);
  hd__index_fini(&c->place_of);
  hd__index_fini(&c->object_of);
  hd__index_fini(&c->initial);
  free(c);
}

/* ---- building an order ---- */

struct lane { /* the events of a thread, as in one run */
  const struct hd_event *event;
  size_t n, at; /* of the run */
};

struct build {
  struct hd_combination *c;
  struct lane *lane; /* [thread] */
  uint32_t exchanged;
  struct hd__index byte;   /* address plus 1 to its value plus 1, or UNKNOWN; 0: nobody has written */
  struct hd__index holder; /* lock to its exclusive holder plus 1, or UINT32_MAX - readers */
  bool *created, *ended, *notified;
  HD_VEC(struct hd_event) out;
};

static const struct hd_event *next_of(struct build *b, uint32_t t) {
  struct lane *l = &b->lane[t];
  while (l->at < l->n && l->event[l->at].op.thread != t) l->at++;
  return l->at < l->n ? &l->event[l->at] : NULL;
}

static bool reads_value(struct build *b, const struct hd_event *e) {
  unsigned kind;
  uint64_t addr[HD_AWAIT_PLACES], size[HD_AWAIT_PLACES];
  if (hd__memory_places(e, &kind, addr, size) != 1 || !(kind & HD__READS) || size[0] > 8) return true;
  bool updates = kind & HD__WRITES;
  if (updates ? !e->op.access.known : !(e->flags & HD_EV_VALUE)) return true;
  uint64_t value = updates ? e->op.access.found : e->value;
  for (uint64_t i = 0; i < size[0]; i++) {
    uint32_t now = *hd__index_at(&b->byte, addr[0] + i + 1);
    if (!now) now = *hd__index_at(&b->c->initial, addr[0] + i + 1);
    if (now && now != UNKNOWN && now - 1 != (value >> 8 * i & 0xff)) return false;
  }
  return true;
}

static uint32_t *lock_of(struct build *b, uint64_t addr) {
  return hd__index_at(&b->holder, addr | 1ull << 63);
}

static bool lock_is_free(struct build *b, unsigned effect, uint64_t addr) {
  uint32_t now = *lock_of(b, addr);
  if (effect == HD_EFF_ACQUIRE) return !now;
  return effect != HD_EFF_SHARE || !now || now > UINT32_MAX / 2;
}

static bool can_go_on(struct build *b, uint32_t t, const struct hd_event *e) {
  enum hd_effect effect = hd_op_effect(e->op.kind, e->flags), second = hd_op_second(e->op.kind, e->flags);
  if (!b->created[t]) return false;
  if ((effect == HD_EFF_JOIN || effect == HD_EFF_FIND_ENDED) && e->op.object < b->c->tables.thread.n &&
      !b->ended[e->op.object])
    return false;
  if ((effect == HD_EFF_RETURN || second == HD_EFF_RETURN) && !b->notified[t]) return false;
  return lock_is_free(b, effect, e->op.object) && reads_value(b, e);
}

static void change_lock(struct build *b, uint32_t t, unsigned effect, uint64_t addr) {
  uint32_t *now = lock_of(b, addr);
  if (effect == HD_EFF_ACQUIRE) *now = t + 1;
  if (effect == HD_EFF_RELEASE) *now = 0;
  if (effect == HD_EFF_SHARE) *now = *now ? *now - 1 : UINT32_MAX;
  if (effect == HD_EFF_UNSHARE && *now) *now = *now == UINT32_MAX ? 0 : *now + 1;
}

static void execute(struct build *b, uint32_t t, const struct hd_event *e) {
  enum hd_effect effect = hd_op_effect(e->op.kind, e->flags), second = hd_op_second(e->op.kind, e->flags);
  if (effect == HD_EFF_SPAWN && e->op.object < b->c->tables.thread.n) b->created[e->op.object] = true;
  if (effect == HD_EFF_FINISH) b->ended[t] = true;
  if (effect == HD_EFF_QUEUE || second == HD_EFF_QUEUE) b->notified[t] = false;
  if (effect == HD_EFF_NOTIFY || effect == HD_EFF_NOTIFY_ALL || effect == HD_EFF_NOTIFY_SOME)
    for (size_t u = 0; u < b->c->tables.thread.n; u++) b->notified[u] = true;
  if (!(e->flags & HD_EV_FAILED)) change_lock(b, t, effect, e->op.object);
  change_lock(b, t, second, hd_op_second_object(&e->op));
  set_bytes(&b->byte, e, false);
  hd_vec_push(&b->out, *e);
  b->lane[t].at++;
}

enum { IN_ORDER, EARLY, LATE, WAYS };

/* The thread that goes next, or the number of threads. */
static uint32_t choose(struct build *b, int how) {
  uint32_t n = (uint32_t)b->c->tables.thread.n, best = n;
  size_t lowest = SIZE_MAX;
  for (uint32_t t = 0; t < n; t++) {
    const struct hd_event *e = next_of(b, t);
    if (!e || !can_go_on(b, t, e)) continue;
    size_t rank = b->lane[t].at + 1;
    if (t == b->exchanged && how == EARLY) rank = 0;
    if (t == b->exchanged && how == LATE) rank = SIZE_MAX - 1;
    if (rank < lowest) lowest = rank, best = t;
  }
  return best;
}

static void build(struct build *b, int how, bool **first_created) {
  const struct hd_combination *c = b->c;
  uint32_t n = (uint32_t)c->tables.thread.n;
  b->created = hd_alloc(n + 1);
  b->ended = hd_alloc(n + 1);
  b->notified = hd_alloc(n + 1);
  memcpy(b->created, *first_created, n);
  for (uint32_t t = 0; t < n; t++) {
    size_t r = t == b->exchanged ? c->other : c->base;
    b->lane[t] = (struct lane){c->event[r].v, c->event[r].n, 0};
  }
  for (uint32_t t; (t = choose(b, how)) < n;) execute(b, t, next_of(b, t));
  hd__index_fini(&b->byte);
  hd__index_fini(&b->holder);
  free(b->created);
  free(b->ended);
  free(b->notified);
}

/* Whether the thread did something else in the two runs. */
static bool differs(const struct hd_combination *c, uint32_t t) {
  size_t i = 0, k = 0, n = c->event[c->base].n, m = c->event[c->other].n;
  const struct hd_event *a = c->event[c->base].v, *b = c->event[c->other].v;
  for (;; i++, k++) {
    while (i < n && a[i].op.thread != t) i++;
    while (k < m && b[k].op.thread != t) k++;
    if (i == n || k == m) return (i == n) != (k == m);
    if (a[i].op.kind != b[k].op.kind || a[i].place != b[k].place || a[i].op.object != b[k].op.object)
      return true;
  }
}

/* The threads that nobody creates are there from the start. */
static bool *not_created(const struct hd_combination *c) {
  size_t n = c->tables.thread.n;
  bool *out = hd_alloc(n + 1);
  memset(out, 1, n);
  for (size_t r = 0; r < c->nruns; r++)
    for (size_t i = 0; i < c->event[r].n; i++) {
      const struct hd_event *e = &c->event[r].v[i];
      if (hd_op_effect(e->op.kind, e->flags) == HD_EFF_SPAWN && e->op.object < n) out[e->op.object] = false;
    }
  return out;
}

static void advance(struct hd_combination *c) {
  if (++c->thread < c->tables.thread.n) return;
  c->thread = 0;
  if (++c->other < c->nruns) return;
  c->other = 0;
  c->base++;
}

bool hd_combination_next(struct hd_combination *c, struct hd_run_trace *out) {
  for (; c->base < c->nruns; advance(c)) {
    if (c->base == c->other || !c->event[c->base].n || !differs(c, c->thread)) continue;
    struct build best = {0};
    bool *first = not_created(c);
    for (int how = 0; how < WAYS; how++) {
      struct build b = {.c = c, .exchanged = c->thread};
      b.lane = hd_alloc((c->tables.thread.n + 1) * sizeof *b.lane);
      build(&b, how, &first);
      free(b.lane);
      if (how && b.out.n <= best.out.n) {
        hd_vec_free(&b.out);
        continue;
      }
      hd_vec_free(&best.out);
      best = b;
    }
    free(first);
    advance(c);
    *out = (struct hd_run_trace){best.out.v, best.out.n, &c->tables};
    return true;
  }
  return false;
}

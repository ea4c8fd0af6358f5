/* strategy_surw.c: selectively uniform random walk. Runs in the tested process.
 *
 * Zhao, Wolff, Mathur, Roychoudhury, "Selectively Uniform Concurrency Testing", ASPLOS 2025. A walk that draws the next
 * thread in proportion to the operations that each has left takes every interleaving of threads that do not wait for
 * each other with the same probability (URW). Few of those operations matter for a bug. The selective walk (SURW) is
 * uniform over the interleavings of a set of interesting operations: when a thread is about to execute one of them, the
 * thread of the next one is drawn, in proportion to the interesting operations that each has left. The others may run until
 * they are about to execute an interesting operation, too, and wait there until the one that was drawn has executed
 * its own. Which of the threads that need not wait goes next is drawn uniformly.
 *
 * Differences from the paper:
 *  - The interesting operations are those on one object, drawn for each execution from all that several threads have
 *    touched and one has changed; one time in two only those at some places of the code, each with probability 1/2. Those
 *    that release a lock are not among them: they race with nothing that is enabled.
 *  - Counts are learned from all executions instead of one that goes before: a moving average, since operations on memory
 *    become visible only when a conflict was seen.
 *  - Threads are created and begin at once (hd__begins). The operations of those that a thread has yet to create count as
 *    its own, as in the paper.
 *
 * Invariants
 *  1. What an execution does depends on the seed, its number and what is known; that changes only in end(), but for the
 *     numbers of objects, which depend on the executions in the same way.
 *  2. A thread that is enabled is not held up for ever: when all enabled threads are, another one is drawn; also now and
 *     then when a thread yields, which may wait for one that is held up, in a way that Heddle does not see. */
#include "explore/explore_int.h"
#include "model/unit.h"

#define THREADS 128   /* the operations of others are not counted */
#define ONE 256       /* averages count in parts of an operation */
#define MOST 0xffffff /* operations of one thread at one place on one object */
#define WINDOW 16     /* executions that an average is about */
#define NOBODY HD_MAX_THREADS
#define YIELDS 8 /* so many, on average, until nobody is held up any more */

struct cell {
  uint32_t mean; /* operations in an execution that has any */
  uint32_t seen; /* such executions, up to WINDOW */
};

/* What is known of the program; in the search area, which is zero at first. */
struct known {
  struct hd_abstracts events;
  uint16_t first[HD_OBJECTS];  /* who touched it first, plus 1 */
  uint8_t several[HD_OBJECTS]; /* others did */
  uint8_t changed[HD_OBJECTS];
  uint32_t ncontended;
  uint16_t contended[HD_OBJECTS];
  uint16_t parent[THREADS]; /* who created it, plus 1 */
  struct cell cell[HD_ABSTRACTS][THREADS];
};

/* The execution under way. */
struct run {
  unsigned object;   /* some of whose operations are interesting; 0: none */
  unsigned intended; /* the thread of the next one, or NOBODY */
  unsigned nthreads, last;
  struct hd_set there, held; /* threads that were seen, and those that are held up */
  uint16_t parent[THREADS];
  uint8_t chosen[HD_ABSTRACTS]; /* is interesting */
  uint32_t left[THREADS];       /* interesting operations, as is expected */
  uint32_t done[HD_ABSTRACTS][THREADS];
  uint32_t ntouched;
  uint32_t touched[HD_ABSTRACTS * THREADS]; /* entries of it in use: event * THREADS + thread */
  uint8_t changed[HD_ABSTRACTS];
};

static struct known *known(struct hd_search *s) { return (struct known *)s->memory; }

/* Draws the object, and which of its operations are interesting: all of them, or those at some places. */
static void choose_events(struct hd_search *s) {
  struct run *r = s->own;
  const struct known *k = known(s);
  int all = hd_rng_below(&s->rng, 2) == 0, some = 0;
  for (unsigned t = 0; t < THREADS; t++) r->left[t] = 0;
  r->object = k->ncontended ? k->contended[hd_rng_below(&s->rng, k->ncontended)] : 0;
  for (unsigned e = 1; e <= k->events.n; e++) {
    int of_it = r->object && k->events.event[e].object == r->object;
    r->chosen[e] = of_it && (all || hd_rng_below(&s->rng, 2));
    some |= r->chosen[e];
  }
  for (unsigned e = 1; e <= k->events.n; e++) {
    if (!some) r->chosen[e] = r->object && k->events.event[e].object == r->object;
    for (unsigned t = 0; r->chosen[e] && t < THREADS; t++) r->left[t] += k->cell[e][t].mean;
  }
}

static int begin(struct hd_search *s) {
  struct run *r = hd__own(s, sizeof *r);
  struct known *k = known(s);
  k->events.objects.fine = 1;
  hd_rng_seed(&s->rng, s->config->seed, s->execution);
  hd__sample_begin(s);
  for (uint32_t i = 0; i < r->ntouched; i++) {
    uint32_t event = r->touched[i] / THREADS;
    r->done[event][r->touched[i] % THREADS] = 0;
    r->changed[event] = 0;
  }
  for (unsigned t = 0; t < THREADS; t++) r->parent[t] = 0;
  r->ntouched = r->nthreads = r->last = 0;
  r->there = r->held = (struct hd_set){{0}};
  r->intended = NOBODY;
  hd_search_lock(s);
  choose_events(s);
  hd_search_unlock(s);
  return 1;
}

/* ---- who goes ---- */

/* Whether an effect can come before or after those of others: what releases an object is the only one that is enabled. */
static int counts(unsigned effect) { return !(hd_effect_properties[effect] & HD_EFF_LETS_GO); }

static int interesting(struct known *k, const struct run *r, const struct hd_op *op) {
  if (!r->object) return 0;
  struct hd_touch t = hd__touch_of(&k->events.objects, op, 0);
  return t.n && t.object[0] == r->object && counts(t.effect[0]) &&
         r->chosen[hd__abstract_of(&k->events, op, &t, 0)];
}

/* The thread that is there and creates this one, perhaps through others; NOBODY: unknown. */
static unsigned creator(const struct known *k, const struct run *r, unsigned thread) {
  for (unsigned n = 0; n < THREADS; n++) {
    if (hd_set_has(&r->there, thread)) return thread;
    if (!k->parent[thread]) break;
    thread = k->parent[thread] - 1u;
  }
  return NOBODY;
}

/* What it and the threads that it has yet to create have left. */
static uint64_t weight(struct known *k, const struct run *r, const struct hd_point *p, unsigned thread) {
  uint64_t sum = thread < THREADS ? r->left[thread] : 0;
  for (unsigned u = 0; u < THREADS; u++)
    if (k->parent[u] && !hd_set_has(&r->there, u) && creator(k, r, u) == thread) sum += r->left[u];
  return sum < ONE && interesting(k, r, p->op[thread]) ? ONE : sum;
}

/* A number in [0, n). */
static uint64_t below(struct hd_search *s, uint64_t n) {
  return (uint64_t)(((unsigned __int128)hd_rng_next(&s->rng) * n) >> 64);
}

/* pre: one of the enabled threads is about to execute an interesting operation. */
static unsigned draw(struct hd_search *s, const struct hd_point *p) {
  struct run *r = s->own;
  uint64_t sum = 0;
  HD_SET_EACH (t, p->enabled, p->words) sum += weight(known(s), r, p, t);
  uint64_t at = below(s, sum);
  HD_SET_EACH (t, p->enabled, p->words) {
    uint64_t w = weight(known(s), r, p, t);
    if (at < w) return t;
    at -= w;
  }
  return NOBODY;
}

/* Nobody is held up any more. */
static void let_go(struct run *r) {
  r->held = (struct hd_set){{0}};
  r->intended = NOBODY;
}

/* Threads that are there for the first time. One that the intended thread has just created takes its turn over, with the
 * probability that it was meant. */
static void meet(struct hd_search *s, const struct hd_point *p) {
  struct run *r = s->own;
  struct known *k = known(s);
  HD_SET_EACH (t, p->enabled, p->words) {
    if (hd_set_has(&r->there, t)) continue;
    if (r->intended == r->last && r->object && t < THREADS) {
      uint64_t all = weight(k, r, p, r->last), own = r->left[t];
      if (k->parent[t] && own && below(s, all) < own) r->intended = t;
    }
    hd_set_add(&r->there, t);
    if (t < THREADS && t) r->parent[t] = (uint16_t)(r->last + 1);
    if (t >= r->nthreads) r->nthreads = t + 1;
  }
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct run *r = s->own;
  struct known *k = known(s);
  meet(s, p);
  HD_SET_EACH (t, p->enabled, p->words)
    if (hd__begins(p->op[t])) return (int)t;
  for (;;) {
    struct hd_set free;
    unsigned n = 0;
    for (unsigned w = 0; w < p->words; w++) {
      free.w[w] = p->enabled->w[w] & ~r->held.w[w];
      n += (unsigned)__builtin_popcountll(free.w[w]);
    }
    if (!n) { /* invariant 2 */
      let_go(r);
      continue;
    }
    unsigned t = hd_set_nth(&free, hd_rng_below(&s->rng, n));
    if (!interesting(k, r, p->op[t])) {
      if (hd_op_is(p->op[t]->kind, HD_TRAIT_YIELDS) && !hd_rng_below(&s->rng, YIELDS)) let_go(r);
      return (int)t;
    }
    if (r->intended == NOBODY) r->intended = draw(s, p);
    if (t == r->intended) {
      let_go(r);
      return (int)t;
    }
    hd_set_add(&r->held, t);
  }
}

/* ---- what is learned ---- */

static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  struct run *r = s->own;
  hd__sample_event(s, op, flags, choice, nchoices);
  r->last = op->thread;
  if (op->thread >= THREADS) return;
  struct hd_touch t = hd__touch_of(&known(s)->events.objects, op, flags);
  unsigned e = hd__abstract_of(&known(s)->events, op, &t, 1);
  if (!e || !counts(t.effect[0]) || r->done[e][op->thread] == MOST) return;
  if (!r->done[e][op->thread]++) r->touched[r->ntouched++] = e * THREADS + op->thread;
  if (t.effect[0] != HD_EFF_READ) r->changed[e] = 1;
  if (r->chosen[e]) r->left[op->thread] -= r->left[op->thread] < ONE ? r->left[op->thread] : ONE;
}

static void learn(struct known *k, const struct run *r, unsigned event, unsigned thread) {
  struct cell *c = &k->cell[event][thread];
  unsigned object = k->events.event[event].object;
  int64_t n = (int64_t)r->done[event][thread] * ONE;
  uint32_t seen = c->seen < WINDOW ? c->seen + 1 : WINDOW;
  c->mean = (uint32_t)((int64_t)c->mean + (n - (int64_t)c->mean) / (int64_t)seen);
  c->seen = seen;
  int was = k->several[object] && k->changed[object];
  if (!k->first[object]) k->first[object] = (uint16_t)(thread + 1);
  k->several[object] |= k->first[object] != thread + 1;
  k->changed[object] |= r->changed[event];
  if (!was && k->several[object] && k->changed[object] && k->ncontended < HD_OBJECTS)
    k->contended[k->ncontended++] = (uint16_t)object;
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  const struct run *r = s->own;
  struct known *k = known(s);
  (void)p;
  hd__sample_end(s, how);
  if (how == HD_HOW_STOPPED && k->ncontended) return 1; /* its counts are of a part of the execution */
  hd_search_lock(s);
  for (uint32_t i = 0; i < r->ntouched; i++) learn(k, r, r->touched[i] / THREADS, r->touched[i] % THREADS);
  for (unsigned t = 1; t < r->nthreads && t < THREADS; t++)
    if (r->parent[t]) k->parent[t] = r->parent[t];
  hd_search_unlock(s);
  return 1;
}

/* ---- saved searches ---- */

static void save(struct hd_search *s, struct hd_writer *out) {
  const struct known *k = known(s);
  hd__abstracts_save(&k->events, out);
  for (unsigned t = 0; t < THREADS; t++) hd_put_number(out, k->parent[t]);
  for (uint32_t i = 0; i <= k->events.objects.n; i++) {
    hd_put_number(out, k->first[i]);
    hd_put_number(out, (uint64_t)(k->several[i] | k->changed[i] << 1));
  }
  for (uint32_t i = 1; i <= k->events.n; i++) {
    for (unsigned t = 0; t < THREADS; t++) {
      if (!k->cell[i][t].seen) continue;
      hd_put_number(out, t + 1);
      hd_put_number(out, k->cell[i][t].mean);
      hd_put_number(out, k->cell[i][t].seen);
    }
    hd_put_number(out, 0);
  }
  hd_put_number(out, k->ncontended);
  for (uint32_t i = 0; i < k->ncontended; i++) hd_put_number(out, k->contended[i]);
}

static void load(struct hd_search *s, struct hd_reader *r) {
  struct known *k = known(s);
  hd__abstracts_load(&k->events, r);
  for (unsigned t = 0; t < THREADS; t++) k->parent[t] = (uint16_t)hd_get_number(r, THREADS);
  for (uint32_t i = 0; i <= k->events.objects.n && !r->bad; i++) {
    k->first[i] = (uint16_t)hd_get_number(r, THREADS);
    uint64_t flags = hd_get_number(r, 3);
    k->several[i] = flags & 1;
    k->changed[i] = (uint8_t)(flags >> 1);
  }
  for (uint32_t i = 1; i <= k->events.n && !r->bad; i++)
    for (uint64_t t; (t = hd_get_number(r, THREADS)) && !r->bad;) {
      k->cell[i][t - 1].mean = (uint32_t)hd_get_number(r, UINT32_MAX);
      k->cell[i][t - 1].seen = (uint32_t)hd_get_number(r, WINDOW);
    }
  k->ncontended = (uint32_t)hd_get_number(r, HD_OBJECTS - 1);
  for (uint32_t i = 0; i < k->ncontended && !r->bad; i++)
    k->contended[i] = (uint16_t)hd_get_number(r, HD_OBJECTS - 1);
}

const struct hd_strategy hd_strategy_surw = {.name = "surw",
                                             .begin = begin,
                                             .pick = pick,
                                             .choose = hd__sample_choose,
                                             .event = event,
                                             .end = end,
                                             .save = save,
                                             .load = load};

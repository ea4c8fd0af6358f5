/* strategy_uniform.c: samples classes of equivalent schedules about equally often, and estimates how many there are. Runs
 * in the tested process.
 *
 * The tree that depth-first search with sleep sets walks (Godefroid, 1996) has one leaf for each class, besides branches
 * that end where everything sleeps. An execution descends it: at each state the threads of a persistent set that do not
 * sleep are the children, one is drawn, and those before it sleep from then on. The product of 1/p over all draws is an
 * unbiased estimate of the number of leaves (Knuth, "Estimating the Efficiency of Backtrack Programs", 1975), with 0
 * where everything sleeps. Any positive p will do; the closer they are to the sizes of the subtrees, the smaller the
 * error. A child is drawn in proportion to the contended operations that its thread has left, going by earlier
 * executions (Zhao, Wolff, Mathur, Roychoudhury, "Selectively Uniform Concurrency Testing", ASPLOS 2025): for threads
 * that contend for one object that is exact.
 *
 * Persistent sets come from *footprints*: which objects each thread has touched in any execution so far, and the number
 * of its last operation that did. A set is closed when nobody outside will touch what its pending operations touch.
 * Footprints are learned, so they may lack what was not seen yet. Therefore the estimate is started over when one grows,
 * and says nothing about behaviour that no sample has shown.
 *
 * Where everything sleeps the execution goes on, at random: as a sample it is as good as any. The same where a thread
 * yields for the YIELDS-th time while others sleep: it may wait for one of them, in a way that Heddle does not see.
 *
 * Invariants
 *  1. What an execution does depends on the seed, its number and the footprints.
 *  2. An operation that conflicts with nothing that another thread could do goes at once, with p = 1.
 *  3. An outcome that a sleeper would have is not known: the one with more conflicts is assumed. It may wake too early,
 *     and a class is then counted twice. */
#include "explore/explore_int.h"
#include "model/unit.h"

#define THREADS 64 /* with more there is no estimate */
#define STARTS 8   /* persistent sets that are tried at a state */
#define YIELDS 10
#define LEAST 0.25 /* operations that a thread has left, if it seems to have none */

/* What is known of the threads; in the search area. */
struct known {
  uint64_t epoch;
  uint32_t runs; /* since a footprint last grew */
  struct hd_objects objects;
  uint16_t last[THREADS][HD_OBJECTS]
               [2];          /* number of the last operation that touched it: [0] changed it, [1] read it */
  uint16_t parent[THREADS];  /* who created it, plus 1 */
  double contended[THREADS]; /* operations of an execution, on average */
};

/* The execution under way. */
struct run {
  double weight; /* 0: everything slept */
  int grown;
  int many; /* more threads than THREADS, or they must not be looked at: choices are random */
  unsigned nthreads, last, yields;
  uint64_t there, ended, asleep; /* sets of threads */
  uint32_t done[THREADS], contended[THREADS];
  struct hd_op sleeper[THREADS];
};

static struct known *known(struct hd_search *s) { return (struct known *)s->memory; }

static int is_known(const struct known *k, unsigned thread) { return !thread || k->parent[thread]; }

/* Only what is in use: the table is large, and most of it is never touched. */
static void forget_all(struct hd_search *s, struct known *k) {
  for (unsigned t = 0; t < THREADS; t++) {
    for (uint32_t i = 0; is_known(k, t) && i <= k->objects.n; i++) k->last[t][i][0] = k->last[t][i][1] = 0;
    k->parent[t] = 0;
    k->contended[t] = 0;
  }
  hd__objects_forget(&k->objects);
  k->runs = 0;
  k->epoch = s->shared->epoch + 1;
}

static int begin(struct hd_search *s) {
  struct run *r = hd__own(s, sizeof *r);
  struct known *k = known(s);
  if (k->epoch != s->shared->epoch + 1) forget_all(s, k);
  hd_rng_seed(&s->rng, s->config->seed, s->execution);
  hd__sample_begin(s);
  for (unsigned i = 0; i < r->nthreads; i++) r->done[i] = r->contended[i] = 0;
  r->weight = 1;
  r->grown = 0;
  r->many = s->probing; /* footprints grow with each operation, so they would differ the second time */
  r->nthreads = r->last = r->yields = 0;
  r->there = r->ended = r->asleep = 0;
  return 1;
}

/* ---- what an operation touches ---- */

/* It may conflict with anything. */
static int meets_all(const struct hd_op *op) {
  enum hd_effect e = hd_op_effect(op->kind, 0);
  return op->section != HD_SECTION_NONE || op->kind == HD_OP_SECTION || e == HD_EFF_END ||
         e == HD_EFF_INTERRUPT || (e == HD_EFF_FINISH && op->exit.decides);
}

/* Invariant 2. */
static int meets_none(const struct hd_op *op) {
  if (meets_all(op) || hd_op_is(op->kind, HD_TRAIT_YIELDS)) return 0;
  enum hd_effect e = hd_op_effect(op->kind, 0);
  return hd__begins(op) || e == HD_EFF_FINISH ||
         (!hd_conflicts[e] && !hd_conflicts[hd_op_second(op->kind, 0)]);
}

/* Whether the thread touches it, after so many of its operations. */
static int touches(const struct known *k, unsigned thread, const struct hd_touch *t, uint32_t after) {
  for (unsigned i = 0; i < t->n; i++) {
    const uint16_t *last = k->last[thread][t->object[i]];
    uint16_t n = t->effect[i] != HD_EFF_READ && last[1] > last[0] ? last[1] : last[0];
    if (n > after || n == UINT16_MAX) return 1;
  }
  return 0;
}

/* The thread that is there and creates this one, perhaps through others; THREADS: unknown. */
static unsigned creator(const struct known *k, const struct run *r, unsigned thread) {
  for (unsigned n = 0; n < THREADS && !(r->there >> thread & 1); n++) {
    if (!k->parent[thread]) return THREADS;
    thread = k->parent[thread] - 1u;
  }
  return thread;
}

/* The threads that will touch it, themselves or by threads that they create. */
static uint64_t those_that_touch(const struct known *k, const struct run *r, const struct hd_touch *t) {
  uint64_t set = 0;
  for (unsigned u = 0; u < THREADS; u++) {
    if (r->ended >> u & 1) continue;
    int there = r->there >> u & 1;
    if (!there && !k->parent[u]) continue;
    if (!touches(k, u, t, there ? r->done[u] : 0)) continue;
    unsigned by = creator(k, r, u);
    if (by < THREADS && !(r->ended >> by & 1)) set |= 1ull << by;
  }
  return set;
}

/* ---- the descent ---- */

/* The smallest closed set that contains the thread. */
static uint64_t closure(struct known *k, const struct run *r, const struct hd_point *p, unsigned thread) {
  uint64_t set = 1ull << thread, todo = set, all = r->there & ~r->ended;
  while (todo) {
    unsigned t = (unsigned)__builtin_ctzll(todo);
    todo &= todo - 1;
    if (meets_all(p->op[t])) return all;
    struct hd_touch touch = hd__touch_of(&k->objects, p->op[t], 0);
    uint64_t more = those_that_touch(k, r, &touch) & ~set;
    set |= more;
    todo |= more;
  }
  return set;
}

static uint64_t persistent(struct known *k, const struct run *r, const struct hd_point *p, uint64_t enabled) {
  uint64_t best = enabled;
  unsigned n = 0;
  for (uint64_t left = enabled; left && n < STARTS; left &= left - 1, n++) {
    uint64_t set = closure(k, r, p, (unsigned)__builtin_ctzll(left)) & enabled;
    if (__builtin_popcountll(set) < __builtin_popcountll(best)) best = set;
    if (!(best & (best - 1))) break;
  }
  return best;
}

static double left_of(const struct known *k, const struct run *r, unsigned t) {
  double n = k->contended[t] - r->contended[t];
  return k->runs && n > LEAST ? n : LEAST;
}

/* Notes who is there. */
static void meet(struct hd_search *s, const struct hd_point *p) {
  struct run *r = s->own;
  struct known *k = known(s);
  for (uint64_t left = p->enabled->w[0] & ~r->there; left; left &= left - 1) {
    unsigned t = (unsigned)__builtin_ctzll(left);
    r->there |= 1ull << t;
    if (t >= r->nthreads) r->nthreads = t + 1;
    if (t && !k->parent[t]) k->parent[t] = (uint16_t)(r->last + 1), r->grown = 1;
  }
}

static unsigned draw(struct hd_search *s, uint64_t set) {
  struct run *r = s->own;
  const struct known *k = known(s);
  double sum = 0, at;
  for (uint64_t left = set; left; left &= left - 1) sum += left_of(k, r, (unsigned)__builtin_ctzll(left));
  at = (double)(hd_rng_next(&s->rng) >> 11) * 0x1p-53 * sum;
  unsigned t = 0;
  for (uint64_t left = set; left; left &= left - 1) {
    t = (unsigned)__builtin_ctzll(left);
    at -= left_of(k, r, t);
    if (at < 0) break;
  }
  r->weight *= sum / left_of(k, r, t);
  return t;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct run *r = s->own;
  for (unsigned w = 1; w < p->words; w++) r->many |= p->enabled->w[w] != 0;
  if (r->many) return (int)hd_set_nth(p->enabled, hd_rng_below(&s->rng, p->nenabled));
  meet(s, p);
  uint64_t enabled = p->enabled->w[0];
  for (uint64_t left = r->asleep; left; left &= left - 1) { /* what it was about to do may be off */
    unsigned t = (unsigned)__builtin_ctzll(left);
    const struct hd_op *now = p->op[t], *then = &r->sleeper[t];
    if (!(enabled >> t & 1)) continue;
    if (now->kind != then->kind || now->object != then->object) r->asleep &= ~(1ull << t);
  }
  for (uint64_t left = enabled & ~r->asleep; left; left &= left - 1) {
    unsigned t = (unsigned)__builtin_ctzll(left);
    if (meets_none(p->op[t])) return (int)t;
  }
  uint64_t set = persistent(known(s), r, p, enabled) & ~r->asleep;
  if (!set) {
    r->weight = 0;
    set = enabled;
    r->asleep = 0;
  }
  unsigned t = draw(s, set);
  if (r->asleep && hd_op_is(p->op[t]->kind, HD_TRAIT_YIELDS) && ++r->yields % YIELDS == 0) {
    r->weight = 0;
    r->asleep = 0;
  }
  for (uint64_t before = set & ((1ull << t) - 1); before; before &= before - 1) {
    unsigned b = (unsigned)__builtin_ctzll(before);
    r->asleep |= 1ull << b;
    r->sleeper[b] = *p->op[b];
  }
  return (int)t;
}

static int choose(struct hd_search *s, unsigned n) {
  struct run *r = s->own;
  r->weight *= n;
  return hd__sample_choose(s, n);
}

/* ---- what is learned ---- */

static void learn(struct known *k, struct run *r, unsigned t, const struct hd_touch *touch) {
  uint16_t n = (uint16_t)(r->done[t] < UINT16_MAX ? r->done[t] : UINT16_MAX);
  for (unsigned i = 0; i < touch->n; i++) {
    uint16_t *last = &k->last[t][touch->object[i]][touch->effect[i] == HD_EFF_READ];
    if (n > *last) *last = n, r->grown = 1;
  }
}

static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  struct run *r = s->own;
  struct known *k = known(s);
  unsigned t = op->thread;
  hd__sample_event(s, op, flags, choice, nchoices);
  if (r->many || t >= THREADS) return;
  r->last = t;
  r->done[t]++;
  if (t >= r->nthreads) r->nthreads = t + 1;
  if (hd_op_effect(op->kind, flags) == HD_EFF_FINISH) r->ended |= 1ull << t;
  r->asleep &= ~(1ull << t);
  for (uint64_t left = r->asleep; left; left &= left - 1) {
    unsigned b = (unsigned)__builtin_ctzll(left);
    if (hd_dependent(&r->sleeper[b], 0, op, flags)) r->asleep &= ~(1ull << b);
  }
  struct hd_touch touch = hd__touch_of(&k->objects, op, 0);
  learn(k, r, t, &touch);
  int contended = 0;
  for (unsigned u = 0; u < THREADS && !contended; u++)
    contended = u != t && is_known(k, u) && touches(k, u, &touch, 0);
  r->contended[t] += (uint32_t)contended;
}

static void count(struct hd_search *s, double weight) {
  struct hd_estimate *e = &s->shared->estimate;
  hd_search_lock(s);
  if (s->status->epoch == s->shared->epoch) {
    e->samples++;
    e->sum += weight;
    e->squares += weight * weight;
    if (weight > e->largest) e->largest = weight;
  }
  hd_search_unlock(s);
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  const struct run *r = s->own;
  struct known *k = known(s);
  (void)p;
  hd__sample_end(s, how);
  if (r->grown) {
    k->runs = 0;
    hd_search_lock(s);
    s->shared->estimate = (struct hd_estimate){0};
    hd_search_unlock(s);
    return 1;
  }
  if (k->runs && !r->many) count(s, s->infeasible ? 0 : r->weight);
  uint32_t runs = k->runs + 1; /* other workers count, too */
  for (unsigned t = 0; t < r->nthreads; t++) k->contended[t] += (r->contended[t] - k->contended[t]) / runs;
  k->runs = runs;
  return 1;
}

/* ---- saved searches ---- */

static void put_real(struct hd_writer *out, double d) {
  union {
    double d;
    uint64_t n;
  } u = {d};
  hd_put_number(out, u.n);
}

static double get_real(struct hd_reader *r) {
  union {
    uint64_t n;
    double d;
  } u = {hd_get_number(r, UINT64_MAX)};
  return u.d;
}

static void save(struct hd_search *s, struct hd_writer *out) {
  const struct known *k = known(s);
  const struct hd_estimate *e = &s->shared->estimate;
  int valid = k->epoch == s->shared->epoch + 1;
  static const struct hd_objects none;
  uint32_t n = valid ? k->objects.n : 0;
  hd_put_number(out, valid ? k->runs : 0);
  hd__objects_save(valid ? &k->objects : &none, out);
  for (unsigned t = 0; t < THREADS; t++) {
    hd_put_number(out, valid ? k->parent[t] : 0);
    put_real(out, valid ? k->contended[t] : 0);
    for (uint32_t i = 0; is_known(k, t) && n && i <= n; i++) {
      hd_put_number(out, k->last[t][i][0]);
      hd_put_number(out, k->last[t][i][1]);
    }
  }
  hd_put_number(out, valid);
  hd_put_number(out, e->samples);
  put_real(out, e->sum);
  put_real(out, e->squares);
  put_real(out, e->largest);
}

static void load(struct hd_search *s, struct hd_reader *r) {
  struct known *k = known(s);
  struct hd_estimate *e = &s->shared->estimate;
  forget_all(s, k);
  k->runs = (uint32_t)hd_get_number(r, UINT32_MAX);
  hd__objects_load(&k->objects, r);
  uint32_t n = k->objects.n;
  for (unsigned t = 0; t < THREADS && !r->bad; t++) {
    k->parent[t] = (uint16_t)hd_get_number(r, THREADS);
    k->contended[t] = get_real(r);
    for (uint32_t i = 0; is_known(k, t) && n && i <= n && !r->bad; i++) {
      k->last[t][i][0] = (uint16_t)hd_get_number(r, UINT16_MAX);
      k->last[t][i][1] = (uint16_t)hd_get_number(r, UINT16_MAX);
    }
  }
  if (!hd_get_number(r, 1)) k->epoch = 0;
  e->samples = hd_get_number(r, UINT64_MAX);
  e->sum = get_real(r);
  e->squares = get_real(r);
  e->largest = get_real(r);
}

const struct hd_strategy hd_strategy_uniform = {.name = "uniform",
                                                .begin = begin,
                                                .pick = pick,
                                                .choose = choose,
                                                .event = event,
                                                .end = end,
                                                .save = save,
                                                .load = load};

/* mta.c: multi-trace analysis: the driver `mta` (concolic.h). Runs in the supervisor.
 *
 * After Razavi 2014, section 3.4. First each thread is searched alone (sequential.c). Then, for an outcome of a branch that is
 * not covered, in an execution that came to the branch:
 *  1. Can the operations of this execution, in another order and with other inputs, lead to it? (section 3.2.3: symbolic
 *     prediction on one execution.)
 *  2. Can they if a read that the branch depends on sees a write of another execution, an interloper? Threads do what led to
 *     that write there, as far as it is not what they do here.
 * Each answer is executed, and what it shows for the first time is searched, too.
 *
 * Differences to algorithms 1 and 2 of the thesis:
 *  - The thesis inserts an interloper at each place between the last write and the last read of a variable, where all its
 *    threads are as they were when it began. Here it begins where its threads part from the first execution, and the
 *    question has all places: one question instead of many, and interlopers that begin before the last write.
 *  - An interloper is what its write follows from, instead of everything that happened meanwhile, and goes on until its
 *    threads hold no lock.
 *  - Every read that the branch depends on is tried, not only the last one of each variable.
 *  - Threads alone may have no end, with inputs that decide how often a loop runs: after a while both take turns.
 *  - The order of the first operations is fixed only as far as the question would be too large without.
 *
 * Invariants
 *  1. A question is asked once. The outcome with the fewest questions so far comes first.
 *  2. An execution is kept if some thread does what it did in no other. */
#include "concolic/concolic_int.h"

#include <stdlib.h>
#include <string.h>

#define ALONE 200      /* executions of threads alone; then every other one, as there may be no end of them */
#define MAX_COST 60000 /* of a question, about the number of its constraints */

struct run {
  struct hd__path path;
  struct hd_values inputs;
  uint64_t key; /* of what its threads do */
  struct {
    HD_VEC(uint32_t) v;
  } thread[HD_CC_THREADS]; /* events of each */
};

/* A branch in an execution, whose other outcome is asked for. */
struct instance {
  uint32_t run, event;
  size_t branch;                      /* of its other outcome */
  bool begun;                         /* question 1 was asked, ... */
  bool whole;                         /* ... with nothing fixed */
  uint32_t to_run, to_event, to_read; /* question 2: those before were asked */
  HD_VEC(uint32_t) read;              /* events that the branch depends on */
};

struct keys { /* sorted */
  uint64_t *v;
  size_t n, cap;
};

struct mta {
  struct hd_cc base;
  struct hd_cc *alone; /* each thread by itself; NULL: over */
  bool begun;
  bool of_alone; /* the execution under way */
  HD_VEC(struct run *) run;
  HD_VEC(struct instance) instance;
  HD_VEC(uint32_t) questions; /* of each branch */
  struct keys runs, instances, asked;
  struct hd__initials initials;
  struct hd__symbols symbols;
  size_t aim; /* what the plan under way is for: branch plus 1 */
  enum hd_cc_way way;
};

static struct hd_cc *create(const struct hd_cc_options *o) {
  (void)o;
  struct mta *m = hd_alloc(sizeof *m);
  return &m->base;
}

static void free_run(struct run *r) {
  hd__path_fini(&r->path);
  hd_values_free(&r->inputs);
  for (unsigned t = 0; t < HD_CC_THREADS; t++) hd_vec_free(&r->thread[t].v);
  free(r);
}

static void destroy(struct hd_cc *c) {
  struct mta *m = (struct mta *)c;
  hd_cc_free(m->alone);
  for (size_t i = 0; i < m->run.n; i++) free_run(m->run.v[i]);
  for (size_t i = 0; i < m->instance.n; i++) hd_vec_free(&m->instance.v[i].read);
  hd_vec_free(&m->run);
  hd_vec_free(&m->instance);
  hd_vec_free(&m->questions);
  hd_vec_free(&m->runs);
  hd_vec_free(&m->instances);
  hd_vec_free(&m->asked);
  hd_vec_free(&m->initials);
  hd__symbols_free(&m->symbols);
}

static uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15ull;
  return h ^ h >> 29;
}

/* Adds it; false: it was there. */
static bool add_key(struct keys *s, uint64_t key) {
  size_t from = 0, to = s->n;
  while (from < to) {
    size_t mid = (from + to) / 2;
    if (s->v[mid] < key)
      from = mid + 1;
    else
      to = mid;
  }
  if (from < s->n && s->v[from] == key) return false;
  hd_vec_push(s, key);
  memmove(s->v + from + 1, s->v + from, (s->n - 1 - from) * sizeof *s->v);
  s->v[from] = key;
  return true;
}

static bool overlap(const struct hd_cc_event *a, const struct hd_cc_event *b) {
  return a->object < b->object + b->size && b->object < a->object + a->size;
}

/* ---- executions ---- */

static void add_initials(struct mta *m, const struct hd__path *p) {
  for (uint32_t i = 0; i < p->n; i++) {
    const struct hd_cc_event *e = &p->event[i];
    bool known = e->kind != HD_CC_READ || p->source[i];
    for (size_t k = 0; k < m->initials.n && !known; k++)
      known = m->initials.v[k].object == e->object && m->initials.v[k].size == e->size;
    if (!known) hd_vec_push(&m->initials, ((struct hd__initial){e->object, e->value, e->size}));
  }
}

/* Reads that the condition of a branch depends on, also through what was written. */
static void add_reads(const struct mta *m, struct instance *in) {
  const struct hd__path *p = &m->run.v[in->run]->path;
  struct hd_exprs *x = m->base.x;
  HD_VEC(uint32_t) by_symbol = {0}; /* read events plus 1 */
  HD_VEC(hd_expr_ref) stack = {0};
  bool *found = hd_alloc(p->n + 1);
  for (uint32_t i = 0; i < in->event; i++) {
    if (p->event[i].kind != HD_CC_READ) continue;
    uint32_t s = (uint32_t)hd_expr_node(x, p->event[i].expr)->value;
    while (by_symbol.n <= s) hd_vec_push(&by_symbol, 0);
    by_symbol.v[s] = i + 1;
  }
  hd_vec_push(&stack, p->event[in->event].expr);
  while (stack.n) {
    struct hd_symbols in_top = {0};
    hd_expr_ref top = stack.v[--stack.n];
    hd_expr_symbols(x, &top, 1, &in_top);
    for (size_t i = 0; i < in_top.n; i++) {
      uint32_t read = in_top.v[i] < by_symbol.n ? by_symbol.v[in_top.v[i]] : 0;
      if (!read-- || found[read]) continue;
      found[read] = true;
      hd_vec_push(&in->read, read);
      if (p->source[read]) hd_vec_push(&stack, p->event[p->source[read] - 1].expr);
    }
    hd_vec_free(&in_top);
  }
  free(found);
  hd_vec_free(&by_symbol);
  hd_vec_free(&stack);
}

/* Branches of the run whose other outcome is not covered. */
static void add_instances(struct mta *m, uint32_t run) {
  struct run *r = m->run.v[run];
  for (uint32_t i = 0; i < r->path.n; i++) {
    struct hd_cc_event other = r->path.event[i];
    other.taken = !other.taken;
    if (other.kind != HD_CC_BRANCH || !other.counts || other.fixed || hd__is_covered(&m->base, &other))
      continue;
    if (!add_key(&m->instances, mix(r->key, r->path.local[i]))) continue;
    struct instance in = {.run = run, .event = i, .branch = hd__branch_number(&m->base, &other, other.taken)};
    add_reads(m, &in);
    hd_vec_push(&m->instance, in);
  }
}

static void add_run(struct mta *m, const struct hd_cc_event *event, size_t n) {
  struct run *r = hd_alloc(sizeof *r);
  struct hd__path *p = &r->path;
  if (!hd__path_init(p, m->base.x, event, n)) m->base.stats.too_large++;
  for (uint32_t i = 0; i < p->n; i++) {
    const struct hd_cc_event *e = &p->event[i];
    hd_vec_push(&r->thread[e->thread].v, i);
    if (e->kind == HD_CC_BRANCH && e->counts)
      hd__cover(&m->base, e, m->of_alone ? HD_CC_REORDERED : (int)m->way);
    if (e->kind == HD_CC_OTHER && e->step) m->base.stats.others++;
  }
  add_initials(m, p);
  for (unsigned t = 0; t < p->nthreads; t++)
    if (r->thread[t].v.n) r->key = mix(r->key, p->local[r->thread[t].v.v[r->thread[t].v.n - 1]]);
  if (!add_key(&m->runs, r->key)) {
    free_run(r);
    return;
  }
  for (size_t i = 0; i < m->base.inputs.n; i++) hd_values_set(&r->inputs, (uint32_t)i, m->base.inputs.v[i]);
  hd_vec_push(&m->run, r);
  add_instances(m, (uint32_t)m->run.n - 1);
}

/* What threads have covered alone, whatever the others did after them. */
static void cover_alone(struct mta *m) {
  size_t n;
  const struct hd_cc_branch *b = hd_cc_branches(m->alone, &n);
  for (size_t i = 0; i < n; i++) {
    struct hd_cc_event e = {.site = b[i].site, .thread = b[i].thread, .taken = b[i].taken};
    if (b[i].covered) hd__cover(&m->base, &e, HD_CC_ALONE);
  }
}

static void observe(struct hd_cc *c, const struct hd_cc_event *event, size_t n) {
  struct mta *m = (struct mta *)c;
  if (!m->begun) {
    m->alone = hd_cc_new(HD_CC_SEQUENTIAL, c->x, c->solver, &c->o);
    m->begun = m->of_alone = true;
  }
  if (m->of_alone) {
    hd_cc_observe(m->alone, event, n);
    cover_alone(m);
  }
  add_run(m, event, n);
  if (!m->aim) return;
  bool reached = c->branch.v[m->aim - 1].covered;
  c->stats.realized += reached;
  c->stats.diverged += !reached;
  m->aim = 0;
}

/* ---- interlopers ---- */

static void follow(const struct hd__path *p, uint32_t event, uint32_t *upto) {
  for (unsigned t = 0; t < p->nthreads; t++)
    if (upto[t] < p->clock[event * p->nthreads + t]) upto[t] = p->clock[event * p->nthreads + t];
}

/* The end of the operation that the thread is in, or the place where it holds no lock. */
static uint32_t lock_free(const struct run *r, unsigned t, uint32_t upto) {
  const struct hd_cc_event *event = r->path.event;
  const uint32_t *at = r->thread[t].v.v;
  uint32_t n = (uint32_t)r->thread[t].v.n, end = upto;
  int depth = 0;
  for (uint32_t i = 0; i < upto; i++)
    depth += (event[at[i]].kind == HD_CC_LOCK) - (event[at[i]].kind == HD_CC_UNLOCK);
  for (uint32_t i = upto; i < n; i++) {
    const struct hd_cc_event *e = &event[at[i]];
    if (e->step && depth <= 0) break;
    depth += (e->kind == HD_CC_LOCK) - (e->kind == HD_CC_UNLOCK);
    if (e->kind != HD_CC_BRANCH || depth > 0) end = i + 1;
  }
  return depth > 0 ? upto : end;
}

/* What leads to the write, up to where no lock is held: how many events of each thread. */
static void interloper(const struct run *r, uint32_t write, uint32_t *upto) {
  memset(upto, 0, HD_CC_THREADS * sizeof *upto);
  follow(&r->path, write, upto);
  for (bool more = true; more;) {
    more = false;
    for (unsigned t = 0; t < r->path.nthreads; t++) {
      uint32_t end = upto[t] ? lock_free(r, t, upto[t]) : 0;
      if (end == upto[t]) continue;
      follow(&r->path, r->thread[t].v.v[end - 1], upto);
      more = true;
    }
  }
}

/* ---- questions ---- */

/* How many events of the thread both have in common. */
static uint32_t common(const struct run *a, const struct run *b, unsigned t) {
  uint32_t n = 0;
  while (n < a->thread[t].v.n && n < b->thread[t].v.n &&
         a->path.local[a->thread[t].v.v[n]] == b->path.local[b->thread[t].v.v[n]])
    n++;
  return n;
}

struct use {
  uint64_t object;
  bool writes;
};

static int by_object(const void *a, const void *b) {
  const struct use *x = a, *y = b;
  return (x->object > y->object) - (x->object < y->object);
}

/* About how many constraints a question has. */
static double cost(const struct run *r, uint32_t fixed, const struct run *other, const uint32_t *upto) {
  HD_VEC(struct use) use = {0};
  double sum = 0;
  for (uint32_t i = fixed; i < r->path.n; i++)
    hd_vec_push(&use, ((struct use){r->path.event[i].kind > HD_CC_WRITE ? 0 : r->path.event[i].object,
                                    r->path.event[i].kind == HD_CC_WRITE}));
  for (unsigned t = 0; other && t < other->path.nthreads; t++)
    for (uint32_t i = common(r, other, t); i < upto[t]; i++) {
      const struct hd_cc_event *e = &other->path.event[other->thread[t].v.v[i]];
      hd_vec_push(&use, ((struct use){e->kind > HD_CC_WRITE ? 0 : e->object, e->kind == HD_CC_WRITE}));
    }
  if (use.n) qsort(use.v, use.n, sizeof *use.v, by_object);
  for (size_t i = 0, k; i < use.n; i = k) {
    double reads = 0, writes = 0;
    for (k = i; k < use.n && use.v[k].object == use.v[i].object; k++)
      if (use.v[k].writes)
        writes++;
      else
        reads++;
    sum += use.v[i].object ? reads * (writes + 1) * (writes + 1) : reads;
  }
  hd_vec_free(&use);
  return sum;
}

/* Fixes as many of the first operations as needed, none from `limit` on. False: the question is too large. */
static bool fix(struct hd__question *q, const struct run *r, const struct run *other, uint32_t limit) {
  q->fixed = 0;
  while (cost(r, q->fixed, other, q->upto) > MAX_COST) {
    uint32_t at = q->fixed + (r->path.n - q->fixed) / 8 + 1;
    while (at < limit && !r->path.event[at].step) at++;
    if (at >= limit) return false;
    q->fixed = at;
  }
  return true;
}

static bool ask(struct mta *m, struct instance *in, struct hd__question *q, enum hd_cc_way way,
                enum hd_smt_answer *answer) {
  struct run *r = m->run.v[in->run];
  struct hd_cc *c = &m->base;
  q->run = &r->path;
  q->inputs = &r->inputs;
  q->initials = &m->initials;
  q->target = in->event;
  c->stats.scenarios++;
  *answer = hd__question_ask(c, q, &m->symbols);
  c->stats.no_inputs += *answer == HD_SMT_UNSAT;
  c->stats.unknown += *answer == HD_SMT_UNKNOWN;
  m->way = way;
  return true;
}

/* Question 2, for a write of another run and a read of this one. False: it is none, or was asked. */
static bool ask_combined(struct mta *m, struct instance *in, uint32_t other, uint32_t write, uint32_t read,
                         enum hd_smt_answer *answer) {
  struct run *r = m->run.v[in->run], *o = m->run.v[other];
  const struct hd_cc_event *w = &o->path.event[write], *e = &r->path.event[read];
  uint32_t upto[HD_CC_THREADS];
  unsigned target = r->path.event[in->event].thread;
  if (w->thread == e->thread || !overlap(w, e)) return false;
  interloper(o, write, upto);
  uint64_t key = mix(mix(in->run, in->event), read);
  uint32_t limit = read < in->event ? read : in->event;
  bool new = false;
  for (unsigned t = 0; t < o->path.nthreads; t++) {
    uint32_t same = common(r, o, t);
    if (!upto[t]) continue;
    key = mix(key, o->path.local[o->thread[t].v.v[upto[t] - 1]]);
    if (t == target && upto[t] > (same < r->path.index[in->event] ? same : r->path.index[in->event]))
      return false;
    if (upto[t] <= same) continue;
    new = true;
    if (same < r->thread[t].v.n && r->thread[t].v.v[same] < limit) limit = r->thread[t].v.v[same];
  }
  if ((!new && in->whole) || !add_key(&m->asked, mix(key, o->path.local[write]))) return false;
  struct hd__question q = {.other = &o->path, .upto = upto, .read = read, .seen = w};
  if (fix(&q, r, o, limit)) return ask(m, in, &q, HD_CC_COMBINED, answer);
  m->base.stats.too_large++;
  return false;
}

/* The next question about an instance. False: there is none, or it is late. */
static bool ask_next(struct mta *m, struct instance *in, double deadline, enum hd_smt_answer *answer) {
  if (!in->begun) {
    struct hd__question q = {0};
    in->begun = true;
    if (fix(&q, m->run.v[in->run], NULL, in->event)) {
      in->whole = !q.fixed;
      return ask(m, in, &q, HD_CC_REORDERED, answer);
    }
    m->base.stats.too_large++;
  }
  for (; in->to_run < m->run.n; in->to_run++, in->to_event = 0) {
    const struct hd__path *p = &m->run.v[in->to_run]->path;
    if (in->to_run == in->run) continue;
    for (; in->to_event < p->n; in->to_event++, in->to_read = 0) {
      if (p->event[in->to_event].kind != HD_CC_WRITE) continue;
      if (deadline > 0 && hd_now() >= deadline) return false;
      while (in->to_read < in->read.n)
        if (ask_combined(m, in, in->to_run, in->to_event, in->read.v[in->to_read++], answer)) return true;
    }
  }
  return false;
}

/* What is asked about least comes first; with a target, the nearer the more often. */
static double rank(const struct mta *m, const struct instance *in) {
  const struct hd_cc_options *o = &m->base.o;
  double asked = 1.0 + m->questions.v[in->branch];
  return o->distance ? asked * (1.0 + o->distance(o->distance_arg, m->base.branch.v[in->branch].site))
                     : asked;
}

/* The next instance; NULL: nothing is left to ask. */
static struct instance *choose(struct mta *m) {
  struct instance *best = NULL;
  double least = 0;
  while (m->questions.n < m->base.branch.n) hd_vec_push(&m->questions, 0);
  for (size_t i = 0; i < m->instance.n; i++) {
    struct instance *in = &m->instance.v[i];
    if (m->base.branch.v[in->branch].covered || (in->begun && in->to_run == m->run.n)) continue;
    double here = rank(m, in);
    bool newer = best && best->branch == in->branch && best->begun && !in->begun;
    if (best && (here > least || (here >= least && !newer))) continue;
    best = in;
    least = here;
  }
  return best;
}

/* The next plan of the driver `sequential`. False: it has ended. */
static bool next_alone(struct mta *m, struct hd_cc_plan *out, double deadline, enum hd_cc_state *state) {
  struct hd_cc *c = &m->base;
  *state = hd_cc_next(m->alone, out, deadline);
  if (*state == HD_CC_LATE) return true;
  if (*state != HD_CC_GOES_ON) {
    const struct hd_cc_stats *st = hd_cc_stats(m->alone);
    c->stats.unknown += st->unknown;
    c->stats.diverged += st->diverged;
    hd_cc_free(m->alone);
    m->alone = NULL;
    return false;
  }
  c->inputs.n = 0;
  for (size_t i = 0; i < out->inputs->n; i++) hd_values_set(&c->inputs, (uint32_t)i, out->inputs->v[i]);
  c->stats.executions++;
  m->of_alone = true;
  return true;
}

/* Asks until there is an answer. HD_CC_MAX: nothing is left to ask. */
static enum hd_cc_state next_answer(struct mta *m, struct hd_cc_plan *out, double deadline) {
  struct hd_cc *c = &m->base;
  for (struct instance *in; (in = choose(m));) {
    enum hd_smt_answer answer;
    if (deadline > 0 && hd_now() >= deadline) return HD_CC_LATE;
    if (!ask_next(m, in, deadline, &answer)) continue;
    m->questions.v[in->branch]++;
    if (answer != HD_SMT_SAT) continue;
    c->stats.executions++;
    m->aim = in->branch + 1;
    m->of_alone = false;
    *out = (struct hd_cc_plan){.step = c->step.v,
                               .nsteps = c->step.n,
                               .tail = m->run.v[in->run]->path.event[in->event].thread,
                               .inputs = &c->inputs};
    return HD_CC_GOES_ON;
  }
  return HD_CC_MAX;
}

static enum hd_cc_state next(struct hd_cc *c, struct hd_cc_plan *out, double deadline) {
  struct mta *m = (struct mta *)c;
  enum hd_cc_state state;
  bool both = c->o.distance || c->stats.executions >= ALONE;
  if (m->alone && both && m->of_alone) {
    state = next_answer(m, out, deadline);
    if (state != HD_CC_MAX) return state;
  }
  if (m->alone && next_alone(m, out, deadline, &state)) return state;
  if (hd__all_covered(c)) return HD_CC_FULL;
  return next_answer(m, out, deadline);
}

const struct hd__driver hd__mta = {HD_CC_MTA, create, destroy, observe, next};

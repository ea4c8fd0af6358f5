/* strategy_rff.c: reads-from fuzzing. Runs in the tested process.
 *
 * Wolff, Shi, Duck, Mathur, Roychoudhury, "Greybox Fuzzing for Concurrency Testing", ASPLOS 2024. What a schedule does
 * follows from which write each read sees. An *abstract event* is a place of the code together with an object. An
 * *abstract schedule* is a set of constraints over them: the read r sees the write w, or it does not. A corpus has the
 * abstract schedules under which a pair (w, r) was seen for the first time. An execution takes one of them, mutates it
 * (a constraint is added, removed, replaced, or negated), and is steered: an operation that would satisfy a constraint
 * goes first, one that would break it is put off, and among equals the order is that of strategy_pos.c. Steering is no
 * more than a preference: most abstract schedules have no execution, and whatever is enabled may have to go. An execution
 * without constraints is the one that strategy_pos.c would run.
 *
 * Which schedule of the corpus is mutated depends on how rare its *combination* of pairs is, by a cut-off exponential
 * power schedule (Böhme, Pham, Roychoudhury, "Coverage-based Greybox Fuzzing as Markov Chain", CCS 2016): nothing for one
 * whose combination was seen more often than the average, else twice as much each time that it was taken.
 *
 * Differences from the paper:
 *  - Writes and reads are what the table of effects says (P(GIVES), P(SEES)): a lock sees who released it.
 *  - Schedules of the corpus are drawn in proportion to their energy instead of one after the other, so that an execution
 *    depends on nothing but the seed, its number and what is known.
 *  - A thread that is put off for too long is no longer (PATIENCE): the paper relies on threads that end.
 *
 * Everything is bounded: beyond the sizes below events, pairs and combinations are not told apart, and a new schedule
 * takes the place of the one whose combination was seen most often.
 *
 * Invariants
 *  1. What an execution does depends on the seed, its number and what is known; that changes only in end(), but for the
 *     numbers of objects and events, which depend on the executions in the same way.
 *  2. last[o] is the abstract event whose effect on o would be seen now; 0: nothing has changed it. */
#include "explore/explore_int.h"
#include "model/unit.h"

#define PAIRS 8192
#define COMBINATIONS 16384
#define CORPUS 256
#define CONSTRAINTS 8
#define PATIENCE 1000
#define MOST_ENERGY 64

struct constraint {
  uint16_t write, read; /* abstract events; write 0: the initial value */
  uint16_t negative;
};

struct schedule {
  uint64_t combination; /* of the execution that it was kept for */
  uint32_t taken;
  uint32_t n;
  struct constraint constraint[CONSTRAINTS];
};

struct combination {
  uint64_t hash; /* 0: none */
  uint64_t seen; /* executions */
};

/* What is known of the program; in the search area, which is zero at first. */
struct known {
  struct hd_abstracts events;
  uint32_t npairs, ncombinations, ncorpus;
  uint64_t executions;
  uint32_t pair[2 * PAIRS]; /* open addressing: write << 16 | read */
  struct combination combination[2 * COMBINATIONS];
  struct schedule corpus[CORPUS];
};

struct seen_pair {
  uint32_t pair, stamp;
};

/* What a pending operation touches: it is asked for at every step while the operation is pending. */
struct pending {
  uint64_t pc, object;
  unsigned kind, event;
  struct hd_touch touch;
};

/* The execution under way. */
struct run {
  struct hd_pos pos;
  struct schedule schedule;
  uint32_t parent;                /* entry of the corpus that was mutated, plus 1 */
  uint8_t satisfied[CONSTRAINTS]; /* a positive constraint is, and asks for nothing any more */
  uint32_t patience;
  uint16_t last[HD_OBJECTS];
  uint8_t rank[HD_MAX_THREADS];
  struct pending pending[HD_MAX_THREADS]; /* by thread; what has no event is to be looked up again */
  /* The pairs of this execution. */
  uint32_t stamp, npairs, nfresh;
  uint64_t hash;
  struct seen_pair seen[2 * PAIRS];
  uint32_t fresh[PAIRS]; /* those that no execution before it had */
};

static struct known *known(struct hd_search *s) { return (struct known *)s->memory; }

static int gives(unsigned effect) { return (hd_effect_properties[effect] & HD_EFF_GIVES) != 0; }
static int sees(unsigned effect) { return (hd_effect_properties[effect] & HD_EFF_SEES) != 0; }

/* ---- the abstract schedule of an execution ---- */

static const struct combination *find_combination(const struct known *k, uint64_t hash) {
  uint32_t i = (uint32_t)(hash % (2 * COMBINATIONS));
  while (k->combination[i].hash && k->combination[i].hash != hash) i = (i + 1) % (2 * COMBINATIONS);
  return &k->combination[i];
}

static uint32_t energy(const struct known *k, const struct schedule *c) {
  uint64_t average = k->executions / (k->ncombinations ? k->ncombinations : 1);
  if (find_combination(k, c->combination)->seen > average + 1) return 0;
  return c->taken < 6 ? 1u << c->taken : MOST_ENERGY;
}

/* The schedule of the corpus to begin with, plus 1; 0: there is none. */
static uint32_t draw_schedule(struct hd_search *s, const struct known *k) {
  uint32_t sum = 0, n = k->ncorpus;
  if (!n) return 0;
  for (uint32_t i = 0; i < n; i++) sum += energy(k, &k->corpus[i]);
  if (!sum) return 1 + hd_rng_below(&s->rng, n);
  uint32_t at = hd_rng_below(&s->rng, sum), i = 0;
  for (uint32_t e; i < n - 1 && at >= (e = energy(k, &k->corpus[i])); i++) at -= e;
  return i + 1;
}

/* A read and a write of one object, or its initial value. Returns 0 when none was found. */
static int draw_constraint(struct hd_search *s, const struct known *k, struct constraint *c) {
  for (unsigned tries = 0; tries < 16 && k->events.n; tries++) {
    unsigned r = 1 + hd_rng_below(&s->rng, k->events.n), n = 1, w = 0;
    if (!k->events.event[r].sees) continue;
    for (unsigned e = 1; e <= k->events.n; e++)
      if (k->events.event[e].gives && k->events.event[e].object == k->events.event[r].object &&
          !hd_rng_below(&s->rng, ++n))
        w = e;
    if (n == 1) continue;
    *c = (struct constraint){.write = (uint16_t)w, .read = (uint16_t)r};
    return 1;
  }
  return 0;
}

static void mutate(struct hd_search *s, const struct known *k, struct schedule *c) {
  struct constraint drawn;
  unsigned how = c->n ? hd_rng_below(&s->rng, 4) : 0;
  unsigned at = c->n ? hd_rng_below(&s->rng, c->n) : 0;
  if (how == 0 && c->n == CONSTRAINTS) how = 1;
  switch (how) {
    case 0: /* insert */
      if (draw_constraint(s, k, &drawn)) c->constraint[c->n++] = drawn;
      break;
    case 1: /* swap */
      if (draw_constraint(s, k, &drawn)) c->constraint[at] = drawn;
      break;
    case 2: /* delete */ c->constraint[at] = c->constraint[--c->n]; break;
    default: /* negate */ c->constraint[at].negative ^= 1;
  }
}

static int begin(struct hd_search *s) {
  struct run *r = hd__own(s, sizeof *r);
  struct known *k = known(s);
  k->events.objects.fine = 1;
  hd_rng_seed(&s->rng, s->config->seed, s->execution);
  hd__sample_begin(s);
  hd__pos_begin(&r->pos);
  for (unsigned i = 0; i < HD_OBJECTS; i++) r->last[i] = 0;
  for (unsigned i = 0; i < CONSTRAINTS; i++) r->satisfied[i] = 0;
  r->patience = PATIENCE;
  r->npairs = r->nfresh = 0;
  r->hash = 0;
  if (!++r->stamp) { /* 0 marks what is empty */
    for (unsigned i = 0; i < 2 * PAIRS; i++) r->seen[i].stamp = 0;
    r->stamp = 1;
  }
  hd_search_lock(s);
  r->parent = s->unsteered ? 0 : draw_schedule(s, k);
  r->schedule = r->parent ? k->corpus[r->parent - 1] : (struct schedule){0};
  if (r->parent) mutate(s, k, &r->schedule);
  hd_search_unlock(s);
  return 1;
}

/* ---- steering ---- */

enum { PUT_OFF, NEUTRAL, PREFERRED };

/* What a constraint makes of an operation. `changes`: it changes what is seen of the constraint's object. */
static int wish(const struct run *r, const struct constraint *c, unsigned event, int changes,
                unsigned object) {
  int now = r->last[object] == c->write; /* the read would see it */
  int reads = event == c->read, writes = event == c->write;
  if (c->negative) return !now ? 0 : reads ? -1 : changes && !writes;
  if (now) return reads ? 1 : -changes;
  return c->write ? writes - reads : 0;
}

static const struct pending *look_up(struct known *k, struct run *r, unsigned thread,
                                     const struct hd_op *op) {
  struct pending *q = &r->pending[thread];
  enum hd_payload payload = hd_op_payload(op->kind);
  if (q->event && q->pc == op->pc && q->object == op->object && q->kind == op->kind &&
      payload != HD_PAYLOAD_WAIT && payload != HD_PAYLOAD_AWAIT) /* which have other objects, too */
    return q;
  *q = (struct pending){
      .pc = op->pc, .object = op->object, .kind = op->kind, .touch = hd__touch_of(&k->events.objects, op, 0)};
  q->event = hd__abstract_of(&k->events, op, &q->touch, 0);
  return q;
}

static uint8_t rank_of(struct known *k, struct run *r, unsigned thread, const struct hd_op *op) {
  const struct pending *q = look_up(k, r, thread, op);
  int take = 0, avoid = 0;
  for (uint32_t i = 0; i < r->schedule.n; i++) {
    const struct constraint *c = &r->schedule.constraint[i];
    if (r->satisfied[i]) continue;
    unsigned object = k->events.event[c->read].object;
    int changes = 0;
    for (unsigned j = 0; j < q->touch.n; j++)
      changes |= q->touch.object[j] == object && gives(q->touch.effect[j]);
    int w = wish(r, c, q->event, changes, object);
    take |= w > 0;
    avoid |= w < 0;
  }
  return take == avoid ? NEUTRAL : take ? PREFERRED : PUT_OFF;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct run *r = s->own;
  int steered = r->schedule.n && r->patience && p->nenabled > 1, off = 0;
  hd__pos_look(s, &r->pos, p);
  if (steered)
    HD_SET_EACH (t, p->enabled, p->words) {
      r->rank[t] = rank_of(known(s), r, t, p->op[t]);
      off |= r->rank[t] == PUT_OFF;
    }
  unsigned t = hd__pos_best(&r->pos, p, steered ? r->rank : NULL);
  hd__pos_picked(&r->pos, t);
  if (off && r->rank[t] != PUT_OFF) r->patience--;
  return (int)t;
}

/* ---- what is learned ---- */

static int is_known_pair(const struct known *k, uint32_t pair) {
  uint32_t i = (uint32_t)(hd_mix64(pair) % (2 * PAIRS));
  while (k->pair[i] && k->pair[i] != pair) i = (i + 1) % (2 * PAIRS);
  return k->pair[i] == pair;
}

static void note_pair(const struct known *k, struct run *r, unsigned write, unsigned read) {
  uint32_t pair = write << 16 | read, i = (uint32_t)(hd_mix64(pair) % (2 * PAIRS));
  for (; r->seen[i].stamp == r->stamp; i = (i + 1) % (2 * PAIRS))
    if (r->seen[i].pair == pair) return;
  if (r->npairs == PAIRS) return;
  r->seen[i] = (struct seen_pair){pair, r->stamp};
  r->npairs++;
  r->hash += hd_mix64(pair);
  if (!is_known_pair(k, pair)) r->fresh[r->nfresh++] = pair;
  for (uint32_t c = 0; c < r->schedule.n; c++)
    if (!r->schedule.constraint[c].negative && r->schedule.constraint[c].write == write &&
        r->schedule.constraint[c].read == read)
      r->satisfied[c] = 1;
}

static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  struct run *r = s->own;
  struct known *k = known(s);
  hd__sample_event(s, op, flags, choice, nchoices);
  hd__pos_event(&r->pos, op, flags);
  struct hd_touch t = hd__touch_of(&k->events.objects, op, flags);
  unsigned event = hd__abstract_of(&k->events, op, &t, 1);
  if (!event) return;
  for (unsigned i = 0; i < t.n; i++) {
    if (!t.object[i]) continue;
    if (sees(t.effect[i])) {
      if (!i) k->events.event[event].sees = 1;
      note_pair(k, r, r->last[t.object[i]], event);
    }
    if (gives(t.effect[i])) {
      if (!i) k->events.event[event].gives = 1;
      r->last[t.object[i]] = (uint16_t)event;
    }
  }
}

static void add_pair(struct known *k, uint32_t pair) {
  uint32_t i = (uint32_t)(hd_mix64(pair) % (2 * PAIRS));
  while (k->pair[i] && k->pair[i] != pair) i = (i + 1) % (2 * PAIRS);
  if (k->pair[i] || k->npairs == PAIRS) return;
  k->pair[i] = pair;
  k->npairs++;
}

static void count_combination(struct known *k, uint64_t hash) {
  struct combination *c = (struct combination *)find_combination(k, hash);
  if (!c->hash) {
    if (k->ncombinations == COMBINATIONS) return;
    c->hash = hash;
    k->ncombinations++;
  }
  c->seen++;
}

/* Keeps the schedule of this execution. */
static void keep(struct known *k, const struct run *r) {
  uint32_t at = k->ncorpus;
  if (at == CORPUS) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < CORPUS; i++) {
      uint64_t seen = find_combination(k, k->corpus[i].combination)->seen;
      if (seen >= most) most = seen, at = i;
    }
  }
  k->corpus[at] = r->schedule;
  k->corpus[at].combination = r->hash | 1;
  k->corpus[at].taken = 0;
  if (at == k->ncorpus) k->ncorpus++;
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  const struct run *r = s->own;
  struct known *k = known(s);
  (void)p;
  hd__sample_end(s, how);
  hd_search_lock(s);
  k->executions++;
  count_combination(k, r->hash | 1);
  if (r->parent && r->parent <= k->ncorpus) k->corpus[r->parent - 1].taken++;
  int fresh = 0;
  for (uint32_t i = 0; i < r->nfresh; i++) fresh |= !is_known_pair(k, r->fresh[i]);
  if (fresh || !k->ncorpus) keep(k, r);
  for (uint32_t i = 0; i < r->nfresh; i++) add_pair(k, r->fresh[i]);
  hd_search_unlock(s);
  return 1;
}

/* ---- saved searches ---- */

static void save(struct hd_search *s, struct hd_writer *out) {
  const struct known *k = known(s);
  hd__abstracts_save(&k->events, out);
  hd_put_number(out, k->executions);
  hd_put_number(out, k->npairs);
  for (uint32_t i = 0; i < 2 * PAIRS; i++)
    if (k->pair[i]) hd_put_number(out, k->pair[i]);
  hd_put_number(out, k->ncombinations);
  for (uint32_t i = 0; i < 2 * COMBINATIONS; i++)
    if (k->combination[i].hash) {
      hd_put_number(out, k->combination[i].hash);
      hd_put_number(out, k->combination[i].seen);
    }
  hd_put_number(out, k->ncorpus);
  for (uint32_t i = 0; i < k->ncorpus; i++) {
    const struct schedule *c = &k->corpus[i];
    hd_put_number(out, c->combination);
    hd_put_number(out, c->taken);
    hd_put_number(out, c->n);
    for (uint32_t j = 0; j < c->n; j++) {
      hd_put_number(out, c->constraint[j].write);
      hd_put_number(out, c->constraint[j].read);
      hd_put_number(out, c->constraint[j].negative);
    }
  }
}

static void load_schedule(struct known *k, struct hd_reader *r) {
  struct schedule *c = &k->corpus[k->ncorpus];
  c->combination = hd_get_number(r, UINT64_MAX);
  c->taken = (uint32_t)hd_get_number(r, UINT32_MAX);
  c->n = (uint32_t)hd_get_number(r, CONSTRAINTS);
  for (uint32_t j = 0; j < c->n; j++) {
    c->constraint[j].write = (uint16_t)hd_get_number(r, k->events.n);
    c->constraint[j].read = (uint16_t)hd_get_number(r, k->events.n);
    c->constraint[j].negative = (uint16_t)hd_get_number(r, 1);
  }
  k->ncorpus++;
}

static void load(struct hd_search *s, struct hd_reader *r) {
  struct known *k = known(s);
  hd__abstracts_load(&k->events, r);
  k->executions = hd_get_number(r, UINT64_MAX);
  for (uint64_t n = hd_get_number(r, PAIRS); n > 0 && !r->bad; n--)
    add_pair(k, (uint32_t)hd_get_number(r, UINT32_MAX));
  for (uint64_t n = hd_get_number(r, COMBINATIONS); n > 0 && !r->bad; n--) {
    uint64_t hash = hd_get_number(r, UINT64_MAX) | 1;
    struct combination *c = (struct combination *)find_combination(k, hash);
    if (!c->hash) k->ncombinations++;
    *c = (struct combination){hash, hd_get_number(r, UINT64_MAX)};
  }
  for (uint64_t n = hd_get_number(r, CORPUS); n > 0 && !r->bad; n--) load_schedule(k, r);
}

const struct hd_strategy hd_strategy_rff = {.name = "rff",
                                            .begin = begin,
                                            .pick = pick,
                                            .choose = hd__sample_choose,
                                            .event = event,
                                            .end = end,
                                            .save = save,
                                            .load = load};

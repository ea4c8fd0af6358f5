/* strategy_aim.c: drives executions to given lines. Runs in the tested process.
 *
 * Guided testing (Rungta, "Guided Testing for Automatic Error Discovery in Concurrent Software", BYU 2009): a greedy
 * depth-first search that prefers schedules which have reached more of a sequence of places (the meta heuristic, chapter
 * 3), then those whose threads are nearest to the next place (the distance heuristic, chapter 4). At the end of an
 * execution that did not get there, it continues from an earlier state (stochastic backtracking, 3.2.3), or puts a
 * definition that some other thread has to make before the lines and restarts (refinement, 2.6).
 *
 * Differences from the thesis
 *  - A state is the list of decisions that leads to it, and is entered by executing these again. Successors are ranked by
 *    the pending operations of the threads, before they are executed.
 *  - Distances are computed by the supervisor for every range of code (abi/aim.h). The distance of a thread is the
 *    smallest of: to the place from where it is; to the end of its function and on from its caller; and so on.
 *  - The branch that keeps the execution from the line is the next one with definitions after the point that came
 *    nearest. Each definition is tried alone first; then they are drawn as in the thesis, and one goes before or after
 *    those that were drawn before.
 *  - A definition that no execution could make may be behind a branch itself: its definitions go before it (the thesis has an
 *    abstract trace to each definition), or it is dropped.
 *  - An execution in which no thread can get to the next place any more is given up.
 *  - A definition that was passed without an event counts as made in half of the executions.
 *  - Half of the executions ignore the distances at some of their picks: these may lead to the same places for ever.
 *
 * Invariants
 *  1. What an execution does depends on the seed, its number and the search memory as of its beginning. `begin` changes
 *     nothing there that a second call would not.
 *  2. The plan is data of the supervisor: rows, columns and branches are valid.
 *  3. Memory is bounded: when there are max_nodes nodes, no more states are kept.
 * Never complete. */
#include "explore/explore_int.h"

#define NONE UINT32_MAX
#define DEEP 64        /* callers that are looked at */
#define PREFIX 1000000 /* decisions of a state that is kept, at most */
#define KEEP HD_AIM_STATES
#define FIRST_PLAIN 16 /* executions without progress that always go with the distances */
#define ALL 8

/* A decision of an execution; those before it are its parents. */
struct node {
  uint32_t parent;
  uint16_t step; /* thread, or outcome of a choice */
  uint8_t chosen;
  uint8_t unused;
};
/* A state to return to. */
struct state {
  uint32_t node;
  uint32_t h;
  uint32_t level; /* places that were reached */
  uint32_t key;   /* random: which of equal ones comes first */
};

struct run {
  uint32_t from;      /* state that it returns to, NONE: it starts at the beginning */
  uint32_t prefix;    /* decisions to repeat */
  uint32_t at;        /* of them that were */
  uint32_t node;      /* of the last decision */
  uint32_t level;     /* definitions that were made, in their order */
  uint32_t best;      /* distance of the state that it is in */
  uint32_t near;      /* smallest distance to the next place */
  uint32_t line_near; /* ... to the next line ... */
  uint64_t near_pc;
  unsigned aimed; /* ... with so many lines reached before */
  uint32_t noise; /* of 8 picks so many ignore the distances */
  int lost;       /* the next place can no longer be reached */
  int trusts;     /* a definition that was passed without an event is thought to be made */
  int began;      /* the last event began a thread */
  uint32_t column;
  struct hd_set alive;
  uint32_t h[HD_MAX_THREADS];
  uint8_t known[HD_MAX_THREADS]; /* h is that of the pending operation, for `column` */
  uint32_t step[PREFIX];
};

static struct hd_aim_plan *plan(struct hd_search *s) { return (struct hd_aim_plan *)s->memory; }
static struct node *nodes(struct hd_search *s) { return (struct node *)(s->memory + plan(s)->at_nodes); }
static struct state *states(struct hd_search *s) {
  return (struct state *)(nodes(s) + plan(s)->max_nodes + 1);
}
static uint64_t *nstates(struct hd_search *s) { return &plan(s)->nstates; }

_Static_assert(HD_AIM_NODE_BYTES == sizeof(struct node) &&
                   HD_AIM_STATE_BYTES * HD_AIM_STATES == sizeof(struct state) * KEEP,
               "the supervisor makes room for them");

/* ---- distances ---- */

/* The place in the code before that return address. */
static uint64_t code_of(struct hd_search *s, uint64_t pc) {
  for (unsigned i = 0; i < s->config->aims.nlibraries && i < HD_MAX_AIM_LIBRARIES; i++) {
    if (s->library[i].base && pc > s->library[i].start && pc <= s->library[i].end)
      return HD_AIM_CODE(i + 1, pc - 1 - s->library[i].base);
  }
  return pc - 1 - s->base;
}

/* The range of code with that return address; NONE: it is not known. */
static uint32_t row_of(struct hd_search *s, uint64_t pc) {
  const struct hd_aim_plan *p = plan(s);
  const uint64_t *row = (const uint64_t *)(s->memory + p->at_row);
  uint64_t at = code_of(s, pc);
  uint32_t lo = 0, hi = p->nrows;
  while (lo < hi) {
    uint32_t mid = (lo + hi) / 2;
    if (row[mid] <= at)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo ? lo - 1 : NONE;
}

static uint32_t to(struct hd_search *s, uint32_t row, uint32_t column) {
  const uint32_t *d = (const uint32_t *)(s->memory + plan(s)->at_distance);
  return row == NONE ? HD_AIM_FAR : d[(uint64_t)row * plan(s)->ncolumns + column];
}

/* From the pending operation of the thread, through its callers. */
static uint32_t distance(struct hd_search *s, unsigned thread, const struct hd_op *op, uint32_t column) {
  uint64_t pc[DEEP];
  const uint32_t *end = (const uint32_t *)(s->memory + plan(s)->at_end);
  unsigned n = 1;
  if (!plan(s)->nrows) return HD_AIM_FAR;
  pc[0] = op->pc;
  if (s->walk) n = s->walk(s, thread, pc, DEEP);
  uint32_t best = HD_AIM_FAR, way = 0;
  for (unsigned i = 0; i < n && way < best; i++) {
    uint32_t row = row_of(s, pc[i]), d = to(s, row, column);
    if (row == NONE) continue; /* code without facts: it returns at once */
    if (d < HD_AIM_FAR && way + d < best) best = way + d;
    way += end[row];
    if (way >= HD_AIM_FAR) break;
  }
  return best;
}

/* The line to go to: after the last one that one, which is to fail. */
static uint32_t next_line(struct hd_search *s) {
  return s->aimed < plan(s)->naims ? s->aimed : plan(s)->naims - 1;
}

/* The place to go to. */
static uint32_t next_column(struct hd_search *s, const struct run *r) {
  const struct hd_aim_plan *p = plan(s);
  return r->level < p->nsequence ? p->sequence[r->level] : next_line(s);
}

/* Places that were reached: definitions, then lines. */
static uint32_t level_of(struct hd_search *s, const struct run *r) {
  return r->level < plan(s)->nsequence ? r->level : plan(s)->nsequence + s->aimed;
}

static uint32_t distance_of(struct hd_search *s, struct run *r, const struct hd_point *p, unsigned t) {
  if (!r->known[t]) r->h[t] = distance(s, t, p->op[t], r->column), r->known[t] = 1;
  return r->h[t];
}

/* What the secondary heuristic says of the thread: the less the better. */
static uint32_t rank(struct hd_search *s, struct run *r, const struct hd_point *p, unsigned t) {
  const struct hd_aim_plan *pl = plan(s);
  uint32_t d = distance_of(s, r, p, t);
  if (pl->heuristic == HD_AIM_DISTANCE) return d;
  if (d == 0 && !pl->unmeta) return 0; /* it is there: the next place is reached */
  if (pl->heuristic == HD_AIM_RANDOM) return 1 + (uint32_t)(hd_rng_next(&s->rng) >> 44);
  return t < 64 && (pl->prefers >> t & 1) ? 1 : 2;
}

/* ---- states ---- */

static uint32_t add_node(struct hd_search *s, uint32_t parent, unsigned step, int chosen) {
  struct hd_aim_plan *p = plan(s);
  if (p->nnodes >= p->max_nodes || parent == NONE) return NONE;
  nodes(s)[++p->nnodes] = (struct node){parent, (uint16_t)step, (uint8_t)chosen, 0};
  return (uint32_t)p->nnodes;
}

/* Keeps it; in the place of one that is no better when there are too many. */
static void keep(struct hd_search *s, uint32_t node, uint32_t h, uint32_t level) {
  struct state *v = states(s), new = {node, h, level, (uint32_t)hd_rng_next(&s->rng)};
  uint64_t n = *nstates(s);
  if (node == NONE) return;
  if (n < KEEP) {
    v[n] = new;
    *nstates(s) = n + 1;
    return;
  }
  struct state *old = &v[hd_rng_below(&s->rng, KEEP)];
  if (old->level < level || (old->level == level && old->h >= h)) *old = new;
}

static int better(const struct state *a, const struct state *b, int by_level) {
  if (by_level && a->level != b->level) return a->level > b->level;
  return a->h != b->h ? a->h < b->h : a->key < b->key;
}

/* Stochastic backtracking: the best state of a level that is drawn among those that have any. Best first: of all. */
static uint32_t pick_state(struct hd_search *s) {
  const struct state *v = states(s);
  uint64_t n = *nstates(s);
  uint32_t best = NONE, level = 0;
  int any = plan(s)->search == HD_AIM_BEST_FIRST;
  if (!n) return NONE;
  if (!any) {
    uint32_t top = 0;
    for (uint64_t i = 0; i < n; i++) top = v[i].level > top ? v[i].level : top;
    uint32_t want = hd_rng_below(&s->rng, top + 1);
    for (level = HD_AIM_FAR; level == HD_AIM_FAR; want = want ? want - 1 : top)
      for (uint64_t i = 0; i < n && level == HD_AIM_FAR; i++)
        if (v[i].level == want) level = want;
  }
  for (uint32_t i = 0; i < n; i++)
    if ((any || v[i].level == level) && (best == NONE || better(&v[i], &v[best], any && !plan(s)->unmeta)))
      best = i;
  return best;
}

static void drop_states(struct hd_search *s) { *nstates(s) = plan(s)->nnodes = 0; }

/* ---- an execution ---- */

/* Half of the executions go with the distances; they alone may lead to the same places for ever. */
static uint32_t noise_of(uint32_t draw) { return draw < 4 ? 0 : draw < 6 ? 1 : draw < 7 ? 3 : ALL; }

static int begin(struct hd_search *s) {
  struct hd_aim_plan *p = plan(s);
  if (!p->ncolumns || (p->patience && p->idle >= p->patience)) return 0;
  struct run *r = hd__own(s, sizeof *r);
  /* Executions that are given up have the number of the next one. */
  int again = p->execution == s->execution && !p->ended; /* its process died */
  hd_rng_seed(&s->rng, s->config->seed + ((p->idle + 8191 * p->refined + 131071 * p->backtracks) << 20),
              s->execution);
  hd__sample_begin(s);
  if (!again) {
    if (p->execution && !p->ended) p->idle++;
    p->nodes_before = p->nnodes;
    p->states_before = p->nstates;
  }
  p->nnodes = p->nodes_before;
  p->nstates = p->states_before;
  p->execution = s->execution;
  p->ended = 0;
  /* Without distances most states that are kept lead nowhere. */
  r->from = p->fresh || (!p->nrows && hd_rng_below(&s->rng, 4)) ? NONE : pick_state(s);
  r->prefix = r->at = r->node = r->level = 0;
  r->aimed = 0;
  r->near = r->line_near = HD_AIM_FAR;
  r->near_pc = 0;
  r->noise = p->nrows && p->idle >= FIRST_PLAIN ? noise_of(hd_rng_below(&s->rng, 8)) : 0;
  r->lost = r->began = 0;
  r->trusts = p->idle < 2 || hd_rng_below(&s->rng, 2);
  r->alive = (struct hd_set){{1}};
  r->best = HD_AIM_FAR;
  r->column = NONE;
  for (unsigned i = 0; i < HD_MAX_THREADS; i++) r->known[i] = 0;
  if (r->from == NONE) return 1;
  for (uint32_t n = states(s)[r->from].node; n; n = nodes(s)[n].parent) r->prefix++;
  if (r->prefix > PREFIX) r->prefix = 0;
  uint32_t i = r->prefix;
  for (uint32_t n = states(s)[r->from].node; n && i; n = nodes(s)[n].parent) r->step[--i] = n;
  return 1;
}

/* Accesses to memory that a lock protects, for one, are no events. The thread that was on its way to the definition is farther
 * from it now: it has passed it, or gone another way. */
static void pass_unnoticed(struct hd_search *s, struct run *r, const struct hd_point *p) {
  unsigned t = p->current;
  if (!r->trusts || r->began || r->level >= plan(s)->nsequence || t >= HD_MAX_THREADS || !r->known[t]) return;
  uint32_t before = r->h[t];
  r->known[t] = 0;
  if (before >= HD_AIM_FAR || !hd_set_has(&r->alive, t)) return;
  if (distance_of(s, r, p, t) > before) r->level++;
}

/* Notes where the execution is: which place is next, how near it is, and whether any thread can still get there. */
static void look(struct hd_search *s, struct run *r, const struct hd_point *p) {
  const struct hd_aim_plan *pl = plan(s);
  if (pl->nrows) pass_unnoticed(s, r, p);
  uint32_t column = next_column(s, r);
  if (p->current < HD_MAX_THREADS) r->known[p->current] = 0;
  if (column != r->column || s->aimed > r->aimed) {
    for (unsigned i = 0; i < HD_MAX_THREADS; i++) r->known[i] = 0;
    r->near = HD_AIM_FAR;
  }
  if (s->aimed > r->aimed) r->line_near = HD_AIM_FAR;
  r->column = column;
  r->aimed = s->aimed;
  if (!pl->nrows) return;
  int somebody = 0;
  HD_SET_EACH (t, &r->alive, HD_SET_WORDS) {
    uint32_t d = distance_of(s, r, p, t);
    if (d >= HD_AIM_FAR) continue;
    somebody = 1;
    if (!hd_set_has(p->enabled, t)) continue;
    if (d < r->near) r->near = d;
    if (r->level >= pl->nsequence && d < r->line_near) r->line_near = d, r->near_pc = p->op[t]->pc;
  }
  /* What was never near may be reached by ways that the facts do not have. A definition may have been made unnoticed: accesses to
   * memory that is not known to be shared are no events, and it becomes known only if the execution goes on. */
  r->lost = !somebody && r->near < HD_AIM_FAR && r->level >= pl->nsequence && pl->nearest_execution;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct run *r = s->own;
  const struct hd_aim_plan *pl = plan(s);
  look(s, r, p);
  if (r->at < r->prefix) {
    const struct node *n = &nodes(s)[r->step[r->at]];
    if (!n->chosen && n->step < p->words * 64 && hd_set_has(p->enabled, n->step)) {
      r->node = r->step[r->at++];
      return n->step;
    }
    r->prefix = r->at; /* it is not what it was */
  }
  if (r->lost && r->noise < ALL) return HD_PICK_GIVE_UP;
  int blind = r->noise && hd_rng_below(&s->rng, ALL) < r->noise;
  uint32_t best = HD_AIM_FAR, value[64];
  unsigned thread = HD_MAX_THREADS, equal = 0, k = 0;
  HD_SET_EACH (t, p->enabled, p->words) {
    uint32_t h = rank(s, r, p, t);
    if (k < 64) value[k++] = h;
    if (blind) h = 0;
    if (thread < HD_MAX_THREADS && h > best) continue;
    equal = thread < HD_MAX_THREADS && h == best ? equal + 1 : 1;
    best = h;
    if (hd_rng_below(&s->rng, equal) == 0) thread = t;
  }
  r->best = best;
  uint32_t parent = r->node, level = level_of(s, r);
  k = 0;
  HD_SET_EACH (t, p->enabled, p->words) {
    if (k == 64) break;
    if (t != thread) keep(s, add_node(s, parent, t, 0), value[k], level);
    k++;
  }
  r->node = add_node(s, parent, thread, 0);
  if (pl->search == HD_AIM_BEST_FIRST && p->nenabled > 1) {
    uint32_t other = pick_state(s);
    struct state here = {r->node, best, level, 0};
    if (other != NONE && r->node != NONE && better(&states(s)[other], &here, !pl->unmeta)) {
      keep(s, r->node, best, level);
      return HD_PICK_GIVE_UP;
    }
  }
  return (int)thread;
}

static int choose(struct hd_search *s, unsigned n) {
  struct run *r = s->own;
  if (r->at < r->prefix) {
    const struct node *d = &nodes(s)[r->step[r->at]];
    if (d->chosen && d->step < n) {
      r->node = r->step[r->at++];
      return d->step;
    }
    r->prefix = r->at;
  }
  unsigned outcome = hd_rng_below(&s->rng, n);
  r->node = add_node(s, r->node, outcome, 1);
  return (int)outcome;
}

static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  struct run *r = s->own;
  const struct hd_aim_plan *p = plan(s);
  hd__sample_event(s, op, flags, choice, nchoices);
  enum hd_effect effect = hd_op_effect(op->kind, flags);
  r->began = effect == HD_EFF_BEGIN || effect == HD_EFF_SPAWN;
  if (effect == HD_EFF_SPAWN && op->object < HD_MAX_THREADS) hd_set_add(&r->alive, (unsigned)op->object);
  if (effect == HD_EFF_FINISH) hd_set_del(&r->alive, op->thread);
  if (r->level >= p->nsequence || hd_op_object(op->kind) != HD_OBJ_MEMORY) return;
  if (!hd_op_does(op->kind, flags, HD_EFF_CHANGES)) return;
  if (to(s, row_of(s, op->pc), p->sequence[r->level]) == 0) r->level++;
}

/* ---- after an execution ---- */

/* The branch that the place is behind: the next one after the point that came nearest. */
static const struct hd_aim_branch *stuck_at(struct hd_search *s, const struct run *r, uint32_t column) {
  const struct hd_aim_branch *b = (const struct hd_aim_branch *)(s->memory + plan(s)->at_branches), *best = 0,
                             *other = 0;
  for (uint32_t i = 0; i < plan(s)->nbranches; i++) {
    if (b[i].aim != column || !b[i].n) continue;
    if (b[i].distance <= r->near && (!best || b[i].distance > best->distance)) best = &b[i];
    if (!other || b[i].distance < other->distance) other = &b[i];
  }
  return best ? best : other;
}

static void insert(struct hd_aim_plan *p, uint32_t at, uint32_t column) {
  for (uint32_t i = p->nsequence; i > at; i--) p->sequence[i] = p->sequence[i - 1];
  p->sequence[at] = column;
  p->nsequence++;
  p->refined++;
}

/* Puts a definition before the lines: first each one alone, then one more. Returns whether there is one. */
static int refine(struct hd_search *s, const struct run *r) {
  struct hd_aim_plan *p = plan(s);
  const uint32_t *definition = (const uint32_t *)(s->memory + p->at_definitions);
  const struct hd_aim_branch *b = stuck_at(s, r, next_line(s));
  if (!b) return 0;
  uint32_t column = definition[b->first + hd_rng_below(&s->rng, b->n)], at = 0;
  p->alone = 0;
  for (uint32_t i = 0; i < b->n; i++) {
    uint32_t c = definition[b->first + i];
    if (p->tried[c >> 6] >> (c & 63) & 1) continue;
    p->tried[c >> 6] |= 1ull << (c & 63);
    p->nsequence = 0;
    p->alone = 1;
    column = c;
    break;
  }
  if (p->nsequence && hd_rng_below(&s->rng, 2)) at = p->nsequence;
  insert(p, at, column);
  return 1;
}

/* The next definition could not be made: it may be behind a branch itself, which another definition decides. That goes before
 * it, once each was tried alone; else it is dropped, with those after it. */
static void refine_definition(struct hd_search *s, const struct run *r) {
  struct hd_aim_plan *p = plan(s);
  const uint32_t *definition = (const uint32_t *)(s->memory + p->at_definitions);
  const struct hd_aim_branch *b = stuck_at(s, r, p->sequence[r->level]);
  if (b && !p->alone && p->nsequence < HD_AIM_SEQUENCE && hd_rng_below(&s->rng, 4)) {
    insert(p, r->level, definition[b->first + hd_rng_below(&s->rng, b->n)]);
    return;
  }
  p->nsequence = hd_rng_below(&s->rng, 4) ? r->level : 0;
  p->restarts++;
}

static int end(struct hd_search *s, const struct hd_point *pt, enum hd_how how) {
  struct hd_aim_plan *p = plan(s);
  struct run *r = s->own;
  hd__sample_end(s, how);
  (void)pt;
  if (s->aimed > r->aimed) r->aimed = s->aimed, r->near = r->line_near = HD_AIM_FAR;
  int progress =
      s->aimed > p->reached || (s->aimed == p->reached && r->line_near < p->nearest) || !p->nearest_execution;
  if (progress) {
    p->reached = s->aimed;
    p->nearest = r->line_near;
    p->nearest_pc = r->near_pc;
    p->nearest_execution = s->execution;
  }
  p->idle = progress ? 0 : p->idle + 1;
  p->ended = 1;
  p->fresh = 0;
  if (r->from != NONE && *nstates(s)) {
    p->backtracks++;
    if (r->from < *nstates(s)) states(s)[r->from] = states(s)[--*nstates(s)];
  }
  if (how == HD_HOW_BLOCKED && !r->lost) return 1;
  if (p->refines && r->noise < ALL / 4 && hd_rng_below(&s->rng, 8)) {
    int changed = 0;
    if (r->level < p->nsequence) { /* these definitions were not made */
      refine_definition(s, r);
      changed = 1;
    } else if (p->nsequence < HD_AIM_SEQUENCE) {
      changed = refine(s, r);
    } else {
      p->nsequence = 0;
      p->restarts++;
      changed = 1;
    }
    if (changed) {
      drop_states(s);
      p->fresh = 1;
    }
  }
  return !p->patience || p->idle < p->patience;
}

const struct hd_strategy hd_strategy_aim = {
    .name = HD_AIM_NAME, .begin = begin, .pick = pick, .choose = choose, .event = event, .end = end};

/* order.c: is there an order of a scenario's events? (concolic.h). Runs in the supervisor.
 *
 * The constraints are those of the thesis, figure 6.4 (TC), with its misprint in LC1 corrected: order of each thread, a
 * thread after its creation and before it is joined, critical sections that do not overlap, and each read after the
 * write that it sees, with no other write to the same memory in between. Since what each read sees is given, a search with
 * three rules solves them without a solver:
 *  1. A write does not happen while an event that has yet to come reads what it would overwrite.
 *  2. What restricts no other event happens at once: reads that see what they have to, releases, creations, branches, and
 *     writes that no one else's accesses to that memory follow, or that nobody reads while nobody needs what is there.
 *  3. Where there is a choice (a write, a lock), all are tried, the thread of the last event first. A state from which
 *     there was no way on (positions and last writers) is not tried again. */
#include "concolic/concolic_int.h"

#include <stdlib.h>
#include <string.h>

#define MAX_STATES 20000

void hd__case_fini(struct hd__case *k) {
  hd_vec_free(&k->node);
  hd_vec_free(&k->source);
  hd_vec_free(&k->local);
  hd_vec_free(&k->order);
}

static const struct hd__node *at(const struct hd__case *k, uint32_t event) {
  return &k->f->node.v[k->node.v[event]];
}

/* The event of a node of the scenario. */
static uint32_t event_of(const struct hd__case *k, uint32_t node) {
  const struct hd__node *n = &k->f->node.v[node];
  return k->first[n->e.thread] + n->depth - 1;
}

/* What a read of memory `var` sees at the start of a thread: the last write by its creator before the creation, or by
 * the creator of that. Returns an event plus 1; 0: the initial value. */
static uint32_t inherited(const struct hd__case *k, unsigned thread, uint32_t var) {
  for (;;) {
    if (!k->base[thread]) return 0;
    uint32_t create = k->node.v[k->base[thread] - 1];
    unsigned parent = k->f->node.v[create].e.thread;
    for (uint32_t up = create; up; up = k->f->node.v[up].parent)
      if (k->f->node.v[up].e.kind == HD_CC_WRITE && k->f->node.v[up].var == var) return event_of(k, up) + 1;
    if (parent == thread) return 0;
    thread = parent;
  }
}

void hd__case_init(struct hd__case *k, const struct hd__forest *f, const struct hd__scenario *c) {
  memset(k, 0, sizeof *k);
  k->f = f;
  k->c = c;
  for (uint32_t i = 0; i < c->nleaf; i++) {
    unsigned t = f->node.v[c->leaf[i]].e.thread;
    if (t >= k->nthreads) k->nthreads = t + 1;
  }
  for (unsigned t = 0; t < k->nthreads; t++) {
    uint32_t leaf = hd__scenario_leaf(f, c, t), n = leaf ? f->node.v[leaf].depth : 0;
    k->first[t] = (uint32_t)k->node.n;
    for (uint32_t i = 0; i < n; i++) hd_vec_push(&k->node, 0);
    for (uint32_t i = n; i-- > 0; leaf = f->node.v[leaf].parent) k->node.v[k->first[t] + i] = leaf;
  }
  k->first[k->nthreads] = (uint32_t)k->node.n;
  for (uint32_t i = 0; i < k->node.n; i++)
    if (at(k, i)->e.kind == HD_CC_CREATE) k->base[at(k, i)->e.child] = i + 1;
  for (uint32_t i = 0; i < k->node.n; i++) {
    const struct hd__node *n = at(k, i);
    uint32_t source = 0, from = n->e.kind == HD_CC_READ ? hd__scenario_source(c, k->node.v[i]) : 0;
    if (n->e.kind == HD_CC_READ)
      source = from       ? event_of(k, from) + 1
               : n->local ? event_of(k, n->local) + 1
                          : inherited(k, n->e.thread, n->var);
    hd_vec_push(&k->source, source);
    hd_vec_push(&k->local, n->e.kind == HD_CC_READ && !from);
  }
}

/* ---- the search ---- */

struct state {
  uint32_t *pos;      /* of each thread: its next event */
  uint32_t *last;     /* of each memory: the last write's event plus 1 */
  uint32_t *readers;  /* of each event, plus 1: reads to come that see it; [nvars ... ]: initial values */
  uint32_t *accesses; /* of each memory: events to come, of any thread */
  uint16_t *owner;    /* of each lock: thread plus 1 */
  uint16_t *depth;    /* how often it has it */
  unsigned current;
};

struct search {
  struct hd__case *k;
  bool lax;
  size_t nvars, nlocks, nevents;
  uint32_t *var; /* of each event: number of its memory or lock in the scenario */
  bool *created;
  size_t bytes;
  HD_VEC(uint64_t) seen; /* states without a way on: open addressing */
  size_t nseen, states;
};

static uint32_t *field(struct state *s, const struct search *q, char *mem) {
  unsigned nt = q->k->nthreads;
  s->pos = (uint32_t *)mem;
  s->last = s->pos + nt;
  s->readers = s->last + q->nvars;
  s->accesses = s->readers + q->nevents + q->nvars;
  s->owner = (uint16_t *)(s->accesses + q->nvars);
  s->depth = s->owner + q->nlocks;
  return (uint32_t *)mem;
}

static size_t bytes_of(const struct search *q) {
  return (q->k->nthreads + q->nvars + q->nevents + 2 * q->nvars) * 4 + q->nlocks * 4 + 16;
}

/* Where the readers of what the memory holds are counted. */
static uint32_t *readers_of(const struct search *q, struct state *s, uint32_t var) {
  return s->last[var] ? &s->readers[s->last[var] - 1] : &s->readers[q->nevents + var];
}

static bool wanted_elsewhere(const struct search *q, const struct state *s, uint32_t event) {
  /* Events to come on the same memory, of other threads. */
  const struct hd__case *k = q->k;
  unsigned t = at(k, event)->e.thread;
  uint32_t others = s->accesses[q->var[event]];
  for (uint32_t i = s->pos[t]; i < k->first[t + 1]; i++) {
    unsigned kind = at(k, i)->e.kind;
    if ((kind == HD_CC_READ || kind == HD_CC_WRITE) && q->var[i] == q->var[event]) others--;
  }
  return others > 0;
}

static bool child_ended(const struct search *q, const struct state *s, unsigned child) {
  const struct hd__case *k = q->k;
  if (child >= k->nthreads || s->pos[child] < k->first[child + 1]) return false;
  return k->first[child] < k->first[child + 1] && at(k, k->first[child + 1] - 1)->e.kind == HD_CC_END;
}

static bool begun(const struct search *q, const struct state *s, unsigned thread) {
  const struct hd__case *k = q->k;
  if (!k->base[thread]) return true;
  uint32_t create = k->base[thread] - 1;
  return s->pos[at(k, create)->e.thread] > create;
}

enum can { NEVER, CHOICE, AT_ONCE };

static enum can alone(const struct search *q, struct state *s, uint32_t e) {
  const struct hd__case *k = q->k;
  const struct hd_cc_event *x = &at(k, e)->e;
  uint32_t v = q->var[e];
  if (e == k->first[x->thread] && !begun(q, s, x->thread)) return NEVER;
  switch (x->kind) {
    case HD_CC_READ:
      if (q->lax && k->local.v[e]) return AT_ONCE;
      return s->last[v] == k->source.v[e] ? AT_ONCE : NEVER;
    case HD_CC_WRITE:
      if (*readers_of(q, s, v)) return NEVER;
      if (!s->readers[e] || !wanted_elsewhere(q, s, e)) return AT_ONCE;
      return CHOICE;
    case HD_CC_LOCK:
      if (s->owner[v] && s->owner[v] != x->thread + 1) return NEVER;
      return s->owner[v] ? AT_ONCE : CHOICE;
    case HD_CC_JOIN: return child_ended(q, s, x->child) ? AT_ONCE : NEVER;
    default: return AT_ONCE;
  }
}

/* An operation that reads and writes is one step: both or none. */
static enum can can(const struct search *q, struct state *s, uint32_t e) {
  const struct hd__case *k = q->k;
  enum can out = alone(q, s, e);
  if (out == NEVER || e + 1 >= k->first[at(k, e)->e.thread + 1]) return out;
  const struct hd_cc_event *x = &at(k, e)->e, *y = &at(k, e + 1)->e;
  if (x->kind != HD_CC_READ || y->kind != HD_CC_WRITE || y->step) return out;
  bool counted = q->var[e] == q->var[e + 1] && !(q->lax && k->local.v[e]);
  if (*readers_of(q, s, q->var[e + 1]) > counted) return NEVER;
  return s->readers[e + 1] && wanted_elsewhere(q, s, e + 1) ? CHOICE : AT_ONCE;
}

static void perform(const struct search *q, struct state *s, uint32_t e) {
  const struct hd__case *k = q->k;
  const struct hd_cc_event *x = &at(k, e)->e;
  uint32_t v = q->var[e];
  s->pos[x->thread]++;
  s->current = x->thread;
  switch (x->kind) {
    case HD_CC_READ:
      s->accesses[v]--;
      if (q->lax && k->local.v[e]) break;
      --*(k->source.v[e] ? &s->readers[k->source.v[e] - 1] : &s->readers[q->nevents + v]);
      break;
    case HD_CC_WRITE:
      s->accesses[v]--;
      s->last[v] = e + 1;
      break;
    case HD_CC_LOCK:
      s->owner[v] = (uint16_t)(x->thread + 1);
      s->depth[v]++;
      break;
    case HD_CC_UNLOCK:
      if (s->owner[v] == x->thread + 1 && --s->depth[v] == 0) s->owner[v] = 0;
      break;
    default: break;
  }
  hd_vec_push(&q->k->order, e);
  if (x->kind != HD_CC_READ || e + 1 >= k->first[x->thread + 1]) return;
  const struct hd_cc_event *next = &at(k, e + 1)->e;
  if (next->kind == HD_CC_WRITE && !next->step) perform(q, s, e + 1);
}

static uint64_t key_of(const struct search *q, const struct state *s) {
  uint64_t h = 1;
  for (unsigned t = 0; t < q->k->nthreads; t++) h = (h ^ s->pos[t]) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
  for (size_t v = 0; v < q->nvars; v++) h = (h ^ s->last[v]) * 0xbf58476d1ce4e5b9ull, h ^= h >> 32;
  return h | 1;
}

/* Marks the state as one without a way on; returns whether it was. */
static bool mark_state(struct search *q, uint64_t key, bool only_ask) {
  if (q->nseen * 2 >= q->seen.n) {
    size_t n = q->seen.n ? 2 * q->seen.n : 256;
    uint64_t *old = q->seen.v;
    size_t count = q->seen.n;
    q->seen.v = hd_alloc(n * sizeof *q->seen.v);
    q->seen.n = q->seen.cap = n;
    for (size_t i = 0; i < count; i++) {
      if (!old[i]) continue;
      size_t j = (size_t)(old[i] >> 7) & (n - 1);
      while (q->seen.v[j]) j = (j + 1) & (n - 1);
      q->seen.v[j] = old[i];
    }
    free(old);
  }
  size_t i = (size_t)(key >> 7) & (q->seen.n - 1);
  for (; q->seen.v[i]; i = (i + 1) & (q->seen.n - 1))
    if (q->seen.v[i] == key) return true;
  if (only_ask) return false;
  q->seen.v[i] = key;
  q->nseen++;
  return false;
}

/* Performs everything that restricts nothing. The current thread goes on first, so that there are few switches. */
static void go(const struct search *q, struct state *s) {
  const struct hd__case *k = q->k;
  for (bool moved = true; moved;) {
    moved = false;
    for (unsigned i = 0; i < k->nthreads; i++) {
      unsigned t = (s->current + i) % k->nthreads;
      while (s->pos[t] < k->first[t + 1] && can(q, s, s->pos[t]) == AT_ONCE) {
        perform(q, s, s->pos[t]);
        moved = true;
      }
      if (moved) break;
    }
  }
}

static enum hd__answer find(struct search *q, struct state *s) {
  const struct hd__case *k = q->k;
  go(q, s);
  bool done = true;
  for (unsigned t = 0; t < k->nthreads; t++) done &= s->pos[t] == k->first[t + 1];
  if (done) return HD__YES;
  uint64_t key = key_of(q, s);
  if (mark_state(q, key, true)) return HD__NO;
  if (++q->states > MAX_STATES) return HD__UNKNOWN;
  size_t kept = k->order.n;
  char *mem = hd_alloc(q->bytes);
  struct state next;
  field(&next, q, mem);
  unsigned current = s->current;
  enum hd__answer answer = HD__NO;
  for (unsigned i = 0; i < k->nthreads && answer == HD__NO; i++) {
    unsigned t = (current + i) % k->nthreads;
    if (s->pos[t] == k->first[t + 1] || can(q, s, s->pos[t]) != CHOICE) continue;
    memcpy(mem, s->pos, q->bytes);
    next.current = current;
    perform(q, &next, next.pos[t]);
    answer = find(q, &next);
    if (answer != HD__YES) q->k->order.n = kept;
  }
  free(mem);
  if (answer == HD__NO) mark_state(q, key, false);
  return answer;
}

/* Numbers the memory and the locks of the scenario. */
static void number(struct search *q) {
  const struct hd__case *k = q->k;
  HD_VEC(uint64_t) lock = {0};
  HD_VEC(uint32_t) var = {0};
  q->var = hd_alloc((k->node.n + 1) * sizeof *q->var);
  for (uint32_t i = 0; i < k->node.n; i++) {
    const struct hd__node *n = at(k, i);
    size_t v = 0;
    if (n->e.kind == HD_CC_READ || n->e.kind == HD_CC_WRITE) {
      while (v < var.n && var.v[v] != n->var) v++;
      if (v == var.n) hd_vec_push(&var, n->var);
    } else if (n->e.kind == HD_CC_LOCK || n->e.kind == HD_CC_UNLOCK) {
      while (v < lock.n && lock.v[v] != n->e.object) v++;
      if (v == lock.n) hd_vec_push(&lock, n->e.object);
    }
    q->var[i] = (uint32_t)v;
  }
  q->nvars = var.n;
  q->nlocks = lock.n;
  q->nevents = k->node.n;
  hd_vec_free(&lock);
  hd_vec_free(&var);
}

enum hd__answer hd__order(struct hd__case *k, bool lax) {
  struct search q = {.k = k, .lax = lax};
  struct state s;
  number(&q);
  q.bytes = bytes_of(&q);
  char *mem = hd_alloc(q.bytes);
  field(&s, &q, mem);
  k->order.n = 0;
  for (unsigned t = 0; t < k->nthreads; t++) s.pos[t] = k->first[t];
  for (uint32_t i = 0; i < k->node.n; i++) {
    unsigned kind = at(k, i)->e.kind;
    if (kind == HD_CC_READ || kind == HD_CC_WRITE) s.accesses[q.var[i]]++;
    if (kind != HD_CC_READ || (lax && k->local.v[i])) continue;
    ++*(k->source.v[i] ? &s.readers[k->source.v[i] - 1] : &s.readers[q.nevents + q.var[i]]);
  }
  s.current = k->f->node.v[k->c->sink].e.thread;
  enum hd__answer answer = find(&q, &s);
  free(mem);
  free(q.var);
  hd_vec_free(&q.seen);
  return answer;
}

/* A read that sees its own thread's write, of memory that another thread of the scenario writes: no other one can be in
 * the way. */
void hd__order_reads(const struct hd__case *k, struct hd__reads *reads) {
  for (uint32_t i = 0; i < k->node.n; i++) {
    if (!k->local.v[i]) continue;
    const struct hd__node *r = at(k, i);
    bool found = false;
    for (uint32_t w = 0; w < k->node.n && !found; w++) {
      const struct hd__node *n = at(k, w);
      found = n->e.kind == HD_CC_WRITE && n->var == r->var && n->e.thread != r->e.thread;
    }
    if (found) hd_vec_push(reads, k->node.v[i]);
  }
}

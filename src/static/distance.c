/* distance.c: distances in the code. Runs in the supervisor.
 *
 * The distance heuristic of guided testing (Rungta 2009, chapter 4: PFSM), with these corrections to the printed algorithm:
 * every edge counts, also into nodes that were seen before; a call costs one step and the shortest way through the function
 * it calls, two if that is not known (a library, or recursion without another way); calls by type take the best of all
 * candidates. What is left of the callers is added by whoever knows the call stack (explore/strategy_aim.c). */
#include "static/static.h"

#include <stdlib.h>

#define UNKNOWN_CALL 2
#define ROUNDS 3

/* Nodes to look at again. */
struct queue {
  uint32_t *v;
  bool *in;
  size_t n, cap, head;
};

static void push(struct queue *q, uint32_t x) {
  if (q->in[x]) return;
  q->in[x] = true;
  q->v[(q->head + q->n++) % q->cap] = x;
}

static uint32_t pop(struct queue *q) {
  uint32_t x = q->v[q->head];
  q->head = (q->head + 1) % q->cap;
  q->n--;
  q->in[x] = false;
  return x;
}

/* Edges and calls backwards. */
struct back {
  const struct hd_facts *f;
  uint32_t *first, *node;    /* nodes before a node */
  uint32_t *called, *caller; /* nodes that call a function, or begin a thread with it */
};

static void make_back(struct back *b, const struct hd_facts *f) {
  const struct hd_fact_node *nodes = hd_facts_nodes(f);
  const uint32_t *edges = hd_facts_edges(f);
  *b = (struct back){.f = f};
  b->first = hd_alloc((f->nnodes + 2) * sizeof *b->first);
  b->node = hd_alloc((f->nedges + 1) * sizeof *b->node);
  b->called = hd_alloc((f->nfunctions + 2) * sizeof *b->called);
  for (uint32_t i = 0; i < f->nedges; i++) b->first[edges[i] + 2]++;
  for (uint32_t i = 0; i < f->nnodes; i++) b->first[i + 1] += b->first[i];
  for (uint32_t i = 0; i < f->nnodes; i++)
    for (uint32_t k = 0; k < nodes[i].nedges; k++) b->node[b->first[edges[nodes[i].edge + k] + 1]++] = i;
  size_t total = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t i = 0; i < f->nnodes; i++)
      for (uint32_t k = 0; k < nodes[i].ncalls; k++) {
        const struct hd_fact_call *c = &hd_facts_calls(f)[nodes[i].call + k];
        uint32_t at = 0, g;
        if (c->flags & HD_FACT_INDIRECT || c->function != HD_FACT_NONE)
          while ((g = hd_facts_callee(f, c, &at)) != HD_FACT_NONE) {
            if (pass)
              b->caller[b->called[g + 1]++] = i;
            else
              b->called[g + 2]++, total++;
          }
      }
    if (pass) break;
    for (uint32_t i = 0; i < f->nfunctions; i++) b->called[i + 1] += b->called[i];
    b->caller = hd_alloc((total + 1) * sizeof *b->caller);
  }
}

static void free_back(struct back *b) {
  free(b->first);
  free(b->node);
  free(b->called);
  free(b->caller);
}

/* What it costs to go on after the node, if `through` is what functions cost. */
static uint32_t cost_of(const struct hd_facts *f, const struct hd_fact_node *n, const uint32_t *end) {
  uint32_t cost = 1;
  for (uint32_t k = 0; k < n->ncalls; k++) {
    const struct hd_fact_call *c = &hd_facts_calls(f)[n->call + k];
    if (c->flags & HD_FACT_SPAWNS) continue;
    uint32_t at = 0, g, best = HD_FACT_FAR;
    bool any = false;
    while ((g = hd_facts_callee(f, c, &at)) != HD_FACT_NONE) {
      const struct hd_fact_function *x = &hd_facts_functions(f)[g];
      uint32_t way = x->n ? end[x->first] : UNKNOWN_CALL;
      any = true;
      if (way < best) best = way;
    }
    /* One that does not return, or is not known yet, is not waited for. */
    cost += any && best < HD_FACT_FAR ? best + 1 : UNKNOWN_CALL;
  }
  return cost;
}

void hd_facts_ends(struct hd_distances *d, const struct hd_facts *f) {
  const struct hd_fact_node *nodes = hd_facts_nodes(f);
  struct back b;
  struct queue q = {hd_alloc((f->nnodes + 1) * sizeof *q.v), hd_alloc(f->nnodes + 1), 0, f->nnodes + 1, 0};
  make_back(&b, f);
  d->to = NULL;
  d->end = hd_alloc((f->nnodes + 1) * sizeof *d->end);
  for (uint32_t i = 0; i < f->nnodes; i++) d->end[i] = HD_FACT_FAR;
  /* What calls cost is known better in each round; deep chains of calls are a little too long or too short. */
  for (int round = 0; round < ROUNDS; round++) {
    for (uint32_t i = 0; i < f->nnodes; i++) {
      if (nodes[i].flags & HD_FACT_RETURNS) d->end[i] = cost_of(f, &nodes[i], d->end);
      if (d->end[i] < HD_FACT_FAR) push(&q, i);
    }
    while (q.n) {
      uint32_t x = pop(&q);
      for (uint32_t k = b.first[x]; k < b.first[x + 1]; k++) {
        uint32_t p = b.node[k], way = d->end[x] + cost_of(f, &nodes[p], d->end);
        if (way < d->end[p]) d->end[p] = way, push(&q, p);
      }
    }
  }
  free(q.v);
  free(q.in);
  free_back(&b);
}

void hd_facts_distance(struct hd_distances *d, const struct hd_facts *f, const uint32_t *place, size_t n,
                       bool any_caller) {
  const struct hd_fact_node *nodes = hd_facts_nodes(f);
  const struct hd_fact_function *functions = hd_facts_functions(f);
  struct back b;
  struct queue q = {hd_alloc((f->nnodes + 1) * sizeof *q.v), hd_alloc(f->nnodes + 1), 0, f->nnodes + 1, 0};
  make_back(&b, f);
  d->to = hd_alloc((f->nnodes + 1) * sizeof *d->to);
  for (uint32_t i = 0; i < f->nnodes; i++) d->to[i] = HD_FACT_FAR;
  for (size_t i = 0; i < n; i++) d->to[place[i]] = 0, push(&q, place[i]);
  while (q.n) {
    uint32_t x = pop(&q), here = d->to[x];
    for (uint32_t k = b.first[x]; k < b.first[x + 1]; k++) {
      uint32_t p = b.node[k], way = here + cost_of(f, &nodes[p], d->end);
      if (way < d->to[p]) d->to[p] = way, push(&q, p);
      /* Without context, whatever returns there is before it, too. */
      for (uint32_t c = 0; any_caller && c < nodes[p].ncalls; c++) {
        const struct hd_fact_call *call = &hd_facts_calls(f)[nodes[p].call + c];
        uint32_t at = 0, g;
        if (call->flags & HD_FACT_SPAWNS) continue;
        while ((g = hd_facts_callee(f, call, &at)) != HD_FACT_NONE)
          for (uint32_t m = functions[g].first; m < functions[g].first + functions[g].n; m++)
            if ((nodes[m].flags & HD_FACT_RETURNS) && here + 1 < d->to[m]) d->to[m] = here + 1, push(&q, m);
      }
    }
    const struct hd_fact_function *g = &functions[nodes[x].function];
    if (x != g->first) continue;
    for (uint32_t k = b.called[nodes[x].function]; k < b.called[nodes[x].function + 1]; k++) {
      uint32_t p = b.caller[k];
      if (here + 1 < d->to[p]) d->to[p] = here + 1, push(&q, p);
    }
  }
  free(q.v);
  free(q.in);
  free_back(&b);
}

void hd_distances_fini(struct hd_distances *d) {
  free(d->to);
  free(d->end);
  d->to = d->end = NULL;
}

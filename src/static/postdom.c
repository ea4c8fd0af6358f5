/* postdom.c: post-dominators of the nodes of a function. Runs in the supervisor.
 *
 * Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on the reversed graph, with one exit that
 * follows every node which ends the function or has no successor. A node from which no end can be reached (an endless loop)
 * has none. */
#include "static/static.h"

#include <stdlib.h>

struct graph {
  const struct hd_fact_function *f;
  const struct hd_fact_node *nodes;
  const uint32_t *edges;
  uint32_t n;       /* nodes; number n is the exit */
  uint32_t *order;  /* [number]: in reverse postorder of the reversed graph; the exit is 0 */
  uint32_t *at;     /* the reverse */
  uint32_t *parent; /* immediate post-dominators, numbers; NONE: not known yet */
};

static uint32_t meet(const struct graph *g, uint32_t a, uint32_t b) {
  while (a != b) {
    while (g->order[a] > g->order[b]) a = g->parent[a];
    while (g->order[b] > g->order[a]) b = g->parent[b];
  }
  return a;
}

static bool exits(const struct hd_fact_node *x) { return (x->flags & HD_FACT_RETURNS) || !x->nedges; }

/* Numbers the nodes from which the exit can be reached. Returns how many, with the exit. */
static uint32_t number(struct graph *g) {
  uint32_t n = g->n, count = 0, top = 0;
  uint32_t *npred = hd_alloc((n + 2) * sizeof *npred), *pred, *stack = hd_alloc((n + 1) * sizeof *stack),
           *next = hd_alloc((n + 1) * sizeof *next);
  uint32_t total = 0;
  for (uint32_t i = 0; i < n; i++) {
    const struct hd_fact_node *x = &g->nodes[g->f->first + i];
    for (uint32_t k = 0; k < x->nedges; k++) npred[g->edges[x->edge + k] - g->f->first + 1]++, total++;
    if (exits(x)) npred[n + 1]++, total++;
  }
  for (uint32_t i = 0; i <= n; i++) npred[i + 1] += npred[i];
  pred = hd_alloc((total + 1) * sizeof *pred);
  for (uint32_t i = 0; i <= n; i++) next[i] = npred[i];
  for (uint32_t i = 0; i < n; i++) {
    const struct hd_fact_node *x = &g->nodes[g->f->first + i];
    for (uint32_t k = 0; k < x->nedges; k++) pred[next[g->edges[x->edge + k] - g->f->first]++] = i;
    if (exits(x)) pred[next[n]++] = i;
  }
  for (uint32_t i = 0; i <= n; i++) next[i] = npred[i], g->order[i] = HD_FACT_NONE;
  uint32_t *post = hd_alloc((n + 1) * sizeof *post);
  bool *seen = hd_alloc(n + 1);
  stack[top++] = n;
  seen[n] = true;
  while (top) {
    uint32_t x = stack[top - 1];
    if (next[x] == npred[x + 1]) {
      post[count++] = x;
      top--;
    } else {
      uint32_t p = pred[next[x]++];
      if (!seen[p]) seen[p] = true, stack[top++] = p;
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    g->order[post[i]] = count - 1 - i;
    g->at[count - 1 - i] = post[i];
  }
  free(npred);
  free(pred);
  free(stack);
  free(next);
  free(post);
  free(seen);
  return count;
}

void hd__facts_postdom(const struct hd_fact_function *f, struct hd_fact_node *nodes, const uint32_t *edges) {
  struct graph g = {.f = f, .nodes = nodes, .edges = edges, .n = f->n};
  g.order = hd_alloc((f->n + 1) * sizeof *g.order);
  g.at = hd_alloc((f->n + 1) * sizeof *g.at);
  g.parent = hd_alloc((f->n + 1) * sizeof *g.parent);
  for (uint32_t i = 0; i <= f->n; i++) g.parent[i] = HD_FACT_NONE;
  uint32_t count = number(&g);
  g.parent[f->n] = f->n;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 1; i < count; i++) {
      uint32_t x = g.at[i], new = HD_FACT_NONE;
      const struct hd_fact_node *node = &nodes[f->first + x];
      for (uint32_t k = 0; k <= node->nedges; k++) {
        if (k == node->nedges && !exits(node)) break;
        uint32_t s = k == node->nedges ? f->n : edges[node->edge + k] - f->first;
        if (g.parent[s] == HD_FACT_NONE) continue;
        new = new == HD_FACT_NONE ? s : meet(&g, new, s);
      }
      if (new != g.parent[x]) g.parent[x] = new, changed = true;
    }
  }
  for (uint32_t i = 0; i < f->n; i++) {
    uint32_t p = g.parent[i];
    nodes[f->first + i].postdominator = p == HD_FACT_NONE || p == f->n ? HD_FACT_NONE : f->first + p;
  }
  free(g.order);
  free(g.at);
  free(g.parent);
}

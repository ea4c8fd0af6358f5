/* scenario.c: scenarios, saved once each (concolic.h). Runs in the supervisor. */
#include "concolic/concolic_int.h"

#include <stdlib.h>
#include <string.h>

/* A saved one: length, mark, sink, kind, nleaf, nedge, leaves, edges. */
#define HEAD 6

void hd__scenarios_init(struct hd__scenarios *s) {
  memset(s, 0, sizeof *s);
  s->slots = 1024;
  s->table = hd_alloc(s->slots * sizeof *s->table);
}

void hd__scenarios_fini(struct hd__scenarios *s) {
  hd_vec_free(&s->word);
  free(s->table);
}

static uint64_t hash(const uint32_t *w) {
  uint64_t h = w[0];
  for (uint32_t i = 2; i < w[0]; i++) h = (h ^ w[i]) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
  return h;
}

static size_t slot_of(const struct hd__scenarios *s, const uint32_t *w, uint64_t h) {
  size_t i = (size_t)h & (s->slots - 1);
  for (; s->table[i].at; i = (i + 1) & (s->slots - 1)) {
    if (s->table[i].hash != (uint32_t)(h >> 32)) continue;
    const uint32_t *v = s->word.v + s->table[i].at - 1;
    if (v[0] == w[0] && memcmp(v + 2, w + 2, (w[0] - 2) * sizeof *w) == 0) break;
  }
  return i;
}

static void grow(struct hd__scenarios *s) {
  struct hd__slot *old = s->table;
  size_t n = s->slots;
  s->slots *= 2;
  s->table = hd_alloc(s->slots * sizeof *s->table);
  for (size_t i = 0; i < n; i++) {
    if (!old[i].at) continue;
    size_t k = (size_t)hash(s->word.v + old[i].at - 1) & (s->slots - 1);
    while (s->table[k].at) k = (k + 1) & (s->slots - 1);
    s->table[k] = old[i];
  }
  free(old);
}

uint32_t hd__scenarios_save(struct hd__scenarios *s, const struct hd__scenario *c, bool *is_new) {
  uint32_t w[HEAD + HD_CC_THREADS + 2 * HD_CC_EDGES] = {0, 0, c->sink, c->kind, c->nleaf, c->nedge};
  memcpy(w + HEAD, c->leaf, c->nleaf * sizeof *w);
  memcpy(w + HEAD + c->nleaf, c->edge, c->nedge * sizeof *c->edge);
  w[0] = HEAD + c->nleaf + 2 * c->nedge;
  uint64_t h = hash(w);
  size_t i = slot_of(s, w, h);
  *is_new = !s->table[i].at;
  if (s->table[i].at) return s->table[i].at - 1;
  uint32_t at = (uint32_t)s->word.n;
  for (uint32_t k = 0; k < w[0]; k++) hd_vec_push(&s->word, w[k]);
  s->table[i] = (struct hd__slot){at + 1, (uint32_t)(h >> 32)};
  if (++s->n > s->slots / 2) grow(s);
  return at;
}

void hd__scenarios_load(const struct hd__scenarios *s, uint32_t at, struct hd__scenario *out) {
  const uint32_t *w = s->word.v + at;
  out->sink = w[2];
  out->kind = w[3];
  out->nleaf = w[4];
  out->nedge = w[5];
  memcpy(out->leaf, w + HEAD, out->nleaf * sizeof *w);
  memcpy(out->edge, w + HEAD + out->nleaf, out->nedge * sizeof *out->edge);
}

uint32_t hd__scenarios_sink(const struct hd__scenarios *s, uint32_t at, uint32_t *nedge) {
  const uint32_t *w = s->word.v + at;
  *nedge = w[5];
  return w[2];
}

uint32_t *hd__scenarios_mark(struct hd__scenarios *s, uint32_t at) { return &s->word.v[at + 1]; }

uint32_t hd__scenario_leaf(const struct hd__forest *f, const struct hd__scenario *c, unsigned thread) {
  for (uint32_t i = 0; i < c->nleaf; i++)
    if (f->node.v[c->leaf[i]].e.thread == thread) return c->leaf[i];
  return 0;
}

uint32_t hd__scenario_source(const struct hd__scenario *c, uint32_t read) {
  uint32_t from = 0, to = c->nedge;
  while (from < to) {
    uint32_t mid = (from + to) / 2;
    if (c->edge[mid].read < read)
      from = mid + 1;
    else
      to = mid;
  }
  return from < c->nedge && c->edge[from].read == read ? c->edge[from].write : 0;
}

static bool add_edge(struct hd__scenario *c, struct hd__edge e) {
  uint32_t i = c->nedge;
  if (i == HD_CC_EDGES) return false;
  for (; i > 0 && c->edge[i - 1].read > e.read; i--) c->edge[i] = c->edge[i - 1];
  c->edge[i] = e;
  c->nedge++;
  return true;
}

static bool add_leaf(const struct hd__forest *f, struct hd__scenario *c, uint32_t leaf) {
  const struct hd__node *n = f->node.v;
  unsigned thread = n[leaf].e.thread, sink = n[c->sink].e.thread;
  uint32_t i = 0;
  while (i < c->nleaf && n[c->leaf[i]].e.thread < thread) i++;
  if (i < c->nleaf && n[c->leaf[i]].e.thread == thread) {
    uint32_t own = c->leaf[i], deep = n[own].depth >= n[leaf].depth ? own : leaf;
    if (!hd__forest_above(f, deep == own ? leaf : own, deep)) return false;
    if (thread == sink && deep != own) return false; /* the sink is the last event of its thread */
    c->leaf[i] = deep;
    return true;
  }
  if (c->nleaf == HD_CC_THREADS) return false;
  memmove(c->leaf + i + 1, c->leaf + i, (c->nleaf - i) * sizeof *c->leaf);
  c->leaf[i] = leaf;
  c->nleaf++;
  return true;
}

bool hd__scenario_merge(const struct hd__forest *f, const struct hd__scenario *c,
                        const struct hd__scenario *w, uint32_t read, struct hd__scenario *out) {
  uint32_t there = hd__scenario_leaf(f, w, f->node.v[read].e.thread);
  if (there && f->node.v[there].depth >= f->node.v[read].depth)
    return false; /* the write depends on the read */
  *out = *c;
  for (uint32_t i = 0; i < w->nleaf; i++)
    if (!add_leaf(f, out, w->leaf[i])) return false;
  for (uint32_t i = 0; i < w->nedge; i++) {
    uint32_t has = hd__scenario_source(out, w->edge[i].read);
    if (has ? has != w->edge[i].write : !add_edge(out, w->edge[i])) return false;
  }
  return f->node.v[read].e.kind != HD_CC_READ || add_edge(out, (struct hd__edge){read, w->sink});
}

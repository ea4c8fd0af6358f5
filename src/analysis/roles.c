/* roles.c: roles of threads, from how each reads and writes. Runs in the supervisor.
 *
 * Milewicz, Pirkelbauer 2016, sections 3.1 and 3.2: a Markov chain of two states, read and write, for each thread; its four
 * transition probabilities are a point, and k-means (Lloyd) clusters the points, with k = max(ceil(sqrt(n/2)), 3) for n
 * threads. What the paper leaves open is decided so that the result depends on nothing but the chains:
 *  - A thread that never reads, or never writes, is as likely to continue either way: a row without transitions is 1/2, 1/2.
 *  - The first centre is the first thread, each further one the point that is farthest from all centres. Centres that would
 *    be equal are one, so there may be fewer than k.
 *  - A cluster that loses its last point keeps its centre, and is dropped in the end.
 * Roles are numbered from 1, in the order of their first threads. */
#include "analysis/analysis.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS 1000 /* of Lloyd's algorithm, which ends long before */

/* Without libm: Newton's method from above. */
static double root(double v) {
  if (v <= 0) return 0;
  double r = v > 1 ? v : 1;
  for (int i = 0; i < 64; i++) r = (r + v / r) / 2;
  return r;
}

void hd_roles_access(struct hd_roles *r, unsigned thread, bool write) {
  while (r->thread.n <= thread) hd_vec_push(&r->thread, (struct hd_role_thread){0});
  struct hd_role_thread *t = &r->thread.v[thread];
  if (t->count[0] + t->count[1]) t->next[t->last][write]++;
  t->last = write;
  t->count[write]++;
}

void hd_roles_events(struct hd_roles *r, const struct hd_event *ev, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const struct hd_op *op = &ev[i].op;
    enum hd_effect effect = hd_op_effect(op->kind, ev[i].flags);
    bool memory = hd_op_object(op->kind) == HD_OBJ_MEMORY;
    if (memory && (hd_effect_properties[effect] & HD_EFF_SEES)) hd_roles_access(r, op->thread, false);
    if (memory && (hd_effect_properties[effect] & HD_EFF_CHANGES)) hd_roles_access(r, op->thread, true);
  }
}

static void find_chain(struct hd_role_thread *t) {
  for (int from = 0; from < 2; from++) {
    double n = (double)(t->next[from][0] + t->next[from][1]);
    for (int to = 0; to < 2; to++) t->chain[2 * from + to] = n > 0 ? (double)t->next[from][to] / n : 0.5;
  }
}

static double distance(const double a[4], const double b[4]) {
  double sum = 0;
  for (int i = 0; i < 4; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

static unsigned nearest(const struct hd_roles *r, const double at[4]) {
  unsigned best = 0;
  for (unsigned c = 1; c < r->k; c++)
    if (distance(at, r->centre[c]) < distance(at, r->centre[best])) best = c;
  return best;
}

static void choose_centres(struct hd_roles *r, unsigned wanted) {
  memcpy(r->centre[0], r->thread.v[0].chain, sizeof r->centre[0]);
  for (r->k = 1; r->k < wanted; r->k++) {
    double most = 0;
    size_t at = 0;
    for (size_t t = 0; t < r->thread.n; t++) {
      const double *p = r->thread.v[t].chain;
      double d = distance(p, r->centre[nearest(r, p)]);
      if (d > most) most = d, at = t;
    }
    if (most <= 0) return;
    memcpy(r->centre[r->k], r->thread.v[at].chain, sizeof r->centre[0]);
  }
}

/* Returns whether a thread has another role now. */
static bool assign(struct hd_roles *r) {
  bool changed = false;
  for (size_t t = 0; t < r->thread.n; t++) {
    unsigned role = nearest(r, r->thread.v[t].chain) + 1;
    changed |= role != r->thread.v[t].role;
    r->thread.v[t].role = role;
  }
  return changed;
}

static void move_centres(struct hd_roles *r) {
  for (unsigned c = 0; c < r->k; c++) {
    double sum[4] = {0}, n = 0;
    for (size_t t = 0; t < r->thread.n; t++) {
      if (r->thread.v[t].role != c + 1) continue;
      for (int i = 0; i < 4; i++) sum[i] += r->thread.v[t].chain[i];
      n++;
    }
    for (int i = 0; i < 4 && n > 0; i++) r->centre[c][i] = sum[i] / n;
  }
}

/* In the order of their first threads, without those that have none. */
static void number_roles(struct hd_roles *r) {
  double(*old)[4] = r->centre;
  unsigned *to = hd_alloc((r->k + 1) * sizeof *to), n = 0;
  r->centre = hd_alloc((r->k + 1) * sizeof *r->centre);
  for (size_t t = 0; t < r->thread.n; t++) {
    unsigned was = r->thread.v[t].role;
    if (!to[was]) {
      to[was] = ++n;
      memcpy(r->centre[n - 1], old[was - 1], sizeof *old);
    }
    r->thread.v[t].role = to[was];
  }
  r->k = n;
  free(old);
  free(to);
}

static double members(const struct hd_roles *r, unsigned role) {
  double n = 0;
  for (size_t t = 0; t < r->thread.n; t++) n += r->thread.v[t].role == role;
  return n;
}

static void judge(struct hd_roles *r) {
  double weights = 0, sum = 0;
  r->homogeneity = r->separation = 0;
  for (size_t t = 0; t < r->thread.n; t++)
    r->homogeneity +=
        root(distance(r->thread.v[t].chain, r->centre[r->thread.v[t].role - 1])) / (double)r->thread.n;
  for (unsigned a = 0; a < r->k; a++)
    for (unsigned b = a + 1; b < r->k; b++) {
      double w = members(r, a + 1) * members(r, b + 1);
      sum += w * root(distance(r->centre[a], r->centre[b]));
      weights += w;
    }
  if (weights > 0) r->separation = sum / weights;
}

unsigned hd_roles_wanted(size_t threads) {
  unsigned k = 3;
  while (2 * (size_t)k * k < threads) k++; /* k < sqrt(n / 2) */
  return k < threads ? k : (unsigned)threads;
}

void hd_roles_cluster(struct hd_roles *r) {
  size_t n = r->thread.n;
  if (!n) return;
  for (size_t t = 0; t < n; t++) find_chain(&r->thread.v[t]);
  unsigned k = hd_roles_wanted(n);
  free(r->centre);
  r->centre = hd_alloc((k + 1) * sizeof *r->centre);
  choose_centres(r, k);
  for (int i = 0; i < ROUNDS && assign(r); i++) move_centres(r);
  number_roles(r);
  judge(r);
}

double hd_roles_rand(const struct hd_roles *r, const unsigned *label) {
  size_t agree = 0, pairs = 0;
  for (size_t a = 0; a < r->thread.n; a++)
    for (size_t b = a + 1; b < r->thread.n; b++, pairs++)
      agree += (r->thread.v[a].role == r->thread.v[b].role) == (label[a] == label[b]);
  return pairs ? (double)agree / (double)pairs : 1;
}

void hd_roles_fini(struct hd_roles *r) {
  for (size_t t = 0; t < r->thread.n; t++) {
    free(r->thread.v[t].name);
    free(r->thread.v[t].function);
  }
  hd_vec_free(&r->thread);
  free(r->centre);
  r->centre = NULL;
}

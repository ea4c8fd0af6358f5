/* segment.c: the part of a trace that matters to two events, and whether locks allow one after the other. Runs in the
 * supervisor.
 *
 * From N. Razavi, "Effective heuristic-based test generation techniques for concurrent software", Toronto 2014, chapter 2
 * (with A. Farzan, P. Madhusudan and F. Sorrentino, FSE 2012).
 *
 *   rho     the smallest set that has the two events, with an event all that conflicts with it and comes before it, and
 *           with the beginning of a section its end
 *   lambda  the largest part of rho without the two that has with an event what conflicts with it and comes before it, and
 *           at the end of which no thread holds a lock. It is executed as observed
 *
 * What is between the two is left to the solver. */
#include "predict/encode.h"

#include <stdlib.h>
#include <string.h>

/* Whether the thread holds no lock after its first `n` events. */
static bool holds_nothing(const struct hd__trace *tr, unsigned t, uint32_t n) {
  const uint32_t *at = tr->held_at.v;
  if (!n) return true;
  if (n < hd__length(tr, t)) {
    uint32_t set = tr->held[hd__nth(tr, t, n + 1)];
    return at[set] == at[set + 1];
  }
  uint32_t e = hd__nth(tr, t, n), set = tr->held[e];
  uint32_t held = at[set + 1] - at[set] + !!tr->opens[e] - !!tr->closes[e];
  return !held;
}

void hd__segment(const struct hd__clocks *causal, uint32_t a, uint32_t b, uint32_t *lambda, uint32_t *rho) {
  const struct hd__trace *tr = causal->tr;
  unsigned T = tr->nthreads;
  memset(rho, 0, T * sizeof *rho);
  hd__ideal_add(causal, rho, a);
  hd__ideal_add(causal, rho, b);
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = 0; i < tr->section.n; i++) {
      const struct hd__section *s = &tr->section.v[i];
      if (s->release == HD__NONE || !hd__in_ideal(tr, rho, s->acquire) || hd__in_ideal(tr, rho, s->release))
        continue;
      hd__ideal_add(causal, rho, s->release);
      grown = true;
    }
  }
  memcpy(lambda, rho, T * sizeof *lambda);
  uint32_t pair[2] = {a, b};
  for (int i = 0; i < 2; i++) {
    unsigned t = hd__thread(tr, pair[i]);
    if (lambda[t] >= tr->pos[pair[i]]) lambda[t] = tr->pos[pair[i]] - 1;
  }
  for (bool shrunk = true; shrunk;) {
    shrunk = false;
    for (unsigned t = 0; t < T; t++) {
      uint32_t before = lambda[t];
      for (; lambda[t]; lambda[t]--) {
        if (!holds_nothing(tr, t, lambda[t])) continue;
        const uint32_t *row = hd__row(causal, hd__nth(tr, t, lambda[t]));
        unsigned u = 0;
        while (u < T && (u == t || row[u] <= lambda[u])) u++;
        if (u == T) break;
      }
      shrunk |= lambda[t] != before;
    }
  }
}

/* ---- locks ---- */

/* Whether the thread, after the event (or before it), has acquired the lock `other` since it took `lock`, which it
 * holds: its acquisition history. */
static bool since(const struct hd__trace *tr, uint32_t e, uint32_t lock, uint32_t other) {
  unsigned t = hd__thread(tr, e);
  for (uint32_t pos = tr->pos[e]; pos; pos--) {
    uint32_t x = hd__nth(tr, t, pos);
    if (!tr->opens[x]) continue;
    uint32_t l = tr->section.v[tr->opens[x] - 1].lock;
    if (l == lock) return false;
    if (l == other) return true;
  }
  return false;
}

/* Whether one thread can be after e while the other is before f: their locks are disjoint, and neither needs first what
 * the other keeps (Kahlon, Ivancic and Gupta, "Reasoning about threads communicating via locks", CAV 2005). */
static bool locks_allow(const struct hd__trace *tr, uint32_t after, uint32_t e, uint32_t f) {
  const uint32_t *at = tr->held_at.v, *lock = tr->held_lock.v;
  if (hd__held_common(tr, after, tr->held[f])) return false;
  for (uint32_t i = at[after]; i < at[after + 1]; i++)
    for (uint32_t j = at[tr->held[f]]; j < at[tr->held[f] + 1]; j++)
      if (!((lock[i] | lock[j]) & 1) && since(tr, e, lock[i] >> 1, lock[j] >> 1) &&
          since(tr, f, lock[j] >> 1, lock[i] >> 1))
        return false;
  return true;
}

bool hd__locks_reach(const struct hd__trace *tr, uint32_t e, uint32_t f, uint32_t end) {
  unsigned t = hd__thread(tr, e);
  for (uint32_t pos = tr->pos[e]; pos <= hd__length(tr, t); pos++) {
    uint32_t x = hd__nth(tr, t, pos);
    if (x == end) return false;
    uint32_t next = pos < hd__length(tr, t) ? hd__nth(tr, t, pos + 1) : HD__NONE;
    /* At the end of its thread it holds what it never releases: leave that to the solver. */
    if (next == HD__NONE || locks_allow(tr, tr->held[next], x, f)) return true;
  }
  return false;
}

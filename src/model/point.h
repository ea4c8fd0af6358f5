/* point.h: sets of threads, and scheduling points. Linked into both binaries. */
#ifndef HD_MODEL_POINT_H
#define HD_MODEL_POINT_H

#include "model/op.h"

#define HD_SET_WORDS (HD_MAX_THREADS / 64)

/* A set of thread numbers; `words` bounds the words in use. */
struct hd_set {
  uint64_t w[HD_SET_WORDS];
};
static inline void hd_set_add(struct hd_set *s, unsigned i) { s->w[i >> 6] |= 1ull << (i & 63); }
static inline void hd_set_del(struct hd_set *s, unsigned i) { s->w[i >> 6] &= ~(1ull << (i & 63)); }
static inline int hd_set_has(const struct hd_set *s, unsigned i) { return (s->w[i >> 6] >> (i & 63)) & 1; }

/* The lowest member from `from` on; HD_MAX_THREADS: none. */
static inline unsigned hd_set_next(const struct hd_set *s, unsigned words, unsigned from) {
  unsigned k = from >> 6;
  if (k >= words) return HD_MAX_THREADS;
  uint64_t w = s->w[k] & ~0ull << (from & 63);
  while (!w) {
    if (++k == words) return HD_MAX_THREADS;
    w = s->w[k];
  }
  return k * 64 + (unsigned)__builtin_ctzll(w);
}
/* Each member t of a set, in order. */
#define HD_SET_EACH(t, s, words) \
  for (unsigned t = hd_set_next(s, words, 0); t < HD_MAX_THREADS; t = hd_set_next(s, words, t + 1))

/* The k-th member of a set, k from 0. pre: k < number of members. */
static inline unsigned hd_set_nth(const struct hd_set *s, unsigned k) {
  for (unsigned i = 0;; i++)
    for (uint64_t w = s->w[i]; w; w &= w - 1)
      if (!k--) return i * 64 + (unsigned)__builtin_ctzll(w);
}

/* What the strategy sees at a scheduling point. */
struct hd_point {
  const struct hd_set *enabled;
  unsigned nenabled;             /* >= 1 */
  unsigned words;                /* words of `enabled` in use */
  unsigned current;              /* the thread that ran last */
  const struct hd_op *const *op; /* op[t] is the pending operation of thread t */
};

#endif

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

/* The k-th member of a set, k from 0. pre: k < number of members. */
static inline unsigned hd_set_nth(const struct hd_set *s, unsigned k) {
  for (unsigned i = 0;; i++) {
    uint64_t w = s->w[i];
    unsigned c = (unsigned)__builtin_popcountll(w);
    if (k < c) {
      while (k--) w &= w - 1;
      return i * 64 + (unsigned)__builtin_ctzll(w);
    }
    k -= c;
  }
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

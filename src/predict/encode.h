/* encode.h: the reorderings of a part of a trace, for the solver. Inside src/predict. */
#ifndef HD_PREDICT_ENCODE_H
#define HD_PREDICT_ENCODE_H

#include "predict/predict_int.h"
#include "smt/smt.h"

enum hd__mode { HD__STRICT, HD__SAID, HD__PREFIX }; /* see encode.c */

struct hd__encoding {
  const struct hd__trace *tr;
  const struct hd__clocks *must; /* what every reordering keeps */
  struct hd_smt *smt;
  enum hd__mode mode;
  const uint32_t *done, *upto; /* ideals: what has been executed, and what may be */
  uint32_t lo, hi;             /* the part is among the events lo .. hi - 1 */
  hd_term *time;               /* [hi - lo]; 0: the event matters to no other thread */
  hd_term now;                 /* of a prefix: where it ends */
  bool relaxed;                /* of a prefix: reads may see other values, which makes their `broken` true */
  HD_VEC(hd_term) broken;
  HD_VEC(uint32_t) broken_read;
  hd_term *keeps;         /* [hi - lo] of a prefix with branches: the read sees its value */
  HD_VEC(hd_term) clause; /* terms of the constraint under construction */
};

int hd__encoding_init(struct hd__encoding *x, const struct hd__run *r, const struct hd__clocks *order,
                      enum hd__mode mode, const uint32_t *done, const uint32_t *upto, bool relaxed,
                      struct hd_err *err);
void hd__encoding_fini(struct hd__encoding *x);

/* The event is in the prefix. pre: it has a time. */
hd_term hd__included(struct hd__encoding *x, uint32_t e);
/* The event is what it was: the reads that it depends on directly see their values. Always true without branches. `value`:
 * so is what it writes; otherwise only a decision depends on them. */
hd_term hd__kept(struct hd__encoding *x, uint32_t e, bool value);
/* The read sees this write of the part (HD__NONE: what was there before), and none of the n others comes between.
 * Returns 0 if that cannot be. */
hd_term hd__coupled(struct hd__encoding *x, uint32_t r, uint32_t w, const uint32_t *write, size_t n);
/* Adds to a prediction the order of the last model: the events before the time `end` without those of `next`, and what
 * their threads do up to there. */
void hd__model_order(struct hd__encoding *x, int64_t end, const uint32_t *next, size_t nnext,
                     struct hd_prediction *p);

/* ---- the part that matters to two events (segment.c) ---- */

/* Which events to execute as observed, and which to leave to the solver. `causal` has all conflicts. */
void hd__segment(const struct hd__clocks *causal, uint32_t a, uint32_t b, uint32_t *lambda, uint32_t *rho);
/* Whether the locks allow a thread to be after e, and before `end`, while another is before f. */
bool hd__locks_reach(const struct hd__trace *tr, uint32_t e, uint32_t f, uint32_t end);

#endif

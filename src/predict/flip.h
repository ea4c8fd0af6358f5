/* flip.h: what the files of the detector `flip` share: an order of events that grows thread by thread. */
#ifndef HD_PREDICT_FLIP_H
#define HD_PREDICT_FLIP_H

#include "model/op.h"
#include "predict/predict_int.h"

#define CLASSES 64 /* of the accesses of one location: by thread and place */

/* Accesses of one thread at one place to a location. */
struct class {
  uint64_t place;
  uint16_t thread;
  uint8_t kind;
  uint32_t first, last; /* events */
};

/* Two accesses of a thread that follow each other, by places. */
struct pair {
  uint64_t place[2];
  uint16_t thread;
  uint32_t event[2];
};

struct flips {
  struct hd__run *run;
  const struct hd__trace *tr;
  struct hd_detector_stats *stats;
  struct hd__clocks hard; /* by edges alone */
  struct hd__index seen;  /* combinations of places */
  uint32_t *at;           /* [thread] events of the order so far */
  uint32_t *limit;        /* [thread] and how many there may be */
  HD_VEC(uint32_t) order;
  struct class class[CLASSES];
  struct pair pair[CLASSES];
  unsigned nclasses, npairs;
};

/* Begins an order: no thread has done anything, and each may do everything. */
void hd__flip_start(struct flips *f);
/* Adds the observed order up to the event, without what threads do after their limits, and what needs that. */
bool hd__flip_follow(struct flips *f, uint32_t upto);
/* Lets the thread go on to that position. Returns false when it must not, or needs one that must not. `depth`: 0. */
bool hd__flip_advance(struct flips *f, unsigned t, uint32_t to, unsigned depth);
/* Whether there are few predictions of that combination of places, and there may be one more. */
bool hd__flip_is_new(struct flips *f, uint64_t key);
/* Predicts the order so far. The last of the events is what comes after it. */
void hd__flip_predict(struct flips *f, enum hd_predicted kind, const uint32_t *event, size_t n);
/* Predicts that y comes before x, and x next. */
void hd__flip_order(struct flips *f, uint32_t x, uint32_t y);
/* The same, but others than the thread of x may see what y did first. */
void hd__flip_turn(struct flips *f, uint32_t x, uint32_t y);
/* Predicts another outcome of the event. */
void hd__flip_outcome(struct flips *f, uint32_t e, uint32_t outcome);

/* flip_sync.c: operations on anything but memory. */
void hd__flip_sync(struct flips *f);
/* Whether the edge is there only since the two operations came in this order, and neither needs the other one. */
bool hd__flip_is_turn(const struct hd__trace *tr, uint32_t from, uint32_t to);

#endif

/* simulate.h: a cluster of virtual ranks in one process: the real balancing (balance.c) over a simulated network, on trees
 * that are not executed but only counted. Runs in `heddle cluster simulate` and in tests. */
#ifndef HD_CLUSTER_SIMULATE_H
#define HD_CLUSTER_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>

enum hd_shape {
  HD_SHAPE_ORDERS, /* of n threads that each take a lock once: n! executions, n - k branches at the k-th choice */
  HD_SHAPE_RECORDED, /* of a real search; `again`: each execution is followed by the same tree */
  HD_SHAPE_UNEVEN,   /* n executions; each state splits them into 2 to 5 parts of random sizes */
};

struct hd_branching; /* abi/shared.h */

struct hd_simulation {
  int ranks;
  enum hd_shape shape;
  uint64_t n;
  const struct hd_branching *recorded; /* the first n executions of a search */
  bool again;
  uint64_t seed;
  double execution; /* seconds of an execution */
  double tick;      /* seconds between two looks of a rank at its messages; an idle one looks more often */
  double latency;   /* seconds of a message, ... */
  double bandwidth; /* ... plus its bytes by this */
  double pause;     /* seconds that giving a unit away keeps the worker from work */
  double
      jitter; /* a message takes up to so many seconds more, so those of different pairs overtake each other */
  double stall; /* of every 64th message, up to so many */
  int lost;     /* this rank is lost at half of the ideal time; 0: none is */
};
void hd_simulation_init(struct hd_simulation *s);

struct hd_simulated {
  bool over;           /* rank 0 knows that everything is explored */
  uint64_t executions; /* that were run by then */
  double seconds;      /* of virtual time */
  double idle;         /* share of the time of all ranks */
  double messaging;    /* share of the time of the busiest rank that went into messages */
  uint64_t units, messages, bytes;
  uint64_t busiest; /* messages that one rank received */
};
/* Runs until it is over, or after 100 times the ideal time. */
void hd_simulate(const struct hd_simulation *s, struct hd_simulated *out);
uint64_t hd_simulation_executions(const struct hd_simulation *s);

#endif

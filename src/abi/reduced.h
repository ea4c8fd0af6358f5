/* reduced.h: what a search for a smaller schedule has come to (explore/strategy_reduce.c), as it crosses the border. */
#ifndef HD_ABI_REDUCED_H
#define HD_ABI_REDUCED_H

#include <stdint.h>

/* What REDUCE has come to, at the beginning of the search memory; the steps of best[i] are at HD_REDUCED_STEPS + i *
 * HD_REDUCED_SIZE. */
struct hd_reduced_best {
  uint32_t preemptions, switches, threads, unused;
  uint64_t nsteps;
};
struct hd_reduced {
  uint32_t found; /* 1 + index of the smallest schedule so far; 0: not even the first one failed */
  uint32_t unused;
  uint64_t tries;
  struct hd_reduced_best first; /* what the schedule cost as it was */
  struct hd_reduced_best best[2];
};
#define HD_REDUCED_STEPS (1ull << 28)
#define HD_REDUCED_SIZE (1ull << 28)

#endif

/* plan.h: a schedule to follow, then one thread that goes on alone (explore/strategy_plan.c), as it crosses the border. */
#ifndef HD_ABI_PLAN_H
#define HD_ABI_PLAN_H

#include <stdint.h>

/* At the beginning of the search memory. */
struct hd_plan {
  uint32_t nsteps;
  uint32_t tail; /* thread that goes on after them */
  /* The tested process: */
  uint32_t followed; /* steps */
  uint32_t unused;
  uint16_t step[]; /* threads */
};
#define HD_PLAN_NAME "plan" /* the strategy */
#define HD_PLAN_STEPS (1u << 24)

#endif

/* mined.h: the roles of threads (analysis/roles.c) as the search gets them (explore/strategy_mined.c). The supervisor writes
 * them before anything runs. */
#ifndef HD_ABI_MINED_H
#define HD_ABI_MINED_H

#include <stdint.h>

#define HD_MINED_THREADS 256
/* At the beginning of the search memory. */
struct hd_mined {
  uint32_t nthreads; /* 0: nothing is known */
  uint32_t nroles;
  uint8_t role[HD_MINED_THREADS]; /* from 1 on; of threads beyond nthreads: 0 */
};

#endif

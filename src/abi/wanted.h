/* wanted.h: orders of events that executions are to keep to (explore/strategy_wanted.c), as they cross the border. The
 * supervisor writes everything but the results. */
#ifndef HD_ABI_WANTED_H
#define HD_ABI_WANTED_H

#include <stdint.h>

/* At the beginning of the search memory; the arrays follow at `at` bytes from there. */
struct hd_wanted {
  uint32_t nthreads; /* entries of the table of threads; 0: there is nothing to do */
  uint32_t norders;
  uint64_t nevents;
  uint64_t at_threads; /* struct hd_wanted_thread[nthreads] */
  uint64_t at_events;  /* struct hd_wanted_event[nevents] */
  uint64_t at_orders;  /* struct hd_wanted_order[norders] */
  /* The tested process: */
  uint64_t execution; /* number of the execution under way */
  uint32_t order, trial;
  uint32_t begun; /* some execution has begun ... */
  uint32_t ended; /* ... and the one under way has ended */
};

struct hd_wanted_thread {
  uint32_t parent; /* entry; the first thread names itself */
  uint32_t nth;    /* n-th thread that its parent created, from 1 */
};

/* An event as far as it can be recognised in another execution. */
struct hd_wanted_event {
  uint64_t pc; /* 0: anywhere */
  uint64_t object;
  uint32_t choice, nchoices;
  uint16_t thread; /* entry */
  uint8_t kind;    /* enum hd_op_kind */
  uint8_t plain;   /* it was not a scheduling point, and may not be one again */
  uint32_t unused;
};

/* How an execution leaves an order. */
struct hd_stray {
  uint64_t position; /* of the wanted event, from 1; 0: it never did */
  uint64_t pc;       /* what its thread was about to do instead; 0: nothing, it had ended or not begun */
  uint64_t object;
  uint32_t kind;    /* enum hd_op_kind; HD_OP_NONE */
  uint32_t blocked; /* it could not go on */
};

struct hd_wanted_order {
  uint64_t at_event; /* uint32_t[n]: entries of the table of events, in the wanted order */
  uint64_t at_next;  /* uint32_t[n]: position of the next event of the same thread, HD_WANTED_END: none */
  uint64_t at_first; /* uint32_t[nthreads]: position of the first event of each thread */
  uint32_t n;
  uint32_t failure; /* so many at the end are the failure itself */
  uint32_t trials;  /* executions that keep to it, each with another continuation */
  uint32_t swaps;   /* every second one exchanges the last two */
  uint32_t outcome; /* of the last event, plus 1; 0: as in the table of events */
  uint32_t unused;
  /* The tested process: */
  uint64_t first; /* number of the first execution that does; 0: none yet */
  uint32_t tried;
  uint32_t tried_pad;
  uint64_t kinds;        /* what was found in them, also what was found before: bits of enum hd_kind */
  uint32_t reached;      /* the events that were executed, of the longest try */
  uint32_t arrived;      /* in one of them every thread of the failure came to its event */
  struct hd_stray stray; /* of that try */
  uint64_t execution;    /* its number */
};
#define HD_WANTED_END UINT32_MAX
#define HD_WANTED_ARRAYS 4096      /* where they begin */
#define HD_WANTED_NAME "predicted" /* the strategy */

#endif

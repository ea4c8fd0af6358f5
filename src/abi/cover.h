/* cover.h: what the executions of a search exercised (runtime/core/cover.c), as it crosses the border. */
#ifndef HD_ABI_COVER_H
#define HD_ABI_COVER_H

#include <stdint.h>

/* Dense arrays, so that whoever reads them touches no more memory than there is to read. Entries with the same hash
 * are linked; numbers of entries count from 1, 0 ends a list. */

/* An operation that is a scheduling point, or belongs to a pair, was executed here. */
#define HD_COVER_CALLERS 6
struct hd_cover_place {
  uint64_t pc; /* return address */
  uint64_t
      caller[HD_COVER_CALLERS]; /* of C++, where much is in headers: who called it, the innermost first */
  uint64_t threads;             /* bit per number; the last one is for all from there on */
  uint32_t op;                  /* enum hd_op_kind */
  uint32_t exact;               /* it was that of an operation, not of a word of the shadow memory */
  uint32_t next;                /* with the same hash */
  uint32_t unused;
};
/* Two operations that conflict, of different threads, came in this order. */
struct hd_cover_pair {
  uint32_t first, second; /* numbers of entries of `place` */
  uint64_t object;        /* of the first time */
  uint64_t times;
  uint32_t next; /* with the same hash */
  uint32_t unused;
};

/* Locks that threads requested while each held the one which the thread before it requested (runtime/core/lockorder.c). */
#define HD_LOCK_CHAIN (1 + HD_COVER_CALLERS)
#define HD_LOCK_LINKS 4   /* threads of a cycle */
#define HD_LOCK_CYCLES 16 /* kept of one worker */
struct hd_lock_link {
  uint64_t held, wanted; /* the locks */
  uint64_t held_at[HD_LOCK_CHAIN],
      wanted_at[HD_LOCK_CHAIN]; /* return addresses, innermost first; 0 after the last one */
  uint16_t thread;
  uint8_t held_shared, wanted_shared; /* with other readers */
  uint32_t unused;
};
struct hd_lock_cycle {
  uint32_t n;     /* links in use */
  uint32_t apart; /* not all of its threads could run at the same time */
  struct hd_lock_link link[HD_LOCK_LINKS];
};

#define HD_COVER_PAIRS 65536u
#define HD_COVER_PLACES 16384u
#define HD_COVER_PAIR_LISTS 2048u
#define HD_COVER_PLACE_LISTS 1024u
struct hd_cover {
  uint64_t begun, looked_at; /* executions */
  uint32_t every;            /* one of so many is looked at; 0: not begun */
  uint32_t idle;             /* looked at since the last one that showed something new */
  uint32_t lost;             /* there was no room for something */
  uint32_t nplaces, npairs;
  uint32_t ncycles;
  struct hd_lock_cycle cycle[HD_LOCK_CYCLES];
  uint32_t place_list[HD_COVER_PLACE_LISTS], pair_list[HD_COVER_PAIR_LISTS]; /* first entries */
  struct hd_cover_place place[HD_COVER_PLACES];
  struct hd_cover_pair pair[HD_COVER_PAIRS];
};

#endif

/* finding.h: the record that the runtime makes of a finding: numbers and addresses, no names. */
#ifndef HD_ABI_FINDING_H
#define HD_ABI_FINDING_H

#include <stdint.h>

#include "model/numbers.h"
#include "model/op.h"

#define HD_MAX_STACK 48 /* program counters kept of one call stack */
#define HD_MAX_SITES 48 /* places named in one finding */
#define HD_MAX_NOTES 32 /* of one finding, the last ones */

enum hd_role {
  HD_ROLE_AT,       /* where it happened */
  HD_ROLE_PREVIOUS, /* the other access of a race */
  HD_ROLE_WAITS,    /* a blocked thread, and what it waits for */
  HD_ROLE_HOLDS,    /* where the thread took the lock that somebody waits for */
  HD_ROLE_ALLOC,    /* where the block was allocated */
  HD_ROLE_FREE,     /* where it was freed */
  HD_ROLE_CREATE,   /* where a thread was created */
  HD_ROLE_THROWN,   /* where an exception that was rethrown came from */
};

struct hd_site {
  uint8_t role; /* enum hd_role */
  uint8_t op;   /* enum hd_op_kind, or HD_OP_NONE */
  uint16_t thread;
  uint16_t peer;             /* WAITS: the thread that holds the object, or 0xffff; HOLDS: unused */
  uint16_t npc;              /* entries of pc[] in use; pc[0] is innermost */
  uint32_t size;             /* bytes accessed, or size of the block */
  uint32_t flags;            /* HD_SITE_* */
  uint64_t object;           /* address of the lock, variable, block */
  uint64_t pc[HD_MAX_STACK]; /* return addresses, except pc[0] of a crash (HD_SITE_EXACT) */
};
#define HD_SITE_EXACT 1  /* pc[0] is the instruction itself, not a return address */
#define HD_SITE_ATOMIC 2 /* an atomic access */

struct hd_thread_rec {
  uint16_t parent; /* thread number of its creator; the first thread names itself */
  uint16_t nth;    /* n-th thread its parent created, from 1 */
  uint32_t state;  /* HD_TS_* at the moment of the finding */
  uint64_t start;  /* address of its start routine */
  char name[16];   /* what the program calls it; may be empty */
};
enum { HD_TS_RUNNABLE, HD_TS_BLOCKED, HD_TS_DONE };
#define HD_MAX_THREAD_RECS 256

/* What the program had to say (hd_note), kept when `detail` is on. */
struct hd_note {
  uint64_t event; /* number of the event it is, from 1 */
  uint16_t thread;
  char text[118];
};

/* A label that the program reached (hd_target). */
struct hd_target {
  uint64_t executions, last; /* how many reached it, and the number of the last one */
  char label[48];
};

#define HD_PHASE_PREDICTED UINT32_MAX

/* A stack frame of a thread, under detail: what local variables are named by. Those of creators of threads come first, as they
 * were then; after them those at the finding. */
struct hd_frame_rec {
  uint64_t pc;  /* where the function was: the return address of its last call */
  uint64_t sp;  /* its stack pointer at calls */
  uint64_t cfa; /* the canonical frame address: just above its own return address */
};
#define HD_FRAMES_CAP 4096
struct hd_frame_recs {
  uint64_t n, nearlier;
  struct hd_frame_rec v[HD_FRAMES_CAP];
};

/* A block of the heap, live or freed, at that time: named by where it was allocated. */
#define HD_BLOCK_PCS 12
struct hd_block_rec {
  uint64_t base, size;
  uint64_t pc[HD_BLOCK_PCS]; /* of the allocation, the innermost first; 0 after the last one */
};
#define HD_BLOCKS_CAP 16384
struct hd_block_recs {
  uint64_t n;
  struct hd_block_rec v[HD_BLOCKS_CAP];
};

struct hd_finding_rec {
  uint32_t kind;
  uint32_t nsites;
  uint32_t nthreads;
  int32_t signal;   /* for crash */
  int32_t status;   /* for exit; uncaught exception: 1 if something on the way ended it */
  uint32_t partial; /* 1: the process died; the runtime could not finish the record */
  uint32_t phase;   /* status.phase_now of its execution; HD_PHASE_PREDICTED: of none */
  uint32_t pad;
  uint64_t key;       /* equal keys are the same finding */
  uint64_t execution; /* number of the execution, from 1 */
  uint64_t events;    /* of the search until then, those of the execution included */
  uint64_t seed;      /* of the strategy, for this search */
  uint64_t path_off;  /* steps: index into the finding-path area */
  uint64_t path_len;
  uint64_t visible_count; /* entries of the visible log that were known when the execution began */
  uint64_t point;         /* detail: number of the last scheduling point before it, from 1 */
  uint64_t fault_addr;
  uint64_t leaked_bytes, leaked_blocks;
  struct hd_numbers numbers; /* of the threads in path */
  uint32_t nnotes;
  uint32_t notes_pad;
  struct hd_note note[HD_MAX_NOTES];
  char text
      [512]; /* assert expression and the like; never empty for assertion; exception: type, newline, what() */
  struct hd_site site[HD_MAX_SITES];
  struct hd_thread_rec thread[HD_MAX_THREAD_RECS];
};

#endif

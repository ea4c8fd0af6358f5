/* abi.h: what crosses the border between the supervisor (`heddle`) and the tested process
 * (libheddle_rt.so).
 *
 * Both map one shared memory file at the same fixed address. The supervisor fills in `config`
 * before it starts the tested process; the runtime writes everything else. Whatever the tested
 * process had recorded when it died is therefore still there for the next one.
 *
 * Rules: plain data only, no pointers except into the file itself, every field written by one side.
 * A change of anything in this folder bumps HD_ABI_VERSION. */
#ifndef HD_ABI_H
#define HD_ABI_H

#include "abi/control.h"
#include "abi/shared.h"
#include "abi/symbolic.h"

#define HD_VERSION "0.1.0"
#define HD_ABI_VERSION 36
#define HD_CTL_MAGIC 0x31656c6464656848ull /* "Heddle1" */
#define HD_RUNTIME_SONAME "libheddle_rt.so.1"

/* The exit status of a process whose runtime and supervisor are of different versions. */
#define HD_DIED_VERSION 96

/* The environment variable that turns control on: "HEDDLE_CTL=<fd>", always this descriptor, so that
 * the length of the environment (and with it every stack address) is the same in every process. */
#define HD_CTL_ENV "HEDDLE_CTL"
#define HD_SPIN_ENV "GOMP_SPINCOUNT" /* libgomp: threads that wait sleep, so that others can be scheduled */
#define HD_SPIN_VALUE "0"
#define HD_CTL_FD 1000
#define HD_SEARCH_FD 1001  /* the file that all workers of one search share */
#define HD_FILE_LIMIT 1024 /* what a process must be allowed to have for that */

/* Sent by the supervisor when the execution makes no progress: the runtime records where it is. */
#define HD_SIG_HANG 16 /* SIGSTKFLT: no program uses it */

/* ---- the shared files: areas at fixed offsets, all sparse ---- */

/* One for each process. */
#define HD_SHM_BASE 0x380000000000ull
#define HD_SHM_CTL 0ull             /* struct hd_ctl */
#define HD_SHM_PATH (1ull << 28)    /* hd_step[]: schedule of the execution under way, or to replay */
#define HD_SHM_VISIBLE (2ull << 28) /* uint64_t[]: addresses (8-byte granules) learned to be visible */
#define HD_SHM_FPATH (3ull << 28)   /* hd_step[]: schedules of the findings */
#define HD_SHM_EVENT (4ull << 28)   /* struct hd_event[] of the execution under detail */
#define HD_SHM_UNDO (16ull << 28)   /* struct hd_undo_log: changes of files to be undone */
#define HD_SHM_CALLS (20ull << 28)  /* uint64_t[HD_CALLS][]: with `plain`, who called the place of an event */
#define HD_SHM_FRAMES (21ull << 28) /* struct hd_frame_recs: stack frames at a finding under detail */
#define HD_SHM_BLOCKS \
  (HD_SHM_FRAMES + (1ull << 20))        /* struct hd_block_recs: heap blocks, likewise, or at the end */
#define HD_SHM_SIZE HD_SHM_SYMBOLIC_END /* with inputs and expressions: more than 10 GiB of address space */

/* Entries of the visible areas that are no granules: places of loops that wait, and what the search explores from then on. */
#define HD_VISIBLE_SPIN (1ull << 62)
#define HD_VISIBLE_SPURIOUS (HD_VISIBLE_SPIN | 1) /* waits for conditions may end by themselves */
#define HD_VISIBLE_NUMBERS (HD_VISIBLE_SPIN | 2)  /* who gets which number of a descriptor */

/* One for the whole search. */
#define HD_SEARCH_BASE 0x390000000000ull
#define HD_SEARCH_HEAD 0ull            /* struct hd_shared */
#define HD_SEARCH_VISIBLE (1ull << 28) /* uint64_t[]: what any worker learned to be visible */
#define HD_SEARCH_COVER (2ull << 28)   /* struct hd_cover of each worker, HD_COVER_SIZE apart */
#define HD_SEARCH_CLASSES (6ull << 28) /* happens-before classes and final states that were counted */
#define HD_SEARCH_MEMORY (1ull << 38)  /* the strategy's memory */
#define HD_SEARCH_INBOX (7ull << 37)   /* a saved search, until it has been read */
#define HD_SEARCH_SIZE (1ull << 40)    /* 1 TiB of address space */

#define HD_PATH_CAP ((1ull << 28) / sizeof(hd_step))
#define HD_VISIBLE_CAP ((1ull << 28) / sizeof(uint64_t))
#define HD_FPATH_CAP ((1ull << 28) / sizeof(hd_step))
#define HD_EVENT_CAP ((12ull << 28) / sizeof(struct hd_event))
#define HD_UNDO_CAP (4ull << 28)
_Static_assert(sizeof(struct hd_frame_recs) <= HD_SHM_BLOCKS - HD_SHM_FRAMES &&
                   sizeof(struct hd_block_recs) <= HD_SHM_FRAMES + (1ull << 28) - HD_SHM_BLOCKS,
               "frames and blocks fit in the area");
#define HD_CALLS 8 /* return addresses, the innermost first, 0 after the last one */
#define HD_CALLS_CAP (1ull << 21)
#define HD_SEARCH_CAP (HD_SEARCH_INBOX - HD_SEARCH_MEMORY)
#define HD_COVER_SIZE (1ull << 22)
_Static_assert(sizeof(struct hd_cover) <= HD_COVER_SIZE && HD_COVER_SIZE * HD_MAX_WORKERS <= 4ull << 28,
               "every worker has room for what it covers");

#endif

/* aim.h: lines that executions are meant to reach, as they cross the border. Part of abi.h.
 *
 * The lines are part of the configuration: the runtime stops at their first instructions (runtime/core/aim.c), in a search
 * of any strategy and in a replay. What guides the search to them is in the search memory (explore/strategy_aim.c): the
 * supervisor writes everything but the results. */
#ifndef HD_ABI_AIM_H
#define HD_ABI_AIM_H

#include <stdint.h>

#define HD_MAX_AIMS 16         /* lines */
#define HD_MAX_AIM_PLACES 128  /* their first instructions */
#define HD_AIM_NAME "aim"      /* the strategy */
#define HD_AIM_FAR 0x3fffffffu /* a distance: it cannot be reached from there */

/* A place in the code: module 0 is the program, the others are its libraries; its offset is from where that is loaded. */
#define HD_MAX_AIM_LIBRARIES 15
#define HD_AIM_LIBRARY_NAME 64
#define HD_AIM_SHIFT 40
#define HD_AIM_CODE(module, offset) ((uint64_t)(module) << HD_AIM_SHIFT | (offset))
#define HD_AIM_MODULE(code) ((code) >> HD_AIM_SHIFT)
#define HD_AIM_OFFSET(code) ((code) & ((1ull << HD_AIM_SHIFT) - 1))

struct hd_aims {
  uint32_t n; /* lines to reach, one after the other; 0: none */
  uint32_t nplaces;
  uint32_t silent; /* reaching the last one is no finding */
  uint32_t nlibraries;
  char library[HD_MAX_AIM_LIBRARIES]
              [HD_AIM_LIBRARY_NAME]; /* of modules from 1 on: the names of their files, without folders */
  struct {
    uint64_t code; /* HD_AIM_CODE */
    uint64_t aim;  /* the line it belongs to */
  } place[HD_MAX_AIM_PLACES];
};

enum hd_aim_heuristic { HD_AIM_DISTANCE, HD_AIM_RANDOM, HD_AIM_THREAD };
enum hd_aim_search { HD_AIM_GREEDY, HD_AIM_BEST_FIRST };

#define HD_AIM_STATES 100000 /* to return to, at most (thesis 3.3) */
#define HD_AIM_NODE_BYTES 8  /* of the strategy's memory, for a node and for a state */
#define HD_AIM_STATE_BYTES 16
#define HD_AIM_COLUMNS 128  /* at most */
#define HD_AIM_SEQUENCE 256 /* definitions that a refinement puts before the lines, at most */

/* A branch on the way to a line or a definition, and the definitions of what its condition depends on. */
struct hd_aim_branch {
  uint32_t aim;      /* the column of that place */
  uint32_t distance; /* from the branch to it */
  uint32_t first, n; /* what decides it: columns, in the array at at_definitions */
};

/* At the beginning of the search memory; the arrays follow at `at` bytes from there. A column is a place to go to: first
 * the lines, then definitions. */
struct hd_aim_plan {
  uint32_t nrows;    /* ranges of code, in increasing order; 0: nothing is known about the code */
  uint32_t ncolumns; /* places to go to */
  uint32_t naims;    /* columns that are lines */
  uint32_t nbranches;
  uint64_t at_row;         /* uint64_t[nrows]: HD_AIM_CODE of the first byte of each */
  uint64_t at_end;         /* uint32_t[nrows]: distance to the end of the function */
  uint64_t at_distance;    /* uint32_t[nrows][ncolumns] */
  uint64_t at_branches;    /* struct hd_aim_branch[nbranches] */
  uint64_t at_definitions; /* uint32_t[]: columns */
  uint64_t at_nodes;       /* where the strategy has its own memory, ... */
  uint64_t max_nodes;      /* ... for so many nodes of the tree */
  uint32_t heuristic;      /* enum hd_aim_heuristic */
  uint32_t search;         /* enum hd_aim_search */
  uint32_t refines;        /* definitions are put before the lines when a branch goes the other way */
  uint32_t unmeta;         /* for comparison: how many places were reached does not count */
  uint64_t prefers;        /* HD_AIM_THREAD: threads that go first, one bit each */
  uint32_t patience;       /* executions without progress before the search ends; 0: it does not */
  uint32_t unused;
  /* The tested process: */
  uint64_t execution; /* number of the execution that was begun last ... */
  uint32_t ended;     /* ... and whether it has ended */
  uint32_t reached;   /* lines that were reached, one after the other, in one execution at most */
  uint32_t nearest;   /* the smallest distance to the next line, with that many reached */
  uint32_t refined;   /* refinements */
  uint64_t nearest_pc;
  uint64_t nearest_execution;
  uint64_t idle; /* executions since there was progress */
  uint64_t backtracks;
  uint32_t nsequence; /* definitions before the lines */
  uint32_t restarts;  /* times that they were dropped */
  uint32_t sequence[HD_AIM_SEQUENCE];
  uint64_t tried[HD_AIM_COLUMNS / 64]; /* definitions that were before the lines alone */
  uint32_t fresh;                      /* the next execution starts at the beginning */
  uint32_t alone;                      /* the one that is there is tried alone */
  uint64_t nnodes, nstates;
  uint64_t nodes_before, states_before; /* as of the beginning of the execution */
};

#endif

/* tree.h: the tree of executions, as the search area has it: all that must survive a process. Private to the search.
 *
 * A node is the state after k steps. A unit of work is a subtree: a prefix of steps and everything below it. A worker
 * has the nodes of its unit for itself, as a stack (struct unit). When another worker is idle, the upper part of the
 * stack becomes a chain of junctions, which all workers share under the lock; a branch that waits at a junction is a
 * unit that any worker can take. A search by one worker has no junctions. */
#ifndef HD_TREE_H
#define HD_TREE_H

#include "explore/explore_int.h"
#include "explore/policy.h"
#include "model/unit.h"

/* Who goes: the thread, and the outcome of its choice if that is fixed. One word, so that it changes at once. */
union pick {
  struct {
    uint32_t choice;
    uint16_t thread;
    uint8_t fixed_choice : 1;
    uint8_t executed : 1; /* `did` is known */
    uint8_t settled;      /* whether the races that end in this step are to be looked at again: reverse.c */
  };
  uint64_t word;
};

/* The state after the first k steps, as all workers see it. */
struct junction {
  struct junction *parent; /* NULL: the initial state */
  union pick pick;         /* the step that leads here from the parent, */
  struct hd_sleeper did;   /* and what it does */
  uint32_t depth;          /* k */
  uint32_t used;           /* 0: free for reuse */
  uint32_t live;           /* branches under way: units, and junctions below */
  uint32_t finished;       /* branches that are explored */
  uint32_t starting;       /* a branch was begun, and its first step is not known yet */
  uint32_t nsleep, cap;
  /* Of one whose owner is another machine (walk_move.c): 1 + its rank, 0: it is ours; its number there; everything that was
   * taken over from below it is explored. */
  uint32_t foreign;
  uint32_t number, concluded;
  uint32_t serial; /* of the unit that it came with */
  uint32_t unused;
  struct hd_sleeper *sleep; /* what has been begun from here, or slept before */
  struct hd_branch *list;   /* branches that nobody has begun */
};

struct node {
  union pick pick;       /* the branch being explored */
  struct hd_sleeper did; /* what the branch turned out to do */
  uint32_t nsleep;
  uint32_t finished;        /* branches explored from here */
  struct hd_sleeper *sleep; /* explored from here, or asleep; on the sleep stack, in the order of the nodes */
  struct hd_branch *branch; /* of the branch being explored; NULL when it was chosen freely */
  struct hd_branch *list;   /* further branches; of a node above the unit's: see the junction */
  struct junction *junction; /* of a node above the unit's, else NULL */
};

/* The stack of one worker, in its slot. */
struct unit {
  uint64_t epoch;          /* of the tree that it belongs to; another: nothing here counts */
  uint32_t active;         /* there is something left to explore */
  uint32_t base;           /* nodes from here on are its own */
  uint32_t depth;          /* nodes fixed for the next execution; node[depth-1].branch guides from there on */
  uint32_t at;             /* steps of the execution under way */
  uint32_t running;        /* nodes in use: max(depth, at) */
  uint32_t known;          /* nodes whose records are filled in; with records only */
  uint32_t told;           /* the junction knows what the first step of the unit does */
  uint32_t whole;          /* strategy_bounded.c: it knows of tree.whole */
  uint64_t in_flight;      /* number of the execution under way, 0 between them */
  struct junction *root;   /* node[base-1] belongs to it; NULL: the whole tree is one unit */
  struct hd_branch *guide; /* pending branches of the node to come */
  struct node *node;
  uint64_t node_cap;
  char *record; /* of each node, what filters and policy keep of it */
  struct hd_sleeper *sleep_base, *sleep_next, *sleep_end;
  struct hd_branch *branch_free, *branch_next, *branch_end;
  struct hd_branch *branch_returned; /* free, too, by other workers that have moved them; under the lock */
  uint32_t log_next, log_end;        /* of the log of visited states */
  uint64_t next_count;               /* execution at whose end pending branches are counted again */
  uint64_t serial;                   /* counts the units that were taken into this slot */
};

/* A state of the program (states.c). What the last three are for: stateful.c. */
struct state_slot {
  uint64_t key[2];
  uint64_t execution; /* that added it, */
  uint32_t depth;     /* and where; of one in a cycle, where that is entered */
  uint32_t epoch;     /* another: empty */
  uint32_t by;        /* who explores it (struct summaries.serial); 0: nobody */
  uint32_t status;    /* enum state_status */
  uint32_t summary;   /* of one that is finished: where in the log */
  uint32_t unused;
};
enum state_status { STATE_OPEN, STATE_IN_CYCLE, STATE_FINISHED };

/* An operation that summaries have, without what its dependences do not follow from. */
struct summary_op {
  struct hd_op op;
  uint64_t key; /* hd_dependence_key */
  uint32_t flags;
  uint32_t unused;
};
#define HD_SUMMARY_OPS (1u << 20) /* at most; a power of two */
/* An operation of a summary; the threads whose past happens before it; operations that come after all that conflicts with
 * them, and happen before it. */
struct summary_item {
  uint64_t op;      /* number */
  uint64_t threads; /* of the first 64 */
  uint64_t after;   /* of the 64 of states.after */
};

/* The table of states. */
struct states {
  uint32_t epoch; /* entries of others are empty slots */
  uint32_t full;  /* nothing can be added any more */
  uint64_t n, cap, max;
  struct state_slot *slot; /* a table of cap slots begins cap slots from here */
  /* stateful.c: operations by number, from 1, and a table of their numbers; summaries of states. */
  struct summary_op *op;
  uint32_t *op_table;
  uint32_t nops, serials;
  struct summary_op after[64];
  uint32_t nafter, unused;
  uint64_t *log;
  uint64_t log_n, log_max, log_last; /* log_last: where the last summary is */
};

/* The head of the search area. */
struct tree {
  uint64_t epoch;    /* counts the times it was laid out */
  uint32_t ready;    /* it is; also read without the lock (wait_for_others) */
  uint32_t started;  /* the first unit has been taken */
  uint32_t complete; /* also read without the lock */
  uint32_t nslots;
  uint32_t whole;  /* strategy_bounded.c: no branch within the bound is left out any more */
  uint32_t spread; /* it was on several machines: a step of a branch may sleep (walk_move.c, invariant 2) */
  uint32_t
      news; /* walk_move.c: a foreign junction has a branch that its owner does not know, or is concluded */
  uint64_t accesses;        /* walk_move.c: changes of accessed memory that others know of */
  struct junction *closing; /* everything from there is explored: its parent's counters must change */
  struct junction *junction;
  uint32_t njunctions, cap_junctions;
  struct hd_sleeper *pool_next, *pool_end; /* sleep lists of the junctions */
  struct hd_sleeper *pool_free[32];        /* of 2^i entries; linked through the first word */
  char *slot;                              /* units, slot_size apart */
  uint64_t slot_size;
  struct hd_visited visited;
  struct states states;
};
static inline void hd__tree_set_ready(struct tree *t, uint32_t ready) {
  __atomic_store_n(&t->ready, ready, __ATOMIC_RELEASE);
}

#define HD_TREE_FULL "the search needs more memory than it has: try a smaller program or a sampling strategy"

#endif

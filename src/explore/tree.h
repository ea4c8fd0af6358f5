/* tree.h: the tree that `optimal` and `dpor` search, shared by all workers. Private to the search.
 *
 * A unit of work is a subtree: a prefix of steps and everything below. A worker has the nodes of its unit for
 * itself, as a stack (struct unit). When another one has nothing to do, the upper part of the stack becomes a
 * chain of junctions, which all workers share under the lock; branches that wait there are units that anybody can
 * take. A race found in one unit can ask for a branch at a junction far above: it is added there.
 *
 * A search by one worker has no junctions. */
#ifndef HD_TREE_H
#define HD_TREE_H

#include "explore/explore_int.h"

/* A pending branch: a sequence of events to follow, as a tree of common prefixes. */
struct wut {
  struct hd_op op;
  uint16_t choice;
  uint16_t flags;      /* HD_EV_*; as it was seen */
  uint32_t any_choice; /* the outcome of the choice does not matter */
  struct wut *child, *next;
};

struct sleeper {
  struct hd_op op;
  uint16_t choice, nchoices;
  uint16_t flags;
  uint16_t weak; /* another worker may still be at it: see tree_share.c, invariant 4 */
};

/* Who goes: the thread, and the outcome of its choice if that is fixed. One word, so that it changes at once. */
union pick {
  struct {
    uint16_t thread, choice;
    uint8_t fixed_choice;
    uint8_t executed; /* `did` is known */
    uint8_t settled;  /* 1: the races that end in this step need not be looked at again (tree_insert.c) */
  };
  uint64_t word;
};

/* The state after the first k steps, as all workers see it. */
struct junction {
  struct junction *parent; /* NULL: the initial state */
  union pick pick;         /* the step that leads here from the parent */
  uint32_t depth;          /* k */
  uint32_t used;           /* 0: free for reuse */
  uint32_t live;           /* branches under way: units, and junctions below */
  uint32_t finished;       /* branches that are explored */
  uint32_t starting;       /* a branch was begun, but nobody has seen yet what its first step does */
  uint32_t nsleep, cap;
  uint32_t unused;
  struct sleeper *sleep; /* what has been begun from here, or slept before */
  struct wut *list;      /* branches that nobody has begun */
};

struct node {
  union pick pick;    /* the branch being explored */
  struct sleeper did; /* what the branch turned out to do */
  uint32_t nsleep;
  uint32_t finished;         /* branches explored from here */
  struct sleeper *sleep;     /* allocated on the sleep stack, in the order of the nodes */
  struct wut *branch;        /* of the branch being explored; NULL when it was chosen freely */
  struct wut *list;          /* further branches; of a node above the unit's: see the junction */
  struct junction *junction; /* of a node above the unit's, else NULL */
};

/* The stack of one worker, in its slot. */
struct unit {
  uint64_t epoch;        /* of the tree that it belongs to; another: nothing here counts */
  uint32_t active;       /* there is something left to explore */
  uint32_t base;         /* nodes from here on are its own */
  uint32_t depth;        /* nodes fixed for the next execution; node[depth-1].branch guides from there on */
  uint32_t at;           /* steps of the execution under way */
  uint32_t running;      /* nodes in use: max(depth, at) */
  uint32_t told;         /* the junction knows what the first step of the unit does */
  uint64_t in_flight;    /* number of the execution under way, 0 between them */
  struct junction *root; /* node[base-1] belongs to it; NULL: the whole tree is one unit */
  struct wut *guide;     /* pending branches of the node to come */
  struct node *node;
  uint64_t node_cap;
  struct sleeper *sleep_base, *sleep_next, *sleep_end;
  struct wut *wut_free, *wut_next, *wut_end;
  double fraction; /* of it that is explored */
};

/* The head of the search area. */
struct tree {
  uint64_t epoch;   /* counts the times it was laid out */
  uint32_t ready;   /* it is */
  uint32_t started; /* the first unit has been taken */
  uint32_t complete;
  uint32_t unused;
  struct junction *closing; /* everything from there is explored: its parent must be told */
  struct junction *junction;
  uint32_t njunctions, cap_junctions;
  struct sleeper *pool_next, *pool_end; /* sleep lists of the junctions */
  struct sleeper *pool_free[32];        /* of 2^i entries; linked through the first word */
};

/* What differs between the two strategies. */
struct rules {
  int whole; /* a branch is a whole sequence, and nothing is ever given up; else its first step alone */
};

int hd__tree_begin(struct hd_search *s);
int hd__tree_pick(struct hd_search *s, const struct hd_point *p);
int hd__tree_choose(struct hd_search *s, unsigned k);
void hd__tree_event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                    unsigned nchoices);
int hd__tree_end(struct hd_search *s, const struct hd_point *p, enum hd_how how, const struct rules *rules);
void hd__tree_forget(struct hd_search *s);

/* ---- between the files of the tree ---- */

extern struct hd_order hd__tree_trace;
extern uint32_t *hd__tree_seq; /* scratch: event numbers */

static inline struct tree *hd__tree(struct hd_search *s) { return (struct tree *)s->memory; }
struct unit *hd__tree_unit(struct hd_search *s, unsigned slot);

/* Inserts what the races of the execution ask for (tree_insert.c). Branches above the unit are inserted only with
 * `above`, which needs the lock; returns whether there are any. */
int hd__tree_reverse(struct unit *u, const struct rules *rules, int above);
/* All races have been seen to: marks the steps whose races are settled for good. */
void hd__tree_settle(struct unit *u);

/* Units and junctions (tree_share.c). */
int hd__tree_find_work(struct hd_search *s, struct unit **u);
void hd__tree_tell(struct hd_search *s, struct unit *u);
void hd__tree_lock_junctions(struct hd_search *s, const struct unit *u);
void hd__tree_finish(struct hd_search *s, struct unit *u);
void hd__tree_close(struct hd_search *s);
void hd__tree_donate(struct hd_search *s, struct unit *u);
void hd__tree_estimate(struct hd_search *s, struct unit *u);

#define HD_TREE_FULL "the search needs more memory than it has: try a smaller program or a sampling strategy"

#endif

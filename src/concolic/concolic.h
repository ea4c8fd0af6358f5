/* concolic.h: inputs and schedules together, by bounded interference. Runs in the supervisor.
 *
 * After Razavi, "Effective Heuristic-based Test Generation Techniques for Concurrent Software", 2014, chapter 6, (conc)2olic
 * testing, with corrections (bounded.c).
 *
 * Terms
 *   interference  a read of a value that another thread wrote, other than one that the reader's thread inherited: written
 *                 by its creator, or by the creator of that, before the creation
 *   forest        for each thread a tree of what it was seen to do: reads (each a fresh symbol), writes, branches,
 *                 operations on locks and threads. It does not say where values that were read came from
 *   scenario      for each thread a path in its tree, and for some reads on these paths the write of another thread that
 *                 they see; other reads see what their own thread wrote or inherited. Its sink is what it is made for: a
 *                 branch's other outcome, or a read that is to see no other thread's write
 *   degree        how many interferences a scenario has
 *   realizable    some inputs and some schedule lead to it
 *
 * The search takes scenarios in the order of their degrees. One that is realizable is executed, and what the execution
 * shows for the first time gives new scenarios. One that is not gets interferences added: a write of another thread for a
 * read that keeps it from being realizable. When no scenario of a degree up to k is left, every branch that can be reached
 * with k interferences was covered. */
#ifndef HD_CONCOLIC_CONCOLIC_H
#define HD_CONCOLIC_CONCOLIC_H

#include "symbolic/expr.h"
#include "symbolic/solver.h"

#define HD_CC_THREADS 64
#define HD_CC_EDGES 64 /* interferences of a scenario, at most */

enum hd_cc_kind {
  HD_CC_READ,
  HD_CC_WRITE,
  HD_CC_BRANCH,
  HD_CC_LOCK,
  HD_CC_UNLOCK,
  HD_CC_CREATE,
  HD_CC_JOIN,
  HD_CC_END, /* of a thread */
  HD_CC_OTHER,
};

/* What an execution did, in order. */
struct hd_cc_event {
  uint8_t kind;
  uint8_t size;   /* READ, WRITE: bytes */
  uint8_t step;   /* an operation of the schedule, not a part of the one before it */
  uint8_t taken;  /* BRANCH: the outcome */
  uint8_t fixed;  /* BRANCH: its other outcome is not asked for, as for the range of an input */
  uint8_t counts; /* BRANCH: one of the program's, for coverage */
  uint16_t thread;
  uint16_t child;    /* CREATE, JOIN: the other thread */
  uint64_t object;   /* an address */
  uint64_t site;     /* in the code */
  hd_expr_ref expr;  /* READ: its symbol; WRITE: what was written; BRANCH: a condition that was true */
  hd_expr_ref other; /* BRANCH: the condition of the other outcome, as that has it; 0: the negation */
  uint64_t value;    /* READ: what was read; WRITE: what was written */
};

/* What to execute next. */
struct hd_cc_plan {
  const uint16_t *step; /* threads, one for each operation */
  size_t nsteps;
  uint16_t tail; /* the thread that goes on alone after them, as far as it can */
  const struct hd_values *inputs;
  unsigned degree;
};

enum hd_cc_state {
  HD_CC_GOES_ON,
  HD_CC_LIMIT, /* scenarios of higher degrees are left */
  HD_CC_LATE,
  HD_CC_MAX,  /* no scenario is left */
  HD_CC_FULL, /* every outcome of every branch that was executed is covered */
};

/* Which constraint the driver hyper turns round next. */
enum hd_cc_order {
  HD_CC_COVERING, /* outcomes of branches that are not covered first, else in the order in which they were met */
  HD_CC_HEAP,     /* the one that follows from the fewest others */
  HD_CC_DEEPEN,  /* of those within a number of events of a thread the last one; that number grows */
  HD_CC_NEAREST, /* the same, with the distance to a target added to the events (IDA*) */
};

struct hd_cc_options {
  enum hd_cc_order order;
  /* How far a place in the code is from what the search looks for, at least; NULL: it looks for nothing. Drivers hyper, mta. */
  uint32_t (*distance)(void *arg, uint64_t site);
  void *distance_arg;
  unsigned max_degree;
  bool until_full;                     /* stop when every outcome is covered */
  bool no_core, no_cache, no_priority; /* optimisations U, D and P switched off, to measure them */
};

struct hd_cc_stats {
  uint64_t scenarios;            /* different ones that were looked at */
  uint64_t executions, realized; /* plans made; those whose execution reached the sink */
  uint64_t no_order, no_inputs;  /* not realizable, for want of a schedule; of inputs */
  uint64_t dropped;              /* not realizable, whatever interferes */
  uint64_t unknown;              /* the solver gave up, or orders were too many */
  uint64_t diverged;             /* an execution did not reach its sink */
  uint64_t
      overlapping; /* accesses of different sizes to the same memory, which are taken for different memory */
  uint64_t unseen; /* a value was read that no write in the log had written */
  uint64_t too_large; /* scenarios with too many interferences or threads */
  uint64_t others;    /* operations whose order constraints are not known here */
  size_t nodes;       /* of the forest */
};

/* A branch of the program, with one outcome. */
struct hd_cc_branch {
  uint64_t site;
  uint16_t thread; /* that covered it first, or executed the other outcome */
  bool taken, covered;
  uint64_t threads; /* that covered it: a bit for each */
  int degree; /* the smallest with which it was covered; -1: not covered, or the driver does not count them. Of the driver
                 mta: enum hd_cc_way */
};

/* How the next inputs and schedule are chosen. Each is a file here. */
enum hd_cc_driver {
  HD_CC_NONE,
  HD_CC_BOUNDED,    /* by the number of interferences */
  HD_CC_SEQUENTIAL, /* inputs of each thread, which runs alone */
  HD_CC_HYPER,      /* branches and orders of operations, turned round one after the other */
  HD_CC_MTA,        /* orders of what one execution did, and parts of several */
};

/* How the driver mta covered an outcome. */
enum hd_cc_way { HD_CC_ALONE, HD_CC_REORDERED, HD_CC_COMBINED };

struct hd_cc;
/* The store and the solver are borrowed. */
struct hd_cc *hd_cc_new(enum hd_cc_driver which, struct hd_exprs *x, struct hd_solver *s,
                        const struct hd_cc_options *o);
void hd_cc_free(struct hd_cc *c);
/* What an execution did. The first one may be any. */
void hd_cc_observe(struct hd_cc *c, const struct hd_cc_event *event, size_t n);
/* The next plan, valid until the next call; pre: the execution of the last one was observed. Looks at many scenarios if most
 * are not realizable, but not beyond `deadline` (of hd_now; 0: none): then HD_CC_LATE. */
enum hd_cc_state hd_cc_next(struct hd_cc *c, struct hd_cc_plan *out, double deadline);
const struct hd_cc_stats *hd_cc_stats(const struct hd_cc *c);
const struct hd_cc_branch *hd_cc_branches(const struct hd_cc *c, size_t *n);

#endif

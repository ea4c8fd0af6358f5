/* concolic_int.h: the forest and its scenarios, for the files of src/concolic. */
#ifndef HD_CONCOLIC_INT_H
#define HD_CONCOLIC_INT_H

#include "concolic/concolic.h"

/* ---- the forest (forest.c) ---- */

struct hd__node {
  uint32_t parent, child, sibling; /* 0: none */
  uint32_t depth;                  /* from 1 */
  uint32_t var;                    /* READ, WRITE: which memory */
  uint32_t local;                  /* READ: the write of the same thread that it sees by itself; 0: none */
  uint32_t held;                   /* locks held after it */
  bool seen;                       /* in an execution; else it is the other outcome of a branch that was */
  struct hd_cc_event e;
};

struct hd__var {
  uint64_t object;
  uint8_t size;
  bool has_initial;
  uint64_t initial;
};

struct hd__forest {
  HD_VEC(struct hd__node) node; /* node.v[0] is none */
  HD_VEC(struct hd__var) var;
  uint32_t *table; /* of vars */
  size_t slots;
  uint32_t root[HD_CC_THREADS]; /* a node for each thread, above its first event */
  uint64_t overlapping;
};

void hd__forest_init(struct hd__forest *f);
void hd__forest_fini(struct hd__forest *f);
/* The node below `parent` that the event is; made if it is new. */
uint32_t hd__forest_add(struct hd__forest *f, uint32_t parent, const struct hd_cc_event *e);
uint32_t hd__forest_root(struct hd__forest *f, unsigned thread);
uint32_t hd__forest_var(struct hd__forest *f, uint64_t object, uint8_t size);
/* Whether `a` is on the path to `b`, or is it. */
bool hd__forest_above(const struct hd__forest *f, uint32_t a, uint32_t b);

/* ---- scenarios (scenario.c) ---- */

struct hd__edge {
  uint32_t read, write;
};

/* JOIN: a join, after one way that the joined thread ended; BEFORE_JOIN: whichever way that is. END: of a thread. CREATE: of
 * a thread that goes on alone. */
enum hd__sink {
  HD__SINK_BRANCH,
  HD__SINK_READ,
  HD__SINK_WRITE,
  HD__SINK_JOIN,
  HD__SINK_BEFORE_JOIN,
  HD__SINK_END,
  HD__SINK_CREATE,
};

/* The leaf of the sink's thread is the sink itself. */
struct hd__scenario {
  uint32_t sink, kind;
  uint32_t nleaf, nedge;
  uint32_t leaf[HD_CC_THREADS];      /* in the order of threads */
  struct hd__edge edge[HD_CC_EDGES]; /* in the order of reads */
};

struct hd__scenarios {
  HD_VEC(uint32_t) word; /* saved ones, one after the other */
  uint32_t *table;       /* their places, plus 1 */
  size_t slots, n;
};

enum hd__mark { HD__QUEUED = 1, HD__OBSERVED = 2 };

void hd__scenarios_init(struct hd__scenarios *s);
void hd__scenarios_fini(struct hd__scenarios *s);
/* Saves it, unless there is an equal one. *is_new says whether. */
uint32_t hd__scenarios_save(struct hd__scenarios *s, const struct hd__scenario *c, bool *is_new);
void hd__scenarios_load(const struct hd__scenarios *s, uint32_t at, struct hd__scenario *out);
uint32_t *hd__scenarios_mark(struct hd__scenarios *s, uint32_t at);
uint32_t hd__scenario_leaf(const struct hd__forest *f, const struct hd__scenario *c, unsigned thread);
/* The write that a read sees, 0: one of its own thread. */
uint32_t hd__scenario_source(const struct hd__scenario *c, uint32_t read);
/* Both together, and `read` of c sees the sink of w, unless it is a join; false: they contradict each other. */
bool hd__scenario_merge(const struct hd__forest *f, const struct hd__scenario *c,
                        const struct hd__scenario *w, uint32_t read, struct hd__scenario *out);

/* ---- realizability ---- */

/* The events of a scenario, thread by thread. */
struct hd__case {
  const struct hd__forest *f;
  const struct hd__scenario *c;
  unsigned nthreads; /* numbers of threads are below */
  uint32_t first[HD_CC_THREADS +
                 1]; /* of each thread: its first event; events of thread t are first[t] .. first[t + 1] */
  uint32_t base[HD_CC_THREADS]; /* the creation of the thread: event plus 1; 0: it is the first one */
  HD_VEC(uint32_t) node;
  HD_VEC(uint32_t) source; /* of reads: the write's event plus 1, 0: the initial value */
  HD_VEC(bool) local;      /* reads that see no other thread's write */
  HD_VEC(uint32_t) order;  /* events, after hd__order */
};

void hd__case_init(struct hd__case *k, const struct hd__forest *f, const struct hd__scenario *c);
void hd__case_fini(struct hd__case *k);

enum hd__answer { HD__YES, HD__NO, HD__UNKNOWN };
/* Is there an order of the events in which each read sees its source? With `lax`, reads that are local may see anything. */
enum hd__answer hd__order(struct hd__case *k, bool lax);
/* Are there inputs? pre: the order is known. If not, *reads gets the local reads that matter, as nodes. With *guessed
 * they are inputs for some initial values, which are not known. */
struct hd__reads {
  uint32_t *v;
  size_t n, cap;
};
enum hd__answer hd__inputs(struct hd__case *k, struct hd_exprs *x, struct hd_solver *s,
                           struct hd_values *inputs, struct hd__reads *reads, bool *guessed);
/* The local reads that keep an order from existing, at least. */
void hd__order_reads(const struct hd__case *k, struct hd__reads *reads);

#endif

/* concolic_int.h: the forest and its scenarios, for the files of src/concolic. */
#ifndef HD_CONCOLIC_INT_H
#define HD_CONCOLIC_INT_H

#include "concolic/concolic.h"

/* ---- drivers (driver.c) ---- */

/* The beginning of what each driver has. */
struct hd_cc {
  const struct hd__driver *driver;
  struct hd_exprs *x;
  struct hd_solver *solver;
  struct hd_cc_options o;
  struct hd_cc_stats stats;
  HD_VEC(uint16_t) step;   /* of the next plan */
  struct hd_values inputs; /* the same */
  HD_VEC(struct hd_cc_branch) branch;
  uint32_t *branches; /* of `branch`: open addressing */
  size_t branch_slots;
};

struct hd__driver {
  enum hd_cc_driver which;
  struct hd_cc *(*create)(const struct hd_cc_options *o);
  void (*destroy)(struct hd_cc *c); /* what it has beside struct hd_cc */
  void (*observe)(struct hd_cc *c, const struct hd_cc_event *event, size_t n);
  enum hd_cc_state (*next)(struct hd_cc *c, struct hd_cc_plan *out, double deadline);
};
extern const struct hd__driver hd__bounded, hd__sequential, hd__hyper, hd__mta;

/* An execution came to that outcome. */
void hd__cover(struct hd_cc *c, const struct hd_cc_event *e, int degree);
bool hd__is_covered(const struct hd_cc *c, const struct hd_cc_event *e);
/* The outcome's number among the branches; added if it is new. */
size_t hd__branch_number(struct hd_cc *c, const struct hd_cc_event *e, bool taken);
/* ... of its thread. */
bool hd__covered_by(const struct hd_cc *c, const struct hd_cc_event *e);
/* The smallest degree that it was covered with; -1: it was not. */
int hd__covered_with(const struct hd_cc *c, const struct hd_cc_event *e);
bool hd__all_covered(const struct hd_cc *c);

/* ---- one execution (path.c) ---- */

struct hd__pair {
  uint32_t first; /* event: where an operation begins */
  uint32_t
      second; /* event: what depends on that operation; it may be the end of its own, which reads and writes */
};

/* Its events, with what they compute and what they follow from. */
struct hd__path {
  struct hd_cc_event *event;
  uint32_t n;
  unsigned nthreads;
  uint32_t *index;    /* of each event: its number in its thread, from 0 */
  uint32_t *before;   /* the event before it in its thread, plus 1 */
  uint32_t *clock;    /* [n][nthreads]: how many events of each thread it follows from, with itself */
  uint64_t *hash;     /* of the event and everything it follows from */
  uint64_t *local;    /* ... and what came before it in its thread alone */
  uint32_t *source;   /* READ: the write that it saw, plus 1; 0: the initial value */
  hd_expr_ref *value; /* BRANCH: the condition, READ, WRITE: what was read, written; over inputs alone */
  hd_expr_ref *other; /* BRANCH: the condition of the other outcome */
  HD_VEC(struct hd__pair)
  pair; /* operations that depend on each other, which nothing else orders: the second one may
                                 * come first */
};

/* False: it is too long. */
bool hd__path_init(struct hd__path *p, struct hd_exprs *x, const struct hd_cc_event *event, size_t n);
void hd__path_fini(struct hd__path *p);
static inline bool hd__follows(const struct hd__path *p, uint32_t later, uint32_t earlier) {
  return p->clock[later * p->nthreads + p->event[earlier].thread] > p->index[earlier];
}
/* The hash that the event would have with the other outcome. pre: a branch. */
uint64_t hd__path_dual(const struct hd__path *p, uint32_t branch);
/* ... that the second one of a pair would have if the first one did not come before it. */
uint64_t hd__path_reversed(const struct hd__path *p, const struct hd__pair *r);

/* ---- what to execute next (context.c) ---- */

/* The beginning of an execution that was seen, and then something else. */
struct hd__context {
  HD_VEC(uint16_t) step;         /* threads, for each operation of the beginning */
  HD_VEC(hd_expr_ref) condition; /* for inputs; none: those that it had */
  HD_VEC(uint64_t) kept;         /* hashes of the events of the beginning, sorted, ... */
  uint64_t then;                 /* ... and of the event that comes next */
  struct hd_values inputs;
  uint32_t depth;  /* events of the thread up to there */
  uint16_t tail;   /* a thread that goes on alone then */
  uint16_t thread; /* of the sequential driver: whose inputs are searched */
  uint32_t from;   /* the same: outcomes of its branches before this one are not asked for again */
  struct hd_cc_event sink;
};

/* What is kept of an execution in which a branch gets its other outcome. */
enum hd__kept {
  HD__KEPT_PAST,   /* what the branch follows from */
  HD__KEPT_BEFORE, /* everything that came before it */
  HD__KEPT_REST,   /* everything that does not follow from it */
};
void hd__context_branch(struct hd__context *c, const struct hd__path *p, uint32_t branch, enum hd__kept kept,
                        const struct hd_values *inputs);
/* The second one of a pair before the first one. */
void hd__context_pair(struct hd__context *c, const struct hd__path *p, const struct hd__pair *r,
                      const struct hd_values *inputs);
/* A thread that goes on alone after its creation. */
void hd__context_create(struct hd__context *c, const struct hd__path *p, uint32_t create,
                        const struct hd_values *inputs);
void hd__context_free(struct hd__context *c);
/* Finds inputs. False: there are none. */
bool hd__context_solve(struct hd_cc *c, const struct hd__context *t, enum hd_smt_answer *answer);
/* pre: c->inputs are those for it. */
void hd__context_plan(struct hd_cc *c, const struct hd__context *t, struct hd_cc_plan *out);

/* ---- inputs and an order of two executions (question.c) ---- */

/* Values of memory that executions have read before they wrote it. */
struct hd__initial {
  uint64_t object, value;
  uint8_t size;
};
struct hd__initials {
  struct hd__initial *v;
  size_t n, cap;
};

/* Symbols for times and the like, used again by each question. */
struct hd__symbols {
  struct {
    hd_expr_ref *v;
    size_t n, cap;
  } of[33]; /* by width */
};
void hd__symbols_free(struct hd__symbols *s);

/* Can a branch of `run` have its other outcome, if all but its first `fixed` events may come in another order, and threads
 * may go on as in `other`? */
struct hd__question {
  const struct hd__path *run;
  const struct hd_values *inputs; /* of the run */
  const struct hd__initials *initials;
  uint32_t fixed; /* where an operation begins */
  uint32_t target;
  const struct hd__path *other;   /* NULL: none, and what follows has no meaning */
  const uint32_t *upto;           /* events of each thread of `other` that may happen; whole operations */
  uint32_t read;                  /* event of `run` that sees ... */
  const struct hd_cc_event *seen; /* ... this write of `other` */
};
/* SAT: c->inputs and c->step lead to where the branch comes next. */
enum hd_smt_answer hd__question_ask(struct hd_cc *c, const struct hd__question *q,
                                    struct hd__symbols *symbols);

/* ---- the forest (forest.c) ---- */

struct hd__node {
  uint32_t parent, child, sibling; /* 0: none */
  uint32_t depth;                  /* from 1 */
  uint32_t var;                    /* READ, WRITE: which memory */
  uint32_t local;                  /* READ: the write of the same thread that it sees by itself; 0: none */
  uint32_t held;                   /* locks held after it */
  bool outer; /* READ: the thread's first access to that memory; WRITE: its last write, in some execution */
  bool seen;  /* in an execution; else it is the other outcome of a branch that was */
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
  struct hd__slot {
    uint32_t at, hash; /* its place, plus 1; a part of its hash, so that most others need not be compared */
  } * table;
  size_t slots, n;
};

enum hd__mark { HD__QUEUED = 1, HD__OBSERVED = 2 };

void hd__scenarios_init(struct hd__scenarios *s);
void hd__scenarios_fini(struct hd__scenarios *s);
/* Saves it, unless there is an equal one. *is_new says whether. */
uint32_t hd__scenarios_save(struct hd__scenarios *s, const struct hd__scenario *c, bool *is_new);
void hd__scenarios_load(const struct hd__scenarios *s, uint32_t at, struct hd__scenario *out);
/* The sink, and the number of interferences. */
uint32_t hd__scenarios_sink(const struct hd__scenarios *s, uint32_t at, uint32_t *nedge);
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

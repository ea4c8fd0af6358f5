/* walk.h: the walk over the tree of executions, shared by all complete strategies. Private to the search.
 *
 * What differs between strategies is the policy: which branches a node has. A filter says which of them, or which
 * whole states, need not be explored. Both are tables of functions; the walk does the rest: stack, units, donation,
 * recovery after a kill, counters. */
#ifndef HD_WALK_H
#define HD_WALK_H

#include "explore/tree.h"

/* Scratch of reverse.c. */
struct reversal {
  /* Of each thread: its first event that is left in the sequence, HD_NONE, and its index among those of the thread,
   * else LATER; its first event after the race, and its last one that comes before the second operation of the race when
   * that is reversed. */
  uint32_t first[HD_MAX_THREADS];
  int32_t first_index[HD_CLOCK_MAX];
  uint32_t after[HD_MAX_THREADS];
  uint32_t last[HD_MAX_THREADS];
  /* Of each event: the next one of its thread, and whether it was taken from the sequence that has this number. Of
   * each event the first race to be reversed before it, and of each race the next such, as numbers plus 1. */
  uint32_t *next_of, *taken, *first_race, *next_race;
  uint32_t sequences;
  uint32_t sections; /* some of these are in atomic sections */
#define HD_WITNESSES 64
  uint32_t witness[HD_WITNESSES];
};

/* stateful.c: what this process knows of the nodes from `floor` on. */
struct summaries {
  struct unit *unit; /* of this unit, */
  uint64_t epoch;    /* in this tree, */
  uint32_t serial;   /* called so in the table of states */
  uint32_t floor;    /* nodes before this one are not finished here, */
  uint32_t base;     /* nor those before this one, which others take part in */
  uint32_t cyclic;   /* a cycle is entered at one of these */
  uint32_t nopen;    /* states that are not finished, in the order in which they were entered */
  uint32_t nmet;     /* what the end of the execution has to take into account: in `met` */
  uint64_t met_in;   /* number of the execution that was given up at met[0] */
  struct met *met;
  struct summary *of; /* [node] */
  struct depends {
    uint64_t set;
    uint32_t n, guarded;
  } * depends; /* [event]: on which of the first n of states.after; whether a waiting loop did it */
  struct open_state *open;
  char *next, *end; /* memory for items of summaries */
};

/* Scratch of strategy_bounded.c. */
struct requests {
  uint64_t *asked; /* requests of an execution, packed */
  uint64_t *merged;
  uint32_t nasked, nblock;
  union hd_list below;               /* the same, in the log of visited states */
  uint64_t block[HD_MAX_THREADS];    /* threads asked for before the block at the end */
  uint32_t *position;                /* of all events, by thread and index */
  uint32_t *enabler;                 /* what each event may have had to wait for */
  uint32_t from[HD_MAX_THREADS + 1]; /* where a thread begins in `position` */
};

/* symmetry.c, of the execution under way. [thread] */
struct symmetry {
  uint64_t epoch;                                       /* of the search that the order knows of */
  uint32_t nthreads;                                    /* entries that may be in use */
  uint32_t follows[HD_MAX_THREADS];                     /* order.follows */
  uint32_t first[HD_MAX_THREADS], last[HD_MAX_THREADS]; /* its events, HD_NONE */
  uint32_t created[HD_MAX_THREADS]; /* number of its creation among the events of its creator, which is ... */
  uint16_t parent[HD_MAX_THREADS];
  uint16_t leader[HD_MAX_THREADS],
      follower[HD_MAX_THREADS];                          /* that it follows, and that follows it; plus 1 */
  uint16_t root[HD_MAX_THREADS];                         /* first member of its family, plus 1 */
  uint16_t size[HD_MAX_THREADS], joined[HD_MAX_THREADS]; /* of a family, by its root */
  uint16_t joining[HD_MAX_THREADS];                      /* family that it has joined in part, plus 1 */
  uint8_t is_joined[HD_MAX_THREADS];
  uint32_t *next;                /* of each event: the next one of its thread */
  uint32_t *least;               /* of each event: its least outcome */
  const struct hd_set *enabled;  /* at this scheduling point */
  const struct hd_op *const *op; /* pending there */
};

struct walk {
  /* In use at every step; the functions are copies from policy and filters, NULL at the end. */
  struct hd_search *s;
  uint64_t epoch;        /* of the search, that no worker is behind */
  uint64_t contended;    /* shared.contended_seen when the execution under way began */
  struct unit *unit;     /* that the execution under way belongs to */
  uint32_t events;       /* of the execution under way */
  uint32_t thread;       /* of the last of them */
  int ordered;           /* the order of this execution is kept */
  int spread;            /* tree.spread, when the execution under way began */
  uint64_t run;          /* the last execution, by hd_known.runs, if it was of the same unit; 0: it was not */
  uint64_t serial, tree; /* of the unit, and epoch of the tree, when the execution under way began */
  uint64_t *hash;        /* of the operations up to each event of it */
  int trusts_order;      /* what the order knows of the last execution is of this unit */
  void (*before_event)(struct walk *w, const struct hd_op *op);
  void (*after_event)(struct walk *w);
  void (*enter[FILTERS + 2])(struct walk *w, uint32_t k, const struct hd_point *p, int fresh);
  const struct policy *policy;
  const struct filter *filter[FILTERS + 1]; /* those of the policy that are active */
  uint32_t offset[FILTERS + 1];             /* of their records, and of the policy's */
  uint32_t stride;                          /* bytes of all records of a node */
  struct hd_order order;
  uint32_t *scratch; /* almost 4 GiB */
  uint64_t cut;      /* bounds.c: what shared.bound_cut becomes, when this execution left something out */
  uint64_t prefix;   /* visited.c: sum of the classes of the events so far */
  const struct hd_visit *met; /* the state that the execution was given up at */
  struct reversal reversal;
  uint32_t
      free_from; /* property.c: nothing that is looked for can follow from this node on; HD_NONE: unknown */
  struct requests requests;
  struct summaries summaries;
  int symmetric; /* hd__filter_symmetry is active */
  struct symmetry symmetry;
};

int hd__walk_begin(struct hd_search *s, const struct policy *policy);
int hd__walk_pick(struct hd_search *s, const struct hd_point *p);
int hd__walk_choose(struct hd_search *s, unsigned k);
void hd__walk_event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                    unsigned nchoices);
int hd__walk_end(struct hd_search *s, const struct hd_point *p, enum hd_how how);
void hd__walk_forget(struct hd_search *s);
void hd__walk_save(struct hd_search *s, const struct policy *policy, struct hd_writer *out);
void hd__walk_load(struct hd_search *s, const struct policy *policy, struct hd_reader *r);

/* A strategy that walks the tree by a policy. */
#define HD_WALK_STRATEGY(id, text, how)                                                                \
  static int begin_##id(struct hd_search *s) { return hd__walk_begin(s, &(how)); }                     \
  static const struct policy *policy_##id(struct hd_search *s) {                                       \
    (void)s;                                                                                           \
    return &(how);                                                                                     \
  }                                                                                                    \
  static void save_##id(struct hd_search *s, struct hd_writer *out) { hd__walk_save(s, &(how), out); } \
  static void load_##id(struct hd_search *s, struct hd_reader *r) { hd__walk_load(s, &(how), r); }     \
  const struct hd_strategy hd_strategy_##id = {.name = text,                                           \
                                               .systematic = 1,                                        \
                                               .begin = begin_##id,                                    \
                                               .pick = hd__walk_pick,                                  \
                                               .choose = hd__walk_choose,                              \
                                               .event = hd__walk_event,                                \
                                               .end = hd__walk_end,                                    \
                                               .forget = hd__walk_forget,                              \
                                               .save = save_##id,                                      \
                                               .load = load_##id,                                      \
                                               .policy = policy_##id}

/* ---- between the files of the walk ---- */

static inline struct tree *hd__tree(struct hd_search *s) { return (struct tree *)s->memory; }
static inline struct unit *hd__unit(struct hd_search *s, unsigned slot) {
  return (struct unit *)(hd__tree(s)->slot + slot * hd__tree(s)->slot_size);
}
static inline int hd__unit_active(struct hd_search *s, unsigned slot) {
  const struct unit *u = hd__unit(s, slot);
  return u->epoch == hd__tree(s)->epoch && u->active;
}
/* What a filter (or the policy: FILTERS) keeps of node k of the unit. */
static inline void *hd__record(const struct walk *w, unsigned id, uint32_t k) {
  return w->unit->record + (uint64_t)w->stride * k + w->offset[id];
}
/* Whether the unit belongs to the tree that is searched: neither have more operations proved visible since, nor has the
 * next bound begun. */
static inline int hd__walk_valid(const struct walk *w) {
  const struct tree *t = hd__tree(w->s);
  return w->s->status->epoch == w->s->shared->epoch && t->ready && t->epoch == w->unit->epoch;
}
/* Whether all filters let the thread go from state k. */
static inline int hd__admits(struct walk *w, uint32_t k, unsigned thread, int *outcome) {
  *outcome = -1;
  for (unsigned i = 0; w->filter[i]; i++)
    if (w->filter[i]->admits && !w->filter[i]->admits(w, k, thread, outcome)) return 0;
  return 1;
}

/* The pending branches of node k, and what has been explored or begun there. */
static inline struct hd_branch **hd__branches(const struct walk *w, uint32_t k) {
  struct node *n = &w->unit->node[k];
  return k < w->unit->base ? &n->junction->list : &n->list;
}
static inline struct hd_sleeper *hd__done(const struct walk *w, uint32_t k, uint32_t *n) {
  struct node *node = &w->unit->node[k];
  *n = k < w->unit->base ? node->junction->nsleep : node->nsleep;
  return k < w->unit->base ? node->junction->sleep : node->sleep;
}

/* The walk of this process by that policy. */
struct walk *hd__walk_set_up(struct hd_search *s, const struct policy *policy);
void hd__walk_lay_out(struct walk *w, unsigned nslots);
/* How many slots it takes for n units: in a cluster the supervisor has one for its branches, the last. */
static inline unsigned hd__walk_slots(const struct hd_search *s, unsigned n) {
  return n + !!s->config->cluster;
}
/* A branch was added to node k. */
static inline void hd__walk_added(const struct walk *w, uint32_t k) {
  if (k < w->unit->base && w->unit->node[k].junction->foreign) hd__tree(w->s)->news = 1;
}
void hd__walk_lay_out_unit(struct walk *w, struct unit *u);

struct hd_branch *hd__branch_new(struct unit *u);
/* A branch that is one step. */
struct hd_branch *hd__branch_step(struct unit *u, unsigned thread, int outcome, struct hd_branch *next);
/* Whether the thread was, or will be, tried at the node, with whatever outcome. */
int hd__has_branch(const struct walk *w, uint32_t k, unsigned thread);
/* Lists the other outcomes of the choices that this execution made for the first time, in order or as drawn. Those of a
 * node above the unit only with `above`; returns whether there are any on the other side. */
int hd__add_outcomes(struct walk *w, int above, unsigned (*draw)(struct walk *w, unsigned n));

/* Units and junctions (walk_share.c). */
/* The node whose step leads to the junction, which is above the unit's. */
void hd__prefix_node(struct unit *u, const struct junction *j);
/* Room for at least n steps; how many, in *cap. */
struct hd_sleeper *hd__pool_get(struct tree *t, uint32_t n, uint32_t *cap);
/* A unit for this worker. Returns as `begin`. pre: the lock is held. */
int hd__walk_find_work(struct hd_search *s, struct unit **u);
/* The first step of the unit is known now. pre: the lock is held. */
void hd__walk_publish(struct hd_search *s, struct unit *u);
/* Takes the lock, at a moment at which the junctions above the unit know what was begun there. To avoid deadlock,
 * publish this unit's first step before calling. */
void hd__walk_lock_junctions(struct walk *w);
/* Lists the writes that end the unit. pre: the lock is held. */
void hd__walk_finish(struct hd_search *s, struct unit *u);
void hd__walk_close(struct hd_search *s);
void hd__walk_donate(struct walk *w);

/* The search restarts after this execution: what it shows will be seen again. */
int hd__walk_is_void(const struct walk *w);
/* Frees the sleep list of a junction. */
void hd__pool_put(struct tree *t, struct hd_sleeper *p, uint32_t cap);
struct junction *hd__junction_new(struct tree *t);
/* The next unit of a machine that shares the search with others (walk_save.c): what follows its junction. */
void hd__put_steps(struct hd_writer *w, union pick pick, const struct hd_sleeper *did);
void hd__get_steps(struct hd_reader *r, union pick *pick, struct hd_sleeper *did);
void hd__put_sleepers(struct hd_writer *w, const struct hd_sleeper *s, uint32_t n);
void hd__get_sleepers(struct hd_reader *r, struct tree *t, struct junction *j);
/* All but its parent. */
void hd__put_junction(struct hd_writer *w, const struct junction *j);
void hd__get_junction(struct hd_reader *r, struct tree *t, struct junction *j, struct unit *memory);
void hd__put_nodes(struct hd_writer *out, struct walk *w);
void hd__get_nodes(struct hd_reader *r, struct walk *w);
struct hd_branch *hd__get_branch_memory(void *unit);
/* Counts what is known to be left. */
void hd__walk_count(struct walk *w);

/* sleep.c: whether the step, or every outcome that it may have, sleeps. An open outcome becomes the first that does not. */
int hd__sleeps(const struct hd_sleeper *sleep, uint32_t n, struct hd_branch *b);
/* The branches of the list that do not sleep at the node; drops the others. The same list any number of times. */
struct hd_branch *hd__awake(const struct node *n, struct hd_branch *b);

/* reverse.c: branches that reverse the races of an execution. */
int hd__reverse_first(struct walk *w, uint32_t k, const struct hd_point *p, int *outcome);
int hd__reverse_conclude(struct walk *w, const struct hd_point *p, enum hd_how how, int above);
void hd__reverse_settle(struct walk *w, uint32_t from);

/* ---- bounds.c: what the bound says of each node ---- */

struct bound_node {
  struct hd_bound_at at;
  uint16_t words; /* of the set, in use */
  uint32_t used;  /* of the bound, before the step */
  struct hd_set enabled;
};
static inline struct bound_node *hd__bound_node(const struct walk *w, uint32_t k) {
  return hd__record(w, FILTER_BOUND, k);
}

/* ---- visited.c ---- */

struct visited_node {
  uint64_t key;
  uint64_t prefix;     /* walk.prefix there */
  union hd_list list;  /* what executions below asked for at nodes above; kept by strategy_bounded.c */
  struct hd_set block; /* the same, before the block that the running thread is in */
};
static inline struct visited_node *hd__visited_node(const struct walk *w, uint32_t k) {
  return hd__record(w, FILTER_VISITED, k);
}
/* A list by value, in a unit that is saved or handed over: logs differ. pre of get: the lock is held, or there are no others. */
void hd__visited_put_list(const struct walk *w, union hd_list l, struct hd_writer *out);
union hd_list hd__visited_get_list(struct walk *w, struct hd_reader *r);
/* Keeps n numbers in the log; an empty list when there is no room. */
union hd_list hd__visited_keep(struct walk *w, const uint64_t *from, uint32_t n);

/* ---- symmetry.c ---- */

/* An execution begins; event f was added to the order; the execution is over. pre: symmetric, of all but begin. */
void hd__symmetry_begin(struct walk *w);
void hd__symmetry_event(struct walk *w, uint32_t f);
void hd__symmetry_end(struct walk *w, const struct hd_point *p, enum hd_how how);
/* The thread that this one, which is enabled, has to let go first; HD_NONE. pre: the filter has entered the node. */
uint32_t hd__symmetry_holds(struct walk *w, unsigned thread);
/* The least outcome of a choice among n that the thread, which was picked, is about to make; and that event k has made. */
unsigned hd__symmetry_least(const struct walk *w, unsigned thread, unsigned n);
static inline unsigned hd__least_outcome(const struct walk *w, uint32_t k) {
  return w->symmetric ? w->symmetry.least[k] : 0;
}

/* ---- states.c ---- */

/* Lays out an empty table. */
void hd__states_init(struct hd_search *s, char *memory, uint64_t size, int summaries);
/* The entry of the state, NULL if there is none. */
struct state_slot *hd__state_find(const struct states *t, const uint64_t key[2]);
/* Adds it, as entered here; NULL when there is no room. pre: it is not there; the lock is held, if there are others. */
struct state_slot *hd__state_add(struct walk *w, const uint64_t key[2], uint32_t depth);
void hd__states_publish(struct walk *w);
/* Whether states are looked up at such a point, or after one. */
int hd__state_branches(const struct hd_point *p);

/* ---- stateful.c ---- */

extern const struct policy hd__stateful; /* strategy_dpor.c */
void hd__stateful_event(struct walk *w);
void hd__stateful_put(struct walk *w, uint32_t k, struct hd_writer *out);
void hd__stateful_get(struct walk *w, uint32_t k, struct hd_reader *r);
int hd__stateful_conclude(struct walk *w, const struct hd_point *p, enum hd_how how, int above);

#define HD_MAX_UNITS 65536 /* in a saved search: those of a whole cluster */

#endif

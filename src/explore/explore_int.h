/* explore_int.h: what the files of the search share. Runs in the tested process. */
#ifndef HD_EXPLORE_INT_H
#define HD_EXPLORE_INT_H

#include "explore/explore.h"
#include "model/order.h"

/* What the strategy of this search keeps for the life of this process: `size` bytes, zero at first. */
void *hd__own(struct hd_search *s, size_t size);

/* Whether it creates a thread or is the beginning of one. Samplers let these go first: they conflict with next to
 * nothing, so that no class is lost, and threads that begin together meet more often. */
static inline int hd__begins(const struct hd_op *op) {
  enum hd_effect e = hd_op_effect(op->kind, 0);
  return e == HD_EFF_BEGIN || e == HD_EFF_SPAWN;
}

/* ---- bounds (bounds.c) ---- */

/* What the bound says of a scheduling point. */
struct hd_bound_at {
  enum hd_bound kind;
  uint16_t current; /* the thread that ran last */
  uint16_t stays;   /* it could go on, and is not about to give way to others */
};
struct hd_bound_at hd__bound_at(const struct hd_search *s, const struct hd_point *p);
/* What it costs to pick `thread` there. pre: it is in `enabled`, of which the first `words` are in use. */
unsigned hd__bound_cost(const struct hd_search *s, const struct hd_bound_at *at, const struct hd_set *enabled,
                        unsigned words, unsigned thread);
/* The thread whose turn it is: it costs nothing. */
unsigned hd__bound_turn(const struct hd_search *s, const struct hd_bound_at *at, const struct hd_set *enabled,
                        unsigned words);
/* The bound under which the search is. pre: there is one. */
unsigned hd__bound(const struct hd_search *s);

/* ---- states that were explored already (visited.c) ---- */

/* Numbers in the log of visited states. One word, so that it changes at once. */
union hd_list {
  struct {
    uint32_t at, n;
  };
  uint64_t word;
};

/* What was learned below a state; in the log, and never changed there. */
struct hd_visit {
  uint64_t used; /* of the bound when it was reached: the less, the more was explored */
  union hd_list list;
  union hd_list block;
};

struct hd_visited {
  uint32_t epoch;  /* entries of others are empty slots */
  uint32_t full;   /* nothing can be added any more */
  uint64_t n, cap; /* entries, and slots of the present table, which begins cap slots from the start */
  uint64_t max;
  struct hd_visited_slot *slot;
  uint64_t *log; /* append only */
  uint64_t log_n, log_max, log_chunk;
};
void hd__visited_init(struct hd_visited *v, char *memory, uint64_t size);
/* The state with that key, if it was explored with as much of the bound left or more; else NULL. */
const struct hd_visit *hd__visited_find(const struct hd_visited *v, uint64_t key, uint32_t used);
/* Adds a state that was explored whole. pre: the lock is held; *state is in the log. */
void hd__visited_add(struct hd_visited *v, uint64_t key, const struct hd_visit *state);
/* The keys of all states. */
struct hd_key_sample;
void hd__visited_sample(const struct hd_visited *v, struct hd_key_sample *a);
/* Room for at least n more numbers in the log, and how many; HD_NONE when there is none. pre: the lock is held. */
uint32_t hd__visited_room(struct hd_visited *v, uint64_t n, uint64_t *got);

/* ---- samples of states (states.c) ---- */

/* Every 2^shift-th key; shift grows when there is no room. */
struct hd_key_sample {
  uint64_t *out;
  size_t n, cap;
  unsigned shift;
};
void hd__sample_key(struct hd_key_sample *a, uint64_t key);

/* ---- several workers (share.c) ---- */

/* What the execution of that number would have taught is lost: its process died, unless it diverged. */
void hd__execution_lost(struct hd_search *s, uint64_t execution);

/* Writes that are made together or not at all: listed, then committed. */
void hd__redo_put(struct hd_search *s, void *at, uint64_t value, unsigned size);
void hd__redo_tally(struct hd_search *s);
void hd__redo_commit(struct hd_search *s);
/* Lists the writes that make `to` equal to `from`: any object of n bytes, a multiple of 8. */
void hd__redo_copy(struct hd_search *s, void *to, const void *from, size_t n);
#define HD_REDO(s, field, v) hd__redo_put(s, &(field), (uint64_t)(v), sizeof(field))

/* Workers keep their part of a systematic search in slots. Each begins with the slot of its own number; one that has
 * nothing to do takes over an active slot that no process looks after any more: the search was saved by more
 * workers than it has now. pre of the latter: the lock is held. Returns whether there was one. */
unsigned hd__slot(const struct hd_search *s);
int hd__slot_adopt(struct hd_search *s, unsigned nslots, int (*active)(struct hd_search *s, unsigned slot));
void hd__slots_restart(struct hd_search *s);

/* Of a search that walks a tree (walk.c): whether the execution that was begun is the first of the tree, and whether one is
 * all that is known to be left. */
int hd__walk_is_first(const struct hd_search *s);
int hd__walk_is_last(struct hd_search *s);
/* About which part of the tree is explored, as far as it is known: from 0 to 1. */
double hd__walk_explored(struct hd_search *s);

/* Pending branches are counted after at least so many executions, and at most so many branches for each of those. */
#define HD_COUNT_EVERY 256
#define HD_COUNT_SHARE 8

/* Classes and final states seen so far, counted in status when config.classes is set (classes.c). */
void hd__count_class(struct hd_search *s, const struct hd_order *t, enum hd_how how);
/* In a saved search. */
void hd__classes_save(struct hd_search *s, struct hd_writer *out);
void hd__classes_load(struct hd_search *s, struct hd_reader *r);
/* The same for strategies that need no order: one is kept for this only. */
void hd__sample_begin(struct hd_search *s);
void hd__sample_event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                      unsigned nchoices);
void hd__sample_end(struct hd_search *s, enum hd_how how);

/* ---- samplers ---- */

/* The outcome of a choice, for samplers: any. */
int hd__sample_choose(struct hd_search *s, unsigned n);

/* Objects by number (objects.c). */
#define HD_OBJECTS 1024
struct hd_objects {
  uint32_t n;
  uint32_t fine;               /* memory counts by the first byte of an access, not by granules */
  uint64_t object[HD_OBJECTS]; /* its address ... */
  uint8_t kind[HD_OBJECTS];    /* ... and what it is, enum hd_obj_kind */
  uint16_t table[2 * HD_OBJECTS];
};
/* What an operation does to which objects. */
struct hd_touch {
  unsigned n;
  uint16_t object[HD_AWAIT_PLACES + 1]; /* numbers */
  uint8_t effect[HD_AWAIT_PLACES + 1];  /* enum hd_effect */
};
/* The number of an object, which is new if it was not met before; 0: there are too many. */
unsigned hd__object_number(struct hd_objects *o, enum hd_obj_kind kind, uint64_t object);
/* What the operation touches, if it has that outcome (HD_EV_*). */
struct hd_touch hd__touch_of(struct hd_objects *o, const struct hd_op *op, unsigned flags);
void hd__objects_forget(struct hd_objects *o);
void hd__objects_save(const struct hd_objects *o, struct hd_writer *out);
void hd__objects_load(struct hd_objects *o, struct hd_reader *r);

/* Abstract events: a place of the code together with the first object that its operation touches. */
#define HD_ABSTRACTS 2048
struct hd_abstract {
  uint64_t pc;
  uint16_t object; /* number */
  uint8_t gives, sees;
};
struct hd_abstracts {
  struct hd_objects objects;
  uint32_t n; /* numbered from 1 */
  struct hd_abstract event[HD_ABSTRACTS];
  uint16_t table[2 * HD_ABSTRACTS]; /* open addressing: numbers */
};
/* The number of the event that the operation would be; 0: it touches nothing, or there are too many. If it was not met
 * before, it is new, or with !add there is none. */
unsigned hd__abstract_of(struct hd_abstracts *a, const struct hd_op *op, const struct hd_touch *t, int add);
void hd__abstracts_save(const struct hd_abstracts *a, struct hd_writer *out);
void hd__abstracts_load(struct hd_abstracts *a, struct hd_reader *r);

/* Priorities of pending operations, as strategy_pos.c draws them. */
struct hd_pos {
  uint64_t priority[HD_MAX_THREADS]; /* of the pending operation of each thread; 0: to be drawn */
  unsigned nthreads;                 /* entries of it in use */
  unsigned last_flags;
  struct hd_op last; /* executed since the last pick */
};
void hd__pos_begin(struct hd_pos *r);
/* Draws the priorities that are missing. */
void hd__pos_look(struct hd_search *s, struct hd_pos *r, const struct hd_point *p);
/* The enabled thread with the highest priority among those of the highest rank. rank: [thread], NULL: all have one.
 * One that begins goes in any case. */
unsigned hd__pos_best(const struct hd_pos *r, const struct hd_point *p, const uint8_t *rank);
/* It goes. */
void hd__pos_picked(struct hd_pos *r, unsigned thread);
void hd__pos_event(struct hd_pos *r, const struct hd_op *op, unsigned flags);

/* Priorities of threads in an execution (priorities.c). */
struct hd_priorities {
  int64_t of[HD_MAX_THREADS]; /* 0: not drawn yet */
  unsigned nthreads;          /* entries in use */
  int64_t yields;
  uint64_t kinds; /* 0: each thread draws; else those that begin at one site draw together, with this */
};
void hd__priorities_begin(struct hd_priorities *r);
/* The enabled thread that goes next. */
unsigned hd__priorities_highest(struct hd_search *s, struct hd_priorities *r, const struct hd_point *p);
/* It goes. */
void hd__priorities_picked(struct hd_priorities *r, const struct hd_op *op, unsigned thread);

#endif

/* explore.h: the search. A strategy decides, before each visible operation, which thread goes next.
 *
 * A strategy is a handful of functions:
 *   begin   a new execution starts; returns 0 when there is nothing left to explore, HD_BEGIN_LATER when other
 *           workers are at what is left. It may be called again for the same execution (when a try had to be
 *           given up for lack of a thread identity), so it must not consume anything: that is end's job.
 *   pick    who goes next, from the enabled threads; HD_PICK_GIVE_UP when all that is left is redundant.
 *   choose  the outcome of a choice with n outcomes (which waiter a signal wakes, hd_choose); comes after the
 *           pick of the thread that chooses and before its event.
 *   event   the operation of the thread picked last was executed, with this outcome. May be NULL.
 *   end     the execution is over; returns 0 when the search is complete.
 *   forget  the tree explored so far is void: the next begin restarts the search. May be NULL.
 *           With several workers it is called with the lock held.
 * A strategy keeps what must survive the death of the process in the search area of the shared file. The process
 * can be killed at any instruction, and the same execution is then run again by a new one: what end() does must
 * come out the same when it is begun twice (share.c). */
#ifndef HD_EXPLORE_H
#define HD_EXPLORE_H

#include "abi/abi.h"
#include "model/layout.h"
#include "model/model.h"
#include "model/numbers.h"
#include "model/point.h"

struct hd_reader;
struct hd_writer;
struct policy;

enum { HD_PICK_GIVE_UP = -1, HD_PICK_DIVERGED = -2 };
enum { HD_BEGIN_LATER = -1 };

/* How an execution ended. */
enum hd_how {
  HD_HOW_EXIT,    /* the program ended by itself */
  HD_HOW_STUCK,   /* nobody could go on */
  HD_HOW_STOPPED, /* in the middle: a finding, or too long */
  HD_HOW_BLOCKED, /* given up as redundant */
};

#define HD_TALLY_CAP 12

/* The first access of a thread to memory since it last released something, in the order in which they were executed. */
struct hd_noted {
  uint64_t addr, pc;
  uint32_t size;
  uint16_t thread;
  uint8_t writes, reads;
  uint32_t events; /* of all threads, before it */
  uint32_t atomic;
};
#define HD_NOTED_MAX (1u << 20)

/* The steps that an execution has in common with the one before it in this process. A strategy that knows of such steps says
 * so in `begin`; then it is asked neither to pick nor to choose in them, and hears of no event: the driver takes the
 * decisions from the path area, where the last execution left them. */
struct hd_known {
  uint32_t steps; /* so many; fewer when the execution has ended before */
  uint64_t then;  /* hash of the operations of these steps, as it was */
  uint64_t now;   /* hash of the operations of this execution so far */
  uint64_t runs;  /* executions that this process has started */
  /* The process has already executed so many steps, of the execution begun last, and can only go on from there; 0: it is at
   * the start. If the execution to begin has them too, `begin` sets `steps` to this; otherwise another process runs it. */
  uint32_t from;
  uint32_t shared; /* set by `begin`: executions to come may have steps in common with this one */
};

struct hd_search {
  const struct hd_config *config;
  struct hd_status *status;
  struct hd_shared *shared;
  unsigned worker, workers; /* this process is number `worker` of so many */
  void (*relax)(void);      /* lets another process go on; may be NULL */
  uint32_t nredo;           /* writes listed for the next commit (share.c) */
  /* Counters that change with the end of this execution. A strategy that commits its own changes at once makes
   * these with them; the driver makes them in any case. */
  struct {
    uint64_t *at, value;
  } tally[HD_TALLY_CAP];
  unsigned ntally;
  uint64_t execution;   /* number of the execution under way, from 1 */
  uint64_t diverged_at; /* number of the execution that diverged last */
  struct hd_rng rng;
  const hd_step *replay; /* schedule to follow */
  uint64_t replay_len, replay_pos;
  char *memory; /* the search area: survives the process */
  uint64_t memory_size;
  char *scratch; /* memory that does not (HD_SCRATCH_SIZE) */
  void *own;     /* part of it: what the strategy keeps for the life of this process; NULL at first */
  char *classes; /* where happens-before classes are counted; survives, too */
  uint64_t classes_size;
  /* The state of the program at this scheduling point. Returns 0 when it cannot be captured. NULL: states are not compared. */
  int (*fingerprint)(struct hd_search *s, uint64_t out[2]);
  struct hd_accessed *accessed; /* with it: the memory that several threads accessed (accessed.c) */
  int captures;                 /* it is called in this execution: with HD_REDUCE_TRY, set by `begin` */
  uint64_t captured;            /* times that it was called */
  /* Threads that may be interchangeable, [thread]: the one that its creator created just before it, from the same code and
   * with the same arguments, plus 1; 0: none. NULL: symmetry is not used. */
  const uint16_t *alike;
  /* The threads of its family are not: this is learned, and the search restarts. HD_MAX_THREADS: those of no family are. */
  void (*tell_apart)(struct hd_search *s, unsigned thread);
  /* Whether memory at that address belongs to the thread: its heap, stack or thread-local storage. NULL: none does. */
  int (*owns)(struct hd_search *s, unsigned thread, uint64_t addr);
  /* The place of the pending operation of the thread and those that called it, innermost first. Returns how many; NULL:
   * only that of the operation is known. */
  unsigned (*walk)(struct hd_search *s, unsigned thread, uint64_t *out, unsigned max);
  uint64_t base; /* where the program is loaded */
  struct {
    uint64_t base, start, end;
  } library[HD_MAX_AIM_LIBRARIES]; /* where those are that config.aims names; base 0: not loaded */
  unsigned aimed;                  /* lines of config.aims reached in this execution, one after the other */
  const struct hd_guard *const *guard; /* of the pending operations, [thread]; NULL: none has one (order.h) */
  int (*contended)(uint64_t granule);  /* hd_order.contended */
  struct hd_layout *layout;            /* of this process; NULL: addresses mean the same everywhere */
  const struct hd_numbers
      *numbers; /* of the threads of this execution; NULL: they mean the same everywhere */
  /* With config.property: accesses of this execution while there were several threads, and how many; more than HD_NOTED_MAX were
   * not kept. NULL: not in use. What a thread begins with. */
  const struct hd_noted *touch;
  const uint32_t *ntouches;
  uint64_t (*begins)(struct hd_search *s, unsigned thread);
  const struct hd_property_plan *plan;
  uint64_t observed; /* what the program told of its final state (hd_rt_observe) */
  int hit;           /* REDUCE: the execution that ends had the finding looked for */
  int infeasible;    /* in the execution that ends an assumption did not hold */
  struct hd_known *known;
  int diverged; /* the execution under way is not what it was known to begin with */
  /* What a sampler that leads the first execution of a systematic search would do at this pick or choice, plus 1; 0: no
   * sampler does (strategy_auto.c). */
  uint32_t lead;
  int probing; /* the execution is executed twice, and has to be the same: nothing is learned from it, and `end` is not called */
  int unsteered; /* rff: the execution to begin follows no constraints: it is the one that pos would run */
};
/* Scratch memory: what each strategy keeps, the order that a systematic search keeps and its scratch, the order of the
 * samplers. */
#define HD_SCRATCH_OWN (32ull << 20)
#define HD_SCRATCH_WALK ((64ull << 20) + 0x15000)
#define HD_SCRATCH_SAMPLE (HD_SCRATCH_WALK + (8ull << 30))
#define HD_SCRATCH_PART (HD_SCRATCH_SAMPLE + (5ull << 30))
/* The part of `auto` that compares states has its own. */
#define HD_SCRATCH_SIZE (2 * HD_SCRATCH_PART)

struct hd_strategy {
  const char *name;
  int skip_forced; /* do not ask it when only one thread is enabled */
  int systematic;  /* explores every schedule: claims completeness */
  int (*begin)(struct hd_search *s);
  int (*pick)(struct hd_search *s, const struct hd_point *p);
  int (*choose)(struct hd_search *s, unsigned n);
  void (*event)(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                unsigned nchoices);
  int (*end)(struct hd_search *s, const struct hd_point *p, enum hd_how how);
  void (*forget)(struct hd_search *s);
  /* The same for the part that compares states alone. NULL: the whole search does, or nothing. */
  void (*forget_states)(struct hd_search *s);
  /* What the search is, in a saved one. NULL: the seed and the number of the execution say everything. */
  void (*save)(struct hd_search *s, struct hd_writer *out);
  void (*load)(struct hd_search *s, struct hd_reader *r);
  const struct policy *(*policy)(struct hd_search *s); /* of one that walks a tree (walk.h), else NULL */
};

extern const struct hd_strategy hd_strategy_random;
extern const struct hd_strategy hd_strategy_replay;
extern const struct hd_strategy hd_strategy_reduce;
extern const struct hd_strategy hd_strategy_dfs;
extern const struct hd_strategy hd_strategy_bounded;
extern const struct hd_strategy hd_strategy_optimal;
extern const struct hd_strategy hd_strategy_auto;
extern const struct hd_strategy hd_strategy_dpor;
extern const struct hd_strategy hd_strategy_rdfs;
extern const struct hd_strategy hd_strategy_pct;
extern const struct hd_strategy hd_strategy_pos;
extern const struct hd_strategy hd_strategy_sites;
extern const struct hd_strategy hd_strategy_uniform;
extern const struct hd_strategy hd_strategy_surw;
extern const struct hd_strategy hd_strategy_rff;
extern const struct hd_strategy hd_strategy_wanted;
extern const struct hd_strategy hd_strategy_plan;
extern const struct hd_strategy hd_strategy_ti;
extern const struct hd_strategy hd_strategy_ci;
extern const struct hd_strategy hd_strategy_tici_plus;
extern const struct hd_strategy hd_strategy_tici_minus;
extern const struct hd_strategy hd_strategy_mined;
extern const struct hd_strategy hd_strategy_aim;

/* The lock of the search, and the end of what a killed predecessor of this worker had begun (share.c). */
void hd_search_lock(struct hd_search *s);
int hd_search_trylock(struct hd_search *s);
void hd_search_unlock(struct hd_search *s);
void hd_search_recover(struct hd_search *s);
/* Makes the changes of the counters that are listed in `tally`, all or none. Making them twice is making them once. */
void hd_search_tally(struct hd_search *s);
/* Draws the number of the next execution, which status.execution has then, too: no number is lost with a process. 0: none is
 * left. */
uint64_t hd_search_draw(struct hd_search *s);

/* The same for several machines (spans.c). pre: the lock is held.
 * Takes at most n numbers that nobody has drawn; none are left if the result is empty. */
struct hd_span hd_spans_take(struct hd_shared *sh, uint64_t max, uint64_t n);
/* Adds numbers that are drawn before others. Returns 0 when there is no room. */
int hd_spans_add(struct hd_shared *sh, struct hd_span span);
/* How many numbers were added, and are left. */
uint64_t hd_spans_left(const struct hd_shared *sh);

/* Returns the strategy of that name, or NULL. */
const struct hd_strategy *hd_strategy_find(const char *name);
/* The one that the configuration asks for: by its name, and whether there is a bound; NULL if unknown. */
const struct hd_strategy *hd_strategy_for(const struct hd_config *c);

/* The strategy has nothing left (shared.over is set). Records what that says about the bound. Returns whether the search
 * continues with the next bound, from the start. */
int hd_bound_over(struct hd_search *s, const struct hd_strategy *strategy);
/* Whether the bound under way has kept the search from something. */
int hd_bound_cut(const struct hd_search *s);
/* The search restarts, with all its bounds. pre: the lock is held, if there are other workers. */
void hd_bound_restart(struct hd_search *s);
/* Writes the search as bytes (save.c). pre: no worker runs, or all wait between two executions. Returns whether all of it
 * could be written. */
int hd_search_save(struct hd_search *s, const struct hd_strategy *strategy, const uint64_t *visible,
                   uint64_t nvisible, struct hd_writer *w);
/* Reads it, with the layout of this process. pre: no other worker runs. Returns 0 when it is not what was written, or does
 * not fit this process. */
int hd_search_load(struct hd_search *s, const struct hd_strategy *strategy, uint64_t *visible,
                   uint64_t *nvisible, uint64_t cap, struct hd_reader *r);
/* ---- units between machines (walk_move.c) ----
 *
 * pre, of all: the lock is held; `worker` is a number that no worker has; the strategy has a policy. */

/* Nothing is left to do here, as long as nobody gives. */
int hd_units_idle(struct hd_search *s);
/* Writes a unit, which then belongs to the reader. Returns 0 when there is none to give: later there may be.
 * pre: all workers wait between two executions. */
int hd_units_give(struct hd_search *s, const struct hd_strategy *strategy, struct hd_writer *out);
/* Reads it, for an idle worker. `serial` is the reader's name for it. Returns 0 when it is not what was written,
 * HD_BEGIN_LATER when no worker is idle. */
int hd_units_accept(struct hd_search *s, const struct hd_strategy *strategy, uint32_t serial,
                    struct hd_reader *r);
/* What the owners of junctions that came with units have to be told since the last call: one after the other, in `out`. */
enum hd_units_news { HD_UNITS_INSERT, HD_UNITS_CONCLUDED };
typedef void hd_units_told(void *ctx, enum hd_units_news what, uint32_t rank, uint32_t serial,
                           const struct hd_writer *out);
void hd_units_news(struct hd_search *s, const struct hd_strategy *strategy, struct hd_writer *out,
                   hd_units_told *told, void *ctx);
/* The owner inserts the branch, or counts the unit as explored. Return 0 when the message is damaged, HD_BEGIN_LATER when it
 * has to be handled later. */
int hd_units_insert(struct hd_search *s, const struct hd_strategy *strategy, struct hd_reader *r);
int hd_units_concluded(struct hd_search *s, const struct hd_strategy *strategy, struct hd_reader *r);

/* The trees of all machines as one, to be saved: each writes its junctions and units, `s` has memory of its own to merge
 * them in. pre: no worker changes its tree, no message is under way. */
void hd_units_put_junctions(struct hd_search *s, const struct hd_strategy *strategy, struct hd_writer *out);
void hd_units_put_units(struct hd_search *s, const struct hd_strategy *strategy, struct hd_writer *out);
uint32_t hd_units_count_junctions(struct hd_reader *r);
void hd_units_merge_begin(struct hd_search *s, const struct hd_strategy *strategy, unsigned units);
/* first[rank]: so many junctions come before those of the rank; first[ranks]: of all. Return 0 when the reader is bad. */
int hd_units_merge_junctions(struct hd_search *s, uint32_t rank, const uint32_t *first, uint32_t ranks,
                             struct hd_reader *r);
int hd_units_merge_units(struct hd_search *s, const uint32_t *first, uint32_t ranks, unsigned *at,
                         struct hd_reader *r);

/* ---- states that several machines explored (states.c) ---- */

/* Whether a state is in the sample: every 2^shift-th is. */
static inline int hd_state_sampled(uint64_t key, unsigned shift) {
  return !(hd_mix64(key) & ((1ull << shift) - 1));
}
/* The states that this machine has explored, of a search that compares states or is bounded: all, or a sample of at most
 * `cap`. Returns how many. */
size_t hd_states_sample(struct hd_search *s, unsigned *shift, uint64_t *out, size_t cap);

/* ---- memory that several threads accessed (accessed.c) ---- */

/* Takes the memory for it from the end of the search area. */
void hd_accessed_init(struct hd_search *s);
/* The entry of half a granule. NULL: there is none; with `add`: there is no room for it. */
struct hd_accessed *hd_accessed_find(struct hd_search *s, uint64_t half, int add);
/* Whether accesses to it may race, for all that is known. */
int hd_accessed_contended(const struct hd_accessed *a);
/* It was changed; and is contended, so that the search has to restart. */
void hd_accessed_changed(struct hd_search *s, struct hd_accessed *a);
void hd_accessed_restart(struct hd_search *s, struct hd_accessed *a);
/* Writes what has changed since; returns what to say the next time. */
uint64_t hd_accessed_put(struct hd_search *s, uint64_t since, struct hd_writer *out);
void hd_accessed_get(struct hd_search *s, struct hd_reader *r);

/* Adds an entry to the log of visible operations that all workers share. Returns whether it was not there, and is now.
 * pre: the lock is held. */
int hd_search_add_visible(struct hd_shared *sh, uint64_t *visible, uint64_t entry);
/* What a search has learned that units depend on: visible operations, and numbers of threads. */
void hd_search_put_knowledge(const struct hd_search *s, const uint64_t *visible, uint64_t n,
                             struct hd_writer *w);
/* Adds to the log of visible operations what it does not have. `numbers`: replaces those of the threads, else adds to them
 * what is missing. Returns 0 when the reader is bad, -1 when numbers differ, else 1 plus how many entries are new. */
int64_t hd_search_get_knowledge(struct hd_search *s, uint64_t *visible, int numbers, struct hd_reader *r);
/* Changes whenever the search restarts, or goes on with the next bound. */
static inline uint64_t hd_search_number(const struct hd_shared *s) {
  return __atomic_load_n(&s->epoch, __ATOMIC_ACQUIRE) << 24 | __atomic_load_n(&s->bound, __ATOMIC_ACQUIRE);
}
/* Whether more memory proved to be contended than the states that were compared so far have in them. */
int hd_search_stale(const struct hd_search *s);
/* The search restarts: what it has learned makes what was explored so far void. pre: the lock is held. */
void hd_search_restart(struct hd_search *s, const struct hd_strategy *strategy);

/* Finishes what workers that were killed had begun. The same precondition. */
void hd_search_recover_all(struct hd_search *s);
/* Forgets the classes and final states counted so far. The same precondition. */
void hd_classes_restart(struct hd_search *s);

#endif

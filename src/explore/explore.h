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
 *   forget  the set of visible operations has grown: start the search anew. May be NULL.
 *           With several workers it is called with the lock held.
 * A strategy keeps what must survive the death of the process in the search area of the shared file. The process
 * can be killed at any instruction, and the same execution is then run again by a new one: what end() does must
 * come out the same when it is begun twice (share.c). */
#ifndef HD_EXPLORE_H
#define HD_EXPLORE_H

#include "abi/abi.h"
#include "model/model.h"

#define HD_SET_WORDS (HD_MAX_THREADS / 64)

/* A set of thread numbers; `words` bounds the words in use. */
struct hd_set {
  uint64_t w[HD_SET_WORDS];
};
static inline void hd_set_add(struct hd_set *s, unsigned i) { s->w[i >> 6] |= 1ull << (i & 63); }
static inline void hd_set_del(struct hd_set *s, unsigned i) { s->w[i >> 6] &= ~(1ull << (i & 63)); }
static inline int hd_set_has(const struct hd_set *s, unsigned i) { return (s->w[i >> 6] >> (i & 63)) & 1; }

/* Where an operation stands in an atomic section of its thread, in which nobody else runs. A section that has to
 * wait is left, and entered again by the operation that it waited for. */
enum { HD_SECTION_NONE, HD_SECTION_ENTERS, HD_SECTION_INSIDE };

/* Whether the operation stays inside a section while it need not wait. The others always leave it and enter again:
 * they depend on operations of other threads that the entry of a section does not depend on (trace_section.c). */
static inline int hd_section_keeps(unsigned kind) {
  if (kind == HD_OP_FWAIT) return 0;
  switch (hd_op_object[kind]) {
    case HD_OBJ_NONE:
    case HD_OBJ_MEMORY:
    case HD_OBJ_MUTEX:
    case HD_OBJ_COND:
    case HD_OBJ_ONCE: return 1;
    default: return 0;
  }
}

/* The pending operation of one thread. */
struct hd_op {
  uint8_t kind;    /* enum hd_op_kind */
  uint8_t section; /* HD_SECTION_* */
  uint16_t thread;
  uint32_t size;   /* bytes; of IO objects: facets read | facets written << 16 */
  uint64_t object; /* of IO operations, 0: all of them */
  uint64_t pc;
  /* WAIT: the mutex; SIGNAL: number of the thread woken + 1; BROADCAST: number of threads woken; CANCEL, KILL: number
   * of the thread that goes on because of it + 1; operations on a semaphore: its value before; BARRIER: 1 when the
   * order of arrivals matters; EXIT: 1 when the first thread has ended by itself; on several descriptors: where the
   * numbers of the events stand that made each of them ready; ACAS of at most 8 bytes: the value it expects. */
  uint64_t aux;
  /* SPINWAIT and operations on descriptors, counting events from 1: what enabled it, what had disabled it
   * before, what had enabled it before that. */
  union {
    struct {
      uint32_t enabler, disabler;
    };
    uint64_t before; /* atomic operations of at most 8 bytes: the value found there, when `known` */
    const struct hd_op
        *instead; /* CANCEL: what the cancelled thread was about to do; `known`: it could have */
  };
  uint32_t enabler_before;
  uint32_t known;
};

/* What the strategy sees at a scheduling point. */
struct hd_point {
  const struct hd_set *enabled;
  unsigned nenabled;             /* >= 1 */
  unsigned words;                /* words of `enabled` in use */
  unsigned current;              /* the thread that ran last */
  const struct hd_op *const *op; /* op[t] is the pending operation of thread t */
};

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

struct hd_search {
  const struct hd_config *config;
  struct hd_status *status;
  struct hd_shared *shared;
  unsigned worker, workers; /* this process is number `worker` of so many */
  uint32_t nredo;           /* writes listed for the next commit (share.c) */
  /* Counters that change with the end of this execution. A strategy that commits its own changes at once makes
   * these with them; the driver makes them in any case. */
  struct {
    uint64_t *at, value;
  } tally[HD_TALLY_CAP];
  unsigned ntally;
  uint64_t execution; /* number of the execution under way, from 1 */
  struct hd_rng rng;
  const hd_step *replay; /* schedule to follow */
  uint64_t replay_len, replay_pos;
  char *memory; /* the search area: survives the process */
  uint64_t memory_size;
  char *scratch; /* memory that does not (HD_SCRATCH_SIZE) */
  char *classes; /* where happens-before classes are counted; NULL: in the second half of the search area */
  uint64_t classes_size;
  uint64_t observed; /* what the program told of its final state (hd_rt_observe) */
  int hit;           /* REDUCE: the execution that ends had the finding looked for */
  int infeasible;    /* in the execution that ends an assumption did not hold */
};
#define HD_SCRATCH_SIZE (12ull << 30) /* a third each: a trace, what goes with it, the trace of sampling */

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

/* Lets another process go on; the runtime sets it. May be NULL. */
extern void (*hd_relax)(void);
/* The lock of the search, and the end of what a killed predecessor of this worker had begun (share.c). */
void hd_search_lock(struct hd_search *s);
void hd_search_unlock(struct hd_search *s);
void hd_search_recover(struct hd_search *s);

/* Returns the strategy of that name, or NULL. */
const struct hd_strategy *hd_strategy_find(const char *name);
/* The one that the configuration asks for: by its name, and whether there is a bound; NULL if unknown. */
const struct hd_strategy *hd_strategy_for(const struct hd_config *c);

/* The strategy has nothing left; `whole`: every execution so far could be followed to its end. Takes down what that
 * says about the bound. Returns whether it goes on with the next one, from the start. */
int hd_bound_over(struct hd_search *s, const struct hd_strategy *strategy, int whole);
/* The search begins anew, with all its bounds. */
void hd_bound_anew(struct hd_search *s);

/* The k-th member of a set, k from 0. pre: k < number of members. */
static inline unsigned hd_set_nth(const struct hd_set *s, unsigned k) {
  for (unsigned i = 0;; i++) {
    uint64_t w = s->w[i];
    unsigned c = (unsigned)__builtin_popcountll(w);
    if (k < c) {
      while (k--) w &= w - 1;
      return i * 64 + (unsigned)__builtin_ctzll(w);
    }
    k -= c;
  }
}

#endif

/* op.h: operations: what a thread is about to do, and what is known of each kind. Linked into both binaries.
 *
 * ops.def is the table; kinds.def lists the kinds of findings. */
#ifndef HD_MODEL_OP_H
#define HD_MODEL_OP_H

#include <stdint.h>

/* ---- operations and kinds of findings ---- */

enum hd_op_kind {
#define HD_OP(id, text, obj, eff) HD_OP_##id,
#include "model/ops.def"
#undef HD_OP
  HD_OP_COUNT
};

enum hd_obj_kind {
  HD_OBJ_NONE,
  HD_OBJ_THREAD,
  HD_OBJ_MEMORY,
  HD_OBJ_IO,
  HD_OBJ_STREAM,
  HD_OBJ_FUTEX,
  HD_OBJ_MUTEX,
  HD_OBJ_COND,
  HD_OBJ_ONCE,
  HD_OBJ_RWLOCK,
  HD_OBJ_SEM,
  HD_OBJ_BARRIER,
};

enum hd_effect { HD_EFF_NONE, HD_EFF_READ, HD_EFF_WRITE, HD_EFF_ACQUIRE, HD_EFF_RELEASE };

enum hd_kind {
#define HD_KIND(id, name, title) HD_KIND_##id,
#include "model/kinds.def"
#undef HD_KIND
  HD_KIND_COUNT
};

/* Names and properties of the above, indexed by enum value. */
extern const char *const hd_op_text[HD_OP_COUNT];
extern const uint8_t hd_op_object[HD_OP_COUNT];
extern const uint8_t hd_op_effect[HD_OP_COUNT];
extern const char *const hd_kind_name[HD_KIND_COUNT];
extern const char *const hd_kind_title[HD_KIND_COUNT];

#define HD_MAX_THREADS 1024 /* created in one execution */

/* ---- what came of an operation ---- */

#define HD_EV_FAILED 1 /* trylock that found the lock taken, timed operation that timed out, CAS that lost */
#define HD_EV_LATE 2   /* time had to pass for it (operations on descriptors) */
#define HD_EV_PLAIN 4  /* an access that was no scheduling point */
#define HD_EV_VALUE 8
#define HD_EV_FOUND 16

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
 * they depend on operations of other threads that the entry of a section does not depend on (order_section.c). */
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

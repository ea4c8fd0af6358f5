/* order_int.h: between the files of the order (order*.c). */
#ifndef HD_MODEL_ORDER_INT_H
#define HD_MODEL_ORDER_INT_H

#include "model/order.h"

/* ---- for the files that know the dependencies of one family (order.c, order_sync.c, order_io.c) ---- */

struct hd_link {
  uint32_t ev;
  uint8_t mask;
  uint8_t write;
  struct hd_link *next;
  struct hd_link *run; /* semaphore: the next that does something else; descriptors: of another thread */
};

/* What is known of one object. Memory: per granule a list of accesses; locks: the last acquire and release. */
struct hd_tobj {
  uint64_t key;
  uint64_t stamp; /* of the event that touched it last */
  uint32_t acquire, release,
      destroy; /* last events, HD_NONE; destroy: or the initialisation. Thread: its last signal, its end */
  uint32_t init_held;        /* it was initialised while somebody held it */
  struct hd_link *list;      /* most recent first */
  struct hd_link *spins;     /* lock: loops that saw it free since it was last taken */
  struct hd_sharer *sharers; /* read-write lock: since it was last taken for writing */
  uint64_t count;            /* semaphore: its value; barrier: threads that have arrived */
};

/* The event being appended, or an operation that was never executed. */
struct hd_work {
  struct hd_order *t;
  uint32_t f; /* the new event, HD_NONE */
  const struct hd_op *op;
  unsigned flags;
  const uint32_t *pred; /* what orders it apart from its conflicts */
  uint32_t *clock;      /* the same with the conflicts so far */
};

/* The state before an event. */
struct hd_mark {
  char *next; /* of the arena */
  struct hd_undo *undo;
  uint64_t waits; /* of its thread, as the next two */
  const uint32_t *gate;
  uint32_t cause;
  uint32_t barrier, section, section_last, interrupt, narrow;
  uint32_t nraces, nthreads, table_used;
};

/* order_undo.c: before a change in place. pre: size is a multiple of 8. */
void hd_order_save(struct hd_order *t, void *at, uint32_t size);
/* Before the event changes what is known of a thread that is not its own. */
void hd_order_save_thread(struct hd_order *t, uint32_t i);
/* Before an event of the thread is added. */
void hd_order_mark(struct hd_order *t, uint32_t thread);
/* Whether the event is one that the trace is known to go on with; it is then part of it. pre: n < kept. */
int hd_order_known(struct hd_order *t, const struct hd_op *op, unsigned flags, unsigned choice,
                   unsigned nchoices);

/* Orders a use of the object after its initialisation or destruction, and either after the uses before it, whose races
 * are known. */
void hd__meet_life(struct hd_work *w, const struct hd_tobj *o);
void hd__on_life(struct hd_work *w, struct hd_tobj *o, enum hd_effect effect, int is_held);
int hd__woke_spuriously(const struct hd_ev *wait);
void *hd_order_get(struct hd_order *t, size_t n);
/* Adds the event to the accesses of a granule. */
void hd__access(struct hd_work *w, struct hd_tobj *o, uint8_t mask, int write);
struct hd_tobj *hd__tobj(struct hd_order *t, uint64_t key);
/* Adds the event to the list of the object. */
void hd__remember(struct hd_work *w, struct hd_tobj *o);
/* The same, in place of an earlier event of the thread that this one stands for. For lists whose events are all met
 * from the latest on: the later one is met first, and happened after the earlier. */
void hd__remember_last(struct hd_work *w, struct hd_tobj *o);
void hd__join(struct hd_work *w, uint32_t e);
int hd__covered(const struct hd_work *w, const uint32_t *clock, uint32_t e);
void hd__add_race(struct hd_work *w, uint32_t e, const uint32_t *also, uint32_t nalso);
/* Ordered after e; a race when nothing else orders them. An event inside an atomic section is passed over: the
 * section as a whole takes its place. */
void hd__meet(struct hd_work *w, uint32_t e);
/* For operations that tell what enabled and disabled them. Returns 0 when there is no more to say of one that
 * was never executed. */
int hd__on_enabled(struct hd_work *w);
void hd__on_io(struct hd_work *w);

/* Waiting loops (order_await.c). */
static inline const struct hd_guard *hd__guard(const struct hd_order *t, const struct hd_op *op) {
  return t->guard ? t->guard[op->thread] : NULL;
}
/* The conflicts of an operation with a guard. */
void hd__on_guard(struct hd_work *w, const struct hd_guard *g);
/* Whether the guard would let it go without event e and all that happened after it. */
int hd__open_without(const struct hd_order *t, const struct hd_guard *g, uint32_t e);

/* The families of order_sync.c: read-write locks, semaphores, barriers. */
void hd__sync_conflicts(struct hd_work *w);
/* What follows from an arrival at a barrier, and from leaving it. */
void hd__arrived(struct hd_order *t, uint32_t f);
void hd__left(struct hd_order *t, uint32_t f);
/* Whether the operation may have to wait. */
int hd__sync_waits(const struct hd_op *op);
/* Whether op could not be executed before event e. */
int hd__sync_freed(const struct hd_ev *e, const struct hd_op *op);
/* hd_order_enabler for these operations. */
uint32_t hd__sync_enabler(struct hd_order *t, const struct hd_op *op);

/* Atomic sections (order_section.c). */
/* What an operation that may have to wait for o races with: whoever took it, or the section entered last, whichever
 * it could have come before. */
uint32_t hd__section_rival(const struct hd_order *t, const struct hd_tobj *o);
/* The event that stands for the taking of o by the event f. */
uint32_t hd__section_taker(const struct hd_order *t, const struct hd_tobj *o, uint32_t f);
/* The event that e can be reversed at: itself, or the entry of the section that it is in. */
uint32_t hd__section_entry(const struct hd_order *t, uint32_t e);
/* Orders the operation after the section entered last. `waits`: the races are known already. */
void hd__meet_section(struct hd_work *w, int waits);
/* The operation enters a section: it meets whatever the others did last. */
void hd__meet_everybody(struct hd_work *w);

#endif

/* objects.h: what threads synchronise with (locks, conditions, files), by address, for one execution (objects.c). */
#ifndef HD_RUNTIME_OBJECTS_H
#define HD_RUNTIME_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "model/model.h"

struct hd_thread;

/* One of several threads that hold an object, such as the readers of a read-write lock. */
struct hd_holder {
  uint16_t thread;
  uint32_t count; /* how often it holds it; 0: no longer */
  uint64_t site;
  struct hd_holder *next;
};

struct hd_obj {
  uint64_t addr;
  uint32_t epoch; /* execution it belongs to; entries of other executions are empty */
  uint8_t kind;   /* enum hd_obj_kind */
  uint16_t owner; /* thread number, or HD_NOBODY */
  uint32_t count;
  struct hd_thread *pend;  /* threads whose pending operation takes it */
  struct hd_thread *queue; /* threads that wait to be woken, first to last */
  struct hd_thread *queue_last;
  uint32_t nqueue;
  struct hd_vc vc; /* published by its last release */
  uint64_t
      seen; /* mutex: the time when it was taken; atomic memory: the latest time of a thread that read it */
  uint64_t site;    /* where it was taken: program counter, or call stack when hot.detail */
  uint32_t signals; /* condition: signals that found no waiter */
  struct hd_holder *holders;
  struct hd_obj *next_robust; /* of the same owner */
  struct hd_obj *next;        /* of this execution */
  struct hd_stream *stream;   /* whose lock it is (wrap/stream.c) */
  struct hd_vc before;        /* published by readers (read-write lock), or by the last round (barrier) */
  uint32_t init;              /* segment that initialised it while other threads existed, or 0 */
  uint8_t init_op;
  uint64_t init_site;
};
#define HD_NOBODY 0xffff

/* Several may live at one address: who waits for a futex, and what is declared to ThreadSanitizer, are objects apart from a lock
 * or an atomic variable there. */
#define HD_APART_FUTEX (1ull << 63)
#define HD_APART_ORDER (1ull << 62)

/* The object at addr; hd__obj creates it, hd__obj_find returns NULL. */
struct hd_obj *hd__obj(uint64_t addr, unsigned kind);
struct hd_obj *hd__obj_find(uint64_t addr);
/* Calls f for every object of this execution. */
void hd__objects_each(void (*f)(struct hd_obj *o));
void hd__pend(struct hd_obj *o, struct hd_thread *t);
void hd__unpend(struct hd_obj *o, struct hd_thread *t);
void hd__enable_pending(struct hd_obj *o);
void hd__disable_pending(struct hd_obj *o, struct hd_thread *except);

/* The queue of threads that wait to be woken. It is linked by wait.next, so a thread is in one queue or list. */
void hd__enqueue(struct hd_obj *o, struct hd_thread *t);
void hd__dequeue(struct hd_obj *o, struct hd_thread *t);
/* The k-th waiter by thread number, so that the choice does not depend on the order of arrival. */
struct hd_thread *hd__waiter(const struct hd_obj *o, unsigned k);

/* When a timed operation gives up. */
struct hd_until {
  clockid_t clock;
  const struct timespec *at;
};
static inline bool hd__bad_time(const struct timespec *at) {
  return at->tv_nsec < 0 || at->tv_nsec >= 1000000000;
}
/* How a request ended: it may be executed, its time is over, or a handler interrupted it. */
enum hd_requested { HD_GRANTED, HD_LATE, HD_INTERRUPTED };
/* The running thread requests this operation on o. `can`: it is enabled now. Otherwise the thread waits at o until
 * another thread enables it, or until its time is over (`until`, NULL for never). The caller executes the operation
 * and calls hd__event, unless it was interrupted. */
enum hd_requested hd__request_once(struct hd_obj *o, unsigned kind, bool can, const struct hd_until *until,
                                   uint64_t pc);
/* The same at a cancellation point. */
enum hd_requested hd__request_cancel(struct hd_obj *o, unsigned kind, bool can, const struct hd_until *until,
                                     uint64_t pc);
/* Waits again after a handler. Returns whether it timed out. */
#define hd__request(o, kind, can, ...)                     \
  __extension__({                                          \
    enum hd_requested how_;                                \
    do how_ = hd__request_once(o, kind, can, __VA_ARGS__); \
    while (HD_UNLIKELY(how_ == HD_INTERRUPTED));           \
    how_ == HD_LATE;                                       \
  })

/* The running thread initialises an object of libc's, by operation `op`: an operation that conflicts with all uses, if
 * there are other threads. A use that is not ordered with it is a data race. The caller then sets the object's own
 * memory. `value`: of a semaphore, what it starts with. */
struct hd_obj *hd__init_object(unsigned op, const void *object, size_t size, uint32_t value, uint64_t pc);

/* Reports a misuse of a lock, with the places where its holders took it. */
void hd__report_lock(unsigned kind, const struct hd_obj *o, unsigned op, uint64_t pc, const char *text);
/* Reports a use of freed memory, or of an object that was destroyed. Its operation comes next. */
void hd__touch_object(const void *object, size_t size, enum hd_obj_kind kind, bool destroyed, uint64_t pc);
/* The running thread has destroyed it: the pending operations of others on it are uses of a destroyed object. */
void hd__object_destroyed(uint64_t object, enum hd_obj_kind kind);
/* The running thread frees a block: an operation on each lock, condition variable and semaphore in it. */
void hd__objects_freed(uint64_t block, uint64_t size, uint64_t pc);
/* The running thread's operation has found its object destroyed, or the memory of it freed. */
void hd__object_gone(void);

/* ---- a checkpoint ---- */

/* Makes the table, once for all executions. */
void hd__objects_init(void);
/* An execution starts: there are no objects. */
void hd__objects_begin(void);
/* It starts with those of the checkpoint. pre: hd__objects_begin, and the variables of the runtime are restored. */
void hd__objects_return(void);
/* The table of objects is restored from now on. */
void hd__objects_keep(void);
/* The execution has ended, and the table is about to be restored. */
void hd__objects_leave(void);
/* Calls f for its memory. */
void hd__objects_range(void (*f)(char *lo, char *hi));

#endif

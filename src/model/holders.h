/* holders.h: who holds which lock, worked out from events. Linked into both binaries.
 *
 * Held are mutexes and spin locks, once-controls under way, and read-write locks, shared or not. A semaphore has no
 * holder: who posts need not be who took. The runtime keeps its own record while a program runs (hd_obj.owner, with
 * the place where the lock was taken), and libc's fields are the program's own state. */
#ifndef HD_MODEL_HOLDERS_H
#define HD_MODEL_HOLDERS_H

#include "model/event.h"

struct hd_hold {
  uint64_t object;
  uint32_t event; /* that took it */
  uint16_t thread;
  uint8_t kind;   /* enum hd_obj_kind */
  uint8_t shared; /* others may have it too */
};

/* What is held, in the order in which it was taken. */
struct hd_holders {
  struct hd_hold *hold; /* the caller's */
  size_t n, cap;
};

/* The event with that number was executed. Returns 1 when somebody holds more or less than before, else 0; -1: there
 * was no room, nothing has changed. One event adds at most one hold. */
int hd_holders_event(struct hd_holders *h, const struct hd_op *op, unsigned flags, uint32_t number);

/* The next hold of the object, or of the thread, from entry *at on; NULL at the end. */
const struct hd_hold *hd_holders_of_object(const struct hd_holders *h, uint64_t object, size_t *at);
const struct hd_hold *hd_holders_of_thread(const struct hd_holders *h, unsigned thread, size_t *at);

/* The object that the event's effect on who holds what is about, 0: it has none. */
uint64_t hd_held_object(const struct hd_op *op, unsigned flags);

#endif

/* locks.h: locks of files (flock, fcntl). Runs in the tested process. */
#ifndef HD_LOCKS_H
#define HD_LOCKS_H

#include "runtime/kernel/io.h"

long hd__flock_call(const long *a, uint64_t pc);
bool hd__record_lock(long command); /* of fcntl */
long hd__record_lock_call(const long *a, uint64_t pc);
/* A number of the description is closed; `last`: there is no other. */
void hd__locks_closed(struct hd_desc *d, bool last);
/* That locks and closing of a file concern each other is learned. */
void hd__locks_show(const struct hd_chan *c);
bool hd__locks_shown(const struct hd_chan *c);

#endif

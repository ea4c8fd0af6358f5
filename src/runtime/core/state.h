/* state.h: operations on state of the process that is no memory of the program: the working directory, the handler of a
 * signal, libc's random numbers (model/states.def). They order no memory: two threads that only share such state race for
 * theirs all the same. */
#ifndef HD_RUNTIME_STATE_H
#define HD_RUNTIME_STATE_H

#include "runtime/core/core.h"

/* The running thread is about to look at it, or to change it. `which` tells several of a kind apart. Call it before what
 * it announces; nothing happens while hot.active is 0. */
static inline void hd__lookup(enum hd_state state, uint32_t which, uint64_t pc) {
  if (hot.active) hd__point(HD_OP_LOOKUP, hd_state_object(state, which), 1, pc);
}
static inline void hd__change(enum hd_state state, uint32_t which, uint64_t pc) {
  if (hot.active) hd__point(HD_OP_CHANGE, hd_state_object(state, which), 1, pc);
}

#endif

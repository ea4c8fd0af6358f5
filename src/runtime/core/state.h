/* state.h: operations on state of the process that is no memory of the program: the working directory, the handler of a
 * signal, libc's random numbers (model/states.def). They order no memory: two threads that only share such state race for
 * theirs all the same.
 *
 * Looking is an operation only if some execution has changed that kind of state while there were other threads, which is
 * learned like contended memory. Most programs set it up once. Of state that changes all the time, and that hardly any
 * program looks at, it is the other way round: changing it is an operation only if some execution has looked. */
#ifndef HD_RUNTIME_STATE_H
#define HD_RUNTIME_STATE_H

#include "runtime/core/core.h"

/* The running thread is about to look at it, or to change it. `which` tells several of a kind apart. Call it before what
 * it announces; nothing happens while hot.active is 0, or while there is no other thread. */
void hd__lookup(enum hd_state state, uint32_t which, uint64_t pc);
void hd__change(enum hd_state state, uint32_t which, uint64_t pc);
/* Some execution has changed it. */
void hd__state_learn(enum hd_state state);
/* The same for state that changes all the time. */
void hd__observe(enum hd_state state, uint32_t which, uint64_t pc);
void hd__alter(enum hd_state state, uint32_t which, uint64_t pc);
/* Whether hd__lookup is an operation. */
bool hd__state_changes(enum hd_state state);
/* What was learned last is forgotten. */
void hd__states_unlearn(void);

#endif

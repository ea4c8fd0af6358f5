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
static inline void hd__lookup(enum hd_state state, uint32_t which, uint64_t pc);
static inline void hd__lookup_noted(enum hd_state state, uint32_t which, uint64_t pc);
void hd__change(enum hd_state state, uint32_t which, uint64_t pc);
/* Some execution has changed it. */
void hd__state_learn(enum hd_state state);
/* The same for state that changes all the time. */
void hd__observe(enum hd_state state, uint32_t which, uint64_t pc);
static inline void hd__alter(enum hd_state state, uint32_t which, uint64_t pc);
/* What is known to change, one bit each, as of the time when so much had been learned. */
struct hd_state_known {
  uint64_t changes, learned;
};
extern struct hd_state_known hd__state_known;
void hd__states_look_up(void);
static inline bool hd__state_learned(enum hd_state state) {
  if (HD_UNLIKELY(hd__state_known.learned != rt.status->visible_count)) hd__states_look_up();
  return hd__state_known.changes >> state & 1;
}
/* Whether hd__lookup is an operation. */
static inline bool hd__state_changes(enum hd_state state) {
  return hot.active && rt.nunjoined && hd__state_learned(state);
}
/* What was learned last is forgotten. */
void hd__states_unlearn(void);

/* The running thread looks at something that is not known to change. Returns whether it has done so again and again: a loop
 * may wait for it, so it is to be learned. A look that is no more than that weighs HD_LOOK. */
#define HD_LOOK 16
#define HD_LOOKS (256 * HD_LOOK)
static inline bool hd__looks_again(unsigned weight) {
  if (rt.cur->looks < HD_LOOKS) rt.cur->looks += weight;
  return rt.cur->looks >= HD_LOOKS;
}
/* Whether hd__lookup is an operation, now that the running thread looks. */
static inline bool hd__state_looks(enum hd_state state) {
  if (!hot.active || !rt.nunjoined) return false;
  if (HD_UNLIKELY(!hd__state_learned(state) && hd__looks_again(HD_LOOK))) hd__state_learn(state);
  return hd__state_learned(state);
}

/* The operations themselves. `noted`: the function has an entry that notes the registers of the caller (core/arch), so that
 * a loop around it is recognised. */
void hd__state_look(enum hd_state state, uint32_t which, bool noted, uint64_t pc);
void hd__state_change(enum hd_state state, uint32_t which, uint64_t pc);

static inline void hd__lookup(enum hd_state state, uint32_t which, uint64_t pc) {
  if (HD_UNLIKELY(hd__state_looks(state))) hd__state_look(state, which, false, pc);
}

static inline void hd__lookup_noted(enum hd_state state, uint32_t which, uint64_t pc) {
  if (HD_UNLIKELY(hd__state_looks(state))) hd__state_look(state, which, true, pc);
}

/* The running thread's next action depends on it, and no loop waits by that. */
static inline void hd__depends(enum hd_state state, uint64_t pc) {
  if (HD_UNLIKELY(hd__state_changes(state))) hd__state_look(state, 0, false, pc);
}

static inline void hd__alter(enum hd_state state, uint32_t which, uint64_t pc) {
  if (HD_UNLIKELY(hd__state_changes(state))) hd__state_change(state, which, pc);
}

#endif

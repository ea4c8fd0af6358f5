/* state.c: operations on state of the process (state.h). Runs in the tested process. */
#include "runtime/core/state.h"

#include "runtime/core/spin.h"
#include "runtime/memory/memory.h"

/* What is learned of a kind of state is logged under an address that no memory has; files.c has those below. */
#define FIRST 64064
_Static_assert(FIRST + 8 * HD_STATE_COUNT <= 65536, "no program has memory there");
static uint64_t slot(enum hd_state state) { return FIRST + 8 * (uint64_t)state; }

/* What is known to change, one bit each, as of the time when so much had been learned. */
static uint64_t changes, learned = UINT64_MAX;
_Static_assert(HD_STATE_COUNT <= 64, "a bit each");

static __attribute__((noinline, cold)) void look_up_changes(void) {
  changes = 0;
  for (unsigned i = 0; i < HD_STATE_COUNT; i++)
    changes |= (uint64_t)hd__shadow_visible(slot((enum hd_state)i), 8) << i;
  learned = rt.status->visible_count;
}

void hd__states_unlearn(void) { learned = UINT64_MAX; }

bool hd__state_changes(enum hd_state state) {
  if (!hot.active || !rt.nunjoined) return false;
  if (HD_UNLIKELY(rt.watched)) hd__state_learn(state); /* a loop may wait for a change of it (tick.c) */
  if (HD_UNLIKELY(learned != rt.status->visible_count)) look_up_changes();
  return changes >> state & 1;
}

static void look(enum hd_state state, uint32_t which, uint64_t pc) {
  hd__spin_poll(state, pc);
  hd__point(HD_OP_LOOKUP, hd_state_object(state, which), 1, pc);
  hd__spin_polled(state);
}

static void change(enum hd_state state, uint32_t which, uint64_t pc) {
  hd__point(HD_OP_CHANGE, hd_state_object(state, which), 1, pc);
  hd__spin_word[state]++;
}

void hd__lookup(enum hd_state state, uint32_t which, uint64_t pc) {
  if (hd__state_changes(state)) look(state, which, pc);
}

void hd__state_learn(enum hd_state state) { hd__shadow_show(slot(state), 8); }

void hd__change(enum hd_state state, uint32_t which, uint64_t pc) {
  if (!hot.active || !rt.nunjoined) return;
  hd__state_learn(state);
  change(state, which, pc);
}

void hd__observe(enum hd_state state, uint32_t which, uint64_t pc) {
  if (!hot.active || !rt.nunjoined) return;
  hd__state_learn(state);
  look(state, which, pc);
}

void hd__alter(enum hd_state state, uint32_t which, uint64_t pc) {
  if (hd__state_changes(state)) change(state, which, pc);
}

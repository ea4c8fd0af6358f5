/* state.c: operations on state of the process (state.h). Runs in the tested process. */
#include "runtime/core/state.h"

#include "runtime/memory/memory.h"

/* What is learned of a kind of state is logged under an address that no memory has; files.c has those below. */
#define FIRST 64064
_Static_assert(FIRST + 8 * HD_STATE_COUNT <= 65536, "no program has memory there");
static uint64_t slot(enum hd_state state) { return FIRST + 8 * (uint64_t)state; }

bool hd__state_changes(enum hd_state state) {
  return hot.active && rt.nunjoined && hd__shadow_visible(slot(state), 8);
}

void hd__lookup(enum hd_state state, uint32_t which, uint64_t pc) {
  if (hd__state_changes(state)) hd__point(HD_OP_LOOKUP, hd_state_object(state, which), 1, pc);
}

void hd__state_learn(enum hd_state state) { hd__shadow_show(slot(state), 8); }

void hd__change(enum hd_state state, uint32_t which, uint64_t pc) {
  if (!hot.active || !rt.nunjoined) return;
  hd__state_learn(state);
  hd__point(HD_OP_CHANGE, hd_state_object(state, which), 1, pc);
}

void hd__observe(enum hd_state state, uint32_t which, uint64_t pc) {
  if (!hot.active || !rt.nunjoined) return;
  hd__state_learn(state);
  hd__point(HD_OP_LOOKUP, hd_state_object(state, which), 1, pc);
}

void hd__alter(enum hd_state state, uint32_t which, uint64_t pc) {
  if (hd__state_changes(state)) hd__point(HD_OP_CHANGE, hd_state_object(state, which), 1, pc);
}

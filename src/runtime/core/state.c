/* state.c: operations on state of the process (state.h). Runs in the tested process. */
#include "runtime/core/state.h"

#include "runtime/core/spin.h"
#include "runtime/memory/memory.h"

/* What is learned of a kind of state is logged under an address that no memory has; files.c has those below. */
#define FIRST 64064
_Static_assert(FIRST + 8 * HD_STATE_COUNT <= 65536, "no program has memory there");
static uint64_t slot(enum hd_state state) { return FIRST + 8 * (uint64_t)state; }

struct hd_state_known hd__state_known = {0, UINT64_MAX};
_Static_assert(HD_STATE_COUNT <= 64, "a bit each");

__attribute__((noinline, cold)) void hd__states_look_up(void) {
  hd__state_known.changes = 0;
  for (unsigned i = 0; i < HD_STATE_COUNT; i++)
    hd__state_known.changes |= (uint64_t)hd__shadow_visible(slot((enum hd_state)i), 8) << i;
  hd__state_known.learned = rt.status->visible_count;
}

void hd__states_unlearn(void) { hd__state_known.learned = UINT64_MAX; }

void hd__state_look(enum hd_state state, uint32_t which, bool noted, uint64_t pc) {
  hd__spin_poll(state, noted, pc);
  hd__point(HD_OP_LOOKUP, hd_state_object(state, which), 1, pc);
  hd__spin_polled(state, noted);
}

void hd__state_change(enum hd_state state, uint32_t which, uint64_t pc) {
  hd__point(HD_OP_CHANGE, hd_state_object(state, which), 1, pc);
  hd__spin_word[state]++;
}

void hd__state_learn(enum hd_state state) { hd__shadow_show(slot(state), 8); }

void hd__change(enum hd_state state, uint32_t which, uint64_t pc) {
  if (!hot.active || !rt.nunjoined) return;
  hd__state_learn(state);
  hd__state_change(state, which, pc);
}

void hd__observe(enum hd_state state, uint32_t which, uint64_t pc) {
  if (!hot.active || !rt.nunjoined) return;
  hd__state_learn(state);
  hd__state_look(state, which, false, pc);
}

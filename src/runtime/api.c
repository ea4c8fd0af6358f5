/* api.c: the runtime's side of include/heddle.h. Runs in the tested process. */
#include "runtime/rt.h"

HD_EXPORT int hd_rt_choose(int n);
HD_EXPORT int hd_rt_controlled(void);

unsigned hd__choose_here(unsigned n, uint64_t pc) {
  hd__point_open(HD_OP_CHOOSE, 0, n, pc);
  unsigned k = hd__choose(n);
  hd__event(0);
  return k;
}

int hd_rt_choose(int n) {
  if (!hot.active || n <= 1) return 0;
  uint64_t pc = HD_CALLER;
  if (n > 0x7fff) hd__fail(HD_RTE_UNSUPPORTED, pc, "hd_choose: at most 32767 outcomes");
  return (int)hd__choose_here((unsigned)n, pc);
}

int hd_rt_controlled(void) { return hot.active; }

_Noreturn void hd__assume_failed(void) {
  rt.search.infeasible = 1;
  hd__thread_stop();
}

HD_EXPORT void hd_rt_assume_failed(void);
void hd_rt_assume_failed(void) {
  if (hot.active) hd__assume_failed();
}

/* For Heddle's own tests: adds a number to what identifies the final state of this execution. The order in which
 * threads tell does not matter: it is not a visible operation. */
HD_EXPORT void hd_rt_observe(uint64_t value);
void hd_rt_observe(uint64_t value) {
  if (hot.active) rt.search.observed += hd_mix64(value + 1) | 1;
}

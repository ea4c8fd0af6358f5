/* endless.h: proofs that a thread computes for ever (endless.c). */
#ifndef HD_RUNTIME_ENDLESS_H
#define HD_RUNTIME_ENDLESS_H

#include <stdbool.h>
#include <ucontext.h>

/* From now on the running thread, which was interrupted there, is executed one instruction at a time. */
void hd__endless_begin(ucontext_t *uc);
/* No longer: nothing is proved. */
void hd__endless_stop(ucontext_t *uc);
bool hd__endless_tries(void);
/* For a handler of SIGTRAP: whether the signal came of that. When it is proved that the thread computes for ever, it calls
 * hd__tick_endless, with the thread in a state that does not depend on when the proof began. */
bool hd__endless_trap(ucontext_t *uc, bool stepped);

#endif

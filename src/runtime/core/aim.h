/* aim.h: lines that an execution is meant to reach (aim.c). */
#ifndef HD_RUNTIME_AIM_H
#define HD_RUNTIME_AIM_H

#include <stdbool.h>
#include <ucontext.h>

/* Makes the program stop at the lines of config.aims. pre: the modules are recorded; not inside an execution. */
void hd__aim_init(void);
/* For a handler of SIGTRAP: whether it was such a stop. Does not return if the execution ends there. */
bool hd__aim_trap(ucontext_t *uc);

#endif

/* tick.h: threads that compute without reaching a scheduling point (tick.c). */
#ifndef HD_RUNTIME_TICK_H
#define HD_RUNTIME_TICK_H

#include <stdbool.h>
#include <ucontext.h>

struct hd_thread;

/* Asks the kernel for hd__tick in this process. */
HD_EACH void hd__tick_start(void);
/* The process has used some more processor time, and was interrupted there. */
void hd__tick(ucontext_t *uc);
/* It is proved that the running thread, which was interrupted there, computes for ever: puts it aside, or reports a hang. */
void hd__tick_endless(ucontext_t *uc);
/* Whether the running thread is to be put aside at its next system call; puts it aside there. */
bool hd__tick_due(void);
void hd__tick_call(const ucontext_t *uc);
/* The watchdog takes the process for hung. Returns whether something else is tried first. */
bool hd__tick_hang(const ucontext_t *uc);
/* Nothing else can run: the thread that goes on from where it was put aside. pre: rt.naside */
struct hd_thread *hd__aside_next(void);

#endif

/* checkpoint.h: executions that start at their first choice instead of at main (checkpoint.c). */
#ifndef HD_RUNTIME_CHECKPOINT_H
#define HD_RUNTIME_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/util.h"
#include "model/unkept.h"

/* The execution is about to start at main. Until its first choice it is watched, if a checkpoint may be taken there;
 * `never`: it must be restored to main after this execution. */
void hd__prefix_begin(bool never);
/* The first thread is about to create another one, or to choose. pre: rt.prefix. */
void hd__prefix_end(void);
/* The execution has ended, perhaps without any choice. */
void hd__prefix_over(void);

/* Takes a checkpoint: from now on a restart restores this point. pre: HD_RUN_PAUSED. `stack_hi`: the upper end of the first
 * thread's stack. */
void hd__checkpoint_take(char *stack_hi);
HD_EACH bool hd__checkpoint_taken(void);
/* Puts the scheduler where it was. pre: hd__sched_begin, and memory was restored. */
void hd__checkpoint_load(void);
/* Tells the strategy what happened before the checkpoint. Returns enum hd_run_end if it gives the execution up, else -1. */
int hd__checkpoint_feed(void);
/* Before an execution: whether it has to start at main after all. */
bool hd__checkpoint_stale(void);
/* A signal handler runs in the first thread: an execution that has started from a checkpoint is abandoned. */
void hd__checkpoint_handler(void);
/* No checkpoint is taken any more, for that reason. */
void hd__checkpoint_refuse(enum hd_unkept why);
/* Ends the process; the supervisor starts another one, which goes on with the same execution, from main. */
_Noreturn void hd__start_again(void);
/* Calls f for the runtime's own memory that a checkpoint restores. */
void hd__checkpoint_each_range(void (*f)(char *lo, char *hi));

#endif

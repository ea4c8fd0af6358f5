/* signal.h: between the files that handle signals (signal.c, signal_wait.c). */
#ifndef HD_RUNTIME_WRAP_SIGNAL_H
#define HD_RUNTIME_WRAP_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/core.h"

static inline uint64_t hd__signal_bits(const sigset_t *set) { return *(const uint64_t *)set; }
/* Those pending for the process. */
struct hd_signals *hd__process_signals(void);
/* Takes the first of these that is pending. Returns false if none is. */
bool hd__signal_take(struct hd_signals *s, uint64_t of, siginfo_t *out);
/* What sigpending would return for each thread. It counts as memory of the program: a loop may wait for it. */
extern uint64_t hd__signal_word[HD_MAX_THREADS];
/* Brings it up to date. */
void hd__signal_show(void);

/* A timer that calls a function in a new thread: `signal` is what it sends instead, to a thread that makes those threads.
 * Returns false, with errno, when there are too many. */
bool hd__thread_timer(const struct sigevent *e, struct sigevent *signal, uint64_t pc);

#endif

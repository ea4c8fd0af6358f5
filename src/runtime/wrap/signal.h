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

/* longjmp continues at sp: the handlers below have ended. mask: that is the signal mask from then on, unless NULL. */
void hd__signals_jump(uint64_t sp, const sigset_t *mask, uint64_t pc);

/* The event of a wait that a signal has ended, or of a handler that comes first. */
void hd__signal_event(unsigned flags);

/* ---- signal.c, for signal_late.c ---- */

/* The operation of sending a signal to a thread, or to the process (NULL), up to its event. */
void hd__signal_point(struct hd_thread *t, int sig, uint64_t pc);
/* One of the threads that take a signal to the process, or NULL. */
struct hd_thread *hd__signal_choose_taker(int sig);
/* Whether a handler of the thread runs when it notices the signal. */
bool hd__signal_interrupts(const struct hd_thread *t, int sig);
/* The event of that operation: the thread (NULL: none) notices its signals. */
void hd__signal_kick(struct hd_thread *t, int sig);
/* The thread has noticed what was sent to it. */
void hd__signal_notice(struct hd_thread *t);

/* ---- signal_late.c ---- */

/* Whether threads may go on before they notice a signal. */
bool hd__signal_is_late(void);
/* The signal is pending; the thread notices it some time. */
void hd__signal_deliver_later(struct hd_thread *t, int sig, bool anyone, uint64_t pc);

/* ---- signal_wait.c ---- */

/* Starts a thread of ours that nobody joins. */
void hd__start_detached(pthread_t *thread, void *(*fn)(void *), void *arg, uint64_t pc);
/* A timer that calls a function in a new thread: `signal` is what it sends instead, to a thread that makes those threads.
 * Returns false, with errno, when there are too many. */
bool hd__thread_timer(const struct sigevent *e, struct sigevent *signal, uint64_t pc);

#endif

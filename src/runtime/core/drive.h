/* drive.h: the loop over executions (drive.c) and this process as one of several workers (worker.c). */
#ifndef HD_RUNTIME_DRIVE_H
#define HD_RUNTIME_DRIVE_H

#include <stdbool.h>
#include <stdint.h>

/* Maps the control block and prepares the runtime for it (start.c). */
void hd__attach(void);
/* Runs the search in place of main, and ends the process. */
_Noreturn void hd__drive(int (*main_fn)(int, char **, char **), int argc, char **argv, char **envp);
/* Takes control of this process, which has only one thread, and runs body(arg) in place of main, on the stack below
 * `top`. */
_Noreturn void hd__drive_callback(void (*body)(void *), void *arg, uint64_t top);

/* ---- executions that have a process of their own (see template.c) ---- */

/* The execution of that number begins. Returns as `begin` of the strategy. */
int hd__drive_begin(uint64_t number);
/* Forks this process. Returns as clone. */
long hd__drive_fork(void);
/* In the child: what is not inherited. */
void hd__drive_forked(void);
/* Waits for the child, which was forked when `known` entries of the visible log were known. Returns why its execution ended
 * (enum hd_run_end), or -1 - the wait status if it died. */
int hd__drive_wait(long pid, uint64_t known);
/* Ends this process, and tells its parent what hd__drive_wait returns there. */
_Noreturn void hd__drive_leave(int reason);
/* Whether the execution is over, so that another one comes. */
bool hd__drive_counts(int reason);
/* Everything that comes between two executions. Returns the number of the next one; 0: there is none. */
uint64_t hd__drive_next(int reason);

/* ---- the first thread's stack ---- */

bool hd__first_stack_has(uint64_t addr);
uint64_t hd__first_stack_end(void);
void *hd__first_stack(size_t *size); /* all of it, as the system reported it at the start */
/* Calls f for the part in use, from sp up. */
void hd__scan_first_stack(char *sp, void (*f)(char *lo, char *hi));
bool hd__first_stack_overflow(uint64_t addr, uint64_t sp);

/* ---- worker.c ---- */

/* This process joins the search, perhaps in place of one that was killed. */
void hd__worker_start(void);
/* Between two executions: exchanges what was learned with the other workers. */
void hd__worker_sync(void);
/* Waits while the supervisor saves the search. */
void hd__worker_pause(void);
/* Sleeps for a moment: there is no work. */
void hd__worker_nap(void);
bool hd__worker_later(void);
/* The number of the next execution; 0 when the limit of executions is reached. */
uint64_t hd__worker_next(void);

#endif

/* kernel.h: what the rest of the runtime needs of the kernel's side: signals, system calls, descriptors, timers,
 * files. io.h has what the files of this folder share. */
#ifndef HD_RUNTIME_KERNEL_H
#define HD_RUNTIME_KERNEL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/unkept.h"
#include "runtime/core/core.h"

/* ---- signals.c ---- */

void hd__signals_init(void);
/* Restores the program's handlers to those at the start. */
void hd__signals_begin(void);
/* Makes the program's handlers the kernel's again (a forked child runs natively). */
void hd__signals_native(void);
/* The signals that the first thread masks at its start, one bit per signal from 1. */
HD_EACH uint64_t hd__first_mask(void);
void hd__signal_install(int sig, void (*fn)(int, siginfo_t *, void *));
/* Restores the default action of a signal. */
void hd__signal_default(int sig);
/* The program sends itself a signal; reports it if that would kill the program. */
void hd__self_signal(int sig, uint64_t pc);
/* Where the handler of a fault gives up: reports that fault. Returns where no such handler runs. */
void hd__fault_again(void);
/* What the program wants to be done with a signal. */
const struct sigaction *hd__disposition(int sig);
/* Makes that the default (SA_RESETHAND). */
void hd__disposition_reset(int sig);
/* Whether the default is to do nothing. */
bool hd__default_ignores(int sig);
/* The system calls rt_sigaction and sigaltstack. */
long hd__sigaction_call(const long *a);
long hd__altstack_call(const long *a);
/* Whether a thread could take a signal from outside. */
bool hd__signals_expected(void);
/* Sends what has come from outside to the program. Returns whether a thread can run now. */
bool hd__signals_outside(void);
bool hd__signals_arrived(void); /* whether there is any */
/* A child has ended: SIGCHLD arrives. */
void hd__signals_child(long pid);
/* Children run, or the masks have changed since: signals may come from outside. */
void hd__signals_expect(void);
/* Whether sp is on our signal stack, on which handlers run. */
bool hd__on_signal_stack(uint64_t sp);
/* The running thread, which was interrupted there, hangs; `proved`: for ever, or so long. Whether it is known already, or ignored, that one does. */
void hd__report_hang(ucontext_t *uc, bool proved);
bool hd__hang_known(const ucontext_t *uc);

/* ---- wrap/signal.c: signals between the program's threads ---- */

/* The running thread handles its pending signals. */
void hd__signals_deliver(void);
/* rt_sigprocmask, as functions of libc call it for themselves. */
long hd__signals_mask(int how, const uint64_t *set, uint64_t *old);
/* Before an operation. */
static inline void hd__take_signals(void) {
  if (HD_UNLIKELY(rt.cur->sig.pending.set & ~(rt.cur->sig.mask | rt.cur->sig.late)) && !rt.cur->sig.window)
    hd__signals_deliver();
  if (HD_UNLIKELY(rt.cur->lends) && hot.call < rt.cur->calls + rt.cur->lends) hd__returned();
}
/* The running thread has been in the kernel, and has noticed all signals that were sent to it: its handlers run before its
 * next operation. */
void hd__signals_noticed(void);
static inline void hd__notice_signals(void) {
  if (HD_UNLIKELY(rt.cur->sig.late)) hd__signals_noticed();
}
/* The running thread is about to do something, and signals were sent in this execution (signal_late.c). */
void hd__signal_followed(void);
/* What a receiver learns about a signal that the program sends to itself. */
siginfo_t hd__signal_info(int sig, int code);
/* Sends a signal to a thread, or to the process (NULL); returns 0 or an errno. */
int hd__signal_send(struct hd_thread *t, const siginfo_t *info, uint64_t pc);
/* A thread that takes a signal to the whole process, or NULL. */
struct hd_thread *hd__signal_taker(int sig);
/* Something outside sends the signal while no thread can run, to a thread or to the process (NULL). */
void hd__signal_arrive(struct hd_thread *t, const siginfo_t *info);
/* The running thread has ended, and pending signals are left. */
void hd__signals_leave(void);
/* After the step of an operation that may have to wait: whether handlers have run in the place of it. sig.blocked says
 * whether it waited, sig.restarts that all of them had SA_RESTART, or that it did not. */
HD_EACH bool hd__interrupted(void);
/* A handler has run in the place of a call that waits and would return EINTR. Whether it ran just before the call: a
 * choice. */
bool hd__handled_before(void);
/* Whether the program has a handler for it. */
bool hd__signal_handled(int sig);
/* sigsuspend, or pause when mask is NULL. */
long hd__signal_suspend(const sigset_t *mask, uint64_t pc);
/* ppoll and the like: the mask during a wait. What it lets in ends the wait, unless that has something to return. */
void hd__signal_window(uint64_t mask, uint64_t pc);
void hd__signal_window_end(void);
/* Whether something is pending for the thread that would end its wait. */
bool hd__signal_window_due(const struct hd_thread *t);
/* Handles that. Returns whether a handler ran; then the mask is the one from before. */
bool hd__signal_window_handle(void);
/* No thread can run. Fails if one would have to run a handler in a wait during which that is not supported. */
void hd__signals_stuck(void);

/* ---- pids.c ---- */

/* The numbers of the process and of its parent, as the program sees them. */
long hd__pid(void);
long hd__ppid(void);
/* Before and after a system call: the program's numbers become the kernel's, and the other way round. A name that
 * changes is put into `name`. */
#define HD_PID_NAME 300
void hd__pids_in(long nr, long *a, char name[HD_PID_NAME]);
long hd__pids_out(long nr, const long *a, long r);
long hd__pids_to_program(long pid);
/* A fork is about to happen. */
void hd__pids_fork(void);
/* Makes a system call in a child. */
long hd__pids_child(long nr, long *a);

/* ---- mapped.c ---- */

/* Whether the call accesses a file that is mapped. */
bool hd__mapped_is_op(long nr, const long *a);
/* The access. `alone`: the call is no other operation. */
void hd__mapped_point(long nr, const long *a, bool alone, uint64_t pc);

/* ---- proc.c ---- */

/* The whole of a name that begins in the folder `dir` (a descriptor, or AT_FDCWD). Returns false when it is not below
 * /proc or /dev, or too long for one of these. */
bool hd__proc_name(long dir, const char *path, char out[HD_PID_NAME]);
/* The number of the descriptor that a name means (/proc/self/fd/3, /dev/stdout). -1: none. */
long hd__proc_number(long dir, const char *name);
/* Whether the call lists the numbers of descriptors. */
bool hd__proc_lists_numbers(long nr, const long *a);
/* Whether the call looks at the threads of the process. */
bool hd__proc_shows_threads(long nr, const long *a);
/* A name was opened: replaces what the kernel has there by what the program is to see. */
void hd__proc_opened(long nr, const long *a, long fd);
/* The same for the result of getdents64, and of stat and its relatives. */
long hd__proc_list(const long *a, long r);
void hd__proc_status(long nr, const long *a, long r);

/* ---- fds.c ---- */

/* Who gets which number is explored from now on. Returns false when it is already, or all opening is ordered. */
bool hd__fds_explore(void);

/* ---- sysguard.c, vdso.c, child.c ---- */

void hd__sysguard_init(void);
HD_EACH void hd__sysguard_enable(void);
/* Restores the offsets of descriptors from before main (fds.c). */
HD_EACH void hd__fds_rewind(void);
/* The program is about to change the flags of a description. */
void hd__fd_mode_changes(long fd);
/* Gives those from before main the flags that they had. */
HD_EACH void hd__fds_modes(void);

/* ---- checkpoints (core/checkpoint.c) ---- */

/* Why what the execution has done to the kernel's side cannot be kept. */
enum hd_unkept hd__fds_unkept(void);
enum hd_unkept hd__sysguard_unkept(void);
bool hd__files_changed(void);
bool hd__ipc_made(void);
/* Why a fork would share more of the descriptors than can be restored; keeps, and restores, what it would share. */
enum hd_unkept hd__fds_unshared(void);
void hd__fds_stand(void);
void hd__fds_return(void);
/* A restart leaves what the execution has done so far, and undoes only what follows. */
void hd__fds_keep(void);
void hd__sysguard_keep(void);
void hd__process_keep(void);
void hd__signals_keep(void);

/* ---- process.c: state of the process ---- */

/* Whether the call is an operation on it, or depends on it; the operations of such a call. */
bool hd__state_is_op(long nr, const long *a);
void hd__state_points(long nr, const long *a, uint64_t pc);
bool hd__process_serves(long nr);
long hd__process_serve(long nr, const long *a);
void hd__process_begin(void);
/* The running thread is about to make that call, which may depend on a limit. */
void hd__process_limit(long nr);
/* Whether the limit of descriptors that the program has set forbids this number. */
bool hd__fd_over_limit(long fd);

/* Whether pc is in the runtime. */
bool hd__own_code(uint64_t pc);
/* Undoes what the last execution changed in the kernel. */
void hd__sysguard_begin(void);
/* The running thread was cancelled in a system call, from which it does not return. */
_Noreturn void hd__syscall_cancelled(void);
/* A handler interrupted the system call that the running thread is in: it returns EINTR, or is made again. */
_Noreturn void hd__syscall_interrupted(bool again);
/* It returns r instead. */
_Noreturn void hd__syscall_returns(long r);
/* The return from a handler sets the mask of the interrupted code. Changes made meanwhile stay, but signals that the
 * runtime needs are never masked. */
void hd__keep_mask(ucontext_t *uc);
void hd__vdso_init(void);
/* Whether reading the time stamp counter is a fault that hd__tsc_fault serves. Processes inherit it, also those that
 * execute another program. */
void hd__tsc_trap(bool on);
bool hd__tsc_fault(ucontext_t *uc);
/* Whether a child of the program has not ended yet. */
HD_EACH bool hd__children_run(void);
/* No thread can run, or one asks for children: those that share memory with the program go on as far as they can. */
void hd__children_settle(void);
/* No thread can run: waits for children to send signals, or to post semaphores that they share. Returns whether a
 * thread can run now. */
bool hd__children_help(void);
/* Whether a thread waits for an object in memory that it shares with a child, which might have ended the wait. */
bool hd__children_hold(void);
/* Whether there is any that was not waited for. */
bool hd__children_any(void);
/* Kills the children of the last execution. */
HD_EACH void hd__children_begin(void);
/* Whether the program wants to adopt what its children leave behind. */
bool hd__is_subreaper(void);

/* ---- io.c, io_wait.c ---- */

#define HD_FOREVER UINT64_MAX
/* No thread can run: waits for what is outside the process, at most `limit` virtual nanoseconds, or HD_FOREVER.
 * Returns true when a thread can run now. */
bool hd__io_idle(uint64_t limit);
/* The execution is over: closes what it has opened, if that may keep others from a port. */
HD_EACH void hd__ports_leave(void);
/* Whether the process is in that wait. */
bool hd__io_waits_outside(void);
/* A timer has fired, which event `set` had set (0: something outside has changed): enables the threads that can
 * continue. */
void hd__io_poll(uint32_t set);
/* The time of the thread's operation is nearly over: it ends now, or what it waits for comes first. */
void hd__io_due(struct hd_thread *t);
/* The earliest virtual time at which a timer descriptor fires, HD_FOREVER if none is waited for. */
uint64_t hd__timerfd_next(void);
/* Fires those whose time has come while nobody waited. */
void hd__timerfd_due(void);
/* Those whose time has come. Returns the event, counted from 1, that set the last of them, 0 if there is none. `late`: no
 * thread could run. */
uint32_t hd__timerfd_fire(uint64_t now, bool late);
/* A signal was sent, or taken: enables the threads that wait for it at a descriptor. */
void hd__io_signalled(void);
/* The descriptor of the thread's pending operation, -1 if there is none. */
int hd__io_fd(const struct hd_thread *t);

/* ---- timers.c: timers that send signals ---- */

void hd__alarms_begin(void);
/* The earliest virtual time at which a timer sends a signal that has an effect, HD_FOREVER if there is none. */
uint64_t hd__alarm_next(void);
void hd__alarm_fire(void);

/* ---- files.c ---- */

void hd__files_init(void);
HD_EACH void hd__files_begin(void); /* before an execution */
HD_EACH void hd__files_undo(void);  /* after it: restores the files it changed */
bool hd__files_mine(void);          /* the process is still the user that it was before main */

#endif

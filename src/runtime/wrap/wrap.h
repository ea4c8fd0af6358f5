/* wrap.h: between the wrappers, and the originals behind them (real.c). */
#ifndef HD_RUNTIME_WRAP_H
#define HD_RUNTIME_WRAP_H

#include <dirent.h>
#include <grp.h>
#include <iconv.h>
#include <langinfo.h>
#include <locale.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <search.h>
#include <regex.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <wchar.h>

#include "runtime/core/core.h"

/* ---- mutexes, conditions, once: the functions of the same name, called from pc ---- */

int hd__mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a, uint64_t pc);
int hd__mutex_lock(pthread_mutex_t *m, uint64_t pc);
int hd__mutex_lock_until(pthread_mutex_t *m, clockid_t clock, const struct timespec *at, uint64_t pc);
int hd__mutex_trylock(pthread_mutex_t *m, uint64_t pc);
int hd__mutex_unlock(pthread_mutex_t *m, uint64_t pc);
int hd__mutex_destroy(pthread_mutex_t *m, uint64_t pc);
int hd__cond_init(pthread_cond_t *c, const pthread_condattr_t *a, uint64_t pc);
int hd__cond_wait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *at,
                  uint64_t pc); /* at: NULL for a wait without a limit */
int hd__cond_signal(pthread_cond_t *c, uint64_t pc);
/* Spurious wake-ups are explored from now on. Returns false when they are already, or nobody waits. */
bool hd__cond_explore(void);
int hd__cond_broadcast(pthread_cond_t *c, uint64_t pc);
int hd__cond_destroy(pthread_cond_t *c, uint64_t pc);
/* A bit for a waiter (or NULL) whose time is over, so that it could give up instead of being woken: for wake.late. */
uint64_t hd__late_waiter(const struct hd_thread *t);
int hd__once(pthread_once_t *once, void (*fn)(void), uint64_t pc);

/* Whether the running thread owns it. */
bool hd__mutex_owned(const pthread_mutex_t *m);
bool hd__mutex_free(uint64_t m);
/* Releases and reacquires the mutex around a wait for a condition. */
void hd__mutex_leave(pthread_mutex_t *m);
int hd__mutex_return(pthread_mutex_t *m, uint64_t pc);
void hd__mutex_not_owned(pthread_mutex_t *m, uint64_t pc);
/* The running thread ends: its robust mutexes become free and inconsistent. */
void hd__mutexes_abandon(void);

/* ---- streams (stream.c) ---- */

/* A function of stdio works on the stream; `writes`: nothing but output. For wrappers of such functions. */
void hd__stream_begin(FILE *f, bool writes, uint64_t pc);
void hd__stream_end(FILE *f, uint64_t pc);
/* The running thread ends in the middle of such functions. */
HD_EACH void hd__streams_abandon(void);

/* Buffers of the program's (buffers.c): what a call of stdio changes in them. pre: the caller holds the stream. */
struct hd_region;
extern unsigned hd__nbuffers; /* 0: there are none */
struct hd_region *hd__buffers_before(const FILE *f, uint64_t pc);
void hd__buffers_after(const struct hd_region *r, uint64_t pc);
/* The stream is closed, or has another buffer. */
void hd__buffers_forget(const FILE *f);

/* The running thread takes the lock as flockfile does. */
void hd__stream_lock(FILE *f, uint64_t pc);

/* ---- read-write locks and spin locks ---- */

int hd__rwlock_lock(pthread_rwlock_t *l, bool write, uint64_t pc);
int hd__spinlock_lock(pthread_spinlock_t *l, uint64_t pc);

/* ---- locks that constructors hold when main begins (constructors.c) ---- */

enum hd_constructed {
  HD_CONSTRUCTED_MUTEX,
  HD_CONSTRUCTED_READER,
  HD_CONSTRUCTED_WRITER,
  HD_CONSTRUCTED_SPIN,
  HD_CONSTRUCTED_STREAM,
};
/* libc's function has taken the lock, if the result is 0; nothing is noted but before main. Returns the result. */
int hd__constructor_takes(enum hd_constructed kind, void *lock, int result, uint64_t pc);
/* It has released it. */
int hd__constructor_gives(const void *lock, int result);
/* main is about to begin: they are released. */
void hd__constructors_over(void);
/* The first thread takes them again. pre: it has just started. */
void hd__constructors_locks(void);

/* ---- semaphores ---- */

/* Whether a thread waits for a semaphore that a child process could post. */
bool hd__sems_shared(void);
/* Enables those that wait for one that was posted; returns whether a thread can run. */
bool hd__sems_update(void);

/* ---- threads ---- */

int hd__thread_create(pthread_t *out, const pthread_attr_t *attr, void *(*fn)(void *), void *arg,
                      uint64_t pc);
int hd__thread_join(pthread_t th, void **ret, uint64_t pc);
int hd__thread_detach(pthread_t th, uint64_t pc);
/* The tested thread with that handle, NULL if there is none. */
struct hd_thread *hd__thread_find(pthread_t th);
/* The same, or the last that had the name, if it is gone. */
struct hd_thread *hd__thread_named(pthread_t th);
_Noreturn void hd__thread_exit(void *ret);
/* Runs the destructors of C++ thread_local objects. */
void hd__run_tls_dtors(struct hd_thread *t);
/* Keys of thread-specific data: the state to restore, and restoring it. */
void hd__keys_mark(void);
void hd__keys_begin(void);

/* ---- cancellation (cleanup.c) ---- */

/* The running thread is at a cancellation point that is an operation: returns if it was not cancelled before. */
void hd__test_cancel(void);
/* Whether that would cancel it. */
bool hd__cancel_due(void);
/* A handler has run in the place of its pending operation: if it was cancelled meanwhile, that comes first. */
void hd__cancel_again(void);
/* It is at one that is no operation otherwise. */
void hd__cancel_point(uint64_t pc);
/* The same in a waiting loop, which a cancellation then ends. */
void hd__cancel_idle(uint64_t pc);
/* Whether hd__cancel_point has anything to do. */
bool hd__cancel_matters(void);
/* Whether libc made the system call that the running thread is in as a cancellation point. */
bool hd__libc_cancels(void);
/* The thread, which can be cancelled at any moment, writes memory. */
void hd__cancel_write(uint64_t addr, uint64_t size, uint64_t pc);
void hd__cancel_init(void);
/* Removes the thread from the wait it is in. */
void hd__leave_wait(struct hd_thread *t);
/* hd__step where the thread may be cancelled. Returns true when it was: the caller cleans up and calls hd__cancel. */
bool hd__step_cancel(void);
_Noreturn void hd__cancel(void);
/* The same where there is nothing to clean up. */
static inline void hd__step_or_cancel(void) {
  if (HD_UNLIKELY(hd__step_cancel())) hd__cancel();
}
/* hd__point_open where the thread may be cancelled. */
void hd__point_cancel(unsigned kind, uint64_t object, uint64_t pc);

/* ---- time ---- */

/* The time that the running thread sees, in virtual nanoseconds; and reading a clock, which takes time. */
/* The entry of a database was filled in, whose texts are in the buffer b of k bytes. */
void hd__entry_filled(const void *entry, size_t n, const char *b, size_t k, char *const text[],
                      unsigned ntexts, uint64_t pc);
uint64_t hd__time(void);
uint64_t hd__read_time(void);
/* Whether the running thread sees that time or a later one. */
bool hd__past(clockid_t clock, const struct timespec *at);
/* Whether a timed wait of the running thread, at pc, may end before its time. */
bool hd__any_time(uint64_t pc);
/* Whether a timed operation does not wait: its time is over, or it may end before its time. */
bool hd__at_once(clockid_t clock, const struct timespec *at, uint64_t pc);
/* The same for a wait in a queue, which starts all the same: the thread may be woken before it gives up. */
bool hd__gives_up(clockid_t clock, const struct timespec *at, uint64_t pc);
struct hd_obj;
struct hd_until;
/* A gate, a read-write lock that orders no memory (rwlock.c). A reader passes through it, a writer holds it. Returns false
 * when the time was over. */
bool hd__gate_enter(struct hd_obj *gate, bool write, const struct hd_until *until, uint64_t pc);
void hd__gate_leave(struct hd_obj *gate, uint64_t pc);
/* The wait ends now. If it is `blocked` it ends early: the clock that the thread sees moves to its deadline. Returns
 * `blocked`. */
bool hd__early(bool blocked, clockid_t clock, const struct timespec *at);
/* A wait with a limit of that length ends early. */
void hd__early_in(uint64_t ns);
void hd__deadline_set(struct hd_thread *t, clockid_t clock, const struct timespec *at);
void hd__deadline_in(struct hd_thread *t, uint64_t ns);
void hd__deadline_clear(struct hd_thread *t);
/* The same when its time has come. */
void hd__deadline_over(struct hd_thread *t);
uint64_t hd__clock_zero(clockid_t clock); /* what the clock shows at virtual time 0 */
/* Returns what is left of it when a handler interrupted it, else 0. */
uint64_t hd__sleep(uint64_t ns, uint64_t pc);

/* ---- the end of the program (exit.c) and of std::terminate (exception.c) ---- */

/* Whether there are exit handlers or destructors to run. */
bool hd__exit_handled(void);
HD_EACH _Noreturn void hd__program_exit(int status);
_Noreturn void hd__exit_now(int status); /* as _exit */
void hd__exit_register_last(void);
/* Finds out whether leaving the program runs anything (destructors, atexit handlers). */
void hd__exit_mark(void);
void hd__exit_begin(void);
/* The program aborts. Does not return if std::terminate called abort. */
void hd__terminated(uint64_t pc);
void hd__terminate_mark(void);
void hd__terminate_begin(void);

/* ---- mapping.c ---- */

/* Whether a child made now would share memory with this process. */
bool hd__shares_memory(void);
/* Whether files, or other objects, are mapped. */
bool hd__maps_files(void);
/* Whether that file is mapped. A call reads or writes [from, to) of it. */
bool hd__is_mapped(uint64_t dev, uint64_t ino);
void hd__mapped_access(uint64_t dev, uint64_t ino, uint64_t from, uint64_t to, bool write, uint64_t pc);

/* ---- format.c ---- */

/* What a function like scanf has written when it has assigned that many. */
void hd__writes_format(const char *format, va_list ap, int assigned, uint64_t pc);

/* ---- futex.c ---- */

/* A call of futex through syscall(), from pc. */
long hd__futex(const long *a, uint64_t pc);

/* ---- openmp.c ---- */

void hd__openmp_init(void);
HD_EACH void hd__openmp_begin(void);

/* ---- the originals (real.c) ---- */

struct option;
struct aiocb;
typedef void (*hd_handler)(void); /* of std::terminate */
#define HD_REAL(ret, name, args) extern ret(*real_##name) args;
#include "runtime/wrap/real.def"
#undef HD_REAL
void hd__real_init(void);
/* The function of the program, or of what is preloaded, that takes the place of a wrapper; NULL: none. */
void *hd__real_before(const char *name);

/* stream.c: what a stream has of the state of the program (core/fingerprint.c). */
struct hd_fingerprint;
struct hd_stream;
void hd__stream_fingerprint(struct hd_fingerprint *f, const struct hd_stream *s);

#endif

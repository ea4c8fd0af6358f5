/* c11.c: threads.h of C11. Runs in the tested process. libc's types are those of POSIX under other names, so these
 * functions call the POSIX ones and convert the results. */
#include <errno.h>
#include <threads.h>

#include "runtime/core/core.h"
#include "runtime/core/objects.h"
#include "runtime/memory/memory.h"
#include "runtime/core/spin.h"
#include "runtime/wrap/access.h"
#include "runtime/wrap/wrap.h"

static int result(int e) {
  switch (e) {
    case 0: return thrd_success;
    case EBUSY: return thrd_busy;
    case ETIMEDOUT: return thrd_timedout;
    case ENOMEM: return thrd_nomem;
    default: return thrd_error;
  }
}

#define MUTEX(m) ((pthread_mutex_t *)(m))
#define COND(c) ((pthread_cond_t *)(c))

HD_EXPORT int thrd_create(thrd_t *out, thrd_start_t fn, void *arg) {
  if (!hot.active) return real_thrd_create(out, fn, arg);
  /* The int that fn returns is in the register of a pointer result; thrd_join takes its lower half. */
  return result(hd__thread_create(out, NULL, (void *(*)(void *))(uintptr_t)fn, arg, HD_CALLER));
}

HD_EXPORT int thrd_join(thrd_t th, int *out) {
  if (!hot.active) return real_thrd_join(th, out);
  void *ret = NULL;
  int e = hd__thread_join(th, &ret, HD_CALLER);
  if (!e && out) {
    hd__access_range((uint64_t)out, sizeof *out, HD_A_WRITE, HD_CALLER);
    *out = (int)(intptr_t)ret;
  }
  return result(e);
}

HD_EXPORT int thrd_detach(thrd_t th) {
  return HD_LEAVE(hot.active ? result(hd__thread_detach(th, HD_CALLER)) : real_thrd_detach(th));
}

HD_EXPORT void thrd_exit(int res) { pthread_exit((void *)(intptr_t)res); }

HD_EXPORT int thrd_sleep(const struct timespec *d, struct timespec *left) {
  if (!hot.active) return real_thrd_sleep(d, left);
  READS(d, sizeof *d);
  if (hd__bad_time(d) || d->tv_sec < 0) return -2;
  hd__sleep((uint64_t)d->tv_sec * 1000000000ull + (uint64_t)d->tv_nsec, HD_CALLER);
  return 0;
}

HD_EXPORT void thrd_yield(void) {
  if (hot.active)
    hd__point(HD_OP_YIELD, 0, 0, HD_CALLER);
  else
    real_thrd_yield();
}

/* mtx_timed says nothing: every mutex has a timed lock. */
HD_EXPORT int mtx_init(mtx_t *m, int type) {
  if (!hot.active) return real_mtx_init(m, type);
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  if (type & ~(mtx_timed | mtx_recursive)) return thrd_error;
  pthread_mutexattr_settype(&a, type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
  return result(hd__mutex_init(MUTEX(m), &a, HD_CALLER));
}

HD_EXPORT void mtx_destroy(mtx_t *m) {
  if (hot.active)
    hd__mutex_destroy(MUTEX(m), HD_CALLER);
  else
    real_mtx_destroy(m);
}

int HD_IN(mtx_lock)(mtx_t *m);
int HD_IN(mtx_lock)(mtx_t *m) {
  if (!hot.active) return hd__constructor_takes(HD_CONSTRUCTED_MUTEX, m, real_mtx_lock(m), HD_CALLER);
  uint64_t pc = HD_CALLER;
  hd__spin_lock((uint64_t)m, pc);
  return result(hd__mutex_lock(MUTEX(m), pc));
}

int HD_IN(mtx_trylock)(mtx_t *m);
int HD_IN(mtx_trylock)(mtx_t *m) {
  return HD_LEAVE(hot.active
                      ? result(hd__mutex_trylock(MUTEX(m), HD_CALLER))
                      : hd__constructor_takes(HD_CONSTRUCTED_MUTEX, m, real_mtx_trylock(m), HD_CALLER));
}

int HD_IN(mtx_timedlock)(mtx_t *restrict m, const struct timespec *restrict at);
int HD_IN(mtx_timedlock)(mtx_t *restrict m, const struct timespec *restrict at) {
  return HD_LEAVE(hot.active
                      ? result(hd__mutex_lock_until(MUTEX(m), CLOCK_REALTIME, at, HD_CALLER))
                      : hd__constructor_takes(HD_CONSTRUCTED_MUTEX, m, real_mtx_timedlock(m, at), HD_CALLER));
}

HD_EXPORT int mtx_unlock(mtx_t *m) {
  return HD_LEAVE(hot.active ? result(hd__mutex_unlock(MUTEX(m), HD_CALLER))
                             : hd__constructor_gives(m, real_mtx_unlock(m)));
}

HD_EXPORT int cnd_init(cnd_t *c) {
  return HD_LEAVE(hot.active ? result(hd__cond_init(COND(c), NULL, HD_CALLER)) : real_cnd_init(c));
}

HD_EXPORT void cnd_destroy(cnd_t *c) {
  if (hot.active)
    hd__cond_destroy(COND(c), HD_CALLER);
  else
    real_cnd_destroy(c);
}

HD_EXPORT int cnd_wait(cnd_t *c, mtx_t *m) {
  return HD_LEAVE(hot.active ? result(hd__cond_wait(COND(c), MUTEX(m), 0, NULL, HD_CALLER))
                             : real_cnd_wait(c, m));
}

HD_EXPORT int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m, const struct timespec *restrict at) {
  return HD_LEAVE(hot.active ? result(hd__cond_wait(COND(c), MUTEX(m), CLOCK_REALTIME, at, HD_CALLER))
                             : real_cnd_timedwait(c, m, at));
}

HD_EXPORT int cnd_signal(cnd_t *c) {
  return HD_LEAVE(hot.active ? result(hd__cond_signal(COND(c), HD_CALLER)) : real_cnd_signal(c));
}

HD_EXPORT int cnd_broadcast(cnd_t *c) {
  return HD_LEAVE(hot.active ? result(hd__cond_broadcast(COND(c), HD_CALLER)) : real_cnd_broadcast(c));
}

HD_EXPORT void call_once(once_flag *once, void (*fn)(void)) {
  if (hot.active)
    hd__once((pthread_once_t *)once, fn, HD_CALLER);
  else
    real_call_once(once, fn);
}

/* pthread_key_create registers the destructor with the runtime, which runs it when a thread ends. */
HD_EXPORT int tss_create(tss_t *key, tss_dtor_t dtor) { return result(pthread_key_create(key, dtor)); }
HD_EXPORT void tss_delete(tss_t key) { pthread_key_delete(key); }

HD_EXPORT void *tss_get(tss_t key) { return pthread_getspecific(key); }
HD_EXPORT int tss_set(tss_t key, void *value) { return result(pthread_setspecific(key, value)); }

/* thread.c: creating, joining, detaching and ending threads; thread-specific data. Runs in the tested process.
 * pthread_equal, errno and thread-local variables need no wrapper: a tested thread has the thread pointer of a real one. */
#include <errno.h>
#include <limits.h>

#include "runtime/core/checkpoint.h"
#include "runtime/core/core.h"
#include "runtime/core/family.h"
#include "runtime/core/finding.h"
#include "runtime/core/ident.h"
#include "runtime/core/modules.h"
#include "runtime/core/objects.h"
#include "runtime/kernel/kernel.h"
#include "runtime/core/record.h"
#include "runtime/core/spin.h"
#include "runtime/core/state.h"
#include "runtime/memory/memory.h"
#include "runtime/symbolic/symbolic.h"
#include "runtime/wrap/access.h"
#include "runtime/wrap/wrap.h"

/* ---- what must run when a thread ends ---- */

struct hd_tls_dtor {
  void (*fn)(void *);
  void *obj;
  struct hd_tls_dtor *next;
};

static void (*key_dtor[PTHREAD_KEYS_MAX])(void *); /* restored by hd__keys_begin */
static void (*key_dtor_mark[PTHREAD_KEYS_MAX])(void *);
static unsigned nkeys, nkeys_mark;

void hd__keys_mark(void) {
  hd__copy(key_dtor_mark, key_dtor, sizeof key_dtor);
  nkeys_mark = nkeys;
}

void hd__keys_begin(void) {
  if (nkeys == nkeys_mark) return;
  hd__copy(key_dtor, key_dtor_mark, sizeof key_dtor);
  nkeys = nkeys_mark;
}

/* All keys are one piece of state: which number a new one gets depends on the others. */
HD_EXPORT int pthread_key_create(pthread_key_t *key, void (*dtor)(void *)) {
  if (hot.active) {
    hd__access_range((uint64_t)key, sizeof *key, HD_A_WRITE, HD_CALLER);
    hd__change(HD_STATE_KEY, 0, HD_CALLER);
  }
  int e = real_pthread_key_create(key, dtor);
  if (!e && *key < PTHREAD_KEYS_MAX) {
    key_dtor[*key] = dtor;
    nkeys += dtor != NULL;
  }
  return e;
}

HD_EXPORT int pthread_key_delete(pthread_key_t key) {
  hd__change(HD_STATE_KEY, 0, HD_CALLER);
  if (key < PTHREAD_KEYS_MAX) key_dtor[key] = NULL;
  return real_pthread_key_delete(key);
}

HD_EXPORT void *pthread_getspecific(pthread_key_t key) {
  hd__lookup(HD_STATE_KEY, 0, HD_CALLER);
  return real_pthread_getspecific(key);
}

HD_EXPORT int pthread_setspecific(pthread_key_t key, const void *value) {
  hd__lookup(HD_STATE_KEY, 0, HD_CALLER);
  return real_pthread_setspecific(key, value);
}

/* C++ thread_local objects: libstdc++ registers their destructors here. */
HD_EXPORT int __cxa_thread_atexit_impl(void (*fn)(void *), void *obj, void *dso);
int __cxa_thread_atexit_impl(void (*fn)(void *), void *obj, void *dso) {
  if (!hot.active) return real___cxa_thread_atexit_impl(fn, obj, dso);
  struct hd_tls_dtor *d = hd_arena_get(&rt.arena, sizeof *d);
  HD_BUG_ON(!d);
  *d = (struct hd_tls_dtor){fn, obj, rt.cur->exit.tls_dtors};
  rt.cur->exit.tls_dtors = d;
  return 0;
}

void hd__run_tls_dtors(struct hd_thread *t) {
  while (t->exit.tls_dtors) {
    struct hd_tls_dtor *d = t->exit.tls_dtors;
    t->exit.tls_dtors = d->next;
    d->fn(d->obj);
  }
}

static void run_thread_dtors(struct hd_thread *t) {
  hd__run_tls_dtors(t);
  if (nkeys) hd__lookup(HD_STATE_KEY, 0, 0);
  for (int round = 0; nkeys && round < PTHREAD_DESTRUCTOR_ITERATIONS; round++) {
    bool any = false;
    for (unsigned k = 0; k < PTHREAD_KEYS_MAX; k++) {
      void *v;
      if (key_dtor[k] && (v = real_pthread_getspecific(k))) {
        real_pthread_setspecific(k, NULL);
        any = true;
        key_dtor[k](v);
      }
    }
    if (!any) break;
  }
}

/* ---- the life of a thread ---- */

_Noreturn void hd__thread_exit(void *ret) {
  struct hd_thread *t = rt.cur;
  t->exit.value = ret;
  if (t->id != 0 || !t->exit.begun) run_thread_dtors(t);
  t->exit.begun = true;
  hot.call = t->calls;
  hd__mutexes_abandon();
  hd__streams_abandon();
  t->section = 0;
  hd__section_leave();
  hd__alter(HD_STATE_THREADS, 0, 0);
  t->list.left = t->id != 0; /* the first one stays until the process ends */
  hd__point_open(HD_OP_EXIT, t->id, 0, 0);
  t->op.exit.decides = (t->id == 0 || rt.thread[0].state == HD_T_DONE) && hd__exit_handled();
  hd__event(0);
  if (rt.nalive == 1 && rt.callback) hd__exit_now(0);
  if (rt.nalive == 1) hd__program_exit(0); /* the last thread ends the process */
  hd__thread_gone();
}

/* First code of every thread but the first. */
static void hd_rt_thread(void *arg) {
  struct hd_thread *t = arg;
  hd__debug_look();
  hd__event(0);
  void *ret = t->start.fn(t->start.arg);
  if (hd__symbolic_active()) t->symbolic.result = hd__symbolic_take_result((uint64_t)ret, 0);
  hd__thread_exit(ret);
}

static size_t default_stack(void) {
  static size_t size;
  if (!size) {
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_getstacksize(&a, &size);
  }
  return size;
}

int hd__thread_create(pthread_t *out, const pthread_attr_t *attr, void *(*fn)(void *), void *arg,
                      uint64_t pc) {
  if (HD_UNLIKELY(rt.prefix)) hd__prefix_end();
  struct hd_thread *me = rt.cur;
  void *user_stack = NULL;
  size_t size = 0;
  int detached = PTHREAD_CREATE_JOINABLE;
  if (attr) {
    hd__access_range((uint64_t)attr, sizeof *attr, 0, pc);
    void *lo = NULL;
    pthread_attr_getdetachstate(attr, &detached);
    pthread_attr_getstacksize(attr, &size);
    size_t n = 0;
    /* Without a stack of the user's, "lo" is computed from nothing: a small negative number. */
    if (pthread_attr_getstack(attr, &lo, &n) == 0 && (int64_t)lo > 0) user_stack = (char *)lo + n;
    size = user_stack || size == default_stack() ? 0 : size;
  }
  hd__access_range((uint64_t)out, sizeof *out, HD_A_WRITE, pc); /* before the new thread can look */
  hd__alter(HD_STATE_THREADS, 0, pc);
  hd__take_signals();
  unsigned nth = ++me->children, number = hd__thread_number(me, nth);
  bool numbered = number != 0;
  me->list.adds = numbered ? (uint16_t)number : HD_MAX_THREADS;
  me->op = (struct hd_op){
      .kind = HD_OP_CREATE, .thread = me->id, .object = number, .pc = pc, .spawn.ordered = !numbered};
  hd__step();
  if (!numbered) me->op.object = number = hd__thread_number_now(me);
  if (HD_UNLIKELY(rt.search.alike != NULL) && number != HD_MAX_THREADS)
    hd__family_add(number, nth, numbered && !user_stack && !hd__foreign_start((uint64_t)fn, arg), fn, arg,
                   size << 1 | (detached == PTHREAD_CREATE_DETACHED));
  hd__event(0);
  if (number == HD_MAX_THREADS)
    hd__fail(HD_RTE_ENVIRONMENT, pc,
             "more than 1024 threads are alive, detached or not joined: make the test smaller");
  struct hd_ident *id = hd__ident_take(me, size, number, numbered, &rt.grow_stack);
  if (!id && rt.config->mode == HD_MODE_RUN) {
    id = hd__ident_more(me, size, number, numbered);
    if (!id) hd__fail(HD_RTE_ENVIRONMENT, pc, "the system has no memory for the stack of another thread");
  }
  if (!id) hd__end(HD_RUN_GROW);
  hd__threads_begin();
  hd__finding_creates();
  struct hd_thread *t = hd__thread_new(me, number, nth, numbered);
  me->list.adds = 0;
  hd__new_segment(me); /* what the creator does next is not ordered before the new thread */
  t->ident = id;
  id->thread = t;
  t->start.fn = fn;
  t->start.arg = arg;
  t->foreign = hd__foreign_start((uint64_t)fn, arg);
  t->start.tp = id->tp;
  t->stack_limit = user_stack ? 0 : id->limit;
  t->join.detached = detached == PTHREAD_CREATE_DETACHED;
  t->start.site = hd__site_here(pc);
  hd_arch_prepare(&t->ctx, user_stack ? user_stack : id->first_frame, id->tp, hd_rt_thread, t);
  *out = (pthread_t)id->tp;
  return 0;
}

HD_EXPORT int pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*fn)(void *), void *arg) {
  if (hot.active) return HD_LEAVE(hd__thread_create(out, attr, fn, arg, HD_CALLER));
  if (rt.ctl && !rt.child && !hd__private_depth)
    hd__fail(HD_RTE_UNSUPPORTED, 0, "pthread_create before main (in a constructor) is not supported");
  return real_pthread_create(out, attr, fn, arg);
}

HD_EXPORT pthread_t pthread_self(void) {
  if (hot.active) hd__family_name();
  return (pthread_t)hd_arch_self();
}

struct hd_thread *hd__thread_find(pthread_t th) {
  if ((uint64_t)th == rt.main_tp) return &rt.thread[0];
  return hd__ident_thread((uint64_t)th);
}

struct hd_thread *hd__thread_named(pthread_t th) {
  struct hd_thread *t = hd__thread_find(th);
  for (unsigned i = rt.nthreads; !t && i-- > 1;)
    if (rt.thread[i].start.tp == (uint64_t)th) t = &rt.thread[i];
  return t;
}

/* The thread has ended, and the running one has joined it. */
static void joined(struct hd_thread *t, void **ret, uint64_t pc) {
  t->join.done = true;
  t->join.by = rt.cur->id;
  t->join.segment = rt.seg_next;
  rt.nunjoined--;
  rt.cur->sig.sent |= t->sig.sent;
  hd__acquire(&t->vc);
  void *value = t->exit.value;
  uint32_t result = t->symbolic.result;
  hd__ident_leave(t, rt.cur);
  hd__thread_forget(t);
  if (HD_UNLIKELY(rt.search.alike != NULL)) hd__family_joined(t, ret ? &value : NULL);
  if (!ret) return;
  hd__access_range((uint64_t)ret, sizeof *ret, HD_A_WRITE, pc);
  *ret = value;
  if (hd__symbolic_active()) hd__bytes_store((uint64_t)ret, sizeof *ret, result);
}

/* Who joins or detaches a thread first is an operation where it matters: once some execution has joined or detached one
 * a second time. What such a call returns depends on the order. */
static bool claim(void) {
  if (HD_LIKELY(!hd__state_changes(HD_STATE_CLAIM))) return false;
  hd__change(HD_STATE_CLAIM, 0, 0);
  return true;
}

/* It is no longer the first. */
static int claimed(int e) {
  hd__change(HD_STATE_CLAIM, 0, 0);
  return e;
}

/* Why th cannot be joined, or 0. As in libc, two threads that join each other at the same time may both get through. */
static int bad_join(pthread_t th, struct hd_thread **t) {
  struct hd_thread *me = rt.cur;
  bool matters = claim();
  *t = hd__thread_find(th);
  if (!*t || (*t)->join.done) return claimed(ESRCH);
  if (*t == me) return EDEADLK;
  if ((*t)->join.detached) return claimed(EINVAL);
  if (me->join.waiter == *t && !hd__cancel_word[(*t)->id]) return claimed(EDEADLK);
  if (matters && claim()) *t = hd__thread_find(th);
  return !*t || (*t)->join.done ? claimed(ESRCH) : (*t)->join.waiter ? claimed(EINVAL) : 0;
}

/* Returns whether a handler ran in the place of the join. */
static bool join_step(struct hd_thread *t) {
  bool cancelled = hd__step_cancel(), again = !cancelled && hd__interrupted();
  if (cancelled || (again && hd__cancel_due())) {
    t->join.waiter = NULL;
    hd__cancel();
  }
  return again;
}

int hd__thread_join(pthread_t th, void **ret, uint64_t pc) {
  struct hd_thread *t, *me = rt.cur;
  hd__take_signals();
  hd__test_cancel();
  int e = bad_join(th, &t);
  if (e) return e;
  me->op = (struct hd_op){.kind = HD_OP_JOIN, .thread = me->id, .object = t->id, .pc = pc};
  t->join.waiter = me;
  do {
    if (t->state != HD_T_DONE) hd__disable(me);
  } while (join_step(t));
  hd__event(0);
  t->join.waiter = NULL;
  joined(t, ret, pc);
  return 0;
}

static int join_at_once(pthread_t th, void **ret, uint64_t pc) {
  struct hd_thread *t;
  int e = bad_join(th, &t);
  if (e) return e;
  hd__spin_poll(HD_POLLS_ENDS, true, pc);
  hd__point_open(HD_OP_TRYJOIN, t->id, 0, pc);
  bool gone = hd__thread_find(th) != t, busy = t->state != HD_T_DONE;
  hd__event(gone || busy ? HD_EV_FAILED : 0);
  if (gone) return claimed(ESRCH); /* another thread came first */
  if (busy) hd__spin_polled(HD_POLLS_ENDS, true);
  if (busy) return EBUSY;
  joined(t, ret, pc);
  return 0;
}

static int join_until(pthread_t th, void **ret, clockid_t clock, const struct timespec *at, uint64_t pc) {
  struct hd_thread *t, *me = rt.cur;
  if (!at) return hd__thread_join(th, ret, pc);
  hd__reads(at, sizeof *at, pc);
  struct timespec limit = *at;
  at = &limit;
  hd__take_signals();
  hd__test_cancel();
  int e = hd__bad_time(at) ? EINVAL : bad_join(th, &t);
  if (e) return e;
  bool late;
  if (hd__at_once(clock, at, pc)) {
    hd__point_cancel(HD_OP_TRYJOIN, t->id, pc);
    late = hd__early(t->state != HD_T_DONE, clock, at);
  } else {
    me->op = (struct hd_op){.kind = HD_OP_TIMEDJOIN, .thread = me->id, .object = t->id, .pc = pc};
    t->join.waiter = me;
    do {
      hd__deadline_set(me, clock, at);
      if (t->state != HD_T_DONE) hd__disable(me);
    } while (join_step(t));
    hd__deadline_clear(me);
    late = me->timer.expired && t->state != HD_T_DONE;
    me->timer.expired = false;
    t->join.waiter = NULL;
  }
  hd__event(late ? HD_EV_FAILED : 0);
  if (late) return ETIMEDOUT;
  joined(t, ret, pc);
  return 0;
}

/* Why th cannot be detached, or 0. */
static int bad_detach(pthread_t th, struct hd_thread **t) {
  *t = hd__thread_find(th);
  if (!*t || (*t)->join.done) return claimed(ESRCH);
  return (*t)->join.detached ? claimed(EINVAL) : 0;
}

int hd__thread_detach(pthread_t th, uint64_t pc) {
  struct hd_thread *t;
  claim();
  int e = bad_detach(th, &t);
  if (e) return e;
  if (t->join.waiter) return claimed(0);
  hd__point(HD_OP_DETACH, t->id, 0, pc);
  e = bad_detach(th, &t); /* others may have come first */
  if (e) return e;
  if (t->join.waiter) return claimed(0);
  t->join.detached = true;
  if (t->state != HD_T_DONE) return 0;
  hd__ident_release(t);
  hd__thread_forget(t);
  return 0;
}

HD_EXPORT int pthread_join(pthread_t th, void **ret) {
  return HD_LEAVE(hot.active ? hd__thread_join(th, ret, HD_CALLER) : real_pthread_join(th, ret));
}

int HD_IN(pthread_tryjoin_np)(pthread_t th, void **ret);
int HD_IN(pthread_tryjoin_np)(pthread_t th, void **ret) {
  return HD_LEAVE(hot.active ? join_at_once(th, ret, HD_CALLER) : real_pthread_tryjoin_np(th, ret));
}

HD_EXPORT int pthread_timedjoin_np(pthread_t th, void **ret, const struct timespec *at) {
  return HD_LEAVE(hot.active ? join_until(th, ret, CLOCK_REALTIME, at, HD_CALLER)
                             : real_pthread_timedjoin_np(th, ret, at));
}

HD_EXPORT int pthread_clockjoin_np(pthread_t th, void **ret, clockid_t clock, const struct timespec *at) {
  return HD_LEAVE(hot.active ? join_until(th, ret, clock, at, HD_CALLER)
                             : real_pthread_clockjoin_np(th, ret, clock, at));
}

HD_EXPORT int pthread_detach(pthread_t th) {
  return HD_LEAVE(hot.active ? hd__thread_detach(th, HD_CALLER) : real_pthread_detach(th));
}

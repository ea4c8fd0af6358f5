/* counts.c: atomic operations inside libstdc++, on reference counts and states that threads share. Runs in the tested process.
 *
 * The library's own code has no hooks. What such an operation orders would be missing (a race between the last owner, who
 * frees, and an earlier one), and so would the operation itself. Two families of functions have them:
 *
 *  - Exceptions: an exception that several threads handle (std::exception_ptr, std::shared_future) has a count of its owners.
 *    Who gives up his share, at the end of a catch clause or with an exception_ptr, performs a read-modify-write on it.
 *  - Futures that are made ready when a thread ends (set_value_at_thread_exit, packaged_task::make_ready_at_thread_exit).
 *    std::promise registers an entry, which the library runs as a destructor of a thread-specific key: it stores the state,
 *    wakes those who wait, and gives up its shares. Here these are the operations that the headers have elsewhere.
 *
 * The layouts are those of libstdc++ for 64 bits, and of the Itanium C++ ABI. */
#include <dlfcn.h>

#include "runtime/core/core.h"
#include "runtime/memory/atomic.h"
#include "runtime/wrap/wrap.h"

/* ---- exceptions ---- */

#define TO_COUNT 0x80              /* before the object thrown: the number of its owners, */
#define TO_HEADER 0x70             /* its header, */
#define HANDLERS 0x28              /* in which the number of handlers that it is in is here, */
#define CLASS 0x50                 /* and the class of exceptions */
#define NATIVE 0x474e5543432b2bull /* "GNUCC++", and in the last byte: */
#define DEPENDENT 1                /* thrown again by another thread; the header begins with the object */

static void give_up(char *object, uint64_t pc) {
  hd__atomic_rmw((uint64_t)(object - TO_COUNT), 4, __ATOMIC_ACQ_REL, pc);
}

HD_EXPORT void hd_rt_exception_release(void **exception);
HD_STANDS_FOR(hd_rt_exception_release, "_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv@CXXABI_1.3.13");
void hd_rt_exception_release(void **exception) {
  hd__real_init();
  if (hot.active && *exception) give_up(*exception, HD_CALLER);
  real__ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(exception);
}

/* The exception that the thread's innermost handler is about to leave for good, or NULL. */
static char *left(void) {
  char **caught = real___cxa_get_globals ? real___cxa_get_globals() : NULL;
  char *header = caught ? *caught : NULL;
  if (!header || *(int *)(header + HANDLERS) != 1) return NULL;
  uint64_t class = *(uint64_t *)(header + CLASS);
  if (class >> 8 != NATIVE) return NULL;
  return (class & 0xff) == DEPENDENT ? *(char **)header : header + TO_HEADER;
}

HD_EXPORT void hd_rt_end_catch(void);
HD_STANDS_FOR(hd_rt_end_catch, "__cxa_end_catch@CXXABI_1.3");
void hd_rt_end_catch(void) {
  hd__real_init();
  char *object = hot.active ? left() : NULL;
  if (object) give_up(object, HD_CALLER);
  real___cxa_end_catch();
}

/* ---- futures ---- */

struct counted { /* std::_Sp_counted_base */
  void (**function)(struct counted *c);
  int used, weak;
};
enum { DISPOSE = 2, DESTROY = 3 }; /* its functions */

struct state { /* std::__future_base::_State_baseV2 */
  void *function, *result;
  uint32_t status;
};
#define READY 1u
#define AWAITED 0x80000000u

struct make_ready { /* _Make_ready */
  struct make_ready *next;
  void (*run)(void *);
  struct state *state;
  struct counted *owners;
};

static void (*library_run)(void *); /* what the library would run */

static int add(int *count, int n, uint64_t pc) {
  hd__atomic_rmw((uint64_t)count, sizeof *count, __ATOMIC_ACQ_REL, pc);
  return __atomic_fetch_add(count, n, __ATOMIC_SEQ_CST);
}

/* Makes a weak reference a strong one, unless nobody has one any more. */
static bool lock(struct counted *c, uint64_t pc) {
  hd__atomic_load((uint64_t)&c->used, sizeof c->used, __ATOMIC_RELAXED, pc);
  int n = __atomic_load_n(&c->used, __ATOMIC_SEQ_CST);
  while (n) {
    hd__atomic_cas((uint64_t)&c->used, sizeof c->used, &n, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, pc);
    if (__atomic_compare_exchange_n(&c->used, &n, n + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      return true;
  }
  return false;
}

static void drop_weak(struct counted *c, uint64_t pc) {
  if (add(&c->weak, -1, pc) == 1) c->function[DESTROY](c);
}

static void drop(struct counted *c, uint64_t pc) {
  if (add(&c->used, -1, pc) != 1) return;
  c->function[DISPOSE](c);
  drop_weak(c, pc);
}

/* The thread ends. */
static void hd_rt_make_ready(void *arg) {
  struct make_ready *e = arg;
  uint64_t pc = HD_CALLER;
  struct counted *owners = hot.active ? e->owners : NULL;
  if (owners) {
    if (lock(owners, pc)) {
      uint32_t *status = &e->state->status;
      hd__atomic_exchange((uint64_t)status, sizeof *status, __ATOMIC_RELEASE, pc);
      uint32_t before = __atomic_exchange_n(status, READY, __ATOMIC_SEQ_CST);
      hd__atomic_exchanged((uint64_t)status, sizeof *status, before == READY);
      if (before & AWAITED) real__ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj(status);
      drop(owners, pc);
    }
    e->state = NULL;
    e->owners = NULL;
    drop_weak(owners, pc);
  }
  library_run(e); /* frees it */
}

HD_EXPORT void hd_rt_ready_at_exit(struct make_ready *e);
HD_STANDS_FOR(hd_rt_ready_at_exit,
              "_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv@GLIBCXX_3.4.21");
void hd_rt_ready_at_exit(struct make_ready *e) {
  hd__real_init();
  real__ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv(e);
  if (!hot.active) return;
  library_run = e->run;
  e->run = hd_rt_make_ready;
}

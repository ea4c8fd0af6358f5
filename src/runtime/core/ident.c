/* ident.c: borrowed thread identities. Runs in the tested process.
 *
 * For each tested thread there is a real thread that waits forever. The tested thread runs on the main kernel
 * thread, but on the stack of the real one and with its thread pointer, so thread-local variables, errno,
 * pthread_self() and the stack bounds are the real ones. An identity is reused after its thread has ended; its
 * thread-local storage and control block are then restored from a copy made when it was new. Between executions
 * snapshot.c restores them: they lie on pages of their own (above stack_top), which few threads ever write to.
 *
 * Invariant: which identity a thread gets depends on what happened before its creation, not on what other threads do at the
 * same time. Each number has an identity of its own, in the pool of each stack size; but first a thread gives away
 * those that were left to it by threads that it joined. Threads without such a number, whose creations are in order,
 * share another pool; only the end of a detached thread may come before or after one of them, which is a reason of its
 * own (thread-numbers). */
#include <dlfcn.h>
#include <errno.h>
#include <linux/rseq.h>
#include <stddef.h>

#include "runtime/core/core.h"
#include "runtime/core/ident.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

#define MAX_IDENTS 2048
#define COLOUR 320           /* bytes */
#define COLOURS 12           /* as many as begin within a page */
#define HOOK_ROOM (8u << 10) /* our hooks run on the thread's stack too; they need less than half of this */

static struct hd_ident ident[MAX_IDENTS];
static unsigned nidents;
static const ptrdiff_t *rseq_offset; /* of libc, if it defines them */
static const unsigned *rseq_size;
#define RSEQ_SIGNATURE 0x53053053
static struct hd_ident *by_tp[1024];

static void find_rseq(void) {
  if (rseq_offset) return;
  rseq_offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
  rseq_size = dlsym(RTLD_DEFAULT, "__rseq_size");
}

/* The kernel writes into the control block of a thread that returns to user mode (restartable sequences), and kills
 * the process when it cannot. A parked thread never returns, but may still be on its way into its sleep. Returns
 * whether the kernel writes nothing from now on. */
static bool leave_rseq(void) {
  const ptrdiff_t *offset = rseq_offset;
  const unsigned sizes[] = {32, rseq_size ? *rseq_size : 0};
  if (!offset || !rseq_size || !*rseq_size) return true;
  int cpu = *(int *)((char *)pthread_self() + *offset + offsetof(struct rseq, cpu_id));
  if (cpu < 0) return true; /* libc registers none for a thread whose creator has none */
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (hd_sys4(SYS_rseq, (char *)pthread_self() + *offset, sizes[i], 1 /* RSEQ_FLAG_UNREGISTER */,
                RSEQ_SIGNATURE) == 0)
      return true;
  return false;
}

/* Body of the real thread. It never again touches what it leaves on its stack above stack_top. */
static _Noreturn void *park(void *arg) {
  struct hd_ident *id = arg;
  pthread_attr_t a;
  void *lo = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &a) == 0) {
    pthread_attr_getstack(&a, &lo, &size);
    pthread_attr_getguardsize(&a, &id->guard);
    pthread_attr_destroy(&a);
  }
  id->stack_lo = lo;
  id->stack_hi = (char *)lo + size;
  id->frame = (char *)((uint64_t)__builtin_frame_address(0) & ~63ull);
  id->stack_top =
      (char *)((uint64_t)(id->frame - 1024) & ~(HD_PAGE - 1)); /* this function's frame lies between */
  /* The frames of threads that do the same must not compete for the same lines of the cache. */
  id->first_frame = id->stack_top - (id - ident) % COLOURS * COLOUR;
  id->quiet = leave_rseq();
  hd_arch_park(&id->tp, (uint64_t)pthread_self());
}

static struct hd_ident **bucket(uint64_t tp) { return &by_tp[hd_mix64(tp) % (sizeof by_tp / sizeof *by_tp)]; }

static int make(uint64_t pool) {
  size_t stack_size = pool & ~HD_IDENT_ANY;
  if (nidents == MAX_IDENTS) return -1;
  find_rseq();
  struct hd_ident *id = &ident[nidents];
  pthread_attr_t a;
  sigset_t all, old;
  pthread_t th;
  int e;
  hd__private_depth++;
  pthread_attr_init(&a);
  if (stack_size) pthread_attr_setstacksize(&a, stack_size + HOOK_ROOM + 2 * HD_PAGE);
  for (unsigned i = 0; i < sizeof all; i++) ((unsigned char *)&all)[i] = 0xff;
  pthread_sigmask(SIG_SETMASK, &all, &old);
  e = real_pthread_create(&th, &a, park, id);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  pthread_attr_destroy(&a);
  while (!e && !__atomic_load_n(&id->tp, __ATOMIC_ACQUIRE)) /* until then the new thread allocates too */
    hd_sys6(SYS_futex, (long)&id->tp, 0 /* FUTEX_WAIT */, 0, 0, 0, 0);
  hd__private_depth--;
  if (e) return -1;
  if (!id->stack_lo) return -1;
  id->pool = pool;
  id->home = pool & HD_IDENT_ANY ? 0 : hd__ident_count(pool) + 1;
  id->limit = stack_size ? (uint64_t)id->stack_lo + HOOK_ROOM : 0;
  size_t n = (size_t)(id->stack_hi - id->frame);
  id->image = hd__private_alloc(n, 64);
  if (!id->image) return -1;
  hd__copy(id->image, id->frame, n);
  uint64_t *dtv = ((uint64_t **)id->tp)[1];
  id->dtv_words = (dtv[-2] + 2) * 2;
  id->dtv = hd__private_alloc(id->dtv_words * sizeof *dtv, 64);
  if (!id->dtv) return -1;
  hd__copy(id->dtv, dtv - 2, id->dtv_words * sizeof *dtv);
  struct hd_ident **first = bucket(id->tp);
  id->alike = *first;
  *first = id;
  nidents++;
  return 0;
}

void hd__ident_reset(void) {
  for (unsigned i = 0; i < nidents; i++) {
    ident[i].thread = NULL;
    ident[i].taken = ident[i].used = false;
  }
}

int hd__ident_grow(uint64_t pool, unsigned n) {
  while (n--)
    if (make(pool)) {
      hd__ident_reset();
      return -1;
    }
  hd__ident_reset();
  return 0;
}

unsigned hd__ident_count(uint64_t pool) {
  unsigned n = 0;
  for (unsigned i = 0; i < nidents; i++) n += ident[i].pool == pool;
  return n;
}

/* From those that were left to the thread. */
static struct hd_ident *take_spare(struct hd_thread *t, size_t stack_size) {
  for (struct hd_ident **p = &t->spare; *p; p = &(*p)->next)
    if (((*p)->pool & ~HD_IDENT_ANY) == stack_size) {
      struct hd_ident *id = *p;
      *p = id->next;
      t->spare_last = NULL;
      return id;
    }
  return NULL;
}

static struct hd_ident *take_home(uint64_t pool, unsigned number) {
  if (!pool && number <= nidents && ident[number - 1].home == number && !ident[number - 1].pool)
    return &ident[number - 1]; /* mostly */
  for (unsigned i = 0; i < nidents; i++)
    if (ident[i].home == number && ident[i].pool == pool) return &ident[i];
  return NULL;
}

static struct hd_ident *take_any(uint64_t pool) {
  for (unsigned i = 0; i < nidents; i++)
    if (ident[i].pool == pool && !ident[i].taken) return &ident[i];
  return NULL;
}

struct hd_ident *hd__ident_take(struct hd_thread *parent, size_t stack_size, unsigned number, bool numbered,
                                uint64_t *pool) {
  *pool = stack_size | (numbered ? 0 : HD_IDENT_ANY);
  struct hd_ident *id = take_spare(parent, stack_size);
  if (!id) id = numbered ? take_home(*pool, number) : take_any(*pool);
  if (!id) return NULL;
  if (id->used) { /* the next thread must not see what the last one left on its stack and in its thread-local storage */
    hd__copy(id->frame, id->image, (size_t)(id->stack_hi - id->frame));
    hd__shadow_forget_large((uint64_t)id->stack_lo, (uint64_t)(id->stack_hi - id->stack_lo));
  }
  id->taken = id->used = true;
  hd__copy(((uint64_t **)id->tp)[1] - 2, id->dtv, id->dtv_words * sizeof *id->dtv);
  return id;
}

/* libc makes the real thread as if the first one had called it, with system calls that are not the program's. */
struct hd_ident *hd__ident_more(struct hd_thread *parent, size_t stack_size, unsigned number, bool numbered) {
  uint64_t pool, tp = hd_arch_tp();
  struct hd_ident *id = NULL;
  int active = hot.active, selector = hot.selector;
  for (bool made = true; !id && made;) {
    id = hd__ident_take(parent, stack_size, number, numbered, &pool);
    if (id) break;
    hot.active = hot.selector = 0;
    hd_arch_set_tp(rt.main_tp);
    made = make(pool) == 0;
    hd_arch_set_tp(tp);
    hot.active = active;
    hot.selector = selector;
  }
  return id;
}

/* Lists are in the order of creation: a thread that starts another round of threads gives them the same identities. */
static void leave(struct hd_ident *id, struct hd_thread *to) {
  struct hd_ident **p = to->spare_last && to->spare_last < id ? &to->spare_last->next : &to->spare;
  while (*p && *p < id) p = &(*p)->next;
  id->thread = NULL;
  id->next = *p;
  *p = id;
  if (!id->next) to->spare_last = id;
}

void hd__ident_leave(struct hd_thread *t, struct hd_thread *to) {
  if (t->ident) leave(t->ident, to);
  for (struct hd_ident *id = t->spare, *next; id; id = next) {
    next = id->next;
    leave(id, to);
  }
}

void hd__ident_release(struct hd_thread *t) {
  if (t->ident) t->ident->taken = false, t->ident->thread = NULL;
  for (struct hd_ident *id = t->spare; id; id = id->next) id->taken = false;
}

struct hd_thread *hd__ident_thread(uint64_t tp) {
  for (struct hd_ident *id = *bucket(tp); id; id = id->alike)
    if (id->tp == tp) return id->thread;
  return NULL;
}

void hd__ident_touch(void) {
  static bool first_left, first_quiet; /* the first thread, which has an identity of its own */
  find_rseq();
  if (!first_left) first_quiet = leave_rseq();
  first_left = true;
  if (!first_quiet) hd__snapshot_touch(rt.main_tp, HD_PAGE);
  for (unsigned i = 0; i < nidents; i++)
    if (!ident[i].quiet)
      hd__snapshot_touch((uint64_t)ident[i].stack_top, (uint64_t)(ident[i].stack_hi - ident[i].stack_top));
}

void hd__ident_each_block(void (*f)(char *lo, char *hi)) {
  for (unsigned i = 0; i < nidents; i++) f(ident[i].stack_top, ident[i].stack_hi);
}

void hd__ident_each_stack(void (*f)(char *lo, char *hi, unsigned number)) {
  for (unsigned i = 0; i < nidents; i++) f(ident[i].stack_lo, ident[i].stack_hi, i);
}

uint64_t hd__ident_end(uint64_t addr) {
  for (unsigned i = 0; i < nidents; i++)
    if (addr >= (uint64_t)ident[i].stack_lo - ident[i].guard && addr < (uint64_t)ident[i].stack_hi)
      return (uint64_t)ident[i].stack_hi;
  return 0;
}

struct hd_thread *hd__ident_user(uint64_t addr) {
  for (unsigned i = 0; i < nidents; i++)
    if (addr >= (uint64_t)ident[i].stack_lo && addr < (uint64_t)ident[i].stack_hi)
      return ident[i].thread && ident[i].thread->state != HD_T_DONE ? ident[i].thread : NULL;
  return NULL;
}

void hd__rseq_area(uint64_t *lo, uint64_t *hi) {
  *lo = rt.main_tp + (uint64_t)(rseq_offset ? *rseq_offset : 0);
  *hi = *lo + (rseq_offset ? 32 : 0);
}

/* ident.c: borrowed thread identities. Runs in the tested process.
 *
 * For each tested thread there is a real thread that waits forever. The tested thread runs on the main kernel
 * thread, but on the stack of the real one and with its thread pointer, so thread-local variables, errno,
 * pthread_self() and the stack bounds are the real ones. An identity is reused after its thread has ended; its
 * thread-local storage and control block are then restored from a copy made when it was new. Between executions
 * snapshot.c restores them: they lie on pages of their own (above stack_top), which few threads ever write to. */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "runtime/core/core.h"
#include "runtime/core/ident.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

#define MAX_IDENTS 2048
#define HOOK_ROOM (8u << 10) /* our hooks run on the thread's stack too; they need less than half of this */

static struct hd_ident ident[MAX_IDENTS];
static unsigned nidents;
static const ptrdiff_t *rseq_offset; /* of libc, if it defines them */
static const unsigned *rseq_size;
#define RSEQ_SIGNATURE 0x53053053
static struct hd_ident *idle;

/* The kernel writes into the control block of a thread that returns to user mode (restartable sequences), and kills
 * the process when it cannot. This thread never returns, but may still be on its way into its sleep. Returns
 * whether the kernel writes nothing from now on. */
static bool leave_rseq(void) {
  const ptrdiff_t *offset = rseq_offset;
  const unsigned sizes[] = {32, rseq_size ? *rseq_size : 0};
  if (!offset || !rseq_size || !*rseq_size) return true;
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
  id->quiet = leave_rseq();
  hd_arch_park(&id->tp, (uint64_t)pthread_self());
}

static int make(size_t stack_size) {
  if (nidents == MAX_IDENTS) return -1;
  if (!rseq_offset) {
    rseq_offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
    rseq_size = dlsym(RTLD_DEFAULT, "__rseq_size");
  }
  struct hd_ident *id = &ident[nidents];
  pthread_attr_t a;
  sigset_t all, old;
  pthread_t th;
  int e;
  hd__private_depth++;
  pthread_attr_init(&a);
  if (stack_size) pthread_attr_setstacksize(&a, stack_size + HOOK_ROOM + HD_PAGE);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  e = real_pthread_create(&th, &a, park, id);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  pthread_attr_destroy(&a);
  while (!e && !__atomic_load_n(&id->tp, __ATOMIC_ACQUIRE)) /* until then the new thread allocates too */
    hd_sys6(SYS_futex, (long)&id->tp, 0 /* FUTEX_WAIT */, 0, 0, 0, 0);
  hd__private_depth--;
  if (e) return -1;
  if (!id->stack_lo) return -1;
  id->want_size = stack_size;
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
  nidents++;
  return 0;
}

void hd__ident_reset(void) {
  idle = NULL;
  for (unsigned i = nidents; i-- > 0;) {
    ident[i].next = idle;
    ident[i].used = false;
    idle = &ident[i];
  }
}

int hd__ident_grow(size_t stack_size, unsigned n) {
  while (n--)
    if (make(stack_size)) {
      hd__ident_reset();
      return -1;
    }
  hd__ident_reset();
  return 0;
}

unsigned hd__ident_count(size_t stack_size) {
  unsigned n = 0;
  for (unsigned i = 0; i < nidents; i++) n += ident[i].want_size == stack_size;
  return n;
}

struct hd_ident *hd__ident_take(size_t stack_size) {
  for (struct hd_ident **p = &idle; *p; p = &(*p)->next)
    if ((*p)->want_size == stack_size) {
      struct hd_ident *id = *p;
      *p = id->next;
      if (id->used) { /* the next thread must not see what the last one left on its stack and in its thread-local storage */
        hd__copy(id->frame, id->image, (size_t)(id->stack_hi - id->frame));
        hd__shadow_forget_large((uint64_t)id->stack_lo, (uint64_t)(id->stack_hi - id->stack_lo));
      }
      id->used = true;
      hd__copy(((uint64_t **)id->tp)[1] - 2, id->dtv, id->dtv_words * sizeof *id->dtv);
      return id;
    }
  return NULL;
}

/* The list is kept in the order of creation, so that the next taker gets the same identity in whatever order they
 * were given back. */
void hd__ident_give(struct hd_ident *id) {
  struct hd_ident **p = &idle;
  while (*p && *p < id) p = &(*p)->next;
  id->next = *p;
  *p = id;
}

void hd__ident_touch(void) {
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

/* arch.h: everything that depends on the processor. One implementation per architecture (arch_x86_64.S, .c and .h);
 * a port provides these files again. Runs in the tested process. */
#ifndef HD_ARCH_H
#define HD_ARCH_H

#include <stdint.h>
#include <ucontext.h>

/* A suspended flow of control: its stack pointer (callee-saved registers and floating-point modes are
 * saved on the stack) and the thread pointer it runs with. */
struct hd_ctx {
  void *sp;
  uint64_t tp;
};

/* Saves the caller into `from` and continues `to`; returns when the caller is continued. */
void hd_arch_switch(struct hd_ctx *from, const struct hd_ctx *to);
/* Continues `to` and forgets the caller. */
_Noreturn void hd_arch_jump(const struct hd_ctx *to);
/* post: switching to `c` calls entry(arg) on the stack that ends at `top`; entry never returns. */
void hd_arch_prepare(struct hd_ctx *c, void *top, uint64_t tp, void (*entry)(void *), void *arg);
/* Makes a suspended flow continue as if it had called fn where it is. */
void hd_arch_interpose(struct hd_ctx *c, void (*fn)(void));
/* Finds out what the processor and the kernel offer. */
void hd_arch_init(void);
/* The architecture also defines the exported entry points at which a loop may wait by reading (atomic loads and
 * compare-and-swaps, volatile reads, trylock, atomic sections). Each saves the caller's registers and continues in
 * the C function hd_in_<name>. */
#define HD_IN(name) hd_in_##name
/* Clears the stack below the caller, as far as the runtime uses it in most hooks. */
void hd_arch_scrub(void);
/* Sets hot.sp and hot.regs from an interrupted context, as the entries of the hooks do. */
void hd_arch_note_state(const ucontext_t *uc);
/* Clears it below the return address, and returns the number: to be called last, in the place of a return. */
int hd_arch_leave(int result);
/* Clears it below the return address, and continues there: to be called last. */
void hd_arch_scrub_to(void (*fn)(void));
/* A hash of the floating-point and vector registers in the context. */
uint64_t hd_arch_vectors(const ucontext_t *uc);
/* Leaves the signal handler it is called in: calls fn with a copy of the interrupted context, on the stack that was
 * interrupted. When fn returns, it continues that context. */
_Noreturn void hd_arch_leave_handler(const ucontext_t *uc, void (*fn)(ucontext_t *));
/* Makes the context continue as if it had called fn where it is. */
void hd_arch_call(ucontext_t *uc, void (*fn)(void));
/* Returns from a signal handler whose frame the kernel left at sp. */
_Noreturn void hd_arch_return_from_signal(uint64_t sp);
/* clone(2) with these arguments, for a child that shares our memory on a stack of its own while we sleep. The child
 * continues as `uc`, on its stack and with the result 0. Returns the child's process id. */
long hd_arch_clone_beside(const long *a, const ucontext_t *uc);
/* Overwrites the function at `at` with one that makes that system call, or returns that number. */
void hd_arch_write_syscall(void *at, int nr);
void hd_arch_write_return(void *at, int value);
/* Stores the value, wakes the waiter for the word, and sleeps forever. After the store it writes no memory: the
 * stack it is called on may be read-only then. */
_Noreturn void hd_arch_park(uint64_t *word, uint64_t value);
/* Reads up to 8 bytes, the first one lowest. Returns whether the memory is readable. */
int hd_arch_peek(uint64_t addr, unsigned size, uint64_t *out);
/* For a handler of faults: returns whether the fault was in hd_arch_peek, and makes that continue. */
int hd_arch_peek_fault(ucontext_t *uc);
/* For a handler of faults: whether the context was about to read the time stamp counter; and continuing as if it had read
 * that value. */
int hd_arch_reads_tsc(const ucontext_t *uc);
void hd_arch_set_tsc(ucontext_t *uc, uint64_t value);
uint64_t hd_arch_tp(void);
void hd_arch_set_tp(uint64_t tp);

#if defined(__x86_64__)
#include "runtime/core/arch_x86_64.h"
#else
#error "Heddle has no port for this processor yet: see runtime/core/arch.h"
#endif

#endif

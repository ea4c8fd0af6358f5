/* arch_x86_64.h: system calls and signal contexts on x86-64. Included by arch.h only. */
#ifndef HD_ARCH_X86_64_H
#define HD_ARCH_X86_64_H

#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>

/* A system call that touches neither errno nor the thread pointer. Returns -errno on failure. */
static inline long hd_sys6(long n, long a, long b, long c, long d, long e, long f) {
  long ret;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(ret)
                   : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return ret;
}
#define hd_sys3(n, a, b, c) hd_sys6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define hd_sys4(n, a, b, c, d) hd_sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

/* The return path of our signal handlers; lies in our text, where system calls are not intercepted. */
void hd_arch_sigreturn(void);

/* The pthread_t of the thread whose thread pointer is in use: libc keeps it in the control block. */
static inline uint64_t hd_arch_self(void) {
  uint64_t self;
  __asm__("mov %%fs:0x10, %0" : "=r"(self));
  return self;
}

static inline uint64_t hd_sig_pc(const ucontext_t *u) { return (uint64_t)u->uc_mcontext.gregs[REG_RIP]; }
static inline uint64_t hd_sig_sp(const ucontext_t *u) { return (uint64_t)u->uc_mcontext.gregs[REG_RSP]; }
static inline void hd_sig_set_pc(ucontext_t *u, uint64_t pc) {
  u->uc_mcontext.gregs[REG_RIP] = (long long)pc;
}
/* Whether the next instruction is executed alone, and a signal follows. */
static inline void hd_sig_step(ucontext_t *u, int on) {
  if (on)
    u->uc_mcontext.gregs[REG_EFL] |= 0x100;
  else
    u->uc_mcontext.gregs[REG_EFL] &= ~0x100ll;
}
#define HD_TRAP 0xcc /* the instruction that makes a signal; it is one byte, and the signal comes after it */
static inline int hd_sig_is_write(const ucontext_t *u) { return (u->uc_mcontext.gregs[REG_ERR] & 2) != 0; }
static inline long hd_sig_sysno(const ucontext_t *u) { return (long)u->uc_mcontext.gregs[REG_RAX]; }
static inline void hd_sig_sysargs(const ucontext_t *u, long a[6]) {
  const greg_t *g = u->uc_mcontext.gregs;
  a[0] = g[REG_RDI], a[1] = g[REG_RSI], a[2] = g[REG_RDX];
  a[3] = g[REG_R10], a[4] = g[REG_R8], a[5] = g[REG_R9];
}
/* Makes the same system call again. */
static inline void hd_sig_again(ucontext_t *u) { u->uc_mcontext.gregs[REG_RIP] -= 2; }
/* What a handler sees of code that was interrupted there. */
static inline void hd_sig_fill(ucontext_t *u, uint64_t pc, uint64_t sp) {
  u->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
  u->uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
}
static inline void hd_sig_set_result(ucontext_t *u, long r) { u->uc_mcontext.gregs[REG_RAX] = r; }

/* The stack pointer that libc stored in a jump buffer. */
static inline uint64_t hd_arch_jump_target(const void *buf) {
  uint64_t sp = ((const uint64_t *)buf)[6], guard;
  __asm__("mov %%fs:0x30, %0" : "=r"(guard));
  return (sp >> 17 | sp << 47) ^ guard;
}

#endif

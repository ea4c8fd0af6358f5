/* arch_x86_64.c: preparing flows of control and the thread pointer on x86-64. Runs in the tested process. */
#include <sys/auxv.h>

#include "runtime/core/arch.h"
#include "runtime/core/core.h"

#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003

__attribute__((visibility("hidden"))) uint8_t hd_arch_fsgsbase;
void hd_arch_entry(void);
_Noreturn void hd_arch_continue_beside(ucontext_t *copy, void (*fn)(ucontext_t *));
extern const char hd_arch_peek_at[], hd_arch_peek_failed[]; /* instructions of hd_arch_peek */

void hd_arch_init(void) { hd_arch_fsgsbase = (getauxval(AT_HWCAP2) & 2) != 0; /* HWCAP2_FSGSBASE */ }

uint64_t hd_arch_tp(void) {
  uint64_t tp;
  hd_sys3(SYS_arch_prctl, ARCH_GET_FS, &tp, 0);
  return tp;
}

void hd_arch_set_tp(uint64_t tp) { hd_sys3(SYS_arch_prctl, ARCH_SET_FS, tp, 0); }

/* What the kernel puts on the stack for a handler: its own ucontext, which is shorter than libc's, and a pointer to
 * the state of the vector registers, whose length is in bytes that the hardware does not use. */
#define KERNEL_UCONTEXT 304
#define XSTATE_MAGIC 0x46505853u

_Noreturn void hd_arch_return_from_signal(uint64_t sp) {
  __asm__ volatile("movq %0, %%rsp\n\tmovl $15, %%eax\n\tsyscall" : : "r"(sp) : "memory"); /* rt_sigreturn */
  __builtin_unreachable();
}

static void copy(char *to, const char *from, uint64_t n) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

/* Copies the context below sp. Returns the copy. */
static ucontext_t *copy_context(const ucontext_t *uc, char *sp) {
  const char *fp = (const char *)uc->uc_mcontext.fpregs;
  uint64_t size = 512;
  if (*(const uint32_t *)(fp + 464) == XSTATE_MAGIC) size = *(const uint32_t *)(fp + 468);
  char *fp_to = (char *)((uint64_t)(sp - size) & ~63ull);
  ucontext_t *to = (ucontext_t *)((uint64_t)(fp_to - KERNEL_UCONTEXT) & ~63ull);
  copy(fp_to, fp, size);
  copy((char *)to, (const char *)uc, KERNEL_UCONTEXT);
  to->uc_mcontext.fpregs = (fpregset_t)fp_to;
  return to;
}

/* The kernel leaves out of the frame what is as after a reset; the memory there has anything. */
#define XFEATURES_AT 512
#define LEGACY_END 416 /* of what has x87 and SSE registers */
#define AVX_AT 576
#define AVX_END 832

static uint64_t add_words(uint64_t h, const char *from, const char *to) {
  for (; from < to; from += 8) h = (h ^ *(const uint64_t *)from) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
  return h;
}

uint64_t hd_arch_vectors(const ucontext_t *uc) {
  const char *fp = (const char *)uc->uc_mcontext.fpregs;
  if (*(const uint32_t *)(fp + 464) != XSTATE_MAGIC) return add_words(1, fp, fp + LEGACY_END);
  uint64_t used = *(const uint64_t *)(fp + XFEATURES_AT), h = used;
  if (used & 1) h = add_words(h, fp, fp + 24), h = add_words(h, fp + 32, fp + 160);
  if (used & 2) h = add_words(h, fp + 24, fp + 32), h = add_words(h, fp + 160, fp + LEGACY_END);
  if (used & 4) h = add_words(h, fp + AVX_AT, fp + AVX_END);
  if (used & 0xe0) h = add_words(h, fp + AVX_END, fp + *(const uint32_t *)(fp + 468));
  return h;
}

_Noreturn void hd_arch_leave_handler(const ucontext_t *uc, void (*fn)(ucontext_t *)) {
  /* below what leaf functions may use */
  ucontext_t *to = copy_context(uc, (char *)uc->uc_mcontext.gregs[REG_RSP] - 128);
  hd_arch_continue_beside(to, fn);
}

void hd_arch_note_state(const ucontext_t *uc) {
  static const uint8_t saved[6] = {REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15};
  hot.sp = (uint64_t)uc->uc_mcontext.gregs[REG_RSP];
  for (unsigned i = 0; i < 6; i++) hot.regs[i] = (uint64_t)uc->uc_mcontext.gregs[saved[i]];
}

void hd_arch_call(ucontext_t *uc, void (*fn)(void)) {
  greg_t *g = uc->uc_mcontext.gregs;
  g[REG_RSP] -= 8;
  *(uint64_t *)g[REG_RSP] = (uint64_t)g[REG_RIP];
  g[REG_RIP] = (greg_t)fn;
}

long hd_arch_clone_beside(const long *a, const ucontext_t *uc) {
  static char room[64 << 10]
      __attribute__((aligned(64))); /* one child at a time: we sleep until it is gone */
  ucontext_t *to = copy_context(uc, room + sizeof room);
  to->uc_mcontext.gregs[REG_RAX] = 0;
  to->uc_mcontext.gregs[REG_RSP] = a[1];
  long pid = 56 /* clone */;
  register long r10 __asm__("r10") = a[3];
  register long r8 __asm__("r8") = a[4];
  __asm__ volatile(
      "syscall\n\ttestq %%rax, %%rax\n\tjnz 1f\n\tmovl $15, %%eax\n\tsyscall\n1:" /* rt_sigreturn */
      : "+a"(pid)
      : "D"(a[0]), "S"(to), "d"(a[2]), "r"(r10), "r"(r8)
      : "rcx", "r11", "memory");
  return pid;
}

void hd_arch_write_syscall(void *at, int nr) {
  unsigned char code[] = {0xb8, (unsigned char)nr, (unsigned char)(nr >> 8), 0, 0, 0x0f, 0x05, 0xc3};
  copy(at, (const char *)code, sizeof code); /* mov $nr, %eax; syscall; ret */
}

void hd_arch_write_return(void *at, int value) {
  unsigned char code[] = {0x48, 0xc7, 0xc0, (unsigned char)value, 0xff, 0xff, 0xff, 0xc3};
  copy(at, (const char *)code, sizeof code); /* mov $value, %rax; ret: small negative numbers */
}

void hd_arch_prepare(struct hd_ctx *c, void *top, uint64_t tp, void (*entry)(void *), void *arg) {
  uint64_t *sp = (uint64_t *)((uintptr_t)top & ~15ull);
  uint32_t mxcsr; /* a new thread inherits the floating-point environment of its creator */
  uint16_t cw;
  __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(cw));
  *--sp = 0; /* two words: the stack is 16-aligned where entry is called */
  *--sp = 0;
  *--sp = (uint64_t)hd_arch_entry;
  *--sp = 0;               /* rbp */
  *--sp = 0;               /* rbx */
  *--sp = (uint64_t)entry; /* r12 */
  *--sp = (uint64_t)arg;   /* r13 */
  *--sp = 0;               /* r14 */
  *--sp = 0;               /* r15 */
  *--sp = mxcsr | (uint64_t)cw << 32;
  c->sp = sp;
  c->tp = tp;
}

/* The frame moves down by one word, and above it comes the address to return to, below the one it had. */
void hd_arch_interpose(struct hd_ctx *c, void (*fn)(void)) {
  uint64_t *sp = c->sp, *down = sp - 1;
  for (unsigned i = 0; i < 7; i++) down[i] = sp[i];
  down[7] = (uint64_t)fn;
  c->sp = down;
}

int hd_arch_peek_fault(ucontext_t *uc) {
  if (hd_sig_pc(uc) != (uint64_t)hd_arch_peek_at) return 0;
  uc->uc_mcontext.gregs[REG_RIP] = (greg_t)hd_arch_peek_failed;
  return 1;
}

/* rdtsc is 0f 31, rdtscp 0f 01 f9. */
int hd_arch_reads_tsc(const ucontext_t *uc) {
  uint64_t code;
  if (!hd_arch_peek(hd_sig_pc(uc), 2, &code)) return 0;
  if ((code & 0xffff) == 0x310f) return 1;
  return (code & 0xffff) == 0x010f && hd_arch_peek(hd_sig_pc(uc) + 2, 1, &code) && (code & 0xff) == 0xf9;
}

void hd_arch_set_tsc(ucontext_t *uc, uint64_t value) {
  greg_t *g = uc->uc_mcontext.gregs;
  int with_processor = ((const uint8_t *)g[REG_RIP])[1] == 0x01;
  g[REG_RAX] = (greg_t)(value & 0xffffffff);
  g[REG_RDX] = (greg_t)(value >> 32);
  if (with_processor) g[REG_RCX] = 0;
  g[REG_RIP] += with_processor ? 3 : 2;
}

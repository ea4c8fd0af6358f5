/* arch_x86_64.c: preparing flows of control and the thread pointer on x86-64. Runs in the tested process. */
#include <sys/auxv.h>

#include "runtime/arch.h"

#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003

__attribute__((visibility("hidden"))) uint8_t hd_arch_fsgsbase;
void hd_arch_entry(void);

void hd_arch_init(void) { hd_arch_fsgsbase = (getauxval(AT_HWCAP2) & 2) != 0; /* HWCAP2_FSGSBASE */ }

uint64_t hd_arch_tp(void) {
  uint64_t tp;
  hd_sys3(SYS_arch_prctl, ARCH_GET_FS, &tp, 0);
  return tp;
}

void hd_arch_set_tp(uint64_t tp) { hd_sys3(SYS_arch_prctl, ARCH_SET_FS, tp, 0); }

void hd_arch_prepare(struct hd_ctx *c, void *top, uint64_t tp, void (*entry)(void *), void *arg) {
  uint64_t *sp = (uint64_t *)((uintptr_t)top & ~15ull);
  uint32_t mxcsr = 0x1f80; /* the state every new thread starts with */
  uint16_t cw = 0x37f;
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

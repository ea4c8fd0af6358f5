/* jump.c: longjmp and related functions. Runs in the tested process.
 *
 * They may leave a handler of a signal, and restore the signal mask that sigsetjmp has saved. A test framework whose assertion fails jumps to a frame outside the body
 * of hd_check. An execution has no such frame, so leaving that way is the failure. */
#include <setjmp.h>

#include "runtime/core/core.h"
#include "runtime/core/drive.h"
#include "runtime/core/finding.h"
#include "runtime/core/ident.h"
#include "runtime/wrap/signal.h"
#include "runtime/wrap/wrap.h"

static void look(const struct __jmp_buf_tag *to, uint64_t pc) {
  if (!hot.active) return;
  hd__signals_jump(hd_arch_jump_target(to->__jmpbuf), to->__mask_was_saved ? &to->__saved_mask : NULL, pc);
  if (!rt.callback) return;
  const struct hd_ident *id = rt.cur->ident;
  uint64_t sp = hd_arch_jump_target(to->__jmpbuf);
  bool inside = id ? sp >= (uint64_t)id->stack_lo && sp < (uint64_t)id->stack_hi : sp < hd__first_stack_end();
  if (inside) return;
  hd__report_assertion("longjmp out of the body of hd_check, as test frameworks do when an assertion fails");
}

HD_EXPORT void longjmp(struct __jmp_buf_tag to[1], int value) {
  look(to, HD_CALLER);
  real_longjmp(to, value);
  __builtin_unreachable();
}

HD_EXPORT void _longjmp(struct __jmp_buf_tag to[1], int value) {
  look(to, HD_CALLER);
  real__longjmp(to, value);
  __builtin_unreachable();
}

HD_EXPORT void siglongjmp(struct __jmp_buf_tag to[1], int value) {
  look(to, HD_CALLER);
  real_siglongjmp(to, value);
  __builtin_unreachable();
}

HD_EXPORT void __longjmp_chk(struct __jmp_buf_tag to[1], int value);
void __longjmp_chk(struct __jmp_buf_tag to[1], int value) {
  look(to, HD_CALLER);
  real___longjmp_chk(to, value);
  __builtin_unreachable();
}

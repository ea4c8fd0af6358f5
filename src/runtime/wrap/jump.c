/* jump.c: longjmp and its kin. Runs in the tested process.
 *
 * Within a thread they need no help. But the frame a test framework jumps to when an assertion fails lies outside the
 * body of hd_check: in an execution there is nothing beyond it, so leaving that way is the failure. */
#include <setjmp.h>

#include "runtime/core/core.h"
#include "runtime/core/drive.h"
#include "runtime/core/finding.h"
#include "runtime/core/ident.h"
#include "runtime/wrap/wrap.h"

static void look(const struct __jmp_buf_tag *to) {
  if (!hot.active || !rt.callback) return;
  const struct hd_ident *id = rt.cur->ident;
  uint64_t sp = hd_arch_jump_target(to->__jmpbuf);
  bool inside = id ? sp >= (uint64_t)id->stack_lo && sp < (uint64_t)id->stack_hi : sp < hd__first_stack_end();
  if (inside) return;
  hd__report_assertion(
      "it left the body of hd_check by longjmp, as test frameworks do when an assertion fails");
}

HD_EXPORT void longjmp(struct __jmp_buf_tag to[1], int value) {
  look(to);
  real_longjmp(to, value);
  __builtin_unreachable();
}

HD_EXPORT void _longjmp(struct __jmp_buf_tag to[1], int value) {
  look(to);
  real__longjmp(to, value);
  __builtin_unreachable();
}

HD_EXPORT void siglongjmp(struct __jmp_buf_tag to[1], int value) {
  look(to);
  real_siglongjmp(to, value);
  __builtin_unreachable();
}

HD_EXPORT void __longjmp_chk(struct __jmp_buf_tag to[1], int value);
void __longjmp_chk(struct __jmp_buf_tag to[1], int value) {
  look(to);
  real___longjmp_chk(to, value);
  __builtin_unreachable();
}

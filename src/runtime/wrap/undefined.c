/* undefined.c: array indices that the compiler checks (-fsanitize=bounds). Runs in the tested process.
 *
 * This is how overflows of arrays on the stack and of global arrays are found: the check of UndefinedBehaviorSanitizer is made
 * before the access, and fails like an assertion. Its own runtime library would print a message and continue, or end the program
 * with a lock held. With clang that library is a part of the program, and these functions are not called (cmd_cc.c). */
#include <dlfcn.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/util.h"
#include "runtime/wrap/wrap.h"

/* As the compilers lay them out. */
struct type_info {
  uint16_t kind, info; /* of an integer: signed, or twice the logarithm of the number of its bits */
  char name[];         /* in quotes */
};

struct bad_index {
  const char *file;
  uint32_t line, column;
  const struct type_info *array, *index;
};

HD_EXPORT void __ubsan_handle_out_of_bounds(struct bad_index *at, uint64_t index);
HD_EXPORT void __ubsan_handle_out_of_bounds_abort(struct bad_index *at, uint64_t index);

static int64_t value_of(const struct type_info *t, uint64_t v) {
  unsigned bits = 1u << (t->info >> 1);
  if (bits >= 64) return bits == 64 ? (int64_t)v : 0; /* a wider one is not passed by value */
  v &= (1ull << bits) - 1;
  return t->info & 1 && v >> (bits - 1) ? (int64_t)(v | ~0ull << bits) : (int64_t)v;
}

static void report(const struct bad_index *at, uint64_t index, uint64_t pc) {
  char text[400];
  hd__format(text, sizeof text, "%s:%u: ?: `index %d out of bounds for type %s'", at->file ? at->file : "?",
             (uint64_t)at->line, value_of(at->index, index), at->array->name);
  hd__report_simple(HD_KIND_ASSERTION, 0, pc, text, true);
}

HD_EXPORT void __ubsan_handle_out_of_bounds(struct bad_index *at, uint64_t index) {
  if (hot.active) report(at, index, HD_CALLER);
  void (*real)(struct bad_index *, uint64_t);
  *(void **)&real = dlsym(RTLD_NEXT, "__ubsan_handle_out_of_bounds");
  if (real) real(at, index);
}

HD_EXPORT void __ubsan_handle_out_of_bounds_abort(struct bad_index *at, uint64_t index) {
  if (hot.active) report(at, index, HD_CALLER);
  void (*real)(struct bad_index *, uint64_t);
  *(void **)&real = dlsym(RTLD_NEXT, "__ubsan_handle_out_of_bounds_abort");
  if (real) real(at, index);
}

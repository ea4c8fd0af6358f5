/* shadowed.h: what code with symbolic shadows (`heddle cc --symbolic`) and the runtime share. Used by the plug-in for clang
 * (src/plugin/llvm_symbolic.cc) and by the runtime.
 *
 * The version is part of the name of the symbol: a program compiled with another one does not link. */
#ifndef HD_ABI_SHADOWED_H
#define HD_ABI_SHADOWED_H

#include <stddef.h>
#include <stdint.h>

#define HD_SHADOWED_SYMBOL "__heddle_symbolic_1" /* struct hd_shadowed of the runtime */
#define HD_SHADOWED_ENV "HEDDLE_SYMBOLIC"        /* of `heddle cc --symbolic` */
#define HD_SHADOWED_ARGS 16
#define HD_SHADOWED_RESULTS 4

/* One kernel thread runs all tested threads, and none is switched between a caller's store here and the callee's load. */
struct hd_shadowed {
  uint32_t active; /* something may be symbolic in this execution */
  uint32_t own;    /* the result below is that of a function of the runtime, which has no shadows otherwise */
  /* The function that is being called, while `active`: set by the caller, cleared by the callee when it begins, if it has
   * shadows. */
  uint64_t callee;
  uint32_t arg[HD_SHADOWED_ARGS];       /* expressions of its arguments */
  uint32_t result[HD_SHADOWED_RESULTS]; /* of what was returned; the caller clears them, if it has shadows */
  uint32_t taken[HD_SHADOWED_ARGS];     /* `arg`, as taken over by the callee */
};

/* The first argument of __heddle_symbolic_binary: enum hd_expr_op | this | width << 16 (of the operands). */
#define HD_SHADOWED_NOT 0x8000u  /* the result is negated (comparisons) */
#define HD_SHADOWED_SWAP 0x4000u /* the operands are swapped */

/* The second argument of __heddle_symbolic_output: what is written. */
#define HD_SHADOWED_TEXT 1u       /* memory that is read is a string */
#define HD_SHADOWED_BLOCK 2u      /* its size is known */
#define HD_SHADOWED_DESCRIPTOR 4u /* the first argument is a descriptor, no stream */

/* The first argument of __heddle_symbolic_bits: this | width << 16. */
enum hd_shadowed_bits { HD_SHADOWED_COUNT, HD_SHADOWED_LEADING, HD_SHADOWED_TRAILING, HD_SHADOWED_REVERSE };

#endif

/* symbolic.h: inputs and expressions in the tested process.
 *
 *   exprs.c     the table of expressions, conditions, the log
 *   bytes.c     which bytes of memory have a symbolic value
 *   hooks.c     what code with shadows calls (abi/shadowed.h)
 *   library.c   functions of libc whose results keep symbols
 *   inputs.c    hd_input and what else is an input
 *   sources.c   standard input, files and the environment as inputs
 *
 * Rules
 *  1. Expressions, conditions and inputs are in the shared file, and outlive executions and processes. Everything else is of
 *     one execution (hd__symbolic_begin).
 *  2. A condition too many makes a search longer; one too few makes it wrong. So whatever is not followed makes the values
 *     it gets concrete, which is a condition, and where that is not possible it is a loss, which the verdict states.
 *  3. The value of an expression, as of the operation that made it last, is kept with it. Memory that does not have that
 *     value any more was written by code without shadows: its symbols are dropped. */
#ifndef HD_RUNTIME_SYMBOLIC_H
#define HD_RUNTIME_SYMBOLIC_H

#include "abi/shadowed.h"
#include "runtime/core/core.h"

extern struct hd_shadowed hd__shadowed __asm__(HD_SHADOWED_SYMBOL);
static inline bool hd__symbolic_active(void) { return HD_UNLIKELY(hd__shadowed.active != 0); }

int hd__symbolic_init(void);
/* Every object file that is instrumented has shadows. */
bool hd__symbolic_whole(void);
/* A new execution begins. */
HD_EACH void hd__symbolic_begin(void);

/* It has ended. */
HD_EACH void hd__symbolic_end(void);
/* The expression of what a function returned to code without shadows, which keeps it; 0: it is concrete. */
uint32_t hd__symbolic_take_result(uint64_t value, uint64_t pc);

/* ---- exprs.c ---- */

static inline struct hd_symbolic *hd__symbolic(void) {
  return (struct hd_symbolic *)(HD_SHM_BASE + HD_SHM_SYMBOLIC);
}
static inline struct hd_expr *hd__expr(uint32_t e) {
  return (struct hd_expr *)(HD_SHM_BASE + HD_SHM_EXPRS) + e;
}

uint32_t hd__expr_symbol(unsigned op, unsigned width, uint32_t a, uint32_t b, uint64_t value);
uint32_t hd__expr_const(unsigned width, uint64_t value);
/* Operations; an operand that is 0 has the value beside it. 0: the result is concrete. */
uint32_t hd__expr_binary(unsigned op, unsigned width, uint32_t a, uint32_t b, uint64_t va, uint64_t vb);
uint32_t hd__expr_cast(unsigned op, unsigned from, unsigned to, unsigned low, uint32_t a);
uint32_t hd__expr_not(uint32_t a);
uint32_t hd__expr_concat(uint32_t high, unsigned high_width, uint64_t vhigh, uint32_t low, unsigned low_width,
                         uint64_t vlow);
uint32_t hd__expr_ite(unsigned width, uint32_t c, uint32_t a, uint32_t b, uint64_t va, uint64_t vb);

/* The expression, of one bit, has its value at this place of the code. */
void hd__condition(uint32_t e, enum hd_symbolic_why why, uint64_t pc);
/* Makes a value concrete. */
void hd__concrete(uint32_t e, enum hd_symbolic_why why, uint64_t pc);
/* A function of the runtime has stored that: logged if others can see the memory. */
void hd__symbolic_stored(uint64_t addr, unsigned size, uint32_t e, uint64_t value, uint64_t pc);
/* Appends to the log, if there is one. */
void hd__symbolic_record(const struct hd_symbolic_record *r);

/* ---- bytes.c ---- */

void hd__bytes_begin(void);
/* The expression of the value that was loaded from there. */
uint32_t hd__bytes_load(uint64_t addr, unsigned size, uint64_t value);
void hd__bytes_store(uint64_t addr, unsigned size, uint32_t e);
void hd__bytes_copy(uint64_t to, uint64_t from, uint64_t n);
void hd__bytes_clear(uint64_t addr, uint64_t n);
/* Makes what is symbolic there concrete. Returns whether anything is. */
bool hd__bytes_concrete(uint64_t addr, uint64_t n, enum hd_symbolic_why why, uint64_t pc);
bool hd__bytes_any(uint64_t addr, uint64_t n);
/* Whether any memory may be symbolic. */
bool hd__bytes_anywhere(void);
/* The same around an address: all symbolic bytes of the block, or of what surrounds it without a large gap. */
void hd__bytes_concrete_around(uint64_t addr, uint64_t pc);

/* ---- memory that functions of libc read (wrap/access.h) ---- */

void hd__symbolic_reads_slow(uint64_t addr, uint64_t n, uint64_t pc);
static inline void hd__symbolic_reads(const void *p, uint64_t n, uint64_t pc) {
  if (hd__symbolic_active()) hd__symbolic_reads_slow((uint64_t)p, n, pc);
}

#endif

/* library.h: what functions of libc do with symbolic bytes. Runs in the tested process.
 *
 * A wrapper reads between hd__keep_begin and hd__keep_end, then says here what it did with what it has read. */
#ifndef HD_RUNTIME_SYMBOLIC_LIBRARY_H
#define HD_RUNTIME_SYMBOLIC_LIBRARY_H

#include "runtime/symbolic/symbolic.h"

/* What the running thread reads until hd__keep_end stays symbolic. Returns whether that has to be said later. */
static inline bool hd__keep_begin(void) {
  if (HD_LIKELY(!hd__symbolic_active()) || !hd__bytes_anywhere()) return false;
  return rt.cur->symbolic.quiet = true;
}
static inline void hd__keep_end(void) { rt.cur->symbolic.quiet = false; }

/* The expression of the result, which goes back to code with shadows. */
void hd__library_give(uint32_t e);

/* n bytes were read for a zero: the last is one, unless a limit was reached. */
void hd__library_string(const void *s, size_t n, uint64_t pc);
/* ... for the first byte c; `text`: or a zero. */
void hd__library_search(const void *s, size_t n, int c, bool text, uint64_t pc);
/* ... for the last byte c of a string. */
void hd__library_last(const void *s, size_t n, int c, uint64_t pc);
/* n bytes were read until one is not in the set, or, with `outside`, until one is, or a zero: the last one. */
void hd__library_span(const void *s, size_t n, const char *set, bool outside, uint64_t pc);
/* In n bytes, `text`: a string, the first block that is equal to t was looked for. */
void hd__library_find(const void *s, size_t n, const char *t, size_t m, bool text, bool fold, uint64_t pc);
/* n bytes of both were compared, and the function returned that. */
void hd__library_compare(const void *a, const void *b, size_t n, bool text, bool fold, int result,
                         uint64_t pc);
/* A number of that many bits was read from a string. A base of -1 has rules that are not known here. */
void hd__library_number(const char *s, int base, unsigned width, uint64_t result, uint64_t pc);

/* Sorts, as qsort_r. False: nothing there is symbolic, and nothing was done. */
bool hd__library_sort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
                      void *arg, uint64_t pc);

/* A load from an address that has an expression, from an object that never changes (base 0: it is not known which); 0: it
 * is no table. */
uint32_t hd__library_table(uint32_t e, uint64_t addr, unsigned size, uint64_t base, uint64_t bytes,
                           uint64_t pc);
/* Bits that are set, zeros before the first or after the last one, all bits in reverse. pre: a is not 0. */
uint32_t hd__library_bits(enum hd_shadowed_bits which, unsigned w, uint32_t a);
/* The result of a function of abi/characters.def; 0: it is not known. */
uint32_t hd__library_character(unsigned which, uint32_t e, uint32_t v, uint64_t pc);

#endif

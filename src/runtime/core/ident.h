/* ident.h: borrowed thread identities (ident.c). */
#ifndef HD_RUNTIME_IDENT_H
#define HD_RUNTIME_IDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A real thread that sleeps forever. A tested thread runs on its stack and with its thread pointer. */
struct hd_ident {
  uint64_t tp;     /* thread pointer, which is also its pthread_t */
  char *stack_lo;  /* lowest usable address */
  char *stack_top; /* where a fiber's stack starts */
  char *frame;     /* [frame, stack_hi): frames of its start-up code, TLS, the thread control block */
  char *stack_hi;
  size_t guard;
  size_t want_size; /* requested stack size, 0: the default */
  uint64_t limit;   /* the stack below this address is reserved for our hooks */
  char *image;      /* copy of [frame, stack_hi) when the thread was new */
  uint64_t *dtv; /* copy of libc's table of thread-local blocks when the thread was new, from its size on */
  uint64_t dtv_words;
  struct hd_ident *next; /* free list */
  bool used;             /* since memory was last restored */
  bool quiet;            /* the kernel does not write into it by itself */
};

/* Adds `n` identities with that stack size. pre: between executions.
 * Returns 0, or -1 when the system has no memory or threads left. */
int hd__ident_grow(size_t stack_size, unsigned n);
/* Returns an identity in its initial state, or NULL when the pool has none of that size. */
struct hd_ident *hd__ident_take(size_t stack_size);
void hd__ident_give(struct hd_ident *id);
/* Makes all identities idle again (the execution is over). */
void hd__ident_reset(void);
unsigned hd__ident_count(size_t stack_size);
/* Calls f for the stack of each, with its control block and thread-local storage, and its number. */
void hd__ident_each_stack(void (*f)(char *lo, char *hi, unsigned number));
/* Calls f for the pages of each identity that hold its control block and thread-local storage. */
void hd__ident_each_block(void (*f)(char *lo, char *hi));
/* Makes those of them writable that the kernel may write to by itself. */
void hd__ident_touch(void);
/* The upper end of the identity's stack that contains addr, 0 if there is none. */
uint64_t hd__ident_end(uint64_t addr);

#endif

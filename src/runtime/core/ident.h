/* ident.h: borrowed thread identities (ident.c). */
#ifndef HD_RUNTIME_IDENT_H
#define HD_RUNTIME_IDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hd_thread;

/* A real thread that sleeps forever. A tested thread runs on its stack and with its thread pointer. */
struct hd_ident {
  uint64_t tp;       /* thread pointer, which is also its pthread_t */
  char *stack_lo;    /* lowest usable address */
  char *stack_top;   /* the end of a fiber's stack: of a page */
  char *first_frame; /* where it starts */
  char *frame;       /* [frame, stack_hi): frames of its start-up code, TLS, the thread control block */
  char *stack_hi;
  size_t guard;
  uint64_t pool;  /* requested stack size, 0: the default; perhaps HD_IDENT_ANY */
  unsigned home;  /* number of the thread that it is kept for; 0: any */
  uint64_t limit; /* the stack below this address is reserved for our hooks */
  char *image;    /* copy of [frame, stack_hi) when the thread was new */
  uint64_t *dtv;  /* copy of libc's table of thread-local blocks when the thread was new, from its size on */
  uint64_t dtv_words;
  struct hd_thread *thread; /* that runs on it, or ended and was not joined yet */
  struct hd_ident *next;    /* in the list of the thread that it is left to */
  struct hd_ident *alike;   /* the next with the same hash of tp */
  bool taken;               /* in this execution: runs a thread, or is left to one */
  bool used;                /* since memory was last restored */
  bool quiet;               /* the kernel does not write into it by itself */
};

#define HD_IDENT_ANY (1ull << 63) /* of threads whose number stands for no place in the tree of creations */

/* Adds `n` identities to the pool. pre: between executions.
 * Returns 0, or -1 when the system has no memory or threads left. */
int hd__ident_grow(uint64_t pool, unsigned n);
/* Returns an identity in its initial state for the thread `number` that `parent` creates, or NULL when *pool has too few.
 * `numbered`: the number stands for its place in the tree of creations. */
struct hd_ident *hd__ident_take(struct hd_thread *parent, size_t stack_size, unsigned number, bool numbered,
                                uint64_t *pool);
/* The same in an execution that cannot be run again, since what it does to the outside stays: makes what is missing. NULL
 * when the system has no memory or threads left. */
struct hd_ident *hd__ident_more(struct hd_thread *parent, size_t stack_size, unsigned number, bool numbered);
/* The thread has ended. Leaves its identities to the one that joined it, or to anybody. */
void hd__ident_leave(struct hd_thread *t, struct hd_thread *to);
void hd__ident_release(struct hd_thread *t);
/* The thread that runs with that thread pointer, or ran and was not joined yet; NULL: none. */
struct hd_thread *hd__ident_thread(uint64_t tp);
/* Makes all identities idle again (the execution is over). */
void hd__ident_reset(void);
unsigned hd__ident_count(uint64_t pool);
/* Calls f for the stack of each, with its control block and thread-local storage, and its number. */
void hd__ident_each_stack(void (*f)(char *lo, char *hi, unsigned number));
/* Calls f for the pages of each identity that hold its control block and thread-local storage. */
void hd__ident_each_block(void (*f)(char *lo, char *hi));
/* Makes those of them writable that the kernel may write to by itself. */
void hd__ident_touch(void);
/* The upper end of the identity's stack that contains addr, 0 if there is none. */
uint64_t hd__ident_end(uint64_t addr);
/* The thread that runs on the identity whose stack contains addr, NULL if there is none or it has ended. */
struct hd_thread *hd__ident_user(uint64_t addr);
/* What the kernel writes to by itself in the control block of the first thread. */
void hd__rseq_area(uint64_t *lo, uint64_t *hi);

#endif

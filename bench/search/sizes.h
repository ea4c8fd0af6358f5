/* sizes.h: how the programs of this folder take their sizes, and what they all need.
 *
 * Heddle passes sizes as arguments. GenMC takes no arguments, so for peers the same source is compiled with
 * -DSIZES='{8,1}', and main takes none.
 *
 * A shared variable that is read and written without a lock is a relaxed atomic throughout, so that the
 * search and not a data race is what is measured: peek, poke and bump are its plain read, write and
 * increment (the last one in two steps, as `x++` on a plain variable). */
#ifndef BENCH_SIZES_H
#define BENCH_SIZES_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#define MAX_THREADS 128

#ifdef SIZES
static const int sizes[] = SIZES;
#define MAIN int main(void)
#define SIZE(i, otherwise) ((i) <= (int)(sizeof sizes / sizeof *sizes) ? sizes[(i)-1] : (otherwise))
#define alike() ((void)0)
#else
#include <heddle.h>
#define MAIN int main(int argc, char **argv)
#define SIZE(i, otherwise) ((i) < argc ? atoi(argv[i]) : (otherwise))
/* With --symmetry, threads of one function that are started from here on are interchangeable although their numbers differ. */
#define alike() hd_symmetric()
#endif

#define peek(x) atomic_load_explicit(&(x), memory_order_relaxed)
#define poke(x, v) atomic_store_explicit(&(x), v, memory_order_relaxed)
#define bump(x) poke(x, peek(x) + 1)

static pthread_t threads[MAX_THREADS];
static int nthreads;

/* Starts f(number) as the next thread. */
static inline void start(void *(*f)(void *), int number) {
  pthread_create(&threads[nthreads++], 0, f, (void *)(intptr_t)number);
}

static inline void join_all(void) {
  for (int i = 0; i < nthreads; i++) pthread_join(threads[i], 0);
}

#endif

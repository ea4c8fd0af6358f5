/* litmus.h: the shorthands of the litmus programs. Nothing here is shared between threads. */
#ifndef LITMUS_H
#define LITMUS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef void *(*thread_fn)(void *);

static inline pthread_t spawn(thread_fn f, void *arg)
{
  pthread_t t;
  int rc = pthread_create(&t, NULL, f, arg);
  assert(rc == 0);
  return t;
}

static inline void join(pthread_t t)
{
  int rc = pthread_join(t, NULL);
  assert(rc == 0);
}

/* Runs f and g side by side and waits for both. */
static inline void both(thread_fn f, thread_fn g)
{
  pthread_t a = spawn(f, NULL), b = spawn(g, NULL);
  join(a);
  join(b);
}

/* Atomics without ordering: they move the schedule about and order nothing. */
#define peek(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define poke(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)

#define MUTEX(name) static pthread_mutex_t name = PTHREAD_MUTEX_INITIALIZER
#define COND(name) static pthread_cond_t name = PTHREAD_COND_INITIALIZER

#endif

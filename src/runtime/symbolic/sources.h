/* sources.h: standard input, files and the environment as inputs. */
#ifndef HD_RUNTIME_SOURCES_H
#define HD_RUNTIME_SOURCES_H

#include <stdio.h>

#include "runtime/core/core.h"

extern unsigned hd__nsources; /* files whose contents are inputs, in this execution */

/* Before the descriptors of the program are looked at: standard input becomes a file of this process, if it is an input. */
void hd__sources_init(void);
/* A new execution begins: nothing is an input yet. */
void hd__sources_begin(void);
/* Gives what the supervisor has asked for its contents. Main begins then. */
HD_EACH void hd__sources_make(void);

/* A system call has returned r. */
void hd__sources_called_slow(long nr, const long *a, long r, uint64_t pc);
static inline void hd__sources_called(long nr, const long *a, long r, uint64_t pc) {
  if (HD_UNLIKELY(hd__nsources != 0)) hd__sources_called_slow(nr, a, r, pc);
}
/* Something reads all of them that is not followed, such as another process. */
void hd__sources_lose(uint64_t pc);

/* The running thread's next system calls are those of a wrapper for read and the like: what they read is followed. */
void hd__source_direct(bool on);

/* ---- calls of stdio ---- */

/* A call begins that may read from the stream; ends. What it has consumed becomes concrete, with the byte behind it that it
 * may have looked at, unless one of the functions below was called in between. */
void hd__source_open_slow(FILE *f);
void hd__source_close_slow(FILE *f, uint64_t pc);
static inline void hd__source_open(FILE *f) {
  if (HD_UNLIKELY(hd__nsources != 0)) hd__source_open_slow(f);
}
static inline void hd__source_close(FILE *f, uint64_t pc) {
  if (HD_UNLIKELY(hd__nsources != 0)) hd__source_close_slow(f, pc);
}
/* The call has copied what it has consumed to p; `until`: up to this character, -1: it did not look at it. */
void hd__source_copied_slow(FILE *f, void *p, int until, uint64_t pc);
static inline void hd__source_copied(FILE *f, void *p, int until, uint64_t pc) {
  if (HD_UNLIKELY(hd__nsources != 0)) hd__source_copied_slow(f, p, until, pc);
}
/* It has consumed one character, and returns it: hd__source_result gives the caller its symbol, as the last thing. */
void hd__source_one_slow(FILE *f, int c);
void hd__source_result_slow(void);
static inline void hd__source_one(FILE *f, int c) {
  if (HD_UNLIKELY(hd__nsources != 0)) hd__source_one_slow(f, c);
}
static inline void hd__source_result(void) {
  if (HD_UNLIKELY(hd__nsources != 0)) hd__source_result_slow();
}
/* It reads nothing: it closes the stream, or moves its position. */
void hd__source_moved(void);

#endif

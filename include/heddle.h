/* heddle.h: what a test may tell Heddle. The only header a test includes.
 *
 * Every function here does nothing, or the obvious thing, in a program that is not run by Heddle; the
 * program needs no library for that. */
#ifndef HEDDLE_H
#define HEDDLE_H

#ifdef __cplusplus
extern "C" {
typedef bool hd_truth;
#else
typedef _Bool hd_truth;
#endif

/* Provided by the runtime when the program was built with `heddle cc`. */
int hd_rt_choose(int n) __attribute__((weak));
int hd_rt_controlled(void) __attribute__((weak));
void hd_rt_assume_failed(void) __attribute__((weak));
void hd_rt_atomic_begin(void) __attribute__((weak));
void hd_rt_atomic_end(void) __attribute__((weak));
void hd_rt_note(const char *text) __attribute__((weak));
void hd_rt_target(const char *label) __attribute__((weak));

/* One of 0 .. n-1. Heddle tries all of them; elsewhere it is 0. */
static inline int hd_choose(int n) { return hd_rt_choose ? hd_rt_choose(n) : 0; }

/* Only executions in which c holds are of interest. Where it does not, the calling thread goes no further and the
 * execution does not count; what the other threads do meanwhile is still checked. Elsewhere it does nothing. */
static inline void hd_assume(hd_truth c) {
  if (!c && hd_rt_assume_failed) hd_rt_assume_failed();
}

/* Between the two no other thread runs. They nest. A section that has to wait for a mutex or a condition is left
 * there, and entered again when the wait is over; so is one that creates or joins a thread or uses a read-write
 * lock, a semaphore, a barrier or a descriptor. Elsewhere they do nothing: they are for models of things that are
 * atomic, not a way to make them so. */
static inline void hd_atomic_begin(void) {
  if (hd_rt_atomic_begin) hd_rt_atomic_begin();
}
static inline void hd_atomic_end(void) {
  if (hd_rt_atomic_end) hd_rt_atomic_end();
}

/* A remark that the report of a failure shows, at its place among the events. It decides nothing. */
static inline void hd_note(const char *text) {
  if (hd_rt_note) hd_rt_note(text);
}

/* Execution has come here: the summary tells how many executions reached each label. It decides nothing. */
static inline void hd_target(const char *label) {
  if (hd_rt_target) hd_rt_target(label);
}

/* Whether Heddle decides which thread goes next. */
static inline int hd_controlled(void) { return hd_rt_controlled ? hd_rt_controlled() : 0; }

#ifdef __cplusplus
}
#endif

#endif

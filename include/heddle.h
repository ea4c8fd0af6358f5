/* heddle.h: the interface between a test and Heddle. The only header a test includes.
 *
 * In a program that is not run by Heddle, every function here does nothing or has its obvious default; the program
 * needs no library for that. */
#ifndef HEDDLE_H
#define HEDDLE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
typedef bool hd_truth;
#else
typedef _Bool hd_truth;
#endif

/* Defined by the runtime when the program was built with `heddle cc`. */
int hd_rt_choose(int n) __attribute__((weak));
int hd_rt_controlled(void) __attribute__((weak));
void hd_rt_assume_failed(void) __attribute__((weak));
void hd_rt_atomic_begin(void) __attribute__((weak));
void hd_rt_atomic_end(void) __attribute__((weak));
void hd_rt_note(const char *text) __attribute__((weak));
void hd_rt_target(const char *label) __attribute__((weak));
void hd_rt_failure(const char *text) __attribute__((weak));
void hd_rt_symmetric(void) __attribute__((weak));
void hd_rt_input(void *p, size_t size, const char *name) __attribute__((weak));
long hd_rt_input_range(long lo, long hi, const char *name) __attribute__((weak));

/* Returns a value from 0 to n-1. Heddle tries all of them. Without Heddle it returns 0. */
static inline int hd_choose(int n) { return hd_rt_choose ? hd_rt_choose(n) : 0; }

/* An input: `heddle concolic` searches the values that matter, for all schedules. The bytes at p are set; elsewhere they are
 * zero under Heddle, and left as they are without it. */
static inline void hd_input(void *p, size_t size, const char *name) {
  if (hd_rt_input) hd_rt_input(p, size, name);
}

/* An input between lo and hi, both included. Without Heddle, and where inputs are not searched, it is lo. */
static inline long hd_input_range(long lo, long hi, const char *name) {
  return hd_rt_input_range ? hd_rt_input_range(lo, hi, name) : lo;
}

/* Restricts the search to executions in which c is true. If c is false, the calling thread stops and the execution is
 * not counted; the other threads continue and are still checked. Without Heddle it does nothing. */
static inline void hd_assume(hd_truth c) {
  if (!c && hd_rt_assume_failed) hd_rt_assume_failed();
}

/* An atomic section: no other thread runs between the two calls. Sections nest. A section that has to wait for a mutex
 * or a condition is left there, and re-entered when the wait ends. So is one that creates or joins a thread or uses a
 * read-write lock, a semaphore, a barrier or a descriptor. Without Heddle they do nothing: they model operations that
 * are atomic, and do not make them so. */
static inline void hd_atomic_begin(void) {
  if (hd_rt_atomic_begin) hd_rt_atomic_begin();
}
static inline void hd_atomic_end(void) {
  if (hd_rt_atomic_end) hd_rt_atomic_end();
}

/* Adds a remark that the report of a failure shows, at its place among the events. It has no other effect. */
static inline void hd_note(const char *text) {
  if (hd_rt_note) hd_rt_note(text);
}

/* Marks a point in the program: the summary reports how many executions reached each label. It has no other effect. */
static inline void hd_target(const char *label) {
  if (hd_rt_target) hd_rt_target(label);
}

/* Fails this execution: reports a finding with this text and stops the thread. For checks that neither abort nor end
 * the program. Without Heddle it does nothing. */
static inline void hd_failure(const char *text) {
  if (hd_rt_failure) hd_rt_failure(text);
}

/* Asserts that threads are interchangeable: those that the calling thread creates from here on, one directly after the
 * other, with the same function. With --symmetry only schedules are explored in which those created first go first,
 * although their arguments differ, or the program distinguishes them later. If that is not true, bugs are missed. It has no
 * other effect. */
static inline void hd_symmetric(void) {
  if (hd_rt_symmetric) hd_rt_symmetric();
}

/* Whether Heddle schedules the threads of this process. */
static inline int hd_controlled(void) { return hd_rt_controlled ? hd_rt_controlled() : 0; }

/* ---- checking one function, from inside an ordinary test ---- */

/* Lets C++ name some options without a warning about the others. */
#if defined __cplusplus && __cplusplus >= 201402L
#define HD_NONE_ = {}
#else
#define HD_NONE_
#endif

/* A field that is zero or NULL has the default of `heddle check`. */
struct hd_check_options {
  const char *strategy HD_NONE_;          /* "optimal", "pct", ... */
  double seconds HD_NONE_;                /* time limit */
  unsigned long long executions HD_NONE_; /* limit of executions */
  unsigned long long seed HD_NONE_;
  unsigned jobs HD_NONE_; /* processes that share the search */
  hd_truth all HD_NONE_;  /* continue after the first finding */
  /* Other options of `heddle check`, separated by blanks: "--preemptions 2 --out 'my findings'". */
  const char *arguments HD_NONE_;
};

enum hd_check_verdict {
  HD_CHECK_ONCE,    /* nothing was searched: the body ran once, as in any program */
  HD_CHECK_CLEAN,   /* every schedule was covered, nothing was found */
  HD_CHECK_BOUNDED, /* nothing was found, not every schedule was covered */
  HD_CHECK_BUG,
  HD_CHECK_ERROR /* it could not be searched: the message says why */
};

struct hd_check_finding {
  char kind[32];    /* "data-race", "deadlock", ... as in README.md */
  char title[64];   /* one line for people */
  char file[256];   /* where, if known */
  int line;         /* 0: unknown */
  char replay[512]; /* the command that replays it */
};

#define HD_CHECK_FINDINGS 8

struct hd_check_result {
  enum hd_check_verdict verdict;
  unsigned findings;                                  /* how many there are */
  struct hd_check_finding finding[HD_CHECK_FINDINGS]; /* the first of them */
  unsigned long long executions;
  double seconds;
  char message[12288]; /* what `heddle check` would have printed: for the failure message of the test */
};

void hd_rt_check(void (*body)(void *), void *arg, const struct hd_check_options *options,
                 struct hd_check_result *result, size_t size) __attribute__((weak));

/* Searches the schedules of body(arg), starting from the current state of the process, and restores that state before it
 * returns. An execution ends when the body has returned and all threads it started have ended. Returns a result to
 * assert on. No other thread may be running at the call.
 *
 * In a program that was not built with `heddle cc`, and in one that is itself run by `heddle check`, the body runs
 * once. */
static inline struct hd_check_result hd_check(void (*body)(void *), void *arg,
                                              const struct hd_check_options *options) {
  struct hd_check_result result;
  if (hd_rt_check) {
    hd_rt_check(body, arg, options, &result, sizeof result);
    return result;
  }
  __builtin_memset(&result, 0, sizeof result);
  body(arg);
  result.executions = 1;
  return result;
}

/* True if there was no finding and no error. */
static inline hd_truth hd_check_passed(const struct hd_check_result *r) {
  return r->verdict != HD_CHECK_BUG && r->verdict != HD_CHECK_ERROR;
}

#ifdef __cplusplus
}
#endif

#endif

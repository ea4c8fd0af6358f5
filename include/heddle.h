/* heddle.h: what a test may tell Heddle. The only header a test includes.
 *
 * Every function here does nothing, or the obvious thing, in a program that is not run by Heddle; the
 * program needs no library for that. */
#ifndef HEDDLE_H
#define HEDDLE_H

#include <stddef.h>

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
void hd_rt_failure(const char *text) __attribute__((weak));

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

/* This execution has failed: a finding with this text, and the thread goes no further. For checks that neither abort
 * nor end the program. Elsewhere it does nothing. */
static inline void hd_failure(const char *text) {
  if (hd_rt_failure) hd_rt_failure(text);
}

/* Whether Heddle decides which thread goes next. */
static inline int hd_controlled(void) { return hd_rt_controlled ? hd_rt_controlled() : 0; }

/* ---- checking one function, from inside an ordinary test ---- */

/* So that options can be named in C++ without a warning about the others. */
#if defined __cplusplus && __cplusplus >= 201402L
#define HD_NONE_ = {}
#else
#define HD_NONE_
#endif

/* What is zero or NULL is as `heddle check` has it by default. */
struct hd_check_options {
  const char *strategy HD_NONE_;          /* "optimal", "pct", ... */
  double seconds HD_NONE_;                /* at most so long */
  unsigned long long executions HD_NONE_; /* at most so many */
  unsigned long long seed HD_NONE_;
  unsigned jobs HD_NONE_; /* processes that share the search */
  hd_truth all HD_NONE_;  /* go on after the first finding */
  /* More options of `heddle check`, with blanks between them: "--preemptions 2 --out 'my findings'". */
  const char *arguments HD_NONE_;
};

enum hd_check_verdict {
  HD_CHECK_ONCE,    /* nothing was searched: the body has run once, as in any program */
  HD_CHECK_CLEAN,   /* every schedule was covered, nothing was found */
  HD_CHECK_BOUNDED, /* nothing was found, not every schedule was covered */
  HD_CHECK_BUG,
  HD_CHECK_ERROR /* it could not be searched: the message says why */
};

struct hd_check_finding {
  char kind[32];    /* "data-race", "deadlock", ... as in README.md */
  char title[64];   /* the same for people */
  char file[256];   /* where, if that is known */
  int line;         /* 0: not known */
  char replay[512]; /* the command that shows it again */
};

#define HD_CHECK_FINDINGS 8

struct hd_check_result {
  enum hd_check_verdict verdict;
  unsigned findings;                                  /* how many there are ... */
  struct hd_check_finding finding[HD_CHECK_FINDINGS]; /* ... the first of them */
  unsigned long long executions;
  double seconds;
  char message[12288]; /* what `heddle check` would have printed: for the failure message of the test */
};

void hd_rt_check(void (*body)(void *), void *arg, const struct hd_check_options *options,
                 struct hd_check_result *result, size_t size) __attribute__((weak));

/* Runs body(arg) under every schedule that matters, from the state that the process is in now, and comes back as if it
 * had not run. It is over when the body has returned and all threads it started have ended. Returns a result that a
 * test can look at. No other thread may be running when this is called.
 *
 * In a program that was not built with `heddle cc`, and in one that is itself run by `heddle check`, the body just
 * runs once. */
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

/* Whether nothing speaks against it: no finding, and no error. */
static inline hd_truth hd_check_passed(const struct hd_check_result *r) {
  return r->verdict != HD_CHECK_BUG && r->verdict != HD_CHECK_ERROR;
}

#ifdef __cplusplus
}
#endif

#endif

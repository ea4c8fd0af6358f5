/* check.h: between the files of hd_check: check_start.c, check.c, check_copy.c, check_calls.c. */
#ifndef HD_RUNTIME_CHECK_H
#define HD_RUNTIME_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/abi.h"

struct hd_check_result;

/* ---- check_start.c ---- */

/* What a call of hd_check can do in this process. */
enum hd_way {
  HD_WAY_NO_CALLS, /* nothing in the program names hd_check */
  HD_WAY_LATE,     /* the runtime was loaded when the process had long started */
  HD_WAY_FREE,     /* search */
  HD_WAY_REPLAY,   /* return stored results, until the call in which the failure was found */
};

/* This process as it was started. */
extern struct hd_process {
  enum hd_way way;
  char **argv, **envp;
  char folder[HD_PATH_MAX];
} hd__process;

/* Before all constructors. `how` is the value of HD_CTL_ENV, NULL if it is not set: a program that uses hd_check
 * restarts itself then. `late`: the runtime is loaded by a program that runs already. */
void hd__check_begin(const char *how, bool late, char **argv, char **envp);
/* Before main: libc can be used. */
void hd__check_start(char **argv, char **envp);
/* In a replay: output is visible again from here on. */
void hd__show_output(void);
/* Raises the limit of open files: a search uses descriptors above those that programs use (abi.h). */
bool hd__raise_file_limit(void);
/* The value of an environment variable, or NULL. */
const char *hd__variable(char **envp, const char *name);
unsigned hd__count_words(char **words);

/* ---- check_copy.c ---- */

/* What is searched, and the stack pointer at the call of hd_check. */
struct hd_body {
  void (*fn)(void *);
  void *arg;
  uint64_t frame;
};
/* Takes control of this process and searches the body. */
_Noreturn void hd__run_body(const struct hd_body *b);
/* The template: makes a copy of itself for each request on the socket. */
_Noreturn void hd__serve_copies(int socket, const struct hd_body *body);
/* Calls f for each name in a folder of /proc that is a number. */
void hd__each_number(const char *folder, void (*f)(int number, void *arg), void *arg);

/* ---- check_calls.c ---- */

/* Opens a file for the results of calls, above the descriptors that the program uses. */
void hd__calls_open(void);
/* Marks a call as under way in that file, so that a call which never returns leaves its mark. */
void hd__calls_begin(uint64_t key);
void hd__calls_record(uint64_t key, const struct hd_check_result *r);
/* Reads what this call returned when the failure was found. Returns false if this is the call it was found in. Ends
 * the process if it has reached another call. */
bool hd__calls_recall(uint64_t key, struct hd_check_result *r);

#endif

/* check.h: what check.c needs of the beginning of the process, and gives to it. */
#ifndef HD_RUNTIME_CHECK_H
#define HD_RUNTIME_CHECK_H

#include <stdbool.h>
#include <stdint.h>

/* Before all constructors. `how` is what HD_CTL_ENV says, NULL if nothing: a program that uses hd_check begins anew
 * then. `late`: the runtime is loaded by a program that runs already. */
void hd__check_begin(const char *how, bool late, char **argv, char **envp);
/* Before main: libc can be used. */
void hd__check_start(char **argv, char **envp);

struct hd_check_result;
/* A new file for the results of calls, out of the way of the program's own descriptors. */
void hd__calls_open(void);
/* A call is under way: noted where its result will be, so that nothing is left of one that does not come back. */
void hd__calls_begin(uint64_t key);
void hd__calls_record(uint64_t key, const struct hd_check_result *r);
/* What this call returned when the failure was found. False: this is the call it was found in. Does not return if the
 * process has come to another call. */
bool hd__calls_recall(uint64_t key, struct hd_check_result *r);

#endif

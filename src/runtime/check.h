/* check.h: what check.c needs of the beginning of the process, and gives to it. */
#ifndef HD_RUNTIME_CHECK_H
#define HD_RUNTIME_CHECK_H

#include <stdint.h>

/* Before all constructors. `how` is what HD_CTL_ENV says, NULL if nothing: a program that uses hd_check begins anew
 * then. */
void hd__check_begin(const char *how, char **argv, char **envp);
/* Before main: libc can be used. */
void hd__check_start(char **argv, char **envp);
/* Takes control of this process, which has only one thread, with body(arg) in the place of main, on the stack below
 * `top`. */
_Noreturn void hd__drive_callback(void (*body)(void *), void *arg, uint64_t top);

#endif

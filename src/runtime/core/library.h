/* library.h: libraries that are loaded while the program runs, and may be unloaded beside other threads (library.c). */
#ifndef HD_RUNTIME_LIBRARY_H
#define HD_RUNTIME_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* Whether a call of dlopen is under way (wrap/library.c). */
bool hd__loads_library(void);
/* To be called before dlopen: what is loaded by then stays. */
void hd__libraries_first(void);
/* The loader has loaded something, or removed it. */
void hd__libraries_look(void);
/* There are other threads from now on: code is watched if that matters. */
void hd__libraries_watch(void);
/* No code is watched any longer: in a child of the program. */
void hd__libraries_release(void);
/* A thread that has entered a library has reached a scheduling point. */
void hd__libraries_leave(void);
/* For a handler of faults: whether a thread was about to run watched code. If that is an operation, it does not return. */
bool hd__library_fault(const ucontext_t *uc);
/* Whether unmapping the memory unloads a library beside other threads. */
bool hd__library_unmaps(uint64_t at, uint64_t size);
/* The running thread is about to use its handle: an operation like running its code. */
void hd__library_handle(const void *handle, uint64_t pc);
/* The running thread is about to unload it: an operation. */
void hd__library_unload(uint64_t at, uint64_t size, uint64_t pc);

#endif

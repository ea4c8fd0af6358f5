/* modules.h: the program and its libraries: whose code an address is, and names for places that are the same in
 * every process (modules.c). */
#ifndef HD_RUNTIME_MODULES_H
#define HD_RUNTIME_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/util.h"

struct dl_phdr_info;

/* Records the loaded modules in the control block. */
void hd__modules_record(void);
/* Publishes where everything is that has a name in every process (model/layout.h). */
void hd__layout_publish(void);
/* A program counter in a form that is the same in every process, wherever the module was loaded. */
uint64_t hd__stable(uint64_t pc);
/* Whether pc is code of the program, or of a library of its own. */
bool hd__user_text(uint64_t pc);
/* The call in the program's own code that led to pc, searched on the stack from sp up; pc if there is none. */
uint64_t hd__user_pc(uint64_t pc, uint64_t sp);
/* Whether a path names a library of the system rather than one of the user's. */
bool hd__system_path(const char *path);
/* Whether a thread that starts there belongs to a library whose accesses and atomic operations are not seen. */
bool hd__foreign_start(uint64_t start, const void *arg);
/* Where the code of the program begins in a thread that starts there; a std::thread starts in the C++ library. */
uint64_t hd__start_code(uint64_t start, const void *arg);
/* The program has a second thread: what several threads may call that is not seen is noted, now or when they do. */
void hd__threads_begin(void);
/* ---- plain.c: libraries that are no part of the system and have no hooks ---- */
void hd__plain_add(const struct dl_phdr_info *info);
/* From now on a call is noted, if it is made beside other threads. */
HD_EACH void hd__plain_watch(void);
/* Until the next hd__plain_watch none is. */
void hd__plain_release(void);
/* A library may be gone. */
void hd__plain_closed(void);
/* For a handler of faults: whether the fault was such a call, which continues then. */
bool hd__plain_fault(uint64_t pc);

/* Whether the address lies in the shared C++ library. */
bool hd__cxx_library(uint64_t addr);
/* The loaded segment that contains addr. Returns false if there is none. pre: not inside an execution. */
bool hd__segment_of(uint64_t addr, uint64_t *lo, uint64_t *hi);
/* Where the program is loaded. pre: the modules are recorded. */
uint64_t hd__program_base(void);
/* Calls f for each symbol that the module imports, until f returns true. Returns whether it did. */
bool hd__module_names(const struct dl_phdr_info *info, bool (*f)(const char *name, void *arg), void *arg);
/* The same for the program and its own libraries. */
void hd__each_needed_name(bool (*f)(const char *name, void *arg), void *arg);

#endif

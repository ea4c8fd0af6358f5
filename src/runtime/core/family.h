/* family.h: threads that may be interchangeable (explore/symmetry.c says when they are). */
#ifndef HD_RUNTIME_FAMILY_H
#define HD_RUNTIME_FAMILY_H

#include "runtime/core/core.h"

void hd__family_init(void);
/* The running thread is about to create the thread of that number, its n-th. `plain`: nothing but these arguments makes it
 * other than those created before. */
void hd__family_add(unsigned number, unsigned nth, bool plain, void *(*fn)(void *), void *arg, uint64_t how);
/* Those that the running thread creates from here on are interchangeable, whatever their arguments. */
void hd__family_assert(void);
/* The running thread has joined t. `result`: what t returned, if it has asked for that. */
void hd__family_joined(const struct hd_thread *t, void *const *result);
/* The running thread gets something that depends on which thread it is, and is neither an address of its stack, heap or
 * thread-local storage nor a copy of what it was created with. */
void hd__family_name(void);
/* The program uses the address as more than the name of an object: it makes a number of it, */
void hd__family_address(uint64_t addr);
/* or compares two for order. */
void hd__family_addresses(uint64_t a, uint64_t b);
void hd__family_syscall(long nr, const long *a);
/* Memory at that address has become visible. */
void hd__family_visible(uint64_t addr);
/* No two threads are interchangeable any more. */
void hd__family_none(void);
/* The running thread is joining a family, and reads what other threads have written. */
void hd__family_reads(void);

#endif

/* util.h: what replaces libc inside the runtime: macros, memory, strings (util.c). */
#ifndef HD_RUNTIME_UTIL_H
#define HD_RUNTIME_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function that every execution calls, though not often: it stands beside those that are hot, so that a forked execution
 * faults in few pages of code. */
#define HD_EACH __attribute__((hot))
#define HD_EXPORT __attribute__((visibility("default")))
/* Code of ours that does what code of the program would do: endless.c looks at its states, too. */
#define HD_AS_PROGRAM __attribute__((section("heddle_program"), noinline))
/* Exports the function as "name@version" for the dynamic linker only; versions.map lists the versions. */
#define HD_STANDS_FOR(function, name_at_version) __asm__(".symver " #function ", " name_at_version ", remove")
#define HD_LIKELY(x) __builtin_expect(!!(x), 1)
#define HD_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define HD_CALLER ((uint64_t)__builtin_return_address(0))
#define HD_BUG_ON(c) (HD_UNLIKELY(c) ? hd__bug(#c, __FILE__, __LINE__) : (void)0)
#define HD_PAGE 4096ull
/* A variable that belongs to the execution under way: a checkpoint restores it (checkpoint.c). Every variable of the
 * runtime that a restart resets, or that holds an rt.epoch, is one, unless its file restores it otherwise. */
#define HD_EXEC __attribute__((section("hd_exec")))
/* The same for one that is large: it is restored by pages, where it was written to. */
#define HD_EXEC_LARGE __attribute__((section("hd_exec_large")))

/* Records a bug of ours and ends the process (finding.c). */
_Noreturn void hd__bug(const char *cond, const char *file, int line);
/* Ends the process at once. */
_Noreturn void hd__die(int code);
_Noreturn void hd__die_by(int sig); /* whatever the program does about that signal */

/* Returns zeroed memory of the runtime's own, NULL on failure. */
void *hd__map(size_t size);
/* A program that runs once spends much of its time on page faults where much memory is touched for the first time: this
 * gets large pages then. In a search, pages are touched once and used in every execution. */
#define HD_LARGE_PAGE (2ull << 20)
void hd__large_pages(uint64_t at, uint64_t size);
/* The end of the hd__map area that contains `a`, 0 if there is none. */
uint64_t hd__map_end(uint64_t a);
/* Nanoseconds: of the processor that this thread has used, and of a clock that runs on. */
uint64_t hd__cpu_time(void);
uint64_t hd__real_time(void);
HD_EACH void hd__copy(void *to, const void *from, size_t n);
HD_EACH void hd__zero(void *to, size_t n);

size_t hd__strlen(const char *s);
bool hd__streq(const char *a, const char *b);
bool hd__starts(const char *s, const char *with);
bool hd__starts_n(const char *s, const char *with, size_t n);
/* Formats into a bounded string: %s %d %u %x (64-bit arguments) only. Returns the length it would have. */
size_t hd__format(char *buf, size_t cap, const char *fmt, ...);

#endif

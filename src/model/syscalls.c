/* syscalls.c: the table of system calls, made of syscalls.def. Linked into both binaries. */
#include "model/syscalls.h"

#include <stddef.h>
#include <sys/syscall.h>

static const struct hd_syscall table[] = {
#define HD_SYSCALL(name, class, fd) [SYS_##name] = {#name, HD_CALL_##class, fd},
#include "model/syscalls.def"
#undef HD_SYSCALL
};

const struct hd_syscall *hd_syscall(long nr) {
  static const struct hd_syscall unlisted = {.name = NULL, .class = HD_CALL_UNKNOWN, .fd = -1};
  return nr >= 0 && (size_t)nr < sizeof table / sizeof *table && table[nr].name ? &table[nr] : &unlisted;
}

/* syscalls.h: what each system call can do to other threads (syscalls.def). Linked into both binaries. */
#ifndef HD_MODEL_SYSCALLS_H
#define HD_MODEL_SYSCALLS_H

#include <stdint.h>

/* The classes of syscalls.def. */
enum hd_call_class {
  HD_CALL_UNKNOWN,
  HD_CALL_IN,
  HD_CALL_OUT,
  HD_CALL_LOOK,
  HD_CALL_CONTENTS,
  HD_CALL_POSITION,
  HD_CALL_USE,
  HD_CALL_OPTION,
  HD_CALL_SHUT,
  HD_CALL_CLOSE,
  HD_CALL_DUP,
  HD_CALL_DUP2,
  HD_CALL_RANGE,
  HD_CALL_CONTROL,
  HD_CALL_LOCK,
  HD_CALL_MOVE,
  HD_CALL_OPENS,
  HD_CALL_NAMES,
  HD_CALL_OPERATION,
  HD_CALL_MEMORY,
  HD_CALL_STATE,
  HD_CALL_OWN,
};

struct hd_syscall {
  const char *name; /* NULL: not listed */
  uint8_t class;    /* enum hd_call_class */
  int8_t fd;        /* argument that is a descriptor, -1 for none */
};

/* The entry of a number; one that is not listed is UNKNOWN. */
const struct hd_syscall *hd_syscall(long nr);

#endif

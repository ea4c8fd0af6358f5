/* names.c: names of files that functions of libc read for their caller. Runs in the tested process.
 *
 * sysguard.c and kernel/files.c serve the system calls themselves, whoever makes them. The call gets the name as it was
 * when it was read. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "runtime/wrap/results.h"

#define NAME(s) s = READS_STRING(s)

/* ---- open ---- */

/* Not variadic, as fcntl in arguments.c. */
#define OPEN(name)                                                                            \
  HD_EXPORT int hd_rt_##name(const char *path, int flags, mode_t mode) __asm__(#name);        \
  int hd_rt_##name(const char *path, int flags, mode_t mode) {                                \
    static void *found;                                                                       \
    hd__real_init();                                                                          \
    NAME(path);                                                                               \
    return ((int (*)(const char *, int, ...))hd__original(&found, #name))(path, flags, mode); \
  }
#define OPENAT(name)                                                                                    \
  HD_EXPORT int hd_rt_##name(int dir, const char *path, int flags, mode_t mode) __asm__(#name);         \
  int hd_rt_##name(int dir, const char *path, int flags, mode_t mode) {                                 \
    static void *found;                                                                                 \
    hd__real_init();                                                                                    \
    NAME(path);                                                                                         \
    return ((int (*)(int, const char *, int, ...))hd__original(&found, #name))(dir, path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
CALL(int, creat, (const char *path, mode_t mode), (path, mode), NAME(path))
CALL(int, creat64, (const char *path, mode_t mode), (path, mode), NAME(path))
CALL(FILE *, fopen, (const char *restrict path, const char *restrict mode), (path, mode), NAME(path);
     NAME(mode))
CALL(FILE *, fopen64, (const char *restrict path, const char *restrict mode), (path, mode), NAME(path);
     NAME(mode))
CALL(int, memfd_create, (const char *name, unsigned flags), (name, flags), NAME(name))
CALL(int, shm_open, (const char *name, int flags, mode_t mode), (name, flags, mode), NAME(name))
CALL(int, shm_unlink, (const char *name), (name), NAME(name))
CALL(int, inotify_add_watch, (int fd, const char *path, uint32_t mask), (fd, path, mask), NAME(path))

/* ---- folders ---- */

CALL(int, unlink, (const char *path), (path), NAME(path))
CALL(int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags), NAME(path))
CALL(int, remove, (const char *path), (path), NAME(path))
CALL(int, rmdir, (const char *path), (path), NAME(path))
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode), NAME(path))
CALL(int, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode), NAME(path))
CALL(int, mkfifo, (const char *path, mode_t mode), (path, mode), NAME(path))
CALL(int, mkfifoat, (int dir, const char *path, mode_t mode), (dir, path, mode), NAME(path))
CALL(int, rename, (const char *from, const char *to), (from, to), NAME(from); NAME(to))
CALL(int, renameat, (int dir, const char *from, int dir2, const char *to), (dir, from, dir2, to), NAME(from);
     NAME(to))
CALL(int, renameat2, (int dir, const char *from, int dir2, const char *to, unsigned flags),
     (dir, from, dir2, to, flags), NAME(from);
     NAME(to))
CALL(int, link, (const char *from, const char *to), (from, to), NAME(from); NAME(to))
CALL(int, linkat, (int dir, const char *from, int dir2, const char *to, int flags),
     (dir, from, dir2, to, flags), NAME(from);
     NAME(to))
CALL(int, symlink, (const char *from, const char *to), (from, to), NAME(from); NAME(to))
CALL(int, symlinkat, (const char *from, int dir, const char *to), (from, dir, to), NAME(from); NAME(to))
CALL(int, chdir, (const char *path), (path), NAME(path))

/* ---- what a file is like ---- */

CALL(int, access, (const char *path, int mode), (path, mode), NAME(path))
CALL(int, faccessat, (int dir, const char *path, int mode, int flags), (dir, path, mode, flags), NAME(path))
CALL(int, truncate, (const char *path, off_t n), (path, n), NAME(path))
CALL(int, truncate64, (const char *path, off64_t n), (path, n), NAME(path))
CALL(int, chmod, (const char *path, mode_t mode), (path, mode), NAME(path))
CALL(int, fchmodat, (int dir, const char *path, mode_t mode, int flags), (dir, path, mode, flags), NAME(path))
CALL(int, chown, (const char *path, uid_t user, gid_t group), (path, user, group), NAME(path))
CALL(int, lchown, (const char *path, uid_t user, gid_t group), (path, user, group), NAME(path))
CALL(int, fchownat, (int dir, const char *path, uid_t user, gid_t group, int flags),
     (dir, path, user, group, flags), NAME(path))
CALL(int, utime, (const char *path, const struct utimbuf *t), (path, t), NAME(path); READS(t, sizeof *t))
CALL(int, utimes, (const char *path, const struct timeval t[2]), (path, t), NAME(path);
     READS(t, 2 * sizeof *t))
CALL(int, lutimes, (const char *path, const struct timeval t[2]), (path, t), NAME(path);
     READS(t, 2 * sizeof *t))
CALL(int, utimensat, (int dir, const char *path, const struct timespec t[2], int flags),
     (dir, path, t, flags), NAME(path);
     READS(t, 2 * sizeof *t))
CALL(int, setxattr, (const char *path, const char *name, const void *v, size_t n, int flags),
     (path, name, v, n, flags), NAME(path);
     NAME(name); READS(v, n))
CALL(int, fsetxattr, (int fd, const char *name, const void *v, size_t n, int flags), (fd, name, v, n, flags),
     NAME(name);
     READS(v, n))
RESULT(ssize_t, getxattr, (const char *path, const char *name, void *v, size_t n), (path, name, v, n),
       NAME(path);
       NAME(name), r > 0 && n, WRITES(v, (size_t)r))
RESULT(ssize_t, fgetxattr, (int fd, const char *name, void *v, size_t n), (fd, name, v, n), NAME(name),
       r > 0 && n, WRITES(v, (size_t)r))
CALL(int, lsetxattr, (const char *path, const char *name, const void *v, size_t n, int flags),
     (path, name, v, n, flags), NAME(path);
     NAME(name); READS(v, n))
CALL(int, removexattr, (const char *path, const char *name), (path, name), NAME(path); NAME(name))
CALL(int, lremovexattr, (const char *path, const char *name), (path, name), NAME(path); NAME(name))
CALL(int, fremovexattr, (int fd, const char *name), (fd, name), NAME(name))
RESULT(ssize_t, lgetxattr, (const char *path, const char *name, void *v, size_t n), (path, name, v, n),
       NAME(path);
       NAME(name), r > 0 && n, WRITES(v, (size_t)r))
RESULT(ssize_t, llistxattr, (const char *path, char *list, size_t n), (path, list, n), NAME(path), r > 0 && n,
       WRITES(list, (size_t)r))
RESULT(ssize_t, flistxattr, (int fd, char *list, size_t n), (fd, list, n), NOTHING, r > 0 && n,
       WRITES(list, (size_t)r))
RESULT(ssize_t, listxattr, (const char *path, char *list, size_t n), (path, list, n), NAME(path), r > 0 && n,
       WRITES(list, (size_t)r))

/* large.c: the names under which programs with _FILE_OFFSET_BITS=64 call functions of libc. Runs in the tested process.
 *
 * On 64-bit systems both names mean the same. Each of these is a jump to the other one, which takes the caller of this one
 * for its own. (Functions of files that few programs call under one name only are wrapped with both, where they are.) */
#include <aio.h>
#include <dirent.h>
#include <ftw.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/wrap/access.h"

_Static_assert(sizeof(struct aiocb) == sizeof(struct aiocb64) && sizeof(glob_t) == sizeof(glob64_t) &&
                   sizeof(struct dirent) == sizeof(struct dirent64) && sizeof(off_t) == sizeof(off64_t),
               "both names mean the same");

#define LARGE(ret, name, params, args) \
  HD_EXPORT ret name##64 params;       \
  ret name##64 params { return name args; }

LARGE(ssize_t, pread, (int fd, void *d, size_t n, off64_t at), (fd, d, n, at))
LARGE(ssize_t, pwrite, (int fd, const void *d, size_t n, off64_t at), (fd, d, n, at))
LARGE(int, mkstemp, (char *path), (path))
LARGE(int, mkostemp, (char *path, int flags), (path, flags))
LARGE(int, mkstemps, (char *path, int n), (path, n))
LARGE(int, mkostemps, (char *path, int n, int flags), (path, n, flags))
LARGE(int, fstatfs, (int fd, struct statfs64 *st), (fd, (struct statfs *)st))
LARGE(int, setrlimit, (__rlimit_resource_t which, const struct rlimit64 *l),
      (which, (const struct rlimit *)l))
LARGE(int, prlimit,
      (pid_t pid, enum __rlimit_resource which, const struct rlimit64 *new, struct rlimit64 *old),
      (pid, which, (const struct rlimit *)new, (struct rlimit *)old))
LARGE(int, glob,
      (const char *restrict pattern, int flags, int (*failed)(const char *, int), glob64_t *restrict g),
      (pattern, flags, failed, (glob_t *)g))
LARGE(int, scandir,
      (const char *restrict path, struct dirent64 ***restrict names, int (*wanted)(const struct dirent64 *),
       int (*order)(const struct dirent64 **, const struct dirent64 **)),
      (path, (struct dirent ***)names, (int (*)(const struct dirent *))(void *)wanted,
       (int (*)(const struct dirent **, const struct dirent **))(void *)order))

HD_EXPORT ssize_t preadv64v2(int fd, const struct iovec *v, int n, off64_t at, int flags);
ssize_t preadv64v2(int fd, const struct iovec *v, int n, off64_t at, int flags) {
  return preadv2(fd, v, n, at, flags);
}
HD_EXPORT ssize_t pwritev64v2(int fd, const struct iovec *v, int n, off64_t at, int flags);
ssize_t pwritev64v2(int fd, const struct iovec *v, int n, off64_t at, int flags) {
  return pwritev2(fd, v, n, at, flags);
}

/* ---- asynchronous requests ---- */

LARGE(int, aio_read, (struct aiocb64 * cb), ((struct aiocb *)cb))
LARGE(int, aio_write, (struct aiocb64 * cb), ((struct aiocb *)cb))
LARGE(int, aio_fsync, (int how, struct aiocb64 *cb), (how, (struct aiocb *)cb))
LARGE(ssize_t, aio_return, (struct aiocb64 * cb), ((struct aiocb *)cb))
LARGE(int, aio_cancel, (int fd, struct aiocb64 *cb), (fd, (struct aiocb *)cb))
LARGE(int, aio_suspend, (const struct aiocb64 *const list[], int n, const struct timespec *restrict limit),
      ((const struct aiocb *const *)list, n, limit))
LARGE(int, lio_listio, (int mode, struct aiocb64 *const list[restrict], int n, struct sigevent *restrict e),
      (mode, (struct aiocb *const *)list, n, e))

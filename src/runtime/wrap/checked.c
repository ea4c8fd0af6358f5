/* checked.c: more of the functions that _FORTIFY_SOURCE substitutes. Runs in the tested process.
 *
 * They also get the size of the destination. Each ends with a jump to the function that it checks for, which takes the
 * caller of this one for its own. (string.c, format.c, stdio.c and wide.c have those that do more.) */
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wchar.h>

#include "runtime/wrap/access.h"

#define CHECKED(ret, name, params, fits, args) \
  HD_EXPORT ret __##name##_chk params;         \
  ret __##name##_chk params {                  \
    if (!(fits)) hd__overflows(HD_CALLER);     \
    return name args;                          \
  }

/* ---- files ---- */

CHECKED(ssize_t, read, (int fd, void *d, size_t n, size_t room), n <= room, (fd, d, n))
CHECKED(ssize_t, pread, (int fd, void *d, size_t n, off_t at, size_t room), n <= room, (fd, d, n, at))
CHECKED(ssize_t, pread64, (int fd, void *d, size_t n, off64_t at, size_t room), n <= room, (fd, d, n, at))
CHECKED(ssize_t, readlink, (const char *path, char *d, size_t n, size_t room), n <= room, (path, d, n))
CHECKED(ssize_t, readlinkat, (int fd, const char *path, char *d, size_t n, size_t room), n <= room,
        (fd, path, d, n))
CHECKED(char *, getcwd, (char *d, size_t n, size_t room), n <= room, (d, n))
CHECKED(char *, realpath, (const char *path, char *d, size_t room), room >= PATH_MAX, (path, d))
CHECKED(ssize_t, recv, (int fd, void *d, size_t n, size_t room, int flags), n <= room, (fd, d, n, flags))
CHECKED(ssize_t, recvfrom,
        (int fd, void *d, size_t n, size_t room, int flags, struct sockaddr *from, socklen_t *length),
        n <= room, (fd, d, n, flags, from, length))
CHECKED(int, poll, (struct pollfd * p, nfds_t n, int ms, size_t room), n <= room / sizeof *p, (p, n, ms))
CHECKED(int, ppoll,
        (struct pollfd * p, nfds_t n, const struct timespec *t, const sigset_t *mask, size_t room),
        n <= room / sizeof *p, (p, n, t, mask))

/* These have no size, but miss the mode. */
#define NO_MODE(name, real, params, flags, args)            \
  HD_EXPORT int name params;                                \
  int name params {                                         \
    if (__OPEN_NEEDS_MODE(flags)) hd__overflows(HD_CALLER); \
    return real args;                                       \
  }
NO_MODE(__open_2, open, (const char *path, int flags), flags, (path, flags))
NO_MODE(__open64_2, open64, (const char *path, int flags), flags, (path, flags))
NO_MODE(__openat_2, openat, (int dir, const char *path, int flags), flags, (dir, path, flags))
NO_MODE(__openat64_2, openat64, (int dir, const char *path, int flags), flags, (dir, path, flags))

/* ---- the process and the system ---- */

CHECKED(size_t, confstr, (int name, char *d, size_t n, size_t room), n <= room, (name, d, n))
CHECKED(int, getgroups, (int n, gid_t *d, size_t room), n < 0 || (size_t)n <= room / sizeof *d, (n, d))
CHECKED(int, ttyname_r, (int fd, char *d, size_t n, size_t room), n <= room, (fd, d, n))
CHECKED(int, ptsname_r, (int fd, char *d, size_t n, size_t room), n <= room, (fd, d, n))
CHECKED(int, getlogin_r, (char *d, size_t n, size_t room), n <= room, (d, n))
CHECKED(int, gethostname, (char *d, size_t n, size_t room), n <= room, (d, n))
CHECKED(int, getdomainname, (char *d, size_t n, size_t room), n <= room, (d, n))

/* ---- streams ---- */

#undef fgets_unlocked
CHECKED(char *, fgets, (char *d, size_t room, int n, FILE *f), n <= 0 || (size_t)n <= room, (d, n, f))
CHECKED(char *, fgets_unlocked, (char *d, size_t room, int n, FILE *f), n <= 0 || (size_t)n <= room,
        (d, n, f))
CHECKED(wchar_t *, fgetws, (wchar_t * d, size_t room, int n, FILE *f), n <= 0 || (size_t)n <= room, (d, n, f))
#undef fread_unlocked
CHECKED(size_t, fread, (void *d, size_t room, size_t size, size_t n, FILE *f), !size || n <= room / size,
        (d, size, n, f))
CHECKED(size_t, fread_unlocked, (void *d, size_t room, size_t size, size_t n, FILE *f),
        !size || n <= room / size, (d, size, n, f))

/* ---- strings ---- */

CHECKED(char *, stpncpy, (char *d, const char *s, size_t n, size_t room), n <= room, (d, s, n))

/* Of wide characters the sizes count, too. */
#define WIDE(ret, name, params, fits, args) CHECKED(ret, name, params, fits, args)
static size_t wide_length(const wchar_t *s, size_t max) {
  size_t n = 0;
  while (n < max && s[n]) n++;
  return n;
}
WIDE(wchar_t *, wmemcpy, (wchar_t * d, const wchar_t *s, size_t n, size_t room), n <= room, (d, s, n))
WIDE(wchar_t *, wmemmove, (wchar_t * d, const wchar_t *s, size_t n, size_t room), n <= room, (d, s, n))
WIDE(wchar_t *, wmempcpy, (wchar_t * d, const wchar_t *s, size_t n, size_t room), n <= room, (d, s, n))
WIDE(wchar_t *, wmemset, (wchar_t * d, wchar_t c, size_t n, size_t room), n <= room, (d, c, n))
WIDE(wchar_t *, wcscpy, (wchar_t * d, const wchar_t *s, size_t room), wide_length(s, room) < room, (d, s))
WIDE(wchar_t *, wcpcpy, (wchar_t * d, const wchar_t *s, size_t room), wide_length(s, room) < room, (d, s))
WIDE(wchar_t *, wcsncpy, (wchar_t * d, const wchar_t *s, size_t n, size_t room), n <= room, (d, s, n))
WIDE(wchar_t *, wcpncpy, (wchar_t * d, const wchar_t *s, size_t n, size_t room), n <= room, (d, s, n))
WIDE(wchar_t *, wcscat, (wchar_t * d, const wchar_t *s, size_t room),
     wide_length(d, room) + wide_length(s, room) < room, (d, s))
WIDE(wchar_t *, wcsncat, (wchar_t * d, const wchar_t *s, size_t n, size_t room),
     wide_length(d, room) + wide_length(s, n < room ? n : room) < room, (d, s, n))

/* ---- characters of several bytes ---- */

CHECKED(int, wctomb, (char *d, wchar_t c, size_t room), room >= MB_CUR_MAX, (d, c))
CHECKED(size_t, wcrtomb, (char *d, wchar_t c, mbstate_t *p, size_t room), !d || room >= MB_CUR_MAX, (d, c, p))
CHECKED(size_t, mbstowcs, (wchar_t * d, const char *s, size_t n, size_t room), n <= room, (d, s, n))
CHECKED(size_t, wcstombs, (char *d, const wchar_t *s, size_t n, size_t room), n <= room, (d, s, n))
CHECKED(size_t, mbsrtowcs, (wchar_t * d, const char **s, size_t n, mbstate_t *p, size_t room), n <= room,
        (d, s, n, p))
CHECKED(size_t, wcsrtombs, (char *d, const wchar_t **s, size_t n, mbstate_t *p, size_t room), n <= room,
        (d, s, n, p))
CHECKED(size_t, mbsnrtowcs, (wchar_t * d, const char **s, size_t k, size_t n, mbstate_t *p, size_t room),
        n <= room, (d, s, k, n, p))
CHECKED(size_t, wcsnrtombs, (char *d, const wchar_t **s, size_t k, size_t n, mbstate_t *p, size_t room),
        n <= room, (d, s, k, n, p))

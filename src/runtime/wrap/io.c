/* io.c: memory that input and output access. Runs in the tested process.
 *
 * sysguard.c and kernel/io.c serve the system calls themselves, whoever makes them. These wrappers add what only a
 * call by name shows: which memory of the program is read or written. libc's own calls, from inside stdio, do not
 * come this way, so the buffers of a stream, which its lock protects, do not count. */
#include <dlfcn.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/symbolic/sources.h"
#include "runtime/symbolic/symbolic.h"
#include "runtime/wrap/wrap.h"

#define WRITES HD_A_WRITE

static void touch(const void *at, size_t n, unsigned flags, uint64_t pc) {
  if (!at || !n) return;
  hd__block_check((uint64_t)at, n, flags, pc);
  hd__access_slow((uint64_t)at, n, flags, pc);
  if (!(flags & WRITES)) hd__symbolic_reads(at, n, pc);
}

static void touch_vector(const struct iovec *v, size_t nv, size_t n, unsigned flags, uint64_t pc) {
  if (!flags) touch(v, nv * sizeof *v, 0, pc);
  for (size_t i = 0; i < nv && n; i++) {
    size_t k = v[i].iov_len < n ? v[i].iov_len : n;
    touch(v[i].iov_base, k, flags, pc);
    n -= k;
  }
}

/* ---- output reads memory, before the call ---- */

HD_EXPORT ssize_t write(int fd, const void *buf, size_t n) {
  hd__real_init();
  if (hot.active) touch(buf, n, 0, HD_CALLER);
  return real_write(fd, buf, n);
}

HD_EXPORT ssize_t pwrite(int fd, const void *buf, size_t n, off_t at) {
  hd__real_init();
  if (hot.active) touch(buf, n, 0, HD_CALLER);
  return real_pwrite(fd, buf, n, at);
}

HD_EXPORT ssize_t send(int fd, const void *buf, size_t n, int flags) {
  hd__real_init();
  if (hot.active) touch(buf, n, 0, HD_CALLER);
  return real_send(fd, buf, n, flags);
}

HD_EXPORT ssize_t sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to,
                         socklen_t len) {
  hd__real_init();
  if (hot.active) touch(buf, n, 0, HD_CALLER);
  if (hot.active) touch(to, len, 0, HD_CALLER);
  return real_sendto(fd, buf, n, flags, to, len);
}

HD_EXPORT ssize_t writev(int fd, const struct iovec *v, int nv) {
  hd__real_init();
  if (hot.active && nv > 0) touch_vector(v, (size_t)nv, SIZE_MAX, 0, HD_CALLER);
  return real_writev(fd, v, nv);
}

HD_EXPORT ssize_t sendmsg(int fd, const struct msghdr *m, int flags) {
  hd__real_init();
  if (hot.active) {
    touch(m, sizeof *m, 0, HD_CALLER);
    touch(m->msg_name, m->msg_namelen, 0, HD_CALLER);
    touch(m->msg_control, m->msg_controllen, 0, HD_CALLER);
    touch_vector(m->msg_iov, m->msg_iovlen, SIZE_MAX, 0, HD_CALLER);
  }
  return real_sendmsg(fd, m, flags);
}

/* ---- input writes memory, as much as came, after the call ---- */

HD_EXPORT ssize_t read(int fd, void *buf, size_t n) {
  hd__real_init();
  hd__source_direct(true);
  ssize_t r = real_read(fd, buf, n);
  hd__source_direct(false);
  if (hot.active && r > 0) touch(buf, (size_t)r, WRITES, HD_CALLER);
  return r;
}

HD_EXPORT ssize_t pread(int fd, void *buf, size_t n, off_t at) {
  hd__real_init();
  hd__source_direct(true);
  ssize_t r = real_pread(fd, buf, n, at);
  hd__source_direct(false);
  if (hot.active && r > 0) touch(buf, (size_t)r, WRITES, HD_CALLER);
  return r;
}

HD_EXPORT ssize_t recv(int fd, void *buf, size_t n, int flags) {
  hd__real_init();
  ssize_t r = real_recv(fd, buf, n, flags);
  if (hot.active && r > 0) touch(buf, (size_t)r < n ? (size_t)r : n, WRITES, HD_CALLER);
  return r;
}

HD_EXPORT ssize_t recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *from, socklen_t *len) {
  hd__real_init();
  ssize_t r = real_recvfrom(fd, buf, n, flags, from, len);
  if (hot.active && r > 0) touch(buf, (size_t)r < n ? (size_t)r : n, WRITES, HD_CALLER);
  if (hot.active && r >= 0 && from) {
    touch(len, sizeof *len, WRITES, HD_CALLER);
    touch(from, *len, WRITES, HD_CALLER);
  }
  return r;
}

HD_EXPORT ssize_t readv(int fd, const struct iovec *v, int nv) {
  hd__real_init();
  if (hot.active && nv > 0) touch(v, (size_t)nv * sizeof *v, 0, HD_CALLER);
  hd__source_direct(true);
  ssize_t r = real_readv(fd, v, nv);
  hd__source_direct(false);
  if (hot.active && r > 0) touch_vector(v, (size_t)nv, (size_t)r, WRITES, HD_CALLER);
  return r;
}

HD_EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags) {
  hd__real_init();
  if (hot.active) touch(m, sizeof *m, 0, HD_CALLER);
  if (hot.active) touch(m->msg_iov, m->msg_iovlen * sizeof *m->msg_iov, 0, HD_CALLER);
  ssize_t r = real_recvmsg(fd, m, flags);
  if (hot.active && r >= 0) {
    touch(m, sizeof *m, WRITES, HD_CALLER);
    touch(m->msg_name, m->msg_namelen, WRITES, HD_CALLER);
    touch(m->msg_control, m->msg_controllen, WRITES, HD_CALLER);
    touch_vector(m->msg_iov, m->msg_iovlen, (size_t)r, WRITES, HD_CALLER);
  }
  return r;
}

HD_EXPORT int epoll_wait(int fd, struct epoll_event *events, int max, int timeout) {
  hd__real_init();
  int r = real_epoll_wait(fd, events, max, timeout);
  if (hot.active && r > 0) touch(events, (size_t)r * sizeof *events, WRITES, HD_CALLER);
  return r;
}

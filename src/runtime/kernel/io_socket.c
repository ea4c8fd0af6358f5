/* io_socket.c: sockets: creating, naming and connecting them. Runs in the tested process, on the stack of the
 * thread that made the call.
 *
 * The kernel's sockets do the work. This file records which connections have both ends in this process: no other
 * process can end a wait at these, and one end receives exactly what the other has sent. Delivery over the loopback
 * device may not be complete when send returns, so it is waited for: otherwise what a thread finds would depend on
 * timing. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/state.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

#define SETTLE_MS 200

bool hd__socket_is_op(long nr, const long *a) {
  switch (nr) {
    case SYS_bind:
    case SYS_listen:
    case SYS_getsockname:
    case SYS_getpeername:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect: return true;
    case SYS_getsockopt: return a[1] == SOL_SOCKET && a[2] == SO_ACCEPTCONN;
    default: return false;
  }
}

/* ---- what the kernel has delivered ---- */

static struct hd_desc *other_end(const struct hd_desc *d) {
  for (int i = 0; i < 2; i++)
    if (d->chan->end[i] && d->chan->end[i]->out == d->in && d->chan->end[i]->fd >= 0) return d->chan->end[i];
  return NULL;
}

int hd__socket_waiting(const struct hd_desc *d) {
  struct hd_desc *to = d->inet && d->inside ? other_end(d) : NULL;
  int n = 0;
  if (to) hd_sys3(SYS_ioctl, to->fd, SIOCINQ, &n);
  return n;
}

static void pause_a_little(void) {
  struct timespec t = {0, 50000};
  hd_sys3(SYS_nanosleep, &t, 0, 0);
}

void hd__socket_settle(struct hd_desc *d, long sent, int waiting) {
  struct hd_desc *to = d->inet && d->inside ? other_end(d) : NULL;
  if (!to || sent < 0) return;
  if (sent == 0) { /* closed, or shut down */
    struct pollfd p = {to->fd, POLLRDHUP, 0};
    hd_sys3(SYS_poll, &p, 1, SETTLE_MS);
    return;
  }
  for (int i = 0; i < SETTLE_MS * 20 && hd__socket_waiting(d) < waiting + sent; i++) pause_a_little();
}

/* ---- listeners ---- */

union address {
  struct sockaddr sa;
  struct sockaddr_in in;
  struct sockaddr_in6 in6;
  struct sockaddr_un un;
  char room[128];
};

static bool same_place(const union address *listener, const union address *to) {
  if (listener->sa.sa_family == AF_UNIX && to->sa.sa_family == AF_UNIX) {
    if (!listener->un.sun_path[0] && !to->un.sun_path[0]) { /* abstract names may hold zeros */
      for (unsigned i = 1; i < sizeof to->un.sun_path; i++)
        if (listener->un.sun_path[i] != to->un.sun_path[i]) return false;
      return true;
    }
    return hd__streq(listener->un.sun_path, to->un.sun_path);
  }
  return listener->sa.sa_family == to->sa.sa_family && listener->in.sin_port == to->in.sin_port;
}

static struct hd_desc *listener_at(const void *addr, long len) {
  union address to = {.room = {0}}, at;
  if (len <= 0 || (size_t)len > sizeof to) return NULL;
  hd__copy(&to, addr, (size_t)len);
  for (struct hd_desc *d = hd__descs; d; d = d->next) {
    if (d->kind != HD_IO_SOCKET || !d->listening || d->fd < 0) continue;
    int n = sizeof at;
    hd__zero(&at, sizeof at);
    if (hd_sys3(SYS_getsockname, d->fd, &at, &n) == 0 && same_place(&at, &to)) return d;
  }
  return NULL;
}

/* ---- the calls ---- */

static struct hd_desc *new_socket(long domain, long type) {
  struct hd_desc *d = hd__desc_new(HD_IO_SOCKET, NULL);
  d->inside = false;
  d->inet = domain == AF_INET || domain == AF_INET6;
  d->stream = (type & 0xf) == SOCK_STREAM;
  d->in = d->out = 3;
  return d;
}

long hd__socket_create(const long *a) {
  long fd = hd__plain(SYS_socket, a);
  return fd < 0 ? fd : hd__fd_opened(fd, new_socket(a[0], a[1]));
}

static struct hd_desc *end_of(struct hd_chan *c, int side, long domain, long type) {
  struct hd_desc *d = hd__desc_new(HD_IO_SOCKET, c);
  d->inet = domain == AF_INET || domain == AF_INET6;
  d->stream = (type & 0xf) == SOCK_STREAM;
  d->in = side ? 2 : 1;
  d->out = side ? 1 : 2;
  c->end[side] = d;
  return d;
}

long hd__socket_pair(const long *a) {
  hd__snapshot_touch((uint64_t)a[3], 8);
  long r = hd__plain(SYS_socketpair, a);
  int *fd = (int *)a[3];
  if (r) return r;
  struct hd_chan *c = hd__chan_new(HD_IO_SOCKET);
  for (int i = 0; i < 2; i++) fd[i] = (int)hd__fd_opened(fd[i], end_of(c, i, a[0], a[1]));
  return 0;
}

/* Whether the address is a name in the file system; terminates it. */
static bool named(union address *to, const void *addr, long len) {
  if (len <= (long)sizeof to->sa.sa_family || (size_t)len >= sizeof *to) return false;
  hd__copy(to, addr, (size_t)len);
  return to->sa.sa_family == AF_UNIX && to->un.sun_path[0];
}

/* Whether the address names a port, which the kernel then does not choose, or an abstract name. */
static bool has_port(const void *addr, long len) {
  union address to = {.room = {0}};
  if (!addr || len <= (long)sizeof to.sa.sa_family || (size_t)len > sizeof to) return false;
  hd__copy(&to, addr, (size_t)len);
  bool inet = to.sa.sa_family == AF_INET || to.sa.sa_family == AF_INET6;
  return inet ? to.in.sin_port != 0 : to.sa.sa_family == AF_UNIX && !to.un.sun_path[0];
}

static long name_call(long nr, long *a, uint64_t pc) {
  struct hd_desc *d = hd__fd(a[0]);
  union address at = {.room = {0}};
  hd__io_world(HD_OP_IOCHANGE, 0, 0xffff, a[0], pc);
  bool makes = nr == SYS_bind && a[1] && named(&at, (void *)a[1], a[2]);
  if (nr == SYS_bind && has_port((void *)a[1], a[2])) {
    int on = 1; /* connections of earlier executions linger */
    hd__port_taken();
    hd_sys6(SYS_setsockopt, a[0], SOL_SOCKET, SO_REUSEADDR, (long)&on, sizeof on, 0);
  }
  long r = makes ? hd__name_bound(nr, a, at.un.sun_path) : hd__plain(nr, a);
  if (r == 0 && nr == SYS_listen && d) d->listening = true;
  hd__io_done(false);
  return r;
}

/* A socket of this process that receives messages at the address. */
static bool received_here(const void *addr, long len) {
  union address to = {.room = {0}}, at;
  if (!addr || len <= 0 || (size_t)len > sizeof to) return false;
  hd__copy(&to, addr, (size_t)len);
  for (struct hd_desc *d = hd__descs; d; d = d->next) {
    int n = sizeof at;
    if (d->kind != HD_IO_SOCKET || d->stream || d->fd < 0) continue;
    hd__zero(&at, sizeof at);
    if (hd_sys3(SYS_getsockname, d->fd, &at, &n) == 0 && same_place(&at, &to)) return true;
  }
  return false;
}

void hd__socket_sends(const struct hd_desc *d, long nr, const long *a) {
  const struct msghdr *m = nr == SYS_sendmsg ? (const struct msghdr *)a[1] : NULL;
  if (d->kind != HD_IO_SOCKET || d->stream || hd__state_learned(HD_STATE_CLIENTS)) return;
  if (nr == SYS_sendto ? received_here((void *)a[4], a[5]) : m && received_here(m->msg_name, m->msg_namelen))
    hd__state_learn(HD_STATE_CLIENTS);
}

static void append(struct hd_desc *listener, struct hd_chan *c) {
  struct hd_chan **p = &listener->queue;
  while (*p) p = &(*p)->next;
  *p = c;
}

/* A connection to a listener in this process becomes a channel with two ends; accept creates the second. */
static void connected(struct hd_desc *d, struct hd_desc *listener) {
  struct hd_chan *c = d->chan;
  d->inside = true;
  d->in = 1;
  d->out = 2;
  c->end[0] = d;
  struct hd_desc *to = end_of(c, 1, listener->inet ? AF_INET : AF_UNIX, SOCK_STREAM);
  to->unaccepted = to->looked = true;
  to->ready[1].on = true;
  append(listener, c);
  hd__state_learn(HD_STATE_CLIENTS);
  if (!listener->inet) return;
  struct pollfd p = {listener->fd, POLLIN, 0};
  hd_sys3(SYS_poll, &p, 1, SETTLE_MS);
}

static long connect_call(long *a, uint64_t pc) {
  struct hd_desc *d = hd__fd(a[0]), *l = listener_at((void *)a[1], a[2]);
  bool waits = !(hd_sys3(SYS_fcntl, a[0], F_GETFL, 0) & O_NONBLOCK);
  struct hd_item item = {d, 1};
  struct hd_io o = {.kind = HD_OP_CONNECT,
                    .object = l ? hd__object(l->chan) : 0,
                    .writes = 0xffff,
                    .fd = (int)a[0],
                    .timeout = HD_FOREVER,
                    .pc = pc};
  for (;;) {
    hd__io_point(&o);
    l = listener_at((void *)a[1], a[2]); /* it may have changed meanwhile */
    if (l) hd__io_publish(l->chan);
    long r = l || !waits ? hd__nowait(SYS_connect, a) : hd__plain(SYS_connect, a);
    if (r == -EINPROGRESS && waits) {
      struct pollfd p = {(int)a[0], POLLOUT, 0};
      hd_sys3(SYS_poll, &p, 1, SETTLE_MS);
      r = hd__nowait(SYS_connect, a);
      if (r == -EISCONN) r = 0;
    }
    if ((r == 0 || r == -EINPROGRESS) && l && d && d->stream) connected(d, l);
    if (!waits || !d || (r != -EAGAIN && r != -EALREADY)) {
      hd__io_done(false);
      return r;
    }
    hd__io_stalled(&o); /* the queue of the listener is full */
    hd__inexact(HD_INEXACT_IO_RETRIED, pc);
    o.item = &item;
    o.n = 1;
  }
}

static long accept_call(long nr, long *a, uint64_t pc) {
  struct hd_desc *l = hd__fd(a[0]);
  if (!l) {
    if (rt.cur->sys.point) hd__cancel_point(pc);
    return hd__plain(nr, a);
  }
  bool waits = !(hd_sys3(SYS_fcntl, a[0], F_GETFL, 0) & O_NONBLOCK);
  struct hd_item item = {l, 0};
  struct hd_io o = {.kind = HD_OP_ACCEPT,
                    .object = hd__object(l->chan),
                    .writes = 0xffff,
                    .item = &item,
                    .n = waits,
                    .fd = (int)a[0],
                    .timeout = l->limit[0] ? l->limit[0] : HD_FOREVER,
                    .pc = pc};
  for (;;) {
    bool late = hd__io_point(&o);
    hd__io_learn(l->chan);
    long r = hd__nowait(nr, a);
    if (r >= 0) {
      struct hd_chan *c = l->queue;
      if (c) {
        l->queue = c->next;
        r = hd__fd_opened(r, c->end[1]);
        c->end[1]->unaccepted = false;
      } else {
        r = hd__fd_opened(r, new_socket(l->inet ? AF_INET : AF_UNIX, SOCK_STREAM));
      }
    }
    if (r != -EAGAIN || !waits || late) {
      if (r == -EAGAIN && l->inside) hd__io_nothing();
      hd__io_done(late);
      return r;
    }
    hd__io_stalled(&o);
  }
}

/* Who has named or connected it comes before. */
static long address_call(long nr, const long *a, uint64_t pc) {
  hd__io_world(HD_OP_IOLOOK, 0xffff, 0, a[0], pc);
  long r = hd__plain(nr, a);
  hd__io_done(false);
  return r;
}

long hd__socket_call(long nr, long *a, uint64_t pc) {
  switch (nr) {
    case SYS_accept:
    case SYS_accept4: return accept_call(nr, a, pc);
    case SYS_connect: return connect_call(a, pc);
    case SYS_getsockname:
    case SYS_getpeername:
    case SYS_getsockopt: return address_call(nr, a, pc);
    default: return name_call(nr, a, pc);
  }
}

/* Time limits of a socket are virtual: the kernel does not see them. */
long hd__socket_option(long *a) {
  struct hd_desc *d = hd__fd(a[0]);
  bool in = a[2] == SO_RCVTIMEO, out = a[2] == SO_SNDTIMEO;
  if (!d || d->kind != HD_IO_SOCKET || a[1] != SOL_SOCKET || !(in || out) ||
      a[4] < (long)sizeof(struct timeval))
    return hd__plain(SYS_setsockopt, a);
  const struct timeval *t = (const struct timeval *)a[3];
  d->limit[out] = (uint64_t)t->tv_sec * 1000000000ull + (uint64_t)t->tv_usec * 1000;
  return 0;
}

void hd__socket_credentials(struct ucred *c) {
  if (c->pid == hd_sys3(SYS_getpid, 0, 0, 0)) c->pid = (pid_t)hd__tid(&rt.thread[0]);
}

long hd__socket_query(const long *a) {
  hd__snapshot_touch((uint64_t)a[3], sizeof(struct ucred));
  struct hd_desc *d = hd__fd(a[0]);
  bool in = a[2] == SO_RCVTIMEO, out = a[2] == SO_SNDTIMEO;
  long r = hd__plain(SYS_getsockopt, a);
  if (r == 0 && d && d->kind == HD_IO_SOCKET && a[1] == SOL_SOCKET && (in || out) &&
      *(socklen_t *)a[4] == sizeof(struct timeval))
    *(struct timeval *)a[3] = (struct timeval){(time_t)(d->limit[out] / 1000000000ull),
                                               (suseconds_t)(d->limit[out] % 1000000000ull / 1000)};
  if (r == 0 && a[1] == SOL_SOCKET && a[2] == SO_PEERCRED && *(socklen_t *)a[4] == sizeof(struct ucred))
    hd__socket_credentials((struct ucred *)a[3]);
  return r;
}

/* io_calls.c: reading, writing, closing and duplicating descriptors as operations of the schedule. Runs in the tested
 * process, on the stack of the thread that made the system call.
 *
 * What a call does to its descriptor says its class in model/syscalls.def. From that and from what the number refers to
 * follow the facets that it reads and writes (io.h).
 *
 * Invariants
 *  1. Calls on pipes, sockets and the like are always operations. Calls on files and devices are where threads contend:
 *     for the contents, for an offset, or for the description itself, which one uses and another closes.
 *  2. A call on a closed number is an operation on what the number referred to last.
 *  3. A thread that waits in a call has found its description: closing the number does not end the wait. As long as
 *     nobody closes a number while it is in use, finding the description and waiting for it are one step. Where somebody
 *     does, they are two (`enters`), so that it can be closed between them. */
#include <asm/termbits.h>
#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "model/depend.h"
#include "model/syscalls.h"
#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/locks.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

/* The classes of calls (model/syscalls.h), and one more: */
#define FLAGS \
  100 /* changes the flags of the description or of its number, options of a socket, modes of a terminal */
#define IN HD_CALL_IN
#define OUT HD_CALL_OUT
#define LOOK HD_CALL_LOOK
#define CLOSE HD_CALL_CLOSE

static bool queries(long request) {
  return request == FIONREAD || request == TIOCOUTQ || request == SIOCATMARK;
}

/* fstat, as libc calls it. */
static bool stats_descriptor(long nr, const long *a) {
  return (nr == SYS_newfstatat || nr == SYS_statx) && (!a[1] || !*(const char *)a[1]) && (int)a[0] >= 0;
}

/* futimens, and fchown, as calls that have a path argument. */
static bool changes_descriptor(long nr, const long *a) {
  bool times = (nr == SYS_utimensat || nr == SYS_futimesat) && !a[1];
  return (times || (nr == SYS_fchownat && !*(const char *)a[1])) && (int)a[0] >= 0;
}

static unsigned ioctl_class(long request) {
  switch ((unsigned)request) {
    case FIONBIO:
    case FIOASYNC:
    case FIOCLEX:
    case FIONCLEX:
    case TCSETS:
    case TCSETSW:
    case TCSETSF:
    case TCSETS2:
    case TCSETSW2:
    case TCSETSF2:
    case TIOCSWINSZ:
    case TIOCSPGRP: return FLAGS;
    case TCFLSH: return HD_CALL_CONTENTS;
    default: return queries(request) ? LOOK : HD_CALL_USE;
  }
}

/* Whether a call that takes a position was given none. */
static bool at_offset(long nr, const long *a) {
  return (nr == SYS_preadv2 || nr == SYS_pwritev2) && a[3] == -1;
}

static unsigned what_of(long nr, const long *a) {
  unsigned what = hd_syscall(nr)->class;
  if (at_offset(nr, a)) return nr == SYS_preadv2 ? IN : OUT;
  if (stats_descriptor(nr, a)) return LOOK;
  if (changes_descriptor(nr, a)) return HD_CALL_CONTENTS;
  if (nr == SYS_ioctl) return ioctl_class(a[1]);
  if (nr == SYS_setsockopt) return FLAGS;
  if (what != HD_CALL_CONTROL) return what;
  switch (a[1]) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC: return HD_CALL_DUP;
    case F_SETFL:
    case F_SETFD:
    case F_SETOWN:
    case F_SETOWN_EX:
    case F_SETSIG:
    case F_SETLEASE:
    case F_ADD_SEALS: return FLAGS;
    case F_SETPIPE_SZ: return HD_CALL_CONTENTS; /* of both ends */
    case F_GETPIPE_SZ: return LOOK;
    default: return hd__record_lock(a[1]) ? HD_CALL_LOCK : HD_CALL_USE;
  }
}

bool hd__io_takes(long nr, const long *a) {
  unsigned what = what_of(nr, a);
  return what >= IN && (what < HD_CALL_OPENS || what == FLAGS);
}

static long fd_of(long nr, const long *a) {
  return stats_descriptor(nr, a) || changes_descriptor(nr, a) ? a[0] : a[hd_syscall(nr)->fd];
}

static bool stats(long nr) {
  return nr == SYS_fstat || nr == SYS_newfstatat || nr == SYS_statx || nr == SYS_fgetxattr ||
         nr == SYS_flistxattr;
}

/* fchmod and the like. */
static bool changes_status(long nr) {
  return nr == SYS_fchmod || nr == SYS_fchown || nr == SYS_fsetxattr || nr == SYS_fremovexattr ||
         nr == SYS_utimensat || nr == SYS_futimesat || nr == SYS_fchownat;
}

static enum hd_use use_of(unsigned what) {
  if (what == CLOSE || what == HD_CALL_DUP2) return HD_USE_ENDS;
  return what == FLAGS ? HD_USE_FLAGS : what == LOOK || what == HD_CALL_USE ? HD_USE_LOOK : HD_USE_PLAIN;
}

/* Facets that a call reads and writes. */
static void facets(const struct hd_desc *d, unsigned what, long nr, const long *a, uint16_t *reads,
                   uint16_t *writes) {
  bool file = d->kind == HD_IO_FILE, device = d->kind == HD_IO_OTHER;
  *reads = d->life;
  *writes = 0;
  if (what == CLOSE || what == FLAGS) {
    *reads = 0;
    *writes = file || device ? d->life : 0xffff;
    return;
  }
  if (d->before && what != IN && what != HD_CALL_POSITION) return;
  switch (what) {
    case IN:
      *writes = d->in;
      if (file) *reads |= 1;
      break;
    case OUT: *writes = device ? 0 : d->out; break;
    case HD_CALL_POSITION:
      *writes = file || device ? d->in : 0;
      if (file && a[2] >= 2 /* SEEK_END, SEEK_DATA, SEEK_HOLE */) *reads |= 1;
      break;
    case LOOK:
      if (file)
        *reads |= stats(nr) ? HD_FACET_CONTENTS | HD_FACET_STATUS : HD_FACET_CONTENTS;
      else if (!device && !stats(nr))
        *reads |= d->in | d->out;
      break;
    case HD_CALL_CONTENTS:
      *writes = file ? (changes_status(nr) ? HD_FACET_STATUS : 1) : device ? 0 : d->in | d->out;
      break;
    case HD_CALL_SHUT: *writes = d->in | d->out; break;
    default: break;
  }
  if (!file && !device && (*writes || (what == LOOK && !stats(nr))))
    *reads &= (uint16_t)~d->life; /* an end writes these facets too */
}

/* ---- which calls are operations ---- */

/* Whether closing the description may release a lock of the file, in some execution: then it is an operation in all. */
static bool releases(struct hd_desc *d) {
  if (!rt.nunjoined) return false;
  if (d->chan->locks) hd__locks_show(d->chan);
  d->chan->closed = true;
  return hd__locks_shown(d->chan);
}

static bool always(struct hd_desc *d, unsigned what, long nr, long fd) {
  if (what == HD_CALL_LOCK || (what == CLOSE && releases(d))) return true;
  if (d->kind == HD_IO_FILE || d->kind == HD_IO_OTHER) return false;
  if (what == CLOSE) return !hd__fd_before(fd);
  if (what == OUT) return !d->before; /* no thread here observes output to the outside */
  return what == IN || what == HD_CALL_SHUT ||
         (((what == LOOK && !stats(nr)) || what == HD_CALL_CONTENTS) && rt.nunjoined);
}

/* Whether the order in which streams wrote to a file matters, since somebody reads it, in some execution. */
static uint64_t order_of(const struct hd_desc *d) { return hd__contention(d->chan->object ^ 0x5ull << 52); }

bool hd__file_unread(struct hd_desc *d) {
  if (d->kind != HD_IO_FILE) return false;
  d->chan->streamed = true;
  return !hd__shadow_visible(order_of(d), 8);
}

void hd__file_read(struct hd_desc *d) {
  if (d->kind == HD_IO_FILE && d->chan->streamed) hd__shadow_show(order_of(d), 8);
}

static bool contends(struct hd_desc *d, unsigned what, long nr, const long *a) {
  uint16_t reads, writes;
  if (d->kind != HD_IO_FILE && d->kind != HD_IO_OTHER) return false;
  facets(d, what, nr, a, &reads, &writes);
  reads &= (uint16_t)~HD_IO_LIFE;
  writes &= (uint16_t)~HD_IO_LIFE;
  if (!reads && !writes) return false;
  bool op = hd__file_contended(&d->chan->touch, d->chan->object, reads, writes);
  /* It moves the offset, but what a loop around it waits for is what it reads. */
  return op || (nr == SYS_lseek && reads && hd__file_contended(&d->chan->touch, d->chan->object, reads, 0));
}

bool hd__io_is_op(long nr, const long *a) {
  unsigned what = what_of(nr, a);
  if (what < IN || (what > HD_CALL_OPENS && what != FLAGS)) return false;
  if (what == HD_CALL_OPENS) return rt.nunjoined && hd__fds_lowest();
  if (what == HD_CALL_RANGE) return rt.nunjoined;
  if (what == HD_CALL_MOVE) {
    hd__move_touch(nr, a);
    return true; /* always: it concerns two descriptions */
  }
  long fd = fd_of(nr, a);
  if (fd < 0 || fd >= HD_FDS || hd__fd_random(fd)) return false;
  struct hd_desc *d = hd__fd(fd);
  if (what == HD_CALL_DUP2) {
    if (!rt.nunjoined) return false;
    hd__fd_used(fd, d, HD_USE_ENDS);
    return true;
  }
  if (!d) {
    if (!rt.nunjoined) return false;
    hd__fd_stale();
    return hd__fd_used(fd, NULL, use_of(what)) || hd__fds_lowest();
  }
  if (what == HD_CALL_DUP && nr == SYS_fcntl && a[2] && rt.nunjoined)
    hd__fd_stale(); /* so are numbers from a limit on */
  if (what == IN || (what == LOOK && !stats(nr))) hd__file_read(d);
  bool op = hd__fd_used(fd, d, use_of(what)) | contends(d, what, nr, a) | always(d, what, nr, fd);
  return op || (rt.nunjoined && hd__fds_lowest());
}

/* ---- aiming at a descriptor ---- */

/* The number was closed before the call, or while it was pending. */
void hd__io_closed(struct hd_io *o) {
  const struct hd_desc *d = hd__fd_last(o->fd);
  if (rt.nunjoined) hd__fd_stale();
  o->object = d ? hd__object(d->chan) : (uint64_t)o->fd | 0xfeull << 56;
  o->reads = d ? d->life : 0x4000;
  o->writes = 0;
  o->n = 0;
}

static bool of_queue(long nr) { return nr == SYS_mq_timedsend || nr == SYS_mq_timedreceive; }

/* How long a call on a message queue waits: its limit is a point in time. */
static uint64_t queue_timeout(const long *a) {
  const struct timespec *t = (const struct timespec *)a[4];
  if (!t) return HD_FOREVER;
  uint64_t at = (uint64_t)t->tv_sec * 1000000000ull + (uint64_t)t->tv_nsec;
  uint64_t now = rt.now + hd__clock_zero(CLOCK_REALTIME);
  return at > now ? at - now : 0;
}

static bool waits(const struct hd_desc *d, unsigned what, long nr, const long *a) {
  long flags = nr == SYS_recvfrom || nr == SYS_sendto     ? a[3]
               : nr == SYS_recvmmsg || nr == SYS_sendmmsg ? a[3]
               : nr == SYS_recvmsg || nr == SYS_sendmsg   ? a[2]
                                                          : 0;
  if (flags & MSG_DONTWAIT || (at_offset(nr, a) && a[5] & RWF_NOWAIT)) return false;
  bool simple = nr == SYS_read || nr == SYS_write;
  if (simple && d->kind == HD_IO_PIPE && !a[2]) return false;
  if (simple && (d->kind == HD_IO_EVENT || d->kind == HD_IO_TIMER) && a[2] < 8) return false; /* EINVAL */
  long mode = hd_sys3(SYS_fcntl, a[0], F_GETFL, 0);
  if (mode < 0 || (mode & O_NONBLOCK)) return false;
  return (mode & O_ACCMODE) == O_RDWR ||
         (mode & O_ACCMODE) == (what == IN ? O_RDONLY : O_WRONLY); /* else EBADF */
}

static void find(struct hd_io *o) {
  struct hd_desc *d = o->d = hd__fd(o->fd);
  o->enters = false;
  if (!d) {
    hd__io_closed(o);
    return;
  }
  o->object = hd__object(d->chan);
  facets(d, o->what, o->nr, o->a, &o->reads, &o->writes);
  if (o->what == OUT && d->kind == HD_IO_SOCKET && !d->stream &&
      !d->chan->end[0]) { /* a datagram may go anywhere */
    o->object = 0;
    o->writes = 0xffff;
  }
  bool numbers = hd__fds_lowest() && rt.nunjoined;
  if (numbers) o->reads |= 0x4000;
  bool receives = o->nr == SYS_recvmsg || o->nr == SYS_recvmmsg; /* maybe descriptors */
  if ((numbers && (o->what == CLOSE || o->what == HD_CALL_DUP || receives)) ||
      (o->what == CLOSE && releases(d))) {
    o->object = 0; /* who gets which number depends on it, or who gets a lock */
    o->writes = 0xffff;
  }
  o->self = (struct hd_item){d, o->what == OUT};
  o->item = &o->self;
  o->n = 0;
  if (o->what != IN && o->what != OUT) return;
  if (d->limit[o->what == OUT]) o->timeout = d->limit[o->what == OUT];
  if (of_queue(o->nr)) o->timeout = queue_timeout(o->a);
  if ((o->what == OUT && !d->polled) || !waits(d, o->what, o->nr, o->a)) {
    if (o->what == IN) hd__io_unwaited(d, o->nr);
    return;
  }
  o->enters = hd__fd_contended(o->fd, d);
  o->n = !o->enters;
}

/* It is the same operation whether the descriptor was closed before the call or while it was pending. */
static void aim(struct hd_io *o) {
  if (o->entered) return;
  find(o);
  o->kind = o->what == IN    ? HD_OP_IOREAD
            : o->what == OUT ? HD_OP_IOWRITE
            : o->writes      ? HD_OP_IOCHANGE
                             : HD_OP_IOLOOK;
}

static struct hd_io prepare(unsigned what, long nr, const long *a, uint64_t pc) {
  struct hd_io o = {.fd = (int)fd_of(nr, a),
                    .timeout = HD_FOREVER,
                    .pc = pc,
                    .aim = aim,
                    .a = a,
                    .nr = nr,
                    .what = (uint8_t)what};
  aim(&o);
  if (o.d && o.d->kind == HD_IO_QUEUE && rt.nunjoined) /* other processes may use it too */
    hd__inexact(HD_INEXACT_SYSCALL, pc | (uint64_t)nr << HD_INEXACT_DETAIL);
  return o;
}

/* The operation has found that it has to wait: it waits for the description from now on. Returns a number for that. */
static long enter(struct hd_io *o, long fd) {
  hd__io_done(false);
  o->enters = false;
  o->entered = true;
  o->n = 1;
  return hd__fd_keep(o->d, fd);
}

/* Executed; `fd` is the number that it used. */
static void leave(struct hd_io *o, long fd, bool late) {
  if (o->entered) hd__fd_close(fd);
  hd__io_done(late);
}

/* ---- input ---- */

static size_t rights(const struct cmsghdr *c) {
  if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len < CMSG_LEN(0)) return 0;
  return (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
}

/* Keeps the descriptors that a message carries. Returns how many. */
static unsigned give_rights(struct msghdr *m) {
  unsigned n = 0;
  if (!m->msg_controllen || !m->msg_control) return 0;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
    for (size_t i = 0; i < rights(c); i++) n += hd__fd_send(((int *)CMSG_DATA(c))[i]);
  return n;
}

/* Registers descriptors that were received with a message. */
static void take_rights(struct msghdr *m, bool peeked) {
  if (!m->msg_controllen) return;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
      hd__socket_credentials((struct ucred *)CMSG_DATA(c));
    int *fd = (int *)CMSG_DATA(c);
    for (size_t i = 0; i < rights(c); i++) fd[i] = (int)hd__fd_received(fd[i], peeked);
  }
}

/* The messages of a call that carries control data. */
static struct msghdr *message(long nr, const long *a, long i) {
  return nr == SYS_recvmsg || nr == SYS_sendmsg ? (struct msghdr *)a[1]
                                                : &((struct mmsghdr *)a[1])[i].msg_hdr;
}

static long messages(long nr, const long *a) {
  return nr == SYS_sendmsg || nr == SYS_recvmsg ? 1 : nr == SYS_sendmmsg || nr == SYS_recvmmsg ? a[2] : 0;
}

/* The call would block: whether it is to be made again, after the wait that was arranged here. */
static bool waits_again(struct hd_io *o, long *a, bool late) {
  if (o->enters)
    a[0] = enter(o, a[0]);
  else if (o->n && !late)
    hd__io_retry(o);
  else
    return false;
  return true;
}

/* It has transferred so much, and goes on; a handler may still end it. */
static void goes_on(struct hd_io *o, long done) {
  o->partial = done;
  rt.cur->sys.done = false;
}

static long receive(long nr, long *a, uint64_t pc) {
  struct hd_io o = prepare(IN, nr, a, pc);
  long done = 0, part[6];
  hd__copy(part, a, sizeof part);
  for (;;) {
    bool late = hd__io_point(&o);
    struct hd_desc *d = o.d;
    if (d && d->kind == HD_IO_FILE) hd__fd_moved(part[0]);
    long r = d && d->kind == HD_IO_SIGNAL && nr == SYS_read ? hd__signalfd_read(d, part)
             : o.n || o.enters                              ? hd__nowait(nr, part)
                                                            : hd__plain(nr, part);
    if (d) hd__io_received(d);
    if (r == -EAGAIN && waits_again(&o, part, late)) continue;
    if (r == -EAGAIN && d && d->inside) hd__io_nothing();
    if (r == -EAGAIN && late && of_queue(nr)) r = -ETIMEDOUT;
    leave(&o, part[0], late || (d && d->late));
    if (d) d->late = false;
    for (long i = 0; i < messages(nr, a) && (nr == SYS_recvmsg ? r >= 0 : i < r); i++)
      take_rights(message(nr, a, i), a[nr == SYS_recvmsg ? 2 : 3] & MSG_PEEK);
    bool whole = nr == SYS_recvfrom && (a[3] & MSG_WAITALL) && d && d->stream;
    if (!whole || r <= 0 || done + r >= a[2]) return r > 0 || !done ? done + r : done;
    o.entered = false;
    part[0] = a[0];
    done += r;
    part[1] += r;
    part[2] -= r;
    goes_on(&o, done);
  }
}

/* ---- output ---- */

/* Skips the first n bytes of a gathered write. */
static void advance(long *nv, struct iovec **at, size_t n) {
  while (*nv && n >= (*at)->iov_len) {
    n -= (*at)->iov_len;
    (*at)++;
    (*nv)--;
  }
  if (*nv && n) {
    (*at)->iov_base = (char *)(*at)->iov_base + n;
    (*at)->iov_len -= n;
  }
}

/* No reader is left: the kernel's SIGPIPE is caught, and sent to the program by us. */
static long write_broken(long nr, const long *a, uint64_t pc) {
  uint64_t pipe_mask = 1ull << (SIGPIPE - 1), old;
  struct timespec zero = {0, 0};
  hd_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &pipe_mask, &old, 8);
  long r = hd__plain(nr, a);
  bool sent = r == -EPIPE && hd_sys4(SYS_rt_sigtimedwait, &pipe_mask, 0, &zero, 8) == SIGPIPE;
  hd_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &old, 0, 8);
  if (sent) {
    siginfo_t info = hd__signal_info(SIGPIPE, SI_USER);
    hd__signal_send(rt.cur, &info, pc);
  }
  return r;
}

#define MAX_IOV 64

/* Whether the call goes on until all is written. */
static bool writes_all(const struct hd_desc *d, long nr, bool gathered) {
  return d && d->stream && d->polled && d->kind != HD_IO_EVENT &&
         (nr == SYS_write || nr == SYS_sendto || gathered);
}

static long transmit(long nr, long *a, uint64_t pc) {
  struct hd_io o = prepare(OUT, nr, a, pc);
  struct iovec copy[MAX_IOV], *at = copy;
  bool gathered = (nr == SYS_writev || at_offset(nr, a)) && a[2] > 0 && a[2] <= MAX_IOV;
  long done = 0, part[6];
  hd__copy(part, a, sizeof part);
  if (gathered) {
    hd__copy(copy, (void *)a[1], (size_t)a[2] * sizeof *copy);
    part[1] = (long)copy;
  }
  for (;;) {
    bool late = hd__io_point(&o);
    struct hd_desc *d = o.d;
    int waiting = d ? hd__socket_waiting(d) : 0;
    if (d) hd__socket_sends(d, nr, a);
    hd__file_changes(part[0]);
    if (d) hd__io_sent(d);
    bool first = nr == SYS_mq_timedsend && hd__queue_was_empty(d, part[0]);
    unsigned given = 0;
    for (long i = 0; d && d->kind == HD_IO_SOCKET && i < messages(nr, a); i++)
      given += give_rights(message(nr, a, i));
    long r = d && (d->broken || d->shut) ? write_broken(nr, part, pc)
             : o.n || o.enters           ? hd__nowait(nr, part)
                                         : hd__plain(nr, part);
    if (r < 0) hd__fd_unsend(given);
    if (d) hd__socket_settle(d, r, waiting);
    if (r == -EAGAIN && waits_again(&o, part, late)) continue;
    if (r == -EAGAIN && d && d->inside) hd__io_nothing();
    if (r == -EAGAIN && late && of_queue(nr)) r = -ETIMEDOUT;
    bool blocking = o.n || o.enters;
    long left = gathered ? 0 : part[2] - r;
    if (gathered && r > 0) {
      advance(&part[2], &at, (size_t)r);
      part[1] = (long)at;
      left = part[2];
    }
    const struct hd_notice *notice = first && r == 0 ? hd__queue_notifies(d) : NULL;
    bool more = writes_all(d, nr, gathered) && blocking && r > 0 && left > 0;
    if (more)
      hd__io_done(late);
    else
      leave(&o, part[0], late);
    if (r > 0 && d) hd__io_unaccepted(d);
    if (notice) hd__queue_notify(notice, pc);
    if (!more) return r > 0 || !done ? done + r : done;
    done += r;
    goes_on(&o, done);
    if (!gathered) {
      part[1] += r;
      part[2] -= r;
    }
  }
}

/* ---- the others ---- */

/* Opening, where it matters who gets which number, and what concerns several numbers. */
static long anywhere(unsigned what, long nr, long *a, uint64_t pc) {
  hd__io_world(HD_OP_IOCHANGE, 0, 0xffff, what == HD_CALL_DUP2 ? a[1] : -1, pc);
  /* It may have been closed since the call: another thread might have got that number. */
  if (what == HD_CALL_DUP2 && rt.nunjoined && !hd__fd(a[1])) hd__fd_stale();
  long r = hd__serve(nr, a);
  hd__io_done(false);
  return r;
}

/* What the call orders for the race detector: no more than what it conflicts with. Of a file these are its contents. */
static void order(const struct hd_io *o) {
  bool file = o->d->kind == HD_IO_FILE || o->d->kind == HD_IO_OTHER;
  uint16_t of = file ? HD_FACET_CONTENTS : 0xffff;
  if (o->writes & of)
    hd__io_publish(o->d->chan);
  else if (o->reads & of)
    hd__io_learn(o->d->chan);
}

/* All other calls; they never wait. */
static long touch(unsigned what, long nr, long *a, uint64_t pc) {
  struct hd_io o = prepare(what, nr, a, pc);
  hd__io_point(&o);
  struct hd_desc *d = o.d, copy;
  if (d) {
    order(&o);
    copy = *d;
  }
  long from = nr == SYS_lseek && d ? hd_sys3(SYS_lseek, a[0], 0, SEEK_CUR) : -1;
  long r = hd__fd_is_free(o.fd) ? -EBADF : hd__serve(nr, a);
  if (d && (what == HD_CALL_SHUT || (what == CLOSE && copy.refs == 1))) hd__socket_settle(&copy, 0, 0);
  if (d && what == FLAGS) hd__io_retarget(a[0], d);
  if (d && what == HD_CALL_SHUT && r == 0 && a[1] != SHUT_RD) d->shut = true;
  if (r < 0 || (nr == SYS_lseek && r == from)) hd__io_nothing();
  hd__io_done(false);
  if (d && (what == CLOSE || what == HD_CALL_SHUT)) hd__io_unaccepted(d);
  return r;
}

long hd__io_call(long nr, long *a, uint64_t pc) {
  unsigned what = what_of(nr, a);
  switch (what) {
    case IN: return receive(nr, a, pc);
    case OUT: return transmit(nr, a, pc);
    case HD_CALL_LOCK: return nr == SYS_flock ? hd__flock_call(a, pc) : hd__record_lock_call(a, pc);
    case HD_CALL_MOVE: return hd__move_call(nr, a, pc);
    case HD_CALL_OPENS:
    case HD_CALL_DUP2:
    case HD_CALL_RANGE: return anywhere(what, nr, a, pc);
    default: return touch(what, nr, a, pc);
  }
}

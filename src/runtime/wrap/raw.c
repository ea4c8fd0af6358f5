/* raw.c: system calls by number, through syscall(). Runs in the tested process.
 *
 * sysguard.c and kernel/io.c serve the calls themselves, whoever makes them. What only the arguments show is which memory
 * of the program is read or written: raw.def says it for each call. Reads count before the call, writes after it, as for the
 * functions of the same names. Of a call that is not listed this is not known (reason `syscall`). */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <utime.h>

#include "runtime/core/finding.h"
#include "runtime/core/modules.h"
#include "runtime/wrap/access.h"

enum what {
  A_NUMBER,
  A_TEXT,
  A_IN,
  A_IN_BY,
  A_OUT,
  A_OUT_BY,
  A_BOTH,
  A_RESULTS,
  A_VECTOR,
  A_VECTOR_OUT,
  A_ADDRESS,
  A_LENGTH,
  A_MESSAGE,
  A_MESSAGE_OUT,
  A_POLLED,
  A_GROUPS,
  A_PAGES,
  A_CHILD,
  A_QUEUED,
  A_RECEIVED
};

struct raw {
  bool known;
  struct {
    uint8_t what; /* enum what */
    uint16_t n;   /* bytes, or the number of an argument */
  } arg[6];
};

#define NO \
  { A_NUMBER, 0 }
#define TEXT \
  { A_TEXT, 0 }
#define IN(n) \
  { A_IN, n }
#define IN_BY(i) \
  { A_IN_BY, i }
#define OUT(n) \
  { A_OUT, n }
#define OUT_BY(i) \
  { A_OUT_BY, i }
#define BOTH(n) \
  { A_BOTH, n }
#define RESULTS(n) \
  { A_RESULTS, n }
#define VECTOR(i) \
  { A_VECTOR, i }
#define VECTOR_OUT(i) \
  { A_VECTOR_OUT, i }
#define ADDRESS(i) \
  { A_ADDRESS, i }
#define LENGTH \
  { A_LENGTH, sizeof(socklen_t) }
#define MESSAGE \
  { A_MESSAGE, 0 }
#define MESSAGE_OUT \
  { A_MESSAGE_OUT, 0 }
#define POLLED(i) \
  { A_POLLED, i }
#define GROUPS \
  { A_GROUPS, 0 }
#define PAGES(i) \
  { A_PAGES, i }
#define CHILD(n) \
  { A_CHILD, n }
#define QUEUED(i) \
  { A_QUEUED, i }
#define RECEIVED \
  { A_RECEIVED, 0 }

static const struct raw table[] = {
#define HD_RAW(name, ...) [SYS_##name] = {true, {__VA_ARGS__}},
#include "runtime/wrap/raw.def"
#undef HD_RAW
};

static void vector(const struct iovec *v, size_t nv, size_t n, bool write, uint64_t pc) {
  for (size_t i = 0; v && i < nv && n; i++) {
    size_t k = v[i].iov_len < n ? v[i].iov_len : n;
    if (write)
      hd__writes(v[i].iov_base, k, pc);
    else
      hd__reads(v[i].iov_base, k, pc);
    n -= k;
  }
}

static void reads_vector(const struct iovec *v, size_t nv, bool contents, uint64_t pc) {
  hd__reads(v, nv * sizeof *v, pc);
  if (contents) vector(v, nv, SIZE_MAX, false, pc);
}

static void reads_message(const struct msghdr *m, bool contents, uint64_t pc) {
  hd__reads(m, sizeof *m, pc);
  if (contents) hd__reads(m->msg_name, m->msg_namelen, pc);
  if (contents) hd__reads(m->msg_control, m->msg_controllen, pc);
  reads_vector(m->msg_iov, m->msg_iovlen, contents, pc);
}

/* What the call reads, before it. */
static void before(const struct raw *w, const long *a, uint64_t pc) {
  for (unsigned i = 0; i < 6; i++) {
    const void *p = (const void *)a[i];
    unsigned n = w->arg[i].n;
    if (!p) continue;
    switch ((enum what)w->arg[i].what) {
      case A_TEXT: hd__reads_string(p, pc); break;
      case A_IN:
      case A_BOTH:
      case A_LENGTH: hd__reads(p, n, pc); break;
      case A_IN_BY: hd__reads(p, (size_t)a[n], pc); break;
      case A_VECTOR:
      case A_VECTOR_OUT: reads_vector(p, (size_t)a[n], w->arg[i].what == A_VECTOR, pc); break;
      case A_MESSAGE:
      case A_MESSAGE_OUT: reads_message(p, w->arg[i].what == A_MESSAGE, pc); break;
      case A_GROUPS: hd__reads(p, (size_t)a[0] * sizeof(gid_t), pc); break;
      case A_QUEUED: hd__reads(p, sizeof(long) + (size_t)a[n], pc); break;
      case A_POLLED:
        for (long k = 0; k < a[n]; k++)
          hd__reads((const struct pollfd *)p + k, offsetof(struct pollfd, revents), pc);
        break;
      default: break;
    }
  }
}

static void writes_message(const struct msghdr *m, long r, uint64_t pc) {
  if (m->msg_name) hd__writes(m->msg_name, m->msg_namelen, pc);
  if (m->msg_control) hd__writes(m->msg_control, m->msg_controllen, pc);
  hd__writes(&m->msg_namelen, sizeof m->msg_namelen, pc);
  hd__writes(&m->msg_controllen, sizeof m->msg_controllen + sizeof m->msg_flags, pc);
  vector(m->msg_iov, m->msg_iovlen, (size_t)r, true, pc);
}

/* What it has written, with that result. */
static void after(const struct raw *w, const long *a, long r, uint64_t pc) {
  for (unsigned i = 0; i < 6; i++) {
    const void *p = (const void *)a[i];
    unsigned n = w->arg[i].n;
    if (!p) continue;
    switch ((enum what)w->arg[i].what) {
      case A_OUT:
      case A_BOTH: hd__writes(p, n, pc); break;
      case A_OUT_BY: hd__writes(p, (size_t)a[n], pc); break;
      case A_RESULTS: hd__writes(p, (size_t)r * n, pc); break;
      case A_CHILD:
        if (r > 0) hd__writes(p, n, pc);
        break;
      case A_VECTOR_OUT: vector(p, (size_t)a[n], (size_t)r, true, pc); break;
      case A_LENGTH:
        if (a[i - 1]) hd__writes(p, n, pc);
        break;
      case A_ADDRESS:
        if (a[n]) hd__writes(p, *(const socklen_t *)a[n], pc);
        break;
      case A_MESSAGE_OUT: writes_message(p, r, pc); break;
      case A_PAGES: hd__writes(p, ((size_t)a[n] + 4095) / 4096, pc); break;
      case A_RECEIVED: hd__writes(p, sizeof(long) + (size_t)r, pc); break;
      case A_POLLED:
        for (long k = 0; k < a[n]; k++) hd__writes(&((const struct pollfd *)p)[k].revents, sizeof(short), pc);
        break;
      default: break;
    }
  }
}

HD_EXPORT long syscall(long nr, ...) {
  long a[6];
  va_list args;
  va_start(args, nr);
  for (int i = 0; i < 6; i++) a[i] = va_arg(args, long);
  va_end(args);
  hd__real_init();
  if (!hot.active) return real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
  uint64_t pc = hd__user_pc(HD_CALLER, (uint64_t)__builtin_frame_address(0));
  if (nr == SYS_futex) return hd__futex(a, pc);
  static const struct raw unknown;
  const struct raw *w = nr >= 0 && nr < (long)(sizeof table / sizeof *table) ? &table[nr] : &unknown;
  if (!w->known && rt.nunjoined) hd__inexact(HD_INEXACT_SYSCALL, pc | (uint64_t)nr << HD_INEXACT_DETAIL);
  before(w, a, pc);
  long r = real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (r >= 0) after(w, a, r, pc);
  return r;
}

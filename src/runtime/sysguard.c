/* sysguard.c: system calls of the tested program. Runs in the tested process, in a signal handler.
 *
 * The kernel's syscall user dispatch sends every system call made outside our own text here (SIGSYS), however
 * it was made: by libc, by a library that was never rebuilt, by hand. That is where Heddle notices what it
 * cannot control (a call that would block while others could run, a fork), and where it keeps account of what
 * a restart must undo in the kernel: descriptors, file offsets, mappings. A call costs a microsecond more.
 * Where the kernel lacks the feature (before 5.11), the wrappers alone must do.
 *
 * Invariants
 *  1. Nothing that existed before main is closed or unmapped for good: such a request succeeds without effect,
 *     or is undone at the restart.
 *  2. A call that would block is made only when no other thread is left; otherwise it is named and the search
 *     ends. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/rt.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#endif

static uint64_t text_lo, text_hi; /* our own code */

/* ---- what a restart must undo ---- */

#define MAX_FDS 1024
static uint64_t fd_ours[MAX_FDS / 64];   /* opened by this execution */
static uint64_t fd_before[MAX_FDS / 64]; /* open before main */
static uint64_t fd_moved[MAX_FDS / 64];  /* of those: read or sought, offset to be put back */
static uint64_t fd_random[MAX_FDS / 64]; /* descriptors of /dev/urandom and /dev/random */
static int64_t fd_offset[MAX_FDS];
static struct { int fd, saved; } fd_replaced[16];
static unsigned nreplaced, nfds_ours;
static bool any_moved;
static struct { uint64_t addr, size; } mapping[1024];
static unsigned nmappings;
static uint64_t brk_start;
static bool brk_moved;
static int cwd_fd = -1; /* the folder it started in */
static bool cwd_moved;
static long mask_start = -1; /* umask, when the program has changed it */
static struct {
  uint64_t addr, size;
  int prot;
} protected[64];
static unsigned nprotected;

static bool has(const uint64_t *set, long fd) {
  return fd >= 0 && fd < MAX_FDS && set[fd >> 6] >> (fd & 63) & 1;
}
static void add(uint64_t *set, long fd) {
  if (fd >= 0 && fd < MAX_FDS) set[fd >> 6] |= 1ull << (fd & 63);
}
static void del(uint64_t *set, long fd) {
  if (fd >= 0 && fd < MAX_FDS) set[fd >> 6] &= ~(1ull << (fd & 63));
}

static void opened(long fd) {
  if (fd >= 0 && fd < MAX_FDS && !has(fd_ours, fd)) {
    add(fd_ours, fd);
    nfds_ours++;
  }
}

static void remember_fds(void) {
  hd__zero(fd_before, sizeof fd_before);
  for (int fd = 0; fd < MAX_FDS; fd++)
    if (hd_sys3(SYS_fcntl, fd, F_GETFD, 0) >= 0) {
      add(fd_before, fd);
      fd_offset[fd] = hd_sys3(SYS_lseek, fd, 0, SEEK_CUR);
    }
}

void hd__sysguard_begin(void) {
  if (nfds_ours) {
    for (int fd = 0; fd < MAX_FDS; fd++)
      if (has(fd_ours, fd)) hd_sys3(SYS_close, fd, 0, 0);
    hd__zero(fd_ours, sizeof fd_ours);
    hd__zero(fd_random, sizeof fd_random);
    nfds_ours = 0;
  }
  while (nreplaced) {
    nreplaced--;
    hd_sys3(SYS_dup3, fd_replaced[nreplaced].saved, fd_replaced[nreplaced].fd, 0);
    hd_sys3(SYS_close, fd_replaced[nreplaced].saved, 0, 0);
  }
  if (any_moved && rt.config->mode == HD_MODE_CHECK) {
    for (int fd = 0; fd < MAX_FDS; fd++)
      if (has(fd_moved, fd) && fd_offset[fd] >= 0) hd_sys3(SYS_lseek, fd, fd_offset[fd], SEEK_SET);
    hd__zero(fd_moved, sizeof fd_moved);
    any_moved = false;
  }
  while (nmappings) {
    nmappings--;
    hd_sys3(SYS_munmap, mapping[nmappings].addr, mapping[nmappings].size, 0);
  }
  while (nprotected) {
    nprotected--;
    hd_sys3(SYS_mprotect, protected[nprotected].addr, protected[nprotected].size, protected[nprotected].prot);
    hd__snapshot_reguard(protected[nprotected].addr, protected[nprotected].size);
  }
  if (cwd_moved) hd_sys3(SYS_fchdir, cwd_fd, 0, 0);
  cwd_moved = false;
  if (mask_start >= 0) hd_sys3(SYS_umask, mask_start, 0, 0);
  mask_start = -1;
  if (brk_moved) hd_sys3(SYS_brk, brk_start, 0, 0);
  brk_moved = false;
}

/* ---- blocking ---- */

static void moved(long fd) {
  if (has(fd_before, fd)) {
    add(fd_moved, fd);
    any_moved = true;
  }
}

_Noreturn static void would_block(const char *name) {
  char text[300];
  hd__format(text, sizeof text,
             "%s would block while other threads could run; it is not supported in a controlled run yet",
             name);
  hd__fail(HD_RTE_UNSUPPORTED, hd__innermost(), text);
}

/* Others could run while this one sleeps in the kernel. */
static bool others(void) { return rt.nalive > 1; }

static void check_ready(const char *name, long fd, short events) {
  struct pollfd p = {(int)fd, events, 0};
  if (others() && hd_sys3(SYS_poll, &p, 1, 0) == 0 && !(hd_sys3(SYS_fcntl, fd, F_GETFL, 0) & O_NONBLOCK))
    would_block(name);
}

static const struct {
  int nr;
  short events; /* 0: no descriptor, blocks in some other way */
  const char *name;
} blocking[] = {
    {SYS_read, POLLIN, "read"},
    {SYS_readv, POLLIN, "readv"},
    {SYS_recvfrom, POLLIN, "recv"},
    {SYS_recvmsg, POLLIN, "recvmsg"},
    {SYS_recvmmsg, POLLIN, "recvmmsg"},
    {SYS_accept, POLLIN, "accept"},
    {SYS_accept4, POLLIN, "accept4"},
    {SYS_write, POLLOUT, "write"},
    {SYS_writev, POLLOUT, "writev"},
    {SYS_sendto, POLLOUT, "send"},
    {SYS_sendmsg, POLLOUT, "sendmsg"},
    {SYS_connect, POLLOUT, "connect"},
    {SYS_wait4, 0, "wait"},
    {SYS_waitid, 0, "waitid"},
    {SYS_pause, 0, "pause"},
    {SYS_rt_sigsuspend, 0, "sigsuspend"},
    {SYS_rt_sigtimedwait, 0, "sigwait"},
    {SYS_flock, 0, "flock"},
    {SYS_msgrcv, 0, "msgrcv"},
    {SYS_semop, 0, "semop"},
    {SYS_semtimedop, 0, "semtimedop"},
    {SYS_mq_timedreceive, 0, "mq_receive"},
    {SYS_mq_timedsend, 0, "mq_send"},
};

static void check_blocking(long nr, const long *a) {
  for (unsigned i = 0; i < sizeof blocking / sizeof *blocking; i++)
    if (blocking[i].nr == nr) {
      if (blocking[i].events)
        check_ready(blocking[i].name, a[0], blocking[i].events);
      else if (others())
        would_block(blocking[i].name);
    }
}

/* poll and its kin: look without waiting first; a finite time-out passes in virtual time. */
static long wait_call(long nr, const char *name, long *a, int timeout_arg, bool timespec) {
  long limit = a[timeout_arg];
  struct timespec zero = {0, 0};
  struct timeval zero_tv = {0, 0};
  bool forever = timespec ? limit == 0 : (int)limit < 0;
  long look[6];
  hd__copy(look, a, sizeof look);
  look[timeout_arg] = nr == SYS_select ? (long)&zero_tv : timespec ? (long)&zero : 0;
  long r = hd_sys6(nr, look[0], look[1], look[2], look[3], look[4], look[5]);
  if (r != 0) return r;
  if (!forever) return 0;
  if (others()) would_block(name);
  return hd_sys6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- answers that are the same in every process ---- */

#define VIRTUAL_PID 4242

/* From the seed, the thread, and how many it has had: not from what the others do. */
static long fill_random(void *to, long n) {
  struct hd_rng r;
  hd_rng_seed(&r, rt.config->seed ^ 0x72616e64, (uint64_t)rt.cur->id << 32 | rt.cur->randoms++);
  hd__snapshot_touch((uint64_t)to, (uint64_t)n);
  for (long i = 0; i < n; i++) ((unsigned char *)to)[i] = (unsigned char)(hd_rng_next(&r) >> 32);
  return n;
}

static bool is_random_device(const char *path) {
  return path && (hd__streq(path, "/dev/urandom") || hd__streq(path, "/dev/random"));
}

static long virtual_time(const long *a) {
  struct timespec *ts = (struct timespec *)a[1];
  if (ts) {
    hd__snapshot_touch((uint64_t)ts, sizeof *ts);
    clock_gettime((clockid_t)a[0], ts);
  }
  return 0;
}

static long virtual_times(const long *a) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (a[0]) {
    hd__snapshot_touch((uint64_t)a[0], 4 * sizeof(long));
    hd__zero((void *)a[0], 4 * sizeof(long));
    *(long *)a[0] = now.tv_sec * 100 + now.tv_nsec / 10000000;
  }
  return now.tv_sec * 100 + now.tv_nsec / 10000000;
}

/* ---- the calls that need a decision ---- */

static long do_mmap(const long *a) {
  long r = hd_sys6(SYS_mmap, a[0], a[1], a[2], a[3], a[4], a[5]);
  if ((r < 0 && r > -4096) || nmappings == sizeof mapping / sizeof *mapping) return r;
  mapping[nmappings].addr = (uint64_t)r;
  mapping[nmappings++].size = (uint64_t)a[1];
  return r;
}

static long do_munmap(const long *a) {
  for (unsigned i = 0; i < nmappings; i++)
    if (mapping[i].addr == (uint64_t)a[0] && mapping[i].size <= (uint64_t)a[1]) {
      mapping[i] = mapping[--nmappings];
      return hd_sys3(SYS_munmap, a[0], a[1], 0);
    }
  for (unsigned i = 0; i < nmappings; i++)
    if ((uint64_t)a[0] >= mapping[i].addr && (uint64_t)a[0] < mapping[i].addr + mapping[i].size)
      return hd_sys3(SYS_munmap, a[0], a[1], 0); /* part of one of ours; the rest goes at the restart */
  return 0;                                      /* invariant 1 */
}

/* Pieces of the program's own memory get their protection back at the restart. */
static long do_mprotect(const long *a) {
  int old = hd__snapshot_prot((uint64_t)a[0]);
  long r = hd_sys3(SYS_mprotect, a[0], a[1], a[2]);
  if (r == 0 && old >= 0 && nprotected < sizeof protected / sizeof *protected) {
    protected[nprotected].addr = (uint64_t)a[0];
    protected[nprotected].size = (uint64_t)a[1];
    protected[nprotected++].prot = old;
  }
  return r;
}

static long do_replace(long nr, const long *a) {
  if (has(fd_before, a[1]) && nreplaced < sizeof fd_replaced / sizeof *fd_replaced) {
    long saved = hd_sys3(SYS_fcntl, a[1], F_DUPFD_CLOEXEC, 900);
    if (saved >= 0) {
      fd_replaced[nreplaced].fd = (int)a[1];
      fd_replaced[nreplaced++].saved = (int)saved;
    }
  }
  long r = hd_sys3(nr, a[0], a[1], a[2]);
  if (r >= 0 && !has(fd_before, r)) opened(r);
  return r;
}

static long do_futex(const long *a) {
  int op = (int)a[1] & FUTEX_CMD_MASK;
  if (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI) {
    if (op != FUTEX_LOCK_PI && *(const uint32_t *)a[0] != (uint32_t)a[2]) return -EAGAIN;
    hd__unsupported("futex wait (a lock of a library, or one made by hand)", hd__innermost());
  }
  return hd_sys6(SYS_futex, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static long do_kill(long nr, const long *a) {
  long self = hd_sys3(SYS_getpid, 0, 0, 0);
  int sig = (int)(nr == SYS_tgkill ? a[2] : a[1]);
  bool me = nr == SYS_kill ? a[0] == VIRTUAL_PID || a[0] == 0 : true;
  if (!me) return hd_sys3(nr, a[0], a[1], a[2]);
  if (sig > 0 && sig < 65) hd__self_signal(sig, hd__innermost());
  return hd_sys3(SYS_tgkill, self, hd_sys3(SYS_gettid, 0, 0, 0), sig);
}

/* The kernel could not write to a page that is still read-only for us: make room and try again. */
static long retry_fault(long nr, const long *a) {
  for (int i = 0; i < 6; i++) hd__snapshot_touch((uint64_t)a[i], 1 << 16);
  return hd_sys6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static long plain(long nr, const long *a) {
  long r = hd_sys6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
  return r == -EFAULT ? retry_fault(nr, a) : r;
}

static long serve(long nr, long *a) {
  long r;
  check_blocking(nr, a);
  switch (nr) {
    case SYS_exit_group: hd__exit_now((int)a[0]);
    case SYS_exit: hd__unsupported("the exit system call of a single thread", hd__innermost());
    case SYS_fork:
    case SYS_vfork:
    case SYS_clone:
    case SYS_clone3: hd__unsupported("fork (or another way to start a process or thread)", hd__innermost());
    case SYS_execve:
    case SYS_execveat: hd__unsupported("exec", hd__innermost());
    case SYS_futex: return do_futex(a);
    case SYS_nanosleep:
    case SYS_clock_nanosleep: return 0; /* made by hand: time is virtual */
    case SYS_poll: return wait_call(nr, "poll", a, 2, false);
    case SYS_ppoll: return wait_call(nr, "ppoll", a, 2, true);
    case SYS_select: return wait_call(nr, "select", a, 4, true);
    case SYS_pselect6: return wait_call(nr, "pselect", a, 4, true);
    case SYS_epoll_wait:
    case SYS_epoll_pwait: return wait_call(nr, "epoll_wait", a, 3, false);
    case SYS_mmap: return do_mmap(a);
    case SYS_munmap: return do_munmap(a);
    case SYS_mprotect: return do_mprotect(a);
    case SYS_chdir:
    case SYS_fchdir: cwd_moved = true; return plain(nr, a);
    case SYS_umask:
      r = plain(nr, a);
      if (mask_start < 0) mask_start = r;
      return r;
    case SYS_brk: brk_moved = true; return plain(nr, a);
    case SYS_getpid: return VIRTUAL_PID;
    case SYS_gettid: return VIRTUAL_PID + rt.cur->id;
    case SYS_getppid: return VIRTUAL_PID - 1;
    case SYS_getcpu:
      if (a[0]) *(unsigned *)a[0] = 0;
      if (a[1]) *(unsigned *)a[1] = 0;
      return 0;
    case SYS_getrandom: return fill_random((void *)a[0], a[1]);
    case SYS_clock_gettime: return virtual_time(a);
    case SYS_times: return virtual_times(a);
    case SYS_open:
    case SYS_openat:
      r = plain(nr, a);
      opened(r);
      if (r >= 0 && is_random_device((const char *)(nr == SYS_open ? a[0] : a[1]))) add(fd_random, r);
      return r;
    case SYS_creat:
    case SYS_socket:
    case SYS_accept:
    case SYS_accept4:
    case SYS_dup:
    case SYS_eventfd:
    case SYS_eventfd2:
    case SYS_epoll_create:
    case SYS_epoll_create1:
    case SYS_timerfd_create:
    case SYS_memfd_create:
    case SYS_signalfd:
    case SYS_signalfd4:
    case SYS_inotify_init:
    case SYS_inotify_init1:
      r = plain(nr, a);
      opened(r);
      return r;
    case SYS_fcntl:
      r = plain(nr, a);
      if (a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC) opened(r);
      return r;
    case SYS_pipe:
    case SYS_pipe2:
    case SYS_socketpair: {
      r = plain(nr, a);
      const int *fd = (const int *)(nr == SYS_socketpair ? a[3] : a[0]);
      if (r == 0) opened(fd[0]), opened(fd[1]);
      return r;
    }
    case SYS_dup2:
    case SYS_dup3: return do_replace(nr, a);
    case SYS_close:
      if (!has(fd_ours, a[0]) && has(fd_before, a[0])) return 0; /* invariant 1 */
      if (has(fd_ours, a[0])) {
        del(fd_ours, a[0]);
        del(fd_random, a[0]);
        nfds_ours--;
      }
      return plain(nr, a);
    case SYS_read:
      if (has(fd_random, a[0])) return fill_random((void *)a[1], a[2]);
      moved(a[0]);
      return plain(nr, a);
    case SYS_readv:
    case SYS_lseek: moved(a[0]); return plain(nr, a);
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill: return do_kill(nr, a);
    default: return plain(nr, a);
  }
}

static void on_syscall(int sig, siginfo_t *info, void *context) {
  (void)sig;
  ucontext_t *uc = context;
  long a[6];
  if (info->si_code != 2 /* SYS_USER_DISPATCH */) return;
  rt.status->heartbeat++;
  hot.syscall_pc = hd__user_pc(hd_sig_pc(uc), hd_sig_sp(uc));
  hd_sig_sysargs(uc, a);
  hd_sig_set_result(uc, serve(info->si_syscall, a));
}

/* ---- turning it on ---- */

void hd__sysguard_enable(void) {
  hot.selector = 0;
  hd_sys6(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, (long)text_lo,
          (long)(text_hi - text_lo), (long)&hot.selector, 0);
}

void hd__sysguard_init(void) {
  hd__segment_of((uint64_t)on_syscall, &text_lo, &text_hi);
  hd__signal_install(SIGSYS, on_syscall);
  brk_start = (uint64_t)hd_sys3(SYS_brk, 0, 0, 0);
  cwd_fd = (int)hd_sys4(SYS_openat, AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (cwd_fd >= 0 && cwd_fd < 900) { /* out of the way of the program's own numbers */
    long high = hd_sys3(SYS_fcntl, cwd_fd, F_DUPFD_CLOEXEC, 900);
    hd_sys3(SYS_close, cwd_fd, 0, 0);
    cwd_fd = (int)high;
  }
  remember_fds();
  hd__sysguard_enable();
}

/* sysguard.c: system calls of the tested program. Runs in the tested process, in a signal handler.
 *
 * The kernel's syscall user dispatch sends every system call made outside our own text here (SIGSYS), however it
 * was made: by libc, by a library that was never rebuilt, by hand. Here Heddle detects what it cannot control (a
 * call that would block while other threads could run, a fork), and records what a restart must undo in the kernel:
 * mappings, protections, the working folder; fds.c has the descriptors. A call costs a microsecond more. Where the
 * kernel lacks the feature (before 5.11), only the wrappers see calls.
 *
 * Invariants
 *  1. Nothing that existed before main is unmapped for good: such a request succeeds without effect.
 *  2. A call that would block is made only when no other thread is left; otherwise it is reported by name and the
 *     search ends. */
#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "model/syscalls.h"
#include "runtime/core/endless.h"
#include "runtime/core/family.h"
#include "runtime/core/fingerprint.h"
#include "runtime/core/core.h"
#include "runtime/core/library.h"
#include "runtime/core/finding.h"
#include "runtime/core/modules.h"
#include "runtime/core/record.h"
#include "runtime/kernel/io.h"
#include "runtime/core/tick.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/symbolic/sources.h"
#include "runtime/wrap/wrap.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#endif

static uint64_t text_lo, text_hi; /* our own code */

bool hd__own_code(uint64_t pc) { return pc >= text_lo && pc < text_hi; }

/* ---- what a restart must undo ---- */

static struct { uint64_t addr, size; } mapping[1024];
static unsigned nmappings, kept; /* those below `kept` are from before the checkpoint, and stay */
static uint64_t brk_start;
static bool brk_moved;
static int cwd_fd = -1; /* the folder it started in */
static bool cwd_moved;
static long mask_start = -1; /* umask before the program changed it, -1 if it did not */
static struct {
  uint64_t addr, size;
  int prot;
} protected[64];
static unsigned nprotected;

void hd__sysguard_begin(void) {
  hd__process_begin();
  hd__fds_begin();
  hd__io_begin();
  hd__alarms_begin();
  while (nmappings > kept) {
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

/* Invariant 1 holds for mappings from before the checkpoint, too. */
enum hd_unkept hd__sysguard_unkept(void) {
  if (nprotected) return HD_UNKEPT_PROTECTION;
  for (unsigned i = 0; i < nmappings; i++)
    if (hd__snapshot_shared(mapping[i].addr)) return HD_UNKEPT_SHARED;
  return nmappings == sizeof mapping / sizeof *mapping ? HD_UNKEPT_SHARED : HD_UNKEPT_NONE;
}

static void open_cwd(void) {
  cwd_fd = (int)hd_sys4(SYS_openat, AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (cwd_fd < 0 || cwd_fd >= HD_FD_OWN) return;
  long high =
      hd_sys3(SYS_fcntl, cwd_fd, F_DUPFD_CLOEXEC, HD_FD_OWN); /* above the program's own descriptors */
  hd_sys3(SYS_close, cwd_fd, 0, 0);
  cwd_fd = (int)high;
}

void hd__sysguard_keep(void) {
  kept = nmappings;
  if (brk_moved) brk_start = (uint64_t)hd_sys3(SYS_brk, 0, 0, 0);
  if (cwd_moved) {
    hd_sys3(SYS_close, cwd_fd, 0, 0);
    open_cwd();
  }
  brk_moved = cwd_moved = false;
  mask_start = -1;
}

static bool overlaps(unsigned i, uint64_t at, uint64_t size) {
  return at < mapping[i].addr + mapping[i].size && mapping[i].addr < at + size;
}

/* Whether part of it is a mapping from before the checkpoint. */
static bool is_kept(uint64_t at, uint64_t size) {
  for (unsigned i = 0; i < kept; i++)
    if (overlaps(i, at, size)) return true;
  return false;
}

/* ---- blocking ---- */

_Noreturn static void would_block(const char *name) {
  char text[300];
  hd__format(text, sizeof text,
             "%s would block while other threads could run, which a controlled run does not support yet",
             name);
  hd__fail(HD_RTE_UNSUPPORTED, hd__innermost(), text);
}

/* Whether other threads could run while this one sleeps in the kernel. */
static bool others(void) { return rt.nalive > 1; }

static const struct {
  int nr;
  const char *name;
} blocking[] = {
    {SYS_rt_sigtimedwait, "sigwait"},
    {SYS_futex_waitv, "futex_waitv"},
    {SYS_io_getevents, "io_getevents"},
    {SYS_io_pgetevents, "io_pgetevents"},
};

static void check_blocking(long nr) {
  for (unsigned i = 0; i < sizeof blocking / sizeof *blocking; i++)
    if (blocking[i].nr == nr && others()) would_block(blocking[i].name);
}

/* What the call does to other threads is not known. The place and the number of the call, which the report names. */
static void check_known(long nr) {
  if (rt.nunjoined && hd_syscall(nr)->class == HD_CALL_UNKNOWN)
    hd__inexact(HD_INEXACT_SYSCALL, hot.syscall_pc | (uint64_t)nr << HD_INEXACT_DETAIL);
}

/* ---- answers that are the same in every process ---- */

/* Random numbers depend on the seed, the thread, and how many it has requested, not on other threads. */
static long fill_random(void *to, long n) {
  struct hd_rng r;
  hd_rng_seed(&r, rt.config->seed ^ 0x72616e64, (uint64_t)rt.cur->id << 32 | rt.cur->sys.randoms++);
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

static long virtual_gettimeofday(const long *a) {
  struct timeval *tv = (struct timeval *)a[0];
  if (tv) {
    hd__snapshot_touch((uint64_t)tv, sizeof *tv);
    gettimeofday(tv, NULL);
  }
  return 0;
}

/* Resource usage varies from run to run: report none but time, which a loop may wait for. */
static long virtual_usage(long nr, const long *a) {
  struct rusage *r = (struct rusage *)a[1];
  long e = hd__plain(nr, a);
  if (e) return e;
  uint64_t us = hd__read_time() / 1000;
  hd__zero(r, sizeof *r);
  r->ru_utime = (struct timeval){(time_t)(us / 1000000), (suseconds_t)(us % 1000000)};
  return e;
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

static void add_mapping(long at, uint64_t size) {
  if ((at < 0 && at > -4096) || nmappings == sizeof mapping / sizeof *mapping) return;
  mapping[nmappings].addr = (uint64_t)at;
  mapping[nmappings++].size = size;
}

/* Each thread gets mappings at addresses of its own, upwards, so that an address depends on what the thread did and not on
 * the others, and is not used again. What does not fit goes where the kernel likes. */
#define OWN_MAPPINGS 0x7ff000000000ull
#define OWN_SIZE (256ull << 20)
#define OWN_THREADS 128
static HD_EXEC_LARGE struct { uint64_t epoch, used; } own[OWN_THREADS];

static long own_address(const long *a) {
  uint64_t size = ((uint64_t)a[1] + 2 * HD_PAGE - 1) & ~(uint64_t)(HD_PAGE - 1); /* and a gap */
  unsigned id = rt.cur->id;
  if (a[0] || (a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_32BIT | MAP_GROWSDOWN)) || rt.nthreads < 2)
    return a[0];
  if (id >= OWN_THREADS) return 0;
  if (own[id].epoch != rt.epoch) own[id].used = 0;
  own[id].epoch = rt.epoch;
  if (size > OWN_SIZE - own[id].used) return 0;
  long at = (long)(OWN_MAPPINGS + id * OWN_SIZE + own[id].used);
  own[id].used += size;
  return at;
}

/* The restart restores the protection of the program's own memory. What was not writable at the checkpoint is not
 * recorded. */
static long do_mprotect(const long *a) {
  int old = hd__snapshot_prot((uint64_t)a[0]);
  long r = hd_sys3(SYS_mprotect, a[0], a[1], a[2]);
  bool room = nprotected < sizeof protected / sizeof *protected;
  if (is_kept((uint64_t)a[0], (uint64_t)a[1]) &&
      (!room || ((a[2] & PROT_WRITE) && !hd__snapshot_has((uint64_t)a[0], (uint64_t)a[1]))))
    rt.lost = HD_UNKEPT_PROTECTION;
  if (r == 0 && old >= 0 && room) {
    protected[nprotected].addr = (uint64_t)a[0];
    protected[nprotected].size = (uint64_t)a[1];
    protected[nprotected++].prot = old;
  }
  return r;
}

/* The memory is from before the checkpoint: it is out of reach until the restart. */
static long hide(const long *a) {
  const long none[6] = {a[0], a[1], PROT_NONE};
  hd__snapshot_touch((uint64_t)a[0], (uint64_t)a[1]);
  return do_mprotect(none);
}

static long do_munmap(const long *a) {
  if (is_kept((uint64_t)a[0], (uint64_t)a[1])) return hide(a);
  for (unsigned i = kept; i < nmappings; i++)
    if (mapping[i].addr == (uint64_t)a[0] && mapping[i].size <= (uint64_t)a[1]) {
      mapping[i] = mapping[--nmappings];
      return hd_sys3(SYS_munmap, a[0], a[1], 0);
    }
  for (unsigned i = 0; i < nmappings; i++)
    if ((uint64_t)a[0] >= mapping[i].addr && (uint64_t)a[0] < mapping[i].addr + mapping[i].size)
      return hd_sys3(SYS_munmap, a[0], a[1], 0); /* part of a recorded mapping; the restart unmaps the rest */
  return 0;                                      /* invariant 1 */
}

/* A mapping from before the checkpoint that moves cannot be restored. */
static long do_mremap(const long *a) {
  if (is_kept((uint64_t)a[0], a[1] ? (uint64_t)a[1] : 1)) rt.lost = HD_UNKEPT_PROTECTION;
  return hd__plain(SYS_mremap, a);
}

/* What empties memory changes it without a fault. */
static long do_madvise(const long *a) {
  if (a[2] == MADV_DONTNEED || a[2] == MADV_FREE || a[2] == MADV_REMOVE)
    hd__snapshot_touch((uint64_t)a[0], (uint64_t)a[1]);
  return hd__plain(SYS_madvise, a);
}

static long do_shmat(const long *a) {
  struct shmid_ds s = {0};
  hd_sys3(SYS_shmctl, a[0], IPC_STAT, &s);
  long r = hd__plain(SYS_shmat, a);
  add_mapping(r, s.shm_segsz);
  return r;
}

static long do_shmdt(const long *a) {
  for (unsigned i = 0; i < nmappings; i++)
    if (mapping[i].addr == (uint64_t)a[0] && i >= kept) mapping[i--] = mapping[--nmappings];
  return hd__plain(SYS_shmdt, a);
}

/* A fixed mapping over memory from before main, which a restart must find again (invariant 1): the memory is emptied, and
 * gets the protection that was asked for. */
static bool over_snapshot(const long *a) {
  long kind = MAP_FIXED | MAP_ANONYMOUS | MAP_PRIVATE;
  for (unsigned i = kept; i < nmappings; i++) /* the program's own, where there was another before main */
    if ((uint64_t)a[0] >= mapping[i].addr && (uint64_t)a[0] < mapping[i].addr + mapping[i].size) return false;
  return (a[3] & kind) == kind && a[1] > 0 && hd__snapshot_prot((uint64_t)a[0]) >= 0 &&
         hd__snapshot_prot((uint64_t)(a[0] + a[1] - 1)) >= 0;
}

static long empty(const long *a) {
  hd__snapshot_touch((uint64_t)a[0], (uint64_t)a[1]);
  hd__zero((void *)a[0], (size_t)a[1]);
  long r = a[2] == (PROT_READ | PROT_WRITE) ? 0 : do_mprotect(a);
  return r ? r : a[0];
}

/* A file that is only open for reading cannot change through a mapping, whatever its protection becomes. */
static bool writable(long fd) {
  long flags = hd_sys3(SYS_fcntl, fd, F_GETFL, 0);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

static long do_mmap(const long *a) {
  if (over_snapshot(a)) return empty(a);
  if ((a[3] & MAP_FIXED) && is_kept((uint64_t)a[0], (uint64_t)a[1])) rt.lost = HD_UNKEPT_PROTECTION;
  struct hd_desc *d = a[3] & MAP_ANONYMOUS ? NULL : hd__fd(a[4]);
  if (d) hd__file_read(d);
  if ((a[3] & MAP_SHARED) && !(a[3] & MAP_ANONYMOUS) && writable(a[4])) hd__file_changes(a[4]);
  long r = hd_sys6(SYS_mmap, own_address(a), a[1], a[2], a[3], a[4], a[5]);
  add_mapping(r, (uint64_t)a[1]);
  return r;
}

static long do_futex(const long *a) {
  int op = (int)a[1] & FUTEX_CMD_MASK;
  if (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI) {
    if (op != FUTEX_LOCK_PI && *(const uint32_t *)a[0] != (uint32_t)a[2]) return -EAGAIN;
    hd__unsupported("a futex wait by hand (a lock of a library, or of the program)", hd__innermost());
  }
  return hd_sys6(SYS_futex, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Its other members are not the program's. */
static bool own_group(int pid) {
  return pid == 0 || (pid < -1 && -pid == hd__pids_to_program(hd_sys3(SYS_getpgid, 0, 0, 0)));
}

static long do_kill(long nr, const long *a, uint64_t pc) {
  bool process = nr == SYS_kill || nr == SYS_rt_sigqueueinfo;
  bool pair = nr == SYS_tgkill || nr == SYS_rt_tgsigqueueinfo; /* process and thread */
  int sig = (int)(pair ? a[2] : a[1]);
  int tid = process ? -1 : hd__thread_of_tid(pair ? a[1] : a[0]);
  bool me = process ? (int)a[0] == hd__pid() || (nr == SYS_kill && own_group((int)a[0])) : tid >= 0;
  if (a[0] == hd__ppid()) return sig ? -EPERM : 0; /* its number is not the kernel's */
  if (!me) return hd_sys6(nr, a[0], a[1], a[2], a[3], 0, 0);
  if (sig < 1 || sig > 64) return sig ? -EINVAL : 0;
  siginfo_t info = hd__signal_info(sig, nr == SYS_kill ? SI_USER : SI_TKILL);
  if (nr == SYS_rt_sigqueueinfo) info = *(const siginfo_t *)a[2];
  if (nr == SYS_rt_tgsigqueueinfo) info = *(const siginfo_t *)a[3];
  info.si_signo = sig;
  return -hd__signal_send(process ? NULL : &rt.thread[tid], &info, pc);
}

static void touch_vector(const struct iovec *v, uint64_t n) {
  for (uint64_t i = 0; v && i < n && i < IOV_MAX; i++)
    hd__snapshot_touch((uint64_t)v[i].iov_base, v[i].iov_len);
}

static void touch_message(const struct msghdr *m) {
  hd__snapshot_touch((uint64_t)m, sizeof *m);
  hd__snapshot_touch((uint64_t)m->msg_name, m->msg_namelen);
  hd__snapshot_touch((uint64_t)m->msg_control, m->msg_controllen);
  touch_vector(m->msg_iov, m->msg_iovlen);
}

/* What the kernel writes to must be writable before a call that cannot be made twice: where it fails at a page that is
 * still protected, it transfers less than it could, or loses a message or a connection. */
static void touch_buffers(long nr, const long *a) {
  switch (nr) {
    case SYS_read:
    case SYS_pread64: hd__snapshot_touch((uint64_t)a[1], (uint64_t)a[2]); break;
    case SYS_readv:
    case SYS_preadv:
    case SYS_preadv2: touch_vector((const struct iovec *)a[1], (uint64_t)a[2]); break;
    case SYS_recvfrom:
      hd__snapshot_touch((uint64_t)a[1], (uint64_t)a[2]);
      hd__snapshot_touch((uint64_t)a[4], a[4] ? sizeof(struct sockaddr_storage) : 0);
      hd__snapshot_touch((uint64_t)a[5], a[5] ? sizeof(socklen_t) : 0);
      break;
    case SYS_recvmsg:
      if (a[1]) touch_message((const struct msghdr *)a[1]);
      break;
    case SYS_recvmmsg:
      for (long i = 0; a[1] && i < a[2] && i < IOV_MAX; i++) {
        hd__snapshot_touch((uint64_t)a[1] + (uint64_t)i * sizeof(struct mmsghdr), sizeof(struct mmsghdr));
        touch_message(&((const struct mmsghdr *)a[1])[i].msg_hdr);
      }
      break;
    case SYS_accept:
    case SYS_accept4:
      hd__snapshot_touch((uint64_t)a[1], a[1] ? sizeof(struct sockaddr_storage) : 0);
      hd__snapshot_touch((uint64_t)a[2], a[2] ? sizeof(socklen_t) : 0);
      break;
    case SYS_msgrcv: hd__snapshot_touch((uint64_t)a[1], (uint64_t)a[2] + sizeof(long)); break;
    case SYS_mq_timedreceive:
      hd__snapshot_touch((uint64_t)a[1], (uint64_t)a[2]);
      hd__snapshot_touch((uint64_t)a[3], a[3] ? sizeof(unsigned) : 0);
      break;
    default: break;
  }
}

/* The kernel could not write to a page that is still protected: makes it writable and retries. */
static long retry_fault(long nr, const long *a) {
  for (int i = 0; i < 6; i++) hd__snapshot_touch((uint64_t)a[i], 1 << 16);
  return hd_sys6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

long hd__plain(long nr, const long *a) {
  hd__process_limit(nr);
  touch_buffers(nr, a);
  long r = hd_sys6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
  return r == -EFAULT ? retry_fault(nr, a) : r;
}

static long pipe_call(long nr, const long *a) {
  hd__snapshot_touch((uint64_t)a[0], 8);
  long r = hd__plain(nr, a);
  int *fd = (int *)a[0];
  if (r) return r;
  struct hd_chan *c = hd__chan_new(HD_IO_PIPE);
  for (int i = 0; i < 2; i++) {
    c->end[i] = hd__desc_new(HD_IO_PIPE, c);
    fd[i] = (int)hd__fd_opened(fd[i], c->end[i]);
  }
  return 0;
}

static long made(long fd, unsigned kind) { return fd < 0 ? fd : hd__fd_opened(fd, hd__desc_new(kind, NULL)); }

static long names_opened(long nr, const long *a, long r) {
  bool opens = nr == SYS_open || nr == SYS_openat;
  if (opens && r >= 0 && is_random_device((const char *)(nr == SYS_open ? a[0] : a[1]))) hd__fd_is_random(r);
  if (nr == SYS_chdir || nr == SYS_fchdir) cwd_moved = true;
  if (opens && r >= 0) hd__proc_opened(nr, a, r);
  return r;
}

/* Calls that are operations of the schedule leave the signal handler, since other threads may run meanwhile. So do
 * signals to this process: a handler of the program must run on the thread's stack. */
static bool kills(long nr) {
  return nr == SYS_kill || nr == SYS_tkill || nr == SYS_tgkill || nr == SYS_rt_sigqueueinfo ||
         nr == SYS_rt_tgsigqueueinfo;
}

static bool forks(long nr) {
  return nr == SYS_fork || nr == SYS_vfork || nr == SYS_clone || nr == SYS_clone3;
}

static bool ends(long nr) { return nr == SYS_exit_group || nr == SYS_execve || nr == SYS_execveat; }

static bool suspends(long nr) { return nr == SYS_pause || nr == SYS_rt_sigsuspend; }

static bool serves_step(long nr, const long *a) {
  return hd__io_is_op(nr, a) || hd__names_is_op(nr, a) || hd__wait_is_op(nr, a) || hd__socket_is_op(nr, a) ||
         hd__child_is_op(nr) || hd__ipc_is_op(nr) || ends(nr) || kills(nr) ||
         (nr == SYS_futex && hd__futex_is_op(a)) || nr == SYS_nanosleep || nr == SYS_clock_nanosleep ||
         suspends(nr);
}

static bool is_operation(long nr, const long *a) {
  return serves_step(nr, a) || hd__state_is_op(nr, a) || hd__mapped_is_op(nr, a);
}

static long sleep_call(long nr, const long *a, uint64_t pc) {
  const struct timespec *t = (const struct timespec *)a[nr == SYS_nanosleep ? 0 : 2];
  uint64_t ns = (uint64_t)t->tv_sec * 1000000000ull + (uint64_t)t->tv_nsec, zero;
  if (nr == SYS_clock_nanosleep && (a[1] & TIMER_ABSTIME)) {
    zero = rt.now + hd__clock_zero((clockid_t)a[0]);
    ns = ns > zero ? ns - zero : 0;
  }
  return hd__sleep(ns, pc) ? -EINTR : 0;
}

static long serve_step(long nr, long *a, uint64_t pc) {
  if (hd__mapped_is_op(nr, a)) {
    bool alone = !serves_step(nr, a) && !hd__state_is_op(nr, a);
    hd__mapped_point(nr, a, alone, pc);
    if (alone) return hd__serve(nr, a);
  }
  if (hd__state_is_op(nr, a)) {
    hd__state_points(nr, a, pc);
    if (!serves_step(nr, a)) return hd__serve(nr, a);
  }
  if (nr == SYS_exit_group) hd__exit_now((int)a[0]);
  if (ends(nr)) return hd__exec_call(nr, a);
  if (kills(nr)) return do_kill(nr, a, pc);
  if (suspends(nr)) return hd__signal_suspend(nr == SYS_pause ? NULL : (const sigset_t *)a[0], pc);
  if (nr == SYS_futex) return hd__futex_call(a, pc);
  check_known(nr);
  if (hd__child_is_op(nr)) return hd__child_call(nr, a, pc);
  if (hd__ipc_is_op(nr)) return hd__ipc_call(nr, a, pc);
  if (hd__wait_is_op(nr, a)) return hd__wait_call(nr, a, pc);
  if (hd__socket_is_op(nr, a)) return hd__socket_call(nr, a, pc);
  if (hd__names_serves(nr) && !hd__io_takes(nr, a)) return names_opened(nr, a, hd__names_call(nr, a, pc));
  if (nr == SYS_nanosleep || nr == SYS_clock_nanosleep) return sleep_call(nr, a, pc);
  return hd__io_call(nr, a, pc);
}

long hd__serve(long nr, long *a) {
  long r;
  check_blocking(nr);
  check_known(nr);
  if (hd__names_serves(nr)) return names_opened(nr, a, hd__names_serve(nr, a));
  if (hd__process_serves(nr)) return hd__process_serve(nr, a);
  switch (nr) {
    case SYS_exit: hd__unsupported("the exit system call of a single thread", hd__innermost());
    case SYS_futex: return do_futex(a);
    case SYS_mmap: return do_mmap(a);
    case SYS_munmap: return do_munmap(a);
    case SYS_mremap: return do_mremap(a);
    case SYS_madvise: return do_madvise(a);
    case SYS_shmat: return do_shmat(a);
    case SYS_shmdt: return do_shmdt(a);
    case SYS_mprotect: return do_mprotect(a);
    case SYS_umask:
      r = hd__plain(nr, a);
      if (mask_start < 0) mask_start = r;
      return r;
    case SYS_brk: brk_moved = true; return hd__plain(nr, a);
    case SYS_getpid: return hd__pid();
    case SYS_gettid: return hd__tid(rt.cur);
    case SYS_getppid: return hd__ppid();
    case SYS_getcpu:
      if (a[0]) *(unsigned *)a[0] = 0;
      if (a[1]) *(unsigned *)a[1] = 0;
      return 0;
    case SYS_rt_sigprocmask:
      if (a[2]) hd__snapshot_touch((uint64_t)a[2], sizeof(uint64_t));
      return hd__signals_mask((int)a[0], (const uint64_t *)a[1], (uint64_t *)a[2]);
    case SYS_getrandom: return fill_random((void *)a[0], a[1]);
    case SYS_clock_gettime: return virtual_time(a);
    case SYS_gettimeofday: return virtual_gettimeofday(a);
    case SYS_time: return (long)time((time_t *)a[0]);
    case SYS_getrusage: return virtual_usage(nr, a);
    case SYS_times: return virtual_times(a);
    case SYS_memfd_create:
    case SYS_inotify_init:
    case SYS_inotify_init1:
    case SYS_mq_open:
    case SYS_io_uring_setup:
    case SYS_userfaultfd:
    case SYS_fanotify_init:
    case SYS_perf_event_open:
    case SYS_pidfd_open: return hd__fd_opened(hd__plain(nr, a), NULL);
    case SYS_eventfd:
    case SYS_eventfd2: return made(hd__plain(nr, a), HD_IO_EVENT);
    case SYS_epoll_create:
    case SYS_epoll_create1: return made(hd__plain(nr, a), HD_IO_EPOLL);
    case SYS_signalfd:
    case SYS_signalfd4: return hd__signalfd_create(nr, a);
    case SYS_timerfd_create: return hd__timerfd_create(a);
    case SYS_socket: return hd__socket_create(a);
    case SYS_socketpair: return hd__socket_pair(a);
    case SYS_setsockopt: return hd__socket_option(a);
    case SYS_getsockopt: return hd__socket_query(a);
    case SYS_pipe:
    case SYS_pipe2: return pipe_call(nr, a);
    case SYS_ioctl:
      if (a[1] == FIONBIO || a[1] == FIOASYNC) hd__fd_mode_changes(a[0]);
      return hd__plain(nr, a);
    case SYS_fcntl:
      if (a[1] == F_SETFL) hd__fd_mode_changes(a[0]);
      if (a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC) return hd__fd_dup(nr, a);
      return hd__plain(nr, a);
    case SYS_dup:
    case SYS_dup2:
    case SYS_dup3: return hd__fd_dup(nr, a);
    case SYS_close: return hd__fd_close(a[0]);
    case SYS_close_range: return hd__fd_close_range((unsigned)a[0], (unsigned)a[1], (unsigned)a[2]);
    case SYS_read:
      if (hd__fd_random(a[0])) return fill_random((void *)a[1], a[2]);
      hd__fd_moved(a[0]);
      return hd__plain(nr, a);
    case SYS_pread64:
      if (hd__fd_random(a[0])) return fill_random((void *)a[1], a[2]);
      return hd__plain(nr, a);
    case SYS_readv:
    case SYS_preadv2:
    case SYS_lseek: hd__fd_moved(a[0]); return hd__plain(nr, a);
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_sendfile: hd__file_changes(a[0]); return hd__plain(nr, a);
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_sync_file_range:
    case SYS_syncfs: return hd__sync_is_idle(a[0]) ? 0 : hd__plain(nr, a);
    case SYS_sync: return hd__sync_is_idle(-1) ? 0 : hd__plain(nr, a);
    case SYS_msync: {
      const long later[6] = {a[0], a[1], (a[2] & ~MS_SYNC) | MS_ASYNC};
      return hd__plain(nr, (a[2] & MS_SYNC) && !(a[2] & MS_ASYNC) && hd__sync_is_idle(-1) ? later : a);
    }
    case SYS_copy_file_range: hd__file_changes(a[2]); return hd__plain(nr, a);
    case SYS_rt_sigaction: return hd__sigaction_call(a);
    case SYS_sigaltstack: return hd__altstack_call(a);
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo: return do_kill(nr, a, hot.syscall_pc);
    default: return hd__alarm_serves(nr) ? hd__alarm_call(nr, a) : hd__plain(nr, a);
  }
}

/* libc masks everything for a moment when it starts a process. */
void hd__keep_mask(ucontext_t *uc) {
  static const int needed[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, HD_SIG_HANG};
  uint64_t mask = 0;
  hd_sys4(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, 8);
  for (unsigned i = 0; i < sizeof needed / sizeof *needed; i++) mask &= ~(1ull << (needed[i] - 1));
  hd__copy(&uc->uc_sigmask, &mask, sizeof mask);
}

/* Called where the system call was made, so that the unwinder starts from there. */
__attribute__((force_align_arg_pointer)) static void hd_rt_cancelled(void) { hd__cancel(); }

_Noreturn void hd__syscall_cancelled(void) {
  ucontext_t *uc = rt.cur->sys.context;
  rt.cur->sys.context = NULL;
  hd_arch_call(uc, hd_rt_cancelled);
  hd__keep_mask(uc);
  hd_arch_return_from_signal((uint64_t)uc);
}

_Noreturn void hd__syscall_returns(long r) {
  hd__release_fds();
  ucontext_t *uc = rt.cur->sys.context;
  rt.cur->sys.context = NULL;
  hd_sig_set_result(uc, r);
  hd__keep_mask(uc);
  hd_arch_return_from_signal((uint64_t)uc);
}

_Noreturn void hd__syscall_interrupted(bool again) {
  if (!again) hd__syscall_returns(-EINTR);
  ucontext_t *uc = rt.cur->sys.context;
  rt.cur->sys.context = NULL;
  hd_sig_again(uc);
  hd__keep_mask(uc);
  hd_arch_return_from_signal((uint64_t)uc);
}

/* The result, as the program gets it. */
static long result(long nr, const long *a, long r) {
  hd__sources_called(nr, a, r, hot.syscall_pc);
  return hd__pids_out(nr, a, r);
}

/* On the thread's own stack. */
static void hd_rt_syscall(ucontext_t *uc) {
  long a[6], nr = hd_sig_sysno(uc);
  char name[HD_PID_NAME];
  hd_sig_sysargs(uc, a);
  hd__pids_in(nr, a, name);
  rt.cur->sys.context = uc;
  rt.cur->sys.point = hd__libc_cancels();
  rt.cur->sys.done = rt.cur->sys.polled = false;
  hd_sig_set_result(uc, result(nr, a, serve_step(nr, a, hot.syscall_pc)));
  rt.cur->sys.context = NULL;
  hd__release_fds();
  rt.cur->sys.done = false;
  hd__notice_signals();
  hd__keep_mask(uc); /* not the interrupted one: others have run */
}

/* A call that is a cancellation point and no operation otherwise. Runs on the thread's own stack; the call itself is
 * served in the handler, when it is made again. */
static void hd_rt_before_point(ucontext_t *uc) {
  rt.cur->sys.context = uc;
  hd__cancel_point(hot.syscall_pc);
  rt.cur->sys.context = NULL;
  rt.cur->sys.tested = true;
  hd_sig_again(uc);
  hd__keep_mask(uc);
}

/* A fork copies what all threads have done so far, so it is ordered with what they do. Runs on the thread's own
 * stack; the call itself is served in the handler, when it is made again. */
static void hd_rt_before_fork(ucontext_t *uc) {
  rt.cur->op = (struct hd_op){
      .kind = HD_OP_SECTION, .section = HD_SECTION_ENTERS, .thread = rt.cur->id, .pc = hot.syscall_pc};
  hd__step();
  hd__event(0);
  rt.cur->sys.forks = true;
  hd_sig_again(uc);
  hd__keep_mask(uc);
}

/* The loader unmaps a library. Runs on the thread's own stack; the call itself is served in the handler. */
static void hd_rt_before_unload(ucontext_t *uc) {
  long a[6];
  hd_sig_sysargs(uc, a);
  hd__library_unload((uint64_t)a[0], (uint64_t)a[1], hot.syscall_pc);
  rt.cur->sys.unloads = true;
  hd_sig_again(uc);
  hd__keep_mask(uc);
}

/* A child of the program, which runs natively. */
static void on_child_syscall(long nr, ucontext_t *uc) {
  long a[6];
  if (forks(nr) || nr == SYS_execve || nr == SYS_execveat) {
    hot.selector = 0; /* for good */
    hd_sig_again(uc);
    return;
  }
  hd_sig_sysargs(uc, a);
  hd_sig_set_result(uc, hd__pids_child(nr, a));
  if (nr == SYS_rt_sigprocmask) hd__keep_mask(uc);
}

static void on_syscall(int sig, siginfo_t *info, void *context) {
  (void)sig;
  ucontext_t *uc = context;
  long a[6];
  if (info->si_code != 2 /* SYS_USER_DISPATCH */) return;
  if (info->si_syscall == SYS_rt_sigreturn) hd_arch_return_from_signal(hd_sig_sp(uc));
  if (rt.child) {
    on_child_syscall(info->si_syscall, uc);
    return;
  }
  rt.status->heartbeat++;
  hd__endless_stop(uc);
  if (HD_UNLIKELY(hd__tick_due())) hd__tick_call(uc);
  if (hot.log) hd__record_settle(); /* before memory is unmapped */
  hot.syscall_pc = hd__user_pc(hd_sig_pc(uc), hd_sig_sp(uc));
  hd_sig_sysargs(uc, a);
  if (rt.fingerprints) hd__fingerprint_syscall(info->si_syscall, a);
  if (rt.search.alike) hd__family_syscall(info->si_syscall, a);
  if (forks(info->si_syscall)) {
    if (rt.nthreads > 1 && !rt.cur->sys.forks && !rt.cur->section && !hd__on_signal_stack(hd_sig_sp(uc)))
      hd_arch_leave_handler(uc, hd_rt_before_fork);
    rt.cur->sys.forks = false;
    hd__sources_lose(hot.syscall_pc);
    hd_sig_set_result(uc, hd__fork_call(info->si_syscall, a, uc));
    return;
  }
  if (info->si_syscall == SYS_munmap && !rt.cur->sys.unloads && !rt.event_due &&
      hd__library_unmaps((uint64_t)a[0], (uint64_t)a[1]) && !hd__on_signal_stack(hd_sig_sp(uc)))
    hd_arch_leave_handler(uc, hd_rt_before_unload);
  rt.cur->sys.unloads = false;
  char name[HD_PID_NAME];
  hd__pids_in(info->si_syscall, a, name);
  /* A handler of the program for a fault runs on our signal stack, where no other thread may run. */
  if (is_operation(info->si_syscall, a)) {
    if (!hd__on_signal_stack(hd_sig_sp(uc))) hd_arch_leave_handler(uc, hd_rt_syscall);
    if (ends(info->si_syscall)) serve_step(info->si_syscall, a, hot.syscall_pc);
  } else if (!rt.cur->sys.tested && hd__libc_cancels() && hd__cancel_matters() &&
             !hd__on_signal_stack(hd_sig_sp(uc))) {
    hd_arch_leave_handler(uc, hd_rt_before_point);
  }
  rt.cur->sys.tested = false;
  hd_sig_set_result(uc, result(info->si_syscall, a, hd__serve(info->si_syscall, a)));
  hd__notice_signals();
  if (info->si_syscall == SYS_rt_sigprocmask) hd__keep_mask(uc);
}

/* ---- turning it on ---- */

void hd__sysguard_enable(void) {
  hd_sys6(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, (long)text_lo,
          (long)(text_hi - text_lo), (long)&hot.selector, 0);
}

void hd__sysguard_init(void) {
  hd__segment_of((uint64_t)on_syscall, &text_lo, &text_hi);
  hd__signal_install(SIGSYS, on_syscall);
  hd__cancel_init();
  brk_start = (uint64_t)hd_sys3(SYS_brk, 0, 0, 0);
  open_cwd();
  hd__fds_init();
  hd__sysguard_enable();
}

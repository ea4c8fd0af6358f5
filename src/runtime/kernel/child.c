/* child.c: processes that the tested program starts, and waiting for them. Runs in the tested process.
 *
 * A child runs natively: without the scheduler, with the calling thread only, and with memory of its own. The
 * parent continues under control. The timing of a child is not reproducible, so its parent polls only when no
 * thread can run: a wait for a child, or for what a child may write to, is not enabled before that.
 *
 * Invariants
 *  1. A child never touches the shared file: it has a private copy of what it needs of it.
 *  2. At a restart no child is left, nor what a child has left behind when it ended, as a daemon does that forks twice: this
 *     process adopts that.
 *  3. The kernel sends no SIGCHLD, whose moment could not be reproduced: it comes when no thread can run. Under a
 *     debugger it does, since gdb takes a child without it for a thread; gdb does not pass the signal on
 *     (src/gdb/heddle-gdb.py).
 *  4. A child that shares memory with the program runs only while no thread of the program can: it is held until then, and
 *     a thread continues when the child has ended or waits. What a thread reads there does not depend on its speed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "runtime/core/core.h"
#include "runtime/core/library.h"
#include "runtime/core/modules.h"
#include "runtime/core/finding.h"
#include "runtime/core/objects.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

#define MAX_CHILDREN 64
#define HOLD_ROUNDS 1000 /* milliseconds that a child gets which may itself wait for the program */
static struct child {
  long pid;
  struct hd_desc *d; /* readable when the child has ended */
  bool asked;        /* polled without waiting before it had ended */
  bool shares;       /* it has memory that the program may read */
  int gate;          /* while it is held: closing this lets it go; else -1 */
  long used;         /* processor time, when it was last waited for */
  bool told;         /* its SIGCHLD was delivered */
} children[MAX_CHILDREN];
static unsigned nchildren, nshare;
static bool adopts; /* invariant 2 */

/* ---- in the child ---- */

/* Invariant 1. */
static void leave_shared_file(void) {
  size_t n = offsetof(struct hd_ctl, finding);
  char *copy = hd__map(n);
  if (!copy) hd__die(127);
  hd__copy(copy, rt.ctl, n);
  hd_sys6(SYS_mmap, (long)HD_SHM_BASE, (long)HD_SHM_SIZE, PROT_READ | PROT_WRITE,
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  hd__copy(rt.ctl, copy, n);
}

static void become_native(void) {
  hot.active = hot.selector = 0;
  hot.tag = 0;
  rt.child = true;
  leave_shared_file();
  hd__snapshot_unguard();
  hd__tsc_trap(false);
  hd__plain_release();
  hd__libraries_release();
  hd__signals_native();
  hd__sysguard_enable(); /* not inherited; for pids.c */
  hot.selector = 1;
}

/* ---- in the parent ---- */

static void started(long pid, bool shares, int gate) {
  if (nchildren == MAX_CHILDREN)
    hd__fail(HD_RTE_ENVIRONMENT, hd__innermost(),
             "more than 64 child processes at once: make the test smaller");
  long fd = hd_sys3(SYS_pidfd_open, pid, 0, 0), high = -1;
  if (fd >= 0) {
    high = hd_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HD_FD_OWN);
    hd_sys3(SYS_close, fd, 0, 0);
  }
  struct hd_desc *d = hd__desc_new(HD_IO_CHILD, NULL);
  d->inside = false;
  d->idle_only = true;
  d->fd = (int)high;
  children[nchildren++] = (struct child){.pid = pid, .d = d, .shares = shares, .gate = gate};
  nshare += shares;
  for (struct hd_desc *o = hd__descs; o; o = o->next) /* the child has these too */
    if (o->kind == HD_IO_PIPE || o->kind == HD_IO_SOCKET || o->kind == HD_IO_EVENT) {
      o->inside = false;
      o->passed = true;
      o->idle_only = true;
    }
}

static void release(struct child *c) {
  if (c->gate >= 0) hd_sys3(SYS_close, c->gate, 0, 0);
  c->gate = -1;
}

static void forget(unsigned i) {
  release(&children[i]);
  nshare -= children[i].shares;
  if (children[i].d->fd >= 0) hd_sys3(SYS_close, children[i].d->fd, 0, 0);
  children[i].d->fd = -1;
  children[i] = children[--nchildren];
}

bool hd__children_any(void) { return nchildren; }

bool hd__children_run(void) {
  for (unsigned i = 0; i < nchildren; i++) {
    struct pollfd p = {children[i].d->fd, POLLIN, 0};
    if (p.fd < 0 || hd_sys3(SYS_poll, &p, 1, 0) == 0) return true;
  }
  return false;
}

/* Whether the process computes, or waits for nothing but the processor; and how much it has computed, in 1/100 s. */
static bool computes(long pid, long *used) {
  char path[40], text[512];
  hd__format(path, sizeof path, "/proc/%d/stat", (int64_t)pid);
  long fd = hd_sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  long n = hd_sys3(SYS_read, fd, text, sizeof text - 1), name = 0, v = 0;
  hd_sys3(SYS_close, fd, 0, 0);
  for (long i = 0; i < n; i++)
    if (text[i] == ')') name = i; /* the last one: the name may contain any */
  *used = 0;
  unsigned field = 2; /* the name; 14 and 15 are the times */
  for (long i = name + 1; i < n && field < 16; i++) {
    if (text[i] == ' ') {
      if (field == 14 || field == 15) *used += v;
      field++;
      v = 0;
    } else {
      v = v * 10 + (text[i] - '0');
    }
  }
  return n > name + 2 && (text[name + 2] == 'R' || text[name + 2] == 'D');
}

#define SETTLE_TIME 5      /* 1/100 s: a child that computes for longer is not waited for */
#define SETTLE_ROUNDS 5000 /* ms */

static bool settled(struct child *c, bool first) {
  long used;
  if (!c->shares || !computes(c->pid, &used)) return true;
  if (first) c->used = used;
  return used - c->used > SETTLE_TIME;
}

/* Invariant 4. */
void hd__children_settle(void) {
  if (!nshare) return;
  for (unsigned i = 0; i < nchildren; i++) release(&children[i]);
  for (unsigned round = 0; round < SETTLE_ROUNDS; round++) {
    struct timespec pause = {0, 1000000};
    hd_sys3(SYS_nanosleep, &pause, 0, 0);
    rt.status->heartbeat++;
    bool all = true;
    for (unsigned i = 0; i < nchildren; i++) all &= settled(&children[i], round == 0);
    if (all) return;
  }
}

/* Whether the program could notice that a child has ended. */
static bool awaits_end(void) {
  bool any = hd__signal_handled(SIGCHLD);
  for (unsigned i = 0; i < rt.nthreads; i++) any |= rt.thread[i].sig.waits >> (SIGCHLD - 1) & 1;
  for (const struct hd_desc *d = hd__descs; d; d = d->next)
    any |= d->kind == HD_IO_SIGNAL && d->fd >= 0 && d->signals >> (SIGCHLD - 1) & 1;
  return any;
}

/* The processes whose parent this one is, adopted ones included. Returns whether f did for any. */
static bool each_child(bool (*f)(long pid)) {
  char path[48], text[512];
  int64_t self = (int64_t)hd_sys3(SYS_getpid, 0, 0, 0), pid = 0;
  hd__format(path, sizeof path, "/proc/%d/task/%d/children", self, self);
  long fd = hd_sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  long n = hd_sys3(SYS_read, fd, text, sizeof text);
  hd_sys3(SYS_close, fd, 0, 0);
  bool any = false;
  for (long i = 0; i < n; i++) {
    if (text[i] >= '0' && text[i] <= '9') {
      pid = pid * 10 + (text[i] - '0');
      continue;
    }
    any |= pid && f(pid);
    pid = 0;
  }
  return any;
}

static bool is_known(long pid) {
  for (unsigned i = 0; i < nchildren; i++)
    if (children[i].pid == pid) return true;
  return false;
}

static bool add_adopted(long pid) {
  if (is_known(pid)) return false;
  started(pid, hd__shares_memory(), -1);
  return true;
}

/* What its children have left behind is the program's to wait for, if it wants that. The kernel hands it over before it says
 * that the child has ended. */
static void find_adopted(void) {
  if (hd__is_subreaper()) each_child(add_adopted);
}

/* Invariant 3: a child that has ended sends its SIGCHLD now. */
static bool tell_end(void) {
  find_adopted();
  for (unsigned i = 0; i < nchildren; i++) {
    struct pollfd p = {children[i].d->fd, POLLIN, 0};
    if (children[i].told || p.fd < 0 || hd_sys3(SYS_poll, &p, 1, 0) == 0) continue;
    children[i].told = true;
    hd__signals_child(children[i].pid);
    hd__io_signalled();
  }
  return rt.nenabled;
}

bool hd__children_help(void) {
  bool signals = hd__signals_expected(), sems = hd__sems_shared(), ends = awaits_end();
  unsigned rounds = 0;
  for (bool more = nchildren && (signals || sems || ends);; more = more && hd__children_run()) {
    if (hd__signals_outside() || (sems && hd__sems_update()) || (ends && tell_end())) return true;
    if (!more || (!sems && rounds++ > HOLD_ROUNDS && hd__children_hold())) return false;
    struct timespec ms = {0, 1000000};
    hd_sys3(SYS_nanosleep, &ms, 0, 0);
    rt.status->heartbeat++;
  }
}

bool hd__children_hold(void) {
  for (unsigned i = 0; nshare && i < rt.nthreads; i++) {
    const struct hd_thread *t = &rt.thread[i];
    if (t->state != HD_T_BLOCKED) continue;
    if (!hd__snapshot_shared(t->op.object) && !(t->wait.at && hd__snapshot_shared(t->wait.at->addr)))
      continue;
    hd__inexact(HD_INEXACT_SHARED_MEMORY, t->op.pc);
    return true;
  }
  return false;
}

static bool end_adopted(long pid) {
  hd_sys3(SYS_kill, pid, SIGKILL, 0);
  return hd_sys4(SYS_wait4, pid, 0, __WALL, 0) == pid;
}

static void adopt(void) {
  if (adopts || rt.callback) return; /* under hd_check the test has children of its own */
  adopts = hd_sys6(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0, 0) == 0;
}

/* Invariant 2. */
void hd__children_begin(void) {
  if (hd__children_run()) rt.status->left = 1;
  for (unsigned i = 0; i < nchildren; i++) {
    hd_sys3(SYS_kill, children[i].pid, SIGKILL, 0);
    while (hd_sys4(SYS_wait4, children[i].pid, 0, __WALL, 0) == -EINTR) {}
    if (children[i].d->fd >= 0) hd_sys3(SYS_close, children[i].d->fd, 0, 0);
    release(&children[i]);
  }
  while (adopts && each_child(end_adopted)) rt.status->left = 1;
  adopts = false;
  nchildren = nshare = 0;
  hd__ipc_begin();
}

/* ---- fork ---- */

#define SIGNAL_OF(flags) ((flags)&0xff) /* invariant 3 */

static long end_signal(void) { return rt.config->debug ? SIGCHLD : 0; }

/* A pipe, among the runtime's own descriptors. */
static void make_gate(int gate[2]) {
  int p[2];
  if (hd_sys3(SYS_pipe2, p, O_CLOEXEC, 0) < 0) return;
  for (int i = 0; i < 2; i++) {
    gate[i] = (int)hd_sys3(SYS_fcntl, p[i], F_DUPFD_CLOEXEC, HD_FD_OWN);
    hd_sys3(SYS_close, p[i], 0, 0);
  }
}

/* In the child: waits until the parent closes its end, or has died. */
static void pass_gate(int gate[2]) {
  if (gate[0] < 0) return;
  char c;
  for (unsigned i = 0; i < nchildren; i++) release(&children[i]); /* ours of the parent's ends */
  hd_sys3(SYS_close, gate[1], 0, 0);
  while (hd_sys3(SYS_read, gate[0], &c, 1) == -EINTR) {}
  hd_sys3(SYS_close, gate[0], 0, 0);
}

static long fork_with(long flags, const long *a) {
  hd__pids_fork();
  hd__signals_expect(); /* from the child */
  bool shares = hd__shares_memory();
  int gate[2] = {-1, -1};
  if (shares) {
    hd__inexact(HD_INEXACT_SHARED_MEMORY, hd__innermost());
    make_gate(gate);
  }
  long pid = hd_sys6(SYS_clone, (flags & ~SIGNAL_OF(flags)) | end_signal(), 0, a[2], a[3], a[4], 0);
  if (pid == 0) {
    pass_gate(gate);
    become_native();
    return 0;
  }
  if (gate[0] >= 0) hd_sys3(SYS_close, gate[0], 0, 0);
  if (pid > 0)
    started(pid, shares, gate[1]);
  else if (gate[1] >= 0)
    hd_sys3(SYS_close, gate[1], 0, 0);
  return pid;
}

/* Converts the arguments of clone3 to those of clone; flags that only clone3 has are not for forks. */
static bool old_terms(const long *a, long *out) {
  const struct clone_args *c = (const struct clone_args *)a[0];
  if ((size_t)a[1] < 64 || c->flags >> 32 || c->set_tid_size) return false;
  out[0] = (long)(c->flags | c->exit_signal);
  out[1] = (long)(c->stack ? c->stack + c->stack_size : 0);
  out[2] = (long)c->parent_tid;
  out[3] = (long)c->child_tid;
  out[4] = (long)c->tls;
  return true;
}

long hd__fork_call(long nr, const long *in, const ucontext_t *uc) {
  rt.forked = true;
  adopt();
  long a[6];
  static const long none[6];
  if (nr == SYS_fork || nr == SYS_vfork) return fork_with(0, none);
  hd__copy(a, in, sizeof a);
  if (nr == SYS_clone3 && !old_terms(in, a)) return -ENOSYS; /* libc falls back to clone */
  if (a[0] & CLONE_THREAD) hd__unsupported("a thread created with clone", hd__innermost());
  if (!(a[0] & CLONE_VM)) return fork_with(a[0], a);
  if (!(a[0] & CLONE_VFORK))
    hd__unsupported("a process that shares memory, created with clone", hd__innermost());
  if (!a[1]) return fork_with(a[0] & ~(long)(CLONE_VM | CLONE_VFORK), a);
  /* posix_spawn and similar: the child runs on a stack of its own in our memory while we wait for its exec. */
  a[0] &= ~SIGNAL_OF(a[0]);
  hd__tsc_trap(false);
  long pid = hd_arch_clone_beside(a, uc);
  hd__tsc_trap(true);
  if (pid > 0) started(pid, false, -1);
  return pid;
}

/* ---- waiting ---- */

bool hd__child_is_op(long nr) { return nr == SYS_wait4 || nr == SYS_waitid; }

/* The children that the call waits for. */
static unsigned asked_for(long nr, const long *a, struct hd_item *item, struct child **which) {
  unsigned n = 0;
  bool one = nr == SYS_wait4 ? (int)a[0] > 0 : (int)a[0] == P_PID;
  int pid = (int)(nr == SYS_wait4 ? a[0] : a[1]);
  for (unsigned i = 0; i < nchildren; i++)
    if (!one || children[i].pid == pid) {
      which[n] = &children[i];
      item[n++] = (struct hd_item){children[i].d, 0};
    }
  return n;
}

/* A program that polls without waiting would be faster than any child: it gets some time. */
static void give_time(struct child **which, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    struct pollfd p = {which[i]->d->fd, POLLIN, 0};
    if (p.fd >= 0 && hd_sys3(SYS_poll, &p, 1, which[i]->asked ? 1 : 100) == 0) which[i]->asked = true;
  }
}

/* Whether the process has ended unnoticed by the program: it was adopted, and init would have waited for it. */
static bool is_adopted(long pid) { return adopts && pid > 0 && !is_known(pid) && !hd__is_subreaper(); }

/* The call, without waiting, as if nothing had been adopted. */
static long wait_own(long nr, const long *b) {
  const siginfo_t *info = (const siginfo_t *)b[2];
  for (;;) {
    long r = hd__plain(nr, b), pid = nr == SYS_wait4 || r < 0 ? r : info->si_pid;
    if (!is_adopted(pid)) return r == 0 && !pid && adopts && !nchildren && !hd__is_subreaper() ? -ECHILD : r;
    if (nr == SYS_waitid) hd_sys4(SYS_wait4, pid, 0, __WALL | WNOHANG, 0); /* if it was only looked at */
  }
}

static long wait_now(long nr, const long *a, long *pid) {
  siginfo_t info = {0};
  long b[6];
  hd__copy(b, a, sizeof b);
  *pid = 0;
  if (nr == SYS_wait4) {
    b[2] |= WNOHANG | __WALL;
    hd__snapshot_touch((uint64_t)a[1], sizeof(int));
    long r = wait_own(nr, b);
    if (r > 0) *pid = r;
    if (r > 0 && a[3]) hd__zero((void *)a[3], sizeof(struct rusage));
    return r;
  }
  b[2] = (long)&info;
  b[3] |= WNOHANG | __WALL;
  b[4] = 0;
  b[5] = 0;
  long r = wait_own(nr, b);
  if (r == 0 && info.si_pid) {
    *pid = a[3] & WNOWAIT ? -1 : info.si_pid;
    info.si_uid = 0;
  }
  if (r == 0 && a[2] && (*pid || (a[3] & WNOHANG))) {
    hd__snapshot_touch((uint64_t)a[2], sizeof info);
    hd__copy((void *)a[2], &info, sizeof info);
  }
  return r;
}

long hd__child_call(long nr, long *a, uint64_t pc) {
  struct hd_item item[MAX_CHILDREN];
  struct child *which[MAX_CHILDREN];
  find_adopted();
  unsigned n = asked_for(nr, a, item, which);
  bool nohang = a[nr == SYS_wait4 ? 2 : 3] & WNOHANG;
  struct hd_io o = {.kind = HD_OP_WAITCHILD,
                    .object = (uint64_t)HD_IO_CHILD << 56,
                    .writes = 1,
                    .item = item,
                    .n = nohang ? 0 : n,
                    .fd = n == 1 ? (int)which[0]->pid : -1,
                    .timeout = HD_FOREVER,
                    .pc = pc};
  for (;;) {
    long pid;
    hd__io_point(&o);
    if (nohang) {
      hd__children_settle();
      give_time(which, n);
    }
    long r = wait_now(nr, a, &pid);
    if (r < 0 || pid || nohang) {
      hd__io_done(false);
      for (unsigned i = 0; i < nchildren; i++)
        if (children[i].pid == pid) forget(i);
      return r;
    }
    hd__io_stalled(&o);
    find_adopted();
    o.n = n = asked_for(nr, a, item, which); /* another thread may have reaped it */
  }
}

/* ---- exec ---- */

/* The new program runs natively, as a child whose end is the end of this execution. */
long hd__exec_call(long nr, const long *a) {
  int p[2], error = 0, status = 0;
  if (hd_sys3(SYS_pipe2, p, O_CLOEXEC, 0) < 0) return -EMFILE;
  if (rt.config->mode != HD_MODE_CHECK) real_fflush(NULL);
  long pid = hd_sys6(SYS_clone, end_signal(), 0, 0, 0, 0, 0);
  if (pid == 0) {
    leave_shared_file();
    hd__snapshot_unguard();
    hd__tsc_trap(false);
    error = (int)-hd_sys6(nr, a[0], a[1], a[2], a[3], a[4], 0);
    hd_sys3(SYS_write, p[1], &error, sizeof error);
    hd__die(127);
  }
  hd_sys3(SYS_close, p[1], 0, 0);
  if (pid > 0) hd_sys3(SYS_read, p[0], &error, sizeof error);
  hd_sys3(SYS_close, p[0], 0, 0);
  if (pid < 0) return pid;
  struct pollfd end = {(int)hd_sys3(SYS_pidfd_open, pid, 0, 0), POLLIN, 0};
  if (!error)
    while (end.fd >= 0 && hd_sys3(SYS_poll, &end, 1, 100) == 0) rt.status->heartbeat++;
  while (hd_sys4(SYS_wait4, pid, &status, __WALL, 0) == -EINTR) {}
  if (end.fd >= 0) hd_sys3(SYS_close, end.fd, 0, 0);
  if (error) return -error;
  hd__exit_now(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

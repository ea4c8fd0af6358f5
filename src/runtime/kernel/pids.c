/* pids.c: process and thread numbers as the program sees them. Runs in the tested process, and in its children.
 *
 * The program has the same number in every run; the kernel knows it by another. System calls that take or return a number
 * of a process, and names below /proc, are translated here. A child that the program forks has a number of its own,
 * which is the kernel's; for the child too the program's number stands for its parent, so its system calls stay
 * intercepted until it creates a process or a thread, or executes another program. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "runtime/core/core.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"

#define VIRTUAL_PID 4242

static long parent; /* in a child: the kernel's number of the program */

void hd__pids_fork(void) { parent = hd_sys3(SYS_getpid, 0, 0, 0); }

long hd__pid(void) { return VIRTUAL_PID; }
long hd__ppid(void) { return VIRTUAL_PID - 1; }
long hd__tid(const struct hd_thread *t) { return VIRTUAL_PID + t->id; }

int hd__thread_of_tid(long tid) {
  return tid >= VIRTUAL_PID && tid < VIRTUAL_PID + rt.nthreads ? (int)(tid - VIRTUAL_PID) : -1;
}

static long real_pid(void) { return rt.child ? parent : hd_sys3(SYS_getpid, 0, 0, 0); }

/* Negative numbers are those of groups. */
static long to_kernel(long pid) {
  if (pid < 0) return -pid == VIRTUAL_PID ? -real_pid() : pid;
  return pid >= VIRTUAL_PID && hd__thread_of_tid(pid) >= 0 ? real_pid() : pid;
}
static long to_program(long pid) {
  if (pid < 0) return -pid == real_pid() ? -VIRTUAL_PID : pid;
  return pid > 0 && pid == real_pid() ? VIRTUAL_PID : pid;
}

/* ---- names ---- */

static unsigned number_at(const char *s, long *out) {
  unsigned n = 0;
  for (*out = 0; s[n] >= '0' && s[n] <= '9' && n < 9; n++) *out = *out * 10 + (s[n] - '0');
  return n;
}

/* Copies a number, or the name that the kernel has for it. Returns how many characters of s it stands for. */
static unsigned translate(const char *s, char *to, unsigned *len) {
  long pid;
  unsigned n = number_at(s, &pid);
  if (!n || (s[n] && s[n] != '/') || to_kernel(pid) == pid) return 0;
  rt.cur->sys.named = (uint32_t)pid;
  hd__format(to, 12, "%d", (int64_t)to_kernel(pid));
  for (*len = 0; to[*len]; (*len)++) {}
  return n;
}

/* /proc/PID and /proc/.../task/TID. */
static const char *translate_name(const char *name, char out[HD_PID_NAME]) {
  char number[12];
  unsigned from = 0, to = 0, len;
  bool any = false;
  rt.cur->sys.named = 0;
  if (!name || !hd__starts(name, "/proc/")) return name;
  if (hd__starts(name, "/proc/thread-self/")) rt.cur->sys.named = (uint32_t)hd__tid(rt.cur);
  while (name[from] && to < HD_PID_NAME - 14) {
    unsigned n = 0;
    bool part =
        from && name[from - 1] == '/' && (from == 6 || (from > 5 && hd__starts(name + from - 5, "task/")));
    if (part) n = translate(name + from, number, &len);
    if (!n) {
      out[to++] = name[from++];
      continue;
    }
    for (unsigned i = 0; i < len; i++) out[to++] = number[i];
    from += n;
    any = true;
  }
  out[to] = 0;
  return any && !name[from] ? out : name;
}

static int name_of(long nr) {
  switch (nr) {
    case SYS_open:
    case SYS_stat:
    case SYS_lstat:
    case SYS_access:
    case SYS_readlink:
    case SYS_chdir: return 0;
    case SYS_openat:
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_faccessat:
    case 439 /* faccessat2 */:
    case SYS_readlinkat: return 1;
    default: return -1;
  }
}

/* ---- numbers ---- */

static int number_of(long nr, const long *a) {
  switch (nr) {
    case SYS_getpgid:
    case SYS_getsid:
    case SYS_setpgid:
    case SYS_sched_getscheduler:
    case SYS_sched_setscheduler:
    case SYS_sched_getparam:
    case SYS_sched_setparam:
    case SYS_sched_getattr:
    case SYS_sched_setattr:
    case SYS_sched_getaffinity:
    case SYS_sched_setaffinity:
    case SYS_sched_rr_get_interval:
    case SYS_pidfd_open:
    case SYS_process_vm_readv:
    case SYS_process_vm_writev:
    case SYS_prlimit64: return 0;
    case SYS_getpriority:
    case SYS_setpriority: return a[0] == PRIO_USER ? -1 : 1;
    case SYS_ioprio_get:
    case SYS_ioprio_set: return a[0] == 1 /* IOPRIO_WHO_PROCESS */ || a[0] == 2 /* _PGRP */ ? 1 : -1;
    case SYS_fcntl: return a[1] == F_SETOWN ? 2 : -1;
    default: return -1;
  }
}

/* Clocks of processor time have the complement of a number of a process in them. */
static long clock_to_kernel(long clock) {
  long pid = ~((int)clock >> 3);
  return (int)clock < 0 && to_kernel(pid) != pid ? CLOCK_PROCESS_CPUTIME_ID : clock;
}

/* What belongs to the process alone is virtual (process.c): its own number is 0 there. */
static bool is_own_process(long nr, const long *a) {
  return !rt.child &&
         (nr == SYS_prlimit64 || ((nr == SYS_getpriority || nr == SYS_setpriority) && a[0] == PRIO_PROCESS));
}

/* The credentials that come with a message. */
static void credentials(const struct msghdr *m, long (*f)(long)) {
  if (!m || !m->msg_control || m->msg_controllen < sizeof(struct cmsghdr)) return;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR((struct msghdr *)m, c))
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
      struct ucred *u = (struct ucred *)CMSG_DATA(c);
      u->pid = (pid_t)f(u->pid);
    }
}

/* Who gets the signals of a descriptor: libc asks in this way, too. */
static void owner(const long *a, long (*f)(long)) {
  struct f_owner_ex *o = (struct f_owner_ex *)a[2];
  if (o) o->pid = (pid_t)f(o->pid);
}

/* Where /proc/self and /proc/thread-self lead: the kernel writes one character, and the program gets what it asked for. */
static bool is_own_link(long nr, const long *a) {
  int n = name_of(nr);
  if (rt.child || (nr != SYS_readlink && nr != SYS_readlinkat) || !a[n]) return false;
  return hd__streq((const char *)a[n], "/proc/self") || hd__streq((const char *)a[n], "/proc/thread-self");
}

static void shorten_link(long nr, long *a) {
  int n = name_of(nr);
  if (!is_own_link(nr, a) || a[n + 2] <= 0) return;
  a[n + 3] = a[n + 2];
  a[n + 2] = 1;
}

static long own_link(long nr, const long *a, long r) {
  char text[40];
  int n = name_of(nr);
  if (r <= 0 || !is_own_link(nr, a)) return r;
  bool thread = hd__streq((const char *)a[n], "/proc/thread-self");
  long length = (long)hd__format(text, sizeof text, thread ? "%d/task/%d" : "%d", (int64_t)hd__pid(),
                                 (int64_t)hd__tid(rt.cur));
  if (length > a[n + 3]) length = a[n + 3];
  hd__snapshot_touch((uint64_t)a[n + 1], (uint64_t)length);
  hd__copy((char *)a[n + 1], text, (size_t)length);
  return length;
}

void hd__pids_in(long nr, long *a, char name[HD_PID_NAME]) {
  int n = name_of(nr), k = number_of(nr, a);
  if (n >= 0) a[n] = (long)translate_name((const char *)a[n], name);
  if (k >= 0) {
    long pid = (int)a[k], kernel = to_kernel(pid); /* what is above 32 bits the kernel ignores */
    if (kernel != pid) a[k] = is_own_process(nr, a) ? 0 : kernel;
  }
  if (nr == SYS_setpgid) a[1] = to_kernel(a[1]);
  shorten_link(nr, a);
  if (nr == SYS_clock_getres) a[0] = clock_to_kernel(a[0]);
  if (nr == SYS_sendmsg) credentials((const struct msghdr *)a[1], to_kernel);
  if (nr == SYS_fcntl && a[1] == F_SETOWN_EX) owner(a, to_kernel);
  if (nr == SYS_fcntl && a[1] == F_GETOWN_EX && a[2])
    hd__snapshot_touch((uint64_t)a[2], sizeof(struct f_owner_ex));
}

long hd__pids_to_program(long pid) { return to_program(pid); }

long hd__pids_out(long nr, const long *a, long r) {
  switch (nr) {
    case SYS_getdents64: return hd__proc_list(a, r);
    case SYS_stat:
    case SYS_lstat:
    case SYS_fstat:
    case SYS_newfstatat:
    case SYS_statx: hd__proc_status(nr, a, r); return r;
    case SYS_getpgid:
    case SYS_getpgrp:
    case SYS_getsid: return to_program(r);
    case SYS_fcntl:
      if (a[1] == F_SETOWN_EX || (a[1] == F_GETOWN_EX && r == 0)) owner(a, to_program);
      return a[1] == F_GETOWN ? to_program(r) : r;
    case SYS_readlink:
    case SYS_readlinkat: return own_link(nr, a, r);
    case SYS_getsockopt:
      if (r == 0 && a[1] == SOL_SOCKET && a[2] == SO_PEERCRED && a[3])
        ((struct ucred *)a[3])->pid = (pid_t)to_program(((struct ucred *)a[3])->pid);
      return r;
    case SYS_sendmsg: credentials((const struct msghdr *)a[1], to_program); return r;
    case SYS_recvmsg:
      if (r >= 0) credentials((const struct msghdr *)a[1], to_program);
      return r;
    default: return r;
  }
}

/* ---- in a child ---- */

long hd__pids_child(long nr, long *a) {
  char name[HD_PID_NAME];
  switch (nr) {
    case SYS_getppid: return to_program(hd_sys3(nr, 0, 0, 0));
    case SYS_sigaltstack: return 0; /* ours is in use */
    case SYS_kill:
    case SYS_rt_sigqueueinfo: a[0] = to_kernel(a[0]); break;
    case SYS_tgkill:
    case SYS_rt_tgsigqueueinfo:
      if (a[0] == VIRTUAL_PID) a[0] = a[1] = parent;
      break;
    default: hd__pids_in(nr, a, name); break;
  }
  return hd__pids_out(nr, a, hd_sys6(nr, a[0], a[1], a[2], a[3], a[4], a[5]));
}

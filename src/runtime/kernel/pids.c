/* pids.c: process and thread numbers as the program sees them. Runs in the tested process, and in its children.
 *
 * The program has the same number in every run; the kernel knows it by another. System calls that take or return a number
 * of a process, and names below /proc, are translated here. A child that the program forks has a number of its own,
 * which is the kernel's; for the child too the program's number stands for its parent, so its system calls stay
 * intercepted until it creates a process or a thread, or executes another program. */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
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

/* Whether a name begins with a number in a folder of processes or threads. */
static bool begins_with_number(long dir, const char *name) {
  char whole[HD_PID_NAME];
  long pid;
  unsigned n = number_at(name, &pid);
  return n && to_kernel(pid) != pid && hd__proc_name(dir, name, whole) &&
         (hd__starts(whole + 1, "proc/") && (number_at(whole + 6, &pid) || hd__starts(whole + 6, "self/")));
}

/* /proc/PID and /proc/.../task/TID. */
static const char *translate_name(long dir, const char *name, char out[HD_PID_NAME]) {
  char number[12];
  unsigned from = 0, to = 0, len;
  bool any = false;
  rt.cur->sys.named = 0;
  if (!name) return name;
  if (*name >= '0' && *name <= '9' && begins_with_number(dir, name)) {
    from = translate(name, out, &to);
    any = from > 0;
  } else if (!hd__starts(name, "/proc/")) {
    return name;
  }
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
    case SYS_get_robust_list:
    case SYS_kcmp:
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

/* Who gets the signals of a descriptor: libc asks in this way, too. To the kernel all threads are one, so the description
 * remembers which it was. */
struct owner {
  struct f_owner_ex kernel;
  pid_t program;
};
_Static_assert(sizeof(struct owner) <= HD_PID_NAME, "it is kept in the room for a name");

static void set_owner(long *a, char *room) {
  const struct f_owner_ex *o = (const struct f_owner_ex *)a[2];
  if (!o) return;
  struct owner w = {{o->type, (pid_t)to_kernel(o->pid)}, o->pid};
  hd__copy(room, &w, sizeof w);
  a[2] = (long)room;
}

static void owner_set(const long *a) {
  struct hd_desc *d = rt.child ? NULL : hd__fd(a[0]);
  struct owner w;
  if (!d || !a[2]) return;
  hd__copy(&w, (const void *)a[2], sizeof w);
  d->owner = w.kernel.type == F_OWNER_TID ? w.program : 0;
}

static void owner_got(const long *a) {
  struct f_owner_ex *o = (struct f_owner_ex *)a[2];
  const struct hd_desc *d = rt.child ? NULL : hd__fd(a[0]);
  o->pid = d && d->owner && o->type == F_OWNER_TID ? d->owner : (pid_t)to_program(o->pid);
}

/* Requests for a terminal or a socket that have the number of a process, a group or a session. */
enum { SETS_NUMBER = 1, GETS_NUMBER };
static int number_in_request(long request) {
  switch (request) {
    case TIOCSPGRP:
    case 0x8901 /* FIOSETOWN */:
    case 0x8902 /* SIOCSPGRP */: return SETS_NUMBER;
    case TIOCGPGRP:
    case TIOCGSID:
    case 0x8903 /* FIOGETOWN */:
    case 0x8904 /* SIOCGPGRP */: return GETS_NUMBER;
    default: return 0;
  }
}

static void request_in(long *a, char *room) {
  int how = number_in_request(a[1]);
  if (how == SETS_NUMBER && a[2]) {
    int pid = (int)to_kernel(*(const int *)a[2]);
    hd__copy(room, &pid, sizeof pid);
    a[2] = (long)room;
  }
  if (how == GETS_NUMBER && a[2]) hd__snapshot_touch((uint64_t)a[2], sizeof(int));
}

/* capget and capset have it in a header. */
static void capability_in(const long *a) {
  int *header = (int *)a[0];
  rt.cur->sys.named = 0;
  if (!header || to_kernel(header[1]) == header[1]) return;
  rt.cur->sys.named = (uint32_t)header[1];
  header[1] = (int)to_kernel(header[1]);
}
static void capability_out(const long *a) {
  int *header = (int *)a[0];
  if (header && rt.cur->sys.named) header[1] = (int)rt.cur->sys.named;
}

/* Who made, and used last, what is shared with other processes. */
static long ipc_out(long nr, const long *a, long r) {
  if (r < 0) return r;
  if (nr == SYS_semctl) return a[2] == GETPID ? to_program(r) : r;
  if (nr == SYS_shmctl && a[2] && (a[1] == IPC_STAT || a[1] == SHM_STAT || a[1] == 15 /* SHM_STAT_ANY */)) {
    struct shmid_ds *s = (struct shmid_ds *)a[2];
    s->shm_cpid = (pid_t)to_program(s->shm_cpid);
    s->shm_lpid = (pid_t)to_program(s->shm_lpid);
  }
  if (nr == SYS_msgctl && a[2] && (a[1] == IPC_STAT || a[1] == MSG_STAT || a[1] == 13 /* MSG_STAT_ANY */)) {
    struct msqid_ds *s = (struct msqid_ds *)a[2];
    s->msg_lspid = (pid_t)to_program(s->msg_lspid);
    s->msg_lrpid = (pid_t)to_program(s->msg_lrpid);
  }
  return r;
}

static long control_out(const long *a, long r) {
  if (r < 0) return r;
  switch (a[1]) {
    case F_SETOWN_EX: owner_set(a); return r;
    case F_GETOWN_EX: owner_got(a); return r;
    case F_GETLK: {
      struct flock *l = (struct flock *)a[2];
      if (l->l_type != F_UNLCK) l->l_pid = (pid_t)to_program(l->l_pid);
      return r;
    }
    case F_GETOWN: return to_program(r);
    default: return r;
  }
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
  if (n >= 0) a[n] = (long)translate_name(n ? a[0] : AT_FDCWD, (const char *)a[n], name);
  if (k >= 0) {
    long pid = (int)a[k], kernel = to_kernel(pid); /* what is above 32 bits the kernel ignores */
    if (kernel != pid) a[k] = is_own_process(nr, a) ? 0 : kernel;
  }
  if (nr == SYS_setpgid || nr == SYS_kcmp) a[1] = to_kernel(a[1]);
  if (nr == SYS_ioctl) request_in(a, name);
  if (nr == SYS_capget || nr == SYS_capset) capability_in(a);
  shorten_link(nr, a);
  if (nr == SYS_clock_getres) a[0] = clock_to_kernel(a[0]);
  if (nr == SYS_sendmsg) credentials((const struct msghdr *)a[1], to_kernel);
  if (nr == SYS_fcntl && a[1] == F_SETOWN_EX) set_owner(a, name);
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
    case SYS_fcntl: return control_out(a, r);
    case SYS_ioctl:
      if (r == 0 && number_in_request(a[1]) == GETS_NUMBER && a[2])
        *(int *)a[2] = (int)to_program(*(const int *)a[2]);
      return r;
    case SYS_capget:
    case SYS_capset: capability_out(a); return r;
    case SYS_shmctl:
    case SYS_msgctl:
    case SYS_semctl: return ipc_out(nr, a, r);
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

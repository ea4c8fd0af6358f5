/* process.c: system calls on state of the process: working directory, file mode mask, limits, priority, identity, and flags
 * of descriptors that only some calls look at. Runs in the tested process.
 *
 * Invariants
 *  1. A change beside other threads is an operation, and so is a call that depends on the state once it is known to change
 *     (state.h): a relative path depends on the working directory, a new file on the mask, a new descriptor on its limit.
 *  2. Limits are kept here, since a lowered hard limit cannot be raised again. That of descriptors is enforced here, and
 *     concerns those of the program only; soft limits of files, core dumps and locked memory are passed on.
 *  3. A call that may make a file longer obeys the limit that its thread looked at before the operations of the call, as the
 *     kernel reads the limit first.
 *  4. Priorities are accepted and returned, and have no effect. */
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "runtime/core/core.h"
#include "runtime/core/state.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"

/* ---- limits ---- */

static HD_EXEC_LARGE struct {
  uint32_t epoch; /* execution that changed it */
  struct rlimit now;
} limit[RLIM_NLIMITS];
static uint32_t passed; /* of these, one bit each, the kernel has another soft limit now */
static struct rlimit start[RLIM_NLIMITS];

static bool passed_on(unsigned resource) {
  return resource == RLIMIT_FSIZE || resource == RLIMIT_CORE || resource == RLIMIT_MEMLOCK;
}

static long real_limit(unsigned resource, const struct rlimit *new, struct rlimit *old) {
  return hd_sys4(SYS_prlimit64, 0, resource, new, old);
}

static struct rlimit limit_of(unsigned resource) {
  struct rlimit l;
  if (limit[resource].epoch == rt.epoch) return limit[resource].now;
  real_limit(resource, NULL, &l);
  return l;
}

static long set_limit(unsigned resource, const struct rlimit *new) {
  struct rlimit old = limit_of(resource);
  if (new->rlim_cur > new->rlim_max) return -EINVAL;
  if (new->rlim_max > old.rlim_max && hd_sys3(SYS_geteuid, 0, 0, 0)) return -EPERM;
  limit[resource].epoch = rt.epoch;
  limit[resource].now = *new;
  if (!passed_on(resource)) return 0;
  if (!(passed >> resource & 1)) real_limit(resource, NULL, &start[resource]);
  passed |= 1u << resource;
  struct rlimit soft = {new->rlim_cur, start[resource].rlim_max};
  if (soft.rlim_cur > soft.rlim_max) soft.rlim_cur = soft.rlim_max;
  return real_limit(resource, &soft, NULL);
}

static long limit_call(unsigned resource, const struct rlimit *new, struct rlimit *old) {
  if (resource >= RLIM_NLIMITS) return -EINVAL;
  struct rlimit was = limit_of(resource);
  long r = new ? set_limit(resource, new) : 0;
  if (r == 0 && old) {
    hd__snapshot_touch((uint64_t)old, sizeof *old);
    *old = was;
  }
  return r;
}

bool hd__fd_over_limit(long fd) {
  return limit[RLIMIT_NOFILE].epoch == rt.epoch && (rlim_t)fd >= limit[RLIMIT_NOFILE].now.rlim_cur;
}

/* ---- priority, and the name of a thread ---- */

static HD_EXEC int nice_now;
static HD_EXEC uint32_t nice_epoch;

static long priority_call(long nr, const long *a) {
  if (a[0] != PRIO_PROCESS || a[1]) return hd__plain(nr, a);
  if (nice_epoch != rt.epoch) nice_now = (int)(20 - hd_sys3(SYS_getpriority, PRIO_PROCESS, 0, 0));
  nice_epoch = rt.epoch;
  if (nr == SYS_getpriority) return 20 - nice_now;
  int to = (int)a[2] > 19 ? 19 : (int)a[2] < -20 ? -20 : (int)a[2];
  if (to < nice_now && hd_sys3(SYS_geteuid, 0, 0, 0)) return -EACCES;
  nice_now = to;
  return 0;
}

/* What the kernel knows is ours (child.c). */
static HD_EXEC int reaper;
static HD_EXEC uint32_t reaper_epoch;
bool hd__is_subreaper(void) { return reaper_epoch == rt.epoch && reaper; }

static long prctl_call(long nr, const long *a) {
  char *name = rt.cur->attr.name;
  if (a[0] == PR_SET_CHILD_SUBREAPER) {
    reaper = a[1] != 0;
    reaper_epoch = rt.epoch;
    return hd__plain(nr, a[1] ? a : (const long[6]){PR_SET_CHILD_SUBREAPER, 1});
  }
  if (a[0] == PR_GET_CHILD_SUBREAPER && a[1]) {
    hd__snapshot_touch((uint64_t)a[1], sizeof(int));
    *(int *)a[1] = hd__is_subreaper();
    return 0;
  }
  if (a[0] == PR_SET_NAME) {
    size_t n = 0;
    for (const char *s = (const char *)a[1]; n < 15 && s[n]; n++) name[n] = s[n];
    name[n] = 0;
    return 0;
  }
  if (a[0] == PR_GET_NAME && name[0]) {
    hd__snapshot_touch((uint64_t)a[1], 16);
    hd__copy((void *)a[1], name, hd__strlen(name) + 1);
    return 0;
  }
  return hd__plain(nr, a);
}

/* ---- as operations (invariant 1) ---- */

static const struct call {
  short nr;
  uint8_t state;
  bool changes;
  int8_t which; /* argument that tells several apart, -1 */
} calls[] = {
    {SYS_chdir, HD_STATE_CWD, true, -1},
    {SYS_fchdir, HD_STATE_CWD, true, -1},
    {SYS_chroot, HD_STATE_CWD, true, -1},
    {SYS_getcwd, HD_STATE_CWD, false, -1},
    {SYS_umask, HD_STATE_UMASK, true, -1},
    {SYS_setrlimit, HD_STATE_LIMITS, true, 0},
    {SYS_getrlimit, HD_STATE_LIMITS, false, 0},
    {SYS_prlimit64, HD_STATE_LIMITS, true, 1},
    {SYS_setpriority, HD_STATE_PRIORITY, true, -1},
    {SYS_getpriority, HD_STATE_PRIORITY, false, -1},
    {SYS_setuid, HD_STATE_IDENTITY, true, -1},
    {SYS_setgid, HD_STATE_IDENTITY, true, -1},
    {SYS_setreuid, HD_STATE_IDENTITY, true, -1},
    {SYS_setregid, HD_STATE_IDENTITY, true, -1},
    {SYS_setresuid, HD_STATE_IDENTITY, true, -1},
    {SYS_setresgid, HD_STATE_IDENTITY, true, -1},
    {SYS_setgroups, HD_STATE_IDENTITY, true, -1},
    {SYS_setpgid, HD_STATE_IDENTITY, true, -1},
    {SYS_setsid, HD_STATE_IDENTITY, true, -1},
    {SYS_getuid, HD_STATE_IDENTITY, false, -1},
    {SYS_geteuid, HD_STATE_IDENTITY, false, -1},
    {SYS_getgid, HD_STATE_IDENTITY, false, -1},
    {SYS_getegid, HD_STATE_IDENTITY, false, -1},
    {SYS_getresuid, HD_STATE_IDENTITY, false, -1},
    {SYS_getresgid, HD_STATE_IDENTITY, false, -1},
    {SYS_getgroups, HD_STATE_IDENTITY, false, -1},
    {SYS_getpgid, HD_STATE_IDENTITY, false, -1},
    {SYS_getpgrp, HD_STATE_IDENTITY, false, -1},
    {SYS_getsid, HD_STATE_IDENTITY, false, -1},
    {SYS_alarm, HD_STATE_TIMERS, true, -1},
    {SYS_setitimer, HD_STATE_TIMERS, true, -1},
    {SYS_getitimer, HD_STATE_TIMERS, false, -1},
    {SYS_timer_create, HD_STATE_TIMERS, true, -1},
    {SYS_timer_delete, HD_STATE_TIMERS, true, -1},
    {SYS_timer_settime, HD_STATE_TIMERS, true, -1},
    {SYS_timer_gettime, HD_STATE_TIMERS, false, -1},
    {SYS_timer_getoverrun, HD_STATE_TIMERS, false, -1},
};

static const struct call *find(long nr) {
  for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
    if (calls[i].nr == nr) return &calls[i];
  return NULL;
}

static bool changes(const struct call *c, const long *a) {
  return c->nr == SYS_prlimit64 ? a[2] : c->changes;
}

/* Attributes of the process that prctl gets and sets. Its other ones are of the calling thread. */
static const struct {
  uint8_t get, set;
} attributes[] = {
    {PR_GET_DUMPABLE, PR_SET_DUMPABLE},
    {PR_GET_CHILD_SUBREAPER, PR_SET_CHILD_SUBREAPER},
    {PR_GET_THP_DISABLE, PR_SET_THP_DISABLE},
};

static uint32_t attribute(const long *a, bool *sets) {
  for (uint32_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
    *sets = a[0] == attributes[i].set;
    if (*sets || a[0] == attributes[i].get) return i + 1;
  }
  return 0;
}

/* Options of a socket, and whether a number is closed by exec. */
static uint32_t description(long fd) {
  const struct hd_desc *d = hd__fd(fd);
  uint64_t name = d ? d->chan->object * 2 + (d == d->chan->end[1]) : 0;
  return (uint32_t)(name ^ name >> 32) | 1;
}

/* Calls that get or set something. Returns which of that kind of state, 0 if it is none. */
static uint32_t gets_or_sets(long nr, const long *a, enum hd_state *state, bool *sets) {
  switch (nr) {
    case SYS_prctl:
      *sets = a[0] == PR_SET_NAME;
      *state = *sets || a[0] == PR_GET_NAME ? HD_STATE_NAME : HD_STATE_ATTRIBUTE;
      return *state == HD_STATE_NAME ? rt.cur->id + 1u : attribute(a, sets);
    case SYS_fcntl:
      *state = HD_STATE_FDS;
      *sets = a[1] == F_SETFD;
      return a[1] == F_SETFD || a[1] == F_GETFD ? (uint32_t)a[0] + 1 : 0;
    case SYS_setsockopt:
    case SYS_getsockopt:
      *state = HD_STATE_OPTION;
      *sets = nr == SYS_setsockopt;
      return description(a[0]);
    default: return 0;
  }
}

static bool opens(long nr, const long *a) {
  switch (nr) {
    case SYS_fcntl: return a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC;
    case SYS_pidfd_open:
    case SYS_mq_open:
    case SYS_open:
    case SYS_openat:
    case SYS_openat2:
    case SYS_creat:
    case SYS_socket:
    case SYS_socketpair:
    case SYS_accept:
    case SYS_accept4:
    case SYS_pipe:
    case SYS_pipe2:
    case SYS_dup:
    case SYS_epoll_create:
    case SYS_epoll_create1:
    case SYS_eventfd:
    case SYS_eventfd2:
    case SYS_timerfd_create:
    case SYS_memfd_create:
    case SYS_signalfd:
    case SYS_signalfd4:
    case SYS_inotify_init:
    case SYS_inotify_init1: return true;
    default: return false;
  }
}

/* Calls that may make a file longer. */
static bool lengthens(long nr) {
  switch (nr) {
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_truncate:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_copy_file_range: return true;
    default: return false;
  }
}

static HD_EXEC_LARGE struct {
  uint32_t epoch;
  rlim_t most;
} looked[HD_MAX_THREADS]; /* invariant 3 */

static void look_at_size(uint64_t pc) {
  hd__lookup(HD_STATE_LIMITS, RLIMIT_FSIZE, pc);
  looked[rt.cur->id].epoch = rt.epoch;
  looked[rt.cur->id].most = limit_of(RLIMIT_FSIZE).rlim_cur;
}

void hd__process_limit(long nr) {
  if (!passed || !lengthens(nr) || !rt.cur || looked[rt.cur->id].epoch != rt.epoch) return;
  struct rlimit soft = {looked[rt.cur->id].most, start[RLIMIT_FSIZE].rlim_max};
  if (passed >> RLIMIT_FSIZE & 1) real_limit(RLIMIT_FSIZE, &soft, NULL);
}

/* What a call depends on, as a set of states. */
static uint32_t looks(long nr, const long *a) {
  uint32_t set = 0;
  if (hd__proc_shows_threads(nr, a)) set |= 1u << HD_STATE_THREADS;
  bool numbers = opens(nr, a) || nr == SYS_dup2 || nr == SYS_dup3;
  if ((numbers || lengthens(nr)) && hd__state_changes(HD_STATE_LIMITS)) set |= 1u << HD_STATE_LIMITS;
  bool makes;
  if (!hd__names_use(nr, a, &makes)) {
    if (makes && hd__state_changes(HD_STATE_UMASK)) set |= 1u << HD_STATE_UMASK;
    return set;
  }
  if (hd__state_changes(HD_STATE_CWD)) set |= 1u << HD_STATE_CWD;
  if (makes && hd__state_changes(HD_STATE_UMASK)) set |= 1u << HD_STATE_UMASK;
  return set;
}

bool hd__state_is_op(long nr, const long *a) {
  if (!rt.nunjoined) return false;
  const struct call *c = find(nr);
  enum hd_state state;
  bool sets;
  if (c) return changes(c, a) || hd__state_looks(c->state);
  if (gets_or_sets(nr, a, &state, &sets)) return sets || hd__state_looks(state);
  return looks(nr, a) != 0 || ((opens(nr, a) || nr == SYS_close) && hd__fds_shared());
}

void hd__state_points(long nr, const long *a, uint64_t pc) {
  const struct call *c = find(nr);
  if (c) {
    uint32_t which = c->which >= 0 ? (uint32_t)a[c->which] : 0;
    if (changes(c, a))
      hd__change(c->state, which, pc);
    else
      hd__lookup(c->state, which, pc);
    return;
  }
  enum hd_state state;
  bool sets;
  uint32_t which = gets_or_sets(nr, a, &state, &sets);
  if (which) {
    if (sets)
      hd__change(state, which, pc);
    else
      hd__lookup(state, which, pc);
    return;
  }
  uint32_t set = looks(nr, a);
  if (set >> HD_STATE_CWD & 1) hd__lookup(HD_STATE_CWD, 0, pc);
  if (set >> HD_STATE_UMASK & 1) hd__lookup(HD_STATE_UMASK, 0, pc);
  if (set >> HD_STATE_THREADS & 1) hd__observe(HD_STATE_THREADS, 0, pc);
  if ((set >> HD_STATE_LIMITS & 1) && lengthens(nr))
    look_at_size(pc);
  else if (set >> HD_STATE_LIMITS & 1)
    hd__lookup(HD_STATE_LIMITS, RLIMIT_NOFILE, pc);
  if (opens(nr, a) && hd__fds_shared())
    hd__fd_reserve(nr == SYS_pipe || nr == SYS_pipe2 || nr == SYS_socketpair ? 2 : 1, pc);
}

bool hd__process_serves(long nr) {
  return nr == SYS_setrlimit || nr == SYS_getrlimit || nr == SYS_prlimit64 || nr == SYS_setpriority ||
         nr == SYS_getpriority || nr == SYS_prctl;
}

long hd__process_serve(long nr, const long *a) {
  switch (nr) {
    case SYS_setrlimit: return limit_call((unsigned)a[0], (const struct rlimit *)a[1], NULL);
    case SYS_getrlimit: return limit_call((unsigned)a[0], NULL, (struct rlimit *)a[1]);
    case SYS_prlimit64:
      if (a[0]) return hd__plain(nr, a);
      return limit_call((unsigned)a[1], (const struct rlimit *)a[2], (struct rlimit *)a[3]);
    case SYS_prctl: return prctl_call(nr, a);
    default: return priority_call(nr, a);
  }
}

void hd__process_keep(void) { passed = 0; }

void hd__process_begin(void) {
  for (; passed; passed &= passed - 1) {
    unsigned i = (unsigned)__builtin_ctz(passed);
    real_limit(i, &start[i], NULL);
  }
}

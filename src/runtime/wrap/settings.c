/* settings.c: names, stacks, processors and priorities of threads. Runs in the tested process.
 *
 * A name appears in reports. Processors and priorities are accepted, returned when queried, and have no effect:
 * Heddle decides the schedule. Setting them is an operation on the state of the process, as far as others look. */
#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>

#include "runtime/core/core.h"
#include "runtime/core/drive.h"
#include "runtime/core/state.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/access.h"
#include "runtime/wrap/wrap.h"

#define CPU_BYTES sizeof(cpu_set_t)

static struct hd_thread *find(pthread_t th) {
  struct hd_thread *t = hd__thread_find(th);
  return t && !t->join.done ? t : NULL;
}

HD_EXPORT int pthread_setname_np(pthread_t th, const char *name) {
  if (!hot.active) return real_pthread_setname_np(th, name);
  struct hd_thread *t = find(th);
  if (t) hd__change(HD_STATE_NAME, t->id + 1u, HD_CALLER);
  size_t n = hd__strlen(name);
  if (n >= sizeof t->attr.name) return ERANGE;
  if (!t) return ESRCH;
  hd__copy(t->attr.name, name, n + 1);
  if (hot.log) hd__copy(rt.ctl->thread_name[t->id], name, n + 1);
  return 0;
}

int HD_IN(pthread_getname_np)(pthread_t th, char *name, size_t size);
int HD_IN(pthread_getname_np)(pthread_t th, char *name, size_t size) {
  if (!hot.active) return real_pthread_getname_np(th, name, size);
  struct hd_thread *t = find(th);
  if (!t) return ESRCH;
  hd__lookup_noted(HD_STATE_NAME, t->id + 1u, HD_CALLER);
  char program[sizeof t->attr.name]; /* of a thread that has none of its own */
  const char *own = t->attr.name;
  if (!*own && hd_sys3(SYS_prctl, PR_GET_NAME, program, 0) == 0) own = program;
  if (size <= hd__strlen(own)) return ERANGE;
  hd__copy(name, own, hd__strlen(own) + 1);
  return 0;
}

/* What the system says of the first thread's stack is no longer true: parts of it are protected at times. */
HD_EXPORT int pthread_getattr_np(pthread_t th, pthread_attr_t *a) {
  hd__real_init();
  int e = real_pthread_getattr_np(th, a);
  size_t size;
  if (!hot.active || e) return e;
  hd__access_range((uint64_t)a, sizeof *a, HD_A_WRITE, HD_CALLER);
  if (hd__thread_find(th) != &rt.thread[0]) return 0;
  void *at = hd__first_stack(&size);
  return real_pthread_attr_setstack(a, at, size);
}

/* ---- processors ---- */

static int set_cpus(struct hd_thread *t, size_t size, const cpu_set_t *set, uint64_t pc) {
  if (!t) return ESRCH;
  size_t n = size < CPU_BYTES ? size : CPU_BYTES;
  hd__reads(set, n, pc);
  hd__change(HD_STATE_PRIORITY, t->id + 1u, pc);
  unsigned long any = 0;
  for (size_t i = 0; i < n / sizeof any; i++) any |= ((const unsigned long *)set)[i];
  if (!any) return EINVAL;
  if (!t->attr.cpus) t->attr.cpus = hd_arena_get(&rt.arena, CPU_BYTES);
  HD_BUG_ON(!t->attr.cpus);
  hd__zero(t->attr.cpus, CPU_BYTES);
  hd__copy(t->attr.cpus, set, n);
  return 0;
}

static int get_cpus(struct hd_thread *t, size_t size, cpu_set_t *set, uint64_t pc) {
  if (!t) return ESRCH;
  hd__writes(set, size, pc);
  hd__lookup(HD_STATE_PRIORITY, t->id + 1u, pc);
  if (!t->attr.cpus) return real_pthread_getaffinity_np((pthread_t)rt.main_tp, size, set);
  hd__zero(set, size);
  hd__copy(set, t->attr.cpus, size < CPU_BYTES ? size : CPU_BYTES);
  return 0;
}

static int with_errno(int e) {
  if (!e) return 0;
  errno = e;
  return -1;
}

HD_EXPORT int pthread_setaffinity_np(pthread_t th, size_t size, const cpu_set_t *set) {
  return hot.active ? set_cpus(find(th), size, set, HD_CALLER) : real_pthread_setaffinity_np(th, size, set);
}

HD_EXPORT int pthread_getaffinity_np(pthread_t th, size_t size, cpu_set_t *set) {
  return hot.active ? get_cpus(find(th), size, set, HD_CALLER) : real_pthread_getaffinity_np(th, size, set);
}

/* Of the calling thread; others, by process id, are passed on to the system. */
HD_EXPORT int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set) {
  if (!hot.active || pid) return real_sched_setaffinity(pid, size, set);
  return with_errno(set_cpus(rt.cur, size, set, HD_CALLER));
}

HD_EXPORT int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
  if (!hot.active || pid || !rt.cur->attr.cpus) {
    WRITES(set, size);
    return real_sched_getaffinity(pid, size, set);
  }
  return with_errno(get_cpus(rt.cur, size, set, HD_CALLER));
}

/* ---- priorities ---- */

static bool bad_priority(int policy, int priority) {
  int lo = sched_get_priority_min(policy), hi = sched_get_priority_max(policy);
  return lo < 0 || priority < lo || priority > hi;
}

HD_EXPORT int pthread_setschedparam(pthread_t th, int policy, const struct sched_param *p) {
  if (!hot.active) return real_pthread_setschedparam(th, policy, p);
  struct hd_thread *t = find(th);
  if (!t) return ESRCH;
  READS(p, sizeof *p);
  if (bad_priority(policy, p->sched_priority)) return EINVAL;
  hd__change(HD_STATE_PRIORITY, t->id + 1u, HD_CALLER);
  t->attr.policy = policy;
  t->attr.priority = p->sched_priority;
  return 0;
}

HD_EXPORT int pthread_getschedparam(pthread_t th, int *policy, struct sched_param *p) {
  if (!hot.active) return real_pthread_getschedparam(th, policy, p);
  struct hd_thread *t = find(th);
  if (!t) return ESRCH;
  WRITES(policy, sizeof *policy);
  WRITES(p, sizeof *p);
  hd__lookup(HD_STATE_PRIORITY, t->id + 1u, HD_CALLER);
  *policy = t->attr.policy;
  p->sched_priority = t->attr.priority;
  return 0;
}

HD_EXPORT int pthread_setschedprio(pthread_t th, int priority) {
  if (!hot.active) return real_pthread_setschedprio(th, priority);
  struct hd_thread *t = find(th);
  if (!t) return ESRCH;
  if (bad_priority(t->attr.policy, priority)) return EINVAL;
  hd__change(HD_STATE_PRIORITY, t->id + 1u, HD_CALLER);
  t->attr.priority = priority;
  return 0;
}

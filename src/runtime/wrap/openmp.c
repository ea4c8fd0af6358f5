/* openmp.c: OpenMP as GCC compiles it. Runs in the tested process.
 *
 * libgomp is plain code that orders threads by atomic operations of its own, which are not seen. These functions
 * record what its constructs order, and leave the work to libgomp: the creator of a team before its members, these
 * before what follows the team, everything before a barrier before everything after it, tasks between their
 * creation and the wait for them. Critical sections and locks are mutexes of the schedule; libgomp's own are not
 * used. The barriers are not operations of the schedule, so a search is never complete.
 *
 * In a program that uses other constructs (offloading, doacross loops, the OpenMP of other compilers) races would
 * be reported that do not exist: no races are reported then, and the summary says so. */
#include <link.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/modules.h"
#include "runtime/core/objects.h"
#include "runtime/wrap/wrap.h"

/* ---- teams ---- */

struct hd_team {
  void *first; /* what libgomp reads of the data of a team with reductions; first there too */
  void (*fn)(void *);
  void *data;
  /* Only their addresses are used, as objects with a clock. Two barriers alternate: a fast thread is at the next
   * one while others leave the last. */
  uint64_t fork, join, barrier[2], spawn, tasks, ordered;
};

static struct hd_vc *clock_of(const uint64_t *what) { return &hd__obj((uint64_t)what, HD_OBJ_STREAM)->vc; }
/* Joins, so that several threads can publish to the same object. */
static void publish(const uint64_t *what) {
  hd_vc_join(&rt.arena, clock_of(what), &rt.cur->vc);
  hd__new_segment(rt.cur);
}
static void learn(const uint64_t *what) { hd__acquire(clock_of(what)); }

/* First code of each member. */
static void hd_rt_member(void *arg) {
  struct hd_team *team = arg;
  if (!hot.active) {
    team->fn(team->data);
    return;
  }
  struct hd_team *outer = rt.cur->omp.team;
  unsigned outer_phase = rt.cur->omp.phase;
  rt.cur->omp.team = team;
  rt.cur->omp.phase = 0;
  learn(&team->fork);
  team->fn(team->data);
  publish(&team->join);
  rt.cur->omp.team = outer;
  rt.cur->omp.phase = outer_phase;
}

#define TEAM(fn_, data_) \
  struct hd_team team = {.fn = fn_, .data = data_, .first = data_ ? *(void **)data_ : NULL}

static void begin_team(const struct hd_team *team, uint64_t pc) {
  hd__inexact(HD_INEXACT_OPENMP, pc);
  publish(&team->fork);
}

static void end_team(const struct hd_team *team) {
  learn(&team->join);
  learn(&team->tasks);
}

/* A function that creates a team, waits for it, and has these further parameters. */
#define PARALLEL(name, version, type, parameters, ...)                                       \
  HD_EXPORT type hd_rt_##name(void (*fn)(void *), void *data, unsigned threads, parameters); \
  HD_STANDS_FOR(hd_rt_##name, #name "@" version);                                            \
  type hd_rt_##name(void (*fn)(void *), void *data, unsigned threads, parameters) {          \
    hd__real_init();                                                                         \
    if (!hot.active) return real_##name(fn, data, threads, __VA_ARGS__);                     \
    TEAM(fn, data);                                                                          \
    begin_team(&team, HD_CALLER);                                                            \
    END(type, real_##name(hd_rt_member, &team, threads, __VA_ARGS__))                        \
  }
#define END(type, call) END_##type(call)
#define END_void(call) \
  call;                \
  end_team(&team);
#define END_unsigned(call) \
  unsigned r = call;       \
  end_team(&team);         \
  return r;
#define P(...) __VA_ARGS__

PARALLEL(GOMP_parallel, "GOMP_4.0", void, P(unsigned flags), flags)
PARALLEL(GOMP_parallel_reductions, "GOMP_5.0", unsigned, P(unsigned flags), flags)
PARALLEL(GOMP_parallel_sections, "GOMP_4.0", void, P(unsigned n, unsigned flags), n, flags)
#define LOOP(name, version)                                                                                 \
  PARALLEL(name, version, void, P(long start, long end, long step, long chunk, unsigned flags), start, end, \
           step, chunk, flags)
LOOP(GOMP_parallel_loop_static, "GOMP_4.0")
LOOP(GOMP_parallel_loop_dynamic, "GOMP_4.0")
LOOP(GOMP_parallel_loop_guided, "GOMP_4.0")
LOOP(GOMP_parallel_loop_nonmonotonic_dynamic, "GOMP_4.5")
LOOP(GOMP_parallel_loop_nonmonotonic_guided, "GOMP_4.5")
#define LOOP_RUNTIME(name, version) \
  PARALLEL(name, version, void, P(long start, long end, long step, unsigned flags), start, end, step, flags)
LOOP_RUNTIME(GOMP_parallel_loop_runtime, "GOMP_4.0")
LOOP_RUNTIME(GOMP_parallel_loop_nonmonotonic_runtime, "GOMP_5.0")
LOOP_RUNTIME(GOMP_parallel_loop_maybe_nonmonotonic_runtime, "GOMP_5.0")

/* ---- barriers ---- */

static struct hd_team *arrive(void) {
  struct hd_team *team = hot.active ? rt.cur->omp.team : NULL;
  if (team) publish(&team->barrier[rt.cur->omp.phase & 1]);
  return team;
}

static void leave(const struct hd_team *team) {
  if (!team) return;
  learn(&team->barrier[rt.cur->omp.phase++ & 1]);
  learn(&team->tasks);
}

#define BARRIER(name, version)                    \
  HD_EXPORT void hd_rt_##name(void);              \
  HD_STANDS_FOR(hd_rt_##name, #name "@" version); \
  void hd_rt_##name(void) {                       \
    hd__real_init();                              \
    const struct hd_team *team = arrive();        \
    real_##name();                                \
    leave(team);                                  \
  }
BARRIER(GOMP_barrier, "GOMP_1.0")
BARRIER(GOMP_loop_end, "GOMP_1.0")
BARRIER(GOMP_sections_end, "GOMP_1.0")

#define BARRIER_CANCEL(name)                      \
  HD_EXPORT bool hd_rt_##name(void);              \
  HD_STANDS_FOR(hd_rt_##name, #name "@GOMP_4.0"); \
  bool hd_rt_##name(void) {                       \
    hd__real_init();                              \
    const struct hd_team *team = arrive();        \
    bool r = real_##name();                       \
    leave(team);                                  \
    return r;                                     \
  }
BARRIER_CANCEL(GOMP_barrier_cancel)
BARRIER_CANCEL(GOMP_loop_end_cancel)
BARRIER_CANCEL(GOMP_sections_end_cancel)

/* `single` with copyprivate: the thread that executes it gets NULL and provides the data later; the others wait for
 * that. */
HD_EXPORT void *hd_rt_single_copy_start(void);
HD_STANDS_FOR(hd_rt_single_copy_start, "GOMP_single_copy_start@GOMP_1.0");
void *hd_rt_single_copy_start(void) {
  hd__real_init();
  const struct hd_team *team = arrive();
  void *p = real_GOMP_single_copy_start();
  if (p) leave(team);
  return p;
}

HD_EXPORT void hd_rt_single_copy_end(void *data);
HD_STANDS_FOR(hd_rt_single_copy_end, "GOMP_single_copy_end@GOMP_1.0");
void hd_rt_single_copy_end(void *data) {
  hd__real_init();
  const struct hd_team *team = arrive();
  real_GOMP_single_copy_end(data);
  leave(team);
}

HD_EXPORT void hd_rt_ordered_start(void);
HD_STANDS_FOR(hd_rt_ordered_start, "GOMP_ordered_start@GOMP_1.0");
void hd_rt_ordered_start(void) {
  hd__real_init();
  real_GOMP_ordered_start();
  if (hot.active && rt.cur->omp.team) learn(&rt.cur->omp.team->ordered);
}

HD_EXPORT void hd_rt_ordered_end(void);
HD_STANDS_FOR(hd_rt_ordered_end, "GOMP_ordered_end@GOMP_1.0");
void hd_rt_ordered_end(void) {
  hd__real_init();
  if (hot.active && rt.cur->omp.team) publish(&rt.cur->omp.team->ordered);
  real_GOMP_ordered_end();
}

/* ---- tasks ---- */

struct task {
  struct hd_team *team;
  void (*fn)(void *);
  long skip; /* offset of the data that the program gave */
};

static void hd_rt_task_body(void *arg) {
  struct task *t = arg;
  if (hot.active && t->team) learn(&t->team->spawn);
  t->fn((char *)arg + t->skip);
  if (hot.active && t->team) publish(&t->team->tasks);
}

HD_EXPORT void hd_rt_task(void (*fn)(void *), void *data, void (*copy)(void *, void *), long size, long align,
                          bool now, unsigned flags, void **depend, int priority, void *detach);
HD_STANDS_FOR(hd_rt_task, "GOMP_task@GOMP_2.0");
void hd_rt_task(void (*fn)(void *), void *data, void (*copy)(void *, void *), long size, long align, bool now,
                unsigned flags, void **depend, int priority, void *detach) {
  hd__real_init();
  long skip = align > (long)sizeof(struct task) ? align : ((long)sizeof(struct task) + align - 1) & -align;
  if (!hot.active || size > (1 << 16) || align > 4096 || align < 1) {
    real_GOMP_task(fn, data, copy, size, align, now, flags, depend, priority, detach);
    return;
  }
  char room[skip + size + align];
  char *block = (char *)(((uint64_t)room + (uint64_t)align - 1) & -(uint64_t)align);
  *(struct task *)block = (struct task){rt.cur->omp.team, fn, skip};
  if (copy)
    copy(block + skip, data);
  else
    hd__copy(block + skip, data, (size_t)size);
  if (rt.cur->omp.team) publish(&rt.cur->omp.team->spawn);
  real_GOMP_task(hd_rt_task_body, block, NULL, skip + size, align < 8 ? 8 : align, now, flags, depend,
                 priority, detach);
}

#define TASKS_OVER(name, version)                                        \
  HD_EXPORT void hd_rt_##name(void);                                     \
  HD_STANDS_FOR(hd_rt_##name, #name "@" version);                        \
  void hd_rt_##name(void) {                                              \
    hd__real_init();                                                     \
    real_##name();                                                       \
    if (hot.active && rt.cur->omp.team) learn(&rt.cur->omp.team->tasks); \
  }
TASKS_OVER(GOMP_taskwait, "GOMP_2.0")
TASKS_OVER(GOMP_taskgroup_end, "GOMP_4.0")

/* ---- locks ---- */

#define MAX_LOCKS 256
static HD_EXEC_LARGE struct {
  uint64_t name;
  pthread_mutex_t mutex;
} lock[MAX_LOCKS];
static HD_EXEC unsigned nlocks;

void hd__openmp_begin(void) {
  if (nlocks) hd__zero(lock, nlocks * sizeof *lock);
  nlocks = 0;
}

static pthread_mutex_t *lock_of(uint64_t name, int type) {
  unsigned i = 0;
  while (i < nlocks && lock[i].name != name) i++;
  if (i == MAX_LOCKS) hd__fail(HD_RTE_UNSUPPORTED, 0, "more than 256 OpenMP locks are not supported");
  if (i < nlocks) return &lock[i].mutex;
  nlocks++;
  lock[i].name = name;
  lock[i].mutex.__data.__kind = type;
  return &lock[i].mutex;
}

#define LOCKED(name_, version, parameters, key, type, does, ...)   \
  HD_EXPORT void hd_rt_##name_(parameters);                        \
  HD_STANDS_FOR(hd_rt_##name_, #name_ "@" version);                \
  void hd_rt_##name_(parameters) {                                 \
    hd__real_init();                                               \
    if (hot.active)                                                \
      hd__mutex_##does(lock_of((uint64_t)(key), type), HD_CALLER); \
    else                                                           \
      real_##name_(__VA_ARGS__);                                   \
  }
static char unnamed, atomic;
LOCKED(GOMP_critical_start, "GOMP_1.0", void, &unnamed, PTHREAD_MUTEX_NORMAL, lock)
LOCKED(GOMP_critical_end, "GOMP_1.0", void, &unnamed, PTHREAD_MUTEX_NORMAL, unlock)
LOCKED(GOMP_critical_name_start, "GOMP_1.0", void **name, name, PTHREAD_MUTEX_NORMAL, lock, name)
LOCKED(GOMP_critical_name_end, "GOMP_1.0", void **name, name, PTHREAD_MUTEX_NORMAL, unlock, name)
LOCKED(GOMP_atomic_start, "GOMP_1.0", void, &atomic, PTHREAD_MUTEX_NORMAL, lock)
LOCKED(GOMP_atomic_end, "GOMP_1.0", void, &atomic, PTHREAD_MUTEX_NORMAL, unlock)
LOCKED(omp_set_lock, "OMP_3.0", void *l, l, PTHREAD_MUTEX_NORMAL, lock, l)
LOCKED(omp_unset_lock, "OMP_3.0", void *l, l, PTHREAD_MUTEX_NORMAL, unlock, l)
LOCKED(omp_set_nest_lock, "OMP_3.0", void *l, l, PTHREAD_MUTEX_RECURSIVE, lock, l)
LOCKED(omp_unset_nest_lock, "OMP_3.0", void *l, l, PTHREAD_MUTEX_RECURSIVE, unlock, l)

HD_EXPORT int hd_rt_omp_test_lock(void *l);
HD_STANDS_FOR(hd_rt_omp_test_lock, "omp_test_lock@OMP_3.0");
int hd_rt_omp_test_lock(void *l) {
  hd__real_init();
  if (!hot.active) return real_omp_test_lock(l);
  return hd__mutex_trylock(lock_of((uint64_t)l, PTHREAD_MUTEX_NORMAL), HD_CALLER) == 0;
}

/* ---- constructs that are not supported ---- */

/* Whether an imported name of OpenMP orders nothing, or is handled above. */
static bool is_known(const char *name) {
  static const char *const known[] = {
      "GOMP_parallel*",       "GOMP_barrier*",   "GOMP_loop_*",   "GOMP_sections*",  "GOMP_single_*",
      "GOMP_ordered_*",       "GOMP_task",       "GOMP_taskwait", "GOMP_taskyield",  "GOMP_taskgroup_end",
      "GOMP_taskgroup_start", "GOMP_critical_*", "GOMP_atomic_*", "GOMP_alloc",      "GOMP_free",
      "GOMP_error",           "GOMP_warning",    "GOMP_cancel*",  "GOMP_scope_start"};
  for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
    size_t n = hd__strlen(known[i]);
    if (known[i][n - 1] != '*' ? hd__streq(name, known[i]) : hd__starts_n(name, known[i], n - 1)) return true;
  }
  return false;
}

/* Checks all names: an unsupported one may follow one that is only unknown. */
static bool check_name(const char *name, void *strange) {
  if (hd__starts(name, "GOMP_doacross")) /* libgomp spins, and no other thread would run */
    hd__fail(HD_RTE_UNSUPPORTED, 0, "OpenMP loops with ordered depend (doacross) are not supported");
  if (hd__starts(name, "__kmpc_") || hd__streq(name, "omp_test_nest_lock") ||
      (hd__starts(name, "GOMP_") && !is_known(name)))
    *(bool *)strange = true;
  return false;
}

void hd__openmp_init(void) {
  bool strange = false;
  hd__each_needed_name(check_name, &strange);
  if (strange) hd__inexact(HD_INEXACT_OPENMP_RACES, 0);
}

/* share.c: the protocol by which workers share a search (explore/share.c, walk_share.c), as a threaded program for Heddle
 * to check. Workers are threads instead of processes; the search area is memory they share.
 *
 * The tree: two simulated threads of STEPS steps each, walked by STRATEGY. Whatever the schedule of the workers, every leaf must
 * be committed exactly once, and no execution diverges. With -DOWN=n each thread begins with n steps that conflict with none; the
 * strategy must be optimal then, and a leaf is a class.
 *
 * With -DDEATHS one worker may be killed at any of the points between which a commit can be cut (HD_SHARE_POINT); what the
 * supervisor does then is done here: it marks the worker, releases its lock, and the worker starts again as a new process would.
 * With -DRESTARTS=n worker 0 restarts the search once, after n executions, as one does that learns of more visible operations
 * (runtime/core/worker.c): then the leaves of the last search count. With -DMEET worker 0 waits twice: after its first execution
 * until worker 1 is idle, and before the restart until that has work. So schedules in which one follows what the other has
 * given, while that restarts the search, have few preemptions. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <sys/mman.h>

#include "explore/walk.h"
#include "heddle.h"

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef STRATEGY
#define STRATEGY hd_strategy_dfs
#endif
#ifndef STEPS
#define STEPS 2
#endif
#ifndef OWN
#define OWN 0
#endif

static struct hd_shared shared;
static struct hd_config config;
static _Alignas(4096) char memory[1 << 20];
static uint64_t visited[2][1 << 2 * STEPS]; /* by the epoch that the worker knew of */

struct worker {
  struct hd_search search;
  struct hd_known known; /* nothing: every step is picked */
  struct hd_status status;
  jmp_buf killed;
};
static struct worker worker[WORKERS];
static _Thread_local struct worker *me;

/* An idle worker looks again when another one has finished an execution. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned version;

static void change(void) {
  pthread_mutex_lock(&lock);
  version++;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static unsigned now(void) {
  pthread_mutex_lock(&lock);
  unsigned v = version;
  pthread_mutex_unlock(&lock);
  return v;
}

static void wait_for_change(unsigned since) {
  pthread_mutex_lock(&lock);
  while (version == since) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

enum doing { STARTS, IDLE, BUSY, GONE };
#ifdef MEET
static enum doing doing[WORKERS];

static void note(struct worker *w, enum doing what) {
  pthread_mutex_lock(&lock);
  version += doing[w - worker] != what;
  doing[w - worker] = what;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static void meet(const struct worker *w, enum doing what) {
  pthread_mutex_lock(&lock);
  while (w == worker && doing[1] < what && !(doing[1] == IDLE && hd_crew_others(&shared.hungry, 0)))
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}
#else
static void note(struct worker *w, enum doing what) { (void)w, (void)what; }
static void meet(const struct worker *w, enum doing what) { (void)w, (void)what; }
#endif

#ifdef DEATHS
static unsigned deaths = DEATHS; /* of worker 0 */
#endif
void hd_test_share_point(void);
void hd_test_share_point(void) {
#ifdef DEATHS
  if (me == &worker[0] && deaths && hd_choose(2)) {
    deaths--;
    longjmp(me->killed, 1);
  }
#endif
}

/* As hd__worker_sync. */
static void sync_with_others(struct worker *w) {
  struct hd_search *s = &w->search;
#ifdef RESTARTS
  static int executions;
  if (w == worker && s->execution && executions++ == RESTARTS) {
    meet(w, BUSY);
    hd_search_lock(s);
    STRATEGY.forget(s);
    hd_bound_restart(s);
    __atomic_store_n(&shared.epoch, shared.epoch + 1, __ATOMIC_RELEASE);
    hd_search_unlock(s);
  }
#endif
  s->status->epoch = __atomic_load_n(&shared.epoch, __ATOMIC_ACQUIRE);
}

static void relax(void) { sched_yield(); }

/* What a process keeps for itself: one for each that may be started. It is large, and mapped before the executions. */
#ifdef DEATHS
#define PROCESSES (WORKERS + DEATHS)
#else
#define PROCESSES WORKERS
#endif
static char *scratch[PROCESSES];

__attribute__((constructor)) static void map_scratch(void) {
  static const int flags = MAP_ANONYMOUS | MAP_NORESERVE | MAP_PRIVATE;
  for (int i = 0; i < PROCESSES; i++) {
    scratch[i] = mmap(NULL, HD_SCRATCH_SAMPLE, PROT_READ | PROT_WRITE, flags, -1, 0);
    assert(scratch[i] != MAP_FAILED);
  }
}

static void start_process(struct worker *w, int process) {
  struct hd_search *s = &w->search;
  *s = (struct hd_search){.config = &config,
                          .known = &w->known,
                          .status = &w->status,
                          .shared = &shared,
                          .worker = (unsigned)(w - worker),
                          .workers = WORKERS,
                          .relax = relax,
                          .memory = memory,
                          .memory_size = sizeof memory};
  s->scratch = scratch[process];
  hd_search_lock(s);
  hd_search_recover(s);
  if (shared.crew <= s->worker) __atomic_store_n(&shared.crew, s->worker + 1, __ATOMIC_RELAXED);
  hd_search_unlock(s);
}

/* As hd_control_died. */
static void clean_up(struct worker *w) {
  hd_crew_add(&shared.died, w->search.worker);
  hd_crew_del(&shared.ending, w->search.worker);
  uint32_t held = w->search.worker + 1;
  __atomic_compare_exchange_n(&shared.lock, &held, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* One execution of the simulated program. Returns which leaf it came to; -1: it was given up as redundant. */
static int execute(struct hd_search *s, struct hd_point *p, struct hd_set *enabled) {
  unsigned left[2] = {OWN + STEPS, OWN + STEPS};
  static struct hd_op op[2];
  int leaf = 0;
  while (left[0] || left[1]) {
    *enabled = (struct hd_set){{(left[0] > 0) | (uint64_t)(left[1] > 0) << 1}};
    const struct hd_op *pending[2] = {&op[0], &op[1]};
    *p = (struct hd_point){.enabled = enabled, .nenabled = (left[0] > 0) + (left[1] > 0), .words = 1, .op = pending};
    int t = STRATEGY.pick(s, p);
    assert(t != HD_PICK_DIVERGED);
    if (t < 0) return -1;
    int own = left[t]-- > STEPS;
    struct hd_op did = {.kind = HD_OP_ARMW, .thread = (uint16_t)t, .object = own ? 128 + 64 * t : 64, .size = 4};
    if (!own) leaf = leaf * 2 + t;
    STRATEGY.event(s, &did, 0, 0, 1);
    assert(!s->diverged);
  }
  return leaf;
}

/* The execution that has begun belongs to the tree of the search that the worker knows of. */
static void check_tree(struct worker *w) {
  static uint64_t tree[2]; /* of each search; 0: not laid out */
  uint64_t epoch = w->status.epoch, mine = ((struct walk *)w->search.own)->unit->epoch;
  pthread_mutex_lock(&lock);
  if (!tree[epoch]) tree[epoch] = mine;
  assert(tree[epoch] == mine && tree[!epoch] != mine);
  pthread_mutex_unlock(&lock);
}

static uint64_t shared_epoch(void) { return __atomic_load_n(&shared.epoch, __ATOMIC_ACQUIRE); }

static void *work(void *arg) {
  struct worker *w = me = arg;
  struct hd_search *s = &w->search;
  int killed = setjmp(w->killed);
  if (killed) clean_up(w);
  start_process(w, killed ? WORKERS : (int)(w - worker));
  for (int more = 1; more;) {
    struct hd_point p;
    struct hd_set enabled;
    if (s->execution) meet(w, IDLE);
    unsigned version_before = now();
    sync_with_others(w);
    s->execution = __atomic_add_fetch(&shared.next_execution, 1, __ATOMIC_RELAXED);
    s->ntally = 0;
    int begun = STRATEGY.begin(s);
    note(w, begun == HD_BEGIN_LATER ? IDLE : BUSY);
    if (begun == HD_BEGIN_LATER) {
      wait_for_change(version_before);
      continue;
    }
    if (!begun && shared_epoch() != s->status->epoch) continue;
    if (!begun) break;
    check_tree(w);
    int leaf = execute(s, &p, &enabled);
    if (leaf >= 0) {
      uint64_t *times = &visited[s->status->epoch][leaf];
      s->tally[0].at = times;
      s->tally[0].value = *times + 1;
      s->ntally = 1;
    }
    more = STRATEGY.end(s, &p, leaf < 0 ? HD_HOW_BLOCKED : HD_HOW_EXIT) || shared_epoch() != s->status->epoch;
    change();
  }
  note(w, GONE);
  change();
  return NULL;
}

int main(void) {
  pthread_t t[WORKERS];
  for (int i = 1; i < WORKERS; i++) pthread_create(&t[i], NULL, work, &worker[i]);
  work(&worker[0]);
  for (int i = 1; i < WORKERS; i++) pthread_join(t[i], NULL);
  uint64_t lost = 0;
#ifdef DEATHS
  lost = DEATHS - deaths; /* an execution that was killed is given up: its leaf may be missing, with those below it */
#endif
  unsigned leaves = 0, missing = 0;
  for (unsigned i = 0; i < 1 << 2 * STEPS; i++) {
    if (__builtin_popcount(i) != STEPS) continue;
    leaves++;
    assert(visited[shared.epoch][i] <= 1);
    missing += visited[shared.epoch][i] == 0;
  }
  assert(leaves && missing <= lost);
  return 0;
}

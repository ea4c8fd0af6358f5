/* drive.c: the loop over executions. Runs in the tested process, on a stack of its own.
 *
 * An execution starts on the first thread's real stack, just below the frames of libc's start-up code, and ends by
 * a jump back to here. In memory mode everything is then restored; in fork mode the execution runs in a child that
 * shares only the shared file. */
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "runtime/core/aim.h"
#include "runtime/core/check.h"
#include "runtime/core/checkpoint.h"
#include "runtime/core/core.h"
#include "runtime/core/drive.h"
#include "runtime/core/fingerprint.h"
#include "runtime/core/family.h"
#include "runtime/core/finding.h"
#include "runtime/core/ident.h"
#include "runtime/core/modules.h"
#include "runtime/core/objects.h"
#include "runtime/core/record.h"
#include "runtime/core/spin.h"
#include "runtime/core/template.h"
#include "runtime/core/tick.h"
#include "runtime/core/touch.h"
#include "runtime/core/state.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/symbolic/inputs.h"
#include "runtime/symbolic/sources.h"
#include "runtime/symbolic/symbolic.h"
#include "runtime/wrap/wrap.h"

#define SCHED_STACK (1ull << 20)

static struct {
  int (*main_fn)(int, char **, char **);
  int argc;
  char **argv, **envp;
  void (*body)(void *); /* of hd_check, in place of main; else NULL */
  void *arg;
} program;
static size_t stack_size;
static char *stack_lo, *stack_hi; /* of the first thread: frames above stack_lo belong to the start-up code */
static uint64_t stack_limit;      /* how far it may grow, minus a margin */
static struct hd_ctx start_ctx;
static bool fork_mode;
static uint32_t began_under; /* shared.bound when the execution under way began */
static bool keep_start;      /* no checkpoint is taken in it */
static unsigned found;       /* findings before the search */
static bool timing = true;   /* how long executions take, to choose between memory and forks */

_Noreturn static void leave(void) {
  hd__cover_end();
  rt.status->state = HD_ST_DONE;
  hd__die(0);
}

/* First code of thread 0. */
static void hd_rt_main(void *unused) {
  (void)unused;
  hd__debug_look();
  hd__event(0);
  if (program.body) {
    program.body(program.arg);
    rt.cur->exit.begun = true; /* only the thread ends, not the test process */
    hd__thread_exit(NULL);
  }
  hd__constructors_locks();
  hd__input_arguments(program.argc, program.argv);
  bool own = environ == program.envp;
  hd__sources_make();
  hd__program_exit(program.main_fn(program.argc, program.argv, own ? environ : program.envp));
}

/* In fork mode the parent never runs the program, and `heddle run` and a debugger restore nothing: memory needs no guarding
 * then. */
static void take_snapshot(void) {
  hd__terminate_mark();
  /* The loader keeps the last error, of names that we did not find, in memory that is not restored. Calling dlerror
   * twice clears it. */
  hd__private_depth++;
  dlerror();
  dlerror();
  hd__private_depth--;
  hd__heap_mark(true);
  hd__keys_mark();
  hd__exit_mark();
  bool again = !fork_mode && !rt.config->debug && rt.config->mode != HD_MODE_RUN;
  if (hd__snapshot_take(stack_lo, stack_hi, again, true))
    hd__fail(HD_RTE_ENVIRONMENT, 0,
             "cannot record the program's memory (mprotect or /proc/self/maps refused)");
}

static void restore_all(void) {
  hd__children_begin();
  hd__alias_begin();
  hd__sysguard_begin(); /* first: it makes all memory writable again */
  hd__files_undo();
  hd__heap_restore();
  hd__ident_reset();
  hd__signals_begin();
  hd__keys_begin();
  hd__exit_begin();
  hd__terminate_begin();
  hd__objects_leave();
  hd__snapshot_restore(); /* last: after a checkpoint it restores the runtime's variables, too */
}

static void note_grown(uint64_t stack) {
  struct hd_status *s = rt.status;
  if (s->ngrown < HD_MAX_GROWN) s->grown[s->ngrown] = stack;
  __atomic_store_n(&s->ngrown, s->ngrown + 1, __ATOMIC_RELEASE);
}

static void make_identities(uint64_t stack) {
  unsigned have = hd__ident_count(stack);
  if (hd__ident_grow(stack, have ? have : stack & HD_IDENT_ANY ? 64 : 4)) {
    char text[200];
    hd__format(text, sizeof text, "the system has no memory for the stacks of more than %u threads",
               (uint64_t)have);
    hd__fail(HD_RTE_ENVIRONMENT, 0, text);
  }
}

static void grow_identities(void) {
  hd__snapshot_unguard();
  make_identities(rt.grow_stack);
  hd__layout_publish();
  note_grown(rt.grow_stack); /* when others can see them: session/units.c */
  take_snapshot();
}

/* From main to the end, perhaps with a checkpoint on the way. */
static void run_whole(void) {
  struct hd_thread *t = hd__thread_new(NULL, 0, 0, true);
  hd_arch_prepare(&t->ctx, stack_lo, rt.main_tp, hd_rt_main, NULL);
  hd__prefix_begin(keep_start || rt.config->mode == HD_MODE_RUN);
  hd__run();
  if (rt.end_reason == HD_RUN_PAUSED) {
    hd__checkpoint_take(stack_hi);
    hd__continue();
  }
  hd__prefix_over();
}

static void run_rest(void) {
  rt.end_reason = hd__checkpoint_feed();
  if (rt.end_reason < 0) hd__continue();
}

int hd__drive_begin(uint64_t number) {
  rt.search.execution = rt.status->execution = number;
  rt.search.hit = rt.search.diverged = 0;
  rt.search.aimed = 0;
  rt.known.steps = rt.known.shared = 0;
  rt.known.runs++;
  rt.search.captures = rt.config->states == HD_REDUCE_YES;
  began_under = rt.shared->bound;
  return rt.strategy->begin(&rt.search);
}

/* Runs the execution once. Returns why it ended (enum hd_run_end). */
static int run_once(void) {
  bool whole = !hd__checkpoint_taken();
  hd__files_begin();
  hd__sched_begin();
  hd__symbolic_begin();
  if (whole) {
    hd__sites_reset();
    hd__notes_begin();
    hd__openmp_begin();
    rt.search.observed = 0;
    rt.search.infeasible = 0; /* else an assumption may have failed in what is not executed again */
  } else {
    hd__checkpoint_load();
  }
  int begun = hd__drive_begin(rt.search.execution);
  if (begun <= 0) return begun ? HD_RUN_LATER : HD_RUN_OVER;
  hd__fingerprint_begin();
  hd__touch_begin();
  if (fork_mode && !rt.search.probing) hd__template_begin();
  if (whole)
    run_whole();
  else
    run_rest();
  hd__symbolic_end();
  if (rt.end_reason == HD_RUN_GROW) return HD_RUN_GROW; /* it leaves no trace */
  if (rt.events < rt.known.steps) rt.known.steps = (uint32_t)rt.events;
  if (rt.search.diverged) rt.end_reason = HD_RUN_DIVERGED;
  /* One that has learned something is re-executed with that knowledge. */
  bool learned = rt.status->visible_count != rt.status->visible_at_start;
  if (rt.end_reason == HD_RUN_DIVERGED && rt.strategy->systematic && !learned)
    hd__inexact(HD_INEXACT_DIVERGED, rt.cur ? rt.cur->op.pc : 0);
  rt.status->events += rt.events;
  rt.status->event_hash = rt.known.now;
  rt.status->exit_status = rt.exit_status;
  rt.status->assumed_wrong = rt.search.infeasible && rt.end_reason != HD_RUN_FINDING;
  return rt.end_reason;
}

static void count(uint64_t *counter) {
  struct hd_search *s = &rt.search;
  s->tally[s->ntally].at = counter;
  s->tally[s->ntally++].value = *counter + 1;
}

/* Lists what this execution adds to the counters. The strategy commits it with its own changes. */
static void prepare_tally(int reason) {
  struct hd_status *st = rt.status;
  rt.search.ntally = 0;
  if (reason == HD_RUN_DIVERGED && rt.strategy->systematic) return;
  if (reason == HD_RUN_BLOCKED) {
    count(&st->blocked);
    return;
  }
  if (reason == HD_RUN_CUT) count(&st->inexact[rt.cut].count);
  count(st->assumed_wrong ? &st->infeasible : &st->executions);
  rt.search.tally[rt.search.ntally].at = &st->counted; /* its process may still die */
  rt.search.tally[rt.search.ntally++].value = st->execution;
}

/* The strategy has nothing left, in the search and under the bound that this execution belonged to. */
static void set_over(void) {
  hd_search_lock(&rt.search);
  if (rt.status->epoch == rt.shared->epoch && rt.shared->bound == began_under) rt.shared->over = 1;
  hd_search_unlock(&rt.search);
}

/* Reports the end of the execution to the strategy. pre: the execution has just ended, nothing is restored yet. */
static void conclude(int reason) {
  static const uint8_t how[] = {[HD_RUN_EXIT] = HD_HOW_EXIT,
                                [HD_RUN_STUCK] = HD_HOW_STUCK,
                                [HD_RUN_FINDING] = HD_HOW_STOPPED,
                                [HD_RUN_CUT] = HD_HOW_STOPPED,
                                [HD_RUN_BLOCKED] = HD_HOW_BLOCKED};
  struct hd_point p = hd__here();
  if (reason == HD_RUN_GROW || reason == HD_RUN_LATER || reason == HD_RUN_OVER) return;
  if (rt.config->detail && reason != HD_RUN_FINDING) hd__finding_blocks();
  for (unsigned i = 0; i < rt.nthreads; i++)
    if (rt.thread[i].state == HD_T_READY && hd_op_payload(rt.thread[i].op.kind) == HD_PAYLOAD_CAS)
      hd__op_find(&rt.thread[i].op);
  prepare_tally(reason);
  if (reason == HD_RUN_CUT || (rt.config->bound_kind && hd_inexact_sum(rt.status->inexact, HD_CLASS_ANY)))
    rt.shared->partial = 1;
  bool over = reason != HD_RUN_DIVERGED && !rt.strategy->end(&rt.search, &p, how[reason]);
  if (rt.status->epoch == rt.shared->epoch || !rt.strategy->forget) {
    hd_search_tally(&rt.search);
    if (over) set_over();
  } else { /* another worker has restarted the search */
    rt.status->discarded++;
  }
}

/* What executions count that the strategy does not see. */
struct counters {
  uint64_t switches;
  struct hd_inexact_count inexact[HD_INEXACT_COUNT];
};
static struct counters before_probes;

static struct counters get_counters(void) {
  struct counters c = {.switches = rt.status->switches};
  hd__copy(c.inexact, rt.status->inexact, sizeof c.inexact);
  return c;
}

static void set_counters(const struct counters *c) {
  rt.status->switches = c->switches;
  hd__copy(rt.status->inexact, c->inexact, sizeof c->inexact);
}

_Noreturn static void start_again(void) {
  if (rt.search.probing) set_counters(&before_probes); /* the next process probes again */
  hd__start_again();
}

/* A finding that ends the search before its first execution is over counts as one. */
static void count_finding(void) {
  struct hd_status *st = rt.status;
  prepare_tally(HD_RUN_FINDING);
  if (st->phase[0].strategy[0]) count(&st->phase[st->phase_now].executions);
  hd_search_tally(&rt.search);
}

/* Releases the files before the strategy may have to wait for another worker, which may be waiting for the files. */
static void leave_files(void) {
  hd__fds_modes();
  if (!rt.status->changes_files) return;
  if (!hd__files_mine()) { /* this process has no right to undo it any more */
    if (!fork_mode && rt.config->restart == HD_RESTART_AUTO && rt.config->mode == HD_MODE_CHECK) {
      if (rt.search.probing && rt.status->nfindings && !rt.config->all) count_finding();
      rt.status->restart = HD_RESTART_FORK;
      start_again();
    }
    if (fork_mode) return; /* its parent has */
  }
  hd__children_begin();
  hd__ports_leave();
  hd__files_undo();
}

/* ---- fork mode ---- */

#define EXIT_DIED 98    /* see ctl.fork_status */
#define EXIT_REASON 100 /* plus enum hd_run_end */

/* Without a signal at its end: the program may have a handler for SIGCHLD. */
static long parent; /* process id, as of the last fork */

long hd__drive_fork(void) {
  parent = hd_sys3(SYS_getpid, 0, 0, 0);
  uint64_t began = hd__cpu_time();
  long pid = hd_sys6(SYS_clone, 0, 0, 0, 0, 0, 0);
  if (pid <= 0) return pid;
  /* The child takes about as long again, for the pages that both write to. */
  uint64_t cost = 2 * (hd__cpu_time() - began), *mean = &rt.ctl->relay.fork_cost;
  *mean = *mean ? (7 * *mean + cost) / 8 : cost;
  return pid;
}

void hd__drive_forked(void) {
  hd_sys6(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
  if (hd_sys3(SYS_getppid, 0, 0, 0) != parent) hd__die(EXIT_DIED); /* it died before */
  hd__sysguard_enable();
  hd__tick_start();
}

int hd__drive_wait(long pid, uint64_t known) {
  int status = 0;
  while (hd_sys4(SYS_wait4, pid, &status, __WALL, 0) == -4 /* EINTR */)
    ;
  bool ended = WIFEXITED(status) && WEXITSTATUS(status) >= EXIT_REASON;
  if (ended) hd__cover_passed();
  hd__files_undo();
  if (rt.shared->lock == rt.search.worker + 1) { /* it was killed while it held the lock */
    hd_search_recover(&rt.search);
    hd_search_unlock(&rt.search);
  }
  hd__shadow_learn(known, rt.status->visible_count);
  if (rt.status->state == HD_ST_ERROR) hd__die(3);
  rt.search.execution = rt.status->execution;
  rt.grow_stack = rt.ctl->fork_grow;
  if (ended && WEXITSTATUS(status) - EXIT_REASON == HD_RUN_GROW) rt.lost = (uint8_t)rt.ctl->relay.lost;
  if (ended) return WEXITSTATUS(status) - EXIT_REASON;
  if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_DIED) status = rt.ctl->fork_status;
  return -1 - status;
}

_Noreturn void hd__drive_leave(int reason) {
  if (reason < 0) {
    rt.ctl->fork_status = -1 - reason;
    hd__die(EXIT_DIED);
  }
  rt.ctl->fork_grow = rt.grow_stack;
  rt.ctl->relay.lost = rt.lost;
  hd__cover_pass();
  hd__die(EXIT_REASON + reason);
}

/* Runs the execution in a child process. What it learned and found is in the shared file. Returns as run_once, or
 * -1 - the wait status if the child died; if templates have run others after it, HD_RUN_PASSED. */
static int run_forked(void) {
  uint64_t known = rt.status->visible_count;
  long pid = hd__drive_fork();
  if (pid < 0) hd__fail(HD_RTE_ENVIRONMENT, 0, "fork failed: too many processes, or no memory");
  if (pid == 0) {
    hd__drive_forked();
    int reason = run_once();
    leave_files();
    if (!rt.search.probing) conclude(reason);
    hd__children_begin();
    hd__drive_leave(reason);
  }
  int reason = hd__drive_wait(pid, known);
  if (rt.config->mode == HD_MODE_CHECK) hd__fds_return();
  hd__snapshot_share();
  rt.epoch++;
  return reason;
}

/* Unlearns what an execution has learned, so that it can be re-executed from the same knowledge. */
static void unlearn(uint64_t known) {
  bool spin = false;
  for (uint64_t i = known; i < rt.status->visible_count; i++)
    if (rt.visible[i] & HD_VISIBLE_SPIN)
      spin = true;
    else
      *hd__cell(rt.visible[i]) = (struct hd_cell){0};
  rt.status->visible_count = known;
  hd__states_unlearn();
  if (spin) hd__spin_relearn();
}

/* In fork mode the process of an execution has died before the strategy learned of its end. Returns whether the
 * search continues. */
static bool survive_death(int wait_status) {
  if (rt.config->mode != HD_MODE_REDUCE) return false;
  rt.search.hit = rt.config->target_death &&
                  (wait_status & ~0x80) == rt.config->target_death; /* 0x80: a core was dumped */
  conclude(HD_RUN_FINDING);
  return true;
}

/* The only execution of a process under a debugger, which sees it start once and run here: neither abandoned for
 * lack of identities, nor in a child. */
static void run_debugged(uint64_t number) {
  const struct hd_config *c = rt.config;
  for (uint32_t i = 0; i < c->ngrown && i < HD_MAX_GROWN; i++) {
    rt.grow_stack = c->grown[i];
    grow_identities();
  }
  rt.search.execution = rt.status->execution = number;
  rt.status->visible_at_start = rt.status->visible_count;
  int reason = run_once();
  if (reason == HD_RUN_GROW)
    hd__fail(HD_RTE_ENVIRONMENT, 0,
             "the program's threads have too many different stack sizes to run under a debugger");
  conclude(reason);
  hd__children_begin();
  hd__files_undo();
}

/* From here on executions are forked from this process, which is at main or after the set-up. They begin as the first one did:
 * what this process keeps of earlier ones is dropped. */
static void switch_to_forks(void) {
  fork_mode = true;
  rt.status->restart = HD_RESTART_FORK;
  rt.status->switched = 1;
  hd__snapshot_unguard();
  rt.search.own = NULL;
  hd_sys3(SYS_madvise, rt.search.scratch, HD_SCRATCH_SIZE, 4 /* MADV_DONTNEED */);
}

static unsigned times_made(const uint64_t *stack, uint64_t n, uint64_t which) {
  unsigned k = 0;
  for (uint64_t i = 0; i < n; i++) k += stack[i] == which;
  return k;
}

/* What another machine has learned names stacks of threads that this process may not have made yet. */
static void grow_as_others(void) {
  static uint32_t seen;
  const struct hd_status *st = rt.status;
  uint32_t n = __atomic_load_n(&rt.shared->nstacks, __ATOMIC_ACQUIRE);
  if (HD_LIKELY(n == seen) || n > HD_MAX_GROWN) return;
  seen = n;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t stack = rt.shared->stacks[i], have = st->ngrown < HD_MAX_GROWN ? st->ngrown : HD_MAX_GROWN;
    if (times_made(st->grown, have, stack) >= times_made(rt.shared->stacks, i + 1, stack)) continue;
    if (hd__checkpoint_taken()) {
      note_grown(stack);
      start_again();
    }
    rt.grow_stack = stack;
    grow_identities();
  }
}

/* One execution. If there are too few identities, it is re-executed with more. */
static int run_execution(uint64_t number) {
  rt.search.execution = number;
  rt.status->execution = number;
  rt.status->visible_at_start = rt.status->visible_count;
  rt.status->kinds = 0;
  uint64_t logged = rt.status->nevents;
  if (hd__checkpoint_stale()) start_again();
  for (;;) {
    uint64_t began = timing ? hd__cpu_time() : 0;
    int reason = fork_mode ? run_forked() : run_once();
    if (timing && !fork_mode && !rt.search.probing && hd__drive_counts(reason))
      timing = hd__template_measure(hd__cpu_time() - began);
    if (reason < 0 && survive_death(-1 - reason)) return HD_RUN_FINDING;
    /* Only in fork mode: die too, so that the supervisor sees what it sees in memory mode. */
    if (reason < 0) hd__drive_leave(reason);
    if (!fork_mode) {
      leave_files();
      if (!rt.search.probing) conclude(reason);
      restore_all();
      if (timing && hd__template_better()) switch_to_forks();
    }
    if (reason != HD_RUN_GROW) return reason;
    unlearn(rt.status->visible_at_start); /* the attempt leaves no trace */
    rt.status->nevents = logged;
    if (hd__checkpoint_taken()) {
      if (!hd__checkpoint_stale()) note_grown(rt.grow_stack);
      start_again();
    }
    grow_identities();
  }
}

struct probe {
  uint64_t hash, events;
  int reason, status;
  bool hung;
};

/* `first`: it does nothing that an ordinary first execution would not do. What a later one fails with may be left over from
 * the one before, and is no finding. */
static struct probe probe(uint64_t number, uint64_t known, bool first) {
  unlearn(known);
  uint64_t before = rt.status->events;
  rt.unsure = !first;
  int reason = run_execution(number);
  rt.unsure = false;
  struct probe p = {rt.status->event_hash, rt.status->events - before, reason, rt.status->exit_status,
                    rt.hung};
  rt.status->events = before;
  return p;
}

/* What took too long in both may have come further in one. */
static bool same(struct probe a, struct probe b) {
  if (a.hung && b.hung) return true;
  return a.hash == b.hash && a.events == b.events && a.reason == b.reason && a.status == b.status;
}

/* The program does not do the same twice: reports the first difference. */
_Noreturn static void nondeterminism(uint64_t number, uint64_t known) {
  struct hd_event *ev = (struct hd_event *)(HD_SHM_BASE + HD_SHM_EVENT);
  char text[400];
  hot.detail = hot.log = 1;
  rt.status->nevents = 0;
  probe(number, known, false);
  uint64_t n = rt.status->nevents;
  probe(number, known, false);
  uint64_t m = rt.status->nevents - n, i = 0;
  while (i < n && i < m && ev[i].op.thread == ev[n + i].op.thread && ev[i].op.kind == ev[n + i].op.kind &&
         ev[i].op.object == ev[n + i].op.object)
    i++;
  const struct hd_event *a = i < n ? &ev[i] : NULL, *b = i < m ? &ev[n + i] : NULL;
  if (!a && !b)
    hd__format(
        text, sizeof text,
        "the program is not deterministic: under the same schedule the same operations had another outcome, or the "
        "program ended differently (it depends on real time, other processes or leftovers of the last run)");
  else
    hd__format(
        text, sizeof text,
        "the program is not deterministic: under the same schedule, event %u was %s of T%u in one run and %s of "
        "T%u in the next (it depends on real time, addresses, random numbers or leftovers of the last run)",
        i + 1, a ? hd_op_text(a->op.kind) : "the end", (uint64_t)(a ? a->op.thread : 0),
        b ? hd_op_text(b->op.kind) : "the end", (uint64_t)(b ? b->op.thread : 0));
  uint64_t pc = a ? a->op.pc : b ? b->op.pc : 0;
  rt.cur = NULL;
  hd__fail(HD_RTE_NONDETERMINISM, pc, text);
}

/* Decides how to restart: the next execution is run twice, and must do the same both times. The strategy does not
 * see it. Returns false when a finding has ended the search already. */
static bool choose_restart(uint64_t number) {
  uint64_t known = rt.status->visible_count;
  unsigned findings = rt.status->nfindings;
  before_probes = get_counters();
  rt.search.probing = keep_start = true;
  if (fork_mode) { /* an earlier process has found that it needs that */
    struct probe a = probe(number, known, false);
    if (!same(a, probe(number, known, false))) nondeterminism(number, known);
    unlearn(known);
    rt.search.probing = keep_start = false;
    return true;
  }
  struct probe a = probe(number, known, true);
  keep_start = false;
  if (rt.status->nfindings > findings && !rt.config->all) {
    rt.status->events += a.events;
    return false;
  }
  bool alike = same(a, probe(number, known, false));
  if (hd__checkpoint_taken()) { /* from main it was the same, and so must it be from there */
    struct counters once = get_counters();
    rt.cover_skip++; /* it is not observed */
    if (alike) alike = same(a, probe(number, known, false));
    set_counters(&once);
    if (!alike) {
      hd__checkpoint_refuse(HD_UNKEPT_DIFFERS);
      start_again();
    }
  }
  unlearn(known);
  if (!alike) { /* what could not be restored is a matter of the process: executions are forked from a new one */
    rt.status->restart = HD_RESTART_FORK;
    start_again();
  }
  rt.search.probing = false;
  return true;
}

/* Everything is covered but spurious wake-ups, and who gets which number of a descriptor: the search restarts with them.
 * Returns false when it has, or has no need. */
static bool next_phase(void) {
  const struct hd_config *c = rt.config;
  if (c->mode != HD_MODE_CHECK || !rt.strategy->systematic) return false;
  if (c->one_phase && rt.shared->waited && !c->spurious)
    hd_inexact_note(rt.status->inexact, HD_INEXACT_SPURIOUS, 0);
  bool more = hd__fds_explore();
  if (!c->one_phase) more |= hd__cond_explore();
  if (!more) return false;
  hd__worker_sync();
  return true;
}

bool hd__drive_counts(int reason) {
  return reason == HD_RUN_EXIT || reason == HD_RUN_FINDING || reason == HD_RUN_STUCK ||
         reason == HD_RUN_CUT || reason == HD_RUN_BLOCKED;
}

/* What comes after an execution. Returns whether the search goes on. */
static bool goes_on(int reason) {
  const struct hd_config *c = rt.config;
  struct hd_status *st = rt.status;
  st->heartbeat++;
  if (c->mode == HD_MODE_REDUCE)
    unlearn(st->visible_at_start); /* every candidate starts from the same knowledge */
  /* It should have started like an earlier one, and did not. The strategy treats it as one that never ended. */
  if (reason == HD_RUN_DIVERGED) {
    if (!rt.strategy->systematic) return false;
    rt.search.diverged_at = rt.search.execution;
  }
  if (st->nfindings > found && !c->all) return false;
  if (reason == HD_RUN_OVER) set_over();
  hd__worker_sync();
  if (rt.shared->over && !hd_bound_over(&rt.search, rt.strategy) && !next_phase()) return false;
  hd__worker_pause();
  return reason != HD_RUN_LATER || hd__worker_later();
}

uint64_t hd__drive_next(int reason) {
  return goes_on(reason) && !rt.ctl->supervisor_stop ? hd__worker_next() : 0;
}

/* Executes until nothing is left, or the search is stopped. `number`: of the first execution. */
static void run_all(uint64_t number) {
  found = rt.status->nfindings;
  /* The schedule itself is executed, however little time there is. */
  if (rt.ctl->supervisor_stop && rt.config->mode != HD_MODE_REDUCE) return;
  while (number) {
    grow_as_others();
    int reason = run_execution(number);
    number = reason == HD_RUN_PASSED ? rt.ctl->relay.next : hd__drive_next(reason);
  }
}

static void make_noted(uint64_t stack) {
  make_identities(stack);
  note_grown(stack);
}

/* The process takes the place of one that could not return to main, or died in a cluster: it makes all identities that one needed. */
static void make_again(void) {
  struct hd_status *st = rt.status;
  uint64_t n = st->ngrown < HD_MAX_GROWN ? st->ngrown : HD_MAX_GROWN;
  rt.ctl->again = 0;
  st->ngrown = 0;
  for (uint64_t i = 0; i < n; i++) make_noted(st->grown[i]);
}

static void search(void *unused) {
  (void)unused;
  const struct hd_config *c = rt.config;
  struct hd_status *st = rt.status;
  if (!st->restart || st->switched)
    st->restart = c->restart == HD_RESTART_FORK ? HD_RESTART_FORK : HD_RESTART_MEMORY;
  st->switched = 0;
  fork_mode = st->restart == HD_RESTART_FORK;
  rt.main_tp = rt.sched.tp = hd_arch_tp();
  if (hd__ident_grow(0, 4))
    hd__fail(HD_RTE_ENVIRONMENT, 0, "the system has no memory for the stacks of 4 threads");
  /* What others have learned names the stacks of their threads. */
  bool named = rt.shared->inbox_full || c->cluster;
  if (rt.ctl->again || (c->cluster && st->ngrown))
    make_again();
  else
    for (uint32_t i = 0; named && i < c->ngrown && i < HD_MAX_GROWN; i++) make_noted(c->grown[i]);
  hd__signals_init();
  hd__vdso_init();
  hd__sources_init();
  hd__sysguard_init();
  if (!fork_mode) hd__tick_start();
  hd__files_init();
  hd__modules_record();
  hd__aim_init();
  hd__openmp_init();
  hd__numbers_init();
  hd__fingerprint_init();
  hd__touch_init();
  hd__objects_init();
  hd__family_init();
  hd__symbolic_init();
  hd__worker_start();
  take_snapshot();
  st->state = HD_ST_RUNNING;
  uint64_t number = hd__worker_next();
  if (!number) leave();
  if (!st->decided && c->restart == HD_RESTART_AUTO && c->mode == HD_MODE_CHECK && !choose_restart(number)) {
    count_finding();
    leave();
  }
  __atomic_store_n(&st->decided, 1, __ATOMIC_RELEASE);
  if (c->debug)
    run_debugged(number);
  else if (!rt.shared->over)
    run_all(number);
  leave();
}

/* Starts the search. The stack above a page boundary below `top` does not belong to the executions: it has the
 * start-up code, arguments and environment, or the frames of the caller of hd_check. */
_Noreturn static void begin(uint64_t top) {
  stack_lo = (char *)(top & ~(HD_PAGE - 1));
  *(volatile char *)(stack_lo - HD_PAGE) = 0; /* the kernel grows the stack from here */
  pthread_attr_t a;
  void *lo;
  size_t size;
  hd__private_depth++;
  if (pthread_getattr_np(pthread_self(), &a) || pthread_attr_getstack(&a, &lo, &size))
    hd__fail(HD_RTE_ENVIRONMENT, 0, "cannot find the stack of the first thread");
  stack_hi = (char *)lo + size;
  stack_size = size;
  stack_limit =
      (uint64_t)(stack_lo - (char *)lo) > (64u << 10) ? (uint64_t)(stack_lo - (char *)lo) - (64u << 10) : 0;
  pthread_attr_destroy(&a);
  hd__private_depth--;
  char *st = hd__map(SCHED_STACK);
  if (!st) hd__fail(HD_RTE_ENVIRONMENT, 0, "no memory for the scheduler's stack");
  hd_arch_prepare(&start_ctx, st + SCHED_STACK, hd_arch_tp(), search, NULL);
  hd_arch_jump(&start_ctx);
}

_Noreturn void hd__drive(int (*main_fn)(int, char **, char **), int argc, char **argv, char **envp) {
  program.main_fn = main_fn;
  program.argc = argc;
  program.argv = argv;
  program.envp = envp;
  hd__constructors_over();
  begin((uint64_t)__builtin_frame_address(0) - 512);
}

_Noreturn void hd__drive_callback(void (*body)(void *), void *arg, uint64_t top) {
  program.body = body;
  program.arg = arg;
  rt.callback = true;
  hd__attach();
  hd__heap_start();
  begin(top);
}

bool hd__first_stack_has(uint64_t addr) {
  return addr < (uint64_t)stack_hi && addr >= (uint64_t)stack_lo - stack_limit;
}

void *hd__first_stack(size_t *size) {
  *size = stack_size;
  return stack_hi - stack_size;
}

uint64_t hd__first_stack_end(void) { return (uint64_t)stack_lo; }

void hd__scan_first_stack(char *sp, void (*f)(char *lo, char *hi)) { f(sp, stack_lo); }

bool hd__first_stack_overflow(uint64_t addr, uint64_t sp) {
  return addr < (uint64_t)stack_lo && sp < (uint64_t)stack_lo && sp > (uint64_t)stack_lo - (1ull << 40) &&
         addr + 65536 > sp && addr < sp + 65536 && (uint64_t)stack_lo - addr > stack_limit;
}
